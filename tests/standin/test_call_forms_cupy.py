"""NumPy's call forms on the CuPy backend: NumPy's result, or a refusal that `docs/compatibility.md` lists."""

import functools
import inspect
import operator
import pickle
import re
import sys
from pathlib import Path

import array_api_compat.cupy
import numpy as np
import pytest

import call_walk
import cunumpy as xp
from cunumpy._call_forms import numpy_form
from cunumpy._cupy_namespace._signatures import SIGNATURES
from cunumpy.kernel_testing._fake_cupy.ufunc import METHODS

# What NumPy has and CuPy lacks, as far as a call form is concerned. The names stand in docs/compatibility.md.
REFUSED = {
    ("intersect1d", "return_indices"): "return_indices must be False",
    ("take", "mode"): "mode must be 'wrap' or 'clip'",
    ("trim_zeros", "axis"): "axis must be None",
}
NAMES_CUPY_LACKS = {
    "asmatrix", "block", "bmat", "einsum_path", "frompyfunc", "geomspace", "histogram_bin_edges", "insert", "matvec",
    "nanpercentile", "nanquantile", "polyder", "polydiv", "polyint", "spacing", "vecmat", "linalg.multi_dot",
    "matrix", "memmap", "ndenumerate", "nditer", "nested_iters", "recarray", "record", "errstate", "seterr", "geterr",
    "seterrcall", "geterrcall", "setbufsize", "getbufsize", "longdouble", "clongdouble", "float128", "complex256",
    "bytes_", "str_", "object_", "void", "character", "flexible", "ScalarType", "sctypeDict", "typecodes",
    "little_endian", "True_", "False_", "datetime64", "timedelta64", "busdaycalendar", "busday_count", "busday_offset",
    "datetime_as_string", "datetime_data", "is_busday", "isnat", "fromregex", "get_include", "info", "show_runtime",
    "test", "char", "core", "ctypeslib", "dtypes", "emath", "f2py", "ma", "rec", "strings",
}  # fmt: skip
# About memory or host data, so that a device copy of the arguments is no test.
NOT_COMPARED = {"may_share_memory", "shares_memory", "broadcast_shapes", "binary_repr"}
# Integers stay integers with CuPy, as in the standard, and with NumPy from 2.1 on.
INTEGERS_STAY = {"ceil", "fix", "floor", "trunc"}

FUNCTIONS = dict(call_walk.functions())


def lookup(name):
    value = xp
    for part in name.split("."):
        value = getattr(value, part)
    return value


def to_device(value):
    if isinstance(value, np.ndarray):
        return xp.asarray(value)
    if type(value) in (list, tuple):
        return type(value)(map(to_device, value))
    return value


def to_host(value):
    if isinstance(value, (tuple, list)):
        return [to_host(one) for one in value]
    return value.get() if isinstance(value, sys.modules["cupy"].ndarray) else value


DOCUMENTED = Path(__file__).parents[2].joinpath("docs/compatibility.md").read_text()


def test_names_that_are_missing():
    public = {prefix + name for prefix, module in call_walk.MODULES.items() for name in module.__all__}
    names = {name for name in public if not name.startswith("_")}
    missing = {name for name in names if not xp.available(name)}
    assert missing == NAMES_CUPY_LACKS & names
    for name in NAMES_CUPY_LACKS:
        assert f"`{name}`" in DOCUMENTED, name
    for name, argument in REFUSED:
        assert f"`{name}({argument}=)`" in DOCUMENTED


