"""Reference, section 7: pools, limits, managed and pinned memory. More of it is in ``test_device_memory.py``."""

import subprocess
import sys

import cupy as cp
import cupyx
import numpy as np
import pytest

from cunumpy.kernel_testing._subprocess import fake_cupy_environment


@pytest.fixture(autouse=True)
def as_before():
    allocator = cp.cuda.get_allocator()
    yield
    cp.cuda.set_allocator(allocator)
    cp.cuda.set_pinned_memory_allocator(cp.get_default_pinned_memory_pool().malloc)
    cp.get_default_memory_pool().set_limit(size=0)


def test_the_default_pool():
    mempool = cp.get_default_memory_pool()
    before = mempool.used_bytes()
    array = cp.zeros(100_000)
    assert mempool.used_bytes() == before + 800_256
    assert mempool.total_bytes() >= mempool.used_bytes()
    del array
    assert mempool.used_bytes() == before
    assert mempool.free_bytes() >= 800_256
    total = mempool.total_bytes()
    mempool.free_all_blocks()
    assert mempool.total_bytes() <= total - 800_256
    pinned_mempool = cp.get_default_pinned_memory_pool()
    pinned_mempool.free_all_blocks()
    assert pinned_mempool.n_free_blocks() == 0


def test_a_limit():
    mempool = cp.get_default_memory_pool()
    with cp.cuda.Device(0):
        mempool.set_limit(size=4 * 1024**3)
    assert mempool.get_limit() == 4 * 1024**3
    with pytest.raises(cp.cuda.memory.OutOfMemoryError, match="limit set to: 4,294,967,296 bytes"):
        cp.empty(5 * 1024**3, cp.uint8)


@pytest.mark.parametrize(("setting", "expected"), [("50%", 2**33), ("4294967296", 2**32)])
def test_a_limit_by_the_environment(setting, expected):
    program = "import cunumpy, cupy; print(cupy.get_default_memory_pool().get_limit())"
    environment = fake_cupy_environment({"CUPY_GPU_MEMORY_LIMIT": setting})
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert int(done.stdout) == expected


def test_managed_memory():
    cp.cuda.set_allocator(cp.cuda.MemoryPool(cp.cuda.malloc_managed).malloc)
    array = cp.arange(1000.0)
    assert float(array.sum()) == 499_500
    assert array.data.mem.pool is not cp.get_default_memory_pool()


def test_pinned_memory():
    for pinned_array in (
        cupyx.empty_pinned((1000,), dtype=np.float32),
        cupyx.zeros_pinned((1000,), dtype=np.float32),
    ):
        assert type(pinned_array) is np.ndarray
        assert (pinned_array.shape, pinned_array.dtype) == ((1000,), np.float32)
        pinned_array[:] = 2
        np.testing.assert_array_equal(cp.asarray(pinned_array).get(), 2)
    assert not cupyx.zeros_pinned(5).any()


def test_pools_are_disabled():
    cp.cuda.set_allocator(None)
    cp.cuda.set_pinned_memory_allocator(None)
    used = cp.get_default_memory_pool().used_bytes()
    array = cp.zeros(1000)
    assert type(array.data.mem) is cp.cuda.Memory
    assert cp.get_default_memory_pool().used_bytes() == used
    assert cp.cuda.alloc_pinned_memory(100).mem.size == 100
