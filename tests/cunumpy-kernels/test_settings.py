"""Which implementation of kernels is asked for."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading

import pytest

from cunumpy import _environment, kernels

SETTINGS = [
    pytest.param(
        kernels.get_host_kernel_implementation,
        kernels.set_host_kernel_implementation,
        kernels.use_host_kernel_implementation,
        kernels.HOST_IMPLEMENTATIONS,
        id="host",
    ),
    pytest.param(
        kernels.get_device_kernel_implementation,
        kernels.set_device_kernel_implementation,
        kernels.use_device_kernel_implementation,
        kernels.DEVICE_IMPLEMENTATIONS,
        id="device",
    ),
]


@pytest.fixture(autouse=True)
def unset():
    yield
    kernels.set_host_kernel_implementation(None)
    kernels.set_device_kernel_implementation(None)


def test_the_names_are_those_of_the_contract():
    assert kernels.HOST_IMPLEMENTATIONS == ("pyccel", "numba", "numpy", "cpu", "python")
    assert kernels.DEVICE_IMPLEMENTATIONS == ("cuda",)
    for name, choices in (("HOST", kernels.HOST_IMPLEMENTATIONS), ("DEVICE", kernels.DEVICE_IMPLEMENTATIONS)):
        assert _environment.VARIABLES[f"CUNUMPY_{name}_KERNEL_IMPLEMENTATION"].choices == choices


@pytest.mark.parametrize(("get", "set_", "use", "names"), SETTINGS)
def test_the_process_has_a_choice_and_blocks_restore_it(get, set_, use, names):
    assert get() is None
    for name in names:
        set_(name)
        assert get() == name
        with use(None):
            assert get() is None
            with use(names[-1]):
                assert get() == names[-1]
            assert get() is None
        with pytest.raises(KeyError), use(names[0]):
            raise KeyError
        assert get() == name
    set_(None)
    assert get() is None


@pytest.mark.parametrize(("get", "set_", "use", "names"), SETTINGS)
@pytest.mark.parametrize("wrong", ["fortran", "", "Python", "CUDA", 3, True, ["cuda"]])
def test_unknown_names_are_refused_and_change_nothing(get, set_, use, names, wrong):
    set_(names[0])
    for call in (set_, lambda name: use(name).__enter__()):
        with pytest.raises(ValueError, match=f"must be '{names[0]}'.*got {re.escape(repr(wrong))}"):
            call(wrong)
        assert get() == names[0]


def test_a_change_inside_of_a_block_ends_with_it():
    with kernels.use_host_kernel_implementation("numpy"):
        kernels.set_host_kernel_implementation("python")
        assert kernels.get_host_kernel_implementation() == "python"
    assert kernels.get_host_kernel_implementation() is None


def test_it_decorates_functions():
    @kernels.use_host_kernel_implementation("numba")
    def asked():
        return kernels.get_host_kernel_implementation()

    assert asked() == asked() == "numba"
    assert kernels.get_host_kernel_implementation() is None


@pytest.mark.parametrize(("get", "set_", "use", "names"), SETTINGS)
def test_it_decorates_generators_and_coroutines(get, set_, use, names):
    """Their bodies run when the call of the function is over, and between their steps others do."""

    @use(names[0])
    def generator():
        yield get()
        yield get()

    @use(names[0])
    async def coroutine():
        await asyncio.sleep(0)
        return get()

    @use(names[0])
    async def asynchronous_generator():
        yield get()

    async def first():
        return [(found, get()) async for found in asynchronous_generator()]

    steps = generator()
    assert (next(steps), get(), next(steps)) == (names[0], None, names[0])
    assert asyncio.run(coroutine()) == names[0]
    assert asyncio.run(first()) == [(names[0], None)]
    assert get() is None


def test_blocks_are_seen_by_their_own_thread_and_the_process_choice_by_all():
    kernels.set_host_kernel_implementation("numpy")
    seen = []

    def run():
        seen.append(kernels.get_host_kernel_implementation())
        with kernels.use_host_kernel_implementation("numba"):
            barrier.wait()
            barrier.wait()

    barrier = threading.Barrier(2)
    with kernels.use_host_kernel_implementation("python"):
        thread = threading.Thread(target=run)
        thread.start()
        barrier.wait()  # now the other thread is inside of its block
        seen.append(kernels.get_host_kernel_implementation())
        barrier.wait()
        thread.join()
    assert seen == ["numpy", "python"]


def test_one_scope_can_be_entered_again_and_by_several_threads():
    scope = kernels.use_host_kernel_implementation("numpy")
    seen = []

    def run():
        with kernels.use_host_kernel_implementation("numba"):
            with scope:
                barrier.wait()
                barrier.wait()
            seen.append(kernels.get_host_kernel_implementation())

    barrier = threading.Barrier(2)
    thread = threading.Thread(target=run)
    with scope:
        thread.start()
        barrier.wait()  # the other thread has entered it last
        with scope:
            pass
        assert kernels.get_host_kernel_implementation() == "numpy"
    assert kernels.get_host_kernel_implementation() is None
    barrier.wait()
    thread.join()
    assert seen == ["numba"]
    assert repr(scope) == "use_host_kernel_implementation('numpy')"


def test_blocks_belong_to_tasks():
    async def task(name):
        with kernels.use_host_kernel_implementation(name):
            await asyncio.sleep(0)
            kernels.set_host_kernel_implementation(name)
            await asyncio.sleep(0)
            return kernels.get_host_kernel_implementation()

    async def both():
        return await asyncio.gather(task("python"), task("numpy"))

    assert asyncio.run(both()) == ["python", "numpy"]


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, check=False
    )


def test_environment_variables():
    code = (
        "from cunumpy import kernels as k\n"
        "print(k.get_host_kernel_implementation(), k.get_device_kernel_implementation())"
    )
    host, device = "CUNUMPY_HOST_KERNEL_IMPLEMENTATION", "CUNUMPY_DEVICE_KERNEL_IMPLEMENTATION"
    assert run(code, **{host: " NumPy ", device: "CUDA"}).stdout.split() == ["numpy", "cuda"]
    assert run(code, **{host: " ", device: ""}).stdout.split() == ["None", "None"]
    failed = run(code, **{host: "cuda"})
    assert failed.returncode
    assert "CUNUMPY_HOST_KERNEL_IMPLEMENTATION='cuda' means nothing; expected 'pyccel' or 'numba'" in failed.stderr
