"""NumPy's universal functions in C++, for `fuse`: what each does with elements of each kind of dtype.

Templates stand for expressions: ``{0}``, ``{1}`` and ``{2}`` are operands of the loop's type ``{T}``, ``{U}`` is the
unsigned integer that wraps for it, ``{f}`` what C adds to the names of its functions. float16 is calculated in float
and rounded after each function, as NumPy does.

Results are NumPy's bit for bit for what IEEE 754 or integers define. The other functions are those of the C library, or
of its vector library, where all errors measured (glibc 2.36, 1.5 10^6 arguments each) are below 3.5 ulp in double, and
below 3.3 in float but for exp and log, which are computed in double.
"""

from __future__ import annotations

import functools
import math
import platform
import re
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy.kernels._generated_code import C_TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

clip: np.ufunc = np._core.umath.clip  # type: ignore[attr-defined]

HALF, BOOL = np.dtype("float16"), np.dtype(bool)


def _c_name(name: str) -> dict[str, str]:
    return {"f": f"{name}{{f}}({', '.join(['{0}', '{1}'][: 2 if name in _TWO else 1])})"}


_TWO = ("pow", "atan2", "hypot")

_SAME = dict.fromkeys("biuf", "{0}")
_COMPLEX_PARTS = "{0}.real() != 0 || {0}.imag() != 0"


def _compared(sign: str) -> dict[str, str]:
    return dict.fromkeys("biuf", f"{{0}} {sign} {{1}}")


def _truth(text: str) -> dict[str, str]:
    """Return a logical function, whose operands are true or false."""
    numbers = text.format("({0} != 0)", "({1} != 0)")
    parts = text.format(f"({_COMPLEX_PARTS})", f"({_COMPLEX_PARTS.replace('0}.', '1}.')})")
    return {"b": text.format("{0}", "{1}"), "i": numbers, "u": numbers, "f": numbers, "c": parts}


def _wrapping(sign: str) -> str:
    return f"({{T}})(({{U}}){{0}} {sign} ({{U}}){{1}})"


