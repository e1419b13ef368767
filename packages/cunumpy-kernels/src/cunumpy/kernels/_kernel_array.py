"""Arrays as kernels take them: on the side of another array, C-contiguous, of a dtype; and the way back for outputs."""

from __future__ import annotations

import sys
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _conversion, _gate, _transfers
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.kernels._conversion import check_writable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import NoReturn

    from numpy.typing import DTypeLike

__all__ = ["as_kernel_array", "kernel_output", "kernel_outputs"]

_modules = sys.modules
_ndarray = np.ndarray
_NATIVE = frozenset(map(np.dtype, "?bhilqBHILQefdFD"))


def as_kernel_array(
    value: Any, like: Any, dtype: DTypeLike | None = None, *, strided: bool = False, check: bool = True
) -> Any:
    """Bring an input to where another array is, C-contiguous, and to a dtype.

    Parameters
    ----------
    value : array_like
        An array of either side, of any shape; or a list, scalar or other host data that NumPy makes an array of.
    like : Any
        If it is a device array, the result is one, else it is a NumPy array.
    dtype : dtype_like, optional
        The dtype, in the machine's byte order. By default that of `value`.
    strided : bool, default: False
        Also take a host array as it is that Pyccel takes without a copy: in C order with gaps, such as ``a[:, :n]`` and
        ``a[::2]``.
    check : bool, default: True
        Whether a conversion that could change values beyond rounding looks at them. On the device that reads a result
        of a few bytes (``to_host``). If not, integers out of range wrap around and floats become infinite.

    Returns
    -------
    numpy.ndarray or cupy.ndarray
        `value` itself if it is such an array, else a copy, or for subclasses of `numpy.ndarray` and axes of length 1
        with odd strides a view: its strides pass the test that Pyccel's functions make. 0-d stays 0-d. Other byte
        orders are converted.

    Raises
    ------
    ArgumentTypeError
        `dtype` is none; it is of another kind than `value`, such as integers for floats, or real for complex values; or
        `value` is no array of numbers: text, dates, masked arrays, None, dicts, objects.
    ArgumentError
        Values that `dtype` can't represent, a ragged list, or `dtype` is not in the machine's byte order.
    MissingPackageError
        Another library's device array, and CuPy can't be used.
    TransferError
        A copy between host and device inside ``xp.profiling.forbid_transfers()``.

    Notes
    -----
    Recorded are ``to_host``, ``to_device``, and ``device_copy`` for a conversion on the device.

    Examples
    --------
    >>> import numpy as np
    >>> from cunumpy.kernels import as_kernel_array
    >>> x = np.arange(6.0).reshape(2, 3)
    >>> as_kernel_array(x, like=x) is x
    True
    >>> as_kernel_array(x.T, like=x).flags.c_contiguous
    True
    >>> as_kernel_array([1, 2], like=x, dtype="float32")
    array([1., 2.], dtype=float32)
    """
    if strided is not False and strided is not True:
        strided = _gate.as_truth(strided, function="as_kernel_array", argument="strided")
    if check is not True and check is not False:
        check = _gate.as_truth(check, function="as_kernel_array", argument="check")
    if type(value) is _ndarray and (type(like) is _ndarray or "cupy" not in _modules):
        found, shape = value.dtype, value.shape
        if (
            (dtype is None or dtype is found or (isinstance(dtype, (type, np.dtype)) and found == dtype))
            and found in _NATIVE
            and (value.strides == _packed_strides(shape, found) if 1 in shape else value.flags.c_contiguous)
            and (type(like) is _ndarray or not _arrays.is_gpu(like))
        ):
            return value
    array = _as_array(value, "as_kernel_array", "value")
    if array.size == 0 and dtype is not None and isinstance(value, (list, tuple)):
        array = array.astype(_wanted(dtype, "as_kernel_array"))  # NumPy makes float64 of an empty list
    return _suitable(array, like, dtype, strided, check, "as_kernel_array", "value")


