"""A petsc4py of one process without PETSc: as much of its vectors, shell matrices and solvers as `cunumpy.petsc` uses.

Device arrays are those of the stand-in for CuPy, whose memory is the host's.
"""

from __future__ import annotations

import sys
import types
from contextlib import contextmanager
from typing import Any

import numpy as np


class Error(RuntimeError):
    """What PETSc raises."""


class Comm:
    size, rank = 1, 0

    def __init__(self, comm: Any = None) -> None:
        if not isinstance(comm, Comm):
            raise TypeError(f"Cannot convert {type(comm).__name__} to petsc4py.PETSc.Comm")


COMM_SELF, COMM_WORLD = object.__new__(Comm), object.__new__(Comm)


class Sys:
    @staticmethod
    def getDefaultComm() -> Comm:
        return COMM_WORLD


class DeviceContext:
    waits = 0

    @classmethod
    def getCurrent(cls) -> type[DeviceContext]:
        return cls

    @classmethod
    def synchronize(cls) -> None:
        cls.waits += 1


class Vec:
    made: list[Vec] = []  # noqa: RUF012 - of all vectors
    device_type = "seqcuda"
    device_number = 0

    def __init__(self) -> None:
        self.array: Any = None
        self.kind, self.comm, self.state, self.fresh, self.block_size = "seq", None, 0, "", 1
        self.attributes: dict[Any, Any] = {}
        self.own: Any = None
        self.handle = 0

    def __bool__(self) -> bool:
        return self.array is not None

    def _create(self, array: Any, comm: Any, bsize: int | None, kind: str) -> Vec:
        self.array, self.comm, self.block_size, self.kind = array, comm, bsize or 1, kind
        self.made.append(self)
        return self

    def createWithArray(self, array: Any, size: Any = None, bsize: int | None = None, comm: Any = None) -> Vec:
        assert type(array) is np.ndarray
        assert array.ndim == 1  # anything else might be copied
        assert array.dtype == ScalarType
        return self._create(array, comm, bsize, "seq")

    def createWithDLPack(self, array: Any, size: Any = None, bsize: int | None = None, comm: Any = None) -> Vec:
        if self.device_type == "":
            raise Error("error code 56\n[0] PETSc was not configured with CUDA")
        return self._create(array, comm, bsize, self.device_type)

    def createGhostWithArray(
        self, ghosts: Any, array: Any, size: Any = None, bsize: int | None = None, comm: Any = None
    ) -> Vec:
        self.ghosts = ghosts
        return self._create(array, comm, bsize, "mpi")

    def getType(self) -> str:
        return self.kind

    def getLocalSize(self) -> int:
        return self.array.size

    def getDict(self) -> dict[Any, Any]:
        return self.attributes

    def setAttr(self, name: str, value: Any) -> None:
        self.attributes[name] = value

    def getAttr(self, name: str) -> Any:
        return self.attributes.get(name)

    def stateIncrease(self) -> None:
        self.state += 1

    def destroy(self) -> None:
        self.array = None
        self.attributes = {}

    @contextmanager
    def getBuffer(self, readonly: bool = False) -> Any:
        view = self.array[:]
        view.flags.writeable = not readonly
        yield view

    def getCUDAHandle(self, mode: str = "rw") -> int:
        self.fresh = mode
        return self.array.data.ptr

    def restoreCUDAHandle(self, handle: int, mode: str = "rw") -> None:
        assert handle == self.array.data.ptr
        assert mode == self.fresh

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.device_number)

    def placeArray(self, array: Any) -> None:
        self.own, self.array = self.array, array

    def resetArray(self) -> None:
        self.array = self.own

    def duplicate(self) -> Vec:
        return Vec()._create(self.array.copy().ravel(), self.comm, self.block_size, self.kind)


class Mat:
    """A matrix that knows where its values would go."""

    handle = 0

    def create(self, comm: Any = None) -> Mat:
        self.comm, self.attributes, self.state = comm, {}, 0
        return self

    def getComm(self) -> Comm:
        return self.comm

    def setSizes(self, sizes: Any, bsize: int | None = None) -> None:
        self.sizes = sizes

    def setType(self, kind: str) -> None:
        self.kind = kind

    def setPreallocationCOO(self, rows: Any, columns: Any) -> None:
        assert type(rows) is type(columns) is np.ndarray
        assert rows.dtype == columns.dtype == IntType
        self.rows, self.columns = rows, columns

    def getDict(self) -> dict[Any, Any]:
        return self.attributes

    def assemble(self) -> None:
        self.state += 1

    def createPython(self, sizes: Any, context: Any, comm: Any = None) -> Mat:
        self.create(comm)
        self.sizes, self.kind, self.context = sizes, "python", context
        return self

    def setVecType(self, kind: str) -> None:
        self.vec_type = kind

    def setUp(self) -> None:
        pass

    def getType(self) -> str:
        return self.kind

    def getPythonContext(self) -> Any:
        return self.context

    def destroy(self) -> None:
        pass


