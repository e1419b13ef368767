"""Messages between two processes of a communicator, here of the only one to itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cunumpy.mpi._serial import buffers, messages, specs
from cunumpy.mpi._serial.checks import integer
from cunumpy.mpi._serial.constants import ANY_SOURCE, ANY_TAG, PROC_NULL
from cunumpy.mpi._serial.exceptions import would_wait
from cunumpy.mpi._serial.messages import MESSAGE_NO_PROC, Mailbox, Message, Posted
from cunumpy.mpi._serial.pickling import pickled
from cunumpy.mpi._serial.requests import SerialPrequest, SerialRequest, SerialStatus, check_status, fill

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_UNSENT = (
    "no receive was posted for the message, and MPI buffers only short ones. Post the receive first (Irecv), use "
    "Sendrecv, or send without waiting (Isend, isend)."
)
_UNRECEIVED = "no such message was sent to the own rank. Send it first (Isend, isend), or use Sendrecv."
_attached: list[Any] = []  # memory for buffered sends


class PointToPoint:
    """The messages of a communicator of one process."""

    _box: Mailbox
    _check: Callable[[str], None]

    # --- messages of buffers

    def _isend(self, function: str, buf: Any, dest: int, tag: int, mode: str) -> SerialRequest:
        self._check(function)
        rank = messages.checked_dest(dest, function)
        tag = messages.checked_tag(tag, function)
        if rank == PROC_NULL:
            return SerialRequest()
        source = specs.simple(buf, function, "buf", write=False)
        return self._box.send(Message(tag, source.load(), source), mode)

    def _send(self, function: str, buf: Any, dest: int, tag: int, mode: str) -> None:
        request = self._isend(function, buf, dest, tag, mode)
        messages.check_finished(request, function, _UNSENT)
        request._collect(None, function)

    def _irecv(self, function: str, buf: Any, source: int, tag: int) -> SerialRequest:
        self._check(function)
        rank = messages.checked_source(source, function)
        tag = messages.checked_tag(tag, function, receives=True)
        if rank == PROC_NULL:
            request = SerialRequest()
            request._status = messages.no_process()
            return request
        return self._box.receive(Posted(tag, specs.simple(buf, function, "buf", write=True), function))

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer."""
        self._send("comm.Send", buf, dest, tag, "standard")

    def Bsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer; the message is copied."""
        self._send("comm.Bsend", buf, dest, tag, "buffered")

    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer, and wait until it is received."""
        self._send("comm.Ssend", buf, dest, tag, "synchronous")

    def Rsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer, for which a receive was posted."""
        self._send("comm.Rsend", buf, dest, tag, "ready")

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> SerialRequest:
        """Send a buffer, without waiting."""
        return self._isend("comm.Isend", buf, dest, tag, "standard")

    def Ibsend(self, buf: Any, dest: int, tag: int = 0) -> SerialRequest:
        """Send a buffer, without waiting; the message is copied."""
        return self._isend("comm.Ibsend", buf, dest, tag, "buffered")

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> SerialRequest:
        """Send a buffer, without waiting; the request is finished when it is received."""
        return self._isend("comm.Issend", buf, dest, tag, "synchronous")

    def Irsend(self, buf: Any, dest: int, tag: int = 0) -> SerialRequest:
        """Send a buffer, without waiting, for which a receive was posted."""
        return self._isend("comm.Irsend", buf, dest, tag, "ready")

    def Recv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: SerialStatus | None = None) -> None:
        """Receive into a buffer."""
        check_status(status, "comm.Recv")
        request = self._irecv("comm.Recv", buf, source, tag)
        messages.check_finished(request, "comm.Recv", _UNRECEIVED)
        request._collect(status, "comm.Recv")

    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> SerialRequest:
        """Receive into a buffer, without waiting."""
        return self._irecv("comm.Irecv", buf, source, tag)

    def Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: SerialStatus | None = None,
    ) -> None:
        """Send one buffer and receive into another, in one step that can't block itself."""
        function = "comm.Sendrecv"
        check_status(status, function)
        self._pair(function, sendbuf, dest, sendtag, recvbuf, source, recvtag)._finished(status, function)

    def Isendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
    ) -> SerialRequest:
        """Send one buffer and receive into another, without waiting."""
        return self._pair("comm.Isendrecv", sendbuf, dest, sendtag, recvbuf, source, recvtag)

    def Sendrecv_replace(
        self,
        buf: Any,
        dest: int,
        sendtag: int = 0,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: SerialStatus | None = None,
    ) -> None:
        """Send a buffer, and receive into the same one."""
        function = "comm.Sendrecv_replace"
        check_status(status, function)
        names = ("buf", "buf")
        self._pair(function, buf, dest, sendtag, buf, source, recvtag, names)._finished(status, function)

    def Isendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: int = ANY_SOURCE, recvtag: int = ANY_TAG
    ) -> SerialRequest:
        """Send a buffer, and receive into the same one, without waiting."""
        names = ("buf", "buf")
        return self._pair("comm.Isendrecv_replace", buf, dest, sendtag, buf, source, recvtag, names)

    def _pair(
        self,
        function: str,
        sendbuf: Any,
        dest: int,
        sendtag: int,
        recvbuf: Any,
        source: int,
        recvtag: int,
        names: tuple[str, str] = ("sendbuf", "recvbuf"),
    ) -> SerialRequest:
        self._check(function)
        to, sendtag = messages.checked_dest(dest, function), messages.checked_tag(sendtag, function, "sendtag")
        of, recvtag = (
            messages.checked_source(source, function),
            messages.checked_tag(recvtag, function, "recvtag", receives=True),
        )
        message = target = None
        if to != PROC_NULL:
            sent = specs.simple(sendbuf, function, names[0], write=False)
            message = Message(sendtag, sent.load(), sent)
        if of != PROC_NULL:
            target = specs.simple(recvbuf, function, names[1], write=True)
        receive = SerialRequest()
        if target is None:
            receive._status = messages.no_process()
        else:
            receive = self._box.receive(Posted(recvtag, target, function))
        send = self._box.send(message, "standard") if message is not None else SerialRequest()
        return _Pair(receive, send, self._box, message)

    def Probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: SerialStatus | None = None) -> bool:
        """Wait for a message; it can be received afterwards."""
        self._found("comm.Probe", source, tag, status, take=False)
        return True

    def Iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: SerialStatus | None = None) -> bool:
        """Tell whether there is a message."""
        return self._look("comm.Iprobe", source, tag, status, take=False) is not None

    def Mprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: SerialStatus | None = None) -> Message:
        """Wait for a message, and take it out for a receive of its own."""
        return self._found("comm.Mprobe", source, tag, status, take=True)

    def Improbe(
        self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: SerialStatus | None = None
    ) -> Message | None:
        """Take a message out for a receive of its own, if there is one."""
        return self._look("comm.Improbe", source, tag, status, take=True)

    def probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: SerialStatus | None = None) -> bool:
        """Do `Probe`."""
        self._found("comm.probe", source, tag, status, take=False)
        return True

    def iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: SerialStatus | None = None) -> bool:
        """Do `Iprobe`."""
        return self._look("comm.iprobe", source, tag, status, take=False) is not None

    def mprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: SerialStatus | None = None) -> Message:
        """Do `Mprobe`."""
        return self._found("comm.mprobe", source, tag, status, take=True)

    def improbe(
        self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: SerialStatus | None = None
    ) -> Message | None:
        """Do `Improbe`."""
        return self._look("comm.improbe", source, tag, status, take=True)

    def _look(self, function: str, source: int, tag: int, status: Any, *, take: bool) -> Message | None:
        self._check(function)
        check_status(status, function)
        tag = messages.checked_tag(tag, function, receives=True)
        if messages.checked_source(source, function) == PROC_NULL:
            message: Message | None = MESSAGE_NO_PROC
        else:
            message = self._box.match(tag) if take else self._box.find(tag)
        if message is not None:
            fill(status, message.status, function)
        return message

    def _found(self, function: str, source: int, tag: int, status: Any, *, take: bool) -> Message:
        message = self._look(function, source, tag, status, take=take)
        if message is None:
            raise would_wait(function, _UNRECEIVED)
        return message

    # --- messages of objects

    def _send_object(self, function: str, obj: Any, dest: int, tag: int, mode: str) -> SerialRequest:
        self._check(function)
        rank = messages.checked_dest(dest, function)
        tag = messages.checked_tag(tag, function)
        if rank == PROC_NULL:
            return SerialRequest()
        return self._box.send(Message(tag, pickled(obj, function, "obj"), None), mode)

    def _blocking_object(self, function: str, obj: Any, dest: int, tag: int, mode: str) -> None:
        request = self._send_object(function, obj, dest, tag, mode)
        messages.check_finished(request, function, _UNSENT)

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object."""
        self._blocking_object("comm.send", obj, dest, tag, "standard")

    def bsend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object; the message is copied."""
        self._blocking_object("comm.bsend", obj, dest, tag, "buffered")

    def ssend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object, and wait until it is received."""
        self._blocking_object("comm.ssend", obj, dest, tag, "synchronous")

    def isend(self, obj: Any, dest: int, tag: int = 0) -> SerialRequest:
        """Send an object, without waiting."""
        return self._send_object("comm.isend", obj, dest, tag, "standard")

    def ibsend(self, obj: Any, dest: int, tag: int = 0) -> SerialRequest:
        """Send an object, without waiting; the message is copied."""
        return self._send_object("comm.ibsend", obj, dest, tag, "buffered")

    def issend(self, obj: Any, dest: int, tag: int = 0) -> SerialRequest:
        """Send an object, without waiting; the request is finished when it is received."""
        return self._send_object("comm.issend", obj, dest, tag, "synchronous")

    def recv(
        self,
        buf: Any = None,
        source: int = ANY_SOURCE,
        tag: int = ANY_TAG,
        status: SerialStatus | None = None,
    ) -> Any:
        """Receive an object, and return it."""
        check_status(status, "comm.recv")
        request = self._recv_object("comm.recv", source, tag, None)
        messages.check_finished(request, "comm.recv", _UNRECEIVED)
        return request._collect(status, "comm.recv")

    def irecv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> SerialRequest:
        """Receive an object, without waiting; the request's `wait` returns it.

        Parameters
        ----------
        buf : int or writable buffer, optional
            Room for the pickled object, as bytes or their number; by default for 32768, and a larger one is an error.
        source, tag : int, optional
            Of the message.
        """
        if buf is None:
            room = messages.OBJECT_BYTES
        elif isinstance(buf, int):
            room = integer(buf, "comm.irecv", "buf", least=0, wrong="COUNT")
        else:
            room = len(specs.memory_of(buf, "comm.irecv", "buf", write=True)[0])
        return self._recv_object("comm.irecv", source, tag, room)

    def _recv_object(
        self, function: str, source: int, tag: int, limit: int | None, name_of_tag: str = "tag"
    ) -> SerialRequest:
        self._check(function)
        rank = messages.checked_source(source, function)
        tag = messages.checked_tag(tag, function, name_of_tag, receives=True)
        if rank == PROC_NULL:
            request = SerialRequest()
            request._status = messages.no_process()
            return request
        return self._box.receive(Posted(tag, None, function, limit))

    def sendrecv(
        self,
        sendobj: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: SerialStatus | None = None,
    ) -> Any:
        """Send one object and receive another, in one step that can't block itself."""
        function = "comm.sendrecv"
        self._check(function)
        check_status(status, function)
        to, sendtag = messages.checked_dest(dest, function), messages.checked_tag(sendtag, function, "sendtag")
        message = None if to == PROC_NULL else Message(sendtag, pickled(sendobj, function, "sendobj"), None)
        receive = self._recv_object(function, source, recvtag, None, "recvtag")
        send = SerialRequest() if message is None else self._box.send(message, "standard")
        return _Pair(receive, send, self._box, message)._finished(status, function)

    def _withdraw(self, requests: Sequence[SerialRequest]) -> None:
        """Take back receives and messages that nothing has answered."""
        for given in requests:
            request = given
            if isinstance(given, SerialPrequest):
                if given._under_way is None:
                    continue
                request, given._under_way = given._under_way, None
            if not request._done():
                request._cancel()
            if request._message is not None:
                self._box.take_back(request._message)
            if request:
                request._retire()

    def _unreceived(self, requests: Sequence[SerialRequest]) -> list[int]:
        """Return which of the sends nobody has received."""
        under_way = [each._under_way if isinstance(each, SerialPrequest) else each for each in requests]
        return [
            number
            for number, request in enumerate(under_way)
            if request is not None and any(request._message is message for message in self._box.messages)
        ]

    # --- persistent messages

    def _send_init(self, name: str, buf: Any, dest: int, tag: int, mode: str) -> SerialPrequest:
        function = f"comm.{name}"
        self._check(function)
        rank, tag = messages.checked_dest(dest, function), messages.checked_tag(tag, function)
        if rank == PROC_NULL:
            return SerialPrequest(SerialRequest, name)
        source = specs.simple(buf, function, "buf", write=False)
        return SerialPrequest(lambda: self._box.send(Message(tag, source.load(), source), mode), name)

    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> SerialPrequest:
        """Return a persistent request for a send."""
        return self._send_init("Send_init", buf, dest, tag, "standard")

    def Bsend_init(self, buf: Any, dest: int, tag: int = 0) -> SerialPrequest:
        """Return a persistent request for a send that is copied."""
        return self._send_init("Bsend_init", buf, dest, tag, "buffered")

    def Ssend_init(self, buf: Any, dest: int, tag: int = 0) -> SerialPrequest:
        """Return a persistent request for a send that is finished when it is received."""
        return self._send_init("Ssend_init", buf, dest, tag, "synchronous")

    def Rsend_init(self, buf: Any, dest: int, tag: int = 0) -> SerialPrequest:
        """Return a persistent request for a send for which a receive was posted."""
        return self._send_init("Rsend_init", buf, dest, tag, "ready")

    def Recv_init(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> SerialPrequest:
        """Return a persistent request for a receive."""
        function = "comm.Recv_init"
        self._check(function)
        rank = messages.checked_source(source, function)
        tag = messages.checked_tag(tag, function, receives=True)
        if rank == PROC_NULL:
            return SerialPrequest(lambda: self._irecv(function, buf, PROC_NULL, tag), "Recv_init")
        target = specs.simple(buf, function, "buf", write=True)
        return SerialPrequest(lambda: self._box.receive(Posted(tag, target, function)), "Recv_init")

    # --- buffered sends: the stand-in copies every one

    @classmethod
    def Attach_buffer(cls, buf: Any) -> None:
        """Give memory for buffered sends; the stand-in has its own."""
        if buf is not buffers.BUFFER_AUTOMATIC:
            specs.memory_of(buf, "MPI.Attach_buffer", "buf", write=True)
        _attached.append(buf)

    @classmethod
    def Detach_buffer(cls) -> Any:
        """Take the memory for buffered sends back."""
        return _attached.pop() if _attached else None

    def Flush_buffer(self) -> None:
        """Wait until buffered sends are under way: they are."""
        self._check("comm.Flush_buffer")

    def Iflush_buffer(self) -> SerialRequest:
        """Do `Flush_buffer`, without waiting."""
        self._check("comm.Iflush_buffer")
        return SerialRequest()


class _Pair(SerialRequest):
    """A send and a receive in one request."""

    def __init__(self, receive: SerialRequest, send: SerialRequest, box: Mailbox, message: Message | None) -> None:
        super().__init__()
        self._receive, self._send, self._box, self._message = receive, send, box, message

    def _done(self) -> bool:
        return self._null or (self._receive._done() and self._send._done())

    def _collect(self, status: Any, function: str) -> Any:
        if self._null:
            fill(status, None, function)
            return None
        self._null = True
        return self._receive._collect(status, function)

    def _never(self, function: str) -> Exception:
        reason = _UNSENT if self._receive._done() else _UNRECEIVED
        self._cancel()
        return would_wait(function, reason)

    def _cancel(self) -> None:
        self._receive._cancel()
        self._send._cancel()
        if self._message is not None:
            self._box.take_back(self._message)
