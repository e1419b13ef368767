"""docs/examples/landau_damping.py on the CuPy backend: the same plasma, and no transfer in its loop."""

import landau_damping as landau
import numpy as np
import pytest

import cunumpy as xp


@pytest.mark.usefixtures("raw_modules")
@pytest.mark.parametrize("loading", ["quiet", "random"])
def test_the_plasma_is_the_same_on_both_backends(loading):
    setup = landau.Setup(markers=5000, steps=30, cells=32, loading=loading, sort_every=10)
    with xp.use_backend("numpy"):
        expected = landau.simulate(setup)
    with xp.use_backend("cupy", strict=True):
        history = landau.simulate(setup)
    np.testing.assert_allclose(history.sine, expected.sine, atol=1e-9 * np.abs(expected.sine).max())
    np.testing.assert_allclose(history.energy, expected.energy, rtol=1e-7)
    assert history.transfers == 0
