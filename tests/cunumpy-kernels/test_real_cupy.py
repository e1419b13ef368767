"""The stand-in's table of CuPy, and its strictness, against a real CuPy. No GPU and no driver are needed.

Collected where CuPy is installed only (`conftest.py`).
"""

from __future__ import annotations

import importlib.util
import json
import pathlib
import runpy
from typing import Any

import numpy as np
import pytest

from cunumpy.kernel_testing import run_in_fake_cupy_subprocess
from cunumpy.kernel_testing._fake_cupy import _api
from cunumpy.kernel_testing._fake_cupy.ufunc import METHODS

NAMES = pathlib.Path(__file__).with_name("cupy_names.py")
TOOL = pathlib.Path(__file__).parents[2] / "tools" / "cupy_api.py"

# What CuPy does without a device: views, refusals, questions. `a` has shape (4, 5), `f` is a transpose of it.
PROBES = [
    "a.T.strides", "a[1:, ::2].shape", "a[1:, ::2].strides", "a[::-1, None].strides", "a[0, 0].shape",
    "a[0].base is a", "a[0][1:].base is a", "a.real is a", "a.squeeze() is a", "a.flags['C_CONTIGUOUS']",
    "repr(a.flags)", "a.T.flags.f_contiguous", "a.flags.writeable", "a[7]", "a[1.5, 'x']", "np.asarray(a)",
    "len(a[0, 0])", "iter(a[0, 0])", "hash(a)", "setattr(a.T, 'shape', (20,))", "setattr(a, 'foo', 1)",
    "setattr(a, 'dtype', 'f4')", "a.__setitem__(0, [1, 2, 3, 4, 5])", "a.__setitem__(0, np.ones(5))",
    "cupy.sum(a, where=True)", "a.sum(initial=1)", "a.std(correction=1)", "a.max(where=1)", "np.insert(a, 0, 1)",
    "cupy.add(a, 1, foo=1)", "cupy.add(a)", "cupy.add(a, 1, subok=True)", "cupy.add(a, 1, order='C')",
    "cupy.astype(np.ones(3), 'f4')", "cupy.meshgrid(np.ones(3))", "cupy.copyto(a, np.ones(5))",
    "a.set(np.ones((4, 5), 'f4'))", "a.set(np.ones((4, 5), '>f8'))", "a.set([1])", "a.set(np.ones((5, 4)))",
    "operator.index(a[0, 0])", "a.item()", "a.item(0)", "bool(a)", "a.view('f4').shape", "a.view(cupy.ndarray).shape",
    "a.astype('f8', copy=False) is a", "a.astype('f4', casting='safe')", "a.astype('f4', subok=True)",
    "a.astype('O')", "a.astype('g')", "a.astype('U3')", "a.astype('>f8')", "a.diagonal().strides",
    "cupy.broadcast_to(a, (2, 4, 5)).strides", "a.T.reshape(20, copy=False)", "a.reshape(-1).base is a",
    "a.ravel().base is a", "a.mT.shape", "a[0].mT", "a[a]", "a.swapaxes(0, 1).shape", "a.to_device",
    "a.device == 0", "int(a.device)", "repr(a.device)", "hash(a.device)", "a.shape", "a.nbytes", "a.itemsize",
    "cupy.shape(np.ones(3))", "cupy.ndim([1])", "cupy.isscalar(1)", "cupy.iscomplexobj(np.ones(3))",
    "str(cupy.result_type(np.ones(3, 'f4'), a))", "cupy.can_cast('f4', 'f8')", "cupy.cuda.Device(3).id",
    "cupy.get_array_module(a) is cupy", "cupy.get_array_module(1) is np", "repr(cupy.cuda.Stream.null)",
    "cupy.cuda.Stream.null.ptr", "cupy.sum(1.0)", "cupy.stack([[1, 2], [3, 4]])", "cupy.stack([np.ones(2)])",
    "cupy.stack([1, np.float64(2)])", "cupy.column_stack([[1, 2], [3, 4]])", "cupy.column_stack([a[0], np.ones(5)])",
    "cupy.hstack([])", "cupy.polyval([1.0, 2.0], a[0])", "cupy.polyval(a, 1.0)", "cupy.polyadd([1.0], a[0])",
    "cupy.roots(a)", "cupy.roots(a[0, 0])", "cupy.polyfit(a[0], a[0], -1)",
]  # fmt: skip

ANSWERS = """
import operator
import numpy as np

def answer(probe, cupy, a):
    try:
        value = eval(probe, {"operator": operator, "np": np, "cupy": cupy, "a": a})
    except Exception as error:
        kind = next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")
        return ["raises", kind, str(error)]
    return ["gives", type(value).__name__, repr(value)]
"""

# Where only the kind of error is the same: texts of Cython, or of the stand-in, which knows better.
OTHER_TEXT = {
    "a[7]", "a[1.5, 'x']", "a.item(0)", "setattr(a, 'dtype', 'f4')", "operator.index(a[0, 0])", "cupy.sum(1.0)",
    "hash(a.device)", "a.to_device", "np.insert(a, 0, 1)", "a.astype('>f8')",
}  # fmt: skip


