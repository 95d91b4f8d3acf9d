"""Somebody kills a process while it stands: gdb hears of that only when it lets it go on, and may not get over it.

Without us too: gdb 13 waits for ever then, gdb 16 crashes, and a breakpoint in the program, which it cannot put in any
more, keeps it from going on at all. Where a process ends while its threads come to breakpoints, gdb holds them to be
running though nobody is there. ``kill`` is clean in each. (proc(5): /proc/PID/stat, exit_code.)
"""

from __future__ import annotations

import os
import signal

import gdb

from gdbcuda.live.host import console, inferiors
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.process import raw, thread_status

SAID: PerInferior[list[bool]] = PerInferior(list)  # of those that have a breakpoint of ours
KILLED = (
    "gdbcuda: process {} is dead: somebody, or the kernel for want of memory, has killed it. {}, then run; with "
    "continue gdb may wait for ever, or crash\n"
)
GONE = "gdbcuda: process {} is over, and gdb has not heard of its end: {}, then run\n"


def watch() -> None:
    """The selected process."""
    SAID()


def sweep(event: object = None) -> None:
    """Between commands."""
    for one in gdb.inferiors() if SAID.all() else ():
        if not one.pid or SAID.of(one):
            continue
        is_dead = is_killed(one.pid) and not runs(one)
        if is_dead or is_gone(one):
            SAID.of(one).append(True)
            end = f"kill inferiors {one.num}" if inferiors.are_several() else "kill"
            console.write((KILLED if is_dead else GONE).format(one.pid, end))


def runs(inferior: gdb.Inferior) -> bool:
    """gdb waits for it, and hears of its end."""
    return any(one.is_valid() and one.is_running() for one in inferiors.threads(inferior))


def is_killed(pid: int) -> bool:
    """A process of this machine that gdb traces, and that has not gone yet, for gdb has not heard of it."""
    fields = thread_status.near(f"/proc/{pid}/stat").rpartition(")")[2].split()
    is_dead = bool(fields) and fields[0] == "Z" and fields[-1] == str(int(signal.SIGKILL))
    return is_dead and raw.tracer_of(pid) == os.getpid()


def is_gone(inferior: gdb.Inferior) -> bool:
    """(gdb before 12 has no connections. Of one of several it may tell the end with the next command.)"""
    connection = getattr(inferior, "connection", None)
    is_local = connection is not None and connection.type == "native" and os.path.exists("/proc/self")
    return is_local and not inferiors.are_several() and not os.path.exists(f"/proc/{inferior.pid}")
