"""Calls of `cunumpy.optimize` and `cunumpy.integrate`."""

from __future__ import annotations

from typing import Any

import numpy as np

from array_calls.call import ANYTHING, CALLS, ONE_NUMBER, OPTIONAL, Call, numbers, require
from cunumpy import integrate, optimize

STARTS = np.array([[1.5, 3.0, 2.5], [1.25, 2.25, 5.0]])


def _floating(*arrays: Any, kinds: str = "biuf") -> Any:
    """Give the dtype in which a solver works."""
    numbers(*arrays, kinds=kinds)
    dtype = np.result_type(*(np.float64 if array.dtype.kind in "biu" else array.dtype for array in arrays))
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def _cubed(x: Any, *_: Any) -> Any:
    return x**3 - 8


def _two(*arrays: Any, kinds: str = "biuf") -> Any:
    return np.full(np.broadcast_shapes(*(array.shape for array in arrays)), 2, _floating(*arrays, kinds=kinds))


def _ignored(*arrays: Any) -> None:
    """Check arguments that the result does not depend on."""
    _floating(*(array for array in arrays if array is not None))


def _newton(x0: Any, x1: Any, **bounds: Any) -> Any:
    _ignored(*bounds.values())
    numbers(x0 if x1 is None else x1)
    for other in (x1, *bounds.values()):
        require(other is None or np.broadcast_shapes(x0.shape, other.shape) == x0.shape)
    return _two(x0, kinds="biuf")


def _run_newton(x0: Any, x1: Any, **bounds: Any) -> Any:
    return optimize.newton(_cubed, x0, x1=x1, bounds=tuple(bounds.values()), tol=1e-6, maxiter=200, disp=False)


def _run_bracket(xl0: Any, xr0: Any, xmin: Any, xmax: Any) -> Any:
    found = optimize.bracket_root(_cubed, xl0, xr0, xmin=xmin, xmax=xmax)
    low, high = (np.asarray(one) for one in found.bracket)
    return ((low <= 2) & (high >= 2)) | (np.asarray(found.status) != 0)


def _bracketed(xl0: Any, xr0: Any, xmin: Any, xmax: Any) -> Any:
    given = [one for one in (xl0, xr0, xmin, xmax) if one is not None]
    _ignored(*given)
    shape = np.broadcast_shapes(*(one.shape for one in given))
    return np.ones(shape, bool)


def _found(**bracket: Any) -> Any:
    low, high = bracket["bracket[0]"], bracket["bracket[1]"]
    root = _two(low, high)
    brackets = (np.minimum(low, high) <= 2) & (np.maximum(low, high) >= 2)
    return np.where(brackets, root, np.array(np.nan, root.dtype))


def _flat_two(x0: Any) -> Any:
    numbers(x0)
    return np.full(x0.size, 2.0)


CALLS |= {
    "optimize.newton": Call(
        _run_newton,
        {
            "x0": STARTS,
            "x1": STARTS + 1,
            "bounds[0]": np.full((2, 3), 0.5),
            "bounds[1]": np.full((2, 3), 9.0),
        },
        _newton,
        (
            "func",
            "fprime",
            "args",
            "tol",
            "maxiter",
            "rtol",
            "full_output",
            "fprime2",
            "damping",
            "disp",
            "check_every",
            "progress",
        ),
        takes={"x1": OPTIONAL},
        skip={"bounds[1]": ("bool",), "x1": ONE_NUMBER},  # no root below 1; a start value that is one of x0
        rtol=1e-3,
    ),
    "optimize.bracket_root": Call(
        _run_bracket,
        {"xl0": np.array([1.0, 3.0]), "xr0": np.array([2.5, 4.0]), "xmin": np.zeros(2), "xmax": np.array([9.0, 8.0])},
        _bracketed,
        ("f", "factor", "args", "maxiter", "check_every", "progress"),
        takes={"xr0": OPTIONAL, "xmin": OPTIONAL, "xmax": OPTIONAL},
    ),
    "optimize.find_root": Call(
        lambda **given: optimize.find_root(_cubed, (given["bracket[0]"], given["bracket[1]"])).x,
        {"bracket[0]": np.array([1.0, 0.0, 1.5]), "bracket[1]": np.array([4.0, 2.5, 3.0])},
        _found,
        ("f", "args", "xatol", "xrtol", "fatol", "maxiter", "check_every", "progress"),
        names={"bracket[0]": "bracket", "bracket[1]": "bracket"},
        rtol=1e-5,
    ),
}
for _name, _plain, _run in [
    ("root", ("fun", "args", "jac", "callback", "progress", "kwargs"), lambda f, x0: f(_cubed, x0).x),
    ("fsolve", ("func", "args", "fprime", "progress", "kwargs"), lambda f, x0: f(_cubed, x0)),
    (
        "least_squares",
        ("fun", "jac", "bounds", "args", "kwargs", "loss", "callback", "progress", "options"),
        lambda f, x0: f(_cubed, x0, xtol=1e-12, ftol=1e-12, gtol=1e-12).x,
    ),
    (
        "minimize",
        ("fun", "args", "jac", "hess", "hessp", "bounds", "constraints", "callback", "progress", "kwargs"),
        lambda f, x0: f(lambda x: ((x - 2) ** 2).sum(), x0, tol=1e-12).x,
    ),
]:
    _function = getattr(optimize, _name)
    CALLS[f"optimize.{_name}"] = Call(
        lambda x0, f=_function, run=_run: run(f, x0),
        {"x0": STARTS[0]},
        _flat_two,
        _plain,
        skip={"x0": ("more axes", *(("float16", "float32") if _name == "minimize" else ()))},  # SciPy's answers
        rtol=1e-3,
        dtypes=False,
        own_words=True,
    )
