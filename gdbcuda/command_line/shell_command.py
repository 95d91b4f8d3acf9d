"""A subcommand of ``gdbcuda``, made from the same declarations as a command at gdb's prompt (`options`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, TypeVar

from gdbcuda.command_line.argument_types import one_of
from gdbcuda.command_line.options import Options, option
from gdbcuda.command_line.parsing import OptionParser
from gdbcuda.text import render

Own = TypeVar("Own", bound=Options)


class Coloured(Options):
    color: str = option(one_of("always", "never", "auto"), "colours (default: on a terminal)", default="auto")


def add_command(
    subparsers: Any,
    name: str,
    wanted: type[Own],
    run: Callable[[Own], int | None],
    *,
    help: str,
    about: str,
    examples: Sequence[str],
    ending: str = "",
) -> OptionParser:
    """``run`` gets an object of ``wanted`` and gives the exit status, None for 0. ``help`` is the line in the list of
    the commands; ``about`` stands above the command's own options, ``ending`` below."""
    parser: OptionParser = subparsers.add_parser(name, help=help, description=about, epilog=ending or None)
    parser.examples, parser.declared = examples, wanted
    wanted.add_to(parser)
    parser.set_defaults(run=lambda typed: running(run, wanted.read(vars(typed), examples)))
    return parser


def running(run: Callable[[Own], int | None], wanted: Own) -> int | None:
    with render.as_wide_as_it_is(getattr(wanted, "wide", False)):
        return run(wanted)
