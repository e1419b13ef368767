"""Calls of `cunumpy.kernels` and its neighbours, on the CPU."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from array_calls.call import ANYTHING, CALLS, FLOATS, OPTIONAL, ROWS, Call, into, numbers, require
from cunumpy import kernel_testing, kernels
from cunumpy.errors import CuNumpyError
from cunumpy.kernels import jit

AXPY = """
extern "C" __global__ void axpy(long n, double a, const double* x, double* y) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"""


@cache
def _axpy() -> Any:
    return kernels.CudaKernel(AXPY, "axpy")


def _smaller(x: Any, y: Any) -> int:
    return min(getattr(x, "size", 6), getattr(y, "size", 6))


def _axpy_definition(x: Any, y: Any) -> Any:
    require(x.dtype == y.dtype == np.float64)
    n = _smaller(x, y)
    after = y.copy()
    after.reshape(-1)[:n] += 2.5 * x.reshape(-1)[:n]
    return after


def _run_kernel(x: Any, y: Any) -> Any:
    kernels.Kernel(None, _axpy())(_smaller(x, y), 2.5, x, y, n_threads=6)
    return y


def _run_emulated(x: Any, y: Any) -> Any:
    kernel_testing.emulate_cuda_kernel(_axpy(), _smaller(x, y), 2.5, x, y, n_threads=6)
    return y


@cache
def _elementwise() -> Any:
    return kernels.ElementwiseKernel("float64 x, float64 y", "float64 z", "z = 2 * x + y", "axpy")


def _run_elementwise(x: Any, y: Any, z: Any) -> Any:
    return _elementwise()(x, y) if z is None else _elementwise()(x, y, z)


def _elementwise_definition(x: Any, y: Any, z: Any) -> Any:
    numbers(x, kinds="biuf")
    require(np.can_cast(y.dtype, np.float64, "same_kind"))
    return into(2.0 * x.astype(np.float64) + y.astype(np.float64), z)


@cache
def _reduction() -> Any:
    return kernels.ReductionKernel("float64 x", "float64 y", "x * x", "a + b", "y = a", "0", "squares")


def _squares(x: Any, out: Any) -> Any:
    return into(np.asarray((x.astype(np.float64) ** 2).sum(axis=0)), out)


@kernels.fuse
def _fused(x: Any, y: Any) -> Any:
    return x * 2 + y


@kernels.rawkernel()
def _python_axpy(x: Any, y: Any, n: Any) -> None:
    i = jit.grid(1)
    if i < n:
        y[i] += 2.5 * x[i]


def _run_python(x: Any, y: Any) -> Any:
    _python_axpy((1,), (32,), (x, y, np.int64(_smaller(x, y))))
    return y


def _python_definition(x: Any, y: Any) -> Any:
    numbers(x)
    numbers(y, kinds="fc")
    n = _smaller(x, y)
    require(x.ndim == y.ndim == 1 and (x.dtype.kind != "c" or y.dtype.kind == "c"))
    wide = np.complex128 if y.dtype.kind == "c" else np.float64
    after = y.copy()
    after[:n] = (y[:n].astype(wide) + 2.5 * x[:n].astype(wide)).astype(y.dtype)
    return after


def _host_axpy(x: Any, y: Any) -> None:
    y += 2.5 * x


CALLS |= {
    "kernels.Kernel.__call__": Call(
        _run_kernel,
        {"x": FLOATS, "y": FLOATS + 1},
        _axpy_definition,
        ("args", "options"),
        own=("x", "y"),
        written=("y",),
        function="axpy",
    ),
    "kernel_testing.emulate_cuda_kernel": Call(
        _run_emulated,
        {"x": FLOATS, "y": FLOATS + 1},
        _axpy_definition,
        ("kernel", "args", "n_threads", "grid", "block", "compiler", "options", "shared_mem"),
        own=("x", "y"),
        written=("y",),
        function="axpy",
    ),
    "kernels.ElementwiseKernel.__call__": Call(
        _run_elementwise,
        {"x": ROWS, "y": ROWS + 1, "z": np.zeros((6, 2))},
        _elementwise_definition,
        ("args", "size", "stream", "block_size"),
        own=("x", "y", "z"),
        written=("z",),
        takes={"z": OPTIONAL},
        function="axpy",
        rtol=1e-15,
    ),
    "kernels.ReductionKernel.__call__": Call(
        lambda x, out: _reduction()(x, axis=0, out=out),
        {"x": ROWS, "out": np.zeros(2)},
        _squares,
        ("args", "axis", "keepdims", "stream"),
        own=("x",),
        written=("out",),
        takes={"out": OPTIONAL},
        function="squares",
        names={"x": r"\bx\b|an input array|axis", "out": r"\by\b"},
        errors=(CuNumpyError, np.exceptions.AxisError),
        rtol=1e-15,
    ),
    "kernels.fuse": Call(
        lambda x, y: _fused(x, y),
        {"x": ROWS, "y": ROWS + 1},
        lambda x, y: x * 2 + y,
        ("function", "kernel_name"),
        own=("x", "y"),
        takes=dict.fromkeys(["x", "y"], ANYTHING),
        skip={"x": ("list", "list of arrays")},  # twice a list is a longer list
        function="^",
        names={"x": "^", "y": "^"},
        errors=(Exception,),  # those of the function
        rtol=1e-15,
    ),
    "kernels.rawkernel": Call(
        _run_python,
        {"x": FLOATS, "y": FLOATS + 1},
        _python_definition,
        ("mode", "device"),
        own=("x", "y"),
        written=("y",),
        function="_python_axpy",
        names={"x": r"\b0\b|\bx\b", "y": r"\b1\b|\by\b"},
        skip=dict.fromkeys(["x", "y"], ("bool", "int8", "uint8", "uint64", "float16")),  # a compilation each
        rtol=1e-15,
    ),
    "kernels.PyccelKernel.__call__": Call(
        lambda x, y: (kernels.PyccelKernel(_host_axpy)(x, y), y)[1],
        {"x": FLOATS, "y": FLOATS + 1},
        lambda x, y: (_host_axpy(x, y), y)[1],
        ("args", "kwargs"),
        own=("x", "y"),
        written=("y",),
        takes=dict.fromkeys(["x", "y"], ANYTHING),
        skip={"y": ("list", "list of arrays", "scalar", "NumPy scalar")},  # += makes a longer list, or another number
        function="^",
        names={"x": "^", "y": "^"},
        errors=(Exception,),  # those of the function
    ),
}
