"""The stateless functions of `cunumpy.rng` on device arrays: the CUDA kernels, compiled for the host."""

from __future__ import annotations

from pathlib import Path

import cupy
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cunumpy as xp
import philox_reference as reference
from array_kinds import as_compared
from cunumpy.errors import ArgumentError, ArgumentTypeError, MixedBackendError
from nvrtc import ARCHITECTURES, compile_cuda

FUNCTIONS = [xp.rng.philox_uniform, xp.rng.philox_uniform2, xp.rng.philox_normal, xp.rng.philox_normal2]
DTYPES = [np.dtype(code) for code in "bBhHiIlLqQ"]
pytestmark = pytest.mark.usefixtures("raw_modules")


def host(result):
    """Give the results on the host, stacked if they are a pair."""
    if isinstance(result, tuple):
        return np.stack([xp.to_numpy(one) for one in result])
    return xp.to_numpy(result)


@pytest.mark.parametrize(("counter", "key", "expected"), reference.KNOWN_ANSWERS)
def test_known_answers_of_random123(counter, key, expected):
    words = xp.rng.philox4x32_10(cupy.asarray(np.array(counter, np.uint32)), *key)
    assert isinstance(words, cupy.ndarray)
    assert words.dtype == np.uint32
    assert xp.to_numpy(words).tolist() == expected


@pytest.mark.parametrize(("where", "uniform", "normal"), reference.TABLE)
def test_known_numbers(where, uniform, normal):
    seed, stream, counter = where
    device = cupy.asarray(np.array(stream, np.uint64))
    assert [float(u).hex() for u in host(xp.rng.philox_uniform2(seed, device, counter))] == list(uniform)
    np.testing.assert_array_max_ulp(host(xp.rng.philox_normal2(seed, device, counter)), np.array(normal), 8)


@st.composite
def device_operands(draw, count):
    """Integer arrays of any dtype and layout that go together, and numbers, on the device and on the host."""
    shape = tuple(draw(st.lists(st.integers(1, 3), max_size=6)))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    operands = []
    for position in range(count):
        if position and draw(st.booleans()):
            operands.append(draw(st.integers(-(2**65), 2**65)))
            continue
        dtype = draw(st.sampled_from(DTYPES))
        own = tuple(draw(st.sampled_from([extent, 1])) for extent in shape)
        steps = [draw(st.sampled_from([1, 2, -1])) for _ in own]
        info = np.iinfo(dtype)
        large = tuple(extent * abs(step) for extent, step in zip(own, steps, strict=True))
        values = random.integers(info.min, info.max, large, dtype, endpoint=True)
        axes = draw(st.permutations(range(len(own))))
        array = cupy.asarray(values).transpose(axes).copy().transpose([axes.index(axis) for axis in range(len(own))])
        operands.append(array[tuple(slice(None, None, step) for step in steps)])
    return operands


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(device_operands(3))
def test_any_dtype_and_layout_equals_the_host(raw_modules, operands):
    on_host = [xp.to_numpy(operand) if isinstance(operand, cupy.ndarray) else operand for operand in operands]
    before = len(raw_modules)
    for function in FUNCTIONS:
        result, expected = function(*operands), np.array(function(*on_host))
        for one in result if isinstance(result, tuple) else (result,):
            assert isinstance(one, cupy.ndarray)
            assert one.flags.c_contiguous
        if "uniform" in function.__name__:
            np.testing.assert_array_equal(host(result), expected)
        else:
            np.testing.assert_array_max_ulp(host(result), expected, 8)
    assert len(raw_modules) - before == len(FUNCTIONS)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(device_operands(3), st.sampled_from(DTYPES))
def test_words_of_any_dtype_and_layout_equal_the_host(raw_modules, operands, dtype):
    counter = cupy.stack([operands[0].astype(dtype)] * 3 + [operands[0].astype(dtype) ^ dtype.type(5)], axis=-1)
    on_host = [xp.to_numpy(operand) if isinstance(operand, cupy.ndarray) else operand for operand in operands]
    before = len(raw_modules)
    words = xp.rng.philox4x32_10(counter, *operands[1:])
    assert len(raw_modules) - before == 1
    np.testing.assert_array_equal(
        xp.to_numpy(words), xp.rng.philox4x32_10(xp.to_numpy(counter), *on_host[1:]), strict=True
    )


def test_many_dimensions_that_can_not_be_merged(raw_modules):
    large = np.arange(4**8, dtype=np.int32).reshape((4,) * 8)[(slice(None, None, 2),) * 8]
    result = xp.rng.philox_uniform(cupy.asarray(large)[::-1], large.size, 0)
    np.testing.assert_array_equal(xp.to_numpy(result), xp.rng.philox_uniform(large[::-1], large.size, 0))
    assert len(raw_modules) == 1