def kernel_output(
    out: Any, like: Any, dtype: DTypeLike | None = None, *, strided: bool = False, check: bool = True
) -> AbstractContextManager[Any]:
    """Give a kernel a buffer for an output array, and write it back at the end of a ``with`` block.

    Parameters
    ----------
    out : numpy.ndarray or device array
        The array that gets the results, of any layout, on either side.
    like, dtype, strided, check
        What the buffer is to be, as in `as_kernel_array`.

    Returns
    -------
    context manager
        Gives the buffer: `out` itself, or a view of it, if that is such an array, else a copy with its values. At the
        end of the block the copy is written into `out`, in place; after an exception it is not.

    Raises
    ------
    ArgumentTypeError
        `out` is no array of numbers, or masked; or values would have to change their kind on the way there or back.
    ArgumentError
        `out` is read-only, not in the machine's byte order, or has elements that share memory; or, there or back,
        values do not fit. Then `out` is unchanged.
    MissingPackageError, TransferError
        As in `as_kernel_array`.

    Notes
    -----
    All checks of `out` and the conversion are made by this call, before the block begins. Recorded are the copies there
    and back: ``to_host``, ``to_device``, ``device_copy``.

    Examples
    --------
    >>> import numpy as np
    >>> from cunumpy.kernels import kernel_output
    >>> x = np.zeros((2, 3), order="F")
    >>> with kernel_output(x, like=x) as buffer:
    ...     buffer[...] = [[1, 2, 3], [4, 5, 6]]
    >>> x
    array([[1., 2., 3.],
           [4., 5., 6.]])
    """
    if strided is not True and strided is not False:
        strided = _gate.as_truth(strided, function="kernel_output", argument="strided")
    if check is not True and check is not False:
        check = _gate.as_truth(check, function="kernel_output", argument="check")
    return _Outputs([out], like, dtype, strided, check, "kernel_output")


def kernel_outputs(
    *outs: Any, like: Any, dtype: DTypeLike | None = None, strided: bool = False, check: bool = True
) -> AbstractContextManager[tuple[Any, ...]]:
    """Give a kernel buffers for several output arrays, as `kernel_output` does for one.

    Parameters
    ----------
    *outs : numpy.ndarray or device array
        The arrays that get the results. One that is given twice has one buffer.
    like, dtype, strided, check
        What the buffers are to be, as in `as_kernel_array`.

    Returns
    -------
    context manager
        Gives a tuple of the buffers, in order. At the end of the block all are written back, or, if one holds values
        that do not fit, or one transfer is forbidden, none.

    Raises
    ------
    ArgumentError
        Different arrays that share memory, where one of them needs a copy; and as in `kernel_output`.
    ArgumentTypeError, MissingPackageError, TransferError
        As in `kernel_output`.

    Examples
    --------
    >>> import numpy as np
    >>> from cunumpy.kernels import kernel_outputs
    >>> even, odd = np.zeros(6)[::2], np.zeros(3, np.float32)
    >>> with kernel_outputs(even, odd, like=even, dtype=float) as (a, b):
    ...     a[...], b[...] = 2.0, 3.0
    >>> even, odd
    (array([2., 2., 2.]), array([3., 3., 3.], dtype=float32))
    """
    if strided is not True and strided is not False:
        strided = _gate.as_truth(strided, function="kernel_outputs", argument="strided")
    if check is not True and check is not False:
        check = _gate.as_truth(check, function="kernel_outputs", argument="check")
    return _Outputs(list(outs), like, dtype, strided, check, "kernel_outputs")


