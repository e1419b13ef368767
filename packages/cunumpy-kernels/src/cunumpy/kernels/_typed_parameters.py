"""Parameters of elementwise and reduction kernels: read from their declarations, and their types from arguments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cunumpy import _arrays, _gate
from cunumpy.cuda._locks import new_lock
from cunumpy.errors import (
    ArgumentError,
    ArgumentRangeError,
    ArgumentTypeError,
    MixedBackendError,
)
from cunumpy.kernels._generated_code import C_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def check_texts(owner: str, texts: Mapping[str, Any], options: Any) -> tuple[str, ...]:
    """Raise for code that is no text, and for options of the compiler that are no list of texts; return these."""
    for argument, text in texts.items():
        if not isinstance(text, str):
            raise ArgumentTypeError(f"{owner}: argument {argument!r} must be code as str, got {_gate.given(text)}.")
    return tuple(_gate.as_strings(options, function=owner, argument="options"))


class TypedKernel:
    """What elementwise and reduction kernels have in common: a name, and parameters with types.

    Parameters
    ----------
    in_params, out_params : str
        The declarations.
    name : str
    reserved : frozenset of str
        Names that no parameter can have.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        A declaration can't be read, or the name is none.
    """

    in_params: tuple[Parameter, ...]
    out_params: tuple[Parameter, ...]
    nin: int
    nout: int
    nargs: int
    name: str

    def __init__(self, in_params: str, out_params: str, name: str, reserved: frozenset[str]) -> None:
        kind = type(self).__name__
        if not (isinstance(name, str) and re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)):
            raise ArgumentError(f"{kind}: argument 'name' must be a name of a C function, got {name!r}.")
        self.name = name
        self._owner = f"{kind} {name!r}"
        self._declared = (in_params, out_params)
        self.in_params = parse_parameters(in_params, self._owner, "in_params", reserved)
        self.out_params = parse_parameters(out_params, self._owner, "out_params", reserved)
        self._parameters = (*self.in_params, *self.out_params)
        check_distinct(self._parameters, self._owner)
        self.nin, self.nout, self.nargs = len(self.in_params), len(self.out_params), len(self._parameters)
        self._functions: dict[Any, Any] = {}
        self._lock = new_lock()
        self._quick: Any = None
        self._cupy: Any = None
        self._host_options: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def _check_count(self, args: Sequence[Any]) -> None:
        if len(args) not in (self.nin, self.nargs):
            raise ArgumentTypeError(
                f"{self._owner}: wrong number of arguments: it takes {self.nin}, or {self.nargs} with the outputs, got "
                f"{len(args)}."
            )

    def _types_of(self, args: Sequence[Any]) -> dict[str, Any]:
        """Check the arguments of a call on the host, and return what their types are."""
        for number, (parameter, value) in enumerate(zip(self._parameters, args, strict=False)):
            check_host_argument(parameter, value, self._owner, output=number >= self.nin)
        return decide_types(self.in_params, self.out_params, args[: self.nin], args[self.nin :], self._owner)

    def _shapes_of(self, parameters: Sequence[Parameter], args: Sequence[Any]) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays that broadcast, by name."""
        return {
            parameter.name: value.shape
            for parameter, value in zip(parameters, args, strict=False)
            if not parameter.raw and isinstance(value, np.ndarray)
        }

    def _broadcast(self, shapes: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
        """Return the shape of all; raise where there is none."""
        first, *others = shapes.values()
        try:
            return first if all(one == first for one in others) else np.broadcast_shapes(first, *others)
        except ValueError:
            listed = ", ".join(f"{shape} of {name!r}" for name, shape in shapes.items())
            raise ArgumentError(f"{self._owner}: shapes {listed} do not broadcast; give arrays of one shape.") from None


_SCALARS = (bool, int, float, complex, np.bool_, np.number)


class Parameter(NamedTuple):
    """A parameter of an elementwise or reduction kernel.

    Attributes
    ----------
    name : str
    type_name : str
        A letter that stands for any type, or what NumPy calls a dtype.
    dtype : numpy.dtype or None
        None for a letter.
    raw : bool
        The kernel indexes the array itself.
    """

    name: str
    type_name: str
    dtype: np.dtype[Any] | None
    raw: bool


def parse_parameters(text: Any, owner: str, argument: str, reserved: frozenset[str]) -> tuple[Parameter, ...]:
    """Read a declaration such as ``"T x, raw float32 y"``.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        It is no such declaration; the text names the part.
    """
    if not isinstance(text, str):
        raise ArgumentTypeError(f"{owner}: argument {argument!r} must be a str, got {_gate.given(text)}.")
    if not text.strip():
        return ()
    return tuple(_parameter(part, owner, argument, reserved) for part in text.split(","))


def _parameter(part: str, owner: str, argument: str, reserved: frozenset[str]) -> Parameter:
    words = part.split()
    if len(words) < 2:
        raise ArgumentError(
            f"{owner}: argument {argument!r} declares {part.strip()!r}; a parameter has a type and a name, 'T x' or "
            "'raw float64 x'."
        )
    *qualifiers, type_name, name = words
    unknown = [word for word in qualifiers if word != "raw"]
    if unknown:
        raise ArgumentError(f"{owner}: argument {argument!r} has an unknown word {unknown[0]!r} in {part.strip()!r}.")
    if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) is None or name in reserved or name.startswith("_cunumpy"):
        raise ArgumentError(f"{owner}: argument {argument!r}: {name!r} can't be the name of a parameter.")
    if re.fullmatch(r"[A-Za-z]", type_name):
        return Parameter(name, type_name, None, bool(qualifiers))
    try:
        dtype = np.dtype(type_name)
    except TypeError:
        dtype = None
    if dtype not in C_TYPES:
        raise ArgumentTypeError(
            f"{owner}: argument {argument!r}: {type_name!r} in {part.strip()!r} is no letter, and no dtype that a "
            "kernel takes."
        )
    if dtype.name != type_name:  # float has 4 bytes in C++, and 8 in NumPy
        raise ArgumentTypeError(
            f"{owner}: argument {argument!r}: {type_name!r} in {part.strip()!r} is {dtype.name} for NumPy, perhaps "
            "something else in C++; write a dtype's full name."
        )
    return Parameter(name, type_name, dtype, bool(qualifiers))


