"""Builds kept on disk: made once among all processes of a user, safe from other users, from crashes and from races.

A cache is a folder that only its user can write to. It has one folder for each key: what a build function wrote there,
and a list of its files with their hashes. A build runs in a staging folder while its key is locked, and is moved to its
place in one step, so that nobody sees half of it.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import json
import logging
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cunumpy.errors import ArgumentError, CacheError, MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIST_NAME = "cunumpy-build.json"
"""The list of files that makes a folder a finished build."""

_STAGING = ".staging-"
_LOCK = ".lock-"
_DAY = 86400.0

_logger = logging.getLogger("cunumpy")


class Entry(NamedTuple):
    """A finished build: its key and folder, the bytes of its files, and when it was last asked for (epoch seconds)."""

    key: str
    path: Path
    nbytes: int
    used: float


class BuildCache:
    """Folders of finished builds, by key.

    Parameters
    ----------
    *roots : Path
        Where to keep them. What is in any of them is found; what has to be built goes to the first that can be written
        to, so the later ones are for read-only homes and full disks. They are created when something is built.
    remedy : str
        What to do if none of them can be used; ends the error message.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = tempfile.TemporaryDirectory()
    >>> cache = BuildCache(Path(folder.name) / "cache", remedy="Set MY_CACHE to a folder of your own.")
    >>> def build(staging):
    ...     (staging / "result.txt").write_text("built")
    >>> cache.get("a-key", build).joinpath("result.txt").read_text()
    'built'
    >>> [(entry.key, entry.nbytes) for entry in cache.entries()]
    [('a-key', 5)]
    >>> folder.cleanup()
    """

    def __init__(self, *roots: Path, remedy: str) -> None:
        self.roots = roots
        self.remedy = remedy

    def get(self, key: str, build: Callable[[Path], None]) -> Path:
        """Return the folder of a build; make it if there is none, or if what is there was damaged.

        Parameters
        ----------
        key : str
            Must tell the build from every other one: a hash over all that it depends on. Letters, digits, ``._-``.
        build : callable
            Called with an empty folder, which it fills. It runs once, however many processes and threads ask at the
            same time; the others wait for it. What it raises goes to the caller, and nothing is kept.

        Returns
        -------
        Path
            The folder. Its files must not be changed.

        Raises
        ------
        CacheError
            The first root is not safe: it belongs to another user, or others can write to it. Or no root can be
            written to; also if there is no room left.
        """
        found = self.find(key)
        if found is not None:
            _logger.debug("build cache: hit: %s", found)
            return found
        problems: list[str] = []
        last: OSError | None = None
        for root in self.roots:
            try:
                folder = private_folder(root)
                with _locked(folder / f"{_LOCK}{key}", key) as held:
                    found = _complete(folder / key)
                    if found is None:
                        _logger.info("build cache: miss: building %s in %s", key, folder)
                        found = _build(folder, key, build, held)
                return found
            except _BuildFailed as failure:
                if not _is_full(failure.error):
                    raise failure.error from failure.error.__cause__
                code = getattr(failure.error, "errno", None) or errno.ENOSPC
                last = OSError(code, os.strerror(code), str(root))
                problems.append(f"{root}: {last.strerror}")
            except OSError as error:
                last = error
                problems.append(f"{root}: {error}" if isinstance(error, CacheError) else _reason(root, error))
            _logger.warning("build cache: can't use %s", problems[-1])
        raise CacheError(f"no folder to build {key} in: {'; '.join(problems)}. {self.remedy}") from last

    def find(self, key: str) -> Path | None:
        """Return the folder of a finished build, or None; nothing is built.

        Raises
        ------
        CacheError
            The first root is not safe. Later ones that are not safe are left out.
        """
        if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", key) is None:
            raise ArgumentError(
                f"BuildCache: argument 'key' must be letters, digits and '._-', not begin with '.' or '-', got {key!r}"
            )
        for folder in self._safe_roots():
            found = _complete(folder / key)
            if found is not None:
                _mark_used(found)
                return found
        return None

    def discard(self, key: str) -> None:
        """Forget a build, for instance one that can't be loaded. Processes that have it loaded are not disturbed."""
        for folder in self._safe_roots():
            with contextlib.suppress(OSError):
                _remove(folder / key)

    def entries(self) -> list[Entry]:
        """Return all finished builds, the one that was asked for last at the end. Each file's status is read."""
        found = []
        for folder in self._safe_roots():
            for path in folder.iterdir():
                with contextlib.suppress(OSError, ValueError):  # others may be removing it
                    files = _listed(path)
                    nbytes = sum((path / name).stat().st_size for name in files)
                    found.append(Entry(path.name, path, nbytes, (path / LIST_NAME).stat().st_mtime))
        return sorted(found, key=lambda entry: entry.used)

    def prune(self, *, max_bytes: int | None = None, max_days: float | None = None) -> list[Entry]:
        """Remove builds, those first that were not asked for longest, and what killed builds left behind.

        Parameters
        ----------
        max_bytes : int, optional
            Remove until all together have no more bytes.
        max_days : float, optional
            Remove those that were not asked for in so many days. The time is kept to the day.

        Returns
        -------
        list of Entry
            What was removed.
        """
        for folder in self._safe_roots():
            with contextlib.suppress(OSError):
                _sweep(folder)
        entries = self.entries()
        total = sum(entry.nbytes for entry in entries)
        oldest = -float("inf") if max_days is None else time.time() - max_days * _DAY
        removed = []
        for entry in entries:
            if entry.used < oldest or (max_bytes is not None and total > max_bytes):
                with contextlib.suppress(OSError):
                    _remove(entry.path)
                    removed.append(entry)
                    total -= entry.nbytes
        return removed

    def _safe_roots(self) -> Iterator[Path]:
        for number, root in enumerate(self.roots):
            try:
                yield check_private(root)
            except CacheError as error:
                if number == 0:
                    raise CacheError(f"{error}. {self.remedy}") from None
            except OSError:  # not there (yet), or not to be read
                continue


