"""Reading a log of any length, as a stream, as far as it can be read; what cannot is counted, never fatal."""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Callable

from gdbcuda.calls import record
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import LOST, MISSING, WHY_LOST, Process, References, process_of
from gdbcuda.errors import UserError, cannot
from gdbcuda.files import streams

if TYPE_CHECKING:
    from pathlib import Path

CHUNK = 64 << 10  # bytes that are parsed in one go
LONGEST = 4 << 20  # bytes of a line; a log has none like that, and a wrong file is not to fill the memory
LINE_END = "\n"
BEGIN, END = "B", "E"
Event = tuple[str, Call]


class Log:
    """What a file says beside its calls; grows while `events` are read. ``kept``, where somebody has put a list there,
    gets each note as it was: kind and details. ``said_by_lines``: of the problems, those that calls and notes tell
    whoever reads them."""

    def __init__(self) -> None:
        self.header: dict[str, Any] = {}
        self.notes = References()
        self.problems: Counter[str] = Counter()
        self.said_by_lines: Counter[str] = Counter()
        self.open: dict[int, Call] = {}
        self.kept: list[tuple[str, Mapping[str, Any]]] | None = None
        self.lost: dict[tuple[Process, str], int] = {}

    def add_header(self, line: dict[str, Any]) -> None:
        if line["gdbcuda_log"] != record.FORMAT:
            self.problems[f"written in format {line['gdbcuda_log']}, this is a reader for {record.FORMAT}"] += 1
        self.header = self.header or line

    def add_note(self, line: dict[str, Any]) -> None:
        self.note(line["name"], line["details"])

    def note(self, kind: str, details: Mapping[str, Any]) -> None:
        self.notes.add(kind, details)
        if kind == LOST and isinstance(details.get("events"), int):
            self.say("an event that the kernel had no room for: a call or its end is missing", details["events"])
        if kind == LOST and isinstance(details.get("calls"), int) and details.get("name") in WHY_LOST:
            self.add_lost((process_of(details), details["name"]), details["calls"])
        if kind == MISSING and isinstance(details.get("what"), str) and type(details.get("count")) is int:
            self.problems[details["what"]] += max(details["count"], 0)
        if self.kept is not None:
            self.kept.append((kind, details))

    def add_lost(self, key: tuple[Process, str], calls: int) -> None:
        """So many in all: the last line holds."""
        self.say(f"a call that was {WHY_LOST[key[1]]}", calls - self.lost.get(key, 0))
        self.lost[key] = calls

    def say(self, problem: str, count: int) -> None:
        self.problems[problem] += count
        self.said_by_lines[problem] += count


