"""A process's memory in which PyTorch's caching allocator has what a test wants, by the offsets of any version."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gdbcuda.pytorch.allocator import TYPE
from gdbcuda.pytorch.allocator_layouts import AllocatorLayout

BASE, ROOM = 0x100000000000, 1 << 17
DEVICE_BYTES, BLOCK_BYTES = 4096, 176
TENSOR, WAITS, FREE, NOT_MAPPED = "active_allocated", "active_pending_free", "inactive", "not mapped"


@dataclass(frozen=True)
class Made:
    """A segment. ``blocks``: (bytes, bytes asked for, state), one behind the other. ``graph``: in the pool of a
    CUDA graph with that number."""

    address: int
    blocks: Sequence[tuple[int, int, str]]
    is_small: bool = False
    is_expandable: bool = False
    graph: int = 0


@dataclass
class AllocatorImage:
    """``data`` lies at `BASE`; the exported pointer is its first word."""

    layout: AllocatorLayout
    kind: str = TYPE
    data: bytearray = field(default_factory=lambda: bytearray(ROOM))
    used: int = 16
    places: dict[str, int] = field(default_factory=dict)

    def room(self, size: int, name: str = "") -> int:
        self.used += -self.used % 16
        at, self.used = BASE + self.used, self.used + size
        assert self.used <= ROOM
        self.places[name] = at
        return at

    def put(self, at: int, *words: int) -> None:
        struct.pack_into(f"<{len(words)}Q", self.data, at - BASE, *words)

    def get(self, at: int) -> int:
        return int(struct.unpack_from("<Q", self.data, at - BASE)[0])

    def text(self, text: str) -> int:
        raw = text.encode() + b"\0"
        at = self.room(len(raw))
        self.data[at - BASE : at - BASE + len(raw)] = raw
        return at

    def fill(self, *devices: Sequence[Made]) -> AllocatorImage:
        table, kind, allocator = self.room(32) + 16, self.room(16), self.room(self.layout.devices + 24, "allocator")
        self.put(BASE, allocator)
        self.put(table - 8, kind)
        self.put(kind + 8, self.text(self.kind))
        self.put(allocator, table)
        vector = self.room(8 * len(devices))
        self.put(allocator + self.layout.devices, vector, vector + 8 * len(devices), vector + 8 * len(devices))
        self.put(vector, *(self.device(number, made) for number, made in enumerate(devices)))
        return self

    def device(self, number: int, made: Sequence[Made]) -> int:
        at = self.room(DEVICE_BYTES, f"device {number}")
        graphs = {one.graph: self.room(1024) for one in made if one.graph}
        pools = {0: at + self.layout.large, **{name: to + self.layout.private_large for name, to in graphs.items()}}
        self.table(at + self.layout.private, [(0, name, to) for name, to in graphs.items()])
        free: dict[int, list[int]] = {pool + more: [] for pool in pools.values() for more in (0, self.layout.pool)}
        active: list[int] = []
        for one in made:
            pool = pools[one.graph] + (self.layout.pool if one.is_small else 0)
            self.segment(number, one, pool, active, free[pool])
        self.table(at + self.layout.active, [(block,) for block in active])
        for pool, blocks in free.items():
            self.tree(pool, blocks)
        self.counts(at, [block for one in made for block in one.blocks])
        return at

    def segment(self, number: int, made: Made, pool: int, active: list[int], free: list[int]) -> None:
        address = made.address
        places = [self.room(BLOCK_BYTES, f"block {address:#x} {n}") for n in range(len(made.blocks))]
        for before, at, behind, (size, asked, state) in zip([0, *places], places, [*places[1:], 0], made.blocks):
            flags = (state == TENSOR) | (state != NOT_MAPPED) << 8
            self.put(at, number)
            self.put(at + self.layout.shift + 48, size, asked, pool, address, flags, before, behind)
            self.put(at + self.layout.shift + 152, 0x1234 if made.is_expandable else 0)
            address += size
            if state != NOT_MAPPED:
                (active if state in (TENSOR, WAITS) else free).append(at)

    def table(self, at: int, elements: Sequence[tuple[int, ...]]) -> None:
        """More places than elements, in which every second is empty."""
        last, more, size = 31, 5, 8 * (1 + len(elements[0]) if elements else 2)
        entries = self.room((last + more + 1) * size)
        for place in range(last + more):
            self.data[entries + place * size - BASE] = 255
        for place, element in enumerate(elements):
            self.put(entries + 2 * place * size, 0xABCDEF00, *element)
        self.put(at, entries, last, 59 | more << 8 | 0x3F000000 << 32, len(elements))

    def tree(self, at: int, values: Sequence[int]) -> None:
        """One node below the other, to the left and to the right in turns."""
        above, link = at + 8, at + 16
        for place, value in enumerate(values):
            node = self.room(40)
            self.put(link, node)
            self.put(node, 1, above, 0, 0, value)
            above, link = node, node + 16 + 8 * (place & 1)
        self.put(at + 40, len(values))

    def counts(self, at: int, blocks: Iterable[tuple[int, int, str]]) -> None:
        found = list(blocks)
        active = [one for one in found if one[2] in (TENSOR, WAITS)]
        self.put(at + 232, len(active))
        self.put(at + 424, sum(one[0] for one in active if one[2] == TENSOR))
        self.put(at + 520, sum(one[0] for one in found if one[2] != NOT_MAPPED))
        self.put(at + 616 + self.layout.counts, sum(one[0] for one in active))
        self.put(at + 808 + self.layout.counts, sum(one[1] for one in active))
