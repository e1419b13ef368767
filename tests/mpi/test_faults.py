"""Ranks that raise, exit or are late: runs of their own, each with a time limit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time

import pytest

from mpi_under_test import MPI, REAL

pytestmark = pytest.mark.skipif(
    not REAL or MPI.COMM_WORLD.size > 1, reason="starts runs of several ranks by itself (CUNUMPY_TEST_MPI=1, one rank)"
)
SECONDS = 60

BEGIN = """
import os, sys, time
import numpy as np
import cunumpy as xp
comm = xp.mpi.get_mpi().COMM_WORLD
rank, size = comm.rank, comm.size
left, right = (rank - 1) % size, (rank + 1) % size
sent, received = np.full(LENGTH, float(rank)), np.zeros(LENGTH)
def ring(**options):
    xp.mpi.exchange(comm, sends=[(sent, right, 0)], receives=[(received, left, 0)], **options)
"""


def run(program: str, ranks: int, *, length: int = 3, module: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run a program under the `mpiexec` beside this Python, as if it were not a rank itself."""
    own = ("OMPI_COMM", "OMPI_UNIVERSE", "OMPI_APP", "OMPI_ARGV", "OMPI_COMMAND", "PMIX_", "PMI_", "HYDI_", "MPIR_")
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith((*own, "HYDRA_", "PRTE_", "MPI_LOCAL"))
    }
    launcher = shutil.which("mpiexec")
    assert launcher is not None
    text = BEGIN.replace("LENGTH", str(length)) + program
    return subprocess.run(
        [launcher, "-n", str(ranks), sys.executable, *module, "-c", text],
        env=clean | {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_late_rank_is_waited_for(ranks):
    done = run(
        """
time.sleep(1.0 * (rank == size - 1))
ring()
assert (received == left).all()
(moved,), _ = xp.mpi.migrate(comm, [sent], np.full(sent.size, right))
assert (moved == left).all()
print("arrived", flush=True)
""",
        ranks,
        length=200_000,  # by rendezvous
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("arrived") == ranks


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_rank_at_fault_raises_on_all_where_they_agree(ranks):
    done = run(
        """
array = "no array" if rank == 1 else sent
try:
    xp.mpi.exchange(comm, sends=[(array, right, 0)], receives=[(received, left, 0)], check=True)
except (TypeError, RuntimeError) as error:
    print(type(error).__name__, flush=True)
ring(check=True)
assert (received == left).all()
""",
        ranks,
    )
    assert done.returncode == 0, done.stderr
    raised = re.findall("ArgumentTypeError|CommunicationError", done.stdout)  # lines of several ranks may be mixed
    assert sorted(raised) == ["ArgumentTypeError"] + ["CommunicationError"] * (ranks - 1)


@pytest.mark.parametrize("ranks", [2, 4])
def test_an_error_under_way_ends_all_ranks_and_is_printed(ranks):
    started = time.monotonic()
    done = run(
        """
if rank == 1:
    received = np.zeros(1)  # the message is longer
ring()
xp.mpi.exchange(comm, receives=[(received, right, 1)])  # nobody sends that
""",
        ranks,
    )
    assert done.returncode != 0
    assert "Traceback" in done.stderr
    assert "runcat" in done.stderr  # MPI's words: truncated, or truncation
    assert time.monotonic() - started < SECONDS / 2


@pytest.mark.parametrize(
    "end",
    ["raise ZeroDivisionError('of rank 1')", "sys.exit(3)", "os._exit(3)", "os.kill(os.getpid(), 9)"],
    ids=["raises", "exits", "exits at once", "is killed"],
)
def test_a_rank_that_ends_ends_the_others(end):
    """`python -m mpi4py` sees to exceptions and exit codes, `mpiexec` to processes that are gone."""
    done = run(
        f"""
if rank == 1:
    {end}
ring()
""",
        2,
        length=200_000,
        module=("-m", "mpi4py"),
    )
    assert done.returncode != 0
    if "raise" in end:
        assert "ZeroDivisionError: of rank 1" in done.stderr
