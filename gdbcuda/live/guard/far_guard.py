"""A guard in a process that stands still whenever gdb looks, as one at the far end of a link does.

Each look is made of packets there, and so is each breakpoint, so there are few of both: ours are in the function only
while it is raised. The code is written through gdb, like all memory there. So where gdb's own breakpoint is among the
replaced bytes (optimised code), its location is off while the guard is lowered and the program runs.
"""

from __future__ import annotations

from contextlib import suppress

import gdb

from gdbcuda.data_classes import dataclass
from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.breakpoints import locations
from gdbcuda.live.guard import forks
from gdbcuda.live.guard.guard import FOREIGN, Guard
from gdbcuda.live.guard.watch import switch_locations
from gdbcuda.live.host import inferiors
from gdbcuda.live.patching import detours, own_instructions
from gdbcuda.live.placing import link, own_process
from gdbcuda.machine.detour import NoDetour


@dataclass
class RemoteGuard(Guard):
    """``is_veiled``: the function's own bytes are there for gdb to look at, though the guard is lowered. ``is_sure``:
    nothing has run since we have seen what is there, and changed it."""

    is_veiled: bool = False
    is_sure: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        process.PATCHED()[self.function] = self.detour.original
        own_instructions.hide(self.function, self.jump(), self.detour.original)
        self.watch(False)

    def ways_out(self) -> tuple[int, ...]:
        """(Of one instruction there is no inside: who is at it comes to the jump or to the instruction.)"""
        return self.detour.leaving if self.detour.boundaries else ()

    # -- what the user does

    def stand(self, pc: int) -> None:
        super().stand(pc)
        self.switch_locations(True)

    def begin(self) -> None:
        """(Each call may match: then gdb's own breakpoint is all that it takes.)"""
        if not self.detour.stops_inside:
            super().begin()
        self.watch_while_raised()

    def lift(self) -> None:
        was_lowered = self.is_lowered
        super().lift()
        self.is_sure = was_lowered and not self.trouble

    def go_on(self, thread: int, pc: int, sp: int) -> None:
        """Who stands in the function steps out of it, not into it. Where he is to execute one of the replaced
        instructions it has to be there."""
        self.veil()
        if pc == self.stop and self.detour.stops_inside:
            self.is_shown = True
        elif process.function_start(pc) == self.function:
            self.is_shown = False
        super().go_on(thread, pc, sp)
        self.switch_locations(not self.is_lowered)
        self.watch_while_raised()
        self.is_sure = False

    def watch_while_raised(self) -> None:
        """A call that was inside as the guard was made keeps it raised: those that come meanwhile are inside too, and
        the jump must wait for them as well."""
        if not self.is_lowered:
            self.watch(True)

    def unveil(self) -> None:
        """Until the program goes on, or the loader has told of all objects."""
        if self.is_lowered and not self.is_veiled:
            self.is_veiled = self.is_sure = self.write(self.jump(), self.detour.original)

    def veil(self) -> None:
        """(Where gdb has made the locations anew, they were chosen anew too: one is on again, among these bytes.)"""
        if self.is_veiled:
            self.is_veiled = False
            self.switch_locations(False)
            if not self.write(self.detour.original, self.jump()):
                self.is_lowered = False
            self.is_sure = False

    # -- what is really there

    def lower(self) -> None:
        if self.is_lowered or not forks.is_going_on():
            super().lower()

    def take_jump(self) -> bool:
        """It stands there. (Lowered already where gdb's own breakpoint was at the entry.)"""
        if self.is_lowered:
            self.watch(False)
        self.lower()
        return self.is_lowered

    def write_jump(self) -> bool:
        self.switch_locations(False)
        if not self.clear() or not self.write(self.detour.original, self.jump()):
            self.switch_locations(True)
            self.watch(True)
            return False
        self.watch(False)
        return True

    def clear(self) -> bool:
        """Of our breakpoints only the entry's is left among the replaced bytes. Under any other the far end of the link
        would keep the byte of the jump to itself: in the process it stays an int3. (One of a guard that has gone may be
        left, where gdb could not say whether it is to go while threads run.)"""
        for one in self.cover[1:]:
            one.switch(False)
        return not own_process.is_one_on(self.detour.replaced[1:])

    def raise_(self) -> None:
        if self.is_lowered and not self.is_veiled:
            self.write(self.jump(), self.detour.original)
        self.is_lowered = self.is_veiled = False
        self.switch_locations(True)
        self.watch(True)

    def write(self, there: bytes, wanted: bytes) -> bool:
        """If ``there`` is what is there. It may have been unmapped, and the process may be dying."""
        try:
            is_sure = self.is_sure or link.trusts_files()
            if not is_sure and process.InferiorMemory().read(self.function, len(there)) != there:
                self.trouble = FOREIGN
                return False
            detours.write(self.function, wanted, prove=False)
        except Unreadable:
            return False
        except NoDetour as problem:
            self.trouble = str(problem)
            with suppress(NoDetour):  # gdb keeps what it has not written for the byte under its breakpoint
                detours.write(self.function, there)
            return False
        return True

    def watch(self, is_raised: bool) -> None:
        """With what there has to be now: of a call that is inside, each step. Nothing among somebody else's bytes. (Who
        was in the trampoline when the guard was raised comes out of it like any other.)"""
        is_raised = is_raised and not self.trouble
        entry, *boundaries = self.cover
        entry.switch(is_raised)
        for one in (*boundaries, *self.leaving):
            one.switch(is_raised and bool(self.inside))
        for one in self.hit:
            one.switch(not self.trouble)

    def switch_locations(self, on: bool) -> None:
        if self.detour.stops_inside:
            switch_locations(self.members, self.stop, on)

    # -- ends

    def retire(self) -> None:
        """(Its breakpoints are off at once: the next guard's jump must not be written below them, and a child that is
        about to be made must not have them.)"""
        process.PATCHED().pop(self.function)
        super().retire()
        for one in self.watches():
            one.switch(False)

    def forget(self) -> None:
        """(Where the process has executed another program, gdb may try to set breakpoints at the old addresses when one
        is switched on: ours first have to be off.)"""
        process.PATCHED().pop(self.function)
        super().forget()
        with suppress(gdb.error):
            if inferiors.selected_thread() is not None or not locations.LISTS:
                self.switch_locations(True)

    def undo_in_fork(self) -> None:
        with suppress(Unreadable, NoDetour):
            if process.InferiorMemory().read(self.function, len(self.jump())) == self.jump():
                detours.write(self.function, self.detour.original)
