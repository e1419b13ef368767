"""Random C++ with kernels that take structs: what a compiler accepts is packed as the compiler lays it out, or refused.

The environment variable ``FUZZ_BATCHES`` says how many programs are compiled, each of 40 sources.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from cpp_grammar import Drawn, Grammar
from cuda_signatures import accepted_descriptions, described
from cunumpy.arguments import CudaStruct
from cunumpy.cuda import parse_cuda_signature
from cunumpy.cuda._parameters import field_type
from cunumpy.cuda._structs import struct_definition
from cunumpy.errors import ArgumentError

BATCHES = int(os.environ.get("FUZZ_BATCHES", "1"))
SOURCES = 40


def statements_of(drawn: Drawn) -> str:
    """Return C++ that prints the parameters of a kernel, and where the members of its structs are."""
    texts = []
    for place, members in drawn.structs.items():
        asked = [name for name in members if " " not in name]  # a field of bits has no place
        texts += [f'std::printf("%zu,", offsetof(HERE::{place}, {name}));' for name in asked]
        texts.append(f'std::printf("%zu,%zu ", sizeof(HERE::{place}), alignof(HERE::{place}));')
    return " ".join([*texts, f"report((decltype(&HERE::{drawn.expression}))nullptr);"])


def structs_of(drawn: Drawn) -> list[CudaStruct] | None:
    """Make the structs that a source defines of what is read of them; None if one of them can't be had."""
    made: list[CudaStruct] = []
    for place, members in drawn.structs.items():
        found = struct_definition(drawn.source, place, structs=made)
        assert found is not None, drawn.source
        if found.problem is not None:
            return None
        assert [member.name for member in found.members] == members, drawn.source
        if not members:
            return None
        fields = [(member.name, field_type(member)) for member in found.members]
        name = place.rpartition("::")[2]
        natural = CudaStruct(name, fields, structs=made).alignment
        more = found.alignment if found.alignment is not None and found.alignment > natural else None
        made.append(CudaStruct(name, fields, structs=made, alignment=more))
        made[-1].check_source(drawn.source)
    return made


def laid_out(struct: CudaStruct) -> str:
    places = [place for _, place, *_ in (struct.dtype.fields or {}).values()]
    return ",".join(map(str, [*places, struct.dtype.itemsize, struct.alignment]))


def changed(struct: CudaStruct) -> CudaStruct:
    """Return another struct of the same name: with one member more at the end."""
    fields = [*((field.name, field_type(field)) for field in struct.fields), ("more", "int")]
    return CudaStruct(struct.name, fields, structs=struct.structs)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_kernels_with_structs(batch: int) -> None:
    drawn = [
        Grammar(f"with structs {batch} {number}", number).kernel(structs=1 + number % 3) for number in range(SOURCES)
    ]
    with tempfile.TemporaryDirectory() as folder:
        accepted = accepted_descriptions([(one.source, statements_of(one)) for one in drawn], Path(folder))
    read = 0
    for one, expected in zip(drawn, accepted, strict=True):
        if expected is None:
            continue
        structs = structs_of(one)
        if structs is None:
            continue
        layouts, types = expected[: len(structs)], expected[len(structs) :]
        assert list(map(laid_out, structs)) == layouts, one.source
        refusal, found = "", ()
        try:
            found = parse_cuda_signature(one.source, one.name, structs=structs, template_args=one.arguments)
        except ArgumentError as error:
            refusal = str(error)
        for reason in ("no kernel", "several namespaces", "layout is not given"):
            assert reason not in refusal, f"{refusal}\n{one.source}"
        if refusal:
            continue
        assert [described(parameter) for parameter in found] == types, one.source
        for parameter in found:
            if parameter.struct is not None:
                assert parameter.struct in structs
                assert np.dtype(parameter.dtype) == parameter.struct.dtype
        last = structs[-1]
        with pytest.raises(ArgumentError, match=rf"{last.name}"):
            parse_cuda_signature(
                one.source, one.name, structs=[*structs[:-1], changed(last)], template_args=one.arguments
            )
        read += 1
    assert read >= SOURCES / 20
