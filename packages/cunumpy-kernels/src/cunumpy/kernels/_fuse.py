"""Elementwise functions of arrays as one kernel: CuPy's on device arrays, compiled loops on NumPy arrays."""

from __future__ import annotations

import functools
import logging
import os
import re
import sys
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from cunumpy import _arrays, _backend
from cunumpy._gate import describe
from cunumpy.cuda._locks import new_lock
from cunumpy.errors import ArgumentError, ArgumentRangeError, ArgumentTypeError, MixedBackendError
from cunumpy.kernels._fused_arrays import FusedArray, Record, in_tree
from cunumpy.kernels._fused_graph import DTYPES, Node, evaluated
from cunumpy.kernels._fused_loops import Kernel, Loop, Plan, plan, shown
from cunumpy.kernels._host_types import POSITIONAL, signature_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_modules = sys.modules

_host_types: set[type] = {np.ndarray, FusedArray, int, float, complex, bool, str, tuple, list, dict, type(None)}
"""Types whose objects are no CuPy arrays; those that are met are added."""

_logger = logging.getLogger("cunumpy")

PAYS = 131072
"""From so many elements on compiled loops are quicker than NumPy's functions one after another."""

MAX_KERNELS = 64
"""So many different loops are compiled for one function; one that needs more is left to NumPy."""

MAX_SIGNATURES = 1024

_P = ParamSpec("_P")
_R = TypeVar("_R", covariant=True)


