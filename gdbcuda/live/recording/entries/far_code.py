"""The code that recorded functions go on with which are too far from libgdbcuda.so, in pages near them.

Libraries of several gigabytes lie between the two in a process of PyTorch. (`near_pages` has the pages mapped.)
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress

from gdbcuda.data_classes import dataclass
from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.patching import agent, detours, nearby_space
from gdbcuda.live.recording.entries import onward_code
from gdbcuda.live.recording.entries.onward_code import Onward, PlannedEntry
from gdbcuda.machine import entry_detour
from gdbcuda.machine.entry_detour import FarSlot
from gdbcuda.machine.free_ranges import aligned
from gdbcuda.rings import ring_layout


@dataclass
class NearPages:
    """``free``: from there on nothing is in them."""

    start: int
    size: int
    free: int

    @property
    def end(self) -> int:
        return self.start + self.size


def earlier() -> list[NearPages]:
    """What another gdb has had mapped in this process, or its parent before a fork, stays: threads may be in it."""
    place = agent.symbol(ring_layout.MAP_SYMBOL)
    found: list[NearPages] = []
    if place is not None:
        with suppress(Unreadable):
            for start, size in listed(place.address + ring_layout.MAP["PAGE_COUNT"] * ring_layout.WORD):
                used = len(process.InferiorMemory().read(start, size).rstrip(b"\0"))
                found.append(NearPages(start, size, aligned(start + used + ring_layout.WORD)))
    return found


def listed(at: int) -> list[tuple[int, int]]:
    memory = process.InferiorMemory()
    count = min(int.from_bytes(memory.read(at, ring_layout.WORD), "little"), ring_layout.MOST_MAPS)
    raw = memory.read(at + ring_layout.WORD, 2 * ring_layout.WORD * count) if count else b""
    return list(struct.iter_unpack("<2Q", raw))


PAGES: PerInferior[list[NearPages]] = PerInferior(earlier)


def add(pages: Iterable[tuple[int, int]]) -> None:
    """They are mapped now; the process keeps a list of them."""
    place, found = agent.symbol(ring_layout.MAP_SYMBOL), PAGES()
    assert place is not None
    for start, size in pages:
        found.append(NearPages(start, size, start))
    words = [word for one in found[: ring_layout.MOST_MAPS] for word in (one.start, one.size)]
    at = place.address + ring_layout.MAP["PAGE_COUNT"] * ring_layout.WORD
    write(at, struct.pack(f"<{1 + len(words)}Q", len(words) // 2, *words))


def place(entries: Sequence[PlannedEntry]) -> list[Onward | str]:
    """For each its code, or why it has none."""
    blocks: dict[int, bytearray] = {}
    made = [build(one, blocks) or onward_code.TOO_FAR for one in entries]
    for pages in PAGES():
        if pages.start in blocks:
            write(pages.free - len(blocks[pages.start]), bytes(blocks[pages.start]))
    return made


def is_near(pages: NearPages, function: int) -> bool:
    return max(abs(pages.start - function), abs(pages.end - function)) < nearby_space.NEAR


def pages_at(address: int) -> NearPages | None:
    return next((one for one in PAGES() if one.start <= address < one.end), None)


def build(one: PlannedEntry, blocks: dict[int, bytearray]) -> Onward | None:
    """In the first pages with room for it; what is to be written there is added to ``blocks``, by their start."""
    for pages in PAGES():
        if is_near(pages, one.spot.address):
            code = entry_detour.onward(one.detour, one.tests, FarSlot(one.slot), pages.free)
            size = aligned(len(code.raw))
            if code.address + size <= pages.end:
                pages.free += size
                blocks.setdefault(pages.start, bytearray()).extend(code.raw.ljust(size, b"\0"))
                return Onward(code.address if one.tests else code.hit, code, [])
    return None


def write(address: int, raw: bytes) -> None:
    memory = process.raw_memory()
    if memory is None:
        detours.write(address, raw)
    else:
        memory.write(address, raw)
