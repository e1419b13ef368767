"""What is installed and what is active: `backend_info`, and the report of ``python -m cunumpy``."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _backend, _environment, _installation, _launcher, _threads, _versions
from cunumpy.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterator

CUPY_DISTRIBUTIONS = ("cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x", "cupy-rocm-6-0", "cupy-rocm-7-0")

# A separate process, so that a broken MPI can neither hang nor abort this one; MPI is loaded and not initialised.
_MPI_PROGRAM = """
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI
print(*MPI.Get_library_version().replace("\\0", "").strip().splitlines()[0].split())
"""


# --- backend_info -----------------------------------------------------------------------------------------------------


def backend_info() -> dict[str, Any]:
    """Return the active backend, the versions that matter and the CUDA device, for logs and bug reports.

    It looks for CuPy (which imports it), never raises, changes nothing, and does not touch MPI.

    Returns
    -------
    dict
        Can be written as JSON. ``backend``: the active one; ``cupy_available``: bool; ``cuda_unavailable_reason``: str,
        or None where CuPy is available; ``versions``: str or None for ``cunumpy`` (that of `cunumpy-core`), ``numpy``,
        ``array-api-compat`` and ``cupy``; ``min_cupy_version``: the oldest CuPy that is supported;
        ``device``: None without CuPy, else a dict of the current device's ``id``, ``name``, ``compute_capability``
        (such as ``"90"``), and of ``visible_devices`` (how many), ``driver_version`` and ``runtime_version`` (CUDA's,
        as 1000 major + 10 minor); ``cuda_visible_devices``: the environment variable, or None;
        ``cuda_inspection_error``: only where CuPy is available but the device could not be asked.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.backend_info()["backend"]
    'numpy'
    """
    available, reason = _look_for_cupy()
    info: dict[str, Any] = {
        "backend": _backend.get_backend(),
        "cupy_available": available,
        "cuda_unavailable_reason": reason,
        "versions": {
            "cunumpy": _versions.version(),
            "numpy": np.__version__,
            "array-api-compat": _versions.installed_version("array-api-compat"),
            "cupy": _module_version("cupy"),
        },
        "min_cupy_version": _versions.MIN_CUPY_VERSION,
        "device": None,
        "cuda_visible_devices": os.environ.get("CUDA_VISIBLE_DEVICES"),
    }
    if available:
        try:
            info["device"] = _device()
        except Exception as error:  # a broken driver fails with anything
            info["cuda_inspection_error"] = f"{type(error).__name__}: {error}"
    return info


def _look_for_cupy() -> tuple[bool, str | None]:
    import warnings

    with warnings.catch_warnings():
        # The first look warns of an old CuPy; where warnings are errors that would be an exception.
        warnings.simplefilter("default")
        return _backend.cupy_available(), _backend.cupy_unavailable_reason()


def _device() -> dict[str, Any]:
    cupy = sys.modules["cupy"]
    runtime = cupy.cuda.runtime
    number = int(runtime.getDevice())
    name = runtime.getDeviceProperties(number)["name"]
    return {
        "id": number,
        "name": name.decode() if isinstance(name, bytes) else str(name),
        "compute_capability": str(cupy.cuda.Device(number).compute_capability),
        "visible_devices": int(runtime.getDeviceCount()),
        "driver_version": int(runtime.driverGetVersion()),
        "runtime_version": int(runtime.runtimeGetVersion()),
    }


def _module_version(name: str) -> str | None:
    version = getattr(sys.modules.get(name), "__version__", None)
    return None if version is None else str(version)


# --- the report -------------------------------------------------------------------------------------------------------


def report() -> dict[str, Any]:
    """Return everything that a bug report needs; can be written as JSON.

    It takes about a second, since it asks compilers and MPI for their versions. What is missing is None or a text that
    says why; nothing raises.
    """
    import platform

    return {
        "cunumpy": _installed(),
        "python": {
            "version": platform.python_version(),
            "implementation": platform.python_implementation(),
            "executable": sys.executable,
            "platform": platform.platform(),
            "machine": platform.machine(),
            "processors": _threads.usable_processors(),
        },
        "packages": {
            "numpy": np.__version__,
            "blas": _blas(),
            "scipy": _versions.installed_version("scipy"),
            "array-api-compat": _versions.installed_version("array-api-compat"),
            "cupy": {name: version for name in CUPY_DISTRIBUTIONS if (version := _versions.installed_version(name))},
            "mpi4py": _versions.installed_version("mpi4py"),
            "petsc4py": _petsc_version(),
        },
        "native_code": _native_code(),
        "backend": backend_info(),
        "cuda_driver": _cuda_driver(),
        "mpi": _mpi(),
        "compilers": _compilers(),
        "settings": _environment.settings(),
        "unknown_variables": _environment.unknown_variables(),
    }


def _installed() -> dict[str, Any]:
    import cunumpy

    return {
        "version": _versions.version(),
        "location": os.path.dirname(os.path.abspath(str(cunumpy.__file__))),
        "distributions": {name: _distribution(name) for name in _versions.DISTRIBUTIONS},
        "older": _installation.older_versions(cunumpy.__path__),
    }


def _distribution(name: str) -> dict[str, Any] | None:
    import json
    from importlib import metadata

    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    try:  # PEP 610
        direct = json.loads(distribution.read_text("direct_url.json") or "{}")
    except ValueError:
        direct = {}
    editable = isinstance(direct, dict) and bool(direct.get("dir_info", {}).get("editable", False))
    return {"version": distribution.version, "editable": editable}


def _blas() -> str | None:
    try:
        blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return f"{blas['name']} {blas['version']}"
    except Exception:  # the layout of this dictionary is nobody's promise
        return None


def _petsc_version() -> str | None:
    from importlib import import_module

    version = _versions.installed_version("petsc4py")
    if version is not None:
        return version
    try:
        petsc4py = import_module("petsc4py")  # does not initialise PETSc; some wheels carry it without metadata
    except ImportError:
        return None
    return str(getattr(petsc4py, "__version__", "unknown"))


def _native_code() -> dict[str, Any]:
    """Return what runs on the host for the packages that can have native code, and with how many threads."""
    from importlib.util import find_spec

    found: dict[str, Any] = {
        f"cunumpy-{name}": None if find_spec(f"cunumpy.{name}") is None else _host_path(f"cunumpy.{name}")
        for name in ("rng", "algorithms")
    }
    try:
        found["threads"] = _threads.thread_count()
    except SettingError as error:
        found["threads"] = str(error)
    return found


def _host_path(package: str) -> str:
    import warnings
    from importlib import import_module

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a library that can't be used; its status says why
            import_module(package)
    except (ImportError, SettingError) as error:  # also where native code is required and missing
        return f"can't be imported: {error}"
    library = import_module("cunumpy.cuda._host_library").HOST_LIBRARIES[package]
    return str(library.status)


def _cuda_driver() -> str:
    """Return the newest CUDA version that the NVIDIA driver supports, or that there is no driver."""
    import ctypes

    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    number = ctypes.c_int()
    try:
        status = ctypes.CDLL(name).cuDriverGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        return f"no NVIDIA driver ({name} can't be loaded)"
    if status != 0:
        return f"the NVIDIA driver does not answer (error {status})"
    return f"supports CUDA {number.value // 1000}.{number.value % 1000 // 10}"


def _mpi() -> dict[str, Any]:
    from importlib.util import find_spec

    if find_spec("mpi4py") is None:
        library = "mpi4py is not installed (uv add mpi4py)"
    else:
        library = _run([sys.executable, "-c", _MPI_PROGRAM])
    launch = _launcher.find_launch()
    found: dict[str, Any] = {"library": library, "launch": None if launch is None else launch._asdict()}
    try:
        found["launched"] = _launcher.launched_under_mpi()
        found["local_rank"] = _launcher.local_rank()
    except SettingError as error:
        found["problem"] = str(error)
    return found


def _compilers() -> dict[str, str | None]:
    import shlex
    import shutil

    found: dict[str, str | None] = {}
    commands = {"c++": "c++", "g++": "g++", "clang++": "clang++", "nvcc": "nvcc"}
    if os.environ.get("CXX", "").strip():
        commands = {"CXX": os.environ["CXX"], **commands}
    for name, text in commands.items():
        try:
            command = shlex.split(text)
        except ValueError as error:
            found[name] = f"{text!r} can't be read: {error}"
            continue
        if shutil.which(command[0]) is None:
            found[name] = f"{command[0]} is not on the PATH" if name == "CXX" else None
        else:
            found[name] = _run([*command, "--version"], line="release" if name == "nvcc" else "")
    return found


def _run(command: list[str], line: str = "") -> str:
    """Return the first line of a program's output that contains `line`, or why there is none."""
    import subprocess

    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=10, check=False)
    except subprocess.TimeoutExpired:
        return "does not answer within 10 s"
    except OSError as error:
        return f"can't be run: {error.strerror or error}"
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [""])[-1]
        return f"fails with exit status {done.returncode}: {reason}".rstrip(": ")
    return next((text.strip() for text in done.stdout.splitlines() if text.strip() and line in text), "says nothing")


