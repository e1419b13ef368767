"""What a kernel can reach, read from its preprocessed source: it decides how the threads of a block are run.

Every function, struct, variable and alias at namespace level is one declaration, known by its names. What a kernel
reaches is found by names alone, without regard to overloads and scopes: that is more than it calls, never less. Where
the text can't be followed, the kernel counts as one that waits for other threads, which any kernel may be run as.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cunumpy.cuda._brackets import end_of_group, partners
from cunumpy.cuda._tokens import SourceError, Tokens, is_name
from cunumpy.kernels._cpu_device.barriers import SplitKernel, split_at_barriers
from cunumpy.kernels._cpu_device.edges import Edges, edges
from cunumpy.kernels._cpu_device.strides import (
    INTEGER,
    GridStride,
    Slicer,
    grid_stride,
    number,
    simplified,
    with_widths,
)

FIBERS, SPLIT_LOOPS, LOOPS, MERGED_LOOPS, GRID_STRIDE, CHECKED_LOOPS = (
    "fibers",
    "loops between barriers",
    "loops",
    "merged loops",
    "grid-stride loops",
    "loops in order",
)
"""Each thread on a stack of its own; loops over the threads of a block, between barriers; without any; over those of
all blocks of a row at once; and these for each step of a grid-stride loop. In loops in order a launch says in which
order blocks and threads run."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WAITING = re.compile(
    r"(?:ptx_)?__(syncthreads|syncwarp|shfl|ballot|any_sync|all_sync|any$|all$|uni_sync|match_|reduce_|activemask|barrier|"
    r"cluster_|nanosleep)"
)
"""Functions by which threads wait for others: CUDA C++ Programming Guide, synchronization and warp functions."""

_WAITING_NAMES = _words(
    """
    cooperative_groups cub arrive_and_wait memcpy_async this_thread_block this_grid this_cluster this_thread
    tiled_partition binary_partition labeled_partition coalesced_threads thread_block thread_block_tile coalesced_group
    grid_group BlockReduce BlockScan WarpReduce WarpScan BlockLoad BlockStore BlockExchange BlockHistogram
    """
)
"""Names of CUDA's headers whose functions wait, as a source may write them after ``using namespace``."""

_WAITING_ASSEMBLY = re.compile(r"\b(bar|barrier|vote|shfl|match|redux|activemask|mbarrier|laneid)\b|%lane")

_NO_NAMES = _words(
    """
    alignas alignof asm auto bool break case catch char class const constexpr continue decltype default delete do
    double else enum explicit extern false float for friend goto if inline int long mutable namespace new noexcept
    nullptr operator private protected public register return short signed sizeof static static_assert static_cast
    reinterpret_cast const_cast struct switch template this throw true try typedef typename union unsigned using
    virtual void volatile while size_t __attribute__ __restrict__ __restrict __global__ __device__ __host__
    __shared__ __constant__ __managed__ __forceinline__ __noinline__ __launch_bounds__ __align__ __grid_constant__
    __inline__ __inline __extension__ __asm__ final override
    """
)
"""Words that declare nothing by themselves."""

_CLASS_WORDS = frozenset({"struct", "class", "union", "enum"})


class Declaration(NamedTuple):
    """Words from `start` to before `stop`, in namespaces `scope`; under these names it is reached."""

    names: frozenset[str]
    start: int
    stop: int
    scope: tuple[str, ...]
    always: bool


@dataclass
class Analysis:
    """How a kernel can be run, and what of its source the entry has to know.

    Attributes
    ----------
    mode : str
        `FIBERS`, `SPLIT_LOOPS`, `LOOPS`, `MERGED_LOOPS` or `GRID_STRIDE`.
    reason : str
        Why, in words.
    shared_arrays : list of str
        The ``extern __shared__`` arrays of the whole source, as the linker calls them.
    grid_stride : GridStride or None
        For `GRID_STRIDE`, the functions that run it.
    split : SplitKernel or None
        For `SPLIT_LOOPS`, the function that runs it.
    block_width : int
        For `MERGED_LOOPS`, what the kernel takes for ``blockDim.x``; 0 if it is that.
    edges : Edges or None
        For `MERGED_LOOPS`, the functions that tell which conditions most threads meet.
    """

    mode: str
    reason: str
    shared_arrays: list[str] = field(default_factory=list)
    grid_stride: GridStride | None = None
    split: SplitKernel | None = None
    block_width: int = 0
    edges: Edges | None = None


