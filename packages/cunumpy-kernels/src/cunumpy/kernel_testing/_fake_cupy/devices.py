"""The pretended devices: one, or as many as ``CUNUMPY_FAKE_CUPY_DEVICES`` says."""

from __future__ import annotations

import threading
from typing import Any

from . import asynchrony, synchronization

COMPUTE_CAPABILITY = "80"


class CUDARuntimeError(RuntimeError):
    """An error of the CUDA runtime."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


CUDARuntimeError.__module__ = "cupy.cuda.runtime"

_of_thread = threading.local()


def device_count() -> int:
    """Return the number of devices."""
    from cunumpy import _environment

    count = _environment.read("CUNUMPY_FAKE_CUPY_DEVICES")
    return count if isinstance(count, int) else 1


def current_device() -> int:
    """Return the number of the thread's current device."""
    device: int = getattr(_of_thread, "device", 0)
    return device


def check_device(device: Any) -> int:
    """Return the number of a device; raise if there is none."""
    number = device.id if isinstance(device, Device) else int(device)
    if not 0 <= number < device_count():
        raise CUDARuntimeError(101, "cudaErrorInvalidDevice: invalid device ordinal")
    return number


def check_reachable(device: int, what: str) -> None:
    """Raise what a kernel ends with that reads another device's memory."""
    if device != current_device():
        raise CUDARuntimeError(
            700,
            f"cudaErrorIllegalAddress: an illegal memory access was encountered: {what} is in memory of device "
            f"{device}, and the kernel runs on device {current_device()}",
        )


def set_device(device: int) -> None:
    """Make a device the thread's current one."""
    _of_thread.device = check_device(device)


class Device:
    """A CUDA device.

    Parameters
    ----------
    device : int or Device, optional
        Its number; the current device by default.
    """

    def __init__(self, device: Any = None) -> None:
        # As with CuPy, a number that no device has is found when the device is used.
        self.id: int = current_device() if device is None else device.id if isinstance(device, Device) else int(device)

    @staticmethod
    def from_pci_bus_id(pci_bus_id: str) -> Device:
        """Return the device of an address."""
        return Device(check_device(int(pci_bus_id.split(":")[1], 16)))

    def use(self) -> None:
        """Make this the current device."""
        set_device(self.id)

    def synchronize(self) -> None:
        """Wait for everything on this device."""
        check_device(self)
        synchronization.declare()
        if asynchrony.is_on():
            asynchrony.wait_for_all()

    def __enter__(self) -> Device:
        stack = _of_thread.__dict__.setdefault("stack", [])
        before = current_device()
        set_device(self.id)
        stack.append(before)
        return self

    def __exit__(self, *exc: object) -> None:
        _of_thread.device = _of_thread.stack.pop()

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
        check_device(self)
        return COMPUTE_CAPABILITY

    @property
    def pci_bus_id(self) -> str:
        """Its address."""
        return f"0000:{check_device(self):02X}:00.0"

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total memory in bytes."""
        from .memory import mem_info

        with self:
            return mem_info()

    @property
    def attributes(self) -> dict[str, int]:
        """CUDA's device attributes, by name without prefix."""
        check_device(self)
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