_TEMPLATES: dict[np.ufunc, dict[str, str]] = {
    np.add: {
        "b": "{0} || {1}",
        "i": _wrapping("+"),
        "u": _wrapping("+"),
        "f": "{0} + {1}",
        "c": "{V}({0}.real() + {1}.real(), {0}.imag() + {1}.imag())",
    },
    np.subtract: {
        "i": _wrapping("-"),
        "u": _wrapping("-"),
        "f": "{0} - {1}",
        "c": "{V}({0}.real() - {1}.real(), {0}.imag() - {1}.imag())",
    },
    np.multiply: {
        "b": "{0} && {1}",
        "i": _wrapping("*"),
        "u": _wrapping("*"),
        "f": "{0} * {1}",
        "c": "cunumpy_fuse::product({0}, {1})",
    },
    np.true_divide: {"f": "{0} / {1}", "c": "cunumpy_fuse::quotient({0}, {1})"},
    np.floor_divide: dict.fromkeys("iu", "cunumpy_fuse::floor_quotient<{T}, {U}>({0}, {1})")
    | {"f": "cunumpy_fuse::floor_quotient({0}, {1})"},
    np.remainder: dict.fromkeys("iu", "cunumpy_fuse::remainder<{T}>({0}, {1})")
    | {"f": "cunumpy_fuse::remainder({0}, {1})"},
    np.fmod: dict.fromkeys("iu", "cunumpy_fuse::truncated_remainder<{T}>({0}, {1})")
    | {"f": "__builtin_fmod{f}({0}, {1})"},
    np.power: dict.fromkeys("iu", "cunumpy_fuse::power<{T}, {U}>({0}, {1})") | _c_name("pow"),
    np.float_power: _c_name("pow"),
    np.square: {
        "b": "{0}",
        "i": "({T})(({U}){0} * ({U}){0})",
        "u": "({T})(({U}){0} * ({U}){0})",
        "f": "{0} * {0}",
        "c": "cunumpy_fuse::product({0}, {0})",
    },
    np.reciprocal: {"f": "({T})1 / {0}"},
    np.sqrt: {"f": "__builtin_sqrt{f}({0})"},
    np.positive: {**_SAME, "c": "{0}"},
    np.negative: {
        "i": "({T})(0 - ({U}){0})",
        "u": "({T})(0 - ({U}){0})",
        "f": "-{0}",
        "c": "{V}(-{0}.real(), -{0}.imag())",
    },
    np.absolute: {
        "b": "{0}",
        "i": "{0} < 0 ? ({T})(0 - ({U}){0}) : {0}",
        "u": "{0}",
        "f": "__builtin_fabs{f}({0})",
        "c": "hypot{f}({0}.real(), {0}.imag())",
    },
    np.fabs: {"f": "__builtin_fabs{f}({0})"},
    np.conjugate: {**_SAME, "c": "{V}({0}.real(), -{0}.imag())"},
    np.sign: {
        "i": "({0} > 0) - ({0} < 0)",
        "u": "{0} > 0",
        "f": "{0} > 0 ? ({T})1 : {0} < 0 ? ({T})-1 : {0} == 0 ? ({T})0 : {0}",
    },
    np.heaviside: {"f": "{0} < 0 ? ({T})0 : {0} == 0 ? {1} : {0} > 0 ? ({T})1 : {0}"},
    np.maximum: dict.fromkeys("biu", "{0} > {1} ? {0} : {1}") | {"f": "{0} > {1} || {0} != {0} ? {0} : {1}"},
    np.minimum: dict.fromkeys("biu", "{0} < {1} ? {0} : {1}") | {"f": "{0} < {1} || {0} != {0} ? {0} : {1}"},
    np.fmax: dict.fromkeys("biu", "{0} > {1} ? {0} : {1}") | {"f": "{0} > {1} || {1} != {1} ? {0} : {1}"},
    np.fmin: dict.fromkeys("biu", "{0} < {1} ? {0} : {1}") | {"f": "{0} < {1} || {1} != {1} ? {0} : {1}"},
    clip: dict.fromkeys("biuf", "cunumpy_fuse::clip({0}, {1}, {2})"),
    np.equal: {**_compared("=="), "c": "{0}.real() == {1}.real() && {0}.imag() == {1}.imag()"},
    np.not_equal: {**_compared("!="), "c": "{0}.real() != {1}.real() || {0}.imag() != {1}.imag()"},
    np.less: _compared("<"),
    np.less_equal: _compared("<="),
    np.greater: _compared(">"),
    np.greater_equal: _compared(">="),
    np.logical_and: _truth("{} && {}"),
    np.logical_or: _truth("{} || {}"),
    np.logical_xor: _truth("{} != {}"),
    np.logical_not: _truth("!{}"),
    np.bitwise_and: {"b": "{0} && {1}", "i": "({T})({0} & {1})", "u": "({T})({0} & {1})"},
    np.bitwise_or: {"b": "{0} || {1}", "i": "({T})({0} | {1})", "u": "({T})({0} | {1})"},
    np.bitwise_xor: {"b": "{0} != {1}", "i": "({T})({0} ^ {1})", "u": "({T})({0} ^ {1})"},
    np.invert: {"b": "!{0}", "i": "({T})~{0}", "u": "({T})~{0}"},
    np.left_shift: dict.fromkeys("iu", "cunumpy_fuse::left_shift<{T}, {U}>({0}, {1})"),
    np.right_shift: dict.fromkeys("iu", "cunumpy_fuse::right_shift<{T}, {U}>({0}, {1})"),
    np.floor: {**_SAME, "f": "__builtin_floor{f}({0})"},
    np.ceil: {**_SAME, "f": "__builtin_ceil{f}({0})"},
    np.trunc: {**_SAME, "f": "__builtin_trunc{f}({0})"},
    np.rint: {"f": "__builtin_rint{f}({0})"},
    np.isnan: {**dict.fromkeys("biu", "false"), "f": "{0} != {0}"},
    np.isinf: {**dict.fromkeys("biu", "false"), "f": "__builtin_fabs{f}({0}) == ({T})__builtin_inf()"},
    np.isfinite: {**dict.fromkeys("biu", "true"), "f": "__builtin_fabs{f}({0}) < ({T})__builtin_inf()"},
    np.signbit: {"f": "__builtin_signbit({0}) != 0"},
    np.copysign: {"f": "__builtin_copysign{f}({0}, {1})"},
    np.deg2rad: {"f": "{0} * (({T})" + repr(math.pi) + " / ({T})180)"},
    np.rad2deg: {"f": "{0} * (({T})180 / ({T})" + repr(math.pi) + ")"},
    np.hypot: _c_name("hypot"),
    np.arctan2: _c_name("atan2"),
    np.exp: _c_name("exp"),
    np.exp2: _c_name("exp2"),
    np.expm1: _c_name("expm1"),
    np.log: _c_name("log"),
    np.log2: _c_name("log2"),
    np.log10: _c_name("log10"),
    np.log1p: _c_name("log1p"),
    np.sin: _c_name("sin"),
    np.cos: _c_name("cos"),
    np.tan: _c_name("tan"),
    np.arcsin: _c_name("asin"),
    np.arccos: _c_name("acos"),
    np.arctan: _c_name("atan"),
    np.sinh: _c_name("sinh"),
    np.cosh: _c_name("cosh"),
    np.tanh: _c_name("tanh"),
    np.arcsinh: _c_name("asinh"),
    np.arccosh: _c_name("acosh"),
    np.arctanh: _c_name("atanh"),
    np.cbrt: _c_name("cbrt"),
}
_TEMPLATES[np.degrees], _TEMPLATES[np.radians] = _TEMPLATES[np.rad2deg], _TEMPLATES[np.deg2rad]

