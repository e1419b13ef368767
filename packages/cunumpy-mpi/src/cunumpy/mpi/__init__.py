"""CUDA-aware MPI."""

__all__: list[str] = []
