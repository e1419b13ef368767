"""Matrices and solves of a real PETSc, on one rank and on several.

Collected where petsc4py is installed only (`conftest.py`).
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from mpi4py import MPI
from petsc4py import PETSc

import cunumpy as xp
from cunumpy.errors import ArgumentError, ArgumentTypeError, CuNumpyError, KernelError
from cunumpy.petsc import (
    csr_matrix,
    ksp_solve,
    mark_modified,
    petsc_array,
    petsc_vec,
    shell_matrix,
    shell_preconditioner,
    snes_solve,
    update_values,
)

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
N = 6  # unknowns of each rank
several = pytest.mark.skipif(SIZE == 1, reason="needs more than one rank: mpiexec -n 2 python -m pytest")


def laplacian() -> scipy.sparse.csr_array:
    """Give this rank's rows of the second difference, with all columns."""
    total = N * SIZE
    whole = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(total, total)).tocsr()
    return whole[RANK * N : (RANK + 1) * N]


def second_difference(x: np.ndarray, out: np.ndarray) -> None:
    """Apply the same without a matrix."""
    flat, result = x.reshape(-1), out.reshape(-1)
    left, right = COMM.sendrecv(flat[-1], (RANK + 1) % SIZE, source=(RANK - 1) % SIZE), None
    right = COMM.sendrecv(flat[0], (RANK - 1) % SIZE, source=(RANK + 1) % SIZE)
    padded = np.concatenate([[0.0 if RANK == 0 else left], flat, [0.0 if RANK == SIZE - 1 else right]])
    result[...] = 2 * padded[1:-1] - padded[:-2] - padded[2:]


def parts(matrix: scipy.sparse.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return matrix.data, matrix.indices, matrix.indptr


def dense(matrix: PETSc.Mat) -> np.ndarray:
    """Give this rank's rows by products with unit vectors."""
    x, y = matrix.createVecs()
    columns = []
    for column in range(matrix.getSize()[1]):
        x.set(0.0)
        if x.getOwnershipRange()[0] <= column < x.getOwnershipRange()[1]:
            x.setValue(column, 1.0)
        x.assemble()
        matrix.mult(x, y)
        columns.append(y.array_r.copy())
    return np.array(columns).T


# --- CSR --------------------------------------------------------------------------------------------------------------


def test_csr_arrays_become_a_matrix() -> None:
    rows = laplacian()
    matrix = csr_matrix(*parts(rows))
    assert matrix.getType() == ("seqaij" if SIZE == 1 else "mpiaij")
    assert matrix.getSizes() == ((N, N * SIZE), (N, N * SIZE))
    np.testing.assert_array_equal(dense(matrix), rows.toarray())


def test_values_are_shared_on_one_rank_and_copied_once_on_several() -> None:
    rows = laplacian()
    with xp.profiling.count_transfers() as counter:
        matrix = csr_matrix(*parts(rows))
    assert [(event.kind, event.nbytes) for event in counter.events] == (
        [] if SIZE == 1 else [("device_copy", rows.data.nbytes)]
    )
    rows.data *= 3
    mark_modified(matrix)
    np.testing.assert_array_equal(dense(matrix), rows.toarray() if SIZE == 1 else laplacian().toarray())
    with xp.profiling.count_transfers() as counter:
        update_values(matrix, rows.data)
    np.testing.assert_array_equal(dense(matrix), rows.toarray())
    assert counter.device_copies == (SIZE > 1)


def test_a_copy_is_the_matrix_s_own() -> None:
    rows = laplacian()
    rows.data.flags.writeable = False
    matrix = csr_matrix(*parts(rows), copy=True)
    matrix.scale(2.0)
    np.testing.assert_array_equal(rows.toarray(), laplacian().toarray())
    np.testing.assert_array_equal(dense(matrix), 2 * laplacian().toarray())


def test_memory_of_a_matrix_lives_as_long_as_petsc_uses_it() -> None:
    class Noticed(np.ndarray):
        pass

    data = np.ones(1).view(Noticed)
    alive = weakref.ref(data)
    matrix = csr_matrix(data, [0], [0, 1], MPI.COMM_SELF)
    ksp = PETSc.KSP().create(MPI.COMM_SELF)
    ksp.setOperators(matrix)
    matrix.setAttr("__csr__", None)
    del matrix, data
    gc.collect()
    assert alive() is not None
    ksp.destroy()
    PETSc.garbage_cleanup(PETSc.COMM_SELF)
    gc.collect()
    assert alive() is None


def test_solutions_follow_new_values() -> None:
    rows = laplacian()
    matrix = csr_matrix(*parts(rows))
    first = ksp_solve(matrix, np.ones(N), preconditioner="jacobi", rtol=1e-12)
    update_values(matrix, 4 * rows.data)
    second = ksp_solve(matrix, np.ones(N), preconditioner="jacobi", rtol=1e-12)
    np.testing.assert_allclose(4 * second.x, first.x, rtol=1e-9)


@several
def test_wrong_values_on_one_rank_are_refused_on_all() -> None:
    matrix = csr_matrix(*parts(laplacian()))
    with pytest.raises(ArgumentError, match="refused on rank 1 of"):
        update_values(matrix, np.ones(1) if RANK == 1 else laplacian().data)


@settings(max_examples=40 if SIZE == 1 else 10, derandomize=True)  # all ranks draw the same
@given(st.data())
def test_any_pattern(data) -> None:
    shape = COMM.bcast((data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5))))
    seed = COMM.bcast(data.draw(st.integers(0, 2**32 - 1)))
    local, columns = shape
    draw = np.random.default_rng(seed + RANK)
    rows = scipy.sparse.csr_array(draw.integers(0, 3, (local, columns * SIZE)).astype(float))
    kind = draw.choice([np.int32, np.int64, np.uint16])
    matrix = csr_matrix(rows.data, rows.indices.astype(kind), rows.indptr.astype(kind).tolist(), COMM, columns=columns)
    if columns * SIZE:
        np.testing.assert_array_equal(dense(matrix), rows.toarray())
    expected = 2 * np.sqrt(COMM.allreduce(float((rows.data**2).sum())))
    update_values(matrix, 2 * rows.data)
    assert matrix.norm(PETSc.NormType.NORM_FROBENIUS) == pytest.approx(expected)
    matrix.destroy()


