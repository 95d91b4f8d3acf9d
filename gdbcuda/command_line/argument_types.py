"""The types of what is typed behind a command: how a word becomes a value, what is offered for it, what it has to be.

Layers, callers and functions are known in a session of gdb alone: `gdbcuda.live.frames.session_types`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Callable, Generic, TypeVar

from gdbcuda.errors import UserError
from gdbcuda.text.patterns import pattern
from gdbcuda.text.units import multiplier

T = TypeVar("T")
SIZED = pattern(r"(0[xX][0-9a-fA-F]+(?![a-zA-Z])|[0-9]+)([a-zA-Z]*)")
Completer = Callable[[str], Iterable[str]]


def nothing(token: str) -> Iterable[str]:
    return ()


def file_names(token: str) -> Iterable[str]:
    import glob  # where it is used: sourcing waits for it otherwise

    return [path + "/" * os.path.isdir(path) for path in glob.glob(glob.escape(token) + "*")]


class ArgumentType(Generic[T]):
    """``shown`` stands for the value in a help text. ``read`` makes the value; a `ValueError` means that the word is no
    ``wants``, of which ``example`` is one. ``choices``: what it may be, if these are few."""

    def __init__(
        self,
        shown: str,
        read: Callable[[str], T],
        wants: str = "",
        example: str = "",
        complete: Completer = nothing,
        choices: tuple[str, ...] = (),
    ) -> None:
        self.shown, self.read, self.wants, self.example = shown, read, wants, example
        self.complete, self.choices = complete, choices


def text(shown: str, complete: Completer = nothing) -> ArgumentType[str]:
    """Any word; what it is, shows elsewhere."""
    return ArgumentType(shown, str, complete=complete)


def one_of(*choices: str) -> ArgumentType[str]:
    def read(word: str) -> str:
        if word not in choices:
            raise ValueError
        return word

    wants = ", ".join(choices[:-1]) + f" or {choices[-1]}"
    return ArgumentType("|".join(choices), read, wants, choices[-1], lambda token: choices, choices)


def known(what: str, names: Callable[[], Iterable[str]]) -> ArgumentType[str]:
    """One of names that are asked for when they are needed: "no view 'lives'; there are live, leaks"."""

    def read(word: str) -> str:
        there = [*names()]
        if word not in there:
            raise UserError(f"no {what} {word!r}; there are {', '.join(there)}")
        return word

    return ArgumentType(what.upper(), read, complete=lambda token: names())


def whole(word: str) -> int:
    """4096 or 0x1000. (Python alone would take 1_000, and digits of other scripts.)"""
    if not word.isascii() or "_" in word or word[:1] in "+-":
        raise ValueError
    return int(word, 16 if word[:2] in ("0x", "0X") else 10)


def bytes_of(word: str) -> int:
    """4096, 0x1000 or 4K; 1K is 1024, as in conditions."""
    found = SIZED.fullmatch(word)
    factor = multiplier(found[2]) if found else None
    if found is None or factor is None:
        raise ValueError
    return whole(found[1]) * factor


def positive(word: str) -> int:
    if whole(word) < 1:
        raise ValueError
    return whole(word)


def seconds(word: str) -> float:
    found = DURATION.fullmatch(word)
    if found is None:
        raise ValueError
    return float(found[1]) * SECONDS_IN[found[2] or "s"]


def number(shown: str, example: str, complete: Completer = nothing) -> ArgumentType[int]:
    return ArgumentType(shown, whole, "a number", example, complete)


DURATION = pattern(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h)?", re.ASCII)
SECONDS_IN = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
TIME = ArgumentType("TIME", seconds, "a time such as 10s, 500ms or 2m", "10s")
NUMBER = number("N", "8")
SIZE = ArgumentType("SIZE", bytes_of, "a size such as 4096, 0x1000 or 1G", "1M")
FILE = ArgumentType("FILE", os.path.expanduser, complete=file_names)
FOLDER = ArgumentType("FOLDER", os.path.expanduser, complete=file_names)
