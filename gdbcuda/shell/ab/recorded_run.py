"""One recorded run of the program, to its end, with what it writes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import BinaryIO

from gdbcuda.compare.outcome import Outcome
from gdbcuda.data_classes import dataclass
from gdbcuda.files import places
from gdbcuda.shell.ab import by_stops
from gdbcuda.shell.ab.options import STOPS
from gdbcuda.shell.inherited import signals_of_a_shell
from gdbcuda.shell.run.started_program import startable
from gdbcuda.shell.trace import starting

SIGNALLED, KIB = 128, 1024
ENDING = (signal.SIGTERM, signal.SIGHUP)
OFTEN = 0.01  # seconds between two looks at the program
LONGEST_WRITING = 10.0  # seconds that the helper may take for the last calls
CALLS, STDOUT, STDERR = "calls", "stdout", "stderr"


@dataclass(frozen=True)
class RunPlan:
    """``settings`` of the environment; ``limit`` in seconds, 0 for none; ``way`` STOPS, or "" for the recorder."""

    words: Sequence[str]
    hook: str | None
    settings: Mapping[str, str]
    limit: float
    way: str
    last: int


@dataclass(frozen=True)
class RecordedRun:
    """``log`` is its folder of `gdbcuda trace`, or the file that gdb has written."""

    plan: RunPlan
    log: str
    outcome: Outcome


def run(plan: RunPlan, folder: str, stdin: str | None) -> RecordedRun:
    """Into ``folder``, which is made; `UserError` where the program cannot be started."""
    os.mkdir(folder, 0o700)
    log = os.path.join(folder, CALLS)
    environment = {**os.environ, **plan.settings}
    if plan.way == STOPS:
        program = startable(plan.words, environment)
        words = by_stops.words(program.words, plan.hook, folder, log, stdin)
        outcome = to_its_end(words, program.environment, plan.limit, folder, None, ("gdb.out", "gdb.err"))
        return RecordedRun(plan, log, by_stops.of_program(outcome, folder))
    os.mkdir(log, 0o700)
    environment = starting.environment(environment, plan.hook, plan.last, [])
    environment.update({starting.FOLDER: log, starting.STACK: "0"})
    outcome = to_its_end(plan.words, environment, plan.limit, folder, log, (STDOUT, STDERR), stdin)
    wait_for_helper(log)
    return RecordedRun(plan, log, outcome)


def to_its_end(
    words: Sequence[str], environment: Mapping[str, str], limit: float, folder: str, kept: str | None,
    names: tuple[str, str], stdin: str | None = None,
) -> Outcome:  # fmt: skip
    paths = [os.path.join(folder, name) for name in names]

    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())

    def in_child() -> None:
        signals_of_a_shell()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if kept:
            starting.keep_all(kept)

    with open(paths[0], "wb") as out, open(paths[1], "wb") as errors, given(stdin) as source:
        began = time.monotonic()
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, *ENDING))  # until somebody can end the program for it
        try:
            child = subprocess.Popen(words, env=dict(environment), stdin=source, stdout=out, stderr=errors,
                                     preexec_fn=in_child, start_new_session=True)  # fmt: skip
        except OSError as problem:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            raise places.not_started(words[0], problem) from None
        status, memory, is_late = waited(child.pid, began + limit if limit else None, before)
        child.returncode = status
    texts = [contents(path) for path in paths]
    taken = time.monotonic() - began
    return Outcome(shell_status(status), texts[0], texts[1], taken, taken if is_late else 0.0, memory * KIB)


@contextmanager
def given(stdin: str | None) -> Iterator[BinaryIO | None]:
    if stdin is None:
        yield None
        return
    with open(stdin, "rb") as source:
        yield source


def waited(pid: int, deadline: float | None, signals: Iterable[int]) -> tuple[int, int, bool]:
    """(status as wait says it, KiB of memory, whether it was too late). What ends us ends the program first."""
    is_late = False
    for number in ENDING:
        signal.signal(number, signal.default_int_handler)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        while True:
            found, status, usage = os.wait4(pid, os.WNOHANG)
            if found:
                return status, usage.ru_maxrss, is_late
            if deadline is not None and time.monotonic() > deadline and not is_late:
                is_late = True
                os.killpg(pid, signal.SIGKILL)
            time.sleep(OFTEN)
    except KeyboardInterrupt:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


def shell_status(status: int) -> int:
    return SIGNALLED + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def contents(path: str) -> str:
    with open(path, encoding="utf-8", errors="backslashreplace") as file:
        return file.read()


def wait_for_helper(log: str) -> None:
    """It deletes a ring when it has all calls of it. Where it was killed, what is left is in the ring."""
    deadline = time.monotonic() + LONGEST_WRITING
    while any(name.endswith(".ring") for name in os.listdir(log)) and time.monotonic() < deadline:
        time.sleep(OFTEN)


@contextmanager
def folder_for(wanted: str | None) -> Iterator[str]:
    """One that is kept where it has a name."""
    if wanted is not None:
        yield starting.new_folder(wanted, "ab")
        return
    made = tempfile.mkdtemp(prefix="gdbcuda-ab-")
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def own_input(folder: str) -> str | None:
    """What comes through a pipe comes once, and each run is to read it; None where it is a terminal or nothing."""
    if sys.stdin is None or sys.stdin.isatty():
        return None
    path = os.path.join(folder, "stdin")
    with open(path, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


