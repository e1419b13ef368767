"""Host kernels compared with their CUDA versions by `cunumpy.kernel_testing`, on a machine without a GPU."""

from __future__ import annotations

import dataclasses
import sys
import types

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.errors import ArgumentError, ArgumentTypeError, MissingCompilerError
from cunumpy.kernel_testing import (
    assert_kernels_agree,
    check_parity,
    emulated_launches,
    parity_cases,
    run_in_fake_cupy_subprocess,
)
from cunumpy.kernels import CudaKernel, Kernel, KernelCatalog, PyccelKernel, use_host_kernel_implementation
from kernel_folders import AXPY as AXPY_PYTHON
from kernel_folders import AXPY_CUDA, AXPY_NUMPY, forget_packages, write_package

AXPY = """
extern "C" __global__ void axpy(double a, const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"""


def axpy(a, x, y, n):
    y[:n] += a * x[:n]


def make_args(backend, seed, size=50):
    rng = np.random.default_rng(seed)
    return 0.5, xp.asarray(rng.random(size)), xp.asarray(rng.random(size)), size


def kernel_of(source=AXPY, host=axpy, *, outputs=None, **options):
    return Kernel(PyccelKernel(host, outputs=outputs), CudaKernel(source, "axpy", **options))


@pytest.fixture(autouse=True)
def _no_gpu_is_required(monkeypatch):
    monkeypatch.delenv("CUNUMPY_REQUIRE_CUDA", raising=False)


def test_equal_kernels_agree_without_a_gpu():
    found = assert_kernels_agree(kernel_of(), make_args)
    _, x, y, n = make_args("numpy", 0)
    axpy(0.5, x, y, n)
    assert list(found) == ["argument 1", "argument 2"]
    np.testing.assert_array_equal(found["argument 1"], x)
    np.testing.assert_array_equal(found["argument 2"], y)


@pytest.mark.parametrize("emulate", ["auto", True])
@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ("y[i] += a * x[i] + 1e-3", r"argument 2 \(y\) differs .*CPU device: 50 of 50 elements, .* by 0.001.* units"),
        ("if (i != n - 1) y[i] += a * x[i]", r"1 of 50 elements, the most at \(49,\)"),
        ('y[i] = nan("")', r"argument 2 \(y\) has 50 NaN on the CPU device"),
        ("y[i] = 1.0 / 0.0", "by inf"),
    ],
)
def test_a_wrong_kernel_is_found(wrong, text, emulate):
    kernel = kernel_of(AXPY.replace("y[i] += a * x[i]", wrong))
    with pytest.raises(AssertionError, match=f"kernel 'axpy': .*{text}.*seed 0"):
        assert_kernels_agree(kernel, make_args, emulate=emulate)


def test_tolerances_are_per_output():
    kernel = kernel_of(AXPY.replace("a * x[i]", "a * x[i] + 1e-3"))
    assert_kernels_agree(kernel, make_args, atol=1e-2)
    assert_kernels_agree(kernel, make_args, atol={"y": 1e-2})
    with pytest.raises(AssertionError, match="argument 2"):
        assert_kernels_agree(kernel, make_args, atol={"x": 1e-2})
    with pytest.raises(KeyError, match="'z'"):
        assert_kernels_agree(kernel, make_args, rtol={"z": 1e-2})
    for bad in (-1, True, float("nan"), float("inf"), "1"):
        with pytest.raises(ArgumentError, match="'rtol'"):
            assert_kernels_agree(kernel, make_args, rtol=bad)


def test_nan_on_both_sides_is_refused_unless_it_is_meant():
    def with_nan(backend, seed):
        a, x, y, n = make_args(backend, seed)
        x[3] = np.nan
        return a, x, y, n

    with pytest.raises(AssertionError, match=r"NaN on the host, the first at \(3,\)"):
        assert_kernels_agree(kernel_of(), with_nan)
    assert_kernels_agree(kernel_of(), with_nan, equal_nan=True)
    one_sided = kernel_of(AXPY.replace("x[i];", 'x[i] + (i == 4 ? nan("") : 0.0);'))
    with pytest.raises(AssertionError, match=r"1 of 50 elements, the most at \(4,\)"):
        assert_kernels_agree(one_sided, with_nan, equal_nan=True)


def test_changed_inputs_are_found_on_both_sides():
    def spoils(a, x, y, n):
        y += a * x
        x[0] = 7

    with pytest.raises(AssertionError, match="argument 1, which is no output, was changed on the host"):
        assert_kernels_agree(kernel_of(host=spoils), make_args, outputs=["y"])
    source = AXPY.replace("const double* x", "double* x").replace("y[i] +=", "y[i] += 0 * (x[i] = x[i]) +")
    assert_kernels_agree(kernel_of(source), make_args, outputs=["y"])
    source = source.replace("x[i] = x[i]", "x[i] = 7")
    with pytest.raises(AssertionError, match="argument 1, which is no output, was changed on the CPU device"):
        assert_kernels_agree(kernel_of(source), make_args, outputs=["y"], rtol=100)
    assert_kernels_agree(kernel_of(source), make_args, outputs=["y"], rtol=100, check_inputs=False)


