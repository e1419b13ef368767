"""Kernels in Python syntax: from a function's source to CUDA C++."""
