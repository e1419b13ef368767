"""``cupy.cuda`` on one pretended device. Everything completes at once, so waiting never waits."""

from __future__ import annotations

import ctypes
import itertools
import threading
import time
import warnings
from typing import Any

import numpy as np

TOTAL_MEMORY = 16 * 2**30
COMPUTE_CAPABILITY = "80"
CUDA_VERSION = 12090


class CUDARuntimeError(RuntimeError):
    """An error of the CUDA runtime."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class CUDADriverError(RuntimeError):
    """An error of the CUDA driver."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class CompileException(Exception):
    """The compiler refuses a source."""

    def __init__(self, msg: str, source: str, name: str, options: tuple[str, ...], backend: str = "nvrtc") -> None:
        super().__init__(msg)
        self._msg, self.source, self.name, self.options, self.backend = msg, source, name, options, backend

    def __str__(self) -> str:
        return self._msg

    def get_message(self) -> str:
        """Return what the compiler says."""
        return self._msg

    def dump(self, f: Any) -> None:
        """Write the source, with numbers of lines, and what the compiler says."""
        lines = self.source.split("\n")
        width = len(str(len(lines)))
        f.write(f"{self.backend.upper()} compilation error: {self}\n-----\nName: {self.name}\n")
        f.write(f"Options: {' '.join(self.options)}\nCUDA source:\n")
        for number, line in enumerate(lines, 1):
            f.write(f"{number:0{width}d} {line.rstrip()}\n")
        f.write("-----\n")


CUDARuntimeError.__module__ = "cupy.cuda.runtime"
CUDADriverError.__module__ = "cupy.cuda.driver"
CompileException.__module__ = "cupy.cuda.compiler"


def _check_device(device: Any) -> int:
    number = device.id if isinstance(device, Device) else int(device)
    if number != 0:
        raise CUDARuntimeError(101, "cudaErrorInvalidDevice: invalid device ordinal")
    return number


class Device:
    """A CUDA device; only number 0 can be used.

    Parameters
    ----------
    device : int or Device, optional
        Its number; the current device by default.
    """

    def __init__(self, device: Any = None) -> None:
        # As with CuPy, a number that no device has is found when the device is used.
        self.id: int = 0 if device is None else device.id if isinstance(device, Device) else int(device)

    def use(self) -> None:
        """Make this the current device."""
        _check_device(self)

    def synchronize(self) -> None:
        """Wait for everything on this device."""
        _check_device(self)

    def __enter__(self) -> Device:
        _check_device(self)
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Device) -> bool:
        return self.id < other.id

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    @property
    def compute_capability(self) -> str:
        """Its two digits."""
        _check_device(self)
        return COMPUTE_CAPABILITY

    @property
    def pci_bus_id(self) -> str:
        """Its address."""
        _check_device(self)
        return "0000:00:00.0"

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total memory in bytes."""
        _check_device(self)
        return memGetInfo()

    @property
    def attributes(self) -> dict[str, int]:
        """CUDA's device attributes, by name without prefix."""
        _check_device(self)
        return {
            "MaxThreadsPerBlock": 1024,
            "MaxBlockDimX": 1024,
            "MaxBlockDimY": 1024,
            "MaxBlockDimZ": 64,
            "MaxGridDimX": 2**31 - 1,
            "MaxGridDimY": 65535,
            "MaxGridDimZ": 65535,
            "MaxSharedMemoryPerBlock": 49152,
            "MaxSharedMemoryPerBlockOptin": 166912,
            "WarpSize": 32,
            "MultiProcessorCount": 108,
            "ComputeCapabilityMajor": int(COMPUTE_CAPABILITY[0]),
            "ComputeCapabilityMinor": int(COMPUTE_CAPABILITY[1]),
            "UnifiedAddressing": 1,
            "ConcurrentKernels": 1,
        }


