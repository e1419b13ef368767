"""Elementwise and reduction kernels without a C++ compiler: NumPy evaluates them, as the compiled code does."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from cunumpy.errors import MissingCompilerError
from cunumpy.kernels import ElementwiseKernel, RawKernel, RawModule, ReductionKernel

OPERATIONS = {
    "arithmetic": "z = (x - y) * (x - y) + 2 * x - x / (y + 10)",
    "conditions": "z = x < y && !(x == 2) || y > 3 ? x : (x >= 1 ? -y : +y)",
    "variables": "const T d = x - y; auto e = d * 2; double f = e, g = 1.5; z = (T)(f * g); z += d; z *= 3; z -= 1",
    "casts": "z = T(static_cast<int>(x) + (double)y + float(0.5f)) + (T)7u + (T)0x1F + (T)010",
    "functions": "z = T(sqrt(abs(1.0 * x)) + fmax(double(x), double(y)) + pow(double(y), 2) + floor(1.5 + y))",
    "single": "z = T(pow(float(x), 2) + sqrtf(float(x * x)) + round(0.5f * x) + rint(x * 0.5f) + 1e1f)",
    "smaller": "z = min(x, y) + max(x, T(2))",
    "raw": "z = x + w[i] + w[i > 0 ? i - 1 : 0] + w[_ind.size() - i - 1] + T(w.size())",
    "places": "z = T(i % 7) + (i == 3 ? x : T(0))",
}
INTEGERS = {
    "bits": "z = (x & y) | (x ^ 3) | (~x >> 1) | (y << 2)",
    "division": "z = x / (y + 5) + x % (y + 5) - (-x) / 2",
    "assignments": "z = x; z &= 5; z |= 8; z ^= y; z <<= 1; z >>= 1; z %= 7; z /= 2",
}


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    take_compiler_away(monkeypatch)


def take_compiler_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")


def compiled(operations: dict[str, str], *args: np.ndarray) -> list[np.ndarray]:
    """Return results of the compiled code: all operations are outputs of one kernel."""
    outputs = ", ".join(f"T z_{name}" for name in operations)
    body = "".join(f"{{ T z; {code}; z_{name} = z; }}" for name, code in operations.items())
    return list(ElementwiseKernel("T x, T y, raw T w", outputs, body, "all_of_them")(*args))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "i1", "u2", "i8"])
def test_operations_are_those_of_the_compiled_code(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operations = OPERATIONS | (INTEGERS if dtype[0] in "iu" else {})
    rng = np.random.default_rng(0)
    x, y, w = (rng.integers(0 if dtype[0] == "u" else -4, 5, shape).astype(dtype) for shape in [(6, 5), 5, 30])
    x = np.asfortranarray(x)
    expected = compiled(operations, x, y, w)
    take_compiler_away(monkeypatch)
    for (name, code), one in zip(operations.items(), expected, strict=True):
        raw = name == "raw"
        kernel = ElementwiseKernel(f"T x, T y{', raw T w' if raw else ''}", "T z", code, name)
        got = kernel(x, y, *([w] if raw else []))
        assert got.dtype == x.dtype
        if dtype[0] == "f":
            np.testing.assert_allclose(got, one, rtol=8 * np.finfo(dtype).eps, atol=0, err_msg=name)
        else:
            np.testing.assert_array_equal(got, one, err_msg=name)


def test_complex_numbers(no_compiler: None) -> None:
    z = np.array([1 + 2j, -0.5j, 3])
    kernel = ElementwiseKernel(
        "complex128 z",
        "complex128 w, float64 a",
        "w = exp(z) * conj(z) + complex<double>(1, 2); a = z.real() + norm(z) + abs(z)",
        "of_complex",
    )
    w, a = kernel(z)
    np.testing.assert_allclose(w, np.exp(z) * z.conj() + 1 + 2j, rtol=1e-14)
    np.testing.assert_allclose(a, z.real + abs(z) ** 2 + abs(z), rtol=1e-14)


def test_outputs_and_numbers(no_compiler: None) -> None:
    x = np.arange(6.0)
    add = ElementwiseKernel("T x, T by", "T y", "y += x * by", "add")
    out = np.ones(12)[::2]
    assert add(x, 2, out) is out
    np.testing.assert_array_equal(out, 1 + 2 * x)
    add(x[:-1], 1, x[1:])  # reads all before it writes
    np.testing.assert_array_equal(x, [0, 1, 3, 5, 7, 9])
    swap = ElementwiseKernel("T x, T y", "T a, T b", "a = y; b = x", "swap")
    p, q = np.arange(3.0), np.arange(3.0) * 10
    swap(p, q, p, q)
    np.testing.assert_array_equal([p, q], [np.arange(3.0) * 10, np.arange(3.0)])
    scatter = ElementwiseKernel("T x", "raw T y", "y[_ind.size() - 1 - i] = 2 * x", "scatter")
    back = np.zeros((2, 3)).T
    scatter(np.arange(6.0), back)
    np.testing.assert_array_equal(back.ravel(), 2 * np.arange(6.0)[::-1])


def test_reductions(no_compiler: None) -> None:
    values = np.random.default_rng(0).random((5, 7, 3))
    norm = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
    least = ReductionKernel("T x", "T y", "x", "a < b ? a : b", "y = a", None, "least")
    mean = ReductionKernel("T x", "T y", "x", "a + b", "y = a / (_in_ind.size() / _out_ind.size())", "0", "mean")
    last = ReductionKernel("T x, raw T w", "T y, int64 n", "x * w[_J]", "a + b", "y = a; n = _i", "0", "weighted")
    for axis in (None, 0, 1, 2, (0, 2), (1, 2)):
        for keepdims in (False, True):
            words = {"axis": axis, "keepdims": keepdims}
            np.testing.assert_allclose(norm(values, **words), np.sqrt((values**2).sum(**words)), rtol=1e-14)
            np.testing.assert_array_equal(least(values, **words), values.min(**words))
            np.testing.assert_allclose(mean(values, **words), values.mean(**words), rtol=1e-14)
    y, n = last(values, values[0, :, 0], axis=1)
    np.testing.assert_allclose(y, np.einsum("ijk,j->ik", values, values[0, :, 0]), rtol=1e-14)
    np.testing.assert_array_equal(n, np.arange(15).reshape(5, 3))
    out = np.zeros(3)
    assert norm(values, axis=(0, 1), out=out) is out
    np.testing.assert_array_equal(norm(np.zeros((0, 3)), axis=0), np.zeros(3))
    total = ReductionKernel("T x", "int64 y", "x", "a + b", "y = a", "0", "total", reduce_type="long long")
    assert total(np.full(1000, 200, np.uint8)) == 200000


def test_what_numpy_evaluates_is_said_once(no_compiler: None, caplog: pytest.LogCaptureFixture) -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x + 1", "said_once")
    with caplog.at_level(logging.WARNING, "cunumpy"):
        for _ in range(3):
            kernel(np.zeros(3))
    (record,) = [one.message for one in caplog.records]
    assert "ElementwiseKernel 'said_once' is evaluated by NumPy, an operation after the other" in record
    assert "install one" in record


@pytest.mark.parametrize(
    ("code", "settings", "text"),
    [
        ("if (x > 0) y = x", {}, "it has 'if'"),
        ("for (int k = 0; k < 3; ++k) y = x", {}, "it has 'for'"),
        ("y = lgamma(x)", {}, r"it calls lgamma\(\)"),
        ("y = helper", {}, "it has 'helper'"),
        ("x = 3", {}, "it has a statement with 'x'"),
        ("y = x % 2", {}, "it has % of floating-point numbers"),
        ("y = x +", {}, "it ends early"),
        ("y = (x", {}, "it ends early"),
        ("y = 'a'", {}, r"""it has "'" """.strip()),
        ("y = sqrt(x, x)", {}, r"it calls sqrt\(\) with 2 arguments"),
        ("y = x)", {}, r"it has '\)' where ';' is understood"),
        ("y = x", {"preamble": "#define A"}, "it has a preamble"),
        ("y = x", {"loop_prep": "int k = 3"}, "it has code around its loop"),
        ("y = x", {"options": ("-DA=3",)}, "its options define macros"),
    ],
)
def test_else_the_error_says_why_and_what_to_install(code, settings, text, no_compiler: None) -> None:
    out = np.full(2, 7.0)
    with pytest.raises(MissingCompilerError, match=rf"ElementwiseKernel 'k': it needs a compiler.*{text}.*install one"):
        ElementwiseKernel("T x", "T y", code, "k", **settings)(np.zeros(2), out)
    np.testing.assert_array_equal(out, 7)


def test_other_kernels_say_what_to_install(no_compiler: None) -> None:
    source = 'extern "C" __global__ void k(double* x) { x[0] = 1; }'
    x = np.zeros(1)
    for call in (
        lambda: RawKernel(source, "k")((1,), (1,), (x,)),
        lambda: RawModule(code=source).get_function("k")((1,), (1,), (x,)),
        lambda: ReductionKernel("T x", "T y", "f(x)", "a + b", "y = a", "0", "k", preamble="__device__ ...")(x),
        lambda: ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "k", reduce_type="Pair")(x),
    ):
        with pytest.raises(MissingCompilerError, match=r"install one \(.*apt-get install g\+\+"):
            call()
