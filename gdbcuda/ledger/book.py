"""The ledger itself: it follows begins and ends of calls, in order, and says what is wrong with any.

Of nested calls the outermost counts: a cudaMalloc that becomes a cuMemAlloc in the hook and another in the driver is
one block. Threads run on while a call's end is on its way here, so a block may be handed out anew before the free
that made room for it is seen to end; blocks are therefore freed by what they were at the free's begin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from gdbcuda import api
from gdbcuda.ledger import extents, roles
from gdbcuda.ledger.blocks import Block, Blocks
from gdbcuda.ledger.roles import Role, number
from gdbcuda.log.reader import BEGIN, Event
from gdbcuda.log.record import Call
from gdbcuda.units import human

OUT_OF_MEMORY = ("CUDA_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation")
MOST_PROBLEMS = 10_000


class Problem(NamedTuple):
    """``kind`` is one of a few words ("double free"); ``text`` says it of this call."""

    kind: str
    text: str
    call: Call
    block: Block | None = None


class Snapshot(NamedTuple):
    """What was live at a moment."""

    bytes: int
    call: Call
    blocks: tuple[Block, ...]


class Reported(NamedTuple):
    """What a query said was in use, and what the ledger knew then."""

    call: Call
    used: int
    total: int
    ours: int


class Ledger:
    """Feed it with `entry` and `exit` (it is a sink) in the order of the log."""

    def __init__(self, table: api.Table, places: dict[int, dict[str, Any]] | None = None) -> None:
        self.table = table
        self.places = places if places is not None else {}
        self.reset()

    def reset(self) -> None:
        self.pid = 0
        self.blocks = Blocks()
        self.problems: list[Problem] = []
        self.bytes: Counter[str] = Counter()  # live, by kind
        self.peak = self.on_device = 0
        self.peak_call: Call | None = None
        self.freed_since_peak: list[Block] = []
        self.out_of_memory: Snapshot | None = None
        self.reported: dict[tuple[str, str], Reported] = {}
        self.latest = 0.0
        self._roles: dict[str, Role | None] = {}
        self._inside: dict[int, bool] = {}  # open calls: are calls below them someone else's business?
        self._freeing: dict[int, tuple[Call, Block]] = {}
        self._devices: dict[int, int] = {}

    def note(self, ts: float, kind: str, details: dict[str, Any]) -> None:
        if kind == "place":
            self.places[details["address"]] = details

    def close(self) -> None:
        """Nothing to give back."""

    def role(self, name: str) -> Role | None:
        if name not in self._roles:
            function = self.table.function(name)
            self._roles[name] = roles.role(function) if function is not None else None
        return self._roles[name]

    # -- begins -----------------------------------------------------------------------------------------------

    def feed(self, events: Iterable[Event]) -> Ledger:
        """Everything that a file holds."""
        for phase, call in events:
            (self.entry if phase == BEGIN else self.exit)(call)
        return self

    def entry(self, call: Call) -> None:
        if call.pid != self.pid:  # nothing of the process before is live any more
            self.reset()
            self.pid = call.pid
        role = self.role(call.name)
        is_inner = self._inside.get(call.parent, False) if call.parent is not None else False
        changes = role is not None and role.what in (roles.ALLOC, roles.FREE, roles.TOUCH)
        self._inside[call.number] = is_inner or changes
        if role is None or is_inner:
            return
        if role.what == roles.FREE:
            self.begin_free(call, role)
        elif role.what == roles.TOUCH:
            for touch in extents.touches(role.function, call):
                self.check(call, touch)

    def begin_free(self, call: Call, role: Role) -> None:
        address = number(call.arguments.get(role.block))
        if not address:
            return
        block = self.to_free(address, role)
        if block is None:
            self.complain(call, *self.why_not_free(address))
            return
        if any(block is other for _, other in self._freeing.values()):
            self.complain(call, "double free", f"{where(block)} is being freed by another thread", block)
        if not roles.is_same_family(self.table.functions[block.call.name], role.function):
            right = ", ".join(self.table.functions[block.call.name].released_by)
            self.complain(call, "wrong family", f"{where(block)} is for {right}", block)
        self._freeing[call.number] = call, block

    def to_free(self, address: int, role: Role) -> Block | None:
        """The live block that begins there; of a handle and an address of the same value the one of the right kind."""
        found = list(self.blocks.starting_at(address))
        return next((b for b in found if b.kind == role.kind), found[0] if found else None)

    def why_not_free(self, address: int) -> tuple[str, str, Block | None]:
        inside, before = self.blocks.holding(address), self.blocks.was_holding(address)
        if inside is not None:
            return "interior pointer", f"{address - inside.address} bytes into {where(inside)}", inside
        if before is not None and before.address == address:
            return "double free", f"{where(before)} was freed{by(before)}", before
        return "unknown pointer", "no recorded call has handed it out", None

    def check(self, call: Call, touch: extents.Touch) -> None:
        block = self.blocks.holding(touch.address)
        if block is None:
            freed = self.blocks.was_holding(touch.address)
            if freed is not None and freed.kind in ("device", "managed"):
                text = f"{touch.parameter} lies in {where(freed)}, freed{by(freed)}"
                self.complain(call, "use after free", text, freed)
            return
        beyond = touch.address + touch.size - block.address - block.size
        if beyond > 0 and block.size and block.kind in ("device", "managed", "host", "graph"):
            size = f"{touch.size} bytes from {touch.parameter} on"
            self.complain(call, "out of range", f"{size} go {beyond} beyond {where(block)}", block)

    def complain(self, call: Call, kind: str, text: str, block: Block | None = None) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(kind, text, call, block))

    # -- ends -------------------------------------------------------------------------------------------------

    def exit(self, call: Call) -> None:
        self.latest = max(self.latest, call.start if call.end is None else call.end)
        inside = self._inside.pop(call.number, False)
        role, freeing = self.role(call.name), self._freeing.pop(call.number, None)
        if role is None:
            return
        succeeded = not call.failed and not call.ended
        if role.what == roles.INFO and succeeded:
            self.report(call)
        elif role.what == roles.DEVICE and succeeded:
            self._devices[call.thread] = number(call.arguments.get("device"))
        elif freeing is not None and succeeded:
            self.end_free(*freeing)
        elif role.what == roles.ALLOC and not self.is_inner(call) and inside:
            self.end_alloc(call, role, succeeded)

    def is_inner(self, call: Call) -> bool:
        return call.parent is not None and self._inside.get(call.parent, False)

    def end_free(self, call: Call, block: Block) -> None:
        block.references -= 1
        if block.references == 0:
            self.retire(block, call)

    def retire(self, block: Block, release: Call | None) -> None:
        if block.release is not None:
            return
        block.release = release
        self.blocks.remove(block)
        self.count(block, -1)
        if self.peak_call is not None and block.call.number <= self.peak_call.number:
            self.freed_since_peak.append(block)

    def end_alloc(self, call: Call, role: Role, succeeded: bool) -> None:
        if call.result in OUT_OF_MEMORY and self.out_of_memory is None:
            self.out_of_memory = self.snapshot(call)
        address = self.handed_out(call, role) if succeeded else 0
        if not address:
            return
        for old in list(self.blocks.starting_at(address)):
            if self.blocks.key(old.kind, 0) != self.blocks.key(role.kind, 0):
                continue
            if "Retain" in role.function.symbol:
                old.references += 1
                return
            self.retire(old, self.release_of(old))
        block = Block(address, extents.size(role.function, call), role.kind, call, self.site(call))
        block.device = self._devices.get(call.thread)
        self.blocks.add(block)
        self.count(block, 1)

    def release_of(self, block: Block) -> Call | None:
        """The free that is on its way, for its block has been handed out again already."""
        return next((call for call, other in self._freeing.values() if other is block), None)

    @staticmethod
    def handed_out(call: Call, role: Role) -> int:
        if role.kind == "graph":
            return number(extents.behind(call.out.get(role.block)).get("dptr"))
        return number(call.out[role.block] if role.block in call.out else call.arguments.get(role.block))

    def site(self, call: Call) -> int:
        """The nearest caller in the program itself, where the stack was recorded; else who called."""
        inside = (a for a in call.stack if self.places.get(a, {}).get("layer") == "app")
        return next(inside, call.caller)

    def count(self, block: Block, sign: int) -> None:
        self.bytes[block.kind] += sign * block.size
        if block.on_device:
            self.on_device += sign * block.size
        if self.on_device > self.peak:
            self.peak, self.peak_call = self.on_device, block.call
            self.freed_since_peak.clear()

    def snapshot(self, call: Call) -> Snapshot:
        blocks = tuple(block for block in self.blocks.live.values() if block.on_device)
        return Snapshot(self.on_device, call, blocks)

    def at_peak(self) -> Snapshot | None:
        if self.peak_call is None:
            return None
        born = [b for b in self.blocks.live.values() if b.call.number <= self.peak_call.number]
        blocks = tuple(b for b in [*born, *self.freed_since_peak] if b.on_device)
        return Snapshot(self.peak, self.peak_call, blocks)

    def report(self, call: Call) -> None:
        values = {**call.out, **extents.behind(call.out.get("memory"))}
        total, free = number(values.get("total")), number(values.get("free"))
        self.reported[call.layer, call.base] = Reported(call, total - free, total, self.on_device)


def by(block: Block) -> str:
    return f" by #{block.release.number} {block.release.name}" if block.release is not None else " before"


def where(block: Block) -> str:
    """ "the 4.00 KiB of #12 cuMemAlloc_v2 at 0x7f00"."""
    return f"the {human(block.size)} of #{block.call.number} {block.call.name} at {block.address:#x}"
