"""Dynamic relocations: which addresses the loader fills in with which symbol."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from gdbcuda.elf.dynamic import DynamicSection
from gdbcuda.elf.layout import Addresses
from gdbcuda.elf.records import Records

# (table, its size in bytes, has addends); the kind of DT_JMPREL is said by DT_PLTREL
_TABLES = (("DT_RELA", "DT_RELASZ", True), ("DT_REL", "DT_RELSZ", False))
_PLTREL_RELA = 7


class Relocation(NamedTuple):
    address: int  # the place that is filled in
    type: int  # by machine: R_X86_64_JUMP_SLOT is 7
    symbol: int  # index of a dynamic symbol; 0: none
    addend: int


def read_relocations(dynamic: DynamicSection, addresses: Addresses, records: Records) -> Iterator[Relocation]:
    """Everything in DT_RELA, DT_REL and DT_JMPREL (packed relative ones, DT_RELR, name no symbol)."""
    tables = [*_TABLES, ("DT_JMPREL", "DT_PLTRELSZ", dynamic.value("DT_PLTREL") == _PLTREL_RELA)]
    for table, size, addends in tables:
        address, length = dynamic.value(table), dynamic.value(size) or 0
        if address is not None and length:
            yield from _read(addresses.read(address, length, "the relocations"), records, addends)


def _read(data: bytes, records: Records, addends: bool) -> Iterator[Relocation]:
    word, signed = ("Q", "q") if records.bits == 64 else ("I", "i")
    layout = struct.Struct(records.endian + word * 2 + (signed if addends else ""))
    shift = 32 if records.bits == 64 else 8
    for address, info, *addend in layout.iter_unpack(data[: len(data) // layout.size * layout.size]):
        yield Relocation(address, info & ((1 << shift) - 1), info >> shift, addend[0] if addend else 0)
