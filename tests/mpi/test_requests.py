"""Requests and statuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from mpi_under_test import MPI, fails, not_open_mpi, numbers, serial_only


def pairs(comm, n, tag=0):
    """Start n messages; return the receives, the buffers and the sends."""
    buffers = [np.zeros(1) for _ in range(n)]
    receives = [comm.Irecv(buffer, source=0, tag=tag + k) for k, buffer in enumerate(buffers)]
    sends = [comm.Isend(np.array([float(k)]), dest=0, tag=tag + k) for k in range(n)]
    return receives, buffers, sends


def test_a_finished_request_is_null(comm):
    (receive,), _, (send,) = pairs(comm, 1)
    assert receive
    assert receive != MPI.REQUEST_NULL
    assert receive.Wait() is True
    assert receive == MPI.REQUEST_NULL
    assert not receive
    assert receive.Wait() is True
    assert receive.Test() is True
    assert receive.wait() is None
    assert receive.test() == (True, None)
    send.Wait()
    with fails("REQUEST"):
        receive.Cancel()
    with fails("REQUEST"):
        receive.Free()


def test_the_null_request_is_finished():
    status = MPI.Status()
    status.tag = 4
    assert MPI.REQUEST_NULL.Wait(status) is True
    assert (status.source, status.tag) == (MPI.ANY_SOURCE, MPI.ANY_TAG)
    assert status.Get_count() == 0
    assert MPI.REQUEST_NULL.test() == (True, None)


def test_waitall(comm):
    receives, buffers, sends = pairs(comm, 3)
    statuses = [MPI.Status() for _ in range(6)]
    assert MPI.Request.Waitall(receives + sends, statuses) is True
    assert [status.tag for status in statuses[:3]] == [0, 1, 2]
    assert [float(buffer[0]) for buffer in buffers] == [0, 1, 2]
    assert not any(receives + sends)


@not_open_mpi
def test_statuses_of_requests_that_stay(comm):
    request = MPI.Request
    receives, _, sends = pairs(comm, 2)
    waiting = comm.Irecv(np.zeros(1), source=0, tag=9)
    statuses = [MPI.Status(), MPI.Status()]
    assert request.Get_status_all(receives, statuses) is True
    assert [status.tag for status in statuses] == [0, 1]
    assert request.get_status_all([waiting, *receives]) is False
    status = MPI.Status()
    assert request.Get_status_any([waiting, receives[1]], status) == (1, True)
    assert status.tag == 1
    assert request.get_status_any([waiting]) == (MPI.UNDEFINED, False)
    assert request.Get_status_some([waiting, *receives], statuses) == [1, 2]
    assert [status.tag for status in statuses] == [0, 1]
    assert request.get_status_some([waiting]) == []
    assert all(receives)
    request.Waitall(receives + sends)
    assert request.Get_status_any(receives) == (MPI.UNDEFINED, True)
    assert request.Get_status_some(receives) is None
    assert request.Get_status_all(receives) is True
    waiting.Cancel()
    waiting.Wait()


def test_lists_that_are_empty():
    request = MPI.Request
    assert request.Waitall([]) is True
    assert request.waitall([]) == []
    assert request.Testall([]) is True
    assert request.testall([]) == (True, [])
    assert request.Waitany([]) == MPI.UNDEFINED
    assert request.waitany([]) == (MPI.UNDEFINED, None)
    assert request.Testany([]) == (MPI.UNDEFINED, True)
    assert request.testany([]) == (MPI.UNDEFINED, True, None)
    assert request.Waitsome([]) is None
    assert request.Testsome([]) is None
    assert request.waitsome([]) == (None, None)
    assert request.testsome([]) == (None, None)


def test_testall_touches_nothing_unless_all_are_finished(comm):
    buffers = [np.zeros(1), np.zeros(1)]
    receives = [comm.Irecv(buffer, source=0, tag=k) for k, buffer in enumerate(buffers)]
    comm.Send(numbers(1), dest=0, tag=0)
    assert MPI.Request.Testall(receives) is False
    assert all(receives)
    comm.Send(numbers(1), dest=0, tag=1)
    assert MPI.Request.Testall(receives, statuses := [MPI.Status(), MPI.Status()]) is True
    assert [status.tag for status in statuses] == [0, 1]
    assert not any(receives)


def test_waitany_and_testany(comm):
    buffers = [np.zeros(1), np.zeros(1)]
    receives = [comm.Irecv(buffer, source=0, tag=k) for k, buffer in enumerate(buffers)]
    assert MPI.Request.Testany(receives) == (MPI.UNDEFINED, False)
    comm.Send(numbers(1), dest=0, tag=1)
    status = MPI.Status()
    assert MPI.Request.Waitany(receives, status) == 1
    assert status.tag == 1
    assert not receives[1]
    comm.Send(numbers(1), dest=0, tag=0)
    assert MPI.Request.Testany(receives) == (0, True)
    assert MPI.Request.Waitany(receives) == MPI.UNDEFINED
    assert MPI.Request.Testany(receives) == (MPI.UNDEFINED, True)


def test_waitsome_and_testsome(comm):
    buffers = [np.zeros(1) for _ in range(3)]
    receives = [comm.Irecv(buffer, source=0, tag=k) for k, buffer in enumerate(buffers)]
    assert MPI.Request.Testsome(receives) == []
    comm.Send(numbers(1), dest=0, tag=2)
    comm.Send(numbers(1), dest=0, tag=0)
    found = []
    statuses = [MPI.Status() for _ in range(3)]
    while len(found) < 2:
        found += MPI.Request.Waitsome(receives, statuses)
    assert sorted(found) == [0, 2]
    comm.Send(numbers(1), dest=0, tag=1)
    assert MPI.Request.Waitsome(receives) == [1]
    assert MPI.Request.Waitsome(receives) is None
    assert MPI.Request.Testsome(receives) is None


def test_several_requests_for_objects(comm):
    receives = [comm.irecv(source=0, tag=k) for k in range(3)]
    assert MPI.Request.testany(receives) == (MPI.UNDEFINED, False, None)
    sends = [comm.isend(k * 10, dest=0, tag=k) for k in range(3)]
    index, value = MPI.Request.waitany(receives)
    assert value == index * 10
    rest = receives[:index] + receives[index + 1 :]
    assert sorted([value, *MPI.Request.waitall(rest)]) == [0, 10, 20]
    MPI.Request.waitall(sends)


def test_an_error_of_one_of_several(comm):
    good, bad = np.zeros(1), np.zeros(1)
    sends = [comm.Isend(numbers(2), dest=0, tag=1), comm.Isend(numbers(1), dest=0, tag=2)]
    requests = [comm.Irecv(bad, source=0, tag=1), comm.Irecv(good, source=0, tag=2)]
    statuses = [MPI.Status()]
    with fails("IN_STATUS", "TRUNCATE"):
        MPI.Request.Waitall(requests[:1], statuses)
    assert requests[1].Wait()
    assert good[0] == 1
    MPI.Request.Waitall(sends)


def test_cancel_takes_a_receive_back(comm):
    received = np.zeros(1)
    request = comm.Irecv(received, source=0, tag=77)
    assert not request.Test()
    request.Cancel()
    status = MPI.Status()
    assert request.Wait(status) is True
    assert status.Is_cancelled()
    assert status.cancelled
    request = comm.Isend(numbers(1), dest=0, tag=77)  # it is not received by what was cancelled
    assert comm.Iprobe(source=0, tag=77)
    comm.Recv(received, source=0, tag=77)
    request.Wait()


def test_get_status_leaves_the_request(comm):
    request = comm.Irecv(np.zeros(1), source=0, tag=3)
    assert not request.Get_status()
    comm.Send(numbers(1), dest=0, tag=3)
    status = MPI.Status()
    assert request.Get_status(status)
    assert status.tag == 3
    assert request
    request.Wait()


# --- persistent requests


def test_persistent_messages(comm):
    sent, received = np.zeros(2), np.zeros(2)
    send = comm.Send_init(sent, dest=0, tag=1)
    receive = comm.Recv_init(received, source=0, tag=1)
    assert isinstance(send, MPI.Prequest)
    assert isinstance(send, MPI.Request)
    assert send.Test() is True  # it is not active
    assert receive.Wait() is True
    for k in range(3):
        sent[:] = k
        MPI.Prequest.Startall([receive, send])
        assert MPI.Request.Waitall([receive, send]) is True
        assert (received == k).all()
        assert receive
        assert send
    assert MPI.Request.Waitany([receive, send]) == MPI.UNDEFINED
    receive.Start()
    send.Start()
    status = MPI.Status()
    receive.Wait(status)
    send.Wait()
    assert (status.source, status.tag, status.Get_count(MPI.DOUBLE)) == (0, 1, 2)
    for request in (send, receive):
        request.Free()
        assert not request
        assert request == MPI.REQUEST_NULL


def test_a_persistent_request_is_started_once_at_a_time(comm):
    request = comm.Recv_init(np.zeros(1), source=0)
    request.Start()
    with fails("REQUEST"):
        request.Start()
    comm.Send(numbers(1), dest=0)
    request.Wait()
    request.Free()


@pytest.mark.parametrize("kind", ["Send_init", "Ssend_init", "Rsend_init"])
def test_persistent_sends(comm, kind):
    sent = numbers(3)
    request = getattr(comm, kind)(sent, dest=0, tag=2)
    for _ in range(2):
        receive = comm.Irecv(received := np.zeros(3), source=0, tag=2)
        request.Start()
        request.Wait()
        receive.Wait()
        np.testing.assert_array_equal(received, [1, 2, 3])
        sent[:] = [1, 2, 3]
    request.Free()


def test_persistent_messages_to_nobody(comm):
    received = np.full(1, 7.0)
    requests = [comm.Send_init(numbers(1), dest=MPI.PROC_NULL), comm.Recv_init(received, source=MPI.PROC_NULL)]
    for _ in range(2):
        MPI.Prequest.Startall(requests)
        MPI.Request.Waitall(requests)
    assert received[0] == 7
    for request in requests:
        request.Free()


def test_persistent_arguments_are_checked(comm):
    with fails("RANK"):
        comm.Send_init(numbers(1), dest=1)
    with fails("RANK"):
        comm.Recv_init(numbers(1), source=1)
    with pytest.raises(BufferError):
        comm.Recv_init(np.zeros(4)[::2], source=0)


@serial_only
def test_a_request_that_nothing_finishes(comm):
    request = comm.Irecv(np.zeros(1), source=0, tag=4)
    for wait in (
        request.Wait,
        request.wait,
        lambda: MPI.Request.Waitall([request]),
        lambda: MPI.Request.Waitany([request]),
        lambda: MPI.Request.Waitsome([request]),
        lambda: MPI.Request.waitall([request]),
    ):
        with pytest.raises(RuntimeError, match=r"would wait forever: .* a message to the own rank with tag 4"):
            wait()
    assert request
    request.Free()


# --- statuses


def test_a_new_status():
    status = MPI.Status()
    assert (status.source, status.tag) == (MPI.ANY_SOURCE, MPI.ANY_TAG)
    assert (status.error, status.count) == (MPI.SUCCESS, 0)
    assert (status.Get_source(), status.Get_tag(), status.Get_error()) == (status.source, status.tag, status.error)
    assert status.Get_elements(MPI.DOUBLE) == 0
    assert not status.Is_cancelled()


def test_setting_a_status():
    status = MPI.Status()
    status.source, status.tag, status.error = 3, 4, MPI.ERR_RANK
    status.Set_elements(MPI.DOUBLE, 5)
    status.Set_cancelled(True)
    assert (status.Get_source(), status.Get_tag(), status.Get_error()) == (3, 4, MPI.ERR_RANK)
    assert status.Get_count(MPI.DOUBLE) == 5
    assert status.count == 40
    assert status.cancelled
    copy = MPI.Status(status)
    assert copy == status
    copy.Set_tag(9)
    assert copy != status
    assert status.Get_tag() == 4


def test_elements_of_a_part_of_an_item():
    pair = MPI.Datatype.Create_struct([1, 1], [0, 8], [MPI.DOUBLE, MPI.INT]).Commit()
    status = MPI.Status()
    for nbytes, count, elements in ((24, 2, 4), (20, MPI.UNDEFINED, 3), (12, 1, 2), (0, 0, 0)):
        status.Set_elements(MPI.BYTE, nbytes)
        assert status.Get_count(pair) == count
        if nbytes != 0:
            assert status.Get_elements(pair) == elements
    pair.Free()


def test_pickles(comm):
    status = MPI.Status()
    status.tag = 5
    assert pickle.loads(pickle.dumps(status)).tag == 5
    request = comm.Irecv(np.zeros(1), source=0)
    with pytest.raises(ValueError):
        pickle.dumps(request)
    request.Cancel()
    request.Wait()
