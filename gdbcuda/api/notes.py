"""What C cannot say about the API functions, from notes.txt (its first lines describe the syntax)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple

from gdbcuda.errors import UserError
from gdbcuda.text.patterns import pattern

NOTES = os.path.join(os.path.dirname(__file__), "notes.txt")
LENGTH = pattern(r"\[(\w+)(:bytes)?\]$")
FLAGS = pattern(r"flags\((.+)\)$")
NAMED = pattern(r"named\((.+)\)$")


class ParameterNotes(NamedTuple):
    direction: str = ""
    length: str | None = None
    length_unit: str = "elements"
    string: bool | None = None
    flags: str | None = None
    named: str | None = None
    handle: bool = False
    size_bytes: bool = False
    block: bool = False
    optional: bool = False
    lasting: bool = False


class FunctionNotes:
    """Everything that the lines for one function say, a later and more exact line winning."""

    def __init__(self) -> None:
        self.role = ""
        self.released_by: tuple[str, ...] = ()
        self._said: list[tuple[str, dict[str, Any]]] = []

    def parameter(self, name: str) -> ParameterNotes:
        said = [attributes for known, attributes in self._said if known == name]
        return ParameterNotes(**{key: value for attributes in said for key, value in attributes.items()})

    def add(self, line: Line) -> None:
        self.role = line.role or self.role
        self.released_by = line.released_by or self.released_by
        self._said += line.parameters


class Line(NamedTuple):
    """One line of notes.txt."""

    number: int
    patterns: tuple[str, ...]
    role: str
    released_by: tuple[str, ...]
    parameters: tuple[tuple[str, dict[str, Any]], ...]


class ApiNotes:
    """notes.txt: cut into lines on first use, a line read when a function that it speaks of is asked for."""

    def __init__(self, path: str = NOTES) -> None:
        self._path = path
        self._raw: list[tuple[int, list[str]]] | None = None
        self._read: dict[int, Line] = {}
        self._globbed: dict[str, list[int]] = {}
        self._exact: dict[str, list[int]] = {}
        self._globs: dict[str, list[tuple[int, str]]] = {}  # by the text before the first *; "" where no more follows
        self._head_lengths: set[int] = set()
        self._of: dict[str, FunctionNotes] = {}
        self._releases: dict[str, list[str]] = {}

    @property
    def lines(self) -> list[Line]:
        return [read_line(*raw) for raw in self._cut()]

    def _cut(self) -> list[tuple[int, list[str]]]:
        if self._raw is None:
            with open(self._path, encoding="utf-8") as file:
                words = ((number, line.partition("#")[0].split()) for number, line in enumerate(file, 1))
                self._raw = [raw for raw in words if raw[1]]
            for index, (_, (names, *rest)) in enumerate(self._raw):
                self._index(index, names.split("|"), rest)
        return self._raw

    def _index(self, index: int, patterns: list[str], rest: list[str]) -> None:
        for glob in patterns:
            if "*" in glob:
                head, _, behind = glob.partition("*")
                self._globs.setdefault(head, []).append((index, behind and glob))
                self._head_lengths.add(len(head))
            else:
                self._exact.setdefault(glob, []).append(index)
        for release in releases_in(rest):
            self._releases.setdefault(release, []).extend(patterns)

    def of(self, symbol: str, base: str) -> FunctionNotes:
        """Globs match base names and apply in the order of the file, then lines for the base name, then
        those for the symbol. UserError for a line that makes no sense."""
        found = self._of.get(symbol)
        if found is None:
            found = self._of[symbol] = FunctionNotes()
            raw = self._cut()
            for index in self._matching(symbol, base):
                if index not in self._read:
                    self._read[index] = read_line(*raw[index])
                found.add(self._read[index])
        return found

    def _matching(self, symbol: str, base: str) -> Iterator[int]:
        if base not in self._globbed:
            self._globbed[base] = self._covering(base)
        yield from self._globbed[base]
        yield from self._exact.get(base, ())
        if symbol != base:
            yield from self._exact.get(symbol, ())

    def _covering(self, base: str) -> list[int]:
        """Lines with a glob for that name. Only those that begin as it does are compared."""
        heads = (self._globs.get(base[:end], ()) for end in self._head_lengths if end <= len(base))
        return sorted(index for globs in heads for index, pattern in globs if not pattern or matches(base, pattern))

    def who_may_have(self, role: str) -> Callable[[str, str], bool]:
        """Tells, by symbol and base name, whether a line with that role speaks of a function: most need not be read."""
        named = [one for _, (names, *rest) in self._cut() if rest[:1] == [role] for one in names.split("|")]
        globs = [one for one in named if "*" in one]
        exact = {*named}
        return lambda symbol, base: base in exact or symbol in exact or any(matches(base, one) for one in globs)

    def releases(self, base: str) -> tuple[str, ...]:
        self._cut()
        return tuple(self._releases.get(base, ()))


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern whose only special character is * covers the name; fnmatch would compile each."""
    if "*" not in pattern:
        return name == pattern
    head, *middle, tail = pattern.split("*")
    if not name.startswith(head):
        return False
    position = len(head)
    for part in middle:
        position = name.find(part, position) + len(part)
        if position < len(part):
            return False
    return name.endswith(tail) and len(name) - len(tail) >= position


def releases_in(words: list[str]) -> tuple[str, ...]:
    return tuple(words[2].split("|")) if words[1:2] == ["->"] else ()


def read_line(number: int, words: list[str]) -> Line:
    names, role, *rest = words if len(words) > 1 else [*words, "-"]
    released_by = releases_in(words[1:])
    try:
        parameters = tuple(read_parameter(word) for word in rest[2 if released_by else 0 :])
    except ValueError as problem:
        raise UserError(f"notes.txt:{number}: {problem}") from None
    return Line(number, tuple(names.split("|")), role if role != "-" else "", released_by, parameters)


def read_parameter(word: str) -> tuple[str, dict[str, Any]]:
    name, equals, text = word.partition("=")
    if not equals:
        raise ValueError(f"{word!r} is not PARAMETER=ATTRIBUTE")
    return name, attributes(text)


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
    if word in ("string", "handle", "block", "optional", "lasting"):
        return {word: True}
    if word == "nostring":
        return {"string": False}
    if word == "bytes":
        return {"size_bytes": True}
    length, flags, named = LENGTH.match(word), FLAGS.match(word), NAMED.match(word)
    if length:
        return {"length": length[1], "length_unit": "bytes" if length[2] else "elements"}
    if flags:
        return {"flags": flags[1]}
    if named:
        return {"named": named[1]}
    raise ValueError(
        f"{word!r} is not one of in, out, inout, string, nostring, handle, block, optional, lasting, bytes, [LENGTH], "
        "flags(…), named(…)"
    )
