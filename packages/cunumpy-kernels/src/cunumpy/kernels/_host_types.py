"""What the annotations of a host kernel say of its parameters, and where a CUDA kernel says otherwise."""

from __future__ import annotations

import ast
import inspect
import sys
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import BuiltinFunctionType, UnionType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from cunumpy.cuda import CudaParameter


class HostParameter(NamedTuple):
    """A parameter of a host function; what its annotation does not say is None.

    Attributes
    ----------
    name : str
    dtype : numpy.dtype or None
        Of the scalar, or of the array's elements.
    ndim : int or None
        0 for a scalar.
    const : bool
        Whether the annotation says that it is not written.
    text : str
        The annotation, for messages.
    dtypes : frozenset of numpy.dtype
        All that may be given, where a type variable or ``|`` says several; then `dtype` is None.
    """

    name: str
    dtype: np.dtype[Any] | None = None
    ndim: int | None = None
    const: bool = False
    text: str = ""
    dtypes: frozenset[np.dtype[Any]] = frozenset()


_DTYPES: dict[str, np.dtype[Any]] = {
    "float": np.dtype(np.float64),
    "int": np.dtype(np.int64),
    "complex": np.dtype(np.complex128),
    "bool_": np.dtype(np.bool_),
    **{f"{sign}int{bits}": np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{name: np.dtype(name) for name in ("bool", "float16", "float32", "float64", "complex64", "complex128")},
}
"""By the names of annotations; Pyccel's ``int`` has 64 bits."""


# --- reading host functions -------------------------------------------------------------------------------------------


POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def parameters_of(function: Callable[..., Any]) -> list[HostParameter] | None:
    """Return the positional parameters of a function; None where it has no signature, or takes any number of them."""
    try:
        parameters = signature_of(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if not parameters or any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return None
    names = getattr(inspect.unwrap(function), "__globals__", {})
    return [_of_annotation(one.name, one.annotation, names) for one in parameters if one.kind in POSITIONAL]


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function, annotations that can't be run as text; errors as of `inspect.signature`."""
    if isinstance(function, BuiltinFunctionType) and _has_no_signature(function):
        raise ValueError(f"no signature found for {function!r}")
    try:
        return inspect.signature(function)
    except NameError:
        # From Python 3.14 on annotations are run only when they are asked for, and float[:] can't be.
        if sys.version_info < (3, 14):
            raise
        annotationlib = import_module("annotationlib")
        return inspect.signature(function, annotation_format=annotationlib.Format.STRING)


def _has_no_signature(function: BuiltinFunctionType) -> bool:
    # Python 3.13 and later make one up for functions of one argument.
    return getattr(function, "__text_signature__", None) in (None, "($self, object, /)")


def stub_parameters(module_file: str | Path, name: str) -> list[HostParameter] | None:
    """Return the parameters of a function of a compiled module from the stub that Pyccel leaves beside it."""
    file = Path(module_file)
    stub = file.parent / "__pyccel__" / f"{file.name.partition('.')[0]}.pyi"
    try:
        body = ast.parse(stub.read_text(encoding="utf-8")).body
    except (OSError, SyntaxError, ValueError):
        return None
    found = [one for one in body if isinstance(one, ast.FunctionDef) and one.name == name]
    if not found:
        return None
    arguments = [*found[0].args.posonlyargs, *found[0].args.args]
    if len(found) > 1:  # one for each combination of types, so that types say nothing
        return [HostParameter(one.arg) for one in arguments]
    return [
        HostParameter(one.arg) if one.annotation is None else _of_node(one.arg, one.annotation, {}) for one in arguments
    ]


def _of_annotation(name: str, annotation: Any, names: Mapping[str, Any]) -> HostParameter:
    if annotation is inspect.Parameter.empty:
        return HostParameter(name)
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        return _of_text(name, annotation, names)
    if isinstance(annotation, typing.TypeVar):
        found = [_of_annotation(name, one, names) for one in annotation.__constraints__]
        return _one_of(name, found, annotation.__name__)
    origin = typing.get_origin(annotation)
    if origin is typing.Final:
        (inner,) = typing.get_args(annotation)
        one = _of_annotation(name, inner, names)
        return one._replace(const=True, text=f"Final[{one.text}]")
    if origin in (typing.Union, UnionType):
        found = [_of_annotation(name, one, names) for one in typing.get_args(annotation)]
        return _one_of(name, found, " | ".join(one.text for one in found))
    if isinstance(annotation, type) and annotation.__module__ in ("builtins", "numpy"):
        return _of_text(name, annotation.__name__, names)
    return HostParameter(name)


def _of_text(name: str, text: str, names: Mapping[str, Any]) -> HostParameter:
    plain = text.strip()
    if plain.startswith("const "):
        return _of_text(name, plain.removeprefix("const "), names)._replace(const=True, text=plain)
    try:
        node = ast.parse(plain, mode="eval").body
    except (SyntaxError, ValueError):
        return HostParameter(name)
    found = _of_node(name, node, names)
    return found if isinstance(node, ast.Constant) else found._replace(text=plain)


def _of_node(name: str, node: ast.expr, names: Mapping[str, Any]) -> HostParameter:
    """Read an annotation; `names` has the type variables."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _of_text(name, node.value, names)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        found = [_of_node(name, side, names) for side in (node.left, node.right)]
        return _one_of(name, found, ast.unparse(node))
    if isinstance(node, ast.Call):  # float[:, :](order=F)
        node = node.func
    last = _last_name(node)
    if last is not None:
        if isinstance(names.get(last), typing.TypeVar):
            return _of_annotation(name, names[last], names)
        dtype = _DTYPES.get(last)
        return HostParameter(name) if dtype is None else HostParameter(name, dtype, 0, text=last)
    if isinstance(node, ast.Subscript):
        outer = _last_name(node.value)
        if outer == "Final":
            return _of_node(name, node.slice, names)._replace(const=True, text=ast.unparse(node))
        axes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if outer is not None and axes and all(isinstance(axis, ast.Slice) for axis in axes):
            inner = _of_node(name, node.value, names)
            return inner._replace(ndim=len(axes), text=ast.unparse(node))
    return HostParameter(name)


def _one_of(name: str, found: list[HostParameter], text: str) -> HostParameter:
    """Combine what several annotations say, one of which holds."""
    dimensions = {one.ndim for one in found}
    ndim = dimensions.pop() if len(dimensions) == 1 else None
    dtypes = frozenset(dtype for one in found for dtype in _allowed(one))
    if not all(map(_allowed, found)):
        return HostParameter(name, None, ndim, text=text)
    if len(dtypes) == 1:
        return HostParameter(name, next(iter(dtypes)), ndim, text=text)
    return HostParameter(name, None, ndim, text=text, dtypes=dtypes)


def _allowed(parameter: HostParameter) -> frozenset[np.dtype[Any]]:
    return parameter.dtypes if parameter.dtype is None else frozenset([parameter.dtype])


def _last_name(node: ast.expr) -> str | None:
    """Return ``float64`` of ``float64`` and of ``numpy.float64``."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) and _last_name(node.value) is not None else None


# --- comparing --------------------------------------------------------------------------------------------------------


def differences(host: Sequence[HostParameter], cuda: Sequence[CudaParameter]) -> list[str]:
    """Return where the types of a host kernel and of a CUDA kernel contradict each other, in words.

    Only what both sides say is compared. Scalars are converted at a launch, so that their kinds have to agree and not
    their sizes. Many sources leave ``const`` and ``Final`` out, so constness is compared where both sides use them.
    """
    marked = any(one.const and one.ndim for one in host) and any(_is_array(one) and one.const for one in cuda)
    return [text for one, other in zip(host, cuda, strict=True) for text in _compared(one, other, marked)]


class Wider(NamedTuple):
    """A parameter that a host kernel takes with more dtypes than a CUDA kernel."""

    position: int
    name: str
    more: frozenset[np.dtype[Any]]
    all: frozenset[np.dtype[Any]]


def wider(host: Sequence[HostParameter], cuda: Sequence[CudaParameter]) -> list[Wider]:
    """Return the parameters that a host kernel takes with dtypes that a CUDA kernel refuses."""
    if [one.name for one in host] != [other.name for other in cuda]:
        return []
    found = []
    for position, (one, other) in enumerate(zip(host, cuda, strict=True)):
        if other.dtype is None or other.struct is not None:
            continue
        more = frozenset(
            dtype
            for dtype in _allowed(one)
            if (dtype != other.dtype if _is_array(other) else not _convertible(dtype, other.dtype))
        )
        if more and more != _allowed(one):  # else they contradict each other, which check_signature tells
            found.append(Wider(position, one.name, more, _allowed(one)))
    return found


def _is_array(parameter: CudaParameter) -> bool:
    return parameter.pointer or parameter.view_ndim is not None


def _compared(host: HostParameter, cuda: CudaParameter, marked: bool) -> Iterator[str]:
    if host.ndim is None or (cuda.struct is not None):
        return
    says = f"{host.name}: {host.text!r} on the host, {_text(cuda)} in CUDA"
    if not _is_array(cuda):
        if host.ndim:
            yield f"{says}: an array and a scalar"
        elif host.dtype is not None and cuda.dtype is not None and not _convertible(host.dtype, cuda.dtype):
            yield f"{says}: numbers of different kinds"
        return
    if host.ndim == 0:
        yield f"{says}: a scalar and an array"
        return
    if host.dtype is not None and cuda.dtype is not None and host.dtype != cuda.dtype:
        yield f"{says}: {host.dtype} and {cuda.dtype}"
    if cuda.view_ndim is not None and cuda.view_ndim != host.ndim:
        yield f"{says}: {host.ndim} and {cuda.view_ndim} dimension(s)"
    if marked and host.const and not cuda.const:
        yield f"{says}: not written on the host, and written in CUDA, or const is missing"
    if marked and cuda.const and not host.const:
        yield f"{says}: not written in CUDA, and written on the host, or Final is missing"


def _convertible(host: np.dtype[Any], cuda: np.dtype[Any]) -> bool:
    """Tell whether scalars that a host function takes are taken by a CUDA kernel as what they are."""
    kinds = {"b": "biu", "i": "iu", "u": "iu", "f": "f", "c": "c"}
    return cuda.kind in kinds[host.kind]


def _text(cuda: CudaParameter) -> str:
    view = cuda.view_ndim is not None
    const = "const " if cuda.const and not view else ""
    return f"'{const}{cuda.ctype}{'*' if cuda.pointer else ''}'"
