"""A condition as written: the tree, the parser, and back to text. Nothing is known of any function yet.

C's operators with C's precedence, less assignment, ``?:``, casts and everything that reads memory. Numbers
are folded on the way (``1<<30`` becomes 1073741824), names stay names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Union

from gdbcuda.condition import lexer
from gdbcuda.condition.lexer import INT_MAX, Integer, Text, Token
from gdbcuda.condition.numbers import (
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
BITWISE = ("|", "^", "&")
UNARY = ("!", "-", "~", "+")
SPELLED_OUT = {"and": "&&", "or": "||", "not": "!", "is": "==", "=": "=="}
READS_MEMORY = "a condition sees whole parameters only"
_COUNTS = "calls cannot be counted in a condition yet; gdb's ignore command can"
LATER = {
    "caller": "the caller cannot be part of a condition yet",
    "thread": "the thread cannot be part of a condition yet",
    "nth": _COUNTS,
    "every": _COUNTS,
    "after": _COUNTS,
}


@dataclass(frozen=True)
class Name:
    """A parameter or a constant of the API; which one depends on the function."""

    name: str
    column: int = field(compare=False)


@dataclass(frozen=True)
class Unary:
    op: str
    operand: Node


@dataclass(frozen=True)
class Binary:
    op: str
    left: Node
    right: Node
    column: int = field(compare=False)  # of the operator


Node = Union[Integer, float, Text, Name, Unary, Binary]


def parse(text: str) -> Node:
    """The tree of a condition; `UserError` with the column for what is not one."""
    parser = Parser(lexer.tokens(text))
    if parser.next.kind == "end":
        raise UserError("the condition is empty")
    tree = parser.binary(0)
    if parser.next.kind != "end":
        raise parser.unexpected("an operator")
    return tree


class Parser:
    """Recursive descent over the levels of precedence."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.is_bare_comparison = False  # what was parsed last: a comparison without parentheses around it

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def binary(self, level: int) -> Node:
        if level == len(LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.next.kind == "operator" and self.next.text in LEVELS[level]:
            op = self.take()
            self.refuse_bare_comparison(op)
            right = self.binary(level + 1)
            self.refuse_bare_comparison(op)
            left = fold(Binary(op.text, left, right, op.column))
            self.is_bare_comparison = op.text in COMPARISONS
        return left

    def refuse_bare_comparison(self, op: Token) -> None:
        """``a < b < c`` and ``flags & 1 == 1`` mean in C what nobody wants."""
        if not self.is_bare_comparison or op.text in ("&&", "||"):
            return
        if op.text in COMPARISONS:
            raise UserError(f"column {op.column}: comparisons do not chain; join two of them with &&")
        meant = f"(a {op.text} b) == c"
        raise UserError(f"column {op.column}: C compares before it does {op.text}; write {meant}")

    def unary(self) -> Node:
        self.is_bare_comparison = False
        token = self.take()
        if token.kind == "operator" and token.text in UNARY:
            return fold(Unary(token.text, self.unary()))
        if token.value is not None:
            return self.whole(token.value)
        if token.kind == "name" and token.text not in SPELLED_OUT:
            return self.whole(Name(token.text, token.column))
        if token.text == "(":
            return self.closed(token)
        self.at -= 1
        if token.text in ("*", "&"):
            raise UserError(f"column {token.column}: {token.text} reads memory; {READS_MEMORY}")
        raise self.unexpected("a value")

    def closed(self, opening: Token) -> Node:
        inside = self.binary(0)
        if self.next.text != ")":
            raise self.unexpected(f"the ) of the ( in column {opening.column}")
        self.take()
        self.is_bare_comparison = False
        return self.whole(inside)

    def whole(self, node: Node) -> Node:
        if self.next.text in ("->", ".", "["):
            raise UserError(f"column {self.next.column}: no members or elements; {READS_MEMORY}")
        return node

    def unexpected(self, wanted: str) -> UserError:
        token, instead = self.next, SPELLED_OUT.get(self.next.text)
        if self.tokens[self.at - 1].text in LATER:
            return UserError(LATER[self.tokens[self.at - 1].text])
        hint = f"; write {instead}" if instead else ""
        return UserError(f"column {token.column}: {wanted} is missing before {_shown(token)}{hint}")


def _shown(token: Token) -> str:
    return token.text if token.kind == "end" else f'"{token.text}"'


def fold(node: Unary | Binary) -> Node:
    """The number that an operation on numbers gives; the operation itself if a name or a string is in it."""
    if isinstance(node, Binary) and node.op in STRENGTH and node.op not in (*COMPARISONS, "&&", "||"):
        return _fold_binary(node)
    if isinstance(node, Unary) and isinstance(node.operand, (Integer, float)):
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
    return Unary(op, operand)


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


def show(node: Node) -> str:
    """The condition as text with no more parentheses than needed; parsing it gives the same tree."""
    if isinstance(node, Binary):
        return f"{_operand(node.left, node.op)} {node.op} {_operand(node.right, node.op, is_right=True)}"
    if isinstance(node, Unary):
        inside = show(node.operand)
        return f"{node.op}({inside})" if isinstance(node.operand, Binary) else node.op + inside
    if isinstance(node, Name):
        return node.name
    return _show_text(node) if isinstance(node, Text) else _show_number(node)


def _operand(node: Node, parent: str, is_right: bool = False) -> str:
    if not isinstance(node, Binary):
        return show(node)
    misleads = node.op in COMPARISONS and parent in (*COMPARISONS, *BITWISE)
    is_weaker = STRENGTH[node.op] < STRENGTH[parent] + is_right
    return f"({show(node)})" if misleads or is_weaker else show(node)


def _show_number(node: Integer | float) -> str:
    if isinstance(node, float):
        return repr(node)
    if node.value == -1 - INT_MAX:
        return f"(-{INT_MAX} - 1)"  # C has no literal for it either
    return f"{node.value}u" if node.unsigned and node.value <= INT_MAX else str(node.value)


def _show_text(node: Text) -> str:
    escaped = node.value
    for plain, letter in (("\\", "\\"), ('"', '"'), ("*", "*"), ("\n", "n"), ("\t", "t"), ("\0", "0")):
        escaped = escaped.replace(plain, "\\" + letter)
    return f'"{escaped}*"' if node.prefix else f'"{escaped}"'
