"""Logs of one run joined by time: which call of the API made which system calls.

A system call is inside the innermost call of its thread during whose time it began. Logs of different observers count
from different moments; their headers say when on the wall clock that was.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gdbcuda.calls.reader import END, Event, Log
from gdbcuda.calls.record import Call
from gdbcuda.calls.sinks import JsonLines, as_it_happened
from gdbcuda.calls.text import duration
from gdbcuda.data_classes import dataclass
from gdbcuda.text import render
from gdbcuda.text.sentences import counted

REQUEST = "request"  # which an ioctl alone has
NOTHING: dict[str, Any] = {}
OF_IOCTL: dict[str, Any] = {REQUEST: None}
NOTHING_BEHIND: list[int] = []
KERNEL, OUTSIDE = "kernel", "(outside of calls)"
TITLES = ("function", "layer", "calls", "system calls", "a call", "ioctls", "failed", "in the kernel")


@dataclass
class JoinedPart:
    """One log. ``header`` says when it began."""

    log: Log
    events: Iterable[Event]
    header: Mapping[str, Any]

    @property
    def started(self) -> float:
        found = self.header.get("started")
        return float(found) if isinstance(found, (int, float)) else 0.0


class Cost(NamedTuple):
    """Of a function in a layer, with all that is below its calls; ``seconds`` of the system calls."""

    function: str
    layer: str
    calls: int
    system_calls: int
    ioctls: int
    failed: int
    seconds: float


class Joined:
    """``calls``: all of them by time, numbered anew, those of the kernel inside those of the API. Where they are not to
    be written (``is_whole``) they have no values: a log may have millions."""

    def __init__(self, parts: Sequence[JoinedPart], is_whole: bool = True) -> None:
        self.parts, self.is_whole = list(parts), is_whole
        self.began = min((one.started for one in self.parts if one.started), default=0.0)
        self.notes: list[tuple[str, dict[str, Any]]] = []
        self.calls: list[Call] = []
        self.threads: dict[tuple[int, int, int], int] = {}
        for part in self.parts:
            self.read(part)
        nest(self.calls)
        renumber(self.calls)

    def read(self, part: JoinedPart) -> None:
        kept: list[tuple[str, Mapping[str, Any]]] = []
        part.log.kept = kept
        shift = part.started - self.began if part.started else 0.0
        first = len(self.calls)
        self.calls += (call if self.is_whole else without_values(call) for phase, call in part.events if phase == END)
        own = {call.number: call for call in self.calls[first:]}
        for call in self.calls[first:]:
            call.start += shift
            call.end = None if call.end is None else call.end + shift
            call.parent = id(own[call.parent]) if call.parent in own else None
            call.inferior = 0  # each observer has counted processes in its own way
            call.thread = self.thread(call)
        self.notes += [(kind, {**details, "inferior": 0}) for kind, details in kept if kind != "thread"]

    def thread(self, call: Call) -> int:
        """The same number for a thread of the kernel's number in all logs."""
        key = (call.lwp, 0, 0) if call.lwp else (0, call.pid, call.thread)
        return self.threads.setdefault(key, len(self.threads) + 1)

    def rows(self) -> list[Cost]:
        """Those that cost the most first; last what no call was around."""
        by_id = {call.number: call for call in self.calls}
        found: dict[tuple[str, str], list[float]] = {}
        for call in self.calls:
            if call.layer != KERNEL:
                found.setdefault((call.name, call.layer), [0, 0, 0, 0, 0.0])[0] += 1
                continue
            keys, parent = set(), call.parent
            while parent is not None:
                keys.add((by_id[parent].name, by_id[parent].layer))
                parent = by_id[parent].parent
            for key in keys or {(OUTSIDE, "")}:
                row = found.setdefault(key, [0, 0, 0, 0, 0.0])
                row[1] += 1
                row[2] += is_ioctl(call)
                row[3] += call.failed
                row[4] += call.seconds or 0.0
        costs = [Cost(*key, int(row[0]), int(row[1]), int(row[2]), int(row[3]), row[4]) for key, row in found.items()]
        return sorted(costs, key=lambda one: (one.function == OUTSIDE, -one.system_calls, one.function, one.layer))

    def write(self, path: str | None, header: Mapping[str, Any]) -> None:
        """A log of all, if anybody wants it."""
        if path is None:
            return
        sink = JsonLines(path, {**header, "started": self.began})
        for kind, details in self.notes:
            sink.note(0.0, kind, details)
        sink.note(0.0, "clocks", {"apart": max(late(self), default=0.0), "inferior": 0, "pid": 0})
        for call in {call.thread: call for call in self.calls}.values():
            sink.note(0.0, "thread", {"thread": call.thread, "lwp": call.lwp, "pid": call.pid, "inferior": 0})
        for is_end, call in as_it_happened(self.calls):
            (sink.exit if is_end else sink.entry)(call)
        sink.close()


