"""All threads of a process of this machine stand still for a moment, while gdb takes them for running.

gdb is about to end, and waits for no event any more. Each thread that runs is sent a SIGSTOP, which none can block;
what it stops with is taken from the kernel again, so that gdb does not hear of it. Who has stopped for something else
has a word for gdb, and stays. Who waits in the kernel, as for a child by vfork, is sent none: he would stop when gdb
has gone. (ptrace(2), "signal-delivery-stop"; waitid(2); proc(5): /proc/PID/stat, state.)
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
UNINTERRUPTIBLE = "D"
PATIENCE, LONGEST, APART = 0.5, 10.0, 0.001  # seconds: for a thread in the kernel; for one that waits for a processor

_asked: set[int] = set()  # to stop, by us. gdb may come to its end a second time inside of its end, and not back
_in_vain: set[int] = set()  # processes of which one has not come out of the kernel: nobody waits for it again


@contextmanager
def held_still() -> Iterator[bool]:
    """Whether all of them do: one that waits for a child by vfork cannot be stopped."""
    try:
        yield do_all_stand()
    finally:
        last = time.monotonic() + LONGEST
        while _asked:
            with suppress(OSError):
                let_go_on(await_stop(_asked.pop(), last))


def do_all_stand() -> bool:
    """Threads that are made meanwhile are found the next time."""
    began, process_number = time.monotonic(), gdb.selected_inferior().pid
    while running := {one: raw_stacks.state(one) for one in raw_stacks.threads() if runs(one)}:
        in_kernel = {one for one, state in running.items() if state == UNINTERRUPTIBLE}
        if in_kernel and (process_number in _in_vain or time.monotonic() > began + PATIENCE):
            _in_vain.add(process_number)
            return False
        if time.monotonic() > began + LONGEST:
            return False
        for thread in running.keys() - in_kernel - _asked:
            if not is_asked_already(thread):
                _asked.add(thread)
                ctypes.CDLL(None).syscall(SYS_TGKILL, process_number, thread, signal.SIGSTOP)
        time.sleep(APART)
    return True


def runs(thread: int) -> bool:
    return raw_stacks.state(thread) not in ("", *raw_stacks.STANDING)


def await_stop(thread: int, last: float) -> int:
    """Who goes on before would stop behind gdb's end. (Of one who is in the kernel by now, gdb's own SIGSTOP is the
    same as ours: as long as it waits there is one.)"""
    while runs(thread) and raw_stacks.state(thread) != UNINTERRUPTIBLE and time.monotonic() < last:
        time.sleep(APART)
    return thread


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
