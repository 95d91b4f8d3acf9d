"""What is lost of stacks that are taken while a thread is in a guard: by backtrace(), profilers, core files."""

from __future__ import annotations

from gdbcuda.files import places
from gdbcuda.live.guard.guard import Guard
from gdbcuda.live.guarding.by_process import PROCESSES
from gdbcuda.live.patching import agent, trampoline_space

WHAT = "end there, without the caller"


def lost() -> str:
    """One line; "" where nothing is lost."""
    guards = list(PROCESSES().guards.values())
    if guards and agent.area() is None:
        return f"stacks taken inside a guard {WHAT}: {places.AGENT} is not in the process ({agent.why_not()})"
    found = [(guard.members, reason) for guard in guards if (reason := why(guard))]
    if not found:
        return ""
    numbers = sorted({number for members, _ in found for number in members})
    of = f"breakpoint{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
    return f"stacks taken inside the guards of {of} {WHAT}: {'; '.join(dict.fromkeys(reason for _, reason in found))}"


def why(guard: Guard) -> str:
    """ "" where unwinders find the caller at each of its instructions."""
    if not trampoline_space.is_unwound(guard.function):
        return f"the program's own code is more than 2 GB away from {places.AGENT}"
    if not agent.is_inside(guard.trampoline.address):
        return f"there is no room in {places.AGENT}, or no rule for what the function's first instructions do"
    return "a jump that lies beside the function leads to it" if guard.detour.island is not None else ""
