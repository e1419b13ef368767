"""The exceptions and warnings of CuNumpy, all in one tree.

Every exception derives from `CuNumpyError` and from the built-in exception that fits, so that ``except ValueError``
works as it does with NumPy::

    CuNumpyError
    ├── ArgumentError             ValueError      an argument has a wrong value, shape or dtype
    │   ├── ArgumentRangeError    OverflowError   a number that the type it is for can't hold
    │   └── SettingError          ValueError      an environment variable has a value that means nothing
    ├── ArgumentTypeError         TypeError       an argument has a wrong type
    │   └── MixedBackendError     TypeError       NumPy and CuPy arrays in one call
    ├── BackendUnavailableError   RuntimeError    a backend was asked for strictly and can't be used
    ├── CacheError                PermissionError a folder for builds that is not safe, or can't be written to
    ├── CommunicationError        RuntimeError    arrays that can't go through MPI as things stand
    ├── CompileError              RuntimeError    code that a compiler refuses
    ├── KernelError               RuntimeError    a kernel failed on the device, or wrote NaN or infinity
    ├── MissingKernelError        LookupError     an implementation of a kernel that is not there, or can't be loaded
    ├── MissingNameError          AttributeError  a name that the active backend, or the installation, lacks
    ├── MissingPackageError       ImportError     a package that has to be added first
    │   └── MissingCompilerError  RuntimeError    no C++ compiler, which has to be installed first
    ├── ScopeError                RuntimeError    a backend scope was left out of order
    ├── StaleResultError          RuntimeError    a staged result whose buffer serves a later copy already
    └── TransferError             AssertionError  a transfer that was forbidden, or more than allowed

    CuNumpyWarning                RuntimeWarning
    ├── BackendFallbackWarning                    NumPy serves a request for CuPy
    ├── ConvergenceWarning                        problems of a batched solve that have no solution to rely on
    └── InstallationWarning                       packages that do not belong together are installed
"""

import sys
from typing import Any

__all__ = [
    "ArgumentError",
    "ArgumentRangeError",
    "ArgumentTypeError",
    "BackendFallbackWarning",
    "BackendUnavailableError",
    "CacheError",
    "CommunicationError",
    "CompileError",
    "ConvergenceWarning",
    "CuNumpyError",
    "CuNumpyWarning",
    "InstallationWarning",
    "KernelError",
    "MissingCompilerError",
    "MissingKernelError",
    "MissingNameError",
    "MissingPackageError",
    "MixedBackendError",
    "ScopeError",
    "SettingError",
    "StaleResultError",
    "TransferError",
]

REMEDY_FOR_OLDER = "Replace it by running: uv add --reinstall 'cunumpy>=0.8'"

if not getattr(sys.modules.get("cunumpy"), "_IS_CORE", False):  # an older package stands in the place of cunumpy-core
    from importlib.metadata import PackageNotFoundError, version

    try:
        _found = f"cunumpy {version('cunumpy')}"
    except PackageNotFoundError:
        _found = "a package 'cunumpy' of unknown version"
    raise ImportError(
        f"{_found}, an older package of one distribution, is in the place of cunumpy-core "
        f"({getattr(sys.modules.get('cunumpy'), '__file__', None)}). {REMEDY_FOR_OLDER}"
    )


class CuNumpyError(Exception):
    """Base of every exception that CuNumpy raises on purpose."""


class ArgumentError(CuNumpyError, ValueError):
    """An argument has a value, shape or dtype that the function can't use."""


class ArgumentRangeError(ArgumentError, OverflowError):
    """A number is outside the range of the type that it is for."""


class SettingError(ArgumentError):
    """An environment variable has a value that means nothing."""


class ArgumentTypeError(CuNumpyError, TypeError):
    """An argument has a type that the function can't use."""


class MixedBackendError(ArgumentTypeError):
    """NumPy and CuPy arrays were given to one call."""


class BackendUnavailableError(CuNumpyError, RuntimeError):
    """A backend was asked for strictly and can't be used."""


class CacheError(CuNumpyError, PermissionError):
    """A folder that builds are kept in is not safe to load code from, or none can be written to."""


class CommunicationError(CuNumpyError, RuntimeError):
    """Arrays can't go through MPI as things stand: it is not CUDA-aware, or not known to be, or a staging is in use."""


class CompileError(CuNumpyError, RuntimeError):
    """A compiler refuses code; the text says where, in which file and line.

    Attributes
    ----------
    messages : tuple
        The compiler's messages one by one, with severity, text, file and line.
    log : str
        All that the compiler said.
    """

    messages: tuple[Any, ...] = ()
    log: str = ""


class KernelError(CuNumpyError, RuntimeError):
    """A kernel failed on the device, or wrote NaN or infinity where that is checked."""


class MissingKernelError(CuNumpyError, LookupError, NotImplementedError):
    """An implementation of a kernel that a call needs is not there, or can't be loaded."""


class MissingNameError(CuNumpyError, AttributeError):
    """A name that the active backend, or the installation, does not have."""


class MissingPackageError(CuNumpyError, ImportError):
    """A package that has to be added to the environment first."""


class MissingCompilerError(MissingPackageError, RuntimeError):
    """There is no C++ compiler, and one has to be installed first."""


class ScopeError(CuNumpyError, RuntimeError):
    """A backend scope was left out of order."""


class StaleResultError(CuNumpyError, RuntimeError):
    """A staged result was read after its buffer had been reused."""


class TransferError(CuNumpyError, AssertionError):
    """A transfer happened that was forbidden, or more of them than a budget allows."""


class CuNumpyWarning(RuntimeWarning):
    """Base of every warning that CuNumpy gives."""


class BackendFallbackWarning(CuNumpyWarning):
    """NumPy serves a request for CuPy; the message has the reason and the remedy."""


class ConvergenceWarning(CuNumpyWarning):
    """Some problems of a batched solve did not reach the tolerance; the text says how many, and why if it is known."""


class InstallationWarning(CuNumpyWarning):
    """Packages that do not belong together are installed."""
