"""The commands for notebooks, on a shell that has what IPython's has; and on IPython and Jupyter where they are.

uv run --with ipython --with ipykernel --with nbclient pytest tests/notebook
"""

from __future__ import annotations

import json
import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.errors import ArgumentError, CompileError

SCALE = """extern "C" __global__ void scale(double a, double* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= a;
}
"""


class Shell:
    """What the extension uses of IPython's shell."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {"xp": xp, "np": np}
        self.magics: dict[tuple[str, str], Any] = {}

    def register_magic_function(self, function: Any, magic_kind: str, magic_name: str) -> None:
        kinds = ("line", "cell") if magic_kind == "line_cell" else (magic_kind,)
        self.magics.update({(kind, magic_name): function for kind in kinds})

    def transform_cell(self, text: str) -> str:
        return text + "\n"

    def run_line_magic(self, name: str, line: str) -> Any:
        return self.magics["line", name](line)

    def run_cell_magic(self, name: str, line: str, cell: str) -> Any:
        return self.magics["cell", name](line, cell)


def stand_in() -> Shell:
    shell = Shell()
    xp.load_ipython_extension(shell)
    return shell


def ipython() -> Any:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.user_ns |= {"xp": xp, "np": np}
    shell.run_line_magic("load_ext", "cunumpy")
    return shell


@pytest.fixture(params=[stand_in, pytest.param(ipython, marks=pytest.mark.needs("IPython"))])
def shell(request: pytest.FixtureRequest) -> Any:
    return request.param()


# --- %xp_timeit -------------------------------------------------------------------------------------------------------


def test_a_line_is_timed(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["x"] = np.ones(100)
    result = shell.run_line_magic("xp_timeit", "-n 5 -w 2 -t 1 -o xp.sum(x) + 1")
    assert isinstance(result, xp.profiling.BenchmarkResult)
    assert len(result.times) == 5
    assert result.gpu_times is None
    assert capsys.readouterr().out == f"{result}\n"
    assert str(result).startswith("xp.sum(x) + 1: ")


def test_a_cell_is_timed_after_its_first_line(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    cell = "for i in range(3):\n    calls.append(i)\n"
    shell.user_ns["calls"] = [7]
    assert shell.run_cell_magic("xp_timeit", "-n 2 -w 0 -q calls.clear()", cell) is None
    assert shell.user_ns["calls"] == [0, 1, 2, 0, 1, 2]
    assert capsys.readouterr().out == ""


def test_statements_may_begin_with_a_sign_and_names_of_theirs_are_their_own(shell: Any) -> None:
    shell.user_ns["x"] = 3
    shell.run_line_magic("xp_timeit", "-n 1 -q -x")
    shell.run_line_magic("xp_timeit", "-n 1 -q y = x + 1")
    assert "y" not in shell.user_ns


def test_a_cell_may_change_what_its_first_line_has_made(shell: Any) -> None:
    shell.user_ns["x"] = np.ones(3)
    shell.user_ns["seen"] = []
    setup = "y = [float(i) for i in x]; z = np.zeros(3)"
    result = shell.run_cell_magic("xp_timeit", f"-n 2 -w 0 -q -o {setup}", "y += [i for i in x]\nseen.append(len(y))")
    assert shell.user_ns["seen"] == [6, 9]
    assert len(result.times) == 2
    assert not {"y", "z", "i"} & set(shell.user_ns)


def test_what_can_not_be_timed() -> None:
    shell = stand_in()
    for line, text in (
        ("", "there is no statement to time"),
        ("-n 3", "there is no statement to time"),
        ("-n many x", "argument -n: invalid int value: 'many'"),
        ("-t", "argument -t"),
    ):
        with pytest.raises(ArgumentError, match=text):
            shell.run_line_magic("xp_timeit", line)
    with pytest.raises(SyntaxError):
        shell.run_line_magic("xp_timeit", "1 +")


# --- %%cuda -----------------------------------------------------------------------------------------------------------


def test_a_cell_becomes_a_kernel(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell_magic("cuda", "", SCALE)
    assert capsys.readouterr().out == "scale: compiled for the CPU\n"
    x = np.arange(4.0)
    shell.user_ns["scale"](2.0, x, x.size)
    np.testing.assert_array_equal(x, [0.0, 2.0, 4.0, 6.0])
    assert isinstance(shell.user_ns["scale"], xp.kernels.Kernel)


def test_options_and_names_of_a_cell(tmp_path: Any) -> None:
    (tmp_path / "factor.cuh").write_text("#define FACTOR 3\n")
    source = '#include "factor.cuh"\n' + SCALE.replace("*= a", "*= a * FACTOR + PLUS") + SCALE.replace("scale", "other")
    shell = stand_in()
    shell.run_cell_magic("cuda", f"-o=-DPLUS=1 -b 64 -I '{tmp_path}' scale", source)
    x = np.ones(2)
    shell.user_ns["scale"](2.0, x, 2)
    np.testing.assert_array_equal(x, [7.0, 7.0])
    assert shell.user_ns["scale"].cuda_kernel.block_size in (64, (64,))
    assert "other" not in shell.user_ns


def test_errors_have_the_lines_of_the_cell_and_change_nothing() -> None:
    shell = stand_in()
    shell.user_ns["scale"] = "as it was"
    with pytest.raises(CompileError, match=r"scale\.cu:4:\d+: error: .*missing"):
        # The line of the command is the first.
        shell.run_cell_magic("cuda", "", SCALE.replace("x[i] *= a", "x[i] *= missing"))
    assert shell.user_ns["scale"] == "as it was"


@pytest.mark.parametrize(
    ("line", "cell", "text"),
    [
        ("axpy", SCALE, r"%%cuda: there is no kernel 'axpy' in the cell; there are: scale"),
        ("", "int x;", r'%%cuda: there is no kernel in the cell; one begins with: extern "C" __global__ void'),
        ("-b few scale", SCALE, r"%%cuda: argument -b: invalid int value: 'few'"),
    ],
)
def test_what_is_no_cell_of_kernels(line: str, cell: str, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        stand_in().run_cell_magic("cuda", line, cell)


# --- representations --------------------------------------------------------------------------------------------------


def test_a_catalog_is_a_table() -> None:
    def double(x):
        x *= 2

    catalog = xp.kernels.KernelCatalog(
        {"double": xp.kernels.Kernel(double), "scale": xp.kernels.Kernel(None, xp.kernels.CudaKernel(SCALE, "scale"))}
    )
    html = catalog._repr_html_()
    assert "CUDA kernels: 1 of 2 (missing: double)" in html
    assert "double a, double* x, int n" in html
    assert html.count("<tr>") == 3


# --- the page about notebooks -----------------------------------------------------------------------------------------


def test_the_cells_of_the_page_run(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[2] / "docs" / "notebooks.md"
    cells = re.findall(r"^```text\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    ran = []
    for cell in cells:
        first, _, rest = cell.partition("\n")
        command, _, line = first.partition(" ")
        if command.startswith("%%"):
            shell.run_cell_magic(command[2:], line, rest)
        elif command == "%xp_timeit":
            shell.run_line_magic("xp_timeit", f"-n 3 {line}")
        elif command.startswith("xp.sort(x):"):
            assert re.fullmatch(r"xp\.sort\(x\): \S+ \ws \(.* \ws to .* \ws, \d+ repeats.*\)\n", cell)
            assert re.fullmatch(r"xp\.sort\(x\): \S+ \w+ \(.*, 3 repeats.*\)\n", capsys.readouterr().out)
        else:
            exec(cell.replace("%load_ext cunumpy\n", ""), shell.user_ns)
        ran.append(command)
    assert {"%load_ext", "%xp_timeit", "%%xp_timeit", "%%cuda"} <= set(ran)
    assert shell.user_ns["x"].tolist() == [3.0, 3.0, 3.0]


# --- a notebook as it is run ------------------------------------------------------------------------------------------


@pytest.mark.needs("nbclient", "nbformat", "ipykernel")
def test_a_notebook_with_kernels_written_in_it(tmp_path: Any) -> None:
    import nbformat
    from nbclient import NotebookClient

    cells = [
        "import cunumpy as xp\nfrom cunumpy.kernels import jit\n%load_ext cunumpy",
        f"%%cuda\n{SCALE}",
        "x = xp.ones(3)\nscale(3.0, x, x.size)\nx.tolist()",
        "%xp_timeit -n 3 scale(1.0, x, x.size)",
        "def axpy(a, x, y, n):\n    for i in range(n):\n        y[i] += a * x[i]\n",
        "kernel = xp.kernels.Kernel(axpy)\ny = xp.zeros(3)\nkernel(2.0, x, y, y.size)\ny.tolist()",
        "@jit.rawkernel()\ndef double(x, n):\n    i = jit.grid(1)\n    if i < n:\n        x[i] *= 2\n",
        "double((1,), (32,), (y, 3))\ny.tolist()",
        "@xp.kernels.fuse\ndef poly(x):\n    return x * x + 2 * x + 1\n\npoly(y).tolist()",
        "xp.kernels.KernelCatalog({'scale': scale})",
        "with xp.profiling.count_transfers() as counter:\n    xp.to_numpy(x)\ncounter",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python", "language": "python"}
    (tmp_path / "kernels" / "python3").mkdir(parents=True)
    specification = {"argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]}
    specification |= {"display_name": "Python", "language": "python"}
    (tmp_path / "kernels" / "python3" / "kernel.json").write_text(json.dumps(specification))
    environment = {"JUPYTER_PATH": str(tmp_path), "JUPYTER_RUNTIME_DIR": str(tmp_path)}
    before = {name: os.environ.get(name) for name in environment}
    os.environ |= environment
    try:
        NotebookClient(notebook, timeout=120).execute()
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)

    def results(index: int) -> str:
        return "".join(
            output.get("text", "")
            + output.get("data", {}).get("text/html", output.get("data", {}).get("text/plain", ""))
            for output in notebook.cells[index].outputs
        )

    assert results(1) == "scale: compiled for the CPU\n"
    assert results(2) == "[3.0, 3.0, 3.0]"
    assert results(3).startswith("scale(1.0, x, x.size): ")
    assert results(5) == "[6.0, 6.0, 6.0]"
    assert results(7) == "[12.0, 12.0, 12.0]"
    assert results(8) == "[169.0, 169.0, 169.0]"
    assert "<table>" in results(9)
    assert "<table>" in results(10)


def test_a_shell_of_ipython_is_not_needed_to_import_the_extension() -> None:
    assert callable(xp.load_ipython_extension)
    assert "load_ipython_extension" not in xp.__all__
    assert find_spec("cunumpy._notebook") is not None
