"""The files of a traced process as bytes: who is what in it, and the ring of one of its threads.

A file may be cut, or anything: what makes sense is taken, and nothing in it is trusted to be a length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from gdbcuda.calls import ring
from gdbcuda.calls.ring_layout import (
    A_FOLDER,
    A_FUNCTION,
    A_THREAD_WITHOUT_FILE,
    AN_OBJECT,
    ENTRY,
    MAGIC,
    MOST_ENTRIES,
    MOST_FUNCTIONS,
    PROCESS,
    RECORD,
    RING,
    RING_HEADER,
    VERSION,
    WORD,
)
from gdbcuda.errors import UserError

HEADER, SIZE = RING_HEADER * WORD, ENTRY["SIZE"] * WORD
TEXT = ENTRY["TEXT"] * WORD
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
    has; ``without_file`` are the threads whose calls are in no file."""

    pid: int = 0
    parent: int = 0
    ticks: int = 0
    monotonic: int = 0
    realtime: int = 0
    folder: str = ""
    functions: dict[int, BoundFunction] = field(default_factory=dict)
    objects: list[LoadedObject] = field(default_factory=list)
    without_file: set[int] = field(default_factory=set)


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
    entries = list(entries_in(raw))
    objects = {index: LoadedObject(one[2], one[4]) for index, one in entries if one[0] == AN_OBJECT}
    found.objects = list(objects.values())
    for _, (kind, number, address, where, text) in entries:
        if kind == A_FUNCTION and number < MOST_FUNCTIONS:
            found.functions[number] = BoundFunction(text, address, objects.get(where))
        elif kind == A_THREAD_WITHOUT_FILE:
            found.without_file.add(number)
        elif kind == A_FOLDER:
            found.folder = text
    return found


def entries_in(raw: bytes) -> Iterator[tuple[int, tuple[int, int, int, int, str]]]:
    """(its number from 1, (kind, number, address, object, text)) of each that is whole."""
    for index, at in enumerate(range(HEADER, min(len(raw) - SIZE + 1, HEADER + MOST_ENTRIES * SIZE), SIZE), 1):
        numbers = struct.unpack_from("<4Q", raw, at)
        text = raw[at + TEXT : at + SIZE].partition(b"\0")[0].decode("utf-8", "surrogateescape")
        yield index, (*numbers, text)


@dataclass
class RingFile:
    """``clock``: as `ring.Ring` has it. ``records`` in the order of their entries, ``begun``: how many there were."""

    lwp: int
    pid: int
    clock: ring.Words
    records: list[ring.Record]
    begun: int

    @property
    def lost(self) -> int:
        return self.begun - len(self.records)


def ring_file(raw: bytes) -> RingFile:
    """`UserError` for what is no such file."""
    if len(raw) < HEADER:
        raise UserError("its beginning is missing")
    head = struct.unpack_from(f"<{RING['SIZE']}Q", raw)
    records = head[RING["RECORDS"]]
    if not 0 < records <= ring.MOST_RECORDS or records & records - 1:
        raise UserError("no ring of gdbcuda trace")
    found = sorted(records_in(raw, records))
    begun = found[-1].position if found else 0
    kept = [one for one in found if one.position > begun - records]
    return RingFile(head[RING["LWP"]] % PIDS, head[RING["PID"]] % PIDS,
                    tuple(head[RING["FIRST_TICKS"] : RING["LATER_NS"] + 1]), kept, begun)  # fmt: skip


def records_in(raw: bytes, records: int) -> Iterator[ring.Record]:
    """Each that is where it belongs."""
    whole = min((len(raw) - HEADER) // ring.SIZE, records)
    pieces = struct.iter_unpack(f"<{ring.SIZE // WORD}Q", raw[HEADER : HEADER + whole * ring.SIZE])
    for place, words in enumerate(pieces):
        position = words[RECORD["POSITION"]]
        one = ring.record(words, position) if position and (position - 1) % records == place else None
        if one is not None:
            yield one
