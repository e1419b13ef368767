"""Kernels on the CPU that crash, overrun their stack or never end: the launch ends, and the process goes on."""

from __future__ import annotations

import platform
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.errors import KernelError, SettingError
from cunumpy.kernel_testing import emulate_cuda_kernel

SOURCE = """
// Threads 0 to n - 1 write ones first.
extern "C" __global__ void misbehave(double* x, int* p, int what, int zero) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = 1.0;
    if (what == 1 && i == 70) x[i + (1ll << 38)] = 2.0;
    if (what == 2 && i == 70) p[0] = *(volatile int*)(long long)zero;
    if (what == 3 && i == 70) p[0] = 7 / zero;
    if (what == 4 && i == 70) while (((volatile int*)p)[0] == 0) { }
    if (what == 5 && i == 70) x[i + (1ll << 56)] = 2.0;
}

__device__ __noinline__ int deep(volatile int* p, int n) {
    volatile int a[100];
    a[n % 100] = n;
    return p[0] == 0 ? deep(p, n + 1) + a[n % 50] : 0;
}

// All lanes vote, so each thread has a stack of its own.
extern "C" __global__ void with_warps(double* x, int* p, int what) {
    int i = threadIdx.x;
    x[i] = 1.0;
    unsigned int all = __ballot_sync(0xffffffffu, 1);
    if (what == 1 && i == 37) p[1] = deep(p, 0);
    if (what == 2 && i == 37) x[i + (1ll << 38)] = 2.0;
    if (what == 3 && i == 37) while (((volatile int*)p)[0] == 0) { }
    __syncthreads();
    x[i] += all != 0 ? 1.0 : 0.0;
}
"""

FINE, BEYOND, NULL, DIVISION, ENDLESS, NOWHERE = range(6)

misbehave = xp.kernels.CudaKernel(SOURCE, "misbehave", n_threads_from=None)
with_warps = xp.kernels.CudaKernel(SOURCE, "with_warps", n_threads_from=None)


def arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(1280), np.zeros(2, np.int32)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        (
            BEYOND,
            r"memory at 0x[0-9a-f]+ that is not the kernel's \(\d+ bytes after argument '[xp]' begins, the "
            r"nearest\) in (one|block)",
        ),
        (NULL, r"memory at 0, by a null pointer in (one|block)"),
        pytest.param(
            DIVISION,
            r"integer division by zero, or of the lowest number by -1 \(on a GPU the result is undefined\) in ",
            marks=pytest.mark.skipif(
                platform.machine() not in ("x86_64", "AMD64"), reason="other processors divide by zero without a fault"
            ),
        ),
        (NOWHERE, r"access to memory by a pointer that can't be one|that is not the kernel's"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_faults_end_the_launch_and_arrays_keep_what_was_written(what: int, text: str) -> None:
    x, p = arrays()
    with pytest.raises(KernelError, match=text) as caught:
        emulate_cuda_kernel(misbehave, x, p, what, 0, grid=10)
    assert str(caught.value).startswith("CudaKernel 'misbehave' (grid (10,), block (128,)): ")
    assert str(caught.value).endswith("; what it wrote before stays.")
    assert x[:71].all()
    emulate_cuda_kernel(misbehave, x, p, FINE, 0, grid=10)
    assert x.all()


@pytest.mark.parametrize(("what", "text"), [(1, "stack overrun, perhaps by a recursion"), (2, "not the kernel's")])
@pytest.mark.usefixtures("unchecked")
def test_faults_of_threads_with_stacks_of_their_own_name_the_thread(what: int, text: str) -> None:
    x, p = arrays()
    with pytest.raises(KernelError, match=rf"{text}.* in block \(0, 0, 0\), thread \(37, 0, 0\); what it wrote"):
        emulate_cuda_kernel(with_warps, x, p, what, grid=1, block=64)
    assert x[:38].all()
    emulate_cuda_kernel(with_warps, x, p, 0, grid=1, block=64)
    assert (x[:64] == 2).all()


@pytest.mark.parametrize(("fibers", "checked"), [(False, False), (True, False), (False, True)])
def test_endless_kernels_end_after_the_limit_of_time(
    monkeypatch: pytest.MonkeyPatch, fibers: bool, checked: bool
) -> None:
    monkeypatch.setenv("CUNUMPY_CPU_TIME_LIMIT", "1")
    monkeypatch.setenv("CUNUMPY_CPU_CHECK", str(int(checked)))
    x, p = arrays()
    start = time.monotonic()
    place = (
        r"block \(0, 0, 0\), thread \(37, 0, 0\)"
        if fibers
        else r"block \(0, 0, 0\), thread \(70, 0, 0\)"
        if checked
        else r"(one of the blocks from \(0, 0, 0\) to|block \(0, 0, 0\);)"
    )
    kernel, grid, block = (with_warps, 1, 64) if fibers else (misbehave, 10, 128)
    args = (x, p, 3) if fibers else (x, p, ENDLESS, 0)
    text = rf"did not end within 1 s, the limit of time \(CUNUMPY_CPU_TIME_LIMIT\), and was in {place}"
    with pytest.raises(KernelError, match=text):
        emulate_cuda_kernel(kernel, *args, grid=grid, block=block)
    assert 0.9 < time.monotonic() - start < 30
    assert x[:38].all()


def test_limit_of_time_that_means_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUNUMPY_CPU_TIME_LIMIT", "soon")
    kernel = xp.kernels.CudaKernel('extern "C" __global__ void nothing() {}', "nothing")
    with pytest.raises(SettingError, match=r"CUNUMPY_CPU_TIME_LIMIT='soon' means nothing"):
        emulate_cuda_kernel(kernel, grid=1)


def test_threads_of_python_that_launch_at_once_have_their_own_faults() -> None:
    found: dict[int, list[str]] = {}

    def launch_some(what: int) -> None:
        texts = found.setdefault(what, [])
        for _ in range(20):
            x, p = arrays()
            try:
                emulate_cuda_kernel(misbehave, x, p, what, 0, grid=10)
                texts.append("fine" if x.all() else "wrong")
            except KernelError as error:
                null, beyond = (
                    "null pointer" in str(error),
                    re.search("out of bounds|not the kernel's|can't be", str(error)) is not None,
                )
                texts.append("null" if null else "beyond" if beyond else str(error))

    threads = [threading.Thread(target=launch_some, args=(what,)) for what in (FINE, BEYOND, NULL)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {FINE: ["fine"] * 20, BEYOND: ["beyond"] * 20, NULL: ["null"] * 20}


FINITE = """
struct Particle { double x, v; };
extern "C" __global__ void spoil(double* y, Particle* particles, int what) {
    if (what == 1) y[7] = y[9] = 1.0 / 0.0;
    if (what == 2) particles[3].v = -1.0 / 0.0;
}
"""
PARTICLE = np.dtype([("x", "f8"), ("v", "f8")])


@pytest.mark.parametrize(
    ("what", "place"),
    [(0, ""), (1, r"argument 'y' .*, first y\[1, 2\] = inf\."), (2, r"first particles\.v\[3\] = -inf\.")],
)
def test_check_finite_tells_the_first_place(what: int, place: str) -> None:
    struct = xp.arguments.CudaStruct("Particle", [("x", "double"), ("v", "double")])
    kernel = xp.kernels.CudaKernel(FINITE, "spoil", structs=[struct], check_finite=True)
    y, particles = np.zeros((3, 5)), np.zeros(4, PARTICLE)
    if not what:
        emulate_cuda_kernel(kernel, y, particles, what, grid=1, block=1)
        return
    with pytest.raises(KernelError, match=rf"CudaKernel 'spoil' \(grid \(1,\), block \(1,\)\).* {place}"):
        emulate_cuda_kernel(kernel, y, particles, what, grid=1, block=1)


PROGRAM = f"""
import ctypes, faulthandler, os, signal, sys, threading, time
import numpy as np
import cunumpy as xp
from cunumpy.kernel_testing import emulate_cuda_kernel
kernel = xp.kernels.CudaKernel({SOURCE!r}, "misbehave", n_threads_from=None)
x, p = np.zeros(1280), np.zeros(2, np.int32)
def launch(what):
    x[:] = 0
    try:
        emulate_cuda_kernel(kernel, x, p, what, 0, grid=10)
        text = f"fine {{x.sum()}}"
    except xp.errors.KernelError as error:
        text = "refused" if "null pointer" in str(error) else str(error)
    os.write(1, f"{{text}}\\n".encode())  # whole, also where two processes write
"""


def run_program(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM + text], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("handler", ["none", "before", "after"])
def test_crashes_of_other_code_still_end_the_process_with_their_traceback(handler: str) -> None:
    enable = "faulthandler.enable()"
    done = run_program(
        f"{enable if handler == 'before' else ''}\nlaunch(2)\n"
        f"{enable if handler == 'after' else ''}\ntime.sleep(0.05)\nlaunch(2)\n"
        "ctypes.string_at(0)\n"
    )
    assert done.returncode == -signal.SIGSEGV
    assert done.stdout == "refused\nrefused\n"
    assert done.stderr.count("Fatal Python error: Segmentation fault") == (handler != "none")


def test_control_c_ends_a_launch_and_arrays_keep_what_was_written() -> None:
    done = run_program("""
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let background processes ignore it
launch(0)  # compiled before the clock runs
threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    launch(4)
except KeyboardInterrupt:
    print("interrupted", x[:71].sum(), flush=True)
launch(0)
signal.signal(signal.SIGINT, lambda *_: None)  # one that does not raise
threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
launch(4)
""")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:3] == ["fine 1280.0", "interrupted 71.0", "fine 1280.0"]
    assert "was interrupted by Ctrl-C (SIGINT)" in lines[3]


def test_control_c_that_the_process_ignores_ends_nothing() -> None:
    done = run_program("""
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.environ["CUNUMPY_CPU_TIME_LIMIT"] = "1"
launch(0)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
launch(4)
""")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == "fine 1280.0"
    assert "did not end within 1 s" in second


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_processes_are_protected_too() -> None:
    done = run_program("""
os.environ["CUNUMPY_CPU_TIME_LIMIT"] = "1"
launch(2)
child = os.fork()
launch(2)
launch(4)
if child:
    print("child", os.waitpid(child, 0)[1])
""")
    assert done.returncode == 0, done.stderr
    lines = sorted(line[:30] for line in done.stdout.splitlines())
    assert lines.count("refused") == 3
    assert lines[0] == "CudaKernel 'misbehave' (grid ("
    assert "child 0" in lines
