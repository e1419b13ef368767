"""``cupyx.scipy.sparse``: matrices of device arrays, computed with by SciPy on the buffers.

Loaded when it is first used, since it imports SciPy. What CuPy refuses is refused: lists and host arrays, element
types other than bool and the four of cuSPARSE, conversions that it lacks.
"""

from __future__ import annotations

from typing import Any

from . import base, construction, formats, functions, storage

_CONTENTS: tuple[Any, ...] = (
    storage.SparseEfficiencyWarning,
    storage.SparseWarning,
    storage.issparse,
    storage.sparray,
    base.spmatrix,
    formats.coo_array,
    formats.coo_matrix,
    formats.csc_array,
    formats.csc_matrix,
    formats.csr_array,
    formats.csr_matrix,
    formats.dia_array,
    formats.dia_matrix,
    construction.block_array,
    construction.block_diag,
    construction.bmat,
    construction.diags,
    construction.diags_array,
    construction.eye,
    construction.eye_array,
    construction.hstack,
    construction.identity,
    construction.kron,
    construction.kronsum,
    construction.rand,
    construction.random,
    construction.random_array,
    construction.spdiags,
    construction.vstack,
    functions.find,
    functions.get_index_dtype,
    functions.isspmatrix,
    functions.isspmatrix_coo,
    functions.isspmatrix_csc,
    functions.isspmatrix_csr,
    functions.isspmatrix_dia,
    functions.matrix_transpose,
    functions.permute_dims,
    functions.safely_cast_index_arrays,
    functions.swapaxes,
    functions.tril,
    functions.triu,
)
for _one in _CONTENTS:
    if _one not in (storage.SparseWarning, storage.SparseEfficiencyWarning):
        _one.__module__ = "cupyx.scipy.sparse"


def contents() -> dict[str, Any]:
    """Return the contents of ``cupyx.scipy.sparse``."""
    return {one.__name__: one for one in _CONTENTS}
