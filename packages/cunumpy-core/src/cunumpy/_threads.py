"""How many threads native code may use."""

from __future__ import annotations

import os

from cunumpy import _environment, _launcher


def thread_count() -> int:
    """Return the number of threads that native code may use in this process.

    ``CUNUMPY_NUM_THREADS`` decides. Where it is unset these are the processors that this process may use, but in an MPI
    run no more than its share of the node: launchers that bind ranks to processors have divided them already, others
    leave all of them to every rank.

    Returns
    -------
    int
        At least 1.
    """
    setting = _environment.read("CUNUMPY_NUM_THREADS")
    if isinstance(setting, int):
        return setting
    total = os.cpu_count() or 1
    launch = _launcher.find_launch()
    share = total if launch is None else max(1, total // (launch.local_size or launch.size or 1))
    return min(usable_processors(), share)


def usable_processors() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1


def threads_for(n: int, grain: int) -> int:
    """Return how many threads pay for `n` pieces of work, if a thread pays from `grain` pieces on."""
    return 1 if n < 2 * grain else min(thread_count(), n // grain)
