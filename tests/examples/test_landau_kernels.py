"""The kernels of docs/examples/landau_kernels: each version against what it means, and the program with each."""

import importlib.util

import landau_damping as landau
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from landau_damping import KERNELS

import cunumpy as xp

# The tests of the Pyccel group of .ci/run have Pyccel.
VERSIONS = ["python", "numpy", *(["pyccel"] if importlib.util.find_spec("pyccel") else [])]


@pytest.fixture(params=VERSIONS, scope="module", autouse=True)
def version(request):
    with xp.kernels.use_host_kernel_implementation(request.param):
        yield request.param


def density_of(positions, cells):
    """Each marker is a triangle, two cells wide, with the height 1: a table of all markers and grid points."""
    distance = positions[:, None] * cells - np.arange(cells)
    distance = np.abs((distance + cells / 2) % cells - cells / 2)
    return np.maximum(0, 1 - distance).sum(axis=0)


def kick_at(positions, kick):
    return np.interp(positions, np.arange(kick.size) / kick.size, kick, period=1)


# What Pyccel compiles refuses empty arrays.
positions_in_the_box = st.lists(st.floats(0, 1), min_size=1, max_size=30).map(np.array)


def test_version_that_runs_is_the_one_that_was_asked_for(version):
    assert sorted(KERNELS) == ["deposit", "push"]
    for kernel in KERNELS.values():
        assert kernel.selected() == version


@given(positions_in_the_box, st.integers(8, 40))
def test_deposit_adds_a_triangle_for_each_marker(positions, cells):
    density = np.arange(float(cells))
    KERNELS["deposit"](positions, density)
    np.testing.assert_allclose(density, np.arange(cells) + density_of(positions, cells), atol=1e-12)


def test_marker_is_shared_by_the_grid_points_beside_it():
    assert landau.deposit(np.array([2.25 / 8]), 8).tolist() == [0, 0, 6, 2, 0, 0, 0, 0]
    assert landau.deposit(np.array([7.75 / 8]), 8).tolist() == [6, 0, 0, 0, 0, 0, 0, 2]


def test_push_moves_by_the_new_velocities_and_keeps_the_markers_in_the_box():
    positions, velocities = np.array([0.125, 0.9375, 0.5]), np.array([-0.375, 0.25, 0.25])
    kick = np.array([0.0, 0.0625, 0.0, 0.0, 0.25, 0.0, 0.0, 0.25])
    KERNELS["push"](positions, velocities, kick)
    assert velocities.tolist() == [-0.3125, 0.375, 0.5]
    assert positions.tolist() == [0.8125, 0.3125, 0.0]
    assert kick.tolist() == [0.0, 0.0625, 0.0, 0.0, 0.25, 0.0, 0.0, 0.25]


@given(positions_in_the_box, st.integers(8, 40), st.integers(0, 2**32))
def test_push_takes_the_kick_at_the_place_of_the_marker(positions, cells, seed):
    rng = np.random.default_rng(seed)
    velocities, kick = rng.normal(size=positions.size), rng.normal(size=cells)
    expected = velocities + kick_at(positions, kick)
    moved = positions + expected
    KERNELS["push"](positions, velocities, kick)
    np.testing.assert_allclose(velocities, expected, atol=1e-12)
    assert ((positions >= 0) & (positions <= 1)).all()
    # Equal on the circle: a marker at the end of the box may be seen at either.
    np.testing.assert_allclose(np.exp(2j * np.pi * positions), np.exp(2j * np.pi * moved), atol=1e-11)


def test_marker_at_the_upper_end_belongs_to_the_first_grid_point():
    positions, velocities = np.array([0.0]), np.array([-1e-30])
    KERNELS["push"](positions, velocities, np.zeros(8))
    assert positions[0] == 1.0  # rounded up to the end
    assert landau.deposit(positions, 8).tolist() == [8, 0, 0, 0, 0, 0, 0, 0]
    KERNELS["push"](positions, velocities, np.arange(8.0))
    assert velocities[0] == -1e-30


def test_numbers_of_markers_around_a_block_of_the_numpy_version(version):
    sizes = [3000] if version == "python" else [131_071, 131_072, 131_073, 300_000]
    rng = np.random.default_rng(4)
    for size in sizes:
        positions, velocities, kick = rng.random(size), rng.normal(size=size), rng.normal(size=8)
        np.testing.assert_allclose(landau.deposit(positions, 8) * size / 8, density_of(positions, 8), rtol=1e-11)
        expected = velocities + kick_at(positions, kick)
        KERNELS["push"](positions, velocities, kick)
        np.testing.assert_allclose(velocities, expected, atol=1e-13)


@pytest.mark.parametrize("name", sorted(KERNELS))
@pytest.mark.parametrize("seed", [0, 1])
def test_versions_agree_on_the_test_arguments(name, seed, version):
    kernel = KERNELS[name]
    settings = kernel.test_args
    results = {}
    for one in ("python", version):
        args = settings.make_args("numpy", seed)
        with xp.kernels.use_host_kernel_implementation(one):
            kernel(*args)
        results[one] = dict(zip(kernel.host_parameters(), args, strict=True))
    given_args = dict(zip(kernel.host_parameters(), settings.make_args("numpy", seed), strict=True))
    for parameter, expected in results["python"].items():
        np.testing.assert_allclose(results[version][parameter], expected, rtol=settings.RTOL)
        assert np.array_equal(expected, given_args[parameter]) == (parameter not in settings.OUTPUTS)


def test_plasma_is_the_same_with_each_version(version):
    setup = landau.Setup(markers=2000, steps=20, cells=16, sort_every=7)
    history = landau.simulate(setup)
    with xp.kernels.use_host_kernel_implementation("numpy"):
        expected = landau.simulate(setup)
    np.testing.assert_allclose(history.sine, expected.sine, atol=1e-10 * np.abs(expected.sine).max())
    np.testing.assert_allclose(history.energy, expected.energy, rtol=1e-9)
