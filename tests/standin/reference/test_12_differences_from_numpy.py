"""Reference, section 12: where CuPy differs from NumPy, the stand-in does too, or says so."""

import cupy as cp
import numpy as np
import pytest


def test_reductions_give_arrays():
    total = cp.sum(cp.arange(3.0))
    assert isinstance(total, cp.ndarray)
    assert total.shape == ()
    assert total.item() == 3.0


def test_an_index_out_of_bounds_is_told_instead_of_wrapped():
    with pytest.raises(IndexError, match="out of bounds"):
        cp.arange(3)[cp.array([5])]


def test_of_several_values_for_one_element_not_the_last_is_kept():
    a, b = cp.zeros(3), cp.zeros((2, 2))
    a[[0, 0]] = [1, 2]
    assert float(a[0]) == 1  # NumPy: 2; CuPy: one of them
    b[cp.array([1, 0, 1]), cp.array([0, 1, 0])] = cp.array([3.0, 4.0, 5.0])
    assert b.get().tolist() == [[0, 4], [3, 0]]
    a[[1, 1, 2]] = 7
    assert a.get().tolist() == [1, 7, 7]


def test_casts_at_the_edges_are_cudas():
    a = cp.array([-1.5, np.inf, -np.inf, np.nan, 300.7])
    assert a.astype(cp.uint8).get().tolist() == [0, 255, 0, 0, 44]
    assert a.astype(cp.int32).get().tolist() == [-1, 2**31 - 1, -(2**31), -(2**31), 300]
    assert a.astype(cp.float32).astype(cp.int32).get().tolist() == [-1, 2**31 - 1, -(2**31), 0, 300]
    assert a.astype(cp.uint64).get().tolist() == [0, 2**64 - 1, 0, 2**63, 300]
    b = cp.zeros(5, cp.uint32)
    b[...] = a
    assert b.get().tolist() == [0, 2**32 - 1, 0, 2**31, 300]


@pytest.mark.parametrize("values", [["a", "b"], [object()], [b"x"]], ids=["str", "object", "bytes"])
def test_no_other_dtypes(values):
    with pytest.raises(ValueError, match="Unsupported dtype"):
        cp.array(values)


@pytest.mark.parametrize("other", [[1, 2, 3], (1, 2, 3), np.arange(3)], ids=["list", "tuple", "NumPy"])
def test_functions_need_device_arrays(other):
    with pytest.raises(TypeError, match="Unsupported type"):
        cp.add(cp.arange(3), other)
    with pytest.raises(TypeError):
        cp.sqrt(other)


def test_seeds_may_be_arrays():
    one, other = cp.random.default_rng([1, 2, 3]), cp.random.default_rng([1, 2, 3])
    np.testing.assert_array_equal(one.random(5).get(), other.random(5).get())
