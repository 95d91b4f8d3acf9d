"""What a stop for a signal says in a Python program, or one of several ranks: whose it is, and where in the scripts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import gdb

from gdbcuda.cpython import own_code
from gdbcuda.live.host import inferiors
from gdbcuda.live.process import ranks
from gdbcuda.live.pythons import thread_stacks
from gdbcuda.text.printable import visible

MOST_LINES = 20
UNTOLD: set[str] = set()  # names of those that stop for us alone


def text(event: gdb.SignalEvent) -> str:
    """ "SIGSEGV in rank 1, process 4711", and below it the lines of Python, the innermost first."""
    return below(event, [*python_lines(), *other_ranks(event)])


def below(event: gdb.SignalEvent, lines: list[str]) -> str:
    return "\n".join([visible(f"{event.stop_signal} in {who()}"), *lines])


def who() -> str:
    return ", ".join(filter(None, (ranks.here(), f"process {gdb.selected_inferior().pid}")))


def other_ranks(event: gdb.SignalEvent) -> Iterator[str]:
    """ "rank 0, process 4712, is at train.py:41 in step(), torch/…": the first thread of each. Ctrl-C is typed to see
    where they stand, and stops in any process: mostly the launcher, which may run no Python (mpirun)."""
    stopped = gdb.selected_inferior().num
    for one in sorted(gdb.inferiors(), key=lambda one: one.num) if event.stop_signal == "SIGINT" else ():
        with suppress(gdb.error), inferiors.selected(one):  # where it has no thread, the stopped one stays selected
            if gdb.selected_inferior().num == one.num != stopped and ranks.here():
                min(inferiors.threads(), key=lambda thread: thread.num).switch()
                yield visible(f"{who()}, is at {own_code.callers_text(thread_stacks.calling()) or 'no line of Python'}")


def python_lines() -> list[str]:
    found = thread_stacks.calling()
    more = len(found) - MOST_LINES
    rest = [f"  ... and {more} more"] if more > 0 else []
    return [visible(f"  {own_code.text(one)}") for one in found[:MOST_LINES]] + rest


def stop_text(event: gdb.SignalEvent) -> str | None:
    """None where gdb's own line has all. "" where nothing is to be told."""
    if event.stop_signal in UNTOLD:
        return ""
    lines = [*python_lines(), *other_ranks(event)]
    return f"{below(event, lines)}\n" if lines or ranks.here() else None
