"""Which of the vendor's functions may begin with a jump: each load is a reason to look at the entries of thousands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.machine import entry_jump

PIECE, GAP = 1 << 20, 1 << 14  # bytes: that are read at once, and between functions of one piece


def among(addresses: Sequence[int]) -> Sequence[int]:
    """In a process of this machine their code is read as a whole. Over a link that would be packets for what is between
    them: there all are asked one by one."""
    raw = process.raw_memory()
    if raw is None:
        return addresses
    memory = process.OriginalCode(raw)
    return [one for piece in pieces(addresses) for one in in_piece(memory, piece)]


def in_piece(memory: process.OriginalCode, addresses: Sequence[int]) -> Sequence[int]:
    start = addresses[0]
    try:
        code = memory.read(start, addresses[-1] + entry_jump.SIZE - start)
    except Unreadable:
        return addresses
    return [one for one in addresses if entry_jump.may_be(code, one - start)]


def pieces(addresses: Sequence[int]) -> Iterator[list[int]]:
    found: list[int] = []
    for one in sorted(addresses):
        if found and (one - found[-1] > GAP or one - found[0] > PIECE):
            yield found
            found = []
        found.append(one)
    if found:
        yield found
