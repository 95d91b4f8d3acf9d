"""Virtual memory management: physical memory is made, mapped into reserved addresses, unmapped and released.

A mapping takes no memory of its own. Physical memory lives until its last mapping and its last handle are gone.
(CUDA driver API reference, "Virtual Memory Management": cuMemMap, cuMemUnmap, cuMemRelease.)
"""

from __future__ import annotations

from typing import Optional

from gdbcuda.calls.record import Call
from gdbcuda.ledger.blocks import Block, Blocks, by, where
from gdbcuda.ledger.effects.accesses import Touch
from gdbcuda.ledger.effects.roles import number
from gdbcuda.text.units import human

KIND = "mapping"
Trouble = Optional[tuple[str, str, Optional[Block]]]


def mapped(blocks: Blocks, call: Call, site: int) -> Block:
    """The block of a cuMemMap that has succeeded."""
    arguments = call.arguments
    block = Block(number(arguments.get("ptr")), number(arguments.get("size")), KIND, call, site)
    block.physical = blocks.spaces["handles"].live.get(number(arguments.get("handle")))
    if block.physical is not None:
        block.physical.mappings += 1
    return block


def renamed(blocks: Blocks, call: Call, handle: int) -> bool:
    """cuMemRetainAllocationHandle for memory whose handles had all been released: it has one again."""
    mapping = blocks.memory.block_at(number(call.arguments.get("addr")))
    physical = mapping.physical if mapping is not None else None
    if physical is None or blocks.unnamed.pop(physical.call.number, None) is None:
        return False
    physical.address, physical.references = handle, 1
    blocks.add(physical)
    return True


def address_range(call: Call) -> tuple[int, int]:
    return number(call.arguments.get("ptr")), number(call.arguments.get("size"))


def in_range(blocks: Blocks, call: Call) -> list[Block]:
    return [block for block in blocks.memory.within(*address_range(call)) if block.kind == KIND]


def of_unmap(blocks: Blocks, call: Call) -> Trouble:
    """What is wrong with a cuMemUnmap: it takes whole mappings alone."""
    start, size = address_range(call)
    first, last = blocks.memory.block_at(start), blocks.memory.block_at(start + max(size, 1) - 1)
    cut = next((b for b in (first, last) if b is not None and (b.address < start or b.end > start + size)), None)
    if cut is not None:
        return "part of a mapping", f"{human(size)} at {start:#x} are not all of {where(cut)}", cut
    if not in_range(blocks, call):
        before = blocks.memory.freed_block_at(start)
        gone = f"; {where(before)} was unmapped{by(before)}" if before is not None else ""
        return "not mapped", f"nothing is mapped at {start:#x}{gone}", before
    return None


def hole(blocks: Blocks, address: int, parameter: str) -> Trouble:
    """An address that is reserved, and has no memory."""
    reserved = blocks.addresses.block_at(address)
    if reserved is None:
        return None
    before = blocks.memory.freed_block_at(address)
    was = f"; {where(before)} was unmapped{by(before)}" if before is not None and before.kind == KIND else ""
    return "unmapped address", f"nothing is mapped at {parameter}, in {where(reserved)}{was}", before or reserved


def beyond(blocks: Blocks, block: Block, touch: Touch) -> Trouble:
    """Memory that is mapped side by side is one to a copy."""
    end = touch.address + touch.size
    last: Block | None = block
    while last is not None and last.end < end:
        block, last = last, blocks.memory.block_at(last.end)
    if last is not None:
        return None
    text = f"{touch.size} bytes from {touch.parameter} on go {end - block.end} beyond {where(block)}"
    return "out of range", text, block
