"""Integer, bit and video intrinsics, casts and conversions on the CPU device, against Python's integers."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu_runtime import CpuSource, cpu_source

M32, M64 = 2**32 - 1, 2**64 - 1


def s32(x):
    return ((x & M32) ^ 2**31) - 2**31


def s64(x):
    return ((x & M64) ^ 2**63) - 2**63


def ffs(x, bits):
    x &= 2**bits - 1
    return (x & -x).bit_length()


def byte_perm(x, y, s):
    data = (x & M32 | (y & M32) << 32).to_bytes(8, "little")
    found = 0
    for i in range(4):
        digit = s >> 4 * i & 15
        byte = data[digit & 7]
        found |= (byte if digit < 8 else 255 * (byte >> 7)) << 8 * i
    return found


def fns(mask, base, offset):
    if offset == 0:
        return base if mask >> base & 1 else M32
    places = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [i for i in places if mask >> i & 1]
    return found[abs(offset) - 1] if abs(offset) <= len(found) else M32


def sbytes(x):
    return [b - 256 * (b > 127) for b in (x & M32).to_bytes(4, "little")]


def ubytes(x):
    return list((x & M32).to_bytes(4, "little"))


def shorts(x):
    return list(struct.unpack("<2h", struct.pack("<I", x & M32)))


def ushorts(x):
    return list(struct.unpack("<2H", struct.pack("<I", x & M32)))


def dot(a, b):
    return sum(p * q for p, q in zip(a, b, strict=True))


#: The call, with x, y, z of 32 bits (u, v, w unsigned; p, q of 64 bits), and its value modulo 2^64.
INTEGERS = {
    "__popc(u)": lambda x, y, z, p, q: (x & M32).bit_count(),
    "__popcll((unsigned long long)p)": lambda x, y, z, p, q: (p & M64).bit_count(),
    "__clz(x)": lambda x, y, z, p, q: 32 - (x & M32).bit_length(),
    "__clzll(p)": lambda x, y, z, p, q: 64 - (p & M64).bit_length(),
    "__ffs(x)": lambda x, y, z, p, q: ffs(x, 32),
    "__ffsll(p)": lambda x, y, z, p, q: ffs(p, 64),
    "__brev(u)": lambda x, y, z, p, q: int(f"{x & M32:032b}"[::-1], 2),
    "__brevll((unsigned long long)p)": lambda x, y, z, p, q: int(f"{p & M64:064b}"[::-1], 2),
    "__byte_perm(u, v, w)": lambda x, y, z, p, q: byte_perm(x, y, z),
    "__funnelshift_l(u, v, w)": lambda x, y, z, p, q: (((y & M32) << 32 | x & M32) << (z & 31) >> 32) & M32,
    "__funnelshift_lc(u, v, w)": lambda x, y, z, p, q: (((y & M32) << 32 | x & M32) << min(z & M32, 32) >> 32) & M32,
    "__funnelshift_r(u, v, w)": lambda x, y, z, p, q: (((y & M32) << 32 | x & M32) >> (z & 31)) & M32,
    "__funnelshift_rc(u, v, w)": lambda x, y, z, p, q: (((y & M32) << 32 | x & M32) >> min(z & M32, 32)) & M32,
    "__fns(u, v & 31u, z % 8)": lambda x, y, z, p, q: fns(x & M32, y & 31, int(math.fmod(z, 8))),
    "__mulhi(x, y)": lambda x, y, z, p, q: x * y >> 32,
    "__umulhi(u, v)": lambda x, y, z, p, q: (x & M32) * (y & M32) >> 32,
    "__mul64hi(p, q)": lambda x, y, z, p, q: p * q >> 64,
    "__umul64hi((unsigned long long)p, (unsigned long long)q)": lambda x, y, z, p, q: (p & M64) * (q & M64) >> 64,
    "__mul24(x, y)": lambda x, y, z, p, q: s32((s32(x << 8) >> 8) * (s32(y << 8) >> 8)),
    "__umul24(u, v)": lambda x, y, z, p, q: ((x & 0xFFFFFF) * (y & 0xFFFFFF)) & M32,
    "__sad(x, y, w)": lambda x, y, z, p, q: (abs(x - y) + z) & M32,
    "__usad(u, v, w)": lambda x, y, z, p, q: (abs((x & M32) - (y & M32)) + z) & M32,
    "__hadd(x, y)": lambda x, y, z, p, q: (x + y) >> 1,
    "__rhadd(x, y)": lambda x, y, z, p, q: (x + y + 1) >> 1,
    "__uhadd(u, v)": lambda x, y, z, p, q: ((x & M32) + (y & M32)) >> 1,
    "__urhadd(u, v)": lambda x, y, z, p, q: ((x & M32) + (y & M32) + 1) >> 1,
    "__dp4a(x, y, z)": lambda x, y, z, p, q: s32(dot(sbytes(x), sbytes(y)) + z),
    "__dp4a(u, v, w)": lambda x, y, z, p, q: (dot(ubytes(x), ubytes(y)) + z) & M32,
    "__dp2a_lo(x, y, z)": lambda x, y, z, p, q: s32(dot(shorts(x), sbytes(y)[:2]) + z),
    "__dp2a_hi(x, y, z)": lambda x, y, z, p, q: s32(dot(shorts(x), sbytes(y)[2:]) + z),
    "__dp2a_lo(u, v, w)": lambda x, y, z, p, q: (dot(ushorts(x), ubytes(y)[:2]) + z) & M32,
    "__dp2a_hi(u, v, w)": lambda x, y, z, p, q: (dot(ushorts(x), ubytes(y)[2:]) + z) & M32,
    "min(x, y)": lambda x, y, z, p, q: min(x, y),
    "max(u, v)": lambda x, y, z, p, q: max(x & M32, y & M32),
    "max(x, v)": lambda x, y, z, p, q: max(x & M32, y & M32),
    "min(p, q)": lambda x, y, z, p, q: min(p, q),
    "max(p, (unsigned long long)q)": lambda x, y, z, p, q: max(p & M64, q & M64),
    "umin(u, v)": lambda x, y, z, p, q: min(x & M32, y & M32),
    "llmax(p, q)": lambda x, y, z, p, q: max(p, q),
    "abs(x)": lambda x, y, z, p, q: s32(abs(x)),
    "llabs(p)": lambda x, y, z, p, q: abs(p),
    "__double2hiint(__hiloint2double(x, y))": lambda x, y, z, p, q: x,
    "__double2loint(__longlong_as_double(p))": lambda x, y, z, p, q: s32(p),
    "__float_as_int(__int_as_float(x))": lambda x, y, z, p, q: x,
    "__float_as_uint(__uint_as_float(u))": lambda x, y, z, p, q: x & M32,
    "__double_as_longlong(__longlong_as_double(p))": lambda x, y, z, p, q: p,
}

INTEGER_SOURCE = (
    """
