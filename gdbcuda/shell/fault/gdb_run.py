"""The program in a gdb that only injects faults: its streams and its end are its own."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any, NoReturn

from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.observe import ptracing
from gdbcuda.shell.gdb_words import gdb_words, require_python
from gdbcuda.shell.hook_given import hook_given
from gdbcuda.shell.inherited import require_open
from gdbcuda.shell.run.started_program import Startable, startable
from gdbcuda.text import output
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import counted

SIGNALLED, LAST_LINES = 128, 5
PAGE = "faults"  # of the manual, where the words of all of them are
SHELL = "/bin/sh"  # that gdb starts the program with; the program is told of the user's
OF_GDB = ("LINES", "COLUMNS", "SHELL")  # it sets them for the program, or we do for it


def run(command: str, hook: str, program: Sequence[str]) -> int:
    """To the program's end, as it ends; `UserError` where it does not begin."""
    found = startable(program, os.environ)
    ptracing.require()
    require_open(0, 1, 2)
    with tempfile.TemporaryDirectory(prefix="gdbcuda-") as folder:
        result, log = os.path.join(folder, "result"), os.path.join(folder, "gdb")
        streams = [os.dup(one) for one in (0, 1, 2)]
        wanted = {
            "command": command, "hook": hook_given(hook) if hook else "", "program": found.words,
            "streams": streams, "variables": {one: os.environ[one] for one in OF_GDB if one in os.environ},
            "unset": [one for one in OF_GDB if one not in os.environ], "result": result,
        }  # fmt: skip
        status, told = in_gdb(json.dumps(wanted), found, streams, log), read(result)
        if told is None:
            require_python()
            raise UserError(f"gdb has ended with {status}: {last_words(log)}")
    if "problem" in told:
        raise UserError(in_shell(told["problem"]))
    for one in told["faults"]:
        output.complain(line(one))
    return end(told)


def in_gdb(wanted: str, found: Startable, streams: Sequence[int], log: str) -> int:
    """What is typed at the terminal is the program's, an interrupt too."""
    run = f"python from gdbcuda.live.faulting import batch; batch.run({wanted!r})"
    environment = {**found.environment, "SHELL": SHELL}
    words = [*gdb_words(), "-q", "-nx", "-batch", "-iex", f"source {places.sourced_file()}", "-ex", run]
    words.append(found.words[0])
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with open(log, "wb") as file:
            return subprocess.run(words, stdout=file, stderr=file, pass_fds=streams, check=False,
                                  env=environment, preexec_fn=interruptible).returncode  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, before)
        for one in streams:
            os.close(one)


def interruptible() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def read(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as file:
            return dict(json.load(file))
    except (OSError, ValueError):
        return None


def in_shell(problem: str) -> str:
    """What the prompt advises is not typed in a shell."""
    of_command = re.sub(r"\(see: help cuda-[a-z]+\)$", f"(see: gdbcuda help {PAGE})", problem)
    return re.sub(r"\(cuda-help ([\w-]+)\)$", r"(gdbcuda help \1)", of_command)


def last_words(log: str) -> str:
    with open(log, encoding="utf-8", errors="backslashreplace") as file:
        return visible(" / ".join(file.read().rstrip("\n").split("\n")[-LAST_LINES:]))


def line(one: dict[str, Any]) -> str:
    why = f" (by gdb: {one['why']})" if one["why"] else ""
    return f"gdbcuda: {visible(one['words'])}: injected {counted(one['times'], 'time')}{visible(why)}"


def end(told: dict[str, Any]) -> int:
    if told["signal"] is not None:
        end_by(told["signal"])
    return int(told["status"] or 0)


def end_by(number: int) -> NoReturn:
    """As the program has, without a core file of ours."""
    output.finish()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(SIGNALLED + number)
