"""Threads, forks and interruptions over the whole: right results, no lock that stays, no half state."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cunumpy as xp
from cunumpy import algorithms, kernels, memory, mpi, profiling, rng
from cunumpy.kernel_testing import emulate_cuda_kernel

THREADS, ROUNDS = 8, 20

SOURCE = """
extern "C" __global__ void scale(int n, double a, double* x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= a;
}
extern "C" __global__ void total(const double* x, double* y) {
    __shared__ double part[64];
    part[threadIdx.x] = x[threadIdx.x];
    for (int step = 32; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    }
    if (threadIdx.x == 0) *y = part[0];
}
"""


@pytest.fixture(autouse=True)
def _builds_of_this_run(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUNUMPY_EMULATION_CACHE", str(tmp_path_factory.getbasetemp() / "builds"))


def activities() -> dict[str, Callable[[int], None]]:
    """Give what threads do with objects that they share; each checks its own results."""
    scale, total = kernels.CudaKernel(SOURCE, "scale"), kernels.CudaKernel(SOURCE, "total")
    shared, barriers = kernels.Kernel(None, scale), kernels.Kernel(None, total)
    twice = kernels.ElementwiseKernel("T v", "T w", "w = v + v", "twice")
    added = kernels.ReductionKernel("T v", "T w", "v", "a + b", "w = a", "0", "added")
    fused = kernels.fuse(lambda x: x * 2 + 1)
    staging = memory.HostStaging(64, np.float64, buffers=THREADS)
    counter = profiling.TransferCounter()

    def launch(i: int) -> None:
        x = np.full(64, float(i))
        shared(64, 3.0, x, n_threads=64)
        assert (x == 3.0 * i).all()
        y = np.zeros(1)
        barriers(x, y, grid=1, block=64)
        assert y[0] == 64 * 3.0 * i

    def checked(i: int) -> None:
        x = np.full(64, float(i))
        emulate_cuda_kernel(scale, 64, 3.0, x, n_threads=64)
        assert (x == 3.0 * i).all()

    def kinds(i: int) -> None:
        x = np.full(1000, float(i))
        assert (twice(x) == 2 * i).all()
        assert added(x) == 1000 * i
        many = np.full(200_000, float(i))
        assert (fused(many) == 2 * i + 1).all()

    def new_kernel(i: int) -> None:
        x = np.full(64, float(i))
        kernels.Kernel(None, kernels.CudaKernel(SOURCE, "scale"))(64, 3.0, x, n_threads=64)
        assert (x == 3.0 * i).all()

    def stage(i: int) -> None:
        x = np.full(64, float(i))
        copy = staging.copy(x).result(copy=True)
        assert (copy == i).all()

    def scopes(i: int) -> None:
        with xp.use_backend("numpy"), profiling.count_transfers(counter), profiling.timed_region(str(i)):
            assert xp.get_backend() == "numpy"
            assert xp.zeros(3).sum() == 0
            assert xp.scipy.special.erf(0.0) == 0

    def algorithm(i: int) -> None:
        keys = np.arange(2000) % 7
        values = np.full(2000, float(i))
        np.testing.assert_array_equal(algorithms.segment_sum(values, keys, 7), i * np.bincount(keys))
        ordered, order = algorithms.sort_by_key(keys)[:2]
        assert (np.diff(ordered) >= 0).all()
        np.testing.assert_array_equal(keys[order], ordered)

    def draw(i: int) -> None:
        first = rng.philox_uniform(i, 2, np.arange(500))
        np.testing.assert_array_equal(first, rng.philox_uniform(i, 2, np.arange(500)))
        assert 0 <= rng.random_streams.random() < 1

    def send(i: int) -> None:
        comm, into = mpi.SerialComm(), np.zeros(10)
        mpi.exchange(comm, sends=[(np.full(10, float(i)), 0, 1)], receives=[(into, 0, 1)])
        assert (into == i).all()

    return {f.__name__: f for f in (launch, checked, kinds, new_kernel, stage, scopes, algorithm, draw, send)}


def _in_threads(work: Callable[[int], None], rounds: int = ROUNDS) -> None:
    barrier = threading.Barrier(THREADS)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            for turn in range(rounds):
                barrier.wait(60)
                work(1 + number + THREADS * turn)
        except BaseException as error:
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(THREADS)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
    finally:
        sys.setswitchinterval(interval)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise next((error for error in errors if not isinstance(error, threading.BrokenBarrierError)), errors[0])


def test_threads_do_the_same_at_once(subtests: Any) -> None:
    for name, work in activities().items():
        with subtests.test(msg=name):
            _in_threads(work, 5 if name in ("checked", "new_kernel") else ROUNDS)


def test_threads_do_different_things_at_once() -> None:
    all_of_them = list(activities().values())
    _in_threads(lambda i: all_of_them[i % len(all_of_them)](i))


IMPORTS = """
import sys, threading
sys.setswitchinterval(1e-6)
import cunumpy as xp
names = ["rng", "algorithms", "kernels", "arguments", "cuda", "memory", "mpi", "optimize", "integrate", "profiling"]
found, errors = [], []
barrier = threading.Barrier(8)
def read(number):
    try:
        barrier.wait()
        mine = {}
        for name in names[number:] + names[:number]:
            mine[name] = getattr(xp, name)
            for public in mine[name].__all__:
                getattr(mine[name], public)
        mine["erf"] = xp.scipy.special.erf
        found.append(mine)
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join(120)
assert not errors, errors
assert len(found) == 8 and all(one == found[0] for one in found)
print("same")
"""


def test_threads_load_modules_at_once() -> None:
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=False, timeout=300)
        assert done.stdout == "same\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_after_a_fork_both_go_on() -> None:
    works = activities()
    for i, work in enumerate(works.values()):
        work(i + 1)  # pools, libraries and buffers are there
    large = np.arange(300_000) % 1000
    expected = np.bincount(large)
    np.testing.assert_array_equal(algorithms.segment_count(large, 1000), expected)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for i, work in enumerate(works.values()):
                work(i + 5)
            np.testing.assert_array_equal(algorithms.segment_count(large, 1000), expected)
            _in_threads(works["launch"], 3)
            status = 0
        finally:
            os._exit(status)
    for i, work in enumerate(works.values()):
        work(i + 9)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


FORKED = """
import faulthandler, os, sys, threading, time
sys.path.insert(0, os.environ["TESTS"])
import test_concurrency as tests

