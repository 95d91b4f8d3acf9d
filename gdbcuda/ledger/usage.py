"""How many bytes are live: by kind, on the devices, and when those were the most."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from gdbcuda.calls.record import Call
from gdbcuda.ledger.blocks import Block, Blocks


class Snapshot(NamedTuple):
    """What was live at a moment."""

    bytes: int
    call: Call
    blocks: tuple[Block, ...]


class Usage:
    """Told of every block that is added to ``blocks``, grows, or goes."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.bytes: Counter[str] = Counter()  # live, by kind
        self.peak = self.on_device = 0
        self.peak_call: Call | None = None
        self.freed_since_peak: list[Block] = []

    def count(self, block: Block, sign: int) -> None:
        self.bytes[block.counted_as] += sign * block.present
        if block.on_device:
            self.on_device += sign * block.present
        if self.on_device > self.peak:
            self.peak, self.peak_call = self.on_device, block.call
            self.freed_since_peak.clear()

    def retire(self, block: Block) -> None:
        self.count(block, -1)
        if self.peak_call is not None and block.call.number <= self.peak_call.number:
            self.freed_since_peak.append(block)

    def resize(self, block: Block, size: int) -> None:
        self.count(block, -1)
        block.size = size
        self.count(block, 1)

    def lose(self, block: Block, size: int) -> None:
        """So much of the block has no memory."""
        self.count(block, -1)
        block.absent = size
        self.count(block, 1)

    def now(self, call: Call) -> Snapshot:
        blocks = tuple(block for block in self.blocks.live() if block.on_device)
        return Snapshot(self.on_device, call, blocks)

    def at_peak(self) -> Snapshot | None:
        if self.peak_call is None:
            return None
        born = [b for b in self.blocks.live() if b.call.number <= self.peak_call.number]
        blocks = tuple(b for b in [*born, *self.freed_since_peak] if b.on_device)
        return Snapshot(self.peak, self.peak_call, blocks)
