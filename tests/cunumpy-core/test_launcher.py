"""What launchers leave in the environment, and what is made of it."""

import os
import re
import sys
from types import SimpleNamespace

import pytest

from cunumpy import _launcher
from cunumpy.errors import SettingError

# What launchers export: rank 5 of 8, third of four on the second node.
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "5",
    "OMPI_COMM_WORLD_SIZE": "8",
    "OMPI_COMM_WORLD_LOCAL_RANK": "2",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
    "PMIX_RANK": "5",
}
MVAPICH2 = {
    "MV2_COMM_WORLD_RANK": "5",
    "MV2_COMM_WORLD_SIZE": "8",
    "MV2_COMM_WORLD_LOCAL_RANK": "2",
    "MV2_COMM_WORLD_LOCAL_SIZE": "4",
    "PMI_RANK": "5",
    "PMI_SIZE": "8",
}
HYDRA = {"PMI_RANK": "5", "PMI_SIZE": "8", "PMI_FD": "7", "MPI_LOCALRANKID": "2", "MPI_LOCALNRANKS": "4"}
FLUX = {
    "FLUX_TASK_RANK": "5",
    "FLUX_TASK_LOCAL_ID": "2",
    "FLUX_JOB_SIZE": "8",
    "FLUX_JOB_NNODES": "2",
    "PMI_RANK": "5",
    "PMI_SIZE": "8",
}
FLUX_WITHOUT_PMI = {name: value for name, value in FLUX.items() if name.startswith("FLUX")}
PALS = {"PALS_RANKID": "5", "PALS_LOCAL_RANKID": "2", "PALS_LOCAL_SIZE": "4", "PMI_RANK": "5", "PMI_SIZE": "8"}
CRAY_PMI = {"PMI_RANK": "5", "PMI_SIZE": "8", "PMI_LOCAL_RANK": "2", "PMI_LOCAL_SIZE": "4"}
JSM = {
    "JSM_NAMESPACE_RANK": "5",
    "JSM_NAMESPACE_SIZE": "8",
    "JSM_NAMESPACE_LOCAL_RANK": "2",
    "JSM_NAMESPACE_LOCAL_SIZE": "4",
}
MPT = {"MPT_LRANK": "2"}
SRUN = {
    "SLURM_PROCID": "5",
    "SLURM_LOCALID": "2",
    "SLURM_NODEID": "1",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_STEP_TASKS_PER_NODE": "4(x2)",
}
SRUN_PMI2 = {**SRUN, "PMI_RANK": "5", "PMI_SIZE": "8", "PMI_FD": "7"}
SRUN_PMIX = {**SRUN, "PMIX_RANK": "5"}
# Hydra inside a Slurm allocation starts one proxy a node with srun; the ranks inherit the proxy's variables.
HYDRA_IN_SLURM = {
    **HYDRA,
    "SLURM_PROCID": "1",
    "SLURM_LOCALID": "0",
    "SLURM_NODEID": "1",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NUM_TASKS": "2",
    "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
}
LAUNCHES = {
    "Open MPI": OPEN_MPI,
    "MVAPICH2": MVAPICH2,
    "Hydra": HYDRA,
    "Flux": FLUX,
    "Flux without PMI": FLUX_WITHOUT_PMI,
    "PALS": PALS,
    "Cray PMI": CRAY_PMI,
    "JSM": JSM,
    "srun": SRUN,
    "srun with PMI-2": SRUN_PMI2,
    "srun with PMIx": SRUN_PMIX,
    "Hydra in Slurm": HYDRA_IN_SLURM,
}
# An allocation's own shells, and what programs in them inherit.
BATCH_SCRIPT = {"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0", "SLURM_NTASKS": "8"}
INTERACTIVE = {
    **BATCH_SCRIPT,
    "SLURM_STEP_ID": "4294967290",
    "SLURM_STEP_NUM_TASKS": "1",
    "SLURM_PTY_PORT": "34889",
    "PMIX_RANK": "0",
}
SRUN_PTY = {**INTERACTIVE, "SLURM_STEP_ID": "3", "PMI_RANK": "0", "PMI_SIZE": "1"}
SRUN_SINGLE = {**BATCH_SCRIPT, "SLURM_STEP_ID": "3", "SLURM_STEP_NUM_TASKS": "1"}
TORCHRUN = {
    "RANK": "5",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "2",
    "LOCAL_WORLD_SIZE": "4",
    "TORCHELASTIC_RUN_ID": "none",
}

