"""MPI with host arrays: launchers, settings, buffers and exchanges, over a small MPI of threads."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cunumpy as xp
from array_kinds import KINDS, ArrayKind, as_compared
from cunumpy import _launcher
from cunumpy.errors import ArgumentError, ArgumentTypeError, CommunicationError, CuNumpyError
from cunumpy.mpi import MPIStaging, SerialComm, allreduce, exchange, mpi_buffer
from loopback_mpi import ANY_SOURCE, ANY_TAG, PROC_NULL, World


@pytest.fixture(autouse=True)
def unknown():
    xp.mpi.set_mpi_cuda_aware(None)
    yield
    xp.mpi.set_mpi_cuda_aware(None)


@pytest.fixture
def comm():
    return World(1).ranks[0]


# --- launchers and settings -------------------------------------------------------------------------------------------


def test_launcher_detection_is_that_of_core() -> None:
    assert xp.mpi.launched_under_mpi is _launcher.launched_under_mpi
    assert xp.mpi.local_rank is _launcher.local_rank
    assert xp.mpi.OVERRIDE_VARIABLE == "MAYBEMPI"


def test_local_rank_under_flux_and_where_it_is_not_told() -> None:
    flux = {"FLUX_TASK_LOCAL_ID": "3", "FLUX_TASK_RANK": "3", "FLUX_JOB_SIZE": "4", "PMI_RANK": "3", "PMI_SIZE": "4"}
    assert ask_local_rank(flux).stdout == "3\n"
    assert "no variable tells the rank on the node" in ask_local_rank({"PMI_RANK": "3", "PMI_SIZE": "4"}).stderr


def ask_local_rank(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    program = "import cunumpy as xp; print(xp.mpi.local_rank())"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "OMPI_", "PMI"))}
    env = {**clean, **environment}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env, check=False)


def test_importing_and_asking_loads_no_mpi() -> None:
    program = """
