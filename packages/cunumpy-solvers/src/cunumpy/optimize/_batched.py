"""What the batched solvers share: start values, callbacks, flags that are read from the device, codes of points.

A batched solver keeps an array `state` of int8 with one entry for each problem: `ACTIVE`, `CONVERGED`, or the negative
of the public status code of a failure. One number, its maximum, tells whether to go on and whether anything failed.
"""

from __future__ import annotations

import operator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _call_sites, _conversion, _gate, _transfers
from cunumpy.errors import ArgumentError, ArgumentTypeError, ConvergenceWarning, MixedBackendError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    from cunumpy._backend import BackendType

ACTIVE = 100
CONVERGED = 0
NO_SIGN_CHANGE = 1
ITERATION_LIMIT = 2
NOT_FINITE = 3
OUTSIDE = 4
ZERO_DERIVATIVE = 5
ROUNDING = 6

_REASONS = {
    NO_SIGN_CHANGE: "no sign change",
    NOT_FINITE: "values that are not finite",
    ZERO_DERIVATIVE: "zero derivatives",
}


class Batch:
    """The arrays of one solve: their backend, its module, and what is read from there.

    Parameters
    ----------
    function : str
        Name of the public function, for messages and recorded waits.
    backend : {"numpy", "cupy"}
        Where the arrays are.
    """

    def __init__(self, function: str, backend: BackendType) -> None:
        self.function = function
        self.backend = backend
        self.on_device = backend == "cupy"
        self.xp: ModuleType = _backend.require_cupy(function) if self.on_device else np
        self.errors = np.geterr()  # the user's own settings, for the user's functions

    def __reduce__(self) -> Any:
        return Batch, (self.function, self.backend)  # modules can't be pickled

    def array(self, value: Any, argument: str, *, kinds: str = "biufc") -> Any:
        """Return an argument as an array of this batch: numbers and lists are converted, arrays have to be there."""
        if _arrays.is_foreign_device_array(value):
            value = _conversion.wrap_foreign(value, self.function)
        if _arrays.is_device_array(value):
            if not self.on_device:
                raise self._mixed(argument, "in device memory", "on the host")
            _check_kind(value, kinds, self.function, argument)
            return value
        if self.on_device and isinstance(value, np.ndarray):
            raise self._mixed(argument, "on the host", "in device memory")
        host = _gate.as_host_array(value, function=self.function, argument=argument, dtype_kinds=kinds, native=True)
        if not self.on_device:
            return host.view(np.ndarray)
        if host.ndim == 0:
            return self.xp.full((), host[()])  # a launch, not a copy that the host waits for
        return _conversion.copy_to_device(host, self.function)

    def _mixed(self, argument: str, where: str, others: str) -> MixedBackendError:
        return MixedBackendError(
            f"{self.function}: argument {argument!r} is {where} and the start values are {others}; move one side "
            "explicitly, with xp.to_cupy(array) or xp.to_numpy(array)."
        )

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run callbacks with the backend of the arrays active."""
        if _backend.get_backend() == self.backend:
            yield
        else:
            with _backend.use_backend(self.backend):
                yield

    def read(self, flag: Any, text: str) -> int:
        """Return an integer in a 0-d array; from the device it is a wait, announced and recorded."""
        return int(self.read_all(flag, text))

    def read_all(self, values: Any, text: str) -> Any:
        """Return a small array as NumPy's; from the device it is one wait, announced and recorded as ``sync``."""
        return self.waited(values.get, text) if self.on_device else values

    def waited(self, call: Callable[[], Any], text: str) -> Any:
        """Return the result of a call of CuPy's that waits for the device; announced and recorded as ``sync``."""
        if not _transfers.watching():
            return call()
        text = f"{self.function}: {text}"
        _transfers.announce("sync", text)
        started = perf_counter()
        with _transfers.own():
            result = call()
        _transfers.record("sync", text, started=started)
        return result

    def floating(self, array: Any) -> Any:
        """Return a floating-point copy to calculate with: integers in float64, halves in float32."""
        return array.astype(float_dtype(array.dtype), order="C", copy=True)


def backend_of(function: str, **arguments: Any) -> BackendType:
    """Return the backend that array arguments belong to; where there is none, the active one.

    Lists and numbers are at home on both backends.

    Raises
    ------
    MixedBackendError
        Arrays of both backends.
    """
    device: list[str] = []
    host: list[str] = []
    for argument, value in arguments.items():
        if _arrays.get_array_backend(value) == "cupy":
            device.append(argument)
        elif isinstance(value, np.ndarray):
            host.append(argument)
    if device and host:
        raise MixedBackendError(
            f"{function}: argument(s) {', '.join(map(repr, device))} are in device memory and "
            f"{', '.join(map(repr, host))} on the host; move one side explicitly, with xp.to_cupy(array) or "
            "xp.to_numpy(array)."
        )
    if device or host:
        return "cupy" if device else "numpy"
    return _backend.get_backend()


