"""Tests of the particle algorithms, on both host paths where there is a native library."""

from __future__ import annotations

import pytest

from cunumpy.algorithms import _grouping, _library, _numpy_segments, _scatter, _segment_reductions

PATHS = ["numpy"] if _library.HOST.library is None else ["native", "numpy"]


@pytest.fixture(params=PATHS)
def segments_path(request, monkeypatch):
    """Run a test on each host path of the functions on segments."""
    module = _numpy_segments
    if request.param == "native":
        from cunumpy.algorithms import _native_segments as module
    for user in (_grouping, _scatter, _segment_reductions):
        monkeypatch.setattr(user, "_host", module)
    return request.param
