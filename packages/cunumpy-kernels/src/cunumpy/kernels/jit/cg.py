"""Cooperative groups in kernels in Python syntax: the block, and the grid."""

from cunumpy.kernels._rawkernel.primitives import group_sync as sync
from cunumpy.kernels._rawkernel.primitives import group_wait as wait
from cunumpy.kernels._rawkernel.primitives import group_wait_prior as wait_prior
from cunumpy.kernels._rawkernel.primitives import memcpy_async, this_grid, this_thread_block

__all__ = ["memcpy_async", "sync", "this_grid", "this_thread_block", "wait", "wait_prior"]
