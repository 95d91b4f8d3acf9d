"""Writes detours into the process and takes them back. (gdb manual: "Inferiors In Python".)"""

from __future__ import annotations

from contextlib import suppress
from itertools import takewhile

import gdb

from gdbcuda.elf.code.probed_jump import INT3, is_one_int3
from gdbcuda.elf.code.x86_read import Instruction, UnknownInstruction, instructions
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live import process
from gdbcuda.live.host import inferiors
from gdbcuda.live.threads import standstill
from gdbcuda.machine import detour, trampoline, unwind_tables
from gdbcuda.machine.detour import Detour, NoDetour
from gdbcuda.machine.free_ranges import ALIGN
from gdbcuda.machine.unexecuted import LONGEST_NOP, PADDING, NearbyBytes, begins_with_nop, is_all_filling
from gdbcuda.machine.x86.x86_jumps import targets
from gdbcuda.machine.x86.x86_write import jump
from gdbcuda.text import cplusplus

LARGEST_FUNCTION = 1 << 16  # bytes that are read to look for jumps into the entry
OTHER_MACHINE = "guards are made for x86-64, not for"
SHORTEST_CALL = 2  # bytes: syscall
LARGEST_NEIGHBOUR = 4096
IS_PATCHED = "its first bytes are not those of its file: somebody else has patched it already"
HAS_INT3 = "an int3 that is not gdb's is in its first bytes, as a uprobe's is (bpftrace, perf)"
FIRST_BYTES = 16  # that have to be as the file has them


def plan(function: int, stop: int, is_unwound: bool = False) -> Detour:
    """The detour for the function that starts there; `NoDetour` with the reason."""
    code, around = read(function)
    if process.differs_from_file(function, FIRST_BYTES):
        raise NoDetour(why_patched(code, process.code_in_file(function, FIRST_BYTES)))
    refuse_int3(code)
    in_place = not standstill.stands_still() and standstill.stays_in_place()
    return detour.plan(function, code, stop, around, cold_part(function), in_place, is_unwound)


def why_patched(code: bytes, own: bytes) -> str:
    return HAS_INT3 if is_one_int3(code[:FIRST_BYTES], own[:FIRST_BYTES]) else IS_PATCHED


def refuse_int3(code: bytes) -> None:
    """No compiler begins a function so, and in a trampoline nobody answers it. (Over a link nobody knows what the file
    has.)"""
    if INT3 not in code[:FIRST_BYTES]:
        return
    with suppress(UnknownInstruction):
        first = takewhile(lambda found: found[0] < FIRST_BYTES, instructions(code))
        if any(one.raw[0] == INT3 for _, one in first):
            raise NoDetour(HAS_INT3)


def read(function: int) -> tuple[bytes, NearbyBytes]:
    size = function_size(function)
    if not size:
        raise NoDetour("the size of the function is not known")
    if size > LARGEST_FUNCTION:
        raise NoDetour("the function is too large to look at")
    room = room_behind(function + size)
    try:
        raw = process.original_code(function - PADDING, PADDING + size + room)
        neighbour = previous_function(function)
    except Unreadable:
        raise NoDetour("the function cannot be read") from None
    reach = LARGEST_FUNCTION + LARGEST_NEIGHBOUR
    near = process.PATCHED().within(function - reach, function + reach)
    taken = frozenset(at + index for at, own in near for index in range(len(own)))
    code = raw[PADDING:]
    before = b"" if neighbour is not None and is_all_filling(neighbour[1]) else raw[:PADDING]
    return code[:size], NearbyBytes(before, code[size:], neighbour, taken)


def room_behind(end: int) -> int:
    """How many bytes may be filling. Functions are aligned, most of them: the next one may begin before that, and with
    nops, which somebody may patch. (gcc -O0 -fpatchable-function-entry.)"""
    aligned = end + -end % ALIGN
    begin = next((at for at in range(end, aligned) if process.function_start(at) == at), aligned)
    return begin - end if process.function_start(begin) == begin or not is_nop_at(begin) else 0


