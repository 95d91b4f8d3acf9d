"""``cuda-check``."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from gdbcuda.check.options import ReportOptions
from gdbcuda.command_line.argument_types import FILE
from gdbcuda.command_line.options import optional_word
from gdbcuda.errors import UserError
from gdbcuda.live import layers, process
from gdbcuda.live.layers import noticed, table_version
from gdbcuda.live.noticing import answer_search, wrappers
from gdbcuda.live.preloading import presence
from gdbcuda.live.prompt import settings
from gdbcuda.live.prompt.command import command
from gdbcuda.text import render
from gdbcuda.text.json_text import json_text
from gdbcuda.text.sentences import short_paths, some

if TYPE_CHECKING:
    from gdbcuda.check.finding import Report
    from gdbcuda.routes.snapshot import ProcessSnapshot

PROGRAMS = ("pie", "executable")
OTHERWISE = {"reached-otherwise", "other-way"}  # what the files alone leave open
BY_NAME = {"not-reached"}  # concluded from names and a preload


class CheckOptions(ReportOptions):
    file: str | None = optional_word(
        FILE, "a hook library or a program (default: the hook library and the program of this session)"
    )


@command("cuda-check", CheckOptions, purpose="check", needs=lambda wanted: "" if wanted.file else "stopped")
def cuda_check(wanted: CheckOptions) -> str:
    """Say whether the hook library is built right, and reaches the program.

    Each finding says what was seen, what it means for a hook library, and what to type or change. The last
    line is the verdict. 'gdbcuda check' says the same in a shell. Without FILE the process is checked too, if
    there is one: what is really loaded.

    Examples:
      cuda-check ./libvgpu.so
      cuda-check --quiet
      cuda-check ./program --json"""
    from gdbcuda.check.finding import JSON_VERSION

    reports = [settled(report_on(path), path) for path in ([wanted.file] if wanted.file else session_files())]
    if wanted.file is None and process.is_alive() and layers.hooks():
        reports.append(report_on_process())
    if wanted.json:
        return json_text({"version": JSON_VERSION, "files": [report.as_json() for report in reports]})
    return texts(reports, wanted)


def session_files() -> list[str]:
    """A library that was noticed on another machine, or in a core file, need not be here: then the process alone
    tells. A program that is linked with --wrap needs no hook library: it is checked alone."""
    is_alive = process.is_alive()
    hooks = layers.hooks() or ([] if is_alive else noticed.SEEN())
    files = [file for hook in hooks if (file := file_here(hook))]
    if files or (hooks and is_alive):
        return files
    program = local_program()
    if program and any(wrappers.of_program(table_version.table().symbols)):
        return [program]
    raise UserError(presence.nothing_there())


def file_here(hook: str) -> str:
    """The one that gdb has found, where the loader's name leads nowhere (solib-search-path); "" without one."""
    if os.path.isfile(hook) or layers.is_named(hook):
        return hook
    found = process.objfile_of(hook)
    path = process.strip_prefix(found.filename or "") if found is not None else ""
    return path if os.path.isfile(path) else ""


def report_on(path: str) -> Report:
    """A library together with this session's program, a program together with its hook library."""
    from gdbcuda import elf
    from gdbcuda.check.file import check
    from gdbcuda.live.checking.remote_copies import substitutions

    table = table_version.table() if process.is_alive() else None
    if elf.open(path).kind in PROGRAMS:
        hook = next(filter(os.path.isfile, layers.hooks()), None)
        return check(path, table, hook=hook, maps=substitutions())
    return check(path, table, program=local_program() or None, maps=substitutions())


def settled(report: Report, path: str) -> Report:
    """What files alone cannot tell is known where the process leads calls into the library."""
    from gdbcuda.check.finding import Finding
    from gdbcuda.check.loaded import arriving

    if not (OTHERWISE | BY_NAME) & set(report.ids()) or not process.is_alive():
        return report
    answers, was_opened = [], False  # type: list[str], bool
    with suppress(UserError):  # the loader has not begun
        snapshot = answer_search.notice_all()
        answers, was_opened = arriving(snapshot, path), is_dlopened(snapshot, path)
    if OTHERWISE & set(report.ids()) and answers:
        seen = f"{os.path.basename(path)} answers for {some(answers)} in this process"
        report.findings = [one for one in report.findings if one.id not in OTHERWISE]
        report.add(Finding("reached", "note", seen, "these calls of the program arrive in the hook library"))
    if was_opened and not answers and not OTHERWISE & set(report.ids()):
        report.findings = [one for one in report.findings if one.id not in BY_NAME]
        report.add(Finding("reached-by-handle", "warning", f"{os.path.basename(path)} came with dlopen",
                           "no call by name arrives in it; who has its handle gets its functions from dlsym",
                           "cuda-dlsym log on, before run, shows who asks for them",
                           "unknown whether it is reached by this program"))  # fmt: skip
    return report


def is_dlopened(snapshot: ProcessSnapshot, path: str) -> bool:
    others = [one for one in snapshot.objects.all if one not in snapshot.objects.startup]
    return any(layers.is_same_file(snapshot.file_of(one), path) for one in others)


def report_on_process() -> Report:
    """What is really loaded: the hook's place in the process, and the ways around it."""
    from gdbcuda.check.finding import Report
    from gdbcuda.live.checking import own_books, remote_copies, this_process

    table = table_version.table()
    name = process.strip_prefix(process.program()) or "process"
    report = Report(name, "process", process.machine(), cuda=table.cuda, nvml=table.nvml, good="the hook is in place")
    for finding in (*this_process.findings(), *remote_copies.findings(), *own_books.findings()):
        report.add(finding)
    return report


def local_program() -> str:
    """Its file on this machine; "" without one, and for ld.so, which starts programs (`ld.so --preload`)."""
    from gdbcuda import elf

    name = process.strip_prefix(process.program())
    return name if os.path.isfile(name) and elf.open(name).kind in PROGRAMS else ""


def texts(reports: list[Report], wanted: CheckOptions) -> str:
    from gdbcuda.check.report_text import reports_text, verdict_line

    names = short_paths(report.path for report in reports)
    named = [(report, names[report.path]) for report in reports]
    if wanted.quiet:
        return "\n".join(verdict_line(report, settings.colour(), name) for report, name in named)
    width = render.terminal_width()
    return reports_text(named, colour=settings.colour(), width=width, between="\n", is_all=wanted.all)
