"""Exchanges whose messages all ranks compare first, and those of time loops."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.errors import ArgumentError, CommunicationError
from cunumpy.mpi._agreement import Entry, mismatches
from mpi_under_test import MPI, serial_only

WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.rank, WORLD.size
LEFT, RIGHT = (RANK - 1) % SIZE, (RANK + 1) % SIZE


def test_messages_that_fit_are_sent():
    for _ in range(2):
        received, wild = np.zeros((3, 2)), np.zeros(4)
        statuses = xp.mpi.exchange(
            WORLD,
            sends=[
                (np.full(3, float(RANK)), RIGHT, 5),
                (np.full(4, -1.0 - RANK), LEFT, 6),
                (np.ones(1), MPI.PROC_NULL, 0),
            ],
            receives=[(received[:, 0], LEFT, 5), (wild, MPI.ANY_SOURCE, 6), (np.ones(1), MPI.PROC_NULL, 0)],
            return_status=True,
            check=True,
        )
        assert received[:, 0].tolist() == 3 * [float(LEFT)]
        assert wild.tolist() == 4 * [-1.0 - RIGHT]
        assert statuses[1].source == RIGHT


DTYPES = ["?", "f2", "f4", "g", "c16", "u1", ">f8", "M8[s]", "S3", "U2", "V5", [("id", "i4"), ("x", "f8", 2)]]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_any_elements_but_objects_are_sent(dtype):
    """MPI has no types for some of them, which is found out before messages are under way."""
    bits = np.random.default_rng(RANK).integers(0, 100, 6 * np.dtype(dtype).itemsize, np.uint8)
    theirs = np.random.default_rng(LEFT).integers(0, 100, bits.size, np.uint8)
    if np.dtype(dtype) == bool:
        bits, theirs = bits % 2, theirs % 2
    sent, expected = ((each.view(dtype) if dtype != "U2" else each.astype("U2")) for each in (bits, theirs))
    for step in (1, 2):
        received = np.zeros_like(sent)[::step]
        xp.mpi.exchange(WORLD, sends=[(sent[::step], RIGHT, 0)], receives=[(received, LEFT, 0)])
        assert received.tobytes() == expected[::step].tobytes()
        with xp.mpi.PersistentExchange(
            WORLD, sends=[(sent[::step], RIGHT, 0)], receives=[(again := np.zeros_like(received), LEFT, 0)]
        ) as halo:
            halo()
        assert again.tobytes() == expected[::step].tobytes()


def test_tags_are_those_that_the_library_takes():
    largest = WORLD.Get_attr(MPI.TAG_UB)
    received = np.zeros(1)
    xp.mpi.exchange(WORLD, sends=[(np.ones(1), RIGHT, largest)], receives=[(received, LEFT, largest)])
    assert received[0] == 1
    for tag in (largest + 1, 2**40):
        with pytest.raises(ArgumentError, match=rf"'sends\[0\]' has the tag {tag}; the MPI library takes tags up to"):
            xp.mpi.exchange(WORLD, sends=[(np.ones(1), RIGHT, tag)], receives=[(received, LEFT, 0)])


@serial_only  # MPICH waits for ever, Open MPI keeps a short message for the next receive
def test_a_message_to_itself_that_nobody_receives(comm):
    received = np.zeros(3)
    messages = {"sends": [(np.ones(3), 0, 5), (np.ones(3), 0, 4)], "receives": [(received, 0, 5)]}
    text = r"would wait forever: 'sends\[1\]' goes to the own rank, and nobody receives it"
    with pytest.raises(CommunicationError, match=f"exchange: {text}"):
        xp.mpi.exchange(comm, **messages)
    halo = xp.mpi.PersistentExchange(comm, **messages, check=False)
    for _ in range(2):
        with pytest.raises(CommunicationError, match=f"PersistentExchange.start: {text}"):
            halo.start()
    halo.close()
    assert not comm.Iprobe()  # they were taken back
    first = comm.Irecv(received, 0, 4)  # whoever waits already gets it
    xp.mpi.exchange(comm, sends=[(2 * np.ones(3), 0, 4)])
    first.Wait()
    assert received.tolist() == [2, 2, 2]


def test_a_rank_at_fault_is_named_on_all():
    guilty = SIZE - 1
    array = [1.0] if guilty == RANK else np.ones(1)
    error, text = (
        (TypeError, r"^exchange: argument 'sends\[0\]' has \[1.0\] in the place")
        if guilty == RANK
        else (CommunicationError, rf"nothing was sent, because of rank {guilty}: exchange: argument 'sends\[0\]' has")
    )
    with pytest.raises(error, match=text):
        xp.mpi.exchange(WORLD, sends=[(array, RIGHT, 0)], receives=[(np.zeros(1), LEFT, 0)], check=True)


@pytest.mark.parametrize(
    ("sent", "received", "tag", "text"),
    [
        (np.zeros(3), np.zeros(2), 0, r"'sends\[0\]' is longer than rank \d's 'receives\[0\]': 24 bytes, 16 bytes"),
        (np.zeros(3, "f4"), np.zeros(3), 0, r"is of another dtype than rank \d's 'receives\[0\]': <f4, <f8"),
        (np.zeros(3), np.zeros(3), 1, r"sends 'sends\[0\]' to rank \d with tag 1, which does not receive it"),
        (np.zeros(3), np.zeros(3), 1, r"receives 'receives\[0\]' from rank \d with tag 0, which does not send it"),
    ],
)
def test_messages_that_do_not_fit_are_named_on_all(sent, received, tag, text):
    """All are right but one: the last rank's message."""
    if RANK != SIZE - 1:
        sent, tag = np.zeros(1), 0
    with pytest.raises(CommunicationError, match=f"(?s)the messages do not fit, and none was sent:.*{text}"):
        xp.mpi.exchange(WORLD, sends=[(sent, RIGHT, tag)], receives=[(received, LEFT, 0)], check=True)
    result = np.zeros(1)  # nothing is left over
    xp.mpi.exchange(WORLD, sends=[(np.full(1, 2.0 + RANK), RIGHT, 0)], receives=[(result, LEFT, 0)])
    assert result == 2.0 + LEFT


