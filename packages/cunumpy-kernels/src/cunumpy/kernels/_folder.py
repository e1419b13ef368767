"""Kernels in folders: which files hold which implementation, and how each is loaded."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES, SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

from cunumpy._call_sites import warn
from cunumpy._gate import describe
from cunumpy.errors import ArgumentError, ArgumentTypeError, MissingNameError

_LONGEST_FORTRAN_NAME = 63


class KernelFolder:
    """The folder package of one kernel, and the files in it.

    Parameters
    ----------
    package : str
        Its dotted name; the last part is the kernel's name. It is imported.
    host_suffix, cuda_suffix, test_args_suffix
        How the files are called; see `Kernel.from_folder`.
    """

    def __init__(self, package: str, *, host_suffix: str, cuda_suffix: str, test_args_suffix: str | None) -> None:
        self.package = package
        self.folders = package_folders(package, "Kernel.from_folder")
        self.name = package.rpartition(".")[2]
        self.host_module = self.name + host_suffix
        self.host_file = self.find(self.host_module + ".py")
        self.compiled_file = next(filter(None, map(self.find, _extensions(self.host_module))), None)
        self.numba_file = self.find(f"{self.name}_numba.py")
        self.numpy_file = self.find(f"{self.name}_numpy.py")
        self.cuda_file = self.find(self.name + cuda_suffix)
        self.test_args_file = None if test_args_suffix is None else self.find(f"{self.name}{test_args_suffix}.py")
        self.expected = [self.host_module + ".py", f"{self.name}_numba.py", f"{self.name}_numpy.py"]
        self.expected.append(self.name + cuda_suffix)

    def find(self, filename: str) -> Path | None:
        """Return a file of the folder, None if it is not there; a namespace package may have several folders."""
        return next((path for path in (folder / filename for folder in self.folders) if path.is_file()), None)

    @property
    def cuda_path(self) -> Path:
        """Where the CUDA source is, or would be."""
        return self.cuda_file or self.folders[0] / self.expected[-1]

    def refuse_empty(self) -> None:
        if self.host_file or self.compiled_file or self.numba_file or self.numpy_file or self.cuda_file:
            return
        raise FileNotFoundError(
            f"Kernel.from_folder: {self.package!r} ({self.folders[0]}) holds no implementation of {self.name!r}; it "
            f"needs one of {', '.join(self.expected)}."
        )

    def loaders(self, compile_host: Callable[[ModuleType], ModuleType] | None) -> dict[str, Callable[[], Any]]:
        """Return how each implementation on the host is loaded; the host module is imported at once, none compiled.

        A module that is compiled already, where it stands, is the compiled implementation; the source beside it, if it
        is there, the plain Python one.
        """
        loaders: dict[str, Callable[[], Any]] = {}
        if self.host_file or self.compiled_file:
            dotted = f"{self.package}.{self.host_module}"
            file = str(self.host_file or self.compiled_file)
            plain = FunctionOf(dotted, self.name, file)
            plain()
            if is_compiled(sys.modules[dotted]):
                loaders["pyccel"] = plain
                if self.host_file:
                    loaders["python"] = FunctionOfSource(dotted, self.name, file)
            else:
                loaders["python"] = plain
                if compile_host is not None:
                    loaders["pyccel"] = CompiledFunctionOf(dotted, self.name, compile_host)
        if self.numba_file:
            loaders["numba"] = FunctionOf(f"{self.package}.{self.name}_numba", self.name, str(self.numba_file))
        if self.numpy_file:
            loaders["numpy"] = FunctionOf(f"{self.package}.{self.name}_numpy", self.name, str(self.numpy_file))
        return loaders

    def check_name_length(self) -> None:
        """Warn of a name that Fortran compilers, which Pyccel may use, refuse."""
        wrapper = f"bind_c_{self.host_module}"
        if self.host_file and len(wrapper) > _LONGEST_FORTRAN_NAME:
            warn(
                f"Kernel.from_folder: Pyccel names a Fortran module {wrapper!r} for {self.host_file}, which has "
                f"{len(wrapper)} characters; Fortran allows {_LONGEST_FORTRAN_NAME}. Shorten the name of the kernel, "
                "compile it to C, or pass check_name_length=False.",
                UserWarning,
            )

    def include_dirs(self) -> tuple[Path, ...]:
        """Return where headers are found by default: beside the root package, as in ``#include "pkg/header.cuh"``."""
        root = self.package.partition(".")[0]
        return tuple(dict.fromkeys(folder.parent for folder in package_folders(root, "Kernel.from_folder")))


