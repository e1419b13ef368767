"""Events of `solve_ivp_batched`: changes of sign of functions of the solution, located within the steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy.optimize._batched import ACTIVE, CONVERGED, NO_SIGN_CHANGE, Callback, as_count
from cunumpy.optimize._bracketing import Chandrupatla

if TYPE_CHECKING:
    from cunumpy.integrate._runge_kutta import Segment, Solver

TERMINATED = 50  # the state of systems that an event has stopped; its status is 1
EVENTFUL = 120  # instead of the state, of systems with an event in the last step


class Event:
    """One event function: its values at the last step, and where it was zero."""

    def __init__(self, solver: Solver, function: Any, index: int, args: tuple[Any, ...]) -> None:
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

    def happened(self, segment: Segment) -> Any:
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


def locate(solver: Solver, events: list[Event], happened: list[Any], segment: Segment) -> None:
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
