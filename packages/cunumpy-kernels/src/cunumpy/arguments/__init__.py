"""Argument structs shared by host and CUDA kernels."""

# ruff: noqa: E402 - what follows needs the versions that are checked first

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core
from cunumpy._installation import require_compatible as _require_compatible

_require_compatible("cunumpy-kernels")

from cunumpy.arguments._header_file import write_cuda_header
from cunumpy.arguments._objects import CudaArguments, CudaStructArguments
from cunumpy.arguments._struct import CudaStruct, CudaStructValue

__all__ = ["CudaArguments", "CudaStruct", "CudaStructArguments", "CudaStructValue", "write_cuda_header"]
