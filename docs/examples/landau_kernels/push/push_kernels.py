"""The motion of the markers by one step."""

from math import floor
from typing import Final


def push(positions: "float[:]", velocities: "float[:]", kick: "Final[float[:]]"):
    """Advance the velocity of each marker by the kick at its place, then its position by one step.

    The kick is given on the grid points, which are periodic, and taken at the marker by linear interpolation: the
    weighting of `deposit`, so that a marker exerts no force on itself. Positions are from 0 to 1, velocities and kick
    per step.
    """
    cells = kick.shape[0]
    for i in range(positions.shape[0]):
        place = positions[i] * cells
        left = min(int(place), cells - 1)
        right = left + 1
        if right == cells:
            right = 0
        velocities[i] += kick[left] + (place - left) * (kick[right] - kick[left])
        moved = positions[i] + velocities[i]
        positions[i] = moved - floor(moved)  # the upper end may be met by rounding
