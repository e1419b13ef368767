"""CUDA kernels on the CPU device in the place of a GPU: one launch, or all launches of a block."""

from __future__ import annotations

import shlex
import shutil
import weakref
from collections.abc import Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cunumpy._backend import use_backend
from cunumpy._gate import as_strings, as_truth, describe
from cunumpy.arguments._current_device import current_device
from cunumpy.arguments._protocol import expand
from cunumpy.errors import ArgumentTypeError, BackendUnavailableError, MissingCompilerError
from cunumpy.kernels._cpu_device import launch as cpu
from cunumpy.kernels._cpu_device.build import Library, build_cache, cache_folder, program_of
from cunumpy.kernels._cpu_device.checked_arguments import Argument, array_arguments
from cunumpy.kernels._cpu_device.compiler import Compiler, find_compiler, named_compiler
from cunumpy.kernels._cpu_device.limits import UNLIMITED_THREADS, check_registers
from cunumpy.kernels._cuda_kernel import CudaKernel
from cunumpy.kernels._cuda_program import CudaProgram
from cunumpy.kernels._emulated import EMULATOR
from cunumpy.kernels._finite_checks import floating_arrays

from ._stand_in import fake_cupy_active, host_buffer, is_fake_array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cunumpy.cuda import CudaParameter

_Key = tuple[Compiler, tuple[str, ...], bool, bool, bool, bool, str]

_libraries: weakref.WeakKeyDictionary[CudaProgram, dict[_Key, Library]] = weakref.WeakKeyDictionary()
"""What was compiled of each kernel, by compiler, options, size of grids, debug mode, checks, order and headers."""


