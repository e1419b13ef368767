"""Messages of a process to itself."""

from __future__ import annotations

import array
import ctypes

import numpy as np
import pytest

from mpi_under_test import MPI, fails, numbers, serial_only

DTYPES = ["?", "b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "f", "d", "g", "F", "D", "e"]


def through(comm, sent, received, tag=3):
    request = comm.Irecv(received, source=0, tag=tag)
    comm.Send(sent, dest=0, tag=tag)
    request.Wait()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_arrives(comm, dtype):
    sent, received = numbers(5, dtype), np.zeros(5, dtype)
    through(comm, sent, received)
    assert received.tobytes() == sent.tobytes()


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 4), (2, 0, 3), (2, 3, 4)])
def test_every_shape_arrives(comm, shape):
    sent = np.arange(float(np.prod(shape))).reshape(shape)
    received = np.full(shape, -1.0)
    through(comm, sent, received)
    np.testing.assert_array_equal(received, sent)


def test_memory_is_copied_not_the_logical_array(comm):
    sent = np.arange(6.0).reshape(2, 3)
    for target in (np.zeros((2, 3), order="F"), np.zeros((3, 2))):
        through(comm, sent, target)
        np.testing.assert_array_equal(target.ravel(order="K"), np.arange(6.0))
    through(comm, np.asfortranarray(sent), received := np.zeros(6))
    np.testing.assert_array_equal(received, [0, 3, 1, 4, 2, 5])


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        (b"abc", bytearray(3)),
        (bytearray(b"abc"), bytearray(3)),
        (memoryview(b"abc"), memoryview(bytearray(3))),
        (array.array("d", [1, 2]), array.array("d", [0, 0])),
        ((ctypes.c_int * 3)(1, 2, 3), (ctypes.c_int * 3)()),
    ],
    ids=["bytes", "bytearray", "memoryview", "array", "ctypes"],
)
def test_other_objects_with_memory(comm, sent, received):
    through(comm, sent, received)
    assert bytes(received) == bytes(sent)


@pytest.mark.parametrize(
    ("specification", "expected"),
    [
        (lambda a: [a, MPI.DOUBLE], [1, 2, 3, 4, 5, 6]),
        (lambda a: [a, "d"], [1, 2, 3, 4, 5, 6]),
        (lambda a: (a, "f8"), [1, 2, 3, 4, 5, 6]),
        (lambda a: [a, 2], [1, 2]),
        (lambda a: [a, np.int64(2), MPI.DOUBLE], [1, 2]),
        (lambda a: [a, 3, MPI.DOUBLE], [1, 2, 3]),
        (lambda a: [a, 0, MPI.DOUBLE], []),
        (lambda a: [a, (2, 3), MPI.DOUBLE], [4, 5]),
        (lambda a: [a, (2, 3)], [4, 5]),
        (lambda a: [a, 2, 1, MPI.DOUBLE], [2, 3]),
        (lambda a: [a, 16, MPI.BYTE], [1, 2]),
    ],
)
def test_counts_displacements_and_types(comm, specification, expected):
    received = np.zeros(6)
    through(comm, specification(numbers(6)), received)
    np.testing.assert_array_equal(received[: len(expected)], expected)
    assert not received[len(expected) :].any()
    target = np.zeros(6)
    through(comm, np.array(expected, "f8"), specification(target))
    assert sorted(target[target > 0]) == expected


def test_a_shorter_message_leaves_the_rest(comm):
    received = np.full(5, -1.0)
    status = MPI.Status()
    request = comm.Irecv(received, source=0)
    comm.Send(numbers(3), dest=0, tag=7)
    request.Wait(status)
    np.testing.assert_array_equal(received, [1, 2, 3, -1, -1])
    assert (status.source, status.tag, status.error) == (0, 7, MPI.SUCCESS)
    assert status.Get_count() == status.count == 24
    assert status.Get_count(MPI.DOUBLE) == status.Get_elements(MPI.DOUBLE) == 3
    assert status.Get_count(MPI.DOUBLE.Create_contiguous(2).Commit()) == MPI.UNDEFINED
    assert not status.Is_cancelled()


