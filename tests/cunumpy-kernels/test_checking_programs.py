"""Checks of the textbook programs and of all shipped headers: clean as they are; one barrier less is found.

The launches are those of `test_textbook` and `test_headers_on_cpu`, in a process that checks all launches.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent

# Of each program the tests that launch all of its kernels.
PROGRAMS = {
    "bitonic_sort": "test_bitonic_sort",
    "compaction": "test_compaction and 257",
    "convolution": "test_convolution",
    "deposition": "test_deposition",
    "fourier_transform": "test_fourier_transform",
    "groups": "test_groups",
    "histogram": "test_histogram and 257",
    "matrix_product": "test_matrix_product",
    "monte_carlo": "test_monte_carlo",
    "n_body": "test_n_body",
    "pixels": "test_pixels",
    "radix_sort": "test_radix_sort",
    "reduction": "TestReduction and 257",
    "scan": "TestScan and 257",
    "shortest_paths": "test_shortest_paths",
    "sparse_product": "test_sparse_product",
    "stencil": "TestStencil",
    "transpose": "TestTranspose",
    "tridiagonal": "test_tridiagonal_systems",
}
BARRIER = re.compile(r"__syncthreads\(\);")
QUICK = {"radix_sort", "tridiagonal"}  # in each run of the tests; the others take minutes


def long_but_quick(programs: list[str]) -> list[Any]:
    """Return parameters, marked as long but for those of `QUICK`."""
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in programs]


def run_checked(folder: Path, tests: str, which: str = "") -> subprocess.CompletedProcess[str]:
    """Run a file of tests in a process in which all launches are checked."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--tb=short", tests]
    command += ["-n", "0", "--rootdir", str(HERE.parents[1]), "-c", str(HERE.parents[1] / "pyproject.toml")]
    environment = {**os.environ, "CUNUMPY_CPU_CHECK": "1"}
    return subprocess.run(
        [*command, "-k", which] if which else command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_program_is_checked():
    assert sorted(PROGRAMS) == sorted(path.stem for path in (HERE / "textbook").glob("*.cu"))


@pytest.mark.parametrize("program", long_but_quick(list(PROGRAMS)))
def test_textbook_programs_are_clean(program):
    done = run_checked(HERE, "test_textbook.py", PROGRAMS[program])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
def test_the_shipped_headers_are_clean():
    done = run_checked(HERE, "test_headers_on_cpu.py")
    assert done.returncode == 0, done.stdout + done.stderr


def without_barrier(source: str, number: int) -> tuple[str, int, int]:
    """Return a program without one of its barriers, and the first and last line of the function that it was in."""
    match = list(BARRIER.finditer(source))[number]
    ends = [found.end() for found in re.finditer(r"^\}", source, re.MULTILINE)]
    first = max((end for end in ends if end < match.start()), default=0)
    last = min(end for end in ends if end > match.start())
    lines = source.count("\n", 0, first) + 1, source.count("\n", 0, last) + 1
    return source[: match.start()] + ";" + source[match.end() :], *lines


WITH_BARRIERS = [name for name in PROGRAMS if BARRIER.search((HERE / "textbook" / f"{name}.cu").read_text())]


@pytest.mark.parametrize("program", long_but_quick(WITH_BARRIERS))
def test_a_textbook_program_without_one_of_its_barriers_is_found(program, tmp_path):
    source = (HERE / "textbook" / f"{program}.cu").read_text()
    shutil.copy(HERE / "test_textbook.py", tmp_path)
    shutil.copytree(HERE / "textbook", tmp_path / "textbook")
    wrong, first, last = without_barrier(source, 0)
    (tmp_path / "textbook" / f"{program}.cu").write_text(wrong)
    done = run_checked(tmp_path, str(tmp_path / "test_textbook.py"), PROGRAMS[program])
    assert done.returncode == 1, done.stdout + done.stderr
    # Where the next thread would read what this one has not written yet, that is told, too.
    faults = [line for line in done.stdout.splitlines() if re.search("race: |memory that nobody has written: ", line)]
    assert faults, done.stdout
    for line in faults:
        places = [int(number) for number in re.findall(rf"{program}\.cu:(\d+)", line)]
        assert len(places) == line.count("race: ") + 1, line
        assert all(first <= place <= last for place in places), line
