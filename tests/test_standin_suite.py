"""Runs the tests of the folder `standin` in a process in which CuPy is the stand-in."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

from cunumpy.kernel_testing._subprocess import fake_cupy_environment

FOLDER = pathlib.Path(__file__).parent / "standin"


def test_the_suite_for_the_cupy_backend_passes() -> None:
    folders = [str(FOLDER), str(FOLDER.parent / "gpu")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", *folders]
    done = subprocess.run(
        command,
        cwd=FOLDER.parent.parent,
        env=fake_cupy_environment({"CUNUMPY_BACKEND": "cupy"}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-120:])
        pytest.fail(f"pytest tests/standin on the stand-in ended with {done.returncode}:\n{tail}", pytrace=False)
