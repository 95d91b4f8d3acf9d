"""Plans the detour of a function's entry, from its bytes alone: what is replaced, what moves, where it goes on.

    function:    [endbr64] [push %rbp; mov %rsp,%rbp]  jmp trampoline  ...  B: where gdb's breakpoint is
    trampoline:  the test;  the moved instructions;  jmp behind the patch

gdb looks at endbr64, push and mov to find B, so they stay: it would otherwise put its next breakpoints elsewhere.
Where B directly follows them there are only two bytes at the entry itself; they jump to the unused bytes in front of
the function, and those to the trampoline. Everything behind the patch, B included, runs where it always was.
(x86-64. Another machine needs its own `plan`; what uses a `Detour` does not change.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gdbcuda.x86 import JUMP_SIZE, Code, jump
from gdbcuda.x86_decode import ENDBR, Instruction, Unknown, instructions

FRAMES = (b"\x55\x48\x89\xe5", b"\x55\x48\x8b\xec")  # push %rbp; mov %rsp,%rbp in its two spellings
SHORT_JUMP_SIZE, SHORT_REACH = 2, 128
PADDING = 15  # in front of a function, at most: they are aligned to 16
NOPS = tuple(map(bytes.fromhex, (
    "90", "cc", "6690", "0f1f00", "0f1f4000", "0f1f440000", "660f1f440000", "0f1f8000000000", "0f1f840000000000",
    "660f1f840000000000", "662e0f1f840000000000", "2e0f1f840000000000",
)))  # fmt: skip


class Refused(Exception):
    """This entry is not patched; the text says why, for the user to read."""


@dataclass(frozen=True)
class Detour:
    """What to write where, once it is known where the trampoline is.

    ``patch``: address of the replaced bytes, ``original`` what they were; ``moved``: the instructions that run in the
    trampoline; ``resume``: where the function goes on behind them; ``pushed``: bytes on the stack since the entry when
    the patch is reached; ``island``: address and content of the bytes in front of the function that hold the long jump.
    """

    function: int
    patch: int
    original: bytes
    moved: tuple[Instruction, ...]
    resume: int
    pushed: int = 0
    island: tuple[int, bytes] | None = None

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
    code.emit(instruction.raw[:at])
    code.distance(end + instruction.distance, len(instruction.raw) - at - size)
    code.emit(instruction.raw[at + size :])


def plan(function: int, code: bytes, stop: int, before: bytes = b"") -> Detour:
    """The detour of ``function`` for a breakpoint at ``stop``; `Refused` where there is none that is safe.

    ``code``: all bytes of the function; ``before``: the bytes in front of it (15 are enough)."""
    try:
        body = list(instructions(code))
    except Unknown as reason:
        raise Refused(f"not every instruction of the function is understood ({reason})") from None
    kept, framed = kept_bytes(code)
    if stop == function:
        raise Refused("gdb's breakpoint is on the function's first instruction (optimised code)")
    found = long_patch(function, code, body, framed, stop) or short_patch(function, code, body, kept, stop, before)
    if found is None:
        raise Refused("there is no room for a jump in front of gdb's breakpoint")
    refuse_moved(found)
    refuse_targets(found, body)
    return found


def kept_bytes(code: bytes) -> tuple[int, int]:
    """The size of a leading endbr64, and of that with the frame's setup."""
    kept = len(ENDBR) if code.startswith(ENDBR) else 0
    return kept, kept + 4 if code[kept : kept + 4] in FRAMES else kept


Body = Sequence[tuple[int, Instruction]]


def long_patch(function: int, code: bytes, body: Body, start: int, stop: int) -> Detour | None:
    pushed = 8 if code[max(start - 4, 0) : start] in FRAMES else 0
    return covering(function, code, body, start, JUMP_SIZE, stop, pushed)


def short_patch(function: int, code: bytes, body: Body, start: int, stop: int, before: bytes) -> Detour | None:
    size = padding_size(before)
    found = covering(function, code, body, start, SHORT_JUMP_SIZE, stop, 0)
    if found is None or size < JUMP_SIZE:
        return None
    at = function - JUMP_SIZE
    return Detour(function, found.patch, found.original, found.moved, found.resume, 0, (at, before[-JUMP_SIZE:]))


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


def padding_size(before: bytes) -> int:
    """How many of the last bytes are filling between functions."""
    best, reached = 0, {0}
    for size in range(1, min(PADDING, len(before)) + 1):
        tail = before[len(before) - size :]
        if any(tail.startswith(nop) and size - len(nop) in reached for nop in NOPS):
            reached.add(size)
            best = size
    return best


def refuse_moved(found: Detour) -> None:
    for instruction in found.moved:
        if instruction.kind:
            raise Refused(f"a {instruction.kind} is among the function's first instructions")


def refuse_targets(found: Detour, body: Body) -> None:
    """A jump back into the patched bytes would land in the middle of our jump."""
    for at, instruction in body:
        distance = instruction.distance
        if instruction.kind and distance is not None:
            target = found.function + at + len(instruction.raw) + distance
            if target in found.changed:
                raise Refused(f"a {instruction.kind} at {found.function + at:#x} leads into the first bytes")
