"""docs/examples/landau_damping.py on the device: each CUDA kernel beside its host version, and the program."""

import landau_damping as landau
import numpy as np
import pytest

import cunumpy as xp


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", sorted(landau.KERNELS))
def test_cuda_kernel_agrees_with_the_host_version(name, seed):
    kernel = landau.KERNELS[name]
    settings = kernel.test_args
    given = settings.make_args("cupy", seed)
    device = settings.make_args("cupy", seed)
    kernel(*device)
    with xp.use_backend("numpy"):
        host = settings.make_args("numpy", seed)
        kernel(*host)
    for parameter, before, found, expected in zip(kernel.host_parameters(), given, device, host, strict=True):
        assert xp.is_gpu(found)
        np.testing.assert_allclose(xp.to_numpy(found), expected, rtol=settings.RTOL, atol=1e-15)
        assert bool((found == before).all()) == (parameter not in settings.OUTPUTS)


def test_launch_smaller_than_the_number_of_markers():
    for name in landau.KERNELS:
        kernel = landau.KERNELS[name]
        whole, few = (kernel.test_args.make_args("cupy", 2) for _ in range(2))
        kernel(*whole)
        kernel(*few, grid=2, block=32)
        for one, other in zip(whole, few, strict=True):
            np.testing.assert_allclose(xp.to_numpy(one), xp.to_numpy(other), rtol=1e-12)
