"""Structs for CUDA kernels: definitions, layouts as the compilers have them, C text, and packed values."""

from __future__ import annotations

import copy
import enum
import inspect
import math
import pickle
import struct
import subprocess
import sys
import typing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from array_kinds import KINDS
from cpp_compiler import compiler
from cunumpy import arguments
from cunumpy.arguments import CudaArguments, CudaStruct, CudaStructArguments, CudaStructValue, write_cuda_header
from cunumpy.arguments._packing import packer
from cunumpy.cuda import check_cuda, cuda_include_dir, parse_cuda_signature
from cunumpy.errors import ArgumentError, ArgumentRangeError, ArgumentTypeError, BackendUnavailableError
from cunumpy.kernels import CudaKernel, CudaKernelVariants


class Memory:
    def __init__(self, ptr: int) -> None:
        self.ptr = ptr


class Flags:
    def __init__(self, c_contiguous: bool) -> None:
        self.c_contiguous = c_contiguous


class DeviceArray:
    """What packing needs of a device array: nothing that could be read."""

    def __init__(self, values: np.ndarray, address: int = 4096) -> None:
        self.dtype, self.shape, self.strides = values.dtype, values.shape, values.strides
        self.flags, self.ndim = Flags(values.flags.c_contiguous), values.ndim
        self.data = Memory(address)
        self.__cuda_array_interface__ = {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "strides": self.strides,
            "data": (address, not values.flags.writeable),
            "version": 3,
        }


def parameter(declaration: str, **options):
    (found,) = parse_cuda_signature(f"__global__ void f({declaration});", "f", **options)
    return found


def pack(declaration: str, value, **options):
    found = packer(parameter(declaration, **options), "f: argument 'x'").argument(value, None)
    return found[0] if isinstance(found, np.ndarray) else found


def members(value: np.void) -> list:
    """Return what the members of a view hold."""
    return [value[name].tolist() for name in value.dtype.names]


def offsets(struct: CudaStruct) -> list[int]:
    return [struct.dtype.fields[name][1] for name in struct.dtype.names]


def test_public_names():
    assert sorted(arguments.__all__) == [
        "CudaArguments",
        "CudaStruct",
        "CudaStructArguments",
        "CudaStructValue",
        "write_cuda_header",
    ]


