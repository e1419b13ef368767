"""Every call form of NumPy on the namespace, and those that only the array API standard has."""

import inspect
import pickle
import re
import warnings

import array_api_compat.numpy as standard
import numpy as np
import pytest

import call_walk
import cunumpy as xp
from cunumpy._numpy_namespace import _older

FUNCTIONS = dict(call_walk.functions())
WRAPPED = {"argsort", "diff", "sort", "finfo", "iinfo", "fft.fftfreq", "fft.rfftfreq"}
BEFORE_2_1 = {"astype", "clip", "from_dlpack", "reshape"}
if np.lib.NumpyVersion(np.__version__) < "2.1.0":
    WRAPPED |= BEFORE_2_1
if np.lib.NumpyVersion(np.__version__) < "2.3.0":
    WRAPPED.add("take_along_axis")


def lookup(module, name):
    for part in name.split("."):
        module = getattr(module, part)
    return module


def test_the_walk_reaches_every_function():
    without = [name for name, function in FUNCTIONS.items() if not call_walk.calls(function)]
    assert set(without) <= {"asmatrix", "in1d", "row_stack", "trapz"}  # deprecated: they warn
    assert len(FUNCTIONS) > 400


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signature_is_numpys(name):
    function = lookup(xp, name)
    if name not in WRAPPED:
        assert function is FUNCTIONS[name]
    elif name not in BEFORE_2_1:
        assert inspect.signature(function) == inspect.signature(FUNCTIONS[name])


@pytest.mark.parametrize(
    "module", [xp, xp.get_array_module(np.zeros(1)), xp.get_namespace()], ids=["xp", "array", "get"]
)
@pytest.mark.parametrize(
    "name", [*sorted(WRAPPED - {"finfo", "from_dlpack", "iinfo"}), "clip", "std", "zeros", "linalg.svd"]
)
def test_every_call_gives_numpys_result(module, name):
    function = lookup(module, name)
    calls = call_walk.calls(FUNCTIONS[name])
    assert calls
    for call in calls:
        call_walk.assert_same(function(*call.args, **call.kwargs), call.result, f"{name}{call}")


A = np.array([[3.0, 1.0, 2.0], [0.5, 0.5, 0.25]])
STANDARD_ONLY = {
    "sort": [((A,), {"descending": True}), ((A,), {"axis": 0, "descending": True, "stable": True})],
    "argsort": [((A,), {"descending": True}), ((A,), {"axis": 0, "descending": True})],
    "fft.fftfreq": [((4,), {"dtype": np.float32}), ((5,), {"d": 0.5, "dtype": np.float32})],
    "fft.rfftfreq": [((4,), {"dtype": np.float32})],
}


@pytest.mark.parametrize("name", STANDARD_ONLY)
def test_forms_of_the_standard_alone(name):
    for args, kwargs in STANDARD_ONLY[name]:
        with pytest.raises(TypeError):
            lookup(np, name)(*args, **kwargs)
        call_walk.assert_same(lookup(xp, name)(*args, **kwargs), lookup(standard, name)(*args, **kwargs), name)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (lambda: xp.sort(A, 0, descending=True), np.sort(A, 0)[::-1]),
        (lambda: xp.sort(a=A, axis=0, descending=False), np.sort(A, 0)),
        (lambda: xp.argsort([1, 3, 2], descending=True), [1, 2, 0]),
        (lambda: xp.fft.fftfreq(4, 0.5, dtype=np.float32), np.fft.fftfreq(4, 0.5).astype(np.float32)),
        (lambda: xp.fft.rfftfreq(n=4, dtype=np.float32), np.fft.rfftfreq(4).astype(np.float32)),
    ],
)
def test_keywords_of_the_standard_go_with_numpys_forms(got, expected):
    np.testing.assert_array_equal(got(), expected, strict=isinstance(expected, np.ndarray))


def test_none_is_no_value_to_put_before_or_after_differences():
    np.testing.assert_array_equal(xp.diff(A, prepend=None, append=None), np.diff(A))
    np.testing.assert_array_equal(xp.diff(A, 1, 1, None, A[:, :1]), np.diff(A, append=A[:, :1]))


def test_take_along_axis_has_a_default():
    np.testing.assert_array_equal(xp.take_along_axis(A, np.array([[1], [2]])), [[1.0], [0.25]])


@pytest.mark.parametrize("name", ["astype", "clip", "reshape"])
def test_forms_for_numpy_2_0_give_the_result_of_any_numpy(name):
    for call in call_walk.calls(FUNCTIONS[name]):
        call_walk.assert_same(getattr(_older, name)(*call.args, **call.kwargs), call.result, f"{name}{call}")


