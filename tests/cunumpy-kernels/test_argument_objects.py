"""Packed structs, and objects that stand for arguments: what is packed again, and when."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

from cunumpy.arguments import CudaArguments, CudaStruct, CudaStructArguments, CudaStructValue
from cunumpy.arguments._packing import packer
from cunumpy.errors import ArgumentError, ArgumentTypeError
from packed_values import MATRIX, DeviceArray, parameter

PARTICLES = CudaStruct("Particles", [("x", "double*"), ("a", "Array2D<double>"), ("n", "int"), ("dt", "double")])


def test_values_are_snapshots_that_keep_the_arrays():
    array = DeviceArray(MATRIX)
    value = PARTICLES(x=array, a=array, n=3, dt=0.5)
    assert isinstance(value, CudaStructValue)
    assert value.struct is PARTICLES
    assert value["x"] is array
    assert value.__cuda_args__() == (value.packed,)
    assert value.packed.dtype == PARTICLES.dtype
    with pytest.raises(KeyError):
        value["y"]
    assert "n=3" in repr(value)
    other = copy.copy(value)
    assert other.packed.tobytes() == value.packed.tobytes()
    step = CudaStruct("Step", [("dt", "double")])(dt=0.5)
    assert pickle.loads(pickle.dumps(step)).packed.tobytes() == step.packed.tobytes()


def test_missing_and_unknown_fields():
    with pytest.raises(ArgumentTypeError) as error:
        PARTICLES(x=1, n=3, m=4)
    assert str(error.value) == (
        "CudaStruct 'Particles': fields missing: a, dt; unknown fields: m. It has the fields x, a, n, dt."
    )
    with pytest.raises(TypeError):
        PARTICLES(1, 2, 3, 4)
    assert CudaStruct("S", [("self", "int")])(self=3).packed["self"] == 3


def test_errors_name_the_field():
    array = DeviceArray(MATRIX)
    for name, value, message in [
        ("n", 2**31, "field 'n' of struct Particles (int) must be from -2147483648 to 2147483647, got 2147483648"),
        ("x", MATRIX, "field 'x' of struct Particles (double*) must be a C-contiguous device array"),
        ("a", DeviceArray(MATRIX[0]), "field 'a' of struct Particles (Array2D<double>) must be"),
    ]:
        with pytest.raises((ArgumentError, ArgumentTypeError)) as error:
            PARTICLES(**{"x": array, "a": array, "n": 3, "dt": 0.5, name: value})
        assert str(error.value).startswith(message)


# --- objects ----------------------------------------------------------------------------------------------------------


def test_cuda_arguments():
    one = CudaArguments(0.5, np.zeros(3))
    assert one.__cuda_args__() is one.values
    assert repr(one) == "CudaArguments(0.5, numpy.ndarray(shape=(3,), dtype=float64))"


class Particles(CudaStructArguments):
    struct_name = "Particles"
    fields = (("x", "double*"), ("a", "Array2D<double>"), ("n", "int"), ("dt", "double"))

    def __init__(self, x, a, n, dt):
        self.x, self.a, self.n, self._dt = x, a, n, dt
        self.pack()

    @property
    def dt(self):
        return self._dt


def particles() -> Particles:
    return Particles(DeviceArray(MATRIX), DeviceArray(MATRIX), 3, 0.5)


def test_objects_are_packed_again_when_a_field_changes():
    one = particles()
    first = one.packed
    assert one.packed is first
    assert one.__cuda_args__() == (first,)
    assert one.__cuda_args__()[0] is first
    for name, value in [
        ("x", DeviceArray(MATRIX, 8192)),
        ("a", DeviceArray(MATRIX, 8192)),
        ("a", DeviceArray(MATRIX.T, 8192)),
        ("n", 4),
        ("_dt", 0.0),
        ("_dt", -0.0),
        ("_dt", math.nan),
    ]:
        before = one.packed
        setattr(one, name, value)
        assert one.packed is not before, name
        assert one.packed is one.packed
    assert one.packed["x"] == 8192
    assert first["x"] == 4096


def test_equal_values_in_new_objects_give_the_same_bytes():
    one = particles()
    first = one.packed
    one.x, one.a = DeviceArray(MATRIX), DeviceArray(MATRIX.copy())
    one.n, one._dt = np.int64(3), float("0.5")
    assert one.packed is first


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x", DeviceArray(MATRIX[:, ::2])),
        ("x", DeviceArray(MATRIX.view(np.int64))),
        ("a", DeviceArray(MATRIX.view(np.int64))),
        ("a", DeviceArray(MATRIX[0])),
        ("n", 3.0),
        ("_dt", True),
    ],
)
def test_new_values_at_the_same_address_are_checked(name, value):
    one = particles()
    setattr(one, name, value)
    with pytest.raises(ArgumentTypeError, match=r"field '.*' of struct Particles"):
        _ = one.packed


def test_an_array_that_changes_its_shape_is_noticed():
    one = particles()
    first = one.packed
    one.a.shape, one.a.strides = (4, 3), (24, 8)
    assert one.packed is not first
    assert one.packed["a"]["shape"].tolist() == [4, 3]


def test_lists_and_structs_that_change_are_noticed():
    class Holder(CudaStructArguments):
        struct_name = "Holder"
        fields = (("v", "double[2]"), ("w", "int2"))

        def __init__(self):
            self.v, self.w = [1, 2], [3, 4]

    one = Holder()
    first = one.packed
    assert one.packed is first
    one.v[0] = 5
    assert one.packed["v"].tolist() == [5, 2]
    one.w[1] = 6
    assert one.packed["w"].tolist() == (3, 6)


def test_copies_pack_their_own_arrays():
    one = particles()
    for other in (copy.copy(one), copy.deepcopy(one)):
        assert "_cunumpy_packed" not in vars(other)
        other.n = 9
        assert (other.packed["n"], one.packed["n"]) == (9, 3)
    assert "packed" not in one.__getstate__()
    step = Step(3)
    assert vars(pickle.loads(pickle.dumps(step))) == {"n": 3}


class Step(CudaStructArguments):
    struct_name = "Step"
    fields = (("n", "int"),)

    def __init__(self, n):
        self.n = n


def test_packing_without_pack():
    step = Step(3)
    assert step.packed["n"] == 3
    assert step.packed is step.packed
    assert repr(step) == "Step(n=3)"
    step.pack()
    del step.n
    with pytest.raises(AttributeError, match=r"Step\.pack: the object has no attribute for field 'n' of struct Step"):
        _ = step.packed


def test_arrays_of_other_libraries_are_looked_at_each_time():
    class Foreign:
        def __init__(self, address):
            self.__cuda_array_interface__ = {"shape": (3,), "typestr": "<f8", "data": (address, False), "version": 3}

    class Holder(CudaStructArguments):
        struct_name = "Holder"
        fields = (("x", "double*"),)

        def __init__(self, x):
            self.x = x

    one = Holder(Foreign(64))
    first = one.packed
    assert one.packed is first
    one.x = Foreign(128)
    assert one.packed["x"] == 128


def test_classes_may_set_their_struct():
    inner = CudaStruct("In", [("n", "int")])

    class Holder(CudaStructArguments):
        struct = CudaStruct("Out", [("one", "In"), ("x", "double")], structs=[inner], alignment=16)

        def __init__(self):
            self.one, self.x = Inner(3), 0.5

    class Inner(CudaStructArguments):
        struct = inner

        def __init__(self, n):
            self.n = n

    holder = Holder()
    assert holder.packed.tolist() == ((3,), 0.5)
    holder.one.n = 4  # an object that packs itself may change
    assert holder.packed["one"]["n"] == 4
    with pytest.raises(
        ArgumentTypeError, match=r"class 'Both' sets 'struct' to .*CudaStruct and its name and fields too"
    ):
        type("Both", (CudaStructArguments,), {"struct": inner, "struct_name": "In", "fields": [("n", "int")]})
    with pytest.raises(ArgumentTypeError, match="class 'Wrong' sets 'struct' to str; set it to a CudaStruct"):
        type("Wrong", (CudaStructArguments,), {"struct": "In"})


def test_classes_inherit_structs_or_define_both():
    class Same(Step):
        pass

    class Base(CudaStructArguments):
        pass

    class Own(Step):
        struct_name = "Own"
        fields = (("m", "int"),)

    assert Same.struct is Step.struct
    assert Own.struct.name == "Own"
    with pytest.raises(ArgumentTypeError, match=r"Base\.pack: the class has no struct"):
        Base().pack()
    with pytest.raises(ArgumentTypeError, match="class 'Half' sets 'fields' and not 'struct_name'"):
        type("Half", (Step,), {"fields": [("m", "int")]})
    with pytest.raises(ArgumentTypeError, match="class 'Half' sets 'struct_name' and not 'fields'"):
        type("Half", (CudaStructArguments,), {"struct_name": "Half"})
    with pytest.raises(ArgumentError, match="CudaStruct 'Bad': it has no fields"):
        type("Bad", (CudaStructArguments,), {"struct_name": "Bad", "fields": []})


class TestPointersToVectors:
    """Arrays of vectors are structured, or have the components along their last axis: CuPy has these alone."""

    def pack(self, declaration, array):
        return packer(parameter(declaration), "f: argument 'x'", host=True).argument(array, None)

    @pytest.mark.parametrize(
        ("ctype", "array"),
        [
            ("float4*", np.zeros((3, 4), np.float32)),
            ("const float4*", np.zeros((2, 3, 4), np.float32)),
            ("float4*", np.zeros(3, np.dtype([(name, "f4") for name in "xyzw"]))),
            ("double2*", np.zeros((3, 2))),
            ("double2*", np.zeros(3, np.complex128)),
            ("const float2*", np.zeros((5, 1), np.complex64)),
            ("uchar4*", np.zeros((7, 4), np.uint8)),
            ("int3*", np.zeros((7, 3), np.int32)),
            ("int1*", np.zeros((7, 1), np.int32)),
            ("float4*", np.zeros((0, 4), np.float32)),
        ],
    )
    def test_what_has_their_layout_is_taken(self, ctype, array):
        assert self.pack(f"{ctype} x", array) == array.__array_interface__["data"][0]

    @pytest.mark.parametrize(
        ("ctype", "array", "text"),
        [
            ("float4*", np.zeros((4, 3), np.float32), "pass an array of float32 whose last axis has 4"),
            ("float4*", np.zeros(8, np.float32), "pass an array of float32 whose last axis has 4"),
            ("float4*", np.zeros((2, 4)), "pass an array of float32 whose last axis has 4"),
            ("float2*", np.zeros(4, np.complex128), "pass an array of float32 whose last axis has 2"),
            ("uint2*", np.zeros((4, 2), np.int32), "pass an array of uint32 whose last axis has 2"),
            ("int2*", np.zeros(4, np.complex64), "pass an array of int32 whose last axis has 2"),
            ("double2*", np.zeros((2, 3)).T, "pass xp.ascontiguousarray"),
        ],
    )
    def test_others_are_refused(self, ctype, array, text):
        with pytest.raises(ArgumentTypeError, match=text):
            self.pack(f"{ctype} x", array)

    def test_the_address_has_to_be_a_multiple_of_the_alignment(self):
        memory = np.zeros(64, np.uint8)
        start = -memory.__array_interface__["data"][0] % 16 + 4
        array = memory[start : start + 32].view(np.float32).reshape(2, 4)
        with pytest.raises(
            ArgumentError, match=r"points to float4, .* a multiple of 16, got .* at address 0x.*4; copy"
        ):
            self.pack("const float4* x", array)
        assert self.pack("const float3* x", array[:, :3].copy())
