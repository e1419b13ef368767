"""Reference, section 10: measuring, and what saves work."""

import cupy as cp
import cupyx
import cupyx.profiler
import numpy as np
from cupyx.profiler import benchmark

from cunumpy.kernel_testing._fake_cupy.cuda import open_ranges


def my_function(a):
    return cp.sqrt(a).sum()


def test_benchmark():
    result = benchmark(my_function, (cp.arange(100.0),), n_repeat=20, n_warmup=2)
    assert str(result).startswith("my_function         :    CPU:")
    assert "GPU-0:" in str(result)
    assert (result.cpu_times > 0).all()


def test_outputs_that_are_there():
    a, b = cp.arange(5.0), cp.ones(5)
    result = cp.empty(5)
    used = cp.get_default_memory_pool().used_bytes()
    assert cp.add(a, b, out=result) is result
    a += b
    assert cp.get_default_memory_pool().used_bytes() == used
    np.testing.assert_array_equal(result.get(), [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(a.get(), [1, 2, 3, 4, 5])


def test_single_precision_stays():
    a = cp.random.rand(10, dtype=cp.float32)
    for result in (a * 2, a + 1.5, cp.exp(a), a.sum(), a.mean(), a / 3):
        assert result.dtype == np.float32


def test_markers():
    with cupyx.profiler.time_range("my_operation", color_id=0):
        assert open_ranges()[-1] == "my_operation"
    assert "my_operation" not in open_ranges()
