"""Levenberg and Marquardt's method for many small problems of least squares at once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend
from cunumpy._gate import as_truth
from cunumpy._progress import Progress
from cunumpy.errors import ArgumentError
from cunumpy.optimize._batched import (
    ACTIVE,
    CONVERGED,
    NOT_FINITE,
    Batch,
    Callback,
    Flags,
    as_args,
    as_bounds,
    as_count,
    as_tolerance,
    batch_of,
    finish,
    warn_of_some,
)
from cunumpy.optimize._results import Printed, printed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LeastSquaresResult", "least_squares_batched"]

_FIRST_DAMPING = 1e-3
_LARGEST_UNROLLED = 12  # unknowns of systems that are solved by array operations over the batch
_ACCEPTED = ACTIVE + 1  # instead of the state, of problems that moved


@dataclass(repr=False, eq=False)
class LeastSquaresResult(Printed):
    r"""What `least_squares_batched` found; "batch" is the shape of the start values without its first axis.

    Parameters
    ----------
    x : ndarray, shape (n, \*batch)
        The solutions; of problems that failed the last iterate at which everything was finite.
    cost : ndarray, shape batch
        Half the sums of squares there.
    fun : ndarray, shape (m, \*batch)
        The residuals there.
    jac : ndarray, shape (m, n, \*batch)
        The derivatives there.
    optimality : ndarray, shape batch
        The largest cosine between the residuals and a column of `jac`, of unknowns that are not at a bound.
    status : ndarray of int8
        0 converged, -2 iteration limit, -3 a value is not finite.
    success : ndarray of bool
        Whether `status` is 0.
    nit : int
        Number of iterations.
    nfev, njev : int
        Number of calls of `fun`, those for finite differences included, and number of times that derivatives were
        taken.

    Examples
    --------
    >>> import cunumpy as xp
    >>> t = xp.asarray([[0.0], [1.0], [2.0]])
    >>> y = xp.asarray([[1.0, 0.0], [3.0, 1.0], [5.0, 2.0]])
    >>> fit = xp.optimize.least_squares_batched(lambda p: p[0] + p[1] * t - y, xp.zeros((2, 2)))
    >>> fit.x.round(6)
    array([[1., 0.],
           [2., 1.]])
    """

    x: Any
    cost: Any
    fun: Any
    jac: Any
    optimality: Any
    status: Any
    success: Any
    nit: int
    nfev: int
    njev: int

    def __repr__(self) -> str:
        shown = [each.name for each in fields(self) if each.name not in ("fun", "jac")]
        return printed(type(self).__name__, {name: getattr(self, name) for name in shown})

    def covariance(self, absolute_sigma: bool = False) -> Any:
        r"""Return the covariance matrices of the solutions, as `scipy.optimize.curve_fit` does.

        Parameters
        ----------
        absolute_sigma : bool
            Whether the residuals are in units of their standard deviations, so that nothing is to be scaled by how
            large they are.

        Returns
        -------
        ndarray, shape (n, n, \*batch)
            Inverses of ``jac.T @ jac``, times ``2 cost / (m - n)`` unless `absolute_sigma`; infinite where that is
            not positive definite, and where there are not more residuals than unknowns.
        """
        absolute_sigma = as_truth(absolute_sigma, function="LeastSquaresResult.covariance", argument="absolute_sigma")
        xp: Any = _backend.require_cupy("covariance") if _arrays.is_device_array(self.jac) else np
        m, n = self.jac.shape[:2]
        with np.errstate(all="ignore"):
            normal = _normal_matrix(xp, self.jac)
            scale = xp.sqrt(xp.stack([normal[i, i] for i in range(n)]))
            scaled = normal / scale[:, None] / scale[None]
            columns = []
            for i in range(n):
                unit = xp.zeros_like(scale)
                unit[i] = 1
                columns.append(_solve_positive(xp, scaled, unit))
            inverse = xp.stack(columns, axis=1) / scale[:, None] / scale[None]
            if not absolute_sigma:
                inverse = inverse * (2 * self.cost / (m - n)) if m > n else inverse * xp.inf
            return xp.where(xp.isfinite(inverse), inverse, inverse.dtype.type(np.inf))


def least_squares_batched(
    fun: Callable[..., Any],
    x0: Any,
    jac: Callable[..., Any] | None = None,
    *,
    args: tuple[Any, ...] = (),
    bounds: tuple[Any, Any] | None = None,
    ftol: float | None = None,
    xtol: float | None = None,
    gtol: float | None = None,
    maxiter: int = 100,
    check_every: int = 1,
    disp: bool = True,
    progress: bool = False,
) -> LeastSquaresResult:
    r"""Minimise the sums of squares of many small problems at once, on the backend of the start values.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` gives the real residuals, of shape (m, \*batch), for `x` of the shape of `x0`.
    x0 : array_like, shape (n, \*batch)
        Start values: unknowns on the first axis, problems on the others. Arrays decide on the backend.
    jac : callable, optional
        ``jac(x, *args)`` gives the derivatives, of shape (m, n, \*batch). By default forward differences take n calls
        of `fun`.
    args : tuple
        Further arguments of `fun` and `jac`, passed as they are.
    bounds : tuple of two array_like, optional
        Lower and upper bounds: numbers, one for each unknown, shape (n,), or of the shape of `x0`. Start values outside
        are moved there.
    ftol, xtol, gtol : float, optional
        A problem is done when a step reduces the cost by less than `ftol` of it; is smaller than `xtol` times the
        solution, with the unknowns scaled by their derivatives; or when the residuals are perpendicular to the
        derivatives up to a cosine of `gtol`. By default all are the square root of the spacing of numbers at 1,
        1.49e-8 for float64.
    maxiter : int
        Most iterations, rejected steps included.
    check_every : int
        Iterations between two looks whether all problems are done, each of them one wait on the device; 0 for none,
        when exactly `maxiter` iterations are made.
    disp : bool
        Warn of problems that did not converge.
    progress : bool
        Show a bar of progress.

    Returns
    -------
    LeastSquaresResult
        In the dtype of `x0`; integers become float64.

    Warns
    -----
    ConvergenceWarning
        Some problems did not converge.

    Raises
    ------
    ArgumentError, ArgumentTypeError, MixedBackendError
        As `newton`.

    Notes
    -----
    Levenberg and Marquardt's method with Moré's scaling of the unknowns (Lecture Notes in Mathematics 630, 105, 1978)
    and Nielsen's choice of the damping (IMM-REP-1999-05, Lyngby, 1999). The normal equations are solved with
    array operations over the batch for up to 12 unknowns, else by ``linalg.solve``. With bounds, unknowns that a step
    would push out of them rest there for that step.

    Memory: some ``m n + 2 n**2`` numbers for each problem.

    Examples
    --------
    >>> import cunumpy as xp
    >>> t = xp.linspace(0.0, 4.0, 30)[:, None]
    >>> rates = xp.asarray([0.5, 1.0, 2.0])
    >>> data = 3.0 * xp.exp(-rates * t)
    >>> fit = xp.optimize.least_squares_batched(lambda p: p[0] * xp.exp(-p[1] * t) - data, xp.ones((2, 3)))
    >>> fit.x.round(6)
    array([[3. , 3. , 3. ],
           [0.5, 1. , 2. ]])
    """
    function = "least_squares_batched"
    disp = as_truth(disp, function=function, argument="disp")
    progress = as_truth(progress, function=function, argument="progress")
    batch = batch_of(function, x0=x0)
    args = as_args(args, function)
    x = batch.floating(batch.array(x0, "x0", kinds="biuf"))
    if x.ndim < 1 or x.shape[0] == 0:
        raise ArgumentError(
            f"{function}: argument 'x0' must have its unknowns on the first axis, at least one, got shape {x.shape}."
        )
    default = float(np.finfo(x.dtype).eps) ** 0.5
    tolerances = [
        default if value is None else as_tolerance(value, name, function)
        for name, value in (("ftol", ftol), ("xtol", xtol), ("gtol", gtol))
    ]
    maxiter = as_count(maxiter, "maxiter", function)
    flags = Flags(batch, check_every)
    residuals = _Residuals(fun, "fun", batch, x.shape[1:], args)
    limits = as_bounds(batch, bounds, x, unknowns=True)
    with batch.running(), Progress(progress, function, "iteration", maxiter) as bar, np.errstate(all="ignore"):
        solver = _Solver(batch, residuals, jac, args, x, limits, tolerances)
        iterations = 0
        going = bool(x.size)
        moved = False
        while going:
            if iterations and (moved or flags.largest is None):
                solver.differentiate()
            solver.step()
            iterations += 1
            bar.step()
            largest = None
            last = iterations == maxiter
            if flags.check_every and (iterations % flags.check_every == 0 or last):
                largest = batch.read(solver.flag().max(), "flag of the iteration")
                moved = largest == _ACCEPTED
                going = largest >= ACTIVE and not last
            else:
                going = not last
            flags.largest = largest
        solver.differentiate()
        status = finish(batch, solver.state)
        result = LeastSquaresResult(
            solver.x,
            solver.cost,
            solver.f,
            solver.j,
            solver.cosine(),
            status,
            status == 0,
            iterations,
            residuals.calls,
            solver.differentiated,
        )
        if disp and flags.check_every:
            warn_of_some(batch, result.success, "problems did not converge")
    return result


class _Residuals(Callback):
    """The residuals of all problems; how many there are is known after the first call."""

    def __init__(self, function: Any, name: str, batch: Batch, shape: tuple[int, ...], args: tuple[Any, ...]) -> None:
        super().__init__(function, name, batch, (), args, kinds="biuf")
        self.problems = shape

    def __call__(self, x: Any) -> Any:
        if self.shape == ():
            value = self.run(x)
            shape = np.shape(value) if not _arrays.is_device_array(value) else value.shape
            if len(shape) != 1 + len(self.problems) or shape[1:] != self.problems:
                raise ArgumentError(
                    f"{self.batch.function}: callback {self.name!r} returned shape {shape}, expected the residuals of "
                    f"each problem on a first axis, (m, {', '.join(map(str, self.problems))})."
                )
            self.shape = shape
            return self.checked(value, shape).astype(x.dtype)
        return super().__call__(x).astype(x.dtype)


class _Solver:
    """The iterates of all problems."""

    def __init__(
        self,
        batch: Batch,
        residuals: _Residuals,
        jac: Any,
        args: tuple[Any, ...],
        x: Any,
        limits: tuple[Any, Any] | None,
        tolerances: list[float],
    ) -> None:
        xp = batch.xp
        self.batch, self.xp, self.residuals = batch, xp, residuals
        self.limits = limits
        self.ftol, self.xtol, self.gtol = tolerances
        self.x = x if limits is None else xp.minimum(xp.maximum(x, limits[0]), limits[1])
        self.f = residuals(self.x)
        self.cost = (self.f * self.f).sum(axis=0) / 2
        n = x.shape[0]
        self.jac = None
        if jac is not None:
            self.jac = Callback(jac, "jac", batch, (self.f.shape[0], n, *x.shape[1:]), args, kinds="biuf")
        self.state = xp.where(xp.isfinite(self.cost), np.int8(ACTIVE), np.int8(NOT_FINITE))
        self.damping = xp.full(self.cost.shape, x.dtype.type(_FIRST_DAMPING))
        self.growth = xp.full(self.cost.shape, x.dtype.type(2))
        self.scale: Any = None
        self.accepted = self.state == ACTIVE
        self.differentiated = 0
        self.differentiate()

    def differentiate(self) -> None:
        """Take the derivatives where the iterates are."""
        xp, x = self.xp, self.x
        self.differentiated += 1
        if self.jac is not None:
            self.j = self.jac(x).astype(x.dtype, copy=False)
        else:
            columns = []
            step = x.dtype.type(float(np.finfo(x.dtype).eps) ** 0.5)
            for i in range(x.shape[0]):
                h = xp.where(x[i] < 0, -step, step) * xp.maximum(xp.abs(x[i]), x.dtype.type(1))
                if self.limits is not None:
                    there = x[i] + h
                    h = xp.where((there < self.limits[0][i]) | (there > self.limits[1][i]), -h, h)
                moved = x.copy()
                moved[i] += h
                h = moved[i] - x[i]
                columns.append((self.residuals(moved) - self.f) / h)
            self.j = xp.stack(columns, axis=1)
        self.normal = _normal_matrix(xp, self.j)
        self.gradient = (self.j * self.f[:, None]).sum(axis=0)
        n = x.shape[0]
        norms = xp.sqrt(xp.stack([self.normal[i, i] for i in range(n)]))
        self.norms = norms
        scale = xp.where(norms > 0, norms, x.dtype.type(1))
        self.scale = scale if self.scale is None else xp.maximum(self.scale, norms)
        finite = xp.isfinite(self.normal).all(axis=(0, 1))
        active = self.state == ACTIVE
        self.state = xp.where(~finite & active, np.int8(NOT_FINITE), self.state)
        perpendicular = active & finite & ((self.cosine() <= self.gtol) | (self.cost == 0))
        self.state = xp.where(perpendicular, np.int8(CONVERGED), self.state)

    def _resting(self) -> Any:
        """Return which unknowns are at a bound that the next step would cross."""
        lower, upper = self.limits  # type: ignore[misc]
        return ((self.x <= lower) & (self.gradient > 0)) | ((self.x >= upper) & (self.gradient < 0))

    def cosine(self) -> Any:
        """Return the largest cosine between the residuals and a derivative."""
        xp = self.xp
        size = xp.sqrt(2 * self.cost)
        cosines = xp.abs(self.gradient) / (self.norms * size)
        nothing = (self.norms == 0) | (size == 0)
        if self.limits is not None:
            nothing = nothing | self._resting()
        return xp.where(nothing, cosines.dtype.type(0), cosines).max(axis=0)

    def step(self) -> None:
        """Try one step for every active problem."""
        xp, n = self.xp, self.x.shape[0]
        real = self.x.dtype.type
        active = self.state == ACTIVE
        # In scaled unknowns the matrix has ones on its diagonal, as long as the scale is that of the derivatives.
        matrix = self.normal / self.scale[:, None] / self.scale[None]
        right = -self.gradient / self.scale
        if self.limits is not None:
            rest = self._resting()
            matrix = xp.where(rest[:, None] | rest[None], real(0), matrix)
            right = xp.where(rest, real(0), right)
        for i in range(n):
            matrix[i, i] = matrix[i, i] + self.damping
            if self.limits is not None:
                matrix[i, i] = xp.where(rest[i], real(1), matrix[i, i])
        step = _solve_positive(xp, matrix, right) / self.scale
        step = xp.where(active, step, real(0))
        there = self.x + step
        if self.limits is not None:
            there = xp.minimum(xp.maximum(there, self.limits[0]), self.limits[1])
        there = xp.where(xp.isfinite(there), there, self.x)
        step = there - self.x
        f = self.residuals(there)
        cost = (f * f).sum(axis=0) / 2
        linear = (self.j * step[None]).sum(axis=1)
        predicted = -(self.gradient * step).sum(axis=0) - (linear * linear).sum(axis=0) / 2
        reduction = self.cost - cost
        gain = reduction / predicted
        accepted = active & (reduction > 0) & (predicted > 0)
        length = xp.sqrt((step * self.scale * step * self.scale).sum(axis=0))
        extent = xp.sqrt((self.x * self.scale * self.x * self.scale).sum(axis=0))
        solved = xp.isfinite(length) & active
        flat = (xp.abs(reduction) <= self.ftol * self.cost) & (predicted <= self.ftol * self.cost) & (gain <= 2)
        short = length <= self.xtol * (extent + self.xtol)
        done = solved & xp.isfinite(cost) & (flat | short | (cost == 0))
        factor = xp.maximum(real(1 / 3), 1 - (2 * gain - 1) ** 3)
        self.damping = xp.where(accepted, self.damping * factor, self.damping * self.growth)
        self.damping = xp.maximum(self.damping, real(np.finfo(self.x.dtype).eps))
        self.growth = xp.where(accepted, real(2), self.growth * 2)
        self.x = xp.where(accepted, there, self.x)
        self.f = xp.where(accepted, f, self.f)
        self.cost = xp.where(accepted, cost, self.cost)
        self.accepted = accepted
        # Damped without end: nothing that is finite reduces the cost.
        stuck = active & ~accepted & ~xp.isfinite(self.damping)
        self.state = xp.where(stuck, np.int8(NOT_FINITE), self.state)
        self.state = xp.where(done, np.int8(CONVERGED), self.state)

    def flag(self) -> Any:
        """Return the states; of active problems that moved, `_ACCEPTED`."""
        xp = self.xp
        return xp.where((self.state == ACTIVE) & self.accepted, np.int8(_ACCEPTED), self.state)


def _normal_matrix(xp: Any, jac: Any) -> Any:
    r"""Return ``jac.T @ jac`` of each problem, shape (n, n, \*batch)."""
    n = jac.shape[1]
    matrix = xp.empty((n, n, *jac.shape[2:]), jac.dtype)
    for i in range(n):
        for j in range(i + 1):
            matrix[i, j] = (jac[:, i] * jac[:, j]).sum(axis=0)
            matrix[j, i] = matrix[i, j]
    return matrix


def _solve_positive(xp: Any, matrix: Any, right: Any) -> Any:
    r"""Solve positive definite systems, (n, n, \*batch) and (n, \*batch); NaN where they are not."""
    n = right.shape[0]
    if n > _LARGEST_UNROLLED:
        moved = xp.moveaxis(matrix, (0, 1), (-2, -1))
        solution = xp.linalg.solve(moved, xp.moveaxis(right, 0, -1)[..., None])[..., 0]
        return xp.moveaxis(solution, -1, 0)
    lower: list[list[Any]] = []
    y: list[Any] = []
    for i in range(n):
        row: list[Any] = []
        for j in range(i):
            value = matrix[i, j]
            for k in range(j):
                value = value - row[k] * lower[j][k]
            row.append(value / lower[j][j])
        value, target = matrix[i, i], right[i]
        for k in range(i):
            value = value - row[k] * row[k]
            target = target - row[k] * y[k]
        row.append(xp.sqrt(value))
        y.append(target / row[i])
        lower.append(row)
    x = [None] * n
    for i in reversed(range(n)):
        target = y[i]
        for k in range(i + 1, n):
            target = target - lower[k][i] * x[k]
        x[i] = target / lower[i][i]
    return xp.stack(x)
