"""Debug mode: of the process, of a block, of a thread."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.cuda import cuda_debug, get_cuda_debug, set_cuda_debug
from cunumpy.errors import ArgumentTypeError


@pytest.fixture(autouse=True)
def off():
    set_cuda_debug(False)
    yield
    set_cuda_debug(False)


def test_options() -> None:
    assert xp.cuda.DEBUG_OPTIONS == ("-lineinfo", "-DCUNUMPY_BOUNDS_CHECK")


def test_options_are_the_compilers() -> None:
    source = """extern "C" __global__ void f(int* x) {
    #ifndef CUNUMPY_BOUNDS_CHECK
    #error not in debug mode
    #endif
    x[0] = 1; }"""
    assert xp.cuda.check_cuda(source, archs=["sm_80"], options=xp.cuda.DEBUG_OPTIONS).kernels


def test_blocks_are_nested_and_end() -> None:
    with cuda_debug():
        assert get_cuda_debug()
        with cuda_debug(False):
            assert not get_cuda_debug()
        assert get_cuda_debug()
        with pytest.raises(ZeroDivisionError), cuda_debug(False):
            1 / 0  # noqa: B018
        assert get_cuda_debug()
    assert not get_cuda_debug()


def test_setting_inside_a_block_ends_with_it() -> None:
    with cuda_debug():
        set_cuda_debug(False)
        assert not get_cuda_debug()
    assert not get_cuda_debug()
    set_cuda_debug(1)
    with cuda_debug(False):
        set_cuda_debug(False)
    assert get_cuda_debug() is True


def test_a_function_is_decorated() -> None:
    assert cuda_debug()(get_cuda_debug)()
    assert not get_cuda_debug()


def test_other_threads_see_the_process_and_not_the_block() -> None:
    together = Barrier(8)

    def work(number: int) -> bool:
        together.wait()
        for _ in range(20):
            with cuda_debug(number % 2 == 0):
                if get_cuda_debug() != (number % 2 == 0):
                    return False
        return not get_cuda_debug()

    with cuda_debug(), ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
    set_cuda_debug(True)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(get_cuda_debug).result()


@pytest.mark.parametrize("call", [set_cuda_debug, lambda value: cuda_debug(value).__enter__()])
@pytest.mark.parametrize("value", ["no", b"no", np.str_("no"), np.zeros(1), np.zeros(3)])
def test_strings_and_arrays_have_no_truth(call, value) -> None:
    with pytest.raises(ArgumentTypeError, match="'enabled' must be True or False, got "):
        call(value)


@pytest.mark.parametrize(("text", "value"), [("", "False"), (" ON ", "True"), ("1", "True"), ("no", "False")])
def test_initial_value(text: str, value: str) -> None:
    assert read(text).stdout == f"{value}\n"


def test_initial_value_that_means_nothing() -> None:
    assert "SettingError: environment variable CUNUMPY_CUDA_DEBUG='maybe' means nothing" in read("maybe").stderr


def read(text: str) -> subprocess.CompletedProcess[str]:
    program = "import cunumpy as xp; print(xp.cuda.get_cuda_debug())"
    env = {**os.environ, "CUNUMPY_CUDA_DEBUG": text}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env, check=False)
