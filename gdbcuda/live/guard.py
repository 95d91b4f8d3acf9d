"""One guarded function, and what moves it between three states. The user's breakpoint, with its native condition, is
gdb's own all the time; only its location is switched off while nothing can get to it that has not been tested.

    resting   the function leads into the trampoline, the locations are off: a call that does not match stops nowhere
    awake     the locations are on: a call that has passed the test is on its way, or the user looks
    lifted    awake, and the function's own bytes are back: gdb steps, disassembles and breaks as if nothing was there

`hit`, in the trampoline, wakes the guard; where the patch covers gdb's breakpoint it is lifted too, and the call goes
back to the entry. When no call is on its way any more, the guard rests again. The user sees it lifted.

Nothing is written over an instruction that a thread may be about to execute. How that is known depends on whether the
other threads run while gdb looks (`guard_running`) or not (`guard_standing`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import gdb

from gdbcuda import trampoline
from gdbcuda.detour import Detour, Refused
from gdbcuda.errors import Unreadable
from gdbcuda.live import detour, room, target
from gdbcuda.live.guard_watch import Watch, quietly, switch_location, trash


@dataclass
class Guard:
    """``members``: numbers of the breakpoints that share the patch; ``stop``: where their locations are.

    ``skipped``: calls that the trampoline did not count, the guard being lifted. It begins lifted."""

    function: int
    stop: int
    members: tuple[int, ...]
    detour: Detour
    trampoline: trampoline.Trampoline
    is_lifted: bool = True
    is_awake: bool = True
    skipped: int = 0
    trouble: str = ""  # the function's code cannot be written: it stays as it is, and all calls stop in gdb

    def __post_init__(self) -> None:
        self.hit = Watch(self.trampoline.hit, self.on_hit)
        self.arrival = Watch(self.stop, self.on_arrival)

    # -- what the breakpoints see

    def on_hit(self) -> None:
        """A call has passed the test."""
        raise NotImplementedError

    def on_arrival(self) -> None:
        """A call is at the location, which is on."""
        raise NotImplementedError

    def verdict(self) -> bool | None:
        """What the trampoline has said of the call that the selected thread has at the location; None if it was not
        asked, or did not count. (gdb evaluates the user's condition before it asks us, whose breakpoint is younger.)"""
        return None

    # -- what the user does

    def stand(self, pc: int) -> None:
        """The user's stop, at ``pc`` of the selected thread: breakpoints look as he left them."""
        self.wake()

    def go_on(self, thread: int, pc: int, sp: int) -> None:
        """The program goes on; there the selected thread is."""

    def let_pass(self, thread: int, pc: int, sp: int) -> None:
        """The thread is there while the guard is made."""

    def begin(self) -> None:
        """It is made while the program runs, in an object that has just been loaded."""

    # -- what follows from it

    def wake(self) -> None:
        if self.is_awake:
            return
        self.is_awake = True
        if self.detour.covers_stop:
            self.lift()
        self.switch_locations(True)
        self.watch_arrivals(True)

    def rest(self) -> None:
        if not self.is_awake:
            return
        self.is_awake = False
        self.switch_locations(False)
        self.watch_arrivals(False)

    def watch_arrivals(self, on: bool) -> None:
        self.arrival.switch(on)

    def lift(self) -> None:
        """The function's own bytes."""
        if self.is_lifted:
            return
        with suppress(Refused):  # it is unmapped, or the process is dying
            detour.write(self.detour.patch, self.detour.original, prove=False)
        self.is_lifted = True

    def lower(self) -> None:
        """The jump to the trampoline. Nobody is inside; who is at the first byte comes to the one or the other."""
        try:
            if self.detour.covers_stop:
                self.switch_locations(False)
            detour.write(*self.jump(), prove=False)
        except Refused as problem:
            self.trouble = str(problem)
            with suppress(Refused):  # gdb keeps what it has not written for the byte under its breakpoint
                detour.write(self.detour.patch, self.detour.original)
            self.switch_locations(True)
            return
        self.is_lifted = False

    def jump(self) -> tuple[int, bytes]:
        return self.detour.writes(self.trampoline.address)[-1]

    def switch_locations(self, on: bool) -> None:
        with quietly():
            for number in self.members:
                switch_location(number, self.stop, on)

    def watches(self) -> list[Watch]:
        return [self.hit, self.arrival]

    def is_on_the_way(self, pc: int) -> bool:
        """To the location."""
        code = self.trampoline
        return self.function <= pc <= self.stop or code.address <= pc < code.address + len(code.raw)

    # -- ends

    def take_back(self) -> None:
        """The function as it was, for good. What is left of the trampoline goes when no thread is in it."""
        self.wake()
        self.lift()
        self.drop()
        target.PATCHED().pop(self.detour.patch, None)
        room.take_back(self.detour, self.trampoline)

    def forget(self) -> None:
        """The process is gone, and with it what was patched. (Where it has executed another program, gdb may try to
        set breakpoints at the old addresses when one is switched on: ours first have to be off.)"""
        self.drop()
        with suppress(gdb.error):
            if gdb.selected_thread() is not None:
                gdb.newest_frame()  # fails as gdb 10's execute would after an exec, which ends the user's continue too
            self.switch_locations(True)

    def undo_in_fork(self) -> None:
        """The same for another process, selected now, that has the patch from this one."""
        at, patched = self.jump()
        with suppress(Unreadable, Refused):
            if target.InferiorMemory().read(at, len(patched)) == patched:
                detour.write(at, self.detour.original)

    def drop(self) -> None:
        for one in self.watches():
            one.switch(False)
            trash.append(one)
