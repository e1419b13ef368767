"""CuPy fails at any of the copies that a call makes: what was there stays as it was, and the next call works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cupy
import numpy as np
import pytest

import cunumpy as xp
from cunumpy import algorithms, kernels, memory, mpi, profiling, rng
from cunumpy.kernel_testing import host_buffer


class Failure(RuntimeError):
    """What CuPy would raise, of memory that is used up."""


class Faults:
    """Counts the calls of CuPy that copy or allocate, and lets one of them fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls, self.failing = 0, 0
        for owner, name in [
            (cupy.ndarray, "get"),
            (cupy.ndarray, "set"),
            (cupy, "asarray"),
            (cupy, "array"),
            (cupy, "empty"),
            (cupy, "copyto"),
        ]:
            monkeypatch.setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls == self.failing:
                raise Failure("out of memory")
            return function(*args, **kwargs)

        return call


SCALE = """
extern "C" __global__ void scale(int n, double* x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}
"""


def _device(values: Any) -> Any:
    return cupy.asarray(np.asarray(values, float))


def _values(array: Any) -> list[float]:
    return (host_buffer(array) if isinstance(array, cupy.ndarray) else np.asarray(array)).tolist()


def calls() -> Iterator[tuple[str, Callable[[], Any], Callable[[Any], Any], bool]]:
    """Give a name, what makes arguments, what is called with them, and whether it leaves the arguments alone then.

    The others write to an argument in the end, as the last thing that they do.
    """
    yield "to_cupy", lambda: [np.arange(3.0)], lambda x: xp.to_cupy(x), True
    yield "to_numpy", lambda: [_device([1, 2])], lambda x: xp.to_numpy(x), True
    yield "as_device_array", lambda: [np.ones((2, 3), order="F")], lambda x: xp.as_device_array(x, float), True
    yield "to_host_async", lambda: [_device([1, 2])], lambda x: xp.to_host_async(x).result(), True
    yield "host_call", lambda: [_device([1, 2])], lambda x: xp.host_call(np.cumsum, x), True
    yield "host_call_inplace", lambda: [_device([2, 1])], lambda x: xp.host_call_inplace(np.ndarray.sort, x), False
    kernel = kernels.PyccelKernel(_double_both, outputs=[0, 1])
    yield "PyccelKernel", lambda: [_device([1, 2]), _device([3, 4])], lambda x, y: kernel(x, y), False

    def outputs(x: Any, y: Any) -> None:
        with kernels.kernel_outputs(x, y, like=np.zeros(1)) as buffers:
            for buffer in buffers:
                buffer *= 2

    yield "kernel_outputs", lambda: [_device([1, 2]), _device([3, 4])], outputs, False
    yield "exchange", lambda: [_device([1, 2]), _device([0, 0])], _exchange, False
    yield "allreduce", lambda: [_device([1, 2])], lambda x: mpi.allreduce(mpi.SerialComm(), x, cuda_aware=False), True
    yield (
        "migrate",
        lambda: [_device([1, 2]), cupy.zeros(2, int)],
        lambda x, to: mpi.migrate(mpi.SerialComm(), [x], to, cuda_aware=False),
        True,
    )
    yield "segment_sum", lambda: [_device([1, 2])], lambda x: algorithms.segment_sum(x, cupy.zeros(2, int), 1), True
    yield "sort_by_key", lambda: [_device([2, 1])], lambda x: algorithms.sort_by_key(x), True
    yield "philox_uniform", lambda: [cupy.arange(4)], lambda x: rng.philox_uniform(1, 2, x), True


def _double_both(x: Any, y: Any) -> None:
    x *= 2
    y *= 2


def _exchange(x: Any, into: Any) -> None:
    mpi.exchange(mpi.SerialComm(), sends=[(x, 0, 1)], receives=[(into, 0, 1)], cuda_aware=False)


def _copies_of(call: Callable[..., Any], arguments: list[Any]) -> int:
    with pytest.MonkeyPatch.context() as monkeypatch:
        faults = Faults(monkeypatch)
        call(*arguments)
        return faults.calls


def test_each_copy_may_fail(subtests: Any) -> None:
    for name, make, call, alone in calls():
        with subtests.test(msg=name):
            expected_arguments = make()
            expected = call(*expected_arguments)
            number = _copies_of(call, make())
            for failing in range(1, number + 1):
                arguments = make()
                before = [_values(argument) for argument in arguments]
                with pytest.MonkeyPatch.context() as monkeypatch, profiling.count_transfers() as counter:
                    faults = Faults(monkeypatch)
                    faults.failing = failing
                    with pytest.raises(Failure):
                        call(*arguments)
                after = [_values(argument) for argument in arguments]
                if alone or failing < number:
                    changed = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
                    assert not changed or not alone, (
                        f"copy {failing} of {number} failed, and argument {changed} changed"
                    )
                assert counter.to_host + counter.to_device <= number
                assert xp.get_backend() == "cupy"
                again = make()
                result = call(*again)
                assert [_values(a) for a in again] == [_values(a) for a in expected_arguments]
                _same(result, expected)


def _same(result: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        for one, other in zip(result, expected, strict=True):
            _same(one, other)
    elif expected is not None:
        assert _values(result) == _values(expected)


def _all_or_nothing(before: list[Any], after: list[Any], done: list[Any]) -> None:
    assert after in (before, done), f"half of it was written: {after}"


def test_several_outputs_are_written_or_none_as_far_as_copies_can_tell() -> None:
    for name, make, call, alone in calls():
        if alone or name == "exchange":
            continue
        done = make()
        call(*done)
        wanted = [_values(argument) for argument in done]
        number = _copies_of(call, make())
        written = len(wanted)
        for failing in range(1, number - written + 2):  # the last copies write, one after the other
            arguments = make()
            before = [_values(argument) for argument in arguments]
            with pytest.MonkeyPatch.context() as monkeypatch:
                Faults(monkeypatch).failing = failing
                with pytest.raises(Failure):
                    call(*arguments)
            _all_or_nothing(before, [_values(argument) for argument in arguments], wanted)


def test_stagings_and_mirrors_can_be_used_again() -> None:
    host, device = np.arange(4.0), _device([5, 6, 7, 8])
    staging, mirror = memory.HostStaging(4, float), memory.DeviceMirror(host)
    for work in (
        lambda: staging.copy(device).result(copy=True),
        lambda: mirror.to_device().device.sum(),
        lambda: mirror.to_host(),
    ):
        work()
        number = _copies_of(work, [])
        assert number
        failed = 0
        for failing in range(1, number + 1):
            with pytest.MonkeyPatch.context() as monkeypatch:
                Faults(monkeypatch).failing = failing
                try:
                    work()
                except Failure:
                    failed += 1
            assert staging.copy(device).result(copy=True).tolist() == [5, 6, 7, 8]
            host[:] = np.arange(4.0)
            assert _values(mirror.to_device().device) == [0, 1, 2, 3]
            mirror.device[...] = 9
            mirror.to_host()
            assert host.tolist() == [9, 9, 9, 9]
        assert failed  # what is allocated once is not allocated again