@pytest.mark.parametrize("outputs", [["y"], [2], [-2], ("y", 2)])
def test_outputs_are_chosen(outputs):
    assert list(assert_kernels_agree(kernel_of(), make_args, outputs=outputs)) == ["argument 2"]


def test_the_host_kernels_outputs_are_the_default():
    assert list(assert_kernels_agree(kernel_of(outputs=["y"]), make_args)) == ["argument 2"]


@pytest.mark.parametrize(
    ("outputs", "error"),
    [
        ([True], TypeError),
        ([1.5], TypeError),
        ("y", TypeError),
        (["z"], KeyError),
        ([4], IndexError),
        ([-5], IndexError),
    ],
)
def test_outputs_that_are_not_there_are_refused(outputs, error):
    with pytest.raises(error, match="assert_kernels_agree"):
        assert_kernels_agree(kernel_of(), make_args, outputs=outputs)


def test_vacuous_success_is_refused():
    with pytest.raises(ArgumentError, match="nothing would be compared"):
        assert_kernels_agree(kernel_of(), make_args, outputs=())
    with pytest.raises(AssertionError, match="nothing was compared"):
        assert_kernels_agree(kernel_of(), lambda backend, seed: make_args(backend, seed, 0))
    with pytest.raises(AssertionError, match="nothing was compared"):
        assert_kernels_agree(kernel_of(), make_args, outputs=["n"], check_inputs=False)
    for empty in ({"seeds": ()}, {"sizes": []}):
        with pytest.raises(ArgumentError, match="nothing would run"):
            assert_kernels_agree(kernel_of(), make_args, **empty)


def test_all_sizes_and_seeds_run():
    seen = []

    def noted(backend, seed, size):
        seen.append((size, seed))
        return make_args(backend, seed, size)

    assert_kernels_agree(kernel_of(block_size=32), noted, sizes="edges", seeds=[3, 5])
    assert set(seen) == {(size, seed) for size in (0, 1, 31, 32, 33, 65) for seed in (3, 5)}
    assert_kernels_agree(kernel_of(), noted, sizes=[10])
    last = kernel_of(AXPY.replace("i < n", "i < n && n != 33"), block_size=32)
    with pytest.raises(AssertionError, match="seed 0, size 33"):
        assert_kernels_agree(last, make_args, sizes="edges")
    for bad in (3, "all"):
        with pytest.raises(ArgumentError, match="'sizes'"):
            assert_kernels_agree(last, make_args, sizes=bad)


def test_calls_are_repeated_and_sized():
    _, x, y, _ = make_args("numpy", 0)
    found = assert_kernels_agree(
        kernel_of(n_threads_from=None), make_args, n_calls=3, n_threads=lambda args: args[3], block=16
    )
    np.testing.assert_allclose(found["argument 2"], y + 1.5 * x)


def test_shapes_dtypes_and_numbers_of_arrays_are_compared():
    def shorter(backend, seed):
        calls.append(backend)
        size = 50 if len(calls) == 1 else 40
        return make_args(backend, seed, size)

    calls = []
    with pytest.raises(AssertionError, match=r"shape \(50,\) on the host, \(40,\) on the CPU device"):
        assert_kernels_agree(kernel_of(), shorter)

    def wider(backend, seed):
        calls.append(backend)
        a, x, y, n = make_args(backend, seed)
        return (a, x.astype(np.float32), y.astype(np.float32), n) if len(calls) == 1 else (a, x, y, n)

    calls = []
    with pytest.raises(AssertionError, match="dtype float32 on the host, float64 on the CPU device"):
        assert_kernels_agree(kernel_of(), wider)


def test_what_a_host_kernel_returns_is_not_lost():
    def returns(a, x, y, n):
        return y + a * x

    with pytest.raises(AssertionError, match=r"returns numpy\.ndarray"):
        assert_kernels_agree(kernel_of(AXPY.replace("i < n", "false"), returns), make_args)

    def returns_argument(a, x, y, n):
        axpy(a, x, y, n)
        return y

    assert_kernels_agree(kernel_of(host=returns_argument), make_args)


