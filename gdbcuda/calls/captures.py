"""Which calls went into a graph that was being captured, and did not run.

A stream is captured from cuStreamBeginCapture to cuStreamEndCapture; another one from the moment that it waits for an
event of a captured stream, to the same end. (CUDA C++ Programming Guide, "Stream Capture".)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gdbcuda.calls.record import Call
from gdbcuda.calls.references import Process

STREAMS = ("hStream", "stream")
EVENTS = ("hEvent", "event")
ABOUT = "Captur"  # what begins, ends and asks is not captured itself
BEGINS, ENDS, RECORDS, WAITS = "StreamBeginCapture", "StreamEndCapture", "EventRecord", "StreamWaitEvent"
Handle = tuple[Process, str]


def bounds(symbol: str) -> bool:
    """A function that begins or ends a capture: a log without it cannot tell a captured call."""
    return BEGINS in symbol or ENDS in symbol


class Captures:
    """``streams`` and ``events``: those of captures that go on, with the stream that each capture began with."""

    def __init__(self) -> None:
        self.streams: dict[Handle, str] = {}
        self.events: dict[Handle, str] = {}
        self.inside: dict[int, str] = {}  # captured calls that have not ended, by number: what they call is, too

    def begins(self, call: Call) -> None:
        if not self.streams or ABOUT in call.name:
            return
        origin = self.streams.get(handle(call, STREAMS)) or self.inside.get(-1 if call.parent is None else call.parent)
        if WAITS in call.name:
            origin = origin or self.events.get(handle(call, EVENTS))
        if origin:
            call.captured = self.inside[call.number] = origin

    def ends(self, call: Call) -> None:
        self.inside.pop(call.number, None)
        if call.failed:
            call.captured = ""
        if BEGINS in call.name and not call.failed and call.end is not None:
            stream = handle(call, STREAMS)
            self.streams.setdefault(stream, stream[1])
        elif self.streams and ENDS in call.name:
            self.forget(call)
        elif call.captured and RECORDS in call.name:
            self.events[handle(call, EVENTS)] = call.captured
        elif call.captured and WAITS in call.name:
            self.streams[handle(call, STREAMS)] = call.captured

    def forget(self, call: Call) -> None:
        """It ends, or has become invalid; its calls in the hook library and the driver end it once more."""
        origin = self.streams.get(handle(call, STREAMS))
        for found in (self.streams, self.events):
            for one in [one for one, began in found.items() if began == origin and one[0] == call.process]:
                del found[one]


def handle(call: Call, names: Iterable[str]) -> Handle:
    given = next((value for value in values(call.arguments, names) if value), "")
    return call.process, str(given)


def values(arguments: dict[str, Any], names: Iterable[str]) -> Iterator[Any]:
    """Also of a struct that a pointer leads to: cudaLaunchKernelExC's config."""
    behind = [one.get("value") for one in arguments.values() if isinstance(one, dict)]
    structs = [arguments, *(one for one in behind if isinstance(one, dict))]
    yield from (found[name] for found in structs for name in names if name in found)


def mark(events: Iterable[tuple[str, Call]], begin: str) -> Iterator[tuple[str, Call]]:
    """The events of a log, in which ``begin`` is the phase of a call's beginning."""
    found = Captures()
    for phase, call in events:
        if phase == begin:
            found.begins(call)
        else:
            found.ends(call)
        yield phase, call
