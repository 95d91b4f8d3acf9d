"""``gdbcuda help``."""

from __future__ import annotations

import argparse
from typing import Any

from gdbcuda.command_line import argument_types
from gdbcuda.command_line.options import Options, words
from gdbcuda.command_line.shell_command import add_command
from gdbcuda.errors import UserError
from gdbcuda.manual import plain, search
from gdbcuda.manual.pages import pages, topic_of
from gdbcuda.text import output, render

COMMAND = "gdbcuda help"


class ManualOptions(Options):
    topic: list[str] = words(argument_types.text("TOPIC"), "a page, or what to search for")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``help`` to the subcommands of ``gdbcuda``."""
    return add_command(
        subparsers, "help", ManualOptions, run, help="show the manual",
        about="Shows a page of the manual. Without TOPIC it lists the pages. A word that is no topic is searched for.",
        examples=("gdbcuda help", "gdbcuda help breakpoints", "gdbcuda help GDBCUDA_GDB"),
    )  # fmt: skip


def run(wanted: ManualOptions) -> None:
    terminal = plain.Terminal(COMMAND, render.screen(), output.wants_colour("auto"))
    output.say(text(" ".join(wanted.topic), terminal))


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
