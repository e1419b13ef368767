"""CUDA devices, memory, streams and events, headers, and tools for CUDA sources."""

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core
from cunumpy.cuda._nvrtc import CompileMessage, CompileReport, KernelUsage, check_cuda
from cunumpy.cuda._sources import cuda_include_dir, include_hash, resolve_includes

__all__ = [
    "CompileMessage",
    "CompileReport",
    "KernelUsage",
    "check_cuda",
    "cuda_include_dir",
    "include_hash",
    "resolve_includes",
]
