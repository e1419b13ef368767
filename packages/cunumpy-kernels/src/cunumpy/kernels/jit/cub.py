"""CUB in kernels in Python syntax: reductions over a warp and over a block."""

from cunumpy.kernels._rawkernel.primitives import BlockReduce, Max, Min, Sum, WarpReduce

__all__ = ["BlockReduce", "Max", "Min", "Sum", "WarpReduce"]
