"""Elementwise and reduction kernels without a C++ compiler: their code evaluated by NumPy, where it is simple.

What is understood are declarations and assignments with C++'s operators, conversions, and mathematical functions, and
raw arrays that are indexed by numbers. Types follow C++: small integers become int, integers of equal size unsigned,
and division of integers drops the fraction. Both sides of a condition are evaluated, and one is taken.
"""

from __future__ import annotations

import logging
import operator
import re
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from cunumpy.errors import MissingCompilerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_logger = logging.getLogger("cunumpy")


class CannotEvaluateError(Exception):
    """NumPy can't evaluate some code; the text says what of it."""


def refuse(owner: str, why: CannotEvaluateError, missing: MissingCompilerError) -> NoReturn:
    """Raise the error of code that needs a compiler, where there is none."""
    text = f"{owner}: it needs a compiler, since NumPy can't evaluate its code ({why}): {missing}"
    raise MissingCompilerError(text) from missing


_told: set[str] = set()


def tell(owner: str, missing: MissingCompilerError) -> None:
    """Log, once for each kernel, that NumPy evaluates it."""
    if owner not in _told:
        _told.add(owner)
        _logger.warning("%s is evaluated by NumPy, an operation after the other: %s", owner, missing)


# --- types ------------------------------------------------------------------------------------------------------------

_INT, _LONG, _DOUBLE, _FLOAT, _BOOL = (np.dtype(name) for name in ("int32", "int64", "float64", "float32", "bool"))

_WORDS = {"signed", "unsigned", "char", "short", "int", "long", "float", "double", "bool", "const"}

