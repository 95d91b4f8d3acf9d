"""Plans the detour of a function for a debugger whose breakpoints hide it: the entry itself becomes a jump.

    function:    jmp trampoline  ...  B: where gdb's breakpoint is  ...  R
    trampoline:  the test
      no match:  the function's first instructions, up to and with the one at B;  jmp R
      match:     those in front of B;  jmp B

So a call that does not match never comes to B, whose breakpoint stays where it is. For gdb there are breakpoints on
each byte of the jump: it shows the function's own bytes, steps threads over them one instruction at a time, and puts
them back in the children of a fork and when it lets the process go. `leaving` is where such a thread is out of them.

Jumps into the replaced bytes are refused: for all that is known of a jump through a register or a table, it may lead to
any instruction, so where there is one only the first instruction is replaced. So are breakpoints of ours on pushf and
popf: who is stepped over those has the trap flag among the kept ones, or for good. (x86-64; Intel SDM volume 2.)
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from gdbcuda.data_classes import dataclass
from gdbcuda.elf.code.x86_read import Instruction, UnknownInstruction, instructions
from gdbcuda.machine.unexecuted import NOTHING, Body, Island, NearbyBytes, branch_islands
from gdbcuda.machine.x86.x86_jumps import is_through_pointer, may_lead_anywhere, targets
from gdbcuda.machine.x86.x86_write import JUMP_SIZE, Code, jump

SHORT_JUMP_SIZE, SHORT_REACH = 2, 128
CALL, JUMP_THROUGH_POINTER = 0xE8, b"\xff\x25"
MOVABLE = re.compile(rb"[\xeb\xe9\x70-\x7f]|\x0f[\x80-\x8f]", re.DOTALL)  # a jump or a branch to a fixed place
PREFIX, FLAGS = b"\x66", (b"\x9c", b"\x9d")  # pushf, popf
NO_ROOM = "there is no room for a jump in the function's first instructions"


class NoDetour(Exception):
    """This entry is not patched; the text says why, for the user to read."""


@dataclass(frozen=True)
class Detour:
    """``original``: the function's own bytes where the jump goes. ``moved``: (address, instruction) of what the
    trampoline runs for a call that does not match, ``resume``: where that goes on. ``stop``: gdb's breakpoint.
    ``boundaries``: addresses of the instructions that begin within the jump. ``leaving``: where a thread that was taken
    through the function's own instructions is behind them; ``hidden``: those of them that calls pass which do not
    match. ``island``: address and content of bytes near the function that hold the long jump."""

    function: int
    original: bytes
    moved: tuple[tuple[int, Instruction], ...]
    resume: int
    stop: int
    boundaries: tuple[int, ...]
    leaving: tuple[int, ...]
    hidden: tuple[int, ...]
    island: Island | None = None

    @property
    def replaced(self) -> range:
        return range(self.function, self.function + len(self.original))

    @property
    def claimed(self) -> frozenset[int]:
        """Calls that do not match pass none of these instructions, or pass them unseen: nobody else's breakpoint may be
        on them."""
        return frozenset([*range(self.function, max(self.resume, self.replaced.stop)), *self.hidden])

    @property
    def stops_inside(self) -> bool:
        """gdb's breakpoint is among the replaced bytes."""
        return self.stop in self.replaced

    def jump_to(self, trampoline: int) -> bytes:
        """What the entry's bytes become."""
        if self.island is None:
            return jump(self.function, trampoline)
        return bytes([0xEB, (self.island[0] - self.function - SHORT_JUMP_SIZE) & 0xFF])

    def pass_by(self, code: Code) -> None:
        """What a call runs that does not match."""
        run(code, self.moved)
        last = self.moved[-1][1]
        if falls_through(last) and last.kind != "call":
            code.jump("", self.resume)

    def go_to_stop(self, code: Code) -> None:
        """What one runs that does."""
        run(code, [(at, one) for at, one in self.moved if at < self.stop])
        code.jump("", self.stop)


