"""The Poisson equation in a cube, solved without a matrix by conjugate gradients of PETSc.

    -(d2u/dx2 + d2u/dy2 + d2u/dz2) = f  in the unit cube,  u = 0 on its faces

is discretised by second differences. The operator is a function on arrays; each process has a slab of planes and gets
one plane from each of its neighbours for every product. The right-hand side is made so that the solution is known:
u = g(x, 1) g(y, 2) g(z, 3) with g(t, k) = exp(t) sin(k pi t). The error falls with the square of the distance of the
points, which the program checks on finer and finer grids; its exit status says whether it does.

It needs petsc4py and mpi4py; docs/petsc.md says how to get them.

    python docs/examples/poisson.py
    mpiexec -n 4 python docs/examples/poisson.py --preconditioner multigrid --picture poisson.png
    python docs/examples/poisson.py -poisson_ksp_view
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import petsc4py
from mpi4py import MPI

import cunumpy as xp

ORDER = 2.0  # of the second difference


def factor(t: Any, k: int) -> Any:
    """Give one of the factors of the solution."""
    return xp.exp(t) * xp.sin(k * math.pi * t)


def second_derivative(t: Any, k: int) -> Any:
    """Give its second derivative."""
    rate = k * math.pi
    return xp.exp(t) * ((1 - rate**2) * xp.sin(rate * t) + 2 * rate * xp.cos(rate * t))


class Grid:
    """The points inside the cube that belong to this process: a slab of planes of constant z.

    Parameters
    ----------
    cells : int
        Number of distances between points along each side, which leaves ``cells - 1`` points inside.
    comm : mpi4py.MPI.Comm
        The processes, each of which gets as many planes as the others, or one less.
    """

    def __init__(self, cells: int, comm: Any) -> None:
        self.comm, self.cells, self.points = comm, cells, cells - 1
        self.step = 1.0 / cells
        ends = [rank * self.points // comm.size for rank in range(comm.size + 1)]
        self.first, self.last = ends[comm.rank], ends[comm.rank + 1]
        self.shape = (self.last - self.first, self.points, self.points)
        # The neighbours that have planes at all; None beyond a face of the cube.
        self.below = comm.rank - 1 if self.first > 0 else None
        self.above = comm.rank + 1 if self.last < self.points else None
        # This slab with the planes around it, and the zeros of the faces.
        self.padded = xp.zeros(tuple(size + 2 for size in self.shape))
        self.received = [xp.zeros(self.shape[1:]) for _ in range(2)]

    def coordinates(self) -> tuple[Any, Any, Any]:
        """Give z, y and x of the points, for broadcasting."""
        inside = xp.arange(1, self.cells) * self.step
        return inside[self.first : self.last, None, None], inside[None, :, None], inside[None, None, :]

    def exact(self) -> Any:
        """Give the solution at the points."""
        z, y, x = self.coordinates()
        return factor(x, 1) * factor(y, 2) * factor(z, 3)

    def right_hand_side(self) -> Any:
        """Give the right-hand side that belongs to it."""
        z, y, x = self.coordinates()
        return -(
            second_derivative(x, 1) * factor(y, 2) * factor(z, 3)
            + factor(x, 1) * second_derivative(y, 2) * factor(z, 3)
            + factor(x, 1) * factor(y, 2) * second_derivative(z, 3)
        )

    def operator(self, u: Any, out: Any) -> None:
        """Write the negative sum of second differences of `u` to `out`."""
        padded = self.padded
        padded[1:-1, 1:-1, 1:-1] = u
        sends, receives = [], []
        for neighbour, plane, received in ((self.below, u[0], 0), (self.above, u[-1], 1)):
            if neighbour is not None:
                sends.append((xp.ascontiguousarray(plane), neighbour, 0))
                receives.append((self.received[received], neighbour, 0))
        xp.mpi.exchange(self.comm, sends=sends, receives=receives)
        if self.below is not None:
            padded[0, 1:-1, 1:-1] = self.received[0]
        if self.above is not None:
            padded[-1, 1:-1, 1:-1] = self.received[1]
        centre = slice(1, -1)
        xp.multiply(u, 6.0, out=out)
        for axis in range(3):
            for side in (slice(None, -2), slice(2, None)):
                index = [centre] * 3
                index[axis] = side
                out -= padded[tuple(index)]
        out /= self.step**2

    def matrix(self) -> Any:
        """Give the same as a matrix, for the preconditioners that have to look into one."""
        n = self.points
        number = np.arange(n**3).reshape(n, n, n)[self.first : self.last]
        z, y, x = np.meshgrid(np.arange(self.first, self.last), np.arange(n), np.arange(n), indexing="ij")
        # In ascending order of columns: the neighbours below, before, left, the point itself, and the others.
        neighbours = [
            (number - n * n, z > 0),
            (number - n, y > 0),
            (number - 1, x > 0),
            (number, np.ones_like(number, dtype=bool)),
            (number + 1, x < n - 1),
            (number + n, y < n - 1),
            (number + n * n, z < n - 1),
        ]
        column = np.stack([each for each, _ in neighbours], axis=-1)
        there = np.stack([each for _, each in neighbours], axis=-1)
        values = np.where(np.arange(7) == 3, 6.0, -1.0) / self.step**2
        data = np.broadcast_to(values, there.shape)[there]
        indptr = np.concatenate([[0], np.cumsum(there.reshape(-1, 7).sum(axis=1))])
        return xp.petsc.csr_matrix(xp.asarray(data), column[there], indptr, self.comm)


def solve(grid: Grid, preconditioner: str, progress: bool) -> tuple[Any, Any, float]:
    """Solve on a grid; give the solver's result, the largest error, and the seconds that the solve took."""
    b, exact = grid.right_hand_side(), grid.exact()
    options: dict[str, Any]
    if preconditioner == "multigrid":
        options = {"preconditioner": "gamg", "preconditioner_matrix": grid.matrix()}
    else:
        diagonal = 6.0 / grid.step**2

        def jacobi(r: Any, out: Any) -> None:
            xp.divide(r, diagonal, out=out)

        options = {"preconditioner": jacobi}
    started = time.perf_counter()
    result = xp.petsc.ksp_solve(
        grid.operator,
        b,
        comm=grid.comm,
        method="cg",
        rtol=1e-9,
        progress=progress,
        options_prefix="poisson_",
        **options,
    )
    seconds = time.perf_counter() - started
    if preconditioner == "multigrid":
        options["preconditioner_matrix"].destroy()  # on several processes PETSc keeps what Python only drops
    error = float(xp.abs(result.x - exact).max()) if result.x.size else 0.0
    return result, grid.comm.allreduce(error, op=MPI.MAX), seconds


