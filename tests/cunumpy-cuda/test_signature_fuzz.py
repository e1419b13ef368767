"""Random C++ with a kernel or a struct: what a compiler accepts is read with the same types and places, or refused.

The environment variable ``FUZZ_BATCHES`` says how many programs are compiled, each of 40 sources.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from cpp_grammar import Drawn, Grammar
from cuda_signatures import accepted_descriptions, described
from cunumpy.cuda import CudaParameter, cuda_kernel_names, parse_cuda_signature
from cunumpy.cuda._structs import struct_definition
from cunumpy.errors import ArgumentError

BATCHES = int(os.environ.get("FUZZ_BATCHES", "1"))
SOURCES = 40


def descriptions(drawn: list[Drawn], statements: list[str]) -> list[list[str] | None]:
    with tempfile.TemporaryDirectory() as folder:
        return accepted_descriptions(
            [(one.source, text) for one, text in zip(drawn, statements, strict=True)], Path(folder)
        )


@pytest.mark.parametrize("batch", range(BATCHES))
def test_kernels(batch: int) -> None:
    drawn = [Grammar(f"kernel {batch} {number}", number).kernel() for number in range(SOURCES)]
    accepted = descriptions(drawn, [f"report((decltype(&HERE::{one.expression}))nullptr);" for one in drawn])
    read = 0
    for one, expected in zip(drawn, accepted, strict=True):
        refusal, found = "", ()
        try:
            names = {name.rpartition("::")[2] for name in cuda_kernel_names(one.source)}
            assert expected is None or one.name.rpartition("::")[2] in names, one.source
            found = parse_cuda_signature(one.source, one.name, template_args=one.arguments)
        except ArgumentError as error:
            refusal = str(error)
        if expected is None:
            continue
        assert "no kernel" not in refusal, f"{refusal}\n{one.source}"
        assert "several namespaces" not in refusal, f"{refusal}\n{one.source}"
        if not refusal:
            assert [described(parameter) for parameter in found] == expected, one.source
            read += 1
    assert read >= SOURCES / 10


def laid_out(members: tuple[CudaParameter, ...], alignment: int) -> tuple[list[int], int, int]:
    """Return the offsets of members, and size and alignment of the struct, as C lays it out."""
    offsets, end = [], 0 if members else 1  # an empty struct has a byte
    for one in members:
        end = -(-end // one.alignment) * one.alignment
        offsets.append(end)
        end += one.size
        alignment = max(alignment, one.alignment)
    return offsets, -(-end // alignment) * alignment, alignment


def member_described(member: CudaParameter, offset: int) -> str:
    dtype = member.dtype
    shape = () if dtype is None else dtype.shape
    plain = None if dtype is None else np.dtype(dtype.base)
    kind, size = ("-", 0) if plain is None else (plain.kind, plain.itemsize)
    numbers = [offset, member.size, int(member.pointer), int(member.const), member.view_ndim or 0, kind, size]
    return ",".join(map(str, [*numbers, len(shape), *(*shape, 0, 0)[:2]]))


def statements_of(drawn: Drawn) -> str:
    """Return C++ that prints what there is to know about a struct."""
    path = f"HERE::{drawn.expression}"
    asked = [name for name in drawn.members if " " not in name]  # a field of bits has no place
    each = [f"describe_member<decltype({path}::{name})>(offsetof({path}, {name}));" for name in asked]
    return " ".join([*each, f'std::printf(" %zu %zu\\n", sizeof({path}), alignof({path}));'])


@pytest.mark.parametrize("batch", range(BATCHES))
def test_structs(batch: int) -> None:
    drawn = [Grammar(f"struct {batch} {number}", number).struct() for number in range(SOURCES)]
    accepted = descriptions(drawn, [statements_of(one) for one in drawn])
    read = 0
    for one, expected in zip(drawn, accepted, strict=True):
        if expected is None:
            with contextlib.suppress(ArgumentError):
                struct_definition(one.source, one.name)
            continue
        found = struct_definition(one.source, one.name)
        assert found is not None, one.source
        if found.problem is not None:
            continue
        assert [member.name for member in found.members] == one.members, one.source
        offsets, size, alignment = laid_out(found.members, found.alignment or 1)
        told = [member_described(*each) for each in zip(found.members, offsets, strict=True)]
        assert [*told, str(size), str(alignment)] == expected, one.source
        read += 1
    assert read >= SOURCES / 10  # most are refused by the compiler, or for what changes a struct's layout
