"""Checks of arguments that the functions on CUDA sources share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy._gate import describe
from cunumpy.cuda._tokens import SourceError
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def check_text(value: object, argument: str, what: str, function: str) -> None:
    if not isinstance(value, str):
        remedy = "; read a file with Path(...).read_text()" if argument == "source" else ""
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} must be {what} as str, got {describe(value)}{remedy}."
        )


def structs_by_name(structs: Iterable[Any], function: str) -> dict[str, Any]:
    known: dict[str, Any] = {}
    if not hasattr(structs, "__iter__"):
        raise ArgumentTypeError(
            f"{function}: argument 'structs' must be several structs, got {describe(structs)}; pass structs=[struct]."
        )
    for struct in structs:
        name, dtype = getattr(struct, "name", None), getattr(struct, "dtype", None)
        if not isinstance(name, str) or not isinstance(dtype, np.dtype):
            if isinstance(struct, type) and hasattr(struct, "struct"):
                problem = f"the class {struct.__name__}; pass its struct, {struct.__name__}.struct"
            else:
                problem = f"{describe(struct)}; pass CudaStruct objects of cunumpy.arguments"
            raise ArgumentTypeError(f"{function}: argument 'structs' holds {problem}.")
        if known.setdefault(name, struct) is not struct:
            raise ArgumentError(f"{function}: argument 'structs' has two structs of the name {name!r}; keep one.")
    return known


def as_defines(defines: Mapping[str, Any] | None, function: str) -> tuple[tuple[str, str | None], ...] | None:
    if defines is None:
        return None
    if not hasattr(defines, "items"):
        raise ArgumentTypeError(
            f"{function}: argument 'defines' must map names of macros to their values, got {describe(defines)}; for "
            "-DNAME=3 pass {'NAME': 3}."
        )
    return tuple(
        (name, None if value is None else str(int(value)) if isinstance(value, (bool, np.bool_)) else str(value))
        for name, value in defines.items()
    )


def argument_error(error: SourceError, function: str, filename: str) -> ArgumentError:
    return ArgumentError(f"{function}: {filename}:{error.line}:{error.column}: {error.message}.")
