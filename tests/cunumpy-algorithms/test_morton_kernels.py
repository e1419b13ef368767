"""The CUDA kernels of the keys compile for GPUs, in every instance that may be asked for."""

from __future__ import annotations

import itertools

import pytest

from cunumpy.algorithms import _device_morton
from cunumpy.cuda import ctype_of
from nvrtc import ARCHITECTURES, compile_cuda

SOURCE, FOLDER = _device_morton._CODE.text(), _device_morton._CODE.path.parent
TYPES = ["Half", "float", "double", *(ctype_of(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8))]
WORDS, AXES, CURVES = ("unsigned long long", "unsigned int"), (2, 3), ("false", "true")


def instances(types):
    for word, ndim, hilbert in itertools.product(WORDS, AXES, CURVES):
        yield from (f"point_keys<{kind}, {word}, {ndim}, {hilbert}>" for kind in types)
        yield f"cell_keys<{word}, {ndim}, {hilbert}>"
        yield f"key_cells<{word}, {ndim}, {hilbert}>"


def test_every_instance_compiles():
    assert compile_cuda(SOURCE, instances=tuple(instances(TYPES)), include_dirs=[FOLDER])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_for_every_architecture(architecture):
    names = tuple(instances(["double", "Half"]))
    assert compile_cuda(SOURCE, architecture=architecture, instances=names, include_dirs=[FOLDER])
