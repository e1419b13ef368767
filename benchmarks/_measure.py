"""Timing two sides of a comparison in turns, and the figure that comes of it.

A round times both sides alternately, a few tries each, and keeps the fastest try of each side: what else the machine
does can only make a try slower. The figure of a row is the median over its rounds; the quartiles show how far it can
be trusted.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

#: Does something as often as it is told and returns the seconds that this took.
Timer: TypeAlias = Callable[[int], float]

#: The seconds per execution in each round (where memory is measured, the bytes), ours and theirs; theirs is 0 where
#: there is nothing to compare with.
Rounds: TypeAlias = list[tuple[float, float]]

#: Units of figures, in seconds or bytes.
UNITS = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9, "MB": 1e6}


@dataclass(frozen=True)
class Effort:
    """How long to measure a row.

    Parameters
    ----------
    processes : int
        Each row is measured in so many processes: some figures depend on where things happen to lie in memory.
    rounds : int
        Rounds in each process.
    tries : int
        Tries of each side in a round.
    seconds : float
        Least duration of a try; fast things are repeated within it.
    entries : int
        Entries of large arrays.
    """

    processes: int
    rounds: int
    tries: int
    seconds: float
    entries: int = 1_000_000


FULL = Effort(processes=3, rounds=5, tries=3, seconds=0.005)
QUICK = Effort(processes=1, rounds=2, tries=1, seconds=0.0001, entries=10_000)


def statement(code: str, **names: Any) -> Timer:
    """Return the timer of a statement.

    Parameters
    ----------
    code : str
        The statement. It reads the names as global variables, as a user's module does.
    **names : Any
        What it uses.

    Examples
    --------
    >>> statement("x + 1", x=2)(1000) > 0
    True
    """
    return timeit.Timer(code, globals=names).timeit


def measure(effort: Effort, ours: Timer, theirs: Timer | None = None) -> Rounds:
    """Time two sides in turns.

    Parameters
    ----------
    effort : Effort
    ours : callable
        A timer.
    theirs : callable, optional
        The timer that it is compared with.

    Returns
    -------
    list of tuple of float
        Each round's seconds for one execution of each side, the fastest try of each.

    Examples
    --------
    >>> measure(QUICK, ours=lambda number: 3.0 * number, theirs=lambda number: 2.0 * number)
    [(3.0, 2.0), (3.0, 2.0)]
    """
    sides = [ours] if theirs is None else [ours, theirs]
    numbers = [_executions(side, effort.seconds) for side in sides]
    turns = list(zip(range(len(sides)), sides, numbers, strict=True))
    rounds: Rounds = []
    for _ in range(effort.rounds):
        tried: list[list[float]] = [[] for _ in sides]
        for _ in range(effort.tries):
            for position, side, number in turns:
                tried[position].append(side(number) / number)
            turns.reverse()  # so that neither side always comes after the other one
        rounds.append((min(tried[0]), min(tried[1]) if theirs else 0.0))
    return rounds


def _executions(timer: Timer, seconds: float) -> int:
    """Return how many executions take that long; finding it out is the warm-up as well."""
    number = 1
    while timer(number) < seconds or timer(number) < seconds:  # once might be a first use or an interruption
        number *= 2
    return number


def figures(rounds: Sequence[tuple[float, float]], unit: str) -> list[float]:
    """Return each round's figure.

    Parameters
    ----------
    rounds : sequence of tuple of float
        As returned by `measure`.
    unit : {"", "ms", "us", "ns", "MB"}
        The figure is the difference of the two sides in this unit; without a unit, it is their ratio.

    Examples
    --------
    >>> figures([(3.0, 2.0)], "")
    [1.5]
    >>> figures([(3.0, 2.0)], "ms")
    [1000.0]
    """
    if unit:
        return [(ours - theirs) / UNITS[unit] for ours, theirs in rounds]
    return [ours / theirs for ours, theirs in rounds]


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the lower quartile, the median and the upper quartile."""
    lower, median, upper = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
    return lower, median, upper
