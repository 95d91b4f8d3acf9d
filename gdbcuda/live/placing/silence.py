"""A breakpoint of ours that gdb has in its table, and the process does not meet.

The child of a fork has the breakpoints that were in the process; gdb takes out of it those that are in its table when
it hears of the child. So what is not needed any more stays in the table while threads run, and the function's own byte
is written past gdb. (gdb's infrun.c: follow_fork; gdb manual: "Maintenance Commands", maint info breakpoints.)
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Callable

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.host import breakpoint_table, gdb_cli, inferiors
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.placing import inserted
from gdbcuda.live.threads import arrivals, children, standstill

INT3 = b"\xcc"
SILENT: PerInferior[set[int]] = PerInferior(set)
ON_SILENT: list[Callable[[], None]] = []
ARE_OUT: list[Callable[[], bool]] = []  # asked whether gdb has taken all of its breakpoints out


def silence(address: int) -> bool:
    """In a breakpoint's ``stop``. Where gdb has another one at the address, for ``finish`` maybe, all is as it was."""
    found = is_alone(address)
    if found:
        for tell in ON_SILENT:
            tell()
        SILENT().add(address)
        put(address, is_met=False)
    return found


def let_pass(address: int, in_vain: int, switch_off: Callable[[], None]) -> int:
    """In a breakpoint's ``stop``: nobody waits for what comes to it, as so often ``in_vain`` before. How often since it
    is silent. (Stepping in place, gdb puts the breakpoint back behind the very thread that has come: it stays up
    to the next stop: another thread may be in the kernel with a child, whom nobody finds yet. The only
    thread can fork no child now; nor is it stepped off what is off, so that gdb has no *step resume* there.)"""
    if not (standstill.stands_still() or inferiors.has_one_thread()):
        if standstill.steps_in_place():
            return in_vain + 1
        # To look is slow, and what is in the way may stay. After a vfork gdb puts all back.
        return 0 if is_power_of_two(in_vain + 1) and silence(address) else in_vain + 1
    if not (children.is_one_being_made() or arrivals.is_resumed_at(address)):
        switch_off()
    return in_vain + 1


def is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


def wake(address: int) -> None:
    """The process meets it again, and what else gdb has there: gdb writes no byte for the second at an address. (One
    that is not in the process now is put there as it goes on.)"""
    if address in SILENT():
        SILENT().discard(address)
        if inserted.now() and not any(ask() for ask in ARE_OUT):
            put(address, is_met=True)


def forget(address: int, number: int) -> None:
    """gdb has none of ours there any more, in the inferior of that number: what would be woken is nobody's int3."""
    inferior = inferiors.numbered(number)
    if inferior is not None:
        SILENT.of(inferior).discard(address)


def wake_all() -> None:
    """At a stop: whatever the user asks for next may be at one of these addresses."""
    for address in list(SILENT()):
        wake(address)


def may_go(address: int) -> bool:
    """Whether one of ours may leave gdb's table. Where a signal comes as a thread is stepped off it, gdb has a *step
    resume* of its own there, which the thread runs past where ours is silent, or at a vfork. That one would be alone
    then, and would go while threads run. (gdb's infrun.c: insert_hp_step_resume_breakpoint_at_frame.) An event cannot
    ask for gdb's table: there it stays."""
    return standstill.stands_still() or (gdb_cli.is_possible() and is_alone(address))


def is_alone(address: int) -> bool:
    """False where gdb cannot say."""
    table = breakpoint_table.text()
    return table is not None and len(set(re.findall(rf"^(-?\d+)\b.*\b0x0*{address:x}\b", table, re.MULTILINE))) <= 1


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
