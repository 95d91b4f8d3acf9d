"""DWARF abbreviations: which attributes an entry of .debug_info has (DWARF 5, section 7.5.3)."""

from __future__ import annotations

from typing import NamedTuple

from elftools.dwarf.enums import ENUM_DW_AT, ENUM_DW_TAG

from gdbcuda.elf.dwarf.cursor import FORM_NAMES, Cursor, names_by_number
from gdbcuda.errors import UserError

_TAGS = names_by_number(ENUM_DW_TAG, "DW_TAG_")
# from before DWARF 5, and not in older versions of pyelftools
_ATTRIBUTES = {0x2130: "GNU_dwo_name", **names_by_number(ENUM_DW_AT, "DW_AT_")}
_IMPLICIT = next(number for number, name in FORM_NAMES.items() if name == "implicit_const")


class Declaration(NamedTuple):
    tag: str  # "compile_unit"
    has_children: bool
    attributes: tuple[tuple[str, int], ...]  # (name without DW_AT_, form)


class _Table:
    """One table: the offsets of the declarations passed so far, and where to go on."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.offsets: dict[int, int] = {}
        self.read: dict[int, Declaration] = {}


class Abbreviations:
    """The content of .debug_abbrev. A table in it is read only as far as a code that is asked for."""

    def __init__(self, data: bytes, little_endian: bool, what: str) -> None:
        self._data = data
        self._little_endian = little_endian
        self._what = what
        self._tables: dict[int, _Table] = {}

    def declaration(self, table: int, code: int) -> Declaration:
        """The declaration of ``code`` in the table at offset ``table``."""
        if table not in self._tables:
            self._tables[table] = _Table(self._cursor(table))
        known = self._tables[table]
        if code not in known.read:
            known.read[code] = self._read(self._cursor(self._find(known, code)))
        return known.read[code]

    def _cursor(self, at: int) -> Cursor:
        return Cursor(self._data, self._little_endian, self._what, at)

    def _find(self, table: _Table, code: int) -> int:
        # gcc gives the first entry of a unit a late number: most declarations are only passed over
        cursor = table.cursor
        while code not in table.offsets:
            found = cursor.uleb()
            if not found:
                raise UserError(f"{self._what}: corrupt: no abbreviation {code}")
            table.offsets.setdefault(found, cursor.at)
            cursor.uleb()
            cursor.uint(1)
            self._pass_attributes(cursor)
        return table.offsets[code]

    def _pass_attributes(self, cursor: Cursor) -> None:
        data, at, last = self._data, cursor.at, len(self._data) - 1
        while at < last:
            name, form = data[at], data[at + 1]
            if name > 0x7F or form > 0x7F or form == _IMPLICIT:
                cursor.at = at
                name, form = cursor.uleb(), cursor.uleb()
                if form == _IMPLICIT:
                    cursor.uleb()
                at = cursor.at
            else:
                at += 2
            if not name and not form:
                cursor.at = at
                return
        raise UserError(f"{self._what}: corrupt: an abbreviation without an end")

    def _read(self, cursor: Cursor) -> Declaration:
        tag = _TAGS.get(cursor.uleb(), "unknown")
        has_children = bool(cursor.uint(1))
        attributes: list[tuple[str, int]] = []
        while True:
            name, form = cursor.uleb(), cursor.uleb()
            if not name and not form:
                return Declaration(tag, has_children, tuple(attributes))
            if form == _IMPLICIT:
                cursor.uleb()
            attributes.append((_ATTRIBUTES.get(name, hex(name)), form))
