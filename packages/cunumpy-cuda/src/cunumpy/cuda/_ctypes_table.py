"""The scalar types of CUDA C++ and the dtypes that hold them: one table for signatures, structs and generated code."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cunumpy import _gate
from cunumpy.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable


class ScalarType(NamedTuple):
    """How a C type is held: its dtype (None for void), and its alignment on the device in bytes."""

    dtype: np.dtype[Any] | None
    alignment: int


def _number(code: str) -> ScalarType:
    dtype = np.dtype(code)
    return ScalarType(dtype, dtype.itemsize)


# nvcc and NVRTC follow the host compiler, whose long has 32 bits on Windows.
_LONG = ctypes.sizeof(ctypes.c_long)

_BUILTIN = {
    "void": ScalarType(None, 1),
    "bool": _number("?"),
    "char": _number("i1"),
    "signed char": _number("i1"),
    "unsigned char": _number("u1"),
    "short": _number("i2"),
    "unsigned short": _number("u2"),
    "int": _number("i4"),
    "unsigned": _number("u4"),
    "long": _number(f"i{_LONG}"),
    "unsigned long": _number(f"u{_LONG}"),
    "long long": _number("i8"),
    "unsigned long long": _number("u8"),
    "float": _number("f4"),
    "double": _number("f8"),
}

_STANDARD = {
    **{f"int{bits}_t": _number(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": _number(f"u{bits // 8}") for bits in (8, 16, 32, 64)},
    "size_t": _number("u8"),
    "ptrdiff_t": _number("i8"),
    "intptr_t": _number("i8"),
    "uintptr_t": _number("u8"),
}
"""Names that ``std::`` and ``cuda::std::`` have as well; all CUDA platforms have 64-bit addresses."""

_OTHER = {
    "ssize_t": _number("i8"),
    "uint": _number("u4"),
    "ushort": _number("u2"),
    "ulong": _number(f"u{_LONG}"),
    "cudaTextureObject_t": _number("u8"),
    "cudaSurfaceObject_t": _number("u8"),
    "half": _number("f2"),
    "__half": _number("f2"),
    # NumPy has no such type: two bytes that are not looked into.
    "nv_bfloat16": ScalarType(np.dtype("V2"), 2),
    "__nv_bfloat16": ScalarType(np.dtype("V2"), 2),
    "cuComplex": ScalarType(np.dtype("c8"), 8),
    "cuFloatComplex": ScalarType(np.dtype("c8"), 8),
    "cuDoubleComplex": ScalarType(np.dtype("c16"), 16),
}

COMPLEX = {
    # CuPy's and Thrust's complex are aligned to their whole size on the device, NumPy's to one component.
    "complex<float>": ScalarType(np.dtype("c8"), 8),
    "complex<double>": ScalarType(np.dtype("c16"), 16),
}


def _vector(component: np.dtype[Any], count: int, alignment: int) -> ScalarType:
    return ScalarType(np.dtype([(name, component) for name in "xyzw"[:count]]), alignment)


def _vectors() -> dict[str, ScalarType]:
    """Return the vector types of ``vector_types.h``: those of 2 and 4 components are aligned, to 16 bytes at most."""
    components = {
        "char": "i1",
        "short": "i2",
        "int": "i4",
        "long": f"i{_LONG}",
        "longlong": "i8",
        "uchar": "u1",
        "ushort": "u2",
        "uint": "u4",
        "ulong": f"u{_LONG}",
        "ulonglong": "u8",
        "float": "f4",
        "double": "f8",
    }
    types = {}
    for name, code in components.items():
        dtype = np.dtype(code)
        for count in (1, 2, 3, 4):
            alignment = dtype.itemsize if count in (1, 3) else min(count * dtype.itemsize, 16)
            types[f"{name}{count}"] = _vector(dtype, count, alignment)
    types["dim3"] = types["uint3"]
    types["half2"] = types["__half2"] = _vector(np.dtype("f2"), 2, 4)
    return types


NAMED_TYPES = {**_STANDARD, **_OTHER, **_vectors()}
"""The types with a name of one word, as they are spelled without a namespace."""

STANDARD_NAMES = frozenset(_STANDARD)

BUILTIN_WORDS = frozenset({"signed", "void", *(word for name in _BUILTIN for word in name.split())})
"""The words that make up the types of the language, in any order."""


def _canonical(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(words))


def _word_orders() -> dict[tuple[str, ...], ScalarType]:
    types = {_canonical(name.split()): scalar for name, scalar in _BUILTIN.items()}
    for name in ("short", "unsigned short", "unsigned", "long", "unsigned long", "long long", "unsigned long long"):
        types[_canonical([*name.split(), "int"])] = _BUILTIN[name]
    for name in ("short", "int", "long", "long long"):
        types[_canonical(["signed", *name.split()])] = _BUILTIN[name]
        types[_canonical(["signed", "int", *name.split()])] = _BUILTIN[name]
    types["signed",] = types["int", "signed"] = _BUILTIN["int"]
    del types["int", "int", "signed"]
    return types


_WORD_ORDERS = _word_orders()


def builtin_type(words: Iterable[str]) -> ScalarType | None:
    """Return the type that words of the language spell, in whatever order; None if they spell none."""
    return _WORD_ORDERS.get(_canonical(words))


def scalar_type(ctype: str) -> ScalarType | None:
    """Return the type of a `CudaParameter.ctype` that is a scalar or a vector; None for views, structs and enums."""
    plain = ctype.removeprefix("std::")
    if plain != ctype and plain not in STANDARD_NAMES:
        return None
    return NAMED_TYPES.get(plain) or COMPLEX.get(plain) or builtin_type(plain.split())


CTYPE_OF = {
    np.dtype(dtype): ctype
    for dtype, ctype in {
        "?": "bool",
        "i1": "signed char",
        "u1": "unsigned char",
        "i2": "short",
        "u2": "unsigned short",
        "i4": "int",
        "u4": "unsigned int",
        "i8": "long long",
        "u8": "unsigned long long",
        "f2": "__half",
        "f4": "float",
        "f8": "double",
        "c8": "complex<float>",
        "c16": "complex<double>",
    }.items()
}
"""The dtypes that kernels have, and their types in CUDA C++."""


def ctype_of(dtype: Any) -> str:
    """Return the C type that holds a dtype in CUDA code.

    Parameters
    ----------
    dtype : data-type
        Anything that `numpy.dtype` accepts; None is float64.

    Returns
    -------
    str
        Such as ``"double"``, ``"unsigned int"``, or ``"long long"`` for int64 on every platform. ``"__half"`` needs
        ``cuda_fp16.h``, ``"complex<double>"`` a header such as ``cupy/complex.cuh``.

    Raises
    ------
    ArgumentError
        No C type of CUDA holds the dtype: longdouble, other byte orders than the machine's, strings, objects, records.
    ArgumentTypeError
        `dtype` describes no dtype.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cuda.ctype_of("float32"), xp.cuda.ctype_of(bool)
    ('float', 'bool')
    """
    converted = _gate.as_dtype(dtype, function="ctype_of")
    ctype = CTYPE_OF.get(converted)
    if ctype is None:
        if not converted.isnative:
            remedy = "convert the data with .astype(dtype.newbyteorder('='))"
        elif converted.char in "gG":
            remedy = "CUDA has no type wider than double; use float64 or complex128"
        elif converted.names is not None:
            remedy = "describe records by a CudaStruct of cunumpy.arguments"
        else:
            remedy = "use a bool, integer, float or complex dtype"
        raise ArgumentError(f"ctype_of: argument 'dtype' is {converted}, which no C type of CUDA holds; {remedy}.")
    return ctype
