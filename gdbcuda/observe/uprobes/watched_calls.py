"""From the kernel's events to calls: which end belongs to which begin, and which call is inside which.

A call is told by its thread, its stack pointer and its function. One that jumps on to another function has the stack
pointer of that; a call that longjmp has left is below the next one's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from gdbcuda import api, decode
from gdbcuda.calls import record
from gdbcuda.calls.record import Call
from gdbcuda.memory import RecordedMemory
from gdbcuda.observe.uprobes.bpftrace_events import Entered, Left
from gdbcuda.observe.uprobes.bpftrace_text import TEXT_SIZE, ProbeRecord
from gdbcuda.rings.ring_functions import LONGEST_TEXT, recorded_words
from gdbcuda.rings.ring_layout import REGISTERS, STACK_WORDS, WORD

NANOSECONDS = 10**9
NUMBERS = REGISTERS + STACK_WORDS


class CodeNames(Protocol):
    """Of one process."""

    program: str

    def details(self, address: int) -> dict[str, Any] | None: ...

    def is_of_kernel(self, address: int) -> bool: ...


class OpenEvent(NamedTuple):
    event: Entered
    call: Call


class Decoder:
    """The values of one function's calls."""

    def __init__(self, one: ProbeRecord, table: api.Table) -> None:
        self.record, self.function, self.table = one, one.probe.known.function, table
        self.parts = recorded_words(self.function)

    def raws(self, event: Entered) -> list[bytes | None]:
        """None for what a kernel cannot read: fractions are in vector registers."""
        values = dict(zip(self.record.words, event.words))
        return [joined(values, part) for part in self.parts]

    def pointer(self, event: Entered, index: int) -> int:
        return event.words[self.record.words.index(index)]

    def memory(self, event: Entered, wanted: Sequence[tuple[int, int]], words: Sequence[int],
               texts: str) -> RecordedMemory:  # fmt: skip
        """What was behind pointers. (A NULL is read as zeros.)"""
        count = sum(size == LONGEST_TEXT for _, size in wanted)
        found, left, left_texts = {}, list(words), texts.split("|", max(count - 1, 0))
        for index, size in wanted:
            if size == LONGEST_TEXT:
                text = left_texts.pop(0).encode("utf-8", "surrogateescape") if left_texts else b""
                raw = text if len(text) >= TEXT_SIZE - 1 else text + b"\0"
            else:
                count = -(-size // WORD)
                raw, left = b"".join(one.to_bytes(WORD, "little") for one in left[:count])[:size], left[count:]
            address = self.pointer(event, index)
            if address and len(raw):
                found[address] = raw
        return RecordedMemory(found)

    def begin(self, event: Entered, call: Call) -> None:
        given = self.memory(event, self.record.ins, event.words[len(self.record.words) :], event.texts)
        decoded = decode.arguments(self.function, self.raws(event), given, self.table, phase="enter")
        call.arguments = {argument.name: argument.data for argument in decoded}
        call.addresses = decode.string_addresses(self.function, decoded)

    def finish(self, event: Entered, left: Left, call: Call) -> None:
        call.result = decode.result(self.function, left.result, self.table).data
        call.status = left.result & 0xFFFFFFFF if self.function.result.kind == "enum" else None
        if call.status or not self.record.outs:
            return
        memory, raws = self.memory(event, self.record.outs, left.words, left.texts), self.raws(event)
        there = memory.segments.keys()
        positions = [at for at, (parameter, raw) in enumerate(zip(self.function.parameters, raws))
                     if parameter.direction != "in" and raw and int.from_bytes(raw, "little") in there]  # fmt: skip
        found = decode.some_arguments(self.function, raws, memory, self.table, positions)
        call.out = {argument.name: argument.data for argument in found}


def joined(values: dict[int, int], part: Sequence[tuple[int, int]] | None) -> bytes | None:
    if part is None or any(index not in values for index, _ in part):
        return None
    return b"".join(values[index].to_bytes(WORD, "little")[:size] for index, size in part)


class WatchedCalls:
    """Of all threads. ``epoch``: the kernel's monotonic nanoseconds that the log begins with."""

    def __init__(self, records: Sequence[ProbeRecord], table: api.Table, epoch: int) -> None:
        self.decoders = {one.probe.number: Decoder(one, table) for one in records}
        self.epoch, self.count = epoch, 0
        self.open: dict[int, list[OpenEvent]] = {}
        self.threads: dict[tuple[int, int], int] = {}
        self.without_begin = 0
        self.gap_until = 0  # the kernel's nanoseconds: before that something was lost
        self.until = float("inf")  # the same: probes are being taken off, and calls that begin now may have no end

    def seconds(self, time: int) -> float:
        return (time - self.epoch) / NANOSECONDS

    def begin(self, event: Entered, code: CodeNames) -> tuple[list[Call], Call]:
        """What it ends, and the call."""
        stack, decoder = self.open.setdefault(event.tid, []), self.decoders[event.number]
        ended = self.leave(stack, event, code)
        known, call = decoder.record.probe.known, Call(self.count, decoder.function.symbol, self.seconds(event.time))
        self.count += 1
        call.lwp, call.pid, call.layer, call.object = event.tid, event.pid, known.layer, known.object
        call.thread = self.threads.setdefault((event.pid, event.tid), len(self.threads) + 1)
        outer = stack[-1] if stack else None
        call.depth, call.parent = len(stack), outer.call.number if outer else None
        is_jump = outer is not None and outer.event.sp == event.sp
        call.caller = outer.call.caller if outer is not None and is_jump else event.back
        decoder.begin(event, call)
        stack.append(OpenEvent(event, call))
        return ended, call

    def leave(self, stack: list[OpenEvent], event: Entered, code: CodeNames) -> list[Call]:
        """Those that the next call is not in."""
        ended = []
        while stack and not is_around(stack[-1].event, event, code):
            ended.append(self.leave_one(stack.pop(), event.time))
        return ended

    def leave_one(self, one: OpenEvent, time: int) -> Call:
        return self.end(one, time, record.RETURN_LOST if one.event.time < self.gap_until else record.UNWOUND)

    def end(self, one: OpenEvent, time: int, why: str) -> Call:
        one.call.end, one.call.ended = max(self.seconds(time), one.call.start), why
        return one.call

    def finish(self, event: Left) -> list[Call]:
        """The calls that are over: the one that returns last, in front of it what it has left by longjmp."""
        stack = self.open.get(event.tid, [])
        keys = [(one.event.sp, one.event.number) for one in stack]
        if (event.sp, event.number) not in keys:
            self.without_begin += event.time <= self.until
            return []
        at = len(keys) - 1 - keys[::-1].index((event.sp, event.number))
        ended = [self.leave_one(one, event.time) for one in reversed(stack[at + 1 :])]
        one = stack[at]
        del stack[at:]
        self.decoders[event.number].finish(one.event, event, one.call)
        return [*ended, self.end(one, event.time, "")]

    def rest(self) -> Iterator[Call]:
        """What had not returned."""
        for stack in self.open.values():
            yield from (one.call for one in reversed(stack))


def is_around(outer: Entered, inner: Entered, code: CodeNames) -> bool:
    """At the same place in the stack there is the same call again, or one that the outer jumps to."""
    if outer.sp != inner.sp:
        return outer.sp > inner.sp
    return outer.number != inner.number and code.is_of_kernel(inner.back)
