"""Expressions of an adapter: variables of the library and what they lead to, as C writes it. They can only read.

There is no call, no assignment, no cast and no function of gdb's in the language, so that a file which lies beside a
library can be read without asking whose it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Union

from gdbcuda.command_line.argument_types import bytes_of
from gdbcuda.data_classes import dataclass
from gdbcuda.errors import UserError

TOKEN = re.compile(r"\s*(?:(?P<number>\d\w*)|(?P<name>(?:'[^']+'::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)"
                   r"|(?P<device>\$device\b)|(?P<sign><<|>>|->|\.\.|[-+*/%&|^~.\[\]()]))")  # fmt: skip
BINARY = {"|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6}
UNARY = ("*", "&", "-", "~")
DEEPEST, LONGEST = 40, 400
EXAMPLE = "region->used[$device]"


@dataclass(frozen=True)
class Number:
    value: int


@dataclass(frozen=True)
class DeviceNumber:
    """The device that is asked about."""


@dataclass(frozen=True)
class Variable:
    """``file``: "limit.c", where several files have one of that name; else ""."""

    name: str
    file: str = ""


@dataclass(frozen=True)
class MemberTerm:
    of: Tree
    name: str
    is_pointer: bool


@dataclass(frozen=True)
class ElementTerm:
    of: Tree
    index: Tree


@dataclass(frozen=True)
class EachNumber:
    """The element that a sum has come to."""


@dataclass(frozen=True)
class SumTerm:
    """Of what ``of`` is for each element of an array: of the first ``count``, or of all where that is None."""

    of: Tree
    array: Tree
    count: Tree | None


@dataclass(frozen=True)
class UnaryTerm:
    sign: str
    of: Tree


@dataclass(frozen=True)
class BinaryTerm:
    sign: str
    left: Tree
    right: Tree


Tree = Union[Number, DeviceNumber, EachNumber, Variable, MemberTerm, ElementTerm, SumTerm, UnaryTerm, BinaryTerm]


def parse(text: str) -> Tree:
    """UserError, one line, for what is not of the language."""
    return ExpressionReader(text).whole()


class ExpressionReader:
    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.deep = text, [*tokens(text)], 0

    def whole(self) -> Tree:
        found = self.binary(1)
        if self.tokens:
            raise self.wrong(self.tokens[0][1])
        return found

    def wrong(self, at: str) -> UserError:
        if at == "(":
            return UserError(f"{self.text!r} calls a function: an adapter only reads, as in {EXAMPLE}")
        return UserError(f"{self.text!r} does not go on with {at!r}, an expression looks like {EXAMPLE}")

    def take(self, *signs: str) -> str:
        """The next token where it is one of these signs, else ""."""
        return self.tokens.pop(0)[1] if self.tokens and self.tokens[0] in [("sign", one) for one in signs] else ""

    def need(self, sign: str) -> None:
        if not self.take(sign):
            raise self.wrong(self.tokens[0][1] if self.tokens else "its end")

    def binary(self, least: int) -> Tree:
        self.deep += 1
        if self.deep > DEEPEST:
            raise UserError(f"{self.text!r} is too deep")
        found = self.unary()
        while self.tokens and self.tokens[0][0] == "sign" and BINARY.get(self.tokens[0][1], 0) >= least:
            sign = self.tokens.pop(0)[1]
            found = BinaryTerm(sign, found, self.binary(BINARY[sign] + 1))
        self.deep -= 1
        return found

    def unary(self) -> Tree:
        signs = []
        while sign := self.take(*UNARY):
            signs.append(sign)
        found = self.postfix(self.primary())
        for sign in reversed(signs[-DEEPEST:]):
            found = UnaryTerm(sign, found)
        return found

    def postfix(self, found: Tree) -> Tree:
        summed: tuple[Tree, Tree | None] | None = None
        while sign := self.take("->", ".", "["):
            if sign != "[":
                found = MemberTerm(found, self.name(), sign == "->")
                continue
            if self.take(".."):
                if summed:
                    raise UserError(f"{self.text!r} has two sums in one another: [..] is for one array")
                summed = found, None if self.is_next("]") else self.binary(1)
                found = ElementTerm(found, EachNumber())
            else:
                found = ElementTerm(found, self.binary(1))
            self.need("]")
        return SumTerm(found, *summed) if summed else found

    def is_next(self, sign: str) -> bool:
        return self.tokens[:1] == [("sign", sign)]

    def name(self) -> str:
        if not self.tokens or self.tokens[0][0] != "name" or ":" in self.tokens[0][1]:
            raise self.wrong(self.tokens[0][1] if self.tokens else "its end")
        return self.tokens.pop(0)[1]

    def primary(self) -> Tree:
        if self.take("("):
            found = self.binary(1)
            self.need(")")
            return found
        kind, word = self.tokens.pop(0) if self.tokens else ("end", "its end")
        if kind == "number":
            return Number(number(word))
        if kind == "device":
            return DeviceNumber()
        if kind != "name":
            raise self.wrong(word)
        file, _, name = word.rpartition("'::")
        return Variable(name, file.lstrip("'"))


def tokens(text: str) -> Iterator[tuple[str, str]]:
    """("name", "region"), ("sign", "->") …"""
    if len(text) > LONGEST:
        raise UserError(f"an expression of {len(text)} characters: at most {LONGEST}")
    at = 0
    while text[at:].strip():
        found = TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            wrong = text[at:].split()[0]
            raise UserError(f"{text!r}: {wrong!r} is not for an adapter, which only reads, as in {EXAMPLE}")
        yield found.lastgroup, found[found.lastgroup]
        at = found.end()


def number(word: str) -> int:
    """4096, 0x1000, 4K."""
    try:
        return bytes_of(word)
    except ValueError:
        raise UserError(f"{word!r} is no number: 4096, 0x1000 or 4K") from None