def test_defining_structs_needs_no_cupy():
    code = (
        "import sys; from cunumpy.arguments import CudaStruct; CudaStruct('S', [('x', 'double*')]).to_header(); "
        "print({'cupy', 'numba', 'pytest'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# --- layout -----------------------------------------------------------------------------------------------------------


def test_layouts_of_the_contract():
    types = ["double*", "int", "double", "bool*", "long long*", "float"]
    one = CudaStruct("One", [(f"f{number}", ctype) for number, ctype in enumerate(types)])
    assert (offsets(one), one.dtype.itemsize, one.has_views) == ([0, 8, 16, 24, 32, 40], 48, False)
    two = CudaStruct("Two", [("a", "Array2D<double>"), ("b", "Array1D<bool>"), ("n", "int")])
    assert (offsets(two), two.dtype.itemsize, two.has_views) == ([0, 40, 64], 72, True)
    assert two.dtype["a"].names == ("data", "shape", "strides")
    assert two.dtype["a"]["shape"] == np.dtype((np.int64, (2,)))
    assert CudaStruct("C", [("a", "CArray3D<int>")]).dtype["a"].names == ("data", "shape")


def test_layout_is_numpys_where_the_alignments_are_the_same():
    fields = [("a", "char"), ("b", "short"), ("c", "bool"), ("d", "double"), ("e", "float"), ("f", "complex<float>[3]")]
    codes = ["i1", "i2", "?", "f8", "f4", ("c8", 3)]
    ours = CudaStruct("S", fields[:5])
    assert ours.dtype == np.dtype(
        [(name, code) for (name, _), code in zip(fields[:5], codes, strict=False)], align=True
    )
    # A component of complex64 is aligned to 4 bytes in NumPy, all of it to 8 on a device.
    assert offsets(CudaStruct("S", [fields[4], fields[5]])) == [0, 8]


def test_members_are_aligned_as_on_the_device():
    one = CudaStruct("S", [("n", "int"), ("z", "complex<double>"), ("m", "int"), ("v", "double2"), ("w", "double3")])
    assert (offsets(one), one.dtype.itemsize, one.alignment) == ([0, 16, 32, 48, 64], 96, 16)
    outer = CudaStruct("T", [("n", "int"), ("s", "S"), ("p", "const S*")], structs=[one])
    assert (offsets(outer), outer.dtype.itemsize) == ([0, 16, 112], 128)
    assert outer.fields[1].alignment == 16
    assert outer.verify_layout(gpu=False) == {"sizeof": 128, "alignof": 16, "n": 0, "s": 16, "p": 112}
    wide = CudaStruct("S", [("x", "float3")], alignment=16)
    assert wide.verify_layout(gpu=False) == {"sizeof": 16, "alignof": 16, "x": 0}


SCALARS = [
    *("bool", "char", "unsigned char", "short", "unsigned short int", "int", "unsigned", "long", "long long"),
    *("unsigned long long", "float", "double"),
]
VECTORS = ["double2", "double3", "float4", "uchar4", "short3", "longlong2", "int1", "complex<double>", "complex<float>"]


@st.composite
def field_types(draw, scalars, structs=()):
    base = draw(st.sampled_from([*scalars, *structs]))
    form = draw(st.sampled_from(["{}", "{}", "{}*", "const {}*", "{}[3]", "{}[2][2]", "Array2D<{}>", "CArray3D<{}>"]))
    return form.format(base)


@st.composite
def many_structs(draw, scalars):
    structs: list[CudaStruct] = []
    for number in range(draw(st.integers(5, 15))):
        known = structs[-3:]
        types = draw(st.lists(field_types(scalars, [one.name for one in known]), min_size=1, max_size=9))
        fields = [(f"f{place}", ctype) for place, ctype in enumerate(types)]
        structs.append(CudaStruct(f"S{number}", fields, structs=known))
    return structs


def assertions(structs: list[CudaStruct], offset: str) -> str:
    lines = []
    for one in structs:
        lines.append(f'static_assert(sizeof({one.name}) == {one.dtype.itemsize}, "size");')
        lines.append(f'static_assert(alignof({one.name}) == {one.alignment}, "alignment");')
        for name, place in zip(one.dtype.names, offsets(one), strict=True):
            lines.append(f'static_assert({offset.format(one.name, name)} == {place}, "{name}");')
    return "".join(f"{one.declaration}\n" for one in structs) + "\n".join(lines)


@settings(max_examples=8)
@given(many_structs(SCALARS))
def test_layouts_are_those_of_the_cpp_compiler(structs):
    source = "#define __device__\n#define __host__\n#define __forceinline__ inline\n#include <cstddef>\n"
    source += '#include "cunumpy/array_view.cuh"\n' + assertions(structs, "offsetof({}, {})")
    command = [*compiler(), "-std=c++17", "-fsyntax-only", f"-I{cuda_include_dir()}", "-x", "c++", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@settings(max_examples=8)
@given(many_structs([*SCALARS, *VECTORS]))
def test_layouts_are_those_of_the_cuda_compiler(structs):
    source = "template <class T> struct alignas(2 * sizeof(T)) complex { T re, im; };\n"
    source += '#include "cunumpy/array_view.cuh"\n' + assertions(structs, "__INTADDR__(&(({}*)0)->{})")
    check_cuda(source + "\n__global__ void nothing() {}", archs=["sm_80"])


def test_verify_layout_names_each_difference(tmp_path):
    ours = CudaStruct("S", [("n", "int"), ("x", "double")])
    (tmp_path / "s.cuh").write_text("struct alignas(16) S { double x; int n; };")
    with pytest.raises(ArgumentError) as error:
        ours.verify_layout("s.cuh", include_dirs=[tmp_path], gpu=False)
    assert "alignof is 16 and should be 8" in str(error.value)
    assert "the offset of field 'n' is 8 and should be 0; the offset of field 'x' is 0 and should be 8" in str(
        error.value
    )
    ours.to_header(tmp_path / "t.cuh")
    assert ours.verify_layout('#include "t.cuh"', include_dirs=[tmp_path], gpu=False)["x"] == 8


@pytest.mark.parametrize(
    "ctype",
    [
        "half",
        "__half2",
        "nv_bfloat16*",
        "cuDoubleComplex",
        "cudaTextureObject_t",
        "int64_t",
        "std::uint8_t",
        "uintptr_t",
        "ssize_t",
        "ushort",
        "size_t",
        "Array2D<complex<double>>",
    ],
)
def test_layout_source_defines_what_the_types_need(ctype):
    assert CudaStruct("S", [("c", "char"), ("x", ctype)]).verify_layout(gpu=False)["x"] > 0


def test_layout_source_includes():
    text = CudaStruct("S", [("a", "Array1D<complex<float>>"), ("z", "cuDoubleComplex")]).layout_source()
    assert text.startswith(
        '#include "cunumpy/array_view.cuh"\n#include <cupy/complex.cuh>\n#include <cuComplex.h>\n\nstruct S {\n'
    )
    assert CudaStruct("S", [("n", "int")]).layout_source("a.cuh").startswith('#include "a.cuh"\n\nextern "C"')
    with pytest.raises(ArgumentTypeError, match="argument 'include' must be a header's name, got list"):
        CudaStruct("S", [("n", "int")]).layout_source(["a.cuh"])


def test_verify_layout_without_cupy():
    with pytest.raises(BackendUnavailableError, match=r"CudaStruct\.verify_layout: needs CuPy.* gpu=False"):
        CudaStruct("S", [("n", "int")]).verify_layout()
    with pytest.raises(ArgumentTypeError, match="argument 'options' must be several strings"):
        CudaStruct("S", [("n", "int")]).verify_layout(options="-O3", gpu=False)


# --- definitions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("int", [("x", "int")], "the name 'int' is a reserved word of C++"),
        ("2S", [("x", "int")], "the name '2S' is no C identifier"),
        ("a::S", [("x", "int")], "no C identifier"),
        ("S", [("2x", "int")], "the field name '2x' is no C identifier"),
        ("S", [("\u00e9", "int")], "use ASCII letters"),
        ("S", [("class", "int")], "reserved word of C++; choose another, such as 'class_'"),
        ("S", [("v[3]", "double")], "an array is given by its type, such as 'double[3]'"),
        ("S", [("x", "int"), ("x", "int")], "there are two fields 'x'"),
        ("S", [], "it has no fields"),
        ("S", [("x", "double**")], "field 'x' of type 'double**': it is a pointer to pointers"),
        ("S", [("x", "Foo")], "the type 'Foo' is not known"),
        ("S", [("x", "int:3")], "'int:3' is not a type alone"),
        ("S", [("x", "double&")], "it is a reference"),
        ("S", [("x", "void")], "it has the type void"),
        ("S", [("x", "Array1D<double>*")], "it is a pointer to a view"),
        ("S", [("x", "Array17D<double>")], "'Array17D<double>' is not known"),
        ("S", [("x", "")], "there is no type"),
        ("S", [("x", "enum E")], "the type 'E' is not known"),
    ],
)
def test_definitions_that_are_refused(name, fields, message):
    with pytest.raises(ArgumentError) as error:
        CudaStruct(name, fields)
    assert message in str(error.value)


