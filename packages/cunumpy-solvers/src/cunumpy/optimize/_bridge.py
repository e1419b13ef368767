"""SciPy's solvers on the host, with callbacks on arrays of the backend that the start value belongs to.

What a device array of the start value costs: it is copied to the host once. Each evaluation copies the iterate to the
device, without a wait, and the result back, with one; both go through page-locked buffers that are kept for the solve.
"""

from __future__ import annotations

import functools
import threading
from importlib import import_module
from time import perf_counter
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _call_sites, _containers, _conversion, _gate, _transfers
from cunumpy._progress import Progress
from cunumpy.errors import ArgumentTypeError, MissingPackageError, MixedBackendError
from cunumpy.optimize._batched import backend_of

if TYPE_CHECKING:
    from collections.abc import Callable


def check_function(function: str, argument: str, value: Any) -> None:
    """Refuse what SciPy could not call; its ``LowLevelCallable`` is a tuple."""
    if not callable(value) and not isinstance(value, tuple):
        raise ArgumentTypeError(f"{function}: argument {argument!r} must be a function, got {_gate.given(value)}.")


_MOST_PENDING = 8  # uploads that nothing has waited for


class Bridge:
    """One call of a solver of SciPy's: converts start values, callbacks and results.

    Parameters
    ----------
    module : {"optimize", "integrate"}
        Of SciPy, and of CuNumpy.
    function : str
        Name of the solver in both.
    progress : bool
        Show the number of evaluations.
    **start : Any
        The start values by name, which decide on the backend.

    Raises
    ------
    MissingPackageError
        SciPy is not installed.
    """

    def __init__(self, module: str, function: str, progress: bool = False, **start: Any) -> None:
        try:
            self.solver = getattr(import_module(f"scipy.{module}"), function)
        except ImportError as error:
            raise MissingPackageError(
                f"cunumpy.{module}.{function} needs SciPy ({error}). Run: uv add scipy", name="scipy"
            ) from error
        progress = _gate.as_truth(progress, function=function, argument="progress")
        self.function = function
        self.backend = backend_of(function, **start)
        self.on_device = self.backend == "cupy"
        self.cupy: Any = _backend.require_cupy(function) if self.on_device else None
        self.progress = progress
        self.bar: Any = None
        self.buffers = threading.local()  # SciPy may call back from several threads

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call SciPy and convert the result; its warnings are attributed to the user's line."""
        call = _as_of_the_user(self.function)
        if not self.progress:
            return self.result(call(self.solver, args, kwargs))
        with Progress(True, self.function, "evaluation") as self.bar:
            return self.result(call(self.solver, args, kwargs))

    def start(self, value: Any, argument: str, kinds: str = "biufc") -> Any:
        """Return a start value for SciPy; refuse what it would read numbers from, as of text or below a mask."""
        if _arrays.get_array_backend(value) == "cupy":
            return _conversion.as_numpy(value, self.function)
        return _gate.as_host_array(value, function=self.function, argument=argument, dtype_kinds=kinds)

    def numbers(self, value: Any, argument: str, kinds: str = "biufc") -> Any:
        """Return further numbers for SciPy, as `start` does; None stays None."""
        return None if value is None else self.start(value, argument, kinds)

    def number(self, value: Any, argument: str, kinds: str = "biuf") -> Any:
        """Return a start value that is to be a number: of an array of one element, that element."""
        value = self.host(value)
        array = _gate.as_host_array(value, function=self.function, argument=argument, dtype_kinds=kinds)
        if array.size != 1:
            raise ArgumentTypeError(
                f"{self.function}: argument {argument!r} must be a number, or an array of one element, got "
                f"{_gate.given(value)}."
            )
        return value if isinstance(value, (int, float, complex)) else array.reshape(())[()]

    def pair(self, values: Any, argument: str) -> list[Any]:
        """Return a pair that is to be of numbers."""
        try:
            first, second = values
        except (TypeError, ValueError):
            raise ArgumentTypeError(
                f"{self.function}: argument {argument!r} must be a pair of numbers, got {_gate.given(values)}."
            ) from None
        return [self.number(first, argument), self.number(second, argument)]

    def host(self, value: Any) -> Any:
        """Return a setting with host arrays in the place of device arrays, in containers too."""
        if not self.on_device and "cupy" not in _modules():
            return value
        return all_on_host(value, self.function)

    def callback(
        self,
        callback: Any,
        name: str,
        arrays: tuple[int, ...] = (0,),
        *,
        keywords: bool = False,
        counted: bool = False,
        scalar: bool = False,
    ) -> Any:
        """Return a callback as SciPy is to call it; what is no function stays as it is.

        Parameters
        ----------
        callback : Any
        name : str
            Name of the argument.
        arrays : tuple of int
            Positions of the array arguments.
        keywords : bool
            Whether arguments by keyword are SciPy's, and are converted as well.
        counted : bool
            Whether its calls are the evaluations that a bar of progress shows.
        scalar : bool
            Whether its result has to be a number: arrays of one element are accepted.
        """
        if name in ("func", "fun", "f"):  # others may be words or numbers of SciPy's
            check_function(self.function, name, callback)
        if not callable(callback) or isinstance(callback, type):
            return callback
        counted = counted and bool(self.progress)
        if not self.on_device and not counted and not scalar and "cupy" not in _modules():
            return callback

        @functools.wraps(callback)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if counted:
                self.bar.step()
            if self.on_device:
                args = tuple([self.to_device(value, name) if i in arrays else value for i, value in enumerate(args)])
                if keywords:
                    kwargs = {key: self.to_device(value, name) for key, value in kwargs.items()}
            if _backend.get_backend() == self.backend:
                value = callback(*args, **kwargs)
            else:
                with _backend.use_backend(self.backend):
                    value = callback(*args, **kwargs)
            return self.to_number(value, name) if scalar else self.to_host(value, name)

        return wrapper

    # --- what crosses between host and device -------------------------------------------------------------------------

    def to_device(self, value: Any, name: str) -> Any:
        """Return what SciPy hands to a callback with device arrays in the place of host arrays."""
        if type(value) is np.ndarray:
            return self._upload(value, name) if _gate.fits_device(value.dtype) else value
        return _containers.convert(value, lambda leaf: self._leaf_to_device(leaf, name), {}, self.function)

    def _leaf_to_device(self, value: Any, name: str) -> Any:
        if isinstance(value, np.ndarray) and _gate.fits_device(value.dtype):
            return self._upload(value, name)
        return value

    def to_host(self, value: Any, name: str) -> Any:
        """Return what a callback returned with host arrays in the place of device arrays."""
        kind = type(value)
        if kind is float or kind is np.ndarray or value is None:
            return value
        if _arrays.is_device_array(value):
            return self._download(value, name)
        return _containers.convert(value, lambda leaf: self._leaf_to_host(leaf, name), {}, self.function)

    def _leaf_to_host(self, value: Any, name: str) -> Any:
        if _arrays.is_foreign_device_array(value):
            value = _conversion.wrap_foreign(value, self.function)
        return self._download(value, name) if _arrays.is_device_array(value) else value

    def to_number(self, value: Any, name: str) -> Any:
        """Return a callback's result of one element as a number; where it returned several results, each of them."""
        if isinstance(value, tuple):
            return tuple(self.to_number(each, name) for each in value)
        value = self.to_host(value, name)
        if isinstance(value, np.ndarray):
            if value.size != 1:
                raise ArgumentTypeError(
                    f"{self.function}: callback {name!r} must return a number, got {_gate.describe(value)}."
                )
            return value.reshape(())[()]
        return value

    def _upload(self, array: np.ndarray, name: str) -> Any:
        text = f"{self.function}: argument of {name}"
        watched = _transfers.watching()
        if watched:
            text = _transfers.call_text(text, array.shape, array.dtype)
            _transfers.announce("to_device", text, array.nbytes)
            started = perf_counter()
        device = self.cupy.empty(array.shape, array.dtype)
        if array.size:
            buffer = self._buffer("up", array)
            np.copyto(buffer, array)
            # Nothing waits: the buffer is not written to before a result was downloaded behind this copy.
            device.set(buffer, stream=self.cupy.cuda.get_current_stream())
        if watched:
            _transfers.record("to_device", text, array.nbytes, blocking=False, started=started)
        return device

    def _download(self, array: Any, name: str) -> np.ndarray:
        if not self.on_device:
            raise MixedBackendError(
                f"{self.function}: callback {name!r} returned an array in device memory, {_gate.describe(array)}, but "
                "the start value is on the host; start from a device array, xp.to_cupy(x0), or convert the result with "
                "xp.to_numpy."
            )
        text = f"{self.function}: result of {name}"
        watched = _transfers.watching()
        if watched:
            text = _transfers.call_text(text, array.shape, array.dtype)
            _transfers.announce("to_host", text, array.nbytes)
            started = perf_counter()
        with _transfers.own():
            host = np.array(array.get(out=self._buffer("down", array)) if array.size else array.get())
        self.buffers.__dict__.setdefault("pending", []).clear()
        if watched:
            _transfers.record("to_host", text, host.nbytes, started=started)
        return host

    def _buffer(self, way: str, array: Any) -> np.ndarray:
        """Return a page-locked buffer for an array, one that no copy is under way from."""
        kept = self.buffers.__dict__.setdefault(way, {})
        key = (array.shape, array.dtype)
        free: list[np.ndarray] = kept.setdefault(key, [])
        pending = self.buffers.__dict__.setdefault("pending", [])
        if len(pending) > _MOST_PENDING:  # its results stay on the host, and nothing has waited for the uploads
            _conversion.wait(self.cupy.cuda.get_current_stream().synchronize, f"{self.function}: uploads")
            pending.clear()
        for buffer in free:
            if not any(buffer is other for other in pending):
                break
        else:
            from cunumpy.memory._copies import pinned_empty

            buffer = pinned_empty(array.shape, array.dtype)
            free.append(buffer)
        if way == "up":
            pending.append(buffer)
        return buffer

    # --- results ------------------------------------------------------------------------------------------------------

    def result(self, value: Any) -> Any:
        """Return SciPy's result with arrays on the backend of the start value."""
        return all_on_device(value, self.function) if self.on_device else value