class Fused(Protocol[_P, _R]):
    """What `fuse` makes of a function."""

    __name__: str
    __wrapped__: Callable[..., Any]

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Call it."""
        ...

    def source(self, *args: _P.args, **kwargs: _P.kwargs) -> str:
        """Return what is compiled for NumPy arrays."""
        ...

    def __get__(self, instance: Any, owner: type | None = None, /) -> Any:
        """Bind it, as a method."""
        ...


@overload
def fuse(function: Callable[_P, _R], *, kernel_name: str | None = None) -> Fused[_P, _R]: ...
@overload
def fuse(function: None = None, *, kernel_name: str | None = None) -> Callable[[Callable[_P, _R]], Fused[_P, _R]]: ...
def fuse(function: Any = None, *, kernel_name: str | None = None) -> Any:
    """Make one kernel, or one loop, of an elementwise function of arrays.

    With device arrays, `cupy.fuse` follows what `function` does with them, once for each combination of dtypes and
    numbers of dimensions, and compiles one kernel for all of it, with no arrays in between. While it follows, and only
    then, the CuPy backend is active in this context (thread, task), so that ``xp.exp`` is CuPy's.

    With NumPy arrays of 131072 elements or more, `function` is called with stand-ins for them, and what it does with
    them is done by one loop that the machine's C++ compiler has compiled, on all workers (`CUNUMPY_NUM_THREADS`). In
    smaller calls, and where there is no compiler, NumPy does it.

    Fused functions may call each other: the inner one becomes part of the outer one's kernel.

    Parameters
    ----------
    function : callable, optional
        Of arrays and numbers; it may use operators, universal functions such as ``xp.exp``, ``xp.where``, ``xp.clip``,
        ``astype``, and a reduction (sum, prod, min, max, any, all), with CuPy at its end alone. Left out, a decorator
        is returned.
    kernel_name : str, optional
        Of the kernel, in profilers. Default: that of the function.

    Returns
    -------
    callable
        With the name, documentation and ``__wrapped__`` of `function`, and a method ``source(*args)`` that returns
        the C++ code of the loops that a call with such NumPy arrays has, of whatever size. In calls with a device
        array, positional parameters may be given by keyword. Python numbers there take the dtype that NumPy gives them
        beside the arrays: the arrays' own, or a wider one where the kind of number needs it.

    Raises
    ------
    ArgumentTypeError
        `function` can't be called; in a call: a keyword that is no positional parameter, of device arrays. Of NumPy
        arrays: a product of matrices, a change of shape, or indexing (but ``x[...] = y``) in `function`.
    ArgumentError
        The name of the kernel is no identifier.
    MixedBackendError
        In a call: NumPy arrays among device arrays.
    ArgumentRangeError
        In a call: a number that the device arrays' dtype can't hold.
    SettingError
        In a call that compiles: ``CXX`` holds what is no C++ compiler.

    Notes
    -----
    What `function` can't be fused for, CuPy's exception says at the first call with device arrays.

    On NumPy arrays, dtypes, shapes, memory order and what is written in place are those of the function unfused, and so
    is each bit of ``+ - * / // % sqrt``, comparisons, rounding, and all that is done with integers and booleans.
    Products of complex numbers, powers, exponentials and the like are within 4 ulp; sums are pairwise, as NumPy's
    are, and no number of workers changes them. Arrays that overlap, subclasses of NumPy's array, other dtypes, and
    functions that ask for values (``if (x > 0).any():``) or use what is not elementwise (`numpy.cumsum`, say) run
    unfused, with all of NumPy's results. Python's own part of `function` runs in every call.

    A compiled loop gives no floating-point warnings, as a GPU does not. Where `numpy.errstate` asks for more than
    warnings, the function runs unfused.

    Examples
    --------
    >>> import cunumpy as xp
    >>> @xp.kernels.fuse
    ... def damped(x, rate):
    ...     return x * xp.exp(-rate * x)
    >>> damped(xp.zeros(2), 0.5)
    array([0., 0.])
    >>> print(damped.source(xp.zeros(2), 0.5), end="")
    // 1. A loop over 2 elements of shape (2,).
    __device__ static inline void elements(const double a0, const double n0, double& r0) {
        const double v0 = (double)(n0 * a0);
        const double v1 = (double)(exp(v0));
        const double v2 = (double)(a0 * v1);
        r0 = v2;
    }
    """
    if function is None:
        return functools.partial(fuse, kernel_name=kernel_name)
    if not callable(function):
        raise ArgumentTypeError(f"fuse: argument 'function' must be callable, got {describe(function)}.")
    if kernel_name is not None and not (isinstance(kernel_name, str) and re.fullmatch(r"[A-Za-z_]\w*", kernel_name)):
        raise ArgumentError(f"fuse: argument 'kernel_name' must be a name of a C function, got {kernel_name!r}.")

    on_device = _OnDevice(function, kernel_name)
    on_host = _OnHost(function, on_device.name, on_device.kernel_name)
    known, array_type = on_host.known, np.ndarray

    @functools.wraps(function)
    def fused(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and tuple(map(type, args)) in known:  # the quick way to small calls
            shape = None
            for value in args:
                if type(value) is array_type and shape != value.shape:
                    if shape is not None or value.size >= PAYS:
                        break
                    shape = value.shape
            else:
                return function(*args)
        if "cupy" in _modules and _any_device_array(args, kwargs):
            return on_device(args, kwargs)
        return on_host(args, kwargs)

    fused.__name__ = on_device.name
    fused.source = on_host.source  # type: ignore[attr-defined]
    return fused


def _any_device_array(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    values = (*args, *kwargs.values()) if kwargs else args
    return any(type(value) not in _host_types and _is_device_array(value) for value in values)


def _is_device_array(value: Any) -> bool:
    if _arrays.is_device_array(value):
        return True
    if len(_host_types) < 256:
        _host_types.add(type(value))
    return False


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


class _OnDevice:
    """The calls with device arrays."""

    def __init__(self, function: Callable[..., Any], kernel_name: str | None) -> None:
        self.name = _name_of(function)
        self._function = function
        self.kernel_name = kernel_name or re.sub(r"\W", "_", self.name, flags=re.ASCII)
        self._fused: Callable[..., Any] | None = None

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if kwargs:
            args = self._positional(args, kwargs)
        dtypes = []
        for number, value in enumerate(args):
            if isinstance(value, np.ndarray):
                raise MixedBackendError(
                    f"{self.name}: argument {number} is a NumPy array ({describe(value)}) in a fused call with device "
                    "arrays; convert it explicitly, with xp.to_cupy."
                )
            if _arrays.is_device_array(value):
                dtypes.append(value.dtype)
        args = tuple(self._number(value, dtypes) if type(value) in (int, float, complex) else value for value in args)
        if self._fused is None:
            self._fused = _modules["cupy"].fuse(kernel_name=self.kernel_name)(self._follow)
        return self._fused(*args)

    def _follow(self, *args: Any) -> Any:
        with _backend.use_backend("cupy", strict=True):
            return self._function(*args)

    def _number(self, value: complex, dtypes: list[Any]) -> np.generic:
        dtype = np.result_type(*dtypes)
        try:
            dtype = np.result_type(dtype, value)
            with np.errstate(over="ignore"):
                number: np.generic = dtype.type(value)
        except OverflowError:
            number = np.float64(np.inf)
        if np.isinf(number) and (isinstance(value, int) or not np.isinf(value)):
            raise ArgumentRangeError(
                f"{self.name}: the number {value!r} is out of the range of {dtype}, which the arrays of the call have; "
                "convert the arrays to a wider dtype."
            )
        return number

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments by position: CuPy takes no keywords."""
        try:
            signature = signature_of(self._function)
        except ValueError:  # a builtin that doesn't say
            others = list(kwargs)
        else:
            given = signature.bind(*args, **kwargs).arguments
            places = [one for one in signature.parameters.values() if one.kind in POSITIONAL]
            others = [name for name in kwargs if name not in {one.name for one in places}]
            if not others:
                last = max(number for number, one in enumerate(places) if one.name in given)
                values = [given.get(one.name, one.default) for one in places[: last + 1]]
                return (*values, *args[len(values) :])
        raise ArgumentTypeError(
            f"{self.name}: keyword(s) {', '.join(map(repr, others))} can't be passed in a fused call with device "
            "arrays; make them positional parameters."
        )


