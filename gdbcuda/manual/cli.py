"""``gdbcuda help``."""

from __future__ import annotations

import argparse
from typing import Any

from gdbcuda.errors import UserError
from gdbcuda.manual import plain, search
from gdbcuda.manual.pages import pages, topic_of
from gdbcuda.text import output, render
from gdbcuda.text.parsing import OptionParser

COMMAND = "gdbcuda help"


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``help`` to the subcommands of ``gdbcuda``."""
    about = "Shows a page of the manual; without TOPIC which pages there are. A word that is no topic is searched for."
    parser: OptionParser = subparsers.add_parser("help", help="show the manual", description=about)
    parser.examples = ("gdbcuda help", "gdbcuda help breakpoints", "gdbcuda help GDBCUDA_GDB")
    parser.add_argument("topic", nargs="*", metavar="TOPIC", help="a page, or what to search for")
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> None:
    terminal = plain.Terminal(COMMAND, render.screen(), output.wants_colour("auto"))
    output.say(text(" ".join(args.topic), terminal))


def text(topic: str, terminal: plain.Terminal) -> str:
    if not topic:
        return f"{plain.listed(terminal)}\n\n{COMMAND} TOPIC shows a page, {COMMAND} WORD what is said of it."
    if topic_of(topic):
        return plain.shown(pages()[topic_of(topic)].text, terminal)
    found = search.in_pages(topic, COMMAND)
    said = search.answer(topic, found, pages())
    if not found:
        raise UserError(said)
    return render.fold(said, terminal.width)
