"""`MetalKernel`: what MLX is asked for, and every check. MLX is a recorded stand-in here; the last test needs a Mac."""

from __future__ import annotations

import importlib.util
import pickle
import sys
import types

import numpy as np
import pytest

import array_kinds
from cunumpy import profiling
from cunumpy.errors import (
    ArgumentError,
    ArgumentRangeError,
    ArgumentTypeError,
    BackendUnavailableError,
    MissingPackageError,
)
from cunumpy.kernels import MetalKernel, metal_available

SOURCE = "uint i = thread_position_in_grid.x; y[i] = factor[0] * x[i];"


class Dtype:
    """A dtype of MLX."""

    def __init__(self, name):
        self.name = name


class Recorder:
    """What `mlx.core` has of the names that are used, as MLX documents them; a kernel runs `compute`."""

    def __init__(self):
        self.kernels, self.calls, self.evaluated = [], [], []
        self.compute = None
        self.core = types.ModuleType("mlx.core")
        self.core.Dtype = Dtype
        for name in ("bool_", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "complex64"):
            setattr(self.core, name, Dtype(name))
        self.core.array = self.array
        self.core.eval = self.evaluate
        self.core.gpu = "gpu"
        self.core.metal = types.SimpleNamespace(is_available=lambda: True)
        self.core.fast = types.SimpleNamespace(metal_kernel=self.metal_kernel)

    def array(self, value):
        assert isinstance(value, np.ndarray)
        assert value.dtype != np.float64
        assert value.ndim > 0
        assert value.dtype.isnative
        return value.copy()

    def evaluate(self, *arrays):
        self.evaluated += arrays

    def metal_kernel(
        self, name, input_names, output_names, source, header="", ensure_row_contiguous=True, atomic_outputs=False
    ):
        self.kernels.append((name, input_names, output_names, source, header, ensure_row_contiguous, atomic_outputs))

        def call(*, inputs, grid, threadgroup, output_shapes, output_dtypes, template=(), init_value=None, stream):
            assert stream == "gpu"
            self.calls.append(
                {
                    "inputs": inputs,
                    "grid": grid,
                    "threadgroup": threadgroup,
                    "shapes": output_shapes,
                    "dtypes": [dtype.name for dtype in output_dtypes],
                    "template": list(template),
                    "init_value": init_value,
                }
            )
            outs = [
                np.full(shape, init_value or 0, dtype.name)
                for shape, dtype in zip(output_shapes, output_dtypes, strict=True)
            ]
            if self.compute is not None:
                self.compute(*inputs, *outs)
            return outs

        return call


@pytest.fixture
def mlx(monkeypatch):
    recorder = Recorder()
    package = types.ModuleType("mlx")
    package.core = recorder.core
    monkeypatch.setitem(sys.modules, "mlx", package)
    monkeypatch.setitem(sys.modules, "mlx.core", recorder.core)
    return recorder


@pytest.fixture
def scale(mlx):
    def compute(factor, x, y):
        y[...] = factor[0] * x

    mlx.compute = compute
    return MetalKernel(SOURCE, ["factor", "x"], ["y"], name="scale", threadgroup=64)


def copying(**options):
    return MetalKernel("y[0] = x[0];", ["x"], ["y"], name="copy", **options)


# --- making one -------------------------------------------------------------------------------------------------------


