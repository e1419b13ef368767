"""Reference, section 9: several devices, pretended. More of it is in ``test_device_memory.py``."""

import cupy as cp
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def two_devices(monkeypatch):
    monkeypatch.setenv("CUNUMPY_FAKE_CUPY_DEVICES", "2")
    yield
    for device in (1, 0):
        cp.cuda.Device(device).use()
        cp.get_default_memory_pool().set_limit(size=0)


def test_the_current_device():
    cp.cuda.Device(0).use()
    with cp.cuda.Device(1):
        x = cp.array([1, 2, 3])
    assert x.device == cp.cuda.Device(1)
    assert str(x.device) == "<CUDA Device 1>"
    assert cp.cuda.Device() == cp.cuda.Device(0)
    cp.cuda.Device(1).use()
    assert cp.zeros(3).device.id == 1


def test_transfers_between_devices():
    with cp.cuda.Device(1):
        x = cp.array([1, 2, 3])
    with pytest.raises(ValueError, match=r"resides \(1\) is different from the current device \(0\)"):
        x + 1
    moved = cp.asarray(x)
    assert moved.device.id == 0
    np.testing.assert_array_equal((moved + 1).get(), [2, 3, 4])


def test_kernels_with_arrays_of_another_device():
    scale = cp.ElementwiseKernel("float64 x", "float64 y", "y = 2 * x", "scale")
    raw = cp.RawKernel('extern "C" __global__ void scale(double* x) { x[threadIdx.x] *= 2; }', "scale")
    x = cp.arange(3.0)
    with cp.cuda.Device(1):
        with pytest.raises(ValueError, match=r"resides \(0\) is different from the current device \(1\)"):
            scale(x)
        for argument in (x, x.data):
            with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="argument 0 of kernel 'scale' is in memory of"):
                raw((1,), (3,), (argument,))
        y = cp.arange(3.0)
        raw((1,), (3,), (y,))
        assert y.get().tolist() == [0, 2, 4]
    assert x.get().tolist() == [0, 1, 2]


def test_each_device_has_its_current_stream():
    s = cp.cuda.Stream()
    with s:
        with cp.cuda.Device(1):
            assert cp.cuda.get_current_stream() == cp.cuda.Stream.null
            assert cp.cuda.get_current_stream(0) == s
            t = cp.cuda.Stream()
            assert t.device_id == 1
            for use in (s.use, s.__enter__):
                with pytest.raises(RuntimeError, match="created on device 0, and the current device is 1"):
                    use()
            with t:
                assert cp.cuda.get_current_stream() == t
        assert cp.cuda.get_current_stream() == s
    assert cp.cuda.get_current_stream() == cp.cuda.Stream.null


def test_limits_of_each_device():
    mempool = cp.get_default_memory_pool()
    for device, size in ((0, 4 * 1024**3), (1, 1024**3)):
        with cp.cuda.Device(device):
            mempool.set_limit(size=size)
    limits = []
    for device in (0, 1):
        with cp.cuda.Device(device):
            limits.append(mempool.get_limit())
    assert limits == [4 * 1024**3, 1024**3]
