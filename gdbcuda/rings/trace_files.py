"""The files of a traced process as bytes: who is what in it, and the ring of one of its threads.

A file may be cut, or anything: what makes sense is taken, and nothing in it is trusted to be a length.
"""

from __future__ import annotations

import functools
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Callable

from gdbcuda.errors import UserError
from gdbcuda.rings import ring, ring_words
from gdbcuda.rings.ring_file import RingFile
from gdbcuda.rings.ring_layout import (
    A_FILTER,
    A_FOLDER,
    A_FUNCTION,
    A_THREAD_WITHOUT_FILE,
    AN_OBJECT,
    CALL_BEGINS,
    ENTRY,
    FRONT,
    MAGIC,
    MOST_ENTRIES,
    MOST_FUNCTIONS,
    MOST_RECORDS,
    PAST_LIBC,
    PAST_PLT,
    PROCESS,
    RECORD,
    RING,
    RING_HEADER,
    RING_RECORD,
    VERSION,
    WORD,
)

HEADER, SIZE = RING_HEADER * WORD, ENTRY["SIZE"] * WORD
TEXT = ENTRY["TEXT"] * WORD
Progress = Callable[[int], None]  # told how many bytes have been read
OFTEN, PIECE = 1 << 10, 1 << 18  # records of a ring, and bytes of those that are kept, between two looks at the clock
PIDS = 1 << 22  # Linux has no larger ones
LARGEST_TIME = 1 << 62  # nanoseconds


@dataclass(frozen=True)
class LoadedObject:
    address: int
    file: str


@dataclass(frozen=True)
class BoundFunction:
    name: str
    address: int
    object: LoadedObject | None


@dataclass
class TracedProcess:
    """``ticks``, ``monotonic`` and ``realtime`` (nanoseconds) are one moment. ``functions`` by the number that a record
    has; ``without_file`` are the threads whose calls are in no file, ``filtered`` the functions of which only the
    wanted calls are there; ``past_libc``: for these libraries the recorder has made no system call; ``past_plt``: what
    they call through slots is not recorded; ``missed``: calls of threads that could note none, once the program had
    confined itself."""

    pid: int = 0
    parent: int = 0
    ticks: int = 0
    monotonic: int = 0
    realtime: int = 0
    folder: str = ""
    functions: dict[int, BoundFunction] = field(default_factory=dict)
    objects: list[LoadedObject] = field(default_factory=list)
    without_file: set[int] = field(default_factory=set)
    filtered: set[int] = field(default_factory=set)
    past_libc: set[str] = field(default_factory=set)
    past_plt: set[str] = field(default_factory=set)
    missed: int = 0


def process(raw: bytes) -> TracedProcess:
    """`UserError` for what is no such file."""
    if len(raw) < PROCESS["SIZE"] * WORD:
        raise UserError("its beginning is missing")
    words = struct.unpack_from(f"<{PROCESS['SIZE']}Q", raw)
    if words[PROCESS["MAGIC"]] != MAGIC:
        raise UserError("not written by gdbcuda trace")
    if words[PROCESS["VERSION"]] != VERSION:
        raise UserError("written by another version of gdbcuda")
    pid, parent = (words[PROCESS[name]] % PIDS for name in ("PID", "PARENT"))
    times = [words[PROCESS[name]] % LARGEST_TIME for name in ("TICKS", "MONOTONIC", "REALTIME")]
    found = TracedProcess(pid, parent, *times)
    found.missed = words[PROCESS["MISSED"]] % LARGEST_TIME
    entries = list(entries_in(raw))
    objects = {index: LoadedObject(one[2], one[4]) for index, one in entries if one[0] == AN_OBJECT}
    found.objects = list(objects.values())
    for _, (kind, number, address, where, text) in entries:
        if kind == A_FUNCTION and number < MOST_FUNCTIONS:
            found.functions[number] = BoundFunction(text, address, objects.get(where))
        elif kind == A_THREAD_WITHOUT_FILE:
            found.without_file.add(number)
        elif kind == A_FILTER:
            found.filtered.add(number)
        elif kind == PAST_LIBC:
            found.past_libc.add(text)
        elif kind == PAST_PLT and where in objects:
            found.past_plt.add(os.path.basename(objects[where].file))
        elif kind == A_FOLDER:
            found.folder = text
    return found


def entries_in(raw: bytes) -> Iterator[tuple[int, tuple[int, int, int, int, str]]]:
    """(its number from 1, (kind, number, address, object, text)) of each that is whole."""
    for index, at in enumerate(range(HEADER, min(len(raw) - SIZE + 1, HEADER + MOST_ENTRIES * SIZE), SIZE), 1):
        numbers = struct.unpack_from("<4Q", raw, at)
        text = raw[at + TEXT : at + SIZE].partition(b"\0")[0].decode("utf-8", "surrogateescape")
        yield index, (*numbers, text)


