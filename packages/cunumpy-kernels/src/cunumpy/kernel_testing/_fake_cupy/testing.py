"""``cupy.testing``: comparisons of arrays, and decorators that run a test with NumPy and with the stand-in."""

# ruff: noqa: NPY002 - the global state of numpy.random is meant

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.metadata
import inspect
import itertools
import math
import os
import random as python_random
import sys
import unittest
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .ndarray import ndarray, waited

_FLOATS = (np.float64, np.float32, np.float16)
_COMPLEX = (np.complex64, np.complex128)
_SIGNED = tuple(np.dtype(char).type for char in "bhilq")
_UNSIGNED = tuple(np.dtype(char).type for char in "BHILQ")
_INTEGERS = _SIGNED + _UNSIGNED


def _cupy() -> Any:
    return sys.modules["cupy"]


def _host(value: Any) -> Any:
    if isinstance(value, ndarray):
        return waited(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_host(item) for item in value)
    return value


# ---- comparisons ----


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
    np.testing.assert_allclose(_host(actual), _host(desired), rtol, atol, **options)


def assert_array_almost_equal(
    actual: Any, desired: Any, decimal: int = 6, err_msg: str = "", verbose: bool = True
) -> None:
    """Raise AssertionError if elements differ in the first decimals."""
    np.testing.assert_array_almost_equal(_host(actual), _host(desired), decimal, err_msg, verbose)


def assert_array_almost_equal_nulp(x: Any, y: Any, nulp: int = 1) -> None:
    """Raise AssertionError if elements differ by more than spacings of their size."""
    np.testing.assert_array_almost_equal_nulp(_host(x), _host(y), nulp)


def assert_array_max_ulp(a: Any, b: Any, maxulp: int = 1, dtype: Any = None) -> Any:
    """Raise AssertionError if elements differ by more than units in the last place."""
    return np.testing.assert_array_max_ulp(_host(a), _host(b), maxulp, dtype)


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
    np.testing.assert_array_equal(_host(actual), _host(desired), err_msg, verbose, strict=strict)
    if strides_check and actual.strides != desired.strides:
        raise AssertionError(f"Strides are not equal: {actual.strides} and {desired.strides} {err_msg}")


def assert_array_list_equal(xlist: Any, ylist: Any, err_msg: str = "", verbose: bool = True) -> None:
    """Raise AssertionError if arrays of two lists differ."""
    if type(xlist) is not type(ylist) or len(xlist) != len(ylist):
        raise AssertionError(f"Lists differ in type or length: {type(xlist)}, {type(ylist)} {err_msg}")
    for x, y in zip(xlist, ylist, strict=True):
        np.testing.assert_array_equal(_host(x), _host(y), err_msg, verbose)


def assert_array_less(x: Any, y: Any, err_msg: str = "", verbose: bool = True, *, strict: bool = False) -> None:
    """Raise AssertionError if elements are not less."""
    np.testing.assert_array_less(_host(x), _host(y), err_msg, verbose, strict=strict)


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


# ---- data ----


def shaped_arange(shape: Any, xp: Any = None, dtype: Any = np.float32, order: str = "C") -> Any:
    """Return 1, 2, 3, ...; the real part, for complex types with the negative as imaginary part."""
    numbers: Any = np.arange(1, math.prod(shape) + 1)
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        numbers = numbers % 2 == 0
    elif dtype.kind == "c":
        numbers = numbers + numbers * 1j
    made = np.array(numbers.astype(dtype).reshape(shape), order=order)  # type: ignore[call-overload]
    return (xp or _cupy()).array(made, order=order)


def shaped_reverse_arange(shape: Any, xp: Any = None, dtype: Any = np.float32) -> Any:
    """Return ..., 3, 2, 1."""
    size = math.prod(shape)
    numbers: Any = np.arange(size, 0, -1)
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        numbers = numbers % 2 == 0
    elif dtype.kind == "c":
        numbers = numbers + numbers * 1j
    return (xp or _cupy()).array(numbers.astype(dtype).reshape(shape))


