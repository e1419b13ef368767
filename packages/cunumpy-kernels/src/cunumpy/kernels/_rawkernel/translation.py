"""From Python to CUDA C++: one function with the types of its parameters, and the functions that it calls."""

from __future__ import annotations

import ast
import builtins
import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from cunumpy.kernels._rawkernel import primitives as jit
from cunumpy.kernels._rawkernel.calls import call, cub_class
from cunumpy.kernels._rawkernel.function_source import FunctionSource, TranslationError, describe
from cunumpy.kernels._rawkernel.helpers import helpers_for
from cunumpy.kernels._rawkernel.layout import Line, laid_out
from cunumpy.kernels._rawkernel.names import Names
from cunumpy.kernels._rawkernel.operators import (
    PYTHON,
    OutOfRangeError,
    as_value,
    binary,
    truth,
    unary,
)
from cunumpy.kernels._rawkernel.scopes import Uses, find_uses, names_in, stored_in
from cunumpy.kernels._rawkernel.types import (
    BOOL,
    COMPARISONS,
    INT32,
    INT64,
    UINT32,
    Array,
    CubClass,
    CubStorage,
    Dim3,
    Group,
    NoLoopError,
    Scalar,
    Shared,
    Type,
    binary_types,
    can_store,
    dtype_of_number,
)
from cunumpy.kernels._rawkernel.values import (
    AND,
    CONDITIONAL,
    OR,
    PRIMARY,
    PRODUCT,
    Constant,
    Memory,
    Method,
    Operand,
    Several,
    Value,
    Variable,
    cast,
    extent,
    is_array,
    literal,
)

if TYPE_CHECKING:
    from cunumpy.kernels._rawkernel.python_kernel import PythonKernel

_OPERATORS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_UNARY: dict[type, str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}

