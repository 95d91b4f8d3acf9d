"""A log summed up: functions, failures, times, bytes, kernels, callers. One pass, little memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from gdbcuda import api
from gdbcuda.calls.kernels import NAMING, Kernels, Launch
from gdbcuda.calls.reader import BEGIN, Event
from gdbcuda.calls.record import RETURN_LOST, STILL_OPEN, Call
from gdbcuda.calls.references import Process, References
from gdbcuda.calls.text import CallWriter, duration
from gdbcuda.gpu.gpu_calls import GPU
from gdbcuda.ledger.effects import copied, extents
from gdbcuda.log.views.times import Times
from gdbcuda.text import fitting, render
from gdbcuda.text.demangling import demangled
from gdbcuda.text.sentences import counted
from gdbcuda.text.units import human

SHAPES = 3
ROWS, FEW = 15, 6  # of the functions and of each other table
LESS_ROWS = (8, 3), (5, 2)  # where these do not fit a screen
WHOLE = ("copy", "set", "alloc", "launch")  # what such a call does is not counted again for the calls inside it


class FunctionSummary:
    """All calls of one function in one layer; times in seconds, of those that returned."""

    def __init__(self) -> None:
        self.count = 0
        self.failures: Counter[str | int] = Counter()  # by constant, by a number that has none, "(why it ended)"
        self.times = Times()


class Summary:
    def __init__(self, table: api.Table, notes: References) -> None:
        self.table, self.notes = table, notes
        self.functions: dict[tuple[str, str], FunctionSummary] = {}
        self.callers: Counter[tuple[Process, int]] = Counter()
        self.moved: Counter[str] = Counter()
        self.allocated: Counter[str] = Counter()
        self.elements: dict[tuple[Process, int], int] = {}  # bytes of one, by the handle of the array
        self.launches: Counter[Launch] = Counter()
        self.kernels = Kernels(notes)
        self.threads: Counter[int] = Counter()
        self.total = self.unfinished = self.without_return = self.on_gpu = 0
        self.first, self.last = math.inf, 0.0
        self._inside: set[int] = set()
        self._roles: dict[str, str] = {}

    def feed(self, events: Iterable[Event]) -> Summary:
        for phase, call in events:
            if call.layer == GPU:
                self.on_gpu += phase != BEGIN
            elif phase == BEGIN:
                self.begin(call)
            else:
                self.end(call)
        return self

    def begin(self, call: Call) -> None:
        role = self._roles.get(call.name)
        if role is None:
            function = self.table.function(call.name)
            role = self._roles[call.name] = function.role if function is not None else ""
        if role in WHOLE or call.parent in self._inside:
            self._inside.add(call.number)

    def end(self, call: Call) -> None:
        self.total += 1
        self.threads[call.thread] += 1
        key = call.name, call.layer
        row = self.functions.get(key)
        if row is None:
            row = self.functions[key] = FunctionSummary()
        row.count += 1
        if call.parent is None:
            self.callers[call.process, self.notes.asked_at(call.process, call.site, call.stack)] += 1
        self.first = min(self.first, call.start)  # an inner call ends first
        if call.ended == STILL_OPEN:
            self.unfinished += 1
        elif call.ended == RETURN_LOST:
            self.without_return += 1
        elif call.ended:
            row.failures[f"({call.ended})"] += 1
        else:
            end = call.end or 0.0
            self.last = max(self.last, end)
            row.times.add(end - call.start)
            if call.status:
                row.failures[call.result if isinstance(call.result, int) else str(call.result)] += 1
        self.what_it_did(call)

    def what_it_did(self, call: Call) -> None:
        role = self._roles.get(call.name)
        is_inner = call.parent in self._inside
        self._inside.discard(call.number)
        if not role or call.ended or call.status:
            return
        if role in NAMING:
            self.kernels.learn(self.function(call), call)
        elif is_inner:
            return
        elif role == "launch":
            launched = self.kernels.launch(call)
            if launched is not None:
                self.launches[launched] += 1
        elif role in ("copy", "set", "alloc"):
            self.add_bytes(role, call)

    def function(self, call: Call) -> api.Function:
        found = self.table.function(call.name)
        assert found is not None, "only functions of the table have a role"
        return found

    def add_bytes(self, role: str, call: Call) -> None:
        if role == "alloc":
            self.allocated[call.base] += extents.size(self.function(call), call)
            each = extents.element(call)
            if each:
                self.elements.update(((call.process, number), each) for number in extents.handles(call))
        elif role == "copy":
            way, count = copied.direction_and_size(call, lambda array: self.elements.get((call.process, array), 0))
            if count:
                self.moved[way] += count


# -- text -----------------------------------------------------------------------------------------------------


def text(summary: Summary, writer: CallWriter, is_all: bool = False) -> str:
    """What fits a screen, or all: of what does not, few rows of each table, and what was moved as a line."""
    if not summary.total:
        return f"No calls.{on_gpu(summary)}"
    if is_all:
        return "\n\n".join(parts(summary, writer, None, None))
    whole = "\n\n".join(parts(summary, writer, ROWS, FEW))
    if fitting.lines_on_screen(whole) <= fitting.SCREEN:
        return whole
    for rows, few in LESS_ROWS:
        whole = "\n\n".join(parts(summary, writer, rows, few, bytes_in_lines=True))
        if fitting.lines_on_screen(whole) <= fitting.SCREEN:
            break
    return whole


def parts(
    summary: Summary, writer: CallWriter, rows: int | None, few: int | None, bytes_in_lines: bool = False
) -> list[str]:
    found = [head(summary), functions_text(summary, rows)]
    tables = other_tables(summary, writer)
    if bytes_in_lines:
        moved = [line_of_bytes(*tables.pop(name)) for name in ("moved", "allocated") if name in tables]
        tables["moved"] = (moved, [])
    for lines, titles in tables.values():
        shown = fitting.table(lines[:few], titles) if titles else "\n".join(map(str, lines))
        found += [shown + (and_more(len(lines), few) if titles else "")] if lines else []
    return found


def head(summary: Summary) -> str:
    took = f", {duration(summary.last - summary.first)}" if summary.last > summary.first else ""
    names, threads = len({name for name, _ in summary.functions}), len(summary.threads)
    left = f"; {summary.unfinished} not over" if summary.unfinished else ""
    left += f"; of {summary.without_return} the return was not recorded" if summary.without_return else ""
    said = f"{summary.total} calls of {counted(names, 'function')} in {counted(threads, 'thread')}"
    return f"{said}{took}{left}{on_gpu(summary)}"


def on_gpu(summary: Summary) -> str:
    return f"; {counted(summary.on_gpu, 'piece')} of work on a GPU: gdbcuda log gpu" if summary.on_gpu else ""


TITLES = ("function", "layer", "calls", "failed", "total", "min", "median", "p99", "max")
LESS = ((), ("min", "p99"), ("min", "p99", "median", "max"))  # what a narrow terminal has no room for


def functions_text(summary: Summary, most: int | None) -> str:
    """The most time first; inner calls are counted in the outer one's time too."""
    rows = [
        (name, layer, one.count, sum(one.failures.values()) or "", *times(one.times))
        for (name, layer), one in sorted(summary.functions.items(), key=lambda item: -item[1].times.total)
    ]
    return narrowed(rows[:most], render.screen()) + and_more(len(rows), most)


