"""Generated signatures agree with a C++ compiler; whatever else is given, there is an answer or an `ArgumentError`."""

from __future__ import annotations

import contextlib
import re
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cuda_signatures import Kernel, compiled_descriptions, described
from cunumpy.cuda import cuda_kernel_names, parse_cuda_signature
from cunumpy.cuda._structs import struct_definition
from cunumpy.errors import ArgumentError

WORDS = [
    *("char", "signed char", "unsigned char", "short", "unsigned short int", "int", "unsigned", "signed int", "long"),
    *("long unsigned", "long long int", "unsigned long long", "bool", "float", "double"),
]
NAMES = [
    *("std::int64_t", "::uint32_t", "size_t", "int8_t", "uintptr_t", "__half", "float3", "double2", "uchar4", "dim3"),
    *("complex<float>", "thrust::complex<double>", "cuDoubleComplex", "Alias", "Word", "Kind", "names::Inner"),
]
PREAMBLE = """
#define WORD long int
typedef double Alias; using Word = unsigned WORD; enum class Kind : short { one };
namespace names { typedef float Inner; enum { EXTENT = 3 }; }
"""


@st.composite
def base_types(draw, also=()):
    """Draw a type without pointers, as a list of words with a const among them or not."""
    if draw(st.booleans()):
        words = draw(st.permutations(draw(st.sampled_from(WORDS)).split()))
    else:
        words = [draw(st.sampled_from([*NAMES, *also]))]
    if draw(st.booleans()):
        words = [*words]
        words.insert(draw(st.integers(0, len(words))), "const")
    return " ".join(words)


@st.composite
def parameters(draw, name, also=()):
    if draw(st.integers(0, 5)) == 0:
        view = f"{draw(st.sampled_from(['Array', 'CArray']))}{draw(st.integers(1, 16))}D"
        const = draw(st.sampled_from(["", "const "]))
        return f"{const}{view}<{draw(base_types(also))}> {name}"
    base = draw(base_types(also))
    form = draw(
        st.sampled_from(
            ["{b} {n}", "{b}* {n}", "{b} *const {n}", "{b} *__restrict__ {n}", "{b} {n}[]", "{b} {n}[N + 2]"]
        )
    )
    if "*" in form and draw(st.integers(0, 9)) == 0:
        base = draw(st.sampled_from(["void", "const void", "void const"]))
    text = form.format(b=base, n=name)
    if form == "{b} {n}" and re.fullmatch(r"(const )?(int|double|bool|long|short|unsigned)( const)?", base):
        text += draw(st.sampled_from(["", " = 1", " = (1 < 2)", " = sizeof(int) > 3 ? 1 : 0"]))
    return text


ATTRIBUTES = ["", "", "", "[[maybe_unused]] ", "__attribute__((unused)) "]
SEPARATORS = [" ", " ", "\n", "\t", " /* ( */ ", ' // < "\n', " \\\n ", "\r\n", "/**/\n/*'*/"]
DIGRAPHS = {"[": "<:", "]": ":>", "{": "<%", "}": "%>"}
CONDITIONS = ["#if 1", "#if !defined(WORD) || 1", "#ifdef __cplusplus", "#if 3 > 2 && not 0", "%:if 1 << 2 == 4"]


@st.composite
def disguised(draw, text):
    """Write the same words in another way: comments, continued lines, digraphs, macros, conditions."""
    words = re.findall(r"__launch_bounds__\(.*?\)|\w+|::|->|&&|\|\||\S", text)
    definitions = []
    for number in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(words)))
        stop = draw(st.integers(start, min(start + 5, len(words))))
        definitions.append(f"#define MACRO_{number} {' '.join(words[start:stop])}\n")
        words[start:stop] = [f"MACRO_{number}"]
    if draw(st.booleans()):
        words = [DIGRAPHS.get(word, word) for word in words]
    if draw(st.booleans()):
        place = draw(st.integers(0, len(words) - 1))
        cut = draw(st.integers(1, max(1, len(words[place]) - 1)))
        words[place] = words[place][:cut] + "\\\n" + words[place][cut:]
    for _ in range(draw(st.integers(0, 2))):
        start = draw(st.integers(0, len(words)))
        stop = draw(st.integers(start, len(words)))
        words.insert(stop, "\n#else\n nothing ) { 'of this\n#endif\n")
        words.insert(start, f"\n{draw(st.sampled_from(CONDITIONS))}\n")
    separators = draw(st.lists(st.sampled_from(SEPARATORS), min_size=1, max_size=7))
    body = "".join(word + separators[number % len(separators)] for number, word in enumerate(words))
    return "".join(definitions) + body


