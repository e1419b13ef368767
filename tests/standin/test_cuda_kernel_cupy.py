"""CUDA kernels on the stand-in for CuPy: their launches, by a C++ compiler for what they compute, else by a stub."""

from __future__ import annotations

import gc
import pickle
import weakref

import cupy
import numpy as np
import pytest

import cunumpy as xp
from array_kinds import ForeignDeviceArray
from cunumpy.arguments import CudaArguments, CudaStruct, CudaStructArguments
from cunumpy.cuda import DEBUG_OPTIONS, HostStream, cuda_debug
from cunumpy.errors import ArgumentError, ArgumentTypeError, CompileError, KernelError, TransferError
from cunumpy.kernels import CudaKernel, CudaKernelVariants

AXPY = """
extern "C" __global__ void axpy(double a, const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"""


class Recorder:
    """A `cupy.RawKernel` that records; what it launches is set by `run`."""

    attributes = {"max_threads_per_block": 512, "shared_size_bytes": 1000, "max_dynamic_shared_size_bytes": 48000}  # noqa: RUF012
    compiled: list[Recorder] = []  # noqa: RUF012
    error: Exception | None = None

    def __init__(self, code, name, options=()):
        self.code, self.name, self.options = code, name, options
        self.launches = []

    def compile(self, log_stream=None):
        if self.error is not None:
            raise self.error
        if log_stream is not None:
            log_stream.write("compiled")
        self.compiled.append(self)

    def __call__(self, grid, block, args, *, shared_mem=0, stream=None):
        self.launches.append((grid, block, list(args), shared_mem, stream))


@pytest.fixture
def recorder(monkeypatch):
    monkeypatch.setattr("cupy.RawKernel", Recorder, raising=False)
    monkeypatch.setattr(Recorder, "compiled", [])
    return Recorder


class CompileException(Exception):
    pass


class CUDARuntimeError(Exception):
    pass


def axpy(**options):
    return CudaKernel(AXPY, "axpy", **options)


def arrays(n=1000):
    return cupy.arange(n, dtype=float), cupy.ones(n)


# --- what is computed -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("raw_modules")
def test_a_launch_computes():
    x, y = arrays()
    axpy()(2.0, x, y, 1000)
    np.testing.assert_array_equal(xp.to_numpy(y), 1 + 2 * np.arange(1000.0))
    axpy(block_size=7)(np.float64(-2.0), x, y, np.int64(1000), n_threads=1000)
    assert (y == 1).all()


@pytest.mark.usefixtures("raw_modules")
def test_blocks_of_two_dimensions_and_views_with_strides():
    kernel = CudaKernel(
        """
        #include <cunumpy/array_view.cuh>
        extern "C" __global__ void transpose(Array2D<const double> x, CArray2D<double> y) {
            int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
            if (i < x.shape[0] && j < x.shape[1]) y(j, i) = x(i, j);
        }""",
        "transpose",
        block_size=(4, 8),
    )
    x = cupy.arange(20 * 30, dtype=float).reshape(20, 30)[::-2, ::3]
    y = cupy.zeros((10, 10))
    kernel(x, y)
    assert (y == x.T).all()


@pytest.mark.usefixtures("raw_modules")
def test_templates_and_kernels_in_namespaces():
    source = "namespace a { template <typename T, int N> __global__ void add(T* x) { x[threadIdx.x] += N; } }"
    variants = CudaKernelVariants(lambda dtype, n: CudaKernel(source, "a::add", template_args=[dtype, n]))
    for dtype in (np.float32, np.int64):
        x = cupy.zeros(5, dtype)
        variants.get(dtype, 3)(x, grid=1, block=5)
        assert (x == 3).all()
    variants.compile_all([(np.float32, 4)], jobs=2)
    assert all(variants.get(*key).is_compiled for key in variants)


