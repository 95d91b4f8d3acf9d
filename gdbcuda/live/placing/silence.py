"""A breakpoint of ours that gdb has in its table, and the process does not meet.

The child of a fork has the breakpoints that were in the process; gdb takes out of it those that are in its table when
it hears of the child. So what is not needed any more stays in the table while threads run, and the function's own byte
is written past gdb. (gdb's infrun.c: follow_fork; gdb manual: "Maintenance Commands", maint info breakpoints.)
"""

from __future__ import annotations

import re
from contextlib import suppress

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.placing import inserted

INT3 = b"\xcc"


def silence(address: int) -> None:
    """In a breakpoint's ``stop``. Where gdb has another one at the address, for ``finish`` maybe, all is as it was."""
    if is_alone(address):
        put(address, is_met=False)


def wake(address: int) -> None:
    """The process meets it again. (One that is not in the process now is put there as it goes on.)"""
    if inserted.now():
        put(address, is_met=True)


def is_alone(address: int) -> bool:
    table = gdb_cli.execute_where_nothing_goes_on("maintenance info breakpoints")
    return len(set(re.findall(rf"^(-?\d+)\b.*\b0x0*{address:x}\b", table, re.MULTILINE))) == 1


def put(address: int, is_met: bool) -> None:
    """If what is there is not somebody else's. (gdb knows the byte below its breakpoint.)"""
    memory = process.raw_memory()
    with suppress(Unreadable):
        if memory is None:
            return
        own = bytes(process.InferiorMemory().read(address, 1))
        there, wanted = (own, INT3) if is_met else (INT3, own)
        if memory.read(address, 1) == there:
            memory.write(address, wanted)
