"""CUDA kernels on a device: every kind of kernel, argument and launch computes what NumPy does."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time

import cupy
import numpy as np
import pytest

import cunumpy as xp
from cunumpy.arguments import CudaArguments, CudaStructArguments
from cunumpy.cuda import cuda_debug
from cunumpy.errors import ArgumentError, CompileError, KernelError
from cunumpy.kernel_testing import fake_cupy_active
from cunumpy.kernels import CudaKernel, CudaKernelVariants
from gpu_kernels import INNER, MARKERS, ONE_FILE, PUSH, SCALARS, SHARED, VIEWS, kernel, scale

needs_a_device = pytest.mark.skipif(fake_cupy_active(), reason="the stand-in for CuPy has no such part of the driver")


def host(array):
    return xp.to_numpy(array)


def axpy(**options):
    return CudaKernel(ONE_FILE, "axpy", **options)


# --- what is computed -------------------------------------------------------------------------------------------------


def test_one_dimension():
    n = 100_003
    x, y = cupy.arange(n, dtype=float), cupy.ones(n)
    axpy()(2.0, x, y, n)
    np.testing.assert_array_equal(host(y), 1 + 2 * np.arange(n, dtype=float))
    axpy(block_size=1000)(-2.0, x, y, n, n_threads=n)
    axpy()(0.0, x, y, n, grid=7, block=33)
    assert (y == 1).all()


def test_two_and_three_dimensions():
    out = cupy.zeros((70, 45), "int64")
    kernel(ONE_FILE, "fill2d", block_size=(8, 16))(out, 70, 45)
    np.testing.assert_array_equal(host(out), 1000 * np.arange(70)[:, None] + np.arange(45))
    cube = cupy.zeros((10, 20, 30), "int32")
    kernel(ONE_FILE, "fill3d", block_size=(4, 4, 8))(cube, *cube.shape)
    i, j, k = np.indices(cube.shape)
    np.testing.assert_array_equal(host(cube), (i * 100 + j) * 100 + k)


def test_several_kernels_of_one_file(tmp_path):
    (tmp_path / "several.cu").write_text(ONE_FILE)
    kernels = CudaKernel.all_from_file(tmp_path / "several.cu")
    assert list(kernels) == ["axpy", "fill2d", "fill3d", "count"]
    x = cupy.ones(5)
    kernels["axpy"](1.0, x, x, 5)
    counter = cupy.zeros(1, "uint32")
    kernels["count"](counter, n_threads=1280)
    assert (host(x) == 2).all()
    assert counter[0] == 1280


def test_scalars_of_every_kind():
    out = cupy.zeros(10)
    half = int(np.float16(0.1).view(np.uint16))
    kernel(SCALARS, "scalars")(True, -5, 65535, -(2**31), 2**60, 0.1, 0.1, 0.1, (1.5, -2.5), out, grid=1, block=1)
    assert host(out).tolist() == [1, -5, 65535, -(2.0**31), 2.0**60, float(np.float32(0.1)), 0.1, half, 1.5, -2.5]


def test_templates_and_variants():
    variants = CudaKernelVariants(scale)
    for dtype in (np.float32, np.float64, np.int64):
        x = cupy.arange(300).astype(dtype)
        variants.get(dtype, 3)(x, 2, 300)
        np.testing.assert_array_equal(host(x), (6 * np.arange(300)).astype(dtype))
    variants.compile_all([(np.uint32, 2), (np.float32, 5)], jobs=2)
    assert len(variants) == 5
    assert all(variants.get(*key).is_compiled for key in variants)


def test_views_with_strides():
    x = cupy.arange(60 * 90, dtype=float).reshape(60, 90)[::-2, ::3]
    y = cupy.zeros((30, 30))
    transpose = kernel(VIEWS, "transpose", block_size=(16, 16))
    transpose(x, y)
    np.testing.assert_array_equal(host(y), host(x).T)
    transpose(cupy.broadcast_to(cupy.arange(30.0), (30, 30)), y)
    np.testing.assert_array_equal(host(y), np.broadcast_to(np.arange(30.0), (30, 30)).T)


class Markers(CudaStructArguments):
    struct_name = "Step"
    fields = (("x", "double*"), ("n", "int"), ("dt", "double"))

    def __init__(self, x, dt):
        self.x, self.n, self.dt = x, x.size, dt
        self.pack()


def test_structs():
    assert MARKERS.verify_layout()["sizeof"] == MARKERS.dtype.itemsize
    n = 1000
    v, x = cupy.arange(3.0 * n).reshape(n, 3)[::-1], cupy.zeros(n)
    values = {"n": n, "v": v, "x": x, "inner": INNER(scale=2.0, shift=(0.0, 1.0)), "weights": [0.0, 0.5]}
    value = MARKERS(**values)
    push = CudaKernel(PUSH, "push", structs=[INNER, MARKERS])
    expected = (2.0 * host(v)[:, 1] + 1.0) * 0.5
    for count, form in enumerate((value, value.packed, CudaArguments(value)), start=1):
        push(form, 1.0, n_threads=n)
        np.testing.assert_array_equal(host(x), count * expected)
    launch = push.prepare(value, -3.0)
    launch()
    assert (host(x) == 0).all()
    other = cupy.zeros(10)
    launch.set(m=MARKERS(**values | {"n": 10, "x": other, "v": v[:10]}), dt=1.0)
    launch()
    np.testing.assert_array_equal(host(other), expected[:10])


def test_objects_that_pack_themselves():
    source = f"""{Markers.struct.declaration}
    extern "C" __global__ void fill(Step s) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < s.n) s.x[i] = s.dt;
    }}"""
    fill, markers = kernel(source, "fill", structs=[Markers.struct]), Markers(cupy.zeros(300), 0.5)
    fill(markers)
    assert (host(markers.x) == 0.5).all()
    markers.dt, markers.n = 2.0, 100
    fill(markers)
    assert host(markers.x).sum() == 100 * 2.0 + 200 * 0.5


@pytest.mark.parametrize("kilobytes", [8, 64])
def test_dynamic_shared_memory_also_above_48_kib(kilobytes):
    n = kilobytes * 128
    x, reverse = cupy.arange(n, dtype=float), kernel(SHARED, "reverse")
    reverse(x, n, grid=1, block=256, shared_mem=kilobytes * 1024)
    np.testing.assert_array_equal(host(x), np.arange(n, dtype=float)[::-1])
    launch = reverse.prepare(x, n, grid=1, block=256, shared_mem=kilobytes * 1024)
    launch()
    np.testing.assert_array_equal(host(x), np.arange(n, dtype=float))


def test_limits_of_the_device_are_kept():
    counter, count = cupy.zeros(1, "uint32"), kernel(ONE_FILE, "count")
    most = xp.cuda.max_shared_memory_per_block(opt_in=True)
    for options, text in [({"block": (1, 1, 65)}, "65 along z"), ({"shared_mem": most + 1}, "shared memory")]:
        with pytest.raises(ArgumentError, match=text):
            count(counter, grid=1, **options)
    with pytest.raises(ArgumentError, match=r"__launch_bounds__\(256\)"):
        kernel(SHARED, "bounded")(cupy.zeros(512, "int32"), grid=1, block=512)
    assert counter[0] == 0


def test_suggested_block_size():
    threads = axpy().suggested_block_size()
    assert threads % 32 == 0
    assert 32 <= threads <= 1024
    assert kernel(SHARED, "bounded").suggested_block_size() <= 256
    x = cupy.zeros(10_000)
    axpy()(1.0, x, x, x.size, block=threads)


def test_pickled_kernels_launch():
    x = cupy.ones(10)
    pickle.loads(pickle.dumps(axpy()))(1.0, x, x, 10)
    assert (host(x) == 2).all()


def test_edited_headers_are_compiled_anew(tmp_path):
    header = tmp_path / "own.cuh"
    source = '#include "own.cuh"\nextern "C" __global__ void k(double* x) { x[0] = VALUE; }'
    (tmp_path / "k_cuda.cu").write_text(source)
    x = cupy.zeros(1)
    for value in (2.0, 5.0):
        header.write_text(f"#define VALUE {value}\n")
        CudaKernel.from_file(tmp_path / "k_cuda.cu")(x, n_threads=1)
        assert x[0] == value


# --- streams, graphs, prepared launches -------------------------------------------------------------------------------


def test_launches_on_streams():
    x, y = cupy.ones(100_000), cupy.zeros(100_000)
    cupy.cuda.get_current_stream().synchronize()
    stream, kernel_ = xp.cuda.create_stream(), axpy()
    launch = kernel_.prepare(1.0, x, y, x.size)
    kernel_(1.0, x, y, x.size, stream=stream)
    launch(stream=stream)
    with xp.cuda.stream(stream):
        kernel_(1.0, x, y, x.size)
        launch()
    stream.synchronize()
    assert (host(y) == 4).all()


def test_prepared_launches():
    x, y = cupy.arange(1000.0), cupy.zeros(1000)
    launch = axpy().prepare(1.0, x, y, 1000)
    for _ in range(10):
        launch()
    np.testing.assert_array_equal(host(y), 10 * np.arange(1000.0))
    launch.set(a=-10.0)
    launch()
    assert (host(y) == 0).all()
    launch.set(x=cupy.ones(50), y=y[:50], n=50, a=1.0)
    launch()
    assert host(y).sum() == 50


@needs_a_device
def test_prepared_launches_are_captured_in_graphs():
    x, y = cupy.ones(1000), cupy.zeros(1000)
    launch = axpy().prepare(1.0, x, y, 1000)
    launch()
    cupy.cuda.get_current_stream().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        for _ in range(5):
            launch()
        graph = stream.end_capture()
        for _ in range(3):
            graph.launch(stream)
    stream.synchronize()
    assert (host(y) == 16).all()


# --- errors -----------------------------------------------------------------------------------------------------------


def test_the_blocks_of_a_cooperative_launch_wait_for_each_other():
    source = """
    #include <cooperative_groups.h>
    extern "C" __global__ void sums(const int* x, int* next, int n) {
        next[blockIdx.x] = x[blockIdx.x] + 1;
        cooperative_groups::this_grid().sync();
        int sum = 0;
        for (int i = 0; i < n; ++i) sum += next[i];
        cooperative_groups::this_grid().sync();
        next[blockIdx.x] = sum;
    }"""
    kernel = CudaKernel(source, "sums", cooperative=True)
    x, found = cupy.arange(20, dtype="int32"), cupy.zeros(20, "int32")
    try:
        kernel(x, found, 20, grid=20, block=1)
    except CompileError as error:
        if "cooperative_groups.h" not in error.log:
            raise
        pytest.skip("the toolkit's header cooperative_groups.h is not installed")
    assert (found == 210).all()
    prepared = kernel.prepare(x, found, 20, grid=20, block=1)
    found[:] = 0
    prepared()
    assert (found == 210).all()


def test_nan_is_found_in_arrays_and_fields():
    x = cupy.ones(100)
    x[7] = np.nan
    with pytest.raises(KernelError, match=r"argument 'x' .* holds NaN or infinity"):
        axpy(check_finite=True)(1.0, x, cupy.zeros(100), 100)
    values = {"n": 0, "v": x.reshape(50, 2), "x": cupy.zeros(3), "inner": INNER(scale=1.0, shift=(0, 0))}
    push = CudaKernel(PUSH, "push", structs=[INNER, MARKERS], check_finite=True)
    with pytest.raises(KernelError, match=r"argument 'm\.v' .* holds NaN"):
        push(MARKERS(**values, weights=[0, 0]), 1.0, n_threads=1)


def test_debug_mode_waits_for_each_launch():
    x = cupy.ones(100)
    with cuda_debug(), xp.profiling.count_transfers() as counts:
        axpy()(1.0, x, x, 100)
    assert counts.syncs == 1
    assert (host(x) == 2).all()


def test_sources_that_do_not_compile():
    with pytest.raises(CompileError, match=r"^CudaKernel 'k': does not compile") as caught:
        kernel('extern "C" __global__ void k(int n) {\n  u;\n}', "k").compile()
    assert caught.value.messages[0].line == 2
    assert "error: " in caught.value.log


@needs_a_device
@pytest.mark.parametrize(
    ("source", "name", "dtype"), [("SHARED", "trap", "int32"), ("VIEWS", "outside", "float64")], ids=["trap", "outside"]
)
def test_a_trap_in_debug_mode_names_the_kernel(source, name, dtype):
    """In a process of its own: no context survives it."""
    code = f"""
