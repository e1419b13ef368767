"""The CPU device: CUDA kernels, compiled as they are by the machine's C++ compiler, on NumPy arrays."""
