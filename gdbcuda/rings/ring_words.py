"""The words of a record: in a ring its front has those of each call, and what else a call has is behind all fronts."""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable

from gdbcuda.rings.ring_layout import (
    CALLERS_BIT,
    FLOATS,
    FLOATS_BIT,
    FRONT,
    FRONT_OUT_WORDS,
    HAS_OUT_BIT,
    IN_WORDS,
    INS_BIT,
    MORE_ROOM,
    MOST_CALLERS,
    MOST_FUNCTIONS,
    OUT_WORDS,
    OUTS_BIT,
    PLACE_BIT,
    RECORD,
    STACK_BIT,
    STACK_WORDS,
    WORD,
)

PIECE = 1 << 11  # records that are asked for at once: 256 KB
GAP = 64  # words that nobody asked for, rather than ask twice
PARTS = (STACK_WORDS, FLOATS, OUT_WORDS, IN_WORDS, MOST_CALLERS)  # words of a record at most
BITS = (STACK_BIT, FLOATS_BIT, OUTS_BIT, INS_BIT, CALLERS_BIT, HAS_OUT_BIT)  # where these begin in FUNCTION, and end
Words = tuple[int, ...]


def place_of(function: int) -> int:
    return function >> PLACE_BIT


def spans(functions: Iterable[int], records: int) -> Iterable[tuple[int, int, list[int]]]:
    """(first word, behind the last one, whose) to be read at once, of FUNCTIONs of fronts."""
    start = end = 0
    them: list[int] = []
    wanted = (one for one in functions if has_more(one) and place_of(one) < records * MORE_ROOM)
    for one in sorted(wanted, key=place_of):
        place = place_of(one)
        if them and (place > end + GAP or place > start + PIECE * MORE_ROOM):
            yield start, end, them
            them = []
        start, end = (start if them else place), max(end if them else 0, place + sum(sizes_of(one) or ()))
        them.append(one)
    if them:
        yield start, end, them


def has_more(function: int) -> bool:
    return any(sizes_of(function) or ())


def sizes_of(function: int) -> tuple[int, ...] | None:
    """How many words of more there are: STACK, FLOATS, OUTS, INS, CALLERS; None where that cannot be."""
    return sizes(function % (1 << HAS_OUT_BIT) >> STACK_BIT)


@functools.lru_cache(maxsize=4096)
def sizes(shape: int) -> tuple[int, ...] | None:
    found = tuple(shape >> begin - STACK_BIT & (1 << end - begin) - 1 for begin, end in zip(BITS, BITS[1:]))
    return None if any(size > most for size, most in zip(found, PARTS)) else found


def more_words(raw: bytes, at: int, function: int) -> Words:
    """() where it is not there."""
    count = sum(sizes_of(function) or ())
    return struct.unpack_from(f"<{count}Q", raw, at) if at + count * WORD <= len(raw) else ()


def joined(front: Words, more: Words) -> tuple[Words, tuple[int, ...]] | None:
    """The words of a record that a ring has in a front and more, and how many there are of each part; None where that
    cannot be."""
    function, start, end = front[RECORD["FUNCTION"]], RECORD["FUNCTION"], FRONT["OUTS"]
    found = sizes_of(function)
    if found is None or sum(found) != len(more):
        return None
    if function >> HAS_OUT_BIT & 1:
        if found[2]:
            return None
        before = found[0] + found[1]
        more, found = more[:before] + front[end:] + more[before:], (*found[:2], FRONT_OUT_WORDS, *found[3:])
    return (*front[:start], function % MOST_FUNCTIONS, *front[start + 1 : end], *more), found
