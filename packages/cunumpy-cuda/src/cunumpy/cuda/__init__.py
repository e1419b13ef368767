"""CUDA devices, memory, streams and events, debug mode, headers, and tools for CUDA sources."""

# ruff: noqa: E402 - what follows needs the versions that are checked first

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core
from cunumpy._installation import require_compatible as _require_compatible

_require_compatible("cunumpy-cuda")

from cunumpy.cuda._ctypes_table import ctype_of
from cunumpy.cuda._debug import DEBUG_OPTIONS, cuda_debug, get_cuda_debug, set_cuda_debug
from cunumpy.cuda._devices import (
    DEFAULT_SHARED_MEMORY_PER_BLOCK,
    DeviceProperties,
    bind_local_device,
    device_count,
    device_properties,
    empty_pinned,
    free_memory,
    get_memory_limit,
    is_hip,
    max_shared_memory_per_block,
    memory_info,
    pin_memory,
    set_device,
    set_device_for_rank,
    set_memory_limit,
)
from cunumpy.cuda._nvrtc import CompileMessage, CompileReport, KernelUsage, check_cuda
from cunumpy.cuda._parameters import CudaParameter
from cunumpy.cuda._signatures import cuda_kernel_names, parse_cuda_signature
from cunumpy.cuda._sources import cuda_include_dir, include_hash, resolve_includes
from cunumpy.cuda._streams import (
    HostEvent,
    HostStream,
    create_event,
    create_stream,
    elapsed,
    record_event,
    stream,
    wait_event,
)

__all__ = [
    "DEBUG_OPTIONS",
    "DEFAULT_SHARED_MEMORY_PER_BLOCK",
    "CompileMessage",
    "CompileReport",
    "CudaParameter",
    "DeviceProperties",
    "HostEvent",
    "HostStream",
    "KernelUsage",
    "bind_local_device",
    "check_cuda",
    "create_event",
    "create_stream",
    "ctype_of",
    "cuda_debug",
    "cuda_include_dir",
    "cuda_kernel_names",
    "device_count",
    "device_properties",
    "elapsed",
    "empty_pinned",
    "free_memory",
    "get_cuda_debug",
    "get_memory_limit",
    "include_hash",
    "is_hip",
    "max_shared_memory_per_block",
    "memory_info",
    "parse_cuda_signature",
    "pin_memory",
    "record_event",
    "resolve_includes",
    "set_cuda_debug",
    "set_device",
    "set_device_for_rank",
    "set_memory_limit",
    "stream",
    "wait_event",
]
