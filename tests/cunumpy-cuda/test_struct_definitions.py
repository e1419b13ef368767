"""The members of structs as a source defines them, or why they can't be compared."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

from cpp_compiler import compiler
from cuda_signatures import SHIM
from cunumpy.cuda._structs import member, struct_definition
from cunumpy.errors import ArgumentError


def members(source: str, name: str = "S", **options) -> list[tuple[str, str]]:
    """Give names and types, written as a field of a struct is."""
    found = struct_definition(source, name, **options)
    assert found is not None
    assert found.problem is None, found.problem
    listed = []
    for one in found.members:
        extents = "".join(f"[{extent}]" for extent in ([] if one.dtype is None else one.dtype.shape))
        listed.append((one.name, f"{'const ' if one.const else ''}{one.ctype}{'*' * one.pointer}{extents}"))
    return listed


def problem(source: str, name: str = "S", **options) -> str:
    found = struct_definition(source, name, **options)
    assert found is not None
    assert found.members == ()
    assert found.problem is not None
    return found.problem


LAYOUTS = [
    ("struct S { double x; int n; };", [("x", "double"), ("n", "int")]),
    ("struct S { int a, b; };", [("a", "int"), ("b", "int")]),
    ("struct S { double *a, b, c[3]; };", [("a", "double*"), ("b", "double"), ("c", "double[3]")]),
    (
        "struct S { const float* a; float const* b; float* const c; };",
        [("a", "const float*"), ("b", "const float*"), ("c", "float*")],
    ),
    ("struct S { double m[2][3]; char t[4 * 2 + 1]; };", [("m", "double[2][3]"), ("t", "char[9]")]),
    ("class S { public: int a; private: double b; };", [("a", "int"), ("b", "double")]),
    ("typedef struct { int a; } S;", [("a", "int")]),
    ("typedef struct tag { int a; } S, *P;", [("a", "int")]),
    ("struct S final { int a; };", [("a", "int")]),
    ("struct [[maybe_unused]] S { int a [[maybe_unused]]; };", [("a", "int")]),
    ("struct S { int a = 3; double b{1.5}; bool c = (1 < 2); };", [("a", "int"), ("b", "double"), ("c", "bool")]),
    (
        "struct S { S() : a(1), b{2} { a = 2; } S(int x); ~S() {} int a; int f() const { return a; } double b; };",
        [("a", "int"), ("b", "double")],
    ),
    ("struct S { bool operator==(const S& o) const; double operator()(int i) { return i; } int a; };", [("a", "int")]),
    (
        "struct S { static int count; static constexpr int N = 3; using T = int; typedef int U; int a; };",
        [("a", "int")],
    ),
    (
        "struct S { template <class T> T get() { return T(); } friend void f(S) { } enum { A, B }; int a; };",
        [("a", "int")],
    ),
    ('struct S { struct Inner { int z; }; static_assert(sizeof(int) == 4, ""); int a; };', [("a", "int")]),
    ("struct S { mutable int a; volatile double b; };", [("a", "int"), ("b", "double")]),
    ("typedef double real; struct S { real x; const real* y; };", [("x", "double"), ("y", "const double*")]),
    ("#define N 3\nconstexpr int M = N + 1; struct S { int a[N], b[M]; };", [("a", "int[3]"), ("b", "int[4]")]),
    ("typedef float triple[3]; struct S { triple v; };", [("v", "float[3]")]),
    ("typedef float triple[3]; struct S { triple v[2]; };", [("v", "float[2][3]")]),
    (
        "const int N{2}; constexpr unsigned char M = 258; struct S { int a[N], b[M]; };",
        [("a", "int[2]"), ("b", "int[2]")],
    ),
    (
        "enum { K = sizeof(double), J = K - 9 < 0 ? 1 : 3 }; enum { L = K - 9 < 0 ? 1 : 3 };"
        "struct S { char a[K], b[J], c[L]; };",
        [("a", "char[8]"), ("b", "char[3]"), ("c", "char[1]")],
    ),
    (
        "struct S { Array2D<double> a; CArray1D<const int> b; };",
        [("a", "Array2D<double>"), ("b", "const CArray1D<int>")],
    ),
    (
        "struct S { complex<double> z; double2 v; __half h; };",
        [("z", "complex<double>"), ("v", "double2"), ("h", "__half")],
    ),
    (
        "struct S { void* p; const void* q; unsigned long n; };",
        [("p", "void*"), ("q", "const void*"), ("n", "unsigned long")],
    ),
    ("enum class E : short { a }; struct S { E e; };", [("e", "E")]),
    ("namespace n { struct S { int a; }; }", [("a", "int")]),
    ("struct S; struct S { int a; }; void f(struct S s);", [("a", "int")]),
    ("struct S { int f(int a) { return a; } int g() const noexcept; double d; };", [("d", "double")]),
]


@pytest.mark.parametrize(("source", "expected"), LAYOUTS)
def test_members(source, expected):
    assert members(source) == expected


def test_offsets_are_the_compilers(tmp_path):
    """The dtype made of the members, aligned as C does, has the layout that a C++ compiler gives."""
    plain = [(source, fields) for source, fields in LAYOUTS if "Array" not in source and "complex" not in source]
    text, expected = [SHIM], []
    for number, (source, _) in enumerate(plain):
        text += [f"namespace source_{number} {{", source.replace("private:", ""), "}"]
        text += ["#undef N"] if "#define N" in source else []
    text.append("int main() {")
    for number, (source, fields) in enumerate(plain):
        name = "n::S" if "namespace n" in source else "S"
        for field, _ in fields:
            text.append(f'std::printf("%zu ", offsetof(source_{number}::{name}, {field}));')
        text.append(f'std::printf("%zu\\n", sizeof(source_{number}::{name}));')
        found = struct_definition(source, "S")
        assert found is not None
        listed = [(one.name, "u8" if one.pointer else one.dtype) for one in found.members]
        dtype = np.dtype(listed, align=True)
        expected.append(" ".join(str(dtype.fields[field][1]) for field, _ in fields) + f" {dtype.itemsize}")
    text.append("}")
    path = tmp_path / "layouts.cpp"
    path.write_text("\n".join(text))
    program = tmp_path / "layouts"
    done = subprocess.run(
        [*compiler(), "-std=c++17", "-w", "-fpermissive", str(path), "-o", str(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines() == expected


@pytest.mark.parametrize(
    ("source", "place", "words"),
    [
        ("struct S { unsigned a : 3; };", "1:23", "bit-fields"),
        ("struct S { int a; double& r; };", "1:25", "it is a reference; write 'double* r'"),
        ("struct B { int b; };\nstruct S : B { int a; };", "2:1", "base classes"),
        ("struct S { int a; virtual void f(); };", "1:19", "virtual functions"),
        ("union S { int a; };", "1:1", "union"),
        ("template <int N> struct S { int a[N]; };", "1:18", "template"),
        ("#pragma pack(1)\nstruct S { char a; int b; };", "2:1", "#pragma pack"),
        ("struct __attribute__((packed)) S { char a; int b; };", "1:1", "packed"),
        ("struct S { alignas(16) double x; };", "1:12", "alignment of its own"),
        ("struct S { union { int a; float b; }; };", "1:12", "union without a name"),
        ("struct S { struct { int a; } b; };", "1:12", "defined inside"),
        ("struct S { void (*f)(int); };", "1:17", "pointer to a function"),
        ("struct S { double** p; };", "1:18", "pointer to pointers"),
        ("struct S { Other o; };", "1:12", "'Other' is not known"),
        ("struct S { int a[sizeof(dim3)]; };", "1:16", "its extents can't be told"),
        ("struct S { double* p[3]; };", "1:18", "array of pointers"),
        ("#define FIELD(n) int n\nstruct S { FIELD(a); };", "2:17", "macro with parameters"),
        ("struct S { int a;\n#ifdef X\nint b;\n#endif\n};", "2:1", "its members depend on '#ifdef X'"),
        ("#ifdef X\nstruct S {\n#else\nstruct alignas(16) S {\n#endif\nint a; };", "4:1", "another time, differently"),
        ("struct S { using T = int; T a; };", "1:27", "'T' is not known"),
        ("#ifdef X\nstruct S { int a; };\n#else\nstruct S { float a; };\n#endif", "4:1", "another time, differently"),
    ],
)
def test_what_can_not_be_compared_says_where_and_why(source, place, words):
    text = problem(source, filename="s.cuh")
    assert text.startswith(f"s.cuh:{place}: ")
    assert words in text


def test_packing_ends():
    assert members("#pragma pack(push, 1)\nstruct P { char a; int b; };\n#pragma pack(pop)\nstruct S { int a; };") == [
        ("a", "int")
    ]


def test_an_alignment_is_told():
    for source, alignment in (
        ("struct S { double x; };", None),
        ("struct __align__(16) S { double x; };", 16),
        ("struct alignas(32) S { double x; };", 32),
        ("#define A 8\nstruct __attribute__((aligned(A * 2))) S { double x; };", 16),
    ):
        found = struct_definition(source, "S")
        assert found is not None
        assert found.problem is None
        assert found.alignment == alignment
    assert "alignment can't be told" in problem("struct alignas(double) S { double x; };")


def test_no_definition():
    for source in (
        "",
        "struct S;",
        "struct S* f();",
        "// struct S { int a; };",
        'const char* s = "struct S { int a; };";',
        "struct T { int a; };",
        "S s{1};",
    ):
        assert struct_definition(source, "S") is None


def test_the_same_definition_twice_and_qualified_names():
    assert members("#ifdef X\nstruct S { int a; };\n#else\nstruct S { int a; };\n#endif") == [("a", "int")]
    source = "namespace n { struct S { int a; }; } namespace m { struct S { float a; }; }"
    assert members(source, "n::S") == [("a", "int")]
    assert "differently" in problem(source)


def test_members_that_are_structs():
    inner = SimpleNamespace(name="Inner", dtype=np.dtype([("x", "f8"), ("n", "i4")], align=True))
    found = struct_definition(
        "struct Inner { double x; int n; }; struct S { Inner i, *p, v[2]; };", "S", structs=[inner]
    )
    assert found is not None
    i, p, v = found.members
    assert i.struct is p.struct is v.struct is inner
    assert (i.size, p.size, v.size, v.alignment) == (16, 8, 32, 8)


@pytest.mark.parametrize(
    ("ctype", "expected"),
    [
        ("double", "double"),
        ("const double *", "const double*"),
        ("double[]", "double*"),
        ("double[3]", "double[3]"),
        ("float[2][3]", "float[2][3]"),
        ("struct Array2D< double >", "Array2D<double>"),
        ("unsigned", "unsigned"),
        ("volatile int* __restrict__", "int*"),
        ("thrust::complex<float>", "complex<float>"),
    ],
)
def test_the_type_of_one_field(ctype, expected):
    one = member(ctype, "x")
    extents = "".join(f"[{extent}]" for extent in one.dtype.shape)
    assert f"{'const ' if one.const else ''}{one.ctype}{'*' * one.pointer}{extents}" == expected


@pytest.mark.parametrize(
    ("ctype", "words"),
    [
        ("", "there is no type"),
        ("double x", "'double x' is not a type alone"),
        ("double**", "pointer to pointers"),
        ("double&", "reference"),
        ("Foo", "'Foo' is not known"),
        ("int[n]", "extents can't be told"),
        ("int[0]", "extents can't be told"),
        ("int : 3", "not a type alone"),
        ("void", "it has the type void"),
        ("3", "there is '3' where a type should be"),
        ("/*", "has no end"),
    ],
)
def test_what_is_no_type_of_a_field(ctype, words):
    with pytest.raises(ArgumentError) as caught:
        member(ctype, "x")
    assert str(caught.value).startswith(f"CudaStruct: field 'x' of type {ctype!r}: ")
    assert words in str(caught.value)
