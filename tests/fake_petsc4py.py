"""A petsc4py of one process without PETSc: as much of its vectors as `cunumpy.petsc` uses, strict as the real one.

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


class InsertMode:
    INSERT_VALUES = 1


class KSP:
    pass


class SNES:
    pass


class PC:
    pass


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
    package.PETSc = module  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "petsc4py", package)
    monkeypatch.setitem(sys.modules, "petsc4py.PETSc", module)
    monkeypatch.setattr(Vec, "made", [])
    monkeypatch.setattr(DeviceContext, "waits", 0)
    return module
