"""PETSc vectors of device arrays on a real GPU; PETSc itself is a fake that only holds the arrays."""

from __future__ import annotations

import cupy
import numpy as np
import pytest

import cunumpy as xp
import fake_petsc4py
from cunumpy.petsc import petsc_access, petsc_array, petsc_vec
from cunumpy.petsc._matrices import Callback


@pytest.fixture(autouse=True)
def petsc(monkeypatch):
    return fake_petsc4py.install(monkeypatch)


def test_the_way_back_is_the_same_memory():
    array = cupy.arange(1000.0).reshape(10, 100)
    view = petsc_array(petsc_vec(array))
    assert view.data.ptr == array.data.ptr
    assert view.shape == (1000,)
    view += 1
    np.testing.assert_array_equal(cupy.asnumpy(array).reshape(-1), np.arange(1000.0) + 1)
    del array
    assert float(view[999]) == 1000  # the vector keeps the memory, and the view the vector


def test_work_before_and_after_has_completed():
    array = cupy.zeros(1 << 20)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        for _ in range(100):
            array += 1
    vec = petsc_vec(array, stream=stream)
    assert stream.done
    with petsc_access(vec, stream=stream) as values, stream:
        for _ in range(100):
            values += 1
    assert stream.done
    assert float(array.min()) == 200


def test_functions_get_device_arrays():
    def double(x, out):
        xp.multiply(x, 2, out=out)

    x, y = petsc_vec(cupy.arange(6.0)), petsc_vec(cupy.zeros(6))
    Callback(double, "shell_matrix", [(2, 3), (2, 3)])([x], y)
    np.testing.assert_array_equal(cupy.asnumpy(y.array), 2 * np.arange(6.0))
