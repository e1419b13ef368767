"""Kernels with a host and a CUDA side on the stand-in for CuPy: which side runs, and what is recorded and warned of."""

from __future__ import annotations

import collections
import dataclasses

import cupy
import numpy as np
import pytest

import cunumpy as xp
from array_kinds import ForeignDeviceArray
from cunumpy.arguments import CudaArguments, CudaStruct
from cunumpy.errors import BackendFallbackWarning, MissingKernelError, TransferError
from cunumpy.kernels import (
    CudaKernel,
    HostImplementations,
    Kernel,
    KernelCatalog,
    PyccelKernel,
    use_device_kernel_implementation,
    use_host_kernel_implementation,
)
from cunumpy.profiling import assert_no_transfers, count_transfers

AXPY = """
extern "C" __global__ void axpy(double a, const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"""

pytestmark = pytest.mark.usefixtures("raw_modules")


def axpy(a, x, y, n):
    assert isinstance(y, np.ndarray)
    y[:n] += a * x[:n]
    return "host"


def kernel(host=axpy, **options):
    return Kernel(host, CudaKernel(AXPY, "axpy"), **options)


def arrays(module=cupy, n=5):
    return module.arange(n, dtype=float), module.ones(n)


def expected(a=2.0, n=5):
    return 1 + a * np.arange(5.0) * (np.arange(5) < n)


# --- by the backend ---------------------------------------------------------------------------------------------------


def test_the_backend_decides(raw_modules):
    both = kernel()
    x, y = arrays()
    with xp.use_backend("cupy"):
        assert both(2.0, x, y, 5) is None
        assert raw_modules == ["axpy"]
        assert both.get_kernel() is both.cuda_kernel
    np.testing.assert_array_equal(xp.to_numpy(y), expected())
    with xp.use_backend("numpy"), assert_no_transfers():
        x, y = arrays(np)
        assert both(2.0, x, y, 5) == "host"
        assert both.get_kernel() is both.host_kernel
    np.testing.assert_array_equal(y, expected())
    assert raw_modules == ["axpy"]


def test_launch_options_and_names():
    x, y = arrays()
    with xp.use_backend("cupy"):
        kernel()(2.0, x, n=5, y=y, n_threads=3, block=3, stream=cupy.cuda.Stream())
    np.testing.assert_array_equal(xp.to_numpy(y), expected(n=3))


def test_the_number_of_threads_has_to_be_known():
    both = Kernel(axpy, CudaKernel(AXPY, "axpy", n_threads_from=None))
    x, y = arrays()
    with xp.use_backend("cupy"):
        with pytest.raises(
            ValueError, match="kernel 'axpy': the number of threads is not known; pass n_threads or grid"
        ):
            both(2.0, x, y, 5)
        both(2.0, x, y, 5, grid=1)
    assert (y == cupy.asarray(expected())).all()


def test_names_are_bound_by_the_parsed_signature():
    both, (x, y) = kernel(), arrays()
    with xp.use_backend("cupy"):
        for args, named, text in (
            ((2.0, x), {"y": y, "m": 5}, "kernel 'axpy': has no parameter 'm'; it has a, x, y, n"),
            ((2.0, x, y), {"y": y, "n": 5}, "got 'y' twice"),
            ((2.0, x), {"n": 5}, "got no 'y'"),
        ):
            with pytest.raises(TypeError, match=text):
                both(*args, **named)
    assert (y == 1).all()


def test_names_of_objects_that_stand_for_several_arguments():
    class Pair(CudaArguments):
        def __init__(self, x, y):
            self.x, self.y = x, y

        def __cuda_args__(self):
            return self.x, self.y

    both = Kernel(lambda a, pair, n: None, CudaKernel(AXPY, "axpy"))
    x, y = arrays()
    with xp.use_backend("cupy"):
        both(2.0, pair=Pair(x, y), n=5)
        both(2.0, Pair(x, y), n=5)
    np.testing.assert_array_equal(xp.to_numpy(y), expected(4.0))


