"""The README's examples run as they stand, each as a program of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from distributions import MEMBERS, META, OPTIONAL, PACKAGES, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS, ids=["nothing hidden", "no GPU", "no cost"])
def test_example_runs(program: str, tmp_path: Path) -> None:
    """A first line like `# NAME=value python example.py` says in which environment."""
    file = tmp_path / "example.py"
    file.write_text(program, encoding="utf-8")
    settings = dict(re.findall(r"(CUNUMPY_\w+)=(\S+)", program.splitlines()[0]))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CUNUMPY_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(file)], env=clean | settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # What a comment after a print shows is what is printed.
    printed = done.stdout.splitlines()
    shown = re.findall(r"^ *print\(.*\)  # (.+)$", program, re.MULTILINE)
    for expected in shown:
        if expected.startswith("says: "):
            beginning = expected.removeprefix("says: ").removesuffix(" ...")
            assert any(line.startswith(beginning) for line in printed)
        elif not expected.startswith("says"):
            assert expected in printed
    assert all(printed)


def test_examples_print_what_they_refuse(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAMS[0]], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    first = done.stdout.splitlines()[0]
    assert "to_numpy" in first
    assert "masked" in first


def test_table_lists_every_distribution() -> None:
    rows = re.findall(r"^\| `(cunumpy[\w-]*)` \|(.*)\| `uv add ([\w-]+)` \|(.*)\|$", README, re.MULTILINE)
    assert [row[0] for row in rows] == [META, *MEMBERS]
    for name, gives, added, _ in rows:
        assert added == name
        for submodule in MEMBERS[name].submodules if name in OPTIONAL else ():
            assert f"`xp.{submodule}`" in gives


def test_table_says_honestly_what_is_empty() -> None:
    """A package is "empty so far" exactly as long as none of its submodules has a public name."""
    for name in OPTIONAL:
        (row,) = re.findall(rf"^\| `{name}` \|.*$", README, re.MULTILINE)
        inits = [PACKAGES / name / "src/cunumpy" / each / "__init__.py" for each in MEMBERS[name].submodules]
        is_empty = all(re.search(r"^__all__(: list\[str\])? = \[\]$", init.read_text(), re.MULTILINE) for init in inits)
        assert row.endswith("| empty so far |") is is_empty, row


def test_links_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target
