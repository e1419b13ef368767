"""Choosing the backend where CuPy can't be used: names, fallback, scopes. What needs CuPy is in tests/standin."""

import asyncio
import logging
import os
import re
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import cunumpy as xp
from cunumpy import _installation, errors


def run(code, **environment):
    """Run code in a fresh interpreter without settings of ours and return the process."""
    base = {k: v for k, v in os.environ.items() if not k.startswith("CUNUMPY_")}
    return subprocess.run(
        [sys.executable, "-W", "always", "-c", code],
        env=base | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


SHOW = "import cunumpy as xp; print(xp.get_backend())"


@pytest.mark.parametrize("name", ["numpy", "NumPy", " numpy ", "NUMPY\n"])
def test_names_in_any_case_and_with_blanks(name):
    xp.set_backend(name)
    assert xp.get_backend() == "numpy"
    with xp.use_backend(name):
        assert xp.get_backend() == "numpy"
    assert run(SHOW, CUNUMPY_BACKEND=name).stdout == "numpy\n"


@pytest.mark.parametrize("name", ["jax", "", None, 3, "cuda", b"numpy"])
def test_unknown_names_are_refused_at_the_call(name):
    for function in (xp.set_backend, xp.use_backend):
        with pytest.raises(
            errors.ArgumentError, match=rf"{function.__name__}: backend must be 'numpy' or 'cupy', got "
        ):
            function(name)
    assert xp.get_backend() == "numpy"


@pytest.mark.parametrize("value", ["cuda", "jax", "cupy12"])
def test_unknown_value_of_the_environment_variable(value):
    process = run(SHOW, CUNUMPY_BACKEND=value)
    assert process.returncode != 0
    assert "CUNUMPY_BACKEND" in process.stderr
    assert value in process.stderr
    assert "numpy" in process.stderr


class TestFallback:
    """CuPy is not installed where these tests run."""

    pytestmark = pytest.mark.skipif(xp.cupy_available(), reason="CuPy can be used here, so nothing falls back")

    def test_set_backend_warns_with_reason_and_remedy(self):
        with pytest.warns(
            errors.BackendFallbackWarning, match=r"set_backend: .*NumPy is used.*uv add cupy-cuda12x"
        ) as seen:
            xp.set_backend("cupy")
        assert xp.get_backend() == "numpy"
        assert seen[0].filename == __file__
        assert issubclass(errors.BackendFallbackWarning, RuntimeWarning)

    def test_use_backend_warns_on_entry(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            scope = xp.use_backend("cupy")
        with pytest.warns(errors.BackendFallbackWarning, match="use_backend") as seen, scope:
            assert xp.get_backend() == "numpy"
        assert seen[0].filename == __file__

    def test_strict_by_argument(self):
        before = xp.zeros
        with pytest.raises(errors.BackendUnavailableError, match=r"set_backend: .*strictly.*uv add cupy-cuda12x"):
            xp.set_backend("cupy", strict=True)
        with pytest.raises(RuntimeError), xp.use_backend("cupy", strict=True):
            pass
        assert xp.get_backend() == "numpy"
        assert xp.zeros is before

    def test_strict_by_environment(self, monkeypatch):
        monkeypatch.setenv("CUNUMPY_STRICT", " Yes ")
        with pytest.raises(errors.BackendUnavailableError):
            xp.set_backend("cupy")
        with pytest.warns(errors.BackendFallbackWarning):
            xp.set_backend("cupy", strict=False)

    def test_environment_variable(self):
        process = run(SHOW, CUNUMPY_BACKEND=" CuPy ")
        assert process.returncode == 0
        assert process.stdout == "numpy\n"
        assert "BackendFallbackWarning: CUNUMPY_BACKEND: the CuPy backend was requested" in process.stderr
        process = run(SHOW, CUNUMPY_BACKEND="cupy", CUNUMPY_STRICT="1")
        assert process.returncode != 0
        assert "BackendUnavailableError: CUNUMPY_BACKEND" in process.stderr

    def test_reason(self):
        assert xp.cupy_available() is False
        assert xp.cupy_available(refresh=True) is False
        assert "CuPy is not installed" in xp.backend_info()["cuda_unavailable_reason"]

    def test_broken_cupy_is_a_reason(self, tmp_path):
        (tmp_path / "cupy.py").write_text("raise OSError('libcuda.so.1 is missing')\n")
        process = run("import cunumpy as xp; xp.set_backend('cupy')", PYTHONPATH=str(tmp_path))
        assert "OSError: libcuda.so.1 is missing" in process.stderr

    @pytest.mark.parametrize("version", ["'9.0.0'", "'14.1.0'", "14", "None", "'banana'"])
    def test_a_cupy_without_what_is_needed_is_a_reason(self, tmp_path, version):
        (tmp_path / "cupy.py").write_text(f"__version__ = {version}\ndef is_available(): return True\n")
        code = (
            "import cunumpy as xp\nassert not xp.available('sum', 'cupy')\nxp.set_backend('cupy')\n"
            "assert not xp.cupy_available()\nprint(xp.get_backend(), xp.sum(xp.ones(2)))"
        )
        process = run(code, PYTHONPATH=str(tmp_path))
        assert process.stdout == "numpy 2.0\n", process.stderr
        assert "BackendFallbackWarning: set_backend" in process.stderr
        assert "its namespace does not load, ImportError: cannot import name" in process.stderr
        process = run(SHOW, PYTHONPATH=str(tmp_path), CUNUMPY_BACKEND="cupy", CUNUMPY_STRICT="1")
        assert "BackendUnavailableError: CUNUMPY_BACKEND" in process.stderr

    def test_no_device_is_a_reason(self, tmp_path):
        (tmp_path / "cupy.py").write_text("def is_available(): return False\n")
        process = run("import cunumpy as xp; xp.set_backend('cupy')", PYTHONPATH=str(tmp_path))
        assert "there is no usable CUDA device" in process.stderr


def test_choice_is_logged(caplog):
    with caplog.at_level(logging.INFO, logger="cunumpy"):
        xp.set_backend("numpy")
    assert "backend set to numpy" in caplog.text


class TestScopes:
    def test_restores_on_exception(self):
        with pytest.raises(ZeroDivisionError), xp.use_backend("numpy"):
            raise ZeroDivisionError
        assert xp.get_backend() == "numpy"

    def test_one_object_entered_twice(self):
        scope = xp.use_backend("numpy")
        with scope, scope:
            assert xp.get_backend() == "numpy"
        with scope:
            pass

    def test_left_out_of_order(self):
        outer, inner = xp.use_backend("numpy"), xp.use_backend("numpy")
        outer.__enter__()
        inner.__enter__()
        with pytest.raises(errors.ScopeError, match=r"a scope entered later is still open"):
            outer.__exit__(None, None, None)
        inner.__exit__(None, None, None)

    def test_left_without_being_entered(self):
        with pytest.raises(errors.ScopeError, match="without having been entered"):
            xp.use_backend("numpy").__exit__(None, None, None)

    def test_left_in_another_thread(self):
        scope = xp.use_backend("numpy")
        scope.__enter__()
        raised = []

        def leave():
            try:
                scope.__exit__(None, None, None)
            except errors.ScopeError as error:
                raised.append(str(error))

        thread = threading.Thread(target=leave)
        thread.start()
        thread.join()
        assert len(raised) == 1
        assert "another context" in raised[0]

    def test_decorates_functions_of_every_kind(self):
        @xp.use_backend("numpy")
        def plain(x):
            """Doc."""
            return x, xp.get_backend()

        @xp.use_backend("numpy")
        def generator(n):
            got = yield xp.get_backend()
            yield got
            return n

        @xp.use_backend("numpy")
        async def coroutine():
            await asyncio.sleep(0)
            return xp.get_backend()

        assert plain(1) == (1, "numpy")
        assert plain.__doc__ == "Doc."
        iterator = generator(7)
        assert next(iterator) == "numpy"
        assert iterator.send(5) == 5
        with pytest.raises(StopIteration) as stop:
            next(iterator)
        assert stop.value.value == 7
        assert asyncio.run(coroutine()) == "numpy"


class TestNamespaceOfTheActiveBackend:
    def test_names_are_plain_attributes(self):
        assert type(xp) is type(np)
        assert vars(xp)["sum"] is np.sum
        assert xp.numpy_backend is True
        assert xp.cupy_backend is False

    def test_a_missing_name_names_package_backend_and_the_likely_one(self):
        with pytest.raises(
            AttributeError, match=r"'cunumpy' has no attribute 'zerosz' on the numpy backend.*'zeros'"
        ) as e:
            _ = xp.zerosz
        assert e.value.name == "zerosz"

    def test_monkeypatching(self, monkeypatch):
        monkeypatch.setattr(xp, "zeros", len)
        assert xp.zeros([1, 2]) == 2
        monkeypatch.undo()
        assert xp.zeros is np.zeros

    def test_available(self):
        assert xp.available("zeros")
        assert xp.available("linalg.svd", "numpy")
        assert not xp.available("linalg.sdv")
        assert not xp.available("zeros.nothing")
        assert not xp.available("_private")
        with pytest.raises(errors.ArgumentError, match="available: backend"):
            xp.available("zeros", "jax")

    def test_dir_is_curated(self):
        names = dir(xp)
        assert {"sum", "linalg", "set_backend", "numpy_backend", "cupy_backend", "profiling", "scipy"} <= set(names)
        assert not [name for name in names if name.startswith("_") and name not in ("__all__", "__version__")]
        assert "PackageNotFoundError" not in names

    def test_all_lists_what_is_installed_and_does_not_rebind_xp(self):
        assert "xp" not in xp.__all__
        assert "zeros" not in xp.__all__
        assert {"set_backend", "profiling", "numpy_backend"} <= set(xp.__all__)
        process = run(
            "import cunumpy as xp; before = xp\nfrom cunumpy import *\nprint(before is xp, profiling, to_numpy)"
        )
        assert process.stdout.startswith("True <module 'cunumpy.profiling'")

    def test_own_submodules_never_hide_a_name_of_numpy(self):
        for name in _installation.SUBMODULES:
            assert not hasattr(np, name)

    @pytest.mark.needs("scipy")
    @pytest.mark.parametrize(
        ("name", "place"),
        [
            ("HostStaging", "cunumpy.memory.HostStaging"),
            ("count_transfers", "cunumpy.profiling.count_transfers"),
            ("svd", "xp.linalg.svd"),
            ("rfft", "xp.fft.rfft"),
            ("erf", "xp.scipy.special.erf"),
            ("asnumpy", "use xp.to_numpy"),
        ],
    )
    def test_a_name_of_another_place_is_pointed_out(self, name, place):
        import scipy.special  # noqa: F401 - only what is loaded is looked at

        with pytest.raises(errors.MissingNameError, match=re.escape(place)):
            getattr(xp, name)

    @pytest.mark.needs("cunumpy.rng")
    def test_short_names_are_compared_with_short_ones(self):
        with pytest.raises(errors.MissingNameError, match="did you mean 'rng'"):
            _ = xp.rgn

    def test_a_missing_name_of_fft(self):
        with pytest.raises(errors.MissingNameError, match=r"'cunumpy\.fft' has no attribute 'ffft' .*'fft'"):
            _ = xp.fft.ffft

    @pytest.mark.parametrize(
        "first",
        [
            "import sys;",
            "import numpy.fft, numpy.random;",
            pytest.param("import scipy.fft;", marks=pytest.mark.needs("scipy")),
        ],
    )
    def test_whatever_was_loaded_before(self, first):
        code = f"{first} import cunumpy as xp; print(xp.fft.fftfreq(4, dtype=xp.float32).dtype, xp.random.default_rng)"
        assert run(code).stdout.startswith("float32 <")

    def test_version_module_of_numpy_is_not_hidden(self):
        assert xp.version is np.version


class TestArrayBackend:
    def test_own_choice(self):
        from cunumpy.xp import ArrayBackend

        chosen = ArrayBackend(" NumPy ")
        assert chosen.backend == "numpy"
        assert chosen.xp is xp.get_array_module(np.zeros(1))
        assert repr(chosen) == "ArrayBackend(backend='numpy', module='cunumpy._numpy_namespace')"
        heard = []
        chosen.add_listener(heard.append)
        assert heard == [chosen.xp]
        with chosen.use_backend("numpy"):
            pass
        assert heard == [chosen.xp]
        with pytest.raises(errors.ArgumentError, match="ArrayBackend: backend must be"):
            ArrayBackend("jax")

    def test_the_process(self, capsys):
        from cunumpy.xp import ArrayBackend, array_backend

        assert array_backend.backend == xp.get_backend()
        assert array_backend.xp is xp.get_namespace()
        array_backend.set("numpy")
        with array_backend.use_backend("numpy"):
            assert array_backend.backend == "numpy"
        ArrayBackend(verbose=True)
        assert capsys.readouterr().out == "CuNumpy uses the numpy backend.\n"

    def test_conversion_that_programs_import_from_here(self):
        from cunumpy.xp import to_numpy

        assert to_numpy is xp.to_numpy


def test_default_float_dtype():
    assert xp.default_float_dtype() is np.float64
