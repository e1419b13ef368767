"""Accuracy of what computes with floating point, against arithmetic of 40 digits or exact fractions, with bounds.

The bounds are those of the documentation: functions of one number in units in the last place (ulp), sums relative to
the sum of magnitudes.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import philox_reference
from cunumpy import algorithms, integrate, kernels, optimize, rng

mpmath.mp.dps = 40

EDGES = [0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 1e-300, 1e300, 1.7e308, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5]


@pytest.fixture(autouse=True)
def _builds_of_this_run(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUNUMPY_EMULATION_CACHE", str(tmp_path_factory.getbasetemp() / "builds"))


def ulps(found: Any, exact: Any) -> float:
    """Give the error of a number in units in the last place of the exact one."""
    found = np.asarray(found)[()]
    if np.isnan(found) or not mpmath.isfinite(exact):
        return 0.0 if (np.isnan(found) and mpmath.isnan(exact)) or found == float(exact) else np.inf
    with np.errstate(over="ignore"):
        unit = float(np.spacing(np.abs(found.dtype.type(float(exact)))))
    if not np.isfinite(unit) or not np.isfinite(found):  # at the end of the range
        return 0.0 if float(found) == float(exact) else np.inf
    return float(abs(mpmath.mpf(float(found)) - exact) / unit)


# --- random numbers ---------------------------------------------------------------------------------------------------


def _box_muller(seed: int, stream: int, counter: int) -> tuple[Any, Any]:
    first, second = philox_reference.bits64(seed, stream, counter)
    u, v = mpmath.mpf(first >> 11) / 2**53, mpmath.mpf(second >> 11) / 2**53
    radius = mpmath.sqrt(-2 * mpmath.log(1 - u))
    return radius * mpmath.cos(2 * mpmath.pi * v), radius * mpmath.sin(2 * mpmath.pi * v)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 50))
@settings(max_examples=20)
def test_normal_numbers(seed: int, stream: int, counter: int) -> None:
    counters = np.arange(40, dtype=np.uint64) + np.uint64(counter)
    pair = rng.philox_normal2(seed, stream, counters)
    for i, one in enumerate(counters):
        exact = _box_muller(seed, stream, int(one))
        radius = mpmath.sqrt(exact[0] ** 2 + exact[1] ** 2)
        for found, value in zip(pair, exact, strict=True):
            assert abs(mpmath.mpf(float(found[i])) - value) <= 1e-15 * radius  # the angle has 53 bits


def test_exponential_numbers() -> None:
    found = rng.PhiloxGenerator(7, 2).standard_exponential(400)
    for i in range(200):
        for value, bits in zip(found[2 * i : 2 * i + 2], philox_reference.bits64(7, 2, i), strict=True):
            u = mpmath.mpf(bits >> 11) / 2**53
            assert ulps(value, -mpmath.log(1 - u)) <= 2


# --- sums -------------------------------------------------------------------------------------------------------------

FLOATS = st.floats(-(2.0**100), 2.0**100, width=32)


@given(st.lists(st.tuples(st.integers(0, 4), FLOATS), max_size=60), st.sampled_from(["f4", "f8", "c8", "c16"]))
def test_sums_and_means_of_segments(rows: list[tuple[int, float]], dtype: str) -> None:
    keys = np.array([key for key, _ in rows], int)
    values = np.array([value for _, value in rows], dtype)
    if values.dtype.kind == "c":
        values = (values + 1j * values[::-1]).astype(dtype)
    sums, means = algorithms.segment_sum(values, keys, 5), algorithms.segment_mean(values, keys, 5)
    unit = np.finfo(values.dtype).eps
    for key in range(5):
        mine = values[keys == key]
        for part in (np.real, np.imag):
            exact = sum((Fraction(float(x)) for x in part(mine)), Fraction())
            size = sum((abs(Fraction(float(x))) for x in part(mine)), Fraction())
            bound = Fraction(float(unit)) * len(mine) * size
            assert abs(Fraction(float(part(sums[key]))) - exact) <= bound
            if len(mine):
                assert abs(Fraction(float(part(means[key]))) * len(mine) - exact) <= 2 * bound


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_of_reductions(dtype: str) -> None:
    total = kernels.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    values = (np.random.default_rng(1).standard_normal(100_001) * 10.0 ** np.arange(100_001 % 7)[:1]).astype(dtype)
    values[::3] *= 1e6
    exact = sum((Fraction(float(x)) for x in values), Fraction())
    size = sum((abs(Fraction(float(x))) for x in values), Fraction())
    error = abs(Fraction(float(total(values))) - exact)
    assert error <= Fraction(float(np.finfo(dtype).eps)) * 40 * size  # pairwise: some twenty levels, and its blocks


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u4", "i8", "u8"])
def test_sums_of_integers_are_exact(dtype: str) -> None:
    info = np.iinfo(dtype)
    values = np.array([info.max, info.min, info.max // 2, 1, 0], dtype)
    wide = np.uint64 if dtype[0] == "u" else np.int64
    if dtype in ("i8", "u8"):
        values = values // 4
    assert algorithms.segment_sum(values, np.zeros(5, int), 1)[0] == sum(map(int, values))
    assert algorithms.segment_sum(values, np.zeros(5, int), 1).dtype == wide


# --- functions in kernels ---------------------------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": mpmath.exp,
    "log": mpmath.log,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "sqrt": mpmath.sqrt,
    "tanh": mpmath.tanh,
    "cbrt": mpmath.cbrt,
    "erf": mpmath.erf,
    "expm1": mpmath.expm1,
    "log1p": mpmath.log1p,
}


@pytest.fixture(scope="module")
def all_functions() -> Any:
    body = " ".join(f"y{i} = {name}(x);" for i, name in enumerate(FUNCTIONS))
    outputs = ", ".join(f"T y{i}" for i in range(len(FUNCTIONS)))
    return kernels.ElementwiseKernel("T x", outputs, body, "functions")


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_functions_in_kernels(all_functions: Any, dtype: str) -> None:
    generator = np.random.default_rng(3)
    x = np.concatenate([generator.uniform(-20, 20, 300), generator.standard_normal(200) * 1e-3, np.array(EDGES)])
    with np.errstate(over="ignore"):
        x = x.astype(dtype)
    results = all_functions(x)
    for (name, function), found in zip(FUNCTIONS.items(), results, strict=True):
        for value, result in zip(x, found, strict=True):
            exact = _exact(name, function, float(value))
            assert ulps(result, exact) <= 4, f"{name}({value!r}) gave {result!r}, expected {exact}"


def _exact(name: str, function: Callable[[Any], Any], value: float) -> Any:
    nothing = mpmath.nan
    if np.isnan(value):
        return nothing
    if np.isinf(value) and name in ("sin", "cos"):
        return nothing
    if name in ("log", "sqrt") and value < 0:
        return nothing
    if name == "log1p" and value < -1:
        return nothing
    if (name == "log" and value == 0) or (name == "log1p" and value == -1):
        return -mpmath.inf
    if name == "cbrt" and value < 0:
        return -mpmath.cbrt(-mpmath.mpf(value))
    if np.isinf(value) and name in ("tanh", "erf"):
        return mpmath.mpf(np.sign(value))
    if value == -np.inf:
        return {"exp": mpmath.mpf(0), "expm1": mpmath.mpf(-1)}[name]
    if value > 1e4 and name in ("exp", "expm1"):
        return mpmath.inf
    return function(mpmath.mpf(value))


COMPLEX: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(mpmath, name) for name in ("exp", "log", "sin", "cos", "tan", "sqrt", "sinh", "cosh", "tanh")},
    **{name: getattr(mpmath, name) for name in ("asin", "acos", "atan")},
}


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_functions_in_kernels(dtype: str) -> None:
    """Relative to the magnitude, as a part near zero has no digits of its own."""
    body = " ".join(f"y{i} = {name}(x);" for i, name in enumerate(COMPLEX)) + " p = pow(x, T(1.5, 0.5));"
    outputs = ", ".join(f"T y{i}" for i in range(len(COMPLEX))) + ", T p"
    generator = np.random.default_rng(4)
    x = generator.uniform(-5, 5, 80) + 1j * generator.uniform(-5, 5, 80)
    x = np.concatenate([x, 1e-3 * x[:20]]).astype(dtype)
    *results, powers = kernels.ElementwiseKernel("T x", outputs, body, "complex_functions")(x)
    unit = float(np.finfo(dtype).eps)
    powered = ("pow", lambda z: z ** mpmath.mpc(1.5, 0.5), powers, 16)
    for name, function, found, bound in [
        *((name, COMPLEX[name], found, 4) for name, found in zip(COMPLEX, results, strict=True)),
        powered,
    ]:
        for value, result in zip(x, found, strict=True):
            exact = function(mpmath.mpc(complex(value)))
            assert abs(mpmath.mpc(complex(result)) - exact) <= bound * unit * abs(exact), f"{name}({value!r})"


FUSED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    **{name: (getattr(np, name), getattr(mpmath, name)) for name in ("exp", "log", "sin", "cos", "tanh", "expm1")},
    **{name: (getattr(np, name), getattr(mpmath, name)) for name in ("log1p", "sinh", "cosh", "log10")},
    "arctan": (np.arctan, mpmath.atan),
    "arcsinh": (np.arcsinh, mpmath.asinh),
    "exp2": (np.exp2, lambda x: mpmath.power(2, x)),
    "log2": (np.log2, lambda x: mpmath.log(x, 2)),
    "cbrt": (np.cbrt, mpmath.cbrt),
    "power of 17/8": (lambda x: x**2.125, lambda x: mpmath.power(x, 2.125)),  # in float32, too
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_functions_that_are_fused(dtype: str) -> None:
    """Long arrays are computed by the vector library; every 400th element is looked at."""
    generator = np.random.default_rng(5)
    x = np.concatenate([generator.uniform(1e-3, 20, 50_000), 10.0 ** generator.uniform(-6, 0, 50_000)]).astype(dtype)
    for name, (function, exact) in FUSED.items():
        fused = kernels.fuse(lambda x, function=function: function(x) * 1 + 0)
        found = fused(x)
        assert found.dtype == x.dtype
        for value, result in zip(x[::400], found[::400], strict=True):
            assert ulps(result, exact(mpmath.mpf(float(value)))) <= 4, f"{name}({value!r})"


def test_denormal_numbers_are_numbers(all_functions: Any) -> None:
    small = np.array([5e-324, 1e-310, -3e-320])
    half = kernels.ElementwiseKernel("T x", "T y", "y = x * 2", "twice")
    assert half(small).tolist() == [1e-323, 2e-310, -6e-320]
    all_functions(np.ones(3))  # no library that was loaded switches them off in the process
    assert (small * 2).tolist() == [1e-323, 2e-310, -6e-320]
    assert algorithms.segment_sum(small, np.zeros(3, int), 1)[0] == small.sum() != 0
    ordered, order = algorithms.sort_by_key(small)[:2]
    assert ordered.tolist() == [-3e-320, 5e-324, 1e-310]
    assert order.tolist() == [2, 0, 1]


@given(st.lists(st.sampled_from(EDGES), min_size=1, max_size=20))
def test_infinities_and_nan_in_segments(values: list[float]) -> None:
    x = np.array(values) / 32  # so that finite ones do not add up to infinity
    keys = np.zeros(len(x), int)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(algorithms.segment_min(x, keys, 1), [x.min()])
        np.testing.assert_array_equal(algorithms.segment_max(x, keys, 1), [x.max()])
        found = algorithms.segment_sum(x, keys, 1)[0]
    infinite = x[~np.isfinite(x)]
    if len(infinite):
        np.testing.assert_equal(found, infinite.sum() if len(set(infinite.tolist())) == 1 else np.nan)


# --- solvers ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20))
@settings(max_examples=25)
def test_roots(a: list[float]) -> None:
    values = np.array(a)
    found = optimize.newton(lambda x, v: x**3 - v, np.cbrt(values) * 1.3, lambda x, v: 3 * x * x, args=(values,))
    bracketed = optimize.find_root(lambda x, v: x**3 - v, (0 * values, values + 1), args=(values,)).x
    for value, root, other in zip(a, found, bracketed, strict=True):
        exact = mpmath.cbrt(mpmath.mpf(value))
        assert abs(mpmath.mpf(float(root)) - exact) <= 1.48e-8  # the tolerance of a step
        assert ulps(other, exact) <= 8


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_rules_integrate_polynomials(n: int) -> None:
    degree = 2 * n - 1
    a, b = np.array([-1.5, 0.0, 2.0]), np.array([2.5, 1.0, 2.25])
    found = integrate.fixed_quad(lambda x: x**degree, a, b, n=n)
    for low, high, result in zip(a, b, found, strict=True):
        exact = (mpmath.mpf(high) ** (degree + 1) - mpmath.mpf(low) ** (degree + 1)) / (degree + 1)
        size = max(abs(low), abs(high)) ** degree * (high - low)
        assert abs(mpmath.mpf(float(result)) - exact) <= 40 * np.finfo(float).eps * size


@pytest.mark.parametrize(
    ("function", "exact"),
    [
        (lambda x, w: np.cos(w * x), lambda w: mpmath.sin(mpmath.mpf(w)) / w),
        (lambda x, w: np.exp(-w * x), lambda w: (1 - mpmath.exp(-mpmath.mpf(w))) / w),
        (lambda x, w: 1 / (1 + (w * x) ** 2), lambda w: mpmath.atan(mpmath.mpf(w)) / w),
        (lambda x, w: np.sqrt(w * x), lambda w: 2 * mpmath.sqrt(mpmath.mpf(w)) / 3),
    ],
)
def test_the_error_of_an_integral_is_below_its_estimate(function: Any, exact: Any) -> None:
    w = np.array([0.5, 3.0, 17.0, 60.0])
    found = integrate.quad_batched(function, 0.0, 1.0, args=(w,), epsabs=1e-9, epsrel=1e-9)
    for value, result, error in zip(w, found.integral, found.error, strict=True):
        true = abs(mpmath.mpf(float(result)) - exact(float(value)))
        assert true <= error + 1e-15
        assert error <= 1e-9 * max(1.0, abs(result)) * 1.0001


def test_the_order_of_rk4() -> None:
    errors = []
    for steps in (20, 40, 80):
        y = integrate.rk4(lambda t, y: np.cos(t) * y, (0.0, 3.0), np.ones(1), steps).y
        errors.append(abs(mpmath.mpf(float(y.reshape(-1)[-1])) - mpmath.exp(mpmath.sin(mpmath.mpf(3)))))
    assert 12 < errors[0] / errors[1] < 20
    assert 12 < errors[1] / errors[2] < 20
