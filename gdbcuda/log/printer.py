"""How the calls of several logs are printed, and which of each are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gdbcuda.calls import data
from gdbcuda.log.selecting import select
from gdbcuda.log.source import LogSource
from gdbcuda.log.views.gpu_views import gpu_work
from gdbcuda.text import output, render
from gdbcuda.text.highlight import JSON, highlighted_line
from gdbcuda.text.printable import visible

if TYPE_CHECKING:
    from gdbcuda.log.options import DataOptions, FilterOptions


class Printer:
    """Text that fits the terminal, if there is one; or with --json data, a line each."""

    def __init__(self, wanted: DataOptions, sources: list[LogSource]) -> None:
        self.as_json, self.are_several = wanted.json, len(sources) > 1
        self.width = render.screen()  # asked once: a log has millions of lines
        self.count = 0

    def each(self, sources: list[LogSource]) -> Iterator[LogSource]:
        for source in sources:
            if self.are_several and not self.as_json:
                output.say(f"== {visible(str(source.path))}")
            yield source

    def put(self, source: LogSource, shown: data.Data | str) -> None:
        source.make_room()
        self.count += 1
        if isinstance(shown, str):
            output.hand_out(render.fold(shown, self.width))
        else:
            text = data.line(shown, source.path if self.are_several else "")
            output.hand_out(highlighted_line(text, JSON, output.wants_colour("auto")))


def filtered(
    wanted: FilterOptions, sources: list[LogSource], out: Printer
) -> Iterator[tuple[LogSource, select.CallFilter]]:
    """Each with what is wanted of it."""
    for source in out.each(sources):
        source.refuse_unknown(wanted.function)
        chosen = select.CallFilter.of(wanted).with_condition(wanted.condition, source.table, source.log.notes)
        before = out.count
        yield source, chosen
        none = "" if out.as_json or out.count > before else "no call like that"
        apart = "" if out.as_json else gpu_work.clocks_apart(source.log.notes)
        for remark in filter(None, (none, chosen.remark(), apart)):
            output.finish()
            output.complain(visible(f"gdbcuda: {source.path}: {remark}"))
