"""Children that the program has made, and of which gdb has not heard yet: what they have of our breakpoints.

gdb takes out of a child, when it comes to it, the breakpoints that are in its table then. One that was in the process
at the fork, and has gone from the table since, would stay in the child and end it. Until gdb comes such a child stands
still. (ptrace(2): PTRACE_O_TRACEFORK; gdb's infrun.c: follow_fork.)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Callable

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.host.inferiors import PerInferior

INT3 = b"\xcc"
IS_BEING_MADE: list[Callable[[], bool]] = []  # asked where gdb cannot be told of a child that waits
ARE_ANNOUNCED: list[Callable[[], bool]] = []  # who is about to make one is seen, so that no look is needed else
_waiting: PerInferior[list[tuple[int, ...]]] = PerInferior(list)  # looked for once a stop, or once a look
_looking: list[bool] = []
_shared: dict[tuple[int, int], bool] = {}
_goes_on = [False]
_stills = [0]  # how often the process has been found standing still, or has gone on


@contextmanager
def looking() -> Iterator[None]:
    """gdb looks at a thread, and asks a breakpoint of ours. At the far end of a link all others stand still."""
    _looking.append(True)
    forget()
    try:
        yield
    finally:
        _looking.pop()
        forget()


def is_looking() -> bool:
    return bool(_looking)


def can_be_found() -> bool:
    """All of them; where the other threads run on, those that there are at the moment."""
    return process.connection() == "native" or (process.is_remote() and process.can_be_found())


def waiting() -> tuple[int, ...]:
    if not can_be_found():
        return ()
    known = _waiting()
    if process.is_thread_running() and not (is_looking() and process.is_remote()):
        return found()
    if not known:
        known.append(found())
    return known[0]


def found() -> tuple[int, ...]:
    return tuple(process.far_children() if process.is_remote() else process.unfollowed_children())


def is_one_being_made() -> bool:
    return any(ask() for ask in IS_BEING_MADE)


def forget(event: object = None) -> None:
    """The process goes on, or has."""
    _waiting().clear()
    _stills[0] += 1
    if event is not None:
        _goes_on[0] = type(event).__name__ == "ContinueEvent"


def is_stopped() -> bool:
    """For the user. (Of a thread whose breakpoint's condition gdb asks, gdb 10 says so as well.)"""
    return not _goes_on[0]


def still() -> int:
    """The same as long as nothing has run that could have made a child."""
    return _stills[0]


def is_memory_shared() -> bool:
    """By a child that does not stand still. Asked once a stop, for each thread is a file."""
    now = gdb.selected_inferior().pid, still()
    if now not in _shared:
        _shared.clear()
        _shared[now] = process.has_sharing_child()
    return _shared[now]


def get_ready() -> None:
    """In a command that will have breakpoints of ours made: over a link it takes some packets, once a process."""
    if process.is_alive() and process.is_remote() and not process.is_running():
        waiting()


def take_out(address: int, since: int = -1) -> None:
    """A breakpoint that was there since that `still` leaves gdb's table, or has just been taken out of the process: gdb
    knows the byte below it. (Who has forked before that is a child by now: that takes the kernel less time than us.)"""
    if process.is_remote():
        is_needed = since != still() and (is_one_being_made() or not any(ask() for ask in ARE_ANNOUNCED))
        for child in waiting() if is_needed else ():
            process.take_out_of(child, address)
        return

    def put_back(memory: process.RawMemory) -> None:
        own = process.InferiorMemory().read(address, 1)
        if memory.read(address, 1) == INT3:
            memory.write(address, own)

    in_each(put_back)


def in_each(action: Callable[[process.RawMemory], None]) -> None:
    """With the memory of each child of this machine, as far as it can be had."""
    for child in () if process.is_remote() else waiting():
        with suppress(OSError, Unreadable), closing(process.RawMemory(child)) as memory:
            action(memory)
