"""The core on a device: the namespace's call forms, transfers, streams, staging, scopes."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import call_walk
import cunumpy as xp
from cunumpy import errors

RNG = np.random.default_rng(1)
A = RNG.standard_normal((50, 40))
MASK = RNG.random(A.shape) < 0.7


def host(value):
    return xp.to_numpy(value)


def check(got, expected, rtol=1e-12):
    assert got.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(host(got), expected, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "std", "var", "any", "all"])
def test_reductions_with_a_mask(name):
    check(getattr(xp, name)(xp.asarray(A), axis=1, where=xp.asarray(MASK)), getattr(np, name)(A, axis=1, where=MASK))


@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema_with_a_mask_and_a_start(name):
    got = getattr(xp, name)(xp.asarray(A), axis=0, initial=0.5, where=xp.asarray(MASK))
    check(got, getattr(np, name)(A, axis=0, initial=0.5, where=MASK))
    check(getattr(xp, name)(xp.zeros((0, 3)), axis=0, initial=1.0), np.ones(3))


def test_masked_ufuncs():
    a, b = xp.asarray(A), xp.asarray(np.where(MASK, A, 0.0))
    out = xp.zeros(A.shape)
    assert xp.divide(a, b, out=out, where=b != 0) is out
    check(out, np.where(MASK, 1.0, 0.0))


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("zeros", (3, float), {}),
        ("full", ((2, 3), 1, float), {}),
        ("arange", (0, 9, 2, float), {}),
        ("sort", (A, 0), {}),
        ("sort", (A,), {"kind": "quicksort"}),
        ("argsort", (A,), {"kind": "mergesort", "axis": 0}),
        ("argmax", (A, 1), {"keepdims": True}),
        ("clip", (A, -0.5), {"a_max": 0.5}),
        ("take_along_axis", (A, np.argsort(A, axis=1), 1), {}),
        ("count_nonzero", (MASK,), {"axis": 0, "keepdims": True}),
        ("isin", (np.arange(9), 4), {}),
        ("unique", (np.array([3, 1, 3, 2]),), {"return_counts": True}),
        ("floor", (A,), {}),
        ("sinc", (A,), {}),
        ("vecdot", (A, A), {"axis": 0}),
        ("fft.rfft", (A, 16), {"axis": 0}),
        ("fft.fftfreq", (9,), {"d": 0.5}),
        ("linalg.svd", (A,), {"compute_uv": False}),
        ("linalg.pinv", (A,), {"rcond": 1e-8}),
        ("linalg.matrix_rank", (A,), {"tol": 1e-8}),
        ("linalg.norm", (A,), {"axis": 1}),
        ("histogram2d", (A[:, 0], A[:, 1], 4, ((-2, 2), (-2, 2)), True), {}),
    ],
)
def test_call_forms(name, args, kwargs):
    got, expected = xp, np
    for part in name.split("."):
        got, expected = getattr(got, part), getattr(expected, part)
    moved = [xp.asarray(value) if isinstance(value, np.ndarray) else value for value in args]
    result = got(*moved, **kwargs)
    result = [host(one) for one in result] if isinstance(result, (tuple, list)) else host(result)
    wanted = expected(*args, **kwargs)
    call_walk.assert_same(result, np.asarray(wanted) if np.isscalar(wanted) else wanted, name, rtol=1e-9)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i8", "?", ">f8", ">i4"])
def test_round_trip(dtype, order):
    data = np.asarray(RNG.integers(0, 2, (5, 3)), dtype=dtype, order=order)
    device = xp.to_cupy(data)
    assert device.flags.f_contiguous == data.flags.f_contiguous
    np.testing.assert_array_equal(host(device), data)
    assert host(device).dtype.isnative


def test_transfers_are_counted_where_they_happen():
    with xp.profiling.count_transfers() as counter:
        device = xp.asarray(A)
        xp.sum(device)
        host(device)
    assert [event.kind for event in counter.events] == ["to_device", "to_host"]
    assert all(event.where.startswith(__file__) for event in counter.events)
    with xp.profiling.forbid_transfers(), pytest.raises(errors.TransferError, match="to_numpy"):
        host(device)


def test_array_reads_can_be_watched():
    device = xp.asarray(A)
    with xp.profiling.count_transfers() as counter, xp.profiling.watch_array_reads():
        float(device[0, 0])
        bool(device[0, 0] > 0)
        device.get()
        host(device)
    kinds = [event.kind for event in counter.events]
    assert kinds.count("sync") >= 2
    assert kinds.count("to_host") == 2
    before = vars(sys.modules["cupy"].ndarray).copy()
    with xp.profiling.watch_array_reads():
        pass
    assert vars(sys.modules["cupy"].ndarray).keys() == before.keys()


def test_staged_copies_are_snapshots():
    staging = xp.memory.HostStaging((200_000,), float, buffers=2)
    x = xp.zeros(200_000)
    copies = []
    for step in range(6):
        x[...] = step
        copies.append(staging.copy(x))
        x += 100.0  # after the snapshot
        if len(copies) == 2:
            for back, copy in enumerate(copies):
                assert set(np.unique(copy.result())) == {step - 1 + back}
            copies.clear()


def test_asynchronous_copies_arrive():
    arrays = [xp.full(100_000, float(k)) for k in range(8)]
    copies = [xp.to_host_async(array) for array in arrays]
    for k, copy in enumerate(copies):
        np.testing.assert_array_equal(copy.result(), k)


def test_streams_are_followed():
    stream = sys.modules["cupy"].cuda.Stream(non_blocking=True)
    with stream:
        x = xp.arange(1_000_000, dtype=float)
        for _ in range(20):
            x = xp.sqrt(x * x)
        np.testing.assert_array_equal(host(x), np.arange(1_000_000.0))


def test_mirrors():
    mirror = xp.memory.DeviceMirror(A.copy())
    mirror.device[...] *= 2
    np.testing.assert_array_equal(mirror.to_host().host, 2 * A)
    mirror.zero()
    np.testing.assert_array_equal(mirror.to_host().host, 0)


def test_host_calls():
    device = xp.asarray(A)
    result = xp.host_call(lambda data: {"twice": 2 * data["x"]}, {"x": device})
    check(result["twice"], 2 * A)
    xp.host_call_inplace(np.ndarray.sort, device)
    check(device, np.sort(A))


def test_threads_keep_their_backends():
    seen = []

    def work(name):
        with xp.use_backend(name):
            seen.extend(xp.get_array_backend(xp.zeros(2)) == name for _ in range(200))

    threads = [threading.Thread(target=work, args=(name,)) for name in ("numpy", "cupy", "numpy", "cupy")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 800
    assert all(seen)


def test_regions_can_be_timed_by_the_device():
    x = xp.ones(100_000)
    with xp.profiling.timed_region("work", clock="device") as timing:
        for _ in range(10):
            x = x * 1.0
    assert timing.elapsed > 0
    assert timing.synced


def test_circulant_systems():
    c, b = RNG.standard_normal(64), RNG.standard_normal(64)
    got = xp.scipy.linalg.solve_circulant(xp.asarray(c), xp.asarray(b))
    circulant = np.array([[c[(i - j) % 64] for j in range(64)] for i in range(64)])
    np.testing.assert_allclose(circulant @ host(got), b, atol=1e-10)
