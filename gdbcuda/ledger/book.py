"""The ledger itself: it follows begins and ends of calls, in order, and says what is wrong with any.

Of nested calls the outermost counts: a cudaMalloc that becomes a cuMemAlloc in the hook and another in the driver is
one block. Threads run on while a call's end is on its way here, so a block may be handed out anew before the free
that made room for it is seen to end; blocks are therefore freed by what they were at the free's begin.
"""

from __future__ import annotations

from typing import NamedTuple

from gdbcuda import api
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import References
from gdbcuda.ledger import below, mappings, trouble
from gdbcuda.ledger.blocks import Block, Blocks, where
from gdbcuda.ledger.effects import extents, roles
from gdbcuda.ledger.effects.accesses import accesses
from gdbcuda.ledger.effects.devices import Devices
from gdbcuda.ledger.effects.roles import Role, number
from gdbcuda.ledger.unseen import ReleasesElsewhere, Unseen
from gdbcuda.ledger.usage import Snapshot, Usage

OUT_OF_MEMORY = ("CUDA_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation")
MOST_PROBLEMS = 10_000


class Problem(NamedTuple):
    """``kind`` is one of a few words ("double free"); ``text`` says it of this call."""

    kind: str
    text: str
    call: Call
    block: Block | None = None


class Reported(NamedTuple):
    """What a query said was in use, and what the ledger knew then."""

    call: Call
    used: int
    total: int
    ours: int


