"""One page of HTML about a log: threads, memory, functions, errors, leaks. It needs nothing but itself."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from gdbcuda import api
from gdbcuda.ledger import Ledgers
from gdbcuda.ledger.blocks import Block
from gdbcuda.log.reader import BEGIN, Event, Log
from gdbcuda.log.record import Call
from gdbcuda.log.summary import Summary, counted
from gdbcuda.log.text import Writer

MOST_CALLS, MOST_BLOCKS, MOST_POINTS, MOST_ROWS = 50_000, 5_000, 20_000, 1_000
LONGEST = 400  # characters of a call's text
TEMPLATE = Path(__file__).with_suffix(".html")


class Report:
    """Collects, in one pass, what the page shows; of a very long log the first calls are drawn, all are counted."""

    def __init__(self, table: api.Table, log: Log, writer: Writer) -> None:
        self.log, self.writer = log, writer
        self.summary, self.ledgers = Summary(table, log.notes), Ledgers(table, log.notes)
        self.calls: list[Call] = []
        self.errors: list[Call] = []
        self.memory: list[tuple[float, int]] = []
        self.end, self.peak = 0.0, 0

    def feed(self, events: Iterable[Event]) -> Report:
        for phase, call in events:
            if phase == BEGIN:
                self.summary.begin(call)
                self.ledgers.entry(call)
            else:
                self.finish(call)
        return self

    def finish(self, call: Call) -> None:
        self.summary.end(call)
        self.ledgers.exit(call)
        self.end = max(self.end, call.start if call.end is None else call.end)
        if len(self.calls) < MOST_CALLS:
            self.calls.append(call)
        if (call.failed or call.ended) and len(self.errors) < MOST_ROWS:
            self.errors.append(call)
        used = sum(one.on_device for one in self.ledgers.all())
        if not self.memory or self.memory[-1][1] != used:
            self.memory.append((self.end, used))
            self.peak = max(self.peak, used)

    def html(self) -> str:
        # "</script>" in a string of the program's must not end the element
        text = json.dumps(self.data(), separators=(",", ":")).replace("</", "<\\/")
        return TEMPLATE.read_text(encoding="utf-8").replace("@DATA@", text, 1)

    def data(self) -> dict[str, Any]:
        numbers = sorted({call.thread for call in self.calls})
        names = {name: i for i, name in enumerate(sorted({call.name for call in self.calls}))}
        return {
            "program": str(self.program() or "an unknown program").rsplit("/", 1)[-1],
            "head": self.head(),
            "from": min((call.start for call in self.calls), default=0.0),
            "to": self.end,
            "threads": [self.thread(number) for number in numbers],
            "names": list(names),
            "calls": [self.drawn(call, numbers.index(call.thread), names) for call in self.calls],
            "memory": thinned(self.memory),
            "peak": self.peak,
            "blocks": [self.block(block) for block in self.blocks()[:MOST_BLOCKS] if block.on_device],
            "functions": list(self.functions()),
            "errors": [[c.number, c.start, f"T{c.thread}", c.name, c.ended or c.result, self.writer.caller(c)]
                       for c in self.errors],
            "problems": [[p.call.number, p.kind, p.text, self.writer.caller(p.call)]
                         for one in self.ledgers.all() for p in one.problems[:MOST_ROWS]],
            "leaks": list(self.leaks()),
        }  # fmt: skip

    def program(self) -> Any:
        programs = (one.get("program") for one in self.log.notes.processes.values())
        return self.log.header.get("program") or next(programs, None)

    def head(self) -> str:
        header, drawn = self.log.header, len(self.calls)
        cuda = f", CUDA {header['cuda']}" if header.get("cuda") else ""
        left = f"; the first {drawn} are drawn" if self.summary.total > drawn else ""
        bad = f"; {counted(sum(self.log.problems.values()), 'line')} could not be read" if self.log.problems else ""
        return f"{counted(self.summary.total, 'call')}{cuda}{left}{bad}"

    def thread(self, number: int) -> dict[str, Any]:
        name = self.log.notes.threads.get(number, {}).get("name") or ""
        depth = max(call.depth for call in self.calls if call.thread == number)
        return {"name": f"T{number} {name}".rstrip(), "depth": depth}

    def drawn(self, call: Call, thread: int, names: dict[str, int]) -> list[Any]:
        end = call.start if call.end is None else call.end
        text = f"#{call.number} {self.writer.call(call)}"[:LONGEST]
        by = self.writer.caller(call)
        return [thread, call.start, end, names[call.name], call.layer, call.depth, int(call.failed or bool(call.ended)),
                f"{text}\nby {by}" if by else text]  # fmt: skip

    def blocks(self) -> list[Block]:
        found = (block for one in self.ledgers.all() for block in one.blocks.all())
        return sorted(found, key=lambda block: block.call.number)

    def block(self, block: Block) -> list[Any]:
        freed = block.release.start if block.release is not None else None
        name = f"#{block.call.number} {block.call.name}"
        return [block.call.start, freed, block.size, name, self.writer.place(block.call.process, block.site)]

    def functions(self) -> Iterable[list[Any]]:
        for (name, layer), one in self.summary.functions.items():
            times = one.sorted_times()
            shown = [sum(times), times[0], one.quantile(0.5), one.quantile(0.99), times[-1]] if times else [None] * 5
            yield [name, layer, one.count, sum(one.failures.values()), *shown]

    def leaks(self) -> Iterable[list[Any]]:
        def key(block: Block) -> tuple[str, str]:
            return self.writer.place(block.call.process, block.site), block.call.name

        live = [block for one in self.ledgers.all() for block in one.blocks.live()]
        for (site, name), blocks in groupby(sorted(live, key=key), key):
            sizes = [block.size for block in blocks]
            yield [len(sizes), sum(sizes), name, site]


def thinned(points: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """Few enough to draw: of each stretch the highest."""
    stride = -(-len(points) // MOST_POINTS) or 1
    return [max(points[i : i + stride], key=lambda point: point[1]) for i in range(0, len(points), stride)]