@pytest.fixture(scope="module")
def tool() -> Any:
    spec = importlib.util.spec_from_file_location("cupy_api", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_cupys(tool: Any) -> None:
    for name, value in tool.api().items():
        assert getattr(_api, name) == value, f"{name}: run tools/cupy_api.py again"


def test_ufunc_methods_are_cupys() -> None:
    import cupy

    given = {"reduce": (None,), "accumulate": (None,), "reduceat": (None, None), "at": (None, None, None)}
    for method, arguments in given.items():
        there = set()
        for name in _api.CUPY["ufuncs"]:
            try:
                getattr(getattr(cupy, name), method)(*arguments)
            except NotImplementedError:
                continue
            except Exception:  # of what it was given
                pass
            there.add(name)
        assert there == set(METHODS[method]), method


@pytest.fixture(scope="module")
def names() -> Any:
    return runpy.run_path(str(NAMES))


@pytest.fixture(scope="module")
def public_names(names: Any, tool: Any) -> tuple[Any, ...]:
    namespace: dict[str, Any] = {}
    exec(names["WALK"], namespace)
    theirs = namespace["public_names"]()
    for path, found in theirs.items():
        if found is None:  # it needs CUDA's libraries
            theirs[path] = {name: [] for name in tool.imported_names(path)}
    code = (
        "from cunumpy.kernel_testing import install_fake_cupy\ninstall_fake_cupy()\n"
        + names["WALK"]
        + "\nimport json\nprint(json.dumps([public_names(), set_on_objects()]))"
    )
    ours, set_on_ours = json.loads(run_in_fake_cupy_subprocess(code).stdout)
    return theirs, {path: found or {} for path, found in ours.items()}, set_on_ours


def public_modules() -> set[str]:
    """Return the modules of CuPy, by its files, without the private ones."""
    found = set()
    for package in ("cupy", "cupyx"):
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        root = pathlib.Path(spec.origin).parent
        for file in (*root.rglob("*.py"), *root.rglob("*.so")):
            parts = [package, *file.relative_to(root).parent.parts, file.name.partition(".")[0]]
            if parts[-1] == "__init__":
                parts.pop()
            if not any(part.startswith("_") for part in parts):
                found.add(".".join(parts))
    return found


def test_every_module_is_walked_or_listed(names: Any) -> None:
    namespace: dict[str, Any] = {}
    exec(names["WALK"], namespace)
    left_out = {path for text in names["MODULES_LEFT_OUT"].values() for path in text.split()}
    assert set(namespace["MODULES"]) - {"cupy.cuda.driver"} == public_modules() - left_out


def test_what_is_missing_is_listed(names: Any, public_names: Any) -> None:
    theirs, ours, _ = public_names
    missing = {f"{path}.{name}" for path in theirs for name in theirs[path] if name not in ours[path]}
    listed = [
        f"{path}.{name}" for by in names["LEFT_OUT"].values() for path, text in by.items() for name in text.split()
    ]
    assert sorted(missing) == sorted(listed)


def test_what_classes_lack_is_listed(names: Any, public_names: Any) -> None:
    theirs, ours, set_on_ours = public_names
    missing: dict[str, set[str]] = {}
    for path, of_module in theirs.items():
        for name, of_class in of_module.items():
            if name in ours[path] and (absent := set(of_class) - {*ours[path][name], *set_on_ours.get(name, ())}):
                missing.setdefault(name, set()).update(absent)
    listed: dict[str, set[str]] = {}
    for by_class in names["CLASSES_LACK"].values():
        for name, text in by_class.items():
            listed.setdefault(name, set()).update(text.split())
    assert missing == listed


def test_nothing_is_there_that_cupy_lacks(names: Any, public_names: Any) -> None:
    theirs, ours, _ = public_names
    more = {f"{path}.{name}" for path in ours for name in ours[path] if name not in theirs[path]}
    assert more - names["SHOWN_OTHERWISE"] == set()
    attributes = {
        f"{name}.{one}"
        for path in ours
        for name, of_class in ours[path].items()
        for one in of_class
        if theirs[path].get(name) and one not in theirs[path][name]
    }
    assert attributes == names["OF_OBJECTS"]


@pytest.fixture(scope="module")
def real_answers() -> dict[str, list[str]]:
    import cupy

    # Arrays over host memory: CuPy makes them without a driver, and only their metadata is asked for.
    buffer = np.zeros((4, 5))
    memory = cupy.cuda.UnownedMemory(buffer.ctypes.data, buffer.nbytes, buffer, 0)
    a = cupy.ndarray((4, 5), np.float64, cupy.cuda.MemoryPointer(memory, 0))
    namespace: dict[str, Any] = {}
    exec(ANSWERS, namespace)
    return {probe: namespace["answer"](probe, cupy, a) for probe in PROBES}


@pytest.fixture(scope="module")
def our_answers() -> dict[str, list[str]]:
    code = (
        ANSWERS
        + f"\nfrom cunumpy.kernel_testing import install_fake_cupy\ncupy = install_fake_cupy()\nprobes = {PROBES!r}\n"
        + "import json\nprint(json.dumps({p: answer(p, cupy, cupy.zeros((4, 5))) for p in probes}))"
    )
    answers: dict[str, list[str]] = json.loads(run_in_fake_cupy_subprocess(code).stdout)
    return answers


@pytest.mark.parametrize("probe", PROBES)
def test_the_stand_in_answers_like_cupy(
    probe: str, real_answers: dict[str, list[str]], our_answers: dict[str, list[str]]
) -> None:
    theirs, ours = real_answers[probe], our_answers[probe]
    assert "cudaError" not in theirs[2], "needs a device"
    if probe in OTHER_TEXT:
        assert ours[0] == theirs[0] == "raises"
    else:
        assert ours == theirs
