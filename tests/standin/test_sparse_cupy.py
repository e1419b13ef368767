"""``cupyx.scipy.sparse`` of the stand-in: SciPy's values, CuPy's formats, types and refusals."""

import operator
import warnings

import cupy as cp
import cupyx.scipy
import cupyx.scipy.sparse as sparse
import cupyx.scipy.sparse.linalg as linalg
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from cupyx.scipy.sparse import csgraph

DENSE = np.array([[4.0, 1.0, 0.0, 0.0], [1.0, 5.0, 2.0, 0.0], [0.0, 2.0, 6.0, -1.0], [0.0, 0.0, -1.0, 3.0]])
RIGHT = np.array([1.0, -2.0, 3.0, 0.5])
KINDS = [f"{form}_{kind}" for form in ("csr", "csc", "coo") for kind in ("matrix", "array")]


def made(kind="csr_matrix", dense=DENSE):
    """The device matrix and SciPy's."""
    return getattr(sparse, kind)(cp.asarray(dense)), getattr(scipy.sparse, kind)(dense)


def dense_of(value):
    return value.toarray().get() if sparse.issparse(value) else value.get()


def expected_of(value):
    return value.toarray() if scipy.sparse.issparse(value) else np.asarray(value)


def close(found, expected):
    assert sparse.issparse(found) or isinstance(found, cp.ndarray)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(dense_of(found), expected_of(expected), rtol=1e-12, atol=1e-13)


def host(value):
    """The operand for SciPy."""
    if sparse.issparse(value):
        return value.get()
    return value.get() if isinstance(value, cp.ndarray) else value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "matmul", "truediv", "ne", "lt", "gt"])
def test_operators(kind, name):
    ours, theirs = made(kind)
    work = getattr(operator, name)
    for other in (made(kind, DENSE.T * 2 - 1)[0], made("csr_matrix", DENSE * 3)[0]):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", sparse.SparseEfficiencyWarning)
            close(work(ours, other), work(theirs, host(other)))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", sparse.SparseEfficiencyWarning)
        close(work(ours, cp.asarray(DENSE + 1)), np.asarray(expected_of(work(theirs, DENSE + 1))))
        if name not in ("matmul", "add", "sub", "lt"):
            close(work(ours, 2.0), work(theirs, 2.0))


@pytest.mark.parametrize("kind", KINDS)
def test_dense_operands_come_first(kind):
    ours, theirs = made(kind)
    for work in (operator.add, operator.sub, operator.matmul):
        close(work(cp.asarray(DENSE), ours), np.asarray(work(DENSE, theirs)))
    close(cp.asarray(RIGHT) @ ours, RIGHT @ theirs)
    close(2.0 * ours, 2.0 * theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_products_come_by_rows(kind):
    ours, _ = made(kind)
    assert (ours @ ours).format == "csr"
    dense = ours @ cp.asarray(DENSE)
    assert dense.flags.f_contiguous
    assert not dense.flags.c_contiguous


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_asked_of_a_matrix(kind):
    ours, theirs = made(kind)
    for call in (
        lambda m: m.sum(), lambda m: m.sum(0), lambda m: m.sum(axis=1), lambda m: m.mean(), lambda m: m.mean(axis=0),
        lambda m: m.diagonal(), lambda m: m.diagonal(1), lambda m: m.trace(), lambda m: m.T, lambda m: m.T.tocsr(),
        abs, lambda m: -m, lambda m: m.sqrt().real, lambda m: m.sin(), lambda m: m.power(2), lambda m: m.conj(),
        lambda m: m.astype(np.float32), lambda m: m.astype(np.complex128), lambda m: m.reshape(2, 8),
        lambda m: m.multiply(m), lambda m: m.maximum(m.T), lambda m: m.minimum(1.0), lambda m: m.dot(m),
    ):  # fmt: skip
        with np.errstate(invalid="ignore"):
            expected = call(theirs)
        close(call(ours), expected if scipy.sparse.issparse(expected) else np.asarray(expected))
    assert (ours.nnz, ours.size, ours.ndim, ours.shape) == (10, 10, 2, (4, 4))
    assert ours.count_nonzero() == 10
    for mine, its in zip(ours.nonzero(), theirs.nonzero(), strict=True):
        np.testing.assert_array_equal(mine.get(), its)
    assert repr(ours) == repr(theirs)
    assert str(ours) == str(theirs)
    with pytest.raises(TypeError, match="length is ambiguous"):
        len(ours)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(ours)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("coo")])
