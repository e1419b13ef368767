"""`fuse` with device arrays: what `cupy.fuse` is asked for, and what it is given."""

from __future__ import annotations

import threading
from functools import partial, wraps

import cupy
import numpy as np
import pytest

import cunumpy as xp
from cunumpy.errors import ArgumentRangeError, ArgumentTypeError, MixedBackendError
from cunumpy.kernels import fuse


@pytest.fixture
def asked(monkeypatch):
    """Record the calls of `cupy.fuse`, and those of the functions that it makes."""
    calls = []
    native = cupy.fuse

    @wraps(native)
    def recorder(*args, **kwargs):
        made = native(*args, **kwargs)

        def decorate(function):
            fused = made(function)
            calls.append({"kernel_name": kwargs.get("kernel_name"), "name": function.__name__, "args": []})

            def call(*values):
                calls[-1]["args"].append(values)
                return fused(*values)

            return call

        return decorate

    monkeypatch.setattr(cupy, "fuse", recorder)
    return calls


def damped(x, rate=0.5, *, deep=False):
    assert not deep
    return x * xp.exp(-rate * x)


X = np.linspace(0.0, 1.0, 5)


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_the_result_is_numpys_whatever_the_backend(backend):
    with xp.use_backend(backend):
        result = fuse(damped)(cupy.asarray(X), 2.0)
        assert xp.get_backend() == backend
    assert isinstance(result, cupy.ndarray)
    np.testing.assert_array_equal(result.get(), X * np.exp(-2.0 * X))


def test_cupy_is_asked_once(asked):
    fused = fuse(damped)
    assert asked == []
    with xp.use_backend("numpy"):
        fused(X)
    assert asked == []
    for _ in range(3):
        fused(cupy.asarray(X))
    assert [(call["kernel_name"], len(call["args"])) for call in asked] == [("damped", 3)]


@pytest.mark.parametrize(
    ("function", "options", "name"),
    [
        (damped, {"kernel_name": "other"}, "other"),
        (partial(damped, rate=1.0), {}, "damped"),
        (lambda x: x, {}, "_lambda_"),
    ],
)
def test_kernels_have_names(asked, function, options, name):
    fuse(function, **options)(cupy.ones(2))
    assert asked[0]["kernel_name"] == name


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("float32", 2, "float32"),
        ("float32", 2.5, "float32"),
        ("float32", 1j, "complex64"),
        ("int32", 2, "int32"),
        ("int32", 2.5, "float64"),
        ("float64", 2.5, "float64"),
        ("float16", float("inf"), "float16"),
    ],
)
def test_python_numbers_take_the_dtype_that_numpy_gives_them(asked, dtype, value, expected):
    fuse(lambda x, a: x * a)(cupy.ones(2, dtype), value)
    (_, number) = asked[0]["args"][0]
    assert type(number) is np.dtype(expected).type
    assert number == value


@pytest.mark.parametrize("value", [True, np.float64(2.0), None])
def test_other_values_stay(asked, value):
    fuse(lambda x, a: x)(cupy.ones(2, "float32"), value)
    assert asked[0]["args"][0][1] is value


@pytest.mark.parametrize(
    ("dtype", "value"), [("int8", 300), ("float32", 1e300), ("float16", 1e6), ("float64", 10**400)]
)
def test_numbers_out_of_range(dtype, value):
    with pytest.raises(ArgumentRangeError, match=rf"f: the number .* is out of the range of {dtype}"):
        fuse(partial(f), kernel_name="f")(cupy.ones(2, dtype), value)


def f(x, a):
    return x * a


def test_positional_parameters_by_keyword(asked):
    x = cupy.asarray(X)
    expected = (X * np.exp(-2.0 * X)).tolist()
    for result in (fuse(damped)(x=x, rate=2.0), fuse(damped)(rate=2.0, x=x), fuse(damped)(x, rate=2.0)):
        assert result.get().tolist() == expected
    assert fuse(partial(damped, rate=2.0))(x).get().tolist() == expected
    fuse(damped)(x=x)
    assert len(asked[-1]["args"][0]) == 1


def test_other_keywords_are_refused():
    for function, keywords in ((damped, {"deep": False}), (lambda x, **other: x, {"y": 1})):
        with pytest.raises(ArgumentTypeError, match=r"keyword\(s\) '(deep|y)' can't be passed in a fused call"):
            fuse(function)(cupy.ones(2), **keywords)


def test_wrong_arguments_are_pythons_own_error():
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        fuse(damped)(cupy.ones(2), other=1)


def test_numpy_arrays_among_device_arrays():
    with pytest.raises(MixedBackendError, match=r"f: argument 1 is a NumPy array .*xp.to_cupy"):
        fuse(f)(cupy.ones(2), np.ones(2))


def test_fused_functions_in_fused_functions():
    inner = fuse(damped)
    outer = fuse(lambda x: inner(x, 2.0) + 1.0)
    assert outer(cupy.asarray(X)).get().tolist() == (X * np.exp(-2.0 * X) + 1.0).tolist()


def test_other_threads_do_not_see_the_backend():
    """While one thread follows a function, another one keeps its NumPy."""
    following, looked = threading.Event(), threading.Event()
    seen = []

    @fuse
    def wait(x):
        following.set()
        assert looked.wait(60)
        return xp.exp(x)

    def look():
        assert following.wait(60)
        seen.append((xp.get_backend(), xp.exp is np.exp))
        looked.set()

    xp.set_backend("numpy")
    try:
        thread = threading.Thread(target=look)
        thread.start()
        wait(cupy.ones(2))
        thread.join()
    finally:
        xp.set_backend("cupy")
    assert seen == [("numpy", True)]


def test_the_backend_is_restored_after_an_exception():
    with xp.use_backend("numpy"):
        with pytest.raises(ZeroDivisionError):
            fuse(lambda x: 1 / 0)(cupy.ones(2))
        assert xp.get_backend() == "numpy"


def test_the_stand_in_takes_what_cupy_takes():
    fused = cupy.fuse(f)
    assert fused.__name__ == "f"
    assert fused(cupy.ones(1), 2.0).get().tolist() == [2.0]
    assert fused(3, 4) == 12
    with pytest.raises(TypeError, match="Unsupported type"):
        fused(cupy.ones(1), np.ones(1))
    with pytest.raises(TypeError, match="Invalid argument type"):
        fused(cupy.ones(1), [2.0])
    with pytest.raises(TypeError):
        fused(cupy.ones(1), a=2.0)