# --- the report as text -----------------------------------------------------------------------------------------------


def report_text(data: dict[str, Any]) -> str:
    """Return the report as lines to read."""
    return "\n".join(_lines(data)) + "\n"


def _lines(data: dict[str, Any]) -> Iterator[str]:
    installation, info, mpi = data["cunumpy"], data["backend"], data["mpi"]
    yield from _section("CuNumpy", {"version": installation["version"], "loaded from": installation["location"]})
    yield from (
        _line(name, _distribution_text(found), indent=4) for name, found in installation["distributions"].items()
    )
    for version in installation["older"]:
        yield _line(
            "problem", f"files of cunumpy {version}, an older package, are mixed in: uv remove cunumpy, then add it"
        )

    python = data["python"]
    yield from _section(
        "Python",
        {
            "version": f"{python['version']} ({python['implementation']})",
            "executable": python["executable"],
            "platform": f"{python['platform']}, {python['machine']}, {python['processors']} processors usable",
        },
    )
    packages = data["packages"]
    yield from _section(
        "Packages",
        {
            "numpy": f"{packages['numpy']}, BLAS: {packages['blas'] or 'unknown'}",
            **{name: packages[name] for name in ("scipy", "array-api-compat")},
            "cupy": ", ".join(f"{name} {version}" for name, version in packages["cupy"].items()) or None,
            **{name: packages[name] for name in ("mpi4py", "petsc4py")},
        },
    )
    if len(packages["cupy"]) > 1:
        yield _line("problem", "more than one CuPy is installed; they overwrite each other: keep one (uv remove ...)")

    native = data["native_code"]
    yield from _section(
        "Native code",
        {
            **{name: native[name] or "not installed" for name in ("cunumpy-rng", "cunumpy-algorithms")},
            "threads": native["threads"],
        },
    )

    yield from _section(
        "Backend",
        {
            "active": info["backend"],
            "CuPy": f"{info['versions']['cupy']}, usable"
            if info["cupy_available"]
            else info["cuda_unavailable_reason"],
            "oldest CuPy supported": info["min_cupy_version"],
            "CUDA driver": data["cuda_driver"],
        },
    )
    device = info["device"]
    if device is not None:
        yield _line(
            "device",
            f"{device['id']} of {device['visible_devices']}: {device['name']}, compute capability "
            f"{device['compute_capability']}, driver {device['driver_version']}, runtime {device['runtime_version']}",
        )
    if "cuda_inspection_error" in info:
        yield _line("problem", f"the device can't be asked: {info['cuda_inspection_error']}")
    yield _line("CUDA_VISIBLE_DEVICES", "unset" if (text := info["cuda_visible_devices"]) is None else repr(text))

    yield from _section("MPI", {"library": mpi["library"]})
    launch = mpi["launch"]
    if launch is None:
        yield _line("launch", "none seen")
    else:
        known = ", ".join(f"{name} {value}" for name, value in launch.items() if isinstance(value, int))
        yield _line("launch", f"{launch['launcher']} (by {launch['variable']}): {known}")
    if "launched" in mpi:
        yield _line("counts as MPI run", "yes" if mpi["launched"] else "no")
    if "problem" in mpi:
        yield _line("problem", mpi["problem"])

    yield from _section("Compilers", data["compilers"])
    yield from _section("Settings", {})
    for name, setting in data["settings"].items():
        yield _line(name, setting.get("error") or f"{setting['text']!r}, read as {setting['value']!r}")
    for name, likely in data["unknown_variables"].items():
        yield _line(name, "is no variable of CuNumpy" + (f"; did you mean {likely}?" if likely else ""))
    if not data["settings"] and not data["unknown_variables"]:
        yield "  no variable of CuNumpy is set"


def _section(title: str, values: dict[str, Any]) -> Iterator[str]:
    if title != "CuNumpy":
        yield ""
    yield title
    for name, value in values.items():
        yield _line(name, "not found" if value is None else str(value))


def _line(name: str, text: str, indent: int = 2) -> str:
    return f"{' ' * indent}{name:<{26 - indent}}{text}"


def _distribution_text(found: dict[str, Any] | None) -> str:
    if found is None:
        return "not installed"
    return f"{found['version']}{', editable' if found['editable'] else ''}"
