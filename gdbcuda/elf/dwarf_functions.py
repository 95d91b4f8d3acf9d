"""Names of the functions that debug info defines: for a file that lost .symtab and kept its debug info."""

from __future__ import annotations

from collections.abc import Iterator

from gdbcuda.errors import UserError

from .abbreviations import Declaration
from .cursor import Cursor
from .dwarf import Dwarf, Unit

# About a second of work. What is larger is told as not looked at.
MOST_ENTRIES = 60_000
LARGEST_UNIT = 32 << 20

_Values = dict[str, tuple[str, "int | bytes"]]


class TooMuch(Exception):
    """There is more debug info than is worth reading for this."""


def defined_functions(dwarf: Dwarf) -> Iterator[str]:
    """Every function with code, by its name in the symbol table; TooMuch when the limit is reached."""
    left = [MOST_ENTRIES]
    for unit in dwarf.units():
        if unit.tag == "compile_unit":
            yield from _in_unit(dwarf, unit, left)


def _in_unit(dwarf: Dwarf, unit: Unit, left: list[int]) -> Iterator[str]:
    info = dwarf.sections[".debug_info"]
    if unit.end - unit.offset > LARGEST_UNIT or unit.end > info.readable:
        raise TooMuch
    cursor = dwarf.cursor(info.read(unit.offset, unit.end - unit.offset), unit.entries - unit.offset)
    depth = 0
    while cursor.at < len(cursor.data):
        left[0] -= 1
        if not left[0]:
            raise TooMuch
        code = cursor.uleb()
        if not code:
            depth -= 1
            if depth <= 0:
                return
            continue
        declaration = dwarf.abbreviations.declaration(unit.abbreviations, code)
        values = _values(cursor, unit, declaration)
        if depth == 1 and declaration.tag == "subprogram" and ("low_pc" in values or "ranges" in values):
            yield _name(dwarf, unit, values)
        depth += _descend(cursor, declaration, values, depth)


def _values(cursor: Cursor, unit: Unit, declaration: Declaration) -> _Values:
    return cursor.forms(declaration.attributes, unit.offset_size, unit.address_size)


def _name(dwarf: Dwarf, unit: Unit, values: _Values) -> str:
    for attribute in ("linkage_name", "MIPS_linkage_name", "name"):
        if attribute in values:
            return dwarf.string(*values[attribute], unit)
    return ""


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
