"""PETSc vectors over the memory of arrays."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _gate, _transfers
from cunumpy.errors import (
    ArgumentError,
    ArgumentTypeError,
    BackendUnavailableError,
    CuNumpyError,
    MissingPackageError,
    MixedBackendError,
)
from cunumpy.petsc._access import petsc_access
from cunumpy.petsc._library import Group, call_c, check_count, group, require_petsc, scalar_dtype
from cunumpy.petsc._memory import (
    MEMORY_KEY,
    Memory,
    as_array,
    check_memory,
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


def petsc_vec(
    array: Any,
    comm: Any = None,
    *,
    block_size: int = 1,
    ghosts: Any = None,
    readonly: bool = False,
    copy: bool = False,
    stream: Any = None,
    event: Any = None,
) -> Any:
    """Make a PETSc vector whose memory is that of an array.

    Nothing is copied: what is written to the array is in the vector, and the other way round. The vector keeps the
    array alive for as long as PETSc uses it. Every rank of the communicator passes its own part, and all call this
    together; an error on one of them is raised on all.

    Parameters
    ----------
    array : numpy.ndarray, cupy.ndarray or device array
        C-contiguous, of PETSc's scalar dtype (float64 in most builds), of any shape: PETSc sees its elements in C
        order. With `ghosts` the elements that belong to this rank come first, then those of the ghosts.
    comm : communicator, optional
        Of mpi4py, petsc4py or `cunumpy.mpi`, whose serial stand-in is this process alone. By default PETSc's default
        communicator, all ranks; with ``MAYBEMPI=0`` this process alone.
    block_size : int, default: 1
        Number of unknowns at each point.
    ghosts : array_like of int, optional
        Global indices of the points of other ranks that this one has copies of, as in `VecCreateGhost`_: of blocks, if
        there is a block size. Host arrays only.
    readonly : bool, default: False
        Lock the vector, so that PETSc refuses to write to it. Without it, read-only arrays are refused.
    copy : bool, default: False
        Convert the array: to PETSc's dtype, if that changes no more than precision, and to C order. The vector has
        memory of its own then, and `write_back` copies it to the array.
    stream, event : optional
        What wrote a device array: PETSc is given the array when that has completed. By default the current stream.

    Returns
    -------
    petsc4py.PETSc.Vec
        ``seq`` or ``mpi`` for host arrays, and the types of a device (``seqcuda``, ``mpicuda``, ``seqhip``,
        ``mpihip``) for device arrays. Its local size is that of the array without ghosts; its attribute
        ``cunumpy_array`` is the array.

    Raises
    ------
    ArgumentTypeError
        No array, a masked array, another dtype, or an object that is no communicator.
    ArgumentError
        An array that is not C-contiguous, or read-only without `readonly`; a size that is no multiple of the block
        size; ghosts that are not there, or belong to this rank.
    BackendUnavailableError
        A device array and a PETSc that was built without support for the device, or uses another one.
    MissingPackageError
        petsc4py is not installed.

    Notes
    -----
    On several ranks the agreement costs one exchange among them. In a time loop make the vector once, and use
    `place_array`. Vectors that Python drops are freed at once on one rank; on several, PETSc frees them, and with them
    the array, at ``PETSc.garbage_cleanup()``. ``vec.destroy()`` on all ranks frees them at once.

    .. _VecCreateGhost: https://petsc.org/release/manualpages/Vec/VecCreateGhost/

    Examples
    --------
    >>> import cunumpy as xp
    >>> field = xp.ones((2, 3))
    >>> if xp.petsc.petsc_available():
    ...     vec = xp.petsc.petsc_vec(field)
    ...     vec.scale(2.0)
    ...     assert (field == 2).all()
    """
    function = "petsc_vec"
    try:
        PETSc = require_petsc(function)
    except MissingPackageError:
        as_array(array, function, copy=copy)  # a wrong argument is wrong with petsc4py, too
        raise
    ranks = group(PETSc, comm, function)
    with ranks.agreed():
        readonly = _gate.as_truth(readonly, function=function, argument="readonly")
        copy = _gate.as_truth(copy, function=function, argument="copy")
        given = as_array(array, function, copy=copy)
        if copy:
            array = _converted(PETSc, given, function)
        else:
            array = given
            check_memory(PETSc, array, function, readonly=readonly)
        block_size = _checked_block_size(block_size, array, function)
        ghosts = _checked_ghosts(PETSc, ghosts, array, block_size, function)
    on_device = _arrays.is_device_array(array)
    memory = Memory(array, given if copy else None, 0 if ghosts is None else ghosts.size * block_size, bool(readonly))
    if ghosts is not None:
        _check_ghosts_elsewhere(ranks, ghosts, array.size // block_size - ghosts.size)
    if on_device:
        wait_for_producer(array, stream, event, function)
        vec = _over_device_memory(PETSc, array, ranks, block_size)
    elif ghosts is None:
        vec = PETSc.Vec().createWithArray(_flat(array), comm=ranks.comm, **_blocks(block_size))
    else:
        vec = PETSc.Vec().createGhostWithArray(ghosts, _flat(array), comm=ranks.comm, **_blocks(block_size))
    vec.getDict()[MEMORY_KEY] = memory
    vec.setAttr("cunumpy_array", given)
    if readonly:
        try:
            call_c(PETSc, "VecLockReadPush", vec.handle, function=function)
        except CuNumpyError:
            vec.destroy()
            raise
    return vec


def _converted(PETSc: Any, array: Any, function: str) -> Any:
    dtype = scalar_dtype(PETSc)
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise ArgumentTypeError(
            f"{function}: argument 'array' of dtype {array.dtype} can't become {dtype.name}, PETSc's scalar type, "
            "without losing more than precision; take .real, or use a PETSc built for complex numbers."
        )
    if isinstance(array, np.ndarray):
        return np.array(array, dtype, order="C", subok=False)
    cupy = _backend.require_cupy(function)
    with array.device:
        copied = cupy.array(array, dtype, order="C")
    if _transfers.watching():
        _transfers.record("device_copy", _transfers.call_text(function, array.shape, array.dtype), copied.nbytes)
    return copied


def _checked_block_size(block_size: Any, array: Any, function: str) -> int:
    if isinstance(block_size, bool) or not isinstance(block_size, (int, np.integer)):
        raise ArgumentTypeError(f"{function}: argument 'block_size' must be an integer, got {_gate.given(block_size)}.")
    if block_size < 1 or array.size % block_size:
        raise ArgumentError(
            f"{function}: argument 'block_size' must be positive and divide the number of elements of the array, "
            f"got {block_size} for {array.size} elements."
        )
    return int(block_size)


def _checked_ghosts(PETSc: Any, ghosts: Any, array: Any, block_size: int, function: str) -> np.ndarray | None:
    check_count(PETSc, array.size, function, "the elements of the array")
    if ghosts is None:
        return None
    if _arrays.is_device_array(array):
        raise ArgumentTypeError(
            f"{function}: argument 'ghosts' is for host arrays, and 'array' is in device memory: PETSc has no ghosted "
            "vectors there; leave 'ghosts' out and exchange the values by xp.mpi.exchange."
        )
    indices = _gate.as_integer_array(ghosts, function=function, argument="ghosts", ndim=1)
    if indices.size * block_size > array.size:
        raise ArgumentError(
            f"{function}: argument 'array' has {array.size} elements, fewer than {indices.size} ghosts of "
            f"{block_size}; it holds this rank's own elements first, and those of the ghosts after them."
        )
    largest = int(indices.max(initial=0))
    check_count(PETSc, largest, function, "the largest of the ghosts")
    return indices.astype(PETSc.IntType)


def _check_ghosts_elsewhere(ranks: Group, ghosts: np.ndarray, own: int) -> None:
    points = ranks.gather(own)
    first = sum(points[: ranks.rank])
    total = sum(points) if len(points) == ranks.size else None
    with ranks.agreed():
        outside = (ghosts < 0) if total is None else (ghosts < 0) | (ghosts >= total)
        if outside.any():
            raise ArgumentError(
                f"petsc_vec: argument 'ghosts' holds {ghosts[outside][0]}, and there are the points 0 to "
                f"{'...' if total is None else total - 1}; ghosts are global indices."
            )
        mine = (ghosts >= first) & (ghosts < first + own) & (total is not None)
        if mine.any():
            raise ArgumentError(
                f"petsc_vec: argument 'ghosts' holds {ghosts[mine][0]}, which belongs to this rank itself ({first} to "
                f"{first + own - 1}); ghosts are points of other ranks."
            )


def _flat(array: Any) -> np.ndarray:
    """Give the elements in C order as a plain array; a view, since the array is C-contiguous."""
    if type(array) is np.ndarray and array.ndim == 1:
        return array
    return np.asarray(array).reshape(-1)


def _blocks(block_size: int) -> dict[str, int]:
    return {} if block_size == 1 else {"bsize": block_size}


def _over_device_memory(PETSc: Any, array: Any, ranks: Group, block_size: int) -> Any:
    try:
        vec = PETSc.Vec().createWithDLPack(array, comm=ranks.comm, **_blocks(block_size))
    except PETSc.Error as error:
        text = (str(error).splitlines() or ["no message"])[-1]
        raise BackendUnavailableError(
            f"petsc_vec: PETSc can't take the device array {_gate.describe(array)}: it has to be built with CUDA or "
            f"HIP support ({text}). Configure PETSc with --with-cuda=1, or pass xp.to_numpy(array)."
        ) from error
    problem: CuNumpyError | None = None
    kind = str(vec.getType())
    if not is_device_type(kind):
        problem = BackendUnavailableError(
            f"petsc_vec: PETSc created a {kind!r} vector for a CuPy array, which would read device memory as the "
            "host's; use a petsc4py whose createWithDLPack knows devices (3.18 or later)."
        )
    else:
        theirs = device_number(vec)
        if theirs is not None and theirs != int(array.device.id):
            problem = BackendUnavailableError(
                f"petsc_vec: argument 'array' is on device {int(array.device.id)}, and PETSc uses device {theirs}; "
                "choose one for each rank before PETSc starts, with xp.cuda.bind_local_device() or -device_select_cuda."
            )
    try:
        ranks.agree(problem)
    except CuNumpyError:
        vec.destroy()
        raise
    return vec


@contextmanager
def place_array(vec: Any, array: Any) -> Iterator[Any]:
    """Let a vector work on the memory of another array for a block.

    For time loops: the vector and all that solvers have prepared for it are made once. Nothing is copied, and the
    vector has its own memory again after the block. All ranks enter it; they do not wait for each other.

    Parameters
    ----------
    vec : petsc4py.PETSc.Vec
        A vector without ghosts.
    array : numpy.ndarray or cupy.ndarray
        As for `petsc_vec`: C-contiguous, of PETSc's scalar dtype, with as many elements as the vector has on this
        rank, on the host or the device as the vector is. Read-only arrays are for vectors made with ``readonly=True``.

    Yields
    ------
    petsc4py.PETSc.Vec
        The vector.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        As of `petsc_vec`; another size; a vector with ghosts; an array is placed already.
    MixedBackendError
        A host array for a vector on a device, or the other way round.

    Examples
    --------
    >>> import cunumpy as xp
    >>> if xp.petsc.petsc_available():
    ...     vec = xp.petsc.petsc_vec(xp.zeros(3))
    ...     for step in range(2):
    ...         field = xp.full(3, step)
    ...         with xp.petsc.place_array(vec, field.astype(float)):
    ...             assert vec.max()[1] == step
    """
    function = "place_array"
    PETSc = check_vec(vec, function)
    array = as_array(array, function)
    kind = str(vec.getType())
    on_device = is_device_type(kind)
    if on_device != _arrays.is_device_array(array):
        raise MixedBackendError(
            f"{function}: argument 'vec' is on the {'device' if on_device else 'host'} (type {kind!r}), and 'array' is "
            f"not: {_gate.describe(array)}; move it with {'xp.to_cupy' if on_device else 'xp.to_numpy'}(array)."
        )
    memory = memory_of(vec)
    check_memory(PETSc, array, function, readonly=memory is not None and memory.readonly, copy="")
    if memory is None:
        memory = vec.getDict()[MEMORY_KEY] = Memory(None)
    if memory.ghosts:
        raise ArgumentError(
            f"{function}: argument 'vec' has ghosts, whose elements would have to be placed with the others; make a "
            "vector for each array, by petsc_vec(array, ghosts=...)."
        )
    if array.size != vec.getLocalSize():
        raise ArgumentError(
            f"{function}: argument 'array' must have as many elements as the vector on this rank, "
            f"{vec.getLocalSize()}, got {array.size} ({_gate.describe(array)})."
        )
    if memory.placed is not None:
        raise ArgumentError(f"{function}: argument 'vec' has a placed array already; leave that block first.")
    memory.placed = array
    try:
        if on_device:
            wait_for_producer(array, None, None, function)
            _place_on_device(PETSc, vec, array, kind)
        else:
            vec.placeArray(_flat(array))
    except BaseException:
        memory.placed = None
        raise
    try:
        yield vec
    finally:
        if on_device:
            wait_for_petsc(PETSc, function)
        if vec:  # which the block may have destroyed
            if on_device:
                call_c(PETSc, f"Vec{device_name(kind)}ResetArray", vec.handle, function=function)
            else:
                vec.resetArray()
            vec.stateIncrease()
        memory.placed = None


def _place_on_device(PETSc: Any, vec: Any, array: Any, kind: str) -> None:
    name = f"Vec{device_name(kind)}PlaceArray"
    call_c(PETSc, name, vec.handle, int(array.data.ptr) if array.size else 0, function="place_array")


def write_back(vec: Any) -> None:
    """Copy the values of a vector made by ``petsc_vec(array, copy=True)`` to its array.

    Parameters
    ----------
    vec : petsc4py.PETSc.Vec
        The vector.

    Raises
    ------
    ArgumentTypeError
        No vector, or an array whose dtype can't hold the values without losing more than precision (integers).
    ArgumentError
        The vector shares the memory of its array, so that there is nothing to copy; or the array is read-only.

    Examples
    --------
    >>> import cunumpy as xp
    >>> field = xp.ones((2, 2), dtype=xp.float32).T
    >>> if xp.petsc.petsc_available():
    ...     vec = xp.petsc.petsc_vec(field, copy=True)
    ...     vec.scale(5.0)
    ...     xp.petsc.write_back(vec)
    ...     assert field[0, 0] == 5
    """
    function = "write_back"
    PETSc = check_vec(vec, function)
    memory = memory_of(vec)
    if memory is None or memory.source is None:
        raise ArgumentError(
            f"{function}: argument 'vec' was not made by petsc_vec(array, copy=True): "
            + ("it is no vector of petsc_vec." if memory is None else "it shares the memory of its array.")
        )
    array = memory.source
    if not np.can_cast(scalar_dtype(PETSc), array.dtype, "same_kind"):
        raise ArgumentTypeError(
            f"{function}: the array of the vector has dtype {array.dtype}, which can't hold values of "
            f"{scalar_dtype(PETSc).name} without losing more than precision; read them by petsc_array(vec)."
        )
    if isinstance(array, np.ndarray):
        _gate.check_writable(array, function=function, argument="array")
    with petsc_access(vec, write=False) as values:
        array[...] = values.reshape(array.shape)
    if not isinstance(array, np.ndarray) and _transfers.watching():
        _transfers.record("device_copy", _transfers.call_text(function, array.shape, array.dtype), array.nbytes)
