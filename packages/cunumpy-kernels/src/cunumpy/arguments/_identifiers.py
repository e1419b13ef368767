"""Names that C++ takes for a member, a struct or a macro."""

from __future__ import annotations

import re

from cunumpy._gate import describe
from cunumpy.errors import ArgumentError, ArgumentTypeError

_KEYWORDS = frozenset(
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class
    compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default
    delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long
    mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor
    xor_eq""".split()  # noqa: SIM905 - a list of this length is hard to read
)
"""The reserved words of C++20, which no member and no struct can be called by."""


def check_identifier(name: object, what: str, function: str) -> str:
    if not isinstance(name, str):
        raise ArgumentTypeError(f"{function}: {what} must be a str, got {describe(name)}.")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        extents = re.fullmatch(r"\w+((?:\s*\[[^\]]*\])+)", name)
        remedy = (
            f"; an array is given by its type, such as 'double{extents[1].replace(' ', '')}'"
            if extents
            else "; use ASCII letters, digits and '_', with no digit first"
        )
        raise ArgumentError(f"{function}: {what} {name!r} is no C identifier{remedy}.")
    if name in _KEYWORDS:
        raise ArgumentError(
            f"{function}: {what} {name!r} is a reserved word of C++; choose another, such as '{name}_'."
        )
    return name
