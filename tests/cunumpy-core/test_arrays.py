"""Recognising arrays by what they are."""

import numpy as np
import pytest

import cunumpy as xp
from cunumpy import errors


class ForeignArray:
    """What a device array of another library shows."""

    @property
    def __cuda_array_interface__(self):
        return {"shape": (3,), "typestr": "<f8", "data": (4096, False), "version": 3}

    def __array__(self, dtype=None, copy=None):
        raise TypeError("implicit conversion is not allowed")


class ForeignByDLPack:
    def __dlpack_device__(self):
        return (2, 0)


class HostByDLPack:
    def __dlpack_device__(self):
        return (1, 0)


class WithGradients:
    """As PyTorch does for tensors that need gradients."""

    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("can't get __cuda_array_interface__ on a Variable that requires grad")

    def __dlpack_device__(self):
        return (2, 0)


class Refusing:
    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("not now")


HOST = [
    np.zeros(3),
    np.float64(1),
    [1, 2],
    (1,),
    3,
    2.5,
    1j,
    "text",
    b"bytes",
    None,
    {"a": 1},
    object(),
    np.zeros(()),
    int,
]


@pytest.mark.parametrize(
    "value",
    [*HOST, HostByDLPack(), Refusing(), np.ma.array([1.0]), ForeignArray],
    ids=lambda value: repr(value).split(" at 0x")[0],  # the same in every process
)
def test_host_data(value):
    assert xp.get_array_backend(value) == "numpy"
    assert xp.is_cpu(value) is True
    assert xp.is_gpu(value) is False


@pytest.mark.parametrize("value", [ForeignArray(), ForeignByDLPack(), WithGradients()])
def test_foreign_device_arrays(value):
    assert xp.get_array_backend(value) == "cupy"
    assert xp.is_cpu(value) is False
    assert xp.is_gpu(value) is True


def test_module_of_an_array_has_numpys_call_forms():
    module = xp.get_array_module(np.zeros(3))
    np.testing.assert_array_equal(module.zeros(3, float), np.zeros(3))
    assert module.std(np.arange(4.0), ddof=1) == np.std(np.arange(4.0), ddof=1)
    assert module.sum is np.sum


def test_same_backend():
    assert xp.same_backend()
    assert xp.same_backend(np.zeros(1))
    assert xp.same_backend(np.zeros(1), [2])
    assert not xp.same_backend(np.zeros(1), ForeignArray())
    xp.assert_same_backend(np.zeros(1), 3)
    with pytest.raises(errors.MixedBackendError, match=r"mismatched backends \['numpy', 'cupy'\].*to_numpy or to_cupy"):
        xp.assert_same_backend(np.zeros(1), ForeignArray())
    assert issubclass(errors.MixedBackendError, TypeError)


def test_array_type():
    assert isinstance(np.zeros(2), xp.Array)
    assert not isinstance([1.0], xp.Array)
    assert not isinstance(np.float64(1), xp.Array)
    with pytest.raises(TypeError, match=r"xp\.asarray"):
        xp.Array(3)
