"""Packages of different releases in one environment: upgraded one by one, and refused where they do not fit."""

from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path

import pytest

from distributions import CORE, MEMBERS, run_python, uv

RNG = "cunumpy-rng"
WORKS_WITH = ">=0.8,<0.9"


def release(wheel: Path, folder: Path, version: str, needs: str = WORKS_WITH) -> Path:
    """Make another release of a wheel: the same files, another version and other needs."""
    stem, _, tags = wheel.name.partition("-0.8.0-")
    assert tags, wheel.name
    other = folder / f"{stem}-{version}-{tags}"
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("/METADATA"):
                text = content.decode().replace("Version: 0.8.0\n", f"Version: {version}\n")
                text = re.sub(r"^(Requires-Dist: cunumpy-\w+).*$", rf"\1{needs}", text, flags=re.MULTILINE)
                content = text.encode()
            if name.endswith("/RECORD"):
                content = re.sub(rb",[^,\n]*,[^,\n]*$", b",,", content, flags=re.MULTILINE)
                content = content.replace(b"-0.8.0.dist-info", f"-{version}.dist-info".encode())
            new.writestr(name.replace("-0.8.0.dist-info", f"-{version}.dist-info"), content)
    return other


@pytest.fixture
def wheelhouse(wheels: dict[str, Path], tmp_path: Path) -> Path:
    """Our wheels, of 0.8.0, to which tests add other releases."""
    folder = tmp_path / "wheelhouse"
    folder.mkdir()
    for name in MEMBERS:
        shutil.copy(wheels[name], folder)
    return folder


@pytest.fixture
def project(tmp_path: Path, wheelhouse: Path) -> Path:
    """A user's project, which installs from the wheelhouse alone."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(f"""
[project]
name = "program"
version = "1"
requires-python = ">=3.11"
dependencies = []
[tool.uv]
no-index = true
find-links = [{str(wheelhouse)!r}]
# Not needed here, and not in the folder of links.
override-dependencies = ["array-api-compat; python_version < '3'", "numpy; python_version < '3'"]
""")
    return folder


def installed(project: Path) -> dict[str, str]:
    # `python -m uv` takes its own environment otherwise.
    listed = uv("pip", "freeze", "--python", project / ".venv", cwd=project).stdout
    return dict(re.findall(r"^([\w-]+) ?(?:==|@ file:.*?-)(\d[\w.]*)", listed, re.MULTILINE))


def test_one_package_is_upgraded_alone(project: Path, wheelhouse: Path, wheels: dict[str, Path]) -> None:
    uv("add", "--quiet", RNG, "cunumpy-algorithms", cwd=project)
    assert installed(project) == dict.fromkeys([CORE, "cunumpy-cuda", RNG, "cunumpy-algorithms"], "0.8.0")
    release(wheels[RNG], wheelhouse, "0.8.1")
    release(wheels[CORE], wheelhouse, "0.8.1")  # there, but not asked for
    uv("add", "--quiet", "--upgrade-package", RNG, RNG, cwd=project)
    assert installed(project) == {CORE: "0.8.0", "cunumpy-cuda": "0.8.0", RNG: "0.8.1", "cunumpy-algorithms": "0.8.0"}
    (site,) = (project / ".venv").rglob("site-packages")
    done = run_python("import cunumpy as xp; print(xp.rng.philox_uniform(1, 2, xp.arange(3)).size)", [site])
    assert done.stdout.split() == ["3"], done.stderr


def test_incompatible_pair_is_not_installed(project: Path, wheelhouse: Path, wheels: dict[str, Path]) -> None:
    release(wheels[RNG], wheelhouse, "0.9.0", ">=0.9,<0.10")
    done = uv("add", "cunumpy-core<0.9", "cunumpy-rng>=0.9", cwd=project, check=False)
    assert done.returncode != 0
    assert re.search(r"cunumpy-rng.*depends\s+on\s+cunumpy-core>=0\.9", done.stderr, re.DOTALL), done.stderr
    # A new core that is asked for takes the packages that it works with along, or is not taken.
    release(wheels[CORE], wheelhouse, "0.9.0")
    done = uv("add", "cunumpy-core>=0.9", "cunumpy-rng<0.9", cwd=project, check=False)
    assert done.returncode != 0


@pytest.mark.parametrize(
    ("changed", "version", "needs", "says"),
    [
        pytest.param(
            RNG,
            "0.9.0",
            ">=0.9,<0.10",
            "cunumpy-rng 0.9.0 works with cunumpy-core>=0.9,<0.10, and cunumpy-core 0.8.0 is installed. "
            "Run: uv add 'cunumpy-core>=0.9,<0.10'",
            id="core is too old",
        ),
        pytest.param(
            CORE,
            "0.9.0",
            "",
            "cunumpy-rng 0.8.0 works with cunumpy-core<0.9,>=0.8, and cunumpy-core 0.9.0 is installed. "
            "Run: uv add --upgrade-package cunumpy-rng cunumpy-rng",
            id="core is too new",
        ),
        pytest.param(
            "cunumpy-cuda",
            "0.9.0rc1",
            WORKS_WITH,
            "cunumpy-rng 0.8.0 works with cunumpy-cuda<0.9,>=0.8, and cunumpy-cuda 0.9.0rc1 is installed. "
            "Run: uv add --upgrade-package cunumpy-rng cunumpy-rng",
            id="a release candidate is too new",
        ),
    ],
)
def test_incompatible_pair_is_refused_on_import(
    changed: str, version: str, needs: str, says: str, wheels: dict[str, Path], tmp_path: Path
) -> None:
    """What was installed by force, or one by one."""
    chosen = [wheels[name] for name in (CORE, "cunumpy-cuda", RNG) if name != changed]
    site = tmp_path / "site"
    for wheel in (*chosen, release(wheels[changed], tmp_path, version, needs)):
        uv("pip", "install", "--quiet", "--no-deps", "--target", site, wheel)
    code = """
import cunumpy as xp
print(xp.zeros(3).sum())
for _ in range(2):  # not only the first time
    try:
        xp.rng
    except ImportError as error:
        print(type(error).__name__, error)
"""
    done = run_python(code, [site])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["0.0", *[f"MissingPackageError {says}"] * 2]
