"""Quadrature of many integrals at once: adaptive Gauss-Kronrod rules, and fixed Gauss-Legendre rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy._gate import as_truth
from cunumpy._progress import Progress
from cunumpy.optimize._batched import (
    CONVERGED,
    ITERATION_LIMIT,
    NOT_FINITE,
    ROUNDING,
    Batch,
    Callback,
    as_args,
    as_count,
    as_tolerance,
    batch_of,
    common_shape,
    float_dtype,
    real_dtype,
    warn_of_some,
)
from cunumpy.optimize._results import Printed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["QuadResult", "fixed_quad", "quad_batched"]

# Nodes and weights on (0, 1] of the Gauss-Kronrod rule with 10 and 21 points; QUADPACK (R. Piessens et al., 1983),
# routine QK21.
_KRONROD_NODES = (
    0.995657163025808080735527280689003,
    0.973906528517171720077964012084452,
    0.930157491355708226001207180059508,
    0.865063366688984510732096688423493,
    0.780817726586416897063717578345042,
    0.679409568299024406234327365114874,
    0.562757134668604683339000099272694,
    0.433395394129247190799265943165784,
    0.294392862701460198131126603103866,
    0.148874338981631210884826001129720,
    0.0,
)
_KRONROD_WEIGHTS = (
    0.011694638867371874278064396062192,
    0.032558162307964727478818972459390,
    0.054755896574351996031381300244580,
    0.075039674810919952767043140916190,
    0.093125454583697605535065465083366,
    0.109387158802297641899210590325805,
    0.123491976262065851077958109585166,
    0.134709217311473325928054001771707,
    0.142775938577060080797094273138717,
    0.147739104901338491374841515972068,
    0.149445554002916905664936468389821,
)
_GAUSS_WEIGHTS = (
    0.066671344308688137593568809893332,
    0.149451349150580593145863397657697,
    0.219086362515982043995534934228163,
    0.269266719309996355091226921569469,
    0.295524224714752870173815619188769,
)
_NODES = np.array([-x for x in _KRONROD_NODES[:-1]] + list(_KRONROD_NODES[::-1]))
_WEIGHTS = np.array([*_KRONROD_WEIGHTS[:-1], *_KRONROD_WEIGHTS[::-1]])
_GAUSS = np.zeros(21)
_GAUSS[1::2] = [*_GAUSS_WEIGHTS, *_GAUSS_WEIGHTS[::-1]]


@dataclass(repr=False, eq=False)
class QuadResult(Printed):
    """What `quad_batched` found; all arrays have the shape of the batch.

    Parameters
    ----------
    integral : ndarray
        The integrals; NaN where a limit is NaN, or both are the same infinity.
    error : ndarray
        Estimates of their absolute errors, usually far too large.
    status : ndarray of int8
        0 within the tolerance, -2 limit of subintervals, -3 a limit or value is not finite, -6 rounding errors are
        larger than the tolerance.
    success : ndarray of bool
        Whether `status` is 0.
    nfev : ndarray of int64
        Number of points at which each integrand was evaluated.
    nit : int
        Number of rounds, each of them one call of the function.

    Examples
    --------
    >>> import cunumpy as xp
    >>> print(xp.integrate.quad_batched(lambda x: x * x, 0.0, xp.asarray([3.0])))
    QuadResult
    integral: [9.]
       error: [9.99200722e-14]
      status: [0]
     success: [ True]
        nfev: [21]
         nit: 1
    """

    integral: Any
    error: Any
    status: Any
    success: Any
    nfev: Any
    nit: int


def quad_batched(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    args: tuple[Any, ...] = (),
    *,
    epsabs: float | None = None,
    epsrel: float | None = None,
    limit: int = 100,
    disp: bool = True,
    progress: bool = False,
) -> QuadResult:
    """Integrate many functions of one variable at once, each on subintervals of its own.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` gives the integrands, real or complex, point by point. `x` has the shape (21, m): the columns
        are subintervals, of any of the integrals. Arrays in `args` arrive with shape (m,), the entries that belong to
        the columns, so that they broadcast with `x`. The result has the shape of `x`, or is one number.
    a, b : array_like
        The limits, which may be infinite. They and the arrays in `args` are broadcast with each other to the shape of
        the batch. Arrays decide on the backend, numbers and lists alone belong to the active one.
    args : tuple of array_like
        Parameters of the integrands.
    epsabs, epsrel : float, optional
        An integral is done when its error is at most ``max(epsabs, epsrel * abs(integral))``; by default both are the
        square root of the spacing of numbers at 1, 1.49e-8 for float64.
    limit : int
        Most subintervals of an integral.
    disp : bool
        Warn of integrals that did not reach their tolerance.
    progress : bool
        Show a bar of progress.

    Returns
    -------
    QuadResult
        In the dtype of the limits; integers and numbers become float64.

    Warns
    -----
    ConvergenceWarning
        Some integrals did not reach their tolerance.

    Raises
    ------
    ArgumentError, ArgumentTypeError, MixedBackendError
        As `newton` of `cunumpy.optimize`.

    Notes
    -----
    Each round applies the Gauss-Kronrod rule with 10 and 21 points to all new subintervals in one call of `f`, and
    halves those whose error is larger than their share of the tolerance. The rule and its error estimate are those of
    QUADPACK's routine QK21. An infinite interval is mapped to a finite one, by ``x = a + (1 - t) / t`` or
    ``x = t / (1 - t**2)``; limits are never evaluated. Singularities at limits converge slowly: remove them by a change
    of variables where that is possible.

    On the device each round waits once, for the number of subintervals to halve; recorded as ``sync``. Memory: some
    100 numbers for each new subinterval.

    Examples
    --------
    >>> import cunumpy as xp
    >>> rate = xp.asarray([1.0, 2.0, 4.0])
    >>> xp.integrate.quad_batched(lambda x, r: xp.exp(-r * x), 0.0, xp.inf, (rate,)).integral
    array([1.  , 0.5 , 0.25])
    """
    function = "quad_batched"
    disp = as_truth(disp, function=function, argument="disp")
    progress = as_truth(progress, function=function, argument="progress")
    problem = _Problem(function, f, a, b, args)
    batch, xp, dtype = problem.batch, problem.batch.xp, problem.dtype
    eps = float(np.finfo(dtype).eps)
    epsabs = eps**0.5 if epsabs is None else as_tolerance(epsabs, "epsabs", function)
    epsrel = eps**0.5 if epsrel is None else as_tolerance(epsrel, "epsrel", function)
    limit = as_count(limit, "limit", function)
    with batch.running(), Progress(progress, function, "round") as bar, np.errstate(all="ignore"):
        rule = _Rule(problem)
        n = problem.size
        which = xp.arange(n)
        left, right = problem.left, problem.right
        integrals, errors, rough = rule(which, left, right)
        counts = xp.ones(n, np.int32)
        status = xp.where(problem.finite, np.int8(CONVERGED), np.int8(NOT_FINITE))
        evaluated = counts * 21
        rounds = 1 if n else 0
        bar.step()
        total, error = integrals, errors
        while n:
            size = xp.abs(total)
            tolerance = xp.maximum(dtype.type(epsabs), dtype.type(epsrel) * size)
            bad = ~(xp.isfinite(size) & xp.isfinite(error))
            open_ = (error > tolerance) & ~bad & (status == CONVERGED)
            status = xp.where(bad & (status == CONVERGED), np.int8(NOT_FINITE), status)
            # Halve what has more than its share of the error and is not down at rounding.
            share = (tolerance / counts)[which]
            wanted = open_[which] & (errors > share) & (errors > rough * 2)
            middle = (left + right) / 2
            wanted &= (left < middle) & (middle < right)
            split = _positions(batch, wanted)
            whose = which[split]
            more = _sums(xp, xp.ones(whose.shape, np.int32), whose, n)
            full = (counts + more > limit) & (more > 0)
            status = xp.where(open_ & (more == 0), np.int8(ROUNDING), status)
            status = xp.where(full, np.int8(ITERATION_LIMIT), status)
            if split.size == 0:
                break
            # Integrals that are full stay as they are: their subintervals are evaluated, and not put to use.
            kept = full[whose]
            middle = middle[split]
            children = xp.concatenate([whose, whose])
            lefts = xp.concatenate([left[split], middle])
            rights = xp.concatenate([middle, right[split]])
            parts, part_errors, part_rough = rule(children, lefts, rights)
            m = split.size
            evaluated = evaluated + 42 * xp.where(full, 0, more)
            counts = counts + xp.where(full, 0, more)
            for old, new in ((integrals, parts), (errors, part_errors), (rough, part_rough)):
                old[split] = xp.where(kept, old[split], new[:m])
            zero = dtype.type(0)
            integrals = xp.concatenate([integrals, xp.where(kept, zero, parts[m:])])
            errors = xp.concatenate([errors, xp.where(kept, zero, part_errors[m:])])
            rough = xp.concatenate([rough, xp.where(kept, zero, part_rough[m:])])
            right[split] = xp.where(kept, right[split], middle)
            left = xp.concatenate([left, middle])
            right = xp.concatenate([right, rights[m:]])
            which = xp.concatenate([which, whose])
            total, error = _sums(xp, integrals, which, n), _sums(xp, errors, which, n)
            rounds += 1
            bar.step()
        total = xp.where(problem.finite, total, dtype.type(np.nan))
        status = (-status).reshape(problem.shape)
        result = QuadResult(
            (total * problem.sign).reshape(problem.shape),
            error.reshape(problem.shape),
            status,
            status == 0,
            evaluated.reshape(problem.shape),
            rounds,
        )
        if disp:
            warn_of_some(batch, result.success, "integrals did not reach their tolerance")
    return result


def fixed_quad(func: Callable[..., Any], a: Any, b: Any, args: tuple[Any, ...] = (), n: int = 5) -> Any:
    """Integrate many functions at once by the Gauss-Legendre rule of a fixed order.

    Parameters
    ----------
    func : callable
        ``func(x, *args)`` gives the integrands point by point, at `x` of shape ``(n, m)`` for m integrals. See
        `quad_batched`.
    a, b : array_like
        Finite limits. See `quad_batched`.
    args : tuple of array_like
        Parameters of the integrands, broadcast with the limits.
    n : int
        Number of points; polynomials up to degree ``2 n - 1`` are integrated exactly.

    Returns
    -------
    ndarray
        The integrals, in the shape of the batch. Nothing is read from the device.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.integrate.fixed_quad(lambda x: x**3, 0.0, xp.asarray([1.0, 2.0]), n=2)
    array([0.25, 4.  ])
    """
    n = as_count(n, "n", "fixed_quad")
    problem = _Problem("fixed_quad", func, a, b, args, finite_only=True)
    nodes, weights = np.polynomial.legendre.leggauss(n)
    with problem.batch.running(), np.errstate(all="ignore"):
        values, half, columns = problem.evaluate(
            problem.batch.xp.arange(problem.size), problem.left, problem.right, nodes
        )
        total = _combined(columns(weights), values) * half * problem.sign
    return total.reshape(problem.shape)


class _Problem:
    """The integrals of a batch, mapped to finite intervals, and their integrands."""

    def __init__(self, function: str, f: Any, a: Any, b: Any, args: Any, *, finite_only: bool = False) -> None:
        args = as_args(args, function)
        given = {"a": a, "b": b, **{f"args[{i}]": value for i, value in enumerate(args)}}
        self.batch = batch = batch_of(function, **given)
        xp = batch.xp
        arrays = {
            name: batch.array(value, name, kinds="biuf" if name in "ab" else "biufc") for name, value in given.items()
        }
        self.shape = shape = common_shape(batch, arrays)
        self.size = int(np.prod(shape, dtype=np.int64))
        flat = {name: xp.broadcast_to(array, shape).reshape(-1) for name, array in arrays.items()}
        deciding = [float_dtype(arrays[name].dtype) for name in "ab" if not isinstance(given[name], (int, float))]
        self.dtype = dtype = np.result_type(*deciding) if deciding else np.dtype(np.float64)
        self.parameters = [
            array if arrays[name].ndim else arrays[name] for name, array in flat.items() if name not in ("a", "b")
        ]
        self.callback = Callback(f, "f" if function == "quad_batched" else "func", batch, (), ())
        lower, upper = flat["a"].astype(dtype), flat["b"].astype(dtype)
        self.sign = xp.where(upper < lower, dtype.type(-1), dtype.type(1))
        lower, upper = xp.minimum(lower, upper), xp.maximum(lower, upper)
        infinite = xp.isinf(lower), xp.isinf(upper)
        self.finite = ~(xp.isnan(lower) | xp.isnan(upper) | (lower == xp.inf) | (upper == -xp.inf))
        self.mapped = not finite_only and (batch.on_device or bool(infinite[0].any() or infinite[1].any()))
        if self.mapped:
            both = infinite[0] & infinite[1]
            one = infinite[0] ^ infinite[1]
            self.both, self.one = both, one
            self.origin = xp.where(infinite[0], upper, lower)
            self.direction = xp.where(infinite[0], dtype.type(-1), dtype.type(1))
            lower = xp.where(both, dtype.type(-1), xp.where(one, dtype.type(0), lower))
            upper = xp.where(both | one, dtype.type(1), upper)
        self.left, self.right = lower, upper

    def evaluate(self, which: Any, left: Any, right: Any, nodes: np.ndarray) -> tuple[Any, Any, Any]:
        """Return values of the integrands at the nodes of intervals, shape (nodes, intervals), and half the widths.

        The third result makes a column of host numbers an array of the batch.
        """
        xp, dtype = self.batch.xp, self.dtype

        def columns(numbers: np.ndarray) -> Any:
            numbers = np.asarray(numbers, dtype)
            return _constant(self.batch, numbers)[:, None]

        half = (right - left) / 2
        t = (left + right) / 2 + columns(nodes) * half
        x, weight = t, None
        if self.mapped:
            one, both = self.one[which], self.both[which]
            positive = xp.where(one, t, dtype.type(1))
            inner = xp.where(both, 1 - t * t, dtype.type(1))
            x = xp.where(one, self.origin[which] + self.direction[which] * (1 - positive) / positive, t)
            x = xp.where(both, t / inner, x)
            weight = xp.where(one, 1 / (positive * positive), dtype.type(1))
            weight = xp.where(both, (1 + t * t) / (inner * inner), weight)
        parameters = [array[which] if array.ndim else array for array in self.parameters]
        values = self.callback.checked(self.callback.run(x, *parameters), x.shape)
        wanted = np.result_type(dtype, np.complex64) if values.dtype.kind == "c" else dtype
        values = values.astype(wanted, copy=False)
        return (values if weight is None else values * weight), half, columns


class _Rule:
    """The Gauss-Kronrod rule on many intervals: integrals, errors, and the errors that rounding makes."""

    def __init__(self, problem: _Problem) -> None:
        self.problem = problem

    def __call__(self, which: Any, left: Any, right: Any) -> tuple[Any, Any, Any]:
        xp = self.problem.batch.xp
        info = np.finfo(self.problem.dtype)
        values, half, columns = self.problem.evaluate(which, left, right, _NODES)
        weights = columns(_WEIGHTS)
        kronrod = _combined(weights, values)
        gauss = _combined(columns(_GAUSS), values)
        absolute = _combined(weights, xp.abs(values)) * half
        spread = _combined(weights, xp.abs(values - kronrod / 2)) * half
        error = xp.abs(kronrod - gauss) * half
        scaled = spread * xp.minimum(1.0, (200 * error / spread) ** 1.5)
        error = xp.where((spread != 0) & (error != 0), scaled, error)
        rough = absolute * (50 * info.eps)
        error = xp.where(absolute > info.smallest_normal / (50 * info.eps), xp.maximum(rough, error), error)
        real = real_dtype(self.problem.dtype)
        return kronrod * half, error.astype(real, copy=False), rough.astype(real, copy=False)


def _combined(weights: Any, values: Any) -> Any:
    return (weights * values).sum(axis=0)


def _constant(batch: Batch, numbers: np.ndarray) -> Any:
    """Return a few host numbers as an array of the batch."""
    if not batch.on_device:
        return numbers
    key = (int(batch.xp.cuda.Device().id), numbers.dtype.str, numbers.tobytes())
    if key not in _constants:
        array = batch.xp.empty(numbers.shape, numbers.dtype)
        for i, number in enumerate(numbers.tolist()):
            array[i] = number  # a launch, where a copy of all of them would wait
        _constants[key] = array
    return _constants[key]


_constants: dict[tuple[int, str, bytes], Any] = {}


def _sums(xp: Any, values: Any, which: Any, n: int) -> Any:
    """Return the sums of values by the integral that they belong to."""
    sums = xp.zeros(n, values.dtype)
    xp.add.at(sums, which, values)
    return sums


def _positions(batch: Batch, mask: Any) -> Any:
    """Return where a mask is true; their number is not known on the device before it has been waited for."""
    if not batch.on_device:
        return np.flatnonzero(mask)
    return batch.waited(lambda: batch.xp.flatnonzero(mask), "subintervals to halve")
