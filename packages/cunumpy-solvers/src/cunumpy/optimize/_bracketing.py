"""Bracketed root finding for many scalar equations at once, and the search for brackets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _gate
from cunumpy._progress import Progress
from cunumpy.errors import ArgumentError
from cunumpy.optimize._batched import (
    ACTIVE,
    CONVERGED,
    NO_SIGN_CHANGE,
    NOT_FINITE,
    OUTSIDE,
    Batch,
    Callback,
    Flags,
    as_args,
    as_count,
    as_tolerance,
    batch_of,
    common_shape,
    finish,
    float_dtype,
)
from cunumpy.optimize._results import Printed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BracketResult", "RootResult", "bracket_root", "find_root"]


_ITERATIONS_UNSEEN = 100


@dataclass(repr=False, eq=False)
class RootResult(Printed):
    """What `find_root` found; all arrays have the shape of the batch.

    Parameters
    ----------
    x : ndarray
        The roots: of each final bracket the end with the smaller value. NaN where there was no bracket.
    f_x : ndarray
        The function there.
    status : ndarray of int8
        0 converged, -1 no change of sign in the bracket, -2 iteration limit, -3 a bracket or value is NaN.
    success : ndarray of bool
        Whether `status` is 0.
    bracket : tuple of two ndarray
        The final brackets, lower ends first.
    f_bracket : tuple of two ndarray
        The function there.
    nit : int
        Number of iterations.
    nfev : int
        Number of calls of the function.

    Examples
    --------
    >>> import cunumpy as xp
    >>> print(xp.optimize.find_root(lambda x: x**3 - 8.0, (0.0, xp.asarray([3.0]))))
    RootResult
            x: [2.]
          f_x: [0.]
       status: [0]
      success: [ True]
      bracket: (array([2.]), array([2.]))
    f_bracket: (array([0.]), array([3.28566507e-09]))
          nit: 7
         nfev: 9
    """

    x: Any
    f_x: Any
    status: Any
    success: Any
    bracket: tuple[Any, Any]
    f_bracket: tuple[Any, Any]
    nit: int
    nfev: int


@dataclass(repr=False, eq=False)
class BracketResult(Printed):
    """What `bracket_root` found; all arrays have the shape of the batch.

    Parameters
    ----------
    bracket : tuple of two ndarray
        Lower and upper ends, with a change of sign between them where `success` is true; as far as the search came
        elsewhere. It is what `find_root` takes.
    f_bracket : tuple of two ndarray
        The function there.
    status : ndarray of int8
        0 found, -1 none within the limits, -2 iteration limit, -3 an end is not finite or a value NaN, -4 the first
        ends are not within the limits.
    success : ndarray of bool
        Whether `status` is 0.
    nit : int
        Number of iterations.
    nfev : int
        Number of calls of the function.

    Examples
    --------
    >>> import cunumpy as xp
    >>> found = xp.optimize.bracket_root(lambda x: x - xp.asarray([5.0, -5.0]), xp.zeros(2))
    >>> found.success, found.bracket
    (array([ True,  True]), (array([ 3., -6.]), array([ 7., -2.])))
    """

    bracket: tuple[Any, Any]
    f_bracket: tuple[Any, Any]
    status: Any
    success: Any
    nit: int
    nfev: int


def find_root(
    f: Callable[..., Any],
    bracket: tuple[Any, Any],
    *,
    args: tuple[Any, ...] = (),
    xatol: float | None = None,
    xrtol: float | None = None,
    fatol: float = 0.0,
    maxiter: int | None = None,
    check_every: int = 1,
    progress: bool = False,
) -> RootResult:
    """Find a root of many scalar functions at once, each within a bracket that is kept; Chandrupatla's method.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` gives a real value for each entry of `x`, which always has the shape of the batch; or a number.
        It must not write to `x`.
    bracket : tuple of two array_like
        The ends of the intervals, in any order, with a change of sign between them; broadcast with each other. Arrays
        decide on the backend, numbers and lists alone belong to the active one.
    args : tuple
        Further arguments of `f`, passed as they are.
    xatol, xrtol : float, optional
        A point is done when its bracket is narrower than ``xatol + xrtol * abs(x)``; by default the smallest normal
        number, and four times the spacing of numbers at 1, of the dtype.
    fatol : float
        A point is done, too, when its value is not larger in magnitude; exact zeros always count.
    maxiter : int, optional
        Most iterations; by default enough to halve any bracket down to the tolerance, or 100 with ``check_every=0``.
    check_every : int
        Iterations between two looks whether all points are done, each of them one wait on the device; 0 for none.
    progress : bool
        Show a bar of progress.

    Returns
    -------
    RootResult
        In the dtype of the ends: float32 stays float32, integers become float64.

    Raises
    ------
    ArgumentError, ArgumentTypeError, MixedBackendError
        As `newton`.

    Notes
    -----
    Each iteration halves the bracket or interpolates by an inverse parabola where that is safe, one evaluation for
    each (T. R. Chandrupatla, Advances in Engineering Software 28, 145, 1997). Infinite values count by their sign. A
    change of sign at a pole is found like one at a root: look at `f_x`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> a = xp.asarray([2.0, 3.0, 5.0])
    >>> xp.optimize.find_root(lambda x: x * x - a, (0.0, a)).x
    array([1.41421356, 1.73205081, 2.23606798])
    """
    progress = _gate.as_truth(progress, function="find_root", argument="progress")
    lower, upper = _ends("find_root", bracket)
    batch = batch_of("find_root", **{"bracket[0]": lower, "bracket[1]": upper})
    args = as_args(args, batch.function)
    x1, x2 = _arrays_of(batch, **{"bracket[0]": lower, "bracket[1]": upper})
    shape = x1.shape
    info = np.finfo(x1.dtype)
    xatol = float(info.smallest_normal) if xatol is None else as_tolerance(xatol, "xatol", batch.function)
    xrtol = 4 * float(info.eps) if xrtol is None else as_tolerance(xrtol, "xrtol", batch.function)
    fatol = as_tolerance(fatol, "fatol", batch.function)
    if maxiter is None:
        enough = 2 * (int(info.maxexp) - int(info.minexp) + int(info.nmant))  # to halve any interval away, twice over
        maxiter = enough if check_every else _ITERATIONS_UNSEEN
    maxiter = as_count(maxiter, "maxiter", batch.function)
    flags = Flags(batch, check_every)
    function = Callback(f, "f", batch, shape, args, kinds="biuf")
    with batch.running(), Progress(progress, batch.function, "iteration", maxiter) as bar:
        f1, f2 = function.kept(x1.dtype, x1), function.kept(x2.dtype, x2)
        solver = Chandrupatla(batch, x1, x2, f1, f2, xatol, xrtol, fatol)
        iterations = 0
        going = bool(x1.size) and (not flags.check_every or batch.on_device or solver.any_active())
        while going:
            x = solver.next()
            solver.take(function.kept(x.dtype, x))
            iterations += 1
            bar.step()
            going = flags.go_on(lambda: solver.state, iterations, iterations == maxiter)
        status = finish(batch, solver.state)
        best, f_best, ends, f_ends = solver.result()
        return RootResult(best, f_best, status, status == 0, ends, f_ends, iterations, function.calls)


class Chandrupatla:
    """The brackets of all points, as Chandrupatla's method narrows them.

    Parameters
    ----------
    batch : Batch
    x1, x2, f1, f2 : ndarray
        Ends of the brackets and values there, of one shape.
    xatol, xrtol, fatol : float
        Tolerances.
    """

    def __init__(
        self, batch: Batch, x1: Any, x2: Any, f1: Any, f2: Any, xatol: float, xrtol: float, fatol: float
    ) -> None:
        xp = self.xp = batch.xp
        self.batch = batch
        self.x1, self.x2, self.x3 = x1, x2, x2
        dtype = x1.dtype
        self.f1, self.f2 = f1, f2
        self.f3 = self.f2
        self.xatol, self.xrtol, self.fatol = dtype.type(xatol), dtype.type(xrtol), dtype.type(fatol)
        with np.errstate(all="ignore"):
            nan = ~(xp.isfinite(x1) & xp.isfinite(x2)) | xp.isnan(self.f1) | xp.isnan(self.f2)
            same = xp.sign(self.f1) * xp.sign(self.f2) > 0
        self.state = xp.where(nan, np.int8(NOT_FINITE), xp.where(same, np.int8(NO_SIGN_CHANGE), np.int8(ACTIVE)))
        self.t = xp.full(x1.shape, 0.5, dtype)
        self.kept = (x1, x2, self.f1, self.f2)  # as they were when a point was done
        self._stop()

    def any_active(self) -> bool:
        """Tell whether a point is active; a read on the device."""
        return bool((self.state == ACTIVE).any())

    def next(self) -> Any:
        """Return where the function is to be evaluated; points that are done stay inside their brackets."""
        with np.errstate(all="ignore"):
            self.x = self.x1 + self.t * (self.x2 - self.x1)
        return self.x

    def take(self, f: Any) -> None:
        """Narrow the brackets by the values at `next`."""
        xp = self.xp
        with np.errstate(all="ignore"):
            same = xp.sign(f) == xp.sign(self.f1)
            self.x3, self.x2 = xp.where(same, self.x1, self.x2), xp.where(same, self.x2, self.x1)
            self.f3, self.f2 = xp.where(same, self.f1, self.f2), xp.where(same, self.f2, self.f1)
            self.x1, self.f1 = self.x, f
            nan = xp.isnan(f)
            if self.batch.on_device or nan.any():
                self.state = xp.where(nan & (self.state == ACTIVE), np.int8(NOT_FINITE), self.state)
            self._stop()

    def _stop(self) -> None:
        """See which points are done, keep their brackets, and choose the next step of the others."""
        xp, half = self.xp, self.x1.dtype.type(0.5)
        x1, x2, x3, f1, f2, f3 = self.x1, self.x2, self.x3, self.f1, self.f2, self.f3
        with np.errstate(all="ignore"):
            first = xp.abs(f1) < xp.abs(f2)
            smallest = xp.where(first, xp.abs(f1), xp.abs(f2))
            width = x2 - x1
            tolerance = xp.abs(xp.where(first, x1, x2)) * self.xrtol + self.xatol
            active = self.state == ACTIVE
            done = active & ((xp.abs(width) < tolerance) | (smallest <= self.fatol))
            moving = active & ~done
            if self.batch.on_device or done.any():
                self.state = xp.where(done, np.int8(CONVERGED), self.state)
                x, f = self.kept[0], self.kept[2]
                self.kept = (
                    xp.where(active, x1, x),
                    xp.where(active, x2, self.kept[1]),
                    xp.where(active, f1, f),
                    xp.where(active, f2, self.kept[3]),
                )
            least = half * tolerance / xp.abs(width)
            xi = (x1 - x2) / (x3 - x2)
            phi = (f1 - f2) / (f3 - f2)
            alpha = (x3 - x1) / width
            parabola = (1 - xp.sqrt(1 - xi) < phi) & (phi < xp.sqrt(xi)) & moving
            t = f1 / (f1 - f2) * f3 / (f3 - f2) - alpha * f1 / (f3 - f1) * f2 / (f2 - f3)
            t = xp.where(parabola & xp.isfinite(t), t, half)
            self.t = xp.where(moving, xp.minimum(xp.maximum(t, least), 1 - least), half)

    def best(self) -> Any:
        """Return the better ends of the brackets."""
        return self.result()[0]

    def result(self) -> tuple[Any, Any, tuple[Any, Any], tuple[Any, Any]]:
        """Return the better ends and values there, and the brackets."""
        xp = self.xp
        now = (self.x1, self.x2, self.f1, self.f2)
        active = self.state == ACTIVE
        x1, x2, f1, f2 = (xp.where(active, new, old) for new, old in zip(now, self.kept, strict=True))
        with np.errstate(invalid="ignore"):
            first = xp.abs(f1) < xp.abs(f2)
            nan = (self.state == NO_SIGN_CHANGE) | (self.state == NOT_FINITE)
            best = xp.where(nan, x1.dtype.type(np.nan), xp.where(first, x1, x2))
            f_best = xp.where(nan, x1.dtype.type(np.nan), xp.where(first, f1, f2))
            swap = x1 > x2
        ends = xp.where(swap, x2, x1), xp.where(swap, x1, x2)
        f_ends = xp.where(swap, f2, f1), xp.where(swap, f1, f2)
        return best, f_best, ends, f_ends


def bracket_root(
    f: Callable[..., Any],
    xl0: Any,
    xr0: Any = None,
    *,
    xmin: Any = None,
    xmax: Any = None,
    factor: float = 2.0,
    args: tuple[Any, ...] = (),
    maxiter: int = 200,
    check_every: int = 1,
    progress: bool = False,
) -> BracketResult:
    """Search a change of sign of many scalar functions at once, in both directions from start values.

    Parameters
    ----------
    f : callable
        As in `find_root`.
    xl0, xr0 : array_like
        First ends, broadcast with each other; `xr0` is by default ``xl0 + 1``. Arrays decide on the backend.
    xmin, xmax : array_like, optional
        Limits of the search, which comes near them but does not evaluate there. By default there are none.
    factor : float
        How much wider each step is than the one before, above 1.
    args : tuple
        Further arguments of `f`, passed as they are.
    maxiter : int
        Most iterations, two evaluations each.
    check_every : int
        Iterations between two looks whether all points are done, each of them one wait on the device; 0 for none.
    progress : bool
        Show a bar of progress.

    Returns
    -------
    BracketResult
        Its ``bracket`` is what `find_root` takes. A bracket lies between two points of the search that follow each
        other.

    Examples
    --------
    >>> import cunumpy as xp
    >>> a = xp.asarray([0.01, 1000.0])
    >>> found = xp.optimize.bracket_root(lambda x: xp.log(x / a), xp.ones(2), xmin=0.0)
    >>> xp.optimize.find_root(lambda x: xp.log(x / a), found.bracket).x.round(10)
    array([1.e-02, 1.e+03])
    """
    function = "bracket_root"
    progress = _gate.as_truth(progress, function=function, argument="progress")
    given = {"xl0": xl0, "xr0": xr0, "xmin": xmin, "xmax": xmax}
    batch = batch_of(function, **given)
    args = as_args(args, function)
    maxiter = as_count(maxiter, "maxiter", function)
    factor = as_tolerance(factor, "factor", function)
    if factor <= 1.0:
        raise ArgumentError(f"bracket_root: argument 'factor' must be above 1, got {factor}.")
    names = {name: value for name, value in given.items() if value is not None or name == "xl0"}
    arrays = dict(zip(names, _arrays_of(batch, **names), strict=True))
    xp, left = batch.xp, arrays["xl0"]
    right = arrays.get("xr0", left + 1)
    lowest, highest = arrays.get("xmin"), arrays.get("xmax")
    flags = Flags(batch, check_every)
    values = Callback(f, "f", batch, left.shape, args, kinds="biuf")
    ordered = xp.minimum(left, right), xp.maximum(left, right)
    with batch.running(), np.errstate(all="ignore"), Progress(progress, function, "iteration", maxiter) as bar:
        left, right = ordered
        dtype = left.dtype
        f_left, f_right = values.kept(dtype, left), values.kept(dtype, right)
        found = [left, right, f_left, f_right]
        state = xp.where(xp.isfinite(left) & xp.isfinite(right), np.int8(ACTIVE), np.int8(NOT_FINITE))
        for limit, inside in ((lowest, xp.greater_equal), (highest, xp.less_equal)):
            if limit is not None:
                inside = inside(left, limit) & inside(right, limit)
                state = xp.where(inside | (state != ACTIVE), state, np.int8(OUTSIDE))
        step = xp.maximum(right - left, xp.abs(left) * np.finfo(left.dtype).eps * 16)
        # One search to the left and one to the right, each with the ends of its last step.
        outer = [left, right]
        f_outer = [f_left, f_right]
        state = _bracketed(xp, state, found, left, right, f_left, f_right)
        iterations = 0
        going = bool(left.size)
        while going:
            step = step * left.dtype.type(factor)
            new = [outer[0] - step, outer[1] + step]
            if lowest is not None:
                new[0] = xp.maximum(new[0], outer[0] + (lowest - outer[0]) * (1 - 1 / factor))
            if highest is not None:
                new[1] = xp.minimum(new[1], outer[1] + (highest - outer[1]) * (1 - 1 / factor))
            # Points that are done are evaluated where they are.
            active = state == ACTIVE
            new = [xp.where(active & xp.isfinite(x), x, old) for x, old in zip(new, outer, strict=True)]
            f_new = [values.kept(dtype, x) for x in new]
            stuck = (new[0] == outer[0]) & (new[1] == outer[1]) & active
            state = _bracketed(xp, state, found, new[0], outer[0], f_new[0], f_outer[0])
            state = _bracketed(xp, state, found, outer[1], new[1], f_outer[1], f_new[1])
            state = xp.where(stuck & (state == ACTIVE), np.int8(NO_SIGN_CHANGE), state)
            outer, f_outer = new, f_new
            iterations += 1
            bar.step()
            going = flags.go_on(lambda state=state: state, iterations, iterations == maxiter)  # type: ignore[misc]
        never = state != CONVERGED
        for i, value in enumerate((*outer, *f_outer)):
            found[i] = xp.where(never, value, found[i])
        status = finish(batch, state)
        return BracketResult((found[0], found[1]), (found[2], found[3]), status, status == 0, iterations, values.calls)


def _bracketed(xp: Any, state: Any, found: list[Any], x1: Any, x2: Any, f1: Any, f2: Any) -> Any:
    """Keep brackets with a change of sign, and return the states."""
    active = state == ACTIVE
    change = active & (xp.sign(f1) * xp.sign(f2) <= 0)
    for i, value in enumerate((x1, x2, f1, f2)):
        found[i] = xp.where(change, value, found[i])
    state = xp.where(change, np.int8(CONVERGED), state)
    return xp.where(active & (xp.isnan(f1) | xp.isnan(f2)), np.int8(NOT_FINITE), state)


def _ends(function: str, bracket: Any) -> tuple[Any, Any]:
    try:
        lower, upper = bracket
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{function}: argument 'bracket' must be a pair of a lower and an upper end, each a number or an array, "
            f"got {_gate.given(bracket)}; write (lower, upper)."
        ) from None
    return lower, upper


def _arrays_of(batch: Batch, **given: Any) -> list[Any]:
    """Return real arguments as floating-point arrays of one shape and dtype; numbers do not decide on the dtype."""
    arrays = {name: batch.array(value, name, kinds="biuf") for name, value in given.items()}
    shape = common_shape(batch, arrays)
    deciding = [float_dtype(arrays[name].dtype) for name, value in given.items() if not isinstance(value, (int, float))]
    dtype = np.result_type(*deciding) if deciding else np.dtype(np.float64)
    return [batch.xp.broadcast_to(array, shape).astype(dtype) for array in arrays.values()]
