"""Run a function inside a context manager, whatever kind of function it is.

A ``with`` around the call of a generator or coroutine function would cover only its creation, and a ``with`` in its
body stays in force for whoever runs while it is suspended. Here the context is entered at each resume and left at each
suspension.
"""

from __future__ import annotations

import functools
import types
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from cunumpy._gate import given
from cunumpy.errors import ArgumentTypeError

F = TypeVar("F", bound=Callable[..., Any])
Contexts = Callable[[], AbstractContextManager[Any]]

# Bits of co_flags; `inspect` is slow to import.
_GENERATOR, _COROUTINE, _ITERABLE_COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x100, 0x200


def scoped(function: F, make_context: Contexts, decorator: str = "scoped") -> F:
    """Wrap `function` so that its body runs inside the context manager that `make_context` makes.

    Parameters
    ----------
    function : callable
        A plain function, generator function, coroutine function or asynchronous generator function.
    make_context : callable
        Takes nothing and returns a new context manager. It is called at each call of a plain function, and at each
        resume of a generator or coroutine.
    decorator : str
        What an error calls it.

    Returns
    -------
    callable
        Of the same kind as `function`, with its metadata.
    """
    return scoped_per_call(function, lambda: make_context, decorator)


def scoped_per_call(function: F, start_call: Callable[[], Contexts], decorator: str = "scoped") -> F:
    """Do the same as `scoped` with one `make_context` per call, for contexts that belong together.

    Parameters
    ----------
    function : callable
        As for `scoped`.
    start_call : callable
        Takes nothing and returns a `make_context`. It is called once per call: for generators and coroutines when the
        body starts.
    decorator : str
        What an error calls it.

    Returns
    -------
    callable
        Of the same kind as `function`, with its metadata.
    """
    flags = _code_flags(function, decorator)
    wrapper: Callable[..., Any]
    if flags & _ASYNC_GENERATOR:
        wrapper = _asynchronous_generator(function, start_call)
    elif flags & _COROUTINE:
        wrapper = _coroutine(function, start_call)
    elif flags & _GENERATOR:
        wrapper = _resumed(function, start_call)
        if flags & _ITERABLE_COROUTINE:
            wrapper = types.coroutine(wrapper)
    else:

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with start_call()():
                return function(*args, **kwargs)

    return functools.update_wrapper(wrapper, function)  # type: ignore[return-value]


def _code_flags(function: object, decorator: str) -> int:
    if not callable(function):
        raise ArgumentTypeError(f"{decorator}: expected a function to decorate, got {given(function)}.")
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(getattr(type(function), "__call__", None), "__code__", None)  # noqa: B004 - looked at, not asked
    return int(code.co_flags) if isinstance(code, types.CodeType) else 0


def _resumed(
    function: Callable[..., Any], start_call: Callable[[], Contexts]
) -> Callable[..., Generator[Any, Any, Any]]:
    """Wrap what returns a generator, coroutine or awaitable iterator."""

    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        make_context = start_call()
        generator = function(*args, **kwargs)
        step, argument = generator.send, None
        while True:
            ended = ended_async = False
            try:
                with make_context():
                    # An end is no failure: the context must not see an exception.
                    try:
                        value = step(argument)
                    except StopIteration as end:
                        ended, value = True, end.value
                    except StopAsyncIteration:
                        ended_async = True
            except BaseException:
                generator.close()  # does nothing unless it was the context that failed
                raise
            finally:
                argument = None  # an exception here would keep this frame, and itself, alive
            if ended:
                return value
            if ended_async:
                raise StopAsyncIteration
            step = generator.send
            try:
                argument = yield value
            except BaseException as error:  # GeneratorExit too: `throw` is all that `close` does
                step, argument = generator.throw, error

    return wrapper


class _Await:
    """Make an iterator awaitable."""

    def __init__(self, iterator: Iterator[Any]) -> None:
        self._iterator = iterator

    def __await__(self) -> Iterator[Any]:
        return self._iterator


def _coroutine(function: Callable[..., Any], start_call: Callable[[], Contexts]) -> Callable[..., Awaitable[Any]]:
    steps = _resumed(function, start_call)

    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        return await _Await(steps(*args, **kwargs))  # type: ignore[misc]

    return wrapper


def _asynchronous_generator(
    function: Callable[..., Any], start_call: Callable[[], Contexts]
) -> Callable[..., AsyncGenerator[Any, Any]]:
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        make_context = start_call()
        generator = function(*args, **kwargs)
        steps = _resumed(lambda step, argument: step(argument), lambda: make_context)
        step, argument = generator.asend, None
        while True:
            try:
                value = await _Await(steps(step, argument))  # type: ignore[misc]
            except StopAsyncIteration:
                return
            step, argument = generator.asend, None
            try:
                argument = yield value
            except GeneratorExit:
                await _Await(steps(lambda _: generator.aclose(), None))  # type: ignore[misc]
                raise
            except BaseException as error:
                step, argument = generator.athrow, error

    return wrapper
