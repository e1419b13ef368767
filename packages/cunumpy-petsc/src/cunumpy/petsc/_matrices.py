"""PETSc matrices: of CSR arrays, and of Python functions on arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _conversion, _gate, _transfers
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.petsc._access import petsc_array
from cunumpy.petsc._library import Group, call_c, check_count, group, require_petsc
from cunumpy.petsc._memory import as_array, check_memory, is_device_type, wait_for_petsc, wait_for_producer

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

_KEY = object()


@dataclass(slots=True)
class _Values:
    """The values of a matrix as its maker has them."""

    data: Any  # the array that the matrix shares, else None
    size: int
    on_device: bool


# --- of CSR arrays ----------------------------------------------------------------------------------------------------


def csr_matrix(
    data: Any,
    indices: Any,
    indptr: Any,
    comm: Any = None,
    *,
    columns: int | None = None,
    block_size: int = 1,
    copy: bool = False,
) -> Any:
    """Make a PETSc matrix of compressed sparse rows.

    Every rank passes its own rows, with global column indices. On one rank a matrix of host arrays works on the memory
    of `data`, without a copy. On several ranks PETSc keeps the columns of a rank's own unknowns apart from the others
    and needs memory of its own: the values are copied once, and `update_values` replaces them in place.

    Parameters
    ----------
    data : numpy.ndarray or cupy.ndarray, shape (n_entries,)
        The values, of PETSc's scalar dtype. Device arrays give a matrix on the device (``aijcusparse``), which has
        memory of its own.
    indices : array_like of int, shape (n_entries,)
        The global column of each value, ascending within each row. With PETSc's integer dtype (int32 in most builds)
        they are shared where the values are, else converted.
    indptr : array_like of int, shape (n_rows + 1,)
        Where each row begins in `data`; the last entry is their number.
    comm : communicator, optional
        As in `petsc_vec`.
    columns : int, optional
        How many columns belong to this rank, which is the local size of the vectors that the matrix is multiplied by.
        By default as many as rows.
    block_size : int, default: 1
        Number of unknowns at each point, which algebraic multigrid uses.
    copy : bool, default: False
        Give the matrix memory of its own on one rank, too.

    Returns
    -------
    petsc4py.PETSc.Mat
        Assembled, of type ``seqaij``, ``mpiaij``, ``seqaijcusparse`` or ``mpiaijcusparse``.

    Raises
    ------
    ArgumentTypeError
        Values that are no array or of another dtype, indices that are no integers.
    ArgumentError
        Arrays that do not fit together; columns that are not there, not ascending or twice in a row; read-only values
        without `copy`, on any number of ranks.

    Notes
    -----
    The copy of the values is recorded as ``device_copy``, whether it is one within the host or the device; indices on
    a device are read on the host (``to_host``). Matrices on devices are untested here: they need a PETSc with CUDA.

    Examples
    --------
    The second difference in one dimension.

    >>> import cunumpy as xp
    >>> data = xp.asarray([2.0, -1.0, -1.0, 2.0])
    >>> if xp.petsc.petsc_available():
    ...     matrix = xp.petsc.csr_matrix(data, [0, 1, 0, 1], [0, 2, 4])
    ...     x, y = matrix.createVecs()
    ...     x.set(1.0)
    ...     matrix.mult(x, y)
    ...     assert xp.petsc.petsc_array(y).tolist() == [1.0, 1.0]
    """
    function = "csr_matrix"
    PETSc = require_petsc(function)
    ranks = group(PETSc, comm, function)
    with ranks.agreed():
        copy = _gate.as_truth(copy, function=function, argument="copy")
        data = as_array(data, function, "data")
        check_memory(PETSc, data, function, "data", readonly=copy)
        _gate.check_ndim(data, 1, function=function, argument="data")
        pattern = [_host_indices(value, function, name) for value, name in ((indices, "indices"), (indptr, "indptr"))]
        rows = _check_pattern(data, *pattern)
        columns = rows if columns is None else _gate.as_integer(columns, function=function, argument="columns", least=0)
        block_size = _gate.as_integer(block_size, function=function, argument="block_size", least=1)
        if rows % block_size or columns % block_size:
            raise ArgumentError(
                f"{function}: argument 'block_size' must divide the numbers of rows and columns, {rows} and {columns}, "
                f"got {block_size}."
            )
        check_count(PETSc, max(data.size, int(pattern[0].max(initial=0)), columns), function, "the entries and columns")
    everywhere = ranks.gather((rows, columns))
    first = sum(each[0] for each in everywhere[: ranks.rank])
    with ranks.agreed():
        _check_columns(pattern[0], sum(each[1] for each in everywhere))
    column, start = (np.ascontiguousarray(each, PETSc.IntType) for each in pattern)
    sizes = ((rows, None), (columns, None))
    on_device = _arrays.is_device_array(data)
    bsize = None if block_size == 1 else block_size
    if ranks.size == 1 and not on_device and not copy:
        matrix = PETSc.Mat().createAIJWithArrays(sizes, (start, column, np.asarray(data)), bsize=bsize, comm=ranks.comm)
        if bsize is not None:  # which PETSc does not take from these arguments for matrices on given arrays
            matrix.setBlockSize(bsize)
        matrix.getDict()[_KEY] = _Values(data, data.size, on_device=False)
        return matrix
    matrix = PETSc.Mat().create(comm=ranks.comm)
    matrix.setSizes(sizes, bsize=bsize)
    matrix.setType("aijcusparse" if on_device else "aij")
    row = np.repeat(np.arange(first, first + rows, dtype=PETSc.IntType), np.diff(start))
    matrix.setPreallocationCOO(row, column.copy())  # PETSc sorts them in place
    matrix.getDict()[_KEY] = _Values(None, data.size, on_device)
    _copy_values(PETSc, matrix, data, function)
    return matrix


def _host_indices(value: Any, function: str, argument: str) -> np.ndarray:
    if _arrays.is_device_array(value):
        value = _conversion.copy_to_host(value, function)
    return _gate.as_integer_array(value, function=function, argument=argument, ndim=1)


def _check_pattern(data: Any, indices: np.ndarray, indptr: np.ndarray) -> int:
    """Check that the three arrays fit together; return the number of rows."""
    if indices.size != data.size:
        raise ArgumentError(
            f"csr_matrix: argument 'indices' must have a column for each of the {data.size} entries of 'data', got "
            f"{indices.size}."
        )
    if indptr.size == 0 or indptr[0] != 0 or indptr[-1] != data.size or (indptr[1:] < indptr[:-1]).any():
        raise ArgumentError(
            f"csr_matrix: argument 'indptr' must begin with 0, never fall, and end with the number of entries, "
            f"{data.size}, got {_gate.given(indptr)}; it has one entry more than there are rows."
        )
    if indices.size > 1:
        falls = indices[1:] <= indices[:-1]
        begins = indptr[1:-1]
        falls[begins[(begins > 0) & (begins < indices.size)] - 1] = False  # from one row to the next
        if falls.any():
            place = int(np.flatnonzero(falls)[0]) + 1
            row = int(np.searchsorted(indptr, place, side="right")) - 1
            raise ArgumentError(
                f"csr_matrix: argument 'indices' must ascend within each row, and each column may be there once; in "
                f"row {row} column {indices[place]} follows {indices[place - 1]}; sort them, as SciPy's "
                "sum_duplicates() does."
            )
    return int(indptr.size) - 1


def _check_columns(indices: np.ndarray, columns: int) -> None:
    if indices.size and (indices.min() < 0 or indices.max() >= columns):
        wrong = indices[(indices < 0) | (indices >= columns)][0]
        raise ArgumentError(
            f"csr_matrix: argument 'indices' holds column {wrong}, and there are the columns 0 to {columns - 1} on all "
            "ranks together; column indices are global."
        )


def _copy_values(PETSc: Any, matrix: Any, data: Any, function: str) -> None:
    started = perf_counter()
    if _arrays.is_device_array(data):
        wait_for_producer(data, None, None, function)
        # The last argument is INSERT_VALUES. petsc4py itself takes host memory alone.
        insert = int(PETSc.InsertMode.INSERT_VALUES)
        call_c(PETSc, "MatSetValuesCOO", matrix.handle, int(data.data.ptr), insert, function=function)
    else:
        matrix.setValuesCOO(data, PETSc.InsertMode.INSERT_VALUES)
    if _transfers.watching():
        text = _transfers.call_text(function, data.shape, data.dtype)
        _transfers.record("device_copy", text, data.nbytes, started=started)


def update_values(matrix: Any, data: Any) -> None:
    """Replace the values of a matrix of `csr_matrix`, whose pattern stays.

    On one rank, where the matrix works on the memory of the array that it was made of, the values are copied to that
    array, unless `data` is this array itself, which was written to. All ranks call this together.

    Parameters
    ----------
    matrix : petsc4py.PETSc.Mat
        Made by `csr_matrix`.
    data : numpy.ndarray or cupy.ndarray, shape (n_entries,)
        The values in the order of the arrays that the matrix was made of, on the host or the device as those were.

    Raises
    ------
    ArgumentTypeError
        No matrix of `csr_matrix`, or values that are no array or of another dtype.
    ArgumentError
        Another number of values.

    Examples
    --------
    >>> import cunumpy as xp
    >>> data = xp.ones(2)
    >>> if xp.petsc.petsc_available():
    ...     matrix = xp.petsc.csr_matrix(data, [0, 1], [0, 1, 2])
    ...     xp.petsc.update_values(matrix, 3 * data)
    ...     assert matrix.norm() == 18**0.5
    """
    function = "update_values"
    PETSc = require_petsc(function)
    values = matrix.getDict().get(_KEY) if isinstance(matrix, PETSc.Mat) and matrix else None
    if values is None:
        raise ArgumentTypeError(
            f"{function}: argument 'matrix' must be a PETSc.Mat made by csr_matrix, got {_gate.given(matrix)}."
        )
    with group(PETSc, matrix.getComm(), function).agreed():
        data = as_array(data, function, "data")
        check_memory(PETSc, data, function, "data", readonly=True, copy="")
        if data.shape != (values.size,):
            raise ArgumentError(
                f"{function}: argument 'data' must have a value for each of the {values.size} entries of the matrix on "
                f"this rank, got {_gate.describe(data)}."
            )
        if values.on_device != _arrays.is_device_array(data):
            raise ArgumentTypeError(
                f"{function}: argument 'data' must be on the {'device' if values.on_device else 'host'}, as the arrays "
                f"of the matrix were, got {_gate.describe(data)}."
            )
    if values.data is None:
        _copy_values(PETSc, matrix, data, function)
    else:
        if data is not values.data:
            np.copyto(values.data, data)
        matrix.stateIncrease()
    matrix.assemble()


# --- of functions on arrays -------------------------------------------------------------------------------------------


class Callback:
    """A function on arrays as PETSc calls it, and what it raised.

    While a solver of ours runs, an error, and Ctrl-C as well, fills the result with NaN instead: norms are of all
    ranks, so all of them stop, and the solver raises the error on every rank. PETSc would leave one rank, and the
    others wait for it.
    """

    def __init__(self, function: Callable[..., Any], name: str, shapes: list[tuple[int, ...] | None]) -> None:
        self.function, self.name, self.shapes = function, name, shapes
        self.error: BaseException | None = None
        self.deferred = False

    def __call__(self, inputs: list[Any], output: Any) -> None:
        """Call the function with the arrays of vectors, the last of which it writes to."""
        try:
            with ArraysOf(inputs, output, self.name) as arrays:
                for position, shape in enumerate(self.shapes):
                    if shape is not None:
                        arrays[position] = arrays[position].reshape(shape)
                returned = self.function(*arrays)
            if returned is not None and returned is not arrays[-1]:
                raise ArgumentTypeError(
                    f"{self.name}: the function returned {_gate.describe(returned)}, and its result is what it writes "
                    "to its last argument: out[...] = values."
                )
        except BaseException as error:
            if not self.deferred:
                raise
            if self.error is None:
                # Without this frame, whose vectors would live as long as the error, on this rank alone.
                self.error = error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)
        if self.error is not None:  # also one of before: the function was called since others may exchange data in it
            self._spoil(output)

    def _spoil(self, output: Any) -> None:
        """Fill with NaN; not by `Vec.set`, after which this rank alone knows the norm, and does not ask for it."""
        with ArraysOf([], output, self.name) as (values,):
            values[...] = float("nan")


class ArraysOf:
    """Context manager that gives the arrays of vectors: read-only ones of the inputs on the host, and the output's."""

    __slots__ = ("buffers", "function", "inputs", "on_device", "output")

    def __init__(self, inputs: list[Any], output: Any, function: str) -> None:
        self.inputs, self.output, self.function = inputs, output, function
        self.buffers: list[Any] = []
        self.on_device = is_device_type(str(output.getType()))

    def __enter__(self) -> list[Any]:
        if self.on_device:
            wait_for_petsc(require_petsc(self.function), self.function)
            return [*(petsc_array(vec, write=False) for vec in self.inputs), petsc_array(self.output)]
        arrays = []
        try:
            for buffer in (*(vec.getBuffer(True) for vec in self.inputs), self.output.getBuffer()):
                arrays.append(buffer.__enter__())
                self.buffers.append(buffer)
        except BaseException:
            self._leave()
            raise
        return arrays

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.on_device:
            wait_for_producer(petsc_array(self.output), None, None, self.function)
            self.output.stateIncrease()
        else:
            self._leave()

    def _leave(self) -> None:
        for buffer in reversed(self.buffers):
            buffer.__exit__(None, None, None)


