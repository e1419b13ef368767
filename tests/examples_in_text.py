"""Running the code blocks of the README and the documentation, each as a program of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path


def code_blocks(text: str) -> list[str]:
    """Give the Python blocks of a Markdown text; those that begin with `# needs PACKAGE` where it is installed only."""
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [block for block in blocks if all(map(find_spec, re.findall(r"\A# needs (\w+)", block)))]


def assert_runs_and_prints_what_it_says(program: str, folder: Path) -> list[str]:
    """Run a block and return the lines that it printed.

    A first line like `# NAME=value python example.py` says in which environment. A comment after a print is what is
    printed, `# says: ...` how a line begins; `# says why` and the like promise nothing exact.
    """
    file = folder / "example.py"
    file.write_text(program, encoding="utf-8")
    settings = dict(re.findall(r"(CUNUMPY_\w+)=(\S+)", program.splitlines()[0]))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CUNUMPY_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(file)], env=clean | settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    printed = done.stdout.splitlines()
    for shown in re.findall(r"^ *print\(.*\)  # (.+)$", program, re.MULTILINE):
        if shown.startswith("says: "):
            beginning = shown.removeprefix("says: ").removesuffix(" ...")
            assert any(line.startswith(beginning) for line in printed)
        elif not shown.startswith("says"):
            assert shown in printed
    return printed
