"""Calling a function with `xp` and with the judge, and comparing what they return."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cunumpy as xp
from array_api_calls.arguments import DEVICE, FAMILIES, KINDS, Call
from array_api_calls.calls import CALLS
from array_api_calls.differences import DETERMINED, EITHER_ZERO, ROUNDED, SHAPE_ONLY, SUMMED, exceptions
from array_api_calls.elementwise import ELEMENTWISE

CONSTANTS = {"e", "inf", "nan", "newaxis", "pi"}
INSPECTION = {"__array_api_version__", "__array_namespace_info__"}
DTYPES = set(FAMILIES["all"])
# Of the judge alone.
NOT_OF_THE_STANDARD = {
    "ArrayAPIStrictFlags", "Device", "__version__", "get_array_api_strict_flags", "reset_array_api_strict_flags",
    "set_array_api_strict_flags",
}  # fmt: skip
EXTENSIONS = ("fft", "linalg")


def judge() -> Any:
    """Return the module that follows the standard to the letter."""
    return import_module("array_api_strict")


def names_of_the_standard() -> set[str]:
    """Return the standard's names, dotted for those of the extensions."""
    strict = judge()
    names = set(strict.__all__) - NOT_OF_THE_STANDARD - set(EXTENSIONS)
    for extension in EXTENSIONS:
        module = getattr(strict, extension)
        for name, value in vars(module).items():  # its __all__ leaves the newest functions out
            if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_"):
                names.add(f"{extension}.{name}")
    return names


SPELLINGS = ("as drawn", "all defaults", "by keyword")