__global__ void integers(const int* xs, const int* ys, const int* zs, const long long* ps, const long long* qs,
                         long long* out, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    int x = xs[i], y = ys[i], z = zs[i];
    unsigned u = (unsigned)x, v = (unsigned)y, w = (unsigned)z;
    long long p = ps[i], q = qs[i];
    (void)u, (void)v, (void)w, (void)q;
"""
    + "".join(f"    out[{k} * n + i] = (long long)({call});\n" for k, call in enumerate(INTEGERS))
    + "}\n"
)

words = st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(-70, 70), st.sampled_from([-(2**31), 2**31 - 1, 2**24]))
longs = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3), st.sampled_from([-(2**63) + 1, 2**63 - 1]))


@given(st.lists(st.tuples(words, words, words, longs, longs), min_size=1, max_size=16))
def test_integer_intrinsics(rows):
    source = cpu_source(INTEGER_SOURCE, "integers")
    columns = [np.array(column, kind) for column, kind in zip(zip(*rows, strict=True), "iiiqq", strict=True)]
    out = np.zeros((len(INTEGERS), len(rows)), np.int64)
    source("integers", 1, len(rows), *columns, out, np.int32(len(rows)))
    for k, (call, reference) in enumerate(INTEGERS.items()):
        for i, row in enumerate(rows):
            assert out[k, i] == s64(reference(*row)), (call, row)


# --- video ------------------------------------------------------------------------------------------------------------


def clamp(x, bits, signed):
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return min(max(x, least), most)


#: Name without the number of parts: whether the parts are signed, and the operation on one part of `bits` bits.
VIDEO = {
    "__vadd": (False, lambda a, b, bits: a + b),
    "__vsub": (False, lambda a, b, bits: a - b),
    "__vaddss": (True, lambda a, b, bits: clamp(a + b, bits, True)),
    "__vaddus": (False, lambda a, b, bits: clamp(a + b, bits, False)),
    "__vsubss": (True, lambda a, b, bits: clamp(a - b, bits, True)),
    "__vsubus": (False, lambda a, b, bits: clamp(a - b, bits, False)),
    "__vavgs": (True, lambda a, b, bits: (a + b + (a + b >= 0)) >> 1),
    "__vavgu": (False, lambda a, b, bits: (a + b + 1) >> 1),
    "__vhaddu": (False, lambda a, b, bits: (a + b) >> 1),
    "__vmaxs": (True, lambda a, b, bits: max(a, b)),
    "__vmaxu": (False, lambda a, b, bits: max(a, b)),
    "__vmins": (True, lambda a, b, bits: min(a, b)),
    "__vminu": (False, lambda a, b, bits: min(a, b)),
    "__vabsdiffs": (True, lambda a, b, bits: abs(a - b)),
    "__vabsdiffu": (False, lambda a, b, bits: abs(a - b)),
    "__vcmpeq": (False, lambda a, b, bits: -(a == b)),
    "__vcmpne": (False, lambda a, b, bits: -(a != b)),
    "__vseteq": (False, lambda a, b, bits: a == b),
    "__vsetne": (False, lambda a, b, bits: a != b),
    **{
        f"__v{form}{what}{sign}": (
            sign == "s",
            lambda a, b, bits, what=what, scale=-1 if form == "cmp" else 1: scale * getattr(a, f"__{what}__")(b),
        )
        for form in ("cmp", "set")
        for what in ("ge", "gt", "le", "lt")
        for sign in "su"
    },
}
ONE_ARGUMENT = {
    "__vabs": lambda a, bits: abs(a),
    "__vabsss": lambda a, bits: clamp(abs(a), bits, True),
    "__vneg": lambda a, bits: -a,
    "__vnegss": lambda a, bits: clamp(-a, bits, True),
}
VIDEO_CALLS = [f"{name}{n}(a, b)" for n in (2, 4) for name in (*VIDEO, "__vsads", "__vsadu")]
VIDEO_CALLS += [f"{name}{n}(a)" for n in (2, 4) for name in ONE_ARGUMENT]
VIDEO_SOURCE = (
    "__global__ void video(const unsigned* as, const unsigned* bs, unsigned* out, int n) {\n"
    "    int i = threadIdx.x;\n    if (i >= n) return;\n    unsigned a = as[i], b = bs[i];\n"
    + "".join(f"    out[{k} * n + i] = {call};\n" for k, call in enumerate(VIDEO_CALLS))
    + "}\n"
)


def split(word, bits, signed):
    found = [word >> i & (2**bits - 1) for i in range(0, 32, bits)]
    return [part - 2**bits * (part >> (bits - 1)) for part in found] if signed else found


def joined(parts, bits):
    return sum((int(part) & (2**bits - 1)) << i * bits for i, part in enumerate(parts))


@given(
    st.lists(
        st.tuples(*2 * [st.one_of(st.integers(0, M32), st.sampled_from([0x80008080, 0x7FFF807F, 0xFF00FF01]))]),
        min_size=1,
        max_size=8,
    )
)
def test_video_intrinsics(rows):
    source = cpu_source(VIDEO_SOURCE, "video")
    a, b = (np.array(column, np.uint32) for column in zip(*rows, strict=True))
    out = np.zeros((len(VIDEO_CALLS), len(rows)), np.uint32)
    source("video", 1, len(rows), a, b, out, np.int32(len(rows)))
    for k, call in enumerate(VIDEO_CALLS):
        full = call.partition("(")[0]
        name, bits = full[:-1], 16 if full[-1] == "2" else 8
        for i, (x, y) in enumerate(rows):
            if name in ONE_ARGUMENT:
                expected = joined([ONE_ARGUMENT[name](p, bits) for p in split(x, bits, True)], bits)
            elif name.startswith("__vsad"):
                signed = name[-1] == "s"
                expected = sum(abs(p - q) for p, q in zip(split(x, bits, signed), split(y, bits, signed), strict=True))
            else:
                signed, operation = VIDEO[name]
                pairs = zip(split(x, bits, signed), split(y, bits, signed), strict=True)
                expected = joined([operation(p, q, bits) for p, q in pairs], bits)
            assert out[k, i] == expected, (call, hex(x), hex(y))


# --- conversions ------------------------------------------------------------------------------------------------------

ROUND = {"n": round, "d": math.floor, "u": math.ceil, "z": math.trunc}
INTEGER_TYPES = {"int": (np.int32, 32, True), "uint": (np.uint32, 32, False), "ll": (np.int64, 64, True)}
INTEGER_TYPES["ull"] = (np.uint64, 64, False)
CPP = {"int": "int", "uint": "unsigned int", "ll": "long long", "ull": "unsigned long long"}
CPP |= {"float": "float", "double": "double"}
FLOATS = {"float": np.float32, "double": np.float64}
TO_INTEGER = [(f, t, r) for f in FLOATS for t in INTEGER_TYPES for r in ROUND]
FROM_INTEGER = [(f, t, r) for t in FLOATS for f in INTEGER_TYPES for r in ROUND if not (t == "double" and "int" in f)]
CONVERSIONS = [*TO_INTEGER, *FROM_INTEGER, *(("double", "float", r) for r in ROUND)]
CONVERSIONS += [("int", "double", "n"), ("uint", "double", "n")]
CONVERSION_SOURCE = "".join(
    f'extern "C" __global__ void {f}2{t}_r{r}(const {CPP[f]}* x, {CPP[t]}* out) '
    f"{{ out[threadIdx.x] = __{f}2{t}_r{r}(x[threadIdx.x]); }}\n"
    for f, t, r in CONVERSIONS
)


@pytest.fixture(scope="module")
def conversions() -> CpuSource:
    return cpu_source(CONVERSION_SOURCE, *(f"{f}2{t}_r{r}" for f, t, r in CONVERSIONS))


@given(
    st.lists(
        st.one_of(
            st.floats(width=32),
            st.floats(-(2.0**66), 2.0**66, width=32),
            st.integers(-200, 200).map(lambda k: k / 2),
            st.sampled_from([2.0**31, -(2.0**31), 2.0**32, 2.0**63, -(2.0**63), 2.0**64, 2.0**31 - 128, -(2.0**40)]),
        ),
        min_size=1,
        max_size=16,
    )
)
def test_conversions_to_integers_saturate(conversions, values):
    for f, t, r in TO_INTEGER:
        kind, bits, signed = INTEGER_TYPES[t]
        x = np.array(values, FLOATS[f])
        out = np.zeros(len(values), kind)
        conversions(f"{f}2{t}_r{r}", 1, len(values), x, out)
        for value, found in zip(values, out, strict=True):
            if math.isnan(value):
                top = 2 ** (bits - 1)
                expected = 0 if f == "float" and bits == 32 else -top if signed else top
            elif math.isinf(value):
                expected = clamp(2**80 if value > 0 else -(2**80), bits, signed)
            else:
                expected = clamp(ROUND[r](value), bits, signed)
            assert int(found) == expected, (f, t, r, value)


def rounded(exact, kind, mode):
    """Round a Fraction to a NumPy type: n to nearest even, d down, u up, z towards zero."""
    digits, least, most = (24, -149, 2.0**128) if kind is np.float32 else (53, -1074, None)
    if exact == 0:
        return kind(0)
    size, negative = abs(exact), exact < 0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - digits + 1, least)
    scaled = size / unit
    mode = {"d": "u" if negative else "d", "u": "d" if negative else "u", "z": "d", "n": "n"}[mode]
    whole = ROUND[mode](scaled)
    value = whole * unit
    limit = Fraction(2) ** (128 if kind is np.float32 else 1024)
    if value >= limit:
        overflow = math.inf if mode in "nu" else float(np.finfo(kind).max)
        return kind(-overflow if negative else overflow)
    del most
    return kind(-float(value) if negative else float(value))


@given(
    st.lists(
        st.one_of(longs, st.integers(2**24 - 3, 2**24 + 3), st.integers(2**53 - 3, 2**54)), min_size=1, max_size=16
    ),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8),
)
def test_conversions_to_floats_round_as_named(conversions, integers, floats):
    for f, t, r in CONVERSIONS:
        if f in FLOATS and t in INTEGER_TYPES:
            continue
        values = floats if f == "double" else [
            (s32(v) if f == "int" else v & M32 if f == "uint" else v if f == "ll" else v & M64) for v in integers
        ]  # fmt: skip
        x = np.array(values, FLOATS[f] if f in FLOATS else INTEGER_TYPES[f][0])
        out = np.zeros(len(values), FLOATS[t])
        conversions(f"{f}2{t}_r{r}", 1, len(values), x, out)
        for value, found in zip(values, out, strict=True):
            assert found == rounded(Fraction(value), FLOATS[t], r), (f, t, r, value)


# --- arithmetic with directed rounding --------------------------------------------------------------------------------

OPERATIONS = {
    "add": lambda a, b, c: a + b,
    "sub": lambda a, b, c: a - b,
    "mul": lambda a, b, c: a * b,
    "div": lambda a, b, c: a / b,
    "rcp": lambda a, b, c: 1 / a,
    "sqrt": None,
    "fma": lambda a, b, c: a * b + c,
}
ARGUMENTS = {"rcp": "x[i]", "sqrt": "fabs(x[i])", "fma": "x[i], y[i], z[i]"}


def arithmetic_name(kind, operation, r):
    letter = kind[0]
    stem = f"__{operation}" + "f" * (letter == "f") if operation == "fma" else f"__{letter}{operation}"
    return f"{stem}_r{r}"


ARITHMETIC_SOURCE = "".join(
    f"__global__ void arithmetic_{kind}(const {kind}* x, const {kind}* y, const {kind}* z, {kind}* out, int n) {{\n"
    "    int i = threadIdx.x;\n"
    + "".join(
        f"    out[{k} * n + i] = {arithmetic_name(kind, operation, r)}({ARGUMENTS.get(operation, 'x[i], y[i]')});\n"
        for k, (operation, r) in enumerate((operation, r) for operation in OPERATIONS for r in ROUND)
    )
    + "}\n"
    for kind in FLOATS
)


@given(st.sampled_from(["float", "double"]), st.data())
def test_arithmetic_rounds_as_named(name, data):
    kind = FLOATS[name]
    width = 32 if name == "float" else 64
    number = st.one_of(
        st.floats(width=width, allow_nan=False, allow_infinity=False),
        st.floats(-4, 4, width=width),
        st.sampled_from([1.0, -1.0, 0.1, 3.0, 2.0**-30]).map(lambda v: float(kind(v))),
    ).filter(lambda v: v != 0)
    rows = data.draw(st.lists(st.tuples(number, number, number), min_size=1, max_size=8))
    source = cpu_source(ARITHMETIC_SOURCE, "arithmetic_float", "arithmetic_double")
    x, y, z = (np.array(column, kind) for column in zip(*rows, strict=True))
    cases = [(operation, r) for operation in OPERATIONS for r in ROUND]
    out = np.zeros((len(cases), len(rows)), kind)
    source(f"arithmetic_{name}", 1, len(rows), x, y, z, out, np.int32(len(rows)))
    for k, (operation, r) in enumerate(cases):
        for i, row in enumerate(rows):
            a, b, c = map(Fraction, row)
            found = out[k, i]
            if operation == "sqrt":
                below, above = np.nextafter(found, kind(0)), np.nextafter(found, kind(np.inf))
                exact = abs(a)
                if r in "dz":
                    assert Fraction(float(found)) ** 2 <= exact < Fraction(float(above)) ** 2
                elif r == "u":
                    assert Fraction(float(below)) ** 2 < exact <= Fraction(float(found)) ** 2
                else:
                    middle = [(Fraction(float(found)) + Fraction(float(v))) / 2 for v in (below, above)]
                    assert middle[0] ** 2 <= exact <= middle[1] ** 2
                continue
            exact = OPERATIONS[operation](a, b, c)
            if exact == 0:
                assert (found, np.signbit(found)) == (0, r == "d"), (operation, r, row)
            else:
                assert found == rounded(exact, kind, r), (operation, r, row)


FUSED = """
extern "C" __global__ void unfused(const double* x, const double* y, const double* z, double* out) {
    int i = threadIdx.x;
    out[i] = __dmul_rn(x[i], y[i]) + z[i];
    out[i + blockDim.x] = __dadd_rn(x[i] * y[i], z[i]);
    out[i + 2 * blockDim.x] = __dsub_rn(x[i] * y[i], z[i]);
}
"""


@given(st.lists(st.tuples(*3 * [st.floats(-8, 8)]), min_size=1, max_size=64))
def test_products_to_nearest_are_never_fused_with_a_sum(rows):
    x, y, z = (np.array(column) for column in zip(*rows, strict=True))
    out = np.zeros((3, len(rows)))
    cpu_source(FUSED, "unfused")("unfused", 1, len(rows), x, y, z, out)
    assert (out == [x * y + z, x * y + z, x * y - z]).all()
