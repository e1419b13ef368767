"""The same programs on all ranks together, and on one alone: the results are equal to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

import mpi_programs
from mpi_under_test import MPI

WORLD = MPI.COMM_WORLD


@pytest.mark.parametrize("way", mpi_programs.WAYS)
def test_diffusion(way):
    expected = mpi_programs.diffusion(MPI.COMM_SELF, MPI, "exchange")
    np.testing.assert_array_equal(mpi_programs.diffusion(WORLD, MPI, way), expected)
    assert 0 < np.ptp(expected) < 0.5  # it has become smoother


def test_flight_of_particles():
    ids, places, numbers = mpi_programs.flight(WORLD)
    expected = mpi_programs.flight(MPI.COMM_SELF)
    np.testing.assert_array_equal(ids, expected[0])
    np.testing.assert_array_equal(places, expected[1])
    assert numbers == expected[2]
    assert 0 < numbers[-1] < numbers[0]  # some have left


DTYPES = ["f8", "f8", "f4", "i4", "c16", "u1", "f2", ">f8"]


@pytest.mark.parametrize("way", ["exchange", "checked", "persistent"])
def test_messages_of_every_kind(way):
    for seed in range(12):
        messages = mpi_programs.messages_among(WORLD.size, seed, DTYPES)
        mpi_programs.check_messages(WORLD, MPI, messages, way, lambda array, number: array)
