"""Writes detours into the process and takes them back: memory for trampolines, and where the threads are meanwhile.

Trampolines live in the zero bytes between the end of an executable segment and the end of its page, so that no code of
the program runs to make room. (gdb manual: "Inferiors In Python"; ELF gABI, "Program Loading".)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Callable

import gdb

from gdbcuda import detour, trampoline
from gdbcuda.detour import Detour, Refused
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live import inferiors, target
from gdbcuda.live.inferiors import PerInferior
from gdbcuda.memory import PAGE

PF_X = 1
ALIGN = 16
LARGEST_FUNCTION = 1 << 16  # bytes that are read to look for jumps into the entry
MOST_FRAMES = 500
OTHER_MACHINE = "guards are made for x86-64, not for"
LONGEST_WAY = 300  # instructions of a trampoline, more than any has
LARGEST_NEIGHBOUR = 4096
NEAR = (1 << 31) - (1 << 20)

Position = tuple[int, int]  # program counter, stack pointer
UNKNOWN, UNREADABLE = (-1, 0), (-2, 0)  # further up the stack, which cannot be read to its end
ENDS = (gdb.FRAME_UNWIND_NO_REASON, gdb.FRAME_UNWIND_NULL_ID, gdb.FRAME_UNWIND_OUTERMOST)


class NoRoom(Refused):
    """For this trampoline; a smaller one might fit."""


@dataclass
class Room:
    """What we have taken of one process. ``used``: end of a segment -> where its free bytes begin; ``left``: where
    nothing leads to any more, address -> what belongs there."""

    used: dict[int, int] = field(default_factory=dict)
    left: dict[int, bytes] = field(default_factory=dict)


_room: PerInferior[Room] = PerInferior(Room)
_restore_trust: list[bool] = []  # what the user has set, while it is not so


def show_original_code(on: bool) -> None:
    """gdb finds the end of a prologue in the bytes of the function; while it sets its breakpoints again it has to
    see those of the file. Not for longer: what it writes back over a breakpoint comes from the same place."""
    if on and not _restore_trust and target.PATCHED():
        _restore_trust.append(bool(gdb.parameter("trust-readonly-sections")))
        trust_files(True)
    elif not on and _restore_trust:
        trust_files(_restore_trust.pop())


def trust_files(on: bool) -> None:
    gdb.execute(f"set trust-readonly-sections {'on' if on else 'off'}", to_string=True)


def plan(function: int, stop: int) -> Detour:
    """The detour for the function that starts there; `Refused` with the reason."""
    size = function_size(function)
    if not size:
        raise Refused("the size of the function is not known")
    if size > LARGEST_FUNCTION:
        raise Refused("the function is too large to look at")
    room = -(function + size) % ALIGN  # functions are aligned: so much is filling behind this one
    try:
        raw = target.original_code(function - detour.PADDING, detour.PADDING + size + room)
        neighbour = previous_function(function)
    except Unreadable:
        raise Refused("the function cannot be read") from None
    taken = frozenset(at + index for at, own in target.PATCHED().items() for index in range(len(own)))
    code = raw[detour.PADDING :]
    around = detour.Surroundings(raw[: detour.PADDING], code[size:], neighbour, taken)
    return detour.plan(function, code[:size], stop, around)


def previous_function(function: int) -> tuple[int, bytes] | None:
    """The one that ends in front of this one, if it is small: its address and bytes."""
    start = target.function_start(function - 1) or target.function_start(function - ALIGN)  # filling has no symbol
    if start is None or not 0 < function - start <= LARGEST_NEIGHBOUR:
        return None
    return start, target.original_code(start, function - start)


@target.until_objects_change
def function_size(function: int) -> int:
    """From the debug info, else from the object's dynamic symbols; 0 if neither has it."""
    block = gdb.block_for_pc(function)
    while block is not None and block.function is None:
        block = block.superblock
    if block is not None and block.start == function:
        return int(block.end - block.start)
    name = target.symbol_of(function)[0]
    owner = next((one for one in target.images() if one.holds(function)), None)
    symbol = owner.lookup(name) if owner is not None else None
    return symbol.size if symbol is not None and symbol.address == function else 0


def place(found: Detour, tests: list[trampoline.Test], counter: int | None = None) -> trampoline.Trampoline:
    """Writes the trampoline where there is room within reach; the function does not use it yet."""
    size = len(trampoline.build(found, tests, found.function & -ALIGN, counter).raw)
    for start, end, segment in free_ranges(found.function):
        if end - start >= size:
            made = trampoline.build(found, tests, start, counter)
            write(start, made.raw)
            _room().used[segment] = start + (size + ALIGN - 1) // ALIGN * ALIGN
            return made
    raise NoRoom("no unused bytes are left at the end of an executable segment within 2 GB")


def free_ranges(near: int) -> Iterable[tuple[int, int, int]]:
    """(start, end, end of the segment's own bytes), the function's own object first, then by distance."""
    segments = [(start, end) for one in target.images() for start, end, flags in one.segments if flags & PF_X]
    for _, end in sorted(segments, key=lambda s: max(s[0] - near, near - s[1], 0)):
        free = (_room().used.get(end, end) + ALIGN - 1) // ALIGN * ALIGN
        page_end = (end + PAGE - 1) // PAGE * PAGE
        if abs(free - near) < NEAR and free < page_end and is_zero(free, page_end):
            yield free, page_end, end


def is_zero(start: int, end: int) -> bool:
    try:
        return not any(target.InferiorMemory().read(start, end - start))
    except Unreadable:
        return False


