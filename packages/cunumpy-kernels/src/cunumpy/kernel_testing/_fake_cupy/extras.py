"""Small parts of CuPy that stand in modules of their own."""

from __future__ import annotations

import contextlib
import functools
import platform
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from . import _api, linear_systems, synchronization
from .array_base import unwrap, used, wrap
from .cuda import getDeviceProperties
from .current_device import current_device, device_count
from .devices import COMPUTE_CAPABILITY
from .ndarray import ndarray
from .profiler import benchmark

# ---- cupy ----

_memos: list[dict[Any, Any]] = []


def memoize(for_each_device: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that keeps a function's results by its arguments, and by the device if asked."""

    def decorator(function: Callable[..., Any]) -> Callable[..., Any]:
        memo: dict[Any, Any] = {}
        _memos.append(memo)

        @functools.wraps(function)
        def remembered(*args: Any, **kwargs: Any) -> Any:
            device = current_device() if for_each_device else -1
            key = (device, args, frozenset(kwargs.items()))
            if key not in memo:
                memo[key] = function(*args, **kwargs)
            return memo[key]

        return remembered

    return decorator


def clear_memo() -> None:
    """Forget the results that `memoize` keeps."""
    for memo in _memos:
        memo.clear()


@contextlib.contextmanager
def optimize(*, key: Any = None, path: Any = None, readonly: bool = False, **config_dict: Any) -> Iterator[None]:
    """Tune kernels within a block: refused, as by CuPy without Optuna."""
    raise RuntimeError(
        "Optuna is required to run optimization. See https://optuna.org/ for the installation instructions."
    )
    yield


class broadcast:
    """Arrays that are stretched to one shape."""

    def __init__(self, *arrays: Any) -> None:
        buffers = [unwrap(array) if isinstance(array, ndarray) else np.asarray(array) for array in arrays]
        self.values = tuple(
            wrap(np.broadcast_to(buffer, np.broadcast_shapes(*(one.shape for one in buffers))), array)
            if isinstance(array, ndarray)
            else array
            for buffer, array in zip(buffers, arrays, strict=True)
        )
        self.shape = np.broadcast_shapes(*(one.shape for one in buffers))
        self.nd = len(self.shape)
        self.size = int(np.prod(self.shape, dtype=np.int64))


def byte_bounds(a: ndarray) -> tuple[int, int]:
    """Return the first address of an array, and the one after the last."""
    low, high = np.lib.array_utils.byte_bounds(unwrap(a))
    return int(low), int(high)


def contents() -> dict[str, Any]:
    """Return what ``cupy`` has of this."""
    return {f.__name__: f for f in (memoize, clear_memo, broadcast, byte_bounds)}


def as_strided(x: ndarray, shape: Any = None, strides: Any = None) -> ndarray:
    """Return a view with any shape and strides."""
    shape = x.shape if shape is None else tuple(shape)
    strides = x.strides if strides is None else tuple(strides)
    return wrap(np.lib.stride_tricks.as_strided(unwrap(x), shape, strides), x)


def sliding_window_view(
    x: ndarray, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> ndarray:
    """Return a view of all windows of a shape."""
    if subok:
        raise NotImplementedError("subok is not supported")
    if writeable:
        raise NotImplementedError("Writeable views are not supported.")
    return wrap(np.lib.stride_tricks.sliding_window_view(unwrap(x), window_shape, axis), x)


def polyvander(x: Any, deg: int) -> ndarray:
    """Return a Vandermonde matrix."""
    return wrap(np.polynomial.polynomial.polyvander(unwrap(x), deg))


def polycompanion(c: Any) -> ndarray:
    """Return a companion matrix."""
    return wrap(np.polynomial.polynomial.polycompanion(unwrap(c)))


def polyval(x: Any, c: Any, tensor: bool = True) -> ndarray:
    """Return the values of a polynomial."""
    coefficients = unwrap(c)
    where = used(x) if isinstance(x, ndarray) else x
    return wrap(np.asarray(np.polynomial.polynomial.polyval(where, coefficients, tensor)))


def polyvalfromroots(x: Any, r: Any, tensor: bool = True) -> ndarray:
    """Return the values of a polynomial, by its roots."""
    where = used(x) if isinstance(x, ndarray) else x
    return wrap(np.asarray(np.polynomial.polynomial.polyvalfromroots(where, unwrap(r), tensor)))


def _check_series(array: ndarray) -> None:
    """Raise for coefficients that are none."""
    if array.size == 0:
        raise ValueError("Coefficient array is empty")
    if array.ndim > 1:
        raise ValueError("Coefficient array is not 1-d")


def trimseq(seq: ndarray) -> ndarray:
    """Return coefficients without zeros at the end."""
    if seq.ndim != 1:
        raise (TypeError if seq.ndim == 0 else ValueError)("Input must be 1-d array")
    found = np.flatnonzero(unwrap(seq))
    return seq if seq.size == 0 else seq[: max(1, int(found[-1]) + 1 if found.size else 1)]


def as_series(alist: Any, trim: bool = True) -> list[ndarray]:
    """Return coefficients as arrays of one dtype, without zeros at the end."""
    arrays = []
    for array in alist:
        _check_series(array)
        if array.dtype.kind == "b":
            raise ValueError("Coefficient arrays have no common type")
        arrays.append(trimseq(array.ravel()) if trim else array.ravel())
    dtype = np.common_type(*(array._buffer for array in arrays))
    return [array.astype(dtype, copy=False) for array in arrays]


def trimcoef(c: ndarray, tol: float = 0) -> ndarray:
    """Return coefficients without those at the end that are at most a tolerance."""
    if tol < 0:
        raise ValueError("tol must be non-negative")
    _check_series(c)
    if c.dtype.kind == "b":
        raise ValueError("bool inputs are not allowed")
    series = c.ravel().astype(np.common_type(c._buffer), copy=False)
    large = np.flatnonzero(np.abs(unwrap(series)) > tol)
    return series[: int(large[-1]) + 1] if large.size else wrap(np.zeros(1, series.dtype))


_Scalar = TypeVar("_Scalar", bound=np.generic, covariant=True)


def modules() -> dict[str, dict[str, Any]]:
    """Return the contents of small modules, packages first."""
    polynomial = (polyvander, polycompanion, polyval, polyvalfromroots)
    return {
        "cupy.lib": {},
        "cupy.lib.stride_tricks": {f.__name__: f for f in (as_strided, sliding_window_view)},
        "cupy.polynomial": {},
        "cupy.polynomial.polynomial": {f.__name__: f for f in polynomial},
        "cupy.polynomial.polyutils": {f.__name__: f for f in (trimseq, as_series, trimcoef)},
        "cupy.typing": {
            "ArrayLike": npt.ArrayLike,
            "DTypeLike": npt.DTypeLike,
            "NBitBase": npt.NBitBase,
            "NDArray": ndarray,
        },
        **linear_systems.modules(),
        "cupyx.optimizing": {"optimize": optimize},
        "cupyx.time": {"repeat": repeat},
    }


# ---- cupyx ----

_settings = threading.local()
_KINDS = ("divide", "over", "under", "invalid", "linalg")


def geterr() -> dict[str, Any]:
    """Return how errors of calculations are treated: CuPy ignores them."""
    return dict.fromkeys(_KINDS[:-1]) | {"linalg": getattr(_settings, "linalg", "ignore")}


def seterr(
    *, divide: Any = None, over: Any = None, under: Any = None, invalid: Any = None, linalg: Any = None
) -> dict[str, Any]:
    """Choose how errors of `cupy.linalg` are treated, ``'ignore'`` or ``'raise'``; CuPy has nothing else to choose."""
    before = geterr()
    if any(one is not None for one in (divide, over, under, invalid)) or linalg not in (None, "ignore", "raise"):
        raise NotImplementedError
    if linalg is not None:
        _settings.linalg = linalg
    return before


@contextlib.contextmanager
def errstate(
    *, divide: Any = None, over: Any = None, under: Any = None, invalid: Any = None, linalg: Any = None
) -> Iterator[None]:
    """Choose how errors are treated, within a block."""
    before = seterr(divide=divide, over=over, under=under, invalid=invalid, linalg=linalg)
    try:
        yield
    finally:
        seterr(**before)


class _RuntimeInfo:
    """What there is of CUDA and libraries."""

    def __str__(self) -> str:
        rows = {
            "OS": platform.platform(),
            "Python Version": platform.python_version(),
            "CuPy Version": f"{_api.VERSION} (stand-in of cunumpy.kernel_testing)",
            "NumPy Version": np.__version__,
            "SciPy Version": getattr(sys.modules.get("scipy"), "__version__", None),
            "CUDA Root": None,
            "CUDA Runtime Version": "none: NumPy buffers, no GPU",
        }
        for number in range(device_count()):
            properties = getDeviceProperties(number)
            rows[f"Device {number} Name"] = properties["name"].decode()
            rows[f"Device {number} Compute Capability"] = COMPUTE_CAPABILITY
        return "\n".join(f"{name:<29}: {value}" for name, value in rows.items()) + "\n"


def get_runtime_info(*, full: bool = True) -> _RuntimeInfo:
    """Return what there is of CUDA and libraries, as text by `str`."""
    return _RuntimeInfo()


def repeat(
    func: Any,
    args: tuple[Any, ...] = (),
    kwargs: Any = {},  # noqa: B006 - CuPy's signature
    n_repeat: int = 10000,
    *,
    name: str | None = None,
    n_warmup: int = 10,
    max_duration: float = float("inf"),
    devices: Any = None,
) -> Any:
    """Time a function: the old name of `cupyx.profiler.benchmark`."""
    warnings.warn(
        "cupyx.time.repeat has been moved to cupyx.profiler.benchmark since CuPy v10. Access through cupyx.time is "
        "deprecated and will be removed in the future.",
        stacklevel=2,
    )
    return benchmark(
        func, args, kwargs, n_repeat, name=name, n_warmup=n_warmup, max_duration=max_duration, devices=devices
    )


def cupyx_contents() -> dict[str, Any]:
    """Return what ``cupyx`` has of this."""
    given = (geterr, seterr, errstate, get_runtime_info)
    return {f.__name__: f for f in given} | {
        "allow_synchronize": synchronization.allow_synchronize,
        "DeviceSynchronized": synchronization.DeviceSynchronized,
    }