@pytest.mark.usefixtures("raw_modules")
def test_edited_headers_are_used_by_new_kernels_and_after_compile(tmp_path):
    header, file, x = tmp_path / "h.cuh", tmp_path / "k_cuda.cu", cupy.zeros(1)
    header.write_text("#define C 2.0\n")
    file.write_text('#include "h.cuh"\nextern "C" __global__ void k(double* x) { x[0] = C; }')
    kernel = CudaKernel.from_file(file)
    kernel(x, n_threads=1)
    assert x[0] == 2
    launch = kernel.prepare(x, n_threads=1)
    header.write_text("#define C 5.0\n")
    assert not kernel.is_compiled  # as the header is now
    CudaKernel.from_file(file)(x, n_threads=1)
    assert x[0] == 5
    kernel(x, n_threads=1)
    assert x[0] == 2
    kernel.compile()
    kernel(x, n_threads=1)
    assert x[0] == 5
    header.write_text("#define C 7.0\n")
    with cuda_debug():
        kernel(x, n_threads=1)
    assert x[0] == 7
    kernel.recompile()
    launch()
    assert x[0] == 7


@pytest.mark.usefixtures("raw_modules")
def test_a_pickled_kernel_launches():
    x, y = arrays()
    kernel = axpy()
    kernel(1.0, x, y, 1000)
    again = pickle.loads(pickle.dumps(kernel))
    assert not again.is_compiled
    again(-1.0, x, y, 1000)
    assert (y == 1).all()


@pytest.mark.usefixtures("raw_modules")
def test_arrays_of_other_libraries_and_records(monkeypatch):
    foreign = ForeignDeviceArray(np.arange(5.0))
    monkeypatch.setattr(cupy, "asarray", lambda value: value.memory)  # the stand-in reads no foreign memory
    y = cupy.zeros(5)
    axpy()(2.0, foreign, y, 5, n_threads=5)
    assert (y == 2 * cupy.arange(5)).all()
    source = "struct P { double a; int n; };\n" + 'extern "C" __global__ void k(P p, double* y) { y[0] = p.a * p.n; }'
    struct = type("P", (), {"name": "P", "dtype": np.dtype([("a", "f8"), ("n", "i4")], align=True), "fields": ()})()
    kernel = CudaKernel(source, "k", structs=[struct])
    value = np.array((1.5, 4), struct.dtype)[()]
    kernel(value, y, n_threads=1)
    assert y[0] == 6
    assert kernel.prepare_args(value, y)[0] == value
    CudaKernel(source, "k", check_signature=False)(value, y, n_threads=1)


# --- structs ----------------------------------------------------------------------------------------------------------

INNER = CudaStruct("Inner", [("scale", "double"), ("shift", "float2")])
STRUCT = CudaStruct(
    "Axpy",
    [("n", "int"), ("a", "Array1D<const double>"), ("y", "double*"), ("inner", "Inner"), ("weights", "double[2]")],
    structs=[INNER],
    alignment=32,
)
STRUCT_SOURCE = f"""
#include <cunumpy/array_view.cuh>
{INNER.declaration}
{STRUCT.declaration}
extern "C" __global__ void apply(Axpy s, double factor) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < s.n) s.y[i] += factor * (s.inner.scale * s.a(i) + s.inner.shift.y) * s.weights[1];
}}
"""


class Axpy(CudaStructArguments):
    struct_name = "Axpy"
    fields = (("n", "int"), ("y", "double*"))

    def __init__(self, y):
        self.y, self.n = y, y.size
        self.pack()


def struct_values(n=300):
    return {
        "n": n,
        "a": cupy.arange(2 * n, dtype=float)[::2],
        "y": cupy.zeros(n),
        "inner": INNER(scale=2.0, shift=(0.0, 1.0)),
        "weights": [0.0, 0.5],
    }


def struct_kernel(**options):
    return CudaKernel(STRUCT_SOURCE, "apply", structs=[INNER, STRUCT], **options)


@pytest.mark.usefixtures("raw_modules")
def test_structs_are_passed_in_every_form():
    given = struct_values()
    value, kernel = STRUCT(**given), struct_kernel()
    expected = (2.0 * 2 * np.arange(300.0) + 1) * 0.5
    for count, form in enumerate(
        (value, value.packed, CudaArguments(value), pickle.loads(pickle.dumps(STRUCT))(**given))
    ):
        kernel(form, 1.0, n_threads=300)
        np.testing.assert_array_equal(xp.to_numpy(given["y"]), (count + 1) * expected)
    kernel(CudaArguments(value, -4.0), n_threads=300)
    assert (given["y"] == 0).all()


