"""How many bytes are live: by kind, on the devices, and when those were the most."""

from __future__ import annotations

from collections import Counter
from copy import copy
from typing import NamedTuple

from gdbcuda.calls.record import Call
from gdbcuda.ledger.blocks import Block, Blocks


class Snapshot(NamedTuple):
    """What was live at a moment. ``absent`` are those that had less memory, or more, than they have now."""

    bytes: int
    call: Call
    held: tuple[Block, ...]
    absent: dict[Block, int]

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(as_it_was(block, self.absent.get(block, block.absent)) for block in self.held)


def as_it_was(block: Block, absent: int) -> Block:
    if block.absent == absent:
        return block
    found = copy(block)
    found.absent = absent
    return found


class Usage:
    """Told of every block that is added to ``blocks``, grows, or goes."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.bytes: Counter[str] = Counter()  # live, by kind
        self.peak = self.on_device = 0
        self.peak_call: Call | None = None
        self.freed_since_peak: list[Block] = []
        self.absent_at_peak: dict[Block, int] = {}  # of blocks where it has changed since
        self.moves_peak = False  # to when there is as much again: it was counted of what is behind another block

    def count(self, block: Block, sign: int, call: Call | None = None) -> None:
        """``call`` is what has changed it, if not the one that made it."""
        self.bytes[block.counted_as] += sign * block.present
        if block.on_device:
            self.on_device += sign * block.present
        if self.on_device > self.peak or (self.moves_peak and sign > 0 and self.on_device == self.peak):
            self.moves_peak = False
            self.peak, self.peak_call = self.on_device, call or block.call
            self.freed_since_peak.clear()
            self.absent_at_peak.clear()

    def retire(self, block: Block) -> None:
        self.count(block, -1)
        if self.peak_call is not None and block.call.number <= self.peak_call.number:
            self.freed_since_peak.append(block)

    def move_down(self, block: Block) -> None:
        """It is what another block has its memory from, which is counted in its place."""
        self.count(block, -1)
        self.moves_peak = True

    def resize(self, block: Block, size: int) -> None:
        self.count(block, -1)
        block.size, block.mapped = size, None
        self.count(block, 1)

    def lose(self, block: Block, size: int, call: Call) -> None:
        """So much of the block has no memory."""
        self.count(block, -1)
        self.absent_at_peak.setdefault(block, block.absent)
        block.absent = size
        self.count(block, 1, call)

    def now(self, call: Call) -> Snapshot:
        blocks = tuple(block for block in self.blocks.live() if block.on_device)
        return Snapshot(self.on_device, call, blocks, {block: block.absent for block in blocks})

    def at_peak(self) -> Snapshot | None:
        if self.peak_call is None:
            return None
        born = [b for b in self.blocks.live() if b.call.number <= self.peak_call.number]
        blocks = tuple(b for b in [*born, *self.freed_since_peak] if b.on_device)
        return Snapshot(self.peak, self.peak_call, blocks, self.absent_at_peak)
