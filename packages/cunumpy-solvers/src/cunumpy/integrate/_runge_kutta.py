"""Runge-Kutta methods for many small systems of differential equations at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.optimize._batched import (
    ACTIVE,
    CONVERGED,
    NO_SIGN_CHANGE,
    NOT_FINITE,
    ROUNDING,
    Batch,
    Callback,
    Flags,
    as_args,
    as_count,
    as_tolerance,
    batch_of,
    complex_dtype,
    finish,
    real_dtype,
    warn_of_some,
)
from cunumpy.optimize._bracketing import Chandrupatla
from cunumpy.optimize._progress import Progress
from cunumpy.optimize._results import Printed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["BatchedDenseOutput", "BatchedOdeResult", "FixedStepResult", "rk4", "solve_ivp_batched"]

# J. R. Dormand and P. J. Prince, J. Comput. Appl. Math. 6, 19 (1980): the pair of orders 5 and 4 with seven stages.
_C = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_A = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_E = (-71 / 57600, 0.0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40)
# L. F. Shampine, Math. Comp. 46, 135 (1986): the interpolant of order 4, in powers of the part of the step.
_P = (
    (1.0, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432),
    (0.0, 0.0, 0.0, 0.0),
    (0.0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799),
    (0.0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072),
    (0.0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632),
    (0.0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844),
    (0.0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423),
)
_SAFETY, _LEAST, _MOST = 0.9, 0.2, 10.0
_KEPT_STEPS = 32  # steps whose interpolants are kept until the times asked for are filled in
_MOST_VALUES = 1 << 22  # at a time, when these are

TERMINATED = 50  # the state of systems that an event has stopped; its status is 1


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
                y, k = _first_derivative(call, t, y)
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
    solver = _Solver(batch, call, t_span, y, rtol, atol, first_step, max_step)
    times = None if t_eval is None else _times(batch, t_eval, solver)
    xp = batch.xp
    with batch.running(), Progress(progress, function, "round", max_steps) as bar, np.errstate(all="ignore"):
        solver.begin()
        output = None if times is None else _Output(solver, times, flags.check_every != 0)
        found = [_Event(solver, event, i, args) for i, event in enumerate(functions)]
        segments: list[_Segment] = []
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
                    flag = xp.where(mask, np.int8(_EVENTFUL), flag)
                largest = batch.read(flag.max(), "flag of the round")
                if largest == _EVENTFUL:
                    _locate(solver, found, happened, segment)
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


_EVENTFUL = 120  # instead of the state, of systems with an event in the last step


@dataclass(eq=False)
class _Segment:
    """One step of every system; those that did not step have a width of zero."""

    left: Any  # where it begins, and where it ends: behind an event that ends the system there is nothing
    right: Any
    step: Any
    y: Any
    stages: list[Any] | None
    accepted: Any
    powers: Any = None  # the interpolant's coefficients, shape (4, n, *batch), once it is needed

    def prepare(self, xp: Any) -> None:
        if self.stages is not None:
            accepted, zero = self.accepted, self.y.dtype.type(0)
            powers = [_combination(self.stages, [row[power] for row in _P]) for power in range(4)]
            self.powers = xp.stack([xp.where(accepted, each, zero) for each in powers])
            self.stages = None

    def at(self, xp: Any, part: Any) -> Any:
        """Return the solution at a part of the step of each system."""
        self.prepare(xp)
        q = self.powers
        return self.y + self.step * part * (q[0] + part * (q[1] + part * (q[2] + part * q[3])))


class _Solver:
    """The state of all systems, and how they step."""

    def __init__(
        self,
        batch: Batch,
        call: Callback,
        t_span: Any,
        y: Any,
        rtol: Any,
        atol: Any,
        first_step: Any,
        max_step: Any,
    ) -> None:
        xp, function = batch.xp, batch.function
        self.batch, self.xp, self.call, self.y = batch, xp, call, y
        self.dtype = real_dtype(y.dtype)
        shape = y.shape[1:]
        ends = []
        try:
            first, last = t_span
        except (TypeError, ValueError):
            raise ArgumentError(
                f"{function}: argument 't_span' must be a pair of a first and a last time, got {_gate.given(t_span)}."
            ) from None
        for name, value in (("t_span[0]", first), ("t_span[1]", last)):
            array = batch.array(value, name, kinds="biuf").astype(self.dtype)
            try:
                ends.append(xp.array(xp.broadcast_to(array, shape)))
            except ValueError:
                raise ArgumentError(
                    f"{function}: argument {name!r} of shape {array.shape} can't be broadcast to the shape {shape} of "
                    "the systems, that of 'y0' without its first axis."
                ) from None
        self.t, self.end = ends
        self.start = self.t
        self.direction = xp.where(self.end < self.t, self.dtype.type(-1), self.dtype.type(1))
        self.rtol = max(as_tolerance(rtol, "rtol", function), 100 * float(np.finfo(self.dtype).eps))
        bound = batch.array(atol, "atol", kinds="biuf").astype(self.dtype)
        if not _arrays.is_device_array(atol) and not np.all((np.asarray(atol) >= 0) & np.isfinite(atol)):
            raise ArgumentError(
                f"{function}: argument 'atol' must be 0 or positive and finite, got {_gate.given(atol)}."
            )
        if bound.ndim > 1 or (bound.ndim == 1 and bound.shape != y.shape[:1]):
            raise ArgumentError(
                f"{function}: argument 'atol' must be a number or have a value for each of the {y.shape[0]} "
                f"components, got shape {bound.shape}."
            )
        self.atol = bound.reshape(bound.shape + (1,) * (y.ndim - 1)) if bound.ndim else bound
        self.max_step = np.inf if max_step == np.inf else as_tolerance(max_step, "max_step", function, positive=True)
        self.first_step = None
        if first_step is not None:
            self.first_step = as_tolerance(first_step, "first_step", function, positive=True)
        self.state = xp.full(shape, np.int8(ACTIVE))
        self.steps = xp.zeros(shape, np.int32)
        self.rejected = xp.zeros(shape, np.int32)

    def begin(self) -> None:
        """Evaluate at the start and choose the first steps."""
        xp = self.xp
        self.y, self.k = _first_derivative(self.call, self.t, self.y)
        finite = xp.isfinite(self.k).all(axis=0) & xp.isfinite(self.y).all(axis=0)
        finite = finite & xp.isfinite(self.t) & ~xp.isnan(self.end)
        self.state = xp.where(finite, self.state, np.int8(NOT_FINITE))
        self.state = xp.where(self.t == self.end, np.int8(CONVERGED), self.state)
        interval = xp.abs(self.end - self.t)
        if self.first_step is None:
            self.h = self._first_step(interval)
        else:
            self.h = xp.minimum(interval, self.dtype.type(self.first_step))
        self.fresh = xp.ones(self.t.shape, np.bool_)  # whether the last try was no failure

    def _first_step(self, interval: Any) -> Any:
        """Choose as SciPy does: E. Hairer et al., Solving Ordinary Differential Equations I, II.4."""
        xp, y, k = self.xp, self.y, self.k
        scale = self.atol + xp.abs(y) * self.rtol
        d0, d1 = _norm(xp, y / scale), _norm(xp, k / scale)
        small = (d0 < 1e-5) | (d1 < 1e-5)
        h0 = xp.minimum(xp.where(small, 1e-6, 0.01 * d0 / xp.where(small, 1, d1)), interval).astype(self.dtype)
        there = self._derivative(self.t + h0 * self.direction, y + h0 * self.direction * k)
        d2 = _norm(xp, (there - k) / scale) / h0
        largest = xp.maximum(d1, d2)
        h1 = xp.where(largest <= 1e-15, xp.maximum(1e-6, h0 * 1e-3), (0.01 / largest) ** (1 / 5))
        h = xp.minimum(xp.minimum(100 * h0, h1), xp.minimum(interval, self.max_step))
        return xp.where(xp.isfinite(h), h, h0).astype(self.dtype)

    def step(self) -> _Segment:
        """Try one step of every active system."""
        xp, t, y, real = self.xp, self.t, self.y, self.dtype.type
        active = self.state == ACTIVE
        least = 10 * xp.abs(xp.nextafter(t, self.direction * real(np.inf)) - t)
        h = xp.where(self.fresh, xp.minimum(xp.maximum(self.h, least), real(self.max_step)), self.h)
        hopeless = active & ~self.fresh & ~(h >= least)  # NaN as well
        t_new = t + self.direction * h
        at_end = self.direction * (t_new - self.end) >= 0
        t_new = xp.where(at_end, self.end, t_new)
        step = xp.where(active, t_new - t, real(0))
        stages = [self.k]
        for c, row in zip(_C[1:], _A[1:], strict=True):
            increment = _combination(stages, row)
            increment *= step
            increment += y
            if len(stages) < 6:
                stages.append(self._derivative(t + real(c) * step, increment))
        y_new = increment
        stages.append(self._derivative(t + step, y_new))
        error = _combination(stages, _E)
        error *= step
        scale = xp.maximum(xp.abs(y), xp.abs(y_new))
        scale *= self.rtol
        scale += self.atol
        norm = _norm(xp, error / scale)
        accepted = active & (norm < 1) & ~hopeless
        power = real(_SAFETY) * norm ** real(-1 / 5)
        growth = xp.where(norm == 0, real(_MOST), xp.minimum(real(_MOST), power))
        growth = xp.where(self.fresh, growth, xp.minimum(growth, real(1)))
        shrink = xp.where(xp.isfinite(power), xp.maximum(real(_LEAST), power), real(_LEAST))
        shrink = xp.minimum(shrink, real(1))
        self.h = xp.where(active, xp.abs(step) * xp.where(accepted, growth, shrink), self.h)
        failed = xp.where(xp.isfinite(norm), np.int8(ROUNDING), np.int8(NOT_FINITE))
        self.state = xp.where(hopeless, failed, self.state)
        self.state = xp.where(accepted & at_end, np.int8(CONVERGED), self.state)
        self.fresh = accepted | ~active
        self.steps = self.steps + accepted
        self.rejected = self.rejected + (active & ~accepted)
        self.t = xp.where(accepted, t_new, t)
        self.y = xp.where(accepted, y_new, y)
        self.k = xp.where(accepted, stages[6], self.k)
        return _Segment(t, self.t, step, y, stages, accepted)

    def _derivative(self, t: Any, y: Any) -> Any:
        return self.call.kept(self.y.dtype, t, y)


class _Event:
    """One event function: its values at the last step, and where it was zero."""

    def __init__(self, solver: _Solver, function: Any, index: int, args: tuple[Any, ...]) -> None:
        self.solver = solver
        terminal = getattr(function, "terminal", False)
        self.terminal = 0 if not terminal else as_count(int(terminal), "terminal", solver.batch.function)
        self.direction = getattr(function, "direction", 0) or 0
        self.call = Callback(function, f"events[{index}]", solver.batch, solver.t.shape, args, kinds="biuf")
        self.times: list[Any] = []
        self.states: list[Any] = []
        self.counts = solver.xp.zeros(solver.t.shape, np.int32)
        self.value = self(solver.t, solver.y)

    def __call__(self, t: Any, y: Any) -> Any:
        return self.call.kept(self.solver.dtype, t, y)

    def happened(self, segment: _Segment) -> Any:
        """Evaluate at the new step and tell which systems have an event in it."""
        self.before, self.value = self.value, self(self.solver.t, self.solver.y)
        up = (self.before <= 0) & (self.value >= 0)
        down = (self.before >= 0) & (self.value <= 0)
        change = up if self.direction > 0 else down if self.direction < 0 else up | down
        return change & segment.accepted

    def result(self) -> tuple[Any, Any]:
        """Return times and states, those of a system one after the other, filled up with NaN."""
        solver = self.solver
        xp, n, shape = solver.xp, solver.y.shape[0], solver.t.shape
        if not self.times:
            return xp.empty((0, *shape), solver.dtype), xp.empty((0, n, *shape), solver.y.dtype)
        times, states = xp.stack(self.times), xp.stack(self.states)
        order = xp.argsort(xp.isnan(times).astype(np.int8), axis=0, kind="stable")
        most = solver.batch.read(self.counts.max(), "most events of a system") if times.size else 0
        order = order[:most]
        times = xp.take_along_axis(times, order, axis=0)
        return times, xp.take_along_axis(states, order[:, None], axis=0)


def _locate(solver: _Solver, events: list[_Event], happened: list[Any], segment: _Segment) -> None:
    """Find the events of the last step; keep them, and end systems at the first one that is terminal."""
    xp, batch, real = solver.xp, solver.batch, solver.dtype.type
    tolerance = 4 * float(np.finfo(solver.dtype).eps)
    parts = []
    for event, mask in zip(events, happened, strict=True):
        zero, one = xp.zeros(solver.t.shape, solver.dtype), xp.ones(solver.t.shape, solver.dtype)
        search = Chandrupatla(batch, zero, one, event.before, event.value, tolerance, tolerance, 0.0)
        search.state = xp.where(mask | (search.state == CONVERGED), search.state, np.int8(NO_SIGN_CHANGE))
        for _ in range(60):
            if batch.read(search.state.max(), "flag of the search for events") != ACTIVE:
                break
            part = search.next()
            search.take(event(segment.left + part * segment.step, segment.at(xp, part)))
        parts.append(search.best())
    stop = xp.full(solver.t.shape, real(2))
    for event, mask, part in zip(events, happened, parts, strict=True):
        if event.terminal:
            stop = xp.where(mask & (event.counts + 1 >= event.terminal), xp.minimum(stop, part), stop)
    nan = real(np.nan)
    for event, mask, part in zip(events, happened, parts, strict=True):
        seen = mask & (part <= stop)
        event.counts = event.counts + seen
        event.times.append(xp.where(seen, segment.left + part * segment.step, nan))
        event.states.append(xp.where(seen, segment.at(xp, part), nan))
    stopped = stop <= 1
    stop = xp.where(stopped, stop, real(0))
    solver.t = xp.where(stopped, segment.left + stop * segment.step, solver.t)
    solver.y = xp.where(stopped, segment.at(xp, stop), solver.y)
    solver.state = xp.where(stopped, np.int8(TERMINATED), solver.state)
    segment.right = solver.t


class BatchedDenseOutput:
    """The continuous solution of `solve_ivp_batched`: call it with times.

    Parameters
    ----------
    solver, segments
        The state of the solve and its steps, as `solve_ivp_batched` has them.

    Examples
    --------
    >>> import cunumpy as xp
    >>> start = xp.ones((1, 2))
    >>> result = xp.integrate.solve_ivp_batched(lambda t, y: -y, (0.0, 1.0), start, dense_output=True, rtol=1e-8)
    >>> result.sol(0.5).round(6)
    array([[0.606531, 0.606531]])
    """

    def __init__(self, solver: Any, segments: Sequence[Any]) -> None:
        xp = solver.xp
        self._batch = solver.batch
        self._shape = solver.y.shape
        n = self._shape[0]
        self._dtype = solver.dtype
        count = len(segments)
        for segment in segments:
            segment.prepare(xp)
        self._direction = solver.direction.reshape(-1)
        self._start = solver.start.reshape(-1)
        self._count = count
        if count:
            flat = self._direction.size
            self._left = xp.stack([s.left for s in segments]).reshape(count, flat)
            self._right = xp.stack([s.right for s in segments]).reshape(count, flat)
            self._step = xp.stack([s.step for s in segments]).reshape(count, flat)
            self._y = xp.stack([s.y for s in segments]).reshape(count, n, flat)
            self._powers = xp.stack([s.powers for s in segments]).reshape(count, 4, n, flat)

    def __call__(self, t: Any) -> Any:
        r"""Return the solution of all systems at a time, or at each of several times.

        Parameters
        ----------
        t : array_like
            A number, or an array of one dimension.

        Returns
        -------
        ndarray
            Of shape (n, \*batch), with the times on a last axis; NaN where a system did not come.
        """
        times = self._batch.array(t, "t", kinds="biuf").astype(self._dtype)
        if times.ndim > 1:
            raise ArgumentError(
                f"BatchedDenseOutput: argument 't' must be a number or have one dimension, got shape {times.shape}."
            )
        with np.errstate(all="ignore"):
            values = self._at(times.reshape(-1))
        values = self._batch.xp.moveaxis(values.reshape(times.size, *self._shape), 0, -1)
        return values if times.ndim else values[..., 0]

    def __repr__(self) -> str:
        return f"BatchedDenseOutput(shape={self._shape}, steps={self._count})"

    def _at(self, times: Any) -> Any:
        """Return the solution at times, shape (times, n, systems)."""
        xp = self._batch.xp
        n, flat = self._shape[0], self._direction.size
        pieces = max(1, _MOST_VALUES // max(1, 6 * n * flat))
        found = [self._piece(times[i : i + pieces]) for i in range(0, times.size, pieces)]
        return xp.concatenate(found) if found else xp.empty((0, n, flat), self._dtype)

    def _piece(self, times: Any) -> Any:
        xp = self._batch.xp
        n, flat = self._shape[0], self._direction.size
        if not self._count:
            return xp.full((times.size, n, flat), self._dtype.type(np.nan))
        columns = xp.arange(flat)
        wanted = times[:, None] * self._direction
        low = xp.zeros(wanted.shape, np.int64)
        high = xp.full(wanted.shape, np.int64(self._count))
        for _ in range(self._count.bit_length()):  # the first step that ends at or behind a time
            middle = (low + high) >> 1
            inside = xp.minimum(middle, self._count - 1)
            before = (self._right[inside, columns] * self._direction < wanted) & (low < high)
            low, high = xp.where(before, middle + 1, low), xp.where(before, high, middle)
        index = xp.minimum(low, self._count - 1)
        left, step = self._left[index, columns], self._step[index, columns]
        part = (times[:, None] - left) / xp.where(step == 0, self._dtype.type(1), step)
        y = xp.moveaxis(self._y[index, :, columns], -1, 1)
        q = [xp.moveaxis(self._powers[index, power, :, columns], -1, 1) for power in range(4)]
        x = part[:, None]
        values = y + (step * part)[:, None] * (q[0] + x * (q[1] + x * (q[2] + x * q[3])))
        outside = (low == self._count) | (wanted < self._left[0] * self._direction)
        return xp.where(outside[:, None], self._dtype.type(np.nan), values)


class _Output:
    """The solution at the times that were asked for, filled in as far as the systems have come."""

    def __init__(self, solver: _Solver, times: Any, may_read: bool) -> None:
        xp = self.xp = solver.xp
        self.solver, self.times, self.may_read = solver, times, may_read
        self.values = xp.full((times.size, *solver.y.shape), solver.y.dtype.type(np.nan))
        first = times.reshape(-1, *(1,) * solver.t.ndim) == solver.t
        self.values = xp.where(first[:, None], solver.y, self.values)

    def fill(self, dense: BatchedDenseOutput) -> None:
        """Fill in what lies in the steps of an interpolant."""
        xp, times = self.xp, self.times
        if not dense._count or not times.size:
            return
        flat = self.values.reshape(times.size, self.solver.y.shape[0], -1)
        begin, end = dense._left[0], dense._right[-1]
        part = slice(None)
        order = None
        if self.may_read:
            ends = xp.stack([xp.minimum(begin, end).min(), xp.maximum(begin, end).max()])
            lowest, highest = self.solver.batch.read_all(ends, "times reached")
            lowest, highest = float(lowest), float(highest)
            order = [i for i, t in enumerate(self.host_times()) if lowest <= t <= highest]
            if not order:
                return
            if order == list(range(order[0], order[-1] + 1)):
                part, order = slice(order[0], order[-1] + 1), None
        picked = slice(None) if order is not None else part
        here = times[picked]
        values = dense._at(here)
        wanted = here[:, None] * dense._direction
        inside = (wanted > begin * dense._direction) & (wanted <= end * dense._direction)
        flat[picked] = xp.where(inside[:, None], values, flat[picked])
        self.values = flat.reshape(self.values.shape)

    def host_times(self) -> Any:
        if not hasattr(self, "_host"):
            self._host = self.solver.batch.read_all(self.times, "times asked for").tolist()
        return self._host

    def result(self) -> Any:
        return self.xp.moveaxis(self.values, 0, -1)


def _combination(arrays: Sequence[Any], weights: Sequence[float]) -> Any:
    """Return a sum of arrays with weights, a new array."""
    total: Any = None
    for array, weight in zip(arrays, weights, strict=True):
        if weight:
            if total is None:
                total = array * weight
            else:
                total += array * weight
    return total


def _norm(xp: Any, scaled: Any) -> Any:
    """Return the root mean square over the components."""
    size = xp.abs(scaled)
    size *= size
    return xp.sqrt(size.mean(axis=0))


def _first_derivative(call: Callback, t: Any, y: Any) -> tuple[Any, Any]:
    """Return start values, complex if their derivative is, and that derivative."""
    k = call(t, y)
    if k.dtype.kind == "c" and y.dtype.kind != "c":
        y = y.astype(complex_dtype(y.dtype))
    return y, k.astype(y.dtype, order="C", copy=True)


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


def _times(batch: Batch, t_eval: Any, solver: _Solver) -> Any:
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
