"""gdb for a program, with what it is to do first."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence

from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.shell.gdb_words import gdb_words
from gdbcuda.shell.inherited import signals_of_a_shell
from gdbcuda.shell.run import relaying
from gdbcuda.shell.run.started_program import Startable
from gdbcuda.shell.run.who_writes import Ranks
from gdbcuda.text import output

BEGIN = "__import__('gdbcuda.live.running.begin', fromlist=['*']).begin"  # binds no name in the user's namespace
SHELL = "/bin/sh"  # gdb starts programs by $SHELL, and not each knows >&9
QUIET = ("-batch", "-iex", "set auto-load python-scripts off")  # libpython brings its own, which gdb would warn of
ONE_DIGIT = range(3, 10)  # dash reads no other number behind >&


def words(program: Startable, commands: Sequence[str], is_batch: bool) -> list[str]:
    begin = f"python {BEGIN}({[*map(str, commands)]!a}, {is_batch})"
    gdb = [*gdb_words(program.environment), "-q", *(QUIET if is_batch else [])]
    return [*gdb, "-iex", f"source {places.sourced_file()}", "-ex", begin, "--args", *program.words]


def run(program: Startable, commands: Sequence[str], is_batch: bool, tells_ranks: bool) -> int:
    """gdb's exit status; at a prompt without ranks we become gdb."""
    output.finish()
    if not is_batch and not tells_ranks:
        line = words(program, commands, is_batch)
        signals_of_a_shell()
        os.execve(line[0], line, dict(program.environment))
    who = Ranks()
    ends = [relaying.OwnEnd(who, fd) for fd in (1, 2)] if tells_ranks else []
    kept = [*inherited([one.theirs.fileno() for one in ends] or [1, 2])]
    for one in ends:
        one.theirs.close()
    first = [redirected(*kept), *as_without(program.environment)]
    line = words(program, [*first, *commands], is_batch)
    return relaying.run(line, {**program.environment, "SHELL": SHELL}, kept, ends, is_batch)


def redirected(out: int, err: int) -> str:
    """A command of gdb's: the program, and not gdb, writes there."""
    return f"set exec-wrapper env >&{out} 2>&{err} {out}>&- {err}>&-"


def as_without(environment: Mapping[str, str]) -> Iterator[str]:
    """Commands of gdb's: the program's own SHELL."""
    shell = environment.get("SHELL")
    yield "unset environment SHELL" if shell is None else f"set environment SHELL {shell}"


def inherited(fds: Sequence[int]) -> Iterator[int]:
    """The same files, under numbers that a shell can name."""
    for fd in fds:
        free = next((number for number in ONE_DIGIT if not is_open(number)), None)
        if free is None:
            raise UserError("there are too many open files: close some of the numbers 3 to 9")
        yield os.dup2(fd, free)


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def quoted(path: str) -> str:
    return shlex.quote(os.path.abspath(path))
