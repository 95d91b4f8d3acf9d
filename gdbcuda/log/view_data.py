"""What the views of a log show, as data for scripts (--json)."""

from __future__ import annotations

from collections.abc import Iterable

from gdbcuda.calls import data, record
from gdbcuda.calls.data import Data
from gdbcuda.calls.record import Call
from gdbcuda.calls.text import CallWriter
from gdbcuda.log.views.changes import Change
from gdbcuda.log.views.diff import Diff, Divergence
from gdbcuda.log.views.summary import FunctionSummary, Summary
from gdbcuda.log.views.timeline import NAMES, Timeline


def changes(one: Call, found: Iterable[Change], writer: CallWriter) -> Data:
    return {**data.call(one, writer), "changes": [change(each, writer) for each in found]}


def change(one: Change, writer: CallWriter) -> Data:
    if one.call is not None:
        return {"what": one.what, "call": data.call(one.call, writer)}
    if not one.name and one.what != "result":
        return {"what": one.what}
    return {"what": one.what, "name": one.name, "asked": one.asked, "passed": one.passed}


def summary(found: Summary, writer: CallWriter) -> Data:
    return {
        "calls": found.total,
        "not_over": found.unfinished,
        "return_not_recorded": found.without_return,
        "on_gpu": found.on_gpu,
        "threads": [{"thread": thread, "calls": count} for thread, count in sorted(found.threads.items())],
        "functions": [{"function": name, "layer": layer, **function(one)}
                      for (name, layer), one in found.functions.items()],
        "copied": dict(found.moved),
        "allocated": dict(found.allocated),
        "launches": [{**launch._asdict(), "launches": count} for launch, count in found.launches.most_common()],
        "callers": [{"from": writer.place(*at), "calls": count} for at, count in found.callers.most_common()],
    }  # fmt: skip


def function(one: FunctionSummary) -> Data:
    """Times in seconds."""
    times = one.times
    shown = {"total": times.total, "min": times.least, "median": times.quantile(0.5), "p99": times.quantile(0.99),
             "max": times.most} if times.count else {}  # fmt: skip
    return {"calls": one.count, "failures": {str(error): count for error, count in one.failures.items()},
            **{name: round(seconds, record.DIGITS) for name, seconds in shown.items()}}  # fmt: skip


def timeline(lanes: Timeline) -> Data:
    """For each thread, how many seconds of each column went into what."""

    def seconds(cell: dict[str, float]) -> Data:
        return {NAMES.get(letter, "failed"): round(spent, record.DIGITS) for letter, spent in cell.items()}

    threads, kernel = ({thread: list(map(seconds, lane)) for thread, lane in sorted(some.items())}
                       for some in (lanes.lanes, lanes.kernel))  # fmt: skip
    in_kernel = {"kernel": kernel} if kernel else {}
    return {"start": lanes.start, "column": lanes.step, "threads": threads, **in_kernel}


def diff(found: Diff, writers: tuple[CallWriter, CallWriter]) -> Data:
    first, second = found.after
    return {
        "alike": found.alike,
        "differences": dict(found.counts),
        "first": [divergence(one, writers) for one in sorted(found.firsts.values(), key=lambda one: one.start)],
        "from_there_on": {name: [first[name], second[name]] for name in sorted({*first, *second})},
    }


def divergence(one: Divergence, writers: tuple[CallWriter, CallWriter]) -> Data:
    both = zip((one.first, one.second), writers)
    calls = [None if each is None else data.call(each, writer) for each, writer in both]
    process, thread = (number + 1 for number in one.thread)
    return {"what": one.what, "process": process, "thread": thread, "how": one.detail,
            "first": calls[0], "second": calls[1]}  # fmt: skip
