"""Banded systems of equations, many at once, for the backend whose library has no function for them."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _gate
from cunumpy._circulant import read_truth
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["solve_banded", "solveh_banded"]

_THREADS = 128
_modules: dict[int, Any] = {}


def solve_banded(
    l_and_u: Sequence[int],
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve ``a x = b``, where ``a`` is a banded matrix, for many matrices at once.

    Meaning and arguments are those of `scipy.linalg.solve_banded`, which host arrays are passed to. On device arrays
    nothing leaves the device but the answer of the singularity test, which waits for the device once and is recorded
    as an implicit ``sync``.

    Parameters
    ----------
    l_and_u : pair of int
        Numbers of diagonals below and above the main one.
    ab : array_like, shape (..., l + u + 1, n)
        The matrices in diagonal form: ``ab[..., u + i - j, j] == a[..., i, j]``. Axes before these two are batch axes.
    b : array_like, shape (n,), or (..., n, k)
        Right-hand sides. With two axes or more the last one counts the sides; batch axes are broadcast with those of
        `ab`.
    overwrite_ab, overwrite_b : bool
        Accepted, and without effect: the arguments are never written to.
    check_finite : bool
        Accepted for device arrays, and without effect: they are not searched for NaN, which gives NaN.

    Returns
    -------
    ndarray
        The solutions, of the shape of `b`, broadcast. float32 and complex64 stay; integers become float64.

    Raises
    ------
    numpy.linalg.LinAlgError
        A matrix is singular.
    ArgumentError
        Shapes that don't fit.
    MixedBackendError
        Of `ab` and `b` one is in device memory and the other is not.

    Notes
    -----
    Gaussian elimination with partial pivoting, one thread for each system: made for many systems. A single large one
    has no use of the device. Memory: ``2 l + u + 1`` numbers for each row of each system.

    Examples
    --------
    >>> import cunumpy as xp
    >>> ab = xp.asarray([[0.0, 1.0, 1.0], [4.0, 4.0, 4.0], [1.0, 1.0, 0.0]])
    >>> xp.scipy.linalg.solve_banded((1, 1), ab, xp.asarray([6.0, 12.0, 14.0]))
    array([1., 2., 3.])
    """
    function = "solve_banded"
    lower, upper = _counts(l_and_u)
    _arrays.assert_same_backend(ab, b)
    if not (_arrays.is_gpu(ab) or _arrays.is_gpu(b)):
        from scipy.linalg import solve_banded as host

        return host((lower, upper), ab, b, overwrite_ab, overwrite_b, check_finite)
    cupy = _backend.require_cupy(function)
    ab, b = _numbers(cupy, function, "ab", ab), _numbers(cupy, function, "b", b)
    if ab.ndim < 2 or ab.shape[-2] != lower + upper + 1:
        raise ArgumentError(
            f"{function}: argument 'ab' must have shape (..., {lower + upper + 1}, n) for l_and_u=({lower}, {upper}), "
            f"got {ab.shape}."
        )
    return _solved(cupy, function, lower, upper, ab, b)


