"""Blocks of memory, and which of them an address belongs to."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterator
from typing import Any

from gdbcuda.calls.record import Call
from gdbcuda.ledger.effects.roles import MEMORY, ON_DEVICE, SPACES, space_of
from gdbcuda.text.units import human

KEPT = 20_000  # freed blocks that are remembered
NEAR = 16  # blocks in front of an address that may reach up to it, where blocks have overlapped in time


class Block:
    """What an allocator handed out. ``release`` is the call that took it back; ``site`` the caller's address.

    ``elsewhere`` says whose memory it is, if not the device's: "imported" from another process or API, the "host"'s."""

    def __init__(self, address: int, size: int, kind: str, call: Call, site: int, elsewhere: str = "") -> None:
        self.address, self.size, self.kind, self.call, self.site = address, size, kind, call, site
        self.elsewhere = elsewhere
        self.release: Call | None = None
        self.references = 1  # to a handle
        self.mappings = 0  # of physical memory, which lives on while it is mapped
        self.physical: Block | None = None  # what is mapped here
        self.device: int | None = None
        self.absent = 0  # bytes without memory: a hook library has given it back below
        self.above: dict[Block, None] = {}  # of physical memory below: the program's blocks that it has been behind
        self.mapped: int | None = None  # bytes that are mapped below, since somebody has asked

    @property
    def present(self) -> int:
        return self.size - self.absent

    @property
    def space(self) -> str:
        return space_of(self.kind)

    @property
    def on_device(self) -> bool:
        return self.kind in ON_DEVICE and not self.elsewhere

    @property
    def counted_as(self) -> str:
        return self.elsewhere or self.kind

    @property
    def stream(self) -> Any:
        return self.call.arguments.get("hStream", self.call.arguments.get("stream"))

    @property
    def end(self) -> int:
        return self.address + self.size

    def holds(self, address: int) -> bool:
        return self.address <= address < self.address + max(self.size, 1)


class Space:
    """Live blocks by where they begin, and those that were freed there, the last at each place."""

    def __init__(self) -> None:
        self.live: dict[int, Block] = {}
        self.starts: list[int] = []
        self.freed: dict[int, Block] = {}
        self.freed_starts: list[int] = []

    def add(self, block: Block) -> None:
        if block.address not in self.live:
            insort(self.starts, block.address)
        self.live[block.address] = block

    def remove(self, block: Block) -> bool:
        if not self.is_live(block):
            return False
        del self.live[block.address]
        del self.starts[bisect_right(self.starts, block.address) - 1]
        return True

    def remember(self, block: Block) -> None:
        if block.address not in self.freed:
            insort(self.freed_starts, block.address)
        self.freed[block.address] = block

    def forget(self, block: Block) -> None:
        if self.freed.get(block.address) is block:
            del self.freed[block.address]
            del self.freed_starts[bisect_right(self.freed_starts, block.address) - 1]

    def block_at(self, address: int) -> Block | None:
        at = bisect_right(self.starts, address) - 1
        block = self.live[self.starts[at]] if at >= 0 else None
        return block if block is not None and block.holds(address) else None

    def is_live(self, block: Block) -> bool:
        return self.live.get(block.address) is block

    def freed_block_at(self, address: int) -> Block | None:
        at = bisect_right(self.freed_starts, address)
        for start in reversed(self.freed_starts[max(at - NEAR, 0) : at]):
            block = self.freed[start]
            if address < start + (block.size or 1):
                return block
        return None

    def within(self, start: int, size: int) -> list[Block]:
        """Live blocks that begin in the range."""
        first = bisect_right(self.starts, start - 1)
        return [self.live[at] for at in self.starts[first : bisect_right(self.starts, start + size - 1)]]

    def overlapping(self, start: int, size: int) -> list[Block]:
        """Live blocks that have any of the range."""
        first = self.block_at(start - 1)
        return [*([first] if first is not None and first.end > start else []), *self.within(start, size)]


class Blocks:
    """All blocks of a process: memory by address, reserved addresses, what is known by a handle, and physical memory
    whose handle is gone while it is still mapped."""

    def __init__(self) -> None:
        self.spaces = {name: Space() for name in (MEMORY, *SPACES.values())}
        self.unnamed: dict[int, Block] = {}  # by the number of the call that made it
        self.freed: deque[Block] = deque(maxlen=KEPT)
        self.has_forgotten = False  # some of those that were freed

    @property
    def memory(self) -> Space:
        return self.spaces[MEMORY]

    @property
    def addresses(self) -> Space:
        return self.spaces["addresses"]

    def live(self) -> list[Block]:
        return [*(block for space in self.spaces.values() for block in space.live.values()), *self.unnamed.values()]

    def add(self, block: Block) -> None:
        self.spaces[block.space].add(block)

    def lose_name(self, block: Block) -> None:
        if self.spaces[block.space].remove(block):
            self.unnamed[block.call.number] = block

    def remove(self, block: Block) -> None:
        if self.unnamed.pop(block.call.number, None) or self.spaces[block.space].remove(block):
            if len(self.freed) == KEPT:
                oldest, self.has_forgotten = self.freed[0], True
                self.spaces[oldest.space].forget(oldest)
            self.freed.append(block)
            self.spaces[block.space].remember(block)

    def starting_at(self, address: int) -> Iterator[Block]:
        for space in self.spaces.values():
            block = space.live.get(address)
            if block is not None:
                yield block

    def all(self) -> list[Block]:
        return sorted([*self.freed, *self.live()], key=lambda block: block.call.number)


def by(block: Block) -> str:
    return f" by #{block.release.number} {block.release.name}" if block.release is not None else " before"


def given_back(block: Block) -> str:
    return f", {human(block.absent)} of it given back by the hook library" if block.absent else ""


def where(block: Block) -> str:
    """ "the 4.00 KiB of #12 cuMemAlloc_v2 at 0x7f00"."""
    size = human(block.size) if block.size else "memory of unknown size"
    return f"the {size} of #{block.call.number} {block.call.name} at {block.address:#x}"
