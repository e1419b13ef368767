"""What of CuNumpy is installed, whether it fits together, and whether an older package is in the way."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from typing import TYPE_CHECKING

from cunumpy._call_sites import warn
from cunumpy.errors import REMEDY_FOR_OLDER, InstallationWarning, MissingNameError, MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

# Submodules, and the distribution that has each.
SUBMODULES = {
    "algorithms": "cunumpy-algorithms",
    "arguments": "cunumpy-kernels",
    "cuda": "cunumpy-cuda",
    "errors": "cunumpy-core",
    "integrate": "cunumpy-solvers",
    "kernel_testing": "cunumpy-kernels",
    "kernels": "cunumpy-kernels",
    "memory": "cunumpy-core",
    "mpi": "cunumpy-mpi",
    "optimize": "cunumpy-solvers",
    "petsc": "cunumpy-petsc",
    "profiling": "cunumpy-core",
    "rng": "cunumpy-rng",
    "xp": "cunumpy-core",
}

_FIRST_WORKSPACE_VERSION = (0, 8)


def has_submodule(name: str) -> bool:
    """Tell whether a submodule is installed, without loading it."""
    from importlib.util import find_spec

    return find_spec(f"cunumpy.{name}") is not None


def load_submodule(name: str) -> ModuleType:
    """Return a submodule of the package.

    Raises
    ------
    MissingNameError
        The distribution that has it is not installed; the message says how to add it. Whatever goes wrong inside an
        installed one is raised as it is.
    """
    from importlib import import_module

    try:
        return import_module(f"cunumpy.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"cunumpy.{name}":
            raise
        distribution = SUBMODULES[name]
        raise MissingNameError(
            f"module 'cunumpy' has no attribute {name!r}: {distribution} is not installed. "
            f"Add it: uv add {distribution}",
            name=name,
            obj=sys.modules["cunumpy"],
        ) from None


def require_submodule(name: str, reason: str) -> None:
    """Raise `MissingPackageError` unless a submodule is installed."""
    if not has_submodule(name):
        distribution = SUBMODULES[name]
        raise MissingPackageError(
            f"{reason} needs {distribution}, which is not installed. Add it: uv add {distribution}"
        )


def older_versions(folders: Iterable[str]) -> list[str]:
    """Return the versions of single-distribution packages named ``cunumpy`` installed beside the given folders."""
    found = set()
    for folder in {os.path.dirname(os.path.abspath(folder)) for folder in folders}:
        try:
            entries = os.listdir(folder)
        except OSError:  # a zip file or a folder that is gone
            continue
        for entry in entries:
            if entry.startswith("cunumpy-") and entry.endswith((".dist-info", ".egg-info")):
                version = entry.removeprefix("cunumpy-").rpartition(".")[0]
                release = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
                if release < _FIRST_WORKSPACE_VERSION:
                    found.add(version)
    return sorted(found)


def warn_of_older(folders: Iterable[str]) -> None:
    """Warn if an older ``cunumpy`` is installed in the same places."""
    versions = older_versions(folders)
    if versions:
        warn(
            f"cunumpy {' and '.join(versions)}, an older package of one distribution, is installed beside "
            f"cunumpy-core, and files of both are mixed. {REMEDY_FOR_OLDER}",
            InstallationWarning,
        )


@cache
def installed_distributions() -> dict[str, tuple[str, str]]:
    """Return version and folder of metadata of each distribution of CuNumpy, as Python would find them.

    The names of folders are read rather than `importlib.metadata` asked, whose import costs a tenth of NumPy's.
    """
    found: dict[str, tuple[str, str]] = {}
    for folder in sys.path:
        try:
            entries = os.listdir(folder or ".")
        except OSError:
            continue
        for entry in entries:
            if entry.startswith("cunumpy") and entry.endswith(".dist-info"):
                name, _, version = entry.removesuffix(".dist-info").partition("-")
                found.setdefault(name.replace("_", "-"), (version, os.path.join(folder, entry)))
    return found


def require_compatible(distribution: str) -> None:
    """Raise unless the distributions of CuNumpy that one needs are there in versions that it works with.

    Whoever installs by ``uv add`` has them; not so where packages were installed one by one, or by ``--no-deps``. In a
    source tree without metadata there is nothing to compare.

    Raises
    ------
    MissingPackageError
        One is too old or too new; the message says what to run.
    """
    installed = installed_distributions()
    version, metadata = installed.get(distribution, ("", ""))
    try:
        with open(os.path.join(metadata, "METADATA"), encoding="utf-8") as file:
            head = file.read().partition("\n\n")[0]
    except OSError:
        return
    for name, specifier in re.findall(r"^Requires-Dist: (cunumpy-\w+)([^\[;\n]*)$", head, re.MULTILINE):
        if name not in installed or not specifier:
            continue
        from cunumpy._versions import satisfies

        other = installed[name][0]
        if satisfies(other, specifier):
            continue
        too_new = satisfies(other, ",".join(bound for bound in specifier.split(",") if ">" in bound))
        remedy = f"uv add --upgrade-package {distribution} {distribution}" if too_new else f"uv add '{name}{specifier}'"
        raise MissingPackageError(
            f"{distribution} {version} works with {name}{specifier}, and {name} {other} is installed. Run: {remedy}",
            name=name,
        )
