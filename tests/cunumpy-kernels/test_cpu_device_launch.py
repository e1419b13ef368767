"""Launches on the CPU device: arguments, compilers, builds on disk, processes and threads."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from cpu_device import address, compiled, run
from cunumpy.arguments import CudaArguments, CudaStruct
from cunumpy.cuda import cuda_debug
from cunumpy.errors import (
    ArgumentError,
    ArgumentRangeError,
    ArgumentTypeError,
    CompileError,
    KernelError,
    MissingPackageError,
    SettingError,
)
from cunumpy.kernels import CudaKernel
from cunumpy.kernels._cpu_device import launcher
from cunumpy.kernels._cpu_device.launch import cpu_kernel, run_on_cpu

AXPY = """
extern "C" __global__ void axpy(double a, const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}"""


def axpy() -> CudaKernel:
    return CudaKernel(AXPY, "axpy")


def arrays(n: int = 10) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(float(n)), np.ones(n)


@pytest.mark.parametrize("compiled", [False, True], ids=["first launch", "later launch"])
class TestArguments:
    """The first launch is checked in Python, later ones in C as far as nothing is in doubt: with the same results."""

    def kernel(self, compiled: bool) -> CudaKernel:
        kernel = axpy()
        if compiled:
            cpu_kernel(kernel).library()
            assert cpu_kernel(kernel).quick is not None
        return kernel

    @pytest.mark.parametrize("a", [2.0, 2, np.float64(2), np.float32(2), np.int8(2)])
    @pytest.mark.parametrize("n", [10, np.int32(10), np.int64(10), np.uint8(10)])
    def test_numbers_are_taken_by_value(self, compiled, a, n):
        x, y = arrays()
        run_on_cpu(self.kernel(compiled), (a, x, y, n), n_threads=10)
        np.testing.assert_array_equal(y, 1 + 2 * x)

    @pytest.mark.parametrize(
        ("position", "value", "error", "text"),
        [
            (0, 2**53 + 1, ArgumentError, "9007199254740993"),
            (0, 1j, ArgumentTypeError, "must be a real number"),
            (0, "2", ArgumentTypeError, "must be a real number"),
            (1, [1.0], ArgumentTypeError, "must be a C-contiguous NumPy array of dtype float64, got list"),
            (1, np.zeros(10, np.float32), ArgumentTypeError, "must be a C-contiguous NumPy array of dtype float64"),
            (1, np.zeros(10, ">f8"), ArgumentTypeError, "must be a C-contiguous NumPy array of dtype float64"),
            (1, np.zeros(20)[::2], ArgumentTypeError, "with strides"),
            (1, np.ma.zeros(10), ArgumentTypeError, "got a masked array"),
            (1, np.zeros(81, np.uint8)[1:].view("f8"), ArgumentError, "must be aligned"),
            (1, None, ArgumentTypeError, "pass an empty array"),
            (2, np.broadcast_to(np.zeros(1), 10), ArgumentTypeError, "with strides"),
            (3, 2**31, ArgumentRangeError, "must be from -2147483648 to 2147483647"),
            (3, 10.0, ArgumentTypeError, "must be an integer"),
            (3, np.zeros(()), ArgumentTypeError, "must be an integer"),
        ],
    )
    def test_what_does_not_fit_is_refused_and_nothing_runs(self, compiled, position, value, error, text):
        x, y = arrays()
        args = [2.0, x, y, 10]
        args[position] = value
        with pytest.raises(error, match=r"CudaKernel 'axpy': argument '") as caught:
            run_on_cpu(self.kernel(compiled), tuple(args), n_threads=10)
        assert text in str(caught.value)
        np.testing.assert_array_equal(y, 1)

    def test_read_only_arrays_are_taken_where_the_kernel_only_reads(self, compiled):
        x, y = arrays()
        x.flags.writeable = False
        run_on_cpu(self.kernel(compiled), (2.0, x, y, 10), n_threads=10)
        np.testing.assert_array_equal(y, 1 + 2 * x)
        with pytest.raises(ArgumentError, match="the array is read-only"):
            run_on_cpu(self.kernel(compiled), (2.0, y, x, 10), n_threads=10)

    def test_the_count_is_checked(self, compiled):
        with pytest.raises(ArgumentTypeError, match=r"takes 4 arguments \(a, x, y, n\), got 3"):
            run_on_cpu(self.kernel(compiled), (2.0, *arrays()), n_threads=10)

    def test_threads_are_inferred_as_for_a_gpu(self, compiled):
        x, y = arrays(1000)
        run_on_cpu(self.kernel(compiled), (2.0, x, y, 1000))
        np.testing.assert_array_equal(y, 1 + 2 * x)

    @pytest.mark.parametrize(
        ("launch", "error", "text"),
        [
            ({"n_threads": -1}, ArgumentError, "must be not negative"),
            ({"n_threads": 10.0}, ArgumentTypeError, "must be an integer or 1 to 3 of them"),
            ({"n_threads": 10, "grid": 1}, ArgumentTypeError, "got both"),
            ({"n_threads": 10, "block": 2048}, ArgumentError, "at most 1024"),
            ({"grid": (1, 1, 1), "block": (1, 1, 128)}, ArgumentError, "has 128 along z, a device takes 64"),
            ({"grid": 2**31}, ArgumentError, "are more than the 2147483647"),
            ({"n_threads": 10, "shared_mem": -1}, ArgumentError, "must not be negative"),
            ({"n_threads": 10, "shared_mem": 2**20}, ArgumentError, "are more than the 232448"),
        ],
    )
    def test_launches_that_no_gpu_takes_are_refused(self, compiled, launch, error, text):
        x, y = arrays()
        with pytest.raises(error, match=text):
            run_on_cpu(self.kernel(compiled), (2.0, x, y, 10), **launch)
        np.testing.assert_array_equal(y, 1)


def test_without_signature_is_refused():
    kernel = CudaKernel(AXPY, "axpy", check_signature=False)
    with pytest.raises(ArgumentTypeError, match="its parameters have to be known"):
        run_on_cpu(kernel, (2.0, *arrays(), 10), n_threads=10)


CTYPES = {
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}


@pytest.mark.parametrize("dtype", CTYPES)
def test_numbers_of_all_types_arrive(dtype):
    kernel = CudaKernel(f'extern "C" __global__ void k({CTYPES[dtype]} v, {CTYPES[dtype]}* out) {{ *out = v; }}', "k")
    info = np.finfo(dtype) if dtype.startswith("f") else np.iinfo(dtype)
    out = np.zeros(1, dtype)
    for value in (0, 1, 7, info.max, info.min):
        for given in (value, np.dtype(dtype).type(value), float(value) if dtype.startswith("f") else int(value)):
            out[:] = 3
            run_on_cpu(kernel, (given, out), n_threads=1)
            assert out[0] == np.dtype(dtype).type(value)
    beyond = float(info.max) * 1.5 if dtype == "float32" else None if dtype == "float64" else int(info.max) + 1
    if beyond is not None:
        with pytest.raises(ArgumentRangeError):
            run_on_cpu(kernel, (beyond, out), n_threads=1)


def test_structs_and_vectors_arrive():
    struct = CudaStruct("Point", [("x", "double"), ("tag", "int"), ("v", "float[3]")])
    source = """
