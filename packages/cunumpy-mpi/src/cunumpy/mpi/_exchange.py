"""Messages to and from several ranks at once."""

from __future__ import annotations

import operator
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError, CommunicationError
from cunumpy.mpi._agreement import agree_on_messages
from cunumpy.mpi._buffers import OF_MPI, Buffer, bytes_of, for_mpi, wait_for_copies
from cunumpy.mpi._cuda_aware import (
    check_one_producer,
    check_producer,
    get_mpi_cuda_aware,
    package_of,
    wait_for_producer,
)
from cunumpy.mpi._serial.communicators import SerialComm

if TYPE_CHECKING:
    from collections.abc import Iterable

_TAGS = 32767  # up to which any MPI library takes tags
_ndarray, _share = np.ndarray, np.may_share_memory
# NumPy's flags of an array: in C order, with memory of its own, aligned, writable.
_C, _OWN, _ALIGNED, _WRITABLE = 0x1, 0x4, 0x100, 0x400
_CARRAY, _OWN_C, _OWN_CARRAY = _C | _ALIGNED | _WRITABLE, _C | _OWN, _C | _OWN | _ALIGNED | _WRITABLE
_nobody: dict[type, int] = {}  # mpi4py's PROC_NULL, by its kinds of communicators of one group that were met


def exchange(
    comm: Any,
    *,
    sends: Iterable[tuple[Any, int, int]] = (),
    receives: Iterable[tuple[Any, int, int]] = (),
    cuda_aware: bool | None = None,
    stream: Any = None,
    event: Any = None,
    return_status: bool = False,
    check: bool = False,
) -> list[Any] | None:
    """Send and receive arrays, of the host or of a device, in one step that can't block itself.

    All receives are posted before the sends, and all are waited for; then what was received is copied to where it
    belongs. Arguments are checked before anything is posted.

    Parameters
    ----------
    comm : communicator
        Of mpi4py, or any object with its ``Irecv``, ``Isend`` and ``Abort``.
    sends : iterable of (array, dest, tag)
        What to send to which rank. Ranks may be ``PROC_NULL``, and the own one.
    receives : iterable of (array, source, tag)
        Where to put what comes from which rank; it has to match a message of that rank in number of bytes, or be
        larger, in which case the rest keeps its values. ``ANY_SOURCE`` and ``ANY_TAG`` are allowed.
    cuda_aware : bool, optional
        Whether MPI takes device memory; by default as recorded.
    stream, event : optional
        The producer of all device arrays, as in `synchronize_for_mpi`.
    return_status : bool, default: False
        Return the ``MPI.Status`` of each receive, which has its source, tag and size.
    check : bool, default: False
        Let all ranks of the communicator compare first what they send and receive. They all have to call this then,
        with `check`. It takes the time of some small messages: for finding mistakes.

    Returns
    -------
    list or None
        The statuses in the order of `receives`, if they were asked for.

    Raises
    ------
    ArgumentError
        An entry that has not three items, a rank or tag out of range, a read-only array to receive, or one that shares
        memory with another array of the call. Nothing was posted.
    ArgumentTypeError
        What is no array, a masked array, Python objects, a rank or tag that is no integer. Nothing was posted.
    CommunicationError
        A device array, and it is not known whether MPI takes it. With `check` on all ranks: the arguments of another
        rank are at fault; a message that nobody receives, or waits for and nobody sends; one that is longer than the
        array for it, or of another dtype. The text names arrays and ranks. Nothing was posted. On the serial stand-in
        always: a message to the own rank that nobody receives.

    Notes
    -----
    Strided arrays and arrays in Fortran order are packed to C order and back, on the host and on the device, so that
    the same program works on both. Host memory for device arrays is page-locked, and comes from CuPy's pool, which
    keeps it for the next exchange.

    An error while messages are under way can't be undone: it is printed to the standard error output, and
    ``comm.Abort(1)`` ends all ranks. With the serial stand-in the messages are taken back, and the error is raised.

    Examples
    --------
    >>> import cunumpy as xp
    >>> def exchange_halo(comm, field):
    ...     left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    ...     xp.mpi.exchange(
    ...         comm,
    ...         sends=[(field[1], left, 0), (field[-2], right, 1)],
    ...         receives=[(field[-1], right, 0), (field[0], left, 1)],
    ...     )
    >>> field = xp.zeros((4, 2))
    >>> field[1:-1] = [[1.0, 2.0], [3.0, 4.0]]
    >>> exchange_halo(xp.mpi.get_mpi().COMM_WORLD, field)
    >>> field
    array([[3., 4.],
           [1., 2.],
           [3., 4.],
           [1., 2.]])
    """
    function = "exchange"
    if check is not False and check is not True:
        check = _gate.as_truth(check, function=function, argument="check")
    if return_status is not False and return_status is not True:
        return_status = _gate.as_truth(return_status, function=function, argument="return_status")
    if cuda_aware is not None and not check:  # with `check` ranks agree on its error
        cuda_aware = _gate.as_optional_truth(cuda_aware, function=function, argument="cuda_aware")
    if not check and event is None:  # as in most calls
        receives, sends = _listed(receives, function, "receives"), _listed(sends, function, "sends")
        nobody = _nobody.get(type(comm))
        pair = nobody is not None and len(receives) == len(sends) == 1 and not return_status
        if pair and _exchange_plainly(comm, nobody, receives[0], sends[0]):
            return None
        package = package_of(comm)
        if package is None and (receives or sends) and not return_status:
            _check_communicator(comm, function)
        packed = _needs_packing(comm, package, receives, sends)
        if packed is not None:
            statuses = [package.Status() for _ in receives] if return_status or packed else None
            (exchange_packed if packed else _communicate)(comm, package, receives, sends, statuses)
            return statuses if return_status else None
    check_one_producer(stream, event, function)
    messages = Messages.ready(function, comm, sends, receives, cuda_aware, stream, event, return_status, check=check)
    try:
        messages.fill(stream, event)
        package = messages.package
        statuses = None if package is None else [package.Status() for _ in messages.targets]
        _communicate(comm, package, messages.posted(messages.targets), messages.posted(messages.sources), statuses)
        messages.copy_back(statuses)
    finally:
        messages.release()
    return statuses if return_status else None