class Emulation(NamedTuple):
    """How launches run on the CPU device.

    Attributes
    ----------
    compiler : Compiler or None
        None for the default at each launch.
    options : tuple of str
        More options of the C++ compiler.
    strict : bool
        Take device arrays alone, as a GPU does.
    schedule : int or None
        The order of blocks and threads, see `Function.launch`; None for the fastest.
    """

    compiler: Compiler | None = None
    options: tuple[str, ...] = ()
    strict: bool = False
    schedule: int | None = None

    def launch(
        self,
        kernel: CudaKernel,
        args: tuple[Any, ...],
        *,
        n_threads: int | Sequence[int] | None = None,
        grid: int | Sequence[int] | None = None,
        block: int | Sequence[int] | None = None,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Check a launch as the GPU's is checked, run it, and return when it has ended."""
        late = _asynchrony()
        if grid is None and block is None and late is None and self._launched(kernel, args, n_threads, shared_mem):
            return
        blocks, threads = kernel.launch_shape(n_threads, grid=grid, block=block, args=args)
        shared = kernel._shared(shared_mem)
        if self.strict:
            kernel._pack(args)
            if stream is not None:
                kernel._check_stream(stream, current_device())
        device_arrays: list[Any] = []
        if kernel.signature is None:
            values = expand(args, kernel._owner)
            device_arrays = [value for value in values if is_fake_array(value)]
            packed = _packed_as_cupy_does(values, self._library(kernel, False).sizes, kernel._owner)
            arguments = unnamed_arguments(values)
        else:
            values = expand(args, kernel._owner, host=True)
            if len(values) != len(kernel.signature):
                kernel._refuse_count(args, values)
            values = [_on_host(value, one, device_arrays) for value, one in zip(values, kernel.signature, strict=True)]
            packed = cpu.cpu_kernel(kernel).pack(tuple(values))
            arguments = array_arguments(kernel.signature, values)
        if 0 in blocks:
            return
        if kernel.debug is not False:
            check_registers(kernel, threads, build_cache())
        with nullcontext() if late is None else late.launching(device_arrays, stream):
            cpu.launch(
                lambda wide: self._library(kernel, wide),
                blocks,
                threads,
                packed,
                shared,
                kernel._owner,
                cooperative=kernel.cooperative,
                arguments=tuple(arguments),
                schedule=self.schedule or 0,
            )
        if kernel.check_finite:
            text = f"{kernel._owner} (grid {blocks}, block {threads})"
            kernel._check_host_arrays(values, text)
            for name, array in floating_arrays(kernel.signature, args):
                if is_fake_array(array):
                    kernel._check_host_arrays([host_buffer(array)], f"{text}, {name!r}")

    def _launched(self, kernel: CudaKernel, args: tuple[Any, ...], n_threads: Any, shared_mem: Any) -> bool:
        """Launch if all is beyond doubt, which is checked in C; tell whether it was."""
        axis = 0 if n_threads is not None else cpu.QUICK_AXES.get(str(kernel._n_threads_from), 2)
        usual = (
            axis < 1
            and kernel._plain_block
            and (kernel.debug is False or kernel._block[0] <= UNLIMITED_THREADS)
            and not kernel.cooperative
            and not cpu.checks_launches(kernel.debug is not False)
            and not self.strict
            and self.schedule is None
            and not kernel.check_finite
            and kernel.signature is not None
            and (n_threads is None or type(n_threads) is int)
            and type(shared_mem) is int
            and shared_mem >= 0
        )
        found = _libraries.get(kernel, {}).get(self._key(kernel, False)) if usual else None
        if found is None or shared_mem > found.dynamic_limit:
            return False
        trap = found.function.call(args, n_threads, axis, kernel._block[0], shared_mem)
        if trap is not None and trap is not NotImplemented:
            cpu.cpu_kernel(kernel).fail(trap, *kernel.launch_shape(n_threads, args=args))
        return trap is None

    def compile(self, kernel: CudaProgram) -> None:
        """Compile a kernel with the headers as they are now, unless that was done."""
        self._library(kernel, False)

    def is_compiled(self, kernel: CudaProgram) -> bool:
        """Tell whether this process has it compiled with the headers as they are now."""
        return self._key(kernel, False) in _libraries.get(kernel, {})

    def _key(self, kernel: CudaProgram, wide: bool) -> _Key:
        compiler = self.compiler or find_compiler()
        debug = kernel.debug is not False
        ordered = self.schedule is not None  # results are compared, without checks
        check = cpu.checks_launches(debug) and not ordered
        return compiler, self.options, wide, debug, check, ordered, kernel._headers.digest()

    def _library(self, kernel: CudaProgram, wide: bool) -> Library:
        key = self._key(kernel, wide)
        found = _libraries.get(kernel, {}).get(key)
        if found is None:
            with kernel._lock:
                known = _libraries.setdefault(kernel, {})
                found = known.get(key)
                if found is None:
                    program = program_of(kernel, wide=wide, debug=key[3], check=key[4])._replace(
                        ordered=key[5], host_options=self.options
                    )
                    found = known[key] = Library(program, kernel.signature, compiler=key[0])
        return found


def make_emulation(function: str, compiler: Any, options: Any, strict: Any = False) -> Emulation:
    """Check the arguments that the functions have in common."""
    if compiler is not None and not isinstance(compiler, str):
        raise ArgumentTypeError(
            f"{function}: argument 'compiler' must be a str or None, got {describe(compiler)}; pass what you would "
            "write in a shell, such as 'clang++'."
        )
    words = tuple(as_strings(options, function=function, argument="options"))
    strict = as_truth(strict, function=function, argument="strict")
    return Emulation(None if compiler is None else named_compiler(compiler, function), words, strict)


def _check_kernel(kernel: Any, function: str) -> None:
    if not isinstance(kernel, CudaKernel):
        raise ArgumentTypeError(
            f"{function}: argument 'kernel' must be a CudaKernel, got {describe(kernel)}; of a Kernel pass its "
            "cuda_kernel."
        )


def _asynchrony() -> Any:
    """Return the stand-in's asynchronous mode if it is on."""
    if not fake_cupy_active():
        return None
    from ._fake_cupy import asynchrony

    return asynchrony if asynchrony.is_on() else None


def _on_host(value: Any, parameter: CudaParameter, device_arrays: list[Any]) -> Any:
    """Return the memory of the stand-in's arrays, also of those in what is given for a struct; list the arrays."""
    if parameter.pointer or parameter.view_ndim is not None:
        if not is_fake_array(value):
            return value
        device_arrays.append(value)
        return host_buffer(value)
    if parameter.struct is None or isinstance(value, np.void) or hasattr(type(value), "__cuda_args__"):
        return value
    found = {}
    for field in parameter.struct.fields:
        try:
            member = value[field.name] if isinstance(value, Mapping) else getattr(value, field.name)
        except (AttributeError, LookupError):
            return value  # whoever packs it says what is missing
        found[field.name] = _on_host(member, field, device_arrays)
    return found


def unnamed_arguments(values: Sequence[Any]) -> Iterator[tuple[int, Argument]]:
    """Yield the arrays of the stand-in among arguments of which nothing is declared, with their numbers."""
    for number, value in enumerate(values):
        if is_fake_array(value):
            yield number, Argument(f"argument {number}", host_buffer(value), const=False)


def _packed_as_cupy_does(values: Sequence[Any], sizes: tuple[int, ...], owner: str) -> list[Any]:
    """Return arguments of a kernel whose parameters are not known, by CuPy's rules; their sizes are compared."""
    if len(values) != len(sizes):
        raise ArgumentTypeError(f"{owner}: takes {len(sizes)} arguments, got {len(values)}.")
    packed: list[Any] = []
    for number, (value, size) in enumerate(zip(values, sizes, strict=True)):
        if is_fake_array(value):
            found: Any = host_buffer(value).__array_interface__["data"][0]
        elif isinstance(value, (bool, int, float, complex)):
            found = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}[type(value)](value)
        elif isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.size == 1):
            found = value
        else:
            raise ArgumentTypeError(
                f"{owner}: argument {number} is {describe(value)}; without a checked signature pass device arrays, "
                "numbers, and NumPy scalars of exactly the parameter's type."
            )
        given = 8 if type(found) is int else found.nbytes
        if given != size:
            raise ArgumentTypeError(
                f"{owner}: argument {number} has {given} bytes, the kernel's parameter {size}; pass a NumPy scalar of "
                "exactly the parameter's type, or make the kernel with check_signature=True."
            )
        packed.append(found)
    return packed


