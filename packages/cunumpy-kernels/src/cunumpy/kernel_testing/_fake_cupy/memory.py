"""Memory of the pretended devices: allocators, pools with CuPy's accounting, pinned memory.

New arrays come from the current allocator. Their elements were calculated by NumPy, so where this is a pool of plain
device memory, the array stays where NumPy put it, and the pool keeps the books: blocks of 512 bytes, best fit, blocks
split and merged, limits. Any other allocator is called, and the array moved into what it returns.
"""

from __future__ import annotations

import bisect
import collections
import contextlib
import ctypes
import functools
import gc
import itertools
import os
import threading
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from .devices import CUDARuntimeError, Device, current_device
from .memory_hooks import call as call_hooks

TOTAL_MEMORY = 16 * 2**30
_UNIT = 512


class OutOfMemoryError(MemoryError):
    """A device has not enough memory left, or a pool may not take more.

    Parameters
    ----------
    size, total, limit : int
        Bytes asked for, in use, and allowed; a limit of 0 is none.
    """

    def __init__(self, size: int, total: int, limit: int = 0) -> None:
        allowed = f", limit set to: {limit:,} bytes" if limit else ""
        super().__init__(f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes{allowed}).")


OutOfMemoryError.__module__ = "cupy.cuda.memory"

_reserved: collections.Counter[int] = collections.Counter()
"""Bytes that each device has given away."""
_reserving = threading.Lock()


def _reserve(size: int, device: int) -> None:
    with _reserving:
        if _reserved[device] + size > TOTAL_MEMORY:
            raise CUDARuntimeError(2, "cudaErrorMemoryAllocation: out of memory")
        _reserved[device] += size


def mem_info() -> tuple[int, int]:
    """Return free and total memory of the current device in bytes."""
    return TOTAL_MEMORY - _reserved[current_device()], TOTAL_MEMORY


class BaseMemory:
    """Memory on a device.

    Attributes
    ----------
    ptr, size, device_id : int
        Its address, bytes and device.
    """

    ptr: int = 0
    size: int = 0
    device_id: int = 0

    def __int__(self) -> int:
        return self.ptr

    _area: Any = None  # what has been done with it, in the asynchronous mode

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        memory = super().__new__(cls)
        _live.add(memory)
        return memory

    @property
    def device(self) -> Device:
        """Its device."""
        return Device(self.device_id)

    def _bytes(self) -> np.ndarray[Any, Any]:
        raise NotImplementedError

    def _as_array(
        self, offset: int, shape: Any, dtype: np.dtype[Any], strides: Any, order: str
    ) -> np.ndarray[Any, Any]:
        return np.ndarray(shape, dtype, self._bytes(), offset, strides, order)  # type: ignore[arg-type]

    def _there(self) -> int:
        """Return how many bytes there really are."""
        return self.size

    def _extent(self) -> tuple[int, int]:
        """Return the first address and the number of bytes that arrays in it may use."""
        return self.ptr, self._there()


_live: weakref.WeakSet[BaseMemory] = weakref.WeakSet()


def live_memory() -> list[BaseMemory]:
    """Return all device memory that there is."""
    return list(_live)


class Memory(BaseMemory):
    """New memory of a number of bytes, past all pools."""

    _of_devices = _reserved  # the module's names are gone when a program ends

    def __init__(self, size: int) -> None:
        self.device_id = current_device()
        self._taken = 0
        _reserve(size, self.device_id)
        self._taken = size
        self._buffer = np.empty(size, np.uint8)
        self.size = size
        self.ptr = self._buffer.__array_interface__["data"][0] if size else 0

    def __del__(self) -> None:
        self._of_devices[self.device_id] -= self._taken

    def _bytes(self) -> np.ndarray[Any, Any]:
        return self._buffer


class ManagedMemory(Memory):
    """Memory that moves between host and device by itself."""

    def prefetch(self, stream: Any, *, device_id: int | None = None, location: Any = None) -> None:
        """Move it to a device; the stand-in has nothing to move."""

    def advise(self, advise: int, device: Any) -> None:
        """Tell how it will be used; the stand-in does not care."""


class MemoryAsync(Memory):
    """Memory that is given and taken back in the order of a stream."""

    def __init__(self, size: int, stream: Any) -> None:
        super().__init__(size)
        self.stream_ref = lambda: stream


