"""Locks that a forked process can take, whoever held them in its parent."""

from __future__ import annotations

import os
from threading import RLock
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

_locks: WeakSet[Any] = WeakSet()


def new_lock() -> AbstractContextManager[bool]:
    """Return a re-entrant lock.

    A thread that loads or compiles a kernel while another one forks is not in the child, where its lock would stay
    taken.
    """
    lock = RLock()
    _locks.add(lock)
    return lock


def _give_up() -> None:
    for lock in _locks:
        if not lock._is_owned():  # what the thread that forked holds, it gives back itself
            lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_give_up)
