"""Tests of kernels without a GPU."""

__all__: list[str] = []
