"""The program with nobody at the prompt: what stops it is told, and it goes on to its end. Its status is gdb's."""

from __future__ import annotations

import os
import threading

import gdb

from gdbcuda.live import process
from gdbcuda.live.host import console, gdb_cli
from gdbcuda.live.host.lazily import if_loaded
from gdbcuda.live.prompt import settings
from gdbcuda.live.running import last_steps, together
from gdbcuda.live.stopping import signals

MOST_FRAMES = 60
NOT_STARTED = 127
PATIENCE = 30  # seconds
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
        return last_steps.SIGNALLED + int(gdb.parse_and_eval("$_exitsignal"))
    except (gdb.error, ValueError):  # it could not be started, which gdb has said
        return NOT_STARTED


def play() -> None:
    for line in ("handle all nostop noprint pass", "handle SIGINT nostop noprint pass",
                 f"handle {' '.join(last_steps.FATAL)} stop print pass"):  # fmt: skip
        gdb_cli.execute(line)
    last_steps.watch()
    together.execute("run")
    went = go_on()
    status = _statuses[0] if went and _statuses else NOT_STARTED
    if not went:
        end_with_it_all()
    leave_others()
    gdb_cli.execute_aloud(f"quit {status}")


def go_on() -> bool:
    """To the end of the first process. False where gdb has failed twice at one stop: it would for ever."""
    failures = 0
    while not _statuses and together.select_living():
        failures = 0 if _stops else failures
        tell()
        if not let_go_at_its_end():
            failures += not together.go_on()
        if failures > 1:
            gdb.write("gdbcuda: gdb cannot let the program go on: it is left alone\n", gdb.STDERR)
            return False
    return True


def tell() -> None:
    """Of a breakpoint the stop itself has told."""
    stopped = _stops[-1] if _stops else None
    if isinstance(stopped, gdb.SignalEvent) and stopped.stop_signal in last_steps.FATAL:
        if signals.stop_text(stopped) is None or not settings.value("cuda-stop-info"):
            console.write(f"{signals.text(stopped)}\n")
        together.execute(f"backtrace {MOST_FRAMES}")


def let_go_at_its_end() -> bool:
    """The selected process, where it stands in its last step. False where it does not."""
    stopped = _stops[-1] if _stops else None
    _stops.clear()
    last, one = last_steps.here(stopped), gdb.selected_inferior()
    if last is None:
        return False
    if one.num == together.FIRST:
        _statuses.append(last.status)
    if last.is_own:
        if_loaded("recording.call_log", "tell_what_is_left")(one)
    leave(one)
    return True


def end_with_it_all() -> None:
    """After a while in which gdb has not ended: where a process was killed it may wait for ever for what is gone."""
    watch = threading.Timer(PATIENCE, os._exit, (NOT_STARTED,))
    watch.daemon = True
    watch.start()


def leave_others() -> None:
    """They would go on without the first process, if gdb were not there."""
    for one in together.living():
        leave(one)


def leave(one: gdb.Inferior) -> None:
    process.forget()
    together.execute(f"detach inferiors {one.num}")