class Messages:
    """What is sent and received in one step. Making it checks the arguments, and changes nothing."""

    def __init__(self, function: str, comm: Any, sends: list[Any], receives: list[Any], cuda_aware: bool | None):
        self.function = function
        if cuda_aware is not None:
            cuda_aware = _gate.as_optional_truth(cuda_aware, function=function, argument="cuda_aware")
        self.package = package = package_of(comm)
        ranks = _size(comm)
        incoming = [
            _checked(entry, function, f"receives[{i}]", "source", ranks, package) for i, entry in enumerate(receives)
        ]
        outgoing = [_checked(entry, function, f"sends[{i}]", "dest", ranks, package) for i, entry in enumerate(sends)]
        self.places = [(rank, tag) for _, rank, tag, _ in (*incoming, *outgoing)]
        self.targets = [_buffer(entry, function, cuda_aware, comm, recv=True) for entry in incoming]
        self.sources = [_buffer(entry, function, cuda_aware, comm, recv=False) for entry in outgoing]
        self.buffers = [*self.targets, *self.sources]
        _check_overlap(function, [(entry[3], entry[0]) for entry in incoming], [(e[3], e[0]) for e in outgoing])
        self.on_device = [buffer.array for buffer in self.buffers if buffer.on_device]
        self.copied = [buffer for buffer in self.buffers if buffer.needs_copy]
        self.copied_back = [(k, buffer) for k, buffer in enumerate(self.targets) if buffer.needs_copy]

    @classmethod
    def ready(
        cls,
        function: str,
        comm: Any,
        sends: Iterable[Any],
        receives: Iterable[Any],
        cuda_aware: bool | None,
        stream: Any = None,
        event: Any = None,
        return_status: bool = False,
        *,
        check: bool,
    ) -> Messages:
        """Check the arguments, and with `check` whether those of all ranks fit, and get memory for all that is copied.

        With `check` all ranks raise where one does, out of memory included.
        """
        fault: Exception | None = None
        messages: Messages | None = None
        try:
            listed = _listed(sends, function, "sends"), _listed(receives, function, "receives")
            messages = cls(function, comm, *listed, cuda_aware)
            if return_status and messages.package is None:
                raise ArgumentError(
                    f"{function}: argument 'return_status' needs a communicator of mpi4py, got {_gate.describe(comm)}."
                )
            if messages.package is None and (listed[0] or listed[1]):
                _check_communicator(comm, function)
            if messages.on_device:
                check_producer(stream, event, function)
            for buffer in messages.copied:
                buffer.lease()
        except Exception as error:
            fault = error
        try:
            if check:
                agree_on_messages(function, comm, fault, messages)
            elif fault is not None:
                raise fault
        except BaseException:
            if messages is not None:
                messages.release()
            raise
        assert messages is not None
        return messages

    def posted(self, buffers: list[Buffer]) -> list[tuple[Any, int, int]]:
        """Return what the communicator is given for the targets or the sources."""
        places = self.places[: len(self.targets)] if buffers is self.targets else self.places[len(self.targets) :]
        return [
            (for_mpi(buffer.content) if buffer.is_array else buffer.content, rank, tag)
            for buffer, (rank, tag) in zip(buffers, places, strict=True)
        ]

    def fill(self, stream: Any, event: Any) -> None:
        """Wait for the producer, and copy what is sent."""
        if self.on_device:
            wait_for_producer(self.on_device, stream, event, self.function)
        for buffer in self.copied:
            buffer.fill()

    def copy_back(self, statuses: list[Any] | None) -> None:
        """Copy what was received to where it belongs."""
        for k, buffer in reversed(self.copied_back):
            count = None if statuses is None else statuses[k].Get_count(self.package.BYTE)
            buffer.copy_back(None if count is None or count < 0 else count)
        if self.copied_back:
            wait_for_copies(self.targets, self.function)

    def release(self) -> None:
        """Give the memory back."""
        for buffer in self.copied:
            buffer.release()


