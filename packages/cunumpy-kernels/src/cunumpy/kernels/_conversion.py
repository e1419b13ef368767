"""Device arrays among the arguments of a host function: host copies of them, and the way back.

The traversal is `cunumpy._containers`, which `cunumpy.host_call` shares. Here is what a kernel needs beyond it: views
of the same device memory stay views of one host copy, what the function does to containers reaches the caller's, and
what it returns of its arguments are the caller's objects.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _containers, _conversion, _gate, _transfers
from cunumpy.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import TypeAlias

    Opened: TypeAlias = Callable[[type], bool] | None

HOST_TYPES: frozenset[type] = _containers.PLAIN_TYPES | {
    np.ndarray,
    *[np.dtype(code).type for code in "bBhHiIlLqQfdFD"],
}
"""Types of arguments that are neither on a device nor can hold anything."""

_ALIGNMENT = 64


def opened_by(modules: Collection[str]) -> Opened:
    """Return what tells whether a class is defined in one of the modules, or in a module or package inside of one."""
    return partial(_is_in, tuple([f"{module}." for module in modules])) if modules else None


def _is_in(prefixes: tuple[str, ...], kind: type) -> bool:
    return f"{kind.__module__}.".startswith(prefixes) and not (
        issubclass(kind, (np.ndarray, type)) or hasattr(kind, "__cuda_array_interface__")
    )


def device_arrays(values: Iterable[Any], opened: Opened) -> dict[int, Any]:
    """Find the device arrays in nested containers; return them by ``id``, in order."""
    return {
        id(leaf): leaf
        for leaf in _containers.leaves(values, opened)
        if type(leaf) is not np.ndarray and _arrays.get_array_backend(leaf) == "cupy"
    }


class HostArguments:
    """The arguments of one call with host copies in the place of device arrays.

    Parameters
    ----------
    args, kwargs
        The arguments.
    arrays : dict
        The device arrays in them, from `device_arrays`.
    opened : callable or None
        Tells of a class whether its objects are containers.
    name : str
        The function, for messages and records.

    Attributes
    ----------
    args, kwargs
        What to call the function with.
    """

    def __init__(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], arrays: dict[int, Any], opened: Opened, name: str
    ) -> None:
        self._name, self._opened = name, opened
        self._copies = _copied_to_host(arrays, name)
        memo: _containers.Memo = {}

        def leaf(value: Any) -> Any:
            copy = self._copies.get(id(value))
            return value if copy is None else copy.host

        self.args = tuple([_containers.convert(value, leaf, memo, name, opened) for value in args])
        self.kwargs = {key: _containers.convert(value, leaf, memo, name, opened) for key, value in kwargs.items()}
        # What the function returns or stores of its arguments, by the id of what it was given: the caller's object.
        self._callers: _containers.Memo = {}
        self._host_leaves: _containers.Memo = {}
        self._containers: list[tuple[Any, Any, Any]] = []
        for given, passed in memo.values():
            inside = _containers.children(given, opened)
            if inside is None and passed is given:
                self._host_leaves[id(given)] = (given, given)
                continue
            if inside is not None and not isinstance(given, tuple):
                self._containers.append((given, passed, _contents(passed)))
            elif passed is given:
                continue  # a tuple; host arrays in it are converted where they are returned
            self._callers[id(passed)] = (passed, given)

    def finish(self, result: Any, is_array: Callable[[Any], bool], written: Collection[int] | None) -> Any:
        """Copy back what the function has written, and return its result with the arrays on the device.

        Parameters
        ----------
        result : Any
            What the function has returned.
        is_array : callable
            Tells what is to go to the device.
        written : collection of int or None
            The ``id`` of each device array that may have been written; None for all.
        """

        def leaf(value: Any) -> Any:
            return self._on_device(value) if is_array(value) else value

        # Everything that can fail comes before the first change.
        memo = {**self._callers, **self._host_leaves}
        changes = []
        for given, passed, before in self._containers:
            after = _contents(passed)
            if not _same(before, after):
                changes.append((given, _containers.convert(after, leaf, memo, self._name, self._opened)))
        for key in self._host_leaves:
            del memo[key]
        result = _containers.convert(result, leaf, memo, self._name)
        copies = [copy for key, copy in self._copies.items() if (written is None or key in written) and copy.changed()]
        for copy in copies:
            copy.check(self._name)
        for copy in copies:
            _transfers.announce("to_device", self._name, copy.host.nbytes)
        for copy in copies:
            if not any(copy.is_inside(other) for other in copies):
                _conversion.write_to_device(copy.device, copy.host, self._name)
        for given, after in changes:
            _assign(given, after)
        return result

    def _on_device(self, host: Any) -> Any:
        """Return the device array for one that the function has returned or stored."""
        if isinstance(host, np.ndarray):
            if not _gate.fits_device(host.dtype) or _gate.is_masked(host):
                return host  # a device can't hold it
            for copy in self._copies.values():
                if np.may_share_memory(host, copy.memory):
                    view = copy.view(host)
                    if view is not None:
                        return view
        source = _gate.as_device_source(host, function=self._name, argument="result")
        return _conversion.copy_to_device(source, self._name)


def check_writable(array: Any, function: str) -> None:
    """Raise `ArgumentError` for another library's device array that can't be written to."""
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is not None and interface["data"][1]:
        raise ArgumentError(
            f"{function}: the device array {_gate.describe(array)} is among the outputs, but it is read-only; pass a "
            "writable array, or leave it out of 'outputs'."
        )


# --- host copies ------------------------------------------------------------------------------------------------------


class _HostCopy:
    """A device array, its host copy, and the memory that the copy is a part of."""

    def __init__(self, device: Any) -> None:
        self.device = device
        low = high = address = int(device.data.ptr)
        for size, stride in zip(device.shape, device.strides, strict=True):
            low += min(0, (size - 1) * stride)
            high += max(0, (size - 1) * stride)
        self.address, self.low, self.high = address, low, high + device.itemsize if device.size else low
        self.host: np.ndarray
        self.memory: np.ndarray
        self.same_layout: bool = device.flags.forc
        # Elements that lie on each other are apart in the copy, so that not all that is written there can be kept.
        self.repeats = not self.same_layout and _gate.overlaps_itself(device)
        self.before = b""

    def copy(self, name: str) -> None:
        """Copy the array alone."""
        self.host = self.memory = _conversion.copy_to_host(self.device, name)
        if self.repeats:
            self.before = self.host.tobytes()

    def take(self, memory: np.ndarray, low: int) -> None:
        """Be a view of a copy of the device memory that begins at the address `low`."""
        self.memory = memory
        self.same_layout, self.repeats = True, False
        self.host = np.ndarray(self.device.shape, self.device.dtype, memory, self.address - low, self.device.strides)

    def changed(self) -> bool:
        """Tell whether the copy may have to be written back; only where it is known is the answer no."""
        return not self.repeats or self.host.tobytes() != self.before

    def check(self, name: str) -> None:
        """Raise `ArgumentError` where the copy can't be written back."""
        if self.repeats:
            raise ArgumentError(
                f"{name}: has written to a device array with elements that share memory ({_gate.describe(self.device)},"
                f" strides {self.device.strides}); pass a copy of it, or the array that it is a view of. Nothing was "
                "copied back."
            )
        if self.host.shape != self.device.shape or self.host.dtype != self.device.dtype:
            raise ArgumentError(
                f"{name}: has made its argument {_gate.describe(self.device)} a {_gate.describe(self.host)} in place, "
                "which can't be done to the array on the device; let it work on a view. Nothing was copied back."
            )

    def view(self, host: np.ndarray) -> Any:
        """Return the device array that lies to this one as a host array lies to its copy, None if there is none."""
        cupy = _backend.require_cupy("PyccelKernel")
        offset, strides = _host_address(host) - _host_address(self.host), host.strides
        if not self.same_layout:
            found = _translated(host, offset, self.host, self.device.strides)
            if found is None:
                return None
            offset, strides = found
        with self.device.device:
            return cupy.ndarray(host.shape, host.dtype, self.device.data + offset, strides)

    def is_inside(self, other: _HostCopy) -> bool:
        """Tell whether writing another array back writes this one, too."""
        if other is self or other.memory is not self.memory or not other.device.flags.forc:
            return False
        if (self.low, self.high) == (other.low, other.high) and self.device.flags.forc:
            return id(other) < id(self)  # one of two for the same memory
        return other.low <= self.low and self.high <= other.high


