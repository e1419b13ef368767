"""A function of a module that is compiled when it is first needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from cunumpy._call_sites import warn
from cunumpy._gate import describe
from cunumpy.cuda._locks import new_lock
from cunumpy.errors import ArgumentTypeError, CuNumpyWarning
from cunumpy.kernels._failures import is_passing
from cunumpy.kernels._pickling import refuse_unimportable


class CompiledHostKernel:
    """A Python function that is compiled, with the whole module it is in, at its first call.

    Where that fails, another function takes its place, or the uncompiled one with a warning.

    Parameters
    ----------
    module : str or module
        The module with the function; a dotted name is imported when it is needed.
    name : str
        The function.
    compiler : callable
        Takes the module and returns the compiled one, such as a `PyccelCache`.
    fallback : callable, optional
        What is called where compiling fails, such as a version with NumPy.

    Raises
    ------
    ArgumentTypeError
        An argument of a wrong type.

    Notes
    -----
    It pickles if compiler and fallback do, without what was compiled.

    Examples
    --------
    >>> import math
    >>> import cunumpy as xp
    >>> root = xp.kernels.CompiledHostKernel("math", "sqrt", lambda module: math)
    >>> root
    <CompiledHostKernel math.sqrt, not built>
    >>> root(2.25), root.compiled
    (1.5, True)
    """

    def __init__(
        self,
        module: str | ModuleType,
        name: str,
        compiler: Callable[[ModuleType], ModuleType],
        fallback: Callable[..., Any] | None = None,
    ) -> None:
        if not isinstance(module, (str, ModuleType)):
            raise ArgumentTypeError(
                f"CompiledHostKernel: argument 'module' must be a module or its dotted name, got {describe(module)}."
            )
        if not isinstance(name, str):
            raise ArgumentTypeError(f"CompiledHostKernel: argument 'name' must be a str, got {describe(name)}.")
        for value, argument in ((compiler, "compiler"), (fallback, "fallback")):
            if not callable(value) and not (value is None and argument == "fallback"):
                raise ArgumentTypeError(
                    f"CompiledHostKernel: argument {argument!r} must be a function, got {describe(value)}."
                )
        self.__name__ = name
        self._module, self._compiler, self._fallback = module, compiler, fallback
        self._start()

    def _start(self) -> None:
        self._lock = new_lock()
        self._compiled: Callable[..., Any] | None = None
        self._error: Exception | None = None
        self._warned = False

    @property
    def module(self) -> ModuleType:
        """The module with the uncompiled function."""
        if isinstance(self._module, str):
            self._module = import_module(self._module)
        return self._module

    @property
    def python(self) -> Callable[..., Any]:
        """The uncompiled function."""
        function: Callable[..., Any] = getattr(self.module, self.__name__)
        return function

    @property
    def fallback(self) -> Callable[..., Any] | None:
        """What is called where compiling fails."""
        return self._fallback

    @property
    def error(self) -> Exception | None:
        """Why compiling failed, None before it was tried and where it worked."""
        return self._error

    @property
    def compiled(self) -> bool:
        """Whether there is a compiled function; it is compiled for that."""
        return self.build() is not None

    def build(self) -> Callable[..., Any] | None:
        """Compile, unless that was tried before, and return the compiled function.

        Returns
        -------
        callable or None
            None where compiling failed; `error` says why, and `reset` allows another try. Where the machine lacked
            memory, room on a disk or open files, the next call is one.
        """
        with self._lock:
            if self._compiled is None and (self._error is None or is_passing(self._error)):
                try:
                    compiled = getattr(self._compiler(self.module), self.__name__)
                    if not callable(compiled):
                        raise ArgumentTypeError(
                            f"the compiled module has {describe(compiled)} for {self.__name__!r}, which can't be called"
                        )
                    self._compiled, self._error = compiled, None
                except Exception as error:
                    self._error = error
            return self._compiled

    def reset(self) -> None:
        """Forget a failure, so that the next call tries again to compile."""
        with self._lock:
            self._error = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the compiled function, else the fallback, else the uncompiled function.

        Warns
        -----
        CuNumpyWarning
            The uncompiled function runs, once.
        """
        return self.resolve()(*args, **kwargs)

    def resolve(self) -> Callable[..., Any]:
        """Return what a call runs now."""
        compiled = self._compiled
        if compiled is None:
            compiled = self.build() or self._fallback
            if compiled is None:
                compiled = self.python
                self._warn()
        return compiled

    def _warn(self) -> None:
        error = self._error
        again = is_passing(error)
        with self._lock:
            if self._warned:
                return
            self._warned = not again
        when = "compiled now, which the next call tries again" if again else "compiled"
        warn(
            f"kernel {self.__name__!r}: runs as plain Python, which is slow, since its module could not be {when}: "
            f"{type(error).__name__}: {error}",
            CuNumpyWarning,
        )

    def __getstate__(self) -> dict[str, Any]:
        functions = {"compiler": self._compiler, "fallback": self._fallback}
        refuse_unimportable(f"kernel {self.__name__!r}", functions)
        module = self._module if isinstance(self._module, str) else self._module.__name__
        return {"__name__": self.__name__, "_module": module, "_compiler": self._compiler, "_fallback": self._fallback}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def __repr__(self) -> str:
        state = "compiled" if self._compiled is not None else "failed" if self._error is not None else "not built"
        module = self._module if isinstance(self._module, str) else self._module.__name__
        return f"<CompiledHostKernel {module}.{self.__name__}, {state}>"
