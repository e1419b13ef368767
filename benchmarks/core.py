"""What CuNumpy's core costs on top of the libraries it hands out.

Each function measures one row of the table in `benchmarks.rows`. Rows on the CuPy backend run on the stand-in for
CuPy, in a process that was started with ``CUNUMPY_FAKE_CUPY=1``: its arithmetic says nothing, but what CuNumpy does
around it is the same.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import cunumpy as xp
from benchmarks._measure import Effort, Rounds, Timer, measure, statement

LANDAU = Path(__file__).parents[1] / "docs" / "examples" / "landau_damping.py"


# --- import -----------------------------------------------------------------------------------------------------------


def import_process(effort: Effort) -> Rounds:
    """``import cunumpy`` against ``import numpy``, as processes from their start to their end."""
    return measure(effort, _process("import cunumpy"), _process("import numpy"))


def import_statement(effort: Effort) -> Rounds:
    """The same, without the start and the end of Python: the statement alone, in processes."""
    return measure(effort, _first_execution("import cunumpy"), _first_execution("import numpy"))


def _process(code: str) -> Timer:
    def timer(number: int) -> float:
        started = time.perf_counter()
        for _ in range(number):
            _run(code)
        return time.perf_counter() - started

    return timer


def _first_execution(code: str) -> Timer:
    program = f"from time import perf_counter as now; started = now(); {code}; print(now() - started)"
    return lambda number: sum(float(_run(program)) for _ in range(number))


def _run(code: str) -> str:
    # -I: no variable of the environment and no file in the working directory has a say.
    return subprocess.run([sys.executable, "-I", "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout


# --- names ------------------------------------------------------------------------------------------------------------


def sum_small(effort: Effort) -> Rounds:
    """``xp.sum(a)`` against ``numpy.sum(a)``, 1000 elements."""
    a = np.linspace(0.0, 1.0, 1000)
    return measure(effort, statement("xp.sum(a)", xp=xp, a=a), statement("numpy.sum(a)", numpy=np, a=a))


def read_scipy(effort: Effort) -> Rounds:
    """A read of ``xp.scipy.special.erf`` against one of ``scipy.special.erf``."""
    import scipy.special

    return measure(effort, statement("xp.scipy.special.erf", xp=xp), statement("scipy.special.erf", scipy=scipy))


def read_split(effort: Effort) -> Rounds:
    """A read of ``xp.sum`` inside ``use_backend`` against one of ``numpy.sum``."""
    return measure(effort, _inside_cupy(statement("xp.sum", xp=xp)), statement("numpy.sum", numpy=np))


def read_scipy_split(effort: Effort) -> Rounds:
    """A read of ``xp.scipy.special.erf`` inside ``use_backend`` against one of ``scipy.special.erf``."""
    import scipy.special

    return measure(
        effort,
        _inside_cupy(statement("xp.scipy.special.erf", xp=xp)),
        statement("scipy.special.erf", scipy=scipy),
    )


def _inside_cupy(timer: Timer) -> Timer:
    """Return the timer of the same thing inside a scope that differs from the default backend."""

    def inside(number: int) -> float:
        with xp.use_backend("cupy", strict=True):
            return timer(number)

    return inside


# --- choosing the backend ---------------------------------------------------------------------------------------------


def set_backend(effort: Effort) -> Rounds:
    """``set_backend`` to CuPy and back."""
    xp.set_backend("cupy", strict=True)
    xp.set_backend("numpy")
    return measure(effort, statement("xp.set_backend('cupy'); xp.set_backend('numpy')", xp=xp))


def use_other_backend(effort: Effort) -> Rounds:
    """``use_backend`` entered and left, with another backend than the default one."""
    with xp.use_backend("cupy", strict=True):
        pass
    return measure(effort, statement("with xp.use_backend('cupy'): pass", xp=xp))


def use_same_backend(effort: Effort) -> Rounds:
    """``use_backend`` entered and left, with the default backend."""
    return measure(effort, statement("with xp.use_backend('numpy'): pass", xp=xp))


# --- conversion and host calls ----------------------------------------------------------------------------------------


def host_call(effort: Effort) -> Rounds:
    """``host_call`` of a function of two host arrays against the call itself."""
    a, b = np.zeros(3), np.ones(3)
    names: dict[str, Any] = {"xp": xp, "first": lambda a, b: a, "a": a, "b": b}
    return measure(effort, statement("xp.host_call(first, a, b)", **names), statement("first(a, b)", **names))


def to_numpy_host(effort: Effort) -> Rounds:
    """``to_numpy`` of a NumPy array against ``numpy.asarray``."""
    a = np.zeros(3)
    return measure(effort, statement("xp.to_numpy(a)", xp=xp, a=a), statement("numpy.asarray(a)", numpy=np, a=a))


def record_event(effort: Effort) -> Rounds:
    """``to_numpy`` of a device array inside ``count_transfers`` against the same outside of it."""
    outside = statement("xp.to_numpy(a)", xp=xp, a=xp.to_cupy(np.zeros(3)))

    def inside(number: int) -> float:
        with xp.profiling.count_transfers() as counter:
            seconds = outside(number)
        assert counter.total == number
        return seconds

    return measure(effort, inside, outside)


# --- a program --------------------------------------------------------------------------------------------------------


def landau(effort: Effort) -> Rounds:
    """The program ``landau_damping.py``, time per marker and step; what the loading takes does not count."""
    sys.path.insert(0, str(LANDAU.parent))  # its kernels lie beside it
    program: Any = importlib.import_module("landau_damping")

    markers, steps = effort.entries, 100

    def timer(number: int) -> float:
        setup = program.Setup(markers=markers, steps=steps)
        return sum(float(program.simulate(setup).seconds) for _ in range(number))

    return [(seconds / (markers * steps), 0.0) for seconds, _ in measure(effort, timer)]
