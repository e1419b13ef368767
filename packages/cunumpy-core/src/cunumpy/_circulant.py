"""Circulant systems of equations, for the backend whose library has no function for them."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _gate, _transfers
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Literal

__all__ = ["solve_circulant"]


def solve_circulant(
    c: Any,
    b: Any,
    singular: Literal["raise", "lstsq"] = "raise",
    tol: Any = None,
    caxis: int = -1,
    baxis: int = 0,
    outaxis: int = 0,
) -> Any:
    """Solve ``C x = b``, where ``C`` is the circulant matrix with the first column `c`.

    Meaning and arguments are those of `scipy.linalg.solve_circulant`. On device arrays nothing leaves the device
    but the answer of the singularity test, which waits for the device once and is recorded as an implicit ``sync``.

    Parameters
    ----------
    c : array_like, shape (..., n, ...)
        First columns, along `caxis`; other axes are batch axes and are broadcast with those of `b`.
    b : array_like, shape (..., n, ...)
        Right-hand sides, along `baxis`; of the same backend as `c`.
    singular : {"raise", "lstsq"}
        What to do with a nearly singular matrix: raise, or return the least-squares solution of least norm.
    tol : float or array_like, optional
        Eigenvalues of ``C`` that are not larger in magnitude count as zero. Default, for every dtype:
        ``max(abs(fft(c))) * n * finfo(float64).eps`` for each first column. For float32 data that is far below
        rounding, so ``numpy.finfo(numpy.float32).eps`` times the same is a better choice there. An array needs a last
        axis of length 1.
    caxis, baxis : int
        Axes of `c` and `b` that hold the vectors.
    outaxis : int
        Axis of the result that holds the solutions.

    Returns
    -------
    ndarray
        Real unless `c` or `b` is complex. float32 and lower stay float32, integers become float64.

    Raises
    ------
    numpy.linalg.LinAlgError
        The matrix is nearly singular, and `singular` is ``"raise"``.
    ArgumentError
        Lengths differ, an axis is out of bounds, or `singular` is no choice.
    MixedBackendError
        Of `c` and `b` one is in device memory and the other is not.

    Notes
    -----
    A circulant matrix is diagonal in the Fourier basis, with the eigenvalues ``fft(c)`` (P. J. Davis, Circulant
    Matrices, 1979). NaN in `c` or `b` gives NaN, no error.

    Examples
    --------
    >>> import cunumpy as xp
    >>> c = xp.asarray([4.0, 1.0, 0.0, 1.0])
    >>> xp.scipy.linalg.solve_circulant(c, xp.full(4, 6.0))
    array([1., 1., 1., 1.])
    """
    if singular not in ("raise", "lstsq"):
        raise ArgumentError(f"solve_circulant: singular must be 'raise' or 'lstsq', not {singular!r}")
    _arrays.assert_same_backend(c, b)
    if tol is not None and not isinstance(tol, Real):
        _arrays.assert_same_backend(c, tol)
    xp: ModuleType = _backend.require_cupy("solve_circulant") if _arrays.get_array_backend(c) == "cupy" else np
    c, b = _vectors(xp, "c", c), _vectors(xp, "b", b)
    n = _length("c", c, caxis)
    if _length("b", b, baxis) != n:
        raise ArgumentError(
            f"solve_circulant: c of shape {c.shape} (caxis={caxis}) and b of shape {b.shape} (baxis={baxis}) are "
            "incompatible: the axes of the vectors must have the same length"
        )
    if b.size == 0:
        return xp.empty_like(b, dtype=_result_dtype(c.dtype, b.dtype))

    eigenvalues = xp.fft.fft(xp.moveaxis(c, caxis, -1), axis=-1)
    magnitudes = xp.abs(eigenvalues)
    if tol is None:
        tol = magnitudes.max(axis=-1, keepdims=True) * (n * float(np.finfo(np.float64).eps))
    zeros = magnitudes <= tol
    is_singular = read_truth(zeros.any(), "solve_circulant: singularity test", on_device=xp is not np)
    if is_singular:
        if singular == "raise":
            raise np.linalg.LinAlgError(
                "solve_circulant: near singular circulant matrix; singular='lstsq' gives the least-squares solution"
            )
        eigenvalues = xp.where(zeros, 1, eigenvalues)
    with np.errstate(invalid="ignore"):  # NaN goes through without a word
        coefficients = xp.fft.fft(xp.moveaxis(b, baxis, -1), axis=-1) / eigenvalues
    if is_singular:
        coefficients = xp.where(zeros, 0, coefficients)
    x = xp.fft.ifft(coefficients, axis=-1)
    if not (c.dtype.kind == "c" or b.dtype.kind == "c"):
        x = x.real
    return xp.moveaxis(x, -1, outaxis)


def _vectors(xp: ModuleType, name: str, array: Any) -> Any:
    """Return an array of at least one axis with a dtype that Fourier transforms keep."""
    _gate.refuse_masked(array, function="solve_circulant", argument=name)
    array = xp.atleast_1d(xp.asarray(array))
    if array.dtype.kind not in "biufc":
        raise ArgumentTypeError(f"solve_circulant: {name} must hold numbers, not {array.dtype}")
    return array.astype(np.float32) if array.dtype == np.float16 else array


def _length(name: str, array: Any, axis: int) -> int:
    if not -array.ndim <= axis < array.ndim:
        raise ArgumentError(
            f"solve_circulant: {name}axis={axis} is out of bounds for {name} of shape {array.shape}: "
            f"expected {-array.ndim} to {array.ndim - 1}"
        )
    return int(array.shape[axis])


def _result_dtype(c_dtype: np.dtype[Any], b_dtype: np.dtype[Any]) -> np.dtype[Any]:
    product = np.fft.fft(np.ones(1, c_dtype)) * np.fft.fft(np.ones(1, b_dtype))
    return product.dtype if c_dtype.kind == "c" or b_dtype.kind == "c" else product.real.dtype


def read_truth(flag: Any, text: str, *, on_device: bool) -> bool:
    """Return a 0-d array of bool as bool; from a device it is a wait, announced and recorded."""
    if not on_device or not _transfers.watching():
        return bool(flag)
    from time import perf_counter

    _transfers.announce("sync", text, implicit=True)
    started = perf_counter()
    with _transfers.own():
        answer = bool(flag)
    _transfers.record("sync", text, implicit=True, started=started)
    return answer