def _modules() -> dict[str, Any]:
    import sys

    return sys.modules


def all_on_host(value: Any, function: str) -> Any:
    """Return a value with host arrays in the place of device arrays, in containers too."""

    def leaf(value: Any) -> Any:
        if _arrays.is_device_array(value) or _arrays.is_foreign_device_array(value):
            return _conversion.to_numpy(value)
        return value

    return _containers.convert(value, leaf, {}, function)


def all_on_device(value: Any, function: str) -> Any:
    """Return a value with device arrays in the place of host arrays, in containers too."""

    def leaf(value: Any) -> Any:
        if isinstance(value, np.ndarray) and _gate.fits_device(value.dtype) and not _gate.is_masked(value):
            return _conversion.copy_to_device(np.ascontiguousarray(value) if value.ndim else value, function)
        return value

    return _containers.convert(value, leaf, {}, function)


def raised_by_scipy(error: BaseException) -> bool:
    """Tell whether an error comes from SciPy itself, and not from a function that it called."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals.get("__name__", "")).startswith("scipy.")


_CALL: CodeType = (lambda function, args, kwargs: function(*args, **kwargs)).__code__


def _as_of_the_user(name: str) -> Callable[..., Any]:
    """Return a function that calls another one as if it stood on the user's line.

    SciPy's warnings name the file and line that their caller is on, and are shown once for each of them: that has to be
    the user's, not this file's.
    """
    frame = _call_sites._user_frame()
    if frame is None:
        return lambda function, args, kwargs: function(*args, **kwargs)
    code = _CALL.replace(
        co_filename=frame.f_code.co_filename, co_firstlineno=frame.f_lineno, co_name=name, co_qualname=name
    )
    return FunctionType(code, frame.f_globals)
