"""Morton and Hilbert keys in plain Python integers, bit by bit: what all implementations are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

MORTON_VECTORS = [  # cells, key
    ((1, 0), 1),
    ((0, 1), 2),
    ((3, 3), 15),
    ((1, 2), 9),
    ((1, 2, 3), 53),
    ((0xFFFFFFFF, 0), 0x5555555555555555),
    ((0, 0xFFFFFFFF), 0xAAAAAAAAAAAAAAAA),
    ((0x12345678, 0x9ABCDEF0), 0x838C8FB0B3BCBF40),
    ((0x1FFFFF, 0, 0), 0x1249249249249249),
    ((0, 0x1FFFFF, 0), 0x2492492492492492),
    ((0, 0, 0x1FFFFF), 0x4924924924924924),
    ((0x12345, 0x0ABCD, 0x1F0F0), 0x5D3C41BDE44C3),
]

POINT_VECTORS = [  # levels, lower, upper, point, key
    (3, (0, 0), (1, 1), (0, 0), 0),
    (3, (0, 0), (1, 1), (0.125, 0), 1),
    (3, (0, 0), (1, 1), (0.999, 0.5), 53),
    (3, (0, 0), (1, 1), (1, 1), 63),
    (3, (0, 0), (1, 1), (-5, 7), 42),
    (4, (0, 0, 0), (1, 1, 1), (0.1, 0.2, 0.3), 275),
    (4, (0, 0, 0), (1, 1, 1), (0.9, 0.5, 0.01), 1608),
    (4, (0, 0, 0), (1, 1, 1), (1, 1, 1), 4095),
    (4, (0, 0, 0), (1, 1, 1), (-1, 2, 0.5), 3218),
    (4, (0, 1), (1, 0), (0.1, 0.2), 161),
    (4, (0, 1), (1, 0), (0.9, 0.5), 212),
    (4, (0, 1), (1, 0), (1, 1), 85),
    (4, (0, 1), (1, 0), (-1, 2), 0),
    (21, (0, 0, 0), (1, 1, 1), (0.1, 0.2, 0.3), 0x89D89D89D89D89D),
    (21, (0, 0, 0), (1, 1, 1), (0.9, 0.5, 0.01), 0x3240344244B60A64),
    (21, (0, 0, 0), (1, 1, 1), (1, 1, 1), 0x7FFFFFFFFFFFFFFF),
    (32, (0, 0), (1, 1), (0.1, 0.2), 0xB4B4B4B4B4B4B4B),
    (32, (0, 0), (1, 1), (0.9, 0.5), 0xD414141414141414),
    (32, (0, 0), (1, 1), (1, 1), 0xFFFFFFFFFFFFFFFF),
    (32, (0, 0), (1, 1), (-1, 2), 0xAAAAAAAAAAAAAAAA),
]

HILBERT_ORDER = {  # the cells of one level, along the curve
    2: [(0, 0), (0, 1), (1, 1), (1, 0)],
    3: [(0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1), (1, 0, 0)],
}


def morton(cells: Sequence[int], levels: int = 32) -> int:
    """Interleave the low bits of the cells, those of the first axis lowest."""
    ndim = len(cells)
    return sum((cell >> b & 1) << (ndim * b + axis) for axis, cell in enumerate(cells) for b in range(levels))


def hilbert(cells: Sequence[int], levels: int) -> int:
    """Skilling's AxestoTranspose, as printed in AIP Conf. Proc. 707, 381 (2004), and the bits put in a row."""
    x = list(cells)
    n = len(x)
    q = 1 << (levels - 1)
    while q > 1:
        p = q - 1
        for i in range(n):
            if x[i] & q:
                x[0] ^= p
            else:
                t = (x[0] ^ x[i]) & p
                x[0] ^= t
                x[i] ^= t
        q >>= 1
    for i in range(1, n):
        x[i] ^= x[i - 1]
    t = 0
    q = 1 << (levels - 1)
    while q > 1:
        if x[n - 1] & q:
            t ^= q - 1
        q >>= 1
    x = [value ^ t for value in x]
    return morton(x[::-1], levels)


def cell(x: float, lower: float, scale: float, levels: int) -> int:
    """Return floor((x - lower) * scale) in double arithmetic, in the nearest cell of the box; NaN in cell 0."""
    if x != x:
        return 0
    value = (float(x) - lower) * scale
    if value in (float("inf"), float("-inf")):
        return 2**levels - 1 if value > 0 else 0
    return min(max(Fraction(value).__floor__(), 0), 2**levels - 1)
