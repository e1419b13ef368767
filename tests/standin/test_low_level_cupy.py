"""``cupy.cuda.runtime`` by numbers, memory hooks, and small classes and functions of the stand-in."""

from __future__ import annotations

import ctypes
import io
import json

import cupy
import cupyx
import numpy as np
import pytest
from cupy.cuda import runtime
from cupy.polynomial import polyutils
from cupyx import lapack
from cupyx.linalg import cho_solve, invh
from cupyx.linalg.sparse import lschol
from cupyx.profiler import load_ipython_extension

X = np.arange(100.0)


class TestMemory:
    @pytest.mark.parametrize("place", [np.array([3.0]), np.float64(3), 3.0, X, cupy.asarray(3)])
    def test_arrays_and_numbers_are_no_addresses(self, place):
        memory = cupy.cuda.alloc(8)
        with pytest.raises(AttributeError):
            memory.copy_from_host(place, 8)

    def test_device_memory(self):
        address = runtime.malloc(X.nbytes)
        back = np.empty_like(X)
        runtime.memcpy(address, X.ctypes.data, X.nbytes, runtime.memcpyHostToDevice)
        runtime.memset(address, 0, 80)
        runtime.memcpy(back.ctypes.data, address, X.nbytes, runtime.memcpyDeviceToHost)
        assert (back[:10] == 0).all()
        np.testing.assert_array_equal(back[10:], X[10:])
        assert runtime.pointerGetAttributes(address + 8).type == runtime.memoryTypeDevice
        runtime.free(address)
        for again in (lambda: runtime.free(address), lambda: runtime.freeAsync(address, 0)):
            with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidValue: invalid argument"):
                again()
        runtime.free(0)

    def test_what_is_given_away_is_missing_from_the_device(self):
        free = runtime.memGetInfo()[0]
        address = runtime.malloc(2**20)
        assert runtime.memGetInfo()[0] == free - 2**20
        runtime.freeAsync(address, 0)
        assert runtime.memGetInfo()[0] == free
        with pytest.raises(runtime.CUDARuntimeError, match="out of memory"):
            runtime.malloc(2**60)

    def test_pinned_memory(self):
        address = runtime.hostAlloc(800, runtime.hostAllocDefault)
        assert cupy.cuda.pinned_memory.is_memory_pinned(address)
        assert runtime.pointerGetMemoryType(address) == runtime.memoryTypeHost
        runtime.freeHost(address)
        host = np.zeros(10)
        assert not cupy.cuda.pinned_memory.is_memory_pinned(host.ctypes.data)
        assert runtime.pointerGetMemoryType(host.ctypes.data) == runtime.memoryTypeUnregistered
        runtime.hostRegister(host.ctypes.data, host.nbytes, 0)
        assert cupy.cuda.pinned_memory.is_memory_pinned(host.ctypes.data)
        with pytest.raises(runtime.CUDARuntimeError, match="AlreadyRegistered"):
            runtime.hostRegister(host.ctypes.data, host.nbytes, 0)
        runtime.hostUnregister(host.ctypes.data)
        with pytest.raises(runtime.CUDARuntimeError, match="NotRegistered"):
            runtime.hostUnregister(host.ctypes.data)

    def test_managed_memory(self):
        address = runtime.mallocManaged(800)
        assert runtime.pointerGetMemoryType(address) == runtime.memoryTypeManaged
        runtime.memAdvise(address, 800, runtime.cudaMemAdviseSetReadMostly, 0)
        runtime.memPrefetchAsync(address, 800, 0, 0)
        runtime.free(address)
        with pytest.raises(runtime.CUDARuntimeError):
            runtime.memPrefetchAsync(cupy.zeros(3).data.ptr, 8, 0, 0)

    def test_rows_and_peers(self):
        a, b = cupy.arange(12.0).reshape(3, 4), cupy.zeros((3, 2))
        runtime.memcpy2D(b.data.ptr, 16, a.data.ptr + 8, 32, 16, 3, runtime.memcpyDeviceToDevice)
        assert b.get().tolist() == [[1, 2], [5, 6], [9, 10]]
        with pytest.raises(runtime.CUDARuntimeError):
            runtime.memcpy2D(b.data.ptr, 8, a.data.ptr, 32, 16, 3, runtime.memcpyDeviceToDevice)
        runtime.memcpyPeer(b.data.ptr, 0, a.data.ptr, 0, 48)
        assert b.get().ravel().tolist() == [0, 1, 2, 3, 4, 5]
        assert runtime.deviceCanAccessPeer(0, 0) == 0
        for call in (runtime.deviceEnablePeerAccess, runtime.deviceDisablePeerAccess):
            with pytest.raises(runtime.CUDARuntimeError, match="PeerAccess"):
                call(0)
        with pytest.raises(runtime.CUDARuntimeError, match="InvalidMemcpyDirection"):
            runtime.memcpy(b.data.ptr, a.data.ptr, 8, 9)

    def test_pointers_of_ctypes(self):
        a, host = cupy.arange(4.0), np.zeros(4)
        a.data.copy_to_host(ctypes.c_void_p(host.ctypes.data), 32)
        assert host.tolist() == [0, 1, 2, 3]
        pointer = a.data
        pointer += 8
        assert pointer.ptr == a.data.ptr + 8 == (8 + a.data).ptr
        pointer -= 8
        assert int(pointer) == int(a.data.mem) == a.data.ptr