class _ArrayMemory(BaseMemory):
    """The memory of an array that NumPy made."""

    def __init__(self, buffer: np.ndarray[Any, Any], device: int) -> None:
        self._keep = buffer
        self.device_id = device
        low, high = np.lib.array_utils.byte_bounds(buffer)
        self.ptr, self.size = low, high - low

    def _bytes(self) -> np.ndarray[Any, Any]:
        return _flat_bytes(self._keep)


def _flat_bytes(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if not array.flags.forc:
        raise ValueError("memory of a strided array can't be used anew")
    flat: np.ndarray[Any, Any] = array.reshape(-1, order="A").view(np.uint8)
    return flat


class UnownedMemory(BaseMemory):
    """Memory that something else owns and keeps alive; on the stand-in it has to be host memory."""

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        self.ptr, self.size, self._owner = ptr, size, owner
        self.device_id = current_device() if device_id < 0 else device_id
        self._buffer: np.ndarray[Any, Any] = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(ptr))

    def _bytes(self) -> np.ndarray[Any, Any]:
        return self._buffer


class MemoryPointer:
    """A place in device memory.

    Parameters
    ----------
    mem : BaseMemory
    offset : int
        Bytes from its beginning.
    """

    def __init__(self, mem: BaseMemory, offset: int) -> None:
        self.mem = mem
        self.ptr = mem.ptr + offset

    @property
    def device(self) -> Device:
        """Its device."""
        return self.mem.device

    @property
    def device_id(self) -> int:
        """Number of its device."""
        return self.mem.device_id

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)

    __radd__ = __add__

    def __sub__(self, offset: int) -> MemoryPointer:
        return self + -offset

    def __iadd__(self, offset: int) -> MemoryPointer:
        self.ptr += offset
        return self

    def __isub__(self, offset: int) -> MemoryPointer:
        self.ptr -= offset
        return self

    def _check(self, size: int) -> None:
        if not self.mem.ptr <= self.ptr <= self.ptr + size <= self.mem.ptr + self.mem._there():
            raise CUDARuntimeError(1, "cudaErrorInvalidValue: invalid argument")

    def copy_to_host(self, mem: Any, size: int) -> None:
        """Copy bytes to host memory, in the null stream, and wait."""
        self._check(size)
        _copies().copy(_copies().address_of(mem), self.ptr, size, _NULL_STREAM, waits=True)

    def copy_to_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """Copy bytes to pinned host memory, in a stream."""
        self._check(size)
        _copies().copy(_copies().address_of(mem), self.ptr, size, stream, waits=False)

    def copy_from_host(self, mem: Any, size: int) -> None:
        """Copy bytes from host memory, in the null stream, and wait."""
        self._check(size)
        _copies().copy(self.ptr, _copies().address_of(mem), size, _NULL_STREAM, waits=True)

    def copy_from_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """Copy bytes from pinned host memory, in a stream."""
        self._check(size)
        _copies().copy(self.ptr, _copies().address_of(mem), size, stream, waits=False)

    def copy_from_device(self, src: MemoryPointer, size: int) -> None:
        """Copy bytes from device memory, in the null stream."""
        self.copy_from_device_async(src, size, _NULL_STREAM)

    def copy_from_device_async(self, src: MemoryPointer, size: int, stream: Any = None) -> None:
        """Copy bytes from device memory, in a stream."""
        self._check(size)
        src._check(size)
        _copies().copy(self.ptr, src.ptr, size, stream, waits=False)

    def copy_from(self, mem: Any, size: int) -> None:
        """Copy bytes from device or host memory, in the null stream."""
        if isinstance(mem, MemoryPointer):
            self.copy_from_device(mem, size)
        else:
            self.copy_from_host(mem, size)

    def copy_from_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """Copy bytes from device or pinned host memory, in a stream."""
        if isinstance(mem, MemoryPointer):
            self.copy_from_device_async(mem, size, stream)
        else:
            self.copy_from_host_async(mem, size, stream)

    def memset(self, value: int, size: int) -> None:
        """Set bytes, in the null stream."""
        self.memset_async(value, size, _NULL_STREAM)

    def memset_async(self, value: int, size: int, stream: Any = None) -> None:
        """Set bytes, in a stream."""
        self._check(size)
        _copies().fill(self.ptr, value, size, stream)


_NULL_STREAM = 0


def _copies() -> Any:
    from . import copies

    return copies


# ---- pools ----


class _Chunk:
    """A part of a block: free, or given away."""

    __slots__ = ("arena", "block", "next", "offset", "previous", "size")

    def __init__(self, arena: _Arena, block: Any, offset: int, size: int) -> None:
        self.arena, self.block, self.offset, self.size = arena, block, offset, size
        self.previous: _Chunk | None = None
        self.next: _Chunk | None = None


