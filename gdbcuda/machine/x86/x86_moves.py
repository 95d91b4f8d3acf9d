"""What one instruction leaves in a register, told from the machine in front of it: mov, pop, and xor with itself.

(x86-64, Intel SDM, volume 2.)
"""

from __future__ import annotations

import re
from typing import Callable

from gdbcuda.machine.x86.x86_stack import leaves, number, register
from gdbcuda.machine.x86.x86_syscalls import REX_B, REX_R, loaded
from gdbcuda.machine.x86.x86_write import RSP

REX_W, REX_X, LOW = 8, 2, (1 << 32) - 1
COPY = re.compile(rb"([\x40-\x4f]?)([\x89\x8b\x31\x33])([\xc0-\xff])")
LOAD = re.compile(rb"([\x40-\x4f]?)\x8b([\x00-\xbf])(.*)", re.DOTALL)
POP = re.compile(rb"([\x40-\x4f]?)([\x58-\x5f])")
WITH_INDEX, FROM_RIP, NO_INDEX = 4, 5, b"\x24"  # as the base of a ModRM byte; a SIB byte
SIZES = {0: 0, 1: 1, 2: 4}  # of a displacement, by the ModRM byte's mode

Registers = Callable[[int], int]
Memory = Callable[[int], int]  # the word at an address


def behind(raw: bytes, wanted: int, registers: Registers, memory: Memory) -> int | None:
    """What that register is behind the instruction; None where that is not known."""
    if (found := loaded(raw, wanted)) is not None:
        return found
    if (pop := POP.fullmatch(raw)) and register(pop[1], pop[2][0], REX_B) == wanted:
        return memory(registers(RSP))
    if leaves(raw, wanted):
        return registers(wanted)
    if (copy := COPY.fullmatch(raw)) is not None:
        return copied(copy, wanted, registers)
    place = address(raw, registers)
    return None if place is None else sized(memory(place), raw)


def copied(found: re.Match[bytes], wanted: int, registers: Registers) -> int | None:
    field, operand = register(found[1], found[3][0] >> 3, REX_R), register(found[1], found[3][0], REX_B)
    if found[2] in b"\x31\x33":
        return 0 if field == operand == wanted else None
    return sized(registers(field if found[2] == b"\x89" else operand), found[0])


def address(raw: bytes, registers: Registers) -> int | None:
    """What a load loads from, where that is near what one register leads to."""
    found = LOAD.fullmatch(raw)
    if not found:
        return None
    rex, mode, base, away = found[1], found[2][0] >> 6, found[2][0] & 7, found[3]
    if base == WITH_INDEX:
        has_index = away[:1] != NO_INDEX or register(rex, 0, REX_X) != 0
        away = away[1:]
        if has_index:
            return None
    if (base == FROM_RIP and not mode) or len(away) != SIZES[mode]:
        return None
    return registers(register(rex, base, REX_B)) + (number(away) if away else 0)


def sized(value: int, raw: bytes) -> int:
    is_wide = 0x40 <= raw[0] <= 0x4F and raw[0] & REX_W
    return value if is_wide else value & LOW
