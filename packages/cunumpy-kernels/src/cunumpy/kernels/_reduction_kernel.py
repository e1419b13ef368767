"""Reduction kernels, as CuPy's: elements mapped, reduced pair by pair, and the results mapped, in CUDA C++."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError, MissingCompilerError
from cunumpy.kernels import _generated_code as generated
from cunumpy.kernels import _numpy_evaluation as numpy_evaluation
from cunumpy.kernels import _typed_parameters as typed
from cunumpy.kernels._reduction_code import TILE, reduce_type_of, reduction_source
from cunumpy.kernels._typed_parameters import TypedKernel

if TYPE_CHECKING:
    from collections.abc import Sequence

_RESERVED = frozenset(["a", "b", "_J", "_i", "_j", "_in_ind", "_out_ind", "_type_reduce"])
_CHUNK, _ROWS, _FEW_TILES = 16384, 4096, 64
"""Elements of one partial result; rows of one, where neighbouring outputs go together; and how many such groups are
enough for all workers. None depends on the number of workers, so that results don't."""

_AXES_PLACE = re.compile(r"\b(?:_J|_j|_in_ind(?!\s*\.\s*size\b))\b")
_OUTPUTS_PLACE = re.compile(r"\b(?:_i|_j|_(?:in|out)_ind(?!\s*\.\s*size\b))\b")
"""What tells places among the reduced elements, and among outputs: they are in C order then."""


