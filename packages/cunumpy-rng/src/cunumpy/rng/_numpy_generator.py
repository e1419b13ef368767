"""Filling arrays with consecutive Philox numbers, on NumPy: chunk by chunk, straight into the output.

The functions are those of `_native_generator` and `_device_generator`. Outputs are C-contiguous and of native byte
order; seed and stream are below 2^64, positions below 2^56.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cunumpy.rng._numpy_philox import BLOCK, bits64, box_muller, exponentials, uniforms, words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["fill_exponential", "fill_integers", "fill_integers_between", "fill_normal", "fill_uniform", "order"]

_32, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


def fill_uniform(out: np.ndarray, seed: int, stream: int, position: int, low: Any, width: Any) -> None:
    """Write ``low + width * u`` with uniform numbers u in [0, 1).

    Parameters
    ----------
    out : ndarray
        float64 (two numbers of each block) or float32 (four).
    seed, stream, position : int
    low, width : scalar of the output's dtype
    """
    for part, numbers in _uniform_numbers(out, seed, stream, position):
        _write(part, numbers, low, width)


def fill_normal(out: np.ndarray, seed: int, stream: int, position: int, loc: Any, scale: Any) -> None:
    """Write ``loc + scale * z`` with normal numbers z; see `fill_uniform`."""
    for part, numbers in _uniform_numbers(out, seed, stream, position):
        for pair in range(0, len(numbers), 2):
            box_muller(numbers[pair], numbers[pair + 1], numbers[pair], numbers[pair + 1])
        _write(part, numbers, loc, scale)


def fill_exponential(out: np.ndarray, seed: int, stream: int, position: int, loc: Any, scale: Any) -> None:
    """Write ``loc + scale * e`` with exponential numbers e; see `fill_uniform`."""
    for part, numbers in _uniform_numbers(out, seed, stream, position):
        exponentials(numbers, numbers)
        _write(part, numbers, loc, scale)


def fill_integers(out: np.ndarray, seed: int, stream: int, position: int, low: int, span: int) -> None:
    """Write ``low + i`` with integers i in [0, span), modulo the output's range.

    Parameters
    ----------
    out : ndarray
        Any integer dtype, or bool.
    seed, stream, position : int
    low, span : int
        Modulo 2^64; the span 0 stands for 2^64.
    """
    threshold = np.uint64(2**64 % span) if span else None
    for part, block, bits in _random_bits(out, seed, stream, position):
        if threshold is not None:
            bits = _below(bits, np.uint64(span), threshold, seed, stream, block)
        bits += np.uint64(low)
        _write_integers(part, bits)


def fill_integers_between(
    out: np.ndarray, seed: int, stream: int, position: int, low: np.ndarray, span: np.ndarray
) -> None:
    """Write integers as `fill_integers` does, with ends and spans of their own: uint64 arrays of the output's shape."""
    low, span = low.reshape(-1), span.reshape(-1)
    start = 0
    for part, block, bits in _random_bits(out, seed, stream, position):
        here = slice(start, start + part.size)
        start += part.size
        spans = span[here]
        whole = spans == 0
        threshold = (np.uint64(0) - spans) % np.where(whole, np.uint64(1), spans)  # 2^64 modulo the span
        bits = bits[: part.size]
        drawn = _below(bits.copy(), spans, threshold, seed, stream, block)
        np.copyto(drawn, bits, where=whole)
        drawn += low[here]
        _write_integers(part, drawn)


def order(keys: np.ndarray) -> np.ndarray:
    """Return the stable order of random keys (uint64 or float64, without NaN), which hardly ever has ties to keep."""
    found = np.argsort(keys)  # a few times faster than the stable one
    ordered = keys[found]
    return np.argsort(keys, kind="stable") if (ordered[1:] == ordered[:-1]).any() else found


def _chunks(out: np.ndarray, numbers: int, position: int) -> Iterator[tuple[np.ndarray, int, int]]:
    """Cut an output into parts of `BLOCK` Philox blocks; give each with its first block and how many it has."""
    flat = out.reshape(-1)
    for start in range(0, flat.size, BLOCK * numbers):
        part = flat[start : start + BLOCK * numbers]
        yield part, position + start // numbers, -(-part.size // numbers)


