"""The array class of the stand-in: strict where CuPy is."""

from __future__ import annotations

import copy
import inspect
import io
import operator
import pickle
import re
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
import pytest

import cunumpy
from cunumpy.errors import TransferError
from cunumpy.kernel_testing import host_buffer
from cunumpy.kernel_testing._fake_cupy import _api
from cunumpy.kernel_testing._fake_cupy.signatures import with_signature


def test_methods_have_cupys_names_and_parameters() -> None:
    methods = {k: v for k, v in _api.NDARRAY["methods"].items() if k != "mdspan"}  # for kernels only
    attributes = set(_api.NDARRAY["attributes"]) - {"cstruct"}
    assert {name for name in dir(cupy.ndarray) if not name.startswith("_")} == set(methods) | attributes
    for name, parameters in methods.items():
        text = f"self, {parameters}" if parameters else "self"
        expected = inspect.signature(with_signature(name, text, lambda values: values, "expected"))
        found = inspect.signature(getattr(cupy.ndarray, name))
        bare = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
        assert bare == list(expected.parameters.values()), name


@pytest.mark.parametrize("convert", [np.asarray, np.array, lambda a: np.zeros(3) + list(a), memoryview])
def test_there_is_no_implicit_conversion(convert: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        convert(cupy.arange(3.0))


def test_the_text_of_a_refused_conversion_is_cupys() -> None:
    with pytest.raises(TypeError, match=r"Implicit conversion to a NumPy array is not allowed. Please use `.get\(\)`"):
        np.asarray(cupy.arange(3.0))


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.lt, operator.eq]


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("other", [np.ones(3), [1.0, 1.0, 1.0], "text", None])
def test_operators_refuse_what_is_not_on_the_device(op: Callable[[Any, Any], Any], other: Any) -> None:
    a = cupy.arange(3.0)
    if other is None and op is operator.eq:
        return  # compared by identity
    with pytest.raises(TypeError):
        op(a, other)
    if isinstance(other, np.ndarray):
        with pytest.raises(TypeError, match=r"Unsupported type <class 'numpy.ndarray'>"):
            op(other, a)


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("other", [2, 2.5, np.float32(2), np.array(2.0), 1 + 1j])
def test_operators_take_scalars(op: Callable[[Any, Any], Any], other: Any) -> None:
    if op is operator.lt and isinstance(other, complex):
        return
    host = np.arange(1.0, 4.0)
    for mine, its in (
        (op(cupy.asarray(host), other), op(host, other)),
        (op(other, cupy.asarray(host)), op(other, host)),
    ):
        assert isinstance(mine, cupy.ndarray)
        assert mine.dtype == its.dtype
        np.testing.assert_array_equal(host_buffer(mine), its)


def test_in_place_operators_write_into_the_array() -> None:
    a = cupy.arange(3.0)
    view = a[1:]
    view += 1
    view *= cupy.array([2.0, 3.0])
    assert a.get().tolist() == [0.0, 4.0, 9.0]
    with pytest.raises(TypeError):
        a += np.ones(3)
    integers = cupy.arange(3)
    with pytest.raises(TypeError, match="Cannot cast"):
        integers += 0.5


def test_reductions_and_elements_are_0d_arrays() -> None:
    a = cupy.arange(6.0).reshape(2, 3)
    for value in (a.sum(), a[0, 1], a.max(), cupy.mean(a), a.argmax(), a[0][2], a[cupy.array(1), cupy.array(2)]):
        assert isinstance(value, cupy.ndarray)
        assert value.shape == ()
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        range(a.argmax())  # type: ignore[call-overload]


def test_slices_are_views_and_index_arrays_copy() -> None:
    a = cupy.arange(12.0).reshape(3, 4).copy()
    row, element, chosen = a[1], a[2, 3], a[cupy.array([0, 2])]
    assert row.base is a
    assert element.base is a
    assert row[1:].base is a
    assert chosen.base is None
    assert row.data.ptr - a.data.ptr == 32
    row[...] = 7.0
    element[...] = -1.0
    chosen[...] = 100.0
    assert a[1].get().tolist() == [7.0] * 4
    assert float(a[2, 3]) == -1.0
    assert float(a[0, 0]) == 0.0
    assert a.T.base is a
    assert a.reshape(-1).base is a
    assert not a.T.flags.owndata
    assert a.T.flags.f_contiguous
    assert a[a > 6.5].base is None


@pytest.mark.parametrize("value", [np.ones(3), [1.0, 2.0, 3.0]])
def test_assignment_of_host_data_to_slices_is_refused(value: Any) -> None:
    a = cupy.zeros((2, 3))
    for key in (0, slice(None), Ellipsis, (slice(None), slice(0, 3))):
        with pytest.raises(ValueError, match=r"non-scalar numpy.ndarray cannot be used for fill"):
            a[key] = value
    assert not a.get().any()


