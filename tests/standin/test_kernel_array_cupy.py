"""Arrays for kernels, across the sides and on the device."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
import pytest

import cunumpy as xp
from array_kinds import ARRAYS, KINDS, ArrayKind, ForeignDeviceArray, as_compared
from cunumpy.errors import ArgumentError, ArgumentTypeError, TransferError
from cunumpy.kernels import as_kernel_array, kernel_output, kernel_outputs

HOST, DEVICE = np.zeros(1), cupy.asarray(np.zeros(1))
SIDES = {"host": HOST, "device": DEVICE}


@pytest.fixture(autouse=True)
def readable_foreign_arrays(monkeypatch):
    """Let the stand-in wrap another library's arrays without a copy, as CuPy does."""
    original = cupy.asarray
    monkeypatch.setattr(
        cupy, "asarray", lambda a, *args, **options: original(getattr(a, "memory", a), *args, **options)
    )


def values(array: Any) -> np.ndarray:
    return array if isinstance(array, np.ndarray) else array.get()


def on(side: str, array: np.ndarray) -> Any:
    return array if side == "host" else cupy.asarray(array)


def kinds_of(counter: Any) -> list[str]:
    return [event.kind for event in counter.events]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("side", SIDES)
def test_every_kind_of_array_gets_to_either_side(kind: ArrayKind, side: str, tmp_path: Any) -> None:
    value = kind.make(tmp_path)
    before = as_compared(value)
    if kind.values is None:
        with pytest.raises((ArgumentTypeError, ArgumentError), match=r"^as_kernel_array: argument 'value'"):
            as_kernel_array(value, like=SIDES[side])
        return
    with xp.profiling.count_transfers() as counter:
        result = as_kernel_array(value, like=SIDES[side])
    assert isinstance(result, np.ndarray if side == "host" else cupy.ndarray)
    assert result.flags.c_contiguous
    assert result.dtype == kind.values.dtype
    assert result.shape == kind.values.shape
    np.testing.assert_array_equal(values(result), kind.values)
    from_device = isinstance(value, ForeignDeviceArray)
    assert kinds_of(counter) == (
        [] if from_device == (side == "device") else ["to_host" if from_device else "to_device"]
    )
    assert as_compared(value) == before


@pytest.mark.parametrize("kind", ARRAYS, ids=str)
@pytest.mark.parametrize("side", SIDES)
def test_every_kind_of_output_from_either_side(kind: ArrayKind, side: str, tmp_path: Any) -> None:
    out = kind.make(tmp_path)
    before = as_compared(out)
    if not kind.writable or not out.dtype.isnative:
        with pytest.raises((ArgumentTypeError, ArgumentError), match=r"^kernel_output: argument 'out'"):
            kernel_output(out, like=SIDES[side])
        assert as_compared(out) == before
        return
    with kernel_output(out, like=SIDES[side]) as buffer:
        assert isinstance(buffer, np.ndarray if side == "host" else cupy.ndarray)
        np.testing.assert_array_equal(values(buffer), kind.values)
        buffer[...] = 1
    assert (out == 1).all()


def layouts(array: np.ndarray) -> dict[str, Any]:
    return {
        "C": cupy.asarray(array),
        "F": cupy.asarray(np.asfortranarray(array)),
        "strided": cupy.asarray(np.repeat(array, 2, axis=1))[:, ::2],
        "reversed": cupy.asarray(array[::-1].copy())[::-1],
    }


