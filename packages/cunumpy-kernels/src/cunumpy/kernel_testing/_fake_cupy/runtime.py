"""``cupy.cuda.runtime``: the functions of the CUDA runtime, by numbers that stand for streams, events and memory."""

from __future__ import annotations

from typing import Any

from . import _api, copies, memory, pinned_memory
from .cuda import (
    CUDA_VERSION,
    Event,
    Stream,
    _BaseStream,
    get_elapsed_time,
    getDeviceProperties,
    known_events,
    known_streams,
)
from .current_device import CUDARuntimeError, check_device, current_device, device_count, set_device
from .device_memory import mem_info
from .devices import Device
from .memory_history import memory_at

_ERRORS = {
    1: "cudaErrorInvalidValue: invalid argument",
    2: "cudaErrorMemoryAllocation: out of memory",
    21: "cudaErrorInvalidMemcpyDirection: invalid copy direction for memcpy",
    101: "cudaErrorInvalidDevice: invalid device ordinal",
    217: "cudaErrorPeerAccessUnsupported: peer access is not supported between these two devices",
    400: "cudaErrorInvalidResourceHandle: invalid resource handle",
    600: "cudaErrorNotReady: device not ready",
    705: "cudaErrorPeerAccessNotEnabled: peer access has not been enabled",
    712: "cudaErrorHostMemoryAlreadyRegistered: part or all of the requested memory range is already mapped",
    713: "cudaErrorHostMemoryNotRegistered: pointer does not correspond to a registered memory region",
    719: "cudaErrorLaunchFailure: unspecified launch failure",
}
_INVALID, _DIRECTION, _NO_PEERS, _NO_HANDLE, _NOT_READY = 1, 21, 217, 400, 600


def check_status(status: int) -> None:
    """Raise the error of a status that is not 0."""
    if status:
        raise CUDARuntimeError(status, _ERRORS.get(status, f"cudaErrorUnknown: error {status}"))


# ---- devices ----


def deviceGetAttribute(attrib: int, device: int) -> int:
    """Return an attribute of a device, by CUDA's number of it."""
    known = Device(check_device(device)).attributes
    found = {_api.RUNTIME.get(f"cudaDevAttr{name}"): value for name, value in known.items()}
    if attrib not in found:
        check_status(_INVALID)
    return found[attrib]


def deviceGetPCIBusId(device: int) -> str:
    """Return the address of a device."""
    return Device(device).pci_bus_id


def deviceGetByPCIBusId(pci_bus_id: str) -> int:
    """Return the device of an address."""
    return Device.from_pci_bus_id(pci_bus_id).id


def deviceCanAccessPeer(device: int, peerDevice: int) -> int:
    """Whether a device reads another's memory: none does."""
    check_device(device)
    check_device(peerDevice)
    return 0


def deviceEnablePeerAccess(peerDevice: int) -> None:
    """Let the current device read another's memory: an error."""
    check_device(peerDevice)
    check_status(_NO_PEERS)


def deviceDisablePeerAccess(peerDevice: int) -> None:
    """Let it no longer: an error."""
    check_device(peerDevice)
    check_status(705)


_limits = {0: 1024, 1: 2**20, 2: 8 * 2**20}


def deviceGetLimit(limit: int) -> int:
    """Return a limit of the current device, such as the size of a thread's stack."""
    if limit not in _limits:
        check_status(_INVALID)
    return _limits[limit]


def deviceSetLimit(limit: int, value: int) -> None:
    """Set a limit; the stand-in goes by none of them."""
    deviceGetLimit(limit)
    _limits[limit] = value


# ---- memory ----

_given: dict[int, memory.BaseMemory] = {}
_given_on_host: dict[int, pinned_memory.PinnedMemory] = {}


def malloc(size: int) -> int:
    """Allocate device memory, to be given back by `free`."""
    return _kept(memory.Memory(size))


def mallocManaged(size: int, flags: int = 1) -> int:
    """Allocate managed memory."""
    return _kept(memory.ManagedMemory(size))


def mallocAsync(size: int, stream: int) -> int:
    """Allocate device memory in the order of a stream."""
    return _kept(memory.MemoryAsync(size, _stream(stream)))


def _kept(one: memory.BaseMemory) -> int:
    if one.ptr:
        _given[one.ptr] = one
    return one.ptr


def free(ptr: int) -> None:
    """Give device memory back, after everything has ended."""
    if ptr:
        Device().synchronize()
        freeAsync(ptr, 0)


def freeAsync(ptr: int, stream: int) -> None:
    """Give device memory back in the order of a stream."""
    if _given.pop(ptr, None) is None:
        check_status(_INVALID)


def hostAlloc(size: int, flags: int) -> int:
    """Allocate pinned memory."""
    one = pinned_memory.PinnedMemory(size, flags)
    address: int = one.ptr
    _given_on_host[address] = one
    return address


def freeHost(ptr: int) -> None:
    """Give pinned memory back."""
    if ptr and _given_on_host.pop(ptr, None) is None:
        check_status(_INVALID)


