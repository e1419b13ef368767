"""The caches that CuNumpy's packages keep on disk: one table, one way to look at them and to clear them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Cache(NamedTuple):
    """A folder of files that can be made again.

    `patterns` are the names of the files that belong to it: a user may have pointed the cache at a folder that holds
    other things, and those are neither counted nor removed.
    """

    meaning: str
    folder: Callable[[], Path]
    patterns: tuple[str, ...]


#: The caches by name. An entry comes with the code that keeps the cache.
CACHES: dict[str, Cache] = {}


def _notes() -> Path:
    return Path.home() / ".cache" / "cunumpy" / "caches"


def remember(name: str, folder: Path, meaning: str, patterns: tuple[str, ...]) -> None:
    """Note the cache of a program in the user's home, since ``python -m cunumpy cache`` runs without the program."""
    # Without a home, or with a read-only one, only the listing lacks it.
    with contextlib.suppress(OSError, RuntimeError):
        path = _notes() / f"{hashlib.sha256(str(folder).encode()).hexdigest()[:20]}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        note = {"name": name, "folder": str(folder), "meaning": meaning, "patterns": patterns}
        path.write_text(json.dumps(note), encoding="utf-8")


def _remembered() -> Iterator[tuple[str, Cache]]:
    with contextlib.suppress(OSError, RuntimeError):
        for path in sorted(_notes().glob("*.json")):
            try:
                note = json.loads(path.read_text(encoding="utf-8"))
                folder = Path(note["folder"])
                if folder.is_dir():
                    yield note["name"], Cache(note["meaning"], partial(Path, folder), tuple(note["patterns"]))
            except (OSError, ValueError, KeyError, TypeError):  # half-written, by a process that was killed
                continue


def _all() -> Iterator[tuple[str, Cache]]:
    yield from CACHES.items()
    yield from _remembered()


class Contents(NamedTuple):
    """What a cache holds, or what was removed from it."""

    name: str
    meaning: str
    folder: str
    files: int
    bytes: int
    problems: list[str]


def _files(cache: Cache) -> Iterator[Path]:
    folder = cache.folder()
    # Not by Path.rglob, which raises where another process removes a folder meanwhile.
    for parent, folders, names in os.walk(folder):
        folders.sort()
        inside = Path(parent).relative_to(folder)
        for name in sorted(names):
            if any(map((inside / name).match, cache.patterns)):
                path = folder / inside / name
                if path.is_file() and not path.is_symlink():
                    yield path


def contents() -> list[Contents]:
    """Return what each cache holds."""
    return [_walk(name, cache, remove=False) for name, cache in _all()]


def clear() -> list[Contents]:
    """Remove the files of each cache; return what was removed. Files in use elsewhere may be removed safely."""
    return [_walk(name, cache, remove=True) for name, cache in _all()]


def trim(limit: int) -> list[Contents]:
    """Remove from each cache what was not used for the longest time, until `limit` bytes are left; return likewise.

    The files of a folder go together: they are one build.
    """
    return [_walk(name, cache, remove=True, limit=limit) for name, cache in _all()]


def _longest_unused(cache: Cache, limit: int) -> Iterator[Path]:
    """Give the files to remove, so that no more than `limit` bytes are left."""
    builds: dict[Path, tuple[float, int, list[Path]]] = {}
    for path in dict.fromkeys(_files(cache)):
        with contextlib.suppress(OSError):  # another process was faster
            status = path.stat()
            used, size, files = builds.get(path.parent, (0.0, 0, []))
            builds[path.parent] = max(used, status.st_mtime), size + status.st_size, [*files, path]
    total = sum(size for _, size, _ in builds.values())
    for _, size, files in sorted(builds.values()):
        if total <= limit:
            return
        total -= size
        yield from files


def _walk(name: str, cache: Cache, *, remove: bool, limit: int | None = None) -> Contents:
    files = size = 0
    problems: list[str] = []
    for path in dict.fromkeys(_files(cache) if limit is None else _longest_unused(cache, limit)):
        try:
            nbytes = path.stat().st_size
            if remove:
                path.unlink()
        except FileNotFoundError:
            continue  # another process was faster
        except OSError as error:
            problems.append(f"{path}: {error.strerror or error}")
            continue
        files += 1
        size += nbytes
    return Contents(name, cache.meaning, str(cache.folder()), files, size, problems)
