"""Half precision and bfloat16 on the CPU device, against NumPy and exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu_runtime import CpuSource, cpu_source

#: Type, bits of fraction, least exponent of a normal number, largest number.
FORMATS = {"half": ("__half", 10, -14, 65504.0), "bfloat16": ("__nv_bfloat16", 7, -126, (2 - 2.0**-7) * 2.0**127)}
ROUND = {"rn": round, "rd": math.floor, "ru": math.ceil, "rz": math.trunc}


def bits_of(value, name, mode="rn"):
    """Round a number (a float, or an exact Fraction) to the format, and return its bits."""
    _, digits, least, largest = FORMATS[name]
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            return 0x7FFF
        return (0x7C00 if name == "half" else 0x7F80) | (0x8000 if value < 0 else 0)
    negative = value < 0 or (isinstance(value, float) and math.copysign(1, value) < 0)
    exact = abs(Fraction(value))
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length() if exact else least
    if exact and Fraction(2) ** exponent > exact:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, least) - digits)
    direction = {"rd": "ru" if negative else "rd", "ru": "rd" if negative else "ru", "rz": "rd", "rn": "rn"}[mode]
    rounded = ROUND[direction](exact / unit) * unit
    if rounded > Fraction(largest):
        whole = bits_of(math.inf, name) - (0 if direction in ("rn", "ru") else 1)
    else:
        exponent = max(rounded.numerator.bit_length() - rounded.denominator.bit_length() if rounded else least, least)
        if rounded and Fraction(2) ** exponent > rounded:
            exponent = max(exponent - 1, least)
        # Counted in the format's own units: the bits of two neighbours differ by 1.
        whole = ((exponent - least) << digits) + int(rounded / Fraction(2) ** (exponent - digits))
    return whole | (0x8000 if negative else 0)


def value_of(bits, name):
    if name == "half":
        return float(np.uint16(bits).view(np.float16))
    return float(np.uint32(int(bits) << 16).view(np.float32))


def same(found, expected, name):
    """Compare bits; all NaNs are alike."""
    return found == expected or (math.isnan(value_of(found, name)) and math.isnan(value_of(expected, name)))


@given(st.integers(0, 65535))
def test_the_reference_is_numpy(bits):
    value = value_of(bits, "half")
    assert same(bits_of(value, "half"), bits, "half")


def header(name):
    return "#include <cuda_fp16.h>\n" if name == "half" else "#include <cuda_bf16.h>\n"


def conversions(name):
    kind = FORMATS[name][0]
    lines = [header(name)]
    for other, cpp in (("double", "double"), ("float", "float"), ("int", "int"), ("uint", "unsigned"),
                       ("short", "short"), ("ushort", "unsigned short"), ("ll", "long long"),
                       ("ull", "unsigned long long")):  # fmt: skip
        modes = {"double": [""], "float": ["_rn", "_rd", "_ru", "_rz"]}.get(other, ["_rn", "_rd", "_ru", "_rz"])
        lines += [
            f'extern "C" __global__ void from_{other}{mode}(const {cpp}* x, {kind}* out) '
            f"{{ out[threadIdx.x] = __{other}2{name}{mode}(x[threadIdx.x]); }}"
            for mode in modes
        ]
        if other not in ("double", "float"):
            lines += [
                f'extern "C" __global__ void to_{other}{mode}(const {kind}* x, {cpp}* out) '
                f"{{ out[threadIdx.x] = __{name}2{other}{mode}(x[threadIdx.x]); }}"
                for mode in modes
            ]
    lines.append(
        f'extern "C" __global__ void to_float(const {kind}* x, float* out) '
        f"{{ out[threadIdx.x] = __{name}2float(x[threadIdx.x]); }}"
    )
    return "\n".join(lines)


def compiled(text):
    return cpu_source(text, *[line.split("void ")[1].split("(")[0] for line in text.splitlines() if "void " in line])


@pytest.fixture(scope="module", params=FORMATS)
def converting(request) -> tuple[str, CpuSource]:
    return request.param, compiled(conversions(request.param))


INTEGERS = {
    "int": np.int32,
    "uint": np.uint32,
    "short": np.int16,
    "ushort": np.uint16,
    "ll": np.int64,
    "ull": np.uint64,
}


@given(
    st.lists(
        st.one_of(
            st.floats(),
            st.floats(-70000, 70000),
            st.floats(-(2.0**-13), 2.0**-13),
            st.integers(0, 65535).map(lambda b: float(value_of(b, "half"))),
            st.integers(0, 2**16).map(lambda k: k * 2.0**-25 + 2.0**-60),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_floats_are_rounded_once_as_named(converting, values):
    name, source = converting
    out = np.zeros(len(values), np.uint16)
    source("from_double", 1, len(values), np.array(values), out)
    assert all(same(f, bits_of(v, name), name) for f, v in zip(out, values, strict=True)), values
    with np.errstate(over="ignore"):
        single = np.array(values, np.float32)
    for mode in ROUND:
        source(f"from_float_{mode}", 1, len(values), single, out)
        for found, value in zip(out, single, strict=True):
            assert same(found, bits_of(float(value), name, mode), name), (mode, value)


@given(st.lists(st.one_of(st.integers(-(2**63), 2**64 - 1), st.integers(-70000, 70000)), min_size=1, max_size=8))
def test_integers_are_rounded_once_as_named(converting, values):
    name, source = converting
    out = np.zeros(len(values), np.uint16)
    for other, kind in INTEGERS.items():
        x = np.array([int(v) & (2 ** (8 * np.dtype(kind).itemsize) - 1) for v in values], np.uint64).astype(kind)
        for mode in ROUND:
            source(f"from_{other}_{mode}", 1, len(values), x, out)
            for found, value in zip(out, x, strict=True):
                assert found == bits_of(Fraction(int(value)), name, mode), (other, mode, value)


@given(st.lists(st.integers(0, 65535), min_size=1, max_size=16))
def test_to_integers_saturates(converting, bits):
    name, source = converting
    x = np.array(bits, np.uint16)
    floats = np.zeros(len(bits), np.float32)
    source("to_float", 1, len(bits), x, floats)
    for found, b in zip(floats, bits, strict=True):
        assert np.array_equal(found, np.float32(value_of(b, name)), equal_nan=True)
    for other, kind in INTEGERS.items():
        info, out = np.iinfo(kind), np.zeros(len(bits), kind)
        for mode in ROUND:
            source(f"to_{other}_{mode}", 1, len(bits), x, out)
            for found, b in zip(out, bits, strict=True):
                value = value_of(b, name)
                if math.isnan(value):
                    assert int(found) in (0, info.min, 2 ** (info.bits - 1))
                    continue
                whole = ROUND[mode](value) if math.isfinite(value) else math.copysign(2**80, value)
                assert int(found) == min(max(int(whole), info.min), info.max), (other, mode, value)


BINARY = {
    "__hadd": lambda a, b: a + b,
    "__hsub": lambda a, b: a - b,
    "__hmul": lambda a, b: a * b,
    "__hdiv": lambda a, b: a / b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}
COMPARE = {"lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__", "eq": "__eq__", "ne": "__ne__"}


def arithmetic(name):
    kind = FORMATS[name][0]
    lines = [
        header(name),
        f"__global__ void arithmetic(const {kind}* x, const {kind}* y, const {kind}* z, {kind}* out,",
        "                           int* flags, int n) {",
        "    int i = threadIdx.x;",
    ]
    calls = [f"{c}(x[i], y[i])" if c.startswith("__") else f"x[i] {c} y[i]" for c in BINARY]
    calls += ["__hfma(x[i], y[i], z[i])", "__hmax(x[i], y[i])", "__hmin(x[i], y[i])", "__hmax_nan(x[i], y[i])"]
    calls += ["__hneg(x[i])", "__habs(x[i])", "__hadd_sat(x[i], y[i])", "hsqrt(x[i])", "hfloor(x[i])", "hrint(x[i])"]
    calls += ["__hfma_relu(x[i], y[i], z[i])", "-x[i]"]
    lines += [f"    out[{k} * n + i] = {call};" for k, call in enumerate(calls)]
    flags = [f"__h{c}{u}(x[i], y[i])" for c in COMPARE for u in ("", "u")]
    flags += [f"x[i] {c} y[i]" for c in ("<", "<=", ">", ">=", "==", "!=")]
    lines += [f"    flags[{k} * n + i] = {call};" for k, call in enumerate(flags)]
    pair = f"{kind}2"
    two = [f"__hadd2({pair}(x[i], y[i]), {pair}(y[i], z[i]))", f"__hmul2({pair}(x[i], y[i]), {pair}(y[i], z[i]))",
           f"{pair}(x[i], y[i]) + {pair}(y[i], z[i])", f"__hgtu2({pair}(x[i], y[i]), {pair}(y[i], z[i]))"]  # fmt: skip
    for k, call in enumerate(two):
        lines.append(f"    {pair} p{k} = {call};")
        lines += [f"    out[{len(calls) + 2 * k + j} * n + i] = p{k}.{part};" for j, part in enumerate("xy")]
    return "\n".join([*lines, "}"]), calls, flags


numbers = st.one_of(st.integers(0, 65535), st.integers(0x3B00, 0x3D00), st.sampled_from([0, 0x8000, 0x7C00, 1, 0x8001]))


def exactly(operation, *values):
    """Give the exact result as a Fraction, or a float where there is infinity, NaN or a zero with a sign."""
    if all(math.isfinite(v) for v in values):
        try:
            exact = operation(*map(Fraction, values))
        except ZeroDivisionError:
            exact = None
        if exact:
            return exact
    with np.errstate(all="ignore"):
        return float(operation(*map(np.float64, values)))


@pytest.mark.parametrize("name", FORMATS)
@given(rows=st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=8))
def test_arithmetic_is_correctly_rounded(name, rows):
    text, calls, flags = arithmetic(name)
    source = cpu_source(text, "arithmetic")
    x, y, z = (np.array(column, np.uint16) for column in zip(*rows, strict=True))
    n = len(rows)
    out, found_flags = np.zeros((len(calls) + 8, n), np.uint16), np.zeros((len(flags), n), np.int32)
    source("arithmetic", 1, n, x, y, z, out, found_flags, np.int32(n))
    for i in range(n):
        a, b, c = (value_of(v, name) for v in rows[i])
        expected = {call: exactly(f, a, b) for call, f in zip(calls, BINARY.values(), strict=False)}
        fused = exactly(lambda p, q, r: p * q + r, a, b, c)
        sqrt = math.sqrt(a) if a >= 0 else a if a == 0 else math.nan
        numeric = [v for v in (a, b) if not math.isnan(v)]

        def key(v):
            return v, math.copysign(1, v)

        expected |= {
            "__hfma(x[i], y[i], z[i])": fused,
            "__hmax(x[i], y[i])": max(numeric, key=key, default=math.nan),
            "__hmin(x[i], y[i])": min(numeric, key=key, default=math.nan),
            "__hmax_nan(x[i], y[i])": max(numeric, key=key) if len(numeric) == 2 else math.nan,
            "__hneg(x[i])": -a,
            "-x[i]": -a,
            "__habs(x[i])": abs(a),
            "hsqrt(x[i])": sqrt,
            "hfloor(x[i])": a if math.isnan(a) else float(np.floor(a)),
            "hrint(x[i])": a if math.isnan(a) else float(np.rint(a)),
        }
        for k, call in enumerate(calls):
            if call in expected:
                assert same(out[k, i], bits_of(expected[call], name), name), (call, a, b, c, hex(out[k, i]))
        total = value_of(bits_of(exactly(BINARY["+"], a, b), name), name)
        clamped = 0.0 if math.isnan(total) or total <= 0 else min(total, 1.0)
        assert value_of(out[calls.index("__hadd_sat(x[i], y[i])"), i], name) == clamped
        relu = value_of(out[calls.index("__hfma_relu(x[i], y[i], z[i])"), i], name)
        product = value_of(bits_of(fused, name), name)
        assert relu == max(product, 0.0) or math.isnan(product)
        unordered = len(numeric) < 2
        for k, method in enumerate(COMPARE.values()):
            plain = getattr(a, method)(b)
            assert list(found_flags[2 * k : 2 * k + 2, i]) == [plain and not unordered, plain or unordered], (
                method,
                a,
                b,
            )
        assert list(found_flags[-6:, i]) == [a < b, a <= b, a > b, a >= b, a == b, a != b]
        base = len(calls)
        pairs = [(a, b), (b, c)]
        for j, (p, q) in enumerate(pairs):
            for k, operation in ((0, "+"), (1, "*"), (2, "+")):
                assert same(out[base + 2 * k + j, i], bits_of(exactly(BINARY[operation], p, q), name), name)
            assert value_of(out[base + 6 + j, i], name) == (not p <= q)


USES = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void uses(half* x, half2* sums, __nv_bfloat16* b, float* out) {
    unsigned lane = threadIdx.x;
    half v = x[lane];
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    if (lane == 0) out[0] = v;
    half2 pair = __floats2half2_rn((float)lane, 1.0f);
    half2 other = __shfl_xor_sync(0xffffffffu, pair, 1);
    out[1 + lane] = __low2float(other);
    atomicAdd(sums, pair);
    atomicAdd(b, __float2bfloat16(1.0f));
    half h = 3;
    h = h * half(2.5f) - half(0.5);
    int truncated = h;
    out[33] = h, out[34] = (float)truncated;
    h++;
    out[35] = h ? __half2float(h) : -1.0f;
    out[36] = __half2float(hexp(half(1.0f)));
    out[37] = __half22float2(__hfma2(pair, pair, pair)).y;
    out[38] = sizeof(half2) + 10 * alignof(half2) + 100 * sizeof(__nv_bfloat162);
    out[39] = __high2float(__halves2half2(h, half(7.0f)));
    out[40] = __half2float(__ushort_as_half(0x3c00)), out[41] = __half_as_ushort(half(-1.0f));
    out[42] = __bfloat162float(__ushort_as_bfloat16(0x3f80)), out[43] = __half2float(__ldg(x));
    out[44] = __hbeq2(pair, pair), out[45] = (float)__hisinf(half(1e9f)), out[46] = __hisnan(half(0.0f) / half(0.0f));
}
"""


def test_types_work_as_numbers_in_warps_and_atomics():
    x = np.arange(32, dtype=np.float16)
    sums, b, out = np.zeros(2, np.float16), np.zeros(2, np.uint16), np.zeros(47, np.float32)
    cpu_source(USES, "uses", architecture="sm_90")("uses", 1, 32, x, sums, b, out)
    assert out[0] == 496
    assert list(out[1:33]) == [i ^ 1 for i in range(32)]
    assert list(sums) == [496, 32]
    assert value_of(b[0], "bfloat16") == 32
    assert list(out[33:36]) == [7, 7, 8]
    assert out[36] == np.float16(math.e)
    assert list(out[37:]) == [2, 444, 7, 1, 0xBC00, 1, 0, 1, 1, 1]