def analyse(preprocessed: str, kernel: str, skipped_folders: Sequence[str]) -> Analysis:
    """Tell how a kernel can be run.

    Parameters
    ----------
    preprocessed : str
        What the compiler's preprocessor gives, with the line markers.
    kernel : str
        Its name, without namespaces.
    skipped_folders : sequence of str
        Headers in them are not looked at, nor are those of the system: what they offer is known by name.

    Returns
    -------
    Analysis
    """
    text = own_text(preprocessed, skipped_folders)
    try:
        tokens = Tokens(text, {})
        declarations = list(_declarations(tokens.words, partners(tokens)))
    except (SourceError, _UnclearError) as error:
        return Analysis(FIBERS, f"its source can't be followed: {error}")
    words = tokens.words
    shared = shared_arrays(words, declarations)
    ranges = _reachable(words, declarations, kernel)
    if not ranges:
        return Analysis(FIBERS, "its definition was not found", shared)
    slices = Slicer(tokens.text, tokens.offsets)
    defined = [one for one in declarations if kernel in one.names and words[one.stop - 1] == "}"]
    own = (defined[0].start, defined[0].stop) if len(defined) == 1 else None
    waiting = list(_waiting(words, ranges))
    if waiting:
        reason = f"its threads can wait for others: {words[waiting[0]]} can be reached"
        if own is not None and all(words[i] == "__syncthreads" and own[0] <= i < own[1] for i in waiting):
            split = split_at_barriers(words, slices, *own, defined[0].scope, kernel)
            if split is not None:
                return Analysis(SPLIT_LOOPS, f"{reason}, always by all of them together", shared, split=split)
        return Analysis(FIBERS, reason, shared)
    # Checked builds have one function for all threads of a block, too.
    whole = None if own is None else split_at_barriers(words, slices, *own, defined[0].scope, kernel)
    values = _constants(words, ranges)
    problem, block_width = _separate_use_of_x(words, ranges, values)
    if problem is not None:
        return Analysis(LOOPS, f"no thread waits for others; {problem}", shared, split=whole)
    reason = "no thread waits for others, and each uses only its place in the grid"
    found = None
    if own is not None:
        loop = None if block_width else grid_stride(words, slices, *own, defined[0].scope, kernel)
        if loop is not None:
            return Analysis(GRID_STRIDE, f"{reason}, by which it strides", shared, loop, split=whole)
        found = edges(words, slices, own, defined[0].scope, kernel, values)
    return Analysis(MERGED_LOOPS, reason, shared, block_width=block_width, edges=found, split=whole)


def _waiting(words: Sequence[str], ranges: Sequence[tuple[int, int]]) -> Iterator[int]:
    """Give the places of words by which threads wait for others."""
    for start, stop in ranges:
        for index in range(start, stop):
            word = words[index]
            if (
                _WAITING.match(word) is not None
                or word in _WAITING_NAMES
                or (word[0] == '"' and _is_assembly(words, index) and _WAITING_ASSEMBLY.search(word))
            ):
                yield index


# --- the text ---------------------------------------------------------------------------------------------------------

_MARKER = re.compile(r'# (\d+) "((?:[^"\\]|\\.)*)"([ \d]*)$')


def own_text(preprocessed: str, skipped_folders: Sequence[str]) -> str:
    """Return the lines that stand in files of the user; of the line markers those that lead to them."""
    found: list[str] = []
    keep = True
    skipped = tuple(skipped_folders)
    for line in preprocessed.splitlines():
        marker = _MARKER.match(line) if line.startswith("# ") else None
        if marker is None:
            if keep:
                found.append(line)
            continue
        file, flags = marker[2].replace("\\\\", "\\"), marker[3].split()
        keep = "3" not in flags and not file.startswith(skipped) and file not in ("<built-in>", "<command-line>")
        if keep:
            found.append(f'# {marker[1]} "{marker[2]}"')
    return "\n".join(found)


# --- declarations -----------------------------------------------------------------------------------------------------


