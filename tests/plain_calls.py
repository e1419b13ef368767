"""A call of each public function whose arguments are spoiled one after the other by `test_mistakes`.

A row gives the function and its arguments by name, anew each time. ``"*name"`` has the arguments that ``*name`` takes.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import cunumpy as xp
from cunumpy import (
    algorithms,
    arguments,
    cuda,
    integrate,
    kernel_testing,
    kernels,
    memory,
    mpi,
    optimize,
    profiling,
    rng,
)
from jit_calls import CALLS, in_kernel

Row = Callable[[], tuple[Callable[..., Any], dict[str, Any]]]

ROWS: dict[str, Row] = {}


def _row(name: str, make: Callable[[], Callable[..., Any]], /, **given: Any) -> None:
    ROWS[name] = lambda: (make(), {key: value() if callable(value) else value for key, value in given.items()})


def _given(function: Any) -> Callable[[], Any]:
    """Give a function as an argument; rows call what can be called."""
    return lambda: function


def _itself(function: Any) -> Callable[[], Any]:
    return lambda: function


# --- cunumpy-core -----------------------------------------------------------------------------------------------------

_row("available", _itself(xp.available), name="sum", backend="numpy")
_row("cupy_available", _itself(xp.cupy_available), refresh=False)
_row("cupy_version_supported", _itself(xp.cupy_version_supported), cupy_version="14.0")
_row("require_version", _itself(xp.require_version), minimum="0.1")
_row("set_backend", _itself(xp.set_backend), backend="numpy", strict=None)
_row("use_backend", _itself(xp.use_backend), backend="numpy", strict=None)
_row("use_backend.__call__", lambda: xp.use_backend("numpy"), function=_given(abs))
_row("scipy.available", lambda: xp.scipy.available, name="special.erf")
_row("get_array_module", _itself(xp.get_array_module), array=lambda: np.ones(3))
_row("same_backend", _itself(xp.same_backend), **{"*arrays": lambda: (np.ones(3), np.ones(3))})
_row("assert_same_backend", _itself(xp.assert_same_backend), **{"*arrays": lambda: (np.ones(3), np.ones(3))})
_row("to_numpy", _itself(xp.to_numpy), array=lambda: np.ones(3))
_row("to_cunumpy", _itself(xp.to_cunumpy), array=lambda: np.ones(3))
_row("to_host_async", _itself(xp.to_host_async), array=lambda: np.ones(3))
_row("as_device_array", _itself(xp.as_device_array), value=lambda: np.ones(3), dtype="float64", ndim=1, name="x")
_row("host_call", _itself(xp.host_call), fun=_given(abs), **{"*args": (2.0,)})
_row("host_call_inplace", _itself(xp.host_call_inplace), fun=_given(abs), **{"*args": (2.0,)})
_row("evaluate_on_host", _itself(xp.evaluate_on_host), method=_given(abs), inplace=False)
_row("setup_on_host", _itself(xp.setup_on_host), init=_given(abs), convert=False)

_row("memory.DeviceMirror", _itself(memory.DeviceMirror), host=lambda: np.ones(3))
_row("memory.DeviceMirror.rebind", lambda: memory.DeviceMirror(np.ones(3)).rebind, host=lambda: np.ones(3))
_row("memory.DeviceMirror.to_device", lambda: memory.DeviceMirror(np.ones(3)).to_device, stream=None)
_row("memory.DeviceMirror.to_host", lambda: memory.DeviceMirror(np.ones(3)).to_host, stream=None, event=None)
_row("memory.HostStaging", _itself(memory.HostStaging), shape=(3,), dtype="float64", buffers=2)
_row(
    "memory.HostStaging.copy",
    lambda: memory.HostStaging((3,), "float64").copy,
    array=lambda: np.ones(3),
    stream=None,
    event=None,
)

_row(
    "profiling.benchmark",
    _itself(profiling.benchmark),
    function=_given(abs),
    args=(2.0,),
    kwargs=None,
    n_repeat=2,
    n_warmup=1,
    name="abs",
    max_duration=0.01,
    device=None,
)
_result = functools.cache(lambda: profiling.benchmark(abs, (2.0,), n_repeat=2))
_row("profiling.BenchmarkResult.percentile", lambda: _result().percentile, q=5)
_row("profiling.BenchmarkResult.plot", lambda: _result().plot, ax=None)
_row("profiling.Timings.plot", lambda: profiling.Timings().plot, ax=None)
_row("profiling.Timings.add", lambda: profiling.Timings().add, timing=lambda: profiling.Timing("step", 0.1))
_row("profiling.TransferCounter", _itself(profiling.TransferCounter), keep_events=True)
_row("profiling.TransferCounter.plot", lambda: profiling.TransferCounter().plot, ax=None)
_row("profiling.TransferCounter.bytes", lambda: profiling.TransferCounter().bytes, kind="to_host")
_row("profiling.TransferCounter.count", lambda: profiling.TransferCounter().count, kind="to_host")
_row("profiling.TransferCounter.to_json", lambda: profiling.TransferCounter().to_json, indent=None)
_row("profiling.TransferCounter.write_trace", lambda: profiling.TransferCounter().write_trace, path="trace.json")
_row("profiling.TransferBudget", _itself(profiling.TransferBudget), started=True)
_row("profiling.TransferBudget.__getitem__", lambda: profiling.TransferBudget().__getitem__, name="step")
_row("profiling.TransferBudget.count", lambda: profiling.TransferBudget().count, name="step")
_row("profiling.TransferBudget.phase", lambda: profiling.TransferBudget().phase, name="step")
_row(
    "profiling.TransferBudget.require",
    lambda: profiling.TransferBudget().require,
    phase="step",
    allow=lambda: {"to_host": {"max_count": 1}},
    ignore=("sync",),
    calls=1,
)
_row("profiling.allow_transfers.__call__", profiling.allow_transfers, function=_given(abs))
_row("profiling.assert_no_transfers", _itself(profiling.assert_no_transfers), syncs=False)
_row("profiling.assert_no_transfers.__call__", profiling.assert_no_transfers, function=_given(abs))
_row("profiling.count_transfers", _itself(profiling.count_transfers), into=None, all_threads=False)
_row("profiling.count_transfers.__call__", profiling.count_transfers, function=_given(abs))
_row("profiling.forbid_transfers", _itself(profiling.forbid_transfers), syncs=False)
_row("profiling.forbid_transfers.__call__", profiling.forbid_transfers, function=_given(abs))
_row("profiling.nvtx_range", _itself(profiling.nvtx_range), name="push", color=None)
_row("profiling.nvtx_range.__call__", lambda: profiling.nvtx_range("push"), function=_given(abs))
_row("profiling.timed_region", _itself(profiling.timed_region), name="push", sync=True, into=None, clock="host")
_row("profiling.timed_region.__call__", lambda: profiling.timed_region("push"), function=_given(abs))
_row("profiling.watch_array_reads.__call__", profiling.watch_array_reads, function=_given(abs))

# --- cunumpy-cuda -----------------------------------------------------------------------------------------------------

SOURCE = """
extern "C" __global__ void scale(double* x, double factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}
"""

_row(
    "cuda.check_cuda",
    _itself(cuda.check_cuda),
    source=SOURCE,
    archs=("sm_90",),
    options=(),
    include_dirs=(),
    name_expressions=(),
    filename="scale.cu",
)
_row("cuda.create_event", _itself(cuda.create_event), timing=False)
_row("cuda.create_stream", _itself(cuda.create_stream), non_blocking=True, priority=None)
_row("cuda.ctype_of", _itself(cuda.ctype_of), dtype="float64")
_row("cuda.cuda_debug", _itself(cuda.cuda_debug), enabled=False)
_row("cuda.set_cuda_debug", _itself(cuda.set_cuda_debug), enabled=False)
_row("cuda.cuda_kernel_names", _itself(cuda.cuda_kernel_names), source=SOURCE, defines=None, filename="scale.cu")
_row(
    "cuda.parse_cuda_signature",
    _itself(cuda.parse_cuda_signature),
    source=SOURCE,
    name="scale",
    structs=(),
    template_args=None,
    defines=None,
    filename="scale.cu",
)
_row("cuda.device_properties", _itself(cuda.device_properties), device=None)
_row("cuda.max_shared_memory_per_block", _itself(cuda.max_shared_memory_per_block), device=None, opt_in=False)
_row("cuda.set_device", _itself(cuda.set_device), device_id=0)
_row("cuda.set_device_for_rank", _itself(cuda.set_device_for_rank), rank=0, devices_per_node=1)
_row("cuda.set_memory_limit", _itself(cuda.set_memory_limit), nbytes=None)
_row("cuda.empty_pinned", _itself(cuda.empty_pinned), shape=(3,), dtype="float64", order="C", strict=False)
_row("cuda.pin_memory", _itself(cuda.pin_memory), array=lambda: np.ones(3), strict=False)
_row(
    "cuda.elapsed",
    _itself(cuda.elapsed),
    start=lambda: cuda.record_event(cuda.create_event(timing=True)),
    stop=lambda: cuda.record_event(cuda.create_event(timing=True)),
)
_row("cuda.record_event", _itself(cuda.record_event), event=None, stream=None)
_row("cuda.wait_event", _itself(cuda.wait_event), event=lambda: cuda.record_event(), stream=None)
_row("cuda.stream", _itself(cuda.stream), existing=None, join=False)
_row("cuda.HostEvent", _itself(cuda.HostEvent), block=False, disable_timing=False, interprocess=False)
_row("cuda.HostEvent.record", lambda: cuda.HostEvent().record, stream=None)
_row("cuda.HostStream.record", lambda: cuda.HostStream().record, event=None)
_row("cuda.HostStream.wait_event", lambda: cuda.HostStream().wait_event, event=cuda.HostEvent)
_row(
    "cuda.HostStream.add_callback",
    lambda: cuda.HostStream().add_callback,
    callback=_given(lambda *any_of_it: None),
    arg=1,
)
_row("cuda.HostStream.launch_host_func", lambda: cuda.HostStream().launch_host_func, callback=_given(abs), arg=1)
_row(
    "cuda.resolve_includes",
    _itself(cuda.resolve_includes),
    source=SOURCE,
    include_dirs=(),
    base_dir=None,
    angle_dirs=(),
)
_row("cuda.include_hash", _itself(cuda.include_hash), paths=())

# --- cunumpy-kernels: arguments ---------------------------------------------------------------------------------------


def _struct() -> arguments.CudaStruct:
    return arguments.CudaStruct("Step", [("dt", "double"), ("n", "int"), ("origin", "double[2]")])


def annotated(x: float, n: int) -> None:
    """Do nothing."""


CLASS = """
class Domain:
    def __init__(self, dt: float, n: int):
        self.dt = dt
        self.n = n
