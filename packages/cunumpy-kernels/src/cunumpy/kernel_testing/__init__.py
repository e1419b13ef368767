"""Tests of kernels and of GPU programs, also on machines without a GPU.

Kernels: `assert_kernels_agree` and `check_parity` compare a host kernel with its CUDA version, on a GPU and on the CPU
device, which runs unmodified CUDA C++ on the CPU; `emulate_cuda_kernel` runs one kernel there, `emulated_launches` all
of a block; `assert_schedule_independent` compares the results of different orders of threads.

Programs: the stand-in for CuPy runs programs that use CuPy on NumPy buffers, as strictly as CuPy would: host arrays are
not converted, results of reductions stay 0-d arrays, names and parameters are CuPy's. Start Python with
``CUNUMPY_FAKE_CUPY=1`` and ``CUNUMPY_BACKEND=cupy`` to run a whole program on it, or call `install_fake_cupy` before
anything asks for CuPy. It is never installed by itself.

Importing this module imports neither CuPy nor pytest; what needs pytest imports it when first asked for.
"""

# ruff: noqa: E402 - what follows needs the versions that are checked first

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core
from cunumpy._installation import require_compatible as _require_compatible

_require_compatible("cunumpy-kernels")

from ._stand_in import fake_cupy_active, host_buffer, install_fake_cupy
from ._subprocess import run_in_fake_cupy_subprocess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

    from ._availability import (
        bounds_check_views_available,
        cuda_required,
        device_backend_available,
        high_dim_cuda_views_available,
        warp_shuffle_available,
    )
    from ._device_function import device_function_kernel
    from ._emulation import (
        compile_for_emulation,
        emulate_cuda_kernel,
        emulated_launches,
        emulation_cache_dir,
        emulation_compiler,
        fake_cupy_session,
    )
    from ._parity import assert_kernels_agree
    from ._parity_cases import check_parity, parity_cases
    from ._schedules import assert_schedule_independent

    BACKENDS: list[Any]
    backend: Callable[[pytest.FixtureRequest], Iterator[str]]
    requires_bounds_check_views: pytest.MarkDecorator
    requires_cupy: pytest.MarkDecorator
    requires_device_backend: pytest.MarkDecorator
    requires_high_dim_cuda_views: pytest.MarkDecorator
    requires_warp_shuffle: pytest.MarkDecorator


__all__ = [
    "BACKENDS",
    "assert_kernels_agree",
    "assert_schedule_independent",
    "backend",
    "bounds_check_views_available",
    "check_parity",
    "compile_for_emulation",
    "cuda_required",
    "device_backend_available",
    "device_function_kernel",
    "emulate_cuda_kernel",
    "emulated_launches",
    "emulation_cache_dir",
    "emulation_compiler",
    "fake_cupy_active",
    "fake_cupy_session",
    "high_dim_cuda_views_available",
    "host_buffer",
    "install_fake_cupy",
    "parity_cases",
    "requires_bounds_check_views",
    "requires_cupy",
    "requires_device_backend",
    "requires_high_dim_cuda_views",
    "requires_warp_shuffle",
    "run_in_fake_cupy_subprocess",
    "warp_shuffle_available",
]

_MODULES = {
    "_availability": (
        "DEVICE_SKIP_REASON",
        "FAKE_SKIP_REASON",
        "SKIP_REASON",
        "bounds_check_views_available",
        "cuda_required",
        "device_backend_available",
        "high_dim_cuda_views_available",
        "warp_shuffle_available",
    ),
    "_device_function": ("device_function_kernel",),
    "_emulation": (
        "compile_for_emulation",
        "emulate_cuda_kernel",
        "emulated_launches",
        "emulation_cache_dir",
        "emulation_compiler",
        "fake_cupy_session",
    ),
    "_subprocess": ("MPI_LAUNCHER_PREFIXES",),
    "_parity": ("assert_kernels_agree",),
    "_parity_cases": ("TEST_ARGS_SETTINGS", "check_parity", "parity_cases"),
    "_schedules": ("assert_schedule_independent",),
    "_pytest_objects": (
        "BACKENDS",
        "backend",
        "requires_bounds_check_views",
        "requires_cupy",
        "requires_device_backend",
        "requires_high_dim_cuda_views",
        "requires_warp_shuffle",
    ),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
"""What is loaded when it is first asked for: the stand-in is installed while `cunumpy` itself is being imported."""


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULE_OF[name]}")
    value = module.pytest_objects()[name] if _MODULE_OF[name] == "_pytest_objects" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
