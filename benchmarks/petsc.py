"""What `cunumpy.petsc` costs beside petsc4py itself, where petsc4py is installed: ``python -m benchmarks.petsc``.

Apart from the other rows, because the project's own environment has no PETSc.
"""

from __future__ import annotations

from typing import Any

import mpi4py.MPI
import numpy as np
from petsc4py import PETSc

from benchmarks import _report
from benchmarks._measure import FULL, Effort, Rounds, measure, statement
from benchmarks.rows import Row
from cunumpy import petsc

COMM = mpi4py.MPI.COMM_SELF
SMALL, LARGE = 1000, 100_000


def making_a_vector(effort: Effort) -> Rounds:
    """Make and drop a vector over an array."""
    names: dict[str, Any] = {"petsc_vec": petsc.petsc_vec, "Vec": PETSc.Vec, "a": np.ones(SMALL), "comm": COMM}
    return measure(
        effort,
        statement("petsc_vec(a, comm)", **names),
        statement("Vec().createWithArray(a, comm=comm)", **names),
    )


def placing_an_array(effort: Effort) -> Rounds:
    """Let a vector work on another array, and on its own again."""
    a = np.ones(SMALL)
    names: dict[str, Any] = {"place_array": petsc.place_array, "vec": petsc.petsc_vec(np.ones(SMALL), COMM), "a": a}
    return measure(
        effort,
        statement("with place_array(vec, a): pass", **names),
        statement("vec.placeArray(a); vec.resetArray()", **names),
    )


def reading_an_array(effort: Effort) -> Rounds:
    """Get the array of a vector."""
    names: dict[str, Any] = {"petsc_array": petsc.petsc_array, "vec": petsc.petsc_vec(np.ones(SMALL), COMM)}
    return measure(effort, statement("petsc_array(vec)", **names), statement("vec.getArray()", **names))


def accessing_an_array(effort: Effort) -> Rounds:
    """Enter and leave a block with the array of a vector."""
    names: dict[str, Any] = {"petsc_access": petsc.petsc_access, "vec": petsc.petsc_vec(np.ones(SMALL), COMM)}
    return measure(
        effort,
        statement("with petsc_access(vec): pass", **names),
        statement("with vec.getBuffer(): pass", **names),
    )


class Doubling:
    """The context of a plain shell matrix of petsc4py."""

    def mult(self, matrix: Any, x: Any, y: Any) -> None:
        """Apply it."""
        with x.getBuffer(readonly=True) as values, y.getBuffer() as out:
            np.multiply(values, 2.0, out=out)


def applying_a_function(effort: Effort) -> Rounds:
    """Multiply a shell matrix by a vector."""
    plain = PETSc.Mat().createPython(((SMALL, None), (SMALL, None)), Doubling(), comm=COMM)
    plain.setUp()
    ours = petsc.shell_matrix(lambda x, out: np.multiply(x, 2.0, out=out), SMALL, COMM)
    x, y = ours.createVecs()
    code = "matrix.mult(x, y)"
    return measure(effort, statement(code, matrix=ours, x=x, y=y), statement(code, matrix=plain, x=x, y=y))


def updating_values(effort: Effort) -> Rounds:
    """Replace the values of a tridiagonal matrix that has memory of its own."""
    import scipy.sparse

    rows = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(LARGE, LARGE)).tocsr()
    matrix = petsc.csr_matrix(rows.data, rows.indices, rows.indptr, COMM, copy=True)
    names: dict[str, Any] = {"matrix": matrix, "data": rows.data, "update_values": petsc.update_values}
    names |= {"i": rows.indptr.astype(PETSc.IntType), "j": rows.indices.astype(PETSc.IntType)}
    return measure(
        effort,
        statement("update_values(matrix, data)", **names),
        statement("matrix.setValuesCSR(i, j, data); matrix.assemble()", **names),
    )


ROWS = (
    Row("vec", "`petsc_vec(a)`, 1000 elements", "`Vec().createWithArray(a)`", None, making_a_vector, "us"),
    Row("place", "`place_array`, enter and exit", "`placeArray`, `resetArray`", None, placing_an_array, "us"),
    Row("array", "`petsc_array(vec)`", "`vec.getArray()`", None, reading_an_array, "us"),
    Row("access", "`petsc_access`, enter and exit", "`getBuffer`, enter and exit", None, accessing_an_array, "us"),
    Row("shell", "product of a `shell_matrix`", "of petsc4py's own", None, applying_a_function, "us"),
    Row("update", "`update_values`, 3 × 10^5 entries", "`setValuesCSR`, `assemble`", None, updating_values),
)


if __name__ == "__main__":
    print(_report.machine_text(), end="\n\n")
    results = [_report.Result(row, row.measure(FULL)) for row in ROWS]
    print(_report.markdown_table(results))
    for result in results:
        assert result.rounds is not None
        ours, theirs = (sorted(each)[len(each) // 2] * 1e6 for each in zip(*result.rounds, strict=True))
        print(f"{result.row.name}: {ours:.2f} us, against {theirs:.2f} us")
