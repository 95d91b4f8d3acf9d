"""The calls that are among the bytes that a guard replaces: under them nothing may change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable

import gdb

from gdbcuda.live.threads import call_registers, positions

TRAP_TRACE = 2  # siginfo's si_code behind a single step (sigaction(2))
Call = tuple[int, int]  # gdb's number of the thread, stack pointer at the entry


class Inside:
    """``may_be``: whether a thread at that address is there, or on its way."""

    def __init__(self, may_be: Callable[[int], bool]) -> None:
        self.may_be = may_be
        self.calls: set[Call] = set()

    def __bool__(self) -> bool:
        return bool(self.calls)

    def __contains__(self, call: Call) -> bool:
        return call in self.calls

    def add(self, call: Call) -> None:
        self.calls.add(call)

    def discard(self, call: Call) -> None:
        self.calls.discard(call)

    def innermost(self, here: Call) -> Call | None:
        """The thread's call whose instructions have come to that stack pointer: they lower it."""
        thread, sp = here
        return min((call for call in self.calls if call[0] == thread and call[1] >= sp), default=None)

    def leave(self, here: Call) -> None:
        call = self.innermost(here)
        if call is not None:
            self.calls.discard(call)

    def look_again(self) -> None:
        """Forgets calls that have left their way: by the user's ``return`` or ``jump``, longjmp out of a handler."""
        for thread in {thread for thread, _ in self.calls}:
            self.forget(thread, positions.positions(thread))

    def forget_others(self, call: Call) -> None:
        """The same for the selected thread, which comes to the entry. How deep its stack is tells nothing: a handler
        may have one of its own."""
        if any(one[0] == call[0] and one != call for one in self.calls):
            self.forget(call[0], (positions.positions_here() or [positions.UNKNOWN])[1:])

    def forget(self, thread: int, where: Sequence[positions.Position] | None) -> None:
        if where is not None and positions.UNKNOWN not in where and not any(self.may_be(pc) for pc, _ in where):
            self.calls = {call for call in self.calls if call[0] != thread}


def here() -> Call:
    return call_registers.thread_number(), call_registers.current_stack_pointer()


def is_stepped() -> bool:
    """The stop is a step's, or it is not known."""
    try:
        siginfo = gdb.convenience_variable("_siginfo")  # a name would be looked up
        return siginfo is None or int(siginfo["si_code"]) == TRAP_TRACE
    except gdb.error:
        return True
