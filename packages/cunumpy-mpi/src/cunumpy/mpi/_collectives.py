"""Collectives for arrays of the host and of a device."""

from __future__ import annotations

import operator
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _conversion, _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError, CommunicationError
from cunumpy.mpi._buffers import OF_MPI, Buffer, for_mpi, opened
from cunumpy.mpi._choice import is_of_maybempi
from cunumpy.mpi._cuda_aware import get_mpi_cuda_aware, package_of
from cunumpy.mpi._exchange import end_run
from cunumpy.mpi._serial.communicators import COMM_SELF

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_OPERATIONS = {"sum": "SUM", "prod": "PROD", "min": "MIN", "max": "MAX", "any": "LOR", "all": "LAND"}
_NUMBERS = ("sum", "prod", "min", "max")
_KINDS = {"b": ("any", "all"), "i": _NUMBERS, "u": _NUMBERS, "f": _NUMBERS, "c": ("sum", "prod")}


def bcast(comm: Any, array: Any, root: int = 0, *, cuda_aware: bool | None = None, check: bool = False) -> None:
    """Give all ranks the values that an array has on one of them.

    Parameters
    ----------
    comm : communicator
        Of mpi4py, or the serial stand-in. All its ranks have to call this.
    array : array
        Of the host or a device, with any strides; of the same shape and dtype on all ranks. It is read on `root`, and
        written to on the others.
    root : int, default: 0
        The rank that has the values.
    cuda_aware : bool, optional
        Whether MPI takes device memory; by default as recorded.
    check : bool, default: False
        Let all ranks agree first that the arguments are in order, so that all raise where one is at fault. It costs a
        small message.

    Raises
    ------
    ArgumentError
        A root that does not exist, or a read-only array on another rank.
    ArgumentTypeError
        What is no array, Python objects, a root that is no integer.
    CommunicationError
        A device array, and it is not known whether MPI takes it; or, with `check`, the fault of another rank.

    Examples
    --------
    >>> import cunumpy as xp
    >>> comm = xp.mpi.get_mpi().COMM_WORLD
    >>> table = xp.asarray([1.0, 2.0]) if comm.rank == 0 else xp.zeros(2)
    >>> xp.mpi.bcast(comm, table)
    >>> table
    array([1., 2.])
    """
    function = "bcast"
    check = _gate.as_truth(check, function=function, argument="check")
    comm, _ = known(comm, function)

    def prepared() -> tuple[Buffer, tuple[int, ...]]:
        if cuda_aware is not None:
            _gate.as_optional_truth(cuda_aware, function=function, argument="cuda_aware")
        source = checked_root(root, comm, function)
        here = comm.rank == source
        buffer = buffer_for(comm, array, cuda_aware, function, send=here, recv=not here)
        return buffer, (kind_of([buffer.array[None]]), source)

    buffer, (_, source) = agreed(comm, prepared, check, function)
    with opened(buffer) as content:
        comm.Bcast(for_mpi(content), root=source)


