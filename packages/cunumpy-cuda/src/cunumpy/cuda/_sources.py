"""CUDA sources and the headers that they include."""

from __future__ import annotations

import functools
import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from cunumpy._gate import as_path, as_paths, describe
from cunumpy.cuda._tokens import directives
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAME = re.compile(r'"([^"\n]+)"|<([^>\n]+)>')


def cuda_include_dir() -> str:
    """Return the folder of the shipped headers, for the compiler's ``-I``.

    Returns
    -------
    str
        ``<folder>/cunumpy/*.cuh`` are the headers: ``#include <cunumpy/random.cuh>``.

    Examples
    --------
    >>> import os
    >>> import cunumpy as xp
    >>> os.path.isfile(os.path.join(xp.cuda.cuda_include_dir(), "cunumpy", "random.cuh"))
    True
    """
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")


def resolve_includes(
    source: str,
    include_dirs: Iterable[str | Path] = (),
    *,
    base_dir: str | Path | None = None,
    angle_dirs: Iterable[str | Path] = (),
) -> list[Path]:
    """Return the headers that a source includes, directly and by other headers.

    Comments and string literals are skipped; the conditions of ``#if`` are not evaluated, so a header may be listed
    that the compiler does not read, but none of those found that it reads is left out. A file name that is a macro
    stands for all names that the same file defines it as.

    Parameters
    ----------
    source : str
        CUDA or C++ source code.
    include_dirs : iterable of str or Path, optional
        Folders that are searched for ``#include "name"``, after the folder of the including file.
    base_dir : str or Path, optional
        The folder of the source itself.
    angle_dirs : iterable of str or Path, optional
        Folders that are searched for ``#include <name>``, and last for ``#include "name"``.

    Returns
    -------
    list of Path
        Depth first, in the order of first inclusion, each file once; what is not found is left out.

    Raises
    ------
    ArgumentTypeError
        `source` is not a string, or a single folder is given for several.

    Examples
    --------
    >>> import cunumpy as xp
    >>> source = "#include <cunumpy/random.cuh>"
    >>> [header.name for header in xp.cuda.resolve_includes(source, angle_dirs=[xp.cuda.cuda_include_dir()])]
    ['random.cuh']
    """
    if not isinstance(source, str):
        raise ArgumentTypeError(
            f"resolve_includes: argument 'source' must be the source code as str, got {describe(source)}; read a file "
            "with Path(...).read_text()."
        )
    angles = as_paths(angle_dirs, function="resolve_includes", argument="angle_dirs")
    quotes = [*as_paths(include_dirs, function="resolve_includes", argument="include_dirs"), *angles]
    if base_dir is not None:
        base_dir = as_path(base_dir, function="resolve_includes", argument="base_dir")
    found: list[Path] = []
    seen: set[Path] = set()

    def visit(text: str, folder: Path | None) -> None:
        for quoted, name in _included_names(text):
            folders = ([] if folder is None else [folder]) + quotes if quoted else angles
            candidate = next((path for path in (place / name for place in folders) if _is_file(path)), None)
            if candidate is None:
                continue
            resolved = candidate.resolve()
            if resolved not in seen:
                seen.add(resolved)
                found.append(candidate)
                visit(candidate.read_text(encoding="utf-8-sig", errors="replace"), candidate.parent)

    visit(source, base_dir)
    return found


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that no file can have
        return False


@functools.lru_cache(maxsize=64)
def _included_names(source: str) -> tuple[tuple[bool, str], ...]:
    """Return the names of the include directives, each with whether it is in quotes."""
    names: list[tuple[bool, str]] = []
    macros: dict[str, list[str]] = {}
    for directive, text in directives(source):
        if directive == "define":
            name, _, value = text.partition(" ")
            macros.setdefault(name, []).append(value.strip())
        elif directive in ("include", "include_next", "import"):
            for value in macros.get(text, [text]):
                found = _NAME.match(value)
                if found is not None:
                    names.append((found[1] is not None, found[1] or found[2]))
    return tuple(names)


def include_hash(paths: Iterable[str | Path]) -> str:
    """Return a hash of the contents of files.

    Parameters
    ----------
    paths : iterable of str or Path
        Their order matters, their names and places do not.

    Returns
    -------
    str
        The first 16 hexadecimal digits of the SHA-256 (FIPS 180-4) of each file's length, in 8 bytes, the lowest first,
        followed by its bytes.

    Raises
    ------
    FileNotFoundError
        A file is missing.
    ArgumentError
        A path is a folder's.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cuda.include_hash([])
    'e3b0c44298fc1c14'
    """
    digest = hashlib.sha256()
    for path in as_paths(paths, function="include_hash", argument="paths"):
        if path.is_dir():
            raise ArgumentError(f"include_hash: argument 'paths' holds the folder {str(path)!r}; pass files.")
        content = path.read_bytes()
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()[:16]
