"""A guard whose process stands still whenever gdb looks, as one at the far end of a link does: each look is made of
packets, and so is each breakpoint, so there are few of both.

It stays as the user saw it when he goes on: a call that matches then costs what gdb's own breakpoint costs. The first
call that does not match, and only that, is a look: where no other thread is in the way, the guard rests from then on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import gdb

from gdbcuda.live import detour
from gdbcuda.live.detour import Position
from gdbcuda.live.guard import Guard
from gdbcuda.live.guard_watch import by_number


@dataclass
class StandingGuard(Guard):
    """``tested``: threads whose call has passed the test in the process and has not come to the location yet;
    ``hits``: of its breakpoints, as many as gdb has counted; ``only_shown``: it rested until the user stopped."""

    tested: set[int] = field(default_factory=set)
    hits: int = 0
    only_shown: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.hit.switch(False)
        self.has_matched()

    # -- what the breakpoints see

    def on_hit(self) -> None:
        self.tested.add(gdb.selected_thread().num)
        self.wake()

    def on_arrival(self) -> None:
        thread = gdb.selected_thread().num
        is_match = self.has_matched() or thread in self.tested
        self.tested.discard(thread)
        if not (is_match or self.trouble) and self.is_alone():
            self.settle()

    def has_matched(self) -> bool:
        """Has gdb counted a hit since the last time? It has asked the condition before it asks us."""
        before, self.hits = self.hits, sum(one.hit_count for one in map(by_number, self.members) if one is not None)
        return self.hits != before

    def is_alone(self) -> bool:
        """The call that the selected thread has at the location, on its way and in the patched instructions."""
        selected = gdb.selected_thread().num
        for thread, positions in detour.standing().items():
            if positions is None or any(map(self.is_in_the_way, positions[thread == selected :])):
                return False
        return True

    def is_in_the_way(self, position: Position) -> bool:
        return position[0] in self.detour.changed or self.is_on_the_way(position[0])

    # -- what the user does

    def stand(self) -> None:
        self.only_shown = not self.is_awake
        super().stand()

    def go_on(self, thread: int, pc: int, sp: int) -> None:
        if self.only_shown and pc not in self.detour.replaced and not self.is_on_the_way(pc):
            self.settle()

    # -- what follows from it

    def settle(self) -> None:
        if self.is_lifted:
            self.lower()
        if not self.is_lifted:
            self.rest()

    def wake(self) -> None:
        super().wake()
        self.hit.switch(False)

    def rest(self) -> None:
        super().rest()
        self.hit.switch(True)