def test_attributes():
    kernel = MetalKernel(SOURCE, ["factor", "x"], ["y"], header="// h", threadgroup=(8, 4), atomic_outputs=True)
    assert (kernel.source, kernel.inputs, kernel.outputs) == (SOURCE, ("factor", "x"), ("y",))
    assert (kernel.name, kernel.header, kernel.threadgroup) == ("cunumpy_kernel", "// h", (8, 4, 1))
    assert (kernel.float64, kernel.atomic_outputs, kernel.init_value) == ("error", True, None)
    assert repr(kernel) == "MetalKernel('cunumpy_kernel', inputs=('factor', 'x'), outputs=('y',))"
    assert copying().threadgroup == (256, 1, 1)
    assert copying(threadgroup=np.int64(8)).threadgroup == (8, 1, 1)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"outputs": []}, ArgumentError, "argument 'outputs' is empty"),
        ({"outputs": ["x"]}, ArgumentError, "the name 'x' is given to two arrays"),
        ({"inputs": ["a b"]}, ArgumentError, "'a b' is no name that Metal accepts"),
        ({"name": "1"}, ArgumentError, "'1' is no name that Metal accepts"),
        ({"inputs": "x"}, ArgumentTypeError, "argument 'inputs' must be a sequence of names, got 'x'"),
        ({"outputs": [1]}, ArgumentTypeError, "argument 'outputs' must be a sequence of names"),
        ({"source": b""}, ArgumentTypeError, "argument 'source' must be a str"),
        ({"float64": "allow"}, ArgumentError, "argument 'float64' must be 'error' or 'cast', got 'allow'"),
        *(
            ({"threadgroup": value}, ArgumentError, "argument 'threadgroup' must (be positive|have 1 to 3 integers)")
            for value in (0, -1, (), (1, 2, 3, 4), (8, 0))
        ),
        *(
            ({"threadgroup": value}, ArgumentTypeError, "argument 'threadgroup' must be an integer or 1 to 3 of them")
            for value in (1.5, (8, 1.5), True, (True, 8), "12", b"12", {12, 3}, {12: 3}, None)
        ),
    ],
)
def test_what_makes_no_kernel(change, error, text):
    options = {"source": SOURCE, "inputs": ["x"], "outputs": ["y"]} | change
    with pytest.raises(error, match=rf"MetalKernel.*: {text}"):
        MetalKernel(**options)


def test_it_pickles_after_a_call_too(scale):
    y = np.zeros(2, np.float32)
    scale(2.0, np.ones(2, np.float32), out=y)
    again = pickle.loads(pickle.dumps(scale))
    assert (again.source, again.inputs, again.threadgroup) == (scale.source, scale.inputs, scale.threadgroup)
    again(3.0, np.ones(2, np.float32), out=y)
    assert y.tolist() == [3.0, 3.0]


# --- where it runs ----------------------------------------------------------------------------------------------------


