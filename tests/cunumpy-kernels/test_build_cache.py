"""The cache of builds: safe folders, one build among many processes, nothing half-written."""

from __future__ import annotations

import errno
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from cunumpy.errors import ArgumentError, CacheError, MissingPackageError
from cunumpy.kernels import _build_cache
from cunumpy.kernels._build_cache import (
    LIST_NAME,
    BuildCache,
    _locked,
    build_hash,
    check_private,
    compiler_identity,
    cpu_features,
    private_folder,
)

REMEDY = "Set MY_CACHE to a folder of your own."
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps folders of a profile private by other means")


@pytest.fixture
def root(tmp_path):
    return tmp_path / "deep" / "cache"


@pytest.fixture
def cache(root, tmp_path):
    return BuildCache(root, tmp_path / "fallback", remedy=REMEDY)


class Builder:
    """A build function that counts its calls."""

    def __init__(self, text="built"):
        self.text, self.calls = text, 0

    def __call__(self, staging):
        self.calls += 1
        (staging / "sub").mkdir()
        (staging / "sub" / "result").write_text(self.text)
        (staging / "other").write_bytes(b"\0" * 100)


def hidden(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


# --- finding and building ---------------------------------------------------------------------------------------------


def test_a_build_runs_once_and_is_found_again(cache, root):
    builder = Builder()
    assert cache.find("key") is None
    assert not root.exists()
    path = cache.get("key", builder)
    assert path == root / "key"
    assert (path / "sub" / "result").read_text() == "built"
    assert cache.get("key", builder) == cache.find("key") == path
    assert BuildCache(root, remedy=REMEDY).get("key", builder) == path
    assert builder.calls == 1
    assert hidden(root) == []


def test_keys_do_not_mix(cache):
    assert cache.get("a", Builder("A")) != cache.get("b", Builder("B"))
    assert (cache.find("a") / "sub" / "result").read_text() == "A"
    assert (cache.find("b") / "sub" / "result").read_text() == "B"


@pytest.mark.parametrize("key", ["", ".hidden", "-x", "a/b", "../up", "a\n", "ä"])
def test_keys_that_are_no_names(cache, key):
    with pytest.raises(ArgumentError, match="argument 'key' must be letters"):
        cache.get(key, Builder())


def test_what_a_failed_build_raises_reaches_the_caller_and_nothing_is_kept(cache, root):
    error = ZeroDivisionError("compiler")

    def build(staging):
        (staging / "half").write_text("half")
        raise error

    with pytest.raises(ZeroDivisionError) as caught:
        cache.get("key", build)
    assert caught.value is error
    assert list(root.iterdir()) == []
    assert (cache.get("key", Builder()) / "other").exists()


def test_what_interrupts_a_build_leaves_nothing(cache, root):
    def build(staging):
        (staging / "half").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.get("key", build)
    assert list(root.iterdir()) == []


def test_hits_and_misses_are_logged(cache, caplog):
    with caplog.at_level(logging.DEBUG, logger="cunumpy"):
        cache.get("key", Builder())
        cache.get("key", Builder())
    text = [record.getMessage() for record in caplog.records]
    assert [line.split(":")[1].split()[0] for line in text] == ["miss", "built", "hit"]


# --- damage -----------------------------------------------------------------------------------------------------------


def truncate(path):
    path.write_bytes(path.read_bytes()[:-1])


def flip(path):
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["sub/result", "other", LIST_NAME])
@pytest.mark.parametrize("damage", [truncate, flip, Path.unlink])
def test_damaged_builds_are_built_again(cache, name, damage):
    path = cache.get("key", Builder())
    damage(path / name)
    assert cache.find("key") is None
    assert cache.entries() == [] or name != LIST_NAME
    again = Builder("again")
    assert cache.get("key", again) == path
    assert again.calls == 1
    assert (path / "sub" / "result").read_text() == "again"
    assert hidden(path.parent) == []


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", '{"files": [1]}', '{"files": {"other": 3}}'])
def test_lists_that_are_none(cache, text):
    path = cache.get("key", Builder())
    (path / LIST_NAME).write_text(text)
    again = Builder()
    assert cache.get("key", again) == path
    assert again.calls == 1


def test_a_folder_or_file_without_a_list_is_replaced(cache, root):
    private_folder(root)
    (root / "key").mkdir()
    (root / "key" / "half").write_text("half")
    (root / "file").write_text("")
    for name in ("key", "file"):
        assert (cache.get(name, Builder()) / "other").exists()
    assert not (root / "key" / "half").exists()


