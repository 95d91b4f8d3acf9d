"""Lines of begins and ends, as tracers that are preloaded write them: one JSON object a line,

    {"ts":0.000001,"op_id":0,"phase":"B","name":"cuInit","details":{"flags":0}}
    {"ts":0.000050,"op_id":0,"phase":"E","name":"cuInit","details":{"status":0}}

``ts`` in seconds; ``tid`` (or ``thread``) and ``pid`` where a tracer has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gdbcuda.calls.reader import Log, parsed
from gdbcuda.log.foreign.timed_calls import TimedCalls


def read(chunks: Iterable[tuple[bytes, bool]], calls: TimedCalls) -> None:
    log, begun = Log(), {}  # type: Log, dict[Any, dict[str, Any]]
    for chunk, was_long in chunks:
        calls.problems["a line of more than 4 MiB"] += was_long
        for line in parsed(chunk, log):
            event(line, begun, calls)
    for line in begun.values():
        add(line, None, calls)
    calls.problems.update(log.problems)


def event(line: dict[str, Any], begun: dict[Any, dict[str, Any]], calls: TimedCalls) -> None:
    phase, key = line.get("phase"), line.get("op_id")
    if phase not in ("B", "E") or not isinstance(key, (int, str)):
        calls.problems["a line of an unknown kind"] += "gdbcuda_log" not in line and phase != "M"
    elif phase == "B":
        calls.problems["a call that begins twice"] += key in begun
        begun[key] = line
    elif key in begun:
        add(begun.pop(key), line, calls)
    else:
        calls.problems["an end without its begin"] += 1


def add(line: dict[str, Any], end: dict[str, Any] | None, calls: TimedCalls) -> None:
    lane = line.get("pid", 0), line.get("tid", line.get("lwp", line.get("thread", 0)))
    answer = end.get("details") if end is not None else None
    status = answer.get("status") if isinstance(answer, dict) else None
    call = calls.add(line.get("name"), line.get("ts"), end.get("ts") if end is not None else None, lane,
                     details=line.get("details"), status=status)  # fmt: skip
    if call is not None and isinstance(answer, dict):
        rest = answer.get("out", {name: value for name, value in answer.items() if name not in ("status", "result")})
        call.out = rest if isinstance(rest, dict) else {}
