"""Short words for launches on the CPU device, for its tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cunumpy.kernels")

from cunumpy.kernels import CudaKernel
from cunumpy.kernels._cpu_device.build import Library, Program
from cunumpy.kernels._cpu_device.launch import cpu_kernel, run_on_cpu


def run(source: str, *args: Any, name: str = "k", **options: Any) -> CudaKernel:
    """Run a kernel of a source once."""
    launch = {word: options.pop(word) for word in ("n_threads", "grid", "block", "shared_mem") if word in options}
    kernel = CudaKernel(source, name, **options)
    run_on_cpu(kernel, args, **launch)
    return kernel


def mode_of(kernel: CudaKernel) -> str:
    return str(cpu_kernel(kernel).library().mode)


def compiled(
    source: str, names: Iterable[str], options: tuple[str, ...] = (), *, check: bool = False
) -> dict[str, Library]:
    """Compile all kernels of a source at once."""
    all_names = tuple(names)
    program = Program(source, "kernels.cu", "", (), None, "", "kernels", all_names, host_options=options, check=check)
    opened: dict = {}
    return {name: Library(program._replace(expression=name), None, opened) for name in all_names}


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])