class InsertMode:
    INSERT_VALUES = 1


class KSP:
    """Conjugate gradients, with a preconditioner in Python, on the memory of the vectors."""

    class ConvergedReason:
        CONVERGED_RTOL, DIVERGED_MAX_IT = 2, -3

    def create(self, comm: Any = None) -> KSP:
        self.comm, self.pc, self.monitor = comm, PC(), None
        self.settings: dict[str, Any] = {}
        return self

    def setOperators(self, matrix: Mat, other: Mat) -> None:
        self.operators = matrix, other

    def getOperators(self) -> tuple[Mat, Mat]:
        return self.operators

    def setType(self, kind: str) -> None:
        assert kind == "cg"

    def getPC(self) -> PC:
        return self.pc

    def setTolerances(self, rtol: Any = None, atol: Any = None, max_it: Any = None) -> None:
        self.rtol, self.max_it = 1e-5 if rtol is None else rtol, max_it or 10000

    def setOptionsPrefix(self, prefix: str) -> None:
        self.settings["prefix"] = prefix

    def setInitialGuessNonzero(self, flag: bool) -> None:
        assert not flag

    def setFromOptions(self) -> None:
        pass

    def setConvergenceHistory(self, reset: bool = False) -> None:
        self.history: list[float] = []

    def setMonitor(self, monitor: Any) -> None:
        self.monitor = monitor

    def monitorCancel(self) -> None:
        self.monitor = None

    def solve(self, b: Vec, x: Vec) -> None:
        matrix, r, z, p, product = self.operators[0], *(b.duplicate() for _ in range(4))
        flat = x.array.reshape(-1)
        self._precondition(r, z)
        p.array[...] = z.array
        old, self.iterations = (r.array * z.array).sum(), 0
        while not self._stops(float((z.array * z.array).sum() ** 0.5)):
            matrix.context.mult(matrix, p, product)
            step = old / (p.array * product.array).sum()
            flat += step * p.array
            r.array -= step * product.array
            self._precondition(r, z)
            new = (r.array * z.array).sum()
            p.array[...] = z.array + new / old * p.array
            old = new
            self.iterations += 1

    def _precondition(self, r: Vec, z: Vec) -> None:
        if self.pc.kind == "python":
            self.pc.context.apply(self.pc, r, z)
        else:
            z.array[...] = r.array

    def _stops(self, norm: float) -> bool:
        self.history.append(norm)
        if self.monitor is not None:
            self.monitor(self, self.iterations, norm)
        reasons = self.ConvergedReason
        self.reason = reasons.CONVERGED_RTOL if norm <= self.rtol * self.history[0] else reasons.DIVERGED_MAX_IT
        return self.reason > 0 or self.iterations == self.max_it

    def getResidualNorm(self) -> float:
        return self.history[-1]

    def getConvergedReason(self) -> int:
        return self.reason

    def getIterationNumber(self) -> int:
        return self.iterations

    def getConvergenceHistory(self) -> list[float]:
        return self.history

    def destroy(self) -> None:
        pass


class SNES:
    pass


class PC:
    kind = "none"

    def setType(self, kind: str) -> None:
        self.kind = kind

    def getType(self) -> str:
        return self.kind

    def setPythonContext(self, context: Any) -> None:
        self.context = context

    def getPythonContext(self) -> Any:
        return self.context


ScalarType, IntType = np.float64, np.int32


def install(monkeypatch: Any) -> types.ModuleType:
    """Put it in the place of petsc4py for a test; return its module ``PETSc``."""
    package, module = types.ModuleType("petsc4py"), types.ModuleType("petsc4py.PETSc")
    for name in (
        "COMM_SELF",
        "COMM_WORLD",
        "InsertMode",
        "KSP",
        "PC",
        "SNES",
        "Comm",
        "DeviceContext",
        "Error",
        "IntType",
        "Mat",
    ):
        setattr(module, name, globals()[name])
    for name in ("ScalarType", "Sys", "Vec"):
        setattr(module, name, globals()[name])
    module.__file__ = __file__
    package.PETSc, package.init = module, lambda arguments: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "petsc4py", package)
    monkeypatch.setitem(sys.modules, "petsc4py.PETSc", module)
    monkeypatch.setattr(Vec, "made", [])
    monkeypatch.setattr(DeviceContext, "waits", 0)
    return module
