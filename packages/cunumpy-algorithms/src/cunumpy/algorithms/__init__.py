"""Particle algorithms."""

# ruff: noqa: E402 - what follows needs the versions that are checked first

from cunumpy import errors as _errors  # noqa: F401 - refuses an older cunumpy in the place of cunumpy-core
from cunumpy._installation import require_compatible as _require_compatible

_require_compatible("cunumpy-algorithms")

from cunumpy.algorithms._compact import compact_by_mask
from cunumpy.algorithms._grouping import cell_offsets, segment_boundaries
from cunumpy.algorithms._morton import (
    MAX_MORTON_LEVELS,
    hilbert_decode,
    hilbert_encode,
    hilbert_keys,
    morton_decode,
    morton_encode,
    morton_keys,
    morton_scales,
)
from cunumpy.algorithms._scatter import scatter_add
from cunumpy.algorithms._segments import (
    SegmentPlan,
    segment_count,
    segment_max,
    segment_mean,
    segment_min,
    segment_sum,
)
from cunumpy.algorithms._sort import sort_by_cell, sort_by_key

__all__ = [
    "MAX_MORTON_LEVELS",
    "SegmentPlan",
    "cell_offsets",
    "compact_by_mask",
    "hilbert_decode",
    "hilbert_encode",
    "hilbert_keys",
    "morton_decode",
    "morton_encode",
    "morton_keys",
    "morton_scales",
    "scatter_add",
    "segment_boundaries",
    "segment_count",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_sum",
    "sort_by_cell",
    "sort_by_key",
]
