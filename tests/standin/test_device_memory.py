"""Device memory of the stand-in: pools with CuPy's accounting, allocators, limits, several devices."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys

import cupy
import numpy as np
import pytest
from cupy.cuda.memory import OutOfMemoryError
from hypothesis import given
from hypothesis import strategies as st

from cunumpy.kernel_testing._subprocess import fake_cupy_environment


@pytest.fixture
def pool():
    """A pool of its own, in which all new arrays are."""
    own = cupy.cuda.MemoryPool()
    with cupy.cuda.using_allocator(own.malloc):
        yield own


class TestAccounting:
    def test_blocks_are_multiples_of_512_bytes_and_stay_in_the_pool(self, pool):
        assert (pool.used_bytes(), pool.total_bytes(), pool.free_bytes(), pool.n_free_blocks()) == (0, 0, 0, 0)
        a = cupy.zeros(100)
        assert (pool.used_bytes(), pool.total_bytes(), pool.free_bytes()) == (1024, 1024, 0)
        del a
        assert (pool.used_bytes(), pool.total_bytes(), pool.free_bytes(), pool.n_free_blocks()) == (0, 1024, 1024, 1)
        b = cupy.zeros(128)  # uses the block
        assert (pool.used_bytes(), pool.total_bytes()) == (1024, 1024)
        pool.free_all_blocks()
        assert (pool.used_bytes(), pool.total_bytes()) == (1024, 1024)
        del b
        pool.free_all_blocks()
        assert (pool.used_bytes(), pool.total_bytes(), pool.n_free_blocks()) == (0, 0, 0)

    def test_a_large_block_is_split_and_joined_again(self, pool):
        whole = cupy.empty(4096, np.uint8)
        del whole
        parts = [cupy.empty(512, np.uint8) for _ in range(3)]
        assert (pool.used_bytes(), pool.total_bytes(), pool.n_free_blocks()) == (1536, 4096, 1)
        pool.free_all_blocks()  # a part of the block is in use
        assert pool.total_bytes() == 4096
        del parts[1]
        assert (pool.free_bytes(), pool.n_free_blocks()) == (3072, 2)
        parts.clear()
        assert (pool.free_bytes(), pool.n_free_blocks()) == (4096, 1)

    def test_views_keep_the_memory_and_take_none(self, pool):
        a = cupy.arange(1000.0)
        view = a[10:20].reshape(2, 5).T
        assert pool.used_bytes() == 8192
        assert view.data.mem is a.data.mem
        assert view.data.ptr - a.data.ptr == 80
        del a
        gc.collect()
        assert pool.used_bytes() == 8192
        assert float(view[0, 1]) == 15
        del view
        assert pool.used_bytes() == 0

    def test_results_of_operations_are_counted(self, pool):
        a = cupy.ones((64, 64))
        used = pool.used_bytes()
        results = [a + 1, cupy.exp(a), a @ a, a.sum(axis=0), a.astype(np.float32), cupy.sort(a), a > 0, cupy.where(a)]
        expected = sum(-(-one.nbytes // 512) * 512 for one in results[:-1]) + 2 * 64 * 64 * 8
        assert pool.used_bytes() == used + expected
        a += 1
        cupy.add(a, 1, out=a)
        assert pool.used_bytes() == used + expected

    def test_nothing_takes_nothing(self, pool):
        a = cupy.zeros((0, 5))
        assert pool.used_bytes() == 0
        assert a.data.ptr == 0 or a.nbytes == 0
        assert pool.malloc(0).ptr == 0

    @given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 5000)), max_size=60))
    def test_the_books_are_right_after_any_order_of_allocations(self, steps):
        own = cupy.cuda.MemoryPool()
        held: dict[int, object] = {}
        largest = 0
        for slot, size in steps:
            if slot in held:
                del held[slot]
            else:
                held[slot] = own.malloc(size)
            used = sum(pointer.mem.size for pointer in held.values())
            assert own.used_bytes() == used
            assert own.used_bytes() + own.free_bytes() == own.total_bytes() >= largest
            largest = max(largest, used)
        held.clear()
        own.free_all_blocks()
        assert own.total_bytes() == 0


class TestLimits:
    def test_more_than_the_limit_is_refused(self, pool):
        pool.set_limit(size=2048)
        a = cupy.zeros(128)
        with pytest.raises(
            OutOfMemoryError,
            match=r"Out of memory allocating 1,536 bytes \(allocated so far: 1,024 bytes, limit set to: 2,048 bytes\)",
        ):
            cupy.zeros(192)
        b = cupy.zeros(128)
        assert pool.used_bytes() == 2048
        del a, b
        pool.set_limit(size=0)
        cupy.zeros(10_000)

    def test_a_part_of_the_device(self, pool):
        total = cupy.cuda.Device().mem_info[1]
        pool.set_limit(fraction=0.25)
        assert pool.get_limit() == total // 4
        with pytest.raises(ValueError, match="size and fraction cannot be specified at one time"):
            pool.set_limit(size=1, fraction=0.5)
        with pytest.raises(ValueError, match="out of range"):
            pool.set_limit(fraction=1.5)
        with pytest.raises(ValueError, match="out of range"):
            pool.set_limit(size=-1)

    def test_a_device_has_so_much_memory_and_no_more(self, pool):
        gc.collect()
        cupy.get_default_memory_pool().free_all_blocks()
        free, total = cupy.cuda.runtime.memGetInfo()
        kept = pool.malloc(free // 2)
        assert cupy.cuda.runtime.memGetInfo()[0] <= free - free // 2
        with pytest.raises(OutOfMemoryError, match="Out of memory allocating"):
            pool.malloc(free // 2 + 10_000)
        with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="cudaErrorMemoryAllocation"):
            cupy.cuda.Memory(total)
        del kept
        kept = pool.malloc(free // 2 + 10_000)  # what was free has been given back
        del kept
        pool.free_all_blocks()
        assert cupy.cuda.runtime.memGetInfo() == (free, total)

    @pytest.mark.parametrize(("setting", "expected"), [("4294967296", 2**32), ("50%", 2**33), ("", 0)])
    def test_the_environment_sets_it(self, setting, expected):
        program = "import cupy; print(cupy.get_default_memory_pool().get_limit())"
        done = subprocess.run(
            [sys.executable, "-c", "import cunumpy\n" + program],
            env=fake_cupy_environment({"CUPY_GPU_MEMORY_LIMIT": setting}),
            capture_output=True,
            text=True,
            check=True,
        )
        assert int(done.stdout) == expected


class TestAllocators:
    def test_pools_are_turned_off(self):
        default = cupy.get_default_memory_pool()
        with cupy.cuda.using_allocator(None):
            used = default.used_bytes()
            a = cupy.arange(10)
            assert type(a.data.mem) is cupy.cuda.Memory
            assert default.used_bytes() == used
        assert (a + 1).data.mem.pool is default

    def test_managed_memory_from_a_pool(self):
        pool = cupy.cuda.MemoryPool(cupy.cuda.malloc_managed)
        with cupy.cuda.using_allocator(pool.malloc):
            a = cupy.arange(1000.0).reshape(10, 100)
            b = cupy.asfortranarray(a * 2)
        assert pool.used_bytes() == 2 * 8192
        assert b.flags.f_contiguous
        np.testing.assert_array_equal(b.get(), 2 * np.arange(1000.0).reshape(10, 100))
        assert a.data.mem.pool is pool

    def test_memory_is_where_the_allocator_says(self):
        asked = []

        def malloc(size):
            asked.append(size)
            return cupy.cuda.MemoryPointer(cupy.cuda.Memory(size + 64), 64)

        with cupy.cuda.using_allocator(malloc):
            a = cupy.arange(6, dtype=np.int32).reshape(2, 3)
            b = a.T + 1
        assert asked[0] == 24
        assert a.data.ptr == a.data.mem.ptr + 64
        np.testing.assert_array_equal(b.get(), np.arange(6).reshape(2, 3).T + 1)

    def test_functions_of_python_are_called_and_the_memory_given_back(self):
        libc = ctypes.CDLL(None)
        libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = (
            ctypes.c_void_p,
            [ctypes.c_size_t],
            [ctypes.c_void_p],
        )
        calls = []

        def malloc(size, device):
            calls.append(("malloc", size, device))
            return libc.malloc(size)

        def free(ptr, device):
            calls.append(("free", device))
            libc.free(ptr)

        with cupy.cuda.using_allocator(cupy.cuda.PythonFunctionAllocator(malloc, free).malloc):
            a = cupy.full(5, 2.5)
        np.testing.assert_array_equal(a.get(), 2.5)
        del a
        assert calls[0] == ("malloc", 40, 0)
        assert calls[-1] == ("free", 0)

    def test_the_one_of_all_threads_is_not_changed_within_a_block(self):
        with cupy.cuda.using_allocator(), pytest.raises(ValueError, match="using_allocator"):
            cupy.cuda.set_allocator()

    def test_unowned_memory_is_shared(self):
        host = np.arange(12.0)
        memory = cupy.cuda.UnownedMemory(host.ctypes.data, host.nbytes, owner=host)
        array = cupy.ndarray((3, 4), np.float64, memptr=cupy.cuda.MemoryPointer(memory, 0))
        array *= 2
        np.testing.assert_array_equal(host, 2 * np.arange(12.0))
        assert array.data.ptr == host.ctypes.data

    def test_pinned_memory_comes_back(self):
        pool = cupy.cuda.PinnedMemoryPool()
        pointer = pool.malloc(1000)
        np.frombuffer(pointer, np.uint8)[:] = 7
        address = pointer.ptr
        del pointer
        gc.collect()
        assert pool.n_free_blocks() == 1
        assert pool.malloc(900).ptr == address
        pool.free_all_blocks()
        assert pool.n_free_blocks() == 0


class TestDevices:
    @pytest.fixture(autouse=True)
    def two_devices(self, monkeypatch):
        monkeypatch.setenv("CUNUMPY_FAKE_CUPY_DEVICES", "2")

    def test_arrays_are_on_the_device_that_was_current(self):
        assert cupy.cuda.runtime.getDeviceCount() == 2
        a = cupy.arange(3)
        with cupy.cuda.Device(1):
            assert cupy.cuda.runtime.getDevice() == 1
            x = cupy.array([1, 2, 3])
            y = x * 2
        assert (a.device.id, x.device.id, y.device.id) == (0, 1, 1)
        assert repr(x.device) == "<CUDA Device 1>"
        assert cupy.cuda.Device().id == 0

    def test_work_on_another_device_s_array_is_refused(self):
        a = cupy.arange(3.0)
        with cupy.cuda.Device(1):
            text = r"resides \(0\) is different from the current device \(1\)"
            for work in (
                lambda: a + 1,
                lambda: cupy.sum(a),
                lambda: cupy.concatenate([a, a]),
                lambda: a.sort(),
                lambda: a.fill(0),
                lambda: a.__setitem__(0, 1.0),
                lambda: cupy.zeros(3).__setitem__(slice(None), a),
            ):
                with pytest.raises(ValueError, match=text):
                    work()
        np.testing.assert_array_equal(a.get(), [0, 1, 2])

    def test_copies_go_from_device_to_device(self):
        a = cupy.arange(3.0)
        with cupy.cuda.Device(1):
            for copied in (cupy.asarray(a), cupy.array(a), a.copy()):
                assert copied.device.id == 1
                np.testing.assert_array_equal((copied + 1).get(), [1, 2, 3])
            np.testing.assert_array_equal(cupy.asnumpy(a), [0, 1, 2])

    def test_pools_and_limits_are_those_of_a_device(self, pool):
        a = cupy.zeros(128)
        with cupy.cuda.Device(1):
            assert pool.used_bytes() == 0
            pool.set_limit(size=4096)
            b = cupy.zeros(256)
            assert pool.used_bytes() == 2048
        assert (pool.used_bytes(), pool.get_limit()) == (1024, 0)
        assert a.device != b.device

    def test_other_threads_have_their_own_current_device(self):
        import threading

        seen = []
        with cupy.cuda.Device(1):
            thread = threading.Thread(target=lambda: seen.append(cupy.cuda.Device().id))
            thread.start()
            thread.join()
        assert seen == [0]

    def test_there_is_no_third(self):
        with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="cudaErrorInvalidDevice"):
            cupy.cuda.Device(2).use()
