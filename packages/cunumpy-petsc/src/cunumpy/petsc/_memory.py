"""What PETSc can work on: checks of arrays and vectors, and the order of work on a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cunumpy import _arrays, _backend, _conversion, _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.petsc._library import check_living, require_petsc, scalar_dtype

_DEVICE_KINDS = ("cuda", "hip", "kokkos")


@dataclass(slots=True)
class Memory:
    """What a vector keeps alive: PETSc's memory is that of `array`."""

    array: Any
    source: Any = None  # the array whose values were copied to `array`
    ghosts: int = 0
    readonly: bool = False
    placed: Any = None


MEMORY_KEY = object()  # no text, so that no `setAttr` of a user's takes the memory away


def memory_of(vec: Any) -> Memory | None:
    """Return what a vector of `petsc_vec` keeps; None for other vectors."""
    found: Memory | None = vec.getDict().get(MEMORY_KEY)
    return found


def as_array(array: Any, function: str, argument: str = "array", *, copy: bool = False) -> Any:
    """Return an array of NumPy or CuPy for an argument that has to be one, in whatever memory it is."""
    _gate.refuse_masked(array, function=function, argument=argument)
    if _arrays.is_foreign_device_array(array):
        array = _conversion.wrap_foreign(array, function)
    elif not (isinstance(array, np.ndarray) or _arrays.is_device_array(array)):
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} must be a NumPy or CuPy array, whose memory PETSc can share, got "
            f"{_gate.given(array)}; make an array of it first, with xp.asarray(..., dtype=xp.float64)."
        )
    if copy and array.dtype.kind not in "biufc":
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} must be of numbers, got {_gate.describe(array)}; select a field, or "
            "convert it with .astype(...)."
        )
    return array


def check_memory(
    PETSc: Any, array: Any, function: str, argument: str = "array", *, readonly: bool = False, copy: str = "copy=True"
) -> None:
    """Refuse arrays whose memory PETSc can't work on as it is."""
    check_dtype(PETSc, array, function, argument, copy)
    if not array.flags.c_contiguous:
        raise ArgumentError(
            f"{function}: argument {argument!r} must be C-contiguous, got {_gate.describe(array)} with strides "
            f"{array.strides}, and would have to be copied; pass xp.ascontiguousarray({argument})"
            + (f", or {copy}." if copy else ".")
        )
    if not readonly and isinstance(array, np.ndarray) and not array.flags.writeable:
        raise ArgumentError(
            f"{function}: argument {argument!r} is read-only ({_gate.describe(array)}), and PETSc would write to it "
            f"all the same; pass a writable array, for instance {argument}.copy()"
            + (", or readonly=True for a vector that PETSc does not write to" if argument == "array" and copy else "")
            + (f", or {copy}." if copy else ".")
        )


def check_dtype(PETSc: Any, array: Any, function: str, argument: str, copy: str) -> None:
    """Refuse arrays of another dtype than PETSc's scalars have."""
    dtype = scalar_dtype(PETSc)
    if array.dtype != dtype:
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} must have PETSc's scalar type, {dtype.name} in native byte order, got "
            f"{_gate.describe(array)}, and would have to be copied; convert it with .astype({dtype.name!r})"
            + (f", or pass {copy}." if copy else ".")
        )


def is_device_type(kind: str) -> bool:
    """Tell whether a type of PETSc's has its data on a device: ``seqcuda``, ``mpihip``, ``kokkos``, ..."""
    return kind.removeprefix("seq").removeprefix("mpi") in _DEVICE_KINDS


def device_number(vec: Any) -> int | None:
    """Return the device of a vector, or None where its petsc4py does not tell."""
    try:
        return int(vec.__dlpack_device__()[1])
    except Exception:
        return None


# --- order of work on a device ----------------------------------------------------------------------------------------


def wait_for_producer(array: Any, stream: Any, event: Any, function: str) -> None:
    """Wait until what wrote a device array has completed: PETSc works on streams of its own."""
    if stream is not None and event is not None:
        raise ArgumentError(f"{function}: pass only one of 'stream' and 'event', got both.")
    producer = event if event is not None else stream
    if producer is None:
        cuda = _backend.require_cupy(function).cuda
        with array.device:
            producer = cuda.get_current_stream()
    elif not hasattr(producer, "synchronize") or type(producer).__module__.startswith("cunumpy.cuda"):
        name = "stream" if event is None else "event"
        raise ArgumentTypeError(
            f"{function}: argument {name!r} must be a cupy.cuda.{name.title()}, since the array is in device memory, "
            f"got {_gate.describe(producer)}."
        )
    _conversion.wait(producer.synchronize, f"{function}(...)")


def wait_for_petsc(PETSc: Any, function: str) -> None:
    """Wait until PETSc's work on the device has completed."""
    contexts = getattr(PETSc, "DeviceContext", None)
    if contexts is not None:
        _conversion.wait(contexts.getCurrent().synchronize, f"{function}(...) of PETSc")


def check_vec(vec: Any, function: str, argument: str = "vec") -> Any:
    """Refuse what is no living vector; return the module of petsc4py."""
    PETSc = require_petsc(function)
    if not isinstance(vec, PETSc.Vec):
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} must be a PETSc.Vec, got {_gate.given(vec)}; make one by "
            "petsc_vec(array)."
        )
    check_living(vec, function, argument)
    return PETSc


def device_name(kind: str) -> str:
    return next(name for part, name in (("cuda", "CUDA"), ("hip", "HIP"), ("kokkos", "Kokkos")) if part in kind)