class TestStreamsAndEvents:
    def test_streams(self):
        assert runtime.streamGetFlags(runtime.streamCreate()) == 0
        stream = runtime.streamCreateWithPriority(runtime.streamNonBlocking, -1)
        assert runtime.streamGetFlags(stream) == 1
        assert runtime.streamGetPriority(stream) == -1
        assert not runtime.streamIsCapturing(stream)
        called = []
        runtime.launchHostFunc(stream, called.append, 1)
        runtime.streamAddCallback(stream, lambda *given: called.append(given), 2)
        runtime.streamSynchronize(stream)
        assert called == [1, (stream, 0, 2)]
        runtime.streamQuery(stream)
        runtime.streamDestroy(stream)
        for call in (runtime.streamDestroy, runtime.streamSynchronize, runtime.streamQuery):
            with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidResourceHandle"):
                call(stream)
        for number in (0, runtime.streamLegacy, runtime.streamPerThread):
            runtime.streamSynchronize(number)

    def test_events(self):
        start, end = runtime.eventCreate(), runtime.eventCreateWithFlags(runtime.eventDefault)
        stream = cupy.cuda.Stream()
        runtime.eventRecord(start, stream.ptr)
        runtime.eventRecord(end, stream.ptr)
        runtime.streamWaitEvent(0, end)
        runtime.eventSynchronize(end)
        runtime.eventQuery(end)
        assert runtime.eventElapsedTime(start, end) >= 0
        runtime.eventDestroy(start)
        with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidResourceHandle"):
            runtime.eventQuery(start)

    def test_graphs_are_refused(self):
        with pytest.raises(NotImplementedError, match="records no CUDA graphs"):
            cupy.cuda.Stream().begin_capture()
        with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorIllegalState"):
            cupy.cuda.Stream().end_capture()


def test_devices():
    assert runtime.deviceGetAttribute(runtime.cudaDevAttrWarpSize, 0) == 32
    assert runtime.deviceGetByPCIBusId(runtime.deviceGetPCIBusId(0)) == 0
    runtime.deviceSetLimit(runtime.cudaLimitStackSize, 2048)
    assert runtime.deviceGetLimit(runtime.cudaLimitStackSize) == 2048
    for call in (lambda: runtime.deviceGetLimit(99), lambda: runtime.deviceGetAttribute(9999, 0)):
        with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidValue"):
            call()
    runtime.check_status(0)
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorNotReady: device not ready"):
        runtime.check_status(600)
    number = cupy.cuda.nvtx.RangeStart("a", 0)
    assert cupy.cuda.nvtx.RangeStart("b", 0) != number
    cupy.cuda.nvtx.RangeEnd(number)
    with pytest.warns(UserWarning, match="deprecated"), cupy.cuda.profile():
        pass


