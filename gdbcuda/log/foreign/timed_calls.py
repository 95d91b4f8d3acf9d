"""What has been read of a trace, before it is a log: rows with times, nested by them.

Nothing in a foreign file is trusted: what makes no sense is counted and left out.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from collections import Counter
from typing import Any

from gdbcuda import __version__, api
from gdbcuda.calls import record
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import LONGEST
from gdbcuda.calls.sinks import JsonLines, as_it_happened
from gdbcuda.errors import UserError
from gdbcuda.gpu.gpu_calls import GPU
from gdbcuda.log.foreign import gpu_lanes
from gdbcuda.log.foreign.gpu_lanes import Lane
from gdbcuda.log.progress import Progress

OURS = ("app", "runtime", "hook", "driver", "kernel", GPU)  # layers that a file of ours may name
LONGEST_NAME = 4096
MOST = 20_000_000  # calls: what a machine has memory for
LARGEST = 1 << 63
PLACES = (r"(?P<function>.+) at (?P<source>\S+:\d+)", r"(?P<function>.+) in (?P<object>\S+)",
          r"(?P<object>\S+)\+0x(?P<offset>[0-9a-f]{1,15})")  # fmt: skip
NOTHING: dict[str, Any] = {}  # of calls that have been put away
NOTHING_BEHIND: list[int] = []


class TimedCalls:
    """``add`` takes times in seconds, from any moment."""

    def __init__(self) -> None:
        self.table = api.load()
        self.calls: list[Call] = []
        self.lanes: dict[Lane, int] = {}
        self.lane_names: dict[Lane, str] = {}
        self.lane_words: dict[str, int] = {}  # of traces that name lanes by words
        self.causes: dict[tuple[int, int], Call] = {}  # by process, each of which has its own numbers
        self.caused: list[tuple[Call, tuple[int, int]]] = []
        self.texts: list[str] = []  # arguments as JSON, as `add` has numbered calls: a tenth of what they take as such
        self.outs: dict[int, str] = {}
        self.orders: array[int] = array("q")
        self.last: Call | None = None  # whose arguments are still to be put away
        self.programs: dict[int, dict[str, str]] = {}  # by process, and its rank where it has one
        self.devices: dict[int, dict[str, str]] = {}  # the names of those that each process has used
        self.notes: list[tuple[str, dict[str, Any]]] = []  # more that the log is to say
        self.places: dict[str, int] = {}  # who called, as the trace says it in words; a number of ours for each
        self.epoch = 0.0
        self.problems: Counter[str] = Counter()

    def add(self, name: Any, start: Any, end: Any, lane: tuple[Any, Any], *, layer: str = "",
            details: Any = None, status: Any = None, order: int | None = None) -> Call | None:  # fmt: skip
        """``end`` None: it was not over. What is said of the call's arguments after the next one is lost (but see
        `cause`). ``order``: of calls of one moment the one that is around the others has the least."""
        if not is_sound(name, start, end, lane):
            self.problems["an event with something missing"] += 1
            return None
        if len(self.calls) >= MOST:
            raise UserError(f"more than {MOST} calls: import a part of the trace")
        call = Call(len(self.calls), name[:LONGEST_NAME], float(start))
        where = (abs(lane[0]) % LARGEST, lane[1])
        call.thread = self.lanes.setdefault(where, len(self.lanes) + 1)
        call.pid, call.lwp = where[0], max(where[1], 0)
        function = self.table.function(call.name)
        call.layer = layer or (layer_of(function) if function is not None else "app")
        call.object = ""
        call.stack, call.addresses = NOTHING_BEHIND, NOTHING
        call.arguments = details if isinstance(details, dict) else {}
        if layer == GPU:
            call.arguments = gpu_lanes.readable(call, call.arguments)
        call.end, call.ended = (None, record.STILL_OPEN) if end is None else (max(float(end), call.start), "")
        if isinstance(status, int) and function is not None and abs(status) < LARGEST:
            call.status, enum = int(status), function.result.enum
            call.result = (enum.name_of(call.status) if enum is not None else None) or call.status
        self.put_away()
        self.calls.append(call)
        self.texts.append("")
        self.orders.append(order if order is not None and abs(order) < LARGEST else 0)
        self.last = call
        return call

    def put_away(self) -> None:
        call, self.last = self.last, None
        if call is not None:
            self.texts[call.number] = self.text(call.arguments)
            call.arguments = NOTHING
            if call.out:
                self.outs[call.number] = self.text(call.out)
            call.out = NOTHING

    def take_up(self, call: Call) -> None:
        """Before calls are numbered anew."""
        self.put_away()
        call.arguments, call.out = known(self.texts[call.number]), known(self.outs.get(call.number, ""))
        self.last = call

    def text(self, details: dict[str, Any]) -> str:
        """What a log can hold of it: no infinity, no bytes, nothing that is nested without an end."""
        try:
            return json.dumps(details, allow_nan=False) if details else ""
        except (ValueError, TypeError, RecursionError):
            self.problems["an event with arguments that are no JSON"] += 1
            return ""

    def place(self, words: Any) -> int:
        """What a call's ``caller`` is, for a trace that names it."""
        if not words or not isinstance(words, str):
            return 0
        return self.places.setdefault(words[:LONGEST_NAME], len(self.places) + 1)

    def begin(self, nanoseconds: Any) -> None:
        """CLOCK_REALTIME where the times are 0, as far as the trace says."""
        if type(nanoseconds) is int and 0 <= nanoseconds < LARGEST:
            self.epoch = nanoseconds / 1e9

    def link(self, correlation: Any, call: Call, process: int | None = None) -> None:
        """Work on the GPU gets the number of the call that it comes from, once there are numbers."""
        if type(correlation) is int and correlation:
            key = call.pid if process is None else process, correlation
            if call.layer == GPU:
                self.caused.append((call, key))
            else:
                self.causes[key] = call

    def cause(self, process: int, correlation: Any) -> Call | None:
        """The call that events with this number come from, to tell more of it."""
        found = self.causes.get((process, correlation)) if type(correlation) is int else None
        if found is not None:
            self.take_up(found)
        return found

    def write(self, path: str, program: str) -> int:
        """As a log that begins at 0. How many calls there are."""
        self.put_away()
        began = min((call.start for call in self.calls), default=0.0)
        for call in self.calls:
            call.start -= began
            call.end = None if call.end is None else call.end - began
        self.put_in_order()
        gpu_lanes.side_by_side(self.calls, self.lanes, self.lane_names)
        origins = nest(self.calls)
        causes = {call.number: self.causes[key].number for call, key in self.caused if key in self.causes}
        sink = JsonLines(path, self.head(program, began))
        self.write_names(sink)
        progress = Progress(len(self.calls))
        for is_end, call in as_it_happened(self.calls):
            origin = origins[call.number]
            if is_end:
                call.out = known(self.outs.get(origin, ""))
                sink.exit(call)
                progress(1)
            else:
                cause = {"call": causes[call.number]} if call.number in causes else {}
                call.arguments = {**known(self.texts[origin]), **cause}
                sink.entry(call)
            call.arguments = call.out = NOTHING
        sink.close()
        progress.close()
        return len(self.calls)

    def put_in_order(self) -> None:
        """Threads are numbered as their first calls come."""
        if any(later < earlier for earlier, later in zip(self.orders, self.orders[1:])):
            self.calls.sort(key=lambda call: self.orders[call.number])
            numbers: dict[int, int] = {}
            for call in self.calls:
                call.thread = numbers.setdefault(call.thread, len(numbers) + 1)
            self.lanes = {lane: numbers[number] for lane, number in self.lanes.items()}

    def head(self, program: str, began: float) -> dict[str, Any]:
        head = record.header(self.table.cuda, self.table.nvml, program, __version__)
        started = self.epoch and self.epoch + began
        return {**head, "clock": "of the trace that was imported", "started": started}

    def write_names(self, sink: JsonLines) -> None:
        for pid in sorted({pid for pid, _ in self.lanes} & {*self.programs}):
            sink.note(0.0, "process", {**self.programs[pid], "inferior": 0, "pid": pid})
        for (pid, lane), number in sorted(self.lanes.items(), key=lambda item: item[1]):
            details = {"thread": number, "lwp": max(lane, 0), "inferior": 0, "pid": pid,
                       "name": self.lane_names.get((pid, lane), "")}  # fmt: skip
            sink.note(0.0, "thread", details)
        for pid, devices in sorted(self.devices.items()):
            sink.note(0.0, "gpu", {"uncertainty": None, "devices": devices, "inferior": 0, "pid": pid})
        for kind, details in self.notes:
            sink.note(0.0, kind, details)
        words = {number: text for text, number in self.places.items()}
        for pid, number in sorted({(call.pid, call.caller) for call in self.calls if call.caller}):
            sink.note(0.0, "place", {"address": number, **place_of(words[number]), "inferior": 0, "pid": pid})


