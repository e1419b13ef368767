"""Compiled loops for the graph of a fused function: which operations go together, and their code."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cunumpy.kernels import _fused_code as code
from cunumpy.kernels import _fused_graph as graph
from cunumpy.kernels._elementwise_kernel import ElementwiseKernel
from cunumpy.kernels._fused_graph import Node
from cunumpy.kernels._generated_code import C_TYPES
from cunumpy.kernels._reduction_kernel import ReductionKernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class Loop(NamedTuple):
    """A pass over arrays, which calculates what is not kept in between.

    Attributes
    ----------
    outputs : list of Node
        What it writes, or the reduction that it ends in.
    nodes : list of Node
        What it calculates, in order.
    sources : list of Node
        What it reads.
    numbers : list of numpy.generic
    key : tuple
        All that its code depends on.
    """

    outputs: list[Node]
    nodes: list[Node]
    sources: list[Node]
    numbers: list[np.generic]
    key: tuple[Any, ...]


class Plan(NamedTuple):
    """The steps that give a graph's results: loops, and nodes that NumPy evaluates."""

    steps: list[Loop | Node]
    last_read: dict[Node, int]
    """The step that reads a given array last."""


def plan(results: Iterable[Node], least: int) -> Plan:
    """Return the steps to some nodes of a graph.

    Operations on arrays of one shape go into one loop, unless a reduction is between them; a reduction ends the loop of
    its operand. What is left alone, and whatever is smaller than `least` elements, is NumPy's.
    """
    wanted = dict.fromkeys(results)
    simple = _single_loop(wanted, least)
    if simple is not None:
        return Plan([simple], dict.fromkeys(simple.sources, 0))
    order = _in_order(wanted)
    looped = {one for one in order if one.array is None and not one.is_reduction and one.shape and one.size >= least}
    consumers: dict[Node, list[Node]] = {one: [] for one in order}
    for one in order:
        for operand in _nodes_of(one):
            consumers[operand].append(one)
    stage = _stages(order, consumers, wanted, looped)

    def together(operand: Node, consumer: Node) -> bool:
        return (
            operand in looped
            and stage[operand] == stage[consumer]
            and (consumer.is_reduction or (consumer in looped and operand.shape == consumer.shape))
        )

    kept = dict(wanted)
    for one in order:
        if one in looped and any(not together(one, consumer) for consumer in consumers[one]):
            kept[one] = None
    reductions = {}
    for one in order:
        if one.is_reduction and one.operands[0] in looped and one.operands[0] not in kept:
            loop = _loop([one], [one.operands[0]], kept, looped)
            if _shape_of(loop.sources) == one.operands[0].shape:
                reductions[one] = loop
            else:
                kept[one.operands[0]] = None
    groups: dict[tuple[int, tuple[int, ...]], list[Node]] = {}
    rest: list[tuple[int, Node]] = []
    for one in order:
        if one in looped and one in kept:
            groups.setdefault((stage[one], one.shape), []).append(one)
        elif one not in looped and one.array is None:
            rest.append((stage[one], one))
    steps: list[tuple[int, int, Loop | Node]] = []
    for (at, _), outputs in groups.items():
        loop = _loop(outputs, outputs, kept, looped)
        alone = len(loop.nodes) == 1
        steps.append((at, 0, loop.nodes[0] if alone else loop))
    steps += [(at, 1, reductions.get(one, one)) for at, one in rest]
    ordered = [step for _, _, step in sorted(steps, key=lambda step: step[:2])]
    last_read = {}
    for number, step in enumerate(ordered):
        for operand in step.sources if isinstance(step, Loop) else _nodes_of(step):
            if operand.array is not None:
                last_read[operand] = number
    return Plan(ordered, last_read)


def _nodes_of(node: Node) -> list[Node]:
    return [one for one in node.operands if type(one) is Node]


def _single_loop(wanted: Mapping[Node, None], least: int) -> Loop | None:
    """Return the loop that is all: over given arrays, all results of one shape, two operations or more."""
    ends = list(wanted)
    if not ends or not ends[0].shape or ends[0].size < least:
        return None
    shape = ends[0].shape
    looped: set[Node] = set()
    waiting = list(ends)
    while waiting:
        node = waiting.pop()
        if node.is_reduction or node.shape != shape:
            return None
        looped.add(node)
        waiting += [one for one in _nodes_of(node) if one.array is None and one not in looped]
    loop = _loop(ends, ends, {}, looped)
    return loop if len(loop.nodes) > 1 else None


