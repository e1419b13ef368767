"""Elementwise and reduction kernels on generated dtypes, shapes, strides and broadcasting, against NumPy.

Values are small integers, so that every sum is exact. Everything is run twice: as it is, and on a system where the C
extension can't be built.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cunumpy.kernels import ElementwiseKernel, ReductionKernel

DTYPES = ("f8", "i4", "u1", "D")

few = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Kinds(NamedTuple):
    """Kernels of this module, with or without what is called in C."""

    combined: ElementwiseKernel
    numbered: ElementwiseKernel
    indexed: ElementwiseKernel
    dot: ReductionKernel
    places: ReductionKernel


@pytest.fixture(scope="module", params=["usual", "without the C extension"])
def kinds(request: pytest.FixtureRequest):
    with pytest.MonkeyPatch.context() as patch:
        if request.param != "usual":
            patch.setattr("cunumpy.kernels._cpu_device.launcher._extension", lambda cache: None)
        yield Kinds(
            ElementwiseKernel("T x, T y", "T z", "z = x + x - y", "combined"),
            ElementwiseKernel("T x, T y", "T z, int64 k", "z = x + x - y; k = i", "numbered"),
            ElementwiseKernel(
                "T x",
                "int64 k",
                "k = 0; for (int axis = 0; axis < NDIM; ++axis) k = 10 * k + _ind.get()[axis]",
                "indexed",
                reduce_dims=False,
                options=("-DNDIM=2",),
            ),
            ReductionKernel("T x, T y", "T z", "x * y", "a + b", "z = a", "0", "dot"),
            ReductionKernel(
                "T x", "int64 k, int64 n", "1000 * _J + _i", "a + b", "k = a; n = _in_ind.size()", "0", "numbers",
                reduce_type="int64",
            ),
        )  # fmt: skip


@st.composite
def arrays(draw, shape: tuple[int, ...], dtype: str, *, dropped: bool = False) -> np.ndarray:
    """Return an array that broadcasts to a shape, with any order of axes, steps and directions."""
    if dropped:
        kept = draw(st.integers(0, len(shape)))
        shape = tuple(1 if draw(st.booleans()) else length for length in shape[len(shape) - kept :])
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 1, 2, -1, -2])) for _ in shape]
    room = np.zeros([shape[axis] * abs(steps[axis]) for axis in order] + [draw(st.integers(1, 2))], dtype)
    view = room[..., 0].transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)]
    view = np.asarray(view) if shape else room[..., 0]
    assert view.shape == shape
    size = view.size
    view[...] = np.reshape([draw(st.integers(0, 9)) for _ in range(min(size, 30))] * (size // 30 + 1), -1)[
        :size
    ].reshape(shape)
    if draw(st.booleans()):
        view.flags.writeable = False
    return view


shapes = st.one_of(
    st.lists(st.integers(0, 4), max_size=4).map(tuple), st.sampled_from([(70, 3), (3, 70), (2, 20000), (20000, 2)])
)


@few
@given(st.data())
def test_elementwise(kinds: Kinds, data: st.DataObject) -> None:
    shape, dtype = data.draw(shapes), data.draw(st.sampled_from(DTYPES))
    x, y = data.draw(arrays(shape, dtype)), data.draw(arrays(shape, dtype, dropped=True))
    if data.draw(st.booleans()):
        x, y = y, x
    expected = x + x - y
    for got, number in ((kinds.combined(x, y), None), kinds.numbered(x, y)):
        assert got.dtype == x.dtype
        assert got.shape == expected.shape
        assert got.flags.c_contiguous
        np.testing.assert_array_equal(got, expected)
        if number is not None:
            np.testing.assert_array_equal(number, np.arange(expected.size).reshape(expected.shape))
    out = data.draw(arrays(expected.shape, dtype))
    if out.flags.writeable:
        assert kinds.combined(x, y, out) is out
        np.testing.assert_array_equal(out, expected)


@few
@given(st.data())
def test_elementwise_where_input_and_output_overlap(kinds: Kinds, data: st.DataObject) -> None:
    memory = np.arange(24.0)
    views = []
    for _ in range(3):
        length = data.draw(st.integers(1, 8))
        start, step = data.draw(st.integers(0, 23)), data.draw(st.integers(-3, 3).filter(bool))
        views.append((start, step, length))
    length = min(views[2][2], *(len(range(start, 24 if step > 0 else -1, step)) for start, step, _ in views))
    x, y, out = (np.lib.stride_tricks.as_strided(memory[start:], (length,), (8 * step,)) for start, step, _ in views)
    expected = x + x - y
    kinds.combined(x, y, out)
    np.testing.assert_array_equal(out, expected)


@few
@given(st.data())
def test_the_index_of_an_element(kinds: Kinds, data: st.DataObject) -> None:
    shape = (data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9)))
    row, column = np.indices(shape)
    np.testing.assert_array_equal(kinds.indexed(data.draw(arrays(shape, "f8"))), 10 * row + column)


@few
@given(st.data())
def test_reduction(kinds: Kinds, data: st.DataObject) -> None:
    shape, dtype = data.draw(shapes), data.draw(st.sampled_from(DTYPES))
    x, y = data.draw(arrays(shape, dtype)), data.draw(arrays(shape, dtype, dropped=True))
    axis = data.draw(st.one_of(st.none(), st.sets(st.sampled_from(range(len(shape))) if shape else st.nothing())))
    axis = axis if axis is None else tuple(axis)
    keepdims = data.draw(st.booleans())
    expected = (x * y).sum(axis=axis, keepdims=keepdims, dtype=dtype)
    got = kinds.dot(x, y, axis=axis, keepdims=keepdims)
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
    out = data.draw(arrays(expected.shape, dtype))
    if out.flags.writeable:
        assert kinds.dot(x, y, out=out, axis=axis, keepdims=keepdims) is out
        np.testing.assert_array_equal(out, expected)


@few
@given(st.data())
def test_the_places_of_reduced_elements(kinds: Kinds, data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    axes = sorted(data.draw(st.sets(st.sampled_from(range(len(shape))))))
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    reduced, outputs = (int(np.prod([shape[axis] for axis in some])) for some in (axes, kept))
    expected = np.add.outer(np.arange(outputs), 1000 * np.arange(reduced)).sum(1)
    number, size = kinds.places(data.draw(arrays(shape, "f8")), axis=tuple(axes))
    np.testing.assert_array_equal(number, expected.reshape([shape[axis] for axis in kept]))
    np.testing.assert_array_equal(size, np.full_like(number, np.prod(shape)))
