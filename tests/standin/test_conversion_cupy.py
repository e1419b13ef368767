"""Conversion to and from the device: the values, the copies, and their records."""

from __future__ import annotations

import cupy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hypothesis_numpy

import cunumpy as xp
from array_kinds import KINDS, ArrayKind, ForeignDeviceArray, as_compared, assert_same_values
from cunumpy.errors import ArgumentError, ArgumentTypeError, BackendUnavailableError, TransferError

# Another library's array is refused by the stand-in, which has no device to read; tests below let it be wrapped.
HOST_KINDS = [kind for kind in KINDS if kind.name != "foreign-device-array"]
DEVICE_LAYOUTS = {
    "contiguous": lambda: cupy.asarray(np.arange(6.0).reshape(2, 3)),
    "fortran": lambda: cupy.asarray(np.asfortranarray(np.arange(6.0).reshape(2, 3))),
    "strided": lambda: cupy.asarray(np.arange(24.0).reshape(4, 6))[::2, ::2],
    "reversed": lambda: cupy.asarray(np.arange(6.0))[::-1],
    "zero-d": lambda: cupy.asarray(np.array(2.5)),
    "empty": lambda: cupy.asarray(np.empty((0, 3))),
}
layouts = pytest.mark.parametrize("layout", DEVICE_LAYOUTS)


@pytest.fixture
def foreign(monkeypatch) -> ForeignDeviceArray:
    """Another library's array that CuPy can wrap, as it can where there is a device."""
    array, original = ForeignDeviceArray(np.arange(3.0)), cupy.asarray

    def asarray(value, *args, **options):
        return original(value.memory if value is array else value, *args, **options)

    monkeypatch.setattr(cupy, "asarray", asarray)
    return array


def events(counter) -> list[tuple[str, str, int | None, bool]]:
    return [(event.kind, event.description, event.nbytes, event.blocking) for event in counter.events]


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
@pytest.mark.parametrize("kind", HOST_KINDS, ids=str)
def test_every_kind_to_the_device_and_back(backend, kind: ArrayKind, tmp_path) -> None:
    value = kind.make(tmp_path)
    before = as_compared(value)
    with xp.use_backend(backend):
        if kind.values is None:
            with xp.profiling.count_transfers() as counter, pytest.raises((ArgumentError, ArgumentTypeError)) as caught:
                xp.to_cupy(value)
            assert str(caught.value).startswith("to_cupy: argument 'array'")
            assert counter.events == []
        else:
            array = xp.to_cupy(value)
            assert isinstance(array, cupy.ndarray)
            assert array.dtype.isnative
            assert_same_values(xp.to_numpy(array), kind)
            if isinstance(value, np.ndarray) and value.flags.fnc:
                assert array.flags.f_contiguous
    assert as_compared(value) == before


@pytest.mark.parametrize("kind", HOST_KINDS, ids=str)
def test_every_kind_as_a_device_array(kind: ArrayKind, tmp_path) -> None:
    value = kind.make(tmp_path)
    with xp.use_backend("cupy"):
        if kind.values is None:
            with pytest.raises((ArgumentError, ArgumentTypeError), match=r"^as_device_array: argument 'x'"):
                xp.as_device_array(value, name="x")
            return
        array = xp.as_device_array(value, ndim=kind.values.ndim)
        assert array.flags.c_contiguous
        assert_same_values(xp.to_numpy(array), kind)
        with pytest.raises(ArgumentError, match=r"argument 'value' must have 5 dimension\(s\), got"):
            xp.as_device_array(value, ndim=5)
    with xp.use_backend("numpy"), pytest.raises(BackendUnavailableError, match="is host data"):
        xp.as_device_array(value)


@given(
    hypothesis_numpy.arrays(
        st.one_of(
            hypothesis_numpy.boolean_dtypes(),
            hypothesis_numpy.integer_dtypes(endianness="?"),
            hypothesis_numpy.unsigned_integer_dtypes(endianness="?"),
            hypothesis_numpy.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
            hypothesis_numpy.complex_number_dtypes(endianness="?", sizes=(64, 128)),
        ),
        hypothesis_numpy.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
    ),
    st.data(),
)
def test_values_survive_the_way_there_and_back(array: np.ndarray, data) -> None:
    axes = data.draw(st.permutations(range(array.ndim)))
    steps = data.draw(st.tuples(*[st.sampled_from([1, 2, -1, -2]) for _ in axes]))
    view = array.transpose(axes)[tuple(slice(None, None, step) for step in steps)]
    back = xp.to_numpy(xp.to_cupy(view))
    assert back.dtype == view.dtype.newbyteorder("=")
    np.testing.assert_array_equal(back, view)


