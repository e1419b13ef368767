"""NumPy's call forms on the CuPy backend: NumPy's result, or a refusal that `docs/compatibility.md` lists."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import call_walk
import cunumpy as xp

# What NumPy has and CuPy lacks, as far as a call form is concerned. The names stand in docs/compatibility.md.
REFUSED = {
    ("intersect1d", "return_indices"): "return_indices must be False",
    ("take", "mode"): "mode must be 'wrap' or 'clip'",
    ("trim_zeros", "axis"): "axis must be None",
}
NAMES_CUPY_LACKS = {
    "apply_over_axes", "asmatrix", "block", "bmat", "busday_count", "busday_offset", "datetime_as_string",
    "datetime_data", "einsum_path", "geomspace", "histogram_bin_edges", "insert", "is_busday", "isnat", "matvec",
    "nanpercentile", "nanquantile", "polyder", "polydiv", "polyint", "spacing", "vecmat", "linalg.multi_dot",
}  # fmt: skip
# CuPy has these, the stand-in does not.
NAMES_THE_STAND_IN_LACKS = {
    "fromfunction", "fromstring", "mask_indices", "poly", "polyadd", "polyfit", "polymul", "polysub", "polyval",
    "roots",
}  # fmt: skip
# About memory or host data, so that a device copy of the arguments is no test.
NOT_COMPARED = {"may_share_memory", "shares_memory", "broadcast_shapes", "binary_repr"}

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


def test_names_that_are_missing():
    missing = {name for name in FUNCTIONS if not xp.available(name)}
    assert missing - NAMES_THE_STAND_IN_LACKS == NAMES_CUPY_LACKS
    documented = Path(__file__).parents[2].joinpath("docs/compatibility.md").read_text()
    for name in NAMES_CUPY_LACKS:
        assert re.search(rf"`{re.escape(name)}`", documented), name
    for name, argument in REFUSED:
        assert f"`{name}({argument}=)`" in documented


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
        call_walk.assert_same(to_host(function(*args, **kwargs)), call.result, f"{name}{call}", rtol, values=defined)
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
