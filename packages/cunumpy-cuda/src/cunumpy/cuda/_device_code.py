"""Compiling the CUDA source of a package with CuPy, and launching its kernels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cunumpy import _arrays, _backend
from cunumpy.cuda._locks import new_lock
from cunumpy.cuda._sources import cuda_include_dir, include_hash, resolve_includes
from cunumpy.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS = ("-std=c++14",)


class DeviceCode:
    """The kernels of one CUDA source file of a package, compiled when they are first launched.

    Parameters
    ----------
    package : str
        Such as ``"cunumpy.rng"``.
    source : str
        The file's name, in the package's folder.
    """

    def __init__(self, package: str, source: str) -> None:
        self.package = package
        self.source = source
        self._modules: dict[str, Any] = {}
        self._kernels: dict[str, Any] = {}
        self._lock = new_lock()

    @property
    def path(self) -> Path:
        """Where the source file is."""
        return Path(str(sys.modules[self.package].__file__)).resolve().parent / self.source

    def text(self) -> str:
        """Return the source, headed by a hash of the headers: CuPy's cache knows a source by its text alone."""
        text = self.path.read_text(encoding="utf-8")
        headers = resolve_includes(text, base_dir=self.path.parent, angle_dirs=[cuda_include_dir()])
        return f"// headers: {include_hash(headers)}\n{text}"

    def kernel(self, name: str) -> Any:
        """Return a kernel; ``"name<double>"`` is an instance of a template."""
        found = self._kernels.get(name)
        if found is None:
            with self._lock:
                module = self._module(name)
                found = self._kernels[name] = module.get_function(name)
        return found

    def _module(self, name: str) -> Any:
        # One module holds the plain kernels; an instance of a template has its own, so that none is compiled in vain.
        instance = name if "<" in name else ""
        if instance not in self._modules:
            cupy = _backend.require_cupy(self.package)
            module = cupy.RawModule(
                code=self.text(),
                options=(*OPTIONS, f"-I{cuda_include_dir()}", f"-I{self.path.parent}"),
                name_expressions=[instance] if instance else None,
            )
            if hasattr(module, "_check"):  # the stand-in's, which checks launches; these kernels are tested
                module._check = False
            self._modules[instance] = module
        return self._modules[instance]

    def launch(self, name: str, n: int, arguments: Sequence[Any], *, threads: int = 256) -> None:
        """Launch a kernel with at least `n` threads, on CuPy's current stream; nothing for ``n == 0``.

        Parameters
        ----------
        name : str
        n : int
        arguments : sequence
            CuPy arrays, for pointers; NumPy scalars of exactly the parameter's type; `numpy.void` for a structure.
        threads : int, default: 256
            Threads of a block.
        """
        if n > 0:
            self.kernel(name)((-(-n // threads),), (threads,), tuple(arguments))


def check_devices(function: str, **arrays: Any) -> None:
    """Raise `ArgumentError` unless all device arrays are on the current device; other values are skipped."""
    given = {argument: array for argument, array in arrays.items() if _arrays.is_device_array(array)}
    if not given:
        return
    cupy = _backend.require_cupy(function)
    current = cupy.cuda.runtime.getDevice()
    for argument, array in given.items():
        if array.device.id != current:
            raise ArgumentError(
                f"{function}: argument {argument!r} is on device {array.device.id}, the current device is {current}; "
                f"call it inside of `with cupy.cuda.Device({array.device.id}):`."
            )
