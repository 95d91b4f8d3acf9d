"""Symbol tables: by themselves large, so read with struct and filtered while they are read."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from gdbcuda.elf.dynamic import DynamicSection
from gdbcuda.elf.layout import Addresses, Section
from gdbcuda.elf.records import Records, string_at
from gdbcuda.elf.symbol_versions import HIDDEN, Versions
from gdbcuda.errors import UserError
from gdbcuda.files.reading import Source

_TYPES = {0: "NOTYPE", 1: "OBJECT", 2: "FUNC", 3: "SECTION", 4: "FILE", 5: "COMMON", 6: "TLS", 10: "IFUNC"}
_BINDINGS = {0: "LOCAL", 1: "GLOBAL", 2: "WEAK", 10: "UNIQUE"}
_VISIBILITIES = ("DEFAULT", "INTERNAL", "HIDDEN", "PROTECTED")
_LAYOUTS = {64: "IBBHQQ", 32: "IIIBBH"}  # name info other shndx value size | name value size info other shndx
_FUNCTION = 2
_UNDEFINED = 0
_OF_LINKER = ("_init", "_fini")


class Symbol(NamedTuple):
    """One symbol, with the words of readelf. ``version`` is "" without one."""

    name: str
    value: int  # address, relative to the load address
    size: int
    type: str
    binding: str
    visibility: str
    section: int  # section index; 0 is undefined
    version: str = ""
    default: bool = True  # name@@VERSION (or no version), not name@VERSION
    number: int = 0  # place in its table

    @property
    def defined(self) -> bool:
        return self.section != _UNDEFINED

    @property
    def exported(self) -> bool:
        """Found by name from another object."""
        visible = self.visibility in ("DEFAULT", "PROTECTED") and self.binding != "LOCAL"
        return self.defined and visible and self.type not in ("SECTION", "FILE") and bool(self.name)

    @property
    def is_version(self) -> bool:
        """What the linker leaves of a version script: a symbol of the version's name, and no more."""
        return self.name == self.version

    @property
    def is_function(self) -> bool:
        return self.type in ("FUNC", "IFUNC")


