"""From the records of a ring to calls: which is inside which, when, and what was said and answered.

Records of a thread are in the order of their entries. A call ends at its return, or, where longjmp or an exception left
it, when a later one begins that is not deeper in the stack. Where records are missing in between, nobody knows.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from gdbcuda import api, decode
from gdbcuda.calls import record
from gdbcuda.calls.record import Call
from gdbcuda.memory import RecordedMemory
from gdbcuda.rings import ring
from gdbcuda.rings.ring import Record, Ring
from gdbcuda.rings.ring_functions import RecordedFunction, recorded_words
from gdbcuda.rings.ring_layout import IS_PYTHON, WORD
from gdbcuda.rings.ring_words import Words

NANOSECONDS = 1e9
NOTHING = RecordedMemory({})
ARGUMENTS, ADDRESSES, OUT = (vars(Call)[name] for name in ("arguments", "addresses", "out"))  # its slots
Recorded = tuple[RecordedFunction, Record, api.Table]
UNNUMBERED = -1  # a call that nobody was told of


def arguments(function: api.Function, one: Record) -> list[bytes | None]:
    """The bytes of each; None for one that is further up the stack than a record reaches."""
    words = one.words + one.floats
    return [joined(words, places) if places is not None else None for places in recorded_words(function)]


def joined(words: Words, places: Iterable[tuple[int, int]]) -> bytes:
    pieces = [words[index].to_bytes(WORD, "little")[:size] for index, size in places]
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def written(known: RecordedFunction, one: Record) -> RecordedMemory:
    """What the call has left behind its pointers."""
    return behind(one, one.outs, known.outs)


def given(known: RecordedFunction, one: Record) -> RecordedMemory:
    """What was behind its pointers when it began."""
    return behind(one, one.ins, known.ins)


def behind(one: Record, words: Words, wanted: list[tuple[int, int]]) -> RecordedMemory:
    if not wanted:
        return NOTHING
    values = ring.pointees(words, [size for _, size in wanted])
    told = {one.words[index]: raw for (index, _), raw in zip(wanted, values)}
    return RecordedMemory({at: raw for at, raw in told.items() if raw}, [at for at, raw in told.items() if raw is None])


def out_data(known: RecordedFunction, one: Record, table: api.Table) -> dict[str, Any]:
    if not known.outs:
        return {}
    memory, function = written(known, one), known.function
    there = {one.words[index] for index, _ in known.outs} & memory.segments.keys()
    raws = arguments(function, one)
    positions = [at for at, (parameter, raw) in enumerate(zip(function.parameters, raws))
                 if parameter.direction != "in" and raw and int.from_bytes(raw, "little") in there]  # fmt: skip
    found = decode.some_arguments(function, raws, memory, table, positions)
    return {argument.name: argument.data for argument in found}


def seconds(found: Ring, tick: int) -> float:
    """CLOCK_MONOTONIC at that tick."""
    ticks, ns, _, _ = found.clock
    return (ns + (tick - ticks) * rate_of(found.clock)) / NANOSECONDS


def rate_of(clock: Words) -> float:
    """Nanoseconds a tick."""
    ticks, ns, later_ticks, later_ns = clock
    return (later_ns - ns) / (later_ticks - ticks) if later_ns > ns and later_ticks > ticks else 0.0


class RingCall(Call):
    """Its values are made of the records when somebody asks for them: most views ask a few calls, or none."""

    __slots__ = ("entered", "returned")
    entered: Recorded | None
    returned: Recorded | None

    def without_values(self) -> None:
        """There is no dict of a value that nobody has asked for."""
        self.entered = self.returned = None

    @property
    def arguments(self) -> dict[str, Any]:
        self.look_at_entry()
        return cast("dict[str, Any]", ARGUMENTS.__get__(self))

    @arguments.setter
    def arguments(self, values: dict[str, Any]) -> None:
        ARGUMENTS.__set__(self, values)

    @property
    def addresses(self) -> dict[str, int]:
        self.look_at_entry()
        return cast("dict[str, int]", ADDRESSES.__get__(self))

    @addresses.setter
    def addresses(self, values: dict[str, int]) -> None:
        ADDRESSES.__set__(self, values)

    @property
    def out(self) -> dict[str, Any]:
        if self.returned is not None:
            (known, one, table), self.returned = self.returned, None
            self.out = out_data(known, one, table)
        try:
            return cast("dict[str, Any]", OUT.__get__(self))
        except AttributeError:  # it has not returned, or not with success
            self.out = {}
            return self.out

    @out.setter
    def out(self, values: dict[str, Any]) -> None:
        OUT.__set__(self, values)

    def look_at_entry(self) -> None:
        if self.entered is None:
            return
        (known, one, table), self.entered = self.entered, None
        raws = arguments(known.function, one)
        decoded = decode.arguments(known.function, raws, given(known, one), table, phase="enter")
        self.arguments = {argument.name: argument.data for argument in decoded}
        self.addresses = decode.string_addresses(known.function, decoded)


@dataclass
class OpenRecord:
    record: Record
    call: Call


@dataclass
class ThreadCalls:
    """Of one ring, read now and then. ``open``: the calls that the thread was in when it was read, outermost first;
    ``waiting``: by position, those whose return was not recorded yet."""

    ring: Ring
    epoch: float = 0.0  # seconds of CLOCK_MONOTONIC that the calls' times begin with
    open: list[OpenRecord] = field(default_factory=list)
    waiting: dict[int, OpenRecord] = field(default_factory=dict)
    ended: list[Call] = field(default_factory=list)  # since it was last asked
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
        around = self.open[-1].call if self.open else None
        call = begin(known[one.function], one, start, self.ring, table)
        call.depth = len(self.open)
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
            is_around = outer.top > following.top if outer.left is None else outer.left > following.entered
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


def finish(call: Call, known: RecordedFunction, one: Record, end: float, table: api.Table) -> None:
    call.end, call.ended = max(end, call.start), ""  # (the clock is told better with every look)
    call.result = result(known.function, one.result, table)
    call.status = one.result & 0xFFFFFFFF if known.function.result.kind == "enum" else None
    if isinstance(call, RingCall) and not call.failed:
        call.returned = known, one, table


@functools.lru_cache(maxsize=4096)
def result(function: api.Function, code: int, table: api.Table) -> Any:
    return decode.result(function, code, table).data
