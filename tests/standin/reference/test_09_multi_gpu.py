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
