"""Which jumps of a function may lead anywhere in it: those through a register or a table, as switch and computed goto
make them. A jump through a pointer at a fixed place, or behind the end of the frame, is a call of somebody else.
(x86-64, Intel SDM volume 2.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gdbcuda.elf.code.x86_read import PREFIXES, Instruction
from gdbcuda.machine.x86.x86_write import RSP

Body = Sequence[tuple[int, Instruction]]  # with their addresses
CALLEE_SAVED = (3, 5, 12, 13, 14, 15)  # rbx, rbp, r12 to r15 (SysV ABI, x86-64 supplement 3.2.1)
MOST_BETWEEN = 12  # instructions between the load of a pointer and the jump


def targets(body: Body) -> Iterator[int]:
    """Where jumps and calls with a fixed distance lead."""
    for at, one in body:
        if one.kind and one.distance is not None and not is_through_pointer(one):
            yield at + len(one.raw) + one.distance


def may_lead_anywhere(body: Body) -> bool:
    reached = set(targets(body))
    return any(is_unclear(body, index, reached) for index in range(len(body)))


def is_unclear(body: Body, index: int, reached: set[int]) -> bool:
    one = body[index][1]
    if one.kind != "jump" or one.distance is not None:
        return False  # or jmp *pointer(%rip)
    rex, code = opcode(one.raw)
    mode, base = code[1] >> 6, code[1] & 7
    if mode != 3:
        return True
    before, register = body[max(0, index - MOST_BETWEEN) : index], base | (rex & 1) << 3
    if body[index][0] in reached:
        return True
    return not (takes_frame_down(before, register) or is_loaded_from_fixed_place(before, register, reached))


def takes_frame_down(before: Body, register: int) -> bool:
    """The function's frame is gone in front of the jump, so that leads to another function: none of its own
    instructions could go on without."""
    if not before:
        return False
    rex, code = opcode(before[-1][1].raw)
    op = code[0]
    if op & 0xF8 == 0x58:
        popped = op & 7 | (rex & 1) << 3
        return popped != register and popped in CALLEE_SAVED
    return op == 0xC9 or (op in (0x83, 0x81) and code[1] == 0xC4)


def is_loaded_from_fixed_place(before: Body, register: int, reached: set[int]) -> bool:
    """``mov pointer(%rip), %register``, and nothing behind it that may change the register or is jumped to."""
    for at, one in reversed(before):
        rex, code = opcode(one.raw)
        if code[0] == 0x8B and code[1] & 0xC7 == 5 and rex & 8:
            return (code[1] >> 3 & 7 | (rex & 4) << 1) == register
        if at in reached or not leaves_alone(rex, code, register):
            return False
    return False


def leaves_alone(rex: int, code: bytes, register: int) -> bool:
    """pop and mov of other registers, add to rsp, leave: what stands in front of a jump that ends a function."""
    op = code[0]
    if op & 0xF8 == 0x58:
        return (op & 7 | (rex & 1) << 3) != register
    if op == 0xC9:
        return True
    if op in (0x83, 0x81):
        return code[1] == 0xC4
    if op in (0x89, 0x31) and code[1] >> 6 == 3:
        return (code[1] & 7 | (rex & 1) << 3) not in (register, RSP)
    if op in (0x8B, 0x8D, 0x33):
        return (code[1] >> 3 & 7 | (rex & 4) << 1) not in (register, RSP)
    return False


def is_through_pointer(one: Instruction) -> bool:
    """``jmp *pointer(%rip)``, ``call *pointer(%rip)``: the distance is that of the pointer."""
    return opcode(one.raw)[1][0] == 0xFF


def opcode(raw: bytes) -> tuple[int, bytes]:
    """The REX prefix (0 without) and the bytes from the opcode on."""
    at = 0
    while raw[at] in PREFIXES:
        at += 1
    rex = raw[at] if raw[at] & 0xF0 == 0x40 else 0
    return rex, raw[at + bool(rex) :]
