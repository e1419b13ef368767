"""What a decorator of tests does with the signature of a test, some parameters of which it fills."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any


def without_parameters(function: Callable[..., Any], *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return `functools.wraps`, with a signature that lacks the parameters that the decorator fills."""

    def decorator(wrapper: Callable[..., Any]) -> Callable[..., Any]:
        wrapped: Any = functools.wraps(function)(wrapper)
        signature = inspect.signature(function)
        left = [parameter for name, parameter in signature.parameters.items() if name not in names]
        del wrapped.__wrapped__
        wrapped.__signature__ = signature.replace(parameters=left)
        return wrapped  # type: ignore[no-any-return]

    return decorator
