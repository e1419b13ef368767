"""Preconditioners: functions on arrays, names of PETSc's types, and PETSc's own objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cunumpy import _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.petsc._library import check_living, group, require_petsc
from cunumpy.petsc._matrices import Callback, as_shape, check_callable, is_function

if TYPE_CHECKING:
    from collections.abc import Callable


def shell_preconditioner(
    apply: Callable[[Any, Any], Any], comm: Any = None, *, shape: int | tuple[int, ...] | None = None
) -> Any:
    """Make a PETSc preconditioner of a function on arrays.

    Parameters
    ----------
    apply : callable
        Called as ``apply(r, out)``: writes an approximate solution for the residual `r` to `out`, arrays on the memory
        of PETSc's vectors; `r` must not be changed.
    comm : communicator, optional
        As in `petsc_vec`.
    shape : int or tuple of int, optional
        Of the arrays on this rank; by default one-dimensional.

    Returns
    -------
    petsc4py.PETSc.PC
        Of type ``python``, for `ksp_solve` and ``KSP.setPC``.

    Raises
    ------
    ArgumentTypeError
        What is not callable, sizes that are no integers.
    ArgumentError
        Negative sizes.

    Examples
    --------
    >>> import cunumpy as xp
    >>> def halve(r, out):
    ...     out[...] = r / 2
    >>> def double(x, out):
    ...     out[...] = 2 * x
    >>> if xp.petsc.petsc_available():
    ...     result = xp.petsc.ksp_solve(double, xp.ones(3), preconditioner=xp.petsc.shell_preconditioner(halve))
    ...     assert result.iterations == 1
    """
    function = "shell_preconditioner"
    PETSc = require_petsc(function)
    ranks = group(PETSc, comm, function)
    with ranks.agreed():
        check_callable(apply, function, "apply")
        sizes = None if shape is None else as_shape(shape, function, "shape")
    pc = PETSc.PC().create(comm=ranks.comm)
    set_preconditioner(pc, Callback(apply, function, [sizes, sizes]))
    return pc


class PreconditionerContext:
    """What petsc4py calls for a preconditioner."""

    def __init__(self, callback: Callback) -> None:
        self.callback = callback

    def apply(self, pc: Any, r: Any, z: Any) -> None:
        """Apply the preconditioner."""
        self.callback([r], z)


def set_preconditioner(pc: Any, callback: Callback) -> None:
    """Make a preconditioner that of a function."""
    pc.setType("python")
    pc.setPythonContext(PreconditionerContext(callback))


def check_preconditioner(PETSc: Any, preconditioner: Any, matrix: Any, operator: Any, function: str) -> None:
    if not (preconditioner is None or isinstance(preconditioner, (str, PETSc.PC)) or is_function(preconditioner)):
        raise ArgumentTypeError(
            f"{function}: argument 'preconditioner' must be the name of a PETSc type, a function of a residual and an "
            f"output, or a PETSc.PC, got {_gate.given(preconditioner)}."
        )
    if matrix is not None and not isinstance(matrix, PETSc.Mat):
        raise ArgumentTypeError(
            f"{function}: argument 'preconditioner_matrix' must be a PETSc.Mat, got {_gate.given(matrix)}."
        )
    for argument, value in (("preconditioner", preconditioner), ("preconditioner_matrix", matrix)):
        if isinstance(value, (PETSc.PC, PETSc.Mat)):
            check_living(value, function, argument)
    by_name = isinstance(preconditioner, str) and preconditioner not in ("none", "python", "shell")
    if by_name and matrix is None and is_function(operator):
        raise ArgumentError(
            f"{function}: argument 'preconditioner' is {preconditioner!r}, which looks into a matrix, and the operator "
            "is a function; pass preconditioner_matrix=csr_matrix(...), a shell_matrix with its diagonal for 'jacobi', "
            "or a function preconditioner(r, out)."
        )


def use_preconditioner(PETSc: Any, ksp: Any, preconditioner: Any, shape: Any, function: str) -> None:
    if preconditioner is None:
        return
    if isinstance(preconditioner, str):
        ksp.getPC().setType(preconditioner)
    elif isinstance(preconditioner, PETSc.PC):
        operators = ksp.getOperators()
        ksp.setPC(preconditioner)
        ksp.setOperators(*operators)
    else:
        set_preconditioner(ksp.getPC(), Callback(preconditioner, function, [shape, shape]))
