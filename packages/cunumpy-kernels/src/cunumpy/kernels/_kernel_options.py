"""The options of kernels, and of folders of them, checked in one place for one kernel and for a catalog."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from cunumpy._gate import describe
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.kernels._cuda_kernel import CudaKernel

DISPATCHES = ("backend", "arrays")
MISSING_CUDA = ("raise", "fallback")
HOST_OPTIONS = ("use_cupy", "object_modules", "is_array", "outputs", "parameters")


def check_dispatch(dispatch: Any, missing_cuda: Any, function: str) -> None:
    """Raise unless both are among the choices that there are."""
    for argument, value, choices in (("dispatch", dispatch, DISPATCHES), ("missing_cuda", missing_cuda, MISSING_CUDA)):
        if value not in choices:
            raise ArgumentError(
                f"{function}: argument {argument!r} must be {' or '.join(map(repr, choices))}, got {value!r}."
            )


def checked_host_options(options: Any, function: str) -> dict[str, Any]:
    """Return the arguments of a `PyccelKernel` around a function."""
    if options is not None and not isinstance(options, Mapping):
        raise ArgumentTypeError(
            f"{function}: argument 'host_options' must be a mapping of arguments of PyccelKernel, got "
            f"{describe(options)}."
        )
    unknown = [name for name in options or () if name not in HOST_OPTIONS]
    if unknown:
        raise ArgumentError(
            f"{function}: argument 'host_options' has {unknown[0]!r}; arguments of PyccelKernel are "
            f"{', '.join(HOST_OPTIONS)}."
        )
    return dict(options or {})


def check_folder_options(
    function: str,
    *,
    dispatch: Any,
    missing_cuda: Any,
    outputs: Any,
    compile_host: Any,
    suffixes: Mapping[str, Any],
    cuda_options: Mapping[str, Any],
) -> None:
    """Raise where an option of folders is wrong, whatever the folder holds."""
    check_dispatch(dispatch, missing_cuda, function)
    if isinstance(outputs, str) and outputs != "annotations":
        raise ArgumentError(
            f"{function}: argument 'outputs' must be a sequence of positions and names, or 'annotations', got "
            f"{outputs!r}; for one output pass [{outputs!r}]."
        )
    _check_cuda_options(cuda_options, function)
    if compile_host is not None and not callable(compile_host):
        raise ArgumentTypeError(
            f"{function}: argument 'compile_host' must be a function of a module, such as a PyccelCache, or None, got "
            f"{describe(compile_host)}."
        )
    for argument, suffix in suffixes.items():
        if not isinstance(suffix, str) and (argument, suffix) != ("test_args_suffix", None):
            raise ArgumentTypeError(f"{function}: argument {argument!r} must be a str, got {describe(suffix)}.")


def _check_cuda_options(options: Mapping[str, Any], function: str) -> None:
    """Raise for options that no CUDA kernel takes, whether or not there is one."""
    known = _cuda_options()
    for name in options:
        if name not in known:
            raise ArgumentTypeError(
                f"{function}: got an unknown argument {name!r}; besides its own it takes those of CudaKernel: "
                f"{', '.join(known)}."
            )
    probe = {name: value for name, value in options.items() if name != "template_args"}
    CudaKernel('extern "C" __global__ void probe() {}', "probe", **probe)


@lru_cache(1)
def _cuda_options() -> tuple[str, ...]:
    own = ("source", "name", "include_dirs")
    return tuple(name for name in inspect.signature(CudaKernel).parameters if name not in own)
