"""`cunumpy.optimize.newton` on the host: roots, orders of convergence, failures, arguments."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

import cunumpy as xp
from array_kinds import KINDS
from cunumpy.errors import ArgumentError, ArgumentTypeError, ConvergenceWarning
from cunumpy.optimize import NewtonResult, newton


def counted(function):
    calls = []

    def inner(x, *args):
        calls.append(np.array(x))
        return function(x, *args)

    inner.calls = calls
    return inner


def square(x):
    return x * x - 2.0


def slope(x):
    return 2.0 * x


# --- roots ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fprime", [None, lambda x: 3.0 * x * x], ids=["secant", "newton"])
def test_roots_of_many_points_are_those_of_scipy(fprime):
    rng = np.random.default_rng(1)
    a, start = 1.0 + 50.0 * rng.random((30, 700)), 1.0 + rng.random((30, 700))
    roots = newton(lambda x: x * x * x - a, start, fprime)
    expected = scipy.optimize.newton(lambda x: x * x * x - a, start, fprime)
    np.testing.assert_allclose(roots, expected, rtol=1e-14 if fprime else 1e-11)
    np.testing.assert_allclose(roots, np.cbrt(a), rtol=1e-14 if fprime else 1e-10)


@given(st.floats(0.1, 10.0), st.floats(0.5, 3.0), st.sampled_from([1e-6, 1e-10, 1e-12]))
def test_a_single_point_goes_scipys_way(a, start, tol):
    for fprime in (None, lambda x: 2.0 * x):
        ours = newton(lambda x: x * x - a, start * a**0.5, fprime, tol=tol, full_output=True)
        twice = np.full(2, start * a**0.5)  # SciPy's version for arrays is not the one for a single number
        root, info = scipy.optimize.newton(lambda x: x * x - a, twice, fprime, tol=tol, full_output=True)[:2]
        assert ours.root.shape == ()
        assert bool(ours.converged)
        assert bool(info[0])
        assert ours.root == pytest.approx(root[0], rel=1e-14)


@pytest.mark.parametrize(("fprime", "evaluations"), [(slope, 5), (None, 7)])
def test_evaluations_are_those_of_scipy(fprime, evaluations):
    ours, theirs = counted(square), counted(square)
    result = newton(ours, [1.0, 1.0], fprime, full_output=True)
    scipy.optimize.newton(theirs, np.ones(2), fprime)
    assert len(ours.calls) == len(theirs.calls) == evaluations == result.nfev
    np.testing.assert_array_equal(np.ravel(ours.calls), np.ravel(theirs.calls))


def test_known_values():
    assert newton(lambda x: x**3 - 2.0 * x - 5.0, 2.0) == pytest.approx(2.0945514815423265, abs=1e-14)
    result = newton(lambda x: x * x + 1.0, [2.5, 0.0, 1.0, 1.3], slope, maxiter=20, full_output=True)
    assert result.converged.tolist() == [False] * 4
    assert result.zero_der.tolist() == [False, True, True, False]
    assert result.status.tolist() == [-2, -5, -5, -2]


@pytest.mark.parametrize(
    ("fprime", "fprime2", "order"),
    [
        (None, None, (1 + 5**0.5) / 2),
        (lambda x: x.dtype.type(3) * x * x, None, 2),
        (lambda x: x.dtype.type(3) * x * x, lambda x: x.dtype.type(6) * x, 3),
    ],
    ids=["secant", "newton", "halley"],
)
def test_order_of_convergence(fprime, fprime2, order):
    """Errors of successive iterates in long double: their logarithms grow by the order."""
    two = np.longdouble(2)
    f = counted(lambda x: x * x * x - two)
    newton(f, np.array(np.longdouble(1.6)), fprime, fprime2=fprime2, tol=1e-12)
    root = two ** (np.longdouble(1) / 3)
    errors = [abs(float(x - root)) for x in f.calls]
    if fprime is None:
        errors = errors[1:]
    errors = [e for e in errors if e > 1e-17]
    measured = [
        np.log(b / a) / np.log(a / z) for z, a, b in zip(errors, errors[1:], errors[2:], strict=False) if z > a > b
    ]
    assert measured[-1] == pytest.approx(order, rel=0.15)


def test_halley_is_that_of_scipy():
    roots = newton(lambda x: x**3 - 7.0, [1.0, 5.0], lambda x: 3 * x**2, fprime2=lambda x: 6 * x, full_output=True)
    expected = [
        scipy.optimize.newton(lambda x: x**3 - 7.0, s, lambda x: 3 * x**2, fprime2=lambda x: 6 * x) for s in (1.0, 5.0)
    ]
    np.testing.assert_allclose(roots.root, expected, rtol=1e-15)
    plain = newton(lambda x: x**3 - 7.0, [1.0, 5.0], lambda x: 3 * x**2, full_output=True)
    assert roots.nit < plain.nit


def test_exact_roots_count_at_once():
    result = newton(lambda x: x * x - 4.0, [2.0, -2.0], slope, full_output=True)
    assert (result.nfev, result.converged.tolist(), result.root.tolist()) == (1, [True, True], [2.0, -2.0])
    # A start value that is a root, beside one that is not; and a root with a zero slope.
    for fprime in (slope, None):
        result = newton(lambda x: x * x - 4.0, [2.0, 3.0], fprime, full_output=True)
        assert result.converged.all()
        assert result.root[0] == 2.0
    result = newton(lambda x: x * x, [0.0, 1.0], slope, maxiter=4, full_output=True)
    assert result.status.tolist() == [0, -2]


def test_converged_points_freeze():
    """A point that has converged stays although its function changes later on."""
    state = {"calls": 0}

    def f(x):
        state["calls"] += 1
        shift = np.array([5.0 if state["calls"] > 8 else 0.0, 0.0])
        return np.array([x[0] - 1.0, x[1] ** 11]) + shift

    roots = newton(f, [3.0, 1.0], lambda x: np.array([1.0, 11 * x[1] ** 10]), tol=1e-4, maxiter=100)
    assert roots[0] == 1.0


# --- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fprime", [None, lambda x: 1 / x])
def test_nan_is_a_failure_and_the_others_are_solved(fprime):
    with np.errstate(invalid="ignore"):
        result = newton(np.log, np.array([-1.0, 2.0, np.nan, 0.5]), fprime, full_output=True)
    assert result.converged.tolist() == [False, True, False, True]
    assert result.status.tolist() == [-3, 0, -3, 0]
    np.testing.assert_allclose(result.root[[1, 3]], 1.0, rtol=1e-12)
    assert not result.zero_der.any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["f", "slope", "curvature"])
def test_what_is_not_finite_fails_and_keeps_the_iterate(bad, where):
    def spoilt(name, values):
        return np.where(np.arange(3) == 1, bad, values) if name == where else values

    result = newton(
        lambda x: spoilt("f", x * x - 2.0),
        [1.0, 1.25, 1.5],
        lambda x: spoilt("slope", 2.0 * x),
        fprime2=lambda x: spoilt("curvature", 2.0 + 0.0 * x),
        full_output=True,
    )
    assert result.status.tolist() == [0, -3, 0]
    assert result.root[1] == 1.25


def test_warning_says_how_many_and_why_at_the_users_line():
    with pytest.warns(ConvergenceWarning) as caught:
        newton(lambda x: x * x + 1.0, [2.5, 0.0, 1.3], slope, maxiter=10)
    assert str(caught[0].message) == "newton: 3 of 3 points did not converge (zero derivatives)"
    assert issubclass(ConvergenceWarning, RuntimeWarning)
    assert caught[0].filename == __file__
    with pytest.warns(RuntimeWarning) as caught, np.errstate(invalid="ignore"):
        [*map(lambda start: newton(np.log, start, lambda x: 1 / x), [np.array([-1.0, 2.0])])]  # noqa: C417
    assert str(caught[0].message) == "newton: 1 of 2 points did not converge (values that are not finite)"
    assert caught[0].filename == __file__
    newton(lambda x: x * x + 1.0, [2.5], slope, maxiter=3, disp=False)


@pytest.mark.parametrize("fprime", [None, slope])
def test_failures_return_the_last_iterates(fprime):
    steps = 5 if fprime else 6  # SciPy's secant method returns the last but one
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = newton(lambda x: x * x + 1.0, np.array([2.5, 1.3]), fprime, maxiter=5)
        theirs = scipy.optimize.newton(
            lambda x: np.append(x[:2] ** 2 + 1.0, x[2:] - 1.0),  # it raises where no point at all converges
            np.array([2.5, 1.3, 0.0]),
            None if fprime is None else lambda x: np.append(2 * x[:2], 1.0),
            maxiter=steps,
        )
    np.testing.assert_allclose(ours, theirs[:2], rtol=1e-12)


def test_a_level_secant_takes_the_middle():
    result = newton(lambda x: np.where(x > 0, 1.0, x - 1.0), [1.0, -1.0], x1=[3.0, -2.0], maxiter=2, full_output=True)
    assert result.root[0] == 2.0
    assert result.zero_der.tolist() == [True, False]


# --- types and shapes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fprime", [None, slope])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "g"])
def test_dtypes_are_kept(dtype, fprime):
    start = np.array([1.0, 2.0], dtype)
    root = newton(square, start, fprime, tol=1e-4)
    assert root.dtype == start.dtype
    np.testing.assert_allclose(root, np.sqrt(np.array([2.0, 2.0], dtype)), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["i4", "u1", "?", "f2", ">f8"])
def test_other_dtypes_become_floating(dtype):
    root = newton(square, np.array([1, 1], dtype), slope, tol=1e-5)
    assert root.dtype == (np.float32 if dtype == "f2" else np.float64)
    np.testing.assert_allclose(root, 2**0.5, rtol=1e-6)


@pytest.mark.parametrize("fprime", [None, slope])
def test_complex_roots(fprime):
    start = np.array([1 + 1j, 1 - 1j, -0.2 + 3j])
    np.testing.assert_allclose(newton(lambda z: z * z + 1.0, start, fprime), [1j, -1j, 1j], atol=1e-14)
    # Complex values make real start values complex.
    root = newton(lambda x: x * x - 2j, np.array([1.0, -1.0], "f4"), fprime, tol=1e-5)
    assert root.dtype == np.complex64
    np.testing.assert_allclose(root**2, 2j, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_kinds_of_start_values(kind, tmp_path):
    start = kind.make(tmp_path)
    if kind.values is None or kind.name == "foreign-device-array":
        error = ImportError if kind.name == "foreign-device-array" else (ArgumentError, ArgumentTypeError)
        with pytest.raises(error) as caught:
            newton(lambda x: x - 1.0, start)
        assert kind.name == "foreign-device-array" or "'x0'" in str(caught.value)
        return
    before = np.array(start, copy=True)
    root = newton(lambda x: x - 1.0, start, lambda x: 1.0)
    assert type(root) is np.ndarray
    assert root.shape == kind.values.shape
    assert root.flags.writeable
    np.testing.assert_allclose(root, 1.0, atol=1e-6)
    np.testing.assert_array_equal(before, start)


def test_results_of_callbacks_are_checked():
    x0 = np.ones(3)
    with pytest.raises(ArgumentError, match=r"callback 'func' returned shape \(1,\), expected \(3,\)"):
        newton(lambda x: np.ones(1), x0)
    with pytest.raises(ArgumentError, match=r"callback 'fprime' returned shape \(2, 3\)"):
        newton(lambda x: x, x0, lambda x: np.ones((2, 3)))
    with pytest.raises(ArgumentTypeError, match="result of callback func"):
        newton(lambda x: np.array(["a"] * 3), x0)
    with pytest.raises(ArgumentTypeError, match="masked"):
        newton(lambda x: np.ma.masked_array(x, mask=[True, False, False]), x0)
    with pytest.raises(ArgumentTypeError, match="None"):
        newton(lambda x: None, x0)
    np.testing.assert_allclose(newton(lambda x: [v - 2.0 for v in x.tolist()], x0), 2.0)
    np.testing.assert_allclose(newton(lambda x: 3.0 * x - 2.0, x0, lambda x: 3), 2 / 3)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"tol": 0.0}, ArgumentError, "'tol' must be positive, got"),
        ({"tol": -1.0}, ArgumentError, "'tol'"),
        ({"tol": np.nan}, ArgumentError, "'tol'"),
        ({"tol": "1"}, ArgumentTypeError, "'tol' must be a real number"),
        ({"rtol": -1.0}, ArgumentError, "'rtol' must be 0 or positive"),
        ({"maxiter": 0}, ArgumentError, "'maxiter' must be an integer of at least 1, got 0"),
        ({"maxiter": 2.5}, ArgumentError, "'maxiter'"),
        ({"args": 3.0}, ArgumentTypeError, r"'args' must be a tuple.*\(value,\)"),
        ({"func": 3.0}, ArgumentTypeError, "'func' must be a function"),
        ({"fprime": 3.0}, ArgumentTypeError, "'fprime' must be a function"),
        ({"fprime2": slope}, ArgumentError, "'fprime2' needs 'fprime'"),
        ({"x1": [1.0], "fprime": slope}, ArgumentError, "'x1' is for the secant"),
        ({"x1": [1.0, 2.0, 3.0]}, ArgumentError, "'x1' of shape"),
        ({"damping": 0.0}, ArgumentError, "'damping'"),
        ({"damping": 1.5}, ArgumentError, "'damping'"),
        ({"bounds": 3}, ArgumentError, "'bounds' must be a pair"),
        ({"bounds": ([1, 2, 3], 4)}, ArgumentError, r"'bounds\[0\]' must be a number or .* got shape \(3,\)"),
        (
            {"bounds": (4, 0)},
            ArgumentError,
            "'bounds' must have lower bounds that are not above the upper ones, and no",
        ),
        ({"bounds": (0, [1.0, -1.0])}, ArgumentError, "'bounds' must have lower bounds that are not above"),
        ({"bounds": (np.nan, 4)}, ArgumentError, "'bounds' must have lower bounds"),
        ({"tol": np.inf}, ArgumentError, "'tol' must be positive and finite, got float"),
        ({"rtol": np.inf}, ArgumentError, "'rtol' must be 0 or positive and finite, got float"),
        ({"bounds": (0, 4), "x0": [1j, 2]}, ArgumentError, "'bounds' is for real"),
        ({"check_every": -1}, ArgumentError, "'check_every'"),
    ],
)
def test_wrong_arguments(arguments, error, text):
    with pytest.raises(error, match=text):
        newton(**({"func": square, "x0": [1.0, 2.0]} | arguments))


def test_empty_and_zero_dimensional():
    assert newton(square, np.empty((0, 3))).shape == (0, 3)
    assert newton(square, [], slope, full_output=True).converged.shape == (0,)
    assert newton(square, 1.0, slope).shape == ()


def test_further_arguments_reach_the_callbacks():
    a = np.array([2.0, 3.0])
    root = newton(lambda x, a, b: x * x - a * b, np.ones(2), lambda x, a, b: 2 * x, (a, 2.0))
    np.testing.assert_allclose(root, np.sqrt(2 * a), rtol=1e-14)


# --- options ----------------------------------------------------------------------------------------------------------


@given(st.floats(0.05, 20.0), st.booleans())
def test_iterates_stay_within_bounds(start, with_slope):
    """Unbounded, log(x) sends points above e into the negative numbers."""
    seen = counted(np.log)
    result = newton(
        seen, [start], (lambda x: 1 / x) if with_slope else None, bounds=(0.01, 25.0), full_output=True, maxiter=100
    )
    assert all(0.01 <= x[0] <= 25.0 for x in seen.calls)
    assert result.converged[0]
    assert abs(result.root[0] - 1.0) < 1e-7


@pytest.mark.parametrize("fprime", [None, lambda x: np.ones_like(x)])
def test_a_bound_is_no_root(fprime):
    """A point that the bound stops comes ever nearer to it, in steps below any tolerance: that is no convergence."""
    result = newton(lambda x: x - 5.0, [1.0, 2.0], fprime, bounds=(0.0, [3.0, 7.0]), full_output=True)
    assert result.status.tolist() in ([-2, 0], [-5, 0])
    assert result.root[1] == pytest.approx(5.0)
    # Roots at the bounds themselves are found.
    result = newton(lambda x: (x - 3.0) * (x + 10.0), [1.0, 2.9], fprime and (lambda x: 2 * x + 7), bounds=(0.0, 3.0))
    np.testing.assert_allclose(result, 3.0, rtol=1e-7)
    # Equal bounds leave nothing to search.
    assert newton(lambda x: x - 2.0, [1.0], fprime, bounds=(2.0, 2.0)) == 2.0


@pytest.mark.parametrize("options", [{}, {"fprime": slope}, {"fprime": slope, "fprime2": lambda x: 2 + 0 * x}])
@pytest.mark.parametrize("dtype", ["f2", "f4", "c8"])
def test_single_precision_converges_by_default(dtype, options):
    a = np.geomspace(1e-2, 1e4, 50).astype("f4")
    result = newton(lambda x: x * x - a, (1.5 * np.sqrt(a)).astype(dtype), full_output=True, **options)
    assert result.converged.all()
    assert result.root.dtype == (np.complex64 if dtype == "c8" else np.float32)
    np.testing.assert_allclose(result.root, np.sqrt(a), rtol=1e-5 if options else 1e-3)


def test_damping_converges_where_full_steps_do_not():
    f, fprime = np.arctan, lambda x: 1 / (1 + x * x)
    with np.errstate(over="ignore"):
        assert not newton(f, [3.0], fprime, full_output=True).converged[0]
        assert abs(newton(f, [3.0], fprime, damping=0.4, maxiter=200)[0]) < 1e-7


def test_looking_seldom_or_never():
    for every, evaluations in ((1, 5), (3, 6), (0, 20)):
        f = counted(square)
        root = newton(f, [1.0, 1.5], slope, maxiter=20, check_every=every)
        np.testing.assert_allclose(root, 2**0.5, rtol=1e-15)
        assert len(f.calls) == evaluations
    newton(lambda x: x * x + 1.0, [1.5], slope, maxiter=3, check_every=0)  # nobody looks, nobody warns
    result = newton(lambda x: x * x + 1.0, [1.5], slope, maxiter=3, check_every=0, full_output=True)
    assert result.status.tolist() == [-2]


def test_progress_goes_to_standard_error(capsys, monkeypatch):
    newton(square, [1.0], slope, progress=True)
    assert "newton" in capsys.readouterr().err
    monkeypatch.setitem(__import__("sys").modules, "tqdm", None)
    newton(square, [1.0], slope, progress=True)
    shown = capsys.readouterr()
    assert shown.err.startswith("newton: 5 of at most 50 iterations, ")
    assert not shown.out


def test_result_unpacks_prints_and_pickles():
    result = newton(square, [1.0, 1.5], slope, full_output=True)
    assert isinstance(result, NewtonResult)
    assert isinstance(result, tuple)
    root, converged, zero_der = result
    assert root is result.root
    assert converged is result.converged
    assert zero_der is result[2]
    again = pickle.loads(pickle.dumps(result))
    assert again.status.tolist() == [0, 0]
    assert again.nfev == result.nfev
    assert str(result).splitlines()[1].startswith("     root: [1.414")


def test_large_batches_mix_all_kinds_of_points():
    """More points than a block has, of every fate, in any order: each ends as it does alone."""
    rng = np.random.default_rng(5)
    n = 20_001
    kind = rng.integers(0, 4, n)
    start = np.where(kind == 1, 0.0, 1.0 + rng.random(n))

    def f(x):
        return np.choose(kind, [x * x - 2.0, x * x + 1.0, x + np.nan, x - 1.5])

    def fprime(x):
        return np.choose(kind, [2.0 * x, 2.0 * x, x, np.ones_like(x)])

    result = newton(f, start, fprime, full_output=True)
    assert result.status.tolist() == [[0, -5, -3, 0][k] for k in kind]
    np.testing.assert_allclose(result.root[kind == 0], 2**0.5, rtol=1e-15)
    np.testing.assert_array_equal(result.root[kind == 1], 0.0)
    np.testing.assert_array_equal(result.root[kind == 2], start[kind == 2])
    np.testing.assert_array_equal(result.root[kind == 3], 1.5)
    secant = newton(f, start, full_output=True)
    assert (secant.status[kind == 0] == 0).all()
    assert (secant.status[kind == 2] == -3).all()


def test_numpy_start_values_stay_on_the_host():
    assert type(xp.optimize.newton(square, np.ones(2))) is np.ndarray
