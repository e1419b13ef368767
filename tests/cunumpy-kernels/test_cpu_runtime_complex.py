"""Complex numbers on the CPU device: CuPy's header and cuda::std, against NumPy."""

from __future__ import annotations

import cmath

import numpy as np
import pytest

from cpu_runtime import cpu_source

FUNCTIONS = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log", "log10", "sin", "sinh")
FUNCTIONS += ("sqrt", "tan", "tanh")
NUMPY = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atanh": "arctanh",
}

SOURCE = """
%(include)s
template <class T>
__global__ void calculate(const %(complex)s<T>* xs, const %(complex)s<T>* ys, %(complex)s<T>* out, T* real, int n) {
    int i = threadIdx.x;
    %(complex)s<T> x = xs[i], y = ys[i], z = x;
    T two = 2;
    %(complex)s<T>* o = out + i;
    o[0] = x + y, o[n] = x - y, o[2 * n] = x * y, o[3 * n] = x / y, o[4 * n] = -x, o[5 * n] = conj(x);
    o[6 * n] = x + two, o[7 * n] = two - x, o[8 * n] = two * x, o[9 * n] = x / two, o[10 * n] = two / x;
    z += y, z *= x, z -= two, z /= y;
    o[11 * n] = z, o[12 * n] = pow(x, y), o[13 * n] = pow(x, two), o[14 * n] = pow(two, y);
    o[15 * n] = %(functions_of)s::polar(abs(x), arg(x));
    z = x;
    z.real(3), z.imag(z.real() + 1), o[16 * n] = z, z = two, o[17 * n] = z;
%(functions)s
    real[i] = abs(x), real[i + n] = arg(x), real[i + 2 * n] = norm(x), real[i + 3 * n] = x.real() + 2 * x.imag();
    real[i + 4 * n] = (x == y) + 2 * (x != y) + 4 * (x == x) + 8 * (x == two);
    real[i + 5 * n] = sizeof(x) + alignof(%(complex)s<T>);
}
"""


def text(include, name, functions_of):
    calls = "".join(f"    o[{18 + k} * n] = {f}(x);\n" for k, f in enumerate(FUNCTIONS))
    return SOURCE % {"include": include, "complex": name, "functions": calls, "functions_of": functions_of}


@pytest.fixture(scope="module")
def cupy_header(tmp_path_factory):
    """Give NVRTC a <cupy/complex.cuh>: CuPy, whose header has the same interface, is not in every environment."""
    folder = tmp_path_factory.mktemp("include")
    (folder / "cupy").mkdir()
    lines = "#include <cuda/std/complex>\nnamespace thrust { using cuda::std::polar; }\nusing cuda::std::complex;\n"
    (folder / "cupy" / "complex.cuh").write_text(lines)
    return folder


@pytest.mark.parametrize("kind", ["double", "float"])
@pytest.mark.parametrize("origin", ["cupy", "cuda"])
def test_arithmetic_and_functions(origin, kind, cupy_header):
    if origin == "cupy":
        source = text("#include <cupy/complex.cuh>", "complex", "thrust")
    else:
        source = text("#include <cuda/std/complex>", "cuda::std::complex", "cuda::std")
    kernels = cpu_source(source, "calculate<double>", "calculate<float>", cuda_dirs=(cupy_header,))
    dtype = np.complex128 if kind == "double" else np.complex64
    rng = np.random.default_rng(5)
    n = 64
    x, y = (rng.normal(size=(2, n)) + 1j * rng.normal(size=(2, n))).astype(dtype)
    out, real = np.zeros((18 + len(FUNCTIONS), n), dtype), np.zeros((6, n), x.real.dtype)
    kernels(f"calculate<{kind}>", 1, n, x, y, out, real, np.int32(n))
    a, b = x.astype(complex), y.astype(complex)
    expected = [
        a + b,
        a - b,
        a * b,
        a / b,
        -a,
        a.conj(),
        a + 2,
        2 - a,
        2 * a,
        a / 2,
        2 / a,
        ((a + b) * a - 2) / b,
        a**b,
    ]
    expected += [a**2, 2**b, a, np.full(n, 3 + 4j), np.full(n, 2)]
    expected += [getattr(np, NUMPY.get(f, f))(a) for f in FUNCTIONS]
    tolerance = 2e-14 if kind == "double" else 2e-5
    for k, row in enumerate(expected):
        assert np.allclose(out[k], row, rtol=tolerance, atol=tolerance), k
    reals = [np.abs(a), np.angle(a), np.abs(a) ** 2, a.real + 2 * a.imag, np.full(n, 6.0)]
    assert np.allclose(real[:5], reals, rtol=tolerance, atol=tolerance)
    assert (real[5] == 2 * np.dtype(dtype).itemsize).all()


CUPY_ONLY = """
#include <cupy/complex.cuh>
extern "C" __global__ void more(const complex<double>* x, complex<double>* out, bool* flags, complex<float>* single) {
    out[0] = log1p(x[0]), out[1] = log2(x[0]), out[2] = expm1(x[0]), out[3] = min(x[0], x[1]), out[4] = max(x[0], x[1]);
    out[5] = rint(x[0]), out[6] = pow(x[0], 2.0f), out[7] = pow(2.0f, x[0]), out[8] = pow(single[0], x[0]);
    out[9] = single[0];
    out[9] *= 2.0;
    single[1] = complex<float>(x[0]);
    flags[0] = isnan(x[0]), flags[1] = isnan(x[2]), flags[2] = isinf(x[3]), flags[3] = isfinite(x[0]);
    flags[4] = isfinite(x[3]);
    out[10] = exp(x[0].real()) + complex<double>(sin(x[0].imag()), 0.0);
    out[11] = min(x[2], x[0]);
}
"""


def test_what_cupy_adds():
    x = np.array([1.5 + 0.5j, 1.5 - 2j, complex("nan+1j"), complex("inf")])
    out, flags, single = np.zeros(12, complex), np.zeros(5, bool), np.array([2 - 1j, 0], np.complex64)
    # Of these CuPy's own header has more than Thrust; NVRTC sees them where CuPy is at hand.
    cpu_source(CUPY_ONLY, "more", nvrtc=False)("more", 1, 1, x, out, flags, single)
    z = complex(x[0])
    expected = [
        cmath.log(1 + z),
        cmath.log(z, 2),
        cmath.exp(z) - 1,
        x[1],
        x[0],
        2 + 0j,
        z**2,
        2**z,
        (2 - 1j) ** z,
        4 - 2j,
    ]
    expected += [np.exp(1.5) + np.sin(0.5), z]
    assert np.allclose(out, expected, rtol=1e-14)
    assert list(flags) == [False, True, True, True, False]
    assert single[1] == np.complex64(z)