def _in_order(results: Iterable[Node]) -> list[Node]:
    """Return the results and all that they depend on, operands first."""
    order: dict[Node, None] = {}
    for result in results:
        waiting = [result]
        while waiting:
            node = waiting[-1]
            missing = [one for one in _nodes_of(node) if one not in order]
            if missing:
                waiting += missing
            else:
                order[waiting.pop()] = None
    return list(order)


def _stages(
    order: Sequence[Node], consumers: Mapping[Node, list[Node]], wanted: Mapping[Node, None], looped: set[Node]
) -> dict[Node, int]:
    """Return a number for each node: what needs another one's finished array comes after it."""
    stage: dict[Node, int] = {}
    for one in order:
        at = 0
        for operand in _nodes_of(one):
            joined = operand in looped and (one.is_reduction or (one in looped and operand.shape == one.shape))
            at = max(at, stage[operand] + (operand.array is None and not joined))
        stage[one] = at
    for one in reversed(order):  # what only later loops use is calculated there
        if one in looped and one not in wanted:
            later = consumers[one]
            if all(two.is_reduction or (two in looped and two.shape == one.shape) for two in later):
                stage[one] = min(stage[two] for two in later)
    return stage


def _loop(outputs: list[Node], ends: list[Node], kept: Mapping[Node, None], looped: set[Node]) -> Loop:
    nodes: dict[Node, int] = {}
    sources: dict[Node, int] = {}
    numbers: list[np.generic] = []
    key: list[Any] = []
    end_set = set(ends)

    def inside(node: Node) -> bool:
        return node in looped and (node in end_set or node not in kept)

    for end in ends:
        waiting = [end]
        while waiting:
            node = waiting[-1]
            if node in nodes:
                waiting.pop()
                continue
            missing = [one for one in _nodes_of(node) if inside(one) and one not in nodes]
            if missing:
                waiting += missing
                continue
            places: list[Any] = []
            for one in node.operands:
                if not isinstance(one, Node):
                    places.append(("n", len(numbers)))
                    numbers.append(one)
                elif inside(one):
                    places.append(("v", nodes[one]))
                else:
                    places.append(("a", sources.setdefault(one, len(sources)), one.dtype))
            nodes[node] = len(nodes)
            key.append((node.function, node.loop, node.dtype, *places))
            waiting.pop()
    key.append(tuple(one.function if one.is_reduction else nodes[one] for one in outputs))
    key.append(tuple(one.dtype for one in outputs))
    return Loop(outputs, list(nodes), list(sources), numbers, tuple(key))


def _shape_of(sources: Sequence[Node]) -> tuple[int, ...]:
    return np.broadcast_shapes(*(one.shape for one in sources if one.size > 1))


# --- code -------------------------------------------------------------------------------------------------------------


def elements_code(loop: Loop) -> str:
    """Return the C++ function that calculates one element."""
    names: dict[Node, str] = {one: f"a{number}" for number, one in enumerate(loop.sources)}
    parameters = [f"const {code.value_type(one.dtype)} {names[one]}" for one in loop.sources]
    lines = []
    count = 0
    for number, node in enumerate(loop.nodes):
        values = []
        loop_types = node.loop
        for operand, dtype in zip(node.operands, loop_types, strict=False):
            if isinstance(operand, Node):
                value = code.converted(names[operand], operand.dtype, dtype)
                assert value is not None
                values.append(value)
            else:
                values.append(f"n{count}")
                parameters.append(f"const {code.value_type(dtype)} n{count}")
                count += 1
        kind = code.value_type(node.dtype)
        if node.function in (graph.CAST, graph.FILL):
            text = values[0]
        elif node.function == graph.WHERE:
            text = f"{values[0]} ? {values[1]} : {values[2]}"
        else:
            text = code.expression(node.function, values, node.loop)
        names[node] = f"v{number}"
        lines.append(f"    const {kind} v{number} = {_cast_to(kind, text)};")
    end = loop.outputs[0]
    if end.is_reduction:
        operand = end.operands[0]
        head = f"static inline {code.value_type(operand.dtype)} elements({', '.join(parameters)})"
        lines.append(f"    return {names[operand]};")
    else:
        results = [f"{C_TYPES[one.dtype]}& r{number}" for number, one in enumerate(loop.outputs)]
        head = f"static inline void elements({', '.join([*parameters, *results])})"
        lines += [f"    r{number} = {names[one]};" for number, one in enumerate(loop.outputs)]
    return "\n".join([f"__device__ {head} {{", *lines, "}"])


