"""What `cunumpy.kernel_testing` has for pytest, in test runs of their own; and kernels around device functions."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.errors import ArgumentError, ArgumentTypeError, MissingPackageError
from cunumpy.kernel_testing import _requirements, cuda_required, device_function_kernel, emulate_cuda_kernel

MARKED = """
import pytest
from cunumpy.kernel_testing import *
from cunumpy.kernel_testing import backend  # noqa
import cunumpy as xp
@requires_cupy
def test_cupy(): pass
@requires_device_backend
def test_device_backend(): pass
@requires_warp_shuffle
def test_warp_shuffle(): pass
@requires_high_dim_cuda_views
def test_high_dim(): pass
@requires_bounds_check_views
def test_bounds_check(): pass
def test_backend(backend):
    assert xp.get_backend() == backend
"""
MARKS = ("cupy", "device_backend", "warp_shuffle", "high_dim", "bounds_check")

BROKEN_CUPY = "raise ImportError('the driver is too old')"
BROKEN_HIP = """
class cuda:
    class runtime:
        is_hip = True
        @staticmethod
        def getDeviceCount(): raise RuntimeError("no device")
__version__ = "14.2.0"
"""


def outcomes(folder, *, cupy=None, **variables):
    """Run the marked tests, and return the outcome of each."""
    (folder / "test_marked.py").write_text(MARKED)
    if cupy is not None:
        (folder / "cupy.py").write_text(cupy)
    kept = {name: text for name, text in os.environ.items() if not name.startswith("CUNUMPY_")}
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", folder, folder],
        env=kept | {"PYTHONPATH": path} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    found = {}
    for line in done.stdout.splitlines():
        if "::test_" in line and "%]" in line:
            name, outcome = line.partition("::test_")[2].split()[:2]
            found[name] = outcome
    assert found, done.stdout + done.stderr
    return found, done.stdout


def test_without_a_gpu_tests_that_need_one_are_skipped(tmp_path):
    found, _ = outcomes(tmp_path, CUNUMPY_FAKE_CUPY="0")
    assert found == dict.fromkeys((*MARKS, "backend[cupy]"), "SKIPPED") | {"backend[numpy]": "PASSED"}


@pytest.mark.parametrize("cupy", [None, BROKEN_CUPY])
def test_where_cuda_is_required_they_are_errors(tmp_path, cupy):
    found, text = outcomes(tmp_path, cupy=cupy, CUNUMPY_REQUIRE_CUDA=" on ")
    assert found == dict.fromkeys((*MARKS, "backend[cupy]"), "ERROR") | {"backend[numpy]": "PASSED"}
    assert "CUNUMPY_REQUIRE_CUDA is set, and there is no GPU to test on" in text


def test_what_amd_lacks_is_skipped_there(tmp_path):
    found, _ = outcomes(tmp_path, cupy=BROKEN_HIP, CUNUMPY_REQUIRE_CUDA="1")
    assert {found[name] for name in ("warp_shuffle", "high_dim", "bounds_check")} == {"SKIPPED"}
    assert found["cupy"] == "ERROR"


def test_on_the_stand_in_tests_of_the_backend_run(tmp_path):
    found, _ = outcomes(tmp_path, CUNUMPY_FAKE_CUPY="1")
    assert found["device_backend"] == found["backend[numpy]"] == "PASSED"
    assert {found[name] for name in MARKS if name != "device_backend"} == {"SKIPPED"}
    found, _ = outcomes(tmp_path, CUNUMPY_FAKE_CUPY="1", CUNUMPY_REQUIRE_CUDA="1")
    assert found["device_backend"] == "PASSED"
    assert found["cupy"] == "ERROR"


@pytest.mark.parametrize(
    ("word", "expected"), [("1", True), (" YES ", True), ("on", True), ("off", False), ("", False)]
)
def test_cuda_is_required_as_the_variable_says_now(monkeypatch, word, expected):
    monkeypatch.setenv("CUNUMPY_REQUIRE_CUDA", word)
    assert cuda_required() is expected


def test_without_pytest_the_text_says_what_to_add(monkeypatch):
    monkeypatch.setitem(sys.modules, "pytest", None)
    with pytest.raises(MissingPackageError, match="uv add --dev pytest"):
        _requirements.require_pytest("marks")


# --- kernels around device functions ----------------------------------------------------------------------------------


def call(kernel, *args, n=4):
    emulate_cuda_kernel(kernel, *args, n, n_threads=n)


def test_numbers_become_arrays_and_pointers_stay():
    header = "__device__ double look_up(double x, const double* table, int n) { return x * table[n]; }"
    kernel = device_function_kernel(header, "__device__ double look_up(double x, const double* table, int m);")
    assert kernel.name == "look_up_kernel"
    assert [one.name for one in kernel.signature] == ["x", "table", "m", "out", "n"]
    out = np.zeros(4)
    call(kernel, np.arange(4.0), np.array([2.0, 3.0]), np.array([0, 1, 0, 1], np.int32), out)
    np.testing.assert_array_equal(out, [0, 3, 4, 9])


@pytest.mark.parametrize(
    "prototype",
    [
        "__host__ __device__ __forceinline__ float half_of(float x)",
        "static inline __device__ float half_of(float x) noexcept;",
        "[[nodiscard]] __device__ constexpr float half_of(const float& x) noexcept(true)",
        "float __device__ half_of(float)",
    ],
)
def test_prototypes_of_any_form(prototype):
    header = "__host__ __device__ constexpr float half_of(float x) { return 0.5f * x; }"
    out = np.zeros(4, np.float32)
    call(device_function_kernel(header, prototype), np.arange(4, dtype=np.float32), out)
    np.testing.assert_array_equal(out, 0.5 * np.arange(4))


def test_references_are_written_to_and_void_has_no_results():
    header = "__device__ void both(double x, double& twice, long long &square) { twice = 2 * x; square = x * x; }"
    kernel = device_function_kernel(header, "__device__ void both(double x, double& twice, long long &square)")
    assert [(one.name, one.const) for one in kernel.signature][:3] == [("x", True), ("twice", False), ("square", False)]
    twice, square = np.zeros(4), np.zeros(4, np.int64)
    call(kernel, np.arange(4.0), twice, square)
    np.testing.assert_array_equal(twice, 2 * np.arange(4))
    np.testing.assert_array_equal(square, np.arange(4) ** 2)


def test_vectors_templates_views_and_structs():
    struct = xp.arguments.CudaStruct("Scale", [("by", "double")])
    header = """#include <cunumpy/array_view.cuh>
    struct Scale { double by; };
    template <typename T> __device__ double2 pair(T x, Array1D<const double> table, const Scale& scale) {
        return make_double2(scale.by * x, table(1));
    }"""
    kernel = device_function_kernel(
        header, "__device__ double2 pair(float x, Array1D<const double> table, const Scale& scale)", structs=[struct]
    )
    out = np.zeros(4, kernel.signature[3].dtype)
    call(kernel, np.arange(4, dtype=np.float32), np.array([5.0, 6.0]), struct(by=3.0), out)
    np.testing.assert_array_equal(out["x"], 3 * np.arange(4))
    np.testing.assert_array_equal(out["y"], 6)


def test_names_and_headers_are_chosen(tmp_path):
    (tmp_path / "own.cuh").write_text("namespace own { __device__ inline int next(int n) { return n + 1; } }\n")
    kernel = device_function_kernel(
        "",
        "__device__ int own::next(int n)",
        name="test_next",
        includes=["own.cuh", "<cunumpy/morton.cuh>"],
        n_threads_param="count",
        include_dirs=[tmp_path],
        block_size=32,
    )
    assert (kernel.name, kernel.block_size) == ("test_next", 32)
    assert '#include "own.cuh"\n#include <cunumpy/morton.cuh>\n' in kernel.source
    out = np.zeros(4, np.int32)
    call(kernel, np.arange(4, dtype=np.int32), out)
    np.testing.assert_array_equal(out, [1, 2, 3, 4])


@pytest.mark.parametrize(
    ("prototype", "text"),
    [
        ("double", "can't read the prototype"),
        ("template <typename T> __device__ T f(T x)", "template"),
        ("__device__ double* f(double x)", "must be a number"),
        ("__device__ Unknown f(double x)", "Unknown"),
        ("__device__ double f(Unknown x)", "Unknown"),
        ("__device__ double f(double out)", "out_param="),
        ("__device__ double f(int n)", "n_threads_param="),
    ],
)
def test_prototypes_that_can_not_be_called_are_refused(prototype, text):
    with pytest.raises(ArgumentError, match=f"device_function_kernel: .*{text}"):
        device_function_kernel("", prototype)


@pytest.mark.parametrize("given", [(b"", "double f()"), ("", None), ("", "double f(double x)", "h.cuh")])
def test_arguments_of_wrong_types_are_refused(given):
    options = {"includes": given[2]} if len(given) == 3 else {}
    with pytest.raises(ArgumentTypeError, match="device_function_kernel"):
        device_function_kernel(*given[:2], **options)
