"""``gdbcuda log`` in a shell: everything that can be learnt from a log file without a debugger."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gdbcuda import api, render
from gdbcuda.check.cli import wants_colour
from gdbcuda.errors import UserError
from gdbcuda.log import changes, diff, export, reader, select, summary, timeline, tree
from gdbcuda.log.notes import Process
from gdbcuda.log.progress import Progress
from gdbcuda.log.reader import Event, Log
from gdbcuda.log.text import Paint, Writer, plainly

if TYPE_CHECKING:
    from gdbcuda.ledger import Ledger

FILTERED = ("show", "tree", "changes", "summary")


class Source:
    """One file: its calls, what it says beside them, and a writer of lines in the words of its version."""

    def __init__(self, path: str, paint: Paint = plainly) -> None:
        self.path, self.log, self.file = path, Log(), reader.File(path)
        head = self.file.header
        self.is_ours = bool(head)
        self.table = api.load(reader.version(head, "cuda"), reader.version(head, "nvml"))
        self.writer = Writer(self.table, self.log.notes, paint)

    def events(self) -> Iterator[Event]:
        progress = Progress(self.file.size)
        try:
            yield from reader.file_events(self.file, self.log, progress)
        finally:
            progress.close()

    def problems(self) -> str:
        """What could not be read, for stderr."""
        return f"gdbcuda: {self.path}: {'; '.join(summary.problems_text(self.log).splitlines())}"


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``log`` to the subcommands of ``gdbcuda``."""
    parser: argparse.ArgumentParser = subparsers.add_parser("log", help="read what cuda-log has recorded")
    views = parser.add_subparsers(dest="view", metavar="VIEW", required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    for name, (action, text) in VIEWS.items():
        view = views.add_parser(name, help=text, description=text, parents=[shared])
        add_arguments(view, name)
        view.set_defaults(run=run, action=action)
    return parser


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    if name == "diff":
        parser.add_argument("files", nargs=2, metavar="FILE")
    else:
        parser.add_argument("files", nargs="+", metavar="FILE")
    if name in ("memory", "diff", *FILTERED):
        parser.add_argument("--in", dest="places", action="append", default=[], help="a layer or library")
    if name in FILTERED:
        parser.add_argument("--function", action="append", default=[], help="a symbol, base name or glob")
        parser.add_argument("--thread", type=int, help="gdb's number of the thread")
        parser.add_argument("--failed", action="store_true", help="calls that failed or did not return")
        parser.add_argument("--if", dest="condition", metavar="COND", help="as cuda-break's: 'bytesize > 1M'")
    if name == "export":
        parser.add_argument("--format", choices=sorted(export.FORMATS), default="chrome")
    if name == "report":
        parser.add_argument("-o", "--output", required=True, metavar="FILE",
                            help="the page to write; of several logs the folder")  # fmt: skip
    if name == "memory":
        parser.add_argument("--view", default="overview", help="overview, live, leaks, peak, by-site, problems, "
                                                               "reported, or an address")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    colour = wants_colour(args.color)

    def paint(text: str, role: str) -> str:
        return render.colour(text, role, colour)

    if "if" in args.files:
        raise UserError("a condition is written --if 'bytesize > 1M' here")
    sources = [Source(path, paint) for path in args.files]
    gc.set_threshold(50_000, 20, 50)  # a call is freed without it, and looking for cycles takes a sixth of the time
    args.action(args, sources)
    for source in sources:
        if source.log.problems:
            print(source.problems(), file=sys.stderr)
    return 0


def titled(sources: list[Source]) -> Iterator[Source]:
    for source in sources:
        if len(sources) > 1:
            print(f"== {source.path}")
        yield source


def filtered(args: argparse.Namespace, sources: list[Source]) -> Iterator[tuple[Source, select.Filter]]:
    """Each with what is wanted of it. (What a log of another program calls its functions nobody knows.)"""
    for source in titled(sources):
        chosen = select.Filter(tuple(args.function), tuple(args.places), args.thread, args.failed)
        if source.is_ours:
            chosen.refuse_unknown(source.table)
        chosen = chosen.with_condition(args.condition, source.table, source.log.notes)
        yield source, chosen
        if chosen.remark():
            sys.stdout.flush()
            print(f"gdbcuda: {source.path}: {chosen.remark()}", file=sys.stderr)


def show(args: argparse.Namespace, sources: list[Source]) -> None:
    for source, chosen in filtered(args, sources):
        for call in select.by_beginning(source.events()):
            if chosen.takes(call):
                print(source.writer.line(call))


def show_tree(args: argparse.Namespace, sources: list[Source]) -> None:
    for source, chosen in filtered(args, sources):
        for root in tree.stream(source.events()):
            if any(chosen.takes(node.call) for node in root.walk()):
                print(tree.text(root, source.writer))


def show_changes(args: argparse.Namespace, sources: list[Source]) -> None:
    for source, chosen in filtered(args, sources):
        print(changes.report(tree.stream(source.events()), source.writer, chosen.takes))


def show_summary(args: argparse.Namespace, sources: list[Source]) -> None:
    for source, chosen in filtered(args, sources):
        is_all = chosen == select.Filter()
        events = source.events() if is_all else tree.some(source.events(), chosen.takes)
        found = summary.Summary(source.table, source.log.notes).feed(events)
        print(summary.text(found, source.writer))


def show_timeline(args: argparse.Namespace, sources: list[Source]) -> None:
    for source in titled(sources):
        lanes = timeline.Timeline(source.table, render.terminal_width()).feed(source.events())
        print(lanes.text(source.writer.paint))


def write_export(args: argparse.Namespace, sources: list[Source]) -> None:
    parts = [export.Part(one.path, one.events(), one.log, one.writer) for one in sources]
    export.FORMATS[args.format](parts, sys.stdout)


def show_diff(args: argparse.Namespace, sources: list[Source]) -> None:
    first, second = sources
    found = diff.Diff().feed(*(select.within(one.events(), args.places) for one in (first, second)))
    print(diff.text(found, (first.writer, second.writer)))


def show_memory(args: argparse.Namespace, sources: list[Source]) -> None:
    from gdbcuda.ledger import Ledgers

    for source in titled(sources):
        events = select.within(source.events(), args.places)
        found = Ledgers(source.table, source.log.notes).feed(events).by_program
        for (process, _), ledger in found.items():
            if len(found) > 1:
                print(f"-- {process_text(process, source.log)}")
            print(memory_view(args.view, ledger, source.writer))
        if not found:
            print("No calls.")


def memory_view(view: str, ledger: Ledger, writer: Writer) -> str:
    from gdbcuda.ledger import views

    if view in views.VIEWS or view == "overview":
        return views.VIEWS.get(view, views.overview)(ledger, writer)
    return views.history(ledger, writer, address(view))


def process_text(process: Process, log: Log) -> str:
    program = str(log.notes.processes.get(process, {}).get("program", "")).rsplit("/", 1)[-1]
    return f"process {process[1]} {program}".rstrip()


def write_report(args: argparse.Namespace, sources: list[Source]) -> None:
    """Of several logs a page each, in a folder."""
    from gdbcuda.log.report import Report

    for source, path in zip(sources, pages(args.output, [source.path for source in sources])):
        page = Report(source.table, source.log, source.writer).feed(source.events()).html()
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(page)
        except OSError as problem:
            raise UserError(f"cannot write {path}: {problem.strerror}") from None


def pages(output: str, logs: list[str]) -> list[str]:
    if len(logs) == 1:
        return [output]
    try:
        os.makedirs(output, exist_ok=True)
    except OSError as problem:
        raise UserError(f"cannot write {len(logs)} pages into {output}: {problem.strerror}") from None
    names = [os.path.splitext(os.path.basename(path))[0] for path in logs]
    unique = [name if names.count(name) == 1 else f"{name}-{at}" for at, name in enumerate(names, 1)]
    return [os.path.join(output, f"{name}.html") for name in unique]


def address(text: str) -> int:
    from gdbcuda.ledger import views

    try:
        return int(text, 0)
    except ValueError:
        raise UserError(f"--view is overview, {', '.join(views.VIEWS)} or an address, not {text!r}") from None


VIEWS = {
    "show": (show, "calls, one a line, in the order in which they began"),
    "tree": (show_tree, "calls below the call that made them"),
    "changes": (show_changes, "what the hook library changed"),
    "summary": (show_summary, "functions, failures, times, bytes, kernels, callers"),
    "timeline": (show_timeline, "a lane for each thread"),
    "memory": (show_memory, "what was allocated, leaked and misused"),
    "diff": (show_diff, "where two logs part"),
    "report": (write_report, "one self-contained page of HTML"),
    "export": (write_export, "to stdout, for Chrome's and Perfetto's viewers or as CSV"),
}
