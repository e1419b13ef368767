"""Short words for launches on the CPU device, for its tests."""

from __future__ import annotations

from typing import Any

from cunumpy.kernels import CudaKernel
from cunumpy.kernels._cpu_device.launch import cpu_kernel, run_on_cpu


def run(source: str, *args: Any, name: str = "k", **options: Any) -> CudaKernel:
    """Run a kernel of a source once."""
    launch = {word: options.pop(word) for word in ("n_threads", "grid", "block", "shared_mem") if word in options}
    kernel = CudaKernel(source, name, **options)
    run_on_cpu(kernel, args, **launch)
    return kernel


def mode_of(kernel: CudaKernel) -> str:
    return str(cpu_kernel(kernel).library().mode)
