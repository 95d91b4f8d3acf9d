"""Which rank has written a line."""

from __future__ import annotations

import time

from gdbcuda.observe.machine_ranks import rank_of

LOOKS_APART = 0.5  # seconds


class Ranks:
    """One without a rank may be about to execute the program that will have one, or to give itself one."""

    def __init__(self) -> None:
        self.known: dict[int, str] = {}
        self.looked: dict[int, float] = {}

    def __call__(self, pid: int) -> str:
        now = time.monotonic()
        if not self.known.get(pid) and now - self.looked.get(pid, -LOOKS_APART) >= LOOKS_APART:
            self.looked[pid] = now
            self.known[pid] = rank_of(pid)
        return self.known.get(pid, "")