CALLS["integrate.rk4"] = Call(
    lambda y0: integrate.rk4(lambda t, y: -y, (0.0, 1.0), y0, 50).y,
    {"y0": STARTS},
    lambda y0: np.multiply(y0, np.exp(-1), dtype=_floating(y0, kinds="biufc")),
    ("fun", "t_span", "steps", "args", "save_every", "progress"),
    rtol=1e-3,
)


TIMES = np.array([0.0, 0.25, 0.5, 1.0])
RATES = np.array([1.0, 2.0])


def _decayed(y0: Any, t: Any) -> Any:
    """Give y0 exp(-t), of shape (y0, t)."""
    numbers(y0, t)
    require(y0.ndim < 2 and t.ndim == 1 and not np.iscomplexobj(t))
    return y0.reshape(-1, 1) * np.exp(-t.astype(float))


def _of_times(y0: Any, t_eval: Any) -> Any:
    times = np.array([0.0, 1.0]) if t_eval is None else t_eval
    require((times >= 0).all() and (times <= 1).all() and (np.diff(times) > 0).all())
    return _decayed(y0, times)


def _solve_ivp(y0: Any, t_eval: Any) -> Any:
    found = integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), y0, t_eval=t_eval, rtol=1e-8, atol=1e-10)
    return found.y if t_eval is not None else found.y[:, [0, -1]]


def _batched_ivp(y0: Any, t_eval: Any) -> Any:
    return integrate.solve_ivp_batched(lambda t, y: -y, (0.0, 1.0), y0, t_eval=t_eval, rtol=1e-5, atol=1e-7).y


def _batched_decayed(y0: Any, t_eval: Any) -> Any:
    dtype = _floating(y0, kinds="biufc")
    if t_eval is None:
        return (y0 * np.exp(-1.0)).astype(dtype)
    numbers(t_eval, kinds="biuf")
    require(t_eval.ndim == 1 and (t_eval >= 0).all() and (t_eval <= 1).all())
    return (y0[..., None] * np.exp(-t_eval.astype(float))).astype(dtype)


def _square_integral(a: Any, b: Any) -> Any:
    dtype = _floating(a, b)
    return np.asarray((b.astype(float) ** 3 - a.astype(float) ** 3) / 3, dtype)


def _one_integral(a: Any, b: Any) -> Any:
    numbers(a, b, kinds="biuf")
    return np.asarray((b.reshape(()) ** 3.0 - a.reshape(()) ** 3.0) / 3)


def _fitted(xdata: Any, ydata: Any, p0: Any, sigma: Any) -> Any:
    numbers(*(one for one in (xdata, ydata, p0, sigma) if one is not None), kinds="biufc")
    require(xdata.shape == ydata.shape == (6,) and (p0 is None or p0.shape == (2,)))
    require(sigma is None or sigma.shape == (6,))
    x, y = xdata.astype(float), ydata.astype(float)
    return np.polyfit(x, y, 1, w=None if sigma is None else 1 / sigma.astype(float))[::-1]


LINE = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])

