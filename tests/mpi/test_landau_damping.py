"""docs/examples/landau_damping.py on any number of ranks, against one."""

from __future__ import annotations

import re

import landau_damping as landau
import numpy as np
import pytest

import cunumpy as xp
from mpi_under_test import MPI

WORLD = MPI.COMM_WORLD


@pytest.fixture(autouse=True)
def numpy_kernels():
    with xp.kernels.use_host_kernel_implementation("numpy"):
        yield


@pytest.mark.parametrize("loading", ["quiet", "random"])
def test_the_plasma_is_the_same_on_any_number_of_ranks(loading):
    setup = landau.Setup(markers=5003, steps=40, cells=32, loading=loading, sort_every=10)
    expected = landau.simulate(setup)
    history = landau.simulate(setup, None, WORLD)
    np.testing.assert_allclose(history.energy, expected.energy, rtol=1e-9)
    np.testing.assert_allclose(history.sine, expected.sine, atol=1e-11 * np.abs(expected.sine).max())
    assert WORLD.bcast(history.energy.tolist()) == history.energy.tolist()


def test_ranks_without_markers_take_part():
    setup = landau.Setup(markers=1, steps=3, cells=8, sort_every=1)
    history = landau.simulate(setup, None, WORLD)
    np.testing.assert_allclose(history.energy, landau.simulate(setup).energy, rtol=1e-12)


def test_the_program_prints_once(capsys, tmp_path):
    plot = tmp_path / "a.svg"
    options = ["--markers", "50e3", "--steps", "120", "--cells", "64", "--kernels", "numpy", "--plot", str(plot)]
    assert landau.main(options) == 0
    output = capsys.readouterr()
    assert output.err == ""
    if WORLD.rank == 0:
        assert re.search(r"kernels by numpy(, (\d+) ranks)?$", output.out, re.MULTILINE)[2] == (
            None if WORLD.size == 1 else str(WORLD.size)
        )
        assert re.search(r"(?m)^damping rate +-0\.1", output.out)
    else:
        assert output.out == ""
    assert plot.exists() == (WORLD.rank == 0)