def _joined(left: _Chunk, right: _Chunk) -> _Chunk:
    """Return one chunk of two neighbours."""
    left.size += right.size
    left.next = right.next
    if left.next is not None:
        left.next.previous = left
    return left


class _Books:
    """A block of a pool that exists in its books alone."""

    _of_devices = _reserved
    ptr = 0

    def __init__(self, size: int, device: int) -> None:
        self._taken, self._device = 0, device
        _reserve(size, device)
        self._taken = size

    def __del__(self) -> None:
        self._of_devices[self._device] -= self._taken


class _Arena:
    """What a pool has of one device."""

    def __init__(self, device: int) -> None:
        self.device = device
        self.total = 0
        self.limit = _default_limit()
        self.order = itertools.count()
        self.free: list[tuple[int, int, _Chunk]] = []  # by size, the oldest first

    def take(self, size: int) -> _Chunk | None:
        """Return a free chunk, the rest of which stays free."""
        place = bisect.bisect_left(self.free, (size, -1))
        if place == len(self.free):
            return None
        _, _, chunk = self.free.pop(place)
        if chunk.size > size:
            rest = _Chunk(self, chunk.block, chunk.offset + size, chunk.size - size)
            chunk.size = size
            rest.previous, rest.next = chunk, chunk.next
            if rest.next is not None:
                rest.next.previous = rest
            chunk.next = rest
            self.put(rest)
        return chunk

    def put(self, chunk: _Chunk) -> None:
        """Make a chunk one of the free ones."""
        bisect.insort(self.free, (chunk.size, next(self.order), chunk))

    def give_back(self, chunk: _Chunk) -> None:
        """Make a chunk free, and one with its free neighbours."""
        left = chunk.previous
        if left is not None and self._forget(left):
            chunk = _joined(left, chunk)
        right = chunk.next
        if right is not None and self._forget(right):
            chunk = _joined(chunk, right)
        self.put(chunk)

    def _forget(self, chunk: _Chunk) -> bool:
        """Take a chunk from the free ones, if it is one of them."""
        place = bisect.bisect_left(self.free, (chunk.size, -1))
        while place < len(self.free) and self.free[place][0] == chunk.size:
            if self.free[place][2] is chunk:
                del self.free[place]
                return True
            place += 1
        return False

    def free_blocks(self) -> None:
        """Give whole free blocks back to the device."""
        kept = [one for one in self.free if one[2].previous is not None or one[2].next is not None]
        self.total -= sum(size for size, _, _ in self.free) - sum(size for size, _, _ in kept)
        self.free = kept


def _default_limit() -> int:
    """Return what ``CUPY_GPU_MEMORY_LIMIT`` says: bytes, or a part of the memory in percent."""
    text = os.environ.get("CUPY_GPU_MEMORY_LIMIT", "")
    if not text:
        return 0
    try:
        return int(float(text[:-1]) / 100 * TOTAL_MEMORY) if text.endswith("%") else int(text)
    except ValueError:
        raise ValueError(f"environment variable CUPY_GPU_MEMORY_LIMIT has an invalid value: {text!r}") from None


class PooledMemory(BaseMemory):
    """Memory from a pool, to which it returns when nothing uses it any more."""

    def __init__(self, chunk: _Chunk, pool: _Pool, array: np.ndarray[Any, Any] | None) -> None:
        self.pool, self._chunk, self._array = pool, chunk, array
        self.size, self.device_id = chunk.size, chunk.arena.device
        if array is None:
            self.ptr = chunk.block.ptr + chunk.offset
        else:
            self.ptr = np.lib.array_utils.byte_bounds(array)[0]

    def free(self) -> None:
        """Return it to the pool; it must not be used any more."""
        chunk, self._chunk = self._chunk, None  # type: ignore[assignment]
        if chunk is not None:
            told = {"device_id": self.device_id, "mem_size": self.size, "mem_ptr": self.ptr, "pmem_id": id(self)}
            call_hooks("free_preprocess", **told)
            self.pool._returned.append(chunk)
            call_hooks("free_postprocess", **told)

    def __del__(self) -> None:
        self.free()

    def _there(self) -> int:
        return self.size if self._array is None else self._array.nbytes

    def _extent(self) -> tuple[int, int]:
        if self._array is None:
            return self.ptr, self.size
        low, high = np.lib.array_utils.byte_bounds(self._array)
        return low, high - low

    def _bytes(self) -> np.ndarray[Any, Any]:
        if self._array is not None:
            return _flat_bytes(self._array)
        part: np.ndarray[Any, Any] = self._chunk.block._bytes()[self._chunk.offset :][: self.size]
        return part


