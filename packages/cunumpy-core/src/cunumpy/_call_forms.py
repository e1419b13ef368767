"""Making a library's function accept more call forms than its own.

`standard_keywords` adds the array API standard's, `numpy_form` makes a CuPy function callable as NumPy's is. Both
leave the calls that the function understands anyway alone.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    Handler = Callable[[str, Callable[..., Any], tuple[Any, ...], dict[str, Any], Any], Any]

__all__ = ["clip_limits", "named", "numpy_form", "standard_keywords"]

_NOT_GIVEN = np._NoValue  # NumPy's mark of arguments that were not given, which callers pass on


def named(backend: str, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a wrapper under the name that the namespace has it by, so that it can be pickled."""
    module, _, call.__name__ = f"cunumpy._{backend}_namespace.{name}".rpartition(".")
    call.__module__, call.__qualname__ = module, call.__name__
    return call


def standard_keywords(
    backend: str, name: str, native: Callable[..., Any], keywords: Iterable[str]
) -> Callable[..., Any]:
    """Return a library's function that passes calls with one of the standard's own keywords to array-api-compat.

    Parameters
    ----------
    backend : {"numpy", "cupy"}
        The library.
    name : str
        Dotted name of the function in the namespace.
    native : callable
        The library's function.
    keywords : iterable of str
        Those of the standard's keywords that ``native`` lacks.
    """
    extra = frozenset(keywords)

    @functools.wraps(native)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs and not extra.isdisjoint(kwargs):
            standard = standard_function(backend, name)
            args, kwargs = _by_name(standard, native, args, kwargs)
            if backend == "numpy":
                args = tuple(np.asarray(one) if isinstance(one, (list, tuple)) else one for one in args[:1]) + args[1:]
            return standard(*args, **kwargs)
        return native(*args, **kwargs)

    return named(backend, name, call)


