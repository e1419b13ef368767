"""CUDA kernels in Python syntax, with the names of ``cupyx.jit``.

`rawkernel` makes a kernel of a function; the other names stand, in such functions alone, for what CUDA has::

    from cunumpy.kernels import jit

    @jit.rawkernel()
    def copy(x, y, size):
        start, step = jit.grid(1), jit.gridsize(1)
        for i in range(start, size, step):
            y[i] = x[i]
"""

from cunumpy.kernels._rawkernel.primitives import (
    activemask,
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_dec,
    atomic_exch,
    atomic_inc,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_sub,
    atomic_xor,
    blockDim,
    blockIdx,
    ffs,
    grid,
    gridDim,
    gridsize,
    laneid,
    match_all_sync,
    match_any_sync,
    popc,
    shared_memory,
    shfl_down_sync,
    shfl_sync,
    shfl_up_sync,
    shfl_xor_sync,
    syncthreads,
    syncwarp,
    threadIdx,
    thrust,
    warpsize,
)
from cunumpy.kernels._rawkernel.primitives import range_ as range
from cunumpy.kernels._rawkernel.python_kernel import rawkernel
from cunumpy.kernels.jit import cg, cub

__all__ = [
    "activemask",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_dec",
    "atomic_exch",
    "atomic_inc",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
    "blockDim",
    "blockIdx",
    "cg",
    "cub",
    "ffs",
    "grid",
    "gridDim",
    "gridsize",
    "laneid",
    "match_all_sync",
    "match_any_sync",
    "popc",
    "range",
    "rawkernel",
    "shared_memory",
    "shfl_down_sync",
    "shfl_sync",
    "shfl_up_sync",
    "shfl_xor_sync",
    "syncthreads",
    "syncwarp",
    "threadIdx",
    "thrust",
    "warpsize",
]