def known(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text) if text else {}
    return found


def place_of(words: str) -> dict[str, Any]:
    """As `calls.text` names one: "step at train.py:34", "sum in libsum.so", "libsum.so+0x1330"."""
    found = next((match.groupdict() for one in PLACES if (match := re.fullmatch(one, words))), {"function": words})
    return {**found, "offset": int(found["offset"], 16)} if "offset" in found else found


def layer_of(function: api.Function) -> str:
    return "runtime" if function.api == "runtime" else "driver"


def is_sound(name: Any, start: Any, end: Any, lane: tuple[Any, Any]) -> bool:
    times = (start,) if end is None else (start, end)
    return (
        isinstance(name, str)
        and bool(name)
        and all(type(one) in (int, float) and abs(one) < LONGEST and math.isfinite(one) for one in times)
        and all(type(one) is int and abs(one) < LARGEST for one in lane)
    )


def nest(calls: list[Call]) -> array[int]:
    """A call is inside the last one of its thread that began before it and ends after it. Numbers are by time; what
    comes back is which each has had."""
    calls.sort(key=lambda call: (call.start, -call.last_seen))
    origins = array("q", (call.number for call in calls))
    open_calls: dict[int, list[Call]] = {}
    for number, call in enumerate(calls):
        call.number = number
        stack = open_calls.setdefault(call.thread, [])
        while stack and stack[-1].end is not None and (stack[-1].end <= call.start or stack[-1].end < call.last_seen):
            stack.pop()
        call.parent, call.depth = (stack[-1].number, len(stack)) if stack else (None, 0)
        stack.append(call)
    return origins
