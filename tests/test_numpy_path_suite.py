"""Runs the tests of the packages with native code once more, in a process where NumPy does the work."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).parent


@pytest.mark.skipif(bool(os.environ.get("CUNUMPY_NO_NATIVE")), reason="this run is on the NumPy path already")
def test_the_suites_pass_without_native_code() -> None:
    folders = [str(TESTS / name) for name in ("cunumpy-rng", "cunumpy-algorithms")]
    environment = {name: value for name, value in os.environ.items() if name != "CUNUMPY_REQUIRE_NATIVE"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", *folders],
        cwd=TESTS.parent,
        env=environment | {"CUNUMPY_NO_NATIVE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-120:])
        pytest.fail(f"pytest with CUNUMPY_NO_NATIVE=1 ended with {done.returncode}:\n{tail}", pytrace=False)
