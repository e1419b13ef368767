# NumPy's functions with NumPy's signatures, and the call forms of the array API standard.

from typing import Any, Literal, TypeVar, overload

import numpy as np
from numpy._typing import _ArrayLikeComplex_co, _ArrayLikeFloat_co, _DTypeLike
from numpy.fft import fft as fft
from numpy.fft import fft2 as fft2
from numpy.fft import fftn as fftn
from numpy.fft import fftshift as fftshift
from numpy.fft import hfft as hfft
from numpy.fft import ifft as ifft
from numpy.fft import ifft2 as ifft2
from numpy.fft import ifftn as ifftn
from numpy.fft import ifftshift as ifftshift
from numpy.fft import ihfft as ihfft
from numpy.fft import irfft as irfft
from numpy.fft import irfft2 as irfft2
from numpy.fft import irfftn as irfftn
from numpy.fft import rfft as rfft
from numpy.fft import rfft2 as rfft2
from numpy.fft import rfftn as rfftn
from numpy.typing import DTypeLike, NDArray

_ScalarT = TypeVar("_ScalarT", bound=np.generic)

__all__: list[str]

@overload
def fftfreq(
    n: int | np.integer[Any], d: _ArrayLikeFloat_co = 1.0, device: Literal["cpu"] | None = None
) -> NDArray[np.floating[Any]]: ...
@overload
def fftfreq(
    n: int | np.integer[Any], d: _ArrayLikeComplex_co = 1.0, device: Literal["cpu"] | None = None
) -> NDArray[np.complexfloating[Any, Any]]: ...
@overload
def fftfreq(
    n: int, d: float = 1.0, device: Literal["cpu"] | None = None, *, dtype: _DTypeLike[_ScalarT]
) -> NDArray[_ScalarT]: ...
@overload
def fftfreq(n: int, d: float = 1.0, device: Literal["cpu"] | None = None, *, dtype: DTypeLike) -> NDArray[Any]: ...
@overload
def rfftfreq(
    n: int | np.integer[Any], d: _ArrayLikeFloat_co = 1.0, device: Literal["cpu"] | None = None
) -> NDArray[np.floating[Any]]: ...
@overload
def rfftfreq(
    n: int | np.integer[Any], d: _ArrayLikeComplex_co = 1.0, device: Literal["cpu"] | None = None
) -> NDArray[np.complexfloating[Any, Any]]: ...
@overload
def rfftfreq(
    n: int, d: float = 1.0, device: Literal["cpu"] | None = None, *, dtype: _DTypeLike[_ScalarT]
) -> NDArray[_ScalarT]: ...
@overload
def rfftfreq(n: int, d: float = 1.0, device: Literal["cpu"] | None = None, *, dtype: DTypeLike) -> NDArray[Any]: ...
