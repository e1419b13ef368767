"""Functions that make matrices: of diagonals, random ones, of blocks, Kronecker products."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from cunumpy.kernel_testing._fake_cupy.array_base import used, wrap
from cunumpy.kernel_testing._fake_cupy.ndarray import ndarray
from cunumpy.kernel_testing._fake_cupy.random import RandomState, get_random_state

from .formats import coo_array, coo_matrix, dia_matrix
from .storage import on_device, operand


def formatted(host: Any, format: str | None, *sources: Any) -> Any:
    """Return a matrix in a format that CuPy can convert it to."""
    return on_device(host, *sources).asformat(format)


def eye(m: int, n: int | None = None, k: int = 0, dtype: Any = "d", format: str | None = None) -> Any:
    """Return a matrix with ones on a diagonal."""
    return formatted(scipy.sparse.eye(m, n, k, dtype=dtype, format=format or "dia"), format)


def identity(n: int, dtype: Any = "d", format: str | None = None) -> Any:
    """Return the identity."""
    return eye(n, n, dtype=dtype, format=format)


def eye_array(m: int, n: int | None = None, *, k: int = 0, dtype: Any = float, format: str | None = None) -> Any:
    """Return an array with ones on a diagonal."""
    return formatted(scipy.sparse.eye_array(m, n, k=k, dtype=dtype, format=format or "dia"), format)


def spdiags(data: Any, diags: Any, m: int, n: int, format: str | None = None) -> Any:
    """Return a matrix of diagonals that lie in the rows of an array."""
    return dia_matrix((data, diags), shape=(m, n)).asformat(format)


def diags(diagonals: Any, offsets: Any = 0, shape: Any = None, format: str | None = None, dtype: Any = None) -> Any:
    """Return a matrix of diagonals."""
    return _diagonals(scipy.sparse.diags, diagonals, offsets, shape, format, dtype)


def diags_array(
    diagonals: Any, /, *, offsets: Any = 0, shape: Any = None, format: str | None = None, dtype: Any = None
) -> Any:
    """Return an array of diagonals."""
    return _diagonals(scipy.sparse.diags_array, diagonals, offsets, shape, format, dtype)


def _diagonals(make: Any, diagonals: Any, offsets: Any, shape: Any, format: str | None, dtype: Any) -> Any:
    one = isinstance(offsets, (int, np.integer))
    if one and not (len(diagonals) and np.ndim(on_host(diagonals[0]))):
        diagonals = [diagonals]
    parts = [np.atleast_1d(on_host(diagonal)) for diagonal in diagonals]
    dtype = np.common_type(*parts) if dtype is None else dtype
    made = make(parts, offsets=[offsets] if one else on_host(offsets), shape=shape, format="dia", dtype=dtype)
    return formatted(made, format)


def on_host(value: Any) -> Any:
    """Return the buffer of a device array, and any other value itself."""
    return used(value) if isinstance(value, ndarray) else value


def random(
    m: int,
    n: int,
    density: float = 0.01,
    format: str = "coo",
    dtype: Any = None,
    random_state: Any = None,
    data_rvs: Any = None,
) -> Any:
    """Return a matrix with random elements at random places."""
    if not 0 <= density <= 1:
        raise ValueError("density expected to be 0 <= density <= 1")
    dtype = np.dtype(dtype)
    if dtype.char not in "fd":
        raise NotImplementedError(f"type {dtype} not supported")
    if random_state is None:
        random_state = get_random_state()
    elif isinstance(random_state, (int, np.integer)):
        random_state = RandomState(random_state)
    count = int(density * m * n)
    places = random_state.choice(m * n, size=count, replace=False)._buffer
    values = (data_rvs or random_state.rand)(count).astype(dtype)
    row, col = places % m, places // m
    return coo_matrix((values, (wrap(row), wrap(col))), shape=(m, n)).asformat(format)


def rand(
    m: int, n: int, density: float = 0.01, format: str = "coo", dtype: Any = None, random_state: Any = None
) -> Any:
    """Return a matrix with elements from [0, 1) at random places."""
    return random(m, n, density, format, dtype, random_state)


def random_array(
    shape: Any,
    *,
    density: float = 0.01,
    format: str = "coo",
    dtype: Any = None,
    rng: Any = None,
    data_sampler: Any = None,
) -> Any:
    """Return an array with random elements at random places."""
    rows, columns = (1, *shape) if len(shape) == 1 else shape
    made = random(rows, columns, density, "coo", dtype, rng, data_sampler)
    if len(shape) == 1:
        return coo_array((made.data, (made.col,)), shape=shape).asformat(format)
    return coo_array(made).asformat(format)


def _blocks(blocks: Any) -> Any:
    return [[None if block is None else operand(block) for block in row] for row in blocks]


def bmat(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return a matrix of blocks."""
    return formatted(scipy.sparse.bmat(_blocks(blocks), dtype=dtype), format)


def block_array(blocks: Any, *, format: str | None = None, dtype: Any = None) -> Any:
    """Return an array of blocks."""
    return formatted(scipy.sparse.block_array(_blocks(blocks), dtype=dtype), format)


def hstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return matrices side by side."""
    return formatted(scipy.sparse.hstack([operand(block) for block in blocks], dtype=dtype), format)


def vstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return matrices below each other."""
    return formatted(scipy.sparse.vstack([operand(block) for block in blocks], dtype=dtype), format)


def block_diag(mats: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return a matrix with blocks on its diagonal; lists and scalars are blocks, too."""
    parts = [block if isinstance(block, (list, tuple)) else operand(block) for block in mats]
    return formatted(scipy.sparse.block_diag(parts, dtype=dtype), format)


def kron(A: Any, B: Any, format: str | None = None) -> Any:
    """Return the Kronecker product."""
    return formatted(scipy.sparse.kron(operand(A), operand(B), "coo"), format)


def kronsum(A: Any, B: Any, format: str | None = None) -> Any:
    """Return the Kronecker sum."""
    return formatted(scipy.sparse.kronsum(operand(A), operand(B), "csr"), format)
