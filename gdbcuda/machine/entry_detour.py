"""Plans the detour of a function for a recorder: its entry becomes a jump, and nobody stops there.

    function:  jmp recorder  ...  resume
    onward:    the instructions that were there;  jmp resume

Whoever calls the function is recorded, so nothing may jump back to the entry, or into the jump. Most functions are
short, and there are thousands: only where their bytes may hold such a jump all of their instructions are read.
(x86-64; Intel SDM volume 2.)
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache

from gdbcuda.data_classes import dataclass
from gdbcuda.elf.code.x86_read import LONGEST_INSTRUCTION, Instruction, UnknownInstruction, decode, instructions
from gdbcuda.machine.detour import NO_ROOM, Detour, NoDetour, falls_through, is_fixed_call, refuse_unmovable
from gdbcuda.machine.trampoline import Test, Trampoline
from gdbcuda.machine.unexecuted import Body
from gdbcuda.machine.x86.x86_jumps import may_lead_anywhere, targets
from gdbcuda.machine.x86.x86_write import JUMP_SIZE, Code, jump

THROUGH_REGISTER = re.compile(rb"\xff[\x20-\x24\x26\x27\x60-\x67\xa0-\xa7\xe0-\xe7]")  # not jmp *pointer(%rip)
SHORT = re.compile(rb"(?=[\xe0-\xe3\xeb\x70-\x7f]([\x80-\xff]))", re.DOTALL)
LONG = re.compile(rb"(?=(?:[\xe8\xe9]|\x0f[\x80-\x8f])(..[\xf0-\xff]\xff))", re.DOTALL)  # backwards, within a megabyte
LONGEST_COVERED = JUMP_SIZE - 1 + LONGEST_INSTRUCTION
FIRST = 160  # bytes: a short jump from behind them leads no further back than 32


def plan(function: int, code: bytes, elsewhere: Body = ()) -> Detour:
    """Of the function whose bytes are ``code``; `NoDetour` where none is safe. ``elsewhere``: as for `detour.plan`."""
    under = covered(function, code)
    end = under[-1][0] + len(under[-1][1].raw)
    last = last_that_may_jump_back(code, end - function)
    if elsewhere or last >= 0 or any(function <= to < end for to in targets(under)):
        refuse_jumps(function, code, end, under, elsewhere, last)
    return Detour(function, code[:JUMP_SIZE], tuple(under), end, function, (), (), ())


def covered(function: int, code: bytes) -> list[tuple[int, Instruction]]:
    """The instructions under the jump, with their addresses."""
    return [(function + at, one) for at, one in first_instructions(code[:LONGEST_COVERED])]


@lru_cache(maxsize=1 << 12)  # many functions begin as others do
def first_instructions(code: bytes) -> tuple[tuple[int, Instruction], ...]:
    found: list[tuple[int, Instruction]] = []
    at = 0
    try:
        while at < JUMP_SIZE:
            one = decode(code, at)
            found.append((at, one))
            at += len(one.raw)
            if not falls_through(one) and at < JUMP_SIZE:
                raise NoDetour(NO_ROOM)
    except (UnknownInstruction, IndexError) as reason:
        raise NoDetour(f"its first instructions are not understood ({reason})") from None
    if at > len(code):
        raise NoDetour(NO_ROOM)
    last = found[-1][1]
    refuse_unmovable([one for _, one in found if one is not last or not is_fixed_call(last)])
    return tuple(found)


def last_that_may_jump_back(code: bytes, end: int) -> int:
    """Where the last bytes are which, as an instruction, would lead to one of the first ``end`` bytes; the end of the
    code where one may lead anywhere, -1 for none."""
    if THROUGH_REGISTER.search(code):
        return len(code)
    short = ((found.start(), found.end(1) + found[1][0] - 256) for found in SHORT.finditer(code[:FIRST]))
    long = ((found.start(), found.end(1) + struct.unpack("<i", found[1])[0]) for found in LONG.finditer(code))
    return max((at for at, to in (*short, *long) if 0 <= to < end), default=-1)


def refuse_jumps(function: int, code: bytes, end: int, under: Body, elsewhere: Body, last: int) -> None:
    """Behind the ``last`` offset no instruction of the function leads back."""
    try:
        body = [(function + at, one) for at, one in up_to(last, code)]
    except UnknownInstruction as reason:
        raise NoDetour(f"not every instruction of the function is understood ({reason})") from None
    found = next((to for to in jumps((*under, *body, *elsewhere), function) if function <= to < end), None)
    if found is not None:
        raise NoDetour(f"its own code jumps back into its first bytes ({found - function:+d})")
    if len(under) > 1 and may_lead_anywhere(body):
        raise NoDetour("a jump through a table or a register may lead back into the function's first instructions")


def up_to(last: int, code: bytes) -> Iterator[tuple[int, Instruction]]:
    for at, one in instructions(code):
        if at > last:
            return
        yield at, one


def jumps(body: Body, function: int) -> Iterator[int]:
    """Where they lead. A call of the function itself is a call; one into its first bytes is of a second entry."""
    for at, one in body:
        yield from (to for to in targets([(at, one)]) if one.kind != "call" or to != function)


def can_be_copied(found: Detour) -> bool:
    """As most can: nothing in the instructions depends on where they are."""
    return not found.moved[-1][1].kind and all(one.relative is None for _, one in found.moved)


@dataclass(frozen=True)
class FarSlot:
    """A slot that no jump reaches: its address is at the end of the function's code."""

    address: int


def onward(found: Detour, tests: Sequence[Test], slot: int | FarSlot, address: int) -> Trampoline:
    """The code that the recorder calls in the function's place; in front of it, where there are tests, what the entry
    jumps to: who passes one is recorded, who passes none goes on. ``hit``: who is recorded."""
    if not tests and not isinstance(slot, FarSlot) and can_be_copied(found):
        raw = b"".join(one.raw for _, one in found.moved)
        raw += jump(address + len(raw), found.resume)
        return Trampoline(address, raw, address + len(raw), address)
    code = Code()
    for test in tests:
        following = code.new_label()
        test(code, "recorded", following, 0)
        code.label(following)
    code.label("onward")
    found.pass_by(code)
    code.label("recorded")
    if isinstance(slot, FarSlot):  # jmp *(%rip)
        code.emit(b"\xff\x25" + bytes(4) + slot.address.to_bytes(8, "little"))
    elif tests:
        code.jump("", slot)
    raw = code.assemble(address)
    return Trampoline(address, raw, address + code.labels["recorded"], address + code.labels["onward"])
