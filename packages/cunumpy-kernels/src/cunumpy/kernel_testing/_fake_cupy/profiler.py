"""``cupyx.profiler`` and ``cupy.cuda.profiler``: the times are those of the stand-in, not of a GPU."""

from __future__ import annotations

import argparse
import contextlib
import functools
import math
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import cuda
from .current_device import current_device
from .devices import Device


class _PerfCaseResult:
    """Times of one function.

    Parameters
    ----------
    name : str
    ts : numpy.ndarray, (1 + number of devices, repeats)
        Seconds, of the CPU first.
    devices : tuple of int
    """

    def __init__(self, name: str, ts: np.ndarray[Any, Any], devices: tuple[int, ...]) -> None:
        self.name, self._ts, self._devices = name, ts, devices

    @property
    def cpu_times(self) -> np.ndarray[Any, Any]:
        """Seconds of each repeat on the CPU."""
        times: np.ndarray[Any, Any] = self._ts[0]
        return times

    @property
    def gpu_times(self) -> np.ndarray[Any, Any]:
        """Seconds of each repeat, by device."""
        return self._ts[1:]

    def to_str(self, show_gpu: bool = False) -> str:
        """Return the times as text."""
        shown = [("CPU", self.cpu_times)]
        if show_gpu:
            shown += [(f"GPU-{device}", times) for device, times in zip(self._devices, self.gpu_times, strict=True)]
        return f"{self.name:<20s}:" + " ".join(_described(name, times) for name, times in shown)

    def __str__(self) -> str:
        return self.to_str(show_gpu=True)

    __repr__ = __str__


def _described(name: str, seconds: np.ndarray[Any, Any]) -> str:
    times = seconds * 1e6
    text = f"    {name}: {times.mean():9.03f} us"
    if times.size > 1:
        text += f"   +/- {times.std():6.03f} (min: {times.min():9.03f} / max: {times.max():9.03f}) us"
    return text


def benchmark(
    func: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] = {},  # noqa: B006 - CuPy's signature
    n_repeat: int = 10000,
    *,
    name: str | None = None,
    n_warmup: int = 10,
    max_duration: float = math.inf,
    devices: tuple[int, ...] | None = None,
) -> _PerfCaseResult:
    """Time a function by CPU and by events of the current stream.

    Parameters
    ----------
    func : callable
    args, kwargs
        Of its calls.
    n_repeat, n_warmup : int
        Calls that are timed, and before.
    name : str, optional
        By default that of `func`.
    max_duration : float
        Seconds after which it stops.
    devices : tuple of int, optional
        By default the current one.
    """
    name = func.__name__ if name is None else name
    devices = (current_device(),) if devices is None else devices
    for what, right in (
        ("func` should be a callable object", callable(func)),
        ("args` should be a tuple", isinstance(args, tuple)),
        ("kwargs` should be a dict", isinstance(kwargs, dict)),
    ):
        if not right:
            raise ValueError(f"`{what}.")
    for _ in range(n_warmup):
        func(*args, **kwargs)
    for device in devices:
        Device(device).synchronize()
    times: list[list[float]] = []
    begun = time.perf_counter()
    for _ in range(n_repeat):
        starts, ends = [cuda.Event() for _ in devices], [cuda.Event() for _ in devices]
        for event in starts:
            event.record()
        start = time.perf_counter()
        func(*args, **kwargs)
        taken = time.perf_counter() - start
        for event in ends:
            event.record()
            event.synchronize()
        elapsed = [cuda.get_elapsed_time(*pair) * 1e-3 for pair in zip(starts, ends, strict=True)]
        times.append([taken, *elapsed])
        if time.perf_counter() - begun > max_duration:
            break
    return _PerfCaseResult(name, np.array(times).reshape(-1, 1 + len(devices)).T, devices)


class time_range:
    """A named range for profilers, as a decorator or in a ``with`` block.

    Parameters
    ----------
    message : str, optional
        By default the decorated function's name.
    color_id, argb_color : int, optional
        One of them.
    sync : bool, default False
        Wait for the device before the range begins and before it ends.
    """

    def __init__(
        self,
        message: str | None = None,
        color_id: int | None = None,
        argb_color: int | None = None,
        sync: bool = False,
    ) -> None:
        if color_id is not None and argb_color is not None:
            raise ValueError("Only either color_id or argb_color can be specified")
        self.message, self.color_id, self.argb_color, self.sync = message, color_id, argb_color, sync

    def __enter__(self) -> time_range:
        if self.message is None:
            raise ValueError("when used as a context manager, the message argument cannot be None")
        if self.sync:
            Device().synchronize()
        cuda.RangePush(self.message, -1 if self.color_id is None else self.color_id)
        return self

    def __exit__(self, *exc: object) -> None:
        if self.sync:
            Device().synchronize()
        cuda.RangePop()

    def _recreate_cm(self) -> time_range:
        return type(self)(self.message, self.color_id, self.argb_color, self.sync)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if self.message is None:
            self.message = func.__name__

        @functools.wraps(func)
        def in_range(*args: Any, **kwargs: Any) -> Any:
            with self._recreate_cm():
                return func(*args, **kwargs)

        return in_range


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Let a profiler of CUDA look at a block; there is none here."""
    yield


def load_ipython_extension(ipython: Any) -> None:
    """Give IPython the magic ``%gpu_timeit``, for a line or a cell."""

    def gpu_timeit(line: str, cell: str | None = None) -> None:
        """Time code: ``%gpu_timeit [-n N_REPEAT] [-w N_WARMUP] [--max-duration SEC] expression``."""
        parser = argparse.ArgumentParser("%gpu_timeit", add_help=False)
        parser.add_argument("-n", "--n-repeat", type=int, default=10000)
        parser.add_argument("-w", "--n-warmup", type=int, default=10)
        parser.add_argument("--max-duration", type=float, default=math.inf)
        parser.add_argument("code", nargs=argparse.REMAINDER)
        given = parser.parse_args(line.split())
        kind = "eval" if cell is None else "exec"
        code = compile(" ".join(given.code) if cell is None else textwrap.dedent(cell), "<gpu_timeit>", kind)

        def run() -> None:
            exec(code, ipython.user_ns)

        print(benchmark(run, n_repeat=given.n_repeat, n_warmup=given.n_warmup, max_duration=given.max_duration))

    ipython.register_magic_function(gpu_timeit, magic_kind="line_cell", magic_name="gpu_timeit")


def contents() -> dict[str, Any]:
    """Return the contents of ``cupyx.profiler``."""
    return {function.__name__: function for function in (benchmark, load_ipython_extension, profile, time_range)}
