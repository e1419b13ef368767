"""CUDA sources on the CPU device's C++ headers alone, and the same sources through NVRTC.

A source is compiled behind the headers and in front of a small driver, which calls its kernels block after block, each
thread of a block a fiber. NVRTC must take the same source: the CPU device accepts nothing that CUDA refuses.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import threading
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cunumpy.kernels")

import cunumpy.kernels
from cpp_compiler import compiler
from cunumpy.cuda import cuda_include_dir
from cunumpy.errors import KernelError
from cunumpy.kernels._cpu_device.launch import RawFunction
from cunumpy.kernels._cpu_device.ptx import replace_inline_ptx
from nvrtc import compile_cuda

INCLUDE = Path(next(iter(cunumpy.kernels.__path__))) / "_cpu_device" / "include"

#: As the CPU device compiles.
OPTIONS = ("-std=c++17", "-O2", "-march=native", "-fno-trapping-math", "-fno-math-errno", "-fPIC", "-shared")

CONTEXT = """
#include "cunumpy_cpu/vector_types.hpp"
static thread_local uint3 threadIdx, blockIdx;
static thread_local dim3 blockDim, gridDim;
static constexpr int warpSize = 32;
namespace cunumpy_cpu {
static uint3 true_block() { return blockIdx; }
static uint3 true_thread() { return threadIdx; }
}
#include "cunumpy_cpu/runtime.hpp"
#define __shared__ thread_local
#line 1 "kernel.cu"
"""

_DRIVER = """
namespace test_driver {
template <unsigned... I> struct Indices {};
template <unsigned N, unsigned... I> struct Count : Count<N - 1, N - 1, I...> {};
template <unsigned... I> struct Count<0, I...> { typedef Indices<I...> type; };
template <auto kernel, class F = decltype(kernel)> struct Body;
template <auto kernel, class... P> struct Body<kernel, void (*)(P...)> {
    static void run(void* arguments) { spread((void**)arguments, typename Count<sizeof...(P)>::type()); }
    template <unsigned... I> static void spread(void** arguments, Indices<I...>) { kernel(*(P*)arguments[I]...); }
};
template <auto kernel>
static int launch(const unsigned* shape, void** arguments, void** fibers, char* message, size_t size) {
    gridDim = dim3(shape[0], shape[1], shape[2]);
    blockDim = dim3(shape[3], shape[4], shape[5]);
    const bool ended = cunumpy_cpu::run_guarded([&] {
        cunumpy_cpu::Block block{};
        block.shape = blockDim, block.grid_shape = gridDim, block.fibers = fibers;
        for (blockIdx.z = 0; blockIdx.z < gridDim.z; ++blockIdx.z)
            for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y)
                for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
                    block.index = blockIdx;
                    cunumpy_cpu::run_block_fibers(Body<kernel>::run, arguments, block);
                }
    }, message, size);
    cunumpy_cpu::flush_output();
    return ended;
}
}
"""


class CpuSource:
    """A compiled source; `kernels` are names, instances of templates as ``"add<double>"``."""

    _worker = threading.local()

    def __init__(
        self,
        source: str,
        kernels: Iterable[str],
        *,
        options: Sequence[str] = (),
        nvrtc: bool = True,
        architecture: str = "sm_80",
        cuda_dirs: Sequence[Path] = (),
    ) -> None:
        names = list(kernels)
        if nvrtc:
            compile_cuda(
                source,
                architecture=architecture,
                options=("-std=c++17", *(option for option in options if option.startswith("-D"))),
                instances=tuple(name for name in names if "<" in name),
                include_dirs=cuda_dirs,
            )
        # Arrays `extern __shared__ T name[]` are defined behind the source.
        dynamic = {
            name: kind.strip()
            for kind, name in re.findall(
                r"extern\s+__shared__\s+(?:__align__\(\d+\)\s*)?([\w\s:<>]+?)\s*(\w+)\[\]", source
            )
        }
        storage = "".join(f"thread_local {kind} {name}[16384 / sizeof({kind})];\n" for name, kind in dynamic.items())
        entries = "".join(
            f'extern "C" int launch_{number}(const unsigned* shape, void** arguments, void** fibers, char* message, '
            f"size_t size) {{ return test_driver::launch<{name}>(shape, arguments, fibers, message, size); }}\n"
            for number, name in enumerate(names)
        )
        self._numbers = {name: number for number, name in enumerate(names)}
        with TemporaryDirectory() as folder:
            library = Path(folder) / "kernel.so"
            text = library.with_suffix(".cpp")
            parts = [
                CONTEXT + replace_inline_ptx(source, "kernel.cu"),
                '#line 1 "driver.cpp"',
                storage,
                _DRIVER,
                entries,
            ]
            text.write_text("\n".join(parts))
            command = [*compiler(), *OPTIONS, f"-I{INCLUDE}", f"-I{cuda_include_dir()}", *options]
            command += [str(text), "-o", str(library)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            assert "warning" not in done.stderr, done.stderr
            self._library = ctypes.CDLL(str(library))

    def __call__(self, kernel: str, grid: Any, block: Any, *arguments: Any) -> None:
        """Launch: arrays by pointer, NumPy scalars and structured values by value."""
        error = self.error(kernel, grid, block, *arguments)
        assert error is None, error

    def error(self, kernel: str, grid: Any, block: Any, *arguments: Any) -> str | None:
        """Launch, and return what the launch ended with before its time."""
        shape = (ctypes.c_uint * 6)(*_three(grid), *_three(block))
        values = [np.asarray(a.ctypes.data, np.uintp) if isinstance(a, np.ndarray) and a.ndim else np.asarray(a)
                  for a in arguments]  # fmt: skip
        pointers = (ctypes.c_void_p * max(len(values), 1))(*(value.ctypes.data for value in values))
        message = ctypes.create_string_buffer(2000)
        launch = getattr(self._library, f"launch_{self._numbers[kernel]}")
        if not hasattr(CpuSource._worker, "fibers"):
            CpuSource._worker.fibers = ctypes.c_void_p()
        ended = launch(shape, pointers, ctypes.byref(CpuSource._worker.fibers), message, len(message))
        return None if ended else message.value.decode()


class CheckedSource:
    """The same by the CPU device itself, with all accesses to memory checked."""

    def __init__(self, source: str, kernels: Iterable[str], *, options: Sequence[str] = (), **_: Any) -> None:
        names, opened = tuple(kernels), {}  # type: tuple[str, ...], dict[bool, Any]
        self._file = f"{names[0].partition('<')[0]}.cu"
        self._functions = {name: RawFunction(source, name, tuple(options), names, opened, check=True) for name in names}

    def __call__(self, kernel: str, grid: Any, block: Any, *arguments: Any) -> None:
        """Launch: arrays by pointer, NumPy scalars and structured values by value."""
        values = [np.asarray(a) if not isinstance(a, np.ndarray) or a.ndim == 0 else a for a in arguments]
        packed = [value.ctypes.data if value.ndim else value for value in values]
        arrays = [(number, value) for number, value in enumerate(values) if value.ndim]
        self._functions[kernel](_three(grid), _three(block), packed, 16384, arguments=arrays)

    def error(self, kernel: str, grid: Any, block: Any, *arguments: Any) -> str | None:
        """Launch, and return what the launch ended with before its time."""
        try:
            self(kernel, grid, block, *arguments)
        except KernelError as error:
            text = str(error).partition("): ")[2].removesuffix("; what it wrote before stays.")
            return text.replace(f"{self._file}:", "kernel.cu:")
        return None


def _three(shape: Any) -> tuple[int, int, int]:
    return ((*shape, 1, 1) if isinstance(shape, tuple) else (shape, 1, 1))[:3]


@cache
def cpu_source(source: str, *kernels: str, checked: bool = True, **settings: Any) -> CpuSource | CheckedSource:
    """Compile once for several tests.

    ``CUNUMPY_CPU_CHECK=1`` checks these as all other kernels, but for `checked=False`: what is wrong on a GPU.
    """
    if checked and os.environ.get("CUNUMPY_CPU_CHECK") == "1":
        return CheckedSource(source, kernels, **settings)
    return CpuSource(source, kernels, **settings)