PREFIXES = ("OMPI_", "PMI", "MV2_", "MVP_", "MPI_LOCAL", "ALPS_", "PALS_", "FLUX_", "JSM_", "MPT_", "SLURM_", "TORCHEL")
NAMES = ("MAYBEMPI", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


@pytest.fixture(autouse=True)
def environ(monkeypatch):
    """An environment without any launcher; returns a function that sets variables."""
    for name in list(os.environ):
        if name.startswith(PREFIXES) or name in NAMES:
            monkeypatch.delenv(name)
    monkeypatch.delitem(sys.modules, "mpi4py.MPI", raising=False)

    def set_all(variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return set_all


def test_nothing_launched():
    assert _launcher.launched_under_mpi() is False
    assert _launcher.local_rank() == 0
    assert _launcher.local_size() == 1
    assert _launcher.find_launch() is None


@pytest.mark.parametrize("name", LAUNCHES)
def test_launchers(environ, name):
    environ(LAUNCHES[name])
    assert _launcher.launched_under_mpi() is True
    launch = _launcher.find_launch()
    assert (launch.rank, launch.size, launch.local_rank) == (5, 8, 2)
    assert _launcher.local_rank() == 2
    assert _launcher.local_size() == (None if name.startswith("Flux") else 4)


def test_hpe_mpt_tells_the_local_rank_alone(environ):
    environ(MPT)
    assert _launcher.launched_under_mpi() is True
    assert _launcher.local_rank() == 2
    assert _launcher.local_size() is None


@pytest.mark.parametrize("variables", [BATCH_SCRIPT, INTERACTIVE, SRUN_PTY, SRUN_SINGLE])
def test_shells_of_an_allocation_are_serial(environ, variables):
    environ(variables)
    assert _launcher.launched_under_mpi() is False
    assert _launcher.local_rank() == 0
    assert _launcher.local_size() == 1


def test_mpi_started_in_an_interactive_shell_is_seen(environ):
    environ({**SRUN_PTY, **HYDRA})
    assert _launcher.launched_under_mpi() is True
    assert _launcher.local_rank() == 2
    environ({**OPEN_MPI, "OMPI_COMM_WORLD_LOCAL_RANK": "3"})
    assert _launcher.local_rank() == 3


def test_torchrun_has_local_ranks_and_is_no_mpi_run(environ):
    environ(TORCHRUN)
    assert _launcher.launched_under_mpi() is False
    assert _launcher.local_rank() == 2
    assert _launcher.local_size() == 4


def test_torchrun_inside_an_mpi_run_counts_its_own_workers(environ):
    environ({**OPEN_MPI, **TORCHRUN, "LOCAL_RANK": "3"})
    assert _launcher.local_rank() == 3


@pytest.mark.parametrize(
    ("variables", "shown"),
    [
        ({"PMI_RANK": "3"}, "PMI_RANK=3 shows an MPI run by a launcher with PMI"),
        ({"PMI_RANK": "3", "PMI_SIZE": "4"}, "PMI_RANK=3"),
        ({"PMIX_RANK": "0"}, "PMIX_RANK=0 shows an MPI run by PMIx"),
        ({"ALPS_APP_PE": "1"}, "ALPS_APP_PE=1 shows an MPI run by Cray ALPS"),
        # the outer launcher's local rank is not that of the inner run
        ({"PMI_RANK": "3", "PMI_SIZE": "4", "FLUX_TASK_RANK": "0", "FLUX_TASK_LOCAL_ID": "0"}, "PMI_RANK=3"),
        ({"PMI_RANK": "3", "PMI_SIZE": "4", **BATCH_SCRIPT}, "PMI_RANK=3"),
        ({**OPEN_MPI, "OMPI_COMM_WORLD_LOCAL_RANK": "-1"}, "OMPI_COMM_WORLD_RANK=5 shows an MPI run by Open MPI"),
    ],
)
def test_an_unknown_local_rank_is_an_error_that_says_what_to_set(environ, variables, shown):
    environ(variables)
    assert _launcher.launched_under_mpi() is True
    with pytest.raises(
        SettingError, match=re.escape(shown) + r".*no variable tells the rank on the node\. Set LOCAL_RANK"
    ):
        _launcher.local_rank()
    assert _launcher.local_size() is None
    environ({"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"})
    assert _launcher.local_rank() == 1
    assert _launcher.local_size() == 2


def test_the_only_process_of_a_run_is_the_first_on_its_node(environ):
    environ({"PMI_RANK": "0", "PMI_SIZE": "1"})
    assert _launcher.launched_under_mpi() is True
    assert _launcher.local_rank() == 0
    assert _launcher.local_size() == 1


@pytest.mark.parametrize("value", ["", " ", "abc", "-1", "1.5", "٣", "8"])
def test_a_rank_that_can_not_be_is_no_launch(environ, value):
    environ({"OMPI_COMM_WORLD_RANK": value, "OMPI_COMM_WORLD_SIZE": "8"})
    assert _launcher.launched_under_mpi() is False
    assert _launcher.local_rank() == 0


def test_the_override_decides_whether_there_is_a_launch(environ):
    environ({**OPEN_MPI, "MAYBEMPI": " Off"})
    assert _launcher.launched_under_mpi() is False
    assert _launcher.local_rank() == 2  # what the launcher says of the node stays true
    environ({"MAYBEMPI": ""})
    assert _launcher.launched_under_mpi() is True


def test_the_override_turns_the_error_off(environ):
    environ({"PMI_RANK": "3", "MAYBEMPI": "0"})
    assert _launcher.local_rank() == 0


def test_a_launch_that_is_only_stated_has_no_local_rank(environ):
    environ({"MAYBEMPI": "yes"})
    assert _launcher.launched_under_mpi() is True
    with pytest.raises(SettingError, match=r"MAYBEMPI=yes states an MPI run.*LOCAL_RANK=0 for a single process"):
        _launcher.local_rank()
    assert _launcher.local_size() is None


def test_a_senseless_override_is_an_error(environ):
    environ({"MAYBEMPI": "perhaps"})
    with pytest.raises(SettingError, match="MAYBEMPI='perhaps'"):
        _launcher.launched_under_mpi()


def test_a_senseless_local_rank_is_an_error(environ):
    environ({"LOCAL_RANK": "first"})
    with pytest.raises(SettingError, match="LOCAL_RANK='first' means nothing; expected a whole number"):
        _launcher.local_rank()


@pytest.mark.parametrize(
    ("tasks", "node", "expected"), [("4(x2),3", 1, 4), ("4(x2),3", 2, 3), ("5", 0, 5), ("x", 0, None)]
)
def test_tasks_per_node_of_slurm(environ, tasks, node, expected):
    environ({**SRUN, "SLURM_STEP_TASKS_PER_NODE": tasks, "SLURM_NODEID": str(node)})
    assert _launcher.local_size() == expected


def mpi_with(size, *, initialised=True, finalised=False):
    return SimpleNamespace(
        Is_initialized=lambda: initialised,
        Is_finalized=lambda: finalised,
        COMM_WORLD=SimpleNamespace(Get_size=lambda: size),
    )


def test_an_initialised_mpi_counts_as_a_launch(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", mpi_with(1))
    assert _launcher.launched_under_mpi() is True
    assert _launcher.local_rank() == 0
    assert _launcher.local_size() == 1


@pytest.mark.parametrize("mpi", [mpi_with(4), mpi_with(1, finalised=True)])
def test_an_initialised_mpi_of_several_processes_needs_a_local_rank(monkeypatch, mpi):
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", mpi)
    with pytest.raises(SettingError, match="mpi4py has initialised MPI"):
        _launcher.local_rank()
    assert _launcher.local_size() is None


def test_a_loaded_mpi_is_no_launch(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", mpi_with(1, initialised=False))
    assert _launcher.launched_under_mpi() is False
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", SimpleNamespace())
    assert _launcher.launched_under_mpi() is False
