"""Random expressions of kernels in Python syntax, against NumPy's scalars and against the rules of C."""

from __future__ import annotations

import ast
import random

import numpy as np
import pytest

INTEGERS = ["b", "B", "h", "H", "i", "I", "q", "Q"]
ORDER = [*"?bBhHiIqQ", *"efdFD"]
VALUES = 24
COUNT = 60


class C:
    """A number whose operations have the type of the wider operand, as CuPy's and C's with integers from 32 bits on."""

    def __init__(self, value):
        self.value = value

    @staticmethod
    def of(value):
        if isinstance(value, C):
            return value
        if isinstance(value, bool):
            return C(np.bool_(value))
        return C(np.int32(value) if isinstance(value, int) else np.float32(value))

    @staticmethod
    def common(*numbers):
        char = max((C.of(one).value.dtype.char.replace("l", "q").replace("L", "Q") for one in numbers), key=ORDER.index)
        return np.dtype(char)

    def __add__(self, other):
        return operate(np.add, self, other)

    def __radd__(self, other):
        return operate(np.add, other, self)

    def __sub__(self, other):
        return operate(np.subtract, self, other)

    def __rsub__(self, other):
        return operate(np.subtract, other, self)

    def __mul__(self, other):
        return operate(np.multiply, self, other)

    def __rmul__(self, other):
        return operate(np.multiply, other, self)

    def __floordiv__(self, other):
        return operate(np.floor_divide, self, other)

    def __mod__(self, other):
        return operate(np.remainder, self, other)

    def __and__(self, other):
        return operate(np.bitwise_and, self, other)

    def __or__(self, other):
        return operate(np.bitwise_or, self, other)

    def __xor__(self, other):
        return operate(np.bitwise_xor, self, other)

    def __lt__(self, other):
        return operate(np.less, self, other)

    def __le__(self, other):
        return operate(np.less_equal, self, other)

    def __eq__(self, other):
        return operate(np.equal, self, other)

    def __truediv__(self, other):
        dtype = C.common(self, other)
        if dtype.kind in "biu":
            dtype = np.dtype("f" if dtype.itemsize <= 2 and dtype.kind != "b" else "d")
        return C(
            np.true_divide(
                self.value.astype(dtype), (other.value if isinstance(other, C) else np.asarray(other)).astype(dtype)
            )
        )

    def __neg__(self):
        return C(-self.value)

    def __invert__(self):
        return C(~self.value)

    def __bool__(self):
        return bool(self.value)


def operate(function, left, right):
    dtype = C.common(left, right)
    operands = [one.value if isinstance(one, C) else one for one in (left, right)]
    return C(np.asarray(function(*(np.asarray(one).astype(dtype) for one in operands)))[()])


def least(a, b):
    """Return the smaller number; of two that are written in the source Python's."""
    if isinstance(a, C) or isinstance(b, C):
        return operate(np.minimum, a, b)
    return min(a, b) if type(a) in (int, float) and type(b) in (int, float) else np.minimum(a, b)


def either(condition, a, b):
    """Return one of two numbers in their common type, which a conditional expression has in C."""
    if type(condition) is bool:  # known when the kernel is translated
        return a if condition else b
    if isinstance(a, C) or isinstance(b, C):
        return C(C.of(a if condition else b).value.astype(C.common(a, b)))
    dtype = np.asarray(np.maximum(a, b)).dtype
    return dtype.type(a if condition else b)


def expression(rng, names, depth, integers_only):
    """Return a random expression of variables."""
    if depth == 0 or rng.random() < 0.15:
        if rng.random() < 0.2:
            return str(rng.randrange(1, 9)) if integers_only or rng.random() < 0.6 else str(rng.randrange(1, 9) / 4)
        return rng.choice(names)

    def one():
        return expression(rng, names, depth - 1, integers_only)

    kind = rng.random()
    if kind < 0.1:
        return f"least({one()}, {one()})"
    if kind < 0.2:
        return f"(-({one()} + 0))" if rng.random() < 0.5 else f"either({one()} < {one()}, {one()}, {one()})"
    signs = ["+", "-", "*", "//", "%"] + (["&", "|", "^"] if integers_only else ["/"])
    return f"({one()} {rng.choice(signs)} {one()})"


