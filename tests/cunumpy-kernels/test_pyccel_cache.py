"""`PyccelCache`: keys, folders, failures, and builds by a quick stand-in for Pyccel.

Pyccel itself is run in `test_real_pyccel.py`.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import itertools
import os
import pickle
import platform
import sys
import sysconfig
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pytest

from cunumpy import _caches
from cunumpy.__main__ import main
from cunumpy.errors import ArgumentError, ArgumentTypeError, CacheError, CompileError, MissingPackageError, SettingError
from cunumpy.kernels import PyccelCache, _pyccel_cache
from cunumpy.kernels._build_cache import LIST_NAME

SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")

AXPY = """
def axpy(a: float, x: 'Final[float[:]]', y: 'float[:]'):
    for i in range(x.shape[0]):
        y[i] += a * x[i]
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Keep this machine's caches out of it."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    for name in ("MY_CODE_KERNEL_CACHE", "MY_CODE_OPENMP", "PYCCEL_DEFAULT_COMPILER", "PYCCEL_DEBUG_MODE"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def cache():
    return PyccelCache("my-code")


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes Python files and imports the last one."""
    folder = tmp_path / "source"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    before = set(sys.modules)

    def write(**files):
        for name, text in files.items():
            path = folder.joinpath(*name.split("__")).with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        dotted = name.replace("__", ".")
        spec = importlib.util.spec_from_file_location(dotted, path)
        return importlib.util.module_from_spec(spec)  # its source counts; it need not run

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


class FakePyccel:
    """Stands for Pyccel's distribution, with a command that makes an extension module of a real one.

    It writes a line for each run to `log`, and heeds what the source says: ``# fail``, ``# nothing``.
    """

    version = "2.2.99"

    def __init__(self, folder, log):
        (folder / "fake_pyccel.py").write_text(
            textwrap.dedent(f"""
            import importlib.util, pathlib, shutil, sys, sysconfig, time
            def command():
                assert sys.argv[1] == "compile"
                source = pathlib.Path(sys.argv[2])
                text = source.read_text()
                with open({str(log)!r}, "a") as file:
                    file.write(" ".join(sys.argv[2:]) + "\\n")
                if "# slow" in text:
                    time.sleep(1)
                if "# fail" in text:
                    print(f"{{source.resolve()}} [2,3]| Invalid syntax")
                    return 1
                if "# nothing" not in text:
                    shutil.copy({find_extension()!r}, source.with_suffix(sysconfig.get_config_var("EXT_SUFFIX")))
                stub = source.parent / "__pyccel__" / f"{{source.stem}}.pyi"
                stub.parent.mkdir(exist_ok=True)
                stub.write_text("stub")
            """)
        )
        self.entry_points = [importlib.metadata.EntryPoint("pyccel", "fake_pyccel:command", "console_scripts")]
        self.log = log

    def runs(self):
        return self.log.read_text().splitlines() if self.log.exists() else []


def find_extension():
    """Return any extension module's file; the module loaded from it is not looked into."""
    from numpy._core import _multiarray_umath

    return _multiarray_umath.__file__


@pytest.fixture
def pyccel(tmp_path, monkeypatch):
    folder = tmp_path / "fake"
    folder.mkdir()
    fake = FakePyccel(folder, tmp_path / "log")
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setattr(_pyccel_cache, "_pyccel", lambda: fake)
    monkeypatch.setattr(_pyccel_cache, "compiler_identity", lambda program: f"/bin/{program} 1.0")
    monkeypatch.setattr(_pyccel_cache, "_load", lambda stem, folder: folder / f"{stem}{SUFFIX}")
    return fake


# --- making one -------------------------------------------------------------------------------------------------------


def test_names(cache):
    assert (cache.name, cache.env_prefix, cache.language) == ("my-code", "MY_CODE", "c")
    assert (cache.cache_env, cache.openmp_env) == ("MY_CODE_KERNEL_CACHE", "MY_CODE_OPENMP")
    other = PyccelCache("my.code2", env_prefix="X", language="Fortran")
    assert (other.cache_env, other.openmp_env, other.language) == ("X_KERNEL_CACHE", "X_OPENMP", "fortran")
    assert PyccelCache("my.code2").env_prefix == "MY_CODE2"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "a\\b", "a\0"])
def test_names_of_no_folder(name):
    with pytest.raises(ArgumentError, match="PyccelCache: argument 'name' must be the name of a folder"):
        PyccelCache(name)


def test_other_arguments_that_mean_nothing():
    with pytest.raises(ArgumentTypeError, match="argument 'name' must be a str, got 3"):
        PyccelCache(3)
    with pytest.raises(ArgumentTypeError, match="argument 'env_prefix' must be a str, got 3"):
        PyccelCache("x", env_prefix=3)
    with pytest.raises(ArgumentError, match="argument 'language' must be 'c' or 'fortran', got 'python'"):
        PyccelCache("x", language="python")


