"""Every name of ``cupyx.scipy`` against SciPy: values, types, parameters, and no host arrays."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import re
import warnings
from typing import Any

import cupy
import numpy as np
import pytest

from cunumpy.kernel_testing import host_buffer
from cunumpy.kernel_testing._fake_cupy import _api
from cunumpy.kernel_testing._fake_cupy.scipy_dropped import DROPPED, ELSEWHERE
from cunumpy.kernel_testing._fake_cupy.signatures import with_signature

rng = np.random.default_rng(0)
# Image, signal, rising numbers, labels, mask, symmetric matrix, points, filter coefficients, distributions.
HOST: dict[str, Any] = {
    "x": rng.random((7, 8)),
    "v": np.sin(np.arange(32.0)) + 0.1 * np.arange(32.0),
    "t": np.linspace(0.0, 3.0, 7),
    "y": np.array([0.0, 1.0, 0.5, 2.0, 1.5, 3.0, 2.5]),
    "q": np.array([0.25, 1.5, 2.75]),
    "l": np.array([[0, 1, 1, 0], [2, 0, 1, 3], [2, 2, 0, 3]]),
    "m": np.array([[0, 1, 1, 0, 0], [1, 1, 1, 1, 0], [0, 1, 0, 1, 1], [0, 0, 1, 1, 1]], bool),
    "s": np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]]),
    "p": rng.random((12, 2)),
    "b": np.array([0.2, 0.3, 0.2]),
    "a": np.array([1.0, -0.4, 0.1]),
    "c": np.array([1 + 2j, 3 - 1j, -2 + 0.5j, 0.5j]),
    "u": np.array([0.2, 0.3, 0.5]),
    "w": np.array([0.1, 0.6, 0.3]),
    "i": np.array([1, 2]),
    "sos": np.array([[0.2, 0.3, 0.2, 1.0, -0.4, 0.1]]),
}
# "ours | SciPy's" where the calls differ; @ is the module, lib NumPy or CuPy.
CALLS = {
    "fft": """
@dct(v) ; @dct(v, 3, norm="ortho") ; @dctn(x) ; @dst(v) ; @dstn(x, 2) ; @fft(v) ; @fft(v, 40, norm="ortho") ; @fft2(x)
@fftfreq(6, 0.1) ; @fftn(x, axes=(0,)) ; @fftshift(v) ; @fht(v, 0.1, 0.5) ; @hfft(c) ; @hfft2(c.reshape(2, 2))
@hfftn(c.reshape(2, 2)) ; @idct(v) ; @idctn(x) ; @idst(v) ; @idstn(x) ; @ifft(c) ; @ifft2(x) ; @ifftn(x) ; @ifftshift(v)
@ifht(v, 0.1, 0.5) ; @ihfft(v) ; @ihfft2(x) ; @ihfftn(x) ; @irfft(c, 6) ; @irfft2(x) ; @irfftn(x)
@next_fast_len(97) ; @next_fast_len(97, real=True) ; @rfft(v) ; @rfft2(x) ; @rfftfreq(6) ; @rfftn(x)
""",
    "fftpack": """
@fft(v) ; @fft2(x) ; @fftn(x, shape=(4, 4)) ; @ifft(c) ; @ifft2(x) ; @ifftn(x) ; @irfft(v) ; @rfft(v, 20)
""",
    "interpolate": """
@Akima1DInterpolator(t, y)(q) ; @BPoly(lib.ones((3, 2)), t[:3])(q) ; @BSpline(lib.arange(8.0), y[:5], 2)(q)
@BarycentricInterpolator(t, y)(q) ; @CloughTocher2DInterpolator(p, p[:, 0])(p.mean(axis=0)[None])
@CubicHermiteSpline(t, y, lib.zeros(7))(q) ; @CubicSpline(t, y)(q) ; @CubicSpline(t, y).derivative()(q)
@InterpolatedUnivariateSpline(t, y)(q) ; @KroghInterpolator(t, y)(q) ; @LSQUnivariateSpline(t, y, t[3:4])(q)
@LinearNDInterpolator(p, p[:, 1])(p.mean(axis=0)[None])
@NdBSpline((lib.arange(5.0), lib.arange(5.0)), s, 1)(lib.ones((1, 2)) + 0.7)
@NdPPoly(lib.ones((2, 2, 1, 1)), (t[:2], t[:2]))(t[:2][None] + 0.1) ; @NearestNDInterpolator(p, p[:, 0])(p + 1e-9)
@PPoly(lib.ones((3, 2)), t[:3])(q) ; @PchipInterpolator(t, y)(q) ; @RBFInterpolator(p, p[:, 0])(p * 0.5 + 0.2)
@RegularGridInterpolator((t[:3], t[:3]), s)(lib.ones((1, 2)) * 0.7) ; @UnivariateSpline(t, y)(q)
@barycentric_interpolate(t, y, q) ; @interp1d(t, y)(q) ; @interpn((t[:3], t[:3]), s, lib.ones((1, 2)) * 0.7)
@krogh_interpolate(t, y, q) ; @make_interp_spline(t, y)(q) ; @make_lsq_spline(t, y, lib.array([0.0] * 4 + [3.0] * 4))(q)
@pchip_interpolate(t, y, q) ; @splantider((lib.arange(8.0), lib.arange(8.0), 2))[1]
@splder((lib.arange(8.0), lib.arange(8.0), 2))[1]
""",
    "linalg": """