def hostRegister(ptr: int, size: int, flags: int) -> None:
    """Pin host memory where it is."""
    if pinned_memory.pinned_at(ptr, size) is not None:
        check_status(712)
    pinned_memory.registered[ptr] = size


def hostUnregister(ptr: int) -> None:
    """Let it be pinned no longer."""
    if pinned_memory.registered.pop(ptr, None) is None:
        check_status(713)


class PointerAttributes:
    """What an address is one of.

    Attributes
    ----------
    device, devicePointer, hostPointer, type : int
        The device and the address there, the address on the host, ``memoryTypeDevice`` and the like.
    """

    def __init__(self, device: int, devicePointer: int, hostPointer: int, type: int = -1) -> None:
        self.device, self.devicePointer, self.hostPointer, self.type = device, devicePointer, hostPointer, type


def pointerGetAttributes(ptr: int) -> PointerAttributes:
    """Return what an address is one of."""
    found = memory_at(ptr, 1)
    if isinstance(found, memory.ManagedMemory):
        return PointerAttributes(found.device_id, ptr, ptr, _api.RUNTIME["memoryTypeManaged"])
    if found is not None:
        return PointerAttributes(found.device_id, ptr, 0, _api.RUNTIME["memoryTypeDevice"])
    if pinned_memory.is_memory_pinned(ptr):
        return PointerAttributes(current_device(), ptr, ptr, _api.RUNTIME["memoryTypeHost"])
    return PointerAttributes(-2, 0, ptr, _api.RUNTIME["memoryTypeUnregistered"])


def pointerGetMemoryType(ptr: int) -> int:
    """Return the kind of memory that an address is one of."""
    return pointerGetAttributes(ptr).type


def memcpy(dst: int, src: int, size: int, kind: int) -> None:
    """Copy bytes between addresses, in the null stream."""
    _check_direction(kind)
    copies.copy(dst, src, size, 0, waits=True)


def memcpyAsync(dst: int, src: int, size: int, kind: int, stream: int) -> None:
    """Copy bytes between addresses, in a stream."""
    _check_direction(kind)
    copies.copy(dst, src, size, _number(stream), waits=False)


def memcpyPeer(dst: int, dstDevice: int, src: int, srcDevice: int, size: int) -> None:
    """Copy bytes between devices."""
    memcpyPeerAsync(dst, dstDevice, src, srcDevice, size, 0)


def memcpyPeerAsync(dst: int, dstDevice: int, src: int, srcDevice: int, size: int, stream: int) -> None:
    """Copy bytes between devices, in a stream."""
    check_device(dstDevice)
    check_device(srcDevice)
    copies.copy(dst, src, size, _number(stream), waits=False)


def memcpy2D(dst: int, dpitch: int, src: int, spitch: int, width: int, height: int, kind: int) -> None:
    """Copy rows of bytes; the pitches are from row to row."""
    _check_rows(dpitch, spitch, width, kind)
    for row in range(height):
        copies.copy(dst + row * dpitch, src + row * spitch, width, 0, waits=True)


def memcpy2DAsync(
    dst: int, dpitch: int, src: int, spitch: int, width: int, height: int, kind: int, stream: int
) -> None:
    """Copy rows of bytes, in a stream."""
    _check_rows(dpitch, spitch, width, kind)
    for row in range(height):
        copies.copy(dst + row * dpitch, src + row * spitch, width, _number(stream), waits=False)


def _check_direction(kind: int) -> None:
    if kind not in range(5):
        check_status(_DIRECTION)


def _check_rows(dpitch: int, spitch: int, width: int, kind: int) -> None:
    _check_direction(kind)
    if width > min(dpitch, spitch):
        check_status(12)


def memset(ptr: int, value: int, size: int) -> None:
    """Set bytes, in the null stream."""
    copies.fill(ptr, value, size, 0)


def memsetAsync(ptr: int, value: int, size: int, stream: int) -> None:
    """Set bytes, in a stream."""
    copies.fill(ptr, value, size, _number(stream))


def memAdvise(devPtr: int, count: int, advice: int, device: int) -> None:
    """Tell how managed memory will be used; the stand-in does not care."""
    _check_managed(devPtr, count)


def memPrefetchAsync(devPtr: int, count: int, dstDevice: int, stream: int) -> None:
    """Move managed memory; the stand-in has nothing to move."""
    _check_managed(devPtr, count)


def _check_managed(ptr: int, count: int) -> None:
    if not isinstance(memory_at(ptr, count), memory.ManagedMemory):
        check_status(_INVALID)


# ---- streams and events ----

_made: dict[int, Any] = {}  # streams and events made here, until they are destroyed


def _stream(number: int) -> _BaseStream:
    if number == 1:
        return Stream.null
    found = known_streams.get(number)
    if found is None:
        check_status(_NO_HANDLE)
    assert found is not None
    return found


def _number(stream: int) -> int:
    return _stream(stream).ptr


