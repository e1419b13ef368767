"""Reference, section 3: the array and its creation."""

import cupy as cp
import numpy as np
import pytest


def test_attributes():
    a = cp.zeros((2, 3), dtype=cp.float32)
    assert (a.shape, a.dtype, a.ndim, a.size, a.strides) == ((2, 3), np.float32, 2, 6, (12, 4))
    assert a.T.shape == (3, 2)
    assert a.T.base is a
    assert a.device == cp.cuda.Device(0)


@pytest.mark.parametrize(
    "made",
    [
        lambda xp: xp.zeros((1000,), dtype=xp.float64),
        lambda xp: xp.ones((512, 512), dtype=xp.float32),
        lambda xp: xp.full((100,), fill_value=3.14, dtype=xp.float32),
        lambda xp: xp.arange(0, 100, 0.1),
        lambda xp: xp.linspace(0, 1, 1000),
        lambda xp: xp.eye(100),
    ],
    ids=["zeros", "ones", "full", "arange", "linspace", "eye"],
)
def test_creation(made):
    on_device, on_host = made(cp), made(np)
    assert isinstance(on_device, cp.ndarray)
    assert on_device.dtype == on_host.dtype
    np.testing.assert_array_equal(on_device.get(), on_host)


def test_creation_without_values():
    assert cp.empty((1000, 1000), dtype=cp.float32).nbytes == 4_000_000


def test_random_numbers():
    for draw, dtype in ((cp.random.rand, float), (cp.random.randn, float)):
        a = draw(1000, 10)
        assert a.shape == (1000, 10)
        assert a.dtype == dtype
        assert draw(5, dtype=cp.float32).dtype == np.float32
    uniform, normal = cp.random.rand(100_000), cp.random.randn(100_000)
    assert 0 <= float(uniform.min()) <= float(uniform.max()) < 1
    assert abs(float(uniform.mean()) - 0.5) < 0.01
    assert abs(float(normal.mean())) < 0.02
    assert abs(float(normal.std()) - 1) < 0.02


def test_generator():
    one, other = cp.random.default_rng(42), cp.random.default_rng(42)
    np.testing.assert_array_equal(one.standard_normal(1000).get(), other.standard_normal(1000).get())
    assert one.random(10, dtype=cp.float32).dtype == np.float32
    # The text's `default_rng(42).normal(0, 1, 1000)` is no name of CuPy's.
    with pytest.raises(AttributeError, match="normal"):
        _ = one.normal
    scaled = 2 + 3 * cp.random.default_rng(42).standard_normal(100_000)
    assert abs(float(scaled.mean()) - 2) < 0.05