def test_assignment_of_scalars_and_device_arrays() -> None:
    a = cupy.zeros((2, 3))
    a[0] = 1.5
    a[1] = np.array(2.5)
    a[:, 2] = cupy.array([8.0, 9.0])
    a[cupy.array([True, False]), 0] = 3.0
    assert a.get().tolist() == [[3.0, 1.5, 8.0], [2.5, 2.5, 9.0]]
    # With an index array CuPy itself copies host values.
    a[[0, 1], [0, 0]] = np.array([-1.0, -2.0])
    assert a[:, 0].get().tolist() == [-1.0, -2.0]


def test_indices_out_of_bounds_are_errors() -> None:
    a = cupy.arange(3)
    for key in (3, cupy.array([3]), [0, 7]):
        with pytest.raises(IndexError):
            a[key]
    with pytest.raises(IndexError, match="integer or boolean"):
        a[cupy.array([0.5])]


@pytest.mark.parametrize("dtype", [object, "U3", "S2", np.longdouble, np.clongdouble, "M8[s]", [("a", object)]])
def test_dtypes_that_cupy_lacks_are_refused(dtype: Any) -> None:
    with pytest.raises(ValueError, match="Unsupported dtype"):
        cupy.zeros(2, dtype)


def test_structured_dtypes() -> None:
    dtype = np.dtype([("x", "f8"), ("n", "i4")])
    a = cupy.array(np.array([(1.5, 2), (2.5, 3)], dtype))
    assert a.dtype == dtype
    assert a.get()["n"].tolist() == [2, 3]


def test_big_endian_host_data_keeps_its_values() -> None:
    # CuPy's documentation of array() and asarray().
    for make in (cupy.array, cupy.asarray, cupy.ascontiguousarray):
        a = make(np.arange(4, dtype=">f8") + 1)
        assert a.dtype == np.dtype("f8")
        assert a.dtype.isnative
        assert a.get().tolist() == [1.0, 2.0, 3.0, 4.0]
    # Where CuPy would read the bytes in the wrong order.
    with pytest.raises(ValueError, match="big-endian"):
        cupy.zeros(3, ">f8")
    with pytest.raises(TypeError, match=">f8 array cannot be set to float64 array"):
        cupy.zeros(3).set(np.zeros(3, ">f8"))


def test_copies_of_host_data() -> None:
    host = np.arange(3.0)
    for make in (cupy.array, cupy.asarray, cupy.asanyarray, cupy.ascontiguousarray, cupy.asfortranarray):
        a = make(host)
        host[0] += 1.0
        assert float(a[0]) == host[0] - 1.0
        assert not np.shares_memory(host_buffer(a), host)
    a = cupy.asarray(host)
    assert cupy.asarray(a) is a
    assert cupy.ascontiguousarray(a) is a
    assert cupy.array(a) is not a
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        cupy.asarray(host, copy=False)
    assert cupy.array([a, a]).shape == (2, 3)


def test_get_and_set() -> None:
    a = cupy.arange(6.0).reshape(2, 3)
    out = np.zeros((2, 3))
    assert a.get(out=out) is out
    assert out.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert a.T.get().flags.c_contiguous
    assert a.get(order="F").flags.f_contiguous
    a.get()[0] = 99
    assert float(a[0, 0]) == 0.0
    a.set(np.ones((2, 3)))
    assert float(a.sum()) == 6.0
    for wrong, error in ((np.ones((3, 2)), ValueError), (np.ones((2, 3), "f4"), TypeError), ([1.0], TypeError)):
        with pytest.raises(error):
            a.set(wrong)
    with pytest.raises(TypeError):
        a.get(out=np.zeros((2, 3), "f4"))
    assert cupy.asnumpy(a).tolist() == a.get().tolist()
    assert cupy.get_array_module(a) is cupy
    assert cupy.get_array_module(out) is np


READS: list[tuple[str, Callable[[Any], Any]]] = [
    ("float()", float),
    ("int()", int),
    ("bool()", bool),
    ("complex()", complex),
    ("item()", lambda a: a.item()),
    ("tolist()", lambda a: a.tolist()),
    ("tobytes()", lambda a: a.tobytes()),
    ("str()", str),
    ("format()", lambda a: f"{a}"),
    ("format()", lambda a: f"{a[None]}"),
    ("repr()", repr),
    ("repr()", lambda a: print((a,))),
    ("pickling", pickle.dumps),
    ("pickling", lambda a: pickle.dumps({"a": a}, 0)),
    ("pickling", lambda a: a.dumps()),
    ("pickling", lambda a: a.dump(io.BytesIO())),
    ("pickling", lambda a: a.__reduce_ex__(4)),
    ("save()", lambda a: cupy.save(io.BytesIO(), a)),
    ("save()", lambda a: np.save(io.BytesIO(), a)),
    ("savez()", lambda a: cupy.savez(io.BytesIO(), a)),
    ("savez_compressed()", lambda a: cupy.savez_compressed(io.BytesIO(), a=a)),
    ("savetxt()", lambda a: cupy.savetxt(io.BytesIO(), a[None])),
    ("array_repr()", cupy.array_repr),
    ("array_str()", np.array_str),
    ("array2string()", lambda a: cupy.array2string(a, precision=3)),
    ("format_float_positional()", cupy.format_float_positional),
]


