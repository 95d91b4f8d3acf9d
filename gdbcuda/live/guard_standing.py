"""A guard whose process stands still whenever gdb looks, as one at the far end of a link does: each look is made of
packets, and so is each breakpoint, so there are few of both.

A call that matches has the process for itself from `hit` until it is at the location, so that no other goes by unseen;
and where that is among the patched instructions, until it is out of them. Otherwise nobody is between them, and the
guard rests while the program runs. Optimised code, whose bytes have to be changed for every stop, stays lifted until
the first call that does not match.

Where the user has stepped around in the first instructions, or gdb cannot hold threads, it is not known any more who is
there (`is_open`): then all threads are asked where they are, at each call that does not match.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import gdb

from gdbcuda.live import holding, positions
from gdbcuda.live.breakpoints import by_number
from gdbcuda.live.guard import Guard
from gdbcuda.live.guard_watch import Watch


@dataclass
class StandingGuard(Guard):
    """``tested``: threads whose call has passed the test in the process and has not come to the location yet;
    ``hits``: of its breakpoints, as many as gdb has counted; ``all_match``: there was no call yet that does not;
    ``shown``: threads that have stopped at the location for the user, and not gone on since."""

    tested: set[int] = field(default_factory=set)
    hits: int = 0
    is_open: bool = False
    all_match: bool = True
    shown: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__post_init__()
        covered = self.detour.exits() if self.detour.covers_stop else []
        self.exits = [Watch(at, self.on_exit) for at in covered]
        self.switch_exits(False)
        self.hit.switch(False)
        self.has_matched()

    def watches(self) -> list[Watch]:
        return [*super().watches(), *self.exits]

    # -- what the breakpoints see

    def on_hit(self) -> None:
        self.tested.add(gdb.selected_thread().num)
        self.wake()
        if holding.hold():
            self.hit.switch(False)

    def on_arrival(self) -> None:
        holding.release()
        thread = gdb.selected_thread().num
        is_match = self.has_matched() or thread in self.tested
        self.tested.discard(thread)
        if not self.is_lifted:
            if not self.tested:
                self.rest()
        elif is_match and self.exits:
            self.let_out()
        else:
            self.all_match = self.all_match and is_match
            if not self.is_open or self.is_alone():
                self.settle()

    def let_out(self) -> None:
        """The call goes on at the location, if the user does not stop there, or in front of it."""
        self.is_open = self.is_open or not holding.hold()
        self.switch_exits(not self.is_open)

    def on_exit(self) -> None:
        holding.release()
        self.switch_exits(False)
        if not self.all_match:
            self.settle()

    def has_matched(self) -> bool:
        """Has gdb counted a hit since the last time? It has asked the condition before it asks us."""
        before, self.hits = self.hits, sum(one.hit_count for one in map(by_number, self.members) if one is not None)
        return self.hits != before

    def is_alone(self) -> bool:
        """The call that the selected thread has at the location. In front of optimised code's there is nothing."""
        in_the_way = self.detour.changed.__contains__ if self.detour.covers_stop else self.is_on_the_way
        selected = gdb.selected_thread().num
        for thread, found in positions.standing().items():
            if found is None or any(in_the_way(pc) for pc, _ in found[thread == selected :]):
                return False
        return not self.tested and gdb.parameter(holding.SETTING) != "on"

    def is_between(self, pc: int) -> bool:
        """The first byte and the location, or on the way there."""
        return pc in self.detour.replaced or (self.is_on_the_way(pc) and pc != self.stop)

    # -- what the user does

    def stand(self, pc: int) -> None:
        if holding.release() and pc != self.stop and not self.is_between(pc):
            self.is_open = self.is_lifted
        self.switch_exits(False)
        if pc == self.stop and self.detour.covers_stop:
            self.shown.add(gdb.selected_thread().num)
        super().stand(pc)

    def go_on(self, thread: int, pc: int, sp: int) -> None:
        self.is_open = self.is_open or not self.shown <= {thread}  # gdb takes them over the location by itself
        self.shown.clear()
        if self.is_open or self.tested:
            return
        if self.is_lifted and (self.is_between(pc) or (pc == self.stop and self.exits)):
            self.let_out()
        elif not (self.all_match and self.detour.covers_stop):
            self.settle()

    def let_pass(self, thread: int, pc: int, sp: int) -> None:
        self.is_open = self.is_open or self.is_between(pc)

    def begin(self) -> None:
        if not (self.is_open or self.detour.covers_stop):
            self.settle()

    # -- what follows from it

    def settle(self) -> None:
        if self.is_lifted and not self.trouble:
            self.lower()
        if not self.is_lifted:
            self.is_open = False
            self.rest()

    def rest(self) -> None:
        super().rest()
        self.hit.switch(True)

    def switch_exits(self, on: bool) -> None:
        for one in self.exits:
            one.switch(on)
