"""`benchmark` on the device: what it waits for, what it records, and when it takes a call for one of the device."""

from __future__ import annotations

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.profiling import benchmark, count_transfers


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_arrays_of_the_device_are_timed_there(backend: str) -> None:
    with xp.use_backend("cupy"):
        x = xp.ones(100)
    with xp.use_backend(backend):
        for args in ((x,), ([x],), ({"x": x},)):
            result = benchmark(lambda value: None, args, n_repeat=3, n_warmup=0)
            assert result.gpu_times is not None
            assert result.gpu_times.shape == (3,)
            assert (result.times >= result.cpu_times).all()


def test_the_cupy_backend_is_enough() -> None:
    with xp.use_backend("cupy"):
        assert benchmark(lambda: None, n_repeat=1).gpu_times is not None
        assert benchmark(lambda: None, n_repeat=1, device=False).gpu_times is None
    with xp.use_backend("numpy"):
        assert benchmark(np.sum, (np.ones(3),), n_repeat=1).gpu_times is None
        assert benchmark(np.sum, (np.ones(3),), n_repeat=1, device=True).gpu_times is not None


def test_each_repeat_waits_before_and_after_and_says_so() -> None:
    with xp.use_backend("cupy"), count_transfers() as counter:
        benchmark(xp.sum, (xp.ones(10),), n_repeat=4, n_warmup=1)
    assert counter.syncs == 8
    assert {event.description for event in counter.events} == {"benchmark('sum')"}


def test_forbidden_waits_are_refused() -> None:
    with (
        xp.use_backend("cupy"),
        xp.profiling.forbid_transfers(syncs=True),
        pytest.raises(xp.errors.TransferError, match=r"benchmark\('sum'\)"),
    ):
        benchmark(xp.sum, (xp.ones(10),), n_repeat=1)
