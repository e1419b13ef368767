"""``cupyx.profiler`` of the stand-in."""

from __future__ import annotations

import re

import cupy
import pytest
from cupyx.profiler import benchmark, profile, time_range

from cunumpy.kernel_testing._fake_cupy.cuda import open_ranges


def test_benchmark_calls_and_times():
    calls = []

    def my_function(x, scale=1):
        calls.append(scale)
        return x * scale

    result = benchmark(my_function, (cupy.arange(3),), {"scale": 2}, n_repeat=5, n_warmup=3)
    assert calls == [2] * 8
    assert result.name == "my_function"
    assert result.cpu_times.shape == (5,)
    assert result.gpu_times.shape == (1, 5)
    assert (result.gpu_times[0] >= result.cpu_times).all()
    times = r"\s+[\d.]+ us   \+/-\s+[\d.]+ \(min:\s+[\d.]+ / max:\s+[\d.]+\) us"
    assert re.fullmatch(rf"my_function         :    CPU:{times}     GPU-0:{times}", str(result))
    assert re.fullmatch(rf"my_function         :    CPU:{times}", result.to_str())


def test_benchmark_ends_after_the_longest_time():
    result = benchmark(lambda: None, n_repeat=10**9, name="nothing", max_duration=0.01)
    assert 1 <= result.cpu_times.size < 10**7
    assert "+/-" not in str(benchmark(lambda: None, n_repeat=1))


def test_ranges_are_pushed_and_popped():
    seen = []

    @time_range()
    def step():
        seen.append(open_ranges()[-1])
        return 3

    with time_range("outer", color_id=1, sync=True):
        assert step() == 3
        assert open_ranges()[-1] == "outer"
    assert seen == ["step"]
    with pytest.raises(ValueError, match="Only either color_id or argb_color"):
        time_range("x", color_id=1, argb_color=2)
    with profile():
        pass
