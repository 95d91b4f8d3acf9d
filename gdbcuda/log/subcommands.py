"""The views of ``gdbcuda log``: each reads its logs as streams and prints."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from gdbcuda.calls import data
from gdbcuda.calls.reader import Log
from gdbcuda.calls.references import Process
from gdbcuda.calls.text import CallWriter
from gdbcuda.errors import UserError, cannot
from gdbcuda.files import user_files
from gdbcuda.log import FORMATS, kernel_added, view_data
from gdbcuda.log.printer import Printer, filtered
from gdbcuda.log.progress import Progress
from gdbcuda.log.selecting import select, wanted_places
from gdbcuda.log.source import LogSource
from gdbcuda.log.views import changes, diff, kernel, summary, timeline, tree
from gdbcuda.log.views.exporting import export
from gdbcuda.log.views.gpu_views import gpu, gpu_work
from gdbcuda.text import output, render
from gdbcuda.text.printable import visible

if TYPE_CHECKING:
    from gdbcuda.ledger import Ledger
    from gdbcuda.log.file_options import (
        CoverageFilesOptions,
        DiffOptions,
        ExportOptions,
        GpuOptions,
        KernelOptions,
        MemoryFilesOptions,
        ReportFilesOptions,
    )
    from gdbcuda.log.options import DataOptions, FilterOptions, LatestOptions, ShowOptions, SummaryOptions

T = TypeVar("T")


def latest(rows: Iterable[T], count: int) -> Iterable[T]:
    """The last ``count`` of a stream; 0 takes all."""
    return deque(rows, maxlen=count) if count else rows


def show(wanted: ShowOptions, sources: list[LogSource]) -> None:
    if wanted.tree or wanted.changed:
        return (show_tree if wanted.tree else show_changes)(wanted, sources)
    out = Printer(wanted, sources)
    for source, chosen in filtered(wanted, sources, out):
        writer = source.writer
        line = writer.with_stack if wanted.stack else writer.line
        for call in latest(filter(chosen.takes, select.by_beginning(source.events())), wanted.last or 0):
            out.put(source, data.call(call, writer) if out.as_json else line(call))


def show_tree(wanted: LatestOptions, sources: list[LogSource]) -> None:
    """With --json the calls of the trees, one by one: depth and parent tell how they nest."""
    out = Printer(wanted, sources)
    for source, chosen in filtered(wanted, sources, out):
        roots = (root for root in tree.stream(source.events()) if any(chosen.takes(n.call) for n in root.walk()))
        for root in latest(roots, wanted.last or 0):
            for level, node in tree.levels(root):
                call, writer = node.call, source.writer
                out.put(source, data.call(call, writer) if out.as_json else writer.line(call, "  " * level))


def show_changes(wanted: FilterOptions, sources: list[LogSource]) -> None:
    out = Printer(wanted, sources)
    for source, chosen in filtered(wanted, sources, out):
        found, roots = changes.Changes(source.writer, chosen.takes), tree.stream(source.events())
        if out.as_json:
            shown: Iterable[data.Data | str] = (view_data.changes(*one, source.writer) for one in found.find(roots))
        else:
            shown = found.texts(roots)
        for one in shown:
            out.put(source, one)


def show_summary(wanted: SummaryOptions, sources: list[LogSource]) -> None:
    out = Printer(wanted, sources)
    for source, chosen in filtered(wanted, sources, out):
        is_all = chosen == select.CallFilter()
        events = source.events() if is_all else tree.some(source.events(), chosen.takes)
        found = summary.Summary(source.table, source.log.notes).feed(events)
        said = summary.text(found, source.writer, wanted.all)
        out.put(source, view_data.summary(found, source.writer) if out.as_json else said)


def show_timeline(wanted: DataOptions, sources: list[LogSource]) -> None:
    out = Printer(wanted, sources)
    for source in out.each(sources):
        lanes = timeline.Timeline(source.table, render.terminal_width(), source.log.notes).feed(source.events())
        out.put(source, view_data.timeline(lanes) if out.as_json else lanes.text(source.writer.paint))


def write_export(wanted: ExportOptions, sources: list[LogSource]) -> None:
    parts = [export.Part(one.path, one.events(), one.log, one.writer) for one in sources]
    getattr(export, FORMATS[wanted.format])(parts, output.Data())


def show_kernel(wanted: KernelOptions, sources: list[LogSource]) -> None:
    joined = kernel_added.joined_of(sources, is_whole=wanted.output is not None)
    joined.write(wanted.output, sources[0].file.header)
    out, source = Printer(wanted, sources[:1]), sources[0]
    added = kernel_added.rows(joined, wanted.without) if wanted.without else None
    if not out.as_json:
        out.put(source, kernel.text(joined) if added is None else kernel_added.text(added))
        return
    for row in joined.rows() if added is None else added:
        out.put(source, row._asdict())


def show_gpu(wanted: GpuOptions, sources: list[LogSource]) -> None:
    out = Printer(wanted, sources)
    for source in out.each(sources):
        found = gpu_work.GpuOfLog(source.log.notes).feed(source.events())
        out.put(source, gpu.data(found) if out.as_json else gpu.text(found, wanted.wide, wanted.all))


def show_coverage(wanted: CoverageFilesOptions, sources: list[LogSource]) -> None:
    """Of all logs together."""
    from gdbcuda.coverage import coverage_text, hooked, reached

    found = reached.Coverage(hooked.HookFile(wanted.hook))
    for source in sources:
        found.feed(source.events(), source.table, source.log.notes)
        source.make_room()
    output.say(coverage_text.told(found, wanted.json, wanted.all, wanted.lcov))


def show_diff(wanted: DiffOptions, sources: list[LogSource]) -> None:
    first, second = sources
    for source in sources:
        source.refuse_unknown(wanted.function)
    progress = Progress(first.file.size + second.file.size)  # they are read side by side
    places = select.places_of(wanted.places)
    sides = (select.within(one.events(progress), places, wanted.function) for one in (first, second))
    found = diff.Diff().feed(*sides)
    writers, out = (first.writer, second.writer), Printer(wanted, [first])
    out.put(first, view_data.diff(found, writers) if out.as_json else diff.text(found, writers))
    wanted_places.complain_of(places)


def show_memory(wanted: MemoryFilesOptions, sources: list[LogSource]) -> None:
    from gdbcuda.ledger import Ledgers, ledger_data, torch_memory
    from gdbcuda.log import torch_file

    out = Printer(wanted, sources)
    check_view(wanted.view, wanted.least)
    segments = torch_file.read(wanted.torch) if wanted.torch else None
    for source in out.each(sources):
        places = select.places_of(wanted.places)
        events = select.within(source.events(), places)
        found = Ledgers(source.table, source.log.notes).feed(events).by_program
        if segments is not None:
            out.put(source, torch_memory.shown(segments, found.values(), source.writer, out.as_json))
            continue
        for (process, _), ledger in found.items():
            if len(found) > 1 and not wanted.json:
                output.say(f"-- {visible(process_text(process, source.log))}")
            if out.as_json:
                out.put(source, process_data(process, source.log) | ledger_data.ledger(ledger, source.writer))
            else:
                out.put(source, memory_view(wanted.view, wanted.least, ledger, source.writer))
        if not found and not wanted.json:
            output.say("No calls.")
        wanted_places.complain_of(places)


def memory_view(view: str, least: int, ledger: Ledger, writer: CallWriter) -> str:
    from gdbcuda.ledger import views

    if view in views.VIEWS or view == "overview":
        return views.view(view, least)(ledger, writer)
    return views.history(ledger, writer, address(view))


def check_view(view: str, least: int) -> None:
    """Before a long log is read."""
    from gdbcuda.ledger import views

    views.view(view, least)
    if view != "overview" and view not in views.VIEWS:
        address(view)


def process_text(process: Process, log: Log) -> str:
    program, rank = map(process_data(process, log).get, ("program", "rank"))
    return f"process {process[1]} {str(program or '').rpartition('/')[2]}".rstrip() + (f", {rank}" if rank else "")


def process_data(process: Process, log: Log) -> data.Data:
    known = {"program": None, **log.notes.processes.get(process, {}), "inferior": process[0], "pid": process[1]}
    return {name: known[name] for name in ("inferior", "pid", "program", "rank") if name in known}


def write_report(wanted: ReportFilesOptions, sources: list[LogSource]) -> None:
    """Of several logs a page each, in a folder."""
    from gdbcuda.log.views.report import LogReport

    for source, path in zip(sources, pages(wanted.output, [source.path for source in sources])):
        page = LogReport(source.table, source.log, source.writer).feed(source.events()).html()
        user_files.save(path, page)


def pages(output: str, logs: list[str]) -> list[str]:
    if len(logs) == 1:
        return [output]
    try:
        os.makedirs(output, exist_ok=True)
    except OSError as problem:
        raise cannot(f"write {len(logs)} pages into {output}", problem) from None
    names = [os.path.splitext(os.path.basename(path))[0] for path in logs]
    unique = [name if names.count(name) == 1 else f"{name}-{at}" for at, name in enumerate(names, 1)]
    return [os.path.join(output, f"{name}.html") for name in unique]


def address(text: str) -> int:
    from gdbcuda.ledger import views

    try:
        return int(text, 0)
    except ValueError:
        raise UserError(f"--view is overview, {', '.join(views.VIEWS)} or an address, not {text!r}") from None
