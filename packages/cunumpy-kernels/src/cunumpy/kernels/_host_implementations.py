"""Several implementations of one kernel on the host: compiled, with Numba, NumPy, from CUDA, in plain Python."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from cunumpy._call_sites import warn
from cunumpy._gate import describe, given
from cunumpy.cuda._locks import new_lock
from cunumpy.errors import ArgumentError, ArgumentTypeError, CuNumpyWarning, MissingKernelError
from cunumpy.kernels._cpu_implementation import CpuImplementation
from cunumpy.kernels._failures import is_passing
from cunumpy.kernels._pickling import refuse_unimportable
from cunumpy.kernels._settings import HOST, HOST_IMPLEMENTATIONS

Loader = Callable[[], Callable[..., Any]]

_log = logging.getLogger("cunumpy")
_asked = HOST.chosen.get


class HostImplementations:
    """The implementations of a kernel on the host, each loaded when it is first used.

    A call runs the implementation that `use_host_kernel_implementation` asks for; without a preference the first that
    loads, in the order of `HOST_IMPLEMENTATIONS`: compiled by Pyccel, with Numba, with NumPy, the CUDA kernel compiled
    for the CPU (``"cpu"``, which a `Kernel` with a CUDA kernel adds). Plain Python comes last and is warned of. What
    was chosen stays, until `reset`.

    Parameters
    ----------
    name : str
        The kernel's name.
    loaders : mapping of str to callable
        For each implementation a function without arguments that returns it, or raises. ``"python"`` must be there.

    Attributes
    ----------
    errors : dict of str to Exception
        Why implementations could not be loaded.

    Raises
    ------
    ArgumentError
        A name that is not in `HOST_IMPLEMENTATIONS`, or no ``"python"``.
    ArgumentTypeError
        A loader that can't be called.

    Notes
    -----
    A hop through it costs about 0.1 us. It pickles if its loaders do, without what was loaded.

    Examples
    --------
    >>> import cunumpy as xp
    >>> def loop(x):
    ...     for i in range(len(x)):
    ...         x[i] *= 2
    >>> def vectorised(x):
    ...     x *= 2
    >>> double = xp.kernels.HostImplementations("double", {"numpy": lambda: vectorised, "python": lambda: loop})
    >>> double.names, double.selected()
    (('numpy', 'python'), 'numpy')
    """

    def __init__(self, name: str, loaders: Mapping[str, Loader]) -> None:
        self._take(name, loaders)
        if "python" not in self._loaders:
            raise ArgumentError(
                f"HostImplementations: argument 'loaders' of {name!r} must have an entry 'python', got "
                f"{', '.join(map(repr, loaders)) or 'none'}; add one that returns the plain Python function."
            )

    @classmethod
    def of_any(cls, name: str, loaders: Mapping[str, Loader]) -> HostImplementations:
        """Make one of any implementations, for folders that hold no plain Python."""
        made = cls.__new__(cls)
        made._take(name, loaders)
        return made

    def extended(self, name: str, loader: Loader) -> HostImplementations:
        """Return the same with one implementation more, and nothing loaded."""
        if not isinstance(name, str):
            raise ArgumentTypeError(f"HostImplementations.extended: argument 'name' must be a str, got {given(name)}.")
        return self.of_any(self.__name__, {**self._loaders, name: loader})

    def _take(self, name: str, loaders: Mapping[str, Loader]) -> None:
        if not isinstance(loaders, Mapping):
            raise ArgumentTypeError(
                f"HostImplementations: argument 'loaders' of {name!r} must map names of implementations to functions "
                f"that return them, got {given(loaders)}."
            )
        for key, loader in loaders.items():
            if not isinstance(key, str) or key not in HOST_IMPLEMENTATIONS:
                raise ArgumentError(
                    f"HostImplementations: argument 'loaders' of {name!r} has an entry {key!r}; implementations are "
                    f"{', '.join(map(repr, HOST_IMPLEMENTATIONS))}."
                )
            if not callable(loader):
                raise ArgumentTypeError(
                    f"HostImplementations: argument 'loaders' of {name!r} must have functions that return the "
                    f"implementations, got {describe(loader)} for {key!r}; pass lambda: implementation."
                )
        self.__name__ = name
        self._loaders = {key: loaders[key] for key in HOST_IMPLEMENTATIONS if key in loaders}
        self._start()

    def _start(self) -> None:
        self.errors: dict[str, Exception] = {}
        self._loaded: dict[str, Callable[..., Any]] = {}
        self._default: str | None = None
        self._lock = new_lock()
        # What runs for each request, None being no preference; looked up in each call.
        self.resolved: dict[str | None, Callable[..., Any]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The implementations there are, loaded or not, in the order of `HOST_IMPLEMENTATIONS`."""
        return tuple(self._loaders)

    @property
    def python(self) -> Callable[..., Any]:
        """The implementation in plain Python."""
        return self.get("python")

    def get(self, name: str) -> Callable[..., Any]:
        """Return an implementation, and load it if that was not done.

        Parameters
        ----------
        name : str
            One of `names`.

        Returns
        -------
        callable

        Raises
        ------
        MissingKernelError
            A `LookupError`: there is none of this name, or loading it failed, now or before, with the error as
            ``__cause__``. `reset` allows another try; where the machine lacked memory, room on a disk or open files,
            the next call is one.
        """
        found = self._loaded.get(name) if isinstance(name, str) else None
        if found is not None:
            return found
        if not isinstance(name, str) or name not in self._loaders:
            raise MissingKernelError(
                f"kernel {self.__name__!r}: has no implementation {name!r} on the host; it has "
                f"{', '.join(map(repr, self._loaders)) or 'none'}."
            )
        with self._lock:
            if name not in self._loaded and name not in self.errors:
                try:
                    loaded = self._loaders[name]()
                    if not callable(loaded):
                        raise ArgumentTypeError(f"the loader returned {describe(loaded)}, which can't be called")
                except Exception as error:
                    if is_passing(error):
                        raise MissingKernelError(
                            f"kernel {self.__name__!r}: its implementation {name!r} could not be loaded now, and is "
                            f"tried again by the next call; or choose another by set_host_kernel_implementation(...): "
                            f"{type(error).__name__}: {error}"
                        ) from error
                    self.errors[name] = error
                    level = logging.INFO if isinstance(error, ImportError) else logging.WARNING
                    _log.log(level, "kernel %r: no implementation %r: %r", self.__name__, name, error)
                else:
                    self._loaded[name] = loaded
            if name in self.errors:
                failure = self.errors[name]
                raise MissingKernelError(
                    f"kernel {self.__name__!r}: its implementation {name!r} could not be loaded: "
                    f"{type(failure).__name__}: {failure}"
                ) from failure
            return self._loaded[name]

    def available(self, name: str) -> bool:
        """Tell whether an implementation is there and loads; it is loaded for that.

        Parameters
        ----------
        name : str
            An implementation.

        Returns
        -------
        bool
        """
        try:
            self.get(name)
        except MissingKernelError:
            return False
        return True

    def _loads(self, name: str) -> bool:
        """Tell whether an implementation loads; what fails for the moment only is raised, and decides nothing."""
        try:
            self.get(name)
        except MissingKernelError as error:
            if is_passing(error):
                raise
            return False
        return True

    def selected(self) -> str:
        """Return which implementation a call would run: the one that is asked for, else the first that loads.

        Returns
        -------
        str
            One that is asked for is not loaded for it, and may be missing.

        Raises
        ------
        MissingKernelError
            No implementation loads, or one does not for want of memory, room on a disk or open files; the text says
            why.

        Warns
        -----
        CuNumpyWarning
            Without a preference only plain Python is left, once.
        """
        asked = HOST.get()
        return self._first() if asked is None else asked

    def _first(self) -> str:
        with self._lock:
            if self._default is None:
                compiled = (name for name in self._loaders if name != "python" and self._loads(name))
                self._default = next(compiled, None) or self._only_python()
            return self._default

    def _only_python(self) -> str:
        usable = self.available("python")
        reasons = "; ".join(f"{key}: {type(error).__name__}: {error}" for key, error in self.errors.items())
        if not usable:
            raise MissingKernelError(
                f"kernel {self.__name__!r}: none of its implementations can be used on the host ({reasons or 'none'})."
            ) from next(iter(self.errors.values()), None)
        self._default = "python"  # before the warning, which may be turned into an error
        others = f"the others could not be loaded ({reasons})" if reasons else "it has no other implementation"
        warn(
            f"kernel {self.__name__!r}: runs as plain Python, which is slow: {others}. Pass compile_host= to compile "
            "it, or add a version with Numba or NumPy; where plain Python is meant, ask for it by "
            "xp.kernels.set_host_kernel_implementation('python').",
            CuNumpyWarning,
        )
        return "python"

    def build(self) -> str:
        """Load what a call would run, which compiles it if need be, and return its name; see `selected`."""
        return self.selected()

    def reset(self) -> None:
        """Forget failures and what was chosen, so that implementations that did not load are tried again."""
        with self._lock:
            self.errors.clear()
            self._default = None
            self.resolved.clear()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the implementation that is `selected`."""
        function = self.resolved.get(_asked().name) or self.resolve()
        return function(*args, **kwargs) if kwargs else function(*args)

    def resolve(self) -> Callable[..., Any]:
        """Return what a call runs now, and remember it."""
        asked = HOST.get()
        with self._lock:
            found = self.get(self._first() if asked is None else asked)
            if asked is None and isinstance(found, CpuImplementation) and self.available("python"):
                found = found.beside(self.get("python"))
            self.resolved[asked] = found
        return found

    def __getstate__(self) -> dict[str, Any]:
        refuse_unimportable(
            f"kernel {self.__name__!r}", {f"loader of {key!r}": loader for key, loader in self._loaders.items()}
        )
        return {"__name__": self.__name__, "_loaders": self._loaders}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def __repr__(self) -> str:
        return f"<HostImplementations of {self.__name__}: {', '.join(self._loaders)}>"