def test_without_mlx(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlx", None)
    assert not metal_available()
    with pytest.raises(MissingPackageError, match=r"MLX can't be imported.*uv add 'cunumpy-kernels\[metal\]'"):
        copying()(out=None)


def test_without_a_gpu(mlx):
    assert metal_available()
    mlx.core.metal.is_available = lambda: False
    assert not metal_available()
    with pytest.raises(BackendUnavailableError, match="MetalKernel 'copy': MLX finds no Metal GPU"):
        copying()(out=None)
    del mlx.core.metal
    assert not metal_available()


# --- what MLX is asked for --------------------------------------------------------------------------------------------


def test_a_call(mlx, scale):
    x, y = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    assert scale(2.0, x, out=y) is y
    assert y.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert mlx.kernels == [("scale", ["factor", "x"], ["y"], SOURCE, "", True, False)]
    (call,) = mlx.calls
    assert call | {"inputs": None} == {
        "inputs": None, "grid": (5, 1, 1), "threadgroup": (64, 1, 1), "shapes": [(5,)], "dtypes": ["float32"],
        "template": [], "init_value": None,
    }  # fmt: skip
    assert len(mlx.evaluated) == 1
    scale(3.0, x, out=y)
    assert len(mlx.kernels) == 1


def test_options_are_passed_on(mlx):
    kernel = copying(header="#include <metal_stdlib>", atomic_outputs=True, init_value=-1.0)
    y = np.zeros((2, 3), np.float32)
    kernel(1.0, out=y, n_threads=(4, np.int32(2)), template={"N": 3, "flag": True, "T": np.float32, "U": "bool"})
    assert mlx.kernels[0][4:] == ("#include <metal_stdlib>", True, True)
    (call,) = mlx.calls
    assert (call["grid"], call["init_value"]) == ((4, 2, 1), -1.0)
    assert call["template"] == [("N", 3), ("flag", True), ("T", mlx.core.float32), ("U", mlx.core.bool_)]
    assert y.tolist() == [[-1.0] * 3] * 2
    kernel(1.0, out=y, template=[("T", mlx.core.int8)])
    assert mlx.calls[-1]["template"] == [("T", mlx.core.int8)]


@pytest.mark.parametrize(("name", "value"), [("T", "float64"), ("T", np.dtype("complex128")), ("n", 1.5), ("n", None)])
def test_template_values_that_metal_lacks(mlx, name, value):
    with pytest.raises(ArgumentTypeError, match=rf"MetalKernel 'copy': template '{name}' (is|must be)"):
        copying()(1.0, out=np.zeros(1, np.float32), template={name: value})


@pytest.mark.parametrize(
    ("value", "dtype", "values"),
    [
        (True, "int32", [1]),
        (-7, "int32", [-7]),
        (0.1, "float32", [np.float32(0.1)]),
        (np.float64(0.5), "float32", [0.5]),
        (float("inf"), "float32", [np.inf]),
        (np.int64(2**40), "int64", [2**40]),
        (np.array(3, np.uint8), "uint8", [3]),
        (np.arange(6, dtype=np.int16)[::2], "int16", [0, 2, 4]),
        (np.arange(3, dtype=">i4"), "int32", [0, 1, 2]),
        (np.array([1 + 2j], np.complex64), "complex64", [1 + 2j]),
        (np.array([True, False]), "bool", [True, False]),
        ([1, 2], "int64", [1, 2]),
    ],
)
def test_inputs(mlx, value, dtype, values):
    copying()(value, out=np.zeros(1, np.float32))
    (array,) = mlx.calls[0]["inputs"]
    assert array.dtype == dtype
    assert array.flags.c_contiguous
    assert array.tolist() == values


@pytest.mark.parametrize("kind", array_kinds.KINDS, ids=str)
def test_all_kinds_of_arrays(mlx, kind, tmp_path):
    """Each arrives with its values, in what Metal can hold, or is refused by name."""
    value, out = kind.make(tmp_path), np.zeros(1, np.float32)
    on_device = isinstance(value, array_kinds.ForeignDeviceArray)
    dtype = np.dtype(object) if kind.values is None or on_device else kind.values.dtype
    if dtype.name not in ("float64", "float32", "complex64") and dtype.kind not in "biu":
        with pytest.raises((ArgumentError, ArgumentTypeError), match=r"MetalKernel 'copy': .*'x'"):
            copying(float64="cast")(value, out=out)
        assert not mlx.calls
        return
    copying(float64="cast")(value, out=out)
    (array,) = mlx.calls[0]["inputs"]
    np.testing.assert_array_equal(array, np.atleast_1d(kind.values).astype(array.dtype))


@pytest.mark.parametrize(
    ("value", "text"),
    [(2**31, "out of the range of int32"), (-(2**31) - 1, "out of the range of int32"), (1e300, "range of float32")],
)
def test_numbers_out_of_range(mlx, value, text):
    with pytest.raises(ArgumentRangeError, match=f"MetalKernel 'copy': input 'x' is .*{text}"):
        copying()(value, out=np.zeros(1, np.float32))


# --- float64 ----------------------------------------------------------------------------------------------------------


def test_float64_is_refused_unless_asked_for(mlx):
    single, double = np.zeros(2, np.float32), np.zeros(2)
    with pytest.raises(ArgumentTypeError, match=r"input 'x' has dtype float64, which Metal lacks.*float64='cast'"):
        copying()(double, out=single)
    with pytest.raises(ArgumentTypeError, match="output 'y' has dtype float64"):
        copying()(single, out=double)
    assert not mlx.calls


def test_float64_is_computed_in_float32(mlx):
    def compute(x, y):
        assert (x.dtype, y.dtype) == (np.float32, np.float32)
        y[...] = x

    mlx.compute = compute
    out = np.zeros(2)
    assert copying(float64="cast")(np.array([0.1, 0.2]), out=out) is out
    assert out.tolist() == np.array([0.1, 0.2], np.float32).astype(float).tolist()


@pytest.mark.parametrize("dtype", ["complex128", "longdouble", "U3", "datetime64[s]"])
@pytest.mark.parametrize("float64", ["error", "cast"])
def test_other_dtypes_are_always_refused(mlx, dtype, float64):
    for value, out in ((np.zeros(2, dtype), np.zeros(2, np.float32)), (np.zeros(2, np.float32), np.zeros(2, dtype))):
        with pytest.raises(ArgumentTypeError, match=r"(input 'x'|output 'y') has dtype .*, which Metal lacks; convert"):
            copying(float64=float64)(value, out=out)


# --- outputs and threads ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("out", [None, [], [np.zeros(1, np.float32)] * 2, 3.0, [1.0], [[1.0]], {}])
def test_outputs_that_are_none(mlx, out):
    with pytest.raises(ArgumentTypeError, match=r"MetalKernel 'copy': argument 'out' must be 1 NumPy array\(s\) \(y\)"):
        copying()(1.0, out=out)


def test_masked_outputs_and_read_only_ones(mlx):
    with pytest.raises(ArgumentTypeError, match=r"'y' is numpy\.MaskedArray"):
        copying()(1.0, out=np.ma.zeros(2, np.float32))
    read_only = np.zeros(2, np.float32)
    read_only.setflags(write=False)
    with pytest.raises(ArgumentError, match=r"argument 'y' is written to, but the array is read-only"):
        copying()(1.0, out=read_only)


def test_several_outputs(mlx):
    def compute(x, low, high):
        low[...], high[...] = x - 1, x + 1

    mlx.compute = compute
    kernel = MetalKernel("", ["x"], ["low", "high"])
    outs = [np.zeros(2, np.float32), np.zeros((2, 2), np.float32)[:, 0]]
    result = kernel(np.ones(2, np.float32), out=outs)
    assert isinstance(result, tuple)
    assert all(one is out for one, out in zip(result, outs, strict=True))
    assert [out.tolist() for out in outs] == [[0.0, 0.0], [2.0, 2.0]]
    with pytest.raises(ArgumentError, match="outputs 'low' and 'high' share memory"):
        kernel(1.0, out=[outs[0], outs[0]])


def test_the_number_of_inputs(mlx):
    for args in ((), (1.0, 2.0)):
        with pytest.raises(ArgumentTypeError, match=rf"takes 1 input\(s\) \(x\), got {len(args)}"):
            copying()(*args, out=np.zeros(1, np.float32))


def test_outputs_without_dimensions_or_elements(mlx):
    out = np.array(0.0, np.float32)
    mlx.compute = lambda x, y: y.fill(x[0])
    assert copying()(2.0, out=out) is out
    assert out.shape == ()
    assert out == 2.0
    assert (mlx.calls[0]["grid"], mlx.calls[0]["shapes"]) == ((1, 1, 1), [(1,)])
    empty = np.zeros((0, 3), np.float32)
    assert copying()(2.0, out=empty) is empty
    assert len(mlx.calls) == 1


@pytest.mark.parametrize("value", [0, -1, 1.5, (2, 0), (1, 2, 3, 4), (), True, "4", {1, 2}])
def test_numbers_of_threads_that_are_none(mlx, value):
    with pytest.raises((ArgumentError, ArgumentTypeError), match=r"'copy': argument 'n_threads' must .* got"):
        copying()(1.0, out=np.zeros(1, np.float32), n_threads=value)


def test_copies_are_recorded(scale):
    with profiling.count_transfers() as counter:
        scale(2.0, np.ones(3, np.float32), out=np.zeros(3, np.float32))
    assert [(event.kind, event.nbytes) for event in counter.events] == [
        ("to_device", 4), ("to_device", 12), ("to_host", 12),
    ]  # fmt: skip
    assert counter.events[-1].description == "MetalKernel 'scale': output 'y'"


@pytest.mark.skipif(
    sys.platform != "darwin" or importlib.util.find_spec("mlx") is None,
    reason="needs a Mac with an Apple GPU and MLX: uv run --with mlx pytest tests/cunumpy-kernels/test_metal_kernel.py",
)
def test_a_real_launch():
    assert metal_available()
    x, y = np.arange(1000, dtype=np.float32), np.zeros(1000)
    kernel = MetalKernel(SOURCE, ["factor", "x"], ["y"], float64="cast")
    kernel(3.0, x, out=y)
    np.testing.assert_array_equal(y, 3.0 * x)