def _by_name(
    standard: Callable[..., Any], native: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Turn a call in the library's form into the standard's, which takes fewer arguments by position."""
    if len(args) == 1:
        return args, kwargs
    import inspect

    taken = sum(p.kind < p.VAR_POSITIONAL for p in inspect.signature(standard).parameters.values())
    names = list(inspect.signature(native).parameters)
    for name, value in zip(names[taken:], args[taken:], strict=False):
        if name in kwargs:
            raise ArgumentTypeError(f"{native.__name__}: got two values for the argument {name!r}.")
        kwargs[name] = value
    return args[:taken] or ((kwargs.pop(names[0]),) if names[0] in kwargs else ()), kwargs


def standard_function(backend: str, name: str) -> Callable[..., Any]:
    """Return array-api-compat's function of that dotted name."""
    from importlib import import_module

    value = import_module(f"array_api_compat.{backend}")
    for part in name.split("."):
        value = getattr(value, part)
    return value  # type: ignore[return-value]


def clip_limits(a_min: Any, a_max: Any, min: Any, max: Any) -> tuple[Any, Any]:
    """Return the limits, None where there is none, of the two pairs that `numpy.clip` takes."""
    if a_min is _NOT_GIVEN and a_max is _NOT_GIVEN:
        return None if min is _NOT_GIVEN else min, None if max is _NOT_GIVEN else max
    if min is not _NOT_GIVEN or max is not _NOT_GIVEN:
        raise ArgumentError("clip: a_min, a_max and min, max mean the same; give one pair.")
    if a_min is _NOT_GIVEN or a_max is _NOT_GIVEN:
        raise ArgumentTypeError("clip: a_min and a_max belong together; give both (None for no limit), or min=, max=.")
    return a_min, a_max


def numpy_form(
    name: str,
    native: Callable[..., Any],
    reference: Callable[..., Any],
    handlers: Mapping[str, Handler],
) -> Callable[..., Any]:
    """Return a CuPy function that understands NumPy's call forms.

    Positions mean what they mean in NumPy, NumPy's argument names are known beside CuPy's, and arguments that CuPy
    lacks are served by a handler or refused by name.

    Parameters
    ----------
    name : str
        Dotted name of the function in the namespace, for errors.
    native : callable
        CuPy's function.
    reference : callable
        NumPy's function, whose signature gives the positions and names.
    handlers : mapping of str to callable
        For an argument name, ``handler(name, proceed, args, kwargs, value)`` makes the call;
        ``proceed(*args, **kwargs)`` goes on without that argument.
    """
    ours, theirs = _Parameters(reference), _Parameters(native)
    shared, renamed = _agreement(ours, theirs, handlers.keys())
    positions = ours.positions

    def direct(kwargs: dict[str, Any]) -> bool:
        return handlers.keys().isdisjoint(kwargs) and (theirs.open_names or theirs.names.issuperset(kwargs))

    def refuse(keyword: str) -> ArgumentTypeError:
        if keyword not in ours.names:
            from difflib import get_close_matches

            close = get_close_matches(keyword, ours.names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(sorted(ours.names))}."
            return ArgumentTypeError(f"{name}: has no argument {keyword!r}; {hint}")
        return ArgumentTypeError(
            f"{name}: CuPy's {name} has no argument {keyword!r}. Leave it out, or run this call on the host with "
            f"host_call(numpy.{name}, ...), which copies its arrays."
        )

    def proceed(*args: Any, **kwargs: Any) -> Any:
        for keyword in kwargs:
            handler = handlers.get(keyword)
            if handler is not None:
                value = kwargs.pop(keyword)
                return handler(name, proceed, args, kwargs, value)
            if not theirs.open_names and keyword not in theirs.names:
                raise refuse(keyword)
        return native(*args, **kwargs)

    @functools.wraps(native)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs and any(value is _NOT_GIVEN for value in kwargs.values()):
            kwargs = {keyword: value for keyword, value in kwargs.items() if value is not _NOT_GIVEN}
        while args and args[-1] is _NOT_GIVEN:
            args = args[:-1]
        if len(args) <= shared and (not kwargs or direct(kwargs)):
            return native(*args, **kwargs)
        given = args[:shared]
        if len(args) > shared:
            if len(args) > len(positions):
                raise ArgumentTypeError(
                    f"{name}: takes at most {len(positions)} positional arguments, got {len(args)}."
                )
            for keyword, value in zip(positions[shared:], args[shared:], strict=False):
                if keyword in kwargs:
                    raise ArgumentTypeError(f"{name}: got two values for the argument {keyword!r}.")
                kwargs[keyword] = value
        for numpy_name, cupy_name in renamed.items():
            if numpy_name in kwargs:
                kwargs[cupy_name] = kwargs.pop(numpy_name)
        return proceed(*given, **kwargs)

    call.__signature__ = ours.signature  # type: ignore[attr-defined]  # what help() and editors show
    return call


class _Parameters:
    """What a function's signature says about positions and names."""

    def __init__(self, function: Callable[..., Any]) -> None:
        import inspect

        self.signature = inspect.signature(function)
        parameters = self.signature.parameters.values()
        self.positions = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.names = frozenset(p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))
        self.open_positions = any(p.kind == p.VAR_POSITIONAL for p in parameters)
        self.open_names = any(p.kind == p.VAR_KEYWORD for p in parameters)


def _agreement(ours: _Parameters, theirs: _Parameters, handled: Container[str]) -> tuple[int, dict[str, str]]:
    """Return how many leading positions may be passed on, and the other name that CuPy has for some of them."""
    if theirs.open_positions:
        return sys.maxsize, {}
    renamed = {}
    shared = 0
    for numpy_name, cupy_name in zip(ours.positions, theirs.positions, strict=False):
        if numpy_name in handled:
            break
        if numpy_name != cupy_name:
            if numpy_name in theirs.names or cupy_name in ours.names:
                break
            renamed[numpy_name] = cupy_name
        shared += 1
    return shared, renamed