@layouts
def test_device_arrays_are_returned_themselves(layout: str) -> None:
    array = DEVICE_LAYOUTS[layout]()
    with xp.profiling.count_transfers() as counter:
        assert xp.to_cupy(array) is array
        with xp.use_backend("cupy"):
            assert xp.to_cunumpy(array) is array
        for backend in ("numpy", "cupy"):
            with xp.use_backend(backend):
                assert (xp.as_device_array(array) is array) == array.flags.c_contiguous
    assert counter.total == counter.device_copies == (0 if array.flags.c_contiguous else 2)


@layouts
def test_to_numpy_copies_once_and_keeps_fortran_order(layout: str) -> None:
    array = DEVICE_LAYOUTS[layout]()
    with xp.profiling.count_transfers() as counter:
        host = xp.to_numpy(array)
    np.testing.assert_array_equal(host, array.get())
    assert type(host) is np.ndarray
    assert host.shape == array.shape
    assert host.flags.fnc == array.flags.fnc
    assert events(counter) == [("to_host", f"to_numpy(shape={array.shape}, dtype=float64)", host.nbytes, True)]
    host[...] = -1.0
    assert not (array == -1.0).any()


def test_what_is_recorded_on_the_way_to_the_device() -> None:
    with xp.use_backend("cupy"), xp.profiling.count_transfers() as counter:
        xp.to_cupy(np.ones(3))
        xp.to_cupy([1.0, 2.0])
        xp.to_cunumpy(2.5)
        xp.as_device_array(np.ones((2, 3), np.float32, order="F"), dtype=float)
    assert events(counter) == [
        ("to_device", "to_cupy(shape=(3,), dtype=float64)", 24, True),
        ("to_device", "to_cupy(list)", 16, True),
        ("to_device", "to_cunumpy(float)", 8, True),
        ("to_device", "as_device_array(shape=(2, 3), dtype=float64)", 48, True),
    ]


def test_what_is_recorded_on_the_device() -> None:
    fortran = DEVICE_LAYOUTS["fortran"]()
    with xp.profiling.count_transfers() as counter:
        xp.as_device_array(fortran, dtype="float32")
        xp.as_device_array(fortran)
    assert events(counter) == [
        ("device_copy", "as_device_array(shape=(2, 3), dtype=float32)", 24, True),
        ("device_copy", "as_device_array(shape=(2, 3), dtype=float64) layout", 48, True),
    ]


def test_the_source_may_change_once_to_cupy_has_returned() -> None:
    source = np.ones(3)
    array = xp.to_cupy(source)
    source[:] = 7.0
    np.testing.assert_array_equal(array.get(), [1.0, 1.0, 1.0])


def test_forbidden_transfers_do_not_happen() -> None:
    array = cupy.zeros(2)
    with xp.use_backend("cupy"), xp.profiling.forbid_transfers():
        for act in (lambda: xp.to_numpy(array), lambda: xp.to_cupy([1.0]), lambda: xp.as_device_array([1.0])):
            with pytest.raises(TransferError):
                act()


def test_lists_of_device_arrays_are_joined_on_the_device() -> None:
    with xp.profiling.count_transfers() as counter:
        joined = xp.to_cupy([cupy.zeros(2), cupy.ones(2)])
    np.testing.assert_array_equal(joined.get(), [[0.0, 0.0], [1.0, 1.0]])
    assert events(counter) == [("device_copy", "to_cupy(list)", 32, True)]
    with pytest.raises(
        ArgumentTypeError, match=r"to_numpy: argument 'array' holds an array in device memory.*xp\.to_numpy"
    ):
        xp.to_numpy([cupy.zeros(2)])


@pytest.mark.parametrize("value", ["text", np.array(["a"]), np.array("2020", "M8[Y]"), np.array([None])])
def test_dtypes_that_a_device_does_not_have(value) -> None:
    with pytest.raises(ArgumentTypeError, match=r"to_cupy: argument 'array' has dtype .* a CUDA device can't hold"):
        xp.to_cupy(value)


def test_structured_arrays_travel() -> None:
    host = np.array([(1.5, 2)], dtype=[("a", ">f8"), ("b", "i4")])
    back = xp.to_numpy(xp.to_cupy(host))
    assert back["a"][0] == 1.5
    assert back.dtype.isnative


@pytest.mark.parametrize(
    ("value", "dtype", "right"),
    [
        ([1, 2], "uint64", True),
        ([1.0, 2.0], "int32", True),
        (np.float64(0.1), "float32", True),  # precision is what a narrower dtype costs
        ([-1, 2], "uint64", False),
        ([0.5], "int32", False),
        ([2**40], "uint8", False),
        ([2**40], "int32", False),  # NumPy's "same_kind" lets integers wrap around
        (np.array([2**63], "uint64"), "int64", False),
        (np.array([300, -1], "int16"), "int8", False),
        (np.array([7, -1], ">i8"), "int8", True),
        (np.array([2, 1]), "bool", False),
        (2**60 + 1, "float32", True),  # again precision
        ([np.nan], "int64", False),
    ],
)
def test_host_values_must_fit_the_dtype(value, dtype: str, right: bool) -> None:
    with xp.use_backend("cupy"):
        if right:
            array = xp.as_device_array(value, dtype)
            assert array.dtype == dtype
            np.testing.assert_array_equal(array.get(), np.asarray(value, dtype))
        else:
            with pytest.raises(ArgumentError, match=f"'n' .* has values that dtype {dtype} can't represent"):
                xp.as_device_array(value, dtype, name="n")


