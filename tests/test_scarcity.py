"""No room for files, no open files, no home: what can't be done says why, the rest works, and all of it does later."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, sys
sys.path.insert(0, os.environ["TESTS"])
import resource
import test_concurrency
from cunumpy.errors import CuNumpyError

works = test_concurrency.activities()
works["scopes"](1)  # its modules are loaded on first use
kind, most = getattr(resource, sys.argv[1]), int(sys.argv[2])
usual, highest = resource.getrlimit(kind)
builds, os.environ["CUNUMPY_EMULATION_CACHE"] = os.environ["CUNUMPY_EMULATION_CACHE"], os.path.abspath("empty")
resource.setrlimit(kind, (most + (sys.argv[1] == "RLIMIT_NOFILE" and len(os.listdir("/proc/self/fd")) - 1), highest))
refused = {}
for name, work in works.items():
    try:
        work(3)
    except CuNumpyError as error:
        refused[name] = str(error)
resource.setrlimit(kind, (usual, highest))
os.environ["CUNUMPY_EMULATION_CACHE"] = builds
for work in works.values():
    work(4)
for name, text in refused.items():
    assert sys.argv[3] in text, (name, text)
print(*refused)
"""


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="limits of a process are set as on Linux")
@pytest.mark.parametrize(
    ("limit", "most", "text"), [("RLIMIT_FSIZE", 0, "File too large"), ("RLIMIT_NOFILE", 0, "Too many open files")]
)
def test_what_the_machine_lacks_is_named_and_forgotten(limit: str, most: int, text: str, tmp_path: Path) -> None:
    """Kernels that can't be built are refused by an error of ours, what needs no build works; then both do."""
    done = _run(tmp_path, PROGRAM, limit, str(most), text, CUNUMPY_EMULATION_CACHE=str(tmp_path / "builds"))
    assert done.returncode == 0, done.stdout + done.stderr
    refused = set(done.stdout.split()) - {"kinds"}  # of which some need no compiler
    assert refused == {"launch", "checked", "new_kernel"}


HOMELESS = """
import os, runpy, sys
sys.path.insert(0, os.environ["TESTS"])
import test_concurrency
import cunumpy as xp
for work in test_concurrency.activities().values():
    work(3)
xp.backend_info()
for command in ([], ["--json"], ["cache"]):
    sys.argv = ["cunumpy", *command]
    try:
        runpy.run_module("cunumpy", run_name="__main__", alter_sys=False)
    except SystemExit as end:
        assert not end.code, end.code
"""


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="there is no folder where nobody can make another")
@pytest.mark.parametrize("home", ["/proc/nobody", pytest.param(None, marks=pytest.mark.long)])
def test_without_a_home(home: str | None, tmp_path: Path) -> None:
    """Builds are kept among temporary files, and programs print nothing of it but warnings."""
    environment = {"TMPDIR": str(tmp_path), "CUNUMPY_EMULATION_CACHE": None, "XDG_CACHE_HOME": None, "HOME": home}
    done = _run(tmp_path, HOMELESS, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def _run(folder: Path, program: str, *arguments: str, **environment: str | None) -> subprocess.CompletedProcess[str]:
    changed = {**os.environ, "TESTS": os.path.dirname(__file__), **environment}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=600,
        env={name: value for name, value in changed.items() if value is not None},
    )
