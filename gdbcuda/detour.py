"""Plans the detour of a function's entry, from its bytes alone: what is replaced, what moves, where it goes on.

    function:    [endbr64] [push %rbp; mov %rsp,%rbp]  jmp trampoline  ...  B: where gdb's breakpoint is
    trampoline:  the test;  the moved instructions;  jmp behind the patch

gdb looks at endbr64, push and mov to find B, so they stay: it would otherwise put its next breakpoints elsewhere.
Where B directly follows them there are only two bytes at the entry itself; they jump to the unused bytes in front of
the function, and those to the trampoline. Everything behind the patch, B included, runs where it always was.
In optimised code B is the function's first instruction: there the patch begins at B itself, and whoever uses the
detour puts the function's own bytes back before gdb's breakpoint is to be met (`Detour.covers_stop`).
(x86-64. Another machine needs its own `plan`; what uses a `Detour` does not change.)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gdbcuda.islands import NOTHING, Body, Island, Surroundings, islands
from gdbcuda.x86 import JUMP_SIZE, RSP, Code, jump
from gdbcuda.x86_decode import ENDBR, Instruction, Unknown, has_operand, instructions

FRAMES = (b"\x55\x48\x89\xe5", b"\x55\x48\x8b\xec")  # push %rbp; mov %rsp,%rbp in its two spellings
SHORT_JUMP_SIZE, SHORT_REACH = 2, 128
OTHER_STACK_USES = frozenset(b"\x94\x9c\x9d\x8f\xc8\xc9\xff")  # xchg, pushf, popf, pop, enter, leave; ff may push


class Refused(Exception):
    """This entry is not patched; the text says why, for the user to read."""


@dataclass(frozen=True)
class Detour:
    """What to write where, once it is known where the trampoline is.

    ``patch``: address of the replaced bytes, ``original`` what they were; ``moved``: the instructions that run in the
    trampoline; ``resume``: where the function goes on behind them; ``pushed``: bytes on the stack since the entry when
    the patch is reached; ``island``: address and content of the bytes in front of the function that hold the long jump.
    ``covers_stop``: gdb's breakpoint is at ``patch``.
    """

    function: int
    patch: int
    original: bytes
    moved: tuple[Instruction, ...]
    resume: int
    pushed: int = 0
    island: tuple[int, bytes] | None = None
    covers_stop: bool = False

    @property
    def replaced(self) -> range:
        return range(self.patch, self.patch + len(self.original))

    @property
    def changed(self) -> range:
        """The addresses that may not be in the middle of an instruction that a thread is about to execute."""
        return range(self.patch + 1, self.patch + len(self.original))

    def writes(self, trampoline: int) -> list[tuple[int, bytes]]:
        """(address, bytes), in the order in which they are to be written."""
        if self.island is None:
            padding = b"\x90" * (len(self.original) - JUMP_SIZE)
            return [(self.patch, jump(self.patch, trampoline) + padding)]
        at = self.island[0]
        short = bytes([0xEB, (at - self.patch - SHORT_JUMP_SIZE) & 0xFF])
        rest = self.original[SHORT_JUMP_SIZE:]
        return [(at, jump(at, trampoline)), (self.patch, short + rest)]

    def restores(self) -> list[tuple[int, bytes]]:
        return [(self.patch, self.original), *([self.island] if self.island else [])]

    def depths(self) -> dict[int, int]:
        """Bytes pushed since ``patch``, by address of each moved instruction and of every way out (``resume``)."""
        found, at, depth = {}, self.patch, 0
        for instruction in self.moved:
            found[at] = depth
            at += len(instruction.raw)
            depth += pushed_by(instruction) or 0
            if instruction.kind and instruction.distance is not None:
                found[at + instruction.distance] = depth
        return found if self.moved[-1].kind == "jump" else {**found, at: depth}

    def exits(self) -> list[int]:
        """Where the function goes on behind the moved instructions."""
        return [address for address in self.depths() if address not in self.replaced]

    def continue_function(self, code: Code) -> None:
        """Appends the moved instructions and the jump back."""
        at = self.patch
        for instruction in self.moved:
            at += len(instruction.raw)
            move(code, instruction, at)
        code.jump("", self.resume)


def move(code: Code, instruction: Instruction, end: int) -> None:
    """The same instruction for another place; ``end`` is the address behind it where it was."""
    if instruction.relative is None:
        code.emit(instruction.raw)
        return
    at, size = instruction.relative
    assert instruction.distance is not None
    if instruction.kind:  # a short jump becomes a long one
        name = b"\x0f" + bytes([0x80 | instruction.raw[0] & 15]) if instruction.raw[0] & 0xF0 == 0x70 else b"\xe9"
        code.emit(instruction.raw[:at] if size == 4 else name)
        code.distance(end + instruction.distance)
        return
    code.emit(instruction.raw[:at])
    code.distance(end + instruction.distance, len(instruction.raw) - at - size)
    code.emit(instruction.raw[at + size :])


def plan(function: int, code: bytes, stop: int, around: Surroundings = NOTHING) -> Detour:
    """The detour of ``function``, whose bytes are ``code``, for a breakpoint at ``stop``; `Refused` where there is
    none that is safe."""
    try:
        body = list(instructions(code))
    except Unknown as reason:
        raise Refused(f"not every instruction of the function is understood ({reason})") from None
    kept, framed = kept_bytes(code)
    rooms = list(islands(function, body, around))
    found = (
        long_patch(function, code, body, framed, stop)
        or short_patch(function, code, body, kept, stop, rooms)
        or patch_at_stop(function, code, body, stop, rooms)
    )
    if found is None:
        raise Refused("there is no room for a jump in front of gdb's breakpoint")
    refuse_moved(found)
    refuse_targets(found, body)
    return found


def kept_bytes(code: bytes) -> tuple[int, int]:
    """The size of a leading endbr64, and of that with the frame's setup."""
    kept = len(ENDBR) if code.startswith(ENDBR) else 0
    return kept, kept + 4 if code[kept : kept + 4] in FRAMES else kept