def test_discarded_builds_are_built_again(cache, root):
    cache.get("key", Builder())
    cache.discard("key")
    cache.discard("none")
    assert list(root.iterdir()) == []
    assert cache.get("key", Builder()) == root / "key"


# --- safety -----------------------------------------------------------------------------------------------------------


@posix
def test_folders_are_private(cache, root):
    old = os.umask(0)
    try:
        assert cache.get("key", Builder()) == cache.find("key") == root / "key"
    finally:
        os.umask(old)
    assert root.parent.stat().st_mode & 0o022 == 0  # else others could put another folder in its place
    assert root.stat().st_mode & 0o777 == 0o700
    assert (root / "key").stat().st_mode & 0o777 == 0o700


@posix
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_can_write_to_is_refused(cache, root, mode):
    builder = Builder()
    cache.get("key", builder)
    root.chmod(mode)
    for use in (lambda: cache.get("key", builder), lambda: cache.find("key"), cache.entries, cache.prune):
        with pytest.raises(CacheError, match=rf"can be written to by other users.*chmod 700 .*\. {REMEDY}"):
            use()
    assert builder.calls == 1
    with pytest.raises(PermissionError):  # the built-in that it also is
        cache.find("key")


@posix
def test_a_folder_of_another_user_is_refused(cache, root, monkeypatch):
    cache.get("key", Builder())
    monkeypatch.setattr(_build_cache, "_trusted_users", lambda: {os.geteuid() + 1000})
    for use in (lambda: cache.get("key", Builder()), lambda: cache.find("key"), cache.entries):
        with pytest.raises(CacheError, match=rf"{root} belongs to another user \(number {os.geteuid()}\)"):
            use()


@posix
def test_this_user_and_root_are_trusted():
    assert _build_cache._trusted_users() == {os.geteuid(), 0}


@posix
def test_a_build_that_others_can_write_to_is_not_loaded(cache):
    path = cache.get("key", Builder())
    path.chmod(0o777)
    assert cache.find("key") is None
    again = Builder()
    assert cache.get("key", again) == path
    assert again.calls == 1
    assert path.stat().st_mode & 0o777 == 0o700


@posix
def test_a_folder_above_in_which_everybody_can_rename_is_refused(tmp_path):
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    open_folder.chmod(0o777)
    private = open_folder / "cache"
    private.mkdir(mode=0o700)
    with pytest.raises(CacheError, match="every user can replace it"):
        check_private(private)
    open_folder.chmod(0o1777)  # as a folder for temporary files is
    assert check_private(private) == private


@posix
def test_links_are_followed_if_their_owner_and_their_target_are_trusted(tmp_path, monkeypatch):
    private = private_folder(tmp_path / "private")
    link = tmp_path / "link"
    link.symlink_to(private)
    assert private_folder(link) == private
    owner, lstat = os.geteuid() + 1000, os.lstat

    def of_another(path, **kwargs):
        status = lstat(path, **kwargs)
        return os.stat_result((*status[:4], owner, *status[5:])) if Path(path) == link else status

    monkeypatch.setattr(os, "lstat", of_another)
    with pytest.raises(CacheError, match=f"another user .number {owner}"):
        check_private(link)


def test_a_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "cache").write_text("")
    with pytest.raises(CacheError, match=r"cache is not a folder.*Set MY_CACHE"):
        BuildCache(tmp_path / "cache", remedy=REMEDY).get("key", Builder())


@posix
def test_an_unsafe_fallback_is_passed_over_and_named_when_it_is_needed(cache, root, tmp_path, monkeypatch):
    fallback = tmp_path / "fallback"
    BuildCache(fallback, remedy=REMEDY).get("key", Builder("planted"))
    fallback.chmod(0o777)
    assert cache.find("key") is None
    assert (cache.get("key", Builder("own")) / "sub" / "result").read_text() == "own"
    make_read_only(monkeypatch, root)
    with pytest.raises(CacheError, match=rf"no folder to build other in: {root}: .*{fallback} can be written to"):
        cache.get("other", Builder())


# --- folders that can't be written to -------------------------------------------------------------------------------


