"""Nonlinear solves with PETSc, on arrays and with functions on arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _gate
from cunumpy._progress import Progress
from cunumpy.errors import ArgumentTypeError
from cunumpy.petsc import _solves
from cunumpy.petsc._access import petsc_array
from cunumpy.petsc._library import check_living, group, require_petsc
from cunumpy.petsc._matrices import Callback, check_callable, is_function
from cunumpy.petsc._preconditioners import check_preconditioner, use_preconditioner

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class SNESResult:
    """What `snes_solve` found.

    Attributes
    ----------
    x : numpy.ndarray, cupy.ndarray or petsc4py.PETSc.Vec
        The solution, as the start values were given.
    converged : bool
        Whether a tolerance was reached. Never true where `x` or the residual is NaN or infinite.
    reason : str
        Why PETSc stopped, as in `SNESConvergedReason
        <https://petsc.org/release/manualpages/SNES/SNESConvergedReason/>`__:
        ``"CONVERGED_FNORM_RELATIVE"``, ``"DIVERGED_LINE_SEARCH"``, ...
    iterations : int
        Number of Newton steps.
    linear_iterations : int
        Number of iterations of the linear solver, in all steps together.
    residual_norm : float
        Norm of the function at `x`.
    history : numpy.ndarray
        The norms of all steps, that of the start first.

    Examples
    --------
    >>> import cunumpy as xp
    >>> if xp.petsc.petsc_available():
    ...     def square(x, out):
    ...         out[...] = x * x - 2
    ...     result = xp.petsc.snes_solve(square, xp.ones(3))
    ...     assert result.converged and abs(result.x[0] - 2**0.5) < 1e-6
    """

    x: Any
    converged: bool
    reason: str
    iterations: int
    linear_iterations: int
    residual_norm: float
    history: np.ndarray = field(repr=False)


def snes_solve(
    function: Callable[[Any, Any], Any],
    x0: Any,
    *,
    jacobian: Any = None,
    comm: Any = None,
    method: str | None = None,
    linear_method: str | None = None,
    preconditioner: Any = None,
    rtol: float | None = None,
    atol: float | None = None,
    stol: float | None = None,
    max_iterations: int | None = None,
    monitor: Callable[[int, float], Any] | None = None,
    progress: bool = False,
    options_prefix: str | None = None,
) -> SNESResult:
    """Find a root of a function of many unknowns with one of PETSc's nonlinear solvers.

    All ranks call this together, each with its own part of the arrays. Newton's method with a line search is the
    default; its linear systems are solved by a Krylov method that needs products with the Jacobian only.

    Parameters
    ----------
    function : callable
        Called as ``function(x, out)``: writes the function's values at `x` to `out`, arrays of the shape of `x0`. `x`
        must not be changed.
    x0 : numpy.ndarray, cupy.ndarray or petsc4py.PETSc.Vec
        Where to start; it is not changed.
    jacobian : callable or tuple, optional
        A function ``jacobian(x, v, out)`` that writes the product of the Jacobian at `x` with `v`; or a matrix and a
        function that sets its values at `x`: ``(matrix, update)``, where ``update(x)`` calls `update_values` on all
        ranks. By default the product is a difference of two function values.
    comm : communicator, optional
        For arrays, as in `petsc_vec`.
    method : str, optional
        ``"newtonls"`` (the default), ``"newtontr"``, ``"ngmres"`` and others of `SNESType`_.
    linear_method, preconditioner : optional
        As `method` and `preconditioner` of `ksp_solve`. Without a matrix there is no preconditioner by default.
    rtol, atol, stol : float, optional
        Tolerances: of the function's norm, relative to that of the start and absolute, and of a step relative to the
        solution; by default 1e-8, 1e-50 and 1e-8.
    max_iterations : int, optional
        By default 50.
    monitor : callable, optional
        Called as ``monitor(iteration, residual_norm)`` on every rank. An error of it is raised when the solve has
        ended, which is soon where that calls functions of yours.
    progress : bool, default: False
        Show steps and residual on rank 0: by ``tqdm`` where it is installed, else as lines.
    options_prefix : str, optional
        As in `ksp_solve`.

    Returns
    -------
    SNESResult
        Look at `converged`: a solve that stops early raises nothing.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        As of `petsc_vec`.
    Exception
        What a function raised, on its rank; on the others a `KernelError` that names the rank.

    .. _SNESType: https://petsc.org/release/manualpages/SNES/SNESType/

    Examples
    --------
    >>> import cunumpy as xp
    >>> def circle(x, out):
    ...     out[0] = x[0] ** 2 + x[1] ** 2 - 2
    ...     out[1] = x[0] - x[1]
    >>> if xp.petsc.petsc_available():
    ...     result = xp.petsc.snes_solve(circle, xp.asarray([2.0, 0.5]))
    ...     assert abs(result.x - 1).max() < 1e-6
    """
    name = "snes_solve"
    PETSc = require_petsc(name)
    if isinstance(x0, PETSc.Vec):
        check_living(x0, name, "x0")
        comm = x0.getComm()
    ranks = group(PETSc, comm, name)
    with ranks.agreed():
        progress = _gate.as_truth(progress, function=name, argument="progress")
        check_callable(function, name, "function")
        _solves.check_start_kind(PETSc, x0, name)
        if monitor is not None:
            check_callable(monitor, name, "monitor")
        matrix, update = _checked_jacobian(PETSc, jacobian, name)
        if matrix is not None:
            _solves.check_sizes(matrix, x0, PETSc, name, "x0")
        check_preconditioner(PETSc, preconditioner, None, matrix or function, name)
        _solves.check_names(name, method=method, linear_method=linear_method, options_prefix=options_prefix)
        _solves.check_tolerances(name, max_iterations, rtol=rtol, atol=atol, stol=stol)
    shape = None if isinstance(x0, PETSc.Vec) else x0.shape
    made = []
    try:
        vec, x = _solves.new_like(PETSc, x0, x0, ranks)
        if x is not vec:
            made.append(vec)
        made.append(residual := vec.duplicate())
        made.append(snes := PETSc.SNES().create(comm=ranks.comm))
        values = Callback(function, name, [shape, shape])
        callbacks: list[Any] = [values]  # and those that the solver of the linear systems calls
        snes.setFunction(lambda snes, x, f: values([x], f), residual)
        if matrix is None:
            made.append(matrix := _solves.shell_like(PETSc, vec, ranks, values))
            product = None if jacobian is None else Callback(jacobian, name, [shape] * 3)
            point = _Point(vec, values, product, PETSc.RealType, made)
            matrix.setPythonContext(point)
            snes.setJacobian(lambda snes, x, jacobian, other: point.move(x), matrix, matrix)
            if preconditioner is None:
                preconditioner = "none"
        else:
            filled = _Update(update, shape)
            snes.setJacobian(filled, matrix, matrix)
            callbacks.append(filled)
        if method is not None:
            snes.setType(method)
        made.append(ksp := snes.getKSP())
        if linear_method is not None:
            ksp.setType(linear_method)
        use_preconditioner(PETSc, ksp, preconditioner, shape, name)
        if options_prefix is not None:
            snes.setOptionsPrefix(options_prefix)
        snes.setTolerances(rtol=rtol, atol=atol, stol=stol, max_it=max_iterations)
        snes.setFromOptions()
        snes.setConvergenceHistory(reset=True)
        with Progress(progress and ranks.rank == 0, "SNES", "iteration", max_iterations) as shown:
            watch = _solves.Monitor(monitor, shown)
            if watch.needed:
                snes.setMonitor(watch)
            watch.callbacks = [*callbacks, *_solves.callbacks_of(matrix, ksp.getPC())]
            _solves.run(PETSc, ranks, [*watch.callbacks, watch], lambda: snes.solve(None, vec), name)
        norm, code = float(snes.getFunctionNorm()), int(snes.getConvergedReason())
        return SNESResult(
            x=x,
            converged=code > 0 and math.isfinite(norm),
            reason=_solves.name_of(PETSc.SNES.ConvergedReason, code),
            iterations=int(snes.getIterationNumber()),
            linear_iterations=int(snes.getLinearSolveIterations()),
            residual_norm=norm,
            history=np.array(snes.getConvergenceHistory()[0]),
        )
    finally:
        _solves.destroy(PETSc, made)


class _Point:
    """Where the Jacobian is taken, and its product: the user's, or a difference of two values of the function.

    The difference is taken at a distance of ``sqrt(eps) * sqrt(1 + |x|) / |v|``, as PETSc's ``wp`` does.
    """

    def __init__(self, vec: Any, values: Callback, product: Callback | None, real: Any, made: list[Any]) -> None:
        self.values, self.product, self.real = values, product, real
        self.x, self.f, self.moved = (vec.duplicate() for _ in range(3))
        made += [self.x, self.f, self.moved]

    def move(self, x: Any) -> None:
        """Take the Jacobian at another point."""
        x.copy(self.x)
        if self.product is None:
            self.values([self.x], self.f)

    def mult(self, matrix: Any, v: Any, out: Any) -> None:
        """Give the product."""
        if self.product is not None:
            self.product([self.x, v], out)
            return
        length = v.norm()
        if length == 0.0:
            out.set(0.0)
            return
        step = math.sqrt(np.finfo(self.real).eps) * math.sqrt(1.0 + self.x.norm()) / length
        self.moved.waxpy(step, v, self.x)
        self.values([self.moved], out)
        out.axpy(-1.0, self.f)
        out.scale(1.0 / step)


class _Update:
    """Lets a function set the values of the matrix of a Jacobian; keeps the error that it raises.

    It works on the matrix together with the other ranks, so that its error can't wait.
    """

    def __init__(self, update: Callable[[Any], Any], shape: tuple[int, ...] | None) -> None:
        self.update, self.shape = update, shape
        self.error: BaseException | None = None

    def __call__(self, snes: Any, x: Any, jacobian: Any, other: Any) -> None:
        values = petsc_array(x, write=False)
        try:
            self.update(values if self.shape is None else values.reshape(self.shape))
        except BaseException as error:
            self.error = error
            raise


def _checked_jacobian(PETSc: Any, jacobian: Any, function: str) -> tuple[Any, Any]:
    """Return the matrix of a Jacobian and what sets its values; None and None for one without a matrix."""
    if jacobian is None or is_function(jacobian):
        return None, None
    if isinstance(jacobian, tuple) and len(jacobian) == 2 and isinstance(jacobian[0], PETSc.Mat):
        check_living(jacobian[0], function, "jacobian[0]")
        check_callable(jacobian[1], function, "jacobian[1]")
        return jacobian
    raise ArgumentTypeError(
        f"{function}: argument 'jacobian' must be a function jacobian(x, v, out), or a PETSc.Mat and a function that "
        f"sets its values, (matrix, update), got {_gate.given(jacobian)}."
    )
