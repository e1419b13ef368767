"""What linear and nonlinear solves share: checks of arguments, and errors of the functions that PETSc calls."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _gate
from cunumpy._progress import Progress
from cunumpy.errors import ArgumentError, ArgumentTypeError, KernelError
from cunumpy.petsc._library import Group
from cunumpy.petsc._matrices import Callback, make_shell
from cunumpy.petsc._memory import as_array, check_dtype, check_vec, is_device_type
from cunumpy.petsc._vectors import petsc_vec

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST = 2**31 - 1  # iterations, which every PETSc counts


class Monitor:
    """Hands the norms of a solver on; an error of the user's function is raised after the solve.

    The functions that the solve calls give NaN then, which ends it soon. One that calls none goes on: PETSc would leave
    the user's vectors locked, and other ranks waiting.
    """

    def __init__(self, monitor: Callable[[int, float], Any] | None, shown: Progress) -> None:
        self.monitor, self.shown = monitor, shown
        self.callbacks: list[Any] = []
        self.needed = monitor is not None or shown.bar is not None
        self.error: BaseException | None = None

    def __call__(self, solver: Any, iteration: int, norm: float) -> None:
        self.shown.reach(iteration, f"residual {norm:.3e}")
        if self.monitor is not None and self.error is None:
            try:
                self.monitor(iteration, norm)
            except BaseException as error:
                for each in (self, *self.callbacks):
                    each.error = each.error or error


def run(PETSc: Any, ranks: Group, callbacks: list[Any], solve: Callable[[], Any], function: str) -> None:
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


def callbacks_of(*objects: Any) -> list[Callback]:
    """Find the functions of ours that matrices and preconditioners call."""
    found: dict[Callback, None] = {}
    for each in objects:
        if each and each.getType() == "python":
            values = getattr(each.getPythonContext(), "__dict__", {}).values()
            found |= {value: None for value in values if isinstance(value, Callback)}
    return list(found)


def destroy(PETSc: Any, made: list[Any]) -> None:
    """Destroy objects; what PETSc has against it after an error does not hide that error."""
    failing = sys.exception() is not None
    for each in reversed(made):
        try:
            each.destroy()
        except PETSc.Error:
            if not failing:
                raise


def name_of(reasons: Any, code: int) -> str:
    for name, value in vars(reasons).items():
        if value == code and not name.startswith("_"):
            return str(name)
    return str(code)


def check_start_kind(PETSc: Any, x0: Any, function: str) -> None:
    if isinstance(x0, PETSc.Vec):
        check_vec(x0, function, "x0")
    else:  # it is copied, so that its layout does not matter
        check_dtype(PETSc, as_array(x0, function, "x0"), function, "x0", copy="")


def check_names(function: str, **names: Any) -> None:
    for argument, value in names.items():
        if value is not None and not isinstance(value, str):
            raise ArgumentTypeError(
                f"{function}: argument {argument!r} must be a text, as PETSc's options have it, got "
                f"{_gate.given(value)}."
            )


def check_tolerances(function: str, max_iterations: Any, **tolerances: Any) -> None:
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
    if max_iterations is not None:
        _gate.as_integer(max_iterations, function=function, argument="max_iterations", least=0, most=_MOST)


def check_sizes(matrix: Any, template: Any, PETSc: Any, function: str, argument: str) -> None:
    (rows, _), (columns, _) = matrix.getSizes()
    local = template.getLocalSize() if isinstance(template, PETSc.Vec) else template.size
    if rows != columns or rows != local:
        raise ArgumentError(
            f"{function}: argument {argument!r} has {local} elements on this rank, and the matrix {rows} rows and "
            f"{columns} columns there; all three have to be equal."
        )


def shell_like(PETSc: Any, vec: Any, ranks: Group, apply: Callback) -> Any:
    """Make the shell matrix of a square operator on vectors like this one."""
    length = (int(vec.getLocalSize()),)
    on_device = is_device_type(str(vec.getType()))
    return make_shell(PETSc, ranks, apply, None, length, length, on_device=on_device)


def new_like(PETSc: Any, template: Any, start: Any, ranks: Group) -> tuple[Any, Any]:
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