def package_folders(package: str, function: str) -> list[Path]:
    """Return the folders of a package, with or without an ``__init__.py``; it is imported."""
    if not isinstance(package, str):
        raise ArgumentTypeError(
            f"{function}: argument 'package' must be the dotted name of a package as str, got {describe(package)}."
        )
    if not all(part.isidentifier() for part in package.split(".")):
        raise ArgumentError(
            f"{function}: argument 'package' must be the dotted name of a package, from its root on, got {package!r}."
        )
    folders = getattr(import_module(package), "__path__", None)
    if folders is None:
        raise ModuleNotFoundError(f"{function}: {package!r} is a module and no package, that is, no folder.")
    found = [Path(folder) for folder in folders if Path(folder).is_dir()]
    if not found:
        raise ModuleNotFoundError(f"{function}: the package {package!r} has no folder on disk, got {list(folders)}.")
    return found


def folder_names(package: str, host_suffix: str, cuda_suffix: str) -> list[str]:
    """Return the names of the subfolders of a package that hold an implementation of the kernel of their name."""
    names = set()
    for folder in package_folders(package, "KernelCatalog.from_package"):
        for inner in folder.iterdir():
            name = inner.name
            ends = (f"{host_suffix}.py", "_numba.py", "_numpy.py", cuda_suffix, *_extensions(host_suffix))
            if name.isidentifier() and inner.is_dir() and any((inner / (name + end)).is_file() for end in ends):
                names.add(name)
    return sorted(names)


def _extensions(module: str) -> Iterator[str]:
    return (module + suffix for suffix in EXTENSION_SUFFIXES)


def is_compiled(module: ModuleType) -> bool:
    """Tell whether a module is a compiled extension."""
    return (getattr(module, "__file__", None) or "").endswith(tuple(EXTENSION_SUFFIXES))


# --- loaders: classes, so that they pickle ----------------------------------------------------------------------------


@dataclass(frozen=True)
class FunctionOf:
    """Loads a function of a module, which is imported for it."""

    module: str
    name: str
    file: str

    def __call__(self) -> Callable[..., Any]:
        try:
            module = import_module(self.module)
        except BaseException as error:
            error.add_note(f"while {self.file} was imported, for the kernel {self.name!r}")
            raise
        return _function_of(module, self.name, self.file)


@dataclass(frozen=True)
class CompiledFunctionOf:
    """Loads a function of a module that is compiled for it."""

    module: str
    name: str
    compiler: Callable[[ModuleType], ModuleType]

    def __call__(self) -> Callable[..., Any]:
        module = self.compiler(import_module(self.module))
        return _function_of(module, self.name, f"the module that compiling {self.module} gave")


@dataclass(frozen=True)
class FunctionOfSource:
    """Loads a function of a source file, beside which the compiled module is what imports find."""

    module: str
    name: str
    file: str

    def __call__(self) -> Callable[..., Any]:
        loader = SourceFileLoader(f"{self.module}__source", self.file)
        spec = spec_from_loader(loader.name, loader)
        assert spec is not None
        module = module_from_spec(spec)
        loader.exec_module(module)
        return _function_of(module, self.name, self.file)


@dataclass(frozen=True)
class Given:
    """Gives a function that is there already."""

    function: Callable[..., Any]

    def __call__(self) -> Callable[..., Any]:
        return self.function


def _function_of(module: ModuleType, name: str, file: str) -> Callable[..., Any]:
    function = getattr(module, name, None)
    if function is None:
        raise MissingNameError(
            f"Kernel.from_folder: {file} has no function {name!r}; the function of a kernel has the name of its folder."
        )
    if not callable(function):
        raise ArgumentTypeError(
            f"Kernel.from_folder: {name!r} in {file} must be the function of the kernel, got {describe(function)}."
        )
    found: Callable[..., Any] = function
    return found
