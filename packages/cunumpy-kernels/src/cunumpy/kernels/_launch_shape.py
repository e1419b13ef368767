"""From the number of threads, or from the arguments, to the grid and block of a launch."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from cunumpy._arrays import is_device_array
from cunumpy._gate import given
from cunumpy.arguments._protocol import members
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import NoReturn

MAX_GRID = (2**31 - 1, 65535, 65535)
"""The most blocks along x, y and z, on every CUDA device (CUDA C++ Programming Guide, technical specifications)."""

MAX_THREADS_PER_BLOCK = 1024
"""The most threads of a block, on every CUDA device."""


def extents(value: Any, owner: str, argument: str, *, lowest: int) -> tuple[int, ...]:
    """Return one to three integers as a tuple."""
    if type(value) is int:
        sizes: tuple[Any, ...] = (value,)
    elif isinstance(value, (str, bytes, bytearray, set, frozenset, dict)) or is_device_array(value):
        _refuse(owner, argument, value)
    elif hasattr(value, "__iter__") and getattr(value, "shape", None) != ():
        sizes = tuple(value)
    else:
        sizes = (value,)
    if not 1 <= len(sizes) <= 3:
        raise ArgumentError(f"{owner}: argument {argument!r} must have 1 to 3 integers, got {len(sizes)}.")
    found = []
    for size in sizes:
        try:
            if isinstance(size, bool):
                raise TypeError
            found.append(operator.index(size))
        except TypeError:
            _refuse(owner, argument, value)
    if min(found) < lowest:
        kind = "positive" if lowest == 1 else "not negative"
        raise ArgumentError(f"{owner}: argument {argument!r} must be {kind}, got {given(value)}.")
    if max(found) >= 2**63:
        raise ArgumentError(f"{owner}: argument {argument!r} must fit in 64 bits, got {given(value)}.")
    return tuple(found)


def _refuse(owner: str, argument: str, value: Any) -> NoReturn:
    remedy = "; it has to be read from the device, which waits: int(array)" if is_device_array(value) else ""
    raise ArgumentTypeError(
        f"{owner}: argument {argument!r} must be an integer or 1 to 3 of them, got {given(value)}{remedy}."
    )


def block_of(value: Any, owner: str, argument: str, bound: int | None) -> tuple[int, ...]:
    """Check the size of a block; `bound` is what the kernel's ``__launch_bounds__`` allow."""
    block = extents(value, owner, argument, lowest=1)
    threads = math.prod(block)
    if threads > MAX_THREADS_PER_BLOCK:
        raise ArgumentError(
            f"{owner}: argument {argument!r} is {value!r}, {threads} threads; a block has at most "
            f"{MAX_THREADS_PER_BLOCK}."
        )
    if bound is not None and threads > bound:
        raise ArgumentError(
            f"{owner}: argument {argument!r} is {value!r}, {threads} threads, and the kernel is declared with "
            f"__launch_bounds__({bound}); take smaller blocks, or raise the bound."
        )
    return block


def grid_for(threads: tuple[int, ...], block: tuple[int, ...], owner: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the grid that covers the threads, and the block with as many dimensions."""
    if len(block) == 1 < len(threads):
        block = block + (1,) * (len(threads) - 1)
    if len(block) != len(threads):
        raise ArgumentError(
            f"{owner}: argument 'n_threads' has {len(threads)} dimension(s) {threads}, the block {len(block)} {block}; "
            "give both as many."
        )
    return tuple([-(-size // width) for size, width in zip(threads, block, strict=True)]), block


def check_grid(grid: tuple[int, ...], block: tuple[int, ...], owner: str) -> None:
    """Raise unless every CUDA device can launch this many blocks."""
    for axis, size, most in zip("xyz", grid, MAX_GRID, strict=False):
        if size > most:
            raise ArgumentError(
                f"{owner}: {size} blocks along {axis} (grid {grid} of blocks {block}) are more than the {most} that a "
                "device takes; use larger blocks, let each thread do several elements "
                "(for (auto i : cunumpy::grid_stride(n))), or put the longest axis first."
            )


# --- inference from the arguments -------------------------------------------------------------------------------------


def leading_axes(args: tuple[Any, ...], ndim: int, owner: str) -> tuple[int, ...]:
    """Return the leading axes of the first array, one for each dimension of the block."""
    shape = _first_shape(args, owner)
    if len(shape) < ndim:
        raise ArgumentError(
            f"{owner}: the block has {ndim} dimensions, the first array {len(shape)} (shape {shape}); pass n_threads."
        )
    return shape[:ndim]


def first_axis(args: tuple[Any, ...], ndim: int, owner: str) -> tuple[int, ...]:
    """Return the length of the first axis of the first array."""
    return _first_shape(args, owner)[:1]


def last_axis(args: tuple[Any, ...], ndim: int, owner: str) -> tuple[int, ...]:
    """Return the length of the last axis of the first array."""
    return _first_shape(args, owner)[-1:]


INFERENCES: dict[str, Callable[[tuple[Any, ...], int, str], tuple[int, ...]]] = {
    "auto": leading_axes,
    "first_array": first_axis,
    "last_axis": last_axis,
}


class Inference:
    """A way to infer the threads by name, as a function of the arguments.

    Parameters
    ----------
    name : str
        One of `INFERENCES`.
    ndim : int
        Dimensions of the block.
    owner : str
        For error messages.
    """

    def __init__(self, name: str, ndim: int, owner: str) -> None:
        self.name, self.ndim, self.owner = name, ndim, owner

    def __call__(self, args: tuple[Any, ...]) -> tuple[int, ...]:
        return INFERENCES[self.name](args, self.ndim, self.owner)

    def __repr__(self) -> str:
        return f"<threads from {self.name!r}>"


def _first_shape(args: tuple[Any, ...], owner: str) -> tuple[int, ...]:
    for value in args:
        shape = getattr(value, "shape", None)
        if shape and hasattr(value, "dtype") and not isinstance(value, type):
            return tuple(shape)
        if hasattr(type(value), "__cuda_args__"):
            for array in arrays_in(value, 0):
                return tuple(array.shape)
    raise ArgumentTypeError(
        f"{owner}: no argument is an array that tells the number of threads; pass n_threads or grid."
    )


def arrays_in(value: Any, depth: int) -> Iterator[Any]:
    """Yield the arrays of an argument in order, those of structs and argument objects too."""
    shape = getattr(value, "shape", None)
    if shape is not None and not isinstance(value, type):
        if len(shape) and hasattr(value, "dtype"):
            yield value
        return
    for _, member in members(value):
        if depth < 32:
            yield from arrays_in(member, depth + 1)
