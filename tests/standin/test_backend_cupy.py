"""Switching between the backends where both can be used: scopes, threads, tasks, generators, names."""

import asyncio
import contextvars
import gc
import importlib
import os
import random
import signal
import sys
import threading
import types

import numpy as np
import pytest

import cunumpy as xp
from cunumpy import _backend, errors
from cunumpy.kernel_testing import run_in_fake_cupy_subprocess

cupy = sys.modules["cupy"]


@pytest.fixture(autouse=True)
def numpy_by_default():
    xp.set_backend("numpy")
    yield
    xp.set_backend("cupy")
    gc.collect()
    assert not _backend._split
    assert type(xp) is types.ModuleType


def active():
    """Return what the namespace shows, checked for consistency."""
    name = xp.get_backend()
    module = {"numpy": np, "cupy": cupy}[name]
    assert xp.dot is module.dot
    assert xp.cupy_backend is (name == "cupy")
    assert xp.numpy_backend is (name == "numpy")
    return name


class TestSwitching:
    def test_there_and_back(self):
        zeros = xp.zeros
        xp.set_backend("cupy")
        assert active() == "cupy"
        assert type(xp.zeros(2)) is cupy.ndarray
        on_device = xp.zeros
        xp.set_backend("numpy")
        assert xp.zeros is zeros is np.zeros
        xp.set_backend("cupy")
        assert xp.zeros is on_device

    def test_names_of_one_backend_only(self):
        assert xp.insert is np.insert
        with pytest.raises(AttributeError, match=r"'asnumpy' on the numpy backend; CuPy has it.*use_backend\('cupy'\)"):
            _ = xp.asnumpy
        xp.set_backend("cupy")
        with pytest.raises(errors.MissingNameError, match=r"'insert' on the cupy backend; NumPy has it.*host_call"):
            _ = xp.insert
        assert callable(xp.asnumpy)
        assert "asnumpy" in dir(xp)
        assert "insert" not in dir(xp)
        assert xp.available("insert", "numpy")
        assert not xp.available("insert")

    def test_what_the_library_says_of_a_missing_name_is_passed_on(self):
        xp.set_backend("cupy")
        with pytest.raises(AttributeError, match=r"'make_aligned_dtype' on the cupy backend: CuPy has it, but"):
            _ = xp.make_aligned_dtype

    def test_missing_names_of_submodules(self):
        xp.set_backend("cupy")
        with pytest.raises(errors.MissingNameError, match=r"'cunumpy\.linalg' has no attribute 'nrom'.*'norm'"):
            _ = xp.linalg.nrom
        with pytest.raises(errors.MissingNameError, match=r"'multi_dot'.*host_call\(numpy\.linalg\.multi_dot"):
            _ = xp.linalg.multi_dot
        with pytest.raises(errors.MissingNameError, match=r"'errstate'.*Use numpy\.errstate itself"):
            _ = xp.errstate

    def test_lazy_names_of_numpy_do_not_stay(self):
        code = """
import numpy
import cunumpy as xp
lazy = [name for name in ("char", "ctypeslib", "ma", "matlib", "rec", "strings") if name not in vars(numpy)]
assert lazy and all(getattr(xp, name) for name in lazy) and xp.random
xp.set_backend("cupy")
assert not [name for name in lazy if hasattr(xp, name)]
assert xp.random.__name__ == "cupy.random" and xp.fft.__name__ == "cunumpy._cupy_namespace.fft"
with xp.use_backend("numpy"):
    assert all(getattr(xp, name) for name in lazy)
print("good")
"""
        done = run_in_fake_cupy_subprocess(code, env={"CUNUMPY_BACKEND": "numpy"})
        assert done.stdout == "good\n"

    def test_shared_names(self):
        before = xp.float64, xp.pi, xp.newaxis
        xp.set_backend("cupy")
        assert (xp.float64, xp.pi, xp.newaxis) == before
        assert xp.float64 is np.float64
        assert xp.cuda.__name__ == "cunumpy.cuda"
        assert xp.linalg.norm is not np.linalg.norm
        assert xp.random is cupy.random
        assert xp.get_namespace() is xp.get_array_module(xp.zeros(1))

    def test_arrays_stay_where_they_are(self):
        a = xp.zeros(2)
        xp.set_backend("cupy")
        assert xp.get_array_backend(a) == "numpy"
        assert xp.is_gpu(xp.zeros(2))

    def test_listeners(self):
        from cunumpy.xp import array_backend

        heard = []
        array_backend.add_listener(heard.append)
        xp.set_backend("cupy")
        with xp.use_backend("numpy"):
            pass
        xp.set_backend("numpy")
        array_backend._listeners.remove(heard.append)
        assert [module.__name__.rpartition("_")[0] for module in heard] == [
            "cunumpy._numpy",
            "cunumpy._cupy",
            "cunumpy._numpy",
        ]

    def test_failing_to_load_changes_nothing(self, monkeypatch):
        with monkeypatch.context() as patched:
            patched.setattr(_backend, "_cupy_ready", False)
            patched.setattr(_backend, "_probe", (None, "no driver"))
            with pytest.raises(errors.BackendUnavailableError, match="no driver"):
                xp.set_backend("cupy", strict=True)
        assert active() == "numpy"

    @pytest.mark.parametrize("backend", ["numpy", "cupy"])
    def test_reloading_the_package_keeps_the_backend(self, backend, monkeypatch):
        monkeypatch.setenv("CUNUMPY_BACKEND", backend)
        xp.set_backend(backend)
        listeners = len(_backend._listeners)
        assert importlib.reload(xp) is xp
        assert active() == backend
        assert hasattr(xp, "insert") is (backend == "numpy")
        assert len(_backend._listeners) == listeners

    def test_reloading_follows_the_environment(self, monkeypatch):
        monkeypatch.setenv("CUNUMPY_BACKEND", "cupy")
        importlib.reload(xp)
        assert active() == "cupy"


