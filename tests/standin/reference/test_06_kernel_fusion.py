"""Reference, section 6: fused functions give what they give unfused."""

import cupy as cp
import numpy as np
import pytest


@cp.fuse()
def fused_op(x, y):
    return cp.sqrt((x - y) ** 2 + 1.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_kernel(dtype):
    rng = np.random.default_rng(6)
    x, y = rng.random((2, 1000)).astype(dtype)
    result = fused_op(cp.asarray(x), cp.asarray(y))
    assert result.dtype == dtype
    np.testing.assert_allclose(result.get(), np.sqrt((x - y) ** 2 + dtype(1)), rtol=4 * np.finfo(dtype).eps)


def test_a_simple_reduction():
    @cp.fuse()
    def norm(x):
        return cp.sum(x * x)

    assert float(norm(cp.arange(5.0))) == 30


@pytest.mark.parametrize(
    "function",
    [
        lambda x: cp.matmul(x, x), lambda x: x @ x, lambda x: cp.dot(x, x), lambda x: x.reshape(-1), lambda x: x.T,
        lambda x: x.ravel(), lambda x: cp.concatenate([x, x]), lambda x: cp.cumsum(x), lambda x: cp.argmax(x),
        lambda x: x.mean(), lambda x: abs(x), lambda x: len(x), lambda x: x + OTHER, lambda x: x + np.ones(3),
        lambda x: np.exp(x), lambda x: x.size, lambda x: float(x), lambda x: 1.0 if x else 0.0,
        lambda x: cp.where(x), lambda x: cp.broadcast_to(x, (2, 3, 3)), lambda x: divmod(x, 2),
    ],
)  # fmt: skip
def test_what_is_not_fused_is_refused(function):
    with pytest.raises((TypeError, AttributeError)):
        cp.fuse()(function)(cp.ones((3, 3)))


OTHER = cp.ones((3, 3))


def test_refusals_have_cupys_words():
    x = cp.ones((3, 3))
    for function, kind, words in (
        (lambda x: x[[0, 1]], IndexError, "Indices must be integers, slices, ellipsis, None"),
        (lambda x: x.__setitem__(0, 1.0), ValueError, r"The fusion supports `\[...\]` or `\[:\]`"),
        (lambda x: cp.sum(x, keepdims=True), NotImplementedError, "does not support `keepdims` in fusion yet"),
        (lambda x: x.shape, NotImplementedError, "`shape` is not supported, currently"),
        (lambda x: x + OTHER, TypeError, "Concrete ndarray is not supported in fusion"),
        (lambda x: int(x), TypeError, "Cannot convert to Python scalar in cupy.fuse"),
    ):
        with pytest.raises(kind, match=words):
            cp.fuse()(function)(x)
    # Indices that give views are fused by CuPy 14, although the text says that they are not.
    assert cp.fuse()(lambda x: x[0] + x[:, None])(cp.ones((3, 3))).shape == (3, 1, 3)


def test_arguments_change_in_place():
    @cp.fuse()
    def advance(x, v, dt):
        x += v * dt
        v[...] = cp.where(x > 1, -v, v)
        return cp.amax(x), cp.sum(v, axis=0)

    x, v = cp.asarray([0.0, 1.0, 2.0]), cp.asarray([1.0, 1.0, 1.0])
    largest, total = advance(x, v, 0.5)
    np.testing.assert_allclose(x.get(), [0.5, 1.5, 2.5])
    np.testing.assert_allclose(v.get(), [1, -1, -1])
    assert (float(largest), float(total)) == (2.5, -1)


def test_fused_functions_call_each_other():
    @cp.fuse()
    def outer(x, scale):
        return fused_op(x, scale * 2) + cp.clip(x, 0, 1)

    x = cp.asarray([0.0, 2.0], dtype=np.float32)
    assert outer(x, 1.0).dtype == np.float32
    np.testing.assert_allclose(outer(x, 1.0).get(), [np.sqrt(5), 2], rtol=1e-6)
    with pytest.raises(TypeError, match="Invalid argument type"):
        outer(x, "1")
