"""Calls of every public function of NumPy, generated: what NumPy accepts, the namespace has to accept and answer alike.

For each function a few positional calls are found by trying; from these grow the calls with every parameter given by
name, by position and with telling values. A call that NumPy refuses is dropped, so NumPy is the judge throughout.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

MODULES = {"": np, "linalg.": np.linalg, "fft.": np.fft}

# Functions that are not about arrays: files, settings, documentation, the interpreter.
NOT_WALKED = {
    "fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "save", "savetxt", "savez", "savez_compressed", "memmap",
    "info", "show_config", "show_runtime", "test", "get_include", "getbufsize", "setbufsize", "geterr", "seterr",
    "geterrcall", "seterrcall", "errstate", "get_printoptions", "set_printoptions", "printoptions", "DataSource",
    "nditer", "nested_iters", "frompyfunc", "from_dlpack",
}  # fmt: skip

VALUES_UNDEFINED = {"empty", "empty_like"}

# No two elements alike, so that the order of a sort is determined; the lower triangle is positive definite.
_MATRIX = np.array([[4.0, 1.25, 0.5], [1.0, 3.0, 0.25], [0.75, 0.375, 2.0]])
_VECTOR = np.array([0.5, 1.0, 2.0])
_POOL: list[Any] = [
    _MATRIX,
    _VECTOR,
    np.array([2, 0, 1]),
    np.array([True, False, True]),
    2,
    (3,),
    [np.array([1.0, 2.0]), np.array([3.0, 4.0])],
    np.array([0.25, 0.125, -0.5]),
    np.dtype(np.float64),
    (0, 1),
    "ij,jk->ik",
    lambda *x: x[0],
]

# Functions whose arguments trying does not find.
_BASES: dict[str, list[tuple[Any, ...]]] = {
    "apply_along_axis": [(np.sort, 0, _MATRIX)],
    "apply_over_axes": [(np.sum, _MATRIX, [0, 1])],
    "asmatrix": [(_MATRIX,)],
    "busday_offset": [("2011-10", 0, "forward")],
    "common_type": [(_MATRIX, np.array([1.0], np.float32))],
    "datetime_as_string": [(np.array(["2011-10-01"], "M8[D]"),)],
    "datetime_data": [("M8[D]",)],
    "dsplit": [(_MATRIX.reshape(1, 3, 3), 3)],
    "fromstring": [("1 2 3", float, -1, " ")],
    "isnat": [(np.array(["2011-10-01", "NaT"], "M8[D]"),)],
    "put_along_axis": [(_MATRIX, np.array([[0, 1, 2]]), 7.0, 0)],
    "ravel_multi_index": [((np.array([0, 2]), np.array([1, 1])), (3, 3))],
    "rollaxis": [(_MATRIX, 1), (_MATRIX, 1, 0)],
    "row_stack": [([_VECTOR, _VECTOR],)],
    "take_along_axis": [(_MATRIX, np.array([[0, 1, 2]]), 0)],
    "swapaxes": [(_MATRIX, 0, 1)],
    "typename": [("d",)],
    "unpackbits": [(np.array([[2], [7]], np.uint8),)],
}

# Values that make a parameter do something, by its name.
_TELLING: dict[str, list[Any]] = {
    "axis": [0, -1, None],
    "axes": [(0, 1), (1, 0), 1],
    "keepdims": [True],
    "dtype": [np.float32, np.complex128],
    "ddof": [1],
    "correction": [1],
    "mean": [np.float64(1.5), np.array([[1.0], [2.0], [3.0]])],
    "where": [np.array([True, False, True])],
    "initial": [5.0],
    "order": ["F", "C", "A"],
    "k": [1],
    "copy": [True, False],
    "kind": ["stable", "quicksort", "mergesort"],
    "stable": [True],
    "side": ["right"],
    "endpoint": [False],
    "retstep": [True],
    "return_index": [True],
    "return_inverse": [True],
    "return_counts": [True],
    "equal_nan": [True, False],
    "sorted": [False],
    "n": [4, 2],
    "s": [(2, 2)],
    "norm": ["ortho", "forward"],
    "ord": [1, np.inf, "fro", 2],
    "UPLO": ["U"],
    "upper": [True],
    "compute_uv": [False],
    "full_matrices": [False],
    "hermitian": [True],
    "mode": ["wrap", "clip", "same", "full", "r", "complete", "edge", "reduced"],
    "weights": [np.array([1.0, 2.0, 3.0])],
    "bins": [2, np.array([0.0, 1.0, 4.0])],
    "range": [(0.0, 2.0)],
    "density": [True],
    "minlength": [5],
    "rowvar": [False],
    "bias": [True],
    "decimals": [1],
    "offset": [1],
    "axis1": [1],
    "axis2": [0],
    "indexing": ["ij"],
    "sparse": [True],
    "prepend": [0.0],
    "append": [0.0],
    "method": ["lower", "nearest", "midpoint"],
    "invert": [True],
    "assume_unique": [True],
    "return_indices": [True],
    "rcond": [1e-6],
    "rtol": [1e-6],
    "atol": [1.0],
    "tol": [1e-6],
    "to_end": [np.array([9.0])],
    "to_begin": [np.array([9.0])],
    "left": [-1.0],
    "right": [9.0],
    "period": [2.0],
    "min": [1.0],
    "max": [1.5],
    "a_min": [1.0],
    "a_max": [1.5],
    "trim": ["f"],
    "shape": [(3, 3), (9,)],
    "edge_order": [2],
    "nan": [7.0],
    "ndmin": [3],
    "subok": [False],
    "device": [None, "cpu"],
    "num": [7],
    "base": [2.0],
    "increasing": [True],
    "optimize": [True],
    "overwrite_input": [False],
    "bitorder": ["little"],
    "M": [4],
    "d": [0.5],
    "x": [np.array([0.0, 1.0, 3.0])],
    "dx": [0.5],
    "y": [np.array([1.0, 0.5, 4.0])],
    "include_initial": [True],
    "sorter": [np.array([0, 1, 2])],
    "shift": [1, 2],
    "repeats": [2],
    "casting": ["unsafe"],
    "fweights": [np.array([1, 2, 1])],
    "aweights": [np.array([1.0, 0.5, 1.0])],
    "deg": [1],
    "full": [False],
}


class Call(NamedTuple):
    """One call that NumPy accepts, and what it gave."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any
    args_after: tuple[Any, ...]

    def __str__(self) -> str:
        parts = [_short(a) for a in self.args] + [f"{k}={_short(v)}" for k, v in self.kwargs.items()]
        return f"({', '.join(parts)})"


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Give the dotted name and the function, for every public function and ufunc of NumPy, its linalg and its fft."""
    for prefix, module in MODULES.items():
        for name in sorted(module.__all__):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = getattr(module, name, None)
            if callable(value) and not isinstance(value, type) and name not in NOT_WALKED and name[0] != "_":
                yield prefix + name, value


def calls(function: Callable[..., Any], most: int = 60) -> list[Call]:
    """Return calls of a function that NumPy accepts, at most so many."""
    found: list[Call] = []
    seen: set[str] = set()

    def take(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        call = attempt(function, args, kwargs)
        if call is None or str(call) in seen:
            return call is not None
        seen.add(str(call))
        found.append(call)
        return True

    base = _BASES.get(getattr(function, "__name__", "")) or _base_calls(function)
    for args in base:
        take(args, {})
    parameters = _parameters(function)
    optional = [p for p in parameters if p.default is not p.empty]
    for args in base[:3]:
        for parameter in optional:
            if parameter.kind != parameter.POSITIONAL_ONLY:
                if parameter.default is not np._NoValue:
                    take(args, {parameter.name: parameter.default})
                for value in _TELLING.get(parameter.name, ()):
                    take(args, {parameter.name: value})
        # every optional parameter by position, in turn with a telling value
        positional = [p for p in optional if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        required = [p for p in parameters if p.default is p.empty and p.kind == p.POSITIONAL_OR_KEYWORD]
        if len(args) == len([p for p in parameters if p.default is p.empty]):
            defaults: tuple[Any, ...] = ()
            for parameter in positional:
                for value in (*_TELLING.get(parameter.name, ()), parameter.default):
                    if value is not np._NoValue:
                        take((*args, *defaults, value), {})
                defaults = (*defaults, parameter.default)
        # the required ones by name
        if len(args) == len(required):
            take((), dict(zip([p.name for p in required], args, strict=True)))
        # an array to write to
        if any(p.name == "out" for p in optional) or isinstance(function, np.ufunc):
            first = attempt(function, args, {})
            if first is not None and isinstance(first.result, np.ndarray):
                take(args, {"out": np.zeros_like(first.result)})
        # two telling values at once
        names = [p.name for p in optional if p.name in _TELLING and p.kind != p.POSITIONAL_ONLY]
        for one, other in itertools.combinations(names, 2):
            take(args, {one: _TELLING[one][0], other: _TELLING[other][0]})
    return found[:most]


def attempt(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
    """Return the call with NumPy's answer, or None where NumPy refuses it."""
    own_args = tuple(map(copy.deepcopy, args))  # one by one: the same array given twice is two arrays
    own_kwargs = {name: copy.deepcopy(value) for name, value in kwargs.items()}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            result = function(*own_args, **own_kwargs)
    except Exception:
        return None
    if inspect.isgenerator(result) or (isinstance(result, np.ndarray) and result.dtype.hasobject):
        return None
    return Call(args, kwargs, result, own_args)