class SymbolTable:
    """The symbols of one table, made while they are asked for."""

    def __init__(
        self, name: str, entries: bytes, strings: bytes, records: Records, versions: Versions | None = None
    ) -> None:
        self._name = name  # of file and table, for messages
        self._entries = entries
        self._strings = strings
        self._bits = records.bits
        self._layout = struct.Struct(records.endian + _LAYOUTS[records.bits])
        self._section_at = 3 if records.bits == 64 else 5  # in the fields
        self._by_symbol = versions.by_symbol if versions else ()
        self._versions = versions.names() if versions else {}

    def __len__(self) -> int:
        return len(self._entries) // self._layout.size

    def __iter__(self) -> Iterator[Symbol]:
        for index, fields in self._fields():
            yield self._symbol(index, fields)

    def defined(self) -> Iterator[Symbol]:
        """Those that a section holds; the others are not made."""
        at = self._section_at
        return (self._symbol(index, fields) for index, fields in self._fields() if fields[at] != _UNDEFINED)

    def undefined(self) -> Iterator[Symbol]:
        at = self._section_at
        return (self._symbol(index, fields) for index, fields in self._fields() if fields[at] == _UNDEFINED)

    def function_sizes(self) -> dict[int, int]:
        """By value. Of a large program 100,000 are made in a tenth of a second."""
        info, value, size = (1, 4, 5) if self._bits == 64 else (3, 1, 2)
        at, rows = self._section_at, self._fields()
        return {one[value]: one[size] for _, one in rows if one[info] & 15 == _FUNCTION and one[at] != _UNDEFINED}

    @property
    def has_local_functions(self) -> bool:
        """What is linked has some, if only of the compiler's start-up code. `strip -x` takes their names away, ld's -x
        all but two."""
        info, at = (1 if self._bits == 64 else 3), self._section_at
        local = (one[0] for _, one in self._fields() if one[info] == _FUNCTION and one[at] != _UNDEFINED)  # binding 0
        return any(string_at(self._strings, name) not in _OF_LINKER for name in local)

    def _fields(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        whole = len(self) * self._layout.size
        return enumerate(self._layout.iter_unpack(memoryview(self._entries)[:whole]))

    def __getitem__(self, index: int) -> Symbol:
        if not 0 <= index < len(self):
            raise UserError(f"{self._name}: corrupt: symbol {index} of {len(self)} is referred to")
        return self._symbol(index, self._layout.unpack_from(self._entries, index * self._layout.size))

    def _symbol(self, index: int, fields: tuple[int, ...]) -> Symbol:
        if self._bits == 64:
            name_at, info, other, section, value, size = fields
        else:
            name_at, value, size, info, other, section = fields
        name = string_at(self._strings, name_at) if name_at else ""
        if name is None:
            raise UserError(f"{self._name}: corrupt: symbol {index} has its name outside the strings")
        kind, binding = info & 15, info >> 4
        name, version, default = self._versioned(name, index)
        return Symbol(
            name, value, size, _TYPES.get(kind, str(kind)), _BINDINGS.get(binding, str(binding)),
            _VISIBILITIES[other & 3], section, version, default, index,
        )  # fmt: skip

    def _versioned(self, name: str, index: int) -> tuple[str, str, bool]:
        """(name, version, is the default): from the version table, or, in .symtab, from the name itself."""
        if index < len(self._by_symbol):
            version = self._by_symbol[index]
            return name, self._versions.get(version & ~HIDDEN, ""), not version & HIDDEN
        plain, _, version_name = name.partition("@")
        if not plain or not version_name:
            return name, "", True
        return plain, version_name.lstrip("@"), version_name.startswith("@")


def section_table(source: Source, sections: tuple[Section, ...], kind: str, records: Records) -> SymbolTable:
    """The table in the first section of a type ("SHT_SYMTAB"), without versions; empty if there is none."""
    section = next((section for section in sections if section.type == kind), None)
    if section is None:
        return SymbolTable(source.name, b"", b"", records)
    if section.link >= len(sections) or not sections[section.link].in_file:
        raise UserError(f"{source.name}: corrupt: the names of {section.name} are in no section")
    _whole_entries(source, section, records)
    strings = sections[section.link]
    return SymbolTable(
        f"{source.name}: {section.name}",
        source.read(section.offset, section.size, section.name),
        source.read(strings.offset, strings.size, f"the names of {section.name}"),
        records,
    )


def _whole_entries(source: Source, section: Section, records: Records) -> int:
    count, rest = divmod(section.size, struct.calcsize("<" + _LAYOUTS[records.bits]))
    if rest:
        raise UserError(f"{source.name}: corrupt: {section.name} is not a whole number of symbols")
    return count


def dynamic_table(
    source: Source, dynamic: DynamicSection, addresses: Addresses, records: Records, count: int, versions: Versions
) -> SymbolTable:
    """The table that the loader uses."""
    address = dynamic.value("DT_SYMTAB")
    if address is None or not count:
        return SymbolTable(source.name, b"", b"", records)
    size = count * struct.calcsize("<" + _LAYOUTS[records.bits])
    entries = addresses.read(address, size, "the dynamic symbols")
    return SymbolTable(f"{source.name}: dynamic symbols", entries, dynamic.strings, records, versions)


def count_dynamic(
    source: Source, dynamic: DynamicSection, sections: tuple[Section, ...], addresses: Addresses, records: Records
) -> int:
    """How many dynamic symbols there are: from the section, or, where it was removed, from the hash table."""
    section = next((section for section in sections if section.type == "SHT_DYNSYM"), None)
    if section is not None:
        return _whole_entries(source, section, records)
    table = dynamic.value("DT_HASH")
    if table is not None:
        return addresses.words(table, 2, records.endian, "the symbol hash table")[1]
    table = dynamic.value("DT_GNU_HASH")
    return _count_gnu_hash(addresses, table, records) if table is not None else 0


def _count_gnu_hash(addresses: Addresses, table: int, records: Records) -> int:
    what = "the symbol hash table"
    buckets, first, bloom, _ = addresses.words(table, 4, records.endian, what)
    buckets_at = table + 16 + bloom * records.bits // 8
    last = max(addresses.words(buckets_at, buckets, records.endian, what), default=0)
    if last < first:
        return first
    chains_at = buckets_at + 4 * buckets
    while not addresses.words(chains_at + 4 * (last - first), 1, records.endian, what)[0] & 1:
        last += 1
    return last + 1
