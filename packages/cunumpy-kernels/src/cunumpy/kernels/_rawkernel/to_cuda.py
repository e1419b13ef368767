"""From Python to CUDA C++: a kernel with the types of its arguments, and all that it calls."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cunumpy.kernels._rawkernel.assignments import annotated_assignment, assignment, augmented_assignment
from cunumpy.kernels._rawkernel.calls import call
from cunumpy.kernels._rawkernel.conditions import and_or
from cunumpy.kernels._rawkernel.elements import subscription
from cunumpy.kernels._rawkernel.expressions import (
    binary_operation,
    comparison,
    conditional_expression,
    constant,
    tuple_display,
    unary_operation,
)
from cunumpy.kernels._rawkernel.functions import return_statement, translate_function
from cunumpy.kernels._rawkernel.lookups import attribute_value, name_value
from cunumpy.kernels._rawkernel.loops import for_statement, while_statement
from cunumpy.kernels._rawkernel.program import Program, Syntax
from cunumpy.kernels._rawkernel.statements import (
    assert_statement,
    break_statement,
    continue_statement,
    expression_statement,
    if_statement,
    pass_statement,
)

if TYPE_CHECKING:
    from cunumpy.kernels._rawkernel.function_source import FunctionSource
    from cunumpy.kernels._rawkernel.translation import Translation
    from cunumpy.kernels._rawkernel.types import Type

SYNTAX = Syntax(
    statements={
        ast.AnnAssign: annotated_assignment,
        ast.Assert: assert_statement,
        ast.Assign: assignment,
        ast.AugAssign: augmented_assignment,
        ast.Break: break_statement,
        ast.Continue: continue_statement,
        ast.Expr: expression_statement,
        ast.For: for_statement,
        ast.If: if_statement,
        ast.Pass: pass_statement,
        ast.Return: return_statement,
        ast.While: while_statement,
    },
    expressions={
        ast.Attribute: attribute_value,
        ast.BinOp: binary_operation,
        ast.BoolOp: and_or,
        ast.Call: call,
        ast.Compare: comparison,
        ast.Constant: constant,
        ast.IfExp: conditional_expression,
        ast.Name: name_value,
        ast.Subscript: subscription,
        ast.Tuple: tuple_display,
        ast.UnaryOp: unary_operation,
    },
)


def translated(
    source: FunctionSource, name: str, types: tuple[Type, ...], *, mode: str, device: bool = False
) -> Translation:
    """Return the translation of a kernel, or of a device function, for certain types of arguments.

    Parameters
    ----------
    source : FunctionSource
    name : str
        Its name in C++, if it can be.
    types : tuple of Type
        Of the arguments.
    mode : {"cuda", "numpy"}
    device : bool, default: False
        It is a device function.

    Returns
    -------
    Translation
        ``cname`` is its name, and ``program.source()`` the CUDA C++ of it and of all that it calls.

    Raises
    ------
    TranslationError
        Something in it is no part of kernels.
    """
    program = Program(mode, SYNTAX)
    return translate_function(program, source, program.names.new(name), types, device=device)
