"""`xp.scipy` with the CuPy backend: whose names are read, and `solve_circulant` on device arrays."""

import threading

import cupy
import cupyx.scipy.linalg
import cupyx.scipy.special
import numpy as np
import pytest
import scipy
import scipy.linalg
import scipy.special

import cunumpy as xp
from cunumpy import _scipy_namespace
from cunumpy._circulant import solve_circulant
from cunumpy._scipy_namespace import ScipyNamespace
from cunumpy.errors import MissingNameError, MissingPackageError, MixedBackendError
from cunumpy.kernel_testing import run_in_fake_cupy_subprocess

SUBPACKAGES = ["fft", "fftpack", "interpolate", "linalg", "ndimage", "signal", "spatial", "special", "stats"]


@pytest.fixture(autouse=True)
def cupy_by_default():
    before = xp.get_backend()
    xp.set_backend("cupy", strict=True)
    yield
    xp.set_backend(before)


@pytest.mark.parametrize("path", SUBPACKAGES)
def test_names_are_those_of_cupyx(path):
    namespace = getattr(xp.scipy, path)
    module = namespace.resolve()
    assert module.__name__ == f"cupyx.scipy.{path}"
    names = [name for name in dir(module) if not name.startswith("_") and hasattr(module, name)]
    assert names
    for name in names:
        assert getattr(namespace, name) is getattr(module, name)
        assert namespace.available(name)
    assert set(names) <= set(dir(namespace))


def test_a_kept_namespace_follows_the_process_default():
    special = ScipyNamespace().special
    device = special.erf
    assert device is cupyx.scipy.special.erf
    xp.set_backend("numpy")
    assert special.erf is scipy.special.erf
    assert special.resolve() is scipy.special
    assert special.errstate is scipy.special.errstate
    xp.set_backend("cupy")
    assert special.erf is device
    assert not hasattr(special, "errstate")


def test_a_kept_namespace_follows_scopes_of_its_own_context_only():
    special = ScipyNamespace("special")
    seen = []
    with xp.use_backend("numpy"):
        assert special.erf is scipy.special.erf
        thread = threading.Thread(target=lambda: seen.append(special.erf))
        thread.start()
        thread.join()
        inside = ScipyNamespace("special")
        assert inside.erf is scipy.special.erf
        with xp.use_backend("cupy"):
            assert inside.erf is special.erf is cupyx.scipy.special.erf
    assert seen == [cupyx.scipy.special.erf]
    assert special.erf is inside.erf is cupyx.scipy.special.erf


def test_names_read_in_a_scope_do_not_stay_after_it():
    special = ScipyNamespace("special")
    with xp.use_backend("numpy"):
        assert special.errstate
    assert not hasattr(special, "errstate")


def test_threads_in_scopes_never_see_each_others_functions():
    special = xp.scipy.special
    expected = {"numpy": scipy.special.erf, "cupy": cupyx.scipy.special.erf}
    wrong = []

    def work(seed):
        for turn in range(100):
            name = ("numpy", "cupy")[(turn + seed) % 2]
            with xp.use_backend(name):
                wrong.extend(name for _ in range(5) if special.erf is not expected[name])
            wrong.extend("outside" for _ in range(5) if special.erf is not expected["cupy"])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_missing_names_say_where_they_are():
    with pytest.raises(
        MissingNameError,
        match=r"xp\.scipy\.special has no 'errstate' with the cupy backend: cupyx\.scipy\.special lacks it\..*"
        r"scipy\.special\.errstate exists: xp\.host_call\(scipy\.special\.errstate, \.\.\.\) calls it on the host",
    ):
        _ = xp.scipy.special.errstate
    with pytest.raises(MissingNameError, match=r"lacks it\.$"):
        _ = xp.scipy.special.no_such_function
    with pytest.raises(MissingNameError, match=r"host_call\(scipy\.optimize\.<function>, .*See cunumpy\.optimize too"):
        _ = xp.scipy.optimize
    assert not xp.scipy.available("optimize")
    xp.set_backend("numpy")
    with pytest.raises(MissingNameError, match=r"cupyx\.scipy\.get_array_module exists, for the cupy backend"):
        _ = xp.scipy.get_array_module


