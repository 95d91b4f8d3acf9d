"""The file of one thread's ring: what it has goes where calls are kept one behind the other."""

from __future__ import annotations

from typing import Callable

from gdbcuda.errors import UserError
from gdbcuda.rings import ring, ring_words
from gdbcuda.rings.kept_calls import packed
from gdbcuda.rings.ring_layout import FRONT, MOST_RECORDS, RECORD, RING, RING_HEADER, RING_RECORD, WORD

HEADER = RING_HEADER * WORD


class NotBegun(UserError):
    """The process ended while the ring was made: the thread had recorded nothing."""


def header(raw: bytes) -> ring_words.Words:
    """`UserError` for what is no such file."""
    if len(raw) < HEADER:
        raise UserError("its beginning is missing")
    head = ring.HEAD.unpack_from(raw)
    records = head[RING["RECORDS"]]
    if not records:
        raise NotBegun("no call was recorded in it yet")
    if not 0 < records <= MOST_RECORDS or records & records - 1:
        raise UserError("no ring of gdbcuda trace")
    return head


class RingFile:
    """``begun``: how many calls there were, ever; ``places``: (position, place) of those that are there, in order."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.head = raw, header(raw)
        self.records = self.head[RING["RECORDS"]]
        found = sorted(self.sound())
        self.begun = found[-1][0] if found else 0
        self.places = [one for one in found if one[0] > self.begun - self.records]

    @property
    def is_cut(self) -> bool:
        return len(self.raw) < HEADER + self.records * RING_RECORD * WORD

    def leave_out(self, again: bytes) -> None:
        """What a thread has begun to overwrite meanwhile: ``again`` are the `fronts` as they were then."""
        positions = column(again, "POSITION")
        self.places = [(position, place) for position, place in self.places if positions[place] == position]

    def fronts(self) -> tuple[int, int]:
        """(where they begin in the file, how many bytes they have)"""
        return HEADER, min(self.records, (len(self.raw) - HEADER) // ring.FRONT_SIZE) * ring.FRONT_SIZE

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
        return HEADER + self.records * ring.FRONT_SIZE + ring_words.place_of(function) * WORD

    def copy(self, write: Callable[[bytes], object]) -> None:
        for _, place in self.places:
            front = ring.A_FRONT.unpack_from(self.raw, HEADER + place * ring.FRONT_SIZE)
            function = front[RECORD["FUNCTION"]]
            found = ring_words.joined(front, ring_words.more_words(self.raw, self.more_at(function), function))
            if found is not None:
                write(packed(*found))


def column(fronts: bytes, name: str) -> list[int]:
    return memoryview(fronts).cast("Q")[RECORD[name] :: FRONT["SIZE"]].tolist()
