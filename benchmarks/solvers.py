"""Batched solvers against SciPy: against a loop over its scalar ones, and against its own vectorised ones.

Each function measures one row of the table in `benchmarks.rows`. A loop over SciPy is timed for a few problems, and
its time multiplied: each problem costs the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate
import scipy.optimize
from scipy.optimize import elementwise

from benchmarks._measure import Effort, Rounds, measure, statement
from cunumpy import integrate, optimize

LOOPED = 20  # problems of a loop over SciPy


def newton(effort: Effort, *, slope: bool, loop: bool = False) -> Rounds:
    """``newton`` for roots of ``x^3 - a``, with the derivative or by the secant method, against SciPy's on arrays.

    Or, for fewer of them, against SciPy's for each number.
    """
    a = 1.0 + 99.0 * _random(effort.entries // 10 if loop else effort.entries)
    names = {
        "f": lambda x: x * x * x - a,
        "fprime": (lambda x: 3.0 * x * x) if slope else None,
        "start": np.full(a.size, 3.0),
    }
    ours = "optimize.newton(f, start, fprime)"
    if loop:
        return _against_loop(
            effort,
            ours,
            a.size,
            lambda i: scipy.optimize.newton(lambda x: x * x * x - a[i], 3.0, names["fprime"]),
            **names,
        )
    return _measure(effort, ours, "scipy.optimize.newton(f, start, fprime)", **names)


def find_root(effort: Effort, *, loop: bool) -> Rounds:
    """``find_root`` for roots of ``x^3 - a``, against ``brentq`` for each or SciPy's elementwise function."""
    a = 1.0 + 99.0 * _random(effort.entries // 10)
    names = {"f": lambda x: x * x * x - a, "upper": a + 1.0}
    ours = "optimize.find_root(f, (0.0, upper))"
    if loop:
        return _against_loop(
            effort, ours, a.size, lambda i: scipy.optimize.brentq(lambda x: x * x * x - a[i], 0.0, a[i] + 1.0), **names
        )
    return _measure(
        effort,
        ours,
        "elementwise.find_root(g, (zero, upper), args=(a,))",
        g=lambda x, a: x * x * x - a,
        a=a,
        zero=np.zeros(a.size),
        elementwise=elementwise,
        **names,
    )


def bracket_root(effort: Effort) -> Rounds:
    """``bracket_root`` for roots of ``x - a``, against SciPy's elementwise function."""
    a = 100.0 * _random(effort.entries // 10)
    return _measure(
        effort,
        "optimize.bracket_root(lambda x: x - a, zero)",
        "elementwise.bracket_root(lambda x, a: x - a, zero, args=(a,))",
        a=a,
        zero=np.zeros(a.size),
        elementwise=elementwise,
    )


def fixed_quad(effort: Effort) -> Rounds:
    """``fixed_quad`` of damped oscillations, against SciPy's for each."""
    w = 3.0 * _random(effort.entries // 100)
    return _against_loop(
        effort,
        "integrate.fixed_quad(f, 0.0, 3.0, (w,), n=20)",
        w.size,
        lambda i: scipy.integrate.fixed_quad(lambda x: np.cos(w[i] * x) * np.exp(-x), 0.0, 3.0, n=20),
        f=lambda x, w: np.cos(w * x) * np.exp(-x),
        w=w,
    )


def quad(effort: Effort, *, other: str) -> Rounds:
    """``quad_batched`` of damped oscillations, against ``quad`` for each, ``quad_vec`` or ``tanhsinh``."""
    w = 30.0 * _random(effort.entries // 100)

    def f(x: Any, w: Any) -> Any:
        return np.cos(w * x) * np.exp(-x)

    names = {"f": f, "w": w, "g": lambda x: np.cos(w * x) * np.exp(-x)}
    ours = "integrate.quad_batched(f, 0.0, 3.0, (w,))"
    if other == "loop":
        return _against_loop(effort, ours, w.size, lambda i: scipy.integrate.quad(f, 0.0, 3.0, (w[i],)), **names)
    return _measure(effort, ours, other, **names)


def solve_ivp(effort: Effort, *, loop: bool) -> Rounds:
    """``solve_ivp_batched`` of oscillators, against ``solve_ivp`` for each, or once for all as one big system."""
    k = 0.5 + 5.0 * _random(effort.entries // 100)
    n = k.size
    start = np.stack([np.ones(n), np.zeros(n)])
    names = {
        "f": lambda t, y: np.stack([y[1], -k * y[0]]),
        "big": lambda t, y: np.concatenate([y[n:], -k * y[:n]]),
        "start": start,
    }
    ours = "integrate.solve_ivp_batched(f, (0.0, 10.0), start, rtol=1e-6)"
    if loop:
        return _against_loop(
            effort,
            ours,
            n,
            lambda i: scipy.integrate.solve_ivp(
                lambda t, y: np.array([y[1], -k[i] * y[0]]), (0.0, 10.0), start[:, i], rtol=1e-6
            ),
            **names,
        )
    return _measure(effort, ours, "scipy.integrate.solve_ivp(big, (0.0, 10.0), start.ravel(), rtol=1e-6)", **names)


def least_squares(effort: Effort) -> Rounds:
    """``least_squares_batched`` of exponential decays, against ``least_squares`` for each."""
    n = effort.entries // 100
    t = np.linspace(0.0, 4.0, 40)
    y = (1.0 + _random(n)) * np.exp(-(0.3 + 2.0 * _random(n)) * t[:, None]) + 0.1
    return _against_loop(
        effort,
        "optimize.least_squares_batched(f, start)",
        n,
        lambda i: scipy.optimize.least_squares(
            lambda p: p[0] * np.exp(-p[1] * t) + p[2] - y[:, i], np.ones(3), method="lm"
        ),
        f=lambda p: p[0] * np.exp(-p[1] * t[:, None]) + p[2] - y,
        start=np.ones((3, n)),
    )


def _random(n: int) -> Any:
    return np.random.default_rng(n).random(n)


def _against_loop(effort: Effort, ours: str, problems: int, solve: Callable[[int], Any], **names: Any) -> Rounds:
    looped = min(LOOPED, problems)
    rounds = _measure(effort, ours, "for i in range(looped): solve(i)", looped=looped, solve=solve, **names)
    return [(batch, loop / looped * problems) for batch, loop in rounds]


def _measure(effort: Effort, ours: str, theirs: str, **names: Any) -> Rounds:
    names |= {"optimize": optimize, "integrate": integrate, "np": np, "scipy": scipy}
    return measure(effort, statement(ours, **names), statement(theirs, **names))