class ShellContext:
    """What petsc4py calls for a shell matrix."""

    def __init__(self, apply: Callback, transpose: Callback, diagonal: Callback) -> None:
        self.apply, self.transpose, self.diagonal = apply, transpose, diagonal

    def mult(self, matrix: Any, x: Any, y: Any) -> None:
        """Apply the operator."""
        self.apply([x], y)

    def multTranspose(self, matrix: Any, x: Any, y: Any) -> None:
        """Apply the transposed operator."""
        self.transpose([x], y)

    def getDiagonal(self, matrix: Any, d: Any) -> None:
        """Give the diagonal."""
        self.diagonal([], d)


def _no_transpose(x: Any, out: Any) -> None:
    raise ArgumentError(
        "shell_matrix: the transposed operator is asked for, and was not given; pass transpose=function, or choose a "
        "method that does without."
    )


def _diagonal_of(diagonal: Any) -> Callable[[Any], Any]:
    """Return a function that writes a diagonal to an array."""
    if is_function(diagonal):
        return diagonal  # type: ignore[no-any-return]

    def write(values: Any) -> None:
        if diagonal is None:
            raise ArgumentError(
                "shell_matrix: the diagonal of the operator is asked for, and was not given; pass diagonal=, or choose "
                "a preconditioner that does without, such as 'none'."
            )
        values[...] = diagonal if isinstance(diagonal, _NUMBERS) else diagonal.reshape(-1)

    return write


