"""Whose line it was: the innermost stack frame that is the user's, for transfer events and warnings."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

_LIBRARIES = ("cunumpy", "numpy", "scipy", "cupy", "cupyx", "cupy_backends", "array_api_compat")
_STANDARD_LIBRARY = os.path.normcase(os.path.dirname(os.__file__))
_PLUMBING_FILES = tuple(os.path.join(_STANDARD_LIBRARY, n) for n in ("contextlib.py", "functools.py", "threading.py"))
_PLUMBING_FOLDERS = tuple(os.path.join(_STANDARD_LIBRARY, n) for n in ("asyncio", "concurrent", "multiprocessing"))

_places: dict[str, str] = {}  # what each source file is shown as, "" for files that are not the user's


def call_site() -> str:
    """Give the user's innermost line as ``file:line``, or ``<unknown>`` where there is none."""
    frame = _user_frame()
    return "<unknown>" if frame is None else f"{_places[frame.f_code.co_filename]}:{frame.f_lineno}"


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the user's innermost line."""
    import warnings

    frame = _user_frame()
    if frame is None:
        warnings.warn(message, category, stacklevel=2)
        return
    names = frame.f_globals
    registry = names.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, names.get("__name__"), registry)


def _user_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        place = _places.get(filename)
        if place is None:
            place = _places[filename] = _place(filename)
        if place:
            return frame
        frame = frame.f_back
    return None


def _place(filename: str) -> str:
    if filename.startswith("<"):
        return "" if filename.startswith(("<frozen ", "<__array_function__")) else filename
    path = os.path.abspath(filename)
    folders = [*_PLUMBING_FOLDERS]
    for name in _LIBRARIES:
        folders += getattr(sys.modules.get(name), "__path__", ())
    compared = os.path.normcase(path)
    # The separator keeps a package whose name merely begins like ours, cunumpy_plugin, the user's.
    if compared in _PLUMBING_FILES or compared.startswith(
        tuple(os.path.join(os.path.normcase(os.path.abspath(folder)), "") for folder in folders)
    ):
        return ""
    return path