def allreduce(
    comm: Any,
    array: Any,
    op: Any = "sum",
    *,
    out: Any = None,
    cuda_aware: bool | None = None,
    check: bool = False,
) -> Any:
    """Combine the arrays of all ranks, element by element; all ranks get the result.

    Parameters
    ----------
    comm : communicator
        Of mpi4py, or the serial stand-in. All its ranks have to call this.
    array : array
        Of the host or a device, with any strides; of the same shape and dtype on all ranks. NumPy's scalars, which sums
        of NumPy arrays are, are allowed too.
    op : {"sum", "prod", "min", "max", "any", "all"} or MPI.Op, default: "sum"
        How elements are combined. ``"any"`` and ``"all"`` are for bools, the others for numbers, of them ``"min"`` and
        ``"max"`` not for complex ones.
    out : array, optional
        Where to put the result, of the same shape, dtype and device; `array` itself is allowed.
    cuda_aware : bool, optional
        Whether MPI takes device memory; by default as recorded.
    check : bool, default: False
        Let all ranks agree first that the arguments are in order, so that all raise where one is at fault.

    Returns
    -------
    array
        `out` if it was given, else a new array, on the device of `array`; of a scalar a scalar.

    Raises
    ------
    ArgumentError
        Another operation, or `out` of another shape or dtype, read-only, or sharing memory with `array`.
    ArgumentTypeError
        What is no array, or a dtype that MPI does not compute with: objects, float16, records, other byte orders.
    MixedBackendError
        `array` and `out` are not both on the host or on the device.
    CommunicationError
        A device array, and it is not known whether MPI takes it; or, with `check`, the fault of another rank.

    Notes
    -----
    The order in which numbers are added is MPI's: sums differ by rounding with the number of ranks. On one rank nothing
    is added, and no device memory is copied to the host.

    Examples
    --------
    >>> import cunumpy as xp
    >>> comm = xp.mpi.get_mpi().COMM_WORLD
    >>> density = xp.asarray([1.0, 2.0])
    >>> xp.mpi.allreduce(comm, density)
    array([1., 2.])
    """
    function = "allreduce"
    if check is not False and check is not True:
        check = _gate.as_truth(check, function=function, argument="check")
    if cuda_aware is not None and not check:  # with `check` ranks agree on its error
        _gate.as_optional_truth(cuda_aware, function=function, argument="cuda_aware")
    comm, package = known(comm, function)
    if type(array) is np.ndarray and not check and (out is None or out is array):  # as in most calls
        flags = array.flags
        if flags.carray or (out is None and flags.c_contiguous):
            return _reduced(comm, array, _operation(op, array.dtype, package), package, in_place=out is array)

    def prepared() -> tuple[Any, tuple[int, ...]]:
        if cuda_aware is not None:
            _gate.as_optional_truth(cuda_aware, function=function, argument="cuda_aware")
        given = checked_array(np.asarray(array) if isinstance(array, np.generic) else array, function, "array")
        operation = _operation(op, given.dtype, package)
        if out is None:
            result = _empty_like(given, given.shape)
        else:
            result = checked_array(out, function, "out")
            _gate.common_backend(function, array=given, out=result)
            if result.shape != given.shape or result.dtype != given.dtype:
                raise ArgumentError(
                    f"{function}: argument 'out' must have the shape and dtype of 'array', {given.shape} and "
                    f"{given.dtype}, got {_gate.describe(result)}."
                )
            if not _is_same(result, given) and _gate.overlap(result, given):
                raise ArgumentError(
                    f"{function}: arguments 'array' and 'out' share memory, and are not the same; use an array of its "
                    "own, or out=array."
                )
        buffer = buffer_for(comm, result, cuda_aware, function, send=True, recv=True, argument="out")
        shown = op if isinstance(op, str) else type(op).__name__
        return (buffer, given, operation), (kind_of([given[None]], shown),)

    (buffer, given, operation), _ = agreed(comm, prepared, check, function)
    result = buffer.array
    if not _is_same(result, given):
        result[...] = given
    if comm.size > 1:
        with opened(buffer) as content:
            comm.Allreduce(package.IN_PLACE, content, op=operation)
    return result[()] if isinstance(array, np.generic) and out is None else result


def gather(comm: Any, array: Any, root: int = 0, *, cuda_aware: bool | None = None) -> Any:
    """Put the arrays of all ranks behind each other, on one rank.

    Parameters
    ----------
    comm : communicator
        Of mpi4py, or the serial stand-in. All its ranks have to call this.
    array : array
        Of the host or a device, with any strides. Lengths along the first axis may differ from rank to rank, dtype and
        other axes may not.
    root : int, default: 0
        The rank that gets the result.
    cuda_aware : bool, optional
        Whether MPI takes device memory; by default as recorded.

    Returns
    -------
    array or None
        A new array, those of rank 0 first, on the device of `array`; None on other ranks than `root`.

    Raises
    ------
    ArgumentError
        A root that does not exist; on all ranks.
    ArgumentTypeError
        What is no array, one without axes, Python objects, a root that is no integer.
    CommunicationError
        The arguments of another rank are at fault, or of another kind; or it is not known whether MPI takes device
        memory. On all ranks.

    Notes
    -----
    The lengths are exchanged first, and with them whether the arguments of all ranks are in order. An error after that,
    such as too little memory for the result, can't be undone: it is printed, and ``comm.Abort(1)`` ends all ranks.

    Examples
    --------
    >>> import cunumpy as xp
    >>> comm = xp.mpi.get_mpi().COMM_WORLD
    >>> everything = xp.mpi.gather(comm, xp.full((2, 3), float(comm.rank)))
    >>> if comm.rank == 0:
    ...     print(everything.shape[0] // comm.size)
    2
    """
    return _gathered(comm, array, root, cuda_aware, "gather")


def allgather(comm: Any, array: Any, *, cuda_aware: bool | None = None) -> Any:
    """Put the arrays of all ranks behind each other, on all ranks.

    Parameters
    ----------
    comm, array, cuda_aware
        As of `gather`.

    Returns
    -------
    array
        A new array, those of rank 0 first, on the device of `array`.

    Raises
    ------
    ArgumentTypeError, CommunicationError
        As from `gather`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> comm = xp.mpi.get_mpi().COMM_WORLD
    >>> xp.mpi.allgather(comm, xp.asarray([1.5, 2.5]))[:2]
    array([1.5, 2.5])
    """
    return _gathered(comm, array, None, cuda_aware, "allgather")


