"""The native libraries in wheels, source distributions and editable installations, and builds without them."""

from __future__ import annotations

import json
import shutil
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from distributions import NATIVE, PACKAGES, run_python, uv

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no native library is built on Windows")

SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"
PLATFORM = sysconfig.get_platform().replace("-", "_").replace(".", "_")

STATUS = """
import importlib, json, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        importlib.import_module(sys.argv[1])
        from cunumpy.cuda._host_library import HOST_LIBRARIES
        status = HOST_LIBRARIES[sys.argv[1]].status
    except ImportError as error:
        status = f"{type(error).__name__}: {error}"
print(json.dumps([status, [f"{each.category.__name__}: {each.message}" for each in caught]]))
"""


def library_of(name: str) -> str:
    submodule = name.removeprefix("cunumpy-")
    return f"cunumpy/{submodule}/_cunumpy_{submodule}{SUFFIX}"


def contents(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def libraries(files: list[str]) -> list[str]:
    return [file for file in files if file.endswith((".so", ".dylib", ".dll"))]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the packages with native code and of what they are built with."""
    for name in ("cunumpy-cuda", *NATIVE):
        ignore = shutil.ignore_patterns("*.so", "*.dylib", "__pycache__")
        shutil.copytree(PACKAGES / name, tmp_path / "tree" / name, ignore=ignore)
    return tmp_path / "tree"


def build(package: Path, folder: Path, **environment: str) -> Path:
    """Build the wheel of a package and return it."""
    folder.mkdir()
    uv("build", "--wheel", "--quiet", "--out-dir", folder, package, environment=environment)
    (wheel,) = folder.glob("*.whl")
    return wheel


# --- wheels and source distributions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NATIVE)
def test_wheel_has_one_library_and_serves_all_pythons(name: str, wheels: dict[str, Path]) -> None:
    assert wheels[name].name.endswith(f"-py3-none-{PLATFORM}.whl")
    files = contents(wheels[name])
    assert libraries(files) == [library_of(name)]
    assert [file for file in files if file.endswith((".cpp", ".hpp", ".o")) or "hatch_build" in file] == []


@pytest.mark.parametrize("name", NATIVE)
def test_library_is_found_and_used(name: str, unpacked: dict[str, Path]) -> None:
    folders = [unpacked[each] for each in ("cunumpy-core", "cunumpy-cuda", name)]
    status, warnings = status_of(name, folders, CUNUMPY_REQUIRE_NATIVE="1")
    assert status.startswith("native, ")
    assert warnings == []


@pytest.mark.parametrize("name", NATIVE)
def test_source_distribution_has_all_that_it_is_built_from(name: str, built: Path, tmp_path: Path) -> None:
    (path,) = built.glob(f"{name.replace('-', '_')}-[0-9]*.tar.gz")
    with tarfile.open(path) as archive:
        files = {file.split("/", 1)[1] for file in archive.getnames()}
        archive.extractall(tmp_path, filter="data")
    assert {f"shared/include/cunumpy/{header}" for header in NATIVE[name]} <= files
    assert {f"shared/native/{file.name}" for file in (PACKAGES / "cunumpy-cuda/native").glob("*.*pp")} <= files
    assert {f"native/{file.name}" for file in (PACKAGES / name / "native").iterdir()} <= files
    assert libraries(list(files)) == []

    # Packed once more from what was unpacked, as Linux distributions do, it is the same.
    (source,) = tmp_path.iterdir()
    uv("build", "--sdist", "--quiet", "--out-dir", tmp_path / "again", source)
    (again,) = (tmp_path / "again").glob("*.tar.gz")
    with tarfile.open(again) as archive:
        assert {file.split("/", 1)[1] for file in archive.getnames()} == files


@pytest.mark.parametrize("name", NATIVE)
def test_wheel_without_native_code_is_pure_and_has_no_stale_library(name: str, tree: Path, tmp_path: Path) -> None:
    stale = tree / name / "src" / library_of(name)
    stale.write_bytes(b"of an earlier editable build")
    wheel = build(tree / name, tmp_path / "pure", CUNUMPY_NO_NATIVE="1")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert libraries(contents(wheel)) == []
    assert stale.exists()


@pytest.mark.parametrize(
    ("compiler", "reason"),
    [("no-such-compiler -O3", "no C++ compiler: no-such-compiler is not on the PATH"), ("false", "ended with 1")],
)
def test_without_a_working_compiler_the_wheel_is_pure_unless_native_code_is_required(
    compiler: str, reason: str, tree: Path, tmp_path: Path
) -> None:
    assert build(tree / "cunumpy-rng", tmp_path / "pure", CXX=compiler).name.endswith("-py3-none-any.whl")
    done = uv(
        "build",
        "--wheel",
        "--out-dir",
        tmp_path / "required",
        tree / "cunumpy-rng",
        environment={"CXX": compiler, "CUNUMPY_REQUIRE_NATIVE": "1"},
        check=False,
    )
    assert done.returncode != 0
    assert reason in done.stderr
    assert list((tmp_path / "required").glob("*.whl")) == []


# --- editable installations -------------------------------------------------------------------------------------------


def test_editable_installation_has_its_library_in_the_source_folder(tree: Path, tmp_path: Path) -> None:
    uv("venv", "--quiet", "--python", sys.executable, tmp_path / "venv")
    install = ["pip", "install", "--quiet", "--no-deps", "--python", tmp_path / "venv"]
    library = tree / "cunumpy-rng" / "src" / library_of("cunumpy-rng")
    package = tree / "cunumpy-rng"
    uv(*install, "--editable", package)
    assert library.exists()
    uv(*install, "--reinstall", "--editable", package, environment={"CUNUMPY_NO_NATIVE": "1"})
    assert not library.exists()


# --- loading ----------------------------------------------------------------------------------------------------------


def status_of(name: str, folders: list[Path], **environment: str) -> tuple[str, list[str]]:
    """What the package says of its native library, and the warnings when it is imported."""
    done = run_python(STATUS, folders, name.replace("-", "."), environment=environment)
    assert done.returncode == 0, done.stderr
    status, warnings = json.loads(done.stdout)
    return status, warnings


@pytest.mark.parametrize("name", NATIVE)
def test_library_of_another_header_is_refused(name: str, unpacked: dict[str, Path], tmp_path: Path) -> None:
    (header,) = NATIVE[name]
    cuda = tmp_path / "cuda"
    shutil.copytree(unpacked["cunumpy-cuda"], cuda)
    with (cuda / "cunumpy/cuda/include/cunumpy" / header).open("a") as file:
        file.write("// of another version\n")
    folders = [unpacked["cunumpy-core"], cuda, unpacked[name]]
    problem = f"built from another {header} than the one of the installed cunumpy-cuda"

    status, warnings = status_of(name, folders)
    assert status.startswith("the NumPy path; no native library: ")
    assert problem in status
    (warning,) = warnings
    assert warning.startswith(f"InstallationWarning: {name.replace('-', '.')}: the native library is not used")
    assert problem in warning
    assert f"uv add --reinstall {name}" in warning

    status, warnings = status_of(name, folders, CUNUMPY_REQUIRE_NATIVE="1")
    assert status.startswith("MissingPackageError: ")
    assert problem in status
    assert warnings == []

    status, warnings = status_of(name, folders, CUNUMPY_NO_NATIVE="1")
    assert status == "the NumPy path; no native library: CUNUMPY_NO_NATIVE is set"
    assert warnings == []