import sys
import cunumpy as xp
xp.mpi.launched_under_mpi(), xp.mpi.mpi_is_cuda_aware(), xp.mpi.require_cuda_aware_mpi()
print([name for name in ("mpi4py", "cupy", "petsc4py") if name in sys.modules])"""
    env = {**os.environ, "MAYBEMPI": "0"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env, check=True)
    assert done.stdout == "[]\n"


def test_setting() -> None:
    assert xp.mpi.get_mpi_cuda_aware() is None
    xp.mpi.set_mpi_cuda_aware(np.bool_(True))
    assert xp.mpi.get_mpi_cuda_aware() is True
    with pytest.raises(ArgumentTypeError, match=r"'value' must be True, False or None, got str \('no'\)"):
        xp.mpi.set_mpi_cuda_aware("no")
    assert xp.mpi.get_mpi_cuda_aware() is True


def test_numpy_needs_no_cuda_aware_mpi(monkeypatch) -> None:
    monkeypatch.setenv("MAYBEMPI", "0")
    with pytest.raises(ArgumentError, match="'method' must be 'probe', 'query' or 'auto', got 'guess'"):
        xp.mpi.mpi_is_cuda_aware(method="guess")
    assert xp.mpi.get_mpi_cuda_aware() is None
    assert xp.mpi.mpi_is_cuda_aware(object()) is False  # the communicator is not used
    assert xp.mpi.get_mpi_cuda_aware() is False
    xp.mpi.require_cuda_aware_mpi(object())


def test_ranks_agree_in_a_run_although_numpy_is_active(monkeypatch) -> None:
    monkeypatch.setenv("MAYBEMPI", "1")
    assert World(3).run(xp.mpi.mpi_is_cuda_aware) == [False] * 3


@pytest.mark.skipif(find_spec("mpi4py") is not None, reason="mpi4py is installed")
def test_host_arrays_need_no_waiting() -> None:
    with xp.profiling.count_transfers() as counter:
        xp.mpi.synchronize_for_mpi()
        xp.mpi.synchronize_for_mpi(np.zeros(3), None, [1])
    assert counter.events == []
    with pytest.raises(ArgumentError, match="only one of the arguments 'stream' and 'event'"):
        xp.mpi.synchronize_for_mpi(stream=1, event=2)


@pytest.mark.needs("cunumpy.cuda")
def test_streams_of_the_host_need_no_waiting() -> None:
    with xp.profiling.count_transfers() as counter:
        xp.mpi.synchronize_for_mpi(np.zeros(3), stream=xp.cuda.create_stream())
    assert counter.events == []


# --- buffers ----------------------------------------------------------------------------------------------------------


def test_contiguous_arrays_and_what_is_no_array_are_their_own_buffer() -> None:
    for value in (np.zeros((2, 3)), np.zeros(0), np.array(1.0), [np.zeros(2), 2], b"bytes", None, np.float64(1)):
        with mpi_buffer(value) as buffer:
            assert buffer is value


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("recv", [False, True])
def test_buffer_of_every_kind_of_array(kind: ArrayKind, recv: bool, tmp_path: Path) -> None:
    value = kind.make(tmp_path)
    before = as_compared(value)
    if kind.name in ("masked", "foreign-device-array") or (recv and kind.is_array and not kind.writable):
        with pytest.raises(CuNumpyError), mpi_buffer(value, recv=recv):
            pass
    elif kind.is_array:
        with mpi_buffer(value, recv=recv) as buffer:
            assert buffer.flags.c_contiguous
            np.testing.assert_array_equal(buffer, kind.values)
            assert buffer.dtype == value.dtype
            if recv:
                buffer[...] = 1
        np.testing.assert_array_equal(value, np.ones_like(kind.values) if recv else kind.values)
    else:
        with mpi_buffer(value, recv=recv) as buffer:
            assert buffer is value
    if not recv or not kind.is_array:
        assert as_compared(value) == before


def test_a_failing_block_copies_nothing_back() -> None:
    array = np.zeros((3, 4))

    def fail() -> None:
        with mpi_buffer(array[:, 1], recv=True) as buffer:
            buffer[...] = 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not array.any()


def test_a_buffer_to_receive_has_old_values_where_asked_for() -> None:
    array = np.arange(12.0).reshape(3, 4)
    with mpi_buffer(array[:, 1], send=False, recv=True, overwrite=False) as buffer:
        np.testing.assert_array_equal(buffer, [1.0, 5.0, 9.0])


def test_buffers_of_objects_are_refused() -> None:
    with pytest.raises(ArgumentTypeError, match=r"mpi_buffer: argument 'array' is of Python objects .*comm.send"):
        mpi_buffer(np.array([1, None])).__enter__()


def test_arguments_are_checked_for_host_arrays_too() -> None:
    staging = MPIStaging(3, float)
    with pytest.raises(
        ArgumentError, match=r"'array' must have the shape and dtype of its staging, \(3,\) and float64"
    ):
        staging.buffer(np.zeros(4)).__enter__()
    with pytest.raises(ArgumentError, match="only one of the arguments 'stream' and 'event'"):
        staging.buffer(np.zeros(3), stream=1, event=2).__enter__()
    with staging.buffer(np.zeros(3)) as first, staging.buffer(np.ones(3)) as second:  # host arrays need no staging
        assert first is not second


def test_staging_says_what_it_is() -> None:
    staging = MPIStaging((2, np.int64(3)), None)
    assert (staging.shape, staging.dtype) == ((2, 3), np.dtype(float))
    assert MPIStaging(True, "i4").shape == (1,)
    assert MPIStaging((), int).shape == ()
    assert repr(staging) == "MPIStaging(shape=(2, 3), dtype=float64, in_use=False)"
    copied = pickle.loads(pickle.dumps(staging))
    assert (copied.shape, copied.dtype) == (staging.shape, staging.dtype)
    with staging:
        pass
    staging.close()


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ((1.5, float), ArgumentTypeError, "'shape' must be made of integers, got 1.5"),
        (("ab", float), ArgumentTypeError, "'shape' must be made of integers"),
        (((2, -1), float), ArgumentError, "'shape' must be non-negative"),
        ((2, object), ArgumentTypeError, "'dtype' is of Python objects"),
        ((2, [("a", "O")]), ArgumentTypeError, "'dtype' is of Python objects"),
        ((2, "nothing"), ArgumentTypeError, "'dtype' must describe a dtype"),
    ],
)
def test_staging_checks_its_arguments(arguments: tuple, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        MPIStaging(*arguments)


# --- exchange ---------------------------------------------------------------------------------------------------------


def test_receives_are_posted_before_sends_in_order(comm) -> None:
    received = np.zeros(3), np.zeros(2)
    result = exchange(
        comm,
        sends=iter([(np.arange(3.0), 0, 5), (np.ones(2), 0, 7)]),
        receives=iter([(received[0], 0, 5), (received[1], 0, 7)]),
    )
    assert result is None
    assert comm.calls == [("Irecv", 0, 5), ("Irecv", 0, 7), ("Isend", 0, 5), ("Isend", 0, 7)]
    np.testing.assert_array_equal(received[0], [0, 1, 2])
    np.testing.assert_array_equal(received[1], [1, 1])


def test_nothing_to_exchange_calls_nothing() -> None:
    assert exchange(None) is None


def test_halo_of_a_ring_with_strided_columns() -> None:
    def work(comm) -> np.ndarray:
        field = np.full((3, 4), float(comm.rank))
        left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
        exchange(
            comm,
            sends=[(field[:, 1], left, 0), (field[:, -2], right, 1)],
            receives=[(field[:, -1], right, 0), (field[:, 0], left, 1)],
        )
        return field

    for rank, field in enumerate(World(4).run(work)):
        np.testing.assert_array_equal(field[:, 0], (rank - 1) % 4)
        np.testing.assert_array_equal(field[:, 1:3], rank)
        np.testing.assert_array_equal(field[:, 3], (rank + 1) % 4)


@given(st.permutations(range(3)), st.permutations(range(3)), st.integers(0, 3))
def test_values_arrive_in_logical_order_whatever_the_layouts(source_axes, target_axes, step) -> None:
    """The order in memory is nobody's business: what was at an index is at that index."""
    comm = World(1).ranks[0]
    source = np.arange(24.0).reshape(2, 3, 4).transpose(source_axes)
    target = np.zeros([source.shape[axis] for axis in target_axes]).transpose(np.argsort(target_axes))
    exchange(comm, sends=[(source, 0, step)], receives=[(target, 0, step)])
    np.testing.assert_array_equal(target, source)


