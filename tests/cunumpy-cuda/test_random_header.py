"""The header random.cuh: its functions on the host, and that every one compiles for GPUs.

The functions are run as C++; on the host that is what cunumpy.rng is made of, and for CUDA they are the same text.
"""

from __future__ import annotations

import ctypes
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import philox_reference as reference
from cpp_compiler import shared_library
from cunumpy.cuda import cuda_include_dir
from nvrtc import ARCHITECTURES, compile_cuda

SIGNATURES = """
cunumpy_u32x4 cunumpy_philox4x32_10(cunumpy_u32x4, unsigned int, unsigned int);
cunumpy_u32x4 cunumpy_random_bits(u64, u64, u64);
u64 cunumpy_counter(unsigned int, u64);
double cunumpy_u64_to_uniform(unsigned int, unsigned int);
float cunumpy_u32_to_uniformf(unsigned int);
double cunumpy_uniform(u64, u64, u64);
void cunumpy_uniform2(u64, u64, u64, double*, double*);
float cunumpy_uniformf(u64, u64, u64);
void cunumpy_uniform4f(u64, u64, u64, float*);
double cunumpy_normal(u64, u64, u64);
void cunumpy_normal2(u64, u64, u64, double*, double*);
float cunumpy_normalf(u64, u64, u64);
void cunumpy_normal4f(u64, u64, u64, float*);
double cunumpy_exponential(u64, u64, u64);
void cunumpy_exponential2(u64, u64, u64, double*, double*);
float cunumpy_exponentialf(u64, u64, u64);
void cunumpy_exponential4f(u64, u64, u64, float*);
u64 cunumpy_integer(u64, u64, u64, u64);
void cunumpy_integers2(u64, u64, u64, u64, u64*, u64*);
u64 cunumpy_u64_multiply_high(u64, u64);
"""

# One C function for each of the header's that fill arrays: f(n, seed, stream, counters, results side by side).
HOST = r"""
#define __device__
#define __forceinline__ inline
#include <cunumpy/random.cuh>
#include <cunumpy/random.cuh>

static_assert(CUNUMPY_PHILOX_M0 == 0xD2511F53u && CUNUMPY_PHILOX_M1 == 0xCD9E8D57u, "");
static_assert(CUNUMPY_PHILOX_W0 == 0x9E3779B9u && CUNUMPY_PHILOX_W1 == 0xBB67AE85u, "");
typedef unsigned long long u64;
extern "C" {
void words(u64 seed, u64 stream, u64 counter, unsigned* out) {
    cunumpy_u32x4 w = cunumpy_random_bits(seed, stream, counter);
    for (int k = 0; k < 4; ++k) out[k] = w.v[k];
}
void philox(const unsigned* counter, const unsigned* key, unsigned* out) {
    cunumpy_u32x4 c;
    for (int k = 0; k < 4; ++k) c.v[k] = counter[k];
    c = cunumpy_philox4x32_10(c, key[0], key[1]);
    for (int k = 0; k < 4; ++k) out[k] = c.v[k];
}
u64 counter(unsigned use, u64 index) { return cunumpy_counter(use, index); }
u64 multiply_high(u64 a, u64 b) { return cunumpy_u64_multiply_high(a, b); }
#define FILL(name, type, width, call) \
    void name(long long n, u64 seed, u64 stream, const u64* counters, type* out) { \
        for (long long i = 0; i < n; ++i) { u64 c = counters[i]; type* o = out + width * i; call; } }
FILL(uniform, double, 1, *o = cunumpy_uniform(seed, stream, c))
FILL(uniform2, double, 2, cunumpy_uniform2(seed, stream, c, o, o + 1))
FILL(uniformf, float, 1, *o = cunumpy_uniformf(seed, stream, c))
FILL(uniform4f, float, 4, cunumpy_uniform4f(seed, stream, c, o))
FILL(normal, double, 1, *o = cunumpy_normal(seed, stream, c))
FILL(normal2, double, 2, cunumpy_normal2(seed, stream, c, o, o + 1))
FILL(normalf, float, 1, *o = cunumpy_normalf(seed, stream, c))
FILL(normal4f, float, 4, cunumpy_normal4f(seed, stream, c, o))
FILL(exponential, double, 1, *o = cunumpy_exponential(seed, stream, c))
FILL(exponential2, double, 2, cunumpy_exponential2(seed, stream, c, o, o + 1))
FILL(exponentialf, float, 1, *o = cunumpy_exponentialf(seed, stream, c))
FILL(exponential4f, float, 4, cunumpy_exponential4f(seed, stream, c, o))
void integers2(long long n, u64 seed, u64 stream, const u64* counters, u64 range, u64* out) {
    for (long long i = 0; i < n; ++i) cunumpy_integers2(seed, stream, counters[i], range, out + 2 * i, out + 2 * i + 1);
}
u64 integer(u64 seed, u64 stream, u64 counter, u64 range) { return cunumpy_integer(seed, stream, counter, range); }
}
"""