@bandwidth(s) ; @block_diag(s, u[None]) ; @circulant(u) ; @companion(a) ; @convolution_matrix(u, 4) ; @dft(4)
@expm(s) ; @fiedler(u) ; @fiedler_companion(a) ; @hadamard(4) ; @hankel(u, w) ; @helmert(4) ; @hilbert(3)
@khatri_rao(s, s) ; @kron(s, s) | np.kron(s, s) ; @leslie(u, w[:2]) ; @lu(s) ; @lu_factor(s)
@lu_solve(@lu_factor(s), u) ; @solve_triangular(s, u, lower=True) ; @solve_triangular(s, u) ; @toeplitz(u, w)
""",
    "ndimage": """
@affine_transform(x, s[:2, :2] / 4) ; @binary_closing(m) ; @binary_dilation(m, iterations=2) ; @binary_erosion(m)
@binary_fill_holes(m) ; @binary_hit_or_miss(m) ; @binary_opening(m) ; @binary_propagation(m) ; @black_tophat(x, 3)
@center_of_mass(x) ; @center_of_mass(x[:3, :4], l, i) ; @convolve(x, s) ; @convolve1d(x, u, 0, mode="wrap")
@correlate(x, s, mode="nearest") ; @correlate1d(x, u) ; @distance_transform_edt(m) ; @extrema(x[:3, :4], l, i)
@find_objects(l)[0] ; @fourier_ellipsoid(x, 2.0) ; @fourier_gaussian(x, 1.0) ; @fourier_shift(x, 1.0)
@fourier_uniform(x, 2.0) ; @gaussian_filter(x, 1.5) ; @gaussian_filter1d(x, 1.5, 0, order=1)
@gaussian_gradient_magnitude(x, 1.0) ; @gaussian_laplace(x, 1.0) ; @generate_binary_structure(2, 1)
@grey_closing(x, 3) ; @grey_dilation(x, 3) ; @grey_erosion(x, 3) ; @grey_opening(x, 3) ; @histogram(x, 0, 1, 4)
@iterate_structure(m[:3, :3], 2) ; @label(m) ; @laplace(x) ; @map_coordinates(x, p.T * 5) ; @maximum(x[:3, :4], l, i)
@maximum_filter(x, 3) ; @maximum_filter1d(x, 3) ; @maximum_position(x) ; @mean(x[:3, :4], l, i)
@median(x[:3, :4], l, i) ; @median_filter(x, 3) ; @minimum(x[:3, :4], l, i) ; @minimum_filter(x, 3)
@minimum_filter1d(x, 3) ; @minimum_position(x) ; @morphological_gradient(x, 3) ; @morphological_laplace(x, 3)
@percentile_filter(x, 30, 3) ; @prewitt(x) ; @rank_filter(x, 2, 3) ; @rotate(x, 30.0) ; @shift(x, 1.5)
@sobel(x, 0) ; @spline_filter(x) ; @spline_filter1d(x, axis=0) ; @standard_deviation(x[:3, :4], l, i)
@sum(x[:3, :4], l, i) ; @sum_labels(x[:3, :4], l, i) ; @uniform_filter(x, 3) ; @uniform_filter1d(x, 3)
@value_indices(l)[1] ; @variance(x[:3, :4], l, i) ; @white_tophat(x, 3) ; @zoom(x, 1.5)
@generic_gradient_magnitude(x, @sobel) ; @generic_laplace(x, lambda i, a, *o: @correlate1d(i, [1, -2, 1], a))
@labeled_comprehension(x[:3, :4], l, i, lambda r: r.sum(), float, 0.0)
""",
    "signal": """
