"""Reading a log of any length, as a stream, as far as it can be read; what cannot is counted, never fatal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Callable

from gdbcuda.errors import UserError
from gdbcuda.log import record
from gdbcuda.log.notes import Notes
from gdbcuda.log.record import Call

if TYPE_CHECKING:
    from pathlib import Path

BATCH = 256  # lines that are parsed in one go
BEGIN, END = "B", "E"
Event = tuple[str, Call]


class Log:
    """What a file says beside its calls; grows while `events` are read."""

    def __init__(self) -> None:
        self.header: dict[str, Any] = {}
        self.notes = Notes()
        self.problems: Counter[str] = Counter()
        self.open: dict[int, Call] = {}

    def add_header(self, line: dict[str, Any]) -> None:
        if line["gdbcuda_log"] != record.FORMAT:
            self.problems[f"written in format {line['gdbcuda_log']}, this is a reader for {record.FORMAT}"] += 1
        self.header = self.header or line

    def add_note(self, line: dict[str, Any]) -> None:
        self.notes.add(line["name"], line["details"])


def header_of(path: str | Path) -> dict[str, Any]:
    """The first line, if it is a header; `UserError` if the file cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = json.loads(file.readline(1 << 20))
    except OSError as problem:
        raise UserError(f"cannot read {path}: {problem.strerror}") from None
    except ValueError:
        return {}
    return found if isinstance(found, dict) and "gdbcuda_log" in found else {}


def events(path: str | Path, log: Log, progress: Callable[[int], None] | None = None) -> Iterator[Event]:
    """Begins and ends in the order of the file. ``progress`` gets the number of bytes read so far.

    Calls that are still open at the end of the file (or when another log begins in it) are ended as such."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            while True:
                lines = list(islice(file, BATCH))
                if not lines:
                    break
                for line in parsed(lines, log):
                    if "gdbcuda_log" in line:
                        yield from close(log)
                        log.add_header(line)
                        continue
                    event = read(line, log)
                    if event is not None:
                        yield event
                if progress is not None:
                    progress(sum(map(len, lines)))
    except OSError as problem:
        raise UserError(f"cannot read {path}: {problem.strerror}") from None
    yield from close(log)
    if not log.header:
        log.problems["no header line: not written by gdbcuda, or the beginning is missing"] += 1


def parsed(lines: list[str], log: Log) -> list[dict[str, Any]]:
    """All lines as one array, for that is twice as fast; one by one if something is wrong with any."""
    try:
        found = json.loads(f"[{','.join(lines)}]")
        if len(found) == len(lines) and set(map(type, found)) == {dict}:
            return found  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        pass
    return [line for text in lines for line in one(text, log)]


def one(text: str, log: Log) -> Iterator[dict[str, Any]]:
    if not text.strip():
        return
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        cut = not text.endswith("\n")
        log.problems["the last line is cut off" if cut else "a line that is no JSON object"] += 1
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
        log.problems["a call without its end"] += 1
        yield END, call
    log.open.clear()


def calls(path: str | Path, log: Log, progress: Callable[[int], None] | None = None) -> Iterator[Call]:
    """Every call, once it is over: inner ones before outer ones."""
    return (call for phase, call in events(path, log, progress) if phase == END)
