"""Where the arguments of a call are: on the device, or on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy._gate import describe
from cunumpy.arguments._packer import is_device
from cunumpy.errors import ArgumentTypeError
from cunumpy.kernels._conversion import HOST_TYPES, device_arrays
from cunumpy.kernels._launch_shape import arrays_in

if TYPE_CHECKING:
    from cunumpy.kernels._conversion import Opened

_ndarray = np.ndarray


def is_for_device(value: Any) -> bool:
    """Tell whether an argument asks for the device."""
    kind = type(value)
    if kind in HOST_TYPES:
        return False
    if callable(getattr(kind, "__cuda_args__", None)):
        arrays = list(arrays_in(value, 0))
        return not arrays or not all(isinstance(array, _ndarray) for array in arrays)
    return is_device(value)


def is_host_type(kind: type, opened: Opened, *, by_backend: bool) -> bool:
    """Tell whether all objects of a type are on the host, with what they hold, in the way that kernels ask for."""
    if issubclass(kind, (list, tuple, dict, type)) or hasattr(kind, "__cuda_array_interface__"):
        return False
    if hasattr(kind, "__dataclass_fields__") or hasattr(kind, "__dlpack_device__"):
        return False
    if hasattr(kind, "__getattr__") or kind.__getattribute__ is not object.__getattribute__:
        return kind in HOST_TYPES  # objects that stand for others, which may be anywhere
    if by_backend:
        return opened is None or not opened(kind)
    return not callable(getattr(kind, "__cuda_args__", None))


def refuse_hidden(args: tuple[Any, ...], named: dict[str, Any], host_types: set[type], owner: str) -> None:
    """Raise for device arrays in containers, which decide nothing and which the host function can't use."""
    for key, value in (*enumerate(args), *named.items()):
        if type(value) in host_types:
            continue
        if device_arrays([value], None):
            which = repr(key) if isinstance(key, str) else f"number {key}"
            raise ArgumentTypeError(
                f"{owner}: argument {which} is on the host, a {describe(value)}, and holds device "
                "arrays; with dispatch='arrays' only the arguments themselves decide where the kernel runs. Pass "
                "the arrays as arguments, or an object with __cuda_args__, or use dispatch='backend'."
            )
