"""No network, no shell, no guessable temporary files, no code from text: looked for in the sources, and at run time."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from distributions import PACKAGES

SOURCES = sorted(PACKAGES.glob("*/src/**/*.py"))
BUILDS = sorted(PACKAGES.glob("*/hatch_build.py"))

NETWORK = {
    "aiohttp", "ftplib", "http", "httpx", "imaplib", "nntplib", "poplib", "requests", "smtplib", "socket",
    "socketserver", "ssl", "telnetlib", "urllib", "urllib3", "webbrowser", "xmlrpc",
}  # fmt: skip

SHELL = {"os.system", "os.popen", "os.execl", "os.execlp", "os.spawnl", "os.spawnlp", "subprocess.getoutput",
         "subprocess.getstatusoutput", "tempfile.mktemp", "os.tempnam", "os.tmpnam"}  # fmt: skip

FROM_TEXT = {"eval", "exec", "compile", "pickle.load", "pickle.loads", "marshal.load", "marshal.loads", "yaml.load"}

ALLOWED_FROM_TEXT = {
    # Signatures and constants of CuPy, from a table of ours.
    "cunumpy-kernels/src/cunumpy/kernel_testing/_fake_cupy/signatures.py",
    "cunumpy-kernels/src/cunumpy/kernel_testing/_fake_cupy/serving.py",
    "cunumpy-kernels/src/cunumpy/kernel_testing/_fake_cupy/_names.py",
    # What CuPy takes by default, from the same table.
    "cunumpy-kernels/src/cunumpy/kernel_testing/_fake_cupy/scipy.py",
    # What the user writes in a cell of a notebook, as %timeit does.
    "cunumpy-core/src/cunumpy/_notebook.py",
    "cunumpy-kernels/src/cunumpy/kernel_testing/_fake_cupy/profiler.py",
    # The checks of a kernel's arguments, in half of a loop's time; of the text, numbers alone come from outside.
    "cunumpy-kernels/src/cunumpy/kernels/_cuda_kernel.py",
    # Signatures of what kernels in Python syntax call, which stand in the same file as text.
    "cunumpy-kernels/src/cunumpy/kernels/_rawkernel/primitives.py",
    # mpi4py's API sends Python objects, on this process to itself.
    "cunumpy-mpi/src/cunumpy/mpi/_serial/messages.py",
}
"""The files that may, each with its reason."""


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@pytest.mark.parametrize("path", [*SOURCES, *BUILDS], ids=lambda path: str(path.relative_to(PACKAGES)))
def test_sources_reach_no_network_and_no_shell(path: Path) -> None:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        where = f"line {getattr(node, 'lineno', '?')}: "
        if isinstance(node, ast.Import):
            found += [where + name.name for name in node.names if name.name.partition(".")[0] in NETWORK]
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] in NETWORK:
            found.append(where + str(node.module))
        elif isinstance(node, ast.Call):
            name = _name(node.func)
            if name in SHELL:
                found.append(where + name)
            if name in FROM_TEXT and str(path.relative_to(PACKAGES)) not in ALLOWED_FROM_TEXT:
                found.append(where + name)
            for keyword in node.keywords:
                if keyword.arg == "shell" or (
                    keyword.arg == "allow_pickle" and getattr(keyword.value, "value", None) is True
                ):
                    found.append(f"{where}{name}({keyword.arg}=)")
    assert not found


ACTIVITY = """
import sys
events = []
def hook(event, arguments):
    if event.startswith(("socket.", "urllib.", "ftplib.", "smtplib.", "http.", "webbrowser.")):
        events.append((event, str(arguments)))
    elif event == "os.system" or event.startswith(("os.exec", "os.spawn", "os.posix_spawn")):
        events.append((event, str(arguments)))
    elif event == "subprocess.Popen":
        program, command = arguments[0], arguments[1]
        if str(program or command[0]).rpartition("/")[2] in ("sh", "bash", "dash", "zsh", "cmd", "cmd.exe"):
            events.append((event, str(arguments)))
        commands.append(str(program or command[0]))
    elif event == "open" and isinstance(arguments[0], (str, bytes)):
        path, _, flags = arguments
        path = os.path.abspath(os.fsdecode(path))
        if flags & os.O_CREAT and path.startswith(shared + os.sep):
            # Where others can write, a name that they can guess may lead anywhere.
            private = os.path.dirname(path) != shared and os.stat(os.path.dirname(path)).st_mode & 0o077 == 0
            if not (flags & os.O_EXCL or private):
                events.append((event, path))
            written.append(path)
    elif event == "os.mkdir" and str(arguments[0]).startswith(shared + os.sep):
        folder = os.path.dirname(os.path.abspath(arguments[0]))
        if arguments[1] & 0o077 and (folder == shared or os.stat(folder).st_mode & 0o077):
            events.append((event, str(arguments)))
commands, written = [], []
import os, tempfile
shared = os.path.realpath(tempfile.gettempdir())
sys.addaudithook(hook)

import pkgutil, importlib
import cunumpy as xp
for name in xp.__all__:
    getattr(xp, name)
import cunumpy.mpi, cunumpy.petsc, cunumpy.kernel_testing, cunumpy.kernels.jit
import numpy as np
from cunumpy import kernels

x = np.ones(8)
source = 'extern "C" __global__ void k(int n, double* x) { if (threadIdx.x < n) x[threadIdx.x] += 1; }'
kernel = kernels.CudaKernel(source, "k")
kernels.Kernel(None, kernel)(8, x, n_threads=8)
cunumpy.kernel_testing.emulate_cuda_kernel(kernel, 8, x, n_threads=8)
kernels.ElementwiseKernel("T a", "T b", "b = a")(x)
xp.backend_info()
xp.mpi.get_mpi(False).COMM_WORLD.allreduce(1)
xp.mpi.cuda_aware_report()
xp.petsc.petsc_available()
xp.cupy_available(refresh=True)
xp.rng.PhiloxGenerator(1).normal(size=10)
xp.optimize.newton(lambda a: a * a - 2, x)
xp.scipy.special.erf(x)
import runpy
for arguments in ([], ["cache"], ["cache", "--clear"]):
    sys.argv = ["cunumpy", *arguments]
    try:
        runpy.run_module("cunumpy", run_name="__main__", alter_sys=False)
    except SystemExit as end:
        assert not end.code, end.code
print("EVENTS", events)
print("RAN", len(commands), "WROTE", len(written))
"""


def test_at_run_time_no_socket_no_shell_and_no_guessable_file_is_opened(tmp_path: Path) -> None:
    """Builds are kept among temporary files, in a folder that others can write to."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    folders = {
        "TMPDIR": str(shared),
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "home"),
        "CUNUMPY_EMULATION_CACHE": "",
    }
    done = subprocess.run(
        [sys.executable, "-c", ACTIVITY],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **folders},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "EVENTS []" in done.stdout
    assert "RAN 0" not in done.stdout  # the compilers were seen
    assert "WROTE 0" not in done.stdout
