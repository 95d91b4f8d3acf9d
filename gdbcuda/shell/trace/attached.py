"""``gdbcuda trace -p PID``: gdb puts the recorder into a process that runs, lets it go, and comes back to take it out.

In between no debugger is there. gdb is started in a session of its own: Ctrl-C is for us, who end what we began.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Callable

from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.shell.gdb_words import gdb_words, require_python
from gdbcuda.shell.trace import recorded_processes, starting
from gdbcuda.text import output
from gdbcuda.text.printable import visible

LOOKS_APART = 0.1  # seconds
LONGEST_BEGIN = 60  # seconds that the first call is waited for, with what gdb takes to read symbols
LONGEST_END = 120  # seconds that gdb may take
OURS = re.compile(r"^cuda-log (?:start|detach): (.*)", re.MULTILINE)
BEGUN = re.compile(r"^(\d+) functions go on being recorded", re.MULTILINE)
NOT_LOADED = re.compile(r"^gdbcuda: (missing .*)", re.MULTILINE)
THREADS = "threads that had made no call"
REMARKS = re.compile(rf"^(?:Not recorded: .*|.*{THREADS}, are not recorded: .*)", re.MULTILINE)
GDBS = re.compile(r"^(?:ptrace|Could not attach|.*: No such|.*[Nn]ot permitted).*", re.MULTILINE)
REFUSED = re.compile(r"^(?:ptrace|Could not attach).*", re.MULTILINE)  # then the rest is not of the process
PROCESS = re.compile(r"(\d+)-\d+\.process")
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(pid: int, seconds: float | None, folder: str, start: Sequence[str], keep_all: bool = False) -> int:
    """``start``: further words of cuda-log start."""
    if not is_alive(pid):
        raise UserError(f"there is no process {pid}")
    debugger = gdb_words()
    output.finish()
    with ended_by_signals() as ended:
        deadline = None if seconds is None else time.monotonic() + max(seconds, LONGEST_BEGIN)
        words = ["cuda-log", "start", "--fast", "--keep", folder, *start]
        commands = [f"attach {pid}", " ".join(words), "cuda-log detach"]
        text = told_by_gdb(debugger, commands, lambda: bool(ended) or is_past(deadline))
        begun = BEGUN.search(text)
        if begun is None:
            if not ended:  # an interrupt ends the gdb that is asked, too
                require_python()
            raise UserError(f"process {pid} is not recorded: {why(text, bool(ended), is_past(deadline))}")
        remarks = REMARKS.findall(text)
        say(pid, int(begun[1]), folder, seconds, remarks)
        if keep_all:
            starting.keep_all(folder, pid)
        deadline = None if seconds is None else time.monotonic() + seconds
        while not ended and not is_past(deadline) and is_alive(pid):
            time.sleep(LOOKS_APART)
        for one in recorded_processes.each(folder):
            told_by_gdb(debugger, [f"attach {one}", "cuda-log stop"], lambda: False, ["-iex", "set auto-solib-add off"])
    if recorded_processes.has_lost_library(pid):
        output.complain(f"gdbcuda: process {pid} has executed another program meanwhile, whose calls are not recorded")
    if not any(map(PROCESS.fullmatch, os.listdir(folder))):
        output.complain(f"gdbcuda: nothing was recorded: {why_nothing(pid, remarks)}")
    return 0


def why_nothing(pid: int, remarks: Sequence[str]) -> str:
    if any(THREADS in one for one in remarks):
        return f"no thread of process {pid} had made a call before, or none of those has made one meanwhile"
    return f"process {pid} has made no call of these functions meanwhile"


def say(pid: int, count: int, folder: str, seconds: float | None, remarks: Sequence[str]) -> None:
    how_long = f"for {seconds:g} s" if seconds is not None else "until Ctrl-C"
    output.complain(f"gdbcuda: recording {count} functions of process {pid} into {visible(folder)}, {how_long}")
    for one in remarks:
        output.complain(f"gdbcuda: {visible(one)}")


def told_by_gdb(
    debugger: Sequence[str], commands: Sequence[str], is_enough: Callable[[], bool], options: Sequence[str] = ()
) -> str:
    """What gdb prints; interrupted where it is enough."""
    words = [*debugger, "-nx", "-batch", *options, "-ex", f"source {places.sourced_file()}"]
    words += [word for line in commands for word in ("-ex", line)]
    gdb = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           start_new_session=True, text=True, errors="replace")  # fmt: skip
    last, is_told = time.monotonic() + LONGEST_END, False
    while True:
        try:
            return gdb.communicate(timeout=LOOKS_APART)[0]
        except subprocess.TimeoutExpired:
            if (is_enough() or time.monotonic() > last) and not is_told:
                is_told = True
                gdb.send_signal(signal.SIGINT)


def why(text: str, was_ended: bool, was_late: bool = False) -> str:
    if was_ended:
        return "this ended before gdb, which reads its symbols first, saw a call of the API"
    found = NOT_LOADED.findall(text) or REFUSED.findall(text)
    if was_late and not found:
        return "gdb saw no call of the API in this time"
    found = found or OURS.findall(text) or GDBS.findall(text)
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "it says nothing")
    return found[0] if found else f"gdb could not put the recorder into it: {visible(last.strip())}"


def is_past(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() > deadline


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False


@contextmanager
def ended_by_signals() -> Iterator[list[int]]:
    """Those that have come."""
    found: list[int] = []
    before = {one: signal.signal(one, lambda number, _: found.append(number)) for one in ENDING}
    try:
        yield found
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def python_words(is_of_memory: bool, functions: Sequence[str]) -> Iterator[str]:
    """For cuda-log start."""
    if is_of_memory:
        yield "--python"
    for one in functions:
        yield from ("--python-for", shlex.quote(one))


def words_of(condition: str | None, where: Sequence[str], last: int, callers: int) -> Iterator[str]:
    """For cuda-log start."""
    if where:
        yield from ("--in", shlex.quote(",".join(where)))
    if last:
        yield from ("--last", str(last))
    if callers:
        yield from ("--stack", str(callers))
    if condition:
        yield from ("'*'", "if", condition)
