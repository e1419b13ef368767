"""Kernels with a host and a CUDA side, without CuPy."""

from __future__ import annotations

import ast
import copy
import pickle
import types
from typing import Final, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from array_kinds import KINDS, ForeignDeviceArray
from cunumpy.errors import ArgumentError, BackendUnavailableError, MissingKernelError
from cunumpy.kernels import (
    CompiledHostKernel,
    CudaKernel,
    HostImplementations,
    Kernel,
    PyccelKernel,
    use_device_kernel_implementation,
    use_host_kernel_implementation,
)
from cunumpy.kernels._host_types import parameters_of, stub_parameters
from kernel_folders import AXPY_CUDA


def axpy(a, x, y, n):
    """Add to the first entries, and return what was given."""
    y[:n] += a * x[:n]
    return a, x, y, n


def cuda(source=AXPY_CUDA, name="axpy", **options):
    return CudaKernel(source, name, **options)


def parameters(declared, **options):
    return CudaKernel(f'extern "C" __global__ void k({declared}) {{}}', "k", **options)


class DeviceObject:
    def __cuda_args__(self):
        return (1.0,)


DISPATCHES = pytest.mark.parametrize("dispatch", ["backend", "arrays"])


# --- calls on the host ------------------------------------------------------------------------------------------------