def _communicate(comm: Any, package: Any, receives: list[Any], sends: list[Any], statuses: list[Any] | None) -> None:
    """Post all messages and wait for them."""
    requests: list[Any] = []
    try:
        if len(receives) == len(sends) == 1 and package is not None and package is sys.modules.get("mpi4py.MPI"):
            (target, source, recvtag), (array, dest, sendtag) = receives[0], sends[0]
            status = None if statuses is None else statuses[0]
            comm.Sendrecv(array, dest, sendtag, target, source, recvtag, status)
            return
        for target, source, tag in receives:
            requests.append(comm.Irecv(target, source=source, tag=tag))
        for array, dest, tag in sends:
            requests.append(comm.Isend(array, dest=dest, tag=tag))
        refuse_unreceived(comm, requests[len(receives) :], "exchange")
        for number, request in enumerate(requests):
            if statuses is None or number >= len(statuses):
                request.Wait()
            else:
                request.Wait(statuses[number])
    except BaseException:
        end_run(comm, requests)
        raise


def refuse_unreceived(comm: Any, sends: list[Any], function: str) -> None:
    """Raise on the serial stand-in if nobody receives a message to the own rank, for which MPI may wait forever.

    `sends` are the requests of the messages.
    """
    if isinstance(comm, SerialComm) and (found := comm._unreceived(sends)):
        raise CommunicationError(
            f"{function}: would wait forever: 'sends[{found[0]}]' goes to the own rank, and nobody receives it; give "
            "its receive in the same call."
        )


def end_run(comm: Any, requests: list[Any]) -> None:
    """End all ranks after an error while messages were under way; take them back where there is one process."""
    if isinstance(comm, SerialComm):  # nobody else has seen anything
        comm._withdraw(requests)
        return
    # Whoever only sees the run end must be able to read why; Abort does not return with every communicator. Launchers
    # may drop what they have not passed on by then: MPICH's did so once in some runs, after the first line.
    sys.stderr.write(traceback.format_exc())
    sys.stderr.flush()
    time.sleep(0.5)
    comm.Abort(1)


def exchange_packed(
    comm: Any, package: Any, receives: list[Any], sends: list[Any], statuses: list[Any] | None = None
) -> None:
    """Exchange host arrays with any strides, of types that MPI has, in which all was found in order."""
    if statuses is None:
        statuses = [package.Status() for _ in receives]
    targets = [
        entry if entry[0].flags.c_contiguous else (np.empty(entry[0].shape, entry[0].dtype), *entry[1:])
        for entry in receives
    ]
    sources = [(np.ascontiguousarray(array) if array.ndim else array, rank, tag) for array, rank, tag in sends]
    _communicate(comm, package, targets, sources, statuses)
    for (array, _, _), (content, _, _), status in zip(receives, targets, statuses, strict=True):
        if content is not array:
            count = status.Get_count(package.BYTE)
            if 0 <= count < array.nbytes:  # the rest keeps its values
                kept = np.ascontiguousarray(array)
                bytes_of(kept)[:count] = bytes_of(content)[:count]
                content = kept
            np.copyto(array, content)


