"""The open calls of one thread: which return at a place, and which have been left behind without returning.

A call is told by where it returns to and by the stack pointer after that. A stack grows downwards, so a call made
below another's stack pointer is inside it. At the same height and with the same way back it is a tail call, which ends
together with the other. What jumps and exceptions leave behind goes when they are seen; where they are not, when a
later call is above it. A call can be met twice at its first instruction: the debugger goes on from there once more
where a signal, or the end of another process, came in between. A thread that switches stacks (swapcontext) has a list
of open calls for each of them.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.calls.record import Call
from gdbcuda.data_classes import dataclass, field


class Open(NamedTuple):
    """A call that is not over: it returns to ``back`` with the stack pointer at ``sp``. ``raws`` are its arguments,
    ``moment`` is what else was in registers when it began."""

    call: Call
    function: api.Function
    raws: list[bytes | None]
    address: int  # where the function begins
    back: int
    sp: int
    moment: tuple[int, ...] = ()


@dataclass
class Stacks:
    """``calls`` are those of the stack that the thread is on, outermost first."""

    calls: list[Open] = field(default_factory=list)
    aside: dict[int, list[Open]] = field(default_factory=dict)  # of other stacks, by the stack pointer to go on at

    def left_by(self, address: int, back: int, sp: int, sees_jumps: bool = True) -> list[Open]:
        """A call begins: those that cannot be under way any more, innermost first. Where jumps go unseen, a function
        that is called again at the same height is not taken for a tail call of itself."""

        def is_inside(outer: Open) -> bool:
            if outer.sp != sp:
                return outer.sp > sp
            return outer.back == back and (sees_jumps or outer.address != address)

        lost = []
        while self.calls and not is_inside(self.calls[-1]):
            lost.append(self.calls.pop())
        return lost

    def is_met_again(self, address: int, back: int, sp: int, raws: list[bytes | None], moment: tuple[int, ...]) -> bool:
        """At a first instruction: the innermost call, which has not gone on from there?"""
        return bool(self.calls) and self.calls[-1][2:] == (raws, address, back, sp, moment)

    def is_in(self, address: int, back: int, sp: int) -> bool:
        """Is the innermost call this one?"""
        return bool(self.calls) and self.calls[-1][3:6] == (address, back, sp)

    def over(self, back: int, sp: int) -> tuple[list[Open], list[Open]]:
        """The thread is at a return address: the calls left behind, and those that return here (several after tail
        calls), each innermost first. None of either where no open call returns here."""
        lost, ended = [], []
        if any(one.sp == sp and one.back == back for one in self.calls):
            while self.calls[-1].sp < sp:
                lost.append(self.calls.pop())
            while self.calls and self.calls[-1].sp == sp and self.calls[-1].back == back:
                ended.append(self.calls.pop())
        return lost, ended

    def jump(self, sp: int) -> list[Open]:
        """The thread goes on at this height of its stack: what was called from there or further down is left."""
        lost = []
        while self.calls and self.calls[-1].sp <= sp:
            lost.append(self.calls.pop())
        return lost

    def switch(self, old: int | None, new: int, is_fresh: bool) -> list[Open]:
        """The thread goes on at the stack pointer ``new``, and may come back to ``old`` (None: never). A place that
        nobody has left, on a stack that is not fresh, is further up on this one. What is left for good is returned."""
        if new not in self.aside and not is_fresh:
            return self.jump(new)
        lost = self.calls[::-1] if old is None else []
        if old is not None:
            self.aside[old] = self.calls
        self.calls = self.aside.pop(new, [])
        return lost

    def without_callers(self, places: Set[int]) -> list[Open]:
        """Drops the calls that return to one of these places: nothing is there any more."""
        lost = [one for one in self.all() if one.back in places]
        for calls in [self.calls, *self.aside.values()]:
            calls[:] = [one for one in calls if one.back not in places]
        return lost

    def all(self) -> list[Open]:
        """Innermost first."""
        return [one for calls in [self.calls, *self.aside.values()] for one in reversed(calls)]