def test_what_is_no_csr_matrix_is_refused() -> None:
    one, two = np.ones(1), np.ones(2)
    read_only = np.ones(1)
    read_only.flags.writeable = False
    for arguments, text in (
        (([1.0], [0], [0, 1]), "'data' must be a NumPy or CuPy array"),
        ((np.ones(1, np.float32), [0], [0, 1]), "'data' must have PETSc's scalar type, float64"),
        ((np.ones((1, 1)), [0], [0, 1]), r"'data' must have 1 dimension"),
        ((read_only, [0], [0, 1]), "'data' is read-only"),
        ((one, [0.5], [0, 1]), "'indices' must have an integer dtype"),
        ((one, [0, 1], [0, 1]), "a column for each of the 1 entries"),
        ((one, [0], [0, 2]), "'indptr' must begin with 0"),
        ((one, [0], []), "'indptr' must begin with 0"),
        ((two, [0, 1], [0, 3, 2]), "'indptr' must begin with 0"),
        ((two, [1, 0], [0, 2]), "in row 0 column 0 follows 1"),
        ((two, [0, 0], [0, 2]), "each column may be there once"),
        ((one, [SIZE], [0, 1]), f"holds column {SIZE}, and there are the columns 0 to {SIZE - 1}"),
        ((one, [-1], [0, 1]), "holds column -1"),
    ):
        with pytest.raises(CuNumpyError, match=f"csr_matrix: argument .*{text}"):
            csr_matrix(*arguments)
    with pytest.raises(ArgumentError, match="must divide the numbers of rows and columns, 1 and 1, got 2"):
        csr_matrix(one, [0], [0, 1], block_size=2)
    matrix = csr_matrix(one, [0], [0, 1])
    for data, text in ((np.ones(2), "a value for each of the 1 entries"), ([1.0], "NumPy or CuPy array")):
        with pytest.raises(CuNumpyError, match=text):
            update_values(matrix, data)
    with pytest.raises(ArgumentTypeError, match=r"a PETSc\.Mat made by csr_matrix"):
        update_values(PETSc.Mat().createAIJ(1), one)