def test_methods_that_are_missing():
    section = " ".join(DOCUMENTED.partition("Methods that CuPy lacks.")[2].partition("* Arguments")[0].split())
    absent = re.findall(r"`(\w+)`", section.partition("have no")[2].partition(";")[0])
    generator = xp.random.default_rng(1)
    numpys = {name for name in dir(np.random.Generator) if name[0] != "_" and name != "bit_generator"}
    assert {*absent} & numpys == {name for name in numpys if not hasattr(generator, name)}
    ufuncs = section.partition("The generators")[0]
    for method, names in METHODS.items():  # of CuPy's ufuncs, which tests/cunumpy-kernels/test_real_cupy.py compares
        listed = next(part for part in ufuncs.split(";") if f"`{method}`" in part).partition(" for ")[2]
        assert set(re.findall(r"`(\w+)`", listed)) == set(names), method
    for method, args in (("accumulate", (A,)), ("reduce", (A,)), ("reduceat", (A[0], np.array([0])))):
        with pytest.raises(NotImplementedError, match=f"maximum.{method}. is not supported"):
            getattr(xp.maximum, method)(*map(to_device, args))


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in NOT_COMPARED and xp.available(n)])
def test_every_call_gives_numpys_result(name):
    function = lookup(name)
    taken: dict[str, bool] = {}
    compared = 0
    for call in call_walk.calls(FUNCTIONS[name]):
        values = [*call.args, *call.kwargs.values()]
        if any(value is np._NoValue or (isinstance(value, str) and value == "cpu") for value in values):
            continue  # not a value users give; a device of NumPy's
        required = call_walk.required_arguments(FUNCTIONS[name], call)
        if str(required) not in taken:
            taken[str(required)] = call_walk.is_taken(function, [to_device(value) for value in required.args])
        if not taken[str(required)]:
            continue  # host data where CuPy wants arrays, or the other way round: refused whatever the form
        args = [to_device(value) for value in call.args]
        kwargs = {key: to_device(value) for key, value in call.kwargs.items()}
        refusal = next((text for (f, k), text in REFUSED.items() if f == name and _gives(call, name, k)), None)
        if refusal is not None:
            with pytest.raises(ValueError, match=re.escape(f"{name}: {refusal}")):
                function(*args, **kwargs)
            continue
        rtol = 1e-5 if "float32" in str(call) or "complex64" in str(call) else 1e-12
        defined = name not in call_walk.VALUES_UNDEFINED and not call_walk.leaves_undefined(call)
        expected = call.result
        if name in INTEGERS_STAY and all(value is None for value in values[1:]):
            given = np.asarray(values[0]).dtype
            expected = expected.astype(given) if given.kind in "iub" else expected
        call_walk.assert_same(to_host(function(*args, **kwargs)), expected, f"{name}{call}", rtol, values=defined)
        for after, expected in zip(args, call.args_after, strict=True):
            if isinstance(expected, np.ndarray):
                call_walk.assert_same(to_host(after), expected, f"{name}{call}: argument", rtol, values=defined)
        compared += 1
    assert compared or not any(taken.values()), f"no call of {name} was compared"


def _gives(call, name, argument):
    """Tell whether a call gives the argument a value that CuPy can't serve."""
    served = {"return_indices": (False,), "mode": ("wrap", "clip"), "axis": (None,)}[argument]
    value = call.kwargs.get(argument, call_walk.by_position(FUNCTIONS[name], call).get(argument, served[0]))
    return value not in served