def look_up(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module


def spelled(name: str, call: Call, spelling: str) -> Call:
    """Return the call with every default of the standard given, or with as few positions as the standard allows."""
    signature = inspect.signature(look_up(judge(), name))
    arguments = signature.bind(*call.args, **call.kwargs).arguments
    args, kwargs = list(call.args), dict(call.kwargs)
    if any(parameter.kind == parameter.VAR_POSITIONAL for parameter in signature.parameters.values()):
        return call
    if spelling == "by keyword":
        kept = sum(p.kind == p.POSITIONAL_ONLY for p in signature.parameters.values())
        args = args[:kept]
        kwargs = {key: value for key, value in arguments.items() if signature.parameters[key].kind != 0}
    elif spelling == "all defaults":
        for parameter in signature.parameters.values():
            default = parameter.default
            is_new = parameter.name not in arguments and default is not parameter.empty
            if is_new and parameter.kind != parameter.POSITIONAL_ONLY and type(default).__name__ != "Undef":
                kwargs[parameter.name] = default
    return Call(tuple(args), kwargs)


def _in_terms_of(library: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return library.asarray(value.copy())
    if isinstance(value, np.dtype):
        return getattr(library, value.name)
    if value is DEVICE:
        return library.__array_namespace_info__().default_device()
    if type(value) in (list, tuple):
        return type(value)(_in_terms_of(library, one) for one in value)
    return value


@contextmanager
def _quiet() -> Iterator[None]:
    """Let overflows and empty slices go without a word: they are in the domain."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def _called(library: Any, name: str, call: Call) -> Any:
    with _quiet():
        args = [_in_terms_of(library, value) for value in call.args]
        kwargs = {key: _in_terms_of(library, value) for key, value in call.kwargs.items()}
        return look_up(library, name)(*args, **kwargs)


def _verdict(name: str, call: Call) -> Any:
    result = _called(judge(), name, call)
    if name == "isin" and call.kwargs.get("invert"):  # which the judge forgets, in 2.6.1
        return judge().logical_not(result)
    if (
        name == "sign" and (x := np.asarray(call.args[0])).dtype.kind == "c"
    ):  # which overflows there for denormal numbers
        scaled = np.where(np.abs(x) < np.finfo(x.dtype).tiny, x * np.asarray(2**64, x.dtype), x)
        return _called(judge(), name, call._replace(args=(scaled.astype(x.dtype),)))
    return result


def assert_follows(name: str, call: Call) -> None:
    """Compare the result of one call with the standard's."""
    expected, got = _verdict(name, call), _called(xp, name, call)
    several = isinstance(expected, tuple) and not all(isinstance(one, int) for one in expected)
    if several:
        assert isinstance(got, tuple), f"a tuple, not {type(got)}"
        assert getattr(got, "_fields", None) == getattr(expected, "_fields", None)
        assert len(got) == len(expected)
    expected_arrays: list[Any] = []
    got_arrays: list[Any] = []
    for right, ours in zip(expected, got, strict=True) if several else [(expected, got)]:
        if not isinstance(right, type(judge().asarray(0))):
            _assert_same_value(right, ours)
            continue
        assert isinstance(ours, (type(xp.asarray(0)), np.generic) if xp.numpy_backend else type(xp.asarray(0)))
        right, ours = np.asarray(right), np.asarray(xp.to_numpy(ours))
        assert ours.dtype == right.dtype
        assert ours.shape == right.shape
        expected_arrays.append(right)
        got_arrays.append(ours)
    if not expected_arrays or name in SHAPE_ONLY:
        return
    with _quiet():
        determined = DETERMINED.get(name, lambda call, results: results)
        compared = zip(determined(call, expected_arrays), determined(call, got_arrays), strict=True)
        for right, ours in compared:
            _assert_same_numbers(name, call, right, ours)


def _assert_same_value(expected: Any, got: Any) -> None:
    """Compare what is no array: dtypes, bools, limits, shapes."""
    if repr(expected).startswith("array_api_strict."):
        assert f"array_api_strict.{np.dtype(got).name}" == repr(expected)
    elif type(expected).__name__ in ("finfo_object", "iinfo_object"):
        for field in vars(expected):
            _assert_same_value(getattr(expected, field), getattr(got, field))
    else:
        assert got == expected
        assert isinstance(got, type(expected)) or np.isscalar(got)


def _assert_same_numbers(name: str, call: Call, expected: Any, got: Any) -> None:
    rounded = name in ROUNDED | SUMMED or (name in ELEMENTWISE and expected.dtype.kind == "c")
    if expected.dtype.kind not in "fc" or not rounded:
        assert np.array_equal(expected, got, equal_nan=expected.dtype.kind in "fc"), (expected, got)
        if expected.dtype.kind == "f" and name not in EITHER_ZERO:
            numbers = ~np.isnan(expected)
            assert np.array_equal(np.signbit(expected[numbers]), np.signbit(got[numbers])), (expected, got)
        return
    finite = np.isfinite(expected)
    assert np.array_equal(finite, np.isfinite(got)), (expected, got)
    assert np.array_equal(expected[~finite], got[~finite], equal_nan=True), (expected, got)
    expected, got = expected[finite], got[finite]
    eps = np.finfo(expected.dtype).eps
    if name in SUMMED:
        sizes = [np.abs(one[np.isfinite(one)]) for one in (*_numbers_of(call), expected)]
        allowed: Any = 1000 * eps * max([1.0, *(float(size.max()) for size in sizes if size.size)])
    elif expected.dtype.kind == "f":
        allowed = 4 * np.spacing(np.abs(expected))
    else:
        allowed = 16 * eps * np.abs(expected) + np.finfo(expected.dtype).smallest_subnormal
    assert np.all(np.abs(expected - got) <= allowed), (expected, got)


def _numbers_of(call: Call) -> Iterator[Any]:
    for value in call.args:
        if isinstance(value, (np.ndarray, int, float, complex)):
            yield np.asarray(value).astype(complex)


def check(name: str, examples: int) -> None:
    """Make so many calls of a function and compare each with the standard's result."""
    known = [one for one in exceptions(xp.get_backend()) if one.name == name]

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(CALLS[name], st.sampled_from(SPELLINGS))
    def follows(drawn: Call, spelling: str) -> None:
        call = spelled(name, drawn, spelling)
        if not any(one.applies(call) for one in known):
            assert_follows(name, call)

    follows()


def check_constants_and_dtypes() -> None:
    for name in CONSTANTS:
        expected, got = getattr(judge(), name), getattr(xp, name)
        assert got == expected or (math.isnan(expected) and math.isnan(got)), name
        assert isinstance(got, type(expected)), name
    for name in DTYPES:
        dtype = getattr(xp, name)
        assert np.dtype(dtype).name == name
        assert xp.zeros(1, dtype=dtype).dtype == dtype


def check_inspection() -> None:
    """Compare what the namespace tells of itself."""
    assert xp.__array_api_version__ >= "2024.12"
    ours, expected = xp.__array_namespace_info__(), judge().__array_namespace_info__()
    assert ours.capabilities() == expected.capabilities()
    here = ours.default_device()
    assert isinstance(ours.devices(), tuple)
    assert here in ours.devices()

    def assert_same(got: dict[str, Any], right: dict[str, Any]) -> None:
        assert got.keys() == right.keys()
        for key, dtype in got.items():
            _assert_same_value(right[key], dtype)
            assert xp.zeros(1, dtype=dtype).dtype == dtype

    kinds: list[Any] = [*KINDS, ("bool", "real floating"), ("integral", "complex floating"), ()]
    for place in ({}, {"device": None}, {"device": here}):
        given = {} if not place else {"device": None}
        assert_same(ours.default_dtypes(**place), expected.default_dtypes(**given))
        assert_same(ours.dtypes(**place), expected.dtypes(**given))
        for kind in kinds:
            assert_same(ours.dtypes(kind=kind, **place), expected.dtypes(kind=kind, **given))
    with pytest.raises(ValueError, match="kind"):
        ours.dtypes(kind="float")
