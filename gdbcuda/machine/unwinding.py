"""What an unwinder needs to know of a trampoline: for each of its bytes, where the caller's frame is.

The code is read as it will run, from its first byte, through all of its jumps. What is found becomes the tables that
stand behind the code in our library, whose unwind information reads them: see shim/agent/guards.S.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gdbcuda.elf.code.x86_read import Instruction, decode
from gdbcuda.elf.code.x86_read import UnknownInstruction as NotUnderstood
from gdbcuda.machine.x86.x86_jumps import is_through_pointer
from gdbcuda.machine.x86.x86_stack import ENTRY, KEPT, WORD, Stack, UnknownFrame, after

__all__ = ["AREA", "TABLES", "UnknownFrame", "tables"]

AREA = "gdbcuda_guards_v1"  # the room for code in our library; so many tables of its size are behind it
TABLES = 2 + len(KEPT)
BY_RBP = 1 << 15
Row = tuple[int, ...]  # a byte for each table


def tables(code: bytes, entries: Sequence[int] = (0,)) -> list[bytes]:
    """The bytes for each table, as many as the code has; `UnknownFrame` where a caller could not be found. ``entries``:
    offsets at which it is come to as a function is."""
    found = [bytearray(len(code)) for _ in range(TABLES)]
    for at, (size, row) in rows(code, entries).items():
        for table, byte in zip(found, row):
            table[at : at + size] = bytes([byte]) * size
    return [bytes(table) for table in found]


def rows(code: bytes, entries: Sequence[int]) -> dict[int, tuple[int, Row]]:
    """Offset of each instruction that can be reached -> its size and its row."""
    found: dict[int, tuple[int, Row]] = {}
    ahead = [(at, ENTRY) for at in entries]
    while ahead:
        at, stack = ahead.pop()
        here = row(stack)
        if at in found:
            if found[at][1] != here:
                raise UnknownFrame
            continue
        try:
            instruction = decode(code, at)
        except NotUnderstood:
            raise UnknownFrame from None
        found[at] = len(instruction.raw), here
        ahead += [one for one in following(at, instruction, stack) if 0 <= one[0] < len(code)]
    return found


def following(at: int, one: Instruction, stack: Stack) -> Iterator[tuple[int, Stack]]:
    """What may be executed next."""
    end = at + len(one.raw)
    if one.kind not in ("jump", "return", "stop"):
        yield end, after(stack, one)
    if one.kind and one.distance is not None and not is_through_pointer(one):
        yield end + one.distance, ENTRY if one.kind == "call" else stack


def row(stack: Stack) -> Row:
    by_rbp = stack.depth is None
    depth = stack.frame if stack.depth is None else stack.depth
    if depth is None or depth % WORD or not 0 < depth <= BY_RBP * WORD:
        raise UnknownFrame
    low, high = divmod(depth // WORD - 1 | BY_RBP * by_rbp, 256)[::-1]
    saved = [stack.saved.get(one, 0) for one in KEPT]
    if any(at % WORD or at > 255 * WORD for at in saved):
        raise UnknownFrame
    return (low, high, *(at // WORD for at in saved))