@st.composite
def kernels(draw):
    """Draw a kernel with what stands before and after its name, and template arguments."""
    is_template = draw(st.booleans())
    also = ("T",) if is_template else ()
    listed, with_default = [], False
    for number in range(draw(st.integers(0, 6))):
        name = draw(st.sampled_from([f"x{number}", ""]))
        text = draw(st.sampled_from(ATTRIBUTES)) + draw(parameters(name, also))
        with_default = with_default or "=" in text
        if with_default and "=" not in text:
            continue
        listed.append(text)
    trailing = draw(st.booleans())
    returned = "auto" if trailing else "void"
    order = draw(st.permutations(["__global__", returned, "__launch_bounds__(32, 2)", "static", "inline"]))
    kept = [word for word in order if word in ("__global__", returned) or draw(st.booleans())]
    after = draw(st.sampled_from(["", " noexcept", " noexcept(sizeof(int) > 2)"])) + (" -> void" if trailing else "")
    before = "constexpr int N = 4;"
    if is_template:
        before = "template <typename T = short, int N = (3 > 2) + 1>"
        requirement = draw(st.sampled_from(["", "", " requires (N > 0)", " requires requires(T a) { a + a; }"]))
        if draw(st.booleans()):
            before += requirement
        else:
            after += requirement
    text = f"{before} {draw(st.sampled_from(ATTRIBUTES[:4]))} {' '.join(kept)} kernel({', '.join(listed)}){after} {{ }}"
    if draw(st.booleans()):
        text = f"namespace deep {{ {text} }} using deep::kernel;"
    arguments = (
        draw(st.lists(st.sampled_from(["double", "const int", "unsigned char"]), max_size=1)) if is_template else None
    )
    return PREAMBLE + draw(disguised(text)), arguments


# A failure is not made smaller, which would take a compilation a step; it names the kernel.
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.reuse, Phase.generate])
@given(st.lists(kernels(), min_size=40, max_size=40))
def test_generated_signatures_mean_what_the_compiler_says(generated):
    named = [
        Kernel(source, "kernel" if arguments is None else f"kernel<{', '.join(arguments)}>")
        for source, arguments in generated
    ]
    with tempfile.TemporaryDirectory() as folder:
        compiled = compiled_descriptions(named, Path(folder))
    for (source, arguments), expected in zip(generated, compiled, strict=True):
        assert cuda_kernel_names(source) == ["kernel"]
        found = parse_cuda_signature(source, "kernel", template_args=arguments)
        assert [described(parameter) for parameter in found] == expected, source


CORPUS = (Path(__file__).parent / "signatures" / "kernels.cu").read_text(encoding="utf-8")
STRUCTS = """
struct __align__(16) S final { double a, *b; int v[3][2] = {}; S() : a(1), b{0} { } bool operator()(int i) const; };
typedef struct tag { unsigned n : 3; } T; union U { int a; }; class V : S { public: virtual void f(); using X = int; };
template <int N> struct W { int a[N]; };
#pragma pack(push, 1)
struct P { enum { ONE } x; struct { int z; }; static int y; template <class T> void g() { } ~P() { } };
"""
PIECES = st.sampled_from(sorted(set(re.findall(r"\w+|\s|[^\w\s]", CORPUS + STRUCTS)))) | st.sampled_from(
    [
        "#if 0\n",
        "\n#else\n",
        "\n#endif\n",
        "\n#ifdef A\n",
        "\n#define A ",
        "\n#define A(x) ",
        "\\\n",
        '"',
        "'",
        'R"(',
        "/*",
        "*/",
        "\ufeff",
    ]
)
ENTRIES = [*re.split(r"^//! .*\n", CORPUS, flags=re.MULTILINE)[1:], STRUCTS]


@st.composite
def damaged_sources(draw):
    source = draw(st.sampled_from(ENTRIES))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(source)))
        stop = min(len(source), start + draw(st.integers(0, 12)))
        source = source[:start] + draw(PIECES | st.just("")) + source[stop:]
    return source


SOURCES = damaged_sources() | st.lists(PIECES, max_size=60).map(" ".join) | st.text(max_size=80)


@settings(max_examples=250, deadline=None)
@given(SOURCES, st.sampled_from([None, {}, {"A": "1"}, {"A": None, "T": "double"}]))
def test_nothing_but_an_argument_error_comes_out(source, defines):
    refusals = []

    def attempt(function, *arguments, **options):
        try:
            return function(*arguments, defines=defines, **options)
        except ArgumentError as error:
            refusals.append(str(error))

    names = attempt(cuda_kernel_names, source) or []
    for name in [*names, "kernel", "x"]:
        attempt(parse_cuda_signature, source, name)
        attempt(parse_cuda_signature, source, name, template_args=["double", 3][: len(source) % 3])
    for name in "STUVWP":
        attempt(struct_definition, source, name)
    assert all(re.search(r"<source>:\d+:\d+: ", refusal) for refusal in refusals)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 5000), st.sampled_from("([{<*&"))
def test_deep_nesting_ends_in_an_answer(depth, bracket):
    for source in (
        f"__global__ void k(int x = {bracket * depth});",
        f"__global__ void k({'Array1D<' * depth}double x);",
        f"#if {bracket * depth}1\n#endif\n__global__ void k(int{bracket * depth} x);",
        f"typedef k{depth} a; __global__ void k(a{bracket * depth}",
    ):
        with contextlib.suppress(ArgumentError):
            parse_cuda_signature(source, "k")