@pytest.mark.parametrize("make", [np.asarray, cupy.asarray])
def test_complex_values_do_not_lose_their_imaginary_part(make) -> None:
    with xp.use_backend("cupy"), pytest.raises(ArgumentTypeError, match=r"is complex .* pass value\.real"):
        xp.as_device_array(make(np.array([1j])), "float64")


@pytest.mark.parametrize(
    ("value", "dtype"), [([1, 2], [("a", "i8")]), (np.zeros(1, [("a", "f8"), ("b", "f8")]), "int64")]
)
def test_fields_are_neither_invented_nor_dropped(value, dtype) -> None:
    with (
        xp.use_backend("cupy"),
        pytest.raises(ArgumentTypeError, match=r"argument 'value' .* can't be made dtype .* pass its fields"),
    ):
        xp.as_device_array(value, dtype)


def test_narrower_integers_in_fields_do_not_wrap_around() -> None:
    host = np.array([(2**40,)], [("a", "i8")])
    with xp.use_backend("cupy"), pytest.raises(ArgumentError, match="has values that dtype"):
        xp.as_device_array(host, [("a", "i4")])


@pytest.mark.parametrize("ndim", [np.int64(1), 1, np.uint8(1)])
def test_the_number_of_dimensions_is_any_integer(ndim) -> None:
    assert xp.as_device_array(cupy.zeros(2), ndim=ndim).ndim == 1


@pytest.mark.parametrize("ndim", [1.0, "1", (1, 2), True])
def test_the_number_of_dimensions_is_an_integer(ndim) -> None:
    with pytest.raises(ArgumentTypeError, match="as_device_array: argument 'ndim' must be an integer, got"):
        xp.as_device_array(cupy.zeros(2), ndim=ndim)


def test_as_device_array_wants_a_dtype() -> None:
    with pytest.raises(
        ArgumentTypeError, match="as_device_array: argument 'dtype' must describe a dtype, got 'nonsense'"
    ):
        xp.as_device_array(cupy.zeros(1), "nonsense")


def test_foreign_arrays_are_wrapped(foreign) -> None:
    for backend in ("numpy", "cupy"):
        with xp.use_backend(backend), xp.profiling.count_transfers() as counter:
            assert xp.to_cupy(foreign) is foreign.memory
            assert xp.as_device_array(foreign, ndim=1) is foreign.memory
            np.testing.assert_array_equal(xp.to_numpy(foreign), [0.0, 1.0, 2.0])
            np.testing.assert_array_equal(xp.to_host_async(foreign).result(), [0.0, 1.0, 2.0])
        assert [event.kind for event in counter.events] == ["to_host", "to_host"]


def test_a_foreign_array_that_is_copied_is_counted(foreign, monkeypatch) -> None:
    other = cupy.zeros(3)
    monkeypatch.setattr(cupy, "asarray", lambda value: other)
    with xp.profiling.count_transfers() as counter:
        xp.to_cupy(foreign)
    assert events(counter) == [("device_copy", "to_cupy(shape=(3,), dtype=float64)", 24, True)]


def test_an_array_known_by_dlpack_only(monkeypatch) -> None:
    class OnDevice:
        def __dlpack_device__(self):
            return (2, 0)

    array = cupy.arange(3)
    monkeypatch.setattr(cupy, "from_dlpack", lambda value: array, raising=False)
    assert xp.to_cupy(OnDevice()) is array
    np.testing.assert_array_equal(xp.to_numpy(OnDevice()), [0, 1, 2])


def test_synchronize_waits_on_the_cupy_backend_only() -> None:
    with xp.profiling.count_transfers() as counter:
        with xp.use_backend("numpy"):
            xp.synchronize()
        with xp.use_backend("cupy"):
            xp.synchronize()
    assert [(event.kind, event.description) for event in counter.events] == [("sync", "synchronize()")]


def test_synchronize_does_not_hide_errors_of_the_device(monkeypatch) -> None:
    def fail(self):
        raise RuntimeError("cudaErrorIllegalAddress")

    monkeypatch.setattr(cupy.cuda.Device, "synchronize", fail)
    with (
        xp.use_backend("cupy"),
        xp.profiling.count_transfers() as counter,
        pytest.raises(RuntimeError, match="cudaErrorIllegalAddress"),
    ):
        xp.synchronize()
    assert counter.events == []