def batch_of(function: str, **arguments: Any) -> Batch:
    """Return the batch that array arguments belong to; see `backend_of`."""
    return Batch(function, backend_of(function, **arguments))


def common_shape(batch: Batch, arrays: dict[str, Any]) -> tuple[int, ...]:
    """Return the shape that named arrays broadcast to."""
    try:
        return np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name!r} {array.shape}" for name, array in arrays.items())
        raise ArgumentError(
            f"{batch.function}: the shapes of {shapes} can't be broadcast to one shape, that of the batch."
        ) from None


def float_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that a solver calculates in for a dtype of start values."""
    if dtype.kind in "fc":
        return np.dtype(np.float32) if dtype == np.float16 else dtype.newbyteorder("=")
    return np.dtype(np.float64)


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the parts of a floating-point dtype."""
    return np.empty(0, dtype).real.dtype


def complex_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the complex dtype whose parts have a floating-point dtype."""
    return np.result_type(dtype, np.complex64)


class Callback:
    """A user's function of a batch, whose results are checked.

    Parameters
    ----------
    function : callable
        What the user gave.
    name : str
        Name of the argument.
    batch : Batch
    shape : tuple of int
        Shape that its results must have; one number, for all, is accepted as well.
    args : tuple
        Further arguments.
    kinds : str
        The accepted ``dtype.kind`` letters of its results.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        batch: Batch,
        shape: tuple[int, ...],
        args: tuple[Any, ...],
        kinds: str = "biufc",
    ) -> None:
        if not callable(function):
            raise ArgumentTypeError(
                f"{batch.function}: argument {name!r} must be a function, got {_gate.given(function)}."
            )
        self.function = function
        self.name = name
        self.batch = batch
        self.shape = shape
        self.args = args
        self.kinds = kinds
        self.calls = 0

    def __call__(self, *arguments: Any) -> Any:
        return self.checked(self.run(*arguments), self.shape)

    def run(self, *arguments: Any) -> Any:
        """Call the function; NumPy treats its floating-point errors as it did where the user called the solver."""
        self.calls += 1
        with np.errstate(**self.batch.errors):
            return self.function(*arguments, *self.args)

    def kept(self, dtype: np.dtype[Any], *arguments: Any) -> Any:
        """Call and return a copy in a dtype, to be used after further calls: those may write to the same array."""
        values = self(*arguments)
        if values.dtype.kind == "c" and dtype.kind != "c":
            raise ArgumentError(
                f"{self.batch.function}: callback {self.name!r} returned complex values, and the start values and its "
                "first result are real; start from complex ones."
            )
        return values.astype(dtype, order="C", copy=True)

    def checked(self, value: Any, shape: tuple[int, ...]) -> Any:
        """Return a result as an array of the batch with the wanted shape."""
        batch = self.batch
        if _arrays.is_foreign_device_array(value):
            value = _conversion.wrap_foreign(value, batch.function)
        if _arrays.is_device_array(value) if batch.on_device else type(value) is np.ndarray:
            array = value
        elif batch.on_device and isinstance(value, (bool, int, float, complex, np.generic)):
            return batch.xp.full(shape, value)
        elif batch.on_device or _arrays.is_device_array(value):
            where, others = ("on the host", "in device memory")[:: 1 if batch.on_device else -1]
            raise MixedBackendError(
                f"{batch.function}: callback {self.name!r} returned {_gate.describe(value)}, which is {where}, but its "
                f"arguments are {others}; let it calculate with its arguments' own library, xp.get_array_module(x)."
            )
        else:
            array = _gate.as_host_array(
                value, function=batch.function, argument=f"result of callback {self.name}", native=True
            ).view(np.ndarray)
        _check_kind(array, self.kinds, batch.function, f"result of callback {self.name}")
        if array.shape == shape:
            return array
        if array.ndim == 0:
            return batch.xp.broadcast_to(array, shape)
        raise ArgumentError(
            f"{batch.function}: callback {self.name!r} returned shape {array.shape}, expected {shape}, one value for "
            "each problem of the batch, or a single number."
        )


def _check_kind(array: Any, kinds: str, function: str, argument: str) -> None:
    if array.dtype.kind not in kinds:
        real = " real" if "c" not in kinds else ""
        raise ArgumentTypeError(f"{function}: {argument!r} must hold{real} numbers, got {_gate.describe(array)}.")


def as_args(args: Any, function: str) -> tuple[Any, ...]:
    """Return further arguments of a callback as a tuple; one that is no tuple or list is refused."""
    if isinstance(args, (tuple, list)):
        return tuple(args)
    raise ArgumentTypeError(
        f"{function}: argument 'args' must be a tuple of further arguments, got {_gate.given(args)}; write (value,) "
        "for a single one."
    )


def as_count(value: Any, argument: str, function: str, *, least: int = 1) -> int:
    """Return a number of iterations and the like."""
    try:
        count = operator.index(value)
    except TypeError:
        count = least - 1
    if count < least or isinstance(value, bool):
        raise _bad_number(value, argument, function, f"an integer of at least {least}")
    return count


