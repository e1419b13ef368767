"""A stand-in for CuPy over NumPy buffers, installed as ``cupy`` and ``cupyx`` by `cunumpy.kernel_testing`.

It has the names and call signatures of CuPy (`_api`, facts read from a real CuPy) and is strict where CuPy is: no
implicit conversion, no host arrays in calculations, 0-d results. Where CuPy's answer depends on undefined behaviour
(indices out of bounds, dtypes of foreign byte order) it raises. What it accepts, CuPy accepts.

`docs/compatibility.md` lists what it lacks. Every operation completes at once, but in the asynchronous mode
(`asynchrony`) nobody sees what is not waited for.
"""

from __future__ import annotations

import importlib.machinery
import sys
import types
from collections.abc import Mapping
from typing import Any

__all__ = ["install"]


class _StandInModule(types.ModuleType):
    """A module of the stand-in: absent names say what is absent, and why."""

    def __getattr__(self, name: str) -> Any:
        from . import _names

        raise AttributeError(_names.absent(self.__name__, name), name=name, obj=self)


def _add(name: str, contents: Mapping[str, Any], *, package: bool = False) -> types.ModuleType:
    """Make a module, enter it in `sys.modules` and in its parent."""
    module = _StandInModule(name, "Stand-in for CuPy's module of this name, by cunumpy.kernel_testing.")
    spec = importlib.machinery.ModuleSpec(name, None, origin="cunumpy.kernel_testing", is_package=package)
    vars(module).update(__spec__=spec, __package__=spec.parent)
    if package:
        # An empty path: what the stand-in lacks is a ModuleNotFoundError, not a search on disk.
        vars(module)["__path__"] = []
    vars(module).update(contents)
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        vars(sys.modules[parent])[child] = module
    return module


def install() -> types.ModuleType:
    """Enter the stand-in's modules in `sys.modules` and return its ``cupy``."""
    from cunumpy import _environment

    from . import _names, asynchrony, cuda_contents, extras, jit, profiler, random, scipy, testing, texture

    cupy = _add("cupy", _names.top_level(), package=True)
    _add("cupy.linalg", _names.linalg())
    _add("cupy.fft", _names.fft())
    _add("cupy.exceptions", _names.exceptions())
    _add("cupy.random", random.contents())
    _add("cupy.cuda", cuda_contents.contents(), package=True)
    for name, contents in cuda_contents.submodules().items():
        _add(f"cupy.cuda.{name}", contents, package=name == "memory_hooks")
    vars(sys.modules["cupy.cuda.runtime"]).update(texture.CONSTANTS)
    _add("cupy.cuda.texture", texture.contents())
    vars(cupy).update(extras.contents())
    _add("cupy.testing", testing.contents())
    _add("cupyx", {**scipy.cupyx_contents(), **extras.cupyx_contents()}, package=True)
    for name, contents in extras.modules().items():
        _add(name, contents, package=not contents or name == "cupyx.linalg")
    _add("cupyx.jit", jit.contents(), package=True)
    for name, contents in jit.submodules().items():
        _add(f"cupyx.jit.{name}", contents)
    _add("cupyx.profiler", profiler.contents())
    _add("cupyx.scipy", scipy.contents(), package=True)
    for name, module in scipy.submodules().items():
        sys.modules[f"cupyx.scipy.{name}"] = module
        parent, _, child = f"cupyx.scipy.{name}".rpartition(".")
        vars(sys.modules[parent])[child] = module
    if _environment.read("CUNUMPY_FAKE_CUPY_ASYNC"):
        asynchrony.turn_on()
    return cupy
