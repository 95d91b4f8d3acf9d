"""Lines of begins and ends, as tracers that are preloaded write them: one JSON object a line,

    {"ts":0.000001,"op_id":0,"phase":"B","name":"cuInit","details":{"flags":0}}
    {"ts":0.000050,"op_id":0,"phase":"E","name":"cuInit","details":{"status":0}}

``ts`` in seconds; ``tid`` (or ``thread``) and ``pid`` where a tracer has them. Lines of our own have the layer too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, Optional

from gdbcuda.calls.reader import Log, parsed
from gdbcuda.log.foreign.timed_calls import OURS, TimedCalls

Line = dict[str, Any]
Pair = tuple[int, Line, Optional[Line]]  # the number of the begin, in the order of the file


def read(chunks: Iterable[tuple[bytes, bool]], calls: TimedCalls) -> None:
    log, begun, numbers = Log(), {}, count()  # type: Log, dict[Any, tuple[int, Line]], count[int]
    for chunk, was_long in chunks:
        calls.problems["a line of more than 4 MiB"] += was_long
        for number, line in zip(numbers, parsed(chunk, log)):
            for pair in event(number, line, begun, calls):
                add(*pair, calls)
    for number, line in begun.values():
        add(number, line, None, calls)
    calls.problems.update(log.problems)


def event(number: int, line: Line, begun: dict[Any, tuple[int, Line]], calls: TimedCalls) -> Iterator[Pair]:
    phase, key = line.get("phase"), line.get("op_id")
    if phase not in ("B", "E") or not isinstance(key, (int, str)):
        calls.problems["a line of an unknown kind"] += "gdbcuda_log" not in line and phase != "M"
    elif phase == "B":
        calls.problems["a call that begins twice"] += key in begun
        begun[key] = number, line
    elif key in begun:
        yield (*begun.pop(key), line)
    else:
        calls.problems["an end without its begin"] += 1


def add(number: int, line: Line, end: Line | None, calls: TimedCalls) -> None:
    """Of those of one moment the outer one comes first, as they began."""
    lane = line.get("pid", 0), line.get("tid", line.get("lwp", line.get("thread", 0)))
    answer = end.get("details") if end is not None else None
    status = answer.get("status") if isinstance(answer, dict) else None
    layer = line.get("layer")
    call = calls.add(line.get("name"), line.get("ts"), end.get("ts") if end is not None else None, lane,
                     layer=layer if layer in OURS else "", details=line.get("details"), status=status,
                     order=number)  # fmt: skip
    if call is not None and isinstance(answer, dict):
        result = answer.get("result")
        if call.result is None and type(result) in (int, str) and type(status) is int:
            call.status, call.result = status, result
        rest = answer.get("out", {name: value for name, value in answer.items() if name not in ("status", "result")})
        call.out = rest if isinstance(rest, dict) else {}
