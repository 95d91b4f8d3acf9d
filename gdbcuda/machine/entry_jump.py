"""Where a function leads whose entry somebody has overwritten with a jump, as inline hooks do (x86-64).

(Intel SDM, JMP, PUSH and RET; the forms are those of plthook's and funchook's kin: Detours, frida, UCX's bistro.)
"""

from __future__ import annotations

import re
from typing import Callable

from gdbcuda.text.patterns import pattern

SIZE = 24  # bytes that hold the longest of the forms, behind an endbr64
MASK = (1 << 64) - 1
MOST_JUMPS = 4  # through an island near the function, and on
ENDBR64 = b"\xf3\x0f\x1e\xfa"
NEAR = pattern(rb"\xe9(....)", re.DOTALL)  # jmp rel32
THROUGH = pattern(rb"\xff\x25(....)", re.DOTALL)  # jmp *rel32(%rip)
BY_RAX = pattern(rb"\x48\xb8(.{8})(?:\xff\xe0|\x50\xc3)", re.DOTALL)  # movabs, %rax; jmp *%rax, or push and ret
BY_R10 = pattern(rb"\x49\xba(.{8})\x41\xff\xe2", re.DOTALL)
BY_R11 = pattern(rb"\x49\xbb(.{8})\x41\xff\xe3", re.DOTALL)
# a breakpoint's, too
BEGINNINGS = pattern(rb"(?:\xf3\x0f\x1e\xfa)?(?:[\xe9\x68\xcc]|\xff\x25|\x48\xb8|\x49[\xba\xbb])")
PUSHED = pattern(rb"\x68(....)\xc7\x44\x24\x04(....)\xc3", re.DOTALL)  # push; movl, 4(%rsp); ret
FORMS = (NEAR, THROUGH, BY_RAX, BY_R10, BY_R11, PUSHED)
POINTER = 8


def target(
    read: Callable[[int, int], bytes], address: int, is_goal: Callable[[int], bool] = lambda at: False
) -> int | None:
    """The address behind all jumps, or the first one that is a goal: what is called there may itself begin with a jump.
    None where the function begins with none. What ``read`` raises goes on."""
    at: int | None = address
    for _ in range(MOST_JUMPS):
        following = one_jump(read, at or 0)
        if following is None:
            break
        at = following
        if is_goal(at):
            break
    return at if at != address else None


def may_be(code: bytes, at: int) -> bool:
    """Whether a function may begin with one there. Below a breakpoint may be anything."""
    return BEGINNINGS.match(code, at) is not None


def one_jump(read: Callable[[int, int], bytes], address: int) -> int | None:
    found = first_jump(read(address, SIZE))
    if found is None:
        return None
    code, end = found
    if is_of(code, NEAR):
        return address + end + word(code[1], signed=True) & MASK
    if is_of(code, THROUGH):
        return word(read(address + end + word(code[1], signed=True) & MASK, 8))
    return word(code[1] + code[2]) if is_of(code, PUSHED) else word(code[1])


def is_of(jump: re.Match[bytes], form: re.Pattern[bytes]) -> bool:
    return jump.re.pattern == form.pattern


def first_jump(code: bytes) -> tuple[re.Match[bytes], int] | None:
    """The jump that the code begins with, and where its instructions end."""
    start = len(ENDBR64) if code.startswith(ENDBR64) else 0
    found = next(filter(None, (form.match(code, start) for form in FORMS)), None)
    return (found, found.end()) if found is not None else None


def size(code: bytes) -> int:
    """Bytes that the jump at the beginning takes, with the pointer that it goes through, where that is behind it."""
    found = first_jump(code)
    if found is None:
        return 0
    jump, end = found
    between = word(jump[1], signed=True) if is_of(jump, THROUGH) else -1
    return end + between + POINTER if 0 <= between <= SIZE else end


def word(raw: bytes, signed: bool = False) -> int:
    return int.from_bytes(raw, "little", signed=signed)
