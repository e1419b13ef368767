"""Which implementation of kernels is asked for, on the host and on the device: the process's choice, and scopes."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from cunumpy import _environment
from cunumpy.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")

# The names stand in the table of environment variables, which core has to know; they are in the order of preference.
HOST_IMPLEMENTATIONS: tuple[str, ...] = _environment.VARIABLES["CUNUMPY_HOST_KERNEL_IMPLEMENTATION"].choices
DEVICE_IMPLEMENTATIONS: tuple[str, ...] = _environment.VARIABLES["CUNUMPY_DEVICE_KERNEL_IMPLEMENTATION"].choices


class Request:
    """A name that is asked for, None for no preference, and the request that its scope has hidden."""

    __slots__ = ("before", "name")

    def __init__(self, name: str | None, before: Request | None = None) -> None:
        self.name: str | None = name
        self.before: Request | None = before


class Setting:
    """A request for an implementation: that of the innermost scope of this context, else the process's.

    Each call of a kernel reads ``chosen.get().name``.
    """

    __slots__ = ("chosen", "names", "process")

    def __init__(self, variable: str) -> None:
        value = _environment.read(variable)
        self.names: tuple[str, ...] = _environment.VARIABLES[variable].choices
        self.process: Request = Request(value if isinstance(value, str) else None)
        self.chosen: ContextVar[Request] = ContextVar(variable.lower(), default=self.process)

    def get(self) -> str | None:
        """Return the name that is asked for, None for no preference."""
        return self.chosen.get().name

    def set(self, name: str | None, function: str) -> None:
        """Change the innermost scope of this context, or outside of all the process's choice."""
        self.check(name, function)
        now = self.chosen.get()
        if now is self.process:
            self.process.name = name
        else:
            self.chosen.set(Request(name, now.before))

    def check(self, name: str | None, function: str) -> None:
        if name is not None and not (isinstance(name, str) and name in self.names):
            raise ArgumentError(
                f"{function}: argument 'name' must be {' or '.join(map(repr, self.names))}, or None for no preference, "
                f"got {name!r}."
            )


class Scope:
    """A block, or the calls of a function, in which another name is asked for."""

    def __init__(self, setting: Setting, name: str | None, function: str) -> None:
        self._setting, self._name, self._function = setting, name, function

    def __repr__(self) -> str:
        return f"{self._function}({self._name!r})"

    def __enter__(self) -> None:
        self._setting.check(self._name, self._function)
        self._setting.chosen.set(Request(self._name, self._setting.chosen.get()))

    def __exit__(self, *error: object) -> None:
        before = self._setting.chosen.get().before
        if before is not None:  # else this is another context than the one that entered
            self._setting.chosen.set(before)

    def __call__(self, function: F) -> F:
        from cunumpy._scoped_calls import scoped

        return scoped(function, lambda: Scope(self._setting, self._name, self._function), self._function)


HOST = Setting("CUNUMPY_HOST_KERNEL_IMPLEMENTATION")
DEVICE = Setting("CUNUMPY_DEVICE_KERNEL_IMPLEMENTATION")


def set_host_kernel_implementation(name: str | None) -> None:
    """Ask for an implementation of all kernels on the host, instead of the first that each can use.

    It holds for the process; inside of `use_host_kernel_implementation` for that block. Only kernels with several
    implementations heed it (`HostImplementations`, kernels from folders): those that lack the one that is asked for, or
    can't load it, raise and use no other.

    Parameters
    ----------
    name : str or None
        One of `HOST_IMPLEMENTATIONS`, as it is spelt there; None for no preference. Initially as the environment
        variable ``CUNUMPY_HOST_KERNEL_IMPLEMENTATION`` says.

    Raises
    ------
    ArgumentError
        Another name; nothing has changed.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.kernels.set_host_kernel_implementation("numpy")
    >>> xp.kernels.get_host_kernel_implementation()
    'numpy'
    >>> xp.kernels.set_host_kernel_implementation(None)
    """
    HOST.set(name, "set_host_kernel_implementation")


def get_host_kernel_implementation() -> str | None:
    """Return which implementation is asked for on the host, None without a preference.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.kernels.get_host_kernel_implementation() is None
    True
    """
    return HOST.get()


def use_host_kernel_implementation(name: str | None) -> Scope:
    """Ask for an implementation of kernels on the host, for a block or for the calls of a function.

    Only the context (thread, asyncio task) that enters sees it. Blocks may be nested; leaving one restores what was
    before. See `set_host_kernel_implementation`.

    Parameters
    ----------
    name : str or None
        One of `HOST_IMPLEMENTATIONS`, or None for no preference.

    Raises
    ------
    ArgumentError
        Another name, on entry; nothing has changed.

    Examples
    --------
    >>> import cunumpy as xp
    >>> with xp.kernels.use_host_kernel_implementation("python"):
    ...     xp.kernels.get_host_kernel_implementation()
    'python'
    """
    return Scope(HOST, name, "use_host_kernel_implementation")


def set_device_kernel_implementation(name: str | None) -> None:
    """Ask for an implementation of all kernels on the device.

    With ``"cuda"`` a `Kernel` without a CUDA kernel raises for calls with device arrays, also with
    ``missing_cuda="fallback"``. It holds for the process; inside of `use_device_kernel_implementation` for that block.
    The backend, calls on the host and launches of a `CudaKernel` do not depend on it.

    Parameters
    ----------
    name : str or None
        One of `DEVICE_IMPLEMENTATIONS`, as it is spelt there; None for no preference. Initially as the environment
        variable ``CUNUMPY_DEVICE_KERNEL_IMPLEMENTATION`` says.

    Raises
    ------
    ArgumentError
        Another name; nothing has changed.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.kernels.set_device_kernel_implementation("cuda")
    >>> xp.kernels.get_device_kernel_implementation()
    'cuda'
    >>> xp.kernels.set_device_kernel_implementation(None)
    """
    DEVICE.set(name, "set_device_kernel_implementation")


def get_device_kernel_implementation() -> str | None:
    """Return which implementation is asked for on the device, None without a preference; not what a kernel has.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.kernels.get_device_kernel_implementation() is None
    True
    """
    return DEVICE.get()


def use_device_kernel_implementation(name: str | None) -> Scope:
    """Ask for an implementation of kernels on the device, for a block or for the calls of a function.

    Only the context (thread, asyncio task) that enters sees it. Blocks may be nested; leaving one restores what was
    before. See `set_device_kernel_implementation`.

    Parameters
    ----------
    name : str or None
        One of `DEVICE_IMPLEMENTATIONS`, or None for no preference.

    Raises
    ------
    ArgumentError
        Another name, on entry; nothing has changed.

    Examples
    --------
    >>> import cunumpy as xp
    >>> with xp.kernels.use_device_kernel_implementation("cuda"):
    ...     xp.kernels.get_device_kernel_implementation()
    'cuda'
    """
    return Scope(DEVICE, name, "use_device_kernel_implementation")
