"""What Python means by its operators, in CUDA C++: kernels have of it what they use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_QUALIFIERS = "template <class T> __device__ __forceinline__"

_HELPERS = {
    "floor_divide": """
// a // b: rounded down, and 0 for integers divided by 0.
QUALIFIED T floor_divide(T a, T b) {
    if (b == 0) return 0;
    if (b == (T)-1 && b < 0) return (T)(0 - (unsigned long long)a);
    const T quotient = a / b;
    return (T)(quotient - (a % b != 0 && (a < 0) != (b < 0)));
}""",
    "floor_divide_floating": """
// a // b as NumPy has it: exact where the quotient is.
QUALIFIED T floor_divide_floating(T a, T b) {
    if (b == 0) return a / b;
    const T rest = fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return copysign((T)0, a / b);
    const T floored = floor(quotient);
    return quotient - floored > (T)0.5 ? floored + 1 : floored;
}""",
    "remainder": """
// a % b: of the sign of b, and 0 for integers divided by 0.
QUALIFIED T remainder(T a, T b) {
    if (b == 0 || (b == (T)-1 && b < 0)) return 0;
    const T rest = a % b;
    return (T)(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}""",
    "remainder_floating": """
// a % b: of the sign of b.
QUALIFIED T remainder_floating(T a, T b) {
    const T rest = fmod(a, b);
    if (rest != 0) return (b < 0) != (rest < 0) ? rest + b : rest;
    return b == 0 ? rest : copysign((T)0, b);
}""",
    "power": """
// a ** b for integers; 0 for what is below 1 and no integer.
QUALIFIED T power(T a, T b) {
    if (b < 0) return (T)(a == 1 ? 1 : a == (T)-1 ? (b % 2 == 0 ? 1 : -1) : 0);
    unsigned long long result = 1, factor = (unsigned long long)a;
    for (unsigned long long left = (unsigned long long)b; left != 0; left >>= 1) {
        if (left & 1) result *= factor;
        factor *= factor;
    }
    return (T)result;
}""",
    "square": """
// a ** 2
QUALIFIED T square(T a) { return (T)(a * a); }""",
    "minimum": """
// The smaller one, of equal ones the second; NaN if either is.
QUALIFIED T minimum(T a, T b) { return a < b || a != a ? a : b; }""",
    "maximum": """
// The larger one, of equal ones the second; NaN if either is.
QUALIFIED T maximum(T a, T b) { return a > b || a != a ? a : b; }""",
    "absolute": """
QUALIFIED T absolute(T a) { return (T)(a < 0 ? 0 - (unsigned long long)a : (unsigned long long)a); }""",
    "sign": """
QUALIFIED T sign(T a) { return a > 0 ? (T)1 : a < 0 ? (T)-1 : a == 0 ? (T)0 : a; }""",
    "add": """
// a + b that wraps, as NumPy's integers do.
QUALIFIED T add(T a, T b) { return (T)((unsigned long long)a + (unsigned long long)b); }""",
    "subtract": """
// a - b that wraps, as NumPy's integers do.
QUALIFIED T subtract(T a, T b) { return (T)((unsigned long long)a - (unsigned long long)b); }""",
    "multiply": """
// a * b that wraps, as NumPy's integers do.
QUALIFIED T multiply(T a, T b) { return (T)((unsigned long long)a * (unsigned long long)b); }""",
    "left_shift": """
// a << b; 0 where no bit of it is left.
template <class T> __device__ __forceinline__ T left_shift(T a, T b) {
    return (unsigned long long)b < sizeof(T) * 8 ? (T)((unsigned long long)a << b) : (T)0;
}""",
    "right_shift": """
// a >> b; 0, or -1 for a negative number, where no bit of it is left.
template <class T> __device__ __forceinline__ T right_shift(T a, T b) {
    return (unsigned long long)b < sizeof(T) * 8 ? (T)(a >> b) : (T)(a < 0 ? -1 : 0);
}""",
    "less": """
// a < b for integers of which one has a sign.
__device__ __forceinline__ bool less(long long a, unsigned long long b) { return a < 0 || (unsigned long long)a < b; }
__device__ __forceinline__ bool less(unsigned long long a, long long b) {
    return b >= 0 && a < (unsigned long long)b;
}""",
    "equal": """
// a == b for integers of which one has a sign.
__device__ __forceinline__ bool equal(long long a, unsigned long long b) {
    return a >= 0 && (unsigned long long)a == b;
}
__device__ __forceinline__ bool equal(unsigned long long a, long long b) { return equal(b, a); }""",
    "lane_id": """
// The thread's number in its warp.
__device__ __forceinline__ unsigned int lane_id() {
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31;
}""",
    "Sum": """
struct Sum {
    template <class T> __device__ __forceinline__ T operator()(const T& a, const T& b) const { return a + b; }
};""",
    "Max": """
struct Max {
    template <class T> __device__ __forceinline__ T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};""",
    "Min": """
struct Min {
    template <class T> __device__ __forceinline__ T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};""",
    "match_all_sync": """
struct MatchAll {
    unsigned int mask;
    int all;
};
QUALIFIED MatchAll match_all_sync(unsigned int mask, T value) {
    MatchAll found;
    found.mask = __match_all_sync(mask, value, &found.all);
    return found;
}""",
}

_USED = re.compile(r"\bpython::(\w+)")


def helpers_for(texts: Iterable[str]) -> str:
    """Return the helpers that code uses, in a namespace ``python``; nothing if it uses none."""
    used = {name for text in texts for name in _USED.findall(text)}
    if not used:
        return ""
    text = "\n".join(_HELPERS[name].strip("\n") for name in _HELPERS if name in used).replace("QUALIFIED", _QUALIFIERS)
    return f"namespace python {{\n{text}\n}}  // namespace python\n"
