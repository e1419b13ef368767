"""CUDA kernels beside host kernels."""

# ruff: noqa: E402 - what follows needs the versions that are checked first

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core
from cunumpy._installation import require_compatible as _require_compatible

_require_compatible("cunumpy-kernels")

from cunumpy.kernels import jit
from cunumpy.kernels._catalog import KernelCatalog
from cunumpy.kernels._compiled_host_kernel import CompiledHostKernel
from cunumpy.kernels._cuda_kernel import CudaKernel
from cunumpy.kernels._elementwise_kernel import ElementwiseKernel
from cunumpy.kernels._fuse import fuse
from cunumpy.kernels._host_implementations import HostImplementations
from cunumpy.kernels._kernel import Kernel
from cunumpy.kernels._kernel_array import as_kernel_array, kernel_output, kernel_outputs
from cunumpy.kernels._metal_kernel import MetalKernel, metal_available
from cunumpy.kernels._prepared_launch import PreparedLaunch
from cunumpy.kernels._pyccel_cache import PyccelCache
from cunumpy.kernels._pyccel_kernel import PyccelKernel, outputs_from_annotations
from cunumpy.kernels._raw_kernel import RawKernel, RawModule
from cunumpy.kernels._rawkernel.python_kernel import rawkernel
from cunumpy.kernels._reduction_kernel import ReductionKernel
from cunumpy.kernels._settings import (
    DEVICE_IMPLEMENTATIONS,
    HOST_IMPLEMENTATIONS,
    get_device_kernel_implementation,
    get_host_kernel_implementation,
    set_device_kernel_implementation,
    set_host_kernel_implementation,
    use_device_kernel_implementation,
    use_host_kernel_implementation,
)
from cunumpy.kernels._variants import CudaKernelVariants

__all__ = [
    "DEVICE_IMPLEMENTATIONS",
    "HOST_IMPLEMENTATIONS",
    "CompiledHostKernel",
    "CudaKernel",
    "CudaKernelVariants",
    "ElementwiseKernel",
    "HostImplementations",
    "Kernel",
    "KernelCatalog",
    "MetalKernel",
    "PreparedLaunch",
    "PyccelCache",
    "PyccelKernel",
    "RawKernel",
    "RawModule",
    "ReductionKernel",
    "as_kernel_array",
    "fuse",
    "get_device_kernel_implementation",
    "get_host_kernel_implementation",
    "jit",
    "kernel_output",
    "kernel_outputs",
    "metal_available",
    "outputs_from_annotations",
    "rawkernel",
    "set_device_kernel_implementation",
    "set_host_kernel_implementation",
    "use_device_kernel_implementation",
    "use_host_kernel_implementation",
]
