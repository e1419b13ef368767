"""Commands for IPython and Jupyter: ``%load_ext cunumpy``.

``%xp_timeit`` times a statement with the device's work in it, ``%%cuda`` makes kernels of a cell of CUDA C++. IPython
hands itself over; it is not imported here.
"""

from __future__ import annotations

import argparse
import ast
import shlex
import symtable
from contextlib import suppress
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn

from cunumpy import _arrays, _backend, _containers, _installation
from cunumpy.errors import ArgumentError

if TYPE_CHECKING:
    from cunumpy.profiling import BenchmarkResult


_NAME = "_timed_statement"


class Options(argparse.ArgumentParser):
    """Reads the line of a command; raises where argparse would end the process."""

    def read(self, line: str) -> argparse.Namespace:
        """Read the whole line."""
        return self.parse_args(shlex.split(line))

    def read_first(self, line: str) -> tuple[argparse.Namespace, str]:
        """Read the options with which a line begins, and give the rest as it is."""
        values = {text for action in self._actions if action.nargs != 0 for text in action.option_strings}
        given: list[str] = []
        rest = line.strip()
        while rest.startswith("-"):
            word, _, after = rest.partition(" ")
            if word not in self._option_string_actions:  # "-x" may begin a statement
                break
            given.append(word)
            rest = after.lstrip()
            if word in values:
                value, _, after = rest.partition(" ")
                given.append(value)
                rest = after.lstrip()
        return self.parse_args(given), rest

    def error(self, message: str) -> NoReturn:
        """Raise for what argparse found wrong."""
        raise ArgumentError(f"{self.prog}: {message}. {' '.join(self.format_usage().split())}")


def load(shell: Any) -> None:
    """Give the commands to an interactive shell of IPython."""

    def xp_timeit(line: str, cell: str | None = None) -> BenchmarkResult | None:
        """Time a statement; on a device, with all the work that it starts there.

        ``%xp_timeit [-n REPEATS] [-w WARMUP] [-t SECONDS] [-q] [-o] STATEMENT`` shows the median, and the 5th and 95th
        percentile; ``-o`` returns the `cunumpy.profiling.BenchmarkResult`, ``-q`` prints nothing. As ``%%xp_timeit`` it
        times a cell, whose first line may have a statement that is run once before.
        """
        return timeit(shell, line, cell)

    def cuda(line: str, cell: str) -> None:
        """Make kernels of CUDA C++ and give them names.

        ``%%cuda [-o OPTION] [-I FOLDER] [-b THREADS] [NAME ...]`` compiles the cell for the backend that is active. It
        leaves a `cunumpy.kernels.Kernel` for each kernel in it, or for those that are named. They take arrays of the
        host with the NumPy backend, arrays of the device with CuPy's.
        """
        _installation.require_submodule("kernels", "%%cuda")
        import_module("cunumpy.kernels._notebook").cuda_cell(line, cell, shell.user_ns, Options)

    shell.register_magic_function(xp_timeit, magic_kind="line_cell", magic_name="xp_timeit")
    shell.register_magic_function(cuda, magic_kind="cell", magic_name="cuda")


def timeit(shell: Any, line: str, cell: str | None) -> BenchmarkResult | None:
    """Do what ``%xp_timeit`` says."""
    from cunumpy.profiling import benchmark

    options = Options(prog="%xp_timeit", add_help=False)
    options.add_argument("-n", type=int, default=10_000, metavar="REPEATS")
    options.add_argument("-w", type=int, default=1, metavar="WARMUP")
    options.add_argument("-t", type=float, default=2.0, metavar="SECONDS")
    options.add_argument("-q", action="store_true")
    options.add_argument("-o", action="store_true")
    given, statement = options.read_first(line)
    setup = ""
    if cell is not None:
        setup, statement = statement, cell
    if not statement.strip():
        raise ArgumentError("%xp_timeit: there is no statement to time; write it behind, as in: %xp_timeit xp.sum(x)")
    function = _function(shell, setup, statement)
    result = benchmark(
        function,
        n_repeat=given.n,
        n_warmup=given.w,
        max_duration=given.t,
        name=_shortened(statement),
        device=_backend.get_backend() == "cupy" or _uses_device(function, shell.user_ns),
    )
    if not given.q:
        print(result)
    return result if given.o else None


def _function(shell: Any, setup: str, statement: str) -> FunctionType:
    """Run the setup, and make a function of a statement that sees its names, and as globals the notebook's.

    Both have one scope, as with ``%timeit``: what they assign is their own, and the statement may change what the setup
    has made.
    """
    before, timed = _parsed(shell, setup, "setup"), _parsed(shell, statement, "statement")
    shared = sorted(_assigned(before) & _assigned(timed))
    inner = _definition([*([ast.Nonlocal(shared)] if shared else []), *timed])
    outer = _definition([*before, inner, ast.Return(ast.Name(_NAME, ast.Load()))])
    made: dict[str, Any] = {}
    exec(compile(_module(outer), "<%xp_timeit>", "exec"), shell.user_ns, made)
    function: FunctionType = made[_NAME]()
    return function


def _parsed(shell: Any, text: str, name: str) -> list[ast.stmt]:
    parsed: ast.Module = ast.parse(shell.transform_cell(text), f"<{name} of %xp_timeit>")
    return parsed.body


def _definition(body: list[ast.stmt]) -> ast.FunctionDef:
    definition = ast.parse(f"def {_NAME}(): pass").body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.body = body or definition.body
    return definition


def _module(definition: ast.FunctionDef) -> ast.Module:
    return ast.fix_missing_locations(ast.Module([definition], []))


def _assigned(body: list[ast.stmt]) -> set[str]:
    """Give the names that statements assign in the function that they are the body of."""
    tree = ast.parse(ast.unparse(_module(_definition(body))))
    for node in ast.walk(tree):
        if isinstance(node, ast.comprehension):  # from Python 3.12 on its names are told as the function's
            node.target = ast.Name(_NAME, ast.Store())
    table = symtable.symtable(ast.unparse(tree), "<%xp_timeit>", "exec")
    return {symbol.get_name() for symbol in table.get_children()[0].get_symbols() if symbol.is_local()} - {_NAME}


def _uses_device(function: FunctionType, values: dict[str, Any]) -> bool:
    used = [values[name] for name in function.__code__.co_names if name in values]
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # the setup has not got to it
            used.append(cell.cell_contents)
    return _containers.holds(used, _arrays.is_device_array)


def _shortened(statement: str, length: int = 40) -> str:
    text = "; ".join(line.strip() for line in statement.strip().splitlines() if line.strip())
    return text if len(text) <= length else text[: length - 3] + "..."
