"""What is wrong with a free, a copy or a fill, given the blocks that there are."""

from __future__ import annotations

from typing import Optional

from gdbcuda import api
from gdbcuda.ledger import mappings
from gdbcuda.ledger.blocks import Block, Blocks, by, where
from gdbcuda.ledger.effects import roles
from gdbcuda.ledger.effects.accesses import Touch
from gdbcuda.text.sentences import counted

Found = tuple[str, str, Optional[Block]]  # kind, text, the block that it is about
Trouble = Optional[Found]
USED = ("device", "managed", "graph")  # kinds whose use after the free is told
OR_OWN = "; unless it is memory of the program's own by now: the call does not say whose it is"
DOUBLE, UNKNOWN = "double free", "unknown pointer"
BOUNDED = (*USED, "host")  # kinds whose bounds copies are held against


def of_free(blocks: Blocks, block: Block, allocator: api.Function, release: api.Function) -> Trouble:
    """Is this call a way to give the block back?"""
    if block.kind == mappings.KIND:
        return "wrong family", f"{where(block)} is mapped memory: cuMemUnmap, cuMemRelease, cuMemAddressFree", block
    if not roles.is_same_family(allocator, release):
        return "wrong family", f"{where(block)} is for {', '.join(allocator.released_by)}", block
    mapped = blocks.memory.within(block.address, block.size) if block.kind == "addresses" else []
    return ("still mapped", f"{where(mapped[0])} is mapped in {where(block)}", block) if mapped else None


def of_free_of_nothing(blocks: Blocks, address: int) -> Found:
    """No block begins there."""
    inside, before = blocks.memory.block_at(address), blocks.memory.freed_block_at(address)
    if inside is not None:
        return "interior pointer", f"{counted(address - inside.address, 'byte')} into {where(inside)}", inside
    handles = [space.freed.get(address) for space in blocks.spaces.values() if space is not blocks.memory]
    freed = next((one for one in (before, *handles) if one is not None and one.address == address), None)
    if freed is not None:
        return DOUBLE, f"{where(freed)} was freed{by(freed)}", freed
    return UNKNOWN, "no recorded call has handed it out", None


def of_touch(blocks: Blocks, touch: Touch) -> Trouble:
    if touch.is_array:
        return of_array(blocks, touch)
    block = blocks.memory.block_at(touch.address)
    if block is None:
        return mappings.hole(blocks, touch.address, touch.parameter) or use_after_free(blocks, touch)
    if block.kind == mappings.KIND:
        return mappings.beyond(blocks, block, touch)
    beyond = touch.address + touch.size - block.end
    if beyond <= 0 or not block.size or block.kind not in BOUNDED:
        return None
    return "out of range", f"{touch.size} bytes from {touch.parameter} on go {beyond} beyond {where(block)}", block


def use_after_free(blocks: Blocks, touch: Touch) -> Trouble:
    """The program's own malloc may have a freed block's address now: the host's side of a copy is not the block's."""
    freed = None if touch.is_host else blocks.memory.freed_block_at(touch.address)
    if freed is None or freed.kind not in USED:
        return None
    unless = OR_OWN if touch.is_either else ""
    return "use after free", f"{touch.parameter} lies in {where(freed)}, freed{by(freed)}{unless}", freed


def of_array(blocks: Blocks, touch: Touch) -> Trouble:
    handles = blocks.spaces["handles"]
    freed = handles.freed.get(touch.address)
    if freed is None or touch.address in handles.live:
        return None
    return "use after free", f"{touch.parameter} is {where(freed)}, freed{by(freed)}", freed
