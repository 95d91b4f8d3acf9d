"""The JSON of a trace, event by event: a file of a million of them is never in memory as a whole."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from typing import Any

from gdbcuda.calls import reader
from gdbcuda.errors import UserError

EVENTS = "traceEvents"
NO_LIST = "no list of traceEvents"
SPACE = " \t\r\n"
Member = tuple[str, Any]


class JsonStream:
    """``members``: those of the object, of the list of events each; a list alone is that of the events."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.pieces = iter(pieces)
        self.decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self.parse = json.JSONDecoder(parse_constant=reader.refuse).raw_decode
        self.text, self.at, self.is_over = "", 0, False
        self.is_object = self.peek() == "{"

    def members(self) -> Iterator[Member]:
        """`UserError` for what is no such JSON."""
        try:
            yield from self.of_object() if self.is_object else self.of_list(is_whole=True)
            if self.peek():
                raise ValueError
        except (ValueError, RecursionError):
            raise UserError("neither JSON of a trace, nor lines with begins and ends, nor an export of nsys") from None

    def of_object(self) -> Iterator[Member]:
        has_events = False
        self.take("{")
        while self.peek() == '"':
            key = self.value()
            self.take(":")
            if key == EVENTS and self.peek() == "[":
                has_events = True
                yield from self.of_list()
            else:
                yield key, self.value()
            self.take_comma("}")
        self.take("}")
        if not has_events:
            raise UserError(NO_LIST)

    def of_list(self, is_whole: bool = False) -> Iterator[Member]:
        """``is_whole``: Chrome's own may end without its bracket."""
        if is_whole and self.peek() != "[":
            self.value()
            raise UserError(NO_LIST)
        self.take("[")
        while self.peek() not in ("]", ""):
            yield EVENTS, self.value()
            if not (is_whole and not self.peek()):
                self.take_comma("]")
        if self.peek() or not is_whole:
            self.take("]")

    def value(self) -> Any:
        """One that reaches to the end of what has been read may go on behind it."""
        self.peek()
        while True:
            try:
                found, end = self.parse(self.text, self.at)
                if end < len(self.text) or not self.more():
                    self.at = end
                    return found
            except ValueError:
                if not self.more():
                    raise

    def take(self, wanted: str) -> None:
        if self.peek() != wanted:
            raise ValueError
        self.at += 1

    def take_comma(self, end: str) -> None:
        """Between two; the last one may have one too."""
        if self.peek() == ",":
            self.at += 1
        elif self.peek() != end:
            raise ValueError

    def peek(self) -> str:
        while True:
            while self.at < len(self.text):
                if self.text[self.at] not in SPACE:
                    return self.text[self.at]
                self.at += 1
            if not self.more():
                return ""

    def more(self) -> bool:
        """At least as much as there is, so that a large value is not read again for each piece."""
        held = len(self.text) - self.at
        some: list[str] = []
        while not self.is_over and (not some or sum(map(len, some)) < held):
            piece = next(self.pieces, b"")
            self.is_over = not piece
            some.append(self.decode(piece, self.is_over))
        found = "".join(some)
        self.text, self.at = self.text[self.at :] + found, 0
        return bool(found) or not self.is_over
