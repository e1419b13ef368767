"""Messages of a process to itself: what was sent and not received, and the receives that wait.

Messages are matched as MPI does it: in the order in which they were sent, with the receives in the order in which they
were posted, by their tags.
"""

from __future__ import annotations

from threading import RLock
from typing import Any, ClassVar

from cunumpy.errors import ArgumentTypeError
from cunumpy.mpi._serial import buffers, specs
from cunumpy.mpi._serial.checks import integer, wrong_type
from cunumpy.mpi._serial.constants import ANY_SOURCE, ANY_TAG, PROC_NULL, UB, own
from cunumpy.mpi._serial.exceptions import error, no_pickle, would_wait
from cunumpy.mpi._serial.pickling import PICKLE
from cunumpy.mpi._serial.requests import SerialRequest, SerialStatus, check_status

EAGER = 1024
"""Bytes up to which a send is finished before somebody receives it: Open MPI's limit; MPI itself promises nothing."""

OBJECT_BYTES = 32768
"""Bytes that `irecv` can take unless it is given a buffer; mpi4py's default."""


class Message:
    """A message under way. As ``MPI.Message`` it was matched by a probe, and can be received once."""

    def __init__(self, tag: int, content: Any, source: buffers.Buffer | None) -> None:
        self.tag = tag
        self.content = content  # packed bytes; those of a pickle for an object
        self.source = source  # None for an object
        self.sender: SerialRequest | None = None
        self.status: SerialStatus = SerialStatus()
        self.status.source, self.status.tag, self.status.count = 0, tag, len(content)
        self._state = "under way"  # then "matched" by a probe, and "null"

    def __bool__(self) -> bool:
        return self._state == "matched"

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Message) and not self and not other)

    __hash__: ClassVar[None]  # type: ignore[assignment]
    __reduce__ = no_pickle

    def __repr__(self) -> str:
        return f"SerialMPI.Message(tag={self.tag}, {len(self.content)} bytes, {self._state})"

    def free(self) -> None:
        """Do nothing: a message is given up by its receive."""

    def arrive(self) -> None:
        """Finish the send."""
        if self.sender is not None and not self.sender._complete:
            self.sender._finish()

    def Recv(self, buf: Any, status: SerialStatus | None = None) -> None:
        """Receive the message into a buffer."""
        function = "Message.Recv"
        check_status(status, function)
        self._receive(function, buf)._finished(status, function)

    def Irecv(self, buf: Any) -> SerialRequest:
        """Receive the message into a buffer, without waiting."""
        return self._receive("Message.Irecv", buf)

    def _receive(self, function: str, buf: Any) -> SerialRequest:
        target = specs.simple(buf, function, "buf", write=True)
        return self._deliver(Posted(self.tag, target, function))

    def recv(self, status: SerialStatus | None = None) -> Any:
        """Receive the object of the message."""
        function = "Message.recv"
        check_status(status, function)
        return self._deliver(Posted(self.tag, None, function))._finished(status, function)

    def irecv(self) -> SerialRequest:
        """Receive the object of the message, without waiting."""
        return self._deliver(Posted(self.tag, None, "Message.irecv"))

    def _deliver(self, posted: Posted) -> SerialRequest:
        if self is MESSAGE_NO_PROC:
            posted.request._finish(no_process(), result=None)
            return posted.request
        if not self:
            raise error("REQUEST", f"{posted.function}: the message is null: it was received already.")
        self._state = "null"
        deliver(self, posted)
        return posted.request

    @classmethod
    def Probe(cls, comm: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Any = None) -> Message:
        """Wait for a message, and take it out for a receive of its own."""
        return _probed("Message.Probe", comm, source, tag, status)

    @classmethod
    def Iprobe(cls, comm: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Any = None) -> Message | None:
        """Take a message out for a receive of its own, if there is one."""
        return _looked("Message.Iprobe", comm, source, tag, status)

    @classmethod
    def probe(cls, comm: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Any = None) -> Message:
        """Do `Probe`."""
        return _probed("Message.probe", comm, source, tag, status)

    @classmethod
    def iprobe(cls, comm: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Any = None) -> Message | None:
        """Do `Iprobe`."""
        return _looked("Message.iprobe", comm, source, tag, status)


def _probed(function: str, comm: Any, source: int, tag: int, status: Any) -> Message:
    found: Message = _messages_of(comm, function)._found(function, source, tag, status, take=True)
    return found


def _looked(function: str, comm: Any, source: int, tag: int, status: Any) -> Message | None:
    found: Message | None = _messages_of(comm, function)._look(function, source, tag, status, take=True)
    return found


def _messages_of(comm: Any, function: str) -> Any:
    if not isinstance(getattr(comm, "_box", None), Mailbox):
        raise wrong_type(function, "comm", "a communicator of the stand-in, such as MPI.COMM_WORLD", comm)
    return comm


MESSAGE_NULL = Message(ANY_TAG, b"", None)
MESSAGE_NULL._state = "null"
MESSAGE_NO_PROC = Message(ANY_TAG, b"", None)
MESSAGE_NO_PROC._state = "matched"
MESSAGE_NO_PROC.status.source = PROC_NULL


class Posted:
    """A receive that waits for its message: into a buffer, or of an object."""

    def __init__(self, tag: int, target: buffers.Buffer | None, function: str, limit: int | None = None) -> None:
        self.tag = tag
        self.target = target
        self.function = function
        self.limit = limit  # bytes of an object
        text = "any tag" if tag == ANY_TAG else f"tag {tag}"
        self.request = SerialRequest(complete=False, waiting_for=f"a message to the own rank with {text}")


