"""Every name of ``cupy.random``: types and shapes, and numbers that have the distribution's median."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
import pytest
import scipy.stats as stats

from cunumpy.kernel_testing._fake_cupy import _api

# Arguments, and the distribution.
DISTRIBUTIONS: dict[str, tuple[tuple[Any, ...], Any]] = {
    "beta": ((2.0, 3.0), stats.beta(2, 3)),
    "binomial": ((10, 0.3), stats.binom(10, 0.3)),
    "chisquare": ((3.0,), stats.chi2(3)),
    "exponential": ((2.0,), stats.expon(scale=2)),
    "f": ((5.0, 10.0), stats.f(5, 10)),
    "gamma": ((2.0, 1.5), stats.gamma(2, scale=1.5)),
    "geometric": ((0.3,), stats.geom(0.3)),
    "gumbel": ((1.0, 2.0), stats.gumbel_r(1, 2)),
    "hypergeometric": ((10, 20, 12), stats.hypergeom(30, 10, 12)),
    "laplace": ((1.0, 2.0), stats.laplace(1, 2)),
    "logistic": ((1.0, 2.0), stats.logistic(1, 2)),
    "lognormal": ((0.5, 0.25), stats.lognorm(0.25, scale=np.exp(0.5))),
    "logseries": ((0.6,), stats.logser(0.6)),
    "negative_binomial": ((5, 0.5), stats.nbinom(5, 0.5)),
    "noncentral_chisquare": ((3.0, 2.0), stats.ncx2(3, 2)),
    "noncentral_f": ((5.0, 10.0, 2.0), stats.ncf(5, 10, 2)),
    "normal": ((1.0, 2.0), stats.norm(1, 2)),
    "pareto": ((3.0,), stats.lomax(3)),
    "poisson": ((4.0,), stats.poisson(4)),
    "power": ((3.0,), stats.powerlaw(3)),
    "random": ((), stats.uniform()),
    "random_sample": ((), stats.uniform()),
    "ranf": ((), stats.uniform()),
    "rayleigh": ((2.0,), stats.rayleigh(scale=2)),
    "sample": ((), stats.uniform()),
    "standard_cauchy": ((), stats.cauchy()),
    "standard_exponential": ((), stats.expon()),
    "standard_gamma": ((2.0,), stats.gamma(2)),
    "standard_normal": ((), stats.norm()),
    "standard_t": ((4.0,), stats.t(4)),
    "triangular": ((0.0, 1.0, 3.0), stats.triang(1 / 3, scale=3)),
    "uniform": ((1.0, 3.0), stats.uniform(1, 2)),
    "vonmises": ((0.5, 2.0), stats.vonmises(2, loc=0.5)),
    "wald": ((1.0, 2.0), stats.invgauss(0.5, scale=2)),
    "weibull": ((2.0,), stats.weibull_min(2)),
    "zipf": ((3.0,), stats.zipf(3)),
    "randint": ((2, 9), stats.randint(2, 9)),
    "integers": ((2, 9), stats.randint(2, 9)),
    "random_integers": ((2, 8), stats.randint(2, 9)),
}
# Tested below, or in `test_fake_modules.py`.
OTHERS = {
    "bytes", "choice", "default_rng", "dirichlet", "get_random_state", "multinomial", "multivariate_normal",
    "permutation", "rand", "randn", "reset_states", "seed", "set_random_state", "shuffle", "tomaxint",
}  # fmt: skip
SOURCES = {
    "module": (lambda: cupy.random, _api.CUPY_RANDOM["functions"]),
    "RandomState": (lambda: cupy.random.RandomState(3), _api.RANDOM_STATE["methods"]),
    "Generator": (lambda: cupy.random.default_rng(3), _api.GENERATOR["methods"]),
}
NAMES = [(source, name) for source, (_, names) in SOURCES.items() for name in names if name not in OTHERS]
INTEGERS = {
    "binomial", "geometric", "hypergeometric", "logseries", "negative_binomial", "poisson", "zipf", "randint",
    "integers", "random_integers",
}  # fmt: skip


@pytest.mark.parametrize(("source", "name"), NAMES)
def test_distributions(source: str, name: str) -> None:
    cupy.random.seed(3)
    draw = getattr(SOURCES[source][0](), name)
    arguments, distribution = DISTRIBUTIONS[name]
    drawn = draw(*arguments, size=(40, 100))
    assert isinstance(drawn, cupy.ndarray)
    assert drawn.shape == (40, 100)
    assert drawn.dtype == (np.int64 if name in INTEGERS else np.float64)
    values = drawn.get().ravel()
    # How many are at most as large as the median: within five standard deviations.
    median = distribution.median()
    assert np.mean(values <= median) == pytest.approx(distribution.cdf(median), abs=5 * 0.5 / np.sqrt(4000))
    assert draw(*arguments).shape == ()
    if arguments and name != "random_integers":
        arrays = [cupy.full(3, value) for value in arguments]
        assert draw(*arrays).shape == (3,)


@pytest.mark.parametrize("source", SOURCES)
def test_vectors_of_random_numbers(source: str) -> None:
    random = SOURCES[source][0]()
    drawn = random.dirichlet(cupy.array([1.0, 2.0, 3.0]), size=200)
    assert drawn.shape == (200, 3)
    np.testing.assert_allclose(drawn.sum(axis=1).get(), 1)
    if source != "Generator":
        mean, covariance = cupy.array([1.0, -1.0]), cupy.array([[2.0, 0.5], [0.5, 1.0]])
        drawn = random.multivariate_normal(mean, covariance, 4000)
        np.testing.assert_allclose(drawn.mean(axis=0).get(), [1, -1], atol=0.15)
        np.testing.assert_allclose(np.cov(drawn.get().T), covariance.get(), atol=0.25)
        assert random.rand(2, 3).shape == random.randn(2, 3).shape == (2, 3)
        assert sorted(random.permutation(cupy.arange(9)).get().tolist()) == list(range(9))
    if source == "RandomState":
        assert (random.tomaxint(5) >= 0).all()


def test_choices_and_counts() -> None:
    cupy.random.seed(5)
    assert set(cupy.random.choice([3, 7], 50).get().tolist()) == {3, 7}
    weighted = cupy.random.choice(3, 2000, p=cupy.array([0.7, 0.2, 0.1]))
    np.testing.assert_allclose(np.bincount(weighted.get()) / 2000, [0.7, 0.2, 0.1], atol=0.06)
    assert len(set(cupy.random.choice(9, 9, replace=False).get().tolist())) == 9
    counts = cupy.random.multinomial(30, [0.5, 0.25, 0.25], size=20)
    assert counts.shape == (20, 3)
    assert (counts.sum(axis=1) == 30).all()
    assert len(cupy.random.bytes(7)) == 7


def test_states() -> None:
    state = cupy.random.get_random_state()
    try:
        cupy.random.set_random_state(cupy.random.RandomState(1))
        first = cupy.random.rand(3)
        cupy.random.seed(1)
        assert (cupy.random.rand(3) == first).all()
        cupy.random.reset_states()
        assert not (cupy.random.rand(3) == first).all()
        with pytest.raises(TypeError, match="must be an instance of RandomState"):
            cupy.random.set_random_state(np.random.RandomState(1))
    finally:
        cupy.random.set_random_state(state)
    generator = cupy.random.default_rng(2)
    assert cupy.random.default_rng(generator) is generator
    out = cupy.empty(4, np.float32)
    assert generator.random(out=out, dtype=np.float32) is out
    for bits in (cupy.random.XORWOW, cupy.random.MRG32k3a, cupy.random.Philox4x3210):
        assert cupy.random.Generator(bits(3)).random(4).shape == (4,)


def test_every_name_is_here() -> None:
    assert {name for _, names in SOURCES.values() for name in names} - set(DISTRIBUTIONS) == OTHERS
