"""Writes detours into the process and takes them back. (gdb manual: "Inferiors In Python".)"""

from __future__ import annotations

import gdb

from gdbcuda import detour, trampoline
from gdbcuda.detour import Detour, Refused
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.islands import PADDING, Surroundings
from gdbcuda.live import gdb_cli, inferiors, target
from gdbcuda.spare import ALIGN

LARGEST_FUNCTION = 1 << 16  # bytes that are read to look for jumps into the entry
OTHER_MACHINE = "guards are made for x86-64, not for"
LARGEST_NEIGHBOUR = 4096

_restore_trust: list[bool] = []  # what the user has set, while it is not so


def show_original_code(on: bool) -> None:
    """gdb finds the end of a prologue in the bytes of the function; while it sets its breakpoints again it has to
    see those of the file. Not for longer: what it writes back over a breakpoint comes from the same place."""
    if on and not _restore_trust and target.PATCHED() and gdb_cli.is_possible():
        _restore_trust.append(bool(gdb.parameter("trust-readonly-sections")))
        trust_files(True)
    elif not on and _restore_trust and gdb_cli.is_possible():
        trust_files(_restore_trust.pop())


def trust_files(on: bool) -> None:
    gdb_cli.execute(f"set trust-readonly-sections {'on' if on else 'off'}")


def plan(function: int, stop: int) -> Detour:
    """The detour for the function that starts there; `Refused` with the reason."""
    size = function_size(function)
    if not size:
        raise Refused("the size of the function is not known")
    if size > LARGEST_FUNCTION:
        raise Refused("the function is too large to look at")
    room = -(function + size) % ALIGN  # functions are aligned: so much is filling behind this one
    try:
        raw = target.original_code(function - PADDING, PADDING + size + room)
        neighbour = previous_function(function)
    except Unreadable:
        raise Refused("the function cannot be read") from None
    near = [one for one in target.PATCHED().items() if abs(one[0] - function) < LARGEST_FUNCTION + LARGEST_NEIGHBOUR]
    taken = frozenset(at + index for at, own in near for index in range(len(own)))
    code = raw[PADDING:]
    around = Surroundings(raw[:PADDING], code[size:], neighbour, taken)
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
    for one in found.writes(made.address):
        write(*one)
    write(found.patch, found.original, prove=False)
    target.PATCHED().update(found.restores())


def is_possible() -> str:
    """Why there cannot be a detour at all; "" where there can."""
    if not target.is_alive() or target.connection() == "core":
        return "no process"
    try:
        if target.machine() != "x86-64":
            return f"{OTHER_MACHINE} {target.machine()}"
    except UserError as problem:
        return str(problem)
    if not hasattr(gdb, "BreakpointLocation"):
        return "this gdb switches places of a breakpoint by commands alone, which no event may execute (gdb 13 can)"
    if inferiors.are_several() and sum(bool(one.pid) for one in gdb.inferiors()) > 1:
        return "several processes in one gdb"  # which sets breakpoints at addresses again in the wrong one
    return "non-stop mode" if gdb.parameter("non-stop") else ""
