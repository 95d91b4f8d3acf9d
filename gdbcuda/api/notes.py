"""What C cannot say about the API functions, from notes.txt (its first lines describe the syntax)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from gdbcuda.errors import UserError

NOTES = Path(__file__).with_name("notes.txt")
LENGTH = re.compile(r"\[(\w+)(:bytes)?\]$")
FLAGS = re.compile(r"flags\((.+)\)$")


class ParameterNotes(NamedTuple):
    direction: str = ""
    length: str | None = None
    length_unit: str = "elements"
    string: bool = False
    flags: str | None = None
    handle: bool = False
    size_bytes: bool = False
    block: bool = False


NOTHING = ParameterNotes()


class FunctionNotes:
    """Everything that the lines for one function say, a later and more exact line winning."""

    def __init__(self) -> None:
        self.role = ""
        self.released_by: tuple[str, ...] = ()
        self._parameters: dict[str, ParameterNotes] = {}

    def parameter(self, name: str) -> ParameterNotes:
        return self._parameters.get(name, NOTHING)

    def add(self, line: Line) -> None:
        self.role = line.role or self.role
        self.released_by = line.released_by or self.released_by
        for name, attributes in line.parameters:
            self._parameters[name] = self.parameter(name)._replace(**attributes)


class Line(NamedTuple):
    """One line of notes.txt."""

    number: int
    patterns: tuple[str, ...]
    role: str
    released_by: tuple[str, ...]
    parameters: tuple[tuple[str, dict[str, Any]], ...]


class Notes:
    """notes.txt, parsed on first use."""

    def __init__(self, path: Path = NOTES) -> None:
        self._path = path
        self._lines: list[Line] | None = None
        self._exact: dict[str, list[Line]] = {}
        self._globs: list[tuple[str, Line]] = []
        self._of: dict[str, FunctionNotes] = {}
        self._releases: dict[str, list[str]] = {}

    @property
    def lines(self) -> list[Line]:
        if self._lines is None:
            self._lines = list(read_lines(self._path.read_text(encoding="utf-8")))
            for line in self._lines:
                self._index(line)
        return self._lines

    def _index(self, line: Line) -> None:
        for pattern in line.patterns:
            if set(pattern) & set("*?["):
                self._globs.append((pattern, line))
            else:
                self._exact.setdefault(pattern, []).append(line)
        for release in line.released_by:
            self._releases.setdefault(release, []).extend(line.patterns)

    def of(self, symbol: str, base: str) -> FunctionNotes:
        """Globs match base names and apply in the order of the file, then lines for the base name, then
        those for the symbol."""
        found = self._of.get(symbol)
        if found is None:
            found = self._of[symbol] = FunctionNotes()
            for line in self._matching(symbol, base):
                found.add(line)
        return found

    def _matching(self, symbol: str, base: str) -> Iterator[Line]:
        _ = self.lines
        yield from (line for pattern, line in self._globs if fnmatchcase(base, pattern))
        yield from self._exact.get(base, ())
        if symbol != base:
            yield from self._exact.get(symbol, ())

    def releases(self, base: str) -> tuple[str, ...]:
        _ = self.lines
        return tuple(self._releases.get(base, ()))


def read_lines(text: str) -> Iterator[Line]:
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if words:
            yield read_line(number, words)


def read_line(number: int, words: list[str]) -> Line:
    patterns, role, *rest = words if len(words) > 1 else [*words, ""]
    released_by: tuple[str, ...] = ()
    if rest[:1] == ["->"]:
        released_by, rest = tuple(rest[1].split("|")), rest[2:]
    try:
        parameters = tuple((name, attributes(text)) for name, _, text in (w.partition("=") for w in rest))
    except ValueError as problem:
        raise UserError(f"notes.txt:{number}: {problem}") from None
    return Line(number, tuple(patterns.split("|")), role if role != "-" else "", released_by, parameters)


def attributes(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for word in split_attributes(text):
        found.update(attribute(word))
    return found


def split_attributes(text: str) -> list[str]:
    """At commas outside parentheses."""
    return re.findall(r"[^,(]+(?:\([^)]*\))?", text)


def attribute(word: str) -> dict[str, Any]:
    """ValueError for a word that means nothing."""
    if word in ("in", "out", "inout"):
        return {"direction": word}
    if word in ("string", "handle", "block"):
        return {word: True}
    if word in ("nostring", "nohandle"):
        return {word[2:]: False}
    if word == "bytes":
        return {"size_bytes": True}
    length, flags = LENGTH.match(word), FLAGS.match(word)
    if length:
        return {"length": length[1], "length_unit": "bytes" if length[2] else "elements"}
    if flags:
        return {"flags": flags[1]}
    raise ValueError(
        f"{word!r} is not one of in, out, inout, string, handle, block, bytes, [LENGTH], flags(…)"
    )
