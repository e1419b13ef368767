"""How cost and memory grow with size: ``uv run python -m benchmarks.growth``.

Each operation runs at several sizes, each in a process of its own, beside a plain copy of as many bytes as its inputs
and outputs have. A cost per entry that grows no more than the copy's owes it to the memory and not to the method.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import subprocess
import sys
import timeit
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import _memory, _report
from benchmarks._measure import Effort, measure
from cunumpy import algorithms, rng

LARGEST_GROWTH, LARGEST_MEMORY = 1.3, 3.0

EFFORT = Effort(processes=1, rounds=1, tries=5, seconds=0.01)

HEADER = ("operation", "entries", "ns per entry", "copy", "growth", "memory", "")


@dataclass(frozen=True)
class Operation:
    """An operation: makes its inputs, and is called with them."""

    inputs: Callable[[int], tuple[Any, ...]]
    call: Callable[..., Any]


@dataclass(frozen=True)
class Figure:
    """What was measured of one operation at one size.

    Parameters
    ----------
    operation : str
    entries : int
    seconds, copy_seconds : float
        Of one call, and of a copy of as many bytes as the inputs and outputs have.
    bytes : int
        Of inputs and outputs.
    peak : int
        The peak of memory, in bytes, inputs and outputs among them.
    """

    operation: str
    entries: int
    seconds: float
    copy_seconds: float
    bytes: int
    peak: int


def _random() -> np.random.Generator:
    return np.random.default_rng(1)


def _ids(n: int) -> tuple[Any, ...]:
    return (np.arange(n, dtype=np.uint64),)


def _values(n: int) -> Any:
    return _random().random(n)


def _positions(n: int) -> Any:
    return _random().random((n, 3))


def _keys(n: int, largest: int) -> Any:
    return _random().integers(0, largest, n)


CELLS = 10_000
LOWER, UPPER = np.zeros(3), np.ones(3)

OPERATIONS = {
    "philox_uniform": Operation(_ids, partial(rng.philox_uniform, 42, 0)),
    "philox_normal": Operation(_ids, partial(rng.philox_normal, 42, 0)),
    "PhiloxGenerator.random": Operation(lambda n: (n,), lambda n: rng.PhiloxGenerator(42).random(n)),
    "morton_keys": Operation(
        lambda n: (_positions(n),), lambda positions: algorithms.morton_keys(positions, LOWER, UPPER, 21)
    ),
    "sort_by_key, 63 bits, (n, 3)": Operation(
        lambda n: (_keys(n, 1 << 63), _positions(n)), lambda keys, positions: algorithms.sort_by_key(keys, positions)
    ),
    "sort_by_key, 20 bits, (n, 3)": Operation(
        lambda n: (_keys(n, 1 << 20), _positions(n)), lambda keys, positions: algorithms.sort_by_key(keys, positions)
    ),
    "sort_by_cell, (n, 3)": Operation(
        lambda n: (_keys(n, CELLS), _positions(n)), lambda cells, x: algorithms.sort_by_cell(cells, CELLS, x)
    ),
    "segment_sum, (n,)": Operation(
        lambda n: (_values(n), _keys(n, CELLS)), lambda values, keys: algorithms.segment_sum(values, keys, CELLS)
    ),
    "segment_sum, (n, 3)": Operation(
        lambda n: (_positions(n), _keys(n, CELLS)), lambda values, keys: algorithms.segment_sum(values, keys, CELLS)
    ),
    "cell_offsets": Operation(
        lambda n: (np.repeat(np.arange(n // 10), 10),), lambda cells: algorithms.cell_offsets(cells, cells.size // 10)
    ),
    "compact_by_mask, 90 % of (n, 3)": Operation(
        lambda n: (_values(n) < 0.9, _positions(n)), lambda mask, positions: algorithms.compact_by_mask(mask, positions)
    ),
}


def measure_one(name: str, entries: int) -> Figure:
    """Measure an operation in this process, which has measured nothing before."""
    operation = OPERATIONS[name]
    operation.call(*operation.inputs(1000))
    inputs = operation.inputs(entries)
    above, outputs = _memory.peak(lambda: operation.call(*inputs))
    touched = _memory.size(inputs) + _memory.size(outputs)
    peak = _memory.size(inputs) + max(above, _memory.size(outputs))
    del outputs

    source = np.ones(touched // 2, np.int8)  # copying it reads one half of the bytes and writes the other
    ((seconds, copy_seconds),) = measure(EFFORT, _timer(lambda: operation.call(*inputs)), _timer(source.copy))
    return Figure(name, entries, seconds, copy_seconds, touched, peak)


def _timer(call: Callable[[], Any]) -> Callable[[int], float]:
    return timeit.Timer(call).timeit


# --- the table --------------------------------------------------------------------------------------------------------


def growth(figures: Sequence[Figure]) -> list[float]:
    """Return how many times as much an entry costs as at the first size of its operation, over the same of the copy."""
    first: dict[str, Figure] = {}
    for figure in figures:
        first.setdefault(figure.operation, figure)
    return [_against_copy(figure) / _against_copy(first[figure.operation]) for figure in figures]


def _against_copy(figure: Figure) -> float:
    return figure.seconds / figure.copy_seconds


def memory(figure: Figure) -> float:
    """Return the peak of memory as a multiple of inputs and outputs."""
    return figure.peak / figure.bytes


def cells(figure: Figure, grown: float) -> tuple[str, ...]:
    """Return one line of the table."""
    per_entry = (f"{1e9 * seconds / figure.entries:.3g}" for seconds in (figure.seconds, figure.copy_seconds))
    met = grown <= LARGEST_GROWTH and memory(figure) <= LARGEST_MEMORY
    sizes = f"{grown:.2f}", f"{memory(figure):.2f}", "met" if met else "missed"
    return (figure.operation, f"10^{math.log10(figure.entries):g}", *per_entry, *sizes)


def plot(figures: Sequence[Figure], path: Path) -> None:
    """Draw cost, growth and memory of each operation over the size."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(13, 5), layout="constrained")
    cost, grown, peak = picture.subplots(1, 3)
    for number, name in enumerate(dict.fromkeys(figure.operation for figure in figures)):
        style: dict[str, Any] = {"color": f"C{number % 10}", "linestyle": "-" if number < 10 else ":", "marker": "o"}
        own = [figure for figure in figures if figure.operation == name]
        entries = [figure.entries for figure in own]
        cost.loglog(entries, [1e9 * figure.seconds / figure.entries for figure in own], label=name, **style)
        grown.semilogx(entries, growth(own), **style)
        peak.semilogx(entries, [memory(figure) for figure in own], **style)
    cost.set_ylabel("ns per entry")
    grown.set_ylabel("growth of the cost per entry / growth of a plain copy's")
    grown.axhline(LARGEST_GROWTH, color="black", linestyle="--", linewidth=1)
    grown.set_ylim(bottom=0)
    peak.set_ylabel("peak of memory / inputs and outputs")
    peak.axhline(LARGEST_MEMORY, color="black", linestyle="--", linewidth=1)
    peak.set_ylim(bottom=0)
    for axes in (cost, grown, peak):
        axes.set_xlabel("entries")
    picture.legend(loc="outside lower center", ncols=4, fontsize="small")
    picture.savefig(path, dpi=120)


