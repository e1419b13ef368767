"""Where a kernel's conditions on a thread's place change: most threads are between the first and the last of these.

A stencil treats the edges of an array apart, by conditions such as ``i == 0 || i == nx - 1``. In a loop over threads
they stop the compiler from using vectors, or make it gather what lies side by side. So the threads between the edges
are a loop of their own, at the beginning of whose body the compiler is told what is true there: ``i > 0``,
``i < nx - 1``. It then leaves out the conditions by itself. What is told follows from how the loop is cut, whatever the
kernel does: where a condition is not understood, or its names mean something else, only speed is lost.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from cunumpy.kernels._cpu_device.strides import INTEGER, PLACE, Slicer, head_of, in_namespaces, simplified, with_widths

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_MOST = 8
"""Conditions that are looked at."""

_GLOBAL = r"cunumpy :: global_index_x \( \)"
_LITERAL = r"(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*"
_OPERATOR = r"(==|!=|<=|>=|<|>)"
_BEGIN = r"(?<=[(|&=!,;?:n] )"
_END = r"(?= (?:\)|&&|\|\||;))"


class Edges(NamedTuple):
    """What the loop over threads is cut by.

    Attributes
    ----------
    text : str
        C++ source of two functions: one finds the first and the last place, the other tells what is true between them.
    find, between : str
        Their names, with namespaces and without template arguments.
    """

    text: str
    find: str
    between: str


def edges(
    words: Sequence[str],
    slices: Slicer,
    definition: tuple[int, int],
    scope: tuple[str, ...],
    kernel: str,
    values: Mapping[str, int],
) -> Edges | None:
    """Return the edges of a kernel, or None if it has none; see `strides.grid_stride` and `strides.with_widths`."""
    head = head_of(words, slices, definition, scope, kernel)
    if head is None:
        return None
    body = words[head.closing : definition[1]]
    places = _places(with_widths(simplified(body), values)[0])
    for parameter in head.names:
        places.pop(parameter, None)
    conditions = _conditions(" ".join(body), places, head.names)
    if not conditions:
        return None
    find, between = f"cunumpy_cpu_edges_{kernel}", f"cunumpy_cpu_between_{kernel}"
    function = f"{head.template} static inline __attribute__((always_inline)) void"
    cuts = "".join(one.cut() for one in conditions)
    variables = dict.fromkeys(one.variable for one in conditions)
    declared = "".join(f"const {places[one]} {one} = ({places[one]})cunumpy_cpu_x;\n" for one in variables)
    facts = "".join(f"if (!({one.fact()})) __builtin_unreachable();\n" for one in conditions)
    text = (
        f"{function} {find}(long long& cunumpy_cpu_low, long long& cunumpy_cpu_high{head.parameters}) {{\n{cuts}}}\n"
        f"{function} {between}(const int cunumpy_cpu_x{head.parameters}) {{\n{declared}{facts}}}\n"
    )
    text, path = in_namespaces(text, scope)
    return Edges(text, path + find, path + between)


class _Condition(NamedTuple):
    """A comparison of the place, in `variable`, and an offset with a bound that is the same for all threads."""

    variable: str
    offset: str
    bound: str

    @property
    def is_low(self) -> bool:
        """Tell whether most threads are beyond it: it is one of the first places."""
        return re.fullmatch(r"\d[uUlL]*", self.bound) is not None

    def cut(self) -> str:
        return f"CUNUMPY_CPU_{'LOW' if self.is_low else 'HIGH'}_EDGE({self.offset or 0}, {self.bound})\n"

    def fact(self) -> str:
        return f"{self.variable} {self.offset} {'>' if self.is_low else '<'} {self.bound}"


def _places(text: str) -> dict[str, str]:
    """Return the variables that are a thread's place along x, with their types."""
    found: dict[str, str] = {}
    for declaration in re.finditer(rf"(?<=[;{{}}] )({INTEGER})([^;]*)", text):
        ctype = " ".join(word for word in declaration[1].split() if word != "const")
        for variable in re.finditer(rf"(?:^|, )(\w+) = (?:\( )?(?:{PLACE}|{_GLOBAL}) (?:\) )?(?=,|$)", declaration[2]):
            found[variable[1]] = "unsigned int" if ctype == "auto" else ctype
    return found


def _conditions(text: str, places: Collection[str], parameters: Collection[str]) -> list[_Condition]:
    """Return the comparisons of places with what is computed from parameters and numbers, each once.

    None where the compiler does as well by itself: with no equality, and one place beyond which few threads are.
    """
    if not places:
        return []
    known = [rf"{re.escape(one)}\b(?: \. \w+)*(?: \[ \d+ \])?" for one in parameters]
    value = "|".join([*known, _LITERAL])
    cast = rf"(?:\( {INTEGER}\) )?"
    bound = ""
    for _ in range(2):  # the second time with parentheses
        bound = rf"(?:[-+] )?{cast}(?:{value})(?: [-+*] {cast}(?:{value}))*"
        value = rf"{value}|(?:static_cast < {INTEGER}> )?\( {bound} \)"
    place = rf"(?:\( )?({'|'.join(map(re.escape, places))})(?: ([-+] \d+))?(?: \))?"
    found: dict[_Condition, bool] = {}
    for match in re.finditer(rf"{_BEGIN}{place} {_OPERATOR} ({bound}){_END}", text):
        one = _Condition(match[1], match[2] or "", match[4])
        found[one] = found.get(one, False) or match[3] in ("==", "!=")
    for match in re.finditer(rf"{_BEGIN}({bound}) {_OPERATOR} {place}{_END}", text):
        one = _Condition(match[3], match[4] or "", match[1])
        found[one] = found.get(one, False) or match[2] in ("==", "!=")
    high = [equality for one, equality in found.items() if not one.is_low]
    return list(found)[:_MOST] if any(high) or len(high) > 1 else []