def shaped_random(
    shape: Any, xp: Any = None, dtype: Any = np.float32, scale: float = 10, seed: Any = 0, order: str = "C"
) -> Any:
    """Return random numbers below a scale, equal for NumPy and CuPy."""
    source = np.random.RandomState(seed)
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        made: Any = source.randint(2, size=shape)
    elif dtype.kind == "c":
        made = source.rand(*shape) + 1j * source.rand(*shape)
        made = made * scale
    else:
        made = source.rand(*shape) * scale
    return (xp or _cupy()).asarray(made.astype(dtype), order=order)


def shaped_linspace(start: float, stop: float, shape: Any, xp: Any = None, dtype: Any = np.float32) -> Any:
    """Return numbers at equal distances."""
    shape = (shape,) if np.isscalar(shape) else shape
    return (xp or _cupy()).array(np.linspace(start, stop, math.prod(shape), dtype=dtype).reshape(shape))


def shaped_sparse_random(
    shape: Any, sp: Any = None, dtype: Any = np.float32, density: float = 0.01, format: str = "coo", seed: Any = 0
) -> Any:
    """Return a random matrix, equal for SciPy and CuPy."""
    import scipy.sparse

    made = scipy.sparse.random(*shape, density, dtype=dtype, random_state=np.random.RandomState(seed))
    sp = sp or importlib.import_module("cupyx.scipy.sparse")
    return sp.coo_matrix(made).asformat(format)


def generate_matrix(shape: Any, xp: Any = None, dtype: Any = np.float32, *, singular_values: Any = None) -> Any:
    """Return a random matrix, or several, with given singular values."""
    if len(shape) <= 1:
        raise ValueError(f"shape {tuple(shape)} is invalid for matrices: too few axes")
    dtype = np.dtype(dtype)
    if dtype.kind not in "fc":
        raise TypeError(f"dtype {dtype} is not supported")
    values = np.asarray(_host(singular_values))
    source = np.random.RandomState()
    made: Any = source.randn(*shape)
    if dtype.kind == "c":
        made = made + 1j * source.randn(*shape)
    u, _, vh = np.linalg.svd(made, full_matrices=False)
    return (xp or _cupy()).array(((u * values[..., None, :]) @ vh).astype(dtype))


# ---- decorators ----