# --- public -----------------------------------------------------------------------------------------------------------


def emulation_compiler() -> str | None:
    """Return the C++ compiler with which kernels are compiled for the CPU.

    Returns
    -------
    str or None
        What the environment variable ``CXX`` says, else the path of the first of c++, g++ and clang++; words that
        follow the program are kept, as in ``"/usr/bin/ccache g++"``. None if there is no compiler.

    Raises
    ------
    SettingError
        A `ValueError`: ``CXX`` holds what can't be run.

    Examples
    --------
    >>> from cunumpy.kernel_testing import emulation_compiler
    >>> emulation_compiler() is None
    False
    """
    try:
        program, *words = find_compiler().command
    except MissingCompilerError:
        return None
    path = shutil.which(program) or program
    return shlex.join([path, *words]) if words else path


def emulation_cache_dir() -> Path | None:
    """Return the folder on disk in which compiled kernels are kept; None if that is turned off.

    It is that of the environment variable ``CUNUMPY_EMULATION_CACHE``, else ``cunumpy/emulation`` in
    ``$XDG_CACHE_HOME`` or in ``~/.cache``. A folder that can't be written to is replaced by a temporary one. ``python
    -m cunumpy cache`` lists and clears it.

    Returns
    -------
    pathlib.Path or None

    Examples
    --------
    >>> from cunumpy.kernel_testing import emulation_cache_dir
    >>> folder = emulation_cache_dir()
    """
    return cache_folder()