@StateSpace(s[:2, :2], s[:2, :1], s[:1, :2], s[:1, :1]).A ; @TransferFunction(b, a).num
@ZerosPolesGain([], u, 1.0).poles
@abcd_normalize(s[:2, :2], s[:2, :1], s[:1, :2], s[:1, :1]) ; @argrelextrema(v, np.greater) ; @argrelmax(v)
@argrelmin(v) ; @band_stop_obj(0.2, 0, lib.array([0.1, 0.9]), lib.array([0.3, 0.7]), 1, 40, "butter")
@bilinear(b, a) ; @bilinear_zpk(u, w, 1.0, 2.0) ; @bode(@lti(b, a), q) ; @buttap(3) ; @butter(3, 0.3)
@buttord(0.2, 0.3, 1, 40) ; @cheb1ap(3, 1) ; @cheb1ord(0.2, 0.3, 1, 40) ; @cheb2ap(3, 40)
@cheb2ord(0.2, 0.3, 1, 40) ; @cheby1(3, 1, 0.3) ; @cheby2(3, 40, 0.3) ; @check_COLA("hann", 8, 4)
@check_NOLA("hann", 8, 4) ; @chirp(t, 1.0, 2.0, 3.0) ; @choose_conv_method(v, b) ; @coherence(v, v[::-1], nperseg=8)
@cont2discrete((s[:2, :2], s[:2, :1], s[:1, :2], s[:1, :1]), 0.1)[0] ; @convolve(v, b) ; @convolve(v, b, "same", "fft")
@convolve2d(x, s) ; @correlate(v, b) ; @correlate2d(x, s) ; @correlation_lags(5, 3) ; @cspline1d(v)
@cspline1d_eval(@cspline1d(v), q) ; @cspline2d(lib.tile(x, (4, 4)), 0.0)
@csd(v, v[::-1], nperseg=8) ; @czt(v, 8) ; @czt_points(5)
@dbode(@dlti(b, a), q) ; @decimate(v, 2) ; @deconvolve(v, b) ; @detrend(v) ; @dfreqresp(@dlti(b, a), q)
@dimpulse(@dlti(b, a, dt=0.1), n=5) ; @dlsim(@dlti(b, a, dt=0.1), y)[1] ; @dstep(@dlti(b, a, dt=0.1), n=5)
@ellip(3, 1, 40, 0.3) ; @ellipap(3, 1, 40) ; @ellipord(0.2, 0.3, 1, 40) ; @fft(v) | sp.fft.fft(v)
@fftconvolve(v, b) ; @filtfilt(b, a, v) ; @find_peaks(v)[0] ; @findfreqs(b, a, 5) ; @freqresp(@lti(b, a), q)
@firls(5, lib.array([0.0, 0.3, 0.5, 1.0]), lib.array([1.0, 1.0, 0.0, 0.0]))
@firwin(5, 0.3) | @firwin(5, 0.3, fs=2) ; @firwin2(6, lib.array([0.0, 0.5, 1.0]), lib.array([1.0, 1.0, 0.0]))
@freqs(b, a, q) ; @freqs_zpk(u, w, 1.0, q) ; @freqz(b, a, 8) ; @freqz_sos(sos, 8) ; @freqz_zpk(u, w, 1.0, 8)
@gammatone(0.3, "iir") ; @gauss_spline(t, 2) ; @gausspulse(t, 2.0) ; @get_window("hann", 8) ; @group_delay((b, a), 8)
@hilbert(v) ; @hilbert2(x) ; @ifft(c) | sp.fft.ifft(c) ; @iircomb(0.25, 30.0) ; @iirdesign(0.2, 0.3, 1, 40)
@iirfilter(2, [0.2, 0.4]) ; @iirnotch(0.3, 30.0) ; @iirpeak(0.3, 30.0) ; @impulse(@lti(b[:2], a), T=t)
@invres([1.0], [-2.0], []) ; @invresz([1.0], [-2.0], []) ; @istft(@stft(v, nperseg=8)[2], nperseg=8)
@kaiser_atten(20, 0.1) ; @kaiser_beta(40.0) ; @kaiserord(40.0, 0.1) ; @lfilter(b, a, v) ; @lfilter_zi(b, a)
@lfiltic(b, a, u) ; @lombscargle(t, y, q) ; @lp2bp(b, a) ; @lp2bp_zpk(u, w, 1.0) ; @lp2bs(b, a) ; @lp2bs_zpk(u, w, 1.0)
@lp2hp(b, a) ; @lp2hp_zpk(u, w, 1.0) ; @lp2lp(b, a) ; @lp2lp_zpk(u, w, 1.0) ; @lsim(@lti(b[:2], a), y, t)
@lti(b, a).num ; @dlti(b, a).den ; @max_len_seq(3)[0] ; @medfilt(v, 3) ; @medfilt2d(x, 3) ; @minimum_phase(b)
@next_fast_len(97) | sp.fft.next_fast_len(97) ; @normalize(b, a) ; @oaconvolve(v, b)
@order_filter(x, lib.ones((3, 3)), 4)
@peak_prominences(v, @find_peaks(v)[0]) ; @peak_widths(v, @find_peaks(v)[0]) ; @periodogram(v) ; @pi | np.pi
@place_poles(s[:2, :2], s[:2, :1] + s[:2, 1:2], lib.array([-1.0, -2.0])).gain_matrix ; @qspline1d(v)
@qspline1d_eval(@qspline1d(v), q) ; @qspline2d(lib.tile(x, (4, 4)), 0.0) ; @resample(v, 16) ; @resample_poly(v, 1, 2)
@residue(u, a) ; @residuez(u, a) ; @savgol_coeffs(5, 2) ; @savgol_filter(v, 5, 2) ; @sawtooth(t) ; @sepfir2d(x, u, w)
@sos2tf(sos) ; @sos2zpk(sos) ; @sosfilt(sos, v) ; @sosfilt_zi(sos) ; @sosfiltfilt(sos, v) ; @sosfreqz(sos, 8)
@spectrogram(v, nperseg=8) ; @spline_filter(lib.tile(x, (4, 4))) ; @square(t)
@ss2tf(s[:2, :2], s[:2, :1], s[:1, :2], s[:1, :1])
@ss2zpk(s[:2, :2], s[:2, :1], s[:1, :2], s[:1, :1]) ; @step(@lti(b[:2], a), T=t) ; @stft(v, nperseg=8)
@sweep_poly(t, lib.array([1.0, 2.0])) | @sweep_poly(t, np.poly1d([1.0, 2.0])) ; @symiirorder1(v, 0.5, 0.3)
@symiirorder2(v, 0.3, 0.5) ; @tf2sos(b, a) ; @tf2ss(b, a) ; @tf2zpk(b, a) ; @unique_roots(u) ; @unit_impulse(5, 2)
@upfirdn(b, v, 2) ; @vectorstrength(t, 2.0) ; @welch(v, nperseg=8) ; @wiener(x) ; @zoom_fft(v, 1.0)
@zpk2sos(u, w, 1.0) ; @zpk2ss(u, w, 1.0) ; @zpk2tf(u, w, 1.0)
""",
    "signal.windows": """
