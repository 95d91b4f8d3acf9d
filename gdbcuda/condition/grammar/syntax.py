"""A condition as written: the nodes of its tree. Nothing is known of any function yet.

C's operators with C's precedence, less assignment, ``?:`` and casts. Numbers are folded on the way (``1<<30`` becomes
1073741824), names stay names. `parser` makes such trees, `show` makes text of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Union

from gdbcuda.condition.arithmetic import (
    COMPARISONS,
    DOUBLE,
    SIGNED,
    UNSIGNED,
    Number,
    arithmetic,
    common,
    convert,
    negate,
)
from gdbcuda.condition.grammar.lexer import Integer, Text
from gdbcuda.data_classes import dataclass, field
from gdbcuda.errors import UserError

LEVELS = (
    ("||",),  # weakest
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    tuple(COMPARISONS),  # two levels in C, which only differ in chains: those are refused here
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
STRENGTH = {op: level for level, ops in enumerate(LEVELS) for op in ops}
COUNTING = ("every", "after")


@dataclass(frozen=True)
class Name:
    """A parameter, a constant of the API, or a word like ``thread``; which one depends on the function."""

    name: str
    column: int = field(compare=False)


@dataclass(frozen=True)
class Path:
    """A way from a parameter: ``*p`` and ``p[0]`` are the steps (0,), ``p->x[2]`` is (0, "x", 2), ``s.x`` is ("x",)."""

    name: Name
    steps: tuple[int | str, ...]
    column: int = field(compare=False)  # of the last step


@dataclass(frozen=True)
class WrittenCallerIn:
    """``caller in app,libfoo.so``"""

    words: tuple[str, ...]
    column: int = field(compare=False)  # of the first word
    is_quoted: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Counting:
    """``every 10`` or ``after 10``"""

    word: str
    number: int
    column: int = field(compare=False)


@dataclass(frozen=True)
class WrittenUnary:
    op: str
    operand: Node


@dataclass(frozen=True)
class Binary:
    op: str
    left: Node
    right: Node
    column: int = field(compare=False)  # of the operator


Node = Union[Integer, float, Text, Name, Path, WrittenCallerIn, Counting, WrittenUnary, Binary]


def conjunction(node: Node) -> list[Node]:
    """The terms that && joins, in their order."""
    if isinstance(node, Binary) and node.op == "&&":
        return [*conjunction(node.left), *conjunction(node.right)]
    return [node]


def nodes(tree: Node) -> Iterator[Node]:
    """The tree's nodes, the root first."""
    yield tree
    if isinstance(tree, WrittenUnary):
        yield from nodes(tree.operand)
    elif isinstance(tree, Binary):
        yield from nodes(tree.left)
        yield from nodes(tree.right)


def fold(node: WrittenUnary | Binary) -> Node:
    """The number that an operation on numbers gives; the operation itself if a name or a string is in it."""
    if isinstance(node, Binary) and node.op in STRENGTH and node.op not in (*COMPARISONS, "&&", "||"):
        return _fold_binary(node)
    if isinstance(node, WrittenUnary) and isinstance(node.operand, (Integer, float)):
        return _fold_unary(node.op, node.operand)
    return node


def _fold_unary(op: str, operand: Integer | float) -> Node:
    value, kind = number_of(operand)
    if op == "+":
        return operand
    if op == "-":
        return literal(negate(value, kind), kind)
    if op == "~" and kind != DOUBLE:
        return literal(convert(~int(value), kind), kind)
    return WrittenUnary(op, operand)


def _fold_binary(node: Binary) -> Node:
    left, right = node.left, node.right
    if not isinstance(left, (Integer, float)) or not isinstance(right, (Integer, float)):
        return node
    (a, left_kind), (b, right_kind) = number_of(left), number_of(right)
    shift = node.op in ("<<", ">>")
    kind = left_kind if shift else common(left_kind, right_kind)
    if DOUBLE in (left_kind, right_kind) and node.op not in ("+", "-", "*", "/"):
        raise UserError(f"column {node.column}: {node.op} does not work on a fraction")
    value = arithmetic(node.op, convert(a, kind), b if shift else convert(b, kind), kind)
    if not math.isfinite(value):
        raise UserError(f"column {node.column}: the result of {node.op} is no finite number")
    return literal(value, kind)


def number_of(node: Integer | float) -> tuple[Number, str]:
    """The value of a literal and its type."""
    if isinstance(node, float):
        return node, DOUBLE
    return node.value, UNSIGNED if node.unsigned else SIGNED


def literal(value: Number, kind: str) -> Integer | float:
    return float(value) if kind == DOUBLE else Integer(int(value), kind == UNSIGNED)
