"""Is this process part of an MPI run, and which rank is it on its node?

Everything here reads the environment that launchers leave, so it works before MPI is initialised, which is when a
device has to be bound. Nothing imports mpi4py.
"""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

from cunumpy import _environment
from cunumpy.errors import SettingError


class Launcher(NamedTuple):
    """The variables of one launcher; None for what it does not tell."""

    name: str
    rank: str | None
    size: str | None = None
    local_rank: str | None = None
    local_size: str | None = None


class Launch(NamedTuple):
    """What the environment tells of the run that this process belongs to; None for what it does not tell."""

    launcher: str
    variable: str
    rank: int | None
    size: int | None
    local_rank: int | None
    local_size: int | None


# Launchers that are started within an allocation come before those of the resource managers: the variables of the
# outer one are inherited, and only the inner one knows the ranks.
LAUNCHERS = (
    Launcher(
        "Open MPI",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    Launcher(
        "MVAPICH2",
        "MV2_COMM_WORLD_RANK",
        "MV2_COMM_WORLD_SIZE",
        "MV2_COMM_WORLD_LOCAL_RANK",
        "MV2_COMM_WORLD_LOCAL_SIZE",
    ),
    Launcher("MPICH or Intel MPI (Hydra)", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    Launcher("MPICH or Intel MPI (Hydra)", None, None, "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    Launcher("MVAPICH", None, None, "MVP_COMM_WORLD_LOCAL_RANK"),
    Launcher("HPE MPT", None, None, "MPT_LRANK"),
    Launcher("Cray PMI", "PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE"),
    Launcher("Cray PALS", "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"),
    Launcher("Cray ALPS", "ALPS_APP_PE"),
    Launcher(
        "IBM JSM",
        "JSM_NAMESPACE_RANK",
        "JSM_NAMESPACE_SIZE",
        "JSM_NAMESPACE_LOCAL_RANK",
        "JSM_NAMESPACE_LOCAL_SIZE",
    ),
    Launcher("Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID"),
    Launcher("PMIx", "PMIX_RANK"),
)
SLURM = Launcher("Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID")

# Slurm numbers the steps that are no `srun` command (batch script, interactive shell, ...) down from 2^32 - 2.
_FIRST_SPECIAL_SLURM_STEP = 0xFFFFFFF0


def _integer(name: str | None) -> int | None:
    """Return a variable that holds a whole number that is not negative, else None."""
    text = os.environ.get(name, "").strip() if name else ""
    return int(text) if text.isascii() and text.isdigit() else None


def _rank_in(launcher: Launcher) -> int | None:
    """Return the rank in the run, if the launcher tells one that is possible."""
    rank, size = _integer(launcher.rank), _integer(launcher.size)
    return None if rank is not None and size is not None and rank >= size else rank


def _slurm_step_tasks() -> int:
    """Return how many tasks the `srun` command that started this process has; 0 when it was not started by one."""
    step = _integer("SLURM_STEP_ID")
    if step is None or step >= _FIRST_SPECIAL_SLURM_STEP or _rank_in(SLURM) is None:
        return 0
    return _integer("SLURM_STEP_NUM_TASKS") or 0


def _slurm_local_size() -> int | None:
    """Return the number of tasks of the step on this node, from a text such as ``4(x2),3``."""
    node = _integer("SLURM_NODEID")
    text = os.environ.get("SLURM_STEP_TASKS_PER_NODE", "")
    if node is None or not text:
        return None
    try:
        for part in text.split(","):
            tasks, _, repeat = part.strip().removesuffix(")").partition("(x")
            node -= int(repeat or 1)
            if node < 0:
                return int(tasks)
    except ValueError:
        pass
    return None


def _torchrun() -> Launch | None:
    """Return what torchrun tells its workers; it starts no MPI."""
    local_rank = _integer("LOCAL_RANK")
    if local_rank is None or "TORCHELASTIC_RUN_ID" not in os.environ:
        return None
    return Launch(
        "torchrun", "LOCAL_RANK", _integer("RANK"), _integer("WORLD_SIZE"), local_rank, _integer("LOCAL_WORLD_SIZE")
    )


def _seen(launcher: Launcher) -> str | None:
    """Return the variable that shows a launch by this launcher."""
    if launcher.rank is None:
        return launcher.local_rank if _integer(launcher.local_rank) is not None else None
    if _rank_in(launcher) is None:
        return None
    if (
        launcher.rank in ("PMI_RANK", "PMIX_RANK")
        and os.environ.get("SLURM_PTY_PORT")
        and _integer("SLURM_STEP_NUM_TASKS") == 1
        and _integer("MPI_LOCALRANKID") is None
    ):
        return None  # an `srun --pty` shell passes these on to serial programs
    return launcher.rank


def find_launch() -> Launch | None:
    """Return what the environment tells of the MPI run that this process belongs to.

    ``MAYBEMPI`` is not looked at here.

    Returns
    -------
    Launch or None
        None when no launcher has left a rank. The rank on the node comes from the launcher that shows the launch, or
        from another one that agrees with it on the rank in the run; else it is None.
    """
    for launcher in LAUNCHERS:
        variable = _seen(launcher)
        if variable is not None:
            return _complete(launcher, variable)
    tasks = _slurm_step_tasks()
    if tasks > 1:  # `srun` without a PMI starts serial programs too, with one task
        return Launch("Slurm", "SLURM_PROCID", _rank_in(SLURM), tasks, _integer("SLURM_LOCALID"), _slurm_local_size())
    return None


# What launchers leave in processes that MPI starts, beside or in the place of a rank.
_TRACES = ("PMI_FD", "PMI_PORT", "PMI_ID", "HYDI_CONTROL_FD", "PMIX_NAMESPACE", "PMIX_SERVER_URI", "MPIRUN_RANK")


def unclear_launch() -> str | None:
    """Return what looks like an MPI run where `find_launch` finds none, as ``VARIABLE=value``; None for nothing.

    Variables of a parallel run that tell no possible rank: a size above 1, a rank that is no number or not below the
    size, and what launchers leave for the MPI library alone.
    """
    if find_launch() is not None:
        return None
    for launcher in LAUNCHERS:
        if launcher.rank is not None:
            text, size = os.environ.get(launcher.rank, "").strip(), _integer(launcher.size)
            if text and _rank_in(launcher) is None:
                return f"{launcher.rank}={text}" + (f", {launcher.size}={size}" if size is not None else "")
            if size is not None and size > 1 and not text:
                return f"{launcher.size}={size}"
    traces = (*_TRACES, *(("WORLD_SIZE",) if (_integer("WORLD_SIZE") or 0) > 1 else ()))
    return next((f"{name}={os.environ[name]}" for name in traces if os.environ.get(name, "").strip()), None)


def _complete(shown: Launcher, variable: str) -> Launch:
    rank, size = _rank_in(shown), _integer(shown.size)
    for launcher in (shown, *LAUNCHERS):
        local_rank = _integer(launcher.local_rank)
        if local_rank is not None and (launcher.rank is None or _rank_in(launcher) == rank):
            size = size if size is not None else _integer(launcher.size)
            return Launch(launcher.name, variable, rank, size, local_rank, _integer(launcher.local_size))
    if _slurm_step_tasks() and _rank_in(SLURM) == rank and _integer("SLURM_LOCALID") is not None:
        size = size if size is not None else _slurm_step_tasks()
        return Launch("Slurm", variable, rank, size, _integer("SLURM_LOCALID"), _slurm_local_size())
    name = "a launcher with PMI" if variable == "PMI_RANK" else shown.name
    single = size == 1
    local_rank = _integer("LOCAL_RANK")
    return Launch(
        name,
        variable,
        rank,
        size,
        0 if single else local_rank,
        1 if single else _integer("LOCAL_WORLD_SIZE") if local_rank is not None else None,
    )


def _initialised_mpi() -> object | None:
    """Return the module `mpi4py.MPI` if it is loaded and has initialised MPI."""
    mpi = sys.modules.get("mpi4py.MPI")
    is_initialized = getattr(mpi, "Is_initialized", None)
    return mpi if is_initialized is not None and is_initialized() else None


def _initialised_size(mpi: object) -> int | None:
    """Return the size of the world of an initialised `mpi4py.MPI`; None after it was finalised."""
    if mpi.Is_finalized():  # type: ignore[attr-defined]
        return None
    return int(mpi.COMM_WORLD.Get_size())  # type: ignore[attr-defined]


def launched_under_mpi() -> bool:
    """Tell whether this process is part of an MPI run.

    In this order: ``MAYBEMPI``, where it is set; the variables that launchers leave, where one holds a rank (Open MPI,
    MPICH, Intel MPI, MVAPICH2, Slurm, Flux, Cray PALS and ALPS, IBM JSM, HPE MPT); whether `mpi4py.MPI` is loaded and
    has initialised MPI. Everything is looked up afresh at each call, and mpi4py is not imported.

    Under Slurm a batch script, an interactive shell and ``srun`` of a single task without a PMI are serial.

    Returns
    -------
    bool

    Raises
    ------
    SettingError
        ``MAYBEMPI`` holds a value that means nothing.

    Examples
    --------
    >>> from cunumpy._launcher import launched_under_mpi
    >>> launched_under_mpi()
    False
    """
    forced = _environment.read("MAYBEMPI")
    if forced is not None:
        return bool(forced)
    return find_launch() is not None or _initialised_mpi() is not None


def local_rank() -> int:
    """Return the rank of this process among those of the run on the same node.

    It can be asked before MPI is initialised. Workers of torchrun have one too, although they are no MPI run.

    Returns
    -------
    int
        0 when nothing was launched.

    Raises
    ------
    SettingError
        A launch is seen, or stated by ``MAYBEMPI=1``, and nothing tells the rank on the node. Where another rule holds
        on a cluster, set ``LOCAL_RANK`` for each process.

    Examples
    --------
    >>> from cunumpy._launcher import local_rank
    >>> local_rank()
    0
    """
    torchrun = _torchrun()
    if torchrun is not None and torchrun.local_rank is not None:
        return torchrun.local_rank
    launch = find_launch()
    if launch is not None and launch.local_rank is not None:
        return launch.local_rank
    if launch is None:
        # Some programs set only this, without a launch to be seen.
        for name in (*(launcher.local_rank for launcher in LAUNCHERS), "SLURM_LOCALID", "LOCAL_RANK"):
            found = _integer(name)
            if found is not None:
                return found
        text = os.environ.get("LOCAL_RANK", "")
        if text.strip():
            raise SettingError(
                f"local_rank: environment variable LOCAL_RANK={text!r} means nothing; expected a whole number "
                "from 0 up. Unset it for a single process."
            )
    if not launched_under_mpi():
        return 0
    remedy = "Set LOCAL_RANK for each process, for example in a wrapper script of the launcher"
    if launch is not None:
        found_text = f"{launch.variable}={os.environ[launch.variable]} shows an MPI run by {launch.launcher}"
        raise SettingError(f"local_rank: {found_text}, but no variable tells the rank on the node. {remedy}.")
    mpi = _initialised_mpi()
    if mpi is None:
        raise SettingError(
            f"local_rank: MAYBEMPI={os.environ['MAYBEMPI']} states an MPI run, but no variable of a known launcher "
            f"tells the rank on the node. {remedy} (LOCAL_RANK=0 for a single process)."
        )
    if _initialised_size(mpi) == 1:
        return 0
    raise SettingError(
        f"local_rank: mpi4py has initialised MPI with several processes, but no variable of a known launcher tells the "
        f"rank on the node. {remedy}."
    )


def local_size() -> int | None:
    """Return how many processes of the run are on this node.

    Returns
    -------
    int or None
        1 when nothing was launched; None when a launch is seen and nothing tells the number.
    """
    torchrun = _torchrun()
    if torchrun is not None:
        return torchrun.local_size
    launch = find_launch()
    if launch is not None:
        return launch.local_size
    if not launched_under_mpi():
        return 1
    mpi = _initialised_mpi()
    return 1 if mpi is not None and _initialised_size(mpi) == 1 else None