def write(address: int, raw: bytes, prove: bool = True) -> None:
    """`Refused` where the target does not let us, or, as far as we look, does not do it."""
    show_original_code(False)
    try:
        gdb.selected_inferior().write_memory(address, raw)
        written = target.InferiorMemory().read(address, len(raw)) if prove else raw
    except (gdb.error, gdb.MemoryError, Unreadable) as problem:
        raise Refused(f"the code cannot be written ({problem})") from None
    if written != raw:
        raise Refused("the code cannot be written (it reads back differently)")


def prepare(found: Detour, made: trampoline.Trampoline) -> None:
    """All but the first bytes of the function: nothing leads there yet. That they can be written is tried."""
    *island, jump = found.writes(made.address)
    try:
        for one in (*island, jump):
            write(*one)
        write(found.patch, found.original, prove=False)
    except Refused:
        take_back(found, made)
        raise
    target.PATCHED().update(found.restores())


def take_back(found: Detour, made: trampoline.Trampoline) -> None:
    """The function has its own bytes again. The rest stays until no thread is in it: see `clean`."""
    target.PATCHED().pop(found.patch, None)
    left = _room().left
    left[made.address] = bytes(len(made.raw))
    if found.island is not None:
        left[found.island[0]] = found.island[1]


def clean() -> None:
    """Puts back what nothing leads to any more and no thread is in. Only where all threads are stopped."""
    room = _room()
    if not room.left:
        return
    where = [pc for positions in standing().values() for pc, _ in positions or [UNKNOWN]]
    if UNKNOWN[0] in where:
        return
    for address, raw in list(room.left.items()):
        if not any(address <= pc < address + len(raw) for pc in where):
            del room.left[address]
            target.PATCHED().pop(address, None)
            with suppress(Refused):  # it was in an object that is unloaded
                write(address, raw)
            for segment, free in list(room.used.items()):
                if free == (address + len(raw) + ALIGN - 1) // ALIGN * ALIGN:
                    room.used[segment] = address


def is_left(pc: int) -> bool:
    """Is it in a trampoline that nothing leads to any more?"""
    return any(address <= pc < address + len(raw) for address, raw in _room().left.items())


def step_out(inside: Callable[[int], bool]) -> None:
    """Moves threads out of some instructions, one by one, the others standing still. Only where all are stopped.
    A debugger that cannot hold the others (cuda-gdb 13) moves none: the instructions stay while a thread is in them."""
    with same_thread(), suppress(gdb.error):
        for thread in gdb.selected_inferior().threads():
            for _ in range(LONGEST_WAY):
                where = switched_positions(thread)
                if where is None or not inside(where[0][0]):
                    break
                gdb.execute("with scheduler-locking on -- stepi", to_string=True)


@contextmanager
def same_thread() -> Iterator[None]:
    selected, frame = gdb.selected_thread(), inferiors.selected_frame()
    try:
        yield
    finally:
        if selected is not None and selected.is_valid():
            selected.switch()
            if frame is not None and frame.is_valid():
                frame.select()


def standing() -> dict[int, list[Position] | None]:
    """Where every thread is, and where the signal handlers that it is in return to; None for one that is running."""
    threads = gdb.selected_inferior().threads()
    if len(threads) <= 1:
        return {one.num: positions_here() for one in threads}
    with same_thread():
        return {one.num: switched_positions(one) for one in threads}


def positions(thread: int) -> list[Position] | None:
    """The same for one thread, [] if there is none with that number."""
    selected = gdb.selected_thread()
    if selected is not None and selected.num == thread:
        return positions_here()
    with same_thread():
        found = next((one for one in gdb.selected_inferior().threads() if one.num == thread), None)
        return switched_positions(found) if found is not None else []


def switched_positions(thread: gdb.InferiorThread) -> list[Position] | None:
    try:
        thread.switch()
    except gdb.error:
        return None
    return positions_here()


def position_here() -> Position | None:
    """Of the selected thread, and no more than that: what is further up the stack costs packets."""
    try:
        return position_of(gdb.newest_frame())
    except gdb.error:
        return None


def positions_here() -> list[Position] | None:
    try:
        frame = gdb.newest_frame()
    except gdb.error:
        return None
    found = [position_of(frame)]
    try:
        for _ in range(MOST_FRAMES):
            newer, frame = frame, frame.older()
            if frame is None:
                reason = newer.unwind_stop_reason()
                more = [UNREADABLE] if reason == gdb.FRAME_UNWIND_MEMORY_ERROR else []
                return found if reason in ENDS else [*found, UNKNOWN, *more]
            if newer.type() == gdb.SIGTRAMP_FRAME:
                found.append(position_of(frame))
    except (gdb.error, gdb.MemoryError):
        pass
    return [*found, UNKNOWN]


def is_unreadable(threads: dict[int, list[Position] | None]) -> bool:
    """Is a thread's stack not even there to be read? (One that ends early for want of unwind tables is usual.)"""
    return any(UNREADABLE in positions for positions in threads.values() if positions)


def position_of(frame: gdb.Frame) -> Position:
    return int(frame.pc()), int(frame.read_register("rsp")) & (1 << 64) - 1


def is_possible() -> str:
    """Why there cannot be a detour at all; "" where there can."""
    if not target.is_alive() or target.connection() == "core":
        return "no process"
    try:
        if target.machine() != "x86-64":
            return f"{OTHER_MACHINE} {target.machine()}"
    except UserError as problem:
        return str(problem)
    if inferiors.are_several() and sum(bool(one.pid) for one in gdb.inferiors()) > 1:
        return "several processes in one gdb"  # which sets breakpoints at addresses again in the wrong one
    return "non-stop mode" if gdb.parameter("non-stop") else ""
