"""System calls in machine code: which of them may confine the program.

(x86-64; asm/unistd_64.h; seccomp(2), prctl(2).)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gdbcuda.elf.code.x86_read import Instruction, UnknownInstruction, instructions
from gdbcuda.machine.x86_stack import is_written, register
from gdbcuda.machine.x86_write import RAX, RBP, RBX

SYSCALL = b"\x0f\x05"
SYS_PRCTL, SYS_SECCOMP = 157, 317
CONFINING = (SYS_PRCTL, SYS_SECCOMP)
# mov $157 or $317, %eax or %rax
CONFINES = re.compile(rb"(?:\xb8|\x48\xc7\xc0)(?:\x9d\x00|\x3d\x01)\x00\x00", re.DOTALL)
NEAR = 72  # bytes in front of the system call
NUMBER = re.compile(rb"([\x40-\x4f]?)(?:([\xb8-\xbf])|\xc7([\xc0-\xc7]))(.{4})", re.DOTALL)  # mov
COPY = re.compile(rb"([\x40-\x4f]?)\x89([\xc0\xc8\xd0\xd8\xe0\xe8\xf0\xf8])")  # mov from a register to eax
REX_R, REX_B, POP = 4, 1, range(0x58, 0x60)
KEPT_BY_CALLS = (RBX, RBP, 12, 13, 14, 15)
ZERO = re.compile(rb"\x48?[\x31\x33]\xc0")  # xor %eax, %eax
MOST_BEFORE = 24  # instructions


def confining(code: bytes, offset: int = 0) -> bool:
    """Is the instruction at that offset of a function a system call that may be one of these? Where its number comes
    from elsewhere it may."""
    before: list[Instruction] = []
    try:
        for at, one in instructions(code):
            if at >= offset:
                return at == offset and one.raw == SYSCALL and number(before) in (None, *CONFINING)
            before.append(one)
    except UnknownInstruction:
        pass
    return False


def is_marked(code: bytes, at: int) -> bool:
    """Without knowing where instructions begin: is the number of one of these not far in front of it?"""
    return bool(CONFINES.search(code, max(0, at - NEAR), at))


def follows_its_number(code: bytes, at: int) -> bool:
    """Of a marked one: do the instructions from there on lead to it? Then it is one itself."""
    for found in CONFINES.finditer(code, max(0, at - NEAR), at):
        try:
            if any(place == at for place, _ in instructions(code[: at + len(SYSCALL)], found.start())):
                return True
        except UnknownInstruction:
            pass
    return False


def number(before: list[Instruction]) -> int | None:
    """What rax is behind these instructions; None where that is not known."""
    for count, one in enumerate(before[: -MOST_BEFORE - 1 : -1], 1):
        found = loaded(one.raw, RAX)
        if found is not None:
            return found
        if ZERO.fullmatch(one.raw):
            return 0
        copied = COPY.fullmatch(one.raw)
        if copied:
            return kept(before[:-count], register(copied[1], copied[2][0] >> 3, REX_R))
        if one.kind in ("call", "return", "jump") or is_written(one.raw, RAX):
            return None
    return None


def kept(before: list[Instruction], wanted: int) -> int | None:
    """Of that register, where the function loads it and nothing else: as compilers do for the futex of a loop. The way
    there need not lead over each instruction in between, and no call in front of a jump counts."""
    is_straight = True
    for one in reversed(before):
        is_straight = is_straight and one.kind not in ("jump", "return")
        found = loaded(one.raw, wanted)
        if found is not None:
            return found
        is_lost = is_written(one.raw, wanted) or (is_straight and one.kind == "call" and wanted not in KEPT_BY_CALLS)
        if is_lost and not is_pop(one.raw):
            return None
    return None


def loaded(raw: bytes, wanted: int) -> int | None:
    """The number that the instruction puts into that register."""
    found = NUMBER.fullmatch(raw)
    if not found or register(found[1], (found[2] or found[3])[0], REX_B) != wanted:
        return None
    return int.from_bytes(found[4], "little")


def is_pop(raw: bytes) -> bool:
    """Of what the caller had there, in front of a return in the middle."""
    return raw[-1] in POP and len(raw) <= 2


def offsets(code: bytes) -> Iterator[int]:
    """Where the bytes of a system call are; they may be parts of other instructions."""
    at = code.find(SYSCALL)
    while at >= 0:
        yield at
        at = code.find(SYSCALL, at + 1)
