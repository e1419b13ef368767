"""Grids and graphs of one process, and exchanges with neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from mpi_under_test import MPI, OPEN_MPI, fails, numbers, serial_only


@pytest.fixture
def grid(comm):
    made = comm.Create_cart([1, 1], periods=[True, False])
    yield made
    made.Free()


def test_making_grids(comm):
    for dims, periods, wraps in (
        ([1], None, [False]),
        ((1, 1, 1), [True, False, True], [True, False, True]),
        ([1, 1], True, [True, True]),
        ([1, 1], False, [False, False]),
        ([], None, []),
    ):
        made = comm.Create_cart(dims, periods, reorder=True) if periods is not None else comm.Create_cart(dims)
        assert isinstance(made, MPI.Cartcomm)
        assert isinstance(made, MPI.Intracomm)
        assert made.Get_dim() == made.dim == made.ndim == len(dims)
        assert made.dims == [1] * len(dims)
        assert made.periods == wraps
        assert made.coords == [0] * len(dims)
        assert made.Get_topo() == made.topo == (made.dims, made.periods, made.coords)
        assert made.Get_topology() == made.topology == MPI.CART
        assert made.is_topo
        made.Free()
        assert made == MPI.COMM_NULL


def test_grids_that_do_not_fit(comm):
    with fails("ARG", "DIMS"):
        comm.Create_cart([2])
    with pytest.raises(ValueError):
        comm.Create_cart([1], periods=[True, True])


@serial_only  # MPICH lets these pass
def test_grids_without_processes(comm):
    for dims in ([0], [-1]):
        with fails("DIMS"):
            comm.Create_cart(dims)


def test_ranks_and_coordinates(grid):
    assert grid.Get_coords(0) == [0, 0]
    assert grid.Get_cart_rank([0, 0]) == 0
    assert grid.Get_cart_rank((5, 0)) == 0  # along a periodic axis
    with fails("ARG", "RANK"):
        grid.Get_cart_rank([0, 1])
    for coords in ([0], [0, 0, 0]):
        with pytest.raises(ValueError):
            grid.Get_cart_rank(coords)


def test_shift(grid):
    assert grid.Shift(0, 1) == (0, 0)
    assert grid.Shift(0, -3) == (0, 0)
    assert grid.Shift(direction=1, disp=1) == (MPI.PROC_NULL, MPI.PROC_NULL)
    assert grid.Shift(1, 0) == (0, 0)
    with fails("DIMS", "ARG"):
        grid.Shift(-1, 1)


@serial_only  # Open MPI lets these pass
def test_axes_and_ranks_that_are_not_there(grid):
    with fails("DIMS"):
        grid.Shift(2, 1)
    with fails("RANK"):
        grid.Get_coords(1)


def test_parts_and_copies(grid):
    part = grid.Sub([True, False])
    assert (part.dims, part.periods) == ([1], [True])
    none = grid.Sub([False, False])
    assert none.dim == 0
    copy = grid.Dup()
    assert isinstance(copy, MPI.Cartcomm)
    assert copy.periods == [True, False]
    assert grid.Cart_map([1, 1], [False, False]) == 0
    with pytest.raises(ValueError):
        grid.Sub([True])
    for each in (part, none, copy):
        each.Free()


def test_messages_in_a_grid(grid):
    source, dest = grid.Shift(0, 1)
    received = np.zeros(2)
    grid.Sendrecv(numbers(2), dest, 0, received, source, 0)
    np.testing.assert_array_equal(received, [1, 2])
    source, dest = grid.Shift(1, 1)
    received[:] = 7
    grid.Sendrecv(numbers(2), dest, 0, received, source, 0)
    assert (received == 7).all()


def neighbours(comm, name, form, *arguments):
    if OPEN_MPI and form != "blocking" and "alltoall" in name:
        pytest.skip("Open MPI 5.0 exchanges the two sides of an axis in the non-blocking form")
    if form == "blocking":
        getattr(comm, f"Neighbor_{name}")(*arguments)
    elif form == "started":
        getattr(comm, f"Ineighbor_{name}")(*arguments).Wait()
    else:
        request = getattr(comm, f"Neighbor_{name}_init")(*arguments)
        request.Start()
        request.Wait()
        request.Free()


@pytest.mark.parametrize("form", ["blocking", "started", "persistent"])
def test_what_goes_down_arrives_from_above(comm, grid, form):
    torus = comm.Create_cart([1, 1], periods=[True, True])
    received = np.zeros(4)
    neighbours(torus, "alltoall", form, numbers(4), received)
    np.testing.assert_array_equal(received, [2, 1, 4, 3])
    received = np.zeros(8)
    neighbours(torus, "alltoall", form, numbers(8), received)
    np.testing.assert_array_equal(received, [3, 4, 1, 2, 7, 8, 5, 6])
    received = np.full(4, -1.0)
    neighbours(grid, "alltoall", form, numbers(4), received)
    np.testing.assert_array_equal(received, [2, 1, -1, -1])  # nothing from where there is nobody
    received = np.full(4, -1.0)
    neighbours(grid, "allgather", form, numbers(1), received)
    np.testing.assert_array_equal(received, [1, 1, -1, -1])
    torus.Free()


@pytest.mark.parametrize("form", ["blocking", "started", "persistent"])
def test_blocks_of_different_sizes(comm, form):
    ring = comm.Create_cart([1], periods=[True])
    received = np.zeros(6)
    neighbours(
        ring, "alltoallv", form, [numbers(5), [2, 3], [0, 2], MPI.DOUBLE], [received, [3, 2], [0, 4], MPI.DOUBLE]
    )
    np.testing.assert_array_equal(received, [3, 4, 5, 0, 1, 2])
    received = np.zeros(6)
    double = [MPI.DOUBLE, MPI.DOUBLE]
    neighbours(ring, "alltoallw", form, [numbers(5), [2, 3], [0, 16], double], [received, [3, 2], [0, 32], double])
    np.testing.assert_array_equal(received, [3, 4, 5, 0, 1, 2])
    received = np.zeros(6)
    neighbours(ring, "allgatherv", form, numbers(2), [received, [2, 2], [3, 0], MPI.DOUBLE])
    np.testing.assert_array_equal(received, [1, 2, 0, 1, 2, 0])
    ring.Free()


def test_objects_and_neighbours(comm, grid):
    torus = comm.Create_cart([1, 1], periods=[True, True])
    assert torus.neighbor_alltoall(["a", "b", "c", "d"]) == ["b", "a", "d", "c"]
    assert torus.neighbor_allgather("x") == ["x"] * 4
    assert grid.neighbor_alltoall(["a", "b", "c", "d"]) == ["b", "a", None, None]
    assert grid.neighbor_allgather("x") == ["x", "x", None, None]
    assert torus.inedges == torus.outedges == [0, 0, 0, 0]
    assert (torus.indegree, torus.outdegree) == (4, 4)
    with pytest.raises(ValueError):
        torus.neighbor_alltoall([1, 2, 3])
    torus.Free()


def test_faces_by_a_type_for_each_neighbour(comm):
    """Ghost cells of a periodic block in one call, without packing."""
    block = np.zeros((4, 5))
    block[1:-1, 1:-1] = numbers(6).reshape(2, 3)
    ring = comm.Create_cart([1], periods=[True])
    row = MPI.DOUBLE.Create_contiguous(3).Commit()

    def at(i, j):
        return (i * 5 + j) * 8

    ring.Neighbor_alltoallw(
        [block.copy(), [1, 1], [at(1, 1), at(2, 1)], [row, row]], [block, [1, 1], [at(0, 1), at(3, 1)], [row, row]]
    )
    np.testing.assert_array_equal(block[0, 1:-1], block[2, 1:-1])
    np.testing.assert_array_equal(block[3, 1:-1], block[1, 1:-1])
    assert not block[:, 0].any()
    row.Free()
    ring.Free()


def test_graphs(comm):
    made = comm.Create_graph([1], [0])
    assert isinstance(made, MPI.Graphcomm)
    assert made.Get_topology() == MPI.GRAPH
    assert made.Get_topo() == ([1], [0])
    assert made.Get_neighbors(0) == made.neighbors == [0]
    assert made.Get_neighbors_count(0) == made.nneighbors == 1
    assert (made.nnodes, made.nedges) == made.dims == (1, 1)
    assert made.neighbor_allgather(3) == [3]
    made.Free()


def test_distributed_graphs(comm):
    made = comm.Create_dist_graph_adjacent([0, 0], [0, 0], [1, 2], [3, 4])
    assert isinstance(made, MPI.Distgraphcomm)
    assert made.Get_topology() == MPI.DIST_GRAPH
    assert made.Get_dist_neighbors_count() == (2, 2, True)
    assert made.Get_dist_neighbors() == ([0, 0], [0, 0], ([1, 2], [3, 4]))
    made.Neighbor_alltoall(numbers(4), received := np.zeros(4))
    np.testing.assert_array_equal(received, numbers(4))
    made.Free()
    made = comm.Create_dist_graph_adjacent([0], [0], MPI.UNWEIGHTED, MPI.UNWEIGHTED)
    assert made.Get_dist_neighbors() == ([0], [0], None)
    made.Free()
    made = comm.Create_dist_graph([0], [1], [0])
    assert made.Get_dist_neighbors() == ([0], [0], None)
    assert made.neighbor_alltoall([5]) == [5]
    made.Free()
    made = comm.Create_dist_graph_adjacent([], [])
    made.Neighbor_alltoall(np.zeros(0), np.zeros(0))
    assert made.neighbor_allgather(1) == []
    made.Free()


@serial_only
def test_graphs_that_do_not_close(comm):
    with fails("ARG"):
        comm.Create_graph([1], [3])
    made = comm.Create_dist_graph_adjacent([0, 0], [0])
    with fails("TOPOLOGY"):
        made.Neighbor_alltoall(numbers(1), np.zeros(2))
    with fails("RANK"):
        comm.Create_dist_graph_adjacent([1], [0])
