"""Staging and mirrors with host arrays: the same program as on a device, and no transfer."""

from __future__ import annotations

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import cunumpy as xp
from array_kinds import KINDS, ArrayKind, ForeignDeviceArray, as_compared, assert_same_values
from cunumpy.errors import ArgumentError, ArgumentTypeError, MissingPackageError, StaleResultError
from cunumpy.memory import DeviceMirror, HostCopy, HostStaging

# --- to_host_async ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_to_host_async(kind: ArrayKind, tmp_path) -> None:
    value = kind.make(tmp_path)
    if isinstance(value, ForeignDeviceArray):
        with pytest.raises(MissingPackageError, match="to_host_async"):
            xp.to_host_async(value)
    elif kind.values is None:
        with pytest.raises((ArgumentError, ArgumentTypeError), match=r"^to_host_async: argument 'array'"):
            xp.to_host_async(value)
    else:
        copied = xp.to_host_async(value)
        assert copied.ready()
        result = copied.result()
        if kind.values.ndim == 0:
            assert isinstance(result, np.generic)
            assert result == kind.values
        else:
            assert_same_values(result, kind)
            assert result.flags.c_contiguous
            assert copied.result() is result
            result[...] = 0  # the caller's own
            if kind.is_array:
                np.testing.assert_array_equal(np.asarray(value), kind.values)


class Event:
    """Stands for a CUDA event that is done once somebody waits for it."""

    def __init__(self) -> None:
        self.done = False
        self.waits = 0

    def synchronize(self) -> None:
        self.waits += 1
        self.done = True


def test_a_host_copy_waits_once_and_counts_it() -> None:
    event = Event()
    pending = HostCopy(np.zeros(2), event, source=object())
    assert repr(pending) == "HostCopy(shape=(2,), dtype=float64, ready=False)"
    with xp.profiling.count_transfers() as counter:
        pending.result()
        pending.result()
    assert event.waits == 1
    assert [(e.kind, e.description) for e in counter.events] == [("sync", "to_host_async(...).result()")]
    assert repr(pending).endswith("ready=True)")


def test_a_forbidden_wait_changes_nothing() -> None:
    event = Event()
    pending = HostCopy(np.zeros(2), event)
    with xp.profiling.forbid_transfers(syncs=True), pytest.raises(AssertionError, match="to_host_async"):
        pending.result()
    assert event.waits == 0
    assert not pending.ready()
    assert pending.result().shape == (2,)


def test_a_host_copy_needs_an_array() -> None:
    with pytest.raises(ArgumentTypeError, match="argument 'host' must be a NumPy array, got list"):
        HostCopy([1.0])


# --- HostStaging ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_through_staging(kind: ArrayKind, tmp_path) -> None:
    value = kind.make(tmp_path)
    before = as_compared(value)
    shape, dtype = getattr(value, "shape", (3, 4)), getattr(value, "dtype", float)
    staging = HostStaging(shape, dtype)
    if isinstance(value, ForeignDeviceArray):
        with pytest.raises(MissingPackageError, match=r"HostStaging\.copy"):
            staging.copy(value)
    elif kind.values is None or not isinstance(value, (np.ndarray, np.generic)):
        with pytest.raises(ArgumentTypeError, match=r"^HostStaging\.copy: argument 'array'"):
            staging.copy(value)
    else:
        copied = staging.copy(value)
        assert copied.ready()
        assert_same_values(copied.result(), kind)
        assert copied.result().flags.c_contiguous
        assert copied.result().dtype == dtype  # byte order included
    assert as_compared(value) == before


def test_staging_takes_a_snapshot() -> None:
    staging, array = HostStaging(3, float), np.ones(3)
    copied = staging.copy(array)
    array[:] = 7.0
    np.testing.assert_array_equal(copied.result(), [1.0, 1.0, 1.0])


def test_a_reused_buffer_is_noticed() -> None:
    staging = HostStaging((2,), np.float64, buffers=2)
    first = staging.copy(np.full(2, 1.0))
    second = staging.copy(np.full(2, 2.0))
    third = staging.copy(np.full(2, 3.0))
    for read in (first.ready, first.result):
        with pytest.raises(StaleResultError, match=r"was reused by a later copy.*2 buffer\(s\)"):
            read()
    assert [copied.result()[0] for copied in (second, third)] == [2.0, 3.0]
    assert [repr(c).partition("state=")[2] for c in (first, second)] == ["'reused')", "'ready')"]


