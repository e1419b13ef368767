"""Devices, memory, streams and events of a real GPU, through `cunumpy.cuda`."""

from __future__ import annotations

import cupy
import numpy as np
import pytest

import cunumpy as xp
from cunumpy import cuda
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.kernel_testing import fake_cupy_active
from cunumpy.kernels import CudaKernel

SLOW = r"""
extern "C" __global__ void slow(double* x, int n, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double y = x[i];
    for (int k = 0; k < steps; ++k) y = y * 0.999999 + 1e-6;
    x[i] = y;
}
extern "C" __global__ void copy(const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
"""
STEPS = 10 if fake_cupy_active() else 20_000


def slow(x, **options):
    CudaKernel(SLOW, "slow")(x, x.size, STEPS, **options)


# --- devices ----------------------------------------------------------------------------------------------------------


def test_properties_of_the_device():
    assert cuda.device_count() >= 1
    found, theirs = cuda.device_properties(), cupy.cuda.runtime.getDeviceProperties(0)
    assert found.multiprocessors == theirs["multiProcessorCount"]
    assert found.warp_size == 32
    assert found.max_threads_per_block == 1024
    assert found.compute_capability >= (7, 0)
    assert cuda.max_shared_memory_per_block() == found.shared_memory_per_block >= 48 * 1024
    assert cuda.max_shared_memory_per_block(opt_in=True) >= cuda.max_shared_memory_per_block()
    with pytest.raises(ArgumentError, match="device"):
        cuda.set_device(cuda.device_count())


def test_the_device_of_a_rank():
    count = cuda.device_count()
    assert cuda.set_device_for_rank(count) == 0
    assert cupy.cuda.runtime.getDevice() == 0
    assert cuda.bind_local_device() in range(count)
    cuda.set_device(0)


def test_memory():
    free, total = cuda.memory_info()
    assert 0 < free <= total
    size = 2**28
    cupy.empty(size, "uint8")  # its memory goes back to the pool at once
    cuda.free_memory()
    assert cupy.get_default_memory_pool().free_bytes() < size


def test_page_locked_memory():
    values = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    pinned = cuda.pin_memory(values)
    np.testing.assert_array_equal(pinned, values)
    buffer = cuda.empty_pinned((3, 4))
    assert buffer.flags.c_contiguous
    device = cupy.zeros((3, 4))
    device.set(np.ascontiguousarray(pinned))
    device.get(out=buffer)
    cupy.cuda.get_current_stream().synchronize()
    np.testing.assert_array_equal(buffer, values)


# --- streams and events -----------------------------------------------------------------------------------------------


def test_a_stream_waits_for_an_event_of_another_one():
    n = 1_000_000
    x, y = cupy.full(n, 3.0), cupy.zeros(n)
    cupy.cuda.get_current_stream().synchronize()
    first, second = cuda.create_stream(), cuda.create_stream()
    slow(x, stream=first)
    event = cuda.record_event(stream=first)
    cuda.wait_event(event, stream=second)
    CudaKernel(SLOW, "copy")(x, y, n, stream=second)
    second.synchronize()
    assert event.done
    np.testing.assert_array_equal(xp.to_numpy(y), xp.to_numpy(x))


def test_joined_streams_need_no_wait():
    n = 1_000_000
    x, y = cupy.full(n, 3.0), cupy.zeros(n)
    with cuda.stream(join=True):
        slow(x)
    CudaKernel(SLOW, "copy")(x, y, n)
    np.testing.assert_array_equal(xp.to_numpy(y), xp.to_numpy(x))


def test_streams_are_current_inside_of_their_block():
    outer = cupy.cuda.get_current_stream()
    with cuda.stream() as inner:
        assert cupy.cuda.get_current_stream() == inner
        slow(cupy.ones(1000))
    assert cupy.cuda.get_current_stream() == outer
    inner.synchronize()
    assert inner.done
    with cuda.stream(cuda.create_stream(priority=-1)) as urgent:
        assert cupy.cuda.get_current_stream() == urgent


def test_elapsed_time():
    x = cupy.ones(1000)
    slow(x)  # compiled
    start, stop = cuda.create_event(timing=True), cuda.create_event(timing=True)
    cuda.record_event(start)
    slow(x)
    cuda.record_event(stop)
    assert cuda.elapsed(start, stop) > 0


def test_objects_of_the_host_are_refused():
    with pytest.raises(ArgumentTypeError, match="wait_event"):
        cuda.wait_event(cuda.HostEvent(), stream=cuda.create_stream())
    with pytest.raises(ArgumentTypeError, match="argument 'stream' must be a stream of CuPy"):
        slow(cupy.ones(10), stream=cuda.HostStream())


def test_arrays_of_another_device():
    if cuda.device_count() < 2:
        pytest.skip("needs two devices")
    with cupy.cuda.Device(1):
        x = cupy.ones(10)
    with pytest.raises(ArgumentError, match="is on CUDA device 1, the current device is 0"):
        slow(x)
    with cupy.cuda.Device(1):
        slow(x)
        assert bool((x == 1).all())
