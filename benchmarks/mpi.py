"""What `cunumpy.mpi` costs beside mpi4py itself, and how a program scales: ``mpiexec -n 2 python -m benchmarks.mpi``.

Apart from the other rows, because they need several processes. All ranks do the same as often; times are those of rank
0. With one argument, the number of steps, ``landau_damping.py`` is timed on the ranks that there are, instead, and
messages, for the model of its steps.
"""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path
from typing import Any

import mpi4py.MPI
import numpy as np

from benchmarks import _report
from benchmarks._measure import FULL, Effort, Rounds, Timer, measure, statement
from benchmarks.rows import Row
from cunumpy import mpi

COMM = mpi4py.MPI.COMM_WORLD
LEFT, RIGHT = (COMM.rank - 1) % COMM.size, (COMM.rank + 1) % COMM.size
EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"


def together(timer: Timer) -> Timer:
    """Return a timer that gives rank 0's time on all ranks, so that all decide alike how often to repeat."""

    def timed(number: int) -> float:
        COMM.Barrier()
        return float(COMM.bcast(timer(number)))

    return timed


def compare(effort: Effort, ours: str, theirs: str, **names: Any) -> Rounds:
    """Time two statements on all ranks."""
    names |= {"comm": COMM, "left": LEFT, "right": RIGHT, "mpi": mpi, "IN_PLACE": mpi4py.MPI.IN_PLACE}
    names |= {"Prequest": mpi4py.MPI.Prequest, "Request": mpi4py.MPI.Request}
    return measure(effort, together(statement(ours, **names)), together(statement(theirs, **names)))


def exchanging(effort: Effort, length: int) -> Rounds:
    """Send an array to the next rank, and receive one of the rank before."""
    return compare(
        effort,
        "mpi.exchange(comm, sends=[(a, right, 0)], receives=[(b, left, 0)])",
        "comm.Sendrecv(a, right, 0, b, left, 0)",
        a=np.ones(length),
        b=np.zeros(length),
    )


def exchanging_persistently(effort: Effort, length: int) -> Rounds:
    """Exchange with two neighbours, as in a time loop."""
    arrays = [np.ones(length) for _ in range(4)]
    requests = [COMM.Recv_init(arrays[k], (LEFT, RIGHT)[k], k) for k in range(2)]
    requests += [COMM.Send_init(arrays[2 + k], (RIGHT, LEFT)[k], k) for k in range(2)]
    halo = mpi.PersistentExchange(
        COMM,
        sends=[(np.ones(length), RIGHT, 2), (np.ones(length), LEFT, 3)],
        receives=[(np.zeros(length), LEFT, 2), (np.zeros(length), RIGHT, 3)],
    )
    rounds = compare(
        effort, "halo()", "Prequest.Startall(requests); Request.Waitall(requests)", halo=halo, requests=requests
    )
    halo.close()
    for request in requests:
        request.Free()
    return rounds


def reducing(effort: Effort, length: int) -> Rounds:
    """Add the arrays of all ranks in place."""
    return compare(effort, "mpi.allreduce(comm, a, out=a)", "comm.Allreduce(IN_PLACE, a)", a=np.zeros(length))


def exchanging_ghosts(effort: Effort, length: int) -> Rounds:
    """Fill the ghost cells of a square block on a torus of processes."""
    grid = COMM.Create_cart(mpi4py.MPI.Compute_dims(COMM.size, 2), [True, True])
    block = np.zeros((length + 2, length + 2))

    def by_hand() -> None:
        for axis in (0, 1):
            along = block if axis == 0 else block.T
            below, above = grid.Shift(axis, 1)
            low, high = np.ascontiguousarray(along[1]), np.ascontiguousarray(along[-2])
            from_above, from_below = np.empty_like(low), np.empty_like(high)
            requests = [grid.Irecv(from_above, above, 0), grid.Irecv(from_below, below, 1)]
            requests += [grid.Isend(low, below, 0), grid.Isend(high, above, 1)]
            mpi4py.MPI.Request.Waitall(requests)
            along[-1], along[0] = from_above, from_below

    rounds = compare(effort, "mpi.exchange_ghosts(grid, block)", "by_hand()", grid=grid, block=block, by_hand=by_hand)
    grid.Free()
    return rounds