def _without(function: Callable[..., Any], *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return `functools.wraps`, with a signature that lacks the parameters that the decorator fills."""

    def decorator(wrapper: Callable[..., Any]) -> Callable[..., Any]:
        wrapped: Any = functools.wraps(function)(wrapper)
        signature = inspect.signature(function)
        left = [parameter for name, parameter in signature.parameters.items() if name not in names]
        del wrapped.__wrapped__
        wrapped.__signature__ = signature.replace(parameters=left)
        return wrapped  # type: ignore[no-any-return]

    return decorator


def _values_of(name: str, values: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that runs a test with every value of a parameter."""

    def decorator(test: Callable[..., Any]) -> Callable[..., Any]:
        @_without(test, name)
        def run(*args: Any, **kwargs: Any) -> None:
            for value in values:
                try:
                    test(*args, **kwargs, **{name: value})
                except unittest.SkipTest as skip:
                    print(f"skipped: {name} = {value} ({skip})")
                except Exception:
                    print(f"{name} is {getattr(value, '__name__', value)}")
                    raise

        return run

    return decorator


def for_dtypes(dtypes: Any, name: str = "dtype") -> Any:
    """Run a test with every dtype."""
    return _values_of(name, [np.dtype(dtype).type for dtype in dtypes])


def _all_dtypes(no_float16: bool, no_bool: bool, no_complex: bool) -> tuple[Any, ...]:
    floats = tuple(one for one in _FLOATS if not (no_float16 and one is np.float16))
    return floats + _INTEGERS + (() if no_bool else (np.bool_,)) + (() if no_complex else _COMPLEX)


def for_all_dtypes(
    name: str = "dtype",
    no_float16: bool = False,
    no_bool: bool = False,
    no_complex: bool = False,
    additional_args: Any = (),
) -> Any:
    """Run a test with every dtype of CuPy."""
    return for_dtypes((*_all_dtypes(no_float16, no_bool, no_complex), *additional_args), name)


def for_float_dtypes(name: str = "dtype", no_float16: bool = False) -> Any:
    """Run a test with every real floating-point dtype."""
    return for_dtypes([one for one in _FLOATS if not (no_float16 and one is np.float16)], name)


def for_signed_dtypes(name: str = "dtype") -> Any:
    """Run a test with every signed integer dtype."""
    return for_dtypes(_SIGNED, name)


def for_unsigned_dtypes(name: str = "dtype") -> Any:
    """Run a test with every unsigned integer dtype."""
    return for_dtypes(_UNSIGNED, name)


def for_int_dtypes(name: str = "dtype", no_bool: bool = False) -> Any:
    """Run a test with every integer dtype, and bool."""
    return for_dtypes(_INTEGERS if no_bool else (*_INTEGERS, np.bool_), name)


def for_complex_dtypes(name: str = "dtype") -> Any:
    """Run a test with every complex dtype."""
    return for_dtypes(_COMPLEX, name)


def for_dtypes_combination(types: Any, names: Any = ("dtype",), full: Any = None) -> Any:
    """Run a test with combinations of dtypes; with `full`, or ``CUPY_TEST_FULL_COMBINATION=1``, all of them."""
    types = list(types)
    if full is None:
        full = os.environ.get("CUPY_TEST_FULL_COMBINATION", "0") != "0"
    if full:
        chosen = list(itertools.product(types, repeat=len(names)))
    else:
        shuffled = [python_random.Random(i).sample(types, len(types)) for i in range(len(names))]
        chosen = sorted(set(zip(*shuffled, strict=True)), key=str)

    def decorator(test: Callable[..., Any]) -> Callable[..., Any]:
        @_without(test, *names)
        def run(*args: Any, **kwargs: Any) -> None:
            for combination in chosen:
                test(*args, **kwargs, **dict(zip(names, combination, strict=True)))

        return run

    return decorator


def for_all_dtypes_combination(
    names: Any = ("dtyes",),
    no_float16: bool = False,
    no_bool: bool = False,
    full: Any = None,
    no_complex: bool = False,
) -> Any:
    """Run a test with combinations of CuPy's dtypes."""
    return for_dtypes_combination(_all_dtypes(no_float16, no_bool, no_complex), names, full)


def for_signed_dtypes_combination(names: Any = ("dtype",), full: Any = None) -> Any:
    """Run a test with combinations of signed integer dtypes."""
    return for_dtypes_combination(_SIGNED, names, full)


def for_unsigned_dtypes_combination(names: Any = ("dtype",), full: Any = None) -> Any:
    """Run a test with combinations of unsigned integer dtypes."""
    return for_dtypes_combination(_UNSIGNED, names, full)


def for_int_dtypes_combination(names: Any = ("dtype",), no_bool: bool = False, full: Any = None) -> Any:
    """Run a test with combinations of integer dtypes."""
    return for_dtypes_combination(_INTEGERS if no_bool else (*_INTEGERS, np.bool_), names, full)


def for_orders(orders: Any, name: str = "order") -> Any:
    """Run a test with every memory order."""
    return _values_of(name, orders)


def for_CF_orders(name: str = "order") -> Any:
    """Run a test with both memory orders, by all their names."""
    return for_orders([None, "C", "F", "c", "f"], name)


def for_contiguous_axes(name: str = "axis") -> Any:
    """Run a test of a class with the axes along which CUB reduces arrays of its `shape` and `order`."""

    def decorator(test: Callable[..., Any]) -> Callable[..., Any]:
        @_without(test, name)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            ndim = len(self.shape)
            forward = [tuple(range(i, ndim)) for i in range(ndim)]
            backward = [tuple(range(i + 1)) for i in range(ndim)]
            axes = {*(forward if self.order in "cC" else ()), *(backward if self.order in "fF" else ())}
            for axis in sorted(axes):
                test(self, *args, **kwargs, **{name: axis})

        return run

    return decorator


def _with_both(use: Callable[[Any, Any], None], name: str, sp_name: Any, scipy_name: Any) -> Any:
    """Return a decorator that runs a test with CuPy and with NumPy, and uses what they return or raise."""

    def decorator(test: Callable[..., Any]) -> Callable[..., Any]:
        filled = [one for one in (name, sp_name, scipy_name) if one]

        @_without(test, *filled)
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
        dtype = np.asarray(_host(mine)).dtype
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


def product(parameter: Any) -> list[Any]:
    """Return all combinations of a mapping's values as mappings, or those of lists of mappings."""
    if isinstance(parameter, dict):
        return [dict(zip(parameter, values, strict=True)) for values in itertools.product(*parameter.values())]
    return [list(values) for values in itertools.product(*parameter)]


def product_dict(*parameters: Any) -> list[dict[str, Any]]:
    """Return all combinations of mappings, one of each list, joined."""
    return [{key: value for one in chosen for key, value in one.items()} for chosen in itertools.product(*parameters)]


def parameterize(*params: Any, **kwargs: Any) -> Any:
    """Make a class of tests for each mapping of attributes."""

    def decorator(cls: Any) -> Any:
        module: Any = sys.modules[cls.__module__]
        for number, attributes in enumerate(params):
            shown = ", ".join(f"{key}={value!r}" for key, value in attributes.items())[:100]
            name = f"{cls.__name__}_param_{number}_{{{shown}}}"
            setattr(module, name, type(name, (cls,), {**attributes, "__module__": cls.__module__, "__test__": True}))
        cls.__test__ = False
        return cls

    return decorator


def installed(*specifiers: str) -> bool:
    """Whether packages of asked versions are installed."""
    from packaging.requirements import Requirement

    for text in specifiers:
        requirement = Requirement(text)
        try:
            version = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            return False
        if not requirement.specifier.contains(version, prereleases=True):
            return False
    return True


def numpy_satisfies(version_range: str) -> bool:
    """Whether NumPy has an asked version."""
    return installed(f"numpy{version_range}")


def with_requires(*requirements: str) -> Any:
    """Skip a test where packages are missing."""
    return unittest.skipUnless(installed(*requirements), f"requires: {','.join(requirements)}")


def _mark(name: str) -> Any:
    import pytest

    return getattr(pytest.mark, name)


def slow(test: Any) -> Any:
    """Mark a test as slow."""
    return _mark("slow")(test)


def multi_gpu(gpu_num: int) -> Any:
    """Mark a test as one of several devices, and skip it where ``CUPY_TEST_GPU_LIMIT`` allows fewer."""
    limit = int(os.environ.get("CUPY_TEST_GPU_LIMIT", "-1"))
    skip = _mark("skipif")(0 <= limit < gpu_num, reason=f"{gpu_num} GPUs required")
    return lambda test: skip(_mark("multi_gpu")(test))


_fixed = 0


def generate_seed() -> int:
    """Return a seed, inside what `fix_random` decorates."""
    assert _fixed > 0, "random is not set up"
    return int(np.random.randint(0x7FFFFFFF))


@contextlib.contextmanager
def _fixed_random() -> Iterator[None]:
    global _fixed
    random = _cupy().random
    before = python_random.getstate(), np.random.get_state(), random.get_random_state()
    python_random.seed(99)
    np.random.seed(100)
    random.set_random_state(random.RandomState(101))
    _fixed += 1
    try:
        yield
    finally:
        _fixed -= 1
        python_random.setstate(before[0])
        np.random.set_state(before[1])
        random.set_random_state(before[2])


def fix_random() -> Any:
    """Return a decorator that gives a test, or the tests of a class, the same random numbers at every run."""

    def decorator(test: Any) -> Any:
        if isinstance(test, type):
            for name, method in list(vars(test).items()):
                if name.startswith("test") and callable(method):
                    setattr(test, name, _fixed_random()(method))
            return test
        return _fixed_random()(test)

    return decorator


_LEFT_OUT = ("NumpyAliasBasicTestBase", "NumpyAliasValuesTestBase")


def contents() -> dict[str, Any]:
    """Return the contents of ``cupy.testing``."""
    own = {name: value for name, value in globals().items() if getattr(value, "__module__", None) == __name__}
    return {name: value for name, value in own.items() if not name.startswith("_") and name != "contents"}
