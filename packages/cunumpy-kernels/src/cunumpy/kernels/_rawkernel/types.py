"""The types of values in kernels, and which type an operation has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cunumpy.cuda._ctypes_table import CTYPE_OF

_ORDER = {dtype: place for place, dtype in enumerate(CTYPE_OF)}
"""From the narrowest to the widest: with ``mode="cuda"`` an operation has the wider type of its operands."""

BOOL, INT32, UINT32, INT64, UINT64, FLOAT16, FLOAT32, FLOAT64 = map(
    np.dtype, ["?", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
)
_OF_LITERALS: dict[str, dict[type, np.dtype[Any]]] = {
    "cuda": {bool: BOOL, int: INT32, float: FLOAT32, complex: np.dtype("c8")},
    "numpy": {bool: BOOL, int: INT64, float: FLOAT64, complex: np.dtype("c16")},
}


def native(dtype: Any) -> np.dtype[Any] | None:
    """Return the dtype of this machine that a kernel can have, None if there is none."""
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError):
        return None
    if not found.isnative or found.kind not in "biufc":
        return None
    plain = np.dtype(f"{found.kind}{found.itemsize}") if found.kind != "b" else BOOL
    return plain if plain in CTYPE_OF else None


def dtype_of_number(value: Any, mode: str) -> np.dtype[Any] | None:
    """Return the dtype that a number of Python or NumPy has as an argument or variable, None if it is no number."""
    if isinstance(value, np.generic):
        return native(value.dtype)
    kind = next((kind for kind in (bool, int, float, complex) if isinstance(value, kind)), None)
    if kind is None:
        return None
    if kind is int and not -(2**31) <= value < 2**31:
        return INT64 if -(2**63) <= value < 2**63 else UINT64 if 0 <= value < 2**64 else None
    return _OF_LITERALS[mode][kind]


class Type:
    """A type of values."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Scalar(Type):
    """A number."""

    dtype: np.dtype[Any]

    @property
    def name(self) -> str:  # type: ignore[override]
        """As messages call it."""
        return self.dtype.name

    @property
    def ctype(self) -> str:
        """In CUDA C++."""
        return CTYPE_OF[self.dtype]

    @property
    def kind(self) -> str:
        """One of ``biufc``."""
        return self.dtype.kind


@dataclass(frozen=True)
class Array(Type):
    """An array of the caller's, or a part of one. `const` says that nobody writes to it."""

    dtype: np.dtype[Any]
    ndim: int
    contiguous: bool

    @property
    def name(self) -> str:  # type: ignore[override]
        """As messages call it."""
        return f"array of {self.dtype.name} with {self.ndim} dimension(s)"

    def ctype(self, const: bool) -> str:
        """In CUDA C++: a view, or a pointer for an array of no dimensions."""
        element = f"{'const ' if const else ''}{CTYPE_OF[self.dtype]}"
        if self.ndim == 0:
            return f"{element}*"
        return f"{'C' if self.contiguous else ''}Array{self.ndim}D<{element}>"


@dataclass(frozen=True)
class Shared(Type):
    """Memory of the block; `size` None is as much as the launch gives."""

    element: Scalar | CubStorage
    size: int | None

    @property
    def name(self) -> str:  # type: ignore[override]
        """As messages call it."""
        return f"shared memory of {self.element}"

    @property
    def ctype(self) -> str:
        """In CUDA C++, as a parameter."""
        return f"{self.element.ctype}*"


@dataclass(frozen=True)
class CubStorage(Type):
    """What the threads of a CUB object exchange values by."""

    of: CubClass

    @property
    def name(self) -> str:  # type: ignore[override]
        """As messages call it."""
        return f"{self.of}.TempStorage"

    @property
    def ctype(self) -> str:
        """In CUDA C++."""
        return f"{self.of.ctype}::TempStorage"


@dataclass(frozen=True)
class CubClass(Type):
    """``cub.WarpReduce`` or ``cub.BlockReduce`` of a type; also the type of its objects."""

    kind: str
    dtype: np.dtype[Any]
    threads: tuple[int, ...]

    @property
    def name(self) -> str:  # type: ignore[override]
        """As messages call it."""
        return f"cub.{self.kind}[{', '.join([self.dtype.name, *map(str, self.threads)])}]"

    @property
    def ctype(self) -> str:
        """In CUDA C++."""
        sizes = list(map(str, self.threads))
        if len(sizes) > 1:  # between the sizes along x and y stands the algorithm
            sizes.insert(1, "cub::BLOCK_REDUCE_WARP_REDUCTIONS")
        return f"cub::{self.kind}<{', '.join([CTYPE_OF[self.dtype], *sizes])}>"


