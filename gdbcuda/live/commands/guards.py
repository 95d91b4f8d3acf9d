"""``cuda-guards``."""

from __future__ import annotations

from gdbcuda import render
from gdbcuda.live import guards, target
from gdbcuda.live.command import command


@command("cuda-guards")
def cuda_guards() -> str:
    """Show which breakpoints of cuda-break have their filters compiled into the process, or why not.

    While the program runs, a guarded function begins with a jump to the test; 'set cuda-guard off', disable, delete
    and detach put its own bytes back for good. Without a guard the breakpoint works all the same, at the price of a
    stop for every call.

    Examples:
      cuda-guards
      set cuda-guard off"""
    if not guards.FILTERS:
        return "no breakpoints of cuda-break"
    guards.refresh()
    return render.table([row(number) for number in sorted(guards.FILTERS)], ["breakpoint", "filter", "where"])


def row(number: int) -> tuple[str, str, str]:
    process = guards.PROCESSES()
    found = next(iter(process.guards_of(number)), None)
    if found is None:
        return str(number), "gdb's condition", process.why.get(number) or "not set yet"
    size, code = len(found.detour.original), found.trampoline
    function = target.symbol_of(found.function)[0] or f"{found.function:#x}"
    where = f"{size} bytes of {function} at {found.detour.patch:#x}; test at {code.address:#x}, {len(code.raw)} bytes"
    return str(number), "guard", where
