"""Linear solves with PETSc, on arrays and with functions on arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _gate
from cunumpy._progress import Progress
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.petsc import _solves
from cunumpy.petsc._library import check_living, group, require_petsc
from cunumpy.petsc._matrices import Callback, check_callable
from cunumpy.petsc._memory import as_array, check_memory, check_vec
from cunumpy.petsc._preconditioners import check_preconditioner, use_preconditioner
from cunumpy.petsc._vectors import petsc_vec

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class KSPResult:
    """What `ksp_solve` found.

    Attributes
    ----------
    x : numpy.ndarray, cupy.ndarray or petsc4py.PETSc.Vec
        The solution, as the right-hand side was given.
    converged : bool
        Whether the tolerance was reached. Never true where `x` or the residual is NaN or infinite.
    reason : str
        Why PETSc stopped, as in `KSPConvergedReason
        <https://petsc.org/release/manualpages/KSP/KSPConvergedReason/>`__:
        ``"CONVERGED_RTOL"``, ``"DIVERGED_MAX_IT"``, ...
    iterations : int
        Number of iterations.
    residual_norm : float
        The last norm that the method computed: of the preconditioned residual with left preconditioning.
    history : numpy.ndarray
        The norms of all iterations, that of the start first.

    Examples
    --------
    >>> import cunumpy as xp
    >>> if xp.petsc.petsc_available():
    ...     def double(x, out):
    ...         out[...] = 2 * x
    ...     result = xp.petsc.ksp_solve(double, xp.ones(3), method="cg")
    ...     assert result.converged and result.reason.startswith("CONVERGED")
    """

    x: Any
    converged: bool
    reason: str
    iterations: int
    residual_norm: float
    history: np.ndarray = field(repr=False)


def ksp_solve(
    operator: Any,
    b: Any,
    x0: Any = None,
    *,
    comm: Any = None,
    method: str | None = None,
    preconditioner: Any = None,
    preconditioner_matrix: Any = None,
    rtol: float | None = None,
    atol: float | None = None,
    max_iterations: int | None = None,
    monitor: Callable[[int, float], Any] | None = None,
    progress: bool = False,
    options_prefix: str | None = None,
) -> KSPResult:
    """Solve a linear system with one of PETSc's Krylov methods.

    All ranks call this together, each with its own part of the arrays.

    Parameters
    ----------
    operator : callable, petsc4py.PETSc.Mat or petsc4py.PETSc.KSP
        A function called as ``operator(x, out)`` with arrays of the shape of `b`, as in `shell_matrix`; a matrix; or a
        solver that has its matrix and is used again, which keeps what it has prepared.
    b : numpy.ndarray, cupy.ndarray or petsc4py.PETSc.Vec
        The right-hand side; it is not copied, and not changed.
    x0 : array or petsc4py.PETSc.Vec, optional
        Where to start, by default zero; it is not changed.
    comm : communicator, optional
        For arrays, as in `petsc_vec`. With a matrix or solver it is theirs.
    method : str, optional
        ``"cg"`` for symmetric positive definite operators, ``"gmres"``, ``"bcgs"`` and others of `KSPType`_; by default
        PETSc's, which is ``"gmres"``.
    preconditioner : str, callable or petsc4py.PETSc.PC, optional
        ``"jacobi"``, ``"gamg"`` (algebraic multigrid), ``"none"`` and others of `PCType`_; or a function
        ``preconditioner(r, out)`` with arrays of the shape of `b`. By default PETSc's, and none for a function as
        operator.
    preconditioner_matrix : petsc4py.PETSc.Mat, optional
        What the preconditioner is made from, for matrix-free operators.
    rtol, atol : float, optional
        Tolerances of the residual, relative to that of the start and absolute; by default 1e-5 and 1e-50.
    max_iterations : int, optional
        By default 10000.
    monitor : callable, optional
        Called as ``monitor(iteration, residual_norm)`` on every rank. An error of it is raised when the solve has
        ended, which is soon where that calls functions of yours.
    progress : bool, default: False
        Show iterations and residual on rank 0: by ``tqdm`` where it is installed, else as lines.
    options_prefix : str, optional
        Begins the names of options for this solve in PETSc's database, which have the last word: with ``"poisson_"``
        the variable ``PETSC_OPTIONS`` may say ``-poisson_ksp_type minres``, and so may the command line of a program
        that begins with ``petsc4py.init(sys.argv)``.

    Returns
    -------
    KSPResult
        Look at `converged`: a solve that stops early raises nothing.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        As of `petsc_vec`; a start of another shape; a function and a preconditioner that has to see a matrix.
    Exception
        What a function raised, on its rank; on the others a `KernelError` that names the rank.

    .. _KSPType: https://petsc.org/release/manualpages/KSP/KSPType/
    .. _PCType: https://petsc.org/release/manualpages/PC/PCType/

    Examples
    --------
    >>> import cunumpy as xp
    >>> def operator(x, out):
    ...     out[...] = 2 * x
    ...     out[1:] -= x[:-1]
    ...     out[:-1] -= x[1:]
    >>> if xp.petsc.petsc_available():
    ...     result = xp.petsc.ksp_solve(operator, xp.ones(4), method="cg")
    ...     assert abs(result.x - xp.asarray([2.0, 3.0, 3.0, 2.0])).max() < 1e-10
    """
    function = "ksp_solve"
    PETSc = require_petsc(function)
    if isinstance(operator, (PETSc.Mat, PETSc.KSP)):
        check_living(operator, function, "operator")
        comm = operator.getComm()
    elif isinstance(b, PETSc.Vec):
        check_living(b, function, "b")
        comm = b.getComm()
    ranks = group(PETSc, comm, function)
    with ranks.agreed():
        progress = _gate.as_truth(progress, function=function, argument="progress")
        if not isinstance(operator, (PETSc.Mat, PETSc.KSP)):
            check_callable(operator, function, "operator")
        if monitor is not None:
            check_callable(monitor, function, "monitor")
        _check_kind(PETSc, b, function, "b")
        if isinstance(operator, (PETSc.Mat, PETSc.KSP)):
            _solves.check_sizes(_matrix_of(PETSc, operator, function), b, PETSc, function, "b")
        start = _checked_start(PETSc, x0, b, function)
        check_preconditioner(PETSc, preconditioner, preconditioner_matrix, operator, function)
        if preconditioner_matrix is not None:
            _check_size(preconditioner_matrix, b.getLocalSize() if isinstance(b, PETSc.Vec) else b.size, function)
        _solves.check_names(function, method=method, options_prefix=options_prefix)
        _solves.check_tolerances(function, max_iterations, rtol=rtol, atol=atol)
    shape = None if isinstance(b, PETSc.Vec) else b.shape
    made = []  # destroyed at the end: what Python drops, PETSc keeps on several ranks
    try:
        if isinstance(b, PETSc.Vec):
            vec_b = b
        else:
            made.append(vec_b := petsc_vec(b, ranks.comm, readonly=True))
        vec_x, x = _solves.new_like(PETSc, b, start, ranks)
        if x is not vec_x:
            made.append(vec_x)
        if isinstance(operator, PETSc.KSP):
            ksp = operator
        else:
            made.append(ksp := PETSc.KSP().create(comm=ranks.comm))
            if isinstance(operator, PETSc.Mat):
                matrix = operator
            else:
                callback = Callback(operator, function, [shape, shape])
                made.append(matrix := _solves.shell_like(PETSc, vec_b, ranks, callback))
                if preconditioner is None and preconditioner_matrix is None:
                    preconditioner = "none"
            ksp.setOperators(matrix, matrix if preconditioner_matrix is None else preconditioner_matrix)
        if method is not None:
            ksp.setType(method)
        use_preconditioner(PETSc, ksp, preconditioner, shape, function)
        if options_prefix is not None:
            ksp.setOptionsPrefix(options_prefix)
        ksp.setTolerances(rtol=rtol, atol=atol, max_it=max_iterations)
        ksp.setInitialGuessNonzero(start is not None)
        ksp.setFromOptions()
        ksp.setConvergenceHistory(reset=True)
        with Progress(progress and ranks.rank == 0, "KSP", "iteration", max_iterations) as shown:
            watch = _solves.Monitor(monitor, shown)
            if watch.needed:
                ksp.setMonitor(watch)
            try:
                watch.callbacks = _solves.callbacks_of(*ksp.getOperators(), ksp.getPC())
                _solves.run(PETSc, ranks, [*watch.callbacks, watch], lambda: ksp.solve(vec_b, vec_x), function)
            finally:
                if watch.needed:
                    ksp.monitorCancel()
        norm, code = float(ksp.getResidualNorm()), int(ksp.getConvergedReason())
        return KSPResult(
            x=x,
            converged=code > 0 and math.isfinite(norm),
            reason=_solves.name_of(PETSc.KSP.ConvergedReason, code),
            iterations=int(ksp.getIterationNumber()),
            residual_norm=norm,
            history=np.array(ksp.getConvergenceHistory()),
        )
    finally:
        _solves.destroy(PETSc, made)


def _check_kind(PETSc: Any, value: Any, function: str, argument: str) -> None:
    if isinstance(value, PETSc.Vec):
        check_vec(value, function, argument)
        return
    array = as_array(value, function, argument)
    check_memory(PETSc, array, function, argument, readonly=True, copy="")


def _matrix_of(PETSc: Any, operator: Any, function: str) -> Any:
    matrix = operator if isinstance(operator, PETSc.Mat) else operator.getOperators()[0]
    if not matrix or matrix.getType() is None:
        raise ArgumentError(f"{function}: argument 'operator' has no matrix; give the KSP one by setOperators(matrix).")
    return matrix


def _check_size(matrix: Any, local: int, function: str) -> None:
    (rows, _), (columns, _) = matrix.getSizes()
    if rows != local or columns != local:
        raise ArgumentError(
            f"{function}: argument 'preconditioner_matrix' has {rows} rows and {columns} columns on this rank, and 'b' "
            f"{local} elements there; all three have to be equal."
        )


def _checked_start(PETSc: Any, x0: Any, b: Any, function: str) -> Any:
    if x0 is None:
        return None
    _solves.check_start_kind(PETSc, x0, function)
    if isinstance(x0, PETSc.Vec) != isinstance(b, PETSc.Vec):
        raise ArgumentTypeError(f"{function}: arguments 'b' and 'x0' must both be arrays, or both be vectors.")
    if isinstance(b, PETSc.Vec):
        if x0.getSizes() != b.getSizes():
            raise ArgumentError(
                f"{function}: argument 'x0' must have the sizes of 'b', {b.getSizes()}, got {x0.getSizes()}."
            )
        return x0
    _gate.common_backend(function, b=b, x0=x0)
    if x0.shape != b.shape:
        raise ArgumentError(f"{function}: argument 'x0' must have the shape of 'b', {b.shape}, got {x0.shape}.")
    return x0
