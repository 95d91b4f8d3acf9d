"""The program with nobody at the prompt: what stops it is told, and it goes on to its end. Its status is gdb's."""

from __future__ import annotations

import gdb

from gdbcuda.live import process
from gdbcuda.live.host import console, gdb_cli
from gdbcuda.live.prompt import settings
from gdbcuda.live.running import together
from gdbcuda.live.stopping import signals

FATAL = ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE", "SIGSYS")
MOST_FRAMES = 60
SIGNALLED, NOT_STARTED = 128, 127
_stops: list[gdb.StopEvent] = []
_statuses: list[int] = []  # of the first process


def on_stop(event: gdb.StopEvent) -> None:
    _stops.append(event)


def on_exit(event: gdb.ExitedEvent) -> None:
    if event.inferior.num == together.FIRST:
        _statuses.append(status_of(event))


def status_of(event: gdb.ExitedEvent) -> int:
    """As a shell has it."""
    if hasattr(event, "exit_code"):
        return int(event.exit_code)
    try:
        return SIGNALLED + int(gdb.parse_and_eval("$_exitsignal"))
    except (gdb.error, ValueError):  # it could not be started, which gdb has said
        return NOT_STARTED


def play() -> None:
    for line in ("handle all nostop noprint pass", "handle SIGINT nostop noprint pass",
                 f"handle {' '.join(FATAL)} stop print pass"):  # fmt: skip
        gdb_cli.execute(line)
    together.execute("run")
    status = _statuses[0] if go_on() and _statuses else NOT_STARTED
    leave_others()
    gdb_cli.execute_aloud(f"quit {status}")


def go_on() -> bool:
    """To the end of the first process. False where gdb has failed twice at one stop: it would for ever."""
    failures = 0
    while not _statuses and together.select_living():
        failures = 0 if _stops else failures
        tell()
        failures += not together.go_on()
        if failures > 1:
            gdb.write("gdbcuda: gdb cannot let the program go on: it is left alone\n", gdb.STDERR)
            return False
    return True


def tell() -> None:
    """Of a breakpoint the stop itself has told."""
    stopped = _stops[-1] if _stops else None
    _stops.clear()
    if isinstance(stopped, gdb.SignalEvent):
        if signals.stop_text(stopped) is None or not settings.value("cuda-stop-info"):
            console.write(f"{signals.text(stopped)}\n")
        together.execute(f"backtrace {MOST_FRAMES}")


def leave_others() -> None:
    """They would go on without the first process, if gdb were not there."""
    for one in together.living():
        process.forget()
        together.execute(f"detach inferiors {one.num}")