_NO_KERNEL = {
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


class DeviceFunction(NamedTuple):
    """A device function that was translated: its name in C++, its result, its arrays, and whether it does more."""

    cname: str
    result: Type | tuple[Type, ...] | None
    memories: tuple[Memory | None, ...]
    effects: bool


class Program:
    """A kernel and all that it calls, translated for certain types of arguments.

    Parameters
    ----------
    kernel : PythonKernel
    types : sequence of Type
        Of the arguments.

    Attributes
    ----------
    source : str
        CUDA C++.
    name : str
        The kernel in it.
    cooperative : bool
        Its blocks wait for each other.
    """

    def __init__(self, kernel: PythonKernel, types: tuple[Type, ...]) -> None:
        self.mode = kernel._mode
        self.owner = f"kernel {kernel.__name__!r}"
        self.names = Names()
        self.includes: dict[str, None] = {}
        self.functions: list[str] = []
        self.memories: list[Memory] = []
        self.cooperative = False
        self._done: dict[Any, DeviceFunction] = {}
        self._open: list[Any] = []
        self.name = self.names.new(kernel.__name__)
        translator = Translator(self, kernel.function_source(), self.name, types)
        self.functions.append(translator.text())
        self.source = self._finished()

    def memory(self) -> Memory:
        """Return a new memory."""
        self.memories.append(Memory(len(self.memories)))
        return self.memories[-1]

    def device_function(
        self, function: PythonKernel, operands: list[Operand], caller: Translator, node: ast.AST
    ) -> DeviceFunction:
        """Return a device function, translated for certain arguments."""
        key = (
            function,
            *(_key_of(one) for one in operands),
        )  # not its id: it may die
        if key in self._open:
            raise caller.error(
                node,
                f"device function {function.__name__!r} calls itself, and kernels have no recursion; write a loop.",
                ValueError,
            )
        if key not in self._done:
            self._open.append(key)
            name = self.names.new(function.__name__)
            try:
                translator = Translator(self, function.function_source(), name, tuple(operands), device=True)
            except TranslationError as error:
                raise error.called_at(caller.source, node) from None
            self.functions.append(translator.text())
            self._open.pop()
            self._done[key] = DeviceFunction(
                name, translator.result, tuple(translator.parameter_memories), translator.effects
            )
        return self._done[key]

    def _finished(self) -> str:
        text = "\n\n".join(self.functions)
        for memory in self.memories:
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


def _key_of(operand: Operand) -> Any:
    if isinstance(operand, Value):
        return operand.type
    if isinstance(operand, Several):
        return tuple(map(_key_of, operand.items))
    if isinstance(operand, Constant):
        return (
            _Same(operand.value) if type(operand.value) not in _NUMBERS else (type(operand.value), repr(operand.value))
        )
    return operand


_NUMBERS = (bool, int, float, complex)  # equal ones may differ: 1 and True, 0.0 and -0.0


class _Same:
    """A key that equals only keys of the same object, which it keeps alive."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class Translator:
    """The translation of one function.

    Parameters
    ----------
    program : Program
    source : FunctionSource
    cname : str
        In C++.
    given : tuple
        What stands for its parameters: types for a kernel, operands for a device function.
    device : bool, default: False
        It is a device function.
    """

    def __init__(
        self, program: Program, source: FunctionSource, cname: str, given: tuple[Any, ...], *, device: bool = False
    ) -> None:
        self.program, self.source, self.cname, self.device = program, source, cname, device
        self.mode = program.mode
        self.names = Names(program.names)
        self.variables: dict[str, Variable] = {}
        self.uses: dict[str, Uses] = find_uses(source.tree)
        self.lines: list[Line] = []
        self.depth = 1
        self.path: tuple[int, ...] = ()
        self.statement: ast.stmt = source.tree.body[0]
        self.hoisted: list[tuple[str, str]] = []
        self.result: Type | tuple[Type, ...] | None = None
        self.result_node: ast.AST | None = None
        self.ended = False
        self.conditional = 0
        """Within how many expressions it is that are evaluated by conditions, or again and again."""
        self.effects = False
        """Whether it does more than return a value."""
        self.parameter_memories: list[Memory | None] = []
        self._declared: list[str] = []
        self._parameters(given)
        self.block(source.tree.body)
        if device and self.result is not None and not _always_returns(source.tree.body) and not self.ended:
            raise self.error(
                source.tree.body[-1], f"{source.tree.name!r} returns a value, but can end here without; return one."
            )

    # --- parameters and the whole function ---

    def _parameters(self, given: tuple[Any, ...]) -> None:
        tree = self.source.tree
        arguments = tree.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
            raise self.error(tree, "parameters of a kernel have no defaults, and are no *args, **kwargs or keywords.")
        parameters = [*arguments.posonlyargs, *arguments.args]
        if len(parameters) != len(given):
            names = ", ".join(one.arg for one in parameters)
            raise self.error(
                tree, f"{tree.name!r} takes {len(parameters)} arguments ({names}), got {len(given)}.", TypeError
            )
        for parameter, one in zip(parameters, given, strict=True):
            if isinstance(one, (Constant, Several)):  # of a device function: known when it is translated
                self.variables[parameter.arg] = Variable(parameter.arg, "", parameter, one, parameter=True)
                self.parameter_memories.append(None)
                continue
            kind: Type = one.type if isinstance(one, Value) else one
            name = self.names.new(parameter.arg)
            memory = self.program.memory() if isinstance(kind, Array) else None
            self.parameter_memories.append(memory)
            self._declared.append(f"{self.ctype(kind, memory)} {name}")
            value = Value(name, kind, memory=memory)
            self.variables[parameter.arg] = Variable(
                parameter.arg, name, parameter, value, parameter=True, memory=memory
            )

    def ctype(self, kind: Type, memory: Memory | None = None) -> str:
        """Return a type in C++, of arrays with a mark for ``const``."""
        if isinstance(kind, Array):
            assert memory is not None
            return (
                kind.ctype(False).replace("<", f"<{memory.mark}", 1)
                if kind.ndim
                else f"{memory.mark}{kind.ctype(False)}"
            )
        return str(kind.ctype)  # type: ignore[attr-defined]

    def text(self) -> str:
        """Return the function in C++."""
        tree = self.source.tree
        if self.device:
            head, kind = "static __device__", self._result_ctype()
        else:
            head, kind = 'extern "C" __global__', "void"
        lines = [Line(f"{head} {kind} {self.cname}({', '.join(self._declared)}) {{", 0, tree.lineno)]
        lines += [Line(f"{kind_of} {name};", 1, None) for kind_of, name in self.hoisted]
        lines += [*self.lines, Line("}", 0, None)]
        before = ""
        if self.device and isinstance(self.result, tuple):
            members = " ".join(f"{self.ctype(one)} _{number};" for number, one in enumerate(self.result))
            before = f"struct {kind} {{ {members} }};\n"
        return before + laid_out(lines, self.source.file)

    def _result_ctype(self) -> str:
        if self.result is None:
            return "void"
        return f"{self.cname}_result" if isinstance(self.result, tuple) else self.ctype(self.result)

    # --- errors and lines ---

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
        why = text or _NO_KERNEL.get(name, "it is not part of kernels in Python syntax")
        raise self.error(node, f"{why}.", NotImplementedError)

    def emit(self, text: str, node: ast.AST | None = None) -> None:
        """Add a line of C++."""
        self.lines.append(Line(text, self.depth, getattr(node, "lineno", None)))

    def body(self, statements: list[ast.stmt], path: int) -> None:
        """Add a block of statements, indented."""
        before, ended = self.path, self.ended
        self.path = (*self.path, path)
        self.depth += 1
        self.block(statements)
        self.depth -= 1
        self.path, self.ended = before, ended

    def hoisted_result(self, ctype: str, wanted: str, code: str, node: ast.AST, *, effects: bool) -> str:
        """Keep the result of a call in a constant of C++ before the statement; return its name."""
        alone = getattr(self.statement, "value", None) is node
        if self.conditional or (effects and not alone):
            raise self.error(
                node,
                "this call has several results, and has to be evaluated before the rest of the statement: assign it to "
                "variables first, a, b = f(...).",
                NotImplementedError,
            )
        name = self.names.new(wanted)
        self.emit(f"const {ctype} {name} = {code};", node)
        return name

    def block(self, statements: list[ast.stmt]) -> None:
        """Add statements."""
        for statement in statements:
            if self.ended:
                return
            self.statement = statement
            handler = getattr(self, f"_do_{type(statement).__name__}", None)
            if handler is None:
                self.refuse(statement)
            handler(statement)

    # --- statements ---

    def _do_Pass(self, node: ast.Pass) -> None:
        pass

    def _do_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):  # a docstring
            return
        value = self.expression(node.value)
        if isinstance(value, Value):
            if value.code == "":  # a call without a result that left nothing to do
                return
            self.emit(f"{value.code};", node)

    def _do_Assert(self, node: ast.Assert) -> None:
        condition = self.condition(node.test)
        if isinstance(condition, Constant):
            if not condition.value:
                self.emit("assert(false);", node)
            return
        self.emit(f"assert({condition.code});", node)

    def _do_Return(self, node: ast.Return) -> None:
        value = Constant(None) if node.value is None else self.expression(node.value)
        if isinstance(value, Constant) and isinstance(value.value, tuple):
            value = Several(tuple(map(Constant, value.value)))
        if isinstance(value, Constant) and value.value is None:
            self._set_result(None, node)
            self.emit("return;", node)
        elif not self.device:
            raise self.error(node, "a kernel returns nothing; write results to an array.", ValueError)
        elif isinstance(value, Several):
            items = [self.number(one, node) for one in value.items]
            self._set_result(tuple(one.type for one in items), node)
            listed = ", ".join(one.code for one in items)
            self.emit(f"return {self._result_ctype()}{{{listed}}};", node)
        else:
            if is_array(value):
                raise self.error(
                    node, "a device function returns numbers and tuples of them, no arrays; return an index."
                )
            one = value if isinstance(value, Value) and isinstance(value.type, Dim3) else self.number(value, node)
            self._set_result(one.type, node)
            self.emit(f"return {one.code};", node)
        self.ended = True

    def _set_result(self, kind: Type | tuple[Type, ...] | None, node: ast.AST) -> None:
        if self.result_node is None:
            self.result, self.result_node = kind, node
        elif self.result != kind:

            def shown(one: Any) -> str:
                return (
                    f"({', '.join(map(str, one))})"
                    if isinstance(one, tuple)
                    else "nothing"
                    if one is None
                    else str(one)
                )

            raise self.error(
                node,
                f"{self.source.tree.name!r} returns {shown(kind)} here and {shown(self.result)} before; return the "
                "same type everywhere, by a conversion such as numpy.float64(...).",
                TypeError,
                ((self.result_node, "before:"),),
            )

    def _do_Break(self, node: ast.Break) -> None:
        self.emit("break;", node)
        self.ended = True

    def _do_Continue(self, node: ast.Continue) -> None:
        self.emit("continue;", node)
        self.ended = True

    def _do_If(self, node: ast.If) -> None:
        word = "if"
        path = id(node)
        current: ast.If = node
        while True:
            self.conditional += word != "if"
            condition = self.condition(current.test)
            self.conditional -= word != "if"
            if isinstance(condition, Constant):
                taken = current.body if condition.value else current.orelse
                if word == "if":
                    self._inlined(taken)
                    return
                if taken:
                    self.emit("} else {")
                    self.body(taken, path)
                self.emit("}")
                return
            if word == "if":
                self.emit(f"if ({condition.code}) {{", current)
            else:
                self.emit(f"}} else if ({condition.code}) {{", current)
            self.body(current.body, path)
            following = current.orelse
            if not following:
                self.emit("}")
                return
            if len(following) == 1 and isinstance(following[0], ast.If):
                current, word = following[0], "} else if"
                continue
            self.emit("} else {")
            self.body(following, path)
            self.emit("}")
            return

    def _inlined(self, statements: list[ast.stmt]) -> None:
        """Add the statements of a branch that is always taken."""
        before = self.path
        self.path = (*self.path, -1)  # variables that are first assigned here are declared at the start
        self.block(statements)
        self.path = before

    def _do_While(self, node: ast.While) -> None:
        if node.orelse:
            self.refuse(node.orelse[0], "a loop of a kernel has no else; use a variable that says how it ended")
        self.conditional += 1
        condition = self.condition(node.test)
        self.conditional -= 1
        if isinstance(condition, Constant):
            if not condition.value:
                return
            condition = literal(True, BOOL)
        self.emit(f"while ({condition.code}) {{", node)
        self.body(node.body, id(node))
        self.emit("}")

    def _do_For(self, node: ast.For) -> None:
        if node.orelse:
            self.refuse(node.orelse[0], "a loop of a kernel has no else; use a variable that says how it ended")
        if not isinstance(node.target, ast.Name):
            self.refuse(node.target, "a loop of a kernel has one variable: for i in range(...)")
        function = self.expression(node.iter.func) if isinstance(node.iter, ast.Call) else None
        known = function.value if isinstance(function, Constant) else None
        if not isinstance(node.iter, ast.Call) or (known is not range and known is not jit.range_):
            self.refuse(node.iter, "loops of a kernel are over range(...), or jit.range(..., unroll=...)")
        self._for_range(node, node.target.id, node.iter, known is jit.range_)

    def _for_range(self, node: ast.For, name: str, call: ast.Call, unrolls: bool) -> None:
        unroll: Any = None
        for word in call.keywords:
            if not unrolls or word.arg != "unroll":
                raise self.error(call, "range takes no keywords, except unroll= of jit.range.")
            unroll = self.known(word.value, "unroll")
        if not 1 <= len(call.args) <= 3:
            raise self.error(call, f"range takes 1 to 3 arguments, got {len(call.args)}.")
        operands = [self.integer(one) for one in call.args]
        if len(operands) == 1:
            operands = [Constant(0), *operands]
        start, stop = operands[:2]
        step: Constant | Value = operands[2] if len(operands) == 3 else Constant(1)
        if isinstance(step, Constant) and step.value == 0:
            raise self.error(call, "the step of range must not be 0.", ValueError)
        upward: bool | None = None
        if isinstance(step, Constant):
            upward = step.value > 0
        elif step.dtype.kind == "u":
            upward = True
        dtype = self._loop_dtype(start, stop, upward)
        kind = Scalar(dtype)
        inside = stored_in(node.body)
        uses = self.uses[name]
        known = self.variables.get(name)
        local = known is None and uses.in_loops_only and name not in inside
        after_start = call.args if len(call.args) == 1 else call.args[1:]
        plain = local and not (names_in(*after_start) & inside)
        plain = plain and all(isinstance(one, Constant) or (one.stable and not one.impure) for one in (stop, step))
        if unroll:
            self.emit("#pragma unroll" + ("" if unroll is True else f" {int(unroll)}"), node)
        first = as_value(start, dtype) if isinstance(start, Constant) else start
        if not plain:
            if first.impure or not first.stable:
                first = self._fixed(cast(first, dtype), f"{name}_start", node)
            stop = self._fixed(as_value(stop, dtype), f"{name}_stop", node)
            if isinstance(step, Value):
                step = self._fixed(cast(step, INT64 if dtype == INT64 else step.dtype), f"{name}_step", node)
        if plain:
            cname = self.names.new(name)
            self.variables[name] = Variable(name, cname, node, Value(cname, kind))
        else:
            cname = self.names.new(f"next_{name}")
        limit = stop if isinstance(stop, Constant) else cast(stop, dtype)
        end = as_value(limit, dtype)
        step_code = as_value(step, INT32).code if isinstance(step, Constant) else step.code
        if upward is None:
            test = f"{step_code} > 0 ? {cname} < {end.code} : {step_code} < 0 && {cname} > {end.code}"
        else:
            test = f"{cname} {'<' if upward else '>'} {end.at(8)}"
        if isinstance(step, Constant) and step.value in (1, -1):
            change = f"{'++' if step.value == 1 else '--'}{cname}"
        elif isinstance(step, Constant) and step.value < 0:
            change = f"{cname} -= {-step.value}"
        else:
            change = f"{cname} += {step_code}"
        number = None if unroll else node
        self.emit(f"for ({kind.ctype} {cname} = {first.code}; {test}; {change}) {{", number)
        if not plain:
            self.depth += 1
            before = self.path
            self.path = (*self.path, id(node))
            self.assign_variable(node.target, name, Value(cname, kind), node, in_place=local)
            self.path = before
            self.depth -= 1
        self.body(node.body, id(node))
        self.emit("}")
        if local:
            self.names.release(self.variables.pop(name).cname)
        if not plain:
            self.names.release(cname)

    def _loop_dtype(self, start: Any, stop: Any, upward: bool | None) -> np.dtype[Any]:
        if self.mode == "numpy":
            return INT64
        found = self.dtype_of(stop)
        if self.dtype_of(start).itemsize > found.itemsize:
            found = self.dtype_of(start)
        if found.itemsize < 4:
            return INT32
        return INT64 if found.kind == "u" and not upward else found

    def _fixed(self, value: Value, name: str, node: ast.AST) -> Value:
        """Return a value that does not change in a loop: itself, if it is a literal, or a constant of C++."""
        if re.fullmatch(r"-?\d+\w*", value.code):
            return value
        cname = self.names.new(name)
        self.emit(f"const {value.type.ctype} {cname} = {value.code};", node)  # type: ignore[attr-defined]
        return Value(cname, value.type)

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            self.refuse(node, "a variable gets its type from the first value; assign one")
        self.assign(node.target, self.expression(node.value), node)

    def _do_Assign(self, node: ast.Assign) -> None:
        value = self.expression(node.value)
        if len(node.targets) > 1 and isinstance(value, Value) and not is_array(value):
            value = self._fixed(value, "value", node)
        for target in node.targets:
            self.assign(target, value, node)

    def assign(self, target: ast.expr, value: Operand, node: ast.stmt) -> None:
        """Assign a value to a name, an element of an array, or a tuple of these."""
        if isinstance(target, ast.Name):
            self.assign_variable(target, target.id, value, node)
        elif isinstance(target, ast.Subscript):
            self._assign_element(target, value, node)
        elif isinstance(target, ast.Tuple):
            self._assign_several(target, value, node)
        elif isinstance(target, ast.Attribute):
            self.refuse(target, "attributes can't be assigned in a kernel; assign the elements of an array")
        else:
            self.refuse(target)

    def _assign_several(self, target: ast.Tuple, value: Operand, node: ast.stmt) -> None:
        if isinstance(value, Constant) and isinstance(value.value, tuple):
            value = Several(tuple(map(Constant, value.value)))
        if not isinstance(value, Several):
            raise self.error(node, f"only tuples can be unpacked, got {self.named(value)}.", ValueError)
        if len(value.items) != len(target.elts):
            raise self.error(node, f"{len(value.items)} values are assigned to {len(target.elts)} targets.", ValueError)
        stored = {one.id for one in target.elts if isinstance(one, ast.Name)}
        fresh = all(isinstance(one, ast.Name) and one.id not in self.variables for one in target.elts)
        items = list(value.items)
        mentioned = bool(stored & names_in(getattr(node, "value", None)))
        if not fresh or mentioned:
            # The right-hand side is evaluated as a whole before anything is assigned.
            for place, one in enumerate(items):
                if isinstance(one, Value) and not is_array(one) and (mentioned or not one.stable or one.impure):
                    items[place] = self._fixed(one, f"value_{place}", node)
        for inner, item in zip(target.elts, items, strict=True):
            self.assign(inner, item, node)

    def assign_variable(
        self, target: ast.AST, name: str, value: Operand, node: ast.stmt, *, in_place: bool | None = None
    ) -> None:
        """Assign a value to a variable, which is declared if there is none of its name."""
        uses = self.uses[name]
        if isinstance(value, (Constant, Several, Method)) or self._is_alias(value):
            bound = self._as_binding(value, uses, node, name)
            if bound is None:
                return
            value = bound
        assert isinstance(value, Value)
        known = self.variables.get(name)
        if known is None:
            self._declare(name, value, node, uses, in_place)
            return
        kept = known.value
        if not isinstance(kept, Value) or kept.type != value.type or isinstance(value.type, Shared):
            old, new = self.named(kept), self.named(value)
            if isinstance(kept, Value) and isinstance(kept.type, Scalar) and isinstance(value.type, Scalar):
                do = f"convert it, {kept.type}(...), as numpy.{kept.type}(value), or use another variable"
            else:
                do = "use another variable"
            raise self.error(
                node,
                f"the type of variable {name!r} changes: it is {old}, and is assigned {new} here; {do}.",
                TypeError,
                ((known.node, "first:"),),
            )
        if value.memory is not None and known.memory is not None:
            known.memory.join(value.memory)
        self.emit(f"{known.cname} = {value.code};", node)

    def _is_alias(self, value: Value) -> bool:
        return isinstance(value.type, (Group, CubClass, CubStorage)) or (
            isinstance(value.type, Shared) and not value.code.startswith("\1")
        )

    def _as_binding(self, value: Operand, uses: Uses, node: ast.stmt, name: str) -> Value | None:
        """Bind a name to what is no variable of C++, and return None; or return the value for a variable."""
        known = self.variables.get(name)
        once = uses.stores == 1 and not uses.updated and known is None
        if isinstance(value, Constant):
            dtype = dtype_of_number(value.value, self.mode)
            if dtype is not None and not (once and uses.first_path == ()):
                return as_value(value, dtype)
        if isinstance(value, Several) and known is None:
            self._bind_several(value, node, name)
            return None
        if not once:
            was = "" if known is None else f"it is {self.named(known.value)}, and "
            raise self.error(
                node,
                f"the type of variable {name!r} changes: {was}it is assigned {self.named(value)} here, which is known "
                "when the kernel is translated; use another variable.",
                TypeError,
                () if known is None else ((known.node, "first:"),),
            )
        self.variables[name] = Variable(name, "", node, value)
        return None

    def _bind_several(self, value: Several, node: ast.stmt, name: str) -> None:
        """Keep a tuple: its items in constants of C++."""
        if self.uses[name].stores > 1:
            raise self.error(
                node,
                f"variable {name!r} is a tuple, and can't be assigned again; use a variable for each item.",
                TypeError,
            )
        items = tuple(
            one if not isinstance(one, Value) or is_array(one) else self._fixed(one, f"{name}_{place}", node)
            for place, one in enumerate(value.items)
        )
        self.variables[name] = Variable(name, "", node, Several(items))

    def _declare(self, name: str, value: Value, node: ast.stmt, uses: Uses, in_place: bool | None) -> None:
        if isinstance(value.type, Shared):
            if uses.stores > 1:
                raise self.error(node, f"shared memory {name!r} can't be assigned again; use another variable.")
            self._declare_shared(name, value, node)
            return
        cname = self.names.new(name)
        if in_place is None:
            in_place = uses.first is node and uses.common == uses.first_path and -1 not in self.path
        memory = None
        if isinstance(value.type, Array):
            memory = self.program.memory()
            if value.memory is not None:
                memory.join(value.memory)
        kind = self.ctype(value.type, memory)
        if in_place:
            self.emit(f"{kind} {cname} = {value.code};", node)
        else:
            self.hoisted.append((kind, cname))
            self.emit(f"{cname} = {value.code};", node)
        kept = Value(cname, value.type, memory=memory)
        self.variables[name] = Variable(name, cname, node, kept, memory=memory)

    def _declare_shared(self, name: str, value: Value, node: ast.stmt) -> None:
        kind = value.type
        assert isinstance(kind, Shared)
        align = value.code.removeprefix("\1")
        if kind.size is None:
            cname = self.program.names.new(name)  # of the linker, too
            self.emit(f"extern __shared__ {align}{kind.element.ctype} {cname}[];", node)
        else:
            cname = self.names.new(name)
            self.emit(f"__shared__ {align}{kind.element.ctype} {cname}[{kind.size}];", node)
        self.variables[name] = Variable(name, cname, node, Value(cname, kind))

    def _assign_element(self, target: ast.Subscript, value: Operand, node: ast.stmt) -> None:
        element = self.expression(target)
        if not isinstance(element, Value) or (element.memory is None and not element.code.endswith("]")):
            raise self.error(target, "only elements of arrays can be assigned.")
        if not isinstance(element.type, Scalar):
            raise self.error(target, f"{self.named(element)} can't be assigned; give an index for each dimension.")
        self.effects = True
        if element.memory is not None:
            element.memory.write()
        stored = self.stored(value, element.dtype, node)
        self.emit(f"{element.code} = {stored.code};", node)

    def stored(self, value: Operand, dtype: np.dtype[Any], node: ast.AST) -> Value:
        """Return a number as it is written to memory of a dtype."""
        number = self.number(value, node)
        given = number.dtype
        if not can_store(given, dtype):
            raise self.error(
                node,
                f"{given} can't be stored as {dtype}, which would lose a part of it; convert it, "
                f"numpy.{dtype}(...){', or take .real' if given.kind == 'c' else ''}.",
            )
        if isinstance(value, Constant):
            try:
                return as_value(value, dtype)
            except OutOfRangeError as error:
                raise self.error(node, f"{error}.") from None
        if "c" in (given.kind, dtype.kind) or np.float16 in (given, dtype):
            return cast(number, dtype)
        return number

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) not in _OPERATORS:
            self.refuse(node)
        name = _OPERATORS[type(node.op)]
        target = node.target
        if isinstance(target, ast.Name):
            known = self.variables.get(target.id)
            if known is None:
                self._refuse_unassigned(target)
            left = known.value
            if not isinstance(left, Value) or not isinstance(left.type, Scalar):
                raise self.error(node, f"{name}= takes numbers, got {self.named(left)}.")
        elif isinstance(target, ast.Subscript):
            left = self.expression(ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target))
            if not isinstance(left, Value) or not isinstance(left.type, Scalar):
                raise self.error(target, "only elements of arrays can be changed; give an index for each dimension.")
            self.effects = True
            if left.memory is not None:
                left.memory.write()
        else:
            self.refuse(target, "attributes can't be assigned in a kernel; assign the elements of an array")
        right = self.expression(node.value)
        index_impure = left.impure
        changed = not isinstance(right, Constant) and isinstance(right, Value) and right.impure
        if isinstance(target, ast.Subscript) and (index_impure or changed):
            self._change_once(name, left, right, node)
            return
        new = self.operation(name, left, right, node)
        self._check_kind(new, left, node)
        if new.parts is not None and new.parts[1] == left.code:
            self.emit(f"{left.code} {name}= {new.parts[2]};", node)
        else:
            self.emit(f"{left.code} = {self._back(new, left).code};", node)

    def _change_once(self, name: str, left: Value, right: Operand, node: ast.AugAssign) -> None:
        """Change an element whose index, or the change, does something itself."""
        self.emit("{", node)
        self.depth += 1
        place, before = self.names.new("element"), self.names.new("before")
        kind = self.ctype(left.type)
        self.emit(f"{kind}& {place} = {left.code};", node)
        self.emit(f"const {kind} {before} = {place};", node)
        new = self.operation(name, Value(before, left.type), right, node)
        self._check_kind(new, left, node)
        self.emit(f"{place} = {self._back(new, left).code};", node)
        self.depth -= 1
        self.emit("}")

    def _check_kind(self, new: Value, left: Value, node: ast.AugAssign) -> None:
        if not can_store(new.dtype, left.dtype):
            raise self.error(
                node,
                f"the result is {new.dtype}, which can't be kept as {left.dtype} without losing a part of it; "
                f"convert it, numpy.{left.dtype}(...).",
            )

    def _back(self, new: Value, left: Value) -> Value:
        return (
            cast(new, left.dtype)
            if "c" in (new.dtype.kind, left.dtype.kind) or np.float16 in (new.dtype, left.dtype)
            else new
        )

    # --- expressions ---

    def expression(self, node: ast.expr) -> Operand:
        """Return the value of an expression."""
        handler = getattr(self, f"_of_{type(node).__name__}", None)
        if handler is None:
            self.refuse(node)
        found: Operand = handler(node)
        return found

    def number(self, operand: Operand, node: ast.AST) -> Value:
        """Return a number, known ones with the type that they have as variables."""
        if isinstance(operand, Value) and isinstance(operand.type, Scalar):
            return operand
        if isinstance(operand, Constant):
            dtype = dtype_of_number(operand.value, self.mode)
            if dtype is not None:
                return as_value(operand, dtype)
        raise self.error(node, f"a number is needed here, got {self.named(operand)}.{self._remedy(operand)}")

    def _remedy(self, operand: Operand) -> str:
        if isinstance(operand, Value) and is_array(operand):
            return " Kernels calculate with elements: give an index for each dimension."
        if isinstance(operand, Constant) and isinstance(operand.value, np.ndarray):
            return " Arrays are arguments: add a parameter for it."
        return ""

    def numeric(self, operand: Operand, node: ast.AST) -> Constant | Value:
        """Return an operand that is a number, known ones as they are."""
        if isinstance(operand, Constant) and dtype_of_number(operand.value, self.mode) is not None:
            return operand
        return self.number(operand, node)

    def integer(self, node: ast.expr) -> Constant | Value:
        """Return an integer."""
        operand = self.numeric(self.expression(node), node)
        if self.dtype_of(operand).kind not in "iu":
            raise self.error(
                node, f"an integer is needed here, got {self.dtype_of(operand)}; convert it, numpy.int64(...)."
            )
        return operand

    def dtype_of(self, operand: Constant | Value) -> np.dtype[Any]:
        """Return the dtype of a number."""
        if isinstance(operand, Value):
            return operand.dtype
        found = dtype_of_number(operand.value, self.mode)
        assert found is not None
        return found

    def known(self, node: ast.expr, what: str) -> Any:
        """Return a value that has to be known when the kernel is translated."""
        operand = self.expression(node)
        if isinstance(operand, Several) and all(isinstance(one, Constant) for one in operand.items):
            return tuple(one.value for one in operand.items if isinstance(one, Constant))
        if not isinstance(operand, Constant):
            raise self.error(
                node, f"{what} has to be known when the kernel is translated: a number in the source, or a global name."
            )
        return operand.value

    def named(self, operand: Operand) -> str:
        """Return what messages call an operand."""
        if isinstance(operand, Value):
            return str(operand.type)
        if isinstance(operand, Several):
            return f"a tuple of {len(operand.items)}"
        if isinstance(operand, Method):
            return f"a method, {operand.name}"
        if isinstance(operand.value, np.ndarray):
            return "a NumPy array that is no argument"
        return describe(operand.value)

    def condition(self, node: ast.expr) -> Constant | Value:
        """Return a condition: a bool of C++, or True or False where it is known."""
        operand = self._boolean(node) if isinstance(node, (ast.BoolOp, ast.UnaryOp)) else self.expression(node)
        return self._as_condition(operand, node)

    def _as_condition(self, operand: Operand, node: ast.expr) -> Constant | Value:
        if isinstance(operand, Constant):
            if isinstance(operand.value, (np.ndarray, jit.Primitive)):
                raise self.error(node, f"a condition is needed here, got {self.named(operand)}.")
            return Constant(bool(operand.value))
        if isinstance(operand, Several):
            return Constant(bool(operand.items))
        return truth(self.number(operand, node))

    def _boolean(self, node: ast.expr) -> Operand:
        """Return ``and``, ``or`` and ``not`` of conditions."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.condition(node.operand)
            return Constant(not inner.value) if isinstance(inner, Constant) else unary("not", inner, self.mode)
        if not isinstance(node, ast.BoolOp):
            return self.expression(node)
        both = isinstance(node.op, ast.And)
        parts: list[Value] = []
        for place, one in enumerate(node.values):
            self.conditional += place > 0
            part = self.condition(one)
            self.conditional -= place > 0
            if isinstance(part, Constant):
                if part.value is both:
                    continue
                if not parts:
                    return Constant(not both)
                parts.append(literal(not both, BOOL))
                break
            parts.append(part)
        if not parts:
            return Constant(both)
        if len(parts) == 1:
            return parts[0]
        level, sign = (AND, "&&") if both else (OR, "||")
        return Value(
            f" {sign} ".join(
                one.at(level) if both else (f"({one.code})" if one.level == AND else one.at(level)) for one in parts
            ),
            Scalar(BOOL),
            level,
            all(one.stable for one in parts),
            any(one.impure for one in parts),
        )

    def _of_BoolOp(self, node: ast.BoolOp) -> Operand:
        for place, one in enumerate(node.values):
            self.conditional += place > 0
            operand = self.expression(one)
            self.conditional -= place > 0
            if isinstance(operand, Constant):
                if not isinstance(operand.value, (bool, np.bool_)):
                    break
            elif not isinstance(operand, Value) or operand.type != Scalar(BOOL):
                break
        else:
            return self._boolean(node)
        word = "and" if isinstance(node.op, ast.And) else "or"
        raise self.error(
            node,
            f"`{word}` of numbers gives one of them in Python, and True or False in CUDA; compare them with 0 for a "
            "bool, or write `a if a != 0 else b`.",
        )

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Operand:
        name = _UNARY[type(node.op)]
        if name == "not":
            return self._boolean(node)
        operand = self.expression(node.operand)
        if isinstance(operand, Constant):
            return self.evaluated(
                {"-": lambda a: -a, "+": lambda a: +a, "~": lambda a: ~a}[name], (operand.value,), node
            )
        value = self.number(operand, node)
        try:
            return unary(name, value, self.mode)
        except NoLoopError:
            raise self.error(node, f"there is no {name}x for x of type {value.type}.") from None

    def _of_BinOp(self, node: ast.BinOp) -> Operand:
        if type(node.op) not in _OPERATORS:
            self.refuse(node, "matrices can't be multiplied in a kernel; write the loops over their elements")
        left, right = self.expression(node.left), self.expression(node.right)
        name = _OPERATORS[type(node.op)]
        if isinstance(left, Constant) and isinstance(right, Constant):
            return self.evaluated(PYTHON[name], (left.value, right.value), node)
        return self.operation(name, left, right, node)

    def evaluated(self, function: Callable[..., Any], arguments: tuple[Any, ...], node: ast.AST) -> Constant:
        """Return what Python calculates when the kernel is translated."""
        try:
            with np.errstate(all="ignore"):
                return Constant(function(*arguments))
        except Exception as error:
            raise self.error(node, f"evaluating it raises {type(error).__name__}: {error}.", ValueError) from error

    def operation(self, name: str, left: Operand, right: Operand, node: ast.AST) -> Value:
        """Return an operation of two numbers."""
        one, other = self.numeric(left, node), self.numeric(right, node)
        if isinstance(one, Constant) and isinstance(other, Constant):
            one = self.number(one, node)
        types = tuple(self._operand_type(operand) for operand in (one, other))
        if (
            self.mode == "numpy"
            and name == "**"
            and isinstance(other, Constant)
            and self.dtype_of(one).kind in "iu"
            and self.dtype_of(other).kind == "i"
            and other.value < 0
        ):
            raise self.error(node, "integers to negative integer powers are not there; make one a float.", ValueError)

        def made(operands: list[Constant | Value]) -> Value:
            return binary(name, operands[0], operands[1], self.mode, (types[0], types[1]))

        try:
            return self.in_order([one, other], made)
        except NoLoopError:
            shown = f"x {name} y" if not name.isalpha() else f"{name}(x, y)"
            raise self.error(
                node, f"there is no {shown} for x of type {self.dtype_of(one)} and y of type {self.dtype_of(other)}."
            ) from None
        except OutOfRangeError as error:
            if name in COMPARISONS:  # as NumPy, which compares with numbers of any size
                types = (self.dtype_of(one), self.dtype_of(other))
                return self.in_order([one, other], made)
            raise self.error(node, f"{error}; convert the other operand to a wider type.") from None

    def _operand_type(self, operand: Constant | Value) -> Any:
        """Return the dtype of an operand, or its type in Python where the other operand decides."""
        if self.mode == "numpy" and isinstance(operand, Constant) and operand.weak is not None:
            return operand.weak
        return self.dtype_of(operand)

    def in_order(self, operands: list[Constant | Value], made: Callable[[list[Constant | Value]], Value]) -> Value:
        """Return a combination of operands, which are evaluated from the left to the right where that matters.

        C++ may evaluate them in any order.
        """
        moving = [one for one in operands if isinstance(one, Value) and not one.stable and isinstance(one.type, Scalar)]
        if len(moving) < 2 or not any(one.impure for one in moving):
            return made(operands)
        names = {id(one): self.names.new("operand") for one in moving}
        declared = "".join(f"const {self.ctype(one.type)} {names[id(one)]} = {one.code}; " for one in moving)
        found = made(
            [Value(names[id(one)], one.type) if id(one) in names else one for one in operands]  # type: ignore[union-attr]
        )
        code = f"[&] {{ {declared}return {found.code}; }}()"
        return replace(found, code=code, level=PRIMARY, stable=False, impure=True, parts=None)

    def _of_Compare(self, node: ast.Compare) -> Operand:
        operands = [self.expression(one) for one in (node.left, *node.comparators)]
        parts: list[Operand] = []
        for sign, (left, right) in zip(node.ops, itertools.pairwise(operands), strict=True):
            if isinstance(left, Constant) and isinstance(right, Constant):
                ways: dict[type, Callable[..., Any]] = {
                    ast.Is: lambda a, b: a is b,
                    ast.IsNot: lambda a, b: a is not b,
                    ast.In: lambda a, b: a in b,
                    ast.NotIn: lambda a, b: a not in b,
                }
                function = ways.get(type(sign)) or PYTHON[_OPERATORS[type(sign)]]
                parts.append(self.evaluated(function, (left.value, right.value), node))
                continue
            if type(sign) not in _OPERATORS:
                self.refuse(node, "`is` and `in` are not there for numbers of a kernel; use == and comparisons")
            parts.append(self.operation(_OPERATORS[type(sign)], left, right, node))
        if len(parts) == 1:
            return parts[0]
        if any(isinstance(one, Value) and one.impure for one in operands[1:-1]):
            self.refuse(node, "the middle of a chained comparison would be called twice; assign it to a variable first")
        found: list[Value] = []
        for part in parts:
            if isinstance(part, Constant):
                if not part.value:
                    return Constant(False)
                continue
            assert isinstance(part, Value)
            found.append(part)
        if not found:
            return Constant(True)
        if len(found) == 1:
            return found[0]
        stable, impure = all(one.stable for one in found), any(one.impure for one in found)
        return Value(" && ".join(one.at(AND) for one in found), Scalar(BOOL), AND, stable, impure)

    def _of_IfExp(self, node: ast.IfExp) -> Operand:
        condition = self.condition(node.test)
        if isinstance(condition, Constant):
            return self.expression(node.body if condition.value else node.orelse)
        self.conditional += 1
        one, other = (self.numeric(self.expression(part), part) for part in (node.body, node.orelse))
        self.conditional -= 1
        types = [self._operand_type(operand) for operand in (one, other)]
        if all(isinstance(kind, type) for kind in types):
            types = [self.dtype_of(operand) for operand in (one, other)]
        try:
            first, _, _ = binary_types("maximum", types[0], types[1], self.mode)
            a, b = (as_value(operand, first, wraps=self.mode == "cuda") for operand in (one, other))
        except (NoLoopError, OutOfRangeError):
            raise self.error(node, f"{types[0]} and {types[1]} have no common type; convert one of them.") from None
        return Value(
            f"{condition.at(OR)} ? {a.at(CONDITIONAL)} : {b.at(CONDITIONAL)}",
            Scalar(first),
            CONDITIONAL,
            condition.stable and a.stable and b.stable,
            condition.impure or a.impure or b.impure,
        )

    def _of_Call(self, node: ast.Call) -> Operand:
        found = call(self, node)
        self.effects |= isinstance(found, Value) and found.impure
        return found

    def _of_Constant(self, node: ast.Constant) -> Operand:
        return Constant(node.value)

    def _of_Tuple(self, node: ast.Tuple) -> Operand:
        items = tuple(self.expression(one) for one in node.elts)
        if all(isinstance(one, Constant) for one in items):
            return Constant(tuple(one.value for one in items if isinstance(one, Constant)))
        return Several(items)

    def _of_Name(self, node: ast.Name) -> Operand:
        known = self.variables.get(node.id)
        if known is not None:
            return known.value
        uses = self.uses.get(node.id)
        if uses is not None and uses.stores:
            self._refuse_unassigned(node)
        function = self.source.function
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if name == node.id:
                try:
                    return Constant(cell.cell_contents)
                except ValueError:
                    break
        if node.id in function.__globals__:
            return Constant(function.__globals__[node.id])
        if hasattr(builtins, node.id):
            return Constant(getattr(builtins, node.id))
        raise self.error(
            node, f"name {node.id!r} is not defined: it is no variable, parameter, or global name.", NameError
        )

    def _refuse_unassigned(self, node: ast.Name) -> NoReturn:
        raise self.error(
            node,
            f"variable {node.id!r} has no value here: the first assignment, which gives it its type, comes before.",
            NameError,
        )

    def _of_Attribute(self, node: ast.Attribute) -> Operand:
        of = self.expression(node.value)
        name = node.attr
        if isinstance(of, Value):
            found = self._attribute(of, name, node)
            if found is None:
                raise self.error(node, f"{of.type} has no attribute {name!r} in a kernel.", AttributeError)
            return found
        if isinstance(of, Several):
            raise self.error(node, f"a tuple has no attribute {name!r} in a kernel.", AttributeError)
        if isinstance(of, Method):
            raise self.error(node, f"a method has no attribute {name!r} in a kernel.", AttributeError)
        value = of.value
        if isinstance(value, jit.Primitive) and value.name in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
            if name not in ("x", "y", "z"):
                raise self.error(node, f"jit.{value.name} has the members x, y and z, not {name!r}.", AttributeError)
            return Value(f"{value.name}.{name}", Scalar(UINT32))
        if isinstance(value, CubClass) and name == "TempStorage":
            return Constant(CubStorage(value))
        try:
            inner = getattr(value, name)
        except AttributeError as error:
            raise self.error(node, f"{error}.", AttributeError) from None
        return Constant(32) if inner is jit.warpsize else Constant(inner)

    def _attribute(self, of: Value, name: str, node: ast.AST) -> Operand | None:
        kind = of.type
        if isinstance(kind, Dim3) and name in ("x", "y", "z"):
            return Value(f"{of.code}.{name}", Scalar(UINT32), stable=of.stable)
        if isinstance(kind, (Group, CubClass)):
            return Method(of, name)
        if isinstance(kind, Array):
            return self._array_attribute(of, kind, name, node)
        if isinstance(kind, Shared) and isinstance(kind.element, Scalar):
            sizes = {"ndim": 1, "dtype": kind.element.dtype, "size": kind.size, "shape": (kind.size,)}
            if name in sizes and (kind.size is not None or name in ("ndim", "dtype")):
                return Constant(sizes[name])
        if isinstance(kind, Scalar):
            if name == "dtype":
                return Constant(kind.dtype)
            if name in ("conj", "conjugate"):
                return Method(of, "conjugate")
            if name in ("real", "imag"):
                part = np.dtype(f"f{kind.dtype.itemsize // 2}")
                if kind.kind == "c":
                    return replace(of, code=f"{of.at(PRIMARY)}.{name}()", level=PRIMARY, type=Scalar(part), parts=None)
                return of if name == "real" else Constant(kind.dtype.type(0))
        return None

    def _array_attribute(self, of: Value, kind: Array, name: str, node: ast.AST) -> Operand | None:
        if name == "ndim":
            return Constant(kind.ndim)
        if name == "dtype":
            return Constant(kind.dtype)
        if name == "itemsize":
            return Constant(kind.dtype.itemsize)
        lengths = tuple(extent(of, axis) for axis in range(kind.ndim))
        if name == "shape":
            return Several(lengths) if lengths else Constant(())
        if name == "size":
            if not lengths:
                return Constant(1)
            if of.base is None:
                return Value(f"{of.code}.size()", Scalar(INT64))
            return Value(" * ".join(one.code for one in lengths), Scalar(INT64), PRODUCT)
        if name == "strides":
            items: list[Operand] = []
            for axis in range(kind.ndim):
                if not kind.contiguous:
                    base, first = (of, 0) if of.base is None else (of.base, len(of.indices))
                    items.append(
                        Value(f"{base.code}.strides[{first + axis}] * {kind.dtype.itemsize}", Scalar(INT64), PRODUCT)
                    )
                elif axis == kind.ndim - 1:
                    items.append(Value(f"{kind.dtype.itemsize}LL", Scalar(INT64)))
                else:
                    factors = [one.code for one in lengths[axis + 1 :]]
                    items.append(Value(" * ".join([*factors, str(kind.dtype.itemsize)]), Scalar(INT64), PRODUCT))
            return Several(tuple(items)) if items else Constant(())
        if name in ("begin", "end"):
            self.refuse(node, "iterators are not there in kernels, which have no algorithms of Thrust; use indices")
        return None

    def _of_Subscript(self, node: ast.Subscript) -> Operand:
        of = self.expression(node.value)
        if isinstance(of, Constant):
            return self._subscript_of_known(of.value, node)
        if isinstance(of, Several):
            index = self.known(node.slice, "the index of a tuple")
            return self.evaluated_item(of, index, node)
        if not isinstance(of, Value) or not is_array(of):
            raise self.error(node, f"{self.named(of)} can't be indexed.")
        written = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for one in written:
            if isinstance(one, ast.Constant) and one.value in (None, ...):
                self.refuse(one, "arrays are indexed by integers in a kernel, without ... and None")
        indices = []
        for one in written:
            operand = self.expression(one)
            if isinstance(operand, Several):
                indices += [self._index(item, one) for item in operand.items]
            elif isinstance(operand, Constant) and isinstance(operand.value, tuple):
                indices += [self._index(Constant(item), one) for item in operand.value]
            else:
                indices.append(self._index(operand, one))
        return self.element(of, indices, node)

    def evaluated_item(self, of: Several, index: Any, node: ast.AST) -> Operand:
        """Return an item of a tuple."""
        try:
            found: Operand = of.items[index]
            return found
        except (IndexError, TypeError) as error:
            raise self.error(node, f"{error}.", IndexError) from None

    def _index(self, operand: Operand, node: ast.AST) -> Value:
        number = self.numeric(operand, node)
        dtype = self.dtype_of(number)
        if dtype.kind not in "iu":
            raise self.error(node, f"an index is an integer, got {dtype}; convert it, numpy.int64(...).", IndexError)
        if isinstance(number, Constant):
            if number.value < 0:
                raise self.error(
                    node,
                    f"index {number.value}: kernels don't count negative indices from the end; write x[len(x) - 1].",
                    IndexError,
                )
            return literal(int(number.value), INT32 if number.value < 2**31 else INT64)
        return number

    def element(self, of: Value, indices: list[Value], node: ast.AST) -> Value:
        """Return an element of an array, or a part of it with fewer dimensions."""
        stable = of.stable and all(one.stable for one in indices)
        impure = of.impure or any(one.impure for one in indices)
        if isinstance(of.type, Shared):
            if len(indices) != 1:
                raise self.error(node, f"shared memory has one dimension, got {len(indices)} indices.", IndexError)
            kind: Type = of.type.element
            size = of.type.size
            if size is not None and indices[0].code.isdigit() and int(indices[0].code) >= size:
                raise self.error(node, f"index {indices[0].code} is out of range for size {size}.", IndexError)
            return Value(f"{of.code}[{indices[0].code}]", kind, PRIMARY, False, impure)
        assert isinstance(of.type, Array)
        if of.type.ndim < len(indices):
            raise self.error(
                node, f"the array has {of.type.ndim} dimension(s), got {len(indices)} indices.", IndexError
            )
        if of.type.ndim == 0:
            return Value(f"{of.code}[0]", Scalar(of.type.dtype), PRIMARY, False, impure, memory=of.memory)
        if not indices:
            return of
        base = of if of.base is None else of.base
        codes = (*of.indices, *(one.code for one in indices))
        rest = of.type.ndim - len(indices)
        if rest == 0:
            code = f"{base.code}({', '.join(codes)})"
            return Value(code, Scalar(of.type.dtype), PRIMARY, False, impure, memory=of.memory)
        part = Array(of.type.dtype, rest, of.type.contiguous)
        code = f"{base.code}.sub({', '.join(codes)})"
        return Value(code, part, PRIMARY, stable, impure, memory=of.memory, base=base, indices=codes)

    def _subscript_of_known(self, value: Any, node: ast.Subscript) -> Operand:
        if value in (jit.WarpReduce, jit.BlockReduce) if isinstance(value, jit.Primitive) else False:
            return Constant(cub_class(self, value, node))
        if isinstance(value, np.ndarray):
            raise self.error(
                node.value, "a global array is not known on the device; pass it as an argument of the kernel."
            )
        if isinstance(value, (tuple, list, dict, str)):
            return self.evaluated(lambda a, b: a[b], (value, self.known(node.slice, "the index of a tuple")), node)
        raise self.error(node, f"{describe(value)} can't be indexed.")


def _always_returns(statements: list[ast.stmt]) -> bool:
    """Tell whether a block can't be left at its end."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.Return):
        return True
    if isinstance(last, ast.If):
        return _always_returns(last.body) and _always_returns(last.orelse)
    endless = isinstance(last, ast.While) and isinstance(last.test, ast.Constant) and bool(last.test.value)
    return endless and not any(isinstance(node, ast.Break) for one in last.body for node in ast.walk(one))  # type: ignore[attr-defined]
