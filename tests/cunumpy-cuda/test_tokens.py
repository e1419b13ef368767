"""Words, places and conditions of a source, as a preprocessor sees them."""

from __future__ import annotations

import pytest

from cunumpy.cuda._integers import evaluate
from cunumpy.cuda._tokens import SourceError, Tokens, words_of


def words(source: str, defines: dict[str, str | None] | None = None) -> str:
    return " ".join(Tokens(source, defines).words)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a/**/b", "a b"),
        ("a // b\nc", "a c"),
        ("a // b \\\n c\nd", "a d"),
        ("/* a\n * b */ c", "c"),
        ("x = \"a // b\" + '\\'' + '\"';", "x = \"a // b\" + '\\'' + '\"' ;"),
        ('u8"a" L\'b\' R"(c " )" d', '"a" \'b\' "(c " )" d'),
        ('uR"x(a )" )y" )x" b', '"x(a )" )y" )x" b'),
        ("1'000'000 0x1Fp-3 .5e+10f 3.a", "1'000'000 0x1Fp-3 .5e+10f 3.a"),
        ("a::b ... && >>= <= <<", "a :: b ... && > >= <= <<"),
        ("ab\\\ncd e\\\r\nf", "abcd ef"),
        ("größe α_1 $x a$b", "größe α_1 $ x a$b"),
        ("\ufeffint x;", "int x ;"),
        ("a # b", "a # b"),
        ("", ""),
        ("\r\n \t\f\v", ""),
        ("don't", "don ' t"),
    ],
)
def test_words(source, expected):
    assert words(source) == expected


def test_a_raw_string_keeps_its_line_ends_and_other_lines_are_joined():
    assert words('a\\\nb R"(\\\n)" c\\\nd') == 'ab "(\\\n)" cd'
    assert words('// R"(\\\nstill a comment\na') == "a"


@pytest.mark.parametrize(
    ("source", "word", "place"),
    [
        ("a\n  b", "b", (2, 3)),
        ("\ufeffa b", "b", (1, 3)),
        ("a\r\nb", "b", (2, 1)),
        ("a \\\n b\nc", "b", (2, 2)),
        ("a \\\n b\nc", "c", (3, 1)),
        ("ab\\\ncd\\\n\\\nef g", "g", (4, 4)),
        ("/* \n\n */ a", "a", (3, 5)),
        ('R"(\n\n)" a', "a", (3, 4)),
        ("#define X a b\n  X", "b", (2, 3)),
    ],
)
def test_places_are_those_in_the_text_as_given(source, word, place):
    tokens = Tokens(source, None)
    assert tokens.position(tokens.offsets[tokens.words.index(word)]) == place


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("#define A x y\nA z", "x y z"),
        ("#define A B\n#define B c\nA", "c"),
        ("#define A A b\nA", "A b"),
        ("#define A B\n#define B A\nA B", "A B"),
        ("#define A\nx A y", "x y"),
        ("#define A 1\nA\n#undef A\nA", "1 A"),
        ("#define A 1\n#define A 2\nA", "2"),
        ("#define A(x) x\nA(3)", "A ( 3 )"),
        ("#define A (x)\nA", "( x )"),
        ("#define A a \\\n b // c\nA", "a b"),
        ("#/**/define /* */ A /* b */ c\nA", "c"),
        ('#define A "x"\nA "A"', '"x" "A"'),
        ("#define A B\n#define B(x) x\nA", "B"),
        ("#include <a.h> // it's\nx", "x"),
        ("#error don't\nx", "x"),
        ("x #define A 1\nA", "x # define A 1 A"),
        ("x /*\n*/ #define A 1\nA", "x # define A 1 A"),
        ("/*\n*/ #define A 1\nA", "1"),
    ],
)
def test_macros(source, expected):
    assert words(source) == expected


def test_macros_without_end_are_left_as_they_are():
    doubling = "".join(f"#define m{i} m{i + 1} m{i + 1}\n" for i in range(60))
    assert words(f"{doubling}m0") == "m0"
    chain = "".join(f"#define m{i} m{i + 1}\n" for i in range(5000))
    assert words(f"{chain}m0") == "m0"