def compile_for_emulation(kernel: CudaKernel, *, compiler: str | None = None, options: Sequence[str] = ()) -> None:
    """Compile a kernel for the CPU now, with the headers as they are now, unless that was done.

    Parameters
    ----------
    kernel : CudaKernel
        Also one without a checked signature.
    compiler : str, optional
        The C++ compiler, with words that follow it; by default `emulation_compiler`.
    options : sequence of str, optional
        For the compiler, such as ``"-ffp-contract=off"`` for products and sums that are rounded one by one.

    Raises
    ------
    CompileError
        A `RuntimeError`: the source does not compile; the text gives file and line.
    MissingCompilerError
        A `RuntimeError`: there is no compiler.
    ArgumentTypeError
        A `TypeError`: `kernel` is no `CudaKernel`.

    Notes
    -----
    It takes about 0.3 s the first time, on any machine with this cache; later the library is loaded.

    Examples
    --------
    >>> import cunumpy as xp
    >>> from cunumpy.kernel_testing import compile_for_emulation
    >>> kernel = xp.kernels.CudaKernel('extern "C" __global__ void f(double* x) { x[threadIdx.x] = missing; }', "f")
    >>> compile_for_emulation(kernel)
    Traceback (most recent call last):
    ...
    cunumpy.errors.CompileError: CudaKernel 'f': does not compile for the CPU ...
    """
    _check_kernel(kernel, "compile_for_emulation")
    make_emulation("compile_for_emulation", compiler, options).compile(kernel)


def emulate_cuda_kernel(
    kernel: CudaKernel,
    *args: Any,
    n_threads: int | Sequence[int] | None = None,
    grid: int | Sequence[int] | None = None,
    block: int | Sequence[int] | None = None,
    compiler: str | None = None,
    options: Sequence[str] = (),
    shared_mem: int = 0,
) -> None:
    """Run a CUDA kernel on the CPU, on NumPy arrays, and return when it has ended.

    The source is compiled unchanged, with checks of the bounds of array views unless the kernel has ``debug=False``.
    Arguments are checked by the same rules as in a launch on a GPU.

    Parameters
    ----------
    kernel : CudaKernel
    *args
        One for each parameter: NumPy arrays, or arrays of the CuPy stand-in, of exactly the declared dtype for pointers
        and views, writable unless they are const, C-contiguous unless a view has strides; numbers that the parameter's
        type holds; for a struct what its `CudaStruct` makes, `CudaStructArguments`, or a mapping or object with its
        fields.
    n_threads, grid, block : int or sequence of int, optional
        As for a launch; see `CudaKernel.launch_shape`.
    compiler, options
        As for `compile_for_emulation`.
    shared_mem : int, default: 0
        Bytes of dynamic shared memory of a block.

    Raises
    ------
    ArgumentTypeError
        A `TypeError`: an argument does not fit. Nothing was run.
    ArgumentRangeError
        An `OverflowError`: a number beyond the parameter's type.
    ArgumentError
        A `ValueError`: a launch that no GPU takes, or a read-only array for what the kernel may write.
    CompileError, MissingCompilerError
        A `RuntimeError`, as for `compile_for_emulation`.
    KernelError
        A `RuntimeError`: the kernel ended itself, by ``__trap()``, a failed assertion or an index out of bounds. What
        it wrote before stays in the arrays.

    Notes
    -----
    Headers that were edited are seen by the next launch. A launch costs some microseconds. An access through a plain
    pointer is not checked, and can end the process.

    Examples
    --------
    >>> import numpy as np
    >>> import cunumpy as xp
    >>> from cunumpy.kernel_testing import emulate_cuda_kernel
    >>> scale = xp.kernels.CudaKernel('''
    ... extern "C" __global__ void scale(double* x, double factor, int n) {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     if (i < n) x[i] *= factor;
    ... }''', "scale")
    >>> x = np.arange(3.0)
    >>> emulate_cuda_kernel(scale, x, 2.0, x.size)
    >>> x
    array([0., 2., 4.])
    """
    _check_kernel(kernel, "emulate_cuda_kernel")
    emulation = make_emulation("emulate_cuda_kernel", compiler, options)
    cpu.cpu_kernel(kernel)  # needs to know the parameters
    emulation.launch(kernel, args, n_threads=n_threads, grid=grid, block=block, shared_mem=shared_mem)


