"""Kernels made for keys, such as dtypes or orders, and compiling many kernels."""

from __future__ import annotations

import contextvars
import operator
import os
import sys
from typing import TYPE_CHECKING, Any, TypeVar

from cunumpy._gate import describe, given
from cunumpy._progress import Progress
from cunumpy.cuda._locks import new_lock
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.kernels._cuda_kernel import CudaKernel

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

Kind = TypeVar("Kind")
Result = TypeVar("Result")


class CudaKernelVariants:
    """CUDA kernels by key, each made when it is first asked for: one for each dtype or order, for instance.

    Parameters
    ----------
    factory : callable
        Takes the parts of a key and returns the `CudaKernel`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> source = '''
    ... template <typename T, int N> __global__ void power(T* x, int n) {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     if (i < n) { T y = 1; for (int k = 0; k < N; ++k) y *= x[i]; x[i] = y; }
    ... }'''
    >>> def make(dtype, n):
    ...     return xp.kernels.CudaKernel(source, "power", template_args=[dtype, n])
    >>> variants = xp.kernels.CudaKernelVariants(make)
    >>> variants.get(xp.float32, 3).expression
    'power<float, 3>'
    >>> len(variants)
    1
    """

    def __init__(self, factory: Callable[..., CudaKernel]) -> None:
        if not callable(factory):
            raise ArgumentTypeError(
                f"CudaKernelVariants: argument 'factory' must be a function that returns a CudaKernel, got "
                f"{describe(factory)}."
            )
        self._factory = factory
        self._kernels: dict[tuple[Hashable, ...], CudaKernel] = {}
        self._lock = new_lock()

    def get(self, *key: Hashable) -> CudaKernel:
        """Return the kernel of a key, made by ``factory(*key)`` the first time.

        Parameters
        ----------
        *key
            Hashable parts.

        Returns
        -------
        CudaKernel

        Raises
        ------
        ArgumentTypeError
            The factory returned something else, or a part is not hashable.
        """
        try:
            found = self._kernels.get(key)
        except TypeError:
            raise ArgumentTypeError(
                f"CudaKernelVariants.get: each part of the key must be hashable, got {key!r}."
            ) from None
        if found is None:
            with self._lock:
                found = self._kernels.get(key)
                if found is None:
                    found = self._factory(*key)
                    if not isinstance(found, CudaKernel):
                        raise ArgumentTypeError(
                            f"CudaKernelVariants.get: the factory must return a CudaKernel, it returned "
                            f"{describe(found)} for {key!r}."
                        )
                    self._kernels[key] = found
        return found

    def keys(self) -> list[tuple[Hashable, ...]]:
        """Return the keys of the kernels that were made, in their order."""
        return list(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __iter__(self) -> Iterator[tuple[Hashable, ...]]:
        return iter(self.keys())

    def compile_all(self, keys: Iterable[Any] = (), *, jobs: int | None = 1) -> None:
        """Make the kernels of some keys, and compile all that were made, for the current device.

        Parameters
        ----------
        keys : iterable, optional
            Each a tuple of the parts of a key, or its only part.
        jobs : int or None, default: 1
            Threads that compile; None for one for each processor.

        Raises
        ------
        CompileError, BackendUnavailableError
            The first error, in the order of the keys, after all kernels were tried.
        ArgumentError
            Less than one job.
        """
        count = _jobs(jobs, "CudaKernelVariants.compile_all")
        if isinstance(keys, (str, bytes, type)) or not hasattr(keys, "__iter__"):
            raise ArgumentTypeError(
                f"CudaKernelVariants.compile_all: argument 'keys' must be a list of keys, got {given(keys)}."
            )
        for key in keys:
            self.get(*(key if isinstance(key, tuple) else (key,)))
        compile_each(list(self._kernels.values()), count, "compile_all")

    def __getstate__(self) -> dict[str, Any]:
        return {"_factory": self._factory, "_kernels": dict(self._kernels)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = new_lock()

    def __repr__(self) -> str:
        return f"<CudaKernelVariants of {getattr(self._factory, '__name__', self._factory)!s}, {len(self)} made>"


def _jobs(jobs: Any, function: str) -> int:
    if jobs is None:
        return os.cpu_count() or 1
    try:
        if isinstance(jobs, bool):
            raise TypeError
        count = operator.index(jobs)
    except TypeError:
        raise ArgumentTypeError(f"{function}: argument 'jobs' must be an integer or None, got {jobs!r}.") from None
    if count < 1:
        raise ArgumentError(f"{function}: argument 'jobs' must be at least 1, got {count}.")
    return count


def compile_each(kernels: Sequence[CudaKernel], jobs: int, title: str) -> None:
    """Compile kernels for the current device, all of them, and then raise the first error in their order."""
    for _, error in for_each(kernels, lambda kernel: kernel.compile(), jobs, title):
        if error is not None:
            raise error


def for_each(
    kernels: Sequence[Kind], do: Callable[[Kind], Result], jobs: int, title: str
) -> list[tuple[Result | None, Exception | None]]:
    """Do something with each kernel, whatever becomes of the others, and return each result or error.

    With several jobs it is done in threads, which have the caller's device and context. On a terminal and in a notebook
    it is shown how many are done, under the title.
    """
    lock = new_lock()
    cupy = sys.modules.get("cupy")
    device = None if cupy is None else cupy.cuda.runtime.getDevice()

    def do_one(kernel: Kind) -> tuple[Result | None, Exception | None]:
        found: tuple[Result | None, Exception | None]
        try:
            found = do(kernel), None
        except Exception as raised:
            found = None, raised
        with lock:
            progress.step(note=str(getattr(kernel, "name", "")))
        return found

    def in_thread(context: contextvars.Context, kernel: Kind) -> tuple[Result | None, Exception | None]:
        if device is not None:  # the current device belongs to the thread
            sys.modules["cupy"].cuda.Device(device).use()
        return context.run(do_one, kernel)

    with Progress(None if len(kernels) > 1 else False, title, "kernel", len(kernels)) as progress:
        if jobs == 1 or len(kernels) < 2:
            return [do_one(kernel) for kernel in kernels]
        from concurrent.futures import ThreadPoolExecutor

        contexts = [contextvars.copy_context() for _ in kernels]
        with ThreadPoolExecutor(min(jobs, len(kernels))) as pool:
            return list(pool.map(in_thread, contexts, kernels))
