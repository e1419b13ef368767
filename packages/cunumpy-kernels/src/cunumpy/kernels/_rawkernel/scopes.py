"""Where a function's variables are used: which can be declared where they are assigned."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

Path = tuple[int, ...]
"""Of a block of statements: numbers of the statements that it is in."""


@dataclass
class Uses:
    """The uses of a name, in their order.

    Attributes
    ----------
    paths : list
        Of the blocks with uses.
    first : ast.stmt or None
        The statement of the first use, if this is a plain assignment.
    stores : int
        How often it is assigned, in whatever way.
    updated : bool
        Whether it is assigned otherwise than by plain assignments: as a loop variable, or in place.
    loops : list
        The blocks of loops that it is the variable of.
    """

    paths: list[Path] = field(default_factory=list)
    first: ast.stmt | None = None
    first_path: Path | None = None
    stores: int = 0
    updated: bool = False
    loops: list[Path] = field(default_factory=list)

    @property
    def in_loops_only(self) -> bool:
        """Whether it is used nowhere but in loops that it is the variable of, none of which is in another."""
        loops = self.loops
        inside = all(any(path[: len(loop)] == loop for loop in loops) for path in self.paths)
        nested = any(a is not b and b[: len(a)] == a for a in loops for b in loops)
        return inside and not nested

    @property
    def common(self) -> Path:
        """The innermost block that has all uses."""
        found = self.paths[0]
        for path in self.paths:
            length = next((n for n, (a, b) in enumerate(zip(found, path, strict=False)) if a != b), None)
            found = found[: min(len(found), len(path)) if length is None else length]
        return found


def find_uses(function: ast.FunctionDef) -> dict[str, Uses]:
    """Return the uses of all names in a function's body."""
    uses: dict[str, Uses] = {}
    counter = iter(range(1, 1_000_000))

    def note(name: str, path: Path, statement: ast.stmt, *, store: bool, plain: bool) -> None:
        one = uses.setdefault(name, Uses())
        if not one.paths:
            one.first_path = path
            one.first = statement if store and plain else None
        one.paths.append(path)
        one.stores += store
        one.updated |= store and not plain

    def expression(node: ast.AST | None, path: Path, statement: ast.stmt) -> None:
        if node is None:
            return
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                store = not isinstance(inner.ctx, ast.Load)
                note(inner.id, path, statement, store=store, plain=True)

    def block(body: list[ast.stmt], path: Path) -> None:
        for statement in body:
            if isinstance(statement, ast.Assign):
                expression(statement.value, path, statement)
                for target in statement.targets:
                    expression(target, path, statement)
            elif isinstance(statement, ast.AnnAssign):
                expression(statement.value, path, statement)
                expression(statement.target, path, statement)
            elif isinstance(statement, ast.AugAssign):
                expression(statement.value, path, statement)
                if isinstance(statement.target, ast.Name):
                    note(statement.target.id, path, statement, store=True, plain=False)
                else:
                    expression(statement.target, path, statement)
            elif isinstance(statement, ast.For):
                expression(statement.iter, path, statement)
                inner = (*path, next(counter))
                if isinstance(statement.target, ast.Name):
                    note(statement.target.id, inner, statement, store=True, plain=False)
                    uses[statement.target.id].loops.append(inner)
                block(statement.body, inner)
                block(statement.orelse, (*path, next(counter)))
            elif isinstance(statement, (ast.While, ast.If)):
                expression(statement.test, path, statement)
                block(statement.body, (*path, next(counter)))
                block(statement.orelse, (*path, next(counter)))
            else:
                for inner_node in ast.iter_child_nodes(statement):
                    expression(inner_node, path, statement)

    block(function.body, ())
    return uses


def stored_in(body: list[ast.stmt]) -> set[str]:
    """Return the names that statements assign."""
    return {
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del))
    }


def names_in(*nodes: ast.AST | None) -> set[str]:
    """Return the names that are read in expressions."""
    return {node.id for one in nodes if one is not None for node in ast.walk(one) if isinstance(node, ast.Name)}