class _OnHost:
    """The calls without device arrays."""

    def __init__(self, function: Callable[..., Any], name: str, kernel_name: str) -> None:
        self._function, self._name, self._kernel_name = function, name, kernel_name
        self._fuses: dict[tuple[Any, ...], bool] = {}
        """Of each combination of types that was met, whether the function can be fused for it."""
        self.known: set[tuple[type, ...]] = set()
        """Types of arguments without device arrays, for which the function has been looked at."""
        self._kernels: dict[tuple[Any, ...], Kernel] = {}
        self._lock = new_lock()

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        signature, most = _signature(args, kwargs)
        if not most:
            return self._function(*args, **kwargs)
        fuses = self._fuses.get(signature)
        if fuses is None or (fuses and most >= PAYS):
            return self._recorded(args, kwargs, signature)
        return self._function(*args, **kwargs)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """Return the code of the loops for a call with these NumPy arrays, whatever their size.

        Raises
        ------
        ArgumentTypeError
            The function can't be fused for them; the text says why.
        """
        record = Record(self._name)
        given, named = _stand_ins(record, args, kwargs)
        returned = self._function(*given, **named)
        if record.why_not is not None or not any(type(one) is FusedArray for one in (*given, *named.values())):
            why = record.why_not or "there is no NumPy array that a loop takes"
            raise ArgumentTypeError(f"{self._name}: with these arguments it runs unfused: {why}.")
        text = shown(plan((one._node for one in _wanted(record, returned)), 1).steps)
        record.end()
        record.release()
        return text

    def _recorded(self, args: tuple[Any, ...], kwargs: dict[str, Any], signature: tuple[Any, ...]) -> Any:
        """Call the function with stand-ins, and do what it did with them."""
        if not _warns_at_most():
            return self._function(*args, **kwargs)
        record = Record(self._name)
        try:
            return self._done(record, args, kwargs, signature)
        finally:
            record.release()

    def _done(self, record: Record, args: tuple[Any, ...], kwargs: dict[str, Any], signature: tuple[Any, ...]) -> Any:
        given, named = _stand_ins(record, args, kwargs)
        try:
            returned = self._function(*given, **named)
        except BaseException:
            if record.why_not is None and not record.refused:
                record.run_by_numpy()  # up to here
            raise
        finally:
            why_not = record.why_not
            record.end()
        if len(self._fuses) < MAX_SIGNATURES or signature in self._fuses:
            self._fuses[signature] = why_not is None
            if not kwargs:
                self.known.add(tuple(map(type, args)))
        if why_not is not None:
            _logger.debug("%s runs unfused: %s", self._name, why_not)
        else:
            wanted = _wanted(record, returned)
            steps = plan((one._node for one in wanted), PAYS)
            kernels = self._kernels_of(steps) if _can_compile() else None
            if kernels:
                _run(record, wanted, steps, kernels)
            else:
                record.run_by_numpy()
        return record.real(returned)

    def _kernels_of(self, steps: Plan) -> dict[int, Kernel] | None:
        """Return the kernel of each step that is a loop, by number; None if there would be too many."""
        from cunumpy.kernels._cpu_device.compiler import find_compiler

        kernels = {}
        for number, step in enumerate(steps.steps):
            if isinstance(step, Loop):
                kernel = self._kernels.get(step.key)
                if kernel is None:
                    with self._lock:
                        kernel = self._kernels.get(step.key)
                        if kernel is None:
                            if len(self._kernels) >= MAX_KERNELS:
                                _logger.debug("%s runs unfused: it has more than %d loops", self._name, MAX_KERNELS)
                                return None
                            find_compiler()  # a wrong setting is told before anything is written
                            kernel = self._kernels[step.key] = Kernel(step, self._kernel_name)
                kernels[number] = kernel
        return kernels


