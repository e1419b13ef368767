"""What a process holds, before and after many calls: memory, objects, file descriptors, threads and modules."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

FEW, MANY = 250, 100_000
"""Calls in ordinary runs, which see what is held by number; and in long ones, which see what is held by size."""

OBJECTS = 50
"""So many objects, and ranges of memory, may come in the meantime."""

BYTES = 3_000_000
"""So much may the memory of the process grow: less than a small object for each call."""


class Held(NamedTuple):
    """What the process holds."""

    objects: int
    descriptors: list[str]
    threads: int
    tasks: int
    modules: set[str]
    maps: int
    memory: int


def held() -> Held:
    """Count what the process holds now."""
    for _ in range(3):
        gc.collect()
    tasks = Path("/proc/self/task")
    maps, memory = Path("/proc/self/maps"), Path("/proc/self/statm")
    return Held(
        len(gc.get_objects()),
        _descriptors(),
        threading.active_count(),
        len(list(tasks.iterdir())) if tasks.exists() else 0,
        set(sys.modules),
        len(maps.read_text().splitlines()) if maps.exists() else 0,
        int(memory.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if memory.exists() else 0,
    )


def _descriptors() -> list[str]:
    folder = Path("/proc/self/fd")
    if not folder.exists():
        return []
    found = []
    for entry in os.scandir(folder):
        try:
            found.append(os.readlink(entry.path))
        except OSError:  # the one of the folder itself
            continue
    return sorted(name for name in found if not name.startswith(f"/proc/{os.getpid()}/"))


def assert_steady(call: Callable[[], object], calls: int) -> None:
    """Assert that many calls leave the process as it is after some; what fills once, as caches do, may fill."""
    for _ in range(min(calls, 1_000)):
        call()
    kept: list[str] = []
    for _ in range(3):
        before = held()
        for _ in range(calls):
            call()
        after = held()
        assert after.descriptors == before.descriptors
        assert (after.threads, after.tasks) == (before.threads, before.tasks)
        assert after.modules == before.modules
        kept = [
            f"{calls} calls keep {there - here} {what}"
            for what, here, there, most in (
                ("objects", before.objects, after.objects, OBJECTS),
                ("ranges of memory", before.maps, after.maps, OBJECTS),
                ("bytes", before.memory, after.memory, BYTES if calls >= MANY else sys.maxsize),
            )
            if there - here >= most
        ]
        if not kept:
            return
    raise AssertionError(", ".join(kept))