def entry(rank, tag=0, size=8, dtype="<f8"):
    return Entry("x", rank, tag, size, dtype)


def test_matching_is_in_order_and_wildcards_take_what_is_left():
    sends = [[entry(1, size=8), entry(1, size=16), entry(1, tag=3)], []]
    assert mismatches(sends, [[], [entry(0, size=8), entry(0, size=16), entry(0, tag=3)]]) == []
    assert mismatches(sends, [[], [entry(None, None, 16), entry(0, size=8), entry(0, tag=3)]]) == []
    assert mismatches(sends, [[], [entry(0, size=16), entry(0, size=8), entry(0, tag=3)]]) == [
        "rank 0's 'x' is longer than rank 1's 'x': 16 bytes, 8 bytes"
    ]
    assert mismatches([[], []], [[entry(None, None)], []]) == [
        "rank 0 receives 'x' from any rank with any tag, which does not send it"
    ]
    assert mismatches([[entry(0, dtype="|u1")]], [[entry(0)]]) == []
    assert mismatches([[entry(0, size=None, dtype=None)]], [[entry(0)]]) == []


# --- time loops -------------------------------------------------------------------------------------------------------


def test_a_time_loop_of_halos():
    field = np.zeros((3, 4))
    with xp.mpi.PersistentExchange(
        WORLD,
        sends=[(field[:, 1], LEFT, 0), (field[:, -2], RIGHT, 1)],
        receives=[(field[:, -1], RIGHT, 0), (field[:, 0], LEFT, 1)],
    ) as halo:
        assert repr(halo) == "PersistentExchange(2 sends, 2 receives, ready)"
        for step in range(4):
            field[:, 1:3] = 10 * step + RANK
            if step % 2:
                assert halo() is None
            else:
                halo.start()
                assert repr(halo) == "PersistentExchange(2 sends, 2 receives, under way)"
                statuses = halo.wait(return_status=True)
                assert [status.Get_source() for status in statuses] == [RIGHT, LEFT]
            np.testing.assert_array_equal(field[:, 0], 10 * step + LEFT)
            np.testing.assert_array_equal(field[:, 3], 10 * step + RIGHT)
    assert repr(halo) == "PersistentExchange(2 sends, 2 receives, closed)"