class Ledger:
    """Of one process. Feed it with `entry` and `exit` in the order of the log."""

    def __init__(self, table: api.Table, notes: References | None = None) -> None:
        self.table = table
        self.notes = notes if notes is not None else References()
        self.unseen = Unseen(table, self.notes)
        self.blocks = Blocks()
        self.problems: list[Problem] = []
        self.elsewhere = ReleasesElsewhere()
        self.usage = Usage(self.blocks)
        self.out_of_memory: Snapshot | None = None
        self.reported: dict[tuple[str, str], Reported] = {}
        self.latest = 0.0
        self._roles: dict[str, Role | None] = {}
        self._inside: dict[int, below.Outer | None] = {}  # open calls: whose business are calls below them?
        self._freeing: dict[int, tuple[Call, Block]] = {}
        self.devices = Devices()
        self.below = below.Below(self.blocks, self.usage)

    def role(self, name: str) -> Role | None:
        try:
            return self._roles[name]
        except KeyError:
            function = self.table.function(name)
            found = self._roles[name] = roles.role(function) if function is not None else None
            return found

    # -- begins -----------------------------------------------------------------------------------------------

    def entry(self, call: Call) -> None:
        role = self.role(call.name)
        outer = self.outer(call)
        is_outermost = outer is None and role is not None and role.what in roles.CHANGES
        self._inside[call.number] = below.Outer(call, role) if role is not None and is_outermost else outer
        if role is None or outer is not None or self.below.takes(call, role):
            return
        if role.what == roles.FREE:
            self.begin_free(call, role)
        elif role.what == roles.UNMAP:
            found = mappings.of_unmap(self.blocks, call)
            is_known = found is not None and (found[2] is not None or not self.unseen.may_be_mapped(call))
            self.complain_of(call, found if is_known else None)
        elif role.what == roles.TOUCH:
            for touch in accesses(role.function, call, self.element_of):
                self.complain_of(call, trouble.of_touch(self.blocks, touch))

    def outer(self, call: Call) -> below.Outer | None:
        return None if call.parent is None else self._inside.get(call.parent)

    def element_of(self, array: int) -> int:
        block = self.blocks.spaces["handles"].live.get(array)
        return extents.element(block.call) if block is not None else 0

    def begin_free(self, call: Call, role: Role) -> None:
        address = number(call.arguments.get(role.block))
        if not address:
            return
        block = self.to_free(address, role)
        if block is None:
            self.free_nothing(call, role, address)
            return
        if any(block is other for _, other in self._freeing.values()):
            self.complain(call, "double free", f"{where(block)} is being freed by another thread", block)
        allocator = self.table.functions[block.call.name]
        self.complain_of(call, trouble.of_free(self.blocks, block, allocator, role.function))
        self._freeing[call.number] = call, block

    def free_nothing(self, call: Call, role: Role, address: int) -> None:
        """A mistake, unless the block is one that the log cannot know."""
        found = trouble.of_free_of_nothing(self.blocks, address)
        why = self.unseen.why_unknown(call, role.function, found)
        if why:
            self.elsewhere.begin(call, (role.kind, address), found, ", ".join(why))
        else:
            self.complain(call, *found)

    def not_followed(self, block: Block) -> list[str]:
        """Releases of the block that the log may lack: whether it is live is unknown."""
        return self.unseen.releases(block)

    def to_free(self, address: int, role: Role) -> Block | None:
        """The live block that begins there; of a handle and an address of the same value the one of the right kind."""
        found = list(self.blocks.starting_at(address))
        return next((b for b in found if b.kind == role.kind), found[0] if found else None)

    def complain_of(self, call: Call, found: trouble.Trouble) -> None:
        if found is not None and not (found[2] is not None and self.unseen.is_before_gap(found[2])):
            self.complain(call, *found)

    def complain(self, call: Call, kind: str, text: str, block: Block | None = None) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(kind, text, call, block))

    # -- ends -------------------------------------------------------------------------------------------------

    def exit(self, call: Call) -> None:
        end = call.start if call.end is None else call.end
        if end > self.latest:
            self.latest = end
        inside, outer = self._inside.pop(call.number, None), self.outer(call)
        role, freeing = self.role(call.name), self._freeing.pop(call.number, None)
        if role is None:
            return
        succeeded = not call.failed and not call.ended
        self.complain_of(call, self.elsewhere.end(call))
        is_inner = outer is not None or self.below.took(call)
        if succeeded and (is_inner or (role.what in (roles.FREE, roles.UNMAP) and call.layer != below.HOOK)):
            self.below.end(call, role, outer)
        if succeeded and role.what in (roles.INFO, roles.DEVICE, roles.RANGE):
            self.learn(call, role, is_inner)
        elif freeing is not None and succeeded:
            self.end_free(*freeing)
        elif role.what == roles.ALLOC and not is_inner and inside:
            self.end_alloc(call, role, succeeded)
        elif role.what == roles.MAP and not is_inner and succeeded:
            self.end_map(call)
        elif role.what == roles.UNMAP and not is_inner and succeeded:
            self.end_unmap(call)

    def learn(self, call: Call, role: Role, is_inner: bool) -> None:
        if role.what == roles.INFO:
            self.report(call)
        elif role.what == roles.DEVICE:
            self.devices.learn(call, role.function.base, is_inner)
        else:
            block = self.blocks.memory.live.get(number(call.out.get("pbase")))
            if block is not None and not block.size:
                self.usage.resize(block, number(call.out.get("psize")))

    def end_free(self, call: Call, block: Block) -> None:
        block.references -= 1
        if block.references > 0:
            return
        if block.mappings:
            self.blocks.lose_name(block)
        else:
            self.retire(block, call)

    def end_map(self, call: Call) -> None:
        block = mappings.mapped(self.blocks, call, self.site(call))
        for old in self.blocks.memory.within(block.address, block.size):
            self.retire(old, None)
        if block.physical is not None and block.physical.elsewhere == "imported":  # its size is told by nothing else
            end = number(call.arguments.get("offset")) + block.size
            self.usage.resize(block.physical, max(block.physical.size, end))
        self.take(block, call)

    def end_unmap(self, call: Call) -> None:
        for block in mappings.in_range(self.blocks, call):
            self.retire(block, call)
            physical = block.physical
            if physical is not None:
                physical.mappings -= 1
                if not physical.mappings and physical.references <= 0:
                    self.retire(physical, call)

    def retire(self, block: Block, release: Call | None) -> None:
        if block.release is not None:
            return
        block.release = release
        self.blocks.remove(block)
        self.usage.retire(block)

    def end_alloc(self, call: Call, role: Role, succeeded: bool) -> None:
        if call.result in OUT_OF_MEMORY and self.out_of_memory is None:
            self.out_of_memory = self.usage.now(call)
        address = extents.handed_out(call, role) if succeeded else 0
        if not address:
            return
        block = self.make(call, role, address)
        old = self.blocks.spaces[block.space].live.get(address)
        if old is not None and "Retain" in role.function.symbol:
            old.references += 1
            return
        if old is not None:
            self.retire(old, self.release_of(old))
        if "Retain" not in role.function.symbol or not mappings.renamed(self.blocks, call, address):
            self.take(block, call)

    def make(self, call: Call, role: Role, address: int) -> Block:
        elsewhere = "imported" if roles.is_import(role.function) else "host" if extents.is_on_host(call) else ""
        return Block(address, extents.size(role.function, call), role.kind, call, self.site(call), elsewhere)

    def take(self, block: Block, call: Call) -> None:
        if block.on_device:
            block.device = self.devices.of(call, self.table.functions[call.name])
        self.blocks.add(block)
        self.usage.count(block, 1)

    def release_of(self, block: Block) -> Call | None:
        """The free that is on its way, for its block has been handed out again already."""
        return next((call for call, other in self._freeing.values() if other is block), None)

    def site(self, call: Call) -> int:
        """The line of Python that asked. Without one the nearest caller in the program itself, where the stack was
        recorded; else who called."""
        if call.python:
            return call.python
        inside = [a for a in call.stack if self.notes.place(call.process, a).get("layer") == "app"]
        asked = (a for a in inside if not self.notes.is_header_code(call.process, a))
        return next(asked, inside[0] if inside else call.caller)

    def report(self, call: Call) -> None:
        values = {**call.out, **extents.behind(call.out.get("memory"))}
        total, free = number(values.get("total")), number(values.get("free"))
        self.reported[call.layer, call.base] = Reported(call, total - free, total, self.usage.on_device)
