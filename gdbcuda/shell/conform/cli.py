"""``gdbcuda conform``: whether a hook library keeps its contract."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from gdbcuda.command_line.shell_command import add_command
from gdbcuda.errors import UserError
from gdbcuda.shell.conform.options import ConformOptions

if TYPE_CHECKING:
    from gdbcuda.contract.case_report import ConformReport

_ABOUT = """\
Calls every API function that the hook library has, by every way that leads to it, over the stand-in driver (no GPU is
needed), and says what is not as it was without the hook library. Each case runs in a process of its own: a crash or a
hang is a finding. The cases are made from the API table; the same seed makes the same ones."""
_ENDING = "Exit status: 0 nothing is broken that is not allowed, 1 something is, 2 where no case could be run."
_SHOWING = "gdbcuda conform ./libvgpu.so --show transparent/cuMemAlloc_v2"
_EXAMPLES = (
    "gdbcuda conform ./libvgpu.so",
    "gdbcuda conform ./libvgpu.so --only transparent/cuMem*",
    _SHOWING,
    "gdbcuda conform ./libvgpu.so --accept meant.txt",
    "gdbcuda conform ./libvgpu.so --allow meant.txt --junit conform.xml",
    "gdbcuda conform --list",
)


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``conform`` to the subcommands of ``gdbcuda``."""
    return add_command(
        subparsers, "conform", ConformOptions, run, help="whether a hook library keeps its contract",
        about=_ABOUT, ending=_ENDING, examples=_EXAMPLES,
    )  # fmt: skip


def run(wanted: ConformOptions) -> int:
    from gdbcuda.compare.findings import Allowed
    from gdbcuda.contract.case_report import groups_text
    from gdbcuda.contract.registry import load_groups
    from gdbcuda.files import user_files
    from gdbcuda.shell.conform import cases
    from gdbcuda.text import output

    if wanted.list:
        output.say(groups_text(load_groups().values()))
        return 0
    if wanted.lib is None:
        raise UserError(f"name the hook library, for example: {_EXAMPLES[0]}")
    if wanted.jobs < 1:
        raise UserError("--jobs is how many cases are played at a time, 1 or more")
    if wanted.jobs > 1 and wanted.real:
        raise UserError("--real plays one case at a time: each would find in the GPU's numbers what the others take")
    if wanted.output and not wanted.show:
        raise UserError(f"-o is where --show writes, for example: {_SHOWING} -o case")
    if wanted.show:
        return tell_program(wanted, cases.shown(wanted))
    for path in filter(None, (wanted.junit, wanted.accept)):
        user_files.need_room_for(path)  # before minutes are spent
    report = cases.run(wanted, Allowed.of_file(wanted.allow))
    tell(wanted, report)
    return (report.accepted() if wanted.accept else report).status


def tell_program(wanted: ConformOptions, program: str) -> int:
    import os

    from gdbcuda.files import user_files
    from gdbcuda.text import output
    from gdbcuda.text.printable import visible

    if wanted.output is None:
        output.say(program.rstrip("\n"))
        return 0
    os.makedirs(wanted.output, exist_ok=True)
    path = os.path.join(wanted.output, "case.c")
    user_files.save(path, program)
    output.say(f"{visible(path)}: how it is compiled, run and stopped in gdb is in its first lines")
    return 0


def tell(wanted: ConformOptions, report: ConformReport) -> None:
    import json

    from gdbcuda.compare.findings import allow_file
    from gdbcuda.contract import case_report as reports
    from gdbcuda.files import user_files
    from gdbcuda.text import output, render
    from gdbcuda.text.printable import visible

    for_scripts = report.accepted() if wanted.accept else report
    if wanted.junit:
        user_files.save(wanted.junit, reports.junit(for_scripts))
    if wanted.json:
        output.say(json.dumps(reports.data(for_scripts)))
    else:
        output.say(render.fold(reports.text(report, wanted.all), render.screen()))
    if wanted.accept:
        found = sorted([*report.allowed, *report.found])
        user_files.save(wanted.accept, allow_file(found, f"what {report.hook} means to change", "conform"))
        output.complain(f"gdbcuda: {visible(wanted.accept)} allows all of it")