@pytest.mark.usefixtures("raw_modules")
def test_threads_are_inferred_from_the_fields_of_structs():
    given = struct_values()
    kernel = struct_kernel()
    assert kernel.launch_shape(args=(STRUCT(**given), 1.0)) == ((3,), (128,))
    kernel(STRUCT(**given), 2.0)
    assert given["y"][-1] == (2 * 2 * 299 + 1) * 1.0
    launch = kernel.prepare(STRUCT(**given), -2.0)
    launch()
    assert (given["y"] == 0).all()


@pytest.mark.usefixtures("raw_modules")
def test_prepared_launches_take_new_structs():
    first, second = struct_values(), struct_values(40)
    launch = struct_kernel().prepare(STRUCT(**first), 1.0)
    launch.set(s=STRUCT(**second))
    launch()
    assert launch.grid == (1,)
    assert (first["y"] == 0).all()
    assert second["y"][39] == (2 * 2 * 39 + 1) * 0.5
    with pytest.raises(ArgumentTypeError, match=r"argument 's' \(Axpy\) must be a struct, got cupy\.ndarray"):
        launch.set(s=first["y"])
    launch.set(factor=-1.0)
    launch()
    assert (second["y"] == 0).all()


@pytest.mark.usefixtures("raw_modules")
def test_objects_that_pack_themselves():
    kernel = CudaKernel(
        f"""{Axpy.struct.declaration}
        template <typename T> __global__ void fill(Axpy s, T value) {{
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < s.n) s.y[i] = value;
        }}""",
        "fill",
        structs=[Axpy.struct],
        template_args=[np.float32],
    )
    one = Axpy(cupy.zeros(200))
    kernel(one, 3.0)
    assert (one.y == 3).all()
    one.n = 100
    kernel(one, 4.0)
    assert one.y.sum() == 700
    launch = kernel.prepare(one, 5.0)
    old, one.y = one.y, cupy.zeros(200)  # the launch holds what it was prepared with
    launch()
    assert (old[:100] == 5).all()
    launch.set(s=one)
    launch()
    assert (one.y[:100] == 5).all()
    with pytest.raises(ArgumentTypeError, match=r"argument 's' \(Axpy\) must be a struct, got numpy.void of dtype"):
        kernel(INNER(scale=1.0, shift=(0, 0)), 1.0, n_threads=1)


@pytest.mark.usefixtures("raw_modules")
def test_nan_in_a_field_is_found_and_named():
    given = struct_values()
    kernel = struct_kernel(check_finite=True)
    kernel(STRUCT(**given), 1.0)
    given["a"][7] = np.inf
    with pytest.raises(KernelError, match=r"argument 's\.a' .* holds NaN or infinity"):
        kernel(STRUCT(**given), 0.0)


@pytest.mark.usefixtures("raw_modules")
def test_numbers_of_half_precision():
    source = "struct __half { unsigned short bits; };" + (
        'extern "C" __global__ void bits(__half h, const __half* x, unsigned short* y) '
        "{ y[0] = h.bits; y[1] = x[0].bits; }"
    )
    y = cupy.zeros(2, "uint16")
    CudaKernel(source, "bits")(0.1, cupy.full(1, 0.1, "float16"), y, grid=1, block=1)
    assert (y == int(np.float16(0.1).view("uint16"))).all()


# --- how it is launched -----------------------------------------------------------------------------------------------


def test_what_the_raw_kernel_gets(recorder):
    x, y = arrays()
    kernel, stream = axpy(options=["-DA"]), cupy.cuda.Stream()
    kernel(2, x, y, 1000, shared_mem=64, stream=stream)
    kernel(2, x, y, 1000, grid=(2, 3), block=(4, 4))
    (raw,) = recorder.compiled
    assert (raw.code, raw.name, raw.options) == (AXPY, "axpy", kernel.compile_options())
    first, second = raw.launches
    assert first[:2] == ((8,), (128,))
    assert first[3:] == (64, stream)
    assert second[:2] == ((2, 3), (4, 4))
    assert second[3:] == (0, None)
    a, given_x, given_y, n = first[2]
    assert (type(a), type(n)) == (np.float64, np.int32)
    assert given_x is x
    assert given_y is y


