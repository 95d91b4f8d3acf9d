"""Bytes of the process's code that somebody needs as they are: where breakpoints are, and what guards replace."""

from __future__ import annotations

import gdb

from gdbcuda.live.breakpoints.locations import places
from gdbcuda.live.guarding import by_process
from gdbcuda.live.host import lazily
from gdbcuda.live.placing import own_process


def now() -> set[int]:
    found = {at for one in gdb.breakpoints() if one.number > 0 and one.enabled
             for at, on in places(one) if on}  # fmt: skip
    found |= own_process.addresses()
    if lazily.is_loaded("gdbcuda.live.guarding.guards"):
        found |= {at for guard in by_process.PROCESSES().guards.values() for at in guard.detour.claimed}
    return found


def is_recorded_by_guard(function: int) -> bool:
    """Calls that come to the function's guard go by the recorder."""
    if not lazily.is_loaded("gdbcuda.live.guarding.guards"):
        return False
    guard = by_process.PROCESSES().guards.get(function)
    return guard is not None and guard.trampoline.is_recorded
