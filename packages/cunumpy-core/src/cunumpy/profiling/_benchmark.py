"""How long a function takes, on either backend: measured often, and with the device's work in it."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from cunumpy import _arrays, _backend, _containers, _conversion
from cunumpy._gate import as_integer, as_optional_truth, as_real, given
from cunumpy._text import html_table, time_text
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.profiling._plots import axes_of

__all__ = ["BenchmarkResult", "benchmark"]

_SHORT = 20e-6
"""Calls are measured together until they take so many seconds: the clock itself takes some 50 ns."""


@dataclass(frozen=True, eq=False)
class BenchmarkResult:
    """The times of a function that was called many times; `benchmark` makes it.

    Parameters
    ----------
    name : str
        Of the function.
    times : numpy.ndarray, shape (repeats,), float64
        Seconds a call, until everything that it started on the device was done.
    cpu_times : numpy.ndarray, shape (repeats,), float64
        Seconds a call until the function returned. On a device that may be long before its work is done.
    gpu_times : numpy.ndarray, shape (repeats,), float64, or None
        Seconds a call between two CUDA events around it on the current stream; None where no device was involved.
    number : int
        So many calls were measured together in each repeat, because one is too short for the clock.

    Examples
    --------
    >>> import cunumpy as xp
    >>> result = xp.profiling.benchmark(xp.sum, (xp.ones(1000),), n_repeat=20)
    >>> result.percentile(5) <= result.median <= result.percentile(95)
    True
    >>> result.gpu_times is None
    True
    """

    name: str
    times: np.ndarray
    cpu_times: np.ndarray
    gpu_times: np.ndarray | None = None
    number: int = 1

    def percentile(self, q: float) -> float:
        """Give the time that a share of the repeats did not exceed.

        Parameters
        ----------
        q : float
            Percent, from 0 to 100; 50 is the median.

        Returns
        -------
        float
            Seconds.

        Raises
        ------
        ArgumentError
            If `q` is not in that range.
        ArgumentTypeError
            If it is no number.
        """
        percent = as_real(q, function="BenchmarkResult.percentile", argument="q", least=0, most=100)
        return float(np.percentile(self.times, percent))

    @property
    def median(self) -> float:
        """The median of `times` in seconds: what to compare, since a few slow repeats do not change it."""
        return self.percentile(50)

    @property
    def minimum(self) -> float:
        """The shortest of `times` in seconds."""
        return self.percentile(0)

    def report(self) -> str:
        """Give a table of percentiles, of all clocks that were read.

        Returns
        -------
        str
        """
        rows = self._rows()
        head = f"{self.name}: {self._repeats()}"
        width = max(len(row[0]) for row in rows)
        titles = f"{'':<{width}}  " + "  ".join(f"{title:>9}" for title in self._titles)
        return "\n".join(
            [head, titles, *(f"{row[0]:<{width}}  {'  '.join(f'{x:>9}' for x in row[1:])}" for row in rows)]
        )

    def to_dict(self) -> dict[str, Any]:
        """Give all as plain data, for JSON.

        Returns
        -------
        dict
            The fields by name; times are lists of seconds.
        """
        return {
            "name": self.name,
            "times": self.times.tolist(),
            "cpu_times": self.cpu_times.tolist(),
            "gpu_times": None if self.gpu_times is None else self.gpu_times.tolist(),
            "number": self.number,
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw how often which time occurred, and the percentiles.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        MissingPackageError
            Matplotlib is not installed.
        """
        ax = axes_of(ax, "BenchmarkResult.plot()")
        unit = time_text(self.median).split()[1]
        scale = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[unit]
        shown = [("a call", self.times)]
        if self.gpu_times is not None:
            shown.append(("the device's work", self.gpu_times))
        # The slowest repeats, which say more about the machine, would make all others one bar.
        end = max(np.percentile(times, 99) for _, times in shown) * 1.05
        bins = np.linspace(min(times.min() for _, times in shown), end, 60)
        for label, times in shown:
            ax.hist(np.minimum(times, end) * scale, bins * scale, histtype="stepfilled", alpha=0.5, label=label)
        for q, style in ((5, "--"), (50, "-"), (95, ":")):
            label = f"{'median' if q == 50 else f'{q} %'}: {time_text(self.percentile(q))}"
            ax.axvline(self.percentile(q) * scale, color="black", linewidth=1, linestyle=style, label=label)
        ax.set_xlabel(f"time in {unit}")
        ax.set_ylabel("repeats")
        ax.set_title(f"{self.name}, {self._repeats()}", fontsize="medium")
        ax.legend(loc="upper right")
        return ax

    _titles = ("median", "min", "5 %", "25 %", "75 %", "95 %", "max")

    def _rows(self) -> list[list[str]]:
        clocks = [("a call", self.times)]
        if self.gpu_times is not None:
            clocks += [("the host's part", self.cpu_times), ("the device's work", self.gpu_times)]
        return [
            [label, *(time_text(t) for t in np.percentile(times, (50, 0, 5, 25, 75, 95, 100)))]
            for label, times in clocks
        ]

    def _repeats(self) -> str:
        calls = "" if self.number == 1 else f" of {self.number} calls"
        return f"{len(self.times)} {'repeat' if len(self.times) == 1 else 'repeats'}{calls}"

    def __str__(self) -> str:
        text = (
            f"{self.name}: {time_text(self.median)} "
            f"({time_text(self.percentile(5))} to {time_text(self.percentile(95))}, {self._repeats()})"
        )
        if self.gpu_times is not None:
            text += (
                f"; of this the device works {time_text(float(np.median(self.gpu_times)))}, "
                f"the host submits in {time_text(float(np.median(self.cpu_times)))}"
            )
        return text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(["", *self._titles], self._rows(), f"{self.name}: {self._repeats()}")


