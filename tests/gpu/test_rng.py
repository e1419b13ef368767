"""Random numbers on a device are those of the host."""

from __future__ import annotations

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.rng import (
    PhiloxGenerator,
    philox4x32_10,
    philox_normal,
    philox_normal2,
    philox_uniform,
    philox_uniform2,
)

N = 100_003
IDS = np.arange(N) * 2**34 + 5


def assert_equal(got, expected):
    assert xp.is_gpu(got)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(xp.to_numpy(got), expected)


def assert_close(got, expected):
    """Within the 8 units in the last place that the mathematics libraries of host and device may differ by."""
    assert xp.is_gpu(got)
    assert got.dtype == expected.dtype
    np.testing.assert_array_max_ulp(xp.to_numpy(got), expected, maxulp=8)


def host(function, *arguments, **options):
    with xp.use_backend("numpy"):
        return function(*arguments, **options)


def test_known_answers():
    words = philox4x32_10(xp.asarray(np.array([[0] * 4, [2**32 - 1] * 4], np.uint32)), 0, 0)
    assert [hex(word) for word in xp.to_numpy(words)[0]] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32, np.uint8])
def test_uniform_numbers_of_ids(dtype):
    ids = IDS.astype(dtype)
    assert_equal(philox_uniform(7, xp.asarray(ids), 3), philox_uniform(7, ids, 3))
    for got, expected in zip(philox_uniform2(7, 1, xp.asarray(ids)), philox_uniform2(7, 1, ids), strict=True):
        assert_equal(got, expected)


def test_normal_numbers_of_ids():
    assert_close(philox_normal(7, xp.asarray(IDS), 3), philox_normal(7, IDS, 3))
    for got, expected in zip(philox_normal2(7, xp.asarray(IDS), 3), philox_normal2(7, IDS, 3), strict=True):
        assert_close(got, expected)


def test_operands_are_broadcast_and_may_be_strided():
    ids, steps = IDS[:300:3, None], np.arange(40, dtype=np.int16)[::-2]
    assert_equal(
        philox_uniform(xp.asarray(np.uint32(9)), xp.asarray(ids), xp.asarray(steps)),
        philox_uniform(np.uint32(9), ids, steps),
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_real_numbers_of_a_generator(dtype):
    device, here = PhiloxGenerator(3, 1), PhiloxGenerator(3, 1)
    assert_equal(device.random(N, dtype=dtype), host(here.random, N, dtype=dtype))
    assert_close(device.standard_normal((N, 1), dtype=dtype), host(here.standard_normal, (N, 1), dtype=dtype))
    assert_close(device.standard_exponential(N, dtype=dtype), host(here.standard_exponential, N, dtype=dtype))
    out = xp.empty(N, dtype)
    assert device.random(out=out, dtype=dtype) is out
    assert_equal(out, host(here.random, N, dtype=dtype))
    assert device.state == here.state


@pytest.mark.parametrize(("low", "high"), [(0, 3), (-5, 100), (0, 2**62 + 1), (-(2**63), 2**63)])
def test_integers_of_a_generator(low, high):
    assert_equal(PhiloxGenerator(3).integers(low, high, N), host(PhiloxGenerator(3).integers, low, high, N))


def test_orders_and_choices_of_a_generator():
    assert_equal(PhiloxGenerator(4).permutation(N), host(PhiloxGenerator(4).permutation, N))
    probabilities = np.arange(N) / np.arange(N).sum()
    for replace, p in ((True, None), (False, None), (True, probabilities)):
        device, here = PhiloxGenerator(5), PhiloxGenerator(5)
        on_device = None if p is None else xp.asarray(p)
        assert_equal(device.choice(N, 1000, replace, on_device), host(here.choice, N, 1000, replace, p))


def test_streams_restore_their_state():
    streams = xp.rng.RandomStreams()
    streams.seed(3)
    streams.random(10)
    state = streams.state
    first = xp.to_numpy(streams.random(10))
    streams.state = state
    np.testing.assert_array_equal(xp.to_numpy(streams.random(10)), first)


def test_more_numbers_than_32_bits_can_count():
    if _free_memory() < 40 * 2**30:
        pytest.skip("needs 40 GiB of free device memory")
    n = 2**32 + 1000
    generator = PhiloxGenerator(6)
    numbers = generator.random(n, dtype=np.float32)
    part = PhiloxGenerator(6)
    part.position = (n - 400) // 4
    assert_equal(numbers[n - 400 :].copy(), host(part.random, 400, dtype=np.float32))


def _free_memory() -> int:
    import cupy

    return int(cupy.cuda.runtime.memGetInfo()[0])