def draw(grid: Grid, u: Any, file: Path) -> None:
    """Draw a plane in which the solution is large."""
    wanted = round(grid.cells * 5 / 6) - 1  # z = 5/6, where sin(3 pi z) is 1
    mine = xp.to_numpy(u[wanted - grid.first]) if grid.first <= wanted < grid.last else None
    planes = [plane for plane in grid.comm.gather(mine) or [] if plane is not None]
    if grid.comm.rank == 0:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
        largest = float(np.abs(planes[0]).max())
        shown = axes.imshow(
            np.pad(planes[0], 1), origin="lower", extent=(0, 1, 0, 1), cmap="RdBu_r", vmin=-largest, vmax=largest
        )
        axes.set(xlabel="x", ylabel="y", title=f"u(x, y, z) at z = {(wanted + 1) * grid.step:.3f}")
        figure.colorbar(shown, ax=axes, label="u")
        figure.savefig(file, dpi=150)
        plt.close(figure)
        print(f"picture       {file}")


def main(arguments: list[str] | None = None) -> int:
    """Run the program; the exit status is 0 if the error falls as it should."""
    parser = argparse.ArgumentParser(description="Solve the Poisson equation in a cube with PETSc.", allow_abbrev=False)
    parser.add_argument("--cells", type=int, default=16, help="cells along each side of the coarsest grid")
    parser.add_argument("--grids", type=int, default=3, help="number of grids, each twice as fine as the one before")
    parser.add_argument("--preconditioner", choices=("jacobi", "multigrid"), default="jacobi")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the solution on the finest grid")
    parser.add_argument("--progress", action="store_true", help="show the iterations of each solve")
    options, for_petsc = parser.parse_known_args(arguments)
    petsc4py.init([sys.argv[0], *for_petsc])  # such as -poisson_ksp_view
    comm = MPI.COMM_WORLD
    if options.cells < 4 or options.grids < 2:
        parser.error("at least 4 cells and 2 grids are needed to see the error fall")
    if xp.get_backend() == "cupy":
        xp.mpi.mpi_is_cuda_aware(comm)  # decides once how planes on devices are sent

    def say(text: str) -> None:
        if comm.rank == 0:
            print(text, flush=True)

    say(f"processes     {comm.size}, {options.preconditioner}, {xp.get_backend()}")
    say(f"{'cells':>7} {'unknowns':>10} {'iterations':>11} {'seconds':>8} {'error':>10} {'order':>6}")
    previous, orders = None, []
    for refinement in range(options.grids):
        grid = Grid(options.cells * 2**refinement, comm)
        result, error, seconds = solve(grid, options.preconditioner, options.progress)
        if not result.converged:
            say(f"the solve on {grid.cells} cells did not converge: {result.reason}")
            return 1
        order = None if previous is None else math.log2(previous / error)
        orders += [] if order is None else [order]
        shown = "" if order is None else f"{order:6.3f}"
        say(f"{grid.cells:7} {grid.points**3:10} {result.iterations:11} {seconds:8.3f} {error:10.3e} {shown:>6}")
        previous = error
    if options.picture:
        draw(grid, result.x, options.picture)
    passed = abs(orders[-1] - ORDER) < 0.1
    say(f"order         {orders[-1]:.3f}, expected {ORDER:.0f}: {'as it should be' if passed else 'WRONG'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
