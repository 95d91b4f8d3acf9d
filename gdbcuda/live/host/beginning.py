"""The beginning of a session, for us: gdb's first event, the first command, setting or function of ours.

A gdb in which none of them comes waits for nothing of what they need.
"""

from __future__ import annotations

from typing import Callable

from gdbcuda.live.host import interrupts

ON_BEGIN: list[Callable[[], None]] = []
_under_way: list[bool] = []
_afterwards: list[Callable[[], None]] = []


def begin() -> None:
    if ON_BEGIN:
        begin_all()


@interrupts.uninterrupted
def begin_all() -> None:
    _under_way.append(True)
    try:
        while ON_BEGIN:
            ON_BEGIN.pop()()
    finally:
        _under_way.clear()
    while _afterwards:
        _afterwards.pop(0)()


def put_off(action: Callable[[], None]) -> bool:
    """Whether it waits for the beginning's end: a module that runs may ask gdb for its threads, and gdb then tells of
    new ones, to functions that are not there yet."""
    if _under_way:
        _afterwards.append(action)
    return bool(_under_way)
