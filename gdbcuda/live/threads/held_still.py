"""All threads of a process of this machine stand still for a moment, while gdb takes them for running.

gdb is about to end, and waits for no event any more. Each thread that runs is sent a SIGSTOP, which none can block;
what it stops with is taken from the kernel again, so that gdb does not hear of it. Who has stopped for something else
has a word for gdb, and stays. (ptrace(2), "signal-delivery-stop"; waitid(2).)
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import gdb

from gdbcuda.live import process
from gdbcuda.live.process import thread_status
from gdbcuda.live.threads import raw_stacks

SYS_TGKILL = 234  # (asm/unistd_64.h)
PTRACE_CONT, PTRACE_SINGLESTEP = 7, 9  # (sys/ptrace.h)
ANY_THREAD = 0x40000000  # __WALL: also one that another thread has made (linux/wait.h)
PATIENCE, APART = 0.5, 0.001  # seconds: a thread in the kernel stops when that lets it go

_asked: set[int] = set()  # to stop, by us. gdb may come to its end a second time inside of its end, and not back


@contextmanager
def held_still() -> Iterator[bool]:
    """Whether all of them do: one that waits for a child by vfork cannot be stopped."""
    try:
        yield do_all_stand()
    finally:
        while _asked:
            with suppress(OSError):
                let_go_on(_asked.pop())


def do_all_stand() -> bool:
    """Threads that are made meanwhile are found the next time."""
    last = time.monotonic() + PATIENCE
    while running := set(filter(runs, raw_stacks.threads())):
        if time.monotonic() > last:
            return False
        for thread in running - _asked:
            if not is_asked_already(thread):
                _asked.add(thread)
                ctypes.CDLL(None).syscall(SYS_TGKILL, gdb.selected_inferior().pid, thread, signal.SIGSTOP)
        time.sleep(APART)
    return True


def runs(thread: int) -> bool:
    return raw_stacks.state(thread) not in ("", *raw_stacks.STANDING)


def is_asked_already(thread: int) -> bool:
    """By gdb, which will wait for it."""
    return thread_status.has_signal(process.of_thread(thread, "status"), "SigPnd", signal.SIGSTOP) is True


def let_go_on(thread: int) -> None:
    kind = os.WSTOPPED | os.WNOHANG | ANY_THREAD
    found = os.waitid(os.P_PID, thread, kind | os.WNOWAIT)
    if found is not None and found.si_status == signal.SIGSTOP:
        how = PTRACE_SINGLESTEP if is_stepped_aside(thread) else PTRACE_CONT
        os.waitid(os.P_PID, thread, kind)
        ctypes.CDLL(None).ptrace(how, *map(ctypes.c_long, (thread, 0, 0)))


def is_stepped_aside(thread: int) -> bool:
    """It would run on into the bytes behind the one instruction that gdb has copied."""
    place = raw_stacks.position(thread)
    return place is not None and raw_stacks.is_aside(place[0])