@pytest.mark.parametrize("layout", ["C", "F", "strided", "reversed"])
@pytest.mark.parametrize("dtype", [None, np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("side", SIDES)
def test_device_arrays_of_every_layout(layout: str, dtype: Any, side: str) -> None:
    array = np.arange(6.0).reshape(2, 3)
    value = layouts(array)[layout]
    with xp.profiling.count_transfers() as counter:
        result = as_kernel_array(value, like=SIDES[side], dtype=dtype)
    assert result.flags.c_contiguous
    assert result.dtype == (dtype or float)
    np.testing.assert_array_equal(values(result), array)
    fits = layout == "C" and dtype in (None, np.float64)
    if side == "device":
        assert (result is value) == fits
        copies = [] if fits else ["device_copy"]
        assert kinds_of(counter)[: len(copies)] == copies
    else:
        assert kinds_of(counter) == ["to_host"]
    if dtype is np.complex128:
        return
    out = layouts(array)[layout]
    with xp.profiling.count_transfers() as counter, kernel_output(out, like=SIDES[side], dtype=dtype) as buffer:
        buffer *= 2
        buffer += 1
    np.testing.assert_array_equal(out.get(), 2 * array + 1)
    assert counter.to_host == counter.to_device == 1 if side == "host" else counter.to_device == 0


@pytest.mark.parametrize("side", SIDES)
def test_zero_dimensions_are_kept(side: str) -> None:
    for value in (2.5, np.float64(2.5), np.array(2.5), cupy.asarray(np.array(2.5))):
        result = as_kernel_array(value, like=SIDES[side])
        assert result.shape == ()
        assert values(result) == 2.5
    out = cupy.asarray(np.array(1.0))
    with kernel_output(out, like=SIDES[side]) as buffer:
        assert buffer.shape == ()
        buffer[...] = 3.0
    assert out.get() == 3.0


@pytest.mark.parametrize("here", SIDES)
@pytest.mark.parametrize("there", SIDES)
def test_lossy_conversions_are_refused_wherever_they_are_made(here: str, there: str) -> None:
    like = SIDES[there]
    for array, dtype, error in (
        (np.array([1 + 2j]), float, ArgumentTypeError),
        (np.array([1.5]), np.int32, ArgumentTypeError),
        (np.array([-1, 3]), np.uint8, ArgumentError),
        (np.array([2**40]), np.int32, ArgumentError),
        (np.array([1e200, 1.0]), np.float32, ArgumentError),
        (np.array([1e200j]), np.complex64, ArgumentError),
    ):
        value = on(here, array)
        with pytest.raises(error, match=r"^as_kernel_array: argument 'value'"):
            as_kernel_array(value, like=like, dtype=dtype)
    for array, dtype in (
        (np.array([0, 255]), np.uint8),
        (np.array([1e-200, np.inf, np.nan]), np.float32),
        (np.array([], np.int64), np.int8),
        (np.array([True]), np.float32),
    ):
        result = as_kernel_array(on(here, array), like=like, dtype=dtype)
        np.testing.assert_array_equal(values(result), array.astype(dtype))
    unseen = as_kernel_array(on(here, np.array([257])), like=like, dtype=np.uint8, check=False)
    assert values(unseen).tolist() == [1]


def test_checks_on_the_device_are_recorded_and_can_be_left_out() -> None:
    value = cupy.asarray(np.array([1, 2]))
    with xp.profiling.count_transfers() as counter:
        as_kernel_array(value, like=DEVICE, dtype=np.int32)
    assert [(event.kind, event.nbytes) for event in counter.events] == [("device_copy", 8), ("to_host", 16)]
    with xp.profiling.count_transfers() as counter:
        as_kernel_array(value, like=DEVICE, dtype=np.int32, check=False)
        as_kernel_array(value, like=DEVICE, dtype=np.float64)
    assert kinds_of(counter) == ["device_copy", "device_copy"]


def test_dtypes_that_a_device_can_not_hold_are_refused() -> None:
    for value in (np.zeros(1, np.longdouble), np.zeros(1, np.clongdouble)):
        with pytest.raises(ArgumentTypeError, match=r"^as_kernel_array: argument 'value' .* can't hold"):
            as_kernel_array(value, like=DEVICE)


def test_outputs_on_both_sides_are_written_back() -> None:
    host, device = np.zeros((3, 2)).T, cupy.asarray(np.zeros((2, 3), np.float32))
    for like in (HOST, DEVICE):
        with kernel_outputs(host, device, like=like, dtype=float) as (a, b):
            assert type(a) is type(b) is type(like)
            a += 1.0
            b += 2.0
    np.testing.assert_array_equal(host, np.full((2, 3), 2.0))
    np.testing.assert_array_equal(device.get(), np.full((2, 3), 4.0))
    contiguous = np.zeros(3)
    with xp.profiling.count_transfers() as counter, kernel_output(contiguous, like=DEVICE) as buffer:
        buffer += 5.0
    assert kinds_of(counter) == ["to_device", "to_host"]
    assert contiguous.tolist() == [5.0] * 3


def test_after_an_exception_nothing_is_written() -> None:
    out = cupy.asarray(np.zeros(2))
    block = kernel_output(out, like=HOST)
    block.__enter__()[...] = 1.0
    assert not block.__exit__(KeyError, KeyError("inside"), None)
    assert not out.get().any()


def test_results_that_do_not_fit_change_no_output() -> None:
    wide, narrow = cupy.asarray(np.zeros(2, np.int64)), cupy.asarray(np.zeros(2, np.int8))
    for like in (HOST, DEVICE):
        with (
            pytest.raises(ArgumentError, match=r"^kernel_outputs: argument 'outs\[1\]' .* of the range of dtype int8"),
            kernel_outputs(wide[::-1], narrow, like=like, dtype=np.int64) as (a, b),
        ):
            a[...], b[...] = 1, 1000
        assert not wide.get().any()


def test_overlapping_outputs() -> None:
    base = cupy.asarray(np.zeros(6))
    with pytest.raises(ArgumentError, match="share memory"):
        kernel_outputs(base[:4], base[2:], like=HOST)
    with kernel_outputs(base[:4], base[2:], like=DEVICE) as (a, b):
        a += 1.0
        b += 1.0
    assert base.get().tolist() == [1.0, 1.0, 2.0, 2.0, 1.0, 1.0]
    with kernel_outputs(base, base, like=HOST) as (a, b):
        assert a is b
        a[...] = 0.0
    assert not base.get().any()


def test_transfers_that_become_forbidden_change_no_output() -> None:
    first, second = np.zeros((3, 2)).T, cupy.asarray(np.zeros(3))[::-1]
    for like in (HOST, DEVICE):
        block = kernel_outputs(first, second, like=like)
        for buffer in block.__enter__():
            buffer += 1.0
        with xp.profiling.forbid_transfers(), pytest.raises(TransferError, match="kernel_outputs"):
            block.__exit__(None, None, None)
        assert not first.any()
        assert not second.get().any()


def test_foreign_arrays_are_outputs_too() -> None:
    foreign = ForeignDeviceArray(np.arange(3.0))
    for like in (HOST, DEVICE, foreign):
        with kernel_output(foreign, like=like) as buffer:
            buffer += 1.0
    assert foreign.memory.get().tolist() == [3.0, 4.0, 5.0]
    interface = {**foreign.__cuda_array_interface__}
    foreign.__cuda_array_interface__ = {**interface, "data": (interface["data"][0], True)}
    with pytest.raises(ArgumentError, match="read-only"):
        kernel_output(foreign, like=HOST)


def test_forbidden_transfers_raise() -> None:
    out = cupy.asarray(np.zeros(2))
    with xp.profiling.forbid_transfers():
        as_kernel_array(out[::2], like=DEVICE)
        for value, like in ((out, HOST), (HOST, DEVICE)):
            with pytest.raises(TransferError):
                as_kernel_array(value, like=like)