def test_block_size_of_a_matrix() -> None:
    columns = list(range(2 * SIZE))
    for copy in (False, True):
        matrix = csr_matrix(np.ones(4 * SIZE), columns * 2, [0, 2 * SIZE, 4 * SIZE], block_size=2, copy=copy)
        assert matrix.getBlockSize() == 2
        np.testing.assert_array_equal(dense(matrix), np.ones((2, 2 * SIZE)))


# --- shell matrices ---------------------------------------------------------------------------------------------------


def test_a_function_is_a_matrix() -> None:
    matrix = shell_matrix(second_difference, (2, N // 2), symmetric=True, diagonal=2.0)
    np.testing.assert_allclose(dense(matrix), laplacian().toarray())
    x, y = matrix.createVecs()
    x.setRandom()
    matrix.multTranspose(x, y)
    assert y.dot(x) == pytest.approx(x.dot(y))
    assert matrix.getDiagonal().sum() == 2 * N * SIZE


def test_arrays_have_the_shapes_that_were_asked_for() -> None:
    seen = []

    def widen(x, out):
        seen.append((x.shape, x.flags.writeable, out.shape))
        out[...] = x[0, 0]

    def narrow(x, out):
        seen.append((x.shape, x.flags.writeable, out.shape))
        out[...] = x.sum()

    matrix = shell_matrix(widen, (1, 2), output_shape=3, transpose=narrow)
    x, y = matrix.createVecs()
    x.set(1.0)
    matrix.mult(x, y)
    matrix.multTranspose(y, x)
    assert seen == [((1, 2), False, (3,)), ((3,), False, (1, 2))]
    assert petsc_array(x).tolist() == [3.0, 3.0]


def test_what_is_no_operator_is_refused() -> None:
    for arguments, options, text in (
        ((None, 3), {}, "argument 'apply' must be a function"),
        ((second_difference, 1.5), {}, "argument 'shape' must be an integer"),
        ((second_difference, -1), {}, "must be at least 0, got -1"),
        ((second_difference, 3), {"diagonal": np.ones(2)}, r"an element for each of \(3,\)"),
        ((second_difference, 3), {"backend": "torch"}, "'numpy' or 'cupy'"),
        ((second_difference, 3), {"output_shape": 2, "symmetric": True}, "which is none"),
        ((second_difference, 3), {"transpose": 1}, "argument 'transpose' must be a function"),
    ):
        with pytest.raises(CuNumpyError, match=f"shell_matrix: argument .*{text}|{text}"):
            shell_matrix(*arguments, **options)
    matrix = shell_matrix(lambda x, out: 2 * x, N)
    x, y = matrix.createVecs()
    with pytest.raises(PETSc.Error) as caught:
        matrix.mult(x, y)
    assert "its result is what it writes" in str(caught.value.__cause__)
    plain = shell_matrix(second_difference, N)
    for missing, text in (
        (lambda: plain.multTranspose(*plain.createVecs()), "pass transpose=function"),
        (lambda: plain.getDiagonal(), "pass diagonal=,"),
    ):
        with pytest.raises(PETSc.Error) as caught:
            missing()
        assert text in str(caught.value.__cause__)


@pytest.mark.parametrize(
    "diagonal", [2, 2.0, np.float32(2), np.full(N, 2.0), np.full((2, N // 2), 2), lambda d: d.fill(2.0)], ids=repr
)
def test_diagonals_of_each_kind(diagonal) -> None:
    matrix = shell_matrix(second_difference, N, diagonal=diagonal)
    assert petsc_array(matrix.getDiagonal()).tolist() == [2.0] * N
    b = np.ones(N)
    for options in ({}, {"preconditioner_matrix": matrix}):
        operator = second_difference if options else matrix
        result = ksp_solve(operator, b, method="cg", preconditioner="jacobi", rtol=1e-12, **options)
        np.testing.assert_allclose(result.x, exact(), rtol=1e-9)


# --- linear solves ----------------------------------------------------------------------------------------------------


def exact() -> np.ndarray:
    """Give this rank's part of the solution for a right-hand side of ones."""
    total = N * SIZE
    whole = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(total, total)).tocsc()
    return scipy.sparse.linalg.spsolve(whole, np.ones(total))[RANK * N : (RANK + 1) * N]


def halve(r, out):
    out[...] = r / 2


@pytest.mark.parametrize("preconditioner", [None, "none", halve], ids=str)
@pytest.mark.parametrize("method", [None, "cg"])
def test_a_function_is_solved_with(method, preconditioner) -> None:
    b = np.ones((2, N // 2))
    start = b.copy()
    result = ksp_solve(second_difference, b, method=method, preconditioner=preconditioner, rtol=1e-12)
    assert result.converged
    # After as many iterations as there are unknowns, rounding can leave no residual at all, which is below any `atol`.
    assert result.reason == ("CONVERGED_RTOL" if result.residual_norm > 0 else "CONVERGED_ATOL")
    assert result.x.shape == b.shape
    np.testing.assert_allclose(result.x.reshape(-1), exact(), rtol=1e-9)
    np.testing.assert_array_equal(b, start)
    assert len(result.history) == result.iterations + 1
    assert result.history[-1] == result.residual_norm


def test_a_matrix_prepares_the_preconditioner_of_a_function() -> None:
    matrix = csr_matrix(*parts(laplacian()))
    result = ksp_solve(
        second_difference, np.ones(N), method="cg", preconditioner="gamg", preconditioner_matrix=matrix, rtol=1e-12
    )
    assert result.converged
    np.testing.assert_allclose(result.x, exact(), rtol=1e-9)


def test_vectors_in_vectors_out() -> None:
    b = petsc_vec(np.ones(N))
    result = ksp_solve(csr_matrix(*parts(laplacian())), b, method="cg", preconditioner="jacobi", rtol=1e-12)
    assert isinstance(result.x, PETSc.Vec)
    np.testing.assert_allclose(petsc_array(result.x), exact(), rtol=1e-9)
    again = ksp_solve(second_difference, b, result.x, method="cg", rtol=1e-5)
    assert again.iterations == 0


def test_a_start_saves_iterations_and_is_not_changed() -> None:
    start = exact()
    result = ksp_solve(second_difference, np.ones(N), start, method="cg", atol=1e-8)
    assert result.iterations == 0
    assert result.converged
    assert result.x is not start
    np.testing.assert_array_equal(result.x, start)


def test_a_start_may_have_any_layout() -> None:
    start = np.repeat(exact(), 2)[::2]
    assert ksp_solve(second_difference, np.ones(N), start, method="cg", atol=1e-8).iterations == 0
    assert snes_solve(cubic, np.repeat(np.ones(N), 3)[::3]).converged


def test_nothing_of_a_solve_is_left() -> None:
    class Noticed(np.ndarray):
        pass

    class Operator:
        def __call__(self, x, out):
            second_difference(x, out)

    for solve in (
        lambda operator, b: ksp_solve(operator, b, method="cg", monitor=lambda *values: None),
        lambda operator, b: ksp_solve(second_difference, b, method="cg", preconditioner=operator),
        lambda operator, b: snes_solve(operator, b, preconditioner=operator),
        lambda operator, b: snes_solve(second_difference, b, jacobian=lambda x, v, out: operator(v, out)),
    ):
        b, operator = np.ones(N).view(Noticed), Operator()
        alive = [weakref.ref(b), weakref.ref(operator)]
        solve(operator, b)
        del b, operator
        gc.collect()
        assert [reference() for reference in alive] == [None, None]


def test_a_solver_is_used_again() -> None:
    ksp = PETSc.KSP().create(COMM)
    ksp.setOperators(shell_matrix(second_difference, N, symmetric=True, diagonal=2.0))
    ksp.setType("cg")
    ksp.getPC().setType("jacobi")
    pc = ksp.getPC()
    for _ in range(2):
        result = ksp_solve(ksp, np.ones(N), rtol=1e-12)
        np.testing.assert_allclose(result.x, exact(), rtol=1e-9)
    assert ksp.getPC() == pc


def test_a_preconditioner_object() -> None:
    pc = shell_preconditioner(halve, shape=(N,))
    result = ksp_solve(csr_matrix(*parts(laplacian())), np.ones(N), method="cg", preconditioner=pc, rtol=1e-12)
    np.testing.assert_allclose(result.x, exact(), rtol=1e-9)


def test_what_is_no_preconditioner_is_refused() -> None:
    for arguments, options, text in (
        ((3,), {}, "shell_preconditioner: argument 'apply' must be a function"),
        ((halve,), {"shape": 2.5}, "shell_preconditioner: argument 'shape' must be an integer"),
        ((halve,), {"shape": (2, -1)}, "shell_preconditioner: argument 'shape' must be at least 0, got -1"),
    ):
        with pytest.raises(CuNumpyError, match=text):
            shell_preconditioner(*arguments, **options)
    misfit = shell_preconditioner(halve, shape=(5, 5))
    with pytest.raises(ValueError, match="reshape"):
        ksp_solve(second_difference, np.ones(N), preconditioner=misfit)


def test_what_does_not_converge_says_so() -> None:
    result = ksp_solve(second_difference, np.ones(N), method="cg", max_iterations=2, rtol=1e-12)
    assert not result.converged
    assert result.reason == "DIVERGED_MAX_IT"
    assert result.iterations == 2


def test_nan_never_counts_as_converged() -> None:
    def broken(x, out):
        out[...] = np.nan

    for method in ("cg", "gmres"):
        result = ksp_solve(broken, np.ones(N), method=method)
        assert not result.converged


def test_options_have_the_last_word() -> None:
    options = PETSc.Options()
    options["mine_ksp_max_it"] = 1
    try:
        result = ksp_solve(second_difference, np.ones(N), method="cg", max_iterations=50, options_prefix="mine_")
    finally:
        options.delValue("mine_ksp_max_it")
    assert result.iterations == 1


def test_monitors_see_every_iteration() -> None:
    seen = []
    result = ksp_solve(second_difference, np.ones(N), method="cg", monitor=lambda *values: seen.append(values))
    assert [iteration for iteration, _ in seen] == list(range(result.iterations + 1))
    np.testing.assert_array_equal([norm for _, norm in seen], result.history)


@pytest.mark.parametrize("installed", [True, False])
def test_progress_is_shown_on_rank_0(installed, monkeypatch, capfd) -> None:
    if not installed:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    ksp_solve(second_difference, np.ones(N), method="cg", progress=True)
    shown = capfd.readouterr().err
    assert ("KSP" in shown) is (RANK == 0)
    if RANK == 0 and not installed:
        assert re.fullmatch(r"KSP: \d+ iterations, residual \d\.\d{3}e[-+]\d\d, \d\.\d s\n", shown)


# --- errors in functions ----------------------------------------------------------------------------------------------


class Mine(Exception):
    pass


def fails(x, out):
    if RANK == SIZE - 1:
        raise Mine("in the user's function")
    out[...] = x


@pytest.mark.parametrize("method", ["cg", "gmres", "bcgs"])
def test_an_error_of_a_function_ends_the_solve_on_all_ranks(method) -> None:
    for solve in (
        lambda: ksp_solve(fails, np.ones(N), method=method),
        lambda: ksp_solve(lambda x, out: np.copyto(out, x), np.ones(N), method=method, preconditioner=fails),
        lambda: ksp_solve(shell_matrix(fails, N), np.ones(N), method=method, preconditioner="none"),
        lambda: ksp_solve(
            shell_matrix(second_difference, N, diagonal=lambda d: fails(d, d)),
            np.ones(N),
            method=method,
            preconditioner="jacobi",
        ),
        lambda: ksp_solve(
            second_difference,
            np.ones(N),
            method=method,
            preconditioner="jacobi",
            preconditioner_matrix=shell_matrix(second_difference, N, diagonal=lambda d: fails(d, d)),
        ),
    ):
        if RANK == SIZE - 1:
            with pytest.raises(Mine, match="in the user's function"):
                solve()
        else:
            with pytest.raises(KernelError, match=f"failed on rank {SIZE - 1} of {SIZE}.*Mine: in the user's function"):
                solve()


FAILING_PROGRAM = """
import numpy as np
from mpi4py import MPI
from cunumpy.petsc import ksp_solve

def operator(x, out):
    if MPI.COMM_WORLD.rank == 1:
        raise KeyError("mine")
    out[...] = x

ksp_solve(operator, np.ones(5), method="cg")
"""


@pytest.mark.skipif(SIZE > 1, reason="starts two ranks of its own")
def test_a_program_ends_after_an_error_on_one_rank() -> None:
    mpiexec = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    assert mpiexec
    done = subprocess.run(
        [mpiexec, "-n", "2", sys.executable, "-c", FAILING_PROGRAM],
        env=dict(os.environ),  # as this process was started, without what its own MPI has added
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "KeyError: 'mine'" in done.stderr
    # The two ranks write at the same time, and may do so into each other's lines.
    assert "a function of the solve failed on rank 1 of 2" in done.stderr


def test_a_matrix_works_again_after_an_error() -> None:
    broken = [True]

    def operator(x, out):
        if broken:
            raise Mine
        second_difference(x, out)

    matrix = shell_matrix(operator, N, symmetric=True)
    with pytest.raises(Mine):
        ksp_solve(matrix, np.ones(N), method="cg", preconditioner="none")
    broken.clear()
    x, y = matrix.createVecs()
    x.set(1.0)
    matrix.mult(x, y)
    assert y.sum() == 2.0
    assert ksp_solve(matrix, np.ones(N), method="cg", preconditioner="none").converged


def test_a_solve_may_be_within_another_with_the_same_matrix() -> None:
    applied, limit = [], {"calls": -1}

    def operator(x, out):
        applied.append(1)
        second_difference(x, out)
        if len(applied) == limit["calls"] and RANK == SIZE - 1:
            raise Mine

    matrix = shell_matrix(operator, N, symmetric=True)

    def inner(r, out):
        out[...] = ksp_solve(matrix, r.copy(), method="cg", preconditioner="none", max_iterations=2).x

    b = np.ones(N)
    result = ksp_solve(matrix, b, method="fgmres", preconditioner=inner, rtol=1e-12)
    np.testing.assert_allclose(result.x, exact(), rtol=1e-9)
    for limit["calls"] in range(1, len(applied) + 1):  # in the inner solve and in the outer one
        applied.clear()
        with pytest.raises(Mine if RANK == SIZE - 1 else KernelError):
            ksp_solve(matrix, b, method="fgmres", preconditioner=inner, rtol=1e-12)
    limit["calls"] = -1
    assert ksp_solve(matrix, b, method="fgmres", preconditioner=inner, rtol=1e-12).converged


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_the_end_of_a_program_ends_a_solve(kind) -> None:
    """What is no `Exception` comes out as it is, too: on its own rank, while the others are told."""

    def ends(*arrays):
        if RANK == SIZE - 1:
            raise kind
        arrays[-1][...] = arrays[0]

    for solve in (lambda: ksp_solve(ends, np.ones(N)), lambda: snes_solve(ends, np.ones(N))):
        with pytest.raises(kind if RANK == SIZE - 1 else KernelError):
            solve()


@pytest.mark.parametrize("kind", [ArithmeticError, KeyboardInterrupt])
@pytest.mark.parametrize("method", ["cg", "gmres", "minres"])
def test_an_error_of_a_monitor_ends_the_solve(method, kind) -> None:
    """Soon, where the solve calls functions; and all that the user has can be used again."""
    seen, applied = [], []

    def monitor(iteration, norm):
        seen.append(iteration)
        if iteration == 1 and RANK == SIZE - 1:
            raise kind

    def operator(x, out):
        applied.append(1)
        second_difference(x, out)

    b, x0 = petsc_vec(np.ones(N)), petsc_vec(np.full(N, 0.3))
    expected = kind if RANK == SIZE - 1 else KernelError
    with pytest.raises(expected):
        ksp_solve(operator, b, x0, method=method, monitor=monitor)
    assert len(applied) <= 4
    matrix = csr_matrix(*parts(laplacian()))
    seen.clear()
    with pytest.raises(expected):
        ksp_solve(matrix, b, method=method, preconditioner="none", monitor=monitor)
    seen.clear()
    with pytest.raises(expected):
        snes_solve(cubic, np.full(N, 10.0), linear_method=method, monitor=monitor)
    assert RANK != SIZE - 1 or seen == [0, 1]
    b.scale(2.0)
    x0.scale(2.0)
    for each in (second_difference, matrix):
        result = ksp_solve(each, b, x0, method=method, preconditioner="none", rtol=1e-12)
        np.testing.assert_allclose(petsc_array(result.x), 2 * exact(), rtol=1e-9)


def test_an_error_is_not_hidden_by_what_is_destroyed_after_it() -> None:
    """PETSc leaves a vector locked when a preconditioner fails to prepare itself, and refuses to destroy it."""

    class Failing:
        def setUp(self, pc):
            raise Mine

        def apply(self, pc, r, z):
            r.copy(z)

    pc = PETSc.PC().createPython(Failing(), comm=COMM)
    with pytest.raises(PETSc.Error) as caught:
        ksp_solve(second_difference, np.ones(N), preconditioner=pc)
    assert isinstance(caught.value.__cause__, Mine)


def test_what_can_not_be_solved_is_refused() -> None:
    b = np.ones(N)
    for arguments, options, text in (
        ((3, b), {}, "'operator' must be a function"),
        ((second_difference, [1.0]), {}, "'b' must be a NumPy or CuPy array"),
        ((second_difference, b.astype(np.float32)), {}, "ksp_solve: argument 'b' must have PETSc's scalar type"),
        ((second_difference, np.ones(2 * N)[::2]), {}, "ksp_solve: argument 'b' must be C-contiguous"),
        ((second_difference, b, b.astype(int)), {}, "ksp_solve: argument 'x0' must have PETSc's scalar type"),
        ((second_difference, b, np.ones(2)), {}, r"'x0' must have the shape of 'b', \(6,\), got \(2,\)"),
        ((second_difference, b, petsc_vec(b)), {}, "must both be arrays, or both be vectors"),
        ((second_difference, b), {"preconditioner": "jacobi"}, "is 'jacobi', which looks into a matrix"),
        ((second_difference, b), {"preconditioner": 3}, "the name of a PETSc type, a function"),
        ((second_difference, b), {"preconditioner_matrix": 3}, "must be a PETSc.Mat"),
        ((second_difference, b), {"monitor": 3}, "'monitor' must be a function"),
        ((second_difference, b), {"method": 3}, "ksp_solve: argument 'method' must be a text, .*, got 3"),
        ((second_difference, b), {"options_prefix": 3}, "ksp_solve: argument 'options_prefix' must be a text"),
        ((second_difference, b), {"rtol": -1}, "ksp_solve: argument 'rtol' must be 0 or positive and below 1, got -1"),
        ((second_difference, b), {"rtol": 1.0}, "'rtol' must be 0 or positive and below 1"),
        ((second_difference, b), {"rtol": np.nan}, "'rtol' must be 0 or positive and below 1"),
        ((second_difference, b), {"atol": -1e-9}, "'atol' must be 0 or positive and finite"),
        ((second_difference, b), {"atol": "1"}, "'atol' must be a real number"),
        ((second_difference, b), {"max_iterations": -1}, "'max_iterations' must be from 0 to 2147483647, got -1"),
        ((second_difference, b), {"max_iterations": 2.5}, "'max_iterations' must be an integer, got float"),
        ((PETSc.Mat(), b), {}, "'operator' is a matrix without content: created empty or destroyed"),
        ((PETSc.KSP(), b), {}, "'operator' is a solver without content"),
        ((second_difference, PETSc.Vec()), {}, "'b' is a vector without content"),
        ((second_difference, b), {"preconditioner": PETSc.PC()}, "'preconditioner' is a preconditioner without"),
        ((second_difference, b), {"preconditioner_matrix": PETSc.Mat()}, "'preconditioner_matrix' is a matrix without"),
        ((PETSc.KSP().create(COMM), b), {}, "has no matrix"),
        ((csr_matrix(*parts(laplacian())), np.ones(2)), {}, f"has 2 elements on this rank, and the matrix {N} rows"),
    ):
        with pytest.raises(CuNumpyError, match=text):
            ksp_solve(*arguments, **options)


# --- nonlinear solves -------------------------------------------------------------------------------------------------


def cubic(x, out):
    second_difference(x, out)
    out += x**3 - 1


def cubic_product(x, v, out):
    second_difference(v, out)
    out += 3 * x**2 * v


def cubic_with_matrix():
    rows = laplacian()
    matrix = csr_matrix(*parts(rows.copy()), copy=True)
    diagonal = rows.indices == np.repeat(np.arange(N) + RANK * N, np.diff(rows.indptr))

    def update(x):
        values = rows.data.copy()
        values[diagonal] += 3 * x.reshape(-1) ** 2
        update_values(matrix, values)

    return matrix, update


@pytest.mark.parametrize("jacobian", [lambda: None, lambda: cubic_product, cubic_with_matrix])
def test_roots_with_each_kind_of_jacobian(jacobian) -> None:
    start = np.ones((2, N // 2))
    seen = []
    result = snes_solve(cubic, start, jacobian=jacobian(), rtol=1e-10, monitor=lambda *values: seen.append(values))
    assert result.converged, result
    assert (start == 1).all()
    residual = np.empty_like(result.x)
    cubic(result.x, residual)
    assert abs(residual).max() < 1e-8
    assert result.x.shape == start.shape
    assert result.linear_iterations >= result.iterations > 0
    assert [iteration for iteration, _ in seen] == list(range(result.iterations + 1))
    assert len(result.history) == result.iterations + 1


def test_nonlinear_solves_take_vectors_and_preconditioners() -> None:
    result = snes_solve(cubic, petsc_vec(np.ones(N)), linear_method="cg", preconditioner=halve, progress=True)
    assert result.converged
    assert isinstance(result.x, PETSc.Vec)


@pytest.mark.parametrize("jacobian", [None, fails, "product"])
def test_an_error_of_a_nonlinear_function_ends_the_solve_on_all_ranks(jacobian) -> None:
    def failing_product(x, v, out):
        fails(v, out)

    function = fails if jacobian is None else cubic
    product = failing_product if jacobian == "product" else None
    preconditioner = fails if jacobian is fails else None
    expected = Mine if RANK == SIZE - 1 else KernelError
    with pytest.raises(expected):
        snes_solve(function, np.ones(N), jacobian=product, preconditioner=preconditioner)


def test_what_has_no_root_to_be_found_is_refused() -> None:
    x0 = np.ones(N)
    small = csr_matrix(np.ones(1), [RANK], [0, 1])
    for arguments, options, text in (
        ((3, x0), {}, "snes_solve: argument 'function' must be a function"),
        ((cubic, [1.0]), {}, "'x0' must be a NumPy or CuPy array"),
        ((cubic, PETSc.Vec()), {}, "'x0' is a vector without content"),
        ((cubic, x0), {"jacobian": 3}, "'jacobian' must be a function"),
        ((cubic, x0), {"jacobian": (PETSc.Mat(), print)}, r"'jacobian\[0\]' is a matrix without content"),
        (
            (cubic, x0),
            {"jacobian": (small, print)},
            "'x0' has 6 elements on this rank, and the matrix 1 rows and 1 col",
        ),
        ((cubic, x0), {"linear_method": 3}, "'linear_method' must be a text"),
        ((cubic, x0), {"stol": -1.0}, "snes_solve: argument 'stol' must be 0 or positive and finite"),
        ((cubic, x0), {"max_iterations": 1.0}, "snes_solve: argument 'max_iterations' must be an integer"),
    ):
        with pytest.raises(CuNumpyError, match=text):
            snes_solve(*arguments, **options)


def test_a_function_without_a_root_does_not_converge() -> None:
    result = snes_solve(lambda x, out: np.copyto(out, x**2 + 1), np.full(N, 3.0), max_iterations=8)
    assert not result.converged
    assert result.reason.startswith("DIVERGED")
    with pytest.raises(ArgumentTypeError, match=r"a function jacobian\(x, v, out\), or a PETSc.Mat and a function"):
        snes_solve(cubic, np.ones(N), jacobian=3)
