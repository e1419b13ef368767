"""Groups of words between brackets, the angle brackets of templates among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cunumpy.cuda._tokens import Tokens, is_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OPENING = {"(": ")", "[": "]", "{": "}"}
_CLOSING = {closing: opening for opening, closing in OPENING.items()}
_BRACKETS = frozenset({*OPENING, *_CLOSING})


def split(words: Sequence[str], start: int, stop: int, *, angles: bool = True) -> Iterator[tuple[int, int]]:
    """Give the pieces between commas that stand in no brackets; none for no words."""
    depth, angle_depth, begin = 0, 0, start
    if start == stop:
        return
    for index in range(start, stop):
        word = words[index]
        if word in OPENING:
            depth += 1
        elif word in _CLOSING:
            depth = max(depth - 1, 0)
        elif depth == 0 and angles and word in ("<", ">"):
            if word == ">" or (index > start and is_name(words[index - 1])):
                angle_depth = max(angle_depth + (1 if word == "<" else -1), 0)
        elif word == "," and depth == 0 and angle_depth == 0:
            yield begin, index
            begin = index + 1
    yield begin, stop


def end_of_group(words: Sequence[str], start: int, stop: int) -> int:
    """Return the place after the bracket that closes the one at `start`; `stop` if none does.

    For template arguments, signs of comparison count only outside brackets, as in C++, and ``<`` only after a name.
    """
    angles = words[start] == "<"
    depth = angle_depth = 0
    for index in range(start, stop):
        word = words[index]
        if word in OPENING:
            depth += 1
        elif word in _CLOSING:
            depth -= 1
            if depth < 0 or (depth == 0 and not angles):
                return index + 1 if depth == 0 else stop
        elif angles and depth == 0:
            if word == "<":
                angle_depth += index == start or is_name(words[index - 1])
            elif word == ">":
                angle_depth -= 1
                if angle_depth == 0:
                    return index + 1
            elif word == ";":
                break
    return stop


def partners(tokens: Tokens) -> dict[int, int]:
    """Return for each opening bracket the place of the closing one; those without one are missing.

    Of undecided branches each starts from the brackets that were open before the first; what they leave open alike is
    closed together.
    """
    found: dict[int, int] = {}
    stack: list[int] = []
    alike: dict[int, list[int]] = {}
    saved: list[tuple[list[int], list[list[int]]]] = []
    words = tokens.words
    branches = iter([*tokens.branches, None])
    branch = next(branches)
    for index in [*(i for i, word in enumerate(words) if word in _BRACKETS), len(words)]:
        while branch is not None and branch.place <= index:
            if branch.kind == "if":
                saved.append((stack[:], []))
            else:
                before, ends = saved[-1]
                ends.append(stack)
                if branch.kind == "else":
                    stack = before[:]
                else:
                    saved.pop()
                    for end in ends[:-1]:
                        if len(end) == len(stack):
                            for mine, other in zip(stack, end, strict=True):
                                if mine != other:
                                    alike.setdefault(mine, []).append(other)
            branch = next(branches)
        if index == len(words):
            break
        word = words[index]
        if word in OPENING:
            stack.append(index)
            continue
        opening = _CLOSING[word]
        for place in range(len(stack) - 1, -1, -1):
            if words[stack[place]] == opening:
                for other in (stack[place], *alike.get(stack[place], ())):
                    found[other] = index
                del stack[place:]
                break
            if opening != "{":  # a stray ) or ] closes nothing; a } closes what was forgotten inside
                break
    return found
