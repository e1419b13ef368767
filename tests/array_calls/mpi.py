"""Calls of `cunumpy.mpi`, on one process."""

from __future__ import annotations

from typing import Any

import numpy as np

from array_calls.call import ANYTHING, CALLS, OPTIONAL, ROWS, Call, integers, into, itself, require
from cunumpy import mpi


def _exchanged(**given: Any) -> Any:
    mpi.exchange(mpi.SerialComm(), sends=[(given["sends[0]"], 0, 1)], receives=[(given["receives[0]"], 0, 1)])
    return given["receives[0]"]


def _persistent(**given: Any) -> Any:
    exchange = mpi.PersistentExchange(
        mpi.SerialComm(), sends=[(given["sends[0]"], 0, 1)], receives=[(given["receives[0]"], 0, 1)]
    )
    exchange()
    return given["receives[0]"]


def _received(**given: Any) -> Any:
    sent, into = given["sends[0]"], given["receives[0]"]
    require(sent.dtype == into.dtype and sent.dtype.kind in "biufc" and sent.size <= into.size)
    after = into.copy()
    after.reshape(-1)[: sent.size] = sent.reshape(-1)  # a message may be shorter
    return after


def _ghosts(array: Any) -> Any:
    mpi.exchange_ghosts(mpi.SerialComm().Create_cart((1, 1), (True, True)), array)
    return array


def _ghosts_definition(array: Any) -> Any:
    require(array.ndim >= 2 and min(array.shape[:2]) >= 3)
    return np.pad(array[1:-1, 1:-1], [(1, 1), (1, 1), *[(0, 0)] * (array.ndim - 2)], mode="wrap")


def _migrated(destination: Any, **arrays: Any) -> Any:
    moved, _ = mpi.migrate(mpi.SerialComm(), [arrays["arrays[0]"]], destination)
    return moved[0]


def _stays(destination: Any, **arrays: Any) -> Any:
    integers(destination)
    array = arrays["arrays[0]"]
    require(destination.ndim == 1 and array.ndim >= 1 and len(array) == len(destination))
    require((destination == 0).all())
    return array


def _buffered(array: Any) -> Any:
    with mpi.mpi_buffer(array) as buffer:
        if not isinstance(array, np.ndarray):
            require(buffer is array)
            return array
        require(buffer.flags.c_contiguous)
        return np.array(buffer).view(array.dtype).reshape(array.shape)


_PAIR = {"sends[0]": ROWS, "receives[0]": np.zeros((6, 2))}
CALLS |= {
    "mpi.allgather": Call(
        lambda array: mpi.allgather(mpi.SerialComm(), array),
        {"array": ROWS},
        itself,
        any_dtype=("array",),
        plain=("comm", "cuda_aware"),
    ),
    "mpi.gather": Call(
        lambda array: mpi.gather(mpi.SerialComm(), array),
        {"array": ROWS},
        itself,
        any_dtype=("array",),
        plain=("comm", "root", "cuda_aware"),
    ),
    "mpi.alltoall": Call(
        lambda array: mpi.alltoall(mpi.SerialComm(), array),
        {"array": ROWS},
        itself,
        ("comm", "counts", "cuda_aware"),
        any_dtype=("array",),
    ),
    "mpi.allreduce": Call(
        lambda array, out: mpi.allreduce(mpi.SerialComm(), array, out=out),
        {"array": ROWS, "out": np.zeros((6, 2))},
        lambda array, out: into(array, out),
        ("comm", "op", "cuda_aware", "check"),
        written=("out",),
        takes={"out": OPTIONAL},
    ),
    "mpi.bcast": Call(
        lambda array: (mpi.bcast(mpi.SerialComm(), array), array)[1],
        {"array": ROWS},
        itself,
        ("comm", "root", "cuda_aware", "check"),
        written=("array",),
        any_dtype=("array",),
    ),
    "mpi.exchange": Call(
        _exchanged,
        _PAIR,
        _received,
        ("comm", "cuda_aware", "stream", "event", "return_status", "check"),
        written=("receives[0]",),
        any_dtype=("sends[0]", "receives[0]"),
        own_words=True,  # the library's, of messages that do not fit
        skip={"receives[0]": ("complex128",)},  # made of two float64
    ),
    "mpi.PersistentExchange": Call(
        _persistent,
        _PAIR,
        _received,
        ("comm", "cuda_aware", "check"),
        written=("receives[0]",),
        any_dtype=("sends[0]", "receives[0]"),
        own_words=True,
        skip={"receives[0]": ("complex128",)},
    ),
    "mpi.exchange_ghosts": Call(
        _ghosts,
        {"array": np.arange(20.0).reshape(4, 5)},
        _ghosts_definition,
        ("comm", "width", "axes", "cuda_aware", "check"),
        written=("array",),
        any_dtype=("array",),
        names={"array": r"\barray\b|axes"},
    ),
    "mpi.migrate": Call(
        _migrated,
        {"arrays[0]": ROWS, "destination": np.zeros(6, int)},
        _stays,
        ("comm", "cuda_aware"),
        any_dtype=("arrays[0]",),
    ),
    "mpi.mpi_buffer": Call(
        _buffered,
        {"array": ROWS},
        itself,
        ("send", "recv", "cuda_aware", "staging", "stream", "event", "overwrite"),
        any_dtype=("array",),
        takes={"array": ANYTHING},  # what the communicator's methods take
    ),
    "mpi.synchronize_for_mpi": Call(
        lambda **given: mpi.synchronize_for_mpi(given["arrays[0]"]),
        {"arrays[0]": ROWS},
        lambda **given: None,
        ("stream", "event"),
        takes={"arrays[0]": ANYTHING},
    ),
}
