"""Stand-ins for the arrays of a fused function, and the record of what it does with them.

A function of NumPy arrays runs once in each call, with stand-ins for the arrays. What it does with them is recorded,
and done when it has ended: by compiled loops, or by NumPy, in the order of the record. Where it asks for what only
NumPy has, such as an element's value, all that was recorded is done at once by NumPy, and so is all that follows.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from cunumpy import _gate
from cunumpy.errors import ArgumentTypeError
from cunumpy.kernels import _fused_graph as graph
from cunumpy.kernels._fused_functions import FUNCTIONS, METHODS, REDUCING, check_dims, copied, reduce
from cunumpy.kernels._fused_graph import CannotFuse, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_numpy: Any = np  # where its stubs know less than it has

_NUMBERS = (int, float, complex, bool)

_REFUSED = {
    "a product of matrices": "matmul dot vdot inner outer tensordot einsum kron cross vecdot matvec vecmat __matmul__ "
    "__rmatmul__ __imatmul__",
    "a change of shape": "reshape ravel flatten resize transpose permute_dims matrix_transpose T mT swapaxes moveaxis "
    "rollaxis squeeze expand_dims atleast_1d atleast_2d atleast_3d broadcast_to broadcast_arrays flat",
    "indexing": "take take_along_axis put put_along_axis putmask place compress extract select choose diagonal diag "
    "__iter__",
}
_REASONS = {name: reason for reason, names in _REFUSED.items() for name in names.split()}


class Record:
    """What one call of a fused function did with its arrays.

    Parameters
    ----------
    owner : str
        For error messages.

    Attributes
    ----------
    why_not : str or None
        What could not be fused; then all is done by NumPy.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.why_not: str | None = None
        self.changed: dict[int, FusedArray] = {}
        self.ended = self.refused = False
        self._done: list[tuple[Callable[..., Any], tuple[Any, ...], Mapping[str, Any], FusedArray | None]] = []
        """Operations as the function asked for them, and the stand-ins of their results."""
        self._given: dict[int, FusedArray] = {}
        self._captured: dict[int, Node] = {}

    def stand_in(self, array: np.ndarray) -> FusedArray:
        """Return the stand-in of an argument; it is the same for the same array."""
        found = self._given.get(id(array))
        if found is None:
            found = self._given[id(array)] = FusedArray(self, graph.given_array(array), array)
        return found

    def node_of(self, value: Any) -> Any:
        """Return the operand of an operation: a node, or the number that it is."""
        kind = type(value)
        if kind is FusedArray:
            if value._record is not self:
                raise CannotFuse("an array of another fused function")
            return value._node
        if kind in _NUMBERS:
            return value
        if kind is np.ndarray:
            found = self._given.get(id(value))
            if found is not None:
                return found._node
            node = self._captured.get(id(value))
            if node is None:
                if any(_gate.overlap(value, one._real) for one in self.changed.values()):
                    raise CannotFuse("an array that overlaps one that is written to")
                node = self._captured[id(value)] = graph.given_array(value)
            return node
        if isinstance(value, np.generic) and value.dtype in graph.DTYPES:
            return value
        raise CannotFuse(f"an operand of type {kind.__name__}")

    def add(
        self, node: Node, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> FusedArray:
        """Record an operation; return the stand-in of its result."""
        result = FusedArray(self, node, None)
        self._done.append((function, args, kwargs, result))
        return result

    def change(
        self,
        target: FusedArray,
        node: Node,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> FusedArray:
        """Record an operation that writes to an array."""
        self._done.append((function, args, kwargs, None))
        target._node = node
        return target

    def check_target(self, target: Any) -> Node:
        """Return the node of what is written to.

        Raises
        ------
        CannotFuse
            NumPy refuses to write there, or it matters in which order elements are written.
        """
        if type(target) is not FusedArray or target._record is not self:
            raise CannotFuse("a result in an array that is no argument")
        array = target._real
        if array is None and not target._node.shape:
            raise CannotFuse("a result in a number")
        if array is not None and id(target) not in self.changed:
            read = [one._real for one in self._given.values() if one is not target]
            read += [one.array for one in self._captured.values()]
            if not array.flags.writeable or _gate.overlaps_itself(array):
                raise CannotFuse("a result in an array that can't be written to")
            if any(_gate.overlap(array, one) for one in read):
                raise CannotFuse("a result in an array that overlaps another one")
            self.changed[id(target)] = target
        return target._node

    def give_up(self, reason: str) -> None:
        """Let NumPy do what is recorded, and all that follows."""
        if self.why_not is None:
            self.why_not = reason
            self.run_by_numpy()

    def end(self) -> None:
        """Let nothing more be recorded."""
        self.ended = True
        self.why_not = self.why_not or "the function has ended"

    def release(self) -> None:
        """Forget all arrays: a stand-in knows its record, and both would keep them until the next collection."""
        for one in (self.changed, self._given, self._captured, self._done):
            one.clear()

    def run_by_numpy(self) -> None:
        """Do what is recorded as the function asked for it."""
        done, self._done = self._done, []
        for function, args, kwargs, result in done:
            value = function(*self.real(args), **self.real(kwargs))
            if result is not None:
                result._real = value

    def real(self, value: Any) -> Any:
        """Return a value with arrays in the place of stand-ins, in tuples, lists and dictionaries too."""
        kind = type(value)
        if kind is FusedArray:
            return value._value()
        if isinstance(value, tuple):
            items = [self.real(one) for one in value]
            return kind(*items) if hasattr(kind, "_fields") else kind(items)
        if kind is list:
            return [self.real(one) for one in value]
        if kind is dict:
            return {key: self.real(one) for key, one in value.items()}
        return value

    def refuse(self, name: str, what: str) -> NoReturn:
        """Raise for what no fused function can have, on a GPU neither."""
        self.refused = True
        raise ArgumentTypeError(
            f"{self.owner}: {name!r} is {what}, which can't be part of a fused function: each element of its results "
            "comes from one element of each array, or from a sum and the like at its end. Do it before or after."
        )


def in_tree(value: Any) -> Iterable[FusedArray]:
    """Yield the stand-ins in what a function returned."""
    if type(value) is FusedArray:
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from in_tree(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from in_tree(one)


class FusedArray:
    """What stands for an array while a fused function runs; to `isinstance` it is an array."""

    __slots__ = ("__weakref__", "_node", "_real", "_record")

    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 0.0

    def __init__(self, record: Record, node: Node, real: Any) -> None:
        self._record, self._node, self._real = record, node, real

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """Of an array, or of NumPy's numbers."""
        return np.ndarray if self._node.shape or self._real is not None else self._node.dtype.type

    def _value(self) -> Any:
        """Return the array."""
        if self._real is None:
            if self._record.why_not is not None:
                raise ArgumentTypeError(
                    f"{self._record.owner}: an intermediate result was kept beyond the call; a fused function has "
                    "none. Return what is needed later."
                )
            self._record.give_up("an array's values are asked for")
        return self._real

    # --- what is known without values

    @property
    def shape(self) -> tuple[int, ...]:
        return self._node.shape

    @property
    def ndim(self) -> int:
        return len(self._node.shape)

    @property
    def size(self) -> int:
        return self._node.size

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._node.dtype

    @property
    def itemsize(self) -> int:
        return self._node.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self._node.size * self._node.dtype.itemsize

    def __len__(self) -> int:
        if not self._node.shape:
            raise TypeError("len() of unsized object")
        return self._node.shape[0]

    @property
    def device(self) -> str:
        return "cpu"

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return np

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    # --- what needs values

    def __getattr__(self, name: str) -> Any:
        if name in _REASONS and hasattr(np.ndarray, name):
            self._record.refuse(name, _REASONS[name])
        if not hasattr(np.ndarray, name) or name in ("__array_interface__", "__array_struct__"):
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        return getattr(self._unfused(f"the array's {name}"), name)

    def _unfused(self, reason: str) -> Any:
        self._record.give_up(reason)
        return self._value()

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self._unfused("a conversion to a NumPy array"), dtype=dtype, copy=copy)

    def __bool__(self) -> bool:
        return bool(self._unfused("a decision that depends on an array's values"))

    def __int__(self) -> int:
        return int(self._unfused("an array's value as int"))

    def __float__(self) -> float:
        return float(self._unfused("an array's value as float"))

    def __complex__(self) -> complex:
        return complex(self._unfused("an array's value as complex"))

    def __index__(self) -> int:
        return operator.index(self._unfused("an array's value as an index"))

    def __contains__(self, value: Any) -> bool:
        return value in self._unfused("a look at an array's values")

    def __repr__(self) -> str:
        return repr(self._unfused("a look at an array's values"))

    def __str__(self) -> str:
        return str(self._unfused("a look at an array's values"))

    def __format__(self, spec: str) -> str:
        return format(self._unfused("a look at an array's values"), spec)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._unfused("a copy of an array").__reduce_ex__(protocol)

    def __iter__(self) -> Any:
        self._record.refuse("iteration", "indexing")

    def __getitem__(self, index: Any) -> Any:
        if _everything(index):
            return self
        self._record.refuse("x[...]" if index is Ellipsis else f"x[{type(index).__name__}]", "indexing")
        return None

    def __setitem__(self, index: Any, value: Any) -> None:
        if not _everything(index):
            self._record.refuse(f"x[{type(index).__name__}] =", "indexing")
        self._assign(value)

    def _assign(self, value: Any) -> None:
        record = self._record
        if record.why_not is None:
            try:
                target = record.check_target(self)
                operand = record.node_of(value)
                if not isinstance(operand, Node):
                    node = graph.fill(operand, target, target.dtype)
                    node.steps = target.steps
                else:
                    node = graph.cast(operand, target.dtype, target)
                record.change(self, node, operator.setitem, (self, Ellipsis, value), {})
                return
            except CannotFuse as error:
                record.give_up(str(error))
        self._value()[...] = record.real(value)

    # --- operations

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        record = _record_of((inputs, kwargs)) or self._record
        if function.__name__ in _REASONS:
            record.refuse(function.__name__, _REASONS[function.__name__])
        if method == "__call__" and not (kwargs.keys() - {"out"}):
            out = kwargs.get("out")
            return _call(record, function, inputs, None if out is None else out[0], kwargs)
        if method == "reduce" and function in REDUCING and not (kwargs.keys() - {"axis", "dtype", "keepdims"}):
            return reduce(record, REDUCING[function], function.reduce, inputs, {"axis": 0, **kwargs})
        record.give_up(f"{function.__name__} with {method} and {', '.join(kwargs) or 'no keywords'}")
        return getattr(function, method)(*record.real(inputs), **record.real(kwargs))

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        record = _record_of((args, kwargs)) or self._record
        name = function.__name__
        if name in _REASONS:
            record.refuse(name, _REASONS[name])
        found = FUNCTIONS.get(name) if getattr(np, name, None) is function else None
        if found is not None and record.why_not is None:
            try:
                return found(record, function, *args, **kwargs)
            except (CannotFuse, TypeError) as error:
                record.give_up(f"{name}: {error}")
        record.give_up(f"{name} is no elementwise function")
        return function(*record.real(args), **record.real(kwargs))

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        record = self._record
        if record.why_not is None:
            try:
                check_dims(self, self._real is None)
                if order != "K" or not np.can_cast(self.dtype, dtype, casting):  # type: ignore[arg-type]
                    raise CannotFuse("astype with an order")
                wanted = np.dtype(dtype)
                if wanted == self.dtype and not copy:
                    return self
                return record.add(graph.cast(self._node, wanted), METHODS["astype"], (self, wanted), {"copy": copy})
            except (CannotFuse, TypeError) as error:
                record.give_up(str(error))
        return self._value().astype(dtype, order, casting, subok, copy)

    def copy(self, order: str = "C") -> Any:
        return copied(self, order)

    def __copy__(self) -> Any:
        return copied(self, "K")

    def __deepcopy__(self, memo: Any) -> Any:
        return copied(self, "K")

    def fill(self, value: Any) -> None:
        self._assign(value)

    @property
    def real(self) -> Any:
        if self._node.dtype.kind != "c":
            return self
        return self._unfused("a view of complex numbers' parts").real

    @property
    def imag(self) -> Any:
        return self._unfused("a view of complex numbers' parts").imag

    def conj(self) -> Any:
        return np.conjugate(self) if self._node.dtype.kind == "c" else self

    conjugate = conj

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
        return _numpy.clip(self, min, max, out, **kwargs)

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        return _numpy.round(self, decimals, out)

    def __pow__(self, exponent: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return NotImplemented
        return self._power(exponent, None)

    def __ipow__(self, exponent: Any, modulus: Any = None) -> Any:
        return self._power(exponent, self)

    def _power(self, exponent: Any, out: FusedArray | None) -> Any:
        if type(exponent) in _NUMBERS or issubclass(type(exponent), np.generic):
            kind: Any = type(exponent)
            function, operands = _power_of(self.dtype, kind, exponent)
        else:
            function, operands = np.power, 2
        return _operate(
            self._record, operator.pow if out is None else operator.ipow, function, (self, exponent), operands, out
        )

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self


def _everything(index: Any) -> bool:
    return index is Ellipsis or (type(index) is slice and index == slice(None))


def _record_of(values: Any) -> Record | None:
    """Return the record that runs, where arrays of ended ones may be among the values."""
    for one in in_tree(values):
        if not one._record.ended:
            return one._record
    return None


class _Asked(np.ndarray):
    """Tells which function NumPy takes for an operator."""

    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **kwargs: Any) -> Any:
        return ufunc, len(inputs)


@functools.lru_cache(maxsize=1024)
def _power_of(dtype: np.dtype[Any], kind: Any, exponent: Any) -> tuple[np.ufunc, int]:
    """Return the function, and its number of operands, that NumPy takes for ``x ** exponent``."""
    asked = np.empty(1, dtype).view(_Asked) ** exponent
    return asked if type(asked) is tuple else (np.power, 2)


def _call(record: Record, function: np.ufunc, inputs: tuple[Any, ...], out: Any, kwargs: Mapping[str, Any]) -> Any:
    """Do what a universal function is called for."""
    if record.why_not is None:
        try:
            if function is np.divmod:
                if out is not None:
                    raise CannotFuse("divmod with results in given arrays")
                return np.floor_divide(*inputs), np.remainder(*inputs)
            target = None if out is None else record.check_target(out)
            node = graph.call(function, [record.node_of(one) for one in inputs], target)
            if out is None:
                return record.add(node, function, inputs, kwargs)
            return record.change(out, node, function, inputs, kwargs)
        except CannotFuse as error:
            record.give_up(str(error))
    result = function(*record.real(inputs), **record.real(kwargs))
    return out if out is not None and type(out) is FusedArray else result


def _operate(
    record: Record,
    operation: Callable[..., Any],
    function: np.ufunc,
    operands: tuple[Any, ...],
    used: int,
    out: FusedArray | None,
) -> Any:
    """Do what an operator asks for."""
    if out is not None and out._real is None and not out._node.shape:  # numbers don't change
        out = None
    if record.why_not is None:
        try:
            target = None if out is None else record.check_target(out)
            node = graph.call(function, [record.node_of(one) for one in operands[:used]], target)
            if out is None:
                return record.add(node, operation, operands, {})
            return record.change(out, node, operation, operands, {})
        except CannotFuse as error:
            record.give_up(str(error))
    result = operation(*record.real(operands))
    return result if out is None or result is not out._real else out


def _operator(name: str, function: np.ufunc) -> None:
    operation = getattr(operator, f"__{name}__")

    def forward(self: FusedArray, other: Any) -> Any:
        return _operate(self._record, operation, function, (self, other), 2, None)

    def reflected(self: FusedArray, other: Any) -> Any:
        return _operate(self._record, operation, function, (other, self), 2, None)

    setattr(FusedArray, f"__{name}__", forward)
    if name in ("lt", "le", "gt", "ge", "eq", "ne"):
        return
    setattr(FusedArray, f"__r{name}__", reflected)
    in_place = getattr(operator, f"__i{name}__")

    def update(self: FusedArray, other: Any) -> Any:
        return _operate(self._record, in_place, function, (self, other), 2, self)

    setattr(FusedArray, f"__i{name}__", update)


def _unary(name: str, function: np.ufunc) -> None:
    operation = getattr(operator, f"__{name}__")

    def method(self: FusedArray) -> Any:
        return _operate(self._record, operation, function, (self,), 1, None)

    setattr(FusedArray, f"__{name}__", method)


_binary_functions: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
for _name, _function in _binary_functions.items():
    _operator(_name, _function)
_unary_functions: dict[str, np.ufunc] = {
    "neg": np.negative,
    "pos": np.positive,
    "abs": np.absolute,
    "invert": np.invert,
}
for _name, _function in _unary_functions.items():
    _unary(_name, _function)


def _reversed_power(self: FusedArray, base: Any, modulus: Any = None) -> Any:
    return _operate(self._record, operator.pow, np.power, (base, self), 2, None)


def _refused_product(self: FusedArray, other: Any) -> Any:
    self._record.refuse("@", "a product of matrices")


FusedArray.__rpow__ = _reversed_power  # type: ignore[attr-defined]
for _name in ("__matmul__", "__rmatmul__", "__imatmul__"):
    setattr(FusedArray, _name, _refused_product)


def _reducing_method(name: str) -> None:
    def method(self: FusedArray, *args: Any, **kwargs: Any) -> Any:
        if self._record.ended or self._record.why_not is not None:
            return getattr(self._value(), name)(*args, **kwargs)
        return getattr(np, name)(self, *args, **kwargs)

    setattr(FusedArray, name, method)


for _name in ("sum", "prod", "max", "min", "any", "all", "mean"):
    _reducing_method(_name)