# --- the command ------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status is 0 after a measurement, whatever came of it."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.growth",
        description="Measure how cost and memory of CuNumpy's operations grow with size, beside a plain copy.",
        allow_abbrev=False,
    )
    names = list(OPERATIONS)
    parser.add_argument(
        "--operations",
        nargs="+",
        metavar="NAME",
        choices=names,
        help="only these: " + ", ".join(names).replace("%", "%%"),
    )
    parser.add_argument("--smallest", type=float, default=1e6, help="entries of the smallest size (default: 1e6)")
    parser.add_argument("--largest", type=float, default=1e8, help="entries of the largest size (default: 1e8)")
    parser.add_argument("--plot", type=_picture, metavar="FILE", help="draw cost, growth and memory (needs matplotlib)")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    options = parser.parse_args(arguments)
    if not 1000 <= options.smallest <= options.largest:
        parser.error(f"expected 1000 <= smallest <= largest, got {options.smallest:g} and {options.largest:g}")

    sizes = [round(options.smallest)]
    while sizes[-1] * 10 <= options.largest:
        sizes.append(sizes[-1] * 10)
    figures = []
    for name in options.operations or OPERATIONS:
        for entries in sizes:
            print(f"measuring {name}, {entries:.0e} entries", file=sys.stderr)
            figures.append(_in_process(name, entries))

    table = [cells(*line) for line in zip(figures, growth(figures), strict=True)]
    print(_report.machine_text(), end="\n\n")
    print(_report.aligned(HEADER, table) if not options.markdown else _report.markdown(HEADER, table), end="\n\n")
    missed = sum(line[-1] == "missed" for line in table)
    print(f"growth at most {LARGEST_GROWTH}, memory at most {LARGEST_MEMORY:g}: missed by {missed} of {len(table)}")
    if options.plot:
        plot(figures, options.plot)
    return 0


def _in_process(name: str, entries: int) -> Figure:
    command = [sys.executable, "-m", "benchmarks.growth", "--measure", name, str(entries)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], check=True, stdout=subprocess.PIPE, text=True)
    return Figure(**json.loads(done.stdout))


def _picture(text: str) -> Path:
    """Return a path for a picture, if there is matplotlib to draw it."""
    if importlib.util.find_spec("matplotlib") is None:
        raise argparse.ArgumentTypeError("needs matplotlib, which is not installed: uv add matplotlib")
    return Path(text)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:  # a process of `_in_process`
        json.dump(asdict(measure_one(sys.argv[2], int(sys.argv[3]))), sys.stdout)
    else:
        sys.exit(main())
