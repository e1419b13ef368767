"""All kernels of a package by name: to list, check and compile them together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from cunumpy._gate import as_strings, as_truth, describe
from cunumpy._text import html_table
from cunumpy.cuda import CompileReport
from cunumpy.errors import ArgumentError, ArgumentTypeError, CompileError, MissingKernelError
from cunumpy.kernels._compiled_host_kernel import CompiledHostKernel
from cunumpy.kernels._cpu_implementation import CpuImplementation
from cunumpy.kernels._folder import Given, folder_names
from cunumpy.kernels._host_implementations import HostImplementations
from cunumpy.kernels._kernel import Kernel
from cunumpy.kernels._kernel_options import check_folder_options
from cunumpy.kernels._variants import _jobs, for_each


class KernelCatalog(Mapping[str, Kernel]):
    """Kernels by name, in their order; read-only but for `register`.

    Parameters
    ----------
    kernels : mapping of str to Kernel, optional

    Attributes
    ----------
    errors : dict of str to MissingKernelError
        The kernels of a package that could not be read, by name, each with the reason as ``__cause__``. They count as
        kernels of the catalog; reading one, ``catalog[name]``, raises its error.

    Raises
    ------
    ArgumentTypeError
        Something that is no `Kernel`.

    Notes
    -----
    A catalog pickles if its kernels do.

    Examples
    --------
    >>> import cunumpy as xp
    >>> def double(x):
    ...     x *= 2
    >>> catalog = xp.kernels.KernelCatalog({"double": xp.kernels.Kernel(double)})
    >>> list(catalog)
    ['double']
    >>> print(catalog)
    CUDA kernels: 0 of 1 (missing: double)
    """

    def __init__(self, kernels: Mapping[str, Kernel] | None = None) -> None:
        self._kernels: dict[str, Kernel | None] = {}
        self.errors: dict[str, MissingKernelError] = {}
        if not isinstance(kernels, (Mapping, type(None))):
            raise ArgumentTypeError(
                f"KernelCatalog: argument 'kernels' must map names to kernels, got {describe(kernels)}; write "
                "{'name': kernel}, or register them one by one."
            )
        for name, kernel in (kernels or {}).items():
            self.register(kernel, name)

    @classmethod
    def from_package(
        cls,
        package: str,
        *,
        host_suffix: str = "_kernels",
        cuda_suffix: str = "_cuda.cu",
        test_args_suffix: str | None = "_test_args",
        check_name_length: bool = True,
        missing_cuda: str = "raise",
        host_options: Mapping[str, Any] | Callable[[str], Mapping[str, Any] | None] | None = None,
        outputs: Sequence[int | str] | str | Callable[[str], Any] | None = None,
        include_dirs: Sequence[str | Path] | None = None,
        dispatch: str = "backend",
        compile_host: Callable[[ModuleType], ModuleType] | None = None,
        host_fallback: Mapping[str, Callable[..., Any]] | Callable[[str], Callable[..., Any] | None] | None = None,
        **cuda_options: Any,
    ) -> KernelCatalog:
        """Make the kernels of all folders in a package that hold one, in the order of their names.

        A folder counts if there is a file of an implementation in it, see `Kernel.from_folder`. One that can't be read
        does not stop the others: it is noted in `errors`.

        Parameters
        ----------
        package : str
            Dotted name of the package, with or without ``__init__.py``.
        host_suffix, cuda_suffix, test_args_suffix, check_name_length, missing_cuda, include_dirs, dispatch
            As for `Kernel.from_folder`.
        compile_host : callable, optional
            As there.
        host_options, outputs
            As there, or functions of the kernel's name that return it.
        host_fallback : mapping or callable, optional
            For the names of kernels a function that becomes their ``"numpy"`` implementation, or None.
        **cuda_options
            As for `CudaKernel`.

        Returns
        -------
        KernelCatalog

        Raises
        ------
        ModuleNotFoundError
            No such package.
        ArgumentError, ArgumentTypeError
            An option that is not known, whatever the folders hold.
        """
        function = "KernelCatalog.from_package"
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
        if host_fallback is not None and not callable(host_fallback) and not isinstance(host_fallback, Mapping):
            raise ArgumentTypeError(
                f"{function}: argument 'host_fallback' must be a mapping of names to functions, or a function of the "
                f"name, got {describe(host_fallback)}."
            )
        catalog = cls()
        for name in folder_names(package, host_suffix, cuda_suffix):
            fallback = _of_name(host_fallback, name)
            options: dict[str, Any] = {
                "host_options": host_options(name) if callable(host_options) else host_options,
                "outputs": outputs(name) if callable(outputs) else outputs,
                "extra_implementations": None if fallback is None else {"numpy": Given(fallback)},
            }
            try:
                kernel = Kernel.from_folder(
                    f"{package}.{name}",
                    **suffixes,
                    check_name_length=check_name_length,
                    missing_cuda=missing_cuda,
                    include_dirs=include_dirs,
                    dispatch=dispatch,
                    compile_host=compile_host,
                    **options,
                    **cuda_options,
                )
            except Exception as error:
                catalog._kernels[name] = None
                catalog.errors[name] = _folder_error(package, name, error)
            else:
                catalog.register(kernel, name)
        return catalog

    # Mapping

    def __getitem__(self, name: str) -> Kernel:
        try:
            kernel = self._kernels[name]
        except (KeyError, TypeError):
            raise KeyError(
                f"KernelCatalog: no kernel {name!r}; there are {', '.join(self._kernels) or 'none'}"
            ) from None
        if kernel is None:
            raise self.errors[name].with_traceback(None)
        return kernel

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __contains__(self, name: object) -> bool:
        return name in self._kernels

    def register(self, kernel: Kernel, name: str | None = None) -> Kernel:
        """Add a kernel.

        Parameters
        ----------
        kernel : Kernel
        name : str, optional
            By default the kernel's own.

        Returns
        -------
        Kernel
            The same.

        Raises
        ------
        ArgumentTypeError
            It is no `Kernel`.
        KeyError
            There is one of this name.
        """
        if not isinstance(kernel, Kernel):
            raise ArgumentTypeError(
                f"KernelCatalog: a kernel must be a Kernel, got {describe(kernel)} for {name!r}; make it one by "
                "Kernel(...)."
            )
        key = kernel.name if name is None else name
        if not isinstance(key, str):
            raise ArgumentTypeError(f"KernelCatalog: argument 'name' must be a str, got {describe(key)}.")
        if key in self._kernels:
            raise KeyError(f"KernelCatalog: there is a kernel {key!r} already; register it by another name=.")
        self._kernels[key] = kernel
        return kernel

    # Listing

    def _loaded(self) -> list[tuple[str, Kernel]]:
        return [(name, kernel) for name, kernel in self._kernels.items() if kernel is not None]

    @property
    def with_cuda(self) -> list[str]:
        """The names of the kernels with a CUDA kernel."""
        return [name for name, kernel in self._loaded() if kernel.has_cuda]

    @property
    def without_cuda(self) -> list[str]:
        """The names of the kernels without a CUDA kernel."""
        return [name for name, kernel in self._loaded() if not kernel.has_cuda]

    def parity_cases(self) -> list[tuple[str, Kernel]]:
        """Return names and kernels of those with a CUDA kernel, whose results are to be compared with the host's."""
        return [(name, kernel) for name, kernel in self._loaded() if kernel.has_cuda]

    def summary(self, max_missing: int = 10) -> str:
        """Return in one line how many kernels have a CUDA kernel, and which have none; then those that can't be read.

        Parameters
        ----------
        max_missing : int, default: 10
            So many names at most.

        Returns
        -------
        str
        """
        if isinstance(max_missing, bool) or not isinstance(max_missing, int) or max_missing < 0:
            raise ArgumentError(
                f"KernelCatalog.summary: argument 'max_missing' must be a number of names, got {max_missing!r}."
            )
        line = f"CUDA kernels: {len(self.with_cuda)} of {len(self)}"
        missing = self.without_cuda
        if missing:
            more = ["..."] if len(missing) > max_missing else []
            line += f" (missing: {', '.join(missing[:max_missing] + more)})"
        if self.errors:
            line += f"; not readable: {', '.join(self.errors)}"
        return line

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        rows = [
            (name, *(_html_row(kernel) if kernel is not None else ("", f"can't be read: {self.errors[name]}")))
            for name, kernel in self._kernels.items()
        ]
        return html_table(["kernel", "implementations", "parameters"], rows, self.summary())

    def __repr__(self) -> str:
        return f"<KernelCatalog of {len(self)} kernels>"

    # Checking and compiling

    def check_signatures(self) -> None:
        """Check of all kernels that their implementations take the same arguments; see `Kernel.check_signature`.

        Raises
        ------
        ArgumentError
            All differences, and the kernels that can't be read.
        """
        problems = []
        for name, kernel in self._kernels.items():
            try:
                if kernel is None:
                    raise self.errors[name]
                kernel.check_signature()
            except (ArgumentError, MissingKernelError) as error:
                problems.append(str(error))
        if problems:
            raise ArgumentError("KernelCatalog.check_signatures:\n" + "\n".join(problems))

    def check_cuda(
        self, archs: Iterable[str] = ("sm_75", "sm_80", "sm_90", "sm_120"), *, jobs: int | None = 1
    ) -> CompileReport:
        """Compile all CUDA kernels to machine code, without a GPU; see `cunumpy.cuda.check_cuda`.

        Each is compiled with its own options, folders of headers and template arguments.

        Parameters
        ----------
        archs : iterable of str, default: ("sm_75", "sm_80", "sm_90", "sm_120")
            Architectures to compile for.
        jobs : int or None, default: 1
            Threads that compile; None for one for each processor.

        Returns
        -------
        CompileReport
            Registers, memory and spills of all kernels, and the compiler's warnings; prints as a table. Without
            machine code, which `CudaKernel.check_cuda` returns.

        Raises
        ------
        CompileError
            Kernels that do not compile, or that can't be read: all of them, each with file and line.
        MissingPackageError
            NVRTC is not there.

        Notes
        -----
        A kernel takes about 20 to 100 ms an architecture.
        """
        count = _jobs(jobs, "KernelCatalog.check_cuda")
        wanted = as_strings(archs, function="KernelCatalog.check_cuda", argument="archs")
        kernels = [kernel.cuda_kernel for _, kernel in self.parity_cases()]
        results = for_each(
            [kernel for kernel in kernels if kernel is not None],
            lambda kernel: kernel.check_cuda(wanted),
            count,
            "check_cuda",
        )
        problems = [*self.errors.values(), *(error for _, error in results if isinstance(error, CompileError))]
        for _, error in results:
            if error is not None and not isinstance(error, CompileError):
                raise error
        if problems:
            failure = CompileError("KernelCatalog.check_cuda:\n" + "\n".join(map(str, problems)))
            failure.messages = tuple(one for error in problems for one in getattr(error, "messages", ()))
            raise failure from problems[0]
        reports = [report for report, _ in results if report is not None]
        return CompileReport(
            reports[0].compiler if reports else "no CUDA kernels",
            tuple(one for report in reports for one in report.kernels),
            tuple(dict.fromkeys(one for report in reports for one in report.functions)),
            tuple(dict.fromkeys(one for report in reports for one in report.messages)),
        )

    def compile_all(self, jobs: int | None = 1) -> list[str]:
        """Compile all CUDA kernels for the current device, so that no launch has to wait for it.

        All are tried before an error is raised. On a terminal and in a notebook the progress is shown.

        Parameters
        ----------
        jobs : int or None, default: 1
            Threads that compile; None for one for each processor. With one, it is the calling thread.

        Returns
        -------
        list of str
            The names of the kernels that were compiled.

        Raises
        ------
        CompileError, BackendUnavailableError, MissingKernelError
            The first error, in the order of the catalog.
        ArgumentError
            Less than one job.
        """
        cases = self.parity_cases()
        results = for_each(
            [kernel for _, kernel in cases],
            lambda kernel: kernel.compile(),
            _jobs(jobs, "KernelCatalog.compile_all"),
            "compile_all",
        )
        self._raise_first({name: error for (name, _), (_, error) in zip(cases, results, strict=True)})
        return [name for name, _ in cases]

    def build_all(self, jobs: int | None = 1) -> dict[str, str]:
        """Load the host implementation of each kernel that a call would run, which compiles it if need be.

        All are tried before an error is raised. On a terminal and in a notebook the progress is shown.

        Parameters
        ----------
        jobs : int or None, default: 1
            Threads that load and compile; None for one for each processor.

        Returns
        -------
        dict of str to str
            For each kernel that can run on the host what runs: one of `HOST_IMPLEMENTATIONS`, or of a
            `CompiledHostKernel` ``"compiled"``, ``"fallback"`` or ``"python"``, or ``"host"`` for any other function.

        Raises
        ------
        MissingKernelError
            The first kernel, in the order of the catalog, of which nothing can be used.
        ArgumentError
            Less than one job.

        Warns
        -----
        CuNumpyWarning
            Kernels that run as plain Python, as their first call would.
        """
        cases = [(name, kernel) for name, kernel in self._loaded() if kernel.implementations != ("cuda",)]
        results = for_each(
            [kernel for _, kernel in cases],
            _built,
            _jobs(jobs, "KernelCatalog.build_all"),
            "build_all",
        )
        self._raise_first({name: error for (name, _), (_, error) in zip(cases, results, strict=True)})
        return {name: str(built) for (name, _), (built, _) in zip(cases, results, strict=True)}

    def _raise_first(self, errors: Mapping[str, Exception | None]) -> None:
        for name in self._kernels:
            error = self.errors.get(name) or errors.get(name)
            if error is not None:
                raise error.with_traceback(None)


def _html_row(kernel: Kernel) -> tuple[str, str]:
    cuda = kernel.cuda_kernel
    if cuda is not None and cuda.signature is not None:
        parameters = [f"{one.ctype}{'*' if one.pointer else ''} {one.name}" for one in cuda.signature]
    else:
        parameters = list(kernel.host_parameters() or ())
    return ", ".join(kernel.implementations), ", ".join(parameters)


def _of_name(given: Any, name: str) -> Any:
    return given(name) if callable(given) else None if given is None else given.get(name)


def _folder_error(package: str, name: str, error: Exception) -> MissingKernelError:
    notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    found = MissingKernelError(f"kernel {name!r} of {package!r} can't be read: {type(error).__name__}: {error}{notes}")
    found.__cause__ = error
    return found


def _built(kernel: Kernel) -> str:
    host = kernel.host_kernel
    function = None if host is None else host.kernel
    if isinstance(function, HostImplementations):
        name = function.build()
        implementation = function.get(name)
        if isinstance(implementation, CpuImplementation):
            implementation.build()
        return name
    if isinstance(function, CompiledHostKernel):
        function.resolve()
        return "compiled" if function.compiled else "python" if function.fallback is None else "fallback"
    return "host"
