"""`fuse` on the host; `tests/standin/test_fuse_cupy.py` and `tests/gpu/test_fuse.py` have device arrays.

`test_fuse_loops.py` has what is compiled.
"""

from __future__ import annotations

import functools
import subprocess
import sys

import numpy as np
import pytest

import array_kinds
import cunumpy as xp
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.kernels import fuse


def scaled(x, a=2.0):
    """Scale."""
    return a * x


@pytest.mark.parametrize("kind", array_kinds.KINDS, ids=str)
def test_small_calls_get_the_arguments_as_they_are(kind, tmp_path):
    """But the first of its kind, where arrays that could be fused are stood for."""
    array = kind.make(tmp_path)
    seen = []

    @fuse
    def record(*args, **kwargs):
        seen.extend([args, kwargs])
        return args[0]

    assert record(array, 1, name=array) is array
    seen.clear()
    assert record(array, 1, name=array) is array
    (first, number), keywords = seen
    assert first is array
    assert number == 1
    assert keywords["name"] is array


def test_the_result_is_that_of_the_function():
    x = np.arange(3.0)
    assert fuse(scaled)(x).tolist() == [0.0, 2.0, 4.0]
    assert fuse(scaled)(x, a=3.0).tolist() == [0.0, 3.0, 6.0]
    assert fuse(scaled)(3, 4) == 12


def test_the_decorator_with_and_without_arguments_keeps_name_and_documentation():
    for fused in (fuse(scaled), fuse()(scaled), fuse(kernel_name="scale")(scaled), fuse(scaled, kernel_name="scale")):
        assert fused.__name__ == "scaled"
        assert fused.__doc__ == "Scale."
        assert fused.__wrapped__ is scaled
        assert fused(2) == 4


def test_functions_without_a_name():
    assert fuse(functools.partial(scaled, a=5.0)).__name__ == "scaled"
    assert fuse(functools.partial(functools.partial(scaled), a=5.0))(2.0) == 10.0

    class Scale:
        def __call__(self, x):
            return 3 * x

    assert fuse(Scale()).__name__ == "Scale"
    assert fuse(Scale())(2) == 6


def test_fused_functions_in_fused_functions():
    inner = fuse(scaled)
    outer = fuse(lambda x: inner(x, 3.0) + 1.0)
    assert outer(np.ones(2)).tolist() == [4.0, 4.0]


def test_exceptions_pass_through():
    with pytest.raises(ZeroDivisionError):
        fuse(lambda x: x / 0)(1)


@pytest.mark.parametrize("function", [3, "scaled"])
def test_what_is_no_function(function):
    with pytest.raises(ArgumentTypeError, match="fuse: argument 'function' must be callable, got"):
        fuse(function)


@pytest.mark.parametrize("name", ["", "a b", "1a", "<lambda>", 3])
def test_names_that_are_none(name):
    with pytest.raises(ArgumentError, match="fuse: argument 'kernel_name' must be a name of a C function"):
        fuse(scaled, kernel_name=name)


def test_methods():
    class Grid:
        @fuse
        def doubled(self, x):
            return 2 * x

    assert Grid().doubled(3) == 6


def test_a_host_call_does_not_import_cupy():
    program = "import sys, cunumpy as xp; xp.kernels.fuse(lambda x: x)(1); sys.exit('cupy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_backend_stays():
    assert fuse(lambda x: xp.get_backend())(1) == xp.get_backend()
