"""What ``gdbcuda fail``, ``gdbcuda delay`` and ``gdbcuda set`` have in common."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from gdbcuda.command_line.argument_types import FILE, text
from gdbcuda.command_line.options import Options, option, rest
from gdbcuda.command_line.shell_command import add_command
from gdbcuda.errors import UserError

_ABOUT = """\
Runs the program with a fault: the same words as those of cuda-{name} at gdb's prompt, and then the program behind --.
Nothing stops. What is written, and the exit status, are the program's own. At its end a line on stderr says how often
the fault was injected. A condition stands in quotes."""
_ENDING = "Exit status: the program's own, as its signal is; 2 where the fault or the program cannot be."


class FaultyRunOptions(Options):
    hook: str | None = option(FILE, "the hook library, preloaded as cuda-load does")
    words: list[str] = rest(text("FUNCTION"), "the words of the fault; then --, the program and its arguments")


def add(subparsers: Any, name: str, help: str, examples: Sequence[str]) -> argparse.ArgumentParser:
    return add_command(
        subparsers, name, FaultyRunOptions, lambda wanted: run(name, wanted, examples),
        help=help, about=_ABOUT.format(name=name), ending=_ENDING, examples=examples,
    )  # fmt: skip


def run(name: str, wanted: FaultyRunOptions, examples: Sequence[str]) -> int:
    from gdbcuda.shell.fault import gdb_run

    at = wanted.words.index("--") if "--" in wanted.words else len(wanted.words)
    fault, program = wanted.words[:at], wanted.words[at + 1 :]
    hook = wanted.hook or taken_out(fault, "--hook")
    if not fault or not program:
        raise UserError(f"name the fault, and the program behind --, for example: {examples[0]}")
    return gdb_run.run(f"cuda-{name} {' '.join(fault)}", hook, program)


def taken_out(words: list[str], option: str) -> str:
    """What stands behind the option, which is in no fault's words; both go."""
    at = words.index(option) if option in words[:-1] else len(words)
    given = "".join(words[at + 1 : at + 2])
    del words[at : at + 2]
    return given
