"""What one parameter of a kernel, or one field of a struct, takes: numbers, vectors, arrays, and what is refused."""

from __future__ import annotations

import enum
import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from array_kinds import KINDS
from cunumpy.arguments import CudaArguments, CudaStruct
from cunumpy.errors import ArgumentError, ArgumentRangeError, ArgumentTypeError
from packed_values import MATRIX, DeviceArray, members, pack


class Color(enum.IntEnum):
    RED = 7


OK = [
    ("bool", True, np.True_),
    ("bool", np.False_, np.False_),
    ("int", True, np.int32(1)),
    ("int", np.True_, np.int32(1)),
    ("int", -(2**31), np.int32(-(2**31))),
    ("int", Color.RED, np.int32(7)),
    ("unsigned char", np.int64(255), np.uint8(255)),
    ("unsigned long long", 2**64 - 1, np.uint64(2**64 - 1)),
    ("char", np.uint64(5), np.int8(5)),
    ("double", 3, np.float64(3)),
    ("double", 0.1, np.float64(0.1)),
    ("double", np.float32(0.1), np.float64(np.float32(0.1))),
    ("double", np.True_, np.float64(1)),
    ("float", 0.1, np.float32(0.1)),
    ("float", np.float16(0.1), np.float32(np.float16(0.1))),
    ("float", 2**24, np.float32(2**24)),
    ("float", np.int64(2**40), np.float32(2**40)),
    ("float", math.inf, np.float32(math.inf)),
    ("__half", 0.1, np.float16(0.1)),
    ("complex<double>", 1 + 2j, np.complex128(1 + 2j)),
    ("complex<double>", 3, np.complex128(3)),
    ("complex<double>", np.int32(3), np.complex128(3)),
    ("complex<double>", np.complex64(1j), np.complex128(1j)),
    ("complex<float>", 0.1, np.complex64(0.1)),
    ("complex<float>", np.float32(0.1), np.complex64(np.float32(0.1))),
]


@pytest.mark.parametrize(("ctype", "value", "expected"), OK)
def test_numbers(ctype, value, expected):
    found = pack(f"{ctype} x", value)
    assert type(found) is type(expected)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_the_sign_of_zero_and_nan_are_kept(zero):
    assert math.copysign(1, pack("float x", zero)) == math.copysign(1, zero)
    assert math.copysign(1, pack("complex<float> x", complex(zero, zero)).imag) == math.copysign(1, zero)
    assert math.isnan(pack("float x", math.nan))


WRONG_KIND = [
    *[("bool", value) for value in (1, 0.0, 1j, np.int8(1), np.float32(1))],
    *[("int", value) for value in (1.0, 1j, np.float64(1), np.complex64(1), np.timedelta64(3), np.datetime64(3, "s"))],
    *[("double", value) for value in (True, 1j, np.complex64(1), np.longdouble(1), np.timedelta64(3))],
    *[("float", value) for value in (True, np.float64(0.5))],
    *[("complex<double>", value) for value in (True, np.clongdouble(1))],
    *[("complex<float>", value) for value in (True, np.int32(1), np.float64(1), np.complex128(1))],
]


@pytest.mark.parametrize(("ctype", "value"), WRONG_KIND)
def test_numbers_of_another_kind(ctype, value):
    with pytest.raises(ArgumentTypeError, match=r"^f: argument 'x' \(.*\) must be .*, got .*; pass "):
        pack(f"{ctype} x", value)


@pytest.mark.parametrize("ctype", ["bool", "int", "double", "float", "complex<double>", "__half"])
@pytest.mark.parametrize(
    "value", ["3", b"3", None, [1], np.zeros(()), np.zeros(1), np.str_("3"), DeviceArray(np.zeros(()))]
)
def test_what_is_no_number(ctype, value):
    with pytest.raises(ArgumentTypeError, match=r"^f: argument 'x' \(.*\) must be .*, got .*; (pass|it has)"):
        pack(f"{ctype} x", value)


@pytest.mark.parametrize(
    ("ctype", "value"),
    [
        ("int", 2**31),
        ("int", np.int64(-(2**31) - 1)),
        ("unsigned int", -1),
        ("unsigned long long", np.int8(-1)),
        ("long long", np.uint64(2**63)),
        ("char", 128),
        ("float", 1e300),
        ("float", 3.4028236e38),
        ("float", 10**39),
        ("double", 10**400),
        ("__half", 65520.0),
        ("complex<float>", 1e300j),
        ("complex<float>", -1e300),
        ("int", 10**400),
    ],
)
def test_numbers_out_of_range(ctype, value):
    with pytest.raises(
        ArgumentRangeError, match=r"^f: argument 'x' \(.*\) must be from .* to .*, got .*; pass"
    ) as error:
        pack(f"{ctype} x", value)
    assert isinstance(error.value, OverflowError)
    assert isinstance(error.value, ValueError)
    assert len(str(error.value)) < 300