def as_tolerance(value: Any, argument: str, function: str, *, positive: bool = False) -> float:
    """Return a tolerance: a finite number that is not negative."""
    number = _as_number(value, argument, function)
    if not 0 <= number < np.inf or (positive and number == 0):
        expected = ("" if positive else "0 or ") + ("positive" if np.isfinite(number) else "positive and finite")
        raise _bad_number(value, argument, function, expected)
    return number


def as_bounds(batch: Batch, bounds: Any, x: Any, *, unknowns: bool = False) -> tuple[Any, Any] | None:
    """Return a pair of lower and upper bounds in the shape of the iterates.

    Their order is checked where both are on the host: nothing is read from the device for it.

    Parameters
    ----------
    batch : Batch
    bounds : tuple of two array_like, optional
    x : ndarray
        The iterates.
    unknowns : bool
        Whether the first axis is that of the unknowns, and bounds of its length belong to them.
    """
    if bounds is None:
        return None
    function, shape = batch.function, x.shape
    try:
        lower, upper = bounds
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{function}: argument 'bounds' must be a pair of a lower and an upper bound, each a number or an array."
        ) from None
    limits = []
    on_host = []
    for name, value in (("bounds[0]", lower), ("bounds[1]", upper)):
        limit = batch.array(value, name, kinds="biuf").astype(x.dtype)
        full = limit.shape + (1,) * (len(shape) - 1) if unknowns and limit.shape == shape[:1] else limit.shape
        limit = limit.reshape(full)
        if not _arrays.is_device_array(value):
            on_host.append(np.reshape(value, full))
        try:
            limits.append(batch.xp.broadcast_to(limit, shape))
        except ValueError:
            each = f", one for each unknown, shape ({shape[0]},)," if unknowns else ""
            raise ArgumentError(
                f"{function}: argument {name!r} must be a number{each} or of a shape that can be broadcast to that of "
                f"'x0', {shape}, got shape {limit.shape}."
            ) from None
    if len(on_host) == 2 and not np.less_equal(*on_host).all():
        raise ArgumentError(
            f"{function}: argument 'bounds' must have lower bounds that are not above the upper ones, and no NaN, got "
            f"{_gate.given(lower)} and {_gate.given(upper)}."
        )
    return limits[0], limits[1]


def _as_number(value: Any, argument: str, function: str) -> float:
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return float(value)
    raise ArgumentTypeError(f"{function}: argument {argument!r} must be a real number, got {_gate.given(value)}.")


def _bad_number(value: Any, argument: str, function: str, expected: str) -> ArgumentError:
    return ArgumentError(f"{function}: argument {argument!r} must be {expected}, got {_gate.given(value)}.")


class Flags:
    """Decides when to stop: reads the largest state of all points after every so many iterations.

    Parameters
    ----------
    batch : Batch
    check_every : int
        Iterations between two reads; 0 for none.
    """

    def __init__(self, batch: Batch, check_every: Any) -> None:
        self.batch = batch
        self.check_every = as_count(check_every, "check_every", batch.function, least=0)
        self.largest: int | None = None  # as it was last read; None if that may have changed

    def go_on(self, state: Callable[[], Any], iteration: int, last: bool) -> bool:
        """Tell whether any point is active after an iteration, counted from 1, as far as that is looked for.

        `state` gives the state of all points, or the largest of them.
        """
        self.largest = None
        if self.check_every == 0 or (iteration % self.check_every and not last):
            return not last
        self.largest = self.batch.read(state().max(), "flag of the iteration")
        return self.largest == ACTIVE and not last


def finish(batch: Batch, state: Any) -> Any:
    """Turn states into public status codes, of those that are active into that of the iteration limit."""
    xp = batch.xp
    return -xp.where(state == ACTIVE, xp.int8(ITERATION_LIMIT), state)


def warn_of_failures(batch: Batch, state: Any, reasons: Sequence[int] = ()) -> None:
    """Warn at the user's line if points have failed."""
    xp = batch.xp
    counts = [xp.count_nonzero(state != CONVERGED), *(xp.count_nonzero(state == reason) for reason in reasons)]
    failed, *found = batch.read_all(xp.stack(counts) if batch.on_device else counts, "number of failures")
    if not failed:
        return
    why = ", ".join(_REASONS[reason] for reason, number in zip(reasons, found, strict=True) if number)
    _call_sites.warn(
        f"{batch.function}: {int(failed)} of {state.size} points did not converge" + (f" ({why})" if why else ""),
        ConvergenceWarning,
    )


def warn_of_some(batch: Batch, success: Any, what: str) -> None:
    """Warn at the user's line if some have failed, `what` says of what and at what; their result has a status."""
    failed = success.size and success.size - batch.read(batch.xp.count_nonzero(success), "number of failures")
    if failed:
        _call_sites.warn(
            f"{batch.function}: {failed} of {success.size} {what}; the 'status' of the result says why",
            ConvergenceWarning,
        )
