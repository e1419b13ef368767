"""Launches of CUDA kernels from source, with checked arguments."""

from __future__ import annotations

import operator
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from cunumpy import _transfers
from cunumpy._arrays import is_foreign_device_array
from cunumpy._gate import as_truth, describe, given
from cunumpy.arguments._current_device import current_device, device_of_arrays
from cunumpy.arguments._packing import check_devices, packer
from cunumpy.arguments._protocol import LEAF_TYPES, expand
from cunumpy.cuda import HostStream, get_cuda_debug
from cunumpy.errors import ArgumentError, ArgumentTypeError, KernelError
from cunumpy.kernels._cuda_program import CudaProgram
from cunumpy.kernels._emulated import EMULATOR
from cunumpy.kernels._finite_checks import check_finite
from cunumpy.kernels._launch_shape import INFERENCES, Inference, block_of, check_grid, extents, grid_for
from cunumpy.kernels._prepared_launch import PreparedLaunch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from cunumpy.kernels._builds import Build
    from cunumpy.kernels._cpu_device.launch import CpuKernel

    Shape = tuple[tuple[int, ...], tuple[int, ...]]


class CudaKernel(CudaProgram):
    """A CUDA kernel from C++ source, launched with checked arguments.

    Making one needs neither CuPy nor a GPU: the source is parsed, and compiled when the kernel is first launched, for
    each device and for debug mode. A launch is asynchronous, on the current stream or on `stream`, and nothing is ever
    copied or converted for it: an argument that does not fit the declaration is an error that names the kernel, the
    parameter and what was given.

    Parameters
    ----------
    source : str
        CUDA C++ source code. Kernels that are no templates and in no namespace have to be ``extern "C"``.
    name : str
        The kernel in it, in a namespace as ``"space::kernel"``.
    block_size : int or sequence of int, default: 128
        Threads of a block, along 1 to 3 dimensions.
    options : sequence of str, optional
        For the compiler, such as ``"-DN=3"``.
    include_dirs : sequence of str or Path, optional
        Folders of headers. The shipped headers (``<cunumpy/...>``) are always found.
    source_dir : str or Path, optional
        The source's own folder; headers there count when it is decided whether to compile anew.
    structs : iterable of CudaStruct, optional
        Types of parameters that are structs.
    template_args : sequence, optional
        For a template, as text, dtype, bool or int.
    check_signature : bool, default: True
        Parse the parameters and check the arguments of each launch; without it they go to CuPy as they are.
    debug : bool, optional
        Compile with `cunumpy.cuda.DEBUG_OPTIONS` and wait after each launch, so that its error is raised there. By
        default as `cunumpy.cuda.cuda_debug` says at each launch.
    n_threads_from : callable or str, optional
        How launches without `n_threads` and `grid` find the number of threads: ``"auto"``, the leading axes of the
        first array argument, one for each dimension of the block; ``"first_array"``, its first axis; ``"last_axis"``,
        its last; or a function of the tuple of arguments. With None they have to be told.
    check_finite : bool, default: False
        Wait after each launch and raise if an array argument holds NaN or infinity: with the first place.
    cooperative : bool, default: False
        Launch so that all blocks run at the same time, and can wait for each other by
        ``cooperative_groups::this_grid().sync()``. A device takes as many blocks as it has room for; on the CPU 256.

    Raises
    ------
    ArgumentError
        A block with no or too many threads, a source that can't be parsed, or no such kernel in it.
    ArgumentTypeError
        An argument of a wrong type.

    Notes
    -----
    Kernels pickle and copy, without what was compiled. All methods can be called from several threads.

    The checks of a launch with four arguments cost some microseconds. For loops that launch the same again and again
    see `prepare`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> axpy = xp.kernels.CudaKernel('''
    ... extern "C" __global__ void axpy(double a, const double* x, double* y, int n) {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     if (i < n) y[i] += a * x[i];
    ... }''', "axpy")
    >>> [parameter.name for parameter in axpy.signature]
    ['a', 'x', 'y', 'n']
    >>> axpy.launch_shape(1000)
    ((8,), (128,))
    """

    _not_pickled = (
        *CudaProgram._not_pickled,
        "_checks",
        "_check_all",
        "_count",
        "_has_records",
        "_plain_block",
        "_cpu",
    )

    def __init__(
        self,
        source: str,
        name: str,
        *,
        block_size: int | Sequence[int] = 128,
        options: Sequence[str] = (),
        include_dirs: Sequence[str | Path] = (),
        source_dir: str | Path | None = None,
        structs: Iterable[Any] = (),
        template_args: Sequence[Any] | None = None,
        check_signature: bool = True,
        debug: bool | None = None,
        n_threads_from: Callable[[tuple[Any, ...]], Any] | str | None = "auto",
        check_finite: bool = False,
        cooperative: bool = False,
    ) -> None:
        super().__init__(
            source,
            name,
            options=options,
            include_dirs=include_dirs,
            source_dir=source_dir,
            structs=structs,
            template_args=template_args,
            check_signature=check_signature,
            debug=debug,
            cooperative=cooperative,
        )
        owner = self._owner
        # The bound of the declaration is checked when a launch takes this block: one may be given there.
        self._block = block_of(block_size, owner, "block_size", None)
        self._n_threads_from: Callable[[tuple[Any, ...]], Any] | str | None = None
        self.n_threads_from = n_threads_from
        self._check_finite = as_truth(check_finite, function=owner, argument="check_finite")
        self._start()

    def _start(self) -> None:
        """Make what is not pickled."""
        super()._start()
        self._cpu: CpuKernel | None = None  # what runs it on the CPU, made when it first does
        self._plain_block = len(self._block) == 1 and (self._bound is None or self._block[0] <= self._bound)
        self._has_records = any(
            not one.pointer and (one.view_ndim is not None or one.dtype is None or one.dtype.kind == "V")
            for one in self._signature or ()
        )
        self._checks: list[Callable[[Any, int | None], Any]] | None = None
        self._check_all: Callable[..., tuple[Any, ...]] | None = None
        self._count = len(self._signature or ())
        if self._signature is not None:
            self._checks = [packer(one, f"{self._owner}: argument {one.name!r}").argument for one in self._signature]
            self._check_all = _together(self._checks)

    # What it is

    @property
    def block_size(self) -> int | tuple[int, ...]:
        """Threads of a block: an integer for one dimension."""
        return self._block[0] if len(self._block) == 1 else self._block

    @property
    def n_threads_from(self) -> Callable[[tuple[Any, ...]], Any] | None:
        """How the number of threads is inferred: a function of the tuple of arguments, or None. Can be set."""
        source = self._n_threads_from
        return Inference(source, len(self._block), self._owner) if isinstance(source, str) else source

    @n_threads_from.setter
    def n_threads_from(self, value: Callable[[tuple[Any, ...]], Any] | str | None) -> None:
        if isinstance(value, Inference):
            value = value.name
        if not (value is None or callable(value) or (isinstance(value, str) and value in INFERENCES)):
            raise ArgumentTypeError(
                f"{self._owner}: argument 'n_threads_from' must be a function of the arguments, None, or one of "
                f"{', '.join(map(repr, INFERENCES))}, got {value!r}."
            )
        self._n_threads_from = value

    @property
    def check_finite(self) -> bool:
        """Whether launches look for NaN and infinity in array arguments. Can be set."""
        return self._check_finite

    @check_finite.setter
    def check_finite(self, value: bool) -> None:
        self._check_finite = as_truth(value, function=self._owner, argument="check_finite")

    def __repr__(self) -> str:
        return f"<CudaKernel {self.expression} block_size={self.block_size}>"

    # Launching

    def prepare_args(self, *args: Any) -> tuple[Any, ...]:
        """Check arguments and return them as the raw kernel takes them.

        Parameters
        ----------
        *args
            As for a launch: device arrays of exactly the declared dtype for pointers and views, C-contiguous unless
            a view has strides; numbers that the parameter's type holds, or objects with ``__cuda_args__``, which
            stand for the values that it returns.

        Returns
        -------
        tuple
            Device arrays as they are, NumPy scalars of the declared types, and `numpy.void` for views and structs.
            Without a signature the values unchecked.

        Raises
        ------
        ArgumentTypeError
            A wrong number of arguments, a host array, a wrong dtype or layout, or no number.
        ArgumentRangeError
            A number beyond the parameter's type.
        ArgumentError
            An integer that a floating point type would round, an array of another device, or a read-only one for
            what the kernel may write.
        """
        packed, _ = self._pack(args)
        if self._has_records:
            return tuple([one[0] if type(one) is np.ndarray else one for one in packed])
        return packed

    def _pack(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], Sequence[Any] | None]:
        """Return the checked arguments as they are launched.

        Where any of them could need CuPy to take it, return what they stand for too, else None: an argument object may
        make its arrays when it is asked, and a packed view or struct does not keep them alive.
        """
        values: Sequence[Any] = args
        device = device_of_arrays()
        others = not LEAF_TYPES.issuperset(map(type, args))
        if others:
            values = expand(args, self._owner)
            if device is not None:
                for value in args:
                    check_devices(value, device, f"{self._owner}: argument {describe(value)}")
        check_all = self._check_all
        if check_all is None:
            return tuple(values), values
        if len(values) != self._count:
            self._refuse_count(args, values)
        return check_all(device, *values), values if others else None

    def _refuse_count(self, args: tuple[Any, ...], values: Sequence[Any]) -> NoReturn:
        assert self._signature is not None
        names = ", ".join(parameter.name for parameter in self._signature)
        spread = f" (from {len(args)} arguments)" if len(args) != len(values) else ""
        raise ArgumentTypeError(
            f"{self._owner}: takes {len(self._signature)} arguments ({names}), got {len(values)}{spread}."
        )

    def _launchable(self, packed: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return arguments as CuPy takes them: arrays of other libraries as its own, records as arrays."""
        found = []
        for value in packed:
            if isinstance(value, np.void):
                value = np.array(value, value.dtype).reshape(1)
            elif is_foreign_device_array(value):
                value = self._require_cupy().asarray(value)
            found.append(value)
        return tuple(found)

    def launch_shape(
        self,
        n_threads: int | Sequence[int] | None = None,
        *,
        grid: int | Sequence[int] | None = None,
        block: int | Sequence[int] | None = None,
        args: tuple[Any, ...] | None = None,
    ) -> Shape:
        """Return grid and block of a launch.

        Parameters
        ----------
        n_threads : int or sequence of int, optional
            Threads that are needed, along 1 to 3 dimensions.
        grid : int or sequence of int, optional
            Blocks, instead of `n_threads`.
        block : int or sequence of int, optional
            Threads of a block, by default `block_size`.
        args : tuple, optional
            Arguments to infer the threads from, where neither is given; see `n_threads_from`.

        Returns
        -------
        grid, block : tuple of int
            The grid covers `n_threads`; a dimension of 0 means that there is nothing to do. With a block of one
            dimension it gets as many as `n_threads`.

        Raises
        ------
        ArgumentError
            Negative numbers, dimensions that do not go together, or more blocks or threads than any GPU takes.
        ArgumentTypeError
            Both or neither of `n_threads` and `grid`, or what is no integer.
        """
        if grid is None and block is None and self._plain_block:
            if n_threads is None:
                n_threads = self._inferred(args, 1)
                if type(n_threads) is tuple and len(n_threads) == 1:
                    (n_threads,) = n_threads
            if type(n_threads) is int and n_threads >= 0:
                blocks = -(-n_threads // self._block[0])
                if blocks < 2**31:
                    return (blocks,), self._block
        owner = self._owner
        if block is not None:
            threads = block_of(block, owner, "block", self._bound)
        elif self._plain_block:
            threads = self._block
        else:
            threads = block_of(self._block, owner, "block_size", self._bound)
        if n_threads is None and grid is None:
            n_threads = self._inferred(args, len(threads))
        elif n_threads is not None and grid is not None:
            raise ArgumentTypeError(
                f"{owner}: got both n_threads={n_threads!r} and grid={grid!r}; pass one of them, the number of threads "
                "or that of blocks."
            )
        if n_threads is None:
            blocks_of_grid = extents(grid, owner, "grid", lowest=0)
        else:
            blocks_of_grid, threads = grid_for(extents(n_threads, owner, "n_threads", lowest=0), threads, owner)
        check_grid(blocks_of_grid, threads, owner)
        return blocks_of_grid, threads

    def _inferred(self, args: tuple[Any, ...] | None, ndim: int) -> Any:
        source = self._n_threads_from
        if args is not None and not isinstance(args, (tuple, list)):
            raise ArgumentTypeError(
                f"{self._owner}: argument 'args' must be the tuple of arguments, got {describe(args)}; pass (array,) "
                "for one."
            )
        if args is None or source is None:
            raise ArgumentTypeError(
                f"{self._owner}: the number of threads is not known; pass n_threads or grid"
                + (", or args to infer it from." if source is not None else ".")
            )
        found = INFERENCES[source](args, ndim, self._owner) if isinstance(source, str) else source(args)
        if found is None:
            raise ArgumentTypeError(
                f"{self._owner}: n_threads_from returned None; it must return the number of threads."
            )
        return found

    def suggested_block_size(self, *, shared_mem: int = 0) -> int:
        """Return the threads of a block with which the current device can keep the most threads busy (its occupancy).

        The kernel is compiled for it, because registers and shared memory decide. Most threads is not always fastest:
        kernels that are limited by memory reach its bandwidth with far fewer.

        Parameters
        ----------
        shared_mem : int, default: 0
            Bytes of dynamic shared memory of a block.

        Returns
        -------
        int
            As the CUDA driver calculates it, at most what ``__launch_bounds__`` allow; for `block_size` or `block`.

        Raises
        ------
        BackendUnavailableError, CompileError
            As for `compile`.

        Examples
        --------
        >>> import cunumpy as xp
        >>> def launch(kernel: xp.kernels.CudaKernel, x):  # a device array
        ...     kernel(x, x.size, n_threads=x.size, block=kernel.suggested_block_size())
        """
        shared = self._shared(shared_mem)
        build = self._built(self.debug_active())
        driver = sys.modules["cupy"].cuda.driver
        _, threads = driver.occupancyMaxPotentialBlockSize(build.launch.ptr, shared, self._bound or 0)
        return int(threads)

    def __call__(
        self,
        *args: Any,
        n_threads: int | Sequence[int] | None = None,
        grid: int | Sequence[int] | None = None,
        block: int | Sequence[int] | None = None,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Launch the kernel on the current device, asynchronously.

        On NumPy arrays it runs as the implementation ``"cpu"`` of a `Kernel`, ``Kernel(None, kernel)``, or prepared.

        Parameters
        ----------
        *args
            One for each parameter; see `prepare_args`.
        n_threads, grid, block
            See `launch_shape`. Without threads nothing is launched.
        shared_mem : int, default: 0
            Bytes of dynamic shared memory of a block.
        stream : cupy.cuda.Stream, optional
            By default the current one.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            An argument does not fit, or the device does not take such a launch; nothing was launched.
        BackendUnavailableError
            CuPy or a GPU is missing.
        CompileError
            The source does not compile.
        KernelError
            In debug mode or with `check_finite`: the kernel failed, or there is NaN or infinity in an array.
        """
        emulator = EMULATOR.get()
        if emulator is not None:
            emulator.launch(
                self, args, n_threads=n_threads, grid=grid, block=block, shared_mem=shared_mem, stream=stream
            )
            return
        shape = self.launch_shape(n_threads, grid=grid, block=block, args=args)
        if type(shared_mem) is not int or not 0 <= shared_mem < 2**31:
            shared_mem = self._shared(shared_mem)
        device = current_device()
        packed, others = self._pack(args)
        blocks, threads = shape
        if 0 in blocks:
            return
        debug = get_cuda_debug() if self._debug is None else self._debug
        build = None if debug or device is None else self._builds.get((device, False))
        if build is None:
            build = self._built(debug)
        launch = (blocks, threads, shared_mem)
        if launch != build.checked:
            build.check(launch)
        if stream is not None:
            self._check_stream(stream, device)
        if others is not None:
            packed = self._launchable(packed)
        if debug or self._check_finite:
            self._launch_and_wait(build, launch, packed, args, stream)
        elif stream is None:
            build.launch(blocks, threads, packed, shared_mem=shared_mem)
        else:
            build.launch(blocks, threads, packed, shared_mem=shared_mem, stream=stream)

    def prepare(
        self,
        *args: Any,
        n_threads: int | Sequence[int] | None = None,
        grid: int | Sequence[int] | None = None,
        block: int | Sequence[int] | None = None,
        shared_mem: int = 0,
    ) -> PreparedLaunch:
        """Check and pack a launch once, to launch it again and again at the cost of the raw kernel.

        Parameters
        ----------
        *args, n_threads, grid, block, shared_mem
            As for a launch.

        Returns
        -------
        PreparedLaunch
            Call it to launch; the kernel is compiled then at the latest.

        Notes
        -----
        With NumPy arrays in the place of device arrays, and unless the CuPy backend is active, the launch is one on the
        CPU, as by the implementation ``"cpu"`` of a `Kernel`: compiled by the machine's C++ compiler, and ended when
        the call returns.
        """
        return PreparedLaunch(self, args, n_threads=n_threads, grid=grid, block=block, shared_mem=shared_mem)

    def _shared(self, shared_mem: Any) -> int:
        try:
            if isinstance(shared_mem, (bool, np.bool_)):
                raise TypeError
            size = operator.index(shared_mem)
        except TypeError:
            raise ArgumentTypeError(
                f"{self._owner}: argument 'shared_mem' must be a number of bytes, got {given(shared_mem)}."
            ) from None
        if not 0 <= size < 2**31:
            raise ArgumentError(
                f"{self._owner}: argument 'shared_mem' must "
                + ("not be negative" if size < 0 else "be less than 2 GiB")
                + f", got {given(size)}."
            )
        return size

    def _check_stream(self, stream: Any, current: int | None) -> None:
        device = getattr(stream, "device_id", None)
        if not isinstance(device, int) or not hasattr(stream, "ptr") or isinstance(stream, HostStream):
            raise ArgumentTypeError(
                f"{self._owner}: argument 'stream' must be a stream of CuPy, got {describe(stream)}; make one with "
                "xp.cuda.create_stream() on the CuPy backend."
            )
        if device not in (current, -1):
            raise ArgumentError(
                f"{self._owner}: argument 'stream' is of CUDA device {device}, the current device is {current}; "
                "nothing was launched."
            )

    def _launch_and_wait(self, build: Build, launch: Any, packed: tuple[Any, ...], args: Any, stream: Any) -> None:
        grid, block, shared = launch
        cupy = sys.modules["cupy"]
        used = cupy.cuda.get_current_stream() if stream is None else stream
        text = f"{self._owner} (grid {grid}, block {block})"
        capturing = getattr(used, "is_capturing", None)
        waits = capturing is None or not capturing()
        watched = waits and _transfers.watching()
        if watched:
            _transfers.announce("sync", text)
        try:
            build.launch(grid, block, packed, shared_mem=shared, **({} if stream is None else {"stream": stream}))
            if waits:
                used.synchronize()
        except Exception as error:
            if not type(error).__name__.startswith("CUDA"):
                raise
            raise KernelError(f"{text}: failed on device {build.limits.device}: {error}") from error
        if watched:
            _transfers.record("sync", text)
        if waits and self._check_finite:
            with _transfers.own():
                check_finite(cupy, self._signature, args, text)

    def _check_host_arrays(self, args: Iterable[Any], text: str) -> None:
        check_finite(np, self._signature, args, text)

    @property
    def _checkers(self) -> list[Callable[[Any], Any]] | None:
        # With `_signature` read by feectools 0.10.0, whose kept launches would else pass Python floats for `float`.
        if self._checks is None:
            return None
        return [partial(_converted, check) for check in self._checks]


def _converted(check: Callable[[Any, int | None], Any], value: Any) -> Any:
    packed = check(value, None)
    return packed[0] if type(packed) is np.ndarray else packed


def _together(checks: Sequence[Callable[[Any, int | None], Any]]) -> Callable[..., tuple[Any, ...]]:
    """Return a function of the device and the values that calls each check: written out, in half of a loop's time."""
    numbers = range(len(checks))
    values = "".join(f", v{number}" for number in numbers)
    calls = "".join(f"c{number}(v{number}, device), " for number in numbers)
    together: Callable[..., tuple[Any, ...]] = eval(
        f"lambda device{values}: ({calls})", {f"c{number}": checks[number] for number in numbers}
    )
    return together