def _cast_to(kind: str, text: str) -> str:
    return text if kind.startswith("complex") else f"({kind})({text})"


class Kernel:
    """A compiled loop.

    Parameters
    ----------
    loop : Loop
    name : str
        Of the kernel.
    """

    def __init__(self, loop: Loop, name: str) -> None:
        elements = elements_code(loop)
        parts = [code.HELPERS] if "cunumpy_fuse::" in elements or loop.outputs[0].is_reduction else []
        dtypes = {one.dtype for one in (*loop.nodes, *loop.sources, *loop.outputs)}
        if any(dtype.kind == "c" for dtype in dtypes):
            parts.append(code.COMPLEX_HELPERS)
        if code.HALF in dtypes:
            parts.append(code.HALF_HELPERS)
        declarations = code.declarations(elements)
        preamble = "\n".join([*parts, declarations, elements])
        inputs = [f"{one.dtype.name} a{number}" for number, one in enumerate(loop.sources)]
        inputs += [f"{one.dtype.name} n{number}" for number, one in enumerate(loop.numbers)]
        arguments = ", ".join(one.split()[1] for one in inputs)
        end = loop.outputs[0]
        self._kernel: Any
        if end.is_reduction:
            reduced, wide = graph.reduce_code(end)
            self._kernel = ReductionKernel(
                ", ".join(inputs),
                f"{end.dtype.name} r0",
                f"elements({arguments})",
                reduced,
                "r0 = a",
                None,
                f"fused_{name}",
                wide,
                preamble=preamble,
            )
        else:
            results = [f"r{number}" for number in range(len(loop.outputs))]
            self._kernel = ElementwiseKernel(
                ", ".join(inputs),
                ", ".join(f"{one.dtype.name} {name}" for one, name in zip(loop.outputs, results, strict=True)),
                f"elements({', '.join([arguments, *results] if arguments else results)})",
                f"fused_{name}",
                preamble=preamble,
                no_return=True,
            )
        self._kernel._host_options = ("-ffp-contract=off",)
        if "simd(" in declarations:
            self._kernel._host_options += ("-Wl,--no-as-needed", "-lmvec")

    def __call__(self, loop: Loop, values: Mapping[Node, Any], into: Mapping[Node, np.ndarray]) -> list[Any]:
        """Run it.

        Parameters
        ----------
        loop : Loop
            One of the same key.
        values : dict
            The arrays of all sources.
        into : dict
            Arrays for outputs; for others new ones are made.

        Returns
        -------
        list
            Of the outputs.
        """
        sources = [values[one] for one in loop.sources]
        given = [one[(0,) * one.ndim] if isinstance(one, np.ndarray) and one.size == 1 else one for one in sources]
        outputs = [into[one] if one in into else graph.allocated(one) for one in loop.outputs]
        end = loop.outputs[0]
        if end.is_reduction:
            self._kernel(*given, *loop.numbers, *outputs, axis=end.axes, keepdims=end.keepdims)
            return [outputs[0] if end.shape else outputs[0][()]]
        self._kernel(*given, *loop.numbers, *outputs)
        return list(outputs)


def shown(steps: Sequence[Loop | Node]) -> str:
    """Return the code of all loops, as a reader wants to see it."""
    parts = []
    for number, step in enumerate(steps, 1):
        if isinstance(step, Loop):
            end = step.outputs[0]
            shape = end.operands[0].shape if end.is_reduction else end.shape
            what = f", whose results are reduced: {end.function} along {end.axes}" if end.is_reduction else ""
            parts.append(
                f"// {number}. A loop over {math.prod(shape)} elements of shape {shape}{what}.\n{elements_code(step)}"
            )
        else:
            name = step.function if isinstance(step.function, str) else step.function.__name__
            parts.append(f"// {number}. NumPy's {name}, to an array of shape {step.shape}.")
    return "\n".join(parts) + "\n"