def test_shorter_messages_and_nobody_leave_the_rest():
    target, nobody = np.full((4, 2), 9.0), np.full(2, 9.0)
    with xp.mpi.PersistentExchange(
        WORLD,
        sends=[(np.ones(2), RIGHT, 0), (np.ones(2), MPI.PROC_NULL, 0)],
        receives=[(target[:, 0], LEFT, 0), (nobody, MPI.PROC_NULL, 0)],
    ) as messages:
        for _ in range(2):
            messages()
    assert target[:, 0].tolist() == [1, 1, 9, 9]
    assert nobody.tolist() == [9, 9]


def test_order_of_calls():
    messages = xp.mpi.PersistentExchange(WORLD, sends=[(np.ones(1), RIGHT, 0)], receives=[(np.zeros(1), LEFT, 0)])
    with pytest.raises(CommunicationError, match="wait: the exchange is not under way; call start"):
        messages.wait()
    messages.start()
    with pytest.raises(CommunicationError, match="start: the exchange is under way; call wait"):
        messages.start()
    with pytest.raises(CommunicationError, match="close: the exchange is under way"):
        messages.close()
    messages.wait()
    messages.close()
    messages.close()
    with pytest.raises(CommunicationError, match="start: the exchange is closed"):
        messages()
    with pytest.raises(ArgumentError, match="only one of the arguments 'stream' and 'event'"):
        xp.mpi.PersistentExchange(WORLD).start(stream=1, event=2)


def test_what_is_under_way_lives_until_it_is_waited_for():
    """MPI writes to its memory, also where an exception has let the program forget it."""
    target = np.zeros(3)
    messages = xp.mpi.PersistentExchange(WORLD, sends=[(np.ones(3), RIGHT, 0)], receives=[(target, LEFT, 0)])

    def fail(messages):
        with messages:
            messages.start()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail(messages)
    forgotten = weakref.ref(messages)
    del messages
    gc.collect()
    messages = forgotten()
    messages.wait()
    messages.close()
    assert target.tolist() == [1, 1, 1]
    del messages
    gc.collect()
    assert forgotten() is None


def test_it_is_checked_when_it_is_made():
    with pytest.raises(CommunicationError, match="PersistentExchange: the messages do not fit"):
        xp.mpi.PersistentExchange(WORLD, sends=[(np.ones(1), RIGHT, 0)])
    with pytest.raises(ArgumentError, match="PersistentExchange: argument 'sends\\[0\\]' has the dest 99"):
        xp.mpi.PersistentExchange(WORLD, sends=[(np.ones(1), 99, 0)])
    with pytest.raises(TypeError, match="PersistentExchange: argument 'comm' must be a communicator"):
        xp.mpi.PersistentExchange(None)


def test_a_failed_step_of_one_process_can_be_tried_again(comm):
    if not xp.mpi.is_serial(comm):
        return
    target = np.zeros(1)
    messages = xp.mpi.PersistentExchange(comm, receives=[(target, 0, 0)], check=False)
    messages.start()
    with pytest.raises(CommunicationError, match="would wait forever"):
        messages.wait()
    messages.start()
    comm.Send(np.full(1, 5.0), 0, 0)
    messages.wait()
    assert target == 5
