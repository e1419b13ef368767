"""Newton's method, Halley's and the secant method for many scalar equations at once."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cunumpy._gate import as_truth
from cunumpy._progress import Progress
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.optimize._batched import (
    ACTIVE,
    CONVERGED,
    NOT_FINITE,
    ZERO_DERIVATIVE,
    Batch,
    Callback,
    Flags,
    as_args,
    as_bounds,
    as_count,
    as_tolerance,
    batch_of,
    complex_dtype,
    finish,
    warn_of_failures,
)
from cunumpy.optimize._results import printed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NewtonResult", "newton"]

_BLOCK = 16384  # points whose temporary arrays stay in a processor's cache
_PRODUCT = 8192  # points of one scalar product, which BLAS leaves to a single thread
_TOLERANCE = 1.48e-8  # SciPy's


class _Fields(NamedTuple):
    root: Any
    converged: Any
    zero_der: Any


class NewtonResult(_Fields):
    """What `newton` found, with ``full_output=True``: a tuple of the first three, with further attributes.

    Parameters
    ----------
    root : ndarray
        The roots; of points that failed, the last iterate at which everything was finite.
    converged : ndarray of bool
        Whether the step became smaller than the tolerance, or the function is exactly zero there.
    zero_der : ndarray of bool
        Whether a point failed because its derivative, or the slope of its secant, is zero.
    status : ndarray of int8, optional
        0 converged, -2 iteration limit, -3 a value or step that is not finite, -5 zero derivative.
    nit : int, optional
        Number of iterations.
    nfev : int, optional
        Number of calls of the function.

    Examples
    --------
    >>> import cunumpy as xp
    >>> result = xp.optimize.newton(lambda x: x * x - 2.0, xp.ones(1), full_output=True)
    >>> root, converged, zero_der = result
    >>> converged, result.status, result.nfev
    (array([ True]), array([0], dtype=int8), 7)
    """

    status: Any
    nit: int | None
    nfev: int | None

    def __new__(
        cls,
        root: Any,
        converged: Any,
        zero_der: Any,
        status: Any = None,
        nit: int | None = None,
        nfev: int | None = None,
    ) -> NewtonResult:
        """Make the tuple and keep the other attributes beside it."""
        self = super().__new__(cls, root, converged, zero_der)
        self.status, self.nit, self.nfev = status, nit, nfev
        return self

    def __getnewargs__(self) -> Any:
        return (*self, self.status, self.nit, self.nfev)

    def __repr__(self) -> str:
        return printed("NewtonResult", {name: getattr(self, name) for name in (*self._fields, "status", "nit", "nfev")})


def newton(
    func: Callable[..., Any],
    x0: Any,
    fprime: Callable[..., Any] | None = None,
    args: tuple[Any, ...] = (),
    tol: float | None = None,
    maxiter: int = 50,
    rtol: float = 0.0,
    full_output: bool = False,
    *,
    fprime2: Callable[..., Any] | None = None,
    x1: Any = None,
    bounds: tuple[Any, Any] | None = None,
    damping: float = 1.0,
    disp: bool = True,
    check_every: int = 1,
    progress: bool = False,
) -> Any:
    """Find a zero of many scalar functions at once, from start values, on the backend of these.

    Newton's method with `fprime`, Halley's with `fprime2` as well, else the secant method. All points are evaluated
    in each iteration; those that have converged or failed do not move any more.

    Parameters
    ----------
    func : callable
        ``func(x, *args)`` gives one value for each entry of `x`, which always has the shape of `x0`; or a single
        number. Lists are accepted from host callbacks. It must not write to `x`, but may return the same array again
        and again.
    x0 : array_like
        Start values of any shape. A device array is solved on the device, a NumPy array on the host, numbers and
        lists on the active backend. Never modified.
    fprime, fprime2 : callable, optional
        First and second derivative, called as `func` is.
    args : tuple
        Further arguments of the callbacks, passed as they are.
    tol : float, optional
        A point has converged when its step is smaller than ``tol + rtol * abs(x)``, or its value exactly 0. Positive;
        by default 1.48e-8, and 3.45e-4 in single precision, so that the next step would be lost in rounding.
    maxiter : int
        Most iterations.
    rtol : float
        See `tol`.
    full_output : bool
        Return a `NewtonResult`, and do not warn.
    x1 : array_like, optional
        Second start values of the secant method; by default `x0` moved by ``eps**0.33``, absolutely and relatively.
    bounds : tuple of two array_like, optional
        Lower and upper bound of the iterates, broadcast with `x0`; real `x0` only. Of a step that would leave them only
        half the way to the bound is gone, which does not count as convergence.
    damping : float
        Factor of the steps, above 0 and at most 1. Below 1 convergence is linear, but more often reached from afar.
    disp : bool
        Warn of points that did not converge.
    check_every : int
        Iterations between two looks whether all points are done. On the device each look is one wait, recorded as
        ``sync``; with 0 there is none, exactly `maxiter` iterations are made, and nobody is warned.
    progress : bool
        Show a bar of progress.

    Returns
    -------
    ndarray or NewtonResult
        Roots in the shape of `x0`, 0-d for a number. float32, float64 and complex stay what they are, float16 becomes
        float32, integers float64; complex values of `func` make real start values complex.

    Warns
    -----
    ConvergenceWarning
        A `RuntimeWarning`: some points did not converge, unless ``full_output=True``.

    Raises
    ------
    ArgumentError
        Results of a wrong shape, or tolerances, bounds and counts out of range.
    ArgumentTypeError
        Arguments or results that are no numbers.
    MixedBackendError
        Arrays of the other backend than that of `x0`.

    Notes
    -----
    A point whose value, derivative or step is not finite has failed, and keeps its last iterate; NaN never counts as
    converged. Evaluations and, up to rounding, results are those of `scipy.optimize.newton` on arrays, where points
    that have converged go on moving until the last one has. Halley's correction is left out where it would reverse
    the step, as SciPy does for numbers.

    Memory: five arrays of the shape of `x0` beside those of the callbacks.

    Examples
    --------
    >>> import cunumpy as xp
    >>> a = xp.asarray([2.0, 3.0, 4.0])
    >>> xp.optimize.newton(lambda x: x * x - a, xp.ones(3), fprime=lambda x: 2.0 * x)
    array([1.41421356, 1.73205081, 2.        ])
    """
    full_output = as_truth(full_output, function="newton", argument="full_output")
    disp = as_truth(disp, function="newton", argument="disp")
    progress = as_truth(progress, function="newton", argument="progress")
    batch = batch_of("newton", x0=x0, x1=x1)
    function = batch.function
    args = as_args(args, function)
    tol = None if tol is None else as_tolerance(tol, "tol", function, positive=True)
    rtol = as_tolerance(rtol, "rtol", function)
    damping = as_tolerance(damping, "damping", function, positive=True)
    if damping > 1.0:
        raise ArgumentError(f"newton: argument 'damping' must be above 0 and at most 1, got {damping}.")
    maxiter = as_count(maxiter, "maxiter", function)
    if fprime2 is not None and fprime is None:
        raise ArgumentError("newton: argument 'fprime2' needs 'fprime' as well, for Halley's method.")
    if x1 is not None and fprime is not None:
        raise ArgumentError("newton: argument 'x1' is for the secant method, which is not used with 'fprime'.")
    flags = Flags(batch, check_every)
    start = batch.array(x0, "x0")
    if func is None:
        raise ArgumentTypeError("newton: argument 'func' must be a function, got None.")
    functions = [
        Callback(each, name, batch, start.shape, args)
        for name, each in {"func": func, "fprime": fprime, "fprime2": fprime2}.items()
        if each is not None
    ]
    x = batch.floating(start)
    if tol is None:
        info = np.finfo(x.dtype)
        tol = float(info.eps) ** 0.5 if info.dtype == np.float32 else _TOLERANCE
    if bounds is not None and x.dtype.kind == "c":
        raise ArgumentError("newton: argument 'bounds' is for real start values, and 'x0' is complex.")
    limits = as_bounds(batch, bounds, x)
    solver = _Newton(batch, functions, x, tol, rtol, damping, limits)
    with batch.running(), Progress(progress, function, "iteration", maxiter) as bar:
        if x.size:
            if fprime is None:
                solver.secant(x1, maxiter, flags, bar)
            else:
                solver.newton(maxiter, flags, bar)
        root = solver.x
        if not full_output:
            if disp and flags.largest not in (None, CONVERGED):
                warn_of_failures(batch, solver.state(), (ZERO_DERIVATIVE, NOT_FINITE))
            return root
        state = solver.state()
        return NewtonResult(
            root,
            state == CONVERGED,
            state == ZERO_DERIVATIVE,
            finish(batch, state),
            solver.iterations,
            functions[0].calls,
        )


class _Newton:
    """The iterates of all points and how they move.

    On the device all points are treated at once, with masks. On the host they are treated in blocks that stay in the
    cache; where nothing is amiss in a block, points at rest get a zero step instead of a mask.
    """

    def __init__(
        self,
        batch: Batch,
        functions: list[Callback],
        x: Any,
        tol: float,
        rtol: float,
        damping: float,
        limits: tuple[Any, Any] | None,
    ) -> None:
        xp = batch.xp
        self.batch = batch
        self.functions = functions
        self.limits = limits
        self.tol, self.rtol, self.damping = tol, rtol, damping
        self.x = self._within(x)
        self.active = xp.ones(x.shape, np.bool_)
        self.failure = xp.zeros(x.shape, np.int8)  # of points that are not active
        self.iterations = 0
        self.reused = False  # whether functions write their results to one array
        n = x.size
        blocks = max(1, n) if batch.on_device else _BLOCK
        self.parts = [slice(begin, begin + blocks) for begin in range(0, n, blocks)]
        self.left = [min(blocks, n - part.start) for part in self.parts]  # active points in each, or at most so many

    def state(self) -> Any:
        """Return the state of all points."""
        return self.batch.xp.where(self.active, np.int8(ACTIVE), self.failure)

    def newton(self, maxiter: int, flags: Flags, bar: Progress) -> None:
        while True:
            f = self._values(self.functions[0], kept=self.reused)
            self.iterations += 1
            bar.step()
            if flags.check_every and not self.batch.on_device and f.flat[0] == 0 and not f.any():
                self.active[...] = False
                self.left = [0] * len(self.left)
            else:
                self._move(self._with_derivatives(f), self._newton_step)
            if not self._go_on(flags, maxiter):
                return

    def secant(self, x1: Any, maxiter: int, flags: Flags, bar: Progress) -> None:
        xp, func = self.batch.xp, self.functions[0]
        f_older = self._values(func, kept=True)
        older = self.x
        if x1 is None:
            shift = older.dtype.type(np.finfo(older.dtype).eps ** 0.33)
            second = older * (1 + shift) + xp.where(older.real >= 0, shift, -shift)
        else:
            second = self.batch.array(x1, "x1").astype(older.dtype)
            try:
                second = xp.array(xp.broadcast_to(second, older.shape))
            except ValueError:
                raise ArgumentError(
                    f"newton: argument 'x1' of shape {second.shape} can't be broadcast to the shape {older.shape} "
                    "of 'x0'."
                ) from None
        self.x = self._within(second)
        f = self._values(func, kept=True)
        older = older.astype(self.x.dtype, copy=False)
        while True:
            self.iterations += 1
            bar.step()
            self._move([f, f_older, older], self._secant_step)
            if not self._go_on(flags, maxiter):
                return
            f_older, f = f, self._values(func, kept=True)
            older = older.astype(self.x.dtype, copy=False)

    def _go_on(self, flags: Flags, maxiter: int) -> bool:
        last = self.iterations == maxiter
        if self.batch.on_device:
            return flags.go_on(self.state, self.iterations, last)
        return flags.go_on(lambda: np.int8(ACTIVE) if any(self.left) else self.failure.max(), self.iterations, last)

    def _within(self, x: Any) -> Any:
        """Return points moved into the bounds, as an array also where they are 0-d."""
        xp = self.batch.xp
        return xp.asarray(x if self.limits is None else xp.clip(x, *self.limits))

    def _values(self, function: Callback, *, kept: bool = False) -> Any:
        """Evaluate, in the dtype of the iterates, which become complex if the values are. What is kept is copied."""
        values = function(self.x)
        if values.dtype.kind == "c" and self.x.dtype.kind != "c":
            if self.limits is not None:
                raise ArgumentError(
                    f"newton: argument 'bounds' is for real values, and {function.name!r} gave complex ones."
                )
            self.x = self.x.astype(complex_dtype(self.x.dtype))
        return values.astype(self.x.dtype, copy=kept)

    def _with_derivatives(self, f: Any) -> list[Any]:
        """Return the values of the function and of its derivatives."""
        values = [f]
        for derivative in self.functions[1:]:
            new = self._values(derivative, kept=self.reused)
            if any(self.batch.xp.may_share_memory(new, other) for other in values):
                # They write to one array, so that the earlier values are gone.
                self.reused = True
                return self._with_derivatives(self._values(self.functions[0], kept=True))
            values.append(new)
        return values

    def _move(self, values: list[Any], step: Any) -> None:
        """Move all active points, and say how they stand."""
        x, active, failure = self.x.reshape(-1), self.active.reshape(-1), self.failure.reshape(-1)
        flat = [value.reshape(-1) for value in values]
        limits = None if self.limits is None else [limit.reshape(-1) for limit in self.limits]
        with np.errstate(all="ignore"):
            for index, part in enumerate(self.parts):
                if self.left[index]:
                    here = x[part]
                    whole = self.left[index] == here.size and not self.batch.on_device
                    bounds = None if limits is None else [limit[part] for limit in limits]
                    step(here, active[part], failure[part], whole, bounds, *[value[part] for value in flat])
                    if not self.batch.on_device:
                        self.left[index] = int(np.count_nonzero(active[part]))

    def _newton_step(
        self, x: Any, active: Any, failure: Any, whole: bool, limits: Any, f: Any, slope: Any, curvature: Any = None
    ) -> None:
        xp = self.batch.xp
        step = f / slope
        values = [f, slope]
        if curvature is not None:  # Halley: step / (1 - step f'' / (2 f')), where that does not reverse the step
            correction = step * curvature / slope / 2
            step = xp.where(xp.abs(correction) < 1, step / (1 - correction), step)
            values.append(curvature)
        if not self._move_plainly(x, active, whole, step, values[1:]):
            self._move_some(x, active, failure, self._target(x, step, limits), step, values, f == 0, slope == 0)

    def _secant_step(
        self, x: Any, active: Any, failure: Any, whole: bool, limits: Any, f: Any, f_older: Any, older: Any
    ) -> None:
        rise = f - f_older
        step = x - older
        step *= f
        if not (whole or self.batch.on_device):
            rise += ~active  # of those at rest it is zero
        step /= rise
        first = self.iterations == 1  # start values may be roots
        before = x.copy()
        if not (first and (self.batch.on_device or not f_older.all())) and self._move_plainly(
            x, active, whole, step, [rise]
        ):
            older[...] = before
            return
        exact = f == 0
        if first:
            at_start = (f_older == 0) & active
            self._put(x, at_start, older)
            exact |= at_start
        level = rise == 0
        middle = (x + older) / 2
        self._put(middle, (x == older) | exact, x)
        level_now = level & active
        self._move_some(x, active, failure, self._target(x, step, limits), step, [f, f_older], exact, level)
        self._put(x, level_now & (failure == ZERO_DERIVATIVE), middle)
        older[...] = before

    def _target(self, x: Any, step: Any, limits: Any) -> Any:
        """Return where a step leads to."""
        moved = x - (step if self.damping == 1.0 else step * x.dtype.type(self.damping))
        if limits is None:
            return moved
        xp = self.batch.xp
        lower, upper = limits
        return xp.where(moved < lower, (x + lower) / 2, xp.where(moved > upper, (x + upper) / 2, moved))

    def _move_plainly(self, x: Any, active: Any, whole: bool, step: Any, divisors: list[Any]) -> bool:
        """Do the common case, if it is one: on the host, without bounds and damping, all steps finite."""
        if self.batch.on_device or self.limits is not None or self.damping != 1.0:
            return False
        if not whole:
            step *= active
        # A zero divisor shows in the step, an infinite one does not. A product that overflows only costs time.
        for divisor in divisors:
            for begin in range(0, x.size, _PRODUCT):
                part = slice(begin, begin + _PRODUCT)
                if not isfinite(abs(np.vdot(step[part], divisor[part]))):
                    return False
        np.subtract(x, step, out=x, casting="same_kind")
        size = np.abs(step) if step.dtype.kind == "c" else np.abs(step, out=step)
        small = size < (self.tol if self.rtol == 0 else self.tol + self.rtol * np.abs(x))
        if np.count_nonzero(small):
            np.greater(active, small, out=active)  # those that are active and not small
        return True

    def _move_some(
        self,
        x: Any,
        active: Any,
        failure: Any,
        moved: Any,
        step: Any,
        values: list[Any],
        exact: Any,
        level: Any,
    ) -> None:
        """Move the active points and say how each of them stands."""
        xp = self.batch.xp
        finite = xp.isfinite(moved)
        finite &= xp.isfinite(step)
        for each in values:
            finite &= xp.isfinite(each)
        size = xp.abs(step)
        small = size < (self.tol if self.rtol == 0 else self.tol + self.rtol * xp.abs(moved))
        # In this order: what comes later overrules.
        code = xp.where(finite, np.int8(CONVERGED), np.int8(NOT_FINITE))
        self._put(code, level, ZERO_DERIVATIVE)
        self._put(code, exact, CONVERGED)
        finite &= ~(level | exact)
        finite &= active
        self._put(x, finite, moved)
        self._put(failure, active, code)
        active &= finite & ~small

    def _put(self, target: Any, mask: Any, values: Any) -> None:
        if self.batch.on_device:
            target[...] = self.batch.xp.where(mask, values, target).astype(target.dtype, copy=False)
        elif mask.any():
            np.putmask(target, mask, values)