@DISPATCHES
@pytest.mark.parametrize("wrap", [lambda f: f, PyccelKernel, lambda f: PyccelKernel(f, use_cupy=False)])
def test_host_calls_hand_everything_on(dispatch, wrap):
    kernel = Kernel(wrap(axpy), cuda(), dispatch=dispatch)
    x, y = np.arange(4.0), np.ones(4)
    result = kernel(2.0, x, y, 3, n_threads=3, grid=1, block=1, shared_mem=0, stream=None)
    np.testing.assert_array_equal(y, [1, 3, 5, 1])
    assert result[1] is x
    assert result[2] is y
    named = kernel(2.0, y=y, n=2, x=x)
    assert named[2] is y
    np.testing.assert_array_equal(y, [1, 5, 5, 1])
    with pytest.raises(ZeroDivisionError):
        Kernel(lambda x: 1 // x, dispatch=dispatch)(0)


@DISPATCHES
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_of_argument_is_handed_on_as_it_is(dispatch, kind, tmp_path):
    value = kind.make(tmp_path)
    kernel = Kernel(lambda array: array, dispatch=dispatch)
    if dispatch == "arrays" and isinstance(value, ForeignDeviceArray):
        with pytest.raises(MissingKernelError, match="is called on the device"):
            kernel(value)
    else:
        assert kernel(value) is value


@DISPATCHES
def test_lists_and_objects_are_handed_on(dispatch):
    kernel = Kernel(lambda *values: values, dispatch=dispatch)
    values = ([np.zeros(2)], (1, "a"), {"x": None}, types.SimpleNamespace(x=1), float, slice(3), np.float32(1))
    for _ in range(2):
        assert all(one is other for one, other in zip(kernel(*values), values, strict=True))


@DISPATCHES
def test_implementations_follow_the_setting_in_every_call(dispatch):
    implementations = HostImplementations("k", {"numpy": lambda: lambda x: "v", "python": lambda: lambda x: "p"})
    kernel = Kernel(implementations, dispatch=dispatch)
    assert kernel(1) == "v"
    with use_host_kernel_implementation("python"):
        assert kernel(1) == "p"
        assert kernel.selected() == "python"
    assert kernel(1) == "v"
    implementations.reset()
    assert kernel(1) == "v"
    assert kernel.implementations == ("numpy", "python")


@DISPATCHES
def test_compiled_kernels_are_compiled_at_the_first_call(dispatch):
    compiled = []

    def compiler(module):
        compiled.append(module)
        return types.SimpleNamespace(sqrt=lambda x: -x)

    kernel = Kernel(CompiledHostKernel("math", "sqrt", compiler), dispatch=dispatch)
    assert not compiled
    assert kernel(4.0) == kernel(4.0) == -4.0
    assert len(compiled) == 1
    assert kernel.selected() == "host"


def test_objects_for_the_device_go_there_with_arrays_alone():
    kernel = Kernel(lambda x: "host", parameters("double x"), dispatch="arrays")
    assert kernel(1.0) == "host"
    for call in (lambda: kernel(DeviceObject(), n_threads=1), lambda: kernel(x=DeviceObject(), n_threads=1)):
        with pytest.raises(BackendUnavailableError, match="CudaKernel 'k': compiling and launching it needs CuPy"):
            call()
    assert Kernel(lambda x: "host", parameters("double x"))(DeviceObject()) == "host"
    with pytest.raises(NotImplementedError, match="has no CUDA kernel"):
        Kernel(lambda x: "host", dispatch="arrays")(DeviceObject())


def test_host_options_make_the_wrapper():
    kernel = Kernel(axpy, host_options={"outputs": ["y"], "use_cupy": False})
    assert kernel.host_kernel.outputs == ("y",)
    assert kernel.host_kernel.use_cupy is False
    with pytest.raises(ValueError, match="outputs names 'z'"):
        Kernel(axpy, host_options={"outputs": ["z"]})


# --- a side that is missing -------------------------------------------------------------------------------------------


@DISPATCHES
def test_a_missing_host_side_is_named(dispatch):
    kernel = Kernel(None, parameters("double* x", check_signature=False), dispatch=dispatch)
    assert (kernel.name, kernel.implementations, kernel.host_kernel) == ("k", ("cuda",), None)
    assert kernel.host_parameters() is None
    kernel.check_signature()
    for call in (
        lambda: kernel(1.0, np.ones(2), np.ones(2), 2),
        lambda: kernel.selected(),
        lambda: kernel.get_kernel(),
    ):
        with pytest.raises(
            MissingKernelError, match=r"kernel 'k': has only a CUDA kernel with check_signature=False.* can run on"
        ):
            call()
    assert kernel.selected(device=True) == "cuda"


def test_a_missing_cuda_side():
    kernel = Kernel(axpy, cuda_path="somewhere/axpy_cuda.cu")
    assert not kernel.has_cuda
    assert kernel.compile() is False
    with pytest.raises(
        NotImplementedError, match=r"has no CUDA kernel.*add one in somewhere/axpy_cuda.cu, or pass miss"
    ):
        kernel.selected(device=True)
    fallback = Kernel(axpy, missing_cuda="fallback")
    assert fallback.selected(device=True) == "host"  # a question: nothing is warned of
    with use_device_kernel_implementation("cuda"):
        with pytest.raises(LookupError, match="has no implementation 'cuda', which is asked for on the device"):
            fallback.selected(device=True)
        assert fallback.selected() == "host"
        fallback(1.0, np.ones(1), np.ones(1), 1)
        assert Kernel(axpy, cuda()).selected(device=True) == "cuda"


def test_compiling_without_cupy():
    with pytest.raises(RuntimeError, match="needs CuPy and a GPU"):
        Kernel(axpy, cuda()).compile()


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"dispatch": "array"}, ValueError, "'dispatch' must be 'backend' or 'arrays', got 'array'"),
        ({"missing_cuda": "host"}, ValueError, "'missing_cuda' must be 'raise' or 'fallback', got 'host'"),
        ({"cuda_kernel": "axpy"}, TypeError, "'cuda_kernel' must be a CudaKernel or None, got str; make one"),
        ({"host_kernel": 3}, TypeError, "'host_kernel' must be a function, a PyccelKernel or None, got int"),
        ({"host_kernel": None}, TypeError, "neither a host nor a CUDA kernel"),
        ({"name": 3}, TypeError, "Kernel: argument 'name' must be a str, got int"),
        ({"host_options": [1]}, TypeError, "Kernel: argument 'host_options' must be a mapping of arguments of Pyccel"),
        ({"test_args": 3}, TypeError, "'test_args' must be the dotted name of a module as str, got int"),
        (
            {"host_kernel": PyccelKernel(axpy), "host_options": {"outputs": ()}},
            ValueError,
            r"\(outputs\) is for a func",
        ),
    ],
)
def test_wrong_arguments(arguments, error, text):
    with pytest.raises(error, match=text):
        Kernel(**{"host_kernel": axpy, **arguments})


