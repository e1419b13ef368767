"""The kernels on segments compile for real devices."""

from __future__ import annotations

import pytest

from cunumpy.algorithms._device_segments import CODE
from cunumpy.cuda import ctype_of
from nvrtc import ARCHITECTURES, compile_cuda

INTEGERS = [ctype_of(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)]
VALUES = [*INTEGERS, "Half", "float", "double"]
UNSIGNED = sorted(c for c in INTEGERS if c.startswith("unsigned"))


def instances() -> list[str]:
    """Name the instances of all kernels, each type of values and of keys at least once."""
    names = []
    for key in INTEGERS:
        names += [f"{name}<{key}>" for name in ("segment_check", "segment_count", "boundary_heads", "boundary_fill")]
        names += [f"{name}<{key}>" for name in ("cell_offsets", "scatter_index", "scatter_check")]
        names += [f"segment_keys<{key}, int>", f"segment_keys<{key}, long long>"]
        names += [f"segment_sum<double, double, {key}>", f"scatter_add<double, {key}>"]
    for value in VALUES:
        sums = ("double",) if value in ("Half", "float", "double") else ("unsigned long long", "double")
        names += [f"segment_sum<{value}, {sum}, int>" for sum in sums]
        for operation in ("Minimum", "Maximum"):
            names += [f"segment_extreme<{operation}, {value}, int>", f"segment_extreme_ordered<{operation}, {value}>"]
        result = value if value in ("Half", "float") else "double"
        names += [f"segment_mean_ordered<{value}, {result}>"]
        names += [f"segment_sum_ordered<{value}, {sums[0]}, {sums[0] if value in INTEGERS else value}>"]
    names += [f"scatter_add<{value}, long long>" for value in (*UNSIGNED, "Half", "float")]
    names += [f"segment_gather<{word}, int>" for word in UNSIGNED]
    names += [f"segment_round<double, {result}>" for result in ("Half", "float")]
    names += [f"segment_divide<{result}>" for result in ("Half", "float", "double")]
    return [*names, "segment_offsets<int>", "segment_offsets<long long>"]


@pytest.mark.parametrize("architecture", [ARCHITECTURES[0], ARCHITECTURES[-1]])
def test_the_kernels_compile(architecture) -> None:
    folders = [CODE.path.parent]
    assert compile_cuda(CODE.text(), architecture=architecture, instances=tuple(instances()), include_dirs=folders)
