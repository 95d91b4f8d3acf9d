"""All threads of a process of this machine stand still for a moment, while gdb takes them for running.

gdb is about to end, and waits for no event any more. Each thread that runs is sent a SIGSTOP, which none can block;
what it stops with is taken from the kernel again, so that gdb does not hear of it. Who has stopped for something else
has a word for gdb, and stays. (ptrace(2), "signal-delivery-stop"; waitid(2).)
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import gdb

from gdbcuda.live import process
from gdbcuda.live.threads import raw_stacks
from gdbcuda.text.patterns import pattern

SYS_TGKILL = 234  # (asm/unistd_64.h)
PTRACE_CONT = 7  # (sys/ptrace.h)
ANY_THREAD = 0x40000000  # __WALL: also one that another thread has made (linux/wait.h)
PATIENCE, APART = 2.0, 0.001  # seconds: a thread in the kernel stops when that lets it go
PENDING = pattern(r"^SigPnd:\s*([0-9a-f]+)$", re.MULTILINE)


@contextmanager
def held_still() -> Iterator[bool]:
    """Whether all of them do: one that waits for a child by vfork cannot be stopped."""
    asked: set[int] = set()
    try:
        yield do_all_stand(asked)
    finally:
        for thread in asked:
            with suppress(OSError):
                let_go_on(thread)


def do_all_stand(asked: set[int]) -> bool:
    """Threads that are made meanwhile are found the next time. ``asked``: to stop, by us."""
    last = time.monotonic() + PATIENCE
    while running := set(filter(runs, raw_stacks.threads())):
        if time.monotonic() > last:
            return False
        for thread in running - asked:
            if not is_asked_already(thread):
                asked.add(thread)
                ctypes.CDLL(None).syscall(SYS_TGKILL, gdb.selected_inferior().pid, thread, signal.SIGSTOP)
        time.sleep(APART)
    return True


def runs(thread: int) -> bool:
    return raw_stacks.state(thread) not in ("", *raw_stacks.STANDING)


def is_asked_already(thread: int) -> bool:
    """By gdb, which will wait for it."""
    found = PENDING.search(process.of_thread(thread, "status"))
    return found is not None and bool(int(found.group(1), 16) >> signal.SIGSTOP - 1 & 1)


def let_go_on(thread: int) -> None:
    kind = os.WSTOPPED | os.WNOHANG | ANY_THREAD
    found = os.waitid(os.P_PID, thread, kind | os.WNOWAIT)
    if found is not None and found.si_status == signal.SIGSTOP:
        os.waitid(os.P_PID, thread, kind)
        ctypes.CDLL(None).ptrace(PTRACE_CONT, *map(ctypes.c_long, (thread, 0, 0)))
