"""Compilers that fail, hang, produce nothing or are replaced: a clear error, nothing kept, and the next build works."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cunumpy.errors import CompileError, KernelError, MissingKernelError
from cunumpy.kernels import CudaKernel, Kernel, RawModule

SOURCE = 'extern "C" __global__ void add(int n, double* x) { if (threadIdx.x < n) x[threadIdx.x] += FACTOR; }'


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give what makes a compiler of a shell script, in which ``$GXX`` is the real one."""
    real = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))))
    monkeypatch.setenv("GXX", real)
    monkeypatch.setenv("CUNUMPY_EMULATION_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "compiler"

    def make(script: str) -> Path:
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("CXX", str(path))
        return path

    return make


def _run(factor: float) -> list[float]:
    x = np.ones(3)
    Kernel(None, CudaKernel(SOURCE, "add", options=(f"-DFACTOR={factor}",)))(3, x, n_threads=3)
    return x.tolist()


def _entries(tmp_path: Path) -> list[str]:
    return sorted(path.name.partition("-")[0] for path in (tmp_path / "cache").glob("*"))


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ('case "$*" in *-shared*) echo broken >&2; exit 3;; esac', "broken"),
        ('case "$*" in *-shared*) exit 3;; esac', "exit status 3"),
        ('case "$*" in *-shared*) kill -9 $$;; esac', "SIGKILL"),
        ('case "$*" in *-shared*) exit 0;; esac', "no library"),
        ('case "$*" in *-shared*) echo "no library at all" > kernel.so; exit 0;; esac', "no library"),
        ('case "$*" in *-shared*) : > kernel.so; exit 0;; esac', "no library"),
        ('case "$*" in *-shared*) printf "\\377\\376 \\200" >&2; exit 1;; esac', "for the CPU"),
    ],
)
def test_what_a_failing_compiler_says_is_told_and_nothing_is_kept(compiler, tmp_path, script, text) -> None:
    path = compiler(f'{script}\nexec "$GXX" "$@"')
    with pytest.raises((CompileError, MissingKernelError), match=r"kernel 'add'|CudaKernel 'add'") as caught:
        _run(2)
    assert re.search(rf"CudaKernel 'add': does not compile(.|\n)*{text}", str(caught.value))
    assert "cpu" not in _entries(tmp_path)
    path.write_text('#!/bin/sh\nexec "$GXX" "$@"\n')
    assert _run(2) == [3.0, 3.0, 3.0]


def test_a_compiler_that_does_not_tell_its_version_is_refused(compiler) -> None:
    compiler("exit 1")
    with pytest.raises(MissingKernelError, match=r"SettingError: .*CXX=.*--version fails"):
        _run(2)


def test_a_compiler_that_is_replaced_is_noticed(compiler, tmp_path) -> None:
    path = compiler('case "$1" in --version) echo "c++ 1.0"; exit 0;; esac\nexec "$GXX" "$@"')
    assert _run(2) == [3.0, 3.0, 3.0]
    before = _entries(tmp_path).count("cpu")
    path.write_text('#!/bin/sh\ncase "$1" in --version) echo "c++ 2.0"; exit 0;; esac\nexec "$GXX" -DNEWER "$@"\n')
    os.utime(path, ns=(1, 1))
    assert _run(2) == [3.0, 3.0, 3.0]
    assert _entries(tmp_path).count("cpu") == before + 1


HANGING = """
import signal, sys, numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
from cunumpy.kernels import CudaKernel, Kernel
x = np.ones(3)
try:
    Kernel(None, CudaKernel(sys.argv[1], "add", options=("-DFACTOR=2",)))(3, x, n_threads=3)
except KeyboardInterrupt:
    print("interrupted", x.tolist(), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
def test_control_c_ends_a_compiler_that_hangs_and_leaves_nothing(compiler, tmp_path) -> None:
    started = tmp_path / "started"
    path = compiler(f'case "$*" in *-shared*) echo $$ > {started}; exec sleep 600;; esac\nexec "$GXX" "$@"')
    process = subprocess.Popen(
        [sys.executable, "-c", HANGING, SOURCE],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a terminal signals the compiler, too; one that ignores it has to end all the same
    )
    try:
        for _ in range(600):
            if started.exists() and started.read_text().strip():
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert output == "interrupted [1.0, 1.0, 1.0]\n"
    status = Path(f"/proc/{started.read_text().strip()}/stat")
    assert not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z"
    assert "cpu" not in _entries(tmp_path)
    path.write_text('#!/bin/sh\nexec "$GXX" "$@"\n')
    assert _run(2) == [3.0, 3.0, 3.0]


COUNTER = """
__device__ int counter;
extern "C" __global__ void count(int* x) { x[0] = ++counter; }
"""


@pytest.mark.parametrize("which", ["temporary folder", "cache"])
def test_modules_have_their_own_variables_wherever_libraries_can_be_copied(which, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("CUNUMPY_EMULATION_CACHE", str(tmp_path / "cache"))

    def count(module: RawModule) -> int:
        x = np.zeros(1, np.int32)
        module.get_function("count")((1,), (1,), (x,))
        return int(x[0])

    first = RawModule(code=COUNTER)
    assert count(first) == 1
    if which == "temporary folder":
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    else:
        real = shutil.copyfile

        def full(source: Any, target: Any) -> Any:
            if str(tmp_path / "cache") in str(target):
                raise OSError(28, "No space left on device")
            return real(source, target)

        monkeypatch.setattr("shutil.copyfile", full)
    second = RawModule(code=COUNTER)
    assert [count(second), count(first), count(second)] == [1, 2, 2]


def test_builds_that_are_removed_before_they_are_loaded_are_made_again(tmp_path, monkeypatch) -> None:
    from cunumpy.kernels import _build_cache

    monkeypatch.setenv("CUNUMPY_EMULATION_CACHE", str(tmp_path / "cache"))
    real, times = _build_cache.BuildCache.get, [2]

    def removing(self: Any, key: str, build: Any) -> Path:
        found = real(self, key, build)
        if key.startswith("cpu-") and times[0]:
            times[0] -= 1
            shutil.rmtree(found)
        return found

    monkeypatch.setattr(_build_cache.BuildCache, "get", removing)
    with pytest.raises(KernelError, match=r"^CudaKernel 'add': what was compiled for the CPU can't be loaded"):
        _run(4)
    times[0] = 1
    assert _run(4) == [5.0, 5.0, 5.0]


def test_headers_of_the_working_directory_are_not_compiled(tmp_path, monkeypatch) -> None:
    for name in ("stdint.h", "cuda_runtime.h", "cunumpy/random.cuh", "cunumpy_cpu/entry.hpp", "stolen.h"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("#error stolen\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUNUMPY_EMULATION_CACHE", str(tmp_path / "cache"))
    source = textwrap.dedent("""
        #include <stdint.h>
        #include <cuda_runtime.h>
        #include <cunumpy/random.cuh>
        extern "C" __global__ void k(double* x) { x[0] = 7; }
    """)
    x = np.zeros(1)
    Kernel(None, CudaKernel(source, "k"))(x, n_threads=1)
    assert x[0] == 7