class Event:
    """A point in a stream.

    Parameters
    ----------
    block, disable_timing, interprocess : bool
        As in CUDA; an event without timing can't be used by `get_elapsed_time`.
    """

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.ptr = next(_handles)
        self._timed = not disable_timing
        self._recorded: float | None = None

    @property
    def done(self) -> bool:
        """Whether everything before the event has completed."""
        return True

    def record(self, stream: Any = None) -> None:
        """Put the event at the end of a stream, the current one by default."""
        self._recorded = time.perf_counter()

    def synchronize(self) -> None:
        """Wait for the event."""


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Return the time between two recorded events in milliseconds."""
    for event in (start_event, end_event):
        if event._recorded is None or not event._timed:
            raise CUDARuntimeError(400, "cudaErrorInvalidResourceHandle: invalid resource handle")
    assert start_event._recorded is not None
    assert end_event._recorded is not None
    return (end_event._recorded - start_event._recorded) * 1e3


_handles = itertools.count(0x5000_0000, 16)
_current = threading.local()


class _BaseStream:
    ptr: int
    device_id: int

    @property
    def done(self) -> bool:
        """Whether all work has completed."""
        return True

    @property
    def is_non_blocking(self) -> bool:
        """Whether the stream is independent of the null stream."""
        return False

    @property
    def priority(self) -> int:
        """Priority, lower is more urgent."""
        return 0

    def use(self) -> _BaseStream:
        """Make this the thread's current stream."""
        _current.stream = self
        return self

    def __enter__(self) -> _BaseStream:
        stack = _current.__dict__.setdefault("stack", [])
        stack.append(get_current_stream())
        return self.use()

    def __exit__(self, *exc: object) -> None:
        _current.stream = _current.stack.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BaseStream) and other.ptr == self.ptr

    def __hash__(self) -> int:
        return hash(self.ptr)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.ptr} (device {self.device_id})>"

    def synchronize(self) -> None:
        """Wait for all work."""

    def record(self, event: Event | None = None) -> Event:
        """Put an event at the end of the stream."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let later work wait for an event."""

    def launch_host_func(self, callback: Any, arg: Any) -> None:
        """Call a function when all work up to here has completed: now."""
        callback(arg)

    def add_callback(self, callback: Any, arg: Any) -> None:
        """Call a function when all work up to here has completed: now."""
        callback(self, 0, arg)

    def is_capturing(self) -> bool:
        """Whether the stream records a graph."""
        return False


class Stream(_BaseStream):
    """A CUDA stream.

    Parameters
    ----------
    null, ptds, non_blocking : bool
        Which kind of stream: the null stream, the thread's default stream, one independent of the null stream.
    priority : int, optional
        Lower is more urgent.
    """

    null: Stream
    ptds: Stream

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None
    ) -> None:
        self.ptr = 0 if null else 2 if ptds else next(_handles)
        self.device_id = -1 if null or ptds else 0
        self._non_blocking = non_blocking
        self._priority = priority or 0

    @property
    def is_non_blocking(self) -> bool:
        """Whether the stream is independent of the null stream."""
        return self._non_blocking

    @property
    def priority(self) -> int:
        """Priority, lower is more urgent."""
        return self._priority

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.ptr)

    @classmethod
    def from_external(cls, obj: Any) -> Stream:
        """Return a stream for another library's stream object."""
        protocol = getattr(obj, "__cuda_stream__", None)
        if protocol is None:
            raise TypeError("The object does not implement __cuda_stream__")
        stream = cls.__new__(cls)
        stream.ptr = protocol()[1]
        stream.device_id = -1
        stream._non_blocking, stream._priority = False, 0
        return stream


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)


class ExternalStream(_BaseStream):
    """A stream that was made elsewhere, by its handle."""

    def __init__(self, ptr: int, device_id: int = -1) -> None:
        warnings.warn(
            "cupy.cuda.ExternalStream is deprecated, use cupy.cuda.Stream.from_external",
            DeprecationWarning,
            stacklevel=2,
        )
        self.ptr = ptr
        self.device_id = device_id


def get_current_stream(device_id: int = -1) -> _BaseStream:
    """Return the thread's current stream."""
    stream: _BaseStream = getattr(_current, "stream", Stream.null)
    return stream


def get_device_id() -> int:
    """Return the number of the current device."""
    return 0


# ---- memory ----


