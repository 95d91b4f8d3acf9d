"""The same at the far end of a link, where each write is a packet, and each look: the entries are changed in bulk.

The functions of an object lie beside each other. So their code is read, changed and written as a whole,
breakpoints in it as gdb has them. All threads stand still meanwhile. (gdb manual: "Packets", m and X.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import suppress

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.host import inferiors
from gdbcuda.live.recording.entries.entry_patch import EntryPatch
from gdbcuda.live.threads import children, raw_stacks
from gdbcuda.live.threads.raw_stacks import WhereThreadsAre

PIECE, GAP = 1 << 14, 1 << 11  # bytes: of a packet, and between entries of one

NOWHERE = WhereThreadsAre(set(), set())


def standing(memory: process.FarMemory, patches: Sequence[EntryPatch], is_stepped: bool) -> WhereThreadsAre | None:
    """Threads that may be in these entries. Where jumps were whenever one ran nobody can be, but in front of one: that
    only matters of the thread that is stepped. None where it cannot be told."""
    doubtful = [one for one in patches if one.has_run]
    if doubtful:
        return raw_stacks.look(memory, {at for one in doubtful for at in one.inside})
    stepped = inferiors.selected_thread() if is_stepped and patches else None
    place = raw_stacks.position(stepped.ptid[1]) if stepped is not None else (0, 0)
    return WhereThreadsAre({place[0]}, set()) if place is not None else None


def write(memory: process.FarMemory, patches: Sequence[EntryPatch], taken: Set[int],
          threads: WhereThreadsAre | None = NOWHERE) -> None:  # fmt: skip
    """``taken``: where gdb has breakpoints. A child that gdb is to be told of has them in a list of its own, each with
    the byte that was there at the fork. In memory that both share it would be put over one of ours, or over an own one
    where we have been."""
    free = []
    for one in patches:
        if threads is None or threads.are_in(one.address, one.inside):
            one.enter()
        else:
            free.append(one)
    for group in neighbours(free):
        for one in change(memory, group, to_jump=True):
            one.be_written()
        take_out(group, taken)


def restore(memory: process.FarMemory, patches: Sequence[EntryPatch], taken: Set[int]) -> None:
    for group in neighbours(patches):
        for one in group:
            one.be_restored()
        change(memory, group, to_jump=False)
        take_out(group, taken)


def take_out(group: Sequence[EntryPatch], taken: Set[int]) -> None:
    for one in group:
        if one.address in taken:
            children.take_out(one.address)


def neighbours(patches: Sequence[EntryPatch]) -> Iterator[list[EntryPatch]]:
    """Those that one read has, and one write changes."""
    group: list[EntryPatch] = []
    for one in sorted(patches, key=lambda each: each.address):
        if group and (one.address > group[-1].inside.stop + GAP or one.inside.stop > group[0].address + PIECE):
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def change(memory: process.FarMemory, group: Sequence[EntryPatch], to_jump: bool) -> Sequence[EntryPatch]:
    """Those that are changed; where there is something else than we think it stays."""
    start = group[0].address
    done: list[EntryPatch] = []
    with suppress(Unreadable):
        for one in group:
            one.is_foreign = True
        code = bytearray(memory.read(start, group[-1].inside.stop - start))
        for one in group:
            before, after = (one.own, one.jump) if to_jump else (one.jump, one.own)
            at = one.address - start
            if code[at : at + len(before)] == before:
                code[at : at + len(after)] = after
                one.is_foreign = False
                done.append(one)
                continue
            one.was_overwritten = True
            if not to_jump and (left := one.below_int3(bytes(code[at : at + len(before)]))):
                code[at : at + len(before)] = left
                memory.write(one.address, left)
        memory.write(start, bytes(code)) if done else None
    return done
