"""``cupy.cuda.MemoryHook``, called where pools give and take, and the hooks of ``cupy.cuda.memory_hooks``."""

from __future__ import annotations

import sys
import threading
import traceback
from typing import Any

_of_thread = threading.local()


class MemoryHook:
    """What is called before and after memory is taken from a device or a pool, and given back, in a ``with`` block."""

    name = "MemoryHook"

    def __enter__(self) -> MemoryHook:
        hooks = get_memory_hooks()
        if self.name in hooks:
            raise KeyError(f"memory hook {self.name} already exists")
        hooks[self.name] = self
        return self

    def __exit__(self, *exc: object) -> None:
        del get_memory_hooks()[self.name]

    def alloc_preprocess(self, **kwargs: Any) -> None:
        """Before memory is taken from a device: ``device_id``, ``mem_size``."""

    def alloc_postprocess(self, **kwargs: Any) -> None:
        """After that: ``device_id``, ``mem_size``, ``mem_ptr``."""

    def malloc_preprocess(self, **kwargs: Any) -> None:
        """Before memory is taken from a pool: ``device_id``, ``size``, ``mem_size``."""

    def malloc_postprocess(self, **kwargs: Any) -> None:
        """After that: ``device_id``, ``size``, ``mem_size``, ``mem_ptr``, ``pmem_id``."""

    def free_preprocess(self, **kwargs: Any) -> None:
        """Before memory is given back to a pool: ``device_id``, ``mem_size``, ``mem_ptr``, ``pmem_id``."""

    def free_postprocess(self, **kwargs: Any) -> None:
        """After that, with the same arguments."""


def get_memory_hooks() -> dict[str, MemoryHook]:
    """Return the hooks that are open in this thread, by name."""
    hooks: dict[str, MemoryHook] = _of_thread.__dict__.setdefault("hooks", {})
    return hooks


def call(event: str, **kwargs: Any) -> None:
    """Call the thread's hooks."""
    for hook in list(_of_thread.__dict__.get("hooks", {}).values()):
        getattr(hook, event)(**kwargs)


class DebugPrintHook(MemoryHook):
    """Print a line of JSON for each event.

    Parameters
    ----------
    file : file, default sys.stdout
    flush : bool, default True
    """

    name = "DebugPrintHook"

    def __init__(self, file: Any = None, flush: bool = True) -> None:
        self.file, self.flush = sys.stdout if file is None else file, flush

    def _print(self, hook: str, values: dict[str, Any]) -> None:
        words = [f'"hook":"{hook}"']
        words += [
            f'"{name}":"{value:#x}"' if name == "pmem_id" else f'"{name}":{value}' for name, value in values.items()
        ]
        print("{" + ",".join(words) + "}", file=self.file, flush=self.flush)

    def alloc_postprocess(self, **kwargs: Any) -> None:
        """Print it."""
        self._print("alloc", kwargs)

    def malloc_postprocess(self, **kwargs: Any) -> None:
        """Print it."""
        self._print("malloc", kwargs)

    def free_postprocess(self, **kwargs: Any) -> None:
        """Print it."""
        self._print("free", kwargs)


class LineProfileHook(MemoryHook):
    """Sum what the lines of a program take from pools and from the device.

    Parameters
    ----------
    max_depth : int, default 0
        Deepest calls that are told apart; 0 is no limit.
    """

    name = "LineProfileHook"

    def __init__(self, max_depth: int = 0) -> None:
        self._max_depth = max_depth
        self._sums: dict[tuple[str, ...], list[int]] = {(): [0, 0]}  # by the calls that lead there

    def malloc_preprocess(self, **kwargs: Any) -> None:
        """Add it."""
        self._add(kwargs["mem_size"], 0)

    def alloc_preprocess(self, **kwargs: Any) -> None:
        """Add it."""
        self._add(0, kwargs["mem_size"])

    def _add(self, used: int, acquired: int) -> None:
        calls = [f"{one.filename}:{one.lineno}:{one.name}" for one in traceback.extract_stack()[:-3]]
        if self._max_depth > 0:
            calls = calls[: self._max_depth - 1]
        for depth in range(len(calls) + 1):
            sums = self._sums.setdefault(tuple(calls[:depth]), [0, 0])
            sums[0] += used
            sums[1] += acquired

    def print_report(self, file: Any = None) -> None:
        """Print a line for each place, with the bytes that were taken from the pool and from the device."""
        children: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for calls in self._sums:
            if calls:
                children.setdefault(calls[:-1], []).append(calls)
        waiting: list[tuple[str, ...]] = [()]
        while waiting:
            calls = waiting.pop()
            sizes = ", ".join(map(_size, self._sums[calls]))
            print(f"{'  ' * len(calls)}{calls[-1] if calls else '_root'} ({sizes})", file=file or sys.stdout)
            waiting += reversed(children.get(calls, []))


def _size(count: float) -> str:
    units = ["B", "KB", "MB", "GB"]
    while count >= 1024 and len(units) > 1:
        count /= 1024
        del units[0]
    return f"{count:.2f}{units[0]}"


for _kind in (MemoryHook, DebugPrintHook, LineProfileHook):
    _kind.__module__ = "cupy.cuda.memory_hook" if _kind is MemoryHook else "cupy.cuda.memory_hooks"