_TYPES = {
    "bool": "bool",
    "char": "int8",
    "signed char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned int": "uint32",
    "unsigned": "uint32",
    "long": np.dtype("l").name,
    "unsigned long": np.dtype("L").name,
    "long long": "int64",
    "unsigned long long": "uint64",
    "float": "float32",
    "double": "float64",
    "float16": "float16",
    "size_t": "uint64",
    "ptrdiff_t": "int64",
    **{f"{kind}{bits}_t": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
}


def _promoted(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind in "biu" and dtype.itemsize < 4:
        return _INT
    return _FLOAT if dtype == np.float16 else dtype


def _common(one: np.dtype[Any], other: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type in which C++ calculates with two."""
    one, other = _promoted(one), _promoted(other)
    if one == other:
        return one
    kinds = one.kind + other.kind
    if "c" in kinds:
        double = any(dtype in (np.complex128, np.float64) for dtype in (one, other))
        return np.dtype("complex128" if double else "complex64")
    if "f" in kinds:
        return _DOUBLE if _DOUBLE in (one, other) else _FLOAT
    if one.kind == other.kind:
        return max(one, other, key=lambda dtype: dtype.itemsize)
    unsigned, signed = (one, other) if one.kind == "u" else (other, one)
    return unsigned if unsigned.itemsize >= signed.itemsize else signed


def _converted(value: Any, dtype: np.dtype[Any]) -> Any:
    if value.dtype.kind == "c" and dtype.kind != "c":
        raise CannotEvaluateError("it converts a complex number to a real one")
    return value if value.dtype == dtype else value.astype(dtype)


# --- functions --------------------------------------------------------------------------------------------------------


def _rounded(x: Any) -> Any:
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), whole).astype(x.dtype)


def _norm(x: Any) -> Any:
    return x.real * x.real + x.imag * x.imag


_REAL: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt,
    "cbrt": np.cbrt,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "hypot": np.hypot,
    "copysign": np.copysign,
    "fmod": np.fmod,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "pow": np.power,
    "round": _rounded,
    "fabs": np.abs,
    "fmin": np.fmin,
    "fmax": np.fmax,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}
"""Functions of floating-point numbers; integers become double."""

_COMPLEX = frozenset(
    {"sqrt", "exp", "log", "log10", "pow", "sin", "cos", "tan", "sinh", "cosh", "tanh"}
    | {"asin", "acos", "atan", "asinh", "acosh", "atanh"}
)
_TESTS = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}
_CONSTANTS: dict[str, Any] = {
    "true": np.bool_(True),
    "false": np.bool_(False),
    "M_PI": np.float64(np.pi),
    "M_E": np.float64(np.e),
    "INFINITY": np.float32(np.inf),
    "NAN": np.float32(np.nan),
}


def _call(name: str, values: list[Any]) -> Any:
    if name in ("min", "max") and len(values) == 2:
        return _smaller_or_larger(name, *values)
    if name == "abs" and len(values) == 1:
        return np.abs(_converted(values[0], _promoted(values[0].dtype)))
    if name in ("real", "imag", "conj", "norm", "arg") and len(values) == 1 and values[0].dtype.kind == "c":
        functions: dict[str, Callable[..., Any]] = {
            "real": np.real,
            "imag": np.imag,
            "conj": np.conj,
            "norm": _norm,
            "arg": np.angle,
        }
        return functions[name](values[0])
    if name in _TESTS and len(values) == 1:
        return _TESTS[name](values[0])
    if name == "fma" and len(values) == 3:
        return _arithmetic("+", _arithmetic("*", values[0], values[1]), values[2])
    plain = name[:-1] if name.endswith("f") and name[:-1] in _REAL else name
    if plain not in _REAL:
        raise CannotEvaluateError(f"it calls {name}()")
    function = _REAL[plain]
    wanted = 2 if plain in ("atan2", "pow", "hypot", "copysign", "fmod", "fmin", "fmax") else 1
    if len(values) != wanted:
        raise CannotEvaluateError(f"it calls {name}() with {len(values)} arguments")
    dtype = _FLOAT if plain != name else _promoted(values[0].dtype)
    for value in values[1:]:
        dtype = _common(dtype, value.dtype)
    to_a_power = plain == "pow" and values[0].dtype.kind == "f"  # CUDA has pow(float, int)
    if plain == name and any(value.dtype.kind in "biu" for value in values[: 1 if to_a_power else None]):
        dtype = dtype if dtype.kind == "c" else _DOUBLE
    if dtype.kind == "c" and plain not in _COMPLEX:
        raise CannotEvaluateError(f"it calls {name}() with a complex number")
    return function(*(_converted(value, dtype) for value in values))


def _smaller_or_larger(name: str, one: Any, other: Any) -> Any:
    dtype = _common(one.dtype, other.dtype)
    if dtype.kind == "c":
        raise CannotEvaluateError(f"it calls {name}() with a complex number")
    # Beside a NaN both return the number, as fmin does.
    function: Any = np.fmin if name == "min" else np.fmax
    return function(_converted(one, dtype), _converted(other, dtype))


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_BITS: dict[str, Callable[[Any, Any], Any]] = {"&": operator.and_, "|": operator.or_, "^": operator.xor}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def _arithmetic(sign: str, one: Any, other: Any) -> Any:
    if sign in ("&&", "||"):
        both = one.astype(_BOOL), other.astype(_BOOL)
        return both[0] & both[1] if sign == "&&" else both[0] | both[1]
    dtype = _common(one.dtype, other.dtype)
    if sign in ("<<", ">>"):
        if dtype.kind not in "iu":
            raise CannotEvaluateError(f"it has {sign} of floating-point numbers")
        dtype = _promoted(one.dtype)
        shift = operator.lshift if sign == "<<" else operator.rshift
        return shift(_converted(one, dtype), _converted(other, dtype))
    one, other = _converted(one, dtype), _converted(other, dtype)
    if sign in _COMPARISONS:
        if dtype.kind == "c" and sign not in ("==", "!="):
            raise CannotEvaluateError(f"it has {sign} of complex numbers")
        return _COMPARISONS[sign](one, other)
    if sign in _ARITHMETIC:
        return _ARITHMETIC[sign](one, other)
    whole = dtype.kind in "iu"
    if sign in _BITS and whole:
        return _BITS[sign](one, other)
    if sign == "/" and not whole:
        return one / other
    if sign in "/%" and whole:
        rest = np.fmod(one, other)
        return rest if sign == "%" else (one - rest) // other
    raise CannotEvaluateError(f"it has {sign} of floating-point numbers")


# --- reading C++ ------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"\s+|//[^\n]*|/\*.*?\*/"
    r"|(?P<number>0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFuUlL]*)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign><<=|>>=|\+\+|--|->|::|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){}\[\]])",
    re.DOTALL,
)

_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
"""Operators of two values; those that bind more come later."""


def _tokens(code: str) -> list[str]:
    found, place = [], 0
    while place < len(code):
        match = _TOKEN.match(code, place)
        if match is None:
            raise CannotEvaluateError(f"it has {code[place]!r}")
        if match.lastgroup is not None:
            found.append(match[0])
        place = match.end()
    return found


class Raw(NamedTuple):
    """A raw array."""

    array: np.ndarray


class _Reader:
    """Evaluates code while it reads it.

    Parameters
    ----------
    code : str
    names : dict
        Values by name: NumPy arrays and scalars, or `Raw`.
    types : mapping
        Dtypes by the letters that stand for them.
    outputs : set of str
        What may be assigned; declared variables may be, too.
    """

    def __init__(
        self, code: str, names: dict[str, Any], types: Mapping[str, np.dtype[Any]], outputs: Sequence[str] = ()
    ) -> None:
        self.tokens, self.place = [*_tokens(code), ""], 0
        self.names, self.types = names, types
        self.targets = {name: names[name].dtype for name in outputs if not isinstance(names[name], Raw)}
        self.raw_targets = {name for name in outputs if isinstance(names[name], Raw)}

    @property
    def next(self) -> str:
        return self.tokens[self.place]

    def take(self, *expected: str) -> str:
        token = self.next
        if expected and token not in expected:
            raise self._unexpected(f"{expected[0]!r}")
        self.place += 1
        return token

    def _unexpected(self, understood: str) -> CannotEvaluateError:
        text = f"it has {self.next!r} where {understood} is understood" if self.next else "it ends early"
        return CannotEvaluateError(text)

    def skip(self, token: str) -> bool:
        if self.next != token:
            return False
        self.place += 1
        return True

    def type_name(self) -> np.dtype[Any] | None:
        """Take the name of a type, if there is one."""
        start = self.place
        while self.skip("const"):
            pass
        if self.next == "std" and self.tokens[self.place + 1] == "::":
            self.place += 2
        words: list[str] = []
        while self.next in _WORDS:
            word = self.take()
            if word != "const":
                words.append(word)
        found: Any = None
        if words:
            text = " ".join(words)
            short = text.removesuffix(" int").removeprefix("signed ")
            found = _TYPES.get(text) or _TYPES.get(short)
            if found is None:
                raise CannotEvaluateError(f"it has the type {text!r}")
        elif self.next == "complex" and self.tokens[self.place + 1] == "<":
            self.place += 2
            part = self.type_name()
            self.take(">")
            found = "complex128" if part == _DOUBLE else "complex64"
        elif self.next in self.types and self.next not in self.names:
            found = self.types[self.take()]
        elif self.next in _TYPES and self.next not in self.names:
            found = _TYPES[self.take()]
        if found is None:
            self.place = start
            return None
        while self.skip("const"):
            pass
        self.skip("&")
        dtype: np.dtype[Any] = np.dtype(found)
        return dtype

    # statements

    def run(self) -> None:
        """Run all statements."""
        while self.next:
            if self.skip(";"):
                continue
            self.statement()
            if self.next:
                self.take(";")

    def statement(self) -> None:
        start = self.place
        auto = self.skip("auto") or (self.skip("const") and self.skip("auto"))
        dtype = None if auto else self.type_name()
        if (auto or dtype is not None) and re.match(r"[A-Za-z_]", self.next):
            while True:
                name = self.take()
                self.take("=")
                value = self.expression()
                self.names[name] = _converted(value, value.dtype if dtype is None else dtype)
                self.targets[name] = self.names[name].dtype
                if not self.skip(","):
                    return
        self.place = start
        name = self.take()
        if self.next == "(" and name in ("if", "for", "while", "do", "switch", "return"):
            raise CannotEvaluateError(f"it has {name!r}")
        if name in self.raw_targets and self.next == "[":
            self.take()
            index = self.expression()
            self.take("]")
            self.take("=")
            array = self.names[name].array
            array.flat[self._inside(index, array)] = _converted(self.expression(), array.dtype)
            return
        if name not in self.targets:
            raise CannotEvaluateError(f"it has a statement with {name!r}")
        sign = self.take("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
        value = self.expression()
        if sign != "=":
            value = _arithmetic(sign[:-1], self.names[name], value)
        self.names[name] = _converted(value, self.targets[name])

    # expressions

    def expression(self) -> Any:
        condition = self.level(0)
        if not self.skip("?"):
            return condition
        yes = self.expression()
        self.take(":")
        no = self.expression()
        dtype = yes.dtype if yes.dtype == no.dtype else _common(yes.dtype, no.dtype)
        return np.where(condition.astype(_BOOL), _converted(yes, dtype), _converted(no, dtype))

    def level(self, number: int) -> Any:
        if number == len(_LEVELS):
            return self.unary()
        value = self.level(number + 1)
        while self.next in _LEVELS[number]:
            sign = self.take()
            value = _arithmetic(sign, value, self.level(number + 1))
        return value

    def unary(self) -> Any:
        token = self.next
        if token in ("+", "-", "~", "!"):
            self.take()
            value = self.unary()
            if token == "!":
                return ~value.astype(_BOOL)
            value = _converted(value, _promoted(value.dtype))
            if token == "~" and value.dtype.kind not in "iu":
                raise CannotEvaluateError("it has ~ of a floating-point number")
            return ~value if token == "~" else -value if token == "-" else value
        if token == "(":
            start = self.place
            self.take()
            dtype = self.type_name()
            if dtype is not None and self.skip(")"):
                return _converted(self.unary(), dtype)
            self.place = start
        return self.primary()

    def primary(self) -> Any:
        if self.skip("("):
            value = self.expression()
            self.take(")")
            return value
        token = self.next
        if re.match(r"[\d.]", token):
            self.take()
            return _number(token)
        if token == "static_cast":
            self.take()
            self.take("<")
            dtype = self.type_name()
            self.take(">")
            if dtype is None:
                raise CannotEvaluateError("it has a cast to an unknown type")
            return _converted(self._arguments(1)[0], dtype)
        dtype = self.type_name()
        if dtype is not None:
            if self.next != "(":
                raise CannotEvaluateError(f"it has {token!r} where a value is understood")
            values = self._arguments()
            if dtype.kind == "c" and len(values) == 2:
                return (values[0] + 1j * values[1].astype(_DOUBLE)).astype(dtype)
            if len(values) != 1:
                raise CannotEvaluateError(f"it makes {dtype} of {len(values)} values")
            return _converted(values[0], dtype)
        if not re.match(r"[A-Za-z_]", token):
            raise self._unexpected("a value")
        self.take()
        while self.next == "::":  # std::sqrt, thrust::norm
            self.take()
            token = self.take()
        if self.next == "(" and token not in self.names:
            return _call(token, self._arguments())
        return self._value(token)

    def _value(self, name: str) -> Any:
        if self.next == "." and f"{name}.{self.tokens[self.place + 1]}" in self.names:
            self.take()
            name = f"{name}.{self.take()}"
            self._arguments(0)
            return self.names[name]
        value = self.names.get(name, _CONSTANTS.get(name))
        if value is None:
            raise CannotEvaluateError(f"it has {name!r}")
        if not isinstance(value, Raw):
            if self.skip("."):
                return _call(self.take("real", "imag"), [value, *self._arguments(0)])
            return value
        array = value.array
        if self.skip("["):
            index = self.expression()
            self.take("]")
            return array.flat[self._inside(index, array)]
        self.take(".")
        self.take("size")
        self._arguments(0)
        return np.int64(array.size)

    def _inside(self, index: Any, array: np.ndarray) -> Any:
        if index.dtype.kind not in "iu":
            raise CannotEvaluateError("it indexes an array by what is no integer")
        # The side of a condition that is not taken may be outside.
        return np.clip(index.astype(_LONG), 0, max(array.size - 1, 0))

    def _arguments(self, count: int | None = None) -> list[Any]:
        self.take("(")
        values = []
        if self.next != ")":
            values.append(self.expression())
            while self.skip(","):
                values.append(self.expression())
        self.take(")")
        if count is not None and len(values) != count:
            raise CannotEvaluateError(f"it passes {len(values)} arguments where {count} are understood")
        return values


def _number(text: str) -> Any:
    body = text.rstrip("uUlLfF") if not text.lower().startswith("0x") else text.rstrip("uUlL")
    suffix = text[len(body) :].lower()
    if re.fullmatch(r"\d+|0[xX][0-9a-fA-F]+", body):
        if "f" in suffix:
            raise CannotEvaluateError(f"it has {text!r}")
        octal = len(body) > 1 and body.startswith("0") and body[1].isdigit()
        number = int(body, 8 if octal else 0)
        large = "l" in suffix or number >= (2**32 if "u" in suffix else 2**31)
        if number >= 2**64:
            raise CannotEvaluateError(f"it has {text!r}")
        unsigned = "u" in suffix or number >= 2**63
        return np.dtype(f"{'u' if unsigned else ''}int{64 if large else 32}").type(number)
    return np.float32(body) if suffix == "f" else np.float64(body)


# --- kernels ----------------------------------------------------------------------------------------------------------


def check_plain(preamble: str, around: Sequence[str], options: Sequence[str]) -> None:
    """Raise for what code may depend on beside itself."""
    if preamble.strip():
        raise CannotEvaluateError("it has a preamble")
    if any(part.strip() for part in around):
        raise CannotEvaluateError("it has code around its loop")
    if any(re.match(r"-[DU]|-?-(?:include|define|undefine|pre-include)", option) for option in options):
        raise CannotEvaluateError("its options define macros")


def run_statements(
    code: str, names: dict[str, Any], types: Mapping[str, np.dtype[Any]], outputs: Mapping[str, np.ndarray | Raw]
) -> None:
    """Run assignments, and write what was assigned to outputs in the end.

    Parameters
    ----------
    code : str
    names : dict
        Inputs by name.
    types : mapping
        Dtypes by the letters that stand for them.
    outputs : mapping
        Arrays by name, of the loop's shape, or raw ones.
    """
    names = names | {name: Raw(one.array.copy()) if isinstance(one, Raw) else one for name, one in outputs.items()}
    with np.errstate(all="ignore"):
        _Reader(code, names, types, [*outputs]).run()
    results = []
    for name, one in outputs.items():
        value = names[name].array if isinstance(one, Raw) else names[name]
        results.append(value.copy() if len(outputs) > 1 else value)  # which may be another output's memory
    for one, value in zip(outputs.values(), results, strict=True):
        array = one.array if isinstance(one, Raw) else one
        array[...] = value


def value_of(code: str, names: dict[str, Any], types: Mapping[str, np.dtype[Any]]) -> Any:
    """Return the value of an expression."""
    reader = _Reader(code, names, types)
    with np.errstate(all="ignore"):
        value = reader.expression()
    if reader.next:
        raise CannotEvaluateError(f"it has {reader.next!r} after an expression")
    return value


def type_of(name: str, types: Mapping[str, np.dtype[Any]]) -> np.dtype[Any]:
    """Return the dtype that a type's name in C++ stands for."""
    reader = _Reader(name, {}, types)
    dtype = reader.type_name()
    if dtype is None or reader.next:
        raise CannotEvaluateError(f"it has the type {name!r}")
    return dtype


def reduce(mapped: Any, code: str, types: Mapping[str, np.dtype[Any]]) -> Any:
    """Reduce the last axis, of at least one element: halves with each other."""
    while mapped.shape[-1] > 1:
        half = mapped.shape[-1] // 2
        pair = {"a": mapped[..., :half], "b": mapped[..., half : 2 * half]}
        both = np.broadcast_to(_converted(np.asarray(value_of(code, pair, types)), mapped.dtype), pair["a"].shape)
        mapped = np.concatenate([both, mapped[..., 2 * half :]], axis=-1)
    return mapped[..., 0]
