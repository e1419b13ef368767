"""CUDA kernels as the implementation ``"cpu"`` of a `Kernel`."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.arguments import CudaStruct
from cunumpy.errors import ArgumentTypeError, CompileError, CuNumpyWarning, KernelError, MissingKernelError
from cunumpy.kernels import CompiledHostKernel, CudaKernel, HostImplementations, Kernel, PyccelKernel
from kernel_folders import AXPY, AXPY_CUDA

GRID = """extern "C" __global__ void shape(int* out) {
    extern __shared__ int room[];
    room[threadIdx.x] = 1;
    if (threadIdx.x == 0 && blockIdx.x == 0) { out[0] = gridDim.x; out[1] = blockDim.x; out[2] = room[0]; }
}"""


@pytest.fixture(autouse=True)
def unset():
    yield
    xp.kernels.set_host_kernel_implementation(None)


def axpy(a: Any, x: Any, y: Any, n: int) -> str:
    y += a * x
    return "host"


def cuda(**options: Any) -> CudaKernel:
    return CudaKernel(AXPY_CUDA, "axpy", **options)


def computed(kernel: Kernel, **launch: Any) -> np.ndarray:
    x, y = np.arange(300.0), np.ones(300)
    assert kernel(2.0, x, y, 300, **launch) is None
    return y


EXPECTED = 1 + 2 * np.arange(300.0)


@pytest.mark.parametrize("dispatch", ["backend", "arrays"])
def test_a_kernel_without_a_host_function_runs(dispatch):
    kernel = Kernel(None, cuda(), dispatch=dispatch)
    assert (kernel.name, kernel.implementations, kernel.selected()) == ("axpy", ("cpu", "cuda"), "cpu")
    np.testing.assert_array_equal(computed(kernel), EXPECTED)
    np.testing.assert_array_equal(computed(kernel, n_threads=300), EXPECTED)
    np.testing.assert_array_equal(computed(kernel, grid=3, block=100, shared_mem=16, stream=None), EXPECTED)
    assert kernel.get_kernel() is kernel.host_kernel


@pytest.mark.parametrize("dispatch", ["backend", "arrays"])
def test_the_launch_reaches_it(dispatch):
    kernel, out = Kernel(None, CudaKernel(GRID, "shape"), dispatch=dispatch), np.zeros(3, np.int32)
    kernel(out, grid=5, block=64, shared_mem=256)
    assert list(out) == [5, 64, 1]
    kernel(out=out, n_threads=300, shared_mem=512)
    assert list(out) == [3, 128, 1]


def test_parameters_by_name():
    kernel, x, y = Kernel(None, cuda()), np.ones(2), np.zeros(2)
    kernel(3.0, x, n=2, y=y)
    assert list(y) == [3, 3]
    for call, text in (
        (lambda: kernel(3.0, x, y, m=2), r"kernel 'axpy': has no parameter 'm'; it has a, x, y, n\."),
        (lambda: kernel(3.0, x, y, y=y), r"kernel 'axpy': got 'y' twice\."),
        (lambda: kernel(3.0, x, y=y), r"kernel 'axpy': got no 'n'\."),
        (lambda: kernel(3.0, x, y, 2, n_threads=-1), r"CudaKernel 'axpy': argument 'n_threads' must be not negative"),
    ):
        with pytest.raises(ValueError if "n_threads" in text else TypeError, match=text):
            call()
    assert list(y) == [3, 3]


def test_what_is_asked_for_runs():
    kernel = Kernel(axpy, cuda())
    assert kernel.implementations == ("host", "cpu", "cuda")
    x, y = np.ones(200), np.zeros(200)
    assert kernel.selected() == "host"
    assert kernel(1.0, x, y, 200, n_threads=1) == "host"
    for name in ("numpy", "python"):  # a single function is what it is
        with xp.kernels.use_host_kernel_implementation(name):
            assert (kernel.selected(), kernel(1.0, x, y, 200)) == ("host", "host")
    with xp.kernels.use_host_kernel_implementation("cpu"):
        assert kernel.selected() == "cpu"
        assert kernel.get_kernel().kernel is not axpy
        assert kernel(1.0, x, y, 200, n_threads=1) is None
        assert kernel(1.0, x, y, 200) is None
        assert Kernel(axpy)(1.0, x, y, 200) == "host"
        other: list[Any] = []
        thread = threading.Thread(target=lambda: other.append(kernel(1.0, x, y, 200)))
        thread.start()
        thread.join()
        assert other == ["host"]
    assert (y[0], y[-1]) == (7, 6)


@pytest.mark.parametrize("wrap", [PyccelKernel, lambda function: function])
def test_other_host_kernels_and_the_request(wrap):
    compiled = CompiledHostKernel("operator", "add", lambda module: module)
    kernel = Kernel(wrap(compiled), cuda())
    assert kernel(1, 2) == 3
    with xp.kernels.use_host_kernel_implementation("cpu"):
        np.testing.assert_array_equal(computed(kernel), EXPECTED)
    assert kernel(1, 2) == 3


def test_its_place_in_the_order():
    ran: list[str] = []

    def noting(name: str) -> Any:
        return lambda: lambda *args: ran.append(name)

    given = HostImplementations("axpy", {"python": noting("python"), "numpy": noting("numpy")})
    kernel = Kernel(given, cuda())
    assert kernel.implementations == ("numpy", "cpu", "python", "cuda")
    assert given.names == ("numpy", "python")
    computed(kernel)
    assert (kernel.selected(), ran) == ("numpy", ["numpy"])
    with xp.kernels.use_host_kernel_implementation("cpu"):
        np.testing.assert_array_equal(computed(kernel), EXPECTED)
    before_python = Kernel(HostImplementations("axpy", {"python": noting("python")}), cuda())
    np.testing.assert_array_equal(computed(before_python), EXPECTED)
    assert (before_python.selected(), ran) == ("cpu", ["numpy"])
    own = Kernel(HostImplementations("axpy", {"python": noting("python"), "cpu": noting("own")}), cuda())
    computed(own)
    assert ran == ["numpy", "own"]
    with xp.kernels.use_host_kernel_implementation("numba"), pytest.raises(MissingKernelError, match="it has 'numpy'"):
        computed(kernel)


def test_folders(package_of):
    kernel = Kernel.from_folder(package_of({"axpy/axpy_kernels.py": AXPY, "axpy/axpy_cuda.cu": AXPY_CUDA}) + ".axpy")
    assert kernel.selected() == "cpu"
    np.testing.assert_array_equal(computed(kernel), EXPECTED)
    assert kernel.host_parameters() == ["a", "x", "y", "n"]
    kernel.check_signature()


@pytest.fixture
def package_of(tmp_path, monkeypatch):
    def make(files: dict[str, str], package: str = "kernels_for_the_cpu") -> str:
        for name, text in files.items():
            path = tmp_path / package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        return package

    return make


def test_without_a_compiler(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    kernel = Kernel(None, cuda())
    assert kernel.implementations == ("cuda",)
    for call in (kernel.selected, lambda: computed(kernel)):
        with pytest.raises(MissingKernelError, match=r"'axpy': none of its impl.* only with a C\+\+ compiler.*install"):
            call()
    catalog = xp.kernels.KernelCatalog()
    catalog.register(kernel)
    assert catalog.build_all() == {}
    plain = Kernel(HostImplementations("axpy", {"python": lambda: axpy}), cuda())
    assert plain.implementations == ("python", "cuda")
    with pytest.warns(CuNumpyWarning, match=r"plain Python.*C\+\+ compiler.*install"):
        assert plain(1.0, np.ones(1), np.ones(1), 1) == "host"
    with xp.kernels.use_host_kernel_implementation("cpu"), pytest.raises(MissingKernelError, match="install one"):
        Kernel(axpy, cuda())(1.0, np.ones(1), np.ones(1), 1)
    monkeypatch.setenv("CXX", "'")
    assert kernel.implementations == ("cuda",)


def test_a_source_that_does_not_compile_is_an_error_and_no_reason_for_python():
    source = 'extern "C" __global__ void axpy(double* y) { y[0] = missing; }'
    kernel = Kernel(HostImplementations("axpy", {"python": lambda: axpy}), CudaKernel(source, "axpy"))
    for _ in range(2):
        with pytest.raises(CompileError, match=r"axpy.cu:1:.*missing"):
            kernel(np.ones(1))


GENERIC = """from typing import TypeVar

