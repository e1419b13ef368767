"""Calls of the functions that make arrays, and of those about dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from array_api_calls.arguments import (
    KINDS,
    Call,
    arrays,
    broadcastable,
    device,
    dtypes,
    elements,
    pairs,
    shapes,
    some,
)

made_shapes = st.integers(0, 3) | shapes()
defaults = st.sampled_from([np.dtype(name) for name in ("bool", "int64", "float64", "complex128")])


@st.composite
def made(draw: Any) -> Call:
    return Call((draw(made_shapes),), draw(some(dtype=dtypes("all"), device=device)))


@st.composite
def made_like(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes("all")), draw(shapes())))
    return Call((x,), draw(some(dtype=dtypes("all"), device=device)))


@st.composite
def filled(draw: Any, *, like: bool) -> Call:
    """Draw a value for an array; a dtype that is given has to hold it."""
    dtype = draw(dtypes("all"))
    shape = draw(shapes() if like else made_shapes)
    if like:
        return Call((np.zeros(shape, dtype), draw(elements(dtype))), draw(some(dtype=st.just(dtype), device=device)))
    keywords = draw(some(dtype=st.just(dtype), device=device))
    kind = (
        dtype if "dtype" in keywords else draw(st.sampled_from([np.dtype(t) for t in (bool, np.int64, float, complex)]))
    )
    return Call((shape, draw(elements(kind))), keywords)


@st.composite
def ranges(draw: Any) -> Call:
    if draw(st.booleans()):
        numbers: st.SearchStrategy[Any] = st.integers(-9, 9)
        family = "real"
    else:  # exact steps, so that the length is not a matter of rounding
        numbers = st.integers(-36, 36).map(lambda n: n / 4)
        family = "real float"
    start, stop, step = draw(numbers), draw(numbers), draw(numbers.filter(bool))
    keywords = draw(some(dtype=dtypes(family), device=device))
    if np.dtype(keywords.get("dtype", "int64")).kind == "u":
        start, stop, step = abs(start), abs(stop), abs(step)
    return Call(draw(st.sampled_from([(start,), (start, stop), (start, stop, step)])), keywords)


@st.composite
def spaces(draw: Any) -> Call:
    dtype = draw(dtypes("float"))
    ends = elements(dtype, "moderate") | st.integers(-8, 8)
    keywords = draw(some(endpoint=st.booleans(), dtype=st.just(dtype), device=device))
    return Call((draw(ends), draw(ends), draw(st.integers(0, 5))), keywords)


@st.composite
def eyes(draw: Any) -> Call:
    sides = st.integers(0, 4)
    shape = draw(st.tuples(sides) | st.tuples(sides, sides | st.none()))
    return Call(shape, draw(some(k=st.integers(-5, 5), dtype=dtypes("all"), device=device)))


@st.composite
def meshes(draw: Any) -> Call:
    dtype = draw(dtypes("numeric"))
    vectors = draw(st.lists(shapes(1, 1).flatmap(lambda shape: arrays(dtype, shape)), max_size=3))
    return Call(tuple(vectors), draw(some(indexing=st.sampled_from(["xy", "ij"]))))


@st.composite
def triangles(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes("all")), draw(shapes(2))))
    return Call((x,), draw(some(k=st.integers(-4, 4))))


@st.composite
def sources(draw: Any) -> Call:
    """Draw what arrays are made of: arrays, scalars, nested lists."""
    dtype = draw(dtypes("all"))
    form = draw(st.sampled_from(["array", "scalar", "list"]))
    keywords = draw(some(device=device))
    if form == "array":
        x = draw(arrays(dtype, draw(shapes())))
        return Call((x,), keywords | draw(some(dtype=st.just(dtype), copy=st.sampled_from([None, True, False]))))
    kind = draw(defaults)
    value = draw(arrays(kind, () if form == "scalar" else draw(shapes(1, 2)))).tolist()
    return Call((value,), keywords | draw(some(dtype=st.just(kind), copy=st.sampled_from([None, True]))))


@st.composite
def exchanged(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes("all")), draw(shapes(min_side=1))))
    return Call((x,), draw(some(device=device, copy=st.sampled_from([None, True, False]))))


CREATION = {
    **{name: made() for name in ("empty", "ones", "zeros")},
    **{name: made_like() for name in ("empty_like", "ones_like", "zeros_like")},
    "arange": ranges(),
    "asarray": sources(),
    "eye": eyes(),
    "from_dlpack": exchanged(),
    "full": filled(like=False),
    "full_like": filled(like=True),
    "linspace": spaces(),
    "meshgrid": meshes(),
    "tril": triangles(),
    "triu": triangles(),
}


@st.composite
def casts(draw: Any) -> Call:
    """Draw conversions that the standard defines: not of complex numbers to others, and to integers that hold them."""
    dtype = draw(dtypes("all"))
    to = draw(dtypes("complex" if dtype.kind == "c" else "all"))
    values: Any = "any"
    if to.kind in "iu" and dtype.kind in "iuf":
        low = 0 if to.kind == "u" or dtype.kind == "u" else -100
        values = lambda kind: st.integers(low, 100)  # noqa: E731
    x = draw(arrays(dtype, draw(shapes()), values))
    return Call((x, to), draw(some(copy=st.booleans(), device=device)))


@st.composite
def broadcasts(draw: Any) -> Call:
    found = draw(broadcastable(draw(st.integers(1, 3))))
    return Call(tuple(draw(arrays(draw(dtypes("all")), shape)) for shape in found), {})


@st.composite
def broadcasts_to(draw: Any) -> Call:
    shape, other = draw(broadcastable(2))
    return Call((draw(arrays(draw(dtypes("all")), shape)), np.broadcast_shapes(shape, other)), {})


@st.composite
def castable(draw: Any) -> Call:
    dtype = draw(dtypes("all"))
    return Call((draw(st.just(dtype) | arrays(dtype, (2,))), draw(dtypes("all"))), {})


@st.composite
def limits(draw: Any, family: str) -> Call:
    dtype = draw(dtypes(family))
    return Call((draw(st.just(dtype) | arrays(dtype, (2,))),), {})


@st.composite
def kinds(draw: Any) -> Call:
    names = st.sampled_from(KINDS[1:])
    kind = names | dtypes("all")
    return Call((draw(dtypes("all")), draw(kind | st.lists(kind, max_size=3).map(tuple))), {})


@st.composite
def common(draw: Any) -> Call:
    """Draw arrays and dtypes that have a common dtype, and Python scalars of that kind."""
    first, second = draw(pairs("all"))
    given = [first, draw(st.just(second) | shapes(0, 1).flatmap(lambda shape: arrays(second, shape)))]
    scalars = {"b": st.booleans(), "f": st.floats() | st.integers(-8, 8), "c": st.floats(-8, 8) | st.just(2j)}
    kind = max(first.kind, second.kind, key="buifc".index)
    given += draw(st.lists(scalars.get(kind, st.integers(0, 100)), max_size=1))
    return Call(tuple(draw(st.permutations(given))), {})


DATA_TYPES = {
    "astype": casts(),
    "broadcast_arrays": broadcasts(),
    "broadcast_shapes": st.integers(1, 3).flatmap(broadcastable).map(lambda found: Call(tuple(found), {})),
    "broadcast_to": broadcasts_to(),
    "can_cast": castable(),
    "finfo": limits("float"),
    "iinfo": limits("integer"),
    "isdtype": kinds(),
    "result_type": common(),
}