CALLS |= {
    "optimize.least_squares_batched": Call(
        lambda x0, **bounds: (
            optimize.least_squares_batched(
                lambda x: x - 2, x0, bounds=(bounds["bounds[0]"], bounds["bounds[1]"]), disp=False
            ).x
        ),
        {"x0": STARTS, "bounds[0]": np.zeros((2, 3)), "bounds[1]": np.full((2, 3), 9.0)},
        lambda x0, **bounds: (_ignored(*bounds.values()), require(x0.ndim == 2 and x0.shape[-1] > 0), _two(x0))[2],
        ("fun", "jac", "args", "ftol", "xtol", "gtol", "maxiter", "check_every", "disp", "progress"),
        skip={"bounds[1]": ("bool",)},  # no solution below 1
        rtol=1e-3,
    ),
    "optimize.curve_fit": Call(
        lambda xdata, ydata, p0, sigma: optimize.curve_fit(lambda x, a, b: a + b * x, xdata, ydata, p0, sigma)[0],
        {"xdata": LINE, "ydata": 2 * LINE + 1, "p0": np.array([0.5, 0.5]), "sigma": np.ones(6)},
        _fitted,
        ("f", "absolute_sigma", "bounds", "jac", "progress", "kwargs"),
        takes={"p0": OPTIONAL, "sigma": OPTIONAL, "xdata": ANYTHING},
        skip={"xdata": (*ONE_NUMBER, "broadcast"), "ydata": ONE_NUMBER, "sigma": ONE_NUMBER, "p0": ("more axes",)},
        rtol=1e-5,
        dtypes=False,
        own_words=True,
    ),
    "optimize.root_scalar": Call(
        lambda x0, x1: optimize.root_scalar(_cubed, x0=x0, x1=x1, method="secant").root,
        {"x0": np.array(1.5), "x1": np.array(3.0)},
        lambda x0, x1: (require(x0.size == x1.size == 1), np.float64(2))[1],
        ("f", "args", "method", "bracket", "fprime", "fprime2", "progress", "kwargs"),
        skip={"x0": ("None",), "x1": ("None",)},  # SciPy's refusal, and its own second value
        rtol=1e-5,
        dtypes=False,
        own_words=True,
    ),
    "integrate.fixed_quad": Call(
        lambda a, b: integrate.fixed_quad(lambda x: x * x, a, b),
        {"a": np.array([0.0, 1.0]), "b": np.array([3.0, 2.5])},
        _square_integral,
        ("func", "args", "n"),
        rtol=1e-3,
        dtypes=False,
    ),
    "integrate.quad_batched": Call(
        lambda a, b: integrate.quad_batched(lambda x: x * x, a, b).integral,
        {"a": np.array([0.0, 1.0]), "b": np.array([3.0, 2.5])},
        _square_integral,
        ("f", "args", "epsabs", "epsrel", "limit", "disp", "progress"),
        rtol=1e-3,
    ),
    "integrate.quad": Call(
        lambda a, b: integrate.quad(lambda x: x * x, a, b)[0],
        {"a": np.array(0.0), "b": np.array(3.0)},
        _one_integral,
        ("func", "args", "progress", "kwargs"),
        rtol=1e-3,
        dtypes=False,
        own_words=True,
    ),
    "integrate.odeint": Call(
        lambda y0, t: integrate.odeint(lambda y, t: -y, y0, t, rtol=1e-9, atol=1e-9),
        {"y0": RATES, "t": TIMES},
        lambda y0, t: _decayed(y0, t.astype(float) - t[:1]).T,
        ("func", "args", "Dfun", "tfirst", "progress", "kwargs"),
        skip={"t": ("empty", "empty rows")},  # SciPy's answer
        rtol=1e-5,
        dtypes=False,
        own_words=True,
    ),
    "integrate.solve_ivp": Call(
        _solve_ivp,
        {"y0": RATES, "t_eval": TIMES},
        _of_times,
        ("fun", "t_span", "method", "dense_output", "events", "vectorized", "args", "jac", "progress", "options"),
        takes={"t_eval": OPTIONAL},
        skip={"t_eval": ("empty", "empty rows")},  # SciPy's answer
        rtol=1e-3,
        dtypes=False,
        own_words=True,
    ),
    "integrate.solve_ivp_batched": Call(
        _batched_ivp,
        {"y0": STARTS, "t_eval": TIMES},
        _batched_decayed,
        (
            "fun",
            "t_span",
            "dense_output",
            "events",
            "args",
            "rtol",
            "atol",
            "first_step",
            "max_step",
            "max_steps",
            "check_every",
            "disp",
            "progress",
        ),
        takes={"t_eval": OPTIONAL},
        rtol=2e-3,
    ),
    "integrate.BatchedDenseOutput.__call__": Call(
        lambda t: integrate.solve_ivp_batched(lambda t, y: -y, (0.0, 1.0), STARTS, dense_output=True).sol(t),
        {"t": TIMES},
        lambda t: STARTS.reshape(2, 3, *[1] * t.ndim) * np.exp(-t.astype(float)),
        function="BatchedDenseOutput|sol",
        rtol=2e-3,
        dtypes=False,
    ),
}
