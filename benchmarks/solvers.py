"""Batched solvers against SciPy: against its own vectorised ones, and against a loop over its scalar ones.

Each function measures one row of the table in `benchmarks.rows`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize

from benchmarks._measure import Effort, Rounds, measure, statement
from cunumpy import optimize


def newton(effort: Effort, *, slope: bool) -> Rounds:
    """``newton`` for roots of ``x^3 - a``, with the derivative or by the secant method, against SciPy's on arrays."""
    a = 1.0 + 99.0 * np.random.default_rng(1).random(effort.entries)
    names = {
        "f": lambda x: x * x * x - a,
        "fprime": (lambda x: 3.0 * x * x) if slope else None,
        "start": np.full(effort.entries, 3.0),
    }
    return _measure(
        effort,
        "optimize.newton(f, start, fprime)",
        "scipy.optimize.newton(f, start, fprime)",
        **names,
    )


def _measure(effort: Effort, ours: str, theirs: str, **names: Any) -> Rounds:
    names |= {"optimize": optimize, "np": np, "scipy": scipy}
    return measure(effort, statement(ours, **names), statement(theirs, **names))