def test_what_it_tells():
    kernel = Kernel(axpy, cuda(), name="other", test_args="json", missing_cuda="fallback", dispatch="arrays")
    assert kernel.name == "other"
    assert kernel.host_kernel.kernel is axpy
    assert kernel.cuda_kernel.name == "axpy"
    assert (kernel.missing_cuda, kernel.dispatch, kernel.cuda_path) == ("fallback", "arrays", None)
    assert (kernel.test_args_module, kernel.test_args.__name__) == ("json", "json")
    assert Kernel(axpy).test_args is None
    assert kernel.implementations == ("host", "cpu", "cuda")
    assert repr(kernel) == "<Kernel other: host, cpu, cuda>"
    assert kernel.get_kernel() is kernel.host_kernel


# --- signatures -------------------------------------------------------------------------------------------------------


def test_names_and_their_order_are_compared():
    Kernel(axpy, cuda()).check_signature()
    kernel = Kernel(lambda a, y, x, n: None, cuda(), name="axpy", cuda_path="axpy_cuda.cu")
    with pytest.raises(
        ValueError, match=r"kernel 'axpy' \(axpy_cuda.cu\).*\n.*\(a, y, x, n\) on the host, \(a, x, y, n\) in"
    ):
        kernel.check_signature()
    Kernel(axpy, parameters("double* z", check_signature=False)).check_signature()
    Kernel(max, parameters("double* z")).check_signature()
    Kernel(lambda *args: None, parameters("double* z")).check_signature()
    assert Kernel(axpy).host_parameters() == ["a", "x", "y", "n"]


def test_other_versions_on_the_host_are_compared():
    def numba_version(a, x):
        pass

    numba_version.py_func = lambda a, z: None
    loaders = {"numba": lambda: numba_version, "numpy": lambda: lambda a: None, "python": lambda: lambda a, x: None}
    with pytest.raises(ValueError, match=r"\(a, z\) in the version with numba\n.*\(a\) in the version with numpy"):
        Kernel(HostImplementations("k", loaders), name="k").check_signature()
    loaders["numpy"] = lambda: 1 / 0
    del loaders["numba"]
    Kernel(HostImplementations("k", loaders)).check_signature()  # what does not load is left out
    compiled = CompiledHostKernel("math", "isclose", lambda module: module, lambda a: None)
    with pytest.raises(ValueError, match=r"\(a, b\) on the host, \(a\) in the fallback"):
        Kernel(compiled).check_signature()


FITTING = [
    ("'float[:]'", "double*"),
    ("'float[:]'", "Array1D<double>"),
    ("'float[:, :]'", "Array2D<double>"),
    ("'float[:,:]'", "const double*"),
    ("'float[:,:](order=F)'", "Array2D<double>"),
    ("'float32[:]'", "float*"),
    ("'numpy.float32[:]'", "CArray1D<float>"),
    ("'int[:]'", "long long*"),
    ("'int32[:]'", "int*"),
    ("'bool[:]'", "bool*"),
    ("'complex[:]'", "complex<double>*"),
    ("'float[:]'", "void*"),
    ("'T[:, :]'", "Array2D<float>"),
    ("'T'", "double"),
    ("'float[:] | int[:]'", "int*"),
    ("'Markers'", "double"),
    ("'NDArray[np.float64]'", "float*"),
    ("int", "int"),
    ("int", "unsigned long long"),
    ("bool", "int"),
    ("float", "float"),
    ("'float'", "double"),
    ("np.float64", "double"),
    ("np.int32", "long long"),
    ("complex", "complex<double>"),
    ("'Final[float[:]]'", "const double*"),
    ("'Final[float[:]]'", "double*"),
    ("'const float[:]'", "Array1D<const double>"),
    ("Final['float[:]']", "const double*"),
    ("Final[float]", "double"),
    ("'not an annotation['", "double"),
    ("None", "double"),
    ("str", "double"),
]

