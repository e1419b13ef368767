"""Installing the CuPy stand-in, and running programs on it in processes of their own."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

from cunumpy import kernel_testing
from cunumpy.kernel_testing import _stand_in, _subprocess, fake_cupy_active, host_buffer, run_in_fake_cupy_subprocess


def run(code: str) -> str:
    """Run code in a process without the stand-in and return what it prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_public_names() -> None:
    assert kernel_testing.__all__ == sorted(kernel_testing.__all__)
    assert all(hasattr(kernel_testing, name) for name in kernel_testing.__all__)


def test_importing_it_imports_neither_pytest_nor_cupy() -> None:
    code = "import sys, cunumpy.kernel_testing; print({'pytest', 'cupy', 'cupyx', 'scipy'} & set(sys.modules))"
    assert run(code) == "set()"


def test_it_is_not_active_by_itself() -> None:
    assert not fake_cupy_active()
    assert run("import sys, cunumpy; print('cupy' in sys.modules)") == "False"
    with pytest.raises(
        TypeError, match=r"host_buffer: argument 'array' must be an array of the stand-in for CuPy, got numpy.ndarray"
    ):
        host_buffer(np.zeros(2))


def test_install_gives_cupy() -> None:
    code = """
from cunumpy.kernel_testing import install_fake_cupy, fake_cupy_active
installed = install_fake_cupy()
import cupy, importlib.util
print(installed is cupy is install_fake_cupy(), fake_cupy_active(), importlib.util.find_spec("cupy") is cupy.__spec__)
"""
    assert run(code) == "True True True"


def test_it_does_not_replace_another_cupy() -> None:
    code = """
import sys, types
sys.modules["cupy"] = types.ModuleType("cupy")
from cunumpy.kernel_testing import install_fake_cupy
try:
    install_fake_cupy()
except RuntimeError as error:
    print(error)
"""
    assert "cupy is imported already" in run(code)


def test_it_does_not_come_after_the_search_for_cupy() -> None:
    code = """
import cunumpy
cunumpy.cupy_available()
from cunumpy.kernel_testing import install_fake_cupy
try:
    install_fake_cupy()
except RuntimeError as error:
    print(error)
"""
    assert "CUNUMPY_FAKE_CUPY=1" in run(code)


def test_the_subprocess_runs_on_the_stand_in_outside_of_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_PROCID", "0")
    code = """
import os, cunumpy
from cunumpy.kernel_testing import _stand_in, _subprocess, fake_cupy_active
print(fake_cupy_active(), os.environ.get("SLURM_PROCID"), os.environ["OMP_NUM_THREADS"], os.environ["EXTRA"])
"""
    done = run_in_fake_cupy_subprocess(code, env={"EXTRA": "x"})
    assert done.stdout.split() == ["True", "None", "1", "x"]


def test_no_variable_of_a_launcher_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from cunumpy import _launcher

    for launcher in (*_launcher.LAUNCHERS, _launcher.SLURM):
        for name in launcher[1:]:
            if name is not None:
                monkeypatch.setenv(name, "0")
    assert _launcher.find_launch() is not None
    monkeypatch.setattr(os, "environ", _subprocess.fake_cupy_environment())
    assert _launcher.find_launch() is None
    assert _launcher.unclear_launch() is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("print('so far'); raise SystemExit(3)", ["exit status 3", "so far"]),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", ["ended by SIGKILL"]),
        ("for i in range(80): print('line', i)\nraise ValueError('told')", ["told", "... 30 lines before", "line 79"]),
    ],
)
def test_a_failing_subprocess_fails_the_test_with_its_output(code: str, expected: list[str]) -> None:
    with pytest.raises(pytest.fail.Exception) as failure:
        run_in_fake_cupy_subprocess(code)
    for text in expected:
        assert text in str(failure.value)
    assert "line 29\n" not in str(failure.value)


def test_a_subprocess_that_takes_too_long_fails_the_test() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"took longer than 0.5 s"):
        run_in_fake_cupy_subprocess("import time; time.sleep(60)", timeout=0.5)


def test_other_mpi_ranks_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    with pytest.raises(pytest.skip.Exception, match="first MPI rank"):
        run_in_fake_cupy_subprocess("raise SystemExit(1)")


@pytest.mark.parametrize("module", [_stand_in, _subprocess])
def test_examples_in_the_docstrings(module: ModuleType) -> None:
    failed, attempted = doctest.testmod(module)
    assert attempted > 0
    assert failed == 0