def _exchange_plainly(comm: Any, nobody: int | None, receive: Any, send: Any) -> bool:
    """Exchange two whole arrays of the host by ``Sendrecv``, if they can be; tell whether that was done.

    All of it is asked in each call, and is what an exchange takes beside MPI: with the caches full of the arrays that
    were sent, each thing that is looked at counts.
    """
    try:
        target, source, recvtag = receive
        array, dest, sendtag = send
    except (TypeError, ValueError):
        return False
    if not (
        type(target) is type(array) is _ndarray
        and type(source) is type(dest) is type(recvtag) is type(sendtag) is int
        and target is not array
        and target.flags.num & _OWN_CARRAY == _OWN_CARRAY
        and array.flags.num & _OWN_C == _OWN_C
        and (dtype := target.dtype) in OF_MPI
        and (array.dtype is dtype or array.dtype in OF_MPI)
        and 0 <= recvtag <= _TAGS
        and 0 <= sendtag <= _TAGS
    ):
        return False
    ranks = comm.size
    if not ((0 <= source < ranks or source == nobody) and (0 <= dest < ranks or dest == nobody)):
        return False
    try:
        comm.Sendrecv(array, dest, sendtag, target, source, recvtag)
    except BaseException:
        end_run(comm, [])
        raise
    return True


def _needs_packing(comm: Any, package: Any, receives: list[Any], sends: list[Any]) -> bool | None:
    """Tell whether arrays have to be packed, if all are of the host, of types that MPI has, and in order; else None.

    It is asked in each call, and its time is what an exchange takes beside MPI.
    """
    if package is None or len(receives) + len(sends) > 8:
        return None
    ranks = _size(comm)
    if ranks is None:
        return None
    kind = type(comm)
    if kind.__module__ == "mpi4py.MPI" and issubclass(kind, package.Intracomm):
        _nobody[kind] = package.PROC_NULL
    targets: list[np.ndarray] = []
    packed = False
    own = True  # whether they all have their memory to themselves
    try:
        for entries in (receives, sends):
            for array, rank, tag in entries:
                if type(array) is not _ndarray or type(rank) is not int or type(tag) is not int:
                    return None
                flags = array.flags.num
                if flags & _CARRAY != _CARRAY:
                    if entries is receives and (not array.flags.behaved or _gate.overlaps_itself(array)):
                        return None
                    packed = packed or not flags & _C
                if array.dtype not in OF_MPI or not 0 <= tag <= _TAGS:
                    return None
                if not (0 <= rank < ranks or rank == package.PROC_NULL):
                    return None
                own = own and bool(flags & _OWN)
                for other in targets:
                    if array is other or (not own and _share(array, other)):
                        return None
                if entries is receives:
                    targets.append(array)
    except (TypeError, ValueError):
        return None
    return packed


def _size(comm: Any) -> int | None:
    """Return how many ranks a communicator reaches, if it tells."""
    size = getattr(comm, "remote_size" if getattr(comm, "is_inter", False) is True else "size", None)
    return size if isinstance(size, int) else None


def _checked(
    entry: Any, function: str, argument: str, peer: str, ranks: int | None, package: Any
) -> tuple[Any, int, int, str]:
    """Return the array, rank and tag of an entry, and the argument's name."""
    try:
        array, rank, tag = entry
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{function}: argument {argument!r} must be (array, {peer}, tag), got {_shown(entry)}."
        ) from None
    rank = _number(rank, function, argument, peer)
    tag = _number(tag, function, argument, "tag")
    if rank < 0 and package is not None:
        wild = ("PROC_NULL", "ANY_SOURCE") if peer == "source" else ("PROC_NULL",)
        if rank not in [getattr(package, name, None) for name in wild]:
            raise ArgumentError(f"{function}: argument {argument!r} has the {peer} {rank}; a rank is not negative.")
    if tag < 0 and package is not None and not (peer == "source" and tag == getattr(package, "ANY_TAG", None)):
        raise ArgumentError(f"{function}: argument {argument!r} has the tag {tag}; a tag is not negative.")
    if tag > _TAGS and tag > (largest := _largest_tag(package)):
        raise ArgumentError(
            f"{function}: argument {argument!r} has the tag {tag}; the MPI library takes tags up to {largest}."
        )
    if ranks is not None and rank >= ranks:
        raise ArgumentError(
            f"{function}: argument {argument!r} has the {peer} {rank}, and the communicator has {ranks} ranks, from 0 "
            f"to {ranks - 1}."
        )
    return array, rank, tag, argument


