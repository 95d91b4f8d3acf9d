"""The types of what is typed behind a command and known in a session alone: functions, layers, callers, threads."""

from __future__ import annotations

from gdbcuda.command_line.argument_types import ArgumentType, number
from gdbcuda.live.frames import condition_words
from gdbcuda.live.layers import names

# Symbols, base names and globs of the API; which functions are meant is for the command.
FUNCTION = ArgumentType("FUNCTION", str, complete=names.complete_functions)
LAYERS = ArgumentType("LAYER|LIB", names.split_places, complete=names.complete_places)
CALLERS = ArgumentType("CALLER", condition_words.split_callers, complete=condition_words.complete_callers)
THREAD = number("N", "2", names.complete_threads)
