"""A run that gdb records by stops, where the recorder in the process cannot work."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence

from gdbcuda import elf
from gdbcuda.compare.outcome import Outcome
from gdbcuda.data_classes import replace
from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.shell.gdb_words import gdb_words
from gdbcuda.shell.hook_given import INJECTION, named_in
from gdbcuda.text.printable import visible

STATUS = re.compile(r"^gdbcuda ab: (?:(\d+)|void), (?:(\d+)|void)$", re.MULTILINE)
OUT, ERR = "stdout", "stderr"
SIGNALLED, UNKNOWN = 128, 255


def words(program: Sequence[str], hook: str | None, folder: str, log: str, stdin: str | None) -> list[str]:
    """Of gdb. The program's output goes past it, into files."""
    path = {name: shlex.quote(os.path.abspath(os.path.join(folder, name))) for name in (OUT, ERR)}
    source = f" < {shlex.quote(os.path.abspath(stdin))}" if stdin else ""
    given = " ".join(map(shlex.quote, program[1:]))
    commands = [
        "set confirm off", "set pagination off", "handle all nostop noprint pass",
        *(loading(os.path.abspath(hook)) if hook else []),
        f"cuda-log start --to {shlex.quote(os.path.abspath(log))}",
        f"run {given} > {path[OUT]} 2> {path[ERR]}{source}",
        'printf "\\ngdbcuda ab: "', "output $_exitcode", 'printf ", "', "output $_exitsignal", 'printf "\\n"',
    ]  # fmt: skip
    asked = [word for command in commands for word in ("-ex", command)]
    return [*gdb_words(), "-q", "-nx", "-batch", "-iex", f"source {places.sourced_file()}", *asked, program[0]]


def loading(hook: str) -> list[str]:
    is_injected = named_in(elf.open(hook).exported) == INJECTION
    return [f"cuda-load {shlex.quote(hook)}", *([f"cuda-env {INJECTION}={hook}"] if is_injected else [])]


def of_program(gdb: Outcome, folder: str) -> Outcome:
    """Of what gdb has started, from what it has said."""
    found = STATUS.search(gdb.stdout)
    status = UNKNOWN
    if found and found[1]:
        status = int(found[1])
    elif found and found[2]:
        status = SIGNALLED + int(found[2])
    elif not gdb.late and not os.path.exists(os.path.join(folder, OUT)):
        raise UserError(f"gdb has not started the program: {visible(gdb.stderr.strip()) or 'it does not say why'}")
    return replace(gdb, status=status, stdout=read(folder, OUT), stderr=read(folder, ERR))


def read(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="backslashreplace") as file:
            return file.read()
    except OSError:  # the program was not started
        return ""
