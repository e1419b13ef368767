"""SciPy's solvers on host data: SciPy's own results, errors and warnings, at the user's line."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy
from scipy.integrate import IntegrationWarning
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

import cunumpy as xp
from cunumpy import integrate, optimize
from cunumpy.errors import ArgumentTypeError, MissingPackageError


def rosenbrock(x):
    return 100.0 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


def gradient(x):
    return np.array([-400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0]), 200 * (x[1] - x[0] ** 2)])


def system(x):
    return np.array([x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1.0, 0.5 * (x[1] - x[0]) ** 3 + x[1]])


def decay(t, y):
    return -0.5 * y


def assert_same(ours, theirs):
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for key in theirs:
            assert_same(ours[key], theirs[key])
    elif isinstance(theirs, (tuple, list)):
        assert type(ours) is type(theirs)
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    elif isinstance(theirs, (np.ndarray, float, int, str, bool, type(None), np.generic)):
        np.testing.assert_array_equal(ours, theirs)
        assert type(ours) is type(theirs)
    else:
        assert type(ours) is type(theirs)


T, Y = np.linspace(0, 1, 8), np.exp(-np.linspace(0, 1, 8)) + 0.1

CALLS = {
    "fsolve": ("optimize", lambda m: m.fsolve(system, [0.0, 0.0])),
    "fsolve-full": ("optimize", lambda m: m.fsolve(system, np.zeros(2), full_output=True, xtol=1e-10)),
    "fsolve-scalar": ("optimize", lambda m: m.fsolve(lambda x, a: x * x - a, 1.0, (2.0,), lambda x, a: 2 * x)),
    "root": ("optimize", lambda m: m.root(system, np.zeros(2), method="hybr")),
    "root-pair": ("optimize", lambda m: m.root(lambda x: (x**2 - 2.0, np.diag(2 * x)), [1.0, 2.0], jac=True)),
    "minimize": ("optimize", lambda m: m.minimize(rosenbrock, [0.0, 0.0])),
    "minimize-bounds": (
        "optimize",
        lambda m: m.minimize(rosenbrock, np.zeros(2), jac=gradient, bounds=Bounds([-1, -1], [0.5, 2])),
    ),
    "minimize-constraints": (
        "optimize",
        lambda m: m.minimize(
            rosenbrock, np.zeros(2), constraints=[{"type": "ineq", "fun": lambda x: 1.0 - x[0] - x[1]}]
        ),
    ),
    "least-squares": ("optimize", lambda m: m.least_squares(lambda p: p[0] * np.exp(-p[1] * T) - Y, [1.0, 1.0])),
    "curve-fit": ("optimize", lambda m: m.curve_fit(lambda t, a, b: a * np.exp(-b * t), T, Y)),
    "root-scalar": ("optimize", lambda m: vars(m.root_scalar(np.cos, bracket=[1.0, 2.0]))),
    "odeint": ("integrate", lambda m: m.odeint(lambda y, t: -y, [1.0, 2.0], [0.0, 0.5, 1.0])),
    "odeint-tfirst": ("integrate", lambda m: m.odeint(decay, np.ones(1), [0, 1], tfirst=True, full_output=True)),
    "solve-ivp": ("integrate", lambda m: m.solve_ivp(decay, (0.0, 2.0), [1.0, 3.0], t_eval=[0.5, 1.0])),
    "quad": ("integrate", lambda m: m.quad(np.exp, 0.0, 1.0)),
    "quad-infinite": ("integrate", lambda m: m.quad(lambda x, a: np.exp(-a * x), 0, np.inf, (2.0,), limit=70)),
}


@pytest.mark.parametrize("name", CALLS)
def test_host_data_gives_scipys_result(name):
    module, call = CALLS[name]
    assert_same(call(getattr(xp, module)), call(getattr(scipy, module)))


SCIPYS = ("fsolve", "root", "minimize", "least_squares", "curve_fit", "root_scalar", "odeint", "solve_ivp", "quad")


@pytest.mark.parametrize("module", ["optimize", "integrate"])
def test_signatures_begin_like_scipys_or_the_contract(module):
    for name in (
        "fsolve",
        "root",
        "minimize",
        "least_squares",
        "curve_fit",
        "root_scalar",
        "odeint",
        "solve_ivp",
        "quad",
    ):
        ours, theirs = getattr(getattr(xp, module), name, None), getattr(getattr(scipy, module), name, None)
        if ours is None:
            continue
        parameters = list(inspect.signature(ours).parameters)
        others = list(inspect.signature(theirs).parameters)
        start = 3 if name in ("root", "minimize") else 4  # of root and minimize the method is given by name
        if name == "least_squares":
            assert parameters[:4] == others[:4]
        assert parameters[:start] == others[:start]


def test_missing_scipy_is_named():
    code = (
        "import sys; sys.modules['scipy'] = None; sys.modules['scipy.optimize'] = None\n"
        "from cunumpy import optimize\n"
        "print(optimize.newton(lambda x: x * x - 4.0, 1.0, lambda x: 2 * x))\n"
        "try:\n    optimize.fsolve(lambda x: x, [1.0])\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    root, message = done.stdout.splitlines()
    assert root == "2.0"
    assert message.startswith("cunumpy.optimize.fsolve needs SciPy (")
    assert message.endswith("Run: uv add scipy")
    assert issubclass(MissingPackageError, ImportError)


# --- warnings and errors ----------------------------------------------------------------------------------------------


def line():
    return inspect.currentframe().f_back.f_lineno


@pytest.mark.parametrize(
    ("call", "category"),
    [
        (lambda: optimize.fsolve(lambda x: x * x + 1.0, [1.0]), RuntimeWarning),
        (lambda: optimize.minimize(rosenbrock, [0.0, 0.0], method="BFGS", bounds=[(0, 1)] * 2), RuntimeWarning),
        (lambda: integrate.quad(lambda x: 1 / x, 0.0, 1.0), IntegrationWarning),
    ],
)
def test_warnings_of_scipy_are_at_the_users_line(call, category):
    with pytest.warns(category) as caught:
        call()
    code = call.__code__
    assert {(w.filename, w.lineno) for w in caught} == {(__file__, code.co_firstlineno)}


def test_a_warning_is_shown_once_for_each_line_of_the_user():
    def twice():
        for _ in range(2):
            optimize.fsolve(lambda x: x * x + 1.0, [1.0])

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        twice()
        optimize.fsolve(lambda x: x * x + 1.0, [1.0])
    assert [w.filename for w in caught] == [__file__] * 2


def test_errors_are_scipys():
    with pytest.raises(ValueError, match="Unknown solver"):
        optimize.minimize(rosenbrock, [0.0, 0.0], method="no such")
    with pytest.raises(TypeError):
        integrate.quad(lambda x: 1j * x, 0, 1)
    assert integrate.quad(lambda x: 1j * x, 0, 1, complex_func=True)[0] == pytest.approx(0.5j)
    with pytest.raises(ZeroDivisionError):
        optimize.fsolve(lambda x: 1 / 0, [1.0])


def test_pairs_of_numbers_are_checked():
    for bracket in (3.0, [1.0], [1.0, 2.0, 3.0]):
        with pytest.raises(ArgumentTypeError, match="root_scalar: argument 'bracket' must be a pair of numbers, got"):
            optimize.root_scalar(np.cos, bracket=bracket)
    with pytest.raises(ArgumentTypeError, match="solve_ivp: argument 't_span' must be a pair of numbers, got"):
        integrate.solve_ivp(decay, 2.0, [1.0])
    assert optimize.root_scalar(np.cos, bracket=np.array([1.0, 2.0])).root == pytest.approx(np.pi / 2)


def test_constraints_are_copied():
    constraint = NonlinearConstraint(lambda x: x[0] ** 2 + x[1], -np.inf, 1.0)
    before = dict(vars(constraint))
    linear = LinearConstraint([[1.0, 1.0]], ub=2.0)
    solution = optimize.minimize(rosenbrock, [0.0, 0.0], method="trust-constr", constraints=[constraint, linear])
    expected = scipy.optimize.minimize(rosenbrock, [0.0, 0.0], method="trust-constr", constraints=[constraint, linear])
    np.testing.assert_array_equal(solution.x, expected.x)
    assert vars(constraint) == before


# --- quad -------------------------------------------------------------------------------------------------------------


def test_quad_accepts_arrays_of_one_element():
    for shape in ((), (1,), (1, 1)):
        value, _ = integrate.quad(lambda x, s=shape: np.full(s, x), 0.0, 1.0)
        assert value == pytest.approx(0.5, abs=1e-14)
    assert optimize.root_scalar(lambda x: np.array([x - 0.25]), bracket=[0, 1]).root == pytest.approx(0.25)
    # With its derivatives in a tuple, each of them.
    both = optimize.root_scalar(lambda x: (np.array([x * x - 2.0]), np.array(2 * x)), x0=1.0, fprime=True)
    assert type(both.root) is float or isinstance(both.root, np.floating)
    assert both.root == pytest.approx(2**0.5)
    with pytest.raises(ArgumentTypeError, match=r"quad: callback 'func' must return a number, got .*shape=\(2,\)"):
        integrate.quad(lambda x: np.ones(2), 0.0, 1.0)


def test_quad_passes_the_function_as_it_is():
    evaluated = []

    def f(x):
        evaluated.append(sys._getframe(1).f_code.co_filename)
        return x

    integrate.quad(f, 0.0, 1.0)
    assert len(evaluated) == 21
    assert not any(name.endswith("_bridge.py") for name in evaluated)


@pytest.mark.parametrize("error", [TypeError, DeprecationWarning, ValueError])
def test_errors_of_an_integrand_are_raised_at_once(error):
    """Also those that SciPy raises for arrays in the place of numbers."""
    calls = []

    def f(x):
        calls.append(x)
        if len(calls) == 3:
            raise error("the user's own")
        return x

    with pytest.raises(error, match="the user's own"):
        integrate.quad(f, 0.0, 1.0)
    assert len(calls) == 3


def test_quad_takes_compiled_functions():
    import ctypes
    import ctypes.util

    library = ctypes.CDLL(ctypes.util.find_library("m"))
    library.cos.restype, library.cos.argtypes = ctypes.c_double, (ctypes.c_double,)
    function = scipy.LowLevelCallable(library.cos)
    assert integrate.quad(function, 0.0, 1.0)[0] == pytest.approx(np.sin(1.0), rel=1e-15)


@pytest.mark.parametrize("name", CALLS)
def test_progress_counts_evaluations(name, capsys):
    """Of each solver, whose result stays what it is."""
    module, call = CALLS[name]

    class Shown:
        def __getattr__(self, function):
            return lambda *args, **kwargs: getattr(getattr(xp, module), function)(*args, progress=True, **kwargs)

    assert_same(call(Shown()), call(getattr(scipy, module)))
    shown = capsys.readouterr().err
    assert name.split("-")[0] in shown
    assert int(re.findall(r"(\d+) evaluation \[", shown)[-1]) > 0
    calls = []
    optimize.fsolve(lambda x: calls.append(1) or x - 1.0, [0.0], progress=True)
    assert f"{len(calls)} evaluation" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: optimize.root(np.ones(2), np.ones(2)), "root: argument 'fun' must be a function, got numpy.ndarray"),
        (lambda: optimize.fsolve(3, 1.0), "fsolve: argument 'func' must be a function, got 3"),
        (lambda: optimize.curve_fit("f", [1.0], [1.0]), r"curve_fit: argument 'f' must be a function, got str \('f'\)"),
        (lambda: integrate.quad(3, 0, 1), "quad: argument 'func' must be a function, got 3"),
        *(
            (
                lambda given=given: integrate.quad(np.sin, 0, given),
                "quad: argument 'b' must be a number, or an array of one",
            )
            for given in ([], [1.0, 2.0], np.ones((2, 2)))
        ),
        (
            lambda: optimize.root_scalar(np.sin, x0=np.ones(3), x1=2.0),
            "root_scalar: argument 'x0' must be a number, or an array of one element, got numpy.ndarray",
        ),
        (lambda: integrate.odeint(None, 1.0, [0.0, 1.0]), "odeint: argument 'func' must be a function, got NoneType"),
    ],
)
def test_what_is_no_function_or_no_number_is_named(call, says):
    with pytest.raises(ArgumentTypeError, match=says):
        call()