def make_read_only(monkeypatch, root, code=errno.EROFS):
    """Let everything that creates something below a folder fail, as on a read-only file system (root may do all)."""

    def refuse(function):
        def wrapped(path, *args, **kwargs):
            if Path(path).is_relative_to(root):
                raise OSError(code, os.strerror(code), str(path))
            return function(path, *args, **kwargs)

        return wrapped

    real_open = os.open

    def opened(path, flags, *args, **kwargs):
        if flags & os.O_CREAT and Path(path).is_relative_to(root):
            raise OSError(code, os.strerror(code), str(path))
        return real_open(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "mkdir", refuse(os.mkdir))
    monkeypatch.setattr(os, "open", opened)


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_home_that_can_not_be_written_to(cache, root, tmp_path, monkeypatch, code):
    make_read_only(monkeypatch, root.parent, code)
    builder = Builder()
    path = cache.get("key", builder)
    assert path == tmp_path / "fallback" / "key"
    assert cache.get("key", builder) == path
    assert builder.calls == 1


def test_builds_of_a_folder_that_can_be_read_only_are_used(cache, root, monkeypatch):
    path = cache.get("key", Builder())
    make_read_only(monkeypatch, root, errno.EROFS)
    assert cache.get("key", Builder()) == path


def test_no_folder_can_be_written_to(cache, root, tmp_path, monkeypatch):
    make_read_only(monkeypatch, tmp_path)
    reason = os.strerror(errno.EROFS)
    with pytest.raises(CacheError, match=rf"no folder to build key in: {root}: {reason}.*; .*fallback: {reason}.*MY_C"):
        cache.get("key", Builder())


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "full"), RuntimeError(f"gcc: x.o: {os.strerror(errno.ENOSPC)}")]
)
def test_a_disk_that_gets_full_while_building(cache, root, tmp_path, error):
    def build(staging):
        (staging / "x.o").write_text("x")
        if staging.is_relative_to(root):
            raise error

    assert cache.get("key", build) == tmp_path / "fallback" / "key"
    assert list(root.iterdir()) == []
    with pytest.raises(CacheError, match=os.strerror(errno.ENOSPC)):
        BuildCache(root, remedy=REMEDY).get("other", build)


# --- many at once -----------------------------------------------------------------------------------------------------

WORKER = """
import sys, time
from pathlib import Path
from cunumpy.kernels._build_cache import BuildCache

root, log = Path(sys.argv[1]), Path(sys.argv[2])

def build(staging):
    with log.open("a") as file:
        file.write("built\\n")
    (staging / "result").write_text("x" * 1000)
    time.sleep(float(sys.argv[3]))

sys.stdin.readline()  # all begin together
path = BuildCache(root, remedy="").get("key", build)
sys.exit((path / "result").read_text() != "x" * 1000)
"""


def start(root, log, seconds, *, ready=True):
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(root), str(log), str(seconds)], stdin=subprocess.PIPE, text=True
    )


def test_sixteen_processes_on_an_empty_cache_build_once(tmp_path):
    root, log = tmp_path / "cache", tmp_path / "log"
    workers = [start(root, log, 0.5) for _ in range(16)]
    for worker in workers:
        worker.stdin.write("\n")
        worker.stdin.flush()
    assert [worker.wait(120) for worker in workers] == [0] * 16
    for worker in workers:
        worker.stdin.close()
    assert log.read_text() == "built\n"
    assert [path.name for path in root.iterdir()] == ["key"]


@posix
def test_a_killed_builder_is_succeeded_and_cleaned_up_after(tmp_path):
    root, log = tmp_path / "cache", tmp_path / "log"
    killed, successor = start(root, log, 1000), start(root, log, 0)
    killed.stdin.write("\n")
    killed.stdin.flush()
    wait_until(lambda: log.exists() and list(root.glob(".staging-*/result")))
    successor.stdin.write("\n")
    successor.stdin.flush()
    killed.send_signal(signal.SIGKILL)
    killed.wait(60)
    assert successor.wait(60) == 0
    for worker in (killed, successor):
        worker.stdin.close()
    assert log.read_text() == "built\nbuilt\n"
    assert [path.name for path in root.iterdir()] == ["key"]


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_threads_build_once(cache):
    builder = Builder()
    barrier = threading.Barrier(8)
    found = []

    def work():
        barrier.wait()
        found.append(cache.get("key", builder))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert builder.calls == 1


def test_without_locks_the_first_to_finish_is_used(cache, root, monkeypatch):
    def no_lock(descriptor):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(_build_cache, "_lock_now", no_lock)

    def slow(staging):
        (staging / "result").write_text("slow")
        BuildCache(root, remedy=REMEDY).get("key", fast)

    def fast(staging):
        (staging / "result").write_text("fast")

    assert (cache.get("key", slow) / "result").read_text() == "fast"
    assert not list(root.glob(".staging-*"))