"""

_row(
    "arguments.CudaStruct",
    _itself(arguments.CudaStruct),
    name="Step",
    fields=lambda: [("dt", "double")],
    structs=(),
    alignment=None,
    keep_const=False,
)
_row("arguments.CudaStruct.__call__", _struct, dt=0.1, n=3, origin=(0.0, 1.0))
_row(
    "arguments.CudaStruct.check_source",
    lambda: _struct().check_source,
    source="struct Step { double dt; int n; double origin[2]; };",
    defines=None,
    filename="step.cuh",
)
_row(
    "arguments.CudaStruct.from_pyccel_class",
    _itself(arguments.CudaStruct.from_pyccel_class),
    source=CLASS,
    class_name="Domain",
    name="D",
    int_type="long long",
    scalar_names=None,
    exclude=(),
    attribute_names=True,
    contiguous=False,
)
_row(
    "arguments.CudaStruct.from_signature",
    _itself(arguments.CudaStruct.from_signature),
    func=_given(annotated),
    name="D",
    int_type="long long",
    scalar_names=None,
    contiguous=False,
)
_row("arguments.CudaStruct.layout_source", lambda: _struct().layout_source, include=None)
_row("arguments.CudaStruct.to_header", lambda: _struct().to_header, path=None, guard=None, includes=())
_row(
    "arguments.CudaStruct.verify_layout",
    lambda: _struct().verify_layout,
    include=None,
    include_dirs=(),
    options=(),
    gpu=False,
)
_row("arguments.CudaStructValue.__getitem__", lambda: _struct()(dt=0.1, n=3, origin=(0, 1)).__getitem__, field="dt")
_row(
    "arguments.write_cuda_header",
    _itself(arguments.write_cuda_header),
    path="step.cuh",
    structs=lambda: [_struct()],
    guard=None,
    includes=(),
)

# --- cunumpy-kernels: kernels -----------------------------------------------------------------------------------------


def scale(x: Any, factor: float, n: int) -> None:
    """Multiply the first n elements."""
    x[:n] *= factor


@functools.cache
def _cuda_kernel() -> kernels.CudaKernel:
    return kernels.CudaKernel(SOURCE, "scale")


def _kernel() -> kernels.Kernel:
    return kernels.Kernel(scale, _cuda_kernel())


def _on_cpu() -> kernels.Kernel:
    return kernels.Kernel(None, _cuda_kernel())


def _x() -> np.ndarray:
    return np.ones(3)


@functools.cache
def package() -> str:
    """Write a package of one kernel where imports find it."""
    import sys

    root = Path(tempfile.mkdtemp())
    folder = root / "kernels_to_spoil" / "scale"
    folder.mkdir(parents=True)
    (folder / "scale_numpy.py").write_text("def scale(x, factor, n):\n    x[:n] *= factor\n")
    (folder / "scale_cuda.cu").write_text(SOURCE)
    sys.path.insert(0, str(root))
    return "kernels_to_spoil"


def _catalog() -> kernels.KernelCatalog:
    return kernels.KernelCatalog({"scale": _kernel()})


def _implementations() -> kernels.HostImplementations:
    return kernels.HostImplementations("scale", {"numpy": lambda: scale, "python": lambda: scale})


CUDA_OPTIONS: dict[str, Any] = {
    "block_size": 128, "options": (), "include_dirs": (), "source_dir": None, "structs": (), "template_args": None,
    "check_signature": True, "debug": None, "n_threads_from": "auto", "check_finite": False, "cooperative": False,
}  # fmt: skip
FOLDER_OPTIONS: dict[str, Any] = {
    "host_suffix": "_kernels", "cuda_suffix": "_cuda.cu", "test_args_suffix": "_test_args", "check_name_length": True,
    "missing_cuda": "raise", "host_options": None, "outputs": None, "include_dirs": None, "dispatch": "backend",
    "compile_host": None,
}  # fmt: skip
OF_ALL_KERNELS = {name: value for name, value in CUDA_OPTIONS.items() if name != "include_dirs"}
LAUNCH: dict[str, Any] = {"n_threads": None, "grid": None, "block": None, "shared_mem": 0}

_row("kernels.CudaKernel", _itself(kernels.CudaKernel), source=SOURCE, name="scale", **CUDA_OPTIONS)
_row(
    "kernels.CudaKernel.from_file",
    _itself(kernels.CudaKernel.from_file),
    path=lambda: _file(),
    name="scale",
    suffix="_cuda.cu",
)
_row("kernels.CudaKernel.all_from_file", _itself(kernels.CudaKernel.all_from_file), path=lambda: _file())
_row("kernels.CudaKernel.suggested_block_size", lambda: _cuda_kernel().suggested_block_size, shared_mem=0)
_row("kernels.CudaKernel.compile", lambda: _cuda_kernel().compile, log_stream=None)
_row("kernels.CudaKernel.recompile", lambda: _cuda_kernel().recompile, log_stream=None)
_row("kernels.CudaKernel.check_cuda", lambda: _cuda_kernel().check_cuda, archs=("sm_90",))
_row("kernels.CudaKernel.prepare_args", lambda: _cuda_kernel().prepare_args, **{"*args": lambda: (_x(), 2.0, 3)})
_row(
    "kernels.CudaKernel.launch_shape",
    lambda: _cuda_kernel().launch_shape,
    n_threads=3,
    grid=None,
    block=None,
    args=None,
)
_row("kernels.CudaKernel.prepare", lambda: _cuda_kernel().prepare, **{"*args": lambda: (_x(), 2.0, 3)}, **LAUNCH)
_row("kernels.CudaKernel.__call__", _cuda_kernel, **{"*args": lambda: (_x(), 2.0, 3)}, **LAUNCH, stream=None)
_row(
    "kernels.PreparedLaunch",
    _itself(kernels.PreparedLaunch),
    kernel=lambda: _cuda_kernel(),
    args=lambda: (_x(), 2.0, 3),
    **LAUNCH,
)
_row("kernels.PreparedLaunch.set", lambda: _cuda_kernel().prepare(_x(), 2.0, 3).set, x=_x, factor=1.0, n=2)
_row("kernels.PreparedLaunch.__call__", lambda: _cuda_kernel().prepare(_x(), 2.0, 3), stream=None)
_row("kernels.CudaKernelVariants", _itself(kernels.CudaKernelVariants), factory=_given(lambda key: _cuda_kernel()))
_row(
    "kernels.CudaKernelVariants.get",
    lambda: kernels.CudaKernelVariants(lambda key: _cuda_kernel()).get,
    **{"*key": ("a",)},
)
_row(
    "kernels.CudaKernelVariants.compile_all",
    lambda: kernels.CudaKernelVariants(lambda key: _cuda_kernel()).compile_all,
    keys=(),
    jobs=1,
)
_row(
    "kernels.Kernel",
    _itself(kernels.Kernel),
    host_kernel=_given(scale),
    cuda_kernel=lambda: _cuda_kernel(),
    name="scale",
    missing_cuda="raise",
    cuda_path=None,
    host_options=None,
    dispatch="backend",
    test_args=None,
)
_row("kernels.Kernel.__call__", _on_cpu, **{"*args": lambda: (_x(), 2.0, 3)}, **LAUNCH, stream=None)
_row(
    "kernels.Kernel.from_folder",
    _itself(kernels.Kernel.from_folder),
    package=lambda: package() + ".scale",
    **FOLDER_OPTIONS,
    extra_implementations=None,
    **OF_ALL_KERNELS,
)
_row("kernels.Kernel.selected", lambda: _kernel().selected, device=False)
_row("kernels.KernelCatalog", _itself(kernels.KernelCatalog), kernels=lambda: {"scale": _kernel()})
_row(
    "kernels.KernelCatalog.from_package",
    _itself(kernels.KernelCatalog.from_package),
    package=package,
    **FOLDER_OPTIONS,
    host_fallback=None,
    **OF_ALL_KERNELS,
)
_row("kernels.KernelCatalog.__getitem__", lambda: _catalog().__getitem__, name="scale")
_row("kernels.KernelCatalog.register", lambda: _catalog().register, kernel=_kernel, name="other")
_row("kernels.KernelCatalog.summary", lambda: _catalog().summary, max_missing=10)
_row("kernels.KernelCatalog.check_cuda", lambda: _catalog().check_cuda, archs=("sm_90",), jobs=1)
_row("kernels.KernelCatalog.compile_all", lambda: _catalog().compile_all, jobs=1)
_row("kernels.KernelCatalog.build_all", lambda: _catalog().build_all, jobs=1)
_row(
    "kernels.HostImplementations",
    _itself(kernels.HostImplementations),
    name="scale",
    loaders=lambda: {"numpy": lambda: scale, "python": lambda: scale},
)
_row(
    "kernels.HostImplementations.of_any",
    _itself(kernels.HostImplementations.of_any),
    name="scale",
    loaders=lambda: {"numpy": lambda: scale},
)
_row(
    "kernels.HostImplementations.extended",
    lambda: _implementations().extended,
    name="numba",
    loader=_given(lambda: scale),
)
_row("kernels.HostImplementations.get", lambda: _implementations().get, name="numpy")
_row("kernels.HostImplementations.available", lambda: _implementations().available, name="numpy")
_row(
    "kernels.CompiledHostKernel",
    _itself(kernels.CompiledHostKernel),
    module="json",
    name="dumps",
    compiler=_given(lambda module: module),
    fallback=None,
)
_row(
    "kernels.PyccelKernel",
    _itself(kernels.PyccelKernel),
    kernel=_given(scale),
    use_cupy=None,
    object_modules=(),
    is_array=None,
    outputs=None,
    parameters=None,
)
_row("kernels.outputs_from_annotations", _itself(kernels.outputs_from_annotations), function=_given(annotated))
_row("kernels.PyccelCache", _itself(kernels.PyccelCache), name="my-code", env_prefix=None, language="c")
_row(
    "kernels.PyccelCache.build_key",
    lambda: kernels.PyccelCache("my-code").build_key,
    module=lambda: tempfile,
    language=None,
)
_row("kernels.fuse", _itself(kernels.fuse), function=_given(lambda x: x + 1), kernel_name=None)
_row("kernels.rawkernel", _itself(kernels.rawkernel), mode="cuda", device=False)
_row("kernels.jit.rawkernel", _itself(kernels.jit.rawkernel), mode="cuda", device=False)
for _name, (_form, _given_there) in CALLS.items():
    _row(f"kernels.jit.{_name}", _itself(in_kernel(_form)), **_given_there)
_row(
    "kernels.as_kernel_array",
    _itself(kernels.as_kernel_array),
    value=_x,
    like=_x,
    dtype=None,
    strided=False,
    check=True,
)
_row("kernels.kernel_output", _itself(kernels.kernel_output), out=_x, like=_x, dtype=None, strided=False, check=True)
_row(
    "kernels.kernel_outputs",
    _itself(kernels.kernel_outputs),
    **{"*outs": lambda: (_x(),)},
    like=_x,
    dtype=None,
    strided=False,
    check=True,
)
for _kind in ("host", "device"):
    for _verb in ("set", "use"):
        _name = f"{_verb}_{_kind}_kernel_implementation"
        _row(f"kernels.{_name}", _itself(getattr(kernels, _name)), name=None)
_row(
    "kernels.ElementwiseKernel",
    _itself(kernels.ElementwiseKernel),
    in_params="float64 x",
    out_params="float64 y",
    operation="y = x",
    name="kernel",
    reduce_dims=True,
    preamble="",
    no_return=False,
    return_tuple=False,
    loop_prep="",
    after_loop="",
    options=(),
)
_elementwise = functools.cache(lambda: kernels.ElementwiseKernel("float64 x", "float64 y", "y = 2 * x", "twice"))
_row(
    "kernels.ElementwiseKernel.__call__",
    lambda: _elementwise(),
    **{"*args": lambda: (_x(),)},
    size=None,
    stream=None,
    block_size=128,
)
_row(
    "kernels.ReductionKernel",
    _itself(kernels.ReductionKernel),
    in_params="float64 x",
    out_params="float64 y",
    map_expr="x",
    reduce_expr="a + b",
    post_map_expr="y = a",
    identity="0",
    name="reduce_kernel",
    reduce_type=None,
    reduce_dims=True,
    preamble="",
    options=(),
)
_reduction = functools.cache(
    lambda: kernels.ReductionKernel("float64 x", "float64 y", "x", "a + b", "y = a", "0", "total")
)
_row(
    "kernels.ReductionKernel.__call__",
    lambda: _reduction(),
    **{"*args": lambda: (_x(),)},
    out=None,
    axis=0,
    keepdims=False,
    stream=None,
)
_row(
    "kernels.RawKernel",
    _itself(kernels.RawKernel),
    code=SOURCE,
    name="scale",
    options=(),
    backend="nvrtc",
    translate_cucomplex=False,
    enable_cooperative_groups=False,
    jitify=False,
)
_raw = functools.cache(lambda: kernels.RawKernel(SOURCE, "scale"))
_row(
    "kernels.RawKernel.__call__",
    lambda: _raw(),
    grid=(1,),
    block=(32,),
    args=lambda: (_x(), 2.0, np.int32(3)),
    shared_mem=0,
    stream=None,
)
_row("kernels.RawKernel.compile", lambda: _raw().compile, log_stream=None)
_row(
    "kernels.RawModule",
    _itself(kernels.RawModule),
    code=SOURCE,
    path=None,
    options=(),
    backend="nvrtc",
    translate_cucomplex=False,
    enable_cooperative_groups=False,
    name_expressions=None,
    jitify=False,
)
_module = functools.cache(lambda: kernels.RawModule(code=SOURCE))
_row("kernels.RawModule.compile", lambda: _module().compile, log_stream=None)
_row("kernels.RawModule.get_function", lambda: _module().get_function, name="scale")
_row("kernels.RawModule.get_global", lambda: _module().get_global, name="nothing", device=False)
_row(
    "kernels.MetalKernel",
    _itself(kernels.MetalKernel),
    source="out[thread_position_in_grid.x] = x[thread_position_in_grid.x];",
    inputs=("x",),
    outputs=("out",),
    name="copy",
    header="",
    threadgroup=256,
    float64="error",
    atomic_outputs=False,
    init_value=None,
)


@functools.cache
def _file() -> Path:
    path = Path(tempfile.mkdtemp()) / "scale_cuda.cu"
    path.write_text(SOURCE)
    return path


# --- cunumpy-kernels: kernel_testing ----------------------------------------------------------------------------------


def make_args(backend: str, seed: int) -> tuple[Any, ...]:
    """Make arguments of `scale`."""
    return xp.ones(3), 2.0, 3


_row(
    "kernel_testing.assert_kernels_agree",
    _itself(kernel_testing.assert_kernels_agree),
    kernel=_kernel,
    make_args=_given(make_args),
    n_threads=None,
    grid=None,
    block=None,
    rtol=1e-12,
    atol=0.0,
    n_calls=1,
    outputs=("x",),
    seed=0,
    seeds=None,
    sizes=None,
    emulate=True,
    equal_nan=False,
    check_inputs=True,
)
_row(
    "kernel_testing.assert_schedule_independent",
    _itself(kernel_testing.assert_schedule_independent),
    kernel=lambda: _cuda_kernel(),
    make_args=_given(make_args),
    n_threads=3,
    grid=None,
    block=None,
    shared_mem=0,
    schedules=2,
    seed=0,
    rtol=None,
    atol=0.0,
)
_row("kernel_testing.check_parity", _itself(kernel_testing.check_parity), kernel=_kernel)
_row("kernel_testing.parity_cases", _itself(kernel_testing.parity_cases), catalog=_catalog)
_row(
    "kernel_testing.compile_for_emulation",
    _itself(kernel_testing.compile_for_emulation),
    kernel=lambda: _cuda_kernel(),
    compiler=None,
    options=(),
)
_row(
    "kernel_testing.emulate_cuda_kernel",
    _itself(kernel_testing.emulate_cuda_kernel),
    kernel=lambda: _cuda_kernel(),
    **{"*args": lambda: (_x(), 2.0, 3)},
    **LAUNCH,
    compiler=None,
    options=(),
)
_row(
    "kernel_testing.emulated_launches",
    _itself(kernel_testing.emulated_launches),
    compiler=None,
    options=(),
    strict=False,
)
_row(
    "kernel_testing.fake_cupy_session",
    _itself(kernel_testing.fake_cupy_session),
    compiler=None,
    options=(),
    strict=True,
    asynchronous=False,
)
_row(
    "kernel_testing.device_function_kernel",
    _itself(kernel_testing.device_function_kernel),
    header_source="__device__ double twice(double x) { return 2 * x; }",
    signature="__device__ double twice(double x)",
    name="twice",
    includes=(),
    n_threads_param="n",
    out_param="out",
)
_row(
    "kernel_testing.run_in_fake_cupy_subprocess",
    _itself(kernel_testing.run_in_fake_cupy_subprocess),
    code="pass",
    env=None,
    timeout=60,
)
_row("kernel_testing.host_buffer", _itself(kernel_testing.host_buffer), array=_x)

# --- cunumpy-rng ------------------------------------------------------------------------------------------------------

_row("rng.stream_number", _itself(rng.stream_number), rank=0, component=0)
_row("rng.PhiloxGenerator", _itself(rng.PhiloxGenerator), seed=1, stream=0)
_row("rng.get_rng", _itself(rng.get_rng), seed=1)
for _name in ("philox_uniform", "philox_uniform2", "philox_normal", "philox_normal2"):
    _row(f"rng.{_name}", _itself(getattr(rng, _name)), seed=1, stream=lambda: np.arange(3), counter=0, out=None)
_row(
    "rng.philox4x32_10",
    _itself(rng.philox4x32_10),
    counter=lambda: np.zeros((3, 4), np.uint32),
    key0=0,
    key1=0,
    out=None,
)


def _drawing(method: str, /, **given: Any) -> None:
    _row(f"rng.PhiloxGenerator.{method}", lambda: getattr(rng.PhiloxGenerator(1), method), **given)


_drawing("advance", blocks=3)
_drawing("random", size=3, dtype="float64", out=None)
_drawing("uniform", low=0.0, high=1.0, size=3, dtype="float64", out=None, check=True)
_drawing("standard_normal", size=3, dtype="float64", out=None)
_drawing("normal", loc=0.0, scale=1.0, size=3, dtype="float64", out=None, check=True)
_drawing("standard_exponential", size=3, dtype="float64", out=None)
_drawing("exponential", scale=1.0, size=3, dtype="float64", out=None, check=True)
_drawing("integers", low=0, high=10, size=3, dtype="int64", endpoint=False, out=None, check=True)
_drawing("permutation", x=lambda: np.arange(3), axis=0)
_drawing("choice", a=5, size=3, replace=True, p=None, axis=0, check=True)


def _stream(method: str, /, **given: Any) -> None:
    _row(f"rng.RandomStreams.{method}", lambda: getattr(rng.RandomStreams(), method), **given)


_stream("seed", value=1, rank=0, bit_generator=None, seed_global=None)
_stream("generator", backend="numpy")
_stream("make_generator", seed=1, backend="numpy", component=None)
_stream("philox", component=0)
_stream("random", size=3, rng=None)
_stream("standard_normal", size=3, rng=None)
_stream("normal", loc=0.0, scale=1.0, size=3, rng=None)
_stream("uniform", low=0.0, high=1.0, size=3, rng=None)

# --- cunumpy-algorithms -----------------------------------------------------------------------------------------------

_values, _keys = (lambda: np.arange(6.0)), (lambda: np.array([2, 0, 1, 2, 0, 4]))
for _name in ("sum", "mean", "min", "max"):
    _more = {"deterministic": False} if _name in ("sum", "mean") else {}
    _row(
        f"algorithms.segment_{_name}",
        _itself(getattr(algorithms, f"segment_{_name}")),
        values=_values,
        keys=_keys,
        n_segments=5,
        out=None,
        check=True,
        **_more,
    )
    _row(
        f"algorithms.SegmentPlan.{_name}",
        functools.partial(lambda which: getattr(algorithms.SegmentPlan(_keys(), 5), which), _name),
        values=_values,
        out=None,
    )
_row("algorithms.segment_count", _itself(algorithms.segment_count), keys=_keys, n_segments=5, out=None, check=True)
_row(
    "algorithms.SegmentPlan", _itself(algorithms.SegmentPlan), keys=_keys, n_segments=5, check=True, deterministic=False
)
_row("algorithms.SegmentPlan.count", lambda: algorithms.SegmentPlan(_keys(), 5).count, out=None)
_row(
    "algorithms.SegmentPlan.gather",
    lambda: algorithms.SegmentPlan(_keys(), 5).gather,
    values=lambda: np.arange(5.0),
    out=None,
)
_row(
    "algorithms.cell_offsets",
    _itself(algorithms.cell_offsets),
    sorted_cells=lambda: np.array([0, 0, 1, 4]),
    n_cells=5,
    check=True,
)
_row(
    "algorithms.segment_boundaries", _itself(algorithms.segment_boundaries), sorted_keys=lambda: np.array([0, 0, 1, 4])
)
_row(
    "algorithms.sort_by_key",
    _itself(algorithms.sort_by_key),
    keys=_keys,
    **{"*arrays": lambda: (_values(),)},
    axis=0,
    order=None,
    descending=False,
    out=None,
)
_row(
    "algorithms.sort_by_cell",
    _itself(algorithms.sort_by_cell),
    cells=_keys,
    n_cells=5,
    **{"*arrays": lambda: (_values(),)},
    axis=0,
    check=True,
    out=None,
)
_row(
    "algorithms.compact_by_mask",
    _itself(algorithms.compact_by_mask),
    mask=lambda: np.array([True, False, True]),
    **{"*arrays": lambda: (np.ones(3),)},
    axis=0,
)
_row(
    "algorithms.scatter_add",
    _itself(algorithms.scatter_add),
    out=lambda: np.zeros(5),
    index=_keys,
    values=_values,
    check=True,
)
_row("algorithms.morton_scales", _itself(algorithms.morton_scales), lower=(0.0, 0.0), upper=(1.0, 1.0), levels=4)
for _name in ("morton", "hilbert"):
    _levels: dict[str, Any] = {"levels": 4} if _name == "hilbert" else {}
    _row(
        f"algorithms.{_name}_keys",
        _itself(getattr(algorithms, f"{_name}_keys")),
        positions=lambda: np.full((3, 2), 0.5),
        lower=(0.0, 0.0),
        upper=(1.0, 1.0),
        levels=4,
        dtype="uint64",
        out=None,
        check=None,
    )
    _row(
        f"algorithms.{_name}_encode",
        _itself(getattr(algorithms, f"{_name}_encode")),
        **{"*cells": lambda: (np.array([1, 2]), np.array([3, 4]))},
        **_levels,
        dtype="uint64",
        out=None,
        check=None,
    )
    _row(
        f"algorithms.{_name}_decode",
        _itself(getattr(algorithms, f"{_name}_decode")),
        keys=lambda: np.array([1, 2], np.uint64),
        ndim=2,
        **_levels,
        check=None,
    )

# --- cunumpy-solvers --------------------------------------------------------------------------------------------------


def _square(x: Any) -> Any:
    return x * x - 2


def _slope(x: Any) -> Any:
    return 2 * x


def _decay(t: Any, y: Any) -> Any:
    return -y


_start = lambda: np.array([1.0, 2.0])  # noqa: E731
_row(
    "optimize.newton",
    _itself(optimize.newton),
    func=_given(_square),
    x0=_start,
    fprime=_given(_slope),
    args=(),
    tol=None,
    maxiter=50,
    rtol=0.0,
    full_output=False,
    fprime2=None,
    x1=None,
    bounds=None,
    damping=1.0,
    disp=True,
    check_every=1,
    progress=False,
)
_row(
    "optimize.find_root",
    _itself(optimize.find_root),
    f=_given(_square),
    bracket=lambda: (np.zeros(2), np.full(2, 2.0)),
    args=(),
    xatol=None,
    xrtol=None,
    fatol=0.0,
    maxiter=None,
    check_every=1,
    progress=False,
)
_row(
    "optimize.bracket_root",
    _itself(optimize.bracket_root),
    f=_given(_square),
    xl0=_start,
    xr0=None,
    xmin=None,
    xmax=None,
    factor=2.0,
    args=(),
    maxiter=200,
    check_every=1,
    progress=False,
)
_row(
    "optimize.least_squares_batched",
    _itself(optimize.least_squares_batched),
    fun=_given(_square),
    x0=lambda: np.ones((3, 1)),
    jac=None,
    args=(),
    bounds=None,
    ftol=None,
    xtol=None,
    gtol=None,
    maxiter=100,
    check_every=1,
    disp=True,
    progress=False,
)
_row("optimize.fsolve", _itself(optimize.fsolve), func=_given(_square), x0=_start, args=(), fprime=None, progress=False)
_row(
    "optimize.root",
    _itself(optimize.root),
    fun=_given(_square),
    x0=_start,
    args=(),
    jac=None,
    callback=None,
    progress=False,
)
_row(
    "optimize.minimize",
    _itself(optimize.minimize),
    fun=_given(lambda x: float((x * x).sum())),
    x0=_start,
    args=(),
    jac=None,
    hess=None,
    hessp=None,
    bounds=None,
    constraints=(),
    callback=None,
    progress=False,
)
_row(
    "optimize.least_squares",
    _itself(optimize.least_squares),
    fun=_given(_square),
    x0=_start,
    jac="2-point",
    bounds=(-np.inf, np.inf),
    args=(),
    kwargs=None,
    loss="linear",
    callback=None,
    progress=False,
)
_row(
    "optimize.curve_fit",
    _itself(optimize.curve_fit),
    f=_given(lambda x, a: a * x),
    xdata=lambda: np.arange(5.0),
    ydata=lambda: np.arange(5.0),
    p0=None,
    sigma=None,
    absolute_sigma=False,
    bounds=(-np.inf, np.inf),
    jac=None,
    progress=False,
)
_row(
    "optimize.root_scalar",
    _itself(optimize.root_scalar),
    f=_given(_square),
    args=(),
    method=None,
    bracket=(0.0, 2.0),
    fprime=None,
    fprime2=None,
    x0=None,
    x1=None,
    progress=False,
)
_row(
    "optimize.LeastSquaresResult.covariance",
    lambda: optimize.least_squares_batched(_square, np.ones((3, 1))).covariance,
    absolute_sigma=False,
)
_row(
    "integrate.rk4",
    _itself(integrate.rk4),
    fun=_given(_decay),
    t_span=(0.0, 1.0),
    y0=_start,
    steps=4,
    args=(),
    save_every=None,
    progress=False,
)
_row(
    "integrate.solve_ivp_batched",
    _itself(integrate.solve_ivp_batched),
    fun=_given(_decay),
    t_span=(0.0, 1.0),
    y0=lambda: np.ones((3, 1)),
    t_eval=None,
    dense_output=False,
    events=None,
    args=(),
    rtol=1e-3,
    atol=1e-6,
    first_step=None,
    max_step=np.inf,
    max_steps=100,
    check_every=1,
    disp=True,
    progress=False,
)
_row(
    "integrate.quad_batched",
    _itself(integrate.quad_batched),
    f=_given(_square),
    a=0.0,
    b=_start,
    args=(),
    epsabs=None,
    epsrel=None,
    limit=100,
    disp=True,
    progress=False,
)
_row("integrate.fixed_quad", _itself(integrate.fixed_quad), func=_given(_square), a=0.0, b=_start, args=(), n=5)
_row("integrate.quad", _itself(integrate.quad), func=_given(_square), a=0.0, b=1.0, args=(), progress=False)
_row(
    "integrate.odeint",
    _itself(integrate.odeint),
    func=_given(lambda y, t: -y),
    y0=_start,
    t=lambda: np.linspace(0, 1, 3),
    args=(),
    Dfun=None,
    tfirst=False,
    progress=False,
)
_row(
    "integrate.solve_ivp",
    _itself(integrate.solve_ivp),
    fun=_given(_decay),
    t_span=(0.0, 1.0),
    y0=_start,
    method="RK45",
    t_eval=None,
    dense_output=False,
    events=None,
    vectorized=False,
    args=None,
    jac=None,
    progress=False,
)

# --- cunumpy-mpi ------------------------------------------------------------------------------------------------------

_comm = mpi.SerialComm
_row("mpi.get_mpi", _itself(mpi.get_mpi), use_mpi=False)
_row("mpi.is_serial", _itself(mpi.is_serial), obj=_comm)
_row("mpi.bcast", _itself(mpi.bcast), comm=_comm, array=_x, root=0, cuda_aware=None, check=False)
_row("mpi.allreduce", _itself(mpi.allreduce), comm=_comm, array=_x, op="sum", out=None, cuda_aware=None, check=False)
_row("mpi.gather", _itself(mpi.gather), comm=_comm, array=_x, root=0, cuda_aware=None)
_row("mpi.allgather", _itself(mpi.allgather), comm=_comm, array=_x, cuda_aware=None)
_row("mpi.alltoall", _itself(mpi.alltoall), comm=_comm, array=_x, counts=(3,), cuda_aware=None)
_row(
    "mpi.migrate",
    _itself(mpi.migrate),
    comm=_comm,
    arrays=lambda: [_x()],
    destination=lambda: np.zeros(3, int),
    cuda_aware=None,
)
_row(
    "mpi.exchange_ghosts",
    _itself(mpi.exchange_ghosts),
    comm=lambda: _comm().Create_cart([1], periods=[True]),
    array=lambda: np.ones(6),
    width=1,
    axes=None,
    cuda_aware=None,
    check=False,
)
_messages = {"sends": lambda: [(_x(), 0, 7)], "receives": lambda: [(_x(), 0, 7)]}
_row(
    "mpi.exchange",
    _itself(mpi.exchange),
    comm=_comm,
    **_messages,
    cuda_aware=None,
    stream=None,
    event=None,
    return_status=False,
    check=False,
)
_row("mpi.PersistentExchange", _itself(mpi.PersistentExchange), comm=_comm, **_messages, cuda_aware=None, check=True)
_row("mpi.MPIStaging", _itself(mpi.MPIStaging), shape=(3,), dtype="float64")
_row(
    "mpi.mpi_buffer",
    _itself(mpi.mpi_buffer),
    array=_x,
    send=True,
    recv=False,
    cuda_aware=None,
    staging=None,
    stream=None,
    event=None,
    overwrite=True,
)
_row("mpi.set_mpi_cuda_aware", _itself(mpi.set_mpi_cuda_aware), value=None, comm=None)
_row("mpi.get_mpi_cuda_aware", _itself(mpi.get_mpi_cuda_aware), comm=_comm)
_row("mpi.mpi_is_cuda_aware", _itself(mpi.mpi_is_cuda_aware), comm=_comm, method="probe")
_row("mpi.cuda_aware_report", _itself(mpi.cuda_aware_report), comm=_comm, probe=True)
_row("mpi.require_cuda_aware_mpi", _itself(mpi.require_cuda_aware_mpi), comm=_comm)
_row(
    "mpi.synchronize_for_mpi", _itself(mpi.synchronize_for_mpi), **{"*arrays": lambda: (_x(),)}, stream=None, event=None
)


# --- what is not tried, or otherwise ----------------------------------------------------------------------------------

_CALLBACKS = ("func", "fun", "f", "args", "function", "fprime", "jac", "Dfun")
NOT_TRIED: dict[str, tuple[str, ...]] = {
    "as_device_array": ("value", "dtype", "ndim", "name"),  # needs a device; tried on the stand-in
    "host_call": ("fun", "args"),  # which raise what they raise
    "host_call_inplace": ("fun", "args"),
    "cuda.HostStream.add_callback": ("arg",),
    "cuda.HostStream.launch_host_func": ("arg",),
    "profiling.benchmark": ("args", "kwargs", "n_warmup"),
    "memory.HostStaging": ("buffers",),
    "kernel_testing.assert_kernels_agree": ("n_calls", "sizes"),
    "kernel_testing.assert_schedule_independent": ("schedules",),
    "kernel_testing.run_in_fake_cupy_subprocess": ("code",),
    "kernels.CudaKernelVariants.get": ("key",),
    "integrate.rk4": ("args", "steps"),
    "integrate.solve_ivp": ("fun", "args"),
    "integrate.fixed_quad": ("args", "n"),
    **{
        name: ("args",)
        for name in ROWS
        if name.startswith(("optimize.", "integrate."))
        and name not in ("integrate.rk4", "integrate.solve_ivp", "integrate.fixed_quad")
    },
}
"""Parameters whose mistakes are the business of somebody else's function, or take too long."""

