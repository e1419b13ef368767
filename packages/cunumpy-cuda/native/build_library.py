"""Building the native libraries of CuNumpy: a hatchling build hook that two distributions share.

A library is made of the ``.cpp`` files in the folder ``native`` of its distribution, of those beside this file, and of
headers of cunumpy-cuda. A source distribution carries copies of the latter two in its folder ``shared``.

Where no compiler is found, or with ``CUNUMPY_NO_NATIVE=1``, the wheel is a pure one; with ``CUNUMPY_REQUIRE_NATIVE=1``
that is an error. ``CXX`` names the compiler, ``LDFLAGS`` has more options for the linker. The library is for Python's
own platform, unless ``CUNUMPY_WHEEL_PLATFORM`` names another one, ``linux-aarch64`` say, that the compiler builds for.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = Path(__file__).resolve().parent
IN_SOURCE_DISTRIBUTION = NATIVE.parent.name == "shared"
INCLUDE = (
    NATIVE.parent / "include" if IN_SOURCE_DISTRIBUTION else NATIVE.parent / "src" / "cunumpy" / "cuda" / "include"
)

FLAGS = [
    "-std=c++17",
    "-O3",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-pthread",
    "-Wall",
]
LINK_FLAGS = {
    "linux": ["-Wl,-z,defs"],
    "macosx": ["-Wl,-install_name,@rpath/{name}"],  # else it names the folder that it was built in
    "win": ["-static"],  # the compiler's own libraries are not on other people's machines
}
X86_INSTRUCTION_SETS = {
    "avx2": ["-mavx2", "-mbmi", "-mbmi2"],
    "avx512": ["-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mbmi", "-mbmi2", "-mprefer-vector-width=512"],
}


def target_platform() -> tuple[str, str]:
    """Give the system, ``"linux"``, ``"macosx"`` or ``"win"``, and the platform tag of the wheel."""
    name = os.environ.get("CUNUMPY_WHEEL_PLATFORM") or sysconfig.get_platform()
    if name.endswith("universal2"):  # which Python is, and the library is not
        name = f"{name.rpartition('-')[0]}-{platform.machine()}"
    return name.partition("-")[0].rstrip("0123456789"), name.replace("-", "_").replace(".", "_")


SYSTEM, PLATFORM_TAG = target_platform()
if SYSTEM != "win":  # where all code is independent of its position, and the option is an error
    FLAGS.append("-fPIC")
SUFFIX = {"macosx": ".dylib", "win": ".dll", "mingw": ".dll"}.get(SYSTEM, ".so")


class BuildError(Exception):
    """The library can't be built; the text says why."""


class NativeLibraryHook(BuildHookInterface[Any]):
    """Builds the library of one distribution; a subclass says which."""

    module: str  # the subpackage of cunumpy
    headers: tuple[str, ...]  # the headers of cunumpy-cuda that it is built from

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the library to a wheel, or to the source folder if editable; to an sdist what it is built from."""
        if self.target_name == "sdist":
            if not IN_SOURCE_DISTRIBUTION:  # else they are among the files already
                for file in (*native_sources(NATIVE), NATIVE / "build_library.py"):
                    build_data["force_include"][str(file)] = f"shared/native/{file.name}"
                for name in self.headers:
                    build_data["force_include"][str(INCLUDE / "cunumpy" / name)] = f"shared/include/cunumpy/{name}"
            return
        name = f"_cunumpy_{self.module}{SUFFIX}"
        installed = Path(self.root) / "src" / "cunumpy" / self.module / name
        self.folder = tempfile.TemporaryDirectory(prefix="cunumpy-")
        library = Path(self.folder.name) / name
        try:
            if flag("CUNUMPY_NO_NATIVE"):
                raise BuildError("CUNUMPY_NO_NATIVE is set")
            build(Path(self.root) / "native", self.headers, library)
        except BuildError as problem:
            if flag("CUNUMPY_REQUIRE_NATIVE"):
                raise
            self.app.display_warning(f"cunumpy.{self.module} is built without its native library: {problem}")
            if version == "editable":
                installed.unlink(missing_ok=True)
            return
        if version == "editable":
            # Replaced in one step: a running process may have the old one loaded.
            partial = installed.with_name(f"{name}.{os.getpid()}")
            shutil.copy2(library, partial)
            partial.replace(installed)
        else:
            build_data["force_include"][str(library)] = f"cunumpy/{self.module}/{name}"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{PLATFORM_TAG}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was only needed for the build."""
        if self.target_name != "sdist":
            self.folder.cleanup()