# --- folders ----------------------------------------------------------------------------------------------------------


def private_folder(path: Path) -> Path:
    """Create a folder that only this user can read and write; return it without symbolic links.

    Raises
    ------
    CacheError
        It is there already and not safe; see `check_private`.
    OSError
        It can't be created.
    """
    for above in reversed(path.parents):
        if not above.is_dir():
            with contextlib.suppress(FileExistsError):
                os.mkdir(above, 0o755)  # not open to others, whatever the umask is
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    folder = check_private(path)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    return folder


def check_private(path: Path) -> Path:
    """Return a folder without symbolic links, if nobody but this user (and root) can put files there.

    Raises
    ------
    CacheError
        It belongs to another user, or its permissions or those of a folder above let others change what is in it.
    OSError
        It is not there.
    """
    links = os.lstat(path)
    folder = Path(os.path.realpath(path))
    status = os.stat(folder)
    if not stat.S_ISDIR(status.st_mode):
        raise CacheError(f"{path} is not a folder")
    if not hasattr(os, "geteuid"):  # Windows, where the folders of a user's profile are private
        return folder
    trusted = _trusted_users()
    for owner in (links.st_uid, status.st_uid):
        if owner not in trusted:
            raise CacheError(
                f"{path} belongs to another user (number {owner}), who could have put code there; nothing was loaded"
            )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CacheError(
            f"{path} can be written to by other users (permissions {stat.S_IMODE(status.st_mode):o}), who could have "
            f"put code there; nothing was loaded. If it is yours alone, empty it and run: chmod 700 {path}"
        )
    for above in folder.parents:
        mode = os.stat(above).st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise CacheError(f"{path} is in {above}, in which every user can replace it; nothing was loaded")
    return folder


