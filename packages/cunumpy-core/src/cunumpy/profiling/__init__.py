"""Count, budget and forbid transfers between host and device, and time regions of a program.

Everything that CuNumpy copies between host and device, and every wait of its own, is an event with a kind, a size and
the line of your program. `count_transfers` collects them, `assert_no_transfers` and `TransferBudget` check them
afterwards, `forbid_transfers` stops the program at the very place. `TransferCounter.write_trace` writes a time line,
`TransferCounter.plot` draws it. `timed_region` times a part of a program, `benchmark` a function.
"""

from cunumpy.profiling._array_reads import watch_array_reads
from cunumpy.profiling._benchmark import BenchmarkResult, benchmark
from cunumpy.profiling._blocks import allow_transfers, assert_no_transfers, count_transfers, forbid_transfers
from cunumpy.profiling._budget import TransferBudget
from cunumpy.profiling._counter import TransferCounter
from cunumpy.profiling._events import Region, TransferEvent
from cunumpy.profiling._regions import Timing, Timings, TimingSummary, nvtx_range, timed_region

__all__ = [
    "BenchmarkResult",
    "Region",
    "Timing",
    "TimingSummary",
    "Timings",
    "TransferBudget",
    "TransferCounter",
    "TransferEvent",
    "allow_transfers",
    "assert_no_transfers",
    "benchmark",
    "count_transfers",
    "forbid_transfers",
    "nvtx_range",
    "timed_region",
    "watch_array_reads",
]
