"""Through gdbserver no breakpoint of a guard goes while the program forks.

gdb takes those breakpoints out of the child that there are when it hears of the fork: one that was there a moment
before would end the child. So a guard whose breakpoints come and go all the time goes before the fork, and comes back
when the call that forks has returned; another is not lowered meanwhile. (Nor could a child be mended that is made
later: gdb steps who stands at the entry off the user's location, though that is off, and where a signal comes as it
does leaves a breakpoint of its own there, for a while. gdb manual: "Forks"; clone(2).)

Of this machine's processes gdb takes all breakpoints out of a child's memory byte by byte. If that is the parent's too
and the other threads run on, who is at a jump of ours then executes half of it. So guards go before a clone that shares
memory and does not wait; before gdb 13 they run on at a vfork as well. (gdb's infrun.c: follow_fork_inferior.)
"""

from __future__ import annotations

import gdb

from gdbcuda.live import process
from gdbcuda.live.guard.libc_calls import Wanted
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.threads import call_registers, children, positions

REASON = "the program forks; there will be one after the next stop"
FORKING: PerInferior[dict[int, int]] = PerInferior(dict)  # thread -> stack pointer in front of the call
IN_FRONT: PerInferior[dict[int, range]] = PerInferior(dict)  # thread -> the instructions up to a call past libc
CLONE_VM, CLONE_VFORK, CLONE_THREAD = 0x100, 0x4000, 0x10000
SYS_CLONE, SYS_FORK, SYS_VFORK, SYS_CLONE3 = NUMBERS = 56, 57, 58, 435  # (asm/unistd_64.h)


def always(first: int, second: int, third: int) -> bool:
    return True


def makes_process(function: int, stack: int, flags: int) -> bool:
    return not flags & CLONE_THREAD


def flags_of(number: int, first: int) -> int | None:
    """Of a system call that clones, whose first argument that is; None of any other. (clone(2): struct clone_args)"""
    if number == SYS_CLONE3:
        return int.from_bytes(process.InferiorMemory().read(first, 8), "little")
    return first if number == SYS_CLONE else None


def by_syscall(number: int, first: int, second: int) -> bool:
    flags = flags_of(number, first)
    return number in (SYS_FORK, SYS_VFORK) or (flags is not None and not flags & CLONE_THREAD)


WAYS: dict[str, Wanted] = {
    "fork": always, "_Fork": always, "vfork": always, "clone": makes_process, "syscall": by_syscall,
}  # fmt: skip


def shares_memory(function: int, stack: int, flags: int) -> bool:
    return bool(flags & CLONE_VM) and not flags & CLONE_THREAD


def shares_and_runs_on(function: int, stack: int, flags: int) -> bool:
    return shares_memory(function, stack, flags) and not flags & CLONE_VFORK


def shares_by_syscall(number: int, first: int, second: int) -> bool:
    flags = flags_of(number, first)
    return number == SYS_VFORK or (flags is not None and shares_memory(0, 0, flags))


def shares_and_runs_on_by_syscall(number: int, first: int, second: int) -> bool:
    flags = flags_of(number, first)
    return flags is not None and shares_and_runs_on(0, 0, flags)


SHARING_WAYS: dict[str, Wanted] = {"clone": shares_and_runs_on}
ALL_SHARING_WAYS: dict[str, Wanted] = {**SHARING_WAYS, "syscall": shares_and_runs_on_by_syscall}
WAYS_BEFORE_13: dict[str, Wanted] = {
    **dict.fromkeys(("vfork", "posix_spawn", "posix_spawnp", "system", "popen"), always),
    "clone": shares_memory, "syscall": shares_by_syscall,
}  # fmt: skip


def ways_of_sharing() -> dict[str, Wanted]:
    """Those at which other threads run on while gdb takes its breakpoints out of the memory that they share."""
    if process.connection() != "native":
        return {}
    return ALL_SHARING_WAYS if hasattr(gdb, "BreakpointLocation") else WAYS_BEFORE_13  # gdb 13 stops them at a vfork


def remember() -> None:
    """The selected thread is in front of such a call. (fork calls _Fork.)"""
    thread = call_registers.thread_number()
    FORKING()[thread] = max(call_registers.current_stack_pointer(), FORKING().get(thread, 0))


def stay_in_front(thread: int, places: range) -> None:
    """The same of a system call in the middle of a function: behind it the stack is as it was."""
    if FORKING().pop(thread, None) is not None:
        IN_FRONT()[thread] = places


def is_going_on() -> bool:
    """Is a thread in such a call still?"""
    forking, in_front = FORKING(), IN_FRONT()
    if (forking or in_front) and not may_threads_be_listed():
        return True
    there = positions.newest({*forking, *in_front})
    for thread, before in list(forking.items()):
        where = there.get(thread)
        if thread not in there or (where is not None and where[1] > before):
            del forking[thread]
    for thread, places in list(in_front.items()):
        where = there.get(thread)
        if thread not in there or (where is not None and where[0] not in places):
            del in_front[thread]
    return bool(forking or in_front)


def may_threads_be_listed() -> bool:
    """Before gdb 13, gdbserver lists the threads of a child of which gdb is yet to be told: gdb makes an inferior for
    it, and then aborts. At the user's stops there is none. (gdb's remote.c: remote_notice_new_inferior.)"""
    return hasattr(gdb, "BreakpointLocation") or not process.is_remote() or children.is_stopped()


children.IS_BEING_MADE.append(is_going_on)
