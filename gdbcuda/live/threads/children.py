"""Children that the program has made, and of which gdb has not heard yet: what they have of our breakpoints.

gdb takes out of a child, when it comes to it, the breakpoints that are in its table then. One that was in the process
at the fork, and has gone from the table since, would stay in the child and end it. Until gdb comes such a child stands
still. (ptrace(2): PTRACE_O_TRACEFORK; gdb's infrun.c: follow_fork.)
"""

from __future__ import annotations

from contextlib import closing, suppress
from typing import Callable

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.host.inferiors import PerInferior

INT3 = b"\xcc"
IS_BEING_MADE: list[Callable[[], bool]] = []  # asked where gdb cannot be told of a child that waits
_waiting: PerInferior[list[tuple[int, ...]]] = PerInferior(list)  # looked for once a stop


def waiting() -> tuple[int, ...]:
    if process.connection() != "native":
        return ()
    if process.is_thread_running():
        return tuple(process.unfollowed_children())
    known = _waiting()
    if not known:
        known.append(tuple(process.unfollowed_children()))
    return known[0]


def is_one_being_made() -> bool:
    return any(ask() for ask in IS_BEING_MADE)


def forget(event: object = None) -> None:
    """The process goes on, or has."""
    _waiting().clear()


def take_out(address: int) -> None:
    """A breakpoint there leaves gdb's table, or has just been taken out of the process: gdb knows the byte below it.
    (Who has forked before that is a child by now: that takes the kernel less time than us.)"""

    def put_back(memory: process.RawMemory) -> None:
        own = process.InferiorMemory().read(address, 1)
        if memory.read(address, 1) == INT3:
            memory.write(address, own)

    in_each(put_back)


def in_each(action: Callable[[process.RawMemory], None]) -> None:
    """With each child's memory, as far as it can be had."""
    for child in waiting():
        with suppress(OSError, Unreadable), closing(process.RawMemory(child)) as memory:
            action(memory)
