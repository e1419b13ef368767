"""What tests can run on: a GPU, the CuPy stand-in, and what AMD's GPUs lack."""

from __future__ import annotations

from cunumpy import _environment
from cunumpy._backend import cupy_available
from cunumpy.cuda import is_hip

from ._stand_in import fake_cupy_active

SKIP_REASON = "needs CuPy and a GPU"
FAKE_SKIP_REASON = "needs a GPU: CuPy is the stand-in"
DEVICE_SKIP_REASON = "needs CuPy and a GPU, or the CuPy stand-in (CUNUMPY_FAKE_CUPY=1)"


def can_launch() -> bool:
    """Tell whether kernels can be launched on a GPU."""
    return not fake_cupy_active() and cupy_available()


def cuda_required() -> bool:
    """Tell whether tests that need a GPU fail where there is none, instead of being skipped.

    Returns
    -------
    bool
        What the environment variable ``CUNUMPY_REQUIRE_CUDA`` says now.

    Examples
    --------
    >>> from cunumpy.kernel_testing import cuda_required
    >>> cuda_required()
    False
    """
    return _environment.read("CUNUMPY_REQUIRE_CUDA") is True


def device_backend_available() -> bool:
    """Tell whether the CuPy backend works: with a GPU, or on the CuPy stand-in.

    Returns
    -------
    bool

    Examples
    --------
    >>> from cunumpy.kernel_testing import device_backend_available
    >>> device_backend_available()
    False
    """
    return fake_cupy_active() or cupy_available()


def warp_shuffle_available() -> bool:
    """Tell whether a GPU is there that runs kernels with warp shuffles: one of NVIDIA's.

    The CPU device, which has them too, does not count.

    Returns
    -------
    bool

    Examples
    --------
    >>> from cunumpy.kernel_testing import warp_shuffle_available
    >>> warp_shuffle_available()
    False
    """
    return can_launch() and not is_hip()


def high_dim_cuda_views_available() -> bool:
    """Tell whether a GPU is there that takes array views of 5 and more dimensions: one of NVIDIA's.

    Returns
    -------
    bool

    Examples
    --------
    >>> from cunumpy.kernel_testing import high_dim_cuda_views_available
    >>> high_dim_cuda_views_available()
    False
    """
    return can_launch() and not is_hip()


def bounds_check_views_available() -> bool:
    """Tell whether a GPU is there on which array views can check bounds: one of NVIDIA's.

    Returns
    -------
    bool

    Examples
    --------
    >>> from cunumpy.kernel_testing import bounds_check_views_available
    >>> bounds_check_views_available()
    False
    """
    return can_launch() and not is_hip()
