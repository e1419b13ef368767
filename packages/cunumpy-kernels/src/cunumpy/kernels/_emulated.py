"""Whether launches of CUDA kernels run on the CPU device: in a block of `cunumpy.kernel_testing.emulated_launches`."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from cunumpy.kernels._cuda_kernel import CudaKernel
    from cunumpy.kernels._cuda_program import CudaProgram


class Emulator(Protocol):
    """What takes the place of the GPU."""

    def launch(
        self,
        kernel: CudaKernel,
        args: tuple[Any, ...],
        *,
        n_threads: Any = None,
        grid: Any = None,
        block: Any = None,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Run a kernel."""

    def compile(self, kernel: CudaProgram) -> None:
        """Compile a kernel, unless that was done."""

    def is_compiled(self, kernel: CudaProgram) -> bool:
        """Tell whether a launch would find the kernel compiled."""


EMULATOR: ContextVar[Emulator | None] = ContextVar("cunumpy_emulator", default=None)
"""Of this thread or task; None for launches on the GPU."""
