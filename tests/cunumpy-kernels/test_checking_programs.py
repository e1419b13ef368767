"""Checks of the textbook programs and of all shipped headers: clean as they are, and each wrong change of one is found.

The launches are those of `test_textbook` and `test_headers_on_cpu`, in a process that checks all launches.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from cunumpy.cuda import cuda_include_dir

HERE = Path(__file__).parent

# Of each program the tests that launch all of its kernels.
PROGRAMS = {
    "bitonic_sort": "test_bitonic_sort",
    "compaction": "test_compaction and 257",
    "convolution": "test_convolution",
    "deposition": "test_deposition and 257",
    "fourier_transform": "test_fourier_transform",
    "groups": "test_groups and 257",
    "histogram": "test_histogram and 257",
    "matrix_product": "test_matrix_product",
    "monte_carlo": "test_monte_carlo",
    "n_body": "test_n_body",
    "pixels": "test_pixels",
    "radix_sort": "test_radix_sort",
    "reduction": "TestReduction and 257",
    "scan": "TestScan and 257",
    "shortest_paths": "test_shortest_paths",
    "sparse_product": "test_sparse_product",
    "stencil": "TestStencil",
    "transpose": "TestTranspose",
    "tridiagonal": "test_tridiagonal_systems",
}
BARRIER = "__syncthreads();"
BARRIERS = {
    name: (BARRIER, ";") for name in PROGRAMS if BARRIER in (HERE / "textbook" / f"{name}.cu").read_text()
}  # the first one is left out

# An index that is wrong by one.
INDICES = {
    "bitonic_sort": ("keys[blockIdx.x * blockDim.x + t] = own[t]", "keys[blockIdx.x * blockDim.x + t + 1] = own[t]"),
    "compaction": ("i < n && x[i] > 0;", "i < n && x[i + 1] > 0;"),
    "convolution": ("part[threadIdx.y + k][threadIdx.x];", "part[threadIdx.y + k + 1][threadIdx.x];"),
    "deposition": ("atomicAdd(&density[right],", "atomicAdd(&density[right + 1],"),
    "fourier_transform": ("b = own[top + half];", "b = own[top + half + 1];"),
    "groups": ("of_tiles[i / 8]", "of_tiles[i / 8 + 1]"),
    "histogram": ("own[bin] = 0;", "own[bin + 1] = 0;"),
    "matrix_product": ("right[m][tx];", "right[m + 1][tx];"),
    "monte_carlo": ("atomicAdd(inside,", "atomicAdd(inside + 1,"),
    "n_body": ("tile[threadIdx.x] =", "tile[threadIdx.x + 1] ="),
    "pixels": ("result[i]", "result[i + 1]"),
    "radix_sort": ("before[t - step]", "before[t - step - 1]"),
    "reduction": ("memory[t + half];", "memory[t + half + 1];"),
    "scan": ("x[2 * t + 1] : 0;", "x[2 * t + 2] : 0;"),
    "shortest_paths": ("distance[i * n + j] = own", "distance[i * n + j + 1] = own"),
    "sparse_product": ("k < starts[row + 1]; ++k", "k < starts[row + 2]; ++k"),
    "stencil": ("part[t + offset];", "part[t + offset + 1];"),
    "transpose": ("tile[threadIdx.x][r];", "tile[threadIdx.x + 1][r];"),
    "tridiagonal": ("a[at] * c[at - systems]", "a[at] * c[at - systems - 1]"),
}

# The first atomic function, as it would be without.
ATOMICS = {
    "compaction": ("place = atomicAdd(count, __popc(lanes));", "place = (*count += __popc(lanes)) - __popc(lanes);"),
    "deposition": (
        "atomicAdd(&density[left], charge[i] * (1.0 - share));",
        "density[left] += charge[i] * (1.0 - share);",
    ),
    "groups": ("atomicAdd(&total, sum);", "total += sum;"),
    "histogram": ("if (i < n) atomicAdd(&counts[text[i]], 1u);", "if (i < n) ++counts[text[i]];"),
    "monte_carlo": ("atomicAdd(inside, (unsigned long long)count);", "*inside += count;"),
    "reduction": ("atomicAdd(total, sum);", "*total += sum;"),
}

FAULTS = r"(out of bounds|race|memory that nobody has written|a barrier that some threads do not reach)"


HEADERS = {
    "array_view.cu": ("c.row(1, 2)[3];", "c.row(1, 2)[4];", "test_array_view and not checks"),
    "atomic.cuh": ("    return atomicAdd(p, v);", "    return (*p += v) - v;", "test_atomic"),
    "index.cu": ("row[8] = thread;", "row[9] = thread;", "test_places"),
    "morton.cu": ("rows + i, x = ix[i]", "rows + i + 1, x = ix[i]", "test_morton_keys_of_cells"),
    "portability.cu": ("out + 6 * lane", "out + 6 * lane + 1", "test_portability and 4294967295"),
    "random.cu": ("rows + i, a, b", "rows + i + 1, a, b", "test_random_bits"),
    "reduce.cuh": ("    __syncthreads();\n", "", "test_reduce and 4294967295"),
    "scan.cuh": ("    __syncthreads();\n", "", "test_scan and 96 and 4294967295"),
}
"""Wrong changes of headers, or where these use no memory themselves, of what calls them, and the tests that show it."""


def run_checked(folder: Path, tests: str, which: str = "") -> subprocess.CompletedProcess[str]:
    """Run a file of tests, or some of them, in a process in which all launches are checked."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", tests, "-n", "0"]
    command += ["--rootdir", str(HERE.parents[1]), "-c", str(HERE.parents[1] / "pyproject.toml")]
    if which:
        command += ["-k", which]
    environment = {**os.environ, "CUNUMPY_CPU_CHECK": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def changed(source: str, old: str, new: str) -> tuple[str, int, int]:
    """Change a program where it first has `old`; return it, and the first and last line of the function there."""
    place = source.index(old)
    ends = [found.end() for found in re.finditer(r"^\}", source, re.MULTILINE)]
    first = max((end for end in ends if end < place), default=0)
    last = min(end for end in ends if end > place)
    lines = source.count("\n", 0, first) + 1, source.count("\n", 0, last) + 1
    return source[:place] + new + source[place + len(old) :], *lines


def check_changed(changes: Mapping[str, tuple[str, str]], folder: Path) -> None:
    """Change programs, and see that a fault is found in the function of each, and none elsewhere."""
    shutil.copy(HERE / "test_textbook.py", folder)
    shutil.copytree(HERE / "textbook", folder / "textbook")
    lines = {}
    for program, (old, new) in changes.items():
        file = folder / "textbook" / f"{program}.cu"
        source, *lines[file.name] = changed(file.read_text(), old, new)
        file.write_text(source)
    done = run_checked(folder, str(folder / "test_textbook.py"), " or ".join(f"({PROGRAMS[name]})" for name in changes))
    check_places(done.stdout, lines)


def check_places(output: str, lines: Mapping[str, list[int]]) -> None:
    """See that faults were found between two lines of each of these files, and nowhere else in them."""
    found: dict[str, list[list[int]]] = {file: [] for file in lines}
    for line in output.splitlines():
        if re.search(FAULTS, line) is not None:
            for file in lines:
                if places := re.findall(rf"\b{re.escape(file)}:(\d+)", line):
                    found[file].append([int(place) for place in places])
    for file, (first, last) in lines.items():
        assert found[file], f"{file}\n{output}"
        for places in found[file]:
            assert all(first <= place <= last for place in places), f"{file}\n{output}"


def test_each_program_is_here():
    names = sorted(path.stem for path in (HERE / "textbook").glob("*.cu"))
    assert sorted(PROGRAMS) == sorted(INDICES) == names
    with_atomics = [name for name in names if "atomicAdd(" in (HERE / "textbook" / f"{name}.cu").read_text()]
    assert sorted(ATOMICS) == with_atomics


def test_one_program_is_clean():
    done = run_checked(HERE, "test_textbook.py", PROGRAMS["radix_sort"])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize("tests", ["test_textbook.py", "test_headers_on_cpu.py"])
def test_all_programs_and_the_shipped_headers_are_clean(tests):
    done = run_checked(HERE, tests)
    assert done.returncode == 0, done.stdout + done.stderr


def test_wrong_changes_of_some_programs_are_found(tmp_path):
    check_changed(
        {"groups": ATOMICS["groups"], "radix_sort": INDICES["radix_sort"], "transpose": BARRIERS["transpose"]}, tmp_path
    )


@pytest.mark.long
@pytest.mark.parametrize("changes", [BARRIERS, INDICES, ATOMICS], ids=["no barrier", "index", "no atomic function"])
def test_wrong_changes_of_all_programs_are_found(changes, tmp_path):
    check_changed(changes, tmp_path)


@pytest.mark.long
def test_wrong_changes_of_all_shipped_headers_are_found(tmp_path):
    assert sorted(Path(name).stem for name in HEADERS) == sorted(path.stem for path in (HERE / "headers").glob("*.cu"))
    shutil.copy(HERE / "test_headers_on_cpu.py", tmp_path)
    shutil.copytree(HERE / "headers", tmp_path / "headers")
    shipped, lines = Path(cuda_include_dir()) / "cunumpy", {}
    for name, (old, new, _) in HEADERS.items():
        file = tmp_path / "headers" / name
        if file.suffix == ".cuh":
            shutil.copy(shipped / name, file)
            kernels = file.with_suffix(".cu")
            kernels.write_text(kernels.read_text().replace(f"#include <cunumpy/{name}>", f'#include "{name}"'))
        source, *lines[name] = changed(file.read_text(), old, new)
        file.write_text(source)
    which = " or ".join(f"({tests})" for _, _, tests in HEADERS.values())
    done = run_checked(tmp_path, str(tmp_path / "test_headers_on_cpu.py"), which)
    check_places(done.stdout, lines)
