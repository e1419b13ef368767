"""Kernels of a notebook's cell of CUDA C++: what ``%%cuda`` of ``%load_ext cunumpy`` does."""

from __future__ import annotations

from typing import Any

from cunumpy import _backend
from cunumpy.cuda import cuda_kernel_names
from cunumpy.errors import ArgumentError
from cunumpy.kernels._catalog import KernelCatalog
from cunumpy.kernels._cuda_kernel import CudaKernel
from cunumpy.kernels._kernel import Kernel


def cuda_cell(line: str, cell: str, names: dict[str, Any], options: Any) -> None:
    """Compile the kernels of a cell, and put them under their names into `names`.

    Nothing is changed there unless all of them compile.
    """
    parser = options(prog="%%cuda", add_help=False)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("-o", action="append", default=[], metavar="OPTION")
    parser.add_argument("-I", action="append", default=[], metavar="FOLDER", dest="folders")
    parser.add_argument("-b", type=int, default=128, metavar="THREADS")
    given = parser.read(line)
    source = "\n" + cell  # the line of the command is the cell's first
    found = cuda_kernel_names(source)
    if unknown := [name for name in given.names if name not in found]:
        raise ArgumentError(
            f"%%cuda: there is no kernel {unknown[0]!r} in the cell; there are: {', '.join(found) or 'none'}"
        )
    if not found:
        raise ArgumentError('%%cuda: there is no kernel in the cell; one begins with: extern "C" __global__ void')
    made = {
        name: Kernel(None, CudaKernel(source, name, options=given.o, include_dirs=given.folders, block_size=given.b))
        for name in given.names or found
    }
    catalog = KernelCatalog(made)
    if _backend.get_backend() == "cupy":
        catalog.compile_all()
    else:
        catalog.build_all()
    names.update(made)
    print(f"{', '.join(made)}: compiled for the {'GPU' if _backend.get_backend() == 'cupy' else 'CPU'}")
