"""NumPy on the CPU or CuPy on the GPU behind one namespace."""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