@barthann(7) ; @bartlett(7) ; @blackman(7) ; @blackmanharris(7) ; @bohman(7) ; @boxcar(7) ; @chebwin(7, 60.0)
@cosine(7) ; @exponential(7) ; @flattop(7) ; @gaussian(7, 2.0) ; @general_cosine(7, [0.5, 0.5])
@general_gaussian(7, 1.5, 2.0) ; @general_hamming(7, 0.6) ; @get_window("hann", 7) ; @hamming(7) ; @hann(7, sym=False)
@kaiser(7, 3.0) ; @kaiser_bessel_derived(8, 3.0) ; @lanczos(7) ; @nuttall(7) ; @parzen(7) ; @taylor(7) ; @triang(7)
@tukey(7)
""",
    "spatial": "@Delaunay(p).points ; @KDTree(p).query(p[:2] + 0.01) ; @distance_matrix(p, p[:3])",
    "spatial.distance": """
@canberra(u, w) ; @cdist(p, p[:3]) ; @cdist(p, p[:3], "minkowski", p=3) ; @chebyshev(u, w) ; @cityblock(u, w)
@correlation(u, w) ; @cosine(u, w) ; @distance_matrix(p, p) | sp.spatial.distance_matrix(p, p) ; @euclidean(u, w)
@hamming(u, w) ; @jensenshannon(u, w) ; @minkowski(u, w, 3) ; @pdist(p) ; @russellrao(u > 0.2, w > 0.2)
@sqeuclidean(u, w) ; @check_soft_dependencies() | None ; @hellinger(u, w) | np.sqrt(1 - np.sqrt(u * w).sum())
@kl_divergence(u, w) | (u * np.log(u / w)).sum()
""",
    "special": """
