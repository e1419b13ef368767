"""The table of what is measured, against what, and with which target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from benchmarks import core
from benchmarks._measure import Effort, Rounds


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Parameters
    ----------
    name : str
        What ``--rows`` selects it by.
    what, against : str
        The two sides, in Markdown; ``against`` is empty where there is nothing to compare with.
    target : float or None
        The figure is to be at most this; None if there is no target.
    measure : callable
        Measures it, in a process of its own.
    unit : {"", "ms", "us", "ns"}
        Unit of the difference between the sides; without one, the figure is their ratio.
    environment : mapping
        Environment variables of that process.
    """

    name: str
    what: str
    against: str
    target: float | None
    measure: Callable[[Effort], Rounds]
    unit: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


STAND_IN = {"CUNUMPY_FAKE_CUPY": "1"}

ROWS = (
    Row("import", "`import cunumpy`, whole process", "`import numpy`", 1.25, core.import_process),
    Row("import-statement", "`import cunumpy`, statement alone", "`import numpy`", None, core.import_statement),
    Row("sum", "`xp.sum(a)`, 1000 elements", "`numpy.sum(a)`", 1.02, core.sum_small),
    Row("set-backend", "`set_backend` there and back (stand-in)", "", 20, core.set_backend, "us", STAND_IN),
    Row(
        "use-other-backend",
        "`use_backend` enter and exit, not the default backend (stand-in)",
        "",
        6,
        core.use_other_backend,
        "us",
        STAND_IN,
    ),
    Row("use-same-backend", "`use_backend` enter and exit, the default backend", "", 6, core.use_same_backend, "us"),
    Row("read-scipy", "`xp.scipy.special.erf` attribute read", "`scipy.special.erf` read", 3, core.read_scipy),
    Row("host-call", "`host_call`, nothing to convert", "the call itself", 0.7, core.host_call, "us"),
    Row(
        "host-call-cupy-loaded",
        "`host_call`, nothing to convert, CuPy loaded (stand-in)",
        "the call itself",
        0.7,
        core.host_call,
        "us",
        STAND_IN,
    ),
    Row(
        "read-split",
        "`xp.sum` attribute read inside `use_backend`, not the default backend (stand-in)",
        "`numpy.sum` read",
        None,
        core.read_split,
        "",
        STAND_IN,
    ),
    Row(
        "read-scipy-split",
        "`xp.scipy.special.erf` attribute read there (stand-in)",
        "`scipy.special.erf` read",
        None,
        core.read_scipy_split,
        "",
        STAND_IN,
    ),
    Row("to-numpy-host", "`to_numpy` of a NumPy array", "`numpy.asarray`", None, core.to_numpy_host),
    Row(
        "record-event",
        "one transfer recorded by `count_transfers` (stand-in)",
        "the transfer, unrecorded",
        None,
        core.record_event,
        "us",
        STAND_IN,
    ),
    Row("landau", "`landau_damping.py`, 10^6 markers, 10 steps, per marker and step", "", None, core.landau, "ns"),
)
