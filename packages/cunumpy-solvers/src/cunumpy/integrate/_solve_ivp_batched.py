"""Initial value problems of many small systems of differential equations at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy._gate import as_truth
from cunumpy._progress import Progress
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.integrate._dense_output import BatchedDenseOutput, SolutionAtTimes
from cunumpy.integrate._ivp_events import EVENTFUL, TERMINATED, Event, locate
from cunumpy.integrate._runge_kutta import Solver
from cunumpy.optimize._batched import (
    ACTIVE,
    CONVERGED,
    Batch,
    Callback,
    Flags,
    as_args,
    as_count,
    batch_of,
    finish,
    warn_of_some,
)
from cunumpy.optimize._results import Printed

if TYPE_CHECKING:
    from collections.abc import Callable

    from cunumpy.integrate._runge_kutta import Segment

__all__ = ["BatchedOdeResult", "solve_ivp_batched"]

_KEPT_STEPS = 32  # steps whose interpolants are kept until the times asked for are filled in


@dataclass(repr=False, eq=False)
class BatchedOdeResult(Printed):
    r"""What `solve_ivp_batched` returns; "batch" is the shape of the start values without its first axis.

    Parameters
    ----------
    t : ndarray
        The times that were asked for; without any, the time that each system has reached, of shape batch.
    y : ndarray
        The solution there: of shape (n, \*batch, times), NaN behind the end of a system; without times asked for of
        shape (n, \*batch).
    status : ndarray of int8
        0 the end was reached, 1 an event ended it, -2 limit of steps, -3 a value is not finite, -6 the step that the
        tolerance needs is too small for the numbers.
    success : ndarray of bool
        Whether `status` is not negative.
    steps, rejected : ndarray of int32
        Number of accepted and of rejected steps of each system.
    nfev : int
        Number of calls of the function, for all systems together.
    nit : int
        Number of rounds, in each of which every system tries one step.
    sol : BatchedDenseOutput, optional
        The continuous solution, with ``dense_output=True``.
    t_events, y_events : list of ndarray, optional
        Of each event function the times, of shape (k, \*batch), and states, (k, n, \*batch), of its events, filled
        up with NaN; k is the most that a system had.

    Examples
    --------
    >>> import cunumpy as xp
    >>> result = xp.integrate.solve_ivp_batched(lambda t, y: -y, (0.0, 1.0), xp.ones((1, 2)), rtol=1e-6)
    >>> result.success, result.y.round(4)
    (array([ True,  True]), array([[0.3679, 0.3679]]))
    """

    t: Any
    y: Any
    status: Any
    success: Any
    steps: Any
    rejected: Any
    nfev: int
    nit: int
    sol: BatchedDenseOutput | None = None
    t_events: list[Any] | None = None
    y_events: list[Any] | None = None


def solve_ivp_batched(
    fun: Callable[..., Any],
    t_span: tuple[Any, Any],
    y0: Any,
    *,
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    args: tuple[Any, ...] = (),
    rtol: float = 1e-3,
    atol: Any = 1e-6,
    first_step: float | None = None,
    max_step: float = np.inf,
    max_steps: int = 10_000,
    check_every: int = 1,
    disp: bool = True,
    progress: bool = False,
) -> BatchedOdeResult:
    r"""Integrate many small systems of differential equations at once, each with steps of its own.

    Parameters
    ----------
    fun : callable
        ``fun(t, y, *args)`` gives the derivative, of the shape of `y`, which is that of `y0`: components on the first
        axis, systems on the others. `t` has the shape of the systems, since each is at a time of its own. A function
        for SciPy's ``vectorized=True`` that calculates elementwise with `t` serves as it is. It must not write to `t`
        and `y`, but may return the same array again and again.
    t_span : pair of float or array_like
        First and last time, for all systems or for each. Integration may go backwards, and to an infinite time where
        an event ends it.
    y0 : array_like, shape (n, \*batch)
        Start values, of n components. Arrays decide on the backend.
    t_eval : array_like, shape (times,), optional
        Times of the result, between the first and the last one, in any order.
    dense_output : bool
        Whether the result has the continuous solution, which keeps ``5 n + 3`` numbers for each step of each system.
    events : callable or sequence of callables, optional
        ``event(t, y, *args)`` gives a real number for each system; its changes of sign are located. Attributes of the
        function: ``terminal`` (True, or the number of the event that ends a system) and ``direction`` (positive: only
        from negative to positive; negative: only the other way).
    args : tuple
        Further arguments of the callbacks, passed as they are.
    rtol, atol : float, float or array_like
        The error of a step is kept below ``atol + rtol * abs(y)``; `atol` may be given for each component, shape (n,).
    first_step : float, optional
        Size of the first step, by default chosen for each system.
    max_step : float
        Largest step.
    max_steps : int
        Most steps of a system, rejected ones included.
    check_every : int
        Rounds between two looks whether all systems are done, each of them one wait on the device; 0 for none, when
        exactly `max_steps` rounds are made. With events it has to be 1.
    disp : bool
        Warn of systems that did not reach the end.
    progress : bool
        Show a bar of progress.

    Returns
    -------
    BatchedOdeResult
        In the dtype of `y0`; integers become float64, and complex derivatives make it complex.

    Warns
    -----
    ConvergenceWarning
        Some systems did not reach the end.

    Raises
    ------
    ArgumentError, ArgumentTypeError, MixedBackendError
        As `newton` of `cunumpy.optimize`.

    Notes
    -----
    Dormand and Prince's pair of orders 5 and 4 with its interpolant of order 4, and the choice of steps of
    `scipy.integrate.solve_ivp` (RK45): a single system takes SciPy's steps. Every round is six calls of `fun` on all
    systems; those that are done stay where they are. For stiff systems see `solve_ivp`.

    On the device a round waits once, recorded as ``sync``; one in which events happen some ten times more, and every
    32 rounds once more with `t_eval`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> rate = xp.asarray([0.5, 1.0, 30.0])
    >>> result = xp.integrate.solve_ivp_batched(lambda t, y: -rate * y, (0.0, 2.0), xp.ones((1, 3)), rtol=1e-6)
    >>> result.y.round(4), bool(result.steps[2] > result.steps[0])
    (array([[0.3679, 0.1353, 0.    ]]), True)
    """
    function = "solve_ivp_batched"
    dense_output = as_truth(dense_output, function=function, argument="dense_output")
    disp = as_truth(disp, function=function, argument="disp")
    progress = as_truth(progress, function=function, argument="progress")
    batch = batch_of(function, y0=y0)
    args = as_args(args, function)
    y = batch.floating(batch.array(y0, "y0"))
    if y.ndim < 1:
        raise ArgumentError(
            f"{function}: argument 'y0' must have its components on the first axis, got a number; write [y0]."
        )
    if y.shape[0] == 0:
        raise ArgumentError(f"{function}: argument 'y0' must have at least one component, got shape {y.shape}.")
    flags = Flags(batch, check_every)
    max_steps = as_count(max_steps, "max_steps", function)
    functions = _as_events(function, events)
    if functions and flags.check_every != 1:
        raise ArgumentError(f"{function}: argument 'check_every' must be 1 with events, got {check_every}.")
    call = Callback(fun, "fun", batch, y.shape, args)
    solver = Solver(batch, call, t_span, y, rtol, atol, first_step, max_step)
    times = None if t_eval is None else _times(batch, t_eval, solver)
    xp = batch.xp
    with batch.running(), Progress(progress, function, "round", max_steps) as bar, np.errstate(all="ignore"):
        solver.begin()
        output = None if times is None else SolutionAtTimes(solver, times, flags.check_every != 0)
        found = [Event(solver, event, i, args) for i, event in enumerate(functions)]
        segments: list[Segment] = []
        rounds = 0
        going = bool(solver.t.size)
        while going:
            segment = solver.step()
            rounds += 1
            bar.step()
            if found:
                happened = [event.happened(segment) for event in found]
                flag = solver.state
                for mask in happened:
                    flag = xp.where(mask, np.int8(EVENTFUL), flag)
                largest = batch.read(flag.max(), "flag of the round")
                if largest == EVENTFUL:
                    locate(solver, found, happened, segment)
                    largest = batch.read(solver.state.max(), "flag of the round")
                going = largest == ACTIVE and rounds < max_steps
            else:
                going = flags.go_on(lambda: solver.state, rounds, rounds == max_steps)
            if output is not None or dense_output:
                segments.append(segment)
            if output is not None and not dense_output and (len(segments) == _KEPT_STEPS or not going):
                output.fill(BatchedDenseOutput(solver, segments))
                segments = []
        sol = BatchedDenseOutput(solver, segments) if dense_output else None
        if output is not None and sol is not None:
            output.fill(sol)
        failed = (solver.state != CONVERGED) & (solver.state != TERMINATED)
        status = xp.where(solver.state == TERMINATED, np.int8(1), finish(batch, solver.state))
        result = BatchedOdeResult(
            solver.t if output is None else output.times,
            solver.y if output is None else output.result(),
            status,
            ~failed,
            solver.steps,
            solver.rejected,
            call.calls,
            rounds,
            sol,
        )
        if found:
            results = [event.result() for event in found]
            result.t_events, result.y_events = [t for t, _ in results], [y for _, y in results]
        if disp and flags.check_every:
            warn_of_some(batch, result.success, "systems did not reach the end")
    return result


def _times(batch: Batch, t_eval: Any, solver: Solver) -> Any:
    times = batch.array(t_eval, "t_eval", kinds="biuf").astype(solver.dtype)
    if times.ndim != 1:
        raise ArgumentError(f"{batch.function}: argument 't_eval' must have one dimension, got shape {times.shape}.")
    return times


def _as_events(function: str, events: Any) -> list[Any]:
    if events is None:
        return []
    if callable(events):
        return [events]
    if not isinstance(events, (list, tuple)):
        raise ArgumentTypeError(f"{function}: argument 'events' must be a function or a list of functions.")
    return list(events)
