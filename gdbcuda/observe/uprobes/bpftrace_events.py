"""What bpftrace prints (``-f json``), as events: a call that begins, one that returns, how many the kernel lost.

bpftrace 0.17 writes a byte that is no ASCII as \\uffffff80, which JSON takes for something else.
"""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Iterator
from typing import NamedTuple, Union

from gdbcuda.observe.uprobes.bpftrace_text import ENDED, READY

Words = tuple[int, ...]
ESCAPE = re.compile(r"\\(?:u[fF]{6}([0-9a-fA-F]{2})|.)", re.DOTALL)
LONGEST_WAIT = 2 * 10**9  # nanoseconds that an event of one processor may come after those of others


class Entered(NamedTuple):
    """``texts``: as they stand in the line, for only who knows how many there are can tell them apart."""

    time: int
    number: int
    pid: int
    tid: int
    sp: int
    back: int
    ip: int
    code: int
    words: Words
    comm: str
    texts: str


class Left(NamedTuple):
    time: int
    number: int
    tid: int
    sp: int
    result: int
    words: Words
    texts: str


class Lost(NamedTuple):
    events: int


class Mark(NamedTuple):
    """READY or ENDED."""

    which: str


Seen = Union[Entered, Left, Lost, Mark]


def read(line: str) -> Seen | None:
    """None for a line that is nothing of ours."""
    try:
        found = json.loads(sound(line))
        kind, data = found["type"], found["data"]
        if kind == "lost_events":
            return Lost(int(data["events"]))
        return printed(data) if kind == "printf" else None
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return None


def sound(line: str) -> str:
    """Bytes as lone surrogates, which `json` takes."""
    return ESCAPE.sub(lambda found: f"\\udc{found[1].lower()}" if found[1] else found[0], line)


def printed(data: str) -> Seen | None:
    numbers, _, texts = data.removesuffix("\n").partition("|")
    kind, *fields = numbers.split(" ")
    if kind in (READY, ENDED):
        return Mark(kind)
    number, (time, *rest) = int(fields[0]), [int(field, 16) for field in fields[1:]]
    if kind == "B":
        pid, tid, sp, back, ip, code, *words = rest
        comm, _, texts = texts.partition("|")
        return Entered(time, number, pid, tid, sp, back, ip, code, tuple(words), comm, texts)
    if kind == "E":
        tid, sp, result, *words = rest
        return Left(time, number, tid, sp, result, tuple(words), texts)
    return None


class InOrder:
    """Events by time: each processor's come in order, but not those of several."""

    def __init__(self, longest_wait: int = LONGEST_WAIT) -> None:
        self.held: list[tuple[int, int, Entered | Left]] = []
        self.count = self.newest = 0
        self.longest_wait = longest_wait

    def add(self, event: Entered | Left) -> Iterator[Entered | Left]:
        """And take what nothing can come before any more."""
        self.count += 1
        self.newest = max(self.newest, event.time)
        heapq.heappush(self.held, (event.time, self.count, event))
        while self.held and self.held[0][0] < self.newest - self.longest_wait:
            yield heapq.heappop(self.held)[2]

    def rest(self) -> Iterator[Entered | Left]:
        while self.held:
            yield heapq.heappop(self.held)[2]
