"""What the shell's commands print: the one place where text goes to the standard output or the standard error.

Whether it could be written shows late, when a buffer is full or at the end: who prints ends with `finish`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, Callable, TextIO

from gdbcuda.errors import UserError, cannot
from gdbcuda.text import render
from gdbcuda.text.printable import screened


def say(text: str = "") -> None:
    """Lines for people, who see them whole on a terminal of any width (`render.fitted`)."""
    write(render.fitted(screened(text)) + "\n")


def complain(text: str) -> None:
    """A line on the standard error. Where that is closed or full there is nobody to tell."""
    if sys.stderr is None:
        return
    try:
        width = render.terminal_width() if sys.stderr.isatty() else None
        print(render.fold(screened(text), width), file=sys.stderr, flush=True)
    except OSError:
        give_up(sys.stderr)


def hand_out(text: str) -> None:
    """Lines that are to be copied, or that a program reads: as long as they are."""
    write(screened(text) + "\n")


class Data:
    """The standard output for other programs: as it is, but where a person looks at it."""

    def write(self, text: str) -> None:
        write(screened(text) if is_terminal() else text)


def write(text: str) -> None:
    attempt(lambda: stdout_or_refuse().write(text))


def finish() -> None:
    if sys.stdout is not None:
        attempt(sys.stdout.flush)


def wants_colour(choice: str) -> bool:
    """--color, NO_COLOR and whether somebody is looking."""
    if choice != "auto":
        return choice == "always"
    return is_terminal() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def stdout_or_refuse() -> Any:
    if sys.stdout is None:  # >&-
        raise UserError("cannot write the output: it is closed")
    return sys.stdout


def attempt(action: Callable[[], object]) -> None:
    """`UserError` for a disk that is full; a pipe that nobody reads any more is no mistake."""
    try:
        action()
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise cannot("write the output", problem) from None


def give_up(stream: TextIO) -> None:
    """What is left in the buffer goes nowhere: Python would try again at its end, and complain."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