def alltoall(comm: Any, array: Any, counts: Sequence[int] | None = None, *, cuda_aware: bool | None = None) -> Any:
    """Send a part of an array to each rank, and put what comes behind each other.

    Parameters
    ----------
    comm : communicator
        Of mpi4py, or the serial stand-in. All its ranks have to call this.
    array : array
        Of the host or a device, with any strides, in the order of the ranks along the first axis. Dtype and other axes
        are the same on all ranks.
    counts : sequence of int, optional
        How much of the first axis each rank gets; by default all get the same.
    cuda_aware : bool, optional
        Whether MPI takes device memory; by default as recorded.

    Returns
    -------
    array
        A new array, what came from rank 0 first, on the device of `array`. ``alltoall(comm, numpy.asarray(counts))``
        tells how much came from each rank.

    Raises
    ------
    ArgumentError
        Counts that are negative, not one for each rank, or not of the array's length in all; without counts, a length
        that is no multiple of the number of ranks. On all ranks.
    ArgumentTypeError
        What is no array, one without axes, Python objects, counts that are no integers.
    CommunicationError
        As from `gather`.

    See Also
    --------
    migrate : Particles in any order, each with its destination.

    Examples
    --------
    >>> import cunumpy as xp
    >>> comm = xp.mpi.get_mpi().COMM_WORLD
    >>> xp.mpi.alltoall(comm, xp.full(comm.size, float(comm.rank)))[:1]  # what rank 0 has
    array([0.])
    """
    function = "alltoall"
    comm, _ = known(comm, function)

    def prepared() -> tuple[Any, np.ndarray, int]:
        if cuda_aware is not None:
            _gate.as_optional_truth(cuda_aware, function=function, argument="cuda_aware")
        given = checked_rows(array, comm, cuda_aware, function)
        return given, _parts(counts, len(given), comm.size), kind_of([given])

    given, sending, receiving = exchange_counts(comm, prepared, function)
    with all_or_none(comm):
        return send_rows(comm, given, sending, receiving, cuda_aware, function)


# --- shared with other modules ----------------------------------------------------------------------------------------


def known(comm: Any, function: str) -> tuple[Any, Any]:
    """Return a communicator with all that is needed here, and the module that it belongs to."""
    if is_of_maybempi(comm):  # which reads fewer forms of buffers; one process is like another
        comm = COMM_SELF
    package = package_of(comm)
    if package is None:
        raise ArgumentTypeError(f"{function}: argument 'comm' must be a communicator, got {_gate.describe(comm)}.")
    return comm, package


def checked_array(array: Any, function: str, argument: str) -> Any:
    """Return an array of the host or of CuPy with values that have a buffer."""
    _gate.refuse_masked(array, function=function, argument=argument)
    if _arrays.is_foreign_device_array(array):
        array = _conversion.wrap_foreign(array, function)
    if not (isinstance(array, np.ndarray) or _arrays.is_device_array(array)) or array.dtype.hasobject:
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} must be an array of numbers, got {_gate.describe(array)}; convert it "
            "with xp.asarray first."
        )
    return array


def checked_rows(array: Any, comm: Any, cuda_aware: bool | None, function: str, argument: str = "array") -> Any:
    """Return an array whose first axis can be divided among ranks, and that MPI can be given."""
    array = checked_array(array, function, argument)
    if array.ndim == 0:
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} must have an axis, got {_gate.describe(array)}; pass {argument}[None]."
        )
    buffer_for(comm, array, cuda_aware, function, send=True, recv=False, argument=argument)
    return array


def checked_root(root: Any, comm: Any, function: str) -> int:
    """Return the rank that an argument names."""
    try:
        rank = operator.index(root)
    except TypeError:
        raise ArgumentTypeError(f"{function}: argument 'root' must be an integer, got {root!r}.") from None
    if not 0 <= rank < comm.size:
        raise ArgumentError(
            f"{function}: argument 'root' is {rank}, and the communicator has {comm.size} ranks, from 0 to "
            f"{comm.size - 1}."
        )
    return rank


