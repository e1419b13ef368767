"""CUDA kernels beside host kernels."""

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core
from cunumpy.kernels._cuda_kernel import CudaKernel, PreparedLaunch
from cunumpy.kernels._variants import CudaKernelVariants

__all__ = ["CudaKernel", "CudaKernelVariants", "PreparedLaunch"]
