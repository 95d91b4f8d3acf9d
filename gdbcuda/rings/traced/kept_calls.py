"""Calls of a thread one behind the other in a file, as `gdbcuda trace --all` keeps them: read in pieces.

They are there in the order in which they were taken out of the ring: a call that had not returned then comes later.
"""

from __future__ import annotations

import functools
import struct
from array import array
from collections.abc import Iterable, Iterator
from heapq import merge
from typing import Callable

from gdbcuda.rings import ring, ring_words
from gdbcuda.rings.ring import Record
from gdbcuda.rings.ring_layout import CALL_BEGINS, RECORD, WORD

Sizes = tuple[int, ...]
SMALLEST, PIECE = 1 << 12, 1 << 18  # bytes that are read at once; a call has a kilobyte at most
POSITION_AND_MORE = struct.Struct(f"<{RECORD['BACK'] + 1}Q")


class Runs:
    """Which calls there are, by their positions: runs of those that follow each other, in order, and in which tick the
    first one of each began."""

    def __init__(self, found: Iterable[tuple[int, int, int]] = ()) -> None:
        self.starts, self.ends, self.entered = array("Q"), array("Q"), array("Q")
        for one in found:
            self.add(*one)

    def add(self, start: int, end: int, entered: int) -> None:
        """That begins no earlier than the last one."""
        if self.ends and start <= self.ends[-1] + 1:
            self.ends[-1] = max(self.ends[-1], end)
            return
        self.starts.append(start)
        self.ends.append(end)
        self.entered.append(entered)

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return zip(self.starts, self.ends, self.entered)

    @property
    def last(self) -> int:
        return self.ends[-1] if self.ends else 0

    def count(self) -> int:
        return sum(self.ends) - sum(self.starts) + len(self.starts)


class KeptCalls:
    """What ``read(offset, size)`` gives from ``begin`` to ``end``. ``late``: the positions of calls that stand behind
    later ones, and where; ``runs`` has all. Both are known once it has been looked through."""

    def __init__(self, read: Callable[[int, int], bytes], begin: int, end: int) -> None:
        self.read, self.begin, self.end, self.piece = read, begin, end, PIECE
        self.late: list[tuple[int, int]] = []
        self.runs = Runs()

    def look_through(
        self, before: int, seen: Callable[[int, ring_words.Words], None], told: Callable[[int], object]
    ) -> None:  # fmt: skip
        """For the calls behind position ``before``. ``seen``: of each its return address and those of its callers;
        ``told``: of each piece how many bytes it had."""
        late: list[tuple[int, int, int]] = []
        for offset, raw, at, sizes in self.walk(told):
            position, _, entered, back = POSITION_AND_MORE.unpack_from(raw, at)
            if position <= before:
                continue
            if position > self.runs.last:
                self.runs.add(position, position, entered)
            else:
                self.late.append((position, offset))
                late.append((position, position, entered))
            seen(back, callers(raw, at, sizes) if sizes[-1] else ())
        self.late.sort()
        self.runs = Runs(merge(self.runs, sorted(late)))

    def records(self, before: int) -> list[Iterator[Record]]:
        """Streams of them, each in order."""
        return [self.in_order(before), self.those_late()] if self.late else [self.in_order(before)]

    def in_order(self, before: int) -> Iterator[Record]:
        for _, raw, at, sizes in self.walk():
            one = record(raw, at, sizes)
            if one is not None and one.position > before:
                before = one.position
                yield one

    def those_late(self) -> Iterator[Record]:
        for _, offset in self.late:
            raw = self.read(offset, min(SMALLEST, self.end - offset))
            sizes = sizes_in(raw, 0)
            one = record(raw, WORD, sizes) if sizes is not None else None
            if one is not None:
                yield one

    def walk(self, told: Callable[[int], object] = int) -> Iterator[tuple[int, bytes, int, Sizes]]:
        """Of each where it is, bytes that it is in, where its words begin there, and how many it has of each part. Up
        to one that is cut, or none."""
        begin = self.begin
        while begin < self.end:
            raw = self.read(begin, min(self.piece, self.end - begin))
            at = 0
            while at + WORD <= len(raw):
                sizes = sizes_in(raw, at)
                if sizes is None:
                    return
                behind = at + WORD + words_of(sizes).size
                if behind > len(raw):
                    break
                yield begin + at, raw, at + WORD, sizes
                at = behind
            if not at:
                return
            begin += at
            told(at)


def sizes_in(raw: bytes, at: int) -> Sizes | None:
    """Of the call that begins there; None for none."""
    return sizes_of(int.from_bytes(raw[at : at + WORD], "little") ^ CALL_BEGINS)


@functools.lru_cache(maxsize=4096)
def sizes_of(shape: int) -> Sizes | None:
    found = tuple(shape >> shift & 0xFF for shift in (0, 8, 16, 24, 32))
    return None if shape >> 40 or any(size > most for size, most in zip(found, ring_words.PARTS)) else found


@functools.lru_cache(maxsize=4096)
def words_of(sizes: Sizes) -> struct.Struct:
    return struct.Struct(f"<{RECORD['STACK'] + sum(sizes)}Q")


def record(raw: bytes, at: int, sizes: Sizes) -> Record | None:
    return ring.record(words_of(sizes).unpack_from(raw, at), sizes)


def callers(raw: bytes, at: int, sizes: Sizes) -> ring_words.Words:
    return ring.callers(words_of(sizes).unpack_from(raw, at)[-sizes[-1] :])


def packed(words: ring_words.Words, sizes: Sizes) -> bytes:
    return begin_word(sizes) + words_of(sizes).pack(*words)


def begin_word(sizes: Sizes) -> bytes:
    shape = sum(size << shift for size, shift in zip(sizes, (0, 8, 16, 24, 32)))
    return (CALL_BEGINS | shape).to_bytes(WORD, "little")
