# The functions that are more than NumPy's: with its signatures, and the call forms of the array API standard.

from collections.abc import Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias, TypeVar, overload

import numpy as np
from numpy._typing import _ArrayLike, _DTypeLike, _Float16Codes, _Float32Codes, _Float64Codes
from numpy.typing import ArrayLike, DTypeLike, NDArray

from cunumpy._numpy_namespace import fft as fft

_ScalarT = TypeVar("_ScalarT", bound=np.generic)
_FloatingT = TypeVar("_FloatingT", bound=np.floating[Any])
_IntegerT = TypeVar("_IntegerT", bound=np.integer[Any])
_SortKind: TypeAlias = Literal[
    "Q", "quick", "quicksort", "M", "merge", "mergesort", "H", "heap", "heapsort", "S", "stable", "stablesort"
]

@overload
def sort(
    a: _ArrayLike[_ScalarT],
    axis: SupportsIndex | None = -1,
    kind: _SortKind | None = None,
    order: str | Sequence[str] | None = None,
    *,
    stable: bool | None = None,
) -> NDArray[_ScalarT]: ...
@overload
def sort(a: _ArrayLike[_ScalarT], axis: int = -1, *, descending: bool, stable: bool = True) -> NDArray[_ScalarT]: ...
@overload
def sort(
    a: ArrayLike,
    axis: SupportsIndex | None = -1,
    kind: _SortKind | None = None,
    order: str | Sequence[str] | None = None,
    *,
    stable: bool | None = None,
) -> NDArray[Any]: ...
@overload
def sort(a: ArrayLike, axis: int = -1, *, descending: bool, stable: bool = True) -> NDArray[Any]: ...
@overload
def argsort(
    a: ArrayLike,
    axis: SupportsIndex | None = -1,
    kind: _SortKind | None = None,
    order: str | Sequence[str] | None = None,
    *,
    stable: bool | None = None,
) -> NDArray[np.intp]: ...
@overload
def argsort(a: ArrayLike, axis: int = -1, *, descending: bool, stable: bool = True) -> NDArray[np.intp]: ...
@overload
def finfo(dtype: NDArray[_FloatingT] | _FloatingT | _DTypeLike[_FloatingT]) -> np.finfo[_FloatingT]: ...
@overload
def finfo(dtype: _Float16Codes) -> np.finfo[np.float16]: ...
@overload
def finfo(dtype: _Float32Codes) -> np.finfo[np.float32]: ...
@overload
def finfo(dtype: _Float64Codes | complex | type[complex]) -> np.finfo[np.float64]: ...
@overload
def finfo(dtype: NDArray[Any] | DTypeLike) -> np.finfo[Any]: ...
@overload
def iinfo(dtype: NDArray[_IntegerT] | _IntegerT | _DTypeLike[_IntegerT]) -> np.iinfo[_IntegerT]: ...
@overload
def iinfo(dtype: int | type[int]) -> np.iinfo[np.int_]: ...
@overload
def iinfo(dtype: NDArray[Any] | DTypeLike) -> np.iinfo[Any]: ...