def _copied_to_host(arrays: dict[int, Any], name: str) -> dict[int, _HostCopy]:
    copies = {
        key: _HostCopy(array if _arrays.is_device_array(array) else _conversion.wrap_foreign(array, name))
        for key, array in arrays.items()
    }
    shared = [group for group in _neighbours(copies.values()) if len(group) > 1 and _share_memory(group)]
    views = {id(copy) for group in shared for copy in group}
    for copy in copies.values():
        if id(copy) not in views:
            copy.copy(name)
    for group in shared:
        _copy_common_base(group, name)
    return copies


def _neighbours(copies: Collection[_HostCopy]) -> list[list[_HostCopy]]:
    """Group arrays whose ranges of addresses overlap."""
    groups = [[copy] for copy in copies if copy.low == copy.high]  # without elements
    high = -1
    for copy in sorted([copy for copy in copies if copy.low < copy.high], key=lambda copy: copy.low):
        if copy.low < high:
            groups[-1].append(copy)
        else:
            groups.append([copy])
        high = max(high, copy.high)
    return groups


def _share_memory(group: list[_HostCopy]) -> bool:
    return any(
        first.low < second.high and second.low < first.high and _gate.overlap(first.device, second.device)
        for index, first in enumerate(group)
        for second in group[:index]
    )


