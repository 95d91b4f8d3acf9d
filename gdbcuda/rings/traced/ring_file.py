"""The file of one thread's ring: what it has goes where calls are kept one behind the other."""

from __future__ import annotations

import functools
from typing import Callable, NamedTuple

from gdbcuda.errors import UserError
from gdbcuda.files.reading import Source
from gdbcuda.rings import ring, ring_words
from gdbcuda.rings.ring_layout import (
    FILE_HEADER,
    FRONT,
    FRONT_OUT_WORDS,
    HAS_OUT_BIT,
    MORE_ROOM,
    MOST_FUNCTIONS,
    MOST_RECORDS,
    PAST_ROOM,
    PLACE_BIT,
    RECORD,
    RING,
    RING_RECORD,
    STACK_BIT,
    WORD,
)
from gdbcuda.rings.traced import kept_calls

AHEAD = 64  # calls that a thread may make while its file is read
NUMBER, BEHIND_NUMBER, OUTS = RECORD["FUNCTION"] * WORD, (RECORD["FUNCTION"] + 1) * WORD, FRONT["OUTS"] * WORD


class NotBegun(UserError):
    """The process ended while the ring was made: the thread had recorded nothing."""


def header(raw: bytes | bytearray) -> ring_words.Words:
    """`UserError` for what is no such file."""
    if len(raw) < FILE_HEADER:
        raise UserError("its beginning is missing")
    head = ring.HEAD.unpack_from(raw)
    records = head[RING["RECORDS"]]
    if not records:
        raise NotBegun("no call was recorded in it yet")
    if not 0 < records <= MOST_RECORDS or records & records - 1:
        raise UserError("no ring of gdbcuda trace")
    return head


def read(source: Source) -> RingFile:
    """Of a ring that has not come round only what it has come to, if all that is there agrees with it: with a thread
    for each request there are thousands of files, of some megabytes each."""
    head = header(source.read(0, min(source.size, FILE_HEADER), "it"))
    records, fronts, more = head[RING["RECORDS"]], head[RING["HEAD"]] + AHEAD, head[RING["MORE"]] + 2 * PAST_ROOM
    begin_of_more = FILE_HEADER + records * ring.FRONT_SIZE
    if fronts < records and more < records * MORE_ROOM and source.size >= begin_of_more + more * WORD:
        raw = bytearray(source.size)  # which takes no memory where nothing is written
        for at, end in ((0, FILE_HEADER + fronts * ring.FRONT_SIZE), (begin_of_more, begin_of_more + more * WORD)):
            raw[at:end] = source.read(at, end - at, "it")
        found = RingFile(raw, fronts)
        if found.is_within(head[RING["HEAD"]], begin_of_more + more * WORD):
            return found
    return RingFile(source.read(0, source.size, "it"))


class RingFile:
    """``begun``: how many calls there were, ever; ``places``: (position, place) of those that are there, in order.
    ``used``: from that record on nothing has been read."""

    def __init__(self, raw: bytes | bytearray, used: int = MOST_RECORDS) -> None:
        self.raw, self.head = raw, header(raw)
        self.records = self.head[RING["RECORDS"]]
        self.used = min(used, self.records)
        found = sorted(self.sound())
        self.begun = found[-1][0] if found else 0
        self.places = [one for one in found if one[0] > self.begun - self.records]

    @property
    def is_cut(self) -> bool:
        return len(self.raw) < FILE_HEADER + self.records * RING_RECORD * WORD

    def leave_out(self, again: bytes) -> None:
        """What a thread has begun to overwrite meanwhile: ``again`` are the `fronts` as they were then."""
        words = memoryview(again).cast("Q")
        now = {place: words[place * FRONT["SIZE"] + FRONT["POSITION"]] for _, place in self.places}
        self.places = [(position, place) for position, place in self.places if now[place] == position]

    def fronts(self) -> tuple[int, int]:
        """(where they begin in the file, how many bytes they have)"""
        return FILE_HEADER, min(self.used, (len(self.raw) - FILE_HEADER) // ring.FRONT_SIZE) * ring.FRONT_SIZE

    def is_within(self, head: int, end: int) -> bool:
        """Calls up to ``head`` at least are there, the last place is free, and all have what they have in front of
        ``end``."""
        at, size = self.fronts()
        fronts = self.raw[at : at + size]
        functions = column(fronts, "FUNCTION")
        ends = (self.more_at(functions[place]) + sum(ring_words.sizes_of(functions[place]) or ()) * WORD
                for _, place in self.places)  # fmt: skip
        return self.begun >= head and not column(fronts, "POSITION")[-1] and all(one <= end for one in ends)

    def sound(self) -> list[tuple[int, int]]:
        """(position, place) of each that is where it belongs, and not cut."""
        at, size = self.fronts()
        fronts = self.raw[at : at + size]
        return [(position, place) for place, (position, function) in
                enumerate(zip(column(fronts, "POSITION"), column(fronts, "FUNCTION")))
                if position and (position - 1) % self.records == place and self.has_more(function)]  # fmt: skip

    def has_more(self, function: int) -> bool:
        sizes = ring_words.sizes_of(function)
        return sizes is not None and (not any(sizes) or self.more_at(function) + sum(sizes) * WORD <= len(self.raw))

    def more_at(self, function: int) -> int:
        return FILE_HEADER + self.records * ring.FRONT_SIZE + ring_words.place_of(function) * WORD

    def copy(self, write: Callable[[bytes], object]) -> None:
        raw = self.raw
        for _, place in self.places:
            at = FILE_HEADER + place * ring.FRONT_SIZE
            function = int.from_bytes(raw[at + NUMBER : at + BEHIND_NUMBER], "little")
            shape = shape_of(function % (1 << PLACE_BIT) >> STACK_BIT)
            if shape is None:
                continue
            begin, before, size = shape.begin, self.more_at(function) if shape.size else 0, shape.size
            more = raw[before : before + size]
            if len(more) < size:
                continue
            number = (function % MOST_FUNCTIONS).to_bytes(WORD, "little")
            front = raw[at : at + NUMBER], number, raw[at + BEHIND_NUMBER : at + OUTS]
            if shape.outs_at is None:
                write(b"".join((begin, *front, more)))
            else:
                outs = raw[at + OUTS : at + ring.FRONT_SIZE]
                write(b"".join((begin, *front, more[: shape.outs_at], outs, more[shape.outs_at :])))


class Shape(NamedTuple):
    """Of a record: the word that it begins with where it is kept, bytes beside its front, and where among them those
    outs come that are in the front; None where they are not."""

    begin: bytes
    size: int
    outs_at: int | None


@functools.lru_cache(maxsize=4096)
def shape_of(bits: int) -> Shape | None:
    """By FUNCTION from STACK_BIT up to PLACE_BIT; None where that cannot be."""
    sizes = ring_words.sizes_of(bits << STACK_BIT)
    if sizes is None:
        return None
    size, outs_at = sum(sizes) * WORD, None
    if bits >> HAS_OUT_BIT - STACK_BIT & 1:
        if sizes[2]:
            return None
        sizes, outs_at = (*sizes[:2], FRONT_OUT_WORDS, *sizes[3:]), (sizes[0] + sizes[1]) * WORD
    return Shape(kept_calls.begin_word(sizes), size, outs_at)


def column(fronts: bytes | bytearray, name: str) -> list[int]:
    return memoryview(fronts).cast("Q")[RECORD[name] :: FRONT["SIZE"]].tolist()
