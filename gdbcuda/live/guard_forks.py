"""A guard through gdbserver whose breakpoints come and go goes before the program forks.

gdb takes those breakpoints out of the child that there are when it hears of the fork: one that was there a moment
before would end the child. (gdb manual: "Forks"; clone(2).)
"""

from __future__ import annotations

from gdbcuda.live.libc_calls import Wanted

REASON = "the program forks; there will be one after the next stop"
CLONE_THREAD = 0x10000
SYS_CLONE, SYS_FORK, SYS_VFORK, SYS_CLONE3 = 56, 57, 58, 435  # (asm/unistd_64.h)


def always(first: int, second: int, third: int) -> bool:
    return True


def makes_process(function: int, stack: int, flags: int) -> bool:
    return not flags & CLONE_THREAD


def by_syscall(number: int, first: int, second: int) -> bool:
    return number in (SYS_FORK, SYS_VFORK, SYS_CLONE3) or (number == SYS_CLONE and not first & CLONE_THREAD)


WAYS: dict[str, Wanted] = {
    "fork": always, "_Fork": always, "vfork": always, "clone": makes_process, "syscall": by_syscall,
}  # fmt: skip
