"""Conversion on a machine without CuPy: the values, the refusals, and what is said about the device."""

from __future__ import annotations

import numpy as np
import pytest

import cunumpy as xp
from array_kinds import ARRAYS, KINDS, ArrayKind, ForeignDeviceArray, as_compared, assert_same_values
from cunumpy.errors import ArgumentError, ArgumentTypeError, BackendUnavailableError, MissingPackageError

without_cupy = pytest.mark.skipif(xp.cupy_available(), reason="this machine has CuPy and a GPU; tests/gpu covers it")


@pytest.mark.parametrize("convert", [xp.to_numpy, xp.to_cunumpy])
@pytest.mark.parametrize("kind", KINDS, ids=str)
@without_cupy
def test_every_kind_to_the_host(convert, kind: ArrayKind, tmp_path) -> None:
    value = kind.make(tmp_path)
    before = as_compared(value)
    if isinstance(value, ForeignDeviceArray):
        with pytest.raises(MissingPackageError, match=f"{convert.__name__}: needs CuPy"):
            convert(value)
    elif kind.values is None:
        with pytest.raises((ArgumentError, ArgumentTypeError), match=rf"^{convert.__name__}: argument 'array' "):
            convert(value)
    else:
        result = convert(value)
        assert type(result) is np.ndarray
        assert_same_values(result, kind)
        if type(value) is np.ndarray:
            assert result is value
    assert as_compared(value) == before


@pytest.mark.parametrize("kind", KINDS, ids=str)
@without_cupy
def test_no_kind_goes_to_a_device_that_is_not_there(kind: ArrayKind, tmp_path) -> None:
    with pytest.raises(MissingPackageError, match=r"to_cupy: needs CuPy, which can't be used"):
        xp.to_cupy(kind.make(tmp_path))


@pytest.mark.parametrize("kind", ARRAYS, ids=str)
def test_as_device_array_names_argument_and_backend(kind: ArrayKind, tmp_path) -> None:
    with pytest.raises(BackendUnavailableError, match=r"argument 'density' is host data .* active backend is 'numpy'"):
        xp.as_device_array(kind.make(tmp_path), name="density")


def test_as_device_array_calls_an_unnamed_argument_value() -> None:
    with pytest.raises(RuntimeError, match="argument 'value'"):
        xp.as_device_array([1.0])


def test_to_numpy_returns_any_plain_array_itself() -> None:
    for array in (
        np.ones(3)[::2],
        np.array([None, "x"], dtype=object),
        np.array(["a"]),
        np.array("2020-01-01", "M8[D]"),
    ):
        assert xp.to_numpy(array) is array


def test_to_numpy_takes_what_numpy_takes() -> None:
    np.testing.assert_array_equal(xp.to_numpy(range(3)), [0, 1, 2])
    np.testing.assert_array_equal(xp.to_numpy(memoryview(b"ab")), [97, 98])
    assert xp.to_numpy("text") == "text"

    class WithGet:
        """Not a device array, though it has the method of one."""

        def get(self):
            raise AssertionError

        def __array__(self, dtype=None, copy=None):
            return np.ones(2)

    np.testing.assert_array_equal(xp.to_numpy(WithGet()), [1.0, 1.0])


def test_a_dlpack_array_in_cuda_memory_is_not_host_data() -> None:
    class OnDevice:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **options):
            raise AssertionError

    if not xp.cupy_available():
        with pytest.raises(ImportError, match="to_numpy"):
            xp.to_numpy(OnDevice())


def test_synchronize_has_nothing_to_wait_for_on_numpy() -> None:
    with xp.profiling.count_transfers() as counter:
        assert xp.synchronize() is None
    assert counter.events == []


def test_host_conversions_are_no_transfers() -> None:
    with xp.profiling.forbid_transfers():
        xp.to_numpy([1.0])
        xp.to_cunumpy(np.ones(2))
