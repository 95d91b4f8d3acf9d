"""A program that may make few system calls is not made to make another: the test of a guard would ask the kernel
whether a pointer leads to memory, and the kernel would end the program for it.

Threads that are confined already are seen in their status. Who confines itself later does so through libc, or has code
that makes system calls by itself (`own_syscalls`).
(seccomp(2), prctl(2); proc(5): Seccomp in /proc/PID/task/TID/status.)
"""

from __future__ import annotations

import re

from gdbcuda.live import process
from gdbcuda.live.guard.libc_calls import Wanted
from gdbcuda.machine.x86.x86_syscalls import SYS_PRCTL, SYS_SECCOMP

WOULD_ASK = "the test would ask the kernel about a pointer"
REASON = f"the program confines itself with seccomp, and {WOULD_ASK}"
PR_SET_SECCOMP = 22


def by_prctl(first: int, second: int, third: int) -> bool:
    return first == PR_SET_SECCOMP


def by_syscall(first: int, second: int, third: int) -> bool:
    return first == SYS_SECCOMP or (first, second) == (SYS_PRCTL, PR_SET_SECCOMP)


WAYS: dict[str, Wanted] = {"prctl": by_prctl, "syscall": by_syscall}
PR_SET_TSC, STRICT = 26, 1


def stops_ticks(first: int, second: int, third: int) -> bool:
    """Strict mode takes the time stamp counter away, too: to read it is a fault then."""
    return first == PR_SET_TSC or (first, second) == (PR_SET_SECCOMP, STRICT)


def stops_ticks_by_syscall(first: int, second: int, third: int) -> bool:
    return (first == SYS_PRCTL and stops_ticks(second, third, 0)) or (first, second) == (SYS_SECCOMP, 0)


WITHOUT_TICKS: dict[str, Wanted] = {"prctl": stops_ticks, "syscall": stops_ticks_by_syscall}


def is_confined() -> bool:
    """Whether a thread of the process is, as far as that is known."""
    return any(re.search(r"^Seccomp:\s*[12]", one, re.MULTILINE) for one in process.statuses())
