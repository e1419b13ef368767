"""Reads that go straight to CuPy's arrays, against a small model of its array class."""

import sys
import threading
import types

import numpy as np
import pytest

from cunumpy import _transfers
from cunumpy.profiling import assert_no_transfers, count_transfers, forbid_transfers, watch_array_reads
from recorded_transfers import here, library_code, transfer

METHODS = ["__bool__", "__int__", "__float__", "__complex__", "__index__", "item", "tolist", "get"]


class Base:
    """Holds the methods, as CuPy's compiled base class does; they all go through `get`."""

    def __init__(self, data):
        self._data = np.asarray(data)
        self.shape, self.dtype, self.nbytes = self._data.shape, self._data.dtype, self._data.nbytes

    def get(self, stream=None, order="C", out=None, blocking=True):
        return self._data.copy()

    def __bool__(self):
        return bool(self.get())

    def __int__(self):
        return int(self.get())

    def __float__(self):
        return float(self.get())

    def __complex__(self):
        return complex(self.get())

    def __index__(self):
        return self.get().__index__()

    def item(self):
        return self.get().item()

    def tolist(self):
        return self.get().tolist()


@pytest.fixture
def ndarray(monkeypatch):
    class ndarray(Base):
        pass

    cupy = types.ModuleType("cupy")
    cupy.ndarray = ndarray
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    return ndarray


READS = [
    (bool, "bool(device array)"),
    (int, "int(device array)"),
    (float, "float(device array)"),
    (complex, "complex(device array)"),
    (range, "index(device array)"),
    (lambda a: a.item(), "device array.item()"),
    (lambda a: a.tolist(), "device array.tolist()"),
]


@pytest.mark.parametrize(("read", "description"), READS)
def test_scalar_reads_are_implicit_waits(ndarray, read, description):
    array = ndarray(3)
    with watch_array_reads(), count_transfers() as counter:
        assert read(array) == read(np.asarray(3))
    (event,) = counter.events
    assert (event.kind, event.description, event.implicit) == ("sync", description, True)
    assert event.nbytes == array.nbytes
    assert event.duration >= 0


def test_get_is_a_transfer(ndarray):
    array = ndarray([1.0, 2.0])
    with watch_array_reads(), count_transfers() as counter:
        assert array.get().tolist() == [1.0, 2.0]
        array.get(None, "C", None, False)
    assert [str(event) for event in counter.events] == [
        f"{here(-3)}: to_host: device array.get(shape=(2,), dtype=float64)",
        f"{here(-3)}: to_host: device array.get(shape=(2,), dtype=float64) [async]",
    ]
    assert counter.bytes_to_host == 32


def test_not_seen_without_it(ndarray):
    with count_transfers() as counter:
        float(ndarray(1.0))
    assert counter.events == []


def test_forbidden_at_the_read(ndarray):
    array = ndarray(1.0)
    with watch_array_reads():
        with (
            pytest.raises(AssertionError, match=r"float\(device array\) \(sync of 8 bytes, implicit\)"),
            forbid_transfers(),
        ):
            float(array)
        with forbid_transfers(), pytest.raises(AssertionError, match=r"device array\.get"):
            array.get()
        with assert_no_transfers() as counter:
            float(array)
    assert counter.syncs == 1


def test_reads_of_our_own_transfers_are_counted_once(ndarray):
    (to_numpy,) = library_code(
        """
def to_numpy(array):
    with _transfers.own():
        host = array.get()
    transfer(description="to_numpy()")
    return host
""",
        "to_numpy",
        _transfers=_transfers,
        transfer=transfer,
    )
    with watch_array_reads(), count_transfers() as counter:
        to_numpy(ndarray(1.0))
    assert [event.description for event in counter.events] == ["to_numpy()"]


def test_array_class_that_records_itself_is_counted_once(ndarray):
    def item(array):
        transfer("sync", description="its own", implicit=True)
        return Base.item(array)

    ndarray.item = item
    with count_transfers() as counter:
        with watch_array_reads():
            ndarray(1.0).item()
        ndarray(1.0).item()
    assert [event.description for event in counter.events] == ["device array.item()", "its own"]
    assert ndarray.item is item


def test_class_is_left_as_it_was(ndarray):
    def own_item(array):
        return 5

    ndarray.item = own_item
    before = dict(vars(ndarray))
    block = watch_array_reads()
    with block:
        assert set(METHODS) <= vars(ndarray).keys()
        with block, watch_array_reads():
            pass
        assert vars(ndarray)["item"] is not own_item
    assert dict(vars(ndarray)) == before
    with pytest.raises(KeyError), block:
        raise KeyError
    assert dict(vars(ndarray)) == before


def test_replacement_by_others_is_kept(ndarray):
    def other(array):
        return 7

    with watch_array_reads():
        ndarray.item = other
    assert vars(ndarray)["item"] is other
    assert not set(METHODS) - {"item"} & vars(ndarray).keys()


def test_missing_methods_are_left_out(ndarray, monkeypatch):
    monkeypatch.delattr(Base, "tolist")
    with watch_array_reads(), count_transfers() as counter:
        ndarray(1.0).item()
        assert not hasattr(ndarray, "tolist")
    assert counter.syncs == 1


def test_without_cupy(monkeypatch):
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    with watch_array_reads(), count_transfers() as counter:
        float(np.ones(1)[0])
    assert counter.events == []
    assert "cupy" not in sys.modules


def test_recorded_for_the_context_that_reads(ndarray):
    array = ndarray(1.0)
    with watch_array_reads(), count_transfers() as counter:
        thread = threading.Thread(target=float, args=(array,))
        thread.start()
        thread.join()
    assert counter.events == []


def test_decorator(ndarray):
    array = ndarray(1.0)

    @watch_array_reads()
    def work():
        return float(array)

    with count_transfers() as counter:
        assert work() == 1.0
        float(array)
    assert counter.syncs == 1