struct Point { double x; int tag; float v[3]; };
extern "C" __global__ void k(Point p, float4 f, bool flag, double* out) {
    out[0] = p.x; out[1] = p.tag; out[2] = p.v[2]; out[3] = f.w; out[4] = flag;
}"""
    out = np.zeros(5)
    kernel = CudaKernel(source, "k", structs=[struct])
    vector = np.zeros((), kernel.signature[1].dtype)[()]
    vector["w"] = 2.5
    run_on_cpu(kernel, (struct(x=1.5, tag=-3, v=[1, 2, 3]), vector, True, out), n_threads=1)
    np.testing.assert_array_equal(out, [1.5, -3, 3, 2.5, 1])


SUM = """
#include <cunumpy/array_view.cuh>
struct Inner { CArray1D<const double> weights; int shift; };
struct Field { double* values; Array2D<const float> table; double origin[3]; Inner inner; long n; };
extern "C" __global__ void k(Field f, double factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= f.n) return;
    f.values[i] += factor * f.table(i, 1) + f.origin[2] + f.inner.weights(i) * f.inner.shift;
}"""


class Members:
    def __init__(self, **values):
        self.__dict__.update(values)


@pytest.mark.parametrize("kind", [dict, Members, "arguments", "nested"])
def test_structs_with_arrays_are_packed_from_objects(kind):
    inner = CudaStruct("Inner", [("weights", "CArray1D<const double>"), ("shift", "int")])
    fields = [
        ("values", "double*"),
        ("table", "Array2D<const float>"),
        ("origin", "double[3]"),
        ("inner", "Inner"),
        ("n", "long"),
    ]
    struct = CudaStruct("Field", fields, structs=[inner])
    kernel = CudaKernel(SUM, "k", structs=[struct])
    table = np.arange(30, dtype="f4").reshape(3, 10).T  # strided
    values, weights = np.ones(10), np.arange(10.0)
    members = {
        "values": values,
        "table": table,
        "origin": [1, 2, 3],
        "n": 10,
        "inner": {"weights": weights, "shift": 2},
    }
    value: object = members
    if kind is Members:
        value = Members(**members)
    elif kind == "nested":
        value = Members(**members | {"inner": Members(weights=weights, shift=2)})
    elif kind == "arguments":
        value = CudaArguments(Members(**members), 0.5)
    run_on_cpu(kernel, (value,) if kind == "arguments" else (value, 0.5), n_threads=10)
    np.testing.assert_allclose(values, 1 + 0.5 * table[:, 1] + 3 + 2 * weights)


def test_a_field_that_does_not_fit_is_named():
    kernel = CudaKernel("struct P { double* x; int n; };\n" + AXPY.replace("double a,", "P p,").replace("a *", "p.n *"),
        "axpy", structs=[CudaStruct("P", [("x", "double*"), ("n", "int")])])  # fmt: skip
    x, y = arrays()
    for value, error, text in (
        ({"x": x}, ArgumentTypeError, "has no 'n'"),
        ({"x": x, "n": 2.5}, ArgumentTypeError, "field 'n'"),
        ({"x": x.astype("f4"), "n": 2}, ArgumentTypeError, "field 'x'"),
        ({"x": x[::2], "n": 2}, ArgumentTypeError, "with strides"),
        (5, ArgumentTypeError, "a mapping with its fields"),
    ):
        with pytest.raises(error, match="CudaKernel 'axpy': argument 'p'") as caught:
            run_on_cpu(kernel, (value, x, y, 10), n_threads=10)
        assert text in str(caught.value)
    np.testing.assert_array_equal(y, 1)


def test_debug_mode_checks_bounds_and_finite_results_are_checked():
    source = """
