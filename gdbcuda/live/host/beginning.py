"""The beginning of a session, for us: gdb's first event, the first command, setting or function of ours.

A gdb in which none of them comes waits for nothing of what they need.
"""

from __future__ import annotations

from typing import Callable

from gdbcuda.live.host import interrupts

ON_BEGIN: list[Callable[[], None]] = []


def begin() -> None:
    if ON_BEGIN:
        begin_all()


@interrupts.uninterrupted
def begin_all() -> None:
    while ON_BEGIN:
        ON_BEGIN.pop()()
