"""Argument structs shared by host and CUDA kernels."""

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core

__all__: list[str] = []