CONDITIONS = [
    ("0", False),
    ("1", True),
    ("0x10 == 16 && 010 == 8 && 0b11 == 3 && 1'000u == 1000UL", True),
    ("1 + 2 * 3 == 7 && (1 + 2) * 3 == 9 && 7 - 2 - 1 == 4", True),
    ("-7 / 2 == -3 && -7 % 2 == -1 && 7 / -2 == -3", True),
    ("1 << 3 == 8", True),
    ("16 >> 2 >> 1 == 2", True),
    ("(6 & 3) == 2 && (6 | 3) == 7 && (6 ^ 3) == 5 && ~0 == -1", True),
    ("1 ? 0 : 1", False),
    ("0 ? 1 : 0 ? 1 : 3", True),
    ("!defined(GIVEN) || GIVEN < 3", False),
    ("defined GIVEN && GIVEN == 7", True),
    ("TWICE == 14", True),
    ("true && !false", True),
    ("defined(__CUDACC__)", True),
    ("defined(__cplusplus)", True),
    ("UNKNOWN", None),
    ("UNKNOWN || 1", True),
    ("UNKNOWN && 0", False),
    ("0 && UNKNOWN", False),
    ("UNKNOWN || 0", None),
    ("defined(UNKNOWN)", None),
    ("__cplusplus >= 201103L", None),
    ("CALL(3) > 2", None),
    ("__has_include(<a.h>)", None),
    ("1 / 0", None),
    ("1 << 100", None),
    ("'a' == 97 && '\"' == 34", True),
    ("'\\\\n' == 10", None),
    ("not 0 and (5 bitor 2) == 7 and 1 not_eq 2 or 0", True),
    ("-1 > 0u", True),
    ("1u - 2 > 0", True),
    ("2u > 1", True),
    ("1.5 > 1", None),
    ("", None),
    ("1 +", None),
    ("(1", None),
    ("1 2", None),
    (") 1", None),
]


@pytest.mark.parametrize(("condition", "expected"), CONDITIONS)
def test_conditions(condition, expected):
    source = f"#define GIVEN 7\n#define TWICE GIVEN * 2\n#if {condition}\nyes\n#else\nno\n#endif"
    assert words(source) == {True: "yes", False: "no", None: "yes no"}[expected]


def test_a_name_is_undefined_if_all_definitions_are_known():
    source = "#ifdef A\nyes\n#else\nno\n#endif"
    assert words(source) == "yes no"
    assert words(source, {}) == "no"
    assert words(source, {"A": ""}) == "yes"
    assert words(source, {"A": None}) == "no"
    assert words("#include <a.h>\n" + source, {}) == "yes no"
    assert words("#include <a.h>\n" + source, {"A": None}) == "no"
    assert words(source.replace("A", "__A__"), {}) == "yes no"
    assert words("#if A > 1\nyes\n#else\nno\n#endif", {"A": "1 + 1"}) == "yes"
    assert words("#undef A\n" + source, {"A": ""}) == "no"


def test_guards_and_default_values_count_as_undefined():
    assert words("#ifndef A_CUH\n#define A_CUH\nx\n#else\ny\n#endif") == "x"
    assert words("#if !defined(A_CUH)\n#define A_CUH\nx\n#endif\n#ifdef A_CUH\ny\n#endif") == "x y"
    default = "#ifndef REAL\n\n  // the default\n# define REAL double\n#endif\nREAL"
    assert words(default) == "double"
    assert words(default, {"REAL": "float"}) == "float"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("#if 1\na\n#elif 1\nb\n#else\nc\n#endif", "a"),
        ("#if 0\na\n#elif 1\nb\n#else\nc\n#endif", "b"),
        ("#if 0\na\n#elif 0\nb\n#else\nc\n#endif", "c"),
        ("#if X\na\n#elif 1\nb\n#else\nc\n#endif", "a b"),
        ("#if X\na\n#elif 0\nb\n#else\nc\n#endif", "a c"),
        ("#if 0\na\n#elif X\nb\n#else\nc\n#endif", "b c"),
        ("#if 1\na\n#elif 1 / 0 (\nb\n#endif", "a"),
        ("#if 0\n#if 1\na\n#else\nb\n#endif\n#else\nc\n#endif", "c"),
        ("#if X\n#if 0\na\n#else\nb\n#endif\n#endif", "b"),
        ("#ifdef X\n#define A 1\n#else\n#define A 2\n#endif\nA", "A"),
        ("#ifdef X\n#define A 1\n#endif\nA", "1"),
        ("#ifdef X\n#define A 1\n#endif\n#define A 2\nA", "2"),
        ("#define A 1\n#ifdef X\n#undef A\n#define A 2\n#endif\nA", "A"),
        ("#define A 1\n#ifdef X\n#undef A\n#endif\n#ifdef A\nx\n#else\ny\n#endif", "x y"),
        ("#if 0\ndon't \" ' #if\n#endif\na", "a"),
        ("#if 0\n#define A 1\n#endif\nA", "A"),
        ("#if 0\n/*\n#endif\n*/\n#else\nb\n#endif", "b"),
        ("#elifdef", None),
    ],
)
def test_branches(source, expected):
    if expected is None:
        with pytest.raises(SourceError):
            words(source)
    else:
        assert words(source) == expected


