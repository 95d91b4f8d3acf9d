"""Blocks of memory, and which of them an address belongs to."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterator
from typing import Any

from gdbcuda.ledger.roles import BY_HANDLE, ON_DEVICE
from gdbcuda.log.record import Call

KEPT = 20_000  # freed blocks that are remembered
NEAR = 16  # blocks in front of an address that may reach up to it, where blocks have overlapped in time


class Block:
    """What an allocator handed out. ``release`` is the call that took it back; ``site`` the caller's address."""

    def __init__(self, address: int, size: int, kind: str, call: Call, site: int) -> None:
        self.address, self.size, self.kind, self.call, self.site = address, size, kind, call, site
        self.release: Call | None = None
        self.references = 1
        self.device: int | None = None

    @property
    def on_device(self) -> bool:
        return self.kind in ON_DEVICE

    @property
    def stream(self) -> Any:
        return self.call.arguments.get("hStream", self.call.arguments.get("stream"))

    def holds(self, address: int) -> bool:
        return self.address <= address < self.address + max(self.size, 1)


class Blocks:
    """Live blocks by address and by handle, and those that were freed, the newest first."""

    def __init__(self) -> None:
        self.live: dict[tuple[bool, int], Block] = {}
        self.starts: list[int] = []
        self.freed: deque[Block] = deque(maxlen=KEPT)
        self._freed_at: dict[int, Block] = {}  # the last one that began there
        self._freed_starts: list[int] = []

    @staticmethod
    def key(kind: str, address: int) -> tuple[bool, int]:
        return kind in BY_HANDLE, address

    def add(self, block: Block) -> None:
        key = self.key(block.kind, block.address)
        if key not in self.live and not key[0]:
            insort(self.starts, block.address)
        self.live[key] = block

    def remove(self, block: Block) -> None:
        key = self.key(block.kind, block.address)
        if self.live.get(key) is block:
            del self.live[key]
            if not key[0]:
                del self.starts[bisect_right(self.starts, block.address) - 1]
            if len(self.freed) == KEPT:
                self._forget(self.freed[0])
            self.freed.append(block)
            self._remember(block)

    def _forget(self, block: Block) -> None:
        if self._freed_at.get(block.address) is block:
            del self._freed_at[block.address]
            del self._freed_starts[bisect_right(self._freed_starts, block.address) - 1]

    def _remember(self, block: Block) -> None:
        if block.kind not in BY_HANDLE:
            if block.address not in self._freed_at:
                insort(self._freed_starts, block.address)
            self._freed_at[block.address] = block

    def starting_at(self, address: int) -> Iterator[Block]:
        for is_handle in (False, True):
            block = self.live.get((is_handle, address))
            if block is not None:
                yield block

    def holding(self, address: int) -> Block | None:
        """The live block that the address lies in."""
        at = bisect_right(self.starts, address) - 1
        block = self.live[False, self.starts[at]] if at >= 0 else None
        return block if block is not None and block.holds(address) else None

    def was_holding(self, address: int) -> Block | None:
        """The block, freed since, that the address lay in; the nearest one."""
        at = bisect_right(self._freed_starts, address)
        near = (self._freed_at[start] for start in reversed(self._freed_starts[max(at - NEAR, 0) : at]))
        return next((block for block in near if block.holds(address)), None)

    def all(self) -> list[Block]:
        return sorted([*self.freed, *self.live.values()], key=lambda block: block.call.number)
