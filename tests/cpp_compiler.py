"""The machine's C++ compiler, for tests of code that host and device share."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path


def compiler() -> list[str]:
    """Give the command of the C++ compiler; without one, the tests that need it fail and say what to install."""
    chosen = shlex.split(os.environ.get("CXX", ""))
    for command in [chosen] if chosen else [["c++"], ["g++"], ["clang++"]]:
        if shutil.which(command[0]):
            return command
    raise AssertionError("these tests need a C++ compiler; on Debian and Ubuntu: apt-get install g++")


def shared_library(source: str, library: Path, options: Sequence[str] = ()) -> ctypes.CDLL:
    """Compile C++ source to a shared library, and load it."""
    text = library.with_suffix(".cpp")
    text.write_text(source)
    command = [
        *compiler(),
        "-shared",
        "-fPIC",
        "-std=c++17",
        "-Wall",
        "-Werror",
        *options,
        str(text),
        "-o",
        str(library),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))
