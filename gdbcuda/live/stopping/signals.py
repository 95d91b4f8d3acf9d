"""What a stop for a signal says in a Python program, or one of several ranks: whose it is, and where in the scripts."""

from __future__ import annotations

import gdb

from gdbcuda.cpython import own_code
from gdbcuda.live.process import ranks
from gdbcuda.live.pythons import thread_stacks
from gdbcuda.text.printable import visible

MOST_LINES = 20
UNTOLD: set[str] = set()  # names of those that stop for us alone


def text(event: gdb.SignalEvent) -> str:
    """ "SIGSEGV in rank 1, process 4711", and below it the lines of Python, the innermost first."""
    who = ", ".join(filter(None, (ranks.here(), f"process {gdb.selected_inferior().pid}")))
    return "\n".join([visible(f"{event.stop_signal} in {who}"), *python_lines()])


def python_lines() -> list[str]:
    found = thread_stacks.calling()
    more = len(found) - MOST_LINES
    rest = [f"  ... and {more} more"] if more > 0 else []
    return [visible(f"  {own_code.text(one)}") for one in found[:MOST_LINES]] + rest


def stop_text(event: gdb.SignalEvent) -> str | None:
    """None where gdb's own line has all. "" where nothing is to be told."""
    if event.stop_signal in UNTOLD:
        return ""
    return f"{text(event)}\n" if ranks.here() or thread_stacks.calling() else None