class _Outputs:
    """The context manager of `kernel_output` and `kernel_outputs`."""

    __slots__ = ("_buffers", "_check", "_function", "_names", "_targets")

    def __init__(self, outs: list[Any], like: Any, dtype: Any, strided: bool, check: bool, function: str) -> None:
        self._function, self._check = function, check
        self._names = ["out"] if function == "kernel_output" else [f"outs[{i}]" for i in range(len(outs))]
        self._targets = [_as_output(out, function, name) for out, name in zip(outs, self._names, strict=True)]
        wanted = _wanted(dtype, function)
        if wanted is not None:
            for target, name in zip(self._targets, self._names, strict=True):
                _check_kind(target, target.dtype, wanted, function, name)
                _check_kind(target, wanted, target.dtype, function, name, back=True)
        self._refuse_overlap(like, wanted, strided)
        made: dict[Any, Any] = {}
        self._buffers = []
        for target, name in zip(self._targets, self._names, strict=True):
            place = _place(target)
            if place not in made:
                made[place] = _suitable(target, like, wanted, strided, check, function, name)
            self._buffers.append(made[place])

    def __enter__(self) -> Any:
        return self._buffers[0] if self._function == "kernel_output" else tuple(self._buffers)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        results = {}
        for target, buffer, name in zip(self._targets, self._buffers, self._names, strict=True):
            if not _is_same(target, buffer):
                results[_place(target)] = (target, self._result(target, buffer, name))
        for target, result in results.values():  # all that can be forbidden, before the first change
            here, there = map(_arrays.is_device_array, (result, target))
            if here != there and _transfers.watching():
                text = _transfers.call_text(self._function, result.shape, result.dtype)
                _transfers.announce("to_host" if here else "to_device", text, result.nbytes)
        for target, result in results.values():
            _write(target, result, self._function)

    def _result(self, target: Any, buffer: Any, name: str) -> Any:
        """Return what is to be written, in the target's dtype."""
        if buffer.dtype == target.dtype:
            return buffer
        if _arrays.is_device_array(buffer) and not _arrays.is_device_array(target):
            buffer = _conversion.copy_to_host(buffer, self._function)
        return _cast(buffer, target.dtype, self._check, self._function, name)

    def _refuse_overlap(self, like: Any, wanted: np.dtype[Any] | None, strided: bool) -> None:
        """Raise where two copies, or a copy and an array, stand for the same memory."""
        targets = self._targets
        fits = [_fits(target, like, wanted, strided) for target in targets] if len(targets) > 1 else []
        for i, target in enumerate(targets):
            for j in range(i):
                other = targets[j]
                if (fits[i] and fits[j]) or _arrays.is_device_array(target) != _arrays.is_device_array(other):
                    continue
                if _place(target) != _place(other) and _gate.overlap(target, other):
                    raise ArgumentError(
                        f"{self._function}: arguments 'outs[{j}]' and 'outs[{i}]' share memory "
                        f"({_gate.describe(other)} and {_gate.describe(target)}), but their buffers would not, so that "
                        "results could be lost; pass arrays that do not overlap."
                    )


def _write(target: Any, result: Any, function: str) -> None:
    on_device = _arrays.is_device_array(target)
    if on_device == _arrays.is_device_array(result):
        started = perf_counter()
        if not on_device:
            target[...] = result
            return
        with target.device:
            target[...] = result
        _record_copy(target, function, started)
    elif on_device:
        _conversion.write_to_device(target, result, function)
    elif target.flags.forc:
        _conversion.copy_to_host(result, function, target)
    else:
        target[...] = _conversion.copy_to_host(result, function)


# --- conversion -------------------------------------------------------------------------------------------------------


def _as_array(value: Any, function: str, argument: str) -> Any:
    """Return a NumPy or CuPy array; a view of the memory where there is some."""
    if _arrays.is_device_array(value):
        return value
    if _arrays.is_foreign_device_array(value):
        return _conversion.wrap_foreign(value, function)
    return _gate.as_host_array(value, function=function, argument=argument, dtype_kinds="biufcV")


def _as_output(out: Any, function: str, argument: str) -> Any:
    on_device = _arrays.is_gpu(out)
    if not on_device and not isinstance(out, np.ndarray):
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} must be an array that the results are written into, got "
            f"{_gate.describe(out)}; make one with numpy.empty(shape, dtype)."
        )
    array = _as_array(out, function, argument)
    if not array.dtype.isnative:
        raise ArgumentError(
            f"{function}: argument {argument!r} must be in the machine's byte order, got {_gate.describe(out)}; pass "
            f"an array of dtype {array.dtype.newbyteorder('=').str!r} and copy from it afterwards."
        )
    if on_device:
        check_writable(out, function)
    else:
        _gate.check_writable(array, function=function, argument=argument)
    if _gate.overlaps_itself(array):
        raise ArgumentError(
            f"{function}: argument {argument!r} ({_gate.describe(out)}) has elements that share memory, of which one "
            "result only could be kept; pass an array without overlaps."
        )
    return array