def _copy_common_base(group: list[_HostCopy], name: str) -> None:
    """Copy the memory that arrays lie in once, and let their host copies be views of it, which overlap as they do."""
    cupy = _backend.require_cupy(name)
    low, high = group[0].low, max(copy.high for copy in group)
    first = group[0]
    with first.device.device:
        base = cupy.ndarray((high - low,), np.uint8, first.device.data + (low - first.address))
        # Every view is as aligned as it is on the device.
        buffer = np.empty(high - low + _ALIGNMENT, np.uint8)
        start = (low - _host_address(buffer)) % _ALIGNMENT
        memory = buffer[start : start + high - low]
        _conversion.copy_to_host(base, name, memory)
    for copy in group:
        copy.take(memory, low)


def _translated(
    view: np.ndarray, offset: int, whole: np.ndarray, strides: tuple[int, ...]
) -> tuple[int, tuple[int, ...]] | None:
    """Return offset and strides of a view of a packed array in an array of the same shape with other strides.

    None where there are none, as for a view that takes several elements for one.
    """
    inner = offset % whole.itemsize  # a field, or an imaginary part
    if view.size == 0 or inner + view.itemsize > whole.itemsize:
        return None
    axes = sorted(range(whole.ndim), key=lambda axis: (whole.strides[axis], whole.shape[axis]), reverse=True)

    def index(place: int) -> list[int] | None:
        found = [0] * whole.ndim
        for axis in axes:
            if whole.shape[axis] > 1:
                found[axis], place = divmod(place, whole.strides[axis])
        return found if place == 0 else None

    start = index(offset - inner)
    if start is None:
        return None
    lowest, highest, steps = list(start), list(start), []
    for size, stride in zip(view.shape, view.strides, strict=True):
        end = index(offset - inner + (size - 1) * stride)
        if end is None:
            return None
        ways = [last - first for first, last in zip(start, end, strict=True)]
        if size > 1 and any(way % (size - 1) for way in ways):
            return None
        steps.append([way // max(size - 1, 1) for way in ways])
        lowest = [low + min(way, 0) for low, way in zip(lowest, ways, strict=True)]
        highest = [high + max(way, 0) for high, way in zip(highest, ways, strict=True)]
    inside = all(low >= 0 and high < size for low, high, size in zip(lowest, highest, whole.shape, strict=True))
    if not inside:
        return None
    place = sum(first * stride for first, stride in zip(start, strides, strict=True))
    return inner + place, tuple(
        [sum(step * stride for step, stride in zip(one, strides, strict=True)) for one in steps]
    )


def _host_address(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


# --- containers -------------------------------------------------------------------------------------------------------


def _contents(container: Any) -> list[Any] | dict[Any, Any]:
    """Return what is in a container now, as a list, or as a dict of items or attributes."""
    if isinstance(container, list):
        return list(container)
    if isinstance(container, OrderedDict):
        return dict(OrderedDict.items(container))  # dict's own order is another one
    if isinstance(container, dict):
        return dict(dict.items(container))
    return _containers.attributes(container)


def _same(before: Any, after: Any) -> bool:
    """Tell whether contents are the same objects, in the same order."""
    if len(before) != len(after):
        return False
    if isinstance(before, dict):
        pairs = zip(before.items(), after.items(), strict=True)
        return all(old[0] is new[0] and old[1] is new[1] for old, new in pairs)
    return all(old is new for old, new in zip(before, after, strict=True))


def _assign(container: Any, contents: Any) -> None:
    """Give a container of the caller's the contents that the function left in its copy."""
    if isinstance(container, list):
        list.__setitem__(container, slice(None), contents)
        return
    if isinstance(container, dict):
        for key in [key for key in container if key not in contents]:
            del container[key]
        reorder = [*container, *[key for key in contents if key not in container]] != [*contents]
        for key, value in contents.items():
            if reorder:
                container.pop(key, None)
            if reorder or dict.get(container, key, contents) is not value:
                container[key] = value
        return
    now = _containers.attributes(container)
    for name in now.keys() - contents.keys():
        object.__delattr__(container, name)
    for name, value in contents.items():
        if now.get(name, contents) is not value:
            object.__setattr__(container, name, value)