def test_a_result_that_is_kept_never_changes() -> None:
    staging = HostStaging(2, float, buffers=1)
    # Reversed, because views of a result count as well.
    results = [staging.copy(np.full(2, float(step))).result()[::-1] for step in range(5)]
    assert [list(result) for result in results] == [[step, step] for step in range(5)]


def test_buffers_are_reused_when_nobody_holds_them() -> None:
    staging = HostStaging(2, float, buffers=1)
    addresses = set()
    for step in range(4):
        addresses.add(staging.copy(np.full(2, float(step))).result().__array_interface__["data"][0])
    assert len(addresses) == 1


def test_results_are_read_only_or_own() -> None:
    staging = HostStaging(2, float)
    copied = staging.copy(np.ones(2))
    with pytest.raises(ValueError, match="read-only"):
        copied.result()[0] = 5.0
    own = copied.result(copy=True)
    own[0] = 5.0
    np.testing.assert_array_equal(copied.result(), [1.0, 1.0])


def test_a_zero_d_result_is_an_array() -> None:
    result = HostStaging((), float).copy(np.float64(2.5)).result()
    assert isinstance(result, np.ndarray)
    assert result.shape == ()
    assert result == 2.5


@pytest.mark.parametrize(
    "array", [np.zeros(3), np.zeros((2, 1)), np.zeros(2, np.float32), np.zeros(2, ">f8"), np.float64(1.0)], ids=repr
)
def test_another_shape_or_dtype_uses_no_buffer(array) -> None:
    staging = HostStaging(2, "<f8", buffers=1)
    kept = staging.copy(np.ones(2))
    remedy = r"with \.astype\('float64'\)" if array.shape == (2,) else "make a HostStaging for it"
    with pytest.raises(ArgumentError, match=rf"shape \(2,\) and dtype float64, got an array of shape .*{remedy}"):
        staging.copy(array)
    np.testing.assert_array_equal(kept.result(), [1.0, 1.0])


def test_stream_and_event_exclude_each_other() -> None:
    with pytest.raises(ArgumentError, match="only one of the arguments 'stream' and 'event'"):
        HostStaging(2, float).copy(np.ones(2), stream=object(), event=object())


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((-1, float), ArgumentError, "'shape' must not be negative, got -1"),
        (((2, -1), float), ArgumentError, "must not be negative"),
        ((2.0, float), ArgumentTypeError, r"'shape' must be an integer, got float \(2.0\)"),
        (((2, 1.0), float), ArgumentTypeError, r"got float \(1.0\)"),
        ((None, float), ArgumentTypeError, "got NoneType"),
        ((2, object), ArgumentTypeError, "'dtype' is object"),
        ((2, [("a", object)]), ArgumentTypeError, "can't be staged"),
        ((2, "nonsense"), ArgumentTypeError, "'dtype' must describe a dtype, got 'nonsense'"),
        ((2, float, 0), ArgumentError, "'buffers' must be from 1 to 1000000, got 0"),
        ((2, float, 1.0), ArgumentTypeError, r"'buffers' must be an integer, got float \(1.0\)"),
    ],
)
def test_bad_stagings_are_refused(arguments, error, text) -> None:
    with pytest.raises(error, match=text):
        HostStaging(*arguments)


def test_a_staging_says_what_it_is() -> None:
    staging = HostStaging(np.int64(3), None)
    assert (staging.shape, staging.dtype, staging.buffers) == ((3,), np.dtype(float), 2)
    assert repr(staging) == "HostStaging(shape=(3,), dtype=float64, buffers=2)"
    assert HostStaging([], "U3").copy(np.array("abc")).result() == "abc"


def test_host_staging_transfers_nothing() -> None:
    with xp.profiling.forbid_transfers():
        staging = HostStaging(2, float)
        staging.copy(np.ones(2)).result()
        staging.synchronize()


def test_a_staging_pickles_without_its_copies() -> None:
    staging = HostStaging((2,), ">f4", buffers=3)
    staging.copy(np.zeros(2, ">f4"))
    for other in (pickle.loads(pickle.dumps(staging)), copy.deepcopy(staging)):
        assert repr(other) == repr(staging)
        assert other.copy(np.ones(2, ">f4")).result()[0] == 1.0


