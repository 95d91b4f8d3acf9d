"""``cuda-log show`` and ``cuda-log summary``: what was recorded, with the options of ``gdbcuda log`` in a shell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gdbcuda.calls import references
from gdbcuda.command_line.options import as_condition, as_words, of_kind
from gdbcuda.errors import UserError
from gdbcuda.live.frames import condition_words
from gdbcuda.live.frames.session_types import FUNCTION, LAYERS, THREAD
from gdbcuda.live.layers import table_version
from gdbcuda.live.prompt.command import command
from gdbcuda.live.recording import call_log, fast
from gdbcuda.log import options as shared
from gdbcuda.log.selecting import select
from gdbcuda.log.views import tree as trees
from gdbcuda.text import render

if TYPE_CHECKING:
    from gdbcuda.calls.reader import Event
    from gdbcuda.calls.record import Call

SHOWN = 40


def complete_recorded(words: list[str], before: list[str], token: str) -> Iterable[str]:
    """On the functions that are named, else on those that are recorded."""
    named = [word for word in words if table_version.table().find(word.strip("'\""))]
    recorded = {call.name for call in call_log.SESSION.kept.calls}
    return condition_words.complete(named or sorted(recorded), before, token)


class SessionOptions(shared.FilterOptions):
    function: list[str] = as_words(shared.FilterOptions.function, FUNCTION)
    places: tuple[str, ...] = of_kind(shared.FilterOptions.places, LAYERS)
    thread: int | None = of_kind(shared.FilterOptions.thread, THREAD)
    condition: str | None = as_condition(shared.FilterOptions.condition, complete_recorded)


class LogShowOptions(shared.ShowOptions, SessionOptions):
    pass


@command("cuda-log show", LogShowOptions)
def cuda_log_show(wanted: LogShowOptions) -> str:
    """Show recorded calls, with time, thread, layer and caller.

    Without --last the newest 40, with --json all.

    Examples:
      cuda-log show
      cuda-log show --tree --last 100
      cuda-log show --changed
      cuda-log show cudaMalloc --failed
      cuda-log show --failed --json
      cuda-log show if bytesize > 1M && caller in hook"""
    calls = list(call_log.SESSION.kept.calls)
    mark_captured(calls)
    chosen = make_filter(wanted)
    if wanted.json:
        return as_json(calls, chosen, wanted)
    return render.fold_to_screen("\n".join(filter(None, (view(calls, chosen, wanted), chosen.remark(), not_kept()))))


def as_json(calls: list[Call], chosen: select.CallFilter, wanted: LogShowOptions) -> str:
    """Of trees the calls, one by one: depth and parent tell how they nest."""
    from gdbcuda.calls import data
    from gdbcuda.log import view_data
    from gdbcuda.log.views import changes

    writer, count = call_log.writer(), wanted.last or 0
    if wanted.changed:
        several = changes.Changes(writer, chosen.takes).find(trees.roots(calls))
        found = [view_data.changes(*one, writer) for one in several]
    elif wanted.tree:
        outermost = select.last(roots(calls, chosen), count)
        found = [data.call(node.call, writer) for root in outermost for node in root.walk()]
    else:
        found = [data.call(one, writer) for one in select.last([call for call in calls if chosen.takes(call)], count)]
    return "\n".join(map(data.line, found))


def roots(calls: list[Call], chosen: select.CallFilter) -> list[trees.CallNode]:
    """The outermost calls in which there is one that is wanted."""
    return [root for root in trees.roots(calls) if any(chosen.takes(node.call) for node in root.walk())]


def make_filter(wanted: shared.FilterOptions) -> select.CallFilter:
    table, notes = table_version.table(), call_log.SESSION.kept.notes
    chosen = select.CallFilter.of(wanted)
    chosen.refuse_unknown(table)
    return chosen.with_condition(wanted.condition, table, notes)


def nothing_recorded(is_for_programs: bool = False) -> str:
    """`UserError` where JSON, or a file, was to come of it."""
    if not call_log.can_record():
        said = f"Nothing was recorded, and {call_log.NO_CALLS}."
    else:
        said = "Nothing is recorded yet." if call_log.SESSION.recorder else "Nothing is recorded: cuda-log start"
    if is_for_programs:
        raise UserError(f"n{said[1:].rstrip('.')}")
    return said


def not_kept() -> str:
    """What is shown is no more than the end of the run, or of what the process has recorded; "" where it is all."""
    kept, whole = call_log.SESSION.kept, "set cuda-log-limit 0, or cuda-log start --to FILE"
    found = [f"Of {kept.lost} earlier calls nothing is known here: {whole}"] if kept.lost else []
    unread: Counter[str] = Counter()
    for (kind, _), (_, details) in kept.lines.items():
        if kind == references.LOST:
            unread[details["name"]] += details["calls"]
        if kind == references.MISSING:
            found.append(f"{details['what']}.")
    why_none = fast.careful_text(call_log.SESSION.recorder) if not kept.calls else ()
    return "\n".join([*found, *fast.lost_text(unread), *why_none])


def view(calls: list[Call], chosen: select.CallFilter, wanted: LogShowOptions) -> str:
    from gdbcuda.log.views import changes

    if not calls:
        return nothing_recorded()
    writer, count = call_log.writer(), SHOWN if wanted.last is None else wanted.last
    if wanted.changed:
        return "\n".join(changes.Changes(writer, chosen.takes).texts(trees.roots(calls)))
    if wanted.tree:
        outermost = roots(calls, chosen)
        there, shown = len(outermost), [trees.text(root, writer) for root in select.last(outermost, count)]
    else:
        found = [call for call in calls if chosen.takes(call)]
        line = writer.with_stack if wanted.stack else writer.line
        there, shown = len(found), [line(call) for call in select.last(found, count)]
    left = there - len(shown)
    return "\n".join([f"... {left} earlier (--last 0 shows all)"] * bool(left) + shown) or "No call like that."


class LogSummaryOptions(shared.SummaryOptions, SessionOptions):
    pass


@command("cuda-log summary", LogSummaryOptions)
def cuda_log_summary(wanted: LogSummaryOptions) -> str:
    """Sum up the calls: counts, times, bytes, kernels, callers.

    The times are the debugger's. Each call includes the cost of its own two stops and of those of the calls
    inside it.

    Examples:
      cuda-log summary
      cuda-log summary --in driver
      cuda-log summary if caller in libtorch*.so"""
    from gdbcuda.calls import data
    from gdbcuda.log import view_data
    from gdbcuda.log.views import summary

    chosen = make_filter(wanted)
    writer = call_log.writer()
    writer.is_wide = wanted.wide
    told = events(list(call_log.SESSION.kept.calls))
    meant = told if chosen == select.CallFilter() else trees.some(told, chosen.takes)
    found = summary.Summary(writer.table, writer.notes).feed(meant)
    if wanted.json:
        return data.line(view_data.summary(found, writer))
    return "\n\n".join(filter(None, (summary.text(found, writer, wanted.all), chosen.remark(), not_kept())))


def mark_captured(calls: list[Call]) -> None:
    from gdbcuda.calls import captures
    from gdbcuda.calls.reader import BEGIN

    if any(captures.BEGINS in call.name for call in calls):
        for _ in captures.mark(events(calls), BEGIN):
            pass


def events(calls: list[Call]) -> Iterator[Event]:
    """As a file would tell them; what is open is told to end as such."""
    from gdbcuda.calls.reader import BEGIN, END
    from gdbcuda.calls.sinks import in_order

    for is_end, call in in_order(calls):
        yield (END if is_end else BEGIN), call
    yield from ((END, call) for call in calls if call.end is None)
