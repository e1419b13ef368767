"""Compiling without a GPU: what kernels take, where messages point, and what is refused."""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import cunumpy as xp
from cunumpy.cuda import CompileMessage, CompileReport, KernelUsage, check_cuda
from cunumpy.errors import ArgumentError, ArgumentTypeError, CompileError

HALVE = 'extern "C" __global__ void halve(double* x) { x[threadIdx.x] *= 0.5; }\n'
REVERSE = """
template <class T> __global__ void reverse(T* x) {
    __shared__ T block[64];
    block[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = block[63 - threadIdx.x];
}
"""
# An array whose indices are not known when it is compiled has to be in local memory.
TABLE = """
namespace field { __global__ void shuffle(double* x, int n) {
    double a[200];
    for (int i = 0; i < n; i++) a[(i * 7) % 200] = x[i];
    for (int i = 0; i < n; i++) x[i] = a[(i * i) % 200];
} }
"""


def register_counts(cubin: bytes) -> dict[str, int]:
    """Return the registers of each kernel as the machine code's own table has them (attribute 0x2f of .nv.info)."""
    offset, size, count, names = (*struct.unpack_from("<Q", cubin, 0x28), *struct.unpack_from("<HHH", cubin, 0x3A))
    sections = [struct.unpack_from("<IIQQQQIIQQ", cubin, offset + size * number) for number in range(count)]

    def text(table: tuple[int, ...], at: int) -> str:
        start = table[4] + at
        return cubin[start : cubin.index(b"\0", start)].decode()

    by_name = {text(sections[names], section[0]): section for section in sections}
    symbols, strings, info = (by_name[name] for name in (".symtab", ".strtab", ".nv.info"))
    found = {}
    for at in range(info[4], info[4] + info[5], 12):
        form, attribute, length, symbol, value = struct.unpack_from("<BBHII", cubin, at)
        assert (form, length) == (4, 8)
        if attribute == 0x2F:
            found[text(strings, struct.unpack_from("<I", cubin, symbols[4] + 24 * symbol)[0])] = value
    return found


# --- what kernels take ------------------------------------------------------------------------------------------------


def test_every_kernel_is_reported_for_every_architecture() -> None:
    report = check_cuda(HALVE + TABLE)
    archs = ["sm_75", "sm_80", "sm_90", "sm_120"]
    assert [(usage.name, usage.arch) for usage in sorted(report.kernels, key=lambda one: one.name)] == [
        *(("field::shuffle", arch) for arch in archs),
        *(("halve", arch) for arch in archs),
    ]
    assert list(report.cubins) == archs
    assert all(cubin.startswith(b"\x7fELF") for cubin in report.cubins.values())


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_registers_are_those_of_the_machine_code(arch: str) -> None:
    report = check_cuda(HALVE + TABLE, archs=[arch])
    counts = register_counts(report.cubins[arch])
    assert {usage.name: usage.registers for usage in report.kernels} == {
        "halve": counts["halve"],
        "field::shuffle": counts["_ZN5field7shuffleEPdi"],
    }


def test_memory_is_what_the_source_declares() -> None:
    source = f"__constant__ float weights[5];\n{REVERSE}{TABLE}"
    report = check_cuda(source, archs=["sm_80", "sm_120"], name_expressions=["reverse<double>", "reverse<float>"])
    found = {(usage.name, usage.arch): usage for usage in report.kernels}
    for arch in ("sm_80", "sm_120"):
        assert found["reverse<double>", arch].shared == 64 * 8
        assert found["reverse<float>", arch].shared == 64 * 4
        assert found["reverse<float>", arch].barriers == 1
        assert found["field::shuffle", arch].local == 200 * 8
        assert found["field::shuffle", arch].spill_stores == 0
    assert {usage.constant for usage in report.kernels} == {20}
    assert report.lowered_names["reverse<double>"] == "_Z7reverseIdEvPT_"


