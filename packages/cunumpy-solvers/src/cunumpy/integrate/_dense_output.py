"""The solution of `solve_ivp_batched` between its steps: as a function, and at the times that were asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cunumpy.integrate._runge_kutta import Solver

__all__ = ["BatchedDenseOutput"]

_MOST_VALUES = 1 << 22  # at a time, when values are interpolated


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


class SolutionAtTimes:
    """The solution at the times that were asked for, filled in as far as the systems have come."""

    def __init__(self, solver: Solver, times: Any, may_read: bool) -> None:
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
