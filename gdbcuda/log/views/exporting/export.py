"""Logs for other programs: the Trace Event Format of Chrome and Perfetto, CSV, JSON Lines as `cuda-log` writes them, or
of begins and ends alone.

Written while they are read."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, Protocol

from gdbcuda.calls import record
from gdbcuda.calls.reader import BEGIN, Event, Log
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import MISSING
from gdbcuda.calls.text import CallWriter
from gdbcuda.log.views.exporting import own_slices
from gdbcuda.log.views.exporting.trace_events import PROCESS_NAME, process_name, trace_events
from gdbcuda.log.views.gpu_views.gpu_work import clocks_apart

IDS = 1 << 40  # of the arrows of one log: Perfetto takes numbers alone


class Writable(Protocol):
    def write(self, text: str, /) -> object: ...


class Part(NamedTuple):
    """One of the logs; ``name`` tells it from the others."""

    name: str
    events: Iterable[Event]
    log: Log
    writer: CallWriter


def chrome(parts: Sequence[Part], file: Writable) -> None:
    """Threads are tracks, calls nest, arrows go from the program's call to what it became in the driver.

    Several logs lie one below the other, each from its own beginning on."""
    file.write('{"displayTimeUnit":"ns","traceEvents":[\n')
    separator = ""
    for line in all_events(parts):
        file.write(separator + json.dumps(line, separators=(",", ":")))
        separator = ",\n"
    apart = ", ".join(sorted({clocks_apart(part.log.notes) for part in parts} - {""}))
    of_one = own_slices.of_clocks(parts[0].log.notes) if len(parts) == 1 else {}
    other = {**({"clocks": apart} if apart else {}), **of_one}
    file.write("\n]" + (f',"otherData":{json.dumps(other)}' if other else "") + "}\n")


def all_events(parts: Sequence[Part]) -> Iterator[dict[str, Any]]:
    taken: set[int] = set()
    for index, part in enumerate(parts):
        if len(parts) == 1:
            yield from trace_events(part.events, part.log, part.writer)
            return
        pids: dict[int, int] = {}
        for line in trace_events(part.events, part.log, part.writer):
            if line["pid"] not in pids:
                pids[line["pid"]] = next(pid for pid in count(line["pid"]) if pid not in taken)
                taken.add(pids[line["pid"]])
                yield process_name(pids[line["pid"]], part.name)
            if line["name"] == PROCESS_NAME:
                continue
            own = {"id": line["id"] + index * IDS} if "id" in line else {}
            yield {**line, **own, "pid": pids[line["pid"]]}


COLUMNS = ("number", "start", "seconds", "thread", "lwp", "pid", "depth", "parent", "layer", "object", "function",
           "base", "arguments", "status", "result", "ended", "caller")  # fmt: skip


def comma_separated(parts: Sequence[Part], file: Writable) -> None:
    """One row a call, in the order in which they end, of several logs with the name of the file in front.

    (RFC 4180, but lines end as the system's do.)"""
    out = csv.writer(file, lineterminator="\n")
    is_one = len(parts) == 1
    out.writerow(COLUMNS if is_one else ("file", *COLUMNS))
    for part in parts:
        for phase, call in part.events:
            if phase != BEGIN:
                out.writerow(([] if is_one else [part.name]) + row(call, part.writer))


def json_lines(parts: Sequence[Part], file: Writable) -> None:
    """One log behind the other. A call that was not over has no end in a log."""
    for part in parts:
        kept: list[tuple[str, Mapping[str, Any]]] = []
        part.log.kept = kept
        is_begun = False
        for phase, call in part.events:
            if not is_begun:
                write_line(file, part.log.header or record.header("", "", "", ""))
                is_begun = True
            for kind, details in kept:
                write_line(file, record.note(call.start if phase == BEGIN else call.last_seen, kind, dict(details)))
            kept.clear()
            if phase == BEGIN or call.end is not None:
                write_line(file, (record.begin if phase == BEGIN else record.end)(call))
        for what, times in (part.log.problems - part.log.said_by_lines).items() if is_begun else ():
            write_line(file, record.note(0.0, MISSING, {"what": what, "count": times}))


def begin_end(parts: Sequence[Part], file: Writable) -> None:
    """Lines of begins and ends and no others, as tools that pair them by op_id read them; `log import` does."""
    numbers = count()
    for part in parts:
        pairs: dict[int, int] = {}  # numbers of open calls: those of several logs are told apart
        for phase, call in part.events:
            if phase == BEGIN:
                pairs[call.number] = next(numbers)
                write_line(file, {**record.begin(call), "op_id": pairs[call.number]})
            elif call.end is not None:
                write_line(file, {**record.end(call), "op_id": pairs.pop(call.number)})


def write_line(file: Writable, line: dict[str, Any]) -> None:
    file.write(json.dumps(line, separators=(",", ":")) + "\n")


def row(call: Call, writer: CallWriter) -> list[object]:
    seconds = None if call.seconds is None else f"{call.seconds:.7f}"
    return [call.number, f"{call.start:.7f}", seconds, call.thread, call.lwp, call.pid, call.depth, call.parent,
            call.layer, call.object, call.name, call.base, writer.arguments(call), call.status, call.result, call.ended,
            writer.caller(call)]  # fmt: skip
