"""Devices, streams, memory, random numbers and SciPy on the stand-in; array-api-compat on top of it."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from typing import Any

import cupy
import cupyx
import numpy as np
import pytest
from packaging.version import Version

from cunumpy.kernel_testing import fake_cupy_active, host_buffer, install_fake_cupy
from cunumpy.kernel_testing._fake_cupy import _api, cuda
from cunumpy.kernel_testing._fake_cupy.signatures import with_signature


def test_version_is_valid_and_tells_the_stand_in() -> None:
    version = Version(cupy.__version__)
    assert version.local == "standin"
    assert version.public == _api.VERSION


def test_installing_again_changes_nothing() -> None:
    assert install_fake_cupy() is sys.modules["cupy"]
    assert fake_cupy_active()


@pytest.mark.parametrize("name", ["cupy", "cupyx", "cupy.cuda.runtime", "cupyx.scipy.signal.windows"])
def test_modules_have_specs(name: str) -> None:
    assert importlib.util.find_spec(name) is not None
    assert importlib.import_module(name) is sys.modules[name]


def test_missing_modules_are_not_found() -> None:
    for name in ("cupyx.jit.thrust", "cupyx.scipy.optimize", "cupy.matlib"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)


def test_only_device_0_can_be_used() -> None:
    with cupy.cuda.Device(0) as device:
        device.synchronize()
        assert cupy.cuda.Device().id == 0
    assert cupy.cuda.runtime.getDeviceCount() == 1
    for use in (cupy.cuda.Device(1).use, cupy.cuda.Device(1).__enter__, lambda: cupy.cuda.runtime.setDevice(1)):
        with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="cudaErrorInvalidDevice: invalid device ordinal"):
            use()
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    assert properties["warpSize"] == 32
    assert properties["sharedMemPerBlock"] == device.attributes["MaxSharedMemoryPerBlock"]
    free, total = device.mem_info
    assert 0 < free <= total == properties["totalGlobalMem"]
    assert device.compute_capability == f"{properties['major']}{properties['minor']}"
    assert cupy.cuda.runtime.is_hip is False
    assert cupy.cuda.is_available()


def test_streams_and_events() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    assert cupy.cuda.get_current_stream() == cupy.cuda.Stream.null
    with stream:
        assert cupy.cuda.get_current_stream() == stream
        with cupy.cuda.Stream():
            assert cupy.cuda.get_current_stream() != stream
        start = stream.record()
    assert cupy.cuda.get_current_stream().ptr == 0
    end = cupy.cuda.Event()
    end.record(stream)
    stream.wait_event(end)
    stream.synchronize()
    assert stream.done
    assert end.done
    assert not stream.is_capturing()
    assert cupy.cuda.get_elapsed_time(start, end) > 0
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError):
        cupy.cuda.get_elapsed_time(start, cupy.cuda.Event())
    with pytest.warns(DeprecationWarning, match="from_external"):
        assert cupy.cuda.ExternalStream(stream.ptr) == stream
    assert cupy.cuda.Stream.from_external(stream) == stream


def test_pinned_memory_is_numpys() -> None:
    pinned = cupyx.zeros_pinned((2, 3), np.float32)
    assert type(pinned) is np.ndarray
    assert not pinned.any()
    assert cupyx.empty_like_pinned(cupy.zeros((2, 3))).shape == (2, 3)
    memory = cupy.cuda.alloc_pinned_memory(64)
    array = np.frombuffer(memory, np.float64, 4)
    array[:] = 5.0
    assert array.__array_interface__["data"][0] == memory.ptr
    cupy.get_default_pinned_memory_pool().free_all_blocks()


def test_memory_pointers_copy_bytes_and_check_bounds() -> None:
    a, out = cupy.arange(4.0), np.zeros(4)
    a.data.copy_to_host(out.ctypes.data, out.nbytes)
    assert out.tolist() == [0.0, 1.0, 2.0, 3.0]
    cupy.zeros(4).data.copy_from_device(a.data, 32)
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError):
        a[2:].data.copy_to_host(out.ctypes.data, 32)
    again = cupy.ndarray((2,), np.float64, memptr=a.data + 16)
    again[...] = -1.0
    assert a.get().tolist() == [0.0, 1.0, -1.0, -1.0]
    pool = cupy.get_default_memory_pool()
    pool.set_limit(fraction=0.5)
    assert pool.get_limit() == cupy.cuda.Device(0).mem_info[1] // 2
    pool.set_limit(size=0)


def test_ranges_nest() -> None:
    cupy.cuda.nvtx.RangePush("outer")
    cupy.cuda.nvtx.RangePush("inner")
    assert cuda.open_ranges() == ("outer", "inner")
    cupy.cuda.nvtx.RangePop()
    cupy.cuda.nvtx.RangePop()
    assert cuda.open_ranges() == ()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_random_numbers_are_repeatable_and_not_numpys(dtype: Any) -> None:
    cupy.random.seed(7)
    first = cupy.random.rand(5, dtype=dtype)
    cupy.random.seed(7)
    assert (first == cupy.random.rand(5, dtype=dtype)).all()
    assert first.dtype == dtype
    assert not np.allclose(first.get(), np.random.RandomState(7).rand(5))
    ours = cupy.random.default_rng(7).random(5)
    assert not np.allclose(ours.get(), np.random.default_rng(7).random(5))


def test_distributions() -> None:
    cupy.random.seed(1)
    normal = cupy.random.normal(2.0, 0.5, 4000, dtype=np.float32)
    assert normal.dtype == np.float32
    assert abs(float(normal.mean()) - 2.0) < 0.05
    assert abs(float(normal.std()) - 0.5) < 0.03
    assert set(cupy.random.randint(0, 3, 100).tolist()) == {0, 1, 2}
    assert sorted(cupy.random.permutation(5).tolist()) == [0, 1, 2, 3, 4]
    a = cupy.arange(10)
    cupy.random.shuffle(a)
    assert sorted(a.tolist()) == list(range(10))
    assert cupy.random.uniform(cupy.zeros(3), 1.0).shape == (3,)
    assert cupy.random.exponential(2.0).shape == ()
    assert cupy.random.choice(5, 3).shape == (3,)
    assert cupy.random.default_rng(0).integers(3, size=4).dtype == np.int64
    with pytest.raises(TypeError, match="Unsupported type"):
        cupy.random.normal(np.zeros(3), 1.0)
    with pytest.raises(TypeError, match="Unsupported dtype"):
        cupy.random.rand(3, dtype=np.int32)
    with pytest.raises(AttributeError):
        cupy.random.default_rng(0).normal  # noqa: B018


@pytest.mark.parametrize(
    ("namespace", "table"),
    [
        (cupy.random.Generator, _api.GENERATOR["methods"]),
        (cupy.random.RandomState, _api.RANDOM_STATE["methods"]),
        (cupy.random, _api.CUPY_RANDOM["functions"]),
    ],
)
def test_random_names_and_signatures_are_cupys(namespace: Any, table: dict[str, str]) -> None:
    for name, parameters in table.items():
        function = getattr(namespace, name)
        text = f"self, {parameters}".rstrip(", ") if inspect.isclass(namespace) else parameters
        expected = inspect.signature(with_signature(name, text, lambda values: values, "expected"))
        found = inspect.signature(function)
        bare = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
        assert bare == list(expected.parameters.values()), name


def test_scipy_takes_and_gives_device_arrays() -> None:
    import cupyx.scipy.fft
    import cupyx.scipy.linalg
    import cupyx.scipy.ndimage
    import cupyx.scipy.special
    import scipy.special

    x = cupy.linspace(0.1, 2.0, 5)
    result = cupyx.scipy.special.erf(x)
    assert isinstance(result, cupy.ndarray)
    np.testing.assert_array_equal(host_buffer(result), scipy.special.erf(x.get()))
    assert cupyx.scipy.ndimage.gaussian_filter(cupy.eye(4), 1.0).shape == (4, 4)
    lu, pivots = cupyx.scipy.linalg.lu_factor(cupy.eye(3))
    assert isinstance(lu, cupy.ndarray)
    assert isinstance(pivots, cupy.ndarray)
    with pytest.raises(TypeError, match="Unsupported type"):
        cupyx.scipy.special.erf(np.ones(3))
    for module, name in ((cupyx.scipy.linalg, "solve_circulant"), (cupyx.scipy.special, "airy")):
        with pytest.raises(AttributeError, match=name):
            getattr(module, name)
    assert "solve_triangular" in dir(cupyx.scipy.linalg)
    assert cupyx.scipy.get_array_module(x) is cupyx.scipy


def test_scipy_objects_are_proxies() -> None:
    import cupyx.scipy.interpolate

    x = cupy.linspace(0.0, 3.0, 7)
    spline = cupyx.scipy.interpolate.CubicSpline(x, x**2)
    values = spline(cupy.array([0.5, 1.5]))
    assert isinstance(values, cupy.ndarray)
    np.testing.assert_allclose(values.get(), [0.25, 2.25])
    assert isinstance(spline.derivative()(x), cupy.ndarray)


def test_array_api_compat_works_on_it() -> None:
    import array_api_compat
    import array_api_compat.cupy as xp

    a = cupy.asarray(np.arange(6.0).reshape(2, 3))
    assert array_api_compat.is_cupy_array(a)
    assert array_api_compat.array_namespace(a) is xp
    host = a.get()
    assert float(xp.std(a, correction=1)) == pytest.approx(np.std(host, ddof=1))
    assert xp.unique_all(a).values.tolist() == host.ravel().tolist()
    assert xp.astype(a, xp.float32).dtype == np.float32
    assert xp.asarray(a, copy=True) is not a
    assert xp.asarray(host, device=a.device).tolist() == host.tolist()
    assert xp.vecdot(a, a).tolist() == np.vecdot(host, host).tolist()
    assert [row.tolist() for row in xp.unstack(a)] == host.tolist()
    assert xp.permute_dims(a, (1, 0)).shape == (3, 2)
    assert xp.take_along_axis(a, cupy.array([[0], [1]])).tolist() == [[0.0], [4.0]]
    assert xp.count_nonzero(a, axis=1, keepdims=True).tolist() == [[2], [3]]
    assert float(xp.linalg.vector_norm(a)) == pytest.approx(np.linalg.norm(host))
    assert xp.linalg.eigh(a.T @ a).eigenvalues.shape == (3,)
    assert xp.linalg.svd(a, full_matrices=False).S.shape == (2,)
    assert xp.fft.rfft(a).dtype == np.complex128
    assert xp.cumulative_sum(a, axis=1, include_initial=True).shape == (2, 4)
    assert array_api_compat.device(a) == cupy.cuda.Device(0)
    assert array_api_compat.to_device(a, "cpu").tolist() == host.tolist()
    assert xp.searchsorted(cupy.array([1.0, 2.0]), cupy.array([1.5])).tolist() == [1]
