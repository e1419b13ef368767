"""Installing and recognising the stand-in for CuPy."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cunumpy._gate import describe
from cunumpy.errors import ArgumentTypeError

if TYPE_CHECKING:
    import numpy as np

_installed: ModuleType | None = None


def fake_cupy_active() -> bool:
    """Whether ``cupy`` is the stand-in in this process.

    Returns
    -------
    bool
        True after `install_fake_cupy`.

    Examples
    --------
    >>> from cunumpy.kernel_testing import fake_cupy_active
    >>> fake_cupy_active()
    False
    """
    return _installed is not None and sys.modules.get("cupy") is _installed


def install_fake_cupy() -> ModuleType:
    r"""Put the stand-in for CuPy where ``import cupy`` finds it.

    Call it before anything imports CuPy and before CuNumpy looks for it; or start Python with
    ``CUNUMPY_FAKE_CUPY=1``, which does so. Calling it again changes nothing. It stays until the process ends.

    Returns
    -------
    module
        The stand-in, ``cupy``.

    Raises
    ------
    RuntimeError
        If the real CuPy is imported, or CuNumpy has already looked for CuPy.

    Examples
    --------
    >>> import subprocess, sys
    >>> program = "from cunumpy.kernel_testing import install_fake_cupy; print(install_fake_cupy().arange(3).sum())"
    >>> subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout
    '3\n'
    """
    global _installed
    if fake_cupy_active():
        assert _installed is not None
        return _installed
    for name in ("cupy", "cupyx", "cupy_backends"):
        if name in sys.modules:
            raise RuntimeError(
                f"install_fake_cupy() can't replace the real CuPy: {name} is imported already. "
                "Start a new process and call it first, or set CUNUMPY_FAKE_CUPY=1 there."
            )
    from cunumpy import _backend

    if _backend.cupy_probed():
        raise RuntimeError(
            "install_fake_cupy() came too late: CuNumpy has already looked for CuPy and keeps the answer. "
            "Call it before the backend is chosen, or start Python with CUNUMPY_FAKE_CUPY=1."
        )
    from . import _fake_cupy

    _installed = _fake_cupy.install()
    return _installed


def is_fake_array(value: Any) -> bool:
    """Tell whether a value is an array of the stand-in."""
    return _installed is not None and isinstance(value, _installed.ndarray)


def host_buffer(array: Any) -> np.ndarray[Any, Any]:
    r"""Return the NumPy array behind an array of the stand-in.

    Parameters
    ----------
    array : cupy.ndarray
        An array of the stand-in.

    Returns
    -------
    numpy.ndarray
        Its memory, not a copy: writing to it changes `array`. Not recorded as a transfer.

    Raises
    ------
    TypeError
        For anything else.

    Examples
    --------
    >>> import subprocess, sys
    >>> program = '''
    ... from cunumpy.kernel_testing import host_buffer, install_fake_cupy
    ... cupy = install_fake_cupy()
    ... a = cupy.zeros(2)
    ... host_buffer(a)[0] = 5.0
    ... print(a)
    ... '''
    >>> subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout
    '[5. 0.]\n'
    """
    if is_fake_array(array):
        buffer: np.ndarray[Any, Any] = array._buffer
        return buffer
    raise ArgumentTypeError(
        f"host_buffer: argument 'array' must be an array of the stand-in for CuPy, got {describe(array)}."
    )