class TestMemoryHooks:
    def test_events_in_their_order(self):
        seen = []

        class Hook(cupy.cuda.MemoryHook):
            name = "mine"

        for event in ("alloc", "malloc", "free"):
            for when in ("preprocess", "postprocess"):
                name = f"{event}_{when}"
                setattr(Hook, name, lambda self, name=name, **given: seen.append((name, given)))
        pool = cupy.cuda.MemoryPool()
        with cupy.cuda.using_allocator(pool.malloc), Hook():
            a = cupy.zeros(100)
            address = a.data.ptr
            del a
            names = [name for name, _ in seen]
            assert names == [
                "malloc_preprocess", "alloc_preprocess", "alloc_postprocess", "malloc_postprocess",
                "free_preprocess", "free_postprocess",
            ]  # fmt: skip
            del seen[:]
            a = cupy.zeros(100)  # what is free in the pool
            assert [name for name, _ in seen] == ["malloc_preprocess", "malloc_postprocess"]
            assert seen[0][1] == {"device_id": 0, "size": 800, "mem_size": 1024}
            assert seen[1][1]["mem_ptr"] == a.data.ptr
            assert address
            with pytest.raises(KeyError, match="already exists"), Hook():
                pass
        del seen[:]
        cupy.zeros(3)
        assert seen == []

    def test_hooks_that_print(self):
        text = io.StringIO()
        pool = cupy.cuda.MemoryPool()
        with cupy.cuda.using_allocator(pool.malloc), cupy.cuda.memory_hooks.DebugPrintHook(text):
            a = cupy.zeros(3)
            del a
        lines = [json.loads(line) for line in text.getvalue().splitlines()]
        assert [line["hook"] for line in lines] == ["alloc", "malloc", "free"]
        assert lines[1]["size"] == 24
        assert lines[1]["pmem_id"] == lines[2]["pmem_id"]
        hook = cupy.cuda.memory_hooks.LineProfileHook()
        with cupy.cuda.using_allocator(cupy.cuda.MemoryPool().malloc), hook:
            a = cupy.zeros(1024)
            b = cupy.zeros(2048)
        text = io.StringIO()
        hook.print_report(text)
        assert text.getvalue().startswith("_root (24.00KB, 24.00KB)\n")
        lines = [line for line in text.getvalue().splitlines() if "test_hooks_that_print" in line]
        assert [line.partition("(")[2] for line in lines] == ["8.00KB, 8.00KB)", "16.00KB, 16.00KB)"]
        assert a.size + b.size == 3072


def absolute_difference(x, y):
    if x > y:
        return x - y
    return y - x


def both(x):
    return x + 1, x * 2.5


class TestVectorize:
    def test_functions_with_branches(self):
        x, y = cupy.array([1.0, 5.0, -2.0]), cupy.array([[2.0], [3.0]])
        found = cupy.vectorize(absolute_difference)(x, y)
        np.testing.assert_array_equal(found.get(), np.abs(x.get() - y.get()))
        assert cupy.vectorize(absolute_difference)(x, 2.0).get().tolist() == [1, 3, 4]

    def test_types_come_from_the_code(self):
        first, second = cupy.vectorize(both)(cupy.arange(3, dtype=np.int32))
        assert first.dtype == np.int32
        assert second.dtype == np.float64
        assert second.get().tolist() == [0, 2.5, 5]
        assert cupy.vectorize(lambda x: x * x)(cupy.arange(3, dtype=np.float32)).dtype == np.float32

    def test_what_is_refused(self):
        for options in ({"excluded": {0}}, {"signature": "()->()"}):
            with pytest.raises(NotImplementedError, match="does not support"):
                cupy.vectorize(absolute_difference, **options)
        with pytest.raises(NotImplementedError):
            cupy.vectorize(both, otypes="d")(cupy.ones(2))
        with pytest.raises(TypeError):
            cupy.vectorize(both)(np.ones(2))

        def text(x):
            return [x]

        with pytest.raises((TypeError, ValueError, NotImplementedError)):
            cupy.vectorize(text)(cupy.ones(2))