@pytest.mark.parametrize("fields", ["int x", 3, {"x": "int"}, [("x",)], ["xy"], [("x", 3)], [(3, "int")]])
def test_fields_of_other_types(fields):
    with pytest.raises(ArgumentTypeError, match="CudaStruct"):
        CudaStruct("S", fields)


def test_alignment_and_structs_are_checked():
    inner = CudaStruct("In", [("x", "double")])
    for alignment in (4, 24):
        with pytest.raises(ArgumentError, match=f"must be a power of two of 8 or more, .* got {alignment}"):
            CudaStruct("S", [("x", "double")], alignment=alignment)
    with pytest.raises(ArgumentError, match="argument 'alignment' is 1180591620717411303424, and a kernel's"):
        CudaStruct("S", [("x", "double")], alignment=2**70)
    with pytest.raises(ArgumentTypeError, match="argument 'alignment' must be an integer, got float"):
        CudaStruct("S", [("x", "double")], alignment=8.0)
    with pytest.raises(ArgumentTypeError, match="pass CudaStruct objects"):
        CudaStruct("S", [("x", "In")], structs=["In"])
    with pytest.raises(ArgumentError, match="a struct of the same name"):
        CudaStruct("In", [("x", "In")], structs=[inner])


def test_attributes():
    one = CudaStruct(
        "S",
        [("x", "const double * __restrict__"), ("n", "struct T"), ("a", "CArray2D< const int >")],
        structs=[CudaStruct("T", [("k", "unsigned int")])],
    )
    x, n, a = one.fields
    assert (x.ctype, x.pointer, x.const, n.struct.name, a.ctype, a.view_ndim, a.contiguous) == (
        *("double", True, True, "T", "CArray2D<int>", 2, True),
    )
    assert repr(one) == "CudaStruct('S', 3 fields)"
    assert repr(CudaStruct("S", [("n", "int")])) == "CudaStruct('S', 1 field)"
    assert one.declaration == "struct S {\n    double* x;\n    T n;\n    CArray2D<int> a;\n};\n"