def test_the_fill_in_serves_what_cupyx_lacks(monkeypatch):
    assert not hasattr(cupyx.scipy.linalg, "solve_circulant")
    assert xp.scipy.linalg.solve_circulant is solve_circulant
    assert xp.scipy.linalg.available("solve_circulant")
    assert "solve_circulant" in dir(xp.scipy.linalg)
    with xp.use_backend("numpy"):
        assert xp.scipy.linalg.solve_circulant is scipy.linalg.solve_circulant
    own = object()
    monkeypatch.setattr(cupyx.scipy.linalg, "solve_circulant", own, raising=False)
    assert ScipyNamespace("linalg").solve_circulant is own


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.int64])
def test_solve_circulant_on_device_arrays(dtype):
    rng = np.random.default_rng(3)
    c = rng.integers(-3, 3, (2, 5)).astype(dtype)
    c[:, 0] = 20
    b = rng.integers(-9, 9, (5, 3, 1)).astype(dtype)
    x = xp.scipy.linalg.solve_circulant(cupy.asarray(c), cupy.asarray(b), outaxis=-1)
    expected = scipy.linalg.solve_circulant(c, b, outaxis=-1)
    assert type(x) is cupy.ndarray
    assert x.dtype == expected.dtype
    np.testing.assert_allclose(cupy.asnumpy(x), expected, rtol=1e-5, atol=1e-6)


def test_solve_circulant_least_squares_on_the_device():
    c, b = cupy.asarray([1.0, 1, 0, 0]), cupy.asarray([1.0, 2, 3, 4])
    with pytest.raises(np.linalg.LinAlgError, match="near singular"):
        solve_circulant(c, b)
    x = cupy.asnumpy(solve_circulant(c, b, singular="lstsq"))
    dense = scipy.linalg.circulant([1.0, 1, 0, 0])
    np.testing.assert_allclose(x, np.linalg.pinv(dense) @ [1, 2, 3, 4], atol=1e-12)
    assert solve_circulant(c[:0], b[:0]).shape == (0,)


def test_solve_circulant_reads_one_answer_from_the_device():
    c, b = cupy.asarray([4.0, 1, 0, 1]), cupy.asarray([6.0, 6, 6, 6])
    with xp.profiling.count_transfers() as counter:
        solve_circulant(c, b)
    (event,) = counter.events
    assert (event.kind, event.description, event.implicit) == ("sync", "solve_circulant: singularity test", True)
    with xp.profiling.forbid_transfers(), pytest.raises(xp.errors.TransferError, match="singularity test"):
        solve_circulant(c, b)


@pytest.mark.parametrize("host", ["c", "b"])
def test_solve_circulant_refuses_a_mix_of_host_and_device(host):
    arrays = {"c": cupy.asarray([4.0, 1, 0, 1]), "b": cupy.asarray([6.0, 6, 6, 6])}
    arrays[host] = cupy.asnumpy(arrays[host])
    with pytest.raises(MixedBackendError, match="mismatched backends"):
        solve_circulant(**arrays)


def test_solve_circulant_keeps_host_arrays_on_the_host():
    x = solve_circulant(np.array([4.0, 1, 0, 1]), np.full(4, 6.0))
    assert type(x) is np.ndarray
    np.testing.assert_allclose(x, 1)


def test_without_scipy_the_error_says_what_to_do():
    """The stand-in's modules import SciPy when they are asked for a function, some of CuPy's own at once."""
    program = """
import sys
class Missing:
    def find_spec(self, name, *rest):
        if name == "scipy":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import cunumpy as xp
print(xp.get_backend(), xp.scipy.special.available("erf"), xp.scipy.linalg.available("solve_circulant"))
try:
    xp.scipy.special.erf
except xp.errors.MissingPackageError as error:
    print(error, error.name, type(error.__cause__).__name__, sep="; ")
"""
    done = run_in_fake_cupy_subprocess(program, env={"CUNUMPY_BACKEND": "cupy"})
    assert done.stdout.splitlines() == [
        "cupy False True",
        "xp.scipy.special: SciPy is not installed, so cupyx.scipy.special.erf can't be imported. Run: uv add scipy; "
        "cupyx.scipy.special.erf; ModuleNotFoundError",
    ]


