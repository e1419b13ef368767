"""Reference, section 4: each operation that is listed gives NumPy's and SciPy's values, dtypes and shapes."""

import cupy as cp
import cupyx.scipy.signal
import cupyx.scipy.sparse
import cupyx.scipy.special
import numpy as np
import pytest
import scipy.signal
import scipy.sparse
import scipy.special

UNARY = ["sin", "cos", "tan", "exp", "log", "log2", "log10", "sqrt", "square", "abs", "sign", "ceil", "floor"]
BINARY = ["power", "add", "subtract", "multiply", "divide", "mod", "maximum", "minimum"]
REDUCTIONS = ["sum", "prod", "mean", "std", "var", "min", "max", "argmin", "argmax", "cumsum", "cumprod", "any", "all"]
REDUCTIONS += ["nansum", "nanmean", "nanstd", "nanvar"]
TRANSFORMS = ["fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "rfft", "rfft2", "rfftn"]
INVERSE_REAL = ["irfft", "irfft2", "irfftn"]


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def same(found, expected, **tolerances):
    """Compare device results with host results: type, dtype, shape, values."""
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other, **tolerances)
        return
    assert isinstance(found, cp.ndarray)
    expected = np.asarray(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found.get(), expected, **({"rtol": 1e-12, "atol": 1e-12} | tolerances))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one(rng, name, dtype):
    x = (rng.random((5, 7)) + 0.1).astype(dtype)
    same(getattr(cp, name)(cp.asarray(x)), getattr(np, name)(x), rtol=1e-6 if dtype is np.float32 else 1e-14)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two(rng, name):
    x, y = rng.random((5, 7)) + 0.5, rng.random(7) + 0.5
    same(getattr(cp, name)(cp.asarray(x), cp.asarray(y)), getattr(np, name)(x, y))
    same(getattr(cp, name)(cp.asarray(x), 2.0), getattr(np, name)(x, 2.0))


def test_clip_and_round(rng):
    x = rng.standard_normal((5, 7)) * 3
    a = cp.asarray(x)
    same(cp.clip(a, -1, 1), np.clip(x, -1, 1))
    same(cp.round(a, 1), np.round(x, 1))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(rng, name):
    x = rng.random((4, 6)) + 0.5
    if name.startswith("nan"):
        x[1, 2] = np.nan
    for axis in (None, 0, 1):
        same(getattr(cp, name)(cp.asarray(x), axis=axis), getattr(np, name)(x, axis=axis))


class TestLinearAlgebra:
    def test_products(self, rng):
        x, y, v = rng.random((4, 4)), rng.random((4, 4)), rng.random(4)
        a, b, w = map(cp.asarray, (x, y, v))
        same(a @ b, x @ y)
        same(cp.dot(a, w), x @ v)
        same(cp.matmul(a, b), x @ y)
        same(cp.tensordot(a, b, 1), np.tensordot(x, y, 1))
        same(cp.einsum("ij,jk->ik", a, b), x @ y)
        same(cp.inner(w, w), v @ v)
        same(cp.outer(w, w), np.outer(v, v))

    def test_decompositions(self, rng):
        x = rng.random((5, 5))
        symmetric = x @ x.T + np.eye(5)
        a, s = cp.asarray(x), cp.asarray(symmetric)
        same(cp.linalg.cholesky(s), np.linalg.cholesky(symmetric))
        q, r = cp.linalg.qr(a)
        same(q @ r, x)
        u, d, vt = cp.linalg.svd(a)
        same(u @ cp.diag(d) @ vt, x)
        values, vectors = cp.linalg.eigh(s)
        same(s @ vectors, (vectors * values).get())
        same(cp.linalg.eigvalsh(s), np.linalg.eigvalsh(symmetric))
        values, vectors = cp.linalg.eig(a)
        same(a @ vectors, (vectors * values).get())

    def test_solutions_and_numbers(self, rng):
        x, v = rng.random((5, 5)) + 5 * np.eye(5), rng.random(5)
        a, w = cp.asarray(x), cp.asarray(v)
        same(cp.linalg.solve(a, w), np.linalg.solve(x, v))
        same(cp.linalg.inv(a), np.linalg.inv(x))
        same(cp.linalg.pinv(a[:, :3]), np.linalg.pinv(x[:, :3]))
        same(cp.linalg.lstsq(a[:, :3], w, rcond=None)[0], np.linalg.lstsq(x[:, :3], v, rcond=None)[0])
        same(cp.linalg.norm(a), np.linalg.norm(x))
        same(cp.linalg.det(a), np.linalg.det(x))
        same(cp.linalg.slogdet(a), tuple(np.linalg.slogdet(x)))
        same(cp.linalg.matrix_power(a, 3), np.linalg.matrix_power(x, 3))
        assert int(cp.linalg.matrix_rank(a)) == 5


