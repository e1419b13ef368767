"""Argument structs shared by host and CUDA kernels."""

__all__: list[str] = []
