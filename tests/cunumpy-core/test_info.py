"""`backend_info`, `python -m cunumpy` and `python -m cunumpy cache`."""

import importlib.util
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import warnings
from importlib import metadata
from types import SimpleNamespace

import numpy as np
import pytest

import cunumpy
from cunumpy import _backend, _caches, _info, _launcher, _threads, _versions
from cunumpy.__main__ import main
from cunumpy.errors import CuNumpyWarning


def command(*arguments, **environ):
    return subprocess.run(
        [sys.executable, "-m", "cunumpy", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environ},
        timeout=60,
    )


# --- backend_info -----------------------------------------------------------------------------------------------------


@pytest.fixture
def cupy_missing(monkeypatch):
    monkeypatch.setattr(_backend, "cupy_available", lambda: False)
    monkeypatch.setattr(_backend, "cupy_unavailable_reason", lambda: "CuPy is not installed")


def fake_cupy(**failing):
    """The few functions of CuPy that tell of the device."""

    def fail():
        raise OSError("no driver")

    runtime = SimpleNamespace(
        getDevice=fail if failing else lambda: 1,
        getDeviceProperties=lambda number: {"name": b"NVIDIA H200"},
        getDeviceCount=lambda: 2,
        driverGetVersion=lambda: 12080,
        runtimeGetVersion=lambda: 12060,
    )
    device = SimpleNamespace(compute_capability="90")
    return SimpleNamespace(__version__="14.2.0", cuda=SimpleNamespace(runtime=runtime, Device=lambda number: device))


