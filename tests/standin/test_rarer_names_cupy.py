"""Names of CuPy's small modules and classes that other tests have no need of; and that each name is in some test."""

from __future__ import annotations

import ast
import importlib
import operator
import pathlib
import re
import types
import unittest
import warnings
from typing import Any

import cupy
import cupyx
import cupyx.scipy.sparse as sparse
import cupyx.scipy.sparse.linalg as linalg
import numpy as np
import numpy.typing
import pytest
import scipy.sparse
from cupy import testing
from cupy.cuda import runtime
from cupyx import jit

from cunumpy.kernel_testing._fake_cupy import _api
from cunumpy.kernel_testing._fake_cupy.cuda import open_ranges

# ---- every name ----

# Constants are compared with a real CuPy's, and Python's exceptions have these methods.
OF_EXCEPTIONS = {"add_note", "with_traceback"}


def public_names() -> dict[str, set[str]]:
    """Return the names of the stand-in's modules, and of the classes in them."""
    import sys

    for path in ("sparse", "sparse.linalg", "sparse.csgraph"):
        importlib.import_module(f"cupyx.scipy.{path}")
    found: dict[str, set[str]] = {}
    for path, module in list(sys.modules.items()):
        if not path.startswith(("cupy", "cupyx")) or path == "cupyx.scipy":
            continue
        names = found.setdefault(path, set())
        for name in dir(module):
            try:
                value = getattr(module, name)
            except AttributeError:  # what this SciPy lacks
                continue
            if name.startswith("_") or isinstance(value, type(re)) or name in _api.RUNTIME:
                continue
            names.add(name)
            if isinstance(value, type) and value.__module__.startswith("cupy"):
                names.update(one for one in dir(value) if not one.startswith("_"))
    return found