def check_distinct(parameters: Sequence[Parameter], owner: str) -> None:
    """Raise where two parameters have the same name."""
    names = [one.name for one in parameters]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ArgumentError(f"{owner}: two parameters have the name {twice!r}.")


def on_device(parameters: Sequence[Parameter], args: Sequence[Any], owner: str) -> bool:
    """Tell whether the arrays are device arrays.

    Raises
    ------
    MixedBackendError
        There are both.
    """
    host = device = None
    for parameter, value in zip(parameters, args, strict=False):
        if isinstance(value, np.ndarray):
            host = parameter.name
        elif _arrays.is_device_array(value):
            device = parameter.name
    if host is not None and device is not None:
        raise MixedBackendError(
            f"{owner}: argument {host!r} is a NumPy array and {device!r} a device array; convert one of them "
            "explicitly, with xp.to_cupy or xp.to_numpy."
        )
    return device is not None


def check_host_argument(parameter: Parameter, value: Any, owner: str, *, output: bool) -> None:
    """Raise for what is neither a plain NumPy array of a dtype that kernels take, nor a number."""
    if isinstance(value, np.ndarray):
        _gate.refuse_masked(value, function=owner, argument=parameter.name)
        if value.dtype not in C_TYPES:  # byte order is part of the key
            raise ArgumentTypeError(
                f"{owner}: argument {parameter.name!r} has dtype {value.dtype!r}; a kernel takes bool, integers, "
                "floating and complex numbers up to 8 bytes a part, in native byte order."
            )
        if output:
            _gate.check_writable(value, function=owner, argument=parameter.name)
    elif output or parameter.raw or not isinstance(value, _SCALARS):
        wanted = "an array" if output or parameter.raw else "an array or a number"
        raise ArgumentTypeError(f"{owner}: argument {parameter.name!r} must be {wanted}, got {_gate.given(value)}.")


def decide_types(
    in_params: Sequence[Parameter],
    out_params: Sequence[Parameter],
    in_args: Sequence[Any],
    out_args: Sequence[Any],
    owner: str,
) -> dict[str, np.dtype[Any]]:
    """Return the dtype of each letter and each type's name, which arrays decide and numbers do not.

    Raises
    ------
    ArgumentTypeError
        Arrays of different dtypes have the same letter, one has another dtype than its parameter, or no array decides.
    """
    types: dict[str, np.dtype[Any]] = {}
    first: dict[str, str] = {}
    for parameter, value in (*zip(in_params, in_args, strict=True), *zip(out_params, out_args, strict=False)):
        if parameter.dtype is not None:
            types[parameter.type_name] = parameter.dtype
        if not isinstance(value, np.ndarray):
            continue
        expected = types.setdefault(parameter.type_name, value.dtype)
        if expected != value.dtype:
            same = first.get(parameter.type_name)
            why = "" if parameter.dtype is not None else f" ({parameter.type_name!r} is that of {same!r})"
            raise ArgumentTypeError(
                f"{owner}: type is mismatched: argument {parameter.name!r} has dtype {value.dtype}, expected "
                f"{expected}{why}; convert it with astype."
            )
        first.setdefault(parameter.type_name, parameter.name)
    for parameter in (*in_params, *out_params):
        if parameter.dtype is not None:
            types[parameter.type_name] = parameter.dtype
        elif parameter.type_name not in types:
            raise ArgumentTypeError(
                f"{owner}: no array decides the type {parameter.type_name!r} of {parameter.name!r}; pass an array, or "
                "declare a dtype."
            )
    return types


