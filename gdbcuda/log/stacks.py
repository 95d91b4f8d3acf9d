"""The open calls of one thread: which return at a place, and which have been left behind without returning.

A call is told by where it returns to and by the stack pointer after that. A stack grows downwards, so a call made
below another's stack pointer is inside it, and one made above it shows that longjmp or an exception has left the other.
At the same height and with the same way back it is a tail call, which ends together with the other, unless the thread
has jumped meanwhile. A thread that switches stacks (swapcontext) has a list of open calls for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.log.record import Call


class Open(NamedTuple):
    """A call that is not over: it returns to ``back`` with the stack pointer at ``sp``. ``raws`` are its arguments."""

    call: Call
    function: api.Function
    raws: list[bytes | None]
    address: int  # where the function begins
    back: int
    sp: int


@dataclass
class Stacks:
    """``calls`` are those of the stack that the thread is on, outermost first."""

    calls: list[Open] = field(default_factory=list)
    aside: dict[int, list[Open]] = field(default_factory=dict)  # of other stacks, by the stack pointer to go on at
    jumped: bool = False

    def left_by(self, address: int, back: int, sp: int, sees_jumps: bool = True) -> list[Open]:
        """A call begins: those that cannot be under way any more, innermost first. Where jumps go unseen, a function
        that is called again at the same height is not taken for a tail call of itself."""
        lost = []
        while self.calls and not self.is_below(self.calls[-1], address, back, sp, sees_jumps):
            lost.append(self.calls.pop())
        self.jumped = False
        return lost

    def is_below(self, outer: Open, address: int, back: int, sp: int, sees_jumps: bool) -> bool:
        if outer.sp != sp:
            return outer.sp > sp
        return outer.back == back and not self.jumped and (sees_jumps or outer.address != address)

    def over(self, back: int, sp: int) -> tuple[list[Open], list[Open]]:
        """The thread is at a return address: the calls left behind, and those that return here (several after tail
        calls), each innermost first. None of either where no open call returns here."""
        lost, ended = [], []
        if any(one.sp == sp and one.back == back for one in self.calls):
            while self.calls[-1].sp < sp:
                lost.append(self.calls.pop())
            while self.calls and self.calls[-1].sp == sp and self.calls[-1].back == back:
                ended.append(self.calls.pop())
            self.jumped = False
        return lost, ended

    def switch(self, old: int | None, new: int, is_fresh: bool) -> list[Open]:
        """The thread goes on at the stack pointer ``new``, and may come back to ``old`` (None: never). What will never
        be gone on with is returned. A place on a stack that nobody has left is a jump, if the stack is not fresh."""
        if new not in self.aside and not is_fresh:
            self.jumped = True
            return []
        lost = []
        if old is None:
            lost = self.calls[::-1]
        else:
            self.aside[old] = self.calls
        self.calls = self.aside.pop(new, [])
        return lost

    def all(self) -> list[Open]:
        """Innermost first."""
        return [one for calls in [self.calls, *self.aside.values()] for one in reversed(calls)]
