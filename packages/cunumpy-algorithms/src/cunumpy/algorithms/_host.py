"""What runs on the host: the native library, or NumPy where there is none."""

from cunumpy.algorithms._library import HOST

if HOST.library is None:
    from cunumpy.algorithms import _numpy_morton as morton
    from cunumpy.algorithms import _numpy_segments as segments
    from cunumpy.algorithms import _numpy_sort as sort
else:
    from cunumpy.algorithms import _native_morton as morton  # type: ignore[no-redef]
    from cunumpy.algorithms import _native_segments as segments  # type: ignore[no-redef]
    from cunumpy.algorithms import _native_sort as sort  # type: ignore[no-redef]

__all__ = ["morton", "segments", "sort"]
