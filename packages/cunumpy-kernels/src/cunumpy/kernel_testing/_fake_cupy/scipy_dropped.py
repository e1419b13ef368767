"""Functions of ``cupyx.scipy`` that SciPy has not, or has otherwise: most are what it has dropped and CuPy has kept."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .array_base import operand, target, unwrap, wrap
from .kernels import ReductionKernel
from .ndarray import ndarray
from .raw import RawKernel


def _warn(name: str) -> None:
    text = f"`{name}` is deprecated in CuPy, and has been removed from SciPy."
    warnings.warn(text, np.exceptions.VisibleDeprecationWarning, stacklevel=5)


def kron(a: Any, b: Any) -> Any:
    """Return the Kronecker product of two matrices."""
    warnings.warn("`cupyx.scipy.linalg.kron` is deprecated, use `cupy.kron`.", DeprecationWarning, stacklevel=5)
    return wrap(np.kron(unwrap(a), unwrap(b)))


def morlet(M: Any, w: float = 5.0, s: float = 1.0, complete: bool = True) -> Any:
    """Return a complex Morlet wavelet, on points from -2 pi s to 2 pi s."""
    _warn("morlet")
    x = np.linspace(-s * 2 * np.pi, s * 2 * np.pi, int(M))
    wave = np.exp(1j * w * x) - (math.exp(-0.5 * w**2) if complete else 0)
    return wrap(wave * np.exp(-0.5 * x**2) * np.pi**-0.25)


def morlet2(M: Any, s: float, w: float = 5) -> Any:
    """Return a complex Morlet wavelet of a width, for `cwt`."""
    _warn("morlet2")
    x = (np.arange(int(M)) - (M - 1) / 2) / s
    return wrap(np.exp(1j * w * x) * np.exp(-0.5 * x**2) * np.pi**-0.25 / math.sqrt(s))


def ricker(points: Any, a: float) -> Any:
    """Return a Ricker wavelet, the second derivative of a Gaussian."""
    _warn("ricker")
    square = ((np.arange(int(points)) - (points - 1) / 2) / a) ** 2
    return wrap(2 / (math.sqrt(3 * a) * np.pi**0.25) * (1 - square) * np.exp(-square / 2))


def qmf(hk: Any) -> Any:
    """Return the high-pass filter that belongs to a low-pass filter."""
    _warn("qmf")
    low = unwrap(hk)
    return wrap(low[::-1] * np.where(np.arange(low.size) % 2, -1, 1))


def cwt(data: Any, wavelet: Callable[..., Any], widths: Any) -> Any:
    """Return a continuous wavelet transform."""
    _warn("cwt")
    signal = unwrap(data)
    rows = []
    for width in operand(widths):
        wave = unwrap(wavelet(min(10 * int(width), signal.size), int(width)))
        rows.append(np.convolve(signal, np.conj(wave)[::-1], mode="same"))
    return wrap(np.array(rows))


def hellinger(u: Any, v: Any) -> Any:
    """Return the Hellinger distance of two distributions."""
    return wrap(np.sqrt(((np.sqrt(unwrap(u)) - np.sqrt(unwrap(v))) ** 2).sum() / 2))


def kl_divergence(u: Any, v: Any) -> Any:
    """Return the Kullback-Leibler divergence of two distributions."""
    import scipy.special

    return wrap(scipy.special.rel_entr(unwrap(u), unwrap(v)).sum())


def check_soft_dependencies() -> None:
    """Look for libraries that CuPy needs for distances; the stand-in needs none."""


def btdtr(a: Any, b: Any, x: Any, out: Any = None) -> Any:
    """Return the cumulative beta distribution."""
    return _renamed("btdtr", "betainc", a, b, x, out=out)


def btdtri(a: Any, b: Any, p: Any, out: Any = None) -> Any:
    """Return the inverse of the cumulative beta distribution."""
    return _renamed("btdtri", "betaincinv", a, b, p, out=out)


def sph_harm(m: Any, n: Any, theta: Any, phi: Any, out: Any = None) -> Any:
    """Return spherical harmonics, with the azimuth before the colatitude."""
    if out is not None:
        raise NotImplementedError("cupyx.scipy.special.sph_harm(out=...): the stand-in has sph_harm_y to call instead")
    return _renamed("sph_harm", "sph_harm_y", n, m, phi, theta)


def _renamed(name: str, new: str, *args: Any, **kwargs: Any) -> Any:
    from cupyx.scipy import special

    warnings.warn(f"`{name}` is deprecated, use `{new}`.", DeprecationWarning, stacklevel=5)
    return getattr(special, new)(*args, **kwargs)


def generic_filter(
    input: Any,
    function: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    axes: Any = None,
) -> Any:
    """Filter by a reduction kernel, which is given the elements around each element."""
    import scipy.ndimage

    _check_kernel("generic_filter", function, ReductionKernel)
    around = None if footprint is None else unwrap(footprint)
    given = target(output) if isinstance(output, ndarray) else output
    options: dict[str, Any] = {} if axes is None else {"axes": axes}
    found = scipy.ndimage.generic_filter(
        unwrap(input),
        lambda values: float(function(wrap(values.copy())).get()),
        size,
        around,
        given,
        mode,
        cval,
        origin,
        **options,
    )
    return output if isinstance(output, ndarray) else wrap(found)


def generic_filter1d(
    input: Any,
    function: Any,
    filter_size: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
) -> Any:
    """Filter lines by a device function of a raw kernel: refused."""
    _check_kernel("generic_filter1d", function, ())


def _check_kernel(name: str, function: Any, kinds: Any) -> None:
    if isinstance(function, RawKernel):
        raise NotImplementedError(
            f"cupyx.scipy.ndimage.{name}() with a RawKernel: the stand-in does not put it into CuPy's own kernel; "
            "test this code on a GPU"
        )
    if not isinstance(function, kinds):
        raise TypeError("bad function type")


DROPPED: dict[str, dict[str, Callable[..., Any]]] = {
    "linalg": {"kron": kron},
    "ndimage": {"generic_filter": generic_filter, "generic_filter1d": generic_filter1d},
    "signal": {one.__name__: one for one in (cwt, morlet, morlet2, qmf, ricker)},
    "spatial.distance": {one.__name__: one for one in (check_soft_dependencies, hellinger, kl_divergence)},
    "special": {one.__name__: one for one in (btdtr, btdtri, sph_harm)},
}
# What CuPy's modules import from each other.
ELSEWHERE = {
    ("signal", "fft"): ("cupyx.scipy.fft", "fft"),
    ("signal", "ifft"): ("cupyx.scipy.fft", "ifft"),
    ("signal", "next_fast_len"): ("cupyx.scipy.fft", "next_fast_len"),
    ("signal", "pi"): ("cupy", "pi"),
    ("spatial.distance", "distance_matrix"): ("cupyx.scipy.spatial", "distance_matrix"),
    **{("fft", name): ("cupy.fft", name) for name in ("fftfreq", "fftshift", "ifftshift", "rfftfreq")},
    **{("special", name): ("cupy", name) for name in ("round", "sinc")},
}
