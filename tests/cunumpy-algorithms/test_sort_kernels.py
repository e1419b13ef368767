"""The CUDA kernel of the offsets of cells compiles for GPUs, for every type of cells."""

from __future__ import annotations

import pytest

from cunumpy.algorithms import _device_sort
from nvrtc import ARCHITECTURES, compile_cuda


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_instance_compiles(architecture):
    source = _device_sort.CODE.path.read_text()
    instances = tuple(f"cell_offsets<{kind}>" for kind in _device_sort._C_TYPES.values())
    assert compile_cuda(source, architecture=architecture, instances=instances)
