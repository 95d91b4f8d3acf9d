"""x86-64 instructions, as gcc and clang write them (Intel SDM, volume 2)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gdbcuda.elf.code.x86_arguments import arguments_returned, minus_ones_passed, unused_arguments
from gdbcuda.elf.code.x86_results import minus_one_returned, returned_calls, signed
from gdbcuda.elf.code.x86_writes import unchecked_writes

__all__ = ["arguments_returned", "calls", "compares_next_with_null", "compares_with_null", "constants_passed",
           "minus_one_returned", "minus_ones_passed", "only_jumps_on", "passes_minus_one", "returned_calls",
           "stub_slot", "unchecked_writes", "unused_arguments"]  # fmt: skip

_BRANCH = re.compile(rb"(?=([\xe8\xe9]|\xff[\x15\x25])(.{4}))", re.DOTALL)
_STUB = re.compile(rb"(?:\xf3\x0f\x1e\xfa)?\xf2?\xff\x25(.{4})", re.DOTALL)
# mov $-1,%rdi; or $-1,%rdi
_FIRST_MINUS_ONE = re.compile(rb"\x48\xc7\xc7\xff{4}|\x48\x83\xcf\xff")
# test %r,%r; cmpq $0,disp(%rbp or %rip)
_NULL_TEST = re.compile(
    rb"\x48\x85[\xc0\xc9\xd2\xdb\xf6\xff]|\x4d\x85[\xc0\xc9\xd2\xdb\xe4\xed\xf6\xff]"
    rb"|\x48\x83(?:\x7d.|[\xbd\x3d].{4})\0",
    re.DOTALL,
)


def calls(code: bytes, at: int) -> Iterator[tuple[int, bool]]:
    """call/jmp rel32 (e8, e9) and call/jmp *disp32(%rip) (ff 15, ff 25)."""
    for found in _BRANCH.finditer(code):
        opcode, operand = found.groups()
        yield at + found.start() + len(opcode) + 4 + signed(operand), opcode[0] == 0xFF


def stub_slot(code: bytes, at: int) -> int | None:
    """[endbr64] [bnd] jmp *disp32(%rip)"""
    found = _STUB.match(code)
    return at + found.end() + signed(found[1]) if found else None


def passes_minus_one(code: bytes) -> bool:
    return _FIRST_MINUS_ONE.search(code) is not None


# lea disp(%rip),%rdi; or lea disp(%rip),%rax and mov %rax,%rdi, as unoptimised code has it
_FIRST_CONSTANT = re.compile(rb"\x48\x8d(?:\x3d(.{4})|\x05(.{4})(?=.{0,12}\x48\x89\xc7))", re.DOTALL)
_NEAR = 28  # bytes in front of a call in which its first argument is made


def constants_passed(code: bytes, at: int) -> Iterator[tuple[int, bool, int]]:
    """Each call as in `calls`, and the address in its first argument, where that is made right before it."""
    for found in _BRANCH.finditer(code):
        opcode, operand = found.groups()
        start = max(0, found.start() - _NEAR)
        made = next(reversed([*_FIRST_CONSTANT.finditer(code, start, found.start())]), None)
        if made is not None and b"\xe8" not in code[made.end() : found.start() - 4]:
            end = made.start() + 7
            target = at + found.start() + len(opcode) + 4 + signed(operand)
            yield target, opcode[0] == 0xFF, at + end + signed(made[1] or made[2])


# jmp *%REG or *disp(%rip), call *%REG or *disp(%rip)
_JUMP_ON, _CALL_ON = re.compile(rb"\xff(?:[\xe0-\xe7]|\x25.{4})", re.DOTALL), re.compile(rb"\xff[\xd0-\xd7\x15]")


def only_jumps_on(code: bytes) -> bool:
    return _JUMP_ON.search(code) is not None and _CALL_ON.search(code) is None


def compares_with_null(code: bytes) -> bool:
    return _NULL_TEST.search(code) is not None


def compares_next_with_null(code: bytes) -> bool:
    asked = _FIRST_MINUS_ONE.search(code)
    return asked is not None and _NULL_TEST.search(code, asked.end()) is not None
