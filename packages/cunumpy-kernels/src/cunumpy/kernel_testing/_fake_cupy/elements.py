"""The elements of an array: what an index selects, and what is written there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import asynchrony
from .array_base import _ndarray_base, changed, check_device, is_host_array, operand, seen, target, used, wrap
from .dtypes import cuda_cast
from .host_copies import announced_copy, announced_walk, from_host, without_device_arrays
from .memory_history import area_of

if TYPE_CHECKING:
    from .ndarray import ndarray


def host_index(key: Any) -> Any:
    """Return an index with which NumPy selects what CuPy would select.

    Lists and NumPy arrays are copied to the device, as by CuPy. An index out of bounds is an error, where CuPy wraps it
    around silently: code that does so is wrong on the other backend.
    """
    if isinstance(key, tuple):
        return tuple(_index_item(item) for item in key)
    return _index_item(key)


def _index_item(item: Any) -> Any:
    if isinstance(item, _ndarray_base):
        if item.dtype.kind not in "biu":
            raise IndexError(f"arrays used as indices must be of integer or boolean type. (actual: {item.dtype.type})")
        return seen(item)
    if isinstance(item, (list, tuple, np.ndarray)):
        try:
            return _index_item(_copied_index(item))
        except ValueError:  # of the dtype, or of lists of different lengths
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays "
                "are valid indices"
            ) from None
    return item


def _copied_index(item: Any) -> ndarray:
    """Return the device array of an index from the host."""
    if isinstance(item, (list, tuple)) and np.size(without_device_arrays(item)) == 0:
        return from_host(item, np.intp)  # as NumPy takes an empty list
    return announced_copy(item, "an index")


def is_basic(key: Any) -> bool:
    """Whether an index selects by scalars and slices only, so that the selection is a view."""
    items = key if isinstance(key, tuple) else (key,)
    return all(
        item is None or item is Ellipsis or isinstance(item, slice) or (np.isscalar(item) and not _is_bool(item))
        for item in items
    )


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _assign(buffer: np.ndarray[Any, Any], index: Any, data: Any) -> None:
    """Assign to selected elements. Of several values for one element the first is kept: CuPy keeps any of them."""
    if np.size(data) > 1:
        places = np.arange(buffer.size).reshape(buffer.shape)[index]
        if np.unique(places).size < places.size:
            values = np.broadcast_to(data, places.shape).ravel()
            buffer.flat[places.ravel()[::-1]] = values[::-1]
            return
    buffer[index] = data


class Elements(_ndarray_base):
    """The methods of an array that select elements and change them."""

    __slots__ = ()

    @property
    def flat(self: Any) -> flatiter:
        """Iterator over the elements in C order."""
        return flatiter(self)

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of unsized object")
        return len(self._buffer)

    def __iter__(self) -> Iterator[ndarray]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        if self.ndim == 1:
            announced_walk(self)
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> ndarray:
        if is_basic(key):
            selection = self._buffer[key]
        else:
            index = host_index(key)
            asynchrony.begin_operation()
            selection = seen(self)[index]
        if not isinstance(selection, np.ndarray):
            # NumPy gives a scalar; the element stays on the device, and stays a view if it was one.
            if is_basic(key):
                items = key if isinstance(key, tuple) else (key,)
                selection = self._buffer[(*items, Ellipsis)] if Ellipsis not in items else np.asarray(selection)
            else:
                selection = np.asarray(selection)
        result = wrap(selection, *((self,) if is_basic(key) else ()))
        return wrap(selection.view(), self) if result is self else result

    def __setitem__(self, key: Any, value: Any) -> None:
        asynchrony.begin_operation()
        if isinstance(value, _ndarray_base):
            data: Any = used(value)
        elif is_basic(key):
            # CuPy fills a selection by slices with a scalar, and refuses host arrays and lists (`fill` below);
            # a selection by index arrays or masks takes host data and copies it (its `_scatter_op`).
            data = self._fill_value(value)
        else:
            data = self._copied_value(value)
        with np.errstate(all="ignore"):
            if not is_basic(key):
                index = host_index(key)
                with changed(self) as buffer:
                    _assign(buffer, index, cuda_cast(data, self.dtype))
            elif asynchrony.is_on():
                check_device(self)
                place = self._buffer[(*key, ...) if isinstance(key, tuple) and Ellipsis not in key else key]
                part = place if isinstance(place, np.ndarray) else self._buffer[key, ...]
                asynchrony.write_region(area_of(self._memory), part)
                part[...] = cuda_cast(data, self.dtype)
            else:
                target(self)[key] = cuda_cast(data, self.dtype)

    def __delitem__(self, key: Any) -> None:
        raise TypeError("'cupy.ndarray' object does not support item deletion")

    def __contains__(self, value: Any) -> bool:
        raise TypeError("argument of type 'cupy.ndarray' is not a container; use (a == value).any()")

    def _copied_value(self, value: Any) -> np.ndarray[Any, Any]:
        """Return what is written to a selection by index arrays, from the host."""
        if is_host_array(value) or isinstance(value, (list, tuple)):
            return announced_copy(value, "assigned values", self.dtype)._buffer
        return from_host(value, self.dtype)._buffer

    def _fill_value(self, value: Any) -> Any:
        if isinstance(value, _ndarray_base):
            if value.ndim:
                raise ValueError("non-scalar cupy.ndarray cannot be used for fill")
            return value._buffer
        if isinstance(value, (np.ndarray, list, tuple)):
            if np.ndim(value):
                raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
            return np.asarray(value)[()]
        return operand(value) if not isinstance(value, np.void) else value

    def fill(self, value: Any) -> None:
        """Set every element to a scalar."""
        asynchrony.begin_operation()
        with np.errstate(all="ignore"):
            data = self._fill_value(value)
            target(self)[...] = data

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        """Sort in place, stably."""
        if kind not in (None, "stable"):
            raise ValueError(f"kind can only be None or 'stable', got {kind!r}")
        with changed(self) as buffer:
            buffer.sort(axis, kind="stable")

    def partition(self, kth: Any, axis: int = -1) -> None:
        """Partition in place."""
        with changed(self) as buffer:
            buffer.partition(kth, axis)

    def scatter_add(self, slices: Any, value: Any) -> None:
        """Add values to the selected elements; an element selected twice is added to twice."""
        self._scatter(np.add, slices, value)

    def scatter_max(self, slices: Any, value: Any) -> None:
        """Store the maximum of values and the selected elements."""
        self._scatter(np.maximum, slices, value)

    def scatter_min(self, slices: Any, value: Any) -> None:
        """Store the minimum of values and the selected elements."""
        self._scatter(np.minimum, slices, value)

    def _scatter(self, ufunc: np.ufunc, slices: Any, value: Any) -> None:
        if isinstance(value, _ndarray_base):
            data: Any = used(value)
        else:
            data = self._fill_value(value) if is_basic(slices) else self._copied_value(value)
        if not is_basic(slices) and (self.dtype.char in "?bBhH" or self.dtype.kind == "c" or self.dtype == np.int64):
            # No atomic operation of CUDA for these.
            raise TypeError(
                f"scatter_{ufunc.__name__} only supports int32, float16, float32, float64, uint32, uint64, as data type"
            )
        index = host_index(slices)
        with changed(self) as buffer:
            ufunc.at(buffer, index, np.asarray(data).astype(self.dtype))


class flatiter:
    """The elements of an array in C order."""

    def __init__(self, a: ndarray) -> None:
        self._array = a
        self._next = 0

    @property
    def base(self) -> ndarray:
        """The array."""
        return self._array

    def __len__(self) -> int:
        return self._array.size

    def _place(self, key: Any) -> Any:
        if key is Ellipsis:
            return slice(None)
        if isinstance(key, slice) or (np.isscalar(key) and not _is_bool(key)):
            return key
        raise IndexError("unsupported iterator index")

    def __getitem__(self, key: Any) -> ndarray:
        place = self._place(key)
        asynchrony.begin_operation()
        return wrap(seen(self._array).flat[place])

    def __setitem__(self, key: Any, value: Any) -> None:
        place = self._place(key)
        if isinstance(value, _ndarray_base):
            data: Any = used(value)
        elif isinstance(place, slice):
            data = self._array._copied_value(value)
        else:
            data = self._array._fill_value(value)
        with np.errstate(all="ignore"), changed(self._array) as buffer:
            buffer.flat[place] = data

    def __iter__(self) -> Iterator[ndarray]:
        announced_walk(self._array)
        return self

    def __next__(self) -> ndarray:
        if self._next == len(self):
            raise StopIteration
        self._next += 1
        return self[self._next - 1]

    def copy(self) -> ndarray:
        """Return the elements in a new array."""
        return self._array.flatten()
