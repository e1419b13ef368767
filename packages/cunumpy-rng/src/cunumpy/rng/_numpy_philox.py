"""Philox4x32-10 on NumPy: blocks of numbers, computed in place.

The one implementation of Philox in Python; everything that runs without the native library is built from these
functions. They work on blocks that fit a processor's cache: callers cut their data into pieces of `BLOCK` elements.

A word is one of the four 32-bit results of a Philox block, kept in an uint64 element below 2^32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cunumpy.rng._layout import Operand

__all__ = [
    "BLOCK",
    "bits64",
    "box_muller",
    "exponentials",
    "philox_normal",
    "philox_uniform",
    "philox_words",
    "rounds",
    "uniforms",
    "words",
]

BLOCK = 8192
"""Elements that a caller computes at once: a few times 64 KiB of temporaries, and 0.1 ms."""

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)

Integers: TypeAlias = "int | np.ndarray"


def words(seed: Integers, stream: Integers, counter: Integers, out: np.ndarray) -> None:
    """Compute the four words of each block.

    Parameters
    ----------
    seed, stream, counter : int or ndarray
        Ints in [0, 2^64), or uint64 arrays of shape (n,); left as they are. A seed that is an int saves a fifth of the
        time.
    out : ndarray
        uint64, shape (4, n): the words, each below 2^32. It must not overlap the arrays given.
    """
    out[0] = _low(counter)
    out[1] = _high(counter)
    out[2] = _low(stream)
    out[3] = _high(stream)
    rounds(out, _low(seed), _high(seed))


def rounds(state: np.ndarray, key0: Any, key1: Any) -> None:
    """Turn counter words into random words, in place.

    Parameters
    ----------
    state : ndarray
        uint64, shape (4, n), values below 2^32: first the counter words, then the random words.
    key0, key1 : numpy.uint64 or ndarray
        Below 2^32, numbers or uint64 arrays of shape (n,); left as they are.
    """
    c0, c1, c2, c3 = state
    product0, product1 = np.empty((2, state.shape[1]), np.uint64)
    for round_key0, round_key1 in zip(_schedule(key0, _W0), _schedule(key1, _W1), strict=True):
        np.multiply(c0, _M0, out=product0)
        np.multiply(c2, _M1, out=product1)
        c1 ^= round_key0
        c3 ^= round_key1
        np.right_shift(product1, _32, out=c0)
        np.right_shift(product0, _32, out=c2)
        c0 ^= c1
        c2 ^= c3
        np.bitwise_and(product1, _LOW, out=c1)
        np.bitwise_and(product0, _LOW, out=c3)


def bits64(high: np.ndarray, low: np.ndarray, out: np.ndarray) -> None:
    """Write ``high * 2^32 + low`` to `out`; the words are left as they are, and `out` may be one of them."""
    if out is low:
        out |= high << _32
    else:
        np.left_shift(high, _32, out=out)
        out |= low


def uniforms(high: np.ndarray, low: np.ndarray, out: np.ndarray) -> None:
    """Write the uniform numbers of pairs of words to `out` (float64, shape (n,)); the words are overwritten."""
    high <<= np.uint64(21)
    low >>= np.uint64(11)
    high |= low
    np.multiply(high, 2.0**-53, out=out)


def box_muller(u0: np.ndarray, u1: np.ndarray, z0: np.ndarray, z1: np.ndarray | None) -> None:
    """Write pairs of normal numbers to `z0` and `z1`, or the first of them alone.

    All arrays have one shape, and one dtype, float64 or float32. The uniform numbers are overwritten; the results may
    be these very arrays.
    """
    radius = u0
    np.subtract(1, u0, out=radius)
    np.log(radius, out=radius)
    radius *= -2
    np.sqrt(radius, out=radius)
    u1 *= u1.dtype.type(6.283185307179586)
    if z1 is None:
        np.cos(u1, out=u1)
        np.multiply(radius, u1, out=z0)
    else:
        cosine = np.cos(u1)
        np.sin(u1, out=u1)
        np.multiply(radius, u1, out=z1)
        np.multiply(radius, cosine, out=z0)


def exponentials(u: np.ndarray, out: np.ndarray) -> None:
    """Write exponential numbers of mean 1 to `out`, which may be `u`; both float64 or both float32, `u` as uniform."""
    np.subtract(1, u, out=out)
    np.log(out, out=out)
    np.subtract(0, out, out=out)  # not the negative, which would make -0 of 0


def philox_uniform(operands: Sequence[Operand], first: np.ndarray, second: np.ndarray | None) -> None:
    """Write uniform numbers of seeds, streams and counters.

    Parameters
    ----------
    operands : sequence
        Seed, stream and counter, as of `_layout`, broadcast to the shape of `first`.
    first, second : ndarray
        float64, C-contiguous, of one shape; `second` may be None. They share no memory with the operands.
    """
    for part, (seed, stream, counter) in _blocks(operands, first.size):
        state = np.empty((4, part.stop - part.start), np.uint64)
        words(seed, stream, counter, state)
        uniforms(state[0], state[1], first.reshape(-1)[part])
        if second is not None:
            uniforms(state[2], state[3], second.reshape(-1)[part])


def philox_normal(operands: Sequence[Operand], first: np.ndarray, second: np.ndarray | None) -> None:
    """Write normal numbers of seeds, streams and counters; parameters as of `philox_uniform`."""
    for part, (seed, stream, counter) in _blocks(operands, first.size):
        state = np.empty((4, part.stop - part.start), np.uint64)
        words(seed, stream, counter, state)
        u0, u1 = np.empty((2, part.stop - part.start))
        uniforms(state[0], state[1], u0)
        uniforms(state[2], state[3], u1)
        box_muller(u0, u1, first.reshape(-1)[part], None if second is None else second.reshape(-1)[part])


def philox_words(operands: Sequence[Operand], out: np.ndarray) -> None:
    """Write random words of counter words and key words.

    Parameters
    ----------
    operands : sequence
        Four counter words and two key words, as of `_layout`, of which the low 32 bits count; broadcast to the shape of
        `out` without its last axis.
    out : ndarray
        uint32, C-contiguous, last axis of length 4.
    """
    rows = out.reshape(-1, 4)
    for part, (*counter, key0, key1) in _blocks(operands, len(rows)):
        state = np.empty((4, part.stop - part.start), np.uint64)
        for row, word in zip(state, counter, strict=True):
            row[:] = _low(word)
        rounds(state, _low(key0), _low(key1))
        rows[part] = state.T


def _blocks(operands: Sequence[Operand], n: int) -> Iterator[tuple[slice, list[Integers]]]:
    """Cut broadcast operands into blocks, in C order, with the values modulo 2^64; ints stay ints."""
    arrays = [operand for operand in operands if not isinstance(operand, int)]
    if not arrays:
        if n:
            yield slice(0, 1), list(operands)
        return
    if n == 0:
        return
    blocks = np.nditer(
        arrays,
        flags=["external_loop", "buffered"],
        op_flags=[["readonly"]] * len(arrays),
        op_dtypes=[np.uint64] * len(arrays),
        casting="unsafe",  # modulo 2^64 for negative numbers
        order="C",
        buffersize=BLOCK,
    )
    start = 0
    for values in blocks:
        parts = iter(values if isinstance(values, tuple) else (values,))
        block = [operand if isinstance(operand, int) else next(parts) for operand in operands]
        size = next(part.size for part in block if not isinstance(part, int))
        yield slice(start, start + size), block
        start += size


def _low(value: Integers) -> Any:
    return np.uint64(value & 0xFFFFFFFF) if isinstance(value, int) else value & _LOW


def _high(value: Integers) -> Any:
    return np.uint64(value >> 32) if isinstance(value, int) else value >> _32


def _schedule(key: Any, step: np.uint64) -> Iterator[Any]:
    """Give the key of each round: a number, or one array whose values change."""
    if key.ndim == 0:
        yield from (np.uint64((int(key) + turn * int(step)) & 0xFFFFFFFF) for turn in range(10))
        return
    key = key.copy()
    for _ in range(10):
        yield key
        key += step
        key &= _LOW
