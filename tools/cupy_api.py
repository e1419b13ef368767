"""Write down which names and call signatures CuPy has, for the stand-in of `cunumpy.kernel_testing`.

Reads an installed CuPy (no GPU or driver is needed) and writes Python modules that hold nothing but these facts::

    uv run --isolated --no-project --with cupy-cuda12x==14.2.0 --with scipy tools/cupy_api.py \\
        packages/cunumpy-kernels/src/cunumpy/kernel_testing/_fake_cupy/_api

A test of `tests/cunumpy-kernels/test_real_cupy.py` runs it again and compares.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import pathlib
import pprint
import re
import sys
import types
from typing import Any, TypeGuard

SCIPY_MODULES = (
    "fft",
    "fftpack",
    "interpolate",
    "linalg",
    "ndimage",
    "signal",
    "signal.windows",
    "spatial",
    "spatial.distance",
    "special",
    "stats",
)
# What a module imports for itself is no part of its API.
NOT_API = {"annotations", "numpy", "cupy", "cupyx"}


def literal(value: Any) -> str:
    """Return source text for a parameter's default value."""
    if isinstance(value, type):
        return value.__name__ if value.__module__ == "builtins" else f"numpy.{value.__name__}"
    return repr(value)


def signature_text(function: Any) -> str | None:
    """Return the parameters of a function without annotations, or None where it does not tell them."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return documented_signature(function)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    kinds = inspect.Parameter
    words: list[str] = []
    for position, parameter in enumerate(bare):
        if parameter.kind is kinds.KEYWORD_ONLY and not any(
            p.kind in (kinds.VAR_POSITIONAL, kinds.KEYWORD_ONLY) for p in bare[:position]
        ):
            words.append("*")
        prefix = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is kinds.empty else "=" + literal(parameter.default)
        words.append(prefix + parameter.name + default)
        last_positional_only = parameter.kind is kinds.POSITIONAL_ONLY and (
            position + 1 == len(bare) or bare[position + 1].kind is not kinds.POSITIONAL_ONLY
        )
        if last_positional_only:
            words.append("/")
    return ", ".join(words)


def documented_signature(function: Any) -> str | None:
    """Return the parameters from the first line of a compiled function's docstring, without C types."""
    name = function.__name__
    match = re.match(rf"(?:\w+\.)?{re.escape(name)}\((.*?)\)(?: ->.*)?$", (function.__doc__ or "").split("\n")[0])
    if match is None:
        return None
    words = []
    for word in match[1].split(", ") if match[1] else []:
        head, equals, default = word.partition("=")
        bare = head.split(" ")[-1]
        words.append(bare + equals + default)
    return ", ".join(words)


def public(module: types.ModuleType) -> dict[str, Any]:
    """Return the public attributes of a module, without submodules."""
    return {
        name: value
        for name, value in sorted(vars(module).items())
        if not name.startswith("_") and name not in NOT_API and not isinstance(value, types.ModuleType)
    }


def numpy_path(own_name: str, value: Any, numpy: types.ModuleType) -> str | None:
    """Return under which name of NumPy an object is found, where it is NumPy's own; the same name if possible."""
    for prefix, module in (("", numpy), ("exceptions.", numpy.exceptions), ("linalg.", numpy.linalg)):
        for name in (own_name, *sorted(vars(module), key=lambda name: (not name[-1].isdigit(), name))):
            if vars(module).get(name, module) is value:
                return prefix + name
    return None


def module_api(module: types.ModuleType) -> dict[str, dict[str, Any]]:
    """Return the public names of a module, sorted by what they are."""
    import numpy

    functions: dict[str, str] = {}
    ufuncs: dict[str, tuple[int, int, str]] = {}
    same: dict[str, str] = {}
    constants: dict[str, str] = {}
    own: list[str] = []
    for name, value in public(module).items():
        path = None if isinstance(value, (float, bool, type(None))) else numpy_path(name, value, numpy)
        if type(value).__name__ == "ufunc":
            ufuncs[name] = (value.nin, value.nout, " ".join(value.types))
        elif isinstance(value, (float, type(None))):
            constants[name] = repr(value)
        elif path is not None:
            same[name] = path
        elif isinstance(value, (types.FunctionType, types.BuiltinFunctionType)):
            text = signature_text(value)
            if text is None:
                own.append(name)
            else:
                functions[name] = text
        else:
            own.append(name)
    return {"functions": functions, "ufuncs": ufuncs, "same": same, "constants": constants, "own": sorted(own)}


