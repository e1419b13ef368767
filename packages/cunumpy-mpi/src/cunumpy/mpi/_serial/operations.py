"""Reductions: which exist, on which types, and what they do to two arrays."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cunumpy import _arrays
from cunumpy.errors import ArgumentError
from cunumpy.mpi._serial import buffers, specs
from cunumpy.mpi._serial.checks import flag, function_of, wrong_type
from cunumpy.mpi._serial.constants import real_mpi
from cunumpy.mpi._serial.datatypes import Datatype, dtype_of
from cunumpy.mpi._serial.exceptions import error

if TYPE_CHECKING:
    from collections.abc import Callable


class Op:
    """A reduction: ``op(x, y)`` for Python objects, and with buffers in the collectives."""

    __slots__ = ("_commutes", "_function", "_kinds", "_name", "_scalar", "_ufunc")
    _commutes: bool
    _function: Callable[..., Any] | None
    _kinds: str
    _name: str
    _scalar: Callable[[Any, Any], Any] | None
    _ufunc: Callable[..., Any] | None

    def __init__(self, op: Op | None = None) -> None:
        # As in mpi4py: a new reference to the same operation, by default to the null one.
        source = op if op is not None else OP_NULL
        for name in Op.__slots__:
            setattr(self, name, getattr(source, name))

    @classmethod
    def _make(
        cls,
        name: str,
        kinds: str,
        ufunc: Callable[..., Any] | None,
        scalar: Callable[[Any, Any], Any] | None,
        *,
        commutes: bool = True,
        function: Callable[..., Any] | None = None,
    ) -> Op:
        made = cls.__new__(cls)
        made._name, made._kinds, made._ufunc, made._scalar = name, kinds, ufunc, scalar
        made._commutes, made._function = commutes, function
        return made

    def __bool__(self) -> bool:
        return self._name != "OP_NULL"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Op):
            return NotImplemented
        return self._name == other._name and self._function is other._function

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"SerialMPI.{self._name}" if self._name else "SerialMPI.Op(user-defined)"

    def __reduce__(self) -> Any:
        return (_named, (self._name,)) if self._name else (Op.Create, (self._function, self._commutes))

    def __call__(self, x: Any, y: Any) -> Any:
        if self._scalar is None:
            raise ArgumentError(f"{self!r} can't be called: it is defined by the program, for buffers.")
        return self._scalar(x, y)

    @classmethod
    def Create(cls, function: Callable[[Any, Any, Datatype], None], commute: bool = False) -> Op:
        """Make an operation of a function that gets two buffers of bytes and a datatype, and writes to the second."""
        function_of(function, "Op.Create", "function")
        commutes = flag(commute, "Op.Create", "commute")
        return cls._make("", "*", None, None, commutes=commutes, function=function)

    def Free(self) -> None:
        """Give the operation up: it becomes the null one."""
        if self._name:
            raise error("OP", f"Op.Free: {self!r} can't be freed: it is predefined or null.")
        for name in Op.__slots__:
            setattr(self, name, getattr(OP_NULL, name))

    def free(self) -> None:
        """Give the operation up, unless it is null or predefined."""
        if not self._name:
            self.Free()

    def Is_commutative(self) -> bool:
        """Tell whether the order of the operands may be changed."""
        if not self:
            raise error("OP", "Op.Is_commutative: the operation is null.")
        return self._commutes

    is_commutative: property = property(Is_commutative)
    is_predefined: property = property(lambda self: bool(self._name))

    def Reduce_local(self, inbuf: Any, inoutbuf: Any) -> None:
        """Combine two buffers, and write the result to the second."""
        function = "Op.Reduce_local"
        source = specs.simple(inbuf, function, "inbuf", write=False)
        target = specs.simple(inoutbuf, function, "inoutbuf", write=True)
        same(source, target, function)
        self._check(source.type, function)
        first, second = source.load(), target.load()
        if self._function is not None:
            self._function(memoryview(first), memoryview(second), target.type)
            target.store(second, function)
            return
        dtype = dtype_of(source.type)
        assert dtype is not None
        target.store(self._combine(first.view(dtype), second.view(dtype)).view(np.uint8), function)

    def _combine(self, first: Any, second: Any) -> Any:
        if self._name in ("MINLOC", "MAXLOC"):
            return _located(first, second, np.less if self._name == "MINLOC" else np.greater)
        if self._name == "REPLACE":
            return first
        if self._name == "NO_OP":
            return second
        assert self._ufunc is not None
        on_device = _arrays.is_device_array(first)
        ufunc = getattr(_arrays.get_array_module(first), self._ufunc.__name__) if on_device else self._ufunc
        with np.errstate(all="ignore"):
            return ufunc(first, second).astype(second.dtype)

    def _check(self, datatype: Datatype, function: str, *, rma: bool = False) -> None:
        """Refuse an operation that MPI does not define for a type."""
        if not self:
            raise error("OP", f"{function}: argument 'op' is MPI.OP_NULL.")
        if self._function is not None:
            return
        if self._kinds == "rma":
            if not rma and function != "Op.Reduce_local":
                raise error("OP", f"{function}: {self!r} is for windows only (Accumulate and the like).")
            return
        dtype = dtype_of(datatype)
        name = datatype._how[1][0] if datatype._predefined else ""
        if dtype is None or not _defined(self._kinds, name, dtype):
            raise error(
                "OP",
                f"{function}: argument 'op', {self!r}, is not defined for {datatype!r}"
                + (", which is derived; make an operation for it by MPI.Op.Create" if not datatype._predefined else "")
                + ".",
            )


def _defined(kinds: str, name: str, dtype: np.dtype[Any]) -> bool:
    if name in ("CHAR", "CHARACTER", "WCHAR", "PACKED"):
        return False
    if name == "BYTE":
        return "B" in kinds
    if dtype.kind == "V":
        return "V" in kinds
    return dtype.kind in kinds


def same(source: buffers.Buffer, target: buffers.Buffer, function: str) -> None:
    """Check that the two sides of a reduction are of the same type and length."""
    if source.type != target.type:
        if source.type._size == target.type._size and source.type._signature == target.type._signature:
            pass  # LONG and INT64_T, say
        else:
            raise ArgumentError(
                f"{function}: arguments {source.name!r} and {target.name!r} must be of the same datatype, got "
                f"{source.type!r} and {target.type!r}."
            )
    if source.count != target.count:
        raise ArgumentError(
            f"{function}: arguments {source.name!r} and {target.name!r} must have the same count, got {source.count} "
            f"and {target.count}."
        )


def _located(first: np.ndarray, second: np.ndarray, better: Any) -> np.ndarray:
    """Combine pairs of value and index: the better value wins, and among equal ones the lower index."""
    names = first.dtype.names
    assert names is not None
    value, index = names
    equal = first[value] == second[value]
    take = better(first[value], second[value]) | (equal & (first[index] < second[index]))
    result = second.copy()
    result[take] = first[take]
    return result


def _least(x: Any, y: Any) -> Any:
    (a, i), (b, j) = x, y
    return (a, min(i, j)) if a == b else x if a < b else y


def _greatest(x: Any, y: Any) -> Any:
    (a, i), (b, j) = x, y
    return (a, min(i, j)) if a == b else x if a > b else y


OP_NULL = Op._make("OP_NULL", "", None, None)
# Kinds of NumPy's dtypes for which MPI defines an operation; "B" is MPI.BYTE, "V" a pair of a value and an index.
PREDEFINED_OPS: dict[str, Op] = {
    name: Op._make(name, kinds, ufunc, scalar, commutes=name not in ("REPLACE", "NO_OP"))
    for name, kinds, ufunc, scalar in (
        ("MAX", "iuf", np.maximum, lambda x, y: max(y, x)),
        ("MIN", "iuf", np.minimum, lambda x, y: min(y, x)),
        ("SUM", "iufc", np.add, operator.add),
        ("PROD", "iufc", np.multiply, operator.mul),
        ("LAND", "iub", np.logical_and, lambda x, y: bool(x) & bool(y)),
        ("BAND", "iuB", np.bitwise_and, operator.and_),
        ("LOR", "iub", np.logical_or, lambda x, y: bool(x) | bool(y)),
        ("BOR", "iuB", np.bitwise_or, operator.or_),
        ("LXOR", "iub", np.logical_xor, lambda x, y: bool(x) ^ bool(y)),
        ("BXOR", "iuB", np.bitwise_xor, operator.xor),
        ("MAXLOC", "V", None, _greatest),
        ("MINLOC", "V", None, _least),
        ("REPLACE", "rma", None, lambda x, y: y),
        ("NO_OP", "rma", None, lambda x, y: x),
    )
}


def as_op(value: Any, function: str) -> Op:
    """Return an operation that was given as one of ours or of mpi4py's."""
    if isinstance(value, Op):
        return value
    real = real_mpi()
    if real is not None and isinstance(value, real.Op):
        for name, op in (*PREDEFINED_OPS.items(), ("OP_NULL", OP_NULL)):
            if value == getattr(real, name):
                return op
        return Op._make("", "*", None, value, function=value.Reduce_local, commutes=value.Is_commutative())
    raise wrong_type(function, "op", "an operation, such as MPI.SUM", value)


def _named(name: str) -> Op:
    return OP_NULL if name == "OP_NULL" else PREDEFINED_OPS[name]
