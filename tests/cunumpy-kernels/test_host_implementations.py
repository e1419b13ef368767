"""Several implementations on the host, and functions of modules that are compiled."""

from __future__ import annotations

import errno
import math
import os
import pickle
import re
import signal
import threading
import types
import warnings

import numpy as np
import pytest

from cunumpy.errors import CompileError, CuNumpyWarning
from cunumpy.kernels import (
    HOST_IMPLEMENTATIONS,
    CompiledHostKernel,
    HostImplementations,
    set_host_kernel_implementation,
    use_host_kernel_implementation,
)


def named(name):
    """Return a loader of a function that returns a name."""
    return lambda: lambda: name


def failing(error):
    def load():
        raise error

    return load


def load_floor():
    return math.floor


def load_ceil():
    return math.ceil


# --- choosing ---------------------------------------------------------------------------------------------------------


def test_the_first_that_loads_runs():
    every = {name: named(name) for name in reversed(HOST_IMPLEMENTATIONS)}
    for count in range(len(HOST_IMPLEMENTATIONS) - 1):
        implementations = HostImplementations("k", every)
        assert implementations.names == tuple(name for name in HOST_IMPLEMENTATIONS if name in every)
        first = HOST_IMPLEMENTATIONS[count]
        assert implementations.selected() == implementations.build() == implementations() == first
        del every[first]


def test_those_that_do_not_load_are_passed_over_and_remembered():
    missing = ImportError("no numba")
    implementations = HostImplementations(
        "k",
        {"pyccel": failing(RuntimeError("gcc")), "numba": failing(missing), "numpy": named("v"), "python": named("p")},
    )
    assert implementations.errors == {}
    assert implementations() == "v"
    assert list(implementations.errors) == ["pyccel", "numba"]
    assert implementations.available("numpy")
    assert not implementations.available("numba")
    for _ in range(2):
        with pytest.raises(
            LookupError, match=r"kernel 'k': its implementation 'numba' could not be loaded.*no numba"
        ) as e:
            implementations.get("numba")
        assert e.value.__cause__ is missing


def test_loading_is_tried_again_after_reset():
    attempts = []

    def load():
        attempts.append(1)
        if len(attempts) == 1:
            raise ImportError("not yet")
        return lambda: "compiled"

    implementations = HostImplementations("k", {"pyccel": load, "numpy": named("numpy"), "python": named("python")})
    assert implementations() == implementations() == "numpy"
    assert len(attempts) == 1
    implementations.reset()
    assert implementations.errors == {}
    assert implementations() == "compiled"
    assert implementations.selected() == "pyccel"


@pytest.mark.parametrize(
    "error", [OSError(errno.EMFILE, "open files"), OSError(errno.ENOSPC, "full"), MemoryError("no memory")]
)
def test_what_the_machine_lacks_for_the_moment_decides_nothing(error):
    """Neither for an implementation, nor for a slower one; also where the reason is in another error."""
    attempts = []

    def load():
        attempts.append(1)
        if len(attempts) < 4:
            raise RuntimeError("no compiler") from error
        return lambda: "compiled"

    implementations = HostImplementations("k", {"pyccel": load, "python": named("python")})
    for _ in range(2):
        with pytest.raises(LookupError, match=r"kernel 'k': .* 'pyccel' could not be loaded now, and is tried again"):
            implementations()
    assert not implementations.available("pyccel")
    assert implementations.errors == {}
    assert implementations() == implementations() == "compiled"
    assert len(attempts) == 4


def test_plain_python_is_warned_of_once():
    implementations = HostImplementations("slow", {"numba": failing(ImportError("no numba")), "python": named("p")})
    with pytest.warns(
        CuNumpyWarning, match=r"kernel 'slow': runs as plain Python.*no numba.*Pass compile_host="
    ) as seen:
        assert implementations.selected() == "python"
    assert seen[0].filename == __file__
    assert implementations() == "p"  # warnings are errors here
    with pytest.warns(RuntimeWarning, match="it has no other implementation"):
        HostImplementations("alone", {"python": named("p")})()


def test_python_that_is_asked_for_is_not_warned_of():
    implementations = HostImplementations("k", {"python": named("p")})
    with use_host_kernel_implementation("python"):
        assert implementations() == "p"


def test_what_is_asked_for_runs_or_raises():
    implementations = HostImplementations(
        "k", {"pyccel": failing(ValueError("broken")), "numpy": named("numpy"), "python": named("python")}
    )
    assert implementations() == "numpy"
    with use_host_kernel_implementation("python"):
        assert implementations() == implementations.selected() == "python"
        with use_host_kernel_implementation("numba"):
            assert implementations.selected() == "numba"  # not asked whether it is there
            with pytest.raises(
                LookupError, match="has no implementation 'numba' on the host; it has 'pyccel', 'numpy', 'py"
            ):
                implementations()
        with use_host_kernel_implementation("pyccel"), pytest.raises(LookupError, match="'pyccel' could not be loaded"):
            implementations()
        assert implementations() == "python"
    assert implementations() == "numpy"
    set_host_kernel_implementation("python")
    assert implementations() == "python"
    set_host_kernel_implementation(None)
    assert implementations() == "numpy"