class TestScopes:
    def test_nested(self):
        with xp.use_backend("cupy"):
            assert active() == "cupy"
            with xp.use_backend("numpy"):
                assert active() == "numpy"
            assert active() == "cupy"
        assert active() == "numpy"

    def test_the_module_is_untouched(self):
        with xp.use_backend("cupy"):
            assert vars(xp)["dot"] is np.dot
            assert xp.dot is cupy.dot
        assert type(xp) is types.ModuleType

    def test_set_backend_changes_the_innermost_scope(self):
        with xp.use_backend("cupy"):
            with xp.use_backend("cupy"):
                xp.set_backend("numpy")
                assert active() == "numpy"
            assert active() == "cupy"
        assert active() == "numpy"

    def test_out_of_order_removes_that_scope_and_only_it(self):
        outer, inner = xp.use_backend("cupy"), xp.use_backend("numpy")
        outer.__enter__()
        inner.__enter__()
        with pytest.raises(errors.ScopeError):
            outer.__exit__(None, None, None)
        assert active() == "numpy"
        inner.__exit__(None, None, None)
        assert active() == "numpy"

    def test_set_backend_of_the_process_under_a_scope_elsewhere(self):
        entered, go_on, seen = threading.Event(), threading.Event(), []

        def work():
            with xp.use_backend("numpy"):
                entered.set()
                go_on.wait()
                seen.append(active())
            seen.append(active())

        thread = threading.Thread(target=work)
        thread.start()
        entered.wait()
        xp.set_backend("cupy")
        assert active() == "cupy"
        go_on.set()
        thread.join()
        assert seen == ["numpy", "cupy"]

    def test_exceptions_restore(self):
        with pytest.raises(ZeroDivisionError), xp.use_backend("cupy"):
            raise ZeroDivisionError
        assert active() == "numpy"

    def test_monkeypatching_inside_a_scope_is_for_its_backend(self, monkeypatch):
        with xp.use_backend("cupy"):
            monkeypatch.setattr(xp, "dot", len)
            assert xp.dot is len
            with xp.use_backend("numpy"):
                assert xp.dot is np.dot
            monkeypatch.undo()
            assert xp.dot is cupy.dot


