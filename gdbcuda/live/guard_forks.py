"""A guard through gdbserver whose breakpoints come and go goes before the program forks.

gdb takes those breakpoints out of the child that there are when it hears of the fork: one that was there a moment
before would end the child. (gdb manual: "Forks"; clone(2).)
"""

from __future__ import annotations

from gdbcuda.live.libc_calls import Wanted

REASON = "the program forks; there will be one after the next stop"
CLONE_THREAD = 0x10000


def always(first: int, second: int, third: int) -> bool:
    return True


def makes_process(function: int, stack: int, flags: int) -> bool:
    return not flags & CLONE_THREAD


WAYS: dict[str, Wanted] = {"fork": always, "_Fork": always, "vfork": always, "clone": makes_process}
