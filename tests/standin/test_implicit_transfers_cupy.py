"""What goes between host and device unasked is counted, and can be forbidden."""

from __future__ import annotations

import contextlib
import io
import operator
import pickle
from typing import Any

import cupy
import cupyx
import numpy as np
import pytest

import cunumpy as xp
from cunumpy.errors import TransferError

# Statements on a = 3 x 4 matrix, v = 5 numbers, i = index array, m = mask; with the bytes that are copied or read.
READS = {
    "float(v[0])": [8],
    "int(i[0])": [8],
    "complex(v[0])": [8],
    "bool(v[1])": [8],
    "1 if v[0] else 0": [8],
    "v[0] < 1 and v[0] < 2": [1],
    "v[0].item()": [8],
    "v.tolist()": [40],
    "v.tobytes()": [40],
    "str(v)": [40],
    "repr(v)": [40],
    "print(v)": [40],
    "f'{v[0]:.3f}'": [8],
    "'%f' % v[0]": [8],
    "[x for x in v]": [0],
    "list(v.flat)": [0],
    "next(v.flat)": [],
    "any(v)": [0, 8, 8],
    "max(i)": [0, 1],
    "cupy.arange(v[0], v[3])": [8, 8],
    "pickle.dumps(v)": [40],
    "np.save(io.BytesIO(), v)": [40],
}
COPIES = {
    "a[[0, 2]]": [16],
    "a[np.array([0, 2])]": [16],
    "a[np.array([True, False, True])]": [3],
    "a[[True, False, True]]": [3],
    "a[[]]": [],
    "a[[0, 1], [1, 1]]": [16, 16],
    "a.__setitem__([0], 1.0)": [8],
    "a.__setitem__([0], np.ones(4))": [32, 8],
    "a.__setitem__(i, [[1.0] * 4] * 2)": [64],
    "a.__setitem__(m, np.ones((2, 4), np.float32))": [64],
    "v.flat.__setitem__(slice(None), np.ones(5))": [40],
    "v.scatter_add([0, 1], [1.0, 2.0])": [16, 16],
    "cupyx.scatter_max(v, i, np.ones(2))": [16],
    "cupy.add.at(v, [0, 1], 1.0)": [16],
    "cupy.add.reduceat(v, [0, 2])": [16],
    "cupy.take(v, [0, 1])": [16],
    "v.take(np.array([0, 1]))": [16],
    "cupy.take(v, 1)": [],
    "cupy.put(v, [0, 1], [1.0, 2.0])": [16, 16],
    "cupy.compress([True, False, True], a, axis=0)": [3],
    "cupy.extract([True, False, True, False, True], v)": [5],
    "cupy.delete(v, [0, 1])": [16],
    "cupy.delete(v, 1)": [],
    "cupy.ix_([0, 1], i)": [16],
    "cupy.append(v, [1.0])": [8],
    "cupy.average(v, weights=[1.0] * 5)": [40],
    "cupy.percentile(v, [10, 20])": [16],
    "cupy.quantile(v, np.array([0.1, 0.2]))": [16],
    "cupy.percentile(v, 50)": [],
    "cupy.histogram(v, [0.0, 1.0, 2.0])": [24],
    "cupy.diag([1.0, 2.0])": [16],
    "cupy.r_[v, [1.0, 2.0]]": [16],
    "cupy.random.choice([1, 2], 2)": [16],
    "cupy.random.uniform([0.0, 1.0], v[:2])": [16],
}


def run(statement: str) -> Any:
    names = {
        "a": cupy.arange(12.0).reshape(3, 4).copy(),
        "v": cupy.arange(5.0),
        "i": cupy.array([0, 1]),
        "m": cupy.array([True, False, True]),
    }
    with contextlib.redirect_stdout(io.StringIO()):
        return eval(statement, {"cupy": cupy, "cupyx": cupyx, "np": np, "io": io, "pickle": pickle}, names)


@pytest.mark.parametrize(("statement", "expected"), (READS | COPIES).items())
def test_it_is_counted_and_can_be_forbidden(statement: str, expected: list[int]) -> None:
    kind = "sync" if statement in READS else "to_device"
    with xp.profiling.count_transfers() as counter:
        run(statement)
    assert [(e.kind, e.implicit, e.nbytes) for e in counter.events] == [(kind, True, nbytes) for nbytes in expected]
    for guard in (xp.profiling.forbid_transfers, lambda: xp.profiling.assert_no_transfers(syncs=True)):
        refused = pytest.raises((TransferError, AssertionError)) if expected else contextlib.nullcontext()
        with refused, guard():  # type: ignore[attr-defined]
            run(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "[row for row in a]",
        "a[i]",
        "a[m].shape",
        "a[1:, [0][0]]",
        "a.__setitem__(i, 2.0)",
        "a.__setitem__(0, v[:4])",
        "len(v)",
        "v == None",
        "cupy.array([v[0], v[1]])",
        "a.sum() * 2 + v.max()",
        "cupy.where(v > 1, v, 0)",
        "cupy.full(3, v[0])",
    ],
)
def test_what_stays_on_the_device_is_not_counted(statement: str) -> None:
    with xp.profiling.assert_no_transfers(syncs=True), xp.profiling.forbid_transfers():
        run(statement)


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("a[[0.5]]", IndexError),
        ("a[['x']]", IndexError),
        ("a[[[0], [1, 2]]]", IndexError),
        ("a[np.array([0.0])]", IndexError),
        ("v.flat[i]", IndexError),
        ("v.flat[[0, 1]]", IndexError),
        ("a.__setitem__(0, [1.0] * 4)", ValueError),
        ("v.flat.__setitem__(0, np.ones(2))", ValueError),
        ("cupy.histogramdd(a, [np.array([0.0, 1.0])] * 4)", ValueError),
        ("cupy.histogram2d(v, v, [0.0, 1.0, 2.0])", ValueError),
        ("cupy.random.choice(5)", NotImplementedError),
        ("cupy.random.normal([0.0, 1.0], 1.0)", TypeError),
        ("cupy.random.default_rng(0).poisson(np.ones(2))", TypeError),
    ],
)
def test_what_cupy_refuses_is_refused(statement: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        run(statement)


def test_comparison_by_identity() -> None:
    v = cupy.arange(3)
    for other in (None, Ellipsis, object()):
        assert (v == other).get().tolist() == [False] * 3
        assert (v != other).get().tolist() == [True] * 3
        with pytest.raises(TypeError):
            operator.lt(v, other)


def test_bins_on_the_device() -> None:
    points = cupy.array([[0.5, 0.5], [1.5, 0.5], [0.5, 1.5]])
    edges = cupy.array([0.0, 1.0, 2.0])
    counts, found = cupy.histogramdd(points, [edges, 2])
    assert counts.get().tolist() == [[1, 1], [1, 0]]
    assert found[0].get().tolist() == [0, 1, 2]
    counts, x, y = cupy.histogram2d(points[:, 0], points[:, 1], edges)
    assert counts.get().tolist() == [[1, 1], [1, 0]]
    assert x.get().tolist() == y.get().tolist() == [0, 1, 2]