A = np.array([[3.0, 1.0, 2.0], [0.5, 0.75, 0.25]])


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("zeros", ((2, 3),), {"dtype": np.float32, "device": None}),
        ("asarray", (A,), {"copy": True, "device": None}),
        ("std", (A,), {"correction": 1}),
        ("var", (A,), {"axis": 0, "correction": 1.0, "keepdims": True}),
        ("astype", (A, np.float32), {"copy": False}),
        ("sort", (A,), {"descending": True}),
        ("argsort", (A,), {"axis": 0, "descending": True, "stable": True}),
        ("unique_all", (A,), {}),
        ("unique_counts", (A,), {}),
        ("vecdot", (A, A), {"axis": 0}),
        ("permute_dims", (A, (1, 0)), {}),
        ("matrix_transpose", (A,), {}),
        ("unstack", (A,), {"axis": 1}),
        ("concat", ([A, A],), {"axis": None}),
        ("take_along_axis", (A, np.array([[0], [1]])), {}),
        ("cumulative_sum", (A,), {"axis": 1, "include_initial": True}),
        ("count_nonzero", (A,), {"axis": 0, "keepdims": True}),
        ("clip", (A,), {"min": 0.5, "max": 2.0}),
        ("isin", (A, 2), {"invert": True}),
        ("searchsorted", (np.array([1.0, 2.0]), 1.5), {}),
        ("reshape", (A, (3, 2)), {"copy": True}),
        ("fft.fftfreq", (4,), {"dtype": np.float32}),
        ("fft.rfftfreq", (4,), {"device": None}),
        ("linalg.vector_norm", (A,), {"axis": 1, "ord": 1}),
        ("linalg.matrix_norm", (A,), {"ord": 2}),
        ("linalg.svdvals", (A,), {}),
        ("linalg.trace", (A,), {"offset": 1}),
        ("linalg.outer", (A[0], A[1]), {}),
        ("linalg.pinv", (A,), {"rtol": 1e-6}),
        ("linalg.cross", (A, A[::-1].copy()), {"axis": -1}),
        ("linalg.tensordot", (A, A.T.copy()), {"axes": 1}),
    ],
)
def test_forms_of_the_standard(name, args, kwargs):
    import array_api_compat.numpy as standard

    expected = standard
    for part in name.split("."):
        expected = getattr(expected, part)
    got = lookup(name)(*map(to_device, args), **kwargs)
    call_walk.assert_same(to_host(got), to_host(expected(*args, **kwargs)), name, 1e-12)


def test_frequencies_take_device_and_dtype():
    device = sys.modules["cupy"].cuda.Device(0)
    for name in ("fftfreq", "rfftfreq"):
        got = lookup(f"fft.{name}")(5, 0.5, dtype=np.float32, device=device)
        np.testing.assert_array_equal(got.get(), getattr(np.fft, name)(5, 0.5).astype(np.float32), strict=True)


@pytest.mark.parametrize("dtype", ["?", "i1", "i8", "u4", "u8"])
@pytest.mark.parametrize(
    ("counts", "axis"), [([1, 0, 1], 1), ([1], 0), ([1, 0], -2), ([1, 0, 1, 1, 1, 0], None), ([1, 0, 0], 1), (1, 1)]
)
def test_counts_of_repeat_are_on_the_device_too(counts, axis, dtype):
    a, host = np.arange(6.0).reshape(2, 3), np.array(counts, dtype) * np.array(3 if dtype != "?" else 1, dtype)
    expected = np.repeat(a, host.astype(np.int64), axis)
    device, on_device = xp.asarray(a), xp.asarray(host)
    with xp.profiling.count_transfers() as counter:
        got = xp.repeat(device, on_device, axis=axis)
    np.testing.assert_array_equal(got.get(), expected, strict=True)
    assert [(event.kind, event.nbytes) for event in counter.events] == [("to_host", 16)]  # the length of the result


def test_counts_of_repeat_are_checked():
    a = xp.asarray(np.arange(3.0))
    assert xp.repeat(a[:0], xp.asarray([2])).shape == (0,)
    with pytest.raises(ValueError, match=r"repeat: repeats must have 1 or 3 elements along axis 0, got 2\."):
        xp.repeat(a, xp.asarray([1, 2]))
    with pytest.raises(ValueError, match=r"repeat: repeats must not be negative, got -1\."):
        xp.repeat(a, xp.asarray([1, -1, 2]))
    for counts in (xp.asarray([1.0, 2.0, 3.0]), xp.asarray([[1, 2, 3]])):
        with pytest.raises(TypeError, match="repeat: repeats must be an integer or a 1-D array of integers, got shape"):
            xp.repeat(a, counts)


def test_results_have_numpys_names():
    a = xp.asarray(np.array([[2.0, 0.5], [0.5, 1.0]]))
    assert xp.linalg.svd(a).S.shape == (2,)
    assert xp.linalg.eigh(a).eigenvalues.shape == (2,)
    assert xp.linalg.eig(a).eigenvectors.shape == (2, 2)
    assert xp.linalg.qr(a).Q.shape == (2, 2)
    assert float(xp.linalg.slogdet(a).sign) == 1.0