def test_it_pickles(cache):
    again = pickle.loads(pickle.dumps(cache))
    assert vars(again) == vars(cache)


# --- the variables ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [None, "", "  "])
def test_the_folder_where_the_variable_is_not_set(cache, home, monkeypatch, text):
    if text is not None:
        monkeypatch.setenv("MY_CODE_KERNEL_CACHE", text)
    assert cache.cache_root() == home / ".cache" / "my-code" / "kernels"


def test_the_folder_of_the_variable(cache, home, tmp_path, monkeypatch):
    for text, folder in (("~/x", home / "x"), (str(tmp_path), tmp_path), ("rel", Path.cwd() / "rel")):
        monkeypatch.setenv("MY_CODE_KERNEL_CACHE", f" {text} ")
        assert cache.cache_root() == folder


def test_a_user_without_a_home(cache, monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    assert cache.cache_root() == cache.fallback_root()


def test_the_fallback_is_of_this_user(cache, tmp_path):
    user = f"-{os.geteuid()}" if hasattr(os, "geteuid") else ""
    assert cache.fallback_root() == tmp_path / "temporary" / f"my-code-kernels{user}"


@pytest.mark.parametrize(
    ("text", "enabled"),
    [
        ("0", False),
        (" 0 ", False),
        ("OFF", False),
        ("no", False),
        ("False", False),
        ("", True),
        ("1", True),
        ("on", True),
    ],
)
def test_openmp(cache, monkeypatch, text, enabled):
    assert cache.openmp_enabled()
    monkeypatch.setenv("MY_CODE_OPENMP", text)
    assert cache.openmp_enabled() is enabled


def test_openmp_by_a_word_that_means_nothing(cache, monkeypatch):
    monkeypatch.setenv("MY_CODE_OPENMP", "maybe")
    with pytest.raises(SettingError, match="environment variable MY_CODE_OPENMP='maybe' means nothing"):
        cache.openmp_enabled()


# --- keys -------------------------------------------------------------------------------------------------------------


def test_keys_are_20_hex_digits_and_stay(cache, write, pyccel):
    module = write(a_kernels=AXPY)
    key = cache.build_key(module)
    assert len(key) == 20
    int(key, 16)
    assert cache.build_key(write(a_kernels=AXPY)) == PyccelCache("other").build_key(module) == key


def changed(monkeypatch, what, pyccel):
    if what == "pyccel":
        monkeypatch.setattr(pyccel, "version", "2.3")
    elif what == "compiler":
        monkeypatch.setattr(_pyccel_cache, "compiler_identity", lambda program: f"/bin/{program} 2.0")
    elif what == "processor":
        monkeypatch.setattr(_pyccel_cache, "cpu_features", lambda: "x86_64 sse2")
    elif what == "flags":
        monkeypatch.setattr(sysconfig, "get_config_var", lambda name: "-O1" if name == "CFLAGS" else SUFFIX)
    elif what == "python":
        monkeypatch.setattr(platform, "python_implementation", lambda: "PyPy")
    elif what == "numpy":
        monkeypatch.setattr(np, "__version__", "99")
    elif what == "platform":
        monkeypatch.setattr(sysconfig, "get_platform", lambda: "solaris")
    else:
        monkeypatch.setenv(*what)


@pytest.mark.parametrize(
    "what",
    ["pyccel", "compiler", "processor", "flags", "python", "numpy", "platform", ("MY_CODE_OPENMP", "0"),
     ("PYCCEL_DEFAULT_COMPILER", "LLVM"), ("PYCCEL_DEBUG_MODE", "1")],
)  # fmt: skip
def test_what_a_build_depends_on_is_in_its_key(cache, write, pyccel, monkeypatch, what):
    module = write(a_kernels=AXPY)
    key = cache.build_key(module)
    changed(monkeypatch, what, pyccel)
    assert cache.build_key(module) != key


def test_the_source_and_the_language_are_in_the_key(cache, write, pyccel):
    keys = [cache.build_key(write(a_kernels=AXPY)), cache.build_key(write(a_kernels=AXPY), "fortran")]
    keys += [cache.build_key(write(a_kernels=AXPY + "\n")), cache.build_key(write(b_kernels=AXPY))]
    assert len(set(keys)) == 4
    with pytest.raises(ArgumentError, match="argument 'language'"):
        cache.build_key(write(a_kernels=AXPY), "cuda")


@pytest.mark.parametrize(
    "statement",
    ["from helper import twice", "import helper", "from package.helper import twice", "from package import helper"],
)
def test_imported_modules_are_in_the_key(cache, write, pyccel, statement):
    files = {"deep": "x = 1", "helper": "from deep import x", "package__helper": "import deep"}
    module = write(**files, a_kernels=statement + AXPY)
    key = cache.build_key(module)
    write(deep="x = 2")
    assert cache.build_key(module) != key


def test_relative_imports_are_in_the_key(cache, write, pyccel):
    files = {"pkg__helper": "x = 1", "pkg__sub__other": "x = 1"}
    module = write(**files, pkg__sub__a_kernels="from ..helper import x\nfrom .other import x\n" + AXPY)
    keys = {cache.build_key(module)}
    for name in files:
        write(**{name: "x = 2"})
        keys.add(cache.build_key(module))
    assert len(keys) == 3


def test_modules_that_import_each_other_and_what_is_not_there(cache, write, pyccel):
    module = write(a="import b, numpy, math, not_there", b="import a", c_kernels="import a\nfrom numpy import exp, sin")
    plan = cache._plan(module, None)
    assert [source.path for source in plan.sources] == ["b.py", "a.py", "c_kernels.py"]


def test_installed_modules_of_others_are_left_to_pyccel(cache, write, pyccel):
    plan = cache._plan(
        write(a_kernels="import numpy.linalg, scipy.special, hypothesis.strategies, pyccel.decorators"), None
    )
    assert [source.path for source in plan.sources] == ["a_kernels.py"]


def test_openmp_is_forced_on_where_its_runtime_is_used(cache, write, pyccel, monkeypatch):
    monkeypatch.setenv("MY_CODE_OPENMP", "0")
    runtime = "from pyccel.stdlib.internal.openmp import omp_get_num_threads"
    for files in ({"a_kernels": runtime}, {"b": runtime, "a_kernels": "import b"}):
        assert cache._plan(write(**files), None).openmp
    assert not cache._plan(write(a_kernels="# " + runtime), None).openmp


def test_modules_without_a_source(cache, pyccel):
    with pytest.raises(ArgumentError, match="module 'itertools' has no Python source file"):
        cache.build_key(itertools)


def test_sources_that_are_no_python(cache, write, pyccel):
    with pytest.raises(CompileError, match=r"a_kernels\.py, line 2: "):
        cache.build_key(write(a_kernels="x = 1\ndef ("))


# --- building ---------------------------------------------------------------------------------------------------------


def test_a_build_is_made_once_and_kept(cache, write, pyccel, home):
    module = write(a_kernels=AXPY)
    path = cache.compile(module)
    assert (
        path == home / ".cache" / "my-code" / "kernels" / f"a_kernels-{cache.build_key(module)}" / f"a_kernels{SUFFIX}"
    )
    assert cache(module) == PyccelCache("my-code").compile(module) == path
    assert pyccel.runs() == ["a_kernels.py --language c --openmp"]
    files = {file.relative_to(path.parent).as_posix() for file in path.parent.rglob("*") if file.is_file()}
    assert files == {LIST_NAME, f"a_kernels{SUFFIX}", "__pyccel__/a_kernels.pyi"}


def test_options(cache, write, pyccel, monkeypatch):
    monkeypatch.setenv("MY_CODE_OPENMP", "0")
    cache.compile(write(a_kernels=AXPY), language="Fortran")
    assert pyccel.runs() == ["a_kernels.py --language fortran"]


def test_imported_modules_are_built_first(cache, write, pyccel):
    cache.compile(
        write(pkg__deep="", pkg__sub__helper="from ..deep import x", pkg__sub__a_kernels="from . import helper")
    )
    assert [run.split()[0] for run in pyccel.runs()] == ["pkg/deep.py", "pkg/sub/helper.py", "pkg/sub/a_kernels.py"]


def test_a_module_named_like_one_of_pythons(cache, write, pyccel):
    assert cache.compile(write(random=AXPY)).name == f"random{SUFFIX}"


def test_the_fallback_is_used_where_the_first_can_not_be_written_to(cache, write, pyccel, home):
    (home / ".cache").write_text("a file, so that no folder can be made")
    assert cache.fallback_root() in cache.compile(write(a_kernels=AXPY)).parents


def test_no_folder_can_be_written_to(cache, write, pyccel, tmp_path, home):
    (home / ".cache").write_text("")
    (tmp_path / "temporary").write_text("")
    with pytest.raises(CacheError, match=r"no folder to build a_kernels-.*Set MY_CODE_KERNEL_CACHE to a folder"):
        cache.compile(write(a_kernels=AXPY))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps the folders of a profile private by other means")
def test_a_folder_that_others_can_write_to_is_never_loaded_from(cache, write, pyccel):
    module = write(a_kernels=AXPY)
    root = cache.compile(module).parents[1]
    root.chmod(0o777)
    with pytest.raises(CacheError, match=r"can be written to by other users.*Set MY_CODE_KERNEL_CACHE"):
        cache.compile(module)


def test_what_can_not_be_loaded_is_built_again(cache, write, pyccel, monkeypatch):
    module = write(a_kernels=AXPY)
    path = cache.compile(module)
    loaded = []

    def load(stem, folder):
        loaded.append(stem)
        if len(loaded) == 1:
            raise ImportError("libgomp.so.1: cannot open shared object file")
        return folder

    monkeypatch.setattr(_pyccel_cache, "_load", load)
    assert cache.compile(module) == path.parent
    assert len(pyccel.runs()) == 2


def test_a_failed_build_says_what_was_run_and_what_it_said(cache, write, pyccel, home):
    module = write(a_kernels="# fail\n" + AXPY)
    with pytest.raises(CompileError) as caught:
        cache.compile(module)
    text = str(caught.value)
    assert f"PyccelCache 'my-code': Pyccel 2.2.99 can't compile {module.__spec__.origin} (exit code 1)" in text
    assert "pyccel compile a_kernels.py --language c --openmp" in text
    assert f"{module.__spec__.origin} [2,3]| Invalid syntax" in text
    assert "Invalid syntax" in caught.value.log
    assert isinstance(caught.value, RuntimeError)
    assert list((home / ".cache" / "my-code" / "kernels").iterdir()) == []


def test_a_build_that_leaves_nothing(cache, write, pyccel):
    with pytest.raises(CompileError, match=r"can't compile .*a_kernels\.py \(exit code 0\)(.|\n)*\(nothing\)"):
        cache.compile(write(a_kernels="# nothing\n" + AXPY))


def test_without_pyccel(cache, write, monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    for use in (cache.build_key, cache.compile):
        with pytest.raises(MissingPackageError, match=r"uv add 'cunumpy-kernels\[pyccel\]'.*apt install gcc gfortran"):
            use(write(a_kernels=AXPY))


def test_without_a_compiler(cache, write, pyccel, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(_pyccel_cache, "_pyccel", lambda: pyccel)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingPackageError, match=r"PyccelCache 'my-code': the compiler 'gcc' is not on the PATH.*apt"):
        cache.compile(write(a_kernels=AXPY))


def test_a_compiler_family_of_the_users_own(cache, write, pyccel, home, monkeypatch):
    monkeypatch.setenv("PYCCEL_DEFAULT_COMPILER", "mine")
    module = write(a_kernels=AXPY)
    keys = [cache.build_key(module)]
    folder = home / ".pyccel" / "mine"
    folder.mkdir(parents=True)
    for flags in ("-O1", "-O2"):
        (folder / "config.json").write_text('{"c": {"exec": "gcc", "release_flags": ["' + flags + '"]}}')
        keys.append(cache.build_key(module))
    assert len(set(keys)) == 3


# --- listing ----------------------------------------------------------------------------------------------------------


def test_python_m_cunumpy_cache_shows_and_clears_it(cache, write, pyccel, monkeypatch, capsys):
    monkeypatch.setattr(_caches, "CACHES", {})
    path = cache.compile(write(a_kernels=AXPY))
    thesis = path.parents[1] / "thesis.tex"
    thesis.write_text("")
    assert main(["cache"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Pyccel, my-code: 3 files, ")
    assert f"in {path.parents[1]} (compiled host kernels)" in text
    assert main(["cache", "--clear"]) == 0
    assert "removed 3 files" in capsys.readouterr().out
    assert thesis.exists()
    assert not path.exists()
    assert cache.compile(write(a_kernels=AXPY)) == path


def test_without_a_folder_for_temporary_files_the_first_root_is_used(pyccel, write, monkeypatch):
    def nowhere():
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    cache = PyccelCache("mine")
    module = write(push="def push(): pass")
    assert cache.compile(module).is_relative_to(cache.cache_root())
    cache.compile(module)
    assert len(pyccel.runs()) == 1


def test_the_root_does_not_follow_the_working_directory(monkeypatch, tmp_path):
    """Not with a relative HOME either: what is loaded must not depend on where a program is started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "relative")
    monkeypatch.setenv("USERPROFILE", "relative")
    assert PyccelCache("mine").cache_root() == tmp_path / "relative" / ".cache" / "mine" / "kernels"


def test_what_is_no_module_is_refused(cache, pyccel):
    for use in (cache.build_key, cache.compile):
        with pytest.raises(ArgumentTypeError, match="'module' must be a module, got str; import it"):
            use("my_code.push")


def test_imports_that_the_module_does_not_need_may_fail(cache, pyccel, write):
    """Such as those for type checkers: looking for them runs the packages that they are in."""
    module = write(push="if False:\n    import broken.inner\n")
    package = Path(module.__spec__.origin).parent / "broken"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('it was run')")
    assert cache.build_key(module)
