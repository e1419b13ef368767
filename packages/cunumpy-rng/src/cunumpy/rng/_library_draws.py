"""The parameters of draws by NumPy's and CuPy's own generators."""

from __future__ import annotations

from typing import Any

import numpy as np

from cunumpy import _arrays, _conversion, _gate
from cunumpy.errors import ArgumentError, MixedBackendError


def checks_values(generator: Any) -> bool:
    """Tell whether a generator refuses parameters of the right kind that have no distribution."""
    return isinstance(generator, (np.random.Generator, np.random.RandomState))


def as_host_parameter(value: Any, function: str, argument: str) -> Any:
    if type(value) in (float, int):
        return value
    return _gate.as_host_array(value, function=function, argument=argument, dtype_kinds="biuf", native=True)


def any_on_host(value: Any, function: str, argument: str, condition: Any) -> bool:
    """Tell whether a condition holds for any element, where looking does not cost a wait for the device."""
    return not _arrays.is_device_array(value) and bool(np.any(condition(as_host_parameter(value, function, argument))))


def draw_parameters(generator: Any, function: str, size: Any, **values: Any) -> list[Any]:
    """Make the parameters of a draw scalars or arrays of the generator's backend, which fit together and to `size`."""
    if all(type(value) in (float, int) for value in values.values()):
        return list(values.values())
    on_device = type(generator).__module__.partition(".")[0] == "cupy"
    found = []
    for argument, value in values.items():
        is_device = _arrays.is_device_array(value)
        if is_device != on_device and (is_device or isinstance(value, np.ndarray)):
            there, remedy = ("CuPy", "cupy") if on_device else ("NumPy", "numpy")
            raise MixedBackendError(
                f"{function}: argument {argument!r} is {_gate.describe(value)}, but the generator draws by {there}; "
                f"convert it with xp.to_{remedy}({argument})."
            )
        found.append(value if is_device else as_host_parameter(value, function, argument))
    _check_shapes(function, size, dict(zip(values, map(np.shape, found), strict=True)))
    if on_device:
        for i, (value, host) in enumerate(zip(values.values(), found, strict=True)):
            if isinstance(value, np.generic):
                found[i] = value
            elif isinstance(host, np.ndarray):
                found[i] = _conversion.copy_to_device(np.asarray(host, order="C"), function)
        return found
    return [host.astype(np.float64, copy=False) if isinstance(host, np.ndarray) else host for host in found]


def _check_shapes(function: str, size: Any, shapes: dict[str, tuple[int, ...]]) -> None:
    given = ", ".join(f"{argument!r} of shape {shape}" for argument, shape in shapes.items())
    try:
        shape = np.broadcast_shapes(*shapes.values())
    except ValueError:
        raise ArgumentError(f"{function}: arguments {given} can't be broadcast; give them one shape.") from None
    if size is not None:
        wanted = (size,) if isinstance(size, (int, np.integer)) else tuple(size)
        try:
            fits = np.broadcast_shapes(shape, wanted) == wanted
        except ValueError:
            fits = False
        if not fits:
            raise ArgumentError(
                f"{function}: argument 'size' is {size}, to which {given} can't be broadcast; leave it out, or "
                "give the shape of the draw."
            )


def size_of_draw(size: Any, first: Any, second: Any) -> Any:
    """Return the shape of a draw, where it is left to the parameters."""
    if size is not None:
        return size
    return np.broadcast_shapes(np.shape(first), np.shape(second)) or None
