"""What releases do: the steps of tools/release.py, and the workflows that call them."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from distributions import MEMBERS, META, NATIVE, PACKAGES, ROOT, uv

NAMES = (META, *MEMBERS)
WORKFLOWS = ROOT / ".github/workflows"
DAY = "2026-01-31"
MACOS_ARM64 = b"\xcf\xfa\xed\xfe\x0c\0\0\x01"  # how a library for it begins


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", ROOT / "tools/release.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["release"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path: Path, release: ModuleType) -> Path:
    """A copy of the files that releases write, in which 0.8.0 of everything is released."""
    for name in NAMES:
        (tmp_path / "packages" / name).mkdir(parents=True)
        for file in ("pyproject.toml", "CHANGELOG.md"):
            shutil.copy(PACKAGES / name / file, tmp_path / "packages" / name)
    (tmp_path / "docs").mkdir()
    for page in ("README.md", "CITATION.cff", "docs/install.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        (tmp_path / page).write_text(text.replace("is not published yet", "is there"), encoding="utf-8")
    for name in (*MEMBERS, META):
        release.prepare(name, "0.8.0", DAY, tmp_path)
    return tmp_path


def announce(tree: Path, name: str, version: str, text: str = "- Something new.") -> None:
    """Write down a change that is to be released."""
    path = tree / "packages" / name / "CHANGELOG.md"
    title, _, rest = path.read_text().partition("\n\n")
    path.write_text(f"{title}\n\n## {version} (unreleased)\n\n{text}\n\n{rest}")


def version(tree: Path, name: str) -> str:
    return tomllib.loads((tree / "packages" / name / "pyproject.toml").read_text())["project"]["version"]


# --- check ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_fits_together(name: str, release: ModuleType) -> None:
    release.check(name)
    assert release.Project(name).is_native is (name in NATIVE)


def test_names_are_those_of_the_workspace_and_needed_ones_come_first(release: ModuleType) -> None:
    assert sorted(release.NAMES) == sorted(NAMES)
    for name, row in MEMBERS.items():
        assert set(release.Project(name).needs()) == {name, *row.needs}
    for name in release.NAMES:  # the order in which they are released
        assert all(release.NAMES.index(need) <= release.NAMES.index(name) for need in release.Project(name).needs())


def test_pages_that_call_it_unpublished_stop_the_release_of_the_metapackage(tree: Path, release: ModuleType) -> None:
    page = tree / "docs/install.md"
    page.write_text(page.read_text() + "\nVersion 0.8.0 is not published yet.\n")
    release.check(META, None, tree)
    with pytest.raises(release.ReleaseError, match=r"docs/install\.md says that it is not published yet: remove that"):
        release.check(META, "cunumpy-v0.8.0", tree)


def test_unknown_distribution_is_refused(release: ModuleType) -> None:
    with pytest.raises(release.ReleaseError, match=r"no distribution 'cunumpy-rgn'; there are: cunumpy-core, "):
        release.check("cunumpy-rgn")


@pytest.mark.parametrize(
    ("edit", "tag", "says"),
    [
        (("packages/cunumpy-rng/CHANGELOG.md", f"({DAY})", "(unreleased)"), "cunumpy-rng-v0.8.0", "calls 0.8.0 unrel"),
        (("packages/cunumpy-rng/CHANGELOG.md", "## 0.8.0", "## 0.8.1"), None, r"newest part .* is '0.8.1 \("),
        (None, "cunumpy-rng-v0.8.1", "the tag is 'cunumpy-rng-v0.8.1', and pyproject.toml says 'cunumpy-rng-v0.8.0'"),
        (
            ("packages/cunumpy-core/pyproject.toml", 'version = "0.8.0"', 'version = "0.9.0"'),
            None,
            r"requires cunumpy-core<0.9,>=0.8, and beside it is cunumpy-core 0.9.0",
        ),
    ],
)
def test_what_does_not_fit_is_named(
    edit: tuple[str, str, str] | None, tag: str | None, says: str, tree: Path, release: ModuleType
) -> None:
    release.check("cunumpy-rng", "cunumpy-rng-v0.8.0", tree)
    if edit is not None:
        path, old, new = edit
        text = (tree / path).read_text()
        assert old in text
        (tree / path).write_text(text.replace(old, new))
    with pytest.raises(release.ReleaseError, match=says):
        release.check("cunumpy-rng", tag, tree)


# --- prepare ----------------------------------------------------------------------------------------------------------


def test_first_release_dates_every_changelog(tree: Path, release: ModuleType) -> None:
    for name in NAMES:
        assert f"\n## 0.8.0 ({DAY})\n" in (tree / "packages" / name / "CHANGELOG.md").read_text()
        release.check(name, f"{name}-v0.8.0", tree)


def test_release_of_one_package_moves_the_metapackage_along(tree: Path, release: ModuleType) -> None:
    announce(tree, "cunumpy-rng", "0.8.1")
    tags = release.prepare("cunumpy-rng", "0.8.1", DAY, tree)
    assert tags == ["cunumpy-rng-v0.8.1", "cunumpy-v0.8.1"]
    assert {name: version(tree, name) for name in NAMES} == dict.fromkeys(NAMES, "0.8.0") | {
        "cunumpy-rng": "0.8.1",
        META: "0.8.1",
    }
    assert f"## 0.8.1 ({DAY})\n\n- Something new.\n" in (tree / "packages/cunumpy-rng/CHANGELOG.md").read_text()
    changes = (tree / "packages/cunumpy/CHANGELOG.md").read_text()
    assert f"\n## 0.8.1 ({DAY})\n\n- `cunumpy-rng` 0.8.1 (was 0.8.0).\n\n## 0.8.0 ({DAY})\n" in changes
    pins = {each.name: str(each.specifier) for each in release.Project(META, tree).requirements()}
    assert pins["cunumpy-rng"] == "==0.8.1"
    assert pins["cunumpy-core"] == "==0.8.0"
    for page in ("CITATION.cff", "README.md", "docs/install.md"):
        text = (tree / page).read_text()
        assert re.search(r"(cunumpy==|^version: )0\.8\.1$|cunumpy==0\.8\.1\b", text, re.MULTILINE), page
        assert "cunumpy==0.8.0" not in text
    for name, tag in (("cunumpy-rng", tags[0]), (META, tags[1])):
        release.check(name, tag, tree)


def test_pages_need_not_name_a_version(tree: Path, release: ModuleType) -> None:
    for page in ("README.md", "docs/install.md"):
        (tree / page).write_text("uv add cunumpy\n")
    announce(tree, META, "0.8.1")
    assert release.prepare(META, "0.8.1", DAY, tree) == ["cunumpy-v0.8.1"]
    assert (tree / "README.md").read_text() == "uv add cunumpy\n"


def test_extras_of_the_metapackage_are_pinned_too(tree: Path, release: ModuleType) -> None:
    announce(tree, "cunumpy-kernels", "0.8.1")
    release.prepare("cunumpy-kernels", "0.8.1", DAY, tree)
    pins = [str(each) for each in release.Project(META, tree).requirements() if each.name == "cunumpy-kernels"]
    assert len(pins) > 1
    assert all(pin.endswith("==0.8.1") for pin in pins)


def test_metapackage_that_is_not_released_yet_collects_the_changes(tree: Path, release: ModuleType) -> None:
    announce(tree, META, "0.8.1", "- All together.")
    for name in ("cunumpy-rng", "cunumpy-mpi"):
        announce(tree, name, "0.8.1")
        assert release.prepare(name, "0.8.1", DAY, tree) == [f"{name}-v0.8.1"]
    assert version(tree, META) == "0.8.0"
    assert release.prepare(META, "0.8.1", DAY, tree) == ["cunumpy-v0.8.1"]
    assert release.Project(META, tree).changes() == (
        f"0.8.1 ({DAY})",
        "- All together.\n- `cunumpy-rng` 0.8.1 (was 0.8.0).\n- `cunumpy-mpi` 0.8.1 (was 0.8.0).",
    )


def test_minor_release_that_others_do_not_allow_is_refused_before_anything_is_written(
    tree: Path, release: ModuleType
) -> None:
    announce(tree, "cunumpy-core", "0.9.0")
    before = {path: path.read_text() for path in tree.rglob("*.*") if path.is_file()}
    with pytest.raises(release.ReleaseError, match=r"cunumpy-cuda requires cunumpy-core<0\.9,>=0\.8: to release"):
        release.prepare("cunumpy-core", "0.9.0", DAY, tree)
    assert {path: path.read_text() for path in before} == before


@pytest.mark.parametrize(
    ("announced", "asked", "says"),
    [
        (None, "0.8.1", r"put what changes under a heading '## 0.8.1 \(unreleased\)' first"),
        ("0.8.1", "0.7.9", "is at 0.8.0 already; a new version has to be later than 0.7.9"),
        ("0.8.1", "next", "'next' is no version as in PEP 440"),
    ],
)
def test_what_can_not_be_released(
    announced: str | None, asked: str, says: str, tree: Path, release: ModuleType
) -> None:
    if announced:
        announce(tree, "cunumpy-rng", announced)
    with pytest.raises(release.ReleaseError, match=says):
        release.prepare("cunumpy-rng", asked, DAY, tree)


# --- build and verify -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [META, "cunumpy-core", "cunumpy-mpi"])
def test_pure_distributions_pass(name: str, built: Path, release: ModuleType) -> None:
    stem = f"{name.replace('-', '_')}-{version(ROOT, name)}"
    lines = release.verify(name, built)
    assert [line.split()[0] for line in lines] == [f"{stem}.tar.gz", f"{stem}-py3-none-any.whl"]


@pytest.mark.parametrize("name", NATIVE)
def test_native_wheel_of_one_machine_is_not_published(name: str, built: Path, release: ModuleType) -> None:
    if not list(built.glob(f"{name.replace('-', '_')}-*-py3-none-linux_*.whl")):
        pytest.skip("no native wheel was built here, or not on Linux")
    with pytest.raises(release.ReleaseError, match=r"\.whl has a platform that no release is for, linux_"):
        release.verify(name, built)


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    """What is built of cunumpy-rng: the source distribution, a pure wheel and one with a library, for macOS."""
    (sdist,), (wheel,) = built.glob("cunumpy_rng-*.tar.gz"), built.glob("cunumpy_rng-*.whl")
    shutil.copy(sdist, tmp_path)
    for tag, library in (("any", None), ("macosx_11_0_arm64", MACOS_ARM64)):
        name = wheel.name.split("-py3-")[0] + f"-py3-none-{tag}.whl"
        with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(tmp_path / name, "w") as new:
            for file in old.namelist():
                content = old.read(file)
                if file.endswith("/WHEEL"):
                    content = re.sub(rb"Tag: .*", f"Tag: py3-none-{tag}".encode(), content)
                if not file.endswith((".so", ".dylib")):
                    new.writestr(file, content)
            if library:
                new.writestr("cunumpy/rng/_cunumpy_rng.dylib", library)
    return tmp_path


def edit_wheel(wheel: Path, file: str, content: bytes) -> None:
    with zipfile.ZipFile(wheel) as old:
        files = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(wheel, "w") as new:
        for name, text in (files | {file: content}).items():
            new.writestr(name, text)


def test_wheels_that_are_asked_for_have_to_be_there(folder: Path, release: ModuleType) -> None:
    assert len(release.verify("cunumpy-rng", folder, ["macos-arm64"])) == 3
    with pytest.raises(release.ReleaseError, match="no wheel of cunumpy-rng for linux-aarch64, windows-x86_64"):
        release.verify("cunumpy-rng", folder, ["macos-arm64", "windows-x86_64", "linux-aarch64"])


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("cunumpy/rng/_cunumpy_rng.dylib", b"\xcf\xfa\xed\xfe\x07\0\0\x01", "has code of another platform"),
        ("cunumpy/rng/_cunumpy_rng.dylib", b"\x7fELF" + bytes(14) + b"\xb7\0", "has code of another platform"),
        ("cunumpy/rng/_cunumpy_rng.dylib", b"!<arch>\n", "has code of another platform"),  # a static library
        (
            "cunumpy/rng/_cunumpy_rng.dylib",
            MACOS_ARM64 + b"\0/tmp/cunumpy-ppsq_6ce/_cunumpy_rng.dylib",
            "has a path of",
        ),
        ("cunumpy_rng-VERSION.dist-info/WHEEL", b"Tag: py3-none-any\n", "has tags that differ from its name's"),
        ("cunumpy/rng/notes.txt", b"", "has other files than the pure wheel"),
    ],
)
def test_wheel_that_is_not_what_its_name_says(
    file: str, content: bytes, says: str, folder: Path, release: ModuleType
) -> None:
    (wheel,) = folder.glob("*macosx*")
    edit_wheel(wheel, file.replace("VERSION", version(ROOT, "cunumpy-rng")), content)
    with pytest.raises(release.ReleaseError, match=says):
        release.verify("cunumpy-rng", folder)


@pytest.mark.parametrize(
    ("tag", "runs"),
    [
        ("manylinux_2_17_aarch64", True),
        ("manylinux_2_5_aarch64", True),
        ("manylinux_2_28_aarch64", False),
        ("manylinux_2_17_x86_64", False),
        ("linux_aarch64", False),
        ("any", False),
    ],
)
def test_wheels_for_older_systems_run_on_newer_ones(tag: str, runs: bool, release: ModuleType) -> None:
    assert release.TARGETS["linux-aarch64"].runs(tag) is runs


def test_every_platform_has_a_target(release: ModuleType) -> None:
    systems = {name.partition("-")[0] for name in release.TARGETS}
    assert systems == {"linux", "macos", "windows"}
    assert {"linux-x86_64", "linux-aarch64"} < set(release.TARGETS)


# --- workflows --------------------------------------------------------------------------------------------------------


def workflow(name: str) -> dict:
    return yaml.safe_load((WORKFLOWS / name).read_text(encoding="utf-8"))


def test_every_distribution_has_the_same_workflow_of_its_own() -> None:
    assert {path.name for path in WORKFLOWS.glob("release-*.yml")} == {f"release-{name}.yml" for name in NAMES}
    template = (WORKFLOWS / "release-cunumpy-core.yml").read_text(encoding="utf-8")
    for name in NAMES:
        text = (WORKFLOWS / f"release-{name}.yml").read_text(encoding="utf-8")
        assert text == template.replace("cunumpy-core", name)
        data = workflow(f"release-{name}.yml")
        assert data[True]["push"] == {"tags": [f"{name}-v*"]}  # YAML 1.1 reads the key `on` as true
        assert data["jobs"]["release"]["uses"] == "./.github/workflows/release.yml"
        assert data["jobs"]["release"]["with"] == {"distribution": name}


def test_tags_start_one_workflow_each() -> None:
    """A tag of ``cunumpy-core`` is none of ``cunumpy``."""
    from fnmatch import fnmatchcase

    for name in NAMES:
        tag = f"{name}-v0.8.0"
        assert [other for other in NAMES if fnmatchcase(tag, f"{other}-v*")] == [name]


def test_only_the_job_that_uploads_may_and_only_for_tags() -> None:
    jobs = workflow("release-cunumpy-core.yml")["jobs"]
    publish = jobs["publish"]
    assert publish["needs"] == "release"
    assert publish["environment"] == "release"
    assert publish["permissions"] == {"id-token": "write"}  # trusted publishing: there is no password to keep
    assert any(step["uses"].startswith("pypa/gh-action-pypi-publish@") for step in publish["steps"])
    # A tag is the only thing that is pushed to these; who starts one by hand, on a tag even, rehearses.
    assert all(jobs[name]["if"] == "github.event_name == 'push'" for name in ("publish", "announce"))
    assert workflow("release.yml")["jobs"]["attest"]["if"] == "github.event_name == 'push'"
    assert workflow("release-cunumpy-core.yml")["permissions"] == {"contents": "read"}


def test_actions_are_named_by_the_hash_of_a_release() -> None:
    """A tag may be moved to other code, a hash may not; one action has the same hash everywhere."""
    used = re.findall(r"uses: (?!\./)(\S+)(.*)$", "\n".join(map(Path.read_text, WORKFLOWS.glob("*.yml"))), re.MULTILINE)
    assert len(used) > 10
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action) for action, _ in used)
    assert all(re.fullmatch(r" # v\d+\.\d+\.\d+", comment) for _, comment in used)
    assert len(set(used)) == len({action.partition("@")[0] for action, _ in used})


def steps(data: dict) -> list[str]:
    return [step["run"] for job in data["jobs"].values() for step in job.get("steps", []) if "run" in step]


def test_steps_of_the_release_are_those_of_the_tool(release: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[tuple[str, tuple]] = []
    for name in ("check", "build", "verify", "try_alone"):
        monkeypatch.setattr(release, name, lambda *given, name=name: called.append((name, given)) or [])
    values = {"DISTRIBUTION": "cunumpy-rng", "GITHUB_REF_NAME": "cunumpy-rng-v0.8.0", "PYTHON": "3.14"}
    for command in steps(workflow("release.yml")):
        if "tools/release.py" not in command:
            continue
        for name, value in values.items():
            command = command.replace(f'"${name}"', value)
        assert "$" not in command
        words = shlex.split(command.partition(">")[0])
        assert words[:3] == ["uv", "run", "tools/release.py"]
        assert release.main(words[3:]) == 0
    assert [name for name, _ in called] == ["check", "check", "build", "verify", "try_alone"]
    assert called[0][1] == ("cunumpy-rng", "cunumpy-rng-v0.8.0")
    assert called[2][1][2] == list(release.TARGETS)
    assert called[4][1][2] == "3.14"


def test_releases_are_tried_on_every_platform_that_wheels_are_built_for(release: ModuleType) -> None:
    tried = workflow("release.yml")["jobs"]["minimal"]["strategy"]["matrix"]
    machine = {"ubuntu-latest": "linux-x86_64", "ubuntu-24.04-arm": "linux-aarch64", "macos-15-intel": "macos-x86_64"}
    machine |= {"macos-latest": "macos-arm64", "windows-latest": "windows-x86_64"}
    assert {machine[name] for name in tried["os"]} == set(release.TARGETS)
    assert tried["python"] == ["3.11", "3.14"]


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.name)
def test_scripts_and_needs_of_workflows(path: Path) -> None:
    data = workflow(path.name)
    for script in steps(data):
        if bash := shutil.which("bash"):
            subprocess.run([bash, "-n"], input=script, text=True, check=True)
        # What comes from outside reaches scripts as variables of the environment, never as text.
        assert "${{" not in script, script
    for job in data["jobs"].values():
        needed = job.get("needs", [])
        assert set([needed] if isinstance(needed, str) else needed) <= set(data["jobs"])
        assert "uses" in job or "timeout-minutes" in job


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="scripts of bash")
def test_scripts_of_a_release_run_from_the_tag_to_the_announcement(tmp_path: Path) -> None:
    """What GitHub would run, in its order, with a Python that has pip and nothing else; only `gh` is one of ours."""
    name, tag = "cunumpy-mpi", "cunumpy-mpi-v0.8.0"
    place = tmp_path / "checkout"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for file in filter(None, listed.stdout.split("\0")):
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, place / file)
    uv("run", "tools/release.py", "prepare", name, "0.8.0", cwd=place)

    uv("venv", "--quiet", "--no-project", "--seed", tmp_path / "machine")
    programs = tmp_path / "machine/bin"
    (programs / "gh").write_text('#!/bin/sh\nprintf "%s\\n" "$@" > gh.txt; cat notes.md >> gh.txt\n')
    (programs / "gh").chmod(0o755)
    values = {"inputs.distribution": name, "matrix.python": "3.11", "github.token": "none", "github.repository": "a/b"}
    called, publishing = workflow("release.yml"), workflow(f"release-{name}.yml")
    for data, titles in ((called, ("build", "minimal")), (publishing, ("announce",))):
        for job in (data["jobs"][title] for title in titles):
            given = {
                key: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: values[found[1]], text)
                for key, text in {**data.get("env", {}), **job.get("env", {})}.items()
            }
            environment = {key: text for key, text in os.environ.items() if key not in ("UV", "VIRTUAL_ENV")} | {
                "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
                "GITHUB_REF_NAME": tag,
                **given,
            }
            for step in job["steps"]:
                if "run" in step and "!= 'push'" not in step.get("if", ""):
                    done = subprocess.run(
                        ["bash", "-eo", "pipefail", "-c", step["run"]],
                        cwd=place,
                        env=environment,
                        capture_output=True,
                        text=True,
                        check=False,
                    )
                    assert done.returncode == 0, step["run"] + done.stdout[-5000:] + done.stderr[-5000:]
    stem = "cunumpy_mpi-0.8.0"
    files = {file.name for file in (place / "dist").iterdir()} - {".gitignore"}  # of uv's
    assert files == {f"{stem}.tar.gz", f"{stem}-py3-none-any.whl"}
    told = (place / "gh.txt").read_text()
    assert told.startswith(f"release\ncreate\n{tag}\ndist/{stem}-py3-none-any.whl\ndist/{stem}.tar.gz\n")
    assert "First release from the workspace" in told
