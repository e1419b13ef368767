"""Template parameters, and the arguments that are bound to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cunumpy.cuda._brackets import split
from cunumpy.cuda._declarations import Declarations, KernelHeader, Path, Range
from cunumpy.cuda._tokens import is_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class TemplateArgument(NamedTuple):
    """A template argument: words, and how the names in them are looked up."""

    words: Sequence[str]
    offsets: Sequence[int]
    scope: Path
    bindings: Mapping[str, TemplateArgument]


class TemplateParameter(NamedTuple):
    """A parameter of a template, as it is declared; `problem` says why it can't be bound."""

    name: str
    default: Range | None
    names: tuple[str, ...]
    """What the parameters are called where the default stands, which may be another declaration."""
    problem: str | None
    offset: int


def template_parameters(declarations: Declarations, header: KernelHeader) -> list[TemplateParameter]:
    """Return the template parameters of a kernel, with the defaults that any of its declarations gives."""
    if header.template is None:
        return []
    own = read_template(declarations, header.template)
    for other in declarations.kernels:
        if other is header or other.template is None or (other.name, other.scope) != (header.name, header.scope):
            continue
        theirs = read_template(declarations, other.template)
        if len(theirs) == len(own):
            own = [
                mine if mine.default is not None else mine._replace(default=one.default, names=one.names)
                for mine, one in zip(own, theirs, strict=True)
            ]
    return own


def read_template(declarations: Declarations, template: Range) -> list[TemplateParameter]:
    """Read the parameters between the angle brackets of a template."""
    words, offsets = declarations.tokens.words, declarations.tokens.offsets
    parameters: list[TemplateParameter] = []
    for first, last in split(words, template.start, template.stop):
        piece = words[first:last]
        equals = piece.index("=") if "=" in piece else len(piece)
        default = Range(first + equals + 1, last, template.scope) if equals < len(piece) else None
        declared = piece[:equals]
        problem = None
        if "..." in declared:
            problem = "a parameter pack, whose length the source does not give; write the parameters out"
        elif declared[:1] == ["template"]:
            problem = "a template of templates; take a type parameter instead"
        name = declared[-1] if len(declared) > 1 and is_name(declared[-1]) else ""
        offset = offsets[min(first, len(offsets) - 1)]
        parameters.append(TemplateParameter(name, default, (), problem, offset))
    names = tuple(parameter.name for parameter in parameters)
    return [parameter._replace(names=names) for parameter in parameters]


def check_template(declarations: Declarations, parameters: list[TemplateParameter], what: str) -> None:
    for parameter in parameters:
        if parameter.problem is not None:
            raise declarations.tokens.error(f"{what} has {parameter.problem}", parameter.offset)


def bind_template(
    declarations: Declarations,
    parameters: list[TemplateParameter],
    arguments: Sequence[TemplateArgument],
    what: str,
    offset: int,
) -> dict[str, TemplateArgument]:
    """Bind template parameters to arguments, and the rest to their defaults."""
    tokens = declarations.tokens
    check_template(declarations, parameters, what)
    if len(arguments) > len(parameters):
        raise tokens.error(
            f"{what} has {len(parameters)} template parameter(s), and {len(arguments)} are given; leave out the rest",
            offset,
        )
    bound = list(arguments)
    for position, parameter in enumerate(parameters[len(arguments) :], start=len(arguments)):
        if parameter.default is None:
            label = repr(parameter.name) if parameter.name else f"number {position + 1}"
            raise tokens.error(
                f"{what} has {len(parameters)} template parameter(s), and {len(arguments)} are given; give one for "
                f"{label} too, which has no default",
                offset,
            )
        start, stop, scope = parameter.default
        earlier = {name: argument for name, argument in zip(parameter.names, bound, strict=False) if name}
        bound.append(TemplateArgument(tokens.words[start:stop], tokens.offsets[start:stop], scope, earlier))
    return {one.name: argument for one, argument in zip(parameters, bound, strict=True) if one.name}