def test_extrema_indices_and_assignment(kind):
    ours, theirs = made(kind)
    for name in ("max", "min", "argmax", "argmin"):
        for axis in (None, 0, 1):
            expected = getattr(theirs, name)(axis=axis)
            found = getattr(ours, name)(axis=axis)
            np.testing.assert_array_equal(dense_of(found), expected_of(expected))
    for key in ((1, 2), (0, 3), (slice(1, 3), slice(None)), ([0, 2], [1, 3]), (slice(None), [0, 2])):
        found, expected = ours[key], theirs[key]
        np.testing.assert_array_equal(dense_of(found), expected_of(expected))
        assert found.shape == np.shape(expected)
    assert ours[1, 2].shape == ()
    np.testing.assert_array_equal(ours[cp.asarray([1, 0])].toarray().get(), DENSE[[1, 0]])
    ours.setdiag(7.0)
    ours.setdiag([1.0, 2.0, 3.0], 1)
    expected = DENSE.copy()
    np.fill_diagonal(expected, 7.0)
    expected[range(3), range(1, 4)] = [1, 2, 3]
    np.testing.assert_array_equal(ours.toarray().get(), expected)
    ours[0, 0] = 0.0
    ours[2, 2] = cp.asarray(9.0)
    expected[0, 0], expected[2, 2] = 0, 9
    ours.eliminate_zeros()
    np.testing.assert_array_equal(ours.toarray().get(), expected)
    assert ours.nnz == np.count_nonzero(expected)
    with pytest.raises(IndexError):
        ours[9, 0]


def test_vectors():
    ours, theirs = sparse.csr_array(cp.asarray(RIGHT)), scipy.sparse.csr_array(RIGHT)
    assert ours.shape == theirs.shape == (4,)
    close(ours + ours, theirs + theirs)
    np.testing.assert_allclose(dense_of(ours @ cp.asarray(DENSE)), RIGHT @ DENSE)
    row = sparse.csr_array(cp.asarray(DENSE))[1]
    assert (row.format, row.shape) == ("coo", (4,))
    np.testing.assert_array_equal(row.toarray().get(), DENSE[1])


def test_arrays_are_shared_and_copied():
    data, indices, indptr = cp.asarray([1.0, 2.0]), cp.asarray([0, 1], dtype="i4"), cp.asarray([0, 1, 2], dtype="i4")
    shared = sparse.csr_matrix((data, indices, indptr))
    assert shared.data is data
    copied = sparse.csr_matrix((data, indices, indptr), copy=True)
    data[0] = 5.0
    assert float(shared[0, 0]) == 5
    assert float(copied[0, 0]) == 1
    assert shared.T.data is data
    assert shared.tocsr() is shared
    assert shared.tocsr(copy=True).data is not data
    shared *= 2
    assert float(data[0]) == 10
    assert shared.indices.dtype == np.int32


def test_duplicates_are_added():
    row, col = cp.asarray([0, 0, 1]), cp.asarray([1, 1, 0])
    a = sparse.coo_matrix((cp.asarray([1.0, 2.0, 4.0]), (row, col)), shape=(2, 2))
    assert a.nnz == 3
    assert not a.has_canonical_format
    a.sum_duplicates()
    assert a.nnz == 2
    assert a.has_canonical_format
    np.testing.assert_array_equal(a.toarray().get(), [[0, 3], [4, 0]])
    assert sparse.csr_matrix((cp.asarray([1.0, 2.0, 4.0]), (row, col))).nnz == 2


def test_construction():
    a, host_a = made()
    for name, args, options in (
        ("eye", (4,), {}), ("eye", (3, 4, 1), {"format": "csr"}), ("identity", (3,), {"format": "csc"}),
        ("eye_array", (3,), {}), ("kron", (a, a), {}), ("kronsum", (a, a), {}), ("tril", (a,), {}),
        ("triu", (a, 1), {"format": "csr"}), ("hstack", ([a, a],), {}), ("vstack", ([a, a],), {"format": "csr"}),
        ("bmat", ([[a, None], [None, a]],), {}), ("block_diag", ([a, a],), {}),
    ):  # fmt: skip
        theirs = [_on_host(arg) for arg in args]
        found, expected = getattr(sparse, name)(*args, **options), getattr(scipy.sparse, name)(*theirs, **options)
        close(found, expected)
        if options:
            assert found.format == options["format"]
        assert isinstance(found, sparse.sparray) == isinstance(expected, scipy.sparse.sparray)
    assert sparse.eye(4).format == "dia"
    tridiagonal = sparse.diags([cp.ones(3), -2 * cp.ones(4), cp.ones(3)], [-1, 0, 1])
    np.testing.assert_array_equal(
        tridiagonal.toarray().get(), np.diag([1] * 3, -1) - 2 * np.eye(4) + np.diag([1] * 3, 1)
    )
    assert (tridiagonal.tocsc() @ tridiagonal.tocsr()).shape == (4, 4)
    np.testing.assert_array_equal(sparse.diags([1, 2, 3]).toarray().get(), np.diag([1.0, 2.0, 3.0]))
    assert host_a.nnz == a.nnz


