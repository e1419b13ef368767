// CuPy's complex numbers: thrust::complex, in the global namespace too, and a few functions more.
#pragma once

#include <thrust/complex.h>

using thrust::acos;
using thrust::acosh;
using thrust::arg;
using thrust::asin;
using thrust::asinh;
using thrust::atan;
using thrust::atanh;
using thrust::complex;
using thrust::conj;
using thrust::cos;
using thrust::cosh;
using thrust::exp;
using thrust::imag;
using thrust::log;
using thrust::log10;
using thrust::real;
using thrust::sin;
using thrust::sinh;
using thrust::tan;
using thrust::tanh;

template <typename T>
inline bool isnan(thrust::complex<T> z) {
    return __builtin_isnan(z.real()) || __builtin_isnan(z.imag());
}
template <typename T>
inline bool isinf(thrust::complex<T> z) {
    return __builtin_isinf(z.real()) || __builtin_isinf(z.imag());
}
template <typename T>
inline bool isfinite(thrust::complex<T> z) {
    return __builtin_isfinite(z.real()) && __builtin_isfinite(z.imag());
}
template <typename T>
inline thrust::complex<T> log1p(thrust::complex<T> z) {
    return log(z + T(1));
}
template <typename T>
inline thrust::complex<T> log2(thrust::complex<T> z) {
    return log(z) / T(0.693147180559945309417232121458176568);
}
template <typename T>
inline thrust::complex<T> expm1(thrust::complex<T> z) {
    return exp(z) - T(1);
}
// By the real part, then by the imaginary one; NaN only if both are.
template <typename T>
inline thrust::complex<T> min(thrust::complex<T> x, thrust::complex<T> y) {
    if (isnan(x)) return y;
    if (isnan(y)) return x;
    return x.real() < y.real() || (x.real() == y.real() && x.imag() < y.imag()) ? x : y;
}
template <typename T>
inline thrust::complex<T> max(thrust::complex<T> x, thrust::complex<T> y) {
    if (isnan(x)) return y;
    if (isnan(y)) return x;
    return x.real() < y.real() || (x.real() == y.real() && x.imag() < y.imag()) ? y : x;
}
template <typename T>
inline thrust::complex<T> rint(thrust::complex<T> z) {
    return thrust::complex<T>((T)__builtin_rint(z.real()), (T)__builtin_rint(z.imag()));
}
