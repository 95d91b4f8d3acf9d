"""How far a long reading has come, for a person at a terminal."""

from __future__ import annotations

import io
import sys
import time
from typing import TextIO

PATIENCE = 1.0  # seconds before anything is shown
OFTEN = 0.1
WIDTH = 40


class Progress:
    """Call it with the number of bytes just read; ``total`` may be 0 for unknown. Shows nothing where nobody looks."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self.total, self.stream = total, stream or sys.stderr or io.StringIO()  # none where it is closed
        self.done, self.began = 0, time.monotonic()
        self.shown_at = self.began + PATIENCE - OFTEN
        self.is_shown = False
        self.is_wanted = self.stream.isatty()

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

    def hide(self) -> None:
        """Until it is shown again; a line may be printed there."""
        if self.is_shown:
            self.is_shown = False
            self.stream.write("\r" + " " * (WIDTH + 8) + "\r")
            self.stream.flush()

    close = hide