def test_spills_are_told_from_arrays() -> None:
    source = """
    extern "C" __global__ void crowded(double* x) {
        double a[40];
        #pragma unroll
        for (int i = 0; i < 40; i++) a[i] = x[i];
        #pragma unroll
        for (int i = 0; i < 40; i++) x[i + 40] = a[i] * a[(i + 7) % 40] + a[(i + 13) % 40];
    }"""
    (usage,) = check_cuda(source, archs=["sm_80"], options=["-maxrregcount=32"]).kernels
    assert usage.registers is not None
    assert usage.registers <= 32
    assert 0 < usage.spill_stores <= usage.spill_loads
    assert usage.local > 0


def test_functions_that_are_not_inlined_are_reported_apart() -> None:
    source = """
    __device__ __noinline__ int count(int n) { return n < 2 ? 1 : count(n - 1) + count(n - 2); }
    extern "C" __global__ void trees(int* x) { x[0] = count(x[1]); }"""
    report = check_cuda(source, archs=["sm_80"])
    assert [usage.name for usage in report.kernels] == ["trees"]
    (function,) = report.functions
    assert (function.name, function.registers) == ("count", None)
    assert function.local > 0
    assert "count (function)" in str(report)


def test_report_prints_as_a_table() -> None:
    report = CompileReport(
        "NVRTC 12.9",
        (KernelUsage("push<double>", "sm_90", 128, 49152, 0, 0, 16, 1, 0),),
        messages=(CompileMessage("warning", "unused", "push.cu", 7),),
    )
    lines = str(report).splitlines()
    assert lines == [
        "NVRTC 12.9; memory in bytes",
        "kernel        arch   registers  shared  local  spill stores  spill loads  barriers  constant",
        "push<double>  sm_90        128   49152      0             0           16         1         0",
        "push.cu:7: warning: unused",
    ]
    assert "name_expressions" in str(check_cuda(REVERSE, archs=["sm_80"]))  # a template alone is no kernel


def test_reports_and_their_parts_pickle() -> None:
    report = check_cuda(HALVE, archs=["sm_80"])
    assert pickle.loads(pickle.dumps(report)) == report


def test_threads_compile_at_the_same_time() -> None:
    sources = [HALVE.replace("halve", f"halve{number}") for number in range(6)]
    with ThreadPoolExecutor(3) as pool:
        reports = list(pool.map(lambda source: check_cuda(source, archs=["sm_80"]), sources))
    assert [report.kernels[0].name for report in reports] == [f"halve{number}" for number in range(6)]


# --- what is searched -------------------------------------------------------------------------------------------------


def test_headers_are_found_shipped_in_folders_and_beside_the_source(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "far.cuh").write_text("#define FAR 2.0\n")
    (tmp_path / "near.cuh").write_text("#define NEAR 3.0\n")
    source = """#include <cunumpy/random.cuh>
    #include "far.cuh"
    #include "near.cuh"
    extern "C" __global__ void f(double* x) { x[0] = FAR * NEAR; }"""
    where = {"include_dirs": [tmp_path / "include"], "filename": tmp_path / "source.cu"}
    assert check_cuda("\ufeff" + source, archs=["sm_80"], **where).kernels[0].name == "f"


# --- messages ---------------------------------------------------------------------------------------------------------


def errors_of(source: str, **options) -> tuple[CompileError, list[tuple[str | None, int | None, str]]]:
    with pytest.raises(CompileError) as caught:
        check_cuda(source, **{"archs": ["sm_80"], "filename": "push.cu", **options})
    messages = [(each.file, each.line, each.text) for each in caught.value.messages if each.severity == "error"]
    return caught.value, messages


def test_errors_name_file_and_line() -> None:
    error, messages = errors_of('extern "C" __global__ void f(double* x) {\n\n    x[0] = missing;\n}\n')
    assert messages == [("push.cu", 3, 'identifier "missing" is undefined')]
    text = str(error)
    assert text.startswith("check_cuda: push.cu does not compile for sm_80 (NVRTC ")
    assert 'push.cu:3: error: identifier "missing" is undefined' in text
    assert "x[0] = missing;" in text
    assert isinstance(error, RuntimeError)
    copied = pickle.loads(pickle.dumps(error))
    assert (str(copied), copied.messages, copied.log) == (text, error.messages, error.log)