@pytest.mark.parametrize("name", [*TRANSFORMS, *INVERSE_REAL])
def test_fourier_transforms(rng, name):
    x = rng.random((8, 8))
    if name in INVERSE_REAL:
        x = getattr(np.fft, name[1:])(x)
    same(getattr(cp.fft, name)(cp.asarray(x)), getattr(np.fft, name)(x))


def test_frequencies_and_shifts():
    same(cp.fft.fftfreq(9, 0.1), np.fft.fftfreq(9, 0.1))
    same(cp.fft.rfftfreq(9, 0.1), np.fft.rfftfreq(9, 0.1))
    same(cp.fft.fftshift(cp.arange(9)), np.fft.fftshift(np.arange(9)))
    same(cp.fft.ifftshift(cp.arange(9)), np.fft.ifftshift(np.arange(9)))


def test_sorting_and_searching(rng):
    x = rng.integers(0, 20, (4, 9))
    a = cp.asarray(x)
    same(cp.sort(a), np.sort(x))
    same(cp.take_along_axis(a, cp.argsort(a, axis=0), 0), np.sort(x, axis=0))
    for k in (0, 4):
        assert (cp.partition(a, k)[:, k].get() == np.sort(x)[:, k]).all()
        chosen = cp.take_along_axis(a, cp.argpartition(a, k), 1)
        assert (chosen[:, k].get() == np.sort(x)[:, k]).all()
    same(cp.argmin(a, axis=1), np.argmin(x, axis=1))
    same(cp.argmax(a), np.argmax(x))
    same(cp.where(a > 10, a, 0), np.where(x > 10, x, 0))
    same(cp.nonzero(a > 10), np.nonzero(x > 10))
    same(cp.unique(a), np.unique(x))
    same(cp.searchsorted(cp.arange(20), a.ravel()), np.searchsorted(np.arange(20), x.ravel()))


MANIPULATIONS = {
    "reshape": lambda xp, a: xp.reshape(a, (2, -1)),
    "ravel": lambda xp, a: a.ravel(),
    "flatten": lambda xp, a: a.flatten(),
    "transpose": lambda xp, a: xp.transpose(a, (1, 0)),
    "swapaxes": lambda xp, a: xp.swapaxes(a, 0, 1),
    "concatenate": lambda xp, a: xp.concatenate([a, a], axis=1),
    "stack": lambda xp, a: xp.stack([a, a], axis=-1),
    "vstack": lambda xp, a: xp.vstack([a, a]),
    "hstack": lambda xp, a: xp.hstack([a, a]),
    "dstack": lambda xp, a: xp.dstack([a, a]),
    "split": lambda xp, a: xp.split(a, 2),
    "hsplit": lambda xp, a: xp.hsplit(a, 3),
    "vsplit": lambda xp, a: xp.vsplit(a, 2),
    "tile": lambda xp, a: xp.tile(a, (2, 3)),
    "repeat": lambda xp, a: xp.repeat(a, 3, axis=0),
    "pad": lambda xp, a: xp.pad(a, ((1, 2), (0, 1)), mode="edge"),
    "flip": lambda xp, a: xp.flip(a),
    "fliplr": lambda xp, a: xp.fliplr(a),
    "flipud": lambda xp, a: xp.flipud(a),
    "roll": lambda xp, a: xp.roll(a, 2, axis=1),
    "rot90": lambda xp, a: xp.rot90(a),
    "broadcast_to": lambda xp, a: xp.broadcast_to(a, (3, 4, 6)),
    "expand_dims": lambda xp, a: xp.expand_dims(a, 1),
    "squeeze": lambda xp, a: xp.squeeze(a[:, :1]),
}


