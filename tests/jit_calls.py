"""Calls of what kernels in Python syntax have: each in a kernel that is written around it, and translated alone.

Arrays and NumPy's numbers are arguments of the kernel, what else is given are global names, which are known when it is
translated. Nothing is compiled, nor run.
"""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np

from cunumpy.kernels import jit
from cunumpy.kernels._rawkernel.to_cuda import translated

_numbers = itertools.count()


class Written(str):
    """An argument as it is written in the kernel."""

    __slots__ = ()


def in_kernel(form: str) -> Callable[..., None]:
    """Return a function that translates a kernel with a call in it.

    Parameters
    ----------
    form : str
        Statements, with the arguments' names.
    """

    def call(*numbered: Any, **named: Any) -> None:
        given = {**{f"_{place}": value for place, value in enumerate(numbered)}, **named}
        of_launch = {name: value for name, value in given.items() if isinstance(value, (np.ndarray, np.generic))}
        written = [f"{name} = {value}" for name, value in given.items() if isinstance(value, Written)]
        body = "".join(f"    {line}\n" for line in [*written, *form.splitlines()])
        text = f"def kernel({', '.join(of_launch)}):\n{body}"
        file = f"<kernel {next(_numbers)} around a call>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        scope = {"jit": jit, **{name: value for name, value in given.items() if name not in of_launch}}
        exec(compile(text, file, "exec"), scope)
        kernel = jit.rawkernel()(scope["kernel"])
        types = tuple(kernel._type_of(value, place) for place, value in enumerate(of_launch.values()))
        try:
            translated(kernel.function_source(), "kernel", types, mode="cuda")
        finally:
            del linecache.cache[file]

    return call


def counts() -> np.ndarray:
    return np.zeros(3, np.uint32)


_LANES = {"mask": 0xFFFFFFFF, "var": np.float32(1), "val_id": 1, "width": 32}
_ATOMIC = {"array": counts, "index": 0, "value": 1}
_BLOCK = Written("jit.cg.this_thread_block()")

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "grid": ("i = jit.grid(ndim)", {"ndim": 1}),
    "gridsize": ("i = jit.gridsize(ndim=ndim)", {"ndim": 2}),
    "range": (
        "for i in jit.range(start, stop, step, unroll=unroll):\n    pass",
        {"start": 0, "stop": 4, "step": 1, "unroll": True},
    ),
    "syncwarp": ("jit.syncwarp(mask=mask)", {"mask": 0xFFFFFFFF}),
    "shared_memory": (
        "memory = jit.shared_memory(dtype, size, alignment=alignment)",
        {"dtype": "float32", "size": 32, "alignment": 16},
    ),
    **{
        name: (f"found = jit.{name}(mask, var, val_id, width=width)", _LANES)
        for name in ("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync")
    },
    **{name: (f"found = jit.{name}(value)", {"value": np.uint32(5)}) for name in ("popc", "ffs")},
    **{
        name: (f"found = jit.{name}(mask, value)", {"mask": 0xFFFFFFFF, "value": np.int32(1)})
        for name in ("match_any_sync", "match_all_sync")
    },
    **{
        f"atomic_{name}": (f"old = jit.atomic_{name}(array, index, value)", _ATOMIC)
        for name in ("add", "sub", "exch", "min", "max", "inc", "dec", "and", "or", "xor")
    },
    "atomic_cas": ("old = jit.atomic_cas(array, index, value, alt_value)", {**_ATOMIC, "alt_value": 2}),
    **{f"cg.{name}": (f"jit.cg.{name}(group)", {"group": _BLOCK}) for name in ("sync", "wait")},
    "cg.wait_prior": ("jit.cg.wait_prior(group, step)", {"group": _BLOCK, "step": 1}),
    "cg.memcpy_async": (
        "jit.cg.memcpy_async(group, dst, dst_idx, src, src_idx, size, aligned_size=aligned_size)",
        {"group": _BLOCK, "dst": counts, "dst_idx": 0, "src": counts, "src_idx": 0, "size": 4, "aligned_size": 4},
    ),
}
