"""A process with threads is let go where it is about to end, with the signal that ends it.

Its other threads come to breakpoints meanwhile, and the kernel ends them all. gdb then asks for what is gone and
forgets what it was doing: the other processes run on, and nothing waits for them any more. It does so without us.
(gdb's gdb.threads/process-dies-while-handling-bp.exp has it as a known failure; signal(7), exit_group(2).)
"""

from __future__ import annotations

import signal

import gdb

from gdbcuda.data_classes import dataclass
from gdbcuda.live.host import gdb_cli, inferiors
from gdbcuda.live.process import proc_files, state, thread_status
from gdbcuda.live.prompt import safely
from gdbcuda.live.stopping import signals

SENT = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM")  # by users and launchers; rarely, so that a stop costs nothing
FATAL = ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE", "SIGSYS")
SIGNALLED = 128
# as a command, whose output is kept: gdb tells of each name that it does not know yet
PLACED = "python __import__('gdbcuda.live.running.last_steps', fromlist=['*']).place()"
LOW = 0xFF  # what a parent hears of an exit status
_exits: list[Exit] = []


@dataclass(frozen=True)
class LastStep:
    status: int  # as a shell has it
    is_own: bool  # exit(3), and no signal


class Exit(gdb.Breakpoint):
    """Where a process ends itself: exit(3) comes here as well, with everything done."""

    def __init__(self) -> None:
        super().__init__("_exit", internal=True)
        self.silent = True

    @safely.looking_on
    def stop(self) -> bool:
        return len(inferiors.threads()) > 1


def watch() -> None:
    """Behind the user's own breakpoints, which are numbered from 1."""
    signals.UNTOLD.update(SENT)
    gdb_cli.execute(PLACED)
    gdb_cli.execute(f"catch signal {' '.join(SENT)}")
    gdb_cli.execute(f"commands {int(gdb.parse_and_eval('$bpnum'))}\nsilent\nend")


def place() -> None:
    _exits.append(Exit())


def switch(is_on: bool) -> None:
    """Off where one process goes on alone: gdb would step it over with all the others."""
    for one in _exits:
        one.enabled = is_on


def here(stopped: gdb.StopEvent | None) -> LastStep | None:
    """Of the selected process, where it has threads and is about to end."""
    if stopped is None or len(inferiors.threads()) < 2:
        return None
    if isinstance(stopped, gdb.BreakpointEvent) and any(one in _exits for one in stopped.breakpoints):
        return LastStep(int(gdb.parse_and_eval("$rdi")) & LOW, is_own=True)
    number = signal_number()
    return LastStep(SIGNALLED + number, is_own=False) if number is not None and is_fatal(number) else None


def signal_number() -> int | None:
    """Of the signal that the selected thread is about to receive."""
    try:
        number = state.signal_number()
    except gdb.error:
        return None
    names = {int(getattr(signal, name)) for name in (*SENT, *FATAL)}
    return number if number in names else None


def is_fatal(number: int) -> bool:
    """The program has no handler for it, and does not ignore it."""
    status = proc_files.text(f"/proc/{gdb.selected_inferior().pid}/status") or ""
    return all(thread_status.has_signal(status, mask, number) is False for mask in ("SigCgt", "SigIgn"))
