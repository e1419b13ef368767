"""Tensor-product splines through data on a grid, for the backend whose library has no class for them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _backend, _gate
from cunumpy.errors import ArgumentError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["RectBivariateSpline"]

_NAME = "RectBivariateSpline"


class RectBivariateSpline:
    """The tensor-product spline through values on a rectangular grid.

    Meaning and arguments are those of `scipy.interpolate.RectBivariateSpline` without smoothing; arrays are on the
    backend of the data.

    Parameters
    ----------
    x, y : array_like
        Coordinates of the grid lines, strictly ascending, more than the degrees.
    z : array_like, shape (x.size, y.size)
        The values.
    bbox : sequence of four
        Bounds of the domain, ``None`` for those of the data.
    kx, ky : int
        Degrees, 1 to 5.
    s : float
        Has to be 0: smoothing is not served. `scipy.interpolate.RectBivariateSpline` does it on the host.

    Raises
    ------
    ArgumentError
        Shapes that don't fit, too few points, a degree out of range, or smoothing.
    MixedBackendError
        Arrays of both backends.

    Notes
    -----
    Knots and coefficients are FITPACK's (P. Dierckx, Curve and Surface Fitting with Splines, 1993). One
    interpolation along each axis gives the coefficients; on the device it solves sparse systems there.

    Examples
    --------
    >>> import cunumpy as xp
    >>> x, y = xp.linspace(0.0, 2.0, 9), xp.linspace(0.0, 1.0, 7)
    >>> spline = xp.scipy.interpolate.RectBivariateSpline(x, y, x[:, None] ** 2 * y)
    >>> spline(xp.asarray([1.5]), xp.asarray([0.5])).round(8)
    array([[1.125]])
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        z: Any,
        bbox: Any = (None, None, None, None),
        kx: int = 3,
        ky: int = 3,
        s: float = 0,
        maxit: int = 20,
    ) -> None:
        if s != 0:
            raise ArgumentError(
                f"{_NAME}: argument 's' must be 0 on device arrays, got {s!r}; for smoothing run SciPy on the host: "
                "xp.host_call(scipy.interpolate.RectBivariateSpline, ...)."
            )
        self._on_device = _gate.common_backend(_NAME, x=x, y=y, z=z) == "cupy"
        self._xp: ModuleType = _backend.require_cupy(_NAME) if self._on_device else np
        self._module = import_module(("cupyx." if self._on_device else "") + "scipy.interpolate")
        x, y, z = (self._array(name, value) for name, value in (("x", x), ("y", y), ("z", z)))
        if x.ndim != 1 or y.ndim != 1 or z.shape != (x.size, y.size):
            raise ArgumentError(
                f"{_NAME}: argument 'z' must have shape (x.size, y.size) for 1-D 'x' and 'y', got x {x.shape}, "
                f"y {y.shape}, z {z.shape}."
            )
        bounds = list(bbox)
        if len(bounds) != 4:
            raise ArgumentError(f"{_NAME}: argument 'bbox' must have four entries, got {len(bounds)}.")
        self.degrees = kx, ky
        knots, coefficients = [], z
        for axis, (name, points, degree) in enumerate((("x", x, kx), ("y", y, ky))):
            if not 1 <= degree <= 5:
                raise ArgumentError(f"{_NAME}: argument 'k{name}' must be 1 to 5, got {degree!r}.")
            if points.size <= degree:
                raise ArgumentError(
                    f"{_NAME}: argument {name!r} must have more points than the degree {degree}, got {points.size}."
                )
            t = self._knots(points, degree, *bounds[2 * axis : 2 * axis + 2])
            spline = self._module.make_interp_spline(points, coefficients, k=degree, t=t, axis=axis)
            coefficients = self._xp.moveaxis(spline.c, 0, axis)
            knots.append(t)
        self.tck = (*knots, coefficients)

    def _array(self, name: str, value: Any) -> Any:
        _gate.refuse_masked(value, function=_NAME, argument=name)
        return self._xp.asarray(value, dtype=np.float64)

    def _knots(self, points: Any, degree: int, begin: Any, end: Any) -> Any:
        """Return FITPACK's knots: the points themselves for odd degrees, their middles for even ones."""
        xp, half = self._xp, degree // 2
        n = points.size
        inner = points[half + 1 : n - half - 1] if degree % 2 else ((points[1:] + points[:-1]) / 2)[half : n - 1 - half]
        first = points[:1] if begin is None else xp.full(1, float(begin))
        last = points[-1:] if end is None else xp.full(1, float(end))
        return xp.concatenate([*[first] * (degree + 1), inner, *[last] * (degree + 1)])

    def get_knots(self) -> tuple[Any, Any]:
        """Return the knots along both axes."""
        return self.tck[0], self.tck[1]

    def get_coeffs(self) -> Any:
        """Return the coefficients, in one dimension."""
        return self.tck[2].ravel()

    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        """Evaluate the spline or a derivative.

        Parameters
        ----------
        x, y : array_like
            Coordinates, moved into the domain where they are outside: of the lines of a grid, 1-D, or with
            ``grid=False`` of points, which are broadcast.
        dx, dy : int
            Orders of the derivatives.
        grid : bool
            Whether to evaluate on a grid.

        Returns
        -------
        ndarray
            Of shape (x.size, y.size), or of the points.
        """
        if not grid:
            return self.ev(x, y, dx, dy)
        tx, ty, c = self.tck
        x, y = self._inside("x", x, tx), self._inside("y", y, ty)
        if x.ndim > 1 or y.ndim > 1:
            raise ArgumentError(
                f"{_NAME}: 'x' and 'y' must be 1-D on a grid, got shapes {x.shape} and {y.shape}; for points pass "
                "grid=False."
            )
        kx, ky = self.degrees
        along_x = self._derivative(tx, c, kx, dx)(x.reshape(-1))
        along_y = self._derivative(ty, along_x.T, ky, dy)(y.reshape(-1))
        return self._xp.ascontiguousarray(along_y.T)

    def ev(self, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
        """Evaluate the spline or a derivative at points, which are broadcast."""
        tx, ty, c = self.tck
        points = self._xp.stack(
            self._xp.broadcast_arrays(self._inside("xi", xi, tx), self._inside("yi", yi, ty)), axis=-1
        )
        spline = self._module.NdBSpline((tx, ty), c, self.degrees)
        return spline(points, nu=(dx, dy))

    def integral(self, xa: float, xb: float, ya: float, yb: float) -> Any:
        """Return the integral over a rectangle, 0-d; outside the domain the spline counts as zero."""
        tx, ty, c = self.tck
        kx, ky = self.degrees
        along_x = self._integral(tx, c, kx, xa, xb)
        return self._integral(ty, along_x, ky, ya, yb)

    def _integral(self, t: Any, c: Any, degree: int, a: Any, b: Any) -> Any:
        xp = self._xp
        whole = self._module.BSpline(t, c, degree).antiderivative()
        ends = xp.clip(xp.stack([xp.full((), float(a)), xp.full((), float(b))]), t[0], t[-1])
        values = whole(ends)
        return values[1] - values[0]

    def _derivative(self, t: Any, c: Any, degree: int, order: int) -> Any:
        spline = self._module.BSpline(t, self._xp.ascontiguousarray(c), degree)
        return spline.derivative(order) if order else spline

    def _inside(self, name: str, value: Any, t: Any) -> Any:
        _gate.common_backend(_NAME, **{name: value, "the spline's data": t})
        return self._xp.clip(self._array(name, value), t[0], t[-1])
