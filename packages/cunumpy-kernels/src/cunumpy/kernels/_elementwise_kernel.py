"""Elementwise kernels, as CuPy's: one loop over broadcast arrays, whose body is CUDA C++."""

from __future__ import annotations

import math
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError, MissingCompilerError
from cunumpy.kernels import _generated_code as generated
from cunumpy.kernels import _numpy_evaluation as numpy_evaluation
from cunumpy.kernels import _typed_parameters as typed
from cunumpy.kernels._typed_parameters import Parameter, TypedKernel

if TYPE_CHECKING:
    from collections.abc import Sequence

_RESERVED = frozenset(["i", "_ind"])
_CHUNK = 16384
"""Elements that a worker takes at a time: enough to cost little beside the loop, and few enough to share out."""

_PLACE = re.compile(r"\b(?:i|_ind)\b")


class ElementwiseKernel(TypedKernel):
    """An elementwise operation on broadcast arrays, in CUDA C++, with the interface of `cupy.ElementwiseKernel`.

    Called with NumPy arrays it runs on the CPU's cores, compiled by the machine's C++ compiler; called with CuPy arrays
    it is CuPy's own. The arguments decide, never the active backend.

    Parameters
    ----------
    in_params, out_params : str
        Types and names, ``"T x, raw float32 y"``. A type is what NumPy calls a dtype, or a letter: all arrays of one
        letter have the same dtype. A ``raw`` array takes no part in broadcasting; the operation indexes it itself, by a
        number (counted in C order), or by an array with an index for each axis, and it has ``size()``, ``shape()`` and
        ``strides()`` (bytes).
    operation : str
        What is done for each element. ``i`` is its number in C order, ``_ind.size()`` the number of all, and
        ``_ind.get()`` its index along each axis (with ``reduce_dims=False``, else of the reduced shape).
    name : str, default: "kernel"
        For messages and profilers.
    reduce_dims : bool, default: True
        Let axes be merged where that changes nothing.
    preamble : str, optional
        Code before the kernel.
    no_return : bool, default: False
        Calls return None.
    return_tuple : bool, default: False
        Calls return a tuple, of one output too.
    loop_prep, after_loop : str, optional
        Code before and after each thread's loop over its elements.
    options : tuple of str, optional
        Of CUDA's compiler.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        A declaration can't be read.

    Notes
    -----
    Each combination of dtypes, and of layouts contiguous or not, is compiled once (some tenths of a second), and kept
    on disk. Without a C++ compiler NumPy evaluates the operation, if it has only assignments, operators and
    mathematical functions, and no preamble.

    Inputs that overlap an output, but are not the same elements, are copied first, as NumPy does it; CuPy does not.
    Numbers take the dtype of their parameter, which an array has to decide; they never widen it.

    Examples
    --------
    >>> import numpy as np
    >>> from cunumpy.kernels import ElementwiseKernel
    >>> squared_diff = ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_diff")
    >>> squared_diff(np.arange(3.0), np.array([[1.0], [2.0]]))
    array([[1., 0., 1.],
           [4., 1., 0.]])
    """

    preamble: str
    reduce_dims: bool
    operation: str
    no_return: bool
    return_tuple: bool
    _functions: dict[Any, generated.Compiled]

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        reduce_dims: bool = True,
        preamble: str = "",
        no_return: bool = False,
        return_tuple: bool = False,
        *,
        loop_prep: str = "",
        after_loop: str = "",
        options: tuple[str, ...] = (),
    ) -> None:
        reduce_dims = _gate.as_truth(reduce_dims, function="ElementwiseKernel", argument="reduce_dims")
        no_return = _gate.as_truth(no_return, function="ElementwiseKernel", argument="no_return")
        return_tuple = _gate.as_truth(return_tuple, function="ElementwiseKernel", argument="return_tuple")
        super().__init__(in_params, out_params, name, _RESERVED)
        texts = {"operation": operation, "preamble": preamble, "loop_prep": loop_prep, "after_loop": after_loop}
        options = typed.check_texts(self._owner, texts, options)
        self.operation, self.preamble = operation, preamble
        self.reduce_dims, self.no_return, self.return_tuple = reduce_dims, no_return, return_tuple
        self._loop_prep, self._after_loop, self._options = loop_prep, after_loop, options
        self._places = _PLACE.search("\n".join([operation, loop_prep, after_loop, preamble])) is not None

    def __reduce__(self) -> Any:
        around: dict[str, Any] = {
            "loop_prep": self._loop_prep,
            "after_loop": self._after_loop,
            "options": self._options,
        }
        settings = (self.reduce_dims, self.preamble, self.no_return, self.return_tuple)
        return partial(type(self), **around), (*self._declared, self.operation, self.name, *settings)

    def __call__(self, *args: Any, size: int | None = None, stream: Any = None, block_size: int = 128) -> Any:
        """Run it.

        Parameters
        ----------
        *args : array or number
            The inputs, and the outputs or none of them, which are then made in C order.
        size : int, optional
            The number of loop steps, if and only if all arrays are ``raw``.
        stream, block_size
            For device arrays, as CuPy's. The CPU needs none: it has ended when this returns.

        Returns
        -------
        numpy.ndarray, cupy.ndarray, tuple or None
            The outputs, as ``no_return`` and ``return_tuple`` say.

        Raises
        ------
        ArgumentTypeError
            A wrong number of arguments, no array where one must be, or dtypes that do not match.
        ArgumentError
            Shapes that do not broadcast, an output of another shape or read-only, a loop without a size, or a block
            size that no device takes.
        MixedBackendError
            NumPy arrays beside device arrays.
        CompileError
            The code does not compile.
        KernelError
            The code ended itself, by an assertion for instance.
        MissingCompilerError
            There is no C++ compiler, and NumPy can't evaluate the operation.
        """
        if block_size != 128 and (
            isinstance(block_size, bool) or not isinstance(block_size, (int, np.integer)) or not 1 <= block_size <= 1024
        ):
            raise ArgumentError(
                f"{self._owner}: argument 'block_size' must be an integer from 1 to 1024, got {block_size!r}."
            )
        if self._quick is not None:
            done = self._quick.call(args, size)
            if type(done) is str:
                generated.fail(self._owner, done)
            if done is not NotImplemented:
                return done
        self._check_count(args)
        if typed.on_device(self._parameters, args, self._owner):
            given = {"size": (size, None), "stream": (stream, None), "block_size": (block_size, 128)}
            return self._on_device()(*args, **{word: one for word, (one, usual) in given.items() if one != usual})
        return self._on_host(args, size)

    def _on_device(self) -> Any:
        if self._cupy is None:
            import cupy

            around = {"loop_prep": self._loop_prep, "after_loop": self._after_loop, "options": self._options}
            self._cupy = cupy.ElementwiseKernel(
                *self._declared,
                self.operation,
                self.name,
                self.reduce_dims,
                self.preamble,
                self.no_return,
                self.return_tuple,
                **{word: value for word, value in around.items() if value},
            )
        return self._cupy

    def _on_host(self, args: Sequence[Any], size: int | None) -> Any:
        nin, types = self.nin, self._types_of(args)
        shape = self._shape(args, size)
        outputs = list(args[nin:])
        if not outputs:
            outputs = [self._new(parameter, types, shape, size) for parameter in self.out_params]
        if 0 not in shape:
            try:
                self._run(types, shape, list(args[:nin]), outputs)
            except MissingCompilerError as error:
                self._evaluate(types, shape, args[:nin], outputs, error)
        if self.no_return:
            return None
        return outputs[0] if self.nout == 1 and not self.return_tuple else tuple(outputs)

    def _shape(self, args: Sequence[Any], size: int | None) -> tuple[int, ...]:
        """Return the shape of the loop; raise where arrays do not broadcast to it."""
        shapes = self._shapes_of(self._parameters, args)
        if size is not None:
            if shapes:
                raise ArgumentError(
                    f"{self._owner}: 'size' can be given only if all arrays are raw; others decide the size themselves."
                )
            if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 0:
                raise ArgumentTypeError(f"{self._owner}: argument 'size' must be an integer from 0 on, got {size!r}.")
            return (int(size),)
        if not shapes:
            raise ArgumentError(
                f"{self._owner}: the loop's size is undecided; give size=, or an array that is not raw."
            )
        shape = self._broadcast(shapes)
        for parameter, value in zip(self.out_params, args[self.nin :], strict=False):
            if not parameter.raw and value.shape != shape:
                raise ArgumentError(
                    f"{self._owner}: argument {parameter.name!r}: out shape is mismatched: it has shape {value.shape}, "
                    f"the loop {shape}."
                )
        return shape

    def _new(self, parameter: Parameter, types: dict[str, Any], shape: tuple[int, ...], size: int | None) -> np.ndarray:
        if parameter.raw and size is None:
            raise ArgumentError(
                f"{self._owner}: the size of raw output {parameter.name!r} is undecided; pass an array."
            )
        return np.empty(shape, types[parameter.type_name])

    def _run(self, types: dict[str, Any], shape: tuple[int, ...], inputs: list[Any], outputs: list[np.ndarray]) -> None:
        writes = [typed.as_seen(array) for array in outputs]
        numbers: list[bool] = []
        values: list[np.ndarray] = []
        for parameter, value in zip(self.in_params, inputs, strict=True):
            numbers.append(not isinstance(value, np.ndarray))
            if numbers[-1]:
                values.append(typed.as_scalar(value, types[parameter.type_name], parameter, self._owner))
                continue
            array = typed.as_seen(value)
            if not parameter.raw and any(_meets(array, write) for write in writes):
                array = array.copy(order="K")
            values.append(array)
        numbers += [False] * self.nout
        self._launch(types, shape, [*values, *writes], numbers)
        for array, written in zip(outputs, writes, strict=True):
            if written is not array:
                array[...] = written

    def _evaluate(
        self,
        types: dict[str, Any],
        shape: tuple[int, ...],
        inputs: Sequence[Any],
        outputs: list[np.ndarray],
        missing: MissingCompilerError,
    ) -> None:
        """Let NumPy evaluate the operation, for want of a compiler."""
        owner = self._owner
        names: dict[str, Any] = {"_ind.size": np.int64(math.prod(shape))}
        if self._places:
            names["i"] = np.arange(math.prod(shape)).reshape(shape)
        for parameter, value in zip(self.in_params, inputs, strict=True):
            if not isinstance(value, np.ndarray):
                value = typed.as_scalar(value, types[parameter.type_name], parameter, owner)[0]
            names[parameter.name] = numpy_evaluation.Raw(value) if parameter.raw else value
        results = {
            parameter.name: numpy_evaluation.Raw(array) if parameter.raw else array
            for parameter, array in zip(self.out_params, outputs, strict=True)
        }
        try:
            numpy_evaluation.check_plain(self.preamble, (self._loop_prep, self._after_loop), self._options)
            numpy_evaluation.run_statements(self.operation, names, types, results)
        except numpy_evaluation.CannotEvaluateError as error:
            numpy_evaluation.refuse(owner, error, missing)
        numpy_evaluation.tell(owner, missing)

    def _launch(
        self, types: dict[str, Any], shape: tuple[int, ...], values: list[np.ndarray], numbers: list[bool]
    ) -> None:
        looped = [
            list((array if array.shape == shape else np.broadcast_to(array, shape)).strides)
            for parameter, array, number in zip(self._parameters, values, numbers, strict=True)
            if not (parameter.raw or number)
        ]
        total = math.prod(shape)
        indexed = list(shape)
        if self._places:
            if self.reduce_dims:
                indexed, looped = typed.reduced_dims(shape, looped)
                lengths, steps = indexed, looped
            else:
                lengths, steps = typed.reduced_dims(shape, looped)
        else:
            order = sorted(range(len(shape)), key=lambda axis: [-abs(one[axis]) for one in reversed(looped)])
            lengths, steps = typed.reduced_dims(
                [shape[axis] for axis in order], [[one[axis] for axis in order] for one in looped]
            )
        if not lengths:
            lengths, steps = [1], [[0] for _ in steps]
        sizes = [
            array.itemsize
            for parameter, array, number in zip(self._parameters, values, numbers, strict=True)
            if not (parameter.raw or number)
        ]
        even = all(one[0] == size for one, size in zip(steps, sizes, strict=True))
        plain = total == 1 or (len(lengths) == 1 and even)
        layout = [len(indexed), *indexed, len(lengths), *lengths]
        for one, size in zip(steps, sizes, strict=True):
            layout += [stride // size for stride in one]
        raw = []
        for parameter, array in zip(self._parameters, values, strict=True):
            if parameter.raw:
                raw.append((array.ndim, array.flags.c_contiguous))
                layout += [*array.shape, *array.strides]
        key = (tuple(types.items()), plain, tuple(numbers), tuple(raw))
        function = self._functions.get(key)
        if function is None:
            function = self._compiled(key, types, plain, numbers, raw)
        described = np.array(layout, np.int64)
        packed: list[Any] = [
            value if number else typed.address(value) for value, number in zip(values, numbers, strict=True)
        ]
        function((-(-total // _CHUNK),), [*packed, typed.address(described), np.int64(total)])

    def _compiled(
        self,
        key: Any,
        types: dict[str, Any],
        plain: bool,
        numbers: list[bool],
        raw: list[tuple[int, bool]],
    ) -> generated.Compiled:
        with self._lock:
            if key not in self._functions:
                source = self._source(types, plain, numbers, raw)
                texts = {
                    "preamble": self.preamble,
                    "loop_prep": self._loop_prep,
                    "operation": self.operation,
                    "after_loop": self._after_loop,
                }
                function = generated.compiled(source, self.name, self._options, self._owner, texts, self._host_options)
                if self._quick is None:
                    in_order = (self._places, not self.reduce_dims, self.no_return, self.return_tuple)
                    settings = (*in_order, False, False, _CHUNK, 0, 0, 0, 0)
                    self._quick = typed.quick_calls(self._parameters, self.nin, settings)
                if self._quick is not None:
                    self._quick.add(typed.quick_key(self._parameters, types, numbers, raw, plain), function.function)
                self._functions[key] = function
            return self._functions[key]

    def _source(self, types: dict[str, Any], plain: bool, numbers: list[bool], raw: list[tuple[int, bool]]) -> str:
        """Return the CUDA C++ source of a loop: over contiguous arrays, or over rows of strided ones."""
        declared, before, rows, body = [], [], [], []
        raws = iter(raw)
        count = 0
        after = "_cunumpy_steps"
        for number, parameter in enumerate(self._parameters):
            output = number >= self.nin
            const = "" if output else "const "
            kind = generated.C_TYPES[types[parameter.type_name]]
            name, pointer = parameter.name, f"_cunumpy_of_{parameter.name}"
            if numbers[number]:
                declared.append(f"const {kind} {name}")
                continue
            declared.append(f"{const}{kind}* {pointer}")
            if parameter.raw:
                ndim, contiguous = next(raws)
                array = f"CArray<{const}{kind}, {ndim}, {str(contiguous).lower()}>"
                before.append(f"const {array} {name}({pointer}, {after});")
                after += f" + {2 * ndim}"
                continue
            if plain:
                body.append(f"{const}{kind}& {name} = {pointer}[i];")
                continue
            rows.append(
                f"{const}{kind}* const _cunumpy_row_of_{name} = {pointer} + cunumpy_kernel::row(_cunumpy_row, "
                f"_cunumpy_ndim, _cunumpy_shape, _cunumpy_strides + {count} * _cunumpy_ndim);\n"
                f"const ptrdiff_t _cunumpy_step_of_{name} = _cunumpy_strides[{count + 1} * _cunumpy_ndim - 1];"
            )
            body.append(f"{const}{kind}& {name} = _cunumpy_row_of_{name}[_cunumpy_column * _cunumpy_step_of_{name}];")
            count += 1
        steps = sum(not (one.raw or number) for one, number in zip(self._parameters, numbers, strict=True))
        code = "\n".join([self._loop_prep, self.operation, self._after_loop])
        place = "_ind.set(i);" if re.search(r"\b_ind\b", f"{self.preamble}{code}") else ""
        one = "\n".join([place, *body, generated.code_of("operation", self.operation)])
        if plain:
            loop = f"""
#pragma GCC ivdep
    for (ptrdiff_t i = _cunumpy_first; i < _cunumpy_last; ++i) {{
{one}
    }}"""
        else:
            loop = f"""
    const ptrdiff_t _cunumpy_width = _cunumpy_shape[_cunumpy_ndim - 1];
    for (ptrdiff_t _cunumpy_next = _cunumpy_first; _cunumpy_next < _cunumpy_last;) {{
        const ptrdiff_t _cunumpy_row = _cunumpy_next / _cunumpy_width;
        const ptrdiff_t _cunumpy_begin = _cunumpy_next - _cunumpy_row * _cunumpy_width;
        ptrdiff_t _cunumpy_end = _cunumpy_begin + (_cunumpy_last - _cunumpy_next);
        if (_cunumpy_end > _cunumpy_width) _cunumpy_end = _cunumpy_width;
{chr(10).join(rows)}
        const ptrdiff_t _cunumpy_zero = _cunumpy_row * _cunumpy_width;
#pragma GCC ivdep
        for (ptrdiff_t _cunumpy_column = _cunumpy_begin; _cunumpy_column < _cunumpy_end; ++_cunumpy_column) {{
            const ptrdiff_t i = _cunumpy_zero + _cunumpy_column;
{one}
        }}
        _cunumpy_next += _cunumpy_end - _cunumpy_begin;
    }}"""
        return f"""{generated.prelude(types, self.preamble, code)}
extern "C" __global__ void {self.name}({"".join(f"{one}, " for one in declared)}const long long* _cunumpy_layout,
        long long _cunumpy_n) {{
    const ptrdiff_t _cunumpy_first = (ptrdiff_t)blockIdx.x * {_CHUNK};
    const ptrdiff_t _cunumpy_last = _cunumpy_n - _cunumpy_first < {_CHUNK} ? _cunumpy_n : _cunumpy_first + {_CHUNK};
    CIndexer _ind((ptrdiff_t)_cunumpy_n, _cunumpy_layout);
    const long long* const _cunumpy_shape = _cunumpy_layout + _cunumpy_layout[0] + 2;
    const int _cunumpy_ndim = (int)_cunumpy_shape[-1];
    const long long* const _cunumpy_strides = _cunumpy_shape + _cunumpy_ndim;
    const long long* const _cunumpy_steps = _cunumpy_strides + {steps} * _cunumpy_ndim;
    {chr(10).join(before)}
    {generated.code_of("loop_prep", self._loop_prep)}
{loop}
    {generated.code_of("after_loop", self._after_loop)}
}}
"""


def _meets(read: np.ndarray, written: np.ndarray) -> bool:
    """Tell whether two arrays overlap, but are not the same elements at the same places."""
    same = (
        typed.address(read) == typed.address(written)
        and read.shape == written.shape
        and read.strides == written.strides
        and read.dtype == written.dtype
    )
    return not same and _gate.overlap(read, written)
