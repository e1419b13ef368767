"""Runs the tests of the folder `standin` in a process in which CuPy is the stand-in."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

from cunumpy.kernel_testing._subprocess import fake_cupy_environment


@pytest.fixture
def builds() -> str:
    """Return where compiled kernels are kept from run to run, apart from the user's."""
    return str(pathlib.Path(tempfile.gettempdir()) / f"cunumpy-tests-{os.getuid()}")


FOLDER = pathlib.Path(__file__).parent / "standin"


def test_the_script_for_gpus_runs_and_prints_its_figures(builds: str) -> None:
    command = [sys.executable, str(FOLDER.parent / "gpu" / "run.py"), "-k", "overhead or cost"]
    environment = fake_cupy_environment({"CUNUMPY_EMULATION_CACHE": builds})
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for text in ("| PreparedLaunch, 4 arguments |", "2 passed", "| HostStaging.copy |"):
        assert text in done.stdout


@pytest.mark.parametrize(
    "settings",
    [
        {},
        pytest.param({"CUNUMPY_CPU_CHECK": "1"}, marks=pytest.mark.long),  # of all kernels, also ours
    ],
    ids=["as it is", "checked"],
)
def test_the_suite_for_the_cupy_backend_passes(builds: str, settings: dict[str, str]) -> None:
    assert_passes(builds, str(FOLDER), str(FOLDER.parent / "gpu"), **{"CUNUMPY_CPU_CHECK": "0", **settings})


@pytest.mark.long
def test_the_long_tests_for_the_cupy_backend_pass(builds: str) -> None:
    assert_passes(builds, str(FOLDER), "-m", "long")


def assert_passes(builds: str, *arguments: str, **variables: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", *arguments]
    done = subprocess.run(
        command,
        cwd=FOLDER.parent.parent,
        env=fake_cupy_environment({"CUNUMPY_BACKEND": "cupy", "CUNUMPY_EMULATION_CACHE": builds, **variables}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-120:])
        pytest.fail(f"pytest tests/standin on the stand-in ended with {done.returncode}:\n{tail}", pytrace=False)
