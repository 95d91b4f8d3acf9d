"""From the records of a ring to calls: which is inside which, when, and what was said and answered.

Records of a thread are in the order of their entries. A call ends at its return, or, where longjmp or an exception left
it, when a later one begins that is not as deep in the stack as what it calls is. Where records are missing in between,
nobody knows.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Container, Iterable, Iterator
from typing import Any, Callable

from gdbcuda import api, decode
from gdbcuda.calls import record
from gdbcuda.calls.record import Call
from gdbcuda.data_classes import dataclass, field
from gdbcuda.rings.ring import Record, Ring
from gdbcuda.rings.ring_functions import RecordedFunction, RingCall, arguments
from gdbcuda.rings.ring_layout import FRAME, IS_PYTHON, WORD
from gdbcuda.rings.ring_words import Words

NANOSECONDS = 1e9
IN_A_CALL = (FRAME["SIZE"] - FRAME["SLOT"] + 2) * WORD  # bytes of stack that it takes at least before it calls
UNNUMBERED = -1  # a call that nobody was told of


def seconds(found: Ring, tick: int) -> float:
    """CLOCK_MONOTONIC at that tick."""
    ticks, ns, _, _ = found.clock
    return (ns + (tick - ticks) * rate_of(found.clock)) / NANOSECONDS


def rate_of(clock: Words) -> float:
    """Nanoseconds a tick."""
    ticks, ns, later_ticks, later_ns = clock
    return (later_ns - ns) / (later_ticks - ticks) if later_ns > ns and later_ticks > ticks else 0.0


@dataclass
class OpenRecord:
    record: Record
    call: Call


@dataclass
class ThreadCalls:
    """Of one ring, read now and then. ``open``: the calls that the thread was in when it was read, outermost first;
    ``waiting``: by position, those whose return was not recorded yet; ``since``: the position from which none is
    missing up to the ``last`` one."""

    ring: Ring
    epoch: float = 0.0  # seconds of CLOCK_MONOTONIC that the calls' times begin with
    open: list[OpenRecord] = field(default_factory=list)
    waiting: dict[int, OpenRecord] = field(default_factory=dict)
    ended: list[Call] = field(default_factory=list)  # since it was last asked
    since: int = 0
    last: int = 0
    scale: tuple[Words | None, int, int, float] = (None, 0, 0, 0.0)  # of a clock: its ticks, nanoseconds, and rate

    def add(
        self, records: Iterable[Record], known: dict[int, RecordedFunction], table: api.Table
    ) -> Iterator[tuple[Call, Call | None]]:
        """Each call that has begun, and the one around it. Of functions that are not known there is none."""
        for one in records:
            if one.position in self.waiting:
                self.look_again(one, known, table)
            elif one.function in known:
                yield self.begin(one, known, table)

    def begin(
        self, one: Record, known: dict[int, RecordedFunction], table: api.Table
    ) -> tuple[Call, Call | None]:
        start = self.time(one.entered)
        self.leave(one, start)
        self.since, self.last = self.since if one.position == self.last + 1 else one.position, one.position
        around = self.open[-1].call if self.open else None
        call = begin(known[one.function], one, start, self.ring, table)
        call.depth = len(self.open)
        if one.back in self.ring.own:
            is_around_known = bool(self.open) and self.open[-1].record.position >= self.since
            set_tail_caller(call, around if is_around_known else None)
        self.open.append(OpenRecord(one, call))
        if one.left is None:
            self.waiting[one.position] = self.open[-1]
        else:
            self.finish(call, one, known, table)
        return call, around

    def look_again(self, one: Record, known: dict[int, RecordedFunction], table: api.Table) -> None:
        if one.left is not None:
            waiting = self.waiting.pop(one.position)
            waiting.record = one
            if waiting.call.end is None:  # else it was unwound
                self.finish(waiting.call, one, known, table)

    def finish(self, call: Call, one: Record, known: dict[int, RecordedFunction], table: api.Table) -> None:
        assert one.left is not None
        finish(call, known[one.function], one, self.time(one.left), table)
        self.ended.append(call)

    def leave(self, following: Record, now: float) -> None:
        """Those that the next call is not in."""
        while self.open:
            outer = self.open[-1].record
            is_behind_gap = outer.left is None and self.ring.has_gap_between(outer.position, following.position)
            is_around = outer.top - IN_A_CALL >= following.top if outer.left is None else outer.left > following.entered
            if is_around and not is_behind_gap:
                return
            call = self.open.pop().call
            if outer.left is None:
                is_lost = is_behind_gap or self.ring.was_overwritten(outer.position, following.position)
                self.end(call, now, record.RETURN_LOST if is_lost else record.UNWOUND)

    def time(self, tick: int) -> float:
        """Seconds, whole nanoseconds. (To round to DIGITS takes ten times as long.)"""
        clock, ticks, ns, rate = self.scale
        if clock is not self.ring.clock:
            clock = self.ring.clock
            ticks, ns, rate = clock[0], clock[1] - round(self.epoch * NANOSECONDS), rate_of(clock)
            self.scale = clock, ticks, ns, rate
        return round(ns + (tick - ticks) * rate) / NANOSECONDS

    def forget_ended(self) -> None:
        """Of a file nothing is read twice."""
        self.waiting.clear()
        self.ended.clear()

    def end(self, call: Call, now: float, why: str) -> None:
        call.end, call.ended = max(now, call.start), why
        self.ended.append(call)

    def abandon(self, now: float, why: str) -> None:
        """What is open is not told any more how it ends."""
        while self.open:
            call = self.open.pop().call
            if call.end is None:
                self.end(call, now, why)
        self.waiting.clear()


def numbered(begun: Iterable[tuple[Call, Call | None]], number: int) -> list[Call]:
    """In the order of their begins, the first one with ``number``."""
    found = sorted(begun, key=lambda one: one[0].start)
    for call, around in found:
        call.number, number = number, number + 1
        call.parent = None if around is None or around.number < 0 else around.number
    return [call for call, _ in found]


def calls(
    found: Ring, records: Iterable[Record], known: dict[int, RecordedFunction], table: api.Table, number: int = 0
) -> list[Call]:
    """Of a ring that is read once."""
    return numbered(ThreadCalls(found).add(records, known, table), number)


def backs(found: Iterable[tuple[Ring, Iterable[Record]]], is_own: Callable[[int], bool]) -> set[int]:
    """Where these calls return to. What of it is the recorder's the rings are told."""
    others: set[int] = set()
    for ring, records in found:
        every = {one.back for one in records}
        ring.own |= {back for back in every - others if is_own(back)}
        others |= every - ring.own
    return others


