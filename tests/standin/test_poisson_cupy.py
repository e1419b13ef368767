"""docs/examples/poisson.py on device arrays: the same errors and iterations as on the host, and the host out of it.

PETSc is a fake with conjugate gradients in Python, and MPI the serial stand-in: neither has a GPU here.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path

import pytest

import cunumpy as xp
import fake_petsc4py

FILE = Path(__file__).parents[2] / "docs/examples/poisson.py"


@pytest.fixture
def poisson(monkeypatch):
    fake_petsc4py.install(monkeypatch)
    monkeypatch.setattr("cunumpy.petsc._vectors.call_c", lambda *arguments, function: None)  # locks of vectors
    mpi4py = types.ModuleType("mpi4py")
    mpi4py.MPI = xp.mpi.get_mpi(False)
    monkeypatch.setitem(sys.modules, "mpi4py", mpi4py)
    spec = importlib.util.spec_from_file_location("poisson", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows_of(text: str) -> list[list[str]]:
    """Return cells, unknowns, iterations and error of each grid."""
    rows = [line.split() for line in text.splitlines()]
    return [[*row[:3], row[4]] for row in rows if len(row) > 4 and row[0].isdigit()]


def test_the_example_on_both_backends(poisson, capsys) -> None:
    arguments, found = ["--cells", "8", "--grids", "2"], {}
    for backend in ("numpy", "cupy"):
        with xp.use_backend(backend, strict=True), xp.profiling.count_transfers() as counter:
            assert poisson.main(arguments) == 0
        printed = capsys.readouterr().out
        assert f"processes     1, jacobi, {backend}" in printed
        assert "as it should be" in printed
        found[backend] = rows_of(printed)
    assert len(found["numpy"]) == 2
    assert found["cupy"] == found["numpy"]
    lines = FILE.read_text().splitlines()
    copies = [event for event in counter.events if event.kind in ("to_host", "to_device")]
    for event in copies:  # what MPI does with device memory is tried once
        assert "mpi_is_cuda_aware" in lines[int(event.where.rpartition(":")[2]) - 1]
    implicit = {event.nbytes for event in counter.events if event.implicit}
    assert implicit == {8}  # the errors, and the numbers of the solver


def test_the_picture_comes_from_the_device(poisson, tmp_path) -> None:
    with xp.use_backend("cupy", strict=True):
        assert poisson.main(["--cells", "4", "--grids", "2", "--picture", str(tmp_path / "u.png")]) in (0, 1)
    assert (tmp_path / "u.png").read_bytes().startswith(b"\x89PNG")
