"""Filling device arrays with consecutive Philox numbers: one kernel launch each, one block of numbers a thread."""

from __future__ import annotations

from typing import Any

import numpy as np

from cunumpy.cuda._device_code import DeviceCode, check_devices

__all__ = [
    "check_devices",
    "fill_exponential",
    "fill_integers",
    "fill_integers_between",
    "fill_normal",
    "fill_uniform",
    "order",
]

_CODE = DeviceCode("cunumpy.rng", "generator.cu")
_FLOATS = {8: "double", 4: "float"}
_WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}


def fill_uniform(out: Any, seed: int, stream: int, position: int, low: Any, width: Any) -> None:
    """Write uniform numbers; see `_numpy_generator.fill_uniform`."""
    _fill("fill_uniform", out, seed, stream, position, low, width)


def fill_normal(out: Any, seed: int, stream: int, position: int, loc: Any, scale: Any) -> None:
    """Write normal numbers; see `_numpy_generator.fill_normal`."""
    _fill("fill_normal", out, seed, stream, position, loc, scale)


def fill_exponential(out: Any, seed: int, stream: int, position: int, loc: Any, scale: Any) -> None:
    """Write exponential numbers; see `_numpy_generator.fill_exponential`."""
    _fill("fill_exponential", out, seed, stream, position, loc, scale)


def fill_integers(out: Any, seed: int, stream: int, position: int, low: int, span: int) -> None:
    """Write integers; see `_numpy_generator.fill_integers`."""
    _launch(f"fill_integers<{_WORDS[out.itemsize]}>", 2, out, seed, stream, position, np.uint64(low), np.uint64(span))


def fill_integers_between(out: Any, seed: int, stream: int, position: int, low: Any, span: Any) -> None:
    """Write integers; see `_numpy_generator.fill_integers_between`."""
    _launch(f"fill_integers_between<{_WORDS[out.itemsize]}>", 2, out, seed, stream, position, low, span)


def order(keys: Any) -> Any:
    """Return the stable order of keys; see `_numpy_generator.order`."""
    return keys.argsort()  # CuPy's is stable


def _fill(kernel: str, out: Any, seed: int, stream: int, position: int, loc: Any, scale: Any) -> None:
    _launch(f"{kernel}<{_FLOATS[out.itemsize]}>", 16 // out.itemsize, out, seed, stream, position, loc, scale)


def _launch(kernel: str, numbers: int, out: Any, seed: int, stream: int, position: int, *parameters: Any) -> None:
    where = np.uint64(seed), np.uint64(stream), np.uint64(position)
    _CODE.launch(kernel, -(-out.size // numbers), (out, np.int64(out.size), *where, *parameters))
