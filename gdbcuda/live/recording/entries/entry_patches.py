"""Entries of functions that jump to the recorder in the process, for as long as it runs.

At every stop of the user's the functions have their own bytes, so that nobody who looks there, sets a breakpoint or
lets the process go has to know of us. When the process goes on, the jumps are written: gdb has all its threads stopped
still, and its breakpoints are yet to come. A function keeps its own bytes for that time where a thread stands in them
(the user may step it), or may return into them from a signal handler, or where a breakpoint would be within the jump.
gdb's own breakpoint on a function's first byte bears the jump below it.
(gdb manual: "Events In Python"; proc(5): /proc/PID/mem.)
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from gdbcuda.live import process
from gdbcuda.live.host import console, inferiors
from gdbcuda.live.noticing import answer_search
from gdbcuda.live.recording.entries import far_patches, taken_bytes
from gdbcuda.live.recording.entries.entry_patch import EntryPatch, follow_in_children
from gdbcuda.live.threads import children, raw_stacks, standstill
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import some

PROBED = """gdbcuda: somebody has put a uprobe (bpftrace, perf) or a breakpoint on the recorder's jump in
  {}: calls of it crash, as they go on in the middle of the jump.
  It has its own instructions back, and is recorded no more. Uprobes come first, then the log
"""
MOST_NAMED = 4
MOST_LOOKS, LOOKS_APART = 20, 0.005  # seconds


def write_all(patches: Iterable[EntryPatch], taken: set[int], is_stepped: bool = True) -> None:
    """The process is about to go on, or has a new thread. ``taken``: addresses of breakpoints, and of bytes that others
    replace; ``is_stepped``: the user may step a thread that stands at an entry.

    At a new thread's event gdb has none selected. It cannot write then, but changes what it keeps below a breakpoint
    all the same. (gdb's thread.c: set_running; breakpoint.c: one_breakpoint_xfer_memory.)"""
    can_gdb_write = inferiors.selected_thread() is not None
    waiting = [one for one in patches if not one.is_written and not one.is_foreign]
    free = [one for one in free_of(waiting, taken) if can_gdb_write or one.address not in taken]
    memory = process.writable_memory()
    if isinstance(memory, process.FarMemory):
        far_patches.write(memory, free, taken, far_patches.standing(memory, free, is_stepped))
    elif memory is not None:
        write_here(memory, free, taken, is_stepped)
    for one in waiting:
        one.has_run = not one.is_written


def write_here(memory: process.RawMemory, free: Sequence[EntryPatch], taken: set[int], is_stepped: bool) -> None:
    """(A child that shares the memory may be in any of them, and does not stand still.)"""
    is_known = free and not children.is_memory_shared()
    threads = where_they_stand(memory, {at for one in free for at in one.inside}) if is_known else None
    comes_back = threads is not None and threads.is_one_stepped_aside()
    for one in free:
        may_be_in = comes_back and one.address in taken
        if threads is None or may_be_in or threads.are_in(one.address, one.inside, is_stepped):
            one.enter()
        else:
            one.write(memory, taken)
    follow_in_children([one for one in free if one.is_written])


def free_of(patches: Iterable[EntryPatch], taken: set[int]) -> list[EntryPatch]:
    """Those whose jump no breakpoint is within. The others know that calls of theirs are missing."""
    found = []
    for one in patches:
        is_free = taken.isdisjoint(one.inside)
        if not is_free and not taken_bytes.is_recorded_by_guard(one.address):
            one.give_way()
        found += [one] * is_free
    return [] if are_kept_out() else found


def take_missed(patches: Mapping[int, EntryPatch]) -> list[int]:
    """The entries of which calls may be missing since somebody asked last."""
    found = [at for at, one in patches.items() if one.may_miss]
    for at in found:
        patches[at].may_miss = False
    return found


def where_they_stand(memory: process.RawMemory, wanted: set[int]) -> raw_stacks.WhereThreadsAre | None:
    """A thread that gdb has stopped may still be on its way off its processor, where there are few for many."""
    for _ in range(MOST_LOOKS if inferiors.selected_thread() is not None else 1):
        found = raw_stacks.look(memory, wanted)
        if found is not None:
            return found
        time.sleep(LOOKS_APART)
    return None


def write_fresh(patches: Iterable[EntryPatch], taken: set[int]) -> None:
    """Of an object that has just been loaded: no thread is in it."""
    free = free_of(patches, taken)
    memory = process.writable_memory()
    if isinstance(memory, process.FarMemory):
        far_patches.write(memory, free, taken)
    elif memory is not None:
        for one in free:
            one.write(memory, taken)
        follow_in_children([one for one in free if one.is_written])


def restore_all(patches: Iterable[EntryPatch], taken: set[int]) -> None:
    memory, written = process.writable_memory(), [one for one in patches if one.is_written]
    if isinstance(memory, process.FarMemory):
        far_patches.restore(memory, written, taken)
    elif memory is not None:
        for one in written:
            with suppress(OSError):
                one.restore(memory, taken)
        follow_in_children([one for one in written if not one.is_foreign])
    probed = [visible(process.symbol_of(one.address)[0]) for one in written if one.was_probed]
    if probed:
        console.write(PROBED.format(some(probed, MOST_NAMED)))


def restore_past_gdb(patches: Iterable[EntryPatch], taken: set[int]) -> None:
    """Where gdb has a breakpoint it would have to write."""
    restore_all([one for one in patches if one.address not in taken], taken)


def are_kept_out() -> bool:
    """A library that overwrites the vendor's entries in a constructor has to find the functions' own bytes there, and
    may keep them."""
    return answer_search.constructors_may_patch()


def is_at_unseen_stop() -> bool:
    """The user does not see it, and no event of gdb's ends it. (Where other threads run on, nothing is written.)"""
    return process.is_thread_running() and (standstill.stands_still() or len(inferiors.threads()) == 1)
