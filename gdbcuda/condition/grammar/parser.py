"""Text to the tree of a condition: recursive descent over the levels of precedence."""

from __future__ import annotations

from gdbcuda.condition.arithmetic import COMPARISONS
from gdbcuda.condition.grammar import lexer
from gdbcuda.condition.grammar.lexer import Integer, Token
from gdbcuda.condition.grammar.syntax import (
    COUNTING,
    LEVELS,
    Binary,
    Counting,
    Name,
    Node,
    Path,
    WrittenCallerIn,
    WrittenUnary,
    fold,
)
from gdbcuda.errors import UserError
from gdbcuda.text import cplusplus
from gdbcuda.text.units import multiplier

DEEPEST = 40
UNARY = ("!", "-", "~", "+")
STEPS = ("->", ".", "[")
SPELLED_OUT = {"and": "&&", "or": "||", "not": "!", "is": "==", "=": "=="}
ONE_LEVEL = "a condition follows one pointer, from a parameter"
# How the words are written that are no parameters.
USAGE = {
    "caller": "caller in app, caller in libfoo.so, caller in main",
    "thread": "thread == 2 or thread != 2",
    "nth": "nth == 3",
    "every": "every 10",
    "after": "after 10",
}


def parse(text: str) -> Node:
    """The tree of a condition; `UserError` with the column for what is not one."""
    parser = ConditionParser(lexer.tokens(text))
    if parser.next.kind == "end":
        raise UserError("the condition is empty", page="conditions")
    tree = parser.binary(0)
    if parser.next.kind != "end":
        raise parser.unexpected("an operator")
    return tree


class ConditionParser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0  # of parentheses and unary operators
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
        self.depth += 1
        if self.depth > DEEPEST:
            raise UserError(f"column {self.next.column}: nested too deeply, more than {DEEPEST} times")
        found = self.operand()
        self.depth -= 1
        return found

    def operand(self) -> Node:
        self.is_bare_comparison = False
        token = self.take()
        if token.kind == "operator" and token.text in UNARY:
            self.refuse_option(token)
            return fold(WrittenUnary(token.text, self.unary()))
        if token.kind == "operator" and token.text == "*":
            return self.pointee(token)
        if token.text == "(":
            return self.closed(token)
        if token.value is not None:
            return self.stepped(token.value)
        if token.kind == "name" and token.text not in SPELLED_OUT:
            return self.word(token) or self.stepped(Name(token.text, token.column))
        self.at -= 1
        if token.text == "&":
            raise UserError(f"column {token.column}: & (an address) has no meaning in a condition", page="conditions")
        raise self.unexpected("a value")

    def refuse_option(self, minus: Token) -> None:
        """``bytesize > 1G --once``"""
        before, option = self.tokens[max(self.at - 2, 0)], self.next
        if [before.text, minus.text, option.kind] == ["-", "-", "name"] and option.column - before.column == 2:
            raise UserError(f"column {before.column}: --{option.text} belongs in front of if, with the other options")

    def closed(self, opening: Token) -> Node:
        inside = self.binary(0)
        self.refuse_cast(opening, inside)
        self.expect(")", f"the ) of the ( in column {opening.column}")
        self.refuse_cast(opening, inside)
        self.is_bare_comparison = False
        return self.stepped(inside)

    def refuse_cast(self, opening: Token, inside: Node) -> None:
        """``(unsigned long)bytesize``"""
        if isinstance(inside, Name) and self.next.kind in ("name", "literal") and self.next.text not in SPELLED_OUT:
            raise UserError(f"column {opening.column}: a condition needs no casts, all integers are 64 bits wide")

    def expect(self, text: str, wanted: str) -> None:
        if self.next.text != text:
            raise self.unexpected(wanted)
        self.take()

    # -- words

    def word(self, token: Token) -> Node | None:
        """``caller in …``, ``every N``, ``after N``; None for a name like any other."""
        if self.next.kind == "place":
            place = self.take()
            words = tuple(word for word in cplusplus.listed(place.text) if word)
            if not words:
                raise UserError(f"column {place.column}: a layer, an object or a function is missing")
            return WrittenCallerIn(words, place.column, place.is_quoted)
        number = self.next.value
        if token.text in COUNTING and isinstance(number, Integer):
            self.take()
            return Counting(token.text, number.value, token.column)
        return None

    # -- one level of dereference

    def pointee(self, star: Token) -> Node:
        operand = self.unary()
        if isinstance(operand, Path):
            raise UserError(f"column {star.column}: {ONE_LEVEL}")
        if not isinstance(operand, Name):
            raise UserError(f"column {star.column}: * is for a parameter that points to something")
        return Path(operand, (0,), star.column)

    def stepped(self, node: Node) -> Node:
        while self.next.text in STEPS and self.next.kind == "operator":
            node = self.step(node, self.take())
        return node

    def step(self, node: Node, token: Token) -> Path:
        if not isinstance(node, (Name, Path)):
            raise UserError(f"column {token.column}: {token.text} is for a parameter")
        name, steps = (node.name, node.steps) if isinstance(node, Path) else (node, ())
        if token.text == "[":
            return Path(name, (*steps, self.index(token)), token.column)
        if token.text == "->" and steps:
            raise UserError(f"column {token.column}: {ONE_LEVEL}")
        member = self.take()
        if member.kind != "name":
            self.at -= 1
            raise self.unexpected("the name of a member")
        return Path(name, (*steps, *([0] if token.text == "->" else []), member.text), token.column)

    def index(self, opening: Token) -> int:
        inside = self.binary(0)
        self.expect("]", f"the ] of the [ in column {opening.column}")
        self.is_bare_comparison = False
        if not isinstance(inside, Integer) or inside.value < 0:
            raise UserError(f"column {opening.column + 1}: an index is a number, 0 or more")
        return inside.value

    def unexpected(self, wanted: str) -> UserError:
        token, instead = self.next, SPELLED_OUT.get(self.next.text)
        word = self.tokens[self.at - 1] if self.at else token
        if word.text in USAGE and word.kind == "name":
            return misused(word.column, word.text)
        if isinstance(word.value, Integer) and token.kind == "name" and multiplier(token.text):
            instead = word.text + token.text
        hint = f"; write {instead}" if instead else ""
        return UserError(f"column {token.column}: {wanted} is missing before {_shown(token)}{hint}", page="conditions")


def misused(column: int, word: str) -> UserError:
    return UserError(f'column {column}: "{word}" is written like {USAGE[word]}')


def _shown(token: Token) -> str:
    return token.text if token.kind == "end" else f'"{token.text}"'