_NUMBERS = (int, float, complex, np.number)


def shell_matrix(
    apply: Callable[[Any, Any], Any],
    shape: int | tuple[int, ...],
    comm: Any = None,
    *,
    output_shape: int | tuple[int, ...] | None = None,
    transpose: Callable[[Any, Any], Any] | None = None,
    diagonal: Any = None,
    symmetric: bool = False,
    backend: str | None = None,
) -> Any:
    """Make a PETSc matrix of a function on arrays: a shell matrix, for matrix-free methods.

    Parameters
    ----------
    apply : callable
        Called as ``apply(x, out)``: writes the product of the operator with `x` to `out`, arrays on the memory of
        PETSc's vectors. `x` must not be changed, and is read-only on the host.
    shape : int or tuple of int
        Of `x` on this rank, which may have any number of dimensions.
    comm : communicator, optional
        As in `petsc_vec`.
    output_shape : int or tuple of int, optional
        Of `out` on this rank; by default that of `x`.
    transpose : callable, optional
        The transposed operator, called as ``transpose(x, out)``, with the shapes exchanged.
    diagonal : array, number or callable, optional
        The diagonal, which Jacobi preconditioners and smoothers need: an array of `output_shape`, a number, or a
        function that writes it to a one-dimensional array.
    symmetric : bool, default: False
        State that the operator is symmetric, so that PETSc uses it for its transpose, and chooses methods accordingly.
    backend : {"numpy", "cupy"}, optional
        Whose arrays the function takes; by default the active backend's. CuPy needs a PETSc with CUDA or HIP, and is
        untested here.

    Returns
    -------
    petsc4py.PETSc.Mat
        Of type ``python``. Collective, as all that makes matrices.

    Raises
    ------
    ArgumentTypeError
        What is not callable, sizes that are no integers.
    ArgumentError
        Negative sizes, a diagonal of another size, an unknown backend.

    Notes
    -----
    An error in the function is the cause of a ``PETSc.Error`` on its own rank. In `ksp_solve` and `snes_solve` it is
    raised itself, and ends the solve on all ranks. On a device, PETSc's work and the function's wait for each other by
    the host, recorded as ``sync``.

    Examples
    --------
    >>> import cunumpy as xp
    >>> def double(x, out):
    ...     out[...] = 2 * x
    >>> if xp.petsc.petsc_available():
    ...     matrix = xp.petsc.shell_matrix(double, shape=(2, 2))
    ...     b = xp.petsc.petsc_vec(xp.ones((2, 2)))
    ...     y = matrix.createVecLeft()
    ...     matrix.mult(b, y)
    ...     assert y.sum() == 8
    """
    function = "shell_matrix"
    PETSc = require_petsc(function)
    ranks = group(PETSc, comm, function)
    with ranks.agreed():
        check_callable(apply, function, "apply")
        if transpose is not None:
            check_callable(transpose, function, "transpose")
        inner = as_shape(shape, function, "shape")
        outer = inner if output_shape is None else as_shape(output_shape, function, "output_shape")
        for argument, sizes in (("shape", inner), ("output_shape", outer)):
            check_count(PETSc, math.prod(sizes), function, f"the elements of {argument!r}")
        diagonal = _checked_diagonal(diagonal, outer)
        symmetric = _gate.as_truth(symmetric, function=function, argument="symmetric")
        if backend is None:
            backend = _backend.get_backend()
        if not isinstance(backend, str) or backend not in ("numpy", "cupy"):
            raise ArgumentError(
                f"{function}: argument 'backend' must be 'numpy' or 'cupy', got {_gate.given(backend)}."
            )
        if symmetric and inner != outer:
            raise ArgumentError(
                f"{function}: argument 'symmetric' is set for an operator from {inner} to {outer}, which is none."
            )
    return make_shell(
        PETSc,
        ranks,
        Callback(apply, function, [inner, outer]),
        None if transpose is None else Callback(transpose, function, [outer, inner]),
        inner,
        outer,
        diagonal=diagonal,
        symmetric=symmetric,
        on_device=backend == "cupy",
    )


