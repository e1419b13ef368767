"""What the CuPy backend's own functions copy between host and device is counted, and can be forbidden."""

import sys

import numpy as np
import pytest

import cunumpy as xp
from cunumpy import errors

cupy = sys.modules["cupy"]
HOST = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("by_array", [False, True])
@pytest.mark.parametrize("name", ["asarray", "array", "asanyarray", "ascontiguousarray", "asfortranarray"])
def test_creation_from_host_data(name, by_array):
    create = getattr(xp.get_array_module(xp.zeros(1)) if by_array else xp, name)
    with xp.profiling.count_transfers() as counter:
        result = create(HOST)
    np.testing.assert_array_equal(result.get(), HOST)
    assert [(e.kind, e.description, e.nbytes) for e in counter.events] == [
        ("to_device", f"{name}(shape=(2, 3), dtype=float64)", 48)
    ]
    assert counter.events[0].where.startswith(__file__)
    assert counter.events[0].duration > 0


def test_lists_and_keywords():
    with xp.profiling.count_transfers() as counter:
        xp.asarray([1.0, 2.0])
        xp.array(object=HOST)
        xp.asarray(a=HOST, dtype="f4")
    assert [(e.description, e.nbytes) for e in counter.events] == [
        ("asarray(list)", 16),
        ("array(shape=(2, 3), dtype=float64)", 48),
        ("asarray(shape=(2, 3), dtype=float64)", 24),
    ]


def test_device_arrays_are_no_transfer():
    device = xp.zeros(3)
    with xp.profiling.count_transfers() as counter:
        assert xp.asarray(device) is device
        xp.array(device)
        xp.zeros_like(device)
        xp.arange(5)
        assert xp.array([device, device]).shape == (2, 3)
    assert counter.events == []


@pytest.mark.parametrize("name", ["vstack", "hstack", "dstack"])
def test_stacking_host_data(name):
    device = xp.asarray(HOST)
    with xp.profiling.count_transfers() as counter:
        result = getattr(xp, name)([device, HOST, device])
    np.testing.assert_array_equal(result.get(), getattr(np, name)([HOST, HOST, HOST]))
    assert [(e.kind, e.description, e.nbytes) for e in counter.events] == [
        ("to_device", f"{name}(shape=(2, 3), dtype=float64)", 48)
    ]
    with xp.profiling.forbid_transfers():
        getattr(xp, name)([device, device])
        with pytest.raises(errors.TransferError, match=name):
            getattr(xp, name)([device, HOST])


def test_making_host_data_at_least_2d():
    with xp.profiling.count_transfers() as counter:
        assert xp.atleast_2d(HOST[0]).shape == (1, 3)
        xp.atleast_2d(xp.zeros(3))
    assert [(e.kind, e.description) for e in counter.events] == [("to_device", "atleast_2d(shape=(3,), dtype=float64)")]


def test_to_the_host():
    device = xp.asarray(HOST)
    with xp.profiling.count_transfers() as counter:
        xp.asnumpy(device)
        xp.array_repr(device)
    assert [(e.kind, e.description) for e in counter.events] == [
        ("to_host", "asnumpy(shape=(2, 3), dtype=float64)"),
        ("to_host", "array_repr(shape=(2, 3), dtype=float64)"),
    ]


def test_files(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, HOST)
    with xp.profiling.count_transfers() as counter:
        loaded = xp.load(path)
        xp.save(tmp_path / "b.npy", loaded)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), HOST)
    assert [(e.kind, e.description) for e in counter.events] == [
        ("to_device", "load"),
        ("to_host", "save(shape=(2, 3), dtype=float64)"),
    ]


def test_forbidden():
    device = xp.asarray(HOST)
    with xp.profiling.forbid_transfers():
        with pytest.raises(errors.TransferError, match=r"asarray\(shape=\(2, 3\)"):
            xp.asarray(HOST)
        with pytest.raises(errors.TransferError, match="asnumpy"):
            xp.asnumpy(device)
        xp.sum(device)


def test_big_endian_data_keeps_its_values():
    device = xp.asarray(HOST.astype(">f8"))
    assert device.dtype == np.float64
    np.testing.assert_array_equal(device.get(), HOST)


def test_reads_under_watch_are_counted_once():
    device = xp.asarray(HOST)
    with xp.profiling.count_transfers() as counter, xp.profiling.watch_array_reads():
        xp.asnumpy(device)
        xp.to_numpy(device)
    assert [e.kind for e in counter.events] == ["to_host", "to_host"]
