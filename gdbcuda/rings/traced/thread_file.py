"""What there is of one thread's calls: kept in a file, and in its ring. Read as a stream."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from tempfile import SpooledTemporaryFile
from typing import Callable

from gdbcuda.data_classes import dataclass, replace
from gdbcuda.errors import UserError
from gdbcuda.files.reading import Source
from gdbcuda.files.word_layout import MOST_PIDS
from gdbcuda.rings.ring import Record
from gdbcuda.rings.ring_layout import FILE_HEADER, MAGIC, MOST_RECORDS, RING
from gdbcuda.rings.ring_words import Words
from gdbcuda.rings.traced import ring_file
from gdbcuda.rings.traced.kept_calls import PIECE, SMALLEST, KeptCalls, Runs
from gdbcuda.rings.traced.ring_file import header

IN_MEMORY = 64 << 20  # bytes of all rings' calls; more go into a file
position_of = itemgetter(0)  # of a record
Seen = Callable[[int, Words], None]


@dataclass
class ThreadFile:
    """``clock``: as `ring.Ring` has it. ``begun``: the position of the last call that there was, ``before``: of the
    last one before the ring was begun; ``places``: how many the ring has room for, ``wanted``: it was to have;
    ``parts``: where calls are, what is kept first; ``is_kept``: somebody has tried to keep all, and
    ``met_full_disk``; ``is_cut``: the end of the ring's file is missing. ``size``: bytes of the files, for a bar."""

    lwp: int
    pid: int
    clock: Words
    before: int
    places: int
    parts: list[KeptCalls]
    begun: int = 0
    size: int = 0
    is_kept: bool = False
    is_cut: bool = False
    wanted: int = 0
    met_full_disk: bool = False

    def joined(self, kept: ThreadFile) -> ThreadFile:
        """With those that are kept elsewhere."""
        clock = max(self.clock, kept.clock, key=lambda one: one[-1])
        return replace(self, clock=clock, parts=[*kept.parts, *self.parts], begun=max(self.begun, kept.begun),
                       size=self.size + kept.size, is_kept=True, met_full_disk=kept.met_full_disk)  # fmt: skip

    def look_through(self, seen: Seen, told: Callable[[int], object] = int) -> None:
        """Once: what is asked below is known then. ``told``: of half of the bytes of the files, as they are read."""
        whole = 2 * sum(part.end - part.begin for part in self.parts)
        for part in self.parts:
            part.look_through(self.before, seen, lambda read: told(read * self.size // whole))

    @functools.cached_property
    def runs(self) -> Runs:
        return Runs(merge(*(part.runs for part in self.parts)))

    @property
    def count(self) -> int:
        return self.runs.count()

    @property
    def lost(self) -> int:
        return max(self.begun, self.runs.last, self.before) - self.before - self.count

    @functools.cached_property
    def gaps(self) -> list[int]:
        """The positions behind those that are missing."""
        return [start for start in self.runs.starts if start > self.before + 1]

    @property
    def whole_from(self) -> int | None:
        """When the first call behind the last gap began, in ticks; None where no call is missing."""
        return self.runs.entered[-1] if self.gaps else None

    def records(self) -> Iterator[Record]:
        """In the order of their entries. Which one has a call's return, has it."""
        streams = [stream for part in self.parts for stream in part.records(self.before)]
        if len(streams) == 1:
            yield from streams[0]
            return
        for _, same in groupby(merge(*streams, key=position_of), position_of):
            some = list(same)
            yield next((one for one in some if one.left is not None), some[-1])


class RingCopies:
    """What the rings of a trace had when each was read: whoever records goes on, and takes them away at its end."""

    def __init__(self) -> None:
        self.file = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115

    def read(self, offset: int, size: int) -> bytes:
        self.file.seek(offset)
        return self.file.read(size)

    def thread(self, source: Source) -> ThreadFile:
        """`UserError` for what is no such file. What is made of a ring takes so long that a fast thread overwrites all:
        its file is read twice at once."""
        found = ring_file.read(source)
        found.leave_out(source.read(*found.fronts(), "it"))
        self.file.seek(0, os.SEEK_END)
        begin = self.file.tell()  # (seek gives nothing before Python 3.11)
        try:
            found.copy(self.file.write)
        except OSError as problem:
            raise UserError(f"no room for a copy of it ({problem.strerror})") from None
        part = KeptCalls(self.read, begin, self.file.tell())
        thread = made(found.head, part, found.begun, source.size)
        thread.is_cut = found.is_cut
        return thread

    def close(self) -> None:
        self.file.close()


def kept(source: Source) -> ThreadFile:
    """The same of calls that are kept one behind the other, as far as they are there now."""
    head = header(source.read(0, min(source.size, FILE_HEADER), "it"))
    if head[RING["COPY"]] != MAGIC:
        raise UserError("no calls of gdbcuda trace --all")
    part = KeptCalls(lambda at, size: source.read(at, size, "it"), FILE_HEADER, source.size)
    found = made(head, part, 0, source.size)
    found.is_kept = True
    return found


def made(head: Words, part: KeptCalls, begun: int, size: int) -> ThreadFile:
    clock = head[RING["FIRST_TICKS"] : RING["LATER_NS"] + 1]
    return ThreadFile(head[RING["LWP"]] % MOST_PIDS, head[RING["PID"]] % MOST_PIDS, clock, head[RING["BEFORE"]],
                      head[RING["RECORDS"]], [part], begun, size, wanted=min(head[RING["WANTED"]], MOST_RECORDS),
                      met_full_disk=bool(head[RING["NO_ROOM"]]))  # fmt: skip


def share_memory(threads: list[ThreadFile]) -> None:
    """What all of them read at once stays in bounds."""
    for one in threads:
        for part in one.parts:
            part.piece = max(SMALLEST, min(PIECE, IN_MEMORY // len(threads)))
