"""`PyccelCache` with Pyccel and a C compiler; see `conftest.py`."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cunumpy.errors import CompileError
from cunumpy.kernels import PyccelCache

FILES = {
    "push/__init__.py": "",
    "push/helper.py": "def twice(x: float) -> float:\n    return 2.0 * x\n",
    "push/scale_kernels.py": """
from typing import Final

from .helper import twice


def scale(a: float, x: 'Final[float[:]]', y: 'float[:]'):
    for i in range(x.shape[0]):
        y[i] = a * twice(x[i])
""",
    "push/bad_kernels.py": "def bad(x: 'float[:]'):\n    x.nonsense()\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize("openmp", ["0", "1"])
def test_a_module_is_compiled_with_what_it_imports(folder, monkeypatch, openmp):
    monkeypatch.setenv("MY_CODE_OPENMP", openmp)
    built = PyccelCache("my-code").compile(importlib.import_module("push.scale_kernels"))
    x, y = np.arange(5.0), np.zeros(5)
    built.scale(3.0, x, y)
    assert y.tolist() == (6.0 * x).tolist()
    with pytest.raises(TypeError):  # compiled code takes the declared dtypes only
        built.scale(3.0, x.astype(np.float32), y)
    path = Path(built.__file__)
    assert folder / "home" in path.parents
    assert "scale" in (path.parent / "__pyccel__" / "scale_kernels.pyi").read_text()


def test_what_pyccel_does_not_understand(folder):
    with pytest.raises(CompileError, match=r"can't compile .*bad_kernels\.py(.|\n)*pyccel compile(.|\n)*nonsense"):
        PyccelCache("my-code").compile(importlib.import_module("push.bad_kernels"))


def test_sixteen_processes_on_an_empty_cache_build_once(folder):
    program = """
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
import numpy
import push.scale_kernels
from cunumpy.kernels import PyccelCache
y = numpy.zeros(3)
PyccelCache("my-code").compile(push.scale_kernels).scale(2.0, numpy.ones(3), y)
assert y.tolist() == [4.0] * 3
"""
    workers = [
        subprocess.Popen([sys.executable, "-c", program], cwd=folder, stdout=subprocess.PIPE, text=True)
        for _ in range(16)
    ]
    outputs = [worker.communicate(timeout=300)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 16
    assert sum(text.count(": miss: building") for text in outputs) == 1
