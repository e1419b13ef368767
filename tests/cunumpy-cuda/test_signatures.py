"""Kernels, their parameters and their launch bounds; what can't be read says where and what to write."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.cuda import CudaParameter, ctype_of, cuda_kernel_names, parse_cuda_signature
from cunumpy.cuda._ctypes_table import NAMED_TYPES, scalar_type
from cunumpy.cuda._signatures import kernel_declaration
from cunumpy.errors import ArgumentError, ArgumentTypeError
from nvrtc import compile_cuda

F8 = np.dtype(np.float64)


def struct(name: str, **fields: str) -> SimpleNamespace:
    return SimpleNamespace(name=name, dtype=np.dtype(list(fields.items()), align=True))


PARTICLE = struct("Particle", x="f8", cell="i4")


def refused(source: str, name: str = "k", **options) -> str:
    with pytest.raises(ArgumentError) as caught:
        parse_cuda_signature(source, name, **options)
    return str(caught.value)


def test_fields_in_the_order_of_the_contract():
    found = parse_cuda_signature("__global__ void k(const double* x, int n);", "k")
    assert found == (
        CudaParameter("x", "double", F8, True, None, None, False, True),
        CudaParameter("n", "int", np.dtype(np.int32), False),
    )
    assert CudaParameter._fields == ("name", "ctype", "dtype", "pointer", "struct", "view_ndim", "contiguous", "const")


@pytest.mark.parametrize(
    ("declared", "ctype", "dtype", "pointer", "const"),
    [
        ("const double* __restrict__ x", "double", "f8", True, True),
        ("unsigned x", "unsigned", "u4", False, False),
        ("long unsigned int x", "long unsigned int", "u8", False, False),
        ("std::int64_t x", "std::int64_t", "i8", False, False),
        ("const int64_t* x", "int64_t", "i8", True, True),
        ("thrust::complex< double > x", "complex<double>", "c16", False, False),
        ("const complex<float>* x", "complex<float>", "c8", True, True),
        ("double2* x", "double2", [("x", "f8"), ("y", "f8")], True, False),
        ("const __half* x", "__half", "f2", True, True),
        ("__nv_bfloat16* x", "__nv_bfloat16", "V2", True, False),
        ("void* x", "void", None, True, False),
        ("const void* x", "void", None, True, True),
        ("const int x", "int", "i4", False, False),
    ],
)
def test_types(declared, ctype, dtype, pointer, const):
    (found,) = parse_cuda_signature(f"__global__ void k({declared});", "k")
    expected = None if dtype is None else np.dtype(dtype)
    assert found == CudaParameter("x", ctype, expected, pointer, const=const)


def test_views():
    source = "__global__ void k(Array2D< double > a, CArray3D<const long unsigned> b, const Array1D<complex<float>> c);"
    a, b, c = parse_cuda_signature(source, "k")
    assert a == CudaParameter("a", "Array2D<double>", F8, False, view_ndim=2)
    assert b == CudaParameter("b", "CArray3D<long unsigned>", np.dtype("u8"), False, None, 3, True, True)
    assert c == CudaParameter("c", "Array1D<complex<float>>", np.dtype("c8"), False, view_ndim=1)
    assert (a.size, b.size, c.size, a.alignment) == (40, 32, 24, 8)


def test_structs_by_value_by_pointer_and_in_views():
    source = """
    struct Particle { double x; int cell; };
    typedef Particle Alias; namespace n { using Other = ::Particle; }
    __global__ void k(Particle a, const Particle* b, struct Particle c, Alias d, const n::Other* e,
                      Array1D<Particle> f);
    """
    found = parse_cuda_signature(source, "k", structs=[PARTICLE])
    assert all(one.struct is PARTICLE and one.dtype == PARTICLE.dtype for one in found)
    assert [one.ctype for one in found] == ["Particle"] * 5 + ["Array1D<Particle>"]
    assert [one.pointer for one in found] == [False, True, False, False, True, False]
    assert [one.const for one in found] == [False, True, False, False, True, False]
    assert [one.size for one in found] == [16, 8, 16, 16, 8, 24]
    assert found[0].alignment == 8


def test_structs_of_a_name_with_template_arguments():
    array = struct("Array<double, 3>", v="3f8")
    source = (
        "constexpr int M = 2; template <typename T, int N> __global__ void k(Array<T, N> a, Array<double, M + 1> b);"
    )
    a, b = parse_cuda_signature(source, "k", structs=[array], template_args=["double", 3])
    assert a.struct is b.struct is array
    assert a.ctype == "Array<double, 3>"
    assert "the type 'Array<T, N>' is not known" in refused(source, structs=[array], template_args=["double", 4])


def test_each_struct_is_compared_with_its_definition():
    seen = []
    checked = SimpleNamespace(name="S", dtype=np.dtype([("x", "f8")]), check_source=seen.append)
    source = "__global__ void k(int n);"
    parse_cuda_signature(source, "k", structs=[checked])
    assert seen == [source]


def test_enumerations_and_their_names():
    source = "namespace n { enum class Kind : short { a }; } enum Sign { minus = -1, plus = 1 };"
    found = parse_cuda_signature(f"{source} __global__ void k(n::Kind a, Sign* b);", "k")
    assert [(one.ctype, one.dtype) for one in found] == [("n::Kind", np.dtype("i2")), ("Sign", np.dtype("i4"))]
    message = refused("enum E { a = sizeof(float3) }; __global__ void k(E e);")
    assert "the values of the enumeration 'E' can't be told" in message
    assert "write 'enum E : int'" in message
    message = refused("enum E { a = -1, b = 0xffffffffffffffff }; __global__ void k(E e);")
    assert "the values of the enumeration 'E' can't be told" in message  # compilers take 128 bits


def test_names_that_the_source_defines_come_before_those_of_libraries():
    source = "typedef float half; typedef long long int64_t; __global__ void k(half* a, int64_t b);"
    a, b = parse_cuda_signature(source, "k")
    assert (a.ctype, a.dtype) == ("float", np.dtype("f4"))
    assert (b.ctype, b.dtype) == ("int64_t", np.dtype("i8"))


def test_unnamed_parameters_are_called_by_position():
    source = "__global__ void k(int, double* _2, float, const int*);"
    assert [one.name for one in parse_cuda_signature(source, "k")] == ["_0", "_2", "__2", "_3"]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("", []),
        ("void f(); __device__ int g();", []),
        ("// __global__ void k();\n/* __global__ void k(); */", []),
        ('extern "C" __global__ void __launch_bounds__(256) k(double* x){}', ["k"]),
        ("__global__ void b(); __global__ void a(); __global__ void b() {}", ["b", "a"]),
        ("template <typename T> __global__ void k(T* x);", ["k"]),
        ("namespace n { __global__ void k(); }", ["k"]),
        ("namespace n { __global__ void k(); __global__ void l(); } __global__ void k(); ", ["n::k", "l", "k"]),
        ("#define KERNEL __global__ void\nKERNEL k();", ["k"]),
        ("#define KERNEL(n) __global__ void n\nKERNEL(k)();", []),
        ("__global__ int k();", []),
        ("#if 0\n__global__ void k();\n#else\n__global__ void l();\n#endif", ["l"]),
        (
            "#ifdef A\n__global__ void k() {\n#else\n__global__ void l() {\n#endif\n}\n__global__ void m();",
            ["k", "l", "m"],
        ),
        ("__global__ void k(", []),
        ("int __global__", []),
    ],
)
def test_names(source, names):
    assert cuda_kernel_names(source) == names


def test_names_depend_on_definitions():
    source = "#ifdef A\n__global__ void k();\n#else\n__global__ void l();\n#endif"
    assert cuda_kernel_names(source) == ["k", "l"]
    assert cuda_kernel_names(source, defines={"A": 1}) == ["k"]
    assert cuda_kernel_names(source, defines={}) == ["l"]


def test_a_kernel_depends_on_definitions():
    source = """
    #ifdef SINGLE
    typedef float real;
    #else
    typedef double real;
    #endif
    #if DIMENSIONS == 3
    __global__ void k(real* x, real* z) {
    #else
    __global__ void k(real* x) {
    #endif
    }
    """
    for defines, ctypes in (
        ({}, ["double"]),
        ({"SINGLE": True, "DIMENSIONS": 3}, ["float", "float"]),
        ({"SINGLE": None, "DIMENSIONS": "1 + 2"}, ["double", "double"]),
    ):
        assert [one.ctype for one in parse_cuda_signature(source, "k", defines=defines)] == ctypes
    assert "'real' means several types (lines 3 and 5), depending on '#ifdef SINGLE'" in refused(source)
    message = refused(source, defines={"SINGLE": None, "DIMENSIONS": "__UNKNOWN__"})
    assert "they depend on '#if DIMENSIONS == 3'; say in defines={...}" in message


def test_one_definition_is_preferred_to_declarations_of_other_types():
    source = "__global__ void k(float* x); __global__ void k(double* x) {} __global__ void k(int);"
    assert parse_cuda_signature(source, "k")[0].ctype == "double"


def test_overloads_are_refused_with_both_places():
    message = refused("__global__ void k(int x) {}\n__global__ void k(const double* x) {}", filename="a.cu")
    assert message == (
        "parse_cuda_signature: a.cu:2:17: the kernel 'k' is there with other parameters at 1:17; give the overloads "
        "different names."
    )


def test_qualified_names():
    source = """
    __global__ void k(int a);
    namespace n { __global__ void k(float a); namespace m { __global__ void l(bool a); } }
    """
    assert parse_cuda_signature(source, "k")[0].ctype == "int"
    assert parse_cuda_signature(source, "::k")[0].ctype == "int"
    assert parse_cuda_signature(source, "n::k")[0].ctype == "float"
    for name in ("l", "m::l", "n::m::l", "::n::m::l"):
        assert parse_cuda_signature(source, name)[0].ctype == "bool"
    assert "there is no kernel 'n::l'; its kernels are k, l" in refused(source, "n::l")
    assert "there is no kernel '::m::l'" in refused(source, "::m::l")


@pytest.mark.parametrize(
    ("source", "name", "ctypes"),
    [
        ("namespace a { inline namespace b { inline namespace c { KERNEL(int); } } }", "a::k", ["int"]),
        ("namespace a { inline namespace b { inline namespace c { KERNEL(int); } } }", "a::c::k", ["int"]),
        ("namespace a { inline namespace b { inline namespace c { KERNEL(int); } } }", "b::k", ["int"]),
        ("namespace a::inline b { KERNEL(int); }", "a::k", ["int"]),
        ("inline namespace a { typedef int T; enum { N = 2 }; } KERNEL(a::T x[a::N], T y);", "k", ["int", "int"]),
        ("namespace a { typedef int T; inline namespace b { typedef float T; KERNEL(T); } }", "k", ["float"]),
        ("namespace a { inline namespace v { } namespace v { typedef int T; } KERNEL(T); }", "a::k", ["int"]),
        (
            "namespace a { inline namespace v { namespace c { typedef int T; } } namespace c { KERNEL(T); } }",
            "k",
            ["int"],
        ),
        ("namespace a { namespace { typedef int T; KERNEL(T); } }", "a::k", ["int"]),
        (
            "namespace a { inline namespace b { typedef int T; KERNEL(T); } } __global__ void a::k(T x) { }",
            "k",
            ["int"],
        ),
        (
            "namespace a { inline namespace b { KERNEL(int); } inline namespace c { KERNEL(float); } }",
            "c::k",
            ["float"],
        ),
        ("namespace a { inline namespace b { KERNEL(int); } namespace c { KERNEL(float); } }", "a::k", ["int"]),
        ("enum E { A = 2 }; enum struct F { A = 3 }; KERNEL(Array1D<int> x, S<E::A, F::A> y);", "k", None),
    ],
)
def test_inline_and_unnamed_namespaces(source, name, ctypes):
    """Names may leave them out, and what is in them comes first inside."""
    source = source.replace("KERNEL", "__global__ void k")
    structs = [struct("S<2, 3>", v="f8")]
    found = [one.ctype for one in parse_cuda_signature(source, name, structs=structs)]
    assert found == (ctypes or ["Array1D<int>", "S<2, 3>"])


def test_kernels_that_inline_namespaces_leave_ambiguous():
    source = (
        "namespace a { inline namespace b { __global__ void k(int); } inline namespace c { __global__ void k(); } }"
    )
    assert cuda_kernel_names(source) == ["a::b::k", "a::c::k"]
    assert "several namespaces have a kernel 'a::k'; pass 'a::b::k' or 'a::c::k' as its name" in refused(source, "a::k")
    source = "namespace a { inline namespace b { __global__ void k(int); } __global__ void k(float); }"
    assert "several namespaces have a kernel 'a::k'; C++ does not tell them apart either" in refused(source, "a::k")
    assert parse_cuda_signature(source, "a::b::k")[0].ctype == "int"
    template = source.replace("__global__ void k(float)", "template <class T> __global__ void k(T)")
    assert parse_cuda_signature(template, "a::k", template_args=["short"])[0].ctype == "short"


def test_a_kernel_is_told_once_and_by_a_name_that_means_no_other():
    source = "inline namespace a { __global__ void k(int); } __global__ void a::k(int) { } namespace b { KERNEL }"
    assert cuda_kernel_names(source.replace("KERNEL", "")) == ["k"]
    assert cuda_kernel_names(source.replace("KERNEL", "__global__ void k();")) == ["k", "b::k"]


@pytest.mark.parametrize("other", ["typedef int Particle;", "using Particle = int;", "enum Particle : int { a };"])
def test_a_nearer_type_of_a_structs_name_is_that_type(other):
    source = f"struct Particle {{ double x; int cell; }}; namespace n {{ {other} __global__ void k(Particle p); }}"
    (found,) = parse_cuda_signature(source, "k", structs=[PARTICLE])
    assert (found.struct, found.size) == (None, 4)
    source += " namespace n { __global__ void l(::Particle p); }"
    (found,) = parse_cuda_signature(source, "l", structs=[PARTICLE])
    assert found.struct is PARTICLE


@pytest.mark.parametrize(
    "alias", ["typedef struct Particle Particle;", "using far::Particle;", "typedef Body Particle;"]
)
def test_a_struct_may_be_given_under_the_name_of_an_alias_of_what_headers_define(alias):
    (found,) = parse_cuda_signature(f"{alias} __global__ void k(Particle p);", "k", structs=[PARTICLE])
    assert found.struct is PARTICLE


def test_what_is_advised_for_a_struct_can_be_written():
    source = "enum Kind : short { a }; struct S { Kind kind; Kind more[2]; const Kind* all; Array1D<Kind> view; };"
    message = refused(f"{source} __global__ void k(S s);")
    assert '[("kind", "short"), ("more", "short[2]"), ("all", "const short*"), ("view", "Array1D<short>")]' in message


def test_templates():
    source = "template <typename T, int N = 3, typename U = T> __global__ void k(T* x, U y, Array1D<const U> z);"
    for arguments, ctypes in (
        ([np.float32], ["float", "float", "Array1D<float>"]),
        (["unsigned int", 4], ["unsigned int", "unsigned int", "Array1D<unsigned int>"]),
        ([float, np.int64(4), np.dtype("i8")], ["double", "long long", "Array1D<long long>"]),
        ([complex, True, bool], ["complex<double>", "bool", "Array1D<bool>"]),
    ):
        assert [one.ctype for one in parse_cuda_signature(source, "k", template_args=arguments)] == ctypes
    assert "has 3 template parameter(s), and 0 are given; give one for 'T' too" in refused(source, template_args=[])
    assert "and 4 are given; leave out the rest" in refused(source, template_args=["int"] * 4)
    assert "is a template with 3 parameter(s); pass template_args" in refused(source)
    assert "is no template; leave out template_args" in refused("__global__ void k();", template_args=[])
    assert "the type 'Foo' is not known" in refused(source, template_args=["Foo"])
    assert "holds int of 16610 bits; integers of C++" in refused(source, template_args=["int", 10**5000])
    for single, text in (
        ({"template_args": "int"}, r"pass \['int'\]"),
        ({"structs": 3}, r"pass structs=\[struct\]"),
    ):
        with pytest.raises(ArgumentTypeError, match=f"parse_cuda_signature: argument .* must be .*; {text}"):
            parse_cuda_signature(source, "k", **single)
    assert "the template argument '3' is no type" not in refused(source, template_args=["3"])
    with pytest.raises(
        ArgumentTypeError, match=r"argument 'template_args' holds b'x', which is no type of CUDA; pass a dtype"
    ):
        parse_cuda_signature(source, "k", template_args=[b"x"])
    with pytest.raises(ArgumentError, match=r"'template_args' holds <class 'numpy.longdouble'>, which is no type"):
        parse_cuda_signature(source, "k", template_args=[np.longdouble])


def test_a_parameter_may_be_called_like_a_template_parameter_of_another():
    source = "template <typename T> __global__ void a(T* x); __global__ void k(double* T, int n);"
    assert [one.name for one in parse_cuda_signature(source, "k")] == ["T", "n"]


@pytest.mark.parametrize(
    ("head", "bounds"),
    [
        ("__global__ void", ()),
        ("__global__ void __launch_bounds__(256)", (256,)),
        ("__launch_bounds__(128, 4) __global__ void", (128, 4)),
        ("__global__ __launch_bounds__(64, 2, 8) void", (64, 2, 8)),
        ("constexpr int N = 32; __global__ void __launch_bounds__(N * 4)", (128,)),
        ("#define N 32\n__global__ void __launch_bounds__(N << 1, sizeof(int))", (64, 4)),
        ("__global__ void __launch_bounds__(64, sizeof(dim3))", (64, None)),
        ("enum { N = 96 }; __global__ void __launch_bounds__(N)", (96,)),
        ("__global__ void __launch_bounds__(max(3, 4))", (None,)),
    ],
)
def test_launch_bounds_are_kept(head, bounds):
    declaration = kernel_declaration(f"{head} k(int n);", "k")
    assert declaration.launch_bounds == bounds
    assert not declaration.is_template


def test_launch_bounds_of_a_template():
    source = "\ntemplate <int N, int M = N / 2>\n__global__ void __launch_bounds__(N, M) k(int n);"
    declaration = kernel_declaration(source, "k", template_args=[64])
    assert declaration.launch_bounds == (64, 32)
    assert declaration.is_template
    assert (declaration.line, declaration.column) == (3, 41)


def test_what_was_not_found_and_why():
    assert refused("\n  void k();").startswith("parse_cuda_signature: <source>:2:8: 'k' is no kernel here; declare it")
    assert "it has no __global__ function" in refused("")
    assert "this is the name of a file, not source code; read it with Path(...).read_text()" in refused("kernels/f.cu")
    assert "<source>:1:26: the '<' has no '>'" in refused("__global__ void k(Array1D<double x);")
    assert "the parameters of 'k' have no end; write ')'" in refused("__global__ void k(int x;")
    message = refused("#define MAKE(n) __global__ void n(int x)\nMAKE(k) {}", filename="m.cu")
    assert message.startswith("parse_cuda_signature: m.cu:1:1: there is no kernel 'k', but the macro MAKE(...)")
    message = refused("#if 0\n__global__ void k();\n#endif")
    assert message.startswith("parse_cuda_signature: <source>:2:17: 'k' stands in a block")


def test_work_that_grows_without_end_is_refused():
    doubling = "".join(f"typedef x{i + 1} x{i}; typedef x{i + 1} x{i}; " for i in range(40))
    message = refused(f"{doubling} typedef int x40; __global__ void k(x0 x);")
    assert "the type is nested too deeply, or defined by itself; write it out" in message
    assert "defined by itself" in refused("typedef a b; typedef b a; __global__ void k(a x);")
    sums = ", ".join(f"int N{i + 1} = N{i} + N{i}" for i in range(40))
    source = f"template <int N0, {sums}> __global__ void __launch_bounds__(N40) k(int x);"
    assert kernel_declaration(source, "k", template_args=[1]).launch_bounds == (None,)
    constants = "".join(f"constexpr long long c{i} = c{i + 1} + c{i + 1};" for i in range(40))
    source = f"{constants} const int c40 = 1; __global__ void __launch_bounds__(c0) k(int x);"
    assert kernel_declaration(source, "k").launch_bounds == (2**40,)


def test_the_size_of_all_parameters_is_limited():
    large = struct("Large", v="4000f8")
    source = "struct Large { double v[4000]; }; __global__ void k(Large a, char c, double dMORE);"
    assert len(parse_cuda_signature(source.replace("MORE", ""), "k", structs=[large])) == 3
    message = refused(source.replace("MORE", ", Large e"), structs=[large])
    assert "the parameters of 'k' take 64016 bytes, and a device accepts 32764" in message
    assert "pass a pointer" in message


def test_arguments_of_wrong_types():
    with pytest.raises(
        ArgumentTypeError, match=r"argument 'source' must be the source code as str, got bytes; read a file"
    ):
        parse_cuda_signature(b"", "k")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match=r"argument 'name' must be the name of a kernel as str, got int"):
        parse_cuda_signature("", 3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match=r"argument 'structs' holds str; pass CudaStruct objects"):
        parse_cuda_signature("", "k", structs="S")
    arguments = type("Params", (), {"struct": None})
    with pytest.raises(ArgumentTypeError, match=r"'structs' holds the class Params; pass its struct, Params\.struct"):
        parse_cuda_signature("__global__ void f();", "f", structs=[arguments])
    with pytest.raises(ArgumentError, match=r"two structs of the name 'Particle'; keep one"):
        parse_cuda_signature("", "k", structs=[PARTICLE, struct("Particle", x="f4")])
    with pytest.raises(ArgumentTypeError, match=r"argument 'defines' must map .* for -DNAME=3 pass \{'NAME': 3\}"):
        parse_cuda_signature("", "k", defines=["A"])  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match=r"cuda_kernel_names: argument 'source' must be the source code"):
        cuda_kernel_names(None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"cuda_kernel_names: a.cu:1:3: the comment that starts here has no end"):
        cuda_kernel_names("  /*", filename="a.cu")


@pytest.mark.parametrize(
    ("dtype", "ctype"),
    [
        *((bool, "bool"), ("int8", "signed char"), ("uint8", "unsigned char"), ("int16", "short")),
        *(("uint16", "unsigned short"), ("int32", "int"), ("uint32", "unsigned int"), ("int64", "long long")),
        *(("uint64", "unsigned long long"), ("float16", "__half"), ("float32", "float"), ("float64", "double")),
        *(("complex64", "complex<float>"), ("complex128", "complex<double>"), (None, "double")),
        *(
            (np.longlong, "long long"),
            (np.uintp, "unsigned long long"),
            (np.dtype("f4"), "float"),
            (complex, "complex<double>"),
        ),
    ],
)
def test_ctype_of(dtype, ctype):
    assert ctype_of(dtype) == ctype
    scalar = scalar_type(ctype)
    assert scalar is not None
    assert scalar.dtype == np.dtype(dtype)


def test_dtypes_without_a_c_type():
    for dtype in (np.longdouble, np.clongdouble, ">f8", "U3", object, "M8[s]", [("x", "f8")], "V2"):
        with pytest.raises(ArgumentError, match=r"^ctype_of: argument 'dtype' is .*, which no C type of CUDA holds; "):
            ctype_of(dtype)
    with pytest.raises(ArgumentTypeError, match="ctype_of: argument 'dtype'"):
        ctype_of("garbage")


def test_sizes_and_alignments_are_those_of_nvidias_compiler():
    """Everything but half precision and cuComplex, whose headers NVRTC's wheel does not have."""
    others = {
        "half",
        "__half",
        "half2",
        "__half2",
        "nv_bfloat16",
        "__nv_bfloat16",
        "ssize_t",
        "uint",
        "ushort",
        "ulong",
    }
    host = {name for name in NAMED_TYPES if name.endswith("_t") or name.startswith("cu")}
    names = sorted(set(NAMED_TYPES) - others - host)
    words = ["bool", "char", "short", "int", "long", "unsigned long", "long long", "float", "double", "unsigned char"]
    assert len(names) > 45
    checks = []
    for name in [*names, *words]:
        scalar = scalar_type(name)
        assert scalar is not None
        assert scalar.dtype is not None
        checks.append(f'static_assert(sizeof({name}) == {scalar.dtype.itemsize}, "size of {name}");')
        checks.append(f'static_assert(alignof({name}) == {scalar.alignment}, "alignment of {name}");')
    compile_cuda("\n".join(checks))


def test_nvidias_compiler_accepts_each_position_of_attributes():
    heads = re.findall(
        r"^(?:__\w+__|static|extern \"C\").*void.* (\w+)\(double\* x\) \{\}$",
        source := """
extern "C" __global__ void __launch_bounds__(256) a(double* x) {}
__global__ __launch_bounds__(128, 4) void b(double* x) {}
__launch_bounds__(64) __global__ void c(double* x) {}
static __global__ void __launch_bounds__(64) d(double* x) {}
__global__ static void e(double* x) {}
""",
        re.MULTILINE,
    )
    assert cuda_kernel_names(source) == heads == ["a", "b", "c", "d", "e"]
    compile_cuda(source)


def test_the_public_names():
    assert {"CudaParameter", "ctype_of", "cuda_kernel_names", "parse_cuda_signature"} <= set(xp.cuda.__all__)
