"""The parameters of CUDA kernels, read from source code by C++'s own grammar."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cunumpy._gate import given
from cunumpy.cuda._arguments import argument_error, as_defines, check_text, structs_by_name
from cunumpy.cuda._brackets import split
from cunumpy.cuda._ctypes_table import ctype_of
from cunumpy.cuda._declarations import Declarations, KernelHeader, Path, read_declarations
from cunumpy.cuda._parameters import CudaParameter, kernel_parameters
from cunumpy.cuda._templates import TemplateArgument, bind_template, check_template, template_parameters
from cunumpy.cuda._tokens import SourceError, is_name, words_of
from cunumpy.cuda._types import Reader
from cunumpy.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class CudaKernelDeclaration(NamedTuple):
    """What a kernel's declaration says.

    `launch_bounds` has the numbers of ``__launch_bounds__``: most threads of a block, fewest blocks of a
    multiprocessor, most blocks of a cluster, as far as given; None stands for what can't be evaluated.
    """

    name: str
    parameters: tuple[CudaParameter, ...]
    launch_bounds: tuple[int | None, ...]
    is_template: bool
    line: int
    column: int


def parse_cuda_signature(
    source: str,
    name: str,
    *,
    structs: Iterable[Any] = (),
    template_args: Sequence[Any] | None = None,
    defines: Mapping[str, Any] | None = None,
    filename: str = "<source>",
) -> tuple[CudaParameter, ...]:
    """Read the parameters of a kernel from its source.

    The source is read as a compiler does it: comments, literals and blocks left out by ``#if`` do not count, macros
    without parameters are expanded, names are looked up through namespaces, typedefs, enumerations and template
    arguments. Headers are not read. A condition that neither the source nor `defines` decides keeps both branches,
    and is an error where the kernel depends on it.

    Parameters
    ----------
    source : str
        CUDA C++ source code.
    name : str
        The kernel, also qualified as in ``"space::kernel"``. A definition is preferred to declarations.
    structs : iterable of CudaStruct
        Struct types of parameters. Each is compared with its definition, if the source has one.
    template_args : sequence, optional
        One for each template parameter, as text, dtype, bool or int; those with a default may be left out at the end.
    defines : mapping of str to Any, optional
        The macros given to the compiler (``-D``), with their values; None as a value stands for not defined. Without
        it, each macro that the source does not define counts as unknown.
    filename : str, default: "<source>"
        For the error messages.

    Returns
    -------
    tuple of CudaParameter

    Raises
    ------
    ArgumentError
        There is no such kernel, or several of this name, or a kernel can't be called with such a parameter. The message
        has file, line and column, and what to write instead.
    ArgumentTypeError
        An argument has a wrong type.

    Examples
    --------
    >>> import cunumpy as xp
    >>> source = '''
    ... template <typename T, int N = 3>
    ... __global__ void __launch_bounds__(256) scale(T* __restrict__ x, const T* factors, long n) { }
    ... '''
    >>> for parameter in xp.cuda.parse_cuda_signature(source, "scale", template_args=["double"]):
    ...     print(parameter.name, parameter.ctype, parameter.pointer, parameter.const)
    x double True False
    factors double True True
    n long False False
    """
    return kernel_declaration(
        source, name, structs=structs, template_args=template_args, defines=defines, filename=filename
    ).parameters


def kernel_declaration(
    source: str,
    name: str,
    *,
    structs: Iterable[Any] = (),
    template_args: Sequence[Any] | None = None,
    defines: Mapping[str, Any] | None = None,
    filename: str = "<source>",
    function: str = "parse_cuda_signature",
) -> CudaKernelDeclaration:
    """Read the declaration of a kernel; see `parse_cuda_signature`."""
    check_text(source, "source", "the source code", function)
    check_text(name, "name", "the name of a kernel", function)
    known = structs_by_name(structs, function)
    if template_args is not None and (isinstance(template_args, (str, type)) or not hasattr(template_args, "__iter__")):
        raise ArgumentTypeError(
            f"{function}: argument 'template_args' must be a sequence with one entry for each parameter, got "
            f"{template_args!r}; pass [{template_args!r}]."
        )
    arguments = None if template_args is None else [template_argument(one, function) for one in template_args]
    given = as_defines(defines, function)
    try:
        declarations = read_declarations(source, given)
        header = _find_kernel(declarations, name, known, arguments)
        reader, bindings = _reader_of(declarations, header, known, arguments)
        parameters = kernel_parameters(reader, header)
        bounds = _launch_bounds(reader, header, bindings)
        line, column = declarations.tokens.position(declarations.tokens.offsets[header.name_index])
    except SourceError as error:
        raise argument_error(error, function, filename) from None
    for struct in known.values():
        check = getattr(struct, "check_source", None)
        if check is not None:
            check(source)
    return CudaKernelDeclaration(header.name, parameters, bounds, header.template is not None, line, column)


def cuda_kernel_names(
    source: str, *, defines: Mapping[str, Any] | None = None, filename: str = "<source>"
) -> list[str]:
    """Return the names of the kernels that a source declares.

    Parameters
    ----------
    source : str
        CUDA C++ source code.
    defines, filename
        As for `parse_cuda_signature`.

    Returns
    -------
    list of str
        Each ``__global__ void`` function once, in the order of first appearance; templates and declarations count.
        Where a name stands for kernels of several namespaces, they are qualified: ``"space::kernel"``.

    Raises
    ------
    ArgumentError
        A comment, raw string or ``#if`` does not end.
    ArgumentTypeError
        `source` is no text.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.cuda.cuda_kernel_names('extern "C" __global__ void __launch_bounds__(256) scale(double* x) { }')
    ['scale']
    """
    function = "cuda_kernel_names"
    check_text(source, "source", "the source code", function)
    try:
        declarations = read_declarations(source, as_defines(defines, function))
    except SourceError as error:
        raise argument_error(error, function, filename) from None
    spaces: dict[str, dict[Path, None]] = {}
    kernels = [kernel for kernel in declarations.kernels if kernel.returns == "void"]
    for kernel in kernels:
        spaces.setdefault(kernel.name, {})[kernel.scope] = None
    return list(
        dict.fromkeys(
            kernel.name if len(spaces[kernel.name]) == 1 else declarations.kernel_name(kernel) for kernel in kernels
        )
    )


def template_argument(value: Any, function: str) -> str:
    """Return the C++ text of a template argument: text as it is, a bool or an integer as its literal, or of a dtype."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        if not -(2**63) <= int(value) < 2**64:
            raise ArgumentError(
                f"{function}: argument 'template_args' holds {given(value)}; integers of C++ have up to 64 bits."
            )
        return _integer_literal(int(value))
    try:
        return ctype_of(value)
    except (ArgumentError, ArgumentTypeError) as error:
        raise type(error)(
            f"{function}: argument 'template_args' holds {value!r}, which is no type of CUDA; pass a dtype that CUDA "
            "has, a bool, an int, or the C++ text as str."
        ) from None


