"""The parameters of a host kernel, found without compiling it, and whether all of its versions take the same."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from cunumpy.kernels._compiled_host_kernel import CompiledHostKernel
from cunumpy.kernels._folder import is_compiled
from cunumpy.kernels._host_implementations import HostImplementations
from cunumpy.kernels._host_types import differences, parameters_of, stub_parameters
from cunumpy.kernels._pyccel_kernel import outputs_from_annotations

if TYPE_CHECKING:
    from cunumpy.cuda import CudaParameter
    from cunumpy.kernels._host_types import HostParameter


def host_parameters(host: Any) -> list[HostParameter] | None:
    """Return the parameters of a host kernel, of the first version that tells them; None where there is none."""
    if host is None:
        return None
    for function in _uncompiled(host):
        found = parameters_of(function)
        if found is None:
            module = sys.modules.get(getattr(function, "__module__", None) or "")
            if module is not None and is_compiled(module):
                found = stub_parameters(str(module.__file__), getattr(function, "__name__", ""))
        if found is not None:
            return found
    return None


def annotated_outputs(host: HostImplementations) -> tuple[str, ...] | None:
    """Return the names of what a host kernel writes, as its annotations say."""
    return next(map(outputs_from_annotations, _uncompiled(host)), None)


def signature_differences(host: Any, signature: Sequence[CudaParameter] | None) -> list[str]:
    """Return where the versions of a host kernel, and its CUDA kernel, take other arguments, in words."""
    parameters = host_parameters(host)
    if parameters is None:
        return []
    names = [one.name for one in parameters]
    problems = []
    if signature is not None:
        cuda = [one.name for one in signature]
        if cuda != names:
            problems.append(f"{_listed(names)} on the host, {_listed(cuda)} in CUDA")
        else:
            problems += differences(parameters, signature)
    for which, function in _other_versions(host):
        others = parameters_of(function)
        if others is not None and [one.name for one in others] != names:
            problems.append(f"{_listed(names)} on the host, {_listed(one.name for one in others)} {which}")
    return problems


def _uncompiled(host: Any) -> Iterable[Callable[..., Any]]:
    """Yield the functions that may tell the parameters, best first; none is compiled for it."""
    if isinstance(host, CompiledHostKernel):
        try:
            yield host.python
        except (ImportError, AttributeError):
            return
    elif isinstance(host, HostImplementations):
        names = [name for name in ("python", "numpy", "numba", "pyccel") if name in host.names]
        for name in names:
            ready = name != "pyccel" or "python" not in host.names  # where there is a source, this would compile it
            if ready and host.available(name):
                function = host.get(name)
                yield getattr(function, "py_func", function)
    else:
        yield getattr(host, "py_func", host)


def _other_versions(host: Any) -> Iterable[tuple[str, Callable[..., Any]]]:
    """Yield the versions that are compared with the plain Python one, and how they are called in messages."""
    if isinstance(host, CompiledHostKernel) and host.fallback is not None:
        yield "in the fallback", host.fallback
    if isinstance(host, HostImplementations):
        for name in ("numba", "numpy"):
            if name in host.names and host.available(name):
                function = host.get(name)
                yield f"in the version with {name}", getattr(function, "py_func", function)


def _listed(names: Iterable[str]) -> str:
    return f"({', '.join(names)})"