def test_a_launch_without_threads_compiles_nothing(recorder):
    x, y = cupy.zeros(0), cupy.zeros(0)
    axpy()(1.0, x, y, 0)
    axpy().prepare(1.0, x, y, 0)()
    assert recorder.compiled == []


def test_what_the_device_does_not_take_is_refused_before_the_launch(recorder):
    x, y = arrays()
    kernel = axpy()
    stream = type("Stream", (), {"device_id": 1, "ptr": 5})()
    for launch, error, text in [
        ({"block": 1024}, ArgumentError, "1024 threads"),
        ({"grid": 1, "block": (1, 1, 65)}, ArgumentError, "65 along z"),
        ({"shared_mem": 166000}, ArgumentError, "166000 of dynamic shared memory"),
        ({"stream": stream}, ArgumentError, "'stream' is of CUDA device 1, the current device is 0"),
        ({"stream": 5}, ArgumentTypeError, "'stream' must be a stream of CuPy, got int"),
        ({"stream": HostStream()}, ArgumentTypeError, "'stream' must be a stream of CuPy"),
    ]:
        for call in (kernel, lambda *args, **launch: prepared(kernel, args, launch)):
            with pytest.raises(error) as caught:
                call(1.0, x, y, 1000, **launch)
            assert text in str(caught.value)
            assert "CudaKernel 'axpy': " in str(caught.value)
    assert recorder.compiled[0].launches == []
    kernel(1.0, x, y, 1000, shared_mem=100000)
    assert recorder.compiled[0].max_dynamic_shared_size_bytes == 100000


def prepared(kernel, args, launch):
    stream = launch.pop("stream", None)
    kernel.prepare(*args, **launch)(stream=stream)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {1: np.zeros(1000)},
            r"argument 'x' \(const double\*\) must be a C-contiguous .* of dtype float64, got numpy",
        ),
        ({1: cupy.zeros(1000, "f4")}, r"'x' .* of dtype float64, got cupy.ndarray\(shape=\(1000,\), dtype=float32\)"),
        ({2: cupy.zeros(2000)[::2]}, r"argument 'y' \(double\*\) must be a C-contiguous .* with strides"),
        ({3: cupy.array(1000)}, r"argument 'n' \(int\) must be an integer, .*xp\.to_numpy"),
        ({0: cupy.array(2.0)}, r"argument 'a' \(double\) must be a real number"),
        ({2: None}, r"argument 'y' .* got NoneType; there is no null pointer; pass an empty array"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(recorder, change, text):
    args = [2.0, *arrays(), 1000]
    for position, value in change.items():
        args[position] = value
    with xp.profiling.forbid_transfers(syncs=True), pytest.raises(ArgumentTypeError, match=text):
        axpy()(*args, n_threads=1000)
    assert recorder.compiled == []


def test_arrays_of_another_device_are_refused(recorder, monkeypatch):
    monkeypatch.setattr("cunumpy.arguments._current_device._device_count", None)
    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 2)
    x, y = arrays()
    kernel = axpy()
    kernel(1.0, x, y, 1000)
    launch = kernel.prepare(1.0, x, y, 1000)
    launch()
    monkeypatch.setattr(cupy.cuda.runtime, "getDevice", lambda: 1)
    with pytest.raises(ArgumentError, match=r"argument 'x' .* is on CUDA device 0, the current device is 1"):
        kernel(1.0, x, y, 1000)
    with pytest.raises(ArgumentError, match="prepared on CUDA device 0, the current device is 1"):
        launch()
    assert not kernel.is_compiled
    monkeypatch.setattr(cupy.cuda.runtime, "getDevice", lambda: 0)
    assert kernel.is_compiled
    assert len(recorder.compiled[0].launches) == 2
    monkeypatch.setattr("cunumpy.arguments._current_device._device_count", None)