class BaseMemory:
    """Memory on the device."""

    ptr: int
    size: int
    device_id = 0

    @property
    def device(self) -> Device:
        """Its device."""
        return Device(0)

    def _bytes(self) -> np.ndarray[Any, Any]:
        raise NotImplementedError

    def _as_array(
        self, offset: int, shape: Any, dtype: np.dtype[Any], strides: Any, order: str
    ) -> np.ndarray[Any, Any]:
        return np.ndarray(shape, dtype, self._bytes(), offset, strides, order)  # type: ignore[arg-type]


class Memory(BaseMemory):
    """New memory of a number of bytes."""

    def __init__(self, size: int) -> None:
        self._buffer = np.empty(size, np.uint8)
        self.size = size
        self.ptr = self._buffer.__array_interface__["data"][0] if size else 0

    def _bytes(self) -> np.ndarray[Any, Any]:
        return self._buffer


class _BufferMemory(BaseMemory):
    """The memory of an existing array."""

    def __init__(self, buffer: np.ndarray[Any, Any]) -> None:
        self._keep = buffer
        low, high = np.lib.array_utils.byte_bounds(buffer)
        self.ptr, self.size = low, high - low

    def _bytes(self) -> np.ndarray[Any, Any]:
        kept = self._keep
        flat = kept.reshape(-1, order="A") if kept.flags.forc else None
        if flat is None:
            raise ValueError("memory of a strided array can't be used anew")
        return flat.view(np.uint8)


class UnownedMemory(BaseMemory):
    """Memory that something else owns and keeps alive; on the stand-in it has to be host memory."""

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = 0) -> None:
        self.ptr, self.size, self._owner = ptr, size, owner
        self._buffer: np.ndarray[Any, Any] = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(ptr))

    def _bytes(self) -> np.ndarray[Any, Any]:
        return self._buffer


class MemoryPointer:
    """A place in device memory."""

    def __init__(self, mem: BaseMemory, offset: int) -> None:
        self.mem = mem
        self.ptr = mem.ptr + offset

    @property
    def device(self) -> Device:
        """Its device."""
        return Device(0)

    @property
    def device_id(self) -> int:
        """Number of its device."""
        return 0

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)

    def __sub__(self, offset: int) -> MemoryPointer:
        return self + -offset

    def _check(self, size: int) -> None:
        if not self.mem.ptr <= self.ptr <= self.ptr + size <= self.mem.ptr + self.mem.size:
            raise CUDARuntimeError(1, "cudaErrorInvalidValue: invalid argument")

    def copy_to_host(self, mem: Any, size: int) -> None:
        """Copy bytes to host memory."""
        self._check(size)
        ctypes.memmove(int(mem), self.ptr, size)

    def copy_to_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """Copy bytes to host memory; completes at once."""
        self.copy_to_host(mem, size)

    def copy_from_host(self, mem: Any, size: int) -> None:
        """Copy bytes from host memory."""
        self._check(size)
        ctypes.memmove(self.ptr, int(mem), size)

    def copy_from_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """Copy bytes from host memory; completes at once."""
        self.copy_from_host(mem, size)

    def copy_from_device(self, src: MemoryPointer, size: int) -> None:
        """Copy bytes from device memory."""
        self._check(size)
        src._check(size)
        ctypes.memmove(self.ptr, src.ptr, size)

    def copy_from_device_async(self, src: MemoryPointer, size: int, stream: Any = None) -> None:
        """Copy bytes from device memory; completes at once."""
        self.copy_from_device(src, size)

    def memset(self, value: int, size: int) -> None:
        """Set bytes."""
        self._check(size)
        ctypes.memset(self.ptr, value, size)

    def memset_async(self, value: int, size: int, stream: Any = None) -> None:
        """Set bytes; completes at once."""
        self.memset(value, size)


def alloc(size: int) -> MemoryPointer:
    """Allocate device memory."""
    return MemoryPointer(Memory(size), 0)


