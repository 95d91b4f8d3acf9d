"""``gdbcuda ab``: what a hook library changes in a program."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from gdbcuda.command_line.shell_command import add_command
from gdbcuda.errors import UserError
from gdbcuda.shell.ab.options import AbOptions

if TYPE_CHECKING:
    from gdbcuda.compare.compare_text import AbReport

_ABOUT = """\
Runs the program without the hook library and with it, records both runs, and says what the hook library has changed:
output and exit status, calls, results and out-values, what the driver was asked, memory of its own, time a call. With
--hook twice the second library is compared with the first. What is another value in each run (pointers, handles, times,
process numbers) is compared by what it stands for."""
_ENDING = "Exit status: 0 no difference that is not allowed, 1 differences, 2 where a run could not be made."
_EXAMPLES = (
    "gdbcuda ab --hook ./libvgpu.so -- ./train --epochs 1",
    "gdbcuda ab --hook ./libvgpu.so --env CUDA_DEVICE_MEMORY_LIMIT=2g -- ./train",
    "gdbcuda ab --hook old/libvgpu.so --hook new/libvgpu.so -- ./train",
    "gdbcuda ab --hook ./libvgpu.so --accept meant.txt -- ./train",
    "gdbcuda ab --hook ./libvgpu.so --allow meant.txt --junit ab.xml -- ./train",
)


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``ab`` to the subcommands of ``gdbcuda``."""
    return add_command(
        subparsers, "ab", AbOptions, run,
        help="what a hook library changes in a program: run without it, and with it",
        about=_ABOUT, ending=_ENDING, examples=_EXAMPLES,
    )  # fmt: skip


def run(wanted: AbOptions) -> int:
    from gdbcuda.command_line import waiting
    from gdbcuda.compare.findings import Allowed
    from gdbcuda.shell.ab import both_runs

    words = wanted.program[1:] if wanted.program[:1] == ["--"] else wanted.program
    if not words:
        raise UserError(f"name the program behind --, for example: {_EXAMPLES[0]}")
    if not 1 <= len(wanted.hook) <= 2:
        raise UserError(f"name the hook library, once or twice, for example: {_EXAMPLES[0]}")
    settings = both_runs.settings(wanted.env)
    allowed = Allowed.of_file(wanted.allow)
    with waiting.told("gdbcuda ab", is_logged=True):
        report = both_runs.compared(wanted, words, settings, allowed)
    tell(wanted, report)
    return (report.accepted() if wanted.accept else report).status


def tell(wanted: AbOptions, report: AbReport) -> None:
    import json

    from gdbcuda.compare import compare_page, compare_text
    from gdbcuda.compare.findings import allow_file
    from gdbcuda.files import user_files
    from gdbcuda.text import output, render
    from gdbcuda.text.printable import visible

    for_scripts = report.accepted() if wanted.accept else report
    if wanted.junit:
        user_files.save(wanted.junit, compare_text.junit(for_scripts))
    if wanted.report:
        user_files.save(wanted.report, compare_page.page(report))
    if wanted.json:
        output.say(json.dumps(compare_text.data(for_scripts)))
    else:
        output.say(render.fold(compare_text.text(report, wanted.all), render.screen()))
    if wanted.accept:
        found = [*report.allowed, *report.found]
        user_files.save(wanted.accept, allow_file(found, f"{report.labels[1]}, {' '.join(wanted.program)}", "ab"))
        output.complain(f"gdbcuda: {visible(wanted.accept)} allows all of it")
