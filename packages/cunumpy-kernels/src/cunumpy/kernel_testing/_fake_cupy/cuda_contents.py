"""The names of ``cupy.cuda`` and of the modules below it."""

from __future__ import annotations

from typing import Any

from . import allocators, memory, memory_hooks, memory_pools, pinned_memory, runtime
from .cuda import (
    CUDA_VERSION,
    CompileException,
    CUDADriverError,
    Event,
    ExternalStream,
    RangePop,
    RangePush,
    Stream,
    get_elapsed_time,
    occupancy_max_potential_block_size,
    profile,
    range_end,
    range_start,
)
from .current_device import CUDARuntimeError, current_device
from .current_stream import get_current_stream
from .devices import COMPUTE_CAPABILITY, Device
from .memory_pointer import MemoryPointer

_MEMORY: dict[str, Any] = {
    one.__name__: one
    for one in (
        memory.BaseMemory,
        memory.ManagedMemory,
        memory.Memory,
        memory.MemoryAsync,
        memory.UnownedMemory,
        MemoryPointer,
        memory_pools.MemoryAsyncPool,
        memory_pools.MemoryPool,
        allocators.PythonFunctionAllocator,
        allocators.alloc,
        allocators.get_allocator,
        allocators.malloc_async,
        allocators.malloc_managed,
        allocators.set_allocator,
    )
}
_PINNED: dict[str, Any] = {
    one.__name__: one
    for one in (
        pinned_memory.PinnedMemory,
        pinned_memory.PinnedMemoryPool,
        pinned_memory.alloc_pinned_memory,
        pinned_memory.set_pinned_memory_allocator,
    )
}


def submodules() -> dict[str, dict[str, Any]]:
    """Return the contents of the modules below ``cupy.cuda``."""
    return {
        "runtime": runtime.contents(),
        "driver": {
            "CUDADriverError": CUDADriverError,
            "get_build_version": lambda: CUDA_VERSION,
            "occupancyMaxPotentialBlockSize": occupancy_max_potential_block_size,
        },
        "compiler": {"CompileException": CompileException},
        "nvtx": {
            "available": True,
            "RangePush": RangePush,
            "RangePushC": RangePush,
            "RangePop": RangePop,
            "Mark": lambda message, id_color=-1: None,
            "MarkC": lambda message, color=0: None,
            "RangeStart": range_start,
            "RangeEnd": range_end,
        },
        "profiler": {"start": lambda: None, "stop": lambda: None},
        "device": {
            "Device": Device,
            "get_device_id": current_device,
            "get_compute_capability": lambda: COMPUTE_CAPABILITY,
        },
        "stream": {
            "Stream": Stream,
            "ExternalStream": ExternalStream,
            "Event": Event,
            "get_current_stream": get_current_stream,
            "get_elapsed_time": get_elapsed_time,
        },
        "memory": {
            **_MEMORY,
            "OutOfMemoryError": memory_pools.OutOfMemoryError,
            "PooledMemory": memory_pools.PooledMemory,
            "CUDARuntimeError": CUDARuntimeError,
        },
        "memory_hook": {
            "MemoryHook": memory_hooks.MemoryHook,
            "get_memory_hooks": memory_hooks.get_memory_hooks,
        },
        "memory_hooks": {one.__name__: one for one in (memory_hooks.DebugPrintHook, memory_hooks.LineProfileHook)},
        "memory_hooks.debug_print": {"DebugPrintHook": memory_hooks.DebugPrintHook},
        "memory_hooks.line_profile": {"LineProfileHook": memory_hooks.LineProfileHook},
        "pinned_memory": {**_PINNED, "is_memory_pinned": pinned_memory.is_memory_pinned},
    }


def _no_path() -> None:
    """Return where a toolkit is: there is none."""


def contents() -> dict[str, Any]:
    """Return the contents of ``cupy.cuda``."""
    return {
        "Device": Device,
        "Event": Event,
        "Stream": Stream,
        "ExternalStream": ExternalStream,
        "get_current_stream": get_current_stream,
        "get_elapsed_time": get_elapsed_time,
        "MemoryHook": memory_hooks.MemoryHook,
        "profile": profile,
        "get_device_id": current_device,
        "is_available": lambda: True,
        **{f"get_{what}_path": _no_path for what in ("cuda", "nvcc", "rocm", "hipcc")},
        **_MEMORY,
        **_PINNED,
        "using_allocator": allocators.using_allocator,
        "get_local_runtime_version": lambda: CUDA_VERSION,
    }