@pytest.mark.parametrize(("text", "read"), READS)
def test_implicit_reads_are_recorded_and_can_be_forbidden(text: str, read: Callable[[Any], Any]) -> None:
    a = cupy.array(2.0)
    with cunumpy.profiling.count_transfers() as counter:
        read(a)
    assert [(event.kind, event.implicit, event.nbytes) for event in counter.events] == [("sync", True, 8)]
    assert counter.events[0].description.startswith(f"{text} of a device array")
    with cunumpy.profiling.forbid_transfers(), pytest.raises(TransferError, match=re.escape(text)):
        read(a)


def test_explicit_transfers_are_cupys_and_not_seen() -> None:
    a = cupy.array(2.0)
    with cunumpy.profiling.count_transfers() as counter, cunumpy.profiling.forbid_transfers():
        a.get()
        a.set(np.array(1.0))
        cupy.asnumpy(a)
        cupy.asarray(np.ones(3))
        list(cupy.zeros((3, 2)))  # rows, which are views
        copy.deepcopy(a)
    assert counter.events == []


def test_reads_under_watch_are_recorded_once() -> None:
    a = cupy.array(2.0)
    for read in (float, repr, pickle.dumps):
        with cunumpy.profiling.count_transfers() as counter, cunumpy.profiling.watch_array_reads():
            read(a)
        assert len(counter.events) == 1


def test_reads_of_several_elements_are_errors() -> None:
    a = cupy.arange(3)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(a)
    with pytest.raises(ValueError, match="size 1"):
        a.item()
    with pytest.raises(TypeError):
        float(a)
    with pytest.raises(TypeError, match="takes 1 positional argument"):
        a.item(0)  # type: ignore[call-arg]


def test_numpy_functions_dispatch() -> None:
    a = cupy.arange(6.0).reshape(2, 3)
    for result in (np.sum(a), np.sin(a), np.concatenate([a, a]), np.linalg.norm(a), np.fft.fft(a), np.add(a, 1)):
        assert isinstance(result, cupy.ndarray)
    for missing in (lambda: np.insert(a, 0, 1.0), lambda: np.vecdot(a, a), lambda: np.geomspace(a[0, 1], a[1, 1])):
        with pytest.raises(TypeError):
            missing()
    with pytest.raises(TypeError):
        np.add(a, 1.0, out=np.zeros((2, 3)))


def test_pickles_and_copies_are_independent() -> None:
    a = cupy.asfortranarray(cupy.arange(6.0).reshape(2, 3))
    for other in (pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy(a), a.copy("K")):
        assert isinstance(other, cupy.ndarray)
        assert other.get().tolist() == a.get().tolist()
        assert not np.shares_memory(host_buffer(a), host_buffer(other))


def test_interfaces() -> None:
    a = cupy.arange(6.0).reshape(2, 3)
    described = a.T.__cuda_array_interface__
    assert described["shape"] == (3, 2)
    assert described["strides"] == (8, 24)
    assert described["typestr"] == "<f8"
    assert described["version"] == 3
    assert described["data"] == (a.data.ptr, False)
    assert a.__cuda_array_interface__["strides"] is None
    assert a.__dlpack_device__() == (2, 0)
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(a)

    class OnHost:  # asks as NumPy from 2.1 on does for device="cpu"
        def __dlpack__(self, **asked: Any) -> Any:
            return a.__dlpack__(**asked, dl_device=self.__dlpack_device__())

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    assert np.from_dlpack(OnHost()).tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert cupy.from_dlpack(a).data.ptr == a.data.ptr
    assert a.device == cupy.cuda.Device(0)
    assert int(a.device) == 0


def test_scatter_adds_twice_where_an_index_repeats() -> None:
    import cupyx

    a = cupy.zeros(3)
    cupyx.scatter_add(a, cupy.array([0, 2, 0]), cupy.array([1.0, 5.0, 2.0]))
    assert a.get().tolist() == [3.0, 0.0, 5.0]
    with pytest.raises(TypeError, match="scatter_add only supports"):
        cupyx.scatter_add(cupy.zeros(3, np.int64), cupy.array([0]), 1)
    cupy.add.at(a, cupy.array([1, 1]), 1.0)
    assert a.get().tolist() == [3.0, 2.0, 5.0]


def test_host_buffer_is_the_memory_and_takes_nothing_else() -> None:
    a = cupy.zeros(3)
    host_buffer(a)[1] = 4.0
    assert a.get().tolist() == [0.0, 4.0, 0.0]
    for other in (np.zeros(3), [1.0], 1.0, None):
        with pytest.raises(TypeError, match="host_buffer"):
            host_buffer(other)
