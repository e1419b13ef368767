"""Ghost cells of blocks, against the whole array in one piece, on any number of ranks."""

from __future__ import annotations

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.errors import ArgumentError, ArgumentTypeError, CommunicationError
from mpi_under_test import MPI

WORLD = MPI.COMM_WORLD


def blocks(grid, whole, width):
    """Return the block of this process with empty ghost cells, and as they should be."""
    dims, periods, coords = grid.Get_topo()
    padded = whole
    for axis, periodic in enumerate(periods):
        widths = [(0, 0)] * whole.ndim
        widths[axis] = (width[axis], width[axis])
        mode = {"mode": "wrap"} if periodic else {"mode": "constant", "constant_values": -1}
        padded = np.pad(padded, widths, **mode)
    own = [n // d for n, d in zip(whole.shape, dims, strict=False)]
    where = tuple(slice(c * n, c * n + n + 2 * w) for c, n, w in zip(coords, own, width, strict=True))
    expected = padded[where]
    block = np.full(expected.shape, -1, whole.dtype)
    inner = tuple(slice(w, w + n) for w, n in zip(width, own, strict=True))
    block[inner] = expected[inner]
    return block, expected


@pytest.mark.parametrize("periods", [[True, True, True], [False, False, False], [True, False, True]])
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_faces_edges_and_corners(ndim, periods):
    grid = WORLD.Create_cart(MPI.Compute_dims(WORLD.size, ndim), periods[:ndim])
    width = [2, 1, 3][:ndim]
    whole = np.arange(float(np.prod([12, 8, 12][:ndim]))).reshape([12, 8, 12][:ndim])
    for order in "CF":
        block, expected = blocks(grid, whole, width)
        block = np.asarray(block, order=order)
        xp.mpi.exchange_ghosts(grid, block, width)
        np.testing.assert_array_equal(block, expected)
    grid.Free()


def test_components_and_axes():
    grid = WORLD.Create_cart([WORLD.size], [True])
    whole = np.arange(8.0 * 3).reshape(8, 3)
    block, expected = blocks(grid, whole, [1])
    xp.mpi.exchange_ghosts(grid, block)
    np.testing.assert_array_equal(block, expected)
    turned = np.ascontiguousarray(blocks(grid, whole, [1])[0].T)
    xp.mpi.exchange_ghosts(grid, turned, [1], axes=[-1])
    np.testing.assert_array_equal(turned, expected.T)
    grid.Free()


def test_no_layers_change_nothing():
    grid = WORLD.Create_cart([WORLD.size], [True])
    block = np.arange(4.0)
    xp.mpi.exchange_ghosts(grid, block, 0)
    np.testing.assert_array_equal(block, np.arange(4.0))
    grid.Free()


def test_arguments_are_checked():
    grid = WORLD.Create_cart([WORLD.size], [True])
    for arguments, text in (
        ((np.zeros(5), 2), "has 5 cells along axis 0, 4 of them ghost cells; its neighbours need 2 own ones"),
        ((np.zeros(5), -1), "'width' holds -1"),
        ((np.zeros(5), [1, 1]), "'width' must have 1 items"),
    ):
        with pytest.raises(ArgumentError, match=text):
            xp.mpi.exchange_ghosts(grid, *arguments)
    for axes in ([0, 1], [3], []):
        with pytest.raises(ArgumentError, match="'axes' must name 1 different axes"):
            xp.mpi.exchange_ghosts(grid, np.zeros(9), axes=axes)
    for arguments, text in (
        ({"width": 1.0}, "'width' must be an integer, or one for each axis, got float"),
        ({"width": [None]}, "'width' must be an integer, or one for each axis"),
        ({"axes": [0.5]}, "'axes' must be an integer, got float"),
        ({"axes": 0}, "'axes' must be a list of axes, got 0"),
    ):
        with pytest.raises(ArgumentTypeError, match=text):
            xp.mpi.exchange_ghosts(grid, np.zeros(5), **arguments)
    xp.mpi.exchange_ghosts(grid, np.zeros(5), np.int64(1), axes=np.array([0]))
    with pytest.raises(ArgumentTypeError, match="must be a Cartesian communicator"):
        xp.mpi.exchange_ghosts(WORLD, np.zeros(5))
    with pytest.raises(ArgumentTypeError, match="'array' must be an array"):
        xp.mpi.exchange_ghosts(grid, [1, 2, 3])
    grid.Free()


def test_all_processes_raise_where_one_is_at_fault():
    grid = WORLD.Create_cart([WORLD.size], [True])
    guilty = WORLD.size - 1
    if grid.rank == guilty:
        with pytest.raises(ArgumentError, match="its neighbours need 2 own ones"):
            xp.mpi.exchange_ghosts(grid, np.zeros(5), 2, check=True)
    else:
        with pytest.raises(CommunicationError, match=f"exchange_ghosts: the arguments on rank {guilty} are at fault"):
            xp.mpi.exchange_ghosts(grid, np.zeros(6), 2, check=True)
    if WORLD.size > 1:
        with pytest.raises(CommunicationError, match="root, operation or width"):
            xp.mpi.exchange_ghosts(grid, np.zeros(6), 1 + int(grid.rank == 0), check=True)
        with pytest.raises(CommunicationError, match="exchange: the messages do not fit"):
            xp.mpi.exchange_ghosts(grid, np.zeros((6, 3 + int(grid.rank == 0))), check=True)
    block = np.full(5, float(grid.rank))
    xp.mpi.exchange_ghosts(grid, block, check=True)
    assert block[0] == (grid.rank - 1) % WORLD.size
    grid.Free()