def _trusted_users() -> set[int]:
    """Who may own what is loaded: this user, and root, who can do everything anyway (images and shared software)."""
    return {os.geteuid(), 0}


# --- builds -----------------------------------------------------------------------------------------------------------


class _BuildFailed(Exception):
    """Tells what a build function raised from what the cache met itself."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def _build(folder: Path, key: str, build: Callable[[Path], None], held: bool) -> Path:
    with contextlib.suppress(OSError):
        _sweep(folder, key if held else None)
    staging = Path(tempfile.mkdtemp(prefix=f"{_STAGING}{key}-", dir=folder))
    try:
        started = time.perf_counter()
        try:
            build(staging)
        except Exception as error:
            raise _BuildFailed(error) from error
        _write_list(staging)
        found = _publish(staging, folder / key)
        _logger.info("build cache: built %s in %.2f s", key, time.perf_counter() - started)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return found


def _write_list(staging: Path) -> None:
    files = {
        path.relative_to(staging).as_posix(): _digest(path) for path in sorted(staging.rglob("*")) if path.is_file()
    }
    (staging / LIST_NAME).write_text(json.dumps({"files": files}, indent=1), encoding="utf-8")


def _publish(staging: Path, entry: Path) -> Path:
    try:
        os.rename(staging, entry)
    except OSError:
        if _complete(entry) is None:  # damaged, so to be replaced
            _remove(entry)
            os.rename(staging, entry)
        # Else another process was faster, on a file system without locks.
    return entry


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _listed(entry: Path) -> dict[str, str]:
    """Return the files of a build and their hashes; ValueError or OSError if the list is missing or damaged."""
    files = json.loads((entry / LIST_NAME).read_text(encoding="utf-8"))["files"]
    if not isinstance(files, dict):
        raise ValueError("no list of files")
    return files


def _complete(entry: Path) -> Path | None:
    """Return the folder of a build if all its files are as they were built."""
    try:
        if not os.path.lexists(entry):
            return None
        check_private(entry)
        for name, digest in _listed(entry).items():
            if _digest(entry / name) != digest:
                raise ValueError(f"{name} was changed")
    except (OSError, ValueError, KeyError, TypeError) as error:
        _logger.warning("build cache: %s is damaged and is built again: %s", entry, error)
        return None
    return entry


def _mark_used(entry: Path) -> None:
    with contextlib.suppress(OSError):  # read-only
        path = entry / LIST_NAME
        if time.time() - path.stat().st_mtime > _DAY:
            os.utime(path)


def _remove(entry: Path) -> None:
    """Remove a folder: first its name, in one step, then what is in it."""
    if os.path.lexists(entry):
        aside = tempfile.mkdtemp(prefix=f"{_STAGING}{entry.name}-", dir=entry.parent)
        os.rename(entry, os.path.join(aside, "removed"))
        shutil.rmtree(aside, ignore_errors=True)


def _sweep(folder: Path, own: str | None = None) -> None:
    """Remove the staging folders of builds that were killed; `own` is the key whose lock is held."""
    for path in folder.glob(f"{_STAGING}*"):
        key = path.name.removeprefix(_STAGING).rpartition("-")[0]
        if key == own:
            shutil.rmtree(path, ignore_errors=True)
        elif time.time() - path.stat().st_mtime > _DAY / 24:  # whoever is not building for an hour holds no lock
            with contextlib.suppress(BlockingIOError), _locked(folder / f"{_LOCK}{key}", key, wait=False) as held:
                if held:
                    shutil.rmtree(path, ignore_errors=True)


def _is_full(error: Exception) -> bool:
    """Tell whether the disk was full; a compiler can only say so in words."""
    codes = [getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name)]
    return getattr(error, "errno", None) in codes or any(os.strerror(code) in str(error) for code in codes)


def _reason(root: Path, error: OSError) -> str:
    where = f" ({error.filename})" if error.filename is not None and Path(error.filename) != root else ""
    return f"{root}: {error.strerror or error}{where}"


# --- locks ------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _locked(path: Path, key: str, *, wait: bool = True) -> Iterator[bool]:
    """Hold a lock among processes and threads; yields False where the file system has none.

    The system gives it back when its holder ends, however that happens; children of the holder do not have it.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    while True:
        descriptor = os.open(path, flags, 0o600)
        try:
            held = _acquire(descriptor, key, wait)
            current = not held or _is_current(path, descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        if current:
            break
        os.close(descriptor)  # its last holder removed it: others lock a new file of this name
    _descriptors.add(descriptor)
    try:
        yield held
    finally:
        if descriptor in _descriptors:  # else this is a child of the process that holds the lock
            _descriptors.remove(descriptor)
            if held:
                with contextlib.suppress(OSError):  # Windows removes no open file
                    os.unlink(path)
                _release(descriptor)
            os.close(descriptor)


_descriptors: set[int] = set()
"""Of the files that are locked."""


def _close_in_child() -> None:
    """Close the files that the parent locked: as long as they are open, so long the locks last, if the parent dies."""
    while _descriptors:
        with contextlib.suppress(OSError):
            os.close(_descriptors.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def _is_current(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _acquire(descriptor: int, key: str, wait: bool) -> bool:
    try:
        _lock_now(descriptor)
    except BlockingIOError:
        if not wait:
            raise
        _logger.info("build cache: waiting for %s, which another process is building", key)
        while True:
            try:
                _lock_waiting(descriptor)
                break
            except BlockingIOError:  # Windows gives up after ten seconds
                continue
    except OSError as error:
        _logger.info("build cache: the file system has no locks (%s)", error.strerror)
        return False
    return True


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, mode: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, mode, 1)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EDEADLK):
                raise BlockingIOError(error.errno, error.strerror) from None
            raise

    def _lock_now(descriptor: int) -> None:
        _lock(descriptor, msvcrt.LK_NBLCK)

    def _lock_waiting(descriptor: int) -> None:
        _lock(descriptor, msvcrt.LK_LOCK)

    def _release(descriptor: int) -> None:
        _lock(descriptor, msvcrt.LK_UNLCK)

else:
    import fcntl

    def _lock_now(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _lock_waiting(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def _release(descriptor: int) -> None:
        # Closing would not do: a child that was forked meanwhile has the file open too.
        fcntl.flock(descriptor, fcntl.LOCK_UN)


# --- what a build depends on besides its sources ----------------------------------------------------------------------


def build_hash(parts: object) -> str:
    """Return 20 hex digits that tell apart what builds depend on: anything that JSON can hold, in a fixed order."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:20]


@functools.cache
def cpu_features() -> str:
    """Return the machine and the instruction sets of its processor, to tell apart nodes that share a home."""
    found = platform.machine()
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
            flags = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)  # of x86 and of ARM
            model = re.search(r"^(?:model name|CPU part)\s*:(.*)$", text, re.MULTILINE)
            if flags is not None:
                return f"{found} {' '.join(sorted(flags[1].split()))}"
            return f"{found} {model[1].strip() if model else ''}"
    elif sys.platform == "darwin":
        return f"{found} {_first_line(['sysctl', '-n', 'machdep.cpu.brand_string'])}"
    return f"{found} {platform.processor()}"


def compiler_identity(program: str) -> str:
    """Return the path of a compiler and its version; it is asked once, until the file changes.

    Raises
    ------
    MissingPackageError
        There is no such program.
    """
    path = shutil.which(program)
    if path is None:
        raise MissingPackageError(
            f"the compiler {program!r} is not on the PATH; install it, for instance: apt install {program}"
        )
    path = os.path.realpath(path)
    return f"{path} {_version(path, os.stat(path).st_mtime_ns)}"


@functools.lru_cache
def _version(path: str, changed: int) -> str:
    return _first_line([path, "--version"])


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"unknown ({error})"
    return next(iter(done.stdout.splitlines()), "unknown")
