"""An older `cunumpy`, of one distribution, in the folder that ours is installed into."""

from __future__ import annotations

import re
import shlex
import shutil
import zipfile
from pathlib import Path

import pytest

from distributions import CORE, MEMBERS, META, run_python, uv

OLD_SUBMODULES = ("algorithms", "cuda", "kernels", "mpi", "random_things")


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel like the releases before 0.8: one distribution, modules where ours has folders."""
    return build_older(tmp_path_factory.mktemp("older"), OLD_SUBMODULES)


def build_older(folder: Path, modules: tuple[str, ...]) -> Path:
    wheel = folder / "cunumpy-0.7.1-py3-none-any.whl"
    info = "cunumpy-0.7.1.dist-info"
    files = {
        "cunumpy/__init__.py": "from . import algorithms, cuda, kernels, mpi\n__version__ = '0.7.1'\nold = True\n",
        **{f"cunumpy/{name}.py": "old = True\n" for name in modules},
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: cunumpy\nVersion: 0.7.1\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel


def install(folder: Path, *wheels: Path) -> None:
    """Install one after the other, as happens when environments grow; a later one overwrites."""
    for wheel in wheels:
        uv("pip", "install", "--quiet", "--no-deps", "--target", folder, wheel)


def assert_reported(text: str) -> None:
    for fragment in ("cunumpy 0.7.1", "older", "uv add"):
        assert fragment in text, text


def test_ours_installed_last_warns(older: Path, wheels: dict[str, Path], tmp_path: Path) -> None:
    install(tmp_path, older, wheels[CORE])
    done = run_python("import cunumpy; print(cunumpy.zeros(3).sum())", [tmp_path], warnings="default")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "0.0"
    assert "InstallationWarning" in done.stderr
    assert_reported(done.stderr)


def test_warning_can_be_made_an_error(older: Path, wheels: dict[str, Path], tmp_path: Path) -> None:
    install(tmp_path, older, wheels[CORE])
    done = run_python("import cunumpy", [tmp_path], warnings="error")
    assert done.returncode != 0
    assert_reported(done.stderr)


def test_warning_points_at_the_import(older: Path, wheels: dict[str, Path], tmp_path: Path) -> None:
    install(tmp_path, older, wheels[CORE])
    program = tmp_path / "program.py"
    program.write_text("import cunumpy\n")
    done = run_python("import runpy; runpy.run_path(sys.argv[1])", [tmp_path], program, warnings="default")
    assert "program.py:1: InstallationWarning" in done.stderr, done.stderr


@pytest.mark.parametrize("name", [name for name in MEMBERS if name != CORE])
def test_older_installed_last_makes_our_submodules_raise(
    name: str, older: Path, wheels: dict[str, Path], tmp_path: Path
) -> None:
    # Both lie there as folder and module for some names; the folder, ours, is what Python takes.
    install(tmp_path, *wheels.values(), older)
    code = f"""
import importlib
try:
    importlib.import_module("cunumpy.{MEMBERS[name].submodules[0]}")
except ImportError as error:
    print(error)
"""
    done = run_python(code, [tmp_path], third_party=["array-api-compat", "numpy", "scipy"])
    assert done.returncode == 0, done.stderr
    assert_reported(done.stdout)


@pytest.mark.parametrize("members", [[CORE], [META, *MEMBERS]])
def test_ours_alone_says_nothing(members: list[str], wheels: dict[str, Path], tmp_path: Path) -> None:
    install(tmp_path, *(wheels[name] for name in members))
    done = run_python("import cunumpy", [tmp_path], warnings="error")
    assert done.returncode == 0, done.stderr


def test_newer_metapackage_says_nothing(wheels: dict[str, Path], tmp_path: Path) -> None:
    install(tmp_path, wheels[CORE])
    for version in ("0.8.0rc1", "0.10.0", "1.0"):
        (tmp_path / f"cunumpy-{version}.dist-info").mkdir()
    done = run_python("import cunumpy", [tmp_path], warnings="error")
    assert done.returncode == 0, done.stderr


def test_the_remedy_mends_the_environment(wheels: dict[str, Path], tmp_path: Path) -> None:
    """Removing the older release takes the files that both have with it, so that ours have to be installed again."""
    older = build_older(tmp_path, (*OLD_SUBMODULES, "rng/__init__"))
    install(tmp_path / "env", older, wheels[CORE])
    reported = run_python("import cunumpy", [tmp_path / "env"], warnings="default").stderr
    (command,) = re.findall(r"uv (add [^\n,;`]*[^\n,;`.])", reported)

    links = tmp_path / "links"
    links.mkdir()
    for wheel in (older, *wheels.values()):
        shutil.copy(wheel, links)
    (tmp_path / "pyproject.toml").write_text(f"""
[project]
name = "program"
version = "1"
requires-python = ">=3.11"
dependencies = []
[tool.uv]
no-index = true
find-links = [{str(links)!r}]
# Not needed here, and not in the folder of links.
override-dependencies = [
    "array-api-compat; python_version < '3'",
    "numpy; python_version < '3'",
    "scipy; python_version < '3'",
]
""")
    uv("add", "--quiet", "cunumpy<0.8", "cunumpy-core", "cunumpy-rng", cwd=tmp_path)
    uv(*shlex.split(command), cwd=tmp_path)
    (site,) = (tmp_path / ".venv").rglob("site-packages")
    done = run_python("import cunumpy; print(cunumpy.__file__, cunumpy.rng.__file__)", [site], warnings="error")
    assert done.returncode == 0, done.stderr
    assert "None" not in done.stdout  # a folder whose files are gone is an empty namespace


def test_older_removed_without_installing_ours_again_raises(wheels: dict[str, Path], tmp_path: Path) -> None:
    """Removing it by hand takes the files that both have."""
    install(tmp_path, wheels[CORE], wheels["cunumpy-mpi"])
    (tmp_path / "cunumpy" / "__init__.py").unlink()
    done = run_python("import cunumpy.mpi", [tmp_path])
    assert done.returncode != 0
    assert "ImportError" in done.stderr
    assert "uv add --reinstall" in done.stderr