def run(code: Code, body: Sequence[tuple[int, Instruction]]) -> None:
    """The instructions at another place. Jumps among them stay among them."""
    labels = {at: code.new_label() for at, _ in body if at in set(targets(body))}
    for at, instruction in body:
        if at in labels:
            code.label(labels[at])
        move(code, instruction, at + len(instruction.raw), labels)


def move(code: Code, instruction: Instruction, end: int, labels: dict[int, str]) -> None:
    """The same instruction for another place; ``end`` is the address behind it where it was."""
    if instruction.relative is None:
        code.emit(instruction.raw)
        return
    at, size = instruction.relative
    target = end + (instruction.distance or 0)
    if instruction.kind == "call":  # it returns to where it would have: pushq $low; movl $high, 4(%rsp); jmp
        code.emit(b"\x68" + end.to_bytes(8, "little")[:4] + b"\xc7\x44\x24\x04" + end.to_bytes(8, "little")[4:])
        code.emit(b"\xe9" if instruction.raw[0] == CALL else JUMP_THROUGH_POINTER)
        code.distance(target)
        return
    if instruction.kind and not is_through_pointer(instruction):  # a short jump becomes a long one
        name = b"\x0f" + bytes([0x80 | instruction.raw[0] & 15]) if instruction.raw[0] & 0xF0 == 0x70 else b"\xe9"
        code.emit(instruction.raw[:at] if size == 4 else name)
        code.distance(labels.get(target, target))
        return
    code.emit(instruction.raw[:at])
    code.distance(target, len(instruction.raw) - at - size)
    code.emit(instruction.raw[at + size :])


def falls_through(instruction: Instruction) -> bool:
    return instruction.kind not in ("jump", "return", "stop")


def plan(
    function: int, code: bytes, stop: int, around: NearbyBytes = NOTHING, elsewhere: Body = (),
    steps_in_place: bool = False, is_unwound: bool = False,
) -> Detour:  # fmt: skip
    """The detour of ``function``, whose bytes are ``code``, for a breakpoint at ``stop``; `NoDetour` where none is
    safe. ``elsewhere``: (address, instruction) of parts of the function that are not behind its entry;
    ``steps_in_place``: the debugger takes a breakpoint out to step over it, and puts it back at the next step;
    ``is_unwound``: unwinders find the caller in the trampoline, as they do not in an island: that is a last resort."""
    try:
        body = [(function + at, one) for at, one in instructions(code)]
    except UnknownInstruction as reason:
        raise NoDetour(f"not every instruction of the function is understood ({reason})") from None
    planner = Planner(function, code, body, stop, list(elsewhere), steps_in_place)
    rooms = branch_islands(function, list(instructions(code)), around)
    near = next((one for one in rooms if -SHORT_REACH <= one[0] - function - SHORT_JUMP_SIZE < SHORT_REACH), None)
    why, found = "", []
    for size, island in ((JUMP_SIZE, None), *([(SHORT_JUMP_SIZE, near)] if near is not None else [])):
        try:
            found.append(planner.plan(size, island))
        except NoDetour as reason:
            why = why or str(reason)
    if not found:
        raise NoDetour(why)
    return found[0] if is_unwound else min(found, key=lambda one: one.stops_inside and bool(one.boundaries))


