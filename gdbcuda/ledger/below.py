"""What a hook library keeps below the calls of the program: the memory behind a block that it hands out.

It makes that memory within a call of the program's, and may unmap it, give it back or get it anew outside of any, in
a thread of its own or when it is told to: that is no call of the program's on memory that nobody has handed out.
"""

from __future__ import annotations

from gdbcuda.calls.record import Call
from gdbcuda.ledger import mappings
from gdbcuda.ledger.blocks import Block, Blocks
from gdbcuda.ledger.effects import extents, roles
from gdbcuda.ledger.effects.roles import Role, number
from gdbcuda.ledger.usage import Usage

VIRTUAL = ("physical", "addresses")  # kinds of memory that is mapped
HOOK = "hook"  # a call of this layer is what the program asks for


class Below:
    """``above`` are the blocks of the program; ``open`` the calls outside of any that are about what is below them."""

    def __init__(self, above: Blocks, usage: Usage) -> None:
        self.above, self.usage, self.blocks = above, usage, Blocks()
        self.open: set[int] = set()
        self.plain: dict[str, set[int]] = {name: set() for name in self.blocks.spaces}  # what nothing is mapped from

    # -- begins -----------------------------------------------------------------------------------------------

    def takes(self, call: Call, role: Role) -> bool:
        """The outermost call is about memory below a block, not about a block of the program's."""
        is_its = call.layer != HOOK and self.concerns(call, role)
        if is_its:
            self.open.add(call.number)
        return is_its

    def concerns(self, call: Call, role: Role) -> bool:
        if role.what == roles.FREE:
            address, space = number(call.arguments.get(role.block)), space_of(role)
            is_known = address in self.plain[space] or address in self.blocks.spaces[space].live
            return is_known and not self.is_above(space, address)
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

    # -- ends: of calls within others, and of those that were taken -------------------------------------------

    def end(self, call: Call, role: Role) -> None:
        """One that has succeeded."""
        if role.what == roles.ALLOC:
            self.end_alloc(call, role)
        elif role.what == roles.FREE:
            self.end_free(call, role)
        elif role.what == roles.MAP:
            self.end_map(call)
        elif role.what == roles.UNMAP:
            self.end_unmap(call)

    def end_alloc(self, call: Call, role: Role) -> None:
        address = extents.handed_out(call, role)
        if role.kind not in VIRTUAL:
            self.plain[space_of(role)].add(address)
            return
        block = Block(address, extents.size(role.function, call), role.kind, call, 0)
        space = self.blocks.spaces[block.space]
        if "Retain" in role.function.symbol and address in space.live:
            space.live[address].references += 1
        else:
            space.add(block)

    def end_free(self, call: Call, role: Role) -> None:
        address, space = number(call.arguments.get(role.block)), space_of(role)
        self.plain[space].discard(address)
        block = self.blocks.spaces[space].live.get(address)
        if block is None or block.kind == mappings.KIND:
            return
        block.references -= 1
        if block.references <= 0:
            self.blocks.spaces[space].remove(block)
            self.ends(block)

    def end_map(self, call: Call) -> None:
        """Each layer's function makes the same mapping."""
        self.move_down(number(call.arguments.get("handle")))
        before = self.blocks.memory.live.get(mappings.address_range(call)[0])
        if before is not None and before.kind == mappings.KIND:
            return
        block = mappings.mapped(self.blocks, call, 0)
        self.blocks.add(block)
        if block.physical is not None:
            block.physical.above = self.above.memory.block_at(block.address)
        self.settle(self.above.memory.block_at(block.address))

    def end_unmap(self, call: Call) -> None:
        for block in mappings.in_range(self.blocks, call):
            self.blocks.memory.remove(block)
            if block.physical is not None:
                block.physical.mappings -= 1
                block.physical.above = self.above.memory.block_at(block.address)
                self.ends(block.physical)

    def move_down(self, handle: int) -> None:
        """What was made outside of any call is known to be below a block where it is mapped."""
        handles = self.above.spaces["handles"]
        physical = handles.live.get(handle)
        if physical is not None:
            handles.remove(physical)
            self.usage.retire(physical)
            self.blocks.add(physical)

    def ends(self, physical: Block) -> None:
        if physical.references <= 0 and not physical.mappings:
            self.settle(physical.above, is_gone=True)

    def settle(self, above: Block | None, is_gone: bool = False) -> None:
        """How much of a block has no memory, now that some was given back or mapped."""
        if above is None or above.release is not None or not (is_gone or above.absent):
            return
        mapped = sum(b.size for b in self.blocks.memory.within(above.address, above.size) if b.kind == mappings.KIND)
        self.usage.lose(above, max(above.size - mapped, 0))


def space_of(role: Role) -> str:
    return roles.SPACES.get(role.kind, roles.MEMORY)
