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


def test_casts_at_the_edges_do_not_warn():
    a = cp.array([-1.5, np.inf, np.nan])
    assert a.astype(cp.uint8).dtype == np.uint8
    assert a.astype(cp.int32).dtype == np.int32


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