@lambertw(u) ; @log_softmax(x, axis=1) ; @logsumexp(x, axis=0) ; @logsumexp(x) ; @multigammaln(q + 2, 2)
@polygamma(1, q)
@softmax(x, 0) ; @sph_harm_y(1, 2, u, w) ; @spherical_yn(2, q) ; @btdtr(q, q, u) | @betainc(q, q, u)
@btdtri(q, q, u) | @betaincinv(q, q, u) ; @sph_harm(1, 2, u, w) | @sph_harm_y(2, 1, w, u) ; @erf(q)
""",
    "stats": "@boxcox_llf(0.5, q) ; @entropy(u, w) ; @trim_mean(y, 0.2) ; @zmap(y, t) ; @zscore(y)",
}
# What objects have: how each is made, and what is asked of it; "m" is the module, "o" the object.
OBJECTS = {
    ("interpolate", "m.CubicSpline(t, y)"): """
o(q) ; o(q, 1) ; o.c ; o.x ; o.axis ; o.extrapolate ; o.derivative(2)(q) ; o.antiderivative()(q) ; o.integrate(0.5, 2.0)
o.roots() ; o.solve(1.0) ; m.CubicSpline.from_bernstein_basis(m.BPoly(lib.ones((3, 2)), t[:3]))(q)
""",
    ("interpolate", "m.PPoly(lib.ones((3, 2)), t[:3])"): """
m.PPoly.construct_fast(o.c, o.x)(q) ; m.PPoly.from_spline((t, lib.ones(4), 2))(q) ; o.extend(lib.ones((3, 1)), t[3:4])
""",
    ("interpolate", "m.BPoly(lib.ones((3, 2)), t[:3])"): """
o.derivative()(q) ; o.antiderivative()(q) ; o.integrate(0.2, 0.8) ; m.BPoly.from_power_basis(m.PPoly(o.c, o.x))(q)
m.BPoly.from_derivatives(t[:3], lib.stack([y[:3], y[2:5]], axis=1))(q)
""",
    ("interpolate", "m.BSpline(lib.arange(8.0), y[:5], 2)"): """
o.c ; o.k ; o.t ; o.tck ; o.axis ; o.extrapolate ; o.derivative()(q) ; o.antiderivative()(q) ; o.integrate(2.0, 3.0)
m.BSpline.design_matrix(q + 2, o.t, 2).toarray()
m.BSpline.basis_element(lib.arange(4.0))(q) ; m.BSpline.construct_fast(o.t, o.c, o.k)(q)
""",
    ("interpolate", "m.BarycentricInterpolator(t[:4], y[:4])"): """
o.n ; o.xi ; o.yi ; o.wi.shape ; o.dtype ; o.r ; (o.add_xi(t[4:], y[4:]), o(q))[1] ; (o.set_yi(y[1:5]), o(q))[1]
""",
    ("interpolate", "m.KroghInterpolator(t, y)"): "o.derivative(q) ; o.derivatives(q) ; o.c ; o.n ; o.r ; o.yi ; o.xi",
    ("interpolate", "m.UnivariateSpline(t, y)"): """
o.derivative()(q) ; o.antiderivative()(q) ; o.derivatives(1.0) ; o.get_coeffs() ; o.get_knots() ; o.get_residual()
o.integral(0.5, 2.0) ; o.ext ; o.set_smoothing_factor(0.1)
""",
    ("interpolate", "m.NdPPoly(lib.ones((2, 2, 1, 1)), (t[:2], t[:2]))"): """
o.c ; o.x ; o.extrapolate ; o.derivative((1, 0)).c ; o.antiderivative((1, 0)).c ; o.integrate([(0.0, 0.4), (0.0, 0.4)])
o.integrate_1d(0.0, 0.4, 0).c ; m.NdPPoly.construct_fast(o.c, o.x).c
""",
    ("interpolate", "m.NdBSpline((lib.arange(5.0), lib.arange(5.0)), s, 1)"): "o.c ; o.k ; o.t ; o.extrapolate",
    ("interpolate", "m.RBFInterpolator(p, p[:, 0])"): "o.smoothing ; o.kernel ; o.epsilon ; o.y ; o.d ; o.powers",
    ("interpolate", "m.RegularGridInterpolator((t[:3], t[:3]), s)"): """
