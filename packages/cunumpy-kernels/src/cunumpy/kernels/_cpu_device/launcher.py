"""Calling compiled kernels: by a C extension that is built on first use, else, more slowly, by ctypes."""

from __future__ import annotations

import ctypes
import functools
import importlib.machinery
import importlib.util
import logging
import math
import sys
import sysconfig
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _environment
from cunumpy._threads import thread_count
from cunumpy.cuda._locks import new_lock
from cunumpy.errors import CompileError
from cunumpy.kernels._build_cache import build_hash
from cunumpy.kernels._cpu_device.compiler import INCLUDE_DIR, find_compiler, run_compiler
from cunumpy.kernels._raw_arguments import CONST_POINTER_KIND, FLOATING_KIND, POINTER_KIND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cunumpy.cuda import CudaParameter
    from cunumpy.kernels._build_cache import BuildCache

_logger = logging.getLogger("cunumpy")

_SOURCE = Path(__file__).parent / "native" / "launcher" / "launcher.cpp"
_SHARED = INCLUDE_DIR / "cunumpy_cpu" / "launch.hpp"

_POINTER, _VIEW, _NUMBER, _OTHER = range(4)


class Function:
    """A compiled kernel that ctypes calls; that of the C extension does the same with all workers, and faster.

    Parameters
    ----------
    entry : int
        The address of the function that runs blocks.
    parameters : tuple
        What `describe_parameter` returns of each.
    checked : bool
        Whether it was compiled with checks, which has a limit of time.
    """

    def __init__(self, entry: int, parameters: tuple[Any, ...], checked: bool) -> None:
        self._run = _Run(entry)

    def call(self, args: tuple[Any, ...], n_threads: Any, axis: Any, width: int, shared_mem: int) -> Any:
        """Launch if all arguments are beyond doubt, else return NotImplemented: here always."""
        return NotImplemented

    def call_raw(self, args: Any, grid: Any, block: Any, shared_mem: Any) -> Any:
        """Do the same with arguments of which only sizes are known."""
        return NotImplemented

    def launch(
        self,
        packed: Sequence[Any],
        grid: tuple[int, ...],
        block: tuple[int, ...],
        shared_mem: int,
        cooperative: bool = False,
        schedule: int = 0,
        alone: bool = False,
    ) -> str | None:
        """Run all blocks, one after another; return the text of the trap that ended the launch, if one did.

        Parameters
        ----------
        packed : list
            Integers are addresses, everything else gives its bytes.
        grid, block : tuple of int
        shared_mem : int
            Bytes.
        cooperative : bool, default: False
            Run all blocks at the same time; here that is possible for one block alone.
        schedule : int, default: 0
            The order of blocks and threads: 0 for the usual one, 1 for backwards, else the seed of a random one, from
            2 to 2**32 - 1.
        alone : bool, default: False
            On this thread of the system alone; here that is always so.
        """
        if cooperative and math.prod(grid) > 1:
            return (
                "a cooperative launch of several blocks needs the C extension of the CPU device, which could not be "
                "built (on Debian and Ubuntu: apt-get install python3-dev); nothing was run"
            )
        held = [np.array(value, np.uint64) if type(value) is int else np.asarray(value) for value in packed]
        pointers = (ctypes.c_void_p * len(held))(*(array.__array_interface__["data"][0] for array in held))
        message = ctypes.create_string_buffer(4096)
        blocks = (*grid, 1, 1)[:3]
        if not hasattr(_worker, "fibers"):
            _worker.fibers = ctypes.c_void_p()
        info = _Launch(
            blocks,
            (*block, 1, 1)[:3],
            shared_mem,
            ctypes.cast(message, ctypes.c_void_p),
            len(message),
            0,
            ctypes.cast(ctypes.byref(_worker.fibers), ctypes.c_void_p),
            None,
            schedule,
            None,
            None,
        )
        failed = self._run(ctypes.byref(info), pointers, 0, blocks[0] * blocks[1] * blocks[2])
        return message.value.decode(errors="replace") if failed else None


class _Launch(ctypes.Structure):  # as in launch.hpp
    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_ulonglong),
        ("message", ctypes.c_void_p),
        ("message_size", ctypes.c_ulonglong),
        ("failed_block", ctypes.c_ulonglong),
        ("fibers", ctypes.c_void_p),
        ("grid_barrier", ctypes.c_void_p),
        ("schedule", ctypes.c_uint),
        ("interrupt", ctypes.c_void_p),
        ("leave", ctypes.c_void_p),
    )


_Run = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(_Launch), ctypes.POINTER(ctypes.c_void_p), ctypes.c_ulonglong, ctypes.c_ulonglong
)

