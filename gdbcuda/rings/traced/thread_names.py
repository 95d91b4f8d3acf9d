"""Threads of a folder of `gdbcuda trace`, and lanes of what no thread does: numbered from 1 as they are asked for."""

from __future__ import annotations

from gdbcuda.calls.reader import Log
from gdbcuda.calls.record import Call


class ThreadNames:
    def __init__(self, log: Log) -> None:
        self.log = log
        self.numbers: dict[tuple[int, int, int | str], int] = {}

    def name(self, call: Call) -> None:
        call.thread = self.number(call.inferior, call.pid, call.lwp)

    def number(self, inferior: int, pid: int, lwp: int, lane: str = "") -> int:
        key = inferior, pid, lane or lwp
        if key not in self.numbers:
            self.numbers[key] = len(self.numbers) + 1
            details = {"name": lane} if lane else {"lwp": lwp}
            self.log.note("thread", {"thread": self.numbers[key], **details, "inferior": inferior,
                                     "pid": pid})  # fmt: skip
        return self.numbers[key]
