"""The wheels and source distributions of the working tree, built once."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from distributions import MEMBERS, META, ROOT, uv


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the nine source distributions, and the nine wheels built from them."""
    folder = tmp_path_factory.mktemp("built")
    uv("build", "--all-packages", "--quiet", "--out-dir", folder, cwd=ROOT)
    return folder


@pytest.fixture(scope="session")
def wheels(built: Path) -> dict[str, Path]:
    """The wheel of each distribution."""
    return {name: next(built.glob(f"{name.replace('-', '_')}-[0-9]*.whl")) for name in (META, *MEMBERS)}


@pytest.fixture(scope="session")
def unpacked(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of its own for each distribution, with what its wheel installs."""
    folders = {}
    for name, wheel in wheels.items():
        folders[name] = tmp_path_factory.mktemp(name)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folders[name])
    return folders