class TestIsolation:
    def test_threads(self):
        def work():
            seen.append(active())
            with xp.use_backend("numpy"):
                seen.append(active())

        seen = []
        with xp.use_backend("cupy"):
            thread = threading.Thread(target=work, **_without_inheritance())
            thread.start()
            thread.join()
            assert active() == "cupy"
        assert seen == ["numpy", "numpy"]

    def test_tasks_inherit_and_keep(self):
        async def outlives(event):
            assert active() == "cupy"
            await event.wait()
            return active()

        async def main():
            event = asyncio.Event()
            with xp.use_backend("cupy"):
                task = asyncio.create_task(outlives(event))
                await asyncio.sleep(0)
            assert active() == "numpy"
            event.set()
            return await task

        assert asyncio.run(main()) == "cupy"
        gc.collect()
        assert type(xp) is types.ModuleType

    def test_set_backend_in_an_inherited_scope_is_the_tasks_own(self):
        async def child():
            xp.set_backend("numpy")
            await asyncio.sleep(0)
            return active()

        async def main():
            with xp.use_backend("cupy"):
                assert await asyncio.create_task(child()) == "numpy"
                assert active() == "cupy"

        asyncio.run(main())

    def test_decorated_generators_do_not_show(self):
        @xp.use_backend("cupy")
        def numbers():
            for _ in range(3):
                assert active() == "cupy"
                yield active()

        for inside in numbers():
            assert inside == "cupy"
            assert active() == "numpy"

    def test_a_with_in_a_generators_body_shows_until_it_resumes(self):
        def numbers():
            with xp.use_backend("cupy"):
                yield active()

        iterator = numbers()
        assert next(iterator) == "cupy"
        assert active() == "cupy"
        assert list(iterator) == []
        assert active() == "numpy"

    def test_decorated_coroutines_do_not_show(self):
        @xp.use_backend("cupy")
        async def work():
            for _ in range(3):
                assert active() == "cupy"
                await asyncio.sleep(0)

        async def watch():
            for _ in range(3):
                assert active() == "numpy"
                await asyncio.sleep(0)

        async def main():
            await asyncio.gather(work(), watch(), work())

        asyncio.run(main())

    def test_a_generator_closed_in_another_context(self):
        def numbers():
            with xp.use_backend("cupy"):
                yield

        iterator = numbers()
        context = contextvars.copy_context()
        context.run(next, iterator)
        with pytest.raises(errors.ScopeError, match="another context"):
            iterator.close()
        assert context.run(active) == "numpy"
        assert active() == "numpy"

    def test_an_asynchronous_generator_that_is_not_used_up(self):
        """The event loop closes it in a copy of the context."""

        async def numbers():
            with xp.use_backend("cupy"):
                for n in range(3):
                    yield n

        async def main():
            async for _ in numbers():
                break
            gc.collect()
            for _ in range(3):
                await asyncio.sleep(0)
            return active()

        assert asyncio.run(main()) == "numpy"

    def test_left_in_a_copy_of_the_context(self):
        scope = xp.use_backend("cupy")

        def main():
            scope.__enter__()
            contextvars.copy_context().run(scope.__exit__, None, None, None)
            return active()

        assert contextvars.copy_context().run(main) == "numpy"

    def test_scopes_that_were_closed_elsewhere_are_dropped(self):
        def main():
            for _ in range(3):
                closed = xp.use_backend("cupy")
                closed.__enter__()
                with pytest.raises(errors.ScopeError, match="another context"):
                    contextvars.Context().run(closed.__exit__, None, None, None)
            with xp.use_backend("cupy"):
                assert len(_backend._choices.get()) == 1
            outer, closed = xp.use_backend("cupy"), xp.use_backend("cupy")
            outer.__enter__()
            closed.__enter__()
            with pytest.raises(errors.ScopeError, match="another context"):
                contextvars.Context().run(closed.__exit__, None, None, None)
            outer.__exit__(None, None, None)  # in order: the later one is closed
            return active()

        assert contextvars.copy_context().run(main) == "numpy"

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python 3.12 and later on forks beside threads
    def test_a_fork_while_other_threads_switch(self):
        stop = threading.Event()

        def switch():
            while not stop.is_set():
                with xp.use_backend("cupy"):
                    pass

        threads = [threading.Thread(target=switch) for _ in range(4)]
        for thread in threads:
            thread.start()
        ends = []
        for _ in range(10):
            child = os.fork()
            if child == 0:
                signal.alarm(20)  # ends a child that waits for a lock
                xp.set_backend("cupy")
                with xp.use_backend("numpy"):
                    os._exit(xp.get_backend() != "numpy")
            ends.append(os.waitpid(child, 0)[1])
        stop.set()
        for thread in threads:
            thread.join()
        assert ends == [0] * 10

    def test_stress(self):
        """Threads, tasks and generators with nested scopes while the default flips: never a wrong read."""
        stop = threading.Event()
        wrong: list[str] = []
        reads = [0] * 6

        def check(expected):
            module = {"numpy": np, "cupy": cupy}[expected]
            if xp.dot is not module.dot or xp.get_backend() != expected or xp.cupy_backend != (expected == "cupy"):
                wrong.append(expected)

        def nested(seed):
            generator = random.Random(seed)
            while not stop.is_set():
                names = [generator.choice(["numpy", "cupy"]) for _ in range(3)]
                with xp.use_backend(names[0]):
                    check(names[0])
                    with xp.use_backend(names[1]):
                        check(names[1])
                        xp.set_backend(names[2])
                        check(names[2])
                    check(names[0])
                reads[seed] += 4

        def tasks(seed):
            async def one(name):
                with xp.use_backend(name):
                    for _ in range(3):
                        check(name)
                        await asyncio.sleep(0)

            async def all_of_them():
                await asyncio.gather(*(one(name) for name in ("numpy", "cupy", "numpy", "cupy")))

            while not stop.is_set():
                asyncio.run(all_of_them())
                reads[seed] += 12

        def generators(seed):
            @xp.use_backend("cupy")
            def device():
                for _ in range(4):
                    check("cupy")
                    yield

            @xp.use_backend("numpy")
            def host():
                for _ in range(4):
                    check("numpy")
                    yield

            while not stop.is_set():
                for _ in zip(device(), host(), strict=True):
                    pass
                reads[seed] += 8

        workers = [nested, nested, tasks, tasks, generators, generators]
        threads = [threading.Thread(target=work, args=(seed,)) for seed, work in enumerate(workers)]
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            for thread in threads:
                thread.start()
            for _ in range(400):
                xp.set_backend("cupy")
                check("cupy")
                xp.set_backend("numpy")
                check("numpy")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
            sys.setswitchinterval(interval)
        assert not wrong
        assert min(reads) > 0


def _without_inheritance():
    """Arguments for a thread that starts with an empty context, also where Python would pass it on (from 3.14)."""
    return {"context": contextvars.Context()} if sys.version_info >= (3, 14) else {}