class _UnclearError(Exception):
    pass


def _declarations(words: Sequence[str], partner: dict[int, int]) -> Iterator[Declaration]:
    yield from _in_scope(words, partner, 0, len(words), ())


def _in_scope(
    words: Sequence[str], partner: dict[int, int], start: int, stop: int, scope: tuple[str, ...]
) -> Iterator[Declaration]:
    index = begin = start
    opening: int | None = None  # of the first body of the declaration
    while index < stop:
        word = words[index]
        if word == ";":
            yield _declaration(words, begin, index + 1, opening, scope)
            begin, opening = index + 1, None
        elif word == "{":
            closing = _partner(partner, index)
            inner = _namespace(words, begin, index)
            if inner is not None:
                yield from _in_scope(words, partner, index + 1, closing, (*scope, *inner))
                begin, opening = closing + 1, None
            else:
                opening = index if opening is None else opening
                after = words[closing + 1] if closing + 1 < stop else ""
                if _is_function(words, begin, opening) and after not in (",", "{", "catch"):
                    yield _declaration(words, begin, closing + 1, opening, scope)
                    begin, opening = closing + 1, None
            index = closing
        elif word in ("(", "["):
            index = _partner(partner, index)
        elif word == "template" and words[index + 1 : index + 2] == ["<"]:
            index = end_of_group(words, index + 1, stop) - 1
        index += 1
    if begin < stop:
        yield _declaration(words, begin, stop, opening, scope)


def _partner(partner: dict[int, int], index: int) -> int:
    if index not in partner:
        raise _UnclearError("a bracket is not closed")
    return partner[index]


def _namespace(words: Sequence[str], begin: int, brace: int) -> tuple[str, ...] | None:
    """Return the names of the namespace that a brace opens, none for ``extern "C"``; None if it opens none."""
    head = words[begin:brace]
    if len(head) == 2 and head[0] == "extern" and head[1].startswith('"'):
        return ()
    if "namespace" in head[:2] and "=" not in head:
        return tuple(word for word in head if is_name(word) and word not in ("inline", "namespace", "__attribute__"))
    return None


def _head(words: Sequence[str], begin: int, stop: int) -> Iterator[int]:
    """Give the places of a declaration's words that stand in no brackets and no template parameters."""
    index = begin
    while index < stop:
        word = words[index]
        if word == "template" and words[index + 1 : index + 2] == ["<"]:
            index = end_of_group(words, index + 1, stop)
            continue
        yield index
        index = end_of_group(words, index, stop) if word in ("(", "[", "{") else index + 1


def _is_function(words: Sequence[str], begin: int, brace: int) -> bool:
    """Tell whether the first body of a declaration is that of a function, with which it ends."""
    places = list(_head(words, begin, brace))
    head = [words[place] for place in places]
    if "operator" in head:
        return True
    if "=" in head or "(" not in head:
        return False
    first = next((word for word in head if word in _CLASS_WORDS or word == "("), "")
    if first == "(":
        return True
    # `struct S f() {` is a function, `struct __attribute__((aligned(8))) S {` is none.
    parentheses = [place for place in places if words[place] == "("]
    named = [words[place - 1] for place in parentheses if place > begin]
    return any(is_name(name) and name not in _NO_NAMES for name in named)


def _declaration(
    words: Sequence[str], begin: int, stop: int, opening: int | None, scope: tuple[str, ...]
) -> Declaration:
    names: set[str] = set()
    head_stop = stop if opening is None else opening
    is_function = opening is not None and _is_function(words, begin, opening)
    head = list(_head(words, begin, head_stop))
    for place in head:
        word = words[place]
        if not is_name(word) or word in _NO_NAMES:
            continue
        after = words[place + 1] if place + 1 < stop else ""
        if not is_function or after in ("(", "::", "<"):
            names.add(word)
    if opening is not None and not is_function:  # `struct {...} name;`
        closing = end_of_group(words, opening, stop)
        names.update(words[i] for i in range(closing, stop) if is_name(words[i]) and words[i] not in _NO_NAMES)
    text = [words[place] for place in head]
    always = "operator" in text or text[:2] == ["using", "namespace"] or not names
    return Declaration(frozenset(names), begin, stop, scope, always)