def test_without_a_cuda_kernel():
    x, y = arrays()
    with xp.use_backend("cupy"):
        for call in (lambda k: k(2.0, x, y, 5), lambda k: k.get_kernel()):
            with pytest.raises(NotImplementedError, match=r"has no CUDA kernel.* add one in axpy_cuda\.cu"):
                call(Kernel(axpy, cuda_path="axpy_cuda.cu"))
        fallback = Kernel(axpy, missing_cuda="fallback", host_options={"outputs": ["y"]})
        assert fallback.get_kernel() is fallback.host_kernel
        with count_transfers() as counted, pytest.warns(BackendFallbackWarning, match="it has no CUDA kernel") as seen:
            assert fallback(2.0, x, y, 5) == "host"
        assert seen[0].filename == __file__
        kinds = [event.kind for event in counted.events]
        assert sorted(kinds) == ["fallback", "kernel_conversion", "to_device", "to_host", "to_host"]
        with count_transfers() as counted:  # the warning comes once, the record each time
            fallback(2.0, x, y, 5)
        assert counted.count("fallback") == 1
        with use_device_kernel_implementation("cuda"), pytest.raises(LookupError, match="'cuda', which is asked for"):
            fallback(2.0, x, y, 5)
    np.testing.assert_array_equal(xp.to_numpy(y), expected(4.0))


@pytest.mark.parametrize("wrap", [lambda y: y, lambda y: [y]])
def test_device_arrays_on_the_numpy_backend_are_recorded_and_warned_of_once(wrap):
    def add(y):
        (y[0] if isinstance(y, list) else y)[...] += 1

    both = Kernel(add, CudaKernel(AXPY, "axpy"), name="add")
    y = cupy.ones(3)
    with xp.use_backend("numpy"):
        with (
            count_transfers() as counted,
            pytest.warns(
                BackendFallbackWarning,
                match="kernel 'add': device arrays are copied.*the NumPy backend is active.*set_backend",
            ),
        ):
            both(wrap(y))
        assert counted.count("fallback") == 1
        with count_transfers() as counted:
            both(wrap(y))
        assert counted.count("fallback") == 1
        assert counted.count("to_device") == 1
        assert (y == 3).all()
        both(np.ones(2))
        with xp.profiling.forbid_transfers(), pytest.raises(TransferError, match="kernel 'add' ran on the host"):
            both(wrap(y))
    assert (y == 3).all()


def test_device_arrays_in_attributes_are_found():
    @dataclasses.dataclass
    class Data:
        y: object

    class Opened:
        def __init__(self, y):
            self.y = y

    def add(data):
        data.y += 1

    for data, modules in ((Data(cupy.ones(2)), ()), (Opened(cupy.ones(2)), (__name__,))):
        host = Kernel(add, host_options={"object_modules": modules})
        with xp.use_backend("numpy"):
            host(type(data)(np.ones(2)))
            with pytest.warns(BackendFallbackWarning):
                host(data)
        assert (data.y == 2).all()


def test_objects_that_stand_for_others_are_looked_at_in_each_call():
    class Proxy:
        def __init__(self, array):
            self.array = array

        def __getattr__(self, name):
            return getattr(self.array, name)

    kernel = Kernel(lambda x: "on the host", dispatch="arrays")
    assert kernel(Proxy(np.ones(2))) == "on the host"
    with pytest.raises(MissingKernelError, match="is called on the device"):
        kernel(Proxy(ForeignDeviceArray(np.ones(2))))


def test_a_wrapper_that_converts_or_does_not_is_the_callers_choice():
    y = cupy.ones(2)
    seen = []
    with xp.use_backend("numpy"):
        Kernel(PyccelKernel(seen.append, use_cupy=True))(y)
        Kernel(PyccelKernel(seen.append, use_cupy=False))(y)
    assert isinstance(seen[0], np.ndarray)
    assert seen[1] is y


# --- by the arguments -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_the_arguments_decide(backend, raw_modules):
    both = kernel(dispatch="arrays")
    with xp.use_backend(backend):
        x, y = arrays()
        assert both(2.0, x, y, 5) is None
        np.testing.assert_array_equal(xp.to_numpy(y), expected())
        assert raw_modules == ["axpy"]
        x, y = arrays(np)
        with assert_no_transfers():
            assert both(2.0, x, y, 5) == "host"
            assert both(2.0, x=x, y=y, n=5, n_threads=7) == "host"
        np.testing.assert_array_equal(y, expected(4.0))
        x, y = arrays()
        both(2.0, x=x, y=y, n=5)
        assert raw_modules == ["axpy", "axpy"]


def test_arrays_of_other_libraries_are_on_the_device():
    for _ in range(2):
        with pytest.raises(MissingKernelError, match="is called on the device"):
            Kernel(axpy, dispatch="arrays")(2.0, ForeignDeviceArray(np.ones(5)), np.ones(5), 5)