def _largest_tag(package: Any) -> int:
    world, key = getattr(package, "COMM_WORLD", None), getattr(package, "TAG_UB", None)
    largest = None if world is None or key is None else world.Get_attr(key)
    return 2**31 - 1 if largest is None else int(largest)  # a C int


def _number(value: Any, function: str, argument: str, what: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} has the {what} {value!r}, which is not an integer."
        ) from None


def _buffer(
    entry: tuple[Any, int, int, str], function: str, cuda_aware: bool | None, comm: Any, *, recv: bool
) -> Buffer:
    array, _, _, argument = entry
    if cuda_aware is None and not isinstance(array, np.ndarray):
        cuda_aware = get_mpi_cuda_aware(comm)
    buffer = Buffer(
        array,
        send=not recv,
        recv=recv,
        cuda_aware=cuda_aware,
        staging=None,
        overwrite=True,
        function=function,
        argument=argument,
    )
    if not buffer.is_array:
        # With a type, as in [buffer, count, MPI.DOUBLE], it is the communicator's to read.
        memory = array
        if isinstance(array, (list, tuple)) and 1 < len(array) < 5:
            memory = array[0]
            _gate.refuse_masked(memory, function=function, argument=f"{argument}[0][0]")
        try:
            view = memoryview(memory)
        except (TypeError, ValueError):
            raise ArgumentTypeError(
                f"{function}: argument {argument!r} has {_shown(array)} in the place of an array; convert it with "
                "xp.asarray first."
            ) from None
        if recv and view.readonly:
            raise ArgumentError(f"{function}: argument {argument!r} is written to, but its buffer is read-only.")
    return buffer


def _check_overlap(function: str, received: list[tuple[str, Any]], sent: list[tuple[str, Any]]) -> None:
    """Raise `ArgumentError` if an array that is received shares memory with another array of the call."""
    arrays = [(*_extent(array), name, array) for name, array in (*received, *sent)]
    written = {name for name, _ in received}
    open_arrays: list[tuple[int, int, str, Any]] = []
    for low, high, name, array in sorted(
        (entry for entry in arrays if entry[0] < entry[1]), key=lambda entry: entry[:2]
    ):
        open_arrays = [other for other in open_arrays if other[1] > low]
        for _, _, other_name, other in open_arrays:
            if (name in written or other_name in written) and _gate.overlap(array, other):
                first, second = sorted((name, other_name))
                raise ArgumentError(
                    f"{function}: arguments {first!r} and {second!r} share memory, and one of them is received while "
                    "the other is in use; receive into an array of its own."
                )
        open_arrays.append((low, high, name, array))


def _extent(array: Any) -> tuple[int, int]:
    """Return the first address of an array and the one behind its last; equal where that is unknown or it is empty."""
    if isinstance(array, np.ndarray):
        if not array.flags.c_contiguous:
            return np.lib.array_utils.byte_bounds(array) if array.size else (0, 0)
        low = array.__array_interface__["data"][0]
        return low, low + array.nbytes
    pointer = getattr(getattr(array, "data", None), "ptr", None)
    if pointer is None or array.size == 0:
        return 0, 0
    low = high = int(pointer)
    for size, stride in zip(array.shape, array.strides, strict=True):
        low, high = (low + (size - 1) * stride, high) if stride < 0 else (low, high + (size - 1) * stride)
    return low, high + array.dtype.itemsize


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else _gate.describe(value)


def _check_communicator(comm: Any, function: str) -> None:
    if isinstance(comm, type) or not (hasattr(comm, "Irecv") and hasattr(comm, "Isend")):
        raise ArgumentTypeError(
            f"{function}: argument 'comm' must be a communicator, as get_mpi().COMM_WORLD, got {_gate.given(comm)}."
        )


def _listed(messages: Any, function: str, argument: str) -> list[Any]:
    if isinstance(messages, (list, tuple)):
        return list(messages)
    if isinstance(messages, (str, bytes, type)) or not hasattr(messages, "__iter__"):
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} must be a list of (array, rank, tag), got {_gate.given(messages)}."
        )
    return list(messages)
