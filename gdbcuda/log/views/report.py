"""One page of HTML about a log: threads, memory, functions, errors, leaks. It needs nothing but itself."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from gdbcuda import api
from gdbcuda.calls.reader import BEGIN, Event, Log
from gdbcuda.calls.record import Call
from gdbcuda.calls.text import CallWriter
from gdbcuda.ledger import Ledgers
from gdbcuda.ledger.blocks import Block
from gdbcuda.ledger.views import leaked
from gdbcuda.log.views.drawn_calls import DrawnCalls, Row
from gdbcuda.log.views.gpu_views.gpu_work import clocks_apart
from gdbcuda.log.views.summary import Summary
from gdbcuda.text.highlight import classes, shape_of, style_sheet
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import counted

MOST_CALLS, MOST_BLOCKS, MOST_POINTS, MOST_ROWS = 50_000, 5_000, 20_000, 1_000
DEEPEST = 40  # rows of a lane; a hook that calls itself without end is not drawn further down
LONGEST = 400  # characters of a call's text
# In a script element "</script" and "<!--<script" of a string of the program's would be HTML's (HTML Standard,
# "Restrictions for contents of script elements"). Other than ASCII json.dumps has written by its numbers already.
INERT = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}
TEMPLATE = Path(__file__).with_suffix(".html")


class LogReport:
    """Collects, in one pass, what the page shows; of a very long log not all calls are drawn, all are counted."""

    def __init__(self, table: api.Table, log: Log, writer: CallWriter) -> None:
        self.log, self.writer = log, writer
        self.summary, self.ledgers = Summary(table, log.notes), Ledgers(table, log.notes)
        self.drawn = DrawnCalls(MOST_CALLS)
        self.names: dict[str, int] = {}
        self.shapes: dict[str, int] = {}  # of the calls as C, without their numbers
        self.stacks: dict[tuple[str, ...], int] = {(): 0}  # the frames above the caller, outwards
        self.short: dict[str, str] = {}  # long C++ names of places, as tables show them
        self.lines: dict[str, list[Any]] = {}  # of the sources, with their colours, by the place's name
        self.depths: dict[int, int] = {}  # by thread
        self.errors: list[Row] = []
        self.failed = 0
        self.memory: list[tuple[float, int]] = []
        self.start, self.end, self.used, self.peak = math.inf, 0.0, 0, 0

    def feed(self, events: Iterable[Event]) -> LogReport:
        for phase, call in events:
            if phase == BEGIN:
                self.summary.begin(call)
                self.ledgers.entry(call)
                self.drawn.begin(call)
            else:
                self.finish(call)
        return self

    def finish(self, call: Call) -> None:
        self.summary.end(call)
        self.note_memory(call)
        self.start, self.end = min(self.start, call.start), max(self.end, call.last_seen)
        is_bad = call.went_wrong
        is_drawn = self.drawn.wants(call) or (is_bad and len(self.errors) < MOST_ROWS)
        self.drawn.end(call, self.row(call) if is_drawn else None)
        if is_bad:
            self.failed += 1
        if is_bad and len(self.errors) < MOST_ROWS:
            result = call.ended or self.writer.result(call.name, call.result)
            self.errors.append([call.number, call.start, f"T{call.thread}", call.name, call.layer, result,
                                self.asker(call)])  # fmt: skip

    def note_memory(self, call: Call) -> None:
        ledger = self.ledgers.known(call)
        before = ledger.usage.on_device if ledger is not None else 0
        self.ledgers.exit(call)
        self.used += ledger.usage.on_device - before if ledger is not None else 0
        if not self.memory or self.memory[-1][1] != self.used:
            self.memory.append((max(self.end, call.last_seen), self.used))
            self.peak = max(self.peak, self.used)
        if len(self.memory) > 2 * MOST_POINTS:
            self.memory = thinned(self.memory)

    def row(self, call: Call) -> Row:
        depth = min(call.depth, DEEPEST)
        self.depths[call.thread] = max(self.depths.get(call.thread, 0), depth)
        name = self.names.setdefault(call.name, len(self.names))
        code, by = self.writer.call(call)[:LONGEST], self.asker(call)
        text, shape = f"#{call.number} {code}", self.shapes.setdefault(shape_of(code), len(self.shapes))
        return [call.thread, call.start, call.last_seen, name, call.layer, depth, int(call.went_wrong),
                f"{text}\nby {by}" if by else text, shape, self.stack(call)]  # fmt: skip

    def asker(self, call: Call) -> str:
        return self.place(call, self.log.notes.asked_at(call.process, call.site, call.stack))

    def place(self, call: Call, address: int) -> str:
        name, text = self.writer.place(call.process, address), self.writer.source_text(call.process, address)
        if text and name not in self.lines and len(self.lines) < MOST_ROWS:
            shown = visible(text)[:LONGEST]
            self.lines[name] = [shown, classes(shape_of(shown))]
        if (short := self.writer.short(name)) != name and len(self.short) < MOST_ROWS:
            self.short[name] = short
        return name

    def stack(self, call: Call) -> int:
        frames = tuple(name[:LONGEST] for name in self.writer.above(call))
        return self.stacks.setdefault(frames, len(self.stacks))

    def html(self) -> str:
        text = json.dumps(self.data(), separators=(",", ":")).translate(INERT)
        page = TEMPLATE.read_text(encoding="utf-8").replace("@STYLE@", style_sheet(), 1)
        return page.replace("@DATA@", text, 1)

    def data(self) -> dict[str, Any]:
        calls = self.drawn.all()
        blocks = self.blocks()
        numbers = {thread: i for i, thread in enumerate(sorted(self.depths))}
        found = {
            "program": str(self.program() or "an unknown program").rsplit("/", 1)[-1],
            "head": self.head(len(calls)),
            "figures": self.figures(),
            "from": self.start if calls else 0.0,
            "to": self.end,
            "threads": [self.thread(number) for number in numbers],
            "names": list(self.names),
            "calls": [[numbers[row[0]], *row[1:]] for row in calls],
            "shapes": list(map(classes, self.shapes)),
            "stacks": list(self.stacks),
            "memory": thinned(self.memory),
            "peak": self.peak,
            "blocks": [self.block(block) for block in blocks[:MOST_BLOCKS]],
            "all_blocks": len(blocks) <= MOST_BLOCKS and not self.has_forgotten(),
            "functions": list(self.functions()),
            "kernels": [[*launch, count] for launch, count in self.summary.launches.most_common(MOST_ROWS)],
            "errors": sorted(self.errors),
            "problems": [[p.call.number, p.call.start, p.kind, p.text, self.asker(p.call)]
                         for one in self.ledgers.all() for p in one.problems[:MOST_ROWS]],
            "leaks": list(self.leaks()),
            "files": [[str(one.get("file")), str(one.get("layer") or ""), str(one.get("build_id") or "")]
                      for one in self.log.notes.objects.values()],
        }  # fmt: skip
        return {**found, "lines": self.lines, "short": self.short}

    def figures(self) -> list[list[Any]]:
        """What to see first: a text, a number, a unit ("n", "s", "b"), where to look, and whether it is bad."""
        live = self.leaked()
        unknown = sum(bool(one.not_followed(block)) for one in self.ledgers.all() for block in one.blocks.live())
        problems = sum(len(one.problems) for one in self.ledgers.all())
        return [
            ["calls", self.summary.total, "n", "functions", False],
            ["first to last call", self.end - self.start if self.summary.total else 0, "s", "lanes", False],
            ["errors", self.failed, "n", "errors", bool(self.failed)],
            ["bad frees and copies", problems, "n", "problems", bool(problems)],
            ["peak of device memory", self.peak, "b", "memory", False],
            [f"not freed, in {counted(len(live), 'block')}", sum(b.size for b in live), "b", "leaks", bool(live)],
            *([["blocks of which the log does not tell whether they were freed", unknown, "n", "memory", False]]
              if unknown else []),
        ]

    def leaked(self) -> list[Block]:
        return [block for one in self.ledgers.all() for block in leaked(one)]

    def program(self) -> Any:
        programs = (one.get("program") for one in self.log.notes.processes.values())
        return self.log.header.get("program") or next(programs, None)

    def head(self, drawn: int) -> str:
        header, lost = self.log.header, sum(self.log.problems.values())
        parts = [f"recorded {moment(header.get('started'))}" if moment(header.get("started")) else "",
                 f"CUDA {header['cuda']}" if header.get("cuda") else "",
                 f"gdbcuda {header['version']}" if header.get("version") else "",
                 f"{drawn} of the {self.summary.total} calls are drawn, spread over all of the time, and all errors"
                 if drawn < self.summary.total else "",
                 clocks_apart(self.log.notes),
                 f"{counted(lost, 'line')} could not be read" if lost else ""]  # fmt: skip
        return "; ".join(filter(None, parts))

    def thread(self, number: int) -> dict[str, Any]:
        name = self.log.notes.threads.get(number, {}).get("name") or ""
        return {"name": f"T{number} {name}".rstrip(), "depth": self.depths[number]}

    def blocks(self) -> list[Block]:
        """First those that are large for long."""

        def weight(block: Block) -> float:
            end = self.end if block.release is None else block.release.start
            return block.size * (end - block.call.start)

        found = (block for one in self.ledgers.all() for block in one.blocks.all() if block.on_device)
        return sorted(found, key=weight, reverse=True)

    def has_forgotten(self) -> bool:
        return any(one.blocks.has_forgotten for one in self.ledgers.all())

    def block(self, block: Block) -> list[Any]:
        freed = block.release.start if block.release is not None else None
        name = f"#{block.call.number} {block.call.name}"
        return [block.call.start, freed, block.size, name, self.place(block.call, block.site)]

    def functions(self) -> Iterable[list[Any]]:
        for (name, layer), one in self.summary.functions.items():
            times = one.times
            shown: list[Any] = [None] * 5
            if times.count:
                shown = [times.total, times.least, times.quantile(0.5), times.quantile(0.99), times.most]
            yield [name, layer, one.count, sum(one.failures.values()), *shown]

    def leaks(self) -> Iterable[list[Any]]:
        def key(block: Block) -> tuple[str, str]:
            return self.place(block.call, block.site), block.call.name

        live = self.leaked()
        for (site, name), blocks in groupby(sorted(live, key=key), key):
            sizes = [block.size for block in blocks]
            yield [len(sizes), sum(sizes), name, site]


def moment(started: Any) -> str:
    """The wall clock of the beginning, as the machine that makes the page has it."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(started))) if started else ""
    except (TypeError, ValueError, OverflowError, OSError):
        return ""


def thinned(points: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """Few enough to draw: of each stretch the highest."""
    stride = -(-len(points) // MOST_POINTS) or 1
    return [max(points[i : i + stride], key=lambda point: point[1]) for i in range(0, len(points), stride)]
