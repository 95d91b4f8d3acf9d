"""``gdbcuda trace`` in a shell."""

from __future__ import annotations

import argparse
import os
from typing import Any

from gdbcuda.errors import UserError
from gdbcuda.shell import observers
from gdbcuda.shell.observers.options import AUTO, RECORDER, STRACE, UPROBE, ObserverOptions
from gdbcuda.text import output
from gdbcuda.text.arguments import FILE, NUMBER, text
from gdbcuda.text.options import option, options, rest
from gdbcuda.text.printable import visible
from gdbcuda.text.shell_command import add_command

_ABOUT = """\
Starts PROGRAM and records its calls of CUDA and NVML, without a debugger: those that the program makes, and those that
a hook library makes of them. What each thread called last is in FOLDER, also after a crash or kill -9, and
gdbcuda log reads it. The children of the program are recorded as well."""
_ENDING = "Exit status: the program's own; 127 or 126 where it cannot be started."
_EXAMPLES = (
    "gdbcuda trace -- ./train --epochs 3",
    "gdbcuda trace --hook ./libvgpu.so -o calls -- python train.py",
    "gdbcuda trace --in hook --last 100000 -- ./serve",
    "gdbcuda trace --with strace -o kernel.jsonl -- ./train",
    "gdbcuda trace --with uprobe --function 'cuMem*' --filter 'bytesize > 1M' -p 4711",
)


class TraceOptions(ObserverOptions):
    hook: str | None = option(FILE, "preload this hook library into the program")
    output: str | None = option(text("FOLDER"), "a new folder for what is recorded", short="-o")
    places: list[str] = options(text("LAYER|LIB"), "functions of these layers or libraries alone", "--in")
    last: int = option(NUMBER, "of each thread at least the last N calls", default=8192)
    program: list[str] = rest(text("PROGRAM"), "the program and its arguments")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``trace`` to the subcommands of ``gdbcuda``."""
    return add_command(
        subparsers, "trace", TraceOptions, run,
        help="record the calls of a program, without gdb", about=_ABOUT, ending=_ENDING, examples=_EXAMPLES,
    )  # fmt: skip


def run(wanted: TraceOptions) -> int:
    """Becomes the program."""
    from gdbcuda.shell.trace import starting

    words = wanted.program[1:] if wanted.program[:1] == ["--"] else wanted.program
    if wanted.way == AUTO:
        observers.choose(wanted, words)
    if wanted.way != RECORDER:
        return observers.run(wanted, words, wanted.hook, wanted.output)
    if wanted.of_others():
        raise UserError(f"{wanted.of_others()} is for --with {UPROBE} or {STRACE}")
    if not words:
        raise UserError(f"name the program behind --, for example: {_EXAMPLES[0]}")
    environment = starting.environment(os.environ, wanted.hook, wanted.last, wanted.places)
    for remark in starting.remarks(words[0]):
        output.complain(f"gdbcuda: {visible(remark)}")
    folder = starting.new_folder(wanted.output, words[0])
    if wanted.output is None:
        output.complain(f"gdbcuda: recording into {visible(folder)}")
    output.finish()
    return starting.become(words, {**environment, starting.FOLDER: os.path.abspath(folder)})
