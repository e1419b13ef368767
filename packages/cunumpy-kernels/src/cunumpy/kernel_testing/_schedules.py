"""Whether a CUDA kernel gives the same results in whatever order its blocks and threads run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy._backend import use_backend
from cunumpy._gate import as_real, describe
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.kernels import Kernel
from cunumpy.kernels._cuda_kernel import CudaKernel

from ._emulation import make_emulation
from ._made_arguments import arrays_among, checked_args
from ._stand_in import fake_cupy_active

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_RTOL = {2: 1e-2, 4: 1e-5}
"""By the bytes of a real number; 1e-12 for the others."""


def assert_schedule_independent(
    kernel: CudaKernel | Kernel,
    make_args: Callable[..., Sequence[Any]],
    *,
    n_threads: Any = None,
    grid: Any = None,
    block: Any = None,
    shared_mem: int = 0,
    schedules: int = 8,
    seed: int = 0,
    rtol: float | None = None,
    atol: float = 0.0,
) -> None:
    """Run a CUDA kernel on the CPU device in several orders of its blocks and threads, and compare the results.

    A GPU promises no order, so results that differ are wrong on some GPU, on some day: there is a race, a missing
    barrier, or the kernel means to depend on the order, as one that hands out places by ``atomicAdd`` does.

    Parameters
    ----------
    kernel : CudaKernel or Kernel
        Of a `Kernel` its CUDA kernel.
    make_args : callable
        As for `assert_kernels_agree`: called with the backend's name and the seed, it returns the arguments of a
        launch. It has to make the same numbers each time.
    n_threads, grid, block, shared_mem : optional
        As for a launch; a callable `n_threads` is given the tuple of arguments.
    schedules : int, default: 8
        How many orders: the first is in order, the second backwards, the others are random, from seeds 2, 3, ...
    seed : int, default: 0
        What `make_args` is given.
    rtol : float, optional
        Floating-point numbers may differ by ``atol + rtol * abs(first)``, since sums by ``atomicAdd`` are rounded in
        another order; by default 1e-12 for double, 1e-5 for float and 1e-2 for half precision. Integers may not.
    atol : float, default: 0

    Raises
    ------
    AssertionError
        Results differ: the text names the argument, the first place, both values and the order.
    ArgumentError, ArgumentTypeError
        An argument is not as above.
    KernelError, CompileError, MissingCompilerError
        As for `emulate_cuda_kernel`.

    Notes
    -----
    Threads change only where they wait, and at fences and atomic functions that find a lock taken. What goes wrong
    between two instructions of a thread is not found by this, but by the checks of races that launches on the CPU
    device make.

    Examples
    --------
    >>> import numpy as np
    >>> import cunumpy as xp
    >>> from cunumpy.kernel_testing import assert_schedule_independent
    >>> shift = xp.kernels.CudaKernel('''
    ... extern "C" __global__ void shift(double* x, int n) {  // reads what another thread may have changed
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     if (i < n - 1) x[i] = x[i + 1];
    ... }''', "shift")
    >>> assert_schedule_independent(shift, lambda backend, seed: (np.arange(100.0), 100), n_threads=100)
    Traceback (most recent call last):
    ...
    AssertionError: CudaKernel 'shift': 'x' depends on the order of blocks and threads: at [0] it is 1.0 in order ...
    """
    owner = "assert_schedule_independent"
    cuda = kernel.cuda_kernel if isinstance(kernel, Kernel) else kernel
    if not isinstance(cuda, CudaKernel):
        raise ArgumentTypeError(
            f"{owner}: argument 'kernel' must be a CudaKernel, or a Kernel that has one, got {describe(kernel)}."
        )
    if not callable(make_args):
        raise ArgumentTypeError(f"{owner}: argument 'make_args' must be callable, got {describe(make_args)}.")
    if isinstance(schedules, bool) or not isinstance(schedules, int) or schedules < 2:
        raise ArgumentError(f"{owner}: argument 'schedules' must be an integer from 2 on, got {schedules!r}.")
    if rtol is not None:
        rtol = as_real(rtol, function=owner, argument="rtol", least=0)
    atol = as_real(atol, function=owner, argument="atol", least=0)
    first: dict[str, np.ndarray[Any, Any]] = {}
    for schedule in range(schedules):
        found = _run(cuda, make_args, (n_threads, grid, block, shared_mem), schedule, seed)
        if schedule == 0:
            if not any(array.size for array in found.values()):
                raise AssertionError(f"{cuda._owner}: there is no element in any array among the arguments to compare.")
            first = found
            continue
        for name, array in first.items():
            _compare(array, found[name], rtol, atol, f"{cuda._owner}: {_argument(name, cuda)}", schedule)


def _run(
    kernel: CudaKernel, make_args: Callable[..., Sequence[Any]], shape: tuple[Any, ...], schedule: int, seed: int
) -> dict[str, np.ndarray[Any, Any]]:
    stand_in = fake_cupy_active()
    emulation = make_emulation("assert_schedule_independent", None, (), stand_in)._replace(schedule=schedule)
    n_threads, grid, block, shared_mem = shape
    with use_backend("cupy" if stand_in else "numpy", strict=True):
        args = checked_args(make_args("cupy" if stand_in else "numpy", seed), "assert_schedule_independent")
        if callable(n_threads):
            n_threads = n_threads(args)
        emulation.launch(kernel, args, n_threads=n_threads, grid=grid, block=block, shared_mem=shared_mem)
        return arrays_among(args)


def _argument(name: str, kernel: CudaKernel) -> str:
    """Return a parameter's name in the place of its number."""
    number, dot, rest = name.removeprefix("argument ").partition(".")
    if kernel.signature is None or not number.isdigit() or int(number) >= len(kernel.signature):
        return name
    return f"{kernel.signature[int(number)].name + dot + rest!r}"


def _compare(
    first: np.ndarray[Any, Any],
    other: np.ndarray[Any, Any],
    rtol: float | None,
    atol: float,
    label: str,
    schedule: int,
) -> None:
    if first.dtype.names is not None:
        for name in first.dtype.names:
            _compare(first[name], other[name], rtol, atol, f"{label}, field {name!r},", schedule)
        return
    if first.dtype.kind in "fc":
        size = first.dtype.itemsize // (2 if first.dtype.kind == "c" else 1)
        relative = _RTOL.get(size, 1e-12) if rtol is None else rtol
        with np.errstate(invalid="ignore"):
            same = np.abs(first - other) <= atol + relative * np.abs(first)
        same |= (first == other) | (np.isnan(first) & np.isnan(other))
    else:
        same = np.asarray(first == other)
    if same.all():
        return
    at = tuple(int(axis[0]) for axis in np.nonzero(~np.atleast_1d(same)))
    one, two = np.atleast_1d(first)[at], np.atleast_1d(other)[at]
    raise AssertionError(
        f"{label} depends on the order of blocks and threads: at [{', '.join(map(str, at))}] it is {one} in order and "
        f"{two} {'backwards' if schedule == 1 else f'in the random order {schedule}'}, {int((~same).sum())} of "
        f"{same.size} elements differ."
    )
