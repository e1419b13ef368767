"""Host kernels on device arrays: the arguments are copied to the host and what was written is copied back."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _backend, _gate, _transfers
from cunumpy._host_call import refuse_unfinished
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.kernels import _conversion, _host_types

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

__all__ = ["PyccelKernel", "outputs_from_annotations"]

_modules = sys.modules
_get_backend = _backend.get_backend
_are_host = _conversion.HOST_TYPES.issuperset


class _OutputIndexError(ArgumentError, IndexError):
    """An output is no position among the arguments."""


class _OutputNameError(ArgumentError, KeyError):
    """An output is no name of an argument."""

    __str__ = Exception.__str__  # a KeyError shows its text quoted


class PyccelKernel:
    """A host function that can be called with device arrays.

    Compiled host code, of Pyccel for instance, takes NumPy arrays only. Called with device arrays, or with the CuPy
    backend active, the kernel gives the function host copies of them, and copies back to the device what it has
    written. Otherwise it just calls the function. Nothing is compiled here.

    Parameters
    ----------
    kernel : callable
        The function.
    use_cupy : bool, optional
        Whether to convert. By default with the CuPy backend active, and else if there is a device array in an argument.
    object_modules : sequence of str, default: ()
        Modules and packages by dotted name. Objects of classes that are defined in them, or in a module inside of them,
        are argument objects: device arrays are also found in their attributes and slots.
    is_array : callable, optional
        Tells of a value in the result whether it goes to the device. By default NumPy arrays do. It is not asked of
        numbers, which stay on the host.
    outputs : sequence of int or str, optional
        The arguments that the function writes to, by position (negative: from the end of those passed) or name; every
        array inside of them counts. ``()`` says that it writes to none. By default all are copied back.
    parameters : sequence of str, or callable that returns one or None, optional
        The names of the positional parameters, or what gives them when they are needed. By default those of
        ``kernel.python`` if there is such an attribute, else of `kernel`; without a signature they are not known.

    Attributes
    ----------
    name : str
        The function's ``__name__``, else the name of its class.
    kernel, object_modules, is_array, outputs
        As given.
    use_cupy : bool
        As given, else whether the CuPy backend is active now.

    Raises
    ------
    ArgumentTypeError
        `kernel` or `is_array` is not callable; `outputs`, `object_modules` or `parameters` is one str, or holds
        something else than it should; `use_cupy` is no bool.
    ArgumentError
        `outputs` names no parameter, where these are known without calling `parameters`. It is an `IndexError` or a
        `KeyError` too.

    Notes
    -----
    Conversion keeps what the function can see, and what the caller can see afterwards, as on NumPy arrays:

    * Arrays are found in tuples, lists, dicts and dataclass instances at any depth, and in argument objects. Around a
      device array these are copied, and the copies have the same type (named tuples, frozen and slotted dataclasses,
      ``defaultdict``, subclasses of list) and hold themselves where the originals do. No ``__init__`` is called.
    * An array that is passed twice is copied once. Views of the same device memory become views of one host copy of
      that memory, whose layout they keep. Other copies are in Fortran order where the array is, else in C order.
    * The function runs with the NumPy backend active.
    * Arrays that it may have written are copied back once each, in place, after it has returned; a strided one by way
      of a temporary device array. What it has put into lists, dicts, dataclass instances and argument objects, or taken
      out of them, is so in the caller's, with new arrays on the device.
    * In its result arrays go to the device, also inside of tuples, lists, dicts and dataclass instances. A converted
      argument in it is the caller's array or container, and a view of one a view of the caller's. Masked arrays and
      those of dtypes that a device can't hold stay on the host.
    * If the function raises, nothing is copied back. Wrong `outputs` raise before it is called.

    Recorded are ``to_host`` for each copy, ``to_device`` for each array that is copied back or new in the result, and
    one ``kernel_conversion`` for the call.

    Examples
    --------
    >>> import numpy as np
    >>> from cunumpy.kernels import PyccelKernel
    >>> def scale(x, factor: float):
    ...     x *= factor
    >>> kernel = PyccelKernel(scale, outputs=["x"])
    >>> x = np.ones(2)
    >>> kernel(x, 3.0)
    >>> x
    array([3., 3.])
    """

    def __init__(
        self,
        kernel: Callable[..., Any],
        use_cupy: bool | None = None,
        object_modules: Sequence[str] = (),
        is_array: Callable[[Any], bool] | None = None,
        outputs: Sequence[int | str] | None = None,
        parameters: Sequence[str] | Callable[[], Sequence[str] | None] | None = None,
    ) -> None:
        if not callable(kernel):
            raise ArgumentTypeError(f"PyccelKernel: argument 'kernel' must be the function to call, got {kernel!r}.")
        self._kernel = kernel
        self._name = str(getattr(kernel, "__name__", type(kernel).__name__))
        self._use_cupy = _checked_use(use_cupy)
        self._object_modules = _checked_modules(object_modules)
        self._opened = _conversion.opened_by(self._object_modules)
        if is_array is not None and not callable(is_array):
            raise ArgumentTypeError(
                "PyccelKernel: argument 'is_array' must be a function of a value, or None, got "
                f"{_gate.describe(is_array)}."
            )
        self._is_array = _is_numpy_array if is_array is None else is_array
        self._outputs = _checked_outputs(outputs)
        self._parameters = _checked_parameters(parameters)
        self._check_known_outputs()

    @property
    def name(self) -> str:
        """The function's name."""
        return self._name

    @property
    def kernel(self) -> Callable[..., Any]:
        """The function."""
        return self._kernel

    @property
    def use_cupy(self) -> bool:
        """Whether calls convert: as it was given, else whether the CuPy backend is active now."""
        return _backend.get_backend() == "cupy" if self._use_cupy is None else self._use_cupy

    @property
    def object_modules(self) -> tuple[str, ...]:
        """The modules whose objects are looked into."""
        return self._object_modules

    @property
    def is_array(self) -> Callable[[Any], bool]:
        """What tells which values of a result go to the device."""
        return self._is_array

    @property
    def outputs(self) -> tuple[int | str, ...] | None:
        """The arguments that are written to; None if that is not known."""
        return self._outputs

    def __repr__(self) -> str:
        return f"PyccelKernel({self._name}, use_cupy={self.use_cupy}, outputs={self._outputs})"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; see the class for what becomes of device arrays.

        Raises
        ------
        ArgumentError
            `outputs` names no argument of this call (an `IndexError` or `KeyError`), or another library's array that is
            read-only. The function has written to an array whose elements share memory, as a broadcast one's do, or has
            changed the shape or dtype of an array in place; then nothing is copied back.
        ArgumentTypeError
            A container around a device array can't be copied; or the function is a generator or asynchronous, so that
            its body would run after the call.
        MissingPackageError
            An array of the result is to go to the device, and CuPy can't be used.
        TransferError
            Inside ``xp.profiling.forbid_transfers()``, before the function is called.
        """
        convert = self._use_cupy
        if convert is None:
            if "cupy" not in _modules:  # then there are no device arrays, and the backend is NumPy
                return self._kernel(*args, **kwargs) if kwargs else self._kernel(*args)
            if (
                _are_host(map(type, args))
                and (not kwargs or _are_host(map(type, kwargs.values())))
                and _get_backend() == "numpy"
            ):
                return self._kernel(*args, **kwargs)
        elif not convert:
            return self._kernel(*args, **kwargs)
        arrays = _conversion.device_arrays((*args, *kwargs.values()), self._opened)
        if not arrays and convert is None and _backend.get_backend() == "numpy":
            return self._kernel(*args, **kwargs)
        written = self._written(args, kwargs)
        host = _conversion.HostArguments(args, kwargs, arrays, self._opened, self._name)
        if arrays and _transfers.watching():
            text = f"{self._name}: a host kernel on copies of {len(arrays)} device array(s)"
            _transfers.announce("kernel_conversion", text)
            _transfers.record("kernel_conversion", text)
        with _backend.use_backend("numpy"):
            result = self._kernel(*host.args, **host.kwargs)
        refuse_unfinished(result, self._name, "PyccelKernel")
        return host.finish(result, self._is_array, written)

    def _written(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> set[int] | None:
        """Return the ``id`` of each device array in the declared outputs, or None for all."""
        outputs: list[Any] = [*args, *kwargs.values()]
        if self._outputs is not None:
            names = self._parameter_names() if self._outputs else None
            outputs = [_argument(output, args, kwargs, names, self._name) for output in self._outputs]
        arrays = _conversion.device_arrays(outputs, self._opened)
        for array in arrays.values():
            _conversion.check_writable(array, self._name)
            if self._outputs is not None and _gate.overlaps_itself(array):
                raise ArgumentError(
                    f"{self._name}: the device array {_gate.describe(array)} is among the outputs, but elements of it "
                    "share memory, of which one result only could be kept; pass an array without overlaps."
                )
        return None if self._outputs is None else set(arrays)

    def _parameter_names(self) -> tuple[str, ...] | None:
        parameters = self._parameters
        if parameters is None:
            found = _signature(self._kernel)
            names = [] if found is None else [p.name for p in found.values() if p.kind in _host_types.POSITIONAL]
        else:
            names = list((parameters() if callable(parameters) else parameters) or ())
        return tuple(names) or None

    def _check_known_outputs(self) -> None:
        """Raise for outputs that no call can have, so that tests without a device find them."""
        if not self._outputs or callable(self._parameters):
            return
        found = _signature(self._kernel)
        names = self._parameter_names()
        if names is None:
            return
        kinds = set() if found is None else {parameter.kind for parameter in found.values()}
        known = {*names, *(found or ())}
        for output in self._outputs:
            if isinstance(output, str):
                if output not in known and inspect.Parameter.VAR_KEYWORD not in kinds:
                    raise _OutputNameError(
                        f"PyccelKernel: outputs names {output!r}, but the parameters of {self._name!r} are "
                        f"{_listed(names)}; correct it, or the function."
                    )
            elif not -len(names) <= output < len(names) and inspect.Parameter.VAR_POSITIONAL not in kinds:
                raise _OutputIndexError(
                    f"PyccelKernel: outputs names position {output}, but {self._name!r} has {len(names)} parameter(s), "
                    f"{_listed(names)}; correct it, or the function."
                )


def outputs_from_annotations(function: Callable[..., Any]) -> tuple[str, ...] | None:
    """Return the names of the parameters that a function may write to, going by its annotations.

    Parameters
    ----------
    function : callable
        The function; its annotations are taken as text and not evaluated.

    Returns
    -------
    tuple of str or None
        All parameters, in order, but those that are declared constant (``Final[...]``, ``"const ..."``) or as one of
        ``int``, ``float``, ``bool``, ``complex`` and ``str``. A parameter without annotation counts as written to. None
        if no parameter is annotated, or there is no signature.

    Examples
    --------
    >>> from cunumpy.kernels import outputs_from_annotations
    >>> def push(x: "float[:]", v: "const float[:]", dt: float): ...
    >>> outputs_from_annotations(push)
    ('x',)
    """
    parameters = _parameters(function)
    if parameters is None or all(p.annotation is inspect.Parameter.empty for p in parameters.values()):
        return None
    return tuple([name for name, parameter in parameters.items() if not _is_constant(parameter.annotation)])


_SCALARS = frozenset({"int", "float", "bool", "complex", "str"})


def _is_numpy_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _is_constant(annotation: Any) -> bool:
    if annotation is inspect.Parameter.empty:
        return False
    text = annotation if isinstance(annotation, str) else ""
    if not text:
        text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    text = text.replace("typing.", "").replace("'", "").replace('"', "").strip()
    return text in _SCALARS or text.startswith(("Final[", "Final ", "const "))


def _signature(kernel: Any) -> dict[str, inspect.Parameter] | None:
    """Return the parameters of the Python function behind a kernel, by name; None if they are not known."""
    try:
        function = kernel.python
    except Exception:  # an implementation that can't be loaded says so when it is called
        function = kernel
    return _parameters(function)


def _parameters(function: Any) -> dict[str, inspect.Parameter] | None:
    try:
        return dict(_host_types.signature_of(function).parameters)
    except (TypeError, ValueError, NameError):
        return None


def _checked_use(use_cupy: Any) -> bool | None:
    return _gate.as_optional_truth(use_cupy, function="PyccelKernel", argument="use_cupy")


def _checked_parameters(parameters: Any) -> Any:
    if parameters is None or callable(parameters):
        return parameters
    names = _entries(parameters)
    if names is None or not all(isinstance(name, str) for name in names):
        raise ArgumentTypeError(
            "PyccelKernel: argument 'parameters' must be a sequence of names, or a function that returns one, got "
            f"{parameters!r}."
        )
    return names


def _entries(value: Any) -> tuple[Any, ...] | None:
    """Return what is in a sequence; None for text and what is none."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        return None
    return tuple(value)


