"""Host calls with the NumPy backend: nothing is changed on the way."""

from __future__ import annotations

import numpy as np
import pytest

import cunumpy as xp
from array_kinds import KINDS, ArrayKind
from cunumpy._host_call import host_call_inplace
from cunumpy.errors import ArgumentTypeError


@pytest.mark.parametrize("call", [xp.host_call, host_call_inplace])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_arrives_as_the_same_object(call, kind: ArrayKind, tmp_path) -> None:
    value = kind.make(tmp_path)
    args, kwargs = call(lambda *args, **kwargs: (args, kwargs), value, [value], key={"x": value})
    assert args[0] is value
    assert args[1][0] is value
    assert kwargs["key"]["x"] is value


@pytest.mark.parametrize("call", [xp.host_call, xp.host_call_inplace])
def test_what_is_called_must_be_callable(call) -> None:
    with pytest.raises(TypeError, match=rf"{call.__name__}: the first argument must be the function to call, got 3\."):
        call(3, np.zeros(2))


def test_names_of_the_function_are_free() -> None:
    assert xp.host_call(lambda **kwargs: kwargs, fun=1, inplace=2, args=3) == {"fun": 1, "inplace": 2, "args": 3}


def test_exceptions_pass() -> None:
    with pytest.raises(ZeroDivisionError):
        xp.host_call(lambda: 1 / 0)


class Field:
    @xp.evaluate_on_host
    def value(self, x, *, scale=1.0):
        """Say what it is."""
        return self, scale * x, xp.get_backend()

    @xp.evaluate_on_host(inplace=True)
    def double(self, x):
        x *= 2

    @xp.setup_on_host
    def __init__(self, x=None):
        self.x = x
        self.backend = xp.get_backend()


def test_methods_keep_their_object_and_their_names() -> None:
    field = Field(x="kept")
    assert field.x == "kept"
    assert field.backend == "numpy"
    me, result, backend = field.value(2.0, scale=3.0)
    assert (me, result, backend) == (field, 6.0, "numpy")
    assert Field.value.__name__ == "value"
    assert Field.value.__doc__ == "Say what it is."
    assert Field.__init__.__name__ == "__init__"
    x = np.ones(2)
    field.double(x)
    np.testing.assert_array_equal(x, [2.0, 2.0])


def test_arguments_of_any_name_reach_a_method() -> None:
    class Odd:
        @xp.evaluate_on_host
        def method(self, **kwargs):
            return kwargs

    assert Odd().method(method=1, args=2, inplace=3) == {"method": 1, "args": 2, "inplace": 3}


@pytest.mark.parametrize("decorator", [xp.evaluate_on_host, xp.setup_on_host])
def test_decorators_refuse_what_is_no_function(decorator) -> None:
    with pytest.raises(ArgumentTypeError, match="must decorate a method, got 3"):
        decorator(3)