works = list(tests.activities().values())
for i, work in enumerate(works):
    work(i + 1)
errors, over = [], threading.Event()

def run(number):
    try:
        while not over.is_set():
            works[number % len(works)](number)
            number += 4
    except BaseException as error:
        errors.append(error)
        raise

threads = [threading.Thread(target=run, args=(1 + number,)) for number in range(4)]
sys.setswitchinterval(1e-5)
for thread in threads:
    thread.start()
failed = 0
for _ in range(FORKS):
    time.sleep(0.01)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            faulthandler.dump_traceback_later(120, exit=True)  # a lock that a thread of the parent has
            for i, work in enumerate(works):
                work(i + 3)
            status = 0
        finally:
            os._exit(status)
    failed += os.waitpid(child, 0)[1] != 0
over.set()
for thread in threads:
    thread.join(60)
assert not failed and not errors, (failed, errors)
print("went on")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("forks", [4, pytest.param(100, marks=pytest.mark.long)])
def test_a_fork_while_threads_work_leaves_the_child_no_lock(forks: int) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED.replace("FORKS", str(forks))],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
        env={**os.environ, "TESTS": os.path.dirname(__file__)},
    )
    assert done.stdout == "went on\n", done.stdout + done.stderr


INTERRUPTED = """
import random, signal, sys, os
sys.path.insert(0, os.environ["TESTS"])
import numpy as np
import test_concurrency as tests
import cunumpy as xp

works = list(tests.activities().values())
for i, work in enumerate(works):
    work(i + 1)

def interrupt(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
generator = random.Random(5)
interrupted = 0
for turn in range(ROUNDS):
    work = works[turn % len(works)]
    try:
        signal.setitimer(signal.ITIMER_REAL, generator.uniform(1e-5, 2e-3))
        for i in range(1, 50):
            work(i)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        interrupted += 1
    except AssertionError:
        raise
    signal.setitimer(signal.ITIMER_REAL, 0)
    for work in works if turn % 20 == 19 else [work]:
        work(turn + 1)  # no lock stays, and results are right
print("went on", interrupted)
"""


@pytest.mark.skipif(not hasattr(__import__("signal"), "setitimer"), reason="there are no timers that send signals")
@pytest.mark.parametrize("rounds", [90, pytest.param(2000, marks=pytest.mark.long)])
def test_interruptions_at_any_time_leave_everything_usable(rounds: int) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", INTERRUPTED.replace("ROUNDS", str(rounds))],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "TESTS": os.path.dirname(__file__)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[-1]) > rounds / 10