@dataclass(frozen=True)
class Group(Type):
    """A cooperative group: ``thread_block`` or ``grid_group``."""

    name: str

    @property
    def ctype(self) -> str:
        """In CUDA C++."""
        return f"cooperative_groups::{self.name}"


@dataclass(frozen=True)
class Dim3(Type):
    """Three unsigned integers, of the members x, y, z."""

    name: str = "dim3"
    ctype: ClassVar[str] = "dim3"


# --- which type an operation has --------------------------------------------------------------------------------------

_UFUNCS = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "//": np.floor_divide,
    "%": np.remainder,
    "**": np.power,
    "<<": np.left_shift,
    ">>": np.right_shift,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
}
COMPARISONS = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


class NoLoopError(Exception):
    """An operation is not there for operands of these types."""


def wider(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """Return the widest of dtypes, as ``mode="cuda"`` orders them."""
    found = max(dtypes, key=_ORDER.__getitem__)
    return np.dtype("c16") if found == np.dtype("c8") and FLOAT64 in dtypes else found


def binary_types(
    operation: str, left: Any, right: Any, mode: str
) -> tuple[np.dtype[Any], np.dtype[Any], np.dtype[Any]]:
    """Return the dtypes in which an operation takes its operands, and that of its result.

    Parameters
    ----------
    operation : str
        As Python writes it, or ``"minimum"`` and the like of `NUMPY_BINARY`.
    left, right : numpy.dtype, or type
        Types ``int``, ``float`` and ``complex`` stand for numbers that are written in the source, with mode "numpy".
    mode : {"cuda", "numpy"}

    Raises
    ------
    NoLoopError
        There is no such operation.
    """
    if mode == "numpy":
        return _numpy_types(operation, left, right)
    common = wider(left, right)
    if operation in COMPARISONS:
        if common.kind == "c" and operation not in ("==", "!="):
            raise NoLoopError
        return common, common, BOOL
    if operation in ("&", "|", "^", "<<", ">>"):
        if common.kind not in "biu":
            raise NoLoopError
        if common == BOOL and operation in ("<<", ">>"):
            common = np.dtype("i1")
        return common, common, common
    if operation == "/":
        if common.kind in "biu":
            common = FLOAT32 if common.itemsize <= 2 and common != BOOL else FLOAT64
        return common, common, common
    if operation in ("//", "%"):
        if common.kind == "c":
            raise NoLoopError
        common = np.dtype("i1") if common == BOOL else common
    elif operation == "-" and common == BOOL:
        raise NoLoopError
    elif operation == "**" and common == BOOL:
        common = np.dtype("i1")
    return common, common, common


def _numpy_types(operation: str, left: Any, right: Any) -> tuple[np.dtype[Any], np.dtype[Any], np.dtype[Any]]:
    ufunc: np.ufunc = _UFUNCS.get(operation) or COMPARISONS.get(operation) or getattr(np, operation)
    try:
        found = ufunc.resolve_dtypes((left, right, None))
    except TypeError:
        raise NoLoopError from None
    result = tuple(map(native, found))
    first, second, last = result
    if first is None or second is None or last is None:
        raise NoLoopError
    if operation == "-" and BOOL in (first, second):
        raise NoLoopError
    return first, second, last


def float_type(dtype: Any, mode: str, *, complex_too: bool = True) -> np.dtype[Any]:
    """Return the type in which a function of floating-point numbers, such as ``sqrt``, takes a number and gives one.

    Raises
    ------
    NoLoopError
        It is not there for complex numbers.
    """
    if isinstance(dtype, type):
        dtype = _OF_LITERALS["numpy"][dtype]
    if dtype.kind == "c" and not complex_too:
        raise NoLoopError
    if dtype.kind in "fc":
        return dtype  # type: ignore[no-any-return]
    if mode == "numpy":
        found: tuple[np.dtype[Any], ...] = np.sqrt.resolve_dtypes((dtype, None))
        return found[0]
    return FLOAT64


def can_store(given: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Tell whether a number may be written to memory of a dtype: within its kind, or to a wider kind."""
    ranks = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
    return ranks[given.kind] <= ranks[target.kind]


def c_result(left: np.dtype[Any], right: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of ``left + right`` in C++: the usual arithmetic conversions."""
    if "c" in (left.kind, right.kind):
        return wider(left, right)
    return max((_promoted(left), _promoted(right)), key=_ORDER.__getitem__)


def _promoted(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind in "biu" and dtype.itemsize < 4:
        return INT32
    return FLOAT32 if dtype == FLOAT16 else dtype
