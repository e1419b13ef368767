"""Versions: their order, the oldest CuPy that is supported, and what is installed.

Versions are read and ordered as PEP 440 says ("Version Identification and Dependency Specification"). It is written
out here because `cunumpy-core` needs nothing but NumPy and array-api-compat.
"""

from __future__ import annotations

import re
from functools import cache

from cunumpy.errors import ArgumentError, ArgumentTypeError, InstallationWarning, MissingPackageError

#: The oldest CuPy that is supported.
MIN_CUPY_VERSION = "14.0.0"

#: The version that is reported where no package metadata is found, as in a source tree on ``PYTHONPATH``.
UNKNOWN_VERSION = "0.0.0+unknown"

DISTRIBUTIONS = (
    "cunumpy",
    "cunumpy-core",
    "cunumpy-cuda",
    "cunumpy-kernels",
    "cunumpy-rng",
    "cunumpy-algorithms",
    "cunumpy-solvers",
    "cunumpy-mpi",
    "cunumpy-petsc",
)

# Every spelling that PEP 440 normalises: separators before and after a suffix, alternative words, leading "v".
_PATTERN = r"""
    v?
    (?: (?P<epoch>[0-9]+) ! )?
    (?P<release> [0-9]+ (?: \. [0-9]+ )* )
    (?: [-_.]? (?P<pre> alpha | a | beta | b | preview | pre | c | rc ) [-_.]? (?P<pre_number>[0-9]*) )?
    (?P<post> - (?P<post_bare>[0-9]+) | [-_.]? (?: post | rev | r ) [-_.]? (?P<post_number>[0-9]*) )?
    (?P<dev> [-_.]? dev [-_.]? (?P<dev_number>[0-9]*) )?
    (?: \+ (?P<local> [a-z0-9]+ (?: [-_.] [a-z0-9]+ )* ) )?
"""
_PHASES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}

# epoch, release, (phase, number), post, (is a release, dev number), local segments
VersionKey = tuple[int, tuple[int, ...], tuple[int, int], int, tuple[int, int], tuple[tuple[int, int, str], ...]]


