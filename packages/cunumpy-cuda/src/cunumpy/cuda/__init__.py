"""CUDA devices, memory, streams and headers."""

__all__: list[str] = []
