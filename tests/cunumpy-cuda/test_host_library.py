"""Native libraries are loaded, or refused with the reason and the remedy."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from cpp_compiler import shared_library
from cunumpy.cuda import cuda_include_dir, include_hash
from cunumpy.cuda._host_library import _SUFFIX, HostLibrary, address
from cunumpy.errors import InstallationWarning, MissingPackageError, SettingError

LIBRARY = """
extern "C" const char* cunumpy_headers() { return "HEADERS"; }
extern "C" int cunumpy_instruction_set() { return 1; }
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package without a native library; the function gives it one that was built from such headers."""
    monkeypatch.delenv("CUNUMPY_NO_NATIVE", raising=False)
    monkeypatch.delenv("CUNUMPY_REQUIRE_NATIVE", raising=False)
    module = ModuleType("some.package")
    module.__file__ = str(tmp_path / "__init__.py")
    monkeypatch.setitem(sys.modules, "some.package", module)

    def build(headers: str) -> None:
        shared_library(LIBRARY.replace("HEADERS", headers), tmp_path / f"_some_package{_SUFFIX}")

    return build


def current(name: str) -> str:
    return f"{name}:{include_hash([Path(cuda_include_dir(), 'cunumpy', name)])}"


def test_a_library_that_was_built_from_the_installed_headers_is_used(package):
    package(f"{current('random.cuh')},{current('morton.cuh')}")
    found = HostLibrary("some.package")
    assert found.library is not None
    assert found.problem is None
    assert found.status == "native, AVX2"


def test_a_library_from_other_headers_is_refused(package):
    package(f"{current('morton.cuh')},random.cuh:0123456789abcdef")
    with pytest.warns(
        InstallationWarning, match=r"some\.package: .* built from another random\.cuh .* uv sync --reinstall-package"
    ) as caught:
        found = HostLibrary("some.package")
    assert caught[0].filename == __file__
    assert found.library is None
    assert found.status.startswith("the NumPy path; no native library: it was built from another random.cuh")


def test_a_library_from_a_header_that_is_gone_is_refused(package):
    package("gone.cuh:0123456789abcdef")
    with pytest.warns(InstallationWarning, match=r"another gone\.cuh .*not none"):
        assert HostLibrary("some.package").library is None


def test_a_file_that_is_no_library_is_refused(package, tmp_path):
    (tmp_path / f"_some_package{_SUFFIX}").write_text("no library")
    with pytest.warns(InstallationWarning, match=r"can't be loaded"):
        assert HostLibrary("some.package").library is None


def test_none_built(package):
    found = HostLibrary("some.package")
    assert found.library is None
    assert found.status.startswith(
        "the NumPy path; no native library: none was built: when the package was, there was "
    )
    assert found.status.endswith("uv sync --reinstall-package some-package, or uv add --reinstall some-package")


def test_it_can_be_left_out(package, monkeypatch):
    package(current("random.cuh"))
    monkeypatch.setenv("CUNUMPY_NO_NATIVE", "yes")
    assert HostLibrary("some.package").status == "the NumPy path; no native library: CUNUMPY_NO_NATIVE is set"


@pytest.mark.parametrize("headers", [None, "random.cuh:0123456789abcdef"])
def test_it_can_be_required(package, monkeypatch, headers):
    if headers:
        package(headers)
    monkeypatch.setenv("CUNUMPY_REQUIRE_NATIVE", "1")
    with pytest.raises(MissingPackageError, match=r"some\.package: CUNUMPY_REQUIRE_NATIVE is set, .*: .*built"):
        HostLibrary("some.package")


def test_a_setting_that_means_nothing_is_an_error(package, monkeypatch):
    monkeypatch.setenv("CUNUMPY_NO_NATIVE", "perhaps")
    with pytest.raises(SettingError, match=r"CUNUMPY_NO_NATIVE='perhaps'"):
        HostLibrary("some.package")


def test_the_address_is_where_the_values_are():
    array = np.arange(5.0)
    assert address(array[2:]) == address(array) + 16 == array[2:].ctypes.data