@pytest.mark.parametrize(
    ("missing", "text"),
    [
        ("scipy", r"SciPy is not installed, so cupyx\.scipy\.fft can't be imported\. Run: uv add scipy"),
        ("cupy", r"CuPy is not installed, so cupyx\.scipy\.fft can't be imported\. Run: uv add cupy-cuda12x"),
        ("scipy.new", r"cupyx\.scipy\.fft can't be imported: No module named 'scipy\.new'"),
    ],
)
def test_the_error_names_the_package_that_is_missing(monkeypatch, missing, text):
    def broken(name):
        raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    monkeypatch.setattr(_scipy_namespace.importlib, "import_module", broken)
    with pytest.raises(MissingPackageError, match=text):
        _ = ScipyNamespace("fft").dct


VECTOR = cupy.arange(1.0, 5.0)
# Calls with a list or host array where CuPy wants a device array; {} stands for it.
DATA_CALLS = [
    "special.erf({})", "special.ndtri({})", "special.xlogy(d, {})", "special.logsumexp({})", "special.softmax(x={})",
    "fft.dct({})", "fft.fft({})", "fft.rfftn({}, axes=[0])", "fftpack.fft({})", "ndimage.gaussian_filter({}, 1.0)",
    "ndimage.gaussian_filter(input={}, sigma=[1.0])", "ndimage.sum({})", "ndimage.zoom({}, [2.0])",
    "linalg.toeplitz({})", "linalg.expm({})", "stats.zscore({})", "signal.fftconvolve({}, d)", "signal.hilbert({})",
    "signal.medfilt({}, [3])", "interpolate.interp1d({}, d)", "spatial.KDTree({})",
]  # fmt: skip


@pytest.mark.parametrize("call", DATA_CALLS)
@pytest.mark.parametrize("data", ["[1.0, 2.0, 3.0, 4.0]", "(1.0, 2.0)", "[d, d]", "numpy.ones(4)"])
def test_lists_and_host_arrays_are_refused_as_data(call, data):
    names = {"scipy": xp.scipy, "d": VECTOR, "numpy": np}
    kind = type(eval(data, names)).__name__
    with pytest.raises(TypeError, match=rf"^Unsupported type <class '(numpy\.)?{kind}'>$"):
        eval(f"scipy.{call.format(data)}", names)


@pytest.mark.parametrize(
    "call",
    [
        "fft.fftn({m}, s=[2, 2], axes=(0, 1))",
        "ndimage.gaussian_filter({m}, [1.0, 2.0])",
        "ndimage.zoom({m}, (1, 2))",
        "ndimage.uniform_filter({m}, size=[3, 1])",
        "special.logsumexp({m}, axis=(0, 1))",
        "signal.butter(2, [0.2, 0.5], 'band')",
        "signal.get_window(('kaiser', 4.0), 8)",
        "linalg.lu_solve(linalg.lu_factor({m}), {m})",
        "linalg.block_diag({m}, [[1.0]])",
        "interpolate.RegularGridInterpolator(({d}, {d}), {m})([1.5, 2.5])",
        "fft.next_fast_len(13)",
        "special.erf(0.5)",
    ],
)
def test_shapes_sizes_and_sections_may_be_lists(call):
    matrix, vector = np.arange(16.0).reshape(4, 4) ** 2 + np.eye(4), np.arange(1.0, 5.0)
    submodules = ("fft", "interpolate", "linalg", "ndimage", "signal", "special")
    ours = eval(
        call.format(m="m", d="d"),
        {n: getattr(xp.scipy, n) for n in submodules} | {"m": cupy.asarray(matrix), "d": VECTOR},
    )
    theirs = eval(call.format(m="m", d="d"), {n: getattr(scipy, n) for n in submodules} | {"m": matrix, "d": vector})
    for one, other in zip(*(value if isinstance(value, tuple) else (value,) for value in (ours, theirs)), strict=True):
        np.testing.assert_allclose(cupy.asnumpy(one), other, rtol=1e-12)


def test_backend_info_tells_the_device():
    info = xp.backend_info()
    assert info["backend"] == "cupy"
    assert info["cupy_available"] is True
    assert info["cuda_unavailable_reason"] is None
    assert info["versions"]["cupy"] == cupy.__version__
    assert set(info["device"]) == {
        "id",
        "name",
        "compute_capability",
        "visible_devices",
        "driver_version",
        "runtime_version",
    }
