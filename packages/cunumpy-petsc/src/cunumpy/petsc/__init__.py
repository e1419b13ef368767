"""PETSc on the memory of arrays: vectors, matrices, and solvers with functions on arrays as operators.

Vectors over NumPy and CuPy arrays share their memory, both ways. petsc4py is loaded on first use.
"""

# ruff: noqa: E402 - what follows needs the versions that are checked first

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core
from cunumpy._installation import require_compatible as _require_compatible

_require_compatible("cunumpy-petsc")

from cunumpy.petsc._access import mark_modified, petsc_access, petsc_array
from cunumpy.petsc._ksp import KSPResult, ksp_solve
from cunumpy.petsc._library import petsc_available
from cunumpy.petsc._matrices import csr_matrix, shell_matrix, update_values
from cunumpy.petsc._preconditioners import shell_preconditioner
from cunumpy.petsc._snes import SNESResult, snes_solve
from cunumpy.petsc._vectors import petsc_vec, place_array, write_back

__all__ = [
    "KSPResult",
    "SNESResult",
    "csr_matrix",
    "ksp_solve",
    "mark_modified",
    "petsc_access",
    "petsc_array",
    "petsc_available",
    "petsc_vec",
    "place_array",
    "shell_matrix",
    "shell_preconditioner",
    "snes_solve",
    "update_values",
    "write_back",
]
