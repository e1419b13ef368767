"""Launches on the CPU: arguments checked as for a GPU, and the blocks given to the workers."""

from __future__ import annotations

import math
import operator
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from cunumpy import _environment
from cunumpy.arguments._packing import packer
from cunumpy.arguments._protocol import LEAF_TYPES, expand
from cunumpy.cuda import get_cuda_debug
from cunumpy.cuda._locks import new_lock
from cunumpy.errors import ArgumentError, ArgumentTypeError, KernelError
from cunumpy.kernels._builds import HeaderHash
from cunumpy.kernels._cpu_device.analysis import GRID_STRIDE, MERGED_LOOPS
from cunumpy.kernels._cpu_device.build import Library, Program, build_cache, program_of
from cunumpy.kernels._cpu_device.checked_arguments import Argument, Arguments, array_arguments
from cunumpy.kernels._cpu_device.checking import FAULT, LOCK, Checks
from cunumpy.kernels._cpu_device.limits import check_raw_registers, check_registers, refuse_shared
from cunumpy.kernels._raw_arguments import CONST_POINTER_KIND

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from cunumpy.kernels._cuda_kernel import CudaKernel

_BLOCK_LIMITS = (1024, 1024, 64)
"""The most threads of a block along x, y and z, on every CUDA device."""

_NARROW_BLOCKS, _NARROW_THREADS = (2**31 - 1) // 1024, 2**31 - 1 - 1024
"""Up to so many blocks, and threads, along x the code for usual grids is right."""


MAX_COOPERATIVE_BLOCKS = 256
"""So many blocks can run at the same time; GPUs take some hundreds, too."""


QUICK_AXES = {"auto": 0, "first_array": 0, "last_axis": -1}
"""Of which axis of the first array the number of threads is inferred, for blocks of one dimension."""


class CpuKernel:
    """What a kernel needs to run on the CPU: the checks of its arguments and what was compiled.

    Parameters
    ----------
    kernel : CudaKernel
    """

    def __init__(self, kernel: CudaKernel) -> None:
        if kernel.signature is None:
            raise ArgumentTypeError(
                f"{kernel._owner}: to run on the CPU its parameters have to be known; make it without "
                "check_signature=False."
            )
        self.kernel = kernel
        self.checks = [
            packer(one, f"{kernel._owner}: argument {one.name!r}", host=True).argument for one in kernel.signature
        ]
        self._libraries: dict[tuple[bool, bool, bool], Library] = {}
        self._lock = new_lock()
        self.quick: Any = None
        """Launches of usual size with arguments that leave no question, once compiled; see `launcher.Function`."""
        self.quick_shared = 0

    def values(self, args: tuple[Any, ...]) -> Sequence[Any]:
        """Return a value for each parameter."""
        if LEAF_TYPES.issuperset(map(type, args)):
            return args
        return expand(args, self.kernel._owner, host=True)

    def pack(self, args: tuple[Any, ...]) -> list[Any]:
        """Return the checked arguments: addresses for pointers, else NumPy scalars and arrays of one element."""
        values = self.values(args)
        if len(values) != len(self.checks):
            self.kernel._refuse_count(args, values)
        return [check(value, None) for check, value in zip(self.checks, values, strict=True)]

    def library(self, *, wide: bool = False, debug: bool = False, check: bool = False) -> Library:
        """Return what is compiled, for usual or very large grids, with checks of bounds or of everything."""
        key = (wide, debug, check)
        found = self._libraries.get(key)
        if found is None:
            with self._lock:
                found = self._libraries.get(key)
                if found is None:
                    found = self._libraries[key] = Library(
                        program_of(self.kernel, wide=wide, debug=debug, check=check), self.kernel.signature
                    )
                    if not (wide or debug or check or self.kernel.cooperative) and self.kernel._plain_block:
                        self.quick_shared, self.quick = found.dynamic_limit, found.function.call
        return found

    def prepared(self, grid: tuple[int, ...], block: tuple[int, ...], shared_mem: int) -> Callable[..., str | None]:
        """Return what launches checked arguments, after the checks of a launch; see `launcher.Function`."""
        found = library_of(lambda wide: self.library(wide=wide), grid, block, shared_mem, self.kernel._owner)
        function: Callable[..., str | None] = found.function.launch
        check_cooperative(self.kernel.cooperative, grid, self.kernel._owner)
        return function

    def recompile(self) -> None:
        """Forget what is loaded, so that changed headers are seen."""
        with self._lock:
            self._libraries = {}
            self.quick = None

    def launch(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: tuple[Any, ...],
        shared_mem: int,
        packed: list[Any] | None = None,
    ) -> None:
        """Run the kernel, and return when it has ended; `packed` are the arguments if `pack` has been called."""
        if packed is None:
            packed = self.pack(args)
        if 0 in grid:
            return
        debug = self.kernel.debug_active()
        check = checks_launches(debug)
        if debug or check:
            check_registers(self.kernel, block, build_cache())
        launch(
            lambda wide: self.library(wide=wide, debug=debug, check=check),
            grid,
            block,
            packed,
            shared_mem,
            self.kernel._owner,
            cooperative=self.kernel.cooperative,
            arguments=tuple(array_arguments(self.kernel.signature or (), self.values(args))) if check else (),
        )

    def fail(self, trap: str, grid: tuple[int, ...], block: tuple[int, ...]) -> NoReturn:
        """Raise the error of a launch that a trap ended."""
        _fail(self.kernel._owner, trap, grid, block)


