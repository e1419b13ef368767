"""Structs of device arrays: packed without a copy, and checked against a kernel's view of them."""

from __future__ import annotations

import copy

import cupy
import numpy as np
import pytest

import cunumpy as xp
from cunumpy.arguments import CudaStruct, CudaStructArguments
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.kernels import CudaKernel

STEP = CudaStruct(
    "Step", [("x", "double*"), ("a", "Array2D<const double>"), ("w", "CArray1D<int>"), ("n", "int"), ("dt", "double")]
)


def values():
    a = cupy.arange(24.0).reshape(4, 6)
    return {"x": cupy.zeros(3), "a": a[::-1, ::2], "w": cupy.arange(3, dtype="int32"), "n": 3, "dt": 0.5}


def test_device_arrays_are_packed_without_a_transfer():
    given = values()
    with xp.profiling.count_transfers() as counts:
        packed = STEP(**given).packed
    assert list(counts.events) == []
    assert packed["x"] == given["x"].data.ptr
    assert packed["a"]["data"] == given["a"].data.ptr
    assert packed["a"]["shape"].tolist() == [4, 3]
    assert packed["a"]["strides"].tolist() == [-6, 2]
    assert packed["w"]["data"] == given["w"].data.ptr
    assert (packed["n"], packed["dt"]) == (3, 0.5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x", np.zeros(3)),
        ("x", cupy.zeros(3, "float32")),
        ("x", cupy.zeros((4, 6))[:, ::2]),
        ("x", cupy.zeros((4, 6), order="F")),
        ("a", cupy.zeros(3)),
        ("a", np.zeros((2, 2))),
        ("w", cupy.arange(6, dtype="int32")[::2]),
        ("n", cupy.array(3)),
        ("dt", cupy.array(0.5)),
    ],
)
def test_arrays_that_do_not_fit(name, value):
    with pytest.raises(ArgumentTypeError, match=rf"^field '{name}' of struct Step \("):
        STEP(**values() | {name: value})


def test_arrays_of_another_device(monkeypatch):
    value = STEP(**values())
    kernel = CudaKernel(f'{STEP.declaration}\nextern "C" __global__ void k(Step s) {{}}', "k", structs=[STEP])
    monkeypatch.setattr("cunumpy.arguments._current_device._device_count", None)
    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 2)
    monkeypatch.setattr(cupy.cuda.runtime, "getDevice", lambda: 1)
    with pytest.raises(
        ArgumentError, match=r"field 'x' of struct Step \(double\*\) is on CUDA device 0, the current device is 1"
    ):
        STEP(**values())
    with pytest.raises(ArgumentError, match=r"CudaKernel 'k': .*, field 'x', is on CUDA device 0, the current device"):
        kernel.prepare_args(value)
    monkeypatch.setattr(cupy.cuda.runtime, "getDevice", lambda: 0)
    assert kernel.prepare_args(value) == (value.packed,)


@pytest.mark.usefixtures("raw_modules")
def test_a_kernel_finds_the_fields_where_they_are_packed(raw_modules):
    """Compiled by the host's compiler, whose layout of these types is the device's."""
    code = f"""#include "cunumpy/array_view.cuh"
    {STEP.declaration}
    extern "C" __global__ void push(Step s) {{
        for (int i = 0; i < s.n; ++i) s.x[i] = s.dt * s.a(i, 1) + s.w(i);
    }}"""
    given = values()
    kernel = cupy.RawModule(code=code, options=("-std=c++14", f"-I{xp.cuda.cuda_include_dir()}")).get_function("push")
    kernel((1,), (1,), (STEP(**given).packed,))
    expected = 0.5 * xp.to_numpy(given["a"])[:3, 1] + np.arange(3)
    np.testing.assert_array_equal(xp.to_numpy(given["x"]), expected)


class Step(CudaStructArguments):
    struct_name = "Step"
    fields = tuple((name, ctype) for name, ctype in [("x", "double*"), ("a", "Array1D<double>"), ("n", "int")])

    def __init__(self, x, a, n):
        self.x, self.a, self.n = x, a, n
        self.pack()


def test_objects_notice_new_arrays_and_views():
    memory = cupy.arange(6.0)
    one = Step(memory, memory, 6)
    first = one.packed
    assert one.packed is first
    one.x = memory[:]
    assert one.packed is first
    one.a = memory[::2]
    assert one.packed["a"]["strides"].tolist() == [2]
    one.x = memory[::2]
    with pytest.raises(ArgumentTypeError, match=r"field 'x' of struct Step \(double\*\) must be a C-contiguous"):
        _ = one.packed
    one.x = memory.view("int64")
    with pytest.raises(ArgumentTypeError, match=r"dtype=int64\); convert it once"):
        _ = one.packed


def test_deep_copies_have_arrays_of_their_own():
    one = Step(cupy.zeros(3), cupy.zeros(3), 3)
    other = copy.deepcopy(one)
    assert other.packed["x"] == other.x.data.ptr != one.packed["x"]
    value = STEP(**values())
    assert copy.deepcopy(value).packed["x"] != value.packed["x"]


@pytest.mark.usefixtures("raw_modules")
def test_verify_layout_runs_the_kernel():
    with xp.profiling.count_transfers() as counts:
        found = STEP.verify_layout()
    assert found == {"sizeof": 80, "alignof": 8, "x": 0, "a": 8, "w": 48, "n": 64, "dt": 72}
    assert [event.kind for event in counts.events] == ["to_host"]


@pytest.mark.usefixtures("raw_modules")
def test_verify_layout_finds_differences(tmp_path):
    (tmp_path / "own.cuh").write_text("struct Pair { double x; int n; };\n")
    with pytest.raises(ArgumentError, match="the offset of field 'n' is 8 and should be 0"):
        CudaStruct("Pair", [("n", "int"), ("x", "double")]).verify_layout("own.cuh", include_dirs=[tmp_path])