def by_position(function: Callable[..., Any], call: Call) -> dict[str, Any]:
    """Return the positional arguments of a call by name, as far as the function names them."""
    names = [p.name for p in _parameters(function) if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return dict(zip(names, call.args, strict=False))


def required_arguments(function: Callable[..., Any], call: Call) -> Call:
    """Return the call without its optional arguments."""
    count = len([p for p in _parameters(function) if p.default is p.empty])
    given = call.args or tuple(call.kwargs.values())
    return Call(given[: count or len(call.args)], {}, None, ())


def is_taken(function: Callable[..., Any], args: list[Any]) -> bool:
    """Tell whether a function takes such arguments at all."""
    try:
        function(*args)
    except Exception:
        return False
    return True


def leaves_undefined(call: Call) -> bool:
    """Tell whether a masked ufunc call has elements that nothing defines."""
    return "where" in call.kwargs and call.kwargs.get("out") is None and call.kwargs["where"] is not True


def _base_calls(function: Callable[..., Any], most: int = 6) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for count in range(4):
        for args in itertools.islice(itertools.product(_POOL, repeat=count), 300):
            if len(found) >= most:
                break
            if attempt(function, args, {}) is not None:
                found.append(args)
        if found and count > len([p for p in _parameters(function) if p.default is p.empty]):
            break
    return found


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return [
            p
            for p in inspect.signature(function).parameters.values()
            if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
    except (TypeError, ValueError):
        return []


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array{value.shape}:{value.dtype}:{abs(hash(value.tobytes())) % 997}"
    if isinstance(value, list):
        return f"[{', '.join(map(_short, value))}]"
    return repr(value) if not callable(value) or isinstance(value, (np.dtype, type)) else "function"


def assert_same(got: Any, expected: Any, what: str, rtol: float = 0.0, values: bool = True) -> None:
    """Raise AssertionError unless two results agree in structure, dtype and values; NaN equals NaN."""
    if isinstance(expected, (tuple, list)):
        assert isinstance(got, (tuple, list)), f"{what}: {type(got)} for {type(expected)}"
        assert len(got) == len(expected), f"{what}: {len(got)} results for {len(expected)}"
        for one, other in zip(got, expected, strict=True):
            assert_same(one, other, what, rtol, values)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert np.dtype(got.dtype) == expected.dtype, f"{what}: dtype {got.dtype} for {expected.dtype}"
        assert got.shape == expected.shape, f"{what}: shape {got.shape} for {expected.shape}"
        if values and expected.dtype.kind in "biufc":
            np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol, err_msg=what)
    elif isinstance(expected, (int, float, complex, str, bool, type(None))):
        assert got == expected or expected != expected, f"{what}: {got!r} for {expected!r}"