_IN_DOUBLE = (np.exp, np.log)
"""Of which the vector library's float functions, with NumPy's own errors, could be more than 4 ulp from NumPy's."""

HELPERS = r"""
namespace cunumpy_fuse {
template <class T, class U>
__device__ static inline T floor_quotient(T a, T b) {
    if (b == 0) return 0;
    if (b == (T)-1 && (T)-1 < (T)0) return (T)(0 - (U)a);
    const T quotient = (T)(a / b);
    return (T)(quotient - (a % b != 0 && (a < 0) != (b < 0)));
}
template <class T>
__device__ static inline T truncated_remainder(T a, T b) {
    return b == 0 || (b == (T)-1 && (T)-1 < (T)0) ? (T)0 : (T)(a % b);
}
template <class T>
__device__ static inline T remainder(T a, T b) {
    const T rest = truncated_remainder<T>(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? (T)(rest + b) : rest;
}
__device__ static inline double c_fmod(double a, double b) { return __builtin_fmod(a, b); }
__device__ static inline float c_fmod(float a, float b) { return __builtin_fmodf(a, b); }
__device__ static inline double c_floor(double a) { return __builtin_floor(a); }
__device__ static inline float c_floor(float a) { return __builtin_floorf(a); }
__device__ static inline double c_copysign(double a, double b) { return __builtin_copysign(a, b); }
__device__ static inline float c_copysign(float a, float b) { return __builtin_copysignf(a, b); }
// Python's division of floating-point numbers, as NumPy's npy_divmod.
template <class T>
__device__ static inline T floor_quotient(T a, T b) {
    if (b == 0) return a / b;
    const T rest = c_fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return c_copysign((T)0, a / b);
    const T whole = c_floor(quotient);
    return quotient - whole > (T)0.5 ? whole + 1 : whole;
}
__device__ static inline double remainder(double a, double b) {
    const double rest = c_fmod(a, b);
    if (b == 0) return rest;
    if (rest == 0) return c_copysign(0.0, b);
    return (b < 0) != (rest < 0) && rest == rest ? rest + b : rest;
}
__device__ static inline float remainder(float a, float b) {
    const float rest = c_fmod(a, b);
    if (b == 0) return rest;
    if (rest == 0) return c_copysign(0.0f, b);
    return (b < 0) != (rest < 0) && rest == rest ? rest + b : rest;
}
template <class T, class U>
__device__ static inline T power(T base, T exponent) {
    U result = 1, factor = (U)base;
    for (U left = (U)exponent; left != 0; left >>= 1, factor *= factor)
        if (left & 1) result *= factor;
    return (T)result;
}
template <class T, class U>
__device__ static inline T left_shift(T a, T by) {
    return by >= 0 && by < (T)(sizeof(T) * 8) ? (T)((U)a << by) : (T)0;
}
template <class T, class U>
__device__ static inline T right_shift(T a, T by) {
    return by >= 0 && by < (T)(sizeof(T) * 8) ? (T)(a >> by) : a < 0 ? (T)-1 : (T)0;
}
template <class T>
__device__ static inline T clip(T x, T low, T high) {
    const T above = x != x || x > low ? x : low;
    return above != above || above < high ? above : high;
}
}  // namespace cunumpy_fuse
"""

COMPLEX_HELPERS = r"""
namespace cunumpy_fuse {
template <class T>
__device__ static inline complex<T> product(complex<T> a, complex<T> b) {
    return complex<T>(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
}
// R. L. Smith, Algorithm 116: Complex Division. Communications of the ACM 5 (1962), 435; with NumPy's operations.
template <class T>
__device__ static inline complex<T> quotient(complex<T> a, complex<T> b) {
    const T first = b.real() < 0 ? -b.real() : b.real(), second = b.imag() < 0 ? -b.imag() : b.imag();
    if (first >= second) {
        if (first == 0 && second == 0) return complex<T>(a.real() / first, a.imag() / first);
        const T ratio = b.imag() / b.real(), scale = (T)1 / (b.real() + b.imag() * ratio);
        return complex<T>((a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale);
    }
    const T ratio = b.real() / b.imag(), scale = (T)1 / (b.imag() + b.real() * ratio);
    return complex<T>((a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale);
}
}  // namespace cunumpy_fuse
"""

HALF_HELPERS = r"""
namespace cunumpy_fuse {
__device__ static inline float rounded(float value) { return __half2float(__float2half_rn(value)); }
__device__ static inline float rounded(double value) { return __half2float(__double2half(value)); }
}  // namespace cunumpy_fuse
"""