def test_backend_info_without_cupy(cupy_missing, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,2")
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    info = _info.backend_info()
    assert json.loads(json.dumps(info)) == info
    assert info == {
        "backend": "numpy",
        "cupy_available": False,
        "cuda_unavailable_reason": "CuPy is not installed",
        "versions": {
            "cunumpy": _versions.version(),
            "numpy": np.__version__,
            "array-api-compat": metadata.version("array-api-compat"),
            "cupy": None,
        },
        "min_cupy_version": "14.0.0",
        "device": None,
        "cuda_visible_devices": "1,2",
    }


def test_backend_info_with_a_device(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(_backend, "cupy_available", lambda: True)
    monkeypatch.setattr(_backend, "cupy_unavailable_reason", lambda: None)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    info = _info.backend_info()
    assert json.loads(json.dumps(info)) == info
    assert info["cupy_available"] is True
    assert info["cuda_unavailable_reason"] is None
    assert info["cuda_visible_devices"] is None
    assert info["versions"]["cupy"] == "14.2.0"
    assert info["device"] == {
        "id": 1,
        "name": "NVIDIA H200",
        "compute_capability": "90",
        "visible_devices": 2,
        "driver_version": 12080,
        "runtime_version": 12060,
    }


def test_backend_info_with_a_device_that_does_not_answer(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(failing=True))
    monkeypatch.setattr(_backend, "cupy_available", lambda: True)
    monkeypatch.setattr(_backend, "cupy_unavailable_reason", lambda: None)
    info = _info.backend_info()
    assert info["device"] is None
    assert info["cuda_inspection_error"] == "OSError: no driver"


def test_backend_info_does_not_raise_where_warnings_are_errors(monkeypatch):
    def look():
        warnings.warn("CuPy 13 is old", CuNumpyWarning, stacklevel=1)
        return False

    monkeypatch.setattr(_backend, "cupy_available", look)
    monkeypatch.setattr(_backend, "cupy_unavailable_reason", lambda: "no device")
    with pytest.warns(CuNumpyWarning, match="CuPy 13 is old"):
        assert _info.backend_info()["cuda_unavailable_reason"] == "no device"


# --- the report -------------------------------------------------------------------------------------------------------


@pytest.mark.needs("scipy", "cunumpy.rng")
def test_the_report_as_json():
    importlib.import_module("cunumpy.rng")  # loads its library
    from cunumpy.cuda._host_library import HOST_LIBRARIES

    done = command("--json", CUNUMPY_STRICT=" yes", CUNUMPY_BACKND="cupy")
    assert (done.returncode, done.stderr) == (0, "")
    data = json.loads(done.stdout)
    assert set(data["cunumpy"]["distributions"]) == set(_versions.DISTRIBUTIONS)
    assert data["cunumpy"]["version"] == metadata.version("cunumpy-core")
    assert data["cunumpy"]["location"] == os.path.dirname(_versions.__file__)
    assert data["python"]["version"] == platform.python_version()
    assert data["packages"]["numpy"] == np.__version__
    assert data["packages"]["scipy"] == metadata.version("scipy")
    assert data["backend"]["min_cupy_version"] == "14.0.0"
    assert data["native_code"]["cunumpy-rng"] == HOST_LIBRARIES["cunumpy.rng"].status
    assert data["native_code"]["threads"] == _threads.thread_count()
    assert set(data["compilers"]) >= {"c++", "g++", "clang++", "nvcc"}
    assert data["settings"]["CUNUMPY_STRICT"] == {"text": " yes", "value": True}
    assert data["unknown_variables"] == {"CUNUMPY_BACKND": "CUNUMPY_BACKEND"}


def test_the_report_as_text():
    done = command(
        CUNUMPY_STRICT="1", CUNUMPY_STRIKT="1", MAYBEMPI="perhaps", PMI_RANK="2", PMI_SIZE="4", CXX="nocxx -O3"
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert f"version {metadata.version('cunumpy-core')}" in lines
    assert "CUNUMPY_STRICT '1', read as True" in lines
    assert "CUNUMPY_STRIKT is no variable of CuNumpy; did you mean CUNUMPY_STRICT?" in lines
    assert any(line.startswith("MAYBEMPI environment variable MAYBEMPI='perhaps' means nothing") for line in lines)
    assert "launch a launcher with PMI (by PMI_RANK): rank 2, size 4" in lines
    assert "CXX nocxx is not on the PATH" in lines
    for title in ("CuNumpy", "Python", "Packages", "Native code", "Backend", "MPI", "Compilers", "Settings"):
        assert title in lines


def test_the_text_shows_device_and_problems(cupy_missing, monkeypatch):
    data = _info.report()
    data["backend"].update(
        cupy_available=True,
        device={
            "id": 0,
            "name": "NVIDIA H200",
            "compute_capability": "90",
            "visible_devices": 1,
            "driver_version": 12080,
            "runtime_version": 12060,
        },
        cuda_inspection_error="OSError: no driver",
    )
    data["packages"]["cupy"] = {"cupy-cuda12x": "14.2.0", "cupy-cuda13x": "14.2.0"}
    data["cunumpy"]["distributions"]["cunumpy-petsc"] = None
    text = _info.report_text(data)
    assert "0 of 1: NVIDIA H200, compute capability 90, driver 12080, runtime 12060" in text
    assert "the device can't be asked: OSError: no driver" in text
    assert "more than one CuPy is installed" in text
    assert "not installed" in text


@pytest.mark.needs("cunumpy.rng", "cunumpy.algorithms")
def test_the_report_says_which_native_code_runs_and_why_not():
    done = command(CUNUMPY_NO_NATIVE="1", CUNUMPY_REQUIRE_NATIVE="", CUNUMPY_NUM_THREADS="3")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    for name in ("cunumpy-rng", "cunumpy-algorithms"):
        assert f"{name} the NumPy path; no native library: CUNUMPY_NO_NATIVE is set" in lines
    assert "threads 3" in lines


@pytest.mark.needs("cunumpy.rng")
@pytest.mark.parametrize(
    ("environment", "package", "threads"),
    [
        ({"CUNUMPY_NO_NATIVE": "1", "CUNUMPY_REQUIRE_NATIVE": "1"}, "can't be imported: cunumpy.rng: CUNUMPY_REQ", ""),
        ({"CUNUMPY_NO_NATIVE": "perhaps"}, "can't be imported: environment variable CUNUMPY_NO_NATIVE='perhaps'", ""),
        ({"CUNUMPY_NUM_THREADS": "many"}, "", "environment variable CUNUMPY_NUM_THREADS='many' means nothing"),
    ],
)
def test_settings_that_stop_native_code_are_part_of_the_report(environment, package, threads):
    done = command("--json", **{"CUNUMPY_REQUIRE_NATIVE": "", **environment})
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)["native_code"]
    assert str(found["cunumpy-rng"]).startswith(package)
    assert str(found["threads"]).startswith(threads)


def test_packages_that_are_not_installed_are_not_looked_into(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    found = _info._native_code()
    assert (found["cunumpy-rng"], found["cunumpy-algorithms"]) == (None, None)
    data = _info.report() | {"native_code": found}
    assert re.search(r"(?m)^Native code\n  cunumpy-rng +not installed\n", _info.report_text(data))


def test_an_older_cunumpy_beside_ours_is_reported(tmp_path, monkeypatch):
    (tmp_path / "cunumpy-0.7.1.dist-info").mkdir()
    monkeypatch.setattr(cunumpy, "__path__", [*cunumpy.__path__, str(tmp_path / "cunumpy")])
    data = _info.report()
    assert data["cunumpy"]["older"] == ["0.7.1"]
    assert "files of cunumpy 0.7.1, an older package, are mixed in: uv remove cunumpy" in _info.report_text(data)


def test_editable_and_other_installations_are_told_apart(tmp_path, monkeypatch):
    for name, direct in {
        "editable_one": '{"url": "file:///x", "dir_info": {"editable": true}}',
        "plain_one": '{"url": "file:///x", "dir_info": {}}',
        "broken_one": "{",
        "wheel_one": None,
    }.items():
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        if direct is not None:
            (folder / "direct_url.json").write_text(direct)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert _info._distribution("editable_one") == {"version": "1.0", "editable": True}
    for name in ("plain_one", "broken_one", "wheel_one"):
        assert _info._distribution(name) == {"version": "1.0", "editable": False}
    assert _info._distribution("no_such_distribution") is None


def test_a_problem_with_the_local_rank_is_part_of_the_report(monkeypatch):
    monkeypatch.setattr(_launcher, "find_launch", lambda: _launcher.Launch("PMIx", "PMIX_RANK", 1, None, None, None))
    monkeypatch.setenv("PMIX_RANK", "1")
    assert "no variable tells the rank on the node" in _info._mpi()["problem"]


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("print('MPI 4.1'); print('more')", "MPI 4.1"),
        (
            "raise RuntimeError('cannot load MPI library')",
            "fails with exit status 1: RuntimeError: cannot load MPI library",
        ),
        ("", "says nothing"),
    ],
)
def test_programs_that_are_asked_for_their_version(program, text):
    assert _info._run([sys.executable, "-c", program]) == text


def test_programs_that_are_not_there():
    assert _info._run(["/no/such/program"]).startswith("can't be run: No such file")


# --- command line -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [("--foo",), ("cash",), ("cache", "--clean"), ("cache", "all")])
def test_unknown_arguments_end_in_one_line(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("python -m cunumpy")
    assert output.err.count("\n") == 1
    assert arguments[-1] in output.err


def test_help_names_the_command(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert "--json" in text
    assert "cache" in text


@pytest.mark.parametrize("arguments", [[], ["--json"], ["cache"]])
def test_a_closed_output_is_no_error(arguments, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(arguments) == 0


@pytest.mark.parametrize(("encoding", "shown"), [("ascii", r"\xe9\udcff"), ("utf-8", "é\\udcff")])
def test_what_the_encoding_lacks_is_escaped(encoding, shown, monkeypatch):
    output = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setenv("CXX", "é\udcff")
    assert main([]) == 0
    output.flush()
    assert f"{shown} is not on the PATH" in output.buffer.getvalue().decode(encoding)


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """Keep the caches of this machine's programs out of it."""
    folder = tmp_path / "notes"
    monkeypatch.setattr(_caches, "_notes", lambda: folder)
    return folder


def test_no_caches(notes, monkeypatch, capsys):
    monkeypatch.setattr(_caches, "CACHES", {})
    for arguments in (["cache"], ["cache", "--clear"]):
        assert main(arguments) == 0
        assert capsys.readouterr().out == "no kernel caches: none of the installed packages keeps one\n"
    assert main(["cache", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"caches": []}


@pytest.fixture
def cache(tmp_path, monkeypatch, notes):
    folder = tmp_path / "kernels"
    (folder / "ab").mkdir(parents=True)
    (folder / "ab" / "one.so").write_bytes(b"12345")
    (folder / "two.so").write_bytes(b"123")
    (folder / "thesis.tex").write_text("not ours")
    monkeypatch.setattr(
        _caches, "CACHES", {"kernels": _caches.Cache("compiled kernels", lambda: folder, ("*.so", "*.json"))}
    )
    return folder


def test_caches_of_programs_are_remembered(cache, capsys, tmp_path, notes):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.so").write_bytes(b"1234")
    for folder in ("mine", "gone"):
        _caches.remember("my code", tmp_path / folder, "compiled host kernels", ("*.so",))
    for number, text in enumerate(("", "{", "[]", '{"folder": 3}')):  # of processes that were killed
        (notes / f"{number}.json").write_text(text)
    assert main(["cache"]) == 0
    second = capsys.readouterr().out.splitlines()[1:]
    assert second == [f"my code: 1 file, 4 bytes in {tmp_path / 'mine'} (compiled host kernels)"]
    assert main(["cache", "--clear"]) == 0
    assert list((tmp_path / "mine").iterdir()) == []


def test_caches_are_not_remembered_where_the_home_can_not_be_written_to(notes, tmp_path):
    notes.write_text("a file, so that no folder can be made")
    _caches.remember("my code", tmp_path, "compiled host kernels", ("*.so",))
    assert list(_caches._remembered()) == []


def test_a_cache_is_shown(cache, capsys):
    assert main(["cache"]) == 0
    assert capsys.readouterr().out == f"kernels: 2 files, 8 bytes in {cache} (compiled kernels)\n"
    assert len(list(cache.rglob("*.so"))) == 2


def test_a_cache_is_cleared_of_its_own_files_only(cache, capsys, tmp_path):
    outside = tmp_path / "outside.so"
    outside.write_bytes(b"1")
    (cache / "link.so").symlink_to(outside)
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out == f"kernels: removed 2 files, 8 bytes from {cache}\n"
    assert {path.name for path in cache.rglob("*") if path.is_file()} == {"thesis.tex", "link.so"}
    assert outside.exists()
    assert main(["--json", "cache"]) == 0
    shown = json.loads(capsys.readouterr().out)["caches"]
    assert [(one["files"], one["bytes"]) for one in shown] == [(0, 0)]


def test_a_cache_is_limited_to_what_was_used_last(cache, capsys):
    for number, name in enumerate(
        ["old", "older", "new"]
    ):  # a build has several files, and its time is the last of them
        (cache / name).mkdir()
        for file, age in (("kernel.so", [20, 30, 0][number]), ("kernel.json", 1000)):
            (cache / name / file).write_bytes(b"x" * 50)
            os.utime(cache / name / file, (2e9 - age, 2e9 - age))
    assert main(["cache", "--limit", "0.4kB"]) == 0
    assert capsys.readouterr().out == f"kernels: removed 0 files, 0 bytes from {cache}\n"
    assert main(["cache", "--limit", "220"]) == 0
    assert capsys.readouterr().out.startswith("kernels: removed 4 files, 108 bytes")
    assert {path.parent.name for path in cache.rglob("kernel.*")} == {"old", "new"}
    assert main(["cache", "--limit", "199B", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"][0]["bytes"] == 100
    assert {path.parent.name for path in cache.rglob("kernel.*")} == {"new"}
    assert main(["cache", "--limit", "0"]) == 0
    assert [path.name for path in cache.rglob("*") if path.is_file()] == ["thesis.tex"]


@pytest.mark.parametrize("size", ["", "much", "-1", "1e3", "3 apples", "10TB"])
def test_what_is_no_size_is_refused(cache, capsys, size):
    with pytest.raises(SystemExit):
        main(["cache", f"--limit={size}"])
    assert f"{size!r} is no size; write it as 500000, 500kB, 200MB or 1GB" in capsys.readouterr().err
    assert len(list(cache.rglob("*.so"))) == 2


def test_a_cache_that_does_not_exist_yet_is_empty(cache, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(
        _caches, "CACHES", {"kernels": _caches.Cache("compiled kernels", lambda: tmp_path / "none", ("*.so",))}
    )
    assert main(["cache", "--clear"]) == 0
    assert "removed 0 files, 0 bytes" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["--clear"], ["--limit", "0"]])
def test_other_processes_remove_builds_meanwhile(cache, capsys, monkeypatch, arguments):
    for number in range(20):
        (cache / f"build{number:02}").mkdir()
        (cache / f"build{number:02}" / "kernel.so").write_bytes(b"1")
    scandir = os.scandir

    def removed_meanwhile(path="."):
        if str(path).endswith(("build07", "build15")):
            shutil.rmtree(path, ignore_errors=True)
        return scandir(path)

    monkeypatch.setattr("os.scandir", removed_meanwhile)
    assert main(["cache", *arguments]) == 0
    assert "20 files" in capsys.readouterr().out  # 18 of these, and the two that were there before


def test_files_that_can_not_be_removed_are_reported(cache, capsys, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.unlink", refuse)
    assert main(["cache", "--clear"]) == 1
    output = capsys.readouterr()
    assert "removed 0 files, 0 bytes" in output.out
    assert output.err.count("Permission denied") == 2
