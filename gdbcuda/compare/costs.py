"""What the hook library costs: memory of its own on the devices, and time a call. Told, and no difference but for
memory that is left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from statistics import median
from typing import NamedTuple

from gdbcuda.calls.sinks import in_order
from gdbcuda.compare.comparison import Both
from gdbcuda.compare.findings import Findings
from gdbcuda.compare.sides import ComparedCall, RunSide
from gdbcuda.ledger import Ledgers
from gdbcuda.ledger.blocks import Block
from gdbcuda.text.sentences import counted
from gdbcuda.text.units import human

LAST = float("inf")  # told behind what a call has done


class OwnMemory(NamedTuple):
    """Of the devices, in bytes; of all processes together."""

    peak: int = 0
    left: int = 0
    blocks: int = 0


class FunctionTime(NamedTuple):
    """Medians, in seconds; ``added``: what all calls together took longer."""

    name: str
    calls: int
    ours: float
    theirs: float
    added: float


def own_memory(extra: Iterable[ComparedCall], side: RunSide) -> OwnMemory:
    """Of blocks from calls that the hook library has made of its own; the program's calls may give them back."""
    own = {id(one.call) for one in extra} | {id(below.call) for one in extra for below in one.children}
    asked = [one.call for process in side.processes for one in process.calls() if one.call.layer == "driver"]
    ledgers = Ledgers(side.table, side.notes)
    for is_end, call in in_order(asked):
        (ledgers.exit if is_end else ledgers.entry)(call)
    blocks = [one for ledger in ledgers.all() for one in ledger.blocks.all() if id(one.call) in own and one.on_device]
    left = [one for one in blocks if one.release is None]
    return OwnMemory(most_at_once(blocks), sum(one.size for one in left), len(left))


def most_at_once(blocks: Sequence[Block]) -> int:
    changes = [(one.call.last_seen, one.size) for one in blocks]
    changes += [(one.release.start, -one.size) for one in blocks if one.release is not None]
    return max(accumulate((size for _, size in sorted(changes)), initial=0))


def note_memory(found: OwnMemory, findings: Findings) -> None:
    if found.left:
        text = f"{human(found.left)} in {counted(found.blocks, 'block')}"
        findings.add(f"memory of the hook's own is left: {text}", "memory", is_drivers=True, at=LAST)


def times(both: Iterable[Both]) -> list[FunctionTime]:
    """What takes longer by most first."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    for one in both:
        seconds = one.ours.call.seconds, one.theirs.call.seconds
        if seconds[0] is not None and seconds[1] is not None:
            rows = found.setdefault(one.ours.name, ([], []))
            rows[0].append(seconds[0])
            rows[1].append(seconds[1])
    made = [FunctionTime(name, len(ours), median(ours), median(theirs), sum(theirs) - sum(ours))
            for name, (ours, theirs) in found.items()]  # fmt: skip
    return sorted(made, key=lambda one: -one.added)