@pytest.mark.parametrize("name", MANIPULATIONS)
def test_manipulation(name):
    x = np.arange(24.0).reshape(4, 6)
    same(MANIPULATIONS[name](cp, cp.asarray(x)), MANIPULATIONS[name](np, x))


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_sparse_matrices(rng, format):
    dense, other, v = rng.random((6, 5)), rng.random((5, 4)), rng.random(5)
    dense[dense < 0.5], other[other < 0.5] = 0, 0
    ours = getattr(cupyx.scipy.sparse, f"{format}_matrix")
    a, b = ours(cp.asarray(dense)), ours(cp.asarray(other))
    assert a.nnz == np.count_nonzero(dense)
    same(a @ cp.asarray(v), dense @ v)
    same(a @ cp.asarray(other), dense @ other)
    same((a @ b).toarray(), dense @ other)
    for wanted in ("csr", "csc", "coo"):
        converted = a.asformat(wanted)
        assert (converted.format, converted.nnz) == (wanted, a.nnz)
        same(converted.toarray(), dense)
    on_host = a.get()
    assert isinstance(on_host, getattr(scipy.sparse, f"{format}_matrix"))
    np.testing.assert_array_equal(on_host.toarray(), dense)


def test_signals(rng):
    x, h = rng.random(50), rng.random(7)
    a, b = cp.asarray(x), cp.asarray(h)
    same(cupyx.scipy.signal.convolve(a, b), scipy.signal.convolve(x, h))
    same(cupyx.scipy.signal.correlate(a, b), scipy.signal.correlate(x, h))
    same(cupyx.scipy.signal.lfilter(b, cp.asarray([1.0, 0.5]), a), scipy.signal.lfilter(h, [1.0, 0.5], x))
    same(cupyx.scipy.signal.windows.hann(16), scipy.signal.windows.hann(16))


@pytest.mark.parametrize("name", ["j0", "j1", "y0", "i0", "erf", "erfc", "erfinv", "gamma", "gammaln", "digamma"])
def test_special_functions(rng, name):
    x = rng.random(20) * 0.9 + 0.05
    same(getattr(cupyx.scipy.special, name)(cp.asarray(x)), getattr(scipy.special, name)(x), rtol=1e-10)


def test_statistics(rng):
    x = rng.random((4, 30))
    a = cp.asarray(x)
    same(cp.mean(a, axis=1), np.mean(x, axis=1))
    same(cp.median(a, axis=1), np.median(x, axis=1))
    same(cp.std(a), np.std(x))
    same(cp.var(a), np.var(x))
    same(cp.percentile(a, 30), np.percentile(x, 30))
    same(cp.quantile(a, 0.3, axis=0), np.quantile(x, 0.3, axis=0))
    same(cp.corrcoef(a), np.corrcoef(x))
    same(cp.cov(a), np.cov(x))
    same(cp.histogram(a.ravel(), bins=5), np.histogram(x.ravel(), bins=5))
    numbers = (x[0] * 10).astype(int)
    same(cp.bincount(cp.asarray(numbers)), np.bincount(numbers))
    same(cp.digitize(a[0], cp.linspace(0, 1, 5)), np.digitize(x[0], np.linspace(0, 1, 5)))
