"""What pytest needs of availability: marks, the list of backends and a fixture. They are made when first asked for.

A mark's condition is asked when a test is set up, not when the mark is made.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

from cunumpy._backend import cupy_unavailable_reason, use_backend

from . import _availability
from ._requirements import require_pytest
from ._stand_in import fake_cupy_active

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Lacking:
    """A condition of ``skipif`` that is decided when a test is set up; raising there is an error of the test."""

    def __init__(self, is_there: Callable[[], bool], fails: Callable[[], bool]) -> None:
        self._is_there, self._fails = is_there, fails

    def __bool__(self) -> bool:
        if self._is_there():
            return False
        if _availability.cuda_required() and self._fails():
            raise RuntimeError(
                f"CUNUMPY_REQUIRE_CUDA is set, and there is no GPU to test on: {_reason()}. Unset it to skip the tests "
                "that need one."
            )
        return True


def _reason() -> str:
    return "CuPy is the stand-in" if fake_cupy_active() else str(cupy_unavailable_reason())


def _is_no_amd_gpu() -> bool:
    """Tell whether what is missing is no matter of ROCm, for which CuPy was built; also if it is broken."""
    if fake_cupy_active():
        return True
    try:
        return not importlib.import_module("cupy").cuda.runtime.is_hip
    except Exception:  # a broken CuPy fails with anything
        return True


@functools.cache
def pytest_objects() -> dict[str, Any]:
    """Return the marks, the list of backends and the fixture, by name."""
    pytest = require_pytest("the marks and fixtures of cunumpy.kernel_testing")

    def mark(is_there: Callable[[], bool], reason: str, fails: Callable[[], bool] = lambda: True) -> Any:
        return pytest.mark.skipif(_Lacking(is_there, fails), reason=reason)

    def for_nvidia(is_there: Callable[[], bool], what: str) -> Any:
        return mark(is_there, f"needs {what}, on a GPU of NVIDIA", _is_no_amd_gpu)

    no_gpu = _availability.FAKE_SKIP_REASON if fake_cupy_active() else _availability.SKIP_REASON
    requires_cupy = mark(_availability.can_launch, no_gpu)
    backends = ["numpy", pytest.param("cupy", marks=requires_cupy)]
    return {
        "BACKENDS": backends,
        "backend": pytest.fixture(params=backends, name="backend")(on_backend),
        "requires_bounds_check_views": for_nvidia(
            _availability.bounds_check_views_available, "array views that check bounds"
        ),
        "requires_cupy": requires_cupy,
        "requires_device_backend": mark(_availability.device_backend_available, _availability.DEVICE_SKIP_REASON),
        "requires_high_dim_cuda_views": for_nvidia(
            _availability.high_dim_cuda_views_available, "array views of 5 and more dimensions"
        ),
        "requires_warp_shuffle": for_nvidia(_availability.warp_shuffle_available, "warp shuffles"),
    }


def on_backend(request: Any) -> Iterator[str]:
    """Run a test on the backend of the fixture's parameter, and give its name; skip it where that one is not there."""
    if request.param == "cupy":
        requires = pytest_objects()["requires_cupy"]
        if requires.args[0]:
            require_pytest("the fixture 'backend'").skip(requires.kwargs["reason"])
    with use_backend(request.param, strict=_availability.cuda_required() or None):
        yield request.param
