"""The pages on the CUDA headers give every public function and macro as it is declared, and their examples compile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from header_declarations import HEADERS, declared
from nvrtc import cuda_report

DOCS = Path(__file__).parents[2] / "docs"


def blocks(name: str, language: str) -> list[str]:
    text = (DOCS / "headers" / f"{name}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{re.escape(language)}\n(.*?)^```", text, re.M | re.S)


@pytest.mark.parametrize("name", HEADERS)
def test_a_page_gives_what_its_header_declares_and_nothing_else(name):
    assert {line for block in blocks(name, "c++") for line in block.splitlines()} == declared(HEADERS[name])


EXAMPLES = [
    pytest.param(block, id=f"{name}-{number}") for name in HEADERS for number, block in enumerate(blocks(name, "cuda"))
]


@pytest.mark.parametrize("source", EXAMPLES)
def test_an_example_compiles_without_warnings_or_spills(source):
    report = cuda_report(source)
    assert report.kernels
    assert not report.messages
    assert not any(kernel.spill_stores for kernel in report.kernels)


def test_the_overview_has_every_header():
    linked = re.findall(r"\]\(headers/(\w+)\.md\)", (DOCS / "headers.md").read_text(encoding="utf-8"))
    assert sorted(linked) == sorted(HEADERS) == sorted(page.stem for page in (DOCS / "headers").glob("*.md"))
