"""CUDA kernels run by `cunumpy.kernel_testing` on the CPU device."""

from __future__ import annotations

import gc
import shutil
import threading
import types
import weakref
from pathlib import Path

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.arguments import CudaArguments, CudaStruct, CudaStructArguments
from cunumpy.cuda import cuda_debug
from cunumpy.errors import (
    ArgumentError,
    ArgumentRangeError,
    ArgumentTypeError,
    BackendUnavailableError,
    CompileError,
    KernelError,
    MissingCompilerError,
    SettingError,
)
from cunumpy.kernel_testing import (
    compile_for_emulation,
    emulate_cuda_kernel,
    emulated_launches,
    emulation_cache_dir,
    emulation_compiler,
    fake_cupy_session,
    run_in_fake_cupy_subprocess,
)
from cunumpy.kernels import CudaKernel, Kernel

AXPY = """
extern "C" __global__ void axpy(double a, const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"""
VIEWS = """
#include <cunumpy/array_view.cuh>
extern "C" __global__ void copy(Array1D<const double> x, Array1D<double> y, int shift) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < y.shape[0]) y(i) = x(i + shift);
}
"""
MOVE = """
#include <cunumpy/array_view.cuh>
struct Step { double dt; Array1D<double> x; int n; };
extern "C" __global__ void move(Step step, double v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < step.n) step.x(i) += step.dt * v;
}
"""
STEP = CudaStruct("Step", [("dt", "double"), ("x", "Array1D<double>"), ("n", "int")])


class Step(CudaStructArguments):
    struct = STEP

    def __init__(self, dt, x):
        self.dt, self.x, self.n = dt, x, x.size


@pytest.fixture
def axpy():
    return CudaKernel(AXPY, "axpy")


@pytest.fixture
def move():
    return CudaKernel(MOVE, "move", structs=[STEP], n_threads_from=None)


# --- one launch -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("launch", [{"n_threads": 1000}, {"grid": 8, "block": 128}, {"n_threads": 1000, "block": 7}])
def test_a_kernel_writes_into_the_arrays(axpy, launch):
    x, y = np.arange(1000.0), np.ones(1000)
    assert emulate_cuda_kernel(axpy, 0.5, x, y, 1000, **launch) is None
    np.testing.assert_array_equal(y, 1 + 0.5 * np.arange(1000.0))


def test_the_number_of_threads_is_inferred_as_in_a_launch(axpy):
    seen = []
    axpy.n_threads_from = lambda args: seen.append(args) or 3
    args = (1.0, np.ones(5), np.zeros(5), 5)
    emulate_cuda_kernel(axpy, *args, block=1)
    np.testing.assert_array_equal(args[2], [1, 1, 1, 0, 0])
    assert seen == [args]
    axpy.n_threads_from = "auto"  # later changes count
    emulate_cuda_kernel(axpy, *args, block=1)
    np.testing.assert_array_equal(args[2], [2, 2, 2, 1, 1])


