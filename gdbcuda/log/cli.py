"""``gdbcuda log`` in a shell: everything that can be learnt from a log file without a debugger."""

from __future__ import annotations

import argparse
import gc
import os
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from gdbcuda.command_line.options import WideOptions
from gdbcuda.command_line.shell_command import add_command
from gdbcuda.errors import UserError
from gdbcuda.log import file_options
from gdbcuda.log.file_options import DiffOptions, LogOptions
from gdbcuda.text import output, render
from gdbcuda.text.highlight import C, highlighted_line
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import counted, with_counts


class View(NamedTuple):
    """``function`` of log/subcommands.py, which is loaded when a view is asked for."""

    function: str
    about: str
    options: type[LogOptions | DiffOptions]
    examples: Sequence[str]


VIEWS = {
    "show": View("show", "calls, one a line, in the order in which they began", file_options.ShowFilesOptions, (
        "gdbcuda log show calls.jsonl --failed",
        "gdbcuda log show calls.jsonl --if 'bytesize > 1M && caller in app'")),
    "tree": View("show_tree", "calls below the call that made them", file_options.TreeOptions, (
        "gdbcuda log tree calls.jsonl --last 20",)),
    "changes": View("show_changes", "what the hook library changed", file_options.ChangesOptions, (
        "gdbcuda log changes calls.jsonl --function cuMemAlloc",)),
    "summary": View("show_summary", "functions, failures, times, bytes, kernels, callers",
                    file_options.SummaryFilesOptions, ("gdbcuda log summary calls.jsonl --in driver",)),
    "timeline": View("show_timeline", "a lane for each thread", file_options.TimelineOptions, (
        "gdbcuda log timeline calls.jsonl",)),
    "memory": View("show_memory", "what was allocated, leaked and misused", file_options.MemoryFilesOptions, (
        "gdbcuda log memory calls.jsonl --view leaks",
        "gdbcuda log memory calls.jsonl --view live --least 1M",
        "gdbcuda log memory calls --torch snapshot.pickle")),
    "kernel": View("show_kernel", "which API call costs how many system calls, of logs that are joined by time",
                   file_options.KernelOptions, (
        "gdbcuda log kernel calls kernel.jsonl",
        "gdbcuda log kernel calls kernel.jsonl -o joined.jsonl",
        "gdbcuda log kernel joined.jsonl --without joined-without-hook.jsonl")),
    "gpu": View("show_gpu", "what the GPU did: by kernel, by stream, what waited", file_options.GpuOptions, (
        "gdbcuda log gpu calls",)),
    "coverage": View("show_coverage", "which functions of a hook library were reached, in all logs together",
                     file_options.CoverageFilesOptions, (
        "gdbcuda log coverage calls --hook libvgpu.so",
        "gdbcuda log coverage run1 run2 run3 --hook libvgpu.so --lcov hook.info")),
    "diff": View("show_diff", "where two logs part", file_options.DiffOptions, (
        "gdbcuda log diff without.jsonl with.jsonl --in driver",)),
    "report": View("write_report", "one self-contained page of HTML", file_options.ReportFilesOptions, (
        "gdbcuda log report calls.jsonl -o report.html",)),
    "export": View("write_export", "to stdout, for Chrome, Perfetto, as CSV, or as a log", file_options.ExportOptions, (
        "gdbcuda log export calls.jsonl > trace.json",
        "gdbcuda log export --format jsonl trace-train > calls.jsonl")),
}  # fmt: skip


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``log`` to the subcommands of ``gdbcuda``."""
    parser: argparse.ArgumentParser = subparsers.add_parser("log", help="read what was recorded")
    subcommands = parser.add_subparsers(dest="view", metavar="VIEW", required=True)
    for name, view in VIEWS.items():
        add_command(
            subcommands, name, view.options, partial(run, view),
            help=view.about, about=view.about, examples=view.examples,
        )  # fmt: skip
    add_command(
        subcommands, "import", file_options.ImportOptions, import_trace, help="a trace that others have made, as a log",
        about="Makes a log of a trace: lines with begins and ends (ts, op_id, phase B and E, name, details), the JSON "
        "of Chrome, Perfetto or PyTorch's profiler, or what nsys export --type sqlite writes.",
        examples=("gdbcuda log import trace.json -o calls.jsonl", "gdbcuda log import report.sqlite -o calls.jsonl"),
    )  # fmt: skip
    return parser


def import_trace(wanted: file_options.ImportOptions) -> int:
    from gdbcuda.log.foreign import importing

    if os.path.exists(wanted.output) and os.path.exists(wanted.file) and os.path.samefile(wanted.output, wanted.file):
        raise UserError(f"{wanted.output} is the trace itself: name another file with -o")
    found = importing.read(wanted.file)
    count = found.write(wanted.output, "")
    output.say(f"{counted(count, 'call')} in {visible(wanted.output)}")
    if +found.problems:
        output.complain(f"gdbcuda: {visible(wanted.file)}: {with_counts(found.problems)}")
    return 0


def refuse_words_of_the_prompt(files: list[str]) -> None:
    """There functions, views and a condition are written as they are."""
    from gdbcuda import api
    from gdbcuda.ledger.views import VIEWS as OF_MEMORY

    if "if" in files:
        raise UserError("a condition is written --if 'bytesize > 1M' here")
    for file in (file for file in files if not os.path.exists(file) and file != "-"):
        gone = f"cannot read {file}: no such file or directory"
        if file in OF_MEMORY:
            raise UserError(f"{gone}; a view is written --view {file} here")
        if api.load().find(file):
            raise UserError(f"{gone}; a function is written --function {file} here")


def run(view: View, wanted: LogOptions | DiffOptions) -> int:
    from gdbcuda.log import subcommands
    from gdbcuda.log.source import LogSource

    colour = output.wants_colour(wanted.color)

    def paint(text: str, role: str) -> str:
        return render.colour(text, role, colour)

    def code(text: str) -> str:
        return highlighted_line(text, C, colour)

    refuse_words_of_the_prompt(wanted.files)
    has_bar = not (isinstance(wanted, file_options.ExportOptions) and output.is_terminal())
    sources = [LogSource(path, paint, code, has_bar) for path in wanted.files]
    for source in sources:
        source.writer.is_wide = isinstance(wanted, WideOptions) and wanted.wide
    gc.disable()  # a call is freed without it, and looking for cycles takes a sixth of the time
    getattr(subcommands, view.function)(wanted, sources)
    output.finish()
    for source in sources:
        if source.log.problems:
            output.complain(source.problems())
    return 0
