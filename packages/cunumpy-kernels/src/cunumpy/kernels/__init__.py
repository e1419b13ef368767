"""CUDA kernels beside host kernels."""

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core
from cunumpy.kernels._cuda_kernel import CudaKernel, PreparedLaunch
from cunumpy.kernels._kernel_array import as_kernel_array, kernel_output, kernel_outputs
from cunumpy.kernels._pyccel_kernel import PyccelKernel, outputs_from_annotations
from cunumpy.kernels._variants import CudaKernelVariants

__all__ = [
    "CudaKernel",
    "CudaKernelVariants",
    "PreparedLaunch",
    "PyccelKernel",
    "as_kernel_array",
    "kernel_output",
    "kernel_outputs",
    "outputs_from_annotations",
]
