"""``cupy.vectorize``: a function of numbers in Python syntax, for arrays; compiled, as by CuPy, for the CPU device."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from cunumpy.kernels._rawkernel.function_source import FunctionSource, TranslationError
from cunumpy.kernels._rawkernel.python_kernel import PythonKernel
from cunumpy.kernels._rawkernel.to_cuda import translated
from cunumpy.kernels._rawkernel.types import Scalar

from .kernels import ElementwiseKernel


class vectorize:
    """A function of numbers that is called with arrays.

    Parameters
    ----------
    pyfunc : function
        In the syntax of `cupyx.jit`.
    otypes, excluded, signature : optional
        Not supported, as by CuPy.
    doc : str, optional
        By default the function's.
    cache : bool
        Of no effect.
    """

    def __init__(
        self,
        pyfunc: Callable[..., Any],
        otypes: Any = None,
        doc: str | None = None,
        excluded: Any = None,
        cache: bool = False,
        signature: Any = None,
    ) -> None:
        for name, value in (("excluded", excluded), ("signature", signature)):
            if value is not None:
                raise NotImplementedError(f"cupy.vectorize does not support `{name}` option currently.")
        self.pyfunc, self.excluded, self.cache, self.signature = pyfunc, excluded, cache, signature
        self.otypes = None if otypes is None else "".join(np.dtype(one).char for one in otypes)
        self.__doc__ = doc or pyfunc.__doc__
        self._kernels: dict[str, ElementwiseKernel] = {}

    def __call__(self, *args: Any) -> Any:
        """Call it with arrays and numbers, which are broadcast."""
        types = "".join(np.dtype(getattr(value, "dtype", type(value))).char for value in args)
        if types not in self._kernels:
            if self.otypes is not None:
                raise NotImplementedError
            try:
                self._kernels[types] = _kernel_of(self.pyfunc, types)
            except TranslationError as error:
                raise error.kind(str(error)) from error
        return self._kernels[types](*args)


vectorize.__module__ = "cupy"


def _kernel_of(function: Callable[..., Any], types: str) -> ElementwiseKernel:
    kernel = PythonKernel(function, "numpy", True)
    is_lambda = getattr(function, "__name__", "") == "<lambda>"
    source = _LambdaSource(function, kernel._owner) if is_lambda else kernel.function_source()
    kinds = tuple(Scalar(np.dtype(one)) for one in types)
    found = translated(source, source.tree.name, kinds, mode="numpy", device=True)
    results = found.result if isinstance(found.result, tuple) else (found.result,)
    if not all(isinstance(one, Scalar) for one in results):
        raise TypeError(f"Invalid return type: {found.result}")
    call = f"{found.cname}({', '.join(f'in{number}' for number in range(len(types)))})"
    if isinstance(found.result, tuple):
        taken = [f"out{number} = found._{number};" for number in range(len(results))]
        body = " ".join([f"auto found = {call};", *taken])
    else:
        body = f"out0 = {call};"
    return ElementwiseKernel(
        ", ".join(f"{np.dtype(one)} in{number}" for number, one in enumerate(types)),
        ", ".join(f"{one.dtype} out{number}" for number, one in enumerate(results)),  # type: ignore[union-attr]
        body,
        "cupy_vectorize",
        preamble=found.program.source(),
    )


class _LambdaSource(FunctionSource):
    """The source of a lambda, as that of a function that returns its value."""

    def __init__(self, function: Callable[..., Any], owner: str) -> None:
        self.function, self.owner = function, owner  # type: ignore[assignment]
        self.path = self.file = function.__code__.co_filename
        try:
            lines, self.first = inspect.getsourcelines(function)
            text = textwrap.dedent("".join(lines))
            tree = ast.parse(text)
        except (OSError, SyntaxError) as error:
            self._refuse(f"{owner}: the source code of this lambda can't be read; write a function with def.", error)
        names = list(function.__code__.co_varnames[: function.__code__.co_argcount])
        found = [
            node for node in ast.walk(tree) if isinstance(node, ast.Lambda) and [a.arg for a in node.args.args] == names
        ]
        if len(found) != 1:
            self._refuse(f"{owner}: which of the lambdas in a line it is can't be told; write a function with def.")
        self.lines = text.splitlines()
        self._indent = 0
        body = ast.Return(found[0].body, lineno=found[0].lineno, col_offset=found[0].col_offset)
        made = ast.parse("def vectorized(): pass").body[0]
        assert isinstance(made, ast.FunctionDef)
        made.args, made.body, made.lineno = found[0].args, [body], found[0].lineno
        self.tree = ast.increment_lineno(ast.fix_missing_locations(made), self.first - 1)