def of_roles(
    records: Collection[Record], known: dict[int, RecordedFunction], roles: Container[str]
) -> Iterator[tuple[api.Function, list[bytes | None]]]:
    """Calls of functions that have one of the roles, with their arguments."""
    called = {one.function for one in records} & known.keys()
    wanted = {number for number in called if known[number].function.role in roles}
    for one in records if wanted else ():
        if one.function in wanted:
            function = known[one.function].function
            yield function, arguments(function, one)


def begin(known: RecordedFunction, one: Record, start: float, found: Ring, table: api.Table) -> RingCall:
    call = RingCall(UNNUMBERED, known.function.symbol, start, found.lwp)
    call.lwp, call.pid, call.layer, call.object, call.caller = found.lwp, found.pid, known.layer, known.object, one.back
    call.python = next((number for number in one.callers[:1] if number & IS_PYTHON), 0)  # of a stack
    outer = one.callers[1:] if call.python else one.callers
    call.stack = [one.back, *outer] if outer else []
    call.entered = known, one, table
    return call


def set_tail_caller(call: Call, around: Call | None) -> None:
    """The function around has jumped to this one, which returns to its caller by way of the recorder. (0: unknown)"""
    call.caller = around.caller if around is not None else 0
    outer = call.stack[1:]
    call.stack = [call.caller, *outer[outer[:1] == [call.caller] :]] if call.stack and call.caller else []


def finish(call: Call, known: RecordedFunction, one: Record, end: float, table: api.Table) -> None:
    call.end, call.ended = max(end, call.start), ""  # (the clock is told better with every look)
    call.result = result(known.function, one.result, table)
    call.status = one.result & 0xFFFFFFFF if known.function.result.kind == "enum" else None
    if isinstance(call, RingCall) and not call.failed:
        call.returned = known, one, table


@functools.lru_cache(maxsize=4096)
def result(function: api.Function, code: int, table: api.Table) -> Any:
    return decode.result(function, code, table).data
