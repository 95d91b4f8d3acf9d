"""What the loader reads: the dynamic entries (System V ABI, chapter 5; GNU extensions)."""

from __future__ import annotations

from typing import NamedTuple

from gdbcuda.elf.layout import Addresses, Section, Segment
from gdbcuda.elf.records import Records, string_at
from gdbcuda.errors import UserError
from gdbcuda.files.reading import Source

_MOST_ENTRIES = 20_000
_STRING_TAGS = frozenset(("DT_NEEDED", "DT_SONAME", "DT_RPATH", "DT_RUNPATH", "DT_AUXILIARY", "DT_FILTER", "DT_AUDIT"))


class DynamicEntry(NamedTuple):
    tag: str  # "DT_NEEDED"; an unknown one is its number
    value: int
    text: str  # the string of a string entry, else ""


class DynamicSection:
    """The dynamic entries in file order, and the strings that they and the dynamic symbols use."""

    def __init__(self, entries: tuple[DynamicEntry, ...], strings: bytes) -> None:
        self.entries = entries
        self.strings = strings

    def texts(self, tag: str) -> tuple[str, ...]:
        """All strings of a tag in order: ``texts("DT_NEEDED")``."""
        return tuple(entry.text for entry in self.entries if entry.tag == tag)

    def value(self, tag: str) -> int | None:
        """The value of the first entry with this tag, or None."""
        return next((entry.value for entry in self.entries if entry.tag == tag), None)

    def has_flag(self, tag: str, bit: int) -> bool:
        """Whether DT_FLAGS or DT_FLAGS_1 has the bit."""
        return bool((self.value(tag) or 0) & bit)


def read_dynamic(
    source: Source,
    segments: tuple[Segment, ...],
    sections: tuple[Section, ...],
    records: Records,
    addresses: Addresses,
) -> DynamicSection:
    """Empty for a static program, and for a separate debug file (its .dynamic takes no room in the file)."""
    segment = next((segment for segment in segments if segment.type == "PT_DYNAMIC"), None)
    emptied = any(section.name == ".dynamic" and not section.in_file for section in sections)
    if segment is None or emptied:
        return DynamicSection((), b"")
    raw = _read_raw(source, segment, records)
    values = dict(reversed(raw))  # the first entry of a tag counts
    strings = b""
    if "DT_STRTAB" in values:
        strings = addresses.read(values["DT_STRTAB"], values.get("DT_STRSZ", 0), "the dynamic strings")
    return DynamicSection(tuple(_entry(source, tag, value, strings) for tag, value in raw), strings)


def _read_raw(source: Source, segment: Segment, records: Records) -> list[tuple[str, int]]:
    size = records.size("Elf_Dyn")
    if segment.file_size > size * _MOST_ENTRIES:
        raise UserError(f"{source.name}: corrupt: a dynamic segment of {segment.file_size} bytes")
    data = source.read(segment.offset, segment.file_size, "the dynamic segment")
    entries = []
    for at in range(0, len(data) - size + 1, size):
        raw = records.parse("Elf_Dyn", data[at : at + size], "a dynamic entry")
        if raw.d_tag == "DT_NULL":
            break
        entries.append((str(raw.d_tag), int(raw.d_val)))
    return entries


def _entry(source: Source, tag: str, value: int, strings: bytes) -> DynamicEntry:
    if tag not in _STRING_TAGS:
        return DynamicEntry(tag, value, "")
    text = string_at(strings, value)
    if text is None:
        raise UserError(f"{source.name}: corrupt: the name of a {tag} entry lies outside the dynamic strings")
    return DynamicEntry(tag, value, text)
