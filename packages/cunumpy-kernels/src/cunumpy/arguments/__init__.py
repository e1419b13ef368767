"""Argument structs shared by host and CUDA kernels."""

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core
from cunumpy.arguments._objects import CudaArguments, CudaStructArguments
from cunumpy.arguments._struct import CudaStruct, CudaStructValue, write_cuda_header

__all__ = ["CudaArguments", "CudaStruct", "CudaStructArguments", "CudaStructValue", "write_cuda_header"]
