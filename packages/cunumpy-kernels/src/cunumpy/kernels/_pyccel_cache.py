"""Pyccel's builds of host kernels, kept on disk."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from cunumpy import _caches, _environment
from cunumpy._gate import describe
from cunumpy.errors import ArgumentError, ArgumentTypeError, CompileError, MissingPackageError
from cunumpy.kernels._build_cache import BuildCache, build_hash, compiler_identity, cpu_features

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import Distribution

_LAYOUT = 1
"""Of the folders with builds; another layout makes other keys."""

_OPENMP_RUNTIME = "pyccel.stdlib.internal.openmp"

# The programs of Pyccel's families of compilers; a family of the user's own is a file.
_PROGRAMS = {
    "GNU": {"c": "gcc", "fortran": "gfortran"},
    "intel": {"c": "icx", "fortran": "ifx"},
    "LLVM": {"c": "clang", "fortran": "flang"},
    "nvidia": {"c": "nvc", "fortran": "nvfortran"},
    "PGI": {"c": "pgcc", "fortran": "pgfortran"},
}

# In a process of its own: Pyccel keeps global state, and takes a second to load.
_RUN = "import sys; from importlib import import_module as load; sys.exit(getattr(load({module!r}), {function!r})())"


class PyccelCache:
    """Compiles modules with Pyccel and keeps the builds, for `Kernel.from_folder` and the like as ``compile_host``.

    A build is made once for all processes of a user and loaded by all of them, in later runs too. It is found again
    only where everything that it depends on is the same: the sources of the module and of the modules that it imports,
    the language, Pyccel, the compiler and its flags, OpenMP, Python, NumPy's version, and the processor's features.

    Builds are kept in `cache_root`, or in `fallback_root` where that can't be written to. Only folders that nobody but
    the user (or root) can write to are used.

    Parameters
    ----------
    name : str
        Of the program that the kernels belong to; part of the folders' names.
    env_prefix : str, optional
        Begins the names of the two environment variables. Default: `name` in upper case, with ``_`` for everything
        that is not a letter or digit.
    language : {"c", "fortran"}, optional
        What Pyccel translates to.

    Attributes
    ----------
    name, env_prefix, language : str
        As given.
    cache_env : str
        ``<env_prefix>_KERNEL_CACHE``, the variable for the folder. ``~`` is expanded; empty counts as unset.
    openmp_env : str
        ``<env_prefix>_OPENMP``, the variable that turns OpenMP off, by any of the words for false.

    Raises
    ------
    ArgumentError
        The name is empty or no name for a folder, or the language is another one.

    Notes
    -----
    Modules that are imported are compiled with the one that imports them, if they belong to the same package or to no
    installed one; others have to be what Pyccel knows (NumPy, ``math``). The objects pickle.

    Examples
    --------
    >>> from cunumpy.kernels import PyccelCache
    >>> cache = PyccelCache("my-code")
    >>> cache
    PyccelCache('my-code', env_prefix='MY_CODE', language='c')
    >>> cache.cache_env, cache.openmp_env
    ('MY_CODE_KERNEL_CACHE', 'MY_CODE_OPENMP')

    With Pyccel installed, ``Kernel.from_folder("my_code.kernels.push", compile_host=cache)`` compiles the host kernel
    when it is first called.
    """

    def __init__(self, name: str, *, env_prefix: str | None = None, language: str = "c") -> None:
        for argument, value in (("name", name), ("env_prefix", env_prefix), ("language", language)):
            if not isinstance(value, str) and (argument, value) != ("env_prefix", None):
                raise ArgumentTypeError(f"PyccelCache: argument {argument!r} must be a str, got {value!r}.")
        if not name or name in (".", "..") or re.search(r"[/\\:\x00]", name):
            raise ArgumentError(
                f"PyccelCache: argument 'name' must be the name of a folder, got {name!r}; pass that of your program."
            )
        self.name = name
        self.env_prefix: str = re.sub(r"[^A-Za-z0-9]", "_", name).upper() if env_prefix is None else env_prefix
        self.language: str = _check_language(language)
        self.cache_env: str = f"{self.env_prefix}_KERNEL_CACHE"
        self.openmp_env: str = f"{self.env_prefix}_OPENMP"

    def __repr__(self) -> str:
        return f"PyccelCache({self.name!r}, env_prefix={self.env_prefix!r}, language={self.language!r})"

    def cache_root(self) -> Path:
        """Return the folder that builds are kept in: that of the variable, else ``~/.cache/<name>/kernels``.

        Examples
        --------
        >>> from cunumpy.kernels import PyccelCache
        >>> PyccelCache("my-code").cache_root().parts[-3:]
        ('.cache', 'my-code', 'kernels')
        """
        text = os.environ.get(self.cache_env, "").strip()
        try:
            root = Path(text).expanduser() if text else Path.home() / ".cache" / self.name / "kernels"
            return root.absolute()
        except RuntimeError:  # no home, or none of the user that `~user` names
            return self.fallback_root()

    def fallback_root(self) -> Path:
        """Return the folder where the first can't be written to: ``<name>-kernels-<user>`` among temporary files."""
        user = f"-{os.geteuid()}" if hasattr(os, "geteuid") else ""
        return Path(tempfile.gettempdir()) / f"{self.name}-kernels{user}"

    def openmp_enabled(self) -> bool:
        """Tell whether kernels are compiled with OpenMP: yes, unless the variable says no.

        Raises
        ------
        SettingError
            The variable holds a value that means nothing.
        """
        variable = _environment.Variable(self.openmp_env, "", "", "", default=True, default_text="on")
        return bool(_environment.parse(variable, os.environ.get(self.openmp_env, "")))

    def build_key(self, module: ModuleType, language: str | None = None) -> str:
        """Return 20 hex digits that stand for everything that the build of a module depends on.

        Parameters
        ----------
        module : module
            Python module with the kernels. It need not be importable by name.
        language : {"c", "fortran"}, optional
            Default: that of the cache.

        Returns
        -------
        str

        Raises
        ------
        MissingPackageError
            Pyccel or the compiler is not installed.
        ArgumentError
            The module has no source file.
        """
        return self._plan(module, language).key

    def compile(self, module: ModuleType, *, language: str | None = None) -> ModuleType:
        """Return the compiled module; build it if no process has done so yet.

        A build takes some seconds. Others that ask for the same one meanwhile wait for it.

        Parameters
        ----------
        module : module
            Python module with the kernels, annotated for Pyccel.
        language : {"c", "fortran"}, optional
            Default: that of the cache.

        Returns
        -------
        module
            Extension module with the compiled functions. Where it came from is in its ``__file__``.

        Raises
        ------
        MissingPackageError
            Pyccel or the compiler is not installed.
        CompileError
            The build fails; the text has the command and what it said.
        CacheError
            No folder can be written to, or `cache_root` is not safe: it belongs to another user, or others can write
            to it.
        ArgumentError
            The module has no source file.
        """
        plan = self._plan(module, language)
        cache = BuildCache(*self._roots(), remedy=f"Set {self.cache_env} to a folder of your own.")
        folder = cache.get(plan.folder, lambda staging: self._build(plan, staging))
        try:
            return _load(plan.stem, folder)
        except ImportError:
            cache.discard(plan.folder)  # for instance, a library that it needs was replaced
            return _load(plan.stem, cache.get(plan.folder, lambda staging: self._build(plan, staging)))

    __call__ = compile

    def _roots(self) -> Iterator[Path]:
        root = self.cache_root()
        yield root
        with contextlib.suppress(FileNotFoundError):  # there is no folder for temporary files
            if self.fallback_root() != root:
                yield self.fallback_root()

    def _plan(self, module: ModuleType, language: str | None) -> _Plan:
        language = self.language if language is None else _check_language(language)
        pyccel = _pyccel()
        try:
            compiler = _compiler(language)
        except MissingPackageError as error:
            raise MissingPackageError(f"PyccelCache {self.name!r}: {error}") from None
        sources = _sources(module)
        openmp = self.openmp_enabled() or any(source.uses_openmp for source in sources)
        key = build_hash(
            {
                "layout": _LAYOUT,
                "sources": [(source.path, source.text.decode("latin-1")) for source in sources],
                "language": language,
                "openmp": openmp,
                "pyccel": pyccel.version,
                "compiler": compiler,
                "debug": os.environ.get("PYCCEL_DEBUG_MODE", ""),
                # Pyccel compiles with those that Python was compiled with.
                "flags": [sysconfig.get_config_var("CFLAGS"), sysconfig.get_config_var("CC")],
                "python": [platform.python_implementation(), sys.version, sysconfig.get_config_var("EXT_SUFFIX")],
                "numpy": sys.modules["numpy"].__version__,
                "platform": [sysconfig.get_platform(), *platform.libc_ver()],
                "processor": cpu_features(),
            }
        )
        return _Plan(sources, language, openmp, pyccel, key)

    def _build(self, plan: _Plan, staging: Path) -> None:
        work = staging / "work"
        for source in plan.sources:
            path = work / source.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(source.text)
        for source in plan.sources:
            self._run(plan, source, work)
        built = (work / plan.sources[-1].path).parent
        stub = built / "__pyccel__" / f"{plan.stem}.pyi"
        (staging / "__pyccel__").mkdir()
        if stub.exists():  # has the names of the parameters
            stub.rename(staging / "__pyccel__" / stub.name)
        _extension(plan.stem, built).rename(staging / _extension(plan.stem, built).name)
        shutil.rmtree(work)
        self._register()

    def _run(self, plan: _Plan, source: _Source, work: Path) -> None:
        options = ["--language", plan.language, *(["--openmp"] if plan.openmp else [])]
        entry = next(entry for entry in plan.pyccel.entry_points if entry.name == "pyccel")
        module, _, function = entry.value.partition(":")
        # -P: a kernel module named like one of Python's must not take its place.
        command = [sys.executable, "-P", "-c", _RUN.format(module=module, function=function)]
        environment = {name: value for name, value in os.environ.items() if name != "PYTEST_XDIST_WORKER"}
        done = subprocess.run(
            [*command, "compile", source.path, *options],
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        target = work / source.path
        if done.returncode == 0 and _extension(target.stem, target.parent).exists():
            return
        said = done.stdout.replace(str(target), source.origin).strip()
        error = CompileError(
            f"PyccelCache {self.name!r}: Pyccel {plan.pyccel.version} can't compile {source.origin} "
            f"(exit code {done.returncode}). It was run as\n    pyccel compile {source.path} {' '.join(options)}\n"
            f"and said:\n{said or '(nothing)'}"
        )
        error.log = done.stdout
        raise error

    def _register(self) -> None:
        hexadecimal = "[0-9a-f]" * 20
        for root in self._roots():
            _caches.remember(
                f"Pyccel, {self.name}", root, "compiled host kernels", (f"*-{hexadecimal}/*", f"*-{hexadecimal}/*/*")
            )


# --- what there is to compile -----------------------------------------------------------------------------------------


class _Source(NamedTuple):
    """A file to compile: where it lies below the folder that imports start from, where it came from, and its text."""

    path: str
    origin: str
    text: bytes
    uses_openmp: bool


class _Plan(NamedTuple):
    """A build: the sources, those that others import first; the module itself is the last."""

    sources: list[_Source]
    language: str
    openmp: bool
    pyccel: Distribution
    key: str

    @property
    def stem(self) -> str:
        return Path(self.sources[-1].path).stem

    @property
    def folder(self) -> str:
        return f"{re.sub('[^A-Za-z0-9_]', '_', self.stem)}-{self.key}"


def _check_language(language: str) -> str:
    if not isinstance(language, str) or language.lower() not in ("c", "fortran"):
        raise ArgumentError(f"PyccelCache: argument 'language' must be 'c' or 'fortran', got {language!r}.")
    return language.lower()


def _pyccel() -> Distribution:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return distribution("pyccel")
    except PackageNotFoundError:
        raise MissingPackageError(
            "PyccelCache: Pyccel is not installed. Install it with: uv add 'cunumpy-kernels[pyccel]' "
            "(it is built when installed, which takes compilers for C and Fortran: apt install gcc gfortran)."
        ) from None


def _compiler(language: str) -> list[str]:
    """Return what tells one compiler from another: the family, the program with its version, and its settings."""
    family = os.environ.get("PYCCEL_DEFAULT_COMPILER", "GNU")
    if family in _PROGRAMS:
        return [family, compiler_identity(_PROGRAMS[family][language])]
    home = Path(os.environ.get("PYCCEL_CONFIG_HOME") or os.path.expanduser("~/.pyccel"))
    for path in (Path(family), home / family / "config.json"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            text = path.read_text(encoding="utf-8")
            return [family, text, compiler_identity(json.loads(text)[language]["exec"])]
    return [family]  # Pyccel will say what it thinks of it


def _sources(module: ModuleType) -> list[_Source]:
    if not isinstance(module, ModuleType):
        raise ArgumentTypeError(f"PyccelCache: argument 'module' must be a module, got {describe(module)}; import it.")
    origin = _source_file(getattr(module, "__file__", None))
    if origin is None:
        raise ArgumentError(
            f"PyccelCache: module {module.__name__!r} has no Python source file "
            f"(its __file__ is {getattr(module, '__file__', None)!r}); pass a module that was imported from one."
        )
    name = module.__name__
    if Path(*name.split(".")).parts != origin.with_suffix("").parts[-1 - name.count(".") :]:
        name = origin.stem  # run as a program, or loaded under another name
    found: dict[str, _Source] = {}
    _collect(name, origin, found, set())
    return list(found.values())


def _collect(name: str, origin: Path, found: dict[str, _Source], open_names: set[str]) -> None:
    """Add a module to `found`, after those that it imports."""
    text = origin.read_bytes()
    try:
        imports = list(_imports(ast.parse(text), name))
    except SyntaxError as error:
        raise CompileError(f"PyccelCache: {origin}, line {error.lineno}: {error.msg}") from error
    open_names = open_names | {name}
    for other in imports:
        path = None if other in found or other in open_names else _own_file(other, name, origin)
        if path is not None:
            _collect(other, path, found, open_names)
    found[name] = _Source(f"{name.replace('.', '/')}.py", str(origin), text, _OPENMP_RUNTIME in imports)


def _imports(tree: ast.AST, name: str) -> Iterator[str]:
    """Yield the names of the modules that a module may import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(name.split(".")[: -node.level]) if node.level else ""
            base = ".".join(filter(None, (base, node.module)))
            if base:
                yield base
            for alias in node.names:
                yield f"{base}.{alias.name}" if base else alias.name


def _own_file(name: str, importer: str, origin: Path) -> Path | None:
    """Return the source of an imported module, if it is to be compiled with the one that imports it."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top == "pyccel":
        return None
    beside = origin.parents[importer.count(".")].joinpath(*name.split(".")).with_suffix(".py")
    if top == importer.partition(".")[0] or beside.is_file():
        return beside if beside.is_file() else None
    from importlib.util import find_spec

    try:
        spec = find_spec(name)
    except Exception:  # `from module import function`; or a package that can't be imported, where the module may not
        return None
    path = _source_file(spec.origin if spec is not None else None)
    if path is None or path.stem == "__init__":
        return None
    installed = {os.path.realpath(sysconfig.get_path(kind)) for kind in ("purelib", "platlib", "stdlib")}
    real = os.path.realpath(path)
    return None if any(real.startswith(folder + os.sep) for folder in installed) else path


def _source_file(name: str | None) -> Path | None:
    """Return a module's Python source; that beside it, where the module is compiled already."""
    if not name:
        return None
    path = Path(name)
    if path.suffix != ".py":
        path = path.with_name(path.name.partition(".")[0] + ".py")
    return path.absolute() if path.is_file() else None


def _extension(stem: str, folder: Path) -> Path:
    return folder / f"{stem}{sysconfig.get_config_var('EXT_SUFFIX')}"


def _load(stem: str, folder: Path) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(stem, _extension(stem, folder))
    if spec is None or spec.loader is None:
        raise ImportError(f"PyccelCache: {folder} has no extension module {stem}", name=stem)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