def launch(
    library_for: Callable[[bool], Library],
    grid: tuple[int, ...],
    block: tuple[int, ...],
    packed: list[Any],
    shared_mem: int,
    owner: str,
    *,
    cooperative: bool = False,
    arguments: Sequence[tuple[int, Argument]] = (),
    schedule: int = 0,
) -> None:
    """Check what every CUDA device limits, and run a kernel; see `launcher.Function`.

    For a checked library `arguments` are the arrays, with the numbers of the parameters.
    """
    check_cooperative(cooperative, grid, owner)
    library = library_of(library_for, grid, block, shared_mem, owner)
    if library.checks is not None:
        trap = _run_checked(library, library.checks, grid, block, packed, shared_mem, cooperative, arguments)
    else:
        trap = library.function.launch(packed, grid, block, shared_mem, cooperative, schedule)
    if trap is not None:
        _fail(owner, trap, grid, block)


def checks_launches(by_default: bool) -> bool:
    """Tell whether launches are checked: what ``CUNUMPY_CPU_CHECK`` says, else the default of the caller."""
    setting = _environment.read("CUNUMPY_CPU_CHECK")
    # Elsewhere the dynamic linker does not say where shared memory is.
    return sys.platform == "linux" and (by_default if setting is None else setting is True)


def _run_checked(
    library: Library,
    checks: Checks,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    packed: list[Any],
    shared_mem: int,
    cooperative: bool,
    arguments: Sequence[tuple[int, Argument]],
) -> str | None:
    """Run a kernel on copies of its arrays; return what was found, and what ended the launch."""
    cooperative = cooperative and math.prod(grid) > 1
    with LOCK:
        copies = Arguments([argument for _, argument in arguments])
        packed = copies.repacked(packed, {number for number, _ in arguments})
        checks.begin(copies, math.prod(grid), shared_mem, cooperative=cooperative)
        try:
            trap: str | None = library.function.launch(packed, grid, block, shared_mem, cooperative, 0, True)
        finally:
            try:
                copies.write_back()
            finally:
                faults = checks.end(grid, block)
    texts = list(dict.fromkeys(str(fault) for fault in faults))  # a line may have several places
    if trap is not None and trap != FAULT:
        texts.append(checks.with_places(trap))
    if len(texts) < 2:
        return texts[0] if texts else None
    return "".join([f"{len(texts)} faults", *(f"\n  {text}" for text in texts)])


def check_cooperative(cooperative: bool, grid: tuple[int, ...], owner: str) -> None:
    """Raise for a launch whose blocks are too many to run at the same time."""
    if cooperative and math.prod(grid) > MAX_COOPERATIVE_BLOCKS:
        raise ArgumentError(
            f"{owner}: a cooperative launch of {math.prod(grid)} blocks; on the CPU each has a thread of the system, "
            f"and {MAX_COOPERATIVE_BLOCKS} are the most. Take fewer blocks, and a loop in the kernel."
        )


