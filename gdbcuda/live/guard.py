"""One guarded function, and what moves it between three states. The user's breakpoint, with its native condition, is
gdb's own all the time; only its location is switched off while nothing can get to it that has not been tested.

    resting   the function leads into the trampoline, the locations are off: a call that does not match stops nowhere
    awake     the locations are on: a call that has passed the test is on its way, or the user looks
    lifted    awake, and the function's own bytes are back: gdb steps, disassembles and breaks as if nothing was there

`Hit`, in the trampoline, wakes the guard; where the patch covers gdb's breakpoint it is lifted too, and the call goes
back to the entry. When no call is on its way any more, the guard rests again. At the user's stops it is lifted.

Other threads run meanwhile (gdb stops only the one that an event is about). So nothing is written over an instruction
that a thread may be about to execute: while the guard is lifted a breakpoint is on the first byte and one on each way
out, which is how it is known who is inside; and bytes change only behind the breakpoint on the first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Callable

import gdb

from gdbcuda import trampoline
from gdbcuda.detour import Detour, Refused
from gdbcuda.errors import Unreadable
from gdbcuda.live import breakpoints, confined, detour, returns, target

Call = tuple[int, int]  # gdb's number of the thread, stack pointer where the patch is
switching: list[Guard] = []  # what we switch is modified too
trash: list[gdb.Breakpoint] = []  # gdb may be walking its list: deleted at the next stop or prompt


class Watch(gdb.Breakpoint):
    """Internal, for it never stops: looks on."""

    def __init__(self, address: int, look: Callable[[], None]) -> None:
        super().__init__(f"*{address:#x}", internal=True)
        confined.confine(self)
        self.look = look

    def stop(self) -> bool:
        self.look()
        return False

    def switch(self, on: bool) -> None:
        if self.is_valid() and self.enabled != on:
            self.enabled = on


@dataclass
class Guard:
    """``members``: numbers of the breakpoints that share the patch; ``stop``: where their locations are.

    ``inside``: calls that are, or may be, between the patched instructions; ``armed``: calls that must come to a
    location that is on, and whether they have passed the test; ``skipped``: calls that the trampoline did not count,
    the guard being lifted."""

    function: int
    stop: int
    members: tuple[int, ...]
    detour: Detour
    trampoline: trampoline.Trampoline
    is_lifted: bool = True
    is_awake: bool = True
    is_proven: bool = False  # its code has been written, and read back
    inside: set[Call] = field(default_factory=set)
    armed: dict[Call, bool] = field(default_factory=dict)
    skipped: int = 0
    trouble: str = ""  # the function's code cannot be written: it stays as it is, and all calls stop in gdb

    def __post_init__(self) -> None:
        depths = self.detour.depths()
        self.hit = Watch(self.trampoline.hit, self.on_hit)
        self.gate = Watch(self.detour.patch, self.on_entry)
        self.exits = [Watch(at, partial(self.on_exit, depths[at])) for at in self.detour.exits()]
        self.arrival = self.gate if self.detour.covers_stop else Watch(self.stop, self.on_arrival)

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
        """What the trampoline has said of the call that the selected thread has at the location; None if it was not
        asked. (gdb evaluates the user's condition before it asks us, whose breakpoint is younger.)"""
        call = self.armed_call()
        if call is None:
            return None if self.detour.covers_stop else False
        return self.armed[call] or None

    # -- what follows from it

    def settle(self) -> None:
        """Rests, or comes as near to it as the calls on their way allow."""
        if self.is_lifted and not (self.inside or self.trouble or (self.detour.covers_stop and self.armed)):
            self.lower()
        if not self.is_lifted and not self.armed:
            self.rest()

    def wake(self) -> None:
        if self.is_awake:
            return
        self.is_awake = True
        if self.detour.covers_stop:
            self.lift()
        self.switch_locations(True)
        self.arrival.switch(True)

    def rest(self) -> None:
        if not self.is_awake:
            return
        self.is_awake = False
        self.switch_locations(False)
        if not self.detour.covers_stop:
            self.arrival.switch(False)

    def lift(self) -> None:
        """The function's own bytes. From the first line on nobody gets past the first of them unnoticed."""
        if self.is_lifted:
            return
        self.gate.switch(True)
        with suppress(Refused):  # it is unmapped, or the process is dying
            detour.write(self.detour.patch, self.detour.original, prove=False)
            if self.detour.covers_stop:
                detour.write(self.trampoline.lifted, b"\1", prove=False)
        for one in self.exits:
            one.switch(True)
        self.is_lifted = True

    def lower(self) -> None:
        """The jump to the trampoline. Nobody is inside; who is at the first byte comes to the one or the other."""
        try:
            if self.detour.covers_stop:
                self.switch_locations(False)
                detour.write(self.trampoline.lifted, b"\0", prove=False)
            detour.write(*self.detour.writes(self.trampoline.address)[-1], prove=not self.is_proven)
        except Refused as problem:
            self.trouble = str(problem)
            with suppress(Refused):  # gdb keeps what it has not written for the byte under its breakpoint
                detour.write(self.detour.patch, self.detour.original)
            self.switch_locations(True)
            return
        self.is_lifted, self.is_proven = False, True
        for one in (self.gate, *self.exits):
            one.switch(False)

    def switch_locations(self, on: bool) -> None:
        with quietly(self):
            for number in self.members:
                switch_location(number, self.stop, on)

    def watches(self) -> list[Watch]:
        return [self.hit, self.gate, self.arrival, *self.exits]

    # -- ends

    def take_back(self) -> None:
        """The function as it was, for good. What is left of the trampoline goes when no thread is in it."""
        self.wake()
        self.lift()
        self.drop()
        detour.take_back(self.detour, self.trampoline)

    def forget(self) -> None:
        """The process is gone, and with it what was patched. (Where it has executed another program, gdb may try to
        set breakpoints at the old addresses when one is switched on: ours first have to be off.)"""
        self.drop()
        with suppress(gdb.error):
            self.switch_locations(True)

    def undo_in_fork(self) -> None:
        """The same for another process, selected now, that has the patch from this one."""
        at, patched = self.detour.writes(self.trampoline.address)[-1]
        with suppress(Unreadable, Refused):
            if target.InferiorMemory().read(at, len(patched)) == patched:
                detour.write(at, self.detour.original)

    def drop(self) -> None:
        for one in self.watches():
            one.switch(False)
            trash.append(one)

    # -- all threads stand still

    def look_again(self) -> None:
        """Forgets calls that have left their way: by the user's ``return`` or ``jump``, longjmp out of a handler."""
        for thread in {thread for thread, _ in (*self.inside, *self.armed)}:
            where = detour.positions(thread)
            if where is None or detour.UNKNOWN in where:
                continue
            if not any(pc in self.detour.replaced for pc, _ in where):
                self.inside = {call for call in self.inside if call[0] != thread}
            if not any(self.is_on_the_way(pc) for pc, _ in where):
                self.armed = {call: tested for call, tested in self.armed.items() if call[0] != thread}

    def is_on_the_way(self, pc: int) -> bool:
        code = self.trampoline
        return self.function <= pc <= self.stop or code.address <= pc < code.address + len(code.raw)

    def let_pass(self, thread: int, pc: int, sp: int) -> None:
        """A thread goes on from where it was left; at the first byte gdb may step over the gate."""
        if pc in self.detour.replaced:
            self.lift()
            sp += self.detour.depths().get(pc, 0)
            self.inside.add((thread, sp))
        if self.detour.patch <= pc < self.stop:
            self.armed.setdefault((thread, sp), False)


def here() -> Call:
    return int(gdb.selected_thread().num), returns.current_stack_pointer()


@contextmanager
def quietly(guard: Guard) -> Iterator[None]:
    switching.append(guard)
    try:
        yield
    finally:
        switching.pop()


def switch_location(number: int, address: int, on: bool) -> None:
    breakpoint = by_number(number)
    if breakpoint is None:
        return
    for index, (found, enabled) in enumerate(places(breakpoint), 1):
        if found == address and enabled != on:
            breakpoints.switch(breakpoint, breakpoints.Location(index, found, enabled, ""), on)


def by_number(number: int) -> gdb.Breakpoint | None:
    return next((one for one in gdb.breakpoints() if one.number == number), None)


def places(breakpoint: gdb.Breakpoint) -> list[tuple[int, bool]]:
    """(address, enabled) of each location."""
    if hasattr(breakpoint, "locations"):  # gdb 13
        return [(one.address or 0, one.enabled) for one in breakpoint.locations]
    if breakpoint.type != gdb.BP_BREAKPOINT:
        return []
    return [(one.address, one.enabled) for one in breakpoints.parse_locations(breakpoint.number)]


def sweep() -> None:
    detour.show_original_code(False)
    while trash:
        one = trash.pop()
        if one.is_valid():
            one.delete()
