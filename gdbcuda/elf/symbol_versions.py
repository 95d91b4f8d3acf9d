"""GNU symbol versions: which one a dynamic symbol has (LSB, "Symbol Versioning")."""

from __future__ import annotations

import struct
from typing import NamedTuple

from gdbcuda.elf.dynamic import DynamicSection
from gdbcuda.elf.layout import Addresses
from gdbcuda.elf.records import Record, Records, string_at
from gdbcuda.errors import UserError
from gdbcuda.files.reading import Source

HIDDEN = 0x8000  # in the version index of a symbol: not the default (name@VERSION, not name@@VERSION)
_BASE = 1  # flag of the definition that names the file itself
_MOST = 20_000


class Needed(NamedTuple):
    """One version that the file wants from a library."""

    library: str
    version: str
    number: int  # of the version, in DT_VERSYM


class Versions(NamedTuple):
    needed: tuple[Needed, ...]
    defined: tuple[tuple[int, str], ...]  # (index, name), without the base definition
    by_symbol: tuple[int, ...]  # a version index for each dynamic symbol; () without versions

    def names(self) -> dict[int, str]:
        """Version index -> name."""
        return {**dict(self.defined), **{need.number: need.version for need in self.needed}}


class _RecordWalk:
    """Steps through a chain of records linked by relative offsets, however they were written."""

    def __init__(self, source: Source, dynamic: DynamicSection, addresses: Addresses, records: Records) -> None:
        self._source = source
        self._dynamic = dynamic
        self._addresses = addresses
        self._records = records

    def record(self, layout: str, address: int) -> Record:
        data = self._addresses.read(address, self._records.size(layout), "a symbol version")
        return self._records.parse(layout, data, "a symbol version")

    def name(self, offset: int) -> str:
        name = string_at(self._dynamic.strings, offset)
        if name is None:
            raise UserError(f"{self._source.name}: corrupt: a version name lies outside the dynamic strings")
        return name

    def head(self, tag: str) -> tuple[int | None, int]:
        """(address of the chain, number of its records)."""
        count = self._dynamic.value(tag + "NUM") or 0
        if count > _MOST:
            raise UserError(f"{self._source.name}: corrupt: claims {count} symbol versions")
        return self._dynamic.value(tag), count


def read_versions(
    source: Source, dynamic: DynamicSection, addresses: Addresses, records: Records, symbol_count: int
) -> Versions:
    """Empty for a file without symbol versions."""
    walk = _RecordWalk(source, dynamic, addresses, records)
    by_symbol: tuple[int, ...] = ()
    table = dynamic.value("DT_VERSYM")
    if table is not None and symbol_count:
        data = addresses.read(table, 2 * symbol_count, "the symbol versions")
        by_symbol = struct.unpack(f"{records.endian}{symbol_count}H", data)
    return Versions(tuple(_needed(walk)), tuple(_defined(walk)), by_symbol)


def _needed(walk: _RecordWalk) -> list[Needed]:
    address, count = walk.head("DT_VERNEED")
    found: list[Needed] = []
    while address is not None and count > 0 and len(found) < _MOST:
        library = walk.record("Elf_Verneed", address)
        at = address + library.vn_aux
        for _ in range(library.vn_cnt):
            version = walk.record("Elf_Vernaux", at)
            names = walk.name(library.vn_file), walk.name(version.vna_name)
            found.append(Needed(*names, version.vna_other & ~HIDDEN))
            if not version.vna_next or len(found) >= _MOST:
                break
            at += version.vna_next
        address = address + library.vn_next if library.vn_next else None
        count -= 1
    return found


def _defined(walk: _RecordWalk) -> list[tuple[int, str]]:
    address, count = walk.head("DT_VERDEF")
    found: list[tuple[int, str]] = []
    while address is not None and count > 0:
        raw = walk.record("Elf_Verdef", address)
        if raw.vd_cnt and not raw.vd_flags & _BASE:
            name = walk.record("Elf_Verdaux", address + raw.vd_aux)
            found.append((raw.vd_ndx & ~HIDDEN, walk.name(name.vda_name)))
        address = address + raw.vd_next if raw.vd_next else None
        count -= 1
    return found