def test_integers_bools_and_structured_arrays():
    source = """
    struct Pair { int count; double value; };
    extern "C" __global__ void axpy(Pair* pairs, unsigned long long* big, bool* flags) {
        pairs[threadIdx.x].count += 1;
        pairs[threadIdx.x].value *= 2;
        big[threadIdx.x] += EXTRA;
        flags[threadIdx.x] = !flags[threadIdx.x];
    }"""
    pair = xp.arguments.CudaStruct("Pair", [("count", "int"), ("value", "double")])

    def host(pairs, big, flags):
        pairs["count"] += 1
        pairs["value"] *= 2
        big += np.uint64(1)
        flags[:] = ~flags

    def args(backend, seed):
        return np.ones(3, pair.dtype), np.full(3, 2**63, np.uint64), np.array([True, False, True])

    for extra, value, tolerance in ((1, 2, {}), (2, 2, {"rtol": 0.0}), (1, 3, {})):
        text = source.replace("EXTRA", str(extra)).replace("value *= 2", f"value *= {value}")
        kernel = kernel_of(text, host, structs=[pair])
        if (extra, value) == (1, 2):
            found = assert_kernels_agree(kernel, args, grid=1, block=3, **tolerance)
            assert found["argument 1"].tolist() == [2**63 + 1] * 3
            continue
        where = "argument 1" if extra == 2 else "argument 0.*field 'value'"
        with pytest.raises(AssertionError, match=where):
            assert_kernels_agree(kernel, args, grid=1, block=3, **tolerance)


@dataclasses.dataclass
class Fields:
    x: np.ndarray
    y: np.ndarray


def test_arrays_in_objects_are_compared_and_chosen_by_field():
    struct = xp.arguments.CudaStruct("Fields", [("x", "const double*"), ("y", "double*")])
    source = """
    struct Fields { const double* x; double* y; };
    extern "C" __global__ void axpy(Fields f, int n) { if (threadIdx.x < n) f.y[threadIdx.x] = 2 * f.x[threadIdx.x]; }
    """

    def host(f, n):
        f.y[:] = 2 * f.x

    def args(backend, seed):
        return Fields(np.arange(4.0), np.zeros(4)), 4

    kernel = kernel_of(source, host, structs=[struct])
    assert list(assert_kernels_agree(kernel, args, n_threads=4)) == ["argument 0.x", "argument 0.y"]
    for field in ("f.y", "0.y"):
        assert list(assert_kernels_agree(kernel, args, n_threads=4, outputs=[field])) == ["argument 0.y"]
    with pytest.raises(KeyError, match=r"f\.z"):
        assert_kernels_agree(kernel, args, n_threads=4, outputs=["f.z"])
    wrong = kernel_of(source.replace("2 *", "3 *"), host, structs=[struct])
    with pytest.raises(AssertionError, match=r"argument 0\.y"):
        assert_kernels_agree(wrong, args, n_threads=4, outputs=["f"])


@pytest.mark.parametrize(
    ("make", "options", "error"),
    [
        (lambda: axpy, {}, TypeError),
        (lambda: Kernel(axpy), {}, ValueError),
        (lambda: Kernel(None, CudaKernel(AXPY, "axpy")), {}, ValueError),
        (kernel_of, {"n_calls": 0}, ValueError),
        (kernel_of, {"emulate": "yes"}, ValueError),
        (lambda: kernel_of(n_threads_from=None), {}, TypeError),
    ],
)
def test_wrong_arguments_are_refused_before_anything_runs(make, options, error):
    def never(backend, seed):
        raise AssertionError("ran")

    with pytest.raises(error, match="assert_kernels_agree"):
        assert_kernels_agree(make(), never, **options)


def test_where_nothing_can_run_the_test_is_skipped_or_fails(monkeypatch, tmp_path):
    with pytest.raises(pytest.skip.Exception, match="GPU"):
        assert_kernels_agree(kernel_of(), make_args, emulate=False)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match=r"C\+\+ compiler"):
        assert_kernels_agree(kernel_of(), make_args)
    with pytest.raises(MissingCompilerError):
        assert_kernels_agree(kernel_of(), make_args, emulate=True)
    monkeypatch.setenv("CUNUMPY_REQUIRE_CUDA", " On ")
    for emulate in ("auto", False):
        with pytest.raises(pytest.fail.Exception, match="CUNUMPY_REQUIRE_CUDA"):
            assert_kernels_agree(kernel_of(), make_args, emulate=emulate)


def test_the_emulation_of_a_block_is_used():
    kernel = kernel_of(AXPY.replace("a * x[i]", "a * x[i] + EXTRA"))
    with emulated_launches(options=["-DEXTRA=0"]):
        assert_kernels_agree(kernel, make_args)
    with emulated_launches(options=["-DEXTRA=1"]), pytest.raises(AssertionError, match="CPU device"):
        assert_kernels_agree(kernel, make_args)