def test_a_shorter_message_leaves_the_rest_as_it_was(comm) -> None:
    for target in (np.full(5, 9.0), np.full((5, 2), 9.0)[:, 0], np.full(10, 9.0)[::-2]):
        statuses = exchange(
            comm, sends=[(np.arange(2.0), 0, 3)], receives=[(target, ANY_SOURCE, ANY_TAG)], return_status=True
        )
        np.testing.assert_array_equal(target, [0, 1, 9, 9, 9])
        assert [(status.source, status.tag, status.count) for status in statuses] == [(0, 3, 16)]


def test_empty_arrays_and_no_process(comm) -> None:
    kept = np.full((3, 2), 4.0)
    exchange(
        comm,
        sends=[(np.zeros((0, 3)), 0, 0), (np.ones(3), PROC_NULL, 0)],
        receives=[(np.zeros((0, 3)), 0, 0), (kept[:, 1], PROC_NULL, 0)],
    )
    np.testing.assert_array_equal(kept, 4.0)


def test_buffers_with_a_type_are_passed_on(comm) -> None:
    target = bytearray(8)
    exchange(comm, sends=[([np.array([1.0]), 1, "MPI.DOUBLE"], 0, 0)], receives=[(target, 0, 0)])
    assert np.frombuffer(target)[0] == 1.0


FIELD = np.zeros((4, 3))
READ_ONLY = np.zeros(3)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("sends", "receives", "kind", "text"),
    [
        ([(FIELD, 0)], [], ArgumentError, r"'sends\[0\]' must be \(array, dest, tag\)"),
        ([], [FIELD], ArgumentError, r"'receives\[0\]' must be \(array, source, tag\), got numpy.ndarray"),
        ([], [3], ArgumentError, r"'receives\[0\]' must be \(array, source, tag\), got 3"),
        ([(FIELD, 1, 0)], [], ArgumentError, r"'sends\[0\]' has the dest 1, and the communicator has 1 ranks"),
        ([(FIELD, -7, 0)], [], ArgumentError, r"'sends\[0\]' has the dest -7; a rank is not negative"),
        ([(FIELD, ANY_SOURCE, 0)], [], ArgumentError, r"'sends\[0\]' has the dest -2"),
        ([(FIELD, 0, ANY_TAG)], [], ArgumentError, r"'sends\[0\]' has the tag -1; a tag is not negative"),
        ([(FIELD, 0.0, 0)], [], ArgumentTypeError, r"'sends\[0\]' has the dest 0.0, which is not an integer"),
        ([(FIELD, 0, "a")], [], ArgumentTypeError, r"'sends\[0\]' has the tag 'a', which is not an integer"),
        ([], [(READ_ONLY, 0, 0)], ArgumentError, r"'receives\[0\]' is written to, but the array is read-only"),
        ([], [(b"bytes", 0, 0)], ArgumentError, r"'receives\[0\]' is written to, but its buffer is read-only"),
        ([([1.0, 2.0], 0, 0)], [], ArgumentTypeError, r"'sends\[0\]' has \[1.0, 2.0\] in the place of an array"),
        ([(None, 0, 0)], [], ArgumentTypeError, r"'sends\[0\]' has None in the place of an array"),
        ([(np.ma.masked_array([1.0]), 0, 0)], [], ArgumentTypeError, r"'sends\[0\]' is a masked array"),
        ([(np.array([None]), 0, 0)], [], ArgumentTypeError, r"'sends\[0\]' is of Python objects"),
        ([(FIELD[1:], 0, 0)], [(FIELD[:2], 0, 0)], ArgumentError, r"'receives\[0\]' and 'sends\[0\]' share memory"),
        ([], [(FIELD[0], 0, 0), (FIELD, 0, 1)], ArgumentError, r"'receives\[0\]' and 'receives\[1\]' share memory"),
    ],
)
def test_arguments_are_checked_before_anything_is_posted(comm, sends, receives, kind, text: str) -> None:
    good = np.ones(2), np.zeros(2)
    with pytest.raises(kind, match=text) as caught:
        exchange(comm, sends=[*sends, (good[0], 0, 9)], receives=[*receives, (good[1], 0, 9)])
    assert str(caught.value).startswith("exchange: ")
    assert comm.calls == []
    assert comm.aborted is None
    assert not good[1].any()