def test_const_is_written_on_request():
    fields = [("x", "const double*"), ("a", "Array1D<const float>"), ("n", "const int"), ("v", "const float[2]")]
    plain, kept = CudaStruct("S", fields), CudaStruct("S", fields, keep_const=True)
    assert plain.declaration == "struct S {\n    double* x;\n    Array1D<float> a;\n    int n;\n    float v[2];\n};\n"
    assert kept.declaration == (
        "struct S {\n    const double* x;\n    Array1D<const float> a;\n    int n;\n    float v[2];\n};\n"
    )
    assert "    const double* x;\n" in kept.to_header()
    assert pickle.loads(pickle.dumps(kept)).declaration == kept.declaration
    plain.check_source(kept.declaration)
    kept.check_source(plain.declaration)
    assert plain.fields == kept.fields
    assert [field.const for field in kept.fields] == [True, True, False, False]


def test_structs_pickle_copy_and_compare():
    inner = CudaStruct("T", [("z", "complex<double>")])
    one = CudaStruct(
        "S", [("v", "const float*"), ("w", "Array1D<const T>"), ("m", "T[2][3]")], structs=[inner], alignment=64
    )
    for other in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        assert other == one
        assert hash(other) == hash(one)
        assert other.dtype == one.dtype
        assert other.declaration == one.declaration
    assert one != CudaStruct(
        "S", [("v", "float*"), ("w", "Array1D<T>"), ("m", "T[2][3]")], structs=[inner], alignment=64
    )
    assert one != "S"


def push(x: "float[:, :]", dt: float, n: int, flags: "const bool[:]"): ...  # noqa: F722, UP037


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_everything_pickles_and_copies(duplicate):
    made = CudaStruct.from_signature(push, "Push", contiguous="x", int_type="int")
    read = CudaStruct.from_pyccel_class("class A:\n    def __init__(self, n: int): self.m = n", "A")
    for one in (made, read):
        again = duplicate(one)
        assert again == one
        assert again.declaration == one.declaration
    value = duplicate(read(m=3))
    assert (value["m"], value.packed["m"], value.struct) == (3, 3, read)
    assert duplicate(CudaArguments(1, "a")).values == (1, "a")
    source = f'{read.declaration}\nextern "C" __global__ void k(A a) {{}}'
    kernel = duplicate(CudaKernel(source, "k", structs=[read]))
    assert kernel.prepare_args(value) == (value.packed,)
    assert kernel.structs == (read,)
    variants = CudaKernelVariants(kernel_of)
    variants.get("double")
    assert duplicate(variants).get("double").expression == "k<double>"


def kernel_of(ctype):
    return CudaKernel("template <typename T> __global__ void k(T* x) {}", "k", template_args=[ctype])


# --- Python annotations -----------------------------------------------------------------------------------------------


def types_of(func, **options) -> dict[str, str]:
    struct = CudaStruct.from_signature(func, "S", **options)
    lines = struct.declaration.splitlines()[1:-1]
    return {line.rstrip(";").rsplit(" ", 1)[1]: line.strip().rsplit(" ", 1)[0] for line in lines}


def annotated(annotations):
    """Return a function with these parameters, annotated as without ``from __future__ import annotations``."""

    def f(): ...

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind, annotation=one) for name, one in annotations.items()]
    f.__signature__ = inspect.Signature(parameters)
    return f


