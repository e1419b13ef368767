"""Pools of device memory, with CuPy's accounting: blocks of 512 bytes, best fit, blocks split and merged, limits.

What is freed stays in a pool, for arrays to come. A pool of plain device memory keeps the books alone: the arrays stay
where NumPy put them.
"""

from __future__ import annotations

import bisect
import collections
import gc
import itertools
import os
import threading
import warnings
from typing import Any

import numpy as np

from .current_device import CUDARuntimeError, current_device
from .device_memory import TOTAL_MEMORY, reserve, reserved_bytes
from .memory import UNIT, BaseMemory, Memory, flat_bytes
from .memory_hooks import call as call_hooks
from .memory_pointer import MemoryPointer


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

    _of_devices = reserved_bytes
    ptr = 0

    def __init__(self, size: int, device: int) -> None:
        self._taken, self._device = 0, device
        reserve(size, device)
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
            return flat_bytes(self._array)
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
            return MemoryPointer(Memory(0), 0)
        rounded = -(-size // UNIT) * UNIT
        return MemoryPointer(self._pooled(size, np.empty(rounded, np.uint8) if self._allocator is None else None), 0)

    def _adopt(self, array: np.ndarray[Any, Any]) -> PooledMemory:
        """Enter an array that NumPy made in the books."""
        return self._pooled(array.nbytes, array)

    def _pooled(self, size: int, array: np.ndarray[Any, Any] | None) -> PooledMemory:
        told = {"device_id": current_device(), "size": size, "mem_size": -(-size // UNIT) * UNIT}
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
        size = -(-size // UNIT) * UNIT
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