def _reachable(words: Sequence[str], declarations: Sequence[Declaration], kernel: str) -> list[tuple[int, int]]:
    by_name: dict[str, list[Declaration]] = {}
    for declaration in declarations:
        for name in declaration.names:
            by_name.setdefault(name, []).append(declaration)
    waiting = list(by_name.get(kernel, ()))
    if not waiting:
        return []
    waiting += [declaration for declaration in declarations if declaration.always]
    found: dict[tuple[int, int], None] = {}
    while waiting:
        declaration = waiting.pop()
        place = (declaration.start, declaration.stop)
        if place in found:
            continue
        found[place] = None
        for word in set(words[declaration.start : declaration.stop]):
            waiting += by_name.get(word, ())
    return sorted(found)


def _is_assembly(words: Sequence[str], index: int) -> bool:
    """Tell whether a string is in the parentheses of ``asm``."""
    for place in range(index - 1, max(index - 60, -1), -1):
        if words[place] in (";", "{", "}"):
            return False
        if words[place] in ("asm", "__asm__", "__asm"):
            return True
    return False


def shared_arrays(words: Sequence[str], declarations: Sequence[Declaration]) -> list[str]:
    """Return the ``extern __shared__`` arrays, by the names that the linker knows."""
    found: dict[str, None] = {}
    for declaration in declarations:
        for index in range(declaration.start, declaration.stop):
            if words[index] != "extern":
                continue
            stop = next((i for i in range(index, declaration.stop) if words[i] in (";", "{")), declaration.stop)
            if "__shared__" not in words[index:stop]:
                continue
            name = next((words[i] for i in range(index, stop - 1) if is_name(words[i]) and words[i + 1] == "["), None)
            if name is not None:
                found[_linker_name(declaration.scope, name)] = None
    return list(found)


def _linker_name(scope: tuple[str, ...], name: str) -> str:
    """Return the name of a variable after the Itanium C++ ABI, section 5.1."""
    if not scope:
        return name
    return f"_ZN{''.join(f'{len(part)}{part}' for part in (*scope, name))}E"


# --- indices ----------------------------------------------------------------------------------------------------------

_ANY_X = re.compile(r"\b(threadIdx|blockIdx|blockDim|gridDim)\b(?! \. [yz] )")


def _separate_use_of_x(
    words: Sequence[str], ranges: Sequence[tuple[int, int]], values: Mapping[str, int]
) -> tuple[str | None, int]:
    """Return what a kernel uses of x besides the thread's place in the grid, and the grid's size; None if nothing.

    The second is the width of blocks where the kernel has a number in place of ``blockDim.x``, else 0.
    """
    widths: set[int] = set()
    for start, stop in ranges:
        if _INDEX_WORDS.isdisjoint(words[start:stop]):
            continue
        text, own = with_widths(simplified(words[start:stop]), values)
        widths |= own
        left = _ANY_X.search(text)
        if left is not None:
            return f"{left[1]} is used apart from its place in the grid", 0
    if len(widths) > 1:
        return "blockIdx is used apart from its place in the grid", 0
    return None, next(iter(widths), 0)


_INDEX_WORDS = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim"})

_CONSTANT = re.compile(rf"(?<=[;{{}}] )((?:static |constexpr )*{INTEGER}(?:static |constexpr )*)(\w+) = (\w+) ;")


def _constants(words: Sequence[str], ranges: Sequence[tuple[int, int]]) -> dict[str, int]:
    """Return the names that stand for one number wherever they are used, and this."""
    texts = [f"; {' '.join(words[start:stop])} " for start, stop in ranges]
    found: dict[str, int] = {}
    for text in texts:
        for match in _CONSTANT.finditer(text):
            if ("const" in match[1].split() or "constexpr" in match[1].split()) and (value := number(match[3])) > 0:
                found[match[2]] = value
    declared = re.compile(
        r"\b(?!return|else|case|delete|throw)[A-Za-z_]\w* (?:[*&] )*(\w+) (?=[=;,)\[{(:>])|[,<{] (\w+) (?=[=;,}])"
    )
    times = Counter(match[1] or match[2] for text in texts for match in declared.finditer(text))
    return {name: value for name, value in found.items() if times[name] == 1}
