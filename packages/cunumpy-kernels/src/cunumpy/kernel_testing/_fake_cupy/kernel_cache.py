"""The folder of CuPy's compiled kernels, in which the sources can be kept.

What the stand-in compiles is kept elsewhere (``CUNUMPY_EMULATION_CACHE``): it is no machine code of GPUs.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def cache_dir() -> Path:
    """Return the folder: ``CUPY_CACHE_DIR``, or CuPy's default."""
    return Path(os.environ.get("CUPY_CACHE_DIR") or Path("~", ".cupy", "kernel_cache").expanduser())


def save_source(code: str, options: tuple[str, ...] = ()) -> None:
    """Keep the source of a kernel that was compiled, if ``CUPY_CACHE_SAVE_CUDA_SOURCE`` is set."""
    if not os.environ.get("CUPY_CACHE_SAVE_CUDA_SOURCE"):
        return
    folder = cache_dir()
    folder.mkdir(parents=True, exist_ok=True)
    key = hashlib.sha256("\0".join((*options, code)).encode()).hexdigest()[:40]
    (folder / f"{key}.cubin.cu").write_text(code, encoding="utf-8")