def test_errors_in_headers_name_the_header(tmp_path: Path) -> None:
    header = tmp_path / "physics" / "field.cuh"
    header.parent.mkdir()
    header.write_text("// the field\n\n__device__ double field(double x) { return x * charge; }\n")
    _, messages = errors_of("#include <physics/field.cuh>\n", include_dirs=[str(tmp_path)])
    assert messages == [(str(header), 3, 'identifier "charge" is undefined')]


def test_errors_of_the_assembler_name_the_line_of_the_source(tmp_path: Path) -> None:
    source = '__device__ void f(int* x) {\n    asm("nonsense %0;" ::"r"(x[0]));\n}\n'
    kernel = '\nextern "C" __global__ void k(int* x) { f(x); }\n'
    assert errors_of(source + kernel)[1] == [("push.cu", 2, "Not a name of any known instruction: 'nonsense'")]
    header = tmp_path / "f.cuh"
    header.write_text(source)
    for options in ((), ("-G",), ("-lineinfo",)):
        _, messages = errors_of('#include "f.cuh"' + kernel, include_dirs=[tmp_path], options=options)
        assert messages == [(str(header), 2, "Not a name of any known instruction: 'nonsense'")]


@pytest.mark.parametrize(
    ("source", "options", "text"),
    [
        ('extern "C" __global__ void f(int* x) {\n', {}, 'expected a "}" at the end of the source'),
        ("", {"options": ["--no-such-option"]}, "unrecognized option --no-such-option"),
        (REVERSE, {"name_expressions": ["turn<int>"]}, 'identifier "turn" is undefined in the name expression'),
        ("__constant__ double big[10000];", {}, "too much global constant data"),
        (
            'extern "C" __global__ void f(int* x) { __shared__ int a[20000]; a[x[0]] = 1; x[0] = a[5]; }',
            {},
            "Entry function 'f' uses too much shared data",
        ),
        (
            '__device__ int far(int); extern "C" __global__ void f(int* x) { x[0] = far(1); }',
            {},
            "Unresolved extern function",
        ),
        ("#error not here\n", {}, "#error directive: not here"),
        ('#include "nowhere.cuh"\n', {}, 'cannot open source file "nowhere.cuh"'),
    ],
)
def test_every_failure_says_why(source: str, options: dict, text: str) -> None:
    error, messages = errors_of(source, **options)
    assert text in "\n".join(message[2] for message in messages)
    assert text in str(error)


def test_errors_of_some_architectures_say_which() -> None:
    source = """extern "C" __global__ void f(int* x) {
    #if __CUDA_ARCH__ < 900
        x[0] = old;
    #endif
    }"""
    error, _ = errors_of(source, archs=["sm_80", "sm_90", "sm_75"])
    assert "does not compile for sm_80, sm_75 (" in str(error)
    assert [each.archs for each in error.messages] == [("sm_80", "sm_75")]


def test_templates_say_for_which_instance() -> None:
    source = (
        "template <class T> __device__ T f(T* x) { return x.a; }\ntemplate <class T>\n__global__ void k(T* x) { f(x); }"
    )
    error, messages = errors_of(source, name_expressions=["k<double>"])
    assert messages[0][:2] == ("push.cu", 1)
    assert "[with T=double]" in str(error)


def test_warnings_are_in_the_report() -> None:
    report = check_cuda(
        'extern "C" __global__ void f(int* x) {\n    int unused;\n}\n', archs=["sm_80", "sm_90"], filename="a.cu"
    )
    (warning,) = report.messages
    assert (warning.severity, warning.file, warning.line) == ("warning", "a.cu", 2)
    assert warning.archs == ("sm_80", "sm_90")
    assert 'a.cu:2: warning: variable "unused" was declared but never referenced' in str(report)


def test_what_the_assembler_tells_is_no_part_of_a_warning() -> None:
    report = check_cuda(HALVE, archs=["sm_70"])  # of which the compiler says that it is old
    assert report.kernels[0].registers
    assert "ptxas" not in str(report)


