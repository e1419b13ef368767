"""Philox numbers of integer operands in device memory: one kernel launch a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy.cuda._device_code import DeviceCode
from cunumpy.rng import _layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cunumpy.rng._layout import Operand

_CODE = DeviceCode("cunumpy.rng", "philox.cu")
_ROOM = (1, 4, 64)  # dimensions that a kernel has room for; merged, most calls have one, and CuPy's arrays at most 64


def philox_uniform(operands: Sequence[Operand], first: Any, second: Any) -> None:
    """Write uniform numbers; see `_numpy_philox.philox_uniform`."""
    _launch("philox_uniform", operands, first.shape, first, np.uint64(0) if second is None else second)


def philox_normal(operands: Sequence[Operand], first: Any, second: Any) -> None:
    """Write normal numbers; see `_numpy_philox.philox_normal`."""
    _launch("philox_normal", operands, first.shape, first, np.uint64(0) if second is None else second)


def philox_words(operands: Sequence[Operand], out: Any) -> None:
    """Write random words; see `_numpy_philox.philox_words`."""
    _launch("philox_words", operands, out.shape[:-1], out)


def _launch(kernel: str, operands: Sequence[Operand], shape: tuple[int, ...], *outputs: Any) -> None:
    n = 1
    for extent in shape:
        n *= extent
    if n == 0:
        return
    extents, strides = _layout.merged(shape, operands)
    room = next(room for room in _ROOM if len(extents) <= room)
    addresses = [operand if isinstance(operand, int) else int(operand.data.ptr) for operand in operands]
    numbers = _layout.packed(extents, strides, operands, addresses, room)
    structure = numbers.view(np.dtype((np.void, numbers.nbytes)))[0]
    _CODE.launch(f"{kernel}<{room}>", n, (structure, np.int64(n), *outputs))