def _words(seed: int, stream: int, block: int, count: int) -> np.ndarray:
    state = np.empty((4, count), np.uint64)
    words(seed, stream, np.arange(block, block + count, dtype=np.uint64), state)
    return state


def _uniform_numbers(out: np.ndarray, seed: int, stream: int, position: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Give parts of the output with their uniform numbers, number k of each block in row k."""
    numbers = 16 // out.itemsize
    for part, block, count in _chunks(out, numbers, position):
        state = _words(seed, stream, block, count)
        found = np.empty((numbers, count), out.dtype)
        if numbers == 2:
            uniforms(state[0], state[1], found[0])
            uniforms(state[2], state[3], found[1])
        else:
            state >>= np.uint64(8)
            np.multiply(state, 2.0**-24, out=found, casting="same_kind")  # exact
        yield part, found


def _write(part: np.ndarray, numbers: np.ndarray, loc: Any, scale: Any) -> None:
    with np.errstate(over="ignore", invalid="ignore"):  # infinite without a warning, as in C
        if scale != 1:
            numbers *= scale
        if loc != 0:
            numbers += loc
    _interleave(part, numbers)


def _interleave(part: np.ndarray, rows: np.ndarray) -> None:
    whole = part.size // len(rows) * len(rows)
    part[:whole].reshape(-1, len(rows))[:] = rows[:, : whole // len(rows)].T
    if whole < part.size:  # the last block is used in part
        part[whole:] = rows[: part.size - whole, -1]


def _random_bits(
    out: np.ndarray, seed: int, stream: int, position: int
) -> Iterator[tuple[np.ndarray, int, np.ndarray]]:
    """Give parts of the output with their first block and 64 random bits for each element, and maybe one more."""
    for part, block, count in _chunks(out, 2, position):
        state = _words(seed, stream, block, count)
        yield part, block, _pairs(state)


def _pairs(state: np.ndarray) -> np.ndarray:
    bits = np.empty((state.shape[1], 2), np.uint64)
    bits64(state[0], state[1], bits[:, 0])
    bits64(state[2], state[3], bits[:, 1])
    return bits.reshape(-1)


def _below(bits: np.ndarray, span: Any, threshold: Any, seed: int, stream: int, block: int) -> np.ndarray:
    """Return integers in [0, span), of random bits that are overwritten; Lemire's method, as in the header.

    Where the span is 0, the result means nothing.
    """
    rejected = np.flatnonzero(bits * span < threshold)
    for turn in range(1, 256):
        if rejected.size == 0:
            break
        state = np.empty((4, rejected.size), np.uint64)
        words(seed, stream, np.uint64(block + (turn << 56)) + (rejected // 2).astype(np.uint64), state)
        second = rejected % 2 == 1
        bits[rejected] = np.where(second, state[2] << _32 | state[3], state[0] << _32 | state[1])
        spans, limits = (span, threshold) if span.ndim == 0 else (span[rejected], threshold[rejected])
        rejected = rejected[bits[rejected] * spans < limits]
    return _multiply_high(bits, span)


def _multiply_high(a: np.ndarray, b: Any) -> np.ndarray:
    """Return the high 64 bits of products."""
    a0, a1, b0, b1 = a & _LOW, a >> _32, b & _LOW, b >> _32
    middle = a0 * b0
    middle >>= _32
    p01 = a0 * b1
    middle += p01 & _LOW
    a0 = a1 * b0  # p10
    middle += a0 & _LOW
    middle >>= _32
    high: np.ndarray = a1 * b1
    p01 >>= _32
    a0 >>= _32
    high += p01
    high += a0
    high += middle
    return high


def _write_integers(part: np.ndarray, bits: np.ndarray) -> None:
    # Between integers a cast keeps the low bits, as in C; of a bool they would not be kept.
    target = part.view(np.uint8) if part.dtype.kind == "b" else part
    np.copyto(target, bits[: part.size], casting="unsafe")