def version_key(version: str) -> VersionKey | None:
    """Return a key that sorts as PEP 440 orders versions, or None if `version` is no version.

    Parameters
    ----------
    version : str
        For example ``"1.2"``, ``"1.2.0rc1"`` or ``"1.2.post1+local"``, in any spelling that PEP 440 accepts.

    Returns
    -------
    tuple or None
        Equal for versions that PEP 440 calls equal, such as ``"1.2"`` and ``"v1.2.0"``.
    """
    # Compiled at first use: it costs a millisecond that an import should not pay.
    match = re.fullmatch(_PATTERN, version.strip(), re.VERBOSE | re.IGNORECASE | re.ASCII)
    if match is None:
        return None
    release = [int(part) for part in match["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    if match["pre"]:
        pre = (_PHASES[match["pre"].lower()], int(match["pre_number"] or 0))
    elif match["dev"] and not match["post"]:
        pre = (-1, 0)  # 1.0.dev1 comes before 1.0a1
    else:
        pre = (3, 0)
    post = int(match["post_bare"] or match["post_number"] or 0) if match["post"] else -1
    dev = (0, int(match["dev_number"] or 0)) if match["dev"] else (1, 0)
    local = tuple(
        (1, int(part), "") if part.isdigit() else (0, 0, part)
        for part in re.split("[-_.]", (match["local"] or "").lower())
        if part
    )
    return int(match["epoch"] or 0), tuple(release), pre, post, dev, local


def _public(key: VersionKey) -> VersionKey:
    """Return the key without the local part, which PEP 440 leaves out of ``>=``."""
    return (*key[:-1], ())


def satisfies(version: str, specifier: str) -> bool:
    """Tell whether a version is one of those that a specifier such as ``">=0.8,<0.9"`` allows.

    The operators are ``>=``, ``<=``, ``>``, ``<``, ``==`` and ``!=``, without wildcards: what the packages of CuNumpy
    say of one another. A version that can't be read is not refused.
    """
    key = version_key(version)
    if key is None:
        return True
    present = _public(key)
    for operator, text in re.findall(r"(>=|<=|==|!=|>|<)\s*([^\s,]+)", specifier):
        bound_key = version_key(text)
        if bound_key is None:
            continue
        bound = _public(bound_key)
        is_pre_release = present[:2] == bound[:2] and present[2] < (3, 0) == bound[2]  # 0.9rc1 is not below 0.9
        allowed = {
            ">=": present >= bound,
            "<=": present <= bound,
            ">": present > bound,
            "<": present < bound and not is_pre_release,
            "==": present == bound,
            "!=": present != bound,
        }
        if not allowed[operator]:
            return False
    return True


def _require_string(function: str, argument: str, value: object) -> None:
    if not isinstance(value, str):
        raise ArgumentTypeError(
            f"{function}: {argument} must be a string such as '1.2.0', not {value!r} of type {type(value).__name__}"
        )


def cupy_version_supported(cupy_version: str) -> bool:
    """Tell whether a version of CuPy is at least `MIN_CUPY_VERSION`.

    Parameters
    ----------
    cupy_version : str
        A version, ordered as PEP 440 says: pre-releases of the oldest supported version are too old.

    Returns
    -------
    bool
        False for a string that is no version.

    Raises
    ------
    ArgumentTypeError
        `cupy_version` is not a string.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cupy_version_supported("14.1.0"), xp.cupy_version_supported("14.0.0rc1"), xp.cupy_version_supported("13.6.0")
    (True, False, False)
    """
    _require_string("cupy_version_supported", "cupy_version", cupy_version)
    key = version_key(cupy_version)
    oldest = version_key(MIN_CUPY_VERSION)
    assert oldest is not None
    return key is not None and _public(key) >= oldest


@cache
def version() -> str:
    """Return the version of `cunumpy-core`; ``"0.0.0+unknown"`` where it is not installed but on the path."""
    return installed_version("cunumpy-core") or UNKNOWN_VERSION


def installed_version(name: str) -> str | None:
    """Return the version of a distribution by its metadata; None where there is none."""
    from importlib import metadata  # costs more than the rest of this module

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def require_version(minimum: str) -> None:
    """Raise unless `cunumpy-core` is at least of a version.

    Parameters
    ----------
    minimum : str
        The oldest version that will do. The order is that of PEP 440, so 0.8.0.dev0 and 0.8.0rc1 are too old for
        ``"0.8.0"``, and 0.8.0.post1 is not. Local parts (``+local``) are not compared.

    Raises
    ------
    MissingPackageError
        The installation is too old. It is an ImportError.
    ArgumentError
        `minimum` is not a version.
    ArgumentTypeError
        `minimum` is not a string.

    Warns
    -----
    InstallationWarning
        The installed version is unknown, because `cunumpy-core` runs from a source tree that is not installed: there
        is nothing to compare.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.require_version("0.8")
    """
    _require_string("require_version", "minimum", minimum)
    needed = version_key(minimum)
    if needed is None:
        raise ArgumentError(
            f"require_version: minimum must be a version as in PEP 440, such as '1.2.0', not {minimum!r}"
        )
    installed = version()
    present = version_key(installed)
    if installed == UNKNOWN_VERSION or present is None:
        from cunumpy._call_sites import warn

        warn(
            f"require_version: whether cunumpy-core is at least {minimum.strip()} is not known, because its version is "
            f"{installed!r} (a source tree that is not installed)",
            InstallationWarning,
        )
    elif _public(present) < _public(needed):
        raise MissingPackageError(
            f"require_version: cunumpy-core {minimum.strip()} or later is needed, but {installed} is installed. "
            f"Run: uv add 'cunumpy-core>={minimum.strip()}'",
            name="cunumpy",
        )
