"""Structs for CUDA kernels: definitions, from Python's annotations too, layouts as the compilers have them, C text."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
import typing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpp_compiler import compiler
from cunumpy import arguments
from cunumpy.arguments import CudaArguments, CudaStruct, write_cuda_header
from cunumpy.cuda import check_cuda, cuda_include_dir, parse_cuda_signature
from cunumpy.errors import ArgumentError, ArgumentTypeError, BackendUnavailableError
from cunumpy.kernels import CudaKernel, CudaKernelVariants
from packed_values import offsets


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
