"""Calls of `cunumpy.rng`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import philox_reference
from array_calls.call import CALLS, OPTIONAL, OUTS, ROWS, Call, integers, into, numbers, require
from cunumpy import rng

SEEDS = np.array([0, 7, 2**63 - 1, 5])
DRAWN = (2, 3)


def _blocks(function: Callable[..., tuple[float, float]], which: int | None) -> Callable[..., Any]:
    """Evaluate a function of (seed, stream, counter) block by block."""

    def draw(seed: Any, stream: Any, counter: Any, **outs: Any) -> Any:
        integers(seed, stream, counter)
        blocks = np.broadcast(seed, stream, counter)
        pairs = [function(int(a), int(b), int(c)) for a, b, c in blocks]
        both = [np.array([pair[i] for pair in pairs], float).reshape(blocks.shape) for i in range(2)]
        given = list(outs.values())
        if which is None:
            return tuple(into(one, out) for one, out in zip(both, given, strict=True))
        return into(both[which], given[0])

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
    integers(counter, key0, key1)
    require(counter.ndim >= 1 and counter.shape[-1] == 4)
    low = philox_reference.LOW
    shape = np.broadcast_shapes(counter.shape[:-1], key0.shape, key1.shape)
    rows = np.broadcast_to(counter, (*shape, 4)).reshape(-1, 4)
    keys = [np.broadcast_to(key, shape).reshape(-1) for key in (key0, key1)]
    words = [
        philox_reference.philox([int(c) & low for c in row], [int(a) & low, int(b) & low])
        for row, a, b in zip(rows, *keys, strict=True)
    ]
    return into(np.array(words, np.uint32).reshape(*shape, 4), out)


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
        lambda out=None, **given: into(definition(**given), out),
        ("size", "dtype", *(("check",) if arrays else ())),
        written=("out",),
        takes={"out": OPTIONAL},
        rtol=1e-14,
    )


LOC, SCALE = np.array([[0.5, -1.0, 2.0], [3.0, 0.0, 1.5]]), np.array([0.25, 2.0, 1.0])


def _shaped(*arrays: Any) -> tuple[int, ...]:
    numbers(*arrays, kinds="biuf")
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
        expected=lambda out, f=_name: getattr(_generator(), f)() if out is None else into(_fill(out, f), out),
    )


def _philox_integers(low: Any, high: Any) -> Any:
    integers(low, high)
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
        integers(x)
        require(0 <= x <= 100)
        return _generator().permutation(int(x))
    return x[_generator().permutation(len(x))]


def _chosen(a: Any, p: Any) -> Any:
    if a.ndim == 0:
        integers(a)
        require(0 < a <= 100)
        a = np.arange(int(a))
    require(len(a) > 0)
    if p is None:
        return a[_generator().integers(0, len(a), 6)]
    numbers(p, kinds="biuf")
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
    numbers(*given.values(), kinds="biuf")
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
