"""What runs on the host: the native library, or NumPy where there is none."""

from cunumpy.rng._library import HOST

if HOST.library is None:
    from cunumpy.rng import _numpy_generator as generator
    from cunumpy.rng import _numpy_philox as philox
else:
    from cunumpy.rng import _native_generator as generator  # type: ignore[no-redef]
    from cunumpy.rng import _native_philox as philox  # type: ignore[no-redef]

__all__ = ["generator", "philox"]
