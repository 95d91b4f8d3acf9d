"""A guard in a process of this machine, whose other threads run on while gdb looks at one.

Each byte of the entry's jump has a breakpoint of ours that never stops. For gdb an int3 is there, with the function's
own byte below it; what is really there we write past gdb, through /proc/PID/mem:

    lowered   the jump
    raised    int3 where an instruction begins, the function's own bytes between

Where gdb steps in place it takes out the int3 at that instruction alone. So those between are off there wherever gdb
puts all of them in (``are_between``), and come when the jump does.

gdb's table of breakpoints stays as it is from one stop of the user's to the next. That is why the child of a fork is
unharmed, whenever gdb comes to hear of it: gdb puts the function's own bytes back in it, as it does where it detaches.
"""

from __future__ import annotations

from contextlib import suppress

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.breakpoints import uprobes
from gdbcuda.live.guard.guard import FOREIGN, Guard
from gdbcuda.live.guard.inside import here, is_stepped
from gdbcuda.live.guard.watch import leave_to_children, mending, quietly
from gdbcuda.live.placing import inserted, witness
from gdbcuda.live.stopping import counting
from gdbcuda.live.threads import standstill

INT3 = 0xCC
UNLOADED = "its function is not where it was"
CAN_JUMP = [True]  # until this gdb has failed to