def _suitable(array: Any, like: Any, dtype: Any, strided: bool, check: bool, function: str, argument: str) -> Any:
    """Bring an array to the side of `like`, to a dtype and to C order."""
    wanted = _wanted(dtype, function)
    to_device = _arrays.is_gpu(like)
    if to_device and _arrays.is_device_array(array):
        return _suitable_on_device(array, wanted, check, function, argument)
    if _arrays.is_device_array(array):
        if wanted is not None:
            _check_kind(array, array.dtype, wanted, function, argument)
        array = _conversion.copy_to_host(array, function)
    if to_device:
        _gate.check_device_dtype(array.dtype if wanted is None else wanted, function=function, argument=argument)
    if wanted is None and not array.dtype.isnative:
        wanted = array.dtype.newbyteorder("=")
    if wanted is not None and array.dtype != wanted:
        array = _cast(array, wanted, check, function, argument)
    elif not array.flags.c_contiguous:
        if to_device or not strided or not _has_gaps_only(array):
            array = np.array(array, order="C")
    elif not to_device and 1 in array.shape and not _has_c_strides(array):
        strides = _packed_strides(array.shape, array.dtype)
        array = np.lib.stride_tricks.as_strided(array, strides=strides, writeable=array.flags.writeable)
    if not to_device:
        return array
    if not _arrays.is_device_array(like):
        return _conversion.copy_to_device(array, function)
    with like.device:
        return _conversion.copy_to_device(array, function)


def _suitable_on_device(array: Any, wanted: np.dtype[Any] | None, check: bool, function: str, argument: str) -> Any:
    started = perf_counter()
    if wanted is not None and array.dtype != wanted:
        _gate.check_device_dtype(wanted, function=function, argument=argument)
        return _cast(array, wanted, check, function, argument)
    if array.flags.c_contiguous:
        return array
    with array.device:
        copied = array.copy(order="C")
    _record_copy(copied, function, started)
    return copied


def _fits(array: Any, like: Any, wanted: np.dtype[Any] | None, strided: bool) -> bool:
    """Tell whether `_suitable` returns an array, or a view of it, without a copy."""
    on_device = _arrays.is_device_array(array)
    if on_device != _arrays.is_gpu(like) or (wanted is not None and array.dtype != wanted):
        return False
    return bool(array.flags.c_contiguous or (not on_device and strided and _has_gaps_only(array)))


def _wanted(dtype: Any, function: str) -> np.dtype[Any] | None:
    if dtype is None:
        return None
    wanted = _gate.as_dtype(dtype, function=function)
    if wanted.hasobject:
        raise ArgumentTypeError(
            f"{function}: argument 'dtype' must be one that kernels compute with, got {wanted}; numbers, bool or "
            "fields of these."
        )
    if not wanted.isnative:
        raise ArgumentError(
            f"{function}: argument 'dtype' must be in the machine's byte order, got {wanted.str!r}; kernels can't read "
            f"another one: ask for {wanted.newbyteorder('=').str!r}."
        )
    return wanted


def _check_kind(
    array: Any, found: np.dtype[Any], wanted: np.dtype[Any], function: str, argument: str, *, back: bool = False
) -> None:
    """Raise `ArgumentTypeError` where a conversion between dtypes changes what kind of values there are."""
    if np.can_cast(found, wanted, "safe") or (found.kind in "iu" and wanted.kind in "iu"):
        return
    if wanted.kind in "fc" and np.can_cast(found, wanted, "same_kind"):
        return
    if found.kind == "c" and wanted.kind in "biuf":
        loss = "would drop the imaginary parts; take .real, or ask for a complex dtype"
    elif found.kind == "f" and wanted.kind in "biu":
        loss = "would cut off fractions; round it and convert it with .astype(...), or ask for a floating dtype"
    else:
        loss = "are values of another kind; convert it with .astype(...)"
    way = f"the results of dtype {found} back to {wanted}" if back else f"{found} to {wanted}"
    raise ArgumentTypeError(
        f"{function}: argument {argument!r} is {_gate.describe(array)}, and converting {way} {loss}."
    )