def buffer_for(
    comm: Any,
    array: Any,
    cuda_aware: bool | None,
    function: str,
    *,
    send: bool,
    recv: bool,
    argument: str = "array",
) -> Buffer:
    """Check that MPI can be given an array, in a way that is known for the communicator."""
    array = checked_array(array, function, argument)
    if cuda_aware is None and not isinstance(array, np.ndarray):
        cuda_aware = get_mpi_cuda_aware(comm)
    return Buffer(
        array,
        send=send,
        recv=recv,
        cuda_aware=cuda_aware,
        staging=None,
        overwrite=True,
        function=function,
        argument=argument,
    )


def agreed(
    comm: Any, prepared: Callable[[], tuple[Any, tuple[Any, ...]]], check: bool, function: str
) -> tuple[Any, tuple[Any, ...]]:
    """Return what was prepared, and with `check` only where that succeeded, alike, on all ranks."""
    if not check:
        return prepared()
    fault: Exception | None = None
    result: Any = None
    own = np.zeros(2, np.int64)
    try:
        result = prepared()
        own[1] = zlib.crc32(repr(result[1]).encode())
    except Exception as error:  # whatever it is, the others have to know
        fault = error
        own[0] = -1
    everybody = np.zeros((comm.size, 2), np.int64)
    comm.Allgather(own, everybody)
    _raise_faults(fault, everybody, own[1], function)
    return result  # type: ignore[no-any-return]


def kind_of(arrays: list[Any], *others: Any) -> int:
    """Return a number that is the same for arrays of the same dtypes and shapes of one row, and equal other values."""
    kinds = [(array.dtype.str, array.dtype.descr, array.shape[1:]) for array in arrays]
    return zlib.crc32(repr((kinds, others)).encode())


