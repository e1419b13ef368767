"""CUDA kernels beside host kernels."""

__all__: list[str] = []
