"""Reference, section 2: the import changes, transfers are explicit, functions serve both."""

import cupy as cp
import numpy as np
import pytest


def test_the_import_changes():
    a = cp.random.rand(100_000)
    b = cp.fft.fft(a)
    c = cp.sort(b.real)
    assert all(isinstance(one, cp.ndarray) for one in (a, b, c))
    np.testing.assert_allclose(c.get(), np.sort(np.fft.fft(a.get()).real), atol=1e-8)


def test_transfers():
    numpy_array = np.arange(6.0).reshape(2, 3)
    gpu_array = cp.asarray(numpy_array)
    assert cp.asarray(gpu_array) is gpu_array
    copied = cp.array(gpu_array)
    copied[0, 0] = 7
    assert gpu_array[0, 0] == 0
    for cpu_array in (cp.asnumpy(gpu_array), gpu_array.get()):
        assert type(cpu_array) is np.ndarray
        np.testing.assert_array_equal(cpu_array, numpy_array)
        assert not np.shares_memory(cpu_array, numpy_array)


def normalize(x):
    xp = cp.get_array_module(x)
    return x / xp.linalg.norm(x)


def test_one_function_for_both():
    numpy_array = np.array([3.0, 4.0])
    on_host, on_device = normalize(numpy_array), normalize(cp.asarray(numpy_array))
    assert type(on_host) is np.ndarray
    assert type(on_device) is cp.ndarray
    np.testing.assert_allclose(on_host, [0.6, 0.8])
    np.testing.assert_allclose(on_device.get(), [0.6, 0.8])


def test_numpy_s_functions_dispatch():
    a = cp.arange(4.0)
    for result in (np.sqrt(a), np.concatenate([a, a]), np.linalg.norm(a), np.fft.fft(a)):
        assert isinstance(result, cp.ndarray)
    with pytest.raises(TypeError, match="Implicit conversion to a NumPy array is not allowed"):
        np.asarray(a)