@dataclass(frozen=True)
class Planner:
    function: int
    code: bytes
    body: Sequence[tuple[int, Instruction]]
    stop: int
    elsewhere: Body
    steps_in_place: bool

    def plan(self, size: int, island: Island | None) -> Detour:
        under = self.covered(size)
        end = under[-1][0] + len(under[-1][1].raw)
        self.refuse_jumps_inside(under, end)
        further = self.further(end) if falls_through(under[-1][1]) else []
        moved = (*under, *further)
        ways = self.ways_out(under, end, further)
        boundaries = tuple(at for at, _ in under[1:] if at < self.function + size)
        resume = moved[-1][0] + len(moved[-1][1].raw)
        self.refuse_stepped_flags({self.function, *boundaries, *ways[0]} - {self.stop})
        return Detour(self.function, self.code[:size], moved, resume, self.stop, boundaries, *ways, island)

    def refuse_stepped_flags(self, ours: set[int]) -> None:
        """(Where gdb's own breakpoint is it steps without us, too.)"""
        if any(at in ours and one.raw.lstrip(PREFIX) in FLAGS for at, one in self.body):
            raise NoDetour("its first instructions keep the flags, and a step's trap flag would be among them")

    def covered(self, size: int) -> list[tuple[int, Instruction]]:
        """The instructions under the jump."""
        if len(self.code) < size:
            raise NoDetour(NO_ROOM)
        under = [(at, one) for at, one in self.body if at < self.function + size]
        refuse_unmovable([one for _, one in under])
        if not all(falls_through(one) for _, one in under[:-1]):
            raise NoDetour(NO_ROOM)
        return under

    def refuse_jumps_inside(self, under: list[tuple[int, Instruction]], end: int) -> None:
        everywhere = [*self.body, *self.elsewhere]
        inside = next((t for t in targets(everywhere) if self.function < t < end), None)
        if inside is not None:
            raise NoDetour(f"its own code jumps back into its first bytes ({inside - self.function:+d})")
        if len(under) > 1 and may_lead_anywhere(self.body):
            raise NoDetour("a jump through a table or a register may lead back into the function's first instructions")

    def further(self, end: int) -> list[tuple[int, Instruction]]:
        """What the trampoline runs beside: up to the breakpoint, and two more if it can, so that the second of them is
        passed only by who comes the function's own way."""
        behind = [(at, one) for at, one in self.body if at >= end]
        needed = [(at, one) for at, one in behind if at <= self.stop]
        refuse_unmovable([one for at, one in needed if at < self.stop or not is_fixed_call(one)])
        if self.stop >= end and (not needed or needed[-1][0] != self.stop):
            raise NoDetour("gdb's breakpoint is not at an instruction of the function")
        if not all(falls_through(one) for _, one in needed[:-1]):
            raise NoDetour("gdb's breakpoint is behind a jump")
        found = list(needed)
        for at, one in behind[len(needed) : 2]:
            if one.kind == "call" or not is_movable(one):
                break
            if found and (found[-1][1].kind == "call" or not falls_through(found[-1][1])):
                break
            found.append((at, one))
        return found

    def ways_out(
        self, under: list[tuple[int, Instruction]], end: int, further: list[tuple[int, Instruction]]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """`Detour.leaving` and ``hidden``."""
        branches = {t for t in targets(under) if end <= t < self.function + len(self.code)}
        passed = [at for at, _ in further]
        onward = {passed[min(1, len(passed) - 1)] if passed else end} if falls_through(under[-1][1]) else set()
        found, among = branches | onward, self.reached_otherwise(end, len(under) + len(further))
        hidden = {at for at in found if at not in passed or at >= among}
        if self.steps_in_place and (hidden or onward <= {end}):
            raise NoDetour("this debugger steps in place: two plain instructions behind the jump are missing")
        if len(under) == 1 and (hidden or not found):
            return (), ()  # nobody is ever between two of them
        if not found:
            raise NoDetour("its first instructions jump away")
        return tuple(sorted(found)), tuple(sorted(hidden))

    def reached_otherwise(self, end: int, passed: int) -> float:
        """The first place behind the jump to which the function comes another way than through its entry, as a loop or
        a call of itself does: a breakpoint of ours there, or behind, would stop each time."""
        rest = [*self.body[passed:], *self.elsewhere]
        if may_lead_anywhere(self.body):
            return end
        return min((t for t in targets(rest) if t >= end), default=math.inf)


def is_fixed_call(one: Instruction) -> bool:
    """To a fixed place, or through a pointer at one."""
    return one.kind == "call" and one.relative is not None and one.raw[0] in (CALL, 0xFF)


def refuse_unmovable(found: Sequence[Instruction]) -> None:
    for one in found:
        if one.kind == "call" or not is_movable(one):
            raise NoDetour(f"a {one.kind} is among the function's first instructions")


def is_movable(one: Instruction) -> bool:
    """Not loop and jrcxz, which reach no further than a byte says."""
    return one.relative is None or not one.kind or bool(MOVABLE.match(one.raw)) or is_through_pointer(one)
