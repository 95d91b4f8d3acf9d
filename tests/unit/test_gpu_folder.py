"""Calls and work of a folder, told one after the other while few of them are held."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from gdbcuda.calls.reader import BEGIN, END, Event, Log
from gdbcuda.calls.record import Call
from gdbcuda.calls.sinks import as_nested
from gdbcuda.gpu.gpu_calls import GpuWork
from gdbcuda.gpu.joined_calls import JoinedCall
from gdbcuda.rings.traced.thread_names import ThreadNames
from gdbcuda.rings.traced.trace_files import untold
from gdbcuda.rings.traced.trace_gpu import FolderGpu, in_each_other, with_seen


def made(name: str, start: float, end: float, depth: int = 0) -> Call:
    call = Call(-1, name, start)
    call.end, call.ended, call.depth = end, "", depth
    return call


def test_work_that_begins_before_its_call_waits_for_the_calls_number() -> None:
    """The clocks are some nanoseconds apart."""
    gpu = FolderGpu({}, {}, Log())
    work, call, other = (made(name, 1.0, 2.0) for name in ("fill", "cuMemsetD8_v2", "cuInit"))
    cause = JoinedCall(call)
    gpu.causes[id(work)] = cause
    events = [(BEGIN, work), (BEGIN, other), (END, other), (BEGIN, call), (END, work), (END, call)]

    def numbered() -> Iterator[Event]:
        for event in events:
            cause.number = 7 if event == (BEGIN, call) else cause.number
            yield event

    told = [(event, work.arguments.get("call")) for event in gpu.with_causes(numbered())]
    assert [event for event, _ in told] == events and {number for _, number in told} == {7}


def test_calls_that_only_cupti_has_seen_are_around_those_that_are_in_them() -> None:
    """Also where both begin at one moment, and where one ends as the next begins."""
    recorded = [made("before", 0.5, 1.0), made("inside", 1.0, 1.5, 1), made("deeper", 1.1, 1.2, 2),
                made("behind", 2, 3)]  # fmt: skip
    seen = in_each_other([made("in both", 1.6, 1.7), made("seen", 1.0, 2.0), made("last", 4, 5)])
    around = {call.name: outer.name if outer else "" for _, is_end, call, outer in
              as_nested(with_seen(iter(recorded), seen)) if not is_end}  # fmt: skip
    assert around == {"before": "", "seen": "", "inside": "seen", "deeper": "inside", "in both": "seen", "behind": "",
                      "last": ""}  # fmt: skip


def test_streams_of_processes_that_left_nothing_else_are_of_each_its_own() -> None:
    gpu = FolderGpu({}, {}, Log())
    for pid, starts in ((7, (1.0, 3.0)), (8, (2.0, 4.0))):
        file = SimpleNamespace(pid=pid)
        reading: Any = SimpleNamespace(file=file, seen={}, call=lambda work: made("kernel", work.start, 5.0))
        gpu.add(0, reading, [GpuWork(0, start, start + 0.5, "GPU 0 stream 7", None) for start in starts])
    names = ThreadNames(gpu.log)
    lanes = gpu.streams(names, untold)
    told = [[(call.thread, time) for time, is_end, call, _ in lane if not is_end] for lane in lanes]
    assert told == [[(1, 1.0), (1, 3.0)], [(2, 2.0), (2, 4.0)]]