ANNOTATED = {
    "a": (float, "double"),
    "b": ("float64", "double"),
    "c": (np.float32, "float"),
    "d": (int, "long long"),
    "e": ("int16", "short"),
    "g": (bool, "bool"),
    "h": (complex, "complex<double>"),
    "i": ("complex64[:]", "Array1D<complex<float>>"),
    "j": ("float[:, :]", "Array2D<double>"),
    "k": (typing.Final[float], "double"),
    "m": ("Final[int[:,:,:]]", "Array3D<long long>"),
    "n": ("const float32[:]", "Array1D<float>"),
    "o": ("uint8", "unsigned char"),
    "p": ("numpy.float64[:]", "Array1D<double>"),
    "q": ("float[:,:](order=F)", "Array2D<double>"),
    "r": (typing.Final["float[:]"], "Array1D<double>"),
    "s": (np.longlong, "long long"),
    "t": (np.bool_, "bool"),
    "u": (f"int8[{', '.join(':' * 16)}]", "Array16D<signed char>"),
    "v": ("'float[:]'", "Array1D<double>"),
    "w": ("typing.Final['const int']", "long long"),
}


def test_from_signature():
    f = annotated({name: annotation for name, (annotation, _) in ANNOTATED.items()})
    assert types_of(f) == {name: ctype for name, (_, ctype) in ANNOTATED.items()}
    assert types_of(f, int_type="int")["m"] == "Array3D<int>"
    assert types_of(f, scalar_names={"float": "float"})["j"] == "Array2D<float>"
    assert types_of(f, contiguous=True)["j"] == "CArray2D<double>"
    assert types_of(f, contiguous="p")["j"] == "Array2D<double>"
    assert types_of(f, contiguous=["p", "j"])["p"] == "CArray1D<double>"
    with pytest.raises(ArgumentError, match="argument 'contiguous' names 'a', no array field; these are: i, j, m"):
        types_of(f, contiguous=["j", "a"])


def test_which_parameters_are_fields():
    def f(self, x: float, /, y: np.float32, *args: int, z: "float[:]" = None, **kwargs: bool): ...  # noqa: RUF013, UP037

    assert types_of(f) == {"x": "double", "y": "float", "z": "Array1D<double>"}


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (None, "parameter 'x' of 'f': it has no annotation"),
        ("real", "parameter 'x' of 'f': the type 'real' is not known; give its C type by scalar_names={'real': ...}"),
        ("float[3]", "has no C type"),
        ("Optional[int]", "the annotation 'Optional[int]' has no C type"),
        ("NDArray[np.float64]", "it does not say how many dimensions"),
        ("float[:", "can't be read"),
        ("float[:, 0:2]", "has no C type"),
        (f"float[{', '.join([':'] * 17)}]", "it has 17 dimensions, and array views have 16 at most"),
        (typing.Optional[int], "has no C type"),  # noqa: UP045 - what others write
        (list, "the type 'list' is not known"),
        (np.longdouble, "is not known"),
    ],
)
def test_annotations_without_a_c_type(annotation, message):
    f = annotated({"x": inspect.Parameter.empty if annotation is None else annotation})
    with pytest.raises(ArgumentError, match=r"^CudaStruct\.from_signature: ") as error:
        CudaStruct.from_signature(f, "S")
    assert message in str(error.value)


def test_from_signature_of_what_has_none():
    with pytest.raises(ArgumentTypeError, match="argument 'func' must be a function with a signature, got int"):
        CudaStruct.from_signature(3, "S")
    with pytest.raises(ArgumentTypeError, match="argument 'scalar_names' must map names"):
        CudaStruct.from_signature(len, "S", scalar_names=["float"])
    with pytest.raises(ArgumentTypeError, match="argument 'int_type' must be a C type as str, such as 'int', got type"):
        CudaStruct.from_signature(len, "S", int_type=int)


CLASS = """
raise RuntimeError("this is never run")

class Other: ...

class Domain:
    def __init__(self, kind: "int", /, params: 'float[:]', p: "int[:]" = None, *, scale: float = 1.0, left: "Any" = 0):
        self.kind_map: int = kind
        self.kind_again = kind
        self.params = params
        self.degree = p + 1
        self._scale = self.scale = scale
        if left:
            self.left_over = left

    class Inner:
        def __init__(self, n: int): self.n = n
"""


def test_from_pyccel_class():
    one = CudaStruct.from_pyccel_class(CLASS, "Domain", exclude="left")
    assert one.declaration == (
        "struct Domain {\n    long long kind_map;\n    Array1D<double> params;\n    Array1D<long long> p;\n"
        "    double _scale;\n};\n"
    )


