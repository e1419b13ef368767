"""`cupy.RawModule` for the stand-in: CUDA source on the CPU device.

Each argument is checked against the size of the kernel's parameter, which a GPU would read wrongly in silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cunumpy.kernels._cpu_device.launch import RawFunction


class RawModule:
    """Some of `cupy.RawModule`; ``launches`` lists what was launched, for all modules."""

    launches: list[str] = []  # noqa: RUF012 - shared on purpose

    def __init__(
        self, *, code: str, options: Sequence[str] = (), name_expressions: Sequence[str] | None = None
    ) -> None:
        assert all(isinstance(option, str) for option in options)
        self.code = code
        self.options = tuple(options)
        self.name_expressions = name_expressions

    def get_function(self, name: str) -> RawKernel:
        assert self.name_expressions is None or name in self.name_expressions, f"{name} is not among the expressions"
        return RawKernel(self.code, name, self.options)

    def compile(self, log_stream: Any = None) -> None:
        pass


class RawKernel:
    """Some of `cupy.RawKernel`."""

    attributes = {  # noqa: RUF012 - the same for all
        "max_threads_per_block": 1024,
        "shared_size_bytes": 0,
        "max_dynamic_shared_size_bytes": 49152,
    }

    def __init__(self, code: str, name: str, options: Sequence[str] = ()) -> None:
        self.name = name
        self.options = tuple(options)
        self.function = RawFunction(code, name, tuple(options))

    def compile(self, log_stream: Any = None) -> None:
        pass

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: Sequence[Any],
        *,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        from cunumpy.kernel_testing import host_buffer

        assert 0 < min(grid) <= max(grid) < 2**31
        assert 0 < min(block) <= max(block) <= 1024
        packed: list[Any] = []
        for value in args:
            if isinstance(value, np.ndarray):
                assert value.shape == (1,), "the only host arrays that CuPy takes are of one element"
                packed.append(value)
            elif isinstance(value, np.generic):
                packed.append(value)
            elif value is None:
                packed.append(0)
            else:  # a device array: its address
                packed.append(host_buffer(value).__array_interface__["data"][0])
        RawModule.launches.append(self.name)
        self.function(tuple(grid), tuple(block), packed, shared_mem)
