"""The input gate: right arrays, or errors that name function, argument, fault and remedy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from array_kinds import KINDS, NOT_ARRAYS, ArrayKind, ForeignDeviceArray, as_compared, assert_same_values
from cunumpy import _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError


def gate(value: object, **options: object) -> np.ndarray:
    return _gate.as_host_array(value, function="f", argument="x", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_becomes_an_array_or_an_error(kind: ArrayKind, tmp_path) -> None:
    value = kind.make(tmp_path)
    before = as_compared(value)
    if kind.values is None or isinstance(value, ForeignDeviceArray):
        with pytest.raises((ArgumentError, ArgumentTypeError), match=r"^f: argument 'x' "):
            gate(value)
    else:
        array = gate(value)
        assert type(array) is np.ndarray
        assert_same_values(array, kind)
        if kind.is_array:
            assert np.shares_memory(array, value) or array.size == 0
    assert as_compared(value) == before


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("masked", ["masked array", "drop the mask", ".filled(value)"]),
        ("list-with-masked", ["holds a masked array", ".filled(value)"]),
        ("ragged-list", ["ragged list", "rows differ in length"]),
        ("list-in-itself", ["holds itself"]),
        ("none", ["is None", "pass an array"]),
        ("list-with-none", ["holds None"]),
        ("dict", ["is dict", "not an array", "list(d.values())"]),
        ("set", ["is set", "sorted(values)"]),
        ("iterator", ["iterator", "numpy.fromiter"]),
    ],
)
def test_errors_say_what_was_given_and_what_to_do(name: str, words: list[str], tmp_path) -> None:
    [kind] = [kind for kind in NOT_ARRAYS if kind.name == name]
    with pytest.raises((ArgumentError, ArgumentTypeError)) as caught:
        gate(kind.make(tmp_path))
    for word in ["f:", "'x'", *words]:
        assert word in str(caught.value)


def test_an_unmasked_masked_array_is_refused_as_well() -> None:
    with pytest.raises(ArgumentTypeError, match="masked"):
        gate(np.ma.masked_array([1.0, 2.0]))


def test_device_arrays_are_not_copied_unasked() -> None:
    with pytest.raises(ArgumentTypeError, match=r"f: argument 'x' is an array in device memory .*xp\.to_numpy"):
        gate(ForeignDeviceArray(np.ones(3)))


def test_arrays_of_objects_are_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="dtype object, expected bool, integer"):
        gate(np.array([1, None], dtype=object))
    with pytest.raises(ArgumentTypeError, match=r"f: argument 'x' \(list\) is not an array of numbers"):
        gate([object()])


def test_dtype_kinds_are_checked_and_named() -> None:
    assert gate([1, 2], dtype_kinds="iu").dtype == np.int64
    with pytest.raises(ArgumentTypeError, match="dtype float64, expected integer, unsigned integer; convert"):
        gate([1.0], dtype_kinds="iu")


def test_the_number_of_dimensions_is_checked() -> None:
    assert gate(3.0, ndim=0).shape == ()
    assert gate([[1]], ndim=(1, 2)).shape == (1, 1)
    with pytest.raises(ArgumentError, match=r"f: argument 'x' must have 1 or 2 dimension\(s\), got 0 \(shape \(\)\)"):
        gate(3.0, ndim=(1, 2))


def test_byte_order_and_layout_on_request() -> None:
    big = np.asfortranarray(np.arange(6.0).reshape(2, 3).astype(">f8"))
    assert gate(big) is big
    native = gate(big, native=True)
    assert native.dtype.isnative
    assert native.flags.f_contiguous
    np.testing.assert_array_equal(native, big)
    assert gate(big, contiguous=True).flags.c_contiguous
    assert gate(np.array(1.0), contiguous=True).shape == ()


def test_structured_big_endian_becomes_native() -> None:
    big = np.array([(1.5, 2)], dtype=[("a", ">f8"), ("b", ">i4")])
    native = gate(big, native=True)
    assert native.dtype.isnative
    assert native["a"][0] == 1.5
    assert native["b"][0] == 2


def test_outputs_must_be_writable() -> None:
    array = np.zeros(3)
    _gate.check_writable(array, function="f", argument="out")
    array.flags.writeable = False
    with pytest.raises(
        ArgumentError, match=r"f: argument 'out' is written to, but the array is read-only.*out\.copy\(\)"
    ):
        _gate.check_writable(array, function="f", argument="out")


@pytest.mark.parametrize("dtype", ["U3", "S3", "O", "M8[s]", "m8[s]", "g", "G"])
def test_dtypes_that_a_device_does_not_have(dtype: str) -> None:
    if dtype in "gG" and np.dtype(dtype).itemsize == np.dtype(dtype.replace("g", "d").replace("G", "D")).itemsize:
        dtype = "U1"  # long double is double here
    with pytest.raises(ArgumentTypeError, match="which a CUDA device can't hold"):
        _gate.check_device_dtype(np.dtype(dtype), function="f", argument="x")


def test_numpy_warnings_are_not_hidden() -> None:
    class Odd:
        def __array__(self, dtype=None, copy=None):
            warnings.warn("odd", UserWarning, stacklevel=1)
            return np.ones(2)

    with pytest.warns(UserWarning, match="odd"):
        gate(Odd())


class TestIntegers:
    @pytest.mark.parametrize("dtype", ["i1", "u1", "i2", ">i4", "u8", "<i8"])
    def test_any_integer_dtype_in_native_byte_order(self, dtype):
        result = _gate.as_integer_array(np.arange(3, dtype=dtype), function="f", argument="keys")
        assert result.tolist() == [0, 1, 2]
        assert result.dtype.isnative
        assert result.dtype.itemsize == np.dtype(dtype).itemsize

    @pytest.mark.parametrize("empty", [[], (), [[]]])
    def test_an_empty_list_is_one_of_integers(self, empty):
        assert _gate.as_integer_array(empty, function="f", argument="keys").dtype == np.int64

    @pytest.mark.parametrize("numbers", [[2**63, 1], [1, 2**64 - 1], [2**63, 2**63], [[2**63, 0], [3, 4]]])
    def test_large_integers_of_a_list_keep_their_values(self, numbers):
        result = _gate.as_integer_array(numbers, function="f", argument="keys")
        assert result.dtype == np.uint64
        assert result.tolist() == numbers

    @pytest.mark.parametrize("value", [[True, 2], [[1, 2], [np.True_, 3]], [2**63, -1], [2**64, 0], [2**63, True]])
    def test_lists_that_only_look_like_integers_are_refused(self, value):
        with pytest.raises(ArgumentTypeError, match=r"f: argument 'keys' must have an integer dtype, got .*; "):
            _gate.as_integer_array(value, function="f", argument="keys")

    @pytest.mark.parametrize("value", [[1.0], 2.5, [True], np.zeros(0), np.array(["a"]), [2**70], [1j], "7"])
    def test_what_is_no_integer_is_refused(self, value):
        with pytest.raises(ArgumentTypeError, match=r"f: argument 'keys' must have an integer dtype, got .*; "):
            _gate.as_integer_array(value, function="f", argument="keys")

    def test_the_number_of_dimensions_is_checked(self):
        with pytest.raises(ArgumentError, match=r"f: argument 'keys' must have 1 dimension\(s\), got 2"):
            _gate.as_integer_array([[1, 2]], function="f", argument="keys", ndim=1)


class TestOverlap:
    def test_interleaved_views_do_not_overlap(self):
        memory = np.zeros(10)
        assert not _gate.overlap(memory[::2], memory[1::2])
        assert _gate.overlap(memory[::2], memory[::3])
        assert _gate.overlap(memory, memory)
        assert not _gate.overlap(memory, np.zeros(10))
        assert not _gate.overlap(memory[:0], memory)

    def test_what_is_hard_to_tell_counts_as_overlap(self):
        memory = np.zeros(10**6)
        first = np.lib.stride_tricks.as_strided(memory, (40,) * 6, (8 * 13, 8 * 17, 8 * 19, 8 * 23, 8 * 29, 8 * 31))
        second = np.lib.stride_tricks.as_strided(
            memory[5:], (41,) * 6, (16 * 13, 16 * 17, 16 * 19, 16 * 23, 16 * 29, 16 * 31)
        )
        assert _gate.overlap(first, second)


def test_host_data_and_numbers_are_of_the_numpy_backend():
    assert _gate.common_backend("f", x=[1.0], y=np.zeros(2), z=3, w=None) == "numpy"
    assert _gate.common_backend("f", x=3, y=np.float32(2)) == "numpy"


def test_device_arrays_of_other_libraries_are_refused_with_the_remedy():
    with pytest.raises(ArgumentTypeError, match=r"f: argument 'x' is a device array of another library .*xp\.to_cupy"):
        _gate.common_backend("f", x=ForeignDeviceArray(np.zeros(2)))


@pytest.mark.parametrize("value", [True, False, np.True_, np.False_, 0, 1, np.int8(1)])
def test_a_flag_is_a_bool_or_0_or_1(value):
    assert _gate.as_truth(value, function="f", argument="x") is bool(value)


@pytest.mark.parametrize("value", ["no", "", b"x", None, 2, -1, 1.0, [], np.array(True), np.ones(2), object()])
def test_a_flag_is_nothing_else(value):
    with pytest.raises(ArgumentTypeError, match=r"^f: argument 'x' must be True or False, got "):
        _gate.as_truth(value, function="f", argument="x")
