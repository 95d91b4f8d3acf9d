"""Sections (for people and debuggers) and segments (for the loader)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from gdbcuda.elf.file_header import Header
from gdbcuda.elf.records import Record, Records, string_at
from gdbcuda.errors import UserError
from gdbcuda.files.reading import Source

_SHN_XINDEX = 0xFFFF
_PN_XNUM = 0xFFFF
SHF_COMPRESSED = 0x800
_PF_X = 1
# Linked files have a few dozen; a count that lies must not cost minutes.
_MOST_ENTRIES = 20_000


class Section(NamedTuple):
    number: int
    name: str
    type: str  # "SHT_PROGBITS"; an unknown one is its number
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int

    @property
    def in_file(self) -> bool:
        """False for .bss, and for everything that went into a separate debug file."""
        return self.type not in ("SHT_NOBITS", "SHT_NULL")


class Segment(NamedTuple):
    type: str  # "PT_LOAD"
    flags: int  # 1 execute, 2 write, 4 read
    offset: int
    address: int
    file_size: int
    memory_size: int


def read_sections(source: Source, header: Header, records: Records) -> tuple[Section, ...]:
    """All sections with their names; () where the table was removed, which the loader does not mind."""
    if not header.sections_at:
        return ()
    count, names_index = header.section_count, header.section_names
    if not count or names_index == _SHN_XINDEX:  # too many for 16 bits: section 0 has the numbers
        first = records.at("Elf_Shdr", header.sections_at, "section header 0")
        count = count or first.sh_size
        names_index = first.sh_link if names_index == _SHN_XINDEX else names_index
    raws = list(_table(source, records, "Elf_Shdr", header.sections_at, count, "the section headers"))
    if not raws:
        return ()
    if names_index >= len(raws):
        raise UserError(f"{source.name}: corrupt: section names in section {names_index} of {len(raws)}")
    return _named(source, raws, raws[names_index])


def read_segments(source: Source, header: Header, records: Records) -> tuple[Segment, ...]:
    """All program headers, in file order."""
    count = header.segment_count
    if count == _PN_XNUM and header.sections_at:
        count = records.at("Elf_Shdr", header.sections_at, "section header 0").sh_info
    raws = _table(source, records, "Elf_Phdr", header.segments_at, count, "the program headers")
    return tuple(
        Segment(str(raw.p_type), raw.p_flags, raw.p_offset, raw.p_vaddr, raw.p_filesz, raw.p_memsz) for raw in raws
    )


def _table(source: Source, records: Records, layout: str, at: int, count: int, what: str) -> Iterator[Record]:
    if count > _MOST_ENTRIES:
        raise UserError(f"{source.name}: corrupt: claims {count} entries in {what}")
    size = records.size(layout)
    data = source.read(at, count * size, what)
    return (records.parse(layout, data[i * size : (i + 1) * size], what) for i in range(count))


def _named(source: Source, raws: list[Record], names: Record) -> tuple[Section, ...]:
    strings = b""
    if names.sh_type not in ("SHT_NOBITS", "SHT_NULL"):
        strings = source.read(names.sh_offset, names.sh_size, "the section names")
    sections = []
    for index, raw in enumerate(raws):
        name = string_at(strings, raw.sh_name) if strings else ""
        if name is None:
            raise UserError(f"{source.name}: corrupt: section {index} has its name outside the names")
        sections.append(
            Section(
                index, name, str(raw.sh_type), raw.sh_flags, raw.sh_addr, raw.sh_offset, raw.sh_size,
                raw.sh_link, raw.sh_info,
            )
        )  # fmt: skip
    return tuple(sections)


class Addresses:
    """What of the file is at an address, once it is loaded (relative to the load address)."""

    def __init__(self, source: Source, segments: tuple[Segment, ...]) -> None:
        self._source = source
        self._loads = [segment for segment in segments if segment.type == "PT_LOAD"]

    def extent_in_file(self, address: int) -> tuple[int, int]:
        """(file offset, bytes of the file from there to the end of the segment); UserError if not loaded."""
        for load in self._loads:
            if load.address <= address < load.address + load.file_size:
                skipped = address - load.address
                return load.offset + skipped, load.file_size - skipped
        raise UserError(f"{self._source.name}: corrupt: address {address:#x} is in no loaded segment")

    def read(self, address: int, size: int, what: str) -> bytes:
        """``size`` bytes at ``address``, all in one segment."""
        offset, room = self.extent_in_file(address)
        if size > room:
            raise UserError(f"{self._source.name}: corrupt: {what} at {address:#x} is cut off by its segment")
        return self._source.read(offset, size, what)

    def code(self) -> list[tuple[int, int]]:
        """(address, bytes in the file) of what is executable. A corrupt header may promise more than there is."""
        loads = (load for load in self._loads if load.flags & _PF_X)
        return [(load.address, min(load.file_size, max(0, self._source.size - load.offset))) for load in loads]

    def words(self, address: int, count: int, endian: str, what: str) -> tuple[int, ...]:
        """``count`` 32-bit words at ``address``."""
        return struct.unpack(f"{endian}{count}I", self.read(address, 4 * count, what))