def as_scalar(value: Any, dtype: np.dtype[Any], parameter: Parameter, owner: str) -> Any:
    """Return a number as an array of one element.

    Raises
    ------
    ArgumentTypeError, ArgumentRangeError
        The type can't hold its kind of number, or not this one.
    """
    kind = "b" if isinstance(value, (bool, np.bool_)) else np.asarray(value).dtype.kind
    kind = "i" if kind in "Ou" else kind  # a large integer of Python
    takes = {"b": "b", "i": "bi", "u": "bi", "f": "bif", "c": "bifc"}[dtype.kind]
    if kind not in takes:
        raise ArgumentTypeError(
            f"{owner}: argument {parameter.name!r} is of type {dtype}, got {_gate.given(value)}; convert it explicitly."
        )
    if kind == "i" and dtype.kind in "iu" and not np.iinfo(dtype).min <= int(value) <= np.iinfo(dtype).max:
        raise ArgumentRangeError(f"{owner}: argument {parameter.name!r}: {value!r} is out of the range of {dtype}.")
    try:
        with np.errstate(over="ignore"):
            return np.array([value]).astype(dtype)
    except OverflowError as error:
        raise ArgumentRangeError(
            f"{owner}: argument {parameter.name!r}: {value!r} is out of the range of {dtype}."
        ) from error


def as_seen(array: np.ndarray) -> np.ndarray:
    """Return an array whose memory C++ can read as elements: itself, or a copy if it is not aligned."""
    size = array.itemsize
    if array.flags.aligned and all(stride % size == 0 for stride in array.strides):
        return array
    return array.copy()


def reduced_dims(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Merge neighbouring axes that all arrays step through evenly, and drop those of length 1.

    Parameters
    ----------
    shape : sequence of int
    strides : sequence of sequences of int
        Of each array.

    Returns
    -------
    shape, strides
    """
    lengths: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis, length in enumerate(shape):
        if length == 1:
            continue
        if lengths and all(kept[-1] == given[axis] * length for kept, given in zip(steps, strides, strict=True)):
            lengths[-1] *= length
            for kept, given in zip(steps, strides, strict=True):
                kept[-1] = given[axis]
        else:
            lengths.append(length)
            for kept, given in zip(steps, strides, strict=True):
                kept.append(given[axis])
    return lengths, steps


def address(array: np.ndarray) -> int:
    """Return where an array's first element is."""
    return int(array.ctypes.data)


def quick_calls(parameters: Sequence[Parameter], inputs: int, settings: tuple[Any, ...]) -> Any:
    """Return what runs usual calls of a kernel in C; see `launcher.make_typed_call`."""
    from cunumpy.kernels._cpu_device.build import build_cache
    from cunumpy.kernels._cpu_device.launcher import make_typed_call

    names = [*dict.fromkeys(one.type_name for one in parameters)]
    described = tuple(
        (names.index(one.type_name), -1 if one.dtype is None else one.dtype.num, one.raw, number >= inputs)
        for number, one in enumerate(parameters)
    )
    return make_typed_call(described, inputs, settings, build_cache()) if len(described) <= _QUICK_PARAMETERS else None


def quick_key(
    parameters: Sequence[Parameter],
    types: dict[str, np.dtype[Any]],
    numbers: Sequence[bool],
    raw: Sequence[tuple[int, bool]],
    *flags: bool,
) -> bytes:
    """Return the key of types and layouts, as `quick_calls` finds them."""
    of_each = [(_number(types[one.type_name]), number) for one, number in zip(parameters, numbers, strict=True)]
    return bytes([*(part for one in of_each for part in one), *(part for one in raw for part in one), *flags])


_QUICK_PARAMETERS = 32


def _number(dtype: np.dtype[Any]) -> int:
    """Return the number of a dtype, the same for two that are one."""
    long, longlong = np.dtype("l"), np.dtype("q")
    same = {longlong.num: long.num, np.dtype("Q").num: np.dtype("L").num} if long == longlong else {}
    return same.get(dtype.num, dtype.num)