def untold(count: int) -> None:
    """Nobody wants to know how far the reading has come."""


def ring_file(raw: bytes, told: Progress = untold, again: bytes | None = None) -> RingFile:
    """`UserError` for what is no such file. ``told``: of each piece that has been read, in bytes. ``again``: its
    `fronts` as they were behind ``raw``, where a thread may have written meanwhile; what it has begun to overwrite
    is left out."""
    head, records = header(raw)
    found = sorted(records_in(raw, records, told))
    begun = found[-1].position if found else 0
    found = [one for one in found if one.position > begun - records]
    return made(head, found if again is None else still_there(found, records, again), begun)


def fronts(raw: bytes) -> tuple[int, int]:
    """(where they begin in the file of a ring, how many bytes they have)"""
    _, records = header(raw)
    return HEADER, min(records, (len(raw) - HEADER) // ring.FRONT_SIZE) * ring.FRONT_SIZE


def still_there(found: list[ring.Record], records: int, again: bytes) -> list[ring.Record]:
    positions = memoryview(again).cast("Q")[RECORD["POSITION"] :: FRONT["SIZE"]].tolist()
    return [one for one in found if positions[(one.position - 1) % records] == one.position]


def kept_file(raw: bytes, told: Progress = untold) -> RingFile:
    """The same of calls that are kept one behind the other."""
    head, _ = header(raw)
    if head[RING["COPY"]] != MAGIC:
        raise UserError("no calls of gdbcuda trace --all")
    found = {one.position: one for one in kept_records(raw, told)}
    made_of = made(head, [found[position] for position in sorted(found)], max(found, default=0))
    made_of.is_kept = True
    return made_of


class NotBegun(UserError):
    """The process ended while the ring was made: the thread had recorded nothing."""


def header(raw: bytes) -> tuple[ring_words.Words, int]:
    if len(raw) < HEADER:
        raise UserError("its beginning is missing")
    head = struct.unpack_from(f"<{RING['SIZE']}Q", raw)
    records = head[RING["RECORDS"]]
    if not records:
        raise NotBegun("no call was recorded in it yet")
    if not 0 < records <= MOST_RECORDS or records & records - 1:
        raise UserError("no ring of gdbcuda trace")
    return head, records


def made(head: ring_words.Words, records: list[ring.Record], begun: int) -> RingFile:
    clock = tuple(head[RING["FIRST_TICKS"] : RING["LATER_NS"] + 1])
    before = head[RING["BEFORE"]]
    here = [one for one in records if one.position > before]
    return RingFile(head[RING["LWP"]] % PIDS, head[RING["PID"]] % PIDS, clock, here, max(begun - before, len(here)),
                    before, head[RING["RECORDS"]])  # fmt: skip


def records_in(raw: bytes, records: int, told: Progress) -> Iterator[ring.Record]:
    """Each that is where it belongs."""
    at, size = fronts(raw)
    count = size // ring.FRONT_SIZE
    for place, front in enumerate(struct.iter_unpack(f"<{FRONT['SIZE']}Q", memoryview(raw)[at : at + size])):
        if place % OFTEN == 0:
            told(min(OFTEN, count - place) * RING_RECORD * WORD)
        position = front[RECORD["POSITION"]]
        if not position or (position - 1) % records != place:
            continue
        function = front[RECORD["FUNCTION"]]
        at = HEADER + records * ring.FRONT_SIZE + ring_words.place_of(function) * WORD
        one = ring.record(ring_words.whole(front, ring_words.more_words(raw, at, function)), position)
        if one is not None:
            yield one


def kept_records(raw: bytes, told: Progress) -> Iterator[ring.Record]:
    """Up to one that is cut, or none."""
    at = said = HEADER
    while at + WORD <= len(raw):
        found = sizes(int.from_bytes(raw[at : at + WORD], "little") ^ CALL_BEGINS)
        count = RECORD["STACK"] + sum(found or ())
        end = at + WORD * (1 + count)
        if found is None or end > len(raw):
            return
        words = struct.unpack_from(f"<{count}Q", raw, at + WORD)
        one = ring.record(ring_words.unpacked(words, found), words[RECORD["POSITION"]])
        if one is not None and one.position:
            yield one
        at = end
        if at - said > PIECE:
            told(at - said)
            said = at


@functools.lru_cache(maxsize=4096)
def sizes(shape: int) -> tuple[int, ...] | None:
    """How many words each part of a record has; None for what is no record."""
    found = tuple(shape >> shift & 0xFF for shift in (0, 8, 16, 24, 32))
    return None if shape >> 40 or any(size > most for size, most in zip(found, ring_words.PARTS)) else found