def test_nothing_loads():
    implementations = HostImplementations("k", {"numpy": failing(ImportError("a")), "python": failing(OSError("b"))})
    for _ in range(2):
        with pytest.raises(
            LookupError, match=r"none of its implementations can be used.*numpy: ImportError: a; python: OS"
        ):
            implementations()


def test_arguments_and_results_pass():
    implementations = HostImplementations(
        "k", {"numpy": lambda: lambda *args, **kwargs: (args, kwargs), "python": named("p")}
    )
    assert implementations(1, 2, x=3) == ((1, 2), {"x": 3})
    assert implementations.__name__ == "k"
    assert implementations.python is implementations.get("python")
    assert repr(implementations) == "<HostImplementations of k: numpy, python>"


def test_each_is_loaded_once_by_many_threads():
    loaded = []

    def load():
        loaded.append(1)
        return lambda: "numpy"

    implementations = HostImplementations("k", {"numpy": load, "python": named("p")})
    found = []
    threads = [threading.Thread(target=lambda: found.append(implementations())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["numpy"] * 8
    assert loaded == [1]


def test_wrong_loaders():
    with pytest.raises(ValueError, match="must have an entry 'python', got 'numpy'"):
        HostImplementations("k", {"numpy": named("numpy")})
    with pytest.raises(ValueError, match="has an entry 'fortran'; implementations are 'pyccel', 'numba'"):
        HostImplementations("k", {"fortran": named("f"), "python": named("p")})
    with pytest.raises(TypeError, match="got int for 'numpy'; pass lambda: implementation"):
        HostImplementations("k", {"numpy": 3, "python": named("p")})
    implementations = HostImplementations("k", {"numpy": lambda: 3, "python": named("p")})
    with pytest.raises(LookupError, match="the loader returned int, which can't be called"):
        implementations.get("numpy")


def test_pickles_by_its_loaders():
    implementations = HostImplementations("k", {"numpy": load_floor, "python": load_ceil})
    assert implementations(1.5) == 1
    copy = pickle.loads(pickle.dumps(implementations))
    assert (copy.__name__, copy.names, copy(1.5), copy.python(1.5)) == ("k", ("numpy", "python"), 1, 2)
    with pytest.raises(
        TypeError, match=r"its loader of 'python', .*<lambda>, can't be imported by that name; define it"
    ):
        pickle.dumps(HostImplementations("k", {"python": named("p")}))


# --- compiled modules -------------------------------------------------------------------------------------------------


def compiled_math(module):
    return types.SimpleNamespace(hypot=lambda x, y: np.sqrt(x * x + y * y))


def no_compiler(module):
    raise RuntimeError(f"no compiler for {module.__name__}")


def fallback_hypot(x, y):
    return -1.0


def test_a_module_is_compiled_once_and_when_needed():
    compiled = []

    def compiler(module):
        compiled.append(module)
        return compiled_math(module)

    kernel = CompiledHostKernel("math", "hypot", compiler)
    assert repr(kernel) == "<CompiledHostKernel math.hypot, not built>"
    assert kernel.python is math.hypot
    assert not compiled
    assert kernel(3.0, 4.0) == kernel(3.0, 4.0) == 5.0
    assert compiled == [math]
    assert kernel.compiled
    assert kernel.error is None
    assert kernel.build()(3.0, 4.0) == 5.0
    assert repr(kernel) == "<CompiledHostKernel math.hypot, compiled>"


def test_the_fallback_runs_where_compiling_fails():
    kernel = CompiledHostKernel(math, "hypot", no_compiler, fallback_hypot)
    assert kernel(3.0, 4.0) == -1.0
    assert kernel.build() is None
    assert not kernel.compiled
    assert isinstance(kernel.error, RuntimeError)
    assert kernel.fallback is fallback_hypot
    assert repr(kernel) == "<CompiledHostKernel math.hypot, failed>"


def test_plain_python_runs_without_a_fallback_and_is_warned_of_once():
    kernel = CompiledHostKernel("math", "hypot", no_compiler)
    with pytest.warns(CuNumpyWarning, match=r"kernel 'hypot': runs as plain Python.*RuntimeError: no compiler"):
        assert kernel(3.0, 4.0) == 5.0
    assert kernel(3.0, 4.0) == 5.0


def test_what_the_machine_lacks_for_the_moment_is_tried_again_by_the_next_call():
    attempts = []

    def compiler(module):
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError(errno.ENOSPC, "full")
        return compiled_math(module)

    kernel = CompiledHostKernel(math, "hypot", compiler, fallback_hypot)
    assert kernel(3.0, 4.0) == -1.0
    assert kernel.error.errno == errno.ENOSPC
    assert kernel(3.0, 4.0) == 5.0
    assert kernel.error is None


def test_a_module_that_lacks_the_function_after_compiling_counts_as_failed():
    kernel = CompiledHostKernel("math", "hypot", lambda module: types.SimpleNamespace(), fallback_hypot)
    assert kernel(1, 1) == -1.0
    assert isinstance(kernel.error, AttributeError)


@pytest.mark.parametrize("wrong", [3, None])
def test_what_can_not_be_called_counts_as_failed(wrong):
    calls = []

    def compiler(module):
        calls.append(module)
        return types.SimpleNamespace(hypot=wrong)

    kernel = CompiledHostKernel("math", "hypot", compiler, fallback_hypot)
    assert kernel(1, 1) == kernel(1, 1) == -1.0
    assert len(calls) == 1
    assert re.search("for 'hypot', which can't be called", str(kernel.error))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_that_is_forked_while_a_thread_loads_can_load_too():
    loading, finish = threading.Event(), threading.Event()

    def load():
        loading.set()
        assert finish.wait(30)
        return math.hypot

    implementations = HostImplementations("hypot", {"numpy": load, "python": lambda: math.hypot})
    compiled = CompiledHostKernel("math", "hypot", lambda module: types.SimpleNamespace(hypot=load()))
    for kernel in (implementations, compiled):
        loading.clear()
        finish.clear()
        thread = threading.Thread(target=kernel, args=(3.0, 4.0))
        thread.start()
        assert loading.wait(30)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads, which is what is tried
            child = os.fork()
        if child == 0:
            signal.alarm(20)  # ends it, if it waits for the lock
            finish.set()
            os._exit(0 if kernel(3.0, 4.0) == 5.0 else 1)
        _, status = os.waitpid(child, 0)
        finish.set()
        thread.join()
        assert os.waitstatus_to_exitcode(status) == 0


def test_compiling_is_tried_again_after_reset():
    state = {"compiler": no_compiler}
    kernel = CompiledHostKernel("math", "hypot", lambda module: state["compiler"](module), fallback_hypot)
    assert kernel(3.0, 4.0) == -1.0
    state["compiler"] = compiled_math
    assert kernel(3.0, 4.0) == -1.0
    kernel.reset()
    assert kernel(3.0, 4.0) == 5.0


def test_the_module_is_imported_when_it_is_needed():
    kernel = CompiledHostKernel("no_such_module_here", "f", compiled_math, fallback_hypot)
    assert kernel(1, 1) == -1.0
    with pytest.raises(ModuleNotFoundError):
        _ = kernel.python


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((3, "f", no_compiler), "'module' must be a module or its dotted name, got int"),
        (("math", 3, no_compiler), "'name' must be a str, got int"),
        (("math", "f", None), "'compiler' must be a function, got NoneType"),
        (("math", "f", no_compiler, 3), "'fallback' must be a function, got int"),
    ],
)
def test_wrong_arguments(arguments, text):
    with pytest.raises(TypeError, match=text):
        CompiledHostKernel(*arguments)


