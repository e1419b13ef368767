"""Arrays of every kind made from one array: the same values in another form, and other values in the same place.

Where `array_kinds` has fixed arrays for functions that take any, this makes the kinds of an argument that has to fit
the others: of its shape, with its values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from array_kinds import ForeignDeviceArray, Subclass


@dataclass(frozen=True)
class Variant:
    """A kind of an argument.

    Attributes
    ----------
    name : str
        What failures show.
    value : Any
        The argument.
    values : numpy.ndarray or None
        What it means, contiguous and in native byte order; None where no function may take it for an array.
    memory : numpy.ndarray or None
        All the memory that it lies in, as bytes.
    """

    name: str
    value: Any
    values: np.ndarray | None
    memory: np.ndarray | None = None


def _apart(values: np.ndarray, before: int, step: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Place values in memory: some bytes from its start, and every so many elements of each axis."""
    shape = tuple((n or 1) * abs(k) for n, k in zip(values.shape, step, strict=True))
    size = int(np.prod(shape, dtype=int)) * values.itemsize
    memory = np.full(before + size + 16, 0x5A, np.uint8)
    whole = memory[before : before + size].view(values.dtype).reshape(shape)
    view = whole[..., *(slice(None, None, k) for k in step)][..., *(slice(n) for n in values.shape)]
    view[...] = values
    return view, memory


def _read_only(values: np.ndarray) -> np.ndarray:
    array = values.copy()
    array.flags.writeable = False
    return array


def _on_disk(values: np.ndarray, file: Path, mode: Any) -> Any:
    np.memmap(file, values.dtype, "w+", shape=values.shape)[...] = values
    return np.memmap(file, values.dtype, mode, shape=values.shape)


def _field(values: np.ndarray) -> np.ndarray:
    """Give a field of a packed structured array: neither aligned nor contiguous."""
    records = np.zeros(values.shape, [("head", "u1"), ("x", values.dtype), ("tail", "u1", 2)])
    records["x"] = values
    return records["x"]


def same_values(values: np.ndarray, folder: Path) -> Iterator[Variant]:
    """Give the values in every form that an array can have."""
    ndim = values.ndim

    def variant(name: str, array: Any, memory: np.ndarray | None = None) -> Variant:
        return Variant(name, array, values, memory)

    yield variant("C order", values.copy())
    yield variant("F order", np.array(values, order="F"))
    yield variant("transposed", values.T.copy().T)
    yield variant("sliced", *_apart(values, 0, (2, 3, 2, 2)[:ndim]))
    yield variant("reversed", *_apart(values, 0, (-1,) * ndim))
    yield variant("reversed and sliced", *_apart(values, 0, (-2,) * ndim))
    yield variant("not aligned", *_apart(values, 1, (1,) * ndim))
    yield variant("not aligned, sliced", *_apart(values, 3, (2,) * ndim))
    yield variant("field of records", _field(values))
    yield variant("other byte order", values.astype(values.dtype.newbyteorder("S")))
    yield variant("read-only", _read_only(values))
    yield variant("subclass", values.copy().view(Subclass))
    if values.size:
        yield variant("mapped file", _on_disk(values, folder / "written.bin", "r+"))
        yield variant("mapped file, read-only", _on_disk(values, folder / "read.bin", "r"))
    yield variant("list", values.tolist())
    yield variant("list of arrays", list(values) if ndim else values[()])
    if ndim > 1:
        odd = np.lib.stride_tricks.as_strided(values.copy(), values.shape, values.strides)
        yield variant("strides by hand", odd)


def other_values(values: np.ndarray, folder: Path) -> Iterator[Variant]:
    """Give what has another shape, another dtype, or is no array."""
    shape = values.shape

    def of_dtype(name: str, dtype: Any) -> Variant:
        with np.errstate(all="ignore"):
            array = values.astype(dtype)
        return Variant(name, array, array.copy())

    yield Variant("0-d", values.reshape(-1)[:1].reshape(()).copy(), values.reshape(-1)[:1].reshape(()).copy())
    empty = np.empty((0, *shape[1:]), values.dtype)
    yield Variant("empty", empty, empty.copy())
    if shape:
        none_across = np.empty((*shape[:-1], 0), values.dtype)
        yield Variant("empty rows", none_across, none_across.copy())
        same = np.broadcast_to(values[:1], shape)
        yield Variant("broadcast", same, same.copy())
        longer = np.concatenate([values, values[:1]])
        yield Variant("longer", longer, longer.copy())
        yield Variant("more axes", values[..., None].copy(), values[..., None].copy())
    for name in ("bool", "int8", "uint8", "int32", "uint64", "float16", "float32", "longdouble", "complex128"):
        yield of_dtype(name, name)
    yield Variant("scalar", values.reshape(-1)[0].item(), values.reshape(-1)[:1].reshape(()).copy())
    yield Variant("NumPy scalar", values.reshape(-1)[0], values.reshape(-1)[:1].reshape(()).copy())
    masked = np.ma.masked_array(values, mask=np.arange(values.size).reshape(shape) == 1)
    dates = np.zeros(shape, "M8[s]")
    refused: dict[str, Callable[[], Any]] = {
        "objects": lambda: values.astype(object),
        "objects that are no numbers": lambda: np.full(shape, None, object),
        "text": lambda: values.astype(str),
        "text that is no number": lambda: np.full(shape, "x"),
        "bytes": lambda: values.astype("S8"),
        "dates": lambda: dates,
        "time spans": lambda: dates - dates,
        "records": lambda: np.zeros(shape, [("a", "f8"), ("b", "i4")]),
        "masked": lambda: masked,
        "list of masked": lambda: [masked, masked],
        "ragged list": lambda: [[1, 2], [3]],
        "None": lambda: None,
        "list with None": lambda: [1, None],
        "string": lambda: "123",
        "dict": lambda: {"a": 1.0},
        "set": lambda: {1, 2},
        "iterator": lambda: iter([1, 2]),
        "object()": object,
        "class": lambda: float,
        "another library's device array": lambda: ForeignDeviceArray(values),
    }
    for name, make in refused.items():
        yield Variant(name, make(), None)
