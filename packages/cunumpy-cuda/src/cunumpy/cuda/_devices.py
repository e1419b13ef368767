"""CUDA devices and their memory.

What selects a device or speaks of its memory follows the active backend, and does nothing while that is NumPy, also
where there is a GPU: `set_device`, `set_device_for_rank`, `bind_local_device`, `memory_info`, `free_memory`,
`get_memory_limit`, `set_memory_limit`. What asks for hardware, or for page-locked memory, looks at the machine:
`device_count`, `device_properties`, `is_hip`, `max_shared_memory_per_block`, `pin_memory`, `empty_pinned`, and the
check of device numbers. Where CuPy is installed, that imports it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _backend, _gate, _launcher
from cunumpy.errors import ArgumentError, ArgumentTypeError, CuNumpyWarning

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Literal

    from numpy.typing import DTypeLike

DEFAULT_SHARED_MEMORY_PER_BLOCK: int = 49152
"""Bytes of shared memory that a block may use on every CUDA device."""


# --- which device -----------------------------------------------------------------------------------------------------


def device_count() -> int:
    """Return how many CUDA devices this process sees, whatever the active backend.

    Returns
    -------
    int
        0 without CuPy, without a device, or where the driver does not answer.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cuda.device_count() >= 0
    True
    """
    if not _backend.cupy_available():
        return 0
    try:
        return int(_cupy("device_count").cuda.runtime.getDeviceCount())
    except Exception:  # a broken driver fails with anything
        return 0


def is_hip() -> bool:
    """Tell whether CuPy is there and was built for AMD's ROCm, whatever the active backend.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cuda.is_hip()
    False
    """
    try:
        return _backend.cupy_available() and bool(_cupy("is_hip").cuda.runtime.is_hip)
    except Exception:  # a broken CuPy fails with anything
        return False


def set_device(device_id: int) -> None:
    """Make a CUDA device the current one of this thread; on the NumPy backend only the number is checked.

    Parameters
    ----------
    device_id : int
        From 0 to ``device_count() - 1``. Where no device is seen, the NumPy backend accepts any from 0 on, so that a
        program for several GPUs runs on a machine without one.

    Raises
    ------
    ArgumentTypeError
        Not an integer.
    ArgumentError
        No device has this number.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cuda.set_device(0)
    """
    number = _checked_device(device_id, "set_device", "device_id")
    if _backend.get_backend() == "cupy":
        _cupy("set_device").cuda.Device(number).use()


def set_device_for_rank(rank: int, devices_per_node: int | None = None) -> int:
    """Make device ``rank % devices_per_node`` the current one; on the NumPy backend it is only computed.

    Parameters
    ----------
    rank : int
        Of this process, from 0 on. `bind_local_device` finds out the rank on the node by itself.
    devices_per_node : int, optional
        By default ``device_count()``. With 0 nothing is selected.

    Returns
    -------
    int
        The device's number; 0 where there are no devices.

    Raises
    ------
    ArgumentTypeError
        Not an integer.
    ArgumentError
        A negative number, or on the CuPy backend more devices than this process sees.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cuda.set_device_for_rank(5, devices_per_node=1)
    0
    """
    function = "set_device_for_rank"
    checked = _natural(rank, function, "rank")
    count = device_count() if devices_per_node is None else _natural(devices_per_node, function, "devices_per_node")
    if count == 0:
        return 0
    number = checked % count
    if _backend.get_backend() == "cupy":
        seen = device_count()
        if count > seen:  # an error of every rank, not of those alone whose device is missing
            raise ArgumentError(
                f"{function}: argument 'devices_per_node' is {count}, and this process sees {seen} CUDA devices; leave "
                "it out, or show the process more by CUDA_VISIBLE_DEVICES."
            )
        _cupy(function).cuda.Device(number).use()
    return number


def bind_local_device() -> int | None:
    """Give each process of an MPI run on a node a device of its own: device ``local_rank() % device_count()``.

    It is made the current one and its context is created at once. Call it before MPI is initialised, so that a
    CUDA-aware MPI takes the same device; the launcher's variables tell the rank. With more processes than devices,
    they share them in turn.

    Returns
    -------
    int or None
        The device's number; None on the NumPy backend and without devices.

    Raises
    ------
    SettingError
        An MPI run is seen, and nothing tells the rank on the node; see `cunumpy.mpi.local_rank`.

    Warns
    -----
    CuNumpyWarning
        MPI is initialised already, and there are several devices.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cuda.bind_local_device()  # NumPy is active
    """
    if _backend.get_backend() != "cupy" or (count := device_count()) == 0:
        return None
    number = _launcher.local_rank() % count
    cuda = _cupy("bind_local_device").cuda
    if number != int(cuda.runtime.getDevice()) and _launcher._initialised_mpi() is not None:
        warnings.warn(
            f"bind_local_device: MPI was initialised before this process took device {number}; a CUDA-aware MPI may "
            "have taken another one. Call this before mpi4py.MPI is imported.",
            CuNumpyWarning,
            stacklevel=2,
        )
    cuda.Device(number).use()
    cuda.runtime.memGetInfo()  # creates the context, and waits for nothing
    return number


# --- what a device is -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DeviceProperties:
    """What a CUDA device is and has; prints as a list.

    Parameters
    ----------
    id : int
        Its number.
    name : str
        Such as ``"NVIDIA H100"``.
    compute_capability : tuple of int
        Major and minor number, such as ``(9, 0)``.
    multiprocessors : int
        Streaming multiprocessors.
    warp_size : int
        Threads of a warp.
    max_threads_per_block : int
        The most threads that a block can have.
    registers_per_block : int
        32-bit registers that a block can use.
    total_memory : int
        Bytes of global memory.
    shared_memory_per_block : int
        Bytes of shared memory that a block can use.
    shared_memory_per_block_opt_in : int
        The same for kernels that ask for more.

    Examples
    --------
    >>> import cunumpy as xp
    >>> device = xp.cuda.DeviceProperties(0, "NVIDIA H100", (9, 0), 132, 32, 1024, 65536, 85 * 2**30, 49152, 232448)
    >>> device.arch
    'sm_90'
    """

    id: int
    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    warp_size: int
    max_threads_per_block: int
    registers_per_block: int
    total_memory: int
    shared_memory_per_block: int
    shared_memory_per_block_opt_in: int

    @property
    def arch(self) -> str:
        """The architecture's name for compilers, such as ``"sm_90"``; of NVIDIA's devices only."""
        return "sm_{}{}".format(*self.compute_capability)

    def __str__(self) -> str:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values["compute_capability"] = "{}.{}".format(*self.compute_capability)
        for name, value in values.items():
            if "memory" in name:
                values[name] = f"{value / 2**30:.1f} GiB" if value >= 2**30 else f"{value / 1024:g} KiB"
        return "\n".join(f"{name.replace('_', ' '):<32}{value}" for name, value in values.items())


def device_properties(device: int | None = None) -> DeviceProperties | None:
    """Return what a CUDA device is and has, whatever the active backend.

    Parameters
    ----------
    device : int, optional
        By default the current device.

    Returns
    -------
    DeviceProperties or None
        None where this process sees no device.

    Raises
    ------
    ArgumentTypeError
        Not an integer.
    ArgumentError
        No device has this number.

    Examples
    --------
    >>> import cunumpy as xp
    >>> properties = xp.cuda.device_properties()
    >>> properties is None or properties.warp_size in (32, 64)
    True
    """
    found = _properties(device, "device_properties")
    if found is None:
        return None
    number, values = found
    name = values["name"]
    shared = int(values["sharedMemPerBlock"])
    return DeviceProperties(
        number,
        name.decode() if isinstance(name, bytes) else str(name),
        (int(values["major"]), int(values["minor"])),
        int(values["multiProcessorCount"]),
        int(values["warpSize"]),
        int(values["maxThreadsPerBlock"]),
        int(values["regsPerBlock"]),
        int(values["totalGlobalMem"]),
        shared,
        max(shared, int(values.get("sharedMemPerBlockOptin", 0))),  # HIP has none
    )


def max_shared_memory_per_block(device: int | None = None, *, opt_in: bool = False) -> int:
    """Return how much shared memory a block may use, whatever the active backend.

    Parameters
    ----------
    device : int, optional
        By default the current device.
    opt_in : bool, default: False
        Ask for the higher limit of kernels that ask for more dynamic shared memory.

    Returns
    -------
    int
        Bytes; `DEFAULT_SHARED_MEMORY_PER_BLOCK` where this process sees no device, or the device does not tell.

    Raises
    ------
    ArgumentTypeError
        Not an integer.
    ArgumentError
        No device has this number.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cuda.max_shared_memory_per_block() >= xp.cuda.DEFAULT_SHARED_MEMORY_PER_BLOCK
    True
    """
    opt_in = _gate.as_truth(opt_in, function="max_shared_memory_per_block", argument="opt_in")
    found = _properties(device, "max_shared_memory_per_block")
    if found is None:
        return DEFAULT_SHARED_MEMORY_PER_BLOCK
    limits = [int(found[1].get("sharedMemPerBlock", 0)), int(found[1].get("sharedMemPerBlockOptin", 0))]
    return (max(limits) if opt_in else limits[0]) or DEFAULT_SHARED_MEMORY_PER_BLOCK


def _properties(device: int | None, function: str) -> tuple[int, dict[str, Any]] | None:
    checked = None if device is None else _checked_device(device, function, "device")
    if device_count() == 0:
        return None
    runtime = _cupy(function).cuda.runtime
    number = int(runtime.getDevice()) if checked is None else checked
    return number, runtime.getDeviceProperties(number)


# --- memory -----------------------------------------------------------------------------------------------------------


def memory_info() -> tuple[int, int] | None:
    """Return the memory of the current device, as the driver sees it; None on the NumPy backend.

    Returns
    -------
    tuple of int or None
        Free and total bytes. What CuPy's pool keeps for later does not count as free; see `free_memory`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cuda.memory_info()  # NumPy is active
    """
    if _backend.get_backend() != "cupy":
        return None
    free, total = _cupy("memory_info").cuda.runtime.memGetInfo()
    return int(free), int(total)


def free_memory() -> None:
    """Give the memory that CuPy's pools keep for later back to the driver: device and page-locked memory.

    Arrays in use stay. On the NumPy backend nothing happens.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cuda.free_memory()
    """
    if _backend.get_backend() == "cupy":
        cupy = _cupy("free_memory")
        cupy.get_default_memory_pool().free_all_blocks()
        cupy.get_default_pinned_memory_pool().free_all_blocks()


def set_memory_limit(nbytes: int | None) -> None:
    """Limit the memory that CuPy's pool takes on the current device; on the NumPy backend only the number is checked.

    Parameters
    ----------
    nbytes : int or None
        None and 0 take the limit away. An allocation beyond it raises CuPy's `OutOfMemoryError`.

    Raises
    ------
    ArgumentTypeError
        Not an integer.
    ArgumentError
        A negative number.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cuda.set_memory_limit(2**30)
    >>> xp.cuda.set_memory_limit(None)
    """
    size = 0 if nbytes is None else _natural(nbytes, "set_memory_limit", "nbytes")
    if _backend.get_backend() == "cupy":
        _cupy("set_memory_limit").get_default_memory_pool().set_limit(size=size)


def get_memory_limit() -> int | None:
    """Return the limit of CuPy's pool on the current device.

    Returns
    -------
    int or None
        Bytes; None without a limit, and on the NumPy backend.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cuda.get_memory_limit()  # NumPy is active
    """
    if _backend.get_backend() != "cupy":
        return None
    return int(_cupy("get_memory_limit").get_default_memory_pool().get_limit()) or None


def empty_pinned(
    shape: int | Sequence[int],
    dtype: DTypeLike | None = None,
    order: Literal["C", "F"] = "C",
    *,
    strict: bool = True,
) -> np.ndarray:
    """Return a new NumPy array in page-locked memory, which copies to and from a device can use directly.

    Parameters
    ----------
    shape : int or sequence of int
        Of the array.
    dtype : dtype_like, optional
        float64 by default.
    order : {"C", "F"}, default: "C"
        Layout.
    strict : bool, default: True
        Where CuPy can't be used: raise if true, return ordinary memory if false.

    Returns
    -------
    numpy.ndarray
        With arbitrary values. Ordinary memory if it has no elements.

    Raises
    ------
    MissingPackageError
        CuPy can't be used, and `strict`.
    ArgumentError, ArgumentTypeError
        A shape, dtype or order that means nothing; Python objects.

    Notes
    -----
    The memory comes from CuPy's pool, which keeps freed blocks by size. Page-locked memory can't be swapped out: use it
    for what is copied often.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cuda.empty_pinned((2, 3), "float32", strict=False).shape
    (2, 3)
    """
    function = "empty_pinned"
    strict = _gate.as_truth(strict, function=function, argument="strict")
    kind = _pinnable(_gate.as_dtype(dtype, function=function), function, "dtype")
    if order not in ("C", "F"):
        raise ArgumentError(f"{function}: argument 'order' must be 'C' or 'F', got {order!r}.")
    sizes = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
    checked = tuple(_natural(size, function, "shape") for size in sizes)
    return _pinned(np.empty(checked, kind, order), function, strict)


def pin_memory(array: Any, *, strict: bool = True) -> np.ndarray:
    """Return a copy of host data in page-locked memory, which copies to a device can use directly.

    Parameters
    ----------
    array : array_like
        Host data.
    strict : bool, default: True
        Where CuPy can't be used: raise if true, return a copy in ordinary memory if false.

    Returns
    -------
    numpy.ndarray
        With the same shape, dtype and order of the axes in memory (``order="K"``), without gaps.

    Raises
    ------
    MissingPackageError
        CuPy can't be used, and `strict`.
    ArgumentTypeError
        A device array, a masked array, Python objects, or what is no array.
    ArgumentError
        A ragged list.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cuda.pin_memory([1.0, 2.0], strict=False)
    array([1., 2.])
    """
    function = "pin_memory"
    strict = _gate.as_truth(strict, function=function, argument="strict")
    host = _gate.as_host_array(array, function=function, argument="array")
    _pinnable(host.dtype, function, "array")
    pinned = _pinned(np.empty_like(host, subok=False), function, strict)
    np.copyto(pinned, host)
    return pinned


def _pinned(like: np.ndarray, function: str, strict: bool) -> np.ndarray:
    """Return an array as `like`, whose pages were never touched and cost nothing, in page-locked memory."""
    if not _backend.cupy_available():
        if strict:
            _backend.require_cupy(function)
        return like
    if like.nbytes == 0:
        return like
    # As bytes: arrays of dates are no buffers.
    memory: Any = import_module("cupyx").empty_pinned((like.nbytes,), np.uint8)
    return np.ndarray(like.shape, like.dtype, memory, strides=like.strides)


def _pinnable(dtype: np.dtype[Any], function: str, argument: str) -> np.dtype[Any]:
    if dtype.hasobject or dtype.kind == "T":
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} is of Python objects ({dtype}), which no device can copy; choose a "
            "dtype of numbers."
        )
    return dtype


# --- small helpers ----------------------------------------------------------------------------------------------------


def _cupy(function: str) -> ModuleType:
    return _backend.require_cupy(function)


def _natural(value: Any, function: str, argument: str) -> int:
    number = _gate.as_integer(value, function=function, argument=argument)
    if number < 0:
        raise ArgumentError(f"{function}: argument {argument!r} must not be negative, got {_gate.given(number)}.")
    if number >= 2**63:
        raise ArgumentError(f"{function}: argument {argument!r} must fit in 64 bits, got {_gate.given(number)}.")
    return number


def _checked_device(value: Any, function: str, argument: str) -> int:
    number = _natural(value, function, argument)
    count = device_count()
    if number >= count and (count or _backend.get_backend() == "cupy"):
        raise ArgumentError(
            f"{function}: argument {argument!r} names CUDA device {number}, and this process sees {count}; choose one "
            f"from 0 to {count - 1}, or show it more devices by CUDA_VISIBLE_DEVICES."
        )
    return number