@pytest.mark.parametrize("hermitian", [False, True])
def test_decompositions_reproduce_the_matrix(hermitian):
    h = np.array([[2.0, 0.5, -1.0], [0.5, -1.0, 0.25], [-1.0, 0.25, 0.5]])
    u, s, vh = xp.linalg.svd(xp.asarray(h), hermitian=hermitian)
    np.testing.assert_allclose(((u * s) @ vh).get(), h, atol=1e-14)
    np.testing.assert_allclose(s.get(), np.linalg.svd(h, compute_uv=False))
    np.testing.assert_allclose(xp.linalg.pinv(xp.asarray(h), hermitian=hermitian).get(), np.linalg.inv(h), atol=1e-14)
    singular = h - np.linalg.eigvalsh(h)[0] * np.eye(3)
    assert int(xp.linalg.matrix_rank(xp.asarray(singular), hermitian=hermitian)) == np.linalg.matrix_rank(singular) == 2


def test_argument_errors_name_function_and_argument():
    a = xp.asarray(A)
    for call, text in [
        (lambda: xp.sum(a, where=np.ones(3, bool)), "sum: where must be a bool or a CuPy array of bools, got ndarray"),
        (lambda: xp.max(a, where=a > 1), "max: has no identity, so where= needs initial="),
        (lambda: xp.zeros(3, device="cpu"), "zeros: device must be None, a device number or a cupy.cuda.Device"),
        (lambda: xp.zeros(shpae=3), "zeros: has no argument 'shpae'; did you mean 'shape'?"),
        (lambda: xp.zeros(3, like=A), "zeros: like must be a CuPy array"),
        (lambda: xp.sort(a, kind="bogo"), "sort: kind must be None or 'stable'"),
        (lambda: xp.argmax(a, 0, None, 3), "argmax: takes at most 3 positional arguments, got 4"),
        (lambda: xp.argmax(a, 0, None, out=None), "argmax: got two values for the argument 'out'"),
        (lambda: xp.percentile(a, 50, weights=a), "percentile: weights must be None"),
        (lambda: xp.load("x.npy", encoding="ASCII"), "load: CuPy's load has no argument 'encoding'"),
        (lambda: xp.std(a, ddof=1, correction=1), "std: ddof and correction mean the same"),
        (lambda: xp.clip(a, 1), "clip: a_min and a_max belong together"),
        (lambda: xp.add(a, a, where=1.0), "add: where must be a bool"),
        (lambda: xp.add(a, a, order="X"), "add: order must be"),
        (lambda: xp.isin(a, a, kind="x"), "isin: kind must be"),
    ]:
        with pytest.raises((TypeError, ValueError), match=re.escape(text)):
            call()


def test_scalars_reach_the_device_without_a_copy_from_the_host(monkeypatch):
    cupy, a = sys.modules["cupy"], xp.asarray(A)

    def copied(*args, **kwargs):
        raise AssertionError("a copy from the host that nobody asked for")

    for name in ("array", "asarray", "asanyarray"):
        monkeypatch.setattr(cupy, name, copied)
    results = [
        xp.isin(a, 2.0),
        xp.searchsorted(a[0], 1.5),
        xp.max(a[:0], axis=0, initial=4.0),
        xp.sum(a, initial=1.0, where=True),
        xp.mean(a, where=False, axis=0),
        xp.clip(a, None, None),
    ]
    monkeypatch.undo()
    assert xp.isin(2.0, a).get() == np.isin(2.0, A)
    np.testing.assert_array_equal(results[0].get(), np.isin(A, 2.0))
    assert results[1].get() == np.searchsorted(A[0], 1.5)
    np.testing.assert_array_equal(results[2].get(), np.full(3, 4.0))
    np.testing.assert_array_equal(results[5].get(), A)


def test_division_by_zero_can_be_masked():
    a, b = np.array([1.0, 2.0, 3.0]), np.array([2.0, 0.0, 4.0])
    d, e = xp.asarray(a), xp.asarray(b)
    out = xp.zeros(3)
    assert xp.divide(d, e, out=out, where=e != 0) is out
    np.testing.assert_array_equal(out.get(), np.divide(a, b, out=np.zeros(3), where=b != 0))
    assert float(xp.add.reduce(d)) == 6.0
    assert xp.add.nin == 2


