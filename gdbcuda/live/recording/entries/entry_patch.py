"""The entry of one function that jumps to the recorder. (gdb manual: "Inferiors In Python"; proc(5): /proc/PID/mem.)"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import suppress

import gdb

from gdbcuda.calls.missing import GAVE_WAY, OVERWRITTEN, WAS_ENTERED, WAS_LEFT
from gdbcuda.data_classes import dataclass
from gdbcuda.elf.code.probed_jump import INT3, is_int3_in_jump, without_jump
from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.patching import own_instructions
from gdbcuda.live.threads import children


@dataclass
class EntryPatch:
    """``is_foreign``: somebody else has written there; ``has_run``: threads have run while the own bytes were there;
    ``gave_way``: they have, as a breakpoint is among the bytes of the jump; ``was_entered``: or as a thread stood
    there; ``was_probed``: a uprobe was put on the jump; ``was_overwritten``: other bytes than ours were found, of which
    nobody knows where they lead; ``was_left``: to a hook library's jump; ``may_miss``: calls, since somebody asked."""

    address: int
    own: bytes
    jump: bytes
    is_written: bool = False
    is_foreign: bool = False
    has_run: bool = True
    gave_way: bool = False
    was_entered: bool = False
    was_probed: bool = False
    was_overwritten: bool = False
    was_left: bool = False
    may_miss: bool = False

    @property
    def inside(self) -> range:
        """Behind the first byte."""
        return range(self.address + 1, self.address + len(self.jump))

    def missing(self) -> Iterator[str]:
        """Why calls are missing of the function."""
        flags = {GAVE_WAY: self.gave_way, WAS_ENTERED: self.was_entered, OVERWRITTEN: self.was_overwritten,
                 WAS_LEFT: self.was_left}  # fmt: skip
        return (why for why, is_so in flags.items() if is_so)

    def write(self, memory: process.WritableMemory, taken: Set[int]) -> None:
        """``taken``: where gdb may have breakpoints."""
        if self.change(memory, self.own, self.jump, self.address in taken):
            self.be_written()

    def be_written(self) -> None:
        self.is_written, self.has_run = True, False
        process.PATCHED()[self.address] = self.own
        own_instructions.hide(self.address, self.jump, self.own)

    def enter(self) -> None:
        self.was_entered = self.may_miss = True

    def give_way(self) -> None:
        self.gave_way = self.may_miss = True

    def be_restored(self) -> None:
        self.is_written = False
        process.PATCHED().pop(self.address)

    def restore(self, memory: process.WritableMemory, taken: Set[int]) -> None:
        self.be_restored()
        is_taken = self.address in taken
        if not self.change(memory, self.jump, self.own, is_taken):
            with suppress(Unreadable):
                left = self.below_int3(memory.read(self.address, len(self.jump)))
                if left:
                    write_with_gdb(memory, self.address, left) if is_taken else memory.write(self.address, left)

    def below_int3(self, there: bytes) -> bytes:
        """What is to be there, where somebody has made a byte of our jump an int3, as a uprobe is, or has taken it away
        again: the kernel goes on behind an instruction of the function's, in what is left of our jump."""
        self.was_probed = is_int3_in_jump(there, self.jump, self.own)
        return without_jump(there, self.jump, self.own) if self.was_probed else b""

    def change(self, memory: process.WritableMemory, before: bytes, after: bytes, is_taken: bool) -> bool:
        """If ``before`` is what is there. Where gdb has a breakpoint, or thinks so, it has to know: a child that shares
        the memory takes gdb's breakpoint with it, and gdb would put back some day what was below it. (gdb's infrun.c:
        handle_inferior_event, detach_breakpoints.)"""
        try:
            there = memory.read(self.address, len(before))
            if there == before and not is_taken:
                memory.write(self.address, after)
            elif there == before or (there[0] == INT3 and there[1:] == before[1:] and is_below(self.address, before)):
                write_with_gdb(memory, self.address, after)
            else:
                self.is_foreign = self.was_overwritten = True
        except Unreadable:
            self.is_foreign = True
        return not self.is_foreign

    def leave(self) -> None:
        """To somebody whose code is recorded."""
        self.is_foreign, self.was_overwritten, self.was_left = True, False, True


def write_with_gdb(memory: process.WritableMemory, address: int, raw: bytes) -> None:
    """Where it cannot, as after it has told that threads go on, it has changed what it keeps below its breakpoint."""
    with suppress(gdb.error):
        gdb.selected_inferior().write_memory(address, raw)
    there = memory.read(address, len(raw))
    wanted = (there[:1] if there[0] == INT3 else raw[:1]) + raw[1:]
    if there != wanted:
        memory.write(address, wanted)


def is_below(address: int, wanted: bytes) -> bool:
    """What is under gdb's breakpoints."""
    return process.InferiorMemory().read(address, len(wanted)) == wanted


def follow_in_children(changed: Sequence[EntryPatch]) -> None:
    """The entries are what they are to be already. A child of which gdb has not heard yet has what was in the process
    when its memory was copied, and gdb takes its breakpoints out of it by what is below them in the parent when it does
    hear: so it is to have the entries as the parent has them. (Where it shares the memory it has. gdb's breakpoint.c:
    detach_breakpoints.)"""

    def change_all(memory: process.RawMemory) -> None:
        for one in changed:
            with suppress(Unreadable):  # an object that was loaded since
                change_in_child(memory, one)

    if changed:
        children.in_each(change_all)


def change_in_child(memory: process.RawMemory, one: EntryPatch) -> None:
    before, after = (one.own, one.jump) if one.is_written else (one.jump, one.own)
    there = memory.read(one.address, len(before))
    if there == before:
        memory.write(one.address, after)
    elif there[0] == INT3 and there[1:] == before[1:]:
        memory.write(one.address + 1, after[1:])