def test_the_suggested_block_size_is_the_drivers(recorder, monkeypatch):
    asked = []

    def calculate(function, shared_mem, limit):
        asked.append((function, shared_mem, limit))
        return 40, 768

    monkeypatch.setattr(cupy.cuda, "driver", type("driver", (), {"occupancyMaxPotentialBlockSize": calculate}), False)
    monkeypatch.setattr(recorder, "ptr", 5, raising=False)
    assert axpy().suggested_block_size() == 768
    bound = CudaKernel(AXPY.replace("void axpy", "void __launch_bounds__(64) axpy"), "axpy")
    bound.suggested_block_size(shared_mem=1000)
    assert asked == [(5, 0, 0), (5, 1000, 64)]
    with pytest.raises(ArgumentError, match="'shared_mem' must not be negative"):
        axpy().suggested_block_size(shared_mem=-1)


def test_arrays_are_checked_again_if_they_could_be_others(recorder):
    """What was found right is known by its identity: an array of the same id, shape changes and views are not it."""
    kernel = CudaKernel('extern "C" __global__ void k(Array2D<double> a, double* p) {}', "k")
    a = cupy.zeros((4, 6))
    first = kernel.prepare_args(a, a)[0]
    assert kernel.prepare_args(a, a)[0] == first
    a.shape = (8, 3)
    assert kernel.prepare_args(a, a)[0]["shape"].tolist() == [8, 3]
    for _ in range(200):
        wrong = cupy.zeros((4, 6), "float32")  # often at the address, and of the id, of the one before
        with pytest.raises(ArgumentTypeError, match="of dtype float64"):
            kernel.prepare_args(wrong, a)
        del wrong
        kernel.prepare_args(cupy.zeros((4, 6)), cupy.zeros(1))
    alive = weakref.ref(a)
    del a
    gc.collect()
    assert alive() is None
    assert recorder.compiled == []


def test_a_failed_compilation_is_tried_again(recorder, monkeypatch):
    kernel = axpy()
    monkeypatch.setattr(recorder, "error", CompileException('axpy.cu(3): error: identifier "u" is undefined\n  u;\n'))
    with pytest.raises(CompileError, match="CudaKernel 'axpy': does not compile with") as caught:
        kernel.compile()
    (message,) = caught.value.messages
    assert (message.line, message.text) == (3, 'identifier "u" is undefined')
    assert isinstance(caught.value.__cause__, CompileException)
    monkeypatch.setattr(recorder, "error", CUDARuntimeError("CUDA_ERROR_NOT_FOUND: named symbol not found"))
    with pytest.raises(CompileError, match='declare it extern "C"'):
        kernel.compile()
    monkeypatch.setattr(recorder, "error", None)
    assert kernel.compile() is kernel.compile() is recorder.compiled[0]
    assert kernel.recompile() is recorder.compiled[1]


# --- debug mode, and looking for NaN ----------------------------------------------------------------------------------


def test_the_debug_mode_chooses_the_compiled_variant(recorder):
    x, y = arrays()
    kernel = axpy()
    launch = kernel.prepare(1.0, x, y, 1000)
    for call in (lambda: kernel(1.0, x, y, 1000), launch):
        call()
        with cuda_debug():
            call()
        call()
    plain, debug = recorder.compiled
    assert set(DEBUG_OPTIONS) <= set(debug.options)
    assert not set(DEBUG_OPTIONS) & set(plain.options)
    assert (len(plain.launches), len(debug.launches)) == (4, 2)


def test_debug_launches_wait_and_name_what_failed(recorder, monkeypatch):
    x, y = arrays()
    kernel = axpy(debug=True)
    with xp.profiling.count_transfers() as counter:
        kernel(1.0, x, y, 1000)
        kernel.prepare(1.0, x, y, 1000)()
    assert counter.syncs == 2
    with xp.profiling.forbid_transfers(syncs=True), pytest.raises(TransferError, match="axpy"):
        kernel(1.0, x, y, 1000)

    def fail(*args, **kwargs):
        raise CUDARuntimeError("an illegal memory access was encountered")

    monkeypatch.setattr(cupy.cuda.Stream, "synchronize", fail)
    with pytest.raises(
        KernelError, match=r"'axpy' \(grid \(8,\), block \(128,\)\): failed on device 0: an ill"
    ) as caught:
        kernel(1.0, x, y, 1000)
    assert isinstance(caught.value.__cause__, CUDARuntimeError)
    monkeypatch.setattr(cupy.cuda.Stream, "is_capturing", lambda self: True)
    kernel(1.0, x, y, 1000)