def rows() -> tuple[Row, ...]:
    """Return the rows; a megabyte is 2^17 numbers."""
    large = 2**17
    return (
        Row("exchange", "`exchange`, 1 MB", "`Sendrecv`", 1.05, lambda effort: exchanging(effort, large)),
        Row("exchange-short", "`exchange`, 8 bytes", "`Sendrecv`", None, lambda effort: exchanging(effort, 1), "us"),
        Row(
            "persistent",
            "`PersistentExchange`, two neighbours, 8 kB",
            "persistent requests",
            None,
            lambda effort: exchanging_persistently(effort, 1024),
            "us",
        ),
        Row(
            "ghosts",
            "`exchange_ghosts`, 256 × 256",
            "messages by hand",
            None,
            lambda effort: exchanging_ghosts(effort, 256),
            "us",
        ),
        Row("allreduce", "`allreduce`, 1 MB", "`Allreduce`", None, lambda effort: reducing(effort, large)),
        Row("allreduce-short", "`allreduce`, 1 kB", "`Allreduce`", None, lambda effort: reducing(effort, 128), "us"),
    )


def latency_and_bandwidth() -> tuple[float, float]:
    """Return the seconds that a short message takes, and how many bytes of a long one go in a second."""
    times = []
    for length in (1, 2**17):
        names = {"comm": COMM, "left": LEFT, "right": RIGHT, "a": np.ones(length), "b": np.zeros(length)}
        timer = together(statement("comm.Sendrecv(a, right, 0, b, left, 0)", **names))
        times.append(min(timer(100) for _ in range(30)) / 100)
    return times[0], 8 * 2**17 / (times[1] - times[0])


def time_of_step(markers: int, steps: int) -> float:
    """Return the seconds that a step of ``landau_damping.py`` takes on all ranks together."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    landau: Any = importlib.import_module("landau_damping")
    setup = landau.Setup(markers=markers, steps=steps, sort_every=0)
    landau.simulate(landau.Setup(markers=COMM.size * setup.cells, steps=1), None, COMM)
    return float(COMM.allreduce(landau.simulate(setup, None, COMM).seconds, mpi4py.MPI.MAX)) / steps


def modelled_step(
    markers: float, ranks: int, per_marker: float, per_step: float, latency: float, bandwidth: float, cells: int = 128
) -> float:
    """Return the seconds that a step is expected to take.

    Each rank moves its markers, all do what belongs to the grid, and the densities are added up by recursive doubling:
    log2(ranks) messages one after the other (R. Thakur, R. Rabenseifner, W. Gropp, Optimization of Collective
    Communication Operations in MPICH, 2005).

    Parameters
    ----------
    markers : float
        Of all ranks.
    ranks : int
    per_marker, per_step : float
        Seconds for a marker, and for the rest of a step.
    latency, bandwidth : float
        Of a message, in seconds, and in bytes a second.
    cells : int
        Of the grid.

    Examples
    --------
    >>> modelled_step(1e6, 1, 1e-9, 0.0, 1e-6, 1e9)
    0.001
    """
    messages = math.ceil(math.log2(ranks))
    return markers / ranks * per_marker + per_step + messages * (latency + 8 * cells / bandwidth)


def main(arguments: list[str]) -> None:
    """Measure, and print on rank 0."""
    if arguments:
        steps = int(arguments[0])
        strong, weak = time_of_step(1_000_000, steps), time_of_step(1_000_000 * COMM.size, steps)
        short = time_of_step(1000 * COMM.size, 10 * steps)
        latency, bandwidth = latency_and_bandwidth()
        if COMM.rank == 0:
            print(f"{COMM.size} ranks: {strong * 1e3:.3f} ms a step of 10^6 markers, {weak * 1e3:.3f} ms of 10^6 each,")
            print(f"{short * 1e3:.3f} ms of 10^3 each; a message: {latency * 1e6:.2f} us, {bandwidth / 1e9:.1f} GB/s")
        return
    results = [_report.Result(row, row.measure(FULL)) for row in rows()]
    if COMM.rank == 0:
        print(_report.machine_text(), end="\n\n")
        print(_report.markdown_table(results))
        for result in results:
            assert result.rounds is not None
            ours, theirs = (sorted(each)[len(each) // 2] * 1e6 for each in zip(*result.rounds, strict=True))
            print(f"{result.row.name}: {ours:.2f} us, against {theirs:.2f} us")


if __name__ == "__main__":
    main(sys.argv[1:])