def exchange_counts(
    comm: Any, prepared: Callable[[], tuple[Any, np.ndarray, int]], function: str
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Check the arguments of all ranks, and tell each how much it gets; raise on all where one is at fault.

    `prepared` returns what is to be sent, how much of it to each rank, and its kind.
    """
    fault: Exception | None = None
    given: Any = None
    sending = np.zeros((comm.size, 2), np.int64)
    try:
        given, sending[:, 0], sending[:, 1] = prepared()
    except Exception as error:
        fault = error
        sending[:, 0] = -1
    receiving = np.zeros((comm.size, 2), np.int64)
    comm.Alltoall(sending, receiving)
    _raise_faults(fault, receiving, sending[0, 1], function)
    return given, sending[:, 0].copy(), receiving[:, 0].copy()


def send_rows(
    comm: Any,
    array: Any,
    sending: np.ndarray,
    receiving: np.ndarray,
    cuda_aware: bool | None,
    function: str,
) -> Any:
    """Send the rows of an array, which are in the order of their ranks; return those that came."""
    result = _empty_like(array, (int(receiving.sum()), *array.shape[1:]))
    source = buffer_for(comm, array, cuda_aware, function, send=True, recv=False)
    target = buffer_for(comm, result, cuda_aware, function, send=False, recv=True)
    with opened(source) as sent, opened(target) as received:
        comm.Alltoallv(_rows(sent, sending), _rows(received, receiving))
    return result


@contextmanager
def all_or_none(comm: Any) -> Iterator[None]:
    """End all ranks where one fails after all have agreed, out of memory say: they would wait for it for ever."""
    try:
        yield
    except BaseException:
        if comm.size > 1:
            end_run(comm, [])
        raise


# --- details ----------------------------------------------------------------------------------------------------------


def _raise_faults(fault: Exception | None, received: np.ndarray, kind: int, function: str) -> None:
    """Raise if the arguments of a rank are at fault, or of another kind than those here."""
    if fault is not None:
        raise fault
    for rank, (count, other) in enumerate(received.tolist()):
        if count < 0:
            raise CommunicationError(f"{function}: the arguments on rank {rank} are at fault; nothing was sent.")
        if other != kind:
            raise CommunicationError(
                f"{function}: the arguments on rank {rank} have other dtypes or shapes than those here, or another "
                "root, operation or width; nothing was sent."
            )


def _reduced(comm: Any, array: np.ndarray, operation: Any, package: Any, *, in_place: bool) -> np.ndarray:
    """Combine contiguous arrays of the host, for which nothing has to be copied or waited for."""
    result = array if in_place else np.empty_like(array)
    if comm.size > 1:
        comm.Allreduce(package.IN_PLACE if in_place else array, result, op=operation)
    elif not in_place:
        result[...] = array
    return result


def _gathered(comm: Any, array: Any, root: int | None, cuda_aware: bool | None, function: str) -> Any:
    comm, _ = known(comm, function)
    fault: Exception | None = None
    given: Any = None
    target = None
    own = np.zeros(2, np.int64)
    try:
        if cuda_aware is not None:
            _gate.as_optional_truth(cuda_aware, function=function, argument="cuda_aware")
        target = None if root is None else checked_root(root, comm, function)
        given = checked_rows(array, comm, cuda_aware, function)
        own[:] = len(given), kind_of([given], target)
    except Exception as error:
        fault = error
        own[0] = -1
    everybody = np.zeros((comm.size, 2), np.int64)
    comm.Allgather(own, everybody)
    _raise_faults(fault, everybody, own[1], function)
    with all_or_none(comm):
        return _gathered_rows(comm, given, target, everybody[:, 0], cuda_aware, function)


def _gathered_rows(
    comm: Any, given: Any, target: int | None, counts: np.ndarray, cuda_aware: bool | None, function: str
) -> Any:
    source = buffer_for(comm, given, cuda_aware, function, send=True, recv=False)
    if target not in (None, comm.rank):
        with opened(source) as sent:
            comm.Gatherv(for_mpi(sent), None, root=target)
        return None
    result = _empty_like(given, (int(counts.sum()), *given.shape[1:]))
    buffer = buffer_for(comm, result, cuda_aware, function, send=False, recv=True)
    with opened(source) as sent, opened(buffer) as received:
        rows = _rows(received, counts)
        if target is None:
            comm.Allgatherv(for_mpi(sent), rows)
        else:
            comm.Gatherv(for_mpi(sent), rows, root=target)
    return result


def _rows(content: Any, counts: np.ndarray) -> list[Any]:
    """Describe the rows of a buffer that belong to each rank, one rank's behind the other's."""
    row = int(np.prod(content.shape[1:], dtype=np.int64))
    sizes = counts * (row if content.dtype in OF_MPI else row * content.dtype.itemsize)
    return [for_mpi(content), (sizes.tolist(), (np.cumsum(sizes) - sizes).tolist())]


def _empty_like(array: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(array, np.ndarray):
        return np.empty(shape, array.dtype)
    with array.device:
        return _arrays.get_array_module(array).empty(shape, array.dtype)


def _is_same(first: Any, second: Any) -> bool:
    """Tell whether two arrays are the same elements in the same order."""
    if first is second:
        return True
    if type(first) is not type(second) or first.shape != second.shape or first.strides != second.strides:
        return False
    if isinstance(first, np.ndarray):
        return bool(first.__array_interface__["data"][0] == second.__array_interface__["data"][0])
    return bool(first.data.ptr == second.data.ptr)


def _operation(op: Any, dtype: np.dtype[Any], package: Any) -> Any:
    if not (dtype.kind in _KINDS and dtype.isnative) or dtype == np.float16:
        raise ArgumentTypeError(
            f"allreduce: argument 'array' is of {dtype}, which MPI does not compute with; convert it to bools "
            "or to numbers in the machine's byte order, floating-point ones of 32 bits or more."
        )
    if not isinstance(op, str):
        if not isinstance(op, package.Op):
            raise ArgumentTypeError(
                f"allreduce: argument 'op' must be one of {', '.join(map(repr, _OPERATIONS))} or an operation of the "
                f"communicator's MPI, got {op!r}."
            )
        return op
    if op not in _OPERATIONS:
        raise ArgumentError(
            f"allreduce: argument 'op' must be one of {', '.join(map(repr, _OPERATIONS))} or an MPI.Op, got {op!r}."
        )
    if op not in _KINDS[dtype.kind]:
        raise ArgumentError(
            f"allreduce: argument 'op' is {op!r}, which is not for arrays of {dtype}; for them there is "
            f"{', '.join(map(repr, _KINDS[dtype.kind]))}."
        )
    return getattr(package, _OPERATIONS[op])


def _parts(counts: Any, length: int, ranks: int) -> np.ndarray:
    """Return how many rows each rank gets."""
    if counts is None:
        if length % ranks:
            raise ArgumentError(
                f"alltoall: argument 'array' has {length} entries along its first axis, no multiple of the number of "
                f"ranks, {ranks}; pass 'counts'."
            )
        return np.full(ranks, length // ranks)
    try:
        numbers = [operator.index(count) for count in counts]
    except TypeError:
        raise ArgumentTypeError(f"alltoall: argument 'counts' must be integers, got {_gate.given(counts)}.") from None
    if len(numbers) != ranks or min(numbers, default=0) < 0 or sum(numbers) != length:
        raise ArgumentError(
            f"alltoall: argument 'counts' must be {ranks} numbers of 0 or more, one for each rank, of the sum "
            f"{length}, got {numbers}."
        )
    return np.asarray(numbers, np.int64)