class ReductionKernel(TypedKernel):
    """A reduction of broadcast arrays, written in CUDA C++, with the interface of `cupy.ReductionKernel`.

    Called with NumPy arrays it runs on the CPU's cores, compiled by the machine's C++ compiler; called with CuPy arrays
    it is CuPy's own. The arguments decide, never the active backend.

    Parameters
    ----------
    in_params, out_params : str
        Types and names, as for `ElementwiseKernel`.
    map_expr : str
        The value of an element. ``_J`` is its number among those that are reduced to one, ``_i`` the number of that
        one, both in C order; ``_in_ind.size()`` and ``_out_ind.size()`` are the numbers of all.
    reduce_expr : str
        The value of two, ``a`` and ``b``. It has to be associative and commutative.
    post_map_expr : str
        Assigns the outputs, from the reduced value ``a``; ``_i``, ``_in_ind`` and ``_out_ind`` are there, too.
    identity : str or None
        What changes no value in the reduction. With None, there must be an element to reduce.
    name : str, default: "reduce_kernel"
        For messages and profilers.
    reduce_type : str, optional
        The type of ``a`` and ``b``: a letter of the parameters, the full name of a dtype, or a C++ type. Default: that
        of the first output.
    reduce_dims : bool, default: True
        Let axes be merged where that changes nothing. On NumPy arrays they always are.
    preamble : str, optional
        Code before the kernel.
    options : tuple of str, optional
        Of CUDA's compiler.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        A declaration can't be read.

    Notes
    -----
    The order of the reduction depends on shape and layout alone, so that the number of workers changes no bit of the
    result. Long reductions are cut into parts of 16384 elements, with 16 running values for 256 elements, which are put
    together pairwise, as NumPy's sums are. Without a C++ compiler NumPy evaluates the expressions, if they have only
    operators and mathematical functions, and there is no preamble.

    Examples
    --------
    >>> import numpy as np
    >>> from cunumpy.kernels import ReductionKernel
    >>> l2norm = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
    >>> l2norm(np.array([[3.0, 4.0], [6.0, 8.0]]), axis=1)
    array([ 5., 10.])
    """

    preamble: str
    reduce_dims: bool
    map_expr: str
    reduce_expr: str
    post_map_expr: str
    identity: str | None
    reduce_type: str | None
    options: tuple[str, ...]
    _functions: dict[Any, tuple[generated.Compiled, int]]

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: str | None,
        name: str = "reduce_kernel",
        reduce_type: str | None = None,
        reduce_dims: bool = True,
        preamble: str = "",
        options: tuple[str, ...] = (),
    ) -> None:
        reduce_dims = _gate.as_truth(reduce_dims, function="ReductionKernel", argument="reduce_dims")
        super().__init__(in_params, out_params, name, _RESERVED)
        if not self.out_params:
            raise ArgumentError(f"{self._owner}: argument 'out_params' must declare an output.")
        if any(one.raw for one in self.out_params):
            raise ArgumentError(f"{self._owner}: argument 'out_params': the output of a reduction can't be raw.")
        texts = {"map_expr": map_expr, "reduce_expr": reduce_expr, "post_map_expr": post_map_expr, "preamble": preamble}
        options = typed.check_texts(self._owner, texts, options)
        self.map_expr, self.reduce_expr, self.post_map_expr = map_expr, reduce_expr, post_map_expr
        self.identity = None if identity is None else str(identity)
        self.reduce_dims, self.preamble, self.options = reduce_dims, preamble, options
        self.reduce_type = reduce_type
        code = f"{map_expr}\n{post_map_expr}"
        self._ordered = (_AXES_PLACE.search(code) is not None, _OUTPUTS_PLACE.search(code) is not None)
        self._indexers = [name for name in ("_in_ind", "_out_ind") if re.search(rf"\b{name}\b", code)]

    def __reduce__(self) -> Any:
        expressions = (self.map_expr, self.reduce_expr, self.post_map_expr, self.identity)
        settings = (self.name, self.reduce_type, self.reduce_dims, self.preamble, self.options)
        return type(self), (*self._declared, *expressions, *settings)

    def __call__(
        self,
        *args: Any,
        out: Any = None,
        axis: int | tuple[int, ...] | None = None,
        keepdims: bool = False,
        stream: Any = None,
    ) -> Any:
        """Run it.

        Parameters
        ----------
        *args : array or number
            The inputs, and the outputs or none of them.
        out : array, optional
            The output, if there is one and it is not among `args`.
        axis : int or tuple of int, optional
            The axes to reduce, by default all.
        keepdims : bool, default: False
            Keep them, with length 1.
        stream
            For device arrays, as CuPy's. The CPU needs none: it has ended when this returns.

        Returns
        -------
        numpy.ndarray, cupy.ndarray or tuple
            The output, 0-d where all axes are reduced; a tuple of several.

        Raises
        ------
        ArgumentTypeError
            A wrong number of arguments, no array where one must be, or dtypes that do not match.
        ArgumentError
            Shapes that do not broadcast, an output of another shape or read-only, or nothing to reduce and no identity.
        numpy.exceptions.AxisError
            An axis that the arrays do not have.
        MixedBackendError
            NumPy arrays beside device arrays.
        CompileError
            The code does not compile.
        KernelError
            The code ended itself, by an assertion for instance.
        MissingCompilerError
            There is no C++ compiler, and NumPy can't evaluate the expressions.
        """
        if keepdims is not False and keepdims is not True:
            keepdims = _gate.as_truth(keepdims, function=self._owner, argument="keepdims")
        if self._quick is not None and (out is None or (self.nout == 1 and len(args) == self.nin)):
            done = self._quick.reduce(args if out is None else (*args, out), axis, keepdims)
            if type(done) is str:
                generated.fail(self._owner, done)
            if done is not NotImplemented:
                return done
        self._check_count(args)
        if out is not None:
            if self.nout != 1 or len(args) != self.nin:
                raise ArgumentTypeError(f"{self._owner}: 'out' can be given once, and for one output alone.")
            args = (*args, out)
        if typed.on_device(self._parameters, args, self._owner):
            return self._on_device()(
                *args, axis=axis, keepdims=keepdims, **({} if stream is None else {"stream": stream})
            )
        return self._on_host(args, axis, keepdims)

    def _on_device(self) -> Any:
        if self._cupy is None:
            import cupy

            self._cupy = cupy.ReductionKernel(
                *self._declared,
                self.map_expr,
                self.reduce_expr,
                self.post_map_expr,
                self.identity,
                self.name,
                self.reduce_type,
                self.reduce_dims,
                self.preamble,
                self.options,
            )
        return self._cupy

    def _on_host(self, args: Sequence[Any], axis: Any, keepdims: bool) -> Any:
        owner, nin, types = self._owner, self.nin, self._types_of(args)
        shapes = self._shapes_of(self.in_params, args)
        if not shapes:
            raise ArgumentError(f"{owner}: the size is undecided; pass an input array that is not raw.")
        shape = self._broadcast(shapes)
        axes = _axes(axis, len(shape), owner)
        kept = [one for one in range(len(shape)) if one not in axes]
        if self.identity is None and 0 in [shape[one] for one in axes]:
            raise ArgumentError(f"{owner}: zero-size array to a reduction which has no identity (shape {shape}).")
        full = tuple(1 if one in axes else length for one, length in enumerate(shape))
        result = full if keepdims else tuple(shape[one] for one in kept)
        outputs = list(args[nin:])
        for parameter, value in zip(self.out_params, outputs, strict=False):
            if value.shape != result:
                raise ArgumentError(
                    f"{owner}: argument {parameter.name!r}: out shape is mismatched: it has shape {value.shape}, the "
                    f"result {result}."
                )
        if not outputs:
            outputs = [np.empty(result, types[one.type_name]) for one in self.out_params]
        if 0 not in result:
            try:
                self._run(types, shape, (kept, axes), list(args[:nin]), outputs, full)
            except MissingCompilerError as error:
                self._evaluate(types, shape, (kept, axes), args[:nin], outputs, error)
        return outputs[0] if self.nout == 1 else tuple(outputs)

    def _run(
        self,
        types: dict[str, Any],
        shape: tuple[int, ...],
        kept_and_reduced: tuple[list[int], list[int]],
        inputs: list[Any],
        outputs: list[np.ndarray],
        full: tuple[int, ...],
    ) -> None:
        kept, axes = kept_and_reduced
        writes = [typed.as_seen(array) for array in outputs]
        packed: list[Any] = []
        held: list[np.ndarray] = []
        numbers: list[bool] = []
        raw: list[tuple[int, bool]] = []
        raw_layout: list[int] = []
        reads: list[list[int]] = []
        for parameter, value in zip(self.in_params, inputs, strict=True):
            numbers.append(not isinstance(value, np.ndarray))
            if numbers[-1]:
                packed.append(typed.as_scalar(value, types[parameter.type_name], parameter, self._owner))
                continue
            array = typed.as_seen(value)
            if any(_gate.overlap(array, write) for write in writes):
                array = array.copy(order="K")
            held.append(array)
            packed.append(typed.address(array))
            if parameter.raw:
                raw.append((array.ndim, bool(array.flags.c_contiguous)))
                raw_layout += [*array.shape, *array.strides]
            else:
                reads.append([one // array.itemsize for one in np.broadcast_to(array, shape).strides])
        # An output steps along the axes that are kept; reshaping to its full form makes no copy.
        targets = [[one // array.itemsize for one in array.reshape(full).strides] for array in writes]
        for name in self._indexers:
            places = [*axes, *kept] if name == "_in_ind" else kept
            raw_layout += [len(places), *(shape[one] for one in places)]
        if not self._ordered[0]:
            axes = sorted(axes, key=lambda one: [-abs(steps[one]) for steps in reads])
        if not self._ordered[1]:
            kept = sorted(kept, key=lambda one: [-abs(steps[one]) for steps in reads])
        out_shape, out_steps = typed.reduced_dims(
            [shape[one] for one in kept], [[steps[one] for one in kept] for steps in (*reads, *targets)]
        )
        red_shape, red_steps = typed.reduced_dims(
            [shape[one] for one in axes], [[steps[one] for one in axes] for steps in reads]
        )
        if not out_shape:
            out_shape, out_steps = [1], [[0] for _ in out_steps]
        if not red_shape:
            red_shape, red_steps = [1], [[0] for _ in red_steps]
        count, length = math.prod(out_shape), math.prod(red_shape)
        side_by_side = count > 1 and (length == 1 or abs(out_steps[0][-1]) < abs(red_steps[0][-1]))
        last = out_steps[: len(reads)] if side_by_side else red_steps
        plain = (out_shape if side_by_side else red_shape)[-1] == 1 or all(steps[-1] == 1 for steps in last)
        key = (tuple(types.items()), side_by_side, plain, tuple(numbers), tuple(raw))
        found = self._functions.get(key)
        if found is None:
            found = self._compiled(key, types, side_by_side, plain, numbers, raw)
        function, item = found
        if side_by_side:
            tiles = count // out_shape[-1] * -(-out_shape[-1] // TILE)
            chunk = _ROWS if tiles < _FEW_TILES else max(length, 1)
        else:
            tiles, chunk = count, _CHUNK
        chunks = max(1, -(-length // chunk))
        layout = np.array(
            [
                *(len(out_shape), len(red_shape), *out_shape, *red_shape),
                *(step for steps in out_steps for step in steps),
                *(step for steps in red_steps for step in steps),
                *raw_layout,
            ],
            np.int64,
        )
        partial = np.empty(max(item * chunks * count, 1) if chunks > 1 else 1, np.uint8)
        packed += [typed.address(array) for array in writes]
        numbers_of = [np.int64(value) for value in (count, length, chunk, chunks)]
        everything = [*packed, typed.address(layout), *numbers_of, typed.address(partial)]
        # A block takes several of many short reductions.
        each = max(1, _CHUNK // max(length, 1)) if chunks == 1 and not side_by_side else 1
        function((-(-tiles * chunks // each),), [*everything, np.int64(each), np.int32(0)])
        if chunks > 1:
            function((-(-count // 256),), [*everything, np.int64(256), np.int32(1)])
        for array, written in zip(outputs, writes, strict=True):
            if written is not array:
                array[...] = written
        del held

    def _evaluate(
        self,
        types: dict[str, Any],
        shape: tuple[int, ...],
        kept_and_reduced: tuple[list[int], list[int]],
        inputs: Sequence[Any],
        outputs: list[np.ndarray],
        missing: MissingCompilerError,
    ) -> None:
        """Let NumPy evaluate the expressions, for want of a compiler."""
        owner, (kept, axes) = self._owner, kept_and_reduced
        result = tuple(shape[one] for one in kept)
        count, length = math.prod(result), math.prod(shape[one] for one in axes)
        sizes: dict[str, Any] = {"_in_ind.size": np.int64(count * length), "_out_ind.size": np.int64(count)}
        names: dict[str, Any] = {
            **sizes,
            "_J": np.arange(length),
            "_i": np.arange(count)[:, None],
            "_j": count * np.arange(length) + np.arange(count)[:, None],
        }
        for parameter, value in zip(self.in_params, inputs, strict=True):
            if not isinstance(value, np.ndarray):
                names[parameter.name] = typed.as_scalar(value, types[parameter.type_name], parameter, owner)[0]
            elif parameter.raw:
                names[parameter.name] = numpy_evaluation.Raw(value)
            else:
                in_order = np.broadcast_to(value, shape).transpose([*kept, *axes])
                names[parameter.name] = in_order.reshape(count, length)
        try:
            numpy_evaluation.check_plain(self.preamble, (), self.options)
            dtype = numpy_evaluation.type_of(reduce_type_of(self, types), types)
            mapped = np.asarray(numpy_evaluation.value_of(self.map_expr, names, types)).astype(dtype)
            mapped = np.broadcast_to(mapped, (count, length))
            if self.identity is not None:
                first = np.asarray(numpy_evaluation.value_of(self.identity, {}, types)).astype(dtype)
                mapped = np.concatenate([np.broadcast_to(first, (count, 1)), mapped], axis=-1)
            value = numpy_evaluation.reduce(mapped, self.reduce_expr, types)
            flat = {one.name: np.empty(count, types[one.type_name]) for one in self.out_params}
            names = {"a": value, **sizes, "_i": np.arange(count)}
            numpy_evaluation.run_statements(self.post_map_expr, names, types, flat)
        except numpy_evaluation.CannotEvaluateError as error:
            numpy_evaluation.refuse(owner, error, missing)
        numpy_evaluation.tell(owner, missing)
        for array, values in zip(outputs, flat.values(), strict=True):
            array[...] = values.reshape(array.shape)

    def _compiled(
        self,
        key: Any,
        types: dict[str, Any],
        side_by_side: bool,
        plain: bool,
        numbers: list[bool],
        raw: list[tuple[int, bool]],
    ) -> tuple[generated.Compiled, int]:
        with self._lock:
            if key not in self._functions:
                source = self._source(types, side_by_side, plain, numbers, raw)
                texts = {
                    "preamble": self.preamble,
                    "reduce_type": self.reduce_type,
                    "identity": self.identity,
                    "map_expr": self.map_expr,
                    "reduce_expr": self.reduce_expr,
                    "post_map_expr": self.post_map_expr,
                }
                function = generated.compiled(source, self.name, self.options, self._owner, texts, self._host_options)
                item = np.zeros(1, np.int64)
                scalars = [
                    np.zeros(1, types[one.type_name]) if number else 0
                    for one, number in zip(self.in_params, numbers, strict=True)
                ]
                nothing = [*scalars, *[0] * self.nout, 0, *[np.int64(0)] * 4, typed.address(item), np.int64(1)]
                function((1,), [*nothing, np.int32(2)])
                self._functions[key] = function, int(item[0])
                if self._quick is None:
                    indexers = ("_in_ind" in self._indexers) + 2 * ("_out_ind" in self._indexers)
                    settings = (*[False] * 4, *self._ordered, _CHUNK, _ROWS, TILE, _FEW_TILES, indexers)
                    self._quick = typed.quick_calls(self._parameters, self.nin, settings)
                if self._quick is not None:
                    flags = [*numbers, *[False] * self.nout]
                    quick_key = typed.quick_key(self._parameters, types, flags, raw, side_by_side, plain)
                    self._quick.add(quick_key, function.function, int(item[0]))
            return self._functions[key]

    def _source(
        self, types: dict[str, Any], side_by_side: bool, plain: bool, numbers: list[bool], raw: list[tuple[int, bool]]
    ) -> str:
        return reduction_source(self, types, side_by_side, plain, numbers, raw)


def _axes(axis: Any, ndim: int, owner: str) -> list[int]:
    if axis is None:
        return list(range(ndim))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = []
    for one in given:
        if isinstance(one, bool) or not isinstance(one, (int, np.integer)):
            raise ArgumentTypeError(
                f"{owner}: argument 'axis' must be an integer, a tuple of them or None, got {axis!r}."
            )
        if not -ndim <= one < ndim:
            raise np.exceptions.AxisError(int(one), ndim, f"{owner}")
        axes.append(int(one) % ndim)
    if len(set(axes)) != len(axes):
        raise ArgumentError(f"{owner}: argument 'axis' has an axis twice, {axis!r}.")
    return sorted(axes)
