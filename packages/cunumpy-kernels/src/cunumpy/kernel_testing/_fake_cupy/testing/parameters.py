"""Decorators that run a test with every value of parameters: dtypes, memory orders, axes, combinations."""

from __future__ import annotations

import itertools
import os
import random as python_random
import sys
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

from .decorating import without_parameters

_FLOATS = (np.float64, np.float32, np.float16)
_COMPLEX = (np.complex64, np.complex128)
_SIGNED = tuple(np.dtype(char).type for char in "bhilq")
_UNSIGNED = tuple(np.dtype(char).type for char in "BHILQ")
_INTEGERS = _SIGNED + _UNSIGNED


def _values_of(name: str, values: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that runs a test with every value of a parameter."""

    def decorator(test: Callable[..., Any]) -> Callable[..., Any]:
        @without_parameters(test, name)
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
        @without_parameters(test, *names)
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
        @without_parameters(test, name)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            ndim = len(self.shape)
            forward = [tuple(range(i, ndim)) for i in range(ndim)]
            backward = [tuple(range(i + 1)) for i in range(ndim)]
            axes = {*(forward if self.order in "cC" else ()), *(backward if self.order in "fF" else ())}
            for axis in sorted(axes):
                test(self, *args, **kwargs, **{name: axis})

        return run

    return decorator


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
