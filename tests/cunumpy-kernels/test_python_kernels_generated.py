"""Functions at random in Python syntax, compiled, against the same text run by Python on NumPy's numbers.

The functions have integers, floats and, every other time, an array that they write to; branches, loops with `break`
and `continue`, early returns, chained comparisons, augmented and parallel assignments. Results must be equal.

The environment variable ``FUZZ_BATCHES`` says how many kernels are built, each of 12 functions.
"""

from __future__ import annotations

import os
import random
import types
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BATCHES = int(os.environ.get("FUZZ_BATCHES", "1"))
FUNCTIONS, ROWS, LENGTH = 12, 12, 4
DEEPEST = 3

CONVERSIONS = {"integer": "np.int64", "real": "np.float64"}
CONSTANTS = {
    "integer": ["0", "1", "2", "3", "-1", "7", "-5", "100"],
    "real": ["0.5", "-0.0", "2.0", "1e3", "-3.25", "np.float64(3)"],
}


class Function:
    """Writes the body of a function of integers a and b, reals c and d, and an array m of integers.

    A variable keeps the type that it begins with. Both sides of an operator are of NumPy's types, or one is a constant
    of Python's, which does not decide.
    """

    def __init__(self, rng: random.Random, *, arrays: bool) -> None:
        self.rng, self.arrays = rng, arrays
        self.variables = {"a": "integer", "b": "integer", "c": "real", "d": "real"}
        self.counters: set[str] = set()  # of loops; they are not assigned to
        self.lines: list[str] = []
        self.count = 0
        self.block(1, 0, rng.randint(3, 8))
        total = " + ".join(name for name, kind in self.variables.items() if kind == "real")
        self.put(1, f"return np.float64({total})")

    # --- expressions

    def choose(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def named(self, kind: str) -> str:
        return self.rng.choice([name for name, one in self.variables.items() if one == kind])

    def element(self, depth: int) -> str:
        index = self.typed("integer", depth + 2) if depth < DEEPEST else "a"
        return f"m[{index} % {LENGTH}]"

    def typed(self, kind: str, depth: int) -> str:
        """Return an expression of NumPy's type, since it begins with a variable."""
        name = self.named(kind)
        return f"({name} {self.choose(*'+-*')} {self.value(kind, depth + 1)})" if self.rng.random() < 0.5 else name

    def value(self, kind: str, depth: int = 0) -> str:
        """Return an expression, perhaps a constant of Python's."""
        if kind == "integer" and self.arrays and self.rng.random() < 0.18:
            return self.element(depth)
        if depth > DEEPEST or self.rng.random() < 0.3:
            return self.named(kind) if self.rng.random() < 0.75 else self.choose(*CONSTANTS[kind])
        return self.integer(depth) if kind == "integer" else self.real(depth)

    def integer(self, depth: int) -> str:
        def typed() -> str:
            return self.typed("integer", depth)

        def value() -> str:
            return self.value("integer", depth + 1)

        kind = self.rng.randrange(13)
        if kind < 5:
            return f"({value()} {self.choose(*'+-*&|^')} {value()})"
        if kind == 5:
            return f"({value()} {self.choose('//', '%')} {typed()})"
        if kind == 6:
            return f"(-{value()})" if self.rng.random() < 0.6 else f"(~{typed()})"
        if kind == 7:
            return f"abs({typed()})"
        if kind == 8:
            return f"{self.choose('min', 'max')}({typed()}, {typed()})"
        if kind == 9:
            return f"({typed()} if {self.condition(depth + 1)} else {typed()})"
        if kind == 10:
            return f"({typed()} {self.choose('<<', '>>')} {self.rng.randrange(5)})"
        if kind == 11:
            return f"np.{self.choose('minimum', 'maximum')}({typed()}, {typed()})"
        return f"np.int64({typed()})"

    def real(self, depth: int) -> str:
        def typed() -> str:
            return self.typed("real", depth)

        def either() -> str:
            return self.value("real" if self.rng.random() < 0.7 else "integer", depth + 1)

        kind = self.rng.randrange(13)
        if kind < 5:
            return f"({typed()} {self.choose(*'+-*/')} {either()})"
        if kind == 5:
            return f"({self.typed('integer', depth)} / {self.typed('integer', depth)})"
        if kind == 6:
            return f"(-{self.value('real', depth + 1)})"
        if kind == 7:
            return f"abs({typed()})"
        if kind == 8:
            return f"({typed()} if {self.condition(depth + 1)} else {typed()})"
        if kind == 9:
            return f"({typed()} {self.choose('//', '%')} {typed()})"
        if kind == 10:
            return f"np.{self.choose('floor', 'ceil', 'sqrt', 'rint', 'trunc', 'fabs')}({typed()})"
        if kind == 11:  # the sign of NaN is left open by IEEE 754
            sign = self.typed("integer", depth)
            return self.choose(f"np.minimum({typed()}, {typed()})", f"np.copysign({typed()}, np.float64({sign}))")
        return f"np.float64({either()})"

    def condition(self, depth: int = 0) -> str:
        kind = self.choose("integer", "real")
        left, right = self.typed(kind, depth), self.value(kind, depth + 1)
        form = self.rng.randrange(7)
        if form == 4 and depth < DEEPEST:
            return f"(not {self.condition(depth + 1)})"
        if form == 5 and depth < DEEPEST:
            return f"({self.condition(depth + 1)} {self.choose('and', 'or')} {self.condition(depth + 1)})"
        if form == 6:
            return f"({left} < {right} <= {self.typed(kind, depth)})"
        return f"({left} {self.choose('<', '<=', '>', '>=', '==', '!=')} {right})"

    # --- statements

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def new(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def block(self, indent: int, depth: int, statements: int) -> None:
        before = dict(self.variables)
        for _ in range(statements):
            self.statement(indent, depth)
        if depth:  # what begins here has no value where the block is left out
            self.variables = before

    def statement(self, indent: int, depth: int) -> None:
        kind = self.rng.randrange(12)
        if kind < 3 or depth >= DEEPEST:
            if depth == 0 or self.rng.random() < 0.2:
                self.first_assignment(indent)
            else:
                self.assignment(indent)
        elif kind < 5:
            self.assignment(indent)
        elif kind < 8:
            self.branches(indent, depth)
        elif kind < 11:
            self.loop(indent, depth, counted=kind < 10)
        elif depth and self.rng.random() < 0.5:
            self.put(indent, f"if {self.condition()}:")
            self.put(indent + 1, f"return np.float64({self.value('real')})")
        else:
            self.parallel_assignment(indent)

    def branches(self, indent: int, depth: int) -> None:
        self.put(indent, f"if {self.condition()}:")
        self.block(indent + 1, depth + 1, self.rng.randint(1, 2))
        if self.rng.random() < 0.4:
            self.put(indent, f"elif {self.condition()}:")
            self.block(indent + 1, depth + 1, self.rng.randint(1, 2))
        if self.rng.random() < 0.6:
            self.put(indent, "else:")
            self.block(indent + 1, depth + 1, self.rng.randint(1, 2))

    def loop(self, indent: int, depth: int, *, counted: bool) -> None:
        before = dict(self.variables)
        if counted:
            name = self.new("i")
            self.put(indent, f"for {name} in {self.range()}:")
        else:
            name = self.new("w")
            self.put(indent, f"{name} = np.int64(0)")
            self.put(indent, f"while {name} < {self.rng.randint(1, 4)}:")
            self.put(indent + 1, f"{name} += 1")
        self.variables[name] = "integer"
        self.counters.add(name)
        self.block(indent + 1, depth + 1, self.rng.randint(1, 3))
        if self.rng.random() < 0.3:
            self.put(indent + 1, f"if {self.condition()}:")
            self.put(indent + 2, self.choose("break", "continue"))
        if self.rng.random() < 0.3:
            self.assignment(indent + 1)
        self.variables = before

    def range(self) -> str:
        number = self.rng.randint
        ranges = [
            f"range({number(0, 4)})",
            f"range({number(0, 2)}, {number(1, 5)})",
            f"range({number(3, 6)}, {number(-2, 2)}, -{number(1, 2)})",
            "range(abs(a) % 5)",
            f"range(a % 3, b % 5 + 2, {number(1, 2)})",
        ]
        if self.arrays:
            ranges += [f"range({self.element(2)} % 5)", f"range({self.element(2)} % 3, {self.element(2)} % 6)"]
        return self.rng.choice(ranges)

    def assigned(self, kind: str | None = None) -> list[str]:
        """Return the variables that may be assigned to."""
        return [name for name, one in self.variables.items() if name not in self.counters and kind in (None, one)]

    def first_assignment(self, indent: int) -> None:
        kind, name = self.choose(*CONVERSIONS), self.new("v")
        self.put(indent, f"{name} = {CONVERSIONS[kind]}({self.value(kind)})")
        self.variables[name] = kind

    def assignment(self, indent: int) -> None:
        if self.arrays and self.rng.random() < 0.35:
            self.element_assignment(indent)
            return
        name = self.rng.choice(self.assigned())
        kind = self.variables[name]
        if self.rng.random() < 0.4:
            others = ("&=", "^=", "|=") if kind == "integer" else ("/=",)
            self.put(indent, f"{name} {self.choose('+=', '-=', '*=', *others)} {self.value(kind)}")
        else:
            self.put(indent, f"{name} = {CONVERSIONS[kind]}({self.value(kind)})")

    def element_assignment(self, indent: int) -> None:
        target, chance = self.element(1), self.rng.random()
        if chance < 0.3:
            other = self.element(1)
            values = self.choose(other, self.element(1)), self.choose(target, self.value("integer"))
            self.put(indent, f"{target}, {other} = {', '.join(values)}")
        elif chance < 0.6:
            sign = self.choose("+=", "-=", "*=", "&=", "^=", "//=", "%=")
            self.put(indent, f"{target} {sign} {self.typed('integer', 0)}")
        elif chance < 0.7:
            name = self.rng.choice(self.assigned("integer"))
            self.put(indent, f"{name}, {target} = {target}, np.int64({self.value('integer')})")
        else:
            self.put(indent, f"{target} = np.int64({self.value('integer')})")

    def parallel_assignment(self, indent: int) -> None:
        kind = self.choose(*CONVERSIONS)
        one, other = self.rng.sample(self.assigned(kind), 2)
        self.put(indent, f"{one}, {other} = {CONVERSIONS[kind]}({self.value(kind)}), {one}")


def functions(seed: int, *, arrays: bool) -> list[str]:
    """Return the definitions of functions f0, f1, ..."""
    rng = random.Random(f"{seed} {arrays}")
    head = "".join(f"    {name} = {CONVERSIONS[kind]}({name})\n" for name, kind in zip("abcd", KINDS, strict=True))
    return [
        f"def f{number}(a, b, c, d, m):\n{head}" + "\n".join(Function(rng, arrays=arrays).lines) + "\n"
        for number in range(FUNCTIONS)
    ]


KINDS = ("integer", "integer", "real", "real")

KERNEL = """
@jit.rawkernel(mode="numpy")
def kernel(a, b, c, d, m, out):
    i = jit.grid(1)
    if i < a.size:
CALLS"""


def counted(*limits: int) -> Iterator[np.int64]:
    """Return Python's range, of numbers that overflow as NumPy's do."""
    return map(np.int64, range(*map(int, limits)))


def in_python(text: str) -> Callable[..., float]:
    """Return a function as Python runs it."""
    scope: dict[str, Callable[..., float]] = {}
    exec(compile(text, "<function>", "exec"), {"np": np, "range": counted}, scope)
    (function,) = scope.values()
    return function


def arguments(seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-9, 10, (2, ROWS))
    c, d = np.round(4 * rng.normal(size=(2, ROWS)), 2)
    c[0], d[1], c[2], d[3] = 0.0, -0.0, np.nan, np.inf
    return a, b, c, d, rng.integers(-9, 10, (ROWS, FUNCTIONS, LENGTH))


@pytest.mark.parametrize("arrays", [False, True], ids=["numbers", "arrays"])
@pytest.mark.parametrize("batch", range(BATCHES))
def test_functions(batch: int, arrays: bool, tmp_path: Path) -> None:
    texts = functions(batch, arrays=arrays)
    calls = "".join(
        f"        out[i, {number}] = f{number}(a[i], b[i], c[i], d[i], m[i, {number}])\n" for number in range(FUNCTIONS)
    )
    marked = [f'@jit.rawkernel(device=True, mode="numpy")\n{text}' for text in texts]
    path = tmp_path / "functions.py"
    imports = "import numpy as np\nfrom cunumpy.kernels import jit\n"
    path.write_text("\n".join([imports, *marked, KERNEL.replace("CALLS", calls)]))
    module = types.ModuleType("functions")
    exec(compile(path.read_text(), str(path), "exec"), vars(module))
    *numbers, m = arguments(batch)
    expected_m, out = m.copy(), np.zeros((ROWS, FUNCTIONS))
    module.kernel[1, 32](*numbers, m, out)
    for number, text in enumerate(texts):
        function = in_python(text)
        for row in range(ROWS):
            given = [one[row] for one in numbers]
            with np.errstate(all="ignore"):
                expected = function(*given, expected_m[row, number])
            told = f"{text}\nof {given}"
            np.testing.assert_array_equal(out[row, number], expected, err_msg=told)
            np.testing.assert_array_equal(m[row, number], expected_m[row, number], err_msg=told)