class Fields:
    def __init__(self, **values):
        self.__dict__.update(values)
        self.struct = type("S", (), {"fields": [type("F", (), {"name": name}) for name in values]})

    def __cuda_args__(self):
        return (self.a,)


def test_nan_is_found_and_named(recorder):
    x, y = arrays()
    kernel = axpy(check_finite=True)
    with xp.profiling.count_transfers() as counter:
        kernel(1.0, x, y, 1000)
    assert counter.syncs == 1
    y[5] = np.nan
    with pytest.raises(KernelError, match=r"argument 'y' .* holds NaN or infinity"):
        kernel(1.0, x, y, 1000)
    launch = kernel.prepare(1.0, x, y, 1000)
    with pytest.raises(KernelError, match=r"argument 'y'"):
        launch()
    with pytest.raises(KernelError, match=r"argument 'a\.inner' .* holds NaN"):
        kernel(Fields(a=1.0, inner=y), x, x, 1000, n_threads=1000)
    kernel.check_finite = False
    kernel(1.0, x, y, 1000)


# --- prepared launches ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("raw_modules")
def test_a_prepared_launch_repeats_and_takes_new_arguments():
    x, y = arrays()
    launch = axpy().prepare(1.0, x, y, 1000)
    assert (launch.grid, launch.block, launch.args) == ((8,), (128,), (1.0, x, y, 1000))
    launch()
    launch(stream=cupy.cuda.Stream())
    assert (y == 1 + 2 * x).all()
    launch.set(a=-2.0)
    launch()
    assert (y == 1).all()
    short = cupy.ones(300)
    launch.set(x=short, n=300, y=cupy.zeros(300))
    launch()
    assert launch.grid == (3,)
    assert (launch.args[2] == -2).all()


def test_replacing_arguments_changes_nothing_if_one_does_not_fit(recorder):
    x, y = arrays()
    launch = axpy().prepare(1.0, x, y, 1000)
    launch()
    for values, error, text in [
        ({"a": 5.0, "n": 2**31}, OverflowError, "argument 'n'"),
        ({"a": 5.0, "x": np.zeros(3)}, ArgumentTypeError, "argument 'x'"),
        ({"a": 5.0, "z": 1}, ArgumentTypeError, "has no parameter 'z'; it has a, x, y, n"),
    ]:
        with pytest.raises(error, match=text):
            launch.set(**values)
    launch()
    first, second = recorder.compiled[0].launches
    assert first[2] == second[2]
    launch.set(x=cupy.zeros(0))
    launch()
    assert launch.grid == (0,)
    assert len(recorder.compiled[0].launches) == 2
    unchecked = axpy(check_signature=False).prepare(1.0, x, y, 1000)
    with pytest.raises(ArgumentTypeError, match="prepare the launch anew"):
        unchecked.set(a=1.0)


def test_a_prepared_launch_replaces_one_value_of_an_argument_object(recorder):
    x, y = arrays()

    class Both:
        def __cuda_args__(self):
            return (x, y)

    launch = axpy().prepare(1.0, Both(), 1000)
    other = cupy.zeros(200)
    launch.set(x=other)
    launch()
    (launched,) = recorder.compiled[0].launches
    assert launched[0] == (2,)
    assert launched[2][1] is other
    assert launched[2][2] is y


def test_a_prepared_launch_keeps_its_arrays_alive(recorder):
    x, y = arrays()
    alive = weakref.ref(x)
    launch = axpy().prepare(1.0, x, y, 1000)
    del x
    gc.collect()
    assert alive() is launch.args[1]
    launch.set(x=y)
    gc.collect()
    assert alive() is None
    assert recorder.compiled == []


class Fresh:
    """Makes the array when it is asked."""

    def __init__(self, x):
        self.x = x

    def __cuda_args__(self):
        return (self.x.copy(),)


class OneArray(CudaStructArguments):
    struct_name = "OneArray"
    fields = [("x", "Array1D<double>")]  # noqa: RUF012

    def __init__(self, x):
        self.x = x


