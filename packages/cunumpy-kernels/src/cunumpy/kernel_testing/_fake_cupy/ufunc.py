"""CuPy's universal functions: NumPy's values, with the types that CuPy's loops take and give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import asynchrony, fusion
from .array_base import changed, operand, unwrap, wrap
from .array_base import target as writable
from .dtypes import check_dtype
from .elements import host_index
from .host_copies import announced_copy
from .ndarray import ndarray

# Which methods besides the call CuPy has, and for which functions.
METHODS = {
    "reduce": ("add", "multiply"),
    "accumulate": ("add", "multiply"),
    "reduceat": ("add",),
    "at": ("add", "subtract", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"),
}
# Functions of CuPy that are no ufuncs of NumPy, or that CuPy computes for more types.
COMPUTE = {"i0": np.i0, "sinc": np.sinc, "fix": np.trunc}


class ufunc:
    """A universal function of the stand-in.

    Parameters
    ----------
    name : str
        CuPy's name.
    nin, nout : int
        Numbers of operands and results.
    types : sequence of str
        The loops, as ``"dd->d"``, in the order in which they are tried.
    compute : callable, optional
        What calculates, with NumPy arrays; by default NumPy's function of that name.
    """

    def __init__(self, name: str, nin: int, nout: int, types: Sequence[str], compute: Any = None) -> None:
        self.name = f"cupy_{name}"
        self.__name__ = name
        self.nin = nin
        self.nout = nout
        self.nargs = nin + nout
        self.types = list(types)
        self._compute: Any = compute or COMPUTE.get(name) or getattr(np, name)

    def __repr__(self) -> str:
        return f"<ufunc '{self.name}'>"

    def _loop_for(self, dtype: np.dtype[Any]) -> tuple[str, str]:
        """Return operand and result types of the first loop with that result type; operands are cast to it."""
        for loop in self.types:
            inputs, _, outputs = loop.partition("->")
            if all(np.dtype(char) == dtype for char in outputs):
                return inputs, outputs
        raise TypeError(f"Wrong type ({dtype}) of the result of {self.name}")

    def _result_types(self, values: Sequence[Any]) -> str:
        """Return the result types of the first loop that takes the operands; Python scalars adapt to the arrays."""
        strong = [value.dtype for value in values if isinstance(value, (np.ndarray, np.generic))]
        weak = [value for value in values if not isinstance(value, (np.ndarray, np.generic))]
        adapted = np.result_type(*strong, *weak)
        taken = [v.dtype if isinstance(v, (np.ndarray, np.generic)) else adapted for v in values]
        for loop in self.types:
            inputs, _, outputs = loop.partition("->")
            if all(np.can_cast(dtype, char) for dtype, char in zip(taken, inputs, strict=True)):
                return outputs
        names = ", ".join(str(dtype) for dtype in taken)
        raise TypeError(f"Wrong type ({names}) of arguments for {self.name}")

    def __call__(
        self, *args: Any, out: Any = None, dtype: Any = None, casting: str = "same_kind", **kwargs: Any
    ) -> Any:
        if fusion.is_fusing() and fusion.is_proxy(*args, out):
            options = {"out": out, "dtype": dtype, "casting": casting, **kwargs}
            return fusion.applied(self, args, options)
        if kwargs:
            raise TypeError(f"Wrong arguments {kwargs}")
        asynchrony.begin_operation()
        if len(args) not in (self.nin, self.nargs):
            raise TypeError(
                f"Wrong number of arguments for '{self.name}'. It must be either {self.nin} or {self.nargs} "
                f"(with outputs), but given {len(args)}."
            )
        outputs: tuple[Any, ...] = args[self.nin :] or (
            (out if isinstance(out, tuple) else (out,)) if out is not None else ()
        )
        if args[self.nin :] and out is not None:
            raise ValueError("Cannot specify 'out' as both a positional and keyword argument")
        if outputs and len(outputs) != self.nout:
            raise ValueError(f"The 'out' parameter must have {self.nout} arrays")
        for given in outputs:
            if not isinstance(given, ndarray):
                raise TypeError(f"Output arguments type must be cupy.ndarray, not {type(given)}")
        sources = tuple(value for value in args[: self.nin] if isinstance(value, ndarray))
        values = [operand(value) for value in args[: self.nin]]
        types: Any
        if dtype is None:
            types = self._result_types(values)
        else:
            inputs, types = self._loop_for(check_dtype(dtype))
            values = [np.asarray(value).astype(char) for value, char in zip(values, inputs, strict=True)]
        with np.errstate(all="ignore"):
            computed = self._compute(*self._operands(values, types))
        results = []
        for position, result in enumerate(computed if self.nout > 1 else (computed,)):
            if outputs:
                target = writable(outputs[position])
                if not np.can_cast(types[position], target.dtype, casting):  # type: ignore[arg-type]
                    raise TypeError(
                        f"Cannot cast ufunc '{self.name}' output from {np.dtype(types[position])!r} to "
                        f"{target.dtype!r} with casting rule {casting!r}"
                    )
                if np.broadcast_shapes(np.shape(result), target.shape) != target.shape:
                    raise ValueError("Out shape is mismatched")
                with np.errstate(all="ignore"):
                    target[...] = result
                results.append(outputs[position])
            else:
                with np.errstate(all="ignore"):
                    results.append(wrap(np.asarray(result).astype(types[position], copy=False), *sources))
        return tuple(results) if self.nout > 1 else results[0]

    def _operands(self, values: list[Any], types: Any) -> list[Any]:
        """Return operands for which there is a loop where CuPy has one."""
        return _for_numpy(self.__name__, values)

    def _has(self, method: str) -> None:
        if self.__name__ not in METHODS[method]:
            raise NotImplementedError(f"`{self.name}.{method}` is not supported yet")

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Apply the function along an axis until one element is left."""
        self._has("reduce")
        target = None if out is None else writable(out)
        with np.errstate(all="ignore"):
            result = self._compute.reduce(unwrap(array), axis, dtype, target, keepdims)
        return wrap(result) if out is None else out

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """Apply the function along an axis and keep every intermediate result."""
        self._has("accumulate")
        target = None if out is None else writable(out)
        with np.errstate(all="ignore"):
            result = self._compute.accumulate(unwrap(array), axis, dtype, target)
        return wrap(result) if out is None else out

    def reduceat(self, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """Apply the function along slices of an axis."""
        self._has("reduceat")
        target = None if out is None else writable(out)
        at = unwrap(indices if isinstance(indices, ndarray) else announced_copy(indices, f"{self.__name__}.reduceat()"))
        with np.errstate(all="ignore"):
            result = self._compute.reduceat(unwrap(array), at, axis, dtype, target)
        return wrap(result) if out is None else out

    def at(self, a: Any, indices: Any, b: Any = None) -> None:
        """Apply the function in place to the selected elements; one selected twice is changed twice."""
        self._has("at")
        asynchrony.begin_operation()
        index, values = host_index(indices), operand(b)
        with np.errstate(all="ignore"), changed(a) as buffer:
            self._compute.at(buffer, index, values)

    def outer(self, A: Any, B: Any, **kwargs: Any) -> Any:
        """Apply the function to all pairs of elements."""
        left, right = operand(A), operand(B)
        pairs = np.reshape(left, np.shape(left) + (1,) * np.ndim(right))
        return self(wrap(pairs), B, **kwargs)


def _for_numpy(name: str, values: list[Any]) -> list[Any]:
    """Return operands for which NumPy has a loop where CuPy has one."""
    if name == "sign":
        return [value.astype(np.int8) if np.asarray(value).dtype == np.bool_ else value for value in values]
    return values
