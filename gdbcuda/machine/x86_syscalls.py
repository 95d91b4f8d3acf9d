"""System calls in machine code: which of them may confine the program.

(x86-64; asm/unistd_64.h; seccomp(2), prctl(2).)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gdbcuda.machine.x86_read import Instruction, UnknownInstruction, instructions
from gdbcuda.machine.x86_stack import is_written
from gdbcuda.machine.x86_write import RAX

SYSCALL = b"\x0f\x05"
SYS_PRCTL, SYS_SECCOMP = 157, 317
CONFINING = (SYS_PRCTL, SYS_SECCOMP)
# mov $157 or $317, %eax or %rax
CONFINES = re.compile(rb"(?:\xb8|\x48\xc7\xc0)(?:\x9d\x00|\x3d\x01)\x00\x00", re.DOTALL)
NEAR = 72  # bytes in front of the system call
NUMBER = re.compile(rb"(?:\xb8|\x48?\xc7\xc0)(.{4})", re.DOTALL)  # mov
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
    for one in before[: -MOST_BEFORE - 1 : -1]:
        found = NUMBER.fullmatch(one.raw)
        if found:
            return int.from_bytes(found[1], "little")
        if ZERO.fullmatch(one.raw):
            return 0
        if one.kind in ("call", "return", "jump") or is_written(one.raw, RAX):
            return None
    return None


def offsets(code: bytes) -> Iterator[int]:
    """Where the bytes of a system call are; they may be parts of other instructions."""
    at = code.find(SYSCALL)
    while at >= 0:
        yield at
        at = code.find(SYSCALL, at + 1)
