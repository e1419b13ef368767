"""The README's examples run as they stand, each as a program of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from distributions import MEMBERS, META, OPTIONAL, PACKAGES, ROOT
from examples_in_text import assert_runs_and_prints_what_it_says, code_blocks

README = (ROOT / "README.md").read_text(encoding="utf-8")
PROGRAMS = code_blocks(README)


@pytest.mark.parametrize("program", PROGRAMS, ids=["nothing hidden", "no GPU", "no cost", "a kernel"])
def test_example_runs(program: str, tmp_path: Path) -> None:
    assert all(assert_runs_and_prints_what_it_says(program, tmp_path))


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
