"""Where recorded calls go. A sink has ``entry`` and ``exit`` for each call, ``note`` for what they refer to."""

from __future__ import annotations

import heapq
import json
import math
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from operator import itemgetter
from typing import Any, Callable, Optional, Protocol

from gdbcuda.calls import record
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import References, process_of
from gdbcuda.errors import cannot
from gdbcuda.files import user_files

ENCODE = json.JSONEncoder(separators=(",", ":")).encode  # json.dumps makes an encoder for each line
TimedEvent = tuple[float, bool, Call, Optional[Call]]  # whether it is an end; of a begin, the call around it


class Sink(Protocol):
    def note(self, ts: float, kind: str, details: dict[str, Any]) -> None: ...

    def entry(self, call: Call) -> None: ...

    def exit(self, call: Call) -> None: ...

    def close(self) -> None: ...


class JsonLines:
    """A file, written as it happens: each event leaves this process at once, so a killed debugger loses none.

    `UserError` if it cannot be written. Later, when the disk is full, ``complain`` gets that text, once, if it is
    there: whoever records goes on without the file."""

    def __init__(self, path: str, header: dict[str, Any], complain: Callable[[str], None] | None = None) -> None:
        self.path, self.complain, self.is_broken = path, None, False  # type: str, Callable[[str], None] | None, bool
        self.file = user_files.create(path)
        self.write(header)
        self.complain = complain

    def write(self, line: dict[str, Any]) -> None:
        if self.is_broken:
            return
        try:
            self.file.write(ENCODE(line) + "\n")
        except OSError as problem:
            self.is_broken = True
            told = cannot(f"write {self.path}", problem)
            if self.complain is None:
                self.close()
                raise told from None
            self.complain(str(told))

    def note(self, ts: float, kind: str, details: dict[str, Any]) -> None:
        self.write(record.note(ts, kind, details))

    def entry(self, call: Call) -> None:
        self.write(record.begin(call))

    def exit(self, call: Call) -> None:
        self.write(record.end(call))

    def close(self) -> None:
        with suppress(OSError):  # what could not be written is tried once more
            self.file.close()


class Kept:
    """The last ``limit`` calls in memory (0: all), and everything they refer to."""

    def __init__(self, limit: int) -> None:
        self.calls: deque[Call] = deque(maxlen=limit or None)
        self.notes = References()
        self.lines: dict[tuple[str, Any], tuple[float, dict[str, Any]]] = {}
        self.total = 0

    def limit(self, count: int) -> None:
        if self.calls.maxlen != (count or None):
            self.calls = deque(self.calls, maxlen=count or None)

    def clear(self) -> None:
        self.calls.clear()
        self.total = 0

    def note(self, ts: float, kind: str, details: dict[str, Any]) -> None:
        self.notes.add(kind, details)
        thing = next((details[key] for key in ("address", "thread", "file", "name") if key in details), None)
        self.lines[kind, (process_of(details), thing)] = (ts, details)

    def entry(self, call: Call) -> None:
        self.calls.append(call)
        self.total += 1

    def exit(self, call: Call) -> None:
        """The call is kept since its entry."""

    def close(self) -> None:
        """Nothing to give back."""

    @property
    def lost(self) -> int:
        return self.total - len(self.calls)

    def replay(self, sink: Sink) -> None:
        """Writes what is kept to another sink, in the order of time."""
        for (kind, _), (ts, details) in self.lines.items():
            sink.note(ts, kind, details)
        for is_end, call in in_order(self.calls):
            (sink.exit if is_end else sink.entry)(call)


def in_order(calls: Collection[Call]) -> list[tuple[bool, Call]]:
    """Begins, and ends (True), by time."""
    return by_time(calls, [call for call in calls if call.end is not None])


def as_it_happened(calls: Iterable[Call]) -> Iterator[tuple[bool, Call]]:
    """The same of very many calls, which come by time and are numbered so: none is held but those that are open."""
    ends: list[tuple[float, int, Call]] = []  # of those of one moment the innermost first
    for call in calls:
        while ends and is_over_at(ends[0][2], call):
            yield True, heapq.heappop(ends)[2]
        yield False, call
        if call.end is not None:
            heapq.heappush(ends, (call.end, -call.number, call))
    while ends:
        yield True, heapq.heappop(ends)[2]


def is_over_at(one: Call, call: Call) -> bool:
    """In front of the other's begin. A call without any duration may begin as the one around it ends."""
    is_around = one.thread == call.thread and one.depth < call.depth
    return one.last_seen < call.start or (one.last_seen == call.start and not is_around)


def by_time(begun: Collection[Call], ended: Collection[Call]) -> list[tuple[bool, Call]]:
    """Begins of some calls, and ends of some. Stamps may be equal: then each thread's are in the order in
    which they were, as the depths of its calls tell it."""
    threads: defaultdict[Any, list[Call]] = defaultdict(list)
    for call in sorted({*begun, *ended}, key=lambda call: (call.start, call.number)):
        threads[call.process, call.lwp, call.thread].append(call)
    wanted = {False: {*begun}, True: {*ended}}
    rows = [row for some in threads.values() for row in as_nested(some) if row[2] in wanted[row[1]]]
    return [row[1:3] for row in sorted(rows, key=itemgetter(0))]  # a stable sort


def as_nested(calls: Iterable[Call]) -> Iterator[TimedEvent]:
    """Of one thread, as its calls come; the ends of what is open then have no time. (Work of a GPU may overlap at one
    depth: only for equal times is this order kept.)"""
    under_way: list[Call] = []
    for call in calls:
        while under_way and under_way[-1].depth >= call.depth:
            yield over(under_way.pop())
        yield call.start, False, call, under_way[-1] if under_way else None
        under_way.append(call)
    yield from map(over, reversed(under_way))


def over(call: Call) -> TimedEvent:
    return math.inf if call.end is None else call.end, True, call, None
