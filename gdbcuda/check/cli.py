"""``gdbcuda check FILE...`` in a shell."""

from __future__ import annotations

import argparse
import json
from typing import Any

from gdbcuda import api
from gdbcuda.check import check
from gdbcuda.check.finding import JSON_VERSION, Report
from gdbcuda.check.text import report_text, verdict_line
from gdbcuda.errors import UserError
from gdbcuda.text import output, render
from gdbcuda.text.highlight import JSON, highlighted
from gdbcuda.text.printable import visible

_DESCRIPTION = """\
Tells what readelf, nm and an hour of doubt tell about a hook library: debug
info, exported and hidden functions, how programs reach it, what keeps it from
being loaded. FILE is a shared library or a program; with --hook, programs are
checked together with that hook library."""
_EXAMPLES = """\
Exit status: 0 nothing worse than a warning, 1 an error, 2 an unreadable file.

Examples:
  gdbcuda check libvgpu.so
  gdbcuda check --quiet ./train ./serve --hook libvgpu.so
  gdbcuda check --json --sysroot ./image /usr/local/vgpu/libvgpu.so"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``check`` to the subcommands of ``gdbcuda``; ``args.run(args)`` gives the exit status."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "check",
        help="is this hook library built right, and does it reach that program",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(parser)
    return parser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="shared library or program")
    parser.add_argument("--hook", metavar="LIB", help="the hook library to check the programs with")
    parser.add_argument("--sysroot", metavar="DIR", help="FILE and its libraries are in an unpacked image there")
    parser.add_argument("--cuda", metavar="VERSION", help="compare with this CUDA version, such as 12.4")
    parser.add_argument("--json", action="store_true", help="a JSON document (schema: gdbcuda/check/schema.json)")
    parser.add_argument("--quiet", action="store_true", help="only the verdicts")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Checks all files, prints, and returns the worst exit status."""
    table = api.load(cuda=args.cuda) if args.cuda else None
    files = [*([args.hook] if args.hook and args.hook not in args.files else []), *args.files]
    results = [_checked(path, args, table) for path in files]
    if args.json:
        text = json.dumps(document(results), indent=2, ensure_ascii=True)
        output.say(highlighted(text, JSON, output.wants_colour(args.color)))
    else:
        _print_texts(results, quiet=args.quiet, colour=output.wants_colour(args.color))
    return max((r.exit_status if isinstance(r, Report) else 2 for r in results), default=0)


def document(results: list[Report | UnreadFile]) -> dict[str, Any]:
    """What --json prints."""
    return {"version": JSON_VERSION, "files": [result.as_json() for result in results]}


class UnreadFile:
    """A file that could not be read, and why."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem

    def as_json(self) -> dict[str, Any]:
        return {"file": self.path, "error": self.problem, "exit_status": 2}


def _checked(path: str, args: argparse.Namespace, table: api.Table | None) -> Report | UnreadFile:
    try:
        return check(path, table, sysroot=args.sysroot, hook=args.hook if path != args.hook else None)
    except UserError as problem:
        return UnreadFile(path, str(problem))


def _print_texts(results: list[Report | UnreadFile], *, quiet: bool, colour: bool) -> None:
    texts = []
    for result in results:
        if isinstance(result, UnreadFile):
            output.complain(f"gdbcuda: {visible(result.problem)}")
        elif quiet:
            texts.append(verdict_line(result, colour))
        else:
            texts.append(report_text(result, colour=colour, width=render.terminal_width()))
    if texts:
        output.say(("\n" if quiet else "\n\n").join(texts))