def as_python(text):
    """Return code with Python's own words for `least` and `either`."""

    class Words(ast.NodeTransformer):
        def visit_Call(self, node):
            self.generic_visit(node)
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name == "either":
                return ast.IfExp(*node.args)
            if name == "least":
                node.func.id = "min"
            return node

    return ast.unparse(Words().visit(ast.parse(text)))


def numbers(rng, char):
    dtype = np.dtype(char)
    if dtype.kind == "b":
        return np.array([rng.random() < 0.5 for _ in range(VALUES)])
    if dtype.kind == "f":
        return np.array([rng.choice([0.5, -0.75, 2.0, 3.25, -8.0, 1e3]) for _ in range(VALUES)], dtype)
    info = np.iinfo(dtype)
    small = [int(one) for one in (0, 1, 2, 3, 7, 100, -1, -3, -100) if info.min <= one <= info.max]
    return np.array([rng.choice([*small, int(info.max), int(info.min)]) for _ in range(VALUES)], dtype)


def evaluated(text, row, names, mode):
    """Return what an expression gives for a row of values; None where Python has no such operation."""
    scope = {name: (C(value) if mode == "cuda" else value) for name, value in zip(names, row, strict=True)}
    with np.errstate(all="ignore"):
        found = eval(text, {"least": least, "either": either}, scope)
    return found.value if isinstance(found, C) else found


@pytest.mark.parametrize("mode", ["numpy", "cuda"])
@pytest.mark.parametrize("kinds", ["integers", "floats"])
@pytest.mark.parametrize("seed", [1, 2])
def test_random_expressions(mode, kinds, seed, tmp_path):
    rng = random.Random(f"{mode} {kinds} {seed}")
    integers_only = kinds == "integers"
    chars = rng.sample(INTEGERS, 4) if integers_only else [*rng.sample(INTEGERS, 2), "f", "d"]
    if mode == "cuda" and integers_only:
        chars = [char for char in chars if char.isupper()] + ["I", "Q"]  # the others' overflow is undefined
    names = [f"v{number}" for number in range(len(chars))]
    columns = [numbers(rng, char) for char in chars]
    if not integers_only:
        columns = [
            np.clip(one, max(-100, np.iinfo(one.dtype).min), 100)
            if one.dtype.kind in "iu" and one.dtype.itemsize > 1
            else one
            for one in columns
        ]
    rows = list(zip(*columns, strict=True))
    texts: list[tuple[str, list]] = []
    while len(texts) < COUNT:
        text = expression(rng, names, 3, integers_only)
        if not any(name in text for name in names):
            continue
        try:
            expected = [evaluated(text, row, names, mode) for row in rows]
        except (TypeError, OverflowError, ZeroDivisionError):  # Python or NumPy refuses it; so do kernels
            continue
        if (
            len({np.asarray(one).dtype for one in expected}) == 1
            and np.asarray(expected[0]).dtype.char in "?bBhHiIlLqQfd"
        ):
            texts.append((text, expected))
    lines = ["import numpy as np", "from cunumpy.kernels import jit", f"@jit.rawkernel(mode={mode!r})"]
    outputs = [np.zeros(VALUES, np.asarray(expected[0]).dtype) for _, expected in texts]
    groups = {
        dtype: [n for n, one in enumerate(outputs) if one.dtype == dtype] for dtype in {one.dtype for one in outputs}
    }
    dtypes = sorted(groups, key=str)
    parameters = [*[f"a{name}" for name in names], *[f"out_{dtype}" for dtype in dtypes]]
    lines.append(f"def kernel({', '.join(parameters)}):\n    i = jit.threadIdx.x")
    lines += [f"    {name} = a{name}[i]" for name in names]
    for dtype in dtypes:
        lines += [f"    out_{dtype}[{place}, i] = {texts[n][0]}" for place, n in enumerate(groups[dtype])]
    path = tmp_path / "generated.py"
    path.write_text(as_python("\n".join(lines)))
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    arrays = [np.zeros((len(groups[dtype]), VALUES), dtype) for dtype in dtypes]
    scope["kernel"][1, VALUES](*columns, *arrays)
    for dtype, array in zip(dtypes, arrays, strict=True):
        for got, n in zip(array, groups[dtype], strict=True):
            text, expected = texts[n]
            tolerance = {"d": 1e-12, "f": 1e-5}.get(dtype.char, 0) if mode == "cuda" else 0
            np.testing.assert_allclose(got, np.array(expected), rtol=tolerance, atol=tolerance, err_msg=text)
