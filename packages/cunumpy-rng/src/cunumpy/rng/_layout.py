"""How integer operands lie in memory, told to compiled loops: the native library's and the CUDA kernels'.

An operand is an int in [0, 2^64), or an array of any integer dtype, byte order and strides; a call's operands are
broadcast against each other. Nothing is converted or copied for it: the loops get addresses, types and strides.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cunumpy.cuda._axes import merged_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

Operand: TypeAlias = Any
"""An int in [0, 2^64), or a NumPy or CuPy array of an integer dtype."""

_NUMBER = 16  # the type code of an int, which stands in the place of the address


def merged(shape: tuple[int, ...], operands: Sequence[Operand]) -> tuple[list[int], list[list[int]]]:
    """Describe the operands' elements in C order by as few dimensions as possible.

    Parameters
    ----------
    shape : tuple of int
        What the operands are broadcast to, with at least one element.
    operands : sequence

    Returns
    -------
    extents : list of int
        Outermost first; none for a single element.
    strides : list of list of int
        For each operand, in bytes; 0 for ints.
    """
    axes = merged_axes(shape, [_broadcast_strides(operand, len(shape)) for operand in operands])
    return [extent for extent, _ in axes], [[steps[k] for _, steps in axes] for k in range(len(operands))]


def _broadcast_strides(operand: Operand, ndim: int) -> tuple[int, ...]:
    if isinstance(operand, int):
        return (0,) * ndim
    own = [0 if extent == 1 else step for extent, step in zip(operand.shape, operand.strides, strict=True)]
    return (*[0] * (ndim - len(own)), *own)


def packed(
    extents: list[int], strides: list[list[int]], operands: Sequence[Operand], addresses: Sequence[int], room: int
) -> np.ndarray:
    """Put the description into int64 numbers, as the structures of ``philox.cpp`` and ``philox.cu`` have them.

    Parameters
    ----------
    extents, strides
        As from `merged`.
    operands : sequence
    addresses : sequence of int
        Of the first element of each operand; of ints their value.
    room : int
        The dimensions that the structure has room for.
    """
    unused = [0] * (room - len(extents))
    numbers = [len(extents), *extents, *unused]
    for operand, address, steps in zip(operands, addresses, strides, strict=True):
        code = _NUMBER if isinstance(operand, int) else _type_code(operand.dtype)
        numbers += (address - 2**64 if address >= 2**63 else address, code, *steps, *unused)
    return np.array(numbers, np.int64)


def _type_code(dtype: np.dtype[Any]) -> int:
    swapped = dtype.byteorder == (">" if sys.byteorder == "little" else "<")
    return dtype.itemsize.bit_length() - 1 + (4 if dtype.kind == "i" else 0) + (8 if swapped else 0)
