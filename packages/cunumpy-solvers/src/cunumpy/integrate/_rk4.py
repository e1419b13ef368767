"""The classical Runge-Kutta method, with steps of one size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _gate
from cunumpy._progress import Progress
from cunumpy.errors import ArgumentError
from cunumpy.integrate._runge_kutta import first_derivative
from cunumpy.optimize._batched import Callback, as_args, as_count, batch_of, real_dtype
from cunumpy.optimize._results import Printed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FixedStepResult", "rk4"]


@dataclass(repr=False, eq=False)
class FixedStepResult(Printed):
    """What `rk4` returns.

    Parameters
    ----------
    t : ndarray
        The times of `y`.
    y : ndarray
        The solution: of the shape of the start value at the end, or with ``save_every`` with the times on a last axis.
    nfev : int
        Number of calls of the function.

    Examples
    --------
    >>> import cunumpy as xp
    >>> print(xp.integrate.rk4(lambda t, y: -y, (0.0, 1.0), xp.ones((1, 2)), 10))
    FixedStepResult
       t: 1.0
       y: [[0.36787977 0.36787977]]
    nfev: 40
    """

    t: Any
    y: Any
    nfev: int


def rk4(
    fun: Callable[..., Any],
    t_span: tuple[Any, Any],
    y0: Any,
    steps: int,
    args: tuple[Any, ...] = (),
    *,
    save_every: int | None = None,
    progress: bool = False,
) -> FixedStepResult:
    """Integrate differential equations by the classical Runge-Kutta method of order 4, with steps of one size.

    Parameters
    ----------
    fun : callable
        ``fun(t, y, *args)`` gives the derivative, of the shape of `y`, which is that of `y0`; `t` is a float. It must
        not write to `y`.
    t_span : pair of float
        First and last time.
    y0 : array_like
        Start values, of any shape. Arrays decide on the backend.
    steps : int
        Number of steps.
    args : tuple
        Further arguments of `fun`, passed as they are.
    save_every : int, optional
        Keep the solution after every so many steps, and at the start. By default only the last one is kept.
    progress : bool
        Show a bar of progress.

    Returns
    -------
    FixedStepResult
        In the dtype of `y0`; integers become float64.

    Notes
    -----
    Nothing is read from the device, and nothing waits. The error shrinks with the fourth power of the step.

    Examples
    --------
    >>> import cunumpy as xp
    >>> frequency = xp.asarray([1.0, 2.0])
    >>> def oscillator(t, y):
    ...     position, velocity = y
    ...     return xp.stack([velocity, -(frequency**2) * position])
    >>> start = xp.stack([xp.ones(2), xp.zeros(2)])
    >>> xp.integrate.rk4(oscillator, (0.0, xp.pi), start, 100).y[0].round(5)
    array([-1.,  1.])
    """
    function = "rk4"
    progress = _gate.as_truth(progress, function=function, argument="progress")
    batch = batch_of(function, y0=y0)
    xp = batch.xp
    args, steps = as_args(args, function), as_count(steps, "steps", function)
    if save_every is not None:
        save_every = as_count(save_every, "save_every", function)
    first, last = _span(function, t_span)
    y = batch.floating(batch.array(y0, "y0"))
    call = Callback(fun, "fun", batch, y.shape, args)
    h = (last - first) / steps
    saved: list[Any] = [y]
    with batch.running(), Progress(progress, function, "step", steps) as bar:
        dtype = real_dtype(y.dtype).type
        for step in range(steps):
            t = first + step * h
            if step == 0:
                y, k = first_derivative(call, t, y)
            else:
                k = call.kept(y.dtype, t, y)
            increment = k.copy()
            for part, weight in ((0.5, 2), (0.5, 2), (1.0, 1)):
                k *= dtype(part * h)
                k += y
                k = call.kept(y.dtype, t + part * h, k)
                increment += k if weight == 1 else weight * k
            increment *= dtype(h / 6)
            increment += y
            y = increment
            bar.step()
            if save_every is not None and (step + 1) % save_every == 0:
                saved.append(y)
        if save_every is None:
            return FixedStepResult(last, y, call.calls)
        saved[0] = saved[0].astype(y.dtype)
        t_saved = first + save_every * h * xp.arange(len(saved), dtype=real_dtype(y.dtype))
        return FixedStepResult(t_saved, xp.stack(saved, axis=-1), call.calls)


def _span(function: str, t_span: Any) -> tuple[float, float]:
    try:
        first, last = (float(end) for end in t_span)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{function}: argument 't_span' must be a pair of numbers, a first and a last time, got "
            f"{_gate.given(t_span)}."
        ) from None
    if not (np.isfinite(first) and np.isfinite(last)):
        raise ArgumentError(f"{function}: argument 't_span' must be finite, got ({first}, {last}).")
    return first, last