@pytest.mark.parametrize(
    ("args", "error", "text"),
    [
        ((1.0, np.ones(3), np.zeros(3, np.float32), 3), TypeError, "'y' .* dtype float64, got .*float32"),
        ((1.0, np.ones(6)[::2], np.zeros(3), 3), TypeError, "'x' .* C-contiguous"),
        ((1.0, np.ones(3), [0.0] * 3, 3), TypeError, "'y' .* NumPy array"),
        ((1.0, np.ones(3), np.zeros(3)), TypeError, "takes 4 arguments"),
        ((1.0, np.ones(3), np.zeros(3), 2**31), OverflowError, "'n' .* from -2147483648"),
        (("1", np.ones(3), np.zeros(3), 3), TypeError, "'a' .* real number"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(axpy, args, error, text):
    with pytest.raises(error, match=text):
        emulate_cuda_kernel(axpy, *args, n_threads=3)


def test_read_only_arrays_are_for_const_pointers_alone(axpy):
    x, y = np.ones(3), np.zeros(3)
    x.flags.writeable = False
    emulate_cuda_kernel(axpy, 1.0, x, y, 3)
    y.flags.writeable = False
    with pytest.raises(ArgumentError, match=r"'y' .* read-only"):
        emulate_cuda_kernel(axpy, 1.0, x, y, 3)
    np.testing.assert_array_equal(y, 1)


@pytest.mark.parametrize(
    ("launch", "error", "text"),
    [
        ({"grid": 1, "block": (1, 1, 128)}, ValueError, "128 along z, a device takes 64"),
        ({"grid": 2**31}, ValueError, "more than the"),
        ({"n_threads": 3, "shared_mem": -1}, ValueError, "not be negative"),
        ({"n_threads": 3, "shared_mem": 2**20}, ValueError, "shared memory"),
        ({"n_threads": 3, "grid": 1}, TypeError, "both"),
    ],
)
def test_launches_that_no_gpu_takes_are_refused(axpy, launch, error, text):
    y = np.zeros(3)
    with pytest.raises(error, match=text):
        emulate_cuda_kernel(axpy, 1.0, np.ones(3), y, 3, **launch)
    np.testing.assert_array_equal(y, 0)


def test_launches_without_threads_do_nothing_but_their_arguments_are_checked(axpy):
    emulate_cuda_kernel(axpy, 1.0, np.ones(0), np.zeros(0), 0)
    with pytest.raises(ArgumentTypeError):
        emulate_cuda_kernel(axpy, 1.0, np.ones(0, int), np.zeros(0), 0)


@pytest.mark.parametrize(
    "make",
    [
        Step,
        lambda dt, x: {"dt": dt, "x": x, "n": x.size},
        lambda dt, x: types.SimpleNamespace(dt=dt, x=x, n=x.size),
    ],
    ids=["arguments", "mapping", "object"],
)
def test_structs_are_given_in_any_form(move, make):
    x = np.zeros(5)
    emulate_cuda_kernel(move, make(0.5, x), 4.0, n_threads=5)
    np.testing.assert_array_equal(x, 2.0)
    emulate_cuda_kernel(move, make(0.5, x), 4.0, n_threads=(5,), block=3)
    np.testing.assert_array_equal(x, 4.0)


def test_a_struct_without_a_field_is_refused(move):
    with pytest.raises(ArgumentTypeError, match="has no 'x'"):
        emulate_cuda_kernel(move, {"dt": 0.5, "n": 3}, 4.0, n_threads=3)


def test_structs_count_for_the_number_of_threads_as_in_a_launch(move):
    x = np.zeros(5)
    move.n_threads_from = lambda args: args[0].n
    emulate_cuda_kernel(move, Step(1.0, x), 1.0)
    np.testing.assert_array_equal(x, 1.0)


def test_a_dropped_kernel_is_freed():
    kernel = CudaKernel(MOVE, "move", structs=[STEP])
    emulate_cuda_kernel(kernel, Step(1.0, np.zeros(3)), 1.0)
    dead = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert dead() is None


def test_bounds_are_checked_unless_the_kernel_says_no():
    x, y = np.arange(4.0), np.zeros(4)
    with pytest.raises(KernelError, match=r"thread \(3"):
        emulate_cuda_kernel(CudaKernel(VIEWS, "copy"), x, y, 1)
    emulate_cuda_kernel(CudaKernel(VIEWS, "copy", debug=False), x[:3], y[:2], 1)
    np.testing.assert_array_equal(y[:2], [1, 2])


def test_check_finite_finds_nan(axpy):
    kernel = CudaKernel(AXPY, "axpy", check_finite=True)
    with pytest.raises(KernelError, match=r"'y' .* NaN"):
        emulate_cuda_kernel(kernel, np.inf, np.zeros(3), np.zeros(3), 3)


def test_traps_are_runtime_errors_and_leave_what_was_written():
    kernel = CudaKernel(
        'extern "C" __global__ void k(int* x) { if (threadIdx.x == 2) __trap(); x[threadIdx.x] = 1; }', "k"
    )
    x = np.zeros(4, np.int32)
    with pytest.raises(RuntimeError, match=r"__trap\(\).*what it wrote before stays"):
        emulate_cuda_kernel(kernel, x, grid=1, block=4)
    np.testing.assert_array_equal(x[:2], 1)


def test_warp_shuffles_and_barriers_run():
    source = """
    extern "C" __global__ void sum(const double* x, double* total) {
        __shared__ double part[2];
        double value = x[threadIdx.x];
        for (int step = 16; step; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
        if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
        __syncthreads();
        if (threadIdx.x == 0) *total = part[0] + part[1];
    }"""
    total = np.zeros(1)
    emulate_cuda_kernel(CudaKernel(source, "sum"), np.arange(64.0), total, grid=1, block=64)
    assert total[0] == 64 * 63 / 2


def test_edited_headers_are_seen_by_the_same_kernel(tmp_path):
    (tmp_path / "k.cu").write_text('#include "h.cuh"\nextern "C" __global__ void k(double* x) { *x = C; }')
    (tmp_path / "h.cuh").write_text("#define C 2.0\n")
    kernel = CudaKernel.from_file(tmp_path / "k.cu", "k")
    x = np.zeros(1)
    emulate_cuda_kernel(kernel, x)
    assert x[0] == 2
    (tmp_path / "h.cuh").write_text("#define C 5.0\n")
    emulate_cuda_kernel(kernel, x)
    assert x[0] == 5


def test_options_and_macros_reach_the_compiler(axpy):
    x = np.zeros(1)
    kernel = CudaKernel('extern "C" __global__ void k(double* x) { *x = A * B; }', "k", options=["-DA=3"])
    for b in (5, 7):
        emulate_cuda_kernel(kernel, x, options=[f"-DB={b}"])
        assert x[0] == 3 * b


@pytest.mark.parametrize("name", ["N", "T", "A", "B", "I", "Row", "warp"])
def test_a_users_macro_meets_no_name_of_ours(name):
    source = f"""
    extern "C" __global__ void k(double* x) {{
        extern __shared__ double part[];
        part[threadIdx.x] = {name};
        __syncthreads();
        *x = part[0];
    }}"""
    x = np.zeros(1)
    emulate_cuda_kernel(CudaKernel(source, "k", options=["-D", f"{name}=3"]), x, grid=1, block=2, shared_mem=16)
    assert x[0] == 3


@pytest.mark.parametrize("in_header", [False, True])
def test_inline_code_of_the_gpu_can_be_replaced_by_a_trap(tmp_path, in_header):
    code = '__device__ inline void stop(int n) { if (n > 3) asm("no.such.instruction;"); }\n'
    (tmp_path / "stop.cuh").write_text(code)
    source = (
        ('#include "stop.cuh"\n' if in_header else code)
        + """
    extern "C" __global__ void k(int* x, int n) {
        extern __shared__ int part[];
        part[threadIdx.x] = n;
        __syncthreads();
        stop(n);
        *x = part[0];
    }"""
    )
    kernel, x = CudaKernel(source, "k", include_dirs=[tmp_path]), np.zeros(1, np.int32)
    launch = {"grid": 1, "block": 1, "shared_mem": 4, "options": ("-Dasm(x)=__trap()",)}
    emulate_cuda_kernel(kernel, x, 2, **launch)
    assert x[0] == 2
    with pytest.raises(RuntimeError, match="__trap"):
        emulate_cuda_kernel(kernel, x, 4, **launch)


def test_products_and_sums_can_be_rounded_one_by_one(axpy):
    rng = np.random.default_rng(1)
    x, y = rng.random(1000), rng.random(1000)
    expected = y + 0.1 * x
    emulate_cuda_kernel(axpy, 0.1, x, y, 1000, options=("-ffp-contract=off",))
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("argument", ["kernel", "options", "word", "compiler"])
def test_wrong_arguments_of_the_functions_are_refused(axpy, argument):
    given = {
        "kernel": (Kernel(None, axpy), {}),
        "options": (axpy, {"options": "-O1"}),
        "word": (axpy, {"options": [1]}),
        "compiler": (axpy, {"compiler": ["g++"]}),
    }
    kernel, options = given[argument]
    with pytest.raises(ArgumentTypeError, match="'options'" if argument == "word" else f"'{argument}'"):
        compile_for_emulation(kernel, **options)


def test_an_unchecked_kernel_is_refused_and_compiles():
    kernel = CudaKernel(AXPY, "axpy", check_signature=False)
    compile_for_emulation(kernel)
    with pytest.raises(ArgumentTypeError, match="check_signature"):
        emulate_cuda_kernel(kernel, 1.0, np.ones(3), np.zeros(3), 3, n_threads=3)


@pytest.mark.parametrize(("ctype", "dtype"), [("float", np.complex64), ("double", np.complex128)])
def test_complex_arrays_and_numbers_are_taken(ctype, dtype):
    source = f"""
    #include <cupy/complex.cuh>
    extern "C" __global__ void scale(complex<{ctype}> a, complex<{ctype}>* z, int n) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) z[i] *= a;
    }}"""
    z = np.array([1, 1j, 2 - 3j], dtype)
    kernel = CudaKernel(source, "scale")
    emulate_cuda_kernel(kernel, 2j, z, 3, n_threads=4)
    np.testing.assert_array_equal(z, [2j, -2, 6 + 4j])
    with pytest.raises(ArgumentTypeError, match="'z'"):
        emulate_cuda_kernel(kernel, 2j, z.real.copy(), 3, n_threads=4)


def test_a_file_with_a_byte_order_mark_and_line_ends_of_windows_runs(tmp_path):
    file = tmp_path / "k.cu"
    file.write_bytes(b'\xef\xbb\xbfextern "C" __global__ void k(double* x) {\r\n    *x = 1.0;\r\n}\r\n')
    x = np.zeros(1)
    emulate_cuda_kernel(CudaKernel.from_file(file, "k"), x, n_threads=1)
    assert x[0] == 1


# --- the compiler -----------------------------------------------------------------------------------------------------


def test_compile_errors_have_file_and_line(tmp_path):
    file = tmp_path / "k.cu"
    file.write_text('extern "C" __global__ void k(double* x) {\n    *x = missing;\n}\n')
    with pytest.raises(RuntimeError, match=rf"{file}:2") as caught:
        compile_for_emulation(CudaKernel.from_file(file, "k"))
    assert isinstance(caught.value, CompileError)
    assert caught.value.messages[0].line == 2


def test_compilers_are_found_as_the_shell_finds_them(axpy, monkeypatch):
    found = shutil.which("c++") or shutil.which("g++")
    monkeypatch.delenv("CXX", raising=False)
    assert emulation_compiler() == found
    monkeypatch.setenv("CXX", f"env {found}")
    assert emulation_compiler() == f"{shutil.which('env')} {found}"
    y = np.zeros(3)
    emulate_cuda_kernel(axpy, 1.0, np.ones(3), y, 3)
    emulate_cuda_kernel(axpy, 1.0, np.ones(3), y, 3, compiler=f"env {found}")
    np.testing.assert_array_equal(y, 2)


@pytest.mark.parametrize("compiler", ["no-such-compiler", "", "'"])
def test_compilers_that_are_not_there_are_refused(axpy, monkeypatch, compiler):
    with pytest.raises(ArgumentError, match="argument 'compiler'"):
        compile_for_emulation(axpy, compiler=compiler)
    if compiler:
        monkeypatch.setenv("CXX", compiler)
        with pytest.raises(SettingError, match="CXX"):
            emulation_compiler()


def test_no_compiler_is_a_clear_error(axpy, monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert emulation_compiler() is None
    with pytest.raises(RuntimeError, match=r"C\+\+ compiler") as caught:
        emulate_cuda_kernel(axpy, 1.0, np.ones(3), np.zeros(3), 3)
    assert isinstance(caught.value, MissingCompilerError)
    assert isinstance(caught.value, ImportError)


@pytest.mark.parametrize("word", ["", "0", "off", " No "])
def test_the_cache_can_be_turned_off(monkeypatch, word):
    monkeypatch.setenv("CUNUMPY_EMULATION_CACHE", word)
    assert emulation_cache_dir() is None


def test_the_folder_of_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("CUNUMPY_EMULATION_CACHE", "~/here")
    assert emulation_cache_dir() == Path("~/here").expanduser()
    monkeypatch.delenv("CUNUMPY_EMULATION_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert emulation_cache_dir() == tmp_path / "cunumpy" / "emulation"


# --- all launches of a block ------------------------------------------------------------------------------------------


def test_calls_run_on_the_cpu_in_the_block_alone(axpy):
    y = np.zeros(3)
    with emulated_launches():
        axpy(1.0, np.ones(3), y, 3)
        axpy(CudaArguments(1.0, np.ones(3)), y, 3, n_threads=3, stream=None)
    np.testing.assert_array_equal(y, 2)
    with pytest.raises((BackendUnavailableError, ArgumentTypeError)):
        axpy(1.0, np.ones(3), y, 3)


def test_compiling_in_the_block(axpy):
    with emulated_launches():
        assert not axpy.is_compiled
        assert axpy.compile() is None
        assert axpy.is_compiled
        assert axpy.recompile() is None
        bad = CudaKernel('extern "C" __global__ void k(double* x) { *x = missing; }', "k")
        with pytest.raises(CompileError):
            bad.compile()
    assert not axpy.is_compiled


def test_blocks_end_with_errors_and_nest(axpy):
    with pytest.raises(ZeroDivisionError), emulated_launches():
        raise ZeroDivisionError
    with emulated_launches():
        with emulated_launches(strict=True), pytest.raises(ArgumentTypeError, match="host array"):
            axpy(1.0, np.ones(3), np.zeros(3), 3)
        axpy(1.0, np.ones(3), np.zeros(3), 3)
    assert not axpy.is_compiled


def test_other_threads_launch_as_before(axpy):
    found = []

    def launch():
        try:
            axpy(1.0, np.ones(3), np.zeros(3), 3)
        except Exception as error:
            found.append(error)

    with emulated_launches():
        thread = threading.Thread(target=launch)
        thread.start()
        thread.join()
    assert isinstance(found[0], (BackendUnavailableError, ArgumentTypeError))


def test_a_subclass_keeps_its_own_call(axpy):
    class Doubled(CudaKernel):
        def __call__(self, *args, **launch):
            super().__call__(*args, **launch)
            super().__call__(*args, **launch)

    y = np.zeros(3)
    with emulated_launches():
        Doubled(AXPY, "axpy")(1.0, np.ones(3), y, 3)
    np.testing.assert_array_equal(y, 2)


def test_debug_mode_changes_nothing(axpy):
    y = np.zeros(3)
    with emulated_launches(), cuda_debug(True):
        axpy(1.0, np.ones(3), y, 3)
    np.testing.assert_array_equal(y, 1)


def test_one_kernel_is_compiled_once_by_many_threads(tmp_path, monkeypatch):
    monkeypatch.setenv("CUNUMPY_EMULATION_CACHE", str(tmp_path))
    kernel = CudaKernel(AXPY.replace("+=", "-="), "axpy")
    results = [np.zeros(4) for _ in range(4)]
    threads = [
        threading.Thread(target=emulate_cuda_kernel, args=(kernel, 1.0, np.ones(4), result, 4)) for result in results
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((result == -1).all() for result in results)
    assert len(list(tmp_path.rglob("kernel.so"))) == 1


# --- on the stand-in --------------------------------------------------------------------------------------------------


def test_a_session_needs_the_stand_in():
    with pytest.raises(RuntimeError, match="CUNUMPY_FAKE_CUPY=1"), fake_cupy_session():
        pass


ON_THE_STAND_IN = f"""
import types
import numpy as np
import cunumpy as xp
import cupy
from cunumpy.arguments import CudaStruct, CudaStructArguments
from cunumpy.errors import ArgumentTypeError
from cunumpy.kernel_testing import emulate_cuda_kernel, emulated_launches, fake_cupy_session
from cunumpy.kernels import CudaKernel
axpy = CudaKernel({AXPY!r}, "axpy")
STEP = CudaStruct("Step", [("dt", "double"), ("x", "Array1D<double>"), ("n", "int")])
move = CudaKernel({MOVE!r}, "move", structs=[STEP])

def refused(function, *args, **options):
    try:
        function(*args, **options)
    except ArgumentTypeError as error:
        return str(error)
    raise AssertionError("not refused")

assert xp.get_backend() == "numpy"
with fake_cupy_session():
    assert xp.get_backend() == "cupy"
    x, y = xp.ones(5), xp.zeros(5)
    axpy(2.0, x, y, 5)
    axpy(2.0, x, y, 5, stream=cupy.cuda.Stream(non_blocking=True))
    assert y.get().tolist() == [4] * 5
    assert "host array" in refused(axpy, 2.0, np.ones(5), y, 5)
    assert "stream" in refused(axpy, 2.0, x, y, 5, stream=3)
    step = STEP(dt=0.5, x=y, n=5)
    move(step, 2.0, n_threads=5)
    assert y.get().tolist() == [5] * 5
    prepared = axpy.prepare(1.0, x, y, 5)
    prepared()
    prepared.set(a=3.0)
    prepared()
    assert y.get().tolist() == [9] * 5
    unchecked = CudaKernel({AXPY!r}, "axpy", check_signature=False)
    unchecked(1.0, x, y, np.int32(5), n_threads=5)
    assert y.get().tolist() == [10] * 5
    assert "8 bytes, the kernel's parameter 4" in refused(unchecked, 1.0, x, y, 5, n_threads=5)
    assert "takes 4 arguments" in refused(unchecked, 1.0, x, y, n_threads=5)
assert xp.get_backend() == "numpy"
emulate_cuda_kernel(axpy, 1.0, x, y, 5)
emulate_cuda_kernel(axpy, 1.0, np.ones(5), y, 5)
for form in (dict, types.SimpleNamespace):
    emulate_cuda_kernel(move, form(dt=1.0, x=y, n=5), 1.0, n_threads=5)
assert y.get().tolist() == [14] * 5
"""


def test_the_stand_ins_arrays_are_taken_as_a_gpus(build_folder):
    run_in_fake_cupy_subprocess(ON_THE_STAND_IN, env={"CUNUMPY_EMULATION_CACHE": str(build_folder)})


def test_the_stand_in_is_installed_without_loading_the_cpu_device():
    done = run_in_fake_cupy_subprocess(
        "import sys, cunumpy.kernel_testing; print([n for n in sys.modules if '_cpu_device' in n or n == 'pytest'])"
    )
    assert done.stdout == "[]\n"


def test_names_are_the_contracts():
    assert len(xp.kernel_testing.__all__) == 27
    assert xp.kernel_testing.__all__ == sorted(xp.kernel_testing.__all__)
    for name in [*xp.kernel_testing.__all__, "SKIP_REASON", "TEST_ARGS_SETTINGS", "MPI_LAUNCHER_PREFIXES"]:
        assert getattr(xp.kernel_testing, name) is not None
    with pytest.raises(AttributeError, match="no_such"):
        _ = xp.kernel_testing.no_such


def test_numbers_beyond_the_parameter_are_range_errors(axpy):
    with pytest.raises(ArgumentRangeError):
        emulate_cuda_kernel(axpy, 1.0, np.ones(3), np.zeros(3), -(2**31) - 1)


def test_barriers_that_not_all_threads_reach_can_be_found():
    source = """
    extern "C" __global__ void k(int* x, int n) {
        if (threadIdx.x < n) {
            __syncthreads();
            x[threadIdx.x] = 1;
        }
    }"""
    kernel, x = CudaKernel(source, "k"), np.zeros(64, np.int32)
    text = r"a barrier that some threads do not reach .*: threads 0-39 wait at __syncthreads .*; threads 40-63 have"
    with pytest.raises(KernelError, match=text):
        emulate_cuda_kernel(kernel, x, 40, grid=1, block=64, options=["-DCUNUMPY_CPU_CHECK"])