import cupy
import gpu_kernels
from cunumpy.cuda import cuda_debug
from cunumpy.errors import KernelError
with cuda_debug():
    try:
        gpu_kernels.kernel(gpu_kernels.{source}, {name!r})(cupy.zeros(32, {dtype!r}), grid=1, block=32)
    except KernelError as error:
        print("found:", error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=_environment())
    assert f"found: CudaKernel '{name}' (grid (1,), block (32,)): failed on device 0" in done.stdout, done.stderr


def _environment():
    import os

    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "CUNUMPY_BACKEND": "cupy"}


# --- what a launch costs ----------------------------------------------------------------------------------------------


def test_launch_overhead(capsys):
    """Print what launches cost beside those of `cupy.RawKernel`; every launch has to arrive, no time is asserted."""
    counter = cupy.zeros(1, "uint32")
    x, y = cupy.zeros(128), cupy.zeros(128)
    count, add = kernel(ONE_FILE, "count"), axpy()
    raw_count, raw_add = count.compile(), add.compile()
    a, n = np.float64(2.0), np.int32(128)
    prepared = add.prepare(2.0, x, y, 128)
    rows = {
        "RawKernel, 1 argument": lambda: raw_count((1,), (128,), (counter,)),
        "CudaKernel, 1 argument": lambda: count(counter, n_threads=128),
        "RawKernel, 4 arguments": lambda: raw_add((1,), (128,), (a, x, y, n)),
        "CudaKernel, 4 arguments": lambda: add(2.0, x, y, 128, n_threads=128),
        "CudaKernel, 4 arguments, threads inferred": lambda: add(2.0, x, y, 128),
        "PreparedLaunch, 4 arguments": prepared,
    }
    repeats, rounds = (300, 20) if not fake_cupy_active() else (5, 2)
    best = dict.fromkeys(rows, float("inf"))
    for _ in range(rounds):
        for name, launch in rows.items():
            cupy.cuda.get_current_stream().synchronize()
            start = time.perf_counter()
            for _ in range(repeats):
                launch()
            best[name] = min(best[name], (time.perf_counter() - start) / repeats)
    assert counter[0] == 2 * 128 * repeats * rounds
    with capsys.disabled():
        print("\n\n| launch | us | of RawKernel |\n|---|---|---|")
        for name, seconds in best.items():
            raw = best["RawKernel, 1 argument" if "1 argument" in name else "RawKernel, 4 arguments"]
            print(f"| {name} | {seconds * 1e6:.2f} | {seconds / raw:.2f} |")
