"""Debug info, as far as the first entry of each unit tells: what was compiled, from where, how.

Nothing is walked: each unit costs one small read, so that gigabytes of debug info cost milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gdbcuda.elf.contents import Contents
from gdbcuda.elf.dwarf.abbreviations import Abbreviations
from gdbcuda.elf.dwarf.cursor import Cursor
from gdbcuda.elf.records import text

MOST_UNITS = 2048
_FIRST_ENTRY = 4096  # bytes that hold a unit's header and first entry, strings inside it included
_LONGEST_STRING = 4096
_UNIT_TYPES = {1: "compile", 2: "type", 3: "partial", 4: "skeleton", 5: "split_compile", 6: "split_type"}
_EXTRA = {"skeleton": 8, "split_compile": 8}  # bytes of a DWARF 5 header behind the abbreviation offset


class Unit(NamedTuple):
    """One unit of .debug_info. Texts are "" where the unit does not have them."""

    offset: int
    end: int
    version: int
    type: str  # "compile", "partial", "skeleton" (the rest is in a .dwo) ...
    tag: str  # "compile_unit"
    address_size: int
    offset_size: int  # 4, or 8 in 64-bit DWARF
    abbreviations: int  # offset of its table
    entries: int  # offset of its first entry
    name: str = ""  # source file as given to the compiler
    directory: str = ""  # where the compiler ran
    producer: str = ""  # compiler, and gcc's command-line options
    split: str = ""  # the .dwo file


class Dwarf:
    """The debug sections of one file, by their plain names (".debug_info")."""

    def __init__(self, name: str, sections: Mapping[str, Contents], little_endian: bool) -> None:
        self.name = name
        self.sections = sections
        self.little_endian = little_endian
        abbreviations = sections.get(".debug_abbrev")
        data = abbreviations.read(0, 32 << 20) if abbreviations else b""
        self.abbreviations = Abbreviations(data, little_endian, f"{name}: .debug_abbrev")
        self._strings: dict[tuple[str, int], str] = {}

    def units(self) -> Iterator[Unit]:
        """The first units (MOST_UNITS, or what could be unpacked); UserError where they are corrupt."""
        info = self.sections.get(".debug_info")
        at = count = 0
        while info and at < info.readable and count < MOST_UNITS:
            piece = info.read(at, _FIRST_ENTRY)
            if info.compression and at + len(piece) == info.readable < info.size:
                return  # cut by our own limit, not by a fault of the file
            unit = self._unit(piece, at)
            yield unit
            at = unit.end
            count += 1

    def cursor(self, data: bytes, at: int = 0) -> Cursor:
        return Cursor(data, self.little_endian, f"{self.name}: .debug_info", at)

    def _unit(self, piece: bytes, at: int) -> Unit:
        cursor = self.cursor(piece)
        unit = self._header(cursor, at)
        code = cursor.uleb()
        if not code or unit.type in ("type", "split_type"):
            return unit
        declaration = self.abbreviations.declaration(unit.abbreviations, code)
        values = cursor.forms(declaration.attributes, unit.offset_size, unit.address_size)
        return self._filled(unit._replace(tag=declaration.tag), values)

    def _header(self, cursor: Cursor, at: int) -> Unit:
        """DWARF 5, section 7.5.1; before version 5 the order is different and there is no type."""
        length, offset_size = cursor.uint(4), 4
        if length == 0xFFFFFFFF:
            length, offset_size = cursor.uint(8), 8
        end = at + cursor.at + length
        version = cursor.uint(2)
        kind = "compile"
        if version >= 5:
            kind = _UNIT_TYPES.get(cursor.uint(1), "unknown")
            address_size, abbreviations = cursor.uint(1), cursor.uint(offset_size)
            cursor.take(_EXTRA.get(kind, 0))
        else:
            abbreviations, address_size = cursor.uint(offset_size), cursor.uint(1)
        return Unit(at, end, version, kind, "", address_size, offset_size, abbreviations, at + cursor.at)

    def _filled(self, unit: Unit, values: Mapping[str, tuple[str, int | bytes]]) -> Unit:
        base_form = values.get("str_offsets_base")
        base = base_form[1] if base_form and isinstance(base_form[1], int) else 2 * unit.offset_size

        def string(name: str) -> str:
            return self.string(*values[name], unit, base) if name in values else ""

        return unit._replace(
            name=string("name"),
            directory=string("comp_dir"),
            producer=string("producer"),
            split=string("dwo_name") or string("GNU_dwo_name"),
        )

    def string(self, form: str, value: int | bytes, unit: Unit, base: int = 8) -> str:
        """The text of a string attribute; "" where it lies in another file or beyond what is unpacked."""
        if isinstance(value, bytes):
            return text(value)
        if form in ("strp", "line_strp"):
            return self._string_at(".debug_str" if form == "strp" else ".debug_line_str", value)
        if form.startswith("strx") or form == "GNU_str_index":
            base = 0 if unit.version < 5 else base
            return self._indexed(value, unit.offset_size, base)
        return ""

    def _indexed(self, index: int, offset_size: int, base: int) -> str:
        table = self.sections.get(".debug_str_offsets")
        entry = table.read(base + index * offset_size, offset_size) if table else b""
        if len(entry) < offset_size:
            return ""
        return self._string_at(".debug_str", self.cursor(entry).uint(offset_size))

    def _string_at(self, section: str, offset: int) -> str:
        key = (section, offset)
        if key not in self._strings:
            contents = self.sections.get(section)
            piece = contents.read(offset, _LONGEST_STRING) if contents else b""
            self._strings[key] = text(piece.partition(b"\0")[0])
        return self._strings[key]
