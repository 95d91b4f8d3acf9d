"""Where a function leads whose entry somebody has overwritten with a jump, as inline hooks do (x86-64).

(Intel SDM, JMP, PUSH and RET; the forms are those of plthook's and funchook's kin: Detours, frida, UCX's bistro.)
"""

from __future__ import annotations

import re
from typing import Callable

SIZE = 24  # bytes that hold the longest of the forms, behind an endbr64
MASK = (1 << 64) - 1
MOST_JUMPS = 4  # through an island near the function, and on
ENDBR64 = b"\xf3\x0f\x1e\xfa"
NEAR = re.compile(rb"\xe9(....)", re.DOTALL)  # jmp rel32
THROUGH = re.compile(rb"\xff\x25(....)", re.DOTALL)  # jmp *rel32(%rip)
BY_RAX = re.compile(rb"\x48\xb8(.{8})(?:\xff\xe0|\x50\xc3)", re.DOTALL)  # movabs, %rax; jmp *%rax, or push and ret
BY_R11 = re.compile(rb"\x49\xbb(.{8})\x41\xff\xe3", re.DOTALL)
BEGINNINGS = re.compile(rb"(?:\xf3\x0f\x1e\xfa)?(?:[\xe9\x68\xcc]|\xff\x25|\x48\xb8|\x49\xbb)")  # a breakpoint's, too
PUSHED = re.compile(rb"\x68(....)\xc7\x44\x24\x04(....)\xc3", re.DOTALL)  # push; movl, 4(%rsp); ret


def target(read: Callable[[int, int], bytes], address: int) -> int | None:
    """The address behind all jumps; None where the function begins with none. What ``read`` raises goes on."""
    at: int | None = address
    for _ in range(MOST_JUMPS):
        following = one_jump(read, at or 0)
        if following is None:
            break
        at = following
    return at if at != address else None


def may_be(code: bytes, at: int) -> bool:
    """Whether a function may begin with one there. Below a breakpoint may be anything."""
    return BEGINNINGS.match(code, at) is not None


def one_jump(read: Callable[[int, int], bytes], address: int) -> int | None:
    code = read(address, SIZE)
    if code.startswith(ENDBR64):
        code, address = code[len(ENDBR64) :], address + len(ENDBR64)
    near, through = NEAR.match(code), THROUGH.match(code)
    if near:
        return address + near.end() + word(near[1], signed=True) & MASK
    if through:
        return word(read(address + through.end() + word(through[1], signed=True) & MASK, 8))
    absolute = BY_RAX.match(code) or BY_R11.match(code)
    if absolute:
        return word(absolute[1])
    pushed = PUSHED.match(code)
    return word(pushed[1] + pushed[2]) if pushed else None


def word(raw: bytes, signed: bool = False) -> int:
    return int.from_bytes(raw, "little", signed=signed)