def test_a_longer_message_is_truncated(comm):
    request = comm.Isend(numbers(4), dest=0, tag=3)
    with fails("TRUNCATE"):
        comm.Recv(np.zeros(3), source=0, tag=3)
    request.Wait()
    through(comm, numbers(4), received := np.zeros(4))  # and nothing of it is left
    np.testing.assert_array_equal(received, numbers(4))


@serial_only
@pytest.mark.parametrize("dtype", ["f4", "i8", "F", "u1", "?"])
def test_elements_of_another_kind(comm, dtype):
    """MPI libraries copy the bytes, which then mean other numbers; the stand-in neither does so nor converts."""
    received = np.zeros(32, dtype)
    request = comm.Isend(numbers(4), dest=0, tag=3)
    with fails("TYPE"):
        comm.Recv(received, source=0, tag=3)
    assert not received.any()
    request.Wait()


@pytest.mark.parametrize("receive", ["Recv", "Irecv"])
def test_read_only_buffers_are_sent_and_not_received(comm, receive):
    buffer = numbers(3)
    buffer.flags.writeable = False
    through(comm, buffer, np.zeros(3))
    with pytest.raises(BufferError):
        getattr(comm, receive)(buffer, source=0)
    with pytest.raises((BufferError, TypeError)):
        comm.Irecv(b"abc", source=0)


@pytest.mark.parametrize(
    "view", [lambda a: a[::2], lambda a: a[:, 1], lambda a: a.T[::-1]], ids=["rows", "column", "reversed"]
)
def test_strided_buffers_are_refused(comm, view):
    buffer = view(np.zeros((4, 4)))
    with pytest.raises(BufferError):
        comm.Isend(buffer, dest=0)
    with pytest.raises(BufferError):
        comm.Irecv(buffer, source=0)


@pytest.mark.parametrize("buffer", [3.0, "abc", None, [1.0, 2.0], object(), {}])
def test_what_has_no_memory_is_a_type_error(comm, buffer):
    with pytest.raises(TypeError):
        comm.Isend(buffer, dest=0)
    with pytest.raises(TypeError):
        comm.Irecv(buffer, source=0)


@pytest.mark.parametrize(
    ("specification", "exception"),
    [
        (lambda a: [a], ValueError),
        (lambda a: [a, 1, 2, MPI.DOUBLE, 4], ValueError),
        (lambda a: [a, -1, MPI.DOUBLE], ValueError),
        (lambda a: [a, (1, -1), MPI.DOUBLE], ValueError),
        (lambda a: [a, (1, 9), MPI.DOUBLE], ValueError),
        (lambda a: [None, 1, MPI.DOUBLE], ValueError),
        (lambda a: [a, MPI.DATATYPE_NULL], ValueError),
        (lambda a: [a[:3], MPI.DOUBLE.Create_contiguous(2).Commit()], ValueError),
        (lambda a: [a, "nonsense"], KeyError),
        (lambda a: a.astype(">f8"), BufferError),
        (lambda a: [a, 2.5, MPI.DOUBLE], TypeError),
        (lambda a: a.astype(object), Exception),
    ],
)
def test_faulty_specifications(comm, specification, exception):
    with pytest.raises(exception):
        comm.Isend(specification(numbers(6)), dest=0)


@serial_only
@pytest.mark.parametrize(
    "specification",
    [
        lambda a: [a, 7, MPI.DOUBLE],
        lambda a: [a, (4, 3), MPI.DOUBLE],
        lambda a: [a, 2, MPI.DOUBLE.Create_vector(2, 1, 4).Commit()],
    ],
)
def test_what_reaches_outside_of_the_memory_is_refused(comm, specification):
    with pytest.raises(ValueError, match="reaches outside of its memory"):
        comm.Isend(specification(numbers(6)), dest=0)
    with pytest.raises(ValueError, match="reaches outside of its memory"):
        comm.Irecv(specification(numbers(6)), source=0)


