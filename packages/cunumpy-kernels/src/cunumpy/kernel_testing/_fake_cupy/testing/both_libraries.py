"""Decorators that run a test with NumPy and with the stand-in, and compare what it returns or raises."""

from __future__ import annotations

import importlib
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

from cunumpy.kernel_testing._fake_cupy.ndarray import ndarray

from .comparisons import (
    assert_allclose,
    assert_array_almost_equal,
    assert_array_almost_equal_nulp,
    assert_array_equal,
    assert_array_less,
    assert_array_max_ulp,
)
from .decorating import without_parameters
from .host_values import on_host


def _with_both(use: Callable[[Any, Any], None], name: str, sp_name: Any, scipy_name: Any) -> Any:
    """Return a decorator that runs a test with CuPy and with NumPy, and uses what they return or raise."""

    def decorator(test: Callable[..., Any]) -> Callable[..., Any]:
        filled = [one for one in (name, sp_name, scipy_name) if one]

        @without_parameters(test, *filled)
        def run(*args: Any, **kwargs: Any) -> None:
            use(*(_outcome(test, args, kwargs, device, filled, name, sp_name) for device in (True, False)))

        return run

    return decorator


def _check_errors(ours: Any, theirs: Any, accept_error: Any) -> None:
    """Raise unless both are errors of one kind, and of one that is accepted: all, or none, or these classes."""
    kinds = Exception if accept_error is True else accept_error or ()
    for outcome, other in ((ours, theirs), (theirs, ours)):
        if not isinstance(other, Exception):
            raise AssertionError(f"only one of the two raises: {outcome!r}") from outcome
    if not (isinstance(ours, type(theirs)) or isinstance(theirs, type(ours))):
        raise AssertionError(f"CuPy raises {ours!r}, NumPy {theirs!r}") from ours
    if not (isinstance(ours, kinds) and isinstance(theirs, kinds)):
        raise AssertionError(f"both raise: {ours!r}") from ours


def _comparing(
    check: Callable[[Any, Any], None],
    name: str,
    sp_name: Any,
    scipy_name: Any,
    *,
    types: bool = False,
    accept_error: Any = False,
) -> Any:
    """Return a decorator that runs a test with CuPy and with NumPy, and compares what they return or raise."""

    def compare(ours: Any, theirs: Any) -> None:
        if isinstance(ours, Exception) or isinstance(theirs, Exception):
            _check_errors(ours, theirs, accept_error)
            return
        several = isinstance(ours, (tuple, list))
        pairs = zip(ours, theirs, strict=True) if several else [(ours, theirs)]
        for mine, its in pairs:
            if types and getattr(mine, "dtype", None) != getattr(its, "dtype", None):
                raise AssertionError(f"ndarrays of different dtypes are returned: {mine.dtype}, {its.dtype}")
            check(mine, its)

    return _with_both(compare, name, sp_name, scipy_name)


def _outcome(test: Any, args: Any, kwargs: Any, device: bool, filled: Any, name: str, sp_name: Any) -> Any:
    modules = {}
    for one in filled:
        package = "" if one == name else "scipy.sparse" if one == sp_name else "scipy"
        path = (("cupyx." if package else "cupy") if device else ("" if package else "numpy")) + package
        modules[one] = importlib.import_module(path)
    try:
        return test(*args, **kwargs, **modules)
    except unittest.SkipTest:
        raise
    except Exception as error:
        return error


def _dense(value: Any) -> Any:
    return value.toarray() if hasattr(value, "toarray") else value


def numpy_cupy_allclose(
    rtol: Any = 1e-7,
    atol: Any = 0,
    err_msg: str = "",
    verbose: bool = True,
    name: str = "xp",
    type_check: bool = True,
    accept_error: Any = False,
    sp_name: Any = None,
    scipy_name: Any = None,
    contiguous_check: bool = True,
    *,
    _check_sparse_format: bool = True,
) -> Any:
    """Compare what a test returns with NumPy and with CuPy, within tolerances, which may be by dtype."""

    def tolerance(given: Any, dtype: Any) -> float:
        if not isinstance(given, dict):
            return float(given)
        return float(next((v for k, v in given.items() if k != "default" and np.dtype(k) == dtype), given["default"]))

    def check(mine: Any, its: Any) -> None:
        mine, its = _dense(mine), _dense(its)
        dtype = np.asarray(on_host(mine)).dtype
        assert_allclose(mine, its, tolerance(rtol, dtype), tolerance(atol, dtype), True, err_msg, verbose)
        if contiguous_check and isinstance(its, np.ndarray) and isinstance(mine, ndarray):
            for flag in ("c_contiguous", "f_contiguous"):
                if getattr(its.flags, flag) and not getattr(mine.flags, flag):
                    raise AssertionError(f"The state of {flag} flag is false")

    return _comparing(check, name, sp_name, scipy_name, types=type_check, accept_error=accept_error)


