"""The translation of one function in its course: what is known so far, the lines of C++, and the way to each node."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NoReturn

from cunumpy.kernels._rawkernel.function_source import FunctionSource, TranslationError
from cunumpy.kernels._rawkernel.layout import Line
from cunumpy.kernels._rawkernel.names import Names
from cunumpy.kernels._rawkernel.scopes import Uses, find_uses

if TYPE_CHECKING:
    from cunumpy.kernels._rawkernel.program import Program
    from cunumpy.kernels._rawkernel.types import Type
    from cunumpy.kernels._rawkernel.values import Memory, Operand, Variable

_NOT_IN_KERNELS = {
    "FunctionDef": "functions can't be defined in a kernel; define it outside, with @jit.rawkernel(device=True)",
    "Lambda": "functions can't be defined in a kernel; define it outside, with @jit.rawkernel(device=True)",
    "ClassDef": "classes can't be defined in a kernel",
    "Try": "there are no exceptions in a kernel; test the condition, or assert it",
    "Raise": "there are no exceptions in a kernel; assert the condition",
    "With": "there are no context managers in a kernel",
    "Import": "import outside of the kernel",
    "ImportFrom": "import outside of the kernel",
    "Global": "a kernel can't assign global variables; pass an array and write to it",
    "Nonlocal": "a kernel can't assign variables of the enclosing function; pass an array and write to it",
    "Delete": "variables can't be deleted in a kernel; leave it out",
    "ListComp": "there are no lists in a kernel; write a loop over array elements",
    "SetComp": "there are no sets in a kernel; write a loop over array elements",
    "DictComp": "there are no dictionaries in a kernel; write a loop over array elements",
    "GeneratorExp": "there are no generators in a kernel; write a loop",
    "List": "there are no lists in a kernel; use a tuple, or jit.shared_memory",
    "Set": "there are no sets in a kernel",
    "Dict": "there are no dictionaries in a kernel",
    "JoinedStr": "there are no strings in a kernel",
    "NamedExpr": "assign in a statement of its own",
    "Yield": "there are no generators in a kernel",
    "YieldFrom": "there are no generators in a kernel",
    "Await": "there are no coroutines in a kernel",
    "Starred": "arguments and items are written out one by one in a kernel",
    "Match": "write if, elif and else",
    "AsyncFor": "there are no coroutines in a kernel",
    "AsyncWith": "there are no coroutines in a kernel",
    "AsyncFunctionDef": "there are no coroutines in a kernel",
    "Slice": "arrays can't be sliced in a kernel; use indices, or pass the slice as an argument",
}


class Translation:
    """The state of the translation of one function.

    Functions that translate a kind of statement or expression take it first, read and change it, and come back to it
    for what is in theirs, by `expression`, `block` and `indented`.

    Parameters
    ----------
    program : Program
    source : FunctionSource
    cname : str
        In C++.
    device : bool
        It is a device function.

    Attributes
    ----------
    variables : dict
        Of Python, by name, as far as they have a value.
    uses : dict
        Where names are used in the whole function.
    lines : list of Line
        The C++ of its body so far.
    hoisted : list of (str, str)
        Types and names of variables that are declared at its start.
    statement : ast.stmt
        Which is being translated.
    path : tuple of int
        The blocks that it is in.
    ended : bool
        What follows in the block is never reached.
    conditional : int
        Within how many expressions it is that are evaluated by conditions, or again and again.
    effects : bool
        It does more than return a value.
    result : Type, tuple of Type, or None
        What it returns, as `result_node` does first.
    declared : list of str
        Its parameters in C++; `parameter_memories` are those of all of Python's.
    """

    def __init__(self, program: Program, source: FunctionSource, cname: str, *, device: bool) -> None:
        self.program, self.source, self.cname, self.device = program, source, cname, device
        self.mode = program.mode
        self.names = Names(program.names)
        self.variables: dict[str, Variable] = {}
        self.uses: dict[str, Uses] = find_uses(source.tree)
        self.lines: list[Line] = []
        self.hoisted: list[tuple[str, str]] = []
        self.depth = 1
        self.path: tuple[int, ...] = ()
        self.statement: ast.stmt = source.tree.body[0]
        self.ended = False
        self.conditional = 0
        self.effects = False
        self.result: Type | tuple[Type, ...] | None = None
        self.result_node: ast.AST | None = None
        self.declared: list[str] = []
        self.parameter_memories: list[Memory | None] = []

    def expression(self, node: ast.expr) -> Operand:
        """Return the value of an expression."""
        handler = self.program.syntax.expressions.get(type(node))
        if handler is None:
            self.refuse(node)
        return handler(self, node)

    def block(self, statements: list[ast.stmt]) -> None:
        """Add statements."""
        for statement in statements:
            if self.ended:
                return
            self.statement = statement
            handler = self.program.syntax.statements.get(type(statement))
            if handler is None:
                self.refuse(statement)
            handler(self, statement)

    def indented(self, statements: list[ast.stmt], path: int) -> None:
        """Add a block of statements, indented."""
        before, ended = self.path, self.ended
        self.path = (*self.path, path)
        self.depth += 1
        self.block(statements)
        self.depth -= 1
        self.path, self.ended = before, ended

    def emit(self, text: str, node: ast.AST | None = None) -> None:
        """Add a line of C++."""
        self.lines.append(Line(text, self.depth, getattr(node, "lineno", None)))

    def error(
        self,
        node: ast.AST,
        text: str,
        kind: type[Exception] = TypeError,
        others: tuple[tuple[ast.AST, str], ...] = (),
    ) -> TranslationError:
        """Return an error that shows a line of the function."""
        return self.source.error(node, text, kind, others)

    def refuse(self, node: ast.AST, text: str | None = None) -> NoReturn:
        """Raise for what a kernel does not have."""
        name = type(node).__name__
        why = text or _NOT_IN_KERNELS.get(name, "it is not part of kernels in Python syntax")
        raise self.error(node, f"{why}.", NotImplementedError)
