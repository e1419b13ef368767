"""Which backend is active: the process's default, scopes of threads and tasks, and whether CuPy can be used.

The process has a default backend. `use_backend` lays a choice over it that only its own context (thread, task) sees;
the choices of a context are a tuple in a `contextvars.ContextVar`, innermost last. While some living choice differs
from the default, reads of the namespace have to follow the context: such times are called *split*, and whoever keeps
names per backend is told by `on_change`.
"""

from __future__ import annotations

import os
import sys
from contextvars import ContextVar
from threading import RLock
from typing import TYPE_CHECKING, Any

from cunumpy import _environment
from cunumpy._call_sites import warn
from cunumpy._gate import as_optional_truth, as_truth
from cunumpy.errors import (
    ArgumentError,
    BackendFallbackWarning,
    BackendUnavailableError,
    MissingPackageError,
    ScopeError,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token
    from types import ModuleType, TracebackType
    from typing import Literal, TypeAlias, TypeVar

    BackendType: TypeAlias = Literal["numpy", "cupy"]
    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["cupy_available", "get_backend", "set_backend", "use_backend"]

lock = RLock()  # guards the default, the listeners and what they keep
_default: BackendType = "numpy"
_split = False
_switching = False  # the default is just being changed
_listeners: list[Callable[[BackendType, bool], None]] = []

if hasattr(os, "register_at_fork"):  # the lock of a thread that the child does not have would never be released there
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


# --- choices of a context ---------------------------------------------------------------------------------------------


class _Scope:
    """One entry of a `use_backend` block."""

    __slots__ = ("closed",)

    def __init__(self) -> None:
        self.closed = False  # true once it was left in a context that does not hold it


class _Choice:
    """One backend chosen in one context; alive as long as a context (a task that inherited it, say) holds it."""

    __slots__ = ("backend", "scope")

    def __init__(self, backend: BackendType, scope: _Scope) -> None:
        self.backend = backend
        self.scope = scope  # shared by the choices that `set_backend` makes inside one scope
        _living[backend].add(id(self))  # atomic, unlike counting: __del__ may run in the middle of anything

    def __del__(self) -> None:
        _living[self.backend].discard(id(self))
        if _split:
            _refresh()


_living: dict[BackendType, set[int]] = {"numpy": set(), "cupy": set()}
_choices: ContextVar[tuple[_Choice, ...]] = ContextVar("cunumpy_backend_choices", default=())


def get_backend() -> BackendType:
    """Return the name of the active backend.

    Returns
    -------
    {"numpy", "cupy"}
        The backend of the innermost `use_backend` scope of this context, or else the process's default. It is the
        effective one: ``"numpy"`` where CuPy was asked for and can't be used.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.get_backend()
    'numpy'
    """
    choices = _choices.get()
    if choices:
        for choice in reversed(choices):
            if not choice.scope.closed:
                return choice.backend
    return _default


def _open_choices() -> tuple[_Choice, ...]:
    """Return the context's choices without those that were closed elsewhere, which would pile up."""
    choices = _choices.get()
    if any(choice.scope.closed for choice in choices):
        choices = tuple(choice for choice in choices if not choice.scope.closed)
    return choices


def default_backend() -> BackendType:
    """Return the process's default backend, whatever scopes are open."""
    return _default


# --- telling others ---------------------------------------------------------------------------------------------------


def on_change(callback: Callable[[BackendType, bool], None]) -> None:
    """Call ``callback(default, split)`` now and, under the lock, whenever either changes.

    While ``split`` is true, some context reads another backend than the default, so reads must ask `get_backend`;
    before the default changes, ``split`` is always announced as true first.
    """
    with lock:
        if callback not in _listeners:
            _listeners.append(callback)
        callback(_default, _split or _switching)


def _refresh() -> None:
    """Bring ``_split`` in line with the living choices; may be re-entered by ``_Choice.__del__``."""
    global _split
    with lock:
        while (split := any(ids for name, ids in _living.items() if name != _default)) != _split:
            _split = split
            _tell()


def _tell() -> None:
    for listener in _listeners:
        listener(_default, _split or _switching)  # read afresh: a listener may set off a newer change


# --- choosing ---------------------------------------------------------------------------------------------------------


def set_backend(backend: BackendType, *, strict: bool | None = None) -> None:
    """Choose the backend of the whole process, or of the scope this is called in.

    Arrays that exist are not moved. Inside a `use_backend` scope the innermost scope changes, for this context only,
    and the change ends with it.

    Parameters
    ----------
    backend : {"numpy", "cupy"}
        Case and blanks around it do not matter.
    strict : bool, optional
        What to do when CuPy can't be used: raise if true, warn and use NumPy if false. By default the environment
        variable ``CUNUMPY_STRICT`` decides, and without it the answer is to warn.

    Raises
    ------
    ArgumentError
        The name is not a backend's; nothing has changed.
    BackendUnavailableError
        Strict, and CuPy can't be used; nothing has changed.

    Warns
    -----
    BackendFallbackWarning
        CuPy can't be used, so NumPy is; the message has the reason and the remedy.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.set_backend("numpy")
    >>> type(xp.zeros(2)).__module__
    'numpy'
    """
    if strict is not None:
        strict = as_optional_truth(strict, function="set_backend", argument="strict")
    name = effective(check_backend_name(backend, "set_backend"), strict, "set_backend")
    choices = _open_choices()
    if choices:
        choice = _Choice(name, choices[-1].scope)
        _refresh()  # readers must follow the context before the context says something else
        _choices.set((*choices[:-1], choice))
    else:
        with lock:
            if name != _default:
                _switch(name)
    _log("backend set to %s", name)


def _switch(name: BackendType) -> None:
    """Change the default while everybody reads by context."""
    global _default, _split, _switching
    _switching = True
    try:
        _tell()
        _default = name
        _split = any(ids for backend, ids in _living.items() if backend != name)
        _tell()
    finally:
        _switching = False
    _tell()
    _refresh()  # choices may have died meanwhile


class use_backend:
    """Choose the backend for a block, or for the calls of a function.

    Only the context (thread, asyncio task) that enters sees the choice; tasks started inside inherit it. The same
    object may be entered repeatedly, nested, and by several threads. As a decorator of a generator or coroutine
    function it holds while the body runs and not while it is suspended; a ``with`` statement in a generator's body,
    in contrast, does show in the consumer until the generator goes on.

    Parameters
    ----------
    backend : {"numpy", "cupy"}
        Case and blanks around it do not matter; checked at the call.
    strict : bool, optional
        As in `set_backend`; CuPy is looked for when the block is entered.

    Raises
    ------
    ArgumentError
        The name is not a backend's.
    BackendUnavailableError
        On entry: strict, and CuPy can't be used.
    ScopeError
        On exit: the scope was left out of order. It, and only it, has been removed.

    Warns
    -----
    BackendFallbackWarning
        On entry: CuPy can't be used, so the block runs on NumPy.

    Examples
    --------
    >>> import cunumpy as xp
    >>> with xp.use_backend("numpy"):
    ...     xp.get_backend()
    'numpy'
    """

    __slots__ = ("_backend", "_entered", "_strict")

    def __init__(self, backend: BackendType, *, strict: bool | None = None) -> None:
        if strict is not None:
            strict = as_optional_truth(strict, function="use_backend", argument="strict")
        self._backend = check_backend_name(backend, "use_backend")
        self._strict = strict
        self._entered: dict[_Scope, Token[tuple[_Choice, ...]]] = {}  # entered and not yet left, in order

    def __repr__(self) -> str:
        return f"use_backend({self._backend!r}, strict={self._strict!r})"

    def __getstate__(self) -> tuple[BackendType, bool | None]:
        return self._backend, self._strict  # what is entered stays here

    def __setstate__(self, state: tuple[BackendType, bool | None]) -> None:
        self._backend, self._strict = state
        self._entered = {}

    def __enter__(self) -> None:
        name = self._backend
        if name != "numpy":
            name = effective(name, self._strict, "use_backend")
        scope = _Scope()
        choice = _Choice(name, scope)
        if name != _default:
            _refresh()  # also when split is seen: somebody else's refresh may just be ending it
        self._entered[scope] = _choices.set((*_open_choices(), choice))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        choices = _open_choices()
        if choices and choices[-1].scope in self._entered:
            self._leave(choices[-1].scope)
            _choices.set(choices[:-1])
            return
        self._exit_out_of_order(choices)

    def _leave(self, scope: _Scope) -> None:
        """Forget a scope, and end it where it was entered, if that is not here.

        An asynchronous generator that was not used up is closed by the event loop in a copy of the context, so its
        choice has to be given up in the context it was left in.
        """
        try:
            _choices.reset(self._entered.pop(scope))
        except ValueError:  # the token is of another context
            scope.closed = True

    def _exit_out_of_order(self, choices: tuple[_Choice, ...]) -> None:
        for choice in reversed(choices):
            if choice.scope in self._entered:
                self._leave(choice.scope)
                _choices.set(tuple(other for other in choices if other is not choice))
                raise ScopeError(
                    f"use_backend({self._backend!r}): the scope was left while a scope entered later is still open. "
                    "It has been removed, the later one stays; leave scopes in the reverse order of entering."
                )
        if not self._entered:
            raise ScopeError(
                f"use_backend({self._backend!r}): the scope was left without having been entered, or a second time; "
                "let a `with` statement enter and leave it."
            )
        self._entered.popitem()[0].closed = True
        raise ScopeError(
            f"use_backend({self._backend!r}): the scope was left in another context (thread, task or generator) than "
            "it was entered in. It has been closed; enter and leave a scope in the same context."
        )

    def __call__(self, function: F) -> F:
        from cunumpy._scoped_calls import scoped

        return scoped(function, lambda: use_backend(self._backend, strict=self._strict), "use_backend")


def check_backend_name(backend: Any, function: str) -> BackendType:
    """Return the backend's name in lower case, without blanks."""
    name = backend.strip().lower() if isinstance(backend, str) else backend
    if isinstance(name, str) and name in ("numpy", "cupy"):
        return "numpy" if name == "numpy" else "cupy"
    raise ArgumentError(f"{function}: backend must be 'numpy' or 'cupy', got {backend!r}.")


def effective(name: BackendType, strict: bool | None, function: str) -> BackendType:
    """Return the backend that serves the request: CuPy, or NumPy after a warning."""
    global _cupy_ready
    if name == "numpy" or _cupy_ready:
        return name
    if cupy_available() and namespace_loads():  # loaded before anything changes
        _cupy_ready = True
        return name
    reason = cupy_unavailable_reason()
    if strict is None:
        strict = _environment.read("CUNUMPY_STRICT") is True
    if strict:
        raise BackendUnavailableError(
            f"{function}: the CuPy backend was requested strictly and can't be used: {reason}. {_REMEDY}"
        )
    warn(
        f"{function}: the CuPy backend was requested and can't be used, so NumPy is used on the CPU: {reason}. "
        f"{_REMEDY} To make this an error, use strict=True or set CUNUMPY_STRICT=1.",
        BackendFallbackWarning,
    )
    _log("backend fell back to numpy: %s", reason)
    return "numpy"


def namespace_loads() -> bool:
    """Load the namespace; a CuPy that lacks what it needs counts as one that can't be used."""
    global _probe
    from cunumpy._namespaces import namespace

    try:
        namespace("cupy")
    except Exception as error:  # fails with anything: missing names of an old CuPy, missing libraries
        with _probe_lock:
            _probe = None, f"its namespace does not load, {type(error).__name__}: {error}"
        return False
    return True


_REMEDY = (
    "Add CuPy for your CUDA version (uv add cupy-cuda12x, or uv add cupy-cuda13x) on a machine with an NVIDIA GPU and "
    "driver, or stay with the numpy backend."
)


def choose_from_environment() -> None:
    """Choose the default backend that ``CUNUMPY_BACKEND`` names; called once, when the package is imported."""
    name = check_backend_name(_environment.read("CUNUMPY_BACKEND"), "CUNUMPY_BACKEND")
    if name != "numpy":
        with lock:
            name = effective(name, None, "CUNUMPY_BACKEND")
            if name != _default:
                _switch(name)
        _log("backend set to %s by CUNUMPY_BACKEND", _default)


# --- can CuPy be used -------------------------------------------------------------------------------------------------

_probe: tuple[ModuleType | None, str | None] | None = None
_cupy_ready = False  # CuPy can be used and its namespace is loaded
_probe_lock = RLock()  # of its own: importing CuPy takes the import lock, which must not wait for `lock`'s holders


def cupy_available(*, refresh: bool = False) -> bool:
    """Tell whether CuPy can be imported and sees a usable CUDA device.

    The first call imports CuPy, which takes a while; its answer is kept for the process.

    Parameters
    ----------
    refresh : bool, default: False
        Look again, for instance after a driver was loaded. The active backend does not change by it.

    Returns
    -------
    bool

    Warns
    -----
    CuNumpyWarning
        At the first look: CuPy is older than `MIN_CUPY_VERSION`. It is used all the same.

    Examples
    --------
    >>> import cunumpy as xp
    >>> isinstance(xp.cupy_available(), bool)
    True
    """
    global _probe, _cupy_ready
    if refresh is not True and refresh is not False:
        refresh = as_truth(refresh, function="cupy_available", argument="refresh")
    with _probe_lock:
        if _probe is None or refresh:
            _probe = _look_for_cupy()
            if _probe[0] is None:
                _cupy_ready = False
        return _probe[0] is not None


def cupy_unavailable_reason() -> str | None:
    """Return why CuPy can't be used, or None when it can."""
    cupy_available()
    return _probe[1] if _probe is not None else None


def cupy_probed() -> bool:
    """Tell whether this process has looked for CuPy already."""
    return _probe is not None


def require_cupy(function: str) -> ModuleType:
    """Return the module ``cupy``, for a function that can't work without it.

    Raises
    ------
    MissingPackageError
        CuPy can't be used; the message names the function and the reason.
    """
    cupy_available()
    if _probe is None or _probe[0] is None:
        raise MissingPackageError(
            f"{function}: needs CuPy, which can't be used: {cupy_unavailable_reason()}. {_REMEDY}"
        )
    return _probe[0]


def _look_for_cupy() -> tuple[ModuleType | None, str | None]:
    try:
        import cupy

        if not cupy.is_available():
            return None, "CuPy is installed but there is no usable CUDA device"
    except ModuleNotFoundError as error:
        if error.name == "cupy":
            return None, "CuPy is not installed"
        return None, f"{type(error).__name__}: {error}"
    except Exception as error:  # a broken CuPy fails with anything: missing libraries, drivers, versions
        return None, f"{type(error).__name__}: {error}"
    _warn_of_old_cupy(str(getattr(cupy, "__version__", "")))
    return cupy, None


def _warn_of_old_cupy(version: str) -> None:
    from cunumpy._versions import MIN_CUPY_VERSION, cupy_version_supported
    from cunumpy.errors import CuNumpyWarning

    if version and not cupy_version_supported(version):
        warn(
            f"CuPy {version} is older than {MIN_CUPY_VERSION}, the oldest that CuNumpy is tested with; "
            f"upgrade it (uv add 'cupy-cuda12x>={MIN_CUPY_VERSION}').",
            CuNumpyWarning,
        )


# --- small helpers ----------------------------------------------------------------------------------------------------


def _log(message: str, *arguments: object) -> None:
    logging = sys.modules.get("logging")  # nobody who has not imported it can be listening
    if logging is not None and (logger := logging.getLogger("cunumpy")).isEnabledFor(logging.INFO):
        logger.info(message, *arguments)
