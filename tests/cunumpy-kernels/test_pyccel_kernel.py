"""`PyccelKernel` without CuPy, its declarations, and `outputs_from_annotations`."""

from __future__ import annotations

import copy
import functools
import pickle
import sys
import typing
from typing import Any, Final

import numpy as np
import pytest

from cunumpy.errors import ArgumentError, ArgumentTypeError, MissingPackageError
from cunumpy.kernels import PyccelKernel, outputs_from_annotations


def axpy(a, x, y):
    y += a * x


def test_host_calls_are_the_function_itself() -> None:
    given, options = object(), {"key": [1]}
    seen: list[Any] = []

    def function(*args, **kwargs):
        seen.append((args, kwargs))
        return given

    kernel = PyccelKernel(function, outputs=["never looked at"])
    x = np.ones(2)
    assert kernel(x, given, options=options) is given
    [(args, kwargs)] = seen
    assert args[0] is x
    assert kwargs["options"] is options

    def fail(x):
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        PyccelKernel(fail)(x)
    assert "cupy" not in sys.modules


def test_properties_and_repr() -> None:
    kernel = PyccelKernel(axpy, object_modules=["package"], outputs=[-1])
    assert kernel.name == "axpy"
    assert kernel.kernel is axpy
    assert kernel.use_cupy is False
    assert kernel.object_modules == ("package",)
    assert kernel.is_array(np.ones(1))
    assert not kernel.is_array(1.0)
    assert kernel.outputs == (-1,)
    assert repr(kernel) == "PyccelKernel(axpy, use_cupy=False, outputs=(-1,))"
    assert PyccelKernel(axpy).outputs is None
    assert PyccelKernel(functools.partial(axpy, 1.0)).name == "partial"


def test_it_pickles_and_copies() -> None:
    for kernel in (pickle.loads(pickle.dumps(PyccelKernel(axpy, outputs=["y"]))), copy.deepcopy(PyccelKernel(axpy))):
        y = np.zeros(2)
        kernel(2.0, np.ones(2), y)
        assert y.tolist() == [2.0, 2.0]
    restored = pickle.loads(pickle.dumps(PyccelKernel(axpy, object_modules=("package",))))
    assert restored.object_modules == ("package",)


def test_forced_conversion_without_cupy() -> None:
    x = np.ones(2)
    assert PyccelKernel(lambda x: 3, use_cupy=True)(x) == 3
    with pytest.raises(MissingPackageError, match="uv add"):
        PyccelKernel(lambda x: x + 1, use_cupy=True)(x)


@pytest.mark.parametrize(
    ("outputs", "text"),
    [
        ("x", r"must be a sequence of positions and names, got 'x'; write \('x',\)"),
        (1, r"must be a sequence of positions and names, got 1; write \(1,\)"),
        (b"x", r"must be a sequence of positions and names, got b'x'"),
        (3.0, r"must be a sequence of positions and names, got 3.0"),
        ([True], "must hold positions .* got True of type bool"),
        ([np.int64(1)], r"must hold positions .* of type int64"),
        ([None], "must hold positions .* of type NoneType"),
    ],
)
def test_types_of_outputs(outputs: Any, text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"PyccelKernel: argument 'outputs' {text}"):
        PyccelKernel(axpy, outputs=outputs)


def test_outputs_are_checked_where_the_parameters_are_known() -> None:
    text = r"outputs names 'z', but the parameters of 'axpy' are 'a', 'x', 'y'; correct it"
    for kind in (KeyError, ArgumentError):
        with pytest.raises(kind, match=text):
            PyccelKernel(axpy, outputs=["y", "z"])
    for position in (3, -4):
        for kind in (IndexError, ArgumentError):
            with pytest.raises(kind, match=rf"outputs names position {position}, but 'axpy' has 3 parameter\(s\)"):
                PyccelKernel(axpy, outputs=[position])
    with pytest.raises(KeyError, match="'a', 'b'"):
        PyccelKernel(dict.update, outputs=["y"], parameters=["a", "b"])
    PyccelKernel(axpy, outputs=[2, -3, "x"])


def test_what_can_not_be_known_is_not_refused() -> None:
    PyccelKernel(axpy, outputs=["z"], parameters=lambda: pytest.fail("asked for too early"))
    PyccelKernel(lambda *arrays: None, outputs=[5, -7])
    PyccelKernel(lambda x, **more: None, outputs=["any"])
    PyccelKernel(lambda x, *, more: None, outputs=["more"])
    PyccelKernel(dict.update, outputs=["no signature"])
    with pytest.raises(IndexError):
        PyccelKernel(lambda x, *, more: None, outputs=[1])


def test_the_python_function_of_a_compiled_kernel_is_asked() -> None:
    class Compiled:
        python = staticmethod(axpy)

        def __call__(self, *args: Any) -> None:
            raise AssertionError

    with pytest.raises(KeyError, match="'a', 'x', 'y'"):
        PyccelKernel(Compiled(), outputs=["z"])

    class Broken:
        @property
        def python(self) -> Any:
            raise ImportError("not there")

        def __call__(self, x: Any) -> None: ...

    PyccelKernel(Broken(), outputs=["x"])


def test_other_arguments_are_checked() -> None:
    with pytest.raises(ArgumentTypeError, match="argument 'kernel' must be the function to call, got 3"):
        PyccelKernel(3)  # type: ignore[arg-type]
    for modules in ("package", [1], [""], 3):
        with pytest.raises(ArgumentTypeError, match="'object_modules' must be a sequence of module names"):
            PyccelKernel(axpy, object_modules=modules)
    for names in ("axy", [1], 3):
        with pytest.raises(ArgumentTypeError, match="'parameters' must be a sequence of names, or a function"):
            PyccelKernel(axpy, parameters=names)
    with pytest.raises(ArgumentTypeError, match="'is_array' must be a function of a value, or None, got int"):
        PyccelKernel(axpy, is_array=3)
    with pytest.raises(ArgumentTypeError, match="'use_cupy' must be True, False or None, got str"):
        PyccelKernel(axpy, use_cupy="no")


def test_outputs_from_annotations() -> None:
    def function(x: float[:], c: Final[float], n: int, s: np.float64, free, out: list[float]): ...

    assert outputs_from_annotations(function) == ("x", "s", "free", "out")

    def evaluated(a, b, c, d, e, *rest): ...

    evaluated.__annotations__ = {
        "a": Final[int],
        "b": typing.Final,
        "c": "const float[:]",
        "d": np.ndarray,
        "e": "'const float[:]'",
    }
    assert outputs_from_annotations(evaluated) == ("b", "d", "rest")
    assert outputs_from_annotations(axpy) is None
    assert outputs_from_annotations(dict.update) is None
