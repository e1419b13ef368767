"""`push` by array operations, on blocks of markers that stay in the processor's caches."""

import numpy as np

BLOCK = 131072


def push(positions, velocities, kick):
    """Move each marker by one step; ``push_kernels.py`` says how."""
    cells = kick.size
    at_left = np.append(kick, kick[0])  # the last: for markers at the upper end, which is the lower one
    slope = np.append(at_left[1:] - kick, 0.0)
    most = min(BLOCK, positions.size)
    cell, fraction, scratch = np.empty(most, dtype=np.int32), np.empty(most), np.empty(most)
    for start in range(0, positions.size, BLOCK):
        x, v = positions[start : start + BLOCK], velocities[start : start + BLOCK]
        into, change, values = cell[: x.size], fraction[: x.size], scratch[: x.size]
        np.multiply(x, cells, out=change)
        into[:] = change  # cut to whole numbers
        change -= into
        # mode="clip" lets NumPy write to `values` directly; no cell is clipped.
        change *= slope.take(into, out=values, mode="clip")
        v += change
        v += at_left.take(into, out=values, mode="clip")
        x += v
        x -= np.floor(x, out=values)