def _cast(array: Any, wanted: np.dtype[Any], check: bool, function: str, argument: str) -> Any:
    """Convert an array to a dtype, in C order and on its side, unless that changes values beyond rounding."""
    found = array.dtype
    _check_kind(array, found, wanted, function, argument)
    check = check and array.size > 0 and not np.can_cast(found, wanted, "safe")
    if not _arrays.is_device_array(array):
        with np.errstate(over="ignore"):
            cast = array.astype(wanted, order="C")
        if check and _out_of_range(np, array, cast):
            _refuse_range(array, wanted, function, argument)
        return cast
    cupy = _backend.require_cupy(function)
    with array.device:
        started = perf_counter()
        cast = array.astype(wanted, order="C")
        _record_copy(cast, function, started)
        if check and _out_of_range(cupy, array, cast, function):
            _refuse_range(array, wanted, function, argument)
    return cast


def _out_of_range(module: Any, array: Any, cast: Any, function: str = "") -> bool:
    if cast.dtype.kind in "iu":
        limits = np.iinfo(cast.dtype)
        ends = module.stack([array.min(), array.max()])
        low, high = (_conversion.copy_to_host(ends, function) if function else ends).tolist()
        return not int(limits.min) <= low <= high <= int(limits.max)
    lost = (module.isinf(cast) & ~module.isinf(array)).any()
    return bool(_conversion.copy_to_host(lost, function) if function else lost)


def _refuse_range(array: Any, wanted: np.dtype[Any], function: str, argument: str) -> NoReturn:
    raise ArgumentError(
        f"{function}: argument {argument!r} ({_gate.describe(array)}) has values out of the range of dtype {wanted}; "
        "ask for a wider one, or scale the values. With check=False they are converted unseen."
    )


def _record_copy(copied: Any, function: str, started: float) -> None:
    if _transfers.watching():
        text = _transfers.call_text(function, copied.shape, copied.dtype)
        _transfers.record("device_copy", text, copied.nbytes, started=started)


# --- layout -----------------------------------------------------------------------------------------------------------


def _has_c_strides(array: np.ndarray) -> bool:
    """Tell whether a C-contiguous array has strides that Pyccel takes for C order.

    NumPy lets the stride of an axis of length 1 be anything. Pyccel's functions compare strides, and compute shapes
    from them: outside of the first axis that is longer they have to be large enough, inside of it exact.
    """
    strides, packed = array.strides, _packed_strides(array.shape, array.dtype)
    if strides == packed or array.size == 0:
        return True
    outer = None
    for size, stride, exact in zip(array.shape, strides, packed, strict=True):
        if stride != exact and (stride < exact or size > 1 or (outer is not None and outer[0] > 1)):
            return False
        if outer is not None and outer[1] < stride:
            return False
        outer = size if outer is None else max(size, outer[0]), stride
    return True


@lru_cache(256)
def _packed_strides(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, ...]:
    strides, packed = [], dtype.itemsize
    for size in shape[::-1]:
        strides.append(packed)
        packed *= size
    return tuple(strides[::-1])


def _has_gaps_only(array: np.ndarray) -> bool:
    """Tell whether an array is in C order with gaps, so that Pyccel's functions address it rightly.

    They compute the shape of the array that it is a slice of by dividing strides, so each has to be a multiple of the
    next, and at least as large, also where the next axis has one element alone.
    """
    span = divisor = array.itemsize
    last = array.ndim - 1
    for axis in range(last, -1, -1):
        stride = array.strides[axis]
        if stride < span or stride % divisor or (axis != last and stride < array.strides[axis + 1]):
            return False
        span += (array.shape[axis] - 1) * stride
        if axis != last:
            divisor = stride
    return True


def _place(array: Any) -> tuple[Any, ...]:
    """Return what two objects have in common if they are the same array."""
    if _arrays.is_device_array(array):
        return True, int(array.data.ptr), array.shape, array.strides, array.dtype
    return False, array.__array_interface__["data"][0], array.shape, array.strides, array.dtype


def _is_same(target: Any, buffer: Any) -> bool:
    """Tell whether a buffer is the memory of the array that it is for."""
    on_device = _arrays.is_device_array(target)
    if on_device != _arrays.is_device_array(buffer):
        return False
    return target is buffer if on_device else np.may_share_memory(target, buffer)
