"""The column of sites in a table of blocks: who has asked for them, and what stands in that line of the source."""

from __future__ import annotations

from collections.abc import Sequence

from gdbcuda.calls.references import Process
from gdbcuda.calls.text import CallWriter
from gdbcuda.ledger.blocks import Block
from gdbcuda.text import render
from gdbcuda.text.printable import visible

LONGEST = 60  # characters of a source line in a table


class SiteColumn:
    """The cells of a table's column of sites: below the first of each its source line."""

    def __init__(self, writer: CallWriter) -> None:
        self.writer, self.seen = writer, set[tuple[Process, int]]()

    def cell(self, block: Block, name: str) -> str:
        site = block.call.process, block.site
        text = "" if site in self.seen else visible(self.writer.source_text(*site))
        self.seen.add(site)
        name = visible(self.writer.short(name))
        return f"{name}\n{self.writer.code(text[:LONGEST])}" if text else name

    def table(self, rows: Sequence[Sequence[object]], titles: Sequence[str]) -> str:
        return render.table(rows, titles, colour=self.writer.paint("x", "ok") != "x", lines=True)
