"""A call that gdb meets twice at one instruction, and asks a breakpoint's condition about twice.

Where a signal comes while gdb steps a thread off a breakpoint, gdb plants a *high-priority step resume* breakpoint at
the same address, lets the handler run, and stops there once more. (gdb's infrun.c: handle_signal_stop.)
"""

from __future__ import annotations

import re

from gdbcuda.live import process
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.threads import call_registers

Key = tuple[int, int]  # breakpoint, thread
LAST: PerInferior[dict[Key, tuple[int, ...]]] = PerInferior(dict)  # the registers that tell a call from others


def is_met_again(breakpoint: int) -> bool:
    """Has the condition been asked about the selected thread's call before? (The registers of two calls may be the
    same. gdb's table, which costs more, tells them apart.)"""
    key = breakpoint, call_registers.thread_number()
    before, now = LAST().get(key), registers()
    LAST()[key] = now
    return before == now and is_resumed_at(now[0])


def registers() -> tuple[int, ...]:
    return (process.register("pc"), call_registers.current_stack_pointer(), *call_registers.here().moment())


def is_resumed_at(pc: int) -> bool:
    table = gdb_cli.execute_where_nothing_goes_on("maintenance info breakpoints")
    return bool(re.search(rf"step resume .* 0x0*{pc:x}\b", table))
