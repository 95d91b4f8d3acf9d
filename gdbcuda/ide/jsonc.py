"""JSON with comments and trailing commas, as VS Code reads it: values, and where in the text they stand.

Who changes such a file writes into its text at the places found here, so that every other byte stays as it was.
(RFC 8259; code.visualstudio.com, "JSON with Comments".)
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from gdbcuda.data_classes import dataclass, field
from gdbcuda.errors import UserError

_BLANK = re.compile(r"(?:\s|\ufeff|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = re.compile(r"[-+.\w]+")
DEEPEST = 100


@dataclass
class JsonNode:
    """A value at ``text[start:end]``. ``members`` of an object are (key, Node) in order; ``items`` are an array's.
    ``comma`` tells whether one stands behind the last of them."""

    start: int
    end: int
    value: Any
    members: list[tuple[str, JsonNode]] = field(default_factory=list)
    items: list[JsonNode] = field(default_factory=list)
    comma: bool = False

    def member(self, name: str) -> JsonNode | None:
        return next((node for key, node in reversed(self.members) if key == name), None)


def parse(text: str, name: str = "the file") -> JsonNode:
    """The whole text; UserError "NAME:LINE: why" for what VS Code would not read either."""
    return JsoncParser(text, name).document()


class JsoncParser:
    def __init__(self, text: str, name: str) -> None:
        self.text, self.name, self.at, self.depth = text, name, 0, 0

    def document(self) -> JsonNode:
        found = self.node()
        self.skip()
        if self.at < len(self.text):
            self.fail("something stands behind the end")
        return found

    def fail(self, why: str) -> NoReturn:
        raise UserError(f"{self.name}:{self.line_of(self.at)}: {why}")

    def skip(self) -> None:
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at
        if self.text.startswith("/*", self.at):
            self.fail("a comment without end")

    def peek(self) -> str:
        self.skip()
        return self.text[self.at : self.at + 1]

    def take(self, character: str) -> bool:
        if self.peek() != character:
            return False
        self.at += 1
        return True

    def node(self) -> JsonNode:
        kind = self.peek()
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"deeper than {DEEPEST} brackets")
        found = self.object() if kind == "{" else self.array() if kind == "[" else self.scalar()
        self.depth -= 1
        return found

    def object(self) -> JsonNode:
        found = JsonNode(self.at, self.at, {})
        self.at += 1
        while not self.take("}"):
            self.between(found, bool(found.members), "}")
            if self.peek() != '"':
                self.fail("a name in double quotes is wanted here")
            key = self.scalar().value
            if not self.take(":"):
                self.fail(f'":" is wanted behind "{key}"')
            found.members.append((key, self.node()))
            found.value[key] = found.members[-1][1].value
            found.comma = self.take(",")
        found.end = self.at
        return found

    def array(self) -> JsonNode:
        found = JsonNode(self.at, self.at, [])
        self.at += 1
        while not self.take("]"):
            self.between(found, bool(found.items), "]")
            found.items.append(self.node())
            found.value.append(found.items[-1].value)
            found.comma = self.take(",")
        found.end = self.at
        return found

    def between(self, parent: JsonNode, has_some: bool, closing: str) -> None:
        if not self.peek():
            self.fail(f'"{closing}" is missing for the bracket in line {self.line_of(parent.start)}')
        if has_some and not parent.comma:
            self.fail(f'"," or "{closing}" is wanted here')

    def line_of(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1

    def scalar(self) -> JsonNode:
        pattern = _STRING if self.peek() == '"' else _WORD
        found = pattern.match(self.text, self.at)
        if found is None:
            self.fail("a value is wanted here")
        try:
            value = json.loads(found.group())
        except ValueError:
            self.fail(f"{found.group()[:20]} is no JSON value")
        start, self.at = self.at, found.end()
        return JsonNode(start, self.at, value)
