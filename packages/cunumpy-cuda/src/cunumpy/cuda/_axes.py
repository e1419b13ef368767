"""Describing how elements lie in memory to compiled loops by as few axes as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def merged_axes(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[tuple[int, tuple[int, ...]]]:
    """Merge neighbouring axes wherever all arrays allow it, and leave out axes of length 1.

    Parameters
    ----------
    shape : sequence of int
    strides : sequence of sequence of int
        Those of each array; without arrays everything is merged.

    Returns
    -------
    list of (int, tuple of int)
        The length of each axis and the arrays' strides on it, outermost first, visiting the elements in C order.
    """
    merged: list[tuple[int, tuple[int, ...]]] = []
    for length, steps in zip(shape, zip(*strides, strict=True) if strides else [()] * len(shape), strict=True):
        if length == 1:
            continue
        if merged and all(outer == step * length for outer, step in zip(merged[-1][1], steps, strict=True)):
            merged[-1] = (merged[-1][0] * length, steps)
        else:
            merged.append((length, steps))
    return merged
