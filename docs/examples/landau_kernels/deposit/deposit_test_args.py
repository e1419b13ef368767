"""Arguments to compare the versions of `deposit` with."""

import numpy as np

import cunumpy as xp

RTOL = 1e-12
OUTPUTS = ("density",)


def make_args(backend, seed):
    """Give markers everywhere, at both ends of the box, and on grid points, and a density to add to."""
    rng = np.random.default_rng(seed)
    positions = np.concatenate([rng.random(1000), [0.0, 1.0], np.arange(16) / 16])
    return xp.asarray(positions), xp.asarray(rng.random(16))
