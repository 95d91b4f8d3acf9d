"""``gdbcuda run``: a program under gdb, with all that it starts."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import Any

from gdbcuda.command_line.argument_types import FILE, text
from gdbcuda.command_line.options import Options, flag, option, options, rest
from gdbcuda.command_line.shell_command import add_command
from gdbcuda.errors import UserError
from gdbcuda.files.preloadable import require_preloadable_by_gdb
from gdbcuda.shell.hook_given import hook_given
from gdbcuda.shell.inherited import require_open

_ABOUT = """\
Starts the program under gdb, with the extension loaded and all processes that it starts: workers by fork and spawn, the
ranks of torchrun, what a shell script executes. PROGRAM may be a script. They stop together; one that ends stops none
of the others. Without a terminal nobody is asked: what stops is told on stderr, with the stack and the lines of Python
where a process receives a fatal signal, and the program goes on to its end."""
_ENDING = "Exit status: at a prompt gdb's; else the program's own, 128 and the signal where it was killed."
_EXAMPLES = (
    "gdbcuda run -- python3 train.py",
    "gdbcuda run --hook ./hook.so --break 'cuMemAlloc if bytesize > 1G' -- ./train",
    "gdbcuda run -- torchrun --nproc-per-node 4 train.py",
    "gdbcuda run --batch --memory -- ./train --epochs 1",
)


class RunOptions(Options):
    hook: str | None = option(FILE, "preload this hook library into the program")
    stops: list[str] = options(text("FUNC [if COND]"), "stop there; all that cuda-break takes", "--break")
    memory: bool = flag("record what makes and frees memory, for cuda-memory")
    ranks: bool = flag("tell apart what each rank writes; torchrun and the like have that always")
    batch: bool = flag("ask nobody, as without a terminal")
    program: list[str] = rest(text("PROGRAM"), "the program and its arguments")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``run`` to the subcommands of ``gdbcuda``."""
    return add_command(
        subparsers, "run", RunOptions, run,
        help="a program under gdb, with all processes that it starts", about=_ABOUT, ending=_ENDING, examples=_EXAMPLES,
    )  # fmt: skip


def run(wanted: RunOptions) -> int:
    from gdbcuda.observe import ptracing
    from gdbcuda.shell.run import launchers, started_program, under_gdb

    words = wanted.program[1:] if wanted.program[:1] == ["--"] else wanted.program
    if not words:
        raise UserError(f"name the program behind --, for example: {_EXAMPLES[0]}")
    ptracing.require()
    require_open(0, 1, 2)
    is_batch = wanted.batch or not (sys.stdin.isatty() and sys.stdout.isatty())
    asked = [*commands(wanted)]
    program = started_program.startable(words, os.environ)
    return under_gdb.run(program, asked, is_batch, wanted.ranks or launchers.is_one(words))


def commands(wanted: RunOptions) -> Iterator[str]:
    from gdbcuda.shell.run import under_gdb

    if wanted.hook is not None:
        require_preloadable_by_gdb(hook_given(wanted.hook))
        yield f"cuda-load {under_gdb.quoted(wanted.hook)}"
    yield from (f"cuda-break {one}" for one in wanted.stops)
    if wanted.memory:
        yield "cuda-log start --memory"
