"""C types of Python annotations: of functions' parameters, and of classes that are only read, never run."""

from __future__ import annotations

import ast
import inspect
import sys
import typing
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy._gate import describe
from cunumpy.cuda._types import MAX_VIEW_NDIM
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import NoReturn

    Fields = list[tuple[str, str]]

_SCALARS = {
    "float": "double",
    "float64": "double",
    "float32": "float",
    "float16": "__half",
    "int64": "long long",
    "int32": "int",
    "int16": "short",
    "int8": "signed char",
    "uint64": "unsigned long long",
    "uint32": "unsigned int",
    "uint16": "unsigned short",
    "uint8": "unsigned char",
    "bool": "bool",
    "bool_": "bool",
    "complex": "complex<double>",
    "complex128": "complex<double>",
    "complex64": "complex<float>",
}


class Annotations:
    """Turns annotations into C types; `int_type` and `scalar_names` are those of `CudaStruct.from_signature`."""

    def __init__(self, int_type: str, scalar_names: Mapping[str, str] | None, function: str) -> None:
        if not isinstance(int_type, str):
            raise ArgumentTypeError(
                f"{function}: argument 'int_type' must be a C type as str, such as 'int', got {describe(int_type)}."
            )
        if scalar_names is not None and not hasattr(scalar_names, "items"):
            raise ArgumentTypeError(
                f"{function}: argument 'scalar_names' must map names to C types, such as {{'real': 'double'}}, got "
                f"{describe(scalar_names)}."
            )
        self.function = function
        self.scalars = {**_SCALARS, "int": int_type, **(scalar_names or {})}

    def fail(self, where: str, what: str) -> NoReturn:
        raise ArgumentError(f"{self.function}: {where}: {what}.")

    def of_object(self, annotation: Any, where: str) -> str:
        """Return the C type of an annotation as a function holds it: a class, a text, or Final of one."""
        if annotation is inspect.Parameter.empty:
            self.fail(where, "it has no annotation; write one, such as 'float' or 'float[:, :]'")
        if isinstance(annotation, str):
            return self.of_text(annotation, where)
        if isinstance(annotation, typing.ForwardRef):
            return self.of_text(annotation.__forward_arg__, where)
        if typing.get_origin(annotation) is typing.Final:
            return self.of_object(typing.get_args(annotation)[0], where)
        if isinstance(annotation, type):
            name = annotation.__name__
            if issubclass(annotation, np.generic) and name not in self.scalars:
                name = np.dtype(annotation).name  # longlong is int64
            return self.scalar(name, where)
        return self.fail(where, f"the annotation {annotation!r} has no C type; {_REMEDY}")

    def of_text(self, text: str, where: str) -> str:
        plain = text.strip()
        if plain.startswith("const "):
            return self.of_text(plain.removeprefix("const "), where)
        try:
            node = ast.parse(plain, mode="eval").body
        except (SyntaxError, ValueError):
            self.fail(where, f"the annotation {text!r} can't be read; {_REMEDY}")
        return self.of_node(node, where)

    def of_node(self, node: ast.expr, where: str) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self.of_text(node.value, where)
        if isinstance(node, ast.Call) and not node.args and [one.arg for one in node.keywords] == ["order"]:
            node = node.func  # float[:, :](order=F): a view holds any order
        name = _last_name(node)
        if name is not None:
            return self.scalar(name, where)
        if isinstance(node, ast.Subscript):
            outer = _last_name(node.value)
            if outer == "Final":
                return self.of_node(node.slice, where)
            axes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if outer is not None and axes and all(map(_is_whole_axis, axes)):
                if len(axes) > MAX_VIEW_NDIM:
                    self.fail(where, f"it has {len(axes)} dimensions, and array views have {MAX_VIEW_NDIM} at most")
                return f"Array{len(axes)}D<{self.scalar(outer, where)}>"
        hint = "; it does not say how many dimensions, so write 'float[:, :]'" if "NDArray" in ast.unparse(node) else ""
        return self.fail(where, f"the annotation {ast.unparse(node)!r} has no C type{hint or '; ' + _REMEDY}")

    def scalar(self, name: str, where: str) -> str:
        ctype = self.scalars.get(name)
        if ctype is None:
            self.fail(where, f"the type {name!r} is not known; give its C type by scalar_names={{{name!r}: ...}}")
        return ctype


_REMEDY = "write a scalar such as 'float' or 'int32', or an array such as 'float[:, :]'"


