"""Names of the functions that debug info defines: for a file that lost .symtab and kept its debug info."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Union

from gdbcuda.elf.dwarf.abbreviations import Declaration
from gdbcuda.elf.dwarf.compile_units import Dwarf, Unit
from gdbcuda.elf.dwarf.cursor import Cursor
from gdbcuda.errors import UserError

# About a second of work. What is larger is told as not looked at.
MOST_ENTRIES = 60_000
LARGEST_UNIT = 32 << 20

_Values = dict[str, tuple[str, Union[int, bytes]]]
_NAMES = ("linkage_name", "MIPS_linkage_name", "name")
_ELSEWHERE = ("abstract_origin", "specification")  # the entry that has the name: inlined, LTO, C++
_MOST_STEPS = 4
_LARGEST_ENTRY = 4096


class TooMuch(Exception):
    """There is more debug info than is worth reading for this."""


def defined_functions(dwarf: Dwarf) -> Iterator[str]:
    """Every function with code, by its name in the symbol table; TooMuch when the limit is reached."""
    return iter(_EntryWalk(dwarf))


class _EntryWalk:
    def __init__(self, dwarf: Dwarf) -> None:
        self._dwarf = dwarf
        self._units = list(dwarf.units())
        self._offsets = [unit.offset for unit in self._units]
        self._left = MOST_ENTRIES

    def __iter__(self) -> Iterator[str]:
        for unit in self._units:
            if unit.tag == "compile_unit":
                yield from self._in_unit(unit)

    def _in_unit(self, unit: Unit) -> Iterator[str]:
        """The functions among the children of the unit's first entry."""
        cursor = self._cursor(unit, unit.entries)
        depth = 0
        while cursor.at < len(cursor.data):
            declaration, values = self._entry(unit, cursor)
            if declaration is None:
                depth -= 1
                if depth <= 0:
                    return
                continue
            if depth == 1 and declaration.tag == "subprogram" and ("low_pc" in values or "ranges" in values):
                yield self._name(unit, values, _MOST_STEPS)
            depth += _descend(cursor, declaration, values, depth)

    def _cursor(self, unit: Unit, at: int) -> Cursor:
        info = self._dwarf.sections[".debug_info"]
        if unit.end - unit.offset > LARGEST_UNIT or unit.end > info.readable:
            raise TooMuch
        return self._dwarf.cursor(info.read(unit.offset, unit.end - unit.offset), at - unit.offset)

    def _entry(self, unit: Unit, cursor: Cursor) -> tuple[Declaration | None, _Values]:
        """The next entry; None where a list of children ends."""
        self._left -= 1
        if not self._left:
            raise TooMuch
        code = cursor.uleb()
        if not code:
            return None, {}
        declaration = self._dwarf.abbreviations.declaration(unit.abbreviations, code)
        return declaration, cursor.forms(declaration.attributes, unit.offset_size, unit.address_size)

    def _name(self, unit: Unit, values: _Values, steps: int) -> str:
        for attribute in _NAMES:
            if attribute in values:
                return self._dwarf.string(*values[attribute], unit)
        for attribute in _ELSEWHERE:
            if attribute in values and steps:
                return self._name_elsewhere(unit, *values[attribute], steps - 1)
        return ""

    def _name_elsewhere(self, unit: Unit, form: str, place: int | bytes, steps: int) -> str:
        """The name of another entry: a place in this unit, or (ref_addr) in the whole section."""
        if not isinstance(place, int) or form in ("ref_sig8", "GNU_ref_alt", "ref_sup4", "ref_sup8"):
            return ""
        place += 0 if form == "ref_addr" else unit.offset
        other = self._units[max(0, bisect_right(self._offsets, place) - 1)]
        if not other.entries <= place < other.end:
            return ""
        piece = self._dwarf.sections[".debug_info"].read(place, min(other.end - place, _LARGEST_ENTRY))
        _, values = self._entry(other, self._dwarf.cursor(piece))
        return self._name(other, values, steps)


def _descend(cursor: Cursor, declaration: Declaration, values: _Values, depth: int) -> int:
    """1 when the entries that follow are its children; a sibling reference jumps over them."""
    if not declaration.has_children:
        return 0
    sibling = values.get("sibling", ("", 0))[1]
    if depth >= 1 and isinstance(sibling, int) and sibling:
        if sibling < cursor.at:
            raise UserError(f"{cursor.what}: corrupt: a sibling reference that points backwards")
        cursor.at = sibling  # relative to the unit, where the data begins
        return 0
    return 1
