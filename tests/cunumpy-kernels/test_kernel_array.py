"""Arrays for kernels, on the host: which side, layout and dtype, what is refused, and writing outputs back."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from array_kinds import ARRAYS, KINDS, ArrayKind, ForeignDeviceArray, as_compared
from cunumpy.errors import ArgumentError, ArgumentTypeError, MissingPackageError
from cunumpy.kernels import as_kernel_array, kernel_output, kernel_outputs

HOST = np.zeros(1)


def passes_pyccel(array: np.ndarray) -> bool:
    """Repeat what Pyccel 2.2 tests of an argument of two and more dimensions that is declared in C order."""
    return all(outer >= inner for outer, inner in zip(array.strides, array.strides[1:], strict=False))


def as_pyccel_sees(array: np.ndarray) -> np.ndarray:
    """Return the elements that a function compiled by Pyccel 2.2 reads from an array that is a view.

    Its wrapper takes the address, computes the shape of a packed array from the strides, and slices that.
    """
    item, last = array.itemsize, array.ndim - 1
    steps, bounds, base = [1] * array.ndim, list(array.shape), [0] * array.ndim
    steps[last] = array.strides[last] // item
    bounds[last] = (array.shape[last] - 1) * steps[last] + 1
    current = item
    for axis in range(last, 0, -1):
        base[axis] = array.strides[axis - 1] // current
        current *= base[axis]
    base[0] = array.shape[0] * steps[0]
    # Only strides of the packed array are used; the read itself is done here by address.
    packed = [item] * array.ndim
    for axis in range(last - 1, -1, -1):
        packed[axis] = packed[axis + 1] * base[axis + 1]
    strides = tuple(step * stride for step, stride in zip(steps, packed, strict=True))
    assert all((n - 1) * s >= 0 for n, s in zip(array.shape, strides, strict=True))
    return np.lib.stride_tricks.as_strided(array, strides=strides)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_of_array(kind: ArrayKind, tmp_path: Any) -> None:
    value = kind.make(tmp_path)
    before = as_compared(value)
    if kind.values is None or isinstance(value, ForeignDeviceArray):
        error = MissingPackageError if isinstance(value, ForeignDeviceArray) else (ArgumentTypeError, ArgumentError)
        with pytest.raises(error):
            as_kernel_array(value, like=HOST)
    else:
        result = as_kernel_array(value, like=HOST)
        assert type(result) is np.ndarray
        assert result.dtype == kind.values.dtype
        assert result.dtype.isnative
        assert result.shape == kind.values.shape
        assert result.flags.c_contiguous
        np.testing.assert_array_equal(result, kind.values)
        packed = type(value) is np.ndarray and value.flags.c_contiguous and value.dtype.isnative
        assert (result is value) is packed
    assert as_compared(value) == before or kind.name == "iterator"


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_of_output(kind: ArrayKind, tmp_path: Any) -> None:
    out = kind.make(tmp_path)
    before = as_compared(out)
    if not kind.is_array or not kind.writable or not out.dtype.isnative:
        error = MissingPackageError if isinstance(out, ForeignDeviceArray) else (ArgumentTypeError, ArgumentError)
        with pytest.raises(error):
            kernel_output(out, like=HOST)
        assert as_compared(out) == before
        return
    strides = out.strides
    with kernel_output(out, like=HOST) as buffer:
        assert type(buffer) is np.ndarray
        assert buffer.flags.c_contiguous
        np.testing.assert_array_equal(buffer, kind.values)
        buffer[...] = 1
    assert (out == 1).all()
    assert out.strides == strides
    out[...] = np.zeros((), out.dtype)
    error = KeyError("inside")
    block = kernel_output(out, like=HOST)
    buffer = block.__enter__()
    buffer[...] = 1
    assert not block.__exit__(KeyError, error, None)
    assert np.may_share_memory(buffer, out) or not out.any()


@pytest.mark.parametrize("kind", [kind for kind in ARRAYS if kind.values is not None], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, float, complex, "int64", np.int8, np.uint16, bool])
def test_conversions_keep_values_or_raise(kind: ArrayKind, dtype: Any, tmp_path: Any) -> None:
    """A conversion is right where every value is kept, or rounded to the nearest of a floating dtype."""
    value, values = kind.make(tmp_path), kind.values
    wanted = np.dtype(dtype)
    kinds = "biufc"
    allowed = kinds.index(values.dtype.kind) <= kinds.index(wanted.kind) or {values.dtype.kind, wanted.kind} <= set(
        "iu"
    )
    if not allowed:
        with pytest.raises(ArgumentTypeError, match=r"as_kernel_array: argument 'value'.*(fractions|imaginary|kind)"):
            as_kernel_array(value, like=HOST, dtype=dtype)
        return
    if wanted.kind in "iu" and any(not np.iinfo(wanted).min <= int(x) <= np.iinfo(wanted).max for x in values.flat):
        with pytest.raises(ArgumentError, match="out of the range"):
            as_kernel_array(value, like=HOST, dtype=dtype)
        unseen = as_kernel_array(value, like=HOST, dtype=dtype, check=False)
        np.testing.assert_array_equal(unseen, values.astype(wanted))
        return
    result = as_kernel_array(value, like=HOST, dtype=dtype)
    assert result.dtype == wanted
    assert result.shape == values.shape
    for number, kept in zip(values.flat, result.flat, strict=True):
        assert (int(kept) == int(number)) if wanted.kind in "iu" else np.isclose(complex(kept), complex(number), 1e-6)


def test_lossy_conversions_are_refused() -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        as_kernel_array(np.array([1 + 2j]), like=HOST, dtype=float)
    assert str(caught.value) == (
        "as_kernel_array: argument 'value' is numpy.ndarray(shape=(1,), dtype=complex128), and converting complex128 "
        "to float64 would drop the imaginary parts; take .real, or ask for a complex dtype."
    )
    with pytest.raises(ArgumentTypeError, match=r"float64 to int32 would cut off fractions; round it"):
        as_kernel_array([1.0], like=HOST, dtype=np.int32)
    with pytest.raises(
        ArgumentError, match=r"dtype=int64\)\) has values out of the range of dtype uint8; ask for a wider"
    ):
        as_kernel_array([0, 256], like=HOST, dtype=np.uint8)
    with pytest.raises(ArgumentError, match="out of the range of dtype float32"):
        as_kernel_array([1e39, np.inf], like=HOST, dtype=np.float32)
    assert np.isinf(as_kernel_array([np.inf], like=HOST, dtype=np.float32)).all()
    with pytest.raises(ArgumentError, match="out of the range of dtype float16"):
        as_kernel_array([70000], like=HOST, dtype=np.float16)
    with pytest.raises(ArgumentTypeError, match=r"has dtype <U2, expected bool, integer"):
        as_kernel_array(np.array(["ab"]), like=HOST, dtype="U1")


def test_dtypes_are_checked() -> None:
    for dtype in (dict, "nonsense", object):
        with pytest.raises(ArgumentTypeError, match="as_kernel_array: argument 'dtype'"):
            as_kernel_array(HOST, like=HOST, dtype=dtype)
    swapped = np.dtype(float).newbyteorder("S")
    with pytest.raises(ArgumentError, match=r"must be in the machine's byte order.*ask for"):
        as_kernel_array(HOST, like=HOST, dtype=swapped)
    empty = as_kernel_array([], like=HOST, dtype=np.int32)
    assert empty.dtype == np.int32
    assert as_kernel_array(2, like=HOST, dtype=float).shape == ()


def test_structures_pass() -> None:
    records = np.zeros(3, [("a", "f8"), ("b", "i4")])
    assert as_kernel_array(records, like=HOST) is records
    assert as_kernel_array(records[::2], like=HOST).flags.c_contiguous


@st.composite
def views(draw: st.DrawFn) -> np.ndarray:
    """Return a view with steps, bounds, new axes and permuted axes of a packed array of distinct numbers."""
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    array = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    slices = [
        slice(draw(st.integers(0, n - 1)), draw(st.integers(1, n)), draw(st.sampled_from([1, 1, 1, 2, 3, -1])))
        for n in shape
    ]
    array = array[tuple(slices)]
    if draw(st.booleans()):
        array = array[:, None]
    return array.transpose(draw(st.permutations(range(array.ndim)))) if draw(st.integers(0, 3)) == 0 else array


@given(views(), st.booleans())
@example(np.lib.stride_tricks.as_strided(np.arange(9, dtype=np.int32), (2, 1, 1), (8, 8, 48)), True)
def test_pyccel_reads_the_right_elements(view: np.ndarray, strided: bool) -> None:
    result = as_kernel_array(view, like=HOST, strided=strided)
    np.testing.assert_array_equal(result, view)
    assert result.shape == view.shape
    if result.size == 0:
        return
    assert passes_pyccel(result)
    np.testing.assert_array_equal(as_pyccel_sees(result), view)
    if not strided:
        assert result.flags.c_contiguous


@given(views())
def test_what_fits_is_returned_itself_and_what_is_contiguous_is_not_copied(view: np.ndarray) -> None:
    result = as_kernel_array(view, like=HOST)
    assert as_kernel_array(result, like=HOST) is result
    if view.flags.c_contiguous and view.size:
        assert np.shares_memory(view, result)


def test_gaps_are_accepted_on_request() -> None:
    a = np.zeros((4, 6, 5))
    for view in (a[:, :, :3], a[:, :4], a[::2], a[1:, 2:4, ::2], a[0, 0, ::2], a[:, ::2], a[:, ::3, ::4]):
        assert as_kernel_array(view, like=HOST, strided=True) is view
        assert as_kernel_array(view, like=HOST).flags.c_contiguous
    # Pyccel divides strides; 5 rows are no whole number of pairs of rows.
    for view in (np.zeros((4, 5, 5))[:, ::2], a[::-1], a[0, 0, ::-1], a[:, :, 0].T, np.broadcast_to(a[0, 0], (3, 5))):
        result = as_kernel_array(view, like=HOST, strided=True)
        assert result is not view
        assert result.flags.c_contiguous


def test_axes_of_length_one_get_strides_without_a_copy() -> None:
    x = np.arange(5.0)
    column = x[:, None]
    assert column.strides == (8, 0)
    result = as_kernel_array(column, like=HOST)
    assert result.strides == (8, 8)
    result[2, 0] = 7.0
    assert x[2] == 7.0
    x.flags.writeable = False
    assert not as_kernel_array(x[:, None], like=HOST).flags.writeable
    padded = np.zeros((3, 8))[:1, :4]
    assert as_kernel_array(padded, like=HOST) is padded
    assert as_kernel_array(x[None, :], like=HOST).strides == (40, 8)


def test_like_anything_but_a_device_array_means_the_host() -> None:
    for like in (None, 1.0, [1.0], np.float32(1)):
        assert as_kernel_array(HOST, like=like) is HOST
    with pytest.raises(MissingPackageError):
        as_kernel_array(HOST, like=ForeignDeviceArray(HOST))
    assert "cupy" not in sys.modules


# --- outputs ----------------------------------------------------------------------------------------------------------


def test_outputs_convert_there_and_back() -> None:
    out = np.arange(6.0, dtype=np.float32).reshape(2, 3)[:, ::-1]
    with kernel_output(out, like=HOST, dtype=float) as buffer:
        assert buffer.dtype == float
        np.testing.assert_array_equal(buffer, [[2, 1, 0], [5, 4, 3]])
        buffer *= 2
    np.testing.assert_array_equal(out, [[4, 2, 0], [10, 8, 6]])
    with kernel_output(out, like=HOST) as buffer:
        assert buffer.dtype == np.float32


def test_an_output_that_fits_is_the_buffer() -> None:
    out = np.zeros((4, 6))
    with kernel_output(out, like=HOST) as buffer:
        assert buffer is out
    with kernel_output(out[:, :3], like=HOST, strided=True) as buffer:
        buffer += 1.0
        assert out.sum() == 12.0
    zero = np.array(1.0)
    with kernel_output(zero, like=HOST) as buffer:
        assert buffer.shape == ()
        buffer[...] = 4.0
    assert zero == 4.0


def test_results_that_do_not_fit_are_refused_and_change_nothing() -> None:
    first, second = np.zeros(2, np.int64)[::-1], np.zeros(2, np.int8)
    with (
        pytest.raises(ArgumentError, match=r"kernel_outputs: argument 'outs\[1\]' .* out of the range of dtype int8"),
        kernel_outputs(first, second, like=HOST, dtype=np.int64) as (a, b),
    ):
        a[...], b[...] = 5, 200
    assert not first.any()
    assert not second.any()
    with kernel_outputs(first, second, like=HOST, dtype=np.int64, check=False) as (a, b):
        a[...], b[...] = 5, 200
    assert first.tolist() == [5, 5]
    assert second.tolist() == [-56, -56]


def test_kinds_have_to_be_kept_both_ways() -> None:
    out = np.zeros(2, np.int64)
    with pytest.raises(ArgumentTypeError, match=r"the results of dtype float64 back to int64 would cut off fractions"):
        kernel_output(out, like=HOST, dtype=float)
    with pytest.raises(ArgumentTypeError, match=r"kernel_output: argument 'out' .* complex128 to float64 would drop"):
        kernel_output(out.astype(complex), like=HOST, dtype=float)


def test_refusals_of_outputs_are_clear() -> None:
    frozen = np.zeros((2, 2))
    frozen.flags.writeable = False
    good = np.zeros((2, 2)).T
    with pytest.raises(
        ArgumentError, match=r"kernel_outputs: argument 'outs\[1\]' is written to, but the array is read-"
    ):
        kernel_outputs(good, frozen, like=HOST)
    swapped = np.zeros(2, np.dtype(float).newbyteorder("S"))
    with pytest.raises(ArgumentError, match=r"kernel_output: argument 'out' must be in the machine's byte order, got"):
        kernel_output(swapped, like=HOST)
    with pytest.raises(
        ArgumentTypeError, match=r"kernel_output: argument 'out' must be an array .* got list; make one"
    ):
        kernel_output([1.0], like=HOST)


def test_overlapping_outputs_are_refused_where_one_is_copied() -> None:
    x = np.zeros(6)
    with pytest.raises(ArgumentError, match=r"kernel_outputs: arguments 'outs\[0\]' and 'outs\[1\]' share memory"):
        kernel_outputs(x[:4], x[::2], like=HOST)
    with kernel_outputs(x[:4], x[2:], like=HOST) as (a, b):  # both are buffers themselves and overlap as they do
        a[...] = 1.0
        b[0] += 1.0
    assert x.tolist() == [1.0, 1.0, 2.0, 1.0, 0.0, 0.0]
    x[:] = 0
    with kernel_outputs(x[::2], x[1::2], like=HOST) as (a, b):
        a[...], b[...] = 1.0, 2.0
    assert x.tolist() == [1.0, 2.0] * 3
    with kernel_outputs(x[::2], x[::2], like=HOST) as (a, b):
        assert a is b
        a += 1.0
        b += 1.0
    assert x.tolist() == [3.0, 2.0] * 3


def test_no_outputs() -> None:
    with kernel_outputs(like=HOST) as buffers:
        assert buffers == ()


@pytest.mark.parametrize("value", ["text", [b"bytes"], np.array(["2026-11-30"], "M8[D]"), np.timedelta64(3, "s")])
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(
        ArgumentTypeError, match=r"as_kernel_array: argument 'value' has dtype .*expected bool, integer"
    ):
        as_kernel_array(value, like=None)


@pytest.mark.parametrize(("shape", "strides"), [((3, 3), (8, 8)), ((4,), (0,)), ((2, 3), (16, 8))])
@pytest.mark.parametrize("strided", [True, False])
def test_outputs_whose_elements_share_memory_are_refused(shape: Any, strides: Any, strided: bool) -> None:
    base = np.arange(8.0)
    out = np.lib.stride_tricks.as_strided(base, shape, strides)
    assert as_kernel_array(out, like=base, strided=strided).tolist() == out.tolist()
    with pytest.raises(ArgumentError, match=r"kernel_output: argument 'out' .* has elements that share memory"):
        kernel_output(out, like=base, strided=strided)