B = np.array([[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize("module", [xp, _older], ids=["xp", "older"])
def test_forms_that_came_after_numpy_2_0(module):
    """Whichever NumPy is installed, with the results of the newest."""
    call_walk.assert_same(module.astype(A, np.float32, device="cpu"), A.astype(np.float32), "astype")
    call_walk.assert_same(module.clip(B, min=1.5), np.maximum(B, 1.5), "clip")
    call_walk.assert_same(module.clip(B, max=2), np.minimum(B, 2), "clip")
    call_walk.assert_same(module.clip(B, None, None), B, "clip")
    call_walk.assert_same(module.clip(B), B, "clip")
    call_walk.assert_same(module.reshape(B, shape=(3, 2), order="F"), B.reshape((3, 2), order="F"), "reshape")
    for order in "CF":
        copied = module.reshape(B, (3, 2), order, copy=True)
        call_walk.assert_same(copied, B.reshape((3, 2), order=order), "reshape")
        assert not np.shares_memory(copied, B)
    assert np.shares_memory(module.reshape(B, 6, copy=False), B)
    assert module.reshape(B[:0].T, (0, 3), copy=False).shape == (0, 3)
    with pytest.raises(ValueError, match="copy"):
        module.reshape(B.T, 6, copy=False)
    assert np.shares_memory(module.from_dlpack(B, device="cpu"), B)
    assert not np.shares_memory(module.from_dlpack(B, copy=True), B)


def test_functions_that_came_after_numpy_2_0():
    call_walk.assert_same(xp.cumulative_sum(B, axis=1), np.cumsum(B, 1), "cumulative_sum")
    call_walk.assert_same(xp.cumulative_prod(B[0], include_initial=True), np.array([1, 1, 2, 6]), "cumulative_prod")
    call_walk.assert_same(xp.unstack(B, axis=1), tuple(B.T), "unstack")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: _older.astype(A, int, device=1), "astype: device must be None or 'cpu' on the NumPy backend, got 1"),
        (lambda: _older.from_dlpack(A, device="gpu"), "from_dlpack: device must be None or 'cpu' on the NumPy backend"),
        (lambda: _older.clip(A, 1), "clip: a_min and a_max belong together"),
        (lambda: _older.clip(A, 1, 2, min=1), "clip: a_min, a_max and min, max mean the same"),
        (lambda: _older.reshape(A), "reshape: give shape, once"),
        (lambda: _older.reshape(A, 6, newshape=6), "reshape: give shape, once"),
        (lambda: _older.reshape(A.T, 6, copy=False), "reshape: shape (3, 2) with strides (8, 24) can't become (6,)"),
    ],
)
def test_what_the_forms_for_numpy_2_0_refuse(call, text):
    with pytest.raises((TypeError, ValueError), match=re.escape(text)):
        call()


def test_two_values_for_one_argument():
    with pytest.raises(TypeError, match="sort: got two values for the argument 'axis'"):
        xp.sort(A, 0, axis=0, descending=True)
    with pytest.raises(TypeError, match="sort"):
        xp.sort(descending=True)


@pytest.mark.parametrize("name", sorted(WRAPPED))
def test_wrappers_can_be_pickled(name):
    function = lookup(xp, name)
    assert pickle.loads(pickle.dumps(function)) is function


def test_every_name_that_numpy_lists_is_listed():
    assert {name for name in dir(np) if not name.startswith("_")} <= set(dir(xp))


def test_available_wants_a_name():
    with pytest.raises(TypeError, match="available: name must be a string, got 3 of type int"):
        xp.available(3)


@pytest.mark.parametrize("name", [n for n in standard.__all__ if n[0] != "_" and callable(getattr(standard, n, None))])
def test_every_keyword_of_the_standard_is_known(name):
    """No parameter of array-api-compat's functions is unknown to ours: positional-only ones aside."""
    if not hasattr(xp, name):
        assert name.endswith("Result")  # the classes of named results are not functions
        return
    try:
        ours = inspect.signature(getattr(xp, name)).parameters
        theirs = inspect.signature(getattr(standard, name)).parameters
    except ValueError:
        return  # a built-in that does not say
    if any(p.kind == p.VAR_KEYWORD for p in ours.values()):
        return
    keywords = {n for n, p in theirs.items() if p.kind == p.KEYWORD_ONLY}
    assert keywords - ours.keys() <= ({"descending"} if name in WRAPPED else set())


def test_limits_of_an_arrays_dtype():
    assert xp.finfo(np.zeros(2, np.float32)).eps == np.finfo(np.float32).eps
    assert xp.finfo(np.float32(1)).max == np.finfo(np.float32).max
    assert xp.finfo("f4").bits == 32
    assert xp.iinfo(np.zeros(2, np.int16)).max == np.iinfo(np.int16).max
    assert xp.iinfo(int).bits == np.iinfo(int).bits


def test_deprecated_names_say_what_numpy_says():
    with pytest.raises(AttributeError, match=r"cunumpy.*np\.float64"):
        _ = xp.float_


def test_array_api_inspection():
    assert xp.__array_api_version__ == standard.__array_api_version__
    assert xp.__array_namespace_info__().default_dtypes()["real floating"] == np.float64


def test_every_public_name_of_numpy_is_there():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        missing = [name for name in np.__all__ if not name.startswith("_") and not hasattr(xp, name)]
    assert missing == []
