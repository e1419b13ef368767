"""The source of a Python function: its syntax tree, and messages that show its lines."""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from typing import TYPE_CHECKING, Any, NoReturn

from cunumpy.errors import CompileError

if TYPE_CHECKING:
    from types import FunctionType


class TranslationError(CompileError):
    """Python code that is not a kernel; `kind` is what CuPy raises for it."""

    kind: type[Exception] = TypeError

    def called_at(self, source: FunctionSource, node: ast.AST) -> TranslationError:
        """Return the error with the line that calls the function it is in."""
        error = TranslationError(f"{self}\n{source.shown(node, 'called at ')}")
        error.kind = self.kind
        return error


class FunctionSource:
    """Source and syntax tree of a function.

    Parameters
    ----------
    function : function
    owner : str
        For messages.

    Attributes
    ----------
    tree : ast.FunctionDef
        With line numbers of the file.
    file : str
        What compilers call it.

    Raises
    ------
    TranslationError
        The source is not to be had, or is no function definition.
    """

    def __init__(self, function: FunctionType, owner: str) -> None:
        self.function, self.owner = function, owner
        self.path = function.__code__.co_filename
        on_disk = os.path.isfile(self.path)
        self.file = os.path.abspath(self.path) if on_disk else f"<{function.__name__} of a notebook or session>"
        if function.__name__ == "<lambda>":
            self._refuse(f"{owner}: a lambda can't be a kernel; write a function with def.")
        try:
            lines, self.first = inspect.getsourcelines(function)
        except (OSError, TypeError, SyntaxError, IndexError) as error:
            self._refuse(
                f"{owner}: the source code of {function.__qualname__!r} can't be found ({self.path}). Define it in a "
                "file, in IPython or a notebook, or in the interactive interpreter of Python 3.13 or later; not by "
                "exec, `python -c`, or the interpreter of older Pythons.",
                error,
            )
        self.lines = [line.rstrip("\n") for line in lines]
        try:
            body = ast.parse(textwrap.dedent("".join(lines))).body
        except SyntaxError as error:
            self._refuse(f"{owner}: the source code of {function.__qualname__!r} can't be parsed: {error}.", error)
        if len(body) != 1 or not isinstance(body[0], ast.FunctionDef) or not self._is_that(body[0]):
            found = type(body[0]).__name__ if body else "nothing"
            self._refuse(
                f"{owner}: the source code at {self.path}:{self.first} is not that of a function "
                f"{function.__name__!r} ({found}); write it with def, and load the file again if it was changed."
            )
        self.tree: ast.FunctionDef = ast.increment_lineno(body[0], self.first - 1)
        self._indent = len(lines[0]) - len(lines[0].lstrip())

    def _is_that(self, tree: ast.FunctionDef) -> bool:
        code = self.function.__code__
        given = tree.args
        names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        return tree.name == code.co_name and tuple(names) == code.co_varnames[: len(names)]

    def _refuse(self, text: str, cause: BaseException | None = None) -> NoReturn:
        error = TranslationError(text)
        error.kind = ValueError
        raise error from cause

    def error(
        self,
        node: ast.AST,
        text: str,
        kind: type[Exception] = TypeError,
        others: tuple[tuple[ast.AST, str], ...] = (),
    ) -> TranslationError:
        """Return an error that shows the line of a node.

        Parameters
        ----------
        node : ast.AST
        text : str
            What is wrong, and what to do.
        kind : type, default: TypeError
            What CuPy raises.
        others : tuple of (ast.AST, str), optional
            More lines to show, with a remark.
        """
        shown = [f"{self.owner}: {text}", self.shown(node, "")]
        shown += [self.shown(other, f"{remark} ") for other, remark in others]
        error = TranslationError("\n".join(shown))
        error.kind = kind
        return error

    def shown(self, node: ast.AST, remark: str) -> str:
        """Return a line of the file, with its place and a remark before it."""
        number = getattr(node, "lineno", self.tree.lineno)
        column = getattr(node, "col_offset", 0)
        line = self.line(number)
        text = textwrap.dedent(line)
        removed = len(line) - len(text)
        before = len(text.encode()[: max(0, column + self._indent - removed)].decode(errors="replace"))
        return f"{remark}{self.path}:{number}\n    {text}\n    {' ' * before}^"

    def line(self, number: int) -> str:
        """Return the text of a line, by its number in the file."""
        place = number - self.first
        return self.lines[place] if 0 <= place < len(self.lines) else ""


def describe(value: Any) -> str:
    """Return a short text for a value of Python that is no kernel's."""
    text = repr(value)
    return text if len(text) <= 60 else f"an object of type {type(value).__name__}"