def and_more(count: int, most: int | None) -> str:
    return f"\n... and {count - most} more: --all" if most is not None and count > most else ""


def narrowed(rows: Sequence[Sequence[object]], width: int | None) -> str:
    for left_out in LESS:
        kept = [i for i, title in enumerate(TITLES) if title not in left_out]
        shown = [[row[i] for i in kept] for row in rows], [TITLES[i] for i in kept]
        if width is None or render.visible_width(render.table(*shown, width=None)) <= width:
            break
    note = f"\n({', '.join(left_out)}: in a wider terminal, or --json)" if left_out else ""
    return render.table(*shown) + note


def times(one: Times) -> tuple[str, ...]:
    if not one.count:
        return ("",) * 5
    return tuple(map(duration, (one.total, one.least, one.quantile(0.5), one.quantile(0.99), one.most)))


Tables = dict[str, tuple[list[Any], list[str]]]  # rows and titles, by what they are about


def other_tables(summary: Summary, writer: CallWriter) -> Tables:
    failures = [(name, layer, writer.result(name, error), count) for (name, layer), one in summary.functions.items()
                for error, count in one.failures.most_common()]  # fmt: skip
    callers: Counter[str] = Counter()  # calls of one line return to several places
    for place, count in summary.callers.items():
        callers[writer.place(*place) or "unknown"] += count
    found: Tables = {
        "failures": (failures, ["function", "layer", "failed with", "calls"]),
        "moved": ([(what, amount(count)) for what, count in summary.moved.most_common()], ["copied", "bytes"]),
        "allocated": ([(what, amount(count)) for what, count in summary.allocated.most_common()],
                      ["allocated by", "bytes"]),
        "kernels": (kernels(summary, writer), ["kernel", "grid", "block", "shared memory", "launches"]),
        "callers": ([(writer.short(name), count) for name, count in callers.most_common()], ["called from", "calls"]),
    }  # fmt: skip
    return {about: one for about, one in found.items() if one[0]}


def line_of_bytes(rows: Sequence[Sequence[str]], titles: Sequence[str]) -> str:
    """ "copied: host to device 64 [...], ..." """
    return f"{titles[0]}: {', '.join(f'{what} {count}' for what, count in rows)}"


def kernels(summary: Summary, writer: CallWriter) -> list[tuple[object, ...]]:
    """A row for each shape; one for all of a kernel that is launched in more than a few."""
    shapes: dict[str, list[tuple[Launch, int]]] = {}
    for launch, count in summary.launches.most_common():
        shapes.setdefault(launch.kernel, []).append((launch, count))
    found: list[tuple[object, ...]] = []
    for mangled, several in shapes.items():
        name = demangled(mangled)  # of what is cut off several may read alike: they are rows of their own
        if len(several) > SHAPES:
            rest = f"{len(several)} shapes", "", ""
            found.append((writer.short(name), *rest, sum(count for _, count in several)))
        else:
            found += [(writer.short(name), *launch[1:], count) for launch, count in several]
    return sorted(found, key=lambda row: -int(str(row[-1])))


def amount(count: int) -> str:
    return f"{count} [{human(count)}]" if count >= 1024 else str(count)
