"""PETSc vectors over the memory of arrays, and arrays over the memory of PETSc vectors."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _conversion, _gate, _transfers
from cunumpy.errors import (
    ArgumentError,
    ArgumentTypeError,
    BackendUnavailableError,
    CuNumpyError,
    MissingPackageError,
    MixedBackendError,
)
from cunumpy.petsc._library import Group, call_c, check_count, check_living, group, require_petsc, scalar_dtype

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEVICE_KINDS = ("cuda", "hip", "kokkos")


@dataclass(slots=True)
class Memory:
    """What a vector keeps alive: PETSc's memory is that of `array`."""

    array: Any
    source: Any = None  # the array whose values were copied to `array`
    ghosts: int = 0
    readonly: bool = False
    placed: Any = None


_KEY = object()  # no text, so that no `setAttr` of a user's takes the memory away


def memory_of(vec: Any) -> Memory | None:
    """Return what a vector of `petsc_vec` keeps; None for other vectors."""
    found: Memory | None = vec.getDict().get(_KEY)
    return found


# --- making vectors ---------------------------------------------------------------------------------------------------


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
    vec.getDict()[_KEY] = memory
    vec.setAttr("cunumpy_array", given)
    if readonly:
        try:
            call_c(PETSc, "VecLockReadPush", vec.handle, function=function)
        except CuNumpyError:
            vec.destroy()
            raise
    return vec


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
        theirs = _device_number(vec)
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


def is_device_type(kind: str) -> bool:
    """Tell whether a type of PETSc's has its data on a device: ``seqcuda``, ``mpihip``, ``kokkos``, ..."""
    return kind.removeprefix("seq").removeprefix("mpi") in _DEVICE_KINDS


def _device_number(vec: Any) -> int | None:
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


# --- arrays of vectors ------------------------------------------------------------------------------------------------


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
    return _view(check_vec(vec, "petsc_array"), vec, write, "petsc_array")


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
    number = _device_number(vec)
    memory = cupy.cuda.UnownedMemory(handle, size * dtype.itemsize, vec, -1 if number is None else number)
    return cupy.ndarray((size,), dtype, cupy.cuda.MemoryPointer(memory, 0))


def _device_handle(vec: Any, kind: str, mode: str) -> int:
    """Return the address on the device; with ``"rw"`` PETSc takes what is there for newer than a copy on the host."""
    name = _device_name(kind)
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
        memory = vec.getDict()[_KEY] = Memory(None)
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
                call_c(PETSc, f"Vec{_device_name(kind)}ResetArray", vec.handle, function=function)
            else:
                vec.resetArray()
            vec.stateIncrease()
        memory.placed = None


def _device_name(kind: str) -> str:
    return next(name for part, name in (("cuda", "CUDA"), ("hip", "HIP"), ("kokkos", "Kokkos")) if part in kind)


def _place_on_device(PETSc: Any, vec: Any, array: Any, kind: str) -> None:
    name = f"Vec{_device_name(kind)}PlaceArray"
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