def _can_compile() -> bool:
    """Tell whether there is a C++ compiler; where ``CXX`` names none, whoever needs it raises the error."""
    from cunumpy.kernels._cpu_device.compiler import compiler_is_there

    return bool(os.environ.get("CXX", "").strip()) or compiler_is_there()


def _signature(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], int]:
    """Return the types of a call, and about how many elements its loops have; 0 if it can't be fused."""
    types: list[Any] = []
    most = 0
    shape: Any = None
    for value in (*args, *kwargs.values()) if kwargs else args:
        kind = type(value)
        if kind is np.ndarray:
            if value.dtype not in DTYPES:
                return (), 0
            types.append(value.dtype)
            if shape is None:
                shape, most = value.shape, value.size
            elif value.shape != shape:
                most *= max(value.size, 1)  # as many as there can be
        elif kind is FusedArray or isinstance(value, np.ndarray):
            return (), 0
        else:
            types.append(value if kind in (bool, str) else kind)
    if kwargs:
        types.append(tuple(kwargs))
    return tuple(types), most


def _warns_at_most() -> bool:
    return all(one in ("ignore", "warn") for one in np.geterr().values())


def _stand_ins(record: Record, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    def stand_in(value: Any) -> Any:
        return record.stand_in(value) if type(value) is np.ndarray and value.dtype in DTYPES else value

    return [stand_in(one) for one in args], {name: stand_in(one) for name, one in kwargs.items()}


def _wanted(record: Record, returned: Any) -> list[FusedArray]:
    """Return what has to be calculated: arguments that were changed, and new arrays that are returned."""
    new = {id(one): one for one in in_tree(returned) if one._real is None}
    return [*record.changed.values(), *new.values()]


def _run(record: Record, wanted: Iterable[FusedArray], steps: Plan, kernels: dict[int, Kernel]) -> None:
    """Do the steps of a plan, and give the arrays to their stand-ins."""
    last_read: dict[int, int] = {}
    values: dict[Any, Any] = {}
    for node, number in steps.last_read.items():
        values[node] = node.array
        last_read[id(node.array)] = number
    results = list(wanted)
    targets = {one._node: one._real for one in results if one._real is not None}
    for number, step in enumerate(steps.steps):
        if not isinstance(step, Loop):
            values[step] = evaluated(step, [values[one] if isinstance(one, Node) else one for one in step.operands])
            continue
        into = {
            one: targets[one]
            for one in step.outputs
            if one in targets and last_read.get(id(targets[one]), -1) <= number
        }
        values.update(zip(step.outputs, kernels[number](step, values, into), strict=True))
    for one in results:
        value = values[one._node]
        if one._real is None:
            one._real = value
        elif value is not one._real:
            np.copyto(one._real, value)
