"""One-operator changes of a module: a comparison turned, ``and`` and ``or`` swapped, a ``not`` removed."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.Lt: ast.GtE,
    ast.Gt: ast.LtE,
    ast.Is: ast.IsNot,
    ast.In: ast.NotIn,
}
_TURNED |= {new: old for old, new in _TURNED.items()}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed expression: its file, line and texts, and the whole changed source."""

    file: Path
    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before} -> {self.after}"


def mutants(file: Path, source: str) -> Iterator[Mutant]:
    """Yield every mutant of ``source``, in its order."""
    lines = source.encode().splitlines(keepends=True)
    for node in _judged(ast.parse(source)):
        for changed in _changes(node):
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            start, end = (
                _offset(lines, node.lineno, node.col_offset),
                _offset(lines, node.end_lineno, node.end_col_offset),
            )
            raw, after = source.encode(), f"({ast.unparse(changed)})"
            text = (raw[:start] + after.encode() + raw[end:]).decode()
            yield Mutant(file, node.lineno, ast.unparse(node), after, text)


def _judged(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions that a run evaluates: no assertion for type checkers, no text in braces."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Assert | ast.JoinedStr):
            continue
        if isinstance(child, ast.Compare | ast.BoolOp | ast.UnaryOp):
            yield child
        yield from _judged(child)


def _changes(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        for number, operator in enumerate(node.ops):
            turned = copy.deepcopy(node)
            turned.ops[number] = _TURNED[type(operator)]()
            yield turned
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand


def _offset(lines: list[bytes], line: int, column: int) -> int:
    return sum(map(len, lines[: line - 1])) + column