def is_ioctl(call: Call) -> bool:
    return REQUEST in call.arguments


def without_values(call: Call) -> Call:
    call.arguments = OF_IOCTL if is_ioctl(call) else NOTHING
    call.out = call.addresses = NOTHING
    call.stack = NOTHING_BEHIND
    return call


def nest(calls: list[Call]) -> None:
    """Gives system calls their parents, by ``id``."""
    by_thread: dict[int, list[Call]] = {}
    for call in sorted(calls, key=lambda call: call.start):
        if call.layer != KERNEL and call.lwp:
            by_thread.setdefault(call.lwp, []).append(call)
    starts = {lwp: [call.start for call in some] for lwp, some in by_thread.items()}
    known = {id(call): call for call in calls}
    for call in calls:
        if call.layer != KERNEL or call.lwp not in by_thread:
            continue
        at = bisect.bisect_right(starts[call.lwp], call.start) - 1
        around = by_thread[call.lwp][at] if at >= 0 else None
        while around is not None and around.end is not None and around.end < call.start:
            around = known.get(around.parent) if around.parent is not None else None
        if around is not None:
            call.parent, call.pid = id(around), around.pid


def renumber(calls: list[Call]) -> None:
    """By time, an outer call first."""
    calls.sort(key=lambda call: (call.start, call.layer == KERNEL, call.depth))
    numbers = {id(call): number for number, call in enumerate(calls)}
    for number, call in enumerate(calls):
        call.number = number
        call.parent = numbers.get(call.parent) if call.parent is not None else None
    for call in calls:
        if call.layer == KERNEL:
            call.depth = calls[call.parent].depth + 1 if call.parent is not None else 0


def late(joined: Joined) -> list[float]:
    """By how many seconds system calls end after the call that made them, which cannot be."""
    ends = [(call.end, joined.calls[call.parent].end) for call in joined.calls
            if call.layer == KERNEL and call.parent is not None]  # fmt: skip
    return [own - outer for own, outer in ends if own is not None and outer is not None and own > outer]


def clocks(joined: Joined) -> str:
    """How far the clocks of the logs may be apart."""
    found = late(joined)
    if not found:
        return "None of them ends after the call that made it: the clocks of the logs agree so far."
    return (f"{len(found)} of them end up to {duration(max(found))} after the call that made them: "
            f"so far the clocks of the logs may be apart.")  # fmt: skip


def text(joined: Joined) -> str:
    total = [call for call in joined.calls if call.layer == KERNEL]
    if not total:
        return "No system calls: gdbcuda trace --with strace records them."
    names: dict[str, list[Call]] = {}
    for call in total:
        names.setdefault(call.name, []).append(call)
    head = f"{counted(len(total), 'system call')}, {duration(sum(call.seconds or 0.0 for call in total))}"
    rows = [(one.function, one.layer, one.calls or "", one.system_calls,
             f"{one.system_calls / one.calls:.3g}" if one.calls else "", one.ioctls, one.failed or "",
             duration(one.seconds)) for one in joined.rows() if one.system_calls]  # fmt: skip
    kinds = [(name, len(some), sum(one.failed for one in some) or "", duration(sum(one.seconds or 0 for one in some)))
             for name, some in sorted(names.items(), key=lambda item: -len(item[1]))]  # fmt: skip
    head += f".\n{clocks(joined)}" if any(call.parent is not None for call in total) else ""
    return "\n\n".join([head, render.table(rows, TITLES),
                        render.table(kinds, ("system call", "calls", "failed", "in the kernel"))])  # fmt: skip