def test_exclude_matches_parameters_and_attributes():
    for excluded in ("left", "left_over"):
        names = [field.name for field in CudaStruct.from_pyccel_class(CLASS, "Domain", exclude=[excluded]).fields]
        assert names == ["kind_map", "params", "p", "_scale"]


def test_from_pyccel_class_reads_files_and_inner_classes(tmp_path):
    path = tmp_path / "domain.py"
    path.write_text("\ufeff" + CLASS, encoding="utf-8")
    inner = CudaStruct.from_pyccel_class(str(path), "Domain.Inner", int_type="int")
    assert inner.declaration == "struct Inner {\n    int n;\n};\n"
    plain = CudaStruct.from_pyccel_class(
        path, "Domain", "D", exclude="left", attribute_names=False, contiguous="params"
    )
    assert [(field.name, field.ctype) for field in plain.fields] == [
        ("kind", "long long"),
        ("params", "CArray1D<double>"),
        ("p", "Array1D<long long>"),
        ("scale", "double"),
    ]


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        (CLASS, "Missing", "has no class 'Missing'; classes there: Other, Domain"),
        (CLASS, "Inner", "One inside another is named 'Outer.Inner'"),
        (CLASS, "Other", "has no __init__ of its own"),
        (CLASS, "Domain", "parameter 'left' of Domain.__init__ (line 7): the type 'Any' is not known"),
        ("class A:\n    def __init__(self, x): ...", "A", "parameter 'x' of A.__init__ (line 2): it has no annotation"),
        ("class A(:\n", "A", "the source is not valid Python"),
    ],
)
def test_classes_that_are_refused(source, name, message):
    with pytest.raises(ArgumentError, match=r"^CudaStruct\.from_pyccel_class: ") as error:
        CudaStruct.from_pyccel_class(source, name)
    assert message in str(error.value)


def test_source_of_other_types():
    with pytest.raises(ArgumentTypeError, match="argument 'source' must be a path or Python source code, got bytes"):
        CudaStruct.from_pyccel_class(b"class A: ...", "A")
    with pytest.raises(ArgumentTypeError, match="argument 'exclude' must be a name or names"):
        CudaStruct.from_pyccel_class(CLASS, "Domain", exclude=[3])


# --- headers ----------------------------------------------------------------------------------------------------------

DOMAIN = CudaStruct("Domain", [("params", "Array1D<double>"), ("kind", "int")])
STEP = CudaStruct("Step", [("x", "double*"), ("z", "complex<double>")])


def test_header_text(tmp_path):
    path = tmp_path / "2d-args.cuh"
    text = write_cuda_header(path, [STEP, DOMAIN], includes=["<cupy/complex.cuh>", "own.cuh", "#include  <a.h>"])
    assert text == (
        "// Generated by cunumpy.arguments.CudaStruct from the Python definition; do not edit.\n"
        "#ifndef _2D_ARGS_CUH\n"
        "#define _2D_ARGS_CUH\n"
        "\n"
        '#include "cunumpy/array_view.cuh"\n'
        "#include <cupy/complex.cuh>\n"
        '#include "own.cuh"\n'
        "#include  <a.h>\n"
        "\n"
        "struct Step {\n"
        "    double* x;\n"
        "    complex<double> z;\n"
        "};\n"
        "\n"
        "struct Domain {\n"
        "    Array1D<double> params;\n"
        "    int kind;\n"
        "};\n"
        "\n"
        "#endif  // _2D_ARGS_CUH\n"
    )
    assert path.read_bytes() == text.encode()


def test_header_of_one_struct(tmp_path):
    plain = CudaStruct("Step", [("dt", "double")])
    text = plain.to_header()
    assert text.startswith(f"// Generated by {'cunumpy.arguments.CudaStruct'} from")
    assert text.endswith(
        "#ifndef STEP_CUH\n#define STEP_CUH\n\nstruct Step {\n    double dt;\n};\n\n#endif  // STEP_CUH\n"
    )
    assert list(tmp_path.iterdir()) == []
    assert "#ifndef OWN\n" in plain.to_header(tmp_path / "a.cuh", guard="OWN")
    assert (tmp_path / "a.cuh").read_text() == plain.to_header(guard="OWN")


