"""Writes detours into the process and takes them back: memory for trampolines, and where the threads are meanwhile.

Trampolines live in the zero bytes between the end of an executable segment and the end of its page, so that no code of
the program runs to make room. (gdb manual: "Inferiors In Python"; ELF gABI, "Program Loading".)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Callable

import gdb

from gdbcuda import detour, trampoline
from gdbcuda.detour import Detour, Refused
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live import target
from gdbcuda.memory import PAGE

PF_X = 1
ALIGN = 16
LARGEST_FUNCTION = 1 << 16  # bytes that are read to look for jumps into the entry
MOST_FRAMES = 64
LONGEST_WAY = 300  # instructions of a trampoline, more than any has
LARGEST_NEIGHBOUR = 4096
NEAR = (1 << 31) - (1 << 20)

_used: dict[int, int] = {}  # end of a segment -> where its free bytes begin
_restore_trust: list[bool] = []  # what the user has set, while it is not so
_left: list[tuple[int, int]] = []  # (address, size) of trampolines that nothing leads to any more


def forget_process() -> None:
    _used.clear()
    _left.clear()
    target.PATCHED.clear()
    show_original_code(False)


def show_original_code(on: bool) -> None:
    """gdb finds the end of a prologue in the bytes of the function; while it sets its breakpoints again it has to
    see those of the file. Not for longer: what it writes back over a breakpoint comes from the same place."""
    if on and not _restore_trust and target.PATCHED:
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
    taken = frozenset(at + index for at, own in target.PATCHED.items() for index in range(len(own)))
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
            _used[segment] = start + (size + ALIGN - 1) // ALIGN * ALIGN
            return made
    raise Refused(f"no {size} unused bytes at the end of an executable segment within 2 GB")


def free_ranges(near: int) -> Iterable[tuple[int, int, int]]:
    """(start, end, end of the segment's own bytes), the function's own object first, then by distance."""
    segments = [(start, end) for one in target.images() for start, end, flags in one.segments if flags & PF_X]
    for _, end in sorted(segments, key=lambda s: max(s[0] - near, near - s[1], 0)):
        free = (_used.get(end, end) + ALIGN - 1) // ALIGN * ALIGN
        page_end = (end + PAGE - 1) // PAGE * PAGE
        if abs(free - near) < NEAR and free < page_end and is_zero(free, page_end):
            yield free, page_end, end


def is_zero(start: int, end: int) -> bool:
    try:
        return not any(target.InferiorMemory().read(start, end - start))
    except Unreadable:
        return False


def write(address: int, raw: bytes) -> None:
    """`Refused` where the target does not let us, or does not do it."""
    show_original_code(False)
    try:
        gdb.selected_inferior().write_memory(address, raw)
        written = target.InferiorMemory().read(address, len(raw))
    except (gdb.error, gdb.MemoryError, Unreadable) as problem:
        raise Refused(f"the code cannot be written ({problem})") from None
    if written != raw:
        raise Refused("the code cannot be written (it reads back differently)")


def apply(found: Detour, made: trampoline.Trampoline) -> None:
    for address, raw in found.writes(made.address):
        write(address, raw)
    target.PATCHED.update(found.restores())


def take_back(found: Detour, made: trampoline.Trampoline) -> None:
    """The function's bytes as they were. The trampoline stays until no thread is in it: see `clean`."""
    for address, raw in found.restores():
        write(address, raw)
        target.PATCHED.pop(address, None)
    _left.append((made.address, len(made.raw)))


def clean() -> None:
    """Zeroes the trampolines that no thread is in. Only where all threads are stopped."""
    if not _left:
        return
    where = thread_addresses()
    for address, size in list(_left):
        if not any(pc is None or address <= pc < address + size for pc in where):
            _left.remove((address, size))
            write(address, bytes(size))
            for segment, free in list(_used.items()):
                if free == (address + size + ALIGN - 1) // ALIGN * ALIGN:
                    _used[segment] = address


def step_out(inside: Callable[[int], bool], spared: gdb.InferiorThread | None = None) -> None:
    """Moves threads out of some instructions, one by one, the others standing still. Only where all are stopped."""
    selected = gdb.selected_thread()
    for thread in gdb.selected_inferior().threads():
        for _ in range(LONGEST_WAY):
            pc = addresses_of(thread)[0]
            if thread == spared or pc is None or not inside(pc):
                break
            gdb.execute("with scheduler-locking on -- stepi", to_string=True)
    if selected is not None and selected.is_valid():
        selected.switch()


def is_left(pc: int) -> bool:
    """Is it in a trampoline that nothing leads to any more?"""
    return any(address <= pc < address + size for address, size in _left)


def thread_addresses() -> list[int | None]:
    """Where every thread is, and where a signal handler that it is in will return to; None for one that is running."""
    threads, selected = gdb.selected_inferior().threads(), gdb.selected_thread()
    if len(threads) <= 1:
        return addresses_of_selected()
    try:
        return [address for thread in threads for address in addresses_of(thread)]
    finally:
        if selected is not None and selected.is_valid():
            selected.switch()


def addresses_of(thread: gdb.InferiorThread) -> list[int | None]:
    try:
        thread.switch()
    except gdb.error:
        return [None]
    return addresses_of_selected()


def addresses_of_selected() -> list[int | None]:
    try:
        frame = gdb.newest_frame()
    except gdb.error:
        return [None]
    found: list[int | None] = [int(frame.pc())]
    try:
        for _ in range(MOST_FRAMES):
            newer, frame = frame, frame.older()
            if frame is None:
                break
            if newer.type() == gdb.SIGTRAMP_FRAME:
                found.append(int(frame.pc()))
    except (gdb.error, gdb.MemoryError):
        pass  # a stack that cannot be read further
    return found


def is_possible() -> str:
    """Why there cannot be a detour at all; "" where there can."""
    if not target.is_alive() or target.connection() == "core":
        return "no process"
    try:
        if target.machine() != "x86-64":
            return f"guards are made for x86-64, not for {target.machine()}"
    except UserError as problem:
        return str(problem)
    return "non-stop mode" if gdb.parameter("non-stop") else ""
