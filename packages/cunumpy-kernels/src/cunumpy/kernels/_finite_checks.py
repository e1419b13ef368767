"""NaN and infinity in the arrays of a launch, found and named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy._gate import describe
from cunumpy.arguments._packer import is_device
from cunumpy.arguments._protocol import members
from cunumpy.errors import KernelError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cunumpy.cuda import CudaParameter


def check_finite(xp: Any, parameters: Sequence[CudaParameter] | None, args: Iterable[Any], text: str) -> None:
    """Raise with the first NaN or infinity in the arrays of `xp`, NumPy or CuPy, among the arguments of a launch."""
    for name, array in floating_arrays(parameters, args, host=xp is np):
        _check_array(xp, name, xp.asarray(array), f"{text}: argument {name!r} ({describe(array)})")


def floating_arrays(
    parameters: Sequence[CudaParameter] | None, args: Iterable[Any], *, host: bool = False
) -> Iterable[tuple[str, Any]]:
    """Yield the floating point and complex arrays among the arguments, those of objects too, by name."""
    names = [parameter.name for parameter in parameters or ()]
    position = 0

    def visit(value: Any, name: str) -> Iterable[tuple[str, Any]]:
        parts = members(value)
        for part, member in parts:
            yield from visit(member, f"{name}.{part}" if part else name)
        dtype = getattr(value, "dtype", None)
        if (
            not parts
            and isinstance(dtype, np.dtype)
            and dtype.kind in ("fcV" if host else "fc")
            and (isinstance(value, np.ndarray) if host else is_device(value))
        ):
            yield from _fields(name, value)

    for value in args:
        parts = members(value)
        spread = [member for part, member in parts if not part] if parts and not parts[0][0] else [value]
        for one in spread:
            yield from visit(one, names[position] if position < len(names) else str(position))
            position += 1


def _fields(name: str, array: Any) -> Iterable[tuple[str, Any]]:
    """Yield the floating point and complex fields of an array of structs, by name; another array as it is."""
    if array.dtype.kind in "fc":
        yield name, array
    for field in array.dtype.names or ():
        yield from _fields(f"{name}.{field}", array[field])


def _check_array(xp: Any, name: str, array: Any, text: str) -> None:
    """Raise with the first place of NaN or infinity, in C order; `xp` is NumPy or CuPy."""
    finite = xp.isfinite(array)
    if not bool(finite.all()):
        place = tuple(map(int, np.unravel_index(int(finite.argmin()), finite.shape)))
        where = f"{name}[{', '.join(map(str, place))}]" if place else name
        raise KernelError(f"{text} holds NaN or infinity, first {where} = {array[place].item()!r}.")
