"""What the shipped CUDA headers declare for use."""

from __future__ import annotations

import re
from pathlib import Path

from cunumpy.cuda import cuda_include_dir

HEADERS = {header.stem: header for header in sorted(Path(cuda_include_dir(), "cunumpy").glob("*.cuh"))}

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
    """Return the public functions and macros of a header, as its page writes them."""
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
