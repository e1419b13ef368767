"""What the nine distributions contain and declare."""

from __future__ import annotations

import email.message
import email.parser
import re
import tarfile
import tomllib
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from distributions import CORE, MEMBERS, META, NATIVE, PACKAGES, ROOT, uv

NAMES = (META, *MEMBERS)
FIRST = Version("0.8.0")


def project(name: str) -> dict:
    return tomllib.loads((PACKAGES / name / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def contents(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def metadata(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.parser.Parser().parsestr(archive.read(name).decode())


def requirements(wheel: Path) -> list[Requirement]:
    """Requirements without those of extras."""
    found = map(Requirement, metadata(wheel).get_all("Requires-Dist", []))
    return [requirement for requirement in found if "extra" not in str(requirement.marker)]


def test_workspace_has_these_members() -> None:
    assert sorted(path.parent.name for path in PACKAGES.glob("*/pyproject.toml")) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_project_files(name: str) -> None:
    data = project(name)
    assert data["name"] == name
    assert Version(data["version"]) >= FIRST
    assert data["requires-python"] == ">=3.11"
    assert data["license"] == "MIT"
    assert (PACKAGES / name / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    readme = (PACKAGES / name / "README.md").read_text(encoding="utf-8")
    assert readme.startswith(f"# {name}\n")
    assert f"uv add {name}\n" in readme
    changelog = (PACKAGES / name / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {data['version']} " in changelog


@pytest.mark.parametrize("name", NAMES)
def test_wheel_declares_what_its_row_says(name: str, wheels: dict[str, Path]) -> None:
    data = metadata(wheels[name])
    assert data["Name"] == name
    assert data["Version"] == project(name)["version"]
    assert data["Requires-Python"] == ">=3.11"
    assert data["License-Expression"] == "MIT"
    assert data["Summary"]
    assert "Typing :: Typed" in data.get_all("Classifier")
    declared = {requirement.name for requirement in requirements(wheels[name])}
    if name == META:
        assert declared == set(MEMBERS)
    else:
        assert declared == {*MEMBERS[name].needs, *MEMBERS[name].third_party}


def test_metapackage_pins_the_versions_beside_it(wheels: dict[str, Path]) -> None:
    pins = {requirement.name: str(requirement.specifier) for requirement in requirements(wheels[META])}
    assert pins == {name: f"=={metadata(wheels[name])['Version']}" for name in MEMBERS}


def test_metapackage_forwards_every_extra(wheels: dict[str, Path]) -> None:
    pinned = {
        (requirement.name, extra)
        for requirement in map(Requirement, metadata(wheels[META]).get_all("Requires-Dist"))
        for extra in requirement.extras
    }
    declared = {(name, extra) for name in MEMBERS for extra in metadata(wheels[name]).get_all("Provides-Extra", [])}
    assert pinned == declared
    assert {"cuda12x", "cuda13x"} <= set(metadata(wheels[META]).get_all("Provides-Extra"))


@pytest.mark.parametrize("name", MEMBERS)
def test_requirements_among_members_accept_the_versions_beside_them(name: str, wheels: dict[str, Path]) -> None:
    for requirement in requirements(wheels[name]):
        if requirement.name in MEMBERS:
            assert requirement.specifier.contains(metadata(wheels[requirement.name])["Version"]), str(requirement)


@pytest.mark.parametrize("name", NAMES)
def test_edits_reach_installs_from_the_source_tree(name: str) -> None:
    """uv builds a package again only if a file of its cache keys changed."""
    settings = tomllib.loads((PACKAGES / name / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]
    patterns = [key["file"] for key in settings["cache-keys"] if "file" in key]
    watched = {file for pattern in patterns for file in (PACKAGES / name).glob(pattern)}
    made = {".pyc", ".so", ".dylib"}  # by imports and editable builds
    shipped = {file for file in (PACKAGES / name / "src").rglob("*") if file.is_file() and file.suffix not in made}
    assert [file for file in shipped - watched if file.name != "py.typed"] == []
    assert PACKAGES / name / "pyproject.toml" in watched
    assert [file for file in watched if file.suffix in made] == []
    if name in NATIVE:
        built_from = [*(PACKAGES / name / "native").iterdir(), *(PACKAGES / "cunumpy-cuda/native").glob("*.*pp")]
        headers = [PACKAGES / "cunumpy-cuda/src/cunumpy/cuda/include/cunumpy" / header for header in NATIVE[name]]
        assert {*built_from, *headers, PACKAGES / name / "hatch_build.py"} <= {file.resolve() for file in watched}
        assert {"CXX", "CUNUMPY_NO_NATIVE"} <= {key.get("env") for key in settings["cache-keys"]}


def test_no_file_is_shipped_twice(wheels: dict[str, Path]) -> None:
    owners = Counter(name for wheel in wheels.values() for name in contents(wheel))
    assert [name for name, count in owners.items() if count > 1] == []


@pytest.mark.parametrize("name", NAMES)
def test_wheel_contents(name: str, wheels: dict[str, Path]) -> None:
    files = contents(wheels[name])
    assert [file for file in files if re.search(r"(^|/)(tests?|__pycache__)/|\.pyc$|(^|/)(test_|conftest)", file)] == []
    assert [file for file in files if file.endswith(".dist-info/licenses/LICENSE")] != []
    code = [file for file in files if ".dist-info/" not in file]
    if name == META:
        assert code == []
    elif name == CORE:
        assert {"cunumpy/__init__.py", "cunumpy/py.typed"} <= set(code)
        others = {other for member, row in MEMBERS.items() if member != CORE for other in row.submodules}
        assert {file.split("/")[1] for file in code} & others == set()
    else:
        plugin = {file for file in code if file.startswith("_cunumpy_pytest/")}  # what pytest loads, without cunumpy
        assert bool(plugin) == (name == "cunumpy-kernels")
        folders = {tuple(file.split("/")[:2]) for file in code if file not in plugin}
        assert folders == {("cunumpy", sub) for sub in MEMBERS[name].submodules}
        for submodule in MEMBERS[name].submodules:
            assert {f"cunumpy/{submodule}/__init__.py", f"cunumpy/{submodule}/py.typed"} <= set(code)


@pytest.mark.parametrize("name", NAMES)
def test_sdist_contents(name: str, built: Path) -> None:
    (path,) = built.glob(f"{name.replace('-', '_')}-[0-9]*.tar.gz")
    with tarfile.open(path) as archive:
        files = {file.split("/", 1)[1] for file in archive.getnames()}
    assert {"pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "PKG-INFO"} <= files
    source = {str(file.relative_to(PACKAGES / name).as_posix()) for file in (PACKAGES / name / "src").rglob("*.py")}
    assert source <= files
    assert [file for file in files if re.search(r"(^|/)(tests?|dist|__pycache__)/|\.pyc$", file)] == []


@pytest.mark.long
def test_wheels_from_source_distributions_equal_those_from_the_tree(built: Path, tmp_path: Path) -> None:
    # Without --wheel, uv builds the source distribution first and the wheel from it.
    uv("build", "--all-packages", "--wheel", "--quiet", "--out-dir", tmp_path, cwd=ROOT)
    direct = {wheel.name: wheel.read_bytes() for wheel in tmp_path.glob("*.whl")}
    assert len(direct) == len(NAMES)
    assert direct == {wheel.name: wheel.read_bytes() for wheel in built.glob("*.whl")}
