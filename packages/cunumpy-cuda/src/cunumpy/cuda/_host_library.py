"""Loading the native library of a package, or saying why its NumPy path runs instead.

The library is built from the CUDA headers when the package is built. It has a C interface and is called with ctypes,
which releases the interpreter's lock.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import TYPE_CHECKING

from cunumpy import _call_sites, _environment
from cunumpy.cuda._sources import cuda_include_dir, include_hash
from cunumpy.errors import InstallationWarning, MissingPackageError

if TYPE_CHECKING:
    import numpy as np

INSTRUCTION_SETS = ("baseline", "AVX2", "AVX-512")

_SUFFIX = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")


class HostLibrary:
    """The native library of a package; `HOST_LIBRARIES` has it by the package's name.

    Parameters
    ----------
    package : str
        Such as ``"cunumpy.rng"``; imported already, because it is the one who asks.

    Attributes
    ----------
    library : ctypes.CDLL or None
        None where the NumPy path is to be used.
    problem : str or None
        Why there is no library.

    Raises
    ------
    MissingPackageError
        There is no library to use, and ``CUNUMPY_REQUIRE_NATIVE`` is set.
    """

    def __init__(self, package: str) -> None:
        self.package = package
        self.library: ctypes.CDLL | None = None
        self.problem = self._load()
        HOST_LIBRARIES[package] = self
        if self.problem is not None and _environment.read("CUNUMPY_REQUIRE_NATIVE"):
            raise MissingPackageError(
                f"{package}: CUNUMPY_REQUIRE_NATIVE is set, and there is no native library to use: {self.problem}."
            )

    def _load(self) -> str | None:
        if _environment.read("CUNUMPY_NO_NATIVE"):
            return "CUNUMPY_NO_NATIVE is set"
        folder = os.path.dirname(os.path.abspath(str(sys.modules[self.package].__file__)))
        path = os.path.join(folder, f"_{self.package.replace('.', '_')}{_SUFFIX}")
        if not os.path.exists(path):
            return (
                "none was built: when the package was, there was no C++ compiler, it failed, or CUNUMPY_NO_NATIVE was "
                f"set; {_rebuild(self.package)}"
            )
        try:
            library = ctypes.CDLL(path)
            library.cunumpy_headers.restype = ctypes.c_char_p
            built_from = library.cunumpy_headers().decode()
        except (OSError, AttributeError) as error:
            return self._refuse(f"it can't be loaded: {error}")
        for header in built_from.split(","):
            name, _, built_hash = header.partition(":")
            try:
                installed_hash = include_hash([os.path.join(cuda_include_dir(), "cunumpy", name)])
            except OSError:
                installed_hash = "none"
            if built_hash != installed_hash:
                return self._refuse(
                    f"it was built from another {name} than the one of the installed cunumpy-cuda "
                    f"({built_hash}, not {installed_hash}), so host and device could differ"
                )
        self.library = library
        return None

    def _refuse(self, problem: str) -> str:
        if not _environment.read("CUNUMPY_REQUIRE_NATIVE"):  # else it becomes an error
            _call_sites.warn(
                f"{self.package}: the native library is not used, NumPy does its work more slowly: {problem}; "
                f"{_rebuild(self.package)}",
                InstallationWarning,
            )
        return problem

    @property
    def status(self) -> str:
        """What runs on the host, for reports."""
        if self.library is None:
            return f"the NumPy path; no native library: {self.problem}"
        return f"native, {INSTRUCTION_SETS[self.library.cunumpy_instruction_set()]}"


#: The libraries of the packages that were imported.
HOST_LIBRARIES: dict[str, HostLibrary] = {}


def _rebuild(package: str) -> str:
    distribution = package.replace(".", "-")
    return f"build it again: uv sync --reinstall-package {distribution}, or uv add --reinstall {distribution}"


def address(array: np.ndarray) -> int:
    """Return where the memory of an array starts."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    except (TypeError, ValueError, BufferError):  # read-only, strided, empty, or of a dtype that has no buffer
        pointer: int = array.__array_interface__["data"][0]
        return pointer
