"""Build hook: the native library of cunumpy-algorithms."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType


def _build_library() -> ModuleType:
    """Load what all native libraries are built by: cunumpy-cuda's, of which a source distribution has a copy."""
    here = Path(__file__).resolve().parent
    copied, original = here / "shared" / "native", here.parent / "cunumpy-cuda" / "native"
    path = (copied if copied.exists() else original) / "build_library.py"
    spec = importlib.util.spec_from_file_location("build_library", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Hook(_build_library().NativeLibraryHook):  # type: ignore[misc]
    """Says what to build."""

    module = "algorithms"
    headers = ("morton.cuh",)