def library_of(
    library_for: Callable[[bool], Library], grid: tuple[int, ...], block: tuple[int, ...], shared_mem: int, owner: str
) -> Library:
    """Check what every CUDA device limits, and return what was compiled for grids of this size."""
    for axis, size, limit in zip("xyz", block, _BLOCK_LIMITS, strict=False):
        if size > limit:
            raise ArgumentError(f"{owner}: block {block} has {size} along {axis}, a device takes {limit}.")
    library = library_for(grid[0] > _NARROW_BLOCKS)
    if library.mode in (MERGED_LOOPS, GRID_STRIDE) and grid[0] * block[0] > _NARROW_THREADS:
        library = library_for(True)
    if shared_mem > library.dynamic_limit:
        refuse_shared(library.static_shared, shared_mem, owner)
    return library


def _fail(owner: str, trap: str, grid: tuple[int, ...], block: tuple[int, ...]) -> NoReturn:
    end = "\nWhat" if "\n" in trap else "; what"
    raise KernelError(f"{owner} (grid {grid}, block {block}): {trap}{end} it wrote before stays.")


class RawFunction:
    """A kernel of which only source and name are known, launched with arguments that nobody checks but for their size.

    Parameters
    ----------
    source : str
        CUDA C++ source code.
    expression : str
        The kernel, with namespaces and template arguments.
    options : tuple of str, optional
        Of CUDA's compiler.
    kernels : tuple of str, optional
        All kernels of its module, by default it alone.
    opened : dict, optional
        What is loaded for them, which they share; see `Library`.
    check : bool, default: False
        Check all launches, unless ``CUNUMPY_CPU_CHECK`` says otherwise.

    Attributes
    ----------
    check : bool
        Whether launches are checked. It stays so, since global variables are those of the code that was compiled.
    sizes : tuple of int
        The bytes of each parameter.
    kinds : tuple of int
        Of each parameter: one of those in `_raw_arguments`.
    call : callable
        Launches where nothing has to be checked; see `launcher.Function`.
    dynamic_limit : int
        The most bytes of dynamic shared memory.
    """

    def __init__(
        self,
        source: str,
        expression: str,
        options: tuple[str, ...] = (),
        kernels: tuple[str, ...] = (),
        opened: dict[bool, Any] | None = None,
        *,
        check: bool = False,
    ) -> None:
        self._owner = f"kernel {expression!r}"
        self.check = checks_launches(check)
        folders = [Path(option[2:].strip()) for option in options if option.startswith("-I") and option[2:]]
        headers = HeaderHash(source, folders, None).digest()
        kernels = kernels or (expression,)
        name = kernels[0].partition("<")[0]
        self._program = Program(source, f"{name}.cu", expression, options, None, headers, self._owner, kernels)
        self._program = self._program._replace(check=self.check)
        self._opened: dict[bool, Any] = {} if opened is None else opened
        self._libraries: dict[bool, Library] = {}
        library = self._library(False)
        self.sizes, self.kinds = library.sizes, library.kinds
        self.call = _call_nothing if self.check else library.function.call_raw
        self.dynamic_limit = library.dynamic_limit

    def _library(self, wide: bool) -> Library:
        if wide not in self._libraries:
            if wide and self._library(False).variables:
                raise ArgumentError(
                    f"{self._owner}: on the CPU grids of more than 2**31 threads have no global variables "
                    f"({', '.join(self._library(False).variables)}); take a smaller grid."
                )
            self._libraries[wide] = Library(self._program._replace(wide=wide), None, self._opened)
        return self._libraries[wide]

    @property
    def variables(self) -> tuple[str, ...]:
        """The global variables of the module."""
        return tuple(self._library(False).variables)

    def variable(self, name: str) -> tuple[int, int]:
        """Return address and bytes of one of `variables`."""
        return self._library(False).variable(name)

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        packed: list[Any],
        shared_mem: int = 0,
        *,
        cooperative: bool = False,
        arguments: Sequence[tuple[int, np.ndarray[Any, Any]]] = (),
    ) -> None:
        """Run the kernel, and return when it has ended.

        Parameters
        ----------
        grid, block : tuple of int
        packed : list
            An argument for each parameter: integers are addresses, NumPy scalars and arrays give their bytes.
        shared_mem : int, default: 0
            Bytes of dynamic shared memory.
        cooperative : bool, default: False
            Run all blocks at the same time.
        arguments : list of (int, ndarray), optional
            For checked launches: arrays whose addresses are in `packed`, with the numbers of their parameters.

        Raises
        ------
        ArgumentTypeError
            Another number of arguments, or one of another size.
        KernelError
            The kernel ended itself.
        """
        grid, block = (tuple(map(operator.index, extents)) for extents in (grid, block))
        shared_mem = operator.index(shared_mem)
        sizes = tuple(8 if type(value) is int else value.nbytes for value in packed)
        if sizes != self.sizes:
            raise ArgumentTypeError(
                f"{self._owner}: has parameters of {', '.join(map(str, self.sizes)) or 'no'} bytes, got arguments of "
                f"{', '.join(map(str, sizes)) or 'no'} bytes."
            )
        if 0 not in grid:
            if self.check:
                program = self._program
                described = (program.source, program.expression, program.options, program.headers)
                check_raw_registers(self._owner, block, described, build_cache())
            named = [
                (number, Argument(f"argument {number}", array, self.kinds[number] == CONST_POINTER_KIND))
                for number, array in arguments
            ]
            launch(
                self._library, grid, block, packed, shared_mem, self._owner, cooperative=cooperative, arguments=named
            )


