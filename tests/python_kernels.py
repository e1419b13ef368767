"""Kernels in Python syntax as tests launch them: translations are compiled by NVIDIA's compiler, too."""

from __future__ import annotations

import numpy as np

from cunumpy.kernels import jit
from cunumpy.kernels._rawkernel.python_kernel import PythonKernel
from nvrtc import compile_cuda

DTYPES = [np.dtype(code) for code in "? b B h H i I q Q e f d F D".split()]  # noqa: SIM905


def words(text):
    return text.split()


def run(kernel, grid, block, *args, **options):
    """Launch a kernel, and let NVIDIA's compiler have the same code."""
    kernel(grid, block, args, **options)
    code = list(kernel.cached_codes.values())[-1]
    assert compile_cuda(code.replace("<cupy/complex.cuh>", "<cuda/std/complex>\nusing cuda::std::complex;"))
    return code


def kernel_of(lines, folder):
    """Return a kernel of generated code, which has to be in a file."""
    text = "\n".join(["@jit.rawkernel(mode='numpy')", *lines])
    path = folder / "generated.py"
    path.write_text(text)
    scope = {"jit": jit, "np": np}
    exec(compile(text, str(path), "exec"), scope)
    return next(value for value in scope.values() if isinstance(value, PythonKernel))