def words_of(tree: ast.AST) -> set[str]:
    """Return the attributes and imported names of a test, and the words in its texts; not in sets of texts, its lists
    of what it leaves to others.
    """
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Set) and all(isinstance(one, ast.Constant) for one in node.elts):
            continue
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.alias):
            found.add(node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.update(re.findall(r"\w+", node.value))
        found |= words_of(node)
    return found


def test_each_is_in_a_test() -> None:
    folder = pathlib.Path(__file__).parent
    words = {word for file in folder.rglob("*.py") for word in words_of(ast.parse(file.read_text()))}
    words |= set(_api.CUPY["ufuncs"]) | set(_api.SCIPY_CALLS["special"]["ufuncs"])  # a loop over all of them
    words |= set(_api.CUPY["same"]) | set(_api.CUPY["constants"])  # below
    missing = {f"{path}.{name}" for path, names in public_names().items() for name in names - words - OF_EXCEPTIONS}
    assert missing == set()


# ---- cupy ----


def test_what_is_numpys_own() -> None:
    for name, path in _api.CUPY["same"].items():
        assert getattr(cupy, name) is operator.attrgetter(path)(np)
    for name, text in _api.CUPY["constants"].items():
        found = getattr(cupy, name)
        assert found is None if text == "None" else repr(found) == text
    assert cupy.DataSource is np.lib.npyio.DataSource
    assert cupy.format_parser is np.rec.format_parser
    assert cupy.disable_experimental_feature_warning is False
    np.testing.assert_array_equal(cupy.mgrid[:2, :3].get(), np.mgrid[:2, :3])
    for mine, its in zip(cupy.ogrid[:2, :3], np.ogrid[:2, :3], strict=True):
        np.testing.assert_array_equal(mine.get(), its)
    np.testing.assert_array_equal(cupy.c_[cupy.arange(2), cupy.ones(2)].get(), np.c_[np.arange(2), np.ones(2)])


def test_files_are_read_to_the_device(tmp_path: Any) -> None:
    host = np.array([[1.0, 2.5], [3.0, 4.0]])
    file = tmp_path / "numbers.txt"
    np.savetxt(file, host)
    for read in (cupy.loadtxt, cupy.genfromtxt):
        found = read(file)
        assert isinstance(found, cupy.ndarray)
        np.testing.assert_array_equal(found.get(), host)
    host.tofile(tmp_path / "numbers")
    np.testing.assert_array_equal(cupy.fromfile(tmp_path / "numbers").get(), host.ravel())
    cupy.savez(tmp_path / "two.npz", cupy.ones(2), b=cupy.zeros(3))
    read = cupy.load(tmp_path / "two.npz")
    assert read["arr_0"].get().tolist() == [1, 1]
    assert read["b"].get().tolist() == [0, 0, 0]
    cupy.save(tmp_path / "one.npy", cupy.arange(3))
    assert cupy.load(tmp_path / "one.npy").get().tolist() == [0, 1, 2]


def test_rarer_methods_of_arrays(tmp_path: Any) -> None:
    a = cupy.arange(6, dtype=np.int16).reshape(2, 3)
    np.testing.assert_array_equal(a.byteswap().get(), a.get().byteswap())
    swapped = a.copy()
    assert swapped.byteswap(inplace=True) is swapped
    np.testing.assert_array_equal(swapped.get(), a.get().byteswap())
    np.testing.assert_array_equal(cupy.stack([a, a]).mT.get(), np.stack([a.get().T] * 2))
    assert a.reduced_view().shape == (6,)
    assert a.reduced_view().base is not None
    assert a.T.reduced_view().shape == (3, 2)
    a.tofile(tmp_path / "a")
    np.testing.assert_array_equal(np.fromfile(tmp_path / "a", np.int16), np.arange(6))
    assert isinstance(a.flat, cupy.flatiter)
    b = cupy.asarray([5.0, 6.0, 7.0])
    b.scatter_min(cupy.asarray([0, 0, 2]), cupy.asarray([3.0, 4.0, 9.0]))
    assert b.get().tolist() == [3, 6, 7]
    cupyx.scatter_min(b, slice(1, 2), 1.0)
    assert b.get().tolist() == [3, 1, 7]
    with pytest.raises((BufferError, RuntimeError)):
        b.toDlpack()


def test_exceptions_are_numpys() -> None:
    names = (
        "AxisError", "ComplexWarning", "ModuleDeprecationWarning", "RankWarning", "TooHardError",
        "VisibleDeprecationWarning",
    )  # fmt: skip
    for name in names:
        assert getattr(cupy.exceptions, name) is getattr(np.exceptions, name)
    with pytest.raises(cupy.exceptions.AxisError):
        cupy.sum(cupy.ones(3), axis=1)


def test_annotations() -> None:
    typing = importlib.import_module("cupy.typing")
    assert typing.NDArray is cupy.ndarray
    assert typing.ArrayLike is numpy.typing.ArrayLike
    assert typing.DTypeLike is numpy.typing.DTypeLike
    assert typing.NBitBase is numpy.typing.NBitBase


def test_bit_generators() -> None:
    for name in ("XORWOW", "MRG32k3a", "Philox4x3210"):
        assert issubclass(getattr(cupy.random, name), cupy.random.BitGenerator)


# ---- cupy.cuda ----


def test_where_things_are() -> None:
    assert cupy.cuda.get_device_id() == cupy.cuda.device.get_device_id() == 0
    assert cupy.cuda.get_local_runtime_version() == runtime.runtimeGetVersion() == runtime.driverGetVersion()
    for path_of in (cupy.cuda.get_nvcc_path, cupy.cuda.get_rocm_path, cupy.cuda.get_hipcc_path):
        assert path_of() is None
    runtime.deviceSynchronize()
    device = cupy.cuda.Device()
    assert cupy.cuda.Device.from_pci_bus_id(device.pci_bus_id) == device


def test_rarer_functions_of_the_runtime() -> None:
    stream = runtime.streamCreateWithFlags(runtime.streamNonBlocking)
    assert runtime.streamGetFlags(stream) == runtime.streamNonBlocking
    address, other = runtime.mallocAsync(80, stream), cupy.zeros(10)
    runtime.deviceSynchronize()  # the zeros are work of the null stream, which this one does not wait for
    runtime.memsetAsync(address, 0, 80, stream)
    runtime.memsetAsync(address, 1, 40, stream)
    runtime.memcpyPeerAsync(other.data.ptr, 0, address, 0, 80, stream)
    runtime.streamSynchronize(stream)
    assert other.get().view(np.uint8).tolist() == [1] * 40 + [0] * 40
    found = runtime.pointerGetAttributes(address)
    assert isinstance(found, runtime.PointerAttributes)
    assert (found.device, found.devicePointer, found.type) == (0, address, runtime.memoryTypeDevice)
    runtime.freeAsync(address, stream)
    runtime.streamDestroy(stream)
    runtime.profilerStart()
    runtime.profilerStop()


def test_kinds_of_memory() -> None:
    managed = cupy.cuda.malloc_managed(800)
    assert type(managed.mem) is cupy.cuda.ManagedMemory
    managed.mem.prefetch(cupy.cuda.Stream.null)
    managed.mem.advise(runtime.cudaMemAdviseSetReadMostly, cupy.cuda.Device())
    late = cupy.cuda.malloc_async(800)
    assert type(late.mem) is cupy.cuda.MemoryAsync
    assert late.mem.stream_ref() == cupy.cuda.get_current_stream()
    for pointer in (managed, late, cupy.zeros(100).data):
        assert isinstance(pointer.mem, cupy.cuda.BaseMemory)
        assert pointer.mem.device == pointer.device == cupy.cuda.Device()
    assert isinstance(cupy.zeros(100).data.mem, cupy.cuda.memory.PooledMemory)
    pool = cupy.cuda.MemoryAsyncPool()
    assert pool.memoryAsyncHasStat
    with cupy.cuda.using_allocator(pool.malloc):
        a = cupy.arange(100.0)
    assert pool.used_bytes() >= 800
    assert float(a.sum()) == 4950
    pinned = cupy.cuda.PinnedMemory(64)
    assert pinned.size == 64
    assert cupy.cuda.pinned_memory.is_memory_pinned(pinned.ptr)


def test_memory_is_freed_early() -> None:
    pool = cupy.cuda.MemoryPool()
    pointer = pool.malloc(1000)
    with pytest.warns(DeprecationWarning, match="free_all_blocks"):
        pool.free_all_free()
    assert pool.used_bytes() == 1024
    pointer.mem.free()
    assert pool.used_bytes() == 0


def test_kernels_tell_their_sources() -> None:
    twice = cupy.ElementwiseKernel("T x", "T y", "y = 2 * x", "twice", loop_prep="int unused = 0;")
    total = cupy.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    for kernel in (twice, total):
        assert kernel.cached_codes == {}
        with pytest.raises(RuntimeError, match="not compiled yet"):
            kernel.cached_code  # noqa: B018
        kernel(cupy.ones(3))
        assert list(kernel.cached_codes) == [(np.float64,)]
        assert kernel.cached_code == kernel.cached_codes[np.float64,]
        assert [one.name for one in kernel.params] == ["x", "y"]
    assert "y = 2 * x" in twice.cached_code
    assert twice.kwargs["loop_prep"] == "int unused = 0;"
    raw = cupy.RawKernel('extern "C" __global__ void f() {}', "f")
    names = (
        "binary_version", "cache_mode_ca", "const_size_bytes", "local_size_bytes", "max_threads_per_block", "num_regs",
        "preferred_shared_memory_carveout", "ptx_version", "shared_size_bytes",
    )  # fmt: skip
    for name in names:
        assert getattr(raw, name) == raw.attributes[name]
    assert cupy.cuda.driver.get_build_version() == runtime.runtimeGetVersion()
    assert cupy.cuda.memory_hook.get_memory_hooks() == {}
    with cupy.cuda.memory_hooks.LineProfileHook() as hook:
        assert cupy.cuda.memory_hook.get_memory_hooks() == {hook.name: hook}


def test_ranges_and_marks() -> None:
    cupy.cuda.nvtx.RangePushC("coloured", 0xFF00FF)
    cupy.cuda.nvtx.Mark("here")
    cupy.cuda.nvtx.MarkC("here", 0xFF00FF)
    assert open_ranges()[-1] == "coloured"
    cupy.cuda.nvtx.RangePop()


def test_descriptors_say_what_they_were_made_of() -> None:
    texture = cupy.cuda.texture
    channels = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    assert channels.get_channel_format() == {"x": 32, "y": 0, "z": 0, "w": 0, "f": 2}
    array = texture.CUDAarray(channels, 4)
    resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    assert resource.get_resource_desc()["resType"] == runtime.cudaResourceTypeArray
    made = texture.TextureDescriptor((runtime.cudaAddressModeClamp,), runtime.cudaFilterModePoint)
    assert made.get_texture_desc()["filterMode"] == runtime.cudaFilterModePoint


# ---- cupyx ----


def test_pinned_arrays_and_roots() -> None:
    like = cupyx.zeros_like_pinned(np.ones((2, 3), np.float32, order="F"))
    assert (like.shape, like.dtype, like.flags.f_contiguous) == ((2, 3), np.float32, True)
    assert not like.any()
    assert cupy.cuda.pinned_memory.is_memory_pinned(like.ctypes.data)
    x = cupy.asarray([4.0, 0.25])
    np.testing.assert_allclose(cupyx.rsqrt(x).get(), [0.5, 2.0])


@jit.rawkernel()
def count(x, found, lanes):
    i = jit.threadIdx.x
    jit.atomic_sub(found, 0, x[i])
    jit.atomic_exch(found, 1, x[5])
    jit.atomic_inc(found, 2, jit.warpsize)
    jit.atomic_dec(found, 3, 100)
    jit.atomic_cas(found, 4, 7, 9)
    lanes[i] = jit.laneid()


@jit.rawkernel()
def extremes(x, found):
    i = jit.threadIdx.x
    Reduce = jit.cub.WarpReduce[cupy.int32]
    storage = jit.shared_memory(Reduce.TempStorage, 2)
    smallest = Reduce(storage[0]).Reduce(x[i], jit.cub.Min())
    largest = Reduce(storage[1]).Reduce(x[i], jit.cub.Max())
    if i == 0:
        found[0] = smallest
        found[1] = largest


@jit.rawkernel()
def copied(x, y):
    group = jit.cg.this_thread_block()
    part = jit.shared_memory(cupy.int32, 32)
    jit.cg.memcpy_async(group, part, 0, x, 0, 128)
    jit.cg.wait_prior(group, 0)
    y[jit.threadIdx.x] = part[31 - jit.threadIdx.x]


def test_rarer_functions_of_kernels() -> None:
    x = np.arange(32, dtype=np.int32) * 2
    found, lanes = cupy.asarray([0, 0, 5, 40, 7], dtype=np.uint32), cupy.zeros(32, np.int32)
    count[1, 32](cupy.asarray(x.astype(np.uint32)), found, lanes)
    assert found.get().tolist() == [2**32 - x.sum(), 10, 4, 8, 9]  # 5 + 32 wraps once, after 32; 40 - 32
    np.testing.assert_array_equal(lanes.get(), np.arange(32))
    ends, y = cupy.zeros(2, np.int32), cupy.zeros(32, np.int32)
    extremes[1, 32](cupy.asarray(x), ends)
    assert ends.get().tolist() == [0, 62]
    copied[1, 32](cupy.asarray(x), y)
    np.testing.assert_array_equal(y.get(), x[::-1])


# ---- cupyx.scipy.sparse ----

DENSE = np.array([[0.4, 0.1, 0.0, 0.0], [0.1, -0.5, 0.2, 0.0], [0.0, 0.2, 0.6, -0.1], [0.0, 0.0, -0.1, 0.3]])
KINDS = [
    "csr_matrix", "csr_array", "csc_matrix", "csc_array", "coo_matrix", "coo_array", "dia_matrix", "dia_array",
]  # fmt: skip
OF_ELEMENTS = (
    "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "deg2rad", "expm1", "floor", "log1p", "rad2deg", "rint", "sign",
    "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
)  # fmt: skip


def made(kind: str) -> tuple[Any, Any]:
    theirs = getattr(scipy.sparse, kind)(DENSE)
    if kind.startswith("dia"):
        ours = getattr(sparse, kind)((cupy.asarray(theirs.data), cupy.asarray(theirs.offsets)), theirs.shape)
    else:
        ours = getattr(sparse, kind)(cupy.asarray(DENSE))
    return ours, theirs


def same(found: Any, expected: Any) -> None:
    assert sparse.issparse(found) == scipy.sparse.issparse(expected)
    if sparse.issparse(found):
        found, expected = found.toarray(), expected.toarray()
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.get(), np.asarray(expected), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_methods_of_sparse_matrices(kind: str) -> None:
    ours, theirs = made(kind)
    with np.errstate(all="ignore"):
        for name in OF_ELEMENTS:
            same(getattr(ours, name)(), getattr(theirs, name)())
    same(ours.mT if hasattr(ours, "mT") else ours.T, theirs.T)
    same(ours.todense(), np.asarray(theirs.todense()))
    assert ours.maxprint == 50
    if kind.endswith("matrix"):
        assert (ours.getformat(), ours.getmaxprint(), ours.get_shape()) == (kind[:3], 50, (4, 4))
        assert ours.getnnz() == theirs.getnnz()
        same(ours.getH(), theirs.T.conj())
        same(ours.asfptype(), theirs)
        same(ours.getrow(1), scipy.sparse.csr_matrix(DENSE[1:2]))
        same(ours.getcol(2), scipy.sparse.csr_matrix(DENSE[:, 2:3]))
        for name, expected in (("A", DENSE), ("H", DENSE.T)):
            with pytest.warns(DeprecationWarning, match=f"`spmatrix.{name}` is deprecated"):
                found = getattr(ours, name)
            np.testing.assert_array_equal((found if name == "A" else found.toarray()).get(), expected)
    if kind.startswith("coo"):
        for mine, its in zip(ours.coords, theirs.coords, strict=True):
            np.testing.assert_array_equal(mine.get(), its)
    if kind == "csr_matrix":
        ours.set_shape((2, 8))
        assert ours.shape == (2, 8)


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_matrix", "csr_array", "csc_array"])
def test_indices_are_sorted(kind: str) -> None:
    data, indices, indptr = [1.0, 2.0, 3.0, 0.0], np.array([2, 0, 1, 0], "i4"), np.array([0, 2, 3, 3], "i4")
    ours = getattr(sparse, kind)((cupy.asarray(data), cupy.asarray(indices), cupy.asarray(indptr)), shape=(3, 3))
    assert not ours.has_sorted_indices
    in_order = ours.sorted_indices()
    assert in_order.has_sorted_indices
    assert in_order.indices.get()[:3].tolist() == [0, 2, 1]
    assert in_order.data.get()[:3].tolist() == [2, 1, 3]
    assert not ours.has_sorted_indices
    ours.sort_indices()
    assert ours.indices.get()[:3].tolist() == [0, 2, 1]
    ours.prune()
    assert ours.data.size == ours.indices.size == 3


def test_functions_about_sparse_matrices() -> None:
    matrices = {form: made(f"{form}_matrix")[0] for form in ("csr", "csc", "coo", "dia")}
    questions = {
        "csr": sparse.isspmatrix_csr, "csc": sparse.isspmatrix_csc, "coo": sparse.isspmatrix_coo,
        "dia": sparse.isspmatrix_dia,
    }  # fmt: skip
    for form, matrix in matrices.items():
        for other, is_that in questions.items():
            assert is_that(matrix) == (other == form)
        assert sparse.isspmatrix(matrix)
        assert isinstance(matrix, sparse.spmatrix)
    array = made("csr_array")[0]
    assert sparse.issparse(array)
    assert not sparse.isspmatrix(array)
    assert not sparse.isspmatrix(scipy.sparse.csr_matrix(DENSE))
    with pytest.raises(TypeError, match="cannot instantiate spmatrix"):
        sparse.spmatrix((2, 2))
    diagonals = cupy.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    same(sparse.spdiags(diagonals, cupy.asarray([0, 1]), 3, 3), scipy.sparse.spdiags(diagonals.get(), [0, 1], 3, 3))
    same(sparse.diags_array([[1.0, 2.0, 3.0], [4.0, 5.0]], offsets=[0, 1]), np_diagonals := scipy.sparse.diags_array(
        [[1.0, 2.0, 3.0], [4.0, 5.0]], offsets=[0, 1]
    ))  # fmt: skip
    assert isinstance(np_diagonals, scipy.sparse.sparray)
    blocks = sparse.block_array([[array, None], [None, array]])
    same(blocks, scipy.sparse.block_diag([scipy.sparse.csr_array(DENSE)] * 2, format="csr"))
    assert isinstance(blocks, sparse.sparray)
    for mine, its in zip(sparse.find(matrices["csr"]), scipy.sparse.find(scipy.sparse.csr_matrix(DENSE)), strict=True):
        np.testing.assert_array_equal(mine.get(), its)
    assert sparse.get_index_dtype(matrices["csr"].indices, maxval=5) == np.int32
    assert sparse.get_index_dtype(maxval=2**40) == np.int64
    indices, indptr = sparse.safely_cast_index_arrays(matrices["csr"], np.int64)
    assert indices.dtype == indptr.dtype == np.int64
    with pytest.raises(ValueError, match="too large"):
        sparse.safely_cast_index_arrays(sparse.eye(1000, format="csr"), np.int8)
    drawn = sparse.random_array((30, 20), density=0.1, format="coo", rng=1, dtype=np.float64)
    assert isinstance(drawn, sparse.coo_array)
    assert (drawn.shape, drawn.nnz) == ((30, 20), 60)
    assert issubclass(sparse.SparseEfficiencyWarning, sparse.SparseWarning)
    assert issubclass(sparse.SparseWarning, Warning)


def test_operators_and_decompositions() -> None:
    host = DENSE + 2 * np.eye(4) + np.triu(np.ones((4, 4)), 1)
    a, x = sparse.csc_matrix(cupy.asarray(host)), cupy.arange(4.0)
    product = linalg.aslinearoperator(a)
    np.testing.assert_allclose(product.matvec(x).get(), host @ x.get())
    np.testing.assert_allclose(product.rmatvec(x).get(), host.T @ x.get())
    np.testing.assert_allclose(product.adjoint().matvec(x).get(), host.T @ x.get())
    decomposed = linalg.splu(a)
    assert isinstance(decomposed, linalg.SuperLU)
    np.testing.assert_allclose(decomposed.solve(x, "T").get(), np.linalg.solve(host.T, x.get()))


# ---- cupy.testing ----


def test_rarer_loops_of_tests() -> None:
    seen: list[Any] = []
    testing.for_orders("CF")(lambda order: seen.append(order))()
    testing.for_dtypes_combination("fd", ("a", "b"), full=True)(lambda a, b: seen.append((a, b)))()
    assert seen[:2] == ["C", "F"]
    assert set(seen[2:]) == {(a, b) for a in (np.float32, np.float64) for b in (np.float32, np.float64)} or set(
        seen[2:]
    ) == {(a, b) for a in "fd" for b in "fd"}
    for loop, count_of_dtypes in (
        (testing.for_unsigned_dtypes_combination, 5), (testing.for_int_dtypes_combination, 11),
    ):  # fmt: skip
        seen.clear()
        loop(("a",), full=True)(lambda a: seen.append(a))()
        assert len(set(seen)) == count_of_dtypes

    class WithAxes:
        shape, order = (2, 3, 4), "C"

        @testing.for_contiguous_axes()
        def check(self, axis: Any) -> None:
            seen.append(axis)

    seen.clear()
    WithAxes().check()
    assert set(seen) == {(0, 1, 2), (1, 2), (2,)}


def test_rarer_comparisons_of_both_libraries() -> None:
    compared = {
        testing.numpy_cupy_array_almost_equal(decimal=3): 1e-5, testing.numpy_cupy_array_almost_equal_nulp(4): 4e-16,
        testing.numpy_cupy_array_max_ulp(4): 4e-16,
    }  # fmt: skip
    for compare, distance in compared.items():
        compare(lambda xp, distance=distance: xp.ones(3) + (distance if xp is np else 0))()
        with pytest.raises(AssertionError):
            compare(lambda xp: xp.ones(3) + (0.1 if xp is np else 0))()
    testing.numpy_cupy_array_list_equal()(lambda xp: [xp.ones(2), xp.zeros(3)])()
    with pytest.raises(AssertionError):
        testing.numpy_cupy_array_list_equal()(lambda xp: [xp.ones(2), xp.zeros(3) + (xp is np)])()
    testing.numpy_cupy_array_less()(lambda xp: xp.ones(2) + (xp is np))()
    with pytest.raises(AssertionError):
        testing.numpy_cupy_array_less()(lambda xp: xp.ones(2))()


def test_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = types.SimpleNamespace(skipif=pytest.mark.skipif)  # those that CuPy's own configuration knows
    for name in ("slow", "multi_gpu"):
        mark = pytest.Mark(name, (), {}, _ispytest=True)
        setattr(marks, name, pytest.MarkDecorator(mark, _ispytest=True))
    monkeypatch.setattr(pytest, "mark", marks)

    def marked() -> None: ...

    assert [mark.name for mark in testing.slow(marked).pytestmark] == ["slow"]
    monkeypatch.setenv("CUPY_TEST_GPU_LIMIT", "1")

    class Several(unittest.TestCase): ...

    found = {mark.name: mark for mark in testing.multi_gpu(2)(Several).pytestmark}
    assert found["multi_gpu"]
    assert found["skipif"].args == (True,)


def test_no_warning_of_its_own() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in public_names():
            importlib.import_module(path)
