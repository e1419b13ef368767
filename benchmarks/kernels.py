"""Kernels: what a launch costs in Python around a raw kernel that does nothing, and a call around the host function.

Each function measures one row of the table in `benchmarks.rows`, launches on the stand-in for CuPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._measure import Effort, Rounds, measure, statement
from cunumpy.arguments import CudaStructArguments
from cunumpy.kernels import CudaKernel, HostImplementations, Kernel

SOURCE = 'extern "C" __global__ void axpy(double a, const double* x, double* y, int n) {}'


class _RawKernel:
    attributes = {"max_threads_per_block": 1024, "shared_size_bytes": 0, "max_dynamic_shared_size_bytes": 49152}  # noqa: RUF012

    def __init__(self, code: str, name: str, options: tuple[str, ...] = ()) -> None:
        pass

    def compile(self, log_stream: Any = None) -> None:
        pass

    def __call__(self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0, stream: Any = None) -> None:
        pass


class _Step(CudaStructArguments):
    struct_name = "Step"
    fields = (("x", "double*"), ("v", "const double*"), ("n", "int"), ("dt", "double"))

    def __init__(self, x: Any, v: Any, n: int, dt: float) -> None:
        self.x, self.v, self.n, self.dt = x, v, n, dt
        self.pack()


def cuda_launch(effort: Effort) -> Rounds:
    """A checked launch with four arguments against that of the raw kernel."""
    return _against_raw(effort, "kernel(2.0, x, y, 1000, n_threads=1000)")


def prepared_launch(effort: Effort) -> Rounds:
    """A prepared launch against that of the raw kernel."""
    return _against_raw(effort, "prepared()")


def struct_launch(effort: Effort) -> Rounds:
    """A launch with an object that packs itself against that of the raw kernel."""
    return _against_raw(effort, "push(step, n_threads=1000)")


def prepare_args(effort: Effort) -> Rounds:
    """The checks of four arguments alone."""
    kernel, names = _kernel()
    return measure(effort, statement("prepare_args(2.0, x, y, 1000)", prepare_args=kernel.prepare_args, **names))


def struct_unchanged(effort: Effort) -> Rounds:
    """Reading the packed bytes of an object with four fields."""
    _, names = _kernel()
    return measure(effort, statement("step.packed", step=_Step(names["x"], names["y"], 1000, 0.5)))


def struct_changed(effort: Effort) -> Rounds:
    """Setting one of four fields, and reading the packed bytes, twice."""
    _, names = _kernel()
    step = _Step(names["x"], names["y"], 1000, 0.5)
    both = statement("step.dt = 0.25; step.packed; step.dt = 0.5; step.packed", step=step)
    return measure(effort, lambda number: both(number) / 2)


def _kernel() -> tuple[CudaKernel, dict[str, Any]]:
    import cupy

    cupy.RawKernel = _RawKernel
    return CudaKernel(SOURCE, "axpy"), {"x": cupy.zeros(1000), "y": cupy.zeros(1000)}


def _against_raw(effort: Effort, ours: str) -> Rounds:
    kernel, arrays = _kernel()
    x, y = arrays["x"], arrays["y"]
    source = f'{_Step.struct.declaration}extern "C" __global__ void push(Step step) {{}}'
    names: dict[str, Any] = {
        "kernel": kernel,
        "prepared": kernel.prepare(2.0, x, y, 1000),
        "push": CudaKernel(source, "push", structs=[_Step.struct]),
        "raw": _RawKernel("", ""),
        "step": _Step(x, y, 1000, 0.5),
        **arrays,
    }
    theirs = "raw((8,), (128,), (2.0, x, y, 1000), shared_mem=0)"
    return measure(effort, statement(ours, **names), statement(theirs, **names))


def host_call(effort: Effort, *, dispatch: str, arguments: int, loaded: bool) -> Rounds:
    """A kernel on host arrays against its host function; with CuPy loaded, or without."""
    if loaded:
        import cupy  # noqa: F401
    names = ", ".join(f"a{i}" for i in range(arguments))
    space: dict[str, Any] = {}
    exec(f"def host({names}): pass", space)
    host = space["host"]
    cuda = CudaKernel(f'extern "C" __global__ void host(double* {names.replace(", ", ", double* ")}) {{}}', "host")
    arrays = {f"a{i}": np.zeros(3) for i in range(arguments)}
    kernel = Kernel(host, cuda, dispatch=dispatch)
    return measure(effort, statement(f"f({names})", f=kernel, **arrays), statement(f"f({names})", f=host, **arrays))


def host_implementations(effort: Effort) -> Rounds:
    """`HostImplementations` against the function that it calls."""

    def host(a: Any, b: Any, c: Any, d: Any) -> None:
        pass

    several = HostImplementations("host", {"numpy": lambda: host, "python": lambda: host})
    array = np.zeros(3)
    return measure(effort, statement("f(a, a, a, a)", f=several, a=array), statement("f(a, a, a, a)", f=host, a=array))
