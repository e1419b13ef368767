"""The examples of docs/petsc.md and of the docstrings, with a real PETSc, and what the example program promises.

Collected where petsc4py is installed only (`conftest.py`).
"""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import pytest
from mpi4py import MPI

import cunumpy as xp
from examples_in_text import assert_runs_and_prints_what_it_says, code_blocks

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "docs/petsc.md", ROOT / "packages/cunumpy-petsc/README.md")
BLOCKS = [block for page in PAGES for block in code_blocks(page.read_text(encoding="utf-8"))]
alone = pytest.mark.skipif(MPI.COMM_WORLD.size > 1, reason="examples are for one rank")


def test_every_block_is_found() -> None:
    assert len(BLOCKS) >= 7


@alone
@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_code_block_runs_and_prints_what_it_says(block: str, tmp_path: Path) -> None:
    assert_runs_and_prints_what_it_says(block, tmp_path)


@alone
@pytest.mark.parametrize("name", xp.petsc.__all__)
def test_example_of_the_docstring_runs(name: str) -> None:
    tests = [test for test in doctest.DocTestFinder().find(getattr(xp.petsc, name), name, globs={}) if test.examples]
    assert tests
    out: list[str] = []
    runner = doctest.DocTestRunner()
    for test in tests:
        runner.run(test, out=out.append)
    assert runner.failures == 0, "".join(out)


@alone
@pytest.mark.parametrize("preconditioner", ["jacobi", "multigrid"])
def test_the_example_checks_the_order_and_draws(preconditioner: str, tmp_path: Path) -> None:
    picture = tmp_path / "poisson.png"
    program = [sys.executable, "-W", "error", str(ROOT / "docs/examples/poisson.py"), "--cells", "8"]
    done = subprocess.run(
        [*program, "--preconditioner", preconditioner, "--picture", str(picture), "-poisson_ksp_monitor"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "order         1.98" in done.stdout
    assert "0 KSP Residual norm" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