def _on_host(value):
    if isinstance(value, list):
        return [_on_host(one) for one in value]
    return value.get() if sparse.issparse(value) else value


def test_random_matrices():
    a = sparse.random(30, 20, density=0.1, format="csr", random_state=1, dtype=np.float64)
    assert (a.format, a.shape, a.nnz) == ("csr", (30, 20), 60)
    assert bool(((a.data >= 0) & (a.data < 1)).all())
    assert (a != sparse.random(30, 20, density=0.1, format="csr", random_state=1)).nnz == 0
    with pytest.raises(NotImplementedError):
        sparse.random(3, 3, dtype=int)


def test_host_data_is_refused():
    ours, theirs = made()
    vector = np.ones(4)
    for call in (
        lambda: ours @ vector, lambda: ours + DENSE, lambda: ours * theirs, lambda: ours @ theirs,
        lambda: ours.multiply(DENSE), lambda: sparse.hstack([ours, theirs]), lambda: linalg.spsolve(ours, vector),
        lambda: linalg.cg(ours, vector), lambda: linalg.splu(theirs), lambda: linalg.splu(ours).solve(vector),
        lambda: ours @ [1, 2, 3, 4], lambda: sparse.coo_matrix(DENSE),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            call()
    for arguments in (DENSE, DENSE.tolist(), (vector, vector, vector), (vector, (vector, vector))):
        with pytest.raises(ValueError, match=r"Unsupported initializer|1-D"):
            sparse.csr_matrix(arguments)
    close(sparse.csr_matrix(theirs), theirs)


def test_what_cupy_lacks():
    ours, _ = made()
    for dtype in (np.int32, np.float16):
        with pytest.raises(ValueError, match="Only bool, float32, float64, complex64 and complex128"):
            sparse.csr_matrix(cp.eye(3, dtype=dtype))
    for name in ("tolil", "todok", "tobsr", "todia"):
        with pytest.raises(NotImplementedError):
            getattr(ours, name)()
    with pytest.raises(NotImplementedError):
        ours + 1.0
    with pytest.raises(TypeError, match="not subscriptable"):
        ours.tocoo()[0, 0]
    with pytest.raises(ValueError, match="Scalar operands"):
        ours @ 2.0
    with pytest.raises(NotImplementedError):
        assert ours.device is None
    for name in ("lil_matrix", "dok_matrix", "bsr_matrix", "load_npz", "save_npz", "expand_dims", "block"):
        with pytest.raises(AttributeError):
            getattr(sparse, name)


class TestSolvers:
    def test_direct(self):
        ours, _ = made()
        expected = np.linalg.solve(DENSE, RIGHT)
        right = cp.asarray(RIGHT)
        lu = linalg.splu(ours)
        for found in (
            linalg.spsolve(ours, right), lu.solve(right), linalg.factorized(ours)(right), linalg.lsqr(ours, right)[0],
            linalg.lsmr(ours, right, atol=1e-14, btol=1e-14)[0],
        ):  # fmt: skip
            assert isinstance(found, cp.ndarray)
            np.testing.assert_allclose(found.get(), expected, rtol=1e-10)
        np.testing.assert_allclose(linalg.spsolve(ours, cp.asarray(DENSE)).get(), np.eye(4), atol=1e-12)
        np.testing.assert_allclose(linalg.spilu(ours).solve(right).get(), expected, rtol=0.5)
        assert (lu.L @ lu.U).shape == (4, 4)
        with pytest.warns(sparse.SparseEfficiencyWarning, match="CSR format is required"):
            linalg.spsolve(ours.tocsc(), right)

    @pytest.mark.parametrize("lower", [True, False])
    def test_triangular(self, lower):
        triangle = np.tril(DENSE) if lower else np.triu(DENSE)
        found = linalg.spsolve_triangular(sparse.csr_matrix(cp.asarray(triangle)), cp.asarray(RIGHT), lower=lower)
        np.testing.assert_allclose(found.get(), np.linalg.solve(triangle, RIGHT), rtol=1e-12)

    @pytest.mark.parametrize("name", ["cg", "cgs", "bicgstab", "gmres", "minres"])
    def test_iterative(self, name):
        right, seen = cp.asarray(RIGHT), []
        precision = {"tol": 1e-12} if name == "minres" else {"rtol": 1e-12}
        operator_of = linalg.LinearOperator((4, 4), matvec=lambda x: cp.asarray(DENSE) @ x, dtype=np.float64)
        for matrix in (made()[0], cp.asarray(DENSE), operator_of):
            x, info = getattr(linalg, name)(matrix, right, callback=seen.append, **precision)
            assert info == 0
            np.testing.assert_allclose(x.get(), np.linalg.solve(DENSE, RIGHT), rtol=1e-8)
        assert seen
        if name != "gmres":
            assert isinstance(seen[0], cp.ndarray)

    def test_a_preconditioner(self):
        ours, _ = made()
        lu = linalg.splu(ours)
        x, info = linalg.cg(ours, cp.asarray(RIGHT), M=linalg.LinearOperator((4, 4), lu.solve, dtype=float), maxiter=2)
        assert info == 0
        np.testing.assert_allclose(x.get(), np.linalg.solve(DENSE, RIGHT), rtol=1e-8)

    def test_eigenvalues(self):
        big = np.diag(np.arange(1.0, 31.0)) + np.diag(np.full(29, 0.3), 1) + np.diag(np.full(29, 0.3), -1)
        a = sparse.csr_matrix(cp.asarray(big))
        values, vectors = linalg.eigsh(a, 3)
        np.testing.assert_allclose(values.get(), np.linalg.eigvalsh(big)[-3:], rtol=1e-10)
        np.testing.assert_allclose((a @ vectors).get(), (vectors * values).get(), atol=1e-8)
        u, s, vt = linalg.svds(a, 3)
        np.testing.assert_allclose(s.get(), np.linalg.svd(big)[1][:3][::-1], rtol=1e-8)
        np.testing.assert_allclose((a @ vt.T).get(), (u * s).get(), atol=1e-7)
        with pytest.raises(ValueError, match="smaller than n"):
            linalg.eigsh(a, 30)
        start = cp.asarray(np.random.default_rng(0).random((30, 2)))
        found = linalg.lobpcg(a, start, tol=1e-8, maxiter=200)[0]
        np.testing.assert_allclose(np.sort(found.get()), np.linalg.eigvalsh(big)[-2:], rtol=1e-6)

    def test_norms_and_powers(self):
        ours, theirs = made()
        assert float(linalg.norm(ours)) == pytest.approx(np.linalg.norm(DENSE))
        np.testing.assert_allclose(linalg.norm(ours, axis=0).get(), np.linalg.norm(DENSE, axis=0))
        np.testing.assert_allclose((ours**3).toarray().get(), np.linalg.matrix_power(DENSE, 3))
        np.testing.assert_allclose(linalg.matrix_power(ours, 0).toarray().get(), np.eye(4))
        with pytest.raises(TypeError, match="not sparse"):
            linalg.norm(cp.ones(3))
        assert theirs.nnz == 10


def test_operators_by_products():
    a = linalg.aslinearoperator(cp.asarray(DENSE + np.triu(DENSE)))
    matrix, x = DENSE + np.triu(DENSE), cp.asarray(RIGHT)
    for found, expected in (
        (a @ x, matrix @ RIGHT), (a.H @ x, matrix.T @ RIGHT), ((a + a) @ x, 2 * matrix @ RIGHT),
        ((a - a.T) @ x, (matrix - matrix.T) @ RIGHT), ((a * a) @ x, matrix @ matrix @ RIGHT),
        ((3.0 * a) @ x, 3 * matrix @ RIGHT), ((a**2) @ x, matrix @ matrix @ RIGHT), ((-a)(x), -matrix @ RIGHT),
        (a.matmat(cp.asarray(DENSE)), matrix @ DENSE), (a.rmatmat(cp.asarray(DENSE)), matrix.T @ DENSE),
    ):  # fmt: skip
        np.testing.assert_allclose(found.get(), expected, rtol=1e-12, atol=1e-12)

    class Own(linalg.LinearOperator):
        def __init__(self):
            super().__init__(np.float64, (4, 4))

        def _matvec(self, v):
            return 2 * v

        def _rmatvec(self, v):
            return 2 * v

    np.testing.assert_allclose((Own().H @ x).get(), 2 * RIGHT)
    np.testing.assert_allclose(Own().matmat(cp.asarray(DENSE)).get(), 2 * DENSE)
    with pytest.raises(ValueError, match="dimension mismatch"):
        a @ cp.ones(3)


def test_matrices_are_on_the_device():
    ours, theirs = made()
    assert cp.get_array_module(ours) is cp
    assert cp.get_array_module(theirs) is np
    assert cupyx.scipy.get_array_module(ours) is cupyx.scipy


def test_graphs():
    edges = sparse.csr_matrix(cp.asarray([[0.0, 1, 0], [0, 0, 0], [0, 0, 0]]))
    count, labels = csgraph.connected_components(edges)
    assert count == 2
    np.testing.assert_array_equal(labels.get(), [0, 0, 1])