class NativeGuard(Guard):
    """``own``: by address, the function's own bytes."""

    def __post_init__(self) -> None:
        leaving = {at: process.InferiorMemory().read(at, 1)[0] for at in self.detour.leaving}
        self.own = {**leaving, **dict(zip(self.detour.replaced, self.detour.original))}
        super().__post_init__()
        self.are_between = True
        witness.want()

    def between(self) -> list[int]:
        found = self.detour
        return [at for at in found.replaced if at not in (found.function, *found.boundaries)]

    def verdict(self) -> bool | None:
        """(Other threads add to the number meanwhile, which gdb cannot: a call at the entry is sent through the
        trampoline, and asked for again where that lets it pass.)"""
        self.put_off, found = None, super().verdict()
        is_sent = found is None and self.stop == self.function and not self.trouble and CAN_JUMP[0]
        if not is_sent or is_stepped():
            return found
        self.put_off, self.left_to_gdb = self.left_to_gdb, None
        return False

    def on_entry(self) -> None:
        """(Behind a vfork gdb has put its int3s over the jump.)"""
        self.is_lowered = self.is_lowered and not self.is_covered()
        super().on_entry()

    def is_covered(self) -> bool:
        memory = process.raw_memory()
        with suppress(Unreadable):
            return memory is not None and memory.read(self.function, 1)[0] == INT3
        return False

    def begin(self) -> None:
        """Where gdb is yet to put its int3s, who comes to the first lowers the guard: gdb has to find the function's
        own bytes."""
        if inserted.now():
            super().begin()
        elif standstill.steps_in_place():
            self.put_between(False)

    def rest(self) -> None:
        """gdb has put an int3 on every byte of a new guard. A thread that stands on the first would step onto the
        second, where gdb steps over a breakpoint in place."""
        if not self.is_lowered and not self.trouble and inserted.always():
            self.put_between(True)
            self.raise_()

    def lift(self) -> None:
        self.is_shown = True
        if inserted.now():
            self.raise_()

    def go_on(self, thread: int, pc: int, sp: int) -> None:
        self.is_lowered = self.is_lowered and inserted.always()
        self.is_shown = self.is_shown or not inserted.always()
        if standstill.steps_in_place():
            self.before_step(pc)
        super().go_on(thread, pc, sp)
        self.rest()

    def before_step(self, pc: int) -> None:
        """gdb is about to take out its breakpoint at ``pc``, if there is one, and no other."""
        if not inserted.always():
            self.put_between(False)
        elif pc == self.function:
            self.lift()

    def let_pass(self, thread: int, pc: int, sp: int) -> None:
        super().let_pass(thread, pc, sp)
        if self.leaving and standstill.steps_in_place() and self.is_inside(pc):
            self.inside.add((thread, sp))

    def put_between(self, on: bool) -> None:
        """gdb's breakpoints at replaced bytes where no instruction begins."""
        if self.are_between != on:
            self.are_between = on
            with quietly():
                for one in self.cover[1 + len(self.detour.boundaries) :]:
                    if one.is_valid():
                        one.enabled = on

    # -- what is really there

    def take_jump(self) -> bool:
        """(Some gdbs cannot write registers on some CPUs.)"""
        try:
            process.set_register("pc", self.trampoline.address)
        except gdb.error:
            CAN_JUMP[0] = False
            if self.put_off == here():
                counting.one_more(self.members[0])
            return False
        self.lower()
        return True

    def write_jump(self) -> bool:
        first = {at: self.own[at] for at in self.detour.hidden}
        jump = list(zip(self.detour.replaced, self.jump()))
        self.put_between(True)
        return self.put({**first, **dict(reversed(jump))})

    def raise_(self) -> None:
        self.look_for_uprobe()
        found = self.detour
        traps = dict.fromkeys([found.function, *found.boundaries, *found.hidden], INT3)
        if self.put({**traps, **{at: self.own[at] for at in found.replaced if at not in traps}}):
            self.is_lowered = False

    def look_for_uprobe(self) -> None:
        """The program may be here because of it."""
        memory, jump = process.raw_memory(), self.jump()
        with suppress(Unreadable):
            if self.is_lowered and self.members and memory is not None:
                there = memory.read(self.function, len(jump))
                uprobes.tell_of_jump(self.members[0], self.function, there, jump, self.detour.original)

    def put(self, wanted: dict[int, int]) -> bool:
        """Writes these bytes, in this order, past gdb; False where what is there is not ours."""
        if self.trouble == FOREIGN:
            self.leave_alone()
            return False
        memory = process.raw_memory()
        if witness.are_out():  # the function's own bytes are there
            self.is_lowered = False
            return False
        try:
            if memory is None:
                raise Unreadable(self.function, 1)
            there = {at: memory.read(at, 1)[0] for at in wanted}
            if not self.are_ours(there):
                self.trouble = FOREIGN
                self.leave_alone()
                return False
            for at, byte in wanted.items():
                if there[at] != byte:
                    memory.write(at, bytes([byte]))
        except Unreadable:
            self.trouble = UNLOADED
            return False
        return True

    def are_ours(self, there: dict[int, int]) -> bool:
        jump = dict(zip(self.detour.replaced, self.jump()))
        return all(byte in (INT3, self.own[at], jump.get(at, INT3)) for at, byte in there.items())

    # -- ends

    def put_back(self) -> None:
        """As gdb believes that it is: its own breakpoint stays, ours put the function's bytes back as they go."""
        if inserted.now():
            super().put_back()

    def mend(self) -> None:
        """Of a guard that has gone, if nobody has written there since gdb has: the next guard may have."""
        memory = process.raw_memory()
        with suppress(Unreadable):
            if memory is not None and all(memory.read(at, 1)[0] == INT3 for at in self.detour.replaced):
                self.raise_()

    def leave_alone(self) -> None:
        """Somebody else's bytes are there now: gdb learns them as those below its breakpoints, or it would put the
        function's own back. He may put back what he has found, our jump or our int3s, below which are the function's.
        They may lead to our trampoline still, which stays."""
        memory, found = process.raw_memory(), dict(self.own)
        if self.hit and not self.let_all_pass():
            found[self.trampoline.hit] = INT3
        if memory is None:
            return
        for at, own in found.items():
            with suppress(Unreadable, gdb.error):
                byte = memory.read(at, 1)
                gdb.selected_inferior().write_memory(at, byte if byte[0] != INT3 else bytes([own]))
                memory.write(at, byte)

    def let_all_pass(self) -> bool:
        """Who still comes to the trampoline. False where that is not there: unmapped, with what it was in."""
        code, wanted = self.trampoline, self.trampoline.passing_on()
        ours = code.raw[code.hit - code.address :][: len(wanted)]
        with suppress(Unreadable, gdb.error):
            there = process.InferiorMemory().read(code.hit, len(wanted))
            if there == ours:
                gdb.selected_inferior().write_memory(code.hit, wanted)
            return there in (ours, wanted)
        return False

    def stand(self, pc: int) -> None:
        """(Else gdb has taken out what it had put in.)"""
        self.is_lowered = self.is_lowered and inserted.always()
        super().stand(pc)
        if self.trouble == FOREIGN:
            self.leave_alone()

    def retire(self) -> None:
        """gdb's table is as it was until the next stop; a child that is made meanwhile needs the function's bytes, and
        who comes to the entry too: the program may be about to go on, and gdb to put all of its int3s there."""
        super().retire()
        if self.trouble == FOREIGN:
            self.leave_alone()
            for one in (*self.cover, *self.leaving):
                one.look = self.leave_alone
            return
        if not self.trouble:
            mending.append(self.mend)
            for one in self.cover:
                one.look = self.mend
        leave_to_children({at: bytes([byte]) for at, byte in self.own.items()})
