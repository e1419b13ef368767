"""Arrays over the memory of PETSc vectors."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _backend, _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.petsc._library import check_living, require_petsc, scalar_dtype
from cunumpy.petsc._memory import (
    check_vec,
    device_name,
    device_number,
    is_device_type,
    memory_of,
    wait_for_petsc,
    wait_for_producer,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def petsc_array(vec: Any, *, write: bool = True) -> Any:
    """Return an array on the memory of a PETSc vector, without a copy.

    Parameters
    ----------
    vec : petsc4py.PETSc.Vec
        Any vector with an array: of `petsc_vec`, of a solver, of a matrix's ``createVecs``.
    write : bool, default: True
        Whether the array will be written to. If not, the vector may be locked, and the array of a host vector is
        read-only.

    Returns
    -------
    numpy.ndarray or cupy.ndarray
        One-dimensional, this rank's elements in order, with those of the ghosts after them. It keeps the vector's
        memory alive.

    Raises
    ------
    ArgumentTypeError
        No vector.
    ArgumentError
        A vector that has been destroyed, is locked for reading (``write=False`` can be read), or is nested.

    Notes
    -----
    PETSc keeps norms and the like until a vector changes, and does not see what is written to the array: say so by
    `mark_modified`, or write inside a `petsc_access` block, which does. The array does not follow `place_array`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> if xp.petsc.petsc_available():
    ...     vec = xp.petsc.petsc_vec(xp.arange(3.0))
    ...     assert xp.petsc.petsc_array(vec).tolist() == [0.0, 1.0, 2.0]
    """
    write = _gate.as_truth(write, function="petsc_array", argument="write")
    return _view(check_vec(vec, "petsc_array"), vec, write, "petsc_array")


_HOST_TYPES = ("seq", "mpi", "shared", "standard")


def _view(PETSc: Any, vec: Any, write: bool, function: str) -> Any:
    kind = str(vec.getType())
    if kind not in _HOST_TYPES and not is_device_type(kind):  # those of others would be copies
        raise ArgumentError(
            f"{function}: argument 'vec' is of type {kind!r}, which has no array of its own on this rank; take the "
            "vectors that it consists of, by vec.getNestSubVecs() of a 'nest'."
        )
    try:
        if is_device_type(kind):
            return _device_view(vec, write, function)
        memory = memory_of(vec)
        # Not getArray(), which tells PETSc that the vector has changed when its array is dropped, whenever that is.
        with vec.getBuffer(readonly=not write) as array:
            pass
        if memory is None or not memory.ghosts:
            return array
        padded = np.asarray(memory.array).reshape(-1)  # an array object of its own, whose flag can be set
        padded.flags.writeable = write
        return padded
    except PETSc.Error as error:
        raise _refused(error, vec, function) from error


def _refused(error: Any, vec: Any, function: str) -> ArgumentError:
    text = str(error)
    if "locked" in text:
        return ArgumentError(
            f"{function}: argument 'vec' ({vec.getType()}, local size {vec.getLocalSize()}) is locked for reading: by "
            "readonly=True, or by a solver that uses it; pass write=False to read it."
        )
    return ArgumentError(f"{function}: PETSc gives no array of the {vec.getType()!r} vector: {text.splitlines()[-1]}")


class _Exported:
    """A capsule of PETSc's as an object that DLPack's consumers take."""

    def __init__(self, capsule: Any, device: tuple[int, int]) -> None:
        self._capsule, self._device = capsule, device

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


def _device_view(vec: Any, write: bool, function: str) -> Any:
    cupy = _backend.require_cupy(function)
    mode = "rw" if write else "r"
    kind = str(vec.getType())
    if "kokkos" in kind:
        return cupy.from_dlpack(_Exported(vec.toDLPack(mode), vec.__dlpack_device__()))
    handle = _device_handle(vec, kind, mode)
    dtype = scalar_dtype(require_petsc(function))
    size = int(vec.getLocalSize())
    if not size:
        return cupy.empty(0, dtype)
    number = device_number(vec)
    memory = cupy.cuda.UnownedMemory(handle, size * dtype.itemsize, vec, -1 if number is None else number)
    return cupy.ndarray((size,), dtype, cupy.cuda.MemoryPointer(memory, 0))


def _device_handle(vec: Any, kind: str, mode: str) -> int:
    """Return the address on the device; with ``"rw"`` PETSc takes what is there for newer than a copy on the host."""
    name = device_name(kind)
    handle = getattr(vec, f"get{name}Handle")(mode)
    getattr(vec, f"restore{name}Handle")(handle, mode)
    return int(handle)


@contextmanager
def petsc_access(vec: Any, *, write: bool = True, stream: Any = None) -> Iterator[Any]:
    """Give a block the array of a PETSc vector, in order with PETSc's work before and after it.

    PETSc's work on the vector has completed when the block begins, and the block's has when it ends; where it wrote,
    PETSc knows then that the vector has changed. The waits, of which host vectors need none, are recorded as ``sync``.
    All ranks of the vector enter the block: one that does not would take a norm that it knows for still right, and the
    others wait for it.

    Parameters
    ----------
    vec : petsc4py.PETSc.Vec
        As in `petsc_array`.
    write : bool, default: True
        Whether the block writes to the array.
    stream : cupy.cuda.Stream, optional
        Where the block's work on a device is submitted; by default the current stream at its end.

    Yields
    ------
    numpy.ndarray or cupy.ndarray
        As of `petsc_array`; don't use it after the block.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        As `petsc_array`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> if xp.petsc.petsc_available():
    ...     vec = xp.petsc.petsc_vec(xp.zeros(3))
    ...     with xp.petsc.petsc_access(vec) as values:
    ...         values += 2
    ...     assert vec.sum() == 6
    """
    write = _gate.as_truth(write, function="petsc_access", argument="write")
    PETSc = check_vec(vec, "petsc_access")
    on_device = is_device_type(str(vec.getType()))
    if on_device:
        wait_for_petsc(PETSc, "petsc_access")
    array = _view(PETSc, vec, write, "petsc_access")
    try:
        yield array
    finally:  # what was submitted goes on, whatever happened then
        if on_device:
            wait_for_producer(array, stream, None, "petsc_access")
        if write and vec:  # which the block may have destroyed
            vec.stateIncrease()


def mark_modified(obj: Any) -> None:
    """Tell PETSc that the memory of a vector or matrix was written to by others.

    PETSc reuses norms of vectors, factors and preconditioners of matrices until their content changes; and where a
    device vector was read on the host, the copy there. Call this after the array of a `petsc_vec`, or the data of a
    `csr_matrix`, was written to, before PETSc reads it; on all ranks of it, whether theirs has changed or not.

    Parameters
    ----------
    obj : petsc4py.PETSc.Vec or petsc4py.PETSc.Mat
        What was written to. For device memory, order the work itself by `petsc_access`, or by waiting for the stream.

    Raises
    ------
    ArgumentTypeError
        Neither of these.

    Examples
    --------
    >>> import cunumpy as xp
    >>> field = xp.ones(4)
    >>> if xp.petsc.petsc_available():
    ...     vec = xp.petsc.petsc_vec(field)
    ...     assert vec.norm() == 2
    ...     field *= 3
    ...     xp.petsc.mark_modified(vec)
    ...     assert vec.norm() == 6
    """
    PETSc = require_petsc("mark_modified")
    if isinstance(obj, (PETSc.Vec, PETSc.Mat)):
        check_living(obj, "mark_modified", "obj")
    if isinstance(obj, PETSc.Vec):
        kind = str(obj.getType())
        if is_device_type(kind) and "kokkos" not in kind:
            _device_handle(obj, kind, "rw")
        obj.stateIncrease()
    elif isinstance(obj, PETSc.Mat):
        obj.stateIncrease()
        obj.assemble()
    else:
        raise ArgumentTypeError(
            f"mark_modified: argument 'obj' must be a PETSc.Vec or PETSc.Mat, got {_gate.given(obj)}."
        )
