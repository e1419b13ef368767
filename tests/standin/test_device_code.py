"""CUDA sources of packages are compiled once, and launched with enough threads."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from types import ModuleType

import cupy
import numpy as np
import pytest

from cunumpy.cuda._device_code import DeviceCode, check_devices
from cunumpy.errors import ArgumentError

SOURCE = """
#include <cunumpy/morton.cuh>
#include "step.cuh"

extern "C" __global__ void spread(unsigned long long* keys, long long n) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) keys[i] = cunumpy_morton_spread2(keys[i]);
}

template <class T>
__global__ void add(T* values, T much, long long n) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) values[i] += STEP * much;
}
"""


@pytest.fixture
def code(tmp_path, monkeypatch, raw_modules):
    (tmp_path / "kernels.cu").write_text(SOURCE)
    (tmp_path / "step.cuh").write_text("#define STEP 1\n")
    module = ModuleType("some.package")
    module.__file__ = str(tmp_path / "__init__.py")
    monkeypatch.setitem(sys.modules, "some.package", module)
    return DeviceCode("some.package", "kernels.cu")


@pytest.mark.parametrize("n", [1, 255, 256, 257, 1000])
def test_every_element_has_a_thread(code, n):
    keys = cupy.full(n, 3, np.uint64)
    code.launch("spread", n, (keys, np.int64(n)))
    assert cupy.asnumpy(keys).tolist() == [5] * n


def test_instances_of_a_template(code, raw_modules):
    doubles, integers = cupy.zeros(3), cupy.zeros(3, np.int32)
    code.launch("add<double>", 3, (doubles, np.float64(0.5), np.int64(3)))
    code.launch("add<int>", 3, (integers, np.int32(2), np.int64(2)), threads=1)
    assert cupy.asnumpy(doubles).tolist() == [0.5] * 3
    assert cupy.asnumpy(integers).tolist() == [2, 2, 0]
    assert raw_modules == ["add<double>", "add<int>"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_that_is_forked_while_a_thread_compiles_can_compile_too(code, monkeypatch):
    compiling, finish = threading.Event(), threading.Event()
    module = code._module

    def slowly(name):
        compiling.set()
        assert finish.wait(30)
        return module(name)

    monkeypatch.setattr(code, "_module", slowly)
    thread = threading.Thread(target=code.kernel, args=("spread",))
    thread.start()
    assert compiling.wait(30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads, which is what is tried
        child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends it, if it waits for the lock
        finish.set()
        code.kernel("spread")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    finish.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0


def test_nothing_is_launched_for_nothing(code, raw_modules):
    code.launch("spread", 0, (cupy.zeros(0, np.uint64), np.int64(0)))
    assert raw_modules == []


def test_a_kernel_is_made_once(code):
    assert code.kernel("spread") is code.kernel("spread")


def test_the_headers_contents_are_part_of_the_source(code):
    first, second = code.text().splitlines()[:2]
    assert first.startswith("// headers: ")
    assert second == ""
    (code.path.parent / "step.cuh").write_text("#define STEP 2\n")
    assert code.text().splitlines()[0] != first


def test_arrays_of_another_device_are_refused(monkeypatch):
    here = cupy.zeros(1)
    check_devices("f", x=here, y=None)
    monkeypatch.setattr(cupy.cuda.runtime, "getDevice", lambda: 3)
    with pytest.raises(ArgumentError, match=r"f: argument 'x' is on device 0, the current device is 3; .*Device\(0\)"):
        check_devices("f", y=None, x=here)
