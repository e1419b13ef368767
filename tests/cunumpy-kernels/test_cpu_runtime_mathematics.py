"""Mathematics functions on the CPU device, against Python, NumPy and SciPy."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from cpu_runtime import CpuSource, cpu_source

PI = Decimal(
    "3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342117067982148086"
)


def by_decimals(function):
    """Make a function of an array out of one of a Decimal, computed with 150 digits."""

    def values(x):
        with decimal.localcontext() as context:
            context.prec = 150
            return np.array([float(function(Decimal(float(v)))) for v in x])

    return values


def exact_normcdf(x):
    """1/2 + phi(x) (x + x^3/3 + x^5/15 + ...) (Abramowitz and Stegun 26.2.11)."""
    term = total = x
    k = 1
    while abs(term) > Decimal(10) ** -145 * abs(total):
        k += 2
        term *= x * x / k
        total += term
    return Decimal("0.5") + (-x * x / 2).exp() / (2 * PI).sqrt() * total


def exact_bessel(order):
    def value(x):
        term = total = (x / 2) ** order
        k = 0
        while abs(term) > Decimal(10) ** -145 * abs(total):
            k += 1
            term *= x * x / 4 / (k * (k + order))
            total += term
        return total

    return by_decimals(value)


def exact_pi(function):
    """Sine or cosine of pi x, reduced to an eighth of the circle exactly."""

    def values(x):
        found = []
        for value in x:
            rest = math.fmod(value, 2.0)
            quarters = round(2 * rest)
            angle = math.pi * (rest - quarters / 2)
            s, c = math.sin(angle), math.cos(angle)
            found.append([(s, c), (c, -s), (-s, -c), (-c, s)][quarters % 4][function == "cospi"])
        return np.array(found)

    return values


#: NumPy's or SciPy's function for each of one argument, and the interval to compare on.
ONE = {
    "acos": (np.arccos, -1, 1),
    "acosh": (np.arccosh, 1, 1e6),
    "asin": (np.arcsin, -1, 1),
    "asinh": (np.arcsinh, -1e6, 1e6),
    "atan": (np.arctan, -1e3, 1e3),
    "atanh": (np.arctanh, -1, 1),
    "cbrt": (np.cbrt, -1e9, 1e9),
    "ceil": (np.ceil, -1e9, 1e9),
    "cos": (np.cos, -1e3, 1e3),
    "cosh": (np.cosh, -80, 80),
    "erf": (special.erf, -5, 5),
    "erfc": (by_decimals(lambda x: 2 * exact_normcdf(-x * Decimal(2).sqrt())), -5, 9),
    "exp": (np.exp, -80, 80),
    "exp2": (np.exp2, -100, 100),
    "expm1": (np.expm1, -5, 5),
    "fabs": (np.abs, -1e9, 1e9),
    "floor": (np.floor, -1e9, 1e9),
    "j0": (special.j0, 0, 2),
    "j1": (special.j1, 0, 3),
    "lgamma": (special.gammaln, 3, 1e5),
    "log": (np.log, 1e-30, 1e30),
    "log10": (np.log10, 1e-30, 1e30),
    "log1p": (np.log1p, -0.9, 10),
    "log2": (np.log2, 1e-30, 1e30),
    "logb": (lambda x: np.floor(np.log2(np.abs(x))), 1.01, 1e9),
    "nearbyint": (np.rint, -1e6, 1e6),
    "rint": (np.rint, -1e6, 1e6),
    "round": (lambda x: np.trunc(x + np.copysign(0.5, x)), -1e6, 1e6),
    "sin": (np.sin, -1e3, 1e3),
    "sinh": (np.sinh, -80, 80),
    "sqrt": (np.sqrt, 0, 1e30),
    "tan": (np.tan, -1e3, 1e3),
    "tanh": (np.tanh, -10, 10),
    "tgamma": (special.gamma, 0.1, 30),
    "trunc": (np.trunc, -1e9, 1e9),
    "y0": (special.y0, 1, 3),
    "y1": (special.y1, 0.1, 2),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-30, 1e30),
    "rcbrt": (lambda x: 1 / np.cbrt(x), 1e-30, 1e30),
    "exp10": (lambda x: np.array([float(f"1e{int(v)}") for v in x]), -30, 30),
    "normcdf": (by_decimals(exact_normcdf), -14, 8),
    "normcdfinv": (special.ndtri, 0, 1),
    "erfinv": (special.erfinv, -1, 1),
    "erfcinv": (special.erfcinv, 1e-30, 2),
    "erfcx": (by_decimals(lambda x: 2 * (x * x).exp() * exact_normcdf(-x * Decimal(2).sqrt())), -9, 14),
    "cyl_bessel_i0": (exact_bessel(0), -80, 80),
    "cyl_bessel_i1": (exact_bessel(1), -80, 80),
    "sinpi": (exact_pi("sinpi"), -100, 100),
    "cospi": (exact_pi("cospi"), -100, 100),
}
TWO = {
    "atan2": (np.arctan2, -10, 10),
    "copysign": (np.copysign, -10, 10),
    "fdim": (lambda x, y: np.maximum(x - y, 0), -10, 10),
    "fmod": (np.fmod, -100, 100),
    "hypot": (np.hypot, -1e6, 1e6),
    "nextafter": (np.nextafter, -10, 10),
    "pow": (np.power, 0.01, 20),
    "remainder": (lambda x, y: np.array([math.remainder(a, b) for a, b in zip(x, y, strict=True)]), -100, 100),
    "fmax": (np.fmax, -10, 10),
    "fmin": (np.fmin, -10, 10),
    "rhypot": (lambda x, y: 1 / np.hypot(x, y), -1e6, 1e6),
    "max": (np.fmax, -10, 10),
    "min": (np.fmin, -10, 10),
}
TYPES = {"double": np.float64, "float": np.float32}


def kernel(number, call, kind):
    return f"    out[{number} * n + i] = {call};\n"


SOURCE = "".join(
    f"__global__ void mathematics_{kind}(const {kind}* xs, const {kind}* ys, {kind}* out, int n) {{\n"
    "    int i = threadIdx.x + blockIdx.x * blockDim.x;\n    if (i >= n) return;\n"
    f"    {kind} x = xs[i], y = ys[i];\n"
    + "".join(
        f"    out[{k} * n + i] = {name}(x{', y' if name in TWO else ''});\n" for k, name in enumerate((*ONE, *TWO))
    )
    + "}\n"
    for kind in TYPES
)
SUFFIXED = [name for name in (*ONE, *TWO) if name not in ("max", "min")]
SUFFIX_SOURCE = (
    "__global__ void suffixed(const float* xs, const float* ys, float* out, int n) {\n"
    "    int i = threadIdx.x;\n    float x = xs[i], y = ys[i];\n    (void)y;\n"
    + "".join(
        f"    out[{2 * k} * n + i] = {name}f(x{', y' if name in TWO else ''});\n"
        f"    out[{2 * k + 1} * n + i] = {name}(x{', y' if name in TWO else ''});\n"
        for k, name in enumerate(SUFFIXED)
    )
    + "}\n"
)


@pytest.fixture(scope="module")
def source() -> CpuSource:
    return cpu_source(SOURCE, "mathematics_double", "mathematics_float")


def computed(source, kind, name, x, y=None):
    x = np.ascontiguousarray(x, TYPES[kind])
    y = np.ascontiguousarray(x if y is None else y, TYPES[kind])
    out = np.zeros((len(ONE) + len(TWO), len(x)), TYPES[kind])
    source(f"mathematics_{kind}", (len(x) + 127) // 128, 128, x, y, out, np.int32(len(x)))
    return out[[*ONE, *TWO].index(name)]


def ulps(found, expected):
    assert (np.isnan(found) == np.isnan(expected)).all()
    with np.errstate(invalid="ignore"):
        error = np.abs(found.astype(np.longdouble) - expected.astype(np.longdouble))
    error[(found == expected) | np.isnan(found)] = 0
    return (error / np.spacing(np.abs(expected.astype(found.dtype))).astype(np.longdouble)).max()


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_argument(source, name):
    reference, low, high = ONE[name]
    rng = np.random.default_rng(7)
    x = rng.uniform(low, high, 500)
    if low > 0 and high / low > 1e6:
        x = np.exp(rng.uniform(np.log(low), np.log(high), 500))
    if name == "exp10":
        x = np.rint(x)
    # Larger where the reference has errors itself, and for glibc's Bessel functions near their roots.
    bound = {
        "cyl_bessel_i0": 8,
        "cyl_bessel_i1": 8,
        "erfcinv": 24,
        "erfinv": 24,
        "normcdfinv": 24,
        "j0": 16,
        "j1": 16,
        "y0": 16,
        "y1": 16,
        "lgamma": 8,
        "tgamma": 8,
    }
    assert ulps(computed(source, "double", name, x), reference(x)) <= bound.get(name, 5)
    single = x.astype(np.float32)
    expected = reference(single.astype(float)).astype(np.float32)
    bound = {"j0": 16, "j1": 16, "y0": 16, "y1": 16, "tgamma": 8, "lgamma": 8}
    assert ulps(computed(source, "float", name, single), expected) <= bound.get(name, 2)


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_arguments(source, name):
    reference, low, high = TWO[name]
    rng = np.random.default_rng(8)
    x, y = rng.uniform(low, high, (2, 500))
    assert ulps(computed(source, "double", name, x, y), reference(x, y)) <= 4
    x, y = x.astype(np.float32), y.astype(np.float32)
    expected = reference(x, y) if name == "nextafter" else reference(x.astype(float), y.astype(float))
    assert ulps(computed(source, "float", name, x, y), expected.astype(np.float32)) <= 2


SPECIAL = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, 2.5, -3.0, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan]


@given(st.one_of(st.sampled_from(SPECIAL), st.floats()), st.one_of(st.sampled_from(SPECIAL), st.floats()))
def test_extremes_prefer_numbers_and_positive_zero(source, x, y):
    for name, sign in (("fmax", 1), ("max", 1), ("fmin", -1), ("min", -1)):
        found = computed(source, "double", name, [x], [y])[0]
        numbers = [v for v in (x, y) if not math.isnan(v)]
        if not numbers:
            assert math.isnan(found)
        else:
            expected = sign * max((sign * v for v in numbers), key=lambda v: (v, math.copysign(1, v)))
            assert (found, math.copysign(1, found)) == (expected, math.copysign(1, expected))


def test_special_values(source):
    inf, nan = math.inf, math.nan
    cases = {
        "sinpi": ([0.0, -0.0, 1, 0.5, 1.5, -0.5, 2.0**60, inf], [0.0, -0.0, 0, 1, -1, -1, 0, nan]),
        "cospi": ([0.0, 1, 0.5, 1.5, -1, 2.0**60, -inf], [1, -1, 0, 0, -1, 1, nan]),
        "rsqrt": ([0.0, inf, -1, 4], [inf, 0, nan, 0.5]),
        "rcbrt": ([0.0, inf, -8, 8], [inf, 0, -0.5, 0.5]),
        "exp10": ([0, 2, -inf, inf, 400], [1, 100, 0, inf, inf]),
        "normcdf": ([0, -inf, inf, nan, 40, -50], [0.5, 0, 1, nan, 1, 0]),
        "normcdfinv": ([0, 1, 0.5, -0.1, 1.1, nan], [-inf, inf, 0, nan, nan, nan]),
        "erfinv": ([0, 1, -1, 1.5, nan], [0, inf, -inf, nan, nan]),
        "erfcinv": ([0, 2, 1, -1, 2.5], [inf, -inf, 0, nan, nan]),
        "erfcx": ([0, inf, -inf, nan, -40], [1, 0, inf, nan, inf]),
        "cyl_bessel_i0": ([0, inf, -inf, nan, 800], [1, inf, inf, nan, inf]),
        "cyl_bessel_i1": ([0, inf, -inf, nan], [0, inf, -inf, nan]),
    }
    for name, (x, expected) in cases.items():
        assert computed(source, "double", name, x).tolist() == pytest.approx(expected, nan_ok=True, rel=1e-15), name
    signs = np.signbit(computed(source, "double", "sinpi", [0.0, -0.0]))
    assert list(signs) == [False, True]


def test_published_values(source):
    """Tables: Abramowitz and Stegun 9.8 (Bessel), 26.2 (normal distribution); NIST DLMF 7.23."""
    tables = {
        "cyl_bessel_i0": {1: 1.2660658777520083, 5: 27.239871823604442, 20: 43558282.55955353, 50: 2.93255378384933e20},
        "cyl_bessel_i1": {1: 0.5651591039924850, 5: 24.335642142450530, 20: 42454973.385127775},
        "erfcx": {1: 0.4275835761558070, 10: 0.05614099274382259, -1: 5.008980080762283},
        "normcdf": {1: 0.8413447460685429, -2: 0.022750131948179207, -10: 7.619853024160525e-24, -38: 2.8854e-316},
        "normcdfinv": {0.975: 1.959963984540054, 0.001: -3.090232306167813, 1e-300: -37.0470962993612},
        "erfinv": {0.5: 0.4769362762044699, 0.999: 2.326753765513525},
        "j0": {1: 0.7651976865579666, 10: -0.2459357644513483},
        "tgamma": {5: 24, 0.5: 1.7724538509055159},
    }
    for name, values in tables.items():
        found = computed(source, "double", name, list(values))
        assert found.tolist() == pytest.approx(list(values.values()), rel=3e-15 if name != "normcdf" else 2e-5), name


def test_names_with_f_are_those_for_float():
    rng = np.random.default_rng(3)
    x, y = rng.uniform(0.1, 0.9, (2, 32)).astype(np.float32)
    out = np.zeros((2 * len(SUFFIXED), 32), np.float32)
    cpu_source(SUFFIX_SOURCE, "suffixed")("suffixed", 1, 32, x, y, out, np.int32(32))
    assert np.array_equal(out[::2], out[1::2], equal_nan=True)


OTHERS = """
__global__ void others(const double* x, const float* f, double* out, float* of, int* oi, long long* ol) {
    out[0] = norm(3, x), out[1] = rnorm(3, x), out[2] = norm3d(x[0], x[1], x[2]);
    out[3] = norm4d(x[0], x[1], x[2], x[3]);
    out[4] = rnorm3d(x[0], x[1], x[2]), out[5] = rnorm4d(x[0], x[1], x[2], x[3]);
    of[0] = normf(3, f), of[1] = rnormf(3, f), of[2] = norm3df(f[0], f[1], f[2]);
    of[3] = norm4df(f[0], f[1], f[2], f[3]), of[4] = rnorm3df(f[0], f[1], f[2]);
    of[5] = rnorm4df(f[0], f[1], f[2], f[3]);
    sincos(x[0], out + 6, out + 7), sincospi(x[0], out + 8, out + 9);
    sincosf(f[0], of + 6, of + 7), sincospif(f[0], of + 8, of + 9);
    out[10] = frexp(x[1], oi), out[11] = ldexp(x[1], 3), out[12] = scalbn(x[1], -2), out[13] = scalbln(x[1], 2L);
    out[14] = modf(x[1], out + 15), out[16] = remquo(x[1], x[0], oi + 1), out[17] = fma(x[0], x[1], x[2]);
    out[18] = jn(2, x[0]), out[19] = yn(2, x[0]), out[20] = pow(x[0], 3), out[21] = nan("");
    of[10] = frexpf(f[1], oi + 2), of[11] = ldexpf(f[1], 3), of[12] = fmaf(f[0], f[1], f[2]), of[13] = pow(f[0], 2);
    oi[3] = ilogb(x[1]), ol[0] = lrint(x[1]), ol[1] = lround(x[1]), ol[2] = llrint(-x[1]), ol[3] = llroundf(f[1]);
    oi[4] = isnan(x[0]), oi[5] = isinf(1 / (x[0] - x[0])), oi[6] = isfinite(f[0]), oi[7] = signbit(-f[0]);
    of[14] = __expf(f[0]), of[15] = __sinf(f[0]), of[16] = __powf(f[0], f[1]), of[17] = __fdividef(f[0], f[1]);
    of[18] = __saturatef(f[1]), of[19] = __log2f(f[0]), of[20] = fdividef(f[0], f[1]), of[21] = __exp10f(f[0]);
    out[22] = norm3d(1e300, 1e300, 1e300), out[23] = norm3d(3e-310, 4e-310, 0.0);
    out[24] = abs(-x[1]), of[22] = abs(-f[1]), out[25] = max(x[0], f[1]), out[26] = min(f[0], x[1]);
}
"""


def test_all_the_others():
    x = np.array([0.625, 37.5, -2.25, 3.5])
    f = x.astype(np.float32)
    out, of, oi, ol = np.zeros(27), np.zeros(23, np.float32), np.zeros(8, np.int32), np.zeros(4, np.int64)
    cpu_source(OTHERS, "others")("others", 1, 1, x, f, out, of, oi, ol)
    a, b, c, d = x
    three, four = math.hypot(a, b, c), math.hypot(a, b, c, d)
    lengths = [three, 1 / three, three, four, 1 / three, 1 / four]
    expected = [*lengths, math.sin(a), math.cos(a), math.sin(math.pi * a), math.cos(math.pi * a)]
    expected += [37.5 / 64, 300.0, 9.375, 150.0, 0.5, 37.0, 0.0, a * b + c, special.jn(2, a), special.yn(2, a), a**3]
    assert out[:21].tolist() == pytest.approx(expected, rel=4e-16 * 4)
    assert math.isnan(out[21])
    assert out[22:].tolist() == pytest.approx([math.sqrt(3) * 1e300, 5e-310, 37.5, 37.5, a], rel=1e-14)
    expected = [*lengths, math.sin(a), math.cos(a), math.sin(math.pi * a), math.cos(math.pi * a)]
    expected += [37.5 / 64, 300.0, a * b + c, a**2, math.exp(a), math.sin(a), a**b, a / b, 1.0, math.log2(a), a / b]
    assert of.tolist() == pytest.approx([*expected, 10**a, 37.5], rel=3e-7)
    assert oi.tolist()[:4] == [6, 60 % 8, 6, 5]
    assert [bool(v) for v in oi[4:]] == [False, True, True, True]
    assert ol.tolist() == [38, 38, -38, 38]
