"""A kernel with a host and a CUDA side, and which of them a call runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from cunumpy import _transfers
from cunumpy._backend import get_backend
from cunumpy._call_sites import warn
from cunumpy._gate import as_path, as_truth, describe
from cunumpy.arguments._protocol import expand
from cunumpy.errors import (
    ArgumentError,
    ArgumentTypeError,
    BackendFallbackWarning,
    MissingKernelError,
)
from cunumpy.kernels._argument_places import is_for_device, is_host_type, refuse_hidden
from cunumpy.kernels._compiled_host_kernel import CompiledHostKernel
from cunumpy.kernels._conversion import HOST_TYPES, device_arrays
from cunumpy.kernels._cpu_implementation import CpuImplementation, CpuLoader, bound
from cunumpy.kernels._cuda_kernel import CudaKernel
from cunumpy.kernels._folder import KernelFolder
from cunumpy.kernels._host_implementations import HostImplementations
from cunumpy.kernels._host_parameters import annotated_outputs, host_parameters, signature_differences
from cunumpy.kernels._host_types import parameters_of
from cunumpy.kernels._kernel_options import check_dispatch, check_folder_options, checked_host_options
from cunumpy.kernels._pickling import attribute, refuse_unimportable
from cunumpy.kernels._pyccel_kernel import PyccelKernel
from cunumpy.kernels._settings import DEVICE, HOST, HOST_IMPLEMENTATIONS

_LAUNCH = frozenset({"n_threads", "grid", "block", "shared_mem", "stream"})

_modules = sys.modules
_asked = HOST.chosen.get
_ndarray = np.ndarray
_MOST_TYPES = 256
"""So many types of arguments a kernel remembers; classes that are made at run time must not pile up."""


class Kernel:
    """A kernel with a version for the host and one for the device; a call runs the one that fits.

    Parameters
    ----------
    host_kernel : callable or None
        What runs on the host: a function, `HostImplementations`, a `CompiledHostKernel`, or a `PyccelKernel` around one
        of them; a function is wrapped in one. None if there is only a CUDA kernel.
    cuda_kernel : CudaKernel, optional
        What runs on the device; and on the host, compiled by the machine's C++ compiler, as the implementation
        ``"cpu"``: without a host kernel, as one of the `HostImplementations` (in the order of `HOST_IMPLEMENTATIONS`,
        where they have none of this name), and always if `use_host_kernel_implementation` asks for it. Its parameters
        have to be known (`check_signature`).
    name : str, optional
        By default that of the host kernel, or of the CUDA kernel.
    missing_cuda : {"raise", "fallback"}, default: "raise"
        What a call on the device does without a CUDA kernel. With ``"fallback"`` the host kernel runs on host copies:
        each such call is recorded as a ``fallback``, and the first one is warned of.
    cuda_path : str or Path, optional
        Where the CUDA source is, or should be, for messages.
    host_options : mapping, optional
        More arguments of the `PyccelKernel` around a function.
    dispatch : {"backend", "arrays"}, default: "backend"
        What decides where a call runs. ``"backend"``: the active backend; device arrays that reach the host kernel
        while NumPy is active are copied there and back, which is recorded as ``fallback`` and warned of once.
        ``"arrays"``: the arguments, whatever backend is active; the device, if any of them is a device array or an
        object with ``__cuda_args__`` that does not hold NumPy arrays, else the host function without any conversion.
    test_args : str, optional
        Dotted name of the module with arguments for tests; it is imported when `test_args` is read.

    Raises
    ------
    ArgumentError
        An unknown `dispatch` or `missing_cuda`, or `host_options` for a `PyccelKernel` that is ready.
    ArgumentTypeError
        Neither a host nor a CUDA kernel, or something else in the place of one.

    Notes
    -----
    A call on the host costs about 0.15 us more than the function; by the arguments, or once CuPy is loaded, about
    0.02 us more for each argument.

    A kernel pickles if its functions can be imported by name, and by its own name if it can be imported itself.

    Examples
    --------
    >>> import cunumpy as xp
    >>> def axpy(a, x, y, n):
    ...     y += a * x
    >>> source = '''
    ... extern "C" __global__ void axpy(double a, const double* x, double* y, int n) {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     if (i < n) y[i] += a * x[i];
    ... }'''
    >>> kernel = xp.kernels.Kernel(axpy, xp.kernels.CudaKernel(source, "axpy"))
    >>> x, y = xp.ones(3), xp.zeros(3)
    >>> kernel(2.0, x, y, n=3)
    >>> y
    array([2., 2., 2.])
    """

    def __init__(
        self,
        host_kernel: PyccelKernel | Callable[..., Any] | None,
        cuda_kernel: CudaKernel | None = None,
        *,
        name: str | None = None,
        missing_cuda: str = "raise",
        cuda_path: str | Path | None = None,
        host_options: Mapping[str, Any] | None = None,
        dispatch: str = "backend",
        test_args: str | None = None,
    ) -> None:
        check_dispatch(dispatch, missing_cuda, "Kernel")
        if cuda_kernel is not None and not isinstance(cuda_kernel, CudaKernel):
            raise ArgumentTypeError(
                f"Kernel: argument 'cuda_kernel' must be a CudaKernel or None, got {describe(cuda_kernel)}; make one "
                "with CudaKernel(source, name) or CudaKernel.from_file(path)."
            )
        if host_kernel is None and cuda_kernel is None:
            raise ArgumentTypeError("Kernel: got neither a host nor a CUDA kernel; pass one of them, or both.")
        if test_args is not None and not isinstance(test_args, str):
            raise ArgumentTypeError(
                f"Kernel: argument 'test_args' must be the dotted name of a module as str, got {describe(test_args)}."
            )
        if name is not None and not isinstance(name, str):
            raise ArgumentTypeError(f"Kernel: argument 'name' must be a str, got {describe(name)}.")
        self._cuda_kernel = cuda_kernel
        self._host_kernel = self._wrapped(host_kernel, checked_host_options(host_options, "Kernel"))
        named = (self._host_kernel if host_kernel is not None else None) or cuda_kernel
        self._name = name or (named.name if named is not None else "")
        self._missing_cuda, self._dispatch = missing_cuda, dispatch
        self._cuda_path = None if cuda_path is None else as_path(cuda_path, function="Kernel", argument="cuda_path")
        self._test_args = test_args
        self._package: str | None = None
        self._start()

    def _wrapped(self, host_kernel: Any, options: dict[str, Any]) -> PyccelKernel | None:
        if host_kernel is None or isinstance(host_kernel, PyccelKernel):
            if options:
                raise ArgumentError(
                    f"Kernel: argument 'host_options' ({', '.join(options)}) is for a function that is to be wrapped "
                    f"in a PyccelKernel, got {describe(host_kernel)}; pass the options to PyccelKernel itself."
                )
            if host_kernel is None:
                alone = self._cpu_only()
                return None if alone is None else PyccelKernel(alone)
            if host_kernel._parameters is None:
                host_kernel._parameters = _NamesOf(host_kernel.kernel)  # which also knows the stubs of compiled modules
            return host_kernel
        if not callable(host_kernel):
            raise ArgumentTypeError(
                f"Kernel: argument 'host_kernel' must be a function, a PyccelKernel or None, got "
                f"{describe(host_kernel)}."
            )
        cuda = self._cuda_kernel
        several = isinstance(host_kernel, HostImplementations) and "cpu" not in host_kernel.names
        if several and cuda is not None and cuda.signature is not None:
            host_kernel = host_kernel.extended("cpu", CpuLoader(cuda))
        if parameters_of(host_kernel) is None:
            options.setdefault("parameters", _NamesOf(host_kernel))
        return PyccelKernel(host_kernel, **options)

    def _start(self) -> None:
        """Make what is not pickled."""
        wrapper = self._host_kernel
        host: Any = None if wrapper is None else wrapper.kernel
        self._host = host
        # What runs on the host: the function, or with several implementations what `_resolved` has for the request.
        several = isinstance(host, HostImplementations)
        self._cpu = None if several else self._cpu_only()
        chosen = several or isinstance(host, CompiledHostKernel)
        self._function = None if chosen or self._cpu is not None else host
        self._resolved: dict[str | None, Callable[..., Any]] = host.resolved if several else {}
        if not chosen and self._cpu is not None:  # the function, whatever is asked for but "cpu"
            self._resolved = dict.fromkeys([None, *(name for name in HOST_IMPLEMENTATIONS if name != "cpu")], host)
        self._cpu_wrapper: PyccelKernel | None = None
        self._runs_cpu = self._cpu is not None or (several and "cpu" in host.names)
        # Whether calls may go past the wrapper, to the function itself.
        self._plain = wrapper is not None and wrapper._use_cupy is not True
        self._by_backend = self._dispatch == "backend"
        self._opened = None if wrapper is None else wrapper._opened
        self._host_types = set(HOST_TYPES)
        self._warned = False

    def _cpu_only(self) -> HostImplementations | None:
        """Return the CUDA kernel as the only implementation on the host, None if it can't be."""
        cuda = self._cuda_kernel
        if cuda is None or cuda.signature is None:
            return None
        return HostImplementations.of_any(cuda.name, {"cpu": CpuLoader(cuda)})

    # What it is

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._name

    @property
    def host_kernel(self) -> PyccelKernel | None:
        """The host kernel; its ``kernel`` is what was given."""
        return self._host_kernel

    @property
    def cuda_kernel(self) -> CudaKernel | None:
        """The CUDA kernel."""
        return self._cuda_kernel

    @property
    def has_cuda(self) -> bool:
        """Whether there is a CUDA kernel."""
        return self._cuda_kernel is not None

    @property
    def missing_cuda(self) -> str:
        """What a call on the device does without a CUDA kernel."""
        return self._missing_cuda

    @property
    def cuda_path(self) -> Path | None:
        """Where the CUDA source is, or should be."""
        return self._cuda_path

    @property
    def dispatch(self) -> str:
        """What decides where a call runs."""
        return self._dispatch

    @property
    def test_args_module(self) -> str | None:
        """The dotted name of the module with arguments for tests."""
        return self._test_args

    @property
    def test_args(self) -> ModuleType | None:
        """The module with arguments for tests, imported when it is first read."""
        return None if self._test_args is None else import_module(self._test_args)

    @property
    def implementations(self) -> tuple[str, ...]:
        """The names of the implementations.

        Those of `HostImplementations`, or ``"host"``; ``"cpu"``, if there is a C++ compiler for the CUDA kernel; and
        ``"cuda"``.
        """
        host: tuple[str, ...] = ()
        if self._host_kernel is not None:
            host = self._host.names if isinstance(self._host, HostImplementations) else ("host",)
        if self._runs_cpu:
            from cunumpy.kernels._cpu_device.compiler import compiler_is_there

            names = [*host, "cpu"] if self._cpu is not None else host
            host = tuple(name for name in names if name != "cpu" or compiler_is_there())
        return (*host, "cuda") if self.has_cuda else host

    def __repr__(self) -> str:
        return f"<Kernel {self._name}: {', '.join(self.implementations)}>"

    # Calling

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Run the host or the CUDA kernel.

        Parameters
        ----------
        *args
            The arguments of the kernel, handed on unchanged.
        **options
            For a launch ``n_threads``, ``grid``, ``block``, ``shared_mem`` and ``stream``, see `CudaKernel`; on the
            host they are for the implementation ``"cpu"``, which needs no ``stream``. Any other name is that of one of
            the kernel's parameters; parameters with the names of a launch's arguments can only be given by their
            position.

        Returns
        -------
        Any
            What the host kernel returns; None of a launch.

        Raises
        ------
        MissingKernelError
            A `LookupError` and a `NotImplementedError`: the side that the call needs is missing.
        ArgumentError, ArgumentTypeError
            An argument does not fit the CUDA kernel, or the number of threads is not known.
        """
        # What an ordinary call on the host costs is decided here; everything else is in `_call`.
        if not options and self._plain:
            if self._by_backend and _modules.get("cupy") is None:  # then there is no device array either
                function = self._function
                if function is None:
                    function = self._resolved.get(_asked().name) or self._resolve()
                return function(*args)
            for value in args:
                if type(value) is not _ndarray and type(value) not in self._host_types:
                    break
            else:
                if not self._by_backend or get_backend() == "numpy":
                    function = self._function
                    if function is None:
                        function = self._resolved.get(_asked().name) or self._resolve()
                    return function(*args)
        elif self._runs_cpu and self._by_backend and _modules.get("cupy") is None:
            function = self._resolved.get(_asked().name) or self._resolve()
            if type(function) is CpuImplementation:
                return function(*args, **options)
        return self._call(args, options)

    def _call(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        named = {name: value for name, value in options.items() if name not in _LAUNCH}
        if self._by_backend:
            on_device = _modules.get("cupy") is not None and get_backend() == "cupy"
        else:
            on_device = any(map(is_for_device, (*args, *named.values())))
        if not on_device:
            return self._on_host(args, named, {name: options[name] for name in options if name in _LAUNCH})
        kernel = self._device_kernel()
        if kernel is None:
            return self._fall_back(self._host_kernel, args, named, "it has no CUDA kernel")
        if named:
            args = self._bound(kernel, args, named)
        launch = {name: value for name, value in options.items() if name in _LAUNCH}
        if launch.get("n_threads") is None and launch.get("grid") is None and kernel.n_threads_from is None:
            raise ArgumentError(
                f"kernel {self._name!r}: the number of threads is not known; pass n_threads or grid, or give the CUDA "
                "kernel n_threads_from."
            )
        return kernel(*args, **launch)

    def _resolve(self) -> Callable[..., Any]:
        """Return what a call on the host runs now."""
        if self._cpu is not None and HOST.get() == "cpu":
            found = self._resolved["cpu"] = self._cpu.get("cpu")
            return found
        return self._host.resolve()  # type: ignore[no-any-return]

    def _wrapper_of(self, function: CpuImplementation) -> PyccelKernel:
        """Return what calls the implementation ``"cpu"`` with host copies of device arrays."""
        if self._cpu_wrapper is None or self._cpu_wrapper.kernel is not function:
            self._cpu_wrapper = PyccelKernel(function)
        return self._cpu_wrapper

    def _on_host(self, args: tuple[Any, ...], named: dict[str, Any], launch: dict[str, Any]) -> Any:
        wrapper = self._host_kernel
        if wrapper is None:
            self._refuse_host()
        values = (*args, *named.values())
        if self._runs_cpu:
            function = self._resolved.get(_asked().name) or self._resolve()
            if isinstance(function, CpuImplementation):
                wrapper, named = self._wrapper_of(function), {**named, **launch}
        if not self._by_backend:
            if not self._plain:
                return wrapper(*args, **named)
            self._remember(values)
            if "cupy" in _modules:
                refuse_hidden(args, named, self._host_types, f"kernel {self._name!r}")
            return wrapper.kernel(*args, **named)
        if wrapper._use_cupy is None and device_arrays(values, self._opened):
            return self._fall_back(wrapper, args, named, "the NumPy backend is active")
        self._remember(values)
        return wrapper(*args, **named)

    def _fall_back(self, wrapper: Any, args: tuple[Any, ...], named: dict[str, Any], reason: str) -> Any:
        """Run the host kernel on host copies of device arrays."""
        text = f"kernel {self._name!r} ran on the host: {reason}"
        if _transfers.watching():
            _transfers.announce("fallback", text)
        if not self._warned:
            self._warned = True
            remedy = (
                f"add a CUDA kernel{self._where()}"
                if self._cuda_kernel is None
                else "choose the CuPy backend (xp.set_backend('cupy')), or pass dispatch='arrays' to Kernel"
            )
            warn(
                f"kernel {self._name!r}: device arrays are copied to the host, where it runs, and back: {reason}. To "
                f"run it on the device, {remedy}.",
                BackendFallbackWarning,
            )
        if _transfers.watching():
            _transfers.record("fallback", text, blocking=False)
        return wrapper(*args, **named)

    def _device_kernel(self) -> CudaKernel | None:
        """Return the CUDA kernel, or None where the host kernel is to take its place."""
        if self._cuda_kernel is not None:
            return self._cuda_kernel
        asked = DEVICE.get()
        if asked is None and self._missing_cuda == "fallback":
            return None
        if asked is not None:
            raise MissingKernelError(
                f"kernel {self._name!r}: has no implementation {asked!r}, which is asked for on the device "
                f"(set_device_kernel_implementation); add one{self._where()}, or ask for none."
            )
        raise MissingKernelError(
            f"kernel {self._name!r}: has no CUDA kernel, and is called on the device; add one{self._where()}, or pass "
            "missing_cuda='fallback' to Kernel, so that it runs on the host, with copies."
        )

    def _where(self) -> str:
        return "" if self._cuda_path is None else f" in {self._cuda_path}"

    def _refuse_host(self) -> NoReturn:
        why = "the NumPy backend is active" if self._by_backend else "no argument is on the device"
        raise MissingKernelError(
            f"kernel {self._name!r}: has only a CUDA kernel with check_signature=False, and is called on the host, "
            f"since {why}; make the CUDA kernel without check_signature=False, so that it can run on the CPU, or give "
            "Kernel a function for the host; or choose the CuPy backend (xp.set_backend('cupy')), with arrays on the "
            "device."
        )

    def _bound(self, kernel: CudaKernel, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments by position."""
        names = [one.name for one in kernel.signature or ()]
        if not names or any(name not in names for name in named):
            # An object that stands for several of the CUDA kernel's parameters is one of the host's.
            names = self.host_parameters() or names
        else:
            args = tuple(expand(args, f"kernel {self._name!r}"))
        return bound(names, args, named, f"kernel {self._name!r}")

    # Where arguments are

    def _remember(self, values: Iterable[Any]) -> None:
        """Note the types of values that are on the host, where all objects of the type are."""
        if len(self._host_types) < _MOST_TYPES:
            opened, by_backend = self._opened, self._by_backend
            kinds = set(map(type, values)) - self._host_types
            self._host_types.update(kind for kind in kinds if is_host_type(kind, opened, by_backend=by_backend))

    # Asking

    def get_kernel(self) -> PyccelKernel | CudaKernel:
        """Return what a call with the active backend would run.

        Returns
        -------
        PyccelKernel or CudaKernel
            On the NumPy backend the host kernel; on the CuPy backend the CUDA kernel, or the host kernel with
            ``missing_cuda="fallback"``.

        Raises
        ------
        MissingKernelError
            As in a call.
        """
        kernel = self._device_kernel() if get_backend() == "cupy" else None
        if kernel is not None:
            return kernel
        if self._host_kernel is None:
            self._refuse_host()
        if self._cpu is not None and HOST.get() == "cpu":
            return self._wrapper_of(self._cpu.get("cpu"))  # type: ignore[arg-type]
        return self._host_kernel

    def selected(self, device: bool = False) -> str:
        """Return the name of the implementation that a call would run.

        Parameters
        ----------
        device : bool, default: False
            Whether of a call on the device.

        Returns
        -------
        str
            On the host that of `HostImplementations`, ``"cpu"``, or ``"host"``; on the device ``"cuda"``, or ``"host"``
            with ``missing_cuda="fallback"``.

        Raises
        ------
        MissingKernelError
            As in a call.
        """
        device = as_truth(device, function="Kernel.selected", argument="device")
        if device:
            return "host" if self._device_kernel() is None else "cuda"
        if self._host_kernel is None:
            self._refuse_host()
        if self._cpu is not None and HOST.get() == "cpu":
            return "cpu"
        return self._host.selected() if isinstance(self._host, HostImplementations) else "host"

    def compile(self) -> bool:
        """Compile the CUDA kernel for the current device.

        Returns
        -------
        bool
            False if there is none.

        Raises
        ------
        CompileError, BackendUnavailableError
            As `CudaKernel.compile`.
        """
        if self._cuda_kernel is None:
            return False
        self._cuda_kernel.compile()
        return True

    def host_parameters(self) -> list[str] | None:
        """Return the names of the host kernel's parameters.

        They are those of the uncompiled function; without it, of the stub that Pyccel leaves in ``__pyccel__`` beside a
        compiled module. Nothing is compiled for it.

        Returns
        -------
        list of str or None
            None where they are not known.
        """
        found = host_parameters(self._host)
        return None if found is None else [one.name for one in found]

    def check_signature(self) -> None:
        """Check that the implementations take the same arguments.

        Names and their order are compared: of the uncompiled host function with the CUDA kernel, with the versions with
        Numba and NumPy, and with the fallback of a `CompiledHostKernel`. Where the names of host and CUDA kernel agree,
        so have to the types, as far as annotations (``'float[:, :]'``, ``'Final[float[:]]'``, ``int``) say them: dtype
        and number of dimensions of arrays, the kinds of numbers; and constness, if both sides use ``const`` or
        ``Final`` at all. What has no signature or can't be loaded is left out. Nothing is compiled.

        Raises
        ------
        ArgumentError
            All differences.
        """
        signature = None if self._cuda_kernel is None else self._cuda_kernel.signature
        problems = signature_differences(self._host, signature)
        if problems:
            place = f" ({self._cuda_path})" if self._cuda_path is not None else ""
            listed = "\n".join(f"  {one}" for one in problems)
            raise ArgumentError(f"kernel {self._name!r}{place}: its implementations take other arguments:\n{listed}")

    # Folders

    @classmethod
    def from_folder(
        cls,
        package: str,
        *,
        host_suffix: str = "_kernels",
        cuda_suffix: str = "_cuda.cu",
        test_args_suffix: str | None = "_test_args",
        check_name_length: bool = True,
        missing_cuda: str = "raise",
        host_options: Mapping[str, Any] | None = None,
        outputs: Sequence[int | str] | str | None = None,
        include_dirs: Sequence[str | Path] | None = None,
        dispatch: str = "backend",
        compile_host: Callable[[ModuleType], ModuleType] | None = None,
        extra_implementations: Mapping[str, Callable[[], Callable[..., Any]]] | None = None,
        **cuda_options: Any,
    ) -> Kernel:
        """Make a kernel of the files in a folder, a package with or without ``__init__.py``.

        In a folder ``push`` these files count, each of which has a function ``push``; one of them is enough:

        ========================  ==========================================================================
        ``push_kernels.py``       the host kernel, for Pyccel; plain Python, and compiled by `compile_host`
        ``push_numba.py``         a version with Numba
        ``push_numpy.py``         a version with NumPy
        ``push_cuda.cu``          ``__global__ void push(...)``; other kernels in it are ignored
        ``push_test_args.py``     arguments for tests
        ========================  ==========================================================================

        Pyccel's version is there if `compile_host` is given, or if the module is compiled where it stands. The host
        module is imported and the CUDA source parsed at once; the others are imported when they are used, and compiled
        is nothing before.

        Parameters
        ----------
        package : str
            The dotted name of the folder; in its own ``__init__.py`` it is ``__name__``.
        host_suffix, cuda_suffix, test_args_suffix : str
            How the files are called; no arguments for tests with None.
        check_name_length : bool, default: True
            Warn of names that are too long for Fortran.
        missing_cuda, host_options, dispatch
            As for `Kernel`.
        outputs : sequence of int or str, or "annotations", optional
            What the host kernel writes, as for `PyccelKernel`; ``"annotations"`` takes those that are neither ``Final``
            nor ``const``. An entry in `host_options` has precedence.
        include_dirs : sequence of str or Path, optional
            Folders of headers, besides the kernel's own; by default the one that the root package is in.
        compile_host : callable, optional
            Takes the host module and returns the compiled one, such as a `PyccelCache`.
        extra_implementations : mapping, optional
            More loaders for `HostImplementations`, which have precedence over the files.
        **cuda_options
            As for `CudaKernel`.

        Returns
        -------
        Kernel

        Raises
        ------
        ModuleNotFoundError
            No such package.
        FileNotFoundError
            No implementation in it.
        MissingNameError
            An `AttributeError`: the host module has no function of this name.
        ArgumentError, ArgumentTypeError
            The CUDA source has no such kernel, or an option that is not known.
        Exception
            What importing the host module raises, with a note of the file.

        Warns
        -----
        UserWarning
            The name is too long for Fortran.
        """
        function = "Kernel.from_folder"
        check_name_length = as_truth(check_name_length, function=function, argument="check_name_length")
        suffixes: dict[str, Any] = {
            "host_suffix": host_suffix,
            "cuda_suffix": cuda_suffix,
            "test_args_suffix": test_args_suffix,
        }
        check_folder_options(
            function,
            dispatch=dispatch,
            missing_cuda=missing_cuda,
            outputs=outputs,
            compile_host=compile_host,
            suffixes=suffixes,
            cuda_options=cuda_options,
        )
        folder = KernelFolder(package, **suffixes)
        if extra_implementations is not None and not isinstance(extra_implementations, Mapping):
            raise ArgumentTypeError(
                f"Kernel.from_folder: argument 'extra_implementations' must map names of implementations to functions "
                f"that return them, got {describe(extra_implementations)}."
            )
        loaders = {**folder.loaders(compile_host), **(extra_implementations or {})}
        if not loaders:
            folder.refuse_empty()
        if check_name_length:
            folder.check_name_length()
        cuda = None
        if folder.cuda_file is not None:
            headers = folder.include_dirs() if include_dirs is None else include_dirs
            cuda = CudaKernel.from_file(folder.cuda_file, folder.name, include_dirs=headers, **cuda_options)
        host = HostImplementations.of_any(folder.name, loaders) if loaders else None
        options = checked_host_options(host_options, function) if host is not None else {}
        if host is not None and outputs is not None and "outputs" not in options:
            options["outputs"] = annotated_outputs(host) if isinstance(outputs, str) else outputs
        if options.get("outputs") and "python" in loaders and "parameters" not in options:
            options["parameters"] = _NamesOf(host)()  # known at once, so that wrong outputs are found here
        test_args = f"{package}.{folder.test_args_file.stem}" if folder.test_args_file is not None else None
        kernel = cls(
            host,
            cuda,
            name=folder.name,
            missing_cuda=missing_cuda,
            cuda_path=folder.cuda_path,
            host_options=options,
            dispatch=dispatch,
            test_args=test_args,
        )
        kernel._package = package
        return kernel

    # Pickling

    def __reduce__(self) -> tuple[Any, ...]:
        for module, name in self._importable_names():
            if attribute(module, name) is self:
                return attribute, (module, name)
        cuda = self._cuda_kernel
        functions = {"host_kernel": self._host, "n_threads_from": None if cuda is None else cuda.n_threads_from}
        refuse_unimportable(f"kernel {self._name!r}", functions)
        made = {"_host", "_function", "_resolved", "_plain", "_by_backend", "_opened", "_host_types", "_warned"}
        made |= {"_cpu", "_cpu_wrapper", "_runs_cpu"}
        state = {name: value for name, value in self.__dict__.items() if name not in made}
        return _restored, (type(self), state)

    def _importable_names(self) -> Iterable[tuple[str, str]]:
        """Yield under which names the kernel itself may be found: its folder's, or that of the function it replaces."""
        if self._package is not None:
            yield self._package, self._name
        module, name = getattr(self._host, "__module__", None), getattr(self._host, "__qualname__", None)
        if isinstance(module, str) and isinstance(name, str):
            yield module, name


class _NamesOf:
    """Gives the names of a host kernel's parameters when they are needed; a class, so that it pickles."""

    def __init__(self, host: Any) -> None:
        self.host = host

    def __call__(self) -> list[str] | None:
        found = host_parameters(self.host)
        return None if found is None else [one.name for one in found]


def _restored(cls: type[Kernel], state: dict[str, Any]) -> Kernel:
    kernel = cls.__new__(cls)
    kernel.__dict__.update(state)
    kernel._start()
    return kernel
