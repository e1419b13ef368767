"""Every public class pickles, or says in a `TypeError` why not; MPI's in a `ValueError`, as mpi4py does."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cunumpy as xp
from cunumpy import algorithms, arguments, cuda, integrate, kernels, memory, mpi, optimize, petsc, profiling, rng
from public_surface import public_modules

SOURCE = 'extern "C" __global__ void k(int n, double* x) { if (threadIdx.x < n) x[threadIdx.x] += 1; }'


def a_struct() -> arguments.CudaStruct:
    return arguments.CudaStruct("Step", [("dt", "double"), ("n", "int")])


def double(x: Any) -> None:
    x *= 2


def a_square(x: Any) -> Any:
    return x * x - 2


def a_rate(t: Any, y: Any) -> Any:
    return -y


def an_exchange() -> Any:
    x, y = np.ones(2), np.zeros(2)
    return mpi.PersistentExchange(mpi.SerialComm(), sends=[(x, 0, 1)], receives=[(y, 0, 1)])


MADE: dict[str, Callable[[], Any]] = {
    "SegmentPlan": lambda: algorithms.SegmentPlan(np.array([0, 2, 0]), 3),
    "CudaArguments": lambda: arguments.CudaArguments(1, "a"),
    "CudaKernelVariants": lambda: kernels.CudaKernelVariants(double),
    "CudaStruct": a_struct,
    "CudaStructValue": lambda: a_struct()(dt=0.5, n=3),
    "CudaParameter": lambda: cuda.parse_cuda_signature(SOURCE, "k")[0],
    "HostEvent": lambda: cuda.create_event(),
    "HostStream": lambda: cuda.create_stream(),
    "BatchedDenseOutput": lambda: solved().sol,
    "BatchedOdeResult": lambda: solved(),
    "FixedStepResult": lambda: integrate.rk4(a_rate, (0.0, 1.0), np.ones(2), 4),
    "QuadResult": lambda: integrate.quad_batched(np.cos, 0.0, np.ones(2)),
    "CompiledHostKernel": lambda: kernels.CompiledHostKernel("math", "hypot", len),
    "CudaKernel": lambda: kernels.CudaKernel(SOURCE, "k"),
    "ElementwiseKernel": lambda: kernels.ElementwiseKernel("T x", "T y", "y = x", "same"),
    "HostImplementations": lambda: kernels.HostImplementations("double", {"python": a_loader}),
    "Kernel": lambda: kernels.Kernel(None, kernels.CudaKernel(SOURCE, "k")),
    "PyccelCache": lambda: kernels.PyccelCache("mine"),
    "PyccelKernel": lambda: kernels.PyccelKernel(double),
    "RawKernel": lambda: kernels.RawKernel(SOURCE, "k"),
    "RawModule": lambda: kernels.RawModule(code=SOURCE),
    "ReductionKernel": lambda: kernels.ReductionKernel("T v", "T w", "v", "a + b", "w = a", "0"),
    "DeviceMirror": lambda: memory.DeviceMirror(np.ones(2)),
    "HostCopy": lambda: xp.to_host_async(np.ones(2)),
    "HostStaging": lambda: memory.HostStaging(4, float),
    "StagedCopy": lambda: memory.HostStaging(2, float).copy(np.ones(2)),
    "CudaAwareReport": lambda: mpi.cuda_aware_report(),
    "MPIStaging": lambda: mpi.MPIStaging(4, float),
    "PersistentExchange": an_exchange,
    "SerialComm": lambda: mpi.SerialComm(),
    "SerialMPI": lambda: mpi.SerialMPI(),
    "SerialRequest": lambda: mpi.SerialComm().Isend(np.ones(1), 0),
    "SerialStatus": lambda: mpi.SerialStatus(),
    "BracketResult": lambda: optimize.bracket_root(a_square, np.ones(2)),
    "NewtonResult": lambda: optimize.newton(a_square, np.ones(2), full_output=True),
    "RootResult": lambda: optimize.find_root(a_square, (np.zeros(2), 2 * np.ones(2))),
    "BenchmarkResult": lambda: profiling.benchmark(double, (np.ones(2),), n_repeat=2, n_warmup=1),
    "PhiloxGenerator": lambda: rng.PhiloxGenerator(1),
    "RandomStreams": lambda: rng.RandomStreams(),
    "TransferCounter": lambda: profiling.TransferCounter(),
    "Timings": lambda: profiling.Timings(),
    "allow_transfers": lambda: profiling.allow_transfers(),
    "assert_no_transfers": lambda: profiling.assert_no_transfers(),
    "count_transfers": lambda: profiling.count_transfers(),
    "forbid_transfers": lambda: profiling.forbid_transfers(),
    "nvtx_range": lambda: profiling.nvtx_range("part"),
    "CompileMessage": lambda: cuda.CompileMessage("error", "text"),
    "CompileReport": lambda: cuda.CompileReport("nvrtc", messages=(cuda.CompileMessage("note", "text"),)),
    "DeviceProperties": lambda: cuda.DeviceProperties(0, "name", (9, 0), 132, 32, 1024, 65536, 2**37, 49152, 232448),
    "KernelUsage": lambda: cuda.KernelUsage("k", "sm_90", 20, 0, 0, 0, 0, 0, 400),
    "LeastSquaresResult": lambda: optimize.LeastSquaresResult(*range(7), 1, 2, 3),
    "KSPResult": lambda: petsc.KSPResult(*range(len(inspect.signature(petsc.KSPResult).parameters))),
    "SNESResult": lambda: petsc.SNESResult(*range(len(inspect.signature(petsc.SNESResult).parameters))),
    "Region": lambda: profiling.Region("name", "kernel", "file:1", 0.0, 1.0, "main", 1),
    "Timing": lambda: profiling.Timing("name", 0.5),
    "TimingSummary": lambda: profiling.TimingSummary(1, 0.5, 0.5, 0.5),
    "TransferBudget": lambda: profiling.TransferBudget(),
    "TransferEvent": lambda: profiling.TransferEvent("to_host", "text", "file:1"),
    "timed_region": lambda: profiling.timed_region("part"),
    "watch_array_reads": lambda: profiling.watch_array_reads(),
    "use_backend": lambda: xp.use_backend("numpy"),
}


def solved() -> Any:
    return integrate.solve_ivp_batched(a_rate, (0.0, 1.0), np.ones((2, 1)), dense_output=True)


def a_loader() -> Callable[[Any], None]:
    return double


REFUSED = {
    **dict.fromkeys(("DeviceMirror", "HostCopy", "HostEvent", "HostStream", "StagedCopy"), TypeError),
    "PersistentExchange": TypeError,
    **dict.fromkeys(("SerialComm", "SerialRequest"), ValueError),  # as mpi4py's
}

ELSEWHERE = {
    "CudaStructArguments": ("test_argument_objects.py", "test_copies_pack_their_own_arrays"),
    "KernelCatalog": ("test_catalog.py", "test_catalogs_pickle"),
    "MetalKernel": ("test_metal_kernel.py", "test_it_pickles_after_a_call_too"),
    "PreparedLaunch": ("test_cpu_implementation.py", "test_a_prepared_launch_runs_again_and_again"),
}
"""The tests of those that need more than a line to make."""


def _without_address(value: Any) -> str:
    return re.sub(r"0x[0-9a-f]+", "", repr(value))


def _function(path: Path, name: str) -> str:
    """Return the source of a function."""
    source = path.read_text(encoding="utf-8")
    (found,) = (one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef) and one.name == name)
    return ast.unparse(found)


def classes() -> dict[str, type]:
    return {
        name: value
        for module in public_modules()
        for name in module.__all__
        if isinstance(value := getattr(module, name), type)
        and value.__module__.startswith("cunumpy")
        and not issubclass(value, BaseException)
        and name != "Array"  # of annotations: nothing is made of it
    }


@pytest.mark.parametrize("name", sorted(classes()))
def test_classes_pickle_or_say_why_not(name: str) -> None:
    if name in ELSEWHERE:
        file, test = ELSEWHERE[name]
        assert "pickle.dumps(" in _function(Path(__file__).parent / "cunumpy-kernels" / file, test)
        return
    value = MADE[name]()
    assert type(value).__name__ == name
    if name in REFUSED:
        with pytest.raises(REFUSED[name], match=rf"an? {name} does not pickle.*: .{{20}}"):
            pickle.dumps(value)
        return
    again = pickle.loads(pickle.dumps(value))
    assert type(again) is type(value)
    assert _without_address(again) == _without_address(value)


@pytest.mark.parametrize("name", [name for name in MADE if name.islower()])
def test_scopes_pickle_while_they_are_entered(name: str) -> None:
    """What comes back is a scope of its own, which is not entered."""
    scope = MADE[name]()
    with scope:
        again = pickle.loads(pickle.dumps(scope))
    with again:
        pass
    assert xp.get_backend() == "numpy"
