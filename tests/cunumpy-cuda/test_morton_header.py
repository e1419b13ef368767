"""`cunumpy/morton.cuh`: compiled by a C++ compiler its functions are as defined, and NVRTC compiles all of them."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cunumpy as xp
import key_definitions as definitions
from cpp_compiler import compiler, shared_library
from cunumpy.cuda import cuda_include_dir
from nvrtc import ARCHITECTURES, compile_cuda

HEADER = os.path.join(cuda_include_dir(), "cunumpy", "morton.cuh")
WORDS = {"unsigned long long": ctypes.c_uint64, "unsigned int": ctypes.c_uint32, "int": ctypes.c_int}
TYPES = WORDS | {"double": ctypes.c_double, "void": None}
TYPES |= {f"{name}*": ctypes.POINTER(word) for name, word in WORDS.items()}
MAX = {(2, ""): 32, (3, ""): 21, (2, "_u32"): 16, (3, "_u32"): 10}
QUALIFIERS = "#define __host__\n#define __device__\n#define __forceinline__ inline\n"
CONTRACT = {
    *(f"cunumpy_morton_{name}{ndim}" for name in ("spread", "compact", "encode", "decode", "key") for ndim in (2, 3)),
    "cunumpy_morton_cell",
}


def functions():
    """Give the name, the result and the parameters of every function of the header."""
    with open(HEADER) as file:
        text = re.sub(r"//.*", "", file.read())
    pattern = r"__host__\s+__device__\s+__forceinline__\s+([\w ]+?)\s+(cunumpy_\w+)\(([^)]*)\)"
    found = []
    for result, name, parameters in re.findall(pattern, text):
        types = [re.match(r"(.*?)\s*\w+$", " ".join(one.split())).group(1) for one in parameters.split(",")]
        found.append((name, result, types))
    return found


def qualified():
    return "".join(
        f'extern "C" {result} test_{name}({", ".join(f"{kind} a{i}" for i, kind in enumerate(types))}) '
        f"{{ return {name}({', '.join(f'a{i}' for i in range(len(types)))}); }}\n"
        for name, result, types in functions()
    )


@pytest.fixture(scope="module")
def header(tmp_path_factory):
    source = QUALIFIERS + "#include <cunumpy/morton.cuh>\n"
    options = [f"-I{cuda_include_dir()}", "-O1", "-Wextra", "-Wconversion", "-std=c++11"]
    folder = tmp_path_factory.mktemp("header")
    library = shared_library(source + qualified(), folder / "header.so", options)
    loaded = {}
    for name, result, types in functions():
        function = library[f"test_{name}"]
        function.restype, function.argtypes = TYPES[result], [TYPES[kind] for kind in types]
        loaded[name] = function
    return loaded


def outputs(function, *arguments):
    """Call a function that writes its results through pointers, which are among its last parameters."""
    words = [kind._type_ for kind in function.argtypes if hasattr(kind, "_type_") and not isinstance(kind._type_, str)]
    values = [word() for word in words]
    key, *rest = arguments
    function(key, *(ctypes.byref(value) for value in values), *rest)
    return tuple(value.value for value in values)


def test_the_functions_of_the_contract_are_there(header):
    assert set(header) >= CONTRACT
    assert {
        f"cunumpy_{curve}_{name}{ndim}{bits}"
        for curve in ("morton", "hilbert")
        for name in ("encode", "decode", "key")
        for ndim in (2, 3)
        for bits in ("", "_u32")
    } <= set(header)


@pytest.mark.parametrize(("cells", "key"), definitions.MORTON_VECTORS)
def test_vectors_of_cells(header, cells, key):
    ndim = len(cells)
    assert header[f"cunumpy_morton_encode{ndim}"](*cells) == key
    assert outputs(header[f"cunumpy_morton_decode{ndim}"], key) == cells


@pytest.mark.parametrize(("levels", "lower", "upper", "point", "key"), definitions.POINT_VECTORS)
def test_vectors_of_points(header, levels, lower, upper, point, key):
    ndim = len(point)
    scale = [2**levels / (b - a) for a, b in zip(lower, upper, strict=True)]
    assert header[f"cunumpy_morton_key{ndim}"](*point, *lower, *scale, levels) == key
    if levels <= MAX[ndim, "_u32"]:
        assert header[f"cunumpy_morton_key{ndim}_u32"](*point, *lower, *scale, levels) == key


@pytest.mark.parametrize(("ndim", "bits"), MAX)
@given(value=st.integers(0, 2**64 - 1))
def test_spreading_ignores_other_bits(header, ndim, bits, value):
    value %= 2 ** (32 if bits else 64)
    count = MAX[ndim, bits]
    spread, compact = (header[f"cunumpy_morton_{name}{ndim}{bits}"] for name in ("spread", "compact"))
    assert spread(value) == sum((value >> b & 1) << ndim * b for b in range(count))
    assert compact(value) == sum((value >> ndim * b & 1) << b for b in range(count))


@pytest.mark.parametrize(("ndim", "bits"), MAX)
@pytest.mark.parametrize("curve", ["morton", "hilbert"])
@given(values=st.lists(st.integers(0, 2**64 - 1), min_size=3, max_size=3), levels=st.integers(1, 32))
def test_encoding_is_as_defined_and_decoding_its_inverse(header, curve, ndim, bits, values, levels):
    hilbert = curve == "hilbert"
    most = MAX[ndim, bits]
    used = min(levels, most) if hilbert else most
    given_cells = [value % 2 ** (32 if bits else 64) for value in values[:ndim]]
    cells = tuple(value % 2**used for value in given_cells)
    rest = [levels] if hilbert else []
    key = header[f"cunumpy_{curve}_encode{ndim}{bits}"](*given_cells, *rest)
    assert key == (definitions.hilbert(cells, used) if hilbert else definitions.morton(cells, used))
    decode = header[f"cunumpy_{curve}_decode{ndim}{bits}"]
    assert outputs(decode, key, *rest) == cells
    above = 2 ** (ndim * used)
    if above < 2 ** (32 if bits else 64):  # bits that belong to no axis
        assert outputs(decode, key | above, *rest) == cells


@given(
    x=st.floats(),
    lower=st.floats(-1e300, 1e300),
    scale=st.floats(-1e300, 1e300).filter(bool),
    levels=st.integers(0, 32),
)
def test_cells_are_as_defined(header, x, lower, scale, levels):
    assert header["cunumpy_morton_cell"](x, lower, scale, levels) == definitions.cell(x, lower, scale, levels)


@pytest.mark.parametrize("levels", [-(2**31), -1, 33, 63, 64, 65, 2**31 - 1])
def test_levels_are_clipped(header, levels):
    point = [0.3, 0.9, 0.7]
    for (ndim, bits), most in MAX.items():
        clipped = min(max(levels, 0), most)
        for curve in ("morton", "hilbert"):
            key = header[f"cunumpy_{curve}_key{ndim}{bits}"]
            box = [*point[:ndim], *[0.0] * ndim, *[2.0**most] * ndim]
            assert key(*box, levels) == key(*box, clipped)
        rest = [5, 6, 7][:ndim]
        encode, decode = (header[f"cunumpy_hilbert_{name}{ndim}{bits}"] for name in ("encode", "decode"))
        assert encode(*rest, levels) == encode(*rest, clipped)
        assert outputs(decode, 11, levels) == outputs(decode, 11, clipped)
    assert header["cunumpy_morton_cell"](np.inf, 0.0, 1.0, levels) == 2 ** min(max(levels, 0), 32) - 1


def test_nan_is_in_cell_0(header):
    for levels in (1, 21, 32):
        assert header["cunumpy_morton_cell"](np.nan, 0.0, 1.0, levels) == 0
    assert header["cunumpy_morton_key2"](np.nan, 1.0, 0.0, 0.0, 2.0, 2.0, 1) == 2
    assert header["cunumpy_hilbert_key2"](1.0, np.nan, 0.0, 0.0, 2.0, 2.0, 1) == 3


def test_nothing_is_undefined(tmp_path):
    """Under the sanitizer of undefined behaviour a program that calls everything with extreme arguments ends well."""
    doubles = "{0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 5e-324, 4294967295.5, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0}"
    values = {
        "double": f"const double doubles[] = {doubles};",
        "int": "const int ints[] = {-2147483647 - 1, -1, 0, 1, 10, 16, 21, 31, 32, 33, 63, 64, 2147483647};",
        "unsigned int": "const unsigned int words[] = {0u, 1u, 0x80000000u, 0xffffffffu};",
        "unsigned long long": "const unsigned long long longs[] = {0ull, 1ull, 1ull << 63, ~0ull};",
    }
    picks = {"double": "doubles[k++ % 11]", "int": "ints[k++ % 13]", "unsigned int": "words[k++ % 4]",
             "unsigned long long": "longs[k++ % 4]"}  # fmt: skip
    calls = ""
    for name, result, types in functions():
        arguments = []
        declared = ""
        for i, kind in enumerate(types):
            word = kind.rstrip("*")
            declared += f"{word} a{i} = {picks[word]}; "
            arguments.append(f"&a{i}" if kind.endswith("*") else f"a{i}")
        if "transpose" in name or "step" in name:  # parts of the others, which clip the levels for them
            continue
        take = "" if result in ("void", "double") else "sum += (unsigned long long)"
        calls += f"        {{ {declared}{take}{name}({', '.join(arguments)}); }}\n"
    program = tmp_path / "program.cpp"
    program.write_text(
        f"""{QUALIFIERS}#include <cunumpy/morton.cuh>
        {" ".join(values.values())}
        volatile unsigned long long sum;
        int main() {{
            for (unsigned int begin = 0; begin < 11 * 13 * 4; ++begin) {{ unsigned int k = begin;
{calls}            }}
            return 0;
        }}"""
    )
    sanitizer = ["-fsanitize=undefined,float-cast-overflow", "-fno-sanitize=float-divide-by-zero"]
    command = [*compiler(), "-w", "-O1", *sanitizer, "-fsanitize-undefined-trap-on-error", f"-I{cuda_include_dir()}"]
    subprocess.run([*command, str(program), "-o", str(tmp_path / "program")], check=True)
    assert subprocess.run([str(tmp_path / "program")], check=False).returncode == 0


@pytest.mark.needs("cunumpy.algorithms")
def test_float_points_have_the_keys_of_the_host_functions(header):
    points = (np.random.default_rng(0).random((500, 3)) * 3.7).astype(np.float32)
    scale = xp.algorithms.morton_scales([0.1] * 3, [3.7] * 3, 21)
    for curve, keys in (("morton", xp.algorithms.morton_keys), ("hilbert", xp.algorithms.hilbert_keys)):
        key3 = header[f"cunumpy_{curve}_key3"]
        found = [key3(*map(ctypes.c_double, point.tolist()), 0.1, 0.1, 0.1, *scale, 21) for point in points]
        assert found == keys(points, [0.1] * 3, [3.7] * 3, 21).tolist()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_function_compiles_for_a_gpu(architecture):
    calls = "".join(
        f"    {{ {' '.join(f'{kind} a{i} = ({kind})p[{i}];' for i, kind in enumerate(types))} "
        f"{'' if result == 'void' else 'p[0] += '}{name}({', '.join(f'a{i}' for i in range(len(types)))}); }}\n"
        for name, result, types in functions()
    )
    source = f"#include <cunumpy/morton.cuh>\n\n__global__ void test(unsigned long long* p) {{\n{calls}}}\n"
    assert compile_cuda(source, architecture=architecture)


@pytest.mark.parametrize("floating", ["float", "double"])
def test_float_positions_convert(floating):
    source = f"""#include <cunumpy/morton.cuh>
    __global__ void keys(const {floating}* p, unsigned long long* key, double scale, double lower, int levels) {{
        key[0] = cunumpy_morton_key3(p[0], p[1], p[2], lower, lower, lower, scale, scale, scale, levels);
    }}"""
    assert compile_cuda(source)
