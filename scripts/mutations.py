"""A file's mutants: the same text with one small fault, as somebody would make it."""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OTHER: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    path: Path
    line: int
    text: str

    def diff(self, root: Path) -> str:
        """The changed lines, under the place."""
        rows = difflib.ndiff(self.path.read_text().splitlines(), self.text.splitlines())
        return "\n".join([f"{self.path.relative_to(root)}:{self.line}", *(row for row in rows if row[0] in "+-")])


def mutants(path: Path) -> Iterator[Mutant]:
    """Each compiles, and each is another program than the file and than the others."""
    source = path.read_text()
    tree = ast.parse(source)
    known = {ast.dump(tree)}
    asked = {id(test) for node in ast.walk(tree) for test in conditions(node)}
    for node, whole in places(tree):
        for changed in [*faults(node), *([ast.UnaryOp(ast.Not(), node)] if id(node) in asked else [])]:
            text = replaced(source, whole, copy.deepcopy(whole, {id(node): changed}))
            try:
                same = ast.dump(ast.parse(text))
            except SyntaxError:  # unparse writes no quotes within an f-string before Python 3.12
                continue
            if same not in known:
                known.add(same)
                yield Mutant(path, node.lineno, text)


def conditions(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return [node.test]
    return node.ifs if isinstance(node, ast.comprehension) else []


def places(node: ast.AST, whole: ast.AST | None = None) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST]]:
    """What can be changed, and what is written anew then: the node, or the f-string around it, within which Python
    before 3.12 gives no positions. Annotations and docstrings are left out."""
    if isinstance(node, (ast.expr, ast.stmt)):
        yield node, whole or node
    if isinstance(node, ast.JoinedStr):
        whole = whole or node
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "type_params") and not is_text:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from places(child, whole)


def replaced(source: str, node: ast.AST, by: ast.AST) -> str:
    """In parentheses where it is an expression, so that what is around binds as before."""
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    first, last = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
    text = ast.unparse(ast.fix_missing_locations(by))
    text = f"({text})" if isinstance(by, ast.expr) and not isinstance(by, ast.Constant) else text
    data = b"".join(lines)
    return (data[:first] + text.encode() + data[last:]).decode()


def faults(node: ast.AST) -> Iterator[ast.AST]:
    """The node with one fault each."""
    if isinstance(node, ast.Compare):
        for number, operator in enumerate(node.ops):
            yield ast.Compare(node.left, [*node.ops[:number], OTHER[type(operator)](), *node.ops[number + 1 :]],
                              node.comparators)  # fmt: skip
    elif isinstance(node, (ast.BoolOp, ast.BinOp, ast.AugAssign)) and type(node.op) in OTHER:
        changed = copy.copy(node)
        changed.op = OTHER[type(node.op)]()
        yield changed
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant):
        yield from (ast.Constant(value) for value in other_values(node.value))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()
    elif isinstance(node, ast.Return) and node.value is not None:
        yield ast.Return(None)
    elif isinstance(node, (ast.Continue, ast.Break)):
        yield ast.Break() if isinstance(node, ast.Continue) else ast.Continue()


def other_values(value: object) -> list[object]:
    """One more, the other one, another word."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1]
    if isinstance(value, str):
        return [value + "?" if value.strip() else "?"]
    return [value + b"?"] if isinstance(value, bytes) else []