def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve ``a x = b``, where ``a`` is a Hermitian banded matrix, for many matrices at once.

    Meaning and arguments are those of `scipy.linalg.solveh_banded`, which host arrays are passed to. Device arrays are
    solved as by `solve_banded`, so that the matrices need not be positive definite.

    Parameters
    ----------
    ab : array_like, shape (..., u + 1, n)
        The upper diagonals, the main one last; or with `lower` the lower ones, the main one first.
    b : array_like, shape (n,), or (..., n, k)
        Right-hand sides; see `solve_banded`.
    overwrite_ab, overwrite_b : bool
        Accepted, and without effect.
    lower : bool
        Whether `ab` has the lower diagonals.
    check_finite : bool
        Accepted for device arrays, and without effect.

    Returns
    -------
    ndarray
        The solutions, as `solve_banded`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> ab = xp.asarray([[0.0, 1.0, 1.0], [4.0, 4.0, 4.0]])
    >>> xp.scipy.linalg.solveh_banded(ab, xp.asarray([6.0, 12.0, 14.0]))
    array([1., 2., 3.])
    """
    function = "solveh_banded"
    _arrays.assert_same_backend(ab, b)
    if not (_arrays.is_gpu(ab) or _arrays.is_gpu(b)):
        from scipy.linalg import solveh_banded as host

        return host(ab, b, overwrite_ab, overwrite_b, lower, check_finite)
    cupy = _backend.require_cupy(function)
    ab, b = _numbers(cupy, function, "ab", ab), _numbers(cupy, function, "b", b)
    if ab.ndim < 2 or ab.shape[-2] < 1:
        raise ArgumentError(f"{function}: argument 'ab' must have shape (..., u + 1, n), got {ab.shape}.")
    diagonals, n = ab.shape[-2] - 1, ab.shape[-1]
    if not lower:
        upper = ab
    else:
        upper = cupy.zeros_like(ab)
        for i in range(diagonals + 1):
            upper[..., diagonals - i, i:] = ab[..., i, : n - i].conj()
    full = cupy.zeros((*ab.shape[:-2], 2 * diagonals + 1, n), ab.dtype)
    full[..., : diagonals + 1, :] = upper
    for i in range(1, diagonals + 1):
        full[..., diagonals + i, : n - i] = upper[..., diagonals - i, i:].conj()
    return _solved(cupy, function, diagonals, diagonals, full, b)


def _solved(cupy: Any, function: str, lower: int, upper: int, ab: Any, b: Any) -> Any:
    n = ab.shape[-1]
    vector = b.ndim == 1
    sides = b[:, None] if vector else b
    if b.ndim < 1 or sides.shape[-2] != n:
        raise ArgumentError(
            f"{function}: argument 'b' must have shape ({n},) or (..., {n}, k) for matrices of order {n}, got "
            f"{b.shape}."
        )
    try:
        batch = np.broadcast_shapes(ab.shape[:-2], sides.shape[:-2])
    except ValueError:
        raise ArgumentError(
            f"{function}: the batch axes of 'ab' {ab.shape} and 'b' {b.shape} can't be broadcast with each other."
        ) from None
    dtype = np.result_type(ab.dtype, b.dtype)
    columns = sides.shape[-1]
    systems = int(np.prod(batch, dtype=np.int64))
    shape = (*batch, n) if vector else (*batch, n, columns)
    if systems == 0 or n == 0 or columns == 0:
        return cupy.empty(shape, dtype)
    ab = cupy.broadcast_to(ab, (*batch, *ab.shape[-2:])).reshape(systems, -1, n)
    rows = cupy.zeros((n, 2 * lower + upper + 1, systems), dtype)
    for diagonal in range(-lower, upper + 1):  # column j of the diagonal form belongs to row j - diagonal
        first, last = max(0, -diagonal), min(n, n - diagonal)
        if first < last:
            entries = ab[:, upper - diagonal, first + diagonal : last + diagonal]
            rows[first:last, diagonal + lower, :] = entries.T
    solution = cupy.array(
        cupy.moveaxis(cupy.broadcast_to(sides, (*batch, n, columns)).reshape(systems, n, columns), 0, -1),
        dtype=dtype,
        order="C",
    )
    singular = cupy.zeros(systems, np.int32)
    real = rows.real.dtype
    _kernel(cupy, dtype)(
        (-(-systems // _THREADS),),
        (_THREADS,),
        (
            rows.view(real),
            solution.view(real),
            singular,
            np.int32(lower),
            np.int32(upper),
            np.int32(n),
            np.int32(columns),
            np.int64(systems),
        ),
    )
    if read_truth(singular.any(), f"{function}: singularity test", on_device=True):
        raise np.linalg.LinAlgError(f"{function}: singular matrix")
    found = cupy.ascontiguousarray(cupy.moveaxis(solution, -1, 0)).reshape(*batch, n, columns)
    return found[..., 0] if vector else found


def _kernel(cupy: Any, dtype: np.dtype[Any]) -> Any:
    device = int(cupy.cuda.Device().id)
    if device not in _modules:
        source = Path(__file__).with_suffix(".cu").read_text(encoding="utf-8")
        module = cupy.RawModule(code=source, options=("-std=c++14",))
        if hasattr(module, "_check"):  # the stand-in's, which checks launches; these kernels are tested
            module._check = False
        _modules[device] = module
    return _modules[device].get_function(f"solve_banded_{dtype.name}")


def _counts(l_and_u: Any) -> tuple[int, int]:
    try:
        lower, upper = (operator.index(count) for count in l_and_u)
    except (TypeError, ValueError):
        lower = upper = -1
    if lower < 0 or upper < 0:
        raise ArgumentError(
            "solve_banded: argument 'l_and_u' must be a pair of integers, the numbers of lower and upper diagonals, "
            f"got {l_and_u!r}."
        )
    return lower, upper


def _numbers(cupy: Any, function: str, argument: str, value: Any) -> Any:
    """Return a device array of a dtype that the kernels have."""
    _gate.refuse_masked(value, function=function, argument=argument)
    array = cupy.asarray(value)
    kind = array.dtype.kind
    if kind not in "biufc":
        raise ArgumentTypeError(f"{function}: argument {argument!r} must hold numbers, not {array.dtype}.")
    if kind in "biu":
        return array.astype(np.float64)
    return array.astype(np.float32) if array.dtype == np.float16 else array