_worker = threading.local()


CHECKED_TIME_LIMIT = 60
"""Seconds after which a launch with checks is ended, unless `CUNUMPY_CPU_TIME_LIMIT` says otherwise."""


def time_limit(checked: bool) -> float:
    """Return the seconds after which a launch is ended, 0 for never: ``CUNUMPY_CPU_TIME_LIMIT`` says it."""
    setting = _environment.read("CUNUMPY_CPU_TIME_LIMIT")
    return float((CHECKED_TIME_LIMIT if checked else 0) if setting is None else setting)


def describe_parameter(parameter: CudaParameter) -> tuple[int, int, bool, bool, int, int, str]:
    """Return what the C extension has to know of a parameter.

    Returns
    -------
    kind, type_number, const, contiguous, ndim, size, name : tuple
        The type's number in NumPy is -1 for ``void*``.
    """
    dtype = parameter.dtype
    plain = dtype is None or (dtype.kind in "biufc" and not dtype.shape and dtype.isnative)
    kind = _OTHER
    if plain and parameter.view_ndim is not None:
        kind = _VIEW
    elif plain and parameter.pointer:
        kind = _POINTER
    elif plain and dtype is not None and dtype.kind in "iuf" and dtype.itemsize * (dtype.kind == "f") != 2:
        kind = _NUMBER
    number = -1 if dtype is None else dtype.num
    contiguous = parameter.pointer or parameter.contiguous
    return kind, number, parameter.const, contiguous, parameter.view_ndim or 0, parameter.size, parameter.name


def describe_unknown(size: int, kind: int) -> tuple[int, int, bool, bool, int, int, str]:
    """Return the same of a parameter of which only size and kind are known."""
    pointer = kind in (POINTER_KIND, CONST_POINTER_KIND)
    return (_POINTER if pointer else _OTHER), -1, kind == CONST_POINTER_KIND, kind == FLOATING_KIND, 0, size, ""


def make_function(entry: int, parameters: tuple[Any, ...], cache: BuildCache, *, checked: bool = False) -> Any:
    """Return what launches a compiled kernel; see `Function`."""
    time_limit(checked)  # raises for a setting that means nothing
    module = _extension(cache)
    return (Function if module is None else module.Function)(entry, parameters, checked)


def make_typed_call(parameters: tuple[Any, ...], inputs: int, settings: tuple[Any, ...], cache: BuildCache) -> Any:
    """Return what runs usual calls of an elementwise or reduction kernel, None without the C extension.

    Parameters
    ----------
    parameters : tuple
        Of each a letter's number, the type's number or -1, and whether it is raw, and an output.
    inputs : int
    settings : tuple
        As `typed_init` in ``typed_calls.hpp`` takes them.
    cache : BuildCache
    """
    module = _extension(cache)
    return None if module is None else module.TypedCall(parameters, inputs, settings)


_extensions: dict[str, Any] = {}
_lock = new_lock()


def _extension(cache: BuildCache) -> Any:
    """Return the C extension; None where it can't be built, for instance for want of Python's headers."""
    with _lock:
        if "launcher" not in _extensions:
            try:
                _extensions["launcher"] = _load(cache)
            except (CompileError, ImportError) as error:
                _logger.warning(
                    "the CPU device launches kernels by ctypes, one block after another: its C extension can't be "
                    "built, perhaps for want of Python's headers (on Debian and Ubuntu: apt-get install python3-dev): "
                    "%s",
                    error,
                )
                _extensions["launcher"] = None
        return _extensions["launcher"]


def _load(cache: BuildCache) -> Any:
    compiler = find_compiler()
    suffix = sysconfig.get_config_var("EXT_SUFFIX") or ".so"
    key = build_hash([_source_digest(), suffix, sys.version, np.__version__, compiler.identity])

    def build(folder: Path) -> None:
        link = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
        run_compiler(
            compiler,
            [
                *("-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread", "-w"),
                *(f"-I{folder}" for folder in (sysconfig.get_path("include"), np.get_include())),
                *(str(_SOURCE), "-o", f"launcher{suffix}", *link),
            ],
            None,
            "the CPU device's launcher",
            folder,
        )

    path = cache.get(f"launcher-{key}", build) / f"launcher{suffix}"
    loader = importlib.machinery.ExtensionFileLoader("launcher", str(path))
    spec = importlib.util.spec_from_file_location("launcher", path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    module.set_thread_count(thread_count)
    module.set_time_limit(time_limit)
    return module


@functools.cache
def _source_digest() -> str:
    files = [_SHARED, *sorted(path for path in _SOURCE.parent.iterdir() if path.is_file())]
    return build_hash([path.read_text(encoding="utf-8") for path in files])