def test_unchanged_functions_are_cupys_own():
    cupy = sys.modules["cupy"]
    for name in ("dot", "cumsum", "where", "bincount", "roll"):
        assert getattr(xp, name) is getattr(cupy, name)


M = A > 0.6
OUT_OF_THE_SHAPE = {
    "sum": {"initial": 1.0},
    "prod": {"initial": 1.0, "where": M},
    "nansum": {"initial": 1.0},
    "max": {"initial": 1.0},
    "nanmin": {"initial": 1.0, "where": M},
    "any": {"where": M},
    "mean": {"where": M},
    "nanmean": {"where": M},
    "var": {"where": M},
    "nanstd": {"where": M},
}


@pytest.mark.parametrize("shape", [(2, 3), (1, 3), (2,)])
@pytest.mark.parametrize("name", OUT_OF_THE_SHAPE)
def test_out_is_not_broadcast_into(name, shape):
    kwargs = {key: to_device(value) for key, value in OUT_OF_THE_SHAPE[name].items()}
    out = xp.full(shape, 9.0)
    with pytest.raises(ValueError):
        lookup(name)(xp.asarray(A), axis=0, out=out, **kwargs)
    assert (out == 9.0).all()
    right = xp.zeros(3)
    assert lookup(name)(xp.asarray(A), axis=0, out=right, **kwargs) is right
    call_walk.assert_same(right.get(), getattr(np, name)(A, axis=0, out=np.zeros(3), **OUT_OF_THE_SHAPE[name]), name)


@pytest.mark.parametrize(
    ("name", "args", "shape"),
    [
        ("einsum", ("ij->j", A), (3,)),
        ("fft.fft", (A,), (2, 3)),
        ("vecdot", (A, A), (2,)),
        ("clip", (A, None, None), (2, 3)),
    ],
)
def test_out_of_another_kind_of_number_is_refused(name, args, shape):
    out = xp.zeros(shape, dtype=np.int64)
    with pytest.raises(TypeError, match="int64"):
        lookup(name)(*map(to_device, args), out=out)
    assert not out.any()


@pytest.mark.parametrize("name", ["nanmean", "nanvar", "std", "nanstd"])
def test_out_of_integers_is_refused_where_numpy_does(name):
    with pytest.raises(TypeError):
        getattr(np, name)(A, axis=0, out=np.zeros(3, int), where=M)
    with pytest.raises(TypeError, match="int64"):
        lookup(name)(xp.asarray(A), axis=0, out=xp.zeros(3, dtype=np.int64), where=xp.asarray(M))


def test_outputs_of_einsum_and_transforms_have_the_results_shape():
    for name, args in [("einsum", ("ij->j", A)), ("fft.fft", (A,))]:
        with pytest.raises(ValueError, match=f"{name}: out must have the result's shape"):
            lookup(name)(*map(to_device, args), out=xp.zeros((5, 2, 3), dtype=complex))
        with pytest.raises(TypeError, match=f"{name}: out must be a CuPy array, got ndarray"):
            lookup(name)(*map(to_device, args), out=np.zeros((2, 3), dtype=complex))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "nanmin"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_initial_may_be_the_result_of_another_reduction(name, dtype):
    a, mask = (A * 8).astype(dtype), xp.asarray(M)
    for value in (np.asarray(2.5), np.asarray(100)):
        initial = xp.asarray(value)
        call_walk.assert_same(
            to_host(lookup(name)(xp.asarray(a), axis=0, initial=initial)),
            getattr(np, name)(a, axis=0, initial=value),
            name,
        )
        call_walk.assert_same(
            to_host(lookup(name)(xp.asarray(a), axis=0, initial=initial, where=mask)),
            getattr(np, name)(a, axis=0, initial=value, where=M),
            name,
        )
    with pytest.raises(ValueError, match=f"{name}: initial must be a scalar"):
        lookup(name)(xp.asarray(a), axis=0, initial=xp.ones(3))