T = TypeVar("T", float, complex)


def axpy(a: "T", x: "T[:]", y: "T[:]", n: int):
    y[:n] += a * x[:n]
    return "python"
"""


def test_types_that_only_the_host_function_declares_are_for_python(package_of):
    files = {"axpy/axpy_kernels.py": GENERIC, "axpy/axpy_cuda.cu": AXPY_CUDA}
    kernel = Kernel.from_folder(package_of(files, "generic_kernels_for_the_cpu") + ".axpy")
    kernel.check_signature()
    np.testing.assert_array_equal(computed(kernel), EXPECTED)
    x, y = np.arange(3) + 1j, np.zeros(3, complex)
    with pytest.warns(CuNumpyWarning, match=r"'axpy': runs as plain Python.*'x' is of complex128: its CUDA .* float64"):
        assert kernel(2.0, x, y, 3) == "python"
    assert kernel(2j, x, y=y, n=3, n_threads=3) == "python"  # the first call is warned of
    np.testing.assert_array_equal(y, (2 + 2j) * x)
    np.testing.assert_array_equal(computed(kernel), EXPECTED)
    with pytest.raises(ArgumentTypeError, match=r"'x' \(const double\*\) must be .* of dtype float64.*complex64"):
        kernel(2.0, x.astype("c8"), y, 3)  # neither declares it
    with xp.kernels.use_host_kernel_implementation("cpu"), pytest.raises(ArgumentTypeError, match=r"array\.real"):
        kernel(2.0, x, y, 3)
    with xp.kernels.use_host_kernel_implementation("python"):
        assert kernel(2.0, np.ones(3), np.zeros(3), 3) == "python"
    np.testing.assert_array_equal(y, (2 + 2j) * x)


def test_structs_and_argument_objects():
    struct = CudaStruct("Step", [("x", "double*"), ("n", "int")])
    source = f"""{struct.declaration}
    extern "C" __global__ void twice(Step step) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < step.n) step.x[i] *= 2;
    }}"""

    class Step:
        def __init__(self, x: Any) -> None:
            self.x, self.n = x, len(x)

    step = Step(np.ones(5))
    kernel = Kernel(None, CudaKernel(source, "twice", structs=[struct]))
    kernel(step, n_threads=5)
    kernel(step=step, n_threads=1)
    assert list(step.x) == [4, 4, 4, 4, 4]  # a block has 128 threads


@pytest.mark.parametrize("dispatch", ["backend", "arrays"])
def test_argument_objects_with_numpy_arrays_are_on_the_host(dispatch):
    class Two:
        def __init__(self, x: Any, y: Any) -> None:
            self.x, self.y = x, y

        def __cuda_args__(self) -> tuple[Any, ...]:
            return (self.x, self.y)

    kernel, y = Kernel(None, cuda(), dispatch=dispatch), np.zeros(3)
    kernel(2.0, Two(np.ones(3), y), 3)
    kernel(2.0, Two(np.ones(3), y), n=2)
    assert list(y) == [4, 4, 2]


def test_it_pickles_and_a_loader_too():
    kernel = pickle.loads(pickle.dumps(Kernel(None, cuda())))
    np.testing.assert_array_equal(computed(kernel), EXPECTED)
    again = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(computed(again), EXPECTED)
    with xp.kernels.use_host_kernel_implementation("cpu"):
        np.testing.assert_array_equal(computed(pickle.loads(pickle.dumps(Kernel(axpy, cuda())))), EXPECTED)


def test_the_checks_are_those_of_a_launch():
    kernel = Kernel(None, cuda())
    with pytest.raises(ArgumentTypeError, match=r"argument 'x'.*float64"):
        kernel(2.0, np.ones(3, np.float32), np.ones(3), 3)
    with pytest.raises(MissingKernelError, match=r"make the CUDA kernel without check_signature=False"):
        Kernel(None, cuda(check_signature=False))(2.0, np.ones(3), np.ones(3), 3)


# --- prepared launches ------------------------------------------------------------------------------------------------


def test_a_prepared_launch_runs_again_and_again():
    kernel, x, y = cuda(), np.arange(300.0), np.ones(300)
    launch = kernel.prepare(2.0, x, y, 300)
    assert (launch.kernel, launch.grid, launch.block) == (kernel, (3,), (128,))
    assert repr(launch) == "<PreparedLaunch of axpy grid=(3,) block=(128,) on the CPU>"
    launch()
    launch()
    np.testing.assert_array_equal(y, 1 + 4 * x)
    x[:] = 0  # it reads what the arrays hold now
    launch()
    np.testing.assert_array_equal(y, 1 + 4 * np.arange(300.0))
    with pytest.raises(TypeError, match="can't be pickled"):
        pickle.dumps(launch)


def test_set_of_a_prepared_launch():
    kernel, x, y = cuda(), np.ones(2000), np.zeros(2000)
    launch = kernel.prepare(2.0, x, y, 100)
    launch()
    launch.set(a=3.0)
    launch()
    assert (y[99], y[100], launch.args[0]) == (5, 0, 3.0)
    longer = np.zeros(3000)
    for values, text in (({"y": np.zeros(3, np.float32)}, "argument 'y'"), ({"z": 1}, "no parameter 'z'")):
        with pytest.raises(ArgumentTypeError, match=text):
            launch.set(a=0.0, **values)
    launch.set(x=np.ones(3000), y=longer, n=3000)
    assert launch.grid == (24,)
    launch()
    assert (longer.sum(), y.sum()) == (9000, 500)
    fixed = kernel.prepare(1.0, x, y, 2000, grid=1, block=32, shared_mem=8)
    fixed.set(x=np.full(2000, 2.0))
    fixed()
    assert list(y[[0, 31, 32]]) == [7, 7, 5]


def test_a_prepared_launch_keeps_its_arrays():
    kernel = cuda()
    y = np.zeros(100_000)
    launch = kernel.prepare(1.0, np.ones(100_000), y, 100_000)
    launch.set(x=np.full(100_000, 2.0))
    others = [np.full(100_000, 5.0) for _ in range(3)]
    launch()
    assert len(others) == 3
    np.testing.assert_array_equal(y, 2)


def test_a_prepared_launch_keeps_the_arrays_of_structs():
    inner = CudaStruct("Inner", [("x", "const double*")])
    outer = CudaStruct("Outer", [("inner", "Inner"), ("n", "int")], structs=[inner])
    source = f"""{inner.declaration}{outer.declaration}
    extern "C" __global__ void add(Outer o, double* y) {{
        for (int i = threadIdx.x; i < o.n; i += blockDim.x) y[i] += o.inner.x[i];
    }}"""
    kernel = CudaKernel(source, "add", structs=[inner, outer])
    y, given = np.zeros(100_000), {"inner": {"x": np.ones(100_000)}, "n": 100_000}
    launch = kernel.prepare(given, y, grid=1)
    given["inner"]["x"] = np.full(100_000, 3.0)
    others = [np.full(100_000, 5.0) for _ in range(3)]
    launch()
    assert len(others) == 3
    np.testing.assert_array_equal(y, 1)
    launch.set(o=given)
    launch()
    np.testing.assert_array_equal(y, 4)


def test_prepared_launches_check_as_others(monkeypatch):
    kernel, x = cuda(), np.ones(3)
    with pytest.raises(ArgumentTypeError, match=r"argument 'y'.*float64"):
        kernel.prepare(1.0, x, np.ones(3, np.int32), 3)
    with pytest.raises(ValueError, match="more than the"):
        kernel.prepare(1.0, x, np.ones(3), 3, shared_mem=2**20)()
    kernel.prepare(1.0, x[:0], np.ones(0), 0)()
    kernel.check_finite = True
    launch = kernel.prepare(np.inf, x, np.ones(3), 3)
    with pytest.raises(KernelError, match=r"argument 'y' .* holds NaN or infinity"):
        launch()
    trap = CudaKernel('extern "C" __global__ void k(int* x) { if (x[0]) __trap(); x[1] += 1; }', "k", block_size=1)
    ends = np.array([0, 0], np.int32)
    launch = trap.prepare(ends, n_threads=1)
    launch()
    ends[0] = 1
    with pytest.raises(KernelError, match=r"CudaKernel 'k' \(grid \(1,\), block \(1,\)\)"):
        launch()
    with xp.cuda.cuda_debug(), pytest.raises(KernelError, match="CudaKernel 'k'"):
        launch()
    assert list(ends) == [1, 1]


def test_a_launch_itself_takes_no_numpy_arrays():
    with pytest.raises(ArgumentTypeError, match="argument 'x'"):
        cuda()(2.0, np.ones(3), np.ones(3), 3)