@pytest.mark.parametrize(
    ("parameter", "kind"),
    [
        *[
            (parameter, kind)
            for parameter in ("double* x", "Array1D<double> x")
            for kind in (CudaArguments, lambda x: CudaArguments(CudaArguments(x)), Fresh)
        ],
        ("OneArray x", OneArray),
    ],
)
def test_a_prepared_launch_keeps_the_arrays_that_argument_objects_had(recorder, monkeypatch, parameter, kind):
    """The kernel would go on with memory that was freed, which is somebody else's by then."""
    kernel = CudaKernel(f'extern "C" __global__ void k({parameter}, int n) {{}}', "k", structs=[OneArray.struct])
    made = []
    real = cupy.ndarray.copy

    def copy(self):
        copied = real(self)
        made.append(weakref.ref(copied))
        return copied

    monkeypatch.setattr(cupy.ndarray, "copy", copy)
    x = cupy.zeros(8)
    given = kind(x)
    launch = kernel.prepare(given, 8, n_threads=8)
    alive = made[-1] if kind is Fresh else weakref.ref(x)
    del x
    other = cupy.ones(8)
    if kind is CudaArguments:
        given.values = (other,)
    elif isinstance(given, CudaArguments) and kind is not OneArray:
        given.values[0].values = (other,)
    else:
        given.x = other
        given.__cuda_args__()
    gc.collect()
    assert alive() is not None
    launch.set(n=4)
    gc.collect()
    assert alive() is not None
    launch()
    recorder.compiled[0].launches.clear()
    launch = None
    gc.collect()
    assert alive() is None


def test_a_prepared_launch_lets_go_of_what_is_replaced(recorder):
    kernel = CudaKernel('extern "C" __global__ void k(OneArray a, double* x, int n) {}', "k", structs=[OneArray.struct])
    x = cupy.zeros(8)
    launch = kernel.prepare(OneArray(cupy.zeros(8)), x, 8, n_threads=8)
    alive = weakref.ref(x)
    launch.set(x=cupy.zeros(8))
    del x
    gc.collect()
    assert alive() is None
    assert recorder.compiled == []


def test_objects_of_none_and_of_several_arguments_are_told_apart_from_one_each(recorder):
    """As many arguments as parameters, and not in their places."""
    x, y = arrays()
    launch = axpy().prepare(CudaArguments(), CudaArguments(1.0, x), y, 1000)
    other = cupy.zeros(200)
    launch.set(a=2.0)
    launch.set(x=other, n=200)
    assert launch.args == (2.0, other, y, 200)
    launch()
    (launched,) = recorder.compiled[0].launches
    assert launched[0] == (2,)
    assert launched[2][1] is other


def test_a_prepared_launch_forgets_a_kernel_that_does_not_compile_any_more(recorder, monkeypatch):
    kernel = axpy()
    launch = kernel.prepare(1.0, *arrays(), 1000)
    launch()
    monkeypatch.setattr(recorder, "error", CompileException("axpy.cu(3): error: no\n"))
    for call in (kernel.recompile, launch, lambda: kernel(1.0, *arrays(), 1000)):
        with pytest.raises(CompileError):
            call()
    monkeypatch.setattr(recorder, "error", None)
    launch()
    assert [len(one.launches) for one in recorder.compiled] == [1, 1]


def test_a_launch_shape_reads_nothing_from_the_device(recorder):
    """Not even for the text of an error."""
    with xp.profiling.forbid_transfers(), pytest.raises(ArgumentTypeError, match=r"which waits: int\(array\)"):
        axpy().launch_shape(cupy.array(3))
    with pytest.raises(ArgumentTypeError, match=r"'args' must be the tuple of arguments, got cupy.ndarray"):
        axpy().launch_shape(args=cupy.zeros((5, 700)))


def test_a_prepared_launch_can_not_be_pickled(recorder):
    with pytest.raises(ArgumentTypeError, match="pickle the kernel, and prepare the launch anew"):
        pickle.dumps(axpy().prepare(1.0, *arrays(), 1000))
    assert repr(axpy().prepare(1.0, *arrays(), 1000)) == "<PreparedLaunch of axpy grid=(8,) block=(128,)>"
    assert recorder.compiled == []