# --- with a module of test arguments ----------------------------------------------------------------------------------

TEST_ARGS = """
import numpy as np
import cunumpy as xp
OUTPUTS = ["y"]
SIZES = "edges"
SEEDS = [1, 2]
def make_args(backend, seed, size):
    rng = np.random.default_rng(seed)
    return 0.5, xp.asarray(rng.random(size)), xp.asarray(rng.random(size)), size
"""


@pytest.fixture
def package(tmp_path):
    name = write_package(
        tmp_path,
        {
            "axpy/axpy_numpy.py": AXPY_NUMPY,
            "axpy/axpy_cuda.cu": AXPY_CUDA,
            "axpy/axpy_test_args.py": TEST_ARGS,
            "other/other_numpy.py": AXPY_NUMPY.replace("axpy", "other"),
            "other/other_cuda.cu": AXPY_CUDA.replace("axpy", "other"),
        },
    )
    yield name
    forget_packages(tmp_path)


def test_a_catalogs_kernels_are_checked_without_a_gpu(package):
    catalog = KernelCatalog.from_package(package)
    good, missing = parity_cases(catalog)
    assert (good.id, missing.id) == ("axpy", "other")
    assert not good.marks
    assert missing.marks[0].name == "skip"
    assert missing.marks[0].kwargs["reason"].endswith("other_test_args.py is missing")
    found = check_parity(*good.values)
    assert found["argument 2"].shape == (2 * 128 + 1,)
    assert check_parity(*good.values, sizes=[5], seed=1)["argument 2"].shape == (5,)
    with pytest.raises(ValueError, match=r"other_test_args\.py"):
        check_parity(*missing.values)


def test_the_host_side_is_never_the_cuda_kernel_itself(tmp_path):
    name = write_package(
        tmp_path,
        {
            "axpy/axpy_kernels.py": AXPY_PYTHON,
            "axpy/axpy_cuda.cu": AXPY_CUDA.replace("a * x[i]", "2 * a * x[i]"),
            "axpy/axpy_test_args.py": TEST_ARGS,
        },
    )
    kernel = KernelCatalog.from_package(name)["axpy"]
    assert kernel.selected() == "cpu"
    with pytest.raises(AssertionError, match=r"argument 2 \(y\) differs between the host and the CPU device"):
        check_parity(kernel)
    with use_host_kernel_implementation("cpu"), pytest.raises(AssertionError, match="differs"):
        assert_kernels_agree(kernel_of(AXPY.replace("a *", "2 * a *")), make_args)
    forget_packages(tmp_path)
    with pytest.raises(ArgumentError, match="no host kernel"):
        assert_kernels_agree(Kernel(None, CudaKernel(AXPY, "axpy")), make_args)


def test_modules_without_make_args_are_refused(monkeypatch):
    module = types.ModuleType("no_make_args")
    monkeypatch.setitem(sys.modules, "no_make_args", module)
    kernel = Kernel(axpy, CudaKernel(AXPY, "axpy"), test_args="no_make_args")
    with pytest.raises(TypeError, match="make_args"):
        check_parity(kernel)
    module.make_args, module.RTOL, module.N_THREADS = make_args, 1e-10, 50
    assert check_parity(kernel, seed=3).keys() == {"argument 1", "argument 2"}
    with pytest.raises(TypeError, match="no_such"):
        check_parity(kernel, no_such=1)


def test_other_things_are_refused():
    with pytest.raises(ArgumentTypeError, match="must be a Kernel"):
        check_parity(axpy)
    with pytest.raises(ArgumentTypeError, match="must be a KernelCatalog"):
        parity_cases([axpy])


ON_THE_STAND_IN = f"""
import numpy as np
import cunumpy as xp
from cunumpy.kernel_testing import assert_kernels_agree, emulated_launches
from cunumpy.kernels import CudaKernel, Kernel
def axpy(a, x, y, n):
    y[:n] += a * x[:n]
def make_args(backend, seed):
    assert xp.get_backend() == backend
    seen.append(type(xp.ones(1)).__module__)
    return 0.5, xp.ones(5), xp.arange(5.0), 5
seen = []
kernel = Kernel(axpy, CudaKernel({AXPY!r}, "axpy"))
assert_kernels_agree(kernel, make_args)
with emulated_launches():
    assert_kernels_agree(kernel, make_args)
print(seen, xp.get_backend())
"""


def test_on_the_stand_in_the_cuda_side_has_device_arrays(build_folder):
    done = run_in_fake_cupy_subprocess(ON_THE_STAND_IN, env={"CUNUMPY_EMULATION_CACHE": str(build_folder)})
    assert done.stdout == "['numpy', 'cupy', 'numpy', 'cupy'] numpy\n"
