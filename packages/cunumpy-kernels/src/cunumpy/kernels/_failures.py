"""Errors that come of what a machine lacks for the moment, and that are gone when it has it again."""

from __future__ import annotations

import errno

_LACKS = frozenset(
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EMFILE", "ENFILE", "ENOMEM", "EAGAIN")
    if hasattr(errno, name)
)


def is_passing(error: BaseException | None) -> bool:
    """Tell whether an error, or what led to it, is a lack of memory, room on a disk, open files or processes."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _LACKS):
            return True
        # Also where the traceback leaves it out: ours do, where the message tells of it.
        error = error.__cause__ if error.__cause__ is not None else error.__context__
    return False