@serial_only
@pytest.mark.parametrize(("sent", "received"), [("f8", "f4"), ("f8", "i8"), ("i4", "i8"), ("f4", "i4"), ("c16", "i8")])
def test_elements_of_another_kind_are_refused(comm, sent, received):
    target = np.full(64 // np.dtype(received).itemsize, 7, received)
    with fails("TYPE"):
        through(comm, numbers(4, sent), target)
    assert (target == 7).all()


@pytest.mark.parametrize(
    ("sent", "received"), [("i8", "u8"), ("l", "q"), ("?", "u1"), ("c16", "f8"), ("u1", "b")], ids=lambda d: d
)
def test_elements_of_the_same_bytes_arrive(comm, sent, received):
    content = np.ones(4, sent)
    target = np.zeros(4 * content.itemsize // np.dtype(received).itemsize, received)
    through(comm, content, target)
    assert target.tobytes() == content.tobytes()


def test_bytes_are_received_as_anything(comm):
    through(comm, [numbers(2), MPI.BYTE], received := np.zeros(2))
    np.testing.assert_array_equal(received, [1, 2])
    through(comm, numbers(2), [received := np.zeros(2), MPI.BYTE])
    np.testing.assert_array_equal(received, [1, 2])


# --- matching


def test_messages_are_matched_by_tag_and_in_order(comm):
    targets = [np.zeros(1, "i") for _ in range(4)]
    requests = [
        comm.Irecv(target, source=0, tag=tag) for target, tag in zip(targets, (1, 2, MPI.ANY_TAG, 1), strict=True)
    ]
    contents = [(np.array([value], "i"), tag) for value, tag in ((10, 2), (20, 1), (30, 1), (40, 5))]
    sends = [comm.Isend(content, dest=0, tag=tag) for content, tag in contents]
    with_tag_1 = requests.pop()
    MPI.Request.Waitall(requests)
    assert [int(target[0]) for target in targets[:3]] == [20, 10, 30]  # the first that fits, ANY_TAG included
    assert not with_tag_1.Test()
    comm.Send(np.array([50], "i"), dest=0, tag=1)
    with_tag_1.Wait()
    assert targets[3][0] == 50
    comm.Recv(targets[0], source=0, tag=5)
    assert targets[0][0] == 40
    MPI.Request.Waitall(sends)


def test_any_source_and_default_arguments(comm):
    request = comm.Isend(numbers(2), 0)
    status = MPI.Status()
    comm.Recv(received := np.zeros(2), status=status)
    request.Wait()
    assert (status.source, status.tag) == (0, 0)
    request = comm.Isend(numbers(2), 0, 4)
    comm.Recv(received, MPI.ANY_SOURCE, MPI.ANY_TAG, status)
    request.Wait()
    assert status.tag == 4


def test_communicators_do_not_see_each_others_messages(comm):
    other = comm.Dup()
    request = comm.Isend(numbers(1), dest=0, tag=1)
    assert not other.Iprobe(source=0, tag=1)
    assert comm.Iprobe(source=0, tag=1)
    comm.Recv(np.zeros(1), source=0)
    request.Wait()
    other.Free()


def test_what_is_sent_is_what_was_there_when_it_was_sent(comm):
    sent, received = numbers(2), np.zeros(2)
    request = comm.Irecv(received, source=0)
    comm.Send(sent, dest=0)
    sent[:] = 9
    request.Wait()
    np.testing.assert_array_equal(received, [1, 2])


# --- arguments


@pytest.mark.parametrize("rank", [1, 7, -9])
def test_ranks_are_checked(comm, rank):
    for send in (comm.Send, comm.Isend, comm.Ssend, comm.Bsend):
        with fails("RANK"):
            send(numbers(1), dest=rank)
    with fails("RANK"):
        comm.send(1, dest=rank)
    for receive in (comm.Recv, comm.Irecv):
        with fails("RANK"):
            receive(np.zeros(1), source=rank)
    with fails("RANK"):
        comm.recv(source=rank)
    with fails("RANK"):
        comm.Iprobe(source=rank)


def test_any_source_is_no_destination(comm):
    with fails("RANK"):
        comm.Isend(numbers(1), dest=MPI.ANY_SOURCE)


def test_tags_are_checked(comm):
    with fails("TAG"):
        comm.Isend(numbers(1), dest=0, tag=-5)
    with fails("TAG"):
        comm.isend(1, dest=0, tag=-5)
    with fails("TAG"):
        comm.Irecv(np.zeros(1), source=0, tag=-5)
    highest = MPI.COMM_WORLD.Get_attr(MPI.TAG_UB)
    assert highest >= 32767
    request = comm.Irecv(np.zeros(1), source=0, tag=highest)
    comm.Send(numbers(1), dest=0, tag=highest)
    request.Wait()


def test_nobody(comm):
    """What goes to PROC_NULL or comes from there is nothing, and is finished at once."""
    received = np.full(2, 7.0)
    status = MPI.Status()
    comm.Send(numbers(2), dest=MPI.PROC_NULL)
    comm.Ssend(numbers(2), dest=MPI.PROC_NULL)
    comm.Isend(numbers(2), dest=MPI.PROC_NULL).Wait()
    comm.send("x", dest=MPI.PROC_NULL)
    comm.Recv(received, source=MPI.PROC_NULL, tag=3, status=status)
    assert status.source == MPI.PROC_NULL
    assert status.tag == MPI.ANY_TAG
    assert status.Get_count() == 0
    comm.Irecv(received, source=MPI.PROC_NULL).Wait()
    assert comm.recv(source=MPI.PROC_NULL) is None
    assert (received == 7).all()
    assert comm.Iprobe(source=MPI.PROC_NULL, status=status)
    assert status.source == MPI.PROC_NULL
    comm.Sendrecv(numbers(2), dest=MPI.PROC_NULL, recvbuf=received, source=MPI.PROC_NULL, status=status)
    assert status.source == MPI.PROC_NULL
    assert (received == 7).all()


# --- kinds of send


def test_ready_and_buffered_sends(comm):
    for send in ("Rsend", "Irsend", "Ssend", "Issend"):
        request = comm.Irecv(received := np.zeros(3), source=0, tag=6)
        sent = getattr(comm, send)(numbers(3), dest=0, tag=6)
        if sent is not None:
            sent.Wait()
        request.Wait()
        np.testing.assert_array_equal(received, [1, 2, 3])
    MPI.Attach_buffer(bytearray(10000))
    try:
        comm.Bsend(numbers(3), dest=0, tag=1)
        comm.Recv(received := np.zeros(3), source=0, tag=1)
        np.testing.assert_array_equal(received, [1, 2, 3])
    finally:
        MPI.Detach_buffer()


def test_a_synchronous_send_is_finished_when_it_is_received(comm):
    request = comm.Issend(numbers(2), dest=0)
    assert not request.Test()
    comm.Recv(np.zeros(2), source=0)
    assert request.Test()


@pytest.mark.parametrize("nbytes", [100, 10_000, 300_000])
def test_long_messages(comm, nbytes):
    sent = np.arange(nbytes, dtype="u1")
    request = comm.Isend(sent, dest=0)
    comm.Recv(received := np.zeros(nbytes, "u1"), source=0)
    request.Wait()
    np.testing.assert_array_equal(received, sent)


def test_sendrecv(comm):
    status = MPI.Status()
    comm.Sendrecv(numbers(3), dest=0, sendtag=4, recvbuf=(received := np.zeros(3)), source=0, recvtag=4, status=status)
    np.testing.assert_array_equal(received, [1, 2, 3])
    assert (status.source, status.tag, status.Get_count(MPI.DOUBLE)) == (0, 4, 3)
    buffer = numbers(3)
    comm.Sendrecv_replace(buffer, dest=0, sendtag=1, source=0, recvtag=1, status=status)
    np.testing.assert_array_equal(buffer, [1, 2, 3])
    received[:] = 0
    comm.Isendrecv(numbers(3), 0, 5, received, 0, 5).Wait()
    np.testing.assert_array_equal(received, [1, 2, 3])


def test_sendrecv_replace_with_other_messages(comm):
    first = comm.Isend(np.array([5.0]), dest=0, tag=1)
    later = comm.Irecv(received := np.zeros(1), source=0, tag=2)
    buffer = np.array([6.0])
    comm.Sendrecv_replace(buffer, dest=0, sendtag=2, source=0, recvtag=1)
    assert buffer[0] == 5
    MPI.Request.Waitall([first, later])
    assert received[0] == 6


# --- probing


def test_probe(comm):
    status = MPI.Status()
    assert comm.Iprobe(source=0) is False
    request = comm.Isend(numbers(3), dest=0, tag=9)
    assert comm.Iprobe(source=0, tag=8) is False
    assert comm.Iprobe(source=0, tag=9, status=status) is True
    assert (status.source, status.tag, status.Get_count(MPI.DOUBLE)) == (0, 9, 3)
    assert comm.Probe(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG) is True
    comm.Recv(received := np.zeros(status.Get_count(MPI.DOUBLE)), source=0, tag=9)
    np.testing.assert_array_equal(received, [1, 2, 3])
    request.Wait()


def test_matched_probe(comm):
    request = comm.Isend(numbers(3), dest=0, tag=2)
    message = comm.Mprobe(source=0, tag=2)
    assert message
    assert not comm.Iprobe(source=0)
    status = MPI.Status()
    message.Recv(received := np.zeros(3), status)
    np.testing.assert_array_equal(received, [1, 2, 3])
    assert status.tag == 2
    assert not message
    assert message == MPI.MESSAGE_NULL
    request.Wait()
    assert comm.Improbe(source=0) is None
    request = comm.Isend(numbers(3), dest=0, tag=2)
    comm.Improbe(source=0).Irecv(received).Wait()
    request.Wait()
    request = comm.isend({"a": 1}, dest=0)
    assert comm.mprobe(source=0).recv() == {"a": 1}
    request.wait()


# --- objects


@pytest.mark.parametrize("value", [None, 3, "text", [1, {"a": (2, 3)}], np.arange(3), b"x" * 5000], ids=type)
def test_objects_arrive_as_copies(comm, value):
    request = comm.isend(value, dest=0, tag=5)
    status = MPI.Status()
    received = comm.recv(source=0, tag=5, status=status)
    request.wait()
    np.testing.assert_equal(received, value)
    assert (status.source, status.tag) == (0, 5)
    if isinstance(value, (list, np.ndarray)):
        assert received is not value
    assert comm.sendrecv([value], dest=0, source=0) is not value


def test_irecv_of_objects(comm):
    request = comm.irecv(source=0, tag=1)
    assert request.test() == (False, None)
    comm.send({"a": [1, 2]}, dest=0, tag=1)
    assert request.wait() == {"a": [1, 2]}
    assert request.test() == (True, None)


@serial_only  # Open MPI writes behind the room
def test_irecv_has_room_for_32_kilobytes(comm):
    sent = comm.isend(b"x" * 40_000, dest=0)
    request = comm.irecv(source=0)
    with fails("TRUNCATE"):
        request.wait()
    sent.wait()


@pytest.mark.parametrize("room", [50_000, bytearray(50_000)], ids=["number", "buffer"])
def test_irecv_with_more_room(comm, room):
    request = comm.irecv(room, source=0)
    sent = comm.isend(b"x" * 40_000, dest=0)
    assert request.wait() == b"x" * 40_000
    sent.wait()


@serial_only
def test_objects_and_buffers_do_not_mix(comm):
    comm.isend([1], dest=0)
    with pytest.raises(TypeError, match="is a Python object, and was to be received into a buffer; use recv"):
        comm.Recv(np.zeros(100), source=0)
    comm.Isend(numbers(1), dest=0)
    with pytest.raises(TypeError, match="is of a buffer, and was to be received as an object; use Recv"):
        comm.recv(source=0)


# --- what would never end


@serial_only
def test_what_would_wait_forever_raises(comm):
    forever = pytest.raises(RuntimeError, match="would wait forever")
    with forever:
        comm.Recv(np.zeros(1), source=0)
    with forever:
        comm.recv(source=0)
    with forever:
        comm.Probe(source=0)
    with forever:
        comm.Mprobe(source=0)
    with forever:
        comm.Ssend(numbers(1), dest=0)
    with forever:
        comm.Send(np.zeros(1000), dest=0)
    with forever:
        comm.send(np.zeros(1000), dest=0)
    with forever:
        comm.Sendrecv(numbers(1), dest=0, sendtag=1, recvbuf=np.zeros(1), source=0, recvtag=2)
    with forever:
        comm.sendrecv(1, dest=0, sendtag=1, source=0, recvtag=2)
    with forever:
        comm.Irecv(np.zeros(1), source=0, tag=49).Wait()
    with forever:
        comm.Issend(numbers(1), dest=0, tag=50).Wait()
    # Blocking calls that fail leave nothing behind.
    assert not any(comm.Iprobe(source=0, tag=tag) for tag in (0, 1, 2))


@serial_only
def test_short_messages_are_buffered(comm):
    comm.Send(numbers(128), dest=0)
    comm.send("text", dest=0)
    comm.Recv(received := np.zeros(128), source=0)
    np.testing.assert_array_equal(received, numbers(128))
    assert comm.recv(source=0) == "text"
