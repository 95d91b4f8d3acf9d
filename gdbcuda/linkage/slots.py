"""Which places of an object the loader fills with which function's address.

(System V gABI, "Relocation"; the psABIs of x86-64 and AArch64. DT_RELR holds only relative ones: no symbols.)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence, Set
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from gdbcuda.errors import Unreadable
from gdbcuda.linkage.dynamic_section import LoadedDynamic
from gdbcuda.linkage.dynamic_symbols import Symbols
from gdbcuda.linkage.image import Image
from gdbcuda.linkage.kept_answers import by_names
from gdbcuda.memory import Memory

DT_PLTRELSZ, DT_RELA, DT_RELASZ, DT_JMPREL, DT_RELACOUNT = 2, 7, 8, 23, 0x6FFFFFF9
RELA = struct.Struct("<QQq")  # Elf64_Rela: offset, info (symbol << 32 | type), addend
# Types whose place receives a function's address; x86-64 and AArch64 have no number in common.
KINDS = {7: "PLT", 6: "GOT", 1: "data", 1026: "PLT", 1025: "GOT", 257: "data"}
MOST_BYTES = 48 << 20
NEAR = 4096  # slots no farther apart than that are read together


class Slot(NamedTuple):
    """``kind``: "PLT" (bound at the first call unless the object binds now), "GOT", or "data" (a pointer in a table
    of the object). ``version``: the symbol version that is asked for, "" for none."""

    name: str
    version: str
    address: int
    kind: str


class Linkage:
    """One object. What is read here holds as long as the object is mapped; `values` is read anew each time."""

    def __init__(self, image: Image) -> None:
        self.image, self.dynamic = image, LoadedDynamic(image)
        self.is_there = False  # that is not known yet

    def __repr__(self) -> str:
        return f"<Linkage {self.image.name or 'program'}>"

    @cached_property
    def symbols(self) -> Symbols:
        return Symbols(self.dynamic)

    @by_names
    def slots(self, names: Set[str]) -> list[Slot]:
        """The places that hold the address of one of the functions, in the order of the relocations."""
        wanted = dict(self.symbols.undefined(names))
        for name, definitions in self.symbols.defined(names).items():  # its own, which others may preempt
            wanted.update((definition.number, name) for definition in definitions)
        return list(self._slots(wanted)) if wanted else []

    def _slots(self, wanted: dict[int, str]) -> Iterator[Slot]:
        seen: set[int] = set()  # some linkers count DT_JMPREL into DT_RELA as well
        for offset, info, _ in chain.from_iterable(self._relocations()):
            if info >> 32 in wanted and (kind := KINDS.get(info & 0xFFFFFFFF)) and offset not in seen:
                seen.add(offset)
                index = info >> 32
                yield Slot(wanted[index], self.symbols.versions.of(index)[0], self.image.base + offset, kind)

    def _relocations(self) -> Iterator[Iterator[tuple[int, int, int]]]:
        """DT_RELA without the relative ones at its beginning, which name no symbol, and DT_JMPREL."""
        skipped = RELA.size * self.dynamic.value(DT_RELACOUNT)
        yield self._table(DT_RELA, self.dynamic.value(DT_RELASZ), skipped)
        yield self._table(DT_JMPREL, self.dynamic.value(DT_PLTRELSZ), 0)

    def _table(self, tag: int, size: int, skipped: int) -> Iterator[tuple[int, int, int]]:
        address, length = self.dynamic.address(tag), min(size, MOST_BYTES) - skipped
        whole = length - length % RELA.size if address and length > 0 else 0
        return RELA.iter_unpack(self.image.memory.read(address + skipped, whole) if whole else b"")


def slot_values(memory: Memory, slots: Sequence[Slot]) -> dict[int, int]:
    """What is in each slot now, by the slot's address; a slot that cannot be read is left out."""
    found: dict[int, int] = {}
    for group in clusters(slots):
        first = group[0].address
        try:
            data = memory.read(first, group[-1].address + 8 - first)
        except Unreadable:
            continue
        found.update((s.address, struct.unpack_from("<Q", data, s.address - first)[0]) for s in group)
    return found


def clusters(slots: Sequence[Slot]) -> Iterator[list[Slot]]:
    """The slots in groups that one read gets."""
    group: list[Slot] = []
    for slot in sorted(slots, key=lambda slot: slot.address):
        if group and slot.address - group[-1].address > NEAR:
            yield group
            group = []
        group.append(slot)
    if group:
        yield group
