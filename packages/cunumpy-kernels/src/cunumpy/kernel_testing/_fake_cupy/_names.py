"""The names of the stand-in's modules, assembled from CuPy's table."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from . import _api, creation, files, functions, fusion, joining, old_names, polynomials, serving
from .array_base import wrap
from .elements import flatiter
from .functional import vectorize
from .kernels import ElementwiseKernel, ReductionKernel
from .namespace import FUNCTIONS, UFUNCS
from .ndarray import ndarray
from .polynomials import poly1d
from .raw import RawKernel, RawModule
from .signatures import with_signature
from .ufunc import ufunc

__version__ = f"{_api.VERSION}+standin"

UFUNCS.update({name: ufunc(name, nin, nout, types.split()) for name, (nin, nout, types) in _api.CUPY["ufuncs"].items()})
# CuPy binds some ufuncs under two names; the objects are the same there, too.
UFUNCS["abs"], UFUNCS["true_divide"] = UFUNCS["absolute"], UFUNCS["divide"]
UFUNCS["conj"], UFUNCS["mod"] = UFUNCS["conjugate"], UFUNCS["remainder"]

# What is not served by NumPy's function of the same name.
_WRITTEN: dict[str, Any] = {
    name: function
    for module in (creation, joining, files, functions, polynomials, old_names)
    for name, function in module.FUNCTIONS.items()
}
_WRITTEN["fuse"] = fusion.fuse
FUNCTIONS.update(serving.build(_api.CUPY["functions"], np, "cupy", _WRITTEN))
FUNCTIONS["matmul"] = functions.matmul
FUNCTIONS.update({name: fusion.fusable(name, FUNCTIONS[name]) for name in fusion.FUSABLE})


def _array_methods() -> None:
    """Give the array class the methods that are functions of the same name and parameters."""
    for name, text in _api.NDARRAY["methods"].items():
        if hasattr(ndarray, name) or name == "mdspan":
            continue
        method = with_signature(name, f"self, {text}" if text else "self", _method(name), "cupy.ndarray")
        setattr(ndarray, name, method)


def _method(name: str) -> Any:
    def call(values: dict[str, Any]) -> Any:
        array = values.pop("self")
        arguments = {_METHOD_PARAMETERS.get((name, key), key): value for key, value in values.items()}
        if name == "prod" and arguments["keepdims"] is None:
            arguments["keepdims"] = False
        return FUNCTIONS[name](array, **arguments)

    return call


# Parameters that a method names otherwise than the function.
_METHOD_PARAMETERS = {
    ("clip", "min"): "a_min",
    ("clip", "max"): "a_max",
    ("put", "indices"): "ind",
    ("put", "values"): "v",
}
_array_methods()
ndarray.__module__ = "cupy"
ufunc.__module__ = "cupy"
flatiter.__module__ = "cupy"


class _Grid:
    """``mgrid`` and ``ogrid``: coordinate arrays by slicing."""

    def __init__(self, numpy_grid: Any) -> None:
        self._grid = numpy_grid

    def __getitem__(self, key: Any) -> Any:
        return serving.wrapped(self._grid[key], ())


def _joined_item(item: Any) -> Any:
    """Return an item of ``r_``; lists are copied to the device."""
    return serving.copied_argument("r_", item) if isinstance(item, (list, tuple)) else serving.sequence_argument(item)


class _Joiner:
    """``r_`` and ``c_``: arrays joined by indexing."""

    def __init__(self, numpy_joiner: Any) -> None:
        self._joiner = numpy_joiner

    def __getitem__(self, key: Any) -> ndarray:
        items = tuple(_joined_item(item) for item in (key if isinstance(key, tuple) else (key,)))
        return wrap(self._joiner[items])


def _same(table: dict[str, str]) -> dict[str, Any]:
    return {name: functools.reduce(getattr, path.split("."), np) for name, path in table.items()}


def top_level() -> dict[str, Any]:
    """Return the contents of ``cupy``."""
    return {
        "__version__": __version__,
        **_same(_api.CUPY["same"]),
        **{name: eval(text, {"inf": np.inf, "nan": np.nan}) for name, text in _api.CUPY["constants"].items()},
        **UFUNCS,
        **FUNCTIONS,
        "ndarray": ndarray,
        "ufunc": ufunc,
        "flatiter": flatiter,
        "ElementwiseKernel": ElementwiseKernel,
        "RawKernel": RawKernel,
        "ReductionKernel": ReductionKernel,
        "RawModule": RawModule,
        "poly1d": poly1d,
        "vectorize": vectorize,
        "DataSource": np.lib.npyio.DataSource,
        "disable_experimental_feature_warning": False,
        "format_parser": np.rec.format_parser,
        "mgrid": _Grid(np.mgrid),
        "ogrid": _Grid(np.ogrid),
        "r_": _Joiner(np.r_),
        "c_": _Joiner(np.c_),
    }


def linalg() -> dict[str, Any]:
    """Return the contents of ``cupy.linalg``."""
    served = serving.build(_api.CUPY_LINALG["functions"], np.linalg, "cupy.linalg", {})
    return {**_same(_api.CUPY_LINALG["same"]), **served, "matmul": FUNCTIONS["matmul"]}


def fft() -> dict[str, Any]:
    """Return the contents of ``cupy.fft``."""
    return serving.build(_api.CUPY_FFT["functions"], np.fft, "cupy.fft", {})


def exceptions() -> dict[str, Any]:
    """Return the contents of ``cupy.exceptions``."""
    return {name: getattr(np.exceptions, name) for name in _api.CUPY["same"] if hasattr(np.exceptions, name)}


def absent(module: str, name: str) -> str:
    """Return the text of an AttributeError."""
    table = getattr(_api, module.replace(".", "_").upper(), {})
    known = isinstance(table, dict) and any(name in names for names in table.values())
    if known:
        return (
            f"module {module!r} has no attribute {name!r}: CuPy has it, but the stand-in of cunumpy.kernel_testing "
            "does not; test this code on a GPU"
        )
    return f"module {module!r} has no attribute {name!r}"
