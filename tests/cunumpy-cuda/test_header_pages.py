"""The pages on the CUDA headers give every public function and macro as it is declared, and their examples compile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cunumpy.cuda import cuda_include_dir
from nvrtc import cuda_report

HEADERS = {header.stem: header for header in sorted(Path(cuda_include_dir(), "cunumpy").glob("*.cuh"))}
DOCS = Path(__file__).parents[2] / "docs"

# What the pages leave out or write otherwise: words and types that only help the compiler.
AS_WRITTEN = [
    (r"typename cunumpy_detail::(?:NotDeduced|Checked)<T>::type", "T"),
    (r", typename cunumpy_detail::When<[^;{]*?>::type = 0>", ">"),
    (r"typename View::value_type", "value_type"),
    (r"cunumpy_detail::GridRange<(?:int|long long), \d>", "range"),
    (r"/\* (\w+) \*/", r"\1"),
    (r"\b(?:static|__host__|__device__|__forceinline__) ", ""),
    (r"\s+", " "),
    (r"\( ", "("),
    (r"(\w) ([&*])", r"\1\2"),
]
INTERNAL = {"CUNUMPY_ARRAY_VIEW_NAMES", "CUNUMPY_UNROLL_ROUNDS"}


def public_text(header: Path) -> str:
    """Return a header without comments, and without what is in the namespace cunumpy_detail."""
    text = header.read_text(encoding="utf-8")
    text = re.sub(r"^namespace cunumpy_detail \{.*?^\}  // namespace cunumpy_detail", "", text, flags=re.M | re.S)
    return re.sub(r"//[^\n]*", "", text)


def declared(header: Path) -> set[str]:
    text = public_text(header)
    found = re.findall(
        r"^ *(template <[^{;]*?>\s+)?((?:static )?__(?:host__ __device|device)__[^{;]*?\))(?: const)? \{", text, re.M
    )
    assert len(found) == text.count("__device__"), "a function that this test does not see"
    functions = set()
    for template, signature in found:
        written = template + signature
        for pattern, replacement in AS_WRITTEN:
            written = re.sub(pattern, replacement, written)
        if " operator View<" not in written:  # conversions are told in words
            functions.add(written.strip())
    macros = set(re.findall(r"^#define (CUNUMPY_\w+(?:\([^)]*\))?)", text, re.M))
    return functions | {
        macro for macro in macros if not macro.endswith("_CUH") and macro.partition("(")[0] not in INTERNAL
    }


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
