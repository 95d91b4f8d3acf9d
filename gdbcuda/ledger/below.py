"""What a hook library keeps below the calls of the program: the memory behind a block that it hands out.

It makes that memory within a call of the program's, and may unmap it, give it back or get it anew outside of any, in
a thread of its own or when it is told to: that is no call of the program's on memory that nobody has handed out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gdbcuda.calls.record import Call
from gdbcuda.ledger import mappings
from gdbcuda.ledger.blocks import Block, Blocks
from gdbcuda.ledger.effects import extents, roles
from gdbcuda.ledger.effects.roles import Role, number, space_of
from gdbcuda.ledger.usage import Usage

VIRTUAL = ("physical", "addresses")  # kinds of memory that is mapped
HOOK = "hook"  # a call of this layer is what the program asks for


class Outer(NamedTuple):
    """The outermost of nested calls, and what it does."""

    call: Call
    role: Role

    @property
    def is_virtual(self) -> bool:
        """The program maps memory itself: what is mapped within is its own, passed on."""
        return self.role.what in (roles.MAP, roles.UNMAP) or self.role.kind in VIRTUAL


class Below:
    """``above`` are the blocks of the program; ``open`` the calls outside of any that are about what is below them."""

    def __init__(self, above: Blocks, usage: Usage) -> None:
        self.above, self.usage, self.blocks = above, usage, Blocks()
        self.open: set[int] = set()
        self.plain: dict[str, set[int]] = {name: set() for name in self.blocks.spaces}  # what nothing is mapped from
        self.asked: set[int] = set()  # open calls within which a hook library was asked to free
        self.kept: dict[tuple[str, int], str] = {}  # what it has kept then: the layer that has freed it

    # -- begins -----------------------------------------------------------------------------------------------

    def takes(self, call: Call, role: Role) -> bool:
        """The outermost call is about memory below a block, not about a block of the program's."""
        is_its = call.layer != HOOK and self.concerns(call, role)
        if is_its:
            self.open.add(call.number)
        return is_its

    def concerns(self, call: Call, role: Role) -> bool:
        if role.what == roles.FREE:
            address, space = number(call.arguments.get(role.block)), space_of(role.kind)
            is_known = address in self.plain[space] or address in self.blocks.spaces[space].live
            is_free_already = self.kept.get((space, address)) == call.layer
            return is_known and not self.is_above(space, address) and not is_free_already
        if role.what == roles.UNMAP:
            return bool(mappings.in_range(self.blocks, call)) and not mappings.in_range(self.above, call)
        return role.what == roles.MAP and self.is_behind_block(mappings.address_range(call)[0])

    def is_above(self, space: str, address: int) -> bool:
        """A block of the program's begins there, which can be freed: a mapping cannot."""
        block = self.above.spaces[space].live.get(address)
        return block is not None and block.kind != mappings.KIND

    def is_behind_block(self, address: int) -> bool:
        """In a range that was reserved lies a block that is none of its mappings."""
        block = self.above.memory.block_at(address)
        is_reserved = any(one.addresses.block_at(address) is not None for one in (self.blocks, self.above))
        return block is not None and block.kind != mappings.KIND and is_reserved

    def took(self, call: Call) -> bool:
        is_its = call.number in self.open
        self.open.discard(call.number)
        return is_its

    # -- ends: of calls within others, of those that were taken, and of what the program gives back past the hook

    def end(self, call: Call, role: Role, outer: Outer | None) -> None:
        """One that has succeeded."""
        if role.what == roles.ALLOC:
            self.end_alloc(call, role)
        elif role.what == roles.FREE:
            self.end_plain_free(call, role, outer)
            self.end_free(call, role)
        elif role.what == roles.MAP:
            self.end_map(call, outer)
        elif role.what == roles.UNMAP:
            self.end_unmap(call)

    def end_alloc(self, call: Call, role: Role) -> None:
        address = extents.handed_out(call, role)
        if not address:
            return
        if role.kind not in VIRTUAL:
            if call.layer != HOOK:
                self.plain[space_of(role.kind)].add(address)
            return
        block = Block(address, extents.size(role.function, call), role.kind, call, 0)
        space = self.blocks.spaces[block.space]
        if "Retain" in role.function.symbol and address in space.live:
            space.live[address].references += 1
        else:
            space.add(block)

    def end_plain_free(self, call: Call, role: Role, outer: Outer | None) -> None:
        """A hook library may keep what it is asked to free, also for a runtime above it."""
        address, space = number(call.arguments.get(role.block)), space_of(role.kind)
        if call.layer == HOOK:
            if outer is not None and outer.call.layer != HOOK:
                self.asked.add(outer.call.number)
        elif call.number not in self.asked:
            self.plain[space].discard(address)
            self.kept.pop((space, address), None)
        elif address in self.plain[space]:
            self.kept[space, address] = call.layer
        self.asked.discard(call.number)

    def end_free(self, call: Call, role: Role) -> None:
        address, space = number(call.arguments.get(role.block)), space_of(role.kind)
        block = self.blocks.spaces[space].live.get(address)
        if block is None or block.kind == mappings.KIND:
            return
        block.references -= 1
        if block.references <= 0:
            self.blocks.spaces[space].remove(block)
            self.ends(block, call)

    def end_map(self, call: Call, outer: Outer | None) -> None:
        """Each layer's function makes the same mapping."""
        if outer is None or not outer.is_virtual:
            self.move_down(number(call.arguments.get("handle")))
        before = self.blocks.memory.live.get(mappings.address_range(call)[0])
        if before is not None and before.kind == mappings.KIND:
            return
        block = mappings.mapped(self.blocks, call, 0)
        self.blocks.add(block)
        self.settle(self.changes(block, 1), call)

    def end_unmap(self, call: Call) -> None:
        for block in mappings.in_range(self.blocks, call):
            self.blocks.memory.remove(block)
            self.changes(block, -1)
            if block.physical is not None:
                block.physical.mappings -= 1
                self.ends(block.physical, call)

    def move_down(self, handle: int) -> None:
        """What was made outside of any call is known to be below a block where it is mapped."""
        handles = self.above.spaces["handles"]
        physical = handles.live.get(handle)
        if physical is not None:
            handles.remove(physical)
            self.usage.move_down(physical)
            self.blocks.add(physical)

    def changes(self, mapping: Block, sign: int) -> list[Block]:
        """The program's blocks that the mapping is behind: they have so much more memory, or less."""
        found = self.above.memory.overlapping(mapping.address, mapping.size)
        above = [block for block in found if block.kind != mappings.KIND]
        for block in above:
            if block.mapped is not None:
                block.mapped += sign * shared(block, mapping)
        if mapping.physical is not None:
            mapping.physical.above.update(dict.fromkeys(above))
        return above

    def ends(self, physical: Block, call: Call) -> None:
        if physical.references <= 0 and not physical.mappings:
            self.settle([*physical.above], call, is_gone=True)

    def settle(self, above: Sequence[Block], call: Call, is_gone: bool = False) -> None:
        """How much of the blocks has no memory, now that some was given back or mapped."""
        for block in above:
            if self.above.memory.is_live(block) and (is_gone or block.absent):
                self.usage.lose(block, max(block.size - self.mapped(block), 0), call)

    def mapped(self, block: Block) -> int:
        """Kept from the first time on: there may be thousands of mappings behind it."""
        if block.mapped is None:
            found = self.blocks.memory.overlapping(block.address, block.size)
            block.mapped = sum(shared(block, one) for one in found if one.kind == mappings.KIND)
        return block.mapped


def shared(block: Block, mapping: Block) -> int:
    return max(min(block.end, mapping.end) - max(block.address, mapping.address), 0)
