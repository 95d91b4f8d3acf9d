"""The program's output, with the rank of the process in front of each line."""

from __future__ import annotations

import re
from typing import Callable

PIECE = re.compile(rb"[^\r\n]*(?:\r?\n|\r|$)")
ENDS = (b"\n", b"\r\n", b"\r")


class RankedOutput:
    """``write`` gets what is to be shown; ``label`` says what a process is called, "" where nothing is put in front."""

    def __init__(self, write: Callable[[bytes], None], label: Callable[[int], str]) -> None:
        self.write, self.label = write, label
        self.begun: dict[int, bytes] = {}  # by process: of a line whose end has not come
        self.last = 0  # the process in whose line the cursor stands; 0 at the beginning of a line
        self.is_inside = False  # and there is text of it in front of the cursor (a carriage return leaves none)

    def feed(self, pid: int, data: bytes) -> None:
        """What a process has written at once. (A progress bar ends its lines with a carriage return.)"""
        for piece in filter(None, PIECE.findall(self.begun.pop(pid, b"") + data)):
            if piece.endswith(ENDS):
                self.show(pid, piece)
            else:
                self.begun[pid] = piece

    def flush(self) -> None:
        """Nothing more comes for now: a question may wait for its answer in the middle of a line."""
        while self.begun:
            self.show(*self.begun.popitem())

    def show(self, pid: int, text: bytes) -> None:
        if self.last not in (0, pid):
            self.write(b"\n")
        goes_on = self.last == pid and (self.is_inside or text in ENDS)
        name = "" if goes_on else self.label(pid)
        self.write((f"[{name}] ".encode() if name else b"") + text)
        self.last = 0 if text.endswith(b"\n") else pid
        self.is_inside = not text.endswith(ENDS)
