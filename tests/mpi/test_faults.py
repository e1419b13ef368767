"""Ranks that raise, exit, die half-way or are late: runs of their own, each with a time limit."""

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
grid = comm.Create_cart([size], [True])
block = np.full((5, LENGTH), float(rank))
halo = xp.mpi.PersistentExchange(comm, sends=[(sent, right, 1)], receives=[(received, left, 1)])
def started(fault=lambda: None):
    halo.start()
    fault()
    halo.wait()
ways = {
    "exchange": ring,
    "persistent": halo,
    "started": started,
    "ghosts": lambda: xp.mpi.exchange_ghosts(grid, block),
    "migrate": lambda: xp.mpi.migrate(comm, [sent], np.full(sent.size, right)),
    "gather": lambda: xp.mpi.gather(comm, sent),
    "alltoall": lambda: xp.mpi.alltoall(comm, np.tile(sent, size)),
    "allreduce": lambda: xp.mpi.allreduce(comm, sent),
}
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
def late():
    time.sleep(0.3 * (rank == size - 1))
for way in ways.values():
    late()
    way()
    way()
started(late)
assert (received == left).all()
assert (block[0] == left).all() and (block[-1] == right).all()
(moved,), _ = ways["migrate"]()
assert (moved == left).all()
assert (xp.mpi.allreduce(comm, sent) == sum(range(size))).all()
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


ENDS = {
    "raises": "raise ZeroDivisionError('of rank 1')",
    "exits": "sys.exit(3)",
    "exits at once": "os._exit(3)",
    "is killed": "os.kill(os.getpid(), 9)",
}
WAYS = ["persistent", "started", "ghosts", "migrate", "allreduce"]


@pytest.mark.parametrize(
    ("end", "way"),
    [
        *((end, "exchange") for end in ENDS),
        *(("raises" if k % 2 else "is killed", way) for k, way in enumerate(WAYS)),
    ],
)
def test_a_rank_that_ends_half_way_ends_the_others(end, way):
    """In a time loop. `python -m mpi4py` sees to exceptions and exit codes, `mpiexec` to processes that are gone."""
    done = run(
        f"""
def fault():
    {ENDS[end]}
for step in range(4):
    if step == 2 and rank == 1:
        started(fault) if {way!r} == "started" else fault()
    ways[{way!r}]()
    print("done", flush=True)
""",
        2,
        length=200_000,
        module=("-m", "mpi4py"),
    )
    assert done.returncode != 0
    # Nobody comes further; what was sent before the end may have arrived.
    assert done.stdout.count("done") <= 4 + (way == "started")
    if end == "raises":
        assert "ZeroDivisionError: of rank 1" in done.stderr


@pytest.mark.parametrize("way", ["migrate", "gather"])
def test_a_rank_without_memory_for_what_comes_ends_the_others(way):
    """The ranks have agreed then, and wait for its part: the error is printed, and all end."""
    done = run(
        f"""
import resource
ways[{way!r}]()
if rank == 0:
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 40_000_000, used + 40_000_000))
many = np.zeros(10_000_000 * rank)  # for rank 0
if {way!r} == "migrate":
    xp.mpi.migrate(comm, [many], np.zeros(many.size, np.int8))
else:
    xp.mpi.gather(comm, many)
""",
        2,
    )
    assert done.returncode != 0
    assert "MemoryError" in done.stderr


def test_what_the_library_does_not_expect_raises_on_all_where_they_agree():
    done = run(
        """
def broken(entry):
    if rank == 1:
        raise ZeroDivisionError("of rank 1")
    yield entry
raised = []
for call in (
    lambda: xp.mpi.exchange(comm, sends=broken((sent, right, 0)), receives=[(received, left, 0)], check=True),
    lambda: xp.mpi.migrate(comm, broken(sent), np.full(sent.size, right)),
):
    try:
        call()
    except (ZeroDivisionError, RuntimeError) as error:
        raised.append(type(error) is (ZeroDivisionError if rank == 1 else xp.errors.CommunicationError))
ring()
assert raised == [True, True], raised
""",
        2,
    )
    assert done.returncode == 0, done.stderr
