"""``cuda-guards``."""

from __future__ import annotations

from gdbcuda import render
from gdbcuda.live import guards, target
from gdbcuda.live.command import command


@command("cuda-guards")
def cuda_guards() -> str:
    """Show which breakpoints of cuda-break have their filters compiled into the process, or why not.

    A guarded function begins with a jump to the test; 'set cuda-guard off', disable, delete and detach put its own
    bytes back. Without a guard the breakpoint works all the same, at the price of a stop for every call.

    Examples:
      cuda-guards
      set cuda-guard off"""
    if not guards.FILTERS:
        return "no breakpoints of cuda-break"
    return render.table([row(number) for number in sorted(guards.FILTERS)], ["breakpoint", "filter", "where"])

def row(number: int) -> tuple[str, str, str]:
    found = next((guard for guard in guards.GUARDS.values() if number in guard.members), None)
    if found is None:
        why = guards.FILTERS[number].why or "not set yet"
        return str(number), "gdb's condition", why
    size, code = len(found.detour.original), found.trampoline
    function = target.symbol_of(found.function)[0] or f"{found.function:#x}"
    where = f"{size} bytes of {function} at {found.detour.patch:#x}; test at {code.address:#x}, {len(code.raw)} bytes"
    return str(number), "guard", where