def _integer_literal(value: int) -> str:
    """Return an integer as C++ reads it: a minus sign is no part of a literal, and 2**63 has no type without a U."""
    if value >= 2**63:
        return f"{value}ULL"
    return f"(-{-(value + 1)}LL - 1)" if value == -(2**63) else str(value)


# Finding the kernel


def _find_kernel(
    declarations: Declarations, name: str, known: dict[str, Any], arguments: list[str] | None
) -> KernelHeader:
    path = tuple(word for word in words_of(name) if word != "::")
    named = [kernel for kernel in declarations.kernels if declarations.is_called(kernel.path, path)]
    meant = declarations.meanings(path, ()) if path else []
    exact = [kernel for kernel in named if kernel.path in meant]
    candidates = exact or ([] if name.lstrip().startswith("::") else named)
    tokens = declarations.tokens
    if not path or not candidates:
        raise _no_kernel(declarations, name, path)
    void = [kernel for kernel in candidates if kernel.returns == "void"]
    if not void:
        returned = candidates[0].returns or "nothing"
        raise tokens.error(
            f"the kernel {name!r} returns {returned}; a kernel returns void, so write '__global__ void {name}(...)', "
            "and pass a pointer for the result",
            tokens.offsets[candidates[0].name_index],
        )
    candidates = void
    templates = [kernel for kernel in candidates if kernel.template is not None]
    if arguments is None:
        plain = [kernel for kernel in candidates if kernel.template is None]
        if not plain:
            parameters = template_parameters(declarations, templates[0])
            check_template(declarations, parameters, f"the kernel {name!r}")
            count = len(parameters)
            raise tokens.error(
                f"the kernel {name!r} is a template with {count} parameter(s); pass template_args with one entry for "
                "each of them (those with a default may be left out), such as template_args=['double']",
                tokens.offsets[templates[0].name_index],
            )
        candidates = plain
    elif not templates:
        raise tokens.error(
            f"the kernel {name!r} is no template; leave out template_args", tokens.offsets[candidates[0].name_index]
        )
    else:
        candidates = templates
    if len({kernel.scope for kernel in candidates}) > 1:
        choices = dict.fromkeys(map(declarations.kernel_name, candidates))
        remedy = f"pass {' or '.join(map(repr, choices))} as its name"
        if "::".join(path) in choices:  # which has another one in an inline namespace
            remedy = "C++ does not tell them apart either, so rename one"
        raise tokens.error(
            f"several namespaces have a kernel {name!r}; {remedy}",
            tokens.offsets[candidates[1].name_index],
        )
    candidates = [kernel for kernel in candidates if kernel.has_body] or candidates
    if len(candidates) > 1:
        candidates = _one_signature(declarations, name, candidates, known, arguments)
    return candidates[0]


