"""A call that gdb meets twice at one instruction, and asks a breakpoint's condition about twice.

Where a signal comes while gdb steps a thread off a breakpoint, gdb plants a *high-priority step resume* breakpoint at
the same address, lets the handler run, and stops there once more. (gdb's infrun.c: handle_signal_stop.)
"""

from __future__ import annotations

import re

from gdbcuda.live import process
from gdbcuda.live.host import breakpoint_table
from gdbcuda.live.threads import call_registers


def is_met_again(asked_last: dict[int, tuple[int, ...]]) -> bool:
    """Has the condition been asked about the selected thread's call before? ``asked_last``: by thread, the registers of
    the call that it was asked about last, which tell it from others. (Those of two calls may be the same. gdb's table,
    which costs more, tells them apart.)"""
    thread = call_registers.thread_number()
    before, now = asked_last.get(thread), registers()
    asked_last[thread] = now
    return before == now and is_resumed_at(now[0], if_unknown=False)


def registers() -> tuple[int, ...]:
    return (process.register("pc"), call_registers.current_stack_pointer(), *call_registers.here().moment())


def is_resumed_at(pc: int, if_unknown: bool = True) -> bool:
    table = breakpoint_table.text()
    return if_unknown if table is None else bool(re.search(rf"step resume .* 0x0*{pc:x}\b", table))
