"""Philox4x32-10 and what is made of it, in Python's integers: written from the papers, for small tests."""

from __future__ import annotations

LOW = 2**32 - 1
MASK = 2**64 - 1

#: Random123's known answers: counter words, key words, random words.
KNOWN_ANSWERS = [
    ([0, 0, 0, 0], [0, 0], [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([LOW] * 4, [LOW] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]

#: (seed, stream, counter), the uniform pair, the normal pair.
TABLE = [
    ((42, 0, 0), ("0x1.39d5e0a6efea9p-1", "0x1.2bf50ad5742b0p-4"), (1.234541820550271, 0.6118499355304586)),
    ((42, 1, 0), ("0x1.499bb49028f40p-7", "0x1.db4581c5b1620p-3"), (0.0159889268005758, 0.14129369303245842)),
    ((42, 2, 0), ("0x1.97f9c29a14b96p-2", "0x1.afbc756ac477ap-2"), (-0.8883402155546875, 0.4766783082856932)),
    ((1, 5, 9), ("0x1.b6604eb1c0043p-1", "0x1.41192743f4732p-1"), (-1.3737127804458311, -1.4112497234934531)),
    ((0, 0, 0), ("0x1.989fa35785a70p-2", "0x1.78af58993601bp-1"), (-0.09047305844120267, -1.0051318150657187)),
    (
        (2**40 + 17, 3, 2**33 + 5),
        ("0x1.b100c21aaefcbp-1", "0x1.1b91f3568e8c2p-1"),
        (-1.8237415564209847, -0.6417127582488555),
    ),
    ((MASK, MASK, MASK), ("0x1.023c9db50720ep-2", "0x1.44178f8cdaa8ap-1"), (-0.5113334990961309, -0.5654517205223427)),
]


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Give the four random words of four counter words and two key words."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c0, 2**32)
        high1, low1 = divmod(0xCD9E8D57 * c2, 2**32)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + 0x9E3779B9) & LOW, (k1 + 0xBB67AE85) & LOW
    return [c0, c1, c2, c3]


def words(seed: int, stream: int, counter: int) -> list[int]:
    """Give the four words of a block; arguments modulo 2^64."""
    seed, stream, counter = seed & MASK, stream & MASK, counter & MASK
    return philox([counter & LOW, counter >> 32, stream & LOW, stream >> 32], [seed & LOW, seed >> 32])


def bits64(seed: int, stream: int, counter: int) -> tuple[int, int]:
    w = words(seed, stream, counter)
    return w[0] << 32 | w[1], w[2] << 32 | w[3]


def uniforms(seed: int, stream: int, counter: int) -> tuple[float, float]:
    """Give the two uniform numbers of a block."""
    first, second = bits64(seed, stream, counter)
    return (first >> 11) * 2.0**-53, (second >> 11) * 2.0**-53


def bounded(seed: int, stream: int, counter: int, bound: int) -> tuple[int, int]:
    """Give the two integers below `bound` (1 to 2^64) of a block, by Lemire's method."""
    results = []
    for which in (0, 1):
        for attempt in range(256):
            product = bits64(seed, stream, counter + (attempt << 56))[which] * bound
            if product & MASK >= 2**64 % bound:
                break
        results.append(product >> 64)
    return results[0], results[1]
