"""The pretended devices: one, or as many as ``CUNUMPY_FAKE_CUPY_DEVICES`` says."""

from __future__ import annotations

import threading
from typing import Any

from . import asynchrony, synchronization
from .current_device import check_device, current_device, set_device
from .device_memory import mem_info

COMPUTE_CAPABILITY = "80"
_of_thread = threading.local()  # devices that are gone back to


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
        before = current_device()
        set_device(self.id)
        _of_thread.__dict__.setdefault("stack", []).append(before)
        return self

    def __exit__(self, *exc: object) -> None:
        set_device(_of_thread.stack.pop())

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
