"""Linear and nonlinear solves with PETSc, on arrays and with functions on arrays."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError, KernelError
from cunumpy.petsc._library import Group, check_living, group, require_petsc
from cunumpy.petsc._matrices import Callback, as_shape, check_callable, make_shell
from cunumpy.petsc._progress import Progress
from cunumpy.petsc._vectors import (
    as_array,
    check_dtype,
    check_memory,
    check_vec,
    is_device_type,
    petsc_array,
    petsc_vec,
)

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


# --- the two solves ---------------------------------------------------------------------------------------------------


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
        if not isinstance(operator, (PETSc.Mat, PETSc.KSP)):
            check_callable(operator, function, "operator")
        if monitor is not None:
            check_callable(monitor, function, "monitor")
        _check_kind(PETSc, b, function, "b")
        if isinstance(operator, (PETSc.Mat, PETSc.KSP)):
            _check_sizes(_matrix_of(PETSc, operator, function), b, PETSc, function, "b")
        start = _checked_start(PETSc, x0, b, function)
        _check_preconditioner(PETSc, preconditioner, preconditioner_matrix, operator, function)
        _check_names(function, method=method, options_prefix=options_prefix)
        _check_tolerances(function, max_iterations, rtol=rtol, atol=atol)
    shape = None if isinstance(b, PETSc.Vec) else b.shape
    made = []  # destroyed at the end: what Python drops, PETSc keeps on several ranks
    try:
        if isinstance(b, PETSc.Vec):
            vec_b = b
        else:
            made.append(vec_b := petsc_vec(b, ranks.comm, readonly=True))
        vec_x, x = _new_like(PETSc, b, start, ranks)
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
                made.append(matrix := _shell_like(PETSc, vec_b, ranks, callback))
                if preconditioner is None and preconditioner_matrix is None:
                    preconditioner = "none"
            ksp.setOperators(matrix, matrix if preconditioner_matrix is None else preconditioner_matrix)
        if method is not None:
            ksp.setType(method)
        _set_preconditioner(PETSc, ksp, preconditioner, shape, function)
        if options_prefix is not None:
            ksp.setOptionsPrefix(options_prefix)
        ksp.setTolerances(rtol=rtol, atol=atol, max_it=max_iterations)
        ksp.setInitialGuessNonzero(start is not None)
        ksp.setFromOptions()
        ksp.setConvergenceHistory(reset=True)
        with Progress(progress and ranks.rank == 0, "KSP") as shown:
            watch = _Monitor(monitor, shown)
            if watch.needed:
                ksp.setMonitor(watch)
            try:
                watch.callbacks = _callbacks_of(*ksp.getOperators(), ksp.getPC())
                _run(PETSc, ranks, [*watch.callbacks, watch], lambda: ksp.solve(vec_b, vec_x), function)
            finally:
                if watch.needed:
                    ksp.monitorCancel()
        norm, code = float(ksp.getResidualNorm()), int(ksp.getConvergedReason())
        return KSPResult(
            x=x,
            converged=code > 0 and math.isfinite(norm),
            reason=_name_of(PETSc.KSP.ConvergedReason, code),
            iterations=int(ksp.getIterationNumber()),
            residual_norm=norm,
            history=np.array(ksp.getConvergenceHistory()),
        )
    finally:
        _destroy(PETSc, made)


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
        check_callable(function, name, "function")
        _check_start_kind(PETSc, x0, name)
        if monitor is not None:
            check_callable(monitor, name, "monitor")
        matrix, update = _checked_jacobian(PETSc, jacobian, name)
        if matrix is not None:
            _check_sizes(matrix, x0, PETSc, name, "x0")
        _check_preconditioner(PETSc, preconditioner, None, matrix or function, name)
        _check_names(name, method=method, linear_method=linear_method, options_prefix=options_prefix)
        _check_tolerances(name, max_iterations, rtol=rtol, atol=atol, stol=stol)
    shape = None if isinstance(x0, PETSc.Vec) else x0.shape
    made = []
    try:
        vec, x = _new_like(PETSc, x0, x0, ranks)
        if x is not vec:
            made.append(vec)
        made.append(residual := vec.duplicate())
        made.append(snes := PETSc.SNES().create(comm=ranks.comm))
        values = Callback(function, name, [shape, shape])
        callbacks: list[Any] = [values]  # and those that the solver of the linear systems calls
        snes.setFunction(lambda snes, x, f: values([x], f), residual)
        if matrix is None:
            made.append(matrix := _shell_like(PETSc, vec, ranks, values))
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
        _set_preconditioner(PETSc, ksp, preconditioner, shape, name)
        if options_prefix is not None:
            snes.setOptionsPrefix(options_prefix)
        snes.setTolerances(rtol=rtol, atol=atol, stol=stol, max_it=max_iterations)
        snes.setFromOptions()
        snes.setConvergenceHistory(reset=True)
        with Progress(progress and ranks.rank == 0, "SNES") as shown:
            watch = _Monitor(monitor, shown)
            if watch.needed:
                snes.setMonitor(watch)
            watch.callbacks = [*callbacks, *_callbacks_of(matrix, ksp.getPC())]
            _run(PETSc, ranks, [*watch.callbacks, watch], lambda: snes.solve(None, vec), name)
        norm, code = float(snes.getFunctionNorm()), int(snes.getConvergedReason())
        return SNESResult(
            x=x,
            converged=code > 0 and math.isfinite(norm),
            reason=_name_of(PETSc.SNES.ConvergedReason, code),
            iterations=int(snes.getIterationNumber()),
            linear_iterations=int(snes.getLinearSolveIterations()),
            residual_norm=norm,
            history=np.array(snes.getConvergenceHistory()[0]),
        )
    finally:
        _destroy(PETSc, made)


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


class _Monitor:
    """Hands the norms of a solver on; an error of the user's function is raised after the solve.

    The functions that the solve calls give NaN then, which ends it soon. One that calls none goes on: PETSc would leave
    the user's vectors locked, and other ranks waiting.
    """

    def __init__(self, monitor: Callable[[int, float], Any] | None, shown: Progress) -> None:
        self.monitor, self.shown = monitor, shown
        self.callbacks: list[Any] = []
        self.needed = monitor is not None or shown.wanted
        self.error: BaseException | None = None

    def __call__(self, solver: Any, iteration: int, norm: float) -> None:
        self.shown.show(iteration, norm)
        if self.monitor is not None and self.error is None:
            try:
                self.monitor(iteration, norm)
            except BaseException as error:
                for each in (self, *self.callbacks):
                    each.error = each.error or error


def _run(PETSc: Any, ranks: Group, callbacks: list[Any], solve: Callable[[], Any], function: str) -> None:
    """Solve; raise what functions of the user raised on any rank, on all."""
    deferred = [getattr(callback, "deferred", False) for callback in callbacks]  # one solve may be within another
    for callback in callbacks:
        callback.error, callback.deferred = None, True
    failure: Any = None
    try:
        solve()
    except PETSc.Error as raised:
        failure = raised
    finally:
        error = next((callback.error for callback in callbacks if callback.error is not None), None)
        for callback, before in zip(callbacks, deferred, strict=True):  # which others may call, too
            callback.error, callback.deferred = None, before
    if error is not None:
        _release_callers(error)
    try:
        if failure is not None:  # raised by PETSc, on all ranks or on this one alone
            raise error or failure
        texts = ranks.gather(None if error is None else f"{type(error).__name__}: {error}")
        if error is not None:
            raise error
    finally:  # an error that this frame holds would hold this frame, and PETSc's objects in it, on this rank alone
        error = failure = None
    failed = [rank for rank, text in enumerate(texts) if text is not None]
    if failed:
        raise KernelError(
            f"{function}: a function of the solve failed on rank {failed[0]} of {ranks.size}, hence the solve on all. "
            f"There: {texts[failed[0]]}"
        )


def _release_callers(error: BaseException) -> None:
    """Let the frames go that called a function which raised, and which its traceback keeps alive.

    They hold vectors of PETSc, which would be destroyed on this rank alone, at the end of the process: PETSc would wait
    for the other ranks then.
    """
    frame = error.__traceback__.tb_frame.f_back if error.__traceback__ is not None else None
    while frame is not None:
        try:
            frame.clear()
        except RuntimeError:  # it still runs, and so do those that called it
            return
        frame = frame.f_back


def _callbacks_of(*objects: Any) -> list[Callback]:
    """Find the functions of ours that matrices and preconditioners call."""
    found: dict[Callback, None] = {}
    for each in objects:
        if each and each.getType() == "python":
            values = getattr(each.getPythonContext(), "__dict__", {}).values()
            found |= {value: None for value in values if isinstance(value, Callback)}
    return list(found)


def _destroy(PETSc: Any, made: list[Any]) -> None:
    """Destroy objects; what PETSc has against it after an error does not hide that error."""
    failing = sys.exception() is not None
    for each in reversed(made):
        try:
            each.destroy()
        except PETSc.Error:
            if not failing:
                raise


def _name_of(reasons: Any, code: int) -> str:
    for name, value in vars(reasons).items():
        if value == code and not name.startswith("_"):
            return str(name)
    return str(code)


def _check_kind(PETSc: Any, value: Any, function: str, argument: str) -> None:
    if isinstance(value, PETSc.Vec):
        check_vec(value, function, argument)
        return
    array = as_array(value, function, argument)
    check_memory(PETSc, array, function, argument, readonly=True, copy="")


def _check_start_kind(PETSc: Any, x0: Any, function: str) -> None:
    if isinstance(x0, PETSc.Vec):
        check_vec(x0, function, "x0")
    else:  # it is copied, so that its layout does not matter
        check_dtype(PETSc, as_array(x0, function, "x0"), function, "x0", copy="")


def _check_names(function: str, **names: Any) -> None:
    for argument, value in names.items():
        if value is not None and not isinstance(value, str):
            raise ArgumentTypeError(
                f"{function}: argument {argument!r} must be a text, as PETSc's options have it, got "
                f"{_gate.given(value)}."
            )


def _check_tolerances(function: str, max_iterations: Any, **tolerances: Any) -> None:
    """Refuse numbers that PETSc would take for others, as it takes -1 for its own default, or refuse by a number."""
    for argument, value in tolerances.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise ArgumentTypeError(
                f"{function}: argument {argument!r} must be a real number, got {_gate.given(value)}."
            )
        limit = 1.0 if argument == "rtol" else math.inf
        if not 0 <= value < limit:
            expected = "0 or positive and below 1" if argument == "rtol" else "0 or positive and finite"
            raise ArgumentError(f"{function}: argument {argument!r} must be {expected}, got {_gate.given(value)}.")
    if max_iterations is not None and (
        isinstance(max_iterations, bool) or not isinstance(max_iterations, (int, np.integer)) or max_iterations < 0
    ):
        raise ArgumentError(
            f"{function}: argument 'max_iterations' must be an integer of at least 0, got "
            f"{_gate.given(max_iterations)}."
        )


def _check_sizes(matrix: Any, template: Any, PETSc: Any, function: str, argument: str) -> None:
    (rows, _), (columns, _) = matrix.getSizes()
    local = template.getLocalSize() if isinstance(template, PETSc.Vec) else template.size
    if rows != columns or rows != local:
        raise ArgumentError(
            f"{function}: argument {argument!r} has {local} elements on this rank, and the matrix {rows} rows and "
            f"{columns} columns there; all three have to be equal."
        )


def _matrix_of(PETSc: Any, operator: Any, function: str) -> Any:
    matrix = operator if isinstance(operator, PETSc.Mat) else operator.getOperators()[0]
    if not matrix or matrix.getType() is None:
        raise ArgumentError(f"{function}: argument 'operator' has no matrix; give the KSP one by setOperators(matrix).")
    return matrix


def _checked_start(PETSc: Any, x0: Any, b: Any, function: str) -> Any:
    if x0 is None:
        return None
    _check_start_kind(PETSc, x0, function)
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


def _checked_jacobian(PETSc: Any, jacobian: Any, function: str) -> tuple[Any, Any]:
    """Return the matrix of a Jacobian and what sets its values; None and None for one without a matrix."""
    if jacobian is None or callable(jacobian):
        return None, None
    if isinstance(jacobian, tuple) and len(jacobian) == 2 and isinstance(jacobian[0], PETSc.Mat):
        check_living(jacobian[0], function, "jacobian[0]")
        check_callable(jacobian[1], function, "jacobian[1]")
        return jacobian
    raise ArgumentTypeError(
        f"{function}: argument 'jacobian' must be a function jacobian(x, v, out), or a PETSc.Mat and a function that "
        f"sets its values, (matrix, update), got {_gate.given(jacobian)}."
    )


def _check_preconditioner(PETSc: Any, preconditioner: Any, matrix: Any, operator: Any, function: str) -> None:
    if not (preconditioner is None or isinstance(preconditioner, (str, PETSc.PC)) or callable(preconditioner)):
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
    if by_name and matrix is None and callable(operator) and not isinstance(operator, (PETSc.Mat, PETSc.KSP)):
        raise ArgumentError(
            f"{function}: argument 'preconditioner' is {preconditioner!r}, which looks into a matrix, and the operator "
            "is a function; pass preconditioner_matrix=csr_matrix(...), a shell_matrix with its diagonal for 'jacobi', "
            "or a function preconditioner(r, out)."
        )


def _set_preconditioner(PETSc: Any, ksp: Any, preconditioner: Any, shape: Any, function: str) -> None:
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


def _shell_like(PETSc: Any, vec: Any, ranks: Group, apply: Callback) -> Any:
    """Make the shell matrix of a square operator on vectors like this one."""
    length = (int(vec.getLocalSize()),)
    on_device = is_device_type(str(vec.getType()))
    return make_shell(PETSc, ranks, apply, None, length, length, on_device=on_device)


def _new_like(PETSc: Any, template: Any, start: Any, ranks: Group) -> tuple[Any, Any]:
    """Make a vector for the solution, over a new array where arrays were given; return it and what the user gets."""
    if isinstance(template, PETSc.Vec):
        vec = template.duplicate()
        if start is None:
            vec.set(0.0)
        else:
            start.copy(vec)
        return vec, vec
    if _arrays.is_device_array(template):
        cupy = _backend.require_cupy("ksp_solve")
        with template.device:
            x = cupy.zeros(template.shape, template.dtype) if start is None else cupy.array(start, order="C")
    else:
        x = np.zeros(template.shape, template.dtype) if start is None else np.array(start, order="C", subok=False)
    return petsc_vec(x, ranks.comm), x
