"""Jumps through registers: into the function itself, as a switch makes them, or to somebody else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gdbcuda.elf.code.x86_read import Instruction, decode
from gdbcuda.machine.x86 import x86_jumps

LOADED, JUMP = "488b0510000000", "ffe0"  # mov pointer(%rip),%rax; jmp *%rax


def body(code: str) -> Iterator[tuple[int, Instruction]]:
    raw, at = bytes.fromhex(code), 0
    while at < len(raw):
        one = decode(raw[at:])
        yield at, one
        at += len(one.raw)


def leads_anywhere(code: str) -> bool:
    return x86_jumps.may_lead_anywhere(list(body(code.replace(" ", ""))))


@pytest.mark.parametrize(
    "code",
    [
        JUMP,
        f"90 {JUMP}",
        "ff20",  # through a table: jmp *(%rax)
        "ff24c500000000",  # jmp *table(,%rax,8)
        f"58 {JUMP}",  # what was popped is where it leads
        f"{LOADED} 7400 {JUMP}",  # somebody else jumps to the jump
        f"eb07 {LOADED} 90 {JUMP}",  # or behind the load
        f"{LOADED} 488d4108 {JUMP}",  # lea 8(%rcx),%rax
        f"{LOADED} 488d6108 {JUMP}",  # lea 8(%rcx),%rsp
        f"{LOADED} 33c0 {JUMP}",  # xor %eax,%eax
        f"{LOADED} 31c0 {JUMP}",
        f"{LOADED} 89c8 {JUMP}",  # mov %ecx,%eax
        f"{LOADED} 58 {JUMP}",
        f"{LOADED} 4883c008 {JUMP}",  # add $8,%rax
        f"{LOADED} e800000000 {JUMP}",
        f"488b0d10000000 {JUMP}",  # another register was loaded
        f"4c8b0510000000 {JUMP}",  # r8
        f"488b4010 {JUMP}",  # mov 16(%rax),%rax: from a table
    ],
)
def test_into_the_function(code: str) -> None:
    assert leads_anywhere(code)


@pytest.mark.parametrize(
    "code",
    [
        "ff2510000000",  # jmp *pointer(%rip)
        "eb00 e900000000 c3",
        f"{LOADED} {JUMP}",
        f"{LOADED} 488d7c2408 {JUMP}",  # lea 8(%rsp),%rdi
        f"{LOADED} 488b7c2408 {JUMP}",
        f"{LOADED} 33ff {JUMP}",
        f"{LOADED} 31ff {JUMP}",
        f"{LOADED} 4889d7 {JUMP}",
        f"{LOADED} 4159 {JUMP}",  # pop %r9
        f"{LOADED} c9 {JUMP}",
        "4c8b1d10000000 41ffe3",  # by %r11
        f"5b {JUMP}",  # the frame is gone: pop %rbx, leave, add $8,%rsp
        f"415f {JUMP}",
        f"c9 {JUMP}",
        f"4883c408 {JUMP}",
        f"4881c400010000 {JUMP}",
        "c3",
    ],
)
def test_to_somebody_else(code: str) -> None:
    assert not leads_anywhere(code)
