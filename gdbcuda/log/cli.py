"""``gdbcuda log`` in a shell: everything that can be learnt from a log file without a debugger."""

from __future__ import annotations

import argparse
import gc
import os
from typing import Any

from gdbcuda.errors import UserError
from gdbcuda.log import FORMATS
from gdbcuda.text import output, render
from gdbcuda.text.arguments import NUMBER, SIZE
from gdbcuda.text.highlight import C, highlighted_line

FILTERED = ("show", "tree", "changes", "summary")
WITH_NAMES = ("summary", "memory")
WITH_DATA = (*FILTERED, "timeline", "memory", "diff")

VIEWS = {  # each by its function in log/views.py, which is loaded when one is asked for
    "show": ("show", "calls, one a line, in the order in which they began"),
    "tree": ("show_tree", "calls below the call that made them"),
    "changes": ("show_changes", "what the hook library changed"),
    "summary": ("show_summary", "functions, failures, times, bytes, kernels, callers"),
    "timeline": ("show_timeline", "a lane for each thread"),
    "memory": ("show_memory", "what was allocated, leaked and misused"),
    "diff": ("show_diff", "where two logs part"),
    "report": ("write_report", "one self-contained page of HTML"),
    "export": ("write_export", "to stdout, for Chrome's and Perfetto's viewers or as CSV"),
}


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``log`` to the subcommands of ``gdbcuda``."""
    parser: argparse.ArgumentParser = subparsers.add_parser("log", help="read what cuda-log has recorded")
    subcommands = parser.add_subparsers(dest="view", metavar="VIEW", required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    for name, (function, text) in VIEWS.items():
        view = subcommands.add_parser(name, help=text, description=text, parents=[shared])
        add_arguments(view, name)
        view.set_defaults(run=run, action=function)
    return parser


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    if name == "diff":
        parser.add_argument("files", nargs=2, metavar="FILE")
    else:
        parser.add_argument("files", nargs="+", metavar="FILE", help="what cuda-log has written; - for stdin")
    if name in ("memory", "diff", *FILTERED):
        parser.add_argument("--in", dest="places", action="append", default=[], help="a layer or library")
    if name in ("diff", *FILTERED):
        parser.add_argument("--function", action="append", default=[], help="a symbol, base name or glob")
    if name in FILTERED:
        parser.add_argument("--thread", type=NUMBER, metavar="N", help="gdb's number of the thread")
        parser.add_argument("--failed", action="store_true", help="calls that failed or did not return")
        parser.add_argument("--if", dest="condition", metavar="COND", help="as cuda-break's: 'bytesize > 1M'")
    if name in ("show", "tree"):
        parser.add_argument("--last", type=NUMBER, default=0, metavar="N", help="the last N (default 0: all)")
    if name == "show":
        parser.add_argument("--tree", action="store_true", help="as gdbcuda log tree")
        parser.add_argument("--changed", action="store_true", help="as gdbcuda log changes")
        parser.add_argument("--stack", action="store_true", help="with the backtrace, where it was recorded")
    if name in WITH_DATA:
        parser.add_argument("--json", action="store_true", help="for scripts: JSON, one object a line")
    if name == "export":
        parser.add_argument("--format", choices=FORMATS, default="chrome")
    if name in WITH_NAMES:
        parser.add_argument("--wide", action="store_true", help="C++ names whole, however long")
    if name == "report":
        parser.add_argument("-o", "--output", required=True, metavar="FILE",
                            help="the page to write; of several logs the folder")  # fmt: skip
    if name == "memory":
        parser.add_argument("--view", default="overview", help="overview, live, leaks, peak, by-site, problems, "
                                                               "reported, or an address")  # fmt: skip
        parser.add_argument("--least", type=SIZE, default=0, metavar="SIZE",
                            help="of live, leaks, by-site: the blocks of at least SIZE bytes, as 1M")  # fmt: skip


def refuse_words_of_the_prompt(files: list[str]) -> None:
    """There functions, views and a condition are written as they are."""
    from gdbcuda import api
    from gdbcuda.ledger.views import VIEWS as OF_MEMORY

    if "if" in files:
        raise UserError("a condition is written --if 'bytesize > 1M' here")
    for file in (file for file in files if not os.path.exists(file) and file != "-"):
        if file in OF_MEMORY:
            raise UserError(f"cannot read {file}: no such file; a view is written --view {file} here")
        if api.load().find(file):
            raise UserError(f"cannot read {file}: no such file; a function is written --function {file} here")


def run(args: argparse.Namespace) -> int:
    from gdbcuda.log import views

    colour = output.wants_colour(args.color)

    def paint(text: str, role: str) -> str:
        return render.colour(text, role, colour)

    def code(text: str) -> str:
        return highlighted_line(text, C, colour)

    refuse_words_of_the_prompt(args.files)
    has_bar = not (args.action == VIEWS["export"][0] and output.is_terminal())
    sources = [views.LogSource(path, paint, code, has_bar) for path in args.files]
    for source in sources:
        source.writer.is_wide = getattr(args, "wide", False)
    gc.set_threshold(50_000, 20, 50)  # a call is freed without it, and looking for cycles takes a sixth of the time
    getattr(views, args.action)(args, sources)
    output.finish()
    for source in sources:
        if source.log.problems:
            output.complain(source.problems())
    return 0