OWN_WORDS = {
    "optimize.fsolve", "optimize.root", "optimize.minimize", "optimize.least_squares", "optimize.curve_fit",
    "optimize.root_scalar", "rng.RandomStreams.normal", "rng.RandomStreams.uniform", "integrate.quad",
    "integrate.odeint", "integrate.solve_ivp",
}  # fmt: skip
"""What hands its settings to SciPy or NumPy, which say what is wrong with them."""

OTHER_NAMES: dict[str, str] = {
    "arguments.CudaStruct.__call__": "struct Step",
    "setup_on_host(init)": "decorate a method",
    "kernels.PreparedLaunch.set(x)": "argument 'x'|no argument is an array",
    "kernels.CudaKernel.__call__(stream)": "argument",  # the arrays are looked at first
    "kernels.HostImplementations.extended(loader)": "loaders",
    "kernels.KernelCatalog(kernels)": "a kernel must be|argument 'kernels'",
    "kernels.PreparedLaunch(args)": "argument 'args'|no argument is an array",
    "kernels.RawKernel.__call__(args)": "argument 'args'|parameter",
    "kernels.ReductionKernel.__call__(out)": "argument 'y'",
    **{
        name: rf"{name.split('.')[1]}|{name.split('.')[-1]}|CudaKernel '|kernel 'scale'|HostImplementations"
        for name in ROWS
        if name.startswith(("kernels.", "kernel_testing."))
    },
    **{f"kernels.CudaKernel.__call__({name})": rf"\b{name}\b|argument 'x'" for name in LAUNCH},
}
"""What errors call a function, or ``function(argument)``, if not by its name; regular expressions."""

