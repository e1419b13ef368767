"""Compiled kernels: one for each device and set of options, with the limits that its launches have to keep."""

from __future__ import annotations

import math
import time
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from cunumpy.cuda import cuda_include_dir, include_hash, resolve_includes
from cunumpy.cuda._nvrtc import _messages
from cunumpy.errors import ArgumentError, CompileError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    Launch = tuple[tuple[int, ...], tuple[int, ...], int]

_SETTLED = 2_000_000_000
"""Nanoseconds after which a file's time of change tells it from its next version: file systems count in steps."""

_growing = Lock()

_device_limits: dict[int, DeviceLimits] = {}


class DeviceLimits:
    """What launches on one device have to keep to; the device is asked once in a process."""

    def __init__(self, cupy: ModuleType, device: int) -> None:
        properties = cupy.cuda.runtime.getDeviceProperties(device)
        name = properties["name"]
        self.device = device
        self.name = name.decode() if isinstance(name, bytes) else str(name)
        self.threads = int(properties["maxThreadsPerBlock"])
        self.block = tuple(map(int, properties["maxThreadsDim"]))
        self.grid = tuple(map(int, properties["maxGridSize"]))
        self.shared = max(int(properties["sharedMemPerBlock"]), int(properties.get("sharedMemPerBlockOptin", 0)))


def device_limits(cupy: ModuleType, device: int) -> DeviceLimits:
    """Return the limits of a device."""
    found = _device_limits.get(device)
    if found is None:
        found = _device_limits[device] = DeviceLimits(cupy, device)
    return found


class Build:
    """A compiled kernel on one device.

    Parameters
    ----------
    kernel : cupy.RawKernel
    options : tuple of str
        What it was compiled with.
    limits : DeviceLimits
        Of its device.
    owner : str
        For error messages.
    cooperative : bool, default: False
        Launch so that all blocks run at the same time.
    """

    __slots__ = ("allowance", "checked", "kernel", "launch", "limits", "options", "owner", "static", "threads")

    def __init__(
        self, kernel: Any, options: tuple[str, ...], limits: DeviceLimits, owner: str, *, cooperative: bool = False
    ) -> None:
        attributes = kernel.attributes
        self.kernel, self.options, self.limits, self.owner = kernel, options, limits, owner
        # The function of this device, without the look-up that the kernel makes at each launch.
        self.launch = getattr(kernel, "kernel", kernel)
        if cooperative:
            self.launch = partial(self.launch, enable_cooperative_groups=True)
        self.static = int(attributes["shared_size_bytes"])
        self.threads = min(limits.threads, int(attributes["max_threads_per_block"]))
        self.allowance = int(attributes["max_dynamic_shared_size_bytes"])
        self.checked: Launch | None = None
        """The last launch that was found to be possible."""

    def check(self, launch: Launch) -> None:
        """Raise `ArgumentError` for a launch that the device would refuse; make room for its shared memory."""
        grid, block, shared = launch
        limits = self.limits
        for what, sizes, most in (("block", block, limits.block), ("grid", grid, limits.grid)):
            for axis, size, limit in zip("xyz", sizes, most, strict=False):
                if size > limit:
                    self._refuse(f"{what} {sizes} has {size} along {axis}, the device takes {limit}")
        threads = math.prod(block)
        if threads > self.threads:
            cause = "its registers" if threads <= limits.threads else "the device"
            self._refuse(f"block {block} has {threads} threads, and {cause} allow(s) {self.threads} for this kernel")
        if self.static + shared > limits.shared:
            self._refuse(
                f"{self.static} bytes of static and {shared} of dynamic shared memory are more than the "
                f"{limits.shared} that a block can have"
            )
        if shared > self.allowance:
            with _growing:  # or a thread that needs less could set it last
                if shared > self.allowance:
                    self.kernel.max_dynamic_shared_size_bytes = shared
                    self.allowance = shared
        self.checked = launch

    def _refuse(self, problem: str) -> None:
        raise ArgumentError(
            f"{self.owner}: {problem} (device {self.limits.device}, {self.limits.name}); nothing was launched."
        )


def compile_kernel(
    cupy: ModuleType,
    source: str,
    expression: str,
    options: tuple[str, ...],
    log_stream: Any,
    owner: str,
    *,
    check: bool = True,
) -> Any:
    """Compile for the current device; templates and names in namespaces go through the compiler's name expressions.

    With `check=False` the stand-in for CuPy does not check the kernel's accesses to memory.
    """
    try:
        if not is_plain(expression):
            module = cupy.RawModule(code=source, options=options, name_expressions=(expression,))
            _set_check(module, check)
            module.compile(log_stream=log_stream)
            return module.get_function(expression)
        kernel = cupy.RawKernel(source, expression, options=options)
        _set_check(kernel, check)
        kernel.compile(log_stream=log_stream)
    except Exception as error:
        if type(error).__name__ == "CompileException":
            log = str(error)
            failure = CompileError(f"{owner}: does not compile with {' '.join(options)}:\n{log}")
            failure.log, failure.messages = log, tuple(_messages(log))
            raise failure from error
        if "NOT_FOUND" in str(error):
            raise no_function(expression, owner) from error
        raise
    return kernel


def _set_check(code: Any, check: bool) -> None:
    if not check and hasattr(code, "_check"):  # CuPy's own have none
        code._check = False


def is_plain(expression: str) -> bool:
    """Tell whether a kernel is looked up by the name as it stands, not by what the compiler makes of it."""
    return "<" not in expression and "::" not in expression


def no_function(expression: str, owner: str) -> CompileError:
    """Return the error for a kernel that the compiled code has under another name."""
    return CompileError(
        f'{owner}: the compiled code has no function {expression!r}; declare it extern "C", or in a namespace give the '
        "name with it."
    )


class HeaderHash:
    """The headers of a source, and the hash of what is in them; files that did not change are not read again."""

    def __init__(self, source: str, include_dirs: Sequence[Path], source_dir: Path | None) -> None:
        self._source, self._source_dir = source, source_dir
        self._folders = list(include_dirs)
        self._found: tuple[Any, str, tuple[Path, ...]] | None = None

    def headers(self) -> tuple[Path, ...]:
        """Return the headers, as they are found now."""
        if "include" not in self._source and "import" not in self._source:
            return ()
        angles: list[str | Path] = [*self._folders, cuda_include_dir()]
        return tuple(resolve_includes(self._source, self._folders, base_dir=self._source_dir, angle_dirs=angles))

    def digest(self) -> str:
        """Return the hash of all headers, ``""`` without any."""
        found = self._found  # another thread may replace it
        if found is not None and found[0] == self._state(found[2]):
            return found[1]
        headers = self.headers()
        state = self._state(headers)
        digest = include_hash(headers) if headers else ""
        newest = max((changed for changed, _ in state or ((0, 0),)), default=0)
        settled = time.time_ns() - newest > _SETTLED and state == self._state(headers)
        self._found = (state, digest, headers) if settled else None
        return digest

    def _state(self, headers: Sequence[Path]) -> tuple[tuple[int, int], ...] | None:
        """Return times and sizes of the headers, and of all folders in which another one could come before them."""
        folders = dict.fromkeys([*self._folders, *(path.parent for path in headers)])
        if self._source_dir is not None:
            folders[self._source_dir] = None
        found = []
        for path in (*headers, *folders):
            try:
                status = path.stat()
            except OSError:  # a folder that is not there (yet)
                found.append((0, -1))
            else:
                found.append((status.st_mtime_ns, status.st_size))
        return tuple(found)
