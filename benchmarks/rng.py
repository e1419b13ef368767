"""Random numbers: CuNumpy's counter-based ones against NumPy's stream of the same Philox4x32-10 numbers.

Each function measures one row of the table in `benchmarks.rows`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks._measure import Effort, Rounds, measure, statement
from cunumpy import rng


def philox_uniform(effort: Effort) -> Rounds:
    """``philox_uniform`` of as many ids against ``Generator(Philox).random``."""
    return _against_numpy(effort, "rng.philox_uniform(42, 0, ids)", "generator.random(n)")


def philox_normal(effort: Effort) -> Rounds:
    """``philox_normal`` of as many ids against ``Generator(Philox).standard_normal``."""
    return _against_numpy(effort, "rng.philox_normal(42, 0, ids)", "generator.standard_normal(n)")


def generator_random(effort: Effort) -> Rounds:
    """``PhiloxGenerator.random`` against ``Generator(Philox).random``."""
    return _against_numpy(effort, "ours.random(n)", "generator.random(n)")


def generator_normal(effort: Effort) -> Rounds:
    """``PhiloxGenerator.standard_normal`` against ``Generator(Philox).standard_normal``."""
    return _against_numpy(effort, "ours.standard_normal(n)", "generator.standard_normal(n)")


def _against_numpy(effort: Effort, ours: str, theirs: str) -> Rounds:
    n = effort.entries
    names: dict[str, Any] = {
        "rng": rng,
        "n": n,
        "ids": np.arange(n, dtype=np.uint64),
        "ours": rng.PhiloxGenerator(42),
        "generator": np.random.Generator(np.random.Philox(42)),
    }
    return measure(effort, statement(ours, **names), statement(theirs, **names))


_MEMORY = """
import json, sys
import numpy as np
from benchmarks import _memory
from cunumpy import rng

rng.philox_uniform(42, 0, np.arange(1000, dtype=np.uint64))
ids = np.arange(10 * int(sys.argv[1]), dtype=np.uint64)
above, result = _memory.peak(lambda: rng.philox_uniform(42, 0, ids))
print(json.dumps(max(0, above - result.nbytes)))
"""


def philox_memory(effort: Effort) -> Rounds:
    """The peak of memory of ``philox_uniform(n)`` above its result, each round in a new process."""
    command = [sys.executable, "-c", _MEMORY, str(effort.entries)]
    rounds = range(effort.rounds)
    found = [subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout for _ in rounds]
    return [(json.loads(text), 0.0) for text in found]