ELSEWHERE: tuple[str, ...] = (
    "kernels.jit.threadIdx", "kernels.jit.blockIdx", "kernels.jit.blockDim", "kernels.jit.gridDim",  # no functions
    "kernels.jit.warpsize", "kernels.jit.thrust", "kernels.jit.cub.WarpReduce", "kernels.jit.cub.BlockReduce",
    "mpi.SerialComm*", "mpi.SerialMPI*", "mpi.SerialRequest*", "mpi.SerialStatus*",  # in mpi_calls
    "petsc.*",  # needs PETSc: in cunumpy-petsc/test_real_mistakes
    "to_cupy", "kernels.MetalKernel.__call__", "kernels.PyccelCache.*",  # need what is not installed everywhere
    # what users are given and do not make, and what calls a function of theirs or takes anything
    "Array", "arguments.CudaArguments", "arguments.CudaStructArguments", "arguments.CudaStructValue", "cuda.Compile*",
    "cuda.CudaParameter", "cuda.DeviceProperties", "cuda.HostStream.begin_capture", "cuda.KernelUsage",
    "get_array_backend", "integrate.Batched*", "integrate.FixedStepResult", "integrate.QuadResult", "is_cpu", "is_gpu",
    "kernels.CompiledHostKernel.__call__", "kernels.HostImplementations.__call__", "kernels.PyccelKernel.__call__",
    "memory.HostCopy", "memory.StagedCopy*", "mpi.CudaAwareReport", "mpi.MPIStaging.buffer", "mpi.PersistentExchange.*",
    "optimize.BracketResult", "optimize.LeastSquaresResult", "optimize.NewtonResult", "optimize.RootResult",
    "profiling.BenchmarkResult", "profiling.Region", "profiling.Timing", "profiling.TimingSummary",
    "profiling.TransferEvent", "profiling.Timings.__getitem__",
)  # fmt: skip
"""What has no row here; ``*`` stands for the rest of a name."""