def is_nop_at(address: int) -> bool:
    """Then what is in front of it may be the same function's."""
    try:
        return begins_with_nop(process.original_code(address, LONGEST_NOP))
    except Unreadable:
        return False


def cold_part(function: int) -> list[tuple[int, Instruction]]:
    """Of a function that the compiler has split: gcc calls what is rarely executed NAME.cold."""
    name = process.cold_name(function)
    found: list[tuple[int, Instruction]] = []
    for start in process.decoded(name) if name else ():
        if process.object_of(start) == process.object_of(function):
            with suppress(Unreadable, UnknownInstruction):
                for at, one in instructions(process.original_code(start, function_size(start) or LARGEST_NEIGHBOUR)):
                    found.append((start + at, one))
    return found


def previous_function(function: int) -> tuple[int, bytes] | None:
    """The one that ends in front of this one, if it is small: its address and bytes."""
    start = process.function_start(function - 1) or process.function_start(function - ALIGN)  # filling has no symbol
    if start is None or not 0 < function - start <= LARGEST_NEIGHBOUR:
        return None
    return start, process.original_code(start, function - start)


@process.until_objects_change
def function_size(function: int) -> int:
    """From the debug info, else from the object's dynamic symbols, else from its file's symbol table, where hidden
    functions are (of a runtime inside the program, as NVIDIA builds it), else, where that is stripped, from what
    unwinders read; 0 if none has it."""
    block = process.block_of_function(gdb.block_for_pc(function))
    if block is not None and block.start == function:
        return int(block.end - block.start)
    name = cplusplus.without_arguments(process.symbol_of(function)[0])  # gdb gives extern "C" of C++ its arguments too
    owner = next((one for one in process.images() if one.holds(function)), None)
    symbol = owner.lookup(name) if owner is not None else None
    if symbol is not None and symbol.address == function:
        return symbol.size
    if owner is None:
        return 0
    return process.function_sizes(owner).get(function, 0) or unwind_tables.function_size(owner, function)


def write(address: int, raw: bytes, prove: bool = True) -> None:
    """`NoDetour` where the target does not let us, or, as far as we look, does not do it."""
    try:
        gdb.selected_inferior().write_memory(address, raw)
        written = process.InferiorMemory().read(address, len(raw)) if prove else raw
    except (gdb.error, gdb.MemoryError, Unreadable) as problem:
        raise NoDetour(f"the code cannot be written ({problem})") from None
    if written != raw:
        raise NoDetour("the code cannot be written (it reads back differently)")


def prepare_island(found: Detour, made: trampoline.Trampoline) -> None:
    """What the entry's short jump will lead to."""
    if found.island is not None:
        at, own = found.island
        write(at, jump(at, made.address))
        process.PATCHED()[at] = own


def is_possible() -> str:
    """Why there cannot be a detour at all; "" where there can."""
    if not process.is_alive() or process.connection() == "core":
        return "no process"
    try:
        if process.machine() != "x86-64":
            return f"{OTHER_MACHINE} {process.machine()}"
    except UserError as problem:
        return str(problem)
    if inferiors.are_several() and sum(bool(one.pid) for one in gdb.inferiors()) > 1:
        return "several processes in one gdb"  # which sets breakpoints at addresses again in the wrong one
    return "non-stop mode" if gdb.parameter("non-stop") else ""


def function_around(address: int) -> tuple[bytes, int, list[int]]:
    """The code of the function that an instruction is in, up to there where nobody says its size; where in it that is;
    where jumps of its cold part lead."""
    function = process.function_start(address)
    if function is None or address - function > LARGEST_FUNCTION:
        return b"", 0, []
    known = min(function_size(function), LARGEST_FUNCTION)
    try:
        code = process.original_code(function, max(known, address - function + SHORTEST_CALL))
    except Unreadable:
        return b"", 0, []
    return code, address - function, [one - function for one in targets(cold_part(function))]
