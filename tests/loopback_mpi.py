"""A small MPI of threads, with the names that `cunumpy.mpi` uses: strict with buffers as mpi4py is.

Messages are bytes that are copied when they are sent. Device memory is refused unless `World.cuda_aware`.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import numpy as np

# MPICH's; Open MPI's are the other way round.
PROC_NULL, ANY_SOURCE, ANY_TAG = -1, -2, -1
BYTE = object()
TIMEOUT = 20.0  # seconds; a test that hangs fails


class Status:
    source = tag = -1
    count = 0

    def Get_count(self, datatype: Any) -> int:
        assert datatype is BYTE
        return self.count


class World:
    """What the ranks share."""

    def __init__(self, size: int, cuda_aware: bool = False, longest_device_message: float = float("inf")) -> None:
        self.size = size
        self.cuda_aware = cuda_aware
        self.longest_device_message = longest_device_message
        self.mail: dict[int, deque[tuple[int, int, bytes]]] = defaultdict(deque)
        self.arrived = threading.Condition()
        self.barrier = threading.Barrier(size)
        self.values: list[Any] = [None] * size
        self.ranks = [Comm(self, rank) for rank in range(size)]

    def run(self, function: Callable[[Comm], Any]) -> list[Any]:
        """Call a function on every rank, each in its thread, and return the results."""
        with ThreadPoolExecutor(self.size) as pool:
            calls = [pool.submit(copy_context().run, function, comm) for comm in self.ranks]
            return [call.result(TIMEOUT) for call in calls]

    def memory(self, buffer: Any, *, write: bool = False) -> np.ndarray:
        """Return the bytes of a buffer, under mpi4py's rules."""
        if isinstance(buffer, (list, tuple)):
            buffer = buffer[0]
        if hasattr(buffer, "__cuda_array_interface__"):
            from cunumpy.kernel_testing import host_buffer

            buffer = host_buffer(buffer)
            if not self.cuda_aware or buffer.nbytes > self.longest_device_message:
                raise RuntimeError("segmentation fault")
        array = np.asarray(buffer)
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            raise BufferError("memory is not contiguous")
        if write and not array.flags.writeable:
            raise BufferError("memory is read-only")
        return array.reshape(-1, order="A").view(np.uint8)


class Request:
    def __init__(self, complete: Callable[[Status], None]) -> None:
        self.complete = complete

    def Wait(self, status: Status | None = None) -> None:
        self.complete(Status() if status is None else status)


class Comm:
    is_inter = False

    def __init__(self, world: World, rank: int) -> None:
        self.world, self.rank, self.size = world, rank, world.size
        self.calls: list[tuple[Any, ...]] = []
        self.aborted: int | None = None

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        self.calls.append(("Isend", dest, tag))
        content = self.world.memory(buf).tobytes()
        if dest != PROC_NULL:
            with self.world.arrived:
                self.world.mail[dest].append((self.rank, tag, content))
                self.world.arrived.notify_all()
        return Request(lambda status: None)

    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        self.calls.append(("Irecv", source, tag))
        memory = self.world.memory(buf, write=True)
        return Request(lambda status: self._receive(memory, source, tag, status))

    def _receive(self, memory: np.ndarray, source: int, tag: int, status: Status) -> None:
        if source == PROC_NULL:
            status.source, status.count = PROC_NULL, 0
            return
        box = self.world.mail[self.rank]

        def match() -> Any:
            fits = (each for each in box if source in (ANY_SOURCE, each[0]) and tag in (ANY_TAG, each[1]))
            return next(fits, None)

        with self.world.arrived:
            if not self.world.arrived.wait_for(lambda: match() is not None, TIMEOUT):
                raise RuntimeError("would wait forever")
            message = match()
            box.remove(message)
        status.source, status.tag, content = message
        status.count = len(content)
        if len(content) > memory.size:
            raise RuntimeError("message truncated")
        memory[: len(content)] = np.frombuffer(content, np.uint8)

    def Sendrecv(self, sendbuf: Any, dest: int, recvbuf: Any, source: int) -> None:
        requests = [self.Irecv(recvbuf, source, 0), self.Isend(sendbuf, dest, 0)]
        for request in requests:
            request.Wait()

    def allreduce(self, value: Any) -> Any:
        self.world.values[self.rank] = value
        self.world.barrier.wait(TIMEOUT)
        total = sum(self.world.values)
        self.world.barrier.wait(TIMEOUT)
        return total

    def Allreduce(self, sendbuf: Any, recvbuf: Any) -> None:
        own = self.world.memory(sendbuf).view(np.float64).copy()
        self.world.memory(recvbuf, write=True).view(np.float64)[:] = self.allreduce(own)

    def Abort(self, errorcode: int) -> None:
        self.aborted = errorcode
