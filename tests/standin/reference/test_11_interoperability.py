"""Reference, section 11: other libraries. Numba, PyTorch and cuDF need a GPU; their protocols are tried here."""

import cupy as cp
import numpy as np
import pytest


def test_numpy_dispatches():
    cupy_array = cp.arange(5.0)
    result = np.sum(cupy_array)
    assert isinstance(result, cp.ndarray)
    assert float(result) == 10


def test_the_interface_that_others_read():
    array = cp.arange(12, dtype=cp.float32).reshape(3, 4)[:, ::2]
    described = array.__cuda_array_interface__
    assert described["shape"] == (3, 2)
    assert described["typestr"] == "<f4"
    assert described["strides"] == (16, 8)
    assert described["data"] == (array.data.ptr, False)
    assert described["version"] == 3


def test_dlpack():
    array = cp.arange(4.0)
    assert array.__dlpack_device__() == (2, 0)
    assert isinstance(cp.from_dlpack(array), cp.ndarray)
    with pytest.raises(BufferError, match="CPU arrays cannot be directly imported"):
        cp.from_dlpack(np.arange(3.0))
    # No other library may read host memory that claims to be a GPU's.
    with pytest.raises(BufferError, match="no device memory"):
        array.__dlpack__()


def test_raw_pointers():
    cupy_array = cp.arange(6.0)
    ptr = cupy_array.data.ptr
    shape, dtype, size_bytes, owner_obj = (2, 3), cp.float64, cupy_array.nbytes, cupy_array
    mem = cp.cuda.UnownedMemory(ptr, size_bytes, owner=owner_obj)
    memptr = cp.cuda.MemoryPointer(mem, offset=0)
    arr = cp.ndarray(shape, dtype, memptr=memptr)
    arr[1, 2] = 70
    assert float(cupy_array[5]) == 70
    assert arr.data.ptr == ptr
    with pytest.raises(TypeError, match="too small"):
        cp.ndarray((7,), dtype, memptr=memptr)