def long_patch(function: int, code: bytes, body: Body, start: int, stop: int) -> Detour | None:
    pushed = 8 if code[max(start - 4, 0) : start] in FRAMES else 0
    return covering(function, code, body, start, JUMP_SIZE, stop, pushed)


def short_patch(
    function: int, code: bytes, body: Body, start: int, stop: int, rooms: Sequence[Island]
) -> Detour | None:  # fmt: skip
    found = covering(function, code, body, start, SHORT_JUMP_SIZE, stop, 0)
    if found is None:
        return None
    origin = found.patch + SHORT_JUMP_SIZE
    island = next((one for one in rooms if -SHORT_REACH <= one[0] - origin < SHORT_REACH), None)
    return replace(found, island=island) if island is not None else None


def patch_at_stop(function: int, code: bytes, body: Body, stop: int, rooms: Sequence[Island]) -> Detour | None:
    """Where gdb's breakpoint has no room in front of it, and the registers there are still those of the entry."""
    start, end = stop - function, function + len(code)
    if start not in (0, *kept_bytes(code)):
        return None
    found = long_patch(function, code, body, start, end)
    if found is None or any(one.kind == "call" for one in found.moved):
        found = short_patch(function, code, body, start, end, rooms) or found
    if found is None:
        return None
    pushed = 8 if code[max(start - 4, 0) : start] in FRAMES else 0
    return replace(found, pushed=pushed, covers_stop=True)


def covering(
    function: int, code: bytes, body: Body, start: int, size: int, stop: int, pushed: int
) -> Detour | None:  # fmt: skip
    """Whole instructions from ``start`` on, at least ``size`` bytes, all in front of the breakpoint."""
    moved: list[Instruction] = []
    end = start
    for at, instruction in body:
        if start <= at and end - start < size:
            moved.append(instruction)
            end = at + len(instruction.raw)
    if end - start < size or function + end > stop:
        return None
    return Detour(function, function + start, code[start:end], tuple(moved), function + end, pushed)


def refuse_moved(found: Detour) -> None:
    for instruction in found.moved:
        if instruction.kind and not is_movable(instruction):
            raise Refused(f"a {instruction.kind} is among the function's first instructions")
        if found.covers_stop and pushed_by(instruction) is None:
            raise Refused("the function's first instructions do more to the stack than push")


def is_movable(instruction: Instruction) -> bool:
    """A jump or a branch to a fixed place: eb, e9, 70 to 7f, 0f 80 to 0f 8f."""
    return bool(re.match(rb"[\xeb\xe9\x70-\x7f]|\x0f[\x80-\x8f]", instruction.raw, re.DOTALL))


def pushed_by(instruction: Instruction) -> int | None:
    """How many bytes it puts on the stack; None for what changes the stack pointer otherwise, or may do so."""
    raw = instruction.raw.lstrip(b"\x66")
    rex = raw[0] if raw[0] & 0xF0 == 0x40 else 0
    code = raw[1:] if rex else raw
    op, operand = code[0], code[1] if len(code) > 1 else 0
    if op & 0xF8 == 0x50 or op in (0x68, 0x6A):
        return 8
    if op & 0xF8 == 0x58:
        return None if op == 0x5C and not rex & 1 else -8
    if op in (0x81, 0x83) and operand in (0xEC, 0xC4) and rex == 0x48:  # sub, add rsp
        size = int.from_bytes(code[2:], "little", signed=True)
        return size if operand == 0xEC else -size
    if op in OTHER_STACK_USES:
        return None
    if not has_operand(op):
        return 0
    to_register = op in (0x8B, 0x8D, 0x63, 0x69, 0x6B, 0x87) or (op < 0x40 and op & 2)
    is_register = operand >> 6 == 3 and operand & 7 == RSP and not rex & 1
    return None if is_register or (to_register and operand >> 3 & 7 == RSP and not rex & 4) else 0


def refuse_targets(found: Detour, body: Body) -> None:
    """A jump back into the patched bytes would land in the middle of our jump."""
    for at, instruction in body:
        distance = instruction.distance
        if instruction.kind and distance is not None:
            target = found.function + at + len(instruction.raw) + distance
            if target in found.changed:
                raise Refused(f"a {instruction.kind} at {found.function + at:#x} leads into the first bytes")
