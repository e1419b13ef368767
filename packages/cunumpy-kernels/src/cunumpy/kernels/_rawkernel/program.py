"""A program of CUDA C++ in the making: the functions of one kernel, and what they have in common."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from cunumpy.kernels._rawkernel.helpers import helpers_for
from cunumpy.kernels._rawkernel.names import Names
from cunumpy.kernels._rawkernel.values import Memory

if TYPE_CHECKING:
    from cunumpy.kernels._rawkernel.translation import Translation
    from cunumpy.kernels._rawkernel.values import Operand


class Syntax(NamedTuple):
    """What kernels have of Python: by the type of a node, the function that translates it."""

    statements: dict[type[ast.stmt], Callable[[Translation, Any], None]]
    expressions: dict[type[ast.expr], Callable[[Translation, Any], Operand]]


class Program:
    """The translations of a kernel and of all that it calls, for certain types of arguments.

    Parameters
    ----------
    mode : {"cuda", "numpy"}
        Which types operations have.
    syntax : Syntax

    Attributes
    ----------
    names : Names
        Of its functions.
    includes : dict
        The headers that calls need, as keys.
    functions : list of str
        In C++, each behind those that it calls.
    cooperative : bool
        Its blocks wait for each other.
    device_functions : dict
        Those that are translated, by what they are called with.
    open : list
        The keys of those that are being translated.
    """

    def __init__(self, mode: str, syntax: Syntax) -> None:
        self.mode, self.syntax = mode, syntax
        self.names = Names()
        self.includes: dict[str, None] = {}
        self.functions: list[str] = []
        self.cooperative = False
        self.device_functions: dict[Any, Translation] = {}
        self.open: list[Any] = []
        self._memories: list[Memory] = []

    def memory(self) -> Memory:
        """Return a new memory."""
        self._memories.append(Memory(len(self._memories)))
        return self._memories[-1]

    def source(self) -> str:
        """Return the CUDA C++, once all is translated: only then it is known which arrays nobody writes to."""
        text = "\n\n".join(self.functions)
        for memory in self._memories:
            text = text.replace(memory.mark, "" if memory.written else "const ")
        includes = dict(self.includes)
        if re.search(r"\bC?Array\d+D<", text):
            includes["cunumpy/array_view.cuh"] = None
        if "complex<" in text:
            includes["cupy/complex.cuh"] = None
        if "__half" in text:
            includes["cuda_fp16.h"] = None
        head = [f"#include <{name}>" for name in sorted(includes)]
        return "\n".join([*head, helpers_for([text]), text, ""])
