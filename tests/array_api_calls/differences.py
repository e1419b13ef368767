"""Where results may differ from those of the judge: by rounding, in what is left open, and as known exceptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from array_api_calls.arguments import Call
from array_api_calls.calls import CALLS
from array_api_calls.linear_algebra import LINALG
from array_api_calls.transforms import FFT

SHAPE_ONLY = {"empty", "empty_like"}
# Rounded, and not always alike: within a few units in the last place.
ROUNDED = {
    *("acos", "acosh", "arange", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "exp", "expm1", "hypot"),
    *("log", "log10", "log1p", "log2", "logaddexp", "pow", "reciprocal", "sin", "sinh", "tan", "tanh"),
}
# Sums, and what consists of them: within the rounding of the largest term.
SUMMED = {
    *("cumulative_prod", "cumulative_sum", "linspace", "matmul", "mean", "prod", "std", "sum", "tensordot", "var"),
    "vecdot",
    *(f"linalg.{name}" for name in LINALG.keys() - {"diagonal", "matrix_transpose", "matrix_rank"}),
    *(f"fft.{name}" for name in FFT.keys() - {"fftshift", "ifftshift"}),
}
# The standard leaves open which of two equal zeros is given.
EITHER_ZERO = {"clip", "max", "maximum", "min", "minimum", "sort"} | {name for name in CALLS if "unique" in name}


def _by_value(values: Any, others: Any) -> Any:
    return others[np.argsort(values, kind="stable")]


def _eigenpairs(call: Call, results: list[Any]) -> list[Any]:
    values, vectors = results
    return [np.sort(values, axis=-1), call.args[0] @ vectors - vectors * values[..., None, :]]


# Of results that the standard does not determine: what is determined in them.
DETERMINED: dict[str, Callable[[Call, list[Any]], list[Any]]] = {
    "argsort": lambda call, r: (
        r if call.kwargs.get("stable", True) else [np.take_along_axis(call.args[0], r[0], call.kwargs.get("axis", -1))]
    ),
    "linalg.eig": _eigenpairs,
    "linalg.eigh": _eigenpairs,
    "linalg.eigvals": lambda call, r: [np.sort(r[0], axis=-1)],
    "linalg.qr": lambda call, r: [r[0] @ r[1], np.abs(r[1])],
    "linalg.svd": lambda call, r: [
        r[1],
        (r[0][..., : r[1].shape[-1]] * r[1][..., None, :]) @ r[2][..., : r[1].shape[-1], :],
    ],
    "unique_all": lambda call, r: [np.sort(r[0]), _by_value(r[0], r[1]), r[0][r[2]], _by_value(r[0], r[3])],
    "unique_counts": lambda call, r: [np.sort(r[0]), _by_value(r[0], r[1])],
    "unique_inverse": lambda call, r: [np.sort(r[0]), r[0][r[1]]],
    "unique_values": lambda call, r: [np.sort(r[0])],
}


class KnownException(NamedTuple):
    """A difference from the standard that is meant to stay.

    Attributes
    ----------
    name : str
        The function.
    backends : tuple of str
        Where it differs.
    reason : str
        Why that is so.
    applies : callable
        Tells of a call whether it is concerned.
    example : Call
        A call whose result differs, so that an entry that is out of date is noticed.
    """

    name: str
    backends: tuple[str, ...]
    reason: str
    applies: Callable[[Call], bool]
    example: Call


def _bounds(call: Call) -> list[Any]:
    return [*call.args[1:], *(call.kwargs.get(name) for name in ("min", "max"))]


def _family(dtype: Any) -> str:
    kind = np.dtype(getattr(dtype, "dtype", dtype)).kind
    return {"u": "i", "c": "f"}.get(kind, kind)


_BOTH = ("numpy", "cupy")
EXCEPTIONS = [
    KnownException(
        "argsort",
        ("numpy",),
        "NumPy's default is not stable, the standard's is; stable=True is stable on both backends",
        lambda call: not call.kwargs.get("stable") and "descending" not in call.kwargs,
        Call((np.arange(1000) % 2,), {}),
    ),
    KnownException(
        "can_cast",
        _BOTH,
        "NumPy's rule: also from bools to numbers and from integers to floating-point numbers",
        lambda call: _family(call.args[0]) != _family(call.args[1]),
        Call((np.dtype(bool), np.dtype(np.int8)), {}),
    ),
    KnownException(
        "clip",
        _BOTH,
        "NumPy's promotion: limits of a wider dtype make the result wider",
        lambda call: any(
            np.result_type(call.args[0], bound) != call.args[0].dtype
            for bound in _bounds(call)
            if isinstance(bound, np.ndarray)
        ),
        Call((np.ones(2, np.int8), np.zeros(2, np.int16), None), {}),
    ),
    KnownException(
        "linalg.eig",
        _BOTH,
        "NumPy's eigenvalues of a real matrix are real where all of them are",
        lambda call: call.args[0].dtype.kind == "f",
        Call((np.eye(2),), {}),
    ),
    KnownException(
        "linalg.eigvals",
        _BOTH,
        "NumPy's eigenvalues of a real matrix are real where all of them are",
        lambda call: call.args[0].dtype.kind == "f",
        Call((np.eye(2),), {}),
    ),
    KnownException(
        "linalg.pinv",
        _BOTH,
        "NumPy's default tolerance is 1e-15 for every dtype; rtol=None is the standard's",
        lambda call: "rtol" not in call.kwargs,
        Call((np.diag([1.0, 1e-8]).astype(np.float32),), {}),
    ),
    KnownException(
        "repeat",
        ("numpy",),
        "NumPy refuses counts of uint64, as they may be beyond int64",
        lambda call: getattr(call.args[1], "dtype", None) == np.uint64,
        Call((np.ones(2), np.ones(2, np.uint64)), {}),
    ),
]


def exceptions(backend: str) -> list[KnownException]:
    return [one for one in EXCEPTIONS if backend in one.backends]
