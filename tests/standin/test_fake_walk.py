"""Every function of the stand-in against NumPy: values, types, and no host arrays."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import cupy
import numpy as np
import pytest

import cunumpy
from cunumpy.errors import TransferError
from cunumpy.kernel_testing import host_buffer
from cunumpy.kernel_testing._fake_cupy import _api
from cunumpy.kernel_testing._fake_cupy.serving import LEFT_OUT
from cunumpy.kernel_testing._fake_cupy.signatures import with_signature

# Operands: real matrix, vectors, integers, complex, square positive definite, condition.
HOST: dict[str, Any] = {
    "x": np.array([[0.5, -1.5, 2.0, 0.25], [3.0, 1.0, -0.75, 2.5], [1.25, 0.0, 4.0, -2.0]]),
    "v": np.array([1.0, 3.0, 2.0, 5.0, 4.0]),
    "w": np.array([0.5, 2.0, 1.0, 4.0, 3.0]),
    "i": np.array([3, 1, 2, 1]),
    "c": np.array([1 + 2j, 3 - 1j, -2 + 0.5j]),
    "s": np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]]),
    "m": np.array([True, False, True, True, False]),
    "n": np.array([1.0, np.nan, 3.0, 2.0]),
    "t": np.array([1.0, 2.0, 3.0]),
    "u": np.array([3.0, 2.0, 1.0]),
    "bits": np.array([1, 0, 1, 1], np.uint8),
}

# Calls for both libraries; "cupy form | NumPy form" where they differ. @ stands for the module.
CALLS = """
@all(x) ; @all(m, axis=0, keepdims=True) ; @allclose(x, x) ; @allclose(x, 1.0) ; @alltrue(m) | @all(m) ; @amax(x, 0)
@amin(x, 1, keepdims=True) ; @angle(c) ; @angle(c, deg=True) ; @any(m) ; @append(v, w) ; @arange(3) ; @arange(1, 7, 2)
@apply_over_axes(lib.sum, x, [0, -1]) ; @apply_over_axes(lib.sum, x, 1)
@apply_along_axis(lambda r: r.sum(), 1, x) ; @argmax(x) ; @argmax(x, 1) ; @argmin(x, 0) ; @argsort(v)
@argmax(x, 1, "i4") | @argmax(x, 1).astype("i4")
@argwhere(m) ; @around(x, 1) ; @array(v) ; @array([1, 2]) ; @array_equal(v, v) ; @array_equiv(v, v)
@array_split(v, 2) ; @asanyarray(v) ; @asarray(v) ; @asarray_chkfinite(v) ; @ascontiguousarray(x.T)
@asfarray(i) | @asarray(i, dtype=float) ; @asfortranarray(x) ; @astype(x, np.float32) ; @atleast_1d(v) ; @atleast_2d(v)
@atleast_3d(v) ; @average(v, weights=w) ; @average(v, weights=w, returned=True) ; @bartlett(5) ; @bincount(i)
@bincount(i, weights=t.repeat(2)[:4]) ; @bincount(i, minlength=8)
@blackman(5) ; @broadcast_arrays(v, 2 * v) | tuple(np.broadcast_arrays(v, 2 * v)) ; @broadcast_to(v, (2, 5))
@choose(i % 2, x[:, :4]) ; @clip(x, 0, 1) ; @clip(v, w, 3.0) ; @column_stack((t, u)) ; @compress(m, v)
@concat((v, w)) ; @concatenate([v, w]) ; @concatenate((x, x), axis=1) ; @convolve(v, t) ; @copy(x) ; @corrcoef(x)
@correlate(v, t) ; @count_nonzero(x) ; @count_nonzero(x, axis=0) ; @cov(x) ; @cov(x, ddof=0) ; @cross(t, u)
@cumprod(v) ; @cumproduct(v) | @cumprod(v) ; @cumsum(x, 1) ; @cumulative_prod(v) | @cumprod(v)
@cumulative_sum(v, include_initial=True) | @cumsum(@append(0.0, v))
@delete(v, 1) ; @diag(v) ; @diag(x) ; @diagflat(v) ; @diagonal(x) ; @diag_indices(3) ; @diag_indices_from(s)
@diff(v) ; @diff(x, axis=0, n=2) ; @digitize(v, t) ; @dot(x, x.T) ; @dsplit(x.reshape(1, 3, 4), 2) ; @dstack((t, u))
@ediff1d(v) ; @einsum("ij,kj->ik", x, x) ; @empty((2, 3)).shape ; @empty_like(x).shape ; @expand_dims(v, 0)
@extract(m, v) ; @eye(3) ; @eye(2, 3, 1) ; @flatnonzero(x) ; @flip(x) ; @fliplr(x) ; @flipud(x) ; @full((2,), 3.5)
@full_like(x, 2) ; @gradient(v) ; @gradient(x, axis=1) ; @hamming(5) ; @hanning(5) ; @histogram(v, 3)
@histogram(v, t) ; @histogram(v, 3, (0.0, 6.0), True) | @histogram(v, 3, (0.0, 6.0), density=True)
@histogram(v, 3, None, False, w) | @histogram(v, 3, weights=w)
@histogram2d(v, w, 3) ; @histogram2d(v, w, 3, None, w, True) | @histogram2d(v, w, 3, density=True, weights=w)
@histogramdd(x, 2) ; @hsplit(x, 2) ; @hstack((v, w)) ; @identity(3) ; @imag(c) ; @in1d(v, t) | @isin(v, t)
@indices((2, 3)) ; @inner(v, w) ; @interp(v, t, u) ; @interp(v, t, u, -1.0, 9.0) ; @intersect1d(v, w)
@isclose(x, 1.0) ; @iscomplex(c) ; @isin(v, t) ; @isneginf(x) ; @isposinf(x) ; @isreal(c) ; @ix_(i, i)
@kaiser(5, 2.0) ; @kron(s, s) ; @lexsort(x) ; @linspace(0, 1, 5) ; @linspace(0.0, 1.0, 4, endpoint=False)
@logspace(0, 1, 4) ; @matrix_transpose(x) ; @max(x) ; @mean(x, axis=0) ; @median(x) ; @median(x, axis=1)
@meshgrid(t, u) | list(np.meshgrid(t, u)) ; @meshgrid(t, u, indexing="ij") | list(np.meshgrid(t, u, indexing="ij"))
@min(x) ; @moveaxis(x, 0, 1) ; @msort(x) | @sort(x, axis=0) ; @nan_to_num(n) ; @nanargmax(n) ; @nanargmin(n)
@nancumprod(n) ; @nancumsum(n) ; @nanmax(n) ; @nanmean(n) ; @nanmedian(n) ; @nanmin(n) ; @nanprod(n) ; @nanstd(n)
@nansum(n) ; @nanvar(n) ; @nonzero(x) ; @ones((2, 2), np.float32) ; @ones_like(x) ; @outer(t, u) ; @packbits(bits)
@pad(v, 2) ; @pad(x, ((1, 1), (0, 2)), mode="edge") ; @partition(v, 2) | @sort(v)[[0, 1, 2, 3, 4]]
@percentile(x, 30) ; @percentile(x, [10, 90], axis=0) ; @permute_dims(x, (1, 0)) ; @piecewise(v, [v > 2], [1.0, 0.0])
@prod(x) ; @product(v) | @prod(v) ; @ptp(x, axis=0) ; @quantile(x, 0.25) ; @ravel(x) ; @ravel(x, "F")
@ravel_multi_index((i % 2, i), (2, 4)) ; @real(c) ; @real_if_close(c) ; @repeat(v, 2) ; @require(x, None, ["C"])
@reshape(x, (4, 3)) ; @reshape(x, -1, order="F") ; @resize(v, (2, 3)) ; @roll(x, 1) ; @roll(x, 2, axis=1)
@rollaxis(x, 1) ; @rot90(x) ; @round(x, 1) ; @round_(x, 1) | @round(x, 1) ; @row_stack((t, u)) | @vstack((t, u))
@searchsorted(t, v) ; @searchsorted(t, v, side="right") ; @select([v > 3, v > 1], [v, w], 7.0) ; @setdiff1d(v, t)
@setxor1d(v, t) ; @sometrue(m) | @any(m) ; @sort(x) ; @sort(x, axis=0) ; @sort_complex(c) ; @split(x, 2, axis=1)
@squeeze(x.reshape(1, 3, 4)) ; @stack([t, u]) ; @stack((t, u), axis=1) ; @std(x) ; @std(x, axis=0, ddof=1)
@sum(x) ; @sum(x, (0, 1)) ; @sum(i, dtype=np.float32) ; @swapaxes(x, 0, 1) ; @take(v, i) ; @take(x, [0, 2], axis=1)
@take_along_axis(x, i.reshape(4, 1)[:3] % 2, 1) ; @tensordot(x, x, ((1,), (1,))) ; @tile(v, 2) ; @trace(s)
@transpose(x) ; @trapezoid(v) ; @trapz(v, dx=0.5) | @trapezoid(v, dx=0.5) ; @tri(3) ; @tril(s) ; @tril_indices(3)
@tril_indices_from(s) ; @trim_zeros(v) ; @triu(s, 1) ; @triu_indices(3) ; @triu_indices_from(s) ; @union1d(v, w)
@unique(i) ; @unique(i, return_counts=True, return_inverse=True) ; @unique_all(i) ; @unique_counts(i)
@unique_inverse(i) ; @unique_values(i) ; @unpackbits(bits) ; @unravel_index(i, (2, 3)) ; @unwrap(v) ; @vander(t)
@var(x, axis=1) ; @vdot(c, c) ; @vsplit(x[:2], 2) ; @vstack((t, u)) ; @where(m, v, w) ; @where(m, 1.0, w) ; @where(m)
@zeros((2, 3)) ; @zeros(3, int) ; @zeros_like(x) ; @argpartition(v, 2).shape ; @matmul(x, x.T)
@ndim(x) ; @shape(x) ; @size(x) ; @size(x, 1) ; @isscalar(x) ; @iscomplexobj(c) ; @isrealobj(x) ; @isfortran(x.T)
@can_cast(np.float32, np.float64) ; @result_type(x, np.float32) ; @common_type(x, c) ; @min_scalar_type(x)
@may_share_memory(x, x[1:]) ; @shares_memory(x, x[1:]) ; @base_repr(5) ; @binary_repr(5) ; @array_repr(v)
@array_str(v)
@array2string(v) ; @format_float_positional(1.5) ; @format_float_scientific(1.5) ; @broadcast_shapes((2, 1), (3,))
@fromiter(range(3), float) ; @frombuffer(b"abcd", np.uint8) ; @fromfunction(lambda p, q: p - 2 * q, (2, 3))
@fromstring("1 2 3", float, sep=" ") ; @mask_indices(3, lib.triu) ; @mask_indices(4, lib.tril, -1)
@poly(v) ; @poly(s) ; @poly(c) ; @polyadd(v, t) ; @polyadd(t, 2) ; @polysub(t, v) ; @polysub(v, t) ; @polymul(v, t)
@polymul(i, t) ; @polyval(v, x) ; @polyval(t, 0.5) ; @polyval(i, i) ; @polyfit(v, w, 2) ; @polyfit(v, w, 1, w=v)
@polyfit(v, w, 1, full=True) ; @polyfit(v, w, 1, cov=True) ; @polyfit(t, s, 1)
@roots(t[:2]) ; @roots(t[:1]) ; @roots(lib.diff(u) * lib.arange(2.0)) ; @roots(lib.cumprod(u)[:2])
@linalg.cholesky(s) ; @linalg.cond(s) ; @linalg.cross(t, u) ; @linalg.det(s) ; @linalg.eigh(s) ; @linalg.eigvalsh(s)
@linalg.eig(s) ; @linalg.eigvals(s) ; @linalg.inv(s) ; @linalg.lstsq(s, t) ; @linalg.matmul(s, s)
@linalg.matrix_power(s, 3) ; @linalg.matrix_rank(s) ; @linalg.matrix_transpose(s) ; @linalg.norm(x)
@linalg.norm(x, axis=1) ; @linalg.norm(x, 1) ; @linalg.pinv(s) ; @linalg.qr(s) ; @linalg.slogdet(s)
@linalg.solve(s, t) ; @linalg.svd(s) ; @linalg.svd(s, compute_uv=False)
@linalg.tensorinv(s.reshape(3, 3), ind=1) ; @linalg.tensorsolve(s, t)
@fft.fft(v) ; @fft.fft(v, 8) ; @fft.fft2(x) ; @fft.fftfreq(5, 0.1) ; @fft.fftn(x, axes=(0,)) ; @fft.fftshift(v)
@fft.hfft(c) ; @fft.ifft(c) ; @fft.ifft2(x) ; @fft.ifftn(x) ; @fft.ifftshift(v) ; @fft.ihfft(v) ; @fft.irfft(c, 4)
@fft.irfft2(x) ; @fft.irfftn(x) ; @fft.rfft(v, norm="ortho") ; @fft.rfft2(x) ; @fft.rfftfreq(6) ; @fft.rfftn(x)
"""
# Tested by hand below or in the other files: files, in-place functions, the library about itself.
ELSEWHERE = {
    "asnumpy", "copyto", "fill_diagonal", "from_dlpack", "fromfile", "fuse", "genfromtxt", "get_array_module",
    "get_default_memory_pool", "get_default_pinned_memory_pool", "is_available", "load", "loadtxt", "place", "put",
    "disp", "find_common_type", "fromDlpack", "get_array_wrap", "issctype", "issubclass_", "issubsctype", "obj2sctype",
    "safe_eval", "sctype2char", "set_string_function", "who",
    "put_along_axis", "putmask", "save", "savetxt", "savez", "savez_compressed", "show_config",
}  # fmt: skip
# Functions that make arrays out of host data, or answer questions about any data.
TAKE_HOST_DATA = {
    "array", "array2string", "array_repr", "array_str", "asanyarray", "asarray", "asarray_chkfinite",
    "ascontiguousarray", "asfarray", "asfortranarray", "atleast_1d", "atleast_2d", "atleast_3d", "can_cast", "copy",
    "diag", "diagflat", "dstack", "hstack", "iscomplexobj", "isrealobj", "isscalar", "min_scalar_type", "ndim",
    "ix_", "require", "result_type", "row_stack", "shape", "vstack",
}  # fmt: skip
SAMPLES = [call.strip() for line in CALLS.strip().splitlines() for call in line.split(" ; ")]


def evaluated(call: str, module: Any, data: dict[str, Any]) -> Any:
    return eval(call.replace("@", "lib."), {"lib": module, "np": np}, dict(data))


def on_host(value: Any) -> Any:
    if isinstance(value, cupy.ndarray):
        return host_buffer(value)
    if isinstance(value, (tuple, list)):
        return [on_host(item) for item in value]
    return value


def assert_same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, (tuple, list)):
        assert isinstance(ours, (tuple, list))
        assert len(ours) == len(theirs)
        for mine, its in zip(ours, theirs, strict=True):
            assert_same(mine, its)
    elif isinstance(theirs, (np.generic, np.ndarray)):
        assert isinstance(ours, cupy.ndarray), type(ours)
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(host_buffer(ours), theirs, rtol=1e-14, atol=1e-14)
    elif (isinstance(theirs, bool) and isinstance(ours, cupy.ndarray)) or isinstance(ours, cupy.ndarray):
        assert ours.ndim == 0
        assert host_buffer(ours)[()] == theirs
    else:
        assert ours == theirs


def function_of(call: str) -> str:
    found = re.match(r"@((?:linalg\.|fft\.)?\w+)", call)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("call", SAMPLES)
def test_result_is_numpys(call: str) -> None:
    ours, _, theirs = call.partition(" | ")
    device = {name: cupy.asarray(value) for name, value in HOST.items()}
    expected = evaluated(theirs or ours, np, HOST)
    result = evaluated(ours, cupy, device)
    assert_same(result, expected)


@pytest.mark.parametrize("call", SAMPLES)
def test_host_arrays_are_refused(call: str) -> None:
    ours = call.partition(" | ")[0]
    name = function_of(ours)
    if name in TAKE_HOST_DATA or not re.search(r"(?<![\w.\"])(x|v|w|i|c|s|m|n|t|u|bits)(?![\w\"])", ours):
        return
    with pytest.raises((TypeError, ValueError)):
        evaluated(ours, cupy, HOST)


@pytest.mark.parametrize(("module", "table"), [("", _api.CUPY), ("linalg.", _api.CUPY_LINALG), ("fft.", _api.CUPY_FFT)])
def test_every_function_is_sampled(module: str, table: dict[str, Any]) -> None:
    sampled = {function_of(call) for call in SAMPLES}
    missing = {module + name for name in table["functions"]} - sampled - ELSEWHERE - LEFT_OUT
    assert not missing


@pytest.mark.parametrize(("module", "table"), [("", _api.CUPY), ("linalg", _api.CUPY_LINALG), ("fft", _api.CUPY_FFT)])
def test_signatures_are_cupys(module: str, table: dict[str, Any]) -> None:
    namespace = getattr(cupy, module) if module else cupy
    for name, parameters in table["functions"].items():
        if name not in LEFT_OUT:
            expected = with_signature(name, parameters, lambda values: values, "expected")
            assert inspect.signature(getattr(namespace, name)) == inspect.signature(expected), name


MODULES = {"cuda", "exceptions", "fft", "lib", "linalg", "polynomial", "random", "testing", "typing"}


@pytest.mark.parametrize(("module", "table"), [("", _api.CUPY), ("linalg", _api.CUPY_LINALG), ("fft", _api.CUPY_FFT)])
def test_there_is_no_name_that_cupy_lacks(module: str, table: dict[str, Any]) -> None:
    namespace = getattr(cupy, module) if module else cupy
    known = {name for names in table.values() for name in names} | MODULES
    assert {name for name in vars(namespace) if not name.startswith("_")} <= known


@pytest.mark.parametrize("name", ["insert", "geomspace", "vecdot", "errstate", "block", "asmatrix"])
def test_names_of_numpy_that_cupy_lacks_are_absent(name: str) -> None:
    assert hasattr(np, name)
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
        getattr(cupy, name)


def test_names_that_only_cupy_has_say_so() -> None:
    with pytest.raises(AttributeError, match="CuPy has it, but the stand-in"):
        cupy.make_aligned_dtype  # noqa: B018


def test_the_documentation_lists_what_the_stand_in_lacks() -> None:
    page = Path(__file__).parents[2] / "docs" / "compatibility.md"
    section = page.read_text().partition("### What the stand-in lacks")[2].partition("\n## ")[0]
    listed = {
        words[0]: set(words[1:])
        for line in re.split(r"^\* ", section, flags=re.MULTILINE)[1:]
        if (words := re.findall(r"`([\w.*]+)`", line))
    }
    names = {name for kind in _api.CUPY.values() for name in kind}
    of_newer_numpy = {name for name in {*_api.CUPY["functions"]} - LEFT_OUT if not hasattr(np, name)}
    assert listed["cupy"] == {name for name in names if not hasattr(cupy, name)} - of_newer_numpy
    with pytest.raises(ImportError):
        importlib.import_module("cupy.fft.config")
    for module, table in (("linalg", _api.CUPY_LINALG), ("fft", _api.CUPY_FFT), ("random", _api.CUPY_RANDOM)):
        absent = {n for kind in table.values() for n in kind if not hasattr(getattr(cupy, module), n)}
        assert absent == ({"config"} if module == "fft" else set())
    imported = {"check_soft_dependencies", "distance_matrix", "fft", "ifft", "next_fast_len", "pi"}  # by CuPy's modules
    absent = {
        name
        for path, names in _api.SCIPY.items()
        for name in names
        if not hasattr(importlib.import_module(f"cupyx.scipy.{path}"), name)
    }
    assert absent - imported <= listed["cupyx.scipy"]  # the SciPy that is installed may have more


@pytest.mark.parametrize(
    ("call", "word"),
    [
        ("sum(a, where=True)", "where"),
        ("max(a, initial=0)", "initial"),
        ("zeros(3, device='cpu')", "device"),
        ("std(a, correction=1)", "correction"),
        ("asarray(a, like=a)", "like"),
        ("count_nonzero(a, keepdims=True)", "keepdims"),
    ],
)
def test_parameters_that_cupy_lacks_are_type_errors(call: str, word: str) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{word}'"):
        eval(f"cupy.{call}", {"cupy": cupy, "a": cupy.arange(3.0)})


# Loops that NumPy has not.
NUMPY_LACKS = {
    *(
        f"{name} {loop}"
        for name in ("arctan2", "atan2", "copysign", "hypot", "nextafter")
        for loop in ("FF->F", "DD->D")
    ),
    *("i0 F->F", "i0 D->D", "gcd ??->?", "lcm ??->?", "negative ?->?", "positive ?->?", "subtract ??->?"),
}


def loop_cases() -> list[Any]:
    return [
        pytest.param(name, loop, id=f"{name}-{loop}")
        for name, (_, _, types) in _api.CUPY["ufuncs"].items()
        for loop in types.split()
    ]


@pytest.mark.parametrize(("name", "loop"), loop_cases())
def test_ufunc_loops(name: str, loop: str) -> None:
    inputs, _, outputs = loop.partition("->")
    if "V" in inputs:
        return
    base = np.array([1, 0, 1]) if "?" in inputs else np.array([1, 2, 3])
    scale = 0.25 if set(inputs) <= set("efdFD") and name.startswith(("arc", "a")) else 1
    operands = [(base * scale).astype(char) for char in inputs]
    device = [cupy.asarray(value) for value in operands]
    if f"{name} {loop}" in NUMPY_LACKS:
        with pytest.raises(TypeError):
            getattr(cupy, name)(*device)
        return
    with np.errstate(all="ignore"):
        try:
            expected = getattr(np, name)(*operands)
        except TypeError:  # CuPy's loops of sign and the like for bool
            expected = None
    results: Any = getattr(cupy, name)(*device)
    results = results if isinstance(results, tuple) else (results,)
    for position, result in enumerate(results):
        assert isinstance(result, cupy.ndarray)
        if expected is not None:
            wanted = expected[position] if isinstance(expected, tuple) else expected
            np.testing.assert_allclose(host_buffer(result), np.asarray(wanted).astype(result.dtype), rtol=1e-6)
    first = next(
        types
        for types in _api.CUPY["ufuncs"][name][2].split()
        if all(np.can_cast(value.dtype, char) for value, char in zip(operands, types, strict=False))
    )
    assert [result.dtype for result in results] == [np.dtype(char) for char in first.partition("->")[2]]
    assert len(results) == len(outputs)
    for host in operands:
        if host.ndim:
            with pytest.raises(TypeError, match="Unsupported type"):
                getattr(cupy, name)(*[host] * len(operands))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("concatenate([[1, 2], [3, 4]])", "Unsupported type <class 'list'>"),
        ("concatenate([v, [3.0]])", "Unsupported type <class 'list'>"),
        ("concatenate([[1.0], [2.0]], axis=None)", "Unsupported type <class 'list'>"),
        ("concatenate([host])", "Unsupported type <class 'numpy.ndarray'>"),
        ("concatenate(host)", "Only cupy arrays can be concatenated"),
        ("concat([1.0, 2.0])", "Only cupy arrays can be concatenated"),
        ("stack([[1, 2], [3, 4]])", "Argument 'a' has incorrect type .*, got list"),
        ("stack([v, host])", "Argument 'a' has incorrect type .*, got numpy.ndarray"),
        ("column_stack([[1, 2], [3, 4]])", "Only cupy arrays can be column stacked"),
        ("select([v > 1], [[1.0, 2.0, 3.0]])", "Unsupported type <class 'list'>"),
        ("ravel_multi_index(([1], [2]), (3, 3))", "Unsupported type <class 'list'>"),
        ("polyval([1.0, 2.0], v)", "p must be 1d ndarray or poly1d object"),
        ("polyadd([1.0], v)", "Unsupported type"),
    ],
)
def test_lists_are_refused_where_cupy_wants_arrays(call: str, error: str) -> None:
    with pytest.raises(TypeError, match=error):
        eval(f"cupy.{call}", {"cupy": cupy, "v": cupy.arange(3.0), "host": np.arange(3.0)})


@pytest.mark.parametrize("name", ["vstack", "hstack", "dstack", "row_stack"])
def test_host_data_that_cupy_copies_itself_is_recorded(name: str) -> None:
    items = [cupy.arange(3.0), [1.0, 2.0, 3.0]]
    with cunumpy.profiling.count_transfers() as counter:
        result = getattr(cupy, name)(items)
    numpy_name = "vstack" if name == "row_stack" else name
    np.testing.assert_array_equal(host_buffer(result), getattr(np, numpy_name)([np.arange(3.0), items[1]]))
    assert [(e.kind, e.implicit, e.nbytes) for e in counter.events] == [("to_device", True, 24)]
    with cunumpy.profiling.forbid_transfers(), pytest.raises(TransferError, match="of host data of type list"):
        getattr(cupy, name)(items)


def test_polynomials_of_which_cupy_finds_no_roots() -> None:
    with pytest.raises(NotImplementedError, match="Only complex Hermitian and real symmetric 2d arrays"):
        cupy.roots(cupy.array([1.0, 2.0, 3.0]))
    with pytest.raises(NotImplementedError, match="Only complex Hermitian and real symmetric 2d arrays"):
        cupy.poly(cupy.array([[1.0, 2.0], [3.0, 4.0]]))
    found = cupy.roots(cupy.array([2.0, 0.0, -2.0]))  # the companion matrix is symmetric
    assert sorted(found.get()) == [-1.0, 1.0]
    conjugates = cupy.poly(cupy.array([1j, -1j]))  # NumPy's answer is real
    assert conjugates.dtype == complex
    assert conjugates.get().tolist() == [1, 0, 1]
    assert cupy.polyfit(cupy.arange(3, dtype="f4"), cupy.arange(3, dtype="f4"), 1).dtype == float


def test_functions_with_options_of_numpys(tmp_path: Any) -> None:
    a = cupy.array([1.25, 2.5])
    assert cupy.array2string(a, precision=1) == cupy.array2string(a, None, 1) == "[1.2 2.5]"
    cupy.savetxt(tmp_path / "a.txt", a, "%.3f")
    assert (tmp_path / "a.txt").read_text().split() == ["1.250", "2.500"]


def test_in_place_functions_change_the_array() -> None:
    a = cupy.arange(5.0)
    cupy.put(a, [0, 7], cupy.array([9.0, 8.0]))  # CuPy's default mode wraps around
    cupy.putmask(a, a > 8.5, cupy.array([-1.0]))
    cupy.copyto(a, 3.0, where=cupy.array([False, True, False, False, False]))
    cupy.place(a, cupy.array([False, False, False, False, True]), cupy.array([7.0]))
    assert a.get().tolist() == [-1.0, 3.0, 8.0, 3.0, 7.0]
    b = cupy.zeros((2, 2))
    cupy.fill_diagonal(b, 4.0)
    cupy.put_along_axis(b, cupy.array([[1], [0]]), cupy.array([[5.0], [6.0]]), 1)
    assert b.get().tolist() == [[4.0, 5.0], [6.0, 4.0]]
    out = cupy.empty(2)
    assert cupy.sum(b, axis=0, out=out) is out
    assert out.get().tolist() == [10.0, 9.0]


def test_floating_point_errors_and_empty_means_are_silent() -> None:
    zero = cupy.zeros(1)
    assert np.isnan((zero / zero).get()).all()
    assert np.isnan(cupy.nanmean(cupy.array([np.nan])).get())
    assert np.isnan(cupy.mean(cupy.zeros(0)).get())
