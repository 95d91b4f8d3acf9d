"""What gdb offers behind a command: values of an option, options, or what may stand at that place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Callable

import gdb

from gdbcuda.command_line.argument_types import ArgumentType, Completer, file_names, nothing
from gdbcuda.command_line.clauses import Clause
from gdbcuda.command_line.options import CommandPart, ConditionText, Option, Word
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.prompt import safely
from gdbcuda.text import cplusplus


def expressions(token: str) -> Iterable[str]:
    """gdb's own completion of symbols and members."""
    found = gdb_cli.execute(f"complete print {token}").splitlines()
    return [line.partition(" ")[2] for line in found]


EXPRESSION = ArgumentType("EXPRESSION", str, complete=expressions)
# What gdb itself completes: file names where they are all that is typed.
BUILT_IN = {file_names: gdb.COMPLETE_FILENAME, expressions: gdb.COMPLETE_EXPRESSION}


class ByGdb(int):
    """A COMPLETE_... number of gdb's; cuda-gdb 11.8 takes no number from Python, and asks for the words behind it."""

    words: Callable[[], list[str]]

    def __new__(cls, number: int, words: Callable[[], list[str]]) -> ByGdb:
        one = super().__new__(cls, number)
        one.words = words
        return one

    def __iter__(self) -> Iterator[str]:
        return iter(self.words())


def offered(command: str, parts: list[CommandPart], text: str, word: str | None) -> Any:
    """gdb breaks words at '-' and '*': complete the blank-separated token, return what is behind the break."""
    token = re.split(r"\s", text)[-1]
    before, candidates = wanted(parts, text, token)

    def words() -> list[str]:
        name = cplusplus.begun(text)  # of C++: it may have blanks
        found = fitting(wanted(parts, text, name)[1], name) if " " in name else []
        typed, found = (name, found) if found else (token, fitting(candidates, token))
        return sorted({one[len(typed) - len(word or "") :] for one in found})

    if candidates in BUILT_IN and not (before and candidates is file_names):
        return ByGdb(BUILT_IN[candidates], lambda: safely.offered(command, words))
    return [] if word is None else words()  # gdb first asks only how words are broken; 16 shows an exception then


def wanted(parts: list[CommandPart], text: str, token: str) -> tuple[list[str], Completer]:
    """The words before the token, and what completes it."""
    before = text[: len(text) - len(token)].split()
    return before, completer(parts, before, token)


def fitting(candidates: Completer, token: str) -> list[str]:
    return [one for one in candidates(token) if one.startswith(token) and one.isprintable()]


def completer(parts: list[CommandPart], before: list[str], token: str) -> Completer:
    """Of the option whose value the token is, of the options, or of the argument at its place."""
    clauses = [part for part in parts if isinstance(part, Clause)]
    for one in clauses:
        if before[-1:] == [one.keyword]:
            return partial(one.complete, before[:-1])
    ahead = [word for one in clauses for word in one.offered(before)]
    for part in parts:
        if isinstance(part, ConditionText) and part.complete and "if" in before and (ahead or not clauses):
            at = before.index("if")
            return joined(partial(part.complete, before[:at], before[at + 1 :]), ahead)
    options = {part.name: part for part in parts if isinstance(part, Option) and part not in clauses}
    last = options.get(before[-1]) if before else None
    if last is not None and not last.flag:
        return last.kind.complete
    if token.startswith("-"):
        return lambda token: options
    valued = [name for name, option in options.items() if not option.flag]
    words = [word for prior, word in zip(["", *before], before) if word not in options and prior not in valued]
    if words and any(isinstance(part, ConditionText) for part in parts):
        return joined(at_place(parts, len(words)), ["if", *ahead])
    return at_place(parts, len(words))


def joined(complete: Completer, words: list[str]) -> Completer:
    return lambda token: (*words, *complete(token))


def at_place(parts: list[CommandPart], place: int) -> Completer:
    arguments = [part for part in parts if isinstance(part, Word)]
    if arguments and place >= len(arguments) and arguments[-1].count in ("*", "+"):
        place = len(arguments) - 1
    return arguments[place].kind.complete if place < len(arguments) else nothing