@given(st.floats(width=64))
def test_rounding_and_range_of_float_are_numpys(value):
    with np.errstate(over="ignore"):
        expected = np.float32(value)
    if math.isinf(expected) and not math.isinf(value):
        with pytest.raises(ArgumentRangeError):
            pack("float x", value)
    else:
        assert pack("float x", value).tobytes() == expected.tobytes() or math.isnan(value)


@pytest.mark.parametrize(
    ("ctype", "value"), [("float", 2**24 + 1), ("float", np.int64(2**24 + 1)), ("double", 2**53 + 1), ("__half", 2049)]
)
def test_integers_that_are_not_held_exactly(ctype, value):
    with pytest.raises(ArgumentError, match=r"can't hold the integer \d+ exactly, the next .* pass float\(value\)"):
        pack(f"{ctype} x", value)
    pack(f"{ctype} x", float(value))


def test_vectors_and_arrays():
    assert pack("double2 x", (1, 2.5)).tolist() == (1.0, 2.5)
    assert pack("float3 x", [1, 2, 3]).dtype == np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4")])
    assert pack("double2 x", pack("double2 x", (1, 2.5))).tolist() == (1.0, 2.5)
    for value in ((1,), np.zeros(2), 3, "ab"):
        with pytest.raises(ArgumentTypeError, match=r"must be a tuple of 2 numbers or a numpy.void"):
            pack("double2 x", value)
    with pytest.raises(ArgumentTypeError, match=r"^component 'y' of f: argument 'x' \(int2\) must be an integer"):
        pack("int2 x", (1, 1.5))


def test_fields_of_fixed_size():
    one = CudaStruct("S", [("v", "double[3]"), ("m", "int[2][2]"), ("p", "float2[2]"), ("z", "complex<float>[1]")])
    value = one(v=[1, 2, 3.5], m=np.arange(4).reshape(2, 2), p=[(1, 2), (3, 4)], z=[1j]).packed
    assert value["v"].tolist() == [1, 2, 3.5]
    assert value["m"].tolist() == [[0, 1], [2, 3]]
    assert value["p"].tolist() == [(1, 2), (3, 4)]
    assert value["z"].tolist() == [1j]
    good = {"v": [1, 2, 3], "m": [[1, 2], [3, 4]], "p": [(1, 2)] * 2, "z": [0]}
    for name, bad, message in [
        ("v", [1, 2], "field 'v' of struct S (double[3]) must be a host array or list of 3 entries"),
        ("v", np.zeros((3, 1)), "must be a host array or list of 3"),
        ("v", DeviceArray(np.zeros(3)), "copy it, with xp.to_numpy(array)"),
        ("v", np.ma.masked_array([1, 2, 3], [0, 1, 0]), "must be a host array"),
        ("m", [[1, 2], [3, 4.5]], "entry [1][1] of field 'm' of struct S (int) must be an integer, got float 4.5"),
        ("z", 1j, "(complex<float>[1]) must be"),
    ]:
        with pytest.raises(ArgumentTypeError) as error:
            one(**good | {name: bad})
        assert message in str(error.value)


# --- pointers and views -----------------------------------------------------------------------------------------------


def test_pointers_pass_the_array():
    array = DeviceArray(MATRIX)
    assert pack("double* x", array) is array
    assert pack("const double* x", array) is array
    assert pack("void* x", array) is array


@pytest.mark.parametrize(
    ("declaration", "value", "message"),
    [
        ("float* x", DeviceArray(MATRIX), "must be a C-contiguous device array of dtype float32, got"),
        ("double* x", DeviceArray(MATRIX.T), "with strides (8, 32); pass xp.ascontiguousarray(array)"),
        ("double* x", DeviceArray(MATRIX[::2]), "declare it Array2D<double>"),
        ("double* x", DeviceArray(MATRIX.astype(">f8")), "dtype=>f8"),
        ("double* x", MATRIX, "it is a host array, which is not copied unasked: pass xp.to_cupy(array)"),
        ("double* x", 3.0, "pass an array of one element"),
        ("double* x", None, "there is no null pointer"),
        ("double* x", DeviceArray, "pass an object, not its class"),
        ("double* x", "x", "make one with xp.to_cupy(...)"),
        ("Array1D<double> x", DeviceArray(MATRIX), "with 1 dimension(s), got"),
        ("Array2D<float> x", DeviceArray(MATRIX), "a device array of dtype float32"),
        ("CArray2D<double> x", DeviceArray(MATRIX.T), "must be a C-contiguous device array"),
        ("Array2D<double> x", MATRIX, "it is a host array"),
    ],
)
def test_arrays_that_are_refused(declaration, value, message):
    with pytest.raises(ArgumentTypeError, match=r"^f: argument 'x' \(.*\) must be") as error:
        pack(declaration, value)
    assert message in str(error.value)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_host_data_of_every_kind_is_refused(kind, tmp_path):
    value = kind.make(tmp_path)
    if hasattr(value, "__cuda_array_interface__"):
        return  # device arrays are tested above
    for declaration in ("double* x", "Array2D<double> x", "const void* x"):
        with pytest.raises(ArgumentTypeError, match=r"f: argument 'x' \("):
            pack(declaration, value)