CONTRADICTING = [
    ("'float[:]'", "float*", "'float[:]' on the host, 'float*' in CUDA: float64 and float32"),
    ("'int[:]'", "int*", "int64 and int32"),
    ("'float[:, :]'", "Array1D<double>", "2 and 1 dimension(s)"),
    ("'T[:]'", "Array3D<double>", "1 and 3 dimension(s)"),
    ("'float32[:]'", "Array2D<const double>", "float32 and float64"),
    ("'float[:]'", "double", "an array and a scalar"),
    ("float", "double*", "a scalar and an array"),
    ("np.int64", "const long long*", "a scalar and an array"),
    ("float", "int", "numbers of different kinds"),
    ("int", "double", "numbers of different kinds"),
    ("int", "bool", "numbers of different kinds"),
    ("'Final[complex]'", "double", "'Final[complex]' on the host, 'double' in CUDA: numbers of different kinds"),
    ("Final['int[:]']", "const int*", "int64 and int32"),
    ("'const int[:]'", "const int*", "'const int[:]' on the host, 'const int*' in CUDA: int64 and int32"),
]


def annotated(annotations):
    names = {"np": np, "Final": Final, "Number": Number, "Array": Array}
    source = f"def k({', '.join(f'p{i}: {text}' for i, text in enumerate(annotations))}): pass"
    exec(compile(source, "annotated", "exec", dont_inherit=True), names)
    return names["k"]


@pytest.mark.parametrize(("annotation", "ctype"), FITTING)
def test_types_that_fit_or_say_nothing(annotation, ctype):
    Kernel(annotated([annotation]), parameters(f"{ctype} p0")).check_signature()


@pytest.mark.parametrize(("annotation", "ctype", "text"), CONTRADICTING)
def test_types_that_contradict_each_other(annotation, ctype, text):
    with pytest.raises(ArgumentError) as error:
        Kernel(annotated([annotation]), parameters(f"{ctype} p0")).check_signature()
    assert text in str(error.value)
    assert "p0: " in str(error.value)


Number = TypeVar("Number", float, complex)
Array = TypeVar("Array", "float[:]", "np.float32[:]")

SEVERAL = [  # an annotation, the dtypes that it allows, dimensions
    ("'Number'", "complex128 float64", 0),
    ("'Number[:, :]'", "complex128 float64", 2),
    ("Number", "complex128 float64", 0),
    ("Final['Number[:]']", "complex128 float64", 1),
    ("'Array'", "float32 float64", 1),
    ("'float[:] | complex64[:]'", "complex64 float64", 1),
    ("float | complex", "complex128 float64", 0),
    ("'int | float'", "float64 int64", 0),
    ("'int | float[:]'", "float64 int64", None),
    ("'float | Unknown'", "", None),
]


@pytest.mark.parametrize(("annotation", "dtypes", "ndim"), SEVERAL)
def test_annotations_that_allow_several_types(annotation, dtypes, ndim):
    (found,) = parameters_of(annotated([annotation]))
    assert (found.dtype, found.ndim) == (None, ndim)
    assert " ".join(sorted(map(str, found.dtypes))) == dtypes


def test_constness_is_compared_where_both_sides_use_it():
    def check(annotations, declared):
        Kernel(
            annotated(annotations), parameters(", ".join(f"{c}* p{i}" for i, c in enumerate(declared)))
        ).check_signature()

    check(["'Final[float[:]]'", "'float[:]'"], ["const double", "double"])
    check(["'float[:]'", "'float[:]'"], ["const double", "double"])
    check(["'Final[float[:]]'", "'float[:]'"], ["double", "double"])
    with pytest.raises(ValueError, match=r"p1: .*not written in CUDA, and written on the host, or Final is missing"):
        check(["'Final[float[:]]'", "'float[:]'"], ["const double", "const double"])
    with pytest.raises(ValueError, match=r"p0: .*not written on the host(.|\n)*p1: .*not written in CUDA"):
        check(["'Final[float[:]]'", "'float[:]'"], ["double", "const double"])


