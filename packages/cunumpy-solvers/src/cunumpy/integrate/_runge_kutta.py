"""Dormand and Prince's Runge-Kutta method, for many systems at once, each with steps of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _gate
from cunumpy.errors import ArgumentError
from cunumpy.optimize._batched import (
    ACTIVE,
    CONVERGED,
    NOT_FINITE,
    ROUNDING,
    Batch,
    Callback,
    as_tolerance,
    complex_dtype,
    real_dtype,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

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


@dataclass(eq=False)
class Segment:
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


class Solver:
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
        self.y, self.k = first_derivative(self.call, self.t, self.y)
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

    def step(self) -> Segment:
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
        return Segment(t, self.t, step, y, stages, accepted)

    def _derivative(self, t: Any, y: Any) -> Any:
        return self.call.kept(self.y.dtype, t, y)


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


def first_derivative(call: Callback, t: Any, y: Any) -> tuple[Any, Any]:
    """Return start values, complex if their derivative is, and that derivative."""
    k = call(t, y)
    if k.dtype.kind == "c" and y.dtype.kind != "c":
        y = y.astype(complex_dtype(y.dtype))
    return y, k.astype(y.dtype, order="C", copy=True)