@pytest.mark.parametrize("where", [True, np.True_, False, np.False_, np._NoValue])
@pytest.mark.parametrize("name", ["sum", "nanprod", "max", "any", "all", "mean", "nanmean", "std", "nanvar"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # means of nothing
def test_where_that_is_no_array(name, where):
    kwargs = {"initial": 1.0} if name == "max" else {}
    expected = getattr(np, name)(A, axis=0, where=where, **kwargs)
    call_walk.assert_same(to_host(lookup(name)(xp.asarray(A), axis=0, where=where, **kwargs)), expected, name, 1e-12)


@pytest.mark.parametrize("shapes", [((3,), (2, 3)), ((1, 3), (2, 3)), ((2, 3), (3, 2)), ((), (3,))])
@pytest.mark.parametrize("name", ["sum", "max", "any", "mean", "nanvar"])
def test_where_does_not_enlarge_the_array(name, shapes):
    array, mask = (np.ones(shape) for shape in shapes)
    kwargs = {"initial": 1.0} if name == "max" else {}
    with pytest.raises(ValueError):
        getattr(np, name)(array, where=mask > 0, **kwargs)
    with pytest.raises(ValueError, match=f"{name}: where of shape"):
        lookup(name)(xp.asarray(array), where=xp.asarray(mask > 0), **kwargs)


@pytest.mark.parametrize("name", ["mean", "nanmean", "std", "nanvar"])
def test_many_float16_are_added_up_in_float32(name):
    a = np.ones(70_000, np.float16)  # more than float16 can count
    got = lookup(name)(xp.asarray(a), where=xp.ones(a.shape, bool))
    assert got.dtype == np.float16
    assert float(got) == (1.0 if name.endswith("mean") else 0.0)


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        *[
            (name, (A,), {"keepdims": np._NoValue})
            for name in ("average", "nanmedian", "ptp", "argmax", "nanargmin", "sum")
        ],
        ("ptp", (A, 0, None, np._NoValue), {}),
        ("diff", (A,), {"prepend": np._NoValue, "append": np._NoValue}),
    ],
)
def test_numpys_mark_of_what_is_not_given_is_not_passed_on(name, args, kwargs):
    """CuPy takes it for a true value; the stand-in, which is NumPy below, does not show that."""
    seen = []

    def native(a, axis=None, out=None, keepdims=False, prepend=None, append=None):
        seen.append((axis, out, keepdims, prepend, append))

    numpy_form(name, native, getattr(np, name), {})(*args, **kwargs)
    assert not any(value is np._NoValue for value in seen[0])
    assert lookup(name) is not getattr(sys.modules["cupy"], name)
    call_walk.assert_same(
        to_host(lookup(name)(*map(to_device, args), **kwargs)), getattr(np, name)(*args, **kwargs), name
    )


def test_lexsort_keeps_the_digits_of_keys_of_several_dtypes():
    for keys in [
        (np.array([1.0, 2.0]), np.array([2**53 + 1, 2**53])),
        (np.array([2**63 + 1, 2**63], np.uint64), np.array([1, 1])),
        (np.array([3, 1, 2, 1], np.int8), np.array([0.5, 0.5, 0.25, 0.5])),
    ]:
        assert xp.lexsort(tuple(map(xp.asarray, keys))).tolist() == np.lexsort(keys).tolist()
    with pytest.raises(ValueError, match="lexsort: keys of several dtypes must be 1-D"):
        xp.lexsort((xp.ones((2, 2)), xp.ones((2, 2), dtype=int)))


def test_take_wraps_indices_around():
    for indices in (np.array([7, -8, 2]), np.array([250], np.uint8)):
        for axis in (None, 0, 1):
            got = xp.take(xp.asarray(A), xp.asarray(indices), axis, mode="wrap")
            np.testing.assert_array_equal(got.get(), np.take(A, indices, axis, mode="wrap"))


