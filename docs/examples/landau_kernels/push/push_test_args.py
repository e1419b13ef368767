"""Arguments to compare the versions of `push` with."""

import numpy as np

import cunumpy as xp

RTOL = 1e-12
OUTPUTS = ("positions", "velocities")


def make_args(backend, seed):
    """Give markers everywhere, at both ends of the box, and on grid points; some leave the box, to either side."""
    rng = np.random.default_rng(seed)
    positions = np.concatenate([rng.random(1000), [0.0, 1.0], np.arange(16) / 16])
    velocities = rng.normal(scale=0.3, size=positions.size)
    return xp.asarray(positions), xp.asarray(velocities), xp.asarray(rng.normal(scale=0.1, size=16))