class MemoryPool:
    """The pool of device memory. Arrays of the stand-in do not come from it: it holds nothing."""

    def __init__(self, allocator: Any = None) -> None:
        self._limit = 0

    def malloc(self, size: int) -> MemoryPointer:
        """Allocate memory."""
        return alloc(size)

    def used_bytes(self) -> int:
        """Return the bytes in use from the pool."""
        return 0

    def free_bytes(self) -> int:
        """Return the bytes that the pool keeps for later."""
        return 0

    def total_bytes(self) -> int:
        """Return the bytes that the pool has."""
        return 0

    def n_free_blocks(self) -> int:
        """Return how many blocks the pool keeps for later."""
        return 0

    def free_all_blocks(self, stream: Any = None) -> None:
        """Give unused memory back."""

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Limit the pool's memory."""
        if size is not None and fraction is not None:
            raise ValueError("size and fraction cannot be specified at one time")
        if fraction is not None:
            if not 0 <= fraction <= 1:
                raise ValueError(f"memory limit fraction out of range: {fraction}")
            size = int(fraction * TOTAL_MEMORY)
        if size is not None and size < 0:
            raise ValueError(f"memory limit size out of range: {size}")
        self._limit = size or 0

    def get_limit(self) -> int:
        """Return the limit in bytes, 0 if there is none."""
        return self._limit


class PinnedMemory:
    """Host memory, which CUDA would page-lock."""

    def __init__(self, size: int, flags: int = 0) -> None:
        self.buffer = np.empty(max(size, 1), np.uint8)
        self.size = size
        self.ptr = self.buffer.__array_interface__["data"][0]


class _PinnedPointer:
    """A place in pinned memory. As with CuPy, NumPy reads it through the buffer protocol."""

    mem: PinnedMemory

    @property
    def ptr(self) -> int:
        """Its address."""
        address: int = self.mem.ptr
        return address

    def size(self) -> int:
        """Return the number of bytes from here to the end of the memory."""
        return self.mem.size


class PinnedMemoryPool:
    """The pool of pinned memory; it holds nothing."""

    def __init__(self, allocator: Any = None) -> None:
        pass

    def malloc(self, size: int) -> Any:
        """Allocate memory."""
        return alloc_pinned_memory(size)

    def n_free_blocks(self) -> int:
        """Return how many blocks the pool keeps for later."""
        return 0

    def free_all_blocks(self) -> None:
        """Give unused memory back."""


DEFAULT_POOL = MemoryPool()
DEFAULT_PINNED_POOL = PinnedMemoryPool()


def alloc_pinned_memory(size: int) -> Any:
    """Allocate pinned memory; the result supports the buffer protocol."""
    memory = PinnedMemory(size)
    # Before Python 3.12 only a ctypes type can give the buffer protocol to a Python class.
    kind: Any = type("PinnedMemoryPointer", (_PinnedPointer, ctypes.c_uint8 * max(size, 1)), {})
    pointer = kind.from_address(memory.ptr)
    pointer.mem = memory
    return pointer


# ---- runtime ----


def memGetInfo() -> tuple[int, int]:
    """Return free and total memory in bytes."""
    return TOTAL_MEMORY // 2, TOTAL_MEMORY


def getDeviceProperties(device: int) -> dict[str, Any]:
    """Return what CUDA tells of a device."""
    _check_device(device)
    return {
        "name": b"CuPy stand-in",
        "major": int(COMPUTE_CAPABILITY[0]),
        "minor": int(COMPUTE_CAPABILITY[1]),
        "totalGlobalMem": TOTAL_MEMORY,
        "sharedMemPerBlock": 49152,
        "sharedMemPerBlockOptin": 166912,
        "regsPerBlock": 65536,
        "warpSize": 32,
        "maxThreadsPerBlock": 1024,
        "maxThreadsDim": (1024, 1024, 64),
        "maxGridSize": (2**31 - 1, 65535, 65535),
        "maxThreadsPerMultiProcessor": 2048,
        "multiProcessorCount": 108,
        "clockRate": 1410000,
        "memoryClockRate": 1215000,
        "memoryBusWidth": 5120,
        "l2CacheSize": 40 * 2**20,
        "concurrentKernels": 1,
        "unifiedAddressing": 1,
        "canMapHostMemory": 1,
        "ECCEnabled": 1,
        "pciBusID": 0,
        "pciDeviceID": 0,
        "pciDomainID": 0,
    }


def set_device(device: int) -> None:
    """Make a device the current one."""
    _check_device(device)