o.grid ; o.values ; o.method ; o.bounds_error ; o.fill_value
""",
    ("interpolate", "m.interp1d(t, y)"): "o.x ; o.y ; o.axis ; o.bounds_error ; o.copy ; o.dtype ; o.fill_value",
    ("interpolate", "m.LinearNDInterpolator(p, p[:, 1])"): """
o.points ; o.values ; o.fill_value ; o.is_complex ; o.values_shape ; o.tri.points
""",
    ("interpolate", "m.CloughTocher2DInterpolator(p, p[:, 0])"): "o.grad",
    ("interpolate", "m.NearestNDInterpolator(p, p[:, 0])"): "o.tree.n",
    ("signal", "m.lti(b[:2], a)"): """
o.dt ; o.inputs ; o.outputs ; o.poles ; o.zeros ; o.num ; o.den ; o.to_tf().num ; o.to_zpk().gain ; o.to_ss().A
o.impulse(T=t) ; o.step(T=t) ; o.bode(q) ; o.freqresp(q) ; o.output(y, t) ; o.to_discrete(0.1).dt
""",
    ("signal", "m.StateSpace(s[:2, :2], s[:2, :1], s[:1, :2], s[:1, :1])"): "o.A ; o.B ; o.C ; o.D ; o.to_tf().den",
    ("spatial", "m.Delaunay(p)"): """
o.points ; o.simplices ; o.neighbors ; o.find_simplex(p) ; o.vertex_neighbor_vertices
""",
    ("spatial", "m.KDTree(p)"): """
