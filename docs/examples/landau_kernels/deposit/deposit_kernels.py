"""Density of the markers on the grid, by linear weighting."""

from typing import Final


def deposit(positions: "Final[float[:]]", density: "float[:]"):
    """Add each marker to the density.

    It gives ``1 - fraction`` to the grid point at the left of its cell and ``fraction`` to the one at the right, where
    ``fraction`` is how far into the cell it is. Positions are from 0 to 1; the grid is periodic.
    """
    cells = density.shape[0]
    for i in range(positions.shape[0]):
        place = positions[i] * cells
        left = min(int(place), cells - 1)
        right = left + 1
        if right == cells:
            right = 0
        fraction = place - left
        density[left] += 1 - fraction
        density[right] += fraction
