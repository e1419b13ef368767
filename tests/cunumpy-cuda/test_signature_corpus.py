"""Some 390 kernel signatures: the parser says the same as a C++ compiler, or refuses with a place and a reason."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from cuda_signatures import Kernel, compiled_descriptions, described
from cunumpy.cuda import parse_cuda_signature
from cunumpy.errors import ArgumentError

CORPUS = Path(__file__).parent / "signatures" / "kernels.cu"


class Entry(NamedTuple):
    name: str
    arguments: list[str] | None
    refused: tuple[str, str] | None
    source: str

    @property
    def expression(self) -> str | None:
        if self.refused:
            return None
        return self.name if self.arguments is None else f"{self.name}<{', '.join(self.arguments)}>"


def entries() -> list[Entry]:
    found = []
    for block in re.split(r"^//! ", CORPUS.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, _, source = block.partition("\n")
        parts = re.fullmatch(r"([\w:]+)(?: <(.*?)>(?= refused|$))?(?: refused (\d+:\d+) (.+))?", head)
        assert parts, head
        name, arguments, place, words = parts.groups()
        listed = None if arguments is None else [one.strip() for one in arguments.split(",") if one.strip()]
        found.append(Entry(name, listed, (place, words) if place else None, source))
    return found


ENTRIES = entries()
TAKEN = [entry for entry in ENTRIES if not entry.refused]
REFUSED = [entry for entry in ENTRIES if entry.refused]


@pytest.fixture(scope="module")
def from_the_compiler(tmp_path_factory) -> dict[str, list[str] | None]:
    kernels = [Kernel(entry.source, entry.expression) for entry in ENTRIES]
    descriptions = compiled_descriptions(kernels, tmp_path_factory.mktemp("corpus"))
    return {entry.name: found for entry, found in zip(ENTRIES, descriptions, strict=True)}


def test_the_corpus_is_large_and_has_no_entry_twice():
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES) >= 300
    assert len(REFUSED) >= 40


@pytest.mark.parametrize("entry", TAKEN, ids=lambda entry: entry.name)
def test_sizes_types_and_constness_are_the_compilers(entry, from_the_compiler):
    found = parse_cuda_signature(entry.source, entry.name, template_args=entry.arguments)
    assert [described(parameter) for parameter in found] == from_the_compiler[entry.name]
    names = [parameter.name for parameter in found]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)


@pytest.mark.parametrize("entry", REFUSED, ids=lambda entry: entry.name)
def test_a_refusal_says_where_and_why(entry):
    place, words = entry.refused
    with pytest.raises(ArgumentError) as caught:
        parse_cuda_signature(entry.source, entry.name, template_args=entry.arguments, filename="k.cu")
    message = str(caught.value)
    assert message.startswith(f"parse_cuda_signature: k.cu:{place}: ")
    assert words in message
