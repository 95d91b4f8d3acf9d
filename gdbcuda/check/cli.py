"""``gdbcuda check FILE...`` in a shell."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

from gdbcuda.check.options import ReportOptions
from gdbcuda.command_line import waiting
from gdbcuda.command_line.argument_types import FILE, text
from gdbcuda.command_line.options import option, words
from gdbcuda.command_line.shell_command import Coloured, add_command
from gdbcuda.errors import UserError
from gdbcuda.text import output, render
from gdbcuda.text.highlight import JSON, highlighted
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import short_paths

if TYPE_CHECKING:
    from gdbcuda import api
    from gdbcuda.check.finding import Report

_ABOUT = """\
Tells what readelf, nm and an hour of doubt tell about a hook library: debug info, exported and hidden functions, how
programs reach it, what keeps it from being loaded. FILE is a shared library or a program. With --hook, programs are
checked together with that hook library."""
_ENDING = "Exit status: 0 nothing worse than a warning, 1 an error, 2 an unreadable file."
_EXAMPLES = (
    "gdbcuda check libvgpu.so",
    "gdbcuda check --quiet ./train ./serve --hook libvgpu.so",
    "gdbcuda check --json --sysroot ./image /usr/local/vgpu/libvgpu.so",
)


class CheckFilesOptions(ReportOptions, Coloured):
    file: list[str] = words(FILE, "shared library or program", least=1)
    hook: str | None = option(text("LIB"), "the hook library to check the programs with")
    sysroot: str | None = option(text("DIR"), "FILE and its libraries are in an unpacked image there")
    cuda: str | None = option(text("VERSION"), "compare with this CUDA version, such as 12.9")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``check`` to the subcommands of ``gdbcuda``."""
    return add_command(
        subparsers, "check", CheckFilesOptions, run,
        help="is this hook library built right, and does it reach that program",
        about=_ABOUT, ending=_ENDING, examples=_EXAMPLES,
    )  # fmt: skip


def run(wanted: CheckFilesOptions) -> int:
    """Checks all files, prints, and returns the worst exit status."""
    if wanted.sysroot and not os.path.isdir(wanted.sysroot):
        raise UserError(f"--sysroot {wanted.sysroot} is no folder")
    table = wanted_table(wanted.cuda)
    files = [*([wanted.hook] if wanted.hook and wanted.hook not in wanted.file else []), *wanted.file]
    with waiting.told("gdbcuda check", is_logged=True):
        results = [_checked(path, wanted, table) for path in files]
    if wanted.json:
        text = json.dumps(document(results), indent=2, ensure_ascii=True)
        output.say(highlighted(text, JSON, output.wants_colour(wanted.color)))
    else:
        _print_texts(results, wanted, colour=output.wants_colour(wanted.color))
    return max((each.exit_status for each in results), default=0)


def wanted_table(cuda: str | None) -> api.Table | None:
    """None: as each program uses it."""
    from gdbcuda import api

    if not cuda:
        return None
    found = api.load(cuda=cuda)
    if not f"{found.cuda}.".startswith(f"{cuda}."):
        output.complain(f"gdbcuda: CUDA {visible(cuda)} is not in the table: compared with {found.cuda}")
    return found


def document(results: list[Report | UnreadFile]) -> dict[str, Any]:
    """What --json prints."""
    from gdbcuda.check.finding import JSON_VERSION

    return {"version": JSON_VERSION, "files": [result.as_json() for result in results]}


class UnreadFile:
    """A file that could not be read, and why."""

    exit_status = 2

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem

    def as_json(self) -> dict[str, Any]:
        return {"file": self.path, "error": self.problem, "exit_status": self.exit_status}


def _checked(path: str, wanted: CheckFilesOptions, table: api.Table | None) -> Report | UnreadFile:
    from gdbcuda.check.file import check

    try:
        if path == wanted.hook:
            return _hook_for_programs(path, wanted, table)
        return check(path, table, sysroot=wanted.sysroot, hook=wanted.hook)
    except UserError as problem:
        return UnreadFile(path, str(problem))


def _hook_for_programs(path: str, wanted: CheckFilesOptions, table: api.Table | None) -> Report:
    """The hook library by itself: what it lacks is no error where one of the programs at hand does not need it."""
    from gdbcuda.check.file import check

    report = check(path, table, sysroot=wanted.sysroot)
    for program in wanted.file if report.exit_status else ():
        with contextlib.suppress(UserError):  # it is no program, or cannot be read: its own report says so
            beside = check(path, table, program, wanted.sysroot, of_both=False)
            report = min(report, beside, key=lambda one: one.exit_status)
    return report


def _print_texts(results: list[Report | UnreadFile], wanted: CheckFilesOptions, *, colour: bool) -> None:
    from gdbcuda.check.report_text import reports_text, verdict_line

    names = short_paths(result.path for result in results)
    for problem in dict.fromkeys(result.problem for result in results if isinstance(result, UnreadFile)):
        output.complain(f"gdbcuda: {visible(problem)}")  # once, of a hook library that programs are checked with
    reports = [(one, names[one.path]) for one in results if not isinstance(one, UnreadFile)]
    if reports and wanted.quiet:
        output.say("\n".join(verdict_line(one, colour, name) for one, name in reports))
    elif reports:
        width = render.terminal_width()
        output.say(reports_text(reports, colour=colour, width=width, between="\n\n", is_all=wanted.all))