def test_structs_come_after_their_members(tmp_path):
    outer = CudaStruct("Outer", [("step", "Step*"), ("domain", "Domain")], structs=[DOMAIN, STEP])
    text = write_cuda_header(tmp_path / "a.cuh", [outer, STEP])
    assert [line for line in text.splitlines() if line.startswith("struct")] == [
        "struct Domain {",
        "struct Step {",
        "struct Outer {",
    ]


def test_headers_that_are_refused(tmp_path):
    with pytest.raises(ArgumentTypeError, match="argument 'structs' holds str"):
        write_cuda_header(tmp_path / "a.cuh", ["Step"])
    with pytest.raises(ArgumentTypeError, match=r"argument 'structs' must be a list of CudaStruct, got .*CudaStruct"):
        write_cuda_header(tmp_path / "a.cuh", STEP)
    with pytest.raises(ArgumentError, match="there are two structs 'Step'"):
        write_cuda_header(tmp_path / "a.cuh", [STEP, CudaStruct("Step", [("n", "int")])])
    with pytest.raises(ArgumentError, match="the guard 'a-b' is no C identifier"):
        write_cuda_header(tmp_path / "a.cuh", [STEP], "a-b")
    with pytest.raises(ArgumentTypeError, match="argument 'includes' must be a list"):
        STEP.to_header(includes="own.cuh")
    assert list(tmp_path.iterdir()) == []


# --- sources ----------------------------------------------------------------------------------------------------------

PAIR = CudaStruct("S", [("x", "const double*"), ("n", "int"), ("v", "double[3]")])


@pytest.mark.parametrize(
    "source",
    [
        "",
        "struct T { int a; };",
        "struct S { double* x; int n; double v[3]; };",
        "class S { public: const double *__restrict__ x; /* int m; */ int n; double v[1 + 2]; int f() { return n; } };",
        "typedef struct { double const* x; signed int n; double v[3]; } S;",
        "struct alignas(8) S { double* x; int n; double v[3]; S(int); static int m; };",
    ],
)
def test_sources_that_agree(source):
    PAIR.check_source(source)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("struct S { double* x; int n; double v; };", "member 3 is 'double v', and the field 'double v[3]'"),
        ("struct S { double* x; int m; double v[3]; };", "member 2 is 'int m', and the field 'int n'"),
        ("struct S { double x; int n; double v[3]; };", "member 1 is 'double x', and the field 'const double* x'"),
        ("struct S { int n; double* x; double v[3]; };", "member 1 is 'int n'"),
        ("struct S { double* x; int n; };", "it has 2 members, and the CudaStruct 3 fields"),
        ("\n struct S { double* x; int n : 3; double v[3]; };", "can't be compared with the CudaStruct: s.cu:2:"),
        ("template <class T> struct S { T* x; };", "it is a template"),
        ("struct S : Base { double* x; };", "it has base classes"),
        ("struct __align__(16) S { double* x; int n; double v[3]; };", "pass alignment=16 to CudaStruct"),
    ],
)
def test_sources_that_differ(source, message):
    with pytest.raises(ArgumentError, match=r"CudaStruct.check_source of 'S': s.cu:") as error:
        PAIR.check_source(source, filename="s.cu")
    assert message in str(error.value)


def test_check_source_looks_at_members_and_alignment():
    outer = CudaStruct("Outer", [("s", "S"), ("n", "int")], structs=[PAIR], alignment=64)
    with pytest.raises(ArgumentError, match=r"write 'struct alignas\(64\) Outer'"):
        outer.check_source("struct Outer { S s; int n; };")
    with pytest.raises(ArgumentError, match="check_source of 'S'"):
        outer.check_source("struct S { int n; }; struct __align__(64) Outer { S s; int n; };")
    outer.check_source("struct __align__(64) Outer { S s; int n; };")


def test_signatures_check_their_structs():
    source = "struct S {{ double* x; {} n; double v[3]; }};\n__global__ void f(S s);"
    (found,) = parse_cuda_signature(source.format("int"), "f", structs=[PAIR])
    assert found.struct is PAIR
    with pytest.raises(ArgumentError, match="member 2 is 'long n'"):
        parse_cuda_signature(source.format("long"), "f", structs=[PAIR])


# --- values -----------------------------------------------------------------------------------------------------------


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

MATRIX = np.arange(12.0).reshape(3, 4)


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


# --- values of structs ------------------------------------------------------------------------------------------------

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