@contextmanager
def emulated_launches(
    *, compiler: str | None = None, options: Sequence[str] = (), strict: bool = False
) -> Iterator[None]:
    """Let all launches of CUDA kernels in a ``with`` block run on the CPU, also where there is a GPU.

    `CudaKernel` and `PreparedLaunch` calls run as by `emulate_cuda_kernel`, and `CudaKernel.compile` compiles for the
    CPU. It holds for this thread or task; others, also those started in the block, launch as before.

    Parameters
    ----------
    compiler, options
        As for `compile_for_emulation`.
    strict : bool, default: False
        Take device arrays alone, those of the CuPy stand-in, and refuse NumPy arrays as a GPU does. By default both
        are taken.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        An argument is not as above.

    Notes
    -----
    Launches end before they return, so that streams have no effect, and a missing wait is not found. Kernels without
    a checked signature take device arrays and numbers, as CuPy takes them; the size of each is compared with that of
    the kernel's parameter.

    Examples
    --------
    >>> import numpy as np
    >>> import cunumpy as xp
    >>> from cunumpy.kernel_testing import emulated_launches
    >>> fill = xp.kernels.CudaKernel('extern "C" __global__ void fill(int* x) { x[threadIdx.x] = 7; }', "fill")
    >>> x = np.zeros(3, np.int32)
    >>> with emulated_launches():
    ...     fill(x, grid=1, block=3)
    >>> x
    array([7, 7, 7], dtype=int32)
    """
    token = EMULATOR.set(make_emulation("emulated_launches", compiler, options, strict))
    try:
        yield
    finally:
        EMULATOR.reset(token)


@contextmanager
def fake_cupy_session(
    *, compiler: str | None = None, options: Sequence[str] = (), strict: bool = True, asynchronous: bool = False
) -> Iterator[None]:
    r"""Run a ``with`` block on the CuPy stand-in, with all launches of CUDA kernels on the CPU.

    Parameters
    ----------
    compiler, options
        As for `compile_for_emulation`.
    strict : bool, default: True
        Refuse NumPy arrays as arguments of launches, as a GPU does; see `emulated_launches`.
    asynchronous : bool, default: False
        Work on streams is late: a read that no stream, event or wait puts after a write sees what was there before, NaN
        in new memory, copies to the host are made when the host waits for them, and what is overwritten too early
        makes results NaN. For the whole program, set ``CUNUMPY_FAKE_CUPY_ASYNC=1``. Writes keep copies of the memory
        until they are waited for.

    Raises
    ------
    BackendUnavailableError
        A `RuntimeError`: CuPy is not the stand-in in this process.

    Examples
    --------
    >>> from cunumpy.kernel_testing import run_in_fake_cupy_subprocess
    >>> program = '''
    ... import cunumpy as xp
    ... from cunumpy.kernel_testing import fake_cupy_session
    ... fill = xp.kernels.CudaKernel('extern "C" __global__ void fill(int* x) { x[threadIdx.x] = 7; }', "fill")
    ... with fake_cupy_session():
    ...     x = xp.zeros(3, xp.int32)
    ...     fill(x, grid=1, block=3)
    ...     print(x)
    ... '''
    >>> run_in_fake_cupy_subprocess(program).stdout
    '[7 7 7]\n'
    """
    strict = as_truth(strict, function="fake_cupy_session", argument="strict")
    asynchronous = as_truth(asynchronous, function="fake_cupy_session", argument="asynchronous")
    if not fake_cupy_active():
        raise BackendUnavailableError(
            "fake_cupy_session: CuPy is not the stand-in in this process; start it with CUNUMPY_FAKE_CUPY=1, or call "
            "install_fake_cupy() before anything asks for CuPy."
        )
    from ._fake_cupy import asynchrony

    late = asynchrony.asynchronous() if asynchronous else nullcontext()
    with use_backend("cupy", strict=True), emulated_launches(compiler=compiler, options=options, strict=strict), late:
        yield
