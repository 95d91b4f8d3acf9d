"""The types of what is typed behind a command and known in a session alone: functions, layers, callers, threads.

What they ask is loaded when something is typed."""

from __future__ import annotations

from collections.abc import Iterable

from gdbcuda.command_line.argument_types import ArgumentType, number
from gdbcuda.live.frames import condition_words
from gdbcuda.live.layers import names

# Symbols, base names and globs of the API; which functions are meant is for the command.
FUNCTION = ArgumentType("FUNCTION", str, complete=lambda token: names.complete_functions(token))
LAYERS = ArgumentType(
    "LAYER|LIB", lambda text: names.split_places(text), complete=lambda token: names.complete_places(token)
)
CALLERS = ArgumentType(
    "CALLER",
    lambda text: condition_words.split_callers(text),
    complete=lambda token: condition_words.complete_callers(token),
)
THREAD = number("N", "2", lambda token: names.complete_threads(token))


def complete_condition(words: list[str], before: list[str], token: str) -> Iterable[str]:
    return condition_words.complete(words, before, token)