class TestPolynomials:
    def test_as_numpys(self):
        for one, other in (([1.0, 2.0, 3.0], [0.5, -1.0]), ([0.0, 0.0, 2.0, 1.0], [4.0]), ([1, 2], [3, 4, 5])):
            p, q = cupy.poly1d(cupy.array(one)), cupy.poly1d(cupy.array(other))
            hp, hq = np.poly1d(one), np.poly1d(other)
            for ours, theirs in (
                (p + q, hp + hq), (p - q, hp - hq), (p * q, hp * hq), (p**3, hp**3), (-p, -hp), (+p, +hp),
                (2 * p, 2 * hp), (p * 2, hp * 2), (p + 1, hp + 1), (1 - p, 1 - hp), (p / 2, hp / 2), (p(q), hp(hq)),
            ):  # fmt: skip
                assert isinstance(ours, cupy.poly1d)
                np.testing.assert_allclose(ours.get().coeffs, theirs.coeffs)
            assert p.order == p.o == len(p) == hp.order
            assert str(p) == str(hp)
            assert (p == q) is (hp == hq)
            assert p != q
            np.testing.assert_allclose(p(cupy.array([1.0, 2.0])).get(), hp(np.array([1.0, 2.0])))
            assert float(p[1]) == hp[1]
            assert p[99] == 0

    def test_roots_names_and_changes(self):
        p = cupy.poly1d([2.0, 0.0, -2.0], variable="z")
        assert sorted(p.r.get().tolist()) == [-1, 1]
        assert p.c is p.coef is p.coefficients is p.coeffs
        assert p.variable == "z"
        p[4] = 7.0
        assert p.get().coeffs.tolist() == [7, 0, 2, 0, -2]
        p.set(np.poly1d([1.0, 2.0, 3.0, 4.0, 5.0]))
        assert p.coeffs.get().tolist() == [1, 2, 3, 4, 5]
        assert [float(c) for c in p] == [1, 2, 3, 4, 5]
        made = cupy.poly1d(cupy.array([1.0, -1.0]), r=True)
        assert made.coeffs.get().tolist() == [1, 0, -1]

    def test_what_is_refused(self):
        p = cupy.poly1d([1.0, 2.0])
        for call in (p.deriv, p.integ, lambda: p / p, lambda: p == 3):
            with pytest.raises(NotImplementedError):
                call()
        with pytest.raises(TypeError, match="Implicit conversion"):
            np.asarray(p)
        with pytest.raises(TypeError, match="Numpy scalar"):
            p.__rmul__(np.float64(2))
        with pytest.raises(ValueError, match="1d only"):
            cupy.poly1d(cupy.ones((2, 2)))
        with pytest.raises(AttributeError, match="Cannot set attribute"):
            p.coeffs = cupy.ones(2)


def test_lapack():
    rng = np.random.default_rng(1)
    for dtype in (np.float32, np.float64, np.complex128):
        a, b = rng.standard_normal((4, 4)).astype(dtype), rng.standard_normal((4, 2)).astype(dtype)
        close = {"rtol": 1e-3 if dtype is np.float32 else 1e-10}
        for order in "CF":
            x = cupy.asarray(b, order="F")
            assert lapack.gesv(cupy.array(a, order=order), x) is None
            np.testing.assert_allclose(x.get(), np.linalg.solve(a, b), **close)
        definite = (a @ a.conj().T + 4 * np.eye(4)).astype(dtype)
        expected = np.linalg.solve(definite, b)
        lower = cupy.linalg.cholesky(cupy.asarray(definite))
        for found in (
            lapack.posv(cupy.asarray(definite), cupy.asarray(b)), lapack.potrs(lower, cupy.asarray(b), True),
            lapack.posv(cupy.asarray(definite[None]), cupy.asarray(b[None]))[0],
        ):  # fmt: skip
            assert found.dtype == dtype
            np.testing.assert_allclose(found.get(), expected, **close)
        for matrix in (a[:, :3], a[:3]):
            right = b[: len(matrix)]
            found = lapack.gels(cupy.asarray(matrix), cupy.asarray(right)).get()
            np.testing.assert_allclose(found, np.linalg.lstsq(matrix, right, rcond=None)[0], **close)
    with pytest.raises(ValueError, match="b must be F-contiguous"):
        lapack.gesv(cupy.eye(3), cupy.ones((3, 2)))
    with pytest.raises(TypeError, match="dtype mismatch"):
        lapack.gesv(cupy.eye(3), cupy.ones(3, np.float32))
    with pytest.raises(ValueError, match="shape mismatch"):
        lapack.gels(cupy.eye(3), cupy.ones(4))
    with pytest.raises(np.linalg.LinAlgError, match=r"only supports cupy\.ndarray"):
        lapack.posv(np.eye(3), cupy.ones(3))
    a = np.array([[4.0, 1.0, 0.0], [1.0, 5.0, 2.0], [0.0, 2.0, 6.0]])
    np.testing.assert_allclose(lschol(cupy.asarray(a), cupy.ones(3)).get(), np.linalg.solve(a, np.ones(3)))
    with pytest.raises(ValueError, match="b must be 1-d array"):
        lschol(cupy.asarray(a), cupy.ones((3, 1)))