PooledMemory.__module__ = "cupy.cuda.memory"


class _Pool:
    """A pool of device memory. What is freed stays in it, for arrays to come."""

    def __init__(self, allocator: Any = None) -> None:
        self._allocator = allocator
        self._arenas: dict[int, _Arena] = {}
        # Memory may die anywhere, also in the middle of one of our own methods, so it only leaves a message.
        self._returned: collections.deque[_Chunk] = collections.deque()
        self._lock = threading.RLock()

    def malloc(self, size: int) -> MemoryPointer:
        """Allocate memory on the current device."""
        if size == 0:
            return MemoryPointer(_nothing(), 0)
        rounded = -(-size // _UNIT) * _UNIT
        return MemoryPointer(self._pooled(size, np.empty(rounded, np.uint8) if self._allocator is None else None), 0)

    def _adopt(self, array: np.ndarray[Any, Any]) -> PooledMemory:
        """Enter an array that NumPy made in the books."""
        return self._pooled(array.nbytes, array)

    def _pooled(self, size: int, array: np.ndarray[Any, Any] | None) -> PooledMemory:
        told = {"device_id": current_device(), "size": size, "mem_size": -(-size // _UNIT) * _UNIT}
        call_hooks("malloc_preprocess", **told)
        found: PooledMemory | None = None
        try:
            found = PooledMemory(self._chunk(size), self, array)
        finally:
            place = {"mem_ptr": 0, "pmem_id": 0} if found is None else {"mem_ptr": found.ptr, "pmem_id": id(found)}
            call_hooks("malloc_postprocess", **told, **place)
        return found

    def _arena(self) -> _Arena:
        """Return what there is of the current device, after what was given back has been seen to."""
        device = current_device()
        if device not in self._arenas:
            self._arenas[device] = _Arena(device)
        while self._returned:
            chunk = self._returned.popleft()
            chunk.arena.give_back(chunk)
        return self._arenas[device]

    def _chunk(self, size: int) -> _Chunk:
        size = -(-size // _UNIT) * _UNIT
        with self._lock:
            arena = self._arena()
            chunk = arena.take(size)
            if chunk is None:
                if arena.limit and arena.total + size > arena.limit:
                    raise OutOfMemoryError(size, arena.total, arena.limit)
                chunk = _Chunk(arena, self._block(arena, size), 0, size)
                arena.total += size
        return chunk

    def _block(self, arena: _Arena, size: int) -> Any:
        """Return memory from the device, after giving back what is free if it has no more."""
        for attempt in range(3):
            try:
                return self._new_block(arena, size)
            except CUDARuntimeError as error:
                if error.status != 2:
                    raise
            if attempt == 1:
                gc.collect()
            self._arena().free_blocks()
        raise OutOfMemoryError(size, arena.total, arena.limit)

    def _new_block(self, arena: _Arena, size: int) -> Any:
        told = {"device_id": arena.device, "mem_size": size}
        call_hooks("alloc_preprocess", **told)
        block: Any = None
        try:
            block = _Books(size, arena.device) if self._allocator is None else self._allocator(size).mem
        finally:
            call_hooks("alloc_postprocess", **told, mem_ptr=0 if block is None else block.ptr)
        return block

    def used_bytes(self) -> int:
        """Return the bytes in use from the pool, on the current device."""
        with self._lock:
            arena = self._arena()
            return arena.total - sum(size for size, _, _ in arena.free)

    def free_bytes(self) -> int:
        """Return the bytes that the pool keeps for later, on the current device."""
        with self._lock:
            return sum(size for size, _, _ in self._arena().free)

    def total_bytes(self) -> int:
        """Return the bytes that the pool has, on the current device."""
        with self._lock:
            return self._arena().total

    def n_free_blocks(self) -> int:
        """Return how many blocks the pool keeps for later, on the current device."""
        with self._lock:
            return len(self._arena().free)

    def free_all_blocks(self, stream: Any = None) -> None:
        """Give unused blocks of the current device back."""
        with self._lock:
            self._arena().free_blocks()

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Limit the pool's memory on the current device."""
        if size is not None and fraction is not None:
            raise ValueError("size and fraction cannot be specified at one time")
        if fraction is not None:
            if not 0 <= fraction <= 1:
                raise ValueError(f"memory limit fraction out of range: {fraction}")
            size = int(fraction * TOTAL_MEMORY)
        if size is not None and size < 0:
            raise ValueError(f"memory limit size out of range: {size}")
        with self._lock:
            self._arena().limit = size or 0

    def get_limit(self) -> int:
        """Return the limit on the current device in bytes, 0 if there is none."""
        with self._lock:
            return self._arena().limit


class MemoryPool(_Pool):
    """A pool of device memory. What is freed stays in it, for arrays to come.

    Parameters
    ----------
    allocator : callable, optional
        Where it gets its blocks; by default from the device.
    """

    def free_all_free(self) -> None:
        """Give unused blocks back: the old name of `free_all_blocks`."""
        warnings.warn(
            "free_all_free is deprecated. Use free_all_blocks instead.", category=DeprecationWarning, stacklevel=2
        )
        self.free_all_blocks()


class MemoryAsyncPool(_Pool):
    """CUDA's own pool, of which memory is given and taken back in the order of a stream.

    Parameters
    ----------
    pool_handles : str or int, default 'current'
        Which of CUDA's pools.
    """

    memoryAsyncHasStat = True

    def __init__(self, pool_handles: Any = "current") -> None:
        super().__init__()


class PythonFunctionAllocator:
    """Memory by two functions of Python's.

    Parameters
    ----------
    malloc_func, free_func : callable
        Called with bytes and the device's number, and with an address and the device's number.
    """

    def __init__(self, malloc_func: Any, free_func: Any) -> None:
        self._malloc, self._free = malloc_func, free_func

    def malloc(self, size: int) -> MemoryPointer:
        """Allocate memory."""
        return MemoryPointer(_FunctionMemory(self, size), 0)


class _FunctionMemory(BaseMemory):
    def __init__(self, allocator: PythonFunctionAllocator, size: int) -> None:
        self._allocator, self.size, self.device_id = allocator, size, current_device()
        self.ptr = allocator._malloc(size, self.device_id)

    def __del__(self) -> None:
        if self.ptr:
            self._allocator._free(self.ptr, self.device_id)

    def _as_array(
        self, offset: int, shape: Any, dtype: np.dtype[Any], strides: Any, order: str
    ) -> np.ndarray[Any, Any]:
        memory: Any = (ctypes.c_uint8 * self.size).from_address(self.ptr)
        memory.owner = self
        return np.ndarray(shape, dtype, memory, offset, strides, order)  # type: ignore[arg-type]


# ---- allocators ----


def alloc(size: int) -> MemoryPointer:
    """Allocate memory by the current allocator."""
    pointer: MemoryPointer = get_allocator()(size)
    return pointer


def malloc_from_device(size: int) -> MemoryPointer:
    """Allocate memory past all pools."""
    return MemoryPointer(Memory(size) if size else _nothing(), 0)


def malloc_managed(size: int) -> MemoryPointer:
    """Allocate managed memory."""
    return MemoryPointer(ManagedMemory(size) if size else _nothing(), 0)


def malloc_async(size: int) -> MemoryPointer:
    """Allocate memory in the order of the current stream."""
    from .cuda import get_current_stream

    return MemoryPointer(MemoryAsync(size, get_current_stream()) if size else _nothing(), 0)


def _nothing() -> BaseMemory:
    return Memory(0)


DEFAULT_POOL = MemoryPool()
_allocator: Any = DEFAULT_POOL.malloc
_of_thread = threading.local()


def get_allocator() -> Any:
    """Return the current allocator."""
    return getattr(_of_thread, "allocator", None) or _allocator


def set_allocator(allocator: Any = None) -> None:
    """Make an allocator the one of all threads; None is memory past all pools."""
    global _allocator
    if getattr(_of_thread, "allocator", None) is not None:
        raise ValueError("Can't change the global allocator inside `using_allocator` context manager")
    _allocator = malloc_from_device if allocator is None else allocator


@contextlib.contextmanager
def using_allocator(allocator: Any = None) -> Iterator[None]:
    """Use an allocator in this thread, within a block."""
    before = getattr(_of_thread, "allocator", None)
    _of_thread.allocator = malloc_from_device if allocator is None else allocator
    try:
        yield
    finally:
        _of_thread.allocator = before


def placed(array: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], BaseMemory]:
    """Return a new array, perhaps moved, and its memory, by the current allocator."""
    if array.nbytes == 0:
        return array, _ArrayMemory(array, current_device())
    allocator = get_allocator()
    pool = getattr(allocator, "__self__", None)
    if isinstance(pool, _Pool) and pool._allocator is None:
        return array, pool._adopt(array)
    pointer = allocator(array.nbytes)
    offset = pointer.ptr - pointer.mem.ptr
    order = "F" if array.flags.fnc else "C"
    moved = pointer.mem._as_array(offset, array.shape, array.dtype, None, order)
    moved[...] = array
    return moved, pointer.mem


# ---- pinned memory ----


_pinned: weakref.WeakSet[PinnedMemory] = weakref.WeakSet()
registered: dict[int, int] = {}
"""Sizes of host memory that was pinned where it is, by address."""


def pinned_at(address: int, size: int) -> Any:
    """Return what keeps pinned memory with these addresses alive; None if they are not pinned."""
    for one in list(_pinned):
        if one.ptr <= address and address + size <= one.ptr + one.size:
            return one.buffer
    for low, there in registered.items():
        if low <= address and address + size <= low + there:
            return True
    return None


def is_memory_pinned(data: int) -> bool:
    """Whether an address is one of pinned memory."""
    return pinned_at(data, 1) is not None


class PinnedMemory:
    """Host memory, which CUDA would page-lock."""

    def __init__(self, size: int, flags: int = 0) -> None:
        self.buffer = np.empty(max(size, 1), np.uint8)
        self.size = size
        self.ptr = self.buffer.__array_interface__["data"][0]
        _pinned.add(self)


class _PinnedPointer:
    """A place in pinned memory. As with CuPy, NumPy reads it through the buffer protocol."""

    mem: PinnedMemory
    _pool: PinnedMemoryPool | None = None

    def __del__(self) -> None:
        if self._pool is not None:
            self._pool._returned.append(self.mem)

    @property
    def ptr(self) -> int:
        """Its address."""
        address: int = self.mem.ptr
        return address

    def size(self) -> int:
        """Return the number of bytes from here to the end of the memory."""
        return self.mem.size


class PinnedMemoryPool:
    """A pool of pinned memory.

    Parameters
    ----------
    allocator : callable, optional
        Where it gets its blocks.
    """

    def __init__(self, allocator: Any = None) -> None:
        self._allocator = allocator or _pinned_from_host
        self._free: dict[int, list[PinnedMemory]] = {}
        self._returned: collections.deque[PinnedMemory] = collections.deque()
        self._lock = threading.RLock()

    def malloc(self, size: int) -> Any:
        """Allocate memory."""
        size = max(_UNIT, 1 << (size - 1).bit_length()) if size else 0
        with self._lock:
            self._collect()
            free = self._free.get(size)
            memory = free.pop() if free else self._allocator(size).mem
        return _pinned_pointer(memory, self)

    def _collect(self) -> None:
        while self._returned:
            memory = self._returned.popleft()
            self._free.setdefault(memory.size, []).append(memory)

    def n_free_blocks(self) -> int:
        """Return how many blocks the pool keeps for later."""
        with self._lock:
            self._collect()
            return sum(map(len, self._free.values()))

    def free_all_blocks(self) -> None:
        """Give unused memory back."""
        with self._lock:
            self._collect()
            self._free.clear()


@functools.lru_cache(maxsize=256)
def _pinned_kind(size: int) -> Any:
    # Before Python 3.12 only a ctypes type can give the buffer protocol to a Python class.
    return type("PinnedMemoryPointer", (_PinnedPointer, ctypes.c_uint8 * max(size, 1)), {})


def _pinned_pointer(memory: PinnedMemory, pool: PinnedMemoryPool | None) -> Any:
    pointer = _pinned_kind(memory.size).from_address(memory.ptr)
    pointer.mem, pointer._pool = memory, pool
    return pointer


def _pinned_from_host(size: int) -> Any:
    return _pinned_pointer(PinnedMemory(size), None)


DEFAULT_PINNED_POOL = PinnedMemoryPool()
_pinned_allocator: Any = DEFAULT_PINNED_POOL.malloc


def alloc_pinned_memory(size: int) -> Any:
    """Allocate pinned memory; the result supports the buffer protocol."""
    return _pinned_allocator(size)


def set_pinned_memory_allocator(allocator: Any = None) -> None:
    """Make an allocator that of pinned memory; None is memory past all pools."""
    global _pinned_allocator
    _pinned_allocator = _pinned_from_host if allocator is None else allocator