#include <cunumpy/index.cuh>
#include <cunumpy/array_view.cuh>
extern "C" __global__ void k(CArray1D<double> y, int beyond) {
    CUNUMPY_THREAD_1D(i, 300);
    y(i + beyond) = i == 200 ? 0.0 / (i - 200) : 1.0;
}"""
    kernel = CudaKernel(source, "k")
    y = np.zeros(310)
    with cuda_debug():
        run_on_cpu(kernel, (y, 0), n_threads=300)
        with pytest.raises(KernelError, match=r"block \(2, 0, 0\), thread \(41, 0, 0\)"):
            run_on_cpu(kernel, (y, 13), n_threads=300)
    kernel.check_finite = True
    with pytest.raises(KernelError, match="holds NaN or infinity"):
        run_on_cpu(kernel, (y, 0), n_threads=300)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (
            "#include <curand_kernel.h>",
            r"has no <curand_kernel\.h>; it has assert\.h, .*cub/\.\.\., .*CUNUMPY_CPU_DEVICE",
        ),
        ("#include <cuda/atomic>", "has no <cuda/atomic>"),
        (
            "__device__ float f(cudaSurfaceObject_t t) { return surf1Dread<float>(t, 0); }",
            "tex3D; no surfaces",
        ),
        ("__device__ float f(cudaTextureObject_t t) { return texCubemap<float>(t, 0, 0, 0); }", "no surfaces"),
        ("__device__ void f(int* x) { k<<<1, 1>>>(x); }", "kernels can't launch kernels"),
    ],
)
def test_what_the_cpu_device_lacks_is_told(line, hint):
    source = 'extern "C" __global__ void k(int* x) { x[0] = 1; }'
    text = f"{line}\n{source}" if line[0] == "#" else f"{source}\n{line}"
    with pytest.raises(CompileError, match=hint):
        run(text, np.zeros(1, np.int32), grid=1, block=1)


def test_a_missing_header_of_the_users_is_no_fault_of_the_cpu_device():
    with pytest.raises(CompileError) as caught:
        run('#include "mine.h"\nextern "C" __global__ void k(int* x) {}', np.zeros(1, np.int32), grid=1, block=1)
    assert "mine.h" in str(caught.value)
    assert "CPU device has" not in str(caught.value)


PLACES = """
__device__ void check_in_a_function(int i) {
    __syncwarp();
    assert(i != 7);  // fibers
}
extern "C" {
__global__ void merged(double* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        assert(i != 7);  // merged
    }
}
__global__ void loops(double* x, int n) {
    x[blockIdx.x] = threadIdx.x;
    if (threadIdx.x == 7)
        __trap();  // loops
}
__global__ void strides(double* x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        x[i] += 1;

        assert(i != 7);  // strides
    }
}
__global__ void split(double* x, int n) {
    __shared__ double t[32];
    t[threadIdx.x] = 0;
    for (int k = 0; k < n; ++k) {
        __syncthreads();
        x[threadIdx.x] = t[31 - threadIdx.x];
        if (k == 3) {
            if (threadIdx.x == 7)
                __trap();  // split
        }
        __syncthreads();
    }
}
__global__ void fibers(double* x, int n) { check_in_a_function(threadIdx.x); }
}
"""


def test_a_kernel_that_ends_itself_says_at_which_line_in_every_mode():
    modes = {}
    names = ("merged", "loops", "strides", "split", "fibers")
    for name, library in compiled(PLACES, names).items():
        modes[name] = library.mode
        trap = library.function.launch([address(np.zeros(32)), np.int32(32)], (1,), (32,), 0)
        line = 1 + next(number for number, line in enumerate(PLACES.split("\n")) if line.endswith(f"// {name}"))
        assert trap is not None
        assert trap.endswith(f"in block (0, 0, 0), thread (7, 0, 0) at kernels.cu:{line}"), trap
    expected = ["merged loops", "loops", "grid-stride loops", "loops between barriers", "fibers"]
    assert modes == dict(zip(names, expected, strict=True))


def test_names_beyond_ascii(tmp_path):
    folder = tmp_path / "größe α"
    folder.mkdir()
    file = folder / "größe_cuda.cu"
    file.write_text('extern "C" __global__ void größe(double* ä) { ä[0] = 2.0; }  // α\n', encoding="utf-8")
    x = np.zeros(1)
    run_on_cpu(CudaKernel.from_file(file), (x,), n_threads=1)
    assert x[0] == 2


def test_complaints_of_the_compiler_are_at_the_users_line(tmp_path):
    file = tmp_path / "broken_cuda.cu"
    file.write_text(
        'extern "C" __global__ void broken(double* x) {\n    int unused = 0;\n    x[0] = undefined_name;\n}\n'
    )
    kernel = CudaKernel.from_file(file)
    with pytest.raises(CompileError, match="undefined_name") as caught:
        run_on_cpu(kernel, (np.zeros(1),), n_threads=1)
    errors = [message for message in caught.value.messages if message.severity == "error"]
    assert [(message.file, message.line) for message in errors] == [(str(file), 3)]
    assert f"{file}:3:" in str(caught.value)
    assert "CPU device" not in str(caught.value)
    file.write_text('extern "C" __global__ void broken(double* x) {}\nextern "C" int broken(double* x);\n')
    with pytest.raises(CompileError, match="broken") as caught:
        run_on_cpu(CudaKernel.from_file(file), (np.zeros(1),), n_threads=1)
    assert {message.line for message in caught.value.messages} <= {1, 2}
    assert "CPU device" not in str(caught.value)
    file.write_text('#include "nowhere.cuh"\nextern "C" __global__ void broken(double* x) {}\n')
    with pytest.raises(CompileError, match=r"nowhere\.cuh") as caught:
        run_on_cpu(CudaKernel.from_file(file), (np.zeros(1),), n_threads=1)
    assert caught.value.messages[0].line == 1


@pytest.mark.parametrize("text", ["no-such-compiler -O1", "false", "unclosed 'quote"])
def test_a_compiler_that_cannot_be_used_is_an_error(monkeypatch, text):
    monkeypatch.setenv("CXX", text)
    with pytest.raises(SettingError, match="CXX="):
        run_on_cpu(axpy(), (2.0, *arrays(), 10), n_threads=10)


def test_the_compiler_may_come_with_arguments(monkeypatch):
    monkeypatch.setenv("CXX", "env EXTRA='a b' g++ -DFROM_CXX=4")
    y = np.zeros(1)
    run('extern "C" __global__ void k(double* y) { *y = FROM_CXX; }', y, n_threads=1)
    assert y[0] == 4


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_either_compiler_will_do(monkeypatch, compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not there")
    monkeypatch.setenv("CXX", compiler)
    x, y = np.linspace(-2.0, 2.0, 100), np.empty(100)
    source = 'extern "C" __global__ void k(const double* x, double* y) { y[threadIdx.x] = exp10(x[threadIdx.x]); }'
    run(source, x, y, grid=1, block=100)
    np.testing.assert_allclose(y, 10**x, rtol=1e-14)


def test_no_compiler_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingPackageError, match="install"):
        run_on_cpu(axpy(), (2.0, *arrays(), 10), n_threads=10)


def test_builds_are_kept_until_something_changes(tmp_path, monkeypatch):
    monkeypatch.setenv("CUNUMPY_EMULATION_CACHE", str(tmp_path / "cache"))
    header, file = tmp_path / "factor.cuh", tmp_path / "scale_cuda.cu"
    header.write_text("#define FACTOR 2.0\n")
    file.write_text(
        '#include "factor.cuh"\nextern "C" __global__ void scale(double* x) { x[threadIdx.x] *= FACTOR; }\n'
    )

    def builds() -> int:
        return len(list((tmp_path / "cache").glob("cpu-scale-*")))

    x = np.ones(4)
    kernel = CudaKernel.from_file(file)
    run_on_cpu(kernel, (x,), n_threads=4, block=4)
    run_on_cpu(CudaKernel.from_file(file), (x,), n_threads=4, block=4)
    np.testing.assert_array_equal(x, 4)
    assert builds() == 1
    header.write_text("#define FACTOR 10.0\n")
    run_on_cpu(CudaKernel.from_file(file), (x,), n_threads=4, block=4)
    np.testing.assert_array_equal(x, 40)
    assert builds() == 2
    kernel._cpu.recompile()
    run_on_cpu(kernel, (x,), n_threads=4, block=4)
    np.testing.assert_array_equal(x, 400)
    assert builds() == 2
    monkeypatch.setenv("CUNUMPY_EMULATION_CACHE", "off")
    run_on_cpu(CudaKernel.from_file(file), (x,), n_threads=4, block=4)
    np.testing.assert_array_equal(x, 4000)
    assert builds() == 2


def test_a_damaged_build_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("CUNUMPY_EMULATION_CACHE", str(tmp_path / "cache"))
    x = np.ones(1)
    run('extern "C" __global__ void k(double* x) { *x += 1; }', x, grid=1, block=1)
    (library,) = (tmp_path / "cache").glob("cpu-k-*/kernel.so")
    library.unlink()  # the process has it loaded
    library.write_bytes(b"nonsense")
    run('extern "C" __global__ void k(double* x) { *x += 1; }', x, grid=1, block=1)
    assert x[0] == 3


def test_without_the_extension_ctypes_does_the_same(monkeypatch, caplog):
    monkeypatch.setattr(launcher, "_extensions", {})
    monkeypatch.setattr(launcher, "_load", lambda cache: (_ for _ in ()).throw(ImportError("no headers")))
    kernel = axpy()
    x, y = arrays(1000)
    for _ in range(2):
        run_on_cpu(kernel, (2.0, x, y, 1000), n_threads=1000)
    np.testing.assert_array_equal(y, 1 + 4 * x)
    assert "python3-dev" in caplog.text


HALVES = """
extern "C" __global__ void k(double* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (int s = 0; s < 400; ++s) x[i] = x[i] * 0.5 + 1;
}"""

PROGRAM = f"""
import os, sys
import numpy as np
from cunumpy.kernels import CudaKernel
from cunumpy.kernels._cpu_device.launch import run_on_cpu
kernel, x = CudaKernel({HALVES!r}, "k"), np.zeros(50000)
def launch():
    x[:] = 0
    run_on_cpu(kernel, (x, x.size), n_threads=x.size)
    assert (x == 2).all()