def make_shell(
    PETSc: Any,
    ranks: Group,
    apply: Callback,
    transpose: Callback | None,
    inner: tuple[int, ...],
    outer: tuple[int, ...],
    *,
    diagonal: Any = None,
    symmetric: bool = False,
    on_device: bool = False,
) -> Any:
    """Make a shell matrix of what has been checked."""
    name = apply.name
    if transpose is None:
        transpose = apply if symmetric else Callback(_no_transpose, name, [outer, inner])
    context = ShellContext(apply, transpose, Callback(_diagonal_of(diagonal), name, [None]))
    rows, columns = (int(np.prod(shape, dtype=np.int64)) for shape in (outer, inner))
    matrix = PETSc.Mat().createPython(((rows, None), (columns, None)), context, comm=ranks.comm)
    if on_device:
        matrix.setVecType(device_vec_type())
    if symmetric:
        matrix.setOption(PETSc.Mat.Option.SYMMETRIC, True)
    matrix.setUp()
    return matrix


def device_vec_type() -> str:
    """Return PETSc's type of vectors on CuPy's devices."""
    return "hip" if _backend.require_cupy("shell_matrix").cuda.runtime.is_hip else "cuda"


def is_function(value: Any) -> bool:
    """Tell whether a value can be called with arrays: PETSc's objects can be called, with vectors."""
    return callable(value) and type(value).__module__.partition(".")[0] != "petsc4py"


def check_callable(value: Any, function: str, argument: str) -> None:
    if not is_function(value):
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} must be a function, called with arrays, the last of which it writes "
            f"to, got {_gate.given(value)}."
        )


def as_shape(shape: Any, function: str, argument: str) -> tuple[int, ...]:
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(_gate.as_integer(size, function=function, argument=argument, least=0) for size in sizes)


def _checked_diagonal(diagonal: Any, shape: tuple[int, ...]) -> Any:
    if diagonal is None or is_function(diagonal) or isinstance(diagonal, _NUMBERS):
        return diagonal
    array = as_array(diagonal, "shell_matrix", "diagonal")
    if array.size != int(np.prod(shape, dtype=np.int64)):
        raise ArgumentError(
            f"shell_matrix: argument 'diagonal' must have an element for each of {shape}, got {_gate.describe(array)}."
        )
    return array
