"""What pytest gets by itself where cunumpy-kernels is installed, in projects of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = '''
import os
import numpy as np
import pytest
import cunumpy as xp
from cunumpy.kernel_testing import emulate_cuda_kernel

def test_backend(backend):
    assert xp.get_backend() == backend

def test_setting():
    assert os.environ.get("CUNUMPY_CPU_CHECK") == os.environ["EXPECTED"]

def test_fault():
    kernel = xp.kernels.CudaKernel("""
extern "C" __global__ void ends(int* x) { if (threadIdx.x == 3) __trap(); }""", "ends")
    emulate_cuda_kernel(kernel, np.zeros(4, np.int32), grid=1, block=4)
'''


def run_pytest(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "CUNUMPY_CPU"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n0", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**kept, **environment, "COLUMNS": "200"},
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_it.py").write_text(TESTS)
    return tmp_path


def test_option_fixture_and_report(project: Path) -> None:
    done = run_pytest(project, "--cuda-check", "-rs", EXPECTED="1")
    lines = done.stdout.splitlines()
    assert "cuda-check: on" in lines
    assert "2 passed" in lines[-1] or "3 passed" in lines[-1]  # with a GPU both backends
    assert "1 failed" in lines[-1]
    # The traceback ends where the test launches, with the fault below.
    assert ">       emulate_cuda_kernel(kernel, np.zeros(4, np.int32), grid=1, block=4)" in lines
    assert "_emulation.py" not in done.stdout
    summary = lines[next(number for number, line in enumerate(lines) if "faults of CUDA kernels" in line) :]
    assert summary[1] == "test_it.py::test_fault"
    assert summary[2].startswith("    CudaKernel 'ends' (grid (1,), block (4,)): ")
    assert "thread (3, 0, 0)" in summary[2]


def test_checks_can_be_turned_off(project: Path) -> None:
    done = run_pytest(project, "--cuda-check=off", "-k", "setting", EXPECTED="0")
    assert "cuda-check: off" in done.stdout
    assert done.returncode == 0, done.stdout


def test_projects_without_kernels_notice_nothing(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("import pytest\n@pytest.fixture\ndef backend():\n    return 'its own'\n")
    (tmp_path / "test_plain.py").write_text(
        "import sys\n"
        "def test_nothing_is_loaded(backend):\n"
        "    assert backend == 'its own'\n"
        "    assert 'cunumpy' not in sys.modules and 'numpy' not in sys.modules\n"
        "def test_failing():\n"
        "    assert 0\n"
    )
    done = run_pytest(tmp_path)
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "cuda" not in done.stdout