@pytest.mark.parametrize(
    "kwargs",
    [{"dtype": np.float32}, {"order": "F"}, {"subok": True}, {"casting": "unsafe", "dtype": np.int64}, {"where": M}],
)
@pytest.mark.parametrize("limits", [(0.5, 2.0), (None, 2.0), (0.5, None), (None, None)])
def test_clip_takes_the_keywords_of_ufuncs(limits, kwargs):
    out = np.full(A.shape, 9.0, kwargs.get("dtype"))
    limit = functools.partial(np.clip, A, *limits) if limits != (None, None) else functools.partial(np.positive, A)
    expected = limit(out=out, **kwargs)  # NumPy 2.0 refuses to clip without a limit
    device_out = xp.full(A.shape, 9.0, dtype=out.dtype)
    got = xp.clip(xp.asarray(A), *limits, out=device_out, **{key: to_device(value) for key, value in kwargs.items()})
    assert got is device_out
    np.testing.assert_array_equal(got.get(), expected)


def test_ufuncs_with_some_outputs():
    a = xp.asarray(A)
    for call in (lambda out: xp.modf(a, out=(None, out)), lambda out: xp.modf(a, None, out)):
        fraction, whole = call(out := xp.zeros(A.shape))
        assert whole is out
        np.testing.assert_array_equal(out.get(), np.modf(A)[1])
        np.testing.assert_array_equal(fraction.get(), np.modf(A)[0])
    first, second = xp.modf(a, out := xp.zeros(A.shape))
    assert first is out
    assert second is not out


def test_a_masked_ufunc_casts_as_asked():
    out = np.add(A, 0.5, out=np.zeros(A.shape, int), where=M, casting="unsafe")
    got = xp.add(xp.asarray(A), 0.5, out=xp.zeros(A.shape, dtype=int), where=xp.asarray(M), casting="unsafe")
    np.testing.assert_array_equal(got.get(), out)


def test_outputs_in_tuples():
    a = xp.asarray(A)
    for call, shape in [
        (lambda out: xp.matmul(a, a.T, out=(out,)), (2, 2)),
        (lambda out: xp.vecdot(a, a, out=(out,)), (2,)),
        (lambda out: xp.add(a, 1.0, out=(out,)), (2, 3)),
    ]:
        assert call(out := xp.zeros(shape)) is out


def test_broadcasting_with_scalars():
    for got, expected in zip(xp.broadcast_arrays(xp.asarray(A), 1), np.broadcast_arrays(A, 1), strict=True):
        np.testing.assert_array_equal(got.get(), expected)


def is_of(library, name):
    try:
        return operator.attrgetter(name)(library) is lookup(name)
    except AttributeError:
        return False


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if xp.available(n)])
def test_wrappers_can_be_pickled(name):
    """So that they can be sent to other processes, as NumPy's functions can; CuPy's own are CuPy's matter."""
    if not is_of(sys.modules["cupy"], name) and not is_of(array_api_compat.cupy, name):
        assert pickle.loads(pickle.dumps(lookup(name))) is lookup(name)


@pytest.mark.parametrize("name", ["sum", "max", "any", "mean", "nanstd", "average", "argmax", "zeros", "reshape"])
def test_signatures_shown_are_those_of_numpy(name):
    assert [*inspect.signature(lookup(name)).parameters] == [
        *inspect.signature(SIGNATURES.get(name, getattr(np, name))).parameters
    ]


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_that_numpy_tells_are_the_ones_written_down(name):
    """Of the newest NumPy; its older releases don't tell them."""
    try:
        told = inspect.signature(getattr(np, name)).parameters
    except ValueError:
        assert np.lib.NumpyVersion(np.__version__) < "2.4.0"
        return
    if np.lib.NumpyVersion(np.__version__) >= "2.4.0":
        ours = inspect.signature(SIGNATURES[name]).parameters
        assert [*ours][1:] == [*told][1:]
        assert [p.default for p in ours.values()] == [p.default for p in told.values()]


def test_arange_takes_its_dtype_by_position():
    for args in [(0, 3, 1, np.float32), (3, None, 1, np.int16)]:
        call_walk.assert_same(to_host(xp.arange(*args)), np.arange(*args), "arange")