def no_process() -> SerialStatus:
    """Return the status of a receive from nobody."""
    status = SerialStatus()
    status.source = PROC_NULL
    return status


def deliver(message: Message, posted: Posted) -> None:
    """Hand a message to a receive, and finish both."""
    status = SerialStatus(message.status)
    failure: Exception | None = None
    result = None
    try:
        if (message.source is None) != (posted.target is None):
            raise ArgumentTypeError(
                f"{posted.function}: the message with tag {message.tag} is "
                + ("a Python object" if message.source is None else "of a buffer")
                + ", and was to be received "
                + (
                    "as an object; use Recv for buffers."
                    if posted.target is None
                    else "into a buffer; use recv for objects."
                )
            )
        if posted.target is not None:
            _store(message, posted.target, posted.function)
        else:
            if posted.limit is not None and len(message.content) > posted.limit:
                raise error(
                    "TRUNCATE",
                    f"{posted.function}: the object has {len(message.content)} bytes and would be truncated to "
                    f"{posted.limit}; give irecv a larger buffer, as in irecv(bytearray(10**6), source=0), or use "
                    "recv.",
                )
            result = PICKLE.loads(message.content)
    except Exception as caught:  # it is raised by who waits for the receive
        failure = caught
    message.arrive()
    posted.request._finish(status, failure, result)


def _store(message: Message, target: buffers.Buffer, function: str) -> None:
    assert message.source is not None
    if len(message.content) > target.nbytes:
        raise error(
            "TRUNCATE",
            f"{function}: argument {target.name!r} is too small: the message with tag {message.tag} has "
            f"{len(message.content)} bytes and would be truncated to {target.nbytes}.",
        )
    buffers.check_types(message.source, target, function)
    target.store(message.content, function)


class Mailbox:
    """The messages and posted receives of one communicator."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.posted: list[Posted] = []
        self.lock = RLock()

    def send(self, message: Message, mode: str) -> SerialRequest:
        """Send a message: ``"standard"``, ``"buffered"``, ``"synchronous"`` or ``"ready"``."""
        request = message.sender = SerialRequest(
            complete=False, waiting_for=f"a receive of the message with tag {message.tag} to the own rank"
        )
        request._message = message
        with self.lock:
            for posted in self.posted:
                if posted.tag in (ANY_TAG, message.tag):
                    self.posted.remove(posted)
                    deliver(message, posted)
                    return request
            self.messages.append(message)
            if mode == "buffered" or (mode != "synchronous" and len(message.content) <= EAGER):
                request._finish()
            else:
                request._withdraw = lambda: self.take_back(message)
        return request

    def take_back(self, message: Message) -> bool:
        """Take a message back that nobody has received."""
        with self.lock:
            kept = [each for each in self.messages if each is not message]
            found = len(kept) < len(self.messages)
            self.messages = kept
            return found

    def receive(self, posted: Posted) -> SerialRequest:
        """Receive the first message that fits, or wait for it."""
        with self.lock:
            message = self.find(posted.tag)
            if message is not None:
                self.messages = [each for each in self.messages if each is not message]
                message._state = "null"
                deliver(message, posted)
            else:
                self.posted.append(posted)
                posted.request._withdraw = lambda: self.withdraw(posted)
        return posted.request

    def withdraw(self, posted: Posted) -> bool:
        """Take a receive back that no message has come for."""
        with self.lock:
            if posted not in self.posted:
                return False
            self.posted.remove(posted)
            return True

    def find(self, tag: int) -> Message | None:
        """Return the first message with a tag."""
        return next((each for each in self.messages if tag in (ANY_TAG, each.tag)), None)

    def match(self, tag: int) -> Message | None:
        """Take the first message with a tag out, for a receive of its own."""
        with self.lock:
            message = self.find(tag)
            if message is not None:
                self.messages = [each for each in self.messages if each is not message]
                message._state = "matched"
            return message


# --- arguments --------------------------------------------------------------------------------------------------------


def checked_dest(value: Any, function: str, argument: str = "dest") -> int:
    """Return the rank to send to: 0 or PROC_NULL."""
    rank = own(integer(value, function, argument), "PROC_NULL")
    if rank not in (0, PROC_NULL):
        raise _bad_rank(rank, function, argument)
    return rank


def checked_source(value: Any, function: str, argument: str = "source") -> int:
    """Return the rank to receive from: 0, ANY_SOURCE or PROC_NULL."""
    rank = own(integer(value, function, argument), "PROC_NULL", "ANY_SOURCE")
    if rank not in (0, PROC_NULL, ANY_SOURCE):
        raise _bad_rank(rank, function, argument)
    return rank


def _bad_rank(rank: int, function: str, argument: str) -> Exception:
    names = "MPI.PROC_NULL" if argument == "dest" else "MPI.PROC_NULL and MPI.ANY_SOURCE"
    return error(
        "RANK", f"{function}: argument {argument!r} is {rank}; a run of one process has only rank 0, and {names}."
    )


def checked_tag(value: Any, function: str, argument: str = "tag", *, receives: bool = False) -> int:
    """Return a tag."""
    tag = integer(value, function, argument)
    if receives:
        tag = own(tag, "ANY_TAG")
        if tag == ANY_TAG:
            return tag
    if not 0 <= tag <= UB:
        raise error("TAG", f"{function}: argument {argument!r} is {tag}; a tag is from 0 to {UB}.")
    return tag


def check_finished(request: SerialRequest, function: str, what: str) -> None:
    """Raise where a blocking call would wait for ever, and take back what it did."""
    if not request._complete:
        if request._withdraw is not None:
            request._withdraw()
        raise would_wait(function, what)
