"""Where the threads are, and where the signal handlers that they are in return to.

(gdb manual: "Threads In Python", "Frames In Python".)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import gdb

from gdbcuda.live.host import inferiors
from gdbcuda.live.threads import call_registers

MOST_FRAMES = 500

Position = tuple[int, int]  # program counter, stack pointer
UNKNOWN, UNREADABLE = (-1, 0), (-2, 0)  # further up the stack, which cannot be read to its end
ENDS = (gdb.FRAME_UNWIND_NO_REASON, gdb.FRAME_UNWIND_NULL_ID, gdb.FRAME_UNWIND_OUTERMOST)


@contextmanager
def same_thread() -> Iterator[None]:
    selected, frame = inferiors.selected_thread(), inferiors.selected_frame()
    try:
        yield
    finally:
        if selected is not None and selected.is_valid():
            selected.switch()
            if frame is not None and frame.is_valid():
                frame.select()


def standing() -> dict[int, list[Position] | None]:
    """Where every thread is, and where the signal handlers that it is in return to; None for one that is running."""
    threads = inferiors.threads()
    if len(threads) <= 1:
        return {one.num: positions_here() for one in threads}
    with same_thread():
        return {one.num: switched_positions(one) for one in threads}


def newest(wanted: Collection[int]) -> dict[int, Position | None]:
    """Where these threads are, without what is further up their stacks; None for one that is running."""
    if not wanted:
        return {}
    with same_thread():
        return {one.num: position_here() if is_switched(one) else None
                for one in inferiors.threads() if one.num in wanted}  # fmt: skip


def busy() -> set[int]:
    """Addresses where a thread is, or goes on behind a signal handler: gdb may have a breakpoint of its own there, for
    that moment. (gdb's infrun.c: insert_hp_step_resume_breakpoint_at_frame.)"""
    return {pc for found in standing().values() for pc, _ in found or ()}


def positions(thread: int) -> list[Position] | None:
    """The same for one thread, [] if there is none with that number."""
    selected = inferiors.selected_thread()
    if selected is not None and selected.num == thread:
        return positions_here()
    with same_thread():
        found = next((one for one in inferiors.threads() if one.num == thread), None)
        return switched_positions(found) if found is not None else []


def switched_positions(thread: gdb.InferiorThread) -> list[Position] | None:
    return positions_here() if is_switched(thread) else None


def is_switched(thread: gdb.InferiorThread) -> bool:
    """False where it is running."""
    try:
        thread.switch()
    except gdb.error:
        return False
    return True


def position_here() -> Position | None:
    """Of the selected thread, and no more than that: what is further up the stack costs packets."""
    try:
        return position_of(gdb.newest_frame())
    except gdb.error:
        return None


def positions_here() -> list[Position] | None:
    try:
        newer = gdb.newest_frame()
    except gdb.error:
        return None
    found = [position_of(newer)]
    try:
        for _ in range(MOST_FRAMES):
            frame = newer.older()
            if frame is None:
                reason = newer.unwind_stop_reason()
                more = [UNREADABLE] if reason == gdb.FRAME_UNWIND_MEMORY_ERROR else []
                return found if reason in ENDS else [*found, UNKNOWN, *more]
            if newer.type() == gdb.SIGTRAMP_FRAME:
                found.append(position_of(frame))
            newer = frame
    except (gdb.error, gdb.MemoryError):
        pass
    return [*found, UNKNOWN]


def is_unreadable(threads: dict[int, list[Position] | None]) -> bool:
    """Is a thread's stack not even there to be read? (One that ends early for want of unwind tables is usual.)"""
    return any(UNREADABLE in positions for positions in threads.values() if positions)


def position_of(frame: gdb.Frame) -> Position:
    return int(frame.pc()), call_registers.stack_pointer(frame)
