"""Struct layouts as the device has them."""

from __future__ import annotations

import pytest

from cunumpy.arguments import CudaStruct

INNER = CudaStruct("Inner", [("b", "bool"), ("x", "float[3]"), ("n", "short")])
STRUCTS = [
    CudaStruct(
        "Scalars", [("a", "char"), ("b", "double"), ("c", "bool"), ("d", "short"), ("e", "long"), ("f", "float")]
    ),
    CudaStruct("Views", [("n", "int"), ("a", "Array3D<double>"), ("b", "CArray2D<const int>"), ("p", "const void*")]),
    CudaStruct("Nested", [("n", "char"), ("s", "Inner"), ("t", "Inner[2]"), ("p", "Inner*")], structs=[INNER]),
    CudaStruct("Aligned", [("n", "int"), ("x", "double[2][2]")], alignment=32),
]


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.name)
def test_layouts(struct):
    assert struct.verify_layout()["sizeof"] == struct.dtype.itemsize


def test_types_that_the_device_aligns_more_strictly():
    from cunumpy.kernel_testing import fake_cupy_active

    fields = [("a", "int"), ("z", "complex<double>"), ("b", "int"), ("v", "double2"), ("c", "char"), ("w", "float4")]
    struct = CudaStruct("Strict", [*fields, ("u", "double3"), ("q", "complex<float>")])
    # The stand-in's kernels are compiled by the host, which has none of these types.
    assert struct.verify_layout(gpu=not fake_cupy_active())["w"] == 80
