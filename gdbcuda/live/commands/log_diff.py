"""``cuda-log diff``: this session's log against a file, or two files; ``gdbcuda log diff`` in a shell."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING

from gdbcuda.command_line.argument_types import FILE
from gdbcuda.command_line.options import WideOptions, of_kind, optional_word, word
from gdbcuda.live.commands import log_views
from gdbcuda.live.frames.session_types import FUNCTION, LAYERS
from gdbcuda.live.prompt.command import command
from gdbcuda.live.recording import call_log
from gdbcuda.log import options as shared
from gdbcuda.text import render

if TYPE_CHECKING:
    from gdbcuda.calls.reader import Event
    from gdbcuda.calls.text import CallWriter
    from gdbcuda.log.source import LogSource

    Side = tuple[Iterator[Event], CallWriter]


class LogDiffOptions(shared.WhichOptions, WideOptions):
    first: str = word(FILE, "what cuda-log or gdbcuda trace has written")
    second: str | None = optional_word(FILE, "the same of another run (default: the calls of this session)")
    places: tuple[str, ...] = of_kind(shared.WhichOptions.places, LAYERS)
    function: list[str] = of_kind(shared.WhichOptions.function, FUNCTION, many=True)


@command("cuda-log diff", LogDiffOptions)
def cuda_log_diff(wanted: LogDiffOptions) -> str:
    """Show where two logs part.

    One of a run without the hook library, and one with it, say. Outermost calls are compared in order, thread by
    thread. Pointers and handles are compared by what handed them out, for their values differ from run to run.

    Examples:
      cuda-log diff without.jsonl
      cuda-log diff without.jsonl --in driver
      cuda-log diff without.jsonl with.jsonl --function 'cuMem*'"""
    from gdbcuda.calls import data
    from gdbcuda.log import view_data
    from gdbcuda.log.selecting import select
    from gdbcuda.log.views import diff

    sources = [opened(path) for path in (wanted.first, wanted.second) if path is not None]
    for source in sources:
        source.refuse_unknown(wanted.function)
    if wanted.second is None and not call_log.SESSION.kept.calls:
        return log_views.nothing_recorded(wanted.json)
    sides = [(source.events(), source.writer) for source in sources]
    sides += [] if wanted.second is not None else [this_session()]
    places = select.places_of(wanted.places)
    narrowed = (select.within(told, places, wanted.function) for told, _ in sides)
    writers = sides[0][1], sides[1][1]
    found = diff.Diff().feed(*narrowed)
    if wanted.json:
        return data.line(view_data.diff(found, writers))
    problems = [source.problems() for source in sources if source.log.problems]
    left = [log_views.not_kept()] if wanted.second is None else []
    return render.fold_to_screen("\n".join(filter(None, [diff.text(found, writers), *problems, *left])))


def opened(path: str) -> LogSource:
    from gdbcuda.live.stopping import stops
    from gdbcuda.log.source import LogSource

    return LogSource(path, stops.paint, stops.code, has_bar=False)


def this_session() -> Side:
    """Copies, for `select.within` makes calls outermost ones."""
    return log_views.events([*map(copy, call_log.SESSION.kept.calls)]), call_log.writer()