def _last_name(node: ast.expr) -> str | None:
    """Return ``float64`` of ``float64`` and of ``numpy.float64``."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) and _last_name(node.value) is not None else None


def _is_whole_axis(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) and node.lower is node.upper is node.step is None


def names_of(names: str | Iterable[str], argument: str, function: str) -> set[str]:
    """Turn one name, or several, into a set."""
    if isinstance(names, str):
        return {names}
    found = set(names) if hasattr(names, "__iter__") else {None}
    if not all(isinstance(name, str) for name in found):
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} must be a name or names of fields, got {describe(names)}."
        )
    return {str(name) for name in found}


def made_contiguous(fields: Fields, contiguous: bool | str | Iterable[str], function: str) -> Fields:
    """Return the fields with C-contiguous views for all arrays, or for the named ones."""
    arrays = {name for name, ctype in fields if ctype.startswith("Array")}
    if isinstance(contiguous, (bool, np.bool_)):
        chosen = arrays if contiguous else set()
    else:
        chosen = names_of(contiguous, "contiguous", function)
        if unknown := sorted(chosen - arrays):
            raise ArgumentError(
                f"{function}: argument 'contiguous' names {', '.join(map(repr, unknown))}, no array field; these are: "
                f"{', '.join(sorted(arrays)) or 'none'}."
            )
    return [(name, f"C{ctype}" if name in chosen else ctype) for name, ctype in fields]


def fields_of_function(func: Callable[..., Any], annotations: Annotations) -> Fields:
    function = annotations.function
    called = getattr(func, "__name__", type(func).__name__)
    try:
        parameters = _signature(func).parameters
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"{function}: argument 'func' must be a function with a signature, got {describe(func)}: {error}"
        ) from None
    skipped = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        (name, annotations.of_object(one.annotation, f"parameter {name!r} of {called!r}"))
        for name, one in parameters.items()
        if one.kind not in skipped and name != "self"
    ]


def _signature(func: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(func)
    except (NameError, TypeError):
        if sys.version_info < (3, 14):
            raise
        # Annotations are run only now there, and float[:] can't be.
        annotationlib = import_module("annotationlib")
        return inspect.signature(func, annotation_format=annotationlib.Format.STRING)


# Classes, read from source code


def read_source(source: str | Path, function: str) -> tuple[str, str]:
    """Return Python source code and its name for messages."""
    if isinstance(source, Path) or (isinstance(source, str) and "\n" not in source and source.endswith(".py")):
        return Path(source).read_text(encoding="utf-8-sig"), str(source)
    if not isinstance(source, str):
        raise ArgumentTypeError(
            f"{function}: argument 'source' must be a path or Python source code, got {describe(source)}."
        )
    return source.removeprefix("\ufeff"), "the source"


def fields_of_class(
    source: str | Path, class_name: str, annotations: Annotations, *, exclude: set[str], attribute_names: bool
) -> Fields:
    function = annotations.function
    text, shown = read_source(source, function)
    if not isinstance(class_name, str):
        raise ArgumentTypeError(f"{function}: argument 'class_name' must be a str, got {describe(class_name)}.")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise ArgumentError(f"{function}: {shown} is not valid Python: {error}.") from None
    body: list[ast.stmt] = tree.body
    for part in class_name.split("."):
        classes = [one for one in _statements(body) if isinstance(one, ast.ClassDef)]
        found = [one for one in classes if one.name == part]
        if not found:
            listed = ", ".join(one.name for one in classes) or "none"
            raise ArgumentError(
                f"{function}: {shown} has no class {class_name!r}; classes there: {listed}. One inside another is "
                "named 'Outer.Inner'."
            )
        body = found[-1].body
    methods = [one for one in _statements(body) if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
    if not methods:
        raise ArgumentError(
            f"{function}: the class {class_name!r} of {shown} has no __init__ of its own, whose parameters would be "
            "the fields; write one with annotations."
        )
    method = methods[-1]
    positional = [*method.args.posonlyargs, *method.args.args]
    stored = _stored(method, positional[0].arg) if attribute_names and positional else {}
    fields = []
    for parameter in [*positional[1:], *method.args.kwonlyargs]:
        name = stored.get(parameter.arg, parameter.arg)
        if exclude & {name, parameter.arg}:
            continue
        where = f"parameter {parameter.arg!r} of {class_name}.__init__ (line {parameter.lineno})"
        if parameter.annotation is None:
            annotations.of_object(inspect.Parameter.empty, where)
        else:
            fields.append((name, annotations.of_node(parameter.annotation, where)))
    return fields


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a body, also those under conditions."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.If, ast.Try, ast.With)):
            yield from _statements(statement.body)
            yield from _statements(getattr(statement, "orelse", []))


def _stored(method: ast.FunctionDef, self_name: str) -> dict[str, str]:
    """Return under which attribute each parameter is stored as it is."""
    assignments = [node for node in ast.walk(method) if isinstance(node, (ast.Assign, ast.AnnAssign))]
    stored: dict[str, str] = {}
    for node in sorted(assignments, key=lambda node: (node.lineno, node.col_offset)):
        if not isinstance(node.value, ast.Name):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if (
                isinstance(target, ast.Attribute)
                and isinstance(target.value, ast.Name)
                and target.value.id == self_name
            ):
                stored.setdefault(node.value.id, target.attr)
    return stored
