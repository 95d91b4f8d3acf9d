"""Through gdbserver no breakpoint of a guard goes while the program forks.

gdb takes those breakpoints out of the child that there are when it hears of the fork: one that was there a moment
before would end the child. So a guard whose breakpoints come and go all the time goes before the fork, and comes back
when the call that forks has returned; another is not lowered meanwhile. (Nor could a child be mended that is made
later: gdb steps who stands at the entry off the user's location, though that is off, and where a signal comes as it
does leaves a breakpoint of its own there, for a while. gdb manual: "Forks"; clone(2).)

Of this machine's processes gdb before 13 takes all breakpoints out at a vfork while the other threads run on, byte by
byte: who is at a jump of ours then executes half of it. So there guards go before a vfork. (gdb's infrun.c:
follow_fork_inferior.)
"""

from __future__ import annotations

import gdb

from gdbcuda.live import process
from gdbcuda.live.guard.libc_calls import Wanted
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.threads import call_registers, children, positions

REASON = "the program forks; there will be one after the next stop"
FORKING: PerInferior[dict[int, int]] = PerInferior(dict)  # thread -> stack pointer in front of the call
CLONE_THREAD, CLONE_VFORK = 0x10000, 0x4000
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


def vforks(function: int, stack: int, flags: int) -> bool:
    return bool(flags & CLONE_VFORK)


def vforks_by_syscall(number: int, first: int, second: int) -> bool:
    return number in (SYS_VFORK, SYS_CLONE3) or (number == SYS_CLONE and bool(first & CLONE_VFORK))


VFORK_WAYS: dict[str, Wanted] = {
    **dict.fromkeys(("vfork", "posix_spawn", "posix_spawnp", "system", "popen"), always),
    "clone": vforks, "syscall": vforks_by_syscall,
}  # fmt: skip


def do_threads_run_on() -> bool:
    """At a vfork, while gdb takes its breakpoints out."""
    return not hasattr(gdb, "BreakpointLocation") and process.connection() == "native"  # gdb 13 stops them


def remember() -> None:
    """The selected thread is in front of such a call. (fork calls _Fork.)"""
    thread = call_registers.thread_number()
    FORKING()[thread] = max(call_registers.current_stack_pointer(), FORKING().get(thread, 0))


def is_going_on() -> bool:
    """Is a thread in such a call still?"""
    forking = FORKING()
    threads = positions.standing() if forking else {}
    for thread, before in list(forking.items()):
        where = threads.get(thread, [])
        if where is not None and not any(sp <= before for _, sp in where[:1]):
            del forking[thread]
    return bool(forking)


children.IS_BEING_MADE.append(is_going_on)