def numpy_cupy_array_almost_equal(
    decimal: int = 6,
    err_msg: str = "",
    verbose: bool = True,
    name: str = "xp",
    type_check: bool = True,
    accept_error: Any = False,
    sp_name: Any = None,
    scipy_name: Any = None,
) -> Any:
    """Compare what a test returns with NumPy and with CuPy, in the first decimals."""

    def check(mine: Any, its: Any) -> None:
        assert_array_almost_equal(_dense(mine), _dense(its), decimal, err_msg, verbose)

    return _comparing(check, name, sp_name, scipy_name, types=type_check, accept_error=accept_error)


def numpy_cupy_array_almost_equal_nulp(
    nulp: int = 1,
    name: str = "xp",
    type_check: bool = True,
    accept_error: Any = False,
    sp_name: Any = None,
    scipy_name: Any = None,
) -> Any:
    """Compare what a test returns with NumPy and with CuPy, in spacings of their size."""

    def check(mine: Any, its: Any) -> None:
        assert_array_almost_equal_nulp(mine, its, nulp)

    return _comparing(check, name, sp_name, scipy_name, types=type_check, accept_error=accept_error)


def numpy_cupy_array_max_ulp(
    maxulp: int = 1,
    dtype: Any = None,
    name: str = "xp",
    type_check: bool = True,
    accept_error: Any = False,
    sp_name: Any = None,
    scipy_name: Any = None,
) -> Any:
    """Compare what a test returns with NumPy and with CuPy, in units in the last place."""

    def check(mine: Any, its: Any) -> None:
        assert_array_max_ulp(mine, its, maxulp, dtype)

    return _comparing(check, name, sp_name, scipy_name, types=type_check, accept_error=accept_error)


def numpy_cupy_array_equal(
    err_msg: str = "",
    verbose: bool = True,
    name: str = "xp",
    type_check: bool = True,
    accept_error: Any = False,
    sp_name: Any = None,
    scipy_name: Any = None,
    strides_check: bool = False,
) -> Any:
    """Compare what a test returns with NumPy and with CuPy."""

    def check(mine: Any, its: Any) -> None:
        assert_array_equal(_dense(mine), _dense(its), err_msg, verbose, strides_check=strides_check)

    return _comparing(check, name, sp_name, scipy_name, types=type_check, accept_error=accept_error)


def numpy_cupy_array_list_equal(
    err_msg: str = "", verbose: bool = True, name: str = "xp", sp_name: Any = None, scipy_name: Any = None
) -> Any:
    """Compare the lists of arrays that a test returns with NumPy and with CuPy."""

    def check(mine: Any, its: Any) -> None:
        assert_array_equal(mine, its, err_msg, verbose)

    return _comparing(check, name, sp_name, scipy_name)


def numpy_cupy_array_less(
    err_msg: str = "",
    verbose: bool = True,
    name: str = "xp",
    type_check: bool = True,
    accept_error: Any = False,
    sp_name: Any = None,
    scipy_name: Any = None,
) -> Any:
    """Require that what a test returns with CuPy is less than with NumPy."""

    def check(mine: Any, its: Any) -> None:
        assert_array_less(mine, its, err_msg, verbose)

    return _comparing(check, name, sp_name, scipy_name, types=type_check, accept_error=accept_error)


def numpy_cupy_equal(name: str = "xp", sp_name: Any = None, scipy_name: Any = None) -> Any:
    """Compare the values that a test returns with NumPy and with CuPy."""

    def check(mine: Any, its: Any) -> None:
        if not (mine == its or (mine is its)):
            raise AssertionError(f"Results are not equal:\ncupy: {mine}\nnumpy: {its}")

    return _comparing(check, name, sp_name, scipy_name)


def numpy_cupy_raises(
    name: str = "xp", sp_name: Any = None, scipy_name: Any = None, accept_error: Any = Exception
) -> Any:
    """Require that a test raises with NumPy and with CuPy, errors of one kind."""

    def check(ours: Any, theirs: Any) -> None:
        for library, outcome in (("cupy", ours), ("numpy", theirs)):
            if not isinstance(outcome, Exception):
                raise AssertionError(f"{library} does not raise what was expected: {outcome!r}")
        _check_errors(ours, theirs, accept_error)

    return _with_both(check, name, sp_name, scipy_name)