def test_a_full_disk_is_told_as_such_each_time_and_compiled_later():
    room = []

    def compiler(module):
        if room:
            return compiled_math(module)
        raise CompileError("no library was written") from OSError(errno.ENOSPC, "No space left on device")

    kernel = CompiledHostKernel(math, "hypot", compiler)
    for _ in range(2):
        with pytest.warns(CuNumpyWarning, match="could not be compiled now, which the next call tries again: Compile"):
            assert kernel(3.0, 4.0) == 5.0
    room.append(True)
    assert kernel(3.0, 4.0) == compiled_math(math).hypot(3.0, 4.0)


def test_compiled_kernels_pickle_without_what_was_compiled():
    kernel = CompiledHostKernel(math, "hypot", compiled_math, fallback_hypot)
    assert kernel.compiled
    copy = pickle.loads(pickle.dumps(kernel))
    assert "not built" in repr(copy)
    assert copy(3.0, 4.0) == 5.0
    with pytest.raises(TypeError, match=r"its compiler, .*<lambda>, can't be imported"):
        pickle.dumps(CompiledHostKernel(math, "hypot", lambda module: module))


def test_no_warning_is_left_out():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        implementations = HostImplementations("k", {"python": named("p")})
        with pytest.raises(CuNumpyWarning):
            implementations()
        assert implementations() == "p"
