"""What must not get into the repository, and what its files promise."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from distributions import MEMBERS, OWNER, PACKAGES, ROOT

# Put together from pieces, so that this file does not match itself.
REGISTRY = re.compile(
    "|".join(
        [
            r"pypi\." + "org",
            r"python" + "hosted",
            r"registry\.npm" + r"js",
            r"deb\." + "debian",
            r"anaconda\." + "org",
            r"https?://[^\s/\"'`)]+/" + r"(simple|packages|debian)/",
        ]
    )
)
MACHINE_PATH = re.compile(r"(?<![\w.$}])/" + r"(work|tmp|root|home/[a-z]+|Users/[a-z]+)/[\w.-]+")
PIP = re.compile(r"pip3? " + r"install\b(?! (--quiet )?(--upgrade |--target \S+ )*uv\b)")
CONDA = re.compile(r"\b(mini|micro)?(conda|mamba)(-forge)?\b", re.IGNORECASE)
UV_PIP = re.compile(r"uv pip " + "install")


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        files = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
        return [file for file in files if file.is_file()]
    ignored = {".venv", "dist", "build", "__pycache__", "uv.lock"}
    return [file for file in ROOT.rglob("*") if file.is_file() and not ignored & set(file.relative_to(ROOT).parts)]


def matches(pattern: re.Pattern[str], *, without: re.Pattern[str] | None = None) -> list[str]:
    found = []
    for file in tracked():
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if pattern.search(without.sub("", line) if without else line):
                found.append(f"{file.relative_to(ROOT)}:{number}: {line.strip()}")
    return found


def test_no_address_of_a_registry() -> None:
    assert matches(REGISTRY) == []


def test_no_path_of_a_machine() -> None:
    assert matches(MACHINE_PATH) == []


def test_instructions_use_uv() -> None:
    assert matches(PIP, without=UV_PIP) == []
    assert [line for line in matches(CONDA) if not line.startswith("tests/packaging/test_repository.py")] == []


@pytest.mark.parametrize(
    ("text", "is_bad"),
    [
        ("pip " + "install cunumpy", True),
        ("python3 -m pip " + "install uv && python3 -m uv run pytest", False),
        ("python -m pip " + "install --upgrade uv", False),
        ("pip " + "install uvloop", True),
    ],
)
def test_search_for_instructions_finds_them(text: str, is_bad: bool) -> None:
    assert bool(PIP.search(text)) is is_bad


def test_no_generated_file_is_tracked() -> None:
    listed = subprocess.run(["git", "ls-files", "-ci", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    assert listed.stdout == ""
    assert "uv.lock" in (ROOT / ".gitignore").read_text().splitlines()


def test_every_third_party_package_is_pinned() -> None:
    lock = ROOT / "uv.lock"
    if not lock.exists():
        pytest.skip("no lock file; `uv run` writes it")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]
    pins = dict(pin.split("==") for pin in settings["constraint-dependencies"])
    locked = {
        package["name"]: package["version"]
        for package in tomllib.loads(lock.read_text(encoding="utf-8"))["package"]
        if "registry" in package["source"]
    }
    assert locked == pins
    # Builds have pins of their own; a package that is in both lists has one version.
    build_pins = dict(pin.split("==") for pin in settings["build-constraint-dependencies"])
    assert {name: version for name, version in build_pins.items() if pins.get(name, version) != version} == {}


def test_workspace_lists_every_member() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    members = {"cunumpy", *MEMBERS}
    assert set(settings["tool"]["uv"]["sources"]) == members
    assert members <= set(settings["dependency-groups"]["dev"])


def public_modules() -> list[str]:
    """Every module below cunumpy without an underscore in its path."""
    found = []
    for name in MEMBERS:
        source = PACKAGES / name / "src"
        for file in source.rglob("*.py"):
            parts = file.relative_to(source).with_suffix("").parts
            if not any(part.startswith("_") and part != "__init__" for part in parts):
                found.append(".".join(parts).removesuffix(".__init__"))
    return sorted(found)


@pytest.mark.parametrize("name", public_modules())
def test_public_module_lists_and_documents_its_names(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__, name
    names = module.__all__
    assert len(names) == len(set(names))
    assert [each for each in names if not hasattr(module, each)] == []
    for each in names:
        value = getattr(module, each)
        own = getattr(value, "__module__", None) or ""
        if own.startswith("cunumpy") and (inspect.isclass(value) or inspect.isroutine(value)):
            assert inspect.getdoc(value), f"{name}.{each} has no docstring"


def test_public_modules_are_those_of_the_table() -> None:
    assert {name.split(".")[1] for name in public_modules() if name.count(".")} == set(OWNER)


def test_workflow_covers_systems_and_pythons() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    # YAML 1.1 reads the key `on` as true.
    assert {"push", "pull_request"} <= set(workflow[True])
    matrix = workflow["jobs"]["tests"]["strategy"]["matrix"]
    assert [system.split("-")[0] for system in matrix["os"]] == ["ubuntu", "macos", "windows"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    classifiers = tomllib.loads((PACKAGES / "cunumpy/pyproject.toml").read_text())["project"]["classifiers"]
    assert [f"Programming Language :: Python :: {version}" for version in matrix["python"]] == [
        line for line in classifiers if re.search(r":: 3\.\d+$", line)
    ]


def test_workflow_and_hooks_call_what_the_project_calls() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    steps = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    assert any("uv run pytest" in step for step in steps)
    assert any(".ci/run" in step for step in steps)
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [repository["repo"] for repository in hooks["repos"]] == ["local"]
    entries = [hook["entry"] for repository in hooks["repos"] for hook in repository["hooks"]]
    assert all(entry.startswith("uv run ") for entry in entries)


def test_citation_file() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    required = {"cff-version", "message", "title", "authors", "type", "version", "license"}
    assert required <= set(citation)
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["license"] == "MIT"
    project = tomllib.loads((PACKAGES / "cunumpy/pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["version"] == project["version"]
