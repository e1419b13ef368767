"""`deposit` by array operations, on blocks of markers that stay in the processor's caches."""

import numpy as np

from cunumpy.algorithms import segment_count, segment_sum

BLOCK = 131072


def deposit(positions, density):
    """Add each marker to the density; ``deposit_kernels.py`` says how."""
    cells = density.size
    size = max(BLOCK, 4 * cells)  # each block costs a pass over the grid
    most = min(size, positions.size)
    cell, fraction = np.empty(most, dtype=np.int32), np.empty(most)
    left, right = np.zeros((2, cells + 1))  # the last: of markers at the upper end, which is the lower one
    for start in range(0, positions.size, size):
        block = positions[start : start + size]
        into, fractions = cell[: block.size], fraction[: block.size]
        np.multiply(block, cells, out=fractions)
        into[:] = fractions  # cut to whole numbers
        fractions -= into
        left += segment_count(into, cells + 1, check=False)
        right += segment_sum(fractions, into, cells + 1, check=False)
    left -= right
    left[0] += left[cells]
    right[0] += right[cells]
    density += left[:cells]
    density += np.roll(right[:cells], 1)
