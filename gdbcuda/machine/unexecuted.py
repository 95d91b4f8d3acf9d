"""Bytes near a function that nothing executes: room for a long jump, to which its entry can jump with two bytes.

They are in front of the function, between its blocks, behind it, and in the function in front of it. (x86-64.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from gdbcuda.data_classes import dataclass
from gdbcuda.elf.code.x86_read import Instruction, UnknownInstruction, instructions
from gdbcuda.machine.free_ranges import ALIGN
from gdbcuda.machine.x86.x86_write import JUMP_SIZE

PADDING = 15  # in front of a function, at most: they are aligned to 16
NOP = re.compile(  # as assemblers fill with: nop, xchg %ax,%ax, nopl and nopw of all lengths, int3
    rb"\xcc|\x66*\x2e?(?:\x90|\x0f\x1f(?:\x00|\x40\x00|\x44\x00\x00|\x80\x00{4}|\x84\x00{5}))", re.DOTALL
)
LONGEST_NOP = 11
ENDS = ("return", "jump", "stop")  # what follows is reached by a jump, or is filling

Body = Sequence[tuple[int, Instruction]]
Island = tuple[int, bytes]


@dataclass(frozen=True)
class NearbyBytes:
    """Where a short jump may find room: the bytes in front of the function and behind it (15 are enough), the
    function in front of that (address and all its bytes), and the addresses that other detours use already."""

    before: bytes = b""
    after: bytes = b""
    neighbour: tuple[int, bytes] | None = None
    taken: frozenset[int] = frozenset()


NOTHING = NearbyBytes()


def branch_islands(function: int, body: Body, around: NearbyBytes) -> Iterator[Island]:
    """Bytes that nothing executes: in front of the function, between its blocks, behind it, in its neighbour."""
    is_room = padding_size(around.before) >= JUMP_SIZE
    found = [(function - JUMP_SIZE, around.before[-JUMP_SIZE:])] if is_room else []
    found += filling(function, [*body, *fillers(body, around.after)])
    if around.neighbour is not None:
        with suppress(UnknownInstruction):
            found += filling(around.neighbour[0], list(instructions(around.neighbour[1])), are_others_within=True)
    yield from (one for one in found if not around.taken.intersection(range(one[0], one[0] + JUMP_SIZE)))


def filling(function: int, body: Body, are_others_within: bool = False) -> Iterator[Island]:
    """Nops behind a return or a jump, to which no jump of the function leads. Other functions, of which no symbol
    tells, may begin at aligned addresses, with nops."""
    targets = {function + at + len(one.raw) + one.distance for at, one in body if one.kind and one.distance is not None}
    run, is_dead = (function, b""), False
    for at, instruction in body:
        if are_others_within and (function + at) % ALIGN == 0 and is_dead:
            run, is_dead = (function, b""), False
        if is_dead and NOP.fullmatch(instruction.raw) and function + at not in targets:
            run = (run[0] if run[1] else function + at, run[1] + instruction.raw)
            if len(run[1]) >= JUMP_SIZE:
                yield run[0], run[1][:JUMP_SIZE]
        else:
            run, is_dead = (function, b""), instruction.kind in ENDS


def fillers(body: Body, after: bytes) -> Body:
    """The nops that fill up to the next function, where there is nothing else."""
    end = body[-1][0] + len(body[-1][1].raw) if body else 0
    found, at = [], 0
    while at < len(after):
        nop = NOP.match(after, at)
        if nop is None:
            break
        found.append((end + at, Instruction(nop[0])))
        at = nop.end()
    return found


def begins_with_nop(code: bytes) -> bool:
    return NOP.match(code) is not None


def is_all_filling(code: bytes) -> bool:
    """A function that is nothing but nops leads into the next one."""
    return 0 < len(code) <= PADDING and padding_size(code) == len(code)


def padding_size(before: bytes) -> int:
    """How many of the last bytes are filling between functions."""
    best, reached = 0, {0}
    for size in range(1, min(PADDING, len(before)) + 1):
        nop = NOP.match(before, len(before) - size)
        if nop is not None and len(before) - nop.end() in reached:
            reached.add(size)
            best = size
    return best
