"""The names that stand for CUDA's in kernels; outside of them they can't be used."""

from __future__ import annotations

import inspect
from typing import Any, NoReturn

from cunumpy.errors import ArgumentTypeError


class Primitive:
    """A function or variable of CUDA's that kernels in Python syntax have; see `cunumpy.kernels.jit`.

    Parameters
    ----------
    name : str
        As ``jit`` has it.
    signature : str, optional
        Its parameters, for messages; none for what is no function.
    doc : str, optional
        What it does.
    """

    name: str
    signature: str | None
    __name__: str

    def __init__(self, name: str, signature: str | None = None, doc: str = "") -> None:
        self.__name__ = name.rpartition(".")[2]
        self.__qualname__ = name
        self.__doc__ = doc
        self.__module__ = "cunumpy.kernels.jit"
        self.name, self.signature = name, signature

    def __repr__(self) -> str:
        return f"<cunumpy.kernels.jit.{self.name}{self.signature or ''}>"

    def __getattr__(self, name: str) -> Any:
        if name == "__signature__" and self.__dict__.get("signature"):  # made of text when somebody asks for help
            return inspect.signature(eval(f"lambda {self.__dict__['signature'][1:-1]}: None"))
        raise AttributeError(f"{self!r} has no attribute {name!r}.")

    def __reduce__(self) -> str:
        return self.name

    # For type checkers and editors a kernel's body goes on behind a call.
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse()

    def __getitem__(self, key: Any) -> Any:
        self._refuse()

    def __bool__(self) -> bool:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ArgumentTypeError(
            f"jit.{self.name} is there for kernels only: use it in a function with @jit.rawkernel()."
        )


class RefusedNamespace:
    """A part of ``cupyx.jit`` that is not there: all that is reached through it is refused, with the reason."""

    name: str
    reason: str
    __name__: str

    def __init__(self, name: str, reason: str) -> None:
        self.__name__, self.name, self.reason = name.rpartition(".")[2], name, reason

    def __repr__(self) -> str:
        return f"<jit.{self.name}, which is refused>"

    def __getattr__(self, name: str) -> RefusedNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        return RefusedNamespace(f"{self.name}.{name}", self.reason)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ArgumentTypeError(f"jit.{self.name}: {self.reason}")


def _function(name: str, signature: str, doc: str) -> Primitive:
    return Primitive(name, signature, doc)


threadIdx: Primitive = Primitive("threadIdx", None, "The thread's index in its block: members x, y and z, uint32.")
blockIdx: Primitive = Primitive("blockIdx", None, "The block's index in the grid: members x, y and z, uint32.")
blockDim: Primitive = Primitive("blockDim", None, "The threads of a block: members x, y and z, uint32.")
gridDim: Primitive = Primitive("gridDim", None, "The blocks of the grid: members x, y and z, uint32.")
warpsize: Primitive = Primitive("warpsize", None, "The threads of a warp, 32.")

grid: Primitive = _function(
    "grid",
    "(ndim)",
    "Return the thread's place in the grid along x: ``threadIdx.x + blockIdx.x * blockDim.x``, uint32; with 2 or 3 "
    "`ndim` a tuple along x, y and z.",
)
gridsize: Primitive = _function(
    "gridsize",
    "(ndim)",
    "Return the threads of the grid along x: ``blockDim.x * gridDim.x``, uint32; with 2 or 3 `ndim` a tuple.",
)
laneid: Primitive = _function("laneid", "()", "Return the thread's number in its warp, uint32.")
range_: Primitive = _function(
    "range",
    "(start, stop=None, step=1, *, unroll=None)",
    "Loop over integers as Python's range, where one number alone is `stop`; `unroll` asks the compiler for "
    "``#pragma unroll``: True, or how many times.",
)
syncthreads: Primitive = _function("syncthreads", "()", "Wait for all threads of the block: ``__syncthreads()``.")
syncwarp: Primitive = _function(
    "syncwarp", "(*, mask=0xffffffff)", "Wait for threads of the warp: ``__syncwarp(mask)``."
)
shared_memory: Primitive = _function(
    "shared_memory",
    "(dtype, size, alignment=None)",
    "Return memory that the threads of a block have in common, as an array of one dimension. `size` is known when the "
    "kernel is translated; with None it is the ``shared_mem`` of the launch.",
)
shfl_sync: Primitive = _function("shfl_sync", "(mask, var, val_id, *, width=32)", "Return `var` of lane `val_id`.")
shfl_up_sync: Primitive = _function(
    "shfl_up_sync", "(mask, var, val_id, *, width=32)", "Return `var` of `val_id` lanes below."
)
shfl_down_sync: Primitive = _function(
    "shfl_down_sync", "(mask, var, val_id, *, width=32)", "Return `var` of `val_id` lanes above."
)
shfl_xor_sync: Primitive = _function(
    "shfl_xor_sync", "(mask, var, val_id, *, width=32)", "Return `var` of the lane whose number differs in `val_id`."
)
activemask: Primitive = _function("activemask", "()", "Return the mask of lanes that run together: ``__activemask()``.")
popc: Primitive = _function("popc", "(value)", "Return how many bits are set: ``__popc``.")
ffs: Primitive = _function("ffs", "(value)", "Return the place of the lowest bit that is set, from 1, or 0: ``__ffs``.")
match_any_sync: Primitive = _function(
    "match_any_sync", "(mask, value)", "Return the mask of lanes that have the same value: ``__match_any_sync``."
)
match_all_sync: Primitive = _function(
    "match_all_sync",
    "(mask, value)",
    "Return a tuple: the mask if all its lanes have the same value, else 0, and whether they have.",
)

