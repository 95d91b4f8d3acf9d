"""How far a long reading has come, for a person at a terminal."""

from __future__ import annotations

import io
import os
import stat
import sys
import time
from typing import TextIO

PATIENCE = 1.0  # seconds before anything is shown
OFTEN = 0.1
WIDTH = 40
TERMINAL, PIPE, FILE = "terminal", "pipe", "file"  # where the lines go


class Progress:
    """Call it with the number of bytes just read; ``total`` may be 0 for unknown. Shows nothing where nobody looks."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self.total, self.stream = total, stream or sys.stderr or io.StringIO()  # none where it is closed
        self.done, self.began = 0, time.monotonic()
        self.shown_at = self.began + PATIENCE - OFTEN
        self.is_shown = False
        self.is_wanted = self.stream.isatty()
        self.output_kind = kind_of_output()

    def __call__(self, count: int) -> None:
        self.done += count
        if not self.is_wanted:
            return
        now = time.monotonic()
        if now - self.shown_at >= OFTEN:
            self.shown_at, self.is_shown = now, True
            self.stream.write(f"\r{self.bar()}")
            self.stream.flush()

    def bar(self) -> str:
        if not self.total:
            return f"{self.done >> 20} MiB"
        part = min(self.done / self.total, 1.0)
        return f"[{'#' * int(part * WIDTH):<{WIDTH}}] {100 * part:3.0f} %"

    def make_room(self) -> None:
        """A line is written to the standard output: on the terminal it comes where the bar is. Into a pipe it may go to
        a pager, which has the terminal for itself from then on. A file is elsewhere."""
        if self.output_kind != FILE:
            self.hide()
        if self.output_kind == PIPE:
            self.is_wanted = False

    def hide(self) -> None:
        """Until it is shown again."""
        if self.is_shown:
            self.is_shown = False
            self.stream.write("\r" + " " * (WIDTH + 8) + "\r")
            self.stream.flush()

    close = hide


def kind_of_output() -> str:
    if sys.stdout is None:  # it is closed
        return FILE
    if sys.stdout.isatty():
        return TERMINAL
    try:
        mode = os.fstat(sys.stdout.fileno()).st_mode
    except (OSError, AttributeError):  # it is none of the system's; gdb's has no descriptor
        return FILE
    return PIPE if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else FILE