def test_series_of_polynomials():
    for values in ([1.0, 2.0, 0.0, 0.0], [0.0, 0.0], [3.0]):
        a, host = cupy.asarray(values), np.asarray(values)
        assert polyutils.trimseq(a).get().tolist() == list(np.polynomial.polyutils.trimseq(host))
        np.testing.assert_array_equal(polyutils.trimcoef(a, 1.5).get(), np.polynomial.polyutils.trimcoef(host, 1.5))
    one, other = polyutils.as_series([cupy.asarray([1, 0]), cupy.asarray([1.0, 2.0], dtype=np.float32)])
    assert (one.dtype, other.dtype, one.size, other.size) == (np.float64, np.float64, 1, 2)
    with pytest.raises(ValueError, match="bool"):
        polyutils.trimcoef(cupy.ones(2, bool))
    for refused in (cupy.ones((2, 2)), cupy.ones(0)):
        with pytest.raises(ValueError, match="Coefficient array"):
            polyutils.trimcoef(refused)


def test_cholesky_factors_solve():
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((3, 4, 4))
    a = factor @ factor.swapaxes(1, 2) + 4 * np.eye(4)
    b = rng.standard_normal((3, 4, 2))
    lower = cupy.linalg.cholesky(cupy.asarray(a))
    for given in ((lower, True), (lower.swapaxes(-1, -2).copy(), False)):
        np.testing.assert_allclose(cho_solve(given, cupy.asarray(b)).get(), np.linalg.solve(a, b))
    np.testing.assert_allclose(cho_solve((lower[0], True), cupy.ones(4)).get(), np.linalg.solve(a[0], np.ones(4)))
    np.testing.assert_allclose(invh(cupy.asarray(a[0])).get(), np.linalg.inv(a[0]))
    with pytest.raises(ValueError, match="NaN or infinity"):
        cho_solve((lower[0], True), cupy.full(4, np.nan))
    with pytest.raises(np.linalg.LinAlgError):
        invh(cupy.asarray(-a[0]))


def test_the_magic_of_ipython(capsys):
    class Shell:
        def __init__(self):
            self.user_ns = {"cp": cupy, "calls": []}
            self.magics = {}

        def register_magic_function(self, function, magic_kind, magic_name):
            assert magic_kind == "line_cell"
            self.magics[magic_name] = function

    shell = Shell()
    load_ipython_extension(shell)
    shell.magics["gpu_timeit"]("-n 3 -w 1 calls.append( cp.arange(3).sum() )")
    assert len(shell.user_ns["calls"]) == 4
    shell.magics["gpu_timeit"]("-n 2 -w 0", "\n  x = cp.ones(2)\n  y = x + 1\n")
    assert shell.user_ns["y"].get().tolist() == [2, 2]
    assert "GPU-0:" in capsys.readouterr().out


def test_names_that_numpy_has_dropped(capsys):
    for name in ("disp", "find_common_type", "get_array_wrap", "safe_eval", "set_string_function"):
        with pytest.raises(RuntimeError, match="removed in NumPy v2"):
            getattr(cupy, name)("1")
    assert cupy.issctype(np.float32)
    assert not cupy.issctype("f4")
    assert cupy.issubclass_(bool, int)
    assert not cupy.issubclass_(3, int)
    assert cupy.issubsctype(np.float32, np.floating)
    assert cupy.obj2sctype(cupy.ones(2)) is np.float64
    assert cupy.obj2sctype("nope") is None
    assert cupy.sctype2char("f4") == "f"
    with pytest.raises(ValueError, match="unrecognized"):
        cupy.sctype2char("nope")
    cupy.who({"a": cupy.zeros((2, 3)), "b": 1})
    assert "2 x 3" in capsys.readouterr().out
    with pytest.warns(UserWarning, match="from_dlpack"), pytest.raises(ValueError, match="DLPack"):
        cupy.fromDlpack(object())
    with pytest.raises(RuntimeError, match="Optuna is required"), cupyx.optimizing.optimize():
        pass