def test_undecided_branches_are_listed():
    tokens = Tokens("a\n#ifdef X\nb c\n#else\nd\n#endif\ne", None)
    assert [(one.start, one.stop, one.directive) for one in tokens.undecided] == [
        (1, 3, "#ifdef X"),
        (3, 4, "#ifdef X"),
    ]
    assert [(one.place, one.kind) for one in tokens.branches] == [(1, "if"), (3, "else"), (4, "endif")]
    assert tokens.ambiguous_macros == {}
    assert Tokens("#ifdef X\n#define A 1\n#else\n#define A 2\n#endif", None).ambiguous_macros.keys() == {"A"}


@pytest.mark.parametrize(
    ("source", "place", "words_of_message"),
    [
        ("a\n /* b", (2, 2), "the comment that starts here has no end; write"),
        ("#if 0\n /* b\n#endif", (2, 2), "comment"),
        ('a\n x R"(b', (2, 4), "the raw string that starts here has no end; write"),
        ("a\n#if 1\nb", (2, 1), "this condition has no end; write #endif"),
        (" #endif", (1, 2), "#endif without #if before it"),
        ("#else", (1, 1), "#else without #if"),
        ("#if 1\n#else\n#elif 1\n#endif", (3, 1), "#elif after #else"),
    ],
)
def test_what_has_no_end(source, place, words_of_message):
    with pytest.raises(SourceError) as caught:
        Tokens(source, None)
    assert (caught.value.line, caught.value.column) == place
    assert words_of_message in caught.value.message


def test_constant_expressions_with_names():
    values = {"a": 3, "n::b": 4}
    assert evaluate(words_of("a * n::b + 1"), values.get) == (13, 32, True)
    assert evaluate(words_of("a * c"), values.get) is None
    assert evaluate(words_of("f(a, 3)"), values.get) is None
    assert evaluate(words_of("(" * 3000 + "1" + ")" * 3000), values.get) in (None, (1, 32, True))
    assert evaluate(words_of("*".join(["99999999"] * 50)), values.get) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 << 31", -(2**31)),
        ("1u << 31", 2**31),
        ("1l << 31", 2**31),
        ("0u - 1", 2**32 - 1),
        ("-1 < 0u", 0),
        ("-1l < 0u", 1),
        ("0xFFFFFFFF + 1", 0),
        ("0x7FFFFFFF + 1", None),
        ("4294967295 + 1", 2**32),
        ("~0", -1),
        ("~0u", 2**32 - 1),
        ("true + true", 2),
        ("'a' + 1", 98),
        ("-7 / 2 * 10 + -7 % 2", -31),
        ("1 ? -1 : 0u", 2**32 - 1),
        ("(unsigned char)257 + int(3)", 4),
        ("static_cast<bool>(7)", 1),
        ("sizeof(double) * 2", 16),
        ("-2147483648 / -1", 2**31),
        ("(-2147483647 - 1) / -1", None),
        ("1 / 0", None),
        ("-1 << 1", None),
        ("1 << 32", None),
        ("(float)1", None),
        ("99999999999999999999", None),
    ],
)
def test_constant_expressions_have_the_types_of_cpp(text, value):
    found = evaluate(words_of(text), {"true": True}.get)
    assert (None if found is None else found.value) == value


def test_after_if_all_numbers_have_64_bits():
    assert words("#if 0xFFFFFFFF + 1 == 4294967296 && (1 == 1) << 40 > 0 && -1 > 0u\na\n#endif") == "a"