_ATOMIC_DOC = "Return ``array[index]`` as it was, and {what}, in one step that no other thread comes between."
atomic_add: Primitive = _function("atomic_add", "(array, index, value)", _ATOMIC_DOC.format(what="add `value`"))
atomic_sub: Primitive = _function("atomic_sub", "(array, index, value)", _ATOMIC_DOC.format(what="subtract `value`"))
atomic_exch: Primitive = _function("atomic_exch", "(array, index, value)", _ATOMIC_DOC.format(what="store `value`"))
atomic_min: Primitive = _function(
    "atomic_min", "(array, index, value)", _ATOMIC_DOC.format(what="store the smaller one")
)
atomic_max: Primitive = _function(
    "atomic_max", "(array, index, value)", _ATOMIC_DOC.format(what="store the larger one")
)
atomic_inc: Primitive = _function(
    "atomic_inc", "(array, index, value)", _ATOMIC_DOC.format(what="add 1, or store 0 if it was `value` or more")
)
atomic_dec: Primitive = _function(
    "atomic_dec",
    "(array, index, value)",
    _ATOMIC_DOC.format(what="subtract 1, or store `value` if it was 0 or more than `value`"),
)
atomic_cas: Primitive = _function(
    "atomic_cas",
    "(array, index, value, alt_value)",
    _ATOMIC_DOC.format(what="store `alt_value` if it was `value`"),
)
atomic_and: Primitive = _function(
    "atomic_and", "(array, index, value)", _ATOMIC_DOC.format(what="keep the bits of `value`")
)
atomic_or: Primitive = _function(
    "atomic_or", "(array, index, value)", _ATOMIC_DOC.format(what="set the bits of `value`")
)
atomic_xor: Primitive = _function(
    "atomic_xor", "(array, index, value)", _ATOMIC_DOC.format(what="flip the bits of `value`")
)

this_thread_block: Primitive = _function("cg.this_thread_block", "()", "Return the block as a cooperative group.")
this_grid: Primitive = _function(
    "cg.this_grid", "()", "Return the grid as a cooperative group; the launch is a cooperative one then."
)
group_sync: Primitive = _function("cg.sync", "(group)", "Wait for all threads of the group.")
group_wait: Primitive = _function(
    "cg.wait", "(group)", "Wait until all copies of `memcpy_async` are done, and for the group."
)
group_wait_prior: Primitive = _function(
    "cg.wait_prior", "(group, step)", "Wait until all but the last `step` copies are done."
)
memcpy_async: Primitive = _function(
    "cg.memcpy_async",
    "(group, dst, dst_idx, src, src_idx, size, *, aligned_size=None)",
    "Copy `size` bytes from ``src[src_idx]`` on to ``dst[dst_idx]``, by all threads of the group.",
)

WarpReduce: Primitive = Primitive(
    "cub.WarpReduce",
    None,
    "``cub.WarpReduce[dtype]``: reductions over the threads of a warp, with ``TempStorage``, ``Sum`` and ``Reduce``.",
)
BlockReduce: Primitive = Primitive(
    "cub.BlockReduce",
    None,
    "``cub.BlockReduce[dtype, threads]``: reductions over the threads of a block, as ``cub.WarpReduce``. Sizes along y "
    "and z may follow.",
)
Sum: Primitive = _function("cub.Sum", "()", "The operator of ``Reduce`` that adds.")
Max: Primitive = _function("cub.Max", "()", "The operator of ``Reduce`` that takes the larger value.")
Min: Primitive = _function("cub.Min", "()", "The operator of ``Reduce`` that takes the smaller value.")

thrust: RefusedNamespace = RefusedNamespace(
    "thrust",
    "algorithms of Thrust are not there in kernels: each thread would run all of it alone. Write the loop, use "
    "cub.WarpReduce or cub.BlockReduce, or call NumPy's or CuPy's function outside of the kernel.",
)