def class_api(cls: type) -> dict[str, Any]:
    """Return the public methods of a class with their parameters, and its public attributes."""
    methods: dict[str, str] = {}
    attributes: list[str] = []
    for name in sorted(dir(cls)):
        if name.startswith("_"):
            continue
        text = signature_text(getattr(cls, name)) if callable(getattr(cls, name)) else None
        if text is None:
            attributes.append(name)
        else:
            methods[name] = ", ".join(word for word in text.split(", ") if word != "self")
    return {"methods": methods, "attributes": attributes}


def source_tree(module: str) -> ast.Module:
    """Return the syntax tree of a module of CuPy, which is not imported."""
    package, _, inner = module.partition(".")
    root = importlib.util.find_spec(package)
    assert root is not None
    assert root.submodule_search_locations is not None
    folder = pathlib.Path(root.submodule_search_locations[0], *inner.split("."))
    return ast.parse((folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")).read_text())


def scipy_api(package: str) -> dict[str, dict[str, Any]]:
    """Return functions with their parameters, and universal functions, of a package, read from its source."""
    found: dict[str, dict[str, Any]] = {"functions": {}, "ufuncs": {}}
    for node in source_tree(package).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            found["functions"][node.name] = parameters_of(node)
        elif not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("cupy"):
            continue
        elif node.names[0].name == "*":
            for kind, names in scipy_api(node.module or "").items():
                found[kind].update(names)
        else:
            definitions = definitions_of(node.module or "")
            for alias in node.names:
                name, definition = alias.asname or alias.name, definitions.get(alias.name)
                if name not in NOT_API and not name.startswith("_") and definition is not None:
                    found["functions" if isinstance(definition, str) else "ufuncs"][name] = definition
    return found


def definitions_of(module: str) -> dict[str, Any]:
    """Return what a module defines: the parameters of functions; operands, results and loops of universal functions."""
    found: dict[str, Any] = {}
    try:
        body = source_tree(module).body
    except OSError:  # compiled
        return found
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = parameters_of(node)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            call = node.value
            made = ast.unparse(call.func).rpartition(".")[2]
            if made == "create_ufunc" and isinstance(node.targets[0], ast.Name) and isinstance(call.args[1], ast.Tuple):
                loops = [one.elts[0] if isinstance(one, ast.Tuple) else one for one in call.args[1].elts]
                types = [one.value for one in loops if isinstance(one, ast.Constant)]  # not those of bfloat16
                inputs, _, outputs = types[0].partition("->")
                found[node.targets[0].id] = (len(inputs), len(outputs), " ".join(types))
    return found


def parameters_of(node: ast.FunctionDef) -> str:
    """Return the parameters of a function's definition, without annotations."""
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    text = re.sub(r"\b(?:cupy|cp)\.", "numpy.", ast.unparse(node.args))
    return re.sub(r"(?<![.\w])pi\b", "numpy.pi", text)


def scipy_classes() -> dict[str, list[str]]:
    """Return the public attributes of the classes in packages of `cupyx.scipy`, read from their source."""
    definitions: dict[str, ast.ClassDef] = {}
    root = importlib.util.find_spec("cupyx")
    assert root is not None
    assert root.submodule_search_locations is not None
    for package in ("interpolate", "signal", "spatial"):
        for file in sorted(pathlib.Path(root.submodule_search_locations[0], "scipy", package).glob("*.py")):
            found = ast.parse(file.read_text()).body
            definitions.update({node.name: node for node in found if isinstance(node, ast.ClassDef)})
    of_files = ("BadCoefficients", "Bunch", "F", "MetricInfo", "OptimizeResult")  # for themselves
    public_ones = {name for name in definitions if name[0] != "_" and name not in of_files}
    return {name: sorted(attributes_of(definitions[name], definitions)) for name in sorted(public_ones)}


def attributes_of(node: ast.ClassDef, definitions: dict[str, ast.ClassDef]) -> set[str]:
    """Return the public attributes of a class and of the classes that it is made from."""
    names = {target.attr for target in ast.walk(node) if _is_set_on_self(target)}
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Assign):
            names.update(target.id for target in statement.targets if isinstance(target, ast.Name))
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in definitions:
            names |= attributes_of(definitions[base.id], definitions)
    return {name for name in names if not name.startswith("_")}


def _is_set_on_self(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def imported_names(package: str) -> list[str]:
    """Return the public names that a package's ``__init__`` imports, read from its source.

    Several packages of `cupyx.scipy` can't be imported without CUDA's libraries.
    """
    names: set[str] = set()
    for node in source_tree(package).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name == "*":
                    names.update(imported_names(node.module or ""))
                else:
                    names.add(alias.asname or alias.name)
        elif isinstance(node, ast.FunctionDef):
            names.add(node.name)
    return sorted(n for n in names if not n.startswith("_") and n not in NOT_API)


def api() -> dict[str, Any]:
    """Return everything that the stand-in needs to know about the installed CuPy."""
    import cupy

    result: dict[str, Any] = {"VERSION": cupy.__version__}
    for name in ("cupy", "cupy.linalg", "cupy.fft", "cupy.random"):
        result[name.replace(".", "_").upper()] = module_api(importlib.import_module(name))
    result["NDARRAY"] = class_api(cupy.ndarray)
    result["GENERATOR"] = class_api(cupy.random.Generator)
    result["RANDOM_STATE"] = class_api(cupy.random.RandomState)
    runtime = vars(importlib.import_module("cupy.cuda.runtime"))
    result["RUNTIME"] = {
        name: value for name, value in sorted(runtime.items()) if name[0] != "_" and type(value) is int
    }
    result["SCIPY"] = {name: imported_names(f"cupyx.scipy.{name}") for name in SCIPY_MODULES}
    result["SCIPY_CLASSES"] = scipy_classes()
    result["SCIPY_CALLS"] = {name: scipy_api(f"cupyx.scipy.{name}") for name in SCIPY_MODULES}
    return result


# Which tables are in which module, and what that says of itself.
FILES = {
    "arrays": (
        "Names and call signatures of ``cupy``, ``cupy.linalg`` and ``cupy.fft``",
        ("VERSION", "CUPY", "CUPY_LINALG", "CUPY_FFT"),
    ),
    "classes": (
        "Names and call signatures of CuPy's arrays and of ``cupy.random``",
        ("NDARRAY", "CUPY_RANDOM", "GENERATOR", "RANDOM_STATE"),
    ),
    "constants": ("Constants of ``cupy.cuda.runtime``", ("RUNTIME",)),
    "scipy_names": ("Names of the modules and classes of ``cupyx.scipy``", ("SCIPY", "SCIPY_CLASSES")),
    "scipy_calls": ("Call signatures of the functions of ``cupyx.scipy``", ("SCIPY_CALLS",)),
}


def texts() -> dict[str, str]:
    """Return the modules, by name."""
    tables, found = api(), {}
    for module, (summary, names) in FILES.items():
        lines = [f'"""{summary}, written by ``tools/cupy_api.py``: facts, not code."""', ""]
        lines += ["# fmt: off", "# ruff: noqa", "", "from typing import Any, Final"]
        for name in names:
            text = pprint.pformat(tables[name], width=118, sort_dicts=True)
            annotation = "str" if isinstance(tables[name], str) else "dict[str, Any]"
            lines += ["", f"{name}: Final[{annotation}] = {text}"]
        found[module] = "\n".join(lines) + "\n"
    return found


def main(folder: str) -> None:
    """Write the modules."""
    for module, text in texts().items():
        pathlib.Path(folder, f"{module}.py").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