def test_structs_are_for_the_device():
    data = CudaStruct("Data", [("x", "Array1D<double>"), ("factor", "double")])
    source = (
        "#include <cunumpy/array_view.cuh>\n"
        + data.declaration
        + """
    extern "C" __global__ void scale(Data data) { data.x(threadIdx.x) *= data.factor; }"""
    )
    x = cupy.ones(4)
    both = Kernel(lambda data: "host", CudaKernel(source, "scale", structs=[data]), dispatch="arrays")
    both(data(x=x, factor=3.0), n_threads=4, block=4)
    assert (x == 3).all()


Pair = collections.namedtuple("Pair", "x y")


@pytest.mark.parametrize("wrap", [lambda y: [y], lambda y: {"y": (1, y)}, lambda y: Pair(None, y)])
def test_device_arrays_in_containers_are_refused(wrap):
    both = Kernel(lambda number, data: "host", dispatch="arrays")
    assert both(1, wrap(np.ones(2))) == "host"
    with pytest.raises(
        TypeError, match=r"kernel '<lambda>': argument number 1 is on the host, a .* and holds device arrays"
    ):
        both(1, wrap(cupy.ones(2)))
    with pytest.raises(TypeError, match="argument 'data' is on the host"):
        both(1, data=wrap(cupy.ones(2)))
    assert both(1, wrap(np.ones(2))) == "host"
    forced = Kernel(PyccelKernel(lambda number, data: "host", use_cupy=True), dispatch="arrays")
    assert forced(1, wrap(cupy.ones(2))) == "host"


def test_fallback_by_arguments():
    fallback = Kernel(axpy, dispatch="arrays", missing_cuda="fallback")
    x, y = arrays()
    with (
        xp.use_backend("numpy"),
        pytest.warns(BackendFallbackWarning, match="it has no CUDA kernel.*add a CUDA kernel"),
    ):
        fallback(2.0, x, y, 5)
    np.testing.assert_array_equal(xp.to_numpy(y), expected())
    with pytest.raises(MissingKernelError, match="has no CUDA kernel, and is called on the device"):
        Kernel(axpy, dispatch="arrays")(2.0, x, y, 5)


def test_a_missing_host_side():
    only = Kernel(None, CudaKernel(AXPY, "axpy"), dispatch="arrays")
    x, y = arrays()
    only(2.0, x, y, 5)
    np.testing.assert_array_equal(xp.to_numpy(y), expected())
    host_x, host_y = arrays(np)
    only(2.0, host_x, host_y, 5)
    np.testing.assert_array_equal(host_y, expected())
    by_backend = Kernel(None, CudaKernel(AXPY, "axpy"))
    with xp.use_backend("numpy"), pytest.warns(BackendFallbackWarning, match="'axpy': device arrays are copied"):
        by_backend(2.0, x, y, 5)
    np.testing.assert_array_equal(xp.to_numpy(y), expected(4.0))
    with xp.use_backend("cupy"):
        by_backend(2.0, x, y, 5)
    np.testing.assert_array_equal(xp.to_numpy(y), expected(6.0))


# --- several implementations, catalogs --------------------------------------------------------------------------------


def test_host_implementations_on_device_arrays():
    loaders = {"numpy": lambda: axpy, "python": lambda: lambda a, x, y, n: "python"}
    fallback = Kernel(HostImplementations("axpy", loaders), missing_cuda="fallback", host_options={"outputs": ["y"]})
    x, y = arrays()
    with xp.use_backend("cupy"):
        with pytest.warns(BackendFallbackWarning):
            fallback(2.0, x, y, 5)
        np.testing.assert_array_equal(xp.to_numpy(y), expected())
        with use_host_kernel_implementation("python"):
            assert fallback(2.0, x, y, 5) == "python"


@pytest.mark.parametrize("jobs", [1, 3, None])
def test_compile_all(jobs):
    bad = CudaKernel('extern "C" __global__ void bad(double* x) {}', "bad")
    catalog = KernelCatalog({"axpy": kernel(), "host": Kernel(axpy), "again": kernel()})
    assert catalog.compile_all(jobs=jobs) == ["axpy", "again"]
    assert all(case.cuda_kernel.is_compiled for _, case in catalog.parity_cases())
    assert Kernel(axpy).compile() is False

    def fail(**options):
        raise RuntimeError("does not compile")

    bad.compile = fail
    last = kernel()
    catalog = KernelCatalog({"bad": Kernel(None, bad), "last": last})
    with pytest.raises(RuntimeError, match="does not compile"):
        catalog.compile_all(jobs=jobs)
    assert last.cuda_kernel.is_compiled  # all are tried before the error is raised