def test_read_only_arrays_need_const():
    frozen = MATRIX.copy()
    frozen.flags.writeable = False
    array = DeviceArray(frozen)
    for declaration in ("double* x", "Array2D<double> x", "CArray2D<double> x", "void* x"):
        with pytest.raises(ArgumentError, match=r"the array is read-only; declare it '.*const"):
            pack(declaration, array)
    for declaration in ("const double* x", "Array2D<const double> x", "const void* x"):
        pack(declaration, array)


@pytest.mark.parametrize(
    "values", [MATRIX, MATRIX.T, MATRIX[::-1, ::2], np.broadcast_to(MATRIX[:1], (5, 4)), MATRIX[:0]]
)
def test_views_hold_address_shape_and_strides(values):
    found = pack("Array2D<const double> x", DeviceArray(values, 512))
    assert (found["data"], found["shape"].tolist(), found["strides"].tolist()) == (
        *(512, list(values.shape), [stride // 8 for stride in values.strides]),
    )


def test_strides_have_to_be_whole_elements():
    values = np.zeros(4, np.dtype([("a", "f8"), ("b", "i4")]))["a"]
    with pytest.raises(ArgumentTypeError, match="whose strides are multiples of 8 bytes, got strides"):
        pack("Array1D<double> x", DeviceArray(values))


def test_other_libraries_are_read_through_the_interface():
    class Foreign:
        def __init__(self, **interface):
            self.__cuda_array_interface__ = {
                "shape": (3, 4),
                "typestr": "<f8",
                "data": (4096, False),
                "version": 3,
                **interface,
            }

    array = Foreign()
    assert pack("double* x", array) is array
    assert members(pack("Array2D<double> x", array)) == [4096, [3, 4], [4, 1]]
    assert members(pack("CArray2D<double> x", Foreign(strides=(32, 8)))) == [4096, [3, 4]]
    for interface, message in [
        ({"strides": (8, 24)}, "must be a C-contiguous device array"),
        ({"mask": object()}, "got a masked array"),
        ({"data": None}, "incomplete CUDA array interface"),
        ({"typestr": "<f4"}, "and dtype float32"),
    ]:
        with pytest.raises(ArgumentTypeError) as error:
            pack("double* x", Foreign(**interface))
        assert message in str(error.value)


def test_structs_and_pointers_to_them():
    inner = CudaStruct("In", [("n", "int"), ("z", "complex<double>")])
    value = inner(n=3, z=1j)
    for given_value in (value, value.packed):
        found = pack("In x", given_value, structs=[inner])
        assert (found.dtype, found.tolist()) == (inner.dtype, (3, 1j))
    for bad in (
        {"n": 3, "z": 1j},
        np.zeros(1, inner.dtype),
        np.zeros(1, np.dtype("i4,c16"))[0],
        3,
        CudaArguments(1, 2),
    ):
        with pytest.raises(ArgumentTypeError, match=r"must be a struct, got .*pass what In\(\.\.\.\)"):
            pack("In x", bad, structs=[inner])
    array = DeviceArray(np.zeros(3, inner.dtype))
    assert pack("In* x", array, structs=[inner]) is array
    assert members(pack("Array1D<In> x", array, structs=[inner])) == [4096, [3], [1]]
    with pytest.raises(ArgumentTypeError, match=r"the dtype of struct In, got .*dtype=struct.dtype"):
        pack("In* x", DeviceArray(np.zeros(3)), structs=[inner])
    outer = CudaStruct("Out", [("one", "In"), ("two", "In[2]")], structs=[inner])
    packed = outer(one=value, two=[value, value.packed]).packed
    assert packed["one"].tolist() == (3, 1j)
    assert packed["two"].tolist() == [(3, 1j)] * 2


def test_bytes_are_those_of_struct():
    """Everything lies where the layout says, and padding is zero."""
    one = CudaStruct("S", [("b", "bool"), ("x", "double*"), ("n", "short"), ("z", "complex<double>"), ("f", "float")])
    value = one(b=True, x=DeviceArray(MATRIX, 1 << 40), n=-2, z=1 + 2j, f=0.5)
    assert value.packed.tobytes() == struct.pack("=?7xQh14x2df12x", True, 1 << 40, -2, 1.0, 2.0, 0.5)