# Calls every function with arguments that the compiler does not know.
KERNEL = r"""
#include <cunumpy/random.cuh>
extern "C" __global__ void all(unsigned long long seed, unsigned long long stream, unsigned long long range,
                               double* d, float* f, unsigned long long* i, unsigned int* w) {
    const unsigned long long c = cunumpy_counter(3, threadIdx.x);
    cunumpy_u32x4 words = cunumpy_philox4x32_10(cunumpy_random_bits(seed, stream, c), w[0], w[1]);
    for (int k = 0; k < 4; ++k) w[k] = words.v[k];
    d[0] = cunumpy_u64_to_uniform(w[0], w[1]);
    f[0] = cunumpy_u32_to_uniformf(w[2]);
    d[1] = cunumpy_uniform(seed, stream, c);
    cunumpy_uniform2(seed, stream, c, d + 2, d + 3);
    f[1] = cunumpy_uniformf(seed, stream, c);
    cunumpy_uniform4f(seed, stream, c, f + 2);
    d[4] = cunumpy_normal(seed, stream, c);
    cunumpy_normal2(seed, stream, c, d + 5, d + 6);
    f[6] = cunumpy_normalf(seed, stream, c);
    cunumpy_normal4f(seed, stream, c, f + 7);
    d[7] = cunumpy_exponential(seed, stream, c);
    cunumpy_exponential2(seed, stream, c, d + 8, d + 9);
    f[11] = cunumpy_exponentialf(seed, stream, c);
    cunumpy_exponential4f(seed, stream, c, f + 12);
    i[0] = cunumpy_integer(seed, stream, c, range);
    cunumpy_integers2(seed, stream, c, range, i + 1, i + 2);
    i[3] = cunumpy_u64_multiply_high(seed, stream);
}
"""


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Compile the header as C++11, with all warnings as errors."""
    signatures = re.sub(r"(cunumpy_\w+)\((.*)\);", r"(*check_\1)(\2) = \1;", SIGNATURES)
    options = ["-std=c++11", "-O2", "-Wextra", "-Wpedantic", "-ffp-contract=off", f"-I{cuda_include_dir()}"]
    library = shared_library(HOST + signatures, tmp_path_factory.mktemp("header") / "header.so", options)
    for name in ("counter", "multiply_high", "integer"):
        getattr(library, name).restype = ctypes.c_ulonglong
    return library


def u64(value: int) -> ctypes.c_ulonglong:
    return ctypes.c_ulonglong(value)


def fill(header: ctypes.CDLL, name: str, counters: np.ndarray, seed: int = 1, stream: int = 2) -> np.ndarray:
    """Call a function of the header for each counter; several results a call are side by side."""
    width = {"2": 2, "f": 1}.get(name[-1], 1) if not name.endswith("4f") else 4
    out = np.full((len(counters), width), np.nan, np.float32 if name.endswith("f") else np.float64)
    counters = np.ascontiguousarray(counters, np.uint64)
    getattr(header, name)(
        ctypes.c_longlong(len(counters)),
        u64(seed),
        u64(stream),
        counters.ctypes.data_as(ctypes.c_void_p),
        out.ctypes.data_as(ctypes.c_void_p),
    )
    return out


def integers(header: ctypes.CDLL, counters: np.ndarray, bound: int, seed: int = 1, stream: int = 2) -> np.ndarray:
    out = np.empty((len(counters), 2), np.uint64)
    counters = np.ascontiguousarray(counters, np.uint64)
    header.integers2(
        ctypes.c_longlong(len(counters)),
        u64(seed),
        u64(stream),
        counters.ctypes.data_as(ctypes.c_void_p),
        u64(bound),
        out.ctypes.data_as(ctypes.c_void_p),
    )
    return out


@pytest.mark.parametrize(("counter", "key", "expected"), reference.KNOWN_ANSWERS)
def test_known_answers_of_random123(header, counter, key, expected):
    out = (ctypes.c_uint * 4)()
    header.philox((ctypes.c_uint * 4)(*counter), (ctypes.c_uint * 2)(*key), out)
    assert list(out) == expected


@pytest.mark.parametrize(("where", "uniform", "normal"), reference.TABLE)
def test_known_numbers(header, where, uniform, normal):
    seed, stream, counter = where
    counters = np.array([counter], np.uint64)
    assert [float(u).hex() for u in fill(header, "uniform2", counters, seed, stream)[0]] == list(uniform)
    assert fill(header, "uniform", counters, seed, stream)[0, 0].hex() == uniform[0]
    np.testing.assert_array_max_ulp(fill(header, "normal2", counters, seed, stream)[0], np.array(normal), 8)
    np.testing.assert_array_max_ulp(fill(header, "normal", counters, seed, stream)[0], np.array(normal[:1]), 8)


@given(seed=st.integers(0, 2**64 - 1), stream=st.integers(0, 2**64 - 1), counter=st.integers(0, 2**64 - 1))
def test_all_bits_of_all_arguments_count(header, seed, stream, counter):
    out = (ctypes.c_uint * 4)()
    header.words(u64(seed), u64(stream), u64(counter), out)
    assert list(out) == reference.words(seed, stream, counter)


@given(a=st.integers(0, 2**64 - 1), b=st.integers(0, 2**64 - 1))
def test_high_half_of_a_product(header, a, b):
    assert header.multiply_high(u64(a), u64(b)) == a * b >> 64


def test_parts_of_the_counter_do_not_meet(header):
    uses = [(use, index) for use in (0, 1, 7, 255) for index in (0, 1, 2**31, 2**32, 2**48 - 1)]
    counters = {header.counter(ctypes.c_uint(use), u64(index)) for use, index in uses}
    assert len(counters) == len(uses)
    assert max(counters) < 2**56
    assert header.counter(ctypes.c_uint(0), u64(12)) == 12


COUNTERS = np.arange(100_000, dtype=np.uint64)


def test_one_number_is_the_first_of_several(header):
    for one, several in [
        ("uniform", "uniform2"),
        ("uniformf", "uniform4f"),
        ("normal", "normal2"),
        ("normalf", "normal4f"),
        ("exponential", "exponential2"),
        ("exponentialf", "exponential4f"),
    ]:
        counters = COUNTERS[:1000]
        np.testing.assert_array_equal(fill(header, one, counters)[:, 0], fill(header, several, counters)[:, 0])


def test_uniform_floats_are_24_bits_of_a_word(header):
    counters = [0, 1, 2**40, 2**64 - 1]
    expected = [[(word >> 8) * 2.0**-24 for word in reference.words(5, 2**63, counter)] for counter in counters]
    np.testing.assert_array_equal(fill(header, "uniform4f", np.array(counters, np.uint64), 5, 2**63), expected)


def test_normal_floats_are_those_of_their_uniform_numbers(header):
    u = fill(header, "uniform4f", COUNTERS)
    z = fill(header, "normal4f", COUNTERS)
    for k in (0, 2):
        radius = np.sqrt(-2 * np.log(1 - u[:, k].astype(np.float64)))
        angle = (np.float32(6.2831855) * u[:, k + 1]).astype(np.float64)
        for result, expected in [(z[:, k], radius * np.cos(angle)), (z[:, k + 1], radius * np.sin(angle))]:
            np.testing.assert_array_max_ulp(result, expected.astype(np.float32), 8)


def test_exponential_numbers_are_those_of_their_uniform_numbers(header):
    for name, uniform, dtype in [("exponential2", "uniform2", np.float64), ("exponential4f", "uniform4f", np.float32)]:
        e = fill(header, name, COUNTERS)
        expected = -np.log1p(-fill(header, uniform, COUNTERS).astype(np.float64))
        np.testing.assert_array_max_ulp(e, expected.astype(dtype), 8)
        assert not np.signbit(e).any()


def test_an_exponential_number_of_zero_is_positive_zero(header):
    u = fill(header, "uniform4f", np.arange(10_000_000, dtype=np.uint64))  # 40 million numbers of 2^24 values
    [row, *_], [column, *_] = np.nonzero(u == 0)
    zero = fill(header, "exponential4f", np.array([row]))[0, column]
    assert zero == 0
    assert not np.signbit(zero)


@pytest.mark.parametrize(
    ("name", "distribution"),
    [
        ("uniform2", stats.uniform),
        ("uniform4f", stats.uniform),
        ("normal2", stats.norm),
        ("normal4f", stats.norm),
        ("exponential2", stats.expon),
        ("exponential4f", stats.expon),
    ],
)
def test_numbers_have_their_distribution(header, name, distribution):
    numbers = fill(header, name, COUNTERS).astype(np.float64)
    for column in numbers.T:
        assert stats.kstest(column, distribution.cdf).pvalue > 1e-3
    for power in (1, 2, 3, 4):
        sample = numbers.ravel() ** power
        error = math.sqrt(distribution.moment(2 * power) - distribution.moment(power) ** 2) / math.sqrt(sample.size)
        assert abs(sample.mean() - distribution.moment(power)) < 4 * error
    correlation = np.corrcoef(numbers.T) - np.eye(numbers.shape[1])
    assert np.abs(correlation).max() < 4 / math.sqrt(len(numbers))
    assert abs(np.corrcoef(numbers[1:, 0], numbers[:-1, -1])[0, 1]) < 4 / math.sqrt(len(numbers))


RANGES = [1, 2, 3, 10, 2**32 - 1, 2**32, 2**32 + 1, 2**63 - 1, 2**63, 2**63 + 1, 3 * 2**62, 2**64 - 1, 2**64]


@settings(max_examples=200)
@given(
    seed=st.integers(0, 2**64 - 1),
    stream=st.integers(0, 2**64 - 1),
    counter=st.integers(0, 2**64 - 1),
    bound=st.one_of(st.sampled_from(RANGES), st.integers(1, 2**64)),
)
def test_bounded_integers_are_lemires(header, seed, stream, counter, bound):
    expected = reference.bounded(seed, stream, counter, bound)
    arguments = [u64(seed), u64(stream)]
    results = integers(header, np.array([counter], np.uint64), bound % 2**64, seed, stream)[0]
    assert tuple(map(int, results)) == expected
    assert max(expected) < bound
    assert header.integer(*arguments, u64(counter), u64(bound % 2**64)) == expected[0]


@pytest.mark.parametrize("bound", [2, 3, 7, 10, 1000])
def test_small_integers_are_equally_probable(header, bound):
    drawn = integers(header, COUNTERS, bound).ravel()
    assert drawn.max() == bound - 1
    assert stats.chisquare(np.bincount(drawn.astype(np.int64), minlength=bound)).pvalue > 1e-3


@pytest.mark.parametrize("bound", [2**63 + 1, 3 * 2**62, 2**64 - 1, 2**64])
def test_large_integers_are_equally_probable(header, bound):
    drawn = integers(header, COUNTERS, bound % 2**64).ravel()
    parts = np.bincount([int(value) * 60 // bound for value in drawn], minlength=60)
    assert stats.chisquare(parts).pvalue > 1e-3
    # Without the second tries the remainder by 3 would be off by a third.
    assert stats.chisquare(np.bincount((drawn % np.uint64(3)).astype(np.int64))).pvalue > 1e-3


def test_bounded_integers_try_again(header):
    # Half of the first tries are rejected for this range, so that several tries in a row occur.
    bound = 2**63 + 1

    def tries(counter: int) -> int:
        attempts = (reference.bits64(1, 2, counter + (a << 56))[0] for a in range(256))
        return next(a for a, bits in enumerate(attempts) if bits * bound % 2**64 >= 2**64 % bound)

    assert max(map(tries, range(200))) >= 4
    results = integers(header, np.arange(200, dtype=np.uint64), bound)
    assert results.tolist() == [list(reference.bounded(1, 2, counter, bound)) for counter in range(200)]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_function_compiles_for_gpus(architecture):
    called = set(KERNEL.split("(")) | set(KERNEL.replace(" ", "(").split("("))
    for line in SIGNATURES.splitlines():
        if "(" in line:
            assert line.partition("(")[0].split()[-1] in called, line
    assert compile_cuda(KERNEL, architecture=architecture)