def native_sources(folder: Path) -> list[Path]:
    """Give the C++ files and headers of a folder."""
    return sorted(file for file in folder.iterdir() if file.suffix in (".cpp", ".hpp"))


def flag(name: str) -> bool:
    """Read a flag of the environment; cunumpy, which has the parser for these, is not installed here."""
    return os.environ.get(name, "").strip().lower() in ("1", "true", "yes", "on")


def header_hash(name: str) -> str:
    """Hash the contents of a header as `cunumpy.cuda.include_hash` does."""
    try:
        content = (INCLUDE / "cunumpy" / name).read_bytes()
    except OSError as error:
        raise BuildError(f"the header cunumpy/{name} can't be read: {error}") from None
    return hashlib.sha256(len(content).to_bytes(8, "little") + content).hexdigest()[:16]


def find_compiler() -> list[str]:
    """Give the command of a C++ compiler that takes GCC's options."""
    candidates = (
        [shlex.split(os.environ["CXX"])] if os.environ.get("CXX", "").strip() else [["c++"], ["g++"], ["clang++"]]
    )
    for command in candidates:
        if shutil.which(command[0]):
            return command
    raise BuildError(f"no C++ compiler: {' or '.join(command[0] for command in candidates)} is not on the PATH")


def build(folder: Path, headers: tuple[str, ...], library: Path) -> None:
    """Compile and link a library.

    Parameters
    ----------
    folder : Path
        Has the ``.cpp`` files; ``NAME.simd.cpp`` is compiled for each instruction set.
    headers : tuple of str
        The headers of cunumpy-cuda that they include.
    library : Path
        Is written; object files are put beside it.

    Raises
    ------
    BuildError
        There is no compiler, or it fails.
    """
    compiler = find_compiler()
    sets: dict[str, list[str]] = {"baseline": []}
    if PLATFORM_TAG.endswith(("x86_64", "amd64")):
        sets |= X86_INSTRUCTION_SETS
    versions = ",".join(f"{name}:{header_hash(name)}" for name in headers)
    common = [*compiler, *FLAGS, f"-I{INCLUDE}", f"-I{NATIVE}", f'-DCUNUMPY_HEADERS="{versions}"']
    if "avx512" in sets:
        common.append("-DCUNUMPY_X86")
    objects, running = [], []
    for source in (*folder.glob("*.cpp"), *NATIVE.glob("*.cpp")):
        for name, options in sets.items() if source.name.endswith(".simd.cpp") else [("", [])]:
            target = library.with_name(f"{source.name}.{name}.o")
            command = [*common, *options, f"-DCUNUMPY_ISA={name}", "-c", str(source), "-o", str(target)]
            objects.append(str(target))
            running.append((command, start(command)))
    for command, process in running:
        finish(command, process)
    # In this order: with -static behind -shared, Zig makes an archive of object files.
    command = [*compiler, *(each.format(name=library.name) for each in LINK_FLAGS.get(SYSTEM, [])), "-shared"]
    command += ["-pthread", *objects, "-o", str(library), *shlex.split(os.environ.get("LDFLAGS", ""))]
    finish(command, start(command))


def start(command: list[str]) -> subprocess.Popen[str]:
    """Start a compiler."""
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    except OSError as error:
        raise BuildError(f"{command[0]} can't be run: {error}") from None


def finish(command: list[str], process: subprocess.Popen[str]) -> None:
    """Wait for a compiler; its messages become the error's text if it fails."""
    output = process.communicate()[0]
    if process.returncode != 0:
        raise BuildError(f"{shlex.join(command)} ended with {process.returncode}:\n{output}")
    if output:
        print(output, file=sys.stderr)