def _checked_modules(modules: Any) -> tuple[str, ...]:
    found = _entries(modules)
    if found is None or not all(isinstance(module, str) and module for module in found):
        raise ArgumentTypeError(
            f"PyccelKernel: argument 'object_modules' must be a sequence of module names, got {modules!r}; "
            'write ("package", "package.module").'
        )
    return found


def _checked_outputs(outputs: Any) -> tuple[int | str, ...] | None:
    if outputs is None:
        return None
    found = _entries(outputs)
    if found is None:
        raise ArgumentTypeError(
            f"PyccelKernel: argument 'outputs' must be a sequence of positions and names, got {outputs!r}; "
            f"write ({outputs!r},)."
        )
    for output in found:
        if isinstance(output, bool) or not isinstance(output, (int, str)):
            raise ArgumentTypeError(
                f"PyccelKernel: argument 'outputs' must hold positions (int) and names (str), got {output!r} of type "
                f"{type(output).__name__}."
            )
    return found


def _argument(
    output: int | str, args: tuple[Any, ...], kwargs: dict[str, Any], names: tuple[str, ...] | None, name: str
) -> Any:
    """Return the argument of a call that an output means."""
    if isinstance(output, int):
        if -len(args) <= output < len(args):
            return args[output]
        if names is not None and 0 <= output < len(names) and names[output] in kwargs:
            return kwargs[names[output]]
        _refuse_position(output, args, kwargs, name)
    if output in kwargs:
        return kwargs[output]
    if names is not None and output in names and names.index(output) < len(args):
        return args[names.index(output)]
    known = "not known" if names is None else _listed(names)
    raise _OutputNameError(
        f"{name}: outputs names {output!r}, which is no argument of this call with {_counted(args, kwargs)}; the "
        f"parameters are {known}. Correct 'outputs', pass it by name, or give PyccelKernel its 'parameters'."
    )


def _refuse_position(output: int, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> NoReturn:
    raise _OutputIndexError(
        f"{name}: outputs names position {output}, but this call has {_counted(args, kwargs)}; correct 'outputs', or "
        "name the argument in it."
    )


def _counted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    return f"{len(args)} positional argument(s) and {_listed(tuple(kwargs)) or 'none'} by name"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names))