_OLD = frozenset(["exp", "log", "sin", "cos", "pow"])
_VECTORS = _OLD | {
    *("exp2", "expm1", "log2", "log10", "log1p", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
    *("asinh", "acosh", "atanh", "cbrt", "atan2", "hypot"),
}
"""Functions that glibc has for vectors: the first few since version 2.22, the others since 2.35."""


@functools.cache
def vector_functions() -> frozenset[str]:
    """Return the C functions that the vector library of this machine has; there is one in glibc, for x86-64."""
    library, version = platform.libc_ver()
    if sys.platform != "linux" or platform.machine() != "x86_64" or library != "glibc":
        return frozenset()
    number = tuple(map(int, re.findall(r"\d+", version)[:2]))
    return _VECTORS if number >= (2, 35) else _OLD if number >= (2, 22) else frozenset()


def kind(dtype: np.dtype[Any]) -> str:
    """Return the kind of templates that a dtype takes."""
    return dtype.kind


def value_type(dtype: np.dtype[Any]) -> str:
    """Return the C++ type of a value in a loop: float for float16."""
    return "float" if dtype == HALF else C_TYPES[dtype]


def has(function: np.ufunc, loop: Sequence[np.dtype[Any]]) -> bool:
    """Tell whether there is code for a function, with the dtypes of its operands and its result."""
    templates = _TEMPLATES.get(function)
    return templates is not None and loop[0].kind in templates and all(dtype in C_TYPES for dtype in loop)


def expression(function: np.ufunc, operands: Sequence[str], loop: Sequence[np.dtype[Any]]) -> str:
    """Return the C++ expression of a function, whose operands have the dtypes of its loop."""
    inputs, result = loop[:-1], loop[-1]
    dtype = inputs[0]
    if function is np.equal or function in _ORDER:
        mixed = {one.kind for one in inputs} == {"i", "u"}  # NumPy compares them by value
        if mixed:
            return _mixed_comparison(_ORDER[function], operands, inputs)
    if function in _IN_DOUBLE and dtype.itemsize < 8:
        text = _TEMPLATES[function]["f"].format(f"(double){operands[0]}", f="")
        return f"cunumpy_fuse::rounded((float){text})" if result == HALF else f"(float){text}"
    single = dtype.itemsize <= 4 if dtype.kind == "f" else dtype.itemsize <= 8
    unsigned = "unsigned int" if dtype.itemsize <= 4 else "unsigned long long"
    text = _TEMPLATES[function][dtype.kind].format(
        *operands, T=value_type(dtype), V=value_type(dtype), U=unsigned, f="f" if single else ""
    )
    return f"cunumpy_fuse::rounded({text})" if result == HALF else text


_ORDER = {
    np.equal: "==",
    np.not_equal: "!=",
    np.less: "<",
    np.less_equal: "<=",
    np.greater: ">",
    np.greater_equal: ">=",
}


def _mixed_comparison(sign: str, operands: Sequence[str], inputs: Sequence[np.dtype[Any]]) -> str:
    first, second = operands
    if inputs[0].kind == "i":
        return f"({first} < 0 ? 0 {sign} 1 : (unsigned long long){first} {sign} {second})"
    return f"({second} < 0 ? 1 {sign} 0 : {first} {sign} (unsigned long long){second})"


def converted(value: str, given: np.dtype[Any], wanted: np.dtype[Any]) -> str | None:
    """Return a value in another dtype; None where NumPy warns of that."""
    if given == wanted:
        return value
    if wanted.kind == "b":
        return f"({value}.real() != 0 || {value}.imag() != 0)" if given.kind == "c" else f"({value} != 0)"
    target = value_type(wanted)
    if given.kind == "c":
        part = target.partition("<")[2][:-1]
        return f"{target}(({part}){value}.real(), ({part}){value}.imag())" if wanted.kind == "c" else None
    if wanted.kind == "c":
        part = target.partition("<")[2][:-1]
        return f"{target}(({part}){value}, ({part})0)"
    if wanted == HALF:
        return f"cunumpy_fuse::rounded({value})" if given.kind == "f" else f"cunumpy_fuse::rounded((float){value})"
    return f"({target}){value}"


def declarations(text: str) -> str:
    """Return the declarations of the C library's functions that a code calls, as vector functions where there are."""
    lines = []
    for name in sorted(set(re.findall(r"(?<![\w:.])([a-z]\w*)\(", text))):
        base = name[:-1] if name.endswith("f") and name not in _VECTORS else name
        if base not in _VECTORS:
            continue
        real = "double" if name == base else "float"
        vector = 'simd("notinbranch"), ' if base in vector_functions() else ""
        lines.append(
            f'extern "C" __attribute__(({vector}const, nothrow)) {real} {name}({real}'
            f"{', ' + real if base in _TWO else ''});"
        )
    return "\n".join(lines)