def test_threads_share_a_staging() -> None:
    """Eight threads, twenty rounds: each reads its own values, or is told that they are gone."""
    staging = HostStaging(1000, float, buffers=8)
    start = threading.Barrier(8)

    def work(thread: int) -> int:
        start.wait()
        right = 0
        for step in range(20):
            value = thread * 100.0 + step
            copied = staging.copy(np.full(1000, value))
            try:
                result = copied.result(copy=step % 2 == 0)
            except StaleResultError:
                continue
            right += 1
            assert (result == value).all()
        return right

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) > 0


def test_results_held_by_threads_never_change() -> None:
    staging = HostStaging(1000, float, buffers=2)

    def work(thread: int) -> None:
        held = []
        for step in range(20):
            value = thread * 100.0 + step
            copied = staging.copy(np.full(1000, value))
            try:
                held.append((value, copied.result()))
            except StaleResultError:
                continue
        for value, result in held:
            assert (result == value).all()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


# --- DeviceMirror -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_as_a_mirror(kind: ArrayKind, tmp_path) -> None:
    value = kind.make(tmp_path)
    before = as_compared(value)
    if kind.values is None or not kind.is_array:
        with pytest.raises(
            ArgumentTypeError, match=r"^DeviceMirror: argument 'host' (is a masked|must be a NumPy) array"
        ):
            DeviceMirror(value)
    elif not kind.writable:
        with pytest.raises(ArgumentError, match=r"^DeviceMirror: argument 'host' is written to, but .* read-only"):
            DeviceMirror(value)
    else:
        mirror = DeviceMirror(value)
        assert mirror.host is value
        assert mirror.device is value
        assert mirror.to_device() is mirror
        assert mirror.to_host() is mirror
        assert as_compared(value) == before
        assert (mirror.shape, mirror.dtype) == (value.shape, value.dtype)
        assert mirror.zero() is mirror
        assert not np.asarray(value).any()
        return
    assert as_compared(value) == before


def test_dtypes_without_a_device_are_refused_at_once() -> None:
    with pytest.raises(ArgumentTypeError, match=r"DeviceMirror: argument 'host' has dtype <U1.*can't hold"):
        DeviceMirror(np.array(["a"]))


@pytest.mark.parametrize("method", ["to_device", "to_host", "zero", "device"])
def test_a_resized_host_array_is_noticed(method: str) -> None:
    host = np.zeros(3)
    mirror = DeviceMirror(host)
    host.resize(5, refcheck=False)
    with pytest.raises(ArgumentError, match=r"now has shape \(5,\).*bound with shape \(3,\).*rebind\(host\)"):
        getattr(mirror, method)() if method != "device" else mirror.device
    assert mirror.rebind(host) is mirror
    assert mirror.shape == (5,)
    assert mirror.device is host


def test_a_host_array_made_read_only_is_noticed() -> None:
    host = np.ones(3)
    mirror = DeviceMirror(host)
    host.flags.writeable = False
    for method in (mirror.zero, mirror.to_host):
        with pytest.raises(ArgumentError, match="read-only"):
            method()
    assert host[0] == 1.0


def test_rebind_checks_like_the_constructor() -> None:
    host = np.zeros(3)
    mirror = DeviceMirror(host)
    with pytest.raises(ArgumentTypeError, match=r"DeviceMirror\.rebind: argument 'host' must be a NumPy array"):
        mirror.rebind([1.0])
    assert mirror.host is host


def test_a_mirror_on_numpy_transfers_nothing() -> None:
    with xp.profiling.forbid_transfers():
        mirror = DeviceMirror(np.ones((2, 3)))
        mirror.to_device().zero().to_host()
        assert mirror.device is mirror.host
    assert repr(mirror) == "DeviceMirror(shape=(2, 3), dtype=float64, buffer='host')"


@pytest.mark.parametrize(
    ("make", "remedy"),
    [
        (lambda: DeviceMirror(np.zeros(2)), "pickle its host array"),
        (lambda: HostCopy(np.zeros(2)), r"pickle its result\(\)"),
        (lambda: HostStaging(2, float).copy(np.zeros(2)), r"pickle its result\(\)"),
    ],
)
def test_what_does_not_pickle_says_why(make, remedy: str) -> None:
    value = make()
    for act in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(ArgumentTypeError, match=f"a {type(value).__name__} does not pickle: .*{remedy}"):
            act(value)
