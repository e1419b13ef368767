"""NVIDIA's run-time compiler, from its wheel: proves without a GPU that CUDA code compiles for one."""

from __future__ import annotations

import ctypes
import functools
from importlib.metadata import distribution
from pathlib import Path

from cunumpy.cuda import cuda_include_dir

#: From the oldest to the newest that this NVRTC compiles for and that CuPy 14 supports.
ARCHITECTURES = ("sm_70", "sm_80", "sm_90", "sm_120")


class CompileError(Exception):
    """The text is the compiler's log."""


@functools.cache
def _library() -> ctypes.CDLL:
    files = distribution("nvidia-cuda-nvrtc-cu12").files or []
    names = [file for file in files if Path(file).name.startswith(("libnvrtc.so", "nvrtc64_"))]
    return ctypes.CDLL(str(names[0].locate()))


def compile_cuda(
    source: str, *, architecture: str = "sm_80", options: tuple[str, ...] = (), instances: tuple[str, ...] = ()
) -> bytes:
    """Compile CUDA source with the shipped headers in reach.

    Parameters
    ----------
    source : str
    architecture : str
        Such as ``"sm_80"``.
    options : tuple of str
        More compiler options.
    instances : tuple of str
        Instances of templates to make, such as ``"add<double>"``.

    Returns
    -------
    bytes
        The cubin.
    """
    nvrtc = _library()
    program = ctypes.c_void_p()
    _check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"test.cu", 0, None, None))
    try:
        for instance in instances:
            _check(nvrtc.nvrtcAddNameExpression(program, instance.encode()))
        words = [f"--gpu-architecture={architecture}", "-std=c++14", f"-I{cuda_include_dir()}", *options]
        array = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
        status = nvrtc.nvrtcCompileProgram(program, len(words), array)
        size = ctypes.c_size_t()
        _check(nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size)))
        log = ctypes.create_string_buffer(size.value)
        _check(nvrtc.nvrtcGetProgramLog(program, log))
        if status != 0:
            raise CompileError(log.value.decode())
        _check(nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)))
        cubin = ctypes.create_string_buffer(size.value)
        _check(nvrtc.nvrtcGetCUBIN(program, cubin))
        return cubin.raw
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _check(status: int) -> None:
    assert status == 0, f"NVRTC failed with status {status}"