o.data ; o.m ; o.n ; o.mins ; o.maxes ; o.boxsize ; o.query_ball_point(p[0], 0.4) ; o.query_pairs(0.3)
o.count_neighbors(m.KDTree(p), 0.4) ; o.query_ball_tree(m.KDTree(p), 0.1)
""",
}  # fmt: skip
# Tested by what they need, or by another test.
ELSEWHERE_TESTED = {
    "fft.get_fft_plan", "fftpack.get_fft_plan", "signal.BadCoefficients", "signal.cwt", "signal.morlet",
    "signal.morlet2", "signal.qmf", "signal.ricker", "ndimage.generic_filter", "ndimage.generic_filter1d",
}  # fmt: skip
SAMPLES = [
    pytest.param(path, call.strip(), id=f"{path}: {call.strip()}")
    for path, text in CALLS.items()
    for line in text.strip().splitlines()
    for call in line.split(" ; ")
]


class _Root:
    """Modules by attribute, loaded when they are asked for."""

    def __init__(self, package: str) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        return importlib.import_module(f"{self._package}.{name}")


def evaluated(call: str, package: str, path: str, library: Any, data: dict[str, Any]) -> Any:
    names = {"M": importlib.import_module(f"{package}.{path}"), "lib": library, "np": np, "sp": _Root("scipy")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(call.replace("@", "M."), {**names, **data})


def assert_same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        assert_same(list(ours.values()), list(theirs.values()))
    elif isinstance(theirs, (tuple, list)):
        assert isinstance(ours, (tuple, list))
        assert len(ours) == len(theirs)
        for mine, its in zip(ours, theirs, strict=True):
            assert_same(mine, its)
    elif isinstance(theirs, (np.ndarray, np.generic)):
        assert isinstance(ours, cupy.ndarray), type(ours)
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(host_buffer(ours), theirs, rtol=1e-9, atol=1e-12)
    elif isinstance(theirs, float) and isinstance(ours, cupy.ndarray):
        assert float(ours) == pytest.approx(theirs)
    else:
        assert ours == theirs or ours is theirs or theirs != theirs


@pytest.mark.parametrize(("path", "call"), SAMPLES)
def test_result_is_scipys(path: str, call: str) -> None:
    ours, _, theirs = call.partition(" | ")
    expected = evaluated(theirs or ours, "scipy", path, np, HOST)
    device = {name: cupy.asarray(value) for name, value in HOST.items()}
    assert_same(evaluated(ours, "cupyx.scipy", path, cupy, device), expected)


@pytest.mark.parametrize(
    ("path", "made", "asked"),
    [
        pytest.param(path, made, one.strip(), id=f"{made}: {one.strip()}")
        for (path, made), text in OBJECTS.items()
        for line in text.strip().splitlines()
        for one in line.split(" ; ")
    ],
)
def test_objects_have_scipys_values(path: str, made: str, asked: str) -> None:
    results = []
    for package, library in (("cupyx.scipy", cupy), ("scipy", np)):
        names = {name: library.asarray(value) for name, value in HOST.items()}
        names.update(m=importlib.import_module(f"{package}.{path}"), lib=library, np=np)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append(eval(asked, names | {"o": eval(made, names)}))
    assert_same(*results)


def test_objects_have_what_cupys_have() -> None:
    interpolate, signal = (importlib.import_module(f"cupyx.scipy.{path}") for path in ("interpolate", "signal"))
    t, y = cupy.asarray(HOST["t"]), cupy.asarray(HOST["y"])
    spline = interpolate.CubicSpline(t, y)
    assert isinstance(spline, interpolate.CubicSpline)
    assert isinstance(spline, interpolate.PPoly)
    assert not isinstance(spline, interpolate.BSpline)
    assert type(spline).__module__ == "cupyx.scipy.interpolate"
    for other in (copy.copy(spline), copy.deepcopy(spline), pickle.loads(pickle.dumps(spline))):
        np.testing.assert_array_equal(other(t).get(), spline(t).get())
    system = signal.lti([1.0], [1.0, 1.0])
    assert isinstance(system, signal.lti)
    assert isinstance(system, signal.TransferFunction)
    tree = importlib.import_module("cupyx.scipy.spatial").KDTree(cupy.asarray(HOST["p"]))
    lacking_ones = [
        (tree, "leafsize"), (tree, "tree"), (tree, "sparse_distance_matrix"),
        (interpolate.Akima1DInterpolator(t, y), "method"), (spline, "_c"),
    ]  # fmt: skip
    for value, lacking in lacking_ones:
        assert lacking not in dir(value)
        with pytest.raises(AttributeError, match=f"has no attribute '{lacking}'"):
            getattr(value, lacking)
    assert issubclass(signal.BadCoefficients, UserWarning)
    for kind in (spline, tree, system):
        names = _api.SCIPY_CLASSES[type(kind).__name__]
        assert set(dir(kind)) <= set(names)
        assert set(dir(type(kind))) <= set(names)


def test_every_name_is_sampled() -> None:
    sampled = {
        f"{path}.{name}"
        for path, text in CALLS.items()
        for name in re.findall(r"@(\w+)", re.sub(r" \| [^;\n]*", "", text))
    }
    loops = {f"special.{name}" for name in _api.SCIPY_CALLS["special"]["ufuncs"]}
    names = {f"{path}.{name}" for path, there in _api.SCIPY.items() for name in there}
    assert names - sampled - loops - ELSEWHERE_TESTED - {f"{p}.{n}" for p, n in ELSEWHERE} == set()


LOOPS = [
    pytest.param(name, loop, id=f"{name}-{loop}")
    for name, (_, _, types) in _api.SCIPY_CALLS["special"]["ufuncs"].items()
    for loop in types.split()
]


@pytest.mark.parametrize(("name", "loop"), LOOPS)
def test_special_functions(name: str, loop: str) -> None:
    special, theirs = importlib.import_module("cupyx.scipy.special"), importlib.import_module("scipy.special")
    if not hasattr(theirs, name):
        pytest.skip(f"this SciPy has no {name}")
    inputs, _, outputs = loop.partition("->")
    base = {True: np.array([1, 2, 3]), False: np.array([0.25, 0.5, 0.75])}
    operands = [base[char in "bBhHiIlLqQ?"].astype(char) for char in inputs]
    results = getattr(special, name)(*map(cupy.asarray, operands))
    results = results if isinstance(results, tuple) else (results,)
    assert [one.dtype for one in results] == [np.dtype(char) for char in outputs]
    if name == "exprel" and outputs in "FD":
        expected: Any = np.expm1(operands[0]) / operands[0]
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of integers given as real numbers
            expected = getattr(theirs, name)(*(v.astype("d") if v.dtype == np.float16 else v for v in operands))
    expected = expected if isinstance(expected, tuple) else (expected,)
    for mine, its in zip(results, expected, strict=True):
        rtol = {"e": 2e-3, "f": 1e-5, "F": 1e-5}.get(mine.dtype.char, 1e-12)
        np.testing.assert_allclose(host_buffer(mine), its, rtol=rtol)
    for host in (operands[0], operands[0].tolist()):
        with pytest.raises(TypeError, match="Unsupported type"):
            getattr(special, name)(*[host] * len(operands))


@pytest.mark.parametrize(
    ("path", "name"),
    [(path, name) for path, calls in _api.SCIPY_CALLS.items() for name in calls["functions"] if name != "get_fft_plan"],
)
def test_parameters_are_cupys(path: str, name: str) -> None:
    if (path, name) in ELSEWHERE:
        return
    function = getattr(importlib.import_module(f"cupyx.scipy.{path}"), name)
    expected = with_signature(name, _api.SCIPY_CALLS[path]["functions"][name], lambda values: values, "expected")
    assert str(inspect.signature(function)) == str(inspect.signature(expected))  # NaN is a default
    with pytest.raises(TypeError, match=r"unexpected keyword argument|missing|got multiple|takes"):
        function(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, nonsense=1)


def test_what_scipy_has_and_cupy_lacks_is_refused() -> None:
    fft, ndimage = importlib.import_module("cupyx.scipy.fft"), importlib.import_module("cupyx.scipy.ndimage")
    with pytest.raises(TypeError, match="workers"):
        fft.fft(cupy.ones(4), workers=2)
    with pytest.raises(NotImplementedError, match="has no texture_memory"):
        ndimage.affine_transform(cupy.ones((4, 4)), cupy.eye(2), texture_memory=True)
    fft.fft(cupy.ones(4), plan=None)
    linalg = importlib.import_module("cupyx.scipy.linalg")
    broken = cupy.asarray([[np.nan, 0.0], [0.0, 1.0]])
    assert np.isnan(linalg.solve_triangular(broken, cupy.ones(2)).get()).any()  # CuPy does not look for NaN
    with pytest.raises(ValueError, match="infs or NaNs"):
        linalg.solve_triangular(broken, cupy.ones(2), check_finite=True)


def test_arrays_to_be_filled_are_given_back() -> None:
    special, ndimage = importlib.import_module("cupyx.scipy.special"), importlib.import_module("cupyx.scipy.ndimage")
    out = cupy.zeros(3)
    assert special.erf(cupy.ones(3), out=out) is out
    assert special.erf(cupy.ones(3), out) is out
    image, filtered = cupy.asarray(HOST["x"]), cupy.zeros((7, 8))
    assert ndimage.gaussian_filter(image, 1.0, output=filtered) is filtered
    assert filtered.get().any()
    assert ndimage.gaussian_filter(image, 1.0, output=np.float32).dtype == np.float32


def test_filters_by_kernels() -> None:
    ndimage = importlib.import_module("cupyx.scipy.ndimage")
    theirs = importlib.import_module("scipy.ndimage")
    image = cupy.asarray(HOST["x"])
    largest = cupy.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", "-1e300", "largest")
    found = ndimage.generic_filter(image, largest, 3)
    np.testing.assert_array_equal(found.get(), theirs.maximum_filter(HOST["x"], 3))
    out = cupy.zeros((7, 8))
    assert ndimage.generic_filter(image, largest, footprint=cupy.ones((3, 3), bool), output=out) is out
    np.testing.assert_array_equal(out.get(), found.get())
    raw = cupy.RawKernel('extern "C" __global__ void f(double* x) {}', "f")
    for call in (ndimage.generic_filter, ndimage.generic_filter1d):
        with pytest.raises(TypeError, match="bad function type"):
            call(image, lambda values: values.max(), 3)
        with pytest.raises(NotImplementedError, match="RawKernel"):
            call(image, raw, 3)


def test_wavelets_that_scipy_has_dropped() -> None:
    signal = importlib.import_module("cupyx.scipy.signal")
    kinds = (DeprecationWarning, UserWarning)
    with pytest.warns(kinds):
        ricker = signal.ricker(41, 2.0)
    assert float(ricker.sum()) == pytest.approx(0, abs=1e-6)
    assert int(ricker.argmax()) == 20
    with pytest.warns(kinds):
        wave, wave2 = signal.morlet(64), signal.morlet2(64, 4.0)
    assert float(abs(wave2 * wave2.conj()).sum()) == pytest.approx(1, rel=1e-6)
    assert wave.dtype == wave2.dtype == np.complex128
    with pytest.warns(kinds):
        assert signal.qmf(cupy.array([1.0, 2.0, 3.0])).get().tolist() == [3, -2, 1]
    with pytest.warns(kinds):
        transform = signal.cwt(cupy.asarray(HOST["v"]), signal.ricker, cupy.array([1, 2, 4]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row = np.convolve(HOST["v"], signal.ricker(20, 2).get()[::-1], "same")
    np.testing.assert_allclose(transform.get()[1], row)
    assert set(DROPPED["signal"]) == {"cwt", "morlet", "morlet2", "qmf", "ricker"}
