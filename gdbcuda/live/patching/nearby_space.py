"""What of the process's memory is ours, and where there are spare bytes within reach of a function.

(ELF gABI, "Program Loading".)
"""

from __future__ import annotations

from collections.abc import Iterable

from gdbcuda.data_classes import dataclass, field
from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.patching import agent
from gdbcuda.machine import trampoline
from gdbcuda.machine.free_ranges import Range, fit
from gdbcuda.memory import PAGE

PF_X = 1
NEAR = (1 << 31) - (1 << 20)
MOST_TRIES = 64


@dataclass(frozen=True)
class Leftover:
    """Of a guard that is gone: what is there, what belongs there, and where an island leads to. ``calls_out``: a thread
    may be in what has been called from there. ``is_recorded``: it leads to the recorder, and that to the newest of the
    function's, or to this one."""

    ours: bytes
    own: bytes
    leads_to: int | None = None
    calls_out: bool = False
    is_recorded: bool = False


@dataclass
class OurMemory:
    """``taken``: address -> size; ``left``: by address, where no function leads to any more; ``mapped``: pages that are
    there for us, address -> size; ``tables``: of the trampolines in our own library, what is written beside them;
    ``kept``: those that nothing leads to but the return of calls, which may be open for as long as they like."""

    taken: dict[int, int] = field(default_factory=dict)
    left: dict[int, Leftover] = field(default_factory=dict)
    mapped: dict[int, int] = field(default_factory=dict)
    tables: dict[int, agent.Tables] = field(default_factory=dict)
    kept: dict[int, trampoline.Trampoline] = field(default_factory=dict)


OUR_MEMORY: PerInferior[OurMemory] = PerInferior(OurMemory)


def unused(size: int) -> int | None:
    """In our own library. (In the child of a fork there is what the parent had.)"""
    area, taken = agent.area(), dict(OUR_MEMORY().taken)
    for _ in range(MOST_TRIES):
        address = fit(area.address, area.address + area.size, size, taken) if area is not None else None
        if address is None or is_zero(address, size):
            return address
        taken[address] = size
    return None


def zeros_near(near: int, size: int, has_breakpoint: bool) -> int | None:
    for start, end in ranges(near, has_breakpoint):
        address = fit(start, end, size, OUR_MEMORY().taken)
        if address is not None and abs(address - near) < NEAR and is_zero(address, size):
            return address
    return None


def ranges(near: int, has_breakpoint: bool) -> Iterable[Range]:
    """What is free behind the segments, the function's own object first, then by distance; then our own pages."""
    own = [one for one in process.images() if one.holds(near) and not has_breakpoint]
    objects = {id(one): one for one in [*own, *process.lasting_images()]}.values()
    segments = [(start, end) for one in objects for start, end, flags in one.segments if flags & PF_X]
    for _, end in sorted(segments, key=lambda s: max(s[0] - near, near - s[1], 0)):
        yield end, (end + PAGE - 1) // PAGE * PAGE
    for start, size in OUR_MEMORY().mapped.items():
        yield start, start + size


def is_zero(start: int, size: int) -> bool:
    try:
        return not any(process.InferiorMemory().read(start, size))
    except Unreadable:
        return False