class LogFile:
    """A log, opened once: what comes through a pipe comes only once. ``path`` "-" is the standard input.

    ``header`` is its first line, if that is a header; `UserError` if the file cannot be read."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        try:
            self.stream = standard_input() if str(path) == "-" else streams.opened(path)
            streams.require_end(self.stream, path)
            self.size = os.fstat(self.stream.fileno()).st_size  # 0 for a pipe
            self.read_ahead = self.stream.readline(CHUNK)
        except OSError as problem:
            raise cannot(f"read {path}", problem) from None
        self.read_ahead = self.read_ahead.removeprefix(codecs.BOM_UTF8)
        self.header = header(self.read_ahead)

    def events(self, log: Log, progress: Callable[[int], None] | None = None) -> Iterator[Event]:
        return file_events(self, log, progress)

    def chunks(self) -> Iterator[tuple[bytes, bool]]:
        """Whole lines, many at a time, and whether too long a one was left out."""
        return whole_lines(self.read_ahead, self.read)

    def read(self) -> bytes:
        try:
            return self.stream.read(CHUNK)
        except OSError as problem:
            raise cannot(f"read {self.path}", problem) from None


def whole_lines(rest: bytes, read: Callable[[], bytes]) -> Iterator[tuple[bytes, bool]]:
    skipping = False
    while True:
        chunk = read()
        lines, end, tail = (rest + chunk).rpartition(b"\n")
        if skipping and end:  # of the long line only the end is here
            lines, skipping = lines.partition(b"\n")[2], False
        is_long = len(tail) > LONGEST
        rest, skipping = b"" if is_long or skipping else tail, skipping or is_long
        yield lines + end, is_long
        if not chunk:
            yield rest, False
            return


def standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise UserError("cannot read -: the standard input is closed")
    return sys.stdin.buffer


def header(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and "gdbcuda_log" in found else {}


def version(head: Mapping[str, Any], library: str) -> str | None:
    """Of "cuda" or "nvml", as a header says it; None for the newest where it says nothing that makes sense."""
    found = head.get(library)
    return found if isinstance(found, str) and re.match(r"\d+(\.\d+)?\Z", found) else None


def file_events(file: LogFile, log: Log, progress: Callable[[int], None] | None = None) -> Iterator[Event]:
    """Begins and ends in the order of the file. ``progress`` gets the number of bytes read so far.

    Calls that are still open at the end of the file (or when another log begins in it) are ended as such. `UserError`
    if nothing of a log is in it."""
    is_log = False
    for chunk, was_long in file.chunks():
        if was_long:
            log.problems["a line of more than 4 MiB"] += 1
        for line in parsed(chunk, log):
            if "gdbcuda_log" in line:
                yield from close(log)
                log.add_header(line)
                continue
            event = read(line, log)
            if event is not None:
                is_log = True
                yield event
        if progress is not None:
            progress(len(chunk))
    yield from close(log)
    if not log.header and not is_log:
        why = "no line of one is in it" if file.read_ahead else "the file is empty"
        raise UserError(f"{file.path} is no call log: {why}")
    if not log.header:
        log.problems["no header line: not written by gdbcuda, or the beginning is missing"] += 1


def parsed(chunk: bytes, log: Log) -> list[dict[str, Any]]:
    """All lines as one array, for that is twice as fast; one by one if something is wrong with any."""
    text = chunk.decode("utf-8", "replace")
    try:
        found: list[dict[str, Any]] = json.loads(f"[{text.rstrip().replace(LINE_END, ',')}]", parse_constant=refuse)
        if set(map(type, found)) <= {dict}:
            return found
    except (ValueError, RecursionError):
        pass
    *lines, last = text.split(LINE_END)
    return [*(line for text in lines for line in one(text, log)), *one(last, log, is_last=True)]


def refuse(constant: str) -> None:
    """NaN and Infinity are no JSON. (RFC 8259, 6)"""
    raise ValueError(constant)


def one(text: str, log: Log, is_last: bool = False) -> Iterator[dict[str, Any]]:
    if not text.strip():
        return
    try:
        line = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        log.problems["the last line is cut off" if is_last else "a line that is no JSON object"] += 1
        return
    if isinstance(line, dict):
        yield line
    else:
        log.problems["a line that is no JSON object"] += 1


def read(line: dict[str, Any], log: Log) -> Event | None:
    phase = line.get("phase")
    try:
        if phase == BEGIN:
            call = record.from_begin(line)
            if call.number in log.open:
                log.problems["a call that begins twice"] += 1
            log.open[call.number] = call
            return BEGIN, call
        if phase == END:
            return finish(line, log)
        if phase == "M":
            log.add_note(line)
        else:
            log.problems["a line of an unknown kind"] += 1
    except (KeyError, TypeError, ValueError, AttributeError):
        log.problems["a line with something missing"] += 1
    return None


def finish(line: dict[str, Any], log: Log) -> Event | None:
    call = log.open.get(line["op_id"])
    if call is None or call.name != line["name"]:
        log.problems["an end without its begin"] += 1
        return None
    record.finish(call, line)
    del log.open[call.number]
    return END, call


def close(log: Log) -> Iterator[Event]:
    """What has begun and not ended: the program or the debugger was killed meanwhile."""
    for call in sorted(log.open.values(), key=lambda call: -call.number):
        call.end, call.ended = None, record.STILL_OPEN
        log.say("a call without its end", 1)
        yield END, call
    log.open.clear()