"""


def run_program(text: str, home: Path, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + text],
        env={**os.environ, "HOME": str(home), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_workers_survive_fork(tmp_path):
    run_program(
        """
launch(); launch()
for _ in range(3):
    child = os.fork()
    if child == 0:
        launch(); launch()
        os._exit(0)
    launch()
    assert os.waitpid(child, 0)[1] == 0
""",
        tmp_path,
        CUNUMPY_NUM_THREADS="3",
    )


def test_launches_from_several_threads(monkeypatch):
    monkeypatch.setenv("CUNUMPY_NUM_THREADS", "2")
    kernel = CudaKernel(
        """extern "C" __global__ void k(double* x, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) for (int s = 0; s < 100; ++s) x[i] = x[i] * 0.5 + 1;
    }""",
        "k",
    )
    failures = []

    def work() -> None:
        for _ in range(20):
            x = np.full(20000, 5.0)
            run_on_cpu(kernel, (x, x.size), n_threads=x.size)
            if not np.allclose(x, 2):
                failures.append(x)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_wrong_number_of_threads_in_the_environment_is_told(monkeypatch):
    monkeypatch.setenv("CUNUMPY_NUM_THREADS", "many")
    x, y = arrays(100_000)
    kernel = axpy()
    with pytest.raises(SettingError, match="CUNUMPY_NUM_THREADS"):
        run_on_cpu(kernel, (2.0, x, y, 100_000), n_threads=100_000)


def test_other_processes_at_once(tmp_path):
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM + "launch()"],
            env={**os.environ, "HOME": str(tmp_path), "CUNUMPY_EMULATION_CACHE": str(tmp_path / "cache")},
            stderr=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    for program in programs:
        _, log = program.communicate(timeout=120)
        assert program.returncode == 0, log.decode()
    assert len(list((tmp_path / "cache").glob("cpu-k-*"))) == 1


@pytest.mark.parametrize("option", ["-DN=3", "-DI", "-Dthreads(x)=(x)", "-DT=double", "-Drun=walk"])
def test_macros_of_options_are_for_the_kernel_alone(option):
    y = np.zeros(2)
    run('extern "C" __global__ void k(double* y) { y[threadIdx.x] = 1; }', y, grid=1, block=2, options=[option])
    assert list(y) == [1, 1]


def test_macros_of_options_reach_the_kernel(tmp_path):
    (tmp_path / "given.h").write_text("#define C (A + 1)\n")
    source = """
#ifdef GONE
#error GONE
#endif
extern "C" __global__ void k(double* y) { y[0] = A; y[1] = B(2); y[2] = C; y[3] = D; }
"""
    y = np.zeros(4)
    options = ["-DA=5", "-D", "B(x)=x*A", "-DGONE", "-UGONE", f"--pre-include={tmp_path / 'given.h'}", "-DD"]
    run(source, y, grid=1, block=1, options=options)
    assert list(y) == [5, 10, 6, 1]


@pytest.mark.parametrize(
    ("options", "before"),
    [(("-DNDEBUG",), ""), (("-D", "NDEBUG=1"), ""), ((), "#define NDEBUG\n#include <cassert>\n")],
    ids=["option", "two words", "source"],
)
def test_assertions_are_left_out_with_ndebug(options, before):
    source = 'extern "C" __global__ void positive(int n) { assert(n > 0); }'
    run_on_cpu(CudaKernel(before + source, "positive", options=options), (-1,), grid=1, block=1)
    with pytest.raises(KernelError, match="assertion `n > 0` failed"):
        run_on_cpu(CudaKernel(source, "positive"), (-1,), grid=1, block=1)
