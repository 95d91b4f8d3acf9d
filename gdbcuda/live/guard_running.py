"""A guard whose process runs on while gdb looks: natively gdb stops only the thread that an event is about.

While the guard is lifted a breakpoint is on the first byte and one on each way out, which is how it is known who is
inside; and bytes change only behind the breakpoint on the first one. Each call is told from the others, so these guards
count too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from gdbcuda.live import calling, positions
from gdbcuda.live.guard import Guard
from gdbcuda.live.guard_watch import Watch

Call = tuple[int, int]  # gdb's number of the thread, stack pointer where the patch is


@dataclass
class RunningGuard(Guard):
    """``inside``: calls that are, or may be, between the patched instructions; ``armed``: calls that must come to a
    location that is on, and whether they have passed the test."""

    inside: set[Call] = field(default_factory=set)
    armed: dict[Call, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        depths = self.detour.depths()
        self.hit = Watch(self.trampoline.hit, self.on_hit)
        self.gate = Watch(self.detour.patch, self.on_entry)
        self.exits = [Watch(at, partial(self.on_exit, depths[at])) for at in self.detour.exits()]
        self.arrival = self.gate if self.detour.covers_stop else Watch(self.stop, self.on_arrival)

    def watches(self) -> list[Watch]:
        return [self.hit, self.gate, self.arrival, *self.exits]

    # -- what the breakpoints see

    def on_hit(self) -> None:
        self.armed[here()] = True
        self.wake()

    def on_entry(self) -> None:
        call = here()
        self.inside.add(call)
        if self.detour.covers_stop:
            self.skipped += not self.armed.pop(call, False)
        else:
            self.armed[call] = False
            self.skipped += 1

    def on_exit(self, depth: int) -> None:
        thread, sp = here()
        self.inside.discard((thread, sp + depth))
        self.settle()

    def on_arrival(self) -> None:
        call = self.armed_call()
        if call is not None:
            del self.armed[call]
        self.settle()

    def armed_call(self) -> Call | None:
        """The armed call that the selected thread has at the location."""
        thread, sp = here()
        return min((call for call in self.armed if call[0] == thread and call[1] >= sp), default=None)

    def verdict(self) -> bool | None:
        call = self.armed_call()
        if call is None:
            return None if self.detour.covers_stop else False
        return self.armed[call] or None

    # -- what the user does

    def stand(self, pc: int) -> None:
        super().stand(pc)
        self.look_again()

    def go_on(self, thread: int, pc: int, sp: int) -> None:
        self.let_pass(thread, pc, sp)
        if not self.detour.covers_stop and not self.inside and self.is_lifted:
            self.lower()

    def look_again(self) -> None:
        """Forgets calls that have left their way: by the user's ``return`` or ``jump``, longjmp out of a handler."""
        for thread in {thread for thread, _ in (*self.inside, *self.armed)}:
            where = positions.positions(thread)
            if where is None or positions.UNKNOWN in where:
                continue
            if not any(pc in self.detour.replaced for pc, _ in where):
                self.inside = {call for call in self.inside if call[0] != thread}
            if not any(self.is_on_the_way(pc) for pc, _ in where):
                self.armed = {call: tested for call, tested in self.armed.items() if call[0] != thread}

    def let_pass(self, thread: int, pc: int, sp: int) -> None:
        """A thread goes on from where it was left; at the first byte gdb may step over the gate."""
        if pc in self.detour.replaced:
            self.lift()
            sp += self.detour.depths().get(pc, 0)
            self.inside.add((thread, sp))
        if self.detour.patch <= pc < self.stop:
            self.armed.setdefault((thread, sp), False)

    # -- what follows from it

    def settle(self) -> None:
        """Rests, or comes as near to it as the calls on their way allow."""
        if self.is_lifted and not (self.inside or self.trouble or (self.detour.covers_stop and self.armed)):
            self.lower()
        if not self.is_lifted and not self.armed:
            self.rest()

    def watch_arrivals(self, on: bool) -> None:
        if not self.detour.covers_stop:  # else it is the gate
            self.arrival.switch(on)

    def lift(self) -> None:
        """From the first line on nobody gets past the first byte unnoticed."""
        if self.is_lifted:
            return
        self.gate.switch(True)
        super().lift()
        for one in self.exits:
            one.switch(True)

    def lower(self) -> None:
        super().lower()
        if not self.is_lifted:
            for one in (self.gate, *self.exits):
                one.switch(False)


def here() -> Call:
    return calling.thread_number(), calling.current_stack_pointer()
