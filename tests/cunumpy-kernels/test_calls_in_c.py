"""Usual calls of elementwise and reduction kernels, which are decided in C, are those that Python decides."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cunumpy.kernels import ElementwiseKernel, ReductionKernel


def views(dtype: str) -> dict[str, np.ndarray]:
    """Return arrays of all kinds, most of them of shape (4, 6)."""
    array = np.arange(1, 25).astype(dtype)
    unaligned = np.zeros(array.nbytes + 1, np.uint8)[1:].view(dtype)
    unaligned[:] = array
    read_only = array.copy()
    read_only.flags.writeable = False
    table = array.reshape(4, 6)
    return {
        "plain": array,
        "table": table,
        "Fortran": np.asfortranarray(table),
        "transposed": array.reshape(6, 4).T,
        "backwards": array[::-1],
        "both backwards": table[::-1, ::-1],
        "every other": table[:, ::2],
        "broadcast": np.broadcast_to(array[:6], (4, 6)),
        "column": array[:4].reshape(4, 1),
        "row": array[:6].reshape(1, 6),
        "0-d": array[3:4].reshape(()),
        "empty": array[:0],
        "no rows": array[:0].reshape(0, 6),
        "one": array[:1],
        "unaligned": unaligned,
        "unaligned columns": unaligned.reshape(4, 6)[:, 1:],
        "read-only": read_only,
        "subclass": table.view(np.matrix),
        "other byte order": array.astype(array.dtype.newbyteorder(">")),
        "diagonal": np.diagonal(np.arange(36).astype(dtype).reshape(6, 6)),
        "3-d": array.reshape(2, 3, 4),
        "3-d transposed": array.reshape(2, 3, 4).transpose(2, 0, 1),
        "windows": np.lib.stride_tricks.sliding_window_view(array, 4),
        "number": array[2],
        "field": np.zeros(4, [("a", dtype), ("b", "i1")])["a"],
    }


NUMBERS: list[Any] = [
    *(2, 2.5, -1, 300, 2**40, 2**63, 2**64, True, np.float32(1.5), np.int8(3), np.float64(2), 1j, np.bool_(True)),
    *(None, "a", [1], np.nan, np.inf, -0.0, np.uint64(2**63), np.str_("x"), np.datetime64("2020")),
]
AXES: list[Any] = [0, 1, -1, (0, 1), (), None, 2, (0, 0), np.int64(1), True, 1.0]

MAKERS = {
    "elementwise": lambda: ElementwiseKernel("T x, T y", "T z", "z = x + x + y", "in_c"),
    "two outputs": lambda: ElementwiseKernel("T x, float64 y", "T z, int64 w", "z = x + x + T(y); w = i", "in_c"),
    "reduction": lambda: ReductionKernel("T x, T y", "T z", "x * y", "a + b", "z = a", "0", "in_c"),
}


def calls(kind: str, dtype: str) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return arguments of calls, good ones and bad ones."""
    first, second = views(dtype), views("f8" if kind == "two outputs" else dtype)
    yield from (((first[x], second[y]), {}) for x, y in itertools.product(first, second))
    yield from (((first[x], number), {}) for x in ("plain", "table", "0-d", "empty") for number in NUMBERS)
    yield from (((number, second["table"]), {}) for number in NUMBERS)
    if kind == "reduction":
        for x, axis, keepdims in itertools.product(
            ("table", "Fortran", "transposed", "broadcast", "both backwards"), AXES, (False, True)
        ):
            yield (first[x], second["row"]), {"axis": axis, "keepdims": keepdims}


def outcome(kernel: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Return all that can be told of a call's results, or its error."""
    try:
        results = kernel(*args, **keywords)
    except Exception as error:
        return type(error).__name__, str(error)
    return [
        (type(one).__name__, one.dtype.str, one.shape, one.strides, repr(one.tolist()))
        for one in (results if isinstance(results, tuple) else (results,))
    ]


def compare_calls(kind: str, dtype: str, given: list[tuple[tuple[Any, ...], dict[str, Any]]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cunumpy.kernels._typed_parameters.quick_calls", lambda *args: None)
        by_python = MAKERS[kind]()
        expected = [outcome(by_python, *one) for one in given]
        assert by_python._quick is None
    usual = MAKERS[kind]()
    for (args, keywords), result in zip(given, expected, strict=True):
        for _ in range(2):  # the first call may compile
            described = [getattr(one, "shape", one) for one in args]
            assert outcome(usual, args, keywords) == result, (kind, dtype, described, keywords)
    assert usual._quick is not None


@pytest.mark.parametrize("kind", ["elementwise", "reduction"])
def test_some_calls_decided_in_c(kind: str) -> None:
    given = list(calls(kind, "f8"))
    compare_calls(kind, "f8", [given[0], *random.Random(1).sample(given, 150)])


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["f8", "u1", "F"])
@pytest.mark.parametrize("kind", MAKERS)
def test_all_calls_decided_in_c(kind: str, dtype: str) -> None:
    compare_calls(kind, dtype, list(calls(kind, dtype)))