def _event(number: int) -> Event:
    found = known_events.get(number)
    if found is None:
        check_status(_NO_HANDLE)
    assert found is not None
    return found


def streamCreate() -> int:
    """Make a stream."""
    return streamCreateWithPriority(0, 0)


def streamCreateWithFlags(flags: int) -> int:
    """Make a stream, perhaps one independent of the null stream."""
    return streamCreateWithPriority(flags, 0)


def streamCreateWithPriority(flags: int, priority: int) -> int:
    """Make a stream with a priority."""
    stream = Stream(non_blocking=bool(flags & 1), priority=priority)
    _made[stream.ptr] = stream
    return stream.ptr


def streamDestroy(stream: int) -> None:
    """Forget a stream that was made here."""
    if _made.pop(stream, None) is None:
        check_status(_NO_HANDLE)


def streamSynchronize(stream: int) -> None:
    """Wait for a stream."""
    _stream(stream).synchronize()


def streamQuery(stream: int) -> None:
    """Raise an error while a stream has work."""
    if not _stream(stream).done:
        check_status(_NOT_READY)


def streamWaitEvent(stream: int, event: int, flags: int = 0) -> None:
    """Let the later work of a stream come after an event."""
    _stream(stream).wait_event(_event(event))


def streamGetFlags(stream: int) -> int:
    """Return 1 for a stream that is independent of the null stream, else 0."""
    return int(_stream(stream).is_non_blocking)


def streamGetPriority(stream: int) -> int:
    """Return a stream's priority."""
    return _stream(stream).priority


def streamIsCapturing(stream: int) -> bool:
    """Whether a stream records a graph."""
    return _stream(stream).is_capturing()


def streamAddCallback(stream: int, callback: Any, arg: Any, flags: int = 0) -> None:
    """Call a function with stream, status and argument when all work up to here has completed."""
    _stream(stream).launch_host_func(lambda _: callback(stream, 0, arg), None)


def launchHostFunc(stream: int, callback: Any, arg: Any) -> None:
    """Call a function when all work up to here has completed."""
    _stream(stream).launch_host_func(callback, arg)


def eventCreate() -> int:
    """Make an event."""
    return eventCreateWithFlags(0)


def eventCreateWithFlags(flags: int) -> int:
    """Make an event, perhaps without times."""
    event = Event(bool(flags & 1), bool(flags & 2), bool(flags & 4))
    _made[event.ptr] = event
    return event.ptr


def eventDestroy(event: int) -> None:
    """Forget an event that was made here."""
    if _made.pop(event, None) is None:
        check_status(_NO_HANDLE)


def eventRecord(event: int, stream: int) -> None:
    """Put an event at the end of a stream."""
    _event(event).record(_stream(stream))


def eventQuery(event: int) -> None:
    """Raise an error while there is work before an event."""
    if not _event(event).done:
        check_status(_NOT_READY)


def eventSynchronize(event: int) -> None:
    """Wait for an event."""
    _event(event).synchronize()


def eventElapsedTime(start: int, end: int) -> float:
    """Return the time between two events in milliseconds."""
    return get_elapsed_time(_event(start), _event(end))


# ---- the module ----

_FUNCTIONS = (
    check_status, deviceCanAccessPeer, deviceDisablePeerAccess, deviceEnablePeerAccess, deviceGetAttribute,
    deviceGetByPCIBusId, deviceGetLimit, deviceGetPCIBusId, deviceSetLimit, eventCreate, eventCreateWithFlags,
    eventDestroy, eventElapsedTime, eventQuery, eventRecord, eventSynchronize, free, freeAsync, freeHost,
    getDeviceProperties, hostAlloc, hostRegister, hostUnregister, launchHostFunc, malloc, mallocAsync, mallocManaged,
    memAdvise, memPrefetchAsync, memcpy, memcpy2D, memcpy2DAsync, memcpyAsync, memcpyPeer, memcpyPeerAsync, memset,
    memsetAsync, pointerGetAttributes, pointerGetMemoryType, streamAddCallback, streamCreate, streamCreateWithFlags,
    streamCreateWithPriority, streamDestroy, streamGetFlags, streamGetPriority, streamIsCapturing, streamQuery,
    streamSynchronize, streamWaitEvent,
)  # fmt: skip
PointerAttributes.__module__ = "cupy.cuda.runtime"


def contents() -> dict[str, Any]:
    """Return the contents of ``cupy.cuda.runtime``."""
    return {
        **_api.RUNTIME,
        "CUDARuntimeError": CUDARuntimeError,
        "PointerAttributes": PointerAttributes,
        "is_hip": False,
        "getDevice": current_device,
        "setDevice": set_device,
        "getDeviceCount": device_count,
        "memGetInfo": mem_info,
        "driverGetVersion": lambda: CUDA_VERSION,
        "runtimeGetVersion": lambda: CUDA_VERSION,
        "deviceSynchronize": lambda: Device().synchronize(),
        "profilerStart": lambda: None,
        "profilerStop": lambda: None,
        **{function.__name__: function for function in _FUNCTIONS},
    }
