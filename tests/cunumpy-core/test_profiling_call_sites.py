"""Events name the line of the user's program, whatever lies between it and the library."""

import contextlib
import functools
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import cunumpy
from cunumpy.profiling import count_transfers
from recorded_transfers import call, here, library_code, transfer


def places(counter):
    return {event.where for event in counter.events}


def test_direct_call():
    with count_transfers() as counter:
        transfer()
    assert places(counter) == {here(-1)}


def test_innermost_line_of_the_user():
    def helper():
        transfer()

    with count_transfers() as counter:
        call(helper)
    assert places(counter) == {here(-4)}


def test_other_users_of_the_name_are_users():
    folder = os.path.join(os.path.dirname(cunumpy.__path__[0]), "cunumpy_plugin")
    (plugin,) = library_code("\ndef plugin(): transfer()", "plugin", folder=folder, transfer=transfer)
    with count_transfers() as counter:
        plugin()
    assert places(counter) == {os.path.join(folder, "_example.py") + ":2"}


def test_every_folder_of_the_package_is_the_library(monkeypatch, tmp_path):
    monkeypatch.setattr(cunumpy, "__path__", [*cunumpy.__path__, str(tmp_path / "other" / "cunumpy")])
    (member,) = library_code(
        "def member(): transfer()", "member", folder=str(tmp_path / "other" / "cunumpy" / "mpi"), transfer=transfer
    )
    with count_transfers() as counter:
        member()
    assert places(counter) == {here(-1)}


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("solver", ["fsolve", "root"])
def test_callbacks_of_scipy(solver):
    import scipy.optimize

    solver = getattr(scipy.optimize, solver)

    def user(x):
        transfer()
        return x - 1

    line = here(-3)
    (library,) = library_code("def library(x):\n    transfer()\n    return x - 1", "library", transfer=transfer)
    with count_transfers() as counter:
        solver(user, 0.0)
    assert places(counter) == {line}
    with count_transfers() as counter:
        solver(library, 0.0)
    assert places(counter) == {here(-1)}


def test_callbacks_of_numpy_and_functools():
    (library,) = library_code("def library(x):\n    transfer()\n    return x", "library", transfer=transfer)
    with count_transfers() as counter:
        np.apply_along_axis(library, 0, np.ones((2, 2)))
        functools.partial(library, 1)()
    assert places(counter) == {here(-2), here(-1)}


def test_context_managers():
    (block,) = library_code(
        "@contextmanager\ndef block():\n    transfer()\n    yield\n    transfer()",
        "block",
        contextmanager=contextlib.contextmanager,
        transfer=transfer,
    )
    with count_transfers() as counter, contextlib.ExitStack() as stack:
        stack.enter_context(block())
    assert places(counter) == {here(-1), here(-2)}


def test_library_code_without_a_user_is_unknown():
    with count_transfers(all_threads=True) as counter:
        thread = threading.Thread(target=transfer)
        thread.start()
        thread.join()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(transfer).result()
    assert places(counter) == {"<unknown>"}
    assert len(counter.events) == 2


def test_code_without_a_file():
    namespace = {"transfer": transfer}
    with count_transfers() as counter:
        exec(compile("\n\ntransfer()", "<input>", "exec"), namespace)
    assert places(counter) == {"<input>:3"}


def test_relative_file_names_become_absolute():
    namespace = {"transfer": transfer}
    with count_transfers() as counter:
        exec(compile("transfer()", "script.py", "exec"), namespace)
    assert places(counter) == {os.path.abspath("script.py") + ":1"}


def test_importing_the_library_does_not_load_the_profiler():
    code = (
        "import numpy, sys; before = set(sys.modules); import cunumpy; cunumpy.to_numpy(numpy.ones(2)); "
        "print(*sorted(set(sys.modules) - before))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "cunumpy._transfers" in loaded
    assert not {"dataclasses", "json", "asyncio", "cunumpy.profiling"} & set(loaded)
