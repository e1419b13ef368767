"""NumPy on the CPU or CuPy on the GPU behind one namespace, chosen at run time.

``import cunumpy as xp`` gives the names of the active library, `numpy` by default: ``xp.sum`` is ``numpy.sum`` or
CuPy's, with NumPy's call forms on both. Beside them stand the functions that choose the backend, convert arrays
explicitly and run host code, and the submodules, which load when first used.

Examples
--------
>>> import cunumpy as xp
>>> x = xp.linspace(0.0, 1.0, 5)
>>> xp.sum(x)
np.float64(2.5)
"""

# ruff: noqa: E402, F401 - the order of what happens at import matters, and names are exported by importing them

from pkgutil import extend_path as _extend_path

__path__ = _extend_path(__path__, __name__)  # the other distributions may live in other folders

_IS_CORE = True  # how the rest of CuNumpy knows this package from an older one of the same name

from cunumpy import _environment, _installation

_installation.warn_of_older(__path__)

# Names that load when first used, because few programs use them or what they import is slow.
_LAZY = {
    "__version__": ("_versions", "version"),
    "backend_info": ("_info", "backend_info"),
    "scipy": ("_scipy_namespace", "scipy"),
    "to_host_async": ("memory._host_copy", "to_host_async"),
}

if _environment.read("CUNUMPY_FAKE_CUPY"):
    _installation.require_submodule("kernel_testing", "CUNUMPY_FAKE_CUPY=1")
    from cunumpy import kernel_testing

    kernel_testing.install_fake_cupy()

from cunumpy import _backend, _toplevel
from cunumpy._arrays import (
    Array,
    assert_same_backend,
    get_array_backend,
    get_array_module,
    is_cpu,
    is_gpu,
    same_backend,
)
from cunumpy._backend import cupy_available, get_backend, set_backend, use_backend
from cunumpy._conversion import as_device_array, synchronize, to_cunumpy, to_cupy, to_numpy
from cunumpy._host_call import evaluate_on_host, host_call, host_call_inplace, setup_on_host
from cunumpy._namespaces import default_float_dtype, get_namespace
from cunumpy._toplevel import available
from cunumpy._versions import MIN_CUPY_VERSION, cupy_version_supported, require_version

_OWN = (
    "Array",
    "MIN_CUPY_VERSION",
    "as_device_array",
    "assert_same_backend",
    "available",
    "cupy_available",
    "cupy_version_supported",
    "default_float_dtype",
    "evaluate_on_host",
    "get_array_backend",
    "get_array_module",
    "get_backend",
    "get_namespace",
    "host_call",
    "host_call_inplace",
    "is_cpu",
    "is_gpu",
    "require_version",
    "same_backend",
    "set_backend",
    "setup_on_host",
    "synchronize",
    "to_cunumpy",
    "to_cupy",
    "to_numpy",
    "use_backend",
    *_LAZY,
)

_backend.choose_from_environment()


def _installed_submodules() -> list[str]:
    return [name for name in _installation.SUBMODULES if _installation.has_submodule(name)]


def __getattr__(name: str) -> object:
    if name in _installation.SUBMODULES:
        return _installation.load_submodule(name)
    if name in _LAZY:
        from importlib import import_module

        module, attribute = _LAZY[name]
        value = getattr(import_module(f"cunumpy.{module}"), attribute)
        globals()[name] = value() if name == "__version__" else value
        return globals()[name]
    if name == "load_ipython_extension":  # what IPython looks for on `%load_ext cunumpy`
        from cunumpy._notebook import load

        return load
    if name == "__all__":  # of what is installed; `xp` is left out, or a star import would rebind the user's name
        return sorted({*_OWN, "numpy_backend", "cupy_backend", *_installed_submodules()} - {"kernel_testing", "xp"})
    return _toplevel.find(name)


def __dir__() -> list[str]:
    return sorted({*_OWN, *_installed_submodules(), *_toplevel.listed(_backend.get_backend()), "__all__"})


import sys as _sys

_toplevel.install(_sys.modules[__name__], frozenset({*_OWN, *_installation.SUBMODULES}))