# --- arguments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "text"),
    [
        ((Path("a.cu"),), {}, ArgumentTypeError, "'source' must be the source code as str, got pathlib"),
        (("int a;\0",), {}, ArgumentError, "NUL"),
        ((HALVE,), {"options": ["-DA=\0b"]}, ArgumentError, "'options' holds a NUL"),
        ((HALVE,), {"name_expressions": ["f<int>\0"]}, ArgumentError, "'name_expressions' holds a NUL"),
        ((HALVE,), {"filename": "a\0.cu"}, ArgumentError, "'filename' holds a NUL"),
        ((HALVE,), {"include_dirs": ["a\0"]}, ArgumentError, "holds a NUL"),
        (("// \ud800",), {}, ArgumentError, "'source' holds .* half of a character"),
        ((HALVE,), {"options": ["-dlto"]}, ArgumentError, "'-dlto', with which no machine code is made"),
        ((HALVE,), {"archs": "sm_80"}, ArgumentTypeError, r"archs=\['sm_80'\]"),
        ((HALVE,), {"archs": ["sm_80", 90]}, ArgumentTypeError, "'archs' must be made of strings, got 90"),
        ((HALVE,), {"archs": []}, ArgumentError, "names no architecture"),
        ((HALVE,), {"archs": ["sm_21"]}, ArgumentError, "'sm_21', which NVRTC .* choose among .*sm_80"),
        ((HALVE,), {"archs": ["compute_80"]}, ArgumentError, "'compute_80'"),
        ((HALVE,), {"options": "-lineinfo"}, ArgumentTypeError, r"options=\['-lineinfo'\]"),
        ((HALVE,), {"options": ["-arch=sm_80"]}, ArgumentError, r"name architectures by archs=\["),
        ((HALVE,), {"include_dirs": "include"}, ArgumentTypeError, r"include_dirs=\['include'\]"),
        ((HALVE,), {"name_expressions": "f<int>"}, ArgumentTypeError, r"name_expressions=\['f<int>'\]"),
    ],
)
def test_arguments_are_checked(arguments: tuple, options: dict, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text) as caught:
        check_cuda(*arguments, **options)
    assert str(caught.value).startswith("check_cuda: ")


# --- the library ------------------------------------------------------------------------------------------------------

WITHOUT_THE_WHEEL = """
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "nvidia" else found(name, package)
import cunumpy as xp
try:
    print(xp.cuda.check_cuda("", archs=["sm_80"]).compiler)
except xp.errors.MissingPackageError as error:
    print(error)
"""


def without_the_wheel(**environment: str) -> str:
    env = {**os.environ, "PATH": "", "CUDA_PATH": "", "CUDA_HOME": "", **environment}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_WHEEL], capture_output=True, text=True, env=env, check=True
    )
    return done.stdout


def test_without_the_library_the_error_says_what_to_add() -> None:
    text = without_the_wheel()
    assert text.startswith("check_cuda: needs NVRTC")
    assert 'uv add "cunumpy-cuda[nvrtc]"' in text


def test_a_library_of_a_toolkit_serves(tmp_path: Path) -> None:
    import nvidia.cuda_nvrtc

    (tmp_path / "lib64").symlink_to(Path(nvidia.cuda_nvrtc.__path__[0]) / "lib")
    assert without_the_wheel(CUDA_HOME=str(tmp_path)).startswith("NVRTC ")


def test_a_broken_library_is_named(tmp_path: Path) -> None:
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64" / "libnvrtc.so").write_text("no library")
    text = without_the_wheel(CUDA_HOME=str(tmp_path))
    assert f"{tmp_path}/lib64/libnvrtc.so can't be loaded" in text
    assert "uv add" in text


def test_loading_the_module_loads_no_compiler() -> None:
    program = "import cunumpy as xp, sys; xp.cuda; print([name for name in sys.modules if 'nvidia' in name])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert xp.cuda.check_cuda is check_cuda
