"""Comparisons of arrays, and of the calls of a function, that raise AssertionError."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from .host_values import on_host


def assert_allclose(
    actual: Any,
    desired: Any,
    rtol: float = 1e-7,
    atol: float = 0,
    equal_nan: bool = True,
    err_msg: str = "",
    verbose: bool = True,
    *,
    strict: bool = False,
) -> None:
    """Raise AssertionError if elements differ by more than tolerances."""
    options: dict[str, Any] = {"equal_nan": equal_nan, "err_msg": err_msg, "verbose": verbose, "strict": strict}
    np.testing.assert_allclose(on_host(actual), on_host(desired), rtol, atol, **options)


def assert_array_almost_equal(
    actual: Any, desired: Any, decimal: int = 6, err_msg: str = "", verbose: bool = True
) -> None:
    """Raise AssertionError if elements differ in the first decimals."""
    np.testing.assert_array_almost_equal(on_host(actual), on_host(desired), decimal, err_msg, verbose)


def assert_array_almost_equal_nulp(x: Any, y: Any, nulp: int = 1) -> None:
    """Raise AssertionError if elements differ by more than spacings of their size."""
    np.testing.assert_array_almost_equal_nulp(on_host(x), on_host(y), nulp)


def assert_array_max_ulp(a: Any, b: Any, maxulp: int = 1, dtype: Any = None) -> Any:
    """Raise AssertionError if elements differ by more than units in the last place."""
    return np.testing.assert_array_max_ulp(on_host(a), on_host(b), maxulp, dtype)


def assert_array_equal(
    actual: Any,
    desired: Any,
    err_msg: str = "",
    verbose: bool = True,
    *,
    strict: bool = False,
    strides_check: bool = False,
) -> None:
    """Raise AssertionError if elements differ, or strides where asked."""
    np.testing.assert_array_equal(on_host(actual), on_host(desired), err_msg, verbose, strict=strict)
    if strides_check and actual.strides != desired.strides:
        raise AssertionError(f"Strides are not equal: {actual.strides} and {desired.strides} {err_msg}")


def assert_array_list_equal(xlist: Any, ylist: Any, err_msg: str = "", verbose: bool = True) -> None:
    """Raise AssertionError if arrays of two lists differ."""
    if type(xlist) is not type(ylist) or len(xlist) != len(ylist):
        raise AssertionError(f"Lists differ in type or length: {type(xlist)}, {type(ylist)} {err_msg}")
    for x, y in zip(xlist, ylist, strict=True):
        np.testing.assert_array_equal(on_host(x), on_host(y), err_msg, verbose)


def assert_array_less(x: Any, y: Any, err_msg: str = "", verbose: bool = True, *, strict: bool = False) -> None:
    """Raise AssertionError if elements are not less."""
    np.testing.assert_array_less(on_host(x), on_host(y), err_msg, verbose, strict=strict)


@contextlib.contextmanager
def assert_warns(expected: type[Warning]) -> Iterator[None]:
    """Raise AssertionError if a block does not warn."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        yield
    if not any(isinstance(one.message, expected) for one in seen):
        raise AssertionError(f"{expected.__name__} not triggered")


class AssertFunctionIsCalled:
    """Replace a function, and raise AssertionError if it is not called as often as asked."""

    def __init__(self, mock_mod: Any, times_called: int = 1, **kwargs: Any) -> None:
        import unittest.mock

        self._patch = unittest.mock.patch(mock_mod, **kwargs)
        self._times = times_called

    def __enter__(self) -> Any:
        self._mock = self._patch.__enter__()
        return self._mock

    def __exit__(self, *exc: Any) -> Any:
        answer = self._patch.__exit__(*exc)
        if exc[0] is None and self._mock.call_count != self._times:
            raise AssertionError(f"called {self._mock.call_count} times, not {self._times}")
        return answer