def occupancy_max_potential_block_size(func: int, dynamicSMemSize: int, blockSizeLimit: int) -> tuple[int, int]:
    """Return blocks and threads of a block that would keep a device busy, of a kernel that needs few registers."""
    properties = getDeviceProperties(0)
    threads = min(properties["maxThreadsPerBlock"], blockSizeLimit or properties["maxThreadsPerBlock"])
    return properties["multiProcessorCount"], threads


def memcpy(dst: int, src: int, size: int, kind: int) -> None:
    """Copy bytes between addresses."""
    if kind not in range(5):
        raise CUDARuntimeError(21, "cudaErrorInvalidMemcpyDirection: invalid copy direction for memcpy")
    ctypes.memmove(dst, src, size)


def runtime_contents() -> dict[str, Any]:
    """Return the contents of ``cupy.cuda.runtime``."""
    kinds = ("HostToHost", "HostToDevice", "DeviceToHost", "DeviceToDevice", "Default")
    return {
        "CUDARuntimeError": CUDARuntimeError,
        "is_hip": False,
        "getDevice": lambda: 0,
        "setDevice": set_device,
        "getDeviceCount": lambda: 1,
        "getDeviceProperties": getDeviceProperties,
        "memGetInfo": memGetInfo,
        "driverGetVersion": lambda: CUDA_VERSION,
        "runtimeGetVersion": lambda: CUDA_VERSION,
        "deviceSynchronize": lambda: None,
        "streamSynchronize": lambda stream: None,
        "eventSynchronize": lambda event: None,
        "memcpy": memcpy,
        "memcpyAsync": lambda dst, src, size, kind, stream: memcpy(dst, src, size, kind),
        **{f"memcpy{name}": value for value, name in enumerate(kinds)},
        "streamDefault": 0,
        "streamNonBlocking": 1,
        "streamLegacy": 1,
        "streamPerThread": 2,
    }


# ---- ranges ----

_ranges: list[str] = []


def RangePush(message: str, id_color: int = -1) -> None:
    """Open a named range."""
    _ranges.append(message)


def RangePop() -> None:
    """Close the innermost range."""
    if _ranges:
        _ranges.pop()


def open_ranges() -> tuple[str, ...]:
    """Return the names of the open ranges, outermost first: for tests."""
    return tuple(_ranges)


def submodules() -> dict[str, dict[str, Any]]:
    """Return the contents of the modules below ``cupy.cuda``."""
    return {
        "runtime": runtime_contents(),
        "driver": {
            "CUDADriverError": CUDADriverError,
            "occupancyMaxPotentialBlockSize": occupancy_max_potential_block_size,
        },
        "compiler": {"CompileException": CompileException},
        "nvtx": {
            "RangePush": RangePush,
            "RangePop": RangePop,
            "Mark": lambda message, id_color=-1: None,
        },
        "device": {"Device": Device, "get_device_id": get_device_id},
        "stream": {
            "Stream": Stream,
            "ExternalStream": ExternalStream,
            "Event": Event,
            "get_current_stream": get_current_stream,
            "get_elapsed_time": get_elapsed_time,
        },
        "memory": {"MemoryPool": MemoryPool, "MemoryPointer": MemoryPointer, "Memory": Memory, "alloc": alloc},
        "pinned_memory": {"PinnedMemoryPool": PinnedMemoryPool, "alloc_pinned_memory": alloc_pinned_memory},
    }


def contents() -> dict[str, Any]:
    """Return the contents of ``cupy.cuda``."""
    return {
        "Device": Device,
        "Event": Event,
        "Stream": Stream,
        "ExternalStream": ExternalStream,
        "get_current_stream": get_current_stream,
        "get_elapsed_time": get_elapsed_time,
        "get_device_id": get_device_id,
        "is_available": lambda: True,
        "BaseMemory": BaseMemory,
        "Memory": Memory,
        "UnownedMemory": UnownedMemory,
        "MemoryPointer": MemoryPointer,
        "MemoryPool": MemoryPool,
        "PinnedMemory": PinnedMemory,
        "PinnedMemoryPool": PinnedMemoryPool,
        "alloc": alloc,
        "alloc_pinned_memory": alloc_pinned_memory,
        "get_local_runtime_version": lambda: CUDA_VERSION,
    }
