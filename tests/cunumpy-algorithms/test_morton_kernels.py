"""The CUDA kernels of the keys compile for GPUs, in every instance that may be asked for."""

from __future__ import annotations

import itertools

import pytest

from cunumpy.algorithms import _device_morton
from nvrtc import ARCHITECTURES, compile_cuda

SOURCE = _device_morton._CODE.path.read_text()
WORDS, AXES, CURVES = ("unsigned long long", "unsigned int"), (2, 3), ("false", "true")


def instances(types):
    for word, ndim, hilbert in itertools.product(WORDS, AXES, CURVES):
        yield from (f"point_keys<{kind}, {word}, {ndim}, {hilbert}>" for kind in types)
        yield f"cell_keys<{word}, {ndim}, {hilbert}>"
        yield f"key_cells<{word}, {ndim}, {hilbert}>"


def test_every_instance_compiles():
    assert compile_cuda(SOURCE, instances=tuple(instances(_device_morton._TYPES.values())))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_for_every_architecture(architecture):
    assert compile_cuda(SOURCE, architecture=architecture, instances=tuple(instances(["double", "Half"])))