def _call_nothing(*args: Any) -> Any:
    """Say, in the place of `Function.call_raw`, that this is no usual launch."""
    return NotImplemented


def cpu_kernel(kernel: CudaKernel) -> CpuKernel:
    """Return what runs a kernel on the CPU."""
    if kernel._cpu is None:
        with kernel._lock:
            if kernel._cpu is None:
                kernel._cpu = CpuKernel(kernel)
    return kernel._cpu


def run_on_cpu(
    kernel: CudaKernel,
    args: tuple[Any, ...],
    *,
    n_threads: int | Sequence[int] | None = None,
    grid: int | Sequence[int] | None = None,
    block: int | Sequence[int] | None = None,
    shared_mem: int = 0,
) -> None:
    """Run a CUDA kernel on NumPy arrays, with the CPU's cores, and return when it has ended.

    Parameters
    ----------
    kernel : CudaKernel
    args : tuple
        As for a launch, with NumPy arrays in the place of device arrays; the same rules hold.
    n_threads, grid, block, shared_mem
        As for a launch.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        An argument does not fit, or no device takes such a launch; nothing was run.
    CompileError
        The source does not compile.
    KernelError
        The kernel ended itself: a trap, a failed assertion, in debug mode an index out of bounds. Or, with
        `check_finite`, there is NaN or infinity in an array.
    MissingCompilerError, SettingError
        There is no C++ compiler.
    """
    cpu = kernel._cpu
    if cpu is None:
        cpu = cpu_kernel(kernel)
    elif (
        (width := _usual_width(kernel, n_threads, grid, block)) > 0
        and cpu.quick is not None
        and not (get_cuda_debug() if kernel._debug is None else kernel._debug)
        and not kernel._check_finite
        and type(shared_mem) is int
        and 0 <= shared_mem <= cpu.quick_shared
    ):
        # The usual launch: all that is beyond doubt is checked in C, everything else below.
        threads_of_all = n_threads if grid is None else _only(grid) * width
        axis = 0 if threads_of_all is not None else QUICK_AXES.get(str(kernel._n_threads_from), 2)
        if axis < 1 and (threads_of_all is None or (type(threads_of_all) is int and threads_of_all < 2**63)):
            trap = cpu.quick(args, threads_of_all, axis, width, shared_mem)
            if trap is None:
                return
            if trap is not NotImplemented:
                cpu.fail(trap, *kernel.launch_shape(n_threads, grid=grid, block=block, args=args))
    blocks, threads = kernel.launch_shape(n_threads, grid=grid, block=block, args=args)
    if type(shared_mem) is not int or shared_mem < 0:
        shared_mem = kernel._shared(shared_mem)
    cpu.launch(blocks, threads, args, shared_mem)
    if 0 in blocks:
        return
    if kernel._check_finite:
        kernel._check_host_arrays(args, f"{kernel._owner} (grid {blocks}, block {threads})")


def _usual_width(kernel: CudaKernel, n_threads: Any, grid: Any, block: Any) -> int:
    """Return the threads of a block of one dimension, 0 for a launch of another kind."""
    if grid is None and block is None:
        return kernel._block[0]
    if n_threads is not None or kernel._bound is not None or _only(grid) < 1:
        return 0
    width = _only(block)
    return width if width <= _BLOCK_LIMITS[0] else 0


def _only(sizes: Any) -> int:
    """Return the size along x where there is no other; 0 else, and for what is no usual size."""
    if type(sizes) is tuple and len(sizes) == 1:
        (sizes,) = sizes
    return sizes if type(sizes) is int and sizes > 0 else 0
