"""The calls behind `test_array_arguments`: each public function that takes arrays, with an independent definition.

A row gives arrays that fit together; the tests replace one after the other. `expected` gets what the arrays mean, as
plain arrays in native byte order, and raises where they make no sense together.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

import cunumpy as xp
import key_definitions
import philox_reference
from cunumpy import algorithms, cuda, integrate, kernel_testing, kernels, memory, mpi, optimize, rng
from cunumpy.errors import CuNumpyError
from cunumpy.kernels import jit


@dataclass(frozen=True)
class Call:
    """A call of a public function.

    Attributes
    ----------
    run : callable
        Takes the arrays by name, and returns the results, those written in place among them.
    arrays : dict of str to numpy.ndarray
        The arguments, by the names that errors have for them.
    expected : callable
        Takes the same, and returns what the results have to be.
    plain : tuple of str
        The parameters that take no arrays.
    own : tuple of str
        Names in `arrays` and `plain` that are no parameters (those of a kernel of the test).
    written : tuple of str
        The arguments that are written to.
    takes : dict
        By argument, the kinds that count as no array and are taken all the same; "anything" for all.
    any_dtype : tuple of str
        The arguments whose elements are moved and not looked at.
    skip : dict
        By argument, the kinds whose meaning is not a matter of arrays.
    function : str
        What errors call the function, if not its name; a regular expression.
    names : dict of str to str
        What errors call an argument, if not its name; regular expressions.
    errors : tuple of type
        The errors that may be raised.
    own_words : bool
        Whether numbers of an unfit shape or dtype are refused by the library that does the work, in its words.
    rtol : float
        How far results may be from the definition.
    dtypes : bool
        Whether the definition gives dtypes, too.
    """

    run: Callable[..., Any]
    arrays: dict[str, np.ndarray]
    expected: Callable[..., Any]
    plain: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    takes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    skip: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    any_dtype: tuple[str, ...] = ()
    function: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    errors: tuple[type[Exception], ...] = (CuNumpyError,)
    own_words: bool = False
    rtol: float = 0
    dtypes: bool = True


CALLS: dict[str, Call] = {}
OPTIONAL = ("None",)
ONE_NUMBER = ("0-d", "scalar", "NumPy scalar")


def require(condition: Any) -> None:
    """Raise where arguments make no sense together."""
    if not condition:
        raise ValueError


def _integers(*arrays: Any) -> None:
    for array in arrays:
        require(array.dtype.kind in "iu")


def _numbers(*arrays: Any, kinds: str = "biufc") -> None:
    for array in arrays:
        require(array.dtype.kind in kinds)


# --- cunumpy.algorithms -----------------------------------------------------------------------------------------------

KEYS = np.array([2, 0, 1, 2, 0, 4])
ROWS = np.arange(12.0).reshape(6, 2) - 5.5


def _sum_dtype(values: Any) -> Any:
    if values.dtype.kind in "bi":
        return np.int64
    return np.uint64 if values.dtype.kind == "u" else values.dtype


def _keys_fit(keys: Any, n: int = 5) -> None:
    _integers(keys)
    require(keys.ndim == 1 and (keys.size == 0 or (keys.min() >= 0 and keys.max() < n)))


def _groups(values: Any, keys: Any, n: int = 5) -> list[Any]:
    _keys_fit(keys, n)
    _numbers(values)
    require(values.ndim >= 1 and len(values) == len(keys))
    return [values[keys == k] for k in range(n)]


def _segment_sum(values: Any, keys: Any, out: Any = None) -> Any:
    dtype = _sum_dtype(values)
    sums = [g.astype(dtype).sum(axis=0, dtype=dtype) for g in _groups(values, keys)]
    return _into(np.array(sums, dtype).reshape(5, *values.shape[1:]), out)


def _into(result: Any, out: Any) -> Any:
    if out is not None:
        require(out.shape == result.shape and out.dtype == result.dtype)
    return result


def _segment_mean(values: Any, keys: Any, out: Any = None) -> Any:
    dtype = values.dtype if values.dtype.kind in "fc" else np.float64
    groups = _groups(values, keys)
    zero = np.full(values.shape[1:], np.nan)
    means = [g.astype(dtype).sum(axis=0) / len(g) if len(g) else zero for g in groups]
    return _into(np.array(means, dtype).reshape(5, *values.shape[1:]), out)


def _segment_extreme(which: str) -> Callable[..., Any]:
    def extreme(values: Any, keys: Any, out: Any = None) -> Any:
        groups = _groups(values, keys)
        _numbers(values, kinds="biuf")
        dtype = values.dtype
        if dtype.kind == "f":
            nothing: Any = np.inf if which == "min" else -np.inf
        elif dtype.kind == "b":
            nothing = which == "min"
        else:
            nothing = np.iinfo(dtype).max if which == "min" else np.iinfo(dtype).min
        empty = np.full(values.shape[1:], nothing, dtype)
        found = [getattr(g, which)(axis=0) if len(g) else empty for g in groups]
        return _into(np.array(found, dtype).reshape(5, *values.shape[1:]), out)

    return extreme


for _name, _definition in {
    "sum": _segment_sum,
    "mean": _segment_mean,
    "min": _segment_extreme("min"),
    "max": _segment_extreme("max"),
}.items():
    _function = getattr(algorithms, f"segment_{_name}")
    CALLS[f"algorithms.segment_{_name}"] = Call(
        lambda values, keys, out, f=_function: f(values, keys, 5, out=out),
        {"values": ROWS, "keys": KEYS, "out": np.zeros((5, 2))},
        _definition,
        ("n_segments", "check", *(("deterministic",) if _name in ("sum", "mean") else ())),
        written=("out",),
        takes={"out": OPTIONAL},
        rtol=1e-15,
    )
    CALLS[f"algorithms.SegmentPlan.{_name}"] = Call(
        lambda values, out, f=_name: getattr(algorithms.SegmentPlan(KEYS, 5), f)(values, out=out),
        {"values": ROWS, "out": np.zeros((5, 2))},
        lambda values, out, f=_definition: f(values, KEYS, out),
        written=("out",),
        takes={"out": OPTIONAL},
        rtol=1e-15,
    )


def _count(keys: Any, out: Any = None) -> Any:
    _keys_fit(keys)
    return _into(np.array([np.count_nonzero(keys == k) for k in range(5)]), out)


def _gather(values: Any, out: Any) -> Any:
    _numbers(values)
    require(values.ndim >= 1 and len(values) == 5)
    return _into(values[KEYS], out)


CALLS |= {
    "algorithms.segment_count": Call(
        lambda keys, out: algorithms.segment_count(keys, 5, out=out),
        {"keys": KEYS, "out": np.zeros(5, np.int64)},
        _count,
        ("n_segments", "check"),
        written=("out",),
        takes={"out": OPTIONAL},
    ),
    "algorithms.SegmentPlan.count": Call(
        lambda out: algorithms.SegmentPlan(KEYS, 5).count(out=out),
        {"out": np.zeros(5, np.int64)},
        lambda out: _count(KEYS, out),
        written=("out",),
        takes={"out": OPTIONAL},
    ),
    "algorithms.SegmentPlan": Call(
        lambda keys: algorithms.SegmentPlan(keys, 5).count(),
        {"keys": KEYS},
        _count,
        ("n_segments", "check", "deterministic"),
    ),
    "algorithms.SegmentPlan.gather": Call(
        lambda values, out: algorithms.SegmentPlan(KEYS, 5).gather(values, out=out),
        {"values": ROWS[:5], "out": np.zeros((6, 2))},
        _gather,
        written=("out",),
        takes={"out": OPTIONAL},
    ),
}

SORTED = np.array([0, 0, 1, 2, 2, 4])


def _cell_offsets(sorted_cells: Any) -> Any:
    _keys_fit(sorted_cells)
    require((sorted_cells[1:] >= sorted_cells[:-1]).all())
    return np.array([np.count_nonzero(sorted_cells < c) for c in range(6)])


def _boundaries(sorted_keys: Any) -> Any:
    _integers(sorted_keys)
    require(sorted_keys.ndim == 1)
    starts = np.flatnonzero(np.r_[True, sorted_keys[1:] != sorted_keys[:-1]][: len(sorted_keys)])
    return sorted_keys[starts], starts, np.r_[starts, len(sorted_keys)][1:]


def _sortable(keys: Any) -> None:
    require(keys.ndim == 1 and keys.dtype.kind in "biufc")


def _along(keys: Any, array: Any, axis: int = 0) -> None:
    require(array.ndim > axis and array.shape[axis] == len(keys))


def _sort_by_key(keys: Any, **others: Any) -> Any:
    _sortable(keys)
    array = others["arrays[0]"]
    _along(keys, array)
    order = others["order"]
    if order is None:
        order = np.array(sorted(range(len(keys)), key=lambda i: (keys[i].real, keys[i].imag)), int)
    else:
        _integers(order)
        require(order.shape == keys.shape and (len(order) == 0 or (order.min() >= 0 and order.max() < len(keys))))
    results = keys[order], order.astype(int), array[order]
    return tuple(_into(result, others[f"out[{i}]"]) for i, result in enumerate(results))


def _sort_by_cell(cells: Any, **others: Any) -> Any:
    _keys_fit(cells)
    array = others["arrays[0]"]
    _along(cells, array)
    order = np.argsort(cells, kind="stable")
    offsets = np.array([np.count_nonzero(cells < c) for c in range(6)])
    return _into(offsets, others["out[0]"]), _into(order, others["out[1]"]), _into(array[order], others["out[2]"])


def _compact(mask: Any, **others: Any) -> Any:
    require(mask.dtype == bool and mask.ndim == 1)
    array = others["arrays[0]"]
    _along(mask, array)
    return int(mask.sum()), array[mask]


def _run_compact(mask: Any, **others: Any) -> Any:
    n = algorithms.compact_by_mask(mask, others["arrays[0]"])
    return n, np.array(others["arrays[0]"][:n])


def _scatter_add(out: Any, index: Any, values: Any) -> Any:
    _integers(index)
    _numbers(out, kinds="iufc")
    _numbers(values)
    require(index.size == 0 or (index.min() >= -len(out) and index.max() < len(out)))
    require(np.can_cast(values.dtype, out.dtype, "same_kind"))
    after = out.copy()
    np.add.at(after, index, values.astype(out.dtype))
    return after


def _run_scatter_add(out: Any, index: Any, values: Any) -> Any:
    algorithms.scatter_add(out, index, values, check=True)
    return out


SORTABLE = ("objects", "text", "text that is no number", "bytes", "dates", "time spans", "records", "masked", "string")
OUTS = ("out[0]", "out[1]", "out[2]")
PERMUTATION = np.array([3, 0, 5, 1, 4, 2])
FLOATS = np.array([2.5, -1.0, 0.25, 7.0, -3.5, 0.0])

CALLS |= {
    "algorithms.cell_offsets": Call(
        lambda sorted_cells: algorithms.cell_offsets(sorted_cells, 5),
        {"sorted_cells": SORTED},
        _cell_offsets,
        ("n_cells", "check"),
    ),
    "algorithms.segment_boundaries": Call(
        algorithms.segment_boundaries, {"sorted_keys": SORTED}, _boundaries, dtypes=False
    ),
    "algorithms.sort_by_key": Call(
        lambda keys, order, **others: algorithms.sort_by_key(
            keys, others["arrays[0]"], order=order, out=[others[f"out[{i}]"] for i in range(3)]
        ),
        {
            "keys": FLOATS,
            "arrays[0]": ROWS,
            "order": PERMUTATION,
            "out[0]": np.zeros(6),
            "out[1]": np.zeros(6, int),
            "out[2]": np.zeros((6, 2)),
        },
        _sort_by_key,
        ("axis", "descending"),
        written=OUTS,
        takes={"order": OPTIONAL, **dict.fromkeys(OUTS, OPTIONAL), "keys": SORTABLE},
        any_dtype=("arrays[0]",),
    ),
    "algorithms.sort_by_cell": Call(
        lambda cells, **others: algorithms.sort_by_cell(
            cells, 5, others["arrays[0]"], out=[others[f"out[{i}]"] for i in range(3)]
        ),
        {
            "cells": KEYS,
            "arrays[0]": ROWS,
            "out[0]": np.zeros(6, int),
            "out[1]": np.zeros(6, int),
            "out[2]": np.zeros((6, 2)),
        },
        _sort_by_cell,
        ("n_cells", "axis", "check"),
        written=OUTS,
        takes=dict.fromkeys(OUTS, OPTIONAL),
        any_dtype=("arrays[0]",),
    ),
    "algorithms.compact_by_mask": Call(
        _run_compact,
        {"mask": np.array([True, False, True, True, False, True]), "arrays[0]": ROWS},
        _compact,
        ("axis",),
        written=("arrays[0]",),
        any_dtype=("arrays[0]",),
    ),
    "algorithms.scatter_add": Call(
        _run_scatter_add,
        {"out": np.arange(5.0), "index": KEYS, "values": FLOATS},
        _scatter_add,
        ("check",),
        written=("out",),
        rtol=1e-15,
    ),
}


def _encode(curve: Callable[..., int]) -> Callable[..., Any]:
    def encode(out: Any, **cells: Any) -> Any:
        a, b = cells["cells[0]"], cells["cells[1]"]
        _integers(a, b)
        a, b = np.broadcast_arrays(a, b)
        require(a.size == 0 or min(a.min(), b.min()) >= 0)
        require(a.size == 0 or max(a.max(), b.max()) < 16)
        keys = [curve((int(i), int(j)), 4) for i, j in zip(a.reshape(-1), b.reshape(-1), strict=True)]
        return _into(np.array(keys, np.uint64).reshape(a.shape), out)

    return encode


def _decode(curve: Callable[..., int]) -> Callable[..., Any]:
    inverse = {curve((i, j), 4): (i, j) for i in range(16) for j in range(16)}

    def decode(keys: Any) -> Any:
        _integers(keys)
        pairs = np.array([inverse[int(k)] for k in keys.reshape(-1)]).reshape(-1, 2)
        return tuple(pairs[:, i].reshape(keys.shape) for i in range(2))

    return decode


def _point_keys(curve: Callable[..., int]) -> Callable[..., Any]:
    def keys(positions: Any, lower: Any, upper: Any, out: Any) -> Any:
        _numbers(positions, lower, upper, kinds="iuf")
        require(positions.ndim == 2 and positions.shape[1] == 2 and lower.shape == upper.shape == (2,))
        require((lower != upper).all() and np.isfinite([lower, upper]).all())
        scale = 16 / (upper.astype(float) - lower.astype(float))
        cell = key_definitions.cell
        found = [
            curve([cell(float(x[i]), float(lower[i]), float(scale[i]), 4) for i in range(2)], 4) for x in positions
        ]
        return _into(np.array(found, np.uint64), out)

    return keys


POINTS = np.array([[0.1, 0.9], [2.5, 1.0], [-1.0, 3.0], [0.5, 0.5], [3.9, 0.01], [1.0, 2.0]])
LOWER, UPPER = np.array([0.0, -1.0]), np.array([4.0, 3.0])
CELLS = {"cells[0]": np.array([1, 15, 3, 0]), "cells[1]": np.array([2, 7, 15, 0]), "out": np.zeros(4, np.uint64)}

for _name, _curve in {"morton": key_definitions.morton, "hilbert": key_definitions.hilbert}.items():
    _levels: dict[str, Any] = {"levels": 4} if _name == "hilbert" else {}
    _function = getattr(algorithms, f"{_name}_encode")
    CALLS[f"algorithms.{_name}_encode"] = Call(
        lambda out, f=_function, options=_levels, **cells: f(
            cells["cells[0]"], cells["cells[1]"], out=out, check=True, **options
        ),
        CELLS,
        _encode(_curve),
        ("dtype", "check", *_levels),
        written=("out",),
        takes={"out": OPTIONAL},
        names=dict.fromkeys(["cells[0]", "cells[1]"], r"\bcells\b"),
    )
    _function = getattr(algorithms, f"{_name}_decode")
    CALLS[f"algorithms.{_name}_decode"] = Call(
        lambda keys, f=_function, options=_levels: f(keys, 2, check=True, **options),
        {"keys": np.array([0, 7, 200, 255])},
        _decode(_curve),
        ("ndim", "check", *_levels),
        dtypes=False,
    )
    _function = getattr(algorithms, f"{_name}_keys")
    CALLS[f"algorithms.{_name}_keys"] = Call(
        lambda positions, lower, upper, out, f=_function: f(positions, lower, upper, 4, out=out),
        {"positions": POINTS, "lower": LOWER, "upper": UPPER, "out": np.zeros(6, np.uint64)},
        _point_keys(_curve),
        ("levels", "dtype", "check"),
        written=("out",),
        takes={"out": OPTIONAL},
    )


def _scales(lower: Any, upper: Any) -> Any:
    _numbers(lower, upper, kinds="iuf")
    require(lower.shape == upper.shape and lower.ndim == 1 and lower.size in (2, 3) and (lower != upper).all())
    return 16 / (upper.astype(float) - lower.astype(float))


CALLS["algorithms.morton_scales"] = Call(
    lambda lower, upper: algorithms.morton_scales(lower, upper, 4),
    {"lower": LOWER, "upper": UPPER},
    _scales,
    ("levels",),
)


# --- cunumpy.rng ------------------------------------------------------------------------------------------------------

SEEDS = np.array([0, 7, 2**63 - 1, 5])
DRAWN = (2, 3)


def _blocks(function: Callable[..., tuple[float, float]], which: int | None) -> Callable[..., Any]:
    """Evaluate a function of (seed, stream, counter) block by block."""

    def draw(seed: Any, stream: Any, counter: Any, **outs: Any) -> Any:
        _integers(seed, stream, counter)
        blocks = np.broadcast(seed, stream, counter)
        pairs = [function(int(a), int(b), int(c)) for a, b, c in blocks]
        both = [np.array([pair[i] for pair in pairs], float).reshape(blocks.shape) for i in range(2)]
        given = list(outs.values())
        if which is None:
            return tuple(_into(one, out) for one, out in zip(both, given, strict=True))
        return _into(both[which], given[0])

    return draw


def _normals(seed: int, stream: int, counter: int) -> tuple[float, float]:
    """Make the Box-Muller pair of a block, of 1 - u and v."""
    u, v = philox_reference.uniforms(seed, stream, counter)
    radius = np.sqrt(-2 * np.log1p(-u))
    return float(radius * np.cos(2 * np.pi * v)), float(radius * np.sin(2 * np.pi * v))


_BLOCK = {"seed": SEEDS, "stream": np.array([3, 0, 1, 2]), "counter": np.array([[0], [2**40], [9]])}
for _name, _draw in {"uniform": philox_reference.uniforms, "normal": _normals}.items():
    CALLS[f"rng.philox_{_name}"] = Call(
        getattr(rng, f"philox_{_name}"),
        {**_BLOCK, "out": np.zeros((3, 4))},
        _blocks(_draw, 0),
        written=("out",),
        takes={"out": OPTIONAL},
        rtol=1e-14,
    )
    _function = getattr(rng, f"philox_{_name}2")
    CALLS[f"rng.philox_{_name}2"] = Call(
        lambda f=_function, **others: f(
            others["seed"], others["stream"], others["counter"], out=(others["out[0]"], others["out[1]"])
        ),
        {**_BLOCK, "out[0]": np.zeros((3, 4)), "out[1]": np.zeros((3, 4))},
        _blocks(_draw, None),
        written=OUTS[:2],
        names=dict.fromkeys(OUTS, r"\bout\b"),
        rtol=1e-14,
    )


def _philox_words(counter: Any, key0: Any, key1: Any, out: Any) -> Any:
    _integers(counter, key0, key1)
    require(counter.ndim >= 1 and counter.shape[-1] == 4)
    low = philox_reference.LOW
    shape = np.broadcast_shapes(counter.shape[:-1], key0.shape, key1.shape)
    rows = np.broadcast_to(counter, (*shape, 4)).reshape(-1, 4)
    keys = [np.broadcast_to(key, shape).reshape(-1) for key in (key0, key1)]
    words = [
        philox_reference.philox([int(c) & low for c in row], [int(a) & low, int(b) & low])
        for row, a, b in zip(rows, *keys, strict=True)
    ]
    return _into(np.array(words, np.uint32).reshape(*shape, 4), out)


CALLS["rng.philox4x32_10"] = Call(
    rng.philox4x32_10,
    {
        "counter": np.array([[0, 1, 2, 3], [4, 5, 6, 2**32 - 1]], np.uint32),
        "key0": np.array([7, 8], np.uint32),
        "key1": np.array([9, 2**32 - 1], np.uint32),
        "out": np.zeros((2, 4), np.uint32),
    },
    _philox_words,
    written=("out",),
    takes={"out": OPTIONAL},
)


def _generator() -> Any:
    return rng.PhiloxGenerator(11, 3)


def _fill(out: Any, name: str) -> Any:
    require(out.dtype in (np.float32, np.float64))
    return getattr(_generator(), name)(out.shape, out.dtype)


def _drawn(name: str, definition: Callable[..., Any], **arrays: np.ndarray) -> None:
    CALLS[f"rng.PhiloxGenerator.{name}"] = Call(
        lambda out=None, **given: getattr(_generator(), name)(**given, **({} if out is None else {"out": out})),
        {**arrays, "out": np.zeros(DRAWN)},
        lambda out=None, **given: _into(definition(**given), out),
        ("size", "dtype", *(("check",) if arrays else ())),
        written=("out",),
        takes={"out": OPTIONAL},
        rtol=1e-14,
    )


LOC, SCALE = np.array([[0.5, -1.0, 2.0], [3.0, 0.0, 1.5]]), np.array([0.25, 2.0, 1.0])


def _shaped(*arrays: Any) -> tuple[int, ...]:
    _numbers(*arrays, kinds="biuf")
    return np.broadcast_shapes(*(array.shape for array in arrays))


def _uniform(low: Any, high: Any) -> Any:
    shape = _shaped(low, high)
    require((low <= high).all())
    return np.asarray(low + (high - low) * _generator().random(shape), np.float64)


def _normal(loc: Any, scale: Any) -> Any:
    shape = _shaped(loc, scale)
    require((scale >= 0).all())
    return np.asarray(loc + scale * _generator().standard_normal(shape), np.float64)


def _exponential(scale: Any) -> Any:
    shape = _shaped(scale)
    require((scale >= 0).all())
    return np.asarray(scale * _generator().standard_exponential(shape), np.float64)


_drawn("uniform", _uniform, low=LOC / 4, high=SCALE + 1)
_drawn("normal", _normal, loc=LOC, scale=SCALE)
_drawn("exponential", _exponential, scale=np.broadcast_to(SCALE, DRAWN).copy())
for _name in ("random", "standard_normal", "standard_exponential"):
    _drawn(_name, lambda f=_name: getattr(_generator(), f)(DRAWN))
    CALLS[f"rng.PhiloxGenerator.{_name}"] = replace(
        CALLS[f"rng.PhiloxGenerator.{_name}"],
        expected=lambda out, f=_name: getattr(_generator(), f)() if out is None else _into(_fill(out, f), out),
    )


def _philox_integers(low: Any, high: Any) -> Any:
    _integers(low, high)
    shape = np.broadcast_shapes(low.shape, high.shape)
    lows, highs = (np.broadcast_to(one, shape).reshape(-1).tolist() for one in (low, high))
    require(all(a < b for a, b in zip(lows, highs, strict=True)))
    require(all(a >= -(2**63) and b <= 2**63 for a, b in zip(lows, highs, strict=True)))
    drawn = []
    for i, (a, b) in enumerate(zip(lows, highs, strict=True)):
        drawn.append(a + philox_reference.bounded(11, 3, i // 2, b - a)[i % 2])
    return np.array(drawn, np.int64).reshape(shape)


_drawn("integers", _philox_integers, low=np.array([[-5, 0, 3], [1, 2, 2]]), high=np.array([10, 4, 2**40]))
CALLS["rng.PhiloxGenerator.integers"] = replace(
    CALLS["rng.PhiloxGenerator.integers"],
    arrays={**CALLS["rng.PhiloxGenerator.integers"].arrays, "out": np.zeros(DRAWN, np.int64)},
    plain=("size", "dtype", "check", "endpoint"),
    names={"low": "the interval from|low", "high": "the interval from|high"},
)


def _shuffled(x: Any) -> Any:
    if x.ndim == 0:
        _integers(x)
        require(0 <= x <= 100)
        return _generator().permutation(int(x))
    return x[_generator().permutation(len(x))]


def _chosen(a: Any, p: Any) -> Any:
    if a.ndim == 0:
        _integers(a)
        require(0 < a <= 100)
        a = np.arange(int(a))
    require(len(a) > 0)
    if p is None:
        return a[_generator().integers(0, len(a), 6)]
    _numbers(p, kinds="biuf")
    require(p.shape == (len(a),) and (p >= 0).all() and abs(float(p.sum()) - 1) < 1e-6)
    return a[_generator().choice(len(a), 6, p=[float(x) for x in p])]


def _whole(x: Any, array: Any) -> Any:
    require(x is None or np.isfinite(x).all())
    return array


CALLS |= {
    "rng.PhiloxGenerator.permutation": Call(
        lambda x: _generator().permutation(x), {"x": ROWS}, _shuffled, ("axis",), any_dtype=("x",)
    ),
    "rng.PhiloxGenerator.choice": Call(
        lambda a, p: _generator().choice(a, 6, p=p),
        {"a": ROWS, "p": np.array([0.25, 0.125, 0.125, 0.0, 0.25, 0.25])},
        _chosen,
        ("size", "replace", "axis", "check"),
        takes={"p": OPTIONAL},
        any_dtype=("a",),
    ),
}


def _streams() -> Any:
    streams = rng.RandomStreams()
    streams.seed(5)
    return streams


def _as_float64(given: dict[str, Any]) -> dict[str, Any]:
    _numbers(*given.values(), kinds="biuf")
    return {name: array.astype(np.float64) for name, array in given.items()}


for _name, _arrays in {"normal": {"loc": LOC, "scale": SCALE}, "uniform": {"low": LOC / 4, "high": SCALE + 1}}.items():
    CALLS[f"rng.RandomStreams.{_name}"] = Call(
        lambda f=_name, **given: getattr(_streams(), f)(**given),
        _arrays,
        lambda f=_name, **given: getattr(_streams().generator(), f)(**_as_float64(given)),
        ("size", "rng"),
        rtol=1e-14,
    )

CALLS["rng.get_rng"] = Call(
    lambda seed: rng.get_rng(seed).random(3),
    {"seed": np.array([1, 2, 3])},
    lambda seed: np.random.default_rng(None if seed is None else seed.tolist()).random(3),
    takes={"seed": ("None", "objects", "ragged list")},
)

# --- cunumpy ----------------------------------------------------------------------------------------------------------

ANYTHING = ("anything",)


def _itself(array: Any) -> Any:
    return array


def _any_array(name: str, function: Callable[..., Any], answer: Any) -> None:
    """Enter a function that looks at what an argument is, whatever it is."""
    parameter = next(iter(inspect.signature(function).parameters))
    CALLS[name] = Call(function, {parameter: ROWS}, lambda **given: answer, takes={parameter: ANYTHING})


_any_array("get_array_backend", xp.get_array_backend, "numpy")
_any_array("is_cpu", xp.is_cpu, True)
_any_array("is_gpu", xp.is_gpu, False)
CALLS |= {
    "get_array_module": Call(
        lambda array: xp.get_array_module(array).sqrt is np.sqrt,
        {"array": ROWS},
        lambda array: True,
        takes={"array": ANYTHING},
    ),
    "same_backend": Call(
        lambda **given: xp.same_backend(*given.values()),
        {"arrays[0]": ROWS, "arrays[1]": FLOATS},
        lambda **given: True,
        takes=dict.fromkeys(["arrays[0]", "arrays[1]"], ANYTHING),
    ),
    "assert_same_backend": Call(
        lambda **given: xp.assert_same_backend(*given.values()),
        {"arrays[0]": ROWS, "arrays[1]": FLOATS},
        lambda **given: None,
        takes=dict.fromkeys(["arrays[0]", "arrays[1]"], ANYTHING),
        names=dict.fromkeys(["arrays[0]", "arrays[1]"], "mismatched backends"),
    ),
    "to_numpy": Call(xp.to_numpy, {"array": ROWS}, _itself, any_dtype=("array",), takes={"array": ("string",)}),
    "to_cunumpy": Call(xp.to_cunumpy, {"array": ROWS}, _itself, any_dtype=("array",), takes={"array": ("string",)}),
    "to_host_async": Call(
        lambda array: xp.to_host_async(array).result(),
        {"array": ROWS},
        _itself,
        any_dtype=("array",),
        takes={"array": ("string",)},
    ),
    "host_call": Call(
        lambda **given: xp.host_call(np.add, *given.values()),
        {"args[0]": ROWS, "args[1]": ROWS + 1},
        lambda **given: np.add(*given.values()),
        ("fun", "kwargs"),
        errors=(Exception,),  # those of the function
        function="^",
        names=dict.fromkeys(["args[0]", "args[1]"], "^"),
        takes=dict.fromkeys(["args[0]", "args[1]"], ANYTHING),
    ),
}
CALLS["host_call_inplace"] = replace(
    CALLS["host_call"],
    run=lambda **given: (xp.host_call_inplace(np.add, *given.values(), out=given["args[0]"]), given["args[0]"])[1],
    written=("args[0]",),
    expected=lambda **given: np.add(*given.values(), out=given["args[0]"]),
)

# --- cunumpy.memory, cunumpy.cuda -------------------------------------------------------------------------------------


def _mirrored(host: Any) -> Any:
    return np.array(memory.DeviceMirror(host).to_device().to_host().host)


def _rebound(host: Any) -> Any:
    mirror = memory.DeviceMirror(ROWS.copy())
    return np.array(mirror.rebind(host).to_device().to_host().host)


def _staged(array: Any) -> Any:
    return memory.HostStaging((6, 2), np.float64).copy(array).result(copy=True)


def _like_rows(array: Any) -> Any:
    require(array.shape == ROWS.shape and array.dtype == ROWS.dtype)
    return array


CALLS |= {
    "memory.DeviceMirror": Call(_mirrored, {"host": ROWS}, lambda host: host, any_dtype=("host",)),
    "memory.DeviceMirror.rebind": Call(_rebound, {"host": ROWS}, lambda host: host, any_dtype=("host",)),
    "memory.HostStaging.copy": Call(_staged, {"array": ROWS}, _like_rows, ("stream", "event")),
    "cuda.pin_memory": Call(
        lambda array: cuda.pin_memory(array, strict=False),
        {"array": ROWS},
        _itself,
        ("strict",),
        any_dtype=("array",),
        takes={"array": ("string",)},
    ),
    "kernels.as_kernel_array": Call(
        lambda value, like: kernels.as_kernel_array(value, like=like),
        {"value": ROWS, "like": FLOATS},
        lambda value, like: value,
        ("dtype", "strided", "check"),
        any_dtype=("value",),
        takes={"like": ANYTHING},
    ),
}


def _turned(out: Any) -> Any:
    return out[::-1].copy() if out.ndim else out


def _run_output(out: Any, like: Any) -> Any:
    with kernels.kernel_output(out, like=like) as buffer:
        buffer[...] = _turned(buffer)
    return out


def _run_outputs(**given: Any) -> Any:
    with kernels.kernel_outputs(given["outs[0]"], given["outs[1]"], like=given["like"]) as buffers:
        for buffer in buffers:
            buffer[...] = _turned(buffer)
    return given["outs[0]"], given["outs[1]"]


CALLS |= {
    "kernels.kernel_output": Call(
        _run_output,
        {"out": ROWS, "like": FLOATS},
        lambda out, like: _turned(out),
        ("dtype", "strided", "check"),
        written=("out",),
        any_dtype=("out",),
        takes={"like": ANYTHING},
    ),
    "kernels.kernel_outputs": Call(
        _run_outputs,
        {"outs[0]": ROWS, "outs[1]": FLOATS, "like": FLOATS},
        lambda **given: (_turned(given["outs[0]"]), _turned(given["outs[1]"])),
        ("dtype", "strided", "check"),
        written=("outs[0]", "outs[1]"),
        any_dtype=("outs[0]", "outs[1]"),
        takes={"like": ANYTHING},
    ),
}

# --- kernels, on the CPU ----------------------------------------------------------------------------------------------

AXPY = """
extern "C" __global__ void axpy(long n, double a, const double* x, double* y) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"""


@cache
def _axpy() -> Any:
    return kernels.CudaKernel(AXPY, "axpy")


def _smaller(x: Any, y: Any) -> int:
    return min(getattr(x, "size", 6), getattr(y, "size", 6))


def _axpy_definition(x: Any, y: Any) -> Any:
    require(x.dtype == y.dtype == np.float64)
    n = _smaller(x, y)
    after = y.copy()
    after.reshape(-1)[:n] += 2.5 * x.reshape(-1)[:n]
    return after


def _run_kernel(x: Any, y: Any) -> Any:
    kernels.Kernel(None, _axpy())(_smaller(x, y), 2.5, x, y, n_threads=6)
    return y


def _run_emulated(x: Any, y: Any) -> Any:
    kernel_testing.emulate_cuda_kernel(_axpy(), _smaller(x, y), 2.5, x, y, n_threads=6)
    return y


@cache
def _elementwise() -> Any:
    return kernels.ElementwiseKernel("float64 x, float64 y", "float64 z", "z = 2 * x + y", "axpy")


def _run_elementwise(x: Any, y: Any, z: Any) -> Any:
    return _elementwise()(x, y) if z is None else _elementwise()(x, y, z)


def _elementwise_definition(x: Any, y: Any, z: Any) -> Any:
    _numbers(x, kinds="biuf")
    require(np.can_cast(y.dtype, np.float64, "same_kind"))
    return _into(2.0 * x.astype(np.float64) + y.astype(np.float64), z)


@cache
def _reduction() -> Any:
    return kernels.ReductionKernel("float64 x", "float64 y", "x * x", "a + b", "y = a", "0", "squares")


def _squares(x: Any, out: Any) -> Any:
    return _into(np.asarray((x.astype(np.float64) ** 2).sum(axis=0)), out)


@kernels.fuse
def _fused(x: Any, y: Any) -> Any:
    return x * 2 + y


@kernels.rawkernel()
def _python_axpy(x: Any, y: Any, n: Any) -> None:
    i = jit.grid(1)
    if i < n:
        y[i] += 2.5 * x[i]


def _run_python(x: Any, y: Any) -> Any:
    _python_axpy((1,), (32,), (x, y, np.int64(_smaller(x, y))))
    return y


def _python_definition(x: Any, y: Any) -> Any:
    _numbers(x)
    _numbers(y, kinds="fc")
    n = _smaller(x, y)
    require(x.ndim == y.ndim == 1 and (x.dtype.kind != "c" or y.dtype.kind == "c"))
    wide = np.complex128 if y.dtype.kind == "c" else np.float64
    after = y.copy()
    after[:n] = (y[:n].astype(wide) + 2.5 * x[:n].astype(wide)).astype(y.dtype)
    return after


def _host_axpy(x: Any, y: Any) -> None:
    y += 2.5 * x


CALLS |= {
    "kernels.Kernel.__call__": Call(
        _run_kernel,
        {"x": FLOATS, "y": FLOATS + 1},
        _axpy_definition,
        ("args", "options"),
        own=("x", "y"),
        written=("y",),
        function="axpy",
    ),
    "kernel_testing.emulate_cuda_kernel": Call(
        _run_emulated,
        {"x": FLOATS, "y": FLOATS + 1},
        _axpy_definition,
        ("kernel", "args", "n_threads", "grid", "block", "compiler", "options", "shared_mem"),
        own=("x", "y"),
        written=("y",),
        function="axpy",
    ),
    "kernels.ElementwiseKernel.__call__": Call(
        _run_elementwise,
        {"x": ROWS, "y": ROWS + 1, "z": np.zeros((6, 2))},
        _elementwise_definition,
        ("args", "size", "stream", "block_size"),
        own=("x", "y", "z"),
        written=("z",),
        takes={"z": OPTIONAL},
        function="axpy",
        rtol=1e-15,
    ),
    "kernels.ReductionKernel.__call__": Call(
        lambda x, out: _reduction()(x, axis=0, out=out),
        {"x": ROWS, "out": np.zeros(2)},
        _squares,
        ("args", "axis", "keepdims", "stream"),
        own=("x",),
        written=("out",),
        takes={"out": OPTIONAL},
        function="squares",
        names={"x": r"\bx\b|an input array|axis", "out": r"\by\b"},
        errors=(CuNumpyError, np.exceptions.AxisError),
        rtol=1e-15,
    ),
    "kernels.fuse": Call(
        lambda x, y: _fused(x, y),
        {"x": ROWS, "y": ROWS + 1},
        lambda x, y: x * 2 + y,
        ("function", "kernel_name"),
        own=("x", "y"),
        takes=dict.fromkeys(["x", "y"], ANYTHING),
        skip={"x": ("list", "list of arrays")},  # twice a list is a longer list
        function="^",
        names={"x": "^", "y": "^"},
        errors=(Exception,),  # those of the function
        rtol=1e-15,
    ),
    "kernels.rawkernel": Call(
        _run_python,
        {"x": FLOATS, "y": FLOATS + 1},
        _python_definition,
        ("mode", "device"),
        own=("x", "y"),
        written=("y",),
        function="_python_axpy",
        names={"x": r"\b0\b|\bx\b", "y": r"\b1\b|\by\b"},
        skip=dict.fromkeys(["x", "y"], ("bool", "int8", "uint8", "uint64", "float16")),  # a compilation each
        rtol=1e-15,
    ),
    "kernels.PyccelKernel.__call__": Call(
        lambda x, y: (kernels.PyccelKernel(_host_axpy)(x, y), y)[1],
        {"x": FLOATS, "y": FLOATS + 1},
        lambda x, y: (_host_axpy(x, y), y)[1],
        ("args", "kwargs"),
        own=("x", "y"),
        written=("y",),
        takes=dict.fromkeys(["x", "y"], ANYTHING),
        skip={"y": ("list", "list of arrays", "scalar", "NumPy scalar")},  # += makes a longer list, or another number
        function="^",
        names={"x": "^", "y": "^"},
        errors=(Exception,),  # those of the function
    ),
}

# --- cunumpy.optimize, cunumpy.integrate ------------------------------------------------------------------------------

STARTS = np.array([[1.5, 3.0, 2.5], [1.25, 2.25, 5.0]])


def _floating(*arrays: Any, kinds: str = "biuf") -> Any:
    """Give the dtype in which a solver works."""
    _numbers(*arrays, kinds=kinds)
    dtype = np.result_type(*(np.float64 if array.dtype.kind in "biu" else array.dtype for array in arrays))
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def _cubed(x: Any, *_: Any) -> Any:
    return x**3 - 8


def _two(*arrays: Any, kinds: str = "biuf") -> Any:
    return np.full(np.broadcast_shapes(*(array.shape for array in arrays)), 2, _floating(*arrays, kinds=kinds))


def _ignored(*arrays: Any) -> None:
    """Check arguments that the result does not depend on."""
    _floating(*(array for array in arrays if array is not None))


def _newton(x0: Any, x1: Any, **bounds: Any) -> Any:
    _ignored(*bounds.values())
    _numbers(x0 if x1 is None else x1)
    for other in (x1, *bounds.values()):
        require(other is None or np.broadcast_shapes(x0.shape, other.shape) == x0.shape)
    return _two(x0, kinds="biuf")


def _run_newton(x0: Any, x1: Any, **bounds: Any) -> Any:
    return optimize.newton(_cubed, x0, x1=x1, bounds=tuple(bounds.values()), tol=1e-6, maxiter=200, disp=False)


def _run_bracket(xl0: Any, xr0: Any, xmin: Any, xmax: Any) -> Any:
    found = optimize.bracket_root(_cubed, xl0, xr0, xmin=xmin, xmax=xmax)
    low, high = (np.asarray(one) for one in found.bracket)
    return ((low <= 2) & (high >= 2)) | (np.asarray(found.status) != 0)


def _bracketed(xl0: Any, xr0: Any, xmin: Any, xmax: Any) -> Any:
    given = [one for one in (xl0, xr0, xmin, xmax) if one is not None]
    _ignored(*given)
    shape = np.broadcast_shapes(*(one.shape for one in given))
    return np.ones(shape, bool)


def _found(**bracket: Any) -> Any:
    low, high = bracket["bracket[0]"], bracket["bracket[1]"]
    root = _two(low, high)
    brackets = (np.minimum(low, high) <= 2) & (np.maximum(low, high) >= 2)
    return np.where(brackets, root, np.array(np.nan, root.dtype))


def _flat_two(x0: Any) -> Any:
    _numbers(x0)
    return np.full(x0.size, 2.0)


CALLS |= {
    "optimize.newton": Call(
        _run_newton,
        {
            "x0": STARTS,
            "x1": STARTS + 1,
            "bounds[0]": np.full((2, 3), 0.5),
            "bounds[1]": np.full((2, 3), 9.0),
        },
        _newton,
        (
            "func",
            "fprime",
            "args",
            "tol",
            "maxiter",
            "rtol",
            "full_output",
            "fprime2",
            "damping",
            "disp",
            "check_every",
            "progress",
        ),
        takes={"x1": OPTIONAL},
        skip={"bounds[1]": ("bool",), "x1": ONE_NUMBER},  # no root below 1; a start value that is one of x0
        rtol=1e-3,
    ),
    "optimize.bracket_root": Call(
        _run_bracket,
        {"xl0": np.array([1.0, 3.0]), "xr0": np.array([2.5, 4.0]), "xmin": np.zeros(2), "xmax": np.array([9.0, 8.0])},
        _bracketed,
        ("f", "factor", "args", "maxiter", "check_every", "progress"),
        takes={"xr0": OPTIONAL, "xmin": OPTIONAL, "xmax": OPTIONAL},
    ),
    "optimize.find_root": Call(
        lambda **given: optimize.find_root(_cubed, (given["bracket[0]"], given["bracket[1]"])).x,
        {"bracket[0]": np.array([1.0, 0.0, 1.5]), "bracket[1]": np.array([4.0, 2.5, 3.0])},
        _found,
        ("f", "args", "xatol", "xrtol", "fatol", "maxiter", "check_every", "progress"),
        names={"bracket[0]": "bracket", "bracket[1]": "bracket"},
        rtol=1e-5,
    ),
}
for _name, _plain, _run in [
    ("root", ("fun", "args", "jac", "callback", "progress", "kwargs"), lambda f, x0: f(_cubed, x0).x),
    ("fsolve", ("func", "args", "fprime", "progress", "kwargs"), lambda f, x0: f(_cubed, x0)),
    (
        "least_squares",
        ("fun", "jac", "bounds", "args", "kwargs", "loss", "callback", "progress", "options"),
        lambda f, x0: f(_cubed, x0, xtol=1e-12, ftol=1e-12, gtol=1e-12).x,
    ),
    (
        "minimize",
        ("fun", "args", "jac", "hess", "hessp", "bounds", "constraints", "callback", "progress", "kwargs"),
        lambda f, x0: f(lambda x: ((x - 2) ** 2).sum(), x0, tol=1e-12).x,
    ),
]:
    _function = getattr(optimize, _name)
    CALLS[f"optimize.{_name}"] = Call(
        lambda x0, f=_function, run=_run: run(f, x0),
        {"x0": STARTS[0]},
        _flat_two,
        _plain,
        skip={"x0": ("more axes", *(("float16", "float32") if _name == "minimize" else ()))},  # SciPy's answers
        rtol=1e-3,
        dtypes=False,
        own_words=True,
    )
CALLS["integrate.rk4"] = Call(
    lambda y0: integrate.rk4(lambda t, y: -y, (0.0, 1.0), y0, 50).y,
    {"y0": STARTS},
    lambda y0: np.multiply(y0, np.exp(-1), dtype=_floating(y0, kinds="biufc")),
    ("fun", "t_span", "steps", "args", "save_every", "progress"),
    rtol=1e-3,
)


TIMES = np.array([0.0, 0.25, 0.5, 1.0])
RATES = np.array([1.0, 2.0])


def _decayed(y0: Any, t: Any) -> Any:
    """Give y0 exp(-t), of shape (y0, t)."""
    _numbers(y0, t)
    require(y0.ndim < 2 and t.ndim == 1 and not np.iscomplexobj(t))
    return y0.reshape(-1, 1) * np.exp(-t.astype(float))


def _of_times(y0: Any, t_eval: Any) -> Any:
    times = np.array([0.0, 1.0]) if t_eval is None else t_eval
    require((times >= 0).all() and (times <= 1).all() and (np.diff(times) > 0).all())
    return _decayed(y0, times)


def _solve_ivp(y0: Any, t_eval: Any) -> Any:
    found = integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), y0, t_eval=t_eval, rtol=1e-8, atol=1e-10)
    return found.y if t_eval is not None else found.y[:, [0, -1]]


def _batched_ivp(y0: Any, t_eval: Any) -> Any:
    return integrate.solve_ivp_batched(lambda t, y: -y, (0.0, 1.0), y0, t_eval=t_eval, rtol=1e-5, atol=1e-7).y


def _batched_decayed(y0: Any, t_eval: Any) -> Any:
    dtype = _floating(y0, kinds="biufc")
    if t_eval is None:
        return (y0 * np.exp(-1.0)).astype(dtype)
    _numbers(t_eval, kinds="biuf")
    require(t_eval.ndim == 1 and (t_eval >= 0).all() and (t_eval <= 1).all())
    return (y0[..., None] * np.exp(-t_eval.astype(float))).astype(dtype)


def _square_integral(a: Any, b: Any) -> Any:
    dtype = _floating(a, b)
    return np.asarray((b.astype(float) ** 3 - a.astype(float) ** 3) / 3, dtype)


def _one_integral(a: Any, b: Any) -> Any:
    _numbers(a, b, kinds="biuf")
    return np.asarray((b.reshape(()) ** 3.0 - a.reshape(()) ** 3.0) / 3)


def _fitted(xdata: Any, ydata: Any, p0: Any, sigma: Any) -> Any:
    _numbers(*(one for one in (xdata, ydata, p0, sigma) if one is not None), kinds="biufc")
    require(xdata.shape == ydata.shape == (6,) and (p0 is None or p0.shape == (2,)))
    require(sigma is None or sigma.shape == (6,))
    x, y = xdata.astype(float), ydata.astype(float)
    return np.polyfit(x, y, 1, w=None if sigma is None else 1 / sigma.astype(float))[::-1]


LINE = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])

CALLS |= {
    "optimize.least_squares_batched": Call(
        lambda x0, **bounds: (
            optimize.least_squares_batched(
                lambda x: x - 2, x0, bounds=(bounds["bounds[0]"], bounds["bounds[1]"]), disp=False
            ).x
        ),
        {"x0": STARTS, "bounds[0]": np.zeros((2, 3)), "bounds[1]": np.full((2, 3), 9.0)},
        lambda x0, **bounds: (_ignored(*bounds.values()), require(x0.ndim == 2 and x0.shape[-1] > 0), _two(x0))[2],
        ("fun", "jac", "args", "ftol", "xtol", "gtol", "maxiter", "check_every", "disp", "progress"),
        skip={"bounds[1]": ("bool",)},  # no solution below 1
        rtol=1e-3,
    ),
    "optimize.curve_fit": Call(
        lambda xdata, ydata, p0, sigma: optimize.curve_fit(lambda x, a, b: a + b * x, xdata, ydata, p0, sigma)[0],
        {"xdata": LINE, "ydata": 2 * LINE + 1, "p0": np.array([0.5, 0.5]), "sigma": np.ones(6)},
        _fitted,
        ("f", "absolute_sigma", "bounds", "jac", "progress", "kwargs"),
        takes={"p0": OPTIONAL, "sigma": OPTIONAL, "xdata": ANYTHING},
        skip={"xdata": (*ONE_NUMBER, "broadcast"), "ydata": ONE_NUMBER, "sigma": ONE_NUMBER, "p0": ("more axes",)},
        rtol=1e-5,
        dtypes=False,
        own_words=True,
    ),
    "optimize.root_scalar": Call(
        lambda x0, x1: optimize.root_scalar(_cubed, x0=x0, x1=x1, method="secant").root,
        {"x0": np.array(1.5), "x1": np.array(3.0)},
        lambda x0, x1: (require(x0.size == x1.size == 1), np.float64(2))[1],
        ("f", "args", "method", "bracket", "fprime", "fprime2", "progress", "kwargs"),
        skip={"x0": ("None",), "x1": ("None",)},  # SciPy's refusal, and its own second value
        rtol=1e-5,
        dtypes=False,
        own_words=True,
    ),
    "integrate.fixed_quad": Call(
        lambda a, b: integrate.fixed_quad(lambda x: x * x, a, b),
        {"a": np.array([0.0, 1.0]), "b": np.array([3.0, 2.5])},
        _square_integral,
        ("func", "args", "n"),
        rtol=1e-3,
        dtypes=False,
    ),
    "integrate.quad_batched": Call(
        lambda a, b: integrate.quad_batched(lambda x: x * x, a, b).integral,
        {"a": np.array([0.0, 1.0]), "b": np.array([3.0, 2.5])},
        _square_integral,
        ("f", "args", "epsabs", "epsrel", "limit", "disp", "progress"),
        rtol=1e-3,
    ),
    "integrate.quad": Call(
        lambda a, b: integrate.quad(lambda x: x * x, a, b)[0],
        {"a": np.array(0.0), "b": np.array(3.0)},
        _one_integral,
        ("func", "args", "progress", "kwargs"),
        rtol=1e-3,
        dtypes=False,
        own_words=True,
    ),
    "integrate.odeint": Call(
        lambda y0, t: integrate.odeint(lambda y, t: -y, y0, t, rtol=1e-9, atol=1e-9),
        {"y0": RATES, "t": TIMES},
        lambda y0, t: _decayed(y0, t.astype(float) - t[:1]).T,
        ("func", "args", "Dfun", "tfirst", "progress", "kwargs"),
        skip={"t": ("empty", "empty rows")},  # SciPy's answer
        rtol=1e-5,
        dtypes=False,
        own_words=True,
    ),
    "integrate.solve_ivp": Call(
        _solve_ivp,
        {"y0": RATES, "t_eval": TIMES},
        _of_times,
        ("fun", "t_span", "method", "dense_output", "events", "vectorized", "args", "jac", "progress", "options"),
        takes={"t_eval": OPTIONAL},
        skip={"t_eval": ("empty", "empty rows")},  # SciPy's answer
        rtol=1e-3,
        dtypes=False,
        own_words=True,
    ),
    "integrate.solve_ivp_batched": Call(
        _batched_ivp,
        {"y0": STARTS, "t_eval": TIMES},
        _batched_decayed,
        (
            "fun",
            "t_span",
            "dense_output",
            "events",
            "args",
            "rtol",
            "atol",
            "first_step",
            "max_step",
            "max_steps",
            "check_every",
            "disp",
            "progress",
        ),
        takes={"t_eval": OPTIONAL},
        rtol=2e-3,
    ),
    "integrate.BatchedDenseOutput.__call__": Call(
        lambda t: integrate.solve_ivp_batched(lambda t, y: -y, (0.0, 1.0), STARTS, dense_output=True).sol(t),
        {"t": TIMES},
        lambda t: STARTS.reshape(2, 3, *[1] * t.ndim) * np.exp(-t.astype(float)),
        function="BatchedDenseOutput|sol",
        rtol=2e-3,
        dtypes=False,
    ),
}

# --- cunumpy.mpi, on one process --------------------------------------------------------------------------------------


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
    _integers(destination)
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
        _itself,
        any_dtype=("array",),
        plain=("comm", "cuda_aware"),
    ),
    "mpi.gather": Call(
        lambda array: mpi.gather(mpi.SerialComm(), array),
        {"array": ROWS},
        _itself,
        any_dtype=("array",),
        plain=("comm", "root", "cuda_aware"),
    ),
    "mpi.alltoall": Call(
        lambda array: mpi.alltoall(mpi.SerialComm(), array),
        {"array": ROWS},
        _itself,
        ("comm", "counts", "cuda_aware"),
        any_dtype=("array",),
    ),
    "mpi.allreduce": Call(
        lambda array, out: mpi.allreduce(mpi.SerialComm(), array, out=out),
        {"array": ROWS, "out": np.zeros((6, 2))},
        lambda array, out: _into(array, out),
        ("comm", "op", "cuda_aware", "check"),
        written=("out",),
        takes={"out": OPTIONAL},
    ),
    "mpi.bcast": Call(
        lambda array: (mpi.bcast(mpi.SerialComm(), array), array)[1],
        {"array": ROWS},
        _itself,
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
        _itself,
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

# What takes arrays and is driven through the kinds by other tests, since it needs a device, a library, or has no one
# answer. The files are below tests/.
TRIED_ELSEWHERE = {
    "arguments.CudaArguments": "cunumpy-kernels/test_arguments.py",
    "arguments.CudaStruct.__call__": "cunumpy-kernels/test_arguments.py",
    "arguments.CudaStructArguments": "cunumpy-kernels/test_arguments.py",
    "arguments.CudaStructValue": "cunumpy-kernels/test_arguments.py",
    "evaluate_on_host": "standin/test_host_call_cupy.py",
    "setup_on_host": "standin/test_host_call_cupy.py",
    "as_device_array": "standin/test_conversion_cupy.py",
    "to_cupy": "standin/test_conversion_cupy.py",
    "kernel_testing.host_buffer": "standin/test_fake_array.py",
    "kernels.CompiledHostKernel.__call__": "cunumpy-kernels/test_host_implementations.py",
    "kernels.HostImplementations.__call__": "cunumpy-kernels/test_host_implementations.py",
    "kernels.CudaKernel.__call__": "standin/test_cuda_kernel_cupy.py",
    "kernels.CudaKernel.launch_shape": "cunumpy-kernels/test_cuda_kernel.py",
    "kernels.CudaKernel.prepare": "standin/test_cuda_kernel_cupy.py",
    "kernels.CudaKernel.prepare_args": "cunumpy-kernels/test_cuda_kernel.py",
    "kernels.PreparedLaunch": "standin/test_cuda_kernel_cupy.py",
    "kernels.PreparedLaunch.set": "standin/test_cuda_kernel_cupy.py",
    "kernels.MetalKernel.__call__": "cunumpy-kernels/test_metal_kernel.py",
    "kernels.RawKernel.__call__": "cunumpy-kernels/test_raw_kernel.py",
    "memory.HostCopy": "cunumpy-core/test_memory.py",
    "mpi.MPIStaging.buffer": "cunumpy-mpi/test_mpi.py",
    "petsc.csr_matrix": "cunumpy-petsc/test_real_solvers.py",
    "petsc.ksp_solve": "cunumpy-petsc/test_real_solvers.py",
    "petsc.petsc_vec": "cunumpy-petsc/test_real_vectors.py",
    "petsc.place_array": "cunumpy-petsc/test_real_vectors.py",
    "petsc.snes_solve": "cunumpy-petsc/test_real_solvers.py",
    "petsc.update_values": "cunumpy-petsc/test_real_solvers.py",
    # mpi4py's API, tried beside mpi4py
    "mpi.SerialComm.*": "mpi/test_messages.py",
    "mpi.SerialMPI.*": "mpi/test_datatypes.py",
    "mpi.SerialRequest.*": "mpi/test_requests.py",
}

# What has parameters, and none that is an array. Of results' classes it is what the solvers fill in.
_NAMES = """
Array available cupy_available cupy_version_supported require_version set_backend use_backend
scipy.available
use_backend.__call__
arguments.CudaStruct arguments.CudaStruct.check_source arguments.CudaStruct.from_pyccel_class
arguments.CudaStruct.from_signature arguments.CudaStruct.layout_source arguments.CudaStruct.to_header
arguments.CudaStruct.verify_layout arguments.CudaStructValue.__getitem__ arguments.write_cuda_header
cuda.CompileMessage cuda.CompileReport cuda.CudaParameter cuda.DeviceProperties cuda.HostEvent cuda.HostEvent.record
cuda.HostStream.add_callback cuda.HostStream.begin_capture cuda.HostStream.launch_host_func cuda.HostStream.record
cuda.HostStream.wait_event cuda.KernelUsage cuda.check_cuda cuda.create_event cuda.create_stream cuda.ctype_of
cuda.cuda_debug cuda.cuda_kernel_names cuda.device_properties cuda.elapsed cuda.empty_pinned cuda.include_hash
cuda.max_shared_memory_per_block cuda.parse_cuda_signature cuda.record_event cuda.resolve_includes
cuda.set_cuda_debug cuda.set_device cuda.set_device_for_rank cuda.set_memory_limit cuda.stream cuda.wait_event
integrate.BatchedDenseOutput integrate.BatchedOdeResult integrate.FixedStepResult integrate.QuadResult
kernel_testing.assert_kernels_agree kernel_testing.assert_schedule_independent kernel_testing.check_parity
kernel_testing.compile_for_emulation kernel_testing.device_function_kernel kernel_testing.emulated_launches
kernel_testing.fake_cupy_session kernel_testing.parity_cases kernel_testing.run_in_fake_cupy_subprocess
kernels.CompiledHostKernel kernels.CudaKernel kernels.CudaKernel.all_from_file kernels.CudaKernel.check_cuda
kernels.CudaKernel.compile kernels.CudaKernel.from_file kernels.CudaKernel.recompile
kernels.CudaKernel.suggested_block_size kernels.CudaKernelVariants kernels.CudaKernelVariants.compile_all
kernels.CudaKernelVariants.get kernels.ElementwiseKernel kernels.HostImplementations
kernels.HostImplementations.available kernels.HostImplementations.extended kernels.HostImplementations.get
kernels.HostImplementations.of_any kernels.Kernel kernels.Kernel.from_folder kernels.Kernel.selected
kernels.KernelCatalog kernels.KernelCatalog.__getitem__ kernels.KernelCatalog.build_all
kernels.KernelCatalog.check_cuda kernels.KernelCatalog.compile_all kernels.KernelCatalog.from_package
kernels.KernelCatalog.register kernels.KernelCatalog.summary kernels.MetalKernel kernels.PreparedLaunch.__call__
kernels.PyccelCache kernels.PyccelCache.__call__ kernels.PyccelCache.build_key kernels.PyccelCache.compile
kernels.PyccelKernel kernels.RawKernel kernels.RawKernel.compile kernels.RawModule kernels.RawModule.compile
kernels.RawModule.get_function kernels.RawModule.get_global kernels.ReductionKernel kernels.outputs_from_annotations
kernels.set_device_kernel_implementation kernels.set_host_kernel_implementation
kernels.use_device_kernel_implementation kernels.use_host_kernel_implementation kernels.jit.*
memory.DeviceMirror.to_device memory.DeviceMirror.to_host memory.HostStaging memory.StagedCopy
memory.StagedCopy.result
mpi.CudaAwareReport mpi.MPIStaging mpi.PersistentExchange.__call__ mpi.PersistentExchange.start
mpi.PersistentExchange.wait mpi.SerialComm mpi.SerialRequest mpi.SerialStatus mpi.SerialStatus.Get_count
mpi.SerialStatus.Get_elements mpi.SerialStatus.Set_cancelled mpi.SerialStatus.Set_elements
mpi.SerialStatus.Set_error mpi.SerialStatus.Set_source mpi.SerialStatus.Set_tag mpi.cuda_aware_report mpi.get_mpi
mpi.get_mpi_cuda_aware mpi.is_serial mpi.mpi_is_cuda_aware mpi.require_cuda_aware_mpi mpi.set_mpi_cuda_aware
optimize.BracketResult optimize.LeastSquaresResult optimize.LeastSquaresResult.covariance optimize.NewtonResult
optimize.RootResult
petsc.KSPResult petsc.SNESResult petsc.mark_modified petsc.petsc_access petsc.petsc_array petsc.shell_matrix
petsc.shell_preconditioner petsc.write_back
profiling.BenchmarkResult profiling.BenchmarkResult.percentile profiling.BenchmarkResult.plot profiling.Timings.plot
profiling.TransferCounter.plot profiling.benchmark
profiling.Region profiling.Timing profiling.TimingSummary profiling.Timings.__getitem__ profiling.Timings.add
profiling.TransferBudget profiling.TransferBudget.__getitem__ profiling.TransferBudget.count
profiling.TransferBudget.phase profiling.TransferBudget.require profiling.TransferCounter
profiling.TransferCounter.bytes profiling.TransferCounter.count profiling.TransferCounter.to_json
profiling.TransferCounter.write_trace profiling.TransferEvent profiling.allow_transfers.__call__
profiling.assert_no_transfers profiling.assert_no_transfers.__call__ profiling.count_transfers
profiling.count_transfers.__call__ profiling.forbid_transfers profiling.forbid_transfers.__call__
profiling.nvtx_range profiling.nvtx_range.__call__ profiling.timed_region profiling.timed_region.__call__
profiling.watch_array_reads.__call__
rng.PhiloxGenerator rng.PhiloxGenerator.advance rng.RandomStreams.generator rng.RandomStreams.make_generator
rng.RandomStreams.philox rng.RandomStreams.random rng.RandomStreams.seed rng.RandomStreams.standard_normal
rng.stream_number
"""
NO_ARRAYS = set(_NAMES.split())