def test_sends_may_share_memory_and_neighbours_may_touch(comm) -> None:
    field = np.arange(12.0).reshape(3, 4)
    exchange(
        comm,
        sends=[(field[:, 1], 0, 0), (field[:, 1], 0, 1)],
        receives=[(field[:, 0], 0, 0), (field[:, 3], 0, 1)],  # interleaved in memory with what is sent, and apart
    )
    np.testing.assert_array_equal(field[:, 0], [1, 5, 9])
    np.testing.assert_array_equal(field[:, 3], [1, 5, 9])


def test_an_error_under_way_is_printed_and_aborts(comm, capfd) -> None:
    target = np.zeros((2, 2))
    with pytest.raises(RuntimeError, match="truncated"):
        exchange(comm, sends=[(np.ones(3), 0, 0)], receives=[(target[:, 0], 0, 0)])
    assert comm.aborted == 1
    assert "message truncated" in capfd.readouterr().err
    assert not target.any()


def test_status_needs_a_package_that_has_it() -> None:
    class Bare:
        pass

    with pytest.raises(ArgumentError, match="'return_status' needs a communicator of mpi4py"):
        exchange(Bare(), return_status=True)


def test_a_communicator_needs_three_methods_only() -> None:
    posted: list[tuple] = []

    class Done:
        def Wait(self) -> None:
            posted.append(("Wait",))

    class Bare:
        def Irecv(self, buf, source, tag):
            posted.append(("Irecv", source, tag))
            return Done()

        def Isend(self, buf, dest, tag):
            posted.append(("Isend", dest, tag))
            return Done()

    exchange(Bare(), sends=[(np.ones(1), 3, 0)], receives=[(np.ones(1), -2, -1)])
    assert posted == [("Irecv", -2, -1), ("Isend", 3, 0), ("Wait",), ("Wait",)]


@pytest.mark.skipif(find_spec("mpi4py") is None, reason="mpi4py is not installed (uv add mpi4py)")
def test_exchange_with_oneself_by_mpi4py() -> None:
    program = """
import numpy as np
from mpi4py import MPI
import cunumpy as xp
target = np.full((5, 2), 9.0)
(status,) = xp.mpi.exchange(
    MPI.COMM_SELF, sends=[(np.arange(3.0), 0, 4)], receives=[(target[:, 1], MPI.ANY_SOURCE, 4)], return_status=True
)
print(target[:, 1].tolist(), status.Get_tag(), xp.mpi.launched_under_mpi())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[0.0, 1.0, 2.0, 9.0, 9.0] 4 True\n"


def test_errors_are_in_the_tree() -> None:
    assert issubclass(CommunicationError, RuntimeError)


def test_arrays_with_several_elements_in_one_place_are_not_received_into() -> None:
    memory = np.zeros(3)
    shared = np.lib.stride_tricks.as_strided(memory, (2, 3), (0, 8))
    comm, sent = SerialComm(), np.ones((2, 3))
    with pytest.raises(ArgumentError, match=r"exchange: argument 'receives\[0\]' .* several elements in one place"):
        exchange(comm, sends=[(sent, 0, 1)], receives=[(shared, 0, 1)])
    with pytest.raises(ArgumentError, match=r"allreduce: argument 'out' .* several elements in one place"):
        allreduce(comm, sent, out=shared)
    exchange(comm, sends=[(shared, 0, 1)], receives=[(sent, 0, 1)])
    assert sent.tolist() == np.zeros((2, 3)).tolist()
    assert memory.tolist() == [0, 0, 0]