def test_all_problems_are_told():
    with pytest.raises(ValueError, match=r"p0: (.|\n)*p2: ") as error:
        Kernel(annotated(["'int[:]'", "int", "float"]), parameters("int* p0, int p1, int p2")).check_signature()
    assert "p1" not in str(error.value)


@given(st.integers(1, 7), st.sampled_from(["float64", "float32", "int32", "uint8", "complex128"]), st.booleans())
def test_what_is_written_alike_fits(ndim, dtype, const):
    ctype = {"float64": "double", "float32": "float", "int32": "int", "uint8": "unsigned char"}.get(
        dtype, "complex<double>"
    )
    text = f"{dtype}[{', '.join(':' * ndim)}]"
    annotation = repr(f"Final[{text}]" if const else text)
    ast.parse(annotation)
    Kernel(annotated([annotation]), parameters(f"Array{ndim}D<{'const ' * const}{ctype}> p0")).check_signature()


def test_stubs_tell_the_parameters_of_compiled_modules(tmp_path):
    stub = tmp_path / "__pyccel__" / "push_kernels.pyi"
    stub.parent.mkdir()
    stub.write_text(
        "from numpy import float64\n"
        "@low_level('push__push')\n"
        "def push(x : 'float64[:]', v : 'Final[float64[:,:]]', dt : 'float') -> None:\n    ...\n"
        "@overload\ndef two(x : 'float64[:]') -> None:\n    ...\n@overload\ndef two(x : 'int64[:]') -> None:\n    ...\n"
    )
    module = tmp_path / "push_kernels.cpython-311-x86_64-linux-gnu.so"
    found = stub_parameters(module, "push")
    assert [(one.name, str(one.dtype), one.ndim, one.const) for one in found] == [
        ("x", "float64", 1, False),
        ("v", "float64", 2, True),
        ("dt", "float64", 0, False),
    ]
    assert [(one.name, one.dtype) for one in stub_parameters(module, "two")] == [("x", None)]
    assert stub_parameters(module, "other") is None
    assert stub_parameters(tmp_path / "missing.so", "push") is None
    stub.write_text("def push(")
    assert stub_parameters(module, "push") is None


# --- pickling ---------------------------------------------------------------------------------------------------------


def replaced(x):
    return x + 1


replaced = Kernel(replaced)
nested = Kernel(lambda x: x, name="nested")


def test_kernels_pickle():
    kernel = Kernel(axpy, cuda(), name="k", dispatch="arrays", host_options={"outputs": ["y"]}, cuda_path="k.cu")
    other = pickle.loads(pickle.dumps(kernel))
    assert other is not kernel
    assert (other.name, other.dispatch, other.cuda_path, other.has_cuda) == ("k", "arrays", kernel.cuda_path, True)
    assert other.host_kernel.outputs == ("y",)
    assert other.host_kernel.kernel is axpy
    y = np.ones(2)
    other(1.0, y, y, 2)
    assert y.tolist() == [2, 2]
    assert pickle.loads(pickle.dumps(Kernel(None, cuda()))).name == "axpy"


def test_a_kernel_that_can_be_imported_pickles_by_its_name():
    assert pickle.loads(pickle.dumps(replaced)) is replaced
    assert copy.deepcopy({"k": replaced})["k"] is replaced


def test_kernels_that_can_not_be_pickled_say_why():
    with pytest.raises(
        TypeError, match=r"kernel 'nested': can't be pickled, since its host_kernel, .*<lambda>, can't be"
    ):
        pickle.dumps(nested)
    kernel = Kernel(axpy, cuda(n_threads_from=lambda args: 1))
    with pytest.raises(
        TypeError, match=r"its n_threads_from, .*<lambda>, can't be imported by that name; define it with d"
    ):
        pickle.dumps(kernel)