def benchmark(
    function: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    n_repeat: int = 10_000,
    *,
    n_warmup: int = 10,
    name: str | None = None,
    max_duration: float = 2.0,
    device: bool | None = None,
) -> BenchmarkResult:
    """Measure how long calls of a function take, with all the work that they start on the device.

    It is used as ``cupyx.profiler.benchmark`` is, and works on both backends.

    Parameters
    ----------
    function : callable
        Is called with the same arguments again and again; what it changes stays changed.
    args : tuple, default: ()
        Its arguments. One argument is written ``(x,)``.
    kwargs : mapping, optional
        Its keyword arguments.
    n_repeat : int, default: 10_000
        Repeats at most; `max_duration` usually ends it earlier.
    n_warmup : int, default: 10
        Calls before, which are not measured: kernels are compiled, and memory is got, in the first ones.
    name : str, optional
        Of the result; by default that of the function.
    max_duration : float, default: 2.0
        After so many seconds no further repeat begins. There is one at least.
    device : bool, optional
        Whether to wait for the device, and to measure its work by CUDA events. By default that is so if the CuPy
        backend is active, or if an argument is, or holds, an array of the device.

    Returns
    -------
    BenchmarkResult
        Times of all repeats. Compare medians; the percentiles say how far they can be trusted.

    Raises
    ------
    ArgumentTypeError
        If an argument has a wrong type.
    ArgumentError
        If a number is out of range.
    MissingPackageError
        If `device` is true and CuPy can't be used.

    Notes
    -----
    On a device nothing is pending when a repeat begins, and it ends when the whole device is idle, so that the time is
    that of one call on its own; calls that follow each other without waiting may overlap and take less. Every wait is a
    ``sync`` event. The events are on the current stream: work on other streams is in `times` and not in `gpu_times`.

    On the host, calls shorter than some microseconds are measured several together, as ``timeit`` does. The garbage
    collector is switched off meanwhile.

    Examples
    --------
    >>> import cunumpy as xp
    >>> x = xp.linspace(0.0, 1.0, 10_000)
    >>> result = xp.profiling.benchmark(xp.sort, (x,), n_repeat=50)
    >>> len(result.times)
    50
    """
    where = "benchmark"
    if not callable(function):
        raise ArgumentTypeError(
            f"{where}: argument 'function' must be a function, got {given(function)}; its arguments go into args, as "
            "in benchmark(xp.sum, (x,))."
        )
    if not isinstance(args, tuple):
        raise ArgumentTypeError(f"{where}: argument 'args' must be a tuple, as (x,) for one, got {given(args)}.")
    if not isinstance(kwargs, (Mapping, type(None))):
        raise ArgumentTypeError(f"{where}: argument 'kwargs' must map names to arguments, got {given(kwargs)}.")
    repeats = as_integer(n_repeat, function=where, argument="n_repeat", least=1)
    warmup = as_integer(n_warmup, function=where, argument="n_warmup", least=0)
    if not as_real(max_duration, function=where, argument="max_duration") > 0:
        raise ArgumentError(
            f"{where}: argument 'max_duration' must be a positive number of seconds, got {max_duration!r}."
        )
    if name is not None and not isinstance(name, str):
        raise ArgumentTypeError(f"{where}: argument 'name' must be a str or None, got {given(name)}.")
    if device is not None:
        device = as_optional_truth(device, function=where, argument="device")
    keywords = dict(kwargs or {})
    title = name if name is not None else str(getattr(function, "__name__", None) or type(function).__name__)
    if device is None:
        device = _backend.get_backend() == "cupy" or _containers.holds(
            (*args, *keywords.values()), _arrays.is_device_array
        )
    measure = _OnDevice(title) if device else _OnHost()
    for _ in range(warmup):
        started = perf_counter()
        function(*args, **keywords)
        measure.warm(perf_counter() - started)

    collecting = gc.isenabled()
    gc.disable()
    rows: list[tuple[float, ...]] = []
    try:
        begun = perf_counter()
        while len(rows) < repeats and (not rows or perf_counter() - begun < max_duration):
            rows.append(measure.repeat(function, args, keywords))
    finally:
        if collecting:
            gc.enable()
    columns = np.array(rows).T
    return BenchmarkResult(title, columns[0], columns[1], columns[2] if device else None, measure.number)


class _OnHost:
    """Reads the host's clock."""

    number = 1

    def warm(self, seconds: float) -> None:
        self.number = min(10_000, max(1, math.ceil(_SHORT / max(seconds, 1e-9)))) if seconds < _SHORT / 2 else 1

    def repeat(
        self, function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[float, ...]:
        count = range(self.number)
        started = perf_counter()
        for _ in count:
            function(*args, **keywords)
        seconds = (perf_counter() - started) / self.number
        return seconds, seconds


class _OnDevice:
    """Reads the host's clock and CUDA events, with the device idle before and after."""

    number = 1

    def __init__(self, name: str) -> None:
        self.cuda = _backend.require_cupy("benchmark").cuda
        self.text = f"benchmark({name!r})"

    def warm(self, seconds: float) -> None:
        pass

    def wait(self) -> None:
        _conversion.wait(self.cuda.Device().synchronize, self.text)

    def repeat(
        self, function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[float, ...]:
        start, stop = self.cuda.Event(), self.cuda.Event()
        self.wait()
        start.record()
        started = perf_counter()
        function(*args, **keywords)
        returned = perf_counter()
        stop.record()
        self.wait()
        done = perf_counter()
        work = float(self.cuda.get_elapsed_time(start, stop)) / 1e3  # CUDA gives milliseconds
        return done - started, returned - started, work