# --- what it holds ----------------------------------------------------------------------------------------------------


def age(entry, days):
    moment = time.time() - days * 86400
    os.utime(entry / LIST_NAME, (moment, moment))


def test_entries_and_pruning(cache):
    assert cache.entries() == []
    for number, key in enumerate("abcd"):
        age(cache.get(key, Builder()), 10 - number)
    assert [(entry.key, entry.nbytes) for entry in cache.entries()] == [(key, 105) for key in "abcd"]
    assert cache.get("a", Builder())  # asked for again, so it is the youngest now
    assert [entry.key for entry in cache.entries()] == ["b", "c", "d", "a"]
    assert cache.prune() == []
    assert [entry.key for entry in cache.prune(max_days=8.5)] == ["b"]
    assert [entry.key for entry in cache.prune(max_bytes=210)] == ["c"]
    assert [entry.key for entry in cache.prune(max_bytes=0)] == ["d", "a"]
    assert cache.entries() == []


def test_pruning_removes_what_killed_builds_left_but_no_running_one(cache, root):
    private_folder(root)
    dead = root / ".staging-dead-12345678"
    dead.mkdir()
    moment = time.time() - 7200
    os.utime(dead, (moment, moment))

    def build(staging):
        (staging / "result").write_text("")
        os.utime(staging, (moment, moment))
        cache.prune()
        assert staging.exists()

    cache.get("key", build)
    assert not dead.exists()
    assert hidden(root) == []


def test_the_list_is_plain_json(cache):
    path = cache.get("key", Builder())
    assert set(json.loads((path / LIST_NAME).read_text())["files"]) == {"other", "sub/result"}


# --- what builds depend on --------------------------------------------------------------------------------------------


def test_hashes_tell_parts_apart_and_nothing_else():
    parts = {"a": ["x", "yz"], "b": 1}
    assert build_hash(parts) == build_hash({"b": 1, "a": ["x", "yz"]})
    assert len({build_hash(one) for one in (parts, {"a": ["xy", "z"], "b": 1}, {"a": ["x", "yz"], "b": "1"})}) == 3
    assert len(build_hash(parts)) == 20


@posix
def test_a_compiler_is_told_by_its_path_and_version(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    compiler = tmp_path / "some-cc"
    for version in ("1.0", "2.0"):
        compiler.write_text(f"#!/bin/sh\necho some-cc {version}\necho more\n")
        compiler.chmod(0o755)
        os.utime(compiler, (float(version), float(version)))
        assert compiler_identity("some-cc") == f"{compiler} some-cc {version}"
    with pytest.raises(MissingPackageError, match="the compiler 'no-cc' is not on the PATH; install it"):
        compiler_identity("no-cc")


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux says of the processor")
def test_processors_are_told_by_their_features(monkeypatch):
    cpu_features.cache_clear()
    texts = ["flags\t: sse2 avx\nmodel name: A\n", "model name: B\nflags\t: avx sse2\n", "flags: sse2", "model name: C"]
    found = []
    for text in texts:
        monkeypatch.setattr(Path, "read_text", lambda *args, text=text, **kwargs: text)
        found.append(cpu_features())
        cpu_features.cache_clear()
    assert found[0] == found[1]
    assert len(set(found)) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_children_of_a_builder_do_not_hold_its_lock(cache, root):
    """Not even one that lives on when the builder was killed."""
    code = f"""
import os, time
from pathlib import Path
from cunumpy.kernels._build_cache import BuildCache

def build(staging):
    child = os.fork()
    if child == 0:
        print(os.getpid(), flush=True)
        time.sleep(60)
    time.sleep(60)

BuildCache(Path({str(root)!r}), remedy="").get("key", build)
"""
    builder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    child = int(builder.stdout.readline())
    try:
        builder.kill()
        builder.wait()
        done = threading.Event()
        thread = threading.Thread(target=lambda: (cache.get("key", Builder()), done.set()), daemon=True)
        thread.start()
        assert done.wait(30)
    finally:
        os.kill(child, signal.SIGKILL)
        builder.stdout.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_children_that_leave_the_block_leave_the_lock_to_their_parent(tmp_path):
    lock = tmp_path / ".lock-key"
    child = None
    with _locked(lock, "key") as held:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
            child = os.fork()
        if child:
            assert os.waitpid(child, 0)[1] == 0
            assert lock.exists()
            with pytest.raises(BlockingIOError), _locked(lock, "key", wait=False):
                pass
    if not child:
        os._exit(0)
    assert held
    assert not lock.exists()