@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_launch_and_neither_copies_nor_waits(function, raw_modules):
    ids, counters = cupy.arange(5), cupy.arange(3, dtype=np.uint8)[:, None]
    with xp.profiling.count_transfers() as transfers:
        result = function(2**63 + 1, ids, counters)
    assert len(transfers.events) == 0
    assert len(raw_modules) == 1
    assert host(result).shape[-2:] == (3, 5)


def test_empty_arrays_launch_nothing(raw_modules):
    assert xp.rng.philox_normal(1, cupy.zeros((0, 3), np.int64), 2).shape == (0, 3)
    assert xp.rng.philox4x32_10(cupy.zeros((0, 4), np.int64), 1, 2).shape == (0, 4)
    assert raw_modules == []


def test_zero_dimensional_arrays_stay_on_the_device():
    result = xp.rng.philox_uniform(1, cupy.asarray(np.array(2)), 3)
    assert isinstance(result, cupy.ndarray)
    assert result.shape == ()
    assert float(result) == reference.uniforms(1, 2, 3)[0]


def test_out_gets_the_result():
    ids = cupy.arange(4)
    first, second = cupy.zeros(4), cupy.zeros(4)
    assert xp.rng.philox_uniform(1, ids, 0, out=first) is first
    assert xp.to_numpy(first).tolist() == [reference.uniforms(1, i, 0)[0] for i in range(4)]
    assert xp.rng.philox_normal2(1, ids, 0, out=(first, second)) == (first, second)
    np.testing.assert_array_max_ulp(
        np.stack([xp.to_numpy(first), xp.to_numpy(second)]), np.stack(xp.rng.philox_normal2(1, np.arange(4), 0)), 8
    )
    scalar = cupy.zeros(())
    assert xp.rng.philox_uniform(1, 2, 3, out=scalar) is scalar
    assert float(scalar) == reference.uniforms(1, 2, 3)[0]


def test_host_and_device_arrays_in_one_call_are_refused(raw_modules):
    ids = cupy.arange(4)
    calls = [
        (lambda: xp.rng.philox_uniform(1, ids, np.arange(4)), r"philox_uniform: .*'stream'.*'counter'.*to_cupy"),
        (lambda: xp.rng.philox_normal2([1], ids, 0), r"philox_normal2: .*'stream'.*'seed'"),
        (lambda: xp.rng.philox4x32_10([1, 2, 3, 4], ids, 0), r"philox4x32_10: .*'key0'.*'counter'"),
        (lambda: xp.rng.philox_uniform(1, ids, 0, out=np.zeros(4)), r"philox_uniform: .*'stream'.*'out'"),
        (lambda: xp.rng.philox_uniform(1, np.arange(4), 0, out=cupy.zeros(4)), r"philox_uniform: .*'out'.*'stream'"),
        (lambda: xp.rng.philox_uniform2(1, ids, 0, out=(cupy.zeros(4), np.zeros(4))), r"out\[1\]"),
    ]
    for call, message in calls:
        with pytest.raises(MixedBackendError, match=message):
            call()
    assert raw_modules == []


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.bool_, np.complex128])
def test_what_is_no_integer_is_refused(dtype, raw_modules):
    with pytest.raises(ArgumentTypeError, match=f"philox_uniform: argument 'counter' .*integer.* {np.dtype(dtype)}"):
        xp.rng.philox_uniform(1, 2, cupy.zeros(3, dtype))
    assert raw_modules == []


def test_unsuitable_outputs_are_refused_and_nothing_is_changed(raw_modules):
    ids = cupy.arange(8)
    for out, message in [
        (cupy.zeros(3), r"shape \(8,\)"),
        (cupy.zeros(8, np.float32), "dtype float64"),
        (cupy.zeros(16)[::2], "C-contiguous"),
        (ids.view(np.float64), "shares memory with argument 'stream'"),
    ]:
        before = as_compared(xp.to_numpy(out))
        with pytest.raises(ArgumentError, match=f"philox_normal: argument 'out' .*{message}"):
            xp.rng.philox_normal(1, ids, 0, out=out)
        assert as_compared(xp.to_numpy(out)) == before
    assert raw_modules == []


def test_the_active_backend_does_not_matter():
    for backend in ("numpy", "cupy"):
        with xp.use_backend(backend):
            assert isinstance(xp.rng.philox_uniform(1, np.arange(3), 0), np.ndarray)
            assert isinstance(xp.rng.philox_uniform(1, 2, 0), np.float64)
            assert isinstance(xp.rng.philox_uniform(1, cupy.arange(3), 0), cupy.ndarray)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_compile_for_gpus(architecture):
    source = (Path(xp.rng.__file__).parent / "philox.cu").read_text()
    instances = tuple(f"philox_{name}<{room}>" for name in ("uniform", "normal", "words") for room in (1, 4, 64))
    assert compile_cuda(source, architecture=architecture, instances=instances)
