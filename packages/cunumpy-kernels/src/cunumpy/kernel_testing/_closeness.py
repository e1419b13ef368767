"""Whether two arrays are close, and the error that says where and by how much they differ."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np


def assert_close(
    host: np.ndarray[Any, Any],
    device: np.ndarray[Any, Any],
    rtol: float,
    atol: float,
    equal_nan: bool,
    label: str,
    place: str,
    run: str,
) -> None:
    """Raise unless two arrays, one of the host's kernel and one of `place`, are equal within tolerances."""
    for problem, one, other in (("shape", host.shape, device.shape), ("dtype", host.dtype, device.dtype)):
        if one != other:
            raise AssertionError(f"{label} has {problem} {one} on the host, {other} on the {place}; {run}.")
    if host.dtype.names is not None:
        for name in host.dtype.names:
            field = f"{label}, field {name!r}"
            assert_close(host[name], device[name], rtol, atol, equal_nan, field, place, run)
        return
    if host.dtype.kind not in "biufc":
        if not np.array_equal(host, device):
            raise AssertionError(f"{label} differs between the host and the {place}; {run}.")
        return
    nans = np.zeros(host.shape, bool)
    if host.dtype.kind in "fc":
        there = np.isnan(host), np.isnan(device)
        if not equal_nan:
            for where, found in zip(("host", place), there, strict=True):
                if found.any():
                    first = _first(found)
                    raise AssertionError(
                        f"{label} has {int(found.sum())} NaN on the {where}, the first at {first}; {run}. Where NaN is "
                        "meant, pass equal_nan=True."
                    )
        nans = there[0] & there[1]
    differ = (host != device) & ~nans
    if not differ.any():
        return
    wide = np.result_type(host.dtype, np.float64)
    with np.errstate(all="ignore"):
        a, b = host.astype(wide), device.astype(wide)
        error = np.abs(b - a)
        size = np.abs(a)
        if rtol or atol:
            # Infinities of both sides that differ, and NaN on one side alone, are no small differences.
            differ &= ~((error <= atol + rtol * size) & np.isfinite(a) & np.isfinite(b))
        if not differ.any():
            return
        error = np.where(differ, error, 0.0)
        relative = np.where(differ, error / size, 0.0)
    _fail(host, device, differ, error, relative, f"{label} differs between the host and the {place}", rtol, atol, run)


def _fail(
    host: np.ndarray[Any, Any],
    device: np.ndarray[Any, Any],
    differ: np.ndarray[Any, Any],
    error: np.ndarray[Any, Any],
    relative: np.ndarray[Any, Any],
    what: str,
    rtol: float,
    atol: float,
    run: str,
) -> NoReturn:
    worst = np.unravel_index(int(np.argmax(np.where(np.isnan(error), np.inf, error))), error.shape)
    place = tuple(map(int, worst))
    units = ""
    if host.dtype.kind in "fc" and np.isfinite(error[worst]):
        spacing = float(np.spacing(np.abs(host[worst])))
        units = f", {error[worst] / spacing:.3g} units in the last place"
    raise AssertionError(
        f"{what}: {int(differ.sum())} of {host.size} elements, the most at {place}: {host[worst]} and {device[worst]}, "
        f"by {error[worst]:.3g}{units}; the largest relative difference is {np.nanmax(relative):.3g}, allowed are "
        f"rtol={rtol:g} and atol={atol:g}; {run}."
    )


def _first(found: np.ndarray[Any, Any]) -> tuple[int, ...]:
    return tuple(map(int, np.unravel_index(int(np.argmax(found)), found.shape)))