def _one_signature(
    declarations: Declarations,
    name: str,
    candidates: list[KernelHeader],
    known: dict[str, Any],
    arguments: list[str] | None,
) -> list[KernelHeader]:
    """Return the candidates if all of them have the same types; several definitions of a template can't be told."""
    signatures: dict[Any, KernelHeader] = {}
    for kernel in candidates:
        reader, _ = _reader_of(declarations, kernel, known, arguments)
        types = tuple(
            (one.ctype, str(one.dtype), one.pointer, one.view_ndim, one.contiguous, one.const)
            for one in kernel_parameters(reader, kernel)
        )
        signatures.setdefault(types, kernel)
    if len(signatures) > 1:
        tokens = declarations.tokens
        first, second = list(signatures.values())[:2]
        line, column = tokens.position(tokens.offsets[first.name_index])
        unknown = [block for block in tokens.undecided if block.start <= second.name_index < block.stop]
        remedy = (
            f"they depend on '{unknown[-1].directive}'; say in defines={{...}} which macros the compiler is given"
            if unknown
            else "give the overloads different names"
        )
        raise tokens.error(
            f"the kernel {name!r} is there with other parameters at {line}:{column}; {remedy}",
            tokens.offsets[second.name_index],
        )
    return candidates


def _no_kernel(declarations: Declarations, name: str, path: Path) -> SourceError:
    tokens = declarations.tokens
    if path and path[-1] in declarations.unclosed:
        return tokens.error(
            f"the parameters of {name!r} have no end; write ')' after them",
            tokens.offsets[declarations.unclosed[path[-1]]],
        )
    kernels = {kernel.name_index for kernel in declarations.kernels}
    for index, word in enumerate(tokens.words[:-1]):
        if (
            path
            and word == path[-1]
            and index not in kernels
            and tokens.words[index + 1] == "("
            and index
            and is_name(tokens.words[index - 1])
        ):
            return tokens.error(
                f"{name!r} is no kernel here; declare it '__global__ void {name}(...)'", tokens.offsets[index]
            )
    if path:
        pattern = re.compile(rf"\b{re.escape(path[-1])}\s*\(")
        for start, stop in tokens.left_out:
            found = pattern.search(tokens.text, start, stop)
            if found is not None:
                return tokens.error(
                    f"{name!r} stands in a block that the preprocessor leaves out; change the condition, or say in "
                    "defines={...} which macros the compiler is given",
                    found.start(),
                )
    for macro, offset in tokens.function_macros.items():
        line = tokens.text[offset : tokens.text.find("\n", offset)]
        if "__global__" in line or re.search(rf"\b{macro}\s*\(\s*{re.escape(path[-1] if path else '')}\b", tokens.text):
            return tokens.error(
                f"there is no kernel {name!r}, but the macro {macro}(...), which could make one, and macros with "
                f"parameters are not expanded; write '__global__ void {name}(...)' out",
                offset,
            )
    names = list(dict.fromkeys(kernel.name for kernel in declarations.kernels))
    known = f"its kernels are {', '.join(names)}" if names else "it has no __global__ function"
    if not names and re.fullmatch(r"[^\n;{}]*\.(cu|cuh|h|hpp|cpp|cc)\s*", tokens.text):
        known = "this is the name of a file, not source code; read it with Path(...).read_text()"
    return tokens.error(f"there is no kernel {name!r}; {known}", 0)


def _reader_of(
    declarations: Declarations, header: KernelHeader, known: dict[str, Any], arguments: list[str] | None
) -> tuple[Reader, dict[str, TemplateArgument]]:
    offset = declarations.tokens.offsets[header.name_index]
    given = []
    for text in arguments or ():
        words = words_of(text)
        given.append(TemplateArgument(words, [offset] * len(words), (), {}))
    parameters = template_parameters(declarations, header)
    bindings = bind_template(declarations, parameters, given, f"the kernel {header.name!r}", offset)
    return Reader(declarations, known, bindings, header.scope), bindings


def _launch_bounds(
    reader: Reader, header: KernelHeader, bindings: Mapping[str, TemplateArgument]
) -> tuple[int | None, ...]:
    if header.launch_bounds is None:
        return ()
    words = reader.tokens.words
    return tuple(
        reader.value(words[first:last], header.scope, bindings)
        for first, last in split(words, header.launch_bounds.start, header.launch_bounds.stop, angles=False)
    )
